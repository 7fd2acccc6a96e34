/* Lower bounds of a layout's step and memory in closed form (docs/plan.md, "Bounds"; derivation in docs/models.md).
 *
 * Time. Paths through the blocks that every order of a schedule has give, for a stage s with n layers,
 *
 *     T >= alpha_s + beta_s(n)
 *
 * where beta grows with the layers of the stage alone. Since all layers are somewhere, T is at least the least value at
 * which the stages can hold them all: of whole layers each of the least kind, and of seconds of all kinds in fractions.
 * 1F1B with one chunk, k = min(m, p - s) forward passes of warm-up, W all passes of a micro-batch through all stages,
 * w = f + b of the stage:
 *
 *     T >= W + (m - k) w + (k - 1) b     first micro-batch forward and back to s, its list, the last one's way back
 *
 * Several chunks (interleaved): the same path from the first backward of the last chunk, which leaves out what forward
 * passes of warm-up there are at most; and the way to the stage, all its work, and the way back from its first chunk.
 * Any other schedule: the way to the stage and all its work.
 *
 * Memory. A stage holds for the whole step what its layers' parameters take, and of the layers what they keep of as
 * many micro-batches as are alive at once. What comes and goes inside a block is left out. */
#include "layout/bound.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "cost/collective.h"
#include "cost/data_parallel.h"
#include "cost/step_layers.h"
#include "memory/program.h"

/* ---- figures ---- */

typedef struct finder {
    const ek_job *job;
    const ek_device *device;
    ek__step_layers *layers;
    ek__bound_figures f;
    int count[EK__N_GRAPH_KINDS];
    bool all_kinds; /* of recomputation; else none and the whole layer */
    ek_error *err;
} finder;

static bool is_mindspore(const ek_job *job)
{
    return job->framework == EK_MINDFORMERS || job->framework == EK_MINDFORMERS_MCORE;
}

static double accumulation(const ek_job *job)
{
    return job->parallel.pipeline == 1 && job->parallel.n_accumulation > 1 ? job->parallel.n_accumulation : 1;
}

/* Seconds of a layer's passes. */
static void passes(finder *g, ek__graph_kind kind, ek_recompute recompute, double *forward, double *backward)
{
    ek__layer_cost *layer = ek__step_layer(g->layers, kind);
    ek__pass f = layer->forward, b = layer->backward;
    if (recompute != EK_RECOMPUTE_NONE)
        ek__pass_add(&b, ek__layer_again(g->job, g->device, layer, ek__recompute_of_kind(g->job, recompute)), 1);
    ek__pass_launch(g->job, g->device, layer, &f);
    ek__pass_launch(g->job, g->device, layer, &b);
    *forward = accumulation(g->job) * ek__pass_seconds(&f);
    *backward = accumulation(g->job) * ek__pass_seconds(&b);
}

static int64_t static_of(finder *g, ek__graph_kind kind)
{
    ek__static_bytes bytes = ek__graph_static(g->job, ek__step_layer(g->layers, kind)->graph);
    return bytes.weight + bytes.gathered + bytes.gradient + bytes.optimizer;
}

static void count_layers(finder *g)
{
    int n = g->job->model.n_layers + g->job->model.n_prediction_layers;
    for (int i = 0; i < n; i++)
        g->count[ek__layer_kind(g->job, i)]++;
    g->f.n_layers = n;
}

static void add_body_times(finder *g, ek__graph_kind kind)
{
    ek__bound_figures *f = &g->f;
    double forward, backward, more, with = 0;
    passes(g, kind, EK_RECOMPUTE_NONE, &forward, &backward);
    f->body += g->count[kind] * (forward + backward);
    f->body_backward += g->count[kind] * backward;
    f->least = fmin(f->least, forward + backward);
    f->least_forward = fmin(f->least_forward, forward);
    f->least_backward = fmin(f->least_backward, backward);
    if (forward + backward > 0)
        f->backward_share = fmin(f->backward_share, backward / (forward + backward));
    for (int k = 1; k < EK_N_RECOMPUTE && g->all_kinds; k++) {
        passes(g, kind, (ek_recompute)k, &more, &with);
        f->again[k] = fmin(f->again[k], with - backward);
    }
}

