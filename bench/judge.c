/* Judges predicted steps of measured runs: errors, rank order inside groups, and the cost of choosing by the
 * prediction.
 */
#include "judge.h"
#include "evenkeel/calibrate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

judged_run judge_run(const ek_measured_run *run, const ek_device *device)
{
    judged_run out = {.run = run, .device = device ? device : ek_device_of_hardware(run->device), .predicted = NAN};
    ek_device own;
    ek_step step;
    if (!out.device || (!device && !ek_device_of_run(run, &own))) {
        snprintf(out.error.message, sizeof out.error.message, "no device is known for '%.60s'", run->device);
        return out;
    }
    if (ek_cost_step(&run->job, device ? device : &own, NULL, &step, &out.error))
        return out;
    out.predicted = step.seconds > 0 ? step.seconds : NAN;
    memcpy(out.part, step.stage[step.slowest].seconds, sizeof out.part);
    ek_step_clear(&step);
    return out;
}

double judged_error(const judged_run *run)
{
    return run->predicted / run->run->step_seconds - 1;
}

static double sequences_of(const ek_job *job)
{
    const ek_job_parallel *p = &job->parallel;
    return (double)p->data * p->batch * p->n_micro_batches * p->n_accumulation * p->n_batch_interleave;
}

double judge_tokens(const ek_measured_run *run)
{
    return sequences_of(&run->job) * run->job.parallel.seq_length / run->n_devices;
}

/* ---- groups ---- */

/* Runs that are alternatives: the same model trained by the same devices on as many sequences. */
static int compare_choice(const ek_measured_run *a, const ek_measured_run *b)
{
    const ek_job_model *m = &a->job.model, *k = &b->job.model;
    const double keys[][2] = {{m->hidden, k->hidden},
                              {m->n_layers, k->n_layers},
                              {m->intermediate, k->intermediate},
                              {m->vocab, k->vocab},
                              {a->n_devices, b->n_devices},
                              {a->job.parallel.seq_length, b->job.parallel.seq_length},
                              {sequences_of(&a->job), sequences_of(&b->job)}};
    int order = strcmp(a->device, b->device);
    for (size_t i = 0; i < sizeof keys / sizeof *keys && order == 0; i++)
        order = (keys[i][0] > keys[i][1]) - (keys[i][0] < keys[i][1]);
    return order;
}

static int by_choice(const void *a, const void *b)
{
    return compare_choice((*(const judged_run *const *)a)->run, (*(const judged_run *const *)b)->run);
}

bool judge_same_choice(const ek_measured_run *a, const ek_measured_run *b)
{
    return compare_choice(a, b) == 0;
}

/* Ranks from 1, equal values share the mean of theirs. */
static double rank_of(const double *value, int n, int i)
{
    int less = 0, equal = 0;
    for (int k = 0; k < n; k++) {
        less += value[k] < value[i];
        equal += value[k] == value[i];
    }
    return less + (equal + 1) / 2.0;
}

/* Pearson's coefficient of the ranks; NAN where all are equal. */
static double spearman(const double *x, const double *y, int n)
{
    double mean = (n + 1) / 2.0, xy = 0, xx = 0, yy = 0;
    for (int i = 0; i < n; i++) {
        double a = rank_of(x, n, i) - mean, b = rank_of(y, n, i) - mean;
        xy += a * b;
        xx += a * a;
        yy += b * b;
    }
    return xx > 0 && yy > 0 ? xy / sqrt(xx * yy) : NAN;
}

static void judge_group(judged_run *const *run, int n, double *measured, double *predicted, judged *out)
{
    int shortest = 0, chosen = 0;
    for (int i = 0; i < n; i++) {
        measured[i] = run[i]->run->step_seconds;
        predicted[i] = run[i]->predicted;
        shortest = measured[i] < measured[shortest] ? i : shortest;
        chosen = predicted[i] < predicted[chosen] ? i : chosen;
    }
    double r = spearman(measured, predicted, n);
    if (isnan(r))
        return;
    out->spearman += n * r;
    out->first_choice += measured[chosen] / measured[shortest] - 1;
    out->n_groups++;
}

