/* Computes the front over all sets of operators by a sweep over the layers' operators from the last to the first. The
 * readers of a tensor, which the sweep has passed, determine whether it is needed in the backward pass: an operator
 * that does not run again saves its needed outputs, one that does makes its inputs needed. The state of a label is the
 * part of the choices that affects the rest of a layer: needed tensors and saved storages with makers ahead, and
 * choices that name operators ahead. Of two labels with equal states, one that saves at least as much and takes at
 * least as long is dropped. This is exact, because bytes and times of the operators ahead are added to both equally.
 * All kinds of layers are swept together, so that one choice for operators of several kinds is made once.
 *
 * Time is additive over operators except for hidden communication and late launches of the host; with any of these,
 * labels are compared part by part, since time is an increasing function of the parts. If tensor and expert parallel
 * communication overlap with the same products and a product may save more time than it takes, only labels with equal
 * products are compared. Not handled: fronts with more labels than MOST_LABELS; they are thinned, and the result has
 * the resulting gap. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "memory/program.h"
#include "recompute/sets.h"

enum {
    MOST_LABELS = 1 << 15,
    MOST_STEPS = EK_MAX_SET_LAYERS * EK__MAX_OPS,
    TENSOR_WORDS = EK_MAX_SET_LAYERS * EK__MAX_TENSORS / 64,
    MOST_NAMES = 8, /* choices that name one operator, with those it requires */
    N_PARTS = 8,
    MOST_DIMENSIONS = EK_MAX_SET_LAYERS * N_PARTS,
};

/* The state for the operators ahead. */
typedef struct state {
    uint64_t wanted[TENSOR_WORDS], kept[TENSOR_WORDS];
    ek__chosen open;
} state;

typedef struct label {
    state at;
    double kept, ms; /* of all layers */
    int n_patterns;
    ek__chosen chosen;
    double dimension[MOST_DIMENSIONS]; /* seconds of a kind's parts, kernels; none if time is additive */
} label;

/* Choices that determine an operator. */
typedef struct name_set {
    int n, choice[MOST_NAMES];
} name_set;

typedef struct operator_step {
    int layer, op, n_new, fresh[MOST_NAMES]; /* choices made at this step */
    ek__pass pass;
    double ms; /* of all layers of the kind, if time is additive */
    ek__chosen open_after;
    uint64_t kept_after[TENSOR_WORDS]; /* storages that can still be saved again */
} operator_step;

typedef struct sweep {
    const ek__set_problem *p;
    double full_ms, gap;
    bool additive, equal_products;
    name_set by[EK_MAX_SET_LAYERS][EK__MAX_OPS];  /* that name it */
    name_set all[EK_MAX_SET_LAYERS][EK__MAX_OPS]; /* with those of its required operators */
    uint64_t root[TENSOR_WORDS];                  /* read by gradients */
    int n_steps;
    operator_step step[MOST_STEPS];
    size_t n, room, n_next, room_next; /* labels */
    label *label, *next;
    label **sorted;
} sweep;

static int bit_of(int layer, int tensor)
{
    return layer * EK__MAX_TENSORS + tensor;
}

static bool has(const uint64_t *bits, int i)
{
    return bits[i / 64] >> (i % 64) & 1;
}

static void set(uint64_t *bits, int i)
{
    bits[i / 64] |= UINT64_C(1) << (i % 64);
}

static const ek__graph *graph_of(const sweep *s, int layer)
{
    return s->p->layer[layer].cost.graph;
}

/* ---- choices of operators ---- */

static void add_name(name_set *names, int choice)
{
    for (int i = 0; i < names->n; i++)
        if (names->choice[i] == choice)
            return;
    assert(names->n < MOST_NAMES);
    names->choice[names->n++] = choice;
}

static void find_excluded(const sweep *s, int layer, bool *excluded)
{
    bool matched[EK__MAX_OPS];
    for (int i = 0; i < s->p->bare.n_patterns; i++) {
        ek__pattern_match(graph_of(s, layer), s->p->bare.pattern[i].text, s->p->bare.pattern[i].kind, matched);
        for (int o = 0; o < EK__MAX_OPS; o++)
            excluded[o] |= matched[o];
    }
}

