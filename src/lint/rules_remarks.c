/* Rules whose findings the readers of jobs and the look at a job's graphs (ek_memory_lint) make as they go: each
 * warning there carries the id of its rule; the rules' texts are here. So a warning is made in one
 * place, whichever command shows it. Warnings without an id are the reader's assumptions. */
#include <string.h>

#include "lint/checks.h"
#include "lint/source_position.h"

#define JOBS (1U << EK_LINT_YAML | 1U << EK_LINT_SHELL | 1U << EK_LINT_TOML)
#define CHECKS(function)                                                                                               \
    .check = {[EK_LINT_YAML] = (function), [EK_LINT_SHELL] = (function), [EK_LINT_TOML] = (function)}

/* Where a warning about the whole job belongs. */
static const struct {
    const char *rule;
    ek__job_key setting;
} places[] = {
    {"embedding-not-sharded", {{"vocab_size", "padded_vocab_size"}, "--padded-vocab-size"}},
    {"fine-grain-without-sequence-parallel", {{"fine_grain_interleave"}, NULL}},
};

static ek__source_position place_of(const ek__lint_file *file, const ek__lint_remark *remark)
{
    for (size_t i = 0; i < sizeof places / sizeof *places && remark->line == 0; i++)
        if (strcmp(places[i].rule, remark->rule) == 0)
            return ek__source_position_of(file, &places[i].setting);
    return (ek__source_position){remark->line, remark->column, 0, NULL};
}

static ek_status report_those_of(ek__lint_run *run, const ek__lint_entry *entry, const ek__lint_file *file,
                                 const char *id)
{
    ek_status status = EK_OK;
    for (int i = 0; i < file->n_remarks && status == EK_OK; i++) {
        if (strcmp(file->remark[i].rule, id) != 0)
            continue;
        ek__source_position at = place_of(file, &file->remark[i]);
        status =
            ek__lint_report(run, entry, file, at.line, at.column, at.end_column, NULL, "%s", file->remark[i].message);
    }
    return status;
}

static ek_status check_remarks(ek__lint_run *run, const ek__lint_entry *entry, const ek__lint_file *file)
{
    return report_those_of(run, entry, file, entry->about.id);
}

/* Newer training files leave the shapes to a folder beside the checkpoint, which is nothing wrong. */
static bool is_elsewhere(const ek__lint_file *file)
{
    const ek__node *folder = ek__lint_get(file->yaml, "pretrained_model_dir");
    return file->refusal == EK__LINT_UNREAD && folder && folder->text && *folder->text;
}

static ek_status report_reason(ek__lint_run *run, const ek__lint_entry *entry, const ek__lint_file *file)
{
    return ek__lint_report(run, entry, file, file->reason.line, file->reason.column, 0, NULL,
                           "%s; rules about degrees, recomputation and memory were not checked", file->reason.message);
}

static ek_status check_assumptions(ek__lint_run *run, const ek__lint_entry *entry, const ek__lint_file *file)
{
    return is_elsewhere(file) ? report_reason(run, entry, file) : report_those_of(run, entry, file, "");
}

static ek_status check_unread(ek__lint_run *run, const ek__lint_entry *entry, const ek__lint_file *file)
{
    return file->refusal == EK__LINT_UNREAD && !is_elsewhere(file) ? report_reason(run, entry, file) : EK_OK;
}

static ek_status check_refused(ek__lint_run *run, const ek__lint_entry *entry, const ek__lint_file *file)
{
    if (file->refusal != EK__LINT_REFUSED)
        return EK_OK;
    return ek__lint_report(run, entry, file, file->reason.line, file->reason.column, 0, NULL, "%s",
                           file->reason.message);
}

#define MODEL                                                                                                          \
    "model: {model_config: {type: LlamaConfig, seq_length: 4096, hidden_size: 4096, num_layers: 32,\n"                 \
    "                       num_heads: 32, vocab_size: 32000, use_flash_attention: True}}\n"
#define ARGUMENTS                                                                                                      \
    "--num-layers 32 --hidden-size 4096 --num-attention-heads 32 --seq-length 4096 --max-position-embeddings 4096\n"   \
    "--micro-batch-size 1 --global-batch-size 64 --padded-vocab-size 32000 --use-flash-attn\n"
