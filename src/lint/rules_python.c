/* Rules on switches of a program: debugging modes that are left on, the profiler's window, loading of
 * data. A setting counts where its value is written out; the functions are known by the names that imports give them,
 * so that another function of the same name is none. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/c_locale.h"
#include "evenkeel/layers.h"
#include "lint/checks.h"
#include "lint/hot.h"
#include "lint/rules.h"

#define PYTHON        (1U << EK_LINT_PYTHON)
#define GUIDE         "MindSpore's tuning guide for dynamic graphs"
#define FORMERS_GUIDE "MindSpore Transformers' performance tuning guide"
#define TORCH_GUIDE   "PyTorch's performance tuning guide"

static ek_status report_tokens(ek__lint_run *run, const ek__lint_entry *entry, const ek__lint_file *file, int first,
                               int last, const char *fix, const char *message)
{
    const ek__python_token *t = &file->python->token[first];
    bool one_line = file->python->token[last].line == t->line;
    int end = one_line ? ek__python_end_column(file->python, last) : 0;
    return ek__lint_report(run, entry, file, t->line, t->column, end, end ? fix : NULL, "%s", message);
}

/* Is the call one of a module's, by the first and the last part of its name? */
static bool is_of(const ek__python_call *call, const char *module, const char *name)
{
    size_t n = strlen(module);
    return call->imported && call->callee && strcmp(call->name, name) == 0 && strncmp(call->callee, module, n) == 0 &&
           (call->callee[n] == '.' || call->callee[n] == '_');
}

/* A whole argument, or `missing` where there is none; false: it is not written out. */
static bool whole_of(const ek__python *p, const ek__python_call *call, const char *keyword, int place, int64_t missing,
                     int64_t *out)
{
    const ek__python_argument *a = ek__python_argument_of(p, call, keyword, place);
    ek__python_literal v = {0};
    if (a)
        v = ek__python_value(p, a->begin, a->end);
    *out = a ? v.whole : missing;
    return !a || v.kind == EK__PYTHON_WHOLE;
}

/* ---- switches ---- */

typedef enum wanted { IS_TRUE, IS_ON, IS_SAVING, IS_AT_MOST_ONE, IS_NO_FUSION, IS_MUCH_MEMORY } wanted;

/* A setting that an argument makes. */
typedef struct switched {
    const char *rule, *module, *function, *keyword;
    int place; /* of the argument; -1: by keyword only */
    wanted bad;
    const char *good, *message;
} switched;

static const switched switches[] = {
    {"deterministic", "mindspore", "set_context", "deterministic", -1, IS_ON, "'OFF'",
     "deterministic computation is on: operators and collectives keep one order of additions; write 'OFF', or leave it "
     "out"},
    {"deterministic", "mindspore", "set_deterministic", "deterministic", 0, IS_TRUE, "False",
     "deterministic computation is on: operators and collectives keep one order of additions; leave it out"},
    {"deterministic", "torch", "use_deterministic_algorithms", "mode", 0, IS_TRUE, "False",
     "deterministic algorithms are on: kernels that add in any order are left out; leave it out"},
    {"synchronous-launch", "mindspore", "set_context", "pynative_synchronize", -1, IS_TRUE, "False",
     "pynative_synchronize waits for every operator; write False, or leave it out"},
    {"save-graphs", "mindspore", "set_context", "save_graphs", -1, IS_SAVING, "0",
     "save_graphs writes the graph after every pass to files, from every rank; write 0 when they have been looked at"},
    {"anomaly-detection", "torch", "set_detect_anomaly", "mode", 0, IS_TRUE, "False",
     "anomaly detection records where every operator was called and checks every gradient; leave it out"},
    {"full-batch", "mindspore", "set_auto_parallel_context", "full_batch", -1, IS_TRUE, NULL,
     "with full_batch every process reads the whole batch; write False and a dataset_strategy that divides the batch"},
    {"jit-level", "mindspore", "JitConfig", "jit_level", 0, IS_NO_FUSION, "'O1'",
     "jit_level is O0, with which operators are not fused; O1 fuses them, which saves time and memory"},
    {"max-device-memory", "mindspore", "set_context", "max_device_memory", -1, IS_MUCH_MEMORY, "'58GB'",
     "max_device_memory leaves less than 6 GB of a device of 64 GB to communication and the rest; 58 GB are advised"},
    {"zero-shard-size", "", "initialize_model_parallel", "zero_shard_size", -1, IS_AT_MOST_ONE, NULL,
     "zero_shard_size must be above 1, at most the data parallelism, and divide it; leave it out to shard over all"},
};

