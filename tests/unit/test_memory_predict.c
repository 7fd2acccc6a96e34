/* Tests the peaks of whole stages against a naive replay of every event; micro-batches alive against the closed forms
 * of 1F1B, GPipe and interleaved schedules; growth of the cost; and the parts, places and limits of a prediction. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "effort.h"
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

static int seed; /* of the job at hand, for messages */

static void compare_stage(const ek_job *job, const ek__job_programs *programs, const ek_memory_stage *stage, int s,
                          const ek_block *blocks, size_t n_blocks)
{
    ek__persistent_bytes bytes = ek__stage_persistent(job, programs, s);
    replay_result naive = replay_stage(job, programs, s, blocks, n_blocks, NULL, NULL);
    int64_t part[EK_N_MEMORY_PARTS],
        sum = 0,
        there = bytes.weight + bytes.gathered + bytes.gradient + bytes.optimizer + ek__stage_other(job, programs, s);
    memcpy(part, naive.part, sizeof part);
    part[EK_PART_PARAMETERS] += bytes.weight + bytes.gathered;
    part[EK_PART_GRADIENTS] += bytes.gradient;
    part[EK_PART_OPTIMIZER] += bytes.optimizer;
    part[EK_PART_OTHER] += ek__stage_other(job, programs, s);
    if (stage->used_peak != there + naive.peak)
        fail_msg("seed %d, stage %d of %s: peak %lld, replayed %lld", seed, s, job->schedule->name,
                 (long long)stage->used_peak, (long long)(there + naive.peak));
    for (int i = 0; i < EK_N_MEMORY_PARTS; i++) {
        if (stage->part[i] != part[i])
            fail_msg("seed %d, stage %d of %s: %s %lld, replayed %lld", seed, s, job->schedule->name,
                     ek_memory_part_name[i], (long long)stage->part[i], (long long)part[i]);
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
    print_message("# seeds %d to %d\n", SEED, SEED + N - 1);
    for (int i = 0; i < effort(N, 100); i++) {
        seed = SEED + i;
        ek__random random = ek__random_seed((uint64_t)seed);
        ek_job job = random_job(&random);
        compare(&job);
        ek_job_clear(&job);
    }
}

/* ---- micro-batches alive ---- */

static void expect_alive(const char *schedule, int p, int v, int m, const double *expected)
{
    ek_job job = plain_job(p, v, 2, m);
    job.schedule = ek_schedule_find(schedule);
    job.model.vocab = 32; /* so that the loss is not the last stage's peak */
    ek_memory memory = predict(&job);
    for (int s = 0; s < p; s++)
        if (memory.stage[s].alive < expected[s] - 1e-9 || memory.stage[s].alive > expected[s] + 1e-9)
            fail_msg("%s, stage %d of %d: %g alive, expected %g", schedule, s, p, memory.stage[s].alive, expected[s]);
    ek_memory_clear(&memory);
    ek_job_clear(&job);
}

static void alive(void **state)
{
    (void)state;
    double expected[16];
    for (int p = 1; p <= 8; p *= 2)
        for (int m = p; m <= 4 * p; m += p) {
            for (int s = 0; s < p; s++)
                expected[s] = m < p - s ? m : p - s;
            expect_alive("1f1b", p, 1, m, expected);
            for (int s = 0; s < p; s++)
                expected[s] = m;
            expect_alive("gpipe", p, 1, m, expected);
        }
    /* Megatron's warm-up of an interleaved schedule: (v - 1) p + 2 (p - s - 1) + 1 chunks. */
    for (int p = 2; p <= 8; p *= 2)
        for (int v = 2; v <= 4; v++) {
            for (int s = 0; s < p; s++)
                expected[s] = (double)((v - 1) * p + 2 * (p - s - 1) + 1) / v;
            expect_alive("interleaved", p, v, 4 * p, expected);
        }
}

/* ---- content of a prediction ---- */

static void limits(void **state)
{
    (void)state;
    ek_job job = plain_job(4, 1, 2, 8);
    ek_memory memory = predict(&job);
    int64_t most = 0;
    for (int s = 0; s < 4; s++)
        most = memory.stage[s].used_peak > most ? memory.stage[s].used_peak : most;
    assert_int_equal(memory.stage[memory.fullest].used_peak, most);
    assert_true(memory.fits);
    assert_int_equal(memory.limit, 0);
    assert_true(memory.margin == EK_MEMORY_UNKNOWN);
    ek_memory_clear(&memory);
    job.limit_mb = (double)most / 1048576;
    memory = predict(&job);
    assert_true(memory.fits);
    assert_int_equal(memory.margin, 0);
    ek_memory_clear(&memory);
    job.limit_mb = (double)(most - 1) / 1048576;
    memory = predict(&job);
    assert_false(memory.fits);
    assert_int_equal(memory.margin, -1);
    ek_memory_clear(&memory);
    ek_job_clear(&job);
}

/* Each listed tensor is at most its part, sizes fall, and with every tensor small enough to be listed they add up. */
static void top_tensors(void **state)
{
    (void)state;
    ek_job job = plain_job(2, 1, 2, 4);
    ek_memory memory = predict(&job);
    for (int s = 0; s < 2; s++) {
        const ek_memory_stage *stage = &memory.stage[s];
        int64_t listed[EK_N_MEMORY_PARTS] = {0};
        assert_int_equal(stage->n_top, EK_N_TOP);
        for (int i = 0; i < stage->n_top; i++) {
            const ek_memory_tensor *top = &stage->top[i];
            listed[top->part] += top->bytes * top->count;
            assert_true(i == 0 || top->bytes * top->count <= stage->top[i - 1].bytes * stage->top[i - 1].count);
            for (int j = 0; j < i; j++)
                assert_false(strcmp(top->name, stage->top[j].name) == 0 && top->part == stage->top[j].part);
        }
        for (int i = 0; i < EK_N_MEMORY_PARTS; i++)
            assert_true(listed[i] <= stage->part[i]);
    }
    /* w1's output of two layers and two micro-batches on stage 0. */
    const ek_memory_stage *stage = &memory.stage[0];
    bool found = false;
    for (int i = 0; i < stage->n_top; i++)
        found = found || (strcmp(stage->top[i].name, "feed_forward.w1.matmul output") == 0 &&
                          stage->top[i].bytes == 128 * 512 * 2 && stage->top[i].count == 4);
    assert_true(found);
    ek_memory_clear(&memory);
    ek_job_clear(&job);
}

/* Kept bytes of one layer by recompute kind: the closed forms for flash attention, separate matrices, no reshapes. */
static void kinds_of_layers(void **state)
{
    (void)state;
    ek_job job = plain_job(2, 1, 2, 4);
    job.parallel.tensor = 2;
    job.parallel.table_split = job.parallel.head_split = 2;
    job.parallel.sequence_parallel = true;
    job.parallel.fine_grain = 2;
    ek_memory memory = predict(&job);
    assert_int_equal(memory.n_layer_kinds, 1);
    const ek_memory_layer *layer = &memory.layer_kind[0];
    int64_t t = 2, tokens = 128, local = 64, h = 256, k = 128, i = 512;
    int64_t none = 2 * (2 * local * h + 2 * tokens * h + tokens * (3 * h + 2 * k) / t + 4 * tokens * i / t) +
                   64 * (8 / t) * 128 + 2 * 512 /* statistics of two norms, 4 bytes a token, rounded up */;
    int64_t select = 4 * tokens * i / t, comm = 4 * (tokens - local) * h;
    assert_int_equal(layer->kept[EK_RECOMPUTE_NONE], none);
    assert_int_equal(layer->kept[EK_RECOMPUTE_SELECT], none - select);
    assert_int_equal(layer->kept[EK_RECOMPUTE_COMM], none - comm);
    assert_int_equal(layer->kept[EK_RECOMPUTE_BOTH], none - select - comm);
    assert_int_equal(layer->kept[EK_RECOMPUTE_FULL], 2 * local * h);
    for (int r = EK_RECOMPUTE_SELECT; r < EK_N_RECOMPUTE; r++)
        assert_true(layer->transient[r] >= layer->transient[EK_RECOMPUTE_NONE]);
    ek_memory_clear(&memory);
    ek_job_clear(&job);
}

/* Without its own patterns a job's kinds are those of its framework: the newer models and MindSpeed-Core-MS recompute
 * the activation with its product, two tensors of tokens x intermediate; Megatron its attention's core, which keeps no
 * scores where it is fused. */
static void kinds_without_patterns(void **state)
{
    (void)state;
    static const struct {
        ek_framework framework;
        int64_t saved;
    } cases[] = {{EK_MINDFORMERS_MCORE, 4 * 128 * 512}, {EK_MINDSPEED, 4 * 128 * 512}, {EK_MEGATRON, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ek_job job = plain_job(2, 1, 2, 4);
        assert_int_equal(job.n_patterns, 0);
        job.framework = cases[i].framework;
        job.family = EK_FAMILY_MEGATRON;
        ek_memory memory = predict(&job);
        const int64_t *kept = memory.layer_kind[0].kept;
        assert_int_equal(kept[EK_RECOMPUTE_NONE] - kept[EK_RECOMPUTE_SELECT], cases[i].saved);
        ek_memory_clear(&memory);
        ek_job_clear(&job);
    }
}

static ek__job_programs *programs_of(const ek_job *job)
{
    ek_error err;
    ek__job_programs *programs;
    if (ek__job_programs_new(job, &programs, &err))
        fail_msg("%s", err.message);
    return programs;
}

/* Layers recomputed in groups of two keep every second input. When the second one's gradients run, the inputs of the
 * first one's are in memory as well, and the input between them. */
static void groups(void **state)
{
    (void)state;
    ek_job job = plain_job(2, 1, 4, 4);
    for (int c = 0; c < 2; c++)
        job.plan.full[c] = 4;
    ek_memory memory = predict(&job);
    int64_t input = 2 * 128 * 256, none = memory.layer_kind[0].kept[EK_RECOMPUTE_NONE];
    ek_memory_clear(&memory);
    ek__job_programs *one = programs_of(&job);
    job.full_group = 2;
    ek__job_programs *two = programs_of(&job);
    assert_int_equal(one->chunk[0].block[EK_FORWARD].end, 4 * input);
    assert_int_equal(two->chunk[0].block[EK_FORWARD].end, 2 * input);
    assert_int_equal(two->chunk[0].block[EK_BACKWARD].peak, one->chunk[0].block[EK_BACKWARD].peak + none);
    job.full_group = 4;
    ek__job_programs *four = programs_of(&job);
    assert_int_equal(four->chunk[0].block[EK_FORWARD].end, input);
    assert_int_equal(four->chunk[0].block[EK_BACKWARD].peak, one->chunk[0].block[EK_BACKWARD].peak + 3 * none);
    ek__job_programs_free(one);
    ek__job_programs_free(two);
    ek__job_programs_free(four);
    ek_job_clear(&job);
}

/* An order that deadlocks is refused as such. */
static void refused(void **state)
{
    (void)state;
    ek_job job = plain_job(3, 3, 1, 10);
    job.schedule = ek_schedule_find("interleaved-less-memory");
    ek_memory memory = {.n_stages = -7};
    ek_error err;
    assert_int_equal(ek_memory_predict(&job, NULL, &memory, &err), EK_ERR_INPUT);
    assert_non_null(strstr(err.message, "deadlock"));
    assert_int_equal(memory.n_stages, -7);
    ek_job_clear(&job);
}

/* ---- cost ---- */

static double seconds(int p, int v, int layers_a_chunk, int m)
{
    ek_job job = plain_job(p, v, layers_a_chunk, m);
    static const ek_memory_options bare = {.without_allocation = true, .without_top = true};
    double best = 1e9;
    for (int i = 0; i < 7; i++) {
        struct timespec from, to;
        ek_error err;
        ek_memory memory;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &from);
        if (ek_memory_predict(&job, &bare, &memory, &err))
            fail_msg("%s", err.message);
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &to);
        ek_memory_clear(&memory);
        double took = (double)(to.tv_sec - from.tv_sec) + 1e-9 * (double)(to.tv_nsec - from.tv_nsec);
        best = took < best ? took : best;
    }
    ek_job_clear(&job);
    return best;
}

