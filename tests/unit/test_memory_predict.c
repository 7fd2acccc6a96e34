/* Peaks of whole stages against a naive replay of every event; micro-batches alive against the closed forms of 1F1B,
 * GPipe and interleaved schedules; growth of the cost; and what the parts, places and limits of a prediction say. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "job/job_internal.h"
#include "memory_replay.h"

static ek_memory predict(const ek_job *job)
{
    ek_error err;
    ek_memory memory;
    static const ek_memory_options used = {.without_allocation = true};
    if (ek_memory_predict(job, &used, &memory, &err))
        fail_msg("%s", err.message);
    return memory;
}

/* ---- against the replay ---- */

static void compare_stage(const ek_job *job, const ek__job_programs *programs, const ek_memory_stage *stage, int s,
                          const ek_block *blocks, size_t n_blocks)
{
    ek__static_bytes bytes = ek__stage_static(job, programs, s);
    replay_result naive = replay_stage(job, programs, s, blocks, n_blocks, NULL, NULL);
    int64_t part[EK_N_MEMORY_PARTS], sum = 0, there = bytes.weight + bytes.gathered + bytes.gradient +
                                                     bytes.optimizer + ek__stage_other(job, programs, s);
    memcpy(part, naive.part, sizeof part);
    part[EK_PART_PARAMETERS] += bytes.weight + bytes.gathered;
    part[EK_PART_GRADIENTS] += bytes.gradient;
    part[EK_PART_OPTIMIZER] += bytes.optimizer;
    part[EK_PART_OTHER] += ek__stage_other(job, programs, s);
    if (stage->used_peak != there + naive.peak)
        fail_msg("stage %d of %s: peak %lld, replayed %lld", s, job->schedule->name, (long long)stage->used_peak,
                 (long long)(there + naive.peak));
    for (int i = 0; i < EK_N_MEMORY_PARTS; i++) {
        if (stage->part[i] != part[i])
            fail_msg("stage %d of %s: %s %lld, replayed %lld", s, job->schedule->name, ek_memory_part_name[i],
                     (long long)stage->part[i], (long long)part[i]);
        sum += stage->part[i];
    }
    assert_int_equal(sum, stage->used_peak);
    assert_memory_equal(&stage->block, &blocks[naive.block], sizeof stage->block);
    assert_true(stage->alive > naive.alive - 1e-9 && stage->alive < naive.alive + 1e-9);
    /* Only weights' gradients without a buffer are left. */
    if (job->states.gradient > 0)
        assert_int_equal(naive.left, 0);
}

static void compare(const ek_job *job)
{
    ek_error err;
    ek__job_programs *programs;
    ek_block *blocks;
    size_t n_blocks;
    if (ek__job_programs_new(job, &programs, &err) || ek__job_order(job, &blocks, &n_blocks, &err))
        fail_msg("%s", err.message);
    ek_memory memory = predict(job);
    assert_int_equal(memory.n_stages, job->plan.n_stages);
    for (int s = 0; s < memory.n_stages; s++)
        compare_stage(job, programs, &memory.stage[s], s, blocks + (size_t)s * n_blocks, n_blocks);
    ek_memory_clear(&memory);
    free(blocks);
    ek__job_programs_free(programs);
}

static void random_jobs(void **state)
{
    (void)state;
    enum { N = 600, SEED = 20250704 };
    for (int i = 0; i < N; i++) {
        ek__random random = ek__random_seed(SEED + (uint64_t)i);
        ek_job job = random_job(&random);
        print_message("# seed %d: %s, %d stages, %d chunks\n", SEED + i, job.schedule->name, job.plan.n_stages,
                      job.plan.n_chunks);
        compare(&job);
        ek_job_clear(&job);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        {"peaks and parts of random jobs are those of replaying every event", random_jobs, NULL, NULL, NULL},
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