/* "59GB": more than the 58 GB that are advised, of a device of 64 GB. */
static bool is_much_memory(const char *text)
{
    char *end;
    double gb = ek__strtod(text, &end);
    return end != text && strcmp(end, "GB") == 0 && gb > 58 && gb <= 64;
}

static bool is_bad(const ek__python_literal *v, wanted bad)
{
    switch (bad) {
    case IS_TRUE:
        return v->kind == EK__PYTHON_TRUE;
    case IS_ON:
        return v->kind == EK__PYTHON_TEXT && strcmp(v->text, "ON") == 0;
    case IS_SAVING:
        return v->kind == EK__PYTHON_TRUE || (v->kind == EK__PYTHON_WHOLE && v->whole > 0);
    case IS_AT_MOST_ONE: /* -1 is the default: all of the data parallelism */
        return v->kind == EK__PYTHON_WHOLE && v->whole <= 1 && v->whole != -1;
    case IS_NO_FUSION:
        return v->kind == EK__PYTHON_TEXT && strcmp(v->text, "O0") == 0;
    case IS_MUCH_MEMORY:
        return v->kind == EK__PYTHON_TEXT && is_much_memory(v->text);
    }
    return false;
}

static ek_status check_switch(ek__lint_run *run, const ek__lint_entry *entry, const ek__lint_file *file,
                              const ek__python_call *call, const switched *s)
{
    const ek__python *p = file->python;
    bool named = s->module[0] ? is_of(call, s->module, s->function) : strcmp(call->name, s->function) == 0;
    const ek__python_argument *a = named ? ek__python_argument_of(p, call, s->keyword, s->place) : NULL;
    if (!a)
        return EK_OK;
    ek__python_literal v = ek__python_value(p, a->begin, a->end);
    return is_bad(&v, s->bad) ? report_tokens(run, entry, file, a->begin, a->end - 1, s->good, s->message) : EK_OK;
}

ek_status ek__lint_program_switches(ek__lint_run *run, const ek__lint_entry *entry, const ek__lint_file *file)
{
    ek_status status = EK_OK;
    for (size_t s = 0; s < sizeof switches / sizeof *switches; s++)
        for (int i = 0; status == EK_OK && i < file->python->n_calls; i++)
            if (strcmp(switches[s].rule, entry->about.id) == 0)
                status = check_switch(run, entry, file, &file->python->call[i], &switches[s]);
    return status;
}

/* ---- sharing of the optimizer's states ---- */

/* Ranks that a launch script of the run starts in all; 0: not known. */
static int64_t world_of(const ek__lint_run *run)
{
    for (int i = 0; i < run->n_files; i++) {
        const char *text = run->file[i].shell ? ek__shell_argument(run->file[i].shell, "--worker_num") : NULL;
        double n;
        if (text && ek__text_is_number(text, &n) && n >= 1 && n <= EK_MAX_RANKS && n == floor(n))
            return (int64_t)n;
    }
    return 0;
}

