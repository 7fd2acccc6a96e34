/* What settings could be changed and what each would bring: every measure of a list is put into a copy of the job, the
 * copy is checked and predicted like any job, and its step simulated where a device is given. One change at a time:
 * what two bring together is not the sum of what each does. */
#include "memory/measures.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "evenkeel/cost.h"
#include "evenkeel/simulate.h"

static void refuse(const ek__measure_try *t, const ek_error *why)
{
    t->out->possible = false;
    snprintf(t->out->why, sizeof t->out->why, "%.*s", (int)sizeof t->out->why - 1, why->message);
}

ek_status ek__measure_predict(const ek__measure_try *t, ek_memory *memory, bool *fine)
{
    const ek_memory_options options = {.without_top = true};
    ek_error why = {0};
    ek_status status = ek_job_check(t->job, &why);
    if (!status)
        status = ek_memory_predict(t->job, &options, memory, &why);
    *fine = status == EK_OK;
    if (status == EK_ERR_INPUT) {
        refuse(t, &why);
        return EK_OK;
    }
    if (status && t->err)
        *t->err = why;
    return status;
}

static double largest_mb(const ek_memory *memory)
{
    return (double)memory->stage[memory->fullest].actual_peak * 0x1p-20;
}

/* ---- step time ---- */

static ek_status simulate(const ek_job *job, const ek_layers *layers, double *ms, ek_error *err)
{
    int pieces = job->parallel.n_pieces > 1 ? job->parallel.n_pieces : 1,
        n_cells = job->plan.n_stages * job->plan.n_chunks;
    ek_shape shape = {.n_stages = job->plan.n_stages,
                      .n_chunks = job->plan.n_chunks,
                      .n_micro_batches = job->parallel.n_micro_batches * pieces,
                      .n_pieces = pieces};
    ek_order *order;
    ek_status status = ek_order_new(job->schedule, &shape, &order, err);
    if (status)
        return status;
    ek_chunk_cost *cost = ek__alloc((size_t)n_cells, sizeof *cost);
    double *scratch = ek__alloc(ek_order_scratch_size(order), sizeof *scratch);
    if (cost && scratch) {
        int accumulation =
            job->parallel.pipeline == 1 && job->parallel.n_accumulation > 1 ? job->parallel.n_accumulation : 1;
        ek_plan_costs(&job->plan, layers, job->schedule->placement, cost);
        *ms = ek_order_step_time(order, cost, NULL, scratch) * accumulation;
    } else {
        status = ek__no_memory(err);
    }
    free(cost);
    free(scratch);
    ek_order_free(order);
    return status;
}

/* Modelled step time; NAN without a device, or where it cannot be modelled. */
static ek_status step_time(const ek_job *job, const ek_device *device, double *ms, ek_error *err)
{
    *ms = NAN;
    if (!device)
        return EK_OK;
    ek_layers layers;
    ek_error why = {0};
    ek_status status = ek_memory_to_layers(job, device, &layers, &why);
    if (!status) {
        status = simulate(job, &layers, ms, &why);
        ek_layers_clear(&layers);
    }
    if (status == EK_ERR_INPUT)
        return EK_OK;
    if (status && err)
        *err = why;
    return status;
}

/* ---- one measure ---- */

typedef struct search {
    const ek_job *job;
    const ek_device *device;
    ek_memory today;
    double today_ms;
    ek_error *err;
} search;

static ek_status judge(const search *s, ek__measure_try *t)
{
    ek_memory memory;
    bool fine;
    ek_status status = ek__measure_predict(t, &memory, &fine);
    if (status || !fine)
        return status;
    double ms;
    t->out->after_mb = largest_mb(&memory);
    t->out->saved_mb = largest_mb(&s->today) - t->out->after_mb;
    t->out->fits = memory.fits;
    ek_memory_clear(&memory);
    status = step_time(t->job, s->device, &ms, s->err);
    t->out->step_change = ms / s->today_ms - 1;
    return status;
}

static ek_status try_measure(const search *s, const ek__measure_kind *kind, ek_measure *out)
{
    ek_job copy;
    ek_status status = ek_job_copy(s->job, &copy, s->err);
    if (status)
        return status;
    *out = (ek_measure){.possible = true, .after_mb = NAN, .saved_mb = NAN, .step_change = NAN};
    snprintf(out->name, sizeof out->name, "%s", kind->name);
    ek__measure_try t = {&copy, &s->today, out, s->err};
    status = kind->change(&t);
    if (!status && out->possible)
        status = judge(s, &t);
    ek_job_clear(&copy);
    return status;
}

/* Largest saving first, what is not possible last; equals stay as listed. */
static bool comes_before(const ek_measure *a, const ek_measure *b)
{
    if (a->possible != b->possible)
        return a->possible;
    return a->possible && a->saved_mb > b->saved_mb;
}

static void insert(ek_measure *out, int n, const ek_measure *measure)
{
    int at = n;
    for (; at > 0 && comes_before(measure, &out[at - 1]); at--)
        out[at] = out[at - 1];
    out[at] = *measure;
}

ek_status ek_memory_measures(const ek_job *job, const struct ek_device *device, ek_measure out[EK_MAX_MEASURES], int *n,
                             ek_error *err)
{
    const ek_memory_options options = {.without_top = true};
    search s = {.job = job, .device = device, .err = err};
    ek_measure *found = ek__alloc(EK_MAX_MEASURES, sizeof *found);
    if (!found)
        return ek__no_memory(err);
    ek_status status = ek_memory_predict(job, &options, &s.today, err);
    if (status) {
        free(found);
        return status;
    }
    int n_found = 0;
    status = step_time(job, device, &s.today_ms, err);
    for (const ek__measure_kind *kind = ek__measure_kinds; kind->name && !status; kind++) {
        ek_measure one;
        assert(n_found < EK_MAX_MEASURES);
        status = try_measure(&s, kind, &one);
        if (!status)
            insert(found, n_found++, &one);
    }
    if (!status) {
        memcpy(out, found, (size_t)n_found * sizeof *out);
        *n = n_found;
    }
    ek_memory_clear(&s.today);
    free(found);
    return status;
}
