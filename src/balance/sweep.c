/* Runs a sweep: one balance for each value on a pool of threads, and the exchange of plans and bounds between
 * neighbours. A larger memory limit can only help, so a plan is offered to every value that it fits, and a bound for a
 * limit is valid for the smaller ones: the rows are monotone even if the clock ended some of them. */
#include "evenkeel/sweep.h"
#include "evenkeel/layers.h"
#include "evenkeel/sequence.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "balance/search.h"
#include "base/c_locale.h"
#include "base/error.h"
#include "base/threads.h"
#include "base/watch.h"
#include "evenkeel/evenkeel.h"
#include "plan/plan_pack.h"
#include "team/deal.h"

static const ek_swept_quantity ek__swept_quantities[EK_N_SWEPT] = {
    {{"mem", "memory limit of a stage, MB"}, NULL, 1, 1e9, false},
    {{"i", "chunks per stage"}, "chunk per stage", 1, EK_MAX_CHUNKS, true},
    {{"mb", "micro-batches"}, "micro-batch", 1, EK_MAX_MICRO_BATCHES, true},
    {{"s", "stages"}, "stage", 1, EK_MAX_STAGES, true},
    {{"seq", "sequence pieces of a micro-batch"}, NULL, 1, 1024, true},
};
const ek_swept_quantity *const ek_swept_quantities = ek__swept_quantities;

/* The rows that threads take one by one, and their shared state. */
typedef struct sweeper {
    const ek_sweep_input *input;
    int n;
    ek_sweep_row *row;                     /* [n] */
    ek_layers pieces[EK_MAX_SWEEP_VALUES]; /* cut for the value, when pieces are swept */
    ek_balance_options options;            /* of one value */
    int workers;
    double start;
    atomic_int next, done;
    atomic_bool no_memory; /* for the search of some value */
    /* With other processes: */
    ek_interrupt stop; /* process 0 was interrupted */
} sweeper;

/* ---- one value ---- */

static ek_sweep_row empty_row(double value)
{
    return (ek_sweep_row){.value = value, .step_time = INFINITY, .lower_bound = NAN, .smallest_limit_mb = NAN};
}

/* The shape with one of its sizes replaced by a value; micro-batches are whole ones. */
static ek_shape shape_at(const ek_sweep_input *in, double value)
{
    ek_shape shape = {.n_stages = in->n_stages,
                      .n_chunks = in->n_chunks,
                      .n_micro_batches = in->n_micro_batches,
                      .n_pieces = in->n_pieces > 1 ? in->n_pieces : 1};
    int whole = (int)value;
    switch (in->swept) {
    case EK_SWEPT_CHUNKS:
        shape.n_chunks = whole;
        break;
    case EK_SWEPT_MICRO_BATCHES:
        shape.n_micro_batches = whole;
        break;
    case EK_SWEPT_STAGES:
        shape.n_stages = whole;
        break;
    case EK_SWEPT_PIECES:
        shape.n_pieces = whole;
        break;
    default:
        break;
    }
    return shape;
}

static const ek_schedule *schedule_at(const ek_sweep_input *in, const ek_shape *shape)
{
    return in->schedule ? in->schedule : ek_schedule_for(shape->n_chunks, shape->n_pieces, in->less_memory);
}

/* An answer as a row, which takes the plan over. */
static ek_status store_answer(ek_sweep_row *row, const ek_layers *layers, const ek_order *order, const ek_comm *comm,
                              ek_balance_result *result, ek_error *err)
{
    ek_timeline timeline;
    row->status = result->status;
    row->smallest_limit_mb = result->smallest_limit_mb;
    if (result->status == EK_BALANCE_INFEASIBLE)
        return EK_OK;
    ek_status status = ek_simulate(order, &result->plan, layers, comm, &timeline, err);
    if (status)
        return status;
    row->step_time = timeline.step_time;
    row->lower_bound = result->lower_bound > 0 ? result->lower_bound : NAN;
    row->peak_memory_mb = ek_timeline_peak(&timeline, &row->peak_stage);
    row->plan = result->plan;
    result->plan = (ek_plan){0};
    ek_timeline_clear(&timeline);
    return EK_OK;
}

