/* Classifies SendRecv kernels as those of a pipeline or of an all-to-all where no trace by itself allows it. All ranks
 * run one program, so the verdict is one for all of them. It is a pipeline's when ranks are of several stages, when
 * their numbers a step differ much, or when one computes next to nothing before its first: it waits for the stage
 * before it. It is an all-to-all's when all have equally many, compute before the first, and the k-th ends on three
 * ranks or more at once (on both, where two are all). Else it stays unclear: the exchanges then count as exposed
 * communication, and a note gives the reason. Clocks of hosts leave it unclear, too, when their difference exceeds the
 * distance of exchanges. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "trace/analyse/analysis.h"

static const double least_lead = 0.05; /* of the mean computing before an exchange */
static const double most_uneven = 1.2; /* most over fewest exchanges a step */
static const double mostly = 0.9;      /* of the exchanges end together */

/* ---- which ---- */

static int64_t count_unclear(const ek_trace_rank *rank)
{
    int64_t n = 0;
    for (int i = 0; i < rank->communication.n_collectives; i++)
        n += rank->communication.collective[i].exchange == EK_EXCHANGE_UNCLEAR;
    return n;
}

static double per_step(const ek_trace_rank *rank, int64_t n)
{
    return (double)n / (rank->n_steps > 0 ? rank->n_steps : 1);
}

static bool is_of_several_stages(const ek_trace_options *options, const ek_trace_run *run)
{
    for (int r = 1; r < run->n_ranks; r++)
        if (run->rank[r].stage >= 0 && run->rank[0].stage >= 0 && run->rank[r].stage != run->rank[0].stage)
            return true;
    return options->stages > 1;
}

/* One rank's exchanges. */
typedef struct row {
    int64_t n;
    int64_t *end, *duration; /* [n] */
} row;

static bool end_together(const row *x, const row *y, int64_t k)
{
    int64_t apart = x->end[k] > y->end[k] ? ek__ns_sub(x->end[k], y->end[k]) : ek__ns_sub(y->end[k], x->end[k]);
    int64_t a = x->duration[k], b = y->duration[k];
    return ek__are_one_collective(apart, a < b ? a : b, a < b ? b : a);
}

enum { MAX_COMPARED = 2000 }; /* exchanges of a rank: the first ones are sufficient */

/* Do the k-th exchanges of most ranks end with those of enough others? O(ranks^2 x exchanges). */
static bool end_in_groups(const row *rows, int n_rows)
{
    int64_t n_together = 0, n_all = 0, n = rows[0].n < MAX_COMPARED ? rows[0].n : MAX_COMPARED;
    int least = n_rows < 3 ? n_rows : 3;
    for (int r = 1; r < n_rows; r++)
        n = rows[r].n < n ? rows[r].n : n;
    for (int64_t k = 0; k < n; k++)
        for (int r = 0; r < n_rows; r++) {
            int with = 0;
            for (int s = 0; s < n_rows && with < least; s++)
                with += end_together(&rows[r], &rows[s], k);
            n_together += with >= least;
            n_all++;
        }
    return n_all > 0 && (double)n_together >= mostly * (double)n_all;
}

static bool fill_row(const ek_trace_rank *rank, row *out)
{
    const ek_trace_communication *c = &rank->communication;
    out->end = ek__alloc((size_t)c->n_collectives, sizeof *out->end);
    out->duration = ek__alloc((size_t)c->n_collectives, sizeof *out->duration);
    for (int i = 0; out->end && out->duration && i < c->n_collectives; i++) {
        const ek_trace_collective *one = &c->collective[i];
        if (one->exchange != EK_EXCHANGE_UNCLEAR)
            continue;
        out->end[out->n] = ek__ns_add(one->start, one->duration);
        out->duration[out->n++] = one->duration;
    }
    return out->end && out->duration;
}

