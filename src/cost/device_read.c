/* Reads a device of one's own: one map of figures, JSON or YAML. The peaks and the memory must be there, since nothing
 * could stand in for them; the shares reached, the launch and the links have the defaults of the shipped devices, which
 * are assumed. Keys that nothing uses are told. */
#include <stdio.h>
#include <string.h>

#include "base/doc.h"
#include "base/error.h"
#include "cost/cost_internal.h"

#define MAX_FIGURE 1e9 /* of any rate or size: far beyond any device, far below overflow */

static const char *const keys[] = {
    "name",       "source",        "certain",    "memory_gib", "memory_gbs",       "peak_tflops",
    "eff_matmul", "eff_attention", "eff_memory", "launch_us",  "devices_per_node", "intra",
    "inter",      "eff_link",      NULL};
static const char *const link_keys[] = {"gbs", "latency_us", NULL};

typedef struct figure {
    const char *key;
    double min, max;
    const char *advice;
    double *out;
} figure;

static ek_status read_figure(const ek__in *in, const ek__node *map, const figure *f, bool required)
{
    const ek__node *node = ek__get(map, f->key);
    if (!node && !required)
        return EK_OK;
    ek_status status = node ? EK_OK : ek__require(in, map, f->key, f->advice, &node);
    return status ? status : ek__number(in, node, f->min, f->max, f->advice, f->out);
}

/* One share for all kernels and links, as files had them first. */
typedef struct scalars {
    double matmul, attention, memory, launch_us, link;
} scalars;

static void spread(const scalars *all, ek_device *device)
{
    for (int k = 0; k < EK_N_KERNEL_KINDS; k++) {
        bool attention = k == EK_KERNEL_ATTENTION_FORWARD || k == EK_KERNEL_ATTENTION_BACKWARD;
        device->curve[k].share = attention ? all->attention : all->matmul;
        device->curve[k].memory_share = all->memory;
        device->curve[k].launch_us = all->launch_us;
    }
    for (int i = 0; i < device->n_tiers; i++)
        for (int c = 0; c < EK_N_COLLECTIVES; c++)
            device->tier[i].share[c] = all->link;
}

static ek_status read_figures(const ek__in *in, const ek__node *map, scalars *all, ek_device *device)
{
    const struct {
        figure figure;
        bool required;
    } list[] = {
        {{"memory_gib", 1e-3, MAX_FIGURE, "give the device's memory in units of 2^30 bytes", &device->memory_gib},
         true},
        {{"memory_gbs", 1e-3, MAX_FIGURE, "give the memory's rate in 10^9 bytes a second", &device->memory_gbs}, true},
        {{"eff_matmul", 1e-3, 1.0, "it is the share of the peak that matrix products reach, 0 to 1", &all->matmul},
         false},
        {{"eff_attention", 1e-3, 1.0, "it is the share of the peak that fused attention reaches, 0 to 1",
          &all->attention},
         false},
        {{"eff_memory", 1e-3, 1.0, "it is the share of the memory's rate that is reached, 0 to 1", &all->memory},
         false},
        {{"eff_link", 1e-3, 1.0, "it is the share of the links' rate that is reached, 0 to 1", &all->link}, false},
        {{"launch_us", 0, 1e6, "it is the time around an operator in microseconds", &all->launch_us}, false},
    };
    ek_status status = EK_OK;
    for (size_t i = 0; i < sizeof list / sizeof *list && status == EK_OK; i++)
        status = read_figure(in, map, &list[i].figure, list[i].required);
    return status;
}

static ek_status read_peaks(const ek__in *in, const ek__node *map, ek_device *device)
{
    static const char advice[] = "give the dense peak in 10^12 FLOP/s by type, as in peak_tflops: {bfloat16: 312}";
    static const char *const known[] = {"float32", "bfloat16", "float16", "fp32", "bf16", "fp16", NULL};
    const ek__node *peaks;
    ek_status status = ek__require_map(in, map, "peak_tflops", advice, &peaks);
    if (status)
        return status;
    ek__warn_unknown_keys(in, peaks, known);
    bool any = false;
    for (int k = 0; known[k] && status == EK_OK; k++) {
        const ek__node *node = ek__get(peaks, known[k]);
        any |= node != NULL;
        if (node)
            status = ek__number(in, node, 1e-3, MAX_FIGURE, advice, &device->peak_tflops[k % EK_N_DTYPES]);
    }
    if (status == EK_OK && !any)
        return ek__fail_at(in, peaks, "names no type; %s", advice);
    return status;
}

