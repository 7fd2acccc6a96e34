/* What a dry run held on every stage: a table for people, the lines of an init file, an object for scripts. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "report/json.h"
#include "report/report_internal.h"

static int wider(int width, const char *text)
{
    int n = (int)strlen(text);
    return n > width ? n : width;
}

/* ---- YAML ---- */

static void print_usage(const ek_memory_usage *usage, FILE *out)
{
    fprintf(
        out,
        "memory_usage:\n  head_memory: %s\n  tail_memory: %s\n  body_memories:\n    stage_id: %s\n    memories: %s\n",
        usage->head, usage->tail, usage->stage_id, usage->memories);
}

ek_status ek__yaml_collected(const ek_collected *collected, FILE *out, ek_error *err)
{
    if (collected->usage)
        print_usage(collected->usage, out);
    return ek__finish(out, err);
}

/* ---- text ---- */

enum { STAGE, RANK, USED, ACTUAL, FRAGMENTS, SHARE, N_COLUMNS };

static const char *const heading[N_COLUMNS] = {"stage", "rank", "used MB", "actual MB", "fragmentation MB", "%"};

static void cells_of(const ek_stage_log *log, ek__digits cell[N_COLUMNS])
{
    double fragments = log->log.actual_mb - log->log.used_mb;
    cell[STAGE] = ek__fixed(log->stage, 0);
    cell[RANK] = ek__fixed(log->rank, 0);
    cell[USED] = ek__short(log->log.used_mb);
    cell[ACTUAL] = ek__short(log->log.actual_mb);
    cell[FRAGMENTS] = ek__short(fragments);
    cell[SHARE] = ek__fixed(100 * fragments / log->log.used_mb, 1);
}

static void print_round(const ek_round *round, FILE *out)
{
    int width[N_COLUMNS];
    ek__digits cell[N_COLUMNS];
    for (int c = 0; c < N_COLUMNS; c++)
        width[c] = (int)strlen(heading[c]);
    for (int i = 0; i < round->n; i++) {
        cells_of(&round->stage[i], cell);
        for (int c = 0; c < N_COLUMNS; c++)
            width[c] = wider(width[c], cell[c].text);
    }
    for (int c = 0; c < N_COLUMNS; c++)
        fprintf(out, "%*s  ", width[c], heading[c]);
    fputs("log\n", out);
    for (int i = 0; i < round->n; i++) {
        cells_of(&round->stage[i], cell);
        for (int c = 0; c < N_COLUMNS; c++)
            fprintf(out, "%*s  ", width[c], cell[c].text);
        ek__print_name(round->stage[i].path, out);
        fputc('\n', out);
    }
}

ek_status ek__text_collected(const ek_collected *collected, FILE *out, ek_error *err)
{
    const ek_collection *logs = collected->logs;
    for (int r = 0; r < logs->n_rounds; r++) {
        if (logs->n_rounds > 1) {
            fprintf(out, "%sround %d: ", r > 0 ? "\n" : "", r + 1);
            ek__print_name(logs->round[r].source, out);
            fputc('\n', out);
        }
        print_round(&logs->round[r], out);
    }
    if (collected->usage) {
        fprintf(out, "\nfor the init file (%s peaks):\n", collected->which == EK_PEAK_USED ? "used" : "actual");
        print_usage(collected->usage, out);
    }
    return ek__finish(out, err);
}

/* ---- JSON ---- */

static json_t *stage_object(ek__json *b, const ek_stage_log *log)
{
    json_t *object = json_object();
    ek__json_put(b, object, "stage", json_integer(log->stage));
    ek__json_put(b, object, "rank", json_integer(log->rank));
    ek__json_put(b, object, "used_mb", ek__json_number(log->log.used_mb));
    ek__json_put(b, object, "actual_mb", ek__json_number(log->log.actual_mb));
    ek__json_put(b, object, "device_mb", ek__json_number(log->log.device_mb));
    ek__json_put(b, object, "framework_mb", ek__json_number(log->log.framework_mb));
    ek__json_put(b, object, "log", log->no_log ? json_null() : ek__json_string(log->path));
    if (log->log.n_lines == 0)
        return object;
    json_t *lines = json_array();
    for (int i = 0; i < log->log.n_lines; i++)
        ek__json_append(b, lines, ek__json_string(log->log.line[i]));
    ek__json_put(b, object, log->log.errors ? "last_errors" : "last_lines", lines);
    return object;
}

static json_t *round_object(ek__json *b, const ek_collected *collected, const ek_round *round)
{
    json_t *object = json_object(), *stages = json_array(), *missing = json_array();
    ek__json_put(b, object, "folder", ek__json_string(round->source));
    for (int i = 0; i < round->n; i++)
        ek__json_append(b, stages, stage_object(b, &round->stage[i]));
    for (int s = 0; s < collected->logs->n_stages; s++)
        if (isnan(ek_stage_log_peak(ek_round_find(round, s), collected->which)))
            ek__json_append(b, missing, json_integer(s));
    ek__json_put(b, object, "stages", stages);
    ek__json_put(b, object, "without_peak", missing);
    return object;
}

/* The values are YAML's flow style without words: JSON. */
static json_t *parsed(const char *text)
{
    return json_loads(text, JSON_DECODE_ANY, NULL);
}

static json_t *usage_object(ek__json *b, const ek_memory_usage *usage)
{
    if (!usage)
        return json_null();
    json_t *object = json_object(), *body = json_object();
    ek__json_put(b, body, "stage_id", parsed(usage->stage_id));
    ek__json_put(b, body, "memories", parsed(usage->memories));
    ek__json_put(b, object, "head_memory", parsed(usage->head));
    ek__json_put(b, object, "tail_memory", parsed(usage->tail));
    ek__json_put(b, object, "body_memories", body);
    return object;
}

ek_status ek__json_collected(const ek_collected *collected, FILE *out, ek_error *err)
{
    ek__json b = {false};
    json_t *root = json_object(), *rounds = json_array();
    ek__json_put(&b, root, "version", json_integer(EK__JSON_VERSION));
    ek__json_put(&b, root, "which", ek__json_string(collected->which == EK_PEAK_USED ? "used" : "actual"));
    for (int r = 0; r < collected->logs->n_rounds; r++)
        ek__json_append(&b, rounds, round_object(&b, collected, &collected->logs->round[r]));
    ek__json_put(&b, root, "rounds", rounds);
    ek__json_put(&b, root, "memory_usage", usage_object(&b, collected->usage));
    return ek__json_finish(&b, root, out, err);
}
