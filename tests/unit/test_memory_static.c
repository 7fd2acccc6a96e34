/* Tests static bytes against worked figures: a 175B Llama's layer as published dry runs imply it, Qwen2.5-7B on two
 * stages (18 bytes a parameter), and the closed form of Korthikanti et al., arXiv 2205.05198; and the ranks that share
 * a parameter. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "job/job_internal.h"
#include "memory_replay.h"

static int64_t sum(ek__persistent_bytes b)
{
    return b.weight + b.gathered + b.gradient + b.optimizer;
}

static ek_job llama_175b(void)
{
    ek_job job = plain_job(16, 1, 6, 16);
    ek_job_model *m = &job.model;
    ek_job_parallel *p = &job.parallel;
    m->hidden = 12288;
    m->n_heads = 96;
    m->n_kv_heads = 16;
    m->head_dim = m->value_dim = 128;
    m->intermediate = 53248;
    m->vocab = 160000;
    m->max_position = p->seq_length = 8192;
    p->data = 128;
    p->tensor = p->table_split = p->head_split = 8;
    p->sequence_parallel = true;
    job.states.gathered = 4;
    job.states.shard_weight = job.states.shard_optimizer = true;
    job.states.shard_threshold = 64 << 10;
    return job;
}

static ek__persistent_bytes of_kind(const ek_job *job, ek__graph_kind kind)
{
    ek__graph g;
    ek__graph_build(job, kind, &g);
    return ek__graph_persistent(job, &g);
}

static void a_layer_of_175b(void **state)
{
    (void)state;
    ek_job job = llama_175b();
    /* 2 315 255 808 elements: 8 bytes whole and 12 cut over 128 ranks, of an eighth; gammas, 2 H x 16 bytes, whole. */
    int64_t matrices = INT64_C(2315255808) / 8, gammas = 2 * 12288 * 16;
    ek__persistent_bytes layer = of_kind(&job, EK__GRAPH_DENSE);
    assert_int_equal(sum(layer), matrices * 8 + matrices / 128 * 12 + gammas);
    assert_int_equal(sum(layer) >> 20, 2234);
    assert_int_equal(layer.gathered, matrices * 4);
    job.rules.gather_after_cast = true;
    assert_int_equal(of_kind(&job, EK__GRAPH_DENSE).gathered, matrices * ek_dtype_bytes(job.types.compute));
    job.rules.gather_after_cast = false;
    /* The table is whole: 16 bytes. */
    assert_int_equal(sum(of_kind(&job, EK__GRAPH_EMBEDDING)) >> 20, 3750);
    /* A vocabulary with a share of 8 ranks divisible by 128 makes the head's matrix one that is cut. */
    assert_int_equal((INT64_C(160000) / 8) % 128, 32);
    job.model.vocab = 159744;
    ek__persistent_bytes head = of_kind(&job, EK__GRAPH_HEAD);
    int64_t matrix = INT64_C(159744) * 12288 / 8;
    assert_int_equal(sum(head), matrix * 8 + matrix / 128 * 12 + 12288 * 16);
    ek_job_clear(&job);
}

static void qwen_on_two_stages(void **state)
{
    (void)state;
    ek_job job = plain_job(2, 1, 14, 2);
    ek_job_model *m = &job.model;
    job.framework = EK_MEGATRON;
    job.family = EK_FAMILY_MEGATRON;
    job.rules = ek_rules_default(EK_MEGATRON);
    job.types.param = job.types.embedding = job.types.norm = EK_BF16;
    m->hidden = 3584;
    m->n_heads = 28;
    m->n_kv_heads = 4;
    m->head_dim = m->value_dim = 128;
    m->intermediate = 18944;
    m->vocab = 152064;
    m->qkv_bias = true;
    job.parallel.tensor = job.parallel.table_split = job.parallel.head_split = 2;
    job.states = (ek_job_states){.weight = 2, .gradient = 4, .optimizer = 12, .shard_size = -1};
    ek_error err;
    ek__job_programs *programs;
    if (ek__job_programs_new(&job, &programs, &err))
        fail_msg("%s", err.message);
    /* 14 layers and the table: 1.904e9 elements, 32683.5 MiB, the total of the published launch script's figures. */
    int64_t layer = (2 * 3584 * 3584 + 2 * 3584 * 512 + 3 * 3584 * 18944 + 3584 + 2 * 512) / 2 + 2 * 3584;
    assert_int_equal(sum(ek__stage_persistent(&job, programs, 0)), 18 * (14 * layer + INT64_C(152064) * 3584 / 2));
    ek__job_programs_free(programs);
    ek_job_clear(&job);
}

