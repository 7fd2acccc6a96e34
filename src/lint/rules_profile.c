/* Rules on the profiler's settings in training YAMLs: values outside of the ranges in the guide's table of parameters,
 * and settings that collect more than a look at a run needs. A profiler that is off is not checked. */
#include <stdio.h>
#include <string.h>

#include "base/c_locale.h"
#include "lint/checks.h"
#include "lint/source_position.h"

#define YAML            (1U << EK_LINT_YAML)
#define CHECK(function) .check = {[EK_LINT_YAML] = (function)}
#define REPORT(node, fix, ...)                                                                                         \
    ek__lint_report(run, entry, file, ek__source_position_of_node(node).line,                                          \
                    ek__source_position_of_node(node).column, ek__source_position_of_node(node).end_column, (fix),     \
                    __VA_ARGS__)

enum {
    DEFAULT_START = 1,
    DEFAULT_STOP = 10,
    MAX_LEVEL = 2,
    MACHINE_DEVICES = 8,
};

/* ---- steps ---- */

/* The framework replaces both steps when one is negative or the stop is before the start. */
static ek_status check_range(ek__lint_run *run, const ek__lint_entry *entry, const ek__lint_file *file)
{
    const ek__node *start = ek__lint_get(file->yaml, "profile_start_step"),
                   *stop = ek__lint_get(file->yaml, "profile_stop_step");
    int first = ek__lint_number_at(file, "profile_start_step", DEFAULT_START),
        last = ek__lint_number_at(file, "profile_stop_step", DEFAULT_STOP);
    char fix[16];
    if (!ek__lint_is_on_at(file, "profile"))
        return EK_OK;
    if (first < 0 || last < 0)
        return REPORT(first < 0 ? start : stop, NULL,
                      "%s is %d; the framework replaces a negative step with its default, %d; write a step from 3 on",
                      first < 0 ? "profile_start_step" : "profile_stop_step", first < 0 ? first : last,
                      first < 0 ? DEFAULT_START : DEFAULT_STOP);
    if (first <= last)
        return EK_OK;
    ek__snprintf(fix, sizeof fix, "%d", first + 1);
    return REPORT(stop ? stop : start, stop ? fix : NULL,
                  "profile_stop_step is %d%s, before profile_start_step %d: the framework collects steps %d to %d "
                  "instead, compilation included; write profile_stop_step: %s",
                  last, stop ? "" : ", the default", first, DEFAULT_START, DEFAULT_STOP, fix);
}

/* ---- level ---- */

static ek_status check_level(ek__lint_run *run, const ek__lint_entry *entry, const ek__lint_file *file)
{
    static const char *const names[] = {"profile_level", "profiler_level"};
    for (size_t i = 0; i < sizeof names / sizeof *names && ek__lint_is_on_at(file, "profile"); i++) {
        const ek__node *node = ek__lint_get(file->yaml, names[i]);
        int level;
        if (!node || node->kind != EK__SCALAR || ek__node_is_null(node))
            continue;
        if (!ek__node_is_int(node, &level) || level < 0 || level > MAX_LEVEL)
            return REPORT(node, "1",
                          "%s is %.40s, expected 0, 1 or 2; the framework drops it and sets no level; write 1",
                          names[i], node->text);
        if (level == 0 && ek__lint_is_on_at(file, "profile_communication"))
            return REPORT(node, "1",
                          "%s is 0, which leaves small collectives out, with profile_communication on; the framework "
                          "raises it to 1",
                          names[i]);
    }
    return EK_OK;
}

/* ---- ranks ---- */

/* Ranks of the run; 0: not known. */
static int64_t count_ranks(const ek__lint_run *run, const ek__lint_file *file)
{
    return run->options->n_devices > 0 ? run->options->n_devices : file->job ? ek__lint_count_devices(file) : 0;
}

static ek_status check_rank_ids(ek__lint_run *run, const ek__lint_entry *entry, const ek__lint_file *file)
{
    const ek__node *ids = ek__lint_get(file->yaml, "profile_rank_ids");
    int64_t n = count_ranks(run, file);
    int id;
    if (!ek__lint_is_on_at(file, "profile") || !ids || ek__node_is_null(ids))
        return EK_OK;
    if (ids->kind != EK__LIST)
        return REPORT(ids, NULL, "profile_rank_ids is no list, so the framework %s; write a list of ranks, such as [0]",
                      ek__node_is_int(ids, &id) && id == 0          ? "collects from all ranks"
                      : ek__lint_is_on_at(file, "profile_pipeline") ? "ignores it"
                                                                    : "collects from none");
    for (const ek__node *one = ids->first; one; one = one->next) {
        if (one->kind != EK__SCALAR || !ek__node_is_int(one, &id) || id < 0)
            return REPORT(one, NULL, "an entry of profile_rank_ids is no rank; ranks are whole numbers from 0");
        if (n > 0 && id >= n)
            return REPORT(one, NULL,
                          "profile_rank_ids has rank %d, but the run has ranks 0 to %lld, so nothing is "
                          "collected for it",
                          id, (long long)n - 1);
    }
    return EK_OK;
}

