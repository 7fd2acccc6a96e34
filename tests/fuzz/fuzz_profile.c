/* Fuzzes profiles as a source of a calibration: whatever the bytes, a device can be fitted to the kernels and times
 * that are read. The first byte chooses: an operator of PyTorch or of Ascend, its texts a line each; else a profile. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "calibrate/profile.h"
#include "fuzz.h"

static void check_kernel(const ek_kernel *k)
{
    assert((int)k->kind >= 0 && (int)k->kind < EK_N_KERNEL_KINDS && (int)k->pass >= 0 && (int)k->pass < 3);
    assert(k->type >= 0 && k->type < EK_N_TYPES);
    assert(isfinite(k->flops) && isfinite(k->bytes) && k->flops >= 0 && k->bytes > 0);
    assert(!(k->flops > 0) || k->m * k->n * k->k * k->groups > 0 || k->batch * k->heads * k->seq * k->qk_dim > 0);
}

/* Lines of the text, ended where they end; the rest are empty. */
static void split(char *text, const char **line, int n)
{
    for (int i = 0; i < n; i++) {
        line[i] = text;
        text += strcspn(text, "\n");
        if (*text)
            *text++ = '\0';
    }
}

static void take_operator(const char *text, size_t size, bool torch)
{
    char *copy = calloc(size + 1, 1);
    const char *line[7];
    assert(copy);
    memcpy(copy, text, size);
    split(copy, line, 7);
    const ek_trace_shaped op = {.name = line[0],
                                .shapes = line[1],
                                .types = line[2],
                                .layout = line[3],
                                .values = line[4],
                                .out_types = line[5],
                                .kernel = line[6],
                                .count = 1,
                                .median = 1000};
    ek_kernel kernel;
    ek__profile_doubt doubt;
    ek_profile_left left = (torch ? ek__profile_torch : ek__profile_ascend)(&op, &kernel, &doubt);
    assert((int)left >= 0 && (int)left < EK_N_PROFILE_LEFT);
    if (left == EK_PROFILE_TAKEN)
        check_kernel(&kernel);
    free(copy);
}

static void take_profile(const uint8_t *data, size_t size)
{
    const char *path = fuzz_file(data, size);
    const ek_trace_options options = {.measure = true, .n_threads = 1};
    const ek_device *device = ek_device_find("H100");
    ek_trace_run run;
    ek_error err = {0};
    if (ek_trace_run_read(&path, 1, &options, NULL, &run, &err)) {
        assert(err.message[0] != '\0');
        return;
    }
    ek__profile_rows rows = {0};
    ek_link_log log = {0};
    ek_calibrated_profile profile = {0};
    assert(ek__profile_operators(&run, device, &rows, &profile, &err) == EK_OK);
    ek__profile_merge(&rows);
    assert(ek__profile_links(&run, 8, &log, &profile, &err) == EK_OK);
    for (int i = 0; i < rows.n; i++) {
        check_kernel(&rows.at[i].kernel);
        assert(rows.at[i].seconds > 0 && isfinite(rows.at[i].seconds) && rows.at[i].weight > 0);
    }
    for (int i = 0; i < log.n; i++) {
        const ek_link_time *t = &log.time[i];
        assert(t->bytes > 0 && isfinite(t->bytes) && t->seconds > 0 && isfinite(t->seconds));
        assert(t->n_ranks >= 2 && t->per_node >= 1 && t->per_node <= t->n_ranks);
    }
    free(rows.at);
    ek_link_log_clear(&log);
    ek_trace_run_clear(&run);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > 0 && (data[0] == 'T' || data[0] == 'A'))
        take_operator((const char *)data + 1, size - 1, data[0] == 'T');
    else
        take_profile(data, size);
    return 0;
}