/* `rows` [n_ranks], zeroed: of ranks with unclear exchanges. */
static ek_trace_exchange judge(const ek_trace_options *options, const ek_trace_run *run, const row *rows, int n_rows)
{
    double most = 0, fewest = INFINITY, lead = INFINITY;
    for (int r = 0; r < run->n_ranks; r++) {
        const ek_trace_rank *rank = &run->rank[r];
        double n = per_step(rank, count_unclear(rank));
        if (rank->communication.n_collectives == 0)
            continue;
        most = fmax(most, n);
        fewest = fmin(fewest, n);
        if (n > 0)
            lead = fmin(lead, rank->communication.unclear_lead); /* the other one where it is NAN */
    }
    if (is_of_several_stages(options, run) || lead < least_lead || (fewest > 0 && most > most_uneven * fewest))
        return EK_EXCHANGE_P2P;
    return n_rows > 1 && fewest > 0 && end_in_groups(rows, n_rows) ? EK_EXCHANGE_COLLECTIVE : EK_EXCHANGE_UNCLEAR;
}

static ek_status find_verdict(const ek_trace_options *options, const ek_trace_run *run, ek_trace_exchange *out,
                              ek_error *err)
{
    row *rows = ek__alloc((size_t)run->n_ranks, sizeof *rows);
    int n_rows = 0;
    bool fine = rows;
    for (int r = 0; r < run->n_ranks && fine; r++)
        if (count_unclear(&run->rank[r]) > 0)
            fine = fill_row(&run->rank[r], &rows[n_rows++]);
    *out = fine && n_rows > 0 ? judge(options, run, rows, n_rows) : EK_EXCHANGE_NONE;
    for (int i = 0; rows && i < n_rows; i++) {
        free(rows[i].end);
        free(rows[i].duration);
    }
    free(rows);
    return fine ? EK_OK : ek__no_memory(err);
}

/* ---- consequences ---- */

static void move(int64_t *to, int64_t *from)
{
    *to = ek__ns_add(*to, *from);
    *from = 0;
}

static void settle_step(ek_trace_step *step, ek_trace_exchange verdict)
{
    if (step->n_exchanges == EK_TRACE_UNKNOWN)
        return;
    if (verdict == EK_EXCHANGE_P2P && step->n_receives != EK_TRACE_UNKNOWN) {
        step->pipeline_wait = ek__ns_add(step->pipeline_wait, step->exchange_exposed);
        step->own_stage = ek__ns_sub(step->span, step->pipeline_wait);
        move(&step->n_receives, &step->n_exchanges);
        move(&step->receive, &step->exchange);
        move(&step->receive_exposed, &step->exchange_exposed);
    }
    step->n_exchanges = step->exchange = step->exchange_exposed = 0;
}

static void settle(ek_trace_rank *rank, ek_trace_exchange verdict)
{
    ek_trace_communication *c = &rank->communication;
    for (int i = 0; i < c->n_collectives; i++)
        if (c->collective[i].exchange == EK_EXCHANGE_UNCLEAR) {
            c->collective[i].exchange = verdict;
            c->collective[i].p2p = verdict == EK_EXCHANGE_P2P;
        }
    for (int i = 0; i < c->n_sums; i++)
        if (c->sum[i].exchange == EK_EXCHANGE_UNCLEAR) {
            c->sum[i].exchange = verdict;
            c->sum[i].p2p = verdict == EK_EXCHANGE_P2P;
        }
    for (int i = 0; i < rank->n_steps; i++)
        settle_step(&rank->step[i], verdict);
}

static ek_status note_unclear(ek_trace_rank *rank, int64_t n, ek_error *err)
{
    return ek__rank_note(rank, err,
                         "%lld SendRecv kernels may belong to a pipeline or to an all-to-all: neither their arguments, "
                         "nor ranges around their launches, nor the other traces decide; they count as exposed "
                         "communication. --receive ncclDevKernel_SendRecv assigns them to a pipeline; traces of three "
                         "or more ranks of the group are usually sufficient",
                         (long long)n);
}

ek_status ek__compare_exchanges(const ek_trace_options *options, ek_trace_run *run, ek_error *err)
{
    ek_trace_exchange verdict;
    ek_status status = find_verdict(options, run, &verdict, err);
    for (int r = 0; r < run->n_ranks && status == EK_OK && verdict != EK_EXCHANGE_NONE; r++) {
        int64_t n = count_unclear(&run->rank[r]);
        if (n > 0 && verdict == EK_EXCHANGE_UNCLEAR)
            status = note_unclear(&run->rank[r], n, err);
        else if (n > 0)
            settle(&run->rank[r], verdict);
    }
    return status;
}
