/* Reads profiles as a source: each folder's files are read as one run, so that the waits of one rank are known from the
 * others, then operators are added to the table of kernels, collectives to the fit of links, launches to the host, and
 * the step to the runs. The only fit here is that of curves with enough shapes. */
#include "calibrate/profile.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/median.h"
#include "cost/kernel.h"

#define MOST_LAUNCH_US                                                                                                 \
    200              /* as src/cost/constants.c has it: beyond it the host did something else between launches         \
                      */
#define COMPILED 0.1 /* share of kernels that a compiler made, above which the run is a compiled one */

/* ---- which files are one run ---- */

/* Up to its last slash but one at the end. */
static size_t folder_size(const char *path)
{
    size_t n = strlen(path);
    while (n > 0 && path[n - 1] == '/')
        n--;
    while (n > 0 && path[n - 1] != '/')
        n--;
    return n;
}

/* A file, or the folder that torch_npu and MindSpore write for one rank. */
static bool is_of_a_rank(const char *path)
{
    static const char *const ending[] = {"_ascend_pt", "_ascend_ms"};
    struct stat about;
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/')
        n--;
    for (size_t i = 0; i < sizeof ending / sizeof *ending; i++)
        if (n > strlen(ending[i]) && strncmp(path + n - strlen(ending[i]), ending[i], strlen(ending[i])) == 0)
            return true;
    return stat(path, &about) == 0 && !S_ISDIR(about.st_mode);
}

/* Another folder is a separate run: its reader walks through it. */
static bool is_one_run(const char *a, const char *b)
{
    size_t n = folder_size(a);
    return n == folder_size(b) && strncmp(a, b, n) == 0 && is_of_a_rank(a) && is_of_a_rank(b);
}

/* Those of the run that begins with the source i, that one first. */
static int paths_of(const ek__collected *c, int i, bool *done, const char **path)
{
    int n = 0;
    for (int j = i; j < c->n_sources; j++)
        if (c->source[j].kind == EK_SOURCE_PROFILE && !done[j] &&
            (j == i || is_one_run(c->source[i].path, c->source[j].path))) {
            done[j] = true;
            path[n++] = c->source[j].path;
        }
    return n;
}

/* ---- missing data ---- */

static void note(ek_calibrated_profile *p, const char *text)
{
    for (int i = 0; i < EK_N_PROFILE_NOTES; i++)
        if (!p->note[i][0]) {
            snprintf(p->note[i], sizeof p->note[i], "%s", text);
            return;
        }
}

static void note_operators(bool torch, ek_calibrated_profile *p)
{
    long long others = 0;
    for (int i = 0; i < EK_N_PROFILE_LEFT; i++)
        others += i == EK_PROFILE_NO_SHAPES ? 0 : p->n_operators[i];
    if (others == 0 && p->n_operators[EK_PROFILE_NO_SHAPES] > 0)
        note(p, torch ? "no operator has shapes: profile with torch.profiler.profile(record_shapes=True)"
                      : "no operator has shapes: profile with profiler_level Level1 or above (torch_npu: "
                        "_ExperimentalConfig(profiler_level=ProfilerLevel.Level1), mindspore.profiler likewise)");
    else if (others == 0)
        note(p, torch ? "no kernel of the device is in it: profile with ProfilerActivity.CUDA"
                      : "no operators of the device are in it: give the whole folder, with kernel_details.csv");
}

static void note_missing(const ek_trace_run *run, ek_calibrated_profile *p)
{
    bool torch = run->n_ranks > 0 && run->rank[0].producer == EK_PRODUCER_KINETO;
    note_operators(torch, p);
    long long sized = 0;
    for (int i = 0; i < EK_N_PROFILE_COLLECTIVES; i++)
        sized += i == EK_PROFILE_UNSIZED || i == EK_PROFILE_UNMODELLED ? 0 : p->n_collectives[i];
    if (p->n_collectives[EK_PROFILE_UNSIZED] > 0 && sized == 0)
        note(p, torch
                    ? "no collective has bytes and group: profile with ProfilerActivity.CPU, with PyTorch 2.2 or later"
                    : "no collective has bytes and group: give the whole folder, with communication.json and "
                      "communication_matrix.json (profiler_level Level1 or above)");
    else if (p->n_collectives[EK_PROFILE_SHORTEST] > 0)
        note(p, "waiting for other ranks may be inside its collectives: give the profiles of all ranks");
}

/* ---- the host ---- */

/* Recording Python's stacks slows the host down several times. */
static bool has_stacks(const ek_trace_run *run)
{
    for (int r = 0; r < run->n_ranks; r++) {
        const ek_trace_rank *rank = &run->rank[r];
        if (rank->profiler_info && strstr(rank->profiler_info, "\"with_stack\": true"))
            return true;
        for (int i = 0; i < rank->counts.n_categories; i++)
            if (strcmp(rank->counts.category[i].name, "python_function") == 0)
                return true;
    }
    return false;
}

