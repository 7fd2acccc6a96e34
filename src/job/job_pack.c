/* Packs a job as bytes: the struct unchanged, followed by the data of its pointers. */
#include "job/job_pack.h"

#include <stdlib.h>

#include "base/config_tree.h"
#include "base/error.h"
#include "evenkeel/schedule.h"
#include "job/job_internal.h"
#include "plan/plan_pack.h"

void ek__schedule_pack(const ek_schedule *schedule, ek__pack *to)
{
    ek__pack_put_text(to, schedule ? schedule->name : NULL);
}

const ek_schedule *ek__schedule_unpack(ek__unpack *from)
{
    char *name = ek__unpack_text(from);
    const ek_schedule *found = name ? ek_schedule_find(name) : NULL;
    from->wrong = from->wrong || (name && !found);
    free(name);
    return found;
}

void ek__job_pack(const ek_job *job, ek__pack *to)
{
    size_t cells = (size_t)job->plan.n_stages * (size_t)job->plan.n_chunks;
    EK__PACK(to, *job);
    ek__schedule_pack(job->schedule, to);
    ek__plan_pack(&job->plan, to);
    for (int i = 0; i < job->n_patterns; i++) {
        const ek_pattern *p = &job->pattern[i];
        EK__PACK(to, *p);
        ek__pack_put_text(to, p->text);
        ek__pack_put(to, p->layers, cells * sizeof *p->layers);
    }
}

static ek_status unpack_pattern(ek__unpack *from, ek_job *job, ek_error *err)
{
    ek_pattern p = {.kind = EK_PATTERN_SELECT};
    EK__UNPACK(from, p);
    p.text = ek__unpack_text(from);
    p.layers = ek__unpack_array(from, (size_t)job->plan.n_stages * (size_t)job->plan.n_chunks, sizeof *p.layers);
    ek_status status = p.text && p.layers ? ek__job_add_like(job, &p, p.layers, err)
                       : from->wrong      ? ek__unpack_end(from, err)
                                          : ek__no_memory(err);
    free(p.text);
    free(p.layers);
    return status;
}

ek_status ek__job_unpack(ek__unpack *from, const char *path, ek_job *out, ek_error *err)
{
    ek_job job = {.path = NULL};
    EK__UNPACK(from, job);
    const int n_patterns = job.n_patterns;
    job.path = NULL;
    job.pattern = NULL;
    job.n_patterns = 0;
    job.plan = (ek_plan){0};
    job.schedule = ek__schedule_unpack(from);
    ek_status status = from->wrong ? ek__unpack_end(from, err) : ek__plan_unpack(from, &job.plan, err);
    if (!status && path && !(job.path = ek__strdup(path)))
        status = ek__no_memory(err);
    for (int i = 0; i < n_patterns && !status; i++)
        status = unpack_pattern(from, &job, err);
    if (status)
        ek_job_clear(&job);
    else
        *out = job;
    return status;
}
