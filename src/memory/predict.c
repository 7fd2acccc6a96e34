/* Predicts memory: every stage's static bytes plus the maximum that its blocks hold at once (stage_peak.c); allocators
 * add fragments. Each tensor is rounded, so a stage's parts add up to its peak exactly. */
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "memory/allocator.h"
#include "memory/program.h"
#include "memory/stage_peak.h"
#include "model/recompute_kind.h"

const char *const ek__memory_part_name[EK_N_MEMORY_PARTS] = {"parameters",  "gradients", "optimizer",
                                                             "activations", "transient", "other"};
const char *const *const ek_memory_part_name = ek__memory_part_name;

typedef struct predictor {
    const ek_job *job;
    const ek_memory_options *options;
    ek__job_programs *programs;
    ek_block *blocks; /* [n_stages][n_blocks] */
    size_t n_blocks;
    ek_error *err;
} predictor;

/* ---- the largest tensors ---- */

/* Tensors of one name together. */
static int by_name(const void *a, const void *b)
{
    const ek__alive *x = a, *y = b;
    int order = strcmp(x->buffer->op, y->buffer->op);
    if (order == 0)
        order = strcmp(x->buffer->name, y->buffer->name);
    if (order == 0)
        order = (x->part > y->part) - (x->part < y->part);
    if (order == 0)
        order = (x->buffer->bytes > y->buffer->bytes) - (x->buffer->bytes < y->buffer->bytes);
    return order;
}

/* Put a tensor among the largest, of equal ones the first one first. */
static void add_top(ek_memory_stage *stage, const ek_memory_tensor *tensor)
{
    int64_t size = tensor->bytes * tensor->count;
    int at = stage->n_top;
    assert(at >= 0 && at <= EK_N_TOP && tensor->bytes >= 0 && tensor->count >= 0);
    while (at > 0 && stage->top[at - 1].bytes * stage->top[at - 1].count < size)
        at--;
    if (at >= EK_N_TOP || size <= 0)
        return;
    int n = stage->n_top < EK_N_TOP ? stage->n_top : EK_N_TOP - 1;
    memmove(&stage->top[at + 1], &stage->top[at], (size_t)(n - at) * sizeof stage->top[0]);
    stage->top[at] = *tensor;
    stage->n_top = n + 1;
    assert(stage->n_top <= EK_N_TOP && (at == 0 || stage->top[at - 1].bytes * stage->top[at - 1].count >= size));
}

static void add_static_top(ek_memory_stage *stage, const char *what, const char *of, ek_memory_part part, int64_t bytes,
                           int64_t count)
{
    ek_memory_tensor tensor = {.part = part, .bytes = bytes, .count = (int)count};
    snprintf(tensor.name, sizeof tensor.name, "%s%s", what, of);
    add_top(stage, &tensor);
}

static void add_alive_top(ek_memory_stage *stage, ek__alive_list *list)
{
    if (list->n > 0)
        qsort(list->alive, (size_t)list->n, sizeof *list->alive, by_name);
    for (int i = 0; i < list->n;) {
        const ek__alive *alive = &list->alive[i];
        int64_t count = 0;
        for (; i < list->n && by_name(alive, &list->alive[i]) == 0; i++)
            count += list->alive[i].count;
        assert(count >= 1);
        ek_memory_tensor tensor = {.part = alive->part, .bytes = alive->buffer->bytes, .count = (int)count};
        snprintf(tensor.name, sizeof tensor.name, "%s%s%s", alive->buffer->op, *alive->buffer->op ? " " : "",
                 alive->buffer->what == EK__CLASS_BORDER ? "layer input" : alive->buffer->name);
        add_top(stage, &tensor);
    }
}

static void add_buffers_top(const predictor *p, int s, ek_memory_stage *stage)
{
    int64_t dummy[EK__MAX_DUMMIES], all = 0;
    for (int i = ek__stage_dummies(p->job, p->programs, s, dummy) - 1; i >= 0; i--)
        all += dummy[i];
    add_static_top(stage, "placeholders of gradients, one of each shape", "", EK_PART_OTHER, all, 1);
    add_static_top(stage, "weights gathered ahead, and gradients while they are reduced", "", EK_PART_OTHER,
                   ek__stage_layer_buffers(p->job, p->programs, s), 1);
    add_static_top(stage, "buffer of the head's gathered input", "", EK_PART_OTHER,
                   ek__stage_elsewhere(p->job, p->programs, s), 1);
    add_static_top(stage, "workspace", "", EK_PART_OTHER, (int64_t)(p->job->rules.workspace_mb * 0x1p20), 1);
}

