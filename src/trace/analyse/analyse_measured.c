/* Collects PyTorch's operators by shape: a kernel belongs to the innermost operator around its launch, which the launch
 * names by its external id. Kernels of one id are one execution, so that an operator of several kernels (a product that
 * is split and summed, attention backward) counts as a whole, with its memory sets; it is named after its longest
 * kernel. Ascend's are those of kernel_details.csv (src/trace/tables/table_kernel_details.c), else its tasks without
 * shapes. Only with options->measure. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/c_locale.h"
#include "base/sort.h"
#include "base/texts.h"
#include "trace/events/device.h"
#include "trace/events/intervals.h"
#include "trace/events/measured.h"
#include "trace/events/shapes.h"
#include "trace/rank.h"

static bool has_text(const ek__event *e)
{
    return e->name != 0;
}

static uint32_t name_of(const ek__event *e)
{
    return e->name;
}

/* A kernel of an operator with an id. */
typedef struct part {
    uint32_t id;
    bool sets;
    ek__execution kernel;
} part;

/* The place where the kernels of a trace are gathered. */
typedef struct gathered {
    part *part; /* [n_parts] */
    size_t n_parts, parts_capacity;
    ek__execution *all; /* [n], room for all: first those that are executions of their own */
    size_t n;
} gathered;

static int by_id(const void *a, const void *b)
{
    const part *p = a, *q = b;
    const ek__execution *x = &p->kernel, *y = &q->kernel;
    if (p->id != q->id)
        return p->id < q->id ? -1 : 1;
    if (p->sets != q->sets)
        return p->sets ? 1 : -1;
    if (x->duration != y->duration)
        return x->duration > y->duration ? -1 : 1;
    if (x->kernel != y->kernel)
        return x->kernel < y->kernel ? -1 : 1;
    return (x->start > y->start) - (x->start < y->start);
}

/* The longest kernel of an id comes first. */
static void bring_together(gathered *g)
{
    ek__sort(g->part, g->n_parts, sizeof *g->part, by_id);
    for (size_t i = 0; i < g->n_parts; i++) {
        const ek__execution *e = &g->part[i].kernel;
        ek__execution *last = &g->all[g->n > 0 ? g->n - 1 : 0];
        if (i > 0 && g->part[i].id == g->part[i - 1].id) {
            last->duration = ek__ns_add(last->duration, e->duration);
            last->start = e->start < last->start ? e->start : last->start;
        } else
            g->all[g->n++] = *e;
    }
}

static const char *text_of(const void *user, uint32_t number)
{
    return ek__trace_name(user, number);
}

/* All kernels of a graph share one launch, but are not of the operator around it. `*name` is the name of the last call
 * that was looked up, `*graph` the result for it. */
static bool is_graph(const ek__trace *trace, const ek__event *launch, uint32_t *name, bool *graph)
{
    if (launch && launch->name != *name) {
        *name = launch->name;
        *graph = strstr(ek__trace_name(trace, launch->name), "GraphLaunch");
    }
    return launch && *graph;
}

/* "[128, 1, 1]|31": the number of blocks is the product, then a percentage. Kineto writes 0 % where it cannot compute
 * the value: for a kernel with more shared memory than a block gets by default. */
static void read_grid(const char *text, ek__execution *out)
{
    enum { N_DIMENSIONS = 3 };
    double blocks = 1;
    const char *at = text;
    char *end;
    for (int i = 0; i < N_DIMENSIONS; i++) {
        at += strspn(at, "[, ");
        blocks *= ek__strtod(at, &end);
        if (end == at)
            return;
        at = end;
    }
    if (blocks >= 1 && blocks < 9e18)
        out->blocks = (int64_t)blocks;
    at += strspn(at, "]| ");
    double percent = ek__strtod(at, &end);
    if (end > at && percent > 0 && percent <= 100)
        out->unit[EK_TRACE_OCCUPANCY] = percent / 100;
}

static bool is_compiled(const ek__trace *trace, const ek__event *e)
{
    return strncmp(ek__trace_name(trace, e->name), "triton_", strlen("triton_")) == 0;
}

static bool add_part(gathered *g, uint32_t id, bool sets, const ek__execution *kernel)
{
    part *room = ek__with_room(g->part, &g->parts_capacity, g->n_parts + 1, sizeof *room);
    if (!room)
        return false;
    g->part = room;
    g->part[g->n_parts++] = (part){id, sets, *kernel};
    return true;
}

/* Kernels, with the data of their operators; without warm-up and without the memory sets of unknown operators.
 * @return false when memory is out */
