/* Simulates the allocator of a stage: static tensors first, then every event of every block in running order, each
 * request passed to rules.allocation as the framework would make it. Nothing is summed up, since a tensor's address
 * depends on all earlier requests; only rounds that end in their initial state are skipped.
 *
 * Programs are turned into requests once: a list of sizes and result slots, so that the walk over a step is one loop.
 * Border tensors and saved activations have their slots in a frame for each chunk and micro-batch; tensors of one part
 * share a frame. The order of static requests is assumed: the weights of all layers, the optimizer's states, gradient
 * buffers, then weights gathered for the step, which are not in a pool of parameters. The order of a Megatron job is
 * known (start.h): some of its requests come during and after the first step, so two steps are simulated, and for
 * several ranks, which differ in them. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "memory/allocator.h"
#include "memory/period.h"
#include "memory/pieces.h"
#include "memory/program.h"
#include "memory/start.h"

/* The slot of a request's result. */
enum { AREA_PART, AREA_BORDER, AREA_BORDER_GRADIENT, AREA_KEPT, AREA_FOREVER, N_AREAS };

typedef struct request {
    int64_t bytes;
    int32_t at; /* in its area */
    int16_t area;
    bool gives;
} request;

/* A program's parts as requests. */
typedef struct code {
    int n_kept, n_within; /* slots it needs in AREA_KEPT, and in AREA_PART */
    int n[EK_N_BLOCK_KINDS];
    request *request[EK_N_BLOCK_KINDS];
} code;

/* A chunk of the stage. */
typedef struct chunk {
    const ek__chunk_programs *programs;
    int cell, before, behind; /* chunks of this stage with its input and for its output; -1 */
    int *kept_at;             /* [n + 1] first slot of an entry in AREA_KEPT */
    bool seen[EK_N_BLOCK_KINDS];
    size_t frame_size; /* of one copy */
    int32_t **frame;   /* [micro-batches] copies in succession, then the mask; NULL: not begun yet, or finished */
} chunk;

/* A micro-batch of a chunk that is running. */
typedef struct begun {
    int chunk;
    uint32_t micro_batch;
    int32_t *frame;
} begun;

typedef struct placer {
    const ek_job *job;
    const ek__job_programs *programs;
    int stage, n_chunks, n_copies, n_micro_batches;
    const ek__stop *stop;
    bool stopped;  /* by the clock */
    int64_t below; /* of a negative sum of the rules' additions: not a tensor */
    const ek__allocator_kind *kind;
    ek__allocator *allocator;
    code *code;       /* [n_programs] */
    int32_t *within;  /* AREA_PART */
    int32_t *forever; /* AREA_FOREVER, never read */
    chunk *chunk;     /* [n_chunks] */
    size_t n_begun;
    begun *begun;         /* [n_chunks x micro-batches] in the order of their beginnings */
    ek__numbers was, now; /* states between blocks */
    size_t n_requests;    /* of this step */
    ek__start start;      /* of a Megatron job */
    int64_t gathered;     /* bytes of all weights gathered for the step, which are one tensor */
    ek_error *err;
} placer;

static ek_status no_room(const placer *p)
{
    return ek__no_memory(p->err);
}

static ek_status take(placer *p, int64_t bytes, bool persistent, int32_t *out)
{
    if (bytes <= 0)
        return EK_OK;
    *out = p->kind->take(p->allocator, bytes, persistent);
    return *out < 0 ? no_room(p) : EK_OK;
}

/* Figures never decrease. One that needs planning is not computed before the end. */
static bool is_beyond(const placer *p)
{
    return p->stop && p->stop->most > 0 && p->kind->state && p->kind->actual(p->allocator) + p->below > p->stop->most;
}

static bool is_over(placer *p)
{
    p->stopped = p->stopped || (p->stop && p->stop->over && p->stop->over(p->stop->user));
    assert(p->below <= 0);
    return p->stopped || is_beyond(p);
}

/* ---- programs as requests ---- */

static request request_of(const ek__program *program, int buffer, const int32_t *kept_at, bool gives)
{
    assert(buffer >= 0 && buffer < program->n_buffers && program->buffer[buffer].bytes % EK__ALIGNMENT == 0);
    const ek__buffer *b = &program->buffer[buffer];
    request r = {.bytes = b->bytes, .at = buffer, .area = AREA_PART, .gives = gives};
    if (b->what == EK__CLASS_BORDER) {
        bool gradient = buffer == EK__BUFFER_OUTPUT_GRADIENT || buffer == EK__BUFFER_INPUT_GRADIENT;
        r.area = gradient ? AREA_BORDER_GRADIENT : AREA_BORDER;
        r.at = buffer == EK__BUFFER_OUTPUT || buffer == EK__BUFFER_OUTPUT_GRADIENT;
    } else if (b->what == EK__CLASS_KEPT) {
        r.area = AREA_KEPT;
        r.at = kept_at[buffer];
    } else if (b->what == EK__CLASS_GRADIENT) {
        r.area = AREA_FOREVER;
    }
    return r;
}