static void add_kinds_top(const predictor *p, int s, ek_memory_stage *stage)
{
    static const char *const of[EK__N_GRAPH_KINDS] = {"the embedding", "decoder layers", "decoder layers with experts",
                                                      "prediction layers", "the head"};
    for (int k = 0; k < EK__N_GRAPH_KINDS; k++) {
        int64_t n = 0;
        for (int i = 0; i < ek__stage_n_chunks(p->job); i++)
            n += p->programs->chunk[ek__stage_cell(p->job, s, i)].n_of_kind[k];
        const ek__persistent_bytes *bytes = &p->programs->bytes[k];
        add_static_top(stage, "weights of ", of[k], EK_PART_PARAMETERS, bytes->weight, n);
        add_static_top(stage, "gathered weights of ", of[k], EK_PART_PARAMETERS, bytes->gathered, n);
        add_static_top(stage, "gradient buffers of ", of[k], EK_PART_GRADIENTS, bytes->gradient, n);
        add_static_top(stage, "optimizer states of ", of[k], EK_PART_OPTIMIZER, bytes->optimizer, n);
    }
}

/* ---- stages ---- */

static int64_t mb(double value)
{
    return (int64_t)llround(value * 1048576);
}

static ek_status describe(const predictor *p, int s, const ek__peak *peak, ek_memory_stage *out)
{
    const ek_block *blocks = p->blocks + (size_t)s * p->n_blocks;
    ek__alive_list list = {.op = "", .layer = -1};
    ek_status status = ek__stage_alive(p->job, p->programs, s, blocks, peak, &list, p->err);
    if (!status) {
        for (int i = 0; i < list.n; i++)
            out->part[list.alive[i].part] += list.alive[i].buffer->bytes * list.alive[i].count;
        out->part[EK_PART_OTHER] += list.masks * p->programs->mask;
        out->alive = list.micro_batches;
        out->layer = list.layer;
        snprintf(out->operator_name, sizeof out->operator_name, "%s", list.op);
        if (!p->options->without_top) {
            add_kinds_top(p, s, out);
            add_buffers_top(p, s, out);
            add_static_top(out, "attention masks", "", EK_PART_OTHER, p->programs->mask, list.masks);
            add_static_top(out, "constants", "", EK_PART_OTHER, ek__stage_constants(p->job, s), 1);
            add_alive_top(out, &list);
        }
    }
    free(list.alive);
    return status;
}

/* A pool grows by blocks, the last of which takes the device's remaining memory; beyond that a simulated run requests
 * only its need. Everything is assumed to fit inside the blocks: with this, eight of the sixteen peaks of the published
 * dry run have the right number of blocks. */
static int64_t in_whole_blocks(const ek_job *job, int64_t used)
{
    int64_t block = job->rules.block_bytes, limit = mb(job->limit_mb);
    assert(limit >= 0);
    int64_t rounded = block > 0 ? (used + block - 1) / block * block : used;
    return limit == 0 || rounded <= limit ? rounded : used > limit ? used : limit;
}

int64_t ek__stage_whole_step(const ek_job *job, const ek__job_programs *programs, int stage)
{
    ek__persistent_bytes bytes = ek__stage_persistent(job, programs, stage);
    return bytes.weight + bytes.gathered + bytes.gradient + bytes.optimizer + ek__stage_other(job, programs, stage);
}

ek_status ek__stage_actual(const ek_job *job, const ek__job_programs *programs, int stage, const ek_block *blocks,
                           size_t n_blocks, int64_t used, const ek__stop *stop, int64_t *actual, ek_error *err)
{
    if (job->rules.allocation != EK_ALLOCATION_WHOLE)
        return ek__stage_place(job, programs, stage, blocks, n_blocks, stop, actual, err);
    *actual = in_whole_blocks(job, used);
    return EK_OK;
}

/* For asserts. */
__attribute__((unused)) static int64_t sum_of_parts(const ek_memory_stage *stage)
{
    int64_t sum = 0;
    for (int i = 0; i < EK_N_MEMORY_PARTS; i++)
        sum += stage->part[i];
    return sum;
}

/* @param over  out: whether there was no time to place it */
static ek_status predict_stage(const predictor *p, int s, ek_memory_stage *out, bool *over)
{
    const ek__stop stop = {.over = p->options->over, .user = p->options->user};
    const ek_job *job = p->job;
    const ek_block *blocks = p->blocks + (size_t)s * p->n_blocks;
    ek__persistent_bytes bytes = ek__stage_persistent(job, p->programs, s);
    out->part[EK_PART_PARAMETERS] = bytes.weight + bytes.gathered;
    out->part[EK_PART_GRADIENTS] = bytes.gradient;
    out->part[EK_PART_OPTIMIZER] = bytes.optimizer;
    out->part[EK_PART_OTHER] = ek__stage_other(job, p->programs, s);
    for (int i = 0; i < ek__stage_n_chunks(job); i++)
        out->n_layers += job->plan.layers[ek__stage_cell(job, s, i)];
    for (int i = 0; i < EK_N_MEMORY_PARTS; i++)
        out->used_peak += out->part[i];
    ek__peak peak = ek__stage_peak(job, p->programs, s, blocks, p->n_blocks);
    assert(peak.block < p->n_blocks && peak.bytes >= 0);
    out->used_peak += peak.bytes;
    out->block = blocks[peak.block];
    ek_status status = describe(p, s, &peak, out);
    assert(status || sum_of_parts(out) == out->used_peak);
    if (!status && p->options->actual_peak)
        out->actual_peak = p->options->actual_peak[s];
    else if (!status && !p->options->without_allocation)
        status = ek__stage_actual(job, p->programs, s, blocks, p->n_blocks, out->used_peak, &stop, &out->actual_peak,
                                  p->err);
    *over = out->actual_peak == EK__NOT_PLACED;
    out->actual_peak = *over ? 0 : out->actual_peak;
    return status;
}

