/* Tests the linter: every rule of every table fires on its wrong example, is silent on its right example, and is silent
 * on a near miss below, which looks like the wrong one and is not; a rule without a near miss fails the test. Also
 * comments that suppress findings, options, writers that agree with one another, and files of another kind than they
 * seem. */
#include "input.h"

#include <dirent.h>
#include <jansson.h>
#include <time.h>
#include <unistd.h>

#include "evenkeel/cost.h"
#include "evenkeel/memory.h"
#include "evenkeel/metrics.h"
#include "golden.h"
#include "lint/rules.h"
#include "lint_programs.h"
#include "no_memory.h"
#include "report/writers.h"
#include "skip.h"

/* ---- memory that runs out ---- */

FAILING_ALLOC
FAILING_POOL_ALLOC
FAILING_POOL_TEXT
FAILING_POOL_PUSH

/* ---- texts as files ---- */

static char folder[64];

static int make_folder(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/ek_lint_XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    char path[512];
    DIR *dir = opendir(folder);
    for (const struct dirent *e; dir && (e = readdir(dir)) != NULL;)
        if (e->d_name[0] != '.') {
            snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
            unlink(path);
        }
    if (dir)
        closedir(dir);
    return rmdir(folder);
}

static const char *const ending[EK_N_LINT_KINDS] = {"yaml", "sh", "py", "toml"};

/* The path of a file with this text, in one of four places that take turns. */
static const char *write_text(const char *name, ek_lint_kind kind, const char *text)
{
    static char path[4][256];
    static int turn;
    char *at = path[turn = (turn + 1) % 4];
    snprintf(at, sizeof path[0], "%s/%s.%s", folder, name, ending[kind]);
    FILE *file = fopen(at, "wb");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
    return at;
}

static ek_lint lint_with(const char *const *path, int n, const ek_lint_options *options)
{
    ek_lint lint;
    ek_error err;
    if (ek_lint_run(path, n, options, NULL, &lint, &err))
        fail_msg("%s:%d:%d: %s", err.file, err.line, err.column, err.message);
    return lint;
}

static ek_lint lint_text(ek_lint_kind kind, const char *text)
{
    const char *path = write_text("case", kind, text);
    return lint_with(&path, 1, NULL);
}

static int count(const ek_lint *lint, const char *id)
{
    int n = 0;
    for (int i = 0; i < lint->n_findings; i++)
        n += strcmp(lint->finding[i].rule->id, id) == 0;
    return n;
}

static int count_in(ek_lint_kind kind, const char *text, const char *id)
{
    ek_lint lint = lint_text(kind, text);
    int n = count(&lint, id);
    ek_lint_clear(&lint);
    return n;
}

/* A silent case proves something only where its job, if it has one, was read. */
static void expect_a_job_that_is_read(ek_lint_kind kind, const char *text, const char *id)
{
    if (strcmp(id, "assumption") == 0 || strcmp(id, "job-unread") == 0 || strcmp(id, "not-runnable") == 0)
        return;
    if (count_in(kind, text, "job-unread") + count_in(kind, text, "not-runnable") > 0)
        fail_msg("%s: no job can be read from this:\n%s", id, text);
}

/* The kind that a rule's examples are of: the first it looks at. */
static ek_lint_kind kind_of(const ek_lint_rule *rule)
{
    int k = 0;
    while (k < EK_N_LINT_KINDS - 1 && !(rule->kinds & 1U << k))
        k++;
    return (ek_lint_kind)k;
}

/* ---- near misses ---- */

#define MODEL_WITH(more)                                                                                               \
    "model: {model_config: {type: LlamaConfig, seq_length: 4096, hidden_size: 4096, num_layers: 32, num_heads: 32, "   \
    "vocab_size: 32000, use_flash_attention: True" more "}}\n"
#define MODEL MODEL_WITH("")
#define LONG_MODEL(tokens)                                                                                             \
    "model: {model_config: {type: LlamaConfig, seq_length: " tokens ", hidden_size: 4096, num_layers: 32, num_heads: " \
    "32, vocab_size: 32000, use_flash_attention: True}}\nparallel_config: {data_parallel: 1}\n"
#define SHARED                                                                                                         \
    "model_config: {num_layers: 32, hidden_size: 4096, num_attention_heads: 32, seq_length: 4096, vocab_size: "        \
    "32000}\n"                                                                                                         \
    "training_config: {micro_batch_size: 1, global_batch_size: 64, bf16: True}\n"                                      \
    "accelerate_config: {parallelization: {use_distributed_optimizer: True}}\n"
#define ALONE    "parallel_config: {data_parallel: 1}\n"
#define DEGREES  "parallel_config: {data_parallel: 2, model_parallel: 2, use_seq_parallel: True}\n"
#define PIPELINE "parallel_config: {pipeline_stage: 4, micro_batch_num: 64}\n"
#define ARGUMENTS                                                                                                      \
    "--num-layers 32 --hidden-size 4096 --num-attention-heads 32 --seq-length 4096 --max-position-embeddings 4096\n"   \
    "--micro-batch-size 1 --global-batch-size 64 --padded-vocab-size 32000 --use-flash-attn\n"

#define MOE(more)                                                                                                      \
    MODEL "moe_config: {expert_num: 8, num_experts_chosen: 2" more "}\nparallel: {enable_parallel_optimizer: True}\n"
#define MOE_ARGUMENTS ARGUMENTS "--data-parallel-size 16 --num-experts 64 --moe-router-topk 4 "

typedef struct near_miss {
    const char *id;
    ek_lint_kind kind;
    bool fires; /* a further wrong case */
    const char *what, *text;
} near_miss;

