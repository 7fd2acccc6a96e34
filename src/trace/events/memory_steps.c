/* Finds the steps of a memory tracker's dump, which has no marks: the exact period of its tasks. Layers of one shape
 * repeat, too, where tasks have no names of their own; but each uses weights of its own, while a step uses all of
 * them. */
#include <math.h>
#include <stdlib.h>

#include "trace/events/memory_sites.h"
#include "trace/events/periodic.h"

enum { MIN_PERIOD = 2, MIN_SHARE_NUM = 6, MIN_SHARE_DEN = 10 /* of the tasks that must repeat */ };

/* The periods: tasks [first + k * period, first + (k + 1) * period) for k below n. */
typedef struct periods {
    size_t first, period, n;
} periods;

/* Is every weight that is used in the periods used in each of them? At least one weight is needed for an answer. */
static bool use_all_weights(const ek__tracker_blocks *blocks, const ek__tracker_tasks *tasks, const periods *p,
                            bool *used)
{
    const int64_t from = tasks->task[p->first].tick;
    bool any_weight = false;
    for (size_t i = 0; i < blocks->n; i++) {
        const ek__memory_block *b = &blocks->block[i];
        size_t n_used = 0;
        if (b->n_users == 0 || blocks->user[b->users + b->n_users - 1] < from)
            continue;
        if (b->n_users < p->n)
            return false;
        size_t at = 0;
        for (size_t k = 0; k < p->n; k++)
            used[k] = false;
        for (uint32_t u = 0; u < b->n_users; u++) { /* in the order of time, as the tracker writes them */
            int64_t tick = blocks->user[b->users + u];
            at = tick < from ? 0 : at;
            while (tick >= from && at + 1 < p->n && tasks->task[p->first + (at + 1) * p->period].tick <= tick)
                at++;
            if (tick >= from && !used[at]) {
                used[at] = true;
                n_used++;
            }
        }
        if (n_used > 0 && n_used < p->n)
            return false;
        any_weight |= n_used > 0;
    }
    return any_weight;
}

static bool ask_weights(const ek__tracker_blocks *blocks, const ek__tracker_tasks *tasks, const periods *p,
                        bool *are_steps)
{
    bool *used = ek__alloc(p->n, sizeof *used);
    *are_steps = used && use_all_weights(blocks, tasks, p, used);
    free(used);
    return used != NULL;
}

/* ---- the period ---- */

static bool find_periods(const ek__tracker_tasks *tasks, periods *out)
{
    uint32_t *name = ek__alloc(tasks->n, sizeof *name);
    bool no_memory = !name;
    size_t period = 0, length = 0;
    for (size_t i = 0; name && i < tasks->n; i++)
        name[i] = tasks->task[i].name;
    if (name)
        length = ek__periodic_tail(name, tasks->n, MIN_PERIOD, &period, &no_memory);
    free(name);
    *out = (periods){0};
    if (length > 0 && length * MIN_SHARE_DEN >= tasks->n * MIN_SHARE_NUM)
        *out = (periods){tasks->n - length, period, length / period};
    return !no_memory;
}

/* A step begins at the task of the period at which the least is alive, summed over the periods. */
static void shift_to_least(const int64_t *live, periods *p, size_t n_tasks)
{
    size_t best = 0;
    double least = INFINITY;
    for (size_t offset = 0; offset < p->period; offset++) {
        double sum = 0;
        for (size_t k = 0; k < p->n; k++)
            if (p->first + offset + k * p->period < n_tasks)
                sum += (double)live[p->first + offset + k * p->period];
        if (sum < least) {
            least = sum;
            best = offset;
        }
    }
    p->first += best;
}

/* ---- memory at the start of steps ---- */

static bool fill_steps(const int64_t *tick, const int64_t *live, size_t n_tasks, const periods *p, ek__pool *pool,
                       ek_trace_tracker *tracker)
{
    tracker->step = ek__pool_alloc(pool, p->n, sizeof *tracker->step);
    if (!tracker->step)
        return false;
    for (size_t k = 0; k < p->n && p->first + k * p->period < n_tasks; k++) {
        size_t at = p->first + k * p->period;
        tracker->step[tracker->n_steps++] = (ek_trace_tracker_step){tick[at], live[at]};
    }
    tracker->grows = tracker->n_steps > 1;
    for (int i = 1; i < tracker->n_steps; i++)
        tracker->grows &= tracker->step[i].live_bytes > tracker->step[i - 1].live_bytes;
    if (tracker->n_steps > 1)
        tracker->growth_bytes = (double)(tracker->step[tracker->n_steps - 1].live_bytes - tracker->step[0].live_bytes) /
                                (tracker->n_steps - 1);
    return true;
}

static bool measure(const ek__tracker_blocks *blocks, const ek__tracker_tasks *tasks, periods *p, ek__pool *pool,
                    ek_trace_tracker *tracker)
{
    int64_t *tick = ek__alloc(tasks->n, sizeof *tick), *live = ek__alloc(tasks->n, sizeof *live);
    bool fine = tick && live;
    for (size_t i = 0; fine && i < tasks->n; i++)
        tick[i] = tasks->task[i].tick;
    if (fine && (fine = ek__memory_live_at(blocks->block, blocks->n, tick, tasks->n, live))) {
        shift_to_least(live, p, tasks->n);
        fine = fill_steps(tick, live, tasks->n, p, pool, tracker);
    }
    free(tick);
    free(live);
    return fine;
}

bool ek__memory_steps(const ek__tracker_blocks *blocks, const ek__tracker_tasks *tasks, ek__pool *pool,
                      ek_trace_tracker *tracker)
{
    periods p;
    bool are_steps = false;
    tracker->growth_bytes = (double)NAN;
    if (!find_periods(tasks, &p))
        return false;
    if (p.n == 0)
        return true;
    if (!ask_weights(blocks, tasks, &p, &are_steps))
        return false;
    return !are_steps || measure(blocks, tasks, &p, pool, tracker);
}
