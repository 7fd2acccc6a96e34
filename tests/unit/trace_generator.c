/* Generates pipeline traces with known truth (see the header). First the blocks of one step are put in time: stage
 * after stage runs its list as far as its dependencies are known, until all have run. Then each stage's blocks are
 * walked again to emit events. Not modelled: several streams of computing, retried transfers, clock differences. */
#include "trace_generator.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define US            INT64_C(1000)
#define EPOCH         (INT64_C(1750000000000000) * US)
#define PAUSE         1500 /* between two operators */
#define HOST_AHEAD    (20 * US)
#define LATE_LAUNCH   800
#define SEND          (59 * US)
#define LEAST_RECEIVE (20 * US)
#define PREPARING     (85 * US)
#define STEP_PAUSE    (150 * US)

/* ---- operators of layers ---- */

typedef struct op {
    const char *part, *name, *type;
    int us;
    int forward; /* of a gradient: index of its operator */
    bool again;  /* runs again with selective recomputation */
} op;

typedef struct cell {
    const char *element, *kind; /* element: "norm_out-RmsNorm"; of a layer NULL */
    const char *parent;
    int n_forward, n_backward;
    const op *forward, *backward;
} cell;

static const op layer_forward[] = {
    {"attention_norm-RmsNorm", "RmsNorm", "AI_VECTOR_CORE", 81, 0, false},
    {"attention-Attention/qkv-Dense", "MatMul", "AI_CORE", 324, 0, false},
    {"attention-Attention", "Mul", "AI_VECTOR_CORE", 22, 0, false},
    {"attention-Attention", "Mul", "AI_VECTOR_CORE", 24, 0, true},
    {"attention-Attention/flash-FlashAttention", "FlashAttentionScore", "MIX_AIC", 297, 0, false},
    {"feed_forward-FeedForward/w1-Dense", "MatMul", "AI_CORE", 351, 0, false},
    {"feed_forward-FeedForward", "SiLU", "AI_VECTOR_CORE", 40, 0, true},
    {"feed_forward-FeedForward/w2-Dense", "MatMul", "AI_CORE", 297, 0, false},
};
static const op layer_backward[] = {
    {"feed_forward-FeedForward/w2-Dense/Grad_MatMul", "MatMul", "AI_CORE", 290, 7, false},
    {"feed_forward-FeedForward/w2-Dense/Grad_MatMul", "MatMul", "AI_CORE", 305, 7, false},
    {"feed_forward-FeedForward/Grad_SiLU", "SiLUGrad", "AI_VECTOR_CORE", 66, 6, false},
    {"feed_forward-FeedForward/w1-Dense/Grad_MatMul", "MatMul", "AI_CORE", 700, 5, false},
    {"attention-Attention/flash-FlashAttention/Grad_FlashAttentionScore", "FlashAttentionScoreGrad", "MIX_AIC", 610, 4,
     false},
    {"attention-Attention/Grad_Mul", "Mul", "AI_VECTOR_CORE", 30, 3, false},
    {"attention-Attention/Grad_Mul", "Mul", "AI_VECTOR_CORE", 31, 2, false},
    {"attention-Attention/qkv-Dense/Grad_MatMul", "MatMul", "AI_CORE", 640, 1, false},
    {"attention_norm-RmsNorm/Grad_RmsNorm", "RmsNormGrad", "AI_VECTOR_CORE", 118, 0, false},
};
static const op embedding_forward[] = {{"", "Gather", "AI_VECTOR_CORE", 300, 0, false}};
static const op embedding_backward[] = {{"Grad_Gather", "EmbeddingDenseGrad", "AI_VECTOR_CORE", 500, 0, false}};
static const op norm_forward[] = {{"", "RmsNorm", "AI_VECTOR_CORE", 40, 0, false}};
static const op norm_backward[] = {{"Grad_RmsNorm", "RmsNormGrad", "AI_VECTOR_CORE", 80, 0, false}};
static const op head_forward[] = {{"", "MatMul", "AI_CORE", 700, 0, false}};
static const op head_backward[] = {{"Grad_MatMul", "MatMul", "AI_CORE", 690, 0, false},
                                   {"Grad_MatMul", "MatMul", "AI_CORE", 710, 0, false}};
static const op loss_forward[] = {{"", "CrossEntropy", "AI_VECTOR_CORE", 100, 0, false}};
static const op loss_backward[] = {{"Grad_CrossEntropy", "CrossEntropyGrad", "AI_VECTOR_CORE", 100, 0, false}};