static ek_status make_code(placer *p, const ek__program *program, code *out)
{
    int32_t *kept_at = ek__alloc((size_t)program->n_buffers, sizeof *kept_at);
    bool fine = kept_at != NULL;
    for (int b = 0; fine && b < program->n_buffers; b++)
        if (program->buffer[b].what == EK__CLASS_KEPT)
            kept_at[b] = out->n_kept++;
    out->n_within = program->n_buffers;
    for (int k = 0; fine && k < EK_N_BLOCK_KINDS; k++) {
        out->request[k] = ek__alloc((size_t)program->n_events[k], sizeof *out->request[k]);
        fine = out->request[k] != NULL;
        for (int e = 0; fine && e < program->n_events[k]; e++) {
            int event = program->event[k][e], buffer = event > 0 ? event - 1 : -event - 1;
            if (program->buffer[buffer].bytes > 0)
                out->request[k][out->n[k]++] = request_of(program, buffer, kept_at, event < 0);
        }
    }
    free(kept_at);
    return fine ? EK_OK : no_room(p);
}

/* Only the programs of this stage: a job may have many of other stages. */
static ek_status find_code(placer *p, const ek__program *program, const code **out)
{
    assert(program->number >= 0 && program->number < p->programs->n_programs);
    code *c = &p->code[program->number];
    *out = c;
    return c->n_within > 0 ? EK_OK : make_code(p, program, c);
}

/* ---- chunks ---- */

/* Slots of each entry: the maximum over the programs that run there. */
static ek_status lay_out_frame(placer *p, chunk *c)
{
    int n = c->programs->n;
    int *needed = c->kept_at;
    for (int k = 0; k < EK_N_BLOCK_KINDS; k++)
        for (int i = 0; i < c->programs->n_runs[k]; i++) {
            const ek__run *run = &c->programs->run[k][i];
            const code *code_of_run;
            ek_status status = find_code(p, run->program, &code_of_run);
            if (status)
                return status;
            assert(run->entry >= 0 && run->entry < n);
            if (code_of_run->n_kept > needed[run->entry + 1])
                needed[run->entry + 1] = code_of_run->n_kept;
        }
    for (int e = 0; e < n; e++)
        needed[e + 1] += needed[e];
    c->frame_size = 2 * ((size_t)n + 1) + (size_t)needed[n]; /* borders, their gradients, then kept tensors */
    return EK_OK;
}

static int position_of(const placer *p, int cell)
{
    assert(cell >= 0 && cell < p->programs->n_cells);
    /* The placement's map is its own inverse. */
    return ek_cell_at(p->job->schedule->placement, p->job->plan.n_stages, cell);
}

/* Chunks of this stage with neighbours in the model on the same stage. Only if micro-batches run in one direction. */
static void link_chunks(placer *p)
{
    bool both_ways = p->job->schedule->placement == EK_PLACE_BOTH_WAYS;
    for (int i = 0; i < p->n_chunks; i++) {
        p->chunk[i].before = p->chunk[i].behind = -1;
        for (int j = 0; j < p->n_chunks && !both_ways; j++) {
            int step = position_of(p, p->chunk[j].cell) - position_of(p, p->chunk[i].cell);
            if (step == 1)
                p->chunk[i].behind = j;
            else if (step == -1)
                p->chunk[i].before = j;
        }
    }
}

static ek_status make_chunks(placer *p)
{
    p->chunk = ek__alloc((size_t)p->n_chunks, sizeof *p->chunk);
    p->code = ek__alloc((size_t)p->programs->n_programs, sizeof *p->code);
    if (!p->chunk || !p->code)
        return no_room(p);
    ek_status status = EK_OK;
    for (int i = 0; i < p->n_chunks && !status; i++) {
        chunk *c = &p->chunk[i];
        c->cell = ek__stage_cell(p->job, p->stage, i);
        c->programs = &p->programs->chunk[c->cell];
        c->kept_at = ek__alloc((size_t)c->programs->n + 1, sizeof *c->kept_at);
        c->frame = ek__alloc((size_t)p->n_micro_batches, sizeof *c->frame);
        status = c->kept_at && c->frame ? lay_out_frame(p, c) : no_room(p);
    }
    int most = 1;
    for (int i = 0; i < p->programs->n_programs; i++)
        most = p->code[i].n_within > most ? p->code[i].n_within : most;
    p->within = ek__alloc((size_t)most, sizeof *p->within);
    p->forever = ek__alloc((size_t)most, sizeof *p->forever);
    p->begun = ek__alloc((size_t)p->n_chunks * (size_t)p->n_micro_batches, sizeof *p->begun);
    if (!p->within || !p->forever || !p->begun)
        return no_room(p);
    link_chunks(p);
    return status;
}

