/* Prints a job for people: the model, its degrees, its micro-batches. */
#include <inttypes.h>

#include "report/memory_internal.h"

static void print_degrees(const ek_job *job, FILE *out)
{
    const ek_job_parallel *d = &job->parallel;
    int64_t devices = ek_job_devices(job);
    fprintf(out, "%" PRId64 " device%s: data %d, tensor %d%s, pipeline %d", devices, devices == 1 ? "" : "s", d->data,
            d->tensor, d->sequence_parallel ? " with sequence parallel" : "", d->pipeline);
    if (job->plan.n_chunks > 1)
        fprintf(out, " x %d chunks", job->plan.n_chunks);
    if (d->context > 1)
        fprintf(out, ", context %d", d->context);
    if (d->expert > 1)
        fprintf(out, ", expert %d", d->expert);
    fputc('\n', out);
}

void ek__print_job(const ek_job *job, FILE *out)
{
    const ek_job_model *m = &job->model;
    ek__print_name(job->name[0] ? job->name : "model", out);
    fprintf(out, " (%s): %d layers", ek_framework_name[job->framework], m->n_layers);
    if (m->n_prediction_layers > 0)
        fprintf(out, " and %d of multi-token prediction", m->n_prediction_layers);
    fprintf(out, ", hidden %d, %d heads", m->hidden, m->n_heads);
    if (m->n_kv_heads != m->n_heads)
        fprintf(out, " (%d of keys and values)", m->n_kv_heads);
    fprintf(out, ", vocabulary %d, %s", m->vocab, ek_dtype_name[job->types.compute]);
    if (m->n_experts > 0)
        fprintf(out, ", %d experts", m->n_experts);
    fputc('\n', out);
    print_degrees(job, out);
    fprintf(out, "%d micro-batch%s of %d x %d tokens, schedule %s\n", job->parallel.n_micro_batches,
            job->parallel.n_micro_batches == 1 ? "" : "es", job->parallel.batch, job->parallel.seq_length,
            job->schedule->name);
}
