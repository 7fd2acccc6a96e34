/* Rules on switches that training YAMLs, launch scripts and training programs each have in a form of their own: a key,
 * a variable, a call. One entry has the check for each kind, so that one idea is suppressed and explained by one id. */
#include "lint/checks.h"

#define YAML    (1U << EK_LINT_YAML)
#define SHELL   (1U << EK_LINT_SHELL)
#define PYTHON  (1U << EK_LINT_PYTHON)
#define GUIDE   "MindSpore's tuning guide for dynamic graphs"
#define FORMERS "MindSpore Transformers' performance tuning guide"

static ek_status program_deterministic(ek__lint_run *run, const ek__lint_entry *entry, const ek__lint_file *file)
{
    ek_status status = ek__lint_variables(run, entry, file);
    return status ? status : ek__lint_program_deterministic(run, entry, file);
}

static ek_status program_synchronous(ek__lint_run *run, const ek__lint_entry *entry, const ek__lint_file *file)
{
    ek_status status = ek__lint_variables(run, entry, file);
    return status ? status : ek__lint_program_synchronous(run, entry, file);
}

static ek_status program_graphs(ek__lint_run *run, const ek__lint_entry *entry, const ek__lint_file *file)
{
    ek_status status = ek__lint_variables(run, entry, file);
    return status ? status : ek__lint_program_switches(run, entry, file);
}

