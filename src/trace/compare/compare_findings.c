/* Finds recommended changes for a run: rules over the figures of the analyses, one function each. A rule checks every
 * rank, names the most affected one with figures, the number of other affected ranks, and the setting to change. Gains
 * are upper bounds of the time that a step would be shorter without the cause, so they must not be added up. Missing
 * figures make no finding. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/c_locale.h"
#include "base/error.h"
#include "base/pool.h"
#include "trace/analyse/analysis.h"
#include "trace/rank.h"

/* docs/trace.md lists these; shares are of the step. */
static const double LEAST_HOST = 0.01;          /* idle for the host by one cause, on a rank that is host bound */
static const double LEAST_DATA = 0.02;          /* device idle while the host waits for data */
static const double LEAST_EXPOSED = 0.05;       /* of one kind of collective */
static const double LEAST_WAIT = 0.05;          /* for another stage */
static const double LEAST_REST = 0.10;          /* exposed or idle time without another finding */
static const double LEAST_COPY = 0.05;          /* copies that nothing hides */
static const double LEAST_IMBALANCE = 1.05;     /* slowest over fastest stage */
static const double LEAST_OUTLIERS = 0.01;      /* time lost to executions slower than their kind */
static const double LEAST_RECOMPUTE = 0.05;     /* recomputation */
static const double LEAST_ON_PATH = 0.30;       /* of the critical path, the host */
static const double MORE_ON_PATH = 0.10;        /* and by which it exceeds the device's idle time for it */
static const double LEAST_VOTES = 0.10;         /* of the voted operators to which one rank came last */
static const double LEAST_FRAGMENTATION = 0.20; /* of the reserved memory */
static const double LEAST_FRAGMENT_MB = 1024;
static const double LEAST_LEAK_MB = 64; /* allocated from a step to the end of the trace */
enum { LEAST_VOTE_COUNT = 3 };

typedef struct judge {
    const ek_trace_options *options;
    ek_trace_run *run;
} judge;

/* The rank most affected by a rule. */
typedef struct worst {
    const ek_trace_rank *rank; /* NULL: none */
    double ns;                 /* of a step */
    double share;
    int n; /* ranks hit */
} worst;

static double known(int64_t ns)
{
    return ns == EK_TRACE_UNKNOWN ? 0 : (double)ns;
}

static const ek_trace_breakdown *breakdown(const ek_trace_rank *rank)
{
    return known(rank->mean.total) > 0 || known(rank->mean.computing) > 0 ? &rank->mean : &rank->device;
}

/* 0 where no step has it. */
static double mean_of(const ek_trace_rank *rank, int64_t (*time)(const ek_trace_step *))
{
    double mean = ek__step_mean_of(rank, time);
    return isnan(mean) ? 0 : mean;
}

/* Record a rank on which `ns` of a step are lost; nothing under `least` of the step. */
static void consider(worst *w, const ek_trace_rank *rank, double ns, double least)
{
    double whole = ek__rank_step_ns(rank);
    if (!(whole > 0) || !(ns > least * whole))
        return;
    w->n++;
    if (!w->rank || ns > w->ns) {
        w->rank = rank;
        w->ns = ns;
        w->share = ns / whole;
    }
}

static int64_t whole_ns(double ns)
{
    return isfinite(ns) && ns >= 0 && ns < 9e18 ? (int64_t)ns : EK_TRACE_UNKNOWN;
}

/* -1: of the run, or of a stage. */
static int index_of(const ek_trace_run *run, const ek_trace_rank *rank)
{
    for (int i = 0; i < run->n_ranks; i++)
        if (&run->rank[i] == rank)
            return i;
    return -1;
}

static ek_status add(judge *j, const char *id, const ek_trace_rank *rank, double share, int64_t gain, const char *text,
                     const char *advice, ek_error *err)
{
    ek_trace_run *run = j->run;
    if (!text)
        return ek__no_memory(err);
    ek_trace_finding *list = ek__pool_push(run->pool, run->finding, run->n_findings, sizeof *list);
    if (!list)
        return ek__no_memory(err);
    run->finding = list;
    list[run->n_findings++] = (ek_trace_finding){.id = id,
                                                 .rank = rank ? rank->rank : EK_TRACE_NO_RANK,
                                                 .stage = rank ? rank->stage : -1,
                                                 .at = index_of(run, rank),
                                                 .text = text,
                                                 .advice = advice,
                                                 .share = share,
                                                 .gain_ns = gain};
    return EK_OK;
}

