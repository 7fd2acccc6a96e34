/* Reads the user's device file: one map, JSON or YAML (docs/device-files.md). The peaks and the memory are required,
 * since they have no default; everything else has the assumed defaults. One share for all kernels or links (eff_*,
 * launch_us, intra, inter: keys of the first files) is set before the sections, which are more detailed. Unused keys
 * are reported. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "cost/cost_internal.h"
#include "cost/device_sections.h"
#include "cost/kernel_table.h"
#include "cost/layer_table.h"

/* In addition to the figures of ek__device_figure. */
static const char *const keys[] = {"name",        "source",     "certain",
                                   "peak_tflops", "eff_matmul", "eff_attention",
                                   "eff_memory",  "launch_us",  "devices_per_node",
                                   "intra",       "inter",      "eff_link",
                                   "curves",      "fp8",        "tiers",
                                   "host",        "overlap",    "optimizer",
                                   "kernels",     "layers",     "error_basis",
                                   NULL};

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

static ek_status read_scalars(const ek__in *in, const ek__node *map, scalars *all)
{
    static const ek__device_entry list[] = {
        {"eff_matmul", offsetof(scalars, matmul), 1e-3, 1.0,
         "it is the share of the peak that matrix products reach, 0 to 1"},
        {"eff_attention", offsetof(scalars, attention), 1e-3, 1.0,
         "it is the share of the peak that fused attention reaches, 0 to 1"},
        {"eff_memory", offsetof(scalars, memory), 1e-3, 1.0,
         "it is the share of the memory's rate that is reached, 0 to 1"},
        {"eff_link", offsetof(scalars, link), 1e-3, 1.0, "it is the share of the links' rate that is reached, 0 to 1"},
        {"launch_us", offsetof(scalars, launch_us), 0, 1e6, "it is the time around an operator in microseconds"},
    };
    return ek__read_figures(in, map, list, (int)(sizeof list / sizeof *list), all);
}

static ek_status read_figures(const ek__in *in, const ek__node *map, ek_device *device)
{
    ek_status status = EK_OK;
    for (int i = 0; i < 2 && status == EK_OK; i++) {
        const ek__node *node;
        status = ek__require(in, map, ek__device_figure[i].key, ek__device_figure[i].advice, &node);
    }
    return status ? status : ek__read_figures(in, map, ek__device_figure, EK__N_DEVICE_FIGURES, device);
}

static ek_status read_peaks(const ek__in *in, const ek__node *map, ek_device *device)
{
    static const char advice[] = "give the dense peak in 10^12 FLOP/s by type, as in peak_tflops: {bfloat16: 312}";
    static const char *const known[] = {"float32", "bfloat16", "float16", "fp8", "fp32", "bf16", "fp16", "fp8", NULL};
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
            status = ek__number(in, node, 1e-3, 1e9, advice, &device->peak_tflops[k % EK_N_TYPES]);
    }
    if (status == EK_OK && !any)
        return ek__fail_at(in, peaks, "names no type; %s", advice);
    return status;
}

static const ek__device_entry link_figures[] = {
    {"gbs", offsetof(ek_tier, gbs), 1e-6, 1e9, "give the rate per direction and device in 10^9 bytes a second"},
    {"latency_us", offsetof(ek_tier, latency_us), 0, 1e6, "it is the latency of a step in microseconds"},
};

static ek_status read_link(const ek__in *in, const ek__node *map, const char *key, ek_tier *tier)
{
    const ek__node *link, *rate;
    ek_status status = ek__optional_map(in, map, key, &link);
    if (status || !link)
        return status;
    status = ek__require(in, link, "gbs", link_figures[0].advice, &rate);
    return status ? status : ek__read_map(in, link, link_figures, 2, tier);
}

/* A single link is used for both: a single kind of network, or one node. */
static ek_status read_links(const ek__in *in, const ek__node *map, ek_device *device)
{
    ek_status status = read_link(in, map, "intra", &device->tier[0]);
    if (status == EK_OK)
        status = read_link(in, map, "inter", &device->tier[1]);
    if (device->tier[0].gbs <= 0)
        device->tier[0].gbs = device->tier[1].gbs;
    if (device->tier[1].gbs <= 0)
        device->tier[1].gbs = device->tier[0].gbs;
    return status;
}

static ek_status read_error_basis(const ek__in *in, const ek__node *map, ek_device *device)
{
    int basis = EK_ERROR_ASSUMED;
    const ek__node *node = ek__get(map, "error_basis");
    ek_status status = node ? ek__read_word(in, node, ek_error_basis_name, EK_N_ERROR_BASES, &basis) : EK_OK;
    device->error_basis = (ek_error_basis)basis;
    return status;
}

static bool has_products(const ek_kernel_table *table)
{
    int n = 0;
    const ek_kernel_row *row = table ? ek_kernel_table_rows(table, &n) : NULL;
    for (int i = 0; i < n; i++)
        if (row[i].kernel.kind == EK_KERNEL_MATMUL || row[i].kernel.kind == EK_KERNEL_GROUPED)
            return true;
    return false;
}

/* The limit is of kernels timed in isolation. */
static void warn_without_effect(const ek__in *in, const ek__node *root, const ek_device *device)
{
    const ek__node *node = ek__get(root, "sustained_share");
    if (node && device->sustained_share < 1 && !has_products(device->kernels))
        ek__warn_at(in, node,
                    "has no effect: it limits measured products, and `kernels` has none; lower the share of "
                    "curves.matmul and curves.grouped, which is of products in the course of a step");
}

