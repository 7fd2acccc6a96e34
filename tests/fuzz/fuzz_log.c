/* Fuzzes logs and listings: whatever the bytes, peaks are memory or missing, the reasons of a run's end are short
 * printable lines, and a log reads the same from every source. */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "dryrun/collect.h"
#include "dryrun/log.h"
#include "fuzz.h"

static void check_mb(double mb, double least)
{
    assert(isnan(mb) || (mb >= least && mb <= 1e9));
}

static void check_log(const ek_log *log)
{
    check_mb(log->used_mb, 1);
    check_mb(log->actual_mb, 1);
    check_mb(log->device_mb, 0);
    check_mb(log->framework_mb, 0);
    assert(log->n_lines >= 0 && log->n_lines <= EK_LOG_LINES);
    for (int i = 0; i < log->n_lines; i++) {
        size_t n = strlen(log->line[i]);
        assert(n > 0 && n < EK_LOG_LINE_SIZE);
        for (size_t k = 0; k < n; k++)
            assert((unsigned char)log->line[i][k] >= 0x20 && log->line[i][k] != 0x7f);
    }
}

static void add(void *user, const ek__hit *hit)
{
    ek__memory_line line;
    assert(hit->start <= hit->at && hit->at < hit->end && hit->line >= 1 && hit->column >= 1);
    if (ek__memory_line_read(hit, &line))
        ek__blocks_add(user, &line);
}

/* The log fed a few bytes at a time. */
static ek_status read_pieces(const uint8_t *data, size_t size, ek_log *out)
{
    ek__needles set;
    ek__blocks blocks = {0};
    ek__memory_needles(&set);
    ek__scan scan = {.set = &set, .handle = add, .user = &blocks};
    for (size_t at = 0, n = 1; at < size; at += n, n = n % 7 + 1) {
        n = n < size - at ? n : size - at;
        assert(ek__scan_feed(&scan, data + at, n, NULL) == EK_OK);
    }
    ek__scan_finish(&scan);
    ek__scan_clear(&scan);
    return ek__blocks_finish(&blocks, "log", out, NULL);
}

static void check_listing(const char *path)
{
    ek_error err = {0};
    ek_collection all;
    if (ek_collection_read(&path, 1, 0, NULL, &all, &err)) {
        assert(err.message[0] != '\0');
        return;
    }
    const ek_round *round = &all.round[0];
    assert(round->n > 0 && all.n_stages == round->stage[round->n - 1].stage + 1);
    for (int i = 0; i < round->n; i++) {
        check_log(&round->stage[i].log);
        assert(i == 0 || round->stage[i - 1].stage < round->stage[i].stage);
    }
    ek_memory_usage usage;
    if (ek_memory_usage_make(&all, EK_PEAK_ACTUAL, &usage, NULL) == EK_OK)
        ek_memory_usage_clear(&usage);
    ek_collection_clear(&all);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *path = fuzz_file(data, size);
    ek_log log = {0}, pieces = {0};
    ek_error err = {0};
    ek_status status = ek_log_read(path, &log, &err);
    assert(status == EK_OK || (status == EK_ERR_INPUT && err.line >= 1 && err.column >= 1 && err.message[0]));
    assert(read_pieces(data, size, &pieces) == status);
    if (status == EK_OK) {
        check_log(&log);
        assert(memcmp(&log.used_mb, &pieces.used_mb, sizeof log.used_mb) == 0);
        assert(memcmp(&log.actual_mb, &pieces.actual_mb, sizeof log.actual_mb) == 0);
    }
    check_listing(path);
    return 0;
}
