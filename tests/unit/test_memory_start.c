/* Tests the allocations of a Megatron job around its first step against the known memory of the stage: bytes by phase
 * on random jobs, the parts of ranks of the distributed optimizer by hand, and reserved bytes above those in use. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "memory/start.h"
#include "memory_replay.h"

static ek_job megatron(int p, int data)
{
    ek_job job = plain_job(p, 1, 3, 4);
    job.framework = EK_MEGATRON;
    job.family = EK_FAMILY_MEGATRON;
    job.rules = ek_rules_default(EK_MEGATRON);
    job.model.qkv_concat = job.model.fused_swiglu = true;
    job.types.param = job.types.embedding = job.types.norm = EK_BF16;
    job.parallel.data = data;
    job.states = (ek_job_states){
        .weight = 2, .gradient = 4, .optimizer = 12, .shard_optimizer = true, .shard_table = true, .shard_size = -1};
    return job;
}

/* A random job as Megatron has them: flat buffers of all parameters, of which the optimizer's states are shared. */
static ek_job random_megatron(uint64_t seed)
{
    ek__random random = ek__random_seed(seed);
    ek_job job = random_job(&random);
    job.states.shard_weight = job.states.shard_gradient = false;
    job.states.shard_table = true;
    job.states.shard_threshold = 0;
    job.states.shard_size = -1;
    job.states.gradient = 4;
    job.states.optimizer = job.types.param == EK_FP32 ? 8 : 12;
    return job;
}

static ek__start start_of(const ek_job *job, int stage, double where, ek__persistent_bytes *bytes, int64_t *other)
{
    ek_error err;
    ek__job_programs *programs;
    ek__start start = {0};
    if (ek__job_programs_new(job, &programs, &err) || ek__start_new(job, programs, stage, where, &start, &err))
        fail_msg("%s", err.message);
    *bytes = ek__stage_persistent(job, programs, stage);
    *other = ek__stage_other(job, programs, stage);
    ek__job_programs_free(programs);
    return start;
}

static int64_t sum(const ek__start *start, ek__start_phase phase)
{
    int64_t all = 0;
    for (size_t i = 0; i < start->n[phase]; i++)
        all += start->bytes[phase][i];
    return all;
}

/* Each tensor is rounded up by itself, so sums differ by at most 512 bytes for each of either side. */
static void assert_close_to(int64_t a, int64_t b, size_t n_tensors)
{
    int64_t difference = a > b ? a - b : b - a;
    if (difference > 512 * (int64_t)(n_tensors + 1))
        fail_msg("%lld bytes, expected %lld", (long long)a, (long long)b);
}

static void phases_come_to_what_the_stage_holds(void **state)
{
    (void)state;
    int n_megatron = 0, n_copies = 0;
    for (uint64_t seed = 0; seed < 400; seed++) {
        ek_job job = random_megatron(seed);
        for (int s = 0; ek__starts_as_megatron(&job) && s < job.plan.n_stages; s++, n_megatron++) {
            ek__persistent_bytes bytes;
            int64_t other;
            ek__start start = start_of(&job, s, (double)(seed % 4) / 3, &bytes, &other);
            /* Parameters of many experts are separate tensors here, one there. */
            size_t n = 64 * start.n[EK__START_WEIGHTS] + 64;
            assert_int_equal(start.gives_weights, job.states.shard_optimizer);
            const int64_t copies = sum(&start, EK__START_COPIES), stored = bytes.weight - copies;
            n_copies += copies > 0;
            assert_close_to(sum(&start, EK__START_WEIGHTS), stored, n);
            assert_close_to(sum(&start, EK__START_BUFFERS), bytes.gradient + (job.states.shard_optimizer ? stored : 0),
                            n);
            assert_close_to(sum(&start, EK__START_MASTERS) + sum(&start, EK__START_STATES), bytes.optimizer, n);
            assert_true(sum(&start, EK__START_WORKSPACES) + sum(&start, EK__START_DUMMIES) <=
                        other + (INT64_C(1) << 20));
            ek__start_clear(&start);
        }
        ek_job_clear(&job);
    }
    assert_true(n_megatron > 30 && n_copies > 5);
}