static void run_value(sweeper *s, int i, ek_sweep_row *row)
{
    const ek_sweep_input *in = s->input;
    const ek_layers *layers = in->swept == EK_SWEPT_PIECES ? &s->pieces[i] : in->layers;
    ek_shape shape = shape_at(in, row->value);
    const ek_schedule *schedule = schedule_at(in, &shape);
    ek_balance_options options = s->options;
    ek_order *order = NULL;
    ek_balance_result result = {0};
    ek_error err;
    void *own = NULL;
    row->n_micro_batches = shape.n_micro_batches;
    shape.n_micro_batches *= shape.n_pieces;
    if (in->swept == EK_SWEPT_MEMORY)
        options.memory_limit_mb = row->value;
    /* An equal share of the remaining time, including the unused time of earlier values. */
    double left = fmax(in->options.time_limit - (ek__now() - s->start), 0.001);
    options.time_limit = fmin(left, left * s->workers / (s->n - i));
    ek_status status = in->lists ? in->lists->fill(in->lists->user, &shape, &options, &own, &err) : EK_OK;
    bool filled = in->lists && status == EK_OK;
    if (status == EK_OK)
        status = ek_balance_arranged(layers, schedule, &shape, &options, &order, &result, &err);
    if (status == EK_OK)
        status = store_answer(row, layers, order, &options.comm, &result, &err);
    if (status == EK_ERR_MEMORY)
        atomic_store(&s->no_memory, true);
    if (status)
        snprintf(row->impossible, sizeof row->impossible, "%.199s", err.message);
    ek_balance_result_clear(&result);
    ek_order_free(order);
    if (filled)
        in->lists->release(own);
}

/* ---- all values ---- */

static void run_unless_interrupted(sweeper *s, int i, ek_sweep_row *row)
{
    if (ek_interrupted(s->options.interrupt))
        snprintf(row->impossible, sizeof row->impossible, "interrupted before it was searched");
    else
        run_value(s, i, row);
}

static void *work(void *user)
{
    sweeper *s = user;
    for (int i; (i = atomic_fetch_add(&s->next, 1)) < s->n;) {
        run_unless_interrupted(s, i, &s->row[i]);
        atomic_fetch_add(&s->done, 1);
    }
    return NULL;
}

static void watch(sweeper *s)
{
    const struct timespec tick = {.tv_nsec = 125000000};
    while (s->input->progress && atomic_load(&s->done) < s->n) {
        s->input->progress(s->input->user, atomic_load(&s->done), s->n);
        nanosleep(&tick, NULL);
    }
}

/* ---- values by other processes ---- */

static ek_status work_far(void *user, int i, const ek__packet *what, ek__packet *result, ek_error *err)
{
    sweeper *s = user;
    ek__pack to = {.at = NULL};
    ek_sweep_row row = empty_row(s->row[i].value);
    (void)what;
    run_unless_interrupted(s, i, &row);
    EK__PACK(&to, row);
    ek__plan_pack(&row.plan, &to);
    ek_plan_clear(&row.plan);
    return ek__packet_of(&to, atomic_load(&s->no_memory) ? ek__no_memory(err) : EK_OK, result, err);
}

static ek_status take_far(void *user, int i, const ek__packet *result, const ek_error *failed, ek_error *err)
{
    sweeper *s = user;
    ek__unpack from = ek__unpack_of(result->at, result->n);
    ek_sweep_row row = {.value = 0};
    if (failed) {
        *err = *failed;
        return failed->status;
    }
    EK__UNPACK(&from, row);
    row.plan = (ek_plan){0};
    ek_status status = ek__plan_unpack(&from, &row.plan, err);
    if (!status)
        status = ek__unpack_end(&from, err);
    if (status)
        ek_plan_clear(&row.plan);
    else
        s->row[i] = row;
    return status;
}

static void show_far(void *user, int n_done)
{
    const sweeper *s = user;
    if (s->input->progress)
        s->input->progress(s->input->user, n_done, s->n);
}

