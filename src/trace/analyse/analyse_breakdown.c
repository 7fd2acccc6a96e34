/* Computes the device's time in every step, by merging sorted intervals: Ascend as CANN's Overlap Analysis defines it
 * (from that layer, or computed again from tasks and whole collectives), Kineto as TraceLens does. One pass over the
 * events in order of time assigns them to their steps, so the cost is O(events log steps) for any number of steps.
 * Fused operators that compute and communicate at once are not recognised by name and count as computing. */
#include <stdlib.h>
#include <string.h>

#include "trace/events/device.h"
#include "trace/tables/tables.h"

/* First start and last end of events. */
typedef struct extent {
    int64_t n, first, last;
} extent;

/* The events of one step, or of the complete file. */
typedef struct part {
    ek__intervals computing, communication, copy, receives, exchanges, layer_computing;
    int64_t n_work;
    extent counted;           /* computing and communication; Kineto: all work */
    extent layer, layer_busy; /* of the overlap layer: its four kinds, and those except Free */
    int64_t layer_sum[4], clipped_free;
    extent collectives;
    int64_t last_collective_start, bubble;
    int64_t n_receives, receive, n_sends, send, n_exchanges, exchange, default_busy, gradients_busy;
} part;

static void clear_part(part *p)
{
    ek__intervals_clear(&p->computing);
    ek__intervals_clear(&p->communication);
    ek__intervals_clear(&p->copy);
    ek__intervals_clear(&p->receives);
    ek__intervals_clear(&p->exchanges);
    ek__intervals_clear(&p->layer_computing);
}

static void clear_parts(part *parts, int n)
{
    for (int i = 0; parts && i < n; i++)
        clear_part(&parts[i]);
    free(parts);
}

static void extend(extent *x, const ek__event *e)
{
    int64_t end = ek__event_end(e);
    x->first = x->n == 0 || e->start < x->first ? e->start : x->first;
    x->last = x->n == 0 || end > x->last ? end : x->last;
    x->n++;
}

static int64_t length_of(const extent *x)
{
    return x->n ? ek__ns_sub(x->last, x->first) : 0;
}

/* ---- Kineto ---- */

static bool add_kineto(part *p, const ek__event *e)
{
    ek__intervals *set = e->kind == EK__EVENT_COLLECTIVE ? &p->communication
                         : e->kind == EK__EVENT_COPY     ? &p->copy
                                                         : &p->computing;
    p->n_work++;
    extend(&p->counted, e);
    return ek__intervals_add(set, e->start, ek__event_end(e));
}

/* The union of two sets, in `room` where neither is empty; NULL when memory is out. */
static const ek__intervals *unite(const ek__intervals *a, const ek__intervals *b, ek__intervals *room)
{
    if (a->n == 0 || b->n == 0)
        return a->n == 0 ? b : a;
    return ek__intervals_unite(a, b, room) ? room : NULL;
}

/* The sums common to both definitions. @return false when memory is out */
static bool finish_sets(const part *p, ek_trace_breakdown *out)
{
    ek__intervals busy_room = {0}, all_room = {0};
    const ek__intervals *busy = unite(&p->computing, &p->communication, &busy_room);
    const ek__intervals *all = busy ? unite(busy, &p->copy, &all_room) : NULL;
    if (all) {
        out->n_events = p->n_work;
        out->computing = ek__intervals_length(&p->computing);
        out->communication = ek__intervals_length(&p->communication);
        out->overlapped = ek__intervals_common(&p->computing, &p->communication);
        out->communication_not_overlapped = out->communication - out->overlapped;
        out->copy = ek__intervals_length(&p->copy);
        out->copy_not_overlapped = ek__intervals_without(&p->copy, busy);
        out->busy = ek__intervals_length(all);
        out->total = length_of(&p->counted);
    }
    ek__intervals_clear(&busy_room);
    ek__intervals_clear(&all_room);
    return all != NULL;
}

static bool finish_kineto(const part *p, ek_trace_breakdown *out)
{
    if (!finish_sets(p, out))
        return false;
    out->free = out->total - out->busy;
    return true;
}