/* clang-format off */
const ek__lint_entry ek__lint_switches[] = {
    {
        .about = {.id = "deterministic", .level = EK_LINT_WARNING, .kinds = YAML | SHELL | PYTHON,
                  .title = "Deterministic computation is on",
                  .why = "The same bits in every run need one order of additions: operators that add in any order are left out, and "
                         "collectives wait for one another. It is for comparing results bit by bit.",
                  .cost = "Slower operators and collectives in every step; the guide switches it off first and gives no figure.",
                  .fix = "deterministic: \"OFF\" and train_precision_sync: False in a YAML; mindspore.set_context(deterministic='OFF') or "
                         "nothing at all in a program; the variable with the finding's value, or left out.",
                  .source = GUIDE ", programming checklist: deterministic computation off; PyTorch's documentation of "
                            "torch.use_deterministic_algorithms; Megatron-LM's README on reproducibility for "
                            "NVTE_ALLOW_NONDETERMINISTIC_ALGO; general knowledge for HCCL's and LCCL's variables",
                  .bad = "context:\n  mode: 0\n  deterministic: \"ON\"\n",
                  .good = "context:\n  mode: 0\n  deterministic: \"OFF\"\n"},
        .check = {[EK_LINT_YAML] = ek__lint_yaml_deterministic, [EK_LINT_SHELL] = ek__lint_variables,
                  [EK_LINT_PYTHON] = program_deterministic},
    },
    {
        .about = {.id = "synchronous-launch", .level = EK_LINT_WARNING, .kinds = YAML | SHELL | PYTHON,
                  .title = "The host waits for every operator",
                  .why = "With stream synchronisation, or blocking launches, every operator is waited for before the next is sent, so that "
                         "an error shows where it happens. Launching then never overlaps execution, and the device idles "
                         "between operators.",
                  .cost = "The time of all launches, in every step; no source gives a figure.",
                  .fix = "pynative_synchronize: False in a YAML and in mindspore.set_context(); the variable set to 0, or left out.",
                  .source = GUIDE ", programming checklist: stream synchronisation off; general knowledge for the variables and for "
                            "launch_blocking()",
                  .bad = "context:\n  mode: 1\n  pynative_synchronize: True\n",
                  .good = "context:\n  mode: 1\n  pynative_synchronize: False\n"},
        .check = {[EK_LINT_YAML] = ek__lint_yaml_synchronous, [EK_LINT_SHELL] = ek__lint_variables,
                  [EK_LINT_PYTHON] = program_synchronous},
    },
    {
        .about = {.id = "save-graphs", .level = EK_LINT_WARNING, .kinds = YAML | SHELL | PYTHON,
                  .title = "Graphs are saved while they are compiled",
                  .why = "save_graphs, or MS_DEV_SAVE_GRAPHS, writes intermediate files of every graph at every stage of compilation, on "
                         "every device. It is for inspecting one compilation.",
                  .cost = "Time of the compilation and many files, the more the more layers; no source gives a figure.",
                  .fix = "save_graphs: False, or 0 in mindspore.set_context(); leave the variable out. Fewer layers when graphs are "
                         "inspected.",
                  .source = FORMERS ", IR graph: fewer layers, to reduce the time of compiling and saving; unmasked communication: "
                            "MS_DEV_SAVE_GRAPHS to look at the graphs of a run",
                  .bad = "context:\n  save_graphs: True\n",
                  .good = "context:\n  save_graphs: False\n"},
        .check = {[EK_LINT_YAML] = ek__lint_yaml_graphs, [EK_LINT_SHELL] = ek__lint_variables,
                  [EK_LINT_PYTHON] = program_graphs},
    },
    {
        .about = {.id = "full-batch", .level = EK_LINT_NOTE, .kinds = YAML | PYTHON,
                  .title = "Every device reads the whole global batch",
                  .why = "With full_batch: True each device reads the data of all data-parallel ranks and uses its own part. Only "
                         "a profile shows whether steps wait for reading, so this is a note; most shipped configurations have it.",
                  .cost = "d times the reading for d data-parallel ranks, at the same time on every device; on shared storage of a large "
                          "cluster steps wait for data.",
                  .fix = "full_batch: False with dataset_strategy: [[dp, 1], ..], one for each input; in a program full_batch=False with "
                         "dataset_strategy=((dp, 1), ..).",
                  .source = FORMERS ", IO bottleneck",
                  .bad = "model: {model_config: {type: LlamaConfig, seq_length: 4096, hidden_size: 4096, num_layers: 32,\n"
                         "                       num_heads: 32, vocab_size: 32000, use_flash_attention: True}}\n"
                         "parallel: {full_batch: True, enable_parallel_optimizer: True}\nparallel_config: {data_parallel: 8}\n",
                  .good = "model: {model_config: {type: LlamaConfig, seq_length: 4096, hidden_size: 4096, num_layers: 32,\n"
                          "                       num_heads: 32, vocab_size: 32000, use_flash_attention: True}}\n"
                          "parallel: {full_batch: False, dataset_strategy: [[8, 1]], enable_parallel_optimizer: True}\n"
                          "parallel_config: {data_parallel: 8}\n"},
        .check = {[EK_LINT_YAML] = ek__lint_yaml_full_batch, [EK_LINT_PYTHON] = ek__lint_program_switches},
    },
    {
        .about = {.id = "profile-steps", .level = EK_LINT_WARNING, .kinds = YAML | PYTHON,
                  .title = "The profiler looks at the first steps, or at too many",
                  .why = "The first step compiles graphs, so its profile is not one of training; 2 to 4 steps from the third on are "
                         "enough.",
                  .cost = "A profile that misleads, or files that take long to write and to read.",
                  .fix = "profile_start_step: 3 or later, profile_stop_step: at most 3 more; in a program wait and warmup that add up to "
                         "2 or more, and active of 2 to 4.",
                  .source = FORMERS ", profiler tool: 2 to 4 steps, from step 3 on",
                  .bad = "profile: True\nprofile_start_step: 1\nprofile_stop_step: 10\n",
                  .good = "profile: True\nprofile_start_step: 5\nprofile_stop_step: 6\n"},
        .check = {[EK_LINT_YAML] = ek__lint_yaml_profile_steps, [EK_LINT_PYTHON] = ek__lint_program_profile_steps},
    },
    {.about = {.id = NULL}},
};
/* clang-format on */