static const near_miss near_misses[] = {
    /* comments */
    {"unknown-rule", EK_LINT_YAML, false, "a word that is no comment of this tool", "mode: 0 # off deterministik\n"},
    {"unknown-rule", EK_LINT_YAML, false, "the words in a value", "mode: 'evenkeel: off deterministik'\n"},
    {"unknown-rule", EK_LINT_SHELL, true, "the second of two ids", "# evenkeel: off save-graphs, nothing\n"},
    /* jobs */
    {"sequence-parallel", EK_LINT_YAML, false, "no tensor parallelism",
     MODEL "parallel_config: {data_parallel: 8, use_seq_parallel: False}\n"},
    {"sequence-parallel", EK_LINT_SHELL, false, "Megatron with it",
     ARGUMENTS "--tensor-model-parallel-size 8 --sequence-parallel\n"},
    {"sequence-parallel", EK_LINT_SHELL, true, "Megatron without it", ARGUMENTS "--tensor-model-parallel-size 8\n"},
    {"optimizer-parallel", EK_LINT_YAML, false, "one data-parallel rank",
     MODEL "parallel: {enable_parallel_optimizer: False}\nparallel_config: {pipeline_stage: 8, micro_batch_num: 64}\n"},
    {"optimizer-parallel", EK_LINT_SHELL, true, "Megatron without it", ARGUMENTS "--data-parallel-size 8\n"},
    {"optimizer-parallel", EK_LINT_SHELL, false, "Megatron with it",
     ARGUMENTS "--data-parallel-size 8 --use-distributed-optimizer\n"},
    {"tensor-parallel-node", EK_LINT_YAML, false, "sixteen stages instead",
     MODEL "parallel_config: {pipeline_stage: 16, micro_batch_num: 256}\n"},
    {"tensor-parallel-node", EK_LINT_SHELL, true, "sixteen ranks of Megatron",
     ARGUMENTS "--tensor-model-parallel-size 16 --sequence-parallel\n"},
    {"tensor-parallel-node", EK_LINT_SHELL, true, "eight ranks on machines of four devices",
     "torchrun --nproc_per_node 4 --nnodes 2 pretrain.py \\\n"
     "--num-layers 32 --hidden-size 4096 --num-attention-heads 32 --seq-length 4096 --max-position-embeddings 4096 "
     "--micro-batch-size 1 --global-batch-size 64 --padded-vocab-size 32000 --tensor-model-parallel-size 8\n"},
    {"tensor-parallel-node", EK_LINT_SHELL, false, "sixteen ranks on machines of sixteen",
     "torchrun --nproc_per_node 16 --nnodes 2 pretrain.py \\\n"
     "--num-layers 32 --hidden-size 4096 --num-attention-heads 32 --seq-length 4096 --max-position-embeddings 4096 "
     "--micro-batch-size 1 --global-batch-size 64 --padded-vocab-size 32000 --tensor-model-parallel-size 16\n"},
    {"tensor-parallel-small", EK_LINT_YAML, false, "a small model without it",
     MODEL "parallel_config: {data_parallel: 8}\n"},
    {"context-parallel", EK_LINT_YAML, false, "one token below the limit", LONG_MODEL("32767")},
    {"context-parallel", EK_LINT_YAML, true, "more than the limit", LONG_MODEL("131072")},
    {"context-parallel", EK_LINT_YAML, false, "a short sequence, without it", MODEL ALONE},
    {"pipeline-bubble", EK_LINT_YAML, false, "exactly a fifth: p 5, m 16",
     "model: {model_config: {type: LlamaConfig, seq_length: 4096, hidden_size: 4096, num_layers: 40, num_heads: 32, "
     "vocab_size: 32000}}\nparallel_config: {pipeline_stage: 5, micro_batch_num: 16}\n"},
    {"pipeline-bubble", EK_LINT_YAML, true, "one micro-batch fewer",
     "model: {model_config: {type: LlamaConfig, seq_length: 4096, hidden_size: 4096, num_layers: 40, num_heads: 32, "
     "vocab_size: 32000}}\nparallel_config: {pipeline_stage: 5, micro_batch_num: 15}\n"},
    {"pipeline-bubble", EK_LINT_YAML, false, "an order that is not known here",
     MODEL "parallel: {pipeline_config: {pipeline_scheduler: 'seqsmartvpp'}}\n"
           "parallel_config: {pipeline_stage: 8, micro_batch_num: 8}\n"},
    {"vpp-one-chunk", EK_LINT_YAML, false, "switched off",
     MODEL "parallel: {pipeline_config: {pipeline_interleave: False}}\n" PIPELINE},
    {"vpp-one-chunk", EK_LINT_YAML, false, "no pipeline",
     MODEL "parallel: {pipeline_config: {pipeline_interleave: True}}\n" ALONE},
    {"vpp-micro-batches", EK_LINT_YAML, false, "plain 1F1B with any number",
     MODEL "parallel_config: {pipeline_stage: 4, micro_batch_num: 62}\n"},
    {"micro-batch-size", EK_LINT_YAML, false, "the bubble would be too large",
     MODEL
     "context: {max_device_memory: '58GB'}\nrunner_config: {batch_size: 1}\nparallel: {enable_parallel_optimizer: "
     "True}\nparallel_config: {data_parallel: 8, pipeline_stage: 4, micro_batch_num: 16}\n"},
    {"micro-batch-size", EK_LINT_YAML, false, "memory has no room",
     MODEL "context: {max_device_memory: '4GB'}\nrunner_config: {batch_size: 1}\nparallel: {enable_parallel_optimizer: "
           "True}\nparallel_config: {data_parallel: 8, pipeline_stage: 4, micro_batch_num: 128}\n"},
    {"recompute-spare", EK_LINT_YAML, false, "memory has no room",
     MODEL "context: {max_device_memory: '8GB'}\nrecompute_config: {recompute: True}\nparallel: "
           "{enable_parallel_optimizer: True}\nparallel_config: {data_parallel: 8, pipeline_stage: 4, micro_batch_num: "
           "64}\n"},
    {"recompute-spare", EK_LINT_YAML, false, "only operators are recomputed",
     MODEL "context: {max_device_memory: '58GB'}\nrecompute_config: {select_recompute: True}\nparallel: "
           "{enable_parallel_optimizer: True}\nparallel_config: {data_parallel: 8, pipeline_stage: 4, micro_batch_num: "
           "64}\n"},
    {"flash-attention", EK_LINT_SHELL, false, "Megatron's own fused attention",
     "--num-layers 32 --hidden-size 4096 --num-attention-heads 32 --seq-length 4096 --max-position-embeddings 4096\n"
     "--micro-batch-size 1 --global-batch-size 64 --padded-vocab-size 32000 --attention-backend fused\n"},
    {"flash-attention", EK_LINT_SHELL, true, "Megatron without a fused one",
     "--num-layers 32 --hidden-size 4096 --num-attention-heads 32 --seq-length 4096 --max-position-embeddings 4096\n"
     "--micro-batch-size 1 --global-batch-size 64 --padded-vocab-size 32000 --attention-backend unfused\n"},
    {"context-parallel-short", EK_LINT_YAML, false, "exactly 32K",
     "model: {model_config: {type: LlamaConfig, seq_length: 32768, hidden_size: 4096, num_layers: 32, num_heads: 32, "
     "vocab_size: 32000, use_flash_attention: True}}\nparallel_config: {data_parallel: 4, context_parallel: 2}\n"},
    {"context-parallel-short", EK_LINT_YAML, false, "a short sequence on one rank", MODEL ALONE},
    {"context-parallel-short", EK_LINT_SHELL, true, "Megatron's, with a pipeline",
     ARGUMENTS "--data-parallel-size 2 --context-parallel-size 2 --pipeline-model-parallel-size 4 "
               "--use-distributed-optimizer\n"},
    {"multi-copy", EK_LINT_YAML, false, "a small model", MODEL DEGREES},
    {"multi-copy", EK_LINT_YAML, false, "a file with other overlaps",
     "model: {model_config: {type: LlamaConfig, seq_length: 4096, hidden_size: 8192, num_layers: 80, num_heads: 64, "
     "n_kv_heads: 8, vocab_size: 32000, use_flash_attention: True}}\n"
     "context: {ascend_config: {parallel_speed_up_json_path: 'speed_up.json'}}\n"
     "parallel_config: {model_parallel: 8, use_seq_parallel: True}\n"},
    {"multi-copy", EK_LINT_YAML, false, "two copies of the batch",
     "model: {model_config: {type: LlamaConfig, seq_length: 4096, hidden_size: 8192, num_layers: 80, num_heads: 64, "
     "n_kv_heads: 8, vocab_size: 32000, use_flash_attention: True}}\nmicro_batch_interleave_num: 2\n"
     "parallel_config: {model_parallel: 8, use_seq_parallel: True}\n"},
    {"full-batch", EK_LINT_YAML, true, "on 1024 devices",
     MODEL "parallel: {full_batch: True}\nparallel_config: {data_parallel: 1024}\n"},
    /* experts */
    {"moe-capacity", EK_LINT_YAML, false, "no limit", MOE(", capacity_factor: -1.0") DEGREES},
    {"moe-capacity", EK_LINT_YAML, false, "a factor without experts",
     MODEL ALONE "moe_config: {expert_num: 1, capacity_factor: 0.8}\n"},
    {"moe-capacity", EK_LINT_SHELL, true, "Megatron's", MOE_ARGUMENTS "--moe-expert-capacity-factor 0.5\n"},
    {"moe-capacity-padding", EK_LINT_YAML, false, "just below", MOE(", capacity_factor: 1.9") DEGREES},
    {"moe-capacity-padding", EK_LINT_SHELL, false, "Megatron without padding",
     MOE_ARGUMENTS "--moe-expert-capacity-factor 2\n"},
    {"moe-capacity-padding", EK_LINT_SHELL, true, "Megatron with padding",
     MOE_ARGUMENTS "--moe-expert-capacity-factor 2 --moe-pad-expert-input-to-capacity\n"},
    {"moe-dispatch", EK_LINT_SHELL, false, "as many ranks as experts of a token",
     MOE_ARGUMENTS "--expert-model-parallel-size 4\n"},
    {"moe-dispatch", EK_LINT_SHELL, true, "more ranks, and the word",
     MOE_ARGUMENTS "--expert-model-parallel-size 8 --moe-token-dispatcher-type allgather\n"},
    {"moe-dispatch", EK_LINT_SHELL, false, "the flex dispatcher",
     MOE_ARGUMENTS "--expert-model-parallel-size 8 --moe-token-dispatcher-type flex --moe-enable-deepep\n"},
    {"moe-dispatch", EK_LINT_YAML, true, "MindFormers without enable_alltoall",
     MODEL "moe_config: {expert_num: 8, num_experts_chosen: 2}\nparallel: {enable_alltoall: False}\n"
           "parallel_config: {data_parallel: 8, expert_parallel: 8}\n"},
    {"moe-dispatch", EK_LINT_YAML, false, "MindFormers with it",
     MODEL "moe_config: {expert_num: 8, num_experts_chosen: 2}\nparallel: {enable_alltoall: True}\n"
           "parallel_config: {data_parallel: 8, expert_parallel: 8}\n"},
    {"moe-dispatch", EK_LINT_YAML, false, "a model without experts",
     MODEL "parallel: {enable_alltoall: False}\nparallel_config: {data_parallel: 8}\n"},
    {"moe-all-to-all", EK_LINT_YAML, false, "data and context parallel ranks together are the experts'",
     MOE(", group_wise_a2a: True") "parallel_config: {data_parallel: 4, context_parallel: 2, model_parallel: 2, "
                                   "expert_parallel: 8, "
                                   "use_seq_parallel: True}\n"},
    {"moe-all-to-all", EK_LINT_YAML, false, "within a machine",
     MOE("") "parallel_config: {data_parallel: 4, model_parallel: 2, expert_parallel: 4, use_seq_parallel: True}\n"},
    {"moe-all-to-all", EK_LINT_YAML, false, "other data-parallel ranks than expert-parallel ones",
     MOE("") "parallel_config: {data_parallel: 16, model_parallel: 2, expert_parallel: 8, use_seq_parallel: True}\n"},
    {"moe-all-to-all", EK_LINT_YAML, true, "on without tensor parallelism",
     MOE(", group_wise_a2a: True") "parallel_config: {data_parallel: 8, expert_parallel: 8}\n"},
    {"moe-experts-apart", EK_LINT_SHELL, false, "one expert on a rank",
     ARGUMENTS "--data-parallel-size 16 --num-experts 16 --expert-model-parallel-size 16\n"},
    {"moe-experts-apart", EK_LINT_YAML, false, "capacities, which are one batched multiplication",
     MOE(", capacity_factor: 1.1") "parallel_config: {data_parallel: 4, expert_parallel: 4}\n"},
    {"moe-load-balance", EK_LINT_SHELL, false, "the bias",
     MOE_ARGUMENTS "--moe-aux-loss-coeff 0 --moe-router-enable-expert-bias\n"},
    {"moe-load-balance", EK_LINT_SHELL, false, "a coefficient that the shell works out",
     MOE_ARGUMENTS "--moe-aux-loss-coeff $COEFFICIENT\n"},
    {"moe-load-balance", EK_LINT_SHELL, false, "sinkhorn", MOE_ARGUMENTS "--moe-router-load-balancing-type sinkhorn\n"},
    {"moe-load-balance", EK_LINT_SHELL, true, "none", MOE_ARGUMENTS "--moe-router-load-balancing-type none\n"},
    {"moe-load-balance", EK_LINT_YAML, false, "MindFormers' default factor", MOE("") ALONE},
    {"moe-load-balance", EK_LINT_YAML, true, "a factor of 0", MOE(", aux_loss_factor: 0.0") ALONE},
    {"moe-load-balance", EK_LINT_YAML, false, "a factor of 0 and a list",
     MOE(", aux_loss_factor: 0.0, aux_loss_factors: [0.0001]") ALONE},
    {"moe-load-balance", EK_LINT_YAML, false, "a factor of 0 and a bias",
     MOE(", aux_loss_factor: 0.0, balance_via_topk_bias: True") ALONE},
    {"moe-load-balance", EK_LINT_SHELL, false, "no experts", ARGUMENTS "--moe-aux-loss-coeff 0\n"},
    {"moe-forced-balance", EK_LINT_SHELL, false, "no such argument", MOE_ARGUMENTS "--moe-aux-loss-coeff 0.01\n"},
    {"moe-forced-balance", EK_LINT_SHELL, true, "Megatron's", MOE_ARGUMENTS "--moe-router-force-load-balancing\n"},
    /* what readers warn of */
    {"recompute-no-operator", EK_LINT_YAML, false, "a pattern with an alternative that names one",
     MODEL DEGREES "recompute_config: {select_recompute: ['feed_forward\\.(w9|w2)\\.reshape']}\n"},
    {"recompute-no-communication", EK_LINT_YAML, false, "switched off",
     MODEL "parallel_config: {data_parallel: 2}\nrecompute_config: {select_comm_recompute: False}\n"},
    {"recompute-no-saving", EK_LINT_YAML, false, "fine-grained interleaving, which has no reshapes",
     MODEL_WITH(", fine_grain_interleave: 2") DEGREES
     "recompute_config: {select_recompute: ['feed_forward\\.mul', 'feed_forward\\.w1\\.activation\\.silu']}\n"},
    {"recompute-hidden", EK_LINT_YAML, false, "switched off beside full recomputation",
     MODEL DEGREES "recompute_config: {recompute: True, select_recompute: False}\n"},
    {"recompute-count", EK_LINT_YAML, false, "a switch instead of a count",
     MODEL DEGREES "recompute_config: {recompute: [True]}\n"},
    {"embedding-not-sharded", EK_LINT_YAML, false, "a small table",
     "model: {model_config: {type: LlamaConfig, seq_length: 4096, hidden_size: 2048, num_layers: 8, num_heads: 16, "
     "vocab_size: 32000}}\nparallel: {enable_parallel_optimizer: True}\nparallel_config: {data_parallel: 8}\n"},
    {"embedding-not-sharded", EK_LINT_YAML, false, "nobody to share with",
     "model: {model_config: {type: LlamaConfig, seq_length: 4096, hidden_size: 8192, num_layers: 8, num_heads: 64, "
     "vocab_size: 152064}}\nparallel: {enable_parallel_optimizer: True}\n" ALONE},
    {"fine-grain-without-sequence-parallel", EK_LINT_YAML, false, "interleaving of one is none",
     MODEL_WITH(", fine_grain_interleave: 1") "parallel_config: {model_parallel: 8, use_seq_parallel: False}\n"},
    {"vocabulary-not-divisible", EK_LINT_YAML, false, "the table is whole on purpose",
     "model: {model_config: {type: LlamaConfig, seq_length: 4096, hidden_size: 4096, num_layers: 32, num_heads: 32, "
     "vocab_size: 32001}}\nparallel_config: {model_parallel: 8, use_seq_parallel: True, vocab_emb_dp: True}\n"},
    {"vpp-not-on", EK_LINT_YAML, false, "one chunk is the default", MODEL_WITH(", pp_interleave_num: 1") PIPELINE},
    {"setting-without-effect", EK_LINT_YAML, false, "one micro-batch without stages",
     MODEL "parallel_config: {data_parallel: 2, micro_batch_num: 1}\n"},
    {"setting-without-effect", EK_LINT_SHELL, true, "sequence parallelism of one rank",
     ARGUMENTS "--sequence-parallel\n"},
    {"unknown-key", EK_LINT_YAML, false, "a key that is like no other", MODEL_WITH(", my_own_switch: True") ALONE},
    {"argument-twice", EK_LINT_SHELL, false, "another argument with the same value",
     ARGUMENTS "--tensor-model-parallel-size 2 --pipeline-model-parallel-size 2 --sequence-parallel\n"},
    {"assumption", EK_LINT_YAML, true, "shapes in a folder beside",
     "pretrained_model_dir: /models/one\nmodel:\n  model_config:\n    compute_dtype: bfloat16\n"
     "parallel_config:\n  data_parallel: 2\n"},
    {"assumption", EK_LINT_YAML, false, "another optimizer that is known",
     MODEL ALONE "optimizer: {type: FP32StateAdamWeightDecay}\n"},
    {"job-unread", EK_LINT_YAML, false, "shapes in a folder beside",
     "pretrained_model_dir: /models/one\nmodel:\n  model_config:\n    compute_dtype: bfloat16\n"
     "parallel_config:\n  data_parallel: 2\n"},
    {"job-unread", EK_LINT_YAML, false, "no training file at all", "name: something\nvalues: [1, 2]\n"},
    {"not-runnable", EK_LINT_YAML, false, "six ranks where everything divides by six",
     "model: {model_config: {type: LlamaConfig, seq_length: 3072, hidden_size: 3072, num_layers: 8, num_heads: 24, "
     "intermediate_size: 6144, vocab_size: 32000}}\nparallel_config: {model_parallel: 6, use_seq_parallel: True}\n"},
    {"not-runnable", EK_LINT_YAML, true, "fewer micro-batches than stages",
     MODEL "parallel_config: {pipeline_stage: 8, micro_batch_num: 4}\n"},
    {"not-runnable", EK_LINT_SHELL, false, "fewer than stages, which Megatron runs",
     ARGUMENTS "--pipeline-model-parallel-size 8 --global-batch-size 4\n"},
    /* keys of YAMLs */
    {"deterministic", EK_LINT_YAML, false, "nothing said", "context:\n  mode: 0\n"},
    {"deterministic", EK_LINT_YAML, true, "MindFormers' own switch", "train_precision_sync: True\n"},
    {"deterministic", EK_LINT_YAML, false, "the switch for inference", "infer_precision_sync: True\n"},
    {"synchronous-launch", EK_LINT_YAML, false, "the word in a comment",
     "context:\n  mode: 1 # pynative_synchronize: True\n"},
    {"save-graphs", EK_LINT_YAML, false, "only the folder", "context:\n  save_graphs_path: './graph'\n"},
    {"save-graphs", EK_LINT_YAML, true, "by its level", "context:\n  save_graphs: 2\n"},
    {"save-graphs", EK_LINT_YAML, false, "level 0", "context:\n  save_graphs: 0\n"},
    {"full-batch", EK_LINT_YAML, false, "one data-parallel rank", MODEL ALONE "parallel: {full_batch: True}\n"},
    {"full-batch", EK_LINT_YAML, true, "without a model that could be read",
     "parallel: {full_batch: True}\nparallel_config: {data_parallel: 4}\n"},
    {"dataset-strategy", EK_LINT_YAML, true, "beside full_batch",
     MODEL "parallel: {full_batch: True, dataset_strategy: [[8, 1]]}\nparallel_config: {data_parallel: 8}\n"},
    {"dataset-strategy", EK_LINT_YAML, true, "none without full_batch",
     MODEL "parallel: {full_batch: False}\nparallel_config: {data_parallel: 8}\n"},
    {"dataset-strategy", EK_LINT_YAML, true, "an entry too few",
     MODEL
     "train_dataset: {input_columns: ['input_ids', 'labels']}\nparallel: {full_batch: False, dataset_strategy: [[8, "
     "1]]}\nparallel_config: {data_parallel: 8}\n"},
    {"dataset-strategy", EK_LINT_YAML, false, "an entry for each of two inputs, by alias",
     MODEL "train_dataset: {input_columns: ['input_ids', 'labels']}\nparallel_config: {data_parallel: &dp 8}\n"
           "parallel: {full_batch: False, dataset_strategy: [[*dp, 1], [*dp, 1]]}\n"},
    {"zero-shard-size", EK_LINT_YAML, false, "a divisor, and all of them by -1",
     SHARED "parallel_config: {tensor_model_parallel_size: 2, data_parallel_size: 8, zero_shard_size: -1}\n"},
    {"zero-shard-size", EK_LINT_YAML, false, "a file that leaves the data parallelism open",
     SHARED "parallel_config: {tensor_model_parallel_size: 2, zero_shard_size: 8}\n"},
    {"zero-shard-size", EK_LINT_YAML, true, "more ranks than there are",
     SHARED "parallel_config: {tensor_model_parallel_size: 2, data_parallel_size: 8, zero_shard_size: 16}\n"},
    {"optimizer-parallel", EK_LINT_YAML, false, "the switch in accelerate_config.parallelization",
     SHARED "parallel_config: {tensor_model_parallel_size: 2, data_parallel_size: 8}\n"},
    {"mask-from-storage", EK_LINT_YAML, false, "only for evaluation",
     "eval_dataset:\n  data_loader:\n    type: MindDataset\n  input_columns: ['input_ids', 'attention_mask']\n"},
    {"mask-from-storage", EK_LINT_YAML, false, "made by the loader",
     "train_dataset:\n  data_loader:\n    type: BlendedMegatronDatasetDataLoader\n  input_columns: ['input_ids', "
     "'attention_mask']\n"},
    {"profile-on", EK_LINT_YAML, false, "only its steps", "profile_start_step: 1\nprofile_stop_step: 10\n"},
    {"profile-steps", EK_LINT_YAML, false, "bad steps of a profiler that is off",
     "profile: False\nprofile_start_step: 1\nprofile_stop_step: 10\n"},
    {"profile-steps", EK_LINT_YAML, false, "four steps from the third on",
     "profile: True\nprofile_start_step: 3\nprofile_stop_step: 6\n"},
    {"profile-steps", EK_LINT_YAML, true, "five steps", "profile: True\nprofile_start_step: 3\nprofile_stop_step: 7\n"},
    {"profile-steps", EK_LINT_YAML, true, "the defaults, 1 to 10", "profile: True\n"},
    {"profile-init", EK_LINT_YAML, false, "communication is wanted",
     "profile: True\ninit_start_profile: True\nprofile_communication: True\n"},
    {"profile-init", EK_LINT_YAML, false, "the profiler is off", "profile: False\ninit_start_profile: True\n"},
    {"profile-communication", EK_LINT_YAML, false, "nothing tells that there is one device",
     "profile: True\nprofile_start_step: 3\nprofile_stop_step: 5\nprofile_communication: True\n"},
    {"profile-range", EK_LINT_YAML, false, "one step", "profile: True\nprofile_start_step: 5\nprofile_stop_step: 5\n"},
    {"profile-range", EK_LINT_YAML, false, "an empty interval of a profiler that is off",
     "profile: False\nprofile_start_step: 6\nprofile_stop_step: 5\n"},
    {"profile-range", EK_LINT_YAML, true, "after the default stop", "profile: True\nprofile_start_step: 20\n"},
    {"profile-range", EK_LINT_YAML, true, "a negative step",
     "profile: True\nprofile_start_step: -1\nprofile_stop_step: 5\n"},
    {"profile-steps", EK_LINT_YAML, false, "an empty interval, which profile-range reports",
     "profile: True\nprofile_start_step: 2\nprofile_stop_step: 1\n"},
    {"profile-level", EK_LINT_YAML, false, "the highest", "profile: True\nprofile_level: 2\n"},
    {"profile-level", EK_LINT_YAML, false, "0 without communication", "profile: True\nprofile_level: 0\n"},
    {"profile-level", EK_LINT_YAML, true, "0 with communication",
     "profile: True\nprofiler_level: 0\nprofile_communication: True\n"},
    {"profile-level", EK_LINT_YAML, true, "a word", "profile: True\nprofile_level: high\n"},
    {"profile-rank-ids", EK_LINT_YAML, false, "any ranks where the number of devices is not known",
     "profile: True\nprofile_rank_ids: [0, 512]\n"},
    {"profile-rank-ids", EK_LINT_YAML, false, "null, which is all ranks", "profile: True\nprofile_rank_ids: null\n"},
    {"profile-rank-ids", EK_LINT_YAML, true, "a number", "profile: True\nprofile_rank_ids: 3\n"},
    {"profile-rank-ids", EK_LINT_YAML, true, "a word in the list", "profile: True\nprofile_rank_ids: [0, last]\n"},
    {"profile-pipeline", EK_LINT_YAML, false, "a file that does not name the stages",
     "profile: True\nprofile_pipeline: True\n"},
    {"profile-all-ranks", EK_LINT_YAML, false, "one machine",
     MODEL "profile: True\nparallel_config: {data_parallel: 8}\n"},
    {"profile-all-ranks", EK_LINT_YAML, false, "the profiler is off",
     MODEL "profile: False\nparallel_config: {data_parallel: 64}\n"},
    {"profile-all-ranks", EK_LINT_YAML, true, "two machines without stages",
     MODEL "profile: True\nparallel_config: {data_parallel: 16}\n"},
    {"profile-stack", EK_LINT_YAML, false, "the profiler is off", "profile: False\nwith_stack: True\n"},
    {"profile-simplification", EK_LINT_YAML, false, "off on one machine",
     MODEL "profile: True\ndata_simplification: False\nparallel_config: {data_parallel: 8}\n"},
    {"profile-simplification", EK_LINT_YAML, false, "0 and 1 as in the guide's table, for chosen ranks",
     MODEL "profile: True\nprofile_rank_ids: [0]\ndata_simplification: 0\nparallel_config: {data_parallel: 64}\n"},
    {"profile-simplification", EK_LINT_YAML, true, "a number that is no switch",
     "profile: True\ndata_simplification: 2\n"},
    {"max-device-memory", EK_LINT_YAML, false, "a device with more memory",
     MODEL ALONE "context: {max_device_memory: '90GB'}\n"},
    {"max-device-memory", EK_LINT_YAML, true, "nothing said", MODEL ALONE "context: {mode: 0}\n"},
    {"max-device-memory-cluster", EK_LINT_YAML, false, "992 devices",
     MODEL
     "context: {max_device_memory: '58GB'}\nparallel_config: {data_parallel: 31, model_parallel: 8, pipeline_stage: "
     "4, micro_batch_num: 64, use_seq_parallel: True}\n"},
    {"parallel-mode", EK_LINT_YAML, false, "its word", "parallel:\n  parallel_mode: SEMI_AUTO_PARALLEL\n"},
    {"parallel-mode", EK_LINT_YAML, true, "a word with a slip", "parallel:\n  parallel_mode: semi_auto\n"},
    {"jit-level", EK_LINT_YAML, false, "another key of the same value", "context:\n  memory_optimize_level: 'O0'\n"},
};
enum { N_NEAR = sizeof near_misses / sizeof *near_misses };

