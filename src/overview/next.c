/* The commands to type next, exactly as a shell takes them, each with its purpose and its exit status. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/c_locale.h"
#include "base/digits.h"
#include "base/error.h"
#include "evenkeel/lint.h"
#include "overview/overview_internal.h"

enum { MOST = 8192 };

/* ---- words of a shell ---- */

const char *ek__shell_quote(ek__pool *pool, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./,:=+@%";
    const char *before = word[0] == '-' && word[1] ? "./" : "";
    if (word[0] && strspn(word, plain) == strlen(word))
        return ek__pool_format(pool, "%s%s", before, word);
    size_t n = strlen(word), at = 0;
    char *text = ek__pool_alloc(pool, 4 * n + 8, 1);
    if (!text)
        return NULL;
    at += (size_t)sprintf(text, "%s'", before);
    for (const char *c = word; *c; c++)
        at += (size_t)sprintf(text + at, *c == '\'' ? "'\\''" : "%c", *c);
    text[at] = '\'';
    return text;
}

/* ---- the list ---- */

typedef struct list {
    ek__overview *o;
    bool no_memory;
    char files[MOST]; /* the words of all paths */
    char size[256];   /* options that the user gave, for commands about a job */
    char device[512]; /* --device NAME of the figures; empty: none */
} list;

enum { EITHER = -1 }; /* 0 or 1 */

