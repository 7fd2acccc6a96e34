/* Finds steps that take far longer than the run's median, from the training log: checkpoints, evaluation, collections
 * of garbage, a disturbed machine. The loss is their time beyond the median, spread over all counted steps; a trace of
 * a few steps cannot show it. A step is slow from 1.1 medians on: usual variations are below that, without a possible
 * gain. It also reports whether the slow steps come at a fixed distance, as with a periodic setting. */
#include <math.h>

#include "base/error.h"
#include "diagnose/bottleneck.h"

static const double slow_from = 1.1; /* medians */
enum { FEWEST_STEPS = 10 };          /* fewer give no useful median */

typedef struct slow_steps {
    int n, every; /* every: steps between two of them; 0: not the same */
    double lost;  /* seconds in all */
    const ek_train_log_step *worst, *last;
} slow_steps;

static void add_slow(slow_steps *s, const ek_train_log_step *step, double median)
{
    int64_t distance = s->last ? step->step - s->last->step : 0;
    if (s->n == 1)
        s->every = distance > 0 && distance < INT32_MAX ? (int)distance : 0;
    else if (s->n > 1 && distance != s->every)
        s->every = 0;
    s->n++;
    s->last = step;
    s->lost += step->seconds - median;
    if (!s->worst || step->seconds > s->worst->seconds)
        s->worst = step;
}

static ek_status show(const ek__diagnose *d, const ek_train_log_summary *sum, const slow_steps *s, ek_bottleneck *b,
                      ek_error *err)
{
    struct ek__pool *pool = d->out->pool;
    const char *path = d->input->log->path;
    const char *name = ek__pool_format(pool, "%lld", (long long)s->worst->step);
    if (!name)
        return ek__no_memory(err);
    ek_status status = ek__bottleneck_show(
        b,
        (ek_evidence){ek__pool_format(pool, "%d of %d steps take more than %g medians of %.2f ms; the worst %.2f ms",
                                      s->n, sum->n, slow_from, 1e3 * sum->median_seconds, 1e3 * s->worst->seconds),
                      path, name, -1},
        err);
    if (!status && s->every > 0 && s->n > 2)
        status = ek__bottleneck_show(
            b,
            (ek_evidence){
                ek__pool_format(pool, "they occur every %d steps, as from an interval in the settings", s->every), path,
                NULL, -1},
            err);
    return status;
}

ek_status ek__bottleneck_slow_steps(ek__diagnose *d, ek_error *err)
{
    const ek_train_log *log = d->input->log;
    const ek_train_log_summary *sum = &d->log;
    slow_steps s = {0};
    if (!log)
        return ek__bottleneck_needs(d, "steps slower than others over the whole run", "a training log",
                                    "give the training log of a rank that prints steps", err);
    for (int i = sum->first; i < log->n && sum->n >= FEWEST_STEPS; i++)
        if (!log->step[i].overflow && log->step[i].seconds > slow_from * sum->median_seconds)
            add_slow(&s, &log->step[i], sum->median_seconds);
    if (s.n == 0)
        return EK_OK;
    ek_framework framework = ek__framework_of(d);
    bool mindspore = framework == EK_MINDFORMERS || framework == EK_MINDFORMERS_MCORE;
    double lost = s.lost / sum->n;
    ek_bottleneck b = {
        .id = "slow-steps",
        .topic = EK_TOPIC_HOST,
        .basis = EK_BASIS_DERIVED,
        .cost_seconds = lost,
        .gain_seconds = lost,
        .setting = mindspore ? "callbacks: CheckpointMonitor: save_checkpoint_steps, async_save: True"
                             : "--save-interval, --eval-interval, --async-save, --manual-gc --manual-gc-interval 100",
        .change = "Check those steps for work other than training: checkpoints, evaluation, garbage collection, other "
                  "jobs on the machine; do it asynchronously or less often.",
        .rests_on =
            "step times of the log: the time of slow steps above the median, divided by the number of counted steps",
        .caution = mindspore ? "A checkpoint that is written asynchronously needs host memory." : NULL};
    b.title = ek__pool_format(d->out->pool, "Slow steps cost on average %.2f ms a step, %.1f %%.", 1e3 * lost,
                              1e11 * lost / d->step_ns);
    ek_status status = show(d, sum, &s, &b, err);
    return status ? status : ek__bottleneck_add(d, &b, err);
}
