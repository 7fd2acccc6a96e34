/* Lower bounds of a layout's step and memory in closed form (docs/plan.md, "Bounds"; derivation in docs/models.md).
 *
 * Time. Paths through the blocks that every order of a schedule has give, for a stage s with n layers,
 *
 *     T >= alpha_s + beta_s(n)
 *
 * where beta grows with the layers of the stage only. Since every layer is on some stage, T is at least the smallest
 * value for which the stages can hold all layers: counted in whole layers of the commonest kind, and in fractional
 * seconds of all kinds. 1F1B with one chunk, k = min(m, p - s) forward passes of warm-up, W all passes of a micro-batch
 * through all stages, w = f + b of the stage:
 *
 *     T >= W + (m - k) w + (k - 1) b     first micro-batch forward and back to s, its list, the last one's way back
 *
 * Several chunks (interleaved): the same path from the first backward of the last chunk, without the maximum number of
 * forward passes of warm-up; and the way to the stage, all its work, and the way back from its first chunk. Any other
 * schedule: the way to the stage and all its work.
 *
 * Memory. A stage holds its layers' parameters for the whole step, and its layers' saved activations for as many
 * micro-batches as are alive at once. Temporary tensors inside a block are ignored. */
#include "layout/bound.h"

#include <assert.h>
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
    bool all_kinds; /* of recomputation; otherwise none and the whole layer */
    ek_error *err;
} finder;

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
    ek__persistent_bytes bytes = ek__graph_persistent(g->job, ek__step_layer(g->layers, kind)->graph);
    return bytes.weight + bytes.gathered + bytes.gradient + bytes.optimizer;
}

static void count_layers(finder *g)
{
    int n = g->job->model.n_layers + g->job->model.n_prediction_layers;
    for (int i = 0; i < n; i++)
        g->count[ek__layer_graph_kind(g->job, i)]++;
    g->f.n_layers = n;
}

static void add_body_times(finder *g, ek__graph_kind kind)
{
    ek__bound_figures *f = &g->f;
    double forward, backward;
    passes(g, kind, EK_RECOMPUTE_NONE, &forward, &backward);
    f->body += g->count[kind] * (forward + backward);
    f->body_backward += g->count[kind] * backward;
    f->body_bytes += g->count[kind] * (double)static_of(g, kind);
    f->least = fmin(f->least, forward + backward);
    f->least_forward = fmin(f->least_forward, forward);
    f->least_backward = fmin(f->least_backward, backward);
    if (forward + backward > 0)
        f->backward_share = fmin(f->backward_share, backward / (forward + backward));
}

static ek_status find_alike(finder *g, ek__graph_kind kind)
{
    ek__bound_figures *f = &g->f;
    int copies = g->job->parallel.n_batch_interleave > 1 ? g->job->parallel.n_batch_interleave : 1;
    double more;
    f->n_alike = g->count[kind];
    passes(g, kind, EK_RECOMPUTE_NONE, &f->alike_forward, &f->alike_backward);
    f->alike = f->alike_forward + f->alike_backward;
    f->layer_bytes = static_of(g, kind);
    for (int k = g->all_kinds ? 0 : EK_RECOMPUTE_FULL; k < EK_N_RECOMPUTE; k++) {
        ek__layer_bytes bytes;
        ek_status status = ek__step_layer_bytes(g->layers, g->job, kind, (ek_recompute)k, &bytes, g->err);
        if (status)
            return status;
        f->kept[k] = copies * bytes.kept;
        if (g->all_kinds && k > 0) {
            passes(g, kind, (ek_recompute)k, &more, &f->again[k]);
            f->again[k] -= f->alike_backward;
        }
    }
    return EK_OK;
}

