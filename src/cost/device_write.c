/* Writes a device as YAML. Every figure is written, defaults too, so that the meaning of a file does not change with
 * the defaults. */
#include "cost/device_write.h"
#include "base/field.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "cost/device_keys.h"
#include "cost/kernel_table.h"
#include "cost/layer_table.h"

/* Line ends of YAML other than a line feed, inside quotes too: NEL, LS, PS. */
static const struct {
    const char *bytes, *escape;
} breaks[] = {{"\xc2\x85", "\\N"}, {"\xe2\x80\xa8", "\\L"}, {"\xe2\x80\xa9", "\\P"}};

/* One character or a break. @return how many bytes it had. */
static size_t write_character(const char *text, FILE *out)
{
    for (size_t i = 0; i < sizeof breaks / sizeof *breaks; i++) {
        size_t n = strlen(breaks[i].bytes);
        if (strncmp(text, breaks[i].bytes, n) == 0) {
            fputs(breaks[i].escape, out);
            return n;
        }
    }
    fprintf(out, "%s%c", *text == '"' || *text == '\\' ? "\\" : "", *text);
    return 1;
}

static void write_text(const char *key, const char *text, const char *end, FILE *out)
{
    fprintf(out, "%s: \"", key);
    while (*text)
        text += write_character(text, out);
    fprintf(out, "\"%s", end);
}

static void write_figures(const ek__device_entry *figure, int n, const void *base, FILE *out)
{
    for (int i = 0; i < n; i++)
        ek__write_pair(i ? ", " : "{", figure[i].key, *ek__const_field(base, figure[i].at), out);
}

/* One number where all are the same, else a map. */
static void write_many(const char *key, const char *const *name, const double *value, int n, FILE *out)
{
    bool same = true;
    for (int i = 1; i < n; i++)
        same = same && value[i] == value[0];
    if (same) {
        ek__write_pair(", ", key, value[0], out);
        return;
    }
    fprintf(out, ", %s: ", key);
    for (int i = 0; i < n; i++)
        ek__write_pair(i ? ", " : "{", name[i], value[i], out);
    fputs("}", out);
}

static void write_map(const char *key, const ek__device_entry *figure, int n, const void *base, FILE *out)
{
    fprintf(out, "%s: ", key);
    write_figures(figure, n, base, out);
    fputs("}\n", out);
}

static void write_curves(const ek_device *device, FILE *out)
{
    fputs("curves:\n", out);
    for (int k = 0; k < EK_N_KERNEL_KINDS; k++) {
        fprintf(out, "  %s: ", ek_kernel_name[k]);
        write_figures(ek__curve_figure, EK__N_CURVE_FIGURES, &device->curve[k], out);
        fprintf(out, ", basis: %s}\n", ek_cost_basis_name[device->curve[k].basis]);
    }
}

static void write_tiers(const ek_device *device, FILE *out)
{
    fputs("tiers:\n", out);
    for (int i = 0; i < device->n_tiers; i++) {
        const ek_tier *tier = &device->tier[i];
        write_text("  - {name", tier->name, "", out);
        fprintf(out, ", size: %d", tier->size);
        for (int f = 0; f < EK__N_TIER_FIGURES; f++)
            ek__write_pair(", ", ek__tier_figure[f].key, *ek__const_field(tier, ek__tier_figure[f].at), out);
        write_many("share", ek_collective_name, tier->share, EK_N_COLLECTIVES, out);
        write_many("start_us", ek_collective_name, tier->start_us, EK_N_COLLECTIVES, out);
        fprintf(out, ", algorithm: %s, basis: %s}\n", ek_algorithm_name[tier->algorithm],
                ek_cost_basis_name[tier->basis]);
    }
}

static void write_peaks(const ek_device *device, FILE *out)
{
    const char *before = "peak_tflops: {";
    for (int t = 0; t < EK_N_TYPES; t++)
        if (device->peak_tflops[t] > 0) {
            ek__write_pair(before, ek__type_name[t], device->peak_tflops[t], out);
            before = ", ";
        }
    fputs("}\n", out);
}

static void write_optimizer(const ek_device *device, FILE *out)
{
    fputs("optimizer: ", out);
    write_figures(ek__optimizer_figure, EK__N_OPTIMIZER_FIGURES, device, out);
    fprintf(out, ", basis: %s}\n", ek_cost_basis_name[device->optimizer_basis]);
}

static void write_host(const ek_device *device, FILE *out)
{
    fputs("host: ", out);
    write_figures(ek__host_figure, 2, &device->host, out);
    write_many("layer_us", ek_launch_name, device->host.layer_us, EK_N_LAUNCHES, out);
    write_many("kernel_us", ek_launch_name, device->host.kernel_us, EK_N_LAUNCHES, out);
    fprintf(out, ", basis: %s}\n", ek_cost_basis_name[device->host.basis]);
}

ek_status ek_device_write(const ek_device *device, const char *const *comments, FILE *out, ek_error *err)
{
    for (; comments && *comments; comments++)
        fprintf(out, "# %s\n", *comments);
    write_text("name", device->name, "\n", out);
    write_text("source", device->source, "\n", out);
    fprintf(out, "certain: %s\ndevices_per_node: %d\n", device->certain ? "yes" : "no", device->devices_per_node);
    for (int i = 0; i < EK__N_DEVICE_FIGURES; i++) {
        const ek__device_entry *f = &ek__device_figure[i];
        ek__write_pair("", f->key, *ek__const_field(device, f->at), out);
        fputs("\n", out);
    }
    if (device->error > 0)
        fprintf(out, "error_basis: %s\n", ek_error_basis_name[device->error_basis]);
    write_peaks(device, out);
    write_curves(device, out);
    write_map("fp8", ek__fp8_figure, 3, device, out);
    if (device->tier[0].gbs > 0)
        write_tiers(device, out);
    write_host(device, out);
    write_map("overlap", ek__overlap_figure, 3, device, out);
    write_optimizer(device, out);
    ek__kernel_table_write_list(device->kernels, out);
    ek__layer_table_write(device->layers, out);
    if (fflush(out) || ferror(out))
        return ek__fail(err, ek__system_status(), EK__NOWHERE, "the device cannot be written: %s", strerror(errno));
    return EK_OK;
}