/* 18 bytes x 12 L h^2 / (t p): 22B, 175B, 530B, 1T of the paper, GiB. */
static void korthikanti(void **state)
{
    (void)state;
    static const struct {
        int hidden, heads, layers, p;
        double gib;
    } cases[] = {{6144, 64, 48, 1, 45.5625},
                 {12288, 96, 96, 8, 45.5625},
                 {20480, 128, 105, 35, 31.640625},
                 {25600, 160, 128, 64, 32.958984375}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ek_job job = plain_job(cases[i].p, 1, 1, 64);
        job.framework = EK_MEGATRON;
        job.family = EK_FAMILY_MEGATRON;
        job.rules = ek_rules_default(EK_MEGATRON);
        job.types.param = job.types.norm = EK_FP16;
        job.model.hidden = cases[i].hidden;
        job.model.n_heads = job.model.n_kv_heads = cases[i].heads;
        job.model.head_dim = job.model.value_dim = cases[i].hidden / cases[i].heads;
        job.model.intermediate = 4 * cases[i].hidden;
        job.model.gated = false;
        job.parallel.tensor = 8;
        job.states = (ek_job_states){.weight = 2, .gradient = 4, .optimizer = 12, .shard_size = -1};
        ek__persistent_bytes layer = of_kind(&job, EK__GRAPH_DENSE);
        int64_t gammas = INT64_C(18) * 2 * cases[i].hidden;
        double gib = (double)(sum(layer) - gammas) * cases[i].layers / cases[i].p / 1073741824.0;
        assert_true(gib > cases[i].gib - 1e-9 && gib < cases[i].gib + 1e-9);
        ek_job_clear(&job);
    }
}

static void who_shares(void **state)
{
    (void)state;
    ek_job job = plain_job(1, 1, 1, 1);
    ek__parameter w = {.elements = 64 << 10, .first_dimension = 256, .dtype = EK_FP32, .copies = 1};
    job.parallel.data = 8;
    job.parallel.context = 2;
    job.parallel.tensor = 4;
    assert_int_equal(ek__parameter_shards(&job, &w), 16);
    w.copies = 4;
    assert_int_equal(ek__parameter_shards(&job, &w), 64);
    w.first_dimension = 96; /* 64 does not divide it, 32 of them do */
    assert_int_equal(ek__parameter_shards(&job, &w), 32);
    w.first_dimension = 81;
    assert_int_equal(ek__parameter_shards(&job, &w), 1);
    w.first_dimension = 256;
    job.states.shard_size = 4;
    assert_int_equal(ek__parameter_shards(&job, &w), 4);
    job.states.shard_size = 3; /* no divisor of the group: the whole group */
    assert_int_equal(ek__parameter_shards(&job, &w), 64);
    job.states.shard_size = -1;
    w.copies = 1;
    w.expert = true;
    job.parallel.expert = 4;
    assert_int_equal(ek__parameter_shards(&job, &w), 4);
    w.expert = false;
    w.table = true;
    assert_int_equal(ek__parameter_shards(&job, &w), 1);
    job.states.shard_table = true;
    job.parallel.table_split = 8; /* cut over t cp already: only d ranks share it */
    assert_int_equal(ek__parameter_shards(&job, &w), 8);
    w.table = false;
    w.exempt = true;
    assert_int_equal(ek__parameter_shards(&job, &w), 1);
    w.exempt = false;
    job.states.shard_threshold = 4 * (64 << 10) + 1;
    assert_int_equal(ek__parameter_shards(&job, &w), 1);
    job.states.shard_threshold--;
    assert_int_equal(ek__parameter_shards(&job, &w), 16);
    job.framework = EK_MEGATRON; /* flat buffers: shapes do not matter */
    w.first_dimension = 3;
    assert_int_equal(ek__parameter_shards(&job, &w), 16);
    ek_job_clear(&job);
}

static void constants(void **state)
{
    (void)state;
    ek_job job = plain_job(2, 1, 3, 2);
    int64_t rotary = 2 * 128 * 32 * 4 + 32 * 32 * 4;
    assert_int_equal(ek__stage_constants(&job, 0), (4 << 20) + rotary);
    assert_int_equal(ek__mask_bytes(&job), 0);
    job.model.mask_compressed = false;
    job.parallel.batch = 3;
    job.rules.mask_per_micro_batch = true;
    assert_int_equal(ek__stage_constants(&job, 0), 128 * 128 * 2 + rotary);
    assert_int_equal(ek__mask_bytes(&job), 3 * 128 * 128);
    job.rules.mask_per_micro_batch = false;
    assert_int_equal(ek__mask_bytes(&job), 0);
    /* Keys, values and a gradient of each, B K S / t bytes in compute type, for three layers. */
    job.parallel.n_pieces = 4;
    job.parallel.tensor = 2;
    assert_int_equal(ek__stage_constants(&job, 1), 128 * 128 * 2 + rotary + 3 * 4 * (3 * 128 * 128 / 2 * 2));
    job.model.position_table = true;
    assert_int_equal(ek__stage_constants(&job, 1), 128 * 128 * 2 + 3 * 4 * (3 * 128 * 128 / 2 * 2));
    job.plan.layers[1] = 0;
    assert_int_equal(ek__stage_constants(&job, 1), 0);
    ek_job_clear(&job);
}