/* Data-parallel ranks that the call leaves of so many; 0: its degrees are not written out. */
static int64_t left_over(const ek__python *p, const ek__python_call *call, int64_t world)
{
    static const char *const keyword[] = {"tensor_model_parallel_size", "pipeline_model_parallel_size",
                                          "context_parallel_size"};
    for (int i = 0; i < call->n_arguments; i++) {
        const ek__python_argument *a = &p->argument[call->first_argument + i];
        if ((!a->keyword && i > 1) || ek__python_is(p, a->begin, "*") || ek__python_is(p, a->begin, "**"))
            return 0; /* its keywords are not known */
    }
    for (int i = 0; i < 3; i++) {
        int64_t degree = 1;
        if (!whole_of(p, call, keyword[i], i < 2 ? i : -1, 1, &degree) || degree < 1 || world % degree != 0)
            return 0;
        world /= degree;
    }
    return world;
}

/* Data-parallel ranks of a job of the run; 0: not known; a file without them is read as of one rank. */
static int64_t data_ranks(const ek__lint_run *run)
{
    for (int i = 0; i < run->n_files; i++)
        if (run->file[i].job && run->file[i].job->parallel.data > 1)
            return run->file[i].job->parallel.data;
    return 0;
}

ek_status ek__lint_program_shard_size(ek__lint_run *run, const ek__lint_entry *entry, const ek__lint_file *file)
{
    const ek__python *p = file->python;
    const int64_t stated = data_ranks(run), world = world_of(run);
    ek_status status = ek__lint_program_switches(run, entry, file);
    for (int i = 0; status == EK_OK && i < p->n_calls; i++) {
        const ek__python_call *call = &p->call[i];
        if (strcmp(call->name, "initialize_model_parallel") != 0)
            continue;
        const ek__python_argument *a = ek__python_argument_of(p, call, "zero_shard_size", -1);
        int64_t size = -1, data = world > 0 ? left_over(p, call, world) : 0;
        data = data > 0 ? data : stated;
        if (!a || !whole_of(p, call, "zero_shard_size", -1, -1, &size) || size <= 1 || data == 0 || data % size == 0)
            continue;
        const ek__python_token *t = &p->token[a->begin];
        int end = p->token[a->end - 1].line == t->line ? ek__python_end_column(p, a->end - 1) : 0;
        status = ek__lint_report(run, entry, file, t->line, t->column, end, NULL,
                                 "zero_shard_size is %lld, which does not divide the %lld data-parallel ranks: it does "
                                 "nothing, and all of them share the states; write a divisor of %lld above 1",
                                 (long long)size, (long long)data, (long long)data);
    }
    return status;
}

/* torch.backends.cudnn.deterministic = True */
ek_status ek__lint_program_deterministic(ek__lint_run *run, const ek__lint_entry *entry, const ek__lint_file *file)
{
    const ek__python *p = file->python;
    ek_status status = ek__lint_program_switches(run, entry, file);
    for (int i = 0; status == EK_OK && i < p->n_assignments; i++) {
        const ek__python_assignment *a = &p->assignment[i];
        int last = a->target_end - 1;
        if (last - a->target < 2 || !ek__python_is(p, last, "deterministic") || !ek__python_is(p, last - 2, "cudnn"))
            continue;
        if (ek__python_value(p, a->value, a->value_end).kind == EK__PYTHON_TRUE)
            status = report_tokens(run, entry, file, a->value, a->value_end - 1, "False",
                                   "cuDNN's deterministic kernels are on: faster ones are left out; leave it out");
    }
    return status;
}

/* Calls that are bad whatever their arguments. */
static ek_status check_calls(ek__lint_run *run, const ek__lint_entry *entry, const ek__lint_file *file,
                             const char *module, const char *name, const char *message)
{
    ek_status status = EK_OK;
    for (int i = 0; status == EK_OK && i < file->python->n_calls; i++) {
        const ek__python_call *call = &file->python->call[i];
        if (is_of(call, module, name))
            status = report_tokens(run, entry, file, call->token, call->close, NULL, message);
    }
    return status;
}

ek_status ek__lint_program_synchronous(ek__lint_run *run, const ek__lint_entry *entry, const ek__lint_file *file)
{
    ek_status status = ek__lint_program_switches(run, entry, file);
    return status ? status
                  : check_calls(run, entry, file, "mindspore", "launch_blocking",
                                "launch_blocking() waits for every operator; leave it out");
}

