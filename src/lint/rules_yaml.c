/* Rules on single keys of training YAMLs: switches that cost time when they are left on, how data is read, the
 * profiler, the limit of device memory. Degrees come from the job, where the file holds one. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/c_locale.h"
#include "base/error.h"
#include "lint/checks.h"
#include "lint/source_position.h"

#define YAML            (1U << EK_LINT_YAML)
#define CHECK(function) .check = {[EK_LINT_YAML] = (function)}
#define REPORT(node, fix, ...)                                                                                         \
    ek__lint_report(run, entry, file, ek__source_position_of_node(node).line,                                          \
                    ek__source_position_of_node(node).column, ek__source_position_of_node(node).end_column, (fix),     \
                    __VA_ARGS__)

enum {
    FIRST_STEP = 3, /* where profiling may begin: the first step compiles */
    MOST_STEPS = 4, /* to profile */
    MANY_DEVICES = 1000,
    MEMORY_MB = 58 * 1024, /* of a device of 64 GB, for the framework's pool */
    MEMORY_MANY_MB = 54 * 1024,
    DEVICE_MB = 64 * 1024,
};

bool ek__lint_is_on_at(const ek__lint_file *file, const char *path)
{
    return ek__lint_is_on(ek__lint_get(file->yaml, path));
}

int ek__lint_number_at(const ek__lint_file *file, const char *path, int fallback)
{
    const ek__node *node = ek__lint_get(file->yaml, path);
    int value = fallback;
    return node && ek__node_is_int(node, &value) ? value : fallback;
}

static int data_ranks(const ek__lint_file *file)
{
    return file->job ? file->job->parallel.data : ek__lint_number_at(file, "parallel_config.data_parallel", 1);
}

int64_t ek__lint_count_devices(const ek__lint_file *file)
{
    if (file->job) {
        const ek_job_parallel *p = &file->job->parallel;
        return (int64_t)p->data * p->tensor * p->pipeline * p->context;
    }
    return data_ranks(file);
}

/* ---- switches left on ---- */

ek_status ek__lint_yaml_deterministic(ek__lint_run *run, const ek__lint_entry *entry, const ek__lint_file *file)
{
    /* The first word is used for other things elsewhere in files, such as the order of data. */
    static const char *const paths[] = {"context.deterministic", "deterministic", "training_config.deterministic",
                                        "train_precision_sync"};
    static const char *const keys[] = {"deterministic", "deterministic", "deterministic", "train_precision_sync"};
    ek_status status = EK_OK;
    for (size_t i = 0; i < sizeof keys / sizeof *keys && status == EK_OK; i++) {
        const ek__node *node = ek__lint_get(file->yaml, paths[i]);
        bool word = node && !ek__node_is_bool(node, &(bool){false});
        if (ek__lint_is_on(node))
            status = REPORT(node, word ? "\"OFF\"" : "False",
                            "%s is on: operators take their slower, reproducible way in every step; switch it off once "
                            "results were compared",
                            keys[i]);
    }
    return status;
}

ek_status ek__lint_yaml_synchronous(ek__lint_run *run, const ek__lint_entry *entry, const ek__lint_file *file)
{
    const ek__node *node = ek__lint_find(file->yaml, "pynative_synchronize");
    return !ek__lint_is_on(node) ? EK_OK
                                 : REPORT(node, "False",
                                          "pynative_synchronize is on: the host waits for every operator, so none is "
                                          "launched ahead; it is for finding errors");
}

ek_status ek__lint_yaml_graphs(ek__lint_run *run, const ek__lint_entry *entry, const ek__lint_file *file)
{
    const ek__node *node = ek__lint_get(file->yaml, "context.save_graphs");
    int level = 0;
    bool on = ek__lint_is_on(node) || (node && ek__node_is_int(node, &level) && level > 0);
    return !on ? EK_OK
               : REPORT(node, "False",
                        "save_graphs is on: every graph is written out while it is compiled; for a look at the graphs "
                        "take few layers, and switch it off for training");
}

