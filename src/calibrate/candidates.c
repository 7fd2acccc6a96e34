/* Makes layouts to propose as runs: neighbours of the measured ones, since unrealistic runs give little useful data.
 * Each differs in one setting, is accepted by the framework and fits into the device's memory by its prediction. */
#include "calibrate/candidates.h"

#include <stdlib.h>
#include <string.h>

#include "evenkeel/layers.h"
#include "evenkeel/memory.h"

/* Partial recomputation of a layer does not matter where it is recomputed whole. */
static bool same_recompute(const ek_plan *a, const ek_plan *b)
{
    bool same = true;
    for (int c = 0; c < a->n_stages * a->n_chunks; c++)
        same = same && a->full[c] == b->full[c] &&
               (a->full[c] == a->layers[c] || (a->select[c] == b->select[c] && a->comm[c] == b->comm[c]));
    return same;
}

static bool same_layout(const ek_job *a, const ek_job *b)
{
    const ek_job_parallel *p = &a->parallel, *q = &b->parallel;
    return strcmp(a->name, b->name) == 0 && a->model.hidden == b->model.hidden &&
           a->model.n_layers == b->model.n_layers && p->data == q->data && p->tensor == q->tensor &&
           p->pipeline == q->pipeline && p->context == q->context && p->expert == q->expert && p->batch == q->batch &&
           p->seq_length == q->seq_length && p->n_micro_batches == q->n_micro_batches &&
           p->n_accumulation == q->n_accumulation && a->plan.n_chunks == b->plan.n_chunks &&
           p->sequence_parallel == q->sequence_parallel && same_recompute(&a->plan, &b->plan);
}

static bool is_new(const ek_job *job, const ek_job *const *measured, int n, const ek__candidates *others)
{
    for (int i = 0; i < n; i++)
        if (same_layout(job, measured[i]))
            return false;
    for (int i = 0; i < others->n; i++)
        if (same_layout(job, &others->job[i]))
            return false;
    return true;
}

/* Settings that are cut over tensor parallel ranks change with them. */
static void set_tensor(ek_job_parallel *p, int tensor)
{
    if (p->head_split == p->tensor)
        p->head_split = tensor;
    if (p->table_split == p->tensor * p->context)
        p->table_split = tensor * p->context;
    else if (p->table_split == p->tensor)
        p->table_split = tensor;
    if (p->expert_tensor == p->tensor)
        p->expert_tensor = tensor;
    if (tensor == 1)
        p->sequence_parallel = false;
    p->tensor = tensor;
}

static bool scale(int *value, int up, int down)
{
    if (*value * up % down)
        return false;
    *value = *value * up / down;
    return *value >= 1;
}

static bool is_mindformers(const ek_job *job)
{
    return job->framework == EK_MINDFORMERS || job->framework == EK_MINDFORMERS_MCORE;
}

/* The micro-batches of a step, which MindFormers calls accumulation with one stage. */
static int *micro_batches(ek_job *job)
{
    ek_job_parallel *p = &job->parallel;
    return p->n_accumulation > 1 || (is_mindformers(job) && p->pipeline == 1) ? &p->n_accumulation
                                                                              : &p->n_micro_batches;
}

static bool is_cut_by_two(int degree)
{
    return degree % 2 == 0;
}

/* ---- plans ---- */

enum { NOT_ONE = -1 };

/* The recomputation of a job with one rule for all layers: none or all of them. */
static int all_or_none(const ek_plan *plan, const int *list)
{
    bool all = true, none = true;
    for (int c = 0; c < plan->n_stages * plan->n_chunks; c++) {
        all = all && list[c] == plan->layers[c];
        none = none && list[c] == 0;
    }
    return none ? 0 : all ? 1 : NOT_ONE;
}

/* Equal layers in every chunk: every framework can express that without lists. */
static ek_status even_plan(const ek_job *job, int n_stages, int n_chunks, int full, ek_plan *out, ek_error *err)
{
    int n = n_stages * n_chunks, each = job->model.n_layers / n;
    int select = all_or_none(&job->plan, job->plan.select), comm = all_or_none(&job->plan, job->plan.comm);
    ek_status status = ek_plan_init(out, n_stages, n_chunks, err);
    for (int c = 0; c < n && !status; c++) {
        out->layers[c] = each;
        out->full[c] = full * each;
        out->select[c] = select * each;
        out->comm[c] = comm * each;
    }
    return status;
}

