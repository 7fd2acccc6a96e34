/* Trying schedules and interleaves one after the other: which ones, with how much time, and which is best. */
#include "auto.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Chunks per stage that `-i auto` tries. */
static const int usual_chunks[] = {1, 2, 3, 4, 6, 8};
enum { N_USUAL = sizeof usual_chunks / sizeof *usual_chunks, MAX_SCHEDULES = 32 };

typedef struct candidate {
    const ek_schedule *schedule;
    int n_chunks;
} candidate;

typedef struct candidates {
    int n, n_schedules, n_chunks;
    const ek_schedule *schedule[MAX_SCHEDULES]; /* what the user allows */
    int chunks[EK_MAX_CHUNKS];
    candidate list[MAX_SCHEDULES * EK_MAX_CHUNKS];
    ek_ranking *ranking;
} candidates;

bool cli_is_open(const char *text)
{
    return strcmp(text, "auto") == 0 || strchr(text, ',');
}

static bool skip(candidates *c, const char *name, const char *reason)
{
    ek_ranking *ranking = c->ranking;
    ek_skipped *grown = realloc(ranking->skipped, ((size_t)ranking->n_skipped + 1) * sizeof *grown);
    if (!grown) {
        cli_error(NULL, "out of memory");
        return false;
    }
    ranking->skipped = grown;
    ek_skipped *last = &grown[ranking->n_skipped++];
    snprintf(last->name, sizeof last->name, "%.63s", name);
    snprintf(last->reason, sizeof last->reason, "%.199s", reason);
    return true;
}

static bool list_schedules(candidates *c, const char *text, const cli_model *model)
{
    if (strcmp(text, "auto") == 0) {
        for (const ek_schedule *const *s = ek_schedules; *s; s++) {
            bool wanted = (*s)->pieces == (model->n_pieces > 1);
            if (wanted && c->n_schedules < MAX_SCHEDULES)
                c->schedule[c->n_schedules++] = *s;
            else if (!skip(c, (*s)->name,
                           (*s)->pieces ? "for sequence pieces (-seq)" : "does not know sequence pieces"))
                return false;
        }
        return true;
    }
    for (const char *at = text;; at++) {
        size_t length = strcspn(at, ",");
        const ek_schedule *schedule = cli_find_schedule(at, length);
        if (!schedule)
            return false;
        if (model->n_pieces > 1 && !schedule->pieces) {
            cli_error(NULL, "--schedule %s does not know sequence pieces", schedule->name);
            return false;
        }
        bool known = false;
        for (int i = 0; i < c->n_schedules; i++)
            known |= c->schedule[i] == schedule;
        if (!known && c->n_schedules < MAX_SCHEDULES)
            c->schedule[c->n_schedules++] = schedule;
        at += length;
        if (!*at)
            return true;
    }
}