static uint64_t hash_of(const ek_layer *l, uint64_t from)
{
    const double head[] = {l->n_layers, l->forward_time, l->weight_time, l->parameter_mb};
    from = ek__hash(head, sizeof head, from);
    from = ek__hash(l->backward_time, sizeof l->backward_time, from);
    return ek__hash(l->activation_mb, sizeof l->activation_mb, from);
}

/* A hash of the program and its input: two machines may have different files. */
static void describe_input(const sweeper *s, char *text, size_t size)
{
    const ek_sweep_input *in = s->input;
    const double shape[] = {in->n_stages,   in->n_chunks, in->n_micro_batches,         in->n_pieces,
                            (double)s->n,   in->swept,    in->options.memory_limit_mb, (double)in->options.seed,
                            in->less_memory};
    uint64_t hash = ek__hash(shape, sizeof shape, ek__hash(in->value, (size_t)in->n * sizeof *in->value, 0));
    hash = hash_of(&in->layers->tail, hash_of(&in->layers->head, hash));
    for (int i = 0; i < in->layers->n_body; i++)
        hash = hash_of(&in->layers->body[i], hash);
    snprintf(text, size, "evenkeel %s with input %016llx", EK_VERSION, (unsigned long long)hash);
}

/* A value is searched by one process, with all of its threads. */
static ek_status run_values_together(sweeper *s, ek_error *err)
{
    const ek_sweep_input *in = s->input;
    char same[128];
    describe_input(s, same, sizeof same);
    const ek__deal_job job = {.user = s,
                              .n_items = s->n,
                              .take = take_far,
                              .progress = show_far,
                              .work = work_far,
                              .interrupt = in->options.interrupt,
                              .stop = &s->stop,
                              .patience = in->patience,
                              .same = same};
    s->workers = in->team->size;
    s->options = in->options;
    s->options.progress = NULL;
    s->options.interrupt = &s->stop;
    ek__deal_end end;
    ek_status status = ek__deal(in->team, &job, &end, err);
    if (!status)
        ek__deal_tell_of_lost(&end, in->patience, EK__OTHERS_DID_IT, in->listener);
    return status;
}

/* Values side by side, one thread each when there are more values than threads. */
static ek_status run_values(sweeper *s, ek_error *err)
{
    const ek_balance_options *given = &s->input->options;
    ek__threads threads;
    int n_threads = ek__thread_count(given->n_threads), why;
    assert(s->n > 0);
    if (s->input->team && s->input->team->size > 1)
        return run_values_together(s, err);
    /* CBC, which the solver `milp` calls, solves one model at a time. */
    bool alone = given->solver && strcmp(given->solver, "milp") == 0;
    s->workers = alone ? 1 : n_threads < s->n ? n_threads : s->n;
    s->options = *given;
    s->options.progress = NULL;
    s->options.n_threads = n_threads > s->workers ? n_threads / s->workers : 1;
    if (ek__threads_start(&threads, s->workers, work, s, 0, &why) == 0)
        return ek__fail(err, EK_ERR_SYSTEM, EK__NOWHERE, "cannot start a thread: %s", strerror(why));
    watch(s);
    ek__threads_join(&threads);
    return atomic_load(&s->no_memory) ? ek__no_memory(err) : EK_OK;
}

/* For each limit the row with the best plan that fits it; bounds of larger limits hold for smaller ones. */
static void find_best(sweeper *s, int *from)
{
    for (int i = 0; i < s->n; i++) {
        from[i] = i;
        for (int j = 0; j < s->n; j++) {
            const ek_sweep_row *best = &s->row[from[i]], *other = &s->row[j];
            if (other->plan.n_stages > 0 && other->peak_memory_mb <= s->row[i].value * (1 + 1e-9) &&
                other->step_time < best->step_time)
                from[i] = j;
            if (j > i && other->lower_bound > s->row[i].lower_bound)
                s->row[i].lower_bound = other->lower_bound;
        }
    }
}