static void add(list *l, int exit_status, const char *why, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
static void add(list *l, int exit_status, const char *why, const char *format, ...)
{
    char text[2 * MOST];
    va_list arguments;
    ek_overview *out = l->o->out;
    va_start(arguments, format);
    int n = ek__vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (out->n_next == EK_MAX_OVERVIEW_NEXT || n < 0 || n >= (int)sizeof text)
        return;
    const char *command = ek__pool_text(l->o->pool, text, (size_t)n);
    l->no_memory |= !command;
    out->next[out->n_next++] = (ek_overview_next){command, why, exit_status, false};
}

/* With words in capitals that a file does not say. */
static void fill_in(list *l)
{
    ek_overview *out = l->o->out;
    if (out->n_next > 0)
        out->next[out->n_next - 1].fill_in = true;
}

static bool write_files(list *l)
{
    size_t at = 0;
    const ek_overview *out = l->o->out;
    for (int i = 0; i < out->n_paths; i++) {
        const char *word = ek__shell_quote(l->o->pool, out->path[i]);
        if (!word) {
            l->no_memory = true;
            return false;
        }
        int n = snprintf(l->files + at, sizeof l->files - at, "%s%s", i ? " " : "", word);
        if (n < 0 || (at += (size_t)n) >= sizeof l->files)
            return false; /* no line to type */
    }
    return true;
}

static void write_options(list *l)
{
    const ek_overview_options *options = l->o->options;
    size_t at = 0;
    if (options->seq_length > 0)
        at += (size_t)snprintf(l->size + at, sizeof l->size - at, " --seq-length %d", options->seq_length);
    if (options->limit_mb > 0)
        snprintf(l->size + at, sizeof l->size - at, " --mem %s", ek__real(options->limit_mb).text);
    const char *device = l->o->job && l->o->job->device ? l->o->job->device : options->device;
    const char *word = device ? ek__shell_quote(l->o->pool, device) : "";
    l->no_memory |= !word;
    if (device && word)
        snprintf(l->device, sizeof l->device, " --device %s", word);
}

/* ---- jobs ---- */

/* Devices with twice the memory that the states take, a power of two from 8 on. */
static int64_t enough_devices(const ek_overview_job *f, double device_mb)
{
    int64_t n = 8;
    while (n < (INT64_C(1) << 20) && (double)n * device_mb < 2 * f->state_mb)
        n *= 2;
    return n;
}

static void add_plan(list *l, const char *file, const char *device, int64_t n_devices, bool page)
{
    const ek_overview_options *options = l->o->options;
    char batch[48] = "";
    if (options->global_batch > 0)
        snprintf(batch, sizeof batch, " --global-batch %" PRId64, options->global_batch);
    add(l, EITHER,
        page ? "the same as a page: all layouts, and a timeline of each plan"
             : "searches all layouts: degrees, chunks, micro-batch, recomputation",
        "evenkeel plan %s --devices %" PRId64 "%s%s%s%s", file, n_devices, device, batch, l->size,
        page ? " --html plan.html" : "");
}

static void of_model(list *l, const char *file)
{
    const ek_overview_job *f = l->o->job;
    const ek_overview_layout *best = l->o->out->layout;
    if (best && !best->found) {
        int64_t more = 2 * best->n_devices;
        add(l, EITHER, "the same on more devices", "evenkeel %s --devices %" PRId64 "%s%s", file, more, l->device,
            l->size);
        return;
    }
    if (best) {
        add_plan(l, file, l->device, best->n_devices, false);
        add_plan(l, file, l->device, best->n_devices, true);
        return;
    }
    enum { H100_MB = 80 * 1024 };
    const char *device = l->device[0] ? l->device : " --device H100";
    add(l, EITHER, "the best layout on so many devices", "evenkeel %s --devices %" PRId64 "%s%s", file,
        enough_devices(f, H100_MB), device, l->size);
}

/* A script is known to the linter by its name or its first line; a list of arguments needs a word. */
static void add_lint(list *l, const char *file)
{
    const ek_overview_part *part = ek__overview_part(l->o->out, EK_OVERVIEW_JOB);
    bool named = ek_lint_kind_by_name(part->path) >= 0, script = strncmp(l->o->job->format, "a script", 8) == 0;
    if (named || script)
        add(l, EITHER, "checks the settings against the tuning guides", "evenkeel lint %s%s", file,
            named ? "" : " --kind shell");
}

static void of_job(list *l, const char *file)
{
    const ek_overview_job *f = l->o->job;
    char usual[64];
    snprintf(usual, sizeof usual, " --device %s", ek__overview_usual_device(f->framework));
    const char *device = l->device[0] ? l->device : usual;
    int64_t n = l->o->options->n_devices > 0 ? l->o->options->n_devices : f->n_devices;
    int fits = f->limit == 0 || f->fits ? 0 : 1;
    if (fits)
        add(l, 1, "each setting that saves memory, ready to paste", "evenkeel memory %s --measures%s%s", file,
            l->device, l->size);
    else
        add(l, l->device[0] ? 0 : EITHER, "each part of the step and of the memory", "evenkeel estimate %s%s%s", file,
            device, l->size);
    if (n > 1)
        add_plan(l, file, device, n, false);
    add_lint(l, file);
}

/* ---- others ---- */

static const char *first_of(list *l, ek_overview_kind kind)
{
    const ek_overview_part *part = ek__overview_part(l->o->out, kind);
    const char *word = part ? ek__shell_quote(l->o->pool, part->path) : NULL;
    l->no_memory |= part && !word;
    return word;
}

static void of_run(list *l)
{
    const char *job = first_of(l, EK_OVERVIEW_JOB);
    add(l, 0, "every cause with its evidence, and the settings to change", "evenkeel diagnose %s%s", l->files,
        l->o->options->device ? l->device : "");
    if (ek__overview_part(l->o->out, EK_OVERVIEW_TRACE))
        add(l, 0, "the timeline of every rank as a page for a browser", "evenkeel view %s -o run.html", l->files);
    if (ek__overview_part(l->o->out, EK_OVERVIEW_LOG))
        add(l, 0, "throughput, and with the training file and a device MFU", "evenkeel metrics %s%s", l->files,
            l->device);
    if (job && l->o->job && l->o->job->device)
        add(l, EITHER, "the step and the memory that are predicted", "evenkeel estimate %s%s%s", job, l->device,
            l->size);
    else if (ek__overview_part(l->o->out, EK_OVERVIEW_TRACE))
        add(l, 0, "where the time of each rank went, as tables", "evenkeel trace %s", l->files);
}

/* Commands for the other kinds, with %s for the file. */
static const struct {
    ek_overview_kind kind;
    int exit_status;
    bool fill_in;
    const char *why, *command;
} others[] = {
    {EK_OVERVIEW_INIT, EITHER, false, "chooses the layers and the recomputation of every stage", "evenkeel balance %s"},
    {EK_OVERVIEW_LAYERS, EITHER, true, "chooses the layers and the recomputation of every stage",
     "evenkeel balance %s -s STAGES -mb MICRO_BATCHES -mem MB"},
    {EK_OVERVIEW_PLAN, 0, true, "the step and the memory of the plan, stage by stage",
     "evenkeel simulate %s --init INIT_FILE"},
    {EK_OVERVIEW_DRY_RUN, EITHER, false, "the peak of every stage as a table", "evenkeel collect %s"},
    {EK_OVERVIEW_GRAPH, EITHER, false, "recomputation and communication in the compiled graph", "evenkeel ir %s"},
    {EK_OVERVIEW_DEVICE, 0, true, "the step of a job on this device", "evenkeel estimate TRAINING_FILE --device %s"},
    {EK_OVERVIEW_RUNS, 0, false, "fits a device to the measured runs", "evenkeel calibrate %s -o device.yaml"},
    {EK_OVERVIEW_KERNELS, 0, true, "fits a device to the measured kernels",
     "evenkeel calibrate %s --start DEVICE -o device.yaml"},
    {EK_OVERVIEW_RATES, 0, true, "fits a device to the measured rates",
     "evenkeel calibrate %s --start DEVICE -o device.yaml"},
    {EK_OVERVIEW_LINKS, 0, true, "fits the links of a device to the test",
     "evenkeel calibrate %s --start DEVICE -o device.yaml"},
    {EK_OVERVIEW_PROGRAM, EITHER, false, "checks the program against the tuning guides", "evenkeel lint %s"},
    {EK_OVERVIEW_REPORT, 0, false, "exports the report, which Evenkeel then reads",
     "nsys export --type sqlite --output run.sqlite %s"},
};

static void of_others(list *l)
{
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        const char *file = first_of(l, others[i].kind);
        char command[MOST];
        if (!file)
            continue;
        if (others[i].kind == EK_OVERVIEW_DRY_RUN)
            file = l->files;
        const char *hole = strstr(others[i].command, "%s");
        int n = snprintf(command, sizeof command, "%.*s%s%s", (int)(hole - others[i].command), others[i].command, file,
                         hole + 2);
        if (n < 0 || n >= (int)sizeof command || l->o->out->n_next == EK_MAX_OVERVIEW_NEXT)
            continue;
        add(l, others[i].exit_status, others[i].why, "%s", command);
        if (others[i].fill_in)
            fill_in(l);
    }
}

