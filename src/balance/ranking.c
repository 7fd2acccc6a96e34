/* Ranks schedules and numbers of chunks: one ek_balance_arranged() for each candidate with an equal share of the
 * remaining time, then the best answer. */
#include "evenkeel/ranking.h"
#include "evenkeel/layers.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "balance/search.h"
#include "base/error.h"
#include "base/watch.h"

enum { MAX_SCHEDULES = 32 };

static const int ek__usual_chunks[EK_N_USUAL_CHUNKS] = {1, 2, 3, 4, 6, 8};
const int *const ek_usual_chunks = ek__usual_chunks;

typedef struct candidate {
    const ek_schedule *schedule;
    int n_chunks;
} candidate;

typedef struct ranker {
    const ek_ranking_input *input;
    int n, n_schedules, n_chunks;
    const ek_schedule *schedule[MAX_SCHEDULES]; /* allowed schedules */
    int chunks[EK_MAX_CHUNKS];                  /* numbers that leave every chunk enough layers */
    candidate list[MAX_SCHEDULES * EK_MAX_CHUNKS];
    double start;
    ek_choice choice;
} ranker;

static ek_status skip(ranker *r, const char *name, const char *reason, ek_error *err)
{
    ek_ranking *ranking = &r->choice.ranking;
    ek_skipped *grown = realloc(ranking->skipped, ((size_t)ranking->n_skipped + 1) * sizeof *grown);
    if (!grown)
        return ek__no_memory(err);
    ranking->skipped = grown;
    ek_skipped *last = &grown[ranking->n_skipped++];
    snprintf(last->name, sizeof last->name, "%.63s", name);
    snprintf(last->reason, sizeof last->reason, "%.199s", reason);
    return EK_OK;
}

/* ---- candidates ---- */

/* Only one schedule keeps the pieces of a micro-batch in order, and it is made for nothing else. */
static ek_status list_every_schedule(ranker *r, ek_error *err)
{
    ek_status status = EK_OK;
    for (const ek_schedule *const *s = ek_schedules; *s && status == EK_OK; s++) {
        bool wanted = (*s)->pieces == (r->input->n_pieces > 1);
        if (wanted && r->n_schedules < MAX_SCHEDULES)
            r->schedule[r->n_schedules++] = *s;
        else
            status =
                skip(r, (*s)->name, (*s)->pieces ? "for sequence pieces (-seq)" : "does not know sequence pieces", err);
    }
    return status;
}

static void list_given_schedules(ranker *r)
{
    for (int k = 0; k < r->input->n_schedules; k++) {
        bool known = false;
        for (int i = 0; i < r->n_schedules; i++)
            known |= r->schedule[i] == r->input->schedule[k];
        if (!known && r->n_schedules < MAX_SCHEDULES)
            r->schedule[r->n_schedules++] = r->input->schedule[k];
    }
}

/* Chunks that every layer list allows; a chunk both ways is a position, of which there are p v as well. */
static ek_status list_chunks(ranker *r, ek_error *err)
{
    const ek_ranking_input *in = r->input;
    ek_status status = EK_OK;
    for (int i = 0; i < in->n_chunk_counts && status == EK_OK; i++) {
        int v = in->chunk_counts[i];
        char name[32], reason[128];
        if ((long)in->n_stages * v * in->options.min_layers <= in->layers->n_layers) {
            r->chunks[r->n_chunks++] = v;
            continue;
        }
        snprintf(name, sizeof name, "-i %d", v);
        snprintf(reason, sizeof reason, "%d layers are too few for %d stages of %d chunks with %d each",
                 in->layers->n_layers, in->n_stages, v, in->options.min_layers);
        status = skip(r, name, reason, err);
    }
    return status;
}

static void add(ranker *r, const ek_schedule *schedule, int n_chunks)
{
    r->list[r->n++] = (candidate){schedule, n_chunks};
}

