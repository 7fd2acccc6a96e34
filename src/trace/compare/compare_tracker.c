/* Makes findings from the dumps of MindSpore's memory tracker: memory that stays allocated after its last use, that
 * grows from step to step, that is never released. Each names the most affected rank and the places in the program that
 * make most of it. Memory by itself saves no time, so these findings have no gain (docs/trace.md). */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/pool.h"
#include "trace/analyse/analysis.h"
#include "trace/rank.h"

static const double MB = 1048576;
static const double LEAST_SHARE = 0.05; /* of the peak */
static const double LEAST_BYTES = 1048576;
static const double LEAST_GROWTH = 0.001; /* of the peak, per step */
enum { LEAST_STEPS = 3, N_NAMED = 3 };

typedef double ek__tracker_figure(const ek_trace_tracker *tracker);
typedef int64_t ek__site_figure(const ek_trace_tracker_site *site);

/* The rank with the most of a figure, of those where it counts; NULL without one. */
static const ek_trace_rank *hardest_hit(const ek_trace_run *run, ek__tracker_figure *figure)
{
    const ek_trace_rank *worst = NULL;
    double most = 0;
    for (int i = 0; i < run->n_ranks; i++) {
        double bytes = figure(&run->rank[i].memory.tracker);
        if (bytes > most) {
            most = bytes;
            worst = &run->rank[i];
        }
    }
    return worst;
}

static double if_much(const ek_trace_tracker *t, double bytes, double share)
{
    return bytes >= LEAST_BYTES && bytes > share * (double)t->peak_bytes ? bytes : 0;
}

static double held(const ek_trace_tracker *t)
{
    return if_much(t, (double)t->held_bytes, LEAST_SHARE);
}

static double growth(const ek_trace_tracker *t)
{
    return t->grows && t->n_steps >= LEAST_STEPS ? if_much(t, t->growth_bytes, LEAST_GROWTH) : 0;
}

/* Without steps all that is there at the end: memory allocated in the last step may still be released. */
static double never_freed(const ek_trace_tracker *t)
{
    return if_much(t, (double)(t->n_steps > 1 ? t->leaked_bytes : t->never_freed_other_bytes), LEAST_SHARE);
}

static int64_t held_of(const ek_trace_tracker_site *site)
{
    return site->held_bytes;
}

static int64_t never_freed_of(const ek_trace_tracker_site *site)
{
    return site->never_freed_bytes;
}

static int64_t leaked_of(const ek_trace_tracker_site *site)
{
    return site->leaked_bytes;
}

/* " 512.0 MB by model.py:12 construct (3-Layer), ...": the sites with the most of a figure. NULL when memory is out. */
static const char *name_sites(const ek_trace_tracker *t, ek__site_figure *figure, ek__pool *pool)
{
    const char *text = "";
    const ek_trace_tracker_site *named[N_NAMED] = {NULL};
    for (int n = 0; text && n < N_NAMED; n++) {
        const ek_trace_tracker_site *most = NULL;
        for (int i = 0; i < t->n_sites; i++) {
            const ek_trace_tracker_site *site = &t->site[i];
            bool taken = site == named[0] || site == named[1] || site == named[2];
            if (!taken && figure(site) > 0 && (!most || figure(site) > figure(most)))
                most = site;
        }
        if (!most)
            break;
        named[n] = most;
        bool layered = most->layer[0] != '('; /* (other): no name of a layer is known */
        text = ek__pool_format(pool, "%s%s %.1f MB by %.160s%s%.80s%s", text, n ? "," : "", (double)figure(most) / MB,
                               most->place, layered ? " (" : "", layered ? most->layer : "", layered ? ")" : "");
    }
    return text;
}

/* ", last used by MatMul-op3 at tick 7 and released at tick 90": of the largest block of the site with the most
 * memory. */
static const char *name_user(const ek_trace_tracker *t, ek__pool *pool)
{
    const ek_trace_tracker_site *most = NULL;
    for (int i = 0; i < t->n_sites; i++)
        if (t->site[i].held_bytes > 0 && (!most || t->site[i].held_bytes > most->held_bytes))
            most = &t->site[i];
    if (!most)
        return "";
    char released[64] = "never released";
    if (most->released_tick != EK_TRACE_UNKNOWN)
        snprintf(released, sizeof released, "released at tick %lld", (long long)most->released_tick);
    return ek__pool_format(pool, "; its largest block was last used%s%.160s at tick %lld, and %s",
                           most->last_user ? " by " : "", most->last_user ? most->last_user : "",
                           (long long)most->last_used_tick, released);
}