/* ---- data ---- */

ek_status ek__lint_yaml_full_batch(ek__lint_run *run, const ek__lint_entry *entry, const ek__lint_file *file)
{
    const ek__node *node = ek__lint_get(file->yaml, "parallel.full_batch");
    int data = data_ranks(file);
    if (!ek__lint_is_on(node) || data == 1)
        return EK_OK;
    int64_t n = run->options->n_devices > 0 ? run->options->n_devices : ek__lint_count_devices(file);
    char figure[120] = "";
    if (file->job)
        ek__snprintf(figure, sizeof figure, ", %lld sequences a step in all instead of %lld",
                     (long long)(n * ek_job_sequences(file->job)), (long long)(n * ek_job_sequences(file->job) / data));
    return REPORT(
        node, NULL, /* as the only change it would leave the data uncut */
        "full_batch is on with %d data-parallel ranks: each of %lld devices reads the data of all of them, %d "
        "times its part%s; where reading is slow set it to False, with dataset_strategy [[%d, 1], ..], one for "
        "each input",
        data, (long long)n, data, figure, data);
}

/* The first number of an entry of dataset_strategy; -1 where there is none. */
static int first_of(const ek__node *entry)
{
    int value = -1;
    return entry->kind == EK__LIST && entry->first && ek__node_is_int(entry->first, &value) ? value : -1;
}

static ek_status check_strategy_lists(ek__lint_run *run, const ek__lint_entry *entry, const ek__lint_file *file,
                                      const ek__node *strategy)
{
    const ek__node *columns = ek__lint_get(file->yaml, "train_dataset.input_columns");
    int data = data_ranks(file), i = 0;
    if (columns && columns->kind == EK__LIST && columns->n != strategy->n)
        return REPORT(strategy, NULL,
                      "dataset_strategy has %d entr%s, but train_dataset.input_columns has %d; give one "
                      "for each",
                      strategy->n, strategy->n == 1 ? "y" : "ies", columns->n);
    for (const ek__node *one = strategy->first; one; one = one->next, i++)
        if (first_of(one) >= 0 && first_of(one) != data)
            return REPORT(
                one->first, NULL,
                "dataset_strategy cuts the batch of input %d over %d ranks, but data_parallel is %d; write %d", i,
                first_of(one), data, data);
    return EK_OK;
}

static ek_status check_strategy(ek__lint_run *run, const ek__lint_entry *entry, const ek__lint_file *file)
{
    const ek__node *full = ek__lint_get(file->yaml, "parallel.full_batch"),
                   *strategy = ek__lint_get(file->yaml, "parallel.dataset_strategy");
    bool on = false, told = full && ek__node_is_bool(full, &on);
    if (strategy && on)
        return REPORT(strategy, NULL, "dataset_strategy does nothing with full_batch: True");
    if (strategy && strategy->kind == EK__LIST)
        return check_strategy_lists(run, entry, file, strategy);
    if (!strategy && told && !on && data_ranks(file) > 1)
        return REPORT(full, NULL,
                      "full_batch is off without dataset_strategy, so the data is not cut by data_parallel %d; add "
                      "dataset_strategy: [[%d, 1], ..], one for each input",
                      data_ranks(file), data_ranks(file));
    return EK_OK;
}

static ek_status check_mask(ek__lint_run *run, const ek__lint_entry *entry, const ek__lint_file *file)
{
    const ek__node *columns = ek__lint_get(file->yaml, "train_dataset.input_columns"),
                   *type = ek__lint_get(file->yaml, "train_dataset.data_loader.type");
    /* Loaders that return stored columns; others compute the mask. */
    bool stored =
        type && type->text && (strcmp(type->text, "MindDataset") == 0 || strcmp(type->text, "TFRecordDataset") == 0);
    if (!columns || columns->kind != EK__LIST || !stored)
        return EK_OK;
    double length = file->job ? file->job->parallel.seq_length : 0;
    char figure[96] = "";
    if (length > 0)
        ek__snprintf(figure, sizeof figure, " (%.0f MB a sequence at a byte each)", length * length / 0x1p20);
    for (const ek__node *one = columns->first; one; one = one->next)
        if (one->text && strcmp(one->text, "attention_mask") == 0)
            return REPORT(
                one, NULL,
                "attention_mask is read from storage by %s; if it has a row for each token%s, make it from "
                "smaller columns as data is loaded, or use a compressed mask; the file does not give its shape",
                type->text, figure);
    return EK_OK;
}