/* Different types, and a head that shares the table where both are on one stage. */
static void types_and_tied_tables(void **state)
{
    (void)state;
    ek_job job = plain_job(1, 2, 2, 4);
    job.types.param = EK_BF16;
    job.states.weight = job.states.gradient = 2;
    /* norms' gammas are fp32: 4 + 4 + 8 bytes. */
    ek__parameter gamma = {.elements = 256, .first_dimension = 256, .dtype = EK_FP32, .copies = 1, .exempt = true};
    assert_int_equal(ek__state_bytes(&job, &gamma, 2), 4);
    assert_int_equal(ek__state_bytes(&job, &gamma, 8), 8);
    job.model.tied = true;
    job.parallel.pipeline = 2; /* as in a V, with both ends on the first stage */
    ek_error err;
    ek__job_programs *programs;
    if (ek__job_programs_new(&job, &programs, &err))
        fail_msg("%s", err.message);
    int64_t tied = sum(ek__stage_persistent(&job, programs, 0)), matrix = INT64_C(1024) * 256 * (2 + 2 + 8);
    ek__job_programs_free(programs);
    job.model.tied = false;
    if (ek__job_programs_new(&job, &programs, &err))
        fail_msg("%s", err.message);
    assert_int_equal(sum(ek__stage_persistent(&job, programs, 0)) - tied, matrix);
    ek__job_programs_free(programs);
    ek_job_clear(&job);
}

/* The used peak of one stage of a job with fp32 parameters and the table in use twice, or not. */
static int64_t used_peak(bool tied, int accumulation)
{
    ek_job job = plain_job(1, 1, 1, 1);
    job.types.param = job.types.embedding = EK_FP32;
    job.states.weight = 4;
    job.states.gradient = accumulation > 1 ? 4 : 0;
    job.parallel.n_accumulation = accumulation;
    job.model.vocab = 1 << 16; /* so that the peak is in the head */
    job.model.tied = tied;
    ek_error err;
    ek_memory memory;
    if (ek_memory_predict(&job, &(ek_memory_options){.without_allocation = true}, &memory, &err))
        fail_msg("%s", err.message);
    int64_t peak = memory.stage[0].used_peak;
    ek_memory_clear(&memory);
    ek_job_clear(&job);
    return peak;
}

/* On one stage a tied head saves the second matrix's memory of the step; casting it and its gradient stay. On the last
 * stage of more it is a copy that follows the table: whole where the table is not shared out. */
static void a_tied_head_works_as_any(void **state)
{
    (void)state;
    int64_t matrix = INT64_C(65536) * 256;
    assert_int_equal(used_peak(false, 2) - used_peak(true, 2), matrix * (4 + 4 + 8));
    assert_int_equal(used_peak(false, 1) - used_peak(true, 1), matrix * (4 + 8));
    ek_job job = plain_job(4, 1, 2, 4);
    job.parallel.data = 4;
    job.states.shard_weight = job.states.shard_optimizer = true;
    ek__parameter head = {.elements = matrix, .first_dimension = 65536, .dtype = EK_FP32, .copies = 1, .tied = true};
    for (int shared = 0; shared < 2; shared++) {
        job.states.shard_table = shared;
        assert_int_equal(ek__parameter_shards(&job, &head), shared ? 4 : 1);
    }
    ek_job_clear(&job);
}

/* States of parameters that every tensor rank has whole are shared by all ranks in MindSpore, and only by the data
 * ranks in Megatron; an expert that tensor parallelism does not cut is shared by all ranks that have it in both. */
static void copies_on_tensor_ranks(void **state)
{
    (void)state;
    ek_job job = plain_job(2, 1, 2, 2);
    job.parallel.data = 8;
    job.parallel.tensor = 4;
    job.parallel.expert = 2;
    ek__parameter router = {.elements = 1 << 20, .first_dimension = 64, .dtype = EK_FP32, .copies = 4};
    ek__parameter expert = router;
    expert.expert = true;
    assert_int_equal(ek__parameter_shards(&job, &router), 32);
    assert_int_equal(ek__parameter_shards(&job, &expert), 16);
    job.framework = EK_MEGATRON;
    job.states.shard_table = true;
    assert_int_equal(ek__parameter_shards(&job, &router), 8);
    assert_int_equal(ek__parameter_shards(&job, &expert), 16);
    router.table = true;
    job.parallel.table_split = 2;
    assert_int_equal(ek__parameter_shards(&job, &router), 8);
    ek_job_clear(&job);
}

