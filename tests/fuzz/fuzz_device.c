/* A device file: what is read has rates a time can be computed with. */
#include <assert.h>
#include <math.h>

#include <evenkeel/cost.h>
#include <evenkeel/evenkeel.h>

#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ek_device device;
    ek_error err = {0};
    if (ek_device_read(fuzz_file(data, size), NULL, &device, &err)) {
        assert(err.message[0] != '\0');
        return 0;
    }
    assert(device.name[0] != '\0' && device.memory_gib > 0 && device.memory_gbs > 0);
    assert(device.curve[0].share > 0 && device.curve[0].share <= 1 && device.devices_per_node >= 1);
    double peak = 0;
    for (int i = 0; i < EK_N_DTYPES; i++)
        peak = fmax(peak, device.peak_tflops[i]);
    assert(peak > 0 && isfinite(peak));
    assert((device.tier[0].gbs > 0) == (device.tier[1].gbs > 0));
    return 0;
}