/* ---- the profiler ---- */

static ek_status check_profile(ek__lint_run *run, const ek__lint_entry *entry, const ek__lint_file *file)
{
    const ek__node *node = ek__lint_get(file->yaml, "profile");
    return !ek__lint_is_on(node)
               ? EK_OK
               : REPORT(node, "False", "the profiler is on; switch it off for training that is not to be profiled");
}

ek_status ek__lint_yaml_profile_steps(ek__lint_run *run, const ek__lint_entry *entry, const ek__lint_file *file)
{
    const ek__node *start = ek__lint_get(file->yaml, "profile_start_step"),
                   *stop = ek__lint_get(file->yaml, "profile_stop_step");
    int first = ek__lint_number_at(file, "profile_start_step", 1),
        last = ek__lint_number_at(file, "profile_stop_step", 10);
    ek_status status = EK_OK;
    char fix[16];
    if (!ek__lint_is_on_at(file, "profile") || first > last || first < 0 || last < 0) /* the latter: profile-range */
        return EK_OK;
    snprintf(fix, sizeof fix, "%d", FIRST_STEP);
    if (first < FIRST_STEP && !ek__lint_is_on_at(file, "init_start_profile"))
        status = REPORT(start ? start : ek__lint_get(file->yaml, "profile"), start ? fix : NULL,
                        "profiling starts at step %d%s, while graphs are compiled and caches fill; start at step %d",
                        first, start ? "" : ", the default", FIRST_STEP);
    first = first < FIRST_STEP ? FIRST_STEP : first;
    snprintf(fix, sizeof fix, "%d", first + MOST_STEPS - 1);
    if (status == EK_OK && last - first + 1 > MOST_STEPS)
        status =
            REPORT(stop ? stop : ek__lint_get(file->yaml, "profile"), stop ? fix : NULL,
                   "profiling stops after step %d%s; from step %d on that is %d steps, and 2 to %d are advised, since "
                   "collecting takes long; stop at %s",
                   last, stop ? "" : ", the default", first, last - first + 1, MOST_STEPS, fix);
    return status;
}

static ek_status check_profile_init(ek__lint_run *run, const ek__lint_entry *entry, const ek__lint_file *file)
{
    const ek__node *node = ek__lint_get(file->yaml, "init_start_profile");
    /* Data of communication and of memory are collected only by a profiler that starts so. */
    bool wanted = ek__lint_is_on_at(file, "profile_communication") || ek__lint_is_on_at(file, "profile_memory");
    if (!ek__lint_is_on_at(file, "profile") || !ek__lint_is_on(node) || wanted)
        return EK_OK;
    return REPORT(node, "False",
                  "the profiler starts as it is made, so profile_start_step %d does nothing and the compilation is "
                  "collected too",
                  ek__lint_number_at(file, "profile_start_step", 1));
}

static ek_status check_profile_communication(ek__lint_run *run, const ek__lint_entry *entry, const ek__lint_file *file)
{
    const ek__node *node = ek__lint_get(file->yaml, "profile_communication");
    bool alone = run->options->n_devices == 1 ||
                 (run->options->n_devices == 0 && file->job && ek__lint_count_devices(file) == 1);
    return !ek__lint_is_on_at(file, "profile") || !ek__lint_is_on(node) || !alone
               ? EK_OK
               : REPORT(node, "False", "profile_communication does nothing on a single device");
}

