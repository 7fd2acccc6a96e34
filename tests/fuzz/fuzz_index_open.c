/* Fuzzes index files: whatever the bytes, opening ends with an index or a message, and an index that opens answers
 * every query. The checks that reject random bytes are made valid first: magic, sizes, checksums; and sections outside
 * the file are moved inside. */
#include <assert.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "index/checks.h"
#include "index/opened.h"

enum { MAX_ROWS = 6, MAX_ARROWS = 50, MAX_POINTS = 50 };

/* A file of the same bytes up to a whole block, and the checks of its blocks. The caller frees it. */
static unsigned char *put_right(const uint8_t *data, size_t size, size_t *out)
{
    ek__index_header h = {0};
    size_t n_blocks = size > sizeof h ? (size - sizeof h + EK__CHECK_BYTES - 1) / EK__CHECK_BYTES : 0;
    uint64_t end = sizeof h + n_blocks * EK__CHECK_BYTES;
    *out = (size_t)end + n_blocks * sizeof(uint64_t);
    unsigned char *bytes = calloc(*out, 1);
    assert(bytes);
    if (size > 0)
        memcpy(bytes, data, size);
    memcpy(&h, bytes, sizeof h);
    h.magic = EK__INDEX_MAGIC;
    h.header_size = sizeof h;
    h.file_size = *out;
    ek__index_section *section = &h.events;
    for (size_t i = 0; i < 13; i++) {
        section[i].at %= end;
        if (&section[i] != &h.texts)
            section[i].at -= section[i].at % 8;
    }
    h.checks = (ek__index_section){end, n_blocks};
    uint64_t *check = (void *)(bytes + end); /* at 8 bytes: the header and blocks are as long */
    for (size_t i = 0; i < n_blocks; i++)
        check[i] = ek__check_of(0, bytes + sizeof h + i * EK__CHECK_BYTES, EK__CHECK_BYTES);
    h.checks_check = ek__check_of_checks(check, n_blocks);
    h.check = ek__check_of_header(&h);
    memcpy(bytes, &h, sizeof h);
    return bytes;
}

static void ask_row(const ek_trace_index *index, int row, int64_t begin, int64_t end)
{
    ek__index_blocks blocks = {0};
    ek__index_summing sums = {0};
    ek__index_details details;
    ek__index_event event;
    int64_t step = (end - begin) / 50;
    size_t size;
    const char *text;
    if (ek__index_row_blocks(index, row, begin, end, step, 0, &blocks, NULL) == EK_OK)
        for (size_t i = 0; i < blocks.n; i++) {
            assert(blocks.block[i].type < EK_N_VIEW_TYPES);
            (void)ek__index_name_text(index, blocks.block[i].name, &text, &size, NULL);
        }
    blocks.n = 0;
    if (ek__index_row_blocks(index, row, INT64_MIN, INT64_MAX, 0, 20, &blocks, NULL) == EK_OK)
        assert(blocks.n <= 20);
    ek__index_blocks_clear(&blocks);
    uint32_t at;
    (void)ek__index_event_at(index, row, begin + step, &at, NULL);
    if (at != UINT32_MAX)
        (void)ek__index_events(index, row, at, 1, &event, NULL);
    if (ek__index_event_details(index, row, at == UINT32_MAX ? 0 : at, &details, NULL) == EK_OK)
        ek__index_details_clear(&details);
    while (sums.next_row < 1 && ek__index_sum_up(index, &row, 1, begin, end, 0, &sums, NULL) == EK_OK)
        ;
    ek__index_summing_clear(&sums);
}

static void ask_names(const ek_trace_index *index)
{
    ek__index_search *search;
    ek__index_hit hit = {.row = -1};
    if (ek__index_search_new(index, "a", 1, &search, NULL) != EK_OK)
        return;
    for (int forward = 0; forward < 2; forward++) {
        int64_t time = forward ? INT64_MIN : INT64_MAX;
        for (int i = 0; i < 3; i++) {
            if (ek__index_find(index, search, NULL, 0, forward, time, hit.row, hit.index, &hit, NULL) != EK_OK ||
                hit.row < 0)
                break;
            time = hit.begin;
        }
    }
    ek__index_search_free(search);
}

static void ask_tracks(const ek_trace_index *index, int64_t begin, int64_t end)
{
    int track[MAX_ROWS];
    ek__index_arrow_seen arrow[MAX_ARROWS];
    ek__index_curve_point point[MAX_POINTS];
    size_t n;
    bool all;
    for (int i = 0; i < MAX_ROWS; i++) {
        ek__index_track_info info = ek__index_describe_track(index, i);
        assert(info.name && info.process && strlen(info.pid) < EK__INDEX_SHOWN_TEXT);
        track[i] = i;
    }
    if (ek__index_arrows(index, track, MAX_ROWS, begin, end, MAX_ARROWS, arrow, &n, &all, NULL) == EK_OK)
        assert(n <= MAX_ARROWS);
    for (int i = 0; i < MAX_ROWS && i < ek__index_n_counters(index); i++)
        if (ek__index_curve(index, i, begin, end, 1, point, MAX_POINTS, &n, NULL) == EK_OK)
            assert(n <= MAX_POINTS && ek__index_describe_counter(index, i).name);
}

static void ask(const char *path, ek__index_opened *file)
{
    ek_trace_index index = {.n_files = 1, .file = file};
    int64_t size, changed;
    file->trace = strdup(path);
    file->path = strdup(path);
    assert(file->trace && file->path);
    /* details are read from the index file itself */
    assert(ek__index_trace_state(-1, path, &size, &changed));
    file->header.trace_size = size;
    file->header.trace_changed = changed;
    assert(ek__index_number(&index, NULL) == EK_OK);
    int64_t begin = index.end / 4, end = index.end - index.end / 4 + 1;
    for (int row = 0; row < index.n_rows && row < MAX_ROWS; row++)
        ask_row(&index, row, begin, end);
    ask_names(&index);
    ask_tracks(&index, begin, end);
    ask_tracks(&index, INT64_MIN, INT64_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ek__index_opened file;
    ek_error err = {0};
    size_t n;
    unsigned char *bytes = put_right(data, size, &n);
    const char *path = fuzz_file(bytes, n);
    ek_status status = ek__index_file_open(path, &file, &err);
    assert(status == EK_OK || err.message[0]);
    if (status == EK_OK) {
        ask(path, &file);
        ek__index_file_close(&file);
    }
    free(bytes);
    return 0;
}
