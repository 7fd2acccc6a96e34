/* Writes a predicted step as a timeline: the blocks of every stage as ek_cost_step() runs them, the time after the last
 * one, and the memory of the stage after each block. Nanoseconds. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "evenkeel/cost.h"
#include "evenkeel/memory.h"
#include "report/report_internal.h"
#include "view/plan.h"

#define NS 1e9

enum { ARGS_SIZE = 512 };

typedef struct filler {
    const ek_view_step *step;
    const ek_step_run *run;
    const ek_timeline *t;
    ek__view_timeline *out;
} filler;

static bool present(const ek_view_run *run)
{
    return run->step != NULL;
}

static double mb(int64_t bytes)
{
    return (double)bytes / (1 << 20);
}

/* Memory at the blocks of a stage; NULL where it is not known or not of these blocks. */
static const ek_memory_moment *moments_of(const filler *f, int stage)
{
    const ek_memory_course *m = f->step->memory;
    size_t n = f->t->first[stage + 1] - f->t->first[stage];
    return m && m->n_blocks == n ? m->moment + (size_t)stage * n : NULL;
}

/* ---- rows ---- */

static void event(const filler *f, const char *name, ek_view_type type, double begin, double end)
{
    if (end > begin)
        ek__timeline_event(f->out, NS * begin, NS * (end - begin), ek__timeline_name(f->out, name, strlen(name), type),
                           NULL, 0);
}

static void block_event(const filler *f, int stage, size_t k, int repeat)
{
    const ek_interval *b = &f->t->block[k];
    const ek_memory_moment *moment = moments_of(f, stage);
    const ek_plan *plan = &f->step->job->plan;
    double from = repeat * f->t->step_time;
    char name[EK__VIEW_BLOCK_SIZE], kinds[EK__VIEW_KINDS_SIZE], args[ARGS_SIZE];
    int cell = ek_cell_at(f->t->schedule->placement, f->t->shape.n_stages,
                          ek_position(f->t->schedule->placement, f->t->shape.n_stages, b->chunk, stage));
    ek_interval shown = *b;
    shown.micro_batch += (uint32_t)(repeat * f->t->shape.n_micro_batches);
    ek__view_block_name(f->t, &shown, name);
    ek__view_layer_kinds(plan, cell / plan->n_stages, cell % plan->n_stages, kinds);
    int n =
        snprintf(args, sizeof args, "{\"stage\":%d,\"chunk\":%d,\"micro-batch\":%u,\"layers by recomputation\":\"%s\"",
                 stage, b->chunk, (unsigned)shown.micro_batch, kinds);
    if (moment)
        n += snprintf(args + n, sizeof args - (size_t)n, ",\"memory during (MB)\":%s",
                      ek__short(mb(moment[k - f->t->first[stage]].peak)).text);
    n += snprintf(args + n, sizeof args - (size_t)n, "}");
    ek__timeline_event(f->out, NS * (from + b->start), NS * (b->end - b->start),
                       ek__timeline_name(f->out, name, strlen(name), ek__view_block_type(f->t, b)), args, (size_t)n);
}

static void fill_row(const filler *f, int stage)
{
    const ek_step_tail *tail = &f->run->tail[stage];
    ek__timeline_row(f->out);
    for (int repeat = 0; repeat < f->run->repeats; repeat++)
        for (size_t k = f->t->first[stage]; k < f->t->first[stage + 1]; k++)
            block_event(f, stage, k, repeat);
    event(f, "gradients", EK_VIEW_COMMUNICATION, tail->blocks, tail->gradients);
    event(f, "norm and optimizer", EK_VIEW_OPTIMIZER, tail->barrier, tail->update);
    event(f, "weights", EK_VIEW_COMMUNICATION, tail->update, tail->weights);
}

/* The host's part, late ranks, input: once a step, after the last stage. */
static void fill_rest(const filler *f)
{
    double end = 0;
    for (int s = 0; s < f->t->shape.n_stages; s++)
        end = fmax(end, f->run->tail[s].weights);
    if (f->run->seconds - end < 1e-9 * f->run->seconds)
        return;
    ek__timeline_group(f->out, "once a step", -1, -1);
    ek__timeline_track(f->out, "host, late ranks, input", "other", 1);
    ek__timeline_row(f->out);
    event(f, "host, late ranks, input", EK_VIEW_HOST_RUNTIME, end, f->run->seconds);
}

