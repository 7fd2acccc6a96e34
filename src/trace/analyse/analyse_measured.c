/* PyTorch's operators by shape: a kernel is of the innermost operator around its launch, which the launch names by its
 * external id. Kernels of one id are one execution, so that an operator of several kernels (a product that is split and
 * summed, attention backward) counts as a whole, with what it sets to zero; the longest kernel gives its name to it.
 * Ascend's are those of kernel_details.csv (src/trace/tables/table_kernel_details.c), else its tasks without shapes.
 * Then what collectives send: the host's call (record_param_comms) by external id, else the kernel's own arguments.
 * Made with options->measure only. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/c_locale.h"
#include "base/texts.h"
#include "trace/events/device.h"
#include "trace/events/intervals.h"
#include "trace/events/measured.h"
#include "trace/events/shapes.h"

/* ---- what an id tells ---- */

/* `shape` is the number of a text here. */
static ek_status by_link(ek__slice slice, bool (*take)(const ek__event *e), uint32_t (*tells)(const ek__event *e),
                         ek__shapes *out, ek_error *err)
{
    for (size_t i = 0; i < slice.n; i++) {
        const ek__event *e = &slice.event[i];
        if (take(e) && !ek__shapes_add(out, &(ek__shape){e->link, (int64_t)i, tells(e)}))
            return ek__no_memory(err);
    }
    ek__shapes_sort(out);
    return EK_OK;
}

static bool has_text(const ek__event *e)
{
    return e->name != 0;
}

static bool is_call(const ek__event *e)
{
    return e->core == 0;
}

static bool is_kernel(const ek__event *e)
{
    return e->core == 1;
}

static uint32_t name_of(const ek__event *e)
{
    return e->name;
}

static uint32_t detail_of(const ek__event *e)
{
    return e->detail;
}

/* 0 without one. */
static uint32_t told(const ek__shapes *of, uint32_t link)
{
    size_t low = 0, high = of->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (of->at[middle].key < link)
            low = middle + 1;
        else
            high = middle;
    }
    return link && low < of->n && of->at[low].key == link ? of->at[low].shape : 0;
}

/* ---- executions ---- */

/* A kernel of an operator. `id` 0: its operator tells nothing, and it is one of its own. */
typedef struct part {
    uint32_t id, what, kernel;
    int64_t start, duration, blocks; /* blocks: of threads; 0 when nothing tells */
    double occupancy;                /* 0..1; NAN */
    int stream;
    bool sets;
} part;

static int by_id(const void *a, const void *b)
{
    const part *x = a, *y = b;
    if (x->id != y->id)
        return x->id < y->id ? -1 : 1;
    if (x->sets != y->sets)
        return x->sets ? 1 : -1;
    if (x->duration != y->duration)
        return x->duration > y->duration ? -1 : 1;
    if (x->kernel != y->kernel)
        return x->kernel < y->kernel ? -1 : 1;
    return (x->start > y->start) - (x->start < y->start);
}

/* The longest kernel of an id comes first. @return how many executions */
static size_t bring_together(part *at, size_t n, ek__execution *out)
{
    size_t kept = 0;
    if (n > 1)
        qsort(at, n, sizeof *at, by_id);
    for (size_t i = 0; i < n; i++) {
        ek__execution *last = kept > 0 ? &out[kept - 1] : NULL;
        if (at[i].id && i > 0 && at[i].id == at[i - 1].id) {
            last->duration = ek__ns_add(last->duration, at[i].duration);
            last->start = at[i].start < last->start ? at[i].start : last->start;
        } else
            out[kept++] = (ek__execution){.what = at[i].what,
                                          .kernel = at[i].kernel,
                                          .start = at[i].start,
                                          .duration = at[i].duration,
                                          .stream = at[i].stream,
                                          .blocks = at[i].blocks,
                                          .unit = {NAN, NAN, NAN, NAN, at[i].occupancy}};
    }
    return kept;
}

static const char *text_of(const void *user, uint32_t number)
{
    return ek__trace_name(user, number);
}

/* All kernels of a graph share one launch, whose operator none of them is of. */
static bool is_graph(const ek__trace *trace, const ek__event *launch)
{
    return launch && strstr(ek__trace_name(trace, launch->name), "GraphLaunch");
}

/* "[128, 1, 1]|31": as many blocks as the product, and percent. 0 % is what Kineto writes where it cannot tell: a
 * kernel that uses more shared memory than a block may without asking. */
static void read_grid(const char *text, part *out)
{
    enum { N_DIMENSIONS = 3 };
    double blocks = 1;
    const char *at = text;
    char *end;
    out->occupancy = NAN;
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
        out->occupancy = percent / 100;
}