static ek_status add_body_bytes(finder *g, ek__graph_kind kind)
{
    ek__bound_figures *f = &g->f;
    int64_t bytes = static_of(g, kind), kept;
    int copies = g->job->parallel.n_batch_interleave > 1 ? g->job->parallel.n_batch_interleave : 1;
    f->layer_bytes = bytes < f->layer_bytes ? bytes : f->layer_bytes;
    for (int k = g->all_kinds ? 0 : EK_RECOMPUTE_FULL; k < EK_N_RECOMPUTE; k++) {
        ek_status status = ek__step_layer_kept(g->layers, g->job, kind, (ek_recompute)k, &kept, g->err);
        if (status)
            return status;
        f->kept[k] = copies * kept < f->kept[k] ? copies * kept : f->kept[k];
    }
    return EK_OK;
}

static ek_status find_body(finder *g)
{
    ek__bound_figures *f = &g->f;
    ek_status status = EK_OK;
    f->least = f->least_backward = f->least_forward = INFINITY;
    f->backward_share = 1;
    f->layer_bytes = INT64_MAX;
    for (int k = 0; k < EK_N_RECOMPUTE; k++) {
        f->again[k] = k == 0 ? 0 : INFINITY;
        f->kept[k] = INT64_MAX;
    }
    for (int kind = EK__GRAPH_DENSE; kind <= EK__GRAPH_PREDICTION && !status; kind++) {
        if (g->count[kind] == 0)
            continue;
        add_body_times(g, (ek__graph_kind)kind);
        status = add_body_bytes(g, (ek__graph_kind)kind);
    }
    return status;
}

static void find_ends(finder *g)
{
    ek__bound_figures *f = &g->f;
    double forward;
    passes(g, EK__GRAPH_EMBEDDING, EK_RECOMPUTE_NONE, &forward, &f->head_backward);
    f->head = forward + f->head_backward;
    passes(g, EK__GRAPH_HEAD, EK_RECOMPUTE_NONE, &forward, &f->tail_backward);
    f->tail = forward + f->tail_backward;
    f->head_bytes = static_of(g, EK__GRAPH_EMBEDDING);
    f->tail_bytes = static_of(g, EK__GRAPH_HEAD);
}

/* Some stage has a p-th of the layers, at least, rounded up: of those with the fewest elements. */
static ek_status find_update(finder *g)
{
    ek__data_layer least = {0};
    bool has = false;
    for (int kind = EK__GRAPH_DENSE; kind <= EK__GRAPH_PREDICTION; kind++) {
        if (g->count[kind] == 0)
            continue;
        ek__data_layer one = ek__data_layer_of(g->job, ek__step_layer(g->layers, (ek__graph_kind)kind)->graph, false);
        if (!has || one.dense + one.expert < least.dense + least.expert)
            least = one;
        has = true;
    }
    double n = ceil((double)g->f.n_layers / g->f.p), *const figures[] = {&least.dense,  &least.expert,
                                                                         &least.whole,  &least.whole_expert,
                                                                         &least.wide,   &least.kept,
                                                                         &least.tensors};
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
        *figures[i] *= n;
    const ek__data_stage stage = {.layer = &least, .n_layers = 1, .in_a_row = 1, .n_micro_batches = 1};
    ek__data_times times;
    ek_status status = ek__data_parallel(g->job, g->device, &stage, &times, g->err);
    g->f.least_update = status ? 0 : times.norm + times.optimizer;
    return status;
}

static void find_whole(finder *g)
{
    const ek_job_parallel *p = &g->job->parallel;
    double devices = (double)p->data * p->tensor * p->pipeline * p->context;
    g->f.whole_factor = 1 + g->device->jitter * log2(devices);
    g->f.whole_constant = g->device->host.step_us * 1e-6;
}

/* Bytes between stages, as ek_cost_step() has them. */
static void find_hop(finder *g)
{
    const ek_job_parallel *p = &g->job->parallel;
    double copies = p->n_batch_interleave > 1 ? p->n_batch_interleave : 1, seconds = 0;
    double bytes = copies * p->batch * p->seq_length / p->context * g->job->model.hidden *
                   ek_dtype_bytes(g->job->types.compute) /
                   (p->sequence_parallel || g->job->run.p2p_scattered ? p->tensor : 1);
    for (int stage = 0; stage + 1 < p->pipeline; stage++) {
        const ek__ranks ranks = ek__placement_edge(g->job, g->device, stage);
        seconds += ek__collective_seconds(g->device, EK_COLLECTIVE_P2P, &ranks, bytes).seconds;
    }
    g->f.hop = 2 * seconds;
}

