/* Rules on environment variables, in launch scripts and in programs that set os.environ: values that are for looking
 * for faults and stay on, and the allocator's list of settings, which every assignment replaces. Only exported
 * variables count, and only values that are known without running anything. */
#include <stdlib.h>
#include <string.h>

#include "base/c_locale.h"
#include "lint/checks.h"
#include "lint/python.h"
#include "lint/rules.h"
#include "lint/shell.h"

#define BOTH  (1U << EK_LINT_SHELL | 1U << EK_LINT_PYTHON)
#define GUIDE "MindSpore's tuning guide for dynamic graphs"

static const ek__lint_settings *environment_of(const ek__lint_file *file)
{
    static const ek__lint_settings none;
    return file->shell ? &file->shell->environment : file->python ? &file->python->environment : &none;
}

/* ---- values that stay on ---- */

typedef struct bad_value {
    const char *rule, *variable;
    const char *bad[5];
    const char *good, *what;
} bad_value;

static const bad_value bad_values[] = {
    {"deterministic", "HCCL_DETERMINISTIC", {"true", "strict"}, "false", "collectives wait for a fixed order"},
    {"deterministic", "LCCL_DETERMINISTIC", {"1"}, "0", "collectives wait for a fixed order"},
    {"deterministic",
     "NVTE_ALLOW_NONDETERMINISTIC_ALGO",
     {"0"},
     "1",
     "Transformer Engine leaves its fastest kernels out"},
    {"synchronous-launch", "ASCEND_LAUNCH_BLOCKING", {"1"}, "0", "every operator is waited for"},
    {"synchronous-launch", "CUDA_LAUNCH_BLOCKING", {"1"}, "0", "every kernel is waited for"},
    {"save-graphs", "MS_DEV_SAVE_GRAPHS", {"1", "2", "3"}, "0", "graphs are written to files at every compilation"},
    {"debug-log", "GLOG_v", {"0", "1"}, "2", "MindSpore logs every step of its work"},
    {"debug-log", "ASCEND_GLOBAL_LOG_LEVEL", {"0", "1"}, "3", "CANN logs every step of its work"},
    {"debug-log", "NCCL_DEBUG", {"INFO", "TRACE"}, "WARN", "NCCL logs its calls"},
    {"debug-log", "TORCH_DISTRIBUTED_DEBUG", {"DETAIL"}, "OFF", "every collective is checked against the other ranks"},
};

static const bad_value *bad_value_of(const ek__lint_setting *s, const char *rule)
{
    for (size_t i = 0; i < sizeof bad_values / sizeof *bad_values; i++) {
        const bad_value *b = &bad_values[i];
        if (strcmp(b->rule, rule) != 0 || strcmp(b->variable, s->name) != 0)
            continue;
        for (int v = 0; b->bad[v]; v++)
            if (ek__strcasecmp(b->bad[v], s->value) == 0)
                return b;
    }
    return NULL;
}

static bool counts(const ek__lint_setting *s)
{
    return s->exported && !s->unset && s->value;
}

ek_status ek__lint_variables(ek__lint_run *run, const ek__lint_entry *entry, const ek__lint_file *file)
{
    const ek__lint_settings *all = environment_of(file);
    ek_status status = EK_OK;
    for (int i = 0; status == EK_OK && i < all->n; i++) {
        const ek__lint_setting *s = &all->setting[i];
        const bad_value *b = counts(s) ? bad_value_of(s, entry->about.id) : NULL;
        if (!b)
            continue;
        int column = s->value_column ? s->value_column : s->column;
        int end = s->value_column ? s->value_column + (int)strlen(s->value) : s->end_column;
        status = ek__lint_report(run, entry, file, s->line, column, end, s->value_column ? b->good : NULL,
                                 "%s is %s%s: %s; set it to %s, or leave it out", s->name, s->value,
                                 s->maybe ? " under a condition" : "", b->what, b->good);
    }
    return status;
}

/* ---- lists of the allocators' settings ---- */

static const char *const lists[] = {"MS_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_NPU_ALLOC_CONF", NULL};
static const char *const keys[] = {
    "enable_vmm",        "vmm_align_size", "memory_tracker", "acl_allocator",           "memory_tracker_path",
    "somas_whole_block", "simple_tracker", "memory_recycle", "defrag_memory_step_freq", NULL};