static void find_names(sweep *s, int layer)
{
    bool excluded[EK__MAX_OPS] = {false}, matched[EK__MAX_OPS];
    const ek__graph *graph = graph_of(s, layer);
    find_excluded(s, layer, excluded);
    for (int c = 0; c < s->p->n_choices; c++) {
        const ek_set_pattern *pattern = &s->p->choice[c].pattern[0];
        ek__pattern_match(graph, pattern->text, pattern->kind, matched);
        for (int o = 0; o < graph->n_ops; o++)
            if (matched[o] && !excluded[o])
                add_name(&s->by[layer][o], c);
    }
    for (int o = 0; o < graph->n_ops; o++)
        for (int other = o; other >= 0; other = graph->op[other].requires)
            for (int i = 0; i < s->by[layer][other].n; i++)
                add_name(&s->all[layer][o], s->by[layer][other].choice[i]);
}

static bool is_name(const name_set *names, int choice)
{
    for (int i = 0; i < names->n; i++)
        if (names->choice[i] == choice)
            return true;
    return false;
}

/* ---- the order of the sweep ---- */

/* Layers are swept down to at[]. Is the choice for an operator of layer k further down, and not for its next one? */
static bool comes_later(const sweep *s, const int *at, int k, int choice)
{
    if (at[k] < 0 || is_name(&s->all[k][at[k]], choice))
        return false;
    for (int o = at[k] - 1; o >= 0; o--)
        if (is_name(&s->all[k][o], choice))
            return true;
    return false;
}

/* Would a choice of the layer's next operator stay open until another layer reaches it? Then that layer goes first.
 */
static bool waits(const sweep *s, const int *at, const ek__chosen *made, int layer)
{
    const name_set *names = &s->all[layer][at[layer]];
    for (int k = 0; k < s->p->n_layers; k++)
        for (int i = 0; i < names->n && k != layer; i++)
            if (!ek__is_chosen(made, names->choice[i]) && comes_later(s, at, k, names->choice[i]))
                return true;
    return false;
}

static bool has_choices(const sweep *s, const ek__chosen *made, int layer, int op)
{
    for (int i = 0; i < s->all[layer][op].n; i++)
        if (ek__is_chosen(made, s->all[layer][op].choice[i]))
            return true;
    return false;
}

/* The layer to continue with: one that waits for no other, first those with already made choices. */
static int next_layer(const sweep *s, const int *at, const ek__chosen *made)
{
    int best = -1, best_rank = -1;
    for (int k = 0; k < s->p->n_layers; k++) {
        if (at[k] < 0)
            continue;
        int rank = waits(s, at, made, k) ? 0 : has_choices(s, made, k, at[k]) ? 2 : 1;
        if (rank > best_rank) {
            best = k;
            best_rank = rank;
        }
    }
    return best;
}

static void order(sweep *s)
{
    int at[EK_MAX_SET_LAYERS], layer;
    ek__chosen made = {{0}};
    for (int k = 0; k < s->p->n_layers; k++)
        at[k] = graph_of(s, k)->n_ops - 1;
    while ((layer = next_layer(s, at, &made)) >= 0) {
        operator_step *step = &s->step[s->n_steps++];
        const name_set *names = &s->all[layer][at[layer]];
        step->layer = layer;
        step->op = at[layer]--;
        for (int i = 0; i < names->n; i++)
            if (!ek__is_chosen(&made, names->choice[i])) {
                step->fresh[step->n_new++] = names->choice[i];
                ek__choose(&made, names->choice[i]);
            }
    }
}

/* A storage can be saved as long as an operator ahead makes a tensor in it or, if none does, reads one. */
static void open_storages(const sweep *s, const operator_step *step, uint64_t *open)
{
    const ek__graph *graph = graph_of(s, step->layer);
    const ek__op *op = &graph->op[step->op];
    for (int i = 0; i < op->n_out; i++)
        set(open, bit_of(step->layer, graph->tensor[op->out[i]].storage));
    for (int i = 0; i < op->n_in; i++)
        set(open, bit_of(step->layer, graph->tensor[op->in[i]].storage));
}