/* Every limit takes the best plan that fits it, and the strictest bound. */
static ek_status share_plans(sweeper *s, ek_error *err)
{
    int from[EK_MAX_SWEEP_VALUES] = {0};
    find_best(s, from);
    /* From a copy: a row that gives its plan away may be replaced itself. */
    ek_sweep_row *given = ek__alloc((size_t)s->n, sizeof *given);
    if (!given)
        return ek__no_memory(err);
    memcpy(given, s->row, (size_t)s->n * sizeof *given);
    ek_status status = EK_OK;
    for (int i = 0; i < s->n; i++) {
        const ek_sweep_row *best = &given[from[i]];
        ek_sweep_row *row = &s->row[i];
        if (from[i] == i)
            continue;
        row->plan = (ek_plan){0}; /* `given` frees it */
        if (status == EK_OK)
            status = ek_plan_copy(&best->plan, &row->plan, err);
        row->step_time = best->step_time;
        row->peak_memory_mb = best->peak_memory_mb;
        row->peak_stage = best->peak_stage;
        /* A proof for a larger limit covers the smaller one. */
        row->status = from[i] > i && best->status == EK_BALANCE_OPTIMAL ? EK_BALANCE_OPTIMAL : EK_BALANCE_FEASIBLE;
    }
    for (int i = 0; i < s->n; i++)
        if (from[i] != i)
            ek_plan_clear(&given[i].plan);
    free(given);
    return status;
}

/* ---- before and after ---- */

/* Too short pieces become fewer: those values are one. */
static ek_status cut_pieces(sweeper *s, ek_error *err)
{
    const ek_sweep_input *in = s->input;
    int kept = 0;
    for (int i = 0; i < s->n; i++) {
        int k = ek_sequence_pieces(in->job, (int)s->row[i].value, in->listener);
        if (kept > 0 && s->row[kept - 1].value >= k)
            continue;
        ek_status status = ek_layers_split_sequence(in->layers, in->job, k, in->listener, &s->pieces[kept], err);
        if (status)
            return status;
        s->row[kept++].value = k;
    }
    s->n = kept;
    return EK_OK;
}

/* "16 stages, 3 chunks per stage, 16 micro-batches, 1f1b, limit 56 000 MB" without the swept quantity. */
static void describe(const ek_sweep_input *in, char *text, size_t size)
{
    const ek_shape shape = shape_at(in, 0);
    const int value[EK_N_SWEPT] = {[EK_SWEPT_CHUNKS] = shape.n_chunks,
                                   [EK_SWEPT_MICRO_BATCHES] = shape.n_micro_batches,
                                   [EK_SWEPT_STAGES] = shape.n_stages,
                                   [EK_SWEPT_PIECES] = shape.n_pieces};
    static const ek_swept shown[] = {EK_SWEPT_STAGES, EK_SWEPT_CHUNKS, EK_SWEPT_MICRO_BATCHES, EK_SWEPT_PIECES};
    int n = 0;
    text[0] = '\0';
    for (int i = 0; i < 4; i++) {
        const ek_swept_quantity *q = &ek_swept_quantities[shown[i]];
        int v = value[shown[i]];
        if (shown[i] != in->swept && (shown[i] != EK_SWEPT_PIECES || v > 1))
            n += snprintf(text + n, size - (size_t)n, "%s%d %s", n ? ", " : "", v, v == 1 ? q->one : q->key.title);
    }
    if (in->swept != EK_SWEPT_CHUNKS && in->swept != EK_SWEPT_PIECES)
        n += snprintf(text + n, size - (size_t)n, ", %s", schedule_at(in, &shape)->name);
    if (in->swept != EK_SWEPT_MEMORY)
        ek__snprintf(text + n, size - (size_t)n, ", limit %.6g MB", in->options.memory_limit_mb);
}

