/* Sweeps the best plan over devices, memory or global batch. Each value is a separate search; values are compared by
 * throughput per device, since steps with different batches are not comparable. */
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "evenkeel/evenkeel.h"
#include "evenkeel/layout_advice.h"
#include "job/job_pack.h"
#include "layout/layout.h"
#include "team/deal.h"

#define LEAST_SECONDS 0.05 /* for a value: the search then reports its progress */

const char *const ek__layout_sweep_name[EK_N_LAYOUT_SWEEPS] = {"devices", "memory", "global-batch"};
const char *const *const ek_layout_sweep_name = ek__layout_sweep_name;

int ek_layout_sweep_values(double least, double most, double step, int max, double *out)
{
    int n = 0;
    for (double value = least; value <= most * (1 + 1e-12) && n<max; value = step> 0 ? least + n * step : 2 * value)
        out[n++] = value;
    return n;
}

typedef struct sweeper {
    const ek_job *job;
    const ek_device *device;
    const ek_layout_sweep_input *input;
    int64_t global_batch; /* for options.n_devices */
    double end;           /* by ek__now() */
    ek_layout_sweep *out;
    ek_error *err;
    /* With other processes: */
    int n_workers, n_begun; /* that search; values that this process has begun */
    ek_interrupt stop;      /* process 0 was interrupted */
} sweeper;

/* ---- one value ---- */

static bool whole(double value)
{
    return value >= 1 && value <= 1e9 && value == floor(value);
}

static ek_status check_value(const sweeper *s, double value)
{
    bool memory = s->input->what == EK_SWEEP_MEMORY;
    if (memory ? value > 0 && isfinite(value) : whole(value))
        return EK_OK;
    return ek__fail(s->err, EK_ERR_INPUT, EK__NOWHERE, "%s must be %s (got %g)", ek_layout_sweep_name[s->input->what],
                    memory ? "above 0" : "a whole number from 1 on", value);
}

/* The search at a value. The global batch grows with the devices if requested. */
static void set_value(const sweeper *s, double value, ek_job *job, ek_layout_options *options)
{
    const ek_layout_sweep_input *in = s->input;
    options->n_best = 1;
    options->global_batch = s->global_batch;
    if (in->what == EK_SWEEP_MEMORY)
        job->limit_mb = value;
    else if (in->what == EK_SWEEP_BATCH)
        options->global_batch = (int64_t)value;
    else
        options->n_devices = (int)value;
    if (in->what == EK_SWEEP_DEVICES && in->batch_grows)
        options->global_batch = (int64_t)llround((double)s->global_batch * value / in->value[0]);
}

static void add(ek_layout_result *found, ek_layout_sweep_point *to)
{
    to->proved = found->proved;
    to->gap = found->gap;
    to->least_mb = found->closest_mb;
    if (found->n_plans == 0)
        return;
    to->found = true;
    ek__layout_plan_move(&found->plan[0], &to->plan);
    to->step_seconds = to->plan.estimate.step.seconds;
    to->tokens_per_second_per_device = to->plan.estimate.tokens_per_step / to->step_seconds / to->n_devices;
}

/* No layout for this number of devices or this batch is a result, not a failure. */
static ek_status search(const sweeper *s, double value, double seconds, const ek_interrupt *interrupt,
                        ek_layout_sweep_point *to, ek_error *err)
{
    ek_job job = *s->job; /* another limit: the rest is borrowed, plans have copies */
    ek_layout_options options = s->input->options;
    ek_layout_result found;
    ek_error why = {0};
    set_value(s, value, &job, &options);
    options.time_limit = fmax(LEAST_SECONDS, seconds);
    options.interrupt = interrupt;
    options.team = NULL; /* which distributes the values */
    to->value = value;
    to->n_devices = options.n_devices;
    to->global_batch = options.global_batch;
    ek_status status = ek_layout_search(&job, s->device, &options, &found, &why);
    if (status == EK_ERR_INPUT) {
        ek_layout_explanation e;
        status = ek_layout_explain(&job, s->device, &options, NULL, &e, err);
        if (status)
            return status;
        ek_layout_explanation_clear(&e);
        return EK_OK;
    }
    if (status)
        return ek__fail(err, status, EK__NOWHERE, "%s", why.message);
    add(&found, to);
    ek_layout_result_clear(&found);
    return EK_OK;
}