static ek_status check_pipeline(ek__lint_run *run, const ek__lint_entry *entry, const ek__lint_file *file)
{
    const ek__node *node = ek__lint_get(file->yaml, "profile_pipeline");
    int64_t n = count_ranks(run, file);
    if (!ek__lint_is_on_at(file, "profile") || !ek__lint_is_on(node) || !file->job)
        return EK_OK;
    int stages = file->job->parallel.pipeline;
    if (n % stages != 0)
        return REPORT(node, "False",
                      "profile_pipeline takes one rank of each stage, but %lld devices do not divide by %d stages, and "
                      "the framework stops",
                      (long long)n, stages);
    if (stages > 1)
        return EK_OK;
    return REPORT(node, "False",
                  "profile_pipeline takes one rank of each stage, and pipeline_stage is 1: only rank 0 of %lld is "
                  "collected; name the ranks in profile_rank_ids",
                  (long long)n);
}

/* Does the file choose the ranks to collect from? */
static bool chooses_ranks(const ek__lint_file *file)
{
    const ek__node *ids = ek__lint_get(file->yaml, "profile_rank_ids");
    return (ids && !ek__node_is_null(ids)) || ek__lint_is_on_at(file, "profile_pipeline");
}

static ek_status check_all_ranks(ek__lint_run *run, const ek__lint_entry *entry, const ek__lint_file *file)
{
    const ek__node *node = ek__lint_get(file->yaml, "profile");
    int64_t n = count_ranks(run, file);
    if (!ek__lint_is_on(node) || n <= MACHINE_DEVICES || chooses_ranks(file))
        return EK_OK;
    int stages = file->job ? file->job->parallel.pipeline : 1;
    if (stages == 1)
        return REPORT(node, NULL,
                      "all %lld ranks write a profile; list a few of them in profile_rank_ids, such as [0, %lld]",
                      (long long)n, (long long)n - 1);
    return REPORT(
        node, NULL,
        "all %lld ranks write a profile; with profile_pipeline: True one rank of each of %d stages does, %.1f "
        "%% of the data",
        (long long)n, stages, 100.0 * stages / (double)n);
}

/* ---- amount ---- */

static ek_status check_stack(ek__lint_run *run, const ek__lint_entry *entry, const ek__lint_file *file)
{
    const ek__node *node = ek__lint_get(file->yaml, "with_stack");
    if (!ek__lint_is_on_at(file, "profile") || !ek__lint_is_on(node))
        return EK_OK;
    return REPORT(
        node, "False",
        "with_stack records the Python call stack of every operator, so host times in this profile are longer "
        "than in training; switch it off unless the calling code is in question");
}

static ek_status check_simplification(ek__lint_run *run, const ek__lint_entry *entry, const ek__lint_file *file)
{
    const ek__node *node = ek__lint_get(file->yaml, "data_simplification");
    bool on;
    int value;
    int64_t n = count_ranks(run, file);
    if (!ek__lint_is_on_at(file, "profile") || !node || node->kind != EK__SCALAR || ek__node_is_null(node))
        return EK_OK;
    bool whole = ek__node_is_int(node, &value);
    if (!ek__node_is_bool(node, &on) && !(whole && (value == 0 || value == 1)))
        return REPORT(node, "True", "data_simplification is %.40s, expected True or False", node->text);
    bool off = whole ? value == 0 : !on;
    if (!off || n <= MACHINE_DEVICES || chooses_ranks(file))
        return EK_OK;
    return REPORT(node, "True",
                  "data_simplification is off, so the FRAMEWORK folders of %lld ranks stay after the export; switch it "
                  "on, or choose ranks",
                  (long long)n);
}

#define MODEL                                                                                                          \
    "model: {model_config: {type: LlamaConfig, seq_length: 4096, hidden_size: 4096, num_layers: 32,\n"                 \
    "                       num_heads: 32, vocab_size: 32000, use_flash_attention: True}}\n"
#define WINDOW   "profile: True\nprofile_start_step: 5\nprofile_stop_step: 6\n"
#define CLUSTER  "parallel_config: {data_parallel: 16, pipeline_stage: 4, micro_batch_num: 16}\n"
#define ONE_NODE "parallel_config: {data_parallel: 8}\n"
#define TABLE    "MindFormers performance guide, profiler tool, table of parameters"

