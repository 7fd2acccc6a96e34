/* Explains why a space has no layout. Legal values of an axis are collected from the space with that axis open: layouts
 * with a new value are made into jobs and checked. An axis without a legal value in its range, with all others open, is
 * the only cause; otherwise axes are opened one by one with the others fixed; otherwise the cause is the number of
 * devices. */
#include "layout/none_legal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "evenkeel/layers.h"
#include "layout/space.h"

enum { MOST_VALUES = 256, MOST_SHOWN = 24, MOST_AWAY = 64 };

typedef struct values {
    int n, value[MOST_VALUES]; /* ascending */
} values;

static bool has(const values *v, int value)
{
    for (int i = 0; i < v->n; i++)
        if (v->value[i] == value)
            return true;
    return false;
}

static void insert(values *v, int value)
{
    int i = v->n;
    if (v->n == MOST_VALUES)
        return;
    for (; i > 0 && v->value[i - 1] > value; i--)
        v->value[i] = v->value[i - 1];
    v->value[i] = value;
    v->n++;
}

/* ---- legal values ---- */

static bool runs(const ek_job *job, const ek_layout *layout, ek_status *status)
{
    ek_error why;
    ek_job made;
    ek_status failed = ek_layout_job(job, layout, &made, &why);
    if (!failed)
        ek_job_clear(&made);
    else if (failed != EK_ERR_INPUT)
        *status = failed;
    return !failed;
}

static bool schedule_allows(const ek__space *space, const ek__layout_group *group, int n_chunks)
{
    for (int s = 0; s < space->options->n_schedules; s++)
        if (ek__space_allows(space, group, n_chunks, space->options->schedule[s]))
            return true;
    return false;
}

/* Values of an axis in one group of the space: one, except for chunks. */
static ek_status add_group(const ek__space *space, const ek__layout_group *group, ek_layout_axis axis, values *out)
{
    ek_status status = EK_OK;
    int most = ek__space_most_chunks(space, group), runs_it = -1;
    for (int v = 1; v <= most && !status; v++) {
        int value = axis == EK_AXIS_CHUNKS ? v : group->layout.value[axis];
        if (has(out, value) || !schedule_allows(space, group, v))
            continue;
        if (runs_it < 0)
            runs_it = runs(space->job, &group->layout, &status);
        if (runs_it == 1)
            insert(out, value);
    }
    return status;
}

static ek_status values_of(const ek_job *job, const ek_layout_options *options, ek_layout_axis axis, values *out,
                           ek_error *err)
{
    ek__space space;
    *out = (values){0};
    ek_status status = ek__space_new(job, options, &space, err);
    if (status)
        return status == EK_ERR_INPUT ? EK_OK : status;
    for (size_t i = 0; i < space.n_groups && !status; i++)
        status = add_group(&space, &space.group[i], axis, out);
    ek__space_clear(&space);
    return status ? ek__no_memory(err) : EK_OK;
}

static bool is_held(const ek_layout_options *options, int axis)
{
    return options->range[axis].least > 0 || options->range[axis].most > 0;
}

/* Open over the whole possible range of the axis, not only the search's default range. */
static void open_axis(ek_layout_options *options, int axis)
{
    options->range[axis] = (ek_layout_range){0, 0};
    if (axis == EK_AXIS_CHUNKS)
        options->range[axis] = (ek_layout_range){1, EK_MAX_CHUNKS};
    if (axis == EK_AXIS_BATCH)
        options->range[axis] = (ek_layout_range){1, 1 << 10};
    if (axis == EK_AXIS_TABLE || axis == EK_AXIS_SUMS || axis == EK_AXIS_FINE)
        options->range[axis] = (ek_layout_range){1, EK_MAX_RANKS};
}

/* ---- in words ---- */

static const char *list(const values *v, char *text, size_t size)
{
    size_t used = 0;
    text[0] = '\0';
    for (int i = 0; i < v->n && i < MOST_SHOWN && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%d", i ? ", " : "", v->value[i]);
    if (v->n > MOST_SHOWN && used < size)
        snprintf(text + used, size - used, ", ...");
    return text;
}

static int64_t batch_of(const ek_job *job, const ek_layout_options *options)
{
    const ek_job_parallel *p = &job->parallel;
    int accumulated = p->n_micro_batches * (p->n_accumulation > 1 ? p->n_accumulation : 1);
    return options->global_batch > 0 ? options->global_batch
                                     : (int64_t)p->data * p->batch * p->n_batch_interleave * accumulated;
}

/* The framework's requirements of an axis, except for the devices. */
static void rule_of(const ek_job *job, const ek_layout_options *o, ek_layout_axis axis, char *text, size_t size)
{
    const ek_job_model *m = &job->model;
    int layers = m->n_layers + m->n_prediction_layers;
    switch (axis) {
    case EK_AXIS_TENSOR:
        snprintf(text, size, "it has to divide them and %d heads", m->n_heads);
        break;
    case EK_AXIS_CONTEXT:
        snprintf(text, size, "it has to divide them and a sequence of %d tokens", job->parallel.seq_length);
        break;
    case EK_AXIS_EXPERT:
        snprintf(text, size, m->n_experts > 0 ? "it has to divide the ranks of a stage and %d experts" : "no experts",
                 m->n_experts);
        break;
    case EK_AXIS_PIPELINE:
        snprintf(text, size, "it has to divide them, as the schedules run it, with at most %d layers", layers);
        break;
    case EK_AXIS_CHUNKS:
        snprintf(text, size, "pp x vpp is at most %d layers, as the schedules run it", layers);
        break;
    case EK_AXIS_DATA:
    case EK_AXIS_BATCH:
        snprintf(text, size, "dp x batch has to divide the global batch of %" PRId64, batch_of(job, o));
        break;
    case EK_AXIS_SHARD:
        snprintf(text, size, "it has to divide dp x cp");
        break;
    case EK_AXIS_FINE:
        snprintf(text, size,
                 "turns inside layers are MindFormers' Llama's, with sequence parallelism and without copies");
        break;
    case EK_AXIS_TABLE:
        snprintf(text, size, "it is 1 or shard, and MindFormers' Llama's");
        break;
    case EK_AXIS_SUMS:
        snprintf(text, size, "it is 1 or shard, and MindFormers'");
        break;
    case EK_AXIS_COPIES:
    default:
        snprintf(text, size, "copies side by side are MindFormers', with tp above 1");
        break;
    }
}

static const char *range_words(ek_layout_range range, char *text, size_t size)
{
    if (range.least == range.most)
        snprintf(text, size, "%d", range.least);
    else if (range.most > 0)
        snprintf(text, size, "%d:%d", range.least, range.most);
    else
        snprintf(text, size, "%d and more", range.least);
    return text;
}

/* ---- causes ---- */

static ek_status blame_axis(const ek_job *job, const ek_layout_options *o, int axis, const values *legal, ek_error *err)
{
    char rule[160], all[512], range[64];
    rule_of(job, o, (ek_layout_axis)axis, rule, sizeof rule);
    return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "%s cannot be %s on %d devices: %s; %s %s",
                    ek_layout_axis_option[axis], range_words(o->range[axis], range, sizeof range), o->n_devices, rule,
                    legal->n > 1 ? "legal values are" : "the only legal value is", list(legal, all, sizeof all));
}