/* Four times as many of one thing take at most eight times as long; an order of growth above linear would show. */
static void growth(void **state)
{
    (void)state;
    print_message("# 128 layers on 16 stages of 4 chunks, 64 micro-batches: %.3f ms\n", 1e3 * seconds(16, 4, 2, 64));
    double layers[] = {seconds(8, 2, 16, 16), seconds(8, 2, 64, 16)};
    double micro_batches[] = {seconds(8, 2, 2, 256), seconds(8, 2, 2, 1024)};
    double stages[] = {seconds(32, 2, 2, 128), seconds(128, 2, 2, 128)};
    assert_true(layers[1] < 8 * layers[0]);
    assert_true(micro_batches[1] < 8 * micro_batches[0]);
    assert_true(stages[1] < 8 * stages[0]);
}

static void check_course(const ek_job *job)
{
    ek_memory_course course;
    ek__job_programs *programs;
    ek_block *blocks;
    ek_error err;
    size_t n;
    if (ek_memory_course_of(job, &course, &err) != EK_OK)
        fail_msg("%s", err.message);
    assert_int_equal(ek__job_programs_new(job, &programs, &err), EK_OK);
    assert_int_equal(ek__job_order(job, &blocks, &n, &err), EK_OK);
    assert_int_equal(course.n_blocks, n);
    replay_moment *is = calloc(n + 1, sizeof *is);
    for (int s = 0; s < course.n_stages; s++) {
        const ek_memory_moment *moment = course.moment + (size_t)s * n;
        replay_course(job, programs, s, blocks + (size_t)s * n, n, is);
        for (size_t k = 0; k < n; k++) {
            assert_int_equal(moment[k].peak - course.whole_step[s], is[k].peak);
            assert_int_equal(moment[k].after - course.whole_step[s], is[k].after);
        }
    }
    free(is);
    free(blocks);
    ek__job_programs_free(programs);
    ek_memory_course_clear(&course);
}

