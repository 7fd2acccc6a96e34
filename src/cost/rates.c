/* Reads rates of memory-bound operators and of collectives from CSV. A collective there takes latency + scale (n +
 *     offset) / n bytes / (gbs share).
 * A row with one latency has it in all, however many ranks: it is a start, and steps cost nothing. A row that also has
 * a fixed latency has two of different kinds: the fixed one is its start, the other is that of each step of a ring
 * (assumed: files do not define it). A tier has one latency of a step, the mean of its rows'; a message sent at once
 * has one of them, which is then subtracted from a row's only latency. */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/c_locale.h"
#include "base/config_tree.h"
#include "base/error.h"
#include "cost/columns.h"
#include "cost/cost_internal.h"

typedef enum column {
    DEVICE,
    WHAT,
    TIER,
    OPERATOR,
    GBS,
    SHARE,
    LATENCY,
    FIXED_LATENCY,
    SCALE,
    OFFSET,
    N_COLUMNS,
} column;
static const char *const names[] = {"device",           "what",  "tier",   "operator", "gbs", "share", "latency_us",
                                    "fixed_latency_us", "scale", "offset", NULL};

/* Words of a collective, in the order of ek_collective. */
static const char *const collectives[] = {"all_reduce", "all_gather", "reduce_scatter", "all2all", "p2p", NULL};

/* A row of links: its tier while the file is read. */
typedef struct link {
    ek_tier tier;
    bool has[EK_N_COLLECTIVES], whole[EK_N_COLLECTIVES]; /* whole: the start is all of a row's latency */
    bool all;                                            /* joins every device */
    double steps_us;                                     /* sum over rows that have a latency of a step */
    int n_steps;                                         /* such rows */
} link;

typedef struct reader {
    const char *path;
    ek__csv *csv;
    const ek_listener *listener;
    ek_error *err;
    int at[N_COLUMNS];
    ek_device device;
    bool fused_loss;
    double permute; /* sum over ways of time over that at the memory's rate */
    int n_permutes;
    int n_links;
    link links[EK_MAX_TIERS];
} reader;

static ek_origin place(const reader *r, column c)
{
    return (ek_origin){r->path, (int)ek__csv_line(r->csv), r->at[c] + 1};
}

static const char *cell(const reader *r, column c)
{
    return ek__csv_cell(r->csv, r->at[c]);
}

static ek_status wrong(const reader *r, column c, const char *advice)
{
    return ek__fail(r->err, EK_ERR_INPUT, place(r, c), "%s is '%.60s'; %s", names[c], cell(r, c), advice);
}

static ek_status number(const reader *r, column c, double min, double max, const char *advice, double *out)
{
    if (ek__csv_number(r->csv, r->at[c], out) && *out >= min && *out <= max)
        return EK_OK;
    return wrong(r, c, advice);
}

/* Columns of every row. */
typedef struct reached {
    double gbs, share, start_us, step_us;
    bool has_step;
} reached;

static ek_status read_rate(const reader *r, reached *out)
{
    double latency = 0;
    *out = (reached){.has_step = cell(r, FIXED_LATENCY)[0] != 0};
    ek_status status = number(r, GBS, 1e-6, 1e9, "write a rate above 0 in 10^9 bytes a second", &out->gbs);
    if (status == EK_OK)
        status = number(r, SHARE, 1e-3, 10, "write the share of the rate that is reached, above 0", &out->share);
    if (status == EK_OK)
        status = number(r, LATENCY, 0, 1e9, "write microseconds", &latency);
    if (status == EK_OK && out->has_step)
        status = number(r, FIXED_LATENCY, 0, 1e9, "write microseconds, or leave it empty", &out->start_us);
    if (status)
        return status;
    *(out->has_step ? &out->step_us : &out->start_us) = latency;
    if (out->share > 1) {
        ek__warn(r->listener, place(r, SHARE), "a share of %g of %g GB/s is more than there is; it counts as 1",
                 out->share, out->gbs);
        out->share = 1;
    }
    return EK_OK;
}

/* ---- memory ---- */

/* The file's rate may differ from the device's: the reached rate is kept. */
static void set_curve(reader *r, ek_kernel_kind kind, const reached *rate)
{
    ek_curve *curve = &r->device.curve[kind];
    curve->memory_share = fmin(1, rate->gbs * rate->share / r->device.memory_gbs);
    curve->launch_us = rate->start_us + rate->step_us; /* an operator is one step */
    curve->basis = EK_COST_MEASURED;
}

