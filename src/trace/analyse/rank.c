/* Rank queries shared by the comparisons and the diagnosis. */
#include "trace/rank.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/analyse/analysis.h"

ek__who ek__who_is(const ek_trace_rank *rank)
{
    ek__who w;
    if (rank->rank == EK_TRACE_NO_RANK && rank->place >= 0)
        snprintf(w.text, sizeof w.text, "Trace %d", rank->place);
    else if (rank->rank == EK_TRACE_NO_RANK)
        snprintf(w.text, sizeof w.text, "The trace");
    else if (rank->stage >= 0)
        snprintf(w.text, sizeof w.text, "Rank %d (stage %d)", rank->rank, rank->stage);
    else
        snprintf(w.text, sizeof w.text, "Rank %d", rank->rank);
    return w;
}

static int by_gain(const void *a, const void *b)
{
    const ek_trace_finding *p = a, *q = b;
    if (p->gain_ns != q->gain_ns)
        return p->gain_ns < q->gain_ns ? 1 : -1;                /* an unknown time is the least */
    if (p->share != q->share && (p->share > 0 || q->share > 0)) /* an unknown share is the least, too */
        return p->share > q->share || isnan(q->share) ? -1 : 1;
    return strcmp(p->id, q->id);
}

void ek__findings_sort(ek_trace_run *run)
{
    if (run->n_findings > 1)
        qsort(run->finding, (size_t)run->n_findings, sizeof *run->finding, by_gain);
}

double ek__recomputation(const ek_trace_rank *rank)
{
    const ek_trace_layers *layers = &rank->layers;
    double sum = 0;
    for (int i = 0; i < layers->n; i++)
        if (layers->layer[i].recompute.n > 0)
            sum += layers->layer[i].recompute.busy_mean * (double)layers->layer[i].recompute.n;
    if (sum > 0)
        return sum / (layers->n_steps > 0 ? layers->n_steps : 1);
    if (rank->recompute.n_regions == 0 || rank->recompute.recompute.busy == EK_TRACE_UNKNOWN)
        return 0;
    return (double)rank->recompute.recompute.busy / (rank->n_steps > 0 ? rank->n_steps : 1);
}

/* ---- steps ---- */

bool ek__has_window(const ek_trace_step *step)
{
    return !step->warm_up && !step->from_table && !step->average && step->start != EK_TRACE_UNKNOWN &&
           step->end > step->start;
}

static bool has_windows(const ek_trace_rank *rank)
{
    for (int i = 0; i < rank->n_steps; i++)
        if (ek__has_window(&rank->step[i]))
            return true;
    return false;
}

/* Tables may list many more steps than have events: an event's time is not spread over those. */
static bool is_counted(const ek_trace_rank *rank, const ek_trace_step *step)
{
    return has_windows(rank) ? ek__has_window(step) : !step->warm_up;
}

int ek__counted_steps(const ek_trace_rank *rank)
{
    int n = 0;
    bool windows = has_windows(rank);
    for (int i = 0; i < rank->n_steps; i++)
        n += windows ? ek__has_window(&rank->step[i]) : !rank->step[i].warm_up;
    return n > 0 ? n : 1;
}

int ek__all_steps(const ek_trace_rank *rank)
{
    return rank->n_steps > 0 ? rank->n_steps : 1;
}

double ek__step_mean_of(const ek_trace_rank *rank, int64_t (*time)(const ek_trace_step *step))
{
    double sum = 0;
    int n = 0;
    for (int i = 0; i < rank->n_steps; i++) {
        int64_t value = rank->step[i].warm_up ? EK_TRACE_UNKNOWN : time(&rank->step[i]);
        n += value != EK_TRACE_UNKNOWN;
        sum += value == EK_TRACE_UNKNOWN ? 0 : (double)value;
    }
    return n > 0 ? sum / n : (double)NAN;
}

int64_t ek__step_start_of(const ek_trace_step *step)
{
    bool host_first = step->start == EK_TRACE_UNKNOWN || step->host_start < step->start;
    return step->host_start != EK_TRACE_UNKNOWN && host_first ? step->host_start : step->start;
}

ek__step_cursor ek__step_cursor_of(const ek_trace_rank *rank)
{
    return (ek__step_cursor){rank, rank->n_steps - 1};
}

/* Steps come in order of their begins; steps without times may be anywhere. Up to the first that begins later, then
 * down to the last that does not. */
static const ek_trace_step *step_before(ek__step_cursor *cursor, int64_t time)
{
    const ek_trace_rank *rank = cursor->rank;
    for (; cursor->index < rank->n_steps - 1; cursor->index++) {
        int64_t start = ek__step_start_of(&rank->step[cursor->index + 1]);
        if (start != EK_TRACE_UNKNOWN && start > time)
            break;
    }
    for (; cursor->index >= 0; cursor->index--) {
        int64_t start = ek__step_start_of(&rank->step[cursor->index]);
        if (start != EK_TRACE_UNKNOWN && start <= time)
            return &rank->step[cursor->index];
    }
    return NULL;
}