static ek_status find_body(finder *g)
{
    ek__bound_figures *f = &g->f;
    ek__graph_kind commonest = EK__GRAPH_DENSE;
    f->least = f->least_backward = f->least_forward = INFINITY;
    f->backward_share = 1;
    for (int k = 0; k < EK_N_RECOMPUTE; k++) {
        f->again[k] = k == 0 ? 0 : INFINITY;
        f->kept[k] = INT64_MAX;
    }
    for (int kind = EK__GRAPH_DENSE; kind <= EK__GRAPH_PREDICTION; kind++) {
        if (g->count[kind] == 0)
            continue;
        add_body_times(g, (ek__graph_kind)kind);
        if (g->count[kind] > g->count[commonest])
            commonest = (ek__graph_kind)kind;
    }
    f->constants = (int64_t)((g->job->rules.workspace_mb + g->job->rules.constant_mb) * 1048576);
    return find_alike(g, commonest);
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

/* If recomputation is known: the bytes that each kind saves. */
static ek_status find_kept(finder *g, int at, ek__graph_kind kind)
{
    ek__bound_figures *f = &g->f;
    int copies = g->job->parallel.n_batch_interleave > 1 ? g->job->parallel.n_batch_interleave : 1;
    f->kind[at].bytes = static_of(g, kind);
    f->kind[at].transient = INT64_MAX;
    for (int k = 0; k < EK_N_RECOMPUTE; k++) {
        ek__layer_bytes bytes;
        double forward, backward;
        ek_status status = ek__step_layer_bytes(g->layers, g->job, kind, (ek_recompute)k, &bytes, g->err);
        if (status)
            return status;
        passes(g, kind, (ek_recompute)k, &forward, &backward);
        f->kind[at].kept[k] = copies * bytes.kept;
        f->kind[at].transient = bytes.transient < f->kind[at].transient ? bytes.transient : f->kind[at].transient;
        f->kind[at].again[k] = backward / accumulation(g->job) - f->kind[at].backward;
        if (k > 0 && f->kind[at].kept[k] >= f->kind[at].kept[0])
            f->kind[at].again[k] = INFINITY;
    }
    return EK_OK;
}

static ek_status find_all_kept(finder *g)
{
    ek__layer_bytes bytes;
    ek_status status = EK_OK;
    for (int kind = EK__GRAPH_DENSE; kind <= EK__GRAPH_PREDICTION && !status; kind++)
        if (g->count[kind] > 0)
            status = find_kept(g, g->f.kind_of[kind], (ek__graph_kind)kind);
    for (int end = 0; end < 2 && !status; end++) {
        ek__graph_kind kind = end ? EK__GRAPH_HEAD : EK__GRAPH_EMBEDDING;
        status = ek__step_layer_bytes(g->layers, g->job, kind, EK_RECOMPUTE_NONE, &bytes, g->err);
        if (status)
            break;
        g->f.ends_transient[end] = bytes.transient;
        g->f.tail_kept = bytes.kept; /* of the head, after all others */
    }
    return status;
}

static ek__data_layer data_layer_of(finder *g, ek__graph_kind kind)
{
    bool has_table = g->f.p == 1; /* the only stage: a tied head uses the embedding's weights */
    return ek__data_layer_of(g->job, ek__step_layer(g->layers, kind)->graph, has_table);
}

/* Reductions after the last backward pass, each as if all layers and the ends were of that kind and reduced at once;
 * and the states' part of the update, including weights that are gathered once after it. */
static ek__data_traffic traffic_of(finder *g, ek__graph_kind kind, double *reduced, double *update)
{
    const ek__data_layer one = data_layer_of(g, kind);
    const ek__data_traffic t = ek__data_traffic_of(g->job, g->device, &one, g->f.n_layers + 2);
    *reduced = !t.sums_each && !t.gathers_layers ? t.each + t.once : 0;
    *update = t.update;
    if (t.gathers_once)
        *update += t.gather * (g->job->run.overlap_weights ? 1 - g->device->overlap_share : 1);
    g->f.constant_update = t.update_constant;
    return t;
}

/* Traffic of all layers. */
static void find_traffic(finder *g)
{
    ek__bound_figures *f = &g->f;
    f->hides = g->job->run.overlap_gradients;
    f->alike_kind = -1;
    for (int kind = EK__GRAPH_DENSE; kind <= EK__GRAPH_PREDICTION; kind++) {
        if (g->count[kind] == 0)
            continue;
        double reduced, update;
        const ek__data_traffic t = traffic_of(g, (ek__graph_kind)kind, &reduced, &update);
        if (g->count[kind] == f->n_alike && f->alike_kind < 0)
            f->alike_kind = f->n_kinds;
        double forward, backward;
        passes(g, (ek__graph_kind)kind, EK_RECOMPUTE_NONE, &forward, &backward);
        f->kind_of[kind] = f->n_kinds;
        f->kind[f->n_kinds].n = g->count[kind];
        f->kind[f->n_kinds].forward = forward / accumulation(g->job);
        f->kind[f->n_kinds].backward = backward / accumulation(g->job);
        f->kind[f->n_kinds].update = update;
        f->kind[f->n_kinds++].reduced = reduced;
        f->streamed +=
            g->count[kind] * ((t.gathers_layers ? (t.keeps ? 1 : 2) * t.gather : 0) + (t.sums_each ? t.each : 0));
    }
    (void)traffic_of(g, EK__GRAPH_EMBEDDING, &f->head_reduced, &f->head_update);
    (void)traffic_of(g, EK__GRAPH_HEAD, &f->tail_reduced, &f->tail_update);
    /* Of traffic T with E exposed, o hidden of the rest at a slowdown of s: E + (1 - o) (T - E) + (s - 1) o (T - E)
     * = o (2 - s) E + (1 - o (2 - s)) T. */
    f->exposed_share = g->device->overlap_share * (2 - g->device->overlap_slowdown);
}

/* The least of the kinds of layers [from, to) of the model. */
static int64_t least_transient(const ek__bound_figures *f, int from, int to)
{
    int64_t least = INT64_MAX;
    for (int i = from; i < to; i++) {
        int64_t of = f->kind[f->kind_of[ek__layer_graph_kind(f->job, i)]].transient;
        least = of < least ? of : least;
    }
    return least;
}

/* The places of layers of other kinds. */
static void find_others(finder *g)
{
    ek__bound_figures *f = &g->f;
    int n = f->n_layers, before = 0, behind = 0;
    while (before < n && f->kind_of[ek__layer_graph_kind(g->job, before)] != f->alike_kind)
        before++;
    while (behind < n && f->kind_of[ek__layer_graph_kind(g->job, n - 1 - behind)] != f->alike_kind)
        behind++;
    bool between = before + f->n_alike + behind < n;
    f->n_before = between ? n : before;
    f->n_behind = between ? n : behind;
    f->before_transient = least_transient(f, 0, f->n_before);
    f->behind_transient = least_transient(f, n - f->n_behind, n);
}

/* Times of states are linear in them. Some stage has at least a p-th of the commonest layers, rounded up; and one has
 * at least the mean of all. */
static void find_update(finder *g)
{
    ek__bound_figures *f = &g->f;
    double sum = f->head_update + f->tail_update, n = ceil((double)f->n_alike / f->p);
    for (int i = 0; i < f->n_kinds; i++)
        sum += f->kind[i].n * f->kind[i].update;
    f->least_update = f->constant_update + fmax(n * f->kind[f->alike_kind].update, sum / f->p);
}

static void find_whole(finder *g)
{
    const ek_job_parallel *p = &g->job->parallel;
    double devices = (double)p->data * p->tensor * p->pipeline * p->context;
    g->f.whole_factor = 1 + g->device->jitter * log2(devices);
    g->f.whole_constant = g->device->host.step_us * 1e-6;
}

/* Bytes between stages, as in ek_cost_step(). */
double ek__bound_edge(const ek_job *job, const ek_device *device, int stage)
{
    const ek_job_parallel *p = &job->parallel;
    double copies = p->n_batch_interleave > 1 ? p->n_batch_interleave : 1;
    double bytes = copies * p->batch * p->seq_length / p->context * job->model.hidden *
                   ek_dtype_bytes(job->types.compute) /
                   (p->sequence_parallel || job->run.p2p_scattered ? p->tensor : 1);
    const ek__ranks ranks = ek__placement_edge(job, device, stage);
    return ek__collective_seconds(device, EK_COLLECTIVE_P2P, &ranks, bytes).seconds;
}

static void find_hop(finder *g)
{
    for (int stage = 0; stage + 1 < g->f.p; stage++)
        g->f.hop += 2 * ek__bound_edge(g->job, g->device, stage);
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
    find_traffic(&g);
    if (!status && all_kinds)
        status = find_all_kept(&g);
    if (status)
        return status;
    find_others(&g);
    find_update(&g);
    find_ends(&g);
    find_whole(&g);
    find_hop(&g);
    *out = g.f;
    return EK_OK;
}

/* ---- rules ---- */

/* Every layer has the same recomputation: its extra time is part of the backward pass, and there is no other choice. */
static bool recompute_all(ek__bound_figures *f, ek_recompute way)
{
    double times = accumulation(f->job), least = INFINITY;
    bool any = false;
    f->backward_share = 1;
    for (int i = 0; i < f->n_kinds; i++) {
        bool saves = isfinite(f->kind[i].again[way]);
        double more = saves ? f->kind[i].again[way] : 0; /* otherwise irrelevant */
        any = any || saves;
        least = fmin(least, more);
        f->kind[i].backward += more;
        f->kind[i].kept[0] = saves ? f->kind[i].kept[way] : f->kind[i].kept[0];
        f->body += f->kind[i].n * times * more;
        f->body_backward += f->kind[i].n * times * more;
        f->backward_share = fmin(f->backward_share, f->kind[i].backward / (f->kind[i].forward + f->kind[i].backward));
    }
    f->least += times * least;
    f->least_backward += times * least;
    f->kept[0] = f->kind[f->alike_kind].kept[0];
    f->alike_backward = times * f->kind[f->alike_kind].backward;
    f->alike = f->alike_forward + f->alike_backward;
    return any;
}

bool ek__bound_under(const ek__bound_figures *f, const ek__rule_says *says, ek__bound_figures *out)
{
    *out = *f;
    out->first_full = says->first;
    if (says->first > 0 && !isfinite(f->kind[f->alike_kind].again[EK_RECOMPUTE_FULL]))
        return false;
    if (says->all && !recompute_all(out, says->all))
        return false;
    for (int k = 1; k < EK_N_RECOMPUTE; k++) {
        if (says->may[k])
            continue;
        out->kept[k] = INT64_MAX;
        out->again[k] = INFINITY;
        for (int i = 0; i < out->n_kinds; i++) {
            out->kind[i].kept[k] = INT64_MAX;
            out->kind[i].again[k] = INFINITY;
        }
    }
    return true;
}

/* ---- time ---- */

/* The paths through one stage: T >= alpha + beta n for layers of the commonest kind, and T >= alpha + gamma y for y
 * seconds of layers of any kind. */
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
                  .beta = pairs * f->alike + (k - 1) * f->alike_backward,
                  .gamma = pairs + (k - 1) * f->backward_share};
}