/* Both ways are as often: the mean of their times. */
static void add_permute(reader *r, const reached *rate)
{
    r->permute += r->device.memory_gbs / (rate->gbs * rate->share);
    r->device.permute_share = fmin(1, ++r->n_permutes / r->permute);
}

static ek_status read_memory(reader *r)
{
    reached rate;
    ek_status status = read_rate(r, &rate);
    if (status)
        return status;
    const char *operator= cell(r, OPERATOR);
    if (ek__strcasecmp(operator, "default") == 0) {
        set_curve(r, EK_KERNEL_MEMORY, &rate);
    } else if (ek__strcasecmp(operator, "ce_fusion") == 0) {
        set_curve(r, EK_KERNEL_LOSS, &rate);
        r->fused_loss = true;
    } else if (ek__strcasecmp(operator, "ce") == 0) {
        if (!r->fused_loss)
            set_curve(r, EK_KERNEL_LOSS, &rate);
    } else if (ek__strcasecmp(operator, "permute_fwd") == 0 || ek__strcasecmp(operator, "permute_bwd") == 0) {
        add_permute(r, &rate);
    } else {
        return wrong(r, OPERATOR, "write default, ce, ce_fusion, permute_fwd or permute_bwd");
    }
    return EK_OK;
}

/* ---- links ---- */

/* Devices of a tier by its name ("..._8x"), or 0. */
static int size_of(const char *name)
{
    size_t n = strlen(name), i = n > 0 ? n - 1 : 0;
    if (n < 2 || (name[i] != 'x' && name[i] != 'X'))
        return 0;
    while (i > 0 && isdigit((unsigned char)name[i - 1]))
        i--;
    long size = strtol(name + i, NULL, 10);
    return size > 1 && size < 1 << 20 ? (int)size : 0;
}

/* The tier of the row's name, a new one where it is the first of it. */
static ek_status find_link(reader *r, double gbs, link **out)
{
    const char *name = cell(r, TIER);
    for (int i = 0; i < r->n_links; i++)
        if (strcmp(r->links[i].tier.name, name) == 0) {
            *out = &r->links[i];
            return EK_OK;
        }
    if (!name[0] || strlen(name) >= sizeof r->links->tier.name || !ek__text_is_printable(name))
        return wrong(r, TIER, "name the links in at most 31 bytes, as in inter_node");
    if (r->n_links == EK_MAX_TIERS)
        return wrong(r, TIER, "is one tier too many; 6 are the most");
    link *l = &r->links[r->n_links++];
    ek__tier_default(&l->tier);
    snprintf(l->tier.name, sizeof l->tier.name, "%s", name);
    l->tier.gbs = gbs;
    l->tier.latency_us = 0;
    l->tier.basis = EK_COST_MEASURED;
    l->all = ek__strncasecmp(name, "inter", 5) == 0;
    l->tier.size = l->all ? 0 : size_of(name);
    *out = l;
    return EK_OK;
}

static ek_status check_passes(const reader *r, int what)
{
    double scale, offset;
    ek_status status = number(r, SCALE, 0.5, 4, "write how often the bytes pass, 2 for all_reduce, else 1", &scale);
    if (status == EK_OK)
        status = number(r, OFFSET, -1, 0, "write -1 for (n - 1) / n of the bytes, 0 for all of them", &offset);
    if (status)
        return status;
    if (scale != (what == EK_COLLECTIVE_ALL_REDUCE ? 2 : 1))
        return wrong(r, SCALE, "only rings are read: 2 for all_reduce, 1 for the others");
    return offset == (what == EK_COLLECTIVE_P2P ? 0 : -1)
               ? EK_OK
               : wrong(r, OFFSET, "only rings are read: 0 for p2p, -1 for the others");
}

static ek_status read_collective(reader *r)
{
    int what = 0;
    reached rate;
    link *l = NULL;
    while (collectives[what] && ek__strcasecmp(collectives[what], cell(r, OPERATOR)) != 0)
        what++;
    if (!collectives[what])
        return wrong(r, OPERATOR, "write all_reduce, all_gather, reduce_scatter, all2all or p2p");
    ek_status status = read_rate(r, &rate);
    if (status == EK_OK)
        status = check_passes(r, what);
    if (status == EK_OK)
        status = find_link(r, rate.gbs, &l);
    if (status)
        return status;
    if (rate.gbs != l->tier.gbs)
        return wrong(r, GBS, "another row of the tier has another rate; give all of them one");
    if (l->has[what])
        return wrong(r, OPERATOR, "another row of the tier has it, too; leave one of them out");
    l->has[what] = true;
    l->tier.share[what] = rate.share;
    l->tier.start_us[what] = rate.start_us;
    l->steps_us += rate.step_us;
    l->n_steps += rate.has_step;
    l->whole[what] = !rate.has_step;
    return EK_OK;
}