ek_status ek__breakdown_kineto(const ek__trace *trace, bool (*take)(const void *user, const ek__event *event),
                               const void *user, ek_trace_breakdown *out, ek_error *err)
{
    part p = {0};
    ek__event_walk walk = ek__walk_kinds(trace, EK__WORK_KINDS);
    bool fine = true;
    for (const ek__event *e; fine && (e = ek__walk_event(&walk));)
        if (!take || take(user, e))
            fine = add_kineto(&p, e);
    ek_trace_breakdown result = {0};
    fine = fine && finish_kineto(&p, &result);
    clear_part(&p);
    if (!fine)
        return ek__no_memory(err);
    *out = result;
    return EK_OK;
}

/* ---- Ascend ---- */

/* The meaning of a name; looked up once per name, since names are few and events many. */
enum { OF_RECEIVE = 1, OF_SEND = 2, OF_BUBBLE = 4, OF_DEFAULT = 8, OF_GRADIENTS = 16, OF_SEEN = 128 };

typedef struct meanings {
    const ek__trace *trace;
    const ek_trace_options *options;
    unsigned char *of; /* [n_names] */
} meanings;

static unsigned meaning_of(const meanings *m, uint32_t name)
{
    if (!(m->of[name] & OF_SEEN)) {
        const char *text = ek__trace_name(m->trace, name);
        unsigned of = OF_SEEN;
        of |= ek__is_receive(m->options, text) ? OF_RECEIVE : 0;
        of |= ek__is_send(m->options, text) ? OF_SEND : 0;
        of |= ek__is_producer_bubble(m->trace->producer, text) ? OF_BUBBLE : 0;
        of |= strncmp(text, "Default/", 8) == 0 ? OF_DEFAULT : 0;
        of |= strncmp(text, "Gradients/", 10) == 0 ? OF_GRADIENTS : 0;
        m->of[name] = (unsigned char)of;
    }
    return m->of[name];
}

/* A send of NCCL occupies its stream until the receiver has come, so all exchanges between two ranks count as waiting.
 * Unclear ones are separate. */
static bool add_exchange(part *p, const ek__event *e)
{
    if (e->core == EK_EXCHANGE_P2P) {
        p->n_receives++;
        p->receive = ek__ns_add(p->receive, e->duration);
        return ek__intervals_add(&p->receives, e->start, ek__event_end(e));
    }
    if (e->core != EK_EXCHANGE_UNCLEAR)
        return true;
    p->n_exchanges++;
    p->exchange = ek__ns_add(p->exchange, e->duration);
    return ek__intervals_add(&p->exchanges, e->start, ek__event_end(e));
}

static bool add_collective(const meanings *m, part *p, const ek__event *e)
{
    extend(&p->collectives, e);
    p->last_collective_start = e->start; /* they come by start */
    if (m->trace->producer == EK_PRODUCER_KINETO)
        return add_exchange(p, e);
    unsigned of = meaning_of(m, e->name);
    if (of & OF_BUBBLE)
        p->bubble = ek__ns_add(p->bubble, e->duration);
    if (of & OF_SEND) {
        p->n_sends++;
        p->send = ek__ns_add(p->send, e->duration);
    }
    if (!(of & OF_RECEIVE))
        return true;
    p->n_receives++;
    p->receive = ek__ns_add(p->receive, e->duration);
    return ek__intervals_add(&p->receives, e->start, ek__event_end(e));
}

static void add_scope(const meanings *m, part *p, const ek__event *e)
{
    unsigned of = meaning_of(m, e->name);
    if (!(of & (OF_DEFAULT | OF_GRADIENTS)) && e->detail)
        of = meaning_of(m, e->detail);
    if (of & OF_DEFAULT)
        p->default_busy = ek__ns_add(p->default_busy, e->duration);
    if (of & OF_GRADIENTS)
        p->gradients_busy = ek__ns_add(p->gradients_busy, e->duration);
}