static void every_rule_fires_on_its_bad_example_and_not_on_its_good_one(void **state)
{
    (void)state;
    const ek_lint_rule *rules[EK_MAX_LINT_RULES];
    int n = ek_lint_rules(rules);
    assert_true(n >= 85);
    for (int i = 0; i < n; i++) {
        ek_lint_kind kind = kind_of(rules[i]);
        if (count_in(kind, rules[i]->bad, rules[i]->id) == 0)
            fail_msg("%s is silent on its bad example", rules[i]->id);
        if (rules[i]->kinds & 1U << EK_LINT_YAML)
            expect_a_job_that_is_read(kind, rules[i]->good, rules[i]->id);
        if (count_in(kind, rules[i]->good, rules[i]->id) != 0)
            fail_msg("%s fires on its good example", rules[i]->id);
    }
}

static void every_rule_is_silent_on_near_misses(void **state)
{
    (void)state;
    for (const near_miss *c = near_misses; c < near_misses + N_NEAR; c++) {
        assert_non_null(ek_lint_rule_find(c->id));
        int n = count_in(c->kind, c->text, c->id);
        expect_a_job_that_is_read(c->kind, c->text, c->id);
        if ((n > 0) != c->fires)
            fail_msg("%s %s: %s", c->id, n > 0 ? "fires" : "is silent", c->what);
    }
}