/* The way to a stage and back through chunks with one layer each, and all its work. */
static line all_work(const ek__bound_figures *f, int s, bool back)
{
    double own, own_backward;
    ends_of(f, s, &own, &own_backward);
    double to = s * (back ? f->least : f->least_forward) + (s > 0 ? (back ? f->head : f->head - f->head_backward) : 0);
    return (line){.alpha = to + f->m * own, .beta = f->m * f->alike, .gamma = f->m};
}

/* From the first backward of the last chunk to the last backward of the first. Forward passes before it: 2 (p - s - 1)
 * and p for each chunk except one, in rounds of p, and one more; with one chunk at most `most`. */
static int warm_up_of(const ek__bound_figures *f, int s, int v, int chunk)
{
    int warm = 2 * (f->p - s - 1) + (v - 1) * f->p + 1, turn = v * f->p, rest = warm % turn - chunk * f->p;
    return smaller(f->m, warm / turn * f->p + (rest < 0 ? 0 : smaller(rest, f->p)));
}

static line through_interleaved(const ek__bound_figures *f, int s, int v)
{
    double own, own_backward;
    ends_of(f, s, &own, &own_backward);
    int most = warm_up_of(f, s, v, 0); /* of the first chunk, which has the most */
    double left = f->m > most ? f->m - most : 0, behind = f->p - 1 - s;
    double forwards = f->body - f->body_backward + f->head - f->head_backward + f->tail - f->tail_backward;
    double backward_way = behind * f->least_backward + (s < f->p - 1 ? f->tail_backward : 0) + s * f->least_backward +
                          (s > 0 ? f->head_backward : 0);
    return (line){.alpha = forwards + f->hop / 2 + backward_way + left * (own - own_backward) + f->m * own_backward,
                  .beta = left * f->alike_forward + f->m * f->alike_backward,
                  .gamma = left};
}

