/* Writes a dry run's memory of every stage: a table for people, the lines of an init file, an object for scripts. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "report/report_internal.h"
#include "report/writers.h"

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

ek_status ek__collected_write_yaml(const ek_collected *collected, FILE *out, ek_error *err)
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

ek_status ek__collected_write_text(const ek_collected *collected, FILE *out, ek_error *err)
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