/* The sizes that are not swept; whether a schedule accepts them is checked for each value. */
static ek_status check_shape(const ek_sweep_input *in, ek_error *err)
{
    const struct {
        ek_swept swept;
        int value;
    } sizes[] = {{EK_SWEPT_CHUNKS, in->n_chunks},
                 {EK_SWEPT_MICRO_BATCHES, in->n_micro_batches},
                 {EK_SWEPT_STAGES, in->n_stages},
                 {EK_SWEPT_PIECES, in->n_pieces == 0 ? 1 : in->n_pieces}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const ek_swept_quantity *q = &ek_swept_quantities[sizes[i].swept];
        if (sizes[i].swept != in->swept && (sizes[i].value < q->least || sizes[i].value > q->most))
            return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "a sweep needs %s from %g to %g (got %d)", q->key.title,
                            q->least, q->most, sizes[i].value);
    }
    return EK_OK;
}

static ek_status check(const ek_sweep_input *in, ek_error *err)
{
    if ((unsigned)in->swept >= EK_N_SWEPT)
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "no quantity of a sweep has the number %d", (int)in->swept);
    const ek_swept_quantity *q = &ek_swept_quantities[in->swept];
    if (in->n < 1 || in->n > EK_MAX_SWEEP_VALUES)
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "a sweep has 1 to %d values (got %d)", EK_MAX_SWEEP_VALUES,
                        in->n);
    for (int i = 0; i < in->n; i++) {
        double value = in->value[i];
        if (!(value >= q->least && value <= q->most) || (q->whole && value != floor(value)))
            return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "a value of %s must be a %snumber from %g to %g (got %g)",
                            q->key.name, q->whole ? "whole " : "", q->least, q->most, value);
        if (i > 0 && !(value > in->value[i - 1]))
            return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "the values of a sweep must be ascending (got %g after %g)",
                            value, in->value[i - 1]);
    }
    if (in->swept == EK_SWEPT_PIECES && !in->job)
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "a sweep over sequence pieces needs the model's shapes");
    ek_status status = check_shape(in, err);
    if (!status)
        status = ek_layers_check(in->layers, err);
    bool per_stage = !in->lists && in->swept != EK_SWEPT_STAGES;
    return status ? status : ek__balance_options_check(&in->options, per_stage ? in->n_stages : 0, err);
}

static ek_status run(sweeper *s, ek_error *err)
{
    const ek_sweep_input *in = s->input;
    for (int i = 0; i < in->n; i++)
        s->row[i] = empty_row(in->value[i]);
    ek_status status = in->swept == EK_SWEPT_PIECES ? cut_pieces(s, err) : EK_OK;
    if (status == EK_OK)
        status = run_values(s, err);
    bool answers = !in->team || in->team->index == 0;
    if (status == EK_OK && in->swept == EK_SWEPT_MEMORY && answers)
        status = share_plans(s, err);
    return status;
}

ek_status ek_sweep_run(const ek_sweep_input *input, ek_sweep *out, ek_error *err)
{
    enum { PIPELINE = 256 };
    ek_status status = check(input, err);
    if (status)
        return status;
    ek_sweep sweep = {.layers = input->layers, .key = &ek_swept_quantities[input->swept].key};
    sweeper *s = ek__alloc(1, sizeof *s);
    sweep.pipeline = ek__alloc(PIPELINE, 1);
    sweep.row = ek__alloc((size_t)input->n, sizeof *sweep.row);
    if (!s || !sweep.pipeline || !sweep.row) {
        free(s);
        ek_sweep_clear(&sweep);
        return ek__no_memory(err);
    }
    s->input = input;
    s->start = ek__now();
    s->n = sweep.n = input->n;
    s->row = sweep.row;
    describe(input, sweep.pipeline, PIPELINE);
    status = run(s, err);
    sweep.n = s->n;
    for (int i = 0; i < input->n; i++)
        ek_layers_clear(&s->pieces[i]);
    free(s);
    if (status == EK_OK)
        *out = sweep;
    else
        ek_sweep_clear(&sweep);
    return status;
}

void ek_sweep_clear(ek_sweep *sweep)
{
    for (int i = 0; i < sweep->n; i++)
        ek_plan_clear(&sweep->row[i].plan);
    free(sweep->row);
    free(sweep->pipeline);
    *sweep = (ek_sweep){0};
}