static int lines_of(const ek__bound_figures *f, int s, int v, const ek_schedule *schedule, line out[MOST_LINES])
{
    bool interleaved = ek_schedule_is_interleaved(schedule);
    if (v == 1 && schedule->family == EK_SCHEDULE_1F1B) {
        out[0] = through_1f1b(f, s);
        return 1;
    }
    out[0] = all_work(f, s, interleaved);
    if (!interleaved)
        return 1;
    out[1] = through_interleaved(f, s, v);
    return 2;
}

/* Whole layers that the stages can hold below T, up to the given number. */
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

/* Gradients after the last backward pass. A stage's chunks run their last rows of backward passes from its last chunk
 * to its first, each followed by its reductions: for every k, the reductions of chunks up to k are exposed, minus the
 * part of k's backward pass that may overlap with them (h_k: 1, or 0 if a chunk's gradients are reduced at its end) and
 * the rows of the chunks before it. With weights l_k that add up to 1 (L_c of k from c on) a layer in chunk c adds at
 * least r L_c - b (h_c l_c + row (L_c - l_c)). The weights make this equal for the layers that reduce most, in every
 * chunk: (r - h_c b) l_c = 1 - (r - row b) L_{c+1}, from the last chunk on, and then scaled. */
static void weigh_chunks(double r, double b, double row, int v, const double *beside, double *weight)
{
    double sum = 0;
    for (int c = v - 1; c >= 0; c--) {
        double l = r > beside[c] * b ? (1 - (r - row * b) * sum) / (r - beside[c] * b) : 0;
        weight[c] = l > 0 ? l : 0;
        sum += weight[c];
    }
    for (int c = 0; c < v && sum > 0; c++)
        weight[c] /= sum;
}