/* ", and 3 more ranks likewise", or nothing. */
static ek__who others(int n)
{
    ek__who w = {""};
    if (n > 1)
        snprintf(w.text, sizeof w.text, "; %d other rank%s likewise", n - 1, n == 2 ? "" : "s");
    return w;
}

/* ---- the host ---- */

static const struct {
    const char *cause, *reason, *advice;
} causes[] = {
    {"compilation", "operators are compiled during the run",
     "Avoid shapes that change between steps, or disable compilation: torch.npu.set_compile_mode(jit_compile=False)."},
    {"synchronization", "it synchronizes with the device after launches",
     "Unset ASCEND_LAUNCH_BLOCKING and CUDA_LAUNCH_BLOCKING, and remove .item(), .cpu() and printing of losses from "
     "the step."},
    {"garbage_collection", "Python collects garbage",
     "Call gc.freeze() after the first step and gc.disable(), and collect explicitly every few hundred steps."},
    {"dispatch", "launching operators takes longer than running them on the device",
     "Use fused operators, graph mode or a larger micro-batch; on Ascend TASK_QUEUE_ENABLE=2 and CPU_AFFINITY_CONF=1."},
};

/* One finding for each cause, as in the diagnosis. Waits for data are the finding data-loading. */
static ek_status find_host_bound(judge *j, ek_error *err)
{
    ek_status status = EK_OK;
    for (size_t c = 0; c < sizeof causes / sizeof *causes && !status; c++) {
        worst w = {0};
        for (int i = 0; i < j->run->n_ranks; i++)
            if (j->run->rank[i].dispatch.is_host_bound)
                consider(&w, &j->run->rank[i], ek__host_late(&j->run->rank[i], causes[c].cause), LEAST_HOST);
        if (w.rank)
            status = add(j, "host-bound", w.rank, w.share, whole_ns(w.ns),
                         ek__pool_format(j->run->pool,
                                         "%s: the device is idle for %.2f ms of a step because the host has not "
                                         "launched the next operator yet: %s%s.",
                                         ek__who_is(w.rank).text, w.ns / 1e6, causes[c].reason, others(w.n).text),
                         causes[c].advice, err);
    }
    return status;
}

static ek_status find_data_loading(judge *j, ek_error *err)
{
    worst w = {0};
    assert(j->run->rank || j->run->n_ranks == 0);
    for (int i = 0; i < j->run->n_ranks; i++)
        consider(&w, &j->run->rank[i], ek__data_wait(&j->run->rank[i]), LEAST_DATA);
    if (w.rank) {
        bool single = false;
        for (int i = 0; i < w.rank->data.n_iterators; i++)
            single |= strstr(w.rank->data.iterator[i].name, "_SingleProcess") != NULL;
        return add(
            j, "data-loading", w.rank, w.share, whole_ns(w.ns),
            ek__pool_format(j->run->pool,
                            "%s: the device is idle for %.2f ms of a step while the host waits for data%s%s.",
                            ek__who_is(w.rank).text, w.ns / 1e6, single ? "; the loader has no worker processes" : "",
                            others(w.n).text),
            single ? "Use worker processes in the data loader: num_workers above 0, persistent_workers and pin_memory."
                   : "Increase num_workers and prefetch_factor, or move work out of the dataset.",
            err);
    }
    for (int i = 0; i < j->run->n_ranks; i++)
        if (j->run->rank[i].data.near_empty_queue)
            return add(
                j, "data-loading", &j->run->rank[i], NAN, EK_TRACE_UNKNOWN,
                ek__pool_format(j->run->pool,
                                "%s: the last queue of the data pipeline is under 10 %% full on average: training "
                                "waits for data.",
                                ek__who_is(&j->run->rank[i]).text),
                "Increase num_parallel_workers of the slowest operator of the pipeline, or prefetch_size.", err);
    return EK_OK;
}

/* ---- communication ---- */

/* One kind of collective on one rank; sum -1: all of them. */
typedef struct exposed {
    const ek_trace_rank *rank; /* NULL: none */
    int sum;
    ek__exposure of;
} exposed;

/* The rank that `x` waits for. */
typedef struct late {
    const ek_trace_rank *rank; /* NULL: not among these */
    int place;                 /* in the group, where the waits themselves determine it; -1 */
    double ns;                 /* of a step */
    int n_here, n_group;       /* ranks of the group; n_group 0: not known */
} late;

static bool is_in(const exposed *x, const ek_trace_collective *c)
{
    return ek__collective_counts(x->rank, c) && (x->sum >= 0 ? c->sum == x->sum : !c->p2p);
}