/* Median over the ranks. The host's time of a layer stays: it is added to its launches. */
static ek_status read_launches(const ek_trace_run *run, ek_device *device, ek_calibrated_profile *p, ek_error *err)
{
    double *time = ek__alloc((size_t)run->n_ranks, sizeof *time), compiled = 0;
    size_t n = 0;
    if (!time)
        return ek__no_memory(err);
    for (int r = 0; r < run->n_ranks; r++) {
        const ek_trace_measured *m = &run->rank[r].measured;
        compiled += m->share_compiled / run->n_ranks;
        if (m->n_intervals < EK_TRACE_LEAST_LAUNCHES || m->graphs ||
            !(m->launch > 0 && m->launch * 1e-3 <= MOST_LAUNCH_US))
            continue;
        time[n++] = m->launch * 1e-3;
        p->n_intervals += m->n_intervals;
    }
    p->launch = compiled > COMPILED ? EK_LAUNCH_COMPILED : EK_LAUNCH_EAGER;
    p->launch_us = n > 0 ? ek__median(time, n) : (double)NAN;
    p->launch_used = n > 0 && !has_stacks(run);
    if (p->launch_used)
        device->host.kernel_us[p->launch] = p->launch_us;
    free(time);
    return EK_OK;
}

/* ---- the step ---- */

static int world_of(const ek_trace_run *run)
{
    int world = run->topology.world_size;
    for (int r = 0; r < run->n_ranks; r++)
        world = run->rank[r].world_size > world ? run->rank[r].world_size : world;
    return world;
}

/* A measured run of the job next to it, unless a log has the job's step without the profiler's overhead. */
static ek_status read_step(const ek_trace_run *run, int source, ek__collected *c, ek_calibrated_profile *p,
                           ek_error *err)
{
    ek_trace_step_time step = ek_trace_run_step(run);
    int of = ek__collected_job(c, source), world = world_of(run);
    p->step_seconds = step.ns != EK_TRACE_UNKNOWN && step.ns > 0 ? (double)step.ns * 1e-9 : (double)NAN;
    if (isnan(p->step_seconds) || of < 0 || ek__collected_has_log(c, &c->job[of]))
        return EK_OK;
    const ek_job *job = &c->job[of];
    const ek_job_parallel *a = &job->parallel;
    double devices = (double)a->data * a->tensor * a->pipeline * a->context;
    const ek_origin origin = {c->source[source].path, 0, 0};
    if (world > 0 && world != devices)
        return ek__fail(err, EK_ERR_INPUT, origin,
                        "the profile is of %d devices, but the job '%.200s' of %.0f; give the job that it is of", world,
                        c->source[of].path, devices);
    ek__run_item *item = ek__collected_add(c);
    if (!item)
        return ek__no_memory(err);
    item->job = job;
    item->seconds = p->step_seconds;
    item->origin = origin;
    ek__run_item_name(job, item);
    p->step_used = true;
    return EK_OK;
}

/* ---- a run ---- */

/* Operators and collectives of the ranks that the source's files are of. */
static void count_source(const ek_trace_run *run, struct ek_calibration_source *source)
{
    size_t size = strlen(source->path);
    long long n = 0;
    for (int r = 0; r < run->n_ranks; r++)
        for (int i = 0; i < run->rank[r].n_sources; i++)
            if (strncmp(run->rank[r].source[i].path, source->path, size) == 0) {
                n += run->rank[r].measured.n_executions + run->rank[r].communication.n_collectives;
                break;
            }
    source->n = n < INT32_MAX ? (int)n : INT32_MAX;
}

typedef struct taking {
    const ek_calibrate_input *input;
    ek__collected *c;
    ek_calibration *out;
    bool *done;        /* [n_sources] */
    const char **path; /* [n_sources] scratch */
    ek__profile_rows rows;
} taking;

/* Counts of each kind, and the error of the start on them. */
static ek_status count_shapes(const ek__profile_rows *rows, const ek_device *start, ek_calibrated_profile *p,
                              ek_error *err)
{
    double *error = ek__alloc((size_t)rows->n, sizeof *error);
    if (!error)
        return ek__no_memory(err);
    for (int k = 0; k < EK_N_KERNEL_KINDS; k++) {
        size_t n = 0;
        for (int i = 0; i < rows->n; i++)
            if ((int)rows->at[i].kernel.kind == k)
                error[n++] = fabs(ek__kernel_seconds(start, &rows->at[i].kernel).seconds / rows->at[i].seconds - 1);
        p->n_shapes[k] = (int)n;
        p->start_error[k] = ek__median(error, n);
    }
    free(error);
    return EK_OK;
}

