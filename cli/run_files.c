/* Recognition of a run's files: what a file begins with tells traces, graphs and settings; logs are searched for the
 * lines that only they have, since those may come late. Names count only where the content is packed (.gz) or where a
 * table says nothing else. Symbolic links to folders are not followed, so that a search ends. */
#include "run_files.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "evenkeel/trace_index.h"

#include "options.h"

enum { HEAD = 1 << 16, CHUNK = 1 << 20, OVERLAP = 64, MAX_DEPTH = 8, MAX_PATH = 4096 };
static const long long most_searched = 1LL << 28; /* bytes of a log that are searched for its lines */

const char *const cli_run_kind_name[CLI_N_RUN_KINDS] = {"trace", "settings",   "dry run",   "graph", "training log",
                                                        "plan",  "layer file", "init file", "answer"};

/* ---- by content ---- */

static const char *find(const char *text, size_t size, const char *needle)
{
    size_t n = strlen(needle);
    for (const char *end = text + size, *at = text; (size_t)(end - at) >= n; at++) {
        at = memchr(at, needle[0], (size_t)(end - at) - n + 1);
        if (!at || memcmp(at, needle, n) == 0)
            return at;
    }
    return NULL;
}

static bool has(const char *text, size_t size, const char *needle)
{
    return find(text, size, needle) != NULL;
}

static bool has_any(const char *text, size_t size, const char *const *needle)
{
    for (; *needle; needle++)
        if (has(text, size, *needle))
            return true;
    return false;
}

static cli_run_kind kind_of_json(const char *text, size_t size)
{
    static const char *const events[] = {"\"traceEvents\"", "\"ph\"", "\"schemaVersion\"", "\"dur\"", NULL};
    static const char *const model[] = {"\"hidden_size\"", "\"num_hidden_layers\"", "\"n_embd\"", "\"n_layer\"", NULL};
    static const char *const answer[] = {"\"bottlenecks\"", "\"fullest_stage\"", "\"sweep\"", "\"producer\"", NULL};
    if (has(text, size, "\"layers_description\""))
        return CLI_RUN_LAYERS;
    if (has(text, size, "\"version\"") && has_any(text, size, answer))
        return CLI_RUN_ANSWER;
    if (has_any(text, size, events))
        return CLI_RUN_TRACE;
    return has_any(text, size, model) ? CLI_RUN_CONFIG : CLI_RUN_UNKNOWN;
}