static const ek_trace_step *step_at(const ek_trace_rank *rank, int64_t time)
{
    ek__step_cursor cursor = ek__step_cursor_of(rank);
    return step_before(&cursor, time);
}

int ek__step_index_before(ek__step_cursor *cursor, int64_t time)
{
    const ek_trace_step *step = step_before(cursor, time);
    return step ? (int)(step - cursor->rank->step) : -1;
}

bool ek__after_warm_up(ek__step_cursor *cursor, int64_t time)
{
    const ek_trace_step *step = step_before(cursor, time);
    return !step || !step->warm_up;
}

bool ek__in_counted_step(const ek_trace_rank *rank, int64_t time)
{
    const ek_trace_step *step = step_at(rank, time);
    return step ? is_counted(rank, step) : rank->n_steps == 0;
}

const char *ek__step_name_at(const ek_trace_rank *rank, int64_t time)
{
    const ek_trace_step *step = step_at(rank, time);
    return step && step->name && step->name[0] ? step->name : NULL;
}

/* Windows of steps begin with the host, so that the idle time before the first kernel may exceed a step that was
 * measured on the device. */
static double most_idle(const ek_trace_rank *rank)
{
    double computing = rank->mean.computing == EK_TRACE_UNKNOWN ? 0 : (double)rank->mean.computing;
    return fmax(0, ek__rank_step_ns(rank) - computing);
}

static int64_t data_idle(const ek_trace_step *step)
{
    return step->data_loading_idle;
}

double ek__data_wait(const ek_trace_rank *rank)
{
    double mean = ek__step_mean_of(rank, data_idle);
    return mean > 0 ? fmin(mean, most_idle(rank)) : 0;
}

int ek_trace_rank_anatomy(const ek_trace_rank *rank, double *ns)
{
    double sum[EK_N_TRACE_ACTIVITIES] = {0};
    int n = 0;
    for (int i = 0; i < rank->n_steps; i++) {
        const ek_trace_step *step = &rank->step[i];
        if (step->warm_up || step->activity[0] == EK_TRACE_UNKNOWN)
            continue;
        n++;
        for (int a = 0; a < EK_N_TRACE_ACTIVITIES; a++)
            sum[a] += (double)step->activity[a];
    }
    if (n == 0)
        return 0;
    double idle = (double)ek_trace_rank_step(rank).ns;
    for (int a = 0; a < EK_N_TRACE_ACTIVITIES; a++) {
        ns[a] = sum[a] / n;
        idle -= ns[a];
    }
    ns[EK_TRACE_IDLE] += idle > 0 ? idle : 0;
    return n;
}

/* ---- the host ---- */

/* A gap that begins between two steps counts from the start of the later one. */
static int64_t gap_start(const ek_trace_host_gap *gap, const ek_trace_step *step)
{
    int64_t from = step ? ek__step_start_of(step) : INT64_MIN;
    return gap->start > from ? gap->start : from;
}

int64_t ek__host_gap_start(const ek_trace_rank *rank, const ek_trace_host_gap *gap)
{
    return ek__in_counted_step(rank, gap->end) ? gap_start(gap, step_at(rank, gap->end)) : gap->end;
}

/* Gaps come by time: steps are scanned once, from the last gap back. */
double ek__host_late(const ek_trace_rank *rank, const char *cause)
{
    double sum = 0;
    ek__step_cursor cursor = ek__step_cursor_of(rank);
    for (int i = rank->dispatch.n_gaps; i-- > 0;) {
        const ek_trace_host_gap *gap = &rank->dispatch.gap[i];
        if (cause ? strcmp(gap->cause, cause) != 0 : strcmp(gap->cause, "data_loading") == 0)
            continue;
        int64_t from = gap->end;
        const ek_trace_step *step = step_before(&cursor, gap->end);
        if (step ? is_counted(rank, step) : rank->n_steps == 0)
            from = gap_start(gap, step);
        sum += (double)(gap->end - from);
    }
    return fmin(sum / ek__counted_steps(rank), most_idle(rank));
}

/* ---- exposed communication ---- */

ek__exposure ek__collective_exposure(const ek_trace_collective *c)
{
    ek__exposure e = {.total = (double)c->duration, .count = 1};
    e.exposed = c->exposed == EK_TRACE_UNKNOWN ? 0 : (double)c->exposed;
    if (c->transit == EK_TRACE_UNKNOWN)
        e.unknown = e.exposed;
    else
        e.transfer = fmin(e.exposed, (double)c->transit);
    e.wait = e.exposed - e.transfer - e.unknown;
    e.at_most = c->transit != EK_TRACE_UNKNOWN && c->at_most;
    return e;
}

