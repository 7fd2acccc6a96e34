/* Keeps a stack of watches for each thread. Only the innermost is queried, and it queries the others when it reads the
 * clock: a clock costs some 30 ns, a block that is laid out about 10, so inner loops count and read it every WORK of
 * them. */
#include "base/watch.h"

#include <assert.h>
#include <math.h>
#include <time.h>

#include "base/error.h"
#include "evenkeel/progress.h"

#define WORK  65536.0 /* between two checks of the clock */
#define GRACE 0.1     /* seconds that work which must be complete may take beyond the end */

#define BETWEEN_REPORTS 0.1 /* seconds */

static _Thread_local ek__watch *current;

/* The receiver of the thread's progress. Its watch has no end: it makes the loops count. */
static _Thread_local struct {
    ek_progress_fn *show;
    void *user;
    ek__watch watch;
    const char *what;
    double work, done; /* of the current part */
    const char *steps; /* name of the work that is done in steps, of which the part is one; NULL: none */
    int step, n_steps;
    double next; /* of ek__now() */
} report;

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

static void show(double now)
{
    const char *what = report.steps ? report.steps : report.what;
    if (!report.show || !what || now < report.next)
        return;
    report.next = now + BETWEEN_REPORTS;
    double share = fmin(report.done / report.work, 1);
    report.show(report.user, report.steps ? (report.step + share) / report.n_steps : share, what);
}

static void look(void)
{
    double now = ek__now();
    double work = current->work;
    report.done += work;
    show(now);
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

void ek_progress_begin(ek_progress_fn *show_it, void *user)
{
    assert(!report.show && show_it);
    report.show = show_it;
    report.user = user;
    report.what = report.steps = NULL;
    report.next = ek__now() + BETWEEN_REPORTS;
    ek__watch_begin(&report.watch, NULL, INFINITY);
}

void ek_progress_end(void)
{
    assert(report.show);
    ek__watch_end(&report.watch);
    report.show = NULL;
}

void ek__watch_part(const char *what, double work)
{
    report.what = what;
    report.work = fmax(work, 1);
    report.done = 0;
}

void ek__watch_step(const char *what, int step, int n_steps)
{
    assert(step >= 0 && (step < n_steps || n_steps == 0));
    ek__watch_part(NULL, INFINITY);
    report.steps = n_steps > 0 ? what : NULL;
    report.step = step;
    report.n_steps = n_steps;
    if (report.show)
        show(ek__now());
}

ek_status ek__watch_fail(ek_error *err, const char *what)
{
    assert(ek__watch_over());
    for (const ek__watch *w = current; w; w = w->outer)
        if (is_interrupted(w))
            return ek__fail(err, EK_ERR_STOPPED, EK__NOWHERE, "interrupted before there was %s", what);
    return ek__fail(err, EK_ERR_STOPPED, EK__NOWHERE, "the time limit ended before there was %s; give more time", what);
}