static bool gather(const ek__trace *trace, const ek__shapes *shapes, ek_trace_rank *rank, gathered *g)
{
    ek_trace_measured *m = &rank->measured;
    ek__event_walk walk = ek__walk_kinds(trace, EK__KIND(KERNEL) | EK__KIND(SET));
    ek__step_cursor cursor = ek__step_cursor_of(rank);
    size_t n_kernels = 0, n_compiled = 0, n_graph = 0;
    uint32_t call = UINT32_MAX;
    bool graph_call = false;
    for (const ek__event *e; (e = ek__walk_event(&walk));) {
        const ek__event *launch = ek__launch_of(trace, e);
        if (!ek__after_warm_up(&cursor, launch ? launch->start : e->start))
            continue;
        bool sets = e->kind == EK__EVENT_SET;
        bool graph = is_graph(trace, launch, &call, &graph_call);
        uint32_t what = launch && !graph ? ek__shapes_told(shapes, launch->detail) : 0;
        n_kernels += !sets;
        n_compiled += !sets && is_compiled(trace, e);
        n_graph += !sets && graph;
        m->n_without_shapes += !sets && what == 0;
        if (!what && sets)
            continue;
        ek__execution kernel = {.what = what,
                                .kernel = e->name,
                                .start = e->start,
                                .duration = e->duration,
                                .stream = e->track,
                                EK__NO_UNITS};
        if (e->detail)
            read_grid(ek__trace_name(trace, e->detail), &kernel);
        if (!what)
            g->all[g->n++] = kernel;
        else if (!add_part(g, launch->detail, sets, &kernel))
            return false;
    }
    m->share_compiled = n_kernels > 0 ? (double)n_compiled / (double)n_kernels : 0;
    m->graphs = 2 * n_graph > n_kernels;
    return true;
}

static ek_status keep_operators(const ek__trace *trace, ek_trace_rank *rank, ek_error *err)
{
    ek__shapes shapes = {0};
    gathered g = {.all = ek__alloc(trace->of[EK__EVENT_KERNEL].n + trace->of[EK__EVENT_SET].n, sizeof *g.all)};
    ek_status status =
        g.all ? ek__shapes_by_link(trace->of[EK__EVENT_SHAPE], has_text, name_of, &shapes, err) : ek__no_memory(err);
    if (!status && !gather(trace, &shapes, rank, &g))
        status = ek__no_memory(err);
    ek__shapes_clear(&shapes);
    if (!status) {
        bring_together(&g);
        status = ek__measured_keep(g.all, g.n, text_of, trace, rank, err);
    }
    free(g.part);
    free(g.all);
    return status;
}

/* ---- Ascend's events, where no table has them ---- */

/* The text of a type on a core; UINT32_MAX when memory is out. */
static uint32_t typed(const ek__trace *trace, ek__texts *texts, const ek__event *e)
{
    char text[320];
    size_t size;
    const char *type = ek__operator_type(ek__trace_name(trace, e->name), &size);
    int n = snprintf(text, sizeof text, "%.*s\n\n\n\n\n\n%s", (int)(size < 256 ? size : 256), type,
                     e->core == EK__CORE_NONE ? "" : ek__core_name[e->core]);
    return ek__texts_intern(texts, text, (size_t)n);
}

static const char *typed_text(const void *user, uint32_t number)
{
    return ek__texts_at(user, number);
}

/* By name and core; the text of each is made once. @return false when memory is out */
static bool gather_tasks(const ek__trace *trace, ek__texts *texts, ek__execution *all, size_t *n)
{
    uint32_t *of = ek__alloc((size_t)trace->n_names * EK__N_CORES, sizeof *of), none = ek__texts_intern(texts, "", 0);
    ek__slice slice = trace->of[EK__EVENT_KERNEL];
    bool fine = of && none != UINT32_MAX;
    for (size_t i = 0; fine && i < slice.n; i++) {
        const ek__event *e = &slice.event[i];
        if (!ek__is_compute(trace, e))
            continue;
        uint32_t *what = &of[(size_t)e->name * EK__N_CORES + e->core];
        if (*what == 0) /* "" is number 0 */
            *what = typed(trace, texts, e);
        fine = *what != UINT32_MAX;
        all[(*n)++] = (ek__execution){.what = *what,
                                      .kernel = none,
                                      .start = e->start,
                                      .duration = e->duration,
                                      .stream = e->track,
                                      EK__NO_UNITS};
    }
    free(of);
    return fine;
}

static ek_status keep_tasks(const ek__trace *trace, ek_trace_rank *rank, ek_error *err)
{
    size_t n = 0;
    ek__texts texts = {0};
    ek__execution *all = ek__alloc(trace->of[EK__EVENT_KERNEL].n, sizeof *all);
    ek_status status = EK_OK;
    if (!all || !ek__texts_reset(&texts) || !gather_tasks(trace, &texts, all, &n))
        status = ek__no_memory(err);
    rank->measured.n_without_shapes = (int64_t)n;
    if (status == EK_OK)
        status = ek__measured_keep(all, n, typed_text, &texts, rank, err);
    ek__texts_clear(&texts);
    free(all);
    return status;
}

ek_status ek__analyse_measured(const ek__trace *trace, const ek_trace_options *options, ek_trace_rank *rank,
                               ek_error *err)
{
    ek_status status = EK_OK;
    if (!options->measure)
        return EK_OK;
    if (trace->producer == EK_PRODUCER_KINETO)
        status = keep_operators(trace, rank, err);
    else if (rank->measured.n_all == 0)
        status = keep_tasks(trace, rank, err);
    return status ? status : ek__measured_launches(trace, rank, err);
}