/* The rank that most of the waiting is for. `wait` [n_ranks], zeroed. */
static late late_of(const judge *j, const exposed *x, double *wait)
{
    const ek_trace_communication *comm = &x->rank->communication;
    late l = {.place = -1};
    double away = 0, most = 0;
    for (int i = 0; i < comm->n_collectives; i++) {
        const ek_trace_collective *c = &comm->collective[i];
        ek__exposure e = ek__collective_exposure(c);
        if (!is_in(x, c))
            continue;
        l.n_here = c->n_here;
        l.n_group = c->n_group;
        if (c->last >= 0 && c->last < j->run->n_ranks)
            wait[c->last] += e.wait;
        else
            away += e.wait;
        if (c->last < 0 && c->last_in_group >= 0 && e.wait > most) {
            most = e.wait;
            l.place = c->last_in_group;
        }
    }
    int n_steps = ek__counted_steps(x->rank);
    for (int r = 0; r < j->run->n_ranks; r++)
        if (wait[r] > away && wait[r] / n_steps > l.ns) {
            l.rank = &j->run->rank[r];
            l.ns = wait[r] / n_steps;
        }
    return l;
}

/* The late rank, as a sentence; "" where there is next to no waiting. */
static const char *late_text(const judge *j, const exposed *x, double *wait)
{
    late l = late_of(j, x, wait);
    ek__pool *pool = j->run->pool;
    if (!(x->of.wait > x->of.transfer) || !(x->of.wait > LEAST_EXPOSED * ek__rank_step_ns(x->rank)))
        return "";
    if (l.rank)
        return ek__pool_format(pool, " %s is last: it causes %.2f ms of the waiting.", ek__who_is(l.rank).text,
                               l.ns / 1e6);
    if (l.place >= 0)
        return ek__pool_format(pool, " Its longest waits are for the rank in place %d of the group%s.", l.place,
                               l.n_group > 0 && l.n_here >= l.n_group ? "" : ": add the trace of that rank");
    if (l.n_group > l.n_here)
        return ek__pool_format(pool,
                               " The last rank is not among the traces, which have %d of the %d ranks of the group: "
                               "add those of the others.",
                               l.n_here, l.n_group);
    return " The last rank is not among the traces: add those of the other ranks of the group.";
}

/* "waits for other ranks 95.93 ms, transfer 4.04 ms", with the uncertain parts. */
static const char *split_text(const judge *j, const exposed *x)
{
    const ek__exposure *e = &x->of;
    bool kineto = x->rank->producer == EK_PRODUCER_KINETO;
    const char *how =
        kineto ? "determined by the traces of all ranks of the group"
               : "determined by communication.json (profiler level 1 or above) or the traces of all ranks of the group";
    if (!(e->unknown < e->exposed))
        return ek__pool_format(j->run->pool, "the part that waits for other ranks is unknown; %s", how);
    const char *rest = e->unknown > 0 ? ek__pool_format(j->run->pool, ", unknown %.2f ms; %s", e->unknown / 1e6, how)
                       : e->at_most   ? "; more of it may wait for ranks without a trace"
                                      : "";
    if (!rest)
        return NULL;
    return ek__pool_format(j->run->pool, "waits for other ranks %s%.2f ms, transfer %s%.2f ms%s",
                           e->at_most ? "at least " : "", e->wait / 1e6, e->at_most ? "at most " : "",
                           e->transfer / 1e6, rest);
}

static const char *exposed_advice(const ek__exposure *e)
{
    if (e->wait > e->transfer + e->unknown)
        return "Overlapping does not shorten waiting. Find the reason of the late rank: more work than the others (see "
               "stage-imbalance and compute-gap), a slow device, host or data loader.";
    if (!(e->unknown < e->exposed))
        return "First determine whether it waits. Only the transfer can be overlapped with computing (gradient "
               "buckets, overlap_grad_reduce, parallel optimizer overlap).";
    return "Overlap it with computing (gradient buckets, overlap_grad_reduce, parallel optimizer overlap), send fewer "
           "and larger messages, or choose a layout with this group within a node.";
}

/* Of all collectives together. */
static const char *kinds_text(const judge *j, const ek_trace_communication *c)
{
    int n = 0;
    for (int i = 0; i < c->n_sums; i++)
        n += !c->sum[i].p2p;
    return n > 1 ? ek__pool_format(j->run->pool, "collectives of %d kinds", n) : "collectives";
}

