/* Fuzzes measured peaks: whatever the bytes, each stage has one peak at most, of a stage of the job and in its range,
 * or there is an error with a message. */
#include <assert.h>
#include <math.h>

#include "evenkeel/measured_peaks.h"
#include "evenkeel/memory.h"
#include "fuzz.h"

enum { STAGES = 16 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ek_measured_peaks peaks;
    ek_error err = {0};
    if (ek_measured_peaks_read(fuzz_file(data, size), "peaks", STAGES, size % 2 == 1, NULL, NULL, &peaks, &err)) {
        assert(err.message[0]);
        return 0;
    }
    bool seen[STAGES] = {false};
    assert(peaks.n >= 1 && peaks.n <= STAGES && peaks.n_fitted == peaks.n);
    for (int i = 0; i < peaks.n; i++) {
        const ek_memory_peak *peak = &peaks.peak[i];
        assert(peak->stage >= 0 && peak->stage < STAGES && !seen[peak->stage] && peaks.fitted[i]);
        assert(isfinite(peak->mb) && peak->mb > 0);
        seen[peak->stage] = true;
    }
    ek_measured_peaks_clear(&peaks);
    return 0;
}
