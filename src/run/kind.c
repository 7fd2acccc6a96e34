/* Recognises a run's files: traces, snapshots, graphs and settings by their first bytes, databases by their tables;
 * logs are searched for lines that only logs have, since these may come late. Names count only where the content is
 * packed (.gz) or where a table has no other mark. */
#include "run/kind.h"
#include "base/c_locale.h"
#include "evenkeel/run_files.h"
#include "trace/database/database.h"
#include "trace/find/layout.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HEAD = 1 << 16, CHUNK = 1 << 20, OVERLAP = 64 };
static const long long most_searched = 1LL << 28; /* bytes of a log searched for its lines */

static const char *const ek__run_kind_name[EK_N_RUN_KINDS] = {
    "trace", "settings", "dry run", "graph", "training log", "plan", "layer file", "init file", "answer"};
const char *const *const ek_run_kind_name = ek__run_kind_name;

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

static ek_run_kind kind_of_json(const char *text, size_t size)
{
    static const char *const events[] = {"\"traceEvents\"", "\"ph\"", "\"schemaVersion\"", "\"dur\"", NULL};
    static const char *const model[] = {"\"hidden_size\"", "\"num_hidden_layers\"", "\"n_embd\"", "\"n_layer\"", NULL};
    static const char *const answer[] = {"\"bottlenecks\"", "\"fullest_stage\"", "\"sweep\"", "\"producer\"", NULL};
    if (has(text, size, "\"layers_description\""))
        return EK_RUN_LAYERS;
    if (has(text, size, "\"version\"") && has_any(text, size, answer))
        return EK_RUN_ANSWER;
    if (has_any(text, size, events))
        return EK_RUN_TRACE;
    return has_any(text, size, model) ? EK_RUN_CONFIG : EK_RUN_UNKNOWN;
}

/* Input of the balancer: keys that no other kind has. Its comments may mention anything. */
static ek_run_kind kind_of_model(const char *text, size_t size)
{
    if (has(text, size, "layers_description"))
        return EK_RUN_LAYERS;
    return has(text, size, "pipeline_num") && has(text, size, "recompute_config") ? EK_RUN_INIT : EK_RUN_UNKNOWN;
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
    while (at < end && (ek__is_alnum((unsigned char)*at) || strchr("_-. ", *at)) && *at && (quote || *at != ' '))
        at++;
    size_t n = (size_t)(at - from);
    if (n == 0 || (name && (n != strlen(name) || memcmp(from, name, n) != 0)) ||
        (quote && (at == end || *at++ != quote)))
        return false;
    while (at < end && is_blank(*at))
        at++;
    return at < end && *at == ':' && (quote || at + 1 == end || ek__is_space((unsigned char)at[1]));
}

/* A key follows an opening brace or a comma, or is first in its line. */
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

/* Prose that contains a plan does not count: after comments a mapping or a list begins. */
static bool is_structured(const char *text, size_t size)
{
    const char *at = text, *end = text + size;
    while (at < end &&
           (ek__is_space((unsigned char)*at) || *at == '#' || (end - at > 3 && memcmp(at, "---", 3) == 0))) {
        const char *line = ek__is_space((unsigned char)*at) ? NULL : memchr(at, '\n', (size_t)(end - at));
        at = ek__is_space((unsigned char)*at) ? at + 1 : line ? line : end;
    }
    return at < end &&
           (*at == '{' || *at == '[' || (*at == '-' && at + 1 < end && ek__is_space((unsigned char)at[1])) ||
            begins_with_key(at, end, NULL));
}

/* Output of the balancer, in YAML or JSON: plans have their lists, and none of a job's keys. */
static bool is_plan(const char *text, size_t size)
{
    return is_structured(text, size) && has_key(text, size, "recompute") &&
           (has_key(text, size, "offset") || has_key(text, size, "layers"));
}

/* Settings with words that also occur in logs: keys of a file that consists only of keys. Profilers note a job's
 * degrees beside their traces, as distributed_args. */
static bool is_settings(const char *text, size_t size)
{
    return is_structured(text, size) && !has_key(text, size, "distributed_args") &&
           (has_key(text, size, "tensor_model_parallel_size") || has_key(text, size, "model_name_or_path"));
}

/* Words of lines about steps. */
static const char *const steps_of_logs[] = {"per_step_time:", "elapsed time per iteration", "tps: ", NULL};