static const char *use_text(const ek_trace_collective_sum *sum)
{
    return sum->exchange == EK_EXCHANGE_COLLECTIVE ? ", an all-to-all,"
           : sum->exchange == EK_EXCHANGE_UNCLEAR  ? ", of an all-to-all or a pipeline,"
                                                   : "";
}

/* Only the transfer can be hidden, so it bounds the gain; where it is not separate, there is no bound. */
static ek_status add_exposed(judge *j, const exposed *x, ek_error *err)
{
    const ek__exposure *e = &x->of;
    double whole = ek__rank_step_ns(x->rank);
    bool known_gain = e->unknown < e->exposed;
    double *wait = ek__alloc((size_t)j->run->n_ranks, sizeof *wait);
    const char *split = split_text(j, x), *who = wait ? late_text(j, x, wait) : NULL;
    free(wait);
    if (!split || !who)
        return ek__no_memory(err);
    const ek_trace_communication *c = &x->rank->communication;
    const char *what = x->sum >= 0 ? c->sum[x->sum].key : kinds_text(j, c);
    const char *use = x->sum < 0 ? "" : use_text(&c->sum[x->sum]);
    if (!what)
        return ek__no_memory(err);
    return add(j, "exposed-communication", x->rank, (known_gain ? e->transfer : e->exposed) / whole,
               known_gain ? whole_ns(e->transfer) : EK_TRACE_UNKNOWN,
               ek__pool_format(j->run->pool,
                               "%s: %.2f ms of a step, %.1f %%, are spent in %.160s%s not overlapped with computing "
                               "(%.4g calls a step, %.2f ms in total): %s.%s",
                               ek__who_is(x->rank).text, e->exposed / 1e6, 100 * e->exposed / whole, what, use,
                               e->count, e->total / 1e6, split, who),
               exposed_advice(e), err);
}

/* The kind, and all kinds together, with the largest share of a step on one rank; then the kind with the largest
 * transfers. */
typedef struct most_exposed {
    exposed kind, all, transfer;
} most_exposed;

static void take_if(exposed *most, const ek_trace_rank *rank, int sum, const ek__exposure *e, double ns, double most_ns)
{
    double whole = ek__rank_step_ns(rank);
    if (whole > 0 && ns > LEAST_EXPOSED * whole && ns > most_ns)
        *most = (exposed){rank, sum, *e};
}

static ek_status look_at_exposed(const ek_trace_rank *rank, most_exposed *most, ek_error *err)
{
    const ek_trace_communication *c = &rank->communication;
    ek__exposure all = ek__rank_exposure(rank), *of_sum = ek__alloc((size_t)c->n_sums, sizeof *of_sum);
    if (!of_sum)
        return ek__no_memory(err);
    ek__rank_exposures(rank, of_sum);
    take_if(&most->all, rank, -1, &all, all.exposed, most->all.of.exposed);
    for (int i = 0; i < c->n_sums; i++) {
        if (c->sum[i].p2p)
            continue;
        take_if(&most->kind, rank, i, &of_sum[i], of_sum[i].exposed, most->kind.of.exposed);
        take_if(&most->transfer, rank, i, &of_sum[i], of_sum[i].transfer, most->transfer.of.transfer);
    }
    free(of_sum);
    return EK_OK;
}

static ek_status find_exposed(judge *j, ek_error *err)
{
    most_exposed most = {.kind = {.rank = NULL}};
    ek_status status = EK_OK;
    for (int i = 0; i < j->run->n_ranks && status == EK_OK; i++)
        status = look_at_exposed(&j->run->rank[i], &most, err);
    bool other = most.transfer.rank && most.kind.rank &&
                 (most.transfer.sum != most.kind.sum || most.transfer.rank != most.kind.rank) &&
                 most.transfer.of.transfer > most.kind.of.transfer;
    if (status == EK_OK && most.kind.rank)
        status = add_exposed(j, &most.kind, err);
    if (status == EK_OK && other)
        status = add_exposed(j, &most.transfer, err);
    /* Many kinds may each be below the share of one; tables have only the total. */
    double rest = most.all.of.exposed - most.kind.of.exposed - (other ? most.transfer.of.exposed : 0);
    bool unnamed = most.all.rank && (!most.kind.rank || rest > LEAST_REST * ek__rank_step_ns(most.all.rank));
    return status == EK_OK && unnamed ? add_exposed(j, &most.all, err) : status;
}

static int64_t pipeline_wait(const ek_trace_step *step)
{
    return step->pipeline_wait;
}