static bool add_task(const meanings *m, part *p, const ek__event *e)
{
    bool compute = ek__is_compute(m->trace, e), communication = !compute && ek__is_communication(m->trace, e);
    p->n_work += e->kind != EK__EVENT_TASK;
    if (e->kind == EK__EVENT_COPY)
        return ek__intervals_add(&p->copy, e->start, ek__event_end(e));
    if (!compute && !communication)
        return true;
    extend(&p->counted, e);
    if (compute)
        add_scope(m, p, e);
    else if (e->kind == EK__EVENT_COLLECTIVE && !add_collective(m, p, e))
        return false;
    return ek__intervals_add(compute ? &p->computing : &p->communication, e->start, ek__event_end(e));
}

/* `end`: of the step's window. */
static bool add_layer(part *p, const ek__event *e, int64_t end)
{
    int kind = e->kind - EK__EVENT_COMPUTING;
    extend(&p->layer, e);
    p->layer_sum[kind] = ek__ns_add(p->layer_sum[kind], e->duration);
    if (e->kind != EK__EVENT_FREE)
        extend(&p->layer_busy, e);
    else if (end > e->start)
        p->clipped_free = ek__ns_add(p->clipped_free, ek__event_end(e) < end ? e->duration : end - e->start);
    return e->kind != EK__EVENT_COMPUTING || ek__intervals_add(&p->layer_computing, e->start, ek__event_end(e));
}

static bool is_layer(const ek__event *e)
{
    return e->kind >= EK__EVENT_COMPUTING && e->kind <= EK__EVENT_FREE;
}

static bool finish_raw(const part *p, ek_trace_breakdown *out)
{
    if (!finish_sets(p, out))
        return false;
    out->free = ek__ns_sub(out->total, ek__ns_add(out->computing, out->communication_not_overlapped));
    return true;
}

/* From the sums of the overlap layer, where events of one kind do not overlap. Free: the value of the layer, as
 * torch_npu prints it; MindSpore's last Free event of a step reaches into the next one, so there it is the remainder of
 * the span. */
static void finish_layer(const part *p, ek_producer producer, const ek_trace_breakdown *raw, ek_trace_breakdown *out)
{
    *out = *raw;
    out->computing = p->layer_sum[0];
    out->communication = p->layer_sum[1];
    out->communication_not_overlapped = p->layer_sum[2];
    out->overlapped = ek__ns_sub(out->communication, out->communication_not_overlapped);
    int64_t covered = ek__ns_add(out->computing, out->communication_not_overlapped);
    out->free = producer == EK_PRODUCER_MINDSPORE ? ek__ns_sub(length_of(&p->layer_busy), covered) : p->layer_sum[3];
    out->busy = ek__ns_add(covered, out->copy_not_overlapped);
    out->total = ek__ns_add(covered, out->free);
}

/* The producer's own columns, as its documentation and source define them. */
static void finish_producer(const part *p, ek_producer producer, bool layer, ek_trace_step *step)
{
    const extent *busy = layer && p->layer_busy.n ? &p->layer_busy : &p->counted;
    if (step->host_start != EK_TRACE_UNKNOWN && busy->n)
        step->preparing = ek__ns_sub(busy->first, step->host_start);
    if (producer != EK_PRODUCER_TORCH_NPU && producer != EK_PRODUCER_MINDSPORE)
        return;
    bool torch = producer == EK_PRODUCER_TORCH_NPU;
    step->producer_definition = torch ? "torch_npu" : "mindspore";
    step->bubble = p->bubble;
    int64_t all = layer ? length_of(&p->layer) : length_of(&p->counted);
    int64_t collectives = p->collectives.n ? ek__ns_sub(p->last_collective_start, p->collectives.first) : 0;
    step->stage = ek__ns_sub(torch ? all : collectives, p->bubble);
    if (layer)
        step->producer_free = torch ? p->layer_sum[3] : p->clipped_free;
    if (!torch && step->preparing == EK_TRACE_UNKNOWN)
        step->preparing = 0;
    step->exclude_receive = ek__ns_sub(step->own.communication_not_overlapped, p->bubble);
    if (torch && step->exclude_receive < 0)
        step->exclude_receive = 0;
}

/* ---- a step ---- */

