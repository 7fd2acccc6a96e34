/* Reads lists of schedules and chunks from the command line, and prints the messages of a ranking. */
#include "auto.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_SCHEDULES = 32 };

bool cli_is_open(const char *text)
{
    return strcmp(text, "auto") == 0 || strchr(text, ',');
}

/* A,B,...; words beyond the array's size are repetitions. */
static bool list_schedules(const char *text, const cli_model *model, const ek_schedule *schedule[MAX_SCHEDULES], int *n)
{
    for (const char *at = text;; at++) {
        size_t length = strcspn(at, ",");
        const ek_schedule *one = cli_find_schedule(at, length);
        if (!one)
            return false;
        if (model->n_pieces > 1 && !one->pieces) {
            cli_error(NULL, "--schedule %s does not know sequence pieces", one->name);
            return false;
        }
        bool known = false;
        for (int i = 0; i < *n; i++)
            known |= schedule[i] == one;
        if (!known && *n < MAX_SCHEDULES)
            schedule[(*n)++] = one;
        at += length;
        if (!*at)
            return true;
    }
}

static bool list_chunks(const char *text, int chunks[EK_MAX_CHUNKS], int *n)
{
    bool given[EK_MAX_CHUNKS + 1] = {false};
    if (strcmp(text, "auto") == 0) {
        memcpy(chunks, ek_usual_chunks, EK_N_USUAL_CHUNKS * sizeof *ek_usual_chunks);
        *n = EK_N_USUAL_CHUNKS;
        return true;
    }
    for (const char *at = text;; at++) {
        char *end;
        long v = strtol(at, &end, 10);
        if (end == at || (*end && *end != ',') || v < 1 || v > EK_MAX_CHUNKS) {
            cli_error(NULL, "-i must be whole numbers from 1 to %d with commas between them, or auto (got '%s')",
                      EK_MAX_CHUNKS, text);
            return false;
        }
        given[v] = true;
        at = end;
        if (!*at)
            break;
    }
    for (int v = 1; v <= EK_MAX_CHUNKS; v++)
        if (given[v])
            chunks[(*n)++] = v;
    return true;
}

static void begin_candidate(void *user, const ek_ranking_candidate *candidate)
{
    cli_search *search = user;
    snprintf(search->label, sizeof search->label, "%s -i %d (%d of %d)", candidate->schedule->name, candidate->n_chunks,
             candidate->index + 1, candidate->n);
    search->run_limit = candidate->time_limit;
}

static bool rank(const ek_ranking_input *input, cli_search *search, ek_choice *out)
{
    ek_error err;
    cli_search_begin(search);
    ek_status status = ek_rank_schedules(input, out, &err);
    cli_search_end(search);
    if (status) {
        cli_error(NULL, "%s", err.message);
        return false;
    }
    if (out->schedule)
        return true;
    cli_error(NULL, "no schedule and interleave can be tried:");
    for (int i = 0; i < out->ranking.n_skipped; i++)
        cli_note("%s: %s", out->ranking.skipped[i].name, out->ranking.skipped[i].reason);
    ek_choice_clear(out);
    return false;
}

bool cli_choose(const cli_open *open, const cli_model *model, const ek_layers *layers, cli_search *search,
                ek_choice *out)
{
    const ek_schedule *schedule[MAX_SCHEDULES];
    int chunks[EK_MAX_CHUNKS], n_schedules = 0, n_chunks = 0;
    bool every = open->schedules && strcmp(open->schedules, "auto") == 0;
    *out = (ek_choice){0};
    if (open->schedules && !every && !list_schedules(open->schedules, model, schedule, &n_schedules))
        return false;
    if (!open->schedules && model->schedule)
        schedule[n_schedules++] = model->schedule;
    if (open->chunks && !list_chunks(open->chunks, chunks, &n_chunks))
        return false;
    if (!open->chunks && model->n_chunks)
        chunks[n_chunks++] = model->n_chunks;
    const ek_balance_lists lists = {cli_cluster_fill, cli_cluster_release, &search->cluster};
    ek_ranking_input input = {.layers = layers,
                              .n_stages = model->n_stages,
                              .n_micro_batches = model->n_micro_batches,
                              .n_pieces = model->n_pieces,
                              .every_schedule = every,
                              .n_schedules = n_schedules,
                              .schedule = schedule,
                              .n_chunk_counts = n_chunks,
                              .chunk_counts = chunks,
                              .less_memory = model->less_memory == 1,
                              .options = cli_search_options(search, &model->comm),
                              .lists = &lists,
                              .next = begin_candidate,
                              .user = search};
    return rank(&input, search, out);
}