ek_status ek__bound_figures_of(const ek_job *job, const ek_device *device, ek_cost_cache *cache, bool all_kinds,
                               ek__bound_figures *out, ek_error *err)
{
    finder g = {.job = job, .device = device, .all_kinds = all_kinds, .err = err};
    g.layers = ek__cost_cache_layers(cache, job);
    if (!g.layers)
        return ek__no_memory(err);
    ek_status status = ek__step_layers_price(g.layers, job, err);
    if (status)
        return status;
    g.f.job = job;
    g.f.p = job->parallel.pipeline;
    g.f.m = job->parallel.n_micro_batches;
    count_layers(&g);
    status = find_body(&g);
    if (!status)
        status = find_update(&g);
    if (status)
        return status;
    find_ends(&g);
    find_whole(&g);
    find_hop(&g);
    *out = g.f;
    return EK_OK;
}

/* ---- time ---- */

/* The paths through one stage: T >= alpha + beta n for layers of the least kind, and T >= alpha + gamma y for y seconds
 * of layers of any kind. */
typedef struct line {
    double alpha, beta, gamma;
} line;
enum { MOST_LINES = 2 };

static int smaller(int a, int b)
{
    return a < b ? a : b;
}

static void ends_of(const ek__bound_figures *f, int s, double *all, double *backward)
{
    *all = (s == 0 ? f->head : 0) + (s == f->p - 1 ? f->tail : 0);
    *backward = (s == 0 ? f->head_backward : 0) + (s == f->p - 1 ? f->tail_backward : 0);
}

static double round_trip(const ek__bound_figures *f)
{
    return f->body + f->head + f->tail + f->hop;
}

static line through_1f1b(const ek__bound_figures *f, int s)
{
    double own, own_backward, k = smaller(f->m, f->p - s), pairs = f->m - k;
    ends_of(f, s, &own, &own_backward);
    return (line){.alpha = round_trip(f) + pairs * own + (k - 1) * own_backward,
                  .beta = pairs * f->least + (k - 1) * f->least_backward,
                  .gamma = pairs + (k - 1) * f->backward_share};
}

/* The way to a stage and back from it through chunks of a layer each, and all its work. */
static line all_work(const ek__bound_figures *f, int s, bool back)
{
    double own, own_backward;
    ends_of(f, s, &own, &own_backward);
    double to = s * (back ? f->least : f->least_forward) + (s > 0 ? (back ? f->head : f->head - f->head_backward) : 0);
    return (line){.alpha = to + f->m * own, .beta = f->m * f->least, .gamma = f->m};
}

/* From the first backward of the last chunk to the last backward of the first. Forward passes before it: 2 (p - s - 1)
 * and p for each chunk but one, in turns of p, and one more; of one chunk no more than `most`. */
static int warm_up_of(const ek__bound_figures *f, int s, int v, int chunk)
{
    int warm = 2 * (f->p - s - 1) + (v - 1) * f->p + 1, turn = v * f->p, rest = warm % turn - chunk * f->p;
    return smaller(f->m, warm / turn * f->p + (rest < 0 ? 0 : smaller(rest, f->p)));
}

static line through_interleaved(const ek__bound_figures *f, int s, int v)
{
    double own, own_backward;
    ends_of(f, s, &own, &own_backward);
    int most = warm_up_of(f, s, v, 0); /* of the first chunk, which has most */
    double left = f->m > most ? f->m - most : 0, behind = f->p - 1 - s;
    double forwards = f->body - f->body_backward + f->head - f->head_backward + f->tail - f->tail_backward;
    double backward_way = behind * f->least_backward + (s < f->p - 1 ? f->tail_backward : 0) + s * f->least_backward +
                          (s > 0 ? f->head_backward : 0);
    return (line){.alpha = forwards + f->hop / 2 + backward_way + left * (own - own_backward) + f->m * own_backward,
                  .beta = left * f->least_forward + f->m * f->least_backward,
                  .gamma = left};
}

