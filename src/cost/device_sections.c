/* Reads the sections of a device file: curves by kind, tiers from the innermost, the host. Figures missing from a
 * section keep their assumed default; a section without a basis is assumed, too. */
#include "cost/device_sections.h"
#include "base/field.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "cost/cost_internal.h"

enum { MAX_KEYS = 48 };

/* ---- helpers ---- */

ek_status ek__read_figures(const ek__in *in, const ek__node *map, const ek__device_entry *figure, int n, void *base)
{
    ek_status status = EK_OK;
    for (int i = 0; i < n && status == EK_OK; i++) {
        const ek__node *node = ek__get(map, figure[i].key);
        if (node)
            status =
                ek__number(in, node, figure[i].min, figure[i].max, figure[i].advice, ek__field(base, figure[i].at));
    }
    return status;
}

ek_status ek__read_word(const ek__in *in, const ek__node *node, const char *const *words, int n, int *out)
{
    char text[48], all[256] = "";
    size_t used = 0;
    for (int i = 0; i < n && used < sizeof all; i++)
        used += (size_t)snprintf(all + used, sizeof all - used, "%s%s", i ? ", " : "write one of ", words[i]);
    ek_status status = ek__string(in, node, sizeof text, all, text);
    if (status)
        return status;
    for (int i = 0; i < n; i++)
        if (strcmp(text, words[i]) == 0) {
            *out = i;
            return EK_OK;
        }
    return ek__fail_at(in, node, "is '%s'; %s", text, all);
}

void ek__warn_keys(const ek__in *in, const ek__node *map, const ek__device_entry *figure, int n,
                   const char *const *more)
{
    const char *known[MAX_KEYS];
    int all = 0;
    for (int i = 0; i < n; i++)
        known[all++] = figure[i].key;
    for (int i = 0; more && more[i]; i++)
        known[all++] = more[i];
    known[all] = NULL;
    ek__warn_unknown_keys(in, map, known);
}

ek_status ek__read_map(const ek__in *in, const ek__node *map, const ek__device_entry *figure, int n, void *base)
{
    ek_status status = ek__expect(in, map, EK__MAP, "write its figures as in {share: 0.8}");
    if (status)
        return status;
    ek__warn_keys(in, map, figure, n, NULL);
    return ek__read_figures(in, map, figure, n, base);
}

static ek_status read_basis(const ek__in *in, const ek__node *map, ek_cost_basis *out)
{
    int basis = EK_COST_ASSUMED;
    const ek__node *node = ek__get(map, "basis");
    ek_status status = node ? ek__read_word(in, node, ek_cost_basis_name, EK_N_COST_BASES, &basis) : EK_OK;
    *out = (ek_cost_basis)basis;
    return status;
}

/* One number for all of n names, or a map of some of them. */
typedef struct many {
    const char *key;
    const char *const *name;
    int n;
    double min, max;
    const char *advice;
} many;

static ek_status read_many(const ek__in *in, const ek__node *map, const many *m, double *out)
{
    const ek__node *node = ek__get(map, m->key);
    if (!node)
        return EK_OK;
    ek_status status = EK_OK;
    if (node->kind != EK__MAP) {
        double one;
        status = ek__number(in, node, m->min, m->max, m->advice, &one);
        for (int i = 0; i < m->n && status == EK_OK; i++)
            out[i] = one;
        return status;
    }
    const char *known[MAX_KEYS] = {NULL};
    memcpy(known, m->name, (size_t)m->n * sizeof *known);
    ek__warn_unknown_keys(in, node, known);
    for (int i = 0; i < m->n && status == EK_OK; i++) {
        const ek__node *value = ek__get(node, m->name[i]);
        if (value)
            status = ek__number(in, value, m->min, m->max, m->advice, &out[i]);
    }
    return status;
}

/* ---- curves ---- */

static ek_status read_curve(const ek__in *in, const ek__node *map, ek_curve *curve)
{
    static const char *const more[] = {"basis", NULL};
    ek_status status =
        ek__expect(in, map, EK__MAP, "write the share that the kind reaches, as in {share: 0.8, launch_us: 4}");
    if (status)
        return status;
    ek__warn_keys(in, map, ek__curve_figure, EK__N_CURVE_FIGURES, more);
    status = ek__read_figures(in, map, ek__curve_figure, EK__N_CURVE_FIGURES, curve);
    return status ? status : read_basis(in, map, &curve->basis);
}

ek_status ek__read_curves(const ek__in *in, const ek__node *curves, ek_device *device)
{
    ek_status status = ek__expect(in, curves, EK__MAP, "write a map by kind of kernel, as in matmul: {share: 0.8}");
    if (status)
        return status;
    const char *known[EK_N_KERNEL_KINDS + 1] = {NULL};
    memcpy(known, ek_kernel_name, EK_N_KERNEL_KINDS * sizeof *ek_kernel_name);
    ek__warn_unknown_keys(in, curves, known);
    for (int k = 0; k < EK_N_KERNEL_KINDS && status == EK_OK; k++) {
        const ek__node *map = ek__get(curves, ek_kernel_name[k]);
        if (map)
            status = read_curve(in, map, &device->curve[k]);
    }
    return status;
}

/* ---- tiers ---- */