static int n_borders(const chunk *c)
{
    return c->programs->n + 1;
}

/* ---- blocks ---- */

static size_t frame_places(const placer *p, const chunk *c)
{
    return c->frame_size * (size_t)p->n_copies + 1;
}

/* A micro-batch's frame, with empty slots. */
static ek_status begin_frame(placer *p, int i, uint32_t micro_batch)
{
    const chunk *c = &p->chunk[i];
    size_t n = frame_places(p, c);
    int32_t *frame = ek__alloc(n, sizeof *frame);
    if (!frame)
        return no_room(p);
    memset(frame, -1, n * sizeof *frame);
    assert(!c->frame[micro_batch] && p->n_begun < (size_t)p->n_chunks * (size_t)p->n_micro_batches);
    c->frame[micro_batch] = frame;
    p->begun[p->n_begun++] = (begun){i, micro_batch, frame};
    return EK_OK;
}

/* Has everything in the frame been released or passed on? For asserts. */
__attribute__((unused)) static bool is_empty(const placer *p, const chunk *c, const int32_t *frame)
{
    for (size_t k = 0; k < frame_places(p, c); k++)
        if (frame[k] >= 0)
            return false;
    return true;
}

/* After its last block. */
static void end_frame(placer *p, int i, uint32_t micro_batch)
{
    size_t at = 0;
    assert(is_empty(p, &p->chunk[i], p->chunk[i].frame[micro_batch]));
    while (p->begun[at].chunk != i || p->begun[at].micro_batch != micro_batch) {
        at++;
        assert(at < p->n_begun);
    }
    memmove(&p->begun[at], &p->begun[at + 1], (--p->n_begun - at) * sizeof *p->begun);
    free(p->chunk[i].frame[micro_batch]);
    p->chunk[i].frame[micro_batch] = NULL;
}

static int32_t *frame_of(const placer *p, int i, uint32_t micro_batch, int copy)
{
    const chunk *c = &p->chunk[i];
    assert(i >= 0 && i < p->n_chunks && c->frame[micro_batch] && copy >= 0 && copy <= p->n_copies);
    return c->frame[micro_batch] + c->frame_size * (size_t)copy;
}

/* Released tensors clear their slots, so that a frame's slots are the live tensors. */
static void give(placer *p, int32_t *place)
{
    assert(*place >= 0);
    p->kind->give(p->allocator, *place);
    *place = -1;
}

static void move(int32_t *from, int32_t *to)
{
    assert(*to < 0);
    *to = *from;
    *from = -1;
}

static ek_status run_part(placer *p, chunk *c, const ek__run *run, int32_t *frame, bool first)
{
    const code *program = &p->code[run->program->number];
    int32_t *area[N_AREAS] = {
        [AREA_PART] = p->within,
        [AREA_BORDER] = frame + run->entry,
        [AREA_BORDER_GRADIENT] = frame + n_borders(c) + run->entry,
        [AREA_KEPT] = frame + 2 * n_borders(c) + c->kept_at[run->entry],
        [AREA_FOREVER] = p->forever,
    };
    const ek__allocator_kind *kind = p->kind;
    ek__allocator *allocator = p->allocator;
    const request *end = program->request[run->part] + program->n[run->part];
    p->n_requests += (size_t)program->n[run->part];
    for (const request *r = program->request[run->part]; r < end; r++) {
        int32_t *at = area[r->area] + r->at;
        if (r->gives) {
            assert(*at >= 0);
            kind->give(allocator, *at);
            *at = -1;
        } else if (r->area != AREA_FOREVER || first) {
            assert(*at < 0 || r->area == AREA_PART || r->area == AREA_FOREVER);
            *at = kind->take(allocator, r->bytes, false);
            if (*at < 0)
                return no_room(p);
        }
    }
    if (run->drops_output && p->programs->border > 0)
        give(p, &frame[run->entry + 1]);
    return EK_OK;
}