static void find_open(sweep *s)
{
    ek__chosen open = {{0}};
    uint64_t kept[TENSOR_WORDS] = {0};
    for (int i = s->n_steps - 1; i >= 0; i--) {
        operator_step *step = &s->step[i];
        const name_set *names = &s->all[step->layer][step->op];
        step->open_after = open;
        memcpy(step->kept_after, kept, sizeof kept);
        for (int k = 0; k < names->n; k++)
            ek__choose(&open, names->choice[k]);
        open_storages(s, step, kept);
    }
}

/* ---- times ---- */

static const ek_step_part parts[N_PARTS - 1] = {EK_STEP_MATRIX, EK_STEP_ATTENTION, EK_STEP_MEMORY, EK_STEP_GROUPED,
                                                EK_STEP_TENSOR, EK_STEP_EXPERT,    EK_STEP_CONTEXT};
enum { N_PRODUCTS = 3 }; /* the first of them, which may hide communication of both kinds */

/* Is nothing hidden and no launch late, for any recomputation? */
static bool is_additive(const ek__set_problem *p, const ek__set_layer *layer)
{
    bool all[EK__MAX_OPS];
    ek__pass run, again, backward = layer->cost.backward;
    memset(all, 1, sizeof all);
    ek__layer_run(&p->bare, p->device, &layer->cost, all, &run);
    ek__layer_finish_again(&p->bare, p->device, &layer->cost, &run, &again);
    backward.kernels += again.kernels;
    ek__pass_launch(p->job, p->device, &layer->cost, &backward);
    return !(again.hidden_tensor > 0) && !(backward.part[EK_STEP_HOST] > layer->cost.backward.part[EK_STEP_HOST]) &&
           !((p->job->run.overlap_expert || p->job->run.overlap_shared) && run.part[EK_STEP_EXPERT] > 0);
}

static bool hides_twice(const ek__set_problem *p)
{
    const ek_job *job = p->job;
    bool copies = job->parallel.n_batch_interleave > 1 || job->parallel.fine_grain > 1;
    return (job->run.overlap_tensor || copies) && (job->run.overlap_expert || job->run.overlap_shared) &&
           p->device->overlap_tensor + p->device->overlap_share > 1;
}

static void time_steps(sweep *s)
{
    s->additive = true;
    for (int k = 0; k < s->p->n_layers; k++)
        s->additive = s->additive && is_additive(s->p, &s->p->layer[k]);
    s->equal_products = !s->additive && hides_twice(s->p);
    for (int i = 0; i < s->n_steps; i++) {
        operator_step *step = &s->step[i];
        const ek__set_layer *layer = &s->p->layer[step->layer];
        bool one[EK__MAX_OPS] = {false};
        one[step->op] = true;
        ek__layer_run(&s->p->bare, s->p->device, &layer->cost, one, &step->pass);
        if (s->additive)
            step->ms = layer->n_layers * ek__set_extra_ms(s->p, layer, &step->pass);
    }
}

static void add_time(const sweep *s, const operator_step *step, label *l)
{
    double *to = &l->dimension[step->layer * N_PARTS];
    if (s->additive) {
        l->ms += step->ms;
        return;
    }
    for (int i = 0; i < N_PARTS - 1; i++)
        to[i] += step->pass.part[parts[i]];
    to[N_PARTS - 1] += step->pass.kernels;
}

static double time_of(const sweep *s, const label *l)
{
    double ms = 0;
    for (int k = 0; k < s->p->n_layers; k++) {
        const double *from = &l->dimension[k * N_PARTS];
        ek__pass run = {.kernels = from[N_PARTS - 1]};
        for (int i = 0; i < N_PARTS - 1; i++)
            run.part[parts[i]] = from[i];
        ms += s->p->layer[k].n_layers * ek__set_extra_ms(s->p, &s->p->layer[k], &run);
    }
    return ms;
}

/* ---- a step ---- */

static void keep(const sweep *s, int layer, int tensor, label *l)
{
    const ek__graph *graph = graph_of(s, layer);
    const ek__set_layer *of = &s->p->layer[layer];
    int storage = graph->tensor[tensor].storage;
    if (has(l->at.kept, bit_of(layer, storage)))
        return;
    set(l->at.kept, bit_of(layer, storage));
    if (!graph->tensor[storage].elsewhere)
        l->kept += of->n_layers * of->copies * (double)ek__kept_bytes(&s->p->bare, graph->tensor[storage].bytes);
}