static ek_status find_pipeline_wait(judge *j, ek_error *err)
{
    worst w = {0};
    for (int i = 0; i < j->run->n_ranks; i++)
        consider(&w, &j->run->rank[i], mean_of(&j->run->rank[i], pipeline_wait), LEAST_WAIT);
    if (!w.rank)
        return EK_OK;
    return add(
        j, "pipeline-wait", w.rank, w.share, whole_ns(w.ns),
        ek__pool_format(j->run->pool, "%s: %.2f ms of a step are spent waiting for another stage%s.",
                        ek__who_is(w.rank).text, w.ns / 1e6, others(w.n).text),
        "More micro-batches a step, interleaved chunks, or another split of the layers: `evenkeel trace --layers-out "
        "layers.json`, then `evenkeel balance --layers layers.json`.",
        err);
}

static int64_t copies(const ek_trace_rank *rank)
{
    return rank->producer == EK_PRODUCER_KINETO ? breakdown(rank)->copy_not_overlapped : 0;
}

static ek_status find_copies(judge *j, ek_error *err)
{
    worst w = {0};
    for (int i = 0; i < j->run->n_ranks; i++)
        consider(&w, &j->run->rank[i], known(copies(&j->run->rank[i])), LEAST_COPY);
    if (!w.rank)
        return EK_OK;
    return add(
        j, "exposed-copies", w.rank, w.share, whole_ns(w.ns),
        ek__pool_format(j->run->pool, "%s: memory copies that are not overlapped take %.2f ms of a step%s.",
                        ek__who_is(w.rank).text, w.ns / 1e6, others(w.n).text),
        "Pin the host memory and copy with non_blocking=True; keep data that is copied back and forth on the device.",
        err);
}

static ek_status find_slow_link(judge *j, ek_error *err)
{
    const ek_trace_rank *at = NULL;
    const ek_trace_link *slowest = NULL;
    double least = 1, mean = 0;
    int n = 0;
    for (int i = 0; i < j->run->n_ranks; i++) {
        const ek_trace_communication *c = &j->run->rank[i].communication;
        for (int k = 0; k < c->n_links; k++) {
            double typical = NAN;
            for (int t = 0; t < c->n_transports && c->link[k].slow; t++)
                if (c->link[k].transport && strcmp(c->transport[t].name, c->link[k].transport) == 0)
                    typical = c->transport[t].mean_gbps;
            double part = c->link[k].bandwidth_gbps / typical;
            n += part < 1;
            if (part < least) {
                least = part;
                mean = typical;
                slowest = &c->link[k];
                at = &j->run->rank[i];
            }
        }
    }
    if (!slowest)
        return EK_OK;
    double lost = slowest->time_ms * 1e6 * (1 - least) / ek__all_steps(at);
    return add(j, "slow-link", at, ek__rank_step_ns(at) > 0 ? lost / ek__rank_step_ns(at) : NAN, whole_ns(lost),
               ek__pool_format(j->run->pool, "Link %.100s (%s) moves %.2f GB/s, %.0f %% below the mean of %.2f%s.",
                               slowest->link, slowest->transport, slowest->bandwidth_gbps, 100 * (1 - least), mean,
                               n > 1 ? "; others are slow, too" : ""),
               "Check the cable, port and switch of that pair, and whether other jobs share it.", err);
}

/* ---- ranks and stages ---- */

static ek_status find_imbalance(judge *j, ek_error *err)
{
    const ek_trace_run *run = j->run;
    const ek_trace_stage *slow = NULL;
    double sum = 0;
    if (run->n_stages < 2 || !(run->stage_imbalance > LEAST_IMBALANCE))
        return EK_OK;
    for (int i = 0; i < run->n_stages; i++) {
        sum += known(run->stage[i].computing_mean);
        if (!slow || known(run->stage[i].computing_mean) > known(slow->computing_mean))
            slow = &run->stage[i];
    }
    double gain = known(slow->computing_mean) - sum / run->n_stages, whole = known(slow->step_mean);
    const ek_trace_rank stage = {.rank = EK_TRACE_NO_RANK, .stage = slow->stage};
    return add(
        j, "stage-imbalance", &stage, whole > 0 ? gain / whole : NAN, whole_ns(gain),
        ek__pool_format(run->pool,
                        "Stage %d computes %.2f ms a step, %.2f times as long as the fastest stage; with equal "
                        "stages it would be %.2f ms.",
                        slow->stage, known(slow->computing_mean) / 1e6, run->stage_imbalance,
                        sum / run->n_stages / 1e6),
        "Move layers or recomputation from it: `evenkeel trace --layers-out layers.json`, then `evenkeel balance "
        "--layers layers.json` finds the split.",
        err);
}