/* The input tensor of a block: received, or left by the previous chunk on this stage. */
static ek_status begin_copy(placer *p, int i, const ek_block *block, int copy, int32_t *frame)
{
    const chunk *c = &p->chunk[i];
    if (block->kind == EK_FORWARD && c->programs->receives)
        return take(p, p->programs->border, false, &frame[0]);
    if (block->kind == EK_BACKWARD && c->programs->sends)
        return take(p, p->programs->border_gradient, false, &frame[n_borders(c) + c->programs->n]);
    if (block->kind == EK_FORWARD && c->before >= 0)
        move(&frame_of(p, c->before, block->micro_batch, copy)[p->chunk[c->before].programs->n], &frame[0]);
    return EK_OK;
}

/* Its output tensor: sent, or left to the next one. */
static void end_copy(placer *p, int i, const ek_block *block, int copy, int32_t *frame)
{
    const chunk *c = &p->chunk[i];
    if (block->kind == EK_FORWARD && c->programs->sends && p->programs->border > 0)
        give(p, &frame[c->programs->n]);
    if (block->kind == EK_BACKWARD && c->programs->receives && p->programs->border_gradient > 0)
        give(p, &frame[n_borders(c)]);
    if (block->kind == EK_BACKWARD && !c->programs->receives && c->before >= 0) {
        const chunk *before = &p->chunk[c->before];
        int32_t *to = frame_of(p, c->before, block->micro_batch, copy);
        move(&frame[n_borders(c)], &to[n_borders(before) + before->programs->n]);
    }
}

static ek_status run_copy(placer *p, int i, const ek_block *block, int copy, bool first)
{
    chunk *c = &p->chunk[i];
    int32_t *frame = frame_of(p, i, block->micro_batch, copy);
    ek_status status = begin_copy(p, i, block, copy, frame);
    for (int r = 0; r < c->programs->n_runs[block->kind] && !status; r++)
        status = run_part(p, c, &c->programs->run[block->kind][r], frame, first);
    if (!status)
        end_copy(p, i, block, copy, frame);
    return status;
}

static ek_status run_block(placer *p, const ek_block *block)
{
    int i = block->chunk;
    assert(i < p->n_chunks && block->kind < EK_N_BLOCK_KINDS && block->micro_batch < (uint32_t)p->n_micro_batches);
    chunk *c = &p->chunk[i];
    bool has_mask = c->cell < p->job->plan.n_stages && p->programs->mask > 0; /* chunk 0, of either direction */
    bool first = !c->seen[block->kind];
    ek_status status = c->frame[block->micro_batch] ? EK_OK : begin_frame(p, i, block->micro_batch);
    if (status)
        return status;
    int32_t *mask = frame_of(p, i, block->micro_batch, p->n_copies);
    c->seen[block->kind] = true;
    if (has_mask && block->kind == EK_FORWARD)
        status = take(p, p->programs->mask * p->n_copies, false, mask);
    for (int k = 0; k < p->n_copies && !status; k++) {
        int copy = block->kind == EK_FORWARD ? k : p->n_copies - 1 - k;
        status = run_copy(p, i, block, copy, first && k == 0);
    }
    if (!status && has_mask && block->kind == EK_BACKWARD)
        give(p, mask);
    bool over = block->kind == (p->job->schedule->splits_backward ? EK_BACKWARD_WEIGHT : EK_BACKWARD);
    if (!status && over)
        end_frame(p, i, block->micro_batch);
    return status;
}

/* ---- static tensors ---- */

/* Tensors of a parameter, in the order of requests. Optimizer states are of 4 bytes each, if their size is a
 * multiple. */
enum { STATIC_WEIGHT, STATIC_OPTIMIZER, STATIC_GRADIENT, STATIC_GATHERED, N_STATIC };

static ek_status take_parameter(placer *p, const ek__persistent_bytes *bytes, int what)
{
    int32_t taken;
    int n_states = p->job->states.optimizer % 4 == 0 ? p->job->states.optimizer / 4 : 1;
    assert(what >= 0 && what < N_STATIC);
    ek_status status = EK_OK;
    if (what == STATIC_WEIGHT)
        return take(p, bytes->weight, true, &taken);
    if (what == STATIC_GRADIENT)
        return take(p, bytes->gradient, true, &taken);
    if (what == STATIC_GATHERED) {
        p->gathered += bytes->gathered;
        return EK_OK;
    }
    for (int s = 0; s < n_states && !status; s++)
        status = take(p, bytes->optimizer / n_states, true, &taken);
    return status;
}

/* Bytes of each parameter of a kind of layer, [EK__MAX_PARAMETERS]. */
static ek_status parameters_of(placer *p, const ek__graph *graph, ek__persistent_bytes *out)
{
    ek__graph *one = ek__alloc(1, sizeof *one);
    if (!one)
        return no_room(p);
    one->n_parameters = 1;
    for (int i = 0; i < graph->n_parameters; i++) {
        one->parameter[0] = graph->parameter[i];
        out[i] = ek__graph_persistent(p->job, one);
    }
    free(one);
    return EK_OK;
}