static void want(const sweep *s, int layer, int tensor, label *l)
{
    if (has(s->root, bit_of(layer, tensor)) || has(l->at.wanted, bit_of(layer, tensor)))
        return;
    if (graph_of(s, layer)->tensor[tensor].producer < 0)
        keep(s, layer, tensor, l);
    else
        set(l->at.wanted, bit_of(layer, tensor));
}

static bool is_wanted(const sweep *s, int layer, int tensor, const label *l)
{
    return has(s->root, bit_of(layer, tensor)) || has(l->at.wanted, bit_of(layer, tensor));
}

/* Does it run again by the choices, together with all operators that it requires? */
static bool runs_again(const sweep *s, int layer, int op, const label *l)
{
    const ek__graph *graph = graph_of(s, layer);
    for (; op >= 0; op = graph->op[op].requires) {
        bool chosen = false;
        for (int i = 0; i < s->by[layer][op].n; i++)
            chosen = chosen || ek__is_chosen(&l->chosen, s->by[layer][op].choice[i]);
        if (!chosen)
            return false;
    }
    return true;
}

static void pass_operator(const sweep *s, const operator_step *step, label *l)
{
    const ek__op *op = &graph_of(s, step->layer)->op[step->op];
    bool again = runs_again(s, step->layer, step->op, l), wanted = false;
    if (again && !op->always_recomputed)
        add_time(s, step, l);
    again = again || op->always_recomputed;
    for (int i = 0; i < op->n_out; i++) {
        bool this = is_wanted(s, step->layer, op->out[i], l);
        if (this && !again)
            keep(s, step->layer, op->out[i], l);
        wanted = wanted || this;
        l->at.wanted[bit_of(step->layer, op->out[i]) / 64] &= ~(UINT64_C(1) << (bit_of(step->layer, op->out[i]) % 64));
    }
    for (int i = 0; i < op->n_in && again && wanted; i++)
        want(s, step->layer, op->in[i], l);
}

static void close(const operator_step *step, label *l)
{
    for (int i = 0; i < TENSOR_WORDS; i++)
        l->at.kept[i] &= step->kept_after[i];
    for (int i = 0; i < EK__CHOICE_WORDS; i++)
        l->at.open.word[i] = l->chosen.word[i] & step->open_after.word[i];
}

/* Every way to make the step's choices. */
static ek_status extend(sweep *s, const operator_step *step, const label *from)
{
    for (unsigned ways = 0; ways < 1u << step->n_new; ways++) {
        label *room = ek__with_room(s->next, &s->room_next, s->n_next + 1, sizeof *s->next);
        if (!room)
            return ek__no_memory(s->p->err);
        s->next = room;
        label *l = &s->next[s->n_next];
        *l = *from;
        for (int i = 0; i < step->n_new; i++)
            if (ways >> i & 1) {
                ek__choose(&l->chosen, step->fresh[i]);
                l->n_patterns++;
            }
        pass_operator(s, step, l);
        close(step, l);
        if (!s->additive)
            l->ms = time_of(s, l);
        if (l->ms < s->full_ms || s->equal_products)
            s->n_next++;
    }
    return EK_OK;
}

/* ---- dominance ---- */

static int by_state(const void *a, const void *b)
{
    const label *p = *(const label *const *)a, *q = *(const label *const *)b;
    int order = memcmp(&p->at, &q->at, sizeof p->at);
    if (order)
        return order;
    if (p->kept != q->kept)
        return p->kept < q->kept ? -1 : 1;
    if (p->ms != q->ms)
        return p->ms < q->ms ? -1 : 1;
    if (p->n_patterns != q->n_patterns)
        return p->n_patterns - q->n_patterns;
    return memcmp(&p->chosen, &q->chosen, sizeof p->chosen);
}

/* `a` comes before `b` in that order. */
static bool dominates(const sweep *s, const label *a, const label *b, double slack)
{
    if (s->additive || slack > 0)
        return a->ms <= b->ms + slack;
    for (int i = 0; i < s->p->n_layers * N_PARTS; i++) {
        bool equal = s->equal_products && i % N_PARTS < N_PRODUCTS;
        if (equal ? a->dimension[i] != b->dimension[i] : a->dimension[i] > b->dimension[i])
            return false;
    }
    return true;
}