/* The numbers of chunks that a schedule is defined for, among those allowed. */
static ek_status pair_up(ranker *r, const ek_schedule *schedule, ek_error *err)
{
    int before = r->n;
    if (r->input->n_chunk_counts == 0)
        add(r, schedule, schedule->min_chunks);
    for (int i = 0; i < r->n_chunks; i++)
        if (r->chunks[i] >= schedule->min_chunks && r->chunks[i] <= schedule->max_chunks)
            add(r, schedule, r->chunks[i]);
    if (r->n > before)
        return EK_OK;
    char reason[96];
    if (schedule->min_chunks == schedule->max_chunks)
        snprintf(reason, sizeof reason, "is for -i %d", schedule->min_chunks);
    else
        snprintf(reason, sizeof reason, "is for -i %d to %d", schedule->min_chunks, schedule->max_chunks);
    return skip(r, schedule->name, reason, err);
}

static ek_status list_candidates(ranker *r, ek_error *err)
{
    const ek_ranking_input *in = r->input;
    ek_status status = in->every_schedule ? list_every_schedule(r, err) : EK_OK;
    if (!in->every_schedule)
        list_given_schedules(r);
    if (status == EK_OK)
        status = list_chunks(r, err);
    for (int i = 0; i < r->n_schedules && status == EK_OK; i++)
        status = pair_up(r, r->schedule[i], err);
    bool by_chunks = !in->every_schedule && in->n_schedules == 0;
    for (int i = 0; i < r->n_chunks && by_chunks && status == EK_OK; i++)
        add(r, ek_schedule_for(r->chunks[i], in->n_pieces, in->less_memory), r->chunks[i]);
    return status;
}

/* ---- trying them ---- */

/* Is `a` the better answer? Ties go to the one tried first. */
static bool better(const ek_balance_result *a, const ek_balance_result *b)
{
    bool fits = a->status != EK_BALANCE_INFEASIBLE, other = b->status != EK_BALANCE_INFEASIBLE;
    if (fits != other)
        return fits;
    return fits ? a->step_time < b->step_time : a->smallest_limit_mb < b->smallest_limit_mb;
}

static ek_status rank(ranker *r, const candidate *from, const ek_order *order, const ek_balance_result *result,
                      ek_error *err)
{
    ek_ranking *ranking = &r->choice.ranking;
    ek_ranked *out = &ranking->ranked[ranking->n];
    *out = (ek_ranked){.schedule = from->schedule,
                       .n_chunks = from->n_chunks,
                       .status = result->status,
                       .step_time = INFINITY,
                       .lower_bound = result->lower_bound > 0 ? result->lower_bound : NAN,
                       .smallest_limit_mb = result->smallest_limit_mb};
    if (result->status != EK_BALANCE_INFEASIBLE) {
        ek_timeline timeline;
        /* Only for the peak, which transfers do not change. */
        ek_status status = ek_simulate(order, &result->plan, r->input->layers, NULL, &timeline, err);
        if (status)
            return status;
        out->step_time = result->step_time;
        out->peak_memory_mb = ek_timeline_peak(&timeline, &out->peak_stage);
        ek_timeline_clear(&timeline);
    }
    ranking->n++;
    return EK_OK;
}

static ek_status balance(const ranker *r, const candidate *one, double seconds, ek_order **order,
                         ek_balance_result *result, ek_error *err)
{
    const ek_ranking_input *in = r->input;
    int pieces = in->n_pieces > 1 ? in->n_pieces : 1;
    const ek_shape shape = {.n_stages = in->n_stages,
                            .n_chunks = one->n_chunks,
                            .n_micro_batches = in->n_micro_batches * pieces,
                            .n_pieces = pieces};
    ek_balance_options options = in->options;
    void *own = NULL;
    options.time_limit = seconds;
    ek_status status = in->lists ? in->lists->fill(in->lists->user, &shape, &options, &own, err) : EK_OK;
    if (status)
        return status;
    status = ek_balance_arranged(in->layers, one->schedule, &shape, &options, order, result, err);
    if (in->lists)
        in->lists->release(own);
    return status;
}

/* Takes order and result over where they are the best so far. */
static void keep_best(ek_choice *best, const candidate *one, ek_order *order, ek_balance_result *result)
{
    if (best->schedule && !better(result, &best->result)) {
        ek_order_free(order);
        ek_balance_result_clear(result);
        return;
    }
    ek_order_free(best->order);
    ek_balance_result_clear(&best->result);
    best->schedule = one->schedule;
    best->n_chunks = one->n_chunks;
    best->order = order;
    best->result = *result;
}

