/* Lists a run's files: folders are searched by name, files recognised by content. Symbolic links to folders are not
 * followed, so that a search ends. */
#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "evenkeel/run_files.h"
#include "evenkeel/trace_index.h"

#include "base/c_locale.h"
#include "base/error.h"
#include "run/kind.h"

enum { MAX_DEPTH = 8, MAX_PATH = 4096 };

/* ---- the list ---- */

static ek_status push(ek_run_files *files, const char *path, ek_run_kind kind, bool found, ek_error *err)
{
    if (files->n == EK_MAX_RUN_FILES)
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "more than %d files of a run; name those that count",
                        EK_MAX_RUN_FILES);
    if (!files->file)
        files->file = ek__alloc(EK_MAX_RUN_FILES, sizeof *files->file);
    char *copy = files->file ? strdup(path) : NULL;
    if (!copy)
        return ek__no_memory(err);
    files->file[files->n++] = (ek_run_file){copy, kind, found};
    return EK_OK;
}

void ek_run_files_clear(ek_run_files *files)
{
    for (int i = 0; i < files->n; i++)
        free(files->file[i].path);
    free(files->file);
    *files = (ek_run_files){0};
}

int ek_run_files_of(const ek_run_files *files, ek_run_kind kind, const char **path)
{
    int n = 0;
    for (int i = 0; i < files->n; i++)
        if (files->file[i].kind == kind)
            path[n++] = files->file[i].path;
    return n;
}

const ek_run_file *ek_run_files_first(const ek_run_files *files, ek_run_kind kind)
{
    for (int i = 0; i < files->n; i++)
        if (files->file[i].kind == kind)
            return &files->file[i];
    return NULL;
}

/* ---- folders ---- */

/* The results of a search. Graphs: the last pass of each folder. */
typedef struct search {
    ek_run_files *files;
    bool has_trace, has_dry_run;
    int n_databases;
    ek_status status;
    ek_error *err;
} search;

static bool is_final_pass(const char *name)
{
    return strstr(name, "validate") || strstr(name, "execute");
}

/* Among the passes of a folder those of the end of compilation have precedence, then the later name. */
static void read_graph(search *s, const char *path)
{
    const char *slash = strrchr(path, '/');
    size_t folder = slash ? (size_t)(slash - path) + 1 : 0;
    for (int i = 0; i < s->files->n; i++) {
        ek_run_file *other = &s->files->file[i];
        const char *end = strrchr(other->path, '/');
        size_t n = end ? (size_t)(end - other->path) + 1 : 0;
        if (other->kind != EK_RUN_IR || !other->found || n != folder || strncmp(path, other->path, n) != 0)
            continue;
        if (is_final_pass(path + folder) < is_final_pass(other->path + n))
            return;
        char *copy = strdup(path);
        if (copy) {
            free(other->path);
            other->path = copy;
        }
        return;
    }
    s->status = push(s->files, path, EK_RUN_IR, true, s->err);
}

static void read_found(search *s, const char *path, long long size)
{
    ek_run_kind kind = ek_run_kind_of(path);
    s->n_databases += kind == EK_RUN_UNKNOWN && fnmatch("*.db", path, 0) == 0;
    s->has_trace = s->has_trace || kind == EK_RUN_TRACE;
    s->has_dry_run = s->has_dry_run || kind == EK_RUN_DRY_RUN;
    if (kind == EK_RUN_TRACE && !ek__is_profiler_table(path)) {
        s->files->n_traces++;
        s->files->trace_bytes += size;
    }
    if (kind == EK_RUN_IR)
        read_graph(s, path);
    else if (kind == EK_RUN_CONFIG || kind == EK_RUN_LOG)
        s->status = push(s->files, path, kind, true, s->err);
}

/* An index in the folder of the traces is not part of the run. */
static int keep_visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.' && strcmp(entry->d_name, EK_TRACE_INDEX_FOLDER) != 0;
}

static void walk(search *s, const char *folder, int depth)
{
    struct dirent **entry = NULL;
    int n = scandir(folder, &entry, keep_visible, ek__alphasort);
    if (n < 0 && errno == ENOMEM)
        s->status = ek__no_memory(s->err);
    for (int i = 0; i < n; i++) {
        char path[MAX_PATH];
        struct stat about;
        int length = snprintf(path, sizeof path, "%s/%s", folder, entry[i]->d_name);
        free(entry[i]);
        if (s->status != EK_OK || length >= (int)sizeof path || lstat(path, &about) != 0)
            continue;
        if (S_ISLNK(about.st_mode) && (stat(path, &about) != 0 || S_ISDIR(about.st_mode)))
            continue;
        if (S_ISDIR(about.st_mode) && depth < MAX_DEPTH)
            walk(s, path, depth + 1);
        else if (S_ISREG(about.st_mode) && about.st_size > 0)
            read_found(s, path, about.st_size);
    }
    free(entry);
}