static void judge_groups(judged_run **run, int n, judged *out)
{
    double *values = malloc(2 * (size_t)n * sizeof *values);
    int grouped = 0;
    qsort(run, (size_t)n, sizeof(*run), by_choice);
    for (int from = 0, to; from < n && values; from = to) {
        int before = out->n_groups;
        for (to = from + 1; to < n && by_choice(&run[from], &run[to]) == 0;)
            to++;
        if (to - from >= 3)
            judge_group(run + from, to - from, values, values + n, out);
        grouped += out->n_groups > before ? to - from : 0;
    }
    out->spearman = grouped ? out->spearman / grouped : NAN;
    out->first_choice = out->n_groups ? out->first_choice / out->n_groups : NAN;
    free(values);
}

/* ---- all ---- */

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

judged judge_all(const judged_run *runs, int n)
{
    judged out = {0};
    double *error = malloc(((size_t)n + 1) * sizeof *error);
    judged_run **priced = malloc(((size_t)n + 1) * sizeof(*priced));
    for (int i = 0; i < n && error && priced; i++) {
        if (isnan(runs[i].predicted)) {
            out.n_failed++;
            continue;
        }
        priced[out.n] = (judged_run *)&runs[i];
        error[out.n] = fabs(judged_error(&runs[i]));
        out.mean += error[out.n];
        out.bias += judged_error(&runs[i]);
        out.worst = fmax(out.worst, error[out.n++]);
    }
    if (out.n > 0) {
        out.mean /= out.n;
        out.bias /= out.n;
        qsort(error, (size_t)out.n, sizeof *error, by_value);
        out.median = (error[out.n / 2] + error[(out.n - 1) / 2]) / 2;
        judge_groups(priced, out.n, &out);
    }
    free(error);
    free(priced);
    return out;
}

/* ---- choices ---- */

static bool has_two_layouts(judged_run *const *run, int n)
{
    for (int i = 1; i < n; i++)
        if (strcmp(run[i]->run->group, run[0]->run->group) != 0 ||
            run[i]->run->job.parallel.batch != run[0]->run->job.parallel.batch)
            return true;
    return false;
}

/* Of equal predictions the one with the longest measured step is taken, so that luck does not count. */
static bool is_before(const judged_run *a, const judged_run *b)
{
    if (a->predicted != b->predicted)
        return a->predicted < b->predicted;
    return a->run->step_seconds > b->run->step_seconds;
}

static void judge_choice(judged_run *const *run, int n, judged_choices *out)
{
    int chosen = 0, shortest = 0, before = 0;
    for (int i = 1; i < n; i++) {
        chosen = is_before(run[i], run[chosen]) ? i : chosen;
        shortest = run[i]->run->step_seconds < run[shortest]->run->step_seconds ? i : shortest;
    }
    for (int i = 0; i < n; i++)
        before += is_before(run[i], run[shortest]);
    double regret = run[chosen]->run->step_seconds / run[shortest]->run->step_seconds - 1;
    out->n_groups++;
    out->n_runs += n;
    out->sum += regret;
    out->n_first += before == 0;
    out->n_three += before < 3;
    if (out->n_groups == 1 || regret > out->worst) {
        out->worst = regret;
        out->n_worst = n;
        out->chosen = run[chosen]->run;
        out->shortest = run[shortest]->run;
    }
}

judged_choices judge_choices(const judged_run *runs, int n)
{
    judged_choices out = {0};
    judged_run **priced = malloc(((size_t)n + 1) * sizeof(*priced));
    int count = 0;
    for (int i = 0; i < n && priced; i++) {
        out.n_without += isnan(runs[i].predicted);
        if (!isnan(runs[i].predicted))
            priced[count++] = (judged_run *)&runs[i];
    }
    if (count > 0)
        qsort(priced, (size_t)count, sizeof(*priced), by_choice);
    for (int from = 0, to; from < count; from = to) {
        for (to = from + 1; to < count && by_choice(&priced[from], &priced[to]) == 0;)
            to++;
        if (has_two_layouts(priced + from, to - from))
            judge_choice(priced + from, to - from, &out);
    }
    free(priced);
    return out;
}

void judge_add_choices(judged_choices *to, const judged_choices *more)
{
    if (more->n_groups > 0 && (to->n_groups == 0 || more->worst > to->worst)) {
        to->worst = more->worst;
        to->n_worst = more->n_worst;
        to->chosen = more->chosen;
        to->shortest = more->shortest;
    }
    to->n_groups += more->n_groups;
    to->n_runs += more->n_runs;
    to->n_without += more->n_without;
    to->n_first += more->n_first;
    to->n_three += more->n_three;
    to->sum += more->sum;
}