typedef struct table {
    ek__persistent_bytes bytes[EK__N_GRAPH_KINDS][EK__MAX_PARAMETERS];
} table;

/* One layer's requests of one kind. A head that shares the table of this stage's embedding requests none. */
static ek_status take_layer(placer *p, const table *t, ek__graph_kind kind, int what, bool has_table)
{
    const ek__graph *graph = p->programs->graph[kind];
    ek_status status = EK_OK;
    assert(graph && graph->n_parameters <= EK__MAX_PARAMETERS);
    for (int i = 0; i < graph->n_parameters && !status; i++)
        if (!graph->parameter[i].tied || !has_table)
            status = take_parameter(p, &t->bytes[kind][i], what);
    return status;
}

/* Layers of the model before a chunk. */
static int layers_before(const placer *p, int cell)
{
    int n = 0;
    for (int q = 0; q < position_of(p, cell); q++)
        n += p->job->plan.layers[ek_cell_at(p->job->schedule->placement, p->job->plan.n_stages, q)];
    return n;
}

static ek_status take_chunk(placer *p, const table *t, const chunk *c, int what, bool *has_table)
{
    int first = layers_before(p, c->cell), n_layers = p->job->plan.layers[c->cell];
    ek_status status = EK_OK;
    for (int e = 0; e < c->programs->n && !status; e++) {
        int layer = c->programs->layer[e];
        ek__graph_kind kind = layer < 0           ? EK__GRAPH_EMBEDDING
                              : layer >= n_layers ? EK__GRAPH_HEAD
                                                  : ek__layer_graph_kind(p->job, first + layer);
        status = take_layer(p, t, kind, what, *has_table);
        *has_table = *has_table || kind == EK__GRAPH_EMBEDDING;
    }
    return status;
}

static ek_status take_static(placer *p)
{
    table *t = ek__alloc(1, sizeof *t);
    int32_t taken;
    ek_status status = t ? EK_OK : no_room(p);
    for (int k = 0; k < EK__N_GRAPH_KINDS && !status; k++)
        if (p->programs->graph[k])
            status = parameters_of(p, p->programs->graph[k], t->bytes[k]);
    for (int what = 0; what < N_STATIC && !status; what++) {
        bool has_table = false;
        for (int i = 0; i < p->n_chunks && !status; i++)
            status = take_chunk(p, t, &p->chunk[i], what, &has_table);
    }
    free(t);
    return status ? status : take(p, p->gathered, false, &taken);
}

/* Constants and the rules' additions: one request, since their composition is unknown. A Megatron job requests the
 * known parts separately. Calibration may make their sum negative. */
static ek_status take_others(placer *p)
{
    int64_t constants = ek__stage_constants(p->job, p->stage);
    int64_t others = ek__stage_other(p->job, p->programs, p->stage) - constants;
    int32_t taken;
    ek_status status = EK_OK;
    if (ek__starts_as_megatron(p->job)) {
        for (size_t i = 0; i < p->start.n[EK__START_WORKSPACES]; i++)
            others -= p->start.bytes[EK__START_WORKSPACES][i];
        for (size_t i = 0; i < p->start.n[EK__START_DUMMIES]; i++)
            others -= p->start.bytes[EK__START_DUMMIES][i];
        others += constants;
    } else {
        status = take(p, constants, true, &taken);
    }
    p->below = others < 0 ? others : 0;
    return status ? status : take(p, others, false, &taken);
}

/* ---- rounds of periods ---- */

/* A step with repeating blocks. If the allocator and the slots of all live tensors equal those of some periods before,
 * except for the micro-batches' numbers, everything repeats from there, including the figure, which is part of the
 * state. All further such rounds are skipped. Most rounds have as many periods as there are live micro-batches, which
 * move from slot to slot. */
typedef struct rounds {
    ek__period period;
    size_t next;       /* block before which to check; SIZE_MAX: no more checks */
    size_t at;         /* block before which the state was p->was; 0: there is none yet */
    size_t n_begun;    /* then */
    size_t patience;   /* blocks until the state is to be compared with a later one: it may have been too early */
    size_t n_compared; /* numbers */
} rounds;

static int64_t address_of(const placer *p, int32_t place)
{
    return place < 0 ? -1 : p->kind->offset(p->allocator, place);
}