static bool is_one_of(const char *text, const char *const *words)
{
    for (int i = 0; words[i]; i++)
        if (strcmp(text, words[i]) == 0)
            return true;
    return false;
}

/* An item KEY:VALUE of a list; sign 0 without a colon. */
typedef struct item {
    const char *text;
    size_t size, sign;
} item;

/* The item at *at, which moves to its end; false: there is none. */
static bool next_item(const char **at, item *out)
{
    const char *text = *at;
    while (*text == ' ' || *text == ',')
        text++;
    size_t size = strcspn(text, ","), n = size;
    if (size == 0)
        return false;
    *at = text + size;
    while (n > 0 && text[n - 1] == ' ')
        n--;
    const char *colon = memchr(text, ':', n);
    *out = (item){text, n, colon ? (size_t)(colon - text) : 0};
    return true;
}

static bool has_key(const char *list, const char *key, size_t n, item *out)
{
    item i;
    while (next_item(&list, &i))
        if (i.sign == n && strncmp(i.text, key, n) == 0) {
            *out = i;
            return true;
        }
    return false;
}

/* A key of `before` that `after` does not have; false: none. */
static bool lost_key(const char *before, const char *after, item *out)
{
    item kept;
    while (next_item(&before, out))
        if (out->sign > 0 && !has_key(after, out->text, out->sign, &kept))
            return true;
    return false;
}

static bool can_replace(const ek__lint_setting *s)
{
    return counts(s) && !s->maybe && !s->fallback && !s->one_command && is_one_of(s->name, lists);
}

/* The last setting of the name in `all` before `end` that a later one replaces; NULL. */
static const ek__lint_setting *setting_before(const ek__lint_settings *all, int end, const char *name)
{
    for (int i = end - 1; i >= 0; i--)
        if (can_replace(&all->setting[i]) && strcmp(all->setting[i].name, name) == 0)
            return &all->setting[i];
    return NULL;
}

static ek_status report_replaced(ek__lint_run *run, const ek__lint_entry *entry, const ek__lint_file *file,
                                 const ek__lint_setting *s, const ek__lint_file *from, const ek__lint_setting *before)
{
    item lost;
    if (!lost_key(before->value, s->value, &lost))
        return EK_OK;
    return ek__lint_report(run, entry, file, s->line, s->column, s->end_column, NULL,
                           "%s is set anew, and %.*s of %s%sline %d is gone: every assignment replaces the whole "
                           "list; set all keys at once, KEY:VALUE with commas between them",
                           s->name, (int)(lost.size < 80 ? lost.size : 80), lost.text, from != file ? from->path : "",
                           from != file ? ", " : "", before->line);
}

/* A file's name without its folder. */
static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Does a script's environment reach another file: a program that is given with it, a script that names it, as by
 * `source`? */
static bool comes_before(const ek__lint_file *script, const ek__lint_file *file)
{
    if (!script->shell || script == file)
        return false;
    return file->python || (!script->shell->runs && strstr(file->text, base_name(script->path)));
}

/* Scripts' settings come before those of the programs they start, those of environment files before the scripts'. */
static ek_status check_twice(ek__lint_run *run, const ek__lint_entry *entry, const ek__lint_file *file)
{
    const ek__lint_settings *all = environment_of(file);
    ek_status status = EK_OK;
    for (int i = 0; status == EK_OK && i < all->n; i++) {
        const ek__lint_setting *s = &all->setting[i];
        if (!can_replace(s))
            continue;
        const ek__lint_setting *before = setting_before(all, i, s->name);
        const ek__lint_file *from = file;
        for (int f = 0; !before && f < run->n_files; f++)
            if (comes_before(&run->file[f], file)) {
                from = &run->file[f];
                before = setting_before(environment_of(from), environment_of(from)->n, s->name);
            }
        if (before)
            status = report_replaced(run, entry, file, s, from, before);
    }
    return status;
}

static bool is_truth(const item *i, const char *word)
{
    size_t n = strlen(word);
    return i->sign > 0 && i->size - i->sign - 1 == n && ek__strncasecmp(i->text + i->sign + 1, word, n) == 0;
}

static bool is_alloc_conf(const ek__lint_setting *s)
{
    return counts(s) && strcmp(s->name, "MS_ALLOC_CONF") == 0;
}

static const char *nearest_key(const item *i, size_t n)
{
    char word[64];
    if (n >= sizeof word)
        return NULL;
    memcpy(word, i->text, n);
    word[n] = '\0';
    return ek__nearest_word(word, keys, -1);
}