static bool has_even_plan(const ek_job *job, int n_stages, int n_chunks)
{
    const ek_plan *plan = &job->plan;
    return n_stages >= 1 && n_chunks >= 1 && n_stages <= EK_MAX_STAGES && n_chunks <= EK_MAX_CHUNKS &&
           job->model.n_prediction_layers == 0 && job->model.n_layers % (n_stages * n_chunks) == 0 &&
           all_or_none(plan, plan->select) != NOT_ONE && all_or_none(plan, plan->comm) != NOT_ONE;
}

/* Put another plan into a job. EK_ERR_INPUT: the framework would not run it. */
static ek_status replan(ek_job *job, int n_stages, int n_chunks, int full, ek_error *err)
{
    ek_plan plan = {0};
    ek_job out;
    if (full == NOT_ONE || !has_even_plan(job, n_stages, n_chunks))
        return EK_ERR_INPUT;
    ek_job_change change = {.plan = &plan};
    if (n_chunks != job->plan.n_chunks) {
        if (job->schedule != ek_schedule_default(job->plan.n_chunks, 0))
            return EK_ERR_INPUT;
        change.schedule = ek_schedule_default(n_chunks, 0);
    }
    ek_status status = even_plan(job, n_stages, n_chunks, full, &plan, err);
    if (!status)
        status = ek_job_with(job, &change, &out, err);
    ek_plan_clear(&plan);
    if (status)
        return status;
    ek_job_clear(job);
    *job = out;
    return EK_OK;
}

/* ---- changes ---- */

typedef enum change {
    MORE_TENSOR,
    MORE_PIPELINE,
    OTHER_RECOMPUTE,
    LESS_TENSOR,
    MORE_BATCH,
    MORE_CHUNKS,
    LESS_PIPELINE,
    LESS_BATCH,
    MORE_CONTEXT,
    FEWER_CHUNKS,
    MORE_EXPERT,
    LESS_CONTEXT,
    LESS_EXPERT,
    MORE_DEVICES,
    N_CHANGES
} change;

/* Twice or half of a degree, at the cost of data parallel ranks: as many devices and sequences as before. */
static bool trade(ek_job *job, int *degree, bool more)
{
    if (more ? !scale(&job->parallel.data, 1, 2) || !scale(micro_batches(job), 2, 1)
             : !is_cut_by_two(*degree) || !scale(micro_batches(job), 1, 2))
        return false;
    if (!more)
        job->parallel.data *= 2;
    *degree = more ? *degree * 2 : *degree / 2;
    return true;
}

/* FSDP of PyTorch, as Megatron and llm-foundry wrap it, has no pipeline. */
static bool may_have_stages(const ek_job *job)
{
    return job->parallel.pipeline > 1 || !job->states.shard_weight || job->framework == EK_TORCHTITAN;
}

static ek_status change_stages(ek_job *job, bool more, ek_error *err)
{
    int n = job->parallel.pipeline, wanted = n, full = all_or_none(&job->plan, job->plan.full);
    ek_job_parallel *p = &job->parallel;
    if (!may_have_stages(job) || (more ? false : n % 2 != 0) || !trade(job, &wanted, more))
        return EK_ERR_INPUT;
    if (is_mindformers(job) && n == 1) { /* accumulation without a pipeline becomes its micro-batches */
        p->n_micro_batches = p->n_accumulation;
        p->n_accumulation = 1;
    } else if (is_mindformers(job) && wanted == 1) {
        p->n_accumulation = p->n_micro_batches;
        p->n_micro_batches = 1;
    }
    return replan(job, wanted, wanted == 1 ? 1 : job->plan.n_chunks, full, err);
}

static ek_status change_plan(ek_job *job, change how, ek_error *err)
{
    int n_chunks = job->plan.n_chunks, stages = job->parallel.pipeline, full = all_or_none(&job->plan, job->plan.full);
    switch (how) {
    case MORE_CHUNKS:
        return stages > 1 ? replan(job, stages, 2 * n_chunks, full, err) : EK_ERR_INPUT;
    case FEWER_CHUNKS:
        return is_cut_by_two(n_chunks) ? replan(job, stages, n_chunks / 2, full, err) : EK_ERR_INPUT;
    default:
        return replan(job, stages, n_chunks, full == NOT_ONE ? NOT_ONE : 1 - full, err);
    }
}

