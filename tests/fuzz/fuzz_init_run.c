/* Fuzzes the pipeline of an init file with its layers in another file, and the shape of one without peaks: whatever the
 * bytes, the values are within their ranges, and a file that is read as a whole has the same shape by both
 * functions. */
#include <assert.h>
#include <math.h>

#include "evenkeel/dryrun.h"
#include "fuzz.h"

static void check_run(const ek_dryrun_run *run)
{
    assert(run->n_stages >= 0 && run->n_micro_batches >= 0 && run->n_chunks >= 0);
    assert(run->less_memory >= -1 && run->less_memory <= 1);
    assert(isfinite(run->memory_mb) && run->memory_mb >= 0 && isfinite(run->constant_mb));
    assert(isfinite(run->p2p_time) && run->p2p_time >= 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *path = fuzz_file(data, size);
    ek_error err = {0};
    ek_dryrun_run run;
    ek_dryrun init;
    int n_stages = -1, n_rounds = -1;
    if (ek_dryrun_read_run(path, NULL, &run, &err) == EK_OK)
        check_run(&run);
    else
        assert(err.message[0]);
    err = (ek_error){0};
    ek_status status = ek_dryrun_read_shape(path, &n_stages, &n_rounds, &err);
    assert(status == EK_OK ? n_stages >= 1 && n_rounds >= 1 : err.message[0] && n_stages == -1 && n_rounds == -1);
    if (ek_dryrun_read(path, NULL, &init, NULL) == EK_OK) {
        check_run(&init.run);
        assert(status == EK_OK && init.n_stages == n_stages && init.n_rounds == n_rounds);
        ek_dryrun_clear(&init);
    }
    return 0;
}