/* A Megatron job with tensor parallelism and TransformerEngine's matrices. */
static ek_job megatron(int p)
{
    ek_job job = plain_job(p, 1, 3, 4);
    job.framework = EK_MEGATRON;
    job.family = EK_FAMILY_MEGATRON;
    job.rules = ek_rules_default(EK_MEGATRON);
    job.model.qkv_concat = true;
    job.model.fused_swiglu = true;
    job.types.param = job.types.embedding = job.types.norm = EK_BF16;
    job.parallel.tensor = job.parallel.table_split = job.parallel.head_split = 2;
    job.parallel.sequence_parallel = true;
    job.states = (ek_job_states){.weight = 2, .gradient = 4, .optimizer = 12, .shard_size = -1};
    return job;
}

static int64_t dummies(const ek_job *job, int stage)
{
    ek_error err;
    ek__job_programs *programs;
    int64_t bytes[EK__MAX_DUMMIES], all = 0;
    if (ek__job_programs_new(job, &programs, &err))
        fail_msg("%s", err.message);
    for (int i = ek__stage_dummies(job, programs, stage, bytes) - 1; i >= 0; i--)
        all += bytes[i];
    ek__job_programs_free(programs);
    return all;
}

/* H 256, K 128, I 512, V 1024 over 2 ranks: q, k and v 256 x 256, back 256 x 128, up 512 x 256, down 256 x 256. */
static void one_stand_in_for_each_shape(void **state)
{
    (void)state;
    ek_job job = megatron(2);
    const int64_t layer = 2 * (256 * 256 + 256 * 128 + 512 * 256), head = 2 * 512 * 256;
    /* q, k, v and down are of one shape; three layers count once, and the table has none. The head's matrix, 512 rows
     * of 256, is of the shape of up. */
    assert_int_equal(dummies(&job, 0), layer);
    assert_int_equal(dummies(&job, 1), layer);
    job.model.vocab = 2048;
    assert_int_equal(dummies(&job, 0), layer);
    assert_int_equal(dummies(&job, 1), layer + 2 * head);
    job.rules.weight_gradient_fused = false;
    assert_int_equal(dummies(&job, 1), 0);
    job.rules.weight_gradient_fused = true;
    job.rules.dummy_gradients = false;
    assert_int_equal(dummies(&job, 1), 0);
    ek_job_clear(&job);
}

/* Further memory of a stage: placeholders, workspace, constants, and the gathered input on the last stage, 128 x 256.
 */
static void buffers_that_stay_are_counted(void **state)
{
    (void)state;
    ek_job job = megatron(2);
    ek_error err;
    ek__job_programs *programs;
    int64_t expected = dummies(&job, 0) + (INT64_C(64) << 20) + ek__stage_constants(&job, 0);
    if (ek__job_programs_new(&job, &programs, &err))
        fail_msg("%s", err.message);
    assert_int_equal(ek__stage_other(&job, programs, 0), expected);
    assert_int_equal(ek__stage_other(&job, programs, 1), expected + 2 * 128 * 256);
    ek__job_programs_free(programs);
    ek_job_clear(&job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        {"a layer of 175B on 8 x 128 ranks has 2234 MiB, its table 3750", a_layer_of_175b, NULL, NULL, NULL},
        {"Qwen2.5-7B's first of two stages has 18 bytes for each of 1.904e9 elements", qwen_on_two_stages, NULL, NULL,
         NULL},
        {"GPT from 22B to 1T has the published gibibytes", korthikanti, NULL, NULL, NULL},
        {"who shares a parameter follows from copies, experts, shapes and settings", who_shares, NULL, NULL, NULL},
        {"masks, rotary tables and sequence caches", constants, NULL, NULL, NULL},
        {"copies on tensor ranks", copies_on_tensor_ranks, NULL, NULL, NULL},
        {"a tied head works as any", a_tied_head_works_as_any, NULL, NULL, NULL},
        {"one stand-in for each shape of weight", one_stand_in_for_each_shape, NULL, NULL, NULL},
        {"buffers that stay are counted", buffers_that_stay_are_counted, NULL, NULL, NULL},
        {"parameters of other types, and a table used twice", types_and_tied_tables, NULL, NULL, NULL},
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