static bool any_in(const values *v, ek_layout_range range)
{
    for (int i = 0; i < v->n; i++)
        if (v->value[i] >= range.least && (range.most <= 0 || v->value[i] <= range.most))
            return true;
    return false;
}

/* A single axis that rules everything out. *found: there is one, and the error is written. */
static ek_status look_alone(const ek_job *job, const ek_layout_options *o, bool *found, ek_error *err)
{
    ek_status status = EK_OK;
    for (int i = 0; i < EK_N_LAYOUT_AXES && !status && !*found; i++) {
        ek_layout_options open = *o;
        values legal;
        if (!is_held(o, i))
            continue;
        for (int j = 0; j < EK_N_LAYOUT_AXES; j++)
            open.range[j] = (ek_layout_range){0, 0};
        open_axis(&open, i);
        open.sequence_parallel = -1;
        status = values_of(job, &open, (ek_layout_axis)i, &legal, err);
        if (status || legal.n == 0 || any_in(&legal, o->range[i]))
            continue;
        *found = true;
        (void)blame_axis(job, o, i, &legal, err);
    }
    return status;
}

/* Conflicting axes: the first one that leaves a layout when it is opened. */
static ek_status look_together(const ek_job *job, const ek_layout_options *o, bool *found, ek_error *err)
{
    ek_status status = EK_OK;
    for (int i = EK_N_LAYOUT_AXES - 1; i >= 0 && !status && !*found; i--) {
        ek_layout_options open = *o;
        values legal;
        char all[512], range[64];
        if (!is_held(o, i))
            continue;
        open_axis(&open, i);
        status = values_of(job, &open, (ek_layout_axis)i, &legal, err);
        if (status || legal.n == 0)
            continue;
        *found = true;
        (void)ek__fail(err, EK_ERR_INPUT, EK__NOWHERE,
                       "%s %s does not go together with the other axes on %d devices with a global batch of %" PRId64
                       ": as these are, it may be %s",
                       ek_layout_axis_option[i], range_words(o->range[i], range, sizeof range), o->n_devices,
                       batch_of(job, o), list(&legal, all, sizeof all));
    }
    return status;
}

/* The nearest numbers of devices that have a layout, below and above. */
static ek_status nearest_devices(const ek_job *job, const ek_layout_options *o, values *out, ek_error *err)
{
    ek_status status = EK_OK;
    *out = (values){0};
    for (int sign = -1; sign <= 1; sign += 2)
        for (int away = 1, some = 0; away <= MOST_AWAY && !some && !status; away++) {
            ek_layout_options other = *o;
            values legal;
            other.n_devices += sign * away;
            if (other.n_devices < 1 || other.n_devices > EK_MAX_RANKS)
                break;
            status = values_of(job, &other, EK_AXIS_DATA, &legal, err);
            some = !status && legal.n > 0;
            if (some)
                insert(out, other.n_devices);
        }
    return status;
}

static ek_status blame_devices(const ek_job *job, const ek_layout_options *o, ek_error *err)
{
    const ek_job_model *m = &job->model;
    values near;
    char all[512], hint[600] = "";
    ek_status status = nearest_devices(job, o, &near, err);
    if (status)
        return status;
    if (near.n > 0)
        snprintf(hint, sizeof hint, "; the nearest numbers of devices that have a layout: %s",
                 list(&near, all, sizeof all));
    return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE,
                    "%d devices do not factor into dp x tp x cp x pp as the framework runs it: dp divides the global "
                    "batch of %" PRId64 ", tp %d heads, cp %d tokens, and pp is at most %d layers%s",
                    o->n_devices, batch_of(job, o), m->n_heads, job->parallel.seq_length,
                    m->n_layers + m->n_prediction_layers, hint);
}

ek_status ek__layout_none_legal(const ek_job *job, const ek_layout_options *options, ek_error *err)
{
    bool found = false;
    ek_status status = look_alone(job, options, &found, err);
    if (!status && !found)
        status = look_together(job, options, &found, err);
    if (status)
        return status;
    return found ? EK_ERR_INPUT : blame_devices(job, options, err);
}
