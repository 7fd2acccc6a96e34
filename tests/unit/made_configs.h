/* tests/unit/made_configs.h - training files of every framework made for tests: each has some settings that others must
 * not contradict. list_all() lists them with the shipped ones, those of the tests, and published ones where
 * available. */
#ifndef EK_TESTS_MADE_CONFIGS_H
#define EK_TESTS_MADE_CONFIGS_H

#include "configs.h"
#include "tree.h"

/* Files that hold, each, some settings that others must not contradict. */
static const char arguments[] = "--num-layers 24 --hidden-size 2048 --num-attention-heads 16 --seq-length 32768 "
                                "--vocab-size 50257 --bf16 --use-flash-attn --micro-batch-size 2 ";
static const char *const more_arguments[] = {
    "--data-parallel-size 16",
    "--data-parallel-size 128 --global-batch-size 1024 --overlap-grad-reduce --overlap-param-gather",
    "--nproc_per_node 8 --nnodes 4 --sequence-parallel --global-batch-size 64",
    "--nproc_per_node 8 --nnodes 4 --tensor-model-parallel-size 2 --tp-comm-overlap --pipeline-model-parallel-size 2 "
    "--recompute-granularity full --recompute-method uniform --recompute-num-layers 2",
    "--data-parallel-size 8 --pipeline-model-parallel-size 2 --global-batch-size 128 "
    "--num-layers-per-virtual-pipeline-stage 6 --recompute-granularity full --recompute-method block "
    "--recompute-num-layers 5",
    "--data-parallel-size 8 --pipeline-model-parallel-size 2 --global-batch-size 128 "
    "--num-virtual-stages-per-pipeline-rank 2 --recompute-granularity selective --use-distributed-optimizer "
    "--num-distributed-optimizer-instances 2",
    "--data-parallel-size 8 --pipeline-model-parallel-size 4 --global-batch-size 128 "
    "--decoder-first-pipeline-num-layers 4 --decoder-last-pipeline-num-layers 4 --recompute-activations",
    "--data-parallel-size 8 --pipeline-model-parallel-size 2 --global-batch-size 128 "
    "--account-for-loss-in-pipeline-split "
    "--account-for-embedding-in-pipeline-split --num-layers 22 --recompute-activation-function",
    "--data-parallel-size 8 --pipeline-model-parallel-size 2 --global-batch-size 128 --num-layer-list 13,11 "
    "--recompute-granularity full --recompute-method block --recompute-num-layers 12",
    "--data-parallel-size 8 --pipeline-model-parallel-size 2 --global-batch-size 128 --noop-layers 0,23",
    "--data-parallel-size 8 --pipeline-model-parallel-size 2 --global-batch-size 128 --schedules-method dualpipev",
    "--data-parallel-size 8 --pipeline-model-parallel-size 2 --global-batch-size 128 --zero-bubble-v-schedule "
    "--zero-bubble-v-schedule-mem-setup half --recompute-granularity full --recompute-method block "
    "--recompute-num-layers 2",
    "--data-parallel-size 16 --global-batch-size 128 --tensor-model-parallel-size 2 --num-experts 8 --moe-tp-extend-ep",
    "--data-parallel-size 16 --global-batch-size 128 --tensor-model-parallel-size 2 --num-experts 8 "
    "--expert-model-parallel-size 4 --expert-tensor-parallel-size 1 --moe-layer-recompute --sequence-parallel",
    "--data-parallel-size 16 --global-batch-size 128 --tensor-model-parallel-size 2 --use-megatron-fsdp "
    "--use-distributed-optimizer --data-parallel-sharding-strategy optim_grads_params",
    "--data-parallel-size 16 --global-batch-size 128 --context-parallel-size 2 --context-parallel-algo ulysses_cp_algo",
};

typedef struct mindformers {
    const char *parallel_config, *model, *recompute, *more, *parallel; /* parallel may be NULL */
} mindformers;