static void memory_block_by_block_is_that_of_a_replay(void **state)
{
    (void)state;
    ek__random random = ek__random_seed(7);
    for (int i = 0; i < 40; i++) {
        ek_job job = random_job(&random);
        ek_memory memory;
        ek_error err;
        check_course(&job);
        assert_int_equal(ek_memory_predict(&job, NULL, &memory, &err), EK_OK);
        ek_memory_course course;
        assert_int_equal(ek_memory_course_of(&job, &course, &err), EK_OK);
        for (int s = 0; s < memory.n_stages; s++) {
            int64_t most = 0;
            for (size_t k = 0; k < course.n_blocks; k++)
                most = course.moment[(size_t)s * course.n_blocks + k].peak > most
                           ? course.moment[(size_t)s * course.n_blocks + k].peak
                           : most;
            assert_int_equal(most, memory.stage[s].used_peak);
        }
        ek_memory_course_clear(&course);
        ek_memory_clear(&memory);
        ek_job_clear(&job);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        {"peaks and parts of random jobs are those of replaying every event", random_jobs, NULL, NULL, NULL},
        {"micro-batches alive are those of 1F1B, GPipe and interleaved schedules", alive, NULL, NULL, NULL},
        {"limit, margin and the fullest stage", limits, NULL, NULL, NULL},
        {"the largest tensors are listed once, in order of size", top_tensors, NULL, NULL, NULL},
        {"a layer's kept bytes by kind are the closed forms", kinds_of_layers, NULL, NULL, NULL},
        {"kinds of layers recompute what their framework does", kinds_without_patterns, NULL, NULL, NULL},
        {"layers recomputed in groups keep fewer inputs and bring more back", groups, NULL, NULL, NULL},
        {"a schedule without an order is refused, and nothing written", refused, NULL, NULL, NULL},
        {"the cost grows with layers, micro-batches and stages no faster than they do", growth, NULL, NULL, NULL},
        cmocka_unit_test(memory_block_by_block_is_that_of_a_replay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
