/* Assigns the device's work to phases.
 *
 * PyTorch, by where it was launched. A thread with more ends than begins of fwdbwd arrows runs backward passes; in
 * traces without arrows every thread that launches kernels except the one that steps the optimizer. Launches of such a
 * thread are backward, except recomputation inside recompute_fn or, in traces without these ranges, where the last
 * arrow before it begins there, as those of forward operators do. Launches of other threads are forward while a launch
 * of a backward pass follows in the same step, then optimizer up to the end of the last range Optimizer.step, clipping
 * and scaling of gradients included, then post-processing; all of it optimizer where no such range is marked. A step
 * without a backward pass is forward.
 *
 * MindSpore, by the operators' paths: Gradients is backward, an element optimizer-... or an operator that updates
 * weights the optimizer, operators of a layer that is run again recomputation, other paths forward; computing after a
 * step's last optimizer operator is post-processing.
 *
 * Collectives and copies without information in their launch belong to the phase of the last operator that began before
 * them. A reduction after the forward pass is one of gradients where its group does not reduce as much in forward
 * passes, as tensor parallel groups do. Not handled: several optimizers in turn within one step, graphs launched as a
 * whole. */
#include <stdlib.h>
#include <string.h>

#include "base/sort.h"
#include "trace/analyse/phases.h"
#include "trace/events/device.h"
#include "trace/layers/layers_paths.h"

enum { LEAST_RATIO = 4 }; /* of a group's reductions: ratio of the time after the forward passes to that in them */

typedef struct arrow {
    int64_t time;
    int32_t track;
    bool ends;
} arrow;

typedef struct range {
    int64_t start, end;
} range;

typedef struct work {
    const ek__trace *trace;
    const ek_trace_rank *rank;
    ek__device_work *at;
    size_t n;
    bool *runs_backward;  /* [n_tracks] */
    arrow *arrow;         /* [n_arrows], by track and time */
    ek__intervals *again; /* [n_tracks]: recompute_fn */
    int64_t *backward;    /* [n_backward]: launches of backward threads, sorted */
    range *optimizer;     /* [n_optimizers], by start */
    size_t n_arrows, n_backward, n_optimizers;
    ek__step_finder host;
    bool torch; /* launches distinguish forward and backward */
} work;

const char *const ek__trace_activity_name[EK_N_TRACE_ACTIVITIES] = {
    "forward",  "recompute", "backward", "optimizer", "post", "other_computing", "collectives", "gradients",
    "pipeline", "copies",    "data",     "host",      "idle"};
const char *const *const ek_trace_activity_name = ek__trace_activity_name;

/* ---- the work ---- */

static void place_launch(const ek__trace *trace, ek__task_launch_walk arrows[2], ek__device_work *w)
{
    const ek__event *call = ek__launch_of(trace, w->event);
    w->launch = call ? call->start : EK_TRACE_UNKNOWN;
    w->track = call ? call->track : -1;
    if (call || trace->producer == EK_PRODUCER_KINETO)
        return;
    const ek__task_launch *device = ek__task_launch_of(&arrows[0], w->event);
    const ek__task_launch *framework = ek__task_launch_of(&arrows[1], w->event);
    if (device)
        w->launch = device->launch;
    if (framework)
        w->track = framework->host_track;
    if (framework && !device)
        w->launch = framework->launch;
}

/* @return false for events that neither compute, communicate nor copy */
static bool describe(const ek__trace *trace, const ek__event *e, ek__device_work *w)
{
    bool kineto = trace->producer == EK_PRODUCER_KINETO;
    *w = (ek__device_work){.event = e, .phase = EK_TRACE_OTHER_COMPUTING, .activity = EK_TRACE_OTHER_COMPUTING};
    if (e->kind == EK__EVENT_COPY) {
        w->activity = EK_TRACE_COPIES;
        return true;
    }
    bool computes = kineto ? e->kind != EK__EVENT_COLLECTIVE : ek__is_compute(trace, e);
    w->communicates = !computes && (kineto || ek__is_communication(trace, e));
    w->activity = computes ? EK_TRACE_OTHER_COMPUTING : EK_TRACE_COLLECTIVES;
    return computes || w->communicates;
}

