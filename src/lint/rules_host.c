/* Rules on launch scripts and the host's resources: cores that ranks are bound to, the device's memory pool that no
 * file sets up. Only launchers with options for binding are checked. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/c_locale.h"
#include "lint/rules.h"
#include "lint/shell.h"

#define SHELL           (1U << EK_LINT_SHELL)
#define CHECK(function) .check = {[EK_LINT_SHELL] = (function)}

enum { MSRUN_WORKERS = 8 /* its default */, MAX_CORES = 4096 };

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* The place among a command's words of a program that is called so; -1. */
static int word_in(const ek__shell *shell, const ek__command *c, const char *program)
{
    for (int i = 0; i < c->n_words; i++)
        if (strcmp(base_name(shell->word[c->first_word + i].text), program) == 0)
            return c->first_word + i;
    return -1;
}

static const ek__command *find_command(const ek__shell *shell, const char *program)
{
    for (int i = 0; i < shell->n_commands; i++)
        if (strcmp(base_name(shell->word[shell->command[i].first_word].text), program) == 0)
            return &shell->command[i];
    return NULL;
}

/* Does the script read other files, whose settings are not known here? */
static bool reads_others(const ek__shell *shell)
{
    return find_command(shell, ".") || find_command(shell, "source") || find_command(shell, "eval");
}

/* Does a file of the run contain the text? */
static bool run_contains(const ek__lint_run *run, const char *text)
{
    for (int i = 0; i < run->n_files; i++)
        if (strstr(run->file[i].text, text))
            return true;
    return false;
}

static ek_status report_word(ek__lint_run *run, const ek__lint_entry *entry, const ek__lint_file *file, int word,
                             const char *message)
{
    const ek__shell_word *w = &file->shell->word[word];
    return ek__lint_report(run, entry, file, w->line, w->column, w->column + (int)strlen(w->text), NULL, "%s", message);
}

static int whole_argument(const ek__shell *shell, const char *name, int fallback)
{
    double n;
    const char *text = ek__shell_argument(shell, name);
    if (!text || !ek__text_is_number(text, &n))
        return fallback;
    return n == floor(n) && n >= 0 && n <= 1e6 ? (int)n : fallback;
}

/* Ranks that the script's launcher starts on a machine; 0: not known. */
static int count_local_ranks(const ek__shell *shell, const char *launcher)
{
    if (strcmp(launcher, "msrun") == 0) {
        int all = whole_argument(shell, "--worker_num", ek__shell_has(shell, "--worker_num") ? 0 : MSRUN_WORKERS);
        return ek__shell_has(shell, "--local_worker_num") ? whole_argument(shell, "--local_worker_num", 0) : all;
    }
    int n = whole_argument(shell, "--nproc_per_node", 0);
    return n > 0 ? n : whole_argument(shell, "--nproc-per-node", 0);
}

/* ---- virtual memory ---- */

static ek_status check_absent(ek__lint_run *run, const ek__lint_entry *entry, const ek__lint_file *file)
{
    const ek__command *launch = find_command(file->shell, "msrun");
    if (!launch || reads_others(file->shell) || run_contains(run, "MS_ALLOC_CONF"))
        return EK_OK;
    return report_word(run, entry, file, launch->first_word,
                       "msrun starts a training and MS_ALLOC_CONF is not set; export MS_ALLOC_CONF=\"enable_vmm:True\" "
                       "before it, unless this release of MindSpore has virtual memory on by default");
}

/* ---- cores ---- */

static ek_status check_unbound(ek__lint_run *run, const ek__lint_entry *entry, const ek__lint_file *file)
{
    static const char option[] = "--bind_core";
    const ek__shell *shell = file->shell;
    const ek__command *launch = find_command(shell, "msrun");
    if (!launch || count_local_ranks(shell, "msrun") == 1 || run_contains(run, "set_cpu_affinity") ||
        run_contains(run, "taskset") || run_contains(run, "numactl"))
        return EK_OK;
    const char *value = ek__shell_argument(shell, option);
    bool off = value && (ek__strcasecmp(value, "False") == 0 || strcmp(value, "0") == 0);
    if (ek__shell_has(shell, option) && !off)
        return EK_OK;
    char message[240];
    snprintf(
        message, sizeof message,
        "msrun starts the ranks of a machine%s, so their threads move between cores and NUMA nodes and disturb one "
        "another; add --bind_core=True",
        off ? " with --bind_core off" : " without --bind_core");
    return report_word(run, entry, file, launch->first_word, message);
}

/* The cores of a list "0-23,48"; 0: it is none. */
static int count_cores(const char *list)
{
    int n = 0;
    while (*list) {
        char *end;
        double from = ek__strtod(list, &end), to = from;
        if (end == list)
            return 0;
        if (*end == '-') {
            list = end + 1;
            to = ek__strtod(list, &end);
        }
        if (end == list || !(from >= 0) || !(to >= from) || to >= MAX_CORES || (*end && *end != ','))
            return 0;
        n += (int)(to - from) + 1;
        list = *end ? end + 1 : end;
    }
    return n;
}

/* The list of cores or nodes in the words [first, end) of taskset or numactl; NULL: none is bound. @param cores  it
 * lists cores */