static bool finish_step(const part *p, ek_producer producer, bool layer, ek_trace_step *step)
{
    if (producer == EK_PRODUCER_KINETO) {
        if (!finish_kineto(p, &step->raw))
            return false;
        step->own = step->raw;
        step->start = p->counted.n ? p->counted.first : step->start;
        step->end = p->counted.n ? p->counted.last : step->end;
    } else {
        if (!finish_raw(p, &step->raw))
            return false;
        step->own = step->raw;
        if (layer)
            finish_layer(p, producer, &step->raw, &step->own);
    }
    step->source = layer ? "overlap_layer" : "raw_events";
    finish_producer(p, producer, layer, step);
    step->n_receives = p->n_receives;
    step->receive = p->receive;
    step->n_sends = p->n_sends;
    step->send = p->send;
    step->receive_exposed = ek__intervals_without(&p->receives, layer ? &p->layer_computing : &p->computing);
    step->pipeline_wait = step->receive_exposed;
    step->n_exchanges = p->n_exchanges;
    step->exchange = p->exchange;
    step->exchange_exposed = ek__intervals_without(&p->exchanges, layer ? &p->layer_computing : &p->computing);
    step->span = p->counted.n || !layer ? length_of(&p->counted) : length_of(&p->layer_busy);
    step->own_stage = ek__ns_sub(step->span, step->pipeline_wait);
    step->scope_default_busy = p->default_busy;
    step->scope_gradients_busy = p->gradients_busy;
    return true;
}

/* ---- dealing the events ---- */

typedef struct dealing {
    meanings names;
    ek_trace_rank *rank;
    ek__step_finder finder;
    part *parts; /* [n_steps + 1]: the last one takes all */
    bool layer;
} dealing;

static bool deal(dealing *d, const ek__event *e)
{
    int n = d->rank->n_steps, step = ek__step_of(&d->finder, e);
    bool kineto = d->names.trace->producer == EK_PRODUCER_KINETO;
    if (step < 0 && !is_layer(e) && e->kind != EK__EVENT_TASK)
        d->rank->n_outside_steps++;
    const int to[] = {step, n};
    for (int i = 0; i < 2; i++) {
        if (to[i] < 0)
            continue;
        part *p = &d->parts[to[i]];
        int64_t end = to[i] < n ? d->rank->step[to[i]].end : INT64_MAX;
        if (kineto && e->kind == EK__EVENT_COLLECTIVE && !add_collective(&d->names, p, e))
            return false;
        if (kineto ? !add_kineto(p, e) : is_layer(e) ? !add_layer(p, e, end) : !add_task(&d->names, p, e))
            return false;
    }
    return true;
}

static bool deal_kinds(dealing *d, uint32_t kinds)
{
    ek__event_walk walk = ek__walk_kinds(d->names.trace, kinds);
    for (const ek__event *e; (e = ek__walk_event(&walk));)
        if (!deal(d, e))
            return false;
    return true;
}

/* The device's events in order of time; the layer's kinds do not overlap, so one event comes at a time. */
static bool deal_all(dealing *d)
{
    bool kineto = d->names.trace->producer == EK_PRODUCER_KINETO;
    if (!deal_kinds(d, EK__WORK_KINDS | (kineto ? 0 : EK__KIND(TASK))))
        return false;
    for (int kind = EK__EVENT_COMPUTING; kind <= EK__EVENT_FREE && d->layer; kind++)
        if (!deal_kinds(d, 1u << kind))
            return false;
    return true;
}

static bool finish_all(dealing *d)
{
    ek_trace_rank *rank = d->rank;
    ek_producer producer = d->names.trace->producer;
    for (int i = 0; i < rank->n_steps; i++)
        if (!rank->step[i].from_table && !finish_step(&d->parts[i], producer, d->layer, &rank->step[i]))
            return false;
    ek_trace_step all = ek__step_of_events();
    if (!finish_step(&d->parts[rank->n_steps], producer, d->layer, &all))
        return false;
    rank->device = all.own;
    return true;
}

/* ---- the rank ---- */