static ek_status try_one(ranker *r, int i, ek_error *err)
{
    const ek_ranking_input *in = r->input;
    const candidate *one = &r->list[i];
    ek_order *order = NULL;
    ek_balance_result result = {0};
    ek_error why = {0};
    char name[EK_NAME_SIZE];
    snprintf(name, sizeof name, "%.40s -i %d", one->schedule->name, one->n_chunks);
    if (ek_interrupted(in->options.interrupt))
        return skip(r, name, "interrupted before it was tried", err);
    double seconds = fmax(in->options.time_limit - (ek__now() - r->start), 0.001) / (r->n - i);
    if (in->next) {
        const ek_ranking_candidate shown = {one->schedule, one->n_chunks, i, r->n, seconds};
        in->next(in->user, &shown);
    }
    if (balance(r, one, seconds, &order, &result, &why))
        return skip(r, name, why.message, err);
    ek_status status = rank(r, one, order, &result, err);
    if (status) {
        ek_order_free(order);
        ek_balance_result_clear(&result);
        return status;
    }
    keep_best(&r->choice, one, order, &result);
    return EK_OK;
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

static ek_status try_all(ranker *r, ek_error *err)
{
    ek_ranking *ranking = &r->choice.ranking;
    ranking->ranked = calloc((size_t)r->n + 1, sizeof *ranking->ranked);
    ek_status status = ranking->ranked ? EK_OK : ek__no_memory(err);
    for (int i = 0; i < r->n && status == EK_OK; i++)
        status = try_one(r, i, err);
    if (status == EK_OK)
        qsort(ranking->ranked, (size_t)ranking->n, sizeof *ranking->ranked, by_step);
    return status;
}

static ek_status check(const ek_ranking_input *in, ek_error *err)
{
    if (in->n_stages < 1 || in->n_stages > EK_MAX_STAGES || in->n_micro_batches < 1 ||
        in->n_micro_batches > EK_MAX_MICRO_BATCHES)
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE,
                        "a ranking needs 1 to %d stages and 1 to %d micro-batches (got %d and %d)", EK_MAX_STAGES,
                        EK_MAX_MICRO_BATCHES, in->n_stages, in->n_micro_batches);
    for (int i = 0; i < in->n_chunk_counts; i++)
        if (in->chunk_counts[i] < (i > 0 ? in->chunk_counts[i - 1] + 1 : 1) || in->chunk_counts[i] > EK_MAX_CHUNKS)
            return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE,
                            "numbers of chunks must be ascending, from 1 to %d (got %d as number %d)", EK_MAX_CHUNKS,
                            in->chunk_counts[i], i + 1);
    for (int i = 0; i < in->n_schedules && !in->every_schedule; i++)
        if (!in->schedule[i])
            return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE,
                            "schedule %d of those to rank is NULL, as of an unknown name", i + 1);
    if (in->n_pieces < 0 || in->n_pieces > EK_MAX_MICRO_BATCHES / in->n_micro_batches)
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE,
                        "sequence pieces of all micro-batches must be 0 to %d (got %d of each of %d)",
                        EK_MAX_MICRO_BATCHES, in->n_pieces, in->n_micro_batches);
    ek_status status = ek_layers_check(in->layers, err);
    return status ? status : ek__balance_options_check(&in->options, in->lists ? 0 : in->n_stages, err);
}

ek_status ek_rank_schedules(const ek_ranking_input *input, ek_choice *out, ek_error *err)
{
    ek_status status = check(input, err);
    if (status)
        return status;
    ranker *r = ek__alloc(1, sizeof *r);
    if (!r)
        return ek__no_memory(err);
    r->input = input;
    r->start = ek__now();
    status = list_candidates(r, err);
    if (status == EK_OK)
        status = try_all(r, err);
    r->choice.result.seconds = ek__now() - r->start;
    if (status == EK_OK)
        *out = r->choice;
    else
        ek_choice_clear(&r->choice);
    free(r);
    return status;
}

void ek_choice_clear(ek_choice *choice)
{
    ek_order_free(choice->order);
    ek_balance_result_clear(&choice->result);
    free(choice->ranking.ranked);
    free(choice->ranking.skipped);
    *choice = (ek_choice){0};
}