/* What the balancer reads: keys that nothing else has. Its comments may speak of anything. */
static cli_run_kind kind_of_model(const char *text, size_t size)
{
    if (has(text, size, "layers_description"))
        return CLI_RUN_LAYERS;
    return has(text, size, "pipeline_num") && has(text, size, "recompute_config") ? CLI_RUN_INIT : CLI_RUN_UNKNOWN;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* Does `at` begin with a key of a mapping, in YAML or JSON: NAME:, "NAME" :? `name` of NULL: any. */
static bool begins_with_key(const char *at, const char *end, const char *name)
{
    char quote = at < end && (*at == '"' || *at == '\'') ? *at++ : '\0';
    const char *from = at;
    while (at < end && (isalnum((unsigned char)*at) || strchr("_-. ", *at)) && *at && (quote || *at != ' '))
        at++;
    size_t n = (size_t)(at - from);
    if (n == 0 || (name && (n != strlen(name) || memcmp(from, name, n) != 0)) ||
        (quote && (at == end || *at++ != quote)))
        return false;
    while (at < end && is_blank(*at))
        at++;
    return at < end && *at == ':' && (quote || at + 1 == end || isspace((unsigned char)at[1]));
}

/* A key stands behind what opens a mapping, behind a comma, or first in its line. */
static bool has_key(const char *text, size_t size, const char *name)
{
    bool first = true;
    for (const char *at = text, *end = text + size; at < end; at++) {
        if (first && begins_with_key(at, end, name))
            return true;
        first = *at == '\n' || *at == '{' || *at == ',' || (first && (is_blank(*at) || *at == '-'));
    }
    return false;
}

/* Prose that shows a plan is none: behind comments a mapping or a list begins. */
static bool is_structured(const char *text, size_t size)
{
    const char *at = text, *end = text + size;
    while (at < end && (isspace((unsigned char)*at) || *at == '#' || (end - at > 3 && memcmp(at, "---", 3) == 0))) {
        const char *line = isspace((unsigned char)*at) ? NULL : memchr(at, '\n', (size_t)(end - at));
        at = isspace((unsigned char)*at) ? at + 1 : line ? line : end;
    }
    return at < end && (*at == '{' || *at == '[' || (*at == '-' && at + 1 < end && isspace((unsigned char)at[1])) ||
                        begins_with_key(at, end, NULL));
}

/* What it writes, in YAML or JSON: plans have their lists, and none of a job's keys. */
static bool is_plan(const char *text, size_t size)
{
    return is_structured(text, size) && has_key(text, size, "recompute") &&
           (has_key(text, size, "offset") || has_key(text, size, "layers"));
}

/* What lines of steps have. */
static const char *const steps_of_logs[] = {"per_step_time:", "elapsed time per iteration", "tps: ", NULL};

static cli_run_kind kind_of_text(const char *text, size_t size)
{
    static const char *const graph[] = {"# IR entry", "#IR entry", "subgraph attr:", "PrimFunc_", NULL};
    static const char *const peaks[] = {"peak memory usage", NULL};
    static const char *const settings[] = {"parallel_config:",
                                           "model_config:",
                                           "--num-layers",
                                           "--hidden-size",
                                           "model_parallel:",
                                           "\n[parallelism]",
                                           NULL};
    if (has_any(text, size, graph))
        return CLI_RUN_IR;
    if (has_any(text, size, steps_of_logs))
        return CLI_RUN_LOG;
    cli_run_kind model = kind_of_model(text, size);
    if (model != CLI_RUN_UNKNOWN)
        return model;
    if (has_any(text, size, peaks))
        return CLI_RUN_DRY_RUN;
    if (has_any(text, size, settings))
        return CLI_RUN_CONFIG;
    return is_plan(text, size) ? CLI_RUN_PLAN : CLI_RUN_UNKNOWN;
}

/* Logs print steps and peaks long after they began. A run's own log may print peaks too: steps count more. */
static cli_run_kind search_log(FILE *file)
{
    char *text = malloc(CHUNK + OVERLAP);
    size_t kept = 0, n;
    long long searched = 0;
    cli_run_kind kind = CLI_RUN_UNKNOWN;
    while (text && kind != CLI_RUN_LOG && searched < most_searched && (n = fread(text + kept, 1, CHUNK, file)) > 0) {
        size_t size = kept + n;
        if (has_any(text, size, steps_of_logs))
            kind = CLI_RUN_LOG;
        else if (has(text, size, "peak memory usage"))
            kind = CLI_RUN_DRY_RUN;
        kept = size < OVERLAP ? size : OVERLAP;
        memmove(text, text + size - kept, kept);
        searched += (long long)n;
    }
    free(text);
    return kind;
}

static bool is_packed_trace(const char *path)
{
    return fnmatch("*.json.gz", path, 0) == 0 || fnmatch("*trace*.gz", path, 0) == 0;
}

static bool is_table(const char *path)
{
    static const char *const patterns[] = {"*step_trace*.csv",   "*kernel_details*.csv", "*op_summary*.csv",
                                           "*op_statistic*.csv", "*memory_record*.csv",  "*memory_block*.csv"};
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++)
        if (fnmatch(patterns[i], path, 0) == 0)
            return true;
    return false;
}

cli_run_kind cli_run_kind_of(const char *path)
{
    static const unsigned char mark[] = {0xef, 0xbb, 0xbf};
    if (is_packed_trace(path) || is_table(path))
        return CLI_RUN_TRACE;
    FILE *file = fopen(path, "rb");
    char *text = malloc(HEAD);
    size_t size = file && text ? fread(text, 1, HEAD, file) : 0, at = 0;
    if (size >= sizeof mark && memcmp(text, mark, sizeof mark) == 0)
        at = sizeof mark;
    while (at < size && isspace((unsigned char)text[at]))
        at++;
    cli_run_kind kind = CLI_RUN_UNKNOWN;
    if (at < size && (text[at] == '{' || text[at] == '['))
        kind = kind_of_json(text + at, size - at);
    if (at < size && kind == CLI_RUN_UNKNOWN)
        kind = kind_of_text(text + at, size - at);
    /* A launcher's log begins with the settings it was given. */
    if (file && size == HEAD &&
        (kind == CLI_RUN_UNKNOWN || kind == CLI_RUN_CONFIG || kind == CLI_RUN_DRY_RUN || kind == CLI_RUN_PLAN)) {
        rewind(file);
        cli_run_kind later = search_log(file);
        kind = later != CLI_RUN_UNKNOWN ? later : kind;
    }
    free(text);
    if (file)
        fclose(file);
    return kind;
}

