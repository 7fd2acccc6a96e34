/* A stack of watches for each thread. Only the innermost is asked, and it asks the others when it looks: a clock costs
 * some 30 ns, a block that is laid out about 10, so that inner loops count and look every WORK of them. */
#include "base/watch.h"

#include <assert.h>
#include <math.h>
#include <time.h>

#include "base/error.h"

#define WORK  65536.0 /* between two looks at the clock */
#define GRACE 0.1     /* seconds that what has to be whole may take beyond the end */

static _Thread_local ek__watch *current;

double ek__now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void ek__watch_begin(ek__watch *watch, const ek_interrupt *interrupt, double end)
{
    assert(!isnan(end));
    *watch = (ek__watch){.interrupt = interrupt, .end = end, .over_at = INFINITY, .outer = current};
    watch->most_work = INFINITY;
    current = watch;
}

void ek__watch_begin_share(ek__watch *watch, double end)
{
    ek__watch_begin(watch, NULL, end);
    watch->is_share = true;
}

void ek__watch_begin_work(ek__watch *watch, double most_work)
{
    ek__watch_begin_share(watch, INFINITY);
    watch->most_work = most_work;
}

void ek__watch_end(ek__watch *watch)
{
    assert(current == watch);
    current = watch->outer;
}

static bool is_interrupted(const ek__watch *watch)
{
    return ek_interrupted(watch->interrupt);
}

static void look(void)
{
    double now = ek__now();
    double work = current->work;
    current->work = 0;
    for (ek__watch *w = current; w; w = w->outer) {
        w->all_work += work;
        if (w->over_at > now && (is_interrupted(w) || now >= w->end || w->all_work >= w->most_work))
            w->over_at = now;
        current->over |= w->over_at <= now;
        current->late |= !w->is_share && w->over_at + GRACE <= now;
    }
}

bool ek__watch_over(void)
{
    if (current && !current->over)
        look();
    return current && current->over;
}

/* Counts the work and looks now and then; over once *ended. */
static bool spend(double work, const bool *ended)
{
    if (*ended)
        return true;
    current->work += work;
    if (current->work >= WORK)
        look();
    return *ended;
}

bool ek__watch_spent(double work)
{
    return current && spend(work, &current->over);
}

bool ek__watch_late(double work)
{
    return current && spend(work, &current->late);
}

ek_status ek__watch_fail(ek_error *err, const char *what)
{
    assert(ek__watch_over());
    for (const ek__watch *w = current; w; w = w->outer)
        if (is_interrupted(w))
            return ek__fail(err, EK_ERR_STOPPED, EK__NOWHERE, "interrupted before there was %s", what);
    return ek__fail(err, EK_ERR_STOPPED, EK__NOWHERE, "the time limit ended before there was %s; give more time", what);
}