static ek_status search_all(const sweeper *s)
{
    const ek_layout_sweep_input *in = s->input;
    ek_status status = EK_OK;
    for (int i = 0; i < in->n && !status; i++) {
        double seconds = (s->end - ek__now()) / (in->n - i);
        status = search(s, in->value[i], seconds, in->options.interrupt, &s->out->point[i], s->err);
        if (!status && in->done)
            in->done(in->user, i, &s->out->point[i]);
    }
    return status;
}

/* ---- values by other processes ---- */

static ek_status work_far(void *user, int i, const ek__packet *what, ek__packet *result, ek_error *err)
{
    sweeper *s = user;
    ek__pack to = {.at = NULL};
    ek_layout_sweep_point point = {.found = false};
    /* An equal share of the remaining time, assuming that all processes do the same number of values. */
    int n_left = (s->input->n + s->n_workers - 1) / s->n_workers - s->n_begun++;
    (void)what;
    ek_status status =
        search(s, s->input->value[i], (s->end - ek__now()) / (n_left > 0 ? n_left : 1), &s->stop, &point, err);
    if (status)
        return status;
    EK__PACK(&to, point);
    if (point.found) {
        ek__schedule_pack(point.plan.layout.schedule, &to);
        ek__job_pack(&point.plan.job, &to);
    }
    ek_layout_plan_clear(&point.plan);
    return ek__packet_of(&to, status, result, err);
}

/* The estimate of a plan is made again: it has pointers of this process. */
static ek_status unpack_plan(const sweeper *s, ek__unpack *from, ek_layout_plan *plan, ek_error *err)
{
    plan->layout.schedule = ek__schedule_unpack(from);
    plan->job = (ek_job){.path = NULL};
    plan->estimate = (ek_estimate){.job = NULL};
    ek_status status = ek__job_unpack(from, s->job->path, &plan->job, err);
    if (!status) {
        status = ek_estimate_of(&plan->job, s->device, 0, &plan->estimate, err);
        if (status)
            ek_job_clear(&plan->job);
    }
    return status;
}

static ek_status take_far(void *user, int i, const ek__packet *result, const ek_error *failed, ek_error *err)
{
    sweeper *s = user;
    ek__unpack from = ek__unpack_of(result->at, result->n);
    ek_layout_sweep_point *to = &s->out->point[i], point = {.found = false};
    if (failed) {
        *err = *failed;
        return failed->status;
    }
    EK__UNPACK(&from, point);
    ek_status status = from.wrong ? ek__unpack_wrong(&from, err) : EK_OK;
    if (!status && point.found)
        status = unpack_plan(s, &from, &point.plan, err);
    if (status)
        return status;
    *to = point;
    to->plan.estimate.job = &to->plan.job;
    status = ek__unpack_end(&from, err);
    if (!status && s->input->done)
        s->input->done(s->input->user, i, to);
    return status;
}

static ek_status search_together(sweeper *s)
{
    const ek_layout_sweep_input *in = s->input;
    const ek_layout_options *o = &in->options;
    ek_estimate own; /* a fingerprint of job and device, which two machines may have read from different files */
    char same[128];
    ek_status status = ek_estimate_of(s->job, s->device, 0, &own, s->err);
    if (status && status != EK_ERR_INPUT) /* a job that is invalid here may be valid at another value */
        return status;
    const double figures[] = {status ? 0 : own.step.seconds, s->job->limit_mb, (double)s->global_batch, o->n_devices};
    uint64_t hash = ek__hash(figures, sizeof figures, s->job->digest);
    if (!status)
        ek_estimate_clear(&own);
    hash = ek__hash(in->value, (size_t)in->n * sizeof *in->value, hash);
    snprintf(same, sizeof same, "evenkeel %s with input %016llx", EK_VERSION, (unsigned long long)hash);
    const ek__deal_job job = {.user = s,
                              .n_items = in->n,
                              .take = take_far,
                              .work = work_far,
                              .interrupt = o->interrupt,
                              .stop = &s->stop,
                              .patience = o->patience,
                              .same = same};
    s->n_workers = o->team->size;
    ek__deal_end end;
    status = ek__deal(o->team, &job, &end, s->err);
    if (!status)
        ek__deal_tell_of_lost(&end, o->patience, EK__OTHERS_DID_IT, o->listener);
    return status;
}