static ek_run_kind kind_of_text(const char *text, size_t size)
{
    static const char *const graph[] = {"# IR entry", "#IR entry", "subgraph attr:", "PrimFunc_", NULL};
    static const char *const peaks[] = {"peak memory usage", NULL};
    static const char *const settings[] = {"parallel_config:",     "model_config:",      "--num-layers",
                                           "--hidden-size",        "model_parallel:",    "\n[parallelism]",
                                           "--model_name_or_path", "\nparallel = dict(", NULL};
    if (has_any(text, size, graph))
        return EK_RUN_IR;
    if (has_any(text, size, steps_of_logs))
        return EK_RUN_LOG;
    ek_run_kind model = kind_of_model(text, size);
    if (model != EK_RUN_UNKNOWN)
        return model;
    if (has_any(text, size, peaks))
        return EK_RUN_DRY_RUN;
    if (has_any(text, size, settings) || is_settings(text, size))
        return EK_RUN_CONFIG;
    return is_plan(text, size) ? EK_RUN_PLAN : EK_RUN_UNKNOWN;
}

/* Logs print steps and peaks long after they began. A run's own log may print peaks too: steps take precedence. */
static ek_run_kind search_log(FILE *file)
{
    char *text = malloc(CHUNK + OVERLAP);
    size_t kept = 0, n;
    long long searched = 0;
    ek_run_kind kind = EK_RUN_UNKNOWN;
    while (text && kind != EK_RUN_LOG && searched < most_searched && (n = fread(text + kept, 1, CHUNK, file)) > 0) {
        size_t size = kept + n;
        if (has_any(text, size, steps_of_logs))
            kind = EK_RUN_LOG;
        else if (has(text, size, "peak memory usage"))
            kind = EK_RUN_DRY_RUN;
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

/* Databases are recognised by their tables. One that cannot be opened is treated as a profile, and its reader reports
 * the reason. */
static bool is_profilers_database(const char *path, uint32_t *types)
{
    *types = 0;
    return ek__is_database(path) && (ek__database_look(path, types, NULL) != EK_OK || *types != 0);
}

static bool is_memory_snapshot(const char *path)
{
    ek__file_type type;
    return ek__type_of_content(path, true, &type) && type == EK__FILE_memory_snapshot;
}

bool ek__has_no_events(const char *path)
{
    return is_memory_snapshot(path) || ek__begins_as_part(path);
}

bool ek__is_profiler_table(const char *path)
{
    uint32_t types;
    static const char *const patterns[] = {"*step_trace*.csv",     "*kernel_details*.csv", "*op_summary*.csv",
                                           "*op_statistic*.csv",   "*memory_record*.csv",  "*memory_block*.csv",
                                           "*operator_memory*.csv"};
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++)
        if (fnmatch(patterns[i], path, 0) == 0)
            return true;
    if (ek__has_no_events(path))
        return true;
    return is_profilers_database(path, &types) && types != 0 && !(types & EK__FILE_BIT(EK__FILE_TRACE));
}

ek_run_kind ek_run_kind_of(const char *path)
{
    uint32_t types;
    static const unsigned char mark[] = {0xef, 0xbb, 0xbf};
    if (is_packed_trace(path) || ek__is_profiler_table(path))
        return EK_RUN_TRACE;
    if (ek__is_database(path))
        return is_profilers_database(path, &types) ? EK_RUN_TRACE : EK_RUN_UNKNOWN;
    FILE *file = fopen(path, "rb");
    char *text = malloc(HEAD);
    size_t size = file && text ? fread(text, 1, HEAD, file) : 0, at = 0;
    if (size >= sizeof mark && memcmp(text, mark, sizeof mark) == 0)
        at = sizeof mark;
    while (at < size && ek__is_space((unsigned char)text[at]))
        at++;
    ek_run_kind kind = EK_RUN_UNKNOWN;
    if (at < size && (text[at] == '{' || text[at] == '['))
        kind = kind_of_json(text + at, size - at);
    if (at < size && kind == EK_RUN_UNKNOWN)
        kind = kind_of_text(text + at, size - at);
    /* A launcher's log begins with its settings. */
    if (file && size == HEAD &&
        (kind == EK_RUN_UNKNOWN || kind == EK_RUN_CONFIG || kind == EK_RUN_DRY_RUN || kind == EK_RUN_PLAN)) {
        rewind(file);
        ek_run_kind later = search_log(file);
        kind = later != EK_RUN_UNKNOWN ? later : kind;
    }
    free(text);
    if (file)
        fclose(file);
    return kind;
}