/* The rows of this run are merged first, so that the report counts its own shapes. */
static ek_status read_operators(taking *t, const ek_trace_run *run, ek_calibrated_profile *p, ek_error *err)
{
    ek__profile_rows own = {0};
    ek_status status = ek__profile_operators(run, &t->out->device, &own, p, err);
    if (status == EK_OK) {
        ek__profile_merge(&own);
        status = count_shapes(&own, &t->out->device, p, err);
    }
    for (int i = 0; i < own.n && status == EK_OK; i++) {
        ek__profile_row *grown = ek__with_room(t->rows.at, &t->rows.room, (size_t)t->rows.n + 1, sizeof *grown);
        if (!grown)
            status = ek__no_memory(err);
        else {
            t->rows.at = grown;
            t->rows.at[t->rows.n++] = own.at[i];
        }
    }
    free(own.at);
    return status;
}

static ek_status parse_run(taking *t, const ek_trace_run *run, int source, ek_calibrated_profile *p, ek_error *err)
{
    snprintf(p->path, sizeof p->path, "%s", t->c->source[source].path);
    p->n_ranks = run->n_ranks;
    ek_status status = read_operators(t, run, p, err);
    if (status == EK_OK)
        status = ek__profile_links(run, t->out->device.devices_per_node, &t->c->link[source], p, err);
    if (status == EK_OK)
        status = read_launches(run, &t->out->device, p, err);
    if (status == EK_OK)
        status = read_step(run, source, t->c, p, err);
    for (int i = 0; i < t->c->n_sources && status == EK_OK; i++)
        if (t->c->source[i].kind == EK_SOURCE_PROFILE && (i == source || is_one_run(p->path, t->c->source[i].path)))
            count_source(run, &t->c->source[i]);
    note_missing(run, p);
    return status;
}

static ek_status read_run(taking *t, int source, ek_error *err)
{
    const ek_calibrate_input *in = t->input;
    const ek_trace_options options = {
        .measure = true, .progress = in->progress, .user = in->progress_user, .interrupt = in->interrupt};
    ek_trace_run run;
    int n = paths_of(t->c, source, t->done, t->path);
    ek_status status = ek_trace_run_read(t->path, n, &options, in->listener, &run, err);
    if (status)
        return status;
    status = parse_run(t, &run, source, &t->out->profile[t->out->n_profiles++], err);
    ek_trace_run_clear(&run);
    return status;
}

static ek_status read_all(taking *t, ek_error *err)
{
    bool fitted[EK_N_KERNEL_KINDS] = {false};
    ek_status status = EK_OK;
    for (int i = 0; i < t->c->n_sources && status == EK_OK; i++)
        if (t->c->source[i].kind == EK_SOURCE_PROFILE && !t->done[i])
            status = read_run(t, i, err);
    if (status)
        return status;
    ek__profile_merge(&t->rows); /* of several runs */
    status = ek__profile_fit(&t->rows, t->out, fitted, err);
    for (int i = 0; i < t->out->n_profiles; i++)
        memcpy(t->out->profile[i].fitted, fitted, sizeof fitted);
    return status;
}

static int count_profiles(const ek__collected *c)
{
    int n = 0;
    for (int i = 0; i < c->n_sources; i++)
        n += c->source[i].kind == EK_SOURCE_PROFILE;
    return n;
}

static bool gave_something(const ek_calibrated_profile *p)
{
    return p->n_operators[EK_PROFILE_TAKEN] > 0 || p->n_link_times > 0 || p->launch_used || p->step_used;
}

/* Profiles without data are not an error if there are other sources. */
static ek_status check_any(const ek__collected *c, const ek_calibration *out, ek_error *err)
{
    for (int i = 0; i < out->n_profiles; i++)
        if (gave_something(&out->profile[i]))
            return EK_OK;
    for (int i = 0; i < c->n_sources; i++)
        if (c->source[i].kind != EK_SOURCE_PROFILE && c->source[i].kind != EK_SOURCE_JOB)
            return EK_OK;
    const ek_origin origin = {out->profile[0].path, 0, 0};
    return ek__fail(err, EK_ERR_INPUT, origin,
                    "there is nothing to calibrate to: no operators with shapes, no collectives with sizes, no "
                    "launches; %.240s",
                    out->profile[0].note[0]);
}

ek_status ek__profiles_take(const ek_calibrate_input *input, ek__collected *c, ek_calibration *out, ek_error *err)
{
    int n = count_profiles(c);
    if (n == 0)
        return EK_OK;
    taking t = {.input = input,
                .c = c,
                .out = out,
                .done = ek__alloc((size_t)c->n_sources, sizeof *t.done),
                .path = ek__alloc((size_t)c->n_sources, sizeof *t.path)};
    out->profile = ek__alloc((size_t)n, sizeof *out->profile);
    ek_status status = t.done && t.path && out->profile ? read_all(&t, err) : ek__no_memory(err);
    if (status == EK_OK)
        status = check_any(c, out, err);
    free(t.done);
    free(t.path);
    free(t.rows.at);
    return status;
}