/* ---- kinds of layers ---- */

static ek_status describe_kind(const ek_job *job, const ek__graph *graph, ek__persistent_bytes bytes,
                               ek_memory_layer *out, ek_error *err)
{
    memcpy(out->name, graph->name, sizeof out->name);
    out->parameter_bytes = bytes.weight + bytes.gathered + bytes.gradient + bytes.optimizer;
    for (int k = 0; k < EK_N_RECOMPUTE; k++) {
        bool recomputed[EK__MAX_OPS] = {false};
        ek__program *program;
        ek__recompute what = ek__recompute_of_kind(job, (ek_recompute)k);
        ek__graph_recomputed(job, graph, what, recomputed);
        ek_status status = ek__program_new(job, graph, recomputed, what.full, false, &program, err);
        if (status)
            return status;
        out->kept[k] = program->kept;
        out->transient[k] = program->profile[EK_BACKWARD].peak;
        assert(out->kept[k] >= 0 && out->transient[k] >= 0);
        ek__program_free(program);
    }
    return EK_OK;
}

static ek_status describe_kinds(const predictor *p, ek_memory *out)
{
    ek_job copy;
    ek_status status = ek_job_copy(p->job, &copy, p->err);
    if (status)
        return status;
    status = ek__job_add_usual_patterns(&copy, p->err);
    _Static_assert(EK__GRAPH_PREDICTION - EK__GRAPH_DENSE < sizeof out->layer_kind / sizeof *out->layer_kind, "room");
    for (int k = EK__GRAPH_DENSE; k <= EK__GRAPH_PREDICTION && !status; k++)
        if (p->programs->graph[k])
            status = describe_kind(&copy, p->programs->graph[k], p->programs->bytes[k],
                                   &out->layer_kind[out->n_layer_kinds++], p->err);
    ek_job_clear(&copy);
    return status;
}

/* ---- the whole ---- */

static void compare_with_limit(const predictor *p, ek_memory *out)
{
    bool actual = !p->options->without_allocation;
    int64_t most = -1;
    assert(out->n_stages >= 1);
    for (int s = 0; s < out->n_stages; s++) {
        int64_t peak = actual ? out->stage[s].actual_peak : out->stage[s].used_peak;
        if (peak > most) {
            most = peak;
            out->fullest = s;
        }
    }
    out->limit = mb(p->job->limit_mb);
    out->margin = out->limit > 0 ? out->limit - most : EK_MEMORY_UNKNOWN;
    out->fits = !out->ended_early && (out->limit == 0 || out->margin >= 0);
}

static ek_status predict(predictor *p, ek_memory *out)
{
    int n = p->job->plan.n_stages;
    assert(n >= 1 && p->job->schedule && (unsigned)p->job->rules.allocation < EK_N_ALLOCATIONS);
    ek_status status = ek__job_programs_new(p->job, &p->programs, p->err);
    if (!status)
        status = ek__job_order(p->job, &p->blocks, &p->n_blocks, p->err);
    if (status)
        return status;
    out->stage = ek__alloc((size_t)n, sizeof *out->stage);
    if (!out->stage)
        return ek__no_memory(p->err);
    out->n_stages = n;
    assert(p->n_blocks >= 1);
    for (int s = 0; s < n && !status && !out->ended_early; s++)
        status = predict_stage(p, s, &out->stage[s], &out->ended_early);
    if (!status)
        status = describe_kinds(p, out);
    if (!status)
        compare_with_limit(p, out);
    return status;
}

bool ek_memory_limit_by_device(ek_job *job, const struct ek_device *device)
{
    if (job->limit_mb > 0 || !(device->memory_gib > 0))
        return false;
    job->limit_mb = device->memory_gib * 1024;
    return true;
}

ek_status ek_memory_predict(const ek_job *job, const ek_memory_options *options, ek_memory *out, ek_error *err)
{
    static const ek_memory_options all = {0};
    predictor p = {.job = job, .options = options ? options : &all, .err = err};
    ek_memory memory = {0};
    ek_status status = predict(&p, &memory);
    free(p.blocks);
    ek__job_programs_free(p.programs);
    if (status)
        ek_memory_clear(&memory);
    else
        *out = memory;
    return status;
}

void ek_memory_clear(ek_memory *memory)
{
    free(memory->stage);
    *memory = (ek_memory){0};
}