static bool list_chunks(candidates *c, const char *text)
{
    bool given[EK_MAX_CHUNKS + 1] = {false};
    if (strcmp(text, "auto") == 0) {
        memcpy(c->chunks, usual_chunks, sizeof usual_chunks);
        c->n_chunks = N_USUAL;
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
            c->chunks[c->n_chunks++] = v;
    return true;
}

static void add(candidates *c, const ek_schedule *schedule, int n_chunks)
{
    c->list[c->n++] = (candidate){schedule, n_chunks};
}

/* Chunks that every layer list allows; a chunk both ways is a position, of which there are p v as well. */
static bool enough_layers(candidates *c, const cli_model *model, const ek_layers *layers, int min_layers, int v)
{
    char name[32], reason[128];
    if ((long)model->n_stages * v * min_layers <= layers->n_layers)
        return true;
    snprintf(name, sizeof name, "-i %d", v);
    snprintf(reason, sizeof reason, "%d layers are too few for %d stages of %d chunks with %d each", layers->n_layers,
             model->n_stages, v, min_layers);
    return !skip(c, name, reason);
}

/* The chunks that a schedule is for, among those allowed. Without -i: the least it takes. */
static bool pair_up(candidates *c, const ek_schedule *schedule, bool any_chunks)
{
    int before = c->n;
    if (any_chunks)
        add(c, schedule, schedule->min_chunks);
    for (int i = 0; i < c->n_chunks; i++)
        if (c->chunks[i] >= schedule->min_chunks && c->chunks[i] <= schedule->max_chunks)
            add(c, schedule, c->chunks[i]);
    if (c->n > before)
        return true;
    char reason[96];
    if (schedule->min_chunks == schedule->max_chunks)
        snprintf(reason, sizeof reason, "is for -i %d", schedule->min_chunks);
    else
        snprintf(reason, sizeof reason, "is for -i %d to %d", schedule->min_chunks, schedule->max_chunks);
    return skip(c, schedule->name, reason);
}

static bool list_candidates(candidates *c, const cli_open *open, const cli_model *model, const ek_layers *layers,
                            int min_layers)
{
    bool any_chunks = !open->chunks && !model->n_chunks;
    if (open->schedules && !list_schedules(c, open->schedules, model))
        return false;
    if (open->chunks && !list_chunks(c, open->chunks))
        return false;
    if (model->n_chunks && !open->chunks)
        c->chunks[c->n_chunks++] = model->n_chunks;
    int kept = 0;
    for (int i = 0; i < c->n_chunks; i++)
        if (enough_layers(c, model, layers, min_layers, c->chunks[i]))
            c->chunks[kept++] = c->chunks[i];
    c->n_chunks = kept;
    if (open->schedules || model->schedule) {
        if (!open->schedules)
            c->schedule[c->n_schedules++] = model->schedule;
        for (int i = 0; i < c->n_schedules; i++)
            if (!pair_up(c, c->schedule[i], any_chunks))
                return false;
        return true;
    }
    for (int i = 0; i < c->n_chunks; i++)
        add(c, cli_model_schedule(model, c->chunks[i], model->less_memory), c->chunks[i]);
    return true;
}

/* Is `a` the better answer? Ties go to the one tried first. */
static bool better(const ek_balance_result *a, const ek_balance_result *b)
{
    bool fits = a->status != EK_BALANCE_INFEASIBLE, other = b->status != EK_BALANCE_INFEASIBLE;
    if (fits != other)
        return fits;
    return fits ? a->step_time < b->step_time : a->smallest_limit_mb < b->smallest_limit_mb;
}

static bool rank(const ek_layers *layers, const candidate *from, const ek_order *order, const ek_balance_result *result,
                 ek_ranked *out)
{
    *out = (ek_ranked){.schedule = from->schedule,
                       .n_chunks = from->n_chunks,
                       .status = result->status,
                       .step_time = INFINITY,
                       .lower_bound = result->lower_bound > 0 ? result->lower_bound : NAN,
                       .smallest_limit_mb = result->smallest_limit_mb};
    if (result->status == EK_BALANCE_INFEASIBLE)
        return true;
    ek_timeline timeline;
    ek_error err;
    /* For the peak alone, which transfers do not change. */
    if (ek_simulate(order, &result->plan, layers, NULL, &timeline, &err)) {
        cli_error(NULL, "%s", err.message);
        return false;
    }
    out->step_time = result->step_time;
    out->peak_memory_mb = ek_timeline_peak(&timeline, &out->peak_stage);
    ek_timeline_clear(&timeline);
    return true;
}

static int by_step(const void *a, const void *b)
{
    const ek_ranked *x = a, *y = b;
    if (x->step_time != y->step_time)
        return x->step_time < y->step_time ? -1 : 1;
    if (x->smallest_limit_mb != y->smallest_limit_mb)
        return x->smallest_limit_mb < y->smallest_limit_mb ? -1 : 1;
    return x->peak_memory_mb < y->peak_memory_mb ? -1 : x->peak_memory_mb > y->peak_memory_mb;
}

static bool try_all(candidates *c, const cli_model *model, const ek_layers *layers, cli_search *search, cli_choice *out)
{
    for (int i = 0; i < c->n; i++) {
        const candidate *now = &c->list[i];
        ek_error err;
        ek_order *order = NULL;
        ek_balance_result result = {0};
        ek_shape shape = cli_model_shape(model, model->n_stages, now->n_chunks, model->n_micro_batches);
        snprintf(search->label, sizeof search->label, "%s -i %d (%d of %d)", now->schedule->name, now->n_chunks, i + 1,
                 c->n);
        char name[EK_NAME_SIZE];
        snprintf(name, sizeof name, "%.40s -i %d", now->schedule->name, now->n_chunks);
        if (cli_interrupted) {
            if (!skip(c, name, "interrupted before it was tried"))
                return false;
            continue;
        }
        if (cli_search_run(search, layers, now->schedule, &shape, &model->comm, cli_search_left(search) / (c->n - i),
                           &order, &result, &err)) {
            if (!skip(c, name, err.message))
                return false;
            continue;
        }
        bool fine = rank(layers, now, order, &result, &out->ranking.ranked[out->ranking.n]);
        out->ranking.n += fine;
        if (fine && (!out->schedule || better(&result, &out->result))) {
            ek_order_free(out->order);
            ek_balance_result_clear(&out->result);
            out->schedule = now->schedule;
            out->n_chunks = now->n_chunks;
            out->order = order;
            out->result = result;
        } else {
            ek_order_free(order);
            ek_balance_result_clear(&result);
        }
        if (!fine)
            return false;
    }
    return true;
}

bool cli_choose(const cli_open *open, const cli_model *model, const ek_layers *layers, cli_search *search,
                cli_choice *out)
{
    *out = (cli_choice){0};
    candidates *c = calloc(1, sizeof *c);
    if (!c) {
        cli_error(NULL, "out of memory");
        return false;
    }
    c->ranking = &out->ranking;
    bool fine = list_candidates(c, open, model, layers, search->options.min_layers);
    out->ranking.ranked = fine ? calloc((size_t)c->n + 1, sizeof *out->ranking.ranked) : NULL;
    if (fine && !out->ranking.ranked) {
        cli_error(NULL, "out of memory");
        fine = false;
    }
    fine = fine && try_all(c, model, layers, search, out);
    free(c);
    if (fine && !out->schedule) {
        cli_error(NULL, "no schedule and interleave can be tried:");
        for (int i = 0; i < out->ranking.n_skipped; i++)
            cli_note("%s: %s", out->ranking.skipped[i].name, out->ranking.skipped[i].reason);
        fine = false;
    }
    if (fine)
        qsort(out->ranking.ranked, (size_t)out->ranking.n, sizeof *out->ranking.ranked, by_step);
    else
        cli_choice_clear(out);
    return fine;
}

void cli_choice_clear(cli_choice *choice)
{
    ek_order_free(choice->order);
    ek_balance_result_clear(&choice->result);
    free(choice->ranking.ranked);
    free(choice->ranking.skipped);
    *choice = (cli_choice){0};
}