static ek_status read_tier_words(const ek__in *in, const ek__node *map, int i, ek_tier *tier)
{
    const ek__node *name = ek__get(map, "name"), *size = ek__get(map, "size"), *algorithm = ek__get(map, "algorithm");
    ek_status status = EK_OK;
    int word = EK_ALGORITHM_RING;
    snprintf(tier->name, sizeof tier->name, "tier %d", i);
    if (name)
        status = ek__string(in, name, sizeof tier->name, "name the links, as in node", tier->name);
    if (status == EK_OK && size)
        status = ek__int(in, size, 0, 1 << 28, "it is how many devices the links join, 0 for all", &tier->size);
    if (status == EK_OK && algorithm)
        status = ek__read_word(in, algorithm, ek_algorithm_name, EK_N_ALGORITHMS, &word);
    tier->algorithm = (ek_algorithm)word;
    return status ? status : read_basis(in, map, &tier->basis);
}

static ek_status read_tier(const ek__in *in, const ek__node *map, int i, ek_tier *tier)
{
    static const char advice[] = "write a tier as in {name: node, size: 8, gbs: 300, latency_us: 5, share: 0.8}";
    static const char *const more[] = {"name", "size", "share", "start_us", "algorithm", "basis", NULL};
    const many shares = {"share",
                         ek_collective_name,
                         EK_N_COLLECTIVES,
                         1e-3,
                         1,
                         "it is the share of the rate that large messages reach, 0 to 1, one or by collective"};
    const many starts = {"start_us",
                         ek_collective_name,
                         EK_N_COLLECTIVES,
                         0,
                         1e9,
                         "it is the start of a collective in microseconds, one or by collective"};
    ek_status status = ek__expect(in, map, EK__MAP, advice);
    if (status)
        return status;
    const ek__node *rate;
    ek__warn_keys(in, map, ek__tier_figure, EK__N_TIER_FIGURES, more);
    ek__tier_default(tier);
    status = ek__require(in, map, "gbs", advice, &rate);
    if (status == EK_OK)
        status = ek__read_figures(in, map, ek__tier_figure, EK__N_TIER_FIGURES, tier);
    if (status == EK_OK)
        status = read_many(in, map, &shares, tier->share);
    if (status == EK_OK)
        status = read_many(in, map, &starts, tier->start_us);
    return status ? status : read_tier_words(in, map, i, tier);
}

static ek_status check_nesting(const ek__in *in, const ek__node *map, const ek_tier *tier, int i, bool last)
{
    const ek__node *size = ek__get(map, "size"), *at = size ? size : map;
    if (tier[i].size == 0 && !last)
        return ek__fail_at(in, at,
                           "joins all devices, but is not the last tier; write tiers from the innermost, each "
                           "but the last with its size");
    if (i > 0 && tier[i].size > 0 && (tier[i].size <= tier[i - 1].size || tier[i].size % tier[i - 1].size))
        return ek__fail_at(in, at,
                           "joins %d devices, which is no multiple of the %d that the tier before joins; write tiers "
                           "from the innermost, each a multiple of the one before",
                           tier[i].size, tier[i - 1].size);
    return EK_OK;
}

ek_status ek__read_tiers(const ek__in *in, const ek__node *tiers, ek_device *device)
{
    ek_status status = ek__expect(in, tiers, EK__LIST,
                                  "write a list of tiers from the innermost, as in "
                                  "- {name: node, size: 8, gbs: 300}");
    if (status)
        return status;
    if (tiers->n < 1 || tiers->n > EK_MAX_TIERS)
        return ek__fail_at(in, tiers, "has %d tiers; write 1 to %d, from the innermost", tiers->n, EK_MAX_TIERS);
    int i = 0;
    for (const ek__node *map = tiers->first; map && status == EK_OK; map = map->next, i++) {
        status = read_tier(in, map, i, &device->tier[i]);
        if (status == EK_OK)
            status = check_nesting(in, map, device->tier, i, !map->next);
    }
    device->n_tiers = i;
    if (device->tier[0].size > 0)
        device->devices_per_node = device->tier[0].size;
    return status;
}

/* ---- host ---- */

ek_status ek__read_host(const ek__in *in, const ek__node *map, ek_device *device)
{
    static const char *const more[] = {"layer_us", "kernel_us", "basis", NULL};
    static const char advice[] = "it is the host's time in microseconds, one or by launch: eager, compiled, graph";
    const many layer = {"layer_us", ek_launch_name, EK_N_LAUNCHES, 0, 1e9, advice},
               kernel = {"kernel_us", ek_launch_name, EK_N_LAUNCHES, 0, 1e9, advice};
    ek_status status = ek__expect(in, map, EK__MAP, "write its times, as in {layer_us: {eager: 40}, step_us: 1000}");
    if (status)
        return status;
    ek__warn_keys(in, map, ek__host_figure, 2, more);
    status = ek__read_figures(in, map, ek__host_figure, 2, &device->host);
    if (status == EK_OK)
        status = read_many(in, map, &layer, device->host.layer_us);
    if (status == EK_OK)
        status = read_many(in, map, &kernel, device->host.kernel_us);
    return status ? status : read_basis(in, map, &device->host.basis);
}

/* ---- optimizer ---- */

ek_status ek__read_optimizer(const ek__in *in, const ek__node *map, ek_device *device)
{
    static const char *const more[] = {"basis", NULL};
    ek_status status = ek__expect(in, map, EK__MAP, "write a map, as in {share: 0.8, us: 100}");
    if (status)
        return status;
    ek__warn_keys(in, map, ek__optimizer_figure, EK__N_OPTIMIZER_FIGURES, more);
    status = ek__read_figures(in, map, ek__optimizer_figure, EK__N_OPTIMIZER_FIGURES, device);
    return status ? status : read_basis(in, map, &device->optimizer_basis);
}
