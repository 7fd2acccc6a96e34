/* Records the memory of every stage block by block: the same walk along its order as for the peak (stage_peak.c), with
 * all values instead of the largest. Bytes are used ones; an allocator's overhead is not available block by block. */
#include <assert.h>
#include <stdlib.h>

#include "base/error.h"
#include "memory/program.h"
#include "memory/stage_peak.h"

static void walk_stage(const ek_job *job, const ek__job_programs *programs, int stage, const ek_block *blocks,
                       ek_memory_course *out)
{
    ek__persistent_bytes bytes = ek__stage_persistent(job, programs, stage);
    int64_t whole = bytes.weight + bytes.gathered + bytes.gradient + bytes.optimizer;
    whole += ek__stage_other(job, programs, stage);
    ek__stage_walk walk = ek__stage_walk_begin(job, programs, stage);
    ek_memory_moment *moment = out->moment + (size_t)stage * out->n_blocks;
    out->whole_step[stage] = whole;
    for (size_t k = 0; k < out->n_blocks; k++) {
        int64_t before = walk.now;
        const ek__profile_of_part *profile = ek__stage_walk_next(&walk, &blocks[k]);
        assert(profile->peak >= 0 && profile->peak >= profile->end);
        moment[k] = (ek_memory_moment){blocks[k], whole + before + profile->peak, whole + walk.now};
    }
}

static ek_status walk_all(const ek_job *job, const ek__job_programs *programs, const ek_block *blocks,
                          ek_memory_course *out, ek_error *err)
{
    assert(out->n_stages >= 1 && out->n_blocks >= 1);
    out->whole_step = ek__alloc((size_t)out->n_stages, sizeof *out->whole_step);
    out->moment = ek__alloc((size_t)out->n_stages * out->n_blocks, sizeof *out->moment);
    if (!out->whole_step || !out->moment)
        return ek__no_memory(err);
    for (int s = 0; s < out->n_stages; s++)
        walk_stage(job, programs, s, blocks + (size_t)s * out->n_blocks, out);
    return EK_OK;
}

ek_status ek_memory_course_of(const ek_job *job, ek_memory_course *out, ek_error *err)
{
    ek__job_programs *programs = NULL;
    ek_block *blocks = NULL;
    ek_memory_course course = {.n_stages = job->plan.n_stages};
    ek_status status = ek__job_programs_new(job, &programs, err);
    if (!status)
        status = ek__job_order(job, &blocks, &course.n_blocks, err);
    if (!status)
        status = walk_all(job, programs, blocks, &course, err);
    free(blocks);
    ek__job_programs_free(programs);
    if (status)
        ek_memory_course_clear(&course);
    else
        *out = course;
    return status;
}

void ek_memory_course_clear(ek_memory_course *course)
{
    free(course->whole_step);
    free(course->moment);
    *course = (ek_memory_course){0};
}