bool ek__collective_counts(const ek_trace_rank *rank, const ek_trace_collective *c)
{
    return c->step >= 0 && c->step < rank->n_steps ? !rank->step[c->step].warm_up : rank->n_steps == 0;
}

static void add_exposure(ek__exposure *sum, const ek__exposure *one)
{
    sum->exposed += one->exposed;
    sum->transfer += one->transfer;
    sum->wait += one->wait;
    sum->unknown += one->unknown;
    sum->total += one->total;
    sum->count += one->count;
    sum->at_most |= one->at_most;
}

static ek__exposure per_step(const ek_trace_rank *rank, ek__exposure e)
{
    double n = ek__counted_steps(rank);
    e.exposed /= n;
    e.transfer /= n;
    e.wait /= n;
    e.unknown /= n;
    e.total /= n;
    e.count /= n;
    return e;
}

/* Tables contain the exposed share of all communication and the time of all transfers, but not the transfers in the
 * exposed part: at most all of them are. Receives, where the table has them separately, are pipeline traffic. */
static ek__exposure of_tables(const ek_trace_rank *rank)
{
    ek__exposure e = {0};
    double not_overlapped = 0, transit = 0;
    int n_steps = 0;
    for (int i = 0; i < rank->n_steps; i++) {
        const ek_trace_step *s = &rank->step[i];
        if (s->warm_up || s->own.communication_not_overlapped == EK_TRACE_UNKNOWN)
            continue;
        int64_t receive = s->receive_exposed != EK_TRACE_UNKNOWN ? s->receive_exposed : s->bubble;
        not_overlapped += (double)s->own.communication_not_overlapped;
        not_overlapped -= receive == EK_TRACE_UNKNOWN ? 0 : (double)receive;
        n_steps++;
    }
    for (int i = 0; i < rank->communication.n_comm_sums; i++) {
        const ek_trace_comm_sum *s = &rank->communication.comm_sum[i];
        if (s->p2p)
            continue;
        e.count += (double)s->count;
        e.total += s->elapse_ms * 1e6;
        transit += s->transit_ms * 1e6;
    }
    if (n_steps == 0 || !(not_overlapped > 0))
        return e;
    e.exposed = not_overlapped;
    if (e.count > 0)
        e.transfer = fmin(e.exposed, transit);
    else
        e.unknown = e.exposed;
    e.wait = e.exposed - e.transfer - e.unknown;
    return per_step(rank, e);
}

void ek__rank_exposures(const ek_trace_rank *rank, ek__exposure *of_sum)
{
    const ek_trace_communication *c = &rank->communication;
    for (int i = 0; i < c->n_sums; i++)
        of_sum[i] = (ek__exposure){0};
    for (int i = 0; i < c->n_collectives; i++) {
        const ek_trace_collective *one = &c->collective[i];
        if (one->sum < 0 || one->sum >= c->n_sums || !ek__collective_counts(rank, one))
            continue;
        ek__exposure e = ek__collective_exposure(one);
        add_exposure(&of_sum[one->sum], &e);
    }
    for (int i = 0; i < c->n_sums; i++)
        of_sum[i] = per_step(rank, of_sum[i]);
}

static void scale(ek__exposure *e, double factor)
{
    e->exposed *= factor;
    e->transfer *= factor;
    e->wait *= factor;
    e->unknown *= factor;
}

ek__exposure ek__rank_exposure(const ek_trace_rank *rank)
{
    const ek_trace_communication *c = &rank->communication;
    ek__exposure all = {0}, transfers = {0};
    bool timeline = false;
    for (int i = 0; i < c->n_collectives; i++) {
        const ek_trace_collective *one = &c->collective[i];
        timeline |= one->exposed != EK_TRACE_UNKNOWN;
        if (!ek__collective_counts(rank, one))
            continue;
        ek__exposure e = ek__collective_exposure(one);
        add_exposure(one->p2p ? &transfers : &all, &e);
    }
    if (!timeline)
        return of_tables(rank);
    /* Several at one time count once. */
    all = per_step(rank, all);
    double sum = all.exposed + per_step(rank, transfers).exposed;
    double both = (double)rank->mean.communication_not_overlapped;
    if (rank->mean.communication_not_overlapped > 0 && sum > both)
        scale(&all, both / sum);
    return all;
}

double ek__rank_step_ns(const ek_trace_rank *rank)
{
    int64_t ns = ek_trace_rank_step(rank).ns;
    return ns == EK_TRACE_UNKNOWN ? 0 : (double)ns;
}
