/* Tests runs that are given twice, as a row of a table of measured runs and as a file of its framework: both must be
 * the same job, in every field that time or memory depends on, and have the same step on a shipped device, bit for
 * bit. */
#include "input.h"

#include <math.h>

#include "evenkeel/calibrate.h"
#include "evenkeel/cost.h"
#include "job/job_internal.h"

/* ---- reading ---- */

static ek_measured_runs row_of(const char *columns, const char *cells)
{
    char text[4096];
    ek_measured_runs runs;
    ek_error err = {0};
    snprintf(text, sizeof text, "%s,step_time_s\n%s,1\n", columns, cells);
    if (ek_run_table_parse("table.csv", text, strlen(text), NULL, &runs, &err) != EK_OK)
        fail_msg("%s:%d:%d: %s\n%s", err.file, err.line, err.column, err.message, text);
    assert_int_equal(runs.n, 1);
    if (!runs.run[0].has_job)
        fail_msg("no job: %s", runs.run[0].why);
    return runs;
}

static ek_job file_of(const char *name, const char *text)
{
    ek_job job;
    ek__job_step step;
    ek_error err = {0};
    if (ek__job_parse(name, text, strlen(text), NULL, NULL, &job, &step, &err) != EK_OK)
        fail_msg("%s:%d:%d: %s\n%s", err.file, err.line, err.column, err.message, text);
    return job;
}

/* ---- field by field ---- */

#define MODEL(X)                                                                                                       \
    X(model.n_layers)                                                                                                  \
    X(model.hidden)                                                                                                    \
    X(model.n_heads)                                                                                                   \
    X(model.n_kv_heads)                                                                                                \
    X(model.head_dim)                                                                                                  \
    X(model.value_dim)                                                                                                 \
    X(model.intermediate)                                                                                              \
    X(model.vocab)                                                                                                     \
    X(model.max_position)                                                                                              \
    X(model.gated)                                                                                                     \
    X(model.fused_swiglu)                                                                                              \
    X(model.gate_apart)                                                                                                \
    X(model.qkv_concat)                                                                                                \
    X(model.qkv_bias)                                                                                                  \
    X(model.linear_bias)                                                                                               \
    X(model.layer_norm)                                                                                                \
    X(model.qk_norm)                                                                                                   \
    X(model.tied)                                                                                                      \
    X(model.flash_attention)                                                                                           \
    X(model.mask_compressed)                                                                                           \
    X(model.mask_given)                                                                                                \
    X(model.no_mask)                                                                                                   \
    X(model.position_table)                                                                                            \
    X(model.hidden_dropout)                                                                                            \
    X(model.attention_dropout)                                                                                         \
    X(model.n_experts)
#define TYPES(X)                                                                                                       \
    X(framework)                                                                                                       \
    X(family)                                                                                                          \
    X(types.compute)                                                                                                   \
    X(types.param)                                                                                                     \
    X(types.embedding)                                                                                                 \
    X(types.norm)                                                                                                      \
    X(types.softmax)                                                                                                   \
    X(types.rotary)                                                                                                    \
    X(types.router)                                                                                                    \
    X(types.residual)
#define PARALLEL(X)                                                                                                    \
    X(parallel.data)                                                                                                   \
    X(parallel.tensor)                                                                                                 \
    X(parallel.pipeline)                                                                                               \
    X(parallel.context)                                                                                                \
    X(parallel.expert)                                                                                                 \
    X(parallel.batch)                                                                                                  \
    X(parallel.seq_length)                                                                                             \
    X(parallel.n_micro_batches)                                                                                        \
    X(parallel.n_accumulation)                                                                                         \
    X(parallel.n_batch_interleave)                                                                                     \
    X(parallel.n_pieces)                                                                                               \
    X(parallel.chunk_group)                                                                                            \
    X(parallel.fine_grain)                                                                                             \
    X(parallel.sequence_parallel)                                                                                      \
    X(parallel.table_split)                                                                                            \
    X(parallel.head_split)                                                                                             \
    X(parallel.context_algorithm)                                                                                      \
    X(parallel.ulysses)
#define STATES(X)                                                                                                      \
    X(states.weight)                                                                                                   \
    X(states.gradient)                                                                                                 \
    X(states.optimizer)                                                                                                \
    X(states.gathered)                                                                                                 \
    X(states.shard_weight)                                                                                             \
    X(states.shard_gradient)                                                                                           \
    X(states.shard_optimizer)                                                                                          \
    X(states.shard_table)                                                                                              \
    X(states.shard_size)                                                                                               \
    X(states.instances)                                                                                                \
    X(states.shard_threshold)                                                                                          \
    X(states.gathered_ahead)                                                                                           \
    X(states.scattered_bytes)                                                                                          \
    X(states.gathered_ends)