/* The first of each, by itself. */
static void of_collection(list *l, const char *job)
{
    add(l, EITHER, "the first of the training files", "evenkeel %s", job);
    const ek_overview_part *trace = ek__overview_part(l->o->out, EK_OVERVIEW_TRACE);
    const char *slash = trace ? strrchr(trace->path, '/') : NULL;
    char folder[MOST];
    if (slash && (size_t)(slash - trace->path) < sizeof folder) {
        snprintf(folder, sizeof folder, "%.*s", (int)(slash - trace->path), trace->path);
        const char *word = ek__shell_quote(l->o->pool, folder);
        l->no_memory |= !word;
        if (word)
            add(l, EITHER, "the first of the traces", "evenkeel %s", word);
    }
    add(l, EITHER, "checks them against the tuning guides", "evenkeel lint %s", l->files);
}

ek_status ek__overview_next(ek__overview *o, ek_error *err)
{
    list l = {.o = o};
    const ek_overview *out = o->out;
    if (!write_files(&l))
        return l.no_memory ? ek__no_memory(err) : EK_OK;
    write_options(&l);
    const char *job = first_of(&l, EK_OVERVIEW_JOB), *model = first_of(&l, EK_OVERVIEW_MODEL);
    if (ek__overview_is_collection(out))
        of_collection(&l, job ? job : l.files);
    else if (ek__overview_part(out, EK_OVERVIEW_TRACE) || ek__overview_part(out, EK_OVERVIEW_LOG))
        of_run(&l);
    else if (o->job && job)
        of_job(&l, job);
    else if (o->job && model)
        of_model(&l, model);
    of_others(&l);
    return l.no_memory ? ek__no_memory(err) : EK_OK;
}