/* Labels of one state, s->sorted[from] to [to - 1]: the remaining ones move to s->label. If time is additive, the last
 * remaining one is the fastest. */
static void reduce_state(sweep *s, size_t from, size_t to, double slack)
{
    const size_t first = s->n;
    for (size_t i = from; i < to; i++) {
        bool dominated = false;
        size_t start = s->n > first && (s->additive || slack > 0) ? s->n - 1 : first;
        for (size_t k = start; k < s->n && !dominated; k++)
            dominated = dominates(s, &s->label[k], s->sorted[i], slack);
        if (!dominated)
            s->label[s->n++] = *s->sorted[i];
    }
}

static void reduce_by(sweep *s, double slack)
{
    s->n = 0;
    for (size_t from = 0, to; from < s->n_next; from = to) {
        for (to = from + 1; to < s->n_next; to++)
            if (memcmp(&s->sorted[to]->at, &s->sorted[from]->at, sizeof(state)) != 0)
                break;
        reduce_state(s, from, to, slack);
    }
}

/* Too many labels are thinned, with the smallest sufficient gap. */
static ek_status reduce(sweep *s)
{
    label *room = ek__with_room(s->label, &s->room, s->n_next ? s->n_next : 1, sizeof *s->label);
    label **sorted = realloc(s->sorted, (s->n_next ? s->n_next : 1) * sizeof *sorted);
    s->label = room ? room : s->label;
    s->sorted = sorted ? sorted : s->sorted;
    if (!room || !sorted)
        return ek__no_memory(s->p->err);
    for (size_t i = 0; i < s->n_next; i++)
        s->sorted[i] = &s->next[i];
    qsort(s->sorted, s->n_next, sizeof *s->sorted, by_state);
    reduce_by(s, 0);
    double slack = 1e-6 * s->full_ms;
    for (; s->n > MOST_LABELS; slack *= 2) {
        reduce_by(s, slack);
        if (s->n <= MOST_LABELS)
            s->gap += s->additive ? slack : INFINITY;
    }
    return EK_OK;
}

/* ---- the whole ---- */

static void start(sweep *s)
{
    label *first = s->label;
    *first = (label){.kept = 0};
    for (int k = 0; k < s->p->n_layers; k++) {
        const ek__graph *graph = graph_of(s, k);
        find_names(s, k);
        for (int o = 0; o < graph->n_ops; o++)
            for (int i = 0; i < graph->op[o].n_needs; i++) {
                int tensor = graph->op[o].needs[i];
                if (graph->tensor[tensor].producer < 0)
                    keep(s, k, tensor, first);
                set(s->root, bit_of(k, tensor));
            }
    }
    order(s);
    find_open(s);
    time_steps(s);
    s->n = 1;
}

static ek_status collect(const sweep *s, ek__found_sets *out)
{
    ek_status status = EK_OK;
    for (size_t i = 0; i < s->n && !status; i++) {
        const label *l = &s->label[i];
        const ek__found_set found = {.chosen = l->chosen, .n_patterns = l->n_patterns, .kept = l->kept, .ms = l->ms};
        status = ek__found_add(out, &found, s->p->err);
    }
    if (!status)
        ek__found_front(out);
    return status;
}

ek_status ek__set_labels(const ek__set_problem *p, double full_ms, ek__found_sets *out, double *gap_ms)
{
    sweep *s = ek__alloc(1, sizeof *s);
    if (!s)
        return ek__no_memory(p->err);
    s->p = p;
    s->full_ms = full_ms;
    s->label = ek__with_room(NULL, &s->room, 1, sizeof *s->label);
    ek_status status = s->label ? EK_OK : ek__no_memory(p->err);
    if (!status)
        start(s);
    for (int i = 0; i < s->n_steps && !status; i++) {
        s->n_next = 0;
        for (size_t k = 0; k < s->n && !status; k++)
            status = extend(s, &s->step[i], &s->label[k]);
        if (!status)
            status = reduce(s);
    }
    if (!status)
        status = collect(s, out);
    if (!status)
        *gap_ms = s->gap;
    free(s->label);
    free(s->next);
    free(s->sorted);
    free(s);
    return status;
}