#define RUN(X)                                                                                                         \
    X(run.overlap_gradients)                                                                                           \
    X(run.overlap_weights)                                                                                             \
    X(run.overlap_tensor)                                                                                              \
    X(run.overlap_expert)                                                                                              \
    X(run.send_once)                                                                                                   \
    X(run.overlap_p2p)                                                                                                 \
    X(run.bucket_bytes)                                                                                                \
    X(run.reduce_bytes)                                                                                                \
    X(run.launch)                                                                                                      \
    X(run.fused_optimizer)                                                                                             \
    X(run.offload_optimizer)                                                                                           \
    X(run.fp8)                                                                                                         \
    X(run.fp8_gather)                                                                                                  \
    X(run.sums_every_micro_batch)                                                                                      \
    X(run.overlap_tensor_gradients)                                                                                    \
    X(run.overlap_shared)                                                                                              \
    X(run.overlap_p2p_interleaved)                                                                                     \
    X(run.context_uneven)                                                                                              \
    X(run.p2p_scattered)                                                                                               \
    X(run.layer_buckets)                                                                                               \
    X(run.first_stage_buckets)                                                                                         \
    X(run.owned_tensors)                                                                                               \
    X(run.attention)
#define REST(X)                                                                                                        \
    X(plan.n_stages)                                                                                                   \
    X(plan.n_chunks)                                                                                                   \
    X(schedule)                                                                                                        \
    X(full_group)                                                                                                      \
    X(n_patterns)

/* Fields and rules in which two jobs differ, one a line. */
static void list_differences(const ek_job *row, const ek_job *file, char *out, size_t size)
{
    size_t n = 0;
    out[0] = '\0';
#define COMPARE(field)                                                                                                 \
    if (n < size && !(row->field == file->field))                                                                      \
        n += (size_t)snprintf(out + n, size - n, "%s: %.6g in the row, %.6g in the file\n", #field,                    \
                              (double)(uintptr_t)row->field, (double)(uintptr_t)file->field);
    MODEL(COMPARE)
    TYPES(COMPARE)
    PARALLEL(COMPARE)
    STATES(COMPARE)
    RUN(COMPARE)
    REST(COMPARE)
    for (int i = 0; ek_rule_names[i] && n < size; i++) {
        char a[64], b[64];
        ek_rules_get(&row->rules, ek_rule_names[i], a, sizeof a);
        ek_rules_get(&file->rules, ek_rule_names[i], b, sizeof b);
        if (strcmp(a, b) != 0)
            n +=
                (size_t)snprintf(out + n, size - n, "rule %s: %s in the row, %s in the file\n", ek_rule_names[i], a, b);
    }
    for (int c = 0; c < row->plan.n_stages * row->plan.n_chunks && n < size; c++)
        if (row->plan.layers[c] != file->plan.layers[c] || row->plan.full[c] != file->plan.full[c])
            n += (size_t)snprintf(out + n, size - n, "chunk %d: %d layers, %d whole in the row; %d, %d in the file\n",
                                  c, row->plan.layers[c], row->plan.full[c], file->plan.layers[c], file->plan.full[c]);
}

static void assert_same_step(const ek_job *row, const ek_job *file, const char *device)
{
    ek_step a, b;
    ek_error err = {0};
    if (ek_cost_step(row, ek_device_find(device), NULL, &a, &err) ||
        ek_cost_step(file, ek_device_find(device), NULL, &b, &err))
        fail_msg("%s", err.message);
    assert_true(a.seconds > 0);
    if (memcmp(&a.seconds, &b.seconds, sizeof a.seconds) != 0)
        fail_msg("the row takes %.17g s, the file %.17g s", a.seconds, b.seconds);
    ek_step_clear(&a);
    ek_step_clear(&b);
}

static void assert_same(const char *columns, const char *cells, const char *name, const char *text, const char *device)
{
    char different[4096];
    ek_measured_runs runs = row_of(columns, cells);
    ek_job file = file_of(name, text);
    list_differences(&runs.run[0].job, &file, different, sizeof different);
    if (different[0])
        fail_msg("%s\n%s\n%s", cells, text, different);
    assert_same_step(&runs.run[0].job, &file, device);
    ek_job_clear(&file);
    ek_measured_runs_clear(&runs);
}

/* ---- torchtitan ---- */

