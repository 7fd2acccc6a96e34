/* Finds waiting for data: the device is idle while the host's iterator waits. A trace has that time step by step, and
 * the gain is the run without it, since reading ahead hides all of it once it keeps up. Without a trace the log's time
 * of the data loader is used, which is an upper bound as a part of it may overlap with the device. Not seen: data that
 * only delays a rank which would have waited anyway, which the replay of the ranks leaves out by itself. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/median.h"
#include "diagnose/bottleneck.h"

static ek_status add_losses(const ek__measured *m, ek__losses *losses, ek_error *err)
{
    for (int r = 0; r < m->run->n_ranks; r++)
        for (int i = 0; i < m->run->rank[r].n_steps; i++) {
            const ek_trace_step *s = &m->run->rank[r].step[i];
            if (s->warm_up || s->data_loading_idle == EK_TRACE_UNKNOWN)
                continue;
            int64_t at = s->host_start != EK_TRACE_UNKNOWN && s->host_start < s->start ? s->host_start : s->start;
            if (!ek__losses_add(losses, r, at, (double)s->data_loading_idle))
                return ek__no_memory(err);
        }
    return EK_OK;
}

/* ---- remedies ---- */

static bool has_no_workers(const ek_trace_rank *rank)
{
    for (int i = 0; rank && i < rank->data.n_iterators; i++)
        if (strstr(rank->data.iterator[i].name, "_SingleProcess"))
            return true;
    return false;
}

static void fill_setting(const ek__diagnose *d, const ek_trace_rank *rank, ek_bottleneck *b)
{
    ek_framework framework = ek__framework_of(d);
    b->caution = "Worker processes and prefetching need host memory.";
    if (framework == EK_MINDFORMERS || framework == EK_MINDFORMERS_MCORE) {
        int data = d->input->job ? d->input->job->parallel.data : 0;
        if (data == 1) {
            b->setting = "train_dataset.num_parallel_workers: 16\ntrain_dataset.prefetch_size: 2";
            b->change = "Increase the number of workers; remove attention_mask from the stored dataset and compute it "
                        "while reading. With one data-parallel rank every device needs the whole batch.";
            return;
        }
        b->setting = data > 0
                         ? ek__pool_format(d->out->pool,
                                           "parallel.full_batch: False\nparallel.dataset_strategy: [[%d, 1], [%d, 1]]\n"
                                           "train_dataset.num_parallel_workers: 16\ntrain_dataset.prefetch_size: 2",
                                           data, data)
                         : "parallel.full_batch: False\nparallel.dataset_strategy: [[dp, 1], [dp, 1]]  # dp: the run's "
                           "data_parallel\ntrain_dataset.num_parallel_workers: 16\ntrain_dataset.prefetch_size: 2";
        b->change = "Let every rank read only its own part of the batch, with one entry of the strategy for each input "
                    "of the dataset; remove attention_mask from the stored dataset and compute it while reading; "
                    "increase the number of workers.";
        return;
    }
    b->setting = has_no_workers(rank) ? "--num-workers 4" : "--num-workers 8";
    b->change = has_no_workers(rank)
                    ? "Use worker processes in the data loader, with persistent_workers and pin_memory."
                    : "Increase the number of loader workers and prefetch_factor, remove attention_mask from the "
                      "stored dataset, and move work out of the dataset.";
}

/* ---- a trace ---- */

static ek_status show_rank(const ek__diagnose *d, int rank, double ns, ek_bottleneck *b, ek_error *err)
{
    const ek_trace_rank *r = &d->measured.run->rank[rank];
    ek_evidence idle = {ek__pool_format(d->out->pool,
                                        "%s: the device is idle for %.2f ms of a step while the host waits for data",
                                        ek__who_is(r).text, ns / 1e6),
                        ek__file_of(r), NULL, r->rank};
    ek_status status = ek__bottleneck_show(b, idle, err);
    for (int i = 0; i < r->data.n_iterators && !status; i++) {
        ek_evidence one = {ek__pool_format(d->out->pool, "%.120s: %lld calls, %.2f ms of host time in all",
                                           r->data.iterator[i].name, (long long)r->data.iterator[i].count,
                                           (double)r->data.iterator[i].total / 1e6),
                           ek__file_of(r), NULL, r->rank};
        status = ek__bottleneck_show(b, one, err);
    }
    return status;
}