static ek_status check_anomaly(ek__lint_run *run, const ek__lint_entry *entry, const ek__lint_file *file)
{
    ek_status status = ek__lint_program_switches(run, entry, file);
    return status ? status
                  : check_calls(run, entry, file, "torch", "detect_anomaly",
                                "anomaly detection records where every operator was called and checks every gradient; "
                                "leave it out");
}

/* ---- the profiler ---- */

/* First step from 1, and how many; false: not written out. */
static bool window_of(const ek__python *p, const ek__python_call *call, int64_t *first, int64_t *n)
{
    int64_t wait, warm_up, skipped, last;
    if (strcmp(call->name, "schedule") == 0) {
        bool known = whole_of(p, call, "wait", -1, 0, &wait) && whole_of(p, call, "warmup", -1, 0, &warm_up) &&
                     whole_of(p, call, "active", -1, 0, n) && whole_of(p, call, "skip_first", -1, 0, &skipped);
        if (!known || wait < 0 || warm_up < 0 || skipped < 0 || wait > 1000000 || warm_up > 1000000 ||
            skipped > 1000000)
            return false;
        *first = skipped + wait + warm_up + 1;
        return *n > 0;
    }
    if (!whole_of(p, call, "start_step", 0, 1, first) || !whole_of(p, call, "stop_step", 1, 10, &last) ||
        *first < -1000000 || *first > 1000000 || last < *first || last > 1000000000)
        return false;
    *n = last - *first + 1;
    return true;
}

static bool is_window(const ek__python_call *call)
{
    static const char *const modules[] = {"torch", "mindspore", NULL};
    if (strcmp(call->name, "ProfileMonitor") == 0 || strcmp(call->name, "ProfileCallback") == 0)
        return true;
    for (int m = 0; modules[m]; m++)
        if (is_of(call, modules[m], "schedule") && strstr(call->callee, "profiler"))
            return true;
    return false;
}

ek_status ek__lint_program_profile_steps(ek__lint_run *run, const ek__lint_entry *entry, const ek__lint_file *file)
{
    const ek__python *p = file->python;
    ek_status status = EK_OK;
    for (int i = 0; status == EK_OK && i < p->n_calls; i++) {
        const ek__python_call *call = &p->call[i];
        int64_t first, n;
        if (!is_window(call) || !window_of(p, call, &first, &n))
            continue;
        const ek__python_token *t = &p->token[call->token], *last = &p->token[call->close];
        int end = last->line == t->line ? last->column + last->size : 0;
        if (first < 3)
            status = ek__lint_report(run, entry, file, t->line, t->column, end, NULL,
                                     "the profiler records from step %lld; the first steps compile and warm up: start "
                                     "at step 3 or later",
                                     (long long)first);
        if (status == EK_OK && n > 4)
            status = ek__lint_report(run, entry, file, t->line, t->column, end, NULL,
                                     "the profiler records %lld steps; 2 to 4 are enough, and every one costs time and "
                                     "files",
                                     (long long)n);
    }
    return status;
}

static bool is_under_condition(const ek__python *p, int block)
{
    for (; block >= 0; block = p->block[block].parent)
        if (p->block[block].kind == EK__PYTHON_CONDITION)
            return true;
    return false;
}

static ek_status check_profiler(ek__lint_run *run, const ek__lint_entry *entry, const ek__lint_file *file)
{
    const ek__python *p = file->python;
    ek_status status = EK_OK;
    for (int i = 0; status == EK_OK && i < p->n_calls; i++) {
        const ek__python_call *call = &p->call[i];
        bool mindspore = is_of(call, "mindspore", "Profiler");
        bool other = (is_of(call, "torch", "profile") || is_of(call, "mindspore", "profile")) &&
                     strstr(call->callee, "profiler.profile");
        if ((!mindspore && !other) || is_under_condition(p, call->block) ||
            ek__python_argument_of(p, call, "schedule", -1))
            continue;
        const ek__python_argument *start = ek__python_argument_of(p, call, "start_profile", -1);
        if (start && ek__python_value(p, start->begin, start->end).kind != EK__PYTHON_TRUE)
            continue;
        status = report_tokens(run, entry, file, call->token, call->close, NULL,
                               "a profiler without a schedule records every step from here on, in every run; give it a "
                               "schedule of 2 to 4 steps, or put it under a condition");
    }
    return status;
}