static int lines_of(const ek__bound_figures *f, int s, int v, const ek_schedule *schedule, line out[MOST_LINES])
{
    bool interleaved = strcmp(schedule->name, "interleaved") == 0;
    if (v == 1 && strcmp(schedule->name, "1f1b") == 0) {
        out[0] = through_1f1b(f, s);
        return 1;
    }
    out[0] = all_work(f, s, interleaved);
    if (!interleaved)
        return 1;
    out[1] = through_interleaved(f, s, v);
    return 2;
}

/* Whole layers that the stages can hold below T, no more than are asked for. */
static int held(const line (*lines)[MOST_LINES], int n_lines, int p, double t, int wanted)
{
    int sum = 0;
    for (int s = 0; s < p && sum < wanted; s++) {
        double most = wanted;
        for (int i = 0; i < n_lines; i++)
            most = fmin(most, floor((t - lines[s][i].alpha) / lines[s][i].beta * (1 + 1e-12) + 1e-9));
        sum += most > 0 ? (int)most : 0;
    }
    return sum;
}

/* The least T of fractions of layers, by one line of every stage. */
static double fractions(const line (*lines)[MOST_LINES], int which, int p, double seconds)
{
    double over = seconds, under = 0;
    for (int s = 0; s < p; s++) {
        const line *l = &lines[s][which];
        if (l->gamma <= 0)
            return 0;
        over += l->alpha / l->gamma;
        under += 1 / l->gamma;
    }
    return over / under;
}

static double least_with_a_layer(const line (*lines)[MOST_LINES], int n_lines, int p, int v)
{
    double most = 0;
    for (int s = 0; s < p; s++)
        for (int i = 0; i < n_lines; i++)
            most = fmax(most, lines[s][i].alpha + v * lines[s][i].beta);
    return most;
}

enum { BISECTIONS = 24 };

static double whole_layers(const ek__bound_figures *f, const line (*lines)[MOST_LINES], int n_lines, double low)
{
    if (held(lines, n_lines, f->p, low, f->n_layers) >= f->n_layers)
        return low;
    double high = low;
    do
        high *= 1.25;
    while (held(lines, n_lines, f->p, high, f->n_layers) < f->n_layers);
    for (int i = 0; i < BISECTIONS && high - low > 1e-7 * high; i++) {
        double t = (low + high) / 2;
        *(held(lines, n_lines, f->p, t, f->n_layers) < f->n_layers ? &low : &high) = t;
    }
    return low;
}

static double whole(const ek__bound_figures *f, double seconds)
{
    return (seconds + f->least_update) * f->whole_factor + f->whole_constant;
}

double ek__bound_seconds(const ek__bound_figures *f, int n_chunks, const ek_schedule *schedule)
{
    line lines[EK_MAX_STAGES][MOST_LINES];
    int n_lines = 0;
    if (f->p > f->n_layers)
        return INFINITY;
    for (int s = 0; s < f->p; s++)
        n_lines = lines_of(f, s, n_chunks, schedule, lines[s]);
    double least = least_with_a_layer(lines, n_lines, f->p, n_chunks);
    for (int i = 0; i < n_lines; i++)
        least = fmax(least, fractions(lines, i, f->p, f->body));
    return whole(f, f->p == 1 ? fmax(least, f->m * (f->body + f->head + f->tail))
                              : whole_layers(f, lines, n_lines, least));
}

/* ---- memory ---- */

/* Micro-batches, of the whole stage, that are alive at once. */
static double alive(const ek__bound_figures *f, int s, int v, const ek_schedule *schedule)
{
    if (v == 1 && strcmp(schedule->name, "1f1b") == 0)
        return smaller(f->m, f->p - s);
    if (strcmp(schedule->name, "interleaved") == 0)
        return warm_up_of(f, s, v, v - 1); /* of the last chunk, which has least */
    return 1.0 / v;                        /* one chunk of one micro-batch, whatever the schedule */
}

static int64_t least_kept(const ek__bound_figures *f)
{
    int64_t least = f->kept[0];
    for (int k = 1; k < EK_N_RECOMPUTE; k++)
        least = f->kept[k] < least ? f->kept[k] : least;
    return least;
}