static ek_status report_item(ek__lint_run *run, const ek__lint_entry *entry, const ek__lint_file *file,
                             const ek__lint_setting *s, const item *i)
{
    int column = s->value_column ? s->value_column + (int)(i->text - s->value) : s->column;
    int end = s->value_column ? column + (int)i->size : s->end_column, shown = (int)(i->size < 80 ? i->size : 80);
    if (i->sign == 0) {
        const char *sign = memchr(i->text, '=', i->size);
        return ek__lint_report(run, entry, file, s->line, column, end, NULL,
                               "'%.*s' in MS_ALLOC_CONF is not KEY:VALUE%s", shown, i->text,
                               sign ? "; write a colon for the sign" : "; keys and values have a colon between them");
    }
    char key[64];
    size_t n = i->sign < sizeof key ? i->sign : sizeof key - 1;
    memcpy(key, i->text, n);
    key[n] = '\0';
    if (is_one_of(key, keys))
        return EK_OK;
    const char *near = nearest_key(i, i->sign);
    return ek__lint_report(run, entry, file, s->line, column, s->value_column ? column + (int)i->sign : end,
                           s->value_column ? near : NULL, "'%s' is no key of MS_ALLOC_CONF%s%s%s", key,
                           near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
}

static ek_status check_items(ek__lint_run *run, const ek__lint_entry *entry, const ek__lint_file *file)
{
    const ek__lint_settings *all = environment_of(file);
    ek_status status = EK_OK;
    for (int s = 0; s < all->n; s++) {
        if (!is_alloc_conf(&all->setting[s]))
            continue;
        const char *at = all->setting[s].value;
        item i;
        while (status == EK_OK && next_item(&at, &i))
            status = report_item(run, entry, file, &all->setting[s], &i);
    }
    return status;
}

/* A key that is on or off where it should not be. */
static ek_status check_key(ek__lint_run *run, const ek__lint_entry *entry, const ek__lint_file *file, const char *key,
                           const char *bad, const char *good, const char *what)
{
    const ek__lint_settings *all = environment_of(file);
    ek_status status = EK_OK;
    for (int n = 0; status == EK_OK && n < all->n; n++) {
        const ek__lint_setting *s = &all->setting[n];
        item i;
        if (!is_alloc_conf(s) || !has_key(s->value, key, strlen(key), &i) || !is_truth(&i, bad))
            continue;
        int column = s->value_column ? s->value_column + (int)(i.text - s->value + (ptrdiff_t)i.sign) + 1 : s->column;
        int end = s->value_column ? column + (int)strlen(bad) : s->end_column;
        status = ek__lint_report(run, entry, file, s->line, column, end, s->value_column ? good : NULL,
                                 "MS_ALLOC_CONF has %s:%s: %s; write %s:%s", key, bad, what, key, good);
    }
    return status;
}

static ek_status check_virtual_off(ek__lint_run *run, const ek__lint_entry *entry, const ek__lint_file *file)
{
    return check_key(run, entry, file, "enable_vmm", "False", "True",
                     "large blocks need room in one piece, and the peak grows by the holes");
}

static ek_status check_tracker(ek__lint_run *run, const ek__lint_entry *entry, const ek__lint_file *file)
{
    return check_key(run, entry, file, "memory_tracker", "True", "False",
                     "every allocation is recorded and written out");
}

static ek_status check_virtual_unset(ek__lint_run *run, const ek__lint_entry *entry, const ek__lint_file *file)
{
    const ek__lint_settings *all = environment_of(file);
    const ek__lint_setting *last = setting_before(all, all->n, "MS_ALLOC_CONF");
    if (!last || strstr(last->value, "enable_vmm")) /* in a wrong form is another rule's */
        return EK_OK;
    return ek__lint_report(run, entry, file, last->line, last->column, last->end_column, NULL,
                           "MS_ALLOC_CONF is set without enable_vmm; add enable_vmm:True to the same list, unless this "
                           "release of MindSpore has it on by itself");
}

/* ---- scripts ---- */

static const ek__command *launcher_behind(const ek__shell *shell, int line)
{
    static const char *const launchers[] = {"msrun", "mpirun",    "mpiexec",    "torchrun",
                                            "srun",  "deepspeed", "accelerate", NULL};
    for (int i = 0; i < shell->n_commands; i++) {
        const ek__command *c = &shell->command[i];
        if (c->line >= line && is_one_of(base_name(shell->word[c->first_word].text), launchers))
            return c;
    }
    return NULL;
}

static ek_status check_simulation(ek__lint_run *run, const ek__lint_entry *entry, const ek__lint_file *file)
{
    const ek__lint_settings *all = environment_of(file);
    ek_status status = EK_OK;
    for (int i = 0; status == EK_OK && i < all->n; i++) {
        const ek__lint_setting *s = &all->setting[i];
        bool compiled_only = strcmp(s->name, "MS_SIMULATION_LEVEL") == 0,
             launches_none = strcmp(s->name, "MS_KERNEL_LAUNCH_SKIP") == 0;
        if (!counts(s) || s->maybe || (!compiled_only && !launches_none) || s->value[0] == '\0')
            continue;
        const ek__command *launcher = launcher_behind(file->shell, s->line);
        if (launcher)
            status =
                ek__lint_report(run, entry, file, s->line, s->column, s->end_column, NULL,
                                "%s is %s, so %s in line %d starts a dry run that computes %s; unset it for the "
                                "training",
                                s->name, s->value, base_name(file->shell->word[launcher->first_word].text),
                                launcher->line, compiled_only ? "nothing" : "without the kernels that are skipped");
    }
    return status;
}

static ek_status check_exported(ek__lint_run *run, const ek__lint_entry *entry, const ek__lint_file *file)
{
    static const char *const known[] = {"MS_ALLOC_CONF",
                                        "PYTORCH_CUDA_ALLOC_CONF",
                                        "PYTORCH_NPU_ALLOC_CONF",
                                        "CUDA_DEVICE_MAX_CONNECTIONS",
                                        "HCCL_DETERMINISTIC",
                                        "HCCL_CONNECT_TIMEOUT",
                                        "NCCL_DEBUG",
                                        "MS_SIMULATION_LEVEL",
                                        "MS_DEV_SAVE_GRAPHS",
                                        NULL};
    const ek__lint_settings *all = environment_of(file);
    ek_status status = EK_OK;
    for (int i = 0; status == EK_OK && i < all->n; i++) {
        const ek__lint_setting *s = &all->setting[i];
        if (!s->exported && is_one_of(s->name, known))
            status = ek__lint_report(run, entry, file, s->line, s->column, s->end_column, NULL,
                                     "%s is assigned and not exported, so the training does not see it; write export "
                                     "before it",
                                     s->name);
    }
    return status;
}

static ek_status check_connections(ek__lint_run *run, const ek__lint_entry *entry, const ek__lint_file *file)
{
    const char *degree = ek__shell_argument(file->shell, "--tensor-model-parallel-size");
    const ek__lint_settings *all = environment_of(file);
    if (!degree || atoi(degree) < 2 || ek__shell_has(file->shell, "--use-torch-fsdp2"))
        return EK_OK;
    const ek__lint_setting *last = NULL;
    for (int i = 0; i < all->n; i++)
        if (strcmp(all->setting[i].name, "CUDA_DEVICE_MAX_CONNECTIONS") == 0)
            last = &all->setting[i];
    if (last && (!last->value || strcmp(last->value, "1") == 0))
        return EK_OK;
    for (int i = 0; !last && i < file->shell->n_words; i++)
        if (strncmp(file->shell->word[i].text, "--tensor-model-parallel-size",
                    strlen("--tensor-model-parallel-size")) == 0)
            return ek__lint_report(run, entry, file, file->shell->word[i].line, file->shell->word[i].column, 0, NULL,
                                   "tensor parallelism of %s without CUDA_DEVICE_MAX_CONNECTIONS=1: collectives and "
                                   "the multiplications that should hide them may start in the wrong order; export "
                                   "it",
                                   degree);
    if (!last)
        return EK_OK;
    return ek__lint_report(run, entry, file, last->line, last->value_column ? last->value_column : last->column,
                           last->value_column ? last->value_column + (int)strlen(last->value) : last->end_column,
                           last->value_column ? "1" : NULL,
                           "CUDA_DEVICE_MAX_CONNECTIONS is %s with tensor parallelism of %s, which wants 1",
                           last->value, degree);
}

/* ---- the table ---- */

/* Enough for a job to be read. */
#define MODEL                                                                                                          \
    " --sequence-parallel \\\n"                                                                                        \
    "    --num-layers 32 --hidden-size 4096 --num-attention-heads 32 --seq-length 4096 \\\n"                           \
    "    --max-position-embeddings 4096 --padded-vocab-size 32000 --micro-batch-size 1 \\\n"                           \
    "    --global-batch-size 64 --use-flash-attn\n"

const ek__lint_entry ek__lint_launch[] = {
    {
        .about = {.id = "debug-log",
                  .level = EK_LINT_NOTE,
                  .kinds = BOTH,
                  .title = "A log level for looking for faults is on",
                  .why = "At these levels libraries write lines for every operator or collective, from every rank. "
                         "TORCH_DISTRIBUTED_DEBUG=DETAIL also compares every collective with the other ranks.",
                  .cost = "Host time in every step and large logs; by PyTorch's documentation DETAIL may slow the "
                          "program down, without a figure.",
                  .fix = "Set the level that the message names.",
                  .source = "PyTorch's documentation of torch.distributed (debugging); NCCL's list of environment "
                            "variables; for MindSpore's and CANN's levels general knowledge",
                  .bad = "export NCCL_DEBUG=INFO\ntorchrun train.py\n",
                  .good = "export NCCL_DEBUG=WARN\ntorchrun train.py\n"},
        .check = {[EK_LINT_SHELL] = ek__lint_variables, [EK_LINT_PYTHON] = ek__lint_variables},
    },
    {
        .about = {.id = "allocator-settings-twice",
                  .level = EK_LINT_WARNING,
                  .kinds = BOTH,
                  .title = "A later assignment takes settings of the allocator away",
                  .why = "MS_ALLOC_CONF and PyTorch's counterparts hold a list of KEY:VALUE. Every assignment replaces "
                         "the whole list, so earlier settings are lost without a message.",
                  .cost =
                      "That of the setting that is lost: without virtual memory the peak grows by the holes between "
                      "blocks.",
                  .fix = "Set all keys in one assignment, with commas between them.",
                  .source = GUIDE ", checklist of memory: virtual memory",
                  .bad = "export MS_ALLOC_CONF=\"enable_vmm:True\"\nexport MS_ALLOC_CONF=\"vmm_align_size:2MB\"\n",
                  .good = "export MS_ALLOC_CONF=\"enable_vmm:True,vmm_align_size:2MB\"\n"},
        .check = {[EK_LINT_SHELL] = check_twice, [EK_LINT_PYTHON] = check_twice},
    },
    {
        .about = {.id = "allocator-settings-form",
                  .level = EK_LINT_WARNING,
                  .kinds = BOTH,
                  .title = "MS_ALLOC_CONF has an item that is not KEY:VALUE with a known key",
                  .why = "The allocator skips items that it does not know and uses the default.",
                  .cost = "That of the intended setting.",
                  .fix = "Write KEY:VALUE, items with commas between them.",
                  .source = GUIDE ", checklist of memory (the form); MindSpore's list of environment variables and its "
                                  "runtime's source (the keys)",
                  .bad = "export MS_ALLOC_CONF=enable_vmm=True\n",
                  .good = "export MS_ALLOC_CONF=enable_vmm:True\n"},
        .check = {[EK_LINT_SHELL] = check_items, [EK_LINT_PYTHON] = check_items},
    },
    {
        .about = {.id = "virtual-memory-off",
                  .level = EK_LINT_WARNING,
                  .kinds = BOTH,
                  .title = "Virtual memory is off",
                  .why = "With virtual memory the pool puts a large block together from free pages. Without it a block "
                         "needs room in one piece, and the peak grows by the holes that are too small.",
                  .cost = "Memory, as much as the pool is fragmented; no figure in the source.",
                  .fix = "Write enable_vmm:True.",
                  .source = GUIDE ", checklist of memory: virtual memory",
                  .bad = "export MS_ALLOC_CONF=\"enable_vmm:False\"\n",
                  .good = "export MS_ALLOC_CONF=\"enable_vmm:True\"\n"},
        .check = {[EK_LINT_SHELL] = check_virtual_off, [EK_LINT_PYTHON] = check_virtual_off},
    },
    {
        .about = {.id = "virtual-memory-unset",
                  .level = EK_LINT_NOTE,
                  .kinds = BOTH,
                  .title = "MS_ALLOC_CONF does not set virtual memory",
                  .why = "The guide recommends virtual memory. A list without enable_vmm leaves it to the release, and "
                         "releases differ.",
                  .cost = "Memory, as much as the pool is fragmented; no figure in the source.",
                  .fix = "Add enable_vmm:True to the same list.",
                  .source = GUIDE ", checklist of memory: virtual memory",
                  .bad = "export MS_ALLOC_CONF=\"vmm_align_size:2MB\"\n",
                  .good = "export MS_ALLOC_CONF=\"enable_vmm:True,vmm_align_size:2MB\"\n"},
        .check = {[EK_LINT_SHELL] = check_virtual_unset, [EK_LINT_PYTHON] = check_virtual_unset},
    },
    {
        .about = {.id = "memory-tracker-on",
                  .level = EK_LINT_WARNING,
                  .kinds = BOTH,
                  .title = "The memory tracker is on",
                  .why = "memory_tracker records every allocation with the code that made it and writes it out. It is "
                         "for analysing a run that has too little memory.",
                  .cost = "Host time at every allocation, and files of every rank. No figure in the source.",
                  .fix = "Leave the key out when the report has been read.",
                  .source = GUIDE ", analysis of memory problems: the tracker is turned on for the analysis",
                  .bad = "export MS_ALLOC_CONF=\"enable_vmm:True,memory_tracker:True\"\n",
                  .good = "export MS_ALLOC_CONF=\"enable_vmm:True\"\n"},
        .check = {[EK_LINT_SHELL] = check_tracker, [EK_LINT_PYTHON] = check_tracker},
    },
    {
        .about = {.id = "simulation-left-on",
                  .level = EK_LINT_WARNING,
                  .kinds = 1U << EK_LINT_SHELL,
                  .title = "A launcher starts a dry run",
                  .why =
                      "MS_SIMULATION_LEVEL makes MindSpore compile without computing, and MS_KERNEL_LAUNCH_SKIP skips "
                      "kernels. The guide's dry run starts single ranks with python; a launcher of many ranks after "
                      "the variables starts a training that computes nothing, unless a dry run is intended.",
                  .cost = "The whole run.",
                  .fix = "Unset the variable before the launcher.",
                  .source = "MindSpore Transformers' performance tuning guide, memory analysis by dry run",
                  .bad = "export MS_SIMULATION_LEVEL=1\nmsrun --worker_num=8 run_mindformer.py\n",
                  .good = "export MS_SIMULATION_LEVEL=1\npython run_mindformer.py\n"},
        .check = {[EK_LINT_SHELL] = check_simulation},
    },
    {
        .about = {.id = "variable-not-exported",
                  .level = EK_LINT_WARNING,
                  .kinds = 1U << EK_LINT_SHELL,
                  .title = "A variable for the training is not exported",
                  .why = "A shell passes only exported variables to programs. The script sets the variable and "
                         "the training does not see it.",
                  .cost = "That of the setting that is lost.",
                  .fix = "Write export before the assignment.",
                  .source = "POSIX, Shell Command Language, export",
                  .bad = "MS_ALLOC_CONF=\"enable_vmm:True\"\nmsrun train.py\n",
                  .good = "export MS_ALLOC_CONF=\"enable_vmm:True\"\nmsrun train.py\n"},
        .check = {[EK_LINT_SHELL] = check_exported},
    },
    {
        .about = {.id = "cuda-connections",
                  .level = EK_LINT_WARNING,
                  .kinds = 1U << EK_LINT_SHELL,
                  .title = "Tensor parallelism without CUDA_DEVICE_MAX_CONNECTIONS=1",
                  .why =
                      "Megatron starts a collective before the multiplication that hides it and relies on the device "
                      "taking them up in that order, which one connection guarantees on devices before Blackwell. The "
                      "variable may also come from outside the script.",
                  .cost = "Communication of tensor parallelism that is no longer hidden, or Megatron refuses to start.",
                  .fix = "export CUDA_DEVICE_MAX_CONNECTIONS=1",
                  .source = "Megatron-LM, checks of its arguments",
                  .bad = "torchrun pretrain_gpt.py --tensor-model-parallel-size 8" MODEL,
                  .good = "export CUDA_DEVICE_MAX_CONNECTIONS=1\n"
                          "torchrun pretrain_gpt.py --tensor-model-parallel-size 8" MODEL},
        .check = {[EK_LINT_SHELL] = check_connections},
    },
    {.about = {.id = NULL}},
};