/* Without trailing slashes. */
static void walk_folder(search *s, const char *path, char plain[MAX_PATH])
{
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/')
        n--;
    snprintf(plain, MAX_PATH, "%.*s", (int)n, path);
    walk(s, plain, 0);
}

static ek_status read_folder(ek_run_files *files, const char *path, const ek_listener *notes, ek_error *err)
{
    search s = {.files = files, .err = err};
    char plain[MAX_PATH];
    int n_before = files->n;
    walk_folder(&s, path, plain);
    if (s.status != EK_OK)
        return s.status;
    if (s.n_databases > 0 && !s.has_trace && !s.has_dry_run && files->n == n_before)
        ek__warn(notes, EK__NOWHERE,
                 "'%s' has %d database%s (.db) without the tables of a profiler's export, as raw results have: export "
                 "the profile; `evenkeel trace` explains how",
                 plain, s.n_databases, s.n_databases == 1 ? "" : "s");
    if (s.has_trace)
        s.status = push(files, plain, EK_RUN_TRACE, true, err);
    if (s.status == EK_OK && s.has_dry_run)
        s.status = push(files, plain, EK_RUN_DRY_RUN, true, err);
    return s.status;
}

/* ---- named files ---- */

/* Files of events below a folder that was given as a profile. */
static void count_traces(ek_run_files *files, const char *path)
{
    ek_run_files below = {0};
    search s = {.files = &below};
    char plain[MAX_PATH];
    walk_folder(&s, path, plain);
    files->n_traces += below.n_traces;
    files->trace_bytes += below.trace_bytes;
    ek_run_files_clear(&below);
}

/* The reader of dry runs takes folders and listings; the log of one rank is replaced by its folder. */
static ek_status read_peaks(ek_run_files *files, const char *path, ek_error *err)
{
    char folder[MAX_PATH] = ".";
    const char *slash = strrchr(path, '/');
    FILE *file = fopen(path, "rb");
    char line[1024] = "";
    bool listing = file && fgets(line, sizeof line, file) && strstr(line, ".log:");
    if (file)
        fclose(file);
    if (!listing && ek_run_kind_of(path) != EK_RUN_DRY_RUN)
        return ek__fail(
            err, EK_ERR_INPUT, EK__NOWHERE,
            "'%s' has no line with a peak memory usage; give the folder of a dry run's logs, one of its logs, or "
            "a listing of `grep -rn 'peak memory usage' FOLDER`",
            path);
    if (slash)
        snprintf(folder, sizeof folder, "%.*s", (int)(slash - path), path);
    return push(files, listing ? path : folder, EK_RUN_DRY_RUN, false, err);
}

/* The reason why a file of a kind is skipped. */
static ek_status refuse(const ek_run_files *files, const char *path, ek_run_kind kind, ek_error *err)
{
    if (kind == EK_RUN_ANSWER)
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE,
                        "'%s' is an answer of a command, which has not all data of a page; give its input files, or "
                        "write the page with --html of that command",
                        path);
    if (files->models)
        return ek__fail(
            err, EK_ERR_INPUT, EK__NOWHERE,
            "'%s' is not something to look at: neither a trace, a plan, a layer or init file, nor settings of a "
            "training job, a log or a graph",
            path);
    return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE,
                    "'%s' is neither a trace, nor settings of a training job, a log of a dry run or of a training run, "
                    "nor a graph; set the kind with --trace, --config, --dryrun, --log or --ir",
                    path);
}

ek_status ek_run_files_add(ek_run_files *files, const char *path, ek_run_kind kind, const ek_listener *notes,
                           ek_error *err)
{
    struct stat about;
    assert(path && kind >= EK_RUN_TRACE && kind <= EK_RUN_UNKNOWN);
    if (stat(path, &about) != 0)
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "cannot read '%s': %s", path, strerror(errno));
    bool folder = S_ISDIR(about.st_mode);
    if (kind == EK_RUN_UNKNOWN && folder)
        return read_folder(files, path, notes, err);
    if (kind == EK_RUN_UNKNOWN)
        kind = ek_run_kind_of(path);
    if (kind > EK_RUN_LOG && !files->models)
        kind = EK_RUN_UNKNOWN;
    if (kind == EK_RUN_ANSWER || kind == EK_RUN_UNKNOWN)
        return refuse(files, path, kind, err);
    if (kind == EK_RUN_TRACE && folder) {
        count_traces(files, path);
    } else if (kind == EK_RUN_TRACE) {
        files->n_traces++;
        files->trace_bytes += ek__has_no_events(path) ? 0 : about.st_size; /* it has no events */
    }
    return kind == EK_RUN_DRY_RUN && !folder ? read_peaks(files, path, err) : push(files, path, kind, false, err);
}