static ek__who others(const ek_trace_run *run, ek__tracker_figure *figure)
{
    ek__who w = {""};
    int n = 0;
    for (int i = 0; i < run->n_ranks; i++)
        n += figure(&run->rank[i].memory.tracker) > 0;
    if (n > 1)
        snprintf(w.text, sizeof w.text, "; %d other rank%s likewise", n - 1, n == 2 ? "" : "s");
    return w;
}

static ek_status add(ek_trace_run *run, const char *id, const ek_trace_rank *rank, const char *text, const char *advice,
                     ek_error *err)
{
    ek_trace_finding *list = text ? ek__pool_push(run->pool, run->finding, run->n_findings, sizeof *list) : NULL;
    if (!list)
        return ek__no_memory(err);
    run->finding = list;
    list[run->n_findings++] = (ek_trace_finding){.id = id,
                                                 .rank = rank->rank,
                                                 .stage = rank->stage,
                                                 .text = text,
                                                 .advice = advice,
                                                 .share = (double)NAN,
                                                 .gain_ns = EK_TRACE_UNKNOWN};
    return EK_OK;
}

static ek_status find_held(ek_trace_run *run, ek_error *err)
{
    const ek_trace_rank *rank = hardest_hit(run, held);
    if (!rank)
        return EK_OK;
    const ek_trace_tracker *t = &rank->memory.tracker;
    const char *sites = name_sites(t, held_of, run->pool), *user = name_user(t, run->pool);
    if (!sites || !user)
        return ek__no_memory(err);
    return add(run, "memory-held", rank,
               ek__pool_format(run->pool,
                               "%s: %.1f of the %.1f MB alive at the peak (tick %lld) are still allocated after their "
                               "last use (%.1f %%, weights and constants not counted). If every block were released "
                               "after its last use, the peak would be %.1f MB. Most:%s%s%s.",
                               ek__who_is(rank).text, (double)t->held_bytes / MB, (double)t->peak_bytes / MB,
                               (long long)t->peak_tick, 100 * (double)t->held_bytes / (double)t->peak_bytes,
                               (double)t->released_peak_bytes / MB, sites, user, others(run, held).text),
               "A cell with its own bprop saves its inputs and its output until then: let it save only those that "
               "bprop reads, with self.used_bprop_inputs = [...] in __init__ (indices of the inputs, then the output, "
               "then dout). A contiguous copy of a view is stored in addition to its source: call .contiguous() only "
               "if is_contiguous() is false and the operator needs it. Delete Python variables that still refer to the "
               "tensors (del), and call gc.collect() every few hundred steps.",
               err);
}

static ek_status find_growth(ek_trace_run *run, ek_error *err)
{
    const ek_trace_rank *rank = hardest_hit(run, growth);
    if (!rank)
        return EK_OK;
    const ek_trace_tracker *t = &rank->memory.tracker;
    return add(run, "memory-growth", rank,
               ek__pool_format(run->pool,
                               "%s: every step begins with more memory alive than the one before, %.1f MB on average: "
                               "%.1f MB at the first of %d steps, %.1f MB at the last%s.",
                               ek__who_is(rank).text, t->growth_bytes / MB, (double)t->step[0].live_bytes / MB,
                               t->n_steps, (double)t->step[t->n_steps - 1].live_bytes / MB, others(run, growth).text),
               "Check for objects that keep tensors across steps: lists of losses or metrics, caches, hooks. Store "
               "numbers (.asnumpy(), .item()) instead of tensors.",
               err);
}

static ek_status find_never_freed(ek_trace_run *run, ek_error *err)
{
    const ek_trace_rank *rank = hardest_hit(run, never_freed);
    if (!rank)
        return EK_OK;
    const ek_trace_tracker *t = &rank->memory.tracker;
    const bool steps = t->n_steps > 1;
    const char *sites = name_sites(t, steps ? leaked_of : never_freed_of, run->pool);
    if (!sites)
        return ek__no_memory(err);
    return add(run, "memory-never-released", rank,
               ek__pool_format(run->pool,
                               "%s: %.1f MB of blocks other than weights and constants%s were not released at the end "
                               "of the dump. Most:%s%s.",
                               ek__who_is(rank).text, never_freed(t) / MB,
                               steps ? ", allocated in steps before the last one," : "", sites,
                               others(run, never_freed).text),
               steps ? "Optimizer states created in the first step are normal; otherwise check for lists, caches and "
                       "hooks that keep tensors after their step."
                     : "Optimizer states and allocations of the last step are normal; a dump of three or more steps "
                       "shows growth.",
               err);
}

/* O(ranks x sites). */
ek_status ek__compare_tracker(const ek_trace_options *options, ek_trace_run *run, ek_error *err)
{
    (void)options;
    ek_status status = find_held(run, err);
    if (status == EK_OK)
        status = find_growth(run, err);
    return status == EK_OK ? find_never_freed(run, err) : status;
}