static void fill_arrows(const filler *f, const ek_wait *wait, const int *stage_of)
{
    const ek_timeline *t = f->t;
    for (size_t k = 0; k < t->n_blocks; k++) {
        ptrdiff_t source = wait[k].source;
        if (source == EK_NO_BLOCK || stage_of[source] == stage_of[k])
            continue;
        const ek_interval *from = &t->block[source];
        double leaves = from->end - (from->end - from->start) / 1000; /* inside its block */
        ek__timeline_arrow(f->out, stage_of[source], NS * leaves, stage_of[k], NS * t->block[k].start,
                           t->block[k].kind == EK_FORWARD ? "activations" : "gradients");
    }
}

static ek_status add_arrows(const filler *f, ek_error *err)
{
    const ek_timeline *t = f->t;
    ek_wait *wait = ek__alloc(t->n_blocks + 1, sizeof *wait);
    int *stage_of = ek__alloc(t->n_blocks + 1, sizeof *stage_of);
    ek_status status = wait && stage_of ? ek_timeline_waits(t, wait, err) : ek__no_memory(err);
    if (!status) {
        for (int s = 0; s < t->shape.n_stages; s++)
            for (size_t k = t->first[s]; k < t->first[s + 1]; k++)
                stage_of[k] = s;
        fill_arrows(f, wait, stage_of);
    }
    free(wait);
    free(stage_of);
    return status;
}

/* ---- memory ---- */

/* The largest memory during a block, then the memory after it. */
static ek_status add_curve(const filler *f, int stage, ek_error *err)
{
    const ek_timeline *t = f->t;
    const ek_memory_moment *moment = moments_of(f, stage);
    size_t n_blocks = t->first[stage + 1] - t->first[stage], most = 2 * n_blocks * (size_t)f->run->repeats + 2, n = 0;
    double limit = f->step->job->limit_mb;
    if (!moment)
        return EK_OK;
    double *time = ek__alloc(most, sizeof *time), *value = ek__alloc(most, sizeof *value);
    if (time && value) {
        value[n++] = mb(f->step->memory->whole_step[stage]);
        for (int repeat = 0; repeat < f->run->repeats; repeat++)
            for (size_t k = 0; k < n_blocks; k++) {
                const ek_interval *b = &t->block[t->first[stage] + k];
                time[n] = NS * (repeat * t->step_time + b->start);
                value[n++] = mb(moment[k].peak);
                time[n] = NS * (repeat * t->step_time + b->end);
                value[n++] = mb(moment[k].after);
            }
        time[n] = NS * f->run->seconds;
        value[n] = value[n - 1];
        n++;
        ek__timeline_curve(f->out, "memory", stage, "MB", limit > 0 ? limit : NAN, true, time, value, n);
    }
    bool fine = time && value;
    free(time);
    free(value);
    return fine ? EK_OK : ek__no_memory(err);
}

/* ---- all of it ---- */

static ek_status timeline(const ek_view_run *run, bool served, ek__view_timeline **out, ek_error *err)
{
    (void)served;
    const filler f = {run->step, run->step->run, &run->step->run->pipeline, ek__timeline_new("ns", NULL)};
    ek_status status = EK_OK;
    if (!f.out)
        return ek__no_memory(err);
    for (int s = 0; s < f.t->shape.n_stages; s++) {
        char name[32];
        snprintf(name, sizeof name, "stage %d", s);
        ek__timeline_group(f.out, name, -1, s);
        ek__timeline_track(f.out, "blocks", "stage", 1);
        fill_row(&f, s);
    }
    fill_rest(&f);
    if (f.t->shape.n_stages > 1)
        status = add_arrows(&f, err);
    for (int s = 0; s < f.t->shape.n_stages && !status; s++)
        status = add_curve(&f, s, err);
    ek__timeline_span(f.out, 0, NS * f.run->seconds);
    if (status)
        ek__timeline_free(f.out);
    else
        *out = f.out;
    return status;
}

const ek__view_part ek__view_part_step = {.present = present, .timeline = timeline};