static ek_status show_queues(const ek__diagnose *d, ek_bottleneck *b, int *rank, ek_error *err)
{
    for (int r = 0; r < d->measured.run->n_ranks; r++) {
        const ek_trace_rank *one = &d->measured.run->rank[r];
        if (!one->data.near_empty_queue)
            continue;
        *rank = r;
        return ek__bottleneck_show(
            b,
            (ek_evidence){ek__pool_format(d->out->pool, "%s: the last queue of the data pipeline is under 10 %% full",
                                          ek__who_is(one).text),
                          ek__file_of(one), NULL, one->rank},
            err);
    }
    return EK_OK;
}

/* Of a step, on the rank that waits longest; *rank is unchanged where none waits. */
static double longest_wait(const ek_trace_run *run, int *rank)
{
    double most = 0;
    for (int r = 0; r < run->n_ranks; r++) {
        double wait = ek__data_wait(&run->rank[r]);
        if (wait > most) {
            most = wait;
            *rank = r;
        }
    }
    return most;
}

static ek_status from_trace(ek__diagnose *d, ek_error *err)
{
    const ek__measured *m = &d->measured;
    ek_bottleneck b = {.id = "data-loading", .topic = EK_TOPIC_INPUT, .basis = EK_BASIS_DERIVED};
    ek__losses losses = {0};
    int rank = -1;
    double gain = 0, most = longest_wait(m->run, &rank);
    ek_status status = add_losses(m, &losses, err);
    if (!status && most >= ek__least_ns(d))
        status = ek__losses_gain(m, &losses, &gain, err);
    free(losses.loss);
    if (!status && rank >= 0 && most >= ek__least_ns(d))
        status = show_rank(d, rank, most, &b, err);
    else
        rank = -1;
    if (!status)
        status = show_queues(d, &b, &rank, err);
    if (status || rank < 0)
        return status;
    gain = fmin(gain, ek__most_idle(m));
    bool timed = gain > 0;
    fill_setting(d, &m->run->rank[rank], &b);
    b.cost_seconds = timed ? most / 1e9 : NAN;
    b.gain_seconds = timed ? gain / 1e9 : NAN;
    b.rests_on = ek__gain_rests_on(m);
    b.title = timed ? ek__pool_format(d->out->pool, "The device waits for data: %.2f ms of a step, %.1f %%.",
                                      most / 1e6, 100 * most / d->step_ns)
                    : "The last queue of the data pipeline is nearly empty: training waits for data.";
    return ek__bottleneck_add(d, &b, err);
}

/* ---- a log ---- */

static ek_status from_log(ek__diagnose *d, ek_error *err)
{
    const ek_train_log *log = d->input->log;
    double *value = ek__alloc((size_t)log->n, sizeof *value);
    size_t n = 0;
    if (!value)
        return ek__no_memory(err);
    for (int i = d->log.first; i < log->n; i++)
        if (log->step[i].data_seconds >= 0 && !log->step[i].overflow)
            value[n++] = log->step[i].data_seconds;
    double seconds = ek__median(value, n);
    free(value);
    if (!(seconds * 1e9 >= ek__least_ns(d)) || !(seconds > 0))
        return EK_OK;
    ek_bottleneck b = {.id = "data-loading",
                       .topic = EK_TOPIC_INPUT,
                       .basis = EK_BASIS_DERIVED,
                       .cost_seconds = seconds,
                       .gain_seconds = seconds,
                       .rests_on = "the log's time in the data loader, assuming an idle device during it; only a trace "
                                   "shows the overlapped part"};
    fill_setting(d, NULL, &b);
    b.title = ek__pool_format(d->out->pool, "The data loader takes %.2f ms of a step.", seconds * 1e3);
    ek_status status = ek__bottleneck_show(
        &b,
        (ek_evidence){ek__pool_format(d->out->pool, "%s of the log: %.2f ms in the data loader",
                                      n == 1 ? "one step" : ek__pool_format(d->out->pool, "median of %zu steps", n),
                                      seconds * 1e3),
                      log->path, NULL, -1},
        err);
    return status ? status : ek__bottleneck_add(d, &b, err);
}

static bool log_tells(const ek_train_log *log)
{
    for (int i = 0; log && i < log->n; i++)
        if (log->step[i].data_seconds >= 0)
            return true;
    return false;
}

ek_status ek__bottleneck_data_loading(ek__diagnose *d, ek_error *err)
{
    if (d->measured.run)
        return from_trace(d, err);
    if (log_tells(d->input->log))
        return from_log(d, err);
    return ek__bottleneck_needs(d, "waiting for data", "a trace with host events, or a log that contains it",
                                ek__how_to_trace(d), err);
}