/* ---- the list ---- */

static bool push(cli_run_files *files, const char *path, cli_run_kind kind, bool found)
{
    if (files->n == CLI_MAX_RUN_FILES) {
        cli_error(NULL, "more than %d files of a run; name those that count", CLI_MAX_RUN_FILES);
        return false;
    }
    if (!files->file)
        files->file = calloc(CLI_MAX_RUN_FILES, sizeof *files->file);
    char *copy = files->file ? strdup(path) : NULL;
    if (!copy) {
        cli_error(NULL, "out of memory");
        return false;
    }
    files->file[files->n++] = (cli_run_file){copy, kind, found};
    return true;
}

void cli_run_clear(cli_run_files *files)
{
    for (int i = 0; i < files->n; i++)
        free(files->file[i].path);
    free(files->file);
    *files = (cli_run_files){0};
}

/* ---- folders ---- */

/* What a search has met. Graphs: the last pass of each folder. */
typedef struct search {
    cli_run_files *files;
    bool has_trace, has_dry_run, failed;
    int n_databases;
} search;

static bool is_final_pass(const char *name)
{
    return strstr(name, "validate") || strstr(name, "execute");
}

/* Of a folder's passes those of the end of compilation count before others, then the later name. */
static void take_graph(search *s, const char *path)
{
    const char *slash = strrchr(path, '/');
    size_t folder = slash ? (size_t)(slash - path) + 1 : 0;
    for (int i = 0; i < s->files->n; i++) {
        cli_run_file *other = &s->files->file[i];
        const char *end = strrchr(other->path, '/');
        size_t n = end ? (size_t)(end - other->path) + 1 : 0;
        if (other->kind != CLI_RUN_IR || !other->found || n != folder || strncmp(path, other->path, n) != 0)
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
    s->failed = !push(s->files, path, CLI_RUN_IR, true);
}

static void take_found(search *s, const char *path, long long size)
{
    cli_run_kind kind = cli_run_kind_of(path);
    s->n_databases += fnmatch("*.db", path, 0) == 0;
    s->has_trace = s->has_trace || kind == CLI_RUN_TRACE;
    s->has_dry_run = s->has_dry_run || kind == CLI_RUN_DRY_RUN;
    if (kind == CLI_RUN_TRACE && !is_table(path)) {
        s->files->n_traces++;
        s->files->trace_bytes += size;
    }
    if (kind == CLI_RUN_IR)
        take_graph(s, path);
    else if (kind == CLI_RUN_CONFIG || kind == CLI_RUN_LOG)
        s->failed = !push(s->files, path, kind, true);
}

/* What we left beside the traces is no part of the run. */
static int keep_visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.' && strcmp(entry->d_name, EK_TRACE_INDEX_FOLDER) != 0;
}

static void walk(search *s, const char *folder, int depth)
{
    struct dirent **entry = NULL;
    int n = scandir(folder, &entry, keep_visible, alphasort);
    for (int i = 0; i < n; i++) {
        char path[MAX_PATH];
        struct stat about;
        int length = snprintf(path, sizeof path, "%s/%s", folder, entry[i]->d_name);
        free(entry[i]);
        if (s->failed || length >= (int)sizeof path || lstat(path, &about) != 0)
            continue;
        if (S_ISLNK(about.st_mode) && (stat(path, &about) != 0 || S_ISDIR(about.st_mode)))
            continue;
        if (S_ISDIR(about.st_mode) && depth < MAX_DEPTH)
            walk(s, path, depth + 1);
        else if (S_ISREG(about.st_mode) && about.st_size > 0)
            take_found(s, path, about.st_size);
    }
    free(entry);
}

