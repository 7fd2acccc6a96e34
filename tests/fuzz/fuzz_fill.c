/* Fuzzes peaks of a dry run written into an init file: the written file has the given peaks, writing it again changes
 * nothing, and a refusal has a message. The first byte chooses the stages of the dry run. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "evenkeel/collect.h"
#include "evenkeel/dryrun.h"
#include "fuzz.h"

enum { MOST_STAGES = 6, LEAST_STAGES = 3 };

static char path_of_logs[] = "logs";

static void check_filled(const char *path, const ek_round *round)
{
    ek_dryrun init;
    assert(ek_dryrun_read(path, NULL, &init, NULL) == EK_OK && init.n_stages == round->n);
    assert(init.head_mb == round->stage[0].log.actual_mb);
    assert(init.tail_mb == round->stage[round->n - 1].log.actual_mb);
    for (int i = 0; i < init.n_measurements; i++)
        assert(init.measurement[i].peak_mb == round->stage[init.measurement[i].stage].log.actual_mb);
    ek_dryrun_clear(&init);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ek_stage_log stage[MOST_STAGES] = {{0}};
    if (size == 0)
        return 0;
    ek_round round = {.source = path_of_logs, .n = LEAST_STAGES + data[0] % (MOST_STAGES - LEAST_STAGES + 1)};
    round.stage = stage;
    for (int i = 0; i < round.n; i++)
        stage[i] =
            (ek_stage_log){.stage = i,
                           .rank = i,
                           .path = path_of_logs,
                           .log = {.used_mb = NAN, .actual_mb = 100 * (i + 1), .device_mb = NAN, .framework_mb = NAN}};
    const ek_collection logs = {.n_stages = round.n, .n_rounds = 1, .round = &round};
    ek_error err = {0};
    char *text = NULL, *again = NULL;
    size_t n = 0, n_again = 0;
    if (ek_dryrun_fill(fuzz_file(data + 1, size - 1), &logs, EK_PEAK_ACTUAL, NULL, &text, &n, &err)) {
        assert(err.message[0] && !text);
        return 0;
    }
    const char *path = fuzz_file((const uint8_t *)text, n);
    check_filled(path, &round);
    assert(ek_dryrun_fill(path, &logs, EK_PEAK_ACTUAL, NULL, &again, &n_again, NULL) == EK_OK);
    assert(n == n_again && memcmp(text, again, n) == 0);
    free(text);
    free(again);
    return 0;
}