#define COUNT(a) ((int)(sizeof(a) / sizeof *(a)))
#define MODEL    "network-PipelineCell/backbone-Model"
#define CELL(e, k, p, t)                                                                                               \
    {                                                                                                                  \
        e, k, p, COUNT(t##_forward), COUNT(t##_backward), t##_forward, t##_backward                                    \
    }
static const cell layer_cell = CELL(NULL, "DecoderLayer", MODEL "/layers-CellList", layer);
static const cell dense_cell = CELL(NULL, "DenseLayer", MODEL "/layers-CellList", layer);
static const cell embedding_cell = CELL("tok_embeddings-Embedding", "Embedding", MODEL, embedding);
static const cell tail_cell[] = {CELL("norm_out-FinalNorm", "FinalNorm", MODEL, norm),
                                 CELL("lm_head-Head", "Head", "network-PipelineCell", head),
                                 CELL("loss-CrossEntropy", "CrossEntropy", "network-PipelineCell", loss)};

/* ---- state ---- */

typedef struct span {
    int64_t start, end;
} span;

typedef struct spans {
    span *at;
    int n, capacity;
} spans;

typedef struct open_scope {
    char name[64];
    int64_t start, end;
    bool open;
} open_scope;

enum { MAX_DEPTH = 16, AFTER_ATTENTION = 4 };

typedef struct block {
    int chunk, micro_batch;
    bool backward;
    int64_t ready;            /* end of the block before on the stage, or the step's start */
    int64_t begun, received;  /* of the receive; received 0 without */
    int64_t start, end, sent; /* sent: end of the send; 0 without */
} block;

typedef struct generator {
    trace_shape s;
    trace_sink *sink;
    void *user;
    trace_truth *truth;
    bool failed;
    int step, stage, replica;
    int n_blocks;                  /* of one stage in one step */
    block *blocks;                 /* [n_data][n_stages][n_blocks] */
    block *block;                  /* those of the replica */
    int64_t *reduced;              /* [n_data][layers of the model]: when the layer's gradients are complete */
    int64_t n_collectives;         /* of this rank in this step: gradients and redistribution */
    int *of_forward, *of_backward; /* [n_stages][chunk][micro-batch]: index of the block */
    int64_t next_number, next_link;
    open_scope scope[MAX_DEPTH];
    spans computing, communication;
    /* the execution being walked */
    bool emit;
    int64_t now;
    trace_truth_layer *layer;
} generator;

static uint64_t mix(uint64_t x)
{
    x ^= x >> 30;
    x *= UINT64_C(0xbf58476d1ce4e5b9);
    x ^= x >> 27;
    x *= UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

static bool is_torch(const generator *g)
{
    return g->s.form != TRACE_MINDSPORE;
}

static int n_positions(const generator *g)
{
    return g->s.n_stages * g->s.n_chunks;
}

static int layers_at(const generator *g, int position)
{
    return g->s.layers_of ? g->s.layers_of[position] : g->s.n_layers;
}

/* Layers of a chunk have the model's numbers, position after position. */
static int layer_index(const generator *g, int chunk, int layer)
{
    int before = 0;
    for (int position = 0; position < chunk * g->s.n_stages + g->stage; position++)
        before += layers_at(g, position);
    return before + layer;
}

static int n_model_layers(const generator *g)
{
    int n = 0;
    for (int position = 0; position < n_positions(g); position++)
        n += layers_at(g, position);
    return n;
}

static block *blocks_of(const generator *g, int replica)
{
    return g->blocks + (size_t)replica * (size_t)g->s.n_stages * (size_t)g->n_blocks;
}

static bool is_slow_rank(const generator *g)
{
    return g->s.slow_rank_by > 0 && g->stage * g->s.n_data + g->replica == g->s.slow_rank;
}

static bool is_slow_operator(const generator *g, int index, const op *o)
{
    return g->s.slow_operator && index >= 0 && strcmp(o->name, g->s.slow_operator) == 0 &&
           (g->s.slow_every <= 1 || index % g->s.slow_every == 0);
}

static trace_rerun rerun_of(const generator *g, int index)
{
    return g->s.rerun && index >= 0 ? g->s.rerun[index] : TRACE_RERUN_NONE;
}

/* Nanoseconds of one operator, whole tens. */
static int64_t duration_of(const generator *g, int index, int which, const op *o, int direction, int micro_batch)
{
    double factor = 1.0;
    if (index >= 0)
        factor = (index < g->s.n_dense ? 0.6 : 1.0) * (g->s.equal_layers ? 1.0 : 1.0 + 0.03 * (index % 5));
    if (g->s.scale > 0)
        factor *= g->s.scale;
    if (is_slow_operator(g, index, o))
        factor *= g->s.slow_by;
    if (is_slow_rank(g))
        factor *= 1.0 + g->s.slow_rank_by;
    if (g->step == 0 && g->s.warm_up > 0)
        factor *= g->s.warm_up;
    if (g->s.jitter > 0) {
        uint64_t h = mix(g->s.seed + UINT64_C(0x9e3779b97f4a7c15));
        const int where[] = {g->step, g->stage, index + 1, which, direction, micro_batch, o->us};
        for (int i = 0; i < COUNT(where); i++)
            h = mix(h ^ (uint64_t)(where[i] + 1));
        if (g->replica > 0)
            h = mix(h ^ ((uint64_t)g->replica << 32));
        factor *= 1.0 + g->s.jitter * (2.0 * (double)(h >> 11) * 0x1p-53 - 1.0);
    }
    return (int64_t)(100.0 * o->us * factor) * 10;
}

/* ---- emitting ---- */

static bool push_span(generator *g, spans *set, int64_t start, int64_t end)
{
    if (set->n == set->capacity) {
        int capacity = set->capacity ? 2 * set->capacity : 1024;
        span *at = realloc(set->at, (size_t)capacity * sizeof *at);
        if (!at) {
            g->failed = true;
            return false;
        }
        set->at = at;
        set->capacity = capacity;
    }
    set->at[set->n++] = (span){start, end};
    return true;
}

static void send_item(generator *g, trace_item item)
{
    item.stage = g->stage;
    item.rank = g->stage * g->s.n_data + g->replica;
    item.step = g->step;
    g->sink(g->user, &item);
}

static void close_scopes(generator *g, int depth)
{
    for (int d = depth; d < MAX_DEPTH; d++) {
        open_scope *o = &g->scope[d];
        if (o->open)
            send_item(g, (trace_item){.kind = TRACE_SCOPE,
                                      .thread = d,
                                      .name = o->name,
                                      .start = o->start,
                                      .duration = o->end - o->start});
        o->open = false;
    }
}

/* One interval for each run of equal path elements at a depth; a shorter path leaves deeper ones open, as MindSpore's.
 */
static void extend_scopes(generator *g, const char *path, int64_t start, int64_t end)
{
    int depth = 0;
    for (const char *slash; (slash = strchr(path, '/')) && depth < MAX_DEPTH; path = slash + 1, depth++) {
        open_scope *o = &g->scope[depth];
        size_t length = (size_t)(slash - path);
        if (o->open && (strncmp(o->name, path, length) != 0 || o->name[length]))
            close_scopes(g, depth);
        if (!o->open) {
            *o = (open_scope){.start = start, .open = true};
            assert(length < sizeof o->name);
            memcpy(o->name, path, length);
        }
        o->end = end;
    }
}

static void task(generator *g, const char *path, const op *o, int64_t start, int64_t duration)
{
    char own[96];
    trace_item item = {.kind = TRACE_TASK, .name = path, .task_type = o->type, .start = start, .duration = duration};
    item.id = ++g->next_link;
    if (is_torch(g) || g->s.names_in_arguments || g->s.nameless_kernels || g->s.names_on_host) {
        snprintf(own, sizeof own, "aclnn%s_%s", o->name, o->type);
        item.name = own;
        item.operator_name = g->s.names_in_arguments || g->s.names_on_host ? path : NULL;
    }
    send_item(g, item);
    if (g->s.form == TRACE_MINDSPORE && !g->s.names_on_host)
        extend_scopes(g, path, start, start + duration);
    push_span(g, &g->computing, start, start + duration);
}

/* The host is far ahead of the device unless launching is the bottleneck. */
static int64_t host_ahead(const generator *g)
{
    return g->s.dispatch > 0 ? LATE_LAUNCH : HOST_AHEAD;
}

static int64_t pause_of(const generator *g)
{
    return PAUSE + g->s.dispatch;
}

static void launch(generator *g, int thread, int64_t start)
{
    send_item(g, (trace_item){.kind = TRACE_LAUNCH,
                              .name = "cudaLaunchKernel",
                              .thread = thread,
                              .start = start,
                              .duration = 800,
                              .id = g->next_link + 1});
}

static void collective(generator *g, const char *name, int64_t start, int64_t end)
{
    if (g->s.form == TRACE_TORCH_NPU)
        launch(g, 1, start - host_ahead(g));
    send_item(
        g, (trace_item){
               .kind = TRACE_COLLECTIVE, .name = name, .start = start, .duration = end - start, .id = ++g->next_link});
    push_span(g, &g->communication, start, end);
}

/* ---- one execution of a cell ---- */

typedef struct run {
    const cell *cell;
    const char *element;
    int index, micro_batch, direction;
    int64_t first, last, busy;
} run;

static void record(generator *g, const run *r, int64_t wall, int64_t busy)
{
    trace_truth_layer *layer = g->layer;
    if (!g->emit || !layer)
        return;
    int n = layer->n[r->direction];
    if ((n & (n - 1)) == 0) {
        trace_execution *more = realloc(layer->execution[r->direction], (n ? 2 * (size_t)n : 1) * sizeof *more);
        if (!more) {
            g->failed = true;
            return;
        }
        layer->execution[r->direction] = more;
    }
    layer->execution[r->direction][n] = (trace_execution){g->step, wall, busy};
    layer->n[r->direction]++;
}

static long number_of(generator *g, const run *r, int which)
{
    if (!g->s.shared_numbers)
        return (long)(100 + g->next_number++);
    static const int base[TRACE_N_DIRECTIONS] = {0, 20, 40};
    int where = r->index >= 0 ? r->index + 8 : r->cell == &embedding_cell ? 0 : 1 + (int)(r->cell - tail_cell);
    return 100L + 64L * where + base[r->direction] + which;
}

static const char *scope_of(const generator *g, const run *r, const op *o)
{
    trace_rerun rerun = rerun_of(g, r->index);
    bool marked = rerun == TRACE_RERUN_FULL || (rerun == TRACE_RERUN_SELECT && o->again && !g->s.select_in_default);
    return marked ? "recompute_Default" : "Default";
}

static void module_item(generator *g, trace_item_kind kind, const char *name, int64_t start, int64_t end, int thread)
{
    send_item(
        g, (trace_item){
               .kind = kind, .name = name, .thread = thread, .start = start - host_ahead(g), .duration = end - start});
}

/* Host side of one operator: part's module, the operator, its launch; a gradient's arrow comes from its operator. */
static void host_of_op(generator *g, const run *r, const op *o, int which, int64_t start)
{
    char name[128];
    int thread = r->direction == TRACE_FORWARD ? 1 : 2;
    int64_t launched = start - host_ahead(g);
    const op *of = r->direction == TRACE_BACK ? &r->cell->forward[o->forward] : o;
    int where = r->index >= 0 ? r->index + 8 : r->cell == &embedding_cell ? 0 : 1 + (int)(r->cell - tail_cell);
    int64_t flow = 1 + ((((int64_t)g->step * 4096 + r->micro_batch) * 8192 + where) * 16) + (of - r->cell->forward);
    if (r->direction == TRACE_BACK) {
        bool first = which == 0 || r->cell->backward[which - 1].forward != o->forward;
        snprintf(name, sizeof name, "%sBackward0", of->name);
        send_item(g, (trace_item){
                         .kind = TRACE_BACKWARD, .name = name, .thread = 2, .start = launched - 100, .duration = 1200});
        if (first)
            send_item(g,
                      (trace_item){
                          .kind = TRACE_FLOW_END, .name = "fwdbwd", .thread = 2, .start = launched - 100, .id = flow});
    } else {
        const char *part = strchr(o->part, '-');
        int length = part ? (int)strcspn(part + 1, "/") : 0;
        if (part) {
            snprintf(name, sizeof name, "%.*s_%d", length, part + 1, r->index);
            module_item(g, TRACE_MODULE, name, start - 150, start + 1200, thread);
        }
        snprintf(name, sizeof name, "aten::%s", o->name);
        send_item(g,
                  (trace_item){
                      .kind = TRACE_HOST_OP, .name = name, .thread = thread, .start = launched - 50, .duration = 1100});
        if (r->direction == TRACE_FORWARD)
            send_item(g,
                      (trace_item){
                          .kind = TRACE_FLOW_START, .name = "fwdbwd", .thread = 1, .start = launched - 50, .id = flow});
    }
    launch(g, thread, launched);
}

/* One operator at g->now, which moves on. */
static void walk_op(generator *g, run *r, const op *o, int which)
{
    int64_t duration = duration_of(g, r->index, which, o, r->direction, r->micro_batch), start = g->now;
    if (g->emit) {
        char path[512];
        const char *scope = scope_of(g, r, r->direction == TRACE_BACK ? &r->cell->forward[o->forward] : o);
        snprintf(path, sizeof path, "%s%s/%s/%s%s%s/%s-op%ld", r->direction == TRACE_BACK ? "Gradients/" : "", scope,
                 r->cell->parent, r->element, o->part[0] ? "/" : "", o->part, o->name, number_of(g, r, which));
        if (is_torch(g))
            host_of_op(g, r, o, which, start);
        task(g, path, o, start, duration);
    }
    r->first = r->busy == 0 ? start : r->first;
    r->last = start + duration;
    r->busy += duration;
    g->now = r->last + pause_of(g);
}

/* A change of layout that nothing hides, once in each direction. */
static void redistribute(generator *g, const run *r)
{
    if (g->s.redistribution <= 0 || r->index < 0)
        return;
    char name[96];
    int64_t start = g->now, end = start + g->s.redistribution;
    if (g->emit) {
        snprintf(name, sizeof name, "hcom_%s__55%d_%" PRId64 "_1", g->s.redistribute_to_all ? "alltoAll" : "allGather",
                 g->stage % 10, g->n_collectives++);
        collective(g, name, start, end);
    }
    g->now = end + pause_of(g);
}

/* The layer's module in the thread that runs it, around the operators of `r`. */
static void around(generator *g, const run *r)
{
    if (!g->emit || !is_torch(g) || r->busy == 0)
        return;
    module_item(g, TRACE_MODULE, r->element, r->first - 300, r->last + 300, r->direction == TRACE_FORWARD ? 1 : 2);
    if (r->direction == TRACE_RERUN)
        module_item(g, TRACE_RECOMPUTE, "torch/utils/checkpoint.py(1112): recompute_fn", r->first - 400, r->last + 400,
                    2);
}

static void walk_forward(generator *g, run *r, bool again_only)
{
    for (int i = 0; i < r->cell->n_forward; i++) {
        if (!again_only || r->cell->forward[i].again)
            walk_op(g, r, &r->cell->forward[i], i);
        if (!again_only && i == AFTER_ATTENTION)
            redistribute(g, r);
    }
    around(g, r);
}

/* Backward with single operators run again in between: their pieces do not count as backward. */
static void walk_spread(generator *g, run *r)
{
    run piece = *r;
    int64_t wall = 0, busy = 0;
    bool done[32] = {false};
    for (int i = 0; i < r->cell->n_backward; i++) {
        const op *o = &r->cell->backward[i];
        if (r->cell->forward[o->forward].again && !done[o->forward]) {
            piece.direction = TRACE_RERUN;
            piece.busy = 0;
            walk_op(g, &piece, &r->cell->forward[o->forward], o->forward);
            around(g, &piece);
            wall += piece.last - piece.first;
            busy += piece.busy;
            done[o->forward] = true;
        }
        walk_op(g, r, o, i);
    }
    record(g, &piece, wall, busy);
    record(g, r, r->last - r->first - wall, r->busy);
}

static void walk_backward(generator *g, run *r)
{
    trace_rerun rerun = rerun_of(g, r->index);
    if (rerun == TRACE_RERUN_SELECT && g->s.select_spread) {
        walk_spread(g, r);
        return;
    }
    if (rerun != TRACE_RERUN_NONE) {
        run again = *r;
        again.direction = TRACE_RERUN;
        walk_forward(g, &again, rerun == TRACE_RERUN_SELECT);
        record(g, &again, again.last - again.first, again.busy);
    }
    for (int i = 0; i < r->cell->n_backward; i++) {
        walk_op(g, r, &r->cell->backward[i], i);
        if (i == AFTER_ATTENTION)
            redistribute(g, r);
    }
    record(g, r, r->last - r->first, r->busy);
}

/* Stages are walked in turn and all layers occur in step 0, so those of a stage stay together. */
static trace_truth_layer *truth_of(generator *g, const char *element, int index, bool is_tail)
{
    trace_truth *t = g->truth;
    if (!t || !g->emit)
        return NULL;
    for (int i = 0; i < t->n_layers; i++)
        if (t->layer[i].stage == g->stage && strcmp(t->layer[i].name, element) == 0)
            return &t->layer[i];
    trace_truth_layer *more = realloc(t->layer, ((size_t)t->n_layers + 1) * sizeof *more);
    if (!more) {
        g->failed = true;
        return NULL;
    }
    t->layer = more;
    more[t->n_layers] = (trace_truth_layer){.stage = g->stage, .index = index, .is_tail = is_tail};
    snprintf(more[t->n_layers].name, sizeof more->name, "%s", element);
    return &more[t->n_layers++];
}

static void walk_cell(generator *g, const cell *c, int index, bool is_tail, const block *b)
{
    char element[64];
    if (is_torch(g))
        snprintf(element, sizeof element, "%s_%d", c->kind, index >= 0 ? index : 0);
    else if (index >= 0)
        snprintf(element, sizeof element, "%d-%s", index, c->kind);
    else
        snprintf(element, sizeof element, "%s", c->element);
    g->layer = truth_of(g, element, index, is_tail);
    run r = {c, element, index, b->micro_batch, b->backward ? TRACE_BACK : TRACE_FORWARD, 0, 0, 0};
    if (b->backward) {
        walk_backward(g, &r);
        if (index >= 0 && b->micro_batch == g->s.n_micro_batches - 1)
            g->reduced[g->replica * n_model_layers(g) + index] = r.last;
    } else {
        walk_forward(g, &r, false);
        record(g, &r, r.last - r.first, r.busy);
    }
}

/* The device waits for the host, which does something else. */
static void hold_up(generator *g, const block *b)
{
    const int n = g->s.n_gaps, of = g->s.n_micro_batches;
    if (g->s.gap <= 0 || b->backward || b->chunk > 0 || (b->micro_batch * n) % of >= (n < of ? n : of))
        return;
    if (g->emit)
        send_item(g, (trace_item){.kind = g->s.gap_is_synchronization ? TRACE_SYNCHRONIZE : TRACE_GC,
                                  .name = g->s.gap_is_synchronization ? "AscendCL@aclrtSynchronizeStream" : "Python GC",
                                  .thread = 1,
                                  .start = g->now,
                                  .duration = g->s.gap - HOST_AHEAD - US});
    g->now += g->s.gap;
}

/* All cells of a block from b->start on. @return its end. */
static int64_t walk_block(generator *g, const block *b, bool emit)
{
    int position = b->chunk * g->s.n_stages + g->stage;
    const int n_tail = COUNT(tail_cell), n = layers_at(g, position);
    bool ends = !g->s.bare && !g->s.no_ends;
    bool head = position == 0 && ends, tail = position == n_positions(g) - 1 && ends;
    g->emit = emit;
    g->now = b->start;
    hold_up(g, b);
    int64_t first = g->now;
    for (int i = 0; i < 1 + n + n_tail; i++) {
        int at = b->backward ? n + n_tail - i : i;
        if (at == 0 && head)
            walk_cell(g, &embedding_cell, -1, false, b);
        if (at >= 1 && at <= n) {
            int index = layer_index(g, b->chunk, at - 1);
            walk_cell(g, index < g->s.n_dense ? &dense_cell : &layer_cell, index, false, b);
        }
        if (at > n && tail)
            walk_cell(g, &tail_cell[at - n - 1], -1, true, b);
    }
    if (emit && is_torch(g) && !b->backward)
        module_item(g, TRACE_MODULE, "Model_0", first - 500, g->now - pause_of(g) + 500, 1);
    return g->now - pause_of(g);
}

/* ---- the order of blocks and their times ---- */

static int slot(const generator *g, int stage, int chunk, int micro_batch)
{
    return (stage * g->s.n_chunks + chunk) * g->s.n_micro_batches + micro_batch;
}

static block nth(const generator *g, int n, bool backward)
{
    int p = g->s.n_stages, v = g->s.n_chunks;
    int chunk = v == 1 ? 0 : n % (p * v) / p, micro_batch = v == 1 ? n : n / (p * v) * p + n % p;
    return (block){.chunk = backward ? v - 1 - chunk : chunk, .micro_batch = micro_batch, .backward = backward};
}

static void order_stage(generator *g, int stage)
{
    int p = g->s.n_stages, v = g->s.n_chunks, total = g->n_blocks / 2, forward = 0, backward = 0;
    int warm = v == 1 ? p - stage - 1 : 2 * (p - stage - 1) + (v - 1) * p;
    block *list = g->block + (size_t)stage * (size_t)g->n_blocks;
    for (int i = 0; i < g->n_blocks; i++) {
        bool is_backward = forward == total || (forward > warm && forward - backward > warm);
        list[i] = nth(g, is_backward ? backward++ : forward++, is_backward);
        int *index = is_backward ? g->of_backward : g->of_forward;
        index[slot(g, stage, list[i].chunk, list[i].micro_batch)] = i;
    }
}

/* The block with the result that `b` needs, NULL when it needs none. */
static const block *needed(const generator *g, int stage, const block *b)
{
    int position = b->chunk * g->s.n_stages + stage, from = b->backward ? position + 1 : position - 1;
    if (from < 0)
        return NULL;
    bool turn = from == n_positions(g);
    from = turn ? position : from;
    int s = from % g->s.n_stages, at = slot(g, s, from / g->s.n_stages, b->micro_batch);
    int index = b->backward && !turn ? g->of_backward[at] : g->of_forward[at];
    return &g->block[(size_t)s * (size_t)g->n_blocks + (size_t)index];
}

static bool sends(const generator *g, int stage, const block *b)
{
    int position = b->chunk * g->s.n_stages + stage;
    return g->s.n_stages > 1 && (b->backward ? position > 0 : position < n_positions(g) - 1);
}

static bool receives(const generator *g, int stage, const block *b)
{
    int position = b->chunk * g->s.n_stages + stage;
    return g->s.n_stages > 1 && (b->backward ? position < n_positions(g) - 1 : position > 0);
}

static bool put_block(generator *g, int stage, int i, int64_t start)
{
    block *list = g->block + (size_t)stage * (size_t)g->n_blocks, *b = &list[i];
    const block *from = needed(g, stage, b);
    if (from && from->end == 0)
        return false;
    b->ready = i ? list[i - 1].end : start;
    b->start = i ? b->ready + PAUSE : start;
    if (receives(g, stage, b)) {
        b->begun = i ? b->ready + 500 : start;
        b->received = from->sent > b->begun + LEAST_RECEIVE ? from->sent : b->begun + LEAST_RECEIVE;
        b->start = b->received + PAUSE;
    }
    g->stage = stage;
    b->end = walk_block(g, b, false);
    b->sent = sends(g, stage, b) ? b->end + 500 + SEND : 0;
    return true;
}

/* false: the blocks wait for one another. */
static bool put_in_time(generator *g, int64_t start)
{
    int done[256] = {0}, left = g->s.n_stages * g->n_blocks;
    for (bool moved = true; left > 0 && moved;) {
        moved = false;
        for (int s = 0; s < g->s.n_stages; s++)
            for (; done[s] < g->n_blocks && put_block(g, s, done[s], start); done[s]++, left--)
                moved = true;
    }
    return left == 0;
}

/* ---- one stage in one step ---- */

static int by_start(const void *a, const void *b)
{
    const span *x = a, *y = b;
    return (x->start > y->start) - (x->start < y->start);
}

static void merge(spans *set)
{
    int n = 0;
    if (set->n > 0)
        qsort(set->at, (size_t)set->n, sizeof *set->at, by_start);
    for (int i = 0; i < set->n; i++) {
        if (n && set->at[i].start <= set->at[n - 1].end)
            set->at[n - 1].end = set->at[i].end > set->at[n - 1].end ? set->at[i].end : set->at[n - 1].end;
        else
            set->at[n++] = set->at[i];
    }
    set->n = n;
}

static int64_t emit_span(generator *g, trace_item_kind kind, const char *name, int64_t start, int64_t end)
{
    if (end <= start)
        return 0;
    if (g->s.form != TRACE_TORCH)
        send_item(g, (trace_item){.kind = kind, .name = name, .start = start, .duration = end - start});
    return end - start;
}

/* Overlap Analysis, and the step's truth from the same intervals. */
static void emit_overlap(generator *g, trace_truth_step *t)
{
    spans *a = &g->computing, *b = &g->communication;
    merge(a);
    merge(b);
    for (int i = 0; i < a->n; i++)
        t->computing += emit_span(g, TRACE_COMPUTING, "Computing", a->at[i].start, a->at[i].end);
    for (int i = 0, j = 0; i < b->n; i++) {
        t->communication += emit_span(g, TRACE_COMMUNICATION, "Communication", b->at[i].start, b->at[i].end);
        int64_t from = b->at[i].start;
        while (j < a->n && a->at[j].end <= from)
            j++;
        for (int k = j; k < a->n && a->at[k].start < b->at[i].end; k++) {
            t->not_overlapped +=
                emit_span(g, TRACE_NOT_OVERLAPPED, "Communication(Not Overlapped)", from, a->at[k].start);
            from = a->at[k].end > from ? a->at[k].end : from;
        }
        t->not_overlapped += emit_span(g, TRACE_NOT_OVERLAPPED, "Communication(Not Overlapped)", from, b->at[i].end);
    }
    for (int i = 0; i < b->n; i++)
        push_span(g, a, b->at[i].start, b->at[i].end);
    merge(a);
    t->start = a->n ? a->at[0].start : 0;
    t->end = a->n ? a->at[a->n - 1].end : 0;
    for (int i = 1; i < a->n; i++)
        t->free += emit_span(g, TRACE_FREE, "Free", a->at[i - 1].end, a->at[i].start);
}

/* When the rank's blocks end, sends included. */
static int64_t end_of_blocks(const generator *g, int replica, int stage)
{
    const block *last = &blocks_of(g, replica)[(size_t)stage * (size_t)g->n_blocks + (size_t)g->n_blocks - 1];
    return last->sent > last->end ? last->sent : last->end;
}

/* Of a layer's gradients among the replicas. */
static int64_t transfer_of(const generator *g)
{
    if (g->s.gradient_transfer > 0)
        return g->s.gradient_transfer;
    return (int64_t)(100.0 * (g->s.scale > 0 ? g->s.scale : 1.0)) * US;
}

static const char *gradient_name(generator *g, char *name, size_t size)
{
    snprintf(name, size, "hcom_%s__1%02d_%" PRId64 "_1", g->s.scatter_gradients ? "reduceScatter" : "allReduce",
             g->stage % 100, g->n_collectives++);
    return name;
}

/* Each layer's gradients as soon as they are there, in the order in which they come: all replicas begin when they can
 * and end together. @return the end of the last. */
static int64_t hide_gradients(generator *g)
{
    const int n = n_model_layers(g), n_data = g->s.n_data;
    int64_t begun[256] = {0}, free_from = 0;
    char name[96];
    for (int chunk = g->s.n_chunks - 1; chunk >= 0; chunk--)
        for (int i = layers_at(g, chunk * g->s.n_stages + g->stage) - 1; i >= 0; i--) {
            int64_t latest = 0;
            for (int d = 0; d < n_data; d++) {
                int64_t ready = g->reduced[d * n + layer_index(g, chunk, i)] + 2 * US;
                begun[d] = ready > free_from ? ready : free_from;
                latest = begun[d] > latest ? begun[d] : latest;
            }
            free_from = latest + transfer_of(g);
            collective(g, gradient_name(g, name, sizeof name), begun[g->replica], free_from);
            free_from += 2 * US;
        }
    return free_from;
}

/* The same transfers, but all of them after the last block. */
static int64_t expose_gradients(generator *g)
{
    int64_t latest = 0, now = end_of_blocks(g, g->replica, g->stage) + PAUSE;
    char name[96];
    for (int d = 0; d < g->s.n_data; d++) {
        int64_t end = end_of_blocks(g, d, g->stage) + PAUSE;
        latest = end > latest ? end : latest;
    }
    for (int position = g->stage; position < n_positions(g); position += g->s.n_stages)
        for (int i = 0; i < layers_at(g, position); i++) {
            int64_t end = (latest > now ? latest : now) + transfer_of(g);
            collective(g, gradient_name(g, name, sizeof name), now, end);
            now = end + PAUSE;
        }
    return now;
}

static void emit_update(generator *g, int64_t end)
{
    static const op update = {"", "AdamWeightDecay", "AI_VECTOR_CORE", 800, 0, false};
    double scale = g->s.scale > 0 ? g->s.scale : 1.0;
    if (g->s.gradients && g->s.late_gradients) {
        end = expose_gradients(g);
    } else if (g->s.gradients) {
        int64_t reduced = hide_gradients(g);
        end = reduced > end ? reduced : end;
    } else {
        collective(g, "hcom_allReduce__123_0_1", end + PAUSE, end + PAUSE + 500 * US);
        end += 500 * US;
    }
    if (is_torch(g))
        launch(g, 1, end + 2 * US - HOST_AHEAD);
    task(g, "Default/optimizer-AdamW/AdamWeightDecay-op50", &update, end + 2 * US, (int64_t)(update.us * scale) * US);
}

/* One number for both sides of a transfer: of the direction, the position that receives it and the micro-batch. */
static int transfer_number(const generator *g, const block *b, int receiver)
{
    return (b->backward * n_positions(g) + receiver) * g->s.n_micro_batches + b->micro_batch;
}

static void emit_transfers(generator *g, const block *b, trace_truth_step *t)
{
    char name[96];
    if (b->received) {
        int number = transfer_number(g, b, b->chunk * g->s.n_stages + g->stage);
        snprintf(name, sizeof name, "hcom_receive__%d_%d_1", 700 + g->replica, number);
        t->n_receives++;
        collective(g, name, b->begun, b->received);
        t->receive += b->received - b->begun;
    }
}

static void emit_stage(generator *g, int stage, int64_t start, trace_truth_step *t)
{
    char name[96];
    const block *list = g->block + (size_t)stage * (size_t)g->n_blocks;
    g->stage = stage;
    g->computing.n = g->communication.n = 0;
    g->n_collectives = g->step * INT64_C(1000000);
    for (int i = 0; i < g->n_blocks; i++) {
        emit_transfers(g, &list[i], t);
        walk_block(g, &list[i], true);
        if (list[i].sent) {
            int position = list[i].chunk * g->s.n_stages + stage;
            int number = transfer_number(g, &list[i], list[i].backward ? position - 1 : position + 1);
            snprintf(name, sizeof name, "hcom_send__%d_%d_1", 700 + g->replica, number);
            t->n_sends++;
            collective(g, name, list[i].end + 500, list[i].sent);
            t->send += SEND;
        }
    }
    int64_t end = list[g->n_blocks - 1].sent > g->now ? list[g->n_blocks - 1].sent : g->now;
    if (!g->s.bare)
        emit_update(g, end);
    emit_overlap(g, t);
    t->host_start = start - PREPARING - g->s.data_wait;
    if (g->s.data_wait > 0)
        send_item(g, (trace_item){.kind = TRACE_DATA,
                                  .name = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__",
                                  .thread = 1,
                                  .start = t->host_start + US,
                                  .duration = g->s.data_wait});
    t->host_duration = t->end + 5 * US - t->host_start;
    snprintf(name, sizeof name, "ProfilerStep#%d", g->step);
    if (!g->s.no_step_marks)
        send_item(
            g,
            (trace_item){
                .kind = TRACE_STEP, .name = name, .thread = 1, .start = t->host_start, .duration = t->host_duration});
}

/* ---- all ---- */

static bool prepare(generator *g)
{
    trace_shape *s = &g->s;
    int *const sizes[] = {&s->n_stages, &s->n_micro_batches, &s->n_steps, &s->n_chunks,
                          &s->n_layers, &s->n_data,          &s->n_gaps};
    for (int i = 0; i < COUNT(sizes); i++)
        *sizes[i] = *sizes[i] > 0 ? *sizes[i] : 1;
    if (s->n_stages * s->n_data > 256 || s->n_layers > 4096 || s->n_micro_batches > 4096 ||
        (s->n_chunks > 1 && s->n_micro_batches % s->n_stages))
        return false;
    g->n_blocks = 2 * s->n_chunks * s->n_micro_batches;
    size_t n = (size_t)s->n_stages * (size_t)g->n_blocks;
    g->blocks = calloc((size_t)s->n_data * n, sizeof *g->blocks);
    g->reduced = calloc((size_t)s->n_data * (size_t)n_model_layers(g), sizeof *g->reduced);
    g->of_forward = calloc(n, sizeof *g->of_forward);
    g->of_backward = calloc(n, sizeof *g->of_backward);
    return g->blocks && g->reduced && g->of_forward && g->of_backward;
}

static bool make_truth(const generator *g, trace_truth *truth)
{
    truth->n_stages = g->s.n_stages;
    truth->n_steps = g->s.n_steps;
    truth->step = calloc((size_t)g->s.n_stages * (size_t)g->s.n_data * (size_t)g->s.n_steps, sizeof *truth->step);
    truth->period = calloc((size_t)g->s.n_steps, sizeof *truth->period);
    return truth->step && truth->period;
}

/* One step of all ranks. @return when the last one ends; -1: the blocks wait for one another. */
static int64_t run_step(generator *g, int64_t start)
{
    int64_t end = start;
    for (g->replica = 0; g->replica < g->s.n_data; g->replica++) {
        g->block = blocks_of(g, g->replica);
        for (int s = 0; s < g->s.n_stages; s++)
            order_stage(g, s);
        for (int i = 0; i < g->s.n_stages * g->n_blocks; i++)
            g->block[i].end = 0;
        if (!put_in_time(g, start))
            return -1;
    }
    for (int rank = 0; rank < g->s.n_stages * g->s.n_data; rank++) {
        trace_truth_step t = {0};
        g->replica = rank % g->s.n_data;
        g->block = blocks_of(g, g->replica);
        emit_stage(g, rank / g->s.n_data, start, &t);
        close_scopes(g, 0);
        end = t.end > end ? t.end : end;
        if (g->truth)
            g->truth->step[rank * g->s.n_steps + g->step] = t;
    }
    return end;
}

bool trace_generate(const trace_shape *shape, trace_sink *sink, void *user, trace_truth *truth)
{
    generator g = {.s = *shape, .sink = sink, .user = user, .truth = truth};
    if (truth)
        *truth = (trace_truth){0};
    bool done = prepare(&g) && (!truth || make_truth(&g, truth));
    int64_t start = EPOCH + PREPARING + shape->data_wait;
    for (g.step = 0; g.step < g.s.n_steps && done && !g.failed; g.step++) {
        int64_t end = run_step(&g, start);
        done = end >= 0;
        int64_t next = end + STEP_PAUSE + PREPARING + shape->data_wait;
        if (done && truth)
            truth->period[g.step] = next - start;
        start = next;
    }
    free(g.blocks);
    free(g.reduced);
    free(g.of_forward);
    free(g.of_backward);
    free(g.computing.at);
    free(g.communication.at);
    if (truth && (!done || g.failed))
        trace_truth_clear(truth);
    return done && !g.failed;
}

void trace_truth_clear(trace_truth *truth)
{
    for (int i = 0; i < truth->n_layers; i++)
        for (int d = 0; d < TRACE_N_DIRECTIONS; d++)
            free(truth->layer[i].execution[d]);
    free(truth->layer);
    free(truth->step);
    free(truth->period);
    *truth = (trace_truth){0};
}

/* ---- files ---- */

typedef struct writer {
    const trace_shape *shape;
    FILE *file[256];
    bool any[256];
    trace_item called[256]; /* of each rank: the host's last operator */
} writer;

static void put_text(FILE *f, const char *text)
{
    fputc('"', f);
    for (; *text; text++)
        fprintf(f, *text == '"' || *text == '\\' ? "\\%c" : "%c", *text);
    fputc('"', f);
}

static void put_us(FILE *f, int64_t ns)
{
    fprintf(f, "%" PRId64 ".%03d", ns / US, (int)(ns % US));
}

static FILE *begin_event(writer *w, int stage)
{
    FILE *f = w->file[stage];
    if (w->any[stage])
        fputs(", ", f);
    w->any[stage] = true;
    return f;
}

enum { PID_PYTHON = 4096000, PID_CANN = 4096032, PID_DEVICE = 4096416, PID_HCCL = 4096480, PID_OVERLAP = 4096736 };

/* An arrow's end; ids of async_npu are as large as nanoseconds of the epoch. */
static void put_arrow(writer *w, const trace_item *item, char phase, const char *name, const char *category, int pid,
                      int tid, int64_t start, int64_t id)
{
    FILE *f = begin_event(w, item->rank);
    fprintf(f,
            "{\"ph\": \"%c\", \"bp\": \"e\", \"name\": \"%s\", \"id\": %" PRId64
            ", \"pid\": %d, \"tid\": %d, \"ts\": \"",
            phase, name, id, pid, tid);
    put_us(f, start);
    fprintf(f, "\", \"cat\": \"%s\"}", category);
}

/* MindSpore's host launches the operator and an arrow leads from there to the kernel. */
static void write_host_launch(writer *w, const trace_item *item)
{
    FILE *f = begin_event(w, item->rank);
    fputs("{\"ph\": \"X\", \"name\": \"KernelMod::Launch::", f);
    for (const char *c = item->operator_name; *c; c++)
        fputc(*c, f);
    fputs("\", \"pid\": 1, \"tid\": 4001, \"ts\": \"", f);
    put_us(f, item->start - HOST_AHEAD);
    fputs("\", \"dur\": \"0.800\", \"cat\": \"\", \"args\": {}}", f);
    put_arrow(w, item, 's', "mindspore_to_npu", "async_npu", 1, 4001, item->start - HOST_AHEAD, EPOCH + item->id);
    put_arrow(w, item, 'f', "mindspore_to_npu", "async_npu", PID_DEVICE, 2, item->start, EPOCH + item->id);
}

/* Those of CANN and of the device end with it. */
static void put_cann(writer *w, const trace_item *item, const char *name, int pid, int tid, int64_t start,
                     int64_t duration, const char *type)
{
    FILE *f = begin_event(w, item->rank);
    fputs("{\"name\": ", f);
    put_text(f, name);
    fprintf(f, ", \"pid\": %d, \"tid\": %d, \"ts\": \"", pid, tid);
    put_us(f, start);
    fputs("\", \"dur\": ", f);
    put_us(f, duration);
    if (type)
        fprintf(
            f,
            ", \"args\": {\"Model Id\": 4294967295, \"Task Type\": \"%s\", \"Physic Stream Id\": 2, \"Task Id\": 9, "
            "\"connection_id\": %" PRId64 "}",
            type, item->id);
    else if (item->id)
        fprintf(f, ", \"args\": {\"connection_id\": %" PRId64 "}", item->id);
    fputs(", \"ph\": \"X\"}", f);
}

/* CANN's own launch of the task, when MindSpore's profiler was set to keep the host's side. */
static void write_node_launch(writer *w, const trace_item *item)
{
    int64_t start = item->start - (w->shape->dispatch > 0 ? LATE_LAUNCH : HOST_AHEAD);
    int pid = item->kind == TRACE_TASK ? PID_DEVICE : PID_HCCL, tid = item->kind == TRACE_TASK ? 2 : 0;
    put_cann(w, item, "Node@launch", PID_CANN, 3, start, 400, NULL);
    put_arrow(w, item, 's', "HostToDevice", "HostToDevice", PID_CANN, 3, start, item->id);
    put_arrow(w, item, 'f', "HostToDevice", "HostToDevice", pid, tid, item->start, item->id);
}

static void write_mindspore(void *user, const trace_item *item)
{
    writer *w = user;
    static const struct {
        int pid, tid;
    } place[] = {
        [TRACE_STEP] = {1, 4000},
        [TRACE_TASK] = {PID_DEVICE, 2},
        [TRACE_COLLECTIVE] = {PID_HCCL, 0},
        [TRACE_COMPUTING] = {PID_OVERLAP, 0},
        [TRACE_COMMUNICATION] = {PID_OVERLAP, 1},
        [TRACE_NOT_OVERLAPPED] = {PID_OVERLAP, 2},
        [TRACE_FREE] = {PID_OVERLAP, 3},
        [TRACE_SCOPE] = {3, 0},
        [TRACE_DATA] = {1, 4000},
    };
    if (item->kind == TRACE_SYNCHRONIZE) {
        put_cann(w, item, item->name, PID_CANN, 3, item->start, item->duration, NULL);
        return;
    }
    if (item->kind > TRACE_SCOPE && item->kind != TRACE_DATA)
        return;
    if (item->kind == TRACE_TASK && w->shape->names_on_host)
        write_host_launch(w, item);
    if (w->shape->launches && (item->kind == TRACE_TASK || item->kind == TRACE_COLLECTIVE))
        write_node_launch(w, item);
    FILE *f = begin_event(w, item->rank);
    fputs("{\"ph\": \"X\", \"name\": ", f);
    put_text(f, item->kind == TRACE_DATA ? "PyNative::GetNext::GetNext-op0" : item->name);
    fprintf(f, ", \"pid\": %d, \"tid\": %d, \"ts\": \"", place[item->kind].pid,
            item->kind == TRACE_SCOPE ? item->thread : place[item->kind].tid);
    put_us(f, item->start);
    fputs("\", \"dur\": \"", f);
    put_us(f, item->duration);
    fputs("\", \"cat\": \"\", \"args\": {", f);
    if (item->kind == TRACE_TASK) {
        fprintf(f,
                "\"Model Id\": 4294967295, \"Task Type\": \"%s\", \"Physic Stream Id\": 2, \"connection_id\": %" PRId64,
                item->task_type, item->id);
        if (item->operator_name && !w->shape->names_on_host) {
            fputs(", \"mindspore_op\": ", f);
            put_text(f, item->operator_name);
        }
    } else if (item->kind == TRACE_COLLECTIVE) {
        fprintf(
            f, "\"connection_id\": %" PRId64 ", \"model id\": 4294967295, \"data_type\": \"BFP16\", \"count\": 4194304",
            item->id);
    }
    fputs("}}", f);
}

static void write_torch(void *user, const trace_item *item)
{
    writer *w = user;
    static const char *const category[] = {
        [TRACE_STEP] = "user_annotation",      [TRACE_TASK] = "kernel",
        [TRACE_COLLECTIVE] = "kernel",         [TRACE_MODULE] = "python_function",
        [TRACE_RECOMPUTE] = "python_function", [TRACE_HOST_OP] = "cpu_op",
        [TRACE_BACKWARD] = "cpu_op",           [TRACE_LAUNCH] = "cuda_runtime",
        [TRACE_FLOW_START] = "fwdbwd",         [TRACE_FLOW_END] = "fwdbwd",
        [TRACE_DATA] = "user_annotation",      [TRACE_GC] = "python_function",
        [TRACE_SYNCHRONIZE] = "cuda_runtime",
    };
    if (!category[item->kind])
        return;
    bool device = item->kind == TRACE_TASK || item->kind == TRACE_COLLECTIVE;
    bool flow = item->kind == TRACE_FLOW_START || item->kind == TRACE_FLOW_END;
    FILE *f = begin_event(w, item->rank);
    fprintf(f, "{\"ph\": \"%s\", \"cat\": \"%s\", \"name\": ",
            item->kind == TRACE_FLOW_START ? "s"
            : item->kind == TRACE_FLOW_END ? "f"
                                           : "X",
            category[item->kind]);
    char name[256];
    snprintf(name, sizeof name, "%s%s",
             item->kind == TRACE_MODULE       ? "nn.Module: "
             : item->kind == TRACE_COLLECTIVE ? "ncclDevKernel_"
                                              : "",
             item->kind == TRACE_SYNCHRONIZE ? "cudaStreamSynchronize" : item->name);
    put_text(f, name);
    fprintf(f, ", \"pid\": %d, \"tid\": %d, \"ts\": ", device ? 0 : 700,
            device ? (item->kind == TRACE_TASK ? 7 : 20) : 700 + item->thread);
    put_us(f, item->start);
    if (!flow) {
        fputs(", \"dur\": ", f);
        put_us(f, item->duration);
    } else {
        fprintf(f, ", \"id\": %" PRId64 "%s", item->id, item->kind == TRACE_FLOW_END ? ", \"bp\": \"e\"" : "");
    }
    if (device)
        fprintf(f, ", \"args\": {\"device\": 0, \"stream\": %d, \"correlation\": %" PRId64 "}",
                item->kind == TRACE_TASK ? 7 : 20, item->id);
    else if (item->kind == TRACE_LAUNCH)
        fprintf(f, ", \"args\": {\"correlation\": %" PRId64 "}", item->id);
    else if (item->kind == TRACE_BACKWARD)
        fputs(", \"args\": {\"Fwd thread id\": 1, \"Sequence number\": 7}", f);
    fputs("}", f);
}

/* ---- torch_npu ---- */

/* Host events begin with "ph". */
static void put_host(writer *w, const trace_item *item, const char *category, const char *before, int tid)
{
    FILE *f = begin_event(w, item->rank);
    char name[256];
    fputs("{\"ph\": \"X\", \"name\": ", f);
    snprintf(name, sizeof name, "%s%s", before, item->name);
    put_text(f, name);
    fprintf(f, ", \"pid\": %d, \"tid\": %d, \"ts\": \"", PID_PYTHON, tid);
    put_us(f, item->start);
    fputs("\", \"dur\": ", f);
    put_us(f, item->duration);
    fprintf(f, ", \"cat\": \"%s\", \"args\": {%s}}", category,
            item->kind == TRACE_BACKWARD ? "\"Sequence number\": 7, \"Fwd thread id\": 1" : "");
}

/* The operator called last puts the kernel into the queue, another thread takes it out and launches it. */
static void write_launch(writer *w, const trace_item *item)
{
    const trace_item *call = &w->called[item->rank];
    bool called = call->name && call->thread == item->thread && call->start <= item->start &&
                  item->start <= call->start + call->duration;
    trace_item queue = *item;
    queue.name = "Enqueue";
    put_host(w, &queue, "enqueue", "", item->thread);
    put_arrow(w, item, 's', "enqueue_to_dequeue", "async_task_queue", PID_PYTHON, item->thread, item->start, item->id);
    queue.name = "Dequeue@kernel";
    queue.start += 1500;
    put_host(w, &queue, "dequeue", "", 3);
    put_arrow(w, item, 'f', "enqueue_to_dequeue", "async_task_queue", PID_PYTHON, 3, queue.start, item->id);
    put_cann(w, item, "Node@launch", PID_CANN, 3, queue.start + 200, 400, NULL);
    put_arrow(w, item, 's', "HostToDevice", "HostToDevice", PID_CANN, 3, queue.start + 200, item->id);
    put_arrow(w, item, 's', "torch_to_npu", "async_npu", PID_PYTHON, item->thread, called ? call->start : item->start,
              EPOCH + item->id);
}

static void write_device(writer *w, const trace_item *item)
{
    bool task = item->kind == TRACE_TASK;
    int pid = task ? PID_DEVICE : PID_HCCL, tid = task ? 2 : 0;
    /* Vector kernels are AI_CORE in this file. */
    const char *type = !task ? NULL : strcmp(item->task_type, "AI_VECTOR_CORE") == 0 ? "AI_CORE" : item->task_type;
    put_cann(w, item, item->name, pid, tid, item->start, item->duration, type);
    put_arrow(w, item, 'f', "HostToDevice", "HostToDevice", pid, tid, item->start, item->id);
    put_arrow(w, item, 'f', "torch_to_npu", "async_npu", pid, tid, item->start, EPOCH + item->id);
}

static void write_torch_npu(void *user, const trace_item *item)
{
    writer *w = user;
    switch (item->kind) {
    case TRACE_STEP:
    case TRACE_DATA:
    case TRACE_GC:
        put_host(w, item, "cpu_op", "", item->thread);
        break;
    case TRACE_SYNCHRONIZE:
        put_cann(w, item, item->name, PID_CANN, 3, item->start, item->duration, NULL);
        break;
    case TRACE_MODULE:
        put_host(w, item, "python_function", "nn.Module: ", item->thread);
        break;
    case TRACE_RECOMPUTE:
        put_host(w, item, "python_function", "", item->thread);
        break;
    case TRACE_HOST_OP:
    case TRACE_BACKWARD:
        put_host(w, item, "cpu_op", "", item->thread);
        w->called[item->rank] = *item;
        w->called[item->rank].name = "operator";
        break;
    case TRACE_LAUNCH:
        write_launch(w, item);
        break;
    case TRACE_FLOW_START:
    case TRACE_FLOW_END:
        put_arrow(w, item, item->kind == TRACE_FLOW_START ? 's' : 'f', "fwdbwd", "fwdbwd", PID_PYTHON, item->thread,
                  item->start, item->id);
        break;
    case TRACE_TASK:
    case TRACE_COLLECTIVE:
        write_device(w, item);
        break;
    case TRACE_COMPUTING:
    case TRACE_COMMUNICATION:
    case TRACE_NOT_OVERLAPPED:
    case TRACE_FREE:
        put_cann(w, item, item->name, PID_OVERLAP, (int)(item->kind - TRACE_COMPUTING), item->start, item->duration,
                 NULL);
        break;
    case TRACE_SCOPE:
        break;
    }
}

static void write_metadata(FILE *f, trace_form form)
{
    const struct {
        int pid;
        const char *name, *label;
    } process[] = {{form == TRACE_MINDSPORE ? 1 : PID_PYTHON, form == TRACE_MINDSPORE ? "MindSpore" : "Python", "CPU"},
                   {form == TRACE_MINDSPORE ? 3 : PID_CANN, form == TRACE_MINDSPORE ? "Scope Layer" : "CANN", "CPU"},
                   {PID_DEVICE, "Ascend Hardware", "NPU"},
                   {PID_HCCL, "HCCL", "NPU"},
                   {PID_OVERLAP, "Overlap Analysis", "NPU"},
                   {PID_CANN, "CANN", "CPU"}};
    const int n = form == TRACE_MINDSPORE ? COUNT(process) : COUNT(process) - 1;
    for (int i = 0; i < n; i++)
        fprintf(
            f,
            "%s{\"ph\": \"M\", \"name\": \"process_name\", \"pid\": %d, \"tid\": 0, \"args\": {\"name\": \"%s\"}}, "
            "{\"ph\": \"M\", \"name\": \"process_labels\", \"pid\": %d, \"tid\": 0, \"args\": {\"labels\": \"%s\"}}",
            i ? ", " : "", process[i].pid, process[i].name, process[i].pid, process[i].label);
    static const struct {
        int pid, tid;
        const char *name;
    } thread[] = {{PID_DEVICE, 2, "Stream 2"},
                  {PID_HCCL, 0, "Group 0 Communication"},
                  {PID_OVERLAP, 0, "Computing"},
                  {PID_OVERLAP, 1, "Communication"},
                  {PID_OVERLAP, 2, "Communication(Not Overlapped)"},
                  {PID_OVERLAP, 3, "Free"}};
    for (int i = 0; i < COUNT(thread); i++)
        fprintf(f,
                ", {\"ph\": \"M\", \"name\": \"thread_name\", \"pid\": %d, \"tid\": %d, \"args\": {\"name\": \"%s\"}}",
                thread[i].pid, thread[i].tid, thread[i].name);
}

void trace_file(const trace_shape *shape, const char *folder, int stage, char *path, size_t size)
{
    if (shape->form == TRACE_TORCH)
        snprintf(path, size, "%s/rank_%d.json", folder, stage);
    else
        snprintf(path, size, "%s/rank_%d_ascend_%s/ASCEND_PROFILER_OUTPUT/trace_view.json", folder, stage,
                 shape->form == TRACE_MINDSPORE ? "ms" : "pt");
}

static FILE *open_stage(const trace_shape *shape, const char *folder, int stage)
{
    char path[4096];
    const char *framework = shape->form == TRACE_MINDSPORE ? "ms" : "pt";
    if (shape->form != TRACE_TORCH) {
        snprintf(path, sizeof path, "%s/rank_%d_ascend_%s", folder, stage, framework);
        mkdir(path, 0777);
        snprintf(path, sizeof path, "%s/rank_%d_ascend_%s/profiler_info_%d.json", folder, stage, framework, stage);
        FILE *info = fopen(path, "w");
        if (!info)
            return NULL;
        fprintf(info, "{\"rank_id\": \"%d\"}\n", stage);
        fclose(info);
        snprintf(path, sizeof path, "%s/rank_%d_ascend_%s/ASCEND_PROFILER_OUTPUT", folder, stage, framework);
        mkdir(path, 0777);
    }
    trace_file(shape, folder, stage, path, sizeof path);
    return fopen(path, "w");
}

void trace_remove(trace_form form, const char *folder, int stage)
{
    const trace_shape shape = {.form = form};
    const char *framework = form == TRACE_MINDSPORE ? "ms" : "pt";
    char path[4096];
    trace_file(&shape, folder, stage, path, sizeof path);
    unlink(path);
    if (form == TRACE_TORCH)
        return;
    snprintf(path, sizeof path, "%s/rank_%d_ascend_%s/ASCEND_PROFILER_OUTPUT", folder, stage, framework);
    rmdir(path);
    snprintf(path, sizeof path, "%s/rank_%d_ascend_%s/profiler_info_%d.json", folder, stage, framework, stage);
    unlink(path);
    snprintf(path, sizeof path, "%s/rank_%d_ascend_%s", folder, stage, framework);
    rmdir(path);
}

bool trace_write(const trace_shape *shape, const char *folder, trace_truth *truth)
{
    writer w = {.shape = shape};
    int n = (shape->n_stages > 0 ? shape->n_stages : 1) * (shape->n_data > 0 ? shape->n_data : 1);
    bool done = n <= COUNT(w.file);
    for (int s = 0; s < n && done; s++) {
        w.file[s] = open_stage(shape, folder, s);
        done = w.file[s] != NULL;
        if (!done)
            break;
        if (shape->form == TRACE_TORCH) {
            fprintf(w.file[s],
                    "{\"schemaVersion\": 1, \"distributedInfo\": {\"backend\": \"nccl\", \"rank\": %d, "
                    "\"world_size\": %d}, \"traceEvents\": [",
                    s, n);
        } else {
            fputc('[', w.file[s]);
            write_metadata(w.file[s], shape->form);
            w.any[s] = true;
        }
    }
    static trace_sink *const write_form[] = {
        [TRACE_MINDSPORE] = write_mindspore, [TRACE_TORCH] = write_torch, [TRACE_TORCH_NPU] = write_torch_npu};
    done = done && trace_generate(shape, write_form[shape->form], &w, truth);
    for (int s = 0; s < n && s < COUNT(w.file); s++) {
        if (!w.file[s])
            continue;
        fputs(shape->form == TRACE_TORCH ? "]}" : "]", w.file[s]);
        done = !ferror(w.file[s]) && done;
        done = fclose(w.file[s]) == 0 && done;
    }
    return done;
}