/* clang-format off */
const ek__lint_entry ek__lint_profile[] = {
    {
        .about = {.id = "profile-range", .level = EK_LINT_WARNING, .kinds = YAML,
                  .title = "profile_stop_step is before profile_start_step, or a step is negative",
                  .why = "The framework does not stop for an empty interval. It replaces both steps with its defaults, 1 and 10, and "
                         "prints a warning in the log.",
                  .cost = "Ten steps of profile from the first on: compilation is in it, and writing it takes longer than 2 to 4 steps do.",
                  .fix = "profile_start_step: 3 or later, profile_stop_step: 1 to 3 more.",
                  .source = TABLE "; MindFormers, callback ProfileMonitor (the replacement)",
                  .bad = "profile: True\nprofile_start_step: 6\nprofile_stop_step: 5\n",
                  .good = "profile: True\nprofile_start_step: 5\nprofile_stop_step: 6\n"},
        CHECK(check_range),
    },
    {
        .about = {.id = "profile-level", .level = EK_LINT_WARNING, .kinds = YAML,
                  .title = "The profiler's level is not 0, 1 or 2, or too low for communication",
                  .why = "Level 0 collects times of operators and large collectives, level 1 adds AscendCL, AI Core figures and small "
                         "collectives, level 2 adds the runtime. Another value is dropped with a warning in the log.",
                  .cost = "A profile without the figures that it was made for; the run has to be repeated.",
                  .fix = "profile_level: 1.",
                  .source = TABLE "; MindFormers, callback ProfileMonitor",
                  .bad = WINDOW "profile_level: 3\n",
                  .good = WINDOW "profile_level: 1\n"},
        CHECK(check_level),
    },
    {
        .about = {.id = "profile-rank-ids", .level = EK_LINT_WARNING, .kinds = YAML,
                  .title = "profile_rank_ids is no list of ranks of this run",
                  .why = "profile_rank_ids is a list. The framework compares each rank with its entries: a number in place of a list "
                         "matches no rank, and an entry from the number of ranks on matches none either.",
                  .cost = "No profile of these ranks; the run has to be repeated.",
                  .fix = "profile_rank_ids: [0, 8].",
                  .source = TABLE "; MindFormers, callback ProfileMonitor",
                  .bad = MODEL WINDOW "profile_rank_ids: [0, 8]\n" ONE_NODE,
                  .good = MODEL WINDOW "profile_rank_ids: [0, 7]\n" ONE_NODE},
        CHECK(check_rank_ids),
    },
    {
        .about = {.id = "profile-pipeline", .level = EK_LINT_WARNING, .kinds = YAML,
                  .title = "profile_pipeline does not fit the number of stages",
                  .why = "profile_pipeline collects from one rank of each pipeline stage. With one stage that is rank 0 only. The number "
                         "of devices must be a multiple of the stages.",
                  .cost = "A profile of one rank, in which differences between ranks do not show, or a run that stops.",
                  .fix = "profile_rank_ids with the ranks to collect from.",
                  .source = TABLE "; MindFormers, callback ProfileMonitor",
                  .bad = MODEL WINDOW "profile_pipeline: True\n" ONE_NODE,
                  .good = MODEL WINDOW "profile_pipeline: True\n" CLUSTER},
        CHECK(check_pipeline),
    },
    {
        .about = {.id = "profile-all-ranks", .level = EK_LINT_NOTE, .kinds = YAML,
                  .title = "Every rank of several machines writes a profile",
                  .why = "Without profile_rank_ids and profile_pipeline all ranks collect. The ranks of one stage do the same work, so one "
                         "of each stage shows the times of operators and of the pipeline. To find slow ranks, all are needed. Fires from 9 "
                         "ranks on.",
                  .cost = "Files and writing time in proportion to the ranks; the finding states the share that one rank of each stage needs.",
                  .fix = "profile_pipeline: True, or profile_rank_ids: [..].",
                  .source = TABLE,
                  .bad = MODEL WINDOW CLUSTER,
                  .good = MODEL WINDOW "profile_pipeline: True\n" CLUSTER},
        CHECK(check_all_ranks),
    },
    {
        .about = {.id = "profile-stack", .level = EK_LINT_NOTE, .kinds = YAML,
                  .title = "The profiler records Python call stacks",
                  .why = "with_stack records the call stack at every operator on the host. It is for finding the code that calls an "
                         "operator; times of the host in such a profile are not those of training.",
                  .cost = "Host time at every operator while steps are collected, and larger files; no source gives a figure.",
                  .fix = "with_stack: False.",
                  .source = TABLE " (default: False); the effect on times is general knowledge",
                  .bad = WINDOW "with_stack: True\n",
                  .good = WINDOW "with_stack: False\n"},
        CHECK(check_stack),
    },
    {
        .about = {.id = "profile-simplification", .level = EK_LINT_NOTE, .kinds = YAML,
                  .title = "data_simplification is no switch, or off for the ranks of several machines",
                  .why = "data_simplification deletes the FRAMEWORK folder and other raw data after the export. Switched off by hand, "
                         "every rank keeps them. A file that leaves it out is not reported.",
                  .cost = "The raw data of every rank on storage; no source gives a figure.",
                  .fix = "data_simplification: True.",
                  .source = TABLE,
                  .bad = MODEL WINDOW "data_simplification: False\n" CLUSTER,
                  .good = MODEL WINDOW "data_simplification: True\n" CLUSTER},
        CHECK(check_simplification),
    },
    {.about = {.id = NULL}},
};
/* clang-format on */