static bool change_degrees(ek_job *job, change how)
{
    ek_job_parallel *p = &job->parallel;
    int tensor = p->tensor;
    switch (how) {
    case MORE_TENSOR:
    case LESS_TENSOR:
        if (!trade(job, &tensor, how == MORE_TENSOR))
            return false;
        set_tensor(p, tensor);
        return true;
    case MORE_BATCH:
        p->batch *= 2;
        return scale(micro_batches(job), 1, 2);
    case LESS_BATCH:
        return scale(&p->batch, 1, 2) && scale(micro_batches(job), 2, 1);
    case MORE_CONTEXT:
    case LESS_CONTEXT: /* its groups may have parts of unknown sizes */
        return p->context > 1 && p->ulysses <= 1 && p->table_split <= p->tensor &&
               trade(job, &p->context, how == MORE_CONTEXT);
    case MORE_EXPERT:
        return p->expert > 1 && scale(&p->expert, 2, 1);
    case LESS_EXPERT:
        return p->expert > 1 && scale(&p->expert, 1, 2);
    default:
        p->data *= 2;
        return true;
    }
}

/* MindFormers keeps a buffer of gradients where it adds them up. */
static void settle(ek_job *job)
{
    if (is_mindformers(job))
        job->states.gradient = job->parallel.pipeline > 1 || job->parallel.n_accumulation > 1 ? job->states.weight : 0;
}

/* @return EK_ERR_INPUT where there is no such layout or the framework does not run it */
static ek_status apply(ek_job *job, change how, ek_error *err)
{
    ek_status status = EK_OK;
    if (how == MORE_PIPELINE || how == LESS_PIPELINE)
        status = change_stages(job, how == MORE_PIPELINE, err);
    else if (how == MORE_CHUNKS || how == FEWER_CHUNKS || how == OTHER_RECOMPUTE)
        status = change_plan(job, how, err);
    else if (!change_degrees(job, how))
        return EK_ERR_INPUT;
    settle(job);
    return status ? status : ek_job_check(job, err);
}

/* ---- memory ---- */

/* By the peak that is in use first, which is cheap and a lower bound. */
static ek_status check_fits(const ek_job *job, double memory_gib, bool *fits, ek_error *err)
{
    ek_job limited = *job; /* shares all with the job */
    double most = memory_gib * 1024;
    *fits = true;
    if (limited.limit_mb <= 0 || (most > 0 && most < limited.limit_mb))
        limited.limit_mb = most;
    ek_status status = EK_OK;
    for (int exact = 0; exact < 2 && *fits && !status && limited.limit_mb > 0; exact++) {
        const ek_memory_options options = {.without_allocation = !exact, .without_top = true};
        ek_memory memory;
        status = ek_memory_predict(&limited, &options, &memory, err);
        if (!status) {
            *fits = memory.fits;
            ek_memory_clear(&memory);
        }
    }
    return status;
}

/* ---- the list ---- */

typedef struct maker {
    const ek_job *const *measured;
    int n, most_tensor;
    double memory_gib;
    ek__candidates *out;
} maker;

static ek_status judge(const maker *m, const ek_job *job, bool *take, ek_error *err)
{
    *take = job->parallel.tensor <= m->most_tensor && is_new(job, m->measured, m->n, m->out);
    return *take ? check_fits(job, m->memory_gib, take, err) : EK_OK;
}

static ek_status add(const maker *m, int from, change how, ek_error *err)
{
    ek_job copy;
    ek_error why = {0}; /* of invalid layouts */
    bool take = false;
    ek_status status = ek_job_copy(m->measured[from], &copy, err);
    if (status)
        return status;
    status = apply(&copy, how, &why);
    if (!status)
        status = judge(m, &copy, &take, &why);
    if (!status && take) {
        m->out->from[m->out->n] = from;
        m->out->job[m->out->n++] = copy;
    } else {
        ek_job_clear(&copy);
    }
    if (status && status != EK_ERR_INPUT && err)
        *err = why;
    return status == EK_ERR_INPUT ? EK_OK : status;
}

ek_status ek__candidates_make(const ek_job *const *job, int n, const ek_device *device, ek__candidates *out,
                              ek_error *err)
{
    maker m = {job, n, device->devices_per_node, device->memory_gib, out};
    ek_status status = EK_OK;
    /* In rounds, each job another change, so that no model and no kind of change is left out for standing last. */
    int every = 1 + (n - 1) / EK__MAX_CANDIDATES;
    out->n = 0;
    for (int i = 0; i < n; i++)
        m.most_tensor = job[i]->parallel.tensor > m.most_tensor ? job[i]->parallel.tensor : m.most_tensor;
    for (int round = 0; round < N_CHANGES; round++)
        for (int i = round % every; i < n && status == EK_OK && out->n < EK__MAX_CANDIDATES; i += every)
            status = add(&m, i, (change)((i / every + round) % N_CHANGES), err);
    if (status)
        ek__candidates_clear(out);
    return status;
}

void ek__candidates_clear(ek__candidates *candidates)
{
    for (int i = 0; i < candidates->n; i++)
        ek_job_clear(&candidates->job[i]);
    candidates->n = 0;
}
