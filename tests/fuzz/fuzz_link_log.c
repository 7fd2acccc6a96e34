/* Fuzzes a log of a link test: a log that is read has sizes and times that a link can be fitted to. */
#include <assert.h>
#include <math.h>

#include <evenkeel/evenkeel.h>

#include "evenkeel/calibration.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ek_link_log log;
    ek_error err = {0};
    if (ek_link_log_parse("all_reduce.log", (const char *)data, size, 8, &log, &err)) {
        assert(err.message[0] != '\0');
        return 0;
    }
    assert(log.n > 0);
    for (int i = 0; i < log.n; i++) {
        const ek_link_time *t = &log.time[i];
        assert(t->bytes > 0 && isfinite(t->bytes) && t->seconds > 0 && isfinite(t->seconds));
        assert(t->n_ranks >= 2 && t->per_node >= 1 && t->per_node <= t->n_ranks);
        assert((int)t->what >= 0 && (int)t->what < EK_N_COLLECTIVES);
    }
    ek_link_log_clear(&log);
    return 0;
}