static ek_status read_words(const ek__in *in, const ek__node *map, ek_device *device)
{
    const ek__node *name = ek__get(map, "name"), *source = ek__get(map, "source"), *certain = ek__get(map, "certain"),
                   *node = ek__get(map, "devices_per_node");
    ek_status status = EK_OK;
    if (name)
        status = ek__string(in, name, sizeof device->name, "name the device", device->name);
    if (status == EK_OK && source)
        status = ek__string(in, source, sizeof device->source, "give the source of the figures", device->source);
    if (status == EK_OK && certain)
        status = ek__bool(in, certain, "write false if a figure is not from a product sheet", &device->certain);
    if (status == EK_OK && node)
        status =
            ek__int(in, node, 1, 1 << 20, "it is how many devices the faster link joins", &device->devices_per_node);
    return status;
}

/* ---- sections ---- */

static ek_status read_fp8(const ek__in *in, const ek__node *map, ek_device *device)
{
    return ek__read_map(in, map, ek__fp8_figure, 3, device);
}

static ek_status read_overlap(const ek__in *in, const ek__node *map, ek_device *device)
{
    return ek__read_map(in, map, ek__overlap_figure, 3, device);
}

static ek_status read_kernels(const ek__in *in, const ek__node *list, ek_device *device)
{
    return ek__kernel_table_read_list(in, list, &device->kernels);
}

static ek_status read_layers(const ek__in *in, const ek__node *map, ek_device *device)
{
    return ek__layer_table_read(in, map, &device->layers);
}

/* The sections, in this order. A new table is one line here and one in device_write.c. */
static const struct {
    const char *key;
    ek_status (*read)(const ek__in *in, const ek__node *node, ek_device *device);
} sections[] = {
    {"curves", ek__read_curves}, {"fp8", read_fp8},         {"tiers", ek__read_tiers},
    {"host", ek__read_host},     {"overlap", read_overlap}, {"optimizer", ek__read_optimizer},
    {"kernels", read_kernels},   {"layers", read_layers},
};

static ek_status read_sections(const ek__in *in, const ek__node *root, ek_device *device)
{
    ek_status status = EK_OK;
    const ek__node *tiers = ek__get(root, "tiers"), *link = ek__get(root, ek__get(root, "intra") ? "intra" : "inter");
    if (tiers && link)
        return ek__fail_at(in, link, "and tiers both define the links; remove intra and inter");
    for (size_t i = 0; i < sizeof sections / sizeof *sections && status == EK_OK; i++) {
        const ek__node *node = ek__get(root, sections[i].key);
        if (node)
            status = sections[i].read(in, node, device);
    }
    return status;
}

/* ---- the file ---- */

/* Figures with one number for all kernels or links, then the sections. */
static ek_status read_shares(const ek__in *in, const ek__node *root, ek_device *device)
{
    scalars old = {device->curve[EK_KERNEL_MATMUL].share, device->curve[EK_KERNEL_ATTENTION_FORWARD].share,
                   device->curve[EK_KERNEL_MEMORY].memory_share, device->curve[EK_KERNEL_MATMUL].launch_us,
                   device->tier[0].share[0]};
    ek_status status = read_links(in, root, device);
    if (status == EK_OK)
        status = read_scalars(in, root, &old);
    if (status)
        return status;
    spread(&old, device);
    return read_sections(in, root, device);
}

static ek_status read_device(const ek__in *in, const char *path, ek_device *device)
{
    const ek__node *root = ek__config_root(in->doc);
    *device = (ek_device){.devices_per_node = 8};
    ek__device_default(device);
    ek__device_links(device, 0, 0);
    snprintf(device->name, sizeof device->name, "device");
    snprintf(device->source, sizeof device->source, "%.150s", ek__path_name(path));
    ek_status status = ek__expect(in, root, EK__MAP, "write name, memory_gib, memory_gbs, peak_tflops, curves, tiers");
    if (status)
        return status;
    ek__warn_keys(in, root, ek__device_figure, EK__N_DEVICE_FIGURES, keys);
    status = read_figures(in, root, device);
    if (status == EK_OK)
        status = read_peaks(in, root, device);
    if (status == EK_OK)
        status = read_shares(in, root, device);
    if (status == EK_OK) /* the node's size overrides that of the first tier */
        status = read_words(in, root, device);
    if (status == EK_OK)
        status = read_error_basis(in, root, device);
    if (status == EK_OK)
        warn_without_effect(in, root, device);
    if (status == EK_OK && !ek__get(root, "tiers"))
        device->tier[0].size = device->devices_per_node;
    return status;
}

static ek_status read_doc(const ek__config_tree *doc, const char *path, const ek_listener *listener, ek_device *out,
                          ek_error *err)
{
    const ek__in in = {.doc = doc, .listener = listener, .err = err};
    ek_device device;
    ek_status status = read_device(&in, path, &device);
    if (status)
        ek_device_clear(&device);
    else
        *out = device;
    return status;
}

ek_status ek_device_read(const char *path, const ek_listener *listener, ek_device *out, ek_error *err)
{
    ek__config_tree *doc = NULL;
    ek_status status = ek__config_read(path, &doc, err);
    if (status)
        return status;
    status = read_doc(doc, path, listener, out, err);
    ek__config_free(doc);
    return status;
}

ek_status ek_device_parse(const char *name, const char *text, size_t size, const ek_listener *listener, ek_device *out,
                          ek_error *err)
{
    ek__config_tree *doc = NULL;
    ek_status status = ek__config_parse_buffer(name, text, size, &doc, err);
    if (status)
        return status;
    status = read_doc(doc, name, listener, out, err);
    ek__config_free(doc);
    return status;
}

void ek_device_clear(ek_device *device)
{
    ek_kernel_table_free(device->kernels);
    ek__layer_table_free(device->layers);
    device->kernels = NULL;
    device->layers = NULL;
}