static const ek_trace_rank *rank_at(const ek_trace_run *run, int at)
{
    return at >= 0 && at < run->n_ranks ? &run->rank[at] : NULL;
}

/* The additional communication time of the others of its stage: they wait for it. */
static double waited_for(const ek_trace_run *run, const ek_trace_rank *slow)
{
    double sum = 0;
    int n = 0;
    for (int i = 0; i < run->n_ranks; i++)
        if (&run->rank[i] != slow && run->rank[i].stage == slow->stage) {
            sum += known(breakdown(&run->rank[i])->communication_not_overlapped);
            n++;
        }
    return n > 0 ? sum / n - known(breakdown(slow)->communication_not_overlapped) : NAN;
}

static ek_status find_slow_rank(judge *j, ek_error *err)
{
    const ek_trace_run *run = j->run;
    if (run->n_votes == 0 || run->n_voted_operators == 0 || run->vote[0].n_votes < LEAST_VOTE_COUNT ||
        (double)run->vote[0].n_votes < LEAST_VOTES * (double)run->n_voted_operators)
        return EK_OK;
    const ek_trace_rank *rank = rank_at(run, run->vote[0].at);
    if (!rank)
        return EK_OK;
    double gain = waited_for(run, rank), whole = ek__rank_step_ns(rank);
    bool sure = gain > 0 && whole > 0;
    return add(j, "slow-rank", rank, sure ? gain / whole : NAN, sure ? whole_ns(gain) : EK_TRACE_UNKNOWN,
               ek__pool_format(run->pool,
                               "%s was last in %lld of %lld collectives by a clear margin, and in %lld by any margin.",
                               ek__who_is(rank).text, (long long)run->vote[0].n_votes,
                               (long long)run->n_voted_operators, (long long)run->vote[0].n_shortest),
               "Check its device (clock, temperature, errors), its host (other processes, allowed cores) and its "
               "additional work: logging, saving, longer sequences.",
               err);
}

/* A rank's name inside a sentence. */
static ek__who inside(ek__who w)
{
    w.text[0] = (char)ek__to_lower((unsigned char)w.text[0]);
    return w;
}

static ek_status find_gaps(judge *j, ek_error *err)
{
    const ek_trace_run *run = j->run;
    for (int i = 0; i < run->n_gaps; i++) {
        const ek_trace_gap *gap = &run->gap[i];
        const ek_trace_rank *most = rank_at(run, gap->most_at), *least = rank_at(run, gap->least_at);
        if (!gap->flagged || !most || !least || strcmp(gap->part, "computing") != 0)
            continue;
        double gain = known(breakdown(most)->computing) - known(breakdown(least)->computing);
        bool alike = most->stage == least->stage;
        ek_status status = add(
            j, "compute-gap", most, ek__rank_step_ns(most) > 0 ? gain / ek__rank_step_ns(most) : NAN, whole_ns(gain),
            ek__pool_format(run->pool,
                            "%s computes %.2f ms longer than %s%s: a gap of %.1f %% of the device's part of the step.",
                            ek__who_is(most).text, gain / 1e6, inside(ek__who_is(least)).text,
                            alike ? "" : ", which is of another stage", 100 * gap->gap),
            alike ? "Ranks of one stage should have equal computing times: check sequence lengths, experts and the "
                    "device clock."
                  : "Stages differ: see stage-imbalance.",
            err);
        if (status)
            return status;
    }
    return EK_OK;
}

/* ---- operators and recomputation ---- */

/* The worst one with peers of the same shapes, and their number: other peers do not characterise the operator. */
static const ek_trace_outlier *worst_outlier(const ek_trace_operators *ops, int *n)
{
    const ek_trace_outlier *first = NULL;
    *n = 0;
    for (int k = 0; k < ops->n_outliers; k++)
        if (!ops->outlier[k].shapes_unknown) {
            first = first ? first : &ops->outlier[k];
            ++*n;
        }
    return first;
}