/* Of the tables whose near misses are above; those of scripts and programs have theirs in test_lint_programs. */
static const ek__lint_entry *const tables[] = {ek__lint_comments, ek__lint_job,     ek__lint_remarks, ek__lint_yaml,
                                               ek__lint_switches, ek__lint_profile, ek__lint_moe};

static void every_rule_has_a_near_miss(void **state)
{
    (void)state;
    for (size_t t = 0; t < sizeof tables / sizeof *tables; t++)
        for (const ek__lint_entry *e = tables[t]; e->about.id; e++) {
            bool found = false;
            for (const near_miss *c = near_misses; c < near_misses + N_NEAR; c++)
                found = found || (!c->fires && strcmp(c->id, e->about.id) == 0);
            if (!found)
                fail_msg("%s has no near miss", e->about.id);
        }
}

static void every_rule_says_all_there_is_to_say(void **state)
{
    (void)state;
    const ek_lint_rule *rules[EK_MAX_LINT_RULES];
    int n = ek_lint_rules(rules);
    for (int i = 0; i < n; i++) {
        const ek_lint_rule *r = rules[i];
        if (i > 0)
            assert_true(strcmp(rules[i - 1]->id, r->id) < 0); /* in order, and no id twice */
        assert_true(strlen(r->id) < sizeof((ek_error *)0)->rule);
        assert_int_equal(strspn(r->id, "abcdefghijklmnopqrstuvwxyz-"), strlen(r->id));
        assert_true(r->kinds > 0 && r->kinds < 1U << EK_N_LINT_KINDS);
        assert_true(*r->title && *r->why && *r->cost && *r->fix && *r->source && *r->bad && *r->good);
        assert_true(r->title[strlen(r->title) - 1] != '.' && r->why[strlen(r->why) - 1] == '.');
        assert_ptr_equal(ek_lint_rule_find(r->id), r);
    }
    assert_null(ek_lint_rule_find("no-such-rule"));
}

/* ---- figures ---- */

static const char *message_of(const ek_lint *lint, const char *id)
{
    for (int i = 0; i < lint->n_findings; i++)
        if (strcmp(lint->finding[i].rule->id, id) == 0)
            return lint->finding[i].message;
    fail_msg("%s does not fire", id);
    return "";
}

/* p 8, m 8: 7 / 15 = 46.7 %; 28 micro-batches give 7 / 35 = 20 %. Scores of 32 heads, 4096 tokens, 2 bytes: 1024 MB. */
static void figures_in_messages_are_those_of_the_formulas(void **state)
{
    (void)state;
    ek_lint lint = lint_text(EK_LINT_YAML, "model: {model_config: {type: LlamaConfig, seq_length: 4096, hidden_size: "
                                           "4096, num_layers: 32, num_heads: 32, vocab_size: 32000}}\n"
                                           "parallel_config: {pipeline_stage: 8, micro_batch_num: 8}\n");
    assert_non_null(strstr(message_of(&lint, "pipeline-bubble"), "idle for 47 %"));
    assert_non_null(strstr(message_of(&lint, "pipeline-bubble"), "from 28 micro-batches on, or 4 chunks"));
    assert_non_null(strstr(message_of(&lint, "flash-attention"), "are 1024 MB"));
    ek_lint_clear(&lint);
}

/* 4096 tokens of 4096 elements of 2 bytes are 32 MB: 15 x 32 MB from the others of 16 ranks, or 4 x 15/16 x 32 MB. With
 * a capacity of 2, 1/2 is padding; 2 x 7/8 x 32 MB go to the others of 8 ranks, half of it from each of two. 16 ranks
 * with a global batch of 16. */
static void figures_of_experts_and_batches_are_those_of_the_formulas(void **state)
{
    (void)state;
    ek_lint lint = lint_text(EK_LINT_YAML, ek_lint_rule_find("moe-dispatch")->bad);
    assert_non_null(strstr(message_of(&lint, "moe-dispatch"), "a rank receives 480 MB"));
    assert_non_null(strstr(message_of(&lint, "moe-dispatch"), "to its 4 experts, 120 MB"));
    ek_lint_clear(&lint);
    lint =
        lint_text(EK_LINT_YAML, MOE(", capacity_factor: 2.0") "parallel_config: {data_parallel: 8, model_parallel: 2, "
                                                              "expert_parallel: 8, use_seq_parallel: True}\n");
    assert_non_null(strstr(message_of(&lint, "moe-capacity-padding"), "50 % of the slots"));
    assert_non_null(strstr(message_of(&lint, "moe-all-to-all"), "each sends 112 MB"));
    assert_non_null(strstr(message_of(&lint, "moe-all-to-all"), "share that, 56 MB each"));
    ek_lint_clear(&lint);
    lint = lint_text(EK_LINT_YAML, MODEL "parallel: {full_batch: True}\nparallel_config: {data_parallel: 16}\n");
    assert_non_null(strstr(message_of(&lint, "full-batch"), "256 sequences a step in all instead of 16"));
    ek_lint_clear(&lint);
}