/* The least contribution of a layer in each chunk to its stage's exposed time. */
static void exposed_of(double r, double b, double row, int v, const double *beside, const double *weight,
                       double *exposed)
{
    double from = 0;
    for (int c = v - 1; c >= 0; c--) {
        from += weight[c];
        exposed[c] = r * from - b * (beside[c] * weight[c] + row * (from - weight[c]));
    }
}

/* May a chunk's reductions begin before its backward pass has ended? */
static bool sends_early(const ek_job_run *run, bool first_stage, int chunk)
{
    bool apart = run->first_stage_buckets && !(first_stage && chunk == 0);
    return run->layer_buckets || (run->bucket_bytes > 0 && !apart);
}

static double row_of(const ek__bound_figures *f, int v)
{
    int group = f->job->parallel.chunk_group > 0 ? f->job->parallel.chunk_group : f->p;
    return v == 1 ? 1 : smaller(f->m, group);
}

void ek__bound_exposed(const ek__bound_figures *f, int v, bool first_stage, double exposed[][EK_MAX_CHUNKS],
                       double ends[2])
{
    double beside[EK_MAX_CHUNKS], weight[EK_MAX_CHUNKS], hidden = f->hides ? 1 : 0, row = row_of(f, v),
                                                         sure = 1 - f->exposed_share;
    int most = 0;
    assert(v >= 1 && v <= EK_MAX_CHUNKS);
    for (int i = 1; i < f->n_kinds; i++)
        if (f->kind[i].n * f->kind[i].reduced > f->kind[most].n * f->kind[most].reduced)
            most = i;
    for (int c = 0; c < v; c++)
        beside[c] = sends_early(&f->job->run, first_stage, c);
    weigh_chunks(f->kind[most].reduced, hidden * f->kind[most].backward, row, v, beside, weight);
    for (int i = 0; i < f->n_kinds; i++) {
        exposed_of(f->kind[i].reduced, hidden * f->kind[i].backward, row, v, beside, weight, exposed[i]);
        for (int c = 0; c < v; c++)
            exposed[i][c] = f->exposed_share * exposed[i][c] + sure * f->kind[i].reduced;
    }
    /* The embedding is reduced after all other computation, after the remaining reductions; its own backward pass and
     * the head's hide at most one row of it. */
    double lost = hidden * row * f->exposed_share;
    ends[0] = f->head_reduced - lost * f->head_backward;
    ends[1] = (f->exposed_share * weight[v - 1] + sure) * f->tail_reduced - lost * f->tail_backward;
}