static double ends_bytes(const ek__bound_figures *f, int s)
{
    return (double)((s == 0 ? f->head_bytes : 0) + (s == f->p - 1 && !f->job->model.tied ? f->tail_bytes : 0));
}

double ek__bound_peak_mb(const ek__bound_figures *f, int n_chunks, const ek_schedule *schedule)
{
    /* Fullest stage at X: sum over stages of (X - ends) / (bytes of a layer) = layers, at least. */
    double over = f->n_layers, under = 0, least = 0;
    for (int s = 0; s < f->p; s++) {
        double a_layer = (double)f->layer_bytes + alive(f, s, n_chunks, schedule) * (double)least_kept(f);
        over += ends_bytes(f, s) / a_layer;
        under += 1 / a_layer;
        least = fmax(least, ends_bytes(f, s) + n_chunks * (double)f->layer_bytes);
    }
    return fmax(over / under, least) / 1048576;
}

/* ---- both ---- */

/* Seconds a micro-batch that recomputation adds to n layers, if they are to keep no more than `room` bytes of it: a mix
 * of two kinds, parts of layers too. INFINITY: nothing keeps so little. */
static double again(const ek__bound_figures *f, double n, double room)
{
    double least = INFINITY, each = room / n;
    for (int a = 0; a < EK_N_RECOMPUTE; a++)
        for (int b = 0; b < EK_N_RECOMPUTE; b++) {
            double keeps = (double)f->kept[a], more = (double)(f->kept[b] - f->kept[a]);
            if (keeps > each)
                continue;
            double share = more <= 0 || keeps + more <= each ? 1 : (each - keeps) / more;
            least = fmin(least, (1 - share) * f->again[a] + share * f->again[b]);
        }
    return n * least;
}

/* Most layers that a stage can hold below T and within the limit. */
static int held_within(const ek__bound_figures *f, const line *lines, int n_lines, int s, double t, double per_room,
                       double limit)
{
    int most = f->n_layers;
    for (int i = 0; i < n_lines; i++) {
        double n = floor((t - lines[i].alpha) / lines[i].beta * (1 + 1e-12) + 1e-9);
        most = n < most ? (int)n : most;
    }
    for (; most > 0; most--) {
        double room = (limit - ends_bytes(f, s) - most * (double)f->layer_bytes) / per_room;
        if (room < 0)
            continue;
        double more = room >= (double)f->kept[0] * most ? 0 : again(f, most, room);
        bool fits = more < INFINITY;
        for (int i = 0; i < n_lines && fits; i++)
            fits = lines[i].alpha + lines[i].beta * most + (f->m - 1) * more <= t * (1 + 1e-12);
        if (fits)
            break;
    }
    return most > 0 ? most : 0;
}

static bool all_held_within(const ek__bound_figures *f, const line (*lines)[MOST_LINES], int n_lines, int v,
                            const ek_schedule *schedule, double t)
{
    int sum = 0;
    double limit = f->job->limit_mb * 1048576;
    for (int s = 0; s < f->p && sum < f->n_layers; s++)
        sum += held_within(f, lines[s], n_lines, s, t, alive(f, s, v, schedule), limit);
    return sum >= f->n_layers;
}

double ek__bound_within(const ek__bound_figures *f, int n_chunks, const ek_schedule *schedule)
{
    line lines[EK_MAX_STAGES][MOST_LINES];
    int n_lines = 0;
    double least = ek__bound_seconds(f, n_chunks, schedule);
    if (f->job->limit_mb <= 0 || !isfinite(least))
        return least;
    for (int s = 0; s < f->p; s++)
        n_lines = lines_of(f, s, n_chunks, schedule, lines[s]);
    double low = (least - f->whole_constant) / f->whole_factor - f->least_update, high = 3 * low;
    if (all_held_within(f, lines, n_lines, n_chunks, schedule, low))
        return least;
    if (!all_held_within(f, lines, n_lines, n_chunks, schedule, high))
        return all_held_within(f, lines, n_lines, n_chunks, schedule, INFINITY) ? whole(f, high) : INFINITY;
    for (int i = 0; i < BISECTIONS && high - low > 1e-6 * high; i++) {
        double t = (low + high) / 2;
        *(all_held_within(f, lines, n_lines, n_chunks, schedule, t) ? &high : &low) = t;
    }
    return whole(f, low);
}