/* ---- memory ---- */

static ek_status check_memory(ek__lint_run *run, const ek__lint_entry *entry, const ek__lint_file *file)
{
    const ek__node *context = ek__lint_get(file->yaml, "context"),
                   *node = ek__lint_get(file->yaml, "context.max_device_memory");
    double mb = file->job ? file->job->limit_mb : 0;
    if (file->job && context && !node)
        return ek__lint_report(
            run, entry, file, context->key_line, context->key_column, 0, NULL,
            "max_device_memory is not set, so the framework takes all memory of the device; set 58GB on "
            "devices of 64 GB");
    if (!node || mb <= MEMORY_MB || mb > DEVICE_MB)
        return EK_OK;
    return REPORT(
        node, "\"58GB\"",
        "max_device_memory of %.1f GB leaves %.1f GB of a device of 64 GB to communication and the rest; 58 GB "
        "are advised",
        mb / 1024, (DEVICE_MB - mb) / 1024);
}

static ek_status check_memory_many(ek__lint_run *run, const ek__lint_entry *entry, const ek__lint_file *file)
{
    const ek__node *node = ek__lint_get(file->yaml, "context.max_device_memory");
    double mb = file->job ? file->job->limit_mb : 0;
    int64_t n = run->options->n_devices > 0 ? run->options->n_devices : ek__lint_count_devices(file);
    if (!node || n < MANY_DEVICES || mb <= MEMORY_MANY_MB || mb > DEVICE_MB)
        return EK_OK;
    return REPORT(
        node, "\"54GB\"",
        "max_device_memory is %.1f GB on %lld devices; on a thousand and more, whose communication needs more "
        "memory outside of the pool, 54 GB are usual",
        mb / 1024, (long long)n);
}

static ek_status check_jit(ek__lint_run *run, const ek__lint_entry *entry, const ek__lint_file *file)
{
    const ek__node *node = ek__lint_find(file->yaml, "jit_level");
    return !node || strcmp(node->text, "O0") != 0
               ? EK_OK
               : REPORT(
                     node, "\"O1\"",
                     "jit_level is O0, with which operators are not fused; O1 fuses them, which saves time and memory");
}

/* A word, or the number that the framework knows it by. */
static ek_status check_mode(ek__lint_run *run, const ek__lint_entry *entry, const ek__lint_file *file)
{
    static const char *const word[] = {"data_parallel", "semi_auto_parallel", "auto_parallel", "hybrid_parallel",
                                       "stand_alone"};
    const ek__node *node = ek__lint_get(file->yaml, "parallel.parallel_mode");
    int number;
    if (!node || node->kind != EK__SCALAR || ek__node_is_null(node))
        return EK_OK;
    for (size_t i = 0; i < sizeof word / sizeof *word; i++)
        if (ek__strcasecmp(node->text, word[i]) == 0)
            return EK_OK;
    if (ek__node_is_int(node, &number) && number >= 0 && number <= 3)
        return EK_OK;
    return REPORT(
        node, NULL,
        "parallel_mode is '%.40s', which is no parallel mode; 1, semi_auto_parallel, is the one whose degrees "
        "parallel_config gives (0: data_parallel, 2: auto_parallel, 3: hybrid_parallel)",
        node->text);
}

#define MODEL                                                                                                          \
    "model: {model_config: {type: LlamaConfig, seq_length: 4096, hidden_size: 4096, num_layers: 32,\n"                 \
    "                       num_heads: 32, vocab_size: 32000, use_flash_attention: True}}\n"
#define THOUSAND                                                                                                       \
    "parallel_config: {data_parallel: 16, model_parallel: 8, pipeline_stage: 8, micro_batch_num: 64, "                 \
    "use_seq_parallel: True}\n"