static ek_status find_outliers(judge *j, ek_error *err)
{
    worst w = {0};
    int n;
    for (int i = 0; i < j->run->n_ranks; i++) {
        const ek_trace_operators *ops = &j->run->rank[i].operators;
        double lost = 0;
        for (int k = 0; k < ops->n_outliers; k++)
            if (!ops->outlier[k].shapes_unknown)
                lost += known(ops->outlier[k].duration) - known(ops->outlier[k].expected);
        consider(&w, &j->run->rank[i], lost / ek__all_steps(&j->run->rank[i]), LEAST_OUTLIERS);
    }
    if (!w.rank)
        return EK_OK;
    const ek_trace_outlier *one = worst_outlier(&w.rank->operators, &n);
    return add(j, "slow-operators", w.rank, w.share, whole_ns(w.ns),
               ek__pool_format(j->run->pool,
                               "%s: %d executions took much longer than others of their kind, %.2f ms a step in total; "
                               "most of all %.120s with %.2f instead of %.2f ms%s.",
                               ek__who_is(w.rank).text, n, w.ns / 1e6, one->name, known(one->duration) / 1e6,
                               known(one->expected) / 1e6, others(w.n).text),
               "Operators of the same shape should take the same time: check for a lowered device clock, and for "
               "operators that run on AI CPU or share memory bandwidth with a collective.",
               err);
}

static ek_status find_recompute(judge *j, ek_error *err)
{
    worst w = {0};
    for (int i = 0; i < j->run->n_ranks; i++)
        consider(&w, &j->run->rank[i], ek__recomputation(&j->run->rank[i]), LEAST_RECOMPUTE);
    if (!w.rank)
        return EK_OK;
    return add(j, "recompute-cost", w.rank, w.share, whole_ns(w.ns),
               ek__pool_format(j->run->pool, "%s: recomputation takes %.2f ms of a step%s.", ek__who_is(w.rank).text,
                               w.ns / 1e6, others(w.n).text),
               "Recompute only as much as the memory limit requires: `evenkeel balance` finds the number of layers for "
               "every stage.",
               err);
}

/* ---- memory ---- */

static ek_status find_fragmentation(judge *j, ek_error *err)
{
    const ek_trace_rank *at = NULL;
    const ek_trace_memory_peak *peak = NULL;
    double most = 0;
    for (int i = 0; i < j->run->n_ranks; i++)
        for (int k = 0; k < j->run->rank[i].memory.n_peaks; k++) {
            const ek_trace_memory_peak *p = &j->run->rank[i].memory.peak[k];
            double fragments = p->reserved_mb - p->allocated_mb;
            if (fragments > most && fragments > LEAST_FRAGMENT_MB && fragments > LEAST_FRAGMENTATION * p->reserved_mb) {
                most = fragments;
                peak = p;
                at = &j->run->rank[i];
            }
        }
    if (!peak)
        return EK_OK;
    return add(j, "memory-fragmentation", at, NAN, EK_TRACE_UNKNOWN,
               ek__pool_format(j->run->pool, "%s: %s reserved up to %.0f MB but used %.0f: %.0f %% are fragments.",
                               ek__who_is(at).text, peak->component, peak->reserved_mb, peak->allocated_mb,
                               100 * most / peak->reserved_mb),
               "Set PYTORCH_NPU_ALLOC_CONF=expandable_segments:True (PYTORCH_CUDA_ALLOC_CONF on GPU; for MindSpore "
               "MS_ALLOC_CONF=enable_vmm:True), and keep shapes equal between steps.",
               err);
}

/* Allocations made within a step except the last one, and still there at the end. */
static double kept_mb(const ek_trace_rank *rank, int *n)
{
    double sum = 0;
    *n = 0;
    if (rank->n_steps < 2 || rank->step[0].start == EK_TRACE_UNKNOWN)
        return 0;
    int64_t from = rank->step[0].start, to = rank->step[rank->n_steps - 1].start;
    for (int i = 0; i < rank->memory.n_kept; i++) {
        const ek_trace_allocation *one = &rank->memory.kept[i];
        if (one->start < from || one->start >= to)
            continue;
        sum += one->size_kb / 1024;
        ++*n;
    }
    return sum;
}

static ek_status find_kept(judge *j, ek_error *err)
{
    const ek_trace_rank *at = NULL;
    double most = LEAST_LEAK_MB;
    int count = 0;
    for (int i = 0; i < j->run->n_ranks; i++) {
        int n;
        double mb = kept_mb(&j->run->rank[i], &n);
        if (mb > most) {
            most = mb;
            count = n;
            at = &j->run->rank[i];
        }
    }
    if (!at)
        return EK_OK;
    return add(j, "memory-never-released", at, NAN, EK_TRACE_UNKNOWN,
               ek__pool_format(
                   j->run->pool,
                   "%s: %d allocations of steps, %.0f MB, were not released at the end of the trace, after their step.",
                   ek__who_is(at).text, count, most),
               "Optimizer states created in the first step are normal; otherwise check for lists that store losses or "
               "activations.",
               err);
}