static const char *bound_list(const ek__shell *shell, int first, int end, bool *cores)
{
    static const struct {
        const char *option;
        bool cores;
    } options[] = {{"-c", true},  {"--cpu-list", true},    {"-C", true}, {"--physcpubind", true},
                   {"-N", false}, {"--cpunodebind", false}};
    for (int i = first; i < end; i++)
        for (size_t k = 0; k < sizeof options / sizeof *options; k++) {
            const char *text = shell->word[i].text;
            size_t n = strlen(options[k].option);
            if (strncmp(text, options[k].option, n) != 0 || (text[n] != '\0' && text[n] != '='))
                continue;
            *cores = options[k].cores;
            return text[n] == '=' ? text + n + 1 : i + 1 < end ? shell->word[i + 1].text : NULL;
        }
    return NULL;
}

static ek_status check_shared(ek__lint_run *run, const ek__lint_entry *entry, const ek__lint_file *file)
{
    static const char *const binders[] = {"taskset", "numactl"}, *const launchers[] = {"msrun", "torchrun"};
    const ek__shell *shell = file->shell;
    ek_status status = EK_OK;
    for (int i = 0; status == EK_OK && i < shell->n_commands; i++)
        for (int b = 0; b < 2; b++)
            for (int l = 0; l < 2 && status == EK_OK; l++) {
                const ek__command *c = &shell->command[i];
                int binder = word_in(shell, c, binders[b]), launcher = word_in(shell, c, launchers[l]);
                bool cores = false;
                if (binder < 0 || launcher < binder || ek__shell_has(shell, "--bind_core"))
                    continue;
                const char *list = bound_list(shell, binder, launcher, &cores);
                int ranks = count_local_ranks(shell, launchers[l]), n = list && cores ? count_cores(list) : 0;
                bool one_node = list && !cores && strspn(list, "0123456789") == strlen(list);
                if (!list || ranks < 2 || (cores ? n == 0 : !one_node))
                    continue;
                char message[320], share[60] = "";
                if (cores)
                    ek__snprintf(share, sizeof share, ", %.1f for each", (double)n / ranks);
                snprintf(
                    message, sizeof message,
                    "%s binds %s, and with it all %d ranks that it starts, to %s %.40s%s; bind each rank to cores of "
                    "its own, near its device",
                    binders[b], launchers[l], ranks, cores ? "cores" : "NUMA node", list, share);
                status = report_word(run, entry, file, binder, message);
            }
    return status;
}

/* clang-format off */
const ek__lint_entry ek__lint_host[] = {
    {
        .about = {.id = "virtual-memory-absent", .level = EK_LINT_NOTE, .kinds = SHELL,
                  .title = "A training is started and nothing sets up virtual memory",
                  .why = "The guide recommends virtual memory: the pool then puts large blocks together from free pages. Without MS_ALLOC_CONF "
                         "the release decides, and releases differ. Silent where the script reads other files, or another file of "
                         "the run sets the variable.",
                  .cost = "Memory, as much as the pool is fragmented; no figure in the source.",
                  .fix = "export MS_ALLOC_CONF=\"enable_vmm:True\"",
                  .source = "MindSpore's tuning guide for dynamic graphs, checklist of memory: virtual memory",
                  .bad = "msrun --worker_num=8 --bind_core=True train.py\n",
                  .good = "export MS_ALLOC_CONF=\"enable_vmm:True\"\nmsrun --worker_num=8 --bind_core=True train.py\n"},
        CHECK(check_absent),
    },
    {
        .about = {.id = "cores-unbound", .level = EK_LINT_NOTE, .kinds = SHELL,
                  .title = "Ranks are started without cores of their own",
                  .why = "Each rank has threads that launch operators and read data. Unbound, the system moves them between cores and NUMA "
                         "nodes, and the launching thread of one rank waits for those of another. Silent with taskset, numactl or "
                         "set_cpu_affinity() in a file of the run, and for one rank.",
                  .cost = "Launching that varies from step to step, of which the slowest rank counts; the source gives no figure.",
                  .fix = "msrun --bind_core=True, or mindspore.runtime.set_cpu_affinity(True) in the program.",
                  .source = "MindSpore's documentation of msrun (bind_core) and of mindspore.runtime.set_cpu_affinity",
                  .bad = "export MS_ALLOC_CONF=\"enable_vmm:True\"\nmsrun --worker_num=8 train.py\n",
                  .good = "export MS_ALLOC_CONF=\"enable_vmm:True\"\nmsrun --worker_num=8 --bind_core=True train.py\n"},
        CHECK(check_unbound),
    },
    {
        .about = {.id = "cores-shared", .level = EK_LINT_WARNING, .kinds = SHELL,
                  .title = "All ranks of a machine are bound to the same cores",
                  .why = "taskset and numactl bind a program and its children. In front of a launcher that is every rank, so that all "
                         "share one list of cores, and most are on another NUMA node than their device.",
                  .cost = "Cores for each rank: those in the list over the ranks, which the finding states.",
                  .fix = "Bind in the command that starts one rank, or by the launcher: msrun --bind_core=True.",
                  .source = "util-linux, taskset(1): children inherit the affinity; numactl(8)",
                  .bad = "taskset -c 0-23 torchrun --nproc_per_node 8 train.py\n",
                  .good = "taskset -c 0-23 python train.py\n"},
        CHECK(check_shared),
    },
    {.about = {.id = NULL}},
};
/* clang-format on */
