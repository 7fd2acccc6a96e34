/* Describes candidates: the layout in short, and the changes to a measured run, with the framework's names of the
 * settings. */
#include <stdio.h>
#include <string.h>

#include "calibrate/candidates.h"
#include "job/job_internal.h"

static int n_micro_batches(const ek_job *job)
{
    return job->parallel.n_micro_batches * job->parallel.n_accumulation;
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
             chunks, context, expert, p->seq_length, p->batch, n_micro_batches(job), (int)ek_job_devices(job));
}

typedef struct text {
    char *out;
    size_t size, used;
} text;

static void print(text *t, const char *what)
{
    if (t->used < t->size)
        t->used += (size_t)snprintf(t->out + t->used, t->size - t->used, "%s%s", t->used ? ", " : "", what);
}

static void write_number(text *t, const char *name, int now, int was)
{
    char words[96];
    snprintf(words, sizeof words, "%.60s %d instead of %d", name, now, was);
    if (now != was)
        print(t, words);
}

/* Megatron and torchtitan take the data parallel ranks from the devices, and micro-batches from the global batch. */
static void write_batches(text *t, const ek_job *from, const ek_job *job)
{
    const ek_job_parallel *p = &job->parallel, *q = &from->parallel;
    bool mindformers = job->framework == EK_MINDFORMERS || job->framework == EK_MINDFORMERS_MCORE;
    const char *name = ek__job_degree_name(job, EK__DEGREE_MICRO_BATCHES);
    if (mindformers) {
        write_number(t, ek__job_degree_name(job, EK__DEGREE_DATA), p->data, q->data);
        write_number(t, name, p->n_micro_batches, q->n_micro_batches);
        write_number(t, ek__job_degree_name(job, EK__DEGREE_ACCUMULATION), p->n_accumulation, q->n_accumulation);
    } else {
        write_number(t, ek__job_degree_name(job, EK__DEGREE_ACCUMULATION), p->data * p->batch * n_micro_batches(job),
                     q->data * q->batch * n_micro_batches(from));
    }
}

static bool recomputes_all(const ek_job *job)
{
    for (int c = 0; c < job->plan.n_stages * job->plan.n_chunks; c++)
        if (job->plan.full[c] < job->plan.layers[c])
            return false;
    return true;
}

static void write_recompute(text *t, const ek_job *from, const ek_job *job)
{
    bool now = recomputes_all(job), patterns = job->n_patterns > 0;
    if (now == recomputes_all(from))
        return;
    switch (job->framework) {
    case EK_MEGATRON:
    case EK_MINDSPEED:
        print(t, now        ? "recompute-granularity full for every layer"
                 : patterns ? "recompute-granularity selective instead of full"
                            : "no recompute-granularity");
        break;
    case EK_TORCHTITAN:
        print(t, now ? "activation_checkpoint.mode full" : "activation_checkpoint.mode none instead of full");
        break;
    default:
        print(t, now ? "recompute_config.recompute True" : "recompute_config.recompute False");
    }
}

void ek__candidate_change(const ek_job *from, const ek_job *job, char *out, size_t size)
{
    const ek_job_parallel *p = &job->parallel, *q = &from->parallel;
    const struct {
        ek__degree degree;
        int now, was;
    } degrees[] = {{EK__DEGREE_TENSOR, p->tensor, q->tensor},
                   {EK__DEGREE_STAGES, p->pipeline, q->pipeline},
                   {EK__DEGREE_CHUNKS, job->plan.n_chunks, from->plan.n_chunks},
                   {EK__DEGREE_CONTEXT, p->context, q->context},
                   {EK__DEGREE_EXPERT, p->expert, q->expert},
                   {EK__DEGREE_BATCH, p->batch, q->batch}};
    text t = {out, size, 0};
    out[0] = '\0';
    write_number(&t, "devices", (int)ek_job_devices(job), (int)ek_job_devices(from));
    for (size_t i = 0; i < sizeof degrees / sizeof *degrees; i++)
        write_number(&t, ek__job_degree_name(job, degrees[i].degree), degrees[i].now, degrees[i].was);
    write_batches(&t, from, job);
    write_recompute(&t, from, job);
}