/* ---- loading of data ---- */

static ek_status check_loader(ek__lint_run *run, const ek__lint_entry *entry, const ek__lint_file *file)
{
    const ek__python *p = file->python;
    ek_status status = EK_OK;
    for (int i = 0; status == EK_OK && i < p->n_calls; i++) {
        const ek__python_call *call = &p->call[i];
        int64_t workers;
        if (!is_of(call, "torch", "DataLoader") || !whole_of(p, call, "num_workers", 5, 0, &workers) || workers != 0)
            continue;
        bool spread = false; /* the keywords of ** are not known */
        for (int a = 0; a < call->n_arguments; a++)
            spread = spread || ek__python_is(p, p->argument[call->first_argument + a].begin, "**") ||
                     ek__python_is(p, p->argument[call->first_argument + a].begin, "*");
        if (!spread)
            status = report_tokens(run, entry, file, call->token, call->close, NULL,
                                   "num_workers is 0, so the training's own process loads the data between steps; give "
                                   "it some workers");
    }
    return status;
}

/* ---- the table ---- */

const ek__lint_entry ek__lint_python[] = {
    {
        .about = {.id = "anomaly-detection",
                  .level = EK_LINT_WARNING,
                  .kinds = PYTHON,
                  .title = "Anomaly detection of autograd is on",
                  .why = "It keeps the stack of every forward operator and looks for NaN in every gradient.",
                  .cost = "Host time of every operator and a wait for every check; no figure in the source.",
                  .fix = "torch.autograd.set_detect_anomaly(False), or nothing at all.",
                  .source = TORCH_GUIDE ", debugging interfaces",
                  .bad = "import torch\ntorch.autograd.set_detect_anomaly(True)\n",
                  .good = "import torch\ntorch.autograd.set_detect_anomaly(False)\n"},
        .check = {[EK_LINT_PYTHON] = check_anomaly},
    },
    {
        .about = {.id = "profile-every-step",
                  .level = EK_LINT_WARNING,
                  .kinds = PYTHON,
                  .title = "A profiler records every step",
                  .why = "A profiler that is made without a schedule and under no condition records from there on.",
                  .cost = "Every step is slower, and files grow with the steps.",
                  .fix = "Give it a schedule, or start it under a condition.",
                  .source = FORMERS_GUIDE ", profiler: 2 to 4 steps; " TORCH_GUIDE ", debugging interfaces",
                  .bad = "import mindspore as ms\nprofiler = ms.Profiler(output_path='./profile')\n",
                  .good = "import mindspore as ms\n"
                          "profiler = ms.Profiler(start_profile=False, output_path='./profile')\n"},
        .check = {[EK_LINT_PYTHON] = check_profiler},
    },
    {
        .about = {.id = "loader-without-workers",
                  .level = EK_LINT_NOTE,
                  .kinds = PYTHON,
                  .title = "The training's own process loads the data",
                  .why = "A DataLoader with num_workers=0, which is its default, loads a batch when the loop needs it, "
                         "between two steps.",
                  .cost = "The time to load and prepare a batch, in every step.",
                  .fix = "DataLoader(..., num_workers=4, pin_memory=True)",
                  .source = TORCH_GUIDE ", asynchronous data loading",
                  .bad = "from torch.utils.data import DataLoader\nloader = DataLoader(data, batch_size=8)\n",
                  .good = "from torch.utils.data import DataLoader\n"
                          "loader = DataLoader(data, batch_size=8, num_workers=4)\n"},
        .check = {[EK_LINT_PYTHON] = check_loader},
    },
    {.about = {.id = NULL}},
};