static ek_status write_state(placer *p, rounds *r, size_t block)
{
    p->was.n = 0;
    for (size_t i = 0; i < p->n_begun; i++) {
        const begun *b = &p->begun[i];
        size_t n = frame_places(p, &p->chunk[b->chunk]);
        int64_t *to = ek__numbers_add(&p->was, 2 + n);
        if (!to)
            return no_room(p);
        *to++ = b->chunk;
        *to++ = b->micro_batch;
        for (size_t k = 0; k < n; k++)
            *to++ = address_of(p, b->frame[k]);
    }
    r->at = block;
    r->n_begun = p->n_begun;
    return p->kind->state(p->allocator, &p->was) ? EK_OK : no_room(p);
}

/* Does the state equal the written one, with micro-batches `shift` further? Slots first: most differ there. */
static ek_status is_same(placer *p, rounds *r, int64_t shift, bool *same)
{
    const int64_t *was = p->was.at;
    *same = r->n_begun == p->n_begun;
    for (size_t i = 0; i < p->n_begun && *same; i++) {
        const begun *b = &p->begun[i];
        size_t n = frame_places(p, &p->chunk[b->chunk]), k = 0;
        *same = was[0] == b->chunk && was[1] + shift == b->micro_batch;
        for (was += 2; k < n && *same; k++)
            *same = *was++ == address_of(p, b->frame[k]);
        r->n_compared += k + 2;
    }
    if (!*same)
        return EK_OK;
    assert((size_t)(was - p->was.at) <= p->was.n);
    size_t n_left = p->was.n - (size_t)(was - p->was.at);
    p->now.n = 0;
    if (!p->kind->state(p->allocator, &p->now))
        return no_room(p);
    r->n_compared += p->now.n;
    *same = p->now.n == n_left && memcmp(p->now.at, was, n_left * sizeof *was) == 0;
    return EK_OK;
}

/* Shift the current micro-batches by `shift`. */
static void rename_begun(placer *p, int64_t shift)
{
    for (size_t i = 0; i < p->n_begun; i++)
        p->chunk[p->begun[i].chunk].frame[p->begun[i].micro_batch] = NULL;
    for (size_t i = 0; i < p->n_begun; i++) {
        begun *b = &p->begun[i];
        b->micro_batch = (uint32_t)(b->micro_batch + shift);
        assert(b->micro_batch < (uint32_t)p->n_micro_batches && !p->chunk[b->chunk].frame[b->micro_batch]);
        p->chunk[b->chunk].frame[b->micro_batch] = b->frame;
    }
}

static rounds begin_rounds(const placer *p, const ek_block *blocks, size_t n_blocks)
{
    rounds r = {.period = ek__period_of(blocks, n_blocks), .next = SIZE_MAX};
    if (r.period.length > 0 && p->kind->state)
        r.next = r.period.begin + r.period.length; /* the requests of only the first micro-batch are done */
    return r;
}

/* Try a round of the usual length, then longer ones, after longer beginnings. Not if none would be skipped. */
static ek_status wait_for_round(placer *p, rounds *r, size_t block)
{
    size_t usual = (p->n_begun + 1) * r->period.length, so_far = block - r->period.begin - r->period.length;
    r->patience = so_far > usual ? so_far : usual;
    if (r->period.end - block >= 2 * usual)
        return write_state(p, r, block);
    r->next = SIZE_MAX;
    return EK_OK;
}

/* Before block *at: skip rounds; *at is then after the last one. */
static ek_status skip_rounds(placer *p, rounds *r, size_t *at)
{
    const ek__period *period = &r->period;
    size_t length = *at - r->at;
    assert(r->at == 0 || (length > 0 && length % period->length == 0));
    assert(*at > period->begin && *at <= period->end);
    bool same = false;
    ek_status status = EK_OK;
    if (r->at > 0 && r->n_compared <= p->n_requests) /* a request takes ten times as long */
        status = is_same(p, r, (int64_t)(length / period->length) * period->shift, &same);
    if (!status && same) {
        size_t n = (period->end - *at) / length;
        rename_begun(p, (int64_t)(n * length / period->length) * period->shift);
        *at += n * length;
        assert(*at <= period->end);
        r->next = SIZE_MAX;
        return EK_OK;
    }
    r->next = *at + period->length <= period->end ? *at + period->length : SIZE_MAX;
    return status || (r->at > 0 && length < r->patience) ? status : wait_for_round(p, r, *at);
}

/* ---- steps ---- */

static ek_status take_phase(placer *p, ek__start_phase phase, int32_t *taken)
{
    int32_t forever;
    ek_status status = EK_OK;
    for (size_t i = 0; i < p->start.n[phase] && !status; i++)
        status = take(p, p->start.bytes[phase][i], true, taken ? &taken[i] : &forever);
    return status;
}