static ek_status gather(work *x, ek_error *err)
{
    const ek__trace *trace = x->trace;
    uint32_t kinds = EK__WORK_KINDS | (trace->producer == EK_PRODUCER_KINETO ? 0 : EK__KIND(TASK));
    ek__task_launch_walk arrows[2] = {{0}};
    ek__step_finder finder = {0};
    size_t room = 0;
    for (int kind = 0; kind < EK__N_EVENT_KINDS; kind++)
        room += kinds & 1u << kind ? trace->of[kind].n : 0;
    x->at = ek__alloc(room, sizeof *x->at);
    ek_status status = x->at ? ek__step_finder_make(trace, x->rank, &finder, err) : ek__no_memory(err);
    if (!status && (!ek__task_launch_walk_make(trace, EK__FLOW_HOST_TO_DEVICE, &arrows[0]) ||
                    !ek__task_launch_walk_make(trace, EK__FLOW_ASYNC_NPU, &arrows[1])))
        status = ek__no_memory(err);
    ek__event_walk walk = ek__walk_kinds(trace, kinds);
    for (const ek__event *e; !status && (e = ek__walk_event(&walk));) {
        ek__device_work *w = &x->at[x->n];
        if (!describe(trace, e, w))
            continue;
        place_launch(trace, arrows, w);
        w->step = ek__step_of(&finder, e);
        x->n++;
    }
    ek__task_launch_walk_clear(&arrows[0]);
    ek__task_launch_walk_clear(&arrows[1]);
    ek__step_finder_clear(&finder);
    return status;
}

/* ---- threads ---- */

static int by_track(const void *a, const void *b)
{
    const arrow *x = a, *y = b;
    if (x->track != y->track)
        return x->track < y->track ? -1 : 1;
    if (x->time != y->time)
        return x->time < y->time ? -1 : 1;
    return x->ends - y->ends;
}

static bool find_arrows(work *x, int64_t *balance)
{
    ek__slice flows = x->trace->of[EK__EVENT_FLOW];
    x->arrow = ek__alloc(flows.n, sizeof *x->arrow);
    if (!x->arrow)
        return false;
    for (size_t i = 0; i < flows.n; i++) {
        const ek__event *e = &flows.event[i];
        if (e->name != EK__FLOW_FORWARD_BACKWARD)
            continue;
        x->arrow[x->n_arrows++] = (arrow){e->start, e->track, e->detail != 0};
        balance[e->track] += e->detail == 0 ? -1 : 1;
    }
    ek__sort(x->arrow, x->n_arrows, sizeof *x->arrow, by_track);
    return true;
}

/* Without arrows: threads that launch kernels, except those that mark steps or step an optimizer. */
static void guess_threads(work *x)
{
    for (size_t i = 0; i < x->n && x->n_optimizers > 0; i++)
        if (x->at[i].track >= 0 && x->at[i].activity == EK_TRACE_OTHER_COMPUTING)
            x->runs_backward[x->at[i].track] = true;
    static const ek__event_kind main_thread[] = {EK__EVENT_OPTIMIZER, EK__EVENT_STEP};
    for (size_t k = 0; k < sizeof main_thread / sizeof *main_thread; k++) {
        ek__slice slice = x->trace->of[main_thread[k]];
        for (size_t i = 0; i < slice.n; i++)
            x->runs_backward[slice.event[i].track] = false;
    }
}

static bool find_threads(work *x)
{
    size_t n_tracks = (size_t)x->trace->n_tracks;
    int64_t *balance = ek__alloc(n_tracks, sizeof *balance);
    x->runs_backward = ek__alloc(n_tracks, sizeof *x->runs_backward);
    bool fine = balance && x->runs_backward && find_arrows(x, balance);
    for (size_t t = 0; fine && t < n_tracks; t++)
        x->runs_backward[t] = balance[t] > 0;
    if (fine && x->n_arrows == 0)
        guess_threads(x);
    for (size_t t = 0; fine && t < n_tracks; t++)
        x->torch |= x->runs_backward[t];
    free(balance);
    return fine;
}