/* The bound for all plans, on all stages. */
static double exposed_reduction(const ek__bound_figures *f, int v)
{
    double first[EK__MOST_KINDS][EK_MAX_CHUNKS], other[EK__MOST_KINDS][EK_MAX_CHUNKS], ends[2], last[2], sum = 0;
    ek__bound_exposed(f, v, true, first, ends);
    ek__bound_exposed(f, v, false, other, last);
    for (int i = 0; i < f->n_kinds; i++) {
        double least = INFINITY;
        for (int c = 0; c < v; c++)
            least = fmin(least, fmin(first[i][c], other[i][c]));
        sum += f->kind[i].n * least;
    }
    return sum + ends[0] + fmin(ends[1], last[1]);
}

/* The way to a stage, all its work, and its gradients; the mean over the stages. */
static double with_reduction(const ek__bound_figures *f, int v)
{
    double sum = f->m * f->body + exposed_reduction(f, v);
    for (int s = 0; s < f->p; s++) {
        double own, own_backward;
        ends_of(f, s, &own, &own_backward);
        sum += s * f->least_forward + (s > 0 ? f->head - f->head_backward : 0) + f->m * own;
    }
    return sum / f->p;
}

/* The least layers of the commonest kind on a stage with v chunks: each chunk has at least one layer. */
static int least_alike(const ek__bound_figures *f, int v)
{
    int others = f->n_layers - f->n_alike;
    return v > others ? v - others : 0;
}

static double least_with_a_layer(const ek__bound_figures *f, const line (*lines)[MOST_LINES], int n_lines, int v)
{
    double most = 0;
    for (int s = 0; s < f->p; s++)
        for (int i = 0; i < n_lines; i++)
            most = fmax(most, lines[s][i].alpha + least_alike(f, v) * lines[s][i].beta);
    return most;
}

enum { BISECTIONS = 24 };

static double whole_layers(const ek__bound_figures *f, const line (*lines)[MOST_LINES], int n_lines, double low)
{
    if (held(lines, n_lines, f->p, low, f->n_alike) >= f->n_alike)
        return low;
    double high = low;
    do
        high *= 1.25;
    while (held(lines, n_lines, f->p, high, f->n_alike) < f->n_alike);
    for (int i = 0; i < BISECTIONS && high - low > 1e-7 * high; i++) {
        double t = (low + high) / 2;
        *(held(lines, n_lines, f->p, t, f->n_alike) < f->n_alike ? &low : &high) = t;
    }
    return low;
}

double ek__bound_whole(const ek__bound_figures *f, double seconds)
{
    return (seconds + f->least_update) * f->whole_factor + f->whole_constant;
}

double ek__bound_pipeline(const ek__bound_figures *f, double step)
{
    return (step - f->whole_constant) / f->whole_factor - f->least_update;
}

double ek__bound_seconds(const ek__bound_figures *f, int n_chunks, const ek_schedule *schedule)
{
    line lines[EK_MAX_STAGES][MOST_LINES];
    int n_lines = 0;
    if (f->p > f->n_layers)
        return INFINITY;
    for (int s = 0; s < f->p; s++)
        n_lines = lines_of(f, s, n_chunks, schedule, lines[s]);
    double least = least_with_a_layer(f, lines, n_lines, n_chunks);
    for (int i = 0; i < n_lines; i++)
        least = fmax(least, fractions(lines, i, f->p, f->body));
    least = fmax(least, fmax(with_reduction(f, n_chunks), f->m * f->streamed / f->p));
    return ek__bound_whole(f, f->p == 1 ? fmax(least, f->m * (f->body + f->head + f->tail))
                                        : whole_layers(f, lines, n_lines, least));
}