#define TITAN "framework,model,seq,gpus,tp,pp,vpp,cp,local_batch,recompute,precision"
#define TOML(flavor, converters, batch, length)                                                                        \
    "[model]\nname = \"llama3\"\nflavor = \"" flavor "\"\nconverters = [" converters                                   \
    "]\n[training]\nlocal_batch_size = " batch "\nseq_len = " length "\n"
#define FULL        "[activation_checkpoint]\nmode = \"full\"\n"
#define BY_OPERATOR "[activation_checkpoint]\nmode = \"selective\"\nselective_ac_option = \"op\"\n"
#define KEEP        "[activation_checkpoint]\nmode = \"none\"\n"
#define COMPILE     "[compile]\nenable = true\n"

static void torchtitan_rows_are_its_files(void **state)
{
    (void)state;
    static const struct {
        const char *row, *file;
    } cases[] = {
        {"torchtitan,Llama3-8B,4096,16,1,1,1,1,3,none,bf16 eager",
         TOML("8B", "", "3", "4096") "[parallelism]\ndata_parallel_shard_degree = 16\n" KEEP},
        {"torchtitan,Llama3-8B,4096,16,1,1,1,1,3,selective,bf16 compile",
         TOML("8B", "", "3", "4096") "[parallelism]\ndata_parallel_shard_degree = 16\n" BY_OPERATOR COMPILE},
        {"torchtitan-2024,Llama3-8B,4096,16,1,1,1,1,3,selective,bf16 compile",
         TOML("8B", "", "3", "4096") "[parallelism]\ndata_parallel_shard_degree = 16\n" BY_OPERATOR COMPILE
                                     "components = [\"model\"]\n"},
        {"torchtitan,Llama3-8B,4096,32,8,1,1,1,6,per-op SAC,float8 tensorwise async TP",
         TOML("8B", "\"float8\"", "6", "4096") "[parallelism]\ndata_parallel_shard_degree = 4\n"
                                               "tensor_parallel_degree = 8\nenable_async_tensor_parallel = true\n"
                                               "[float8]\nenable_fsdp_float8_all_gather = true\n" BY_OPERATOR COMPILE},
        {"torchtitan,Llama3-8B,4096,32,8,1,1,1,6,full,float8 rowwise async TP",
         TOML("8B", "\"float8\"", "6", "4096") "[parallelism]\ndata_parallel_shard_degree = 4\n"
                                               "tensor_parallel_degree = 8\nenable_async_tensor_parallel = true\n"
                                               "[float8]\nrecipe_name = \"rowwise\"\n" FULL COMPILE},
        {"torchtitan,Llama3-70B,32768,64,8,1,1,4,1,full,bf16 compile",
         TOML("70B", "", "1", "32768") "[parallelism]\ndata_parallel_shard_degree = 2\ntensor_parallel_degree = 8\n"
                                       "context_parallel_degree = 4\n" FULL COMPILE},
        {"torchtitan,Llama3-70B,8192,64,4,4,1,1,8,full,bf16 compile",
         TOML("70B", "", "8", "8192") "[parallelism]\ndata_parallel_shard_degree = 4\ntensor_parallel_degree = 4\n"
                                      "pipeline_parallel_degree = 4\npipeline_parallel_schedule = \"1F1B\"\n"
                                      "pipeline_parallel_microbatch_size = 2\n" FULL COMPILE},
        {"torchtitan,Llama3.1-405B,8192,256,8,8,2,1,16,full,float8 compile",
         TOML("405B", "\"float8\"", "16", "8192") "[parallelism]\ndata_parallel_shard_degree = 4\n"
                                                  "tensor_parallel_degree = 8\npipeline_parallel_degree = 8\n"
                                                  "pipeline_parallel_schedule = \"Interleaved1F1B\"\n"
                                                  "pipeline_parallel_microbatch_size = 2\n"
                                                  "[float8]\nenable_fsdp_float8_all_gather = true\n" FULL COMPILE},
        {"torchtitan,Llama3-8B,2048,1,1,1,1,1,1,none,bf16 compile",
         TOML("8B", "", "1", "2048") "[parallelism]\ndata_parallel_shard_degree = 1\n" KEEP COMPILE},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_same(TITAN, cases[i].row, "job.toml", cases[i].file, "H100");
}

/* ---- Megatron ---- */

#define LAYOUT                                                                                                         \
    "framework,layers,hidden,heads,kv_heads,ffn_hidden,vocab,seq,gpus,tp,pp,vpp,cp,ep,micro_batch,num_microbatches"
#define SHAPE                                                                                                          \
    "--num-layers 16 --hidden-size 4096 --ffn-hidden-size 11008 --num-attention-heads 32 --group-query-attention "     \
    "--num-query-groups 8 --padded-vocab-size 32000 --seq-length 4096 --max-position-embeddings 4096 --swiglu "        \
    "--normalization RMSNorm --disable-bias-linear --untie-embeddings-and-output-weights --position-embedding-type "   \
    "rope --attention-dropout 0 --hidden-dropout 0 --bf16 --transformer-impl transformer_engine "                      \
    "--cross-entropy-loss-fusion "

static void megatron_rows_are_its_scripts(void **state)
{
    (void)state;
    static const struct {
        const char *columns, *row, *file;
    } cases[] = {
        {"", "8,1,1,1,1,1,2,4", SHAPE "--micro-batch-size 2 --global-batch-size 64 --data-parallel-size 8"},
        {",zero,seq_parallel,recompute", "32,4,4,2,1,1,1,8,1,yes,selective attention",
         SHAPE "--tensor-model-parallel-size 4 --pipeline-model-parallel-size 4 --sequence-parallel "
               "--num-layers-per-virtual-pipeline-stage 2 --micro-batch-size 1 --global-batch-size 16 "
               "--data-parallel-size 2 --use-distributed-optimizer --recompute-granularity selective"},
        {",recompute,precision", "16,2,1,1,2,1,1,4,full,fp8",
         SHAPE "--tensor-model-parallel-size 2 --context-parallel-size 2 --micro-batch-size 1 --global-batch-size 16 "
               "--data-parallel-size 4 --recompute-granularity full --recompute-method uniform "
               "--recompute-num-layers 1 --fp8-format hybrid"},
        {",zero", "16,1,1,1,1,1,1,2,2",
         SHAPE "--micro-batch-size 1 --global-batch-size 32 --data-parallel-size 16 --use-megatron-fsdp "
               "--use-distributed-optimizer --data-parallel-sharding-strategy optim_grads"},
        {",zero", "16,1,1,1,1,1,1,2,3",
         SHAPE "--micro-batch-size 1 --global-batch-size 32 --data-parallel-size 16 --use-megatron-fsdp "
               "--use-distributed-optimizer --data-parallel-sharding-strategy optim_grads_params"},
        {",fsdp", "16,1,1,1,1,1,1,2,yes",
         SHAPE "--micro-batch-size 1 --global-batch-size 32 --data-parallel-size 16 --use-torch-fsdp2"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char columns[512], row[512];
        snprintf(columns, sizeof columns, LAYOUT "%s", cases[i].columns);
        snprintf(row, sizeof row, "megatron,16,4096,32,8,11008,32000,4096,%s", cases[i].row);
        assert_same(columns, row, "job.sh", cases[i].file, "H100");
    }
}

/* ---- MindFormers ---- */

static void mindformers_rows_are_its_files(void **state)
{
    (void)state;
    static const char columns[] =
        "framework,layers,hidden,heads,kv_heads,ffn_or_mult,vocab,seq,dp,tp,pp,vocab_emb_dp,micro_batch_num,batch_size,"
        "use_seq_parallel,optimizer_shard,recompute,select_recompute,offset,precision";
    static const char row[] = "mindformers,16,4096,32,8,11008,32000,4096,2,4,4,False,8,1,True,True,\"[3, 2, 1, 0]\","
                              "False,0,bf16";
    static const char file[] =
        "context:\n  mode: 0\nuse_parallel: True\nparallel:\n  parallel_mode: 1\n  full_batch: True\n"
        "  enable_parallel_optimizer: True\nrunner_config:\n  batch_size: 1\n"
        "parallel_config:\n  data_parallel: 2\n  model_parallel: 4\n  pipeline_stage: 4\n  micro_batch_num: 8\n"
        "  use_seq_parallel: True\n  vocab_emb_dp: False\n"
        "recompute_config:\n  recompute: [3, 2, 1, 0]\n  select_recompute: False\n"
        "model:\n  model_config:\n    type: LlamaConfig\n    num_layers: 16\n    hidden_size: 4096\n    num_heads: 32\n"
        "    n_kv_heads: 8\n    intermediate_size: 11008\n    vocab_size: 32000\n    seq_length: 4096\n"
        "    use_flash_attention: True\n    compute_dtype: bfloat16\n    param_init_type: bfloat16\n"
        "    softmax_compute_type: float32\n    layernorm_compute_type: float32\n";
    assert_same(columns, row, "job.yaml", file, "Atlas 800T A2");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(torchtitan_rows_are_its_files),
        cmocka_unit_test(megatron_rows_are_its_scripts),
        cmocka_unit_test(mindformers_rows_are_its_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