/* ---- tiers ---- */

static int compare_links(const void *a, const void *b)
{
    const link *x = a, *y = b;
    if (x->all != y->all)
        return x->all - y->all;
    int order = (x->tier.size > y->tier.size) - (x->tier.size < y->tier.size);
    return order ? order : strcmp(x->tier.name, y->tier.name);
}

static bool same_links(const ek_tier *a, const ek_tier *b)
{
    bool same = a->gbs == b->gbs && a->size == b->size && a->latency_us == b->latency_us;
    for (int c = 0; c < EK_N_COLLECTIVES; c++)
        same = same && a->share[c] == b->share[c] && a->start_us[c] == b->start_us[c];
    return same;
}

static void settle_latency(link *l)
{
    static const ek_collective at_once[] = {EK_COLLECTIVE_P2P, EK_COLLECTIVE_ALL_TO_ALL};
    l->tier.latency_us = l->n_steps > 0 ? l->steps_us / l->n_steps : 0;
    for (int i = 0; i < 2; i++)
        if (l->whole[at_once[i]])
            l->tier.start_us[at_once[i]] = fmax(0, l->tier.start_us[at_once[i]] - l->tier.latency_us);
}

/* Links without a number in their name are those of the node; two equal ones count once. */
static ek_status set_tiers(reader *r)
{
    ek_device *d = &r->device;
    if (r->n_links == 0)
        return EK_OK;
    for (int i = 0; i < r->n_links; i++) {
        link *l = &r->links[i];
        if (!l->all && l->tier.size == 0)
            l->tier.size = d->devices_per_node;
        settle_latency(l);
    }
    qsort(r->links, (size_t)r->n_links, sizeof *r->links, compare_links);
    d->n_tiers = 0;
    for (int i = 0; i < r->n_links; i++) {
        const ek_tier *tier = &r->links[i].tier, *before = d->n_tiers > 0 ? &d->tier[d->n_tiers - 1] : NULL;
        if (before && same_links(before, tier))
            continue;
        if (before && tier->size > 0 && tier->size % before->size != 0)
            return ek__fail(r->err, EK_ERR_INPUT, ((ek_origin){r->path, 1, 1}),
                            "tier %s joins %d devices, which is no multiple of the %d of %s; give tiers that nest",
                            tier->name, tier->size, before->size, before->name);
        if (before && (tier->size == before->size || (before->size == 0)))
            return ek__fail(r->err, EK_ERR_INPUT, ((ek_origin){r->path, 1, 1}),
                            "tiers %s and %s both join %d devices with different rates; leave one of them out",
                            before->name, tier->name, tier->size);
        d->tier[d->n_tiers++] = *tier;
        if (tier->size > d->devices_per_node)
            d->devices_per_node = tier->size;
    }
    return EK_OK;
}

/* ---- the file ---- */

static ek_status read_rows(reader *r)
{
    bool more = true;
    ek_status status = ek__csv_columns(r->csv, r->path, names, r->at, r->err);
    while (status == EK_OK) {
        status = ek__csv_next(r->csv, &more, r->err);
        if (status || !more)
            break;
        if (ek__strcasecmp(cell(r, WHAT), "memory") == 0)
            status = read_memory(r);
        else if (ek__strcasecmp(cell(r, WHAT), "collective") == 0)
            status = read_collective(r);
        else
            status = wrong(r, WHAT, "write memory or collective");
    }
    return status ? status : set_tiers(r);
}

ek_status ek_device_read_rates(const char *path, const ek_listener *listener, ek_device *device, ek_error *err)
{
    reader r = {.path = ek__path_name(path), .listener = listener, .err = err, .device = *device};
    ek_status status = ek__csv_open(path, &r.csv, err);
    if (status)
        return status;
    status = read_rows(&r);
    if (status == EK_OK)
        *device = r.device;
    ek__csv_close(r.csv);
    return status;
}
