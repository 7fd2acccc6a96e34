/* Layouts to propose as runs: neighbours of the ones measured, since a run that nobody would do tells little of use. */
#include "calibrate/candidates.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

static bool same_layout(const ek_job *a, const ek_job *b)
{
    const ek_job_parallel *p = &a->parallel, *q = &b->parallel;
    return strcmp(a->name, b->name) == 0 && a->model.hidden == b->model.hidden &&
           a->model.n_layers == b->model.n_layers && p->data == q->data && p->tensor == q->tensor &&
           p->pipeline == q->pipeline && p->context == q->context && p->expert == q->expert && p->batch == q->batch &&
           p->seq_length == q->seq_length && p->n_micro_batches == q->n_micro_batches &&
           p->n_accumulation == q->n_accumulation && a->plan.n_chunks == b->plan.n_chunks;
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

/* What is cut over tensor parallel ranks goes with them. */
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

/* The micro-batches of a step, which some frameworks call accumulation with one stage. */
static int *micro_batches(ek_job_parallel *p)
{
    return p->n_accumulation > 1 ? &p->n_accumulation : &p->n_micro_batches;
}

enum { MORE_TENSOR, LESS_TENSOR, MORE_BATCH, LESS_BATCH, MORE_DEVICES, N_CHANGES };

static bool change(ek_job_parallel *p, int how)
{
    int tensor = p->tensor;
    switch (how) {
    case MORE_TENSOR:
        if (!scale(&p->data, 1, 2) || !scale(micro_batches(p), 2, 1))
            return false;
        set_tensor(p, 2 * tensor);
        return true;
    case LESS_TENSOR:
        if (tensor % 2 || !scale(micro_batches(p), 1, 2))
            return false;
        p->data *= 2;
        set_tensor(p, tensor / 2);
        return true;
    case MORE_BATCH:
        p->batch *= 2;
        return scale(micro_batches(p), 1, 2);
    case LESS_BATCH:
        return scale(&p->batch, 1, 2) && scale(micro_batches(p), 2, 1);
    default:
        p->data *= 2;
        return true;
    }
}

static ek_status add(const ek_job *job, int how, const ek_job *const *measured, int n, int most_tensor,
                     ek__candidates *out, ek_error *err)
{
    ek_job copy;
    ek_status status = ek_job_copy(job, &copy, err);
    if (status)
        return status;
    if (change(&copy.parallel, how) && copy.parallel.tensor <= most_tensor && ek_job_check(&copy, NULL) == EK_OK &&
        is_new(&copy, measured, n, out))
        out->job[out->n++] = copy;
    else
        ek_job_clear(&copy);
    return EK_OK;
}

ek_status ek__candidates_make(const ek_job *const *job, int n, int per_node, ek__candidates *out, ek_error *err)
{
    int most_tensor = per_node;
    ek_status status = EK_OK;
    /* With many jobs every so many of them, so that no model is left out for standing last. */
    int every = 1 + (n * N_CHANGES - 1) / EK__MAX_CANDIDATES;
    out->n = 0;
    for (int i = 0; i < n; i++)
        most_tensor = job[i]->parallel.tensor > most_tensor ? job[i]->parallel.tensor : most_tensor;
    for (int i = 0; i < n && status == EK_OK; i += every)
        for (int how = 0; how < N_CHANGES && status == EK_OK && out->n < EK__MAX_CANDIDATES; how++)
            status = add(job[i], how, job, n, most_tensor, out, err);
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

void ek__candidate_name(const ek_job *job, char *out, size_t size)
{
    const ek_job_parallel *p = &job->parallel;
    char chunks[16] = "", context[16] = "", expert[16] = "";
    if (job->plan.n_chunks > 1)
        snprintf(chunks, sizeof chunks, " v%d", job->plan.n_chunks);
    if (p->context > 1)
        snprintf(context, sizeof context, " cp%d", p->context);
    if (p->expert > 1)
        snprintf(expert, sizeof expert, " ep%d", p->expert);
    snprintf(out, size, "%.60s d%d t%d p%d%s%s%s S%d B%d m%d on %d devices", job->name, p->data, p->tensor, p->pipeline,
             chunks, context, expert, p->seq_length, p->batch, p->n_micro_batches * p->n_accumulation,
             p->data * p->tensor * p->pipeline * p->context);
}