/* ---- the curve ---- */

static const ek_layout_sweep_point *first_found(const ek_layout_sweep *sweep)
{
    for (int i = 0; i < sweep->n; i++)
        if (sweep->point[i].found)
            return &sweep->point[i];
    return NULL;
}

static void conclude(const sweeper *s)
{
    ek_layout_sweep *out = s->out;
    const ek_layout_sweep_point *first = first_found(out);
    out->last_linear = out->cheapest = -1;
    bool linear = true;
    for (int i = 0; i < out->n; i++) {
        ek_layout_sweep_point *p = &out->point[i];
        p->linearity = p->found ? p->tokens_per_second_per_device / first->tokens_per_second_per_device : NAN;
        linear = linear && !(p->linearity < EK_LINEARITY_MARK);
        if (p->found && linear)
            out->last_linear = i;
        bool quick = p->found && s->input->wanted_seconds > 0 && p->step_seconds <= s->input->wanted_seconds;
        if (quick && (out->cheapest < 0 || p->n_devices < out->point[out->cheapest].n_devices))
            out->cheapest = i;
    }
}

/* Seconds of one device for one token of the step. */
static double of_token(const ek_layout_sweep_point *p, double seconds)
{
    return seconds * p->n_devices / p->plan.estimate.tokens_per_step;
}

bool ek_layout_sweep_difference(const ek_layout_sweep *sweep, int i, ek_layout_difference *out)
{
    assert(i >= 0 && i < sweep->n);
    const ek_layout_sweep_point *first = first_found(sweep), *p = &sweep->point[i];
    if (!p->found || first == p)
        return false;
    const ek_step *a = &p->plan.estimate.step, *b = &first->plan.estimate.step;
    double whole_step = of_token(first, b->seconds);
    out->share = of_token(p, a->seconds) / whole_step - 1;
    out->seconds = out->share * b->seconds;
    for (int k = 0; k < EK_N_STEP_PARTS; k++)
        out->part[k] =
            (of_token(p, a->stage[a->slowest].seconds[k]) - of_token(first, b->stage[b->slowest].seconds[k])) /
            whole_step;
    return true;
}

static int64_t batch_of(const ek_job *job, int64_t told)
{
    const ek_layout l = ek_layout_of(job);
    return told > 0
               ? told
               : (int64_t)l.value[EK_AXIS_DATA] * l.value[EK_AXIS_BATCH] * l.value[EK_AXIS_COPIES] * l.n_micro_batches;
}

ek_status ek_layout_sweep_run(const ek_job *job, const ek_device *device, const ek_layout_sweep_input *input,
                              ek_layout_sweep *out, ek_error *err)
{
    ek_layout_sweep made = {.what = input->what, .n = input->n};
    sweeper s = {.job = job,
                 .device = device,
                 .input = input,
                 .global_batch = batch_of(job, input->options.global_batch),
                 .end = ek__now() + input->options.time_limit,
                 .out = &made,
                 .err = err};
    made.point = ek__alloc((size_t)input->n, sizeof *made.point);
    ek_status status = made.point ? EK_OK : ek__no_memory(err);
    for (int i = 0; i < input->n && !status; i++)
        status = check_value(&s, input->value[i]);
    const ek_team *team = input->options.team;
    if (!status)
        status = team && team->size > 1 ? search_together(&s) : search_all(&s);
    if (status) {
        ek_layout_sweep_clear(&made);
        return status;
    }
    conclude(&s);
    *out = made;
    return EK_OK;
}

void ek_layout_sweep_clear(ek_layout_sweep *sweep)
{
    for (int i = 0; i < sweep->n && sweep->point; i++)
        ek_layout_plan_clear(&sweep->point[i].plan);
    free(sweep->point);
    *sweep = (ek_layout_sweep){0};
}