/* Maximum simulated requests of a step without repeating blocks, over all stages about 5 s (perf stat, one core of a
 * virtual machine: 20 ns each), and the minimum for a stage; a piece visited for a request counts a quarter. A count,
 * not a clock, so that the same job always has the same result. */
#define MOST_PLAYED          2.5e8
#define MOST_PLAYED_OF_STAGE 4e6

/* Does the step take too long? Skipped rounds count once. */
static ek_status check_played(const placer *p)
{
    int n_stages = p->job->plan.n_stages;
    double most = MOST_PLAYED / n_stages > MOST_PLAYED_OF_STAGE ? MOST_PLAYED / n_stages : MOST_PLAYED_OF_STAGE;
    const ek__pieces *pieces =
        p->allocator && p->kind->pieces ? p->kind->pieces(p->allocator) : NULL; /* planned: none */
    double looked = pieces ? (double)pieces->looked : 0;
    return (double)p->n_requests + looked / 4 <= most
               ? EK_OK
               : ek__fail(
                     p->err, EK_ERR_INPUT, EK__NOWHERE,
                     "where the tensors of stage %d come to lie takes too long to find: %.3g million were taken and "
                     "given back in a step without an end to it; choose another allocation (whole), fewer "
                     "micro-batches, or fewer copies of one",
                     p->stage, (double)p->n_requests / 1e6);
}

/* @param first  requests of the first backward pass; NULL: already made */
static ek_status run_step(placer *p, const ek_block *blocks, size_t n_blocks, const ek__start_phase *first)
{
    rounds r = begin_rounds(p, blocks, n_blocks);
    ek_status status = EK_OK;
    p->n_requests = 0;
    for (size_t b = 0; b < n_blocks && !status && !is_over(p); b++) {
        if (b == r.next)
            status = skip_rounds(p, &r, &b);
        if (status || b == n_blocks)
            break;
        if (first && blocks[b].kind == EK_BACKWARD) {
            status = take_phase(p, *first, NULL);
            first = NULL;
        }
        if (!status)
            status = run_block(p, &blocks[b]);
        if (!status)
            status = check_played(p);
    }
    assert(status || p->stopped || is_beyond(p) || p->n_begun == 0); /* a step releases everything it takes */
    return status;
}

/* Weights move to a buffer and release their own memory. */
static ek_status take_weights(placer *p)
{
    size_t n = p->start.n[EK__START_WEIGHTS];
    int32_t *weight = ek__alloc(n + 1, sizeof *weight);
    ek_status status = weight ? take_phase(p, EK__START_WEIGHTS, weight) : no_room(p);
    if (!status)
        status = take_phase(p, EK__START_BUFFERS, NULL);
    for (size_t i = 0; i < n && p->start.gives_weights && !status; i++)
        p->kind->give(p->allocator, weight[i]);
    free(weight);
    return status;
}

/* Moments are made after the first step, in the memory it left free, and the second step finds less of it. */
static ek_status run_first_steps(placer *p, const ek_block *blocks, size_t n_blocks)
{
    static const ek__start_phase dummies = EK__START_DUMMIES;
    ek_status status = take_weights(p);
    if (!status)
        status = take_phase(p, EK__START_MASTERS, NULL);
    if (!status)
        status = take_phase(p, EK__START_WORKSPACES, NULL);
    if (!status)
        status = take_phase(p, EK__START_COPIES, NULL);
    if (!status)
        status = run_step(p, blocks, n_blocks, &dummies);
    if (!status)
        status = take_phase(p, EK__START_STATES, NULL);
    return status ? status : run_step(p, blocks, n_blocks, NULL);
}

/* ---- the whole ---- */

static void clear(placer *p)
{
    ek__start_clear(&p->start);
    for (size_t i = 0; i < p->n_begun; i++)
        free(p->begun[i].frame);
    for (int i = 0; p->chunk && i < p->n_chunks; i++) {
        free(p->chunk[i].frame);
        free(p->chunk[i].kept_at);
    }
    for (int i = 0; p->code && i < p->programs->n_programs; i++)
        for (int k = 0; k < EK_N_BLOCK_KINDS; k++)
            free(p->code[i].request[k]);
    free(p->code);
    free(p->within);
    free(p->forever);
    free(p->chunk);
    free(p->begun);
    free(p->was.at);
    free(p->now.at);
    if (p->kind)
        p->kind->destroy(p->allocator);
}

/* Planning ahead compares every tensor with those alive at the same time, which is quadratic: 100 000 take some 5 s. */
enum { MAX_PLANNED = 100000 };

