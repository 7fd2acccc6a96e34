/* Fuzzes a device file: a device that is read has rates that a time can be computed with, and the same device is read
 * from its written file. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <evenkeel/cost.h>
#include <evenkeel/evenkeel.h>

#include "cost/kernel.h"
#include "fuzz.h"

static void check_tiers(const ek_device *d)
{
    assert(d->n_tiers >= 1 && d->n_tiers <= EK_MAX_TIERS);
    for (int i = 0; i < d->n_tiers; i++) {
        const ek_tier *t = &d->tier[i];
        assert((t->gbs > 0) == (d->tier[0].gbs > 0) && t->devices_per_card > 0 && t->name[0] != '\0');
        assert(i == 0 || t->size == 0 || (t->size > d->tier[i - 1].size && t->size % d->tier[i - 1].size == 0));
        for (int c = 0; c < EK_N_COLLECTIVES; c++)
            assert(t->share[c] > 0 && t->share[c] <= 1 && t->start_us[c] >= 0);
    }
}

static void check_kernels(const ek_device *d)
{
    int n;
    const ek_kernel_row *row = ek_kernel_table_rows(d->kernels, &n);
    for (int i = 0; i < n; i++) {
        ek__kernel_time t = ek__kernel_seconds(d, &row[i].kernel);
        assert(row[i].seconds > 0 && (isnan(t.seconds) || t.seconds >= 0));
    }
}

static void check_written(const ek_device *d)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    ek_device back;
    ek_error err = {0};
    if (!out || ek_device_write(d, NULL, out, &err))
        abort();
    fclose(out);
    if (ek_device_read(fuzz_file((const uint8_t *)text, size), NULL, &back, &err))
        abort();
    assert(memcmp(d->peak_tflops, back.peak_tflops, sizeof d->peak_tflops) == 0);
    assert(d->memory_gbs == back.memory_gbs && d->n_tiers == back.n_tiers);
    assert(d->devices_per_node == back.devices_per_node && strcmp(d->name, back.name) == 0);
    for (int k = 0; k < EK_N_KERNEL_KINDS; k++)
        assert(d->curve[k].share == back.curve[k].share && d->curve[k].half_k == back.curve[k].half_k);
    free(text);
    ek_device_clear(&back);
}

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
    for (int i = 0; i < EK_N_TYPES; i++)
        peak = fmax(peak, device.peak_tflops[i]);
    assert(peak > 0 && isfinite(peak));
    check_tiers(&device);
    check_kernels(&device);
    check_written(&device);
    ek_device_clear(&device);
    return 0;
}