typedef struct sheet {
    char text[1 << 17];
    size_t n;
} sheet;

__attribute__((format(printf, 2, 3))) static void print(sheet *s, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    s->n += (size_t)vsnprintf(s->text + s->n, sizeof s->text - s->n, format, arguments);
    va_end(arguments);
    assert_true(s->n < sizeof s->text);
}

/* All findings of a text; with a device only those that it changes. */
static void print_findings(const char *title, ek_lint_kind kind, const char *text, sheet *out)
{
    ek_lint lint = lint_text(kind, text);
    ek_lint_options options = ek_lint_options_default();
    const char *path = write_text("case", kind, text);
    options.device = ek_device_find("910B");
    ek_lint on_device = lint_with(&path, 1, &options);
    print(out, "%s\n", title);
    for (int d = 0; d < 2; d++) {
        const ek_lint *found = d ? &on_device : &lint;
        for (int i = 0; i < found->n_findings; i++) {
            const ek_lint_finding *f = &found->finding[i];
            bool same = false;
            for (int k = 0; k < lint.n_findings && d; k++)
                same |= strcmp(f->message, lint.finding[k].message) == 0;
            if (!same)
                print(out, "%s%d:%d-%d: %s: %s%s%s\n", d ? "  on 910B " : "  ", f->line, f->column, f->end_column,
                      f->rule->id, f->message, f->fix ? " => " : "", f->fix ? f->fix : "");
            for (int k = 0; k < f->n_more && !same; k++)
                print(out, "    also %d:%d-%d: %s\n", f->more[k].line, f->more[k].column, f->more[k].end_column,
                      f->more[k].message);
        }
    }
    ek_lint_clear(&on_device);
    ek_lint_clear(&lint);
}

/* Of the rules' bad examples and of the cases that fire beside near misses; the figures are in other tests. */
static void findings_read_as_they_were_last_looked_at(void **state)
{
    (void)state;
    static sheet out;
    char title[256];
    const ek_lint_rule *rules[EK_MAX_LINT_RULES];
    int n = ek_lint_rules(rules);
    for (int i = 0; i < n; i++)
        print_findings(rules[i]->id, kind_of(rules[i]), rules[i]->bad, &out);
    for (const near_miss *c = near_misses; c < near_misses + N_NEAR; c++)
        if (c->fires) {
            snprintf(title, sizeof title, "%s: %s", c->id, c->what);
            print_findings(title, c->kind, c->text, &out);
        }
    for (const program_case *c = program_cases; c < program_cases + N_PROGRAM_CASES; c++)
        if (c->n > 0) {
            snprintf(title, sizeof title, "%s: %s", c->id, c->what);
            print_findings(title, c->kind, c->text, &out);
        }
    assert_golden("lint_examples.txt", out.text);
}

/* ---- comments ---- */