/* The figures of a breakdown, one by one. */
static int64_t *figure_of(ek_trace_breakdown *b, int i)
{
    int64_t *const figure[] = {&b->n_events,   &b->computing, &b->communication,       &b->communication_not_overlapped,
                               &b->overlapped, &b->copy,      &b->copy_not_overlapped, &b->busy,
                               &b->free,       &b->total};
    return i < (int)(sizeof figure / sizeof *figure) ? figure[i] : NULL;
}

static bool is_in_mean(const ek_trace_step *step, bool from_events)
{
    if (step->warm_up)
        return false;
    return from_events ? !step->from_table && step->own.n_events > 0 : step->from_table;
}

/* Over the steps that are no warm-up; those without device events would only lower it. Steps of tables count where
 * there are no others. */
static void fill_mean(ek_trace_rank *rank)
{
    bool from_events = false;
    for (int i = 0; i < rank->n_steps; i++)
        from_events |= !rank->step[i].from_table && rank->step[i].own.n_events > 0;
    for (int k = 0; figure_of(&rank->mean, k); k++) {
        int64_t sum = 0, n = 0;
        for (int i = 0; i < rank->n_steps; i++) {
            int64_t value = *figure_of(&rank->step[i].own, k);
            if (!is_in_mean(&rank->step[i], from_events) || value == EK_TRACE_UNKNOWN)
                continue;
            sum = ek__ns_add(sum, value);
            n++;
        }
        *figure_of(&rank->mean, k) = n > 0 ? sum / n : EK_TRACE_UNKNOWN;
    }
}

/* `user`: the trace. */
static bool is_linked(const void *user, const ek__event *e)
{
    return ek__launch_of(user, e);
}

static bool all_linked(const ek__trace *trace)
{
    ek__event_walk walk = ek__walk_kinds(trace, EK__WORK_KINDS);
    for (const ek__event *e; (e = ek__walk_event(&walk));)
        if (!is_linked(trace, e))
            return false;
    return true;
}

/* Over the events with a launch in the file, which are mostly all of them. */
static ek_status fill_linked(const ek__trace *trace, ek_trace_rank *rank, ek_error *err)
{
    if (!all_linked(trace))
        return ek__breakdown_kineto(trace, is_linked, trace, &rank->device_linked, err);
    rank->device_linked = rank->device;
    return EK_OK;
}

/* Categories that Kineto gives to the host, and those of the default set of device events. */
static bool is_known_category(const char *name)
{
    static const char *const known[] = {"",
                                        "cpu_op",
                                        "user_annotation",
                                        "python_function",
                                        "cuda_runtime",
                                        "cuda_driver",
                                        "cuda_sync",
                                        "overhead",
                                        "Trace",
                                        "Operator",
                                        "Runtime",
                                        "cpu_instant_event",
                                        "kernel",
                                        "gpu_memcpy",
                                        "gpu_memset",
                                        "Kernel",
                                        "Memcpy",
                                        "Memset",
                                        "ac2g",
                                        "fwdbwd",
                                        "external_correlation",
                                        "gpu_user_annotation",
                                        "cuda_profiler_range",
                                        "enqueue",
                                        "dequeue",
                                        "mtia_runtime",
                                        "xpu_runtime",
                                        "glow_runtime",
                                        "privateuse1_runtime",
                                        "cuda_event"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(name, known[i]) == 0)
            return true;
    return false;
}

/* Without device events nothing is known of the device; the host's figures stay. */
static void forget_device(ek_trace_rank *rank)
{
    for (int i = 0; i < rank->n_steps; i++) {
        ek_trace_step *step = &rank->step[i], cleared;
        if (step->from_table)
            continue;
        ek__step_clear(&cleared);
        cleared.name = step->name;
        cleared.warm_up = step->warm_up;
        cleared.host_start = step->host_start;
        cleared.host_step = step->host_step;
        cleared.start = step->start;
        cleared.end = step->end;
        *step = cleared;
    }
}