static bool is_compiled(const ek__trace *trace, const ek__event *e)
{
    return strncmp(ek__trace_name(trace, e->name), "triton_", strlen("triton_")) == 0;
}

/* Kernels, with what their operators tell; warm-up left out, and what is set to zero for no such operator. */
static size_t gather(const ek__trace *trace, const ek__shapes *shapes, ek_trace_rank *rank, part *out)
{
    ek_trace_measured *m = &rank->measured;
    ek__event_walk walk = ek__walk_kinds(trace, EK__KIND(KERNEL) | EK__KIND(SET));
    size_t n = 0, n_kernels = 0, n_compiled = 0, n_graph = 0;
    for (const ek__event *e; (e = ek__walk_event(&walk));) {
        const ek__event *launch = ek__launch_of(trace, e);
        if (!ek__measured_counts(rank, launch ? launch->start : e->start))
            continue;
        bool sets = e->kind == EK__EVENT_SET;
        bool graph = is_graph(trace, launch);
        uint32_t what = launch && !graph ? told(shapes, launch->detail) : 0;
        n_kernels += !sets;
        n_compiled += !sets && is_compiled(trace, e);
        n_graph += !sets && graph;
        m->n_without_shapes += !sets && what == 0;
        if (!what && sets)
            continue;
        out[n] = (part){.id = what ? launch->detail : 0,
                        .what = what,
                        .kernel = e->name,
                        .start = e->start,
                        .duration = e->duration,
                        .stream = e->track,
                        .sets = sets};
        read_grid(ek__trace_name(trace, e->detail), &out[n++]);
    }
    m->share_compiled = n_kernels > 0 ? (double)n_compiled / (double)n_kernels : 0;
    m->graphs = 2 * n_graph > n_kernels;
    return n;
}

static ek_status keep_operators(const ek__trace *trace, ek_trace_rank *rank, ek_error *err)
{
    ek__shapes shapes = {0};
    size_t room = trace->of[EK__EVENT_KERNEL].n + trace->of[EK__EVENT_SET].n;
    part *parts = ek__alloc(room, sizeof *parts);
    ek__execution *all = ek__alloc(room, sizeof *all);
    ek_status status = parts && all ? EK_OK : ek__no_memory(err);
    if (status == EK_OK)
        status = by_link(trace->of[EK__EVENT_SHAPE], has_text, name_of, &shapes, err);
    if (status == EK_OK) {
        size_t n = gather(trace, &shapes, rank, parts);
        status = ek__measured_keep(all, bring_together(parts, n, all), text_of, trace, rank, err);
    }
    ek__shapes_clear(&shapes);
    free(parts);
    free(all);
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

/* By name and core, whose text is made once. @return false when memory is out */
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

/* ---- messages ---- */

/* rank->communication.collective is in the order of the trace's slice (src/trace/analyse/analyse_collectives.c). */
static ek_status keep_messages(const ek__trace *trace, ek_trace_rank *rank, ek_error *err)
{
    ek__slice slice = trace->of[EK__EVENT_COLLECTIVE], messages = trace->of[EK__EVENT_MESSAGE];
    ek__shapes calls = {0}, kernels = {0};
    ek_status status = by_link(messages, is_call, detail_of, &calls, err);
    if (status == EK_OK)
        status = by_link(messages, is_kernel, detail_of, &kernels, err);
    for (size_t i = 0; i < slice.n && i < (size_t)rank->communication.n_collectives && status == EK_OK; i++) {
        const ek__event *launch = ek__launch_of(trace, &slice.event[i]);
        uint32_t text = launch ? told(&calls, launch->detail) : 0;
        text = text ? text : told(&kernels, slice.event[i].link);
        if (!text)
            continue;
        const char *name = ek__trace_name(trace, text);
        rank->communication.collective[i].message = ek__pool_text(rank->pool, name, strlen(name));
        if (!rank->communication.collective[i].message)
            status = ek__no_memory(err);
    }
    ek__shapes_clear(&calls);
    ek__shapes_clear(&kernels);
    return status;
}

ek_status ek__analyse_measured(const ek__trace *trace, const ek_trace_options *options, ek_trace_rank *rank,
                               ek_error *err)
{
    ek_status status = EK_OK;
    if (!options->measure)
        return EK_OK;
    if (trace->producer == EK_PRODUCER_KINETO) {
        status = keep_operators(trace, rank, err);
        if (status == EK_OK)
            status = keep_messages(trace, rank, err);
    } else if (rank->measured.n_all == 0)
        status = keep_tasks(trace, rank, err);
    return status ? status : ek__measured_launches(trace, rank, err);
}