static bool find_reruns(work *x)
{
    ek__slice slice = x->trace->of[EK__EVENT_RECOMPUTE];
    x->again = ek__alloc((size_t)x->trace->n_tracks, sizeof *x->again);
    for (size_t i = 0; x->again && i < slice.n; i++)
        if (!ek__intervals_add(&x->again[slice.event[i].track], slice.event[i].start, ek__event_end(&slice.event[i])))
            return false;
    return x->again;
}

static bool find_optimizers(work *x)
{
    ek__slice slice = x->trace->of[EK__EVENT_OPTIMIZER];
    x->optimizer = ek__alloc(slice.n, sizeof *x->optimizer);
    for (size_t i = 0; x->optimizer && i < slice.n; i++)
        x->optimizer[x->n_optimizers++] = (range){slice.event[i].start, ek__event_end(&slice.event[i])};
    return x->optimizer;
}

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static bool find_backward(work *x)
{
    x->backward = ek__alloc(x->n, sizeof *x->backward);
    if (!x->backward)
        return false;
    for (size_t i = 0; i < x->n; i++)
        if (x->at[i].track >= 0 && x->runs_backward[x->at[i].track])
            x->backward[x->n_backward++] = x->at[i].launch;
    ek__sort(x->backward, x->n_backward, sizeof *x->backward, by_value);
    return true;
}

/* ---- phases of PyTorch ---- */

/* The last arrow's point on a track at a time; NULL. O(log n). */
static const arrow *last_arrow(const work *x, int32_t track, int64_t time)
{
    const arrow key = {time, track, true};
    size_t low = 0, high = x->n_arrows;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (by_track(&x->arrow[middle], &key) <= 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 && x->arrow[low - 1].track == track ? &x->arrow[low - 1] : NULL;
}

/* Values of a sorted list that are at most `time`. */
static size_t n_until(const int64_t *list, size_t n, int64_t time)
{
    size_t low = 0;
    while (low < n) {
        size_t middle = low + (n - low) / 2;
        if (list[middle] <= time)
            low = middle + 1;
        else
            n = middle;
    }
    return low;
}

/* The host's step around a time: the complete time where no step is marked. */
static range step_around(work *x, int64_t time)
{
    int step = ek__step_at(&x->host, time);
    if (step < 0 || x->rank->step[step].host_start == EK_TRACE_UNKNOWN)
        return (range){INT64_MIN, INT64_MAX};
    const ek_trace_step *s = &x->rank->step[step];
    return (range){s->host_start, ek__ns_add(s->host_start, s->host_step)};
}

/* End of the last optimizer range of a step; INT64_MIN without one. O(log ranges + those of the step). */
static int64_t optimizer_end(const work *x, range step)
{
    int64_t end = INT64_MIN;
    size_t low = 0, high = x->n_optimizers;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (x->optimizer[middle].start < step.start)
            low = middle + 1;
        else
            high = middle;
    }
    for (size_t i = low; i < x->n_optimizers && x->optimizer[i].start < step.end; i++)
        end = x->optimizer[i].end > end ? x->optimizer[i].end : end;
    return end;
}

static uint8_t main_phase(work *x, int64_t launch)
{
    range step = step_around(x, launch);
    size_t before = n_until(x->backward, x->n_backward, launch);
    bool follows = before < x->n_backward && x->backward[before] < step.end;
    bool ran = before > 0 && x->backward[before - 1] >= step.start;
    if (follows || !ran)
        return EK_TRACE_FORWARD;
    int64_t end = optimizer_end(x, step);
    return end == INT64_MIN || launch <= end ? EK_TRACE_OPTIMIZER : EK_TRACE_POST;
}

static uint8_t torch_phase(work *x, const ek__device_work *w)
{
    if (w->track < 0 || w->launch == EK_TRACE_UNKNOWN)
        return EK_TRACE_OTHER_COMPUTING;
    if (ek__intervals_hold(&x->again[w->track], w->launch))
        return EK_TRACE_RECOMPUTE;
    if (!x->runs_backward[w->track])
        return main_phase(x, w->launch);
    if (x->trace->of[EK__EVENT_RECOMPUTE].n > 0)
        return EK_TRACE_BACKWARD;
    const arrow *last = last_arrow(x, w->track, w->launch);
    return last && !last->ends ? EK_TRACE_RECOMPUTE : EK_TRACE_BACKWARD;
}