/* Without slashes at its end. */
static void walk_folder(search *s, const char *path, char plain[MAX_PATH])
{
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/')
        n--;
    snprintf(plain, MAX_PATH, "%.*s", (int)n, path);
    walk(s, plain, 0);
}

static bool take_folder(cli_run_files *files, const char *path)
{
    search s = {.files = files};
    char plain[MAX_PATH];
    int n_before = files->n;
    walk_folder(&s, path, plain);
    if (!s.failed && s.n_databases > 0 && !s.has_trace && !s.has_dry_run && files->n == n_before)
        cli_note(
            "'%s' has %d database%s (.db), which are not read: export the profile as text; `evenkeel trace` says how",
            plain, s.n_databases, s.n_databases == 1 ? "" : "s");
    if (!s.failed && s.has_trace)
        s.failed = !push(files, plain, CLI_RUN_TRACE, true);
    if (!s.failed && s.has_dry_run)
        s.failed = !push(files, plain, CLI_RUN_DRY_RUN, true);
    return !s.failed;
}

/* Files of events below a folder that was said to be a profile. */
static void count_traces(cli_run_files *files, const char *path)
{
    cli_run_files below = {0};
    search s = {.files = &below};
    char plain[MAX_PATH];
    walk_folder(&s, path, plain);
    files->n_traces += below.n_traces;
    files->trace_bytes += below.trace_bytes;
    cli_run_clear(&below);
}

/* The reader of dry runs takes folders and listings; the log of one rank stands for the folder it is in. */
static bool take_peaks(cli_run_files *files, const char *path)
{
    char folder[MAX_PATH] = ".";
    const char *slash = strrchr(path, '/');
    FILE *file = fopen(path, "rb");
    char line[1024] = "";
    bool listing = file && fgets(line, sizeof line, file) && strstr(line, ".log:");
    if (file)
        fclose(file);
    if (!listing && cli_run_kind_of(path) != CLI_RUN_DRY_RUN) {
        cli_error(NULL,
                  "'%s' has no line with a peak memory usage; give the folder of a dry run's logs, one of its logs, or "
                  "a listing of `grep -rn 'peak memory usage' FOLDER`",
                  path);
        return false;
    }
    if (slash)
        snprintf(folder, sizeof folder, "%.*s", (int)(slash - path), path);
    return push(files, listing ? path : folder, CLI_RUN_DRY_RUN, false);
}

bool cli_run_take(cli_run_files *files, const char *path, cli_run_kind kind)
{
    struct stat about;
    if (stat(path, &about) != 0) {
        cli_error(NULL, "cannot read '%s': %s", path, strerror(errno));
        return false;
    }
    bool folder = S_ISDIR(about.st_mode);
    if (kind == CLI_RUN_UNKNOWN && folder)
        return take_folder(files, path);
    if (kind == CLI_RUN_UNKNOWN)
        kind = cli_run_kind_of(path);
    if (kind > CLI_RUN_LOG && !files->models)
        kind = CLI_RUN_UNKNOWN;
    if (kind == CLI_RUN_ANSWER) {
        cli_error(NULL,
                  "'%s' is an answer of a command, which does not hold all that a page shows; give what it was made "
                  "from, or let that command write the page with --html",
                  path);
        return false;
    }
    if (kind == CLI_RUN_UNKNOWN && files->models) {
        cli_error(NULL,
                  "'%s' is not something to look at: neither a trace, a plan, a layer or init file, nor settings of a "
                  "training job, a log or a graph",
                  path);
        return false;
    }
    if (kind == CLI_RUN_UNKNOWN) {
        cli_error(NULL,
                  "'%s' is neither a trace, nor settings of a training job, a log of a dry run or of a training run, "
                  "nor a graph; say which with --trace, --config, --dryrun, --log or --ir",
                  path);
        return false;
    }
    if (kind == CLI_RUN_TRACE && folder) {
        count_traces(files, path);
    } else if (kind == CLI_RUN_TRACE) {
        files->n_traces++;
        files->trace_bytes += about.st_size;
    }
    return kind == CLI_RUN_DRY_RUN && !folder ? take_peaks(files, path) : push(files, path, kind, false);
}