/* ---- memory ---- */

/* Layers of a stage times the micro-batches that are alive of each at once: one in each of some chunks, and the others
 * in the chunk with the fewest. */
typedef struct live {
    int n_chunks;       /* that certainly have one of the commonest kind */
    double of_one_each; /* the least sum over these chunks */
    double fewest, most;
} live;

static live live_of(const ek__bound_figures *f, int s, int v, const ek_schedule *schedule)
{
    live alive = {.n_chunks = least_alike(f, v)};
    if (v == 1 && schedule->family == EK_SCHEDULE_1F1B) {
        alive.fewest = alive.most = smaller(f->m, f->p - s);
    } else if (ek_schedule_is_interleaved(schedule)) {
        alive.fewest = warm_up_of(f, s, v, v - 1);
        alive.most = warm_up_of(f, s, v, 0);
    } else { /* one chunk of one micro-batch, for any schedule */
        alive.most = f->m;
    }
    for (int c = v - 1; c >= v - alive.n_chunks; c--)
        alive.of_one_each += alive.fewest < alive.most ? warm_up_of(f, s, v, c) : alive.fewest;
    return alive;
}

/* Of n layers. */
static double live_layers(const live *l, double n)
{
    return n < l->n_chunks ? n * l->fewest : l->of_one_each + (n - l->n_chunks) * l->fewest;
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

int64_t ek__bound_transient(const ek__bound_figures *f, int place, int n_cells, bool has_alike)
{
    int64_t least = f->kind[f->alike_kind].transient;
    bool before = place < f->n_before && (!has_alike || f->n_before == f->n_layers);
    bool behind = n_cells - 1 - place < f->n_behind;
    if (before && f->before_transient < least)
        least = f->before_transient;
    return behind && f->behind_transient < least ? f->behind_transient : least;
}

/* After the last forward pass of warm-up, a stage's last chunk runs backward, if chunks follow one another. */
static double besides(const ek__bound_figures *f, int s, int v, bool has_alike, const ek_schedule *schedule)
{
    int64_t least = ek__bound_transient(f, (v - 1) * f->p + s, v * f->p, has_alike);
    if (!(v == 1 && schedule->family == EK_SCHEDULE_1F1B) && !ek_schedule_is_interleaved(schedule))
        for (int i = 0; i < f->n_kinds; i++)
            least = f->kind[i].transient < least ? f->kind[i].transient : least;
    return (double)(f->constants + least);
}

double ek__bound_peak_mb(const ek__bound_figures *f, int n_chunks, const ek_schedule *schedule)
{
    /* Fullest stage at X: sum over stages of (X - their other bytes) / (bytes of a layer) = layers, at least. And all
     * bytes for the whole step are on some stage. */
    double over = f->n_alike, under = 0, least = 0, all = f->body_bytes;
    for (int s = 0; s < f->p; s++) {
        const live alive = live_of(f, s, n_chunks, schedule);
        double kept = (double)least_kept(f), a_layer = (double)f->layer_bytes + alive.fewest * kept;
        double first = ends_bytes(f, s) + (alive.of_one_each - alive.n_chunks * alive.fewest) * kept +
                       besides(f, s, n_chunks, alive.n_chunks > 0, schedule);
        over += first / a_layer;
        under += 1 / a_layer;
        least = fmax(least, first + alive.n_chunks * a_layer);
        all += first;
    }
    return fmax(fmax(over / under, all / f->p), least) / 1048576;
}

/* ---- both ---- */

/* Seconds per micro-batch that recomputation adds to n layers if all their live activations may take at most `room`
 * bytes: kinds may be mixed, also within layers, at the moment with the most live micro-batches. INFINITY:
 * impossible. */
static double again(const ek__bound_figures *f, const live *alive, double n, double room)
{
    double layers = live_layers(alive, n), over = (double)f->kept[0] * layers - room, least = INFINITY;
    if (over <= 0)
        return 0;
    if ((double)least_kept(f) * layers > room)
        return INFINITY;
    for (int a = 0; a < EK_N_RECOMPUTE; a++)
        for (int b = 0; b < EK_N_RECOMPUTE; b++) {
            if (!isfinite(f->again[a]) || !isfinite(f->again[b]))
                continue;
            double less = (double)(f->kept[0] - f->kept[a]), more = (double)(f->kept[a] - f->kept[b]);
            double whole = n * alive->most; /* the largest saving per byte */
            if (less * whole < over && (more <= 0 || (less + more) * whole < over))
                continue;
            bool alone = less * whole >= over;
            double share = alone ? over / (less * whole) : 1, rest = alone ? 0 : (over - less * whole) / (more * whole);
            least = fmin(least, n * (share * f->again[a] + rest * (f->again[b] - f->again[a])));
        }
    return least;
}

/* Seconds per micro-batch that the rule's first layers add to n layers of the commonest kind. Chunks without other
 * kinds recompute one each; without any other kinds, n layers in v chunks recompute least if all chunks except one have
 * one layer.
 */
static double again_by_rule(const ek__bound_figures *f, const live *alive, int n)
{
    int chunks = alive->n_chunks, in_one = n - chunks + 1, recomputed = chunks;
    if (f->first_full == 0 || chunks == 0 || in_one < 1)
        return 0;
    if (f->n_alike == f->n_layers)
        recomputed += smaller(f->first_full, in_one) - 1;
    return recomputed * f->again[EK_RECOMPUTE_FULL];
}

/* Most layers that a stage can hold below T and within the limit. */
static int held_within(const ek__bound_figures *f, const line *lines, int n_lines, int s, double t, const live *alive,
                       double limit)
{
    int most = f->n_alike;
    for (int i = 0; i < n_lines; i++) {
        double n = floor((t - lines[i].alpha) / lines[i].beta * (1 + 1e-12) + 1e-9);
        most = n < 0 ? -1 : n < most ? (int)n : most;
    }
    for (; most > 0; most--) {
        double room = limit - ends_bytes(f, s) - most * (double)f->layer_bytes;
        if (room < 0)
            continue;
        double more = fmax(again(f, alive, most, room), again_by_rule(f, alive, most));
        bool fits = more < INFINITY;
        for (int i = 0; i < n_lines && fits; i++)
            fits = lines[i].alpha + lines[i].beta * most + (f->m - 1) * more <= t * (1 + 1e-12);
        if (fits)
            break;
    }
    return most >= alive->n_chunks ? most : -1;
}

static bool all_held_within(const ek__bound_figures *f, const line (*lines)[MOST_LINES], int n_lines, int v,
                            const ek_schedule *schedule, double t)
{
    int sum = 0;
    for (int s = 0; s < f->p; s++) {
        const live alive = live_of(f, s, v, schedule);
        /* With one chunk, all layers of the commonest kind are in it. */
        double limit = f->job->limit_mb * 1048576 - besides(f, s, v, v == 1 || alive.n_chunks > 0, schedule);
        int held = held_within(f, lines[s], n_lines, s, t, &alive, limit);
        if (held < 0)
            return false;
        sum += held;
    }
    return sum >= f->n_alike;
}

double ek__bound_within_rule(const ek__bound_figures *f, int n_chunks, const ek_schedule *schedule)
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
        return all_held_within(f, lines, n_lines, n_chunks, schedule, INFINITY) ? ek__bound_whole(f, high) : INFINITY;
    for (int i = 0; i < BISECTIONS && high - low > 1e-6 * high; i++) {
        double t = (low + high) / 2;
        *(all_held_within(f, lines, n_lines, n_chunks, schedule, t) ? &high : &low) = t;
    }
    return ek__bound_whole(f, low);
}

double ek__bound_within(const ek__bound_figures *f, int n_chunks, const ek_schedule *schedule)
{
    ek__rule_says says;
    ek__bound_figures under;
    double least = INFINITY;
    for (int i = 0; i < ek__rule_says_at(f->job, i, &says); i++)
        if (ek__bound_under(f, &says, &under))
            least = fmin(least, ek__bound_within_rule(&under, n_chunks, schedule));
    return least;
}