/* ---- phases of MindSpore ---- */

static bool updates_weights(const char *path)
{
    static const char *const words[] = {
        "ApplyMomentum",        "ApplyAdam", "AdamApply", "AdamW",    "ApplyRMSProp", "ApplyFtrl", "ApplyAdagrad",
        "ApplyGradientDescent", "ApplyLamb", "LambApply", "LambNext", "LambUpdate",   "ApplyLars", "/optimizer-"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strstr(path, words[i]))
            return true;
    return false;
}

static uint8_t path_phase(const char *name)
{
    const char *path = ek__without_module(name);
    if (!ek__is_layer_path(path))
        return EK_TRACE_OTHER_COMPUTING;
    if (strncmp(path, "Gradients/", 10) == 0)
        return EK_TRACE_BACKWARD;
    return updates_weights(path) ? EK_TRACE_OPTIMIZER : EK_TRACE_FORWARD;
}

static bool in_rerun(const ek_trace_layers *layers, int64_t time)
{
    int low = 0, high = layers->n_reruns;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (layers->rerun[middle].start <= time)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 && time < layers->rerun[low - 1].end;
}

/* Work after a step's last optimizer operator. */
static bool find_post(work *x)
{
    int64_t *end = ek__alloc((size_t)x->rank->n_steps + 1, sizeof *end); /* of the last optimizer operator, + 1 */
    if (!end)
        return false;
    for (size_t i = 0; i < x->n; i++)
        if (x->at[i].step >= 0 && x->at[i].phase == EK_TRACE_OPTIMIZER)
            end[x->at[i].step] = ek__ns_add(ek__event_end(x->at[i].event), 1);
    for (size_t i = 0; i < x->n; i++) {
        ek__device_work *w = &x->at[i];
        if (w->step >= 0 && end[w->step] > 0 && w->event->start >= end[w->step] - 1)
            w->phase = EK_TRACE_POST;
    }
    free(end);
    return true;
}

static bool phases_of_paths(work *x)
{
    enum { NOT_ASKED = 255 };
    uint8_t *of = ek__alloc(x->trace->n_names, sizeof *of);
    if (!of)
        return false;
    memset(of, NOT_ASKED, x->trace->n_names);
    for (size_t i = 0; i < x->n; i++) {
        ek__device_work *w = &x->at[i];
        if (w->communicates || w->event->kind != EK__EVENT_KERNEL)
            continue;
        const uint32_t names[] = {w->event->name, w->event->detail};
        for (int k = 0; k < 2 && w->phase == EK_TRACE_OTHER_COMPUTING; k++) {
            if (of[names[k]] == NOT_ASKED)
                of[names[k]] = path_phase(ek__trace_name(x->trace, names[k]));
            w->phase = of[names[k]];
        }
        if (w->phase == EK_TRACE_FORWARD && in_rerun(&x->rank->layers, w->event->start))
            w->phase = EK_TRACE_RECOMPUTE;
    }
    free(of);
    return find_post(x);
}

/* ---- communication ---- */

/* Work of unknown phase continues the phase of the last computing. */
static void follow_computing(work *x)
{
    uint8_t last = EK_TRACE_OTHER_COMPUTING;
    for (size_t i = 0; i < x->n; i++) {
        ek__device_work *w = &x->at[i];
        bool computes = !w->communicates && w->activity != EK_TRACE_COPIES;
        if (computes)
            last = w->phase;
        else if (w->phase == EK_TRACE_OTHER_COMPUTING)
            w->phase = last;
        if (computes)
            w->activity = w->phase;
    }
}

static bool holds_any_case(const char *text, const char *word)
{
    for (; *text; text++) {
        size_t i = 0, at = 0;
        while (word[i] && (text[at] | 0x20) == word[i]) {
            i++;
            at++;
            while (word[i] && (text[at] == '_' || text[at] == ' '))
                at++;
        }
        if (!word[i])
            return true;
    }
    return false;
}

/* "allreduce", "reducescatter", "reduce": 0 for operations that reduce nothing. */
static int reduction_of(const char *name)
{
    return holds_any_case(name, "allreduce") ? 1 : holds_any_case(name, "reducescatter") ? 2 : 0;
}