static ek_status check_planned(const placer *p, const ek_block *blocks, size_t n_blocks)
{
    size_t n = 0;
    for (size_t b = 0; b < n_blocks && p->job->rules.allocation == EK_ALLOCATION_OFFLINE; b++) {
        const ek__chunk_programs *programs = p->chunk[blocks[b].chunk].programs;
        for (int r = 0; r < programs->n_runs[blocks[b].kind]; r++) {
            const ek__run *run = &programs->run[blocks[b].kind][r];
            n += (size_t)run->program->n_events[run->part] / 2;
        }
    }
    return n * (size_t)p->n_copies <= MAX_PLANNED
               ? EK_OK
               : ek__fail(
                     p->err, EK_ERR_INPUT, EK__NOWHERE,
                     "stage %d takes and gives back about %zu tensors in a step, but planning offsets ahead is for "
                     "at most %d; choose another allocation, or fewer micro-batches",
                     p->stage, n * (size_t)p->n_copies, MAX_PLANNED);
}

/* @param where   the rank, as in ek__start_new()
 * @param actual  out: EK__NOT_PLACED if it was stopped */
static ek_status place_rank(placer p, double where, const ek_block *blocks, size_t n_blocks, int64_t *actual)
{
    bool megatron = ek__starts_as_megatron(p.job);
    assert(where >= 0 && where <= 1 && p.kind);
    p.allocator = p.kind->create(&p.job->rules, (int64_t)(p.job->limit_mb * 0x1p20));
    ek_status status = p.allocator ? make_chunks(&p) : no_room(&p);
    if (!status)
        status = check_planned(&p, blocks, n_blocks);
    if (!status)
        status = megatron ? ek__start_new(p.job, p.programs, p.stage, where, &p.start, p.err) : take_static(&p);
    if (!status)
        status = take_others(&p);
    if (!status)
        status = megatron ? run_first_steps(&p, blocks, n_blocks) : run_step(&p, blocks, n_blocks, NULL);
    int64_t figure = status || p.stopped ? -1 : p.kind->actual(p.allocator);
    if (!status && figure < 0 && !p.stopped)
        status = no_room(&p);
    if (!status)
        *actual = p.stopped ? EK__NOT_PLACED : figure + p.below;
    clear(&p);
    return status;
}

/* Ranks to simulate: four spread over those that differ, fewer if a step has very many requests, which take long. */
static int n_ranks(const placer *p, const ek_block *blocks, size_t n_blocks)
{
    enum { MOST_RANKS = 4, MOST_REQUESTS = 1000000 };
    int ranks = ek__start_ranks(p->job);
    size_t n = 1;
    for (size_t b = 0; b < n_blocks && ranks > 1; b++) {
        const ek__chunk_programs *of = &p->programs->chunk[ek__stage_cell(p->job, p->stage, blocks[b].chunk)];
        for (int r = 0; r < of->n_runs[blocks[b].kind]; r++) {
            const ek__run *run = &of->run[blocks[b].kind][r];
            n += (size_t)run->program->n_events[run->part];
        }
    }
    size_t most = MOST_REQUESTS / n < MOST_RANKS ? MOST_REQUESTS / n : MOST_RANKS;
    assert(ranks >= 1);
    return ranks < (int)most ? ranks : most > 1 ? (int)most : 1;
}

ek_status ek__stage_place(const ek_job *job, const ek__job_programs *programs, int stage, const ek_block *blocks,
                          size_t n_blocks, const ek__stop *stop, int64_t *actual, ek_error *err)
{
    int pieces = job->parallel.n_pieces > 1 ? job->parallel.n_pieces : 1;
    const placer p = {.job = job,
                      .programs = programs,
                      .stage = stage,
                      .n_chunks = ek__stage_n_chunks(job),
                      .n_copies = job->parallel.n_batch_interleave > 1 ? job->parallel.n_batch_interleave : 1,
                      .n_micro_batches = job->parallel.n_micro_batches * pieces,
                      .stop = stop,
                      .kind = ek__allocator_kind_of(job->rules.allocation),
                      .err = err};
    assert(stage >= 0 && stage < job->plan.n_stages && n_blocks >= 1);
    int n = n_ranks(&p, blocks, n_blocks);
    int64_t most = INT64_MIN;
    const int64_t enough = stop && stop->most > 0 ? stop->most : EK__NOT_PLACED - 1;
    for (int r = 0; r < n && most <= enough; r++) {
        int64_t one = 0;
        ek_status status = place_rank(p, n > 1 ? (double)r / (n - 1) : 0, blocks, n_blocks, &one);
        if (status)
            return status;
        most = one > most ? one : most;
    }
    *actual = most;
    return EK_OK;
}