/* clang-format off */
const ek__lint_entry ek__lint_yaml[] = {
    {
        .about = {.id = "dataset-strategy", .level = EK_LINT_WARNING, .kinds = YAML,
                  .title = "dataset_strategy does not fit full_batch, the degrees or the inputs",
                  .why = "dataset_strategy counts with full_batch: False only. It has an entry for each input, whose first number is "
                         "data_parallel and cuts the batch.",
                  .cost = "A run that stops, or data that is cut in another way than was meant.",
                  .fix = "dataset_strategy: [[dp, 1], ..], one for each of train_dataset.input_columns.",
                  .source = "MindFormers performance guide, IO bottleneck, and its general training template",
                  .bad = MODEL "parallel: {full_batch: False, dataset_strategy: [[4, 1]], enable_parallel_optimizer: True}\n"
                               "parallel_config: {data_parallel: 8}\n",
                  .good = MODEL "parallel: {full_batch: False, dataset_strategy: [[8, 1]], enable_parallel_optimizer: True}\n"
                                "parallel_config: {data_parallel: 8}\n"},
        CHECK(check_strategy),
    },
    {
        .about = {.id = "parallel-mode", .level = EK_LINT_ERROR, .kinds = YAML,
                  .title = "parallel_mode is no parallel mode",
                  .why = "The framework knows 0 to 3, data_parallel, semi_auto_parallel, auto_parallel and hybrid_parallel, and the word "
                         "stand_alone.",
                  .cost = "The run stops at its start.",
                  .fix = "parallel_mode: 1, with the degrees in parallel_config.",
                  .source = "MindFormers, training template, parallel.parallel_mode; MindSpore, ParallelMode",
                  .bad = "parallel:\n  parallel_mode: 9\n",
                  .good = "parallel:\n  parallel_mode: 1\n"},
        CHECK(check_mode),
    },
    {
        .about = {.id = "mask-from-storage", .level = EK_LINT_NOTE, .kinds = YAML,
                  .title = "The attention mask is read from storage",
                  .why = "A mask can have S x S values for a sequence of S tokens, far more than the tokens, and loaders that hand out stored columns "
                         "read all of it. The file does not give its shape, S x S values or one for each token, so this is a note.",
                  .cost = "S bytes or more read for each token.",
                  .fix = "Drop the column and make the mask from the tokens, or use a compressed one.",
                  .source = "MindFormers performance guide, IO bottleneck: inputs like attention_mask are O(N^2)",
                  .bad = "train_dataset:\n  data_loader:\n    type: MindDataset\n  input_columns: [\"input_ids\", \"attention_mask\"]\n",
                  .good = "train_dataset:\n  data_loader:\n    type: MindDataset\n  input_columns: [\"input_ids\"]\n"},
        CHECK(check_mask),
    },
    {
        .about = {.id = "profile-on", .level = EK_LINT_NOTE, .kinds = YAML,
                  .title = "The profiler is on",
                  .why = "Collecting and writing takes long; it is for runs that are made to be profiled.",
                  .cost = "Slower steps while they are profiled, and the time to write the data; no source gives a figure.",
                  .fix = "profile: False.",
                  .source = "MindFormers performance guide, profiler tool",
                  .bad = "profile: True\nprofile_start_step: 3\nprofile_stop_step: 5\n",
                  .good = "profile: False\nprofile_start_step: 3\nprofile_stop_step: 5\n"},
        CHECK(check_profile),
    },
    {
        .about = {.id = "profile-init", .level = EK_LINT_NOTE, .kinds = YAML,
                  .title = "The profiler starts before the first step",
                  .why = "With init_start_profile: True the profiler starts as it is made, and profile_start_step does nothing. The framework "
                         "wants it where communication or memory is to be collected; with profile_communication or profile_memory on in "
                         "the file the rule is silent.",
                  .cost = "Compilation and the first steps are collected too.",
                  .fix = "init_start_profile: False.",
                  .source = "MindFormers performance guide, profiler tool, comment on init_start_profile and table of parameters, which do not "
                            "agree on which of the two counts",
                  .bad = "profile: True\nprofile_start_step: 5\nprofile_stop_step: 6\ninit_start_profile: True\n",
                  .good = "profile: True\nprofile_start_step: 5\nprofile_stop_step: 6\ninit_start_profile: False\n"},
        CHECK(check_profile_init),
    },
    {
        .about = {.id = "profile-communication", .level = EK_LINT_NOTE, .kinds = YAML,
                  .title = "Communication is to be profiled on a single device",
                  .why = "profile_communication collects communication between devices; one device has none.",
                  .cost = "Nothing.",
                  .fix = "profile_communication: False.",
                  .source = "MindFormers performance guide, profiler tool, table of parameters",
                  .bad = MODEL "parallel_config: {data_parallel: 1}\n"
                               "profile: True\nprofile_start_step: 3\nprofile_stop_step: 5\nprofile_communication: True\n",
                  .good = MODEL "profile: True\nprofile_start_step: 3\nprofile_stop_step: 5\nprofile_communication: True\n"
                                "parallel: {enable_parallel_optimizer: True}\nparallel_config: {data_parallel: 8}\n"},
        CHECK(check_profile_communication),
    },
    {
        .about = {.id = "max-device-memory", .level = EK_LINT_WARNING, .kinds = YAML | 1U << EK_LINT_PYTHON,
                  .title = "The pool takes more of a device than is advised",
                  .why = "Memory in the framework's pool is missing for other components: communication buffers, work space of operators. 58 GB are "
                         "advised on devices of 64 GB. Larger devices are not known to a source, and the rule is silent about them.",
                  .cost = "A run that stops out of memory in a component outside of the pool.",
                  .fix = "max_device_memory: \"58GB\", or '58GB' in mindspore.set_context().",
                  .source = "MindFormers performance guide, DryRun memory evaluation: recommended value 58GB",
                  .bad = MODEL "context: {max_device_memory: \"60GB\"}\nparallel_config: {data_parallel: 1}\n",
                  .good = MODEL "context: {max_device_memory: \"58GB\"}\nparallel_config: {data_parallel: 1}\n"},
        .check = {[EK_LINT_YAML] = check_memory, [EK_LINT_PYTHON] = ek__lint_program_switches},
    },
    {
        .about = {.id = "max-device-memory-cluster", .level = EK_LINT_NOTE, .kinds = YAML,
                  .title = "The pool takes more of a device than is usual on a thousand devices",
                  .why = "The more devices, the more memory communication takes outside of the pool.",
                  .cost = "A run that stops out of memory, perhaps only at its full size.",
                  .fix = "max_device_memory: \"54GB\".",
                  .source = "MindFormers performance guide, DryRun memory evaluation: typically 54GB on a thousand card cluster",
                  .bad = MODEL "context: {max_device_memory: \"58GB\"}\n" THOUSAND,
                  .good = MODEL "context: {max_device_memory: \"54GB\"}\n" THOUSAND},
        CHECK(check_memory_many),
    },
    {
        .about = {.id = "jit-level", .level = EK_LINT_NOTE, .kinds = YAML | 1U << EK_LINT_PYTHON,
                  .title = "Operators are not fused",
                  .why = "At jit_level O0 the graph is compiled without fusing operators; O1 fuses them. It is also the level at which "
                         "errors are easiest to find.",
                  .cost = "Time of small operators and memory of the tensors between them; the guide's 13B case gained memory for less "
                          "recomputation by fusion.",
                  .fix = "jit_config: {jit_level: \"O1\"}; JitConfig(jit_level='O1') in a program.",
                  .source = "MindFormers performance guide, Llama2-13B case, graph kernel fusion; MindSpore, set_context, jit_level",
                  .bad = "context:\n  jit_config:\n    jit_level: \"O0\"\n",
                  .good = "context:\n  jit_config:\n    jit_level: \"O1\"\n"},
        .check = {[EK_LINT_YAML] = check_jit, [EK_LINT_PYTHON] = ek__lint_program_switches},
    },
    {.about = {.id = NULL}},
};
/* clang-format on */