/* Stage 0 of two: the table 1024 x 256 and three layers. Two ranks: the first has the last half of the modules. */
static void a_rank_has_its_part_of_the_buffer(void **state)
{
    (void)state;
    ek_job job = megatron(2, 2);
    ek__persistent_bytes bytes;
    int64_t other;
    ek__start start = start_of(&job, 0, 0, &bytes, &other);
    const int64_t layer = 512 * 256 + 256 * 256 + 1024 * 256 + 256 * 512 + 2 * 256, all = 1024 * 256 + 3 * layer;
    assert_int_equal(start.n[EK__START_WEIGHTS], 1 + 3 * 6);
    assert_int_equal(sum(&start, EK__START_WEIGHTS), 2 * all);
    assert_int_equal(start.n[EK__START_BUFFERS], 2);
    assert_int_equal(start.bytes[EK__START_BUFFERS][0], 2 * all);
    assert_int_equal(start.bytes[EK__START_BUFFERS][1], 4 * all);
    /* From the end: the last layer's down, up and norm, ...; the weight in the middle is cut. */
    assert_int_equal(start.bytes[EK__START_MASTERS][0], 4 * 256 * 512);
    assert_int_equal(sum(&start, EK__START_MASTERS), 4 * all / 2);
    assert_int_equal(start.n[EK__START_STATES], 2 * start.n[EK__START_MASTERS]);
    assert_int_equal(sum(&start, EK__START_STATES), 8 * all / 2);
    ek__start_clear(&start);
    /* The last rank ends with the table. */
    start = start_of(&job, 0, 1, &bytes, &other);
    assert_int_equal(sum(&start, EK__START_MASTERS), 4 * all / 2);
    assert_int_equal(start.bytes[EK__START_MASTERS][start.n[EK__START_MASTERS] - 1], 4 * 1024 * 256);
    ek__start_clear(&start);
    assert_int_equal(ek__start_ranks(&job), 2);
    job.states.shard_optimizer = false;
    assert_int_equal(ek__start_ranks(&job), 1);
    start = start_of(&job, 0, 0, &bytes, &other);
    assert_false(start.gives_weights);
    assert_int_equal(start.n[EK__START_BUFFERS], 1);
    assert_int_equal(sum(&start, EK__START_MASTERS), 4 * all);
    ek__start_clear(&start);
    ek_job_clear(&job);
}

/* The table is allocated once where its stage also has the head, and again where the head is on another stage. */
static void a_tied_head_needs_the_table_where_it_has_none(void **state)
{
    (void)state;
    const int64_t table = 1024 * 256, layer = 512 * 256 + 256 * 256 + 1024 * 256 + 256 * 512 + 2 * 256, norm = 256;
    for (int tied = 0; tied < 2; tied++)
        for (int p = 1; p <= 2; p++) {
            ek_job job = megatron(p, 1);
            job.model.tied = tied;
            ek__persistent_bytes bytes;
            int64_t other;
            ek__start start = start_of(&job, p - 1, 0, &bytes, &other);
            assert_int_equal(sum(&start, EK__START_WEIGHTS),
                             2 * (3 * layer + norm + (p == 1 && !tied ? 2 : 1) * table));
            ek__start_clear(&start);
            ek_job_clear(&job);
        }
}

static void reserved_is_no_less_than_allocated(void **state)
{
    (void)state;
    int n = 0;
    for (uint64_t seed = 1000; seed < 1300; seed++) {
        ek_job job = random_megatron(seed);
        ek_memory memory;
        ek_error err;
        if (ek__starts_as_megatron(&job)) {
            if (ek_memory_predict(&job, NULL, &memory, &err))
                fail_msg("%s", err.message);
            for (int s = 0; s < memory.n_stages; s++, n++)
                if (memory.stage[s].actual_peak < memory.stage[s].used_peak - (512 << 10))
                    fail_msg("seed %d, stage %d: %lld reserved, %lld allocated", (int)seed, s,
                             (long long)memory.stage[s].actual_peak, (long long)memory.stage[s].used_peak);
            ek_memory_clear(&memory);
        }
        ek_job_clear(&job);
    }
    assert_true(n > 30);
}

/* The moments come when the first step is over. Placed before it, as other frameworks do, they would leave no holes. */
static void moments_fall_among_what_a_step_left(void **state)
{
    (void)state;
    ek_job job = megatron(1, 1);
    ek_memory memory[2];
    ek_error err;
    job.model.hidden = 4096;
    job.model.n_heads = job.model.n_kv_heads = 32;
    job.model.head_dim = job.model.value_dim = 128;
    job.model.intermediate = 11008;
    job.model.vocab = 32000;
    job.parallel.seq_length = job.model.max_position = 4096;
    for (int i = 0; i < 2; i++) {
        job.framework = i ? EK_MINDSPEED : EK_MEGATRON; /* the same otherwise */
        if (ek_memory_predict(&job, NULL, &memory[i], &err))
            fail_msg("%s", err.message);
    }
    assert_int_equal(memory[0].stage[0].used_peak, memory[1].stage[0].used_peak);
    assert_true(memory[0].stage[0].actual_peak > memory[1].stage[0].actual_peak);
    ek_memory_clear(&memory[0]);
    ek_memory_clear(&memory[1]);
    ek_job_clear(&job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(phases_come_to_what_the_stage_holds),
        cmocka_unit_test(a_rank_has_its_part_of_the_buffer),
        cmocka_unit_test(a_tied_head_needs_the_table_where_it_has_none),
        cmocka_unit_test(reserved_is_no_less_than_allocated),
        cmocka_unit_test(moments_fall_among_what_a_step_left),
    };
    return cmocka_run_group_tests_name("memory start", tests, NULL, NULL);
}