/* ---- unexplained idle time ---- */

static double unexplained_idle(const ek_trace_rank *rank)
{
    const ek_trace_breakdown *b = breakdown(rank);
    double busy = known(b->computing) + known(b->communication_not_overlapped) + known(b->copy_not_overlapped);
    return ek__rank_step_ns(rank) - busy - ek__data_wait(rank) - ek__host_late(rank, NULL);
}

static ek_status find_idle(judge *j, ek_error *err)
{
    worst w = {0};
    for (int i = 0; i < j->run->n_ranks; i++)
        consider(&w, &j->run->rank[i], unexplained_idle(&j->run->rank[i]), LEAST_REST);
    if (!w.rank)
        return EK_OK;
    bool linked = w.rank->idle.n_linked_tasks > 0;
    return add(j, "idle", w.rank, w.share, EK_TRACE_UNKNOWN,
               ek__pool_format(j->run->pool, "%s: the device is idle for %.2f ms of a step, %s%s.",
                               ek__who_is(w.rank).text, w.ns / 1e6,
                               linked ? "although the next operator was launched or its launch is not in the trace"
                                      : "and the files contain no launches to find the reason",
                               others(w.n).text),
               linked ? "Check the timeline before the longest gaps: waits for events of other streams, memory "
                        "allocation, and parts of the host that were not profiled."
                      : "Profile with host events (ProfilerActivity.CPU, profiler level 1) and give the event traces, "
                        "not only tables.",
               err);
}

/* The host determines the step time even where the device is busy with earlier launches meanwhile. */
static ek_status find_host_path(judge *j, ek_error *err)
{
    const ek_trace_path *path = &j->run->path;
    int at = ek_trace_run_step(j->run).rank;
    double host = path->n_steps > 0 ? path->activity[EK_TRACE_HOST] : 0;
    if (!(host > LEAST_ON_PATH * path->length))
        return EK_OK;
    const ek_trace_rank *rank = &j->run->rank[at];
    double idle = ek__host_late(rank, NULL), share = host / path->length;
    if (share - idle / path->length < MORE_ON_PATH)
        return EK_OK;
    return add(
        j, "host-on-path", rank, share, EK_TRACE_UNKNOWN,
        ek__pool_format(j->run->pool,
                        "%s: the host is on the critical path for %.2f ms of a step, %.1f %%, but the device is idle "
                        "for it for only %.2f ms: work on the device at that time does not lengthen the step.",
                        ek__who_is(rank).text, host / 1e6, 100 * share, idle / 1e6),
        "Launch fewer, larger operators (fused or compiled ones, graphs) and wait for the device less often; faster "
        "operators give no gain while the host is on the path.",
        err);
}

/* ---- skipped checks ---- */

static ek_status find_nothing(judge *j, ek_error *err)
{
    int n = 0;
    const ek_trace_rank *first = NULL;
    for (int i = 0; i < j->run->n_ranks; i++) {
        const ek_trace_rank *rank = &j->run->rank[i];
        if (rank->has_device_events || known(breakdown(rank)->total) > 0 || rank->counts.n_items == 0)
            continue;
        first = first ? first : rank;
        n++;
    }
    if (!first)
        return EK_OK;
    return add(j, "no-device-events", first, NAN, EK_TRACE_UNKNOWN,
               ek__pool_format(j->run->pool,
                               "%s: the trace contains no device events, so the device time is not known%s.",
                               ek__who_is(first).text, others(n).text),
               "Profile with device events enabled (ProfilerActivity.NPU or CUDA; profiler level 0 or above).", err);
}

/* O(ranks x entries of each). */
ek_status ek__compare_findings(const ek_trace_options *options, ek_trace_run *run, ek_error *err)
{
    static ek_status (*const rules[])(judge *, ek_error *) = {
        find_host_bound, find_data_loading, find_exposed, find_pipeline_wait, find_copies,    find_slow_link,
        find_imbalance,  find_slow_rank,    find_gaps,    find_outliers,      find_recompute, find_fragmentation,
        find_kept,       find_nothing,      find_idle,    find_host_path,
    };
    judge j = {options, run};
    ek_status status = EK_OK;
    for (size_t i = 0; i < sizeof rules / sizeof *rules && status == EK_OK; i++)
        status = rules[i](&j, err);
    ek__findings_sort(run);
    return status;
}