static ek_status note_no_device_events(const ek__trace *trace, ek_trace_rank *rank, ek_error *err)
{
    forget_device(rank);
    ek_status status = ek__rank_note(rank, err, "no device events: the time of the device is not known");
    for (int i = 0; status == EK_OK && i < trace->counts.n_categories; i++) {
        const ek_trace_category *category = &trace->counts.category[i];
        if (category->n_complete > 0 && !is_known_category(category->name))
            status = ek__rank_note(rank, err,
                                   "%lld events of the category '%.64s', which is not in the default set of device "
                                   "events (kernel, gpu_memcpy, gpu_memset), are not counted",
                                   (long long)category->n_complete, category->name);
    }
    return status;
}

/* "Other" means that the profiler does not know the core; the task is an operator nevertheless. */
static ek_status note_unknown_cores(const ek__trace *trace, ek_trace_rank *rank, ek_error *err)
{
    ek__slice operators = trace->of[EK__EVENT_KERNEL];
    long long n = 0;
    int64_t total = 0;
    for (size_t i = 0; i < operators.n; i++)
        if (operators.event[i].core == EK__CORE_OTHER) {
            n++;
            total = ek__ns_add(total, operators.event[i].duration);
        }
    if (n == 0)
        return EK_OK;
    return ek__rank_note(rank, err,
                         "%lld of %zu operators (%.2f ms) have a task type that names no core, such as \"Other\": they "
                         "count as computing",
                         n, operators.n, (double)total / 1e6);
}

static ek_status note_odd_events(const ek_trace_counts *counts, ek_trace_rank *rank, ek_error *err)
{
    const struct {
        int64_t n;
        const char *what;
    } note[] = {
        {counts->n_odd - counts->n_unmatched, "events without a usable name, time or duration are left out"},
        {counts->n_negative,
         "events have a negative duration, which is read as 0: times that include them are too short; profile again"},
        {counts->n_doubled, "device events are in the files twice and count once"},
        {counts->n_unmatched, "begin or end events (\"ph\" B, E) without a counterpart are left out"},
    };
    ek_status status = EK_OK;
    for (size_t i = 0; i < sizeof note / sizeof *note && status == EK_OK; i++)
        if (note[i].n > 0)
            status = ek__rank_note(rank, err, "%lld %s", (long long)note[i].n, note[i].what);
    return status;
}

static ek_status make_parts(const ek__trace *trace, ek_trace_rank *rank, dealing *d, ek_error *err)
{
    ek_status status = ek__step_finder_make(trace, rank, &d->finder, err);
    if (status != EK_OK)
        return status;
    d->parts = ek__alloc((size_t)rank->n_steps + 1, sizeof *d->parts);
    d->names.of = ek__alloc(trace->n_names, 1);
    bool fine = d->parts && d->names.of && deal_all(d) && finish_all(d);
    clear_parts(d->parts, rank->n_steps + 1);
    free(d->names.of);
    ek__step_finder_clear(&d->finder);
    return fine ? EK_OK : ek__no_memory(err);
}

ek_status ek__analyse_breakdown(const ek__trace *trace, const ek_trace_options *options, ek_trace_rank *rank,
                                ek_error *err)
{
    dealing d = {{trace, options, NULL}, rank, {0}, NULL, ek__has_overlap_layer(trace, options)};
    ek_status status = EK_OK;
    rank->n_outside_steps = 0;
    if (rank->has_device_events)
        status = make_parts(trace, rank, &d, err);
    else if (trace->counts.n_items > 0)
        status = note_no_device_events(trace, rank, err);
    if (status == EK_OK && rank->has_device_events && trace->producer == EK_PRODUCER_KINETO)
        status = fill_linked(trace, rank, err);
    if (status == EK_OK)
        status = note_unknown_cores(trace, rank, err);
    if (status == EK_OK)
        status = note_odd_events(&trace->counts, rank, err);
    if (status == EK_OK && rank->n_outside_steps > 0)
        status =
            ek__rank_note(rank, err, "%lld device events lie outside every step", (long long)rank->n_outside_steps);
    if (status == EK_OK)
        status = ek__mark_warm_up(options, rank, err);
    if (status == EK_OK)
        fill_mean(rank);
    return status;
}