static const mindformers yamls[] = {
    {"data_parallel: 8, model_parallel: 1, pipeline_stage: 1", "", "recompute: True",
     "runner_config: {batch_size: 4, gradient_accumulation_steps: 2}", NULL},
    {"data_parallel: 8, model_parallel: 2, pipeline_stage: 2, micro_batch_num: 8, vocab_emb_dp: False",
     "offset: [1, -1]", "recompute: [13, 11]", "runner_config: {batch_size: 1}", NULL},
    {"data_parallel: 8, model_parallel: 2, pipeline_stage: 2, micro_batch_num: 8", "offset: 0",
     "recompute: [12, 12], select_recompute: [12, 12]", "runner_config: {batch_size: 2}", NULL},
    {"data_parallel: 8, model_parallel: 2, pipeline_stage: 2, micro_batch_num: 8, use_seq_parallel: True", "offset: 0",
     "recompute: False, select_recompute: {'feed_forward\\.mul': [12, 3], 'feed_forward\\.w1\\.activation\\.silu': "
     "True}, "
     "select_comm_recompute: ['.*\\.norm']",
     "runner_config: {batch_size: 2}", "parallel_optimizer_config: {optimizer_weight_shard_size: 4}"},
    {"data_parallel: 8, model_parallel: 2, pipeline_stage: 2, micro_batch_num: 8",
     "pp_interleave_num: 2, offset: [[1, 0], [0, -1]]",
     "recompute: [[7, 0], [0, 0]], select_recompute: [[7, 6], [6, 5]]", "runner_config: {batch_size: 1}",
     "pipeline_config: {pipeline_interleave: True}"},
    {"data_parallel: 8, model_parallel: 1, context_parallel: 2, context_parallel_algo: ulysses_cp, pipeline_stage: 1",
     "", "recompute: False, select_recompute: True", "runner_config: {batch_size: 1}", NULL},
    {"data_parallel: 8, model_parallel: 1, context_parallel: 4, context_parallel_algo: hybrid_cp, "
     "ulysses_degree_in_cp: 2, pipeline_stage: 1",
     "", "recompute: False", "runner_config: {batch_size: 1}", NULL},
};

static const char *const mindspeeds[] = {
    "  data_parallel_size: 8\n  tensor_model_parallel_size: 2\n  pipeline_model_parallel_size: 2\n"
    "  recompute_granularity: full\n  recompute_method: block\n  recompute_num_layers: 3\ntraining_config:\n  "
    "micro_batch_num: 8\n  bf16: True\n  micro_batch_size: 2\n",
    "  data_parallel_size: 8\n  tensor_model_parallel_size: 1\n  pipeline_model_parallel_size: 1\n  sequence_parallel: "
    "True\n"
    "  recompute_config:\n    recompute: [24]\ntraining_config:\n  bf16: True\n  global_batch_size: 64\n  "
    "micro_batch_size: 2\n",
    "  data_parallel_size: 8\n  tensor_model_parallel_size: 2\n  pipeline_model_parallel_size: 2\n"
    "  num_layer_list: [13, 11]\n  use_distributed_optimizer: True\n  zero_shard_size: 4\n"
    "  recompute_config:\n    select_recompute: [13, 11]\ntraining_config:\n  bf16: True\n  global_batch_size: 128\n"
    "  micro_batch_size: 2\n",
};

/* Sections as older files name them. */
static const char older_mindspeed[] =
    "model_parallel:\n  data_parallel_size: 8\n  tensor_model_parallel_size: 2\n  pipeline_model_parallel_size: 2\n"
    "  recompute_config:\n    recompute: [4, 12]\ntraining_config:\n  bf16: True\nlanguage_model:\n  num_layers: 24\n"
    "  hidden_size: 2048\n  num_attention_heads: 16\n  vocab_size: 64000\n  seq_length: 4096\n  batch_size: 2\n"
    "  hidden_act: \"swiglu\"\n  use_flash_attention: False\nglobal_batch_size: 64\n";