static void comments_take_findings_away(void **state)
{
    (void)state;
    static const struct {
        const char *what, *text;
        int n_findings, n_suppressed;
    } cases[] = {
        {"none", "context:\n  save_graphs: True\n", 1, 0},
        {"on the line", "context:\n  save_graphs: True # evenkeel: off save-graphs\n", 0, 1},
        {"on the line above", "context:\n  # evenkeel: off save-graphs\n  save_graphs: True\n", 0, 1},
        {"two lines above, another such between",
         "context:\n  # evenkeel: off save-graphs\n  # evenkeel: off deterministic\n  save_graphs: True\n", 0, 1},
        {"on the line above, with one for the file between",
         "context:\n  # evenkeel: off save-graphs\n  # evenkeel: off-file full-batch\n  save_graphs: True\n", 0, 1},
        {"too far above", "context:\n  # evenkeel: off save-graphs\n  mode: 0\n  save_graphs: True\n", 1, 0},
        {"behind another key, for its line alone",
         "context:\n  mode: 0 # evenkeel: off save-graphs\n  save_graphs: True\n", 1, 0},
        {"for the file, below", "context:\n  save_graphs: True\n# evenkeel: off-file save-graphs\n", 0, 1},
        {"of another rule", "context:\n  save_graphs: True # evenkeel: off deterministic\n", 1, 0},
        {"two ids", "context: {save_graphs: True, deterministic: 'ON'} # evenkeel: off save-graphs, deterministic\n", 0,
         2},
        {"a last line without an end", "save_graphs: True\ncontext: {save_graphs: True} # evenkeel: off save-graphs", 0,
         1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ek_lint lint = lint_text(EK_LINT_YAML, cases[i].text);
        if (lint.n_findings != cases[i].n_findings || lint.n_suppressed != cases[i].n_suppressed)
            fail_msg("%s: %d findings, %d suppressed", cases[i].what, lint.n_findings, lint.n_suppressed);
        ek_lint_clear(&lint);
    }
}

/* ---- options ---- */

static void options_choose_rules(void **state)
{
    (void)state;
    const char *path = write_text("options", EK_LINT_YAML, "profile: True\ncontext: {save_graphs: True}\n");
    const char *const one[] = {"save-graphs"}, *const wrong[] = {"save-graph"};
    ek_lint_options options = ek_lint_options_default();
    ek_lint lint = lint_with(&path, 1, &options);
    assert_int_equal(lint.n_findings, 4); /* profile-on, profile-steps twice, save-graphs */
    ek_lint_clear(&lint);
    options.least = EK_LINT_WARNING;
    lint = lint_with(&path, 1, &options);
    assert_int_equal(lint.n_findings, 3);
    ek_lint_clear(&lint);
    options.only = one, options.n_only = 1;
    lint = lint_with(&path, 1, &options);
    assert_int_equal(lint.n_findings, 1);
    assert_string_equal(lint.finding[0].rule->id, "save-graphs");
    ek_lint_clear(&lint);
    options.off = one, options.n_off = 1;
    lint = lint_with(&path, 1, &options);
    assert_int_equal(lint.n_findings, 0);
    ek_lint_clear(&lint);
    options.only = wrong;
    ek_error err;
    assert_int_equal(ek_lint_run(&path, 1, &options, NULL, &lint, &err), EK_ERR_INPUT);
    assert_non_null(strstr(err.message, "did you mean 'save-graphs'"));
}

static void devices_tell_the_data_parallel_ranks_of_a_script(void **state)
{
    (void)state;
    const char *path = write_text("devices", EK_LINT_SHELL, ARGUMENTS);
    ek_lint_options options = ek_lint_options_default();
    ek_lint lint = lint_with(&path, 1, &options);
    assert_int_equal(count(&lint, "optimizer-parallel"), 0);
    ek_lint_clear(&lint);
    options.n_devices = 16;
    lint = lint_with(&path, 1, &options);
    assert_non_null(strstr(message_of(&lint, "optimizer-parallel"), "each of 16 data-parallel ranks"));
    ek_lint_clear(&lint);
}

/* ---- files ---- */

static void files_that_are_not_what_they_seem_are_refused(void **state)
{
    (void)state;
    char path[256];
    const char *at = path;
    snprintf(path, sizeof path, "%s/notes", folder);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    fputs("just words\n", file);
    fclose(file);
    ek_lint lint;
    ek_error err;
    assert_int_equal(ek_lint_run(&at, 1, NULL, NULL, &lint, &err), EK_ERR_INPUT);
    assert_non_null(strstr(err.message, "--kind yaml"));
    ek_lint_options options = ek_lint_options_default();
    options.kind = EK_LINT_SHELL;
    lint = lint_with(&at, 1, &options);
    assert_int_equal(lint.n_findings, 0);
    ek_lint_clear(&lint);
    at = write_text("broken", EK_LINT_YAML, "a: [1, 2\nb: 3\n");
    assert_int_equal(ek_lint_run(&at, 1, NULL, NULL, &lint, &err), EK_ERR_INPUT);
    assert_true(err.line > 0);
    said heard = {0};
    ek_listener listener = {say_warning, &heard};
    options = ek_lint_options_default();
    options.may_skip = &(bool){true};
    assert_int_equal(ek_lint_run(&at, 1, &options, &listener, &lint, &err), EK_OK);
    assert_int_equal(lint.n_files, 0);
    assert_int_equal(heard.n_warnings, 1);
    ek_lint_clear(&lint);
    at = "/nowhere/train.yaml";
    assert_int_equal(ek_lint_run(&at, 1, NULL, NULL, &lint, &err), EK_ERR_SYSTEM);
}

static void findings_come_in_the_order_of_files_and_lines(void **state)
{
    (void)state;
    const char *path[2];
    path[0] = write_text("z", EK_LINT_YAML, "context:\n  save_graphs: True\n  deterministic: 'ON'\n");
    path[1] = write_text("a", EK_LINT_YAML, "train_precision_sync: True\n");
    ek_lint lint = lint_with(path, 2, NULL);
    assert_int_equal(lint.n_findings, 3);
    static const char *const ids[] = {"save-graphs", "deterministic", "deterministic"};
    static const int lines[] = {2, 3, 1};
    for (int i = 0; i < 3; i++) {
        assert_string_equal(lint.finding[i].rule->id, ids[i]);
        assert_int_equal(lint.finding[i].line, lines[i]);
        assert_string_equal(lint.finding[i].path, path[i / 2]);
    }
    assert_int_equal(lint.finding[0].column, 16);
    assert_int_equal(lint.finding[0].end_column, 20);
    assert_string_equal(lint.finding[0].fix, "False");
    assert_string_equal(lint.finding[0].excerpt, "  save_graphs: True");
    ek_lint_clear(&lint);
}

/* Every fix is put into its file; the rule is then silent, and the file is one as before. */
static void fixes_do_away_with_their_findings(void **state)
{
    (void)state;
    const ek_lint_rule *rules[EK_MAX_LINT_RULES];
    int n = ek_lint_rules(rules), n_fixed = 0;
    for (int i = 0; i < n; i++) {
        ek_lint lint = lint_text(kind_of(rules[i]), rules[i]->bad);
        const ek_lint_finding *f = NULL;
        for (int k = 0; k < lint.n_findings && !f; k++)
            if (lint.finding[k].rule == rules[i] && lint.finding[k].fix && lint.finding[k].end_column > 0)
                f = &lint.finding[k];
        if (f) {
            char text[4096];
            const char *line = rules[i]->bad;
            for (int k = 1; k < f->line; k++)
                line = strchr(line, '\n') + 1;
            snprintf(text, sizeof text, "%.*s%s%s", (int)(line - rules[i]->bad) + f->column - 1, rules[i]->bad, f->fix,
                     line + f->end_column - 1);
            int before = count(&lint, rules[i]->id), after = count_in(kind_of(rules[i]), text, rules[i]->id);
            if (after >= before)
                fail_msg("%s still fires on its fix:\n%s", rules[i]->id, text);
            n_fixed++;
        }
        ek_lint_clear(&lint);
    }
    assert_true(n_fixed >= 10);
}

/* ---- writers ---- */

static json_t *written(const ek_lint *lint, ek_status (*write)(const ek_lint *, FILE *, ek_error *))
{
    char *text = NULL;
    size_t size = 0;
    ek_error err;
    FILE *out = open_memstream(&text, &size);
    assert_int_equal(write(lint, out, &err), EK_OK);
    fclose(out);
    json_error_t reason;
    json_t *root = json_loads(text, 0, &reason);
    if (!root)
        fail_msg("%d: %s", reason.line, reason.text);
    free(text);
    return root;
}

static const char *text_at(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    assert_non_null(text);
    return text;
}

static int number_at(const json_t *object, const char *key)
{
    assert_true(json_is_integer(json_object_get(object, key)));
    return (int)json_integer_value(json_object_get(object, key));
}

/* A result of SARIF against a finding. */
static void check_result(const json_t *result, const json_t *rules, const ek_lint_finding *f, bool suppressed)
{
    assert_string_equal(text_at(result, "ruleId"), f->rule->id);
    assert_string_equal(text_at(result, "level"), ek_lint_level_name[f->rule->level]);
    assert_string_equal(text_at(json_object_get(result, "message"), "text"), f->message);
    const json_t *rule = json_array_get(rules, (size_t)number_at(result, "ruleIndex"));
    assert_string_equal(text_at(rule, "id"), f->rule->id);
    const json_t *location =
        json_object_get(json_array_get(json_object_get(result, "locations"), 0), "physicalLocation");
    const json_t *region = json_object_get(location, "region");
    assert_int_equal(number_at(region, "startLine"), f->line);
    assert_int_equal(number_at(region, "startColumn"), f->column);
    if (f->end_column > 0)
        assert_true(number_at(region, "endColumn") > f->column);
    assert_true(json_is_array(json_object_get(result, "suppressions")) == suppressed);
    assert_true(json_is_array(json_object_get(result, "fixes")) == (f->fix && f->end_column > 0));
}

static void json_and_sarif_say_what_the_findings_are(void **state)
{
    (void)state;
    const char *path = write_text("a b%ü", EK_LINT_YAML,
                                  "profile: True\nprofile_stop_step: &s 20\n"
                                  "context: {save_graphs: True} # evenkeel: off save-graphs\n");
    ek_lint lint = lint_with(&path, 1, NULL);
    assert_int_equal(lint.n_findings, 3);
    assert_int_equal(lint.n_suppressed, 1);
    json_t *plain = written(&lint, ek__lint_write_json), *sarif = written(&lint, ek__lint_write_sarif);
    const json_t *list = json_object_get(plain, "findings");
    assert_int_equal(json_array_size(list), 3);
    assert_int_equal(json_array_size(json_object_get(plain, "suppressed")), 1);
    assert_int_equal(number_at(json_object_get(plain, "counts"), "warning"), 2);
    for (int i = 0; i < 3; i++) {
        const json_t *one = json_array_get(list, (size_t)i);
        assert_string_equal(text_at(one, "rule"), lint.finding[i].rule->id);
        assert_string_equal(text_at(one, "path"), path);
        assert_string_equal(text_at(one, "message"), lint.finding[i].message);
        assert_int_equal(number_at(one, "line"), lint.finding[i].line);
    }
    assert_string_equal(text_at(sarif, "version"), "2.1.0");
    const json_t *run = json_array_get(json_object_get(sarif, "runs"), 0), *results = json_object_get(run, "results");
    const json_t *rules = json_object_get(json_object_get(json_object_get(run, "tool"), "driver"), "rules");
    const ek_lint_rule *all[EK_MAX_LINT_RULES];
    assert_int_equal(json_array_size(rules), ek_lint_rules(all));
    assert_int_equal(json_array_size(results), 4);
    for (int i = 0; i < 3; i++)
        check_result(json_array_get(results, (size_t)i), rules, &lint.finding[i], false);
    check_result(json_array_get(results, 3), rules, &lint.suppressed[0], true);
    const json_t *artifact =
        json_object_get(json_object_get(json_array_get(json_object_get(json_array_get(results, 0), "locations"), 0),
                                        "physicalLocation"),
                        "artifactLocation");
    assert_non_null(strstr(text_at(artifact, "uri"), "/a%20b%25%C3%BC.yaml"));
    assert_int_equal(strncmp(text_at(artifact, "uri"), "file:///", 8), 0); /* the path begins at the root */
    json_decref(plain);
    json_decref(sarif);
    ek_lint_clear(&lint);
}

/* Five patterns of a list that name nothing, one of which a comment takes away: one finding with the other places in
 * every format; a pattern with another cause is a finding of its own. */
static void patterns_of_one_list_are_one_finding(void **state)
{
    (void)state;
    const char *path =
        write_text("list", EK_LINT_YAML,
                   MODEL DEGREES "recompute_config:\n  select_recompute:\n"
                                 "    'feed_forward\\.W3\\.reshape': [9]\n"
                                 "    'attention\\.wol.matmull': [9]\n"
                                 "    'attention\\.merger head transpose': [9]\n"
                                 "    'attention_normi.rcast': [9] # evenkeel: off recompute-no-operator\n"
                                 "    'attention\\.flash_attention': [9]\n"
                                 "    'feed_forward\\.mul': [9]\n"
                                 "    'nothing at all': [9]\n");
    const char *const only[] = {"recompute-no-operator", "recompute-no-saving"};
    static const int lines[] = {6, 7, 11};
    ek_lint_options options = ek_lint_options_default();
    options.only = only, options.n_only = 2;
    ek_lint lint = lint_with(&path, 1, &options);
    assert_int_equal(lint.n_findings, 3); /* two causes of recompute-no-saving */
    assert_int_equal(lint.n_suppressed, 1);
    assert_int_equal(lint.suppressed[0].line, 8);
    const ek_lint_finding *f = &lint.finding[0];
    assert_int_equal(f->line, 5);
    assert_int_equal(f->n_more, 3);
    char *text = NULL;
    size_t size = 0;
    ek_error err;
    FILE *out = open_memstream(&text, &size);
    assert_int_equal(ek__lint_write_text(&lint, false, out, &err), EK_OK);
    fclose(out);
    assert_non_null(strstr(text,
                           "; also 6:5 'attention\\.wol.matmull' 'attention\\.wo\\.matmul', 7:5 'attention\\.merger "
                           "head transpose'"));
    json_t *plain = written(&lint, ek__lint_write_json), *sarif = written(&lint, ek__lint_write_sarif);
    const json_t *more = json_object_get(json_array_get(json_object_get(plain, "findings"), 0), "more");
    const json_t *run = json_array_get(json_object_get(sarif, "runs"), 0),
                 *related = json_object_get(json_array_get(json_object_get(run, "results"), 0), "relatedLocations");
    assert_int_equal(json_array_size(more), 3);
    assert_int_equal(json_array_size(related), 3);
    for (size_t i = 0; i < 3; i++) {
        const json_t *there = json_array_get(related, i),
                     *region = json_object_get(json_object_get(there, "physicalLocation"), "region");
        assert_int_equal(f->more[i].line, lines[i]);
        assert_int_equal(number_at(json_array_get(more, i), "line"), lines[i]);
        assert_string_equal(text_at(json_array_get(more, i), "message"), f->more[i].message);
        assert_int_equal(number_at(region, "startLine"), lines[i]);
        assert_string_equal(text_at(json_object_get(there, "message"), "text"), f->more[i].message);
    }
    json_decref(plain);
    json_decref(sarif);
    free(text);
    ek_lint_clear(&lint);
}

/* Findings of two files stay apart. */
static void one_cause_in_two_files_is_two_findings(void **state)
{
    (void)state;
    static const char list[] = MODEL DEGREES "recompute_config: {select_recompute: ['none', 'nil']}\n";
    const char *path[] = {write_text("first", EK_LINT_YAML, list), write_text("second", EK_LINT_YAML, list)};
    ek_lint lint = lint_with(path, 2, NULL);
    assert_int_equal(count(&lint, "recompute-no-operator"), 2);
    for (int i = 0; i < lint.n_findings; i++)
        assert_int_equal(lint.finding[i].n_more, strcmp(lint.finding[i].rule->id, "recompute-no-operator") == 0);
    ek_lint_clear(&lint);
}

static void text_marks_the_place(void **state)
{
    (void)state;
    ek_lint lint = lint_text(EK_LINT_YAML, "context:\n  save_graphs: True\n");
    char *text = NULL;
    size_t size = 0;
    ek_error err;
    FILE *out = open_memstream(&text, &size);
    assert_int_equal(ek__lint_write_text(&lint, true, out, &err), EK_OK);
    fclose(out);
    assert_non_null(strstr(text, ".yaml:2:16: warning: save_graphs is on"));
    assert_non_null(strstr(text, "\n     2 |   save_graphs: True\n       |                ^~~~\n"));
    free(text);
    ek_lint_clear(&lint);
}

/* ---- places ---- */

/* The first finding of a rule, as its writer prints it, and the places that the writers give away. */
static void columns_count_characters_in_every_kind_of_file(void **state)
{
    (void)state;
    static const struct {
        ek_lint_kind kind;
        const char *text, *id;
        int line, column, end_column;
        const char *shown; /* with the mark; NULL: not looked at */
    } cases[] = {
        {EK_LINT_YAML, "context: {save_graphs: True}\r\n", "save-graphs", 1, 24, 28,
         "     1 | context: {save_graphs: True}\n       |                        ^~~~\n"},
        {EK_LINT_YAML,
         "\xef\xbb\xbf"
         "context: {save_graphs: True}\n",
         "save-graphs", 1, 24, 28, "     1 | context: {save_graphs: True}\n       |                        ^~~~\n"},
        {EK_LINT_YAML, "context: {\xc3\xa9: 1, save_graphs: True}\n", "save-graphs", 1, 30, 34,
         "     1 | context: {\xc3\xa9: 1, save_graphs: True}\n       |                              ^~~~\n"},
        {EK_LINT_YAML, "context: {\xe8\xae\xad: 1, save_graphs: True}\n", "save-graphs", 1, 30, 34,
         "     1 | context: {\xe8\xae\xad: 1, save_graphs: True}\n       |                               ^~~~\n"},
        {EK_LINT_YAML, "context: {'e\xcc\x81': 1, save_graphs: True}\n", "save-graphs", 1, 33, 37,
         "     1 | context: {'e\xcc\x81': 1, save_graphs: True}\n       |                                ^~~~\n"},
        {EK_LINT_YAML,
         "\xef\xbb\xbf"
         "a: 1 # evenkeel: off nothing\n",
         "unknown-rule", 1, 22, 29, NULL},
        {EK_LINT_SHELL, "echo \xe8\xae\xad; export GLOG_v=0\n", "debug-log", 1, 23, 24,
         "     1 | echo \xe8\xae\xad; export GLOG_v=0\n       |                        ^\n"},
        {EK_LINT_SHELL,
         "python '\xe8\xae\xad' --tensor-model-parallel-size 2 --tensor-model-parallel-size 4 " ARGUMENTS,
         "argument-twice", 1, 43, 0, NULL},
        {EK_LINT_PYTHON, "for d in ds:\n    \xe8\xae\xad = train_step(d)\n    print('\xe8\xae\xad', \xe8\xae\xad)\n",
         "tensor-printed", 3, 16, 17,
         "     3 |     print('\xe8\xae\xad', \xe8\xae\xad)\n       |                 ^~\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ek_lint lint = lint_text(cases[i].kind, cases[i].text);
        const ek_lint_finding *f = NULL;
        for (int k = 0; k < lint.n_findings && !f; k++)
            f = strcmp(lint.finding[k].rule->id, cases[i].id) == 0 ? &lint.finding[k] : NULL;
        if (!f)
            fail_msg("%s is silent: %s", cases[i].id, cases[i].text);
        if (f->line != cases[i].line || f->column != cases[i].column || f->end_column != cases[i].end_column)
            fail_msg("%d:%d-%d: %s", f->line, f->column, f->end_column, cases[i].text);
        char *text = NULL;
        size_t size = 0;
        ek_error err;
        FILE *out = open_memstream(&text, &size);
        assert_int_equal(ek__lint_write_text(&lint, true, out, &err), EK_OK);
        fclose(out);
        if (cases[i].shown && !strstr(text, cases[i].shown))
            fail_msg("no\n%s in\n%s", cases[i].shown, text);
        free(text);
        ek_lint_clear(&lint);
    }
}

static double seconds_of(int n_findings)
{
    static const char line[] = "    f(loss.item()) # evenkeel: off gc-every-step\n";
    size_t size = (size_t)n_findings * (sizeof line - 1) + 64;
    char *text = malloc(size), *at = text;
    if (!text)
        abort();
    at += sprintf(at, "for d in ds:\n    loss = train_step(d)\n");
    for (int i = 0; i < n_findings; i++)
        at = strcpy(at, line) + sizeof line - 1;
    const char *path = write_text("many", EK_LINT_PYTHON, text);
    struct timespec from, to;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
    ek_lint lint = lint_with(&path, 1, NULL);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
    assert_int_equal(count(&lint, "device-waited-for"), n_findings);
    assert_string_equal(lint.finding[n_findings - 1].excerpt, "    f(loss.item()) # evenkeel: off gc-every-step");
    ek_lint_clear(&lint);
    free(text);
    return (double)(to.tv_sec - from.tv_sec) + 1e-9 * (double)(to.tv_nsec - from.tv_nsec);
}

/* Eight times the findings, each in a separate line with a comment: 64 times the time if lines or comments were looked
 * for from the start each time. */
static void time_grows_with_the_findings_and_no_faster(void **state)
{
    (void)state;
    double few = seconds_of(5000), many = seconds_of(40000);
    if (many > 30 * (few > 0.002 ? few : 0.002))
        fail_msg("%.3f s for 5000 findings, %.3f s for 40000", few, many);
}

/* The figures of a finding are those that `evenkeel memory`, `metrics` and `estimate` print for the file. */
static void figures_are_those_of_the_other_commands(void **state)
{
    (void)state;
    static const char *const texts[] = {
        MODEL "parallel_config: {model_parallel: 8, pipeline_stage: 4, micro_batch_num: 8, use_seq_parallel: False}\n",
        MODEL "parallel_config: {model_parallel: 2, pipeline_stage: 8, micro_batch_num: 16, use_seq_parallel: False}\n",
        MODEL "parallel_config: {model_parallel: 2, pipeline_stage: 8, micro_batch_num: 8, use_seq_parallel: False}\n"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        const char *path = write_text("figures", EK_LINT_YAML, texts[i]);
        ek_lint_options options = ek_lint_options_default();
        options.device = ek_device_find("910B");
        ek_lint lint = lint_with(&path, 1, &options);
        ek_job job;
        ek_memory memory;
        ek_error err;
        char wanted[96];
        assert_int_equal(ek_job_read(path, NULL, NULL, &job, &err), EK_OK);
        assert_int_equal(ek_memory_predict(&job, NULL, &memory, &err), EK_OK);
        int64_t most = 0;
        for (int s = 0; s < memory.n_stages; s++)
            most = memory.stage[s].used_peak > most ? memory.stage[s].used_peak : most;
        snprintf(wanted, sizeof wanted, "instead of %lld MB (predicted)", (long long)(most >> 20));
        assert_non_null(strstr(message_of(&lint, "sequence-parallel"), wanted));
        ek_metrics metrics;
        const ek_metrics_input input = {.job = &job, .step_seconds = 10};
        assert_int_equal(ek_metrics_compute(&input, &metrics, &err), EK_OK);
        snprintf(wanted, sizeof wanted, "idle for %.0f %% of a step", 100 * metrics.bubble_share);
        assert_non_null(strstr(message_of(&lint, "pipeline-bubble"), wanted));
        ek_step step;
        assert_int_equal(ek_cost_step(&job, options.device, NULL, &step, &err), EK_OK);
        const char *predicted =
            strstr(message_of(&lint, "pipeline-bubble"), "; on Atlas 800T A2 the step is predicted");
        double share = step.stage[step.slowest].seconds[EK_STEP_BUBBLE] / step.seconds;
        snprintf(wanted, sizeof wanted, " as %.2f s, of which bubbles take %.0f %%", step.seconds, 100 * share);
        assert_non_null(predicted);
        assert_non_null(strstr(predicted, wanted));
        ek_step_clear(&step);
        ek_memory_clear(&memory);
        ek_job_clear(&job);
        ek_lint_clear(&lint);
    }
}

/* ---- memory that runs out repeatedly, one allocation later each time ---- */

static void memory_that_runs_out_is_told(void **state)
{
    (void)state;
    const char *path[3];
    path[0] = write_text("m", EK_LINT_YAML,
                         MODEL "context: {save_graphs: True} # evenkeel: off save-graphs, nothing\n"
                               "optimizer: {type: Mine}\nparallel_config: {pipeline_stage: 8, micro_batch_num: 8}\n"
                               "recompute_config: {select_recompute: ['nothing']}\n");
    path[1] = write_text("s", EK_LINT_SHELL, "export MS_ALLOC_CONF=memory_tracker:True\n" ARGUMENTS);
    path[2] = write_text("p", EK_LINT_PYTHON,
                         "import mindspore as ms\nclass Net:\n    def construct(self, x):\n        for i in x:\n"
                         "            if i:\n                print(i)\n            else:\n                pass\n");
    int n_told = 0, n_silent = 0;
    for (int n = 0; n < 100000; n++) {
        ek_lint lint;
        ek_error err = {0};
        allocations_left = n;
        ek_status status = ek_lint_run(path, 3, NULL, NULL, &lint, &err);
        bool reached = allocations_left <= 0 && allocations_left != n;
        allocations_left = -1;
        if (status == EK_OK) {
            ek_lint_clear(&lint);
            n_silent++;
            if (!reached && n_told > 0)
                break;
            continue;
        }
        assert_int_equal(status, EK_ERR_MEMORY);
        assert_non_null(strstr(err.message, "memory"));
        n_told++;
    }
    assert_true(n_told > 50);
    assert_true(n_silent <= 2);
}

/* ---- the document, shipped files ---- */

static void print_rule(const ek_lint_rule *r, FILE *out)
{
    static const char *const language[EK_N_LINT_KINDS] = {"yaml", "sh", "python", "toml"};
    const char *fence = language[kind_of(r)];
    fprintf(out, "\n### %s\n\n%s. Level: %s. Looks at:", r->id, r->title, ek_lint_level_name[r->level]);
    for (int k = 0; k < EK_N_LINT_KINDS; k++)
        if (r->kinds & 1U << k)
            fprintf(out, " %s", ek_lint_kind_name[k]);
    fprintf(out, ".\n\n* Why: %s\n* Cost: %s\n* Fix: %s\n* Source: %s\n", r->why, r->cost, r->fix, r->source);
    fprintf(out, "\nFires on\n\n```%s\n%s```\n\nand not on\n\n```%s\n%s```\n", fence, r->bad, fence, r->good);
}

/* Everything after the heading of the rules is made from the table. EK_WRITE_DOCS=1 writes it. */
static void the_document_says_what_the_table_says(void **state)
{
    (void)state;
    static const char heading[] = "\n## The rules\n";
    size_t size = 0, n_wanted = 0;
    char *text = slurp(source_path("docs/lint.md"), &size), *wanted = NULL;
    assert_non_null(text);
    char *at = strstr(text, heading);
    assert_non_null(at);
    at += sizeof heading - 1;
    FILE *out = open_memstream(&wanted, &n_wanted);
    const ek_lint_rule *rules[EK_MAX_LINT_RULES];
    int n = ek_lint_rules(rules);
    for (int i = 0; i < n; i++)
        print_rule(rules[i], out);
    fclose(out);
    if (getenv("EK_WRITE_DOCS")) {
        FILE *file = fopen(source_path("docs/lint.md"), "wb");
        assert_non_null(file);
        fwrite(text, 1, (size_t)(at - text), file);
        fputs(wanted, file);
        assert_int_equal(fclose(file), 0);
    } else if (strcmp(at, wanted) != 0) {
        size_t same = 0, line = 1;
        for (const char *c = text; c < at; c++)
            line += *c == '\n';
        for (; at[same] && at[same] == wanted[same]; same++)
            line += at[same] == '\n';
        fail_msg("docs/lint.md:%zu is not what the table says; EK_WRITE_DOCS=1 with this test writes it", line);
    }
    free(wanted);
    free(text);
}

/* Settings that the tuning guides end with or recommend: nothing there is reported but findings that the guides share,
 * such as that a profiler is on where they show how to use it, or the table that the 13B case leaves whole and the
 * multi-card case shards. */
static void settings_that_the_guides_end_with_are_not_reported(void **state)
{
    (void)state;
    static const struct {
        const char *what, *example; /* a file of examples, or */
        ek_lint_kind kind;
        const char *text;
        const char *allowed[3]; /* findings that the guide shares */
    } cases[] = {
        {"the 13B case after its last step",
         "examples/llama2_13b_6_full_4_0.yaml",
         EK_LINT_YAML,
         NULL,
         {"full-batch", "embedding-not-sharded"}},
        {"38B on 128 devices, no recomputation",
         NULL,
         EK_LINT_YAML,
         "model_config: {num_layers: 48, hidden_size: 8192, num_attention_heads: 64, seq_length: 4096, vocab_size: "
         "100000,\n               use_flash_attention: True}\n"
         "training_config: {micro_batch_size: 2, global_batch_size: 256, bf16: True}\n"
         "accelerate_config: {parallelization: {use_distributed_optimizer: True}}\n"
         "parallel_config: {data_parallel_size: 4, tensor_model_parallel_size: 8, pipeline_model_parallel_size: 4,\n"
         "                  virtual_pipeline_model_parallel_size: 4, sequence_parallel: True}\n",
         {NULL}},
        {"the profiler's settings",
         NULL,
         EK_LINT_YAML,
         "profile: True\nprofile_start_step: 5\nprofile_stop_step: 6\ninit_start_profile: False\n"
         "profile_communication: False\nprofile_memory: True\nmstx: True\n",
         {"profile-on"}},
        {"the whole table of the profiler's settings, by their defaults",
         NULL,
         EK_LINT_YAML,
         "profile: True\nprofile_start_step: 3\nprofile_stop_step: 6\nprofile_rank_ids: null\nprofile_pipeline: False\n"
         "profile_level: 1\nwith_stack: False\ndata_simplification: False\nmstx: False\n",
         {"profile-on"}},
        {"reading of data",
         NULL,
         EK_LINT_YAML,
         MODEL_WITH(", parallel_optimizer: True") "parallel: {full_batch: False, dataset_strategy: [[8, 1], [8, 1]], "
                                                  "enable_parallel_optimizer: True}\n"
                                                  "parallel_config: {data_parallel: 8}\ncontext: {max_device_memory: "
                                                  "'58GB'}\n",
         {"micro-batch-size"}},
        {"the dry run's script",
         NULL,
         EK_LINT_SHELL,
         "#!/bin/bash\nexport MS_SIMULATION_LEVEL=1\nexport RANK_SIZE=$2\nfor((i=0; i<$3; i++))\ndo\n"
         "    export DEVICE_ID=$i\n    export RANK_ID=$((i*8))\n    python ./run_mindformer.py --config $1 &> log &\n"
         "done\n",
         {NULL}},
        {"virtual memory", NULL, EK_LINT_SHELL, "export MS_ALLOC_CONF=\"enable_vmm:True\"\n", {NULL}},
        {"switches of a program",
         NULL,
         EK_LINT_PYTHON,
         "import gc\nimport mindspore as ms\nfrom mindspore import jit, mint, nn\n"
         "ms.set_context(mode=ms.PYNATIVE_MODE, deterministic='OFF', pynative_synchronize=False)\n"
         "class Sgd(nn.Optimizer):\n    @jit\n    def construct(self, g):\n        return self.map_(g)\n"
         "initialize_model_parallel(tensor_model_parallel_size=8, zero_shard_size=4)\n"
         "for step, data in enumerate(dataset):\n    train_step(data)\n    if step % 500 == 0:\n        gc.collect()\n",
         {NULL}},
        {"a custom operator",
         NULL,
         EK_LINT_PYTHON,
         "from mindspore import mint, nn, ops\nclass Scatter(nn.Cell):\n    def __init__(self):\n"
         "        super().__init__()\n        self.used_bprop_inputs = [2]\n    def construct(self, x):\n"
         "        return comm_func.reduce_scatter_tensor(x.swapaxes(0, 1), group=self.group)[0]\n"
         "    def bprop(self, *args):\n        return (comm_func.all_gather_into_tensor(args[-1], "
         "group=self.group)[0],)\n",
         {NULL}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *path =
            cases[i].example ? source_path(cases[i].example) : write_text("guide", cases[i].kind, cases[i].text);
        ek_lint lint = lint_with(&path, 1, NULL);
        for (int k = 0; k < lint.n_findings; k++) {
            const ek_lint_rule *rule = lint.finding[k].rule;
            bool allowed = false;
            for (int a = 0; a < 3 && cases[i].allowed[a]; a++)
                allowed |= strcmp(rule->id, cases[i].allowed[a]) == 0;
            if (!allowed)
                fail_msg("%s: %s: %s", cases[i].what, rule->id, lint.finding[k].message);
        }
        ek_lint_clear(&lint);
    }
}

static void expect_no_errors(const char *configs, int least)
{
    char path[4096];
    DIR *dir = opendir(configs);
    assert_non_null(dir);
    int n_read = 0;
    for (const struct dirent *e; (e = readdir(dir)) != NULL;) {
        if (!strstr(e->d_name, ".yaml"))
            continue;
        snprintf(path, sizeof path, "%s/%s", configs, e->d_name);
        const char *at = path;
        ek_lint lint = lint_with(&at, 1, NULL);
        for (int i = 0; i < lint.n_findings; i++)
            if (lint.finding[i].rule->level == EK_LINT_ERROR)
                fail_msg("%s: %s", e->d_name, lint.finding[i].message);
        ek_lint_clear(&lint);
        n_read++;
    }
    closedir(dir);
    assert_true(n_read >= least);
}

static void training_files_of_public_models_have_no_errors(void **state)
{
    (void)state;
    char configs[4096];
    snprintf(configs, sizeof configs, "%s", source_path("tests/data/published/reference/configs"));
    expect_no_errors(configs, 11);
}

static void training_files_of_others_have_no_errors(void **state)
{
    (void)state;
    expect_no_errors(need_shared("reference/configs"), 29);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_rule_says_all_there_is_to_say),
        cmocka_unit_test(every_rule_fires_on_its_bad_example_and_not_on_its_good_one),
        cmocka_unit_test(every_rule_is_silent_on_near_misses),
        cmocka_unit_test(every_rule_has_a_near_miss),
        cmocka_unit_test(figures_in_messages_are_those_of_the_formulas),
        cmocka_unit_test(figures_of_experts_and_batches_are_those_of_the_formulas),
        cmocka_unit_test(findings_read_as_they_were_last_looked_at),
        cmocka_unit_test(comments_take_findings_away),
        cmocka_unit_test(options_choose_rules),
        cmocka_unit_test(devices_tell_the_data_parallel_ranks_of_a_script),
        cmocka_unit_test(files_that_are_not_what_they_seem_are_refused),
        cmocka_unit_test(findings_come_in_the_order_of_files_and_lines),
        cmocka_unit_test(fixes_do_away_with_their_findings),
        cmocka_unit_test(json_and_sarif_say_what_the_findings_are),
        cmocka_unit_test(patterns_of_one_list_are_one_finding),
        cmocka_unit_test(one_cause_in_two_files_is_two_findings),
        cmocka_unit_test(text_marks_the_place),
        cmocka_unit_test(columns_count_characters_in_every_kind_of_file),
        cmocka_unit_test(time_grows_with_the_findings_and_no_faster),
        cmocka_unit_test(figures_are_those_of_the_other_commands),
        cmocka_unit_test(memory_that_runs_out_is_told),
        cmocka_unit_test(the_document_says_what_the_table_says),
        cmocka_unit_test(settings_that_the_guides_end_with_are_not_reported),
        cmocka_unit_test(training_files_of_public_models_have_no_errors),
        cmocka_unit_test(training_files_of_others_have_no_errors),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