static ek_status read_link(const ek__in *in, const ek__node *map, const char *key, double *gbs, double *latency)
{
    const ek__node *link;
    ek_status status = ek__optional_map(in, map, key, &link);
    if (status || !link)
        return status;
    ek__warn_unknown_keys(in, link, link_keys);
    const figure rate = {"gbs", 1e-6, MAX_FIGURE, "give the rate per direction and device in 10^9 bytes a second", gbs};
    const figure wait = {"latency_us", 0, 1e6, "it is the latency of a step in microseconds", latency};
    status = read_figure(in, link, &rate, true);
    return status ? status : read_figure(in, link, &wait, false);
}

static ek_status read_words(const ek__in *in, const ek__node *map, ek_device *device)
{
    const ek__node *name = ek__get(map, "name"), *source = ek__get(map, "source"), *certain = ek__get(map, "certain"),
                   *node = ek__get(map, "devices_per_node");
    ek_status status = EK_OK;
    if (name)
        status = ek__string(in, name, sizeof device->name, "name the device", device->name);
    if (status == EK_OK && source)
        status = ek__string(in, source, sizeof device->source, "say where the figures are from", device->source);
    if (status == EK_OK && certain)
        status = ek__bool(in, certain, "say false where a figure is not from a product sheet", &device->certain);
    if (status == EK_OK && node)
        status =
            ek__int(in, node, 1, 1 << 20, "it is how many devices the faster link joins", &device->devices_per_node);
    return status;
}

static ek_status read_device(const ek__in *in, const char *path, ek_device *out)
{
    const ek__node *root = ek__doc_root(in->doc);
    ek_device device = {.devices_per_node = 8};
    scalars old;
    ek__device_default(&device);
    ek__device_links(&device, 0, 0);
    old = (scalars){device.curve[EK_KERNEL_MATMUL].share, device.curve[EK_KERNEL_ATTENTION_FORWARD].share,
                    device.curve[EK_KERNEL_MEMORY].memory_share, device.curve[EK_KERNEL_MATMUL].launch_us,
                    device.tier[0].share[0]};
    snprintf(device.name, sizeof device.name, "device");
    snprintf(device.source, sizeof device.source, "%.150s", ek__path_name(path));
    ek_status status = ek__expect(in, root, EK__MAP, "write name, memory_gib, memory_gbs, peak_tflops, intra, inter");
    if (status)
        return status;
    ek__warn_unknown_keys(in, root, keys);
    status = read_words(in, root, &device);
    if (status == EK_OK)
        status = read_figures(in, root, &old, &device);
    if (status == EK_OK)
        status = read_peaks(in, root, &device);
    if (status == EK_OK)
        status = read_link(in, root, "intra", &device.tier[0].gbs, &device.tier[0].latency_us);
    if (status == EK_OK)
        status = read_link(in, root, "inter", &device.tier[1].gbs, &device.tier[1].latency_us);
    if (status)
        return status;
    /* One link alone serves for both: a single kind of network, or one node. */
    if (device.tier[0].gbs <= 0)
        device.tier[0].gbs = device.tier[1].gbs;
    if (device.tier[1].gbs <= 0)
        device.tier[1].gbs = device.tier[0].gbs;
    device.tier[0].size = device.devices_per_node;
    spread(&old, &device);
    *out = device;
    return EK_OK;
}

ek_status ek_device_read(const char *path, const ek_listener *listener, ek_device *out, ek_error *err)
{
    ek__doc *doc = NULL;
    ek_status status = ek__doc_read(path, &doc, err);
    if (status)
        return status;
    const ek__in in = {.doc = doc, .listener = listener, .err = err};
    status = read_device(&in, path, out);
    ek__doc_free(doc);
    return status;
}

void ek_device_clear(ek_device *device)
{
    device->kernels = NULL;
    device->layers = NULL;
}