static const char *const titans[] = {
    "[parallelism]\ndata_parallel_shard_degree = 8\n[training]\nlocal_batch_size = 2\nseq_len = 8192\n",
    "[parallelism]\ndata_parallel_shard_degree = 8\npipeline_parallel_degree = 2\n[training]\nlocal_batch_size = 8\n"
    "seq_len = 8192\n[activation_checkpoint]\nmode = \"selective\"\nselective_ac_option = \"2\"\n",
    "[parallelism]\ndata_parallel_shard_degree = 8\npipeline_parallel_degree = 2\ntensor_parallel_degree = 2\n"
    "pipeline_parallel_schedule = \"Interleaved1F1B\"\npipeline_parallel_microbatches = 4\n[training]\n"
    "local_batch_size = 8\nseq_len = 8192\n[activation_checkpoint]\nmode = \"full\"\n",
    "[parallelism]\ndata_parallel_replicate_degree = 4\ndata_parallel_shard_degree = 4\npipeline_parallel_degree = 2\n"
    "pipeline_parallel_split_points = [\"layers.20\"]\n[training]\nlocal_batch_size = 8\nglobal_batch_size = 256\n"
    "seq_len = 8192\n[activation_checkpoint]\nmode = \"selective\"\nselective_ac_option = \"op\"\n",
    "[parallelism]\ndata_parallel_shard_degree = 8\ntensor_parallel_degree = 2\nfsdp_reshard_after_forward = "
    "\"always\"\n"
    "[training]\nlocal_batch_size = 4\nseq_len = 32768\n[compile]\nenable = true\n[activation_checkpoint]\n"
    "mode = \"none\"\n",
};

static void add_config(const char *path)
{
    assert_true(n_configs < MOST_CONFIGS && strlen(path) < sizeof config[0]);
    strcpy(config[n_configs++], path);
}

static void make(const char *ending, const char *text)
{
    static int n;
    char name[32];
    snprintf(name, sizeof name, "made_%d%s", ++n, ending);
    put(name, text);
    add_config(below(name));
}

static void make_yaml(const mindformers *y)
{
    char text[4096];
    snprintf(text, sizeof text,
             "context: {max_device_memory: \"58GB\"}\noptimizer: {type: AdamW}\n%s\n"
             "parallel: {full_batch: True, enable_parallel_optimizer: True%s%s}\nparallel_config: {%s}\n"
             "model:\n  model_config: {type: LlamaConfig, seq_length: 32768, hidden_size: 2048, num_layers: 24, "
             "num_heads: 16, vocab_size: 32000, multiple_of: 256, compute_dtype: bfloat16, param_init_type: float32, "
             "use_flash_attention: True%s%s}\nrecompute_config: {%s}\n",
             y->more, y->parallel ? ", " : "", y->parallel ? y->parallel : "", y->parallel_config,
             *y->model ? ", " : "", y->model, y->recompute);
    make(".yaml", text);
}

static void make_configs(void)
{
    char text[4096];
    for (size_t i = 0; i < sizeof more_arguments / sizeof *more_arguments; i++) {
        const char *other = strstr(more_arguments[i], "--num-layers ");
        snprintf(text, sizeof text, "%s %s\n", other ? arguments + strlen("--num-layers 24") : arguments,
                 more_arguments[i]);
        make(".args", text);
    }
    for (size_t i = 0; i < sizeof yamls / sizeof *yamls; i++)
        make_yaml(&yamls[i]);
    for (size_t i = 0; i < sizeof mindspeeds / sizeof *mindspeeds; i++) {
        snprintf(text, sizeof text,
                 "model_config:\n  num_layers: 24\n"
                 "  hidden_size: 2048\n  num_attention_heads: 16\n  vocab_size: 64000\n  seq_length: 4096\n"
                 "  hidden_act: \"swiglu\"\n  use_flash_attention: True\nparallel_config:\n%s",
                 mindspeeds[i]);
        make(".yaml", text);
    }
    make(".yaml", older_mindspeed);
    for (size_t i = 0; i < sizeof titans / sizeof *titans; i++) {
        snprintf(text, sizeof text, "[model]\nname = \"llama3\"\nflavor = \"8B\"\n%s", titans[i]);
        make(".toml", text);
    }
}

static int list_all(void **state)
{
    if (make_top(state))
        return -1;
    list_folder(source_path("examples"));
    list_folder(source_path("tests/data/job"));
    list_reference();
    add_config(source_path("tests/data/job/moe.args"));
    add_config(source_path("tests/data/job/torchtitan_70b.toml"));
    add_config(source_path("examples/moe_16b_config.json"));
    make_configs();
    return 0;
}

#endif
