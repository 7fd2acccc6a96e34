/* Fuzzes a table of measured kernels, or of rates: a device can be fitted to any table that is read, and times can be
 * computed with it. */
#include <assert.h>
#include <math.h>

#include <evenkeel/cost.h>
#include <evenkeel/evenkeel.h>

#include "evenkeel/device.h"
#include "fuzz.h"

static void check_table(const uint8_t *data, size_t size)
{
    ek_kernel_table *table;
    ek_error err = {0};
    ek_device device = *ek_device_find("H100");
    if (ek_kernel_table_read(fuzz_file(data, size), NULL, &table, &err)) {
        assert(err.message[0] != '\0');
        return;
    }
    int n;
    const ek_kernel_row *row = ek_kernel_table_rows(table, &n);
    for (int i = 0; i < n; i++)
        assert(row[i].seconds > 0 && isfinite(row[i].seconds) && row[i].kernel.flops > 0 && row[i].line > 1);
    if (n <= 20 && ek_device_fit_kernels(&device, table, NULL, &err) == EK_OK)
        for (int k = 0; k < EK_N_KERNEL_KINDS; k++)
            assert(device.curve[k].share > 0 && device.curve[k].share <= 1 && device.curve[k].launch_us >= 0);
    ek_kernel_table_free(table);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ek_device device = *ek_device_find("A100");
    ek_error err = {0};
    check_table(data, size);
    if (ek_device_read_rates(fuzz_file(data, size), NULL, &device, &err)) {
        assert(err.message[0] != '\0');
        return 0;
    }
    assert(device.n_tiers >= 1 && device.n_tiers <= EK_MAX_TIERS);
    for (int i = 0; i < device.n_tiers; i++)
        assert(device.tier[i].gbs > 0 && device.tier[i].share[0] > 0 && device.tier[i].share[0] <= 1);
    assert(device.curve[EK_KERNEL_MEMORY].memory_share > 0 && device.curve[EK_KERNEL_MEMORY].memory_share <= 1);
    return 0;
}