#define SHARED                                                                                                         \
    "model_config: {num_layers: 32, hidden_size: 4096, num_attention_heads: 32, seq_length: 4096, vocab_size: "        \
    "32000}\n"                                                                                                         \
    "training_config: {micro_batch_size: 1, global_batch_size: 64, bf16: True}\n"                                      \
    "accelerate_config: {parallelization: {use_distributed_optimizer: True}}\n"
#define DEGREES "parallel_config: {data_parallel: 2, model_parallel: 2, use_seq_parallel: True}\n"

/* clang-format off */
const ek__lint_entry ek__lint_remarks[] = {
    {
        .together = true,
        .about = {.id = "recompute-no-operator", .level = EK_LINT_WARNING, .kinds = JOBS,
                  .title = "A recompute pattern names no operator",
                  .why = "Patterns of select_recompute and select_comm_recompute are matched against the paths of cells and "
                         "operators. One that matches nothing is dropped without a message, so it saves no "
                         "memory. The paths are those of the model's layers as they are modelled here.",
                  .cost = "The whole saving of the pattern; the finding names the nearest operator.",
                  .fix = "Write the path of the operator with \\. between its names.",
                  .source = "MindFormers performance guide, typical case 'Silu-Mul recomputation not in effect'; its own listings "
                            "hold feed_forward\\.W3\\.reshape, which names nothing",
                  .bad = MODEL DEGREES "recompute_config: {select_recompute: ['feed_forward\\.W3\\.reshape']}\n",
                  .good = MODEL DEGREES "recompute_config: {select_recompute: ['feed_forward\\.w1\\.reshape', 'feed_forward\\.w2\\.reshape', "
                                        "'feed_forward\\.mul']}\n"},
        CHECKS(check_remarks),
    },
    {
        .together = true,
        .about = {.id = "recompute-no-communication", .level = EK_LINT_WARNING, .kinds = JOBS,
                  .title = "A communication pattern has no communication to repeat",
                  .why = "select_comm_recompute repeats the communication after the operators that it names. Where none follows, "
                         "as without tensor or sequence parallelism, it does nothing.",
                  .cost = "The intended saving; no time.",
                  .fix = "Name the operator in front of the communication, such as .*\\.norm, or drop the setting.",
                  .source = "MindFormers performance guide, Llama multi-card case: select_comm_recompute of .*\\.norm",
                  .bad = MODEL "parallel_config: {data_parallel: 2, model_parallel: 1}\n"
                               "recompute_config: {select_comm_recompute: ['.*\\.norm']}\n",
                  .good = MODEL DEGREES "recompute_config: {select_comm_recompute: ['.*\\.norm']}\n"},
        CHECKS(check_remarks),
    },
    {
        .together = true,
        .about = {.id = "recompute-no-saving", .level = EK_LINT_WARNING, .kinds = JOBS,
                  .title = "A recompute pattern saves no memory",
                  .why = "Recomputing an operator saves memory only where nothing else keeps the same bytes: SiLU and Mul need the "
                         "reshapes after them as long as fine-grained interleaving is off, and a cast to lower precision keeps its "
                         "larger input instead.",
                  .cost = "The time of the recomputation, for nothing or for more memory.",
                  .fix = "Add feed_forward\\.w1\\.reshape and feed_forward\\.w2\\.reshape, or leave the pattern out.",
                  .source = "MindFormers performance guide, 'Silu-Mul recomputation not in effect' and 'Cast recomputation'",
                  .bad = MODEL DEGREES "recompute_config: {select_recompute: ['feed_forward\\.mul', "
                                       "'feed_forward\\.w1\\.activation\\.silu']}\n",
                  .good = MODEL DEGREES "recompute_config: {select_recompute: ['feed_forward\\.mul', "
                                        "'feed_forward\\.w1\\.activation\\.silu',\n"
                                        "  'feed_forward\\.w1\\.reshape', 'feed_forward\\.w2\\.reshape']}\n"},
        CHECKS(check_remarks),
    },
    {
        .together = true,
        .about = {.id = "recompute-hidden", .level = EK_LINT_WARNING, .kinds = JOBS,
                  .title = "Selective recomputation on layers that are recomputed whole",
                  .why = "A layer that `recompute` takes is recomputed whole, and the selective lists have no effect on it.",
                  .cost = "None in the run; the plan is not the intended one.",
                  .fix = "Name more layers in the selective list than in `recompute`, or drop it.",
                  .source = "MindSpore dynamic graph guide, memory settings: the sums of layers by kind of recomputation",
                  .bad = MODEL DEGREES "recompute_config: {recompute: True, select_recompute: ['feed_forward\\.w2\\.reshape']}\n",
                  .good = MODEL DEGREES "recompute_config: {recompute: [4], select_recompute: {'feed_forward\\.w2\\.reshape': [8]}}\n"},
        CHECKS(check_remarks),
    },
    {
        .together = true,
        .about = {.id = "recompute-count", .level = EK_LINT_WARNING, .kinds = JOBS,
                  .title = "More layers recomputed than there are",
                  .why = "A list counts the layers of each stage or chunk. The framework cuts larger numbers "
                         "without a message, which hides a list that was made for other stages.",
                  .cost = "Nothing in the run; the list may belong to another layout.",
                  .fix = "Write the number of layers there, or the list for this layout.",
                  .source = "MindSpore dynamic graph guide, memory settings: the sum of recomputed layers is below the layers there",
                  .bad = MODEL DEGREES "recompute_config: {recompute: [40]}\n",
                  .good = MODEL DEGREES "recompute_config: {recompute: [32]}\n"},
        CHECKS(check_remarks),
    },
    {
        .about = {.id = "embedding-not-sharded", .level = EK_LINT_WARNING, .kinds = JOBS,
                  .title = "The optimizer does not share a large embedding table",
                  .why = "Optimizer parallelism leaves the embedding table whole unless model_config.parallel_optimizer is on. With a "
                         "large vocabulary the table, its gradient and its states fill the first stage. Fires from 1 GB on, or "
                         "5 % of max_device_memory.",
                  .cost = "The bytes in the finding, on every rank of the first stage, nearly all of which could be shared.",
                  .fix = "Set parallel_optimizer: True in model_config.",
                  .source = "MindFormers performance guide, Llama multi-card case, method 2",
                  .bad = "model: {model_config: {type: LlamaConfig, seq_length: 4096, hidden_size: 8192, num_layers: 8,\n"
                         "                       num_heads: 64, vocab_size: 152064, use_flash_attention: True}}\n"
                         "parallel: {enable_parallel_optimizer: True}\n"
                         "parallel_config: {data_parallel: 8}\n",
                  .good = "model: {model_config: {type: LlamaConfig, seq_length: 4096, hidden_size: 8192, num_layers: 8,\n"
                          "                       num_heads: 64, vocab_size: 152064, use_flash_attention: True,\n"
                          "                       parallel_optimizer: True}}\n"
                          "parallel: {enable_parallel_optimizer: True}\n"
                          "parallel_config: {data_parallel: 8}\n"},
        CHECKS(check_remarks),
    },
    {
        .about = {.id = "fine-grain-without-sequence-parallel", .level = EK_LINT_WARNING, .kinds = 1U << EK_LINT_YAML,
                  .title = "Fine-grained interleaving without sequence parallelism",
                  .why = "fine_grain_interleave hides the communication of tensor parallelism behind computation; it is meant to go "
                         "with sequence parallelism.",
                  .cost = "Part of the communication is not hidden, and every rank saves norms and their inputs whole.",
                  .fix = "Set use_seq_parallel: True.",
                  .source = "MindFormers performance guide, Llama multi-card case, method 3",
                  .bad = "model: {model_config: {type: LlamaConfig, seq_length: 4096, hidden_size: 4096, num_layers: 32,\n"
                         "                       num_heads: 32, vocab_size: 32000, fine_grain_interleave: 2}}\n"
                         "parallel_config: {model_parallel: 8, use_seq_parallel: False}\n",
                  .good = "model: {model_config: {type: LlamaConfig, seq_length: 4096, hidden_size: 4096, num_layers: 32,\n"
                          "                       num_heads: 32, vocab_size: 32000, fine_grain_interleave: 2}}\n"
                          "parallel_config: {model_parallel: 8, use_seq_parallel: True}\n"},
        .check = {[EK_LINT_YAML] = check_remarks},
    },
    {
        .about = {.id = "vocabulary-not-divisible", .level = EK_LINT_WARNING, .kinds = 1U << EK_LINT_YAML,
                  .title = "The vocabulary does not divide by the ranks that were to share it",
                  .why = "With vocab_emb_dp: False the embedding table is cut over model_parallel x context_parallel ranks and the "
                         "head over model_parallel. Where the vocabulary does not divide, the framework keeps them whole without "
                         "a message.",
                  .cost = "Table, head and logits whole on every rank: t times the memory and the time of the head.",
                  .fix = "Pad the vocabulary to a multiple of the ranks.",
                  .source = "MindFormers r1.5.0, how the embedding and the head are cut; docs/models.md",
                  .bad = "model: {model_config: {type: LlamaConfig, seq_length: 4096, hidden_size: 4096, num_layers: 32,\n"
                         "                       num_heads: 32, vocab_size: 32001, use_flash_attention: True}}\n"
                         "parallel_config: {model_parallel: 8, use_seq_parallel: True, vocab_emb_dp: False}\n",
                  .good = MODEL "parallel_config: {model_parallel: 8, use_seq_parallel: True, vocab_emb_dp: False}\n"},
        .check = {[EK_LINT_YAML] = check_remarks},
    },
    {
        .about = {.id = "vpp-not-on", .level = EK_LINT_WARNING, .kinds = 1U << EK_LINT_YAML,
                  .title = "Interleave is counted but not switched on",
                  .why = "pp_interleave_num counts only with parallel.pipeline_config.pipeline_interleave: True. Without it a stage "
                         "has one chunk.",
                  .cost = "The bubble stays (p-1)/(m+p-1) of a step instead of (p-1)/(v m+p-1).",
                  .fix = "Set pipeline_interleave: True and pipeline_scheduler: '1f1b', or drop pp_interleave_num.",
                  .source = "MindFormers performance guide, 'Too many bubbles in the pp scenario'",
                  .bad = "model: {model_config: {type: LlamaConfig, seq_length: 4096, hidden_size: 4096, num_layers: 32,\n"
                         "                       num_heads: 32, vocab_size: 32000, pp_interleave_num: 2}}\n"
                         "parallel_config: {pipeline_stage: 4, micro_batch_num: 64}\n",
                  .good = "model: {model_config: {type: LlamaConfig, seq_length: 4096, hidden_size: 4096, num_layers: 32,\n"
                          "                       num_heads: 32, vocab_size: 32000, pp_interleave_num: 2}}\n"
                          "parallel: {pipeline_config: {pipeline_interleave: True, pipeline_scheduler: '1f1b'}}\n"
                          "parallel_config: {pipeline_stage: 4, micro_batch_num: 64}\n"},
        .check = {[EK_LINT_YAML] = check_remarks},
    },
    {
        .about = {.id = "setting-without-effect", .level = EK_LINT_NOTE, .kinds = JOBS,
                  .title = "A setting does nothing with the others",
                  .why = "Some settings count only with others: accumulation steps not with pipeline stages, micro-batches not without "
                         "them, fine-grained interleaving only with tensor parallelism; some switches of recompute_config are not passed "
                         "on to the layers.",
                  .cost = "None in the run; the intended effect is missing.",
                  .fix = "Drop the setting, or set the one that it needs; the finding names it.",
                  .source = "MindFormers r1.5.0 and Megatron-LM as their files are read here; docs/models.md",
                  .bad = MODEL "parallel_config: {data_parallel: 2, micro_batch_num: 8}\n",
                  .good = MODEL "parallel_config: {data_parallel: 2, pipeline_stage: 2, micro_batch_num: 8}\n"},
        CHECKS(check_remarks),
    },
    {
        .about = {.id = "unknown-key", .level = EK_LINT_WARNING, .kinds = JOBS,
                  .title = "A key looks mistyped",
                  .why = "The framework takes keys that it does not know without a word. One that is nearly the name of a setting that "
                         "memory depends on is likely meant to be it.",
                  .cost = "The setting has its default.",
                  .fix = "Write the name that the finding suggests.",
                  .source = "MindFormers r1.5.0: PretrainedConfig keeps unknown keys; docs/models.md",
                  .bad = "model: {model_config: {type: LlamaConfig, seq_length: 4096, hidden_size: 4096, num_layers: 32,\n"
                         "                       num_heads: 32, vocab_size: 32000, use_flash_atention: True}}\n"
                         "parallel_config: {data_parallel: 1}\n",
                  .good = MODEL "parallel_config: {data_parallel: 1}\n"},
        CHECKS(check_remarks),
    },
    {
        .about = {.id = "argument-twice", .level = EK_LINT_WARNING, .kinds = 1U << EK_LINT_SHELL,
                  .title = "An argument is given twice with different values",
                  .why = "The last value counts. A reader who stops at the first one takes the job for another.",
                  .cost = "A run with other degrees than were meant, where the first value was the right one.",
                  .fix = "Keep one of them.",
                  .source = "Megatron-LM, arguments by Python's argparse: the last value of a name is kept",
                  .bad = ARGUMENTS "--tensor-model-parallel-size 2 --sequence-parallel\n--tensor-model-parallel-size 4\n",
                  .good = ARGUMENTS "--tensor-model-parallel-size 2 --sequence-parallel\n--tensor-model-parallel-size 2\n"},
        .check = {[EK_LINT_SHELL] = check_remarks},
    },
    {
        .about = {.id = "zero-shard-size", .level = EK_LINT_ERROR, .kinds = 1U << EK_LINT_YAML | 1U << EK_LINT_PYTHON,
                  .title = "zero_shard_size is out of its range",
                  .why = "Sharding the optimizer over a part of the data parallelism keeps its gathers inside a node. The size is "
                         "above 1, at most the data parallelism, and divides it; -1, the default, is all of it. A program's is "
                         "checked against the data parallelism of the training file, or of the launch script's --worker_num, "
                         "that is looked at with it.",
                  .cost = "The sharding that is meant does not come about.",
                  .fix = "A divisor of the data parallelism above 1, such as the devices of a node.",
                  .source = "MindSpore's tuning guide for dynamic graphs, advanced features: unsaturated sharding",
                  .bad = SHARED "parallel_config: {tensor_model_parallel_size: 2, data_parallel_size: 8, zero_shard_size: 6}\n",
                  .good = SHARED "parallel_config: {tensor_model_parallel_size: 2, data_parallel_size: 8, zero_shard_size: 4}\n"},
        .check = {[EK_LINT_YAML] = check_remarks, [EK_LINT_PYTHON] = ek__lint_program_shard_size},
    },
    {
        .about = {.id = "assumption", .level = EK_LINT_NOTE, .kinds = JOBS,
                  .title = "Something is taken for granted",
                  .why = "A setting that is missing or has an unknown form gets an assumed value, and other findings "
                         "rest on it.",
                  .cost = "Nothing in the run; findings with figures may be off.",
                  .fix = "Write the setting in the file, or give --devices.",
                  .source = "docs/models.md: each reader's assumptions for missing settings",
                  .bad = "model: {model_config: {type: LlamaConfig, seq_length: 4096, hidden_size: 4096, num_layers: 32,\n"
                         "                       num_heads: 32, vocab_size: 32000}}\nparallel_config: {data_parallel: 1}\n"
                         "optimizer: {type: MyOptimizer}\n",
                  .good = MODEL "parallel_config: {data_parallel: 1}\noptimizer: {type: AdamW}\n"},
        CHECKS(check_assumptions),
    },
    {
        .about = {.id = "job-unread", .level = EK_LINT_ERROR, .kinds = JOBS,
                  .title = "The training job cannot be understood",
                  .why = "A setting of the job is missing, of the wrong type, or contradicts another, so that its layers and degrees "
                         "cannot be put together.",
                  .cost = "The framework is likely to stop at the same place; most rules could not be checked.",
                  .fix = "Correct the setting that the finding names.",
                  .source = "the reader of jobs; docs/formats.md",
                  .bad = MODEL "parallel_config: {model_parallel: many}\n",
                  .good = MODEL "parallel_config: {model_parallel: 1}\n"},
        CHECKS(check_unread),
    },
    {
        .about = {.id = "not-runnable", .level = EK_LINT_ERROR, .kinds = JOBS,
                  .title = "The framework would not run this",
                  .why = "Degrees do not divide the sizes that they cut, layers are not all placed, or the schedule does not take so many micro-batches: MindSpore's "
                         "pipeline fewer than stages, an interleaved one of Megatron no multiple of them.",
                  .cost = "The run stops at its start, when its devices are already taken.",
                  .fix = "Correct the setting that the finding names.",
                  .source = "checks that the frameworks make themselves; docs/plan-legal.md, docs/models.md",
                  .bad = MODEL "parallel_config: {model_parallel: 6, use_seq_parallel: True}\n",
                  .good = MODEL "parallel_config: {model_parallel: 8, use_seq_parallel: True}\n"},
        CHECKS(check_refused),
    },
    {.about = {.id = NULL}},
};
/* clang-format on */