/* Reductions of one kind and group, for the distribution of their time. */
typedef struct reduction {
    const char *group;
    int kind;
    int64_t forward, behind;
} reduction;

/* The ranks of a group where the arguments name them, else its hash; "" where neither is known. */
static const char *group_of(const ek_trace_collective *c)
{
    const char *ranks = c->message ? strrchr(c->message, '|') : NULL;
    return ranks && ranks[1] ? ranks + 1 : c->group ? c->group : "";
}

static reduction *sum_of(reduction *list, size_t *n, const ek_trace_collective *c)
{
    enum { MOST = 256 }; /* groups of a rank are few; any further ones share the last sum */
    int kind = reduction_of(c->name);
    const char *group = group_of(c);
    for (size_t i = 0; i < *n; i++)
        if (list[i].kind == kind && strcmp(list[i].group, group) == 0)
            return &list[i];
    if (*n < MOST)
        list[(*n)++] = (reduction){.group = group, .kind = kind};
    return &list[*n - 1];
}

static bool is_behind(uint8_t phase)
{
    return phase == EK_TRACE_BACKWARD || phase == EK_TRACE_RECOMPUTE || phase == EK_TRACE_OPTIMIZER;
}

/* The collective of a piece of work: both lists are in the order of the trace's slice. */
static const ek_trace_collective *collective_of(const work *x, const ek__device_work *w)
{
    ek__slice slice = x->trace->of[EK__EVENT_COLLECTIVE];
    if (w->event->kind != EK__EVENT_COLLECTIVE)
        return NULL;
    size_t i = (size_t)(w->event - slice.event);
    return i < (size_t)x->rank->communication.n_collectives ? &x->rank->communication.collective[i] : NULL;
}

static bool name_communication(work *x)
{
    size_t n = 0;
    reduction *list = ek__alloc(256, sizeof *list);
    if (!list)
        return false;
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < x->n; i++) {
            ek__device_work *w = &x->at[i];
            const ek_trace_collective *c = w->communicates ? collective_of(x, w) : NULL;
            if (!c)
                continue;
            if (ek__collective_is_p2p(c)) {
                w->activity = EK_TRACE_PIPELINE;
                continue;
            }
            if (!reduction_of(c->name))
                continue;
            reduction *r = sum_of(list, &n, c);
            if (pass == 1)
                w->activity = is_behind(w->phase) && r->behind / LEAST_RATIO >= r->forward ? EK_TRACE_GRADIENTS
                                                                                           : EK_TRACE_COLLECTIVES;
            else if (is_behind(w->phase))
                r->behind = ek__ns_add(r->behind, c->duration);
            else
                r->forward = ek__ns_add(r->forward, c->duration);
        }
    free(list);
    return true;
}

/* ---- all ---- */

static ek_status find_phases(work *x, ek_error *err)
{
    if (!find_optimizers(x) || !find_threads(x) || !find_reruns(x) || !find_backward(x))
        return ek__no_memory(err);
    for (size_t i = 0; i < x->n && x->torch; i++)
        x->at[i].phase = torch_phase(x, &x->at[i]);
    if (!x->torch && !phases_of_paths(x))
        return ek__no_memory(err);
    follow_computing(x);
    return name_communication(x) ? EK_OK : ek__no_memory(err);
}

ek_status ek__device_work_make(const ek__trace *trace, const ek_trace_options *options, const ek_trace_rank *rank,
                               ek__device_work **out, size_t *n, ek_error *err)
{
    work x = {.trace = trace, .rank = rank};
    (void)options;
    ek_status status = gather(&x, err);
    if (!status)
        status = ek__step_finder_make_host(rank, &x.host, err);
    if (!status)
        status = find_phases(&x, err);
    for (int t = 0; x.again && t < trace->n_tracks; t++)
        ek__intervals_clear(&x.again[t]);
    free(x.again);
    free(x.runs_backward);
    free(x.arrow);
    free(x.backward);
    free(x.optimizer);
    ek__step_finder_clear(&x.host);
    if (status) {
        free(x.at);
        return status;
    }
    *out = x.at;
    *n = x.n;
    return EK_OK;
}
