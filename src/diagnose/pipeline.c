/* Makes the run's pipeline as input of the simulator. The plan is the training YAML's, or follows from the trace's
 * layers: their numbers on each stage, and those that run again before their backward pass. Times are the trace's where
 * it has layers: plans are then simulated with them. Else the balancer searches plans with times of layers predicted
 * for the device, and the time of a plan is ek_cost_step() of the job with it. Memory is predicted from the YAML. Not
 * made where the trace lacks a stage, its numbers of layers do not form a plan, or times are unknown. */
#include "diagnose/pipeline.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/median.h"
#include "base/pool.h"
#include "diagnose/plan_step.h"
#include "evenkeel/emit.h"
#include "evenkeel/memory.h"
#include "layers/layers.h"
#include "trace/analyse/analysis.h"

#define NS_PER_MS 1e6

void ek__pipeline_clear(ek__pipeline *pipeline)
{
    ek_layers_clear(&pipeline->layers);
    ek_plan_clear(&pipeline->plan);
    ek_plan_clear(&pipeline->kept_layers);
    ek_plan_clear(&pipeline->best);
    ek_step_clear(&pipeline->step);
    ek_cost_cache_free(pipeline->cache);
    *pipeline = (ek__pipeline){0};
}

ek__edit_oracle ek__pipeline_today(const ek__pipeline *p)
{
    return (ek__edit_oracle){p->schedule, p->plan.n_chunks, p->n_micro_batches, 0};
}

/* ---- searching ---- */

/* The balancer's plan for limits of the stages, NULL: none. Empty where there is none. */
static ek_status solve(const ek__pipeline *p, const ek_layers *layers, const ek__edit_oracle *wish,
                       const double *limit_mb, const ek_balance_options *options, ek_plan *plan, double *ms,
                       ek_error *err)
{
    const ek_shape shape = {p->plan.n_stages, wish->n_chunks, wish->n_micro_batches, p->n_pieces};
    ek_balance_options search = *options;
    ek_balance_result result = {0};
    ek_order *order = NULL;
    ek_error why = {0};
    search.stage_memory_mb = limit_mb;
    *ms = NAN;
    *plan = (ek_plan){0};
    ek_status status = ek_balance_arranged(layers, wish->schedule, &shape, &search, &order, &result, &why);
    ek_order_free(order);
    if (!status && result.status != EK_BALANCE_INFEASIBLE && result.plan.layers) {
        *ms = result.step_time * p->n_accumulation;
        *plan = result.plan;
        result.plan = (ek_plan){0};
    }
    if (!status)
        ek_balance_result_clear(&result);
    if (!status && plan->layers && p->cache)
        status = ek__plan_predicted(p, plan, wish, ms, &why);
    if (status == EK_ERR_INPUT)
        return EK_OK;
    if (status) {
        ek_plan_clear(plan);
        if (err)
            *err = why;
    }
    return status;
}

/* ---- within predicted memory ---- */

/* The balancer's model of a layer's memory is a mean; the peak that counts is that of the job with the plan's settings.
 * So each plan is predicted again, and the balancer's limits are moved by the difference. */
typedef struct within {
    const ek__pipeline *p;
    const ek_layers *layers;
    const ek__edit_oracle *wish;
    double *limit_mb, *model_mb, *peak_mb; /* [n_stages] */
    ek__planned *found;
    ek_error *err;
} within;

/* Takes the plan. */
static void keep_better(within *w, ek_plan *plan, double ms, double peak_mb)
{
    if (plan->layers && ms > 0 && (!w->found->plan.layers || ms < w->found->ms)) {
        ek_plan_clear(&w->found->plan);
        *w->found = (ek__planned){*plan, ms, peak_mb};
    } else {
        ek_plan_clear(plan);
    }
    *plan = (ek_plan){0};
}

static double largest(const double *mb, int n)
{
    double most = 0;
    for (int i = 0; i < n; i++)
        most = fmax(most, mb[i]);
    return most;
}

/* The least recomputation with a plan's layers. */
/* torchtitan recomputes all layers, none, or as the file has it: it cannot express another plan. */
static bool is_one_mode(const ek_plan *today, const ek_plan *plan)
{
    int n = plan->n_stages * plan->n_chunks;
    bool none = true, all = true, same = n == today->n_stages * today->n_chunks;
    for (int c = 0; c < n; c++) {
        none = none && plan->full[c] == 0 && plan->select[c] == 0 && plan->comm[c] == 0;
        all = all && plan->full[c] == plan->layers[c];
        same = same && plan->full[c] == today->full[c] && plan->select[c] == today->select[c];
    }
    return none || all || same;
}

static ek_status add_least(within *w, const ek_plan *layers_of, ek_error *err)
{
    const ek_job_change change = ek__plan_change(w->p, layers_of, w->wish);
    ek_plan plan = {0};
    double peak_mb, ms = NAN;
    ek_status status = ek_memory_least_recompute(w->p->job, &change, w->layers, w->p->limit_mb, &plan, &peak_mb, err);
    if (!status && plan.layers && w->p->job->framework == EK_TORCHTITAN && !is_one_mode(&w->p->plan, &plan))
        ek_plan_clear(&plan);
    if (!status && plan.layers)
        status = ek__plan_step(w->p, w->layers, &plan, w->wish, &ms, err);
    if (status)
        ek_plan_clear(&plan);
    else
        keep_better(w, &plan, ms, peak_mb);
    return status;
}

static bool recomputes_any(const ek_plan *plan)
{
    for (int c = 0; c < plan->n_stages * plan->n_chunks; c++)
        if (plan->full[c] > 0 || plan->select[c] > 0 || plan->comm[c] > 0)
            return true;
    return false;
}

/* Megatron and torchtitan have one rule for all chunks; their plans come only from add_least(). */
static bool can_be_told(const within *w, const ek_plan *plan)
{
    const ek_framework framework = w->p->job->framework;
    return (framework != EK_MEGATRON && framework != EK_TORCHTITAN) || !recomputes_any(plan);
}

/* Move the balancer's limits by the error of its model. @return whether that may give another plan */
static bool move_limits(within *w, const ek_plan *plan, bool fits)
{
    const double least = 0.005 * w->p->limit_mb;
    double most = 0;
    for (int s = 0; s < plan->n_stages; s++) {
        double moved = w->p->limit_mb + w->model_mb[s] - w->peak_mb[s];
        if (!isfinite(moved) || moved <= 0)
            return false;
        most = fmax(most, fabs(moved - w->limit_mb[s]));
        w->limit_mb[s] = moved;
    }
    return most > least && (!fits || recomputes_any(plan));
}

/* Lists that end within the layers that are recomputed whole do nothing. */
static void leave_out_idle(ek_plan *plan)
{
    for (int c = 0; c < plan->n_stages * plan->n_chunks; c++) {
        plan->select[c] = plan->select[c] > plan->full[c] ? plan->select[c] : 0;
        plan->comm[c] = plan->comm[c] > plan->full[c] ? plan->comm[c] : 0;
    }
}

/* A plan of the balancer, unchanged and with the least recomputation of its layers. Takes it. @return whether other
 * limits may bring another one */
static ek_status add_solved(within *w, ek_plan *plan, double ms, bool *again)
{
    const ek_job_change change = ek__plan_change(w->p, plan, w->wish);
    double modelled;
    ek_status status = ek_memory_peaks_with(w->p->job, &change, w->peak_mb, w->err);
    if (!status)
        status = ek__plan_simulated(w->p, w->layers, plan, w->wish, &modelled, w->model_mb, w->err);
    if (!status)
        status = add_least(w, plan, w->err);
    if (!status) {
        double peak_mb = largest(w->peak_mb, plan->n_stages);
        bool fits = peak_mb <= w->p->limit_mb;
        *again = !isnan(modelled) && move_limits(w, plan, fits);
        if (fits && can_be_told(w, plan))
            keep_better(w, plan, ms, peak_mb);
    }
    ek_plan_clear(plan);
    return status;
}

enum { MOST_ROUNDS = 3 };

/* Rounds after the first correct the limits by the error of the memory model, which is worth its time for today's
 * shape, and for others where nothing fits yet. */
static ek_status balance_within(within *w, const ek_diagnose_options *options)
{
    const ek__edit_oracle today = ek__pipeline_today(w->p);
    bool again = true, same_shape = w->wish->n_chunks == today.n_chunks &&
                                    w->wish->n_micro_batches == today.n_micro_batches && w->wish->batch == today.batch;
    ek_status status = EK_OK;
    ek_balance_options search;
    ek__pipeline_search_options(w->p, options, &search);
    for (int round = 0; round < MOST_ROUNDS && again && !status; round++) {
        ek_plan plan;
        double ms;
        status = solve(w->p, w->layers, w->wish, w->limit_mb, &search, &plan, &ms, w->err);
        again = false;
        if (!status && plan.layers) {
            leave_out_idle(&plan);
            status = add_solved(w, &plan, ms, &again);
        }
        again = again && (same_shape || !w->found->plan.layers);
        search.time_limit /= 2;
    }
    return status;
}

static ek_status within_start(within *w, int n_stages)
{
    w->limit_mb = ek__alloc(3 * (size_t)n_stages, sizeof *w->limit_mb);
    if (!w->limit_mb)
        return ek__no_memory(w->err);
    w->model_mb = w->limit_mb + n_stages;
    w->peak_mb = w->model_mb + n_stages;
    for (int s = 0; s < n_stages; s++)
        w->limit_mb[s] = w->p->limit_mb;
    return EK_OK;
}

static void planned_clear(ek__planned *planned)
{
    ek_plan_clear(&planned->plan);
    *planned = (ek__planned){.ms = NAN, .peak_mb = NAN};
}

ek_status ek__pipeline_balance(const ek__pipeline *p, const ek_layers *layers, const ek__edit_oracle *wish,
                               const ek_diagnose_options *options, ek__planned *out, ek_error *err)
{
    ek__planned found = {.ms = NAN, .peak_mb = NAN};
    within w = {.p = p, .layers = layers, .wish = wish, .found = &found, .err = err};
    ek_status status;
    if (!p->memory_known) {
        ek_balance_options search;
        ek__pipeline_search_options(p, options, &search);
        status = solve(p, layers, wish, NULL, &search, &found.plan, &found.ms, err);
    } else {
        status = within_start(&w, p->plan.n_stages);
        if (!status)
            status = balance_within(&w, options);
        free(w.limit_mb);
    }
    if (status)
        planned_clear(&found);
    else
        *out = found;
    return status;
}

/* ---- today's recomputation ---- */

static ek_status copy_layers(const ek_layers *from, ek_layers *to, ek_error *err)
{
    ek_layer *body = ek__alloc((size_t)from->n_body, sizeof *body);
    if (!body)
        return ek__no_memory(err);
    memcpy(body, from->body, (size_t)from->n_body * sizeof *body);
    *to = *from;
    to->body = body;
    to->fit = (ek_memory_fit){0};
    return EK_OK;
}

/* Layers of each kind in the whole plan. */
static ek_chunk_mix mix_of(const ek_plan *plan)
{
    ek_chunk_mix sum = {{0}};
    for (int i = 0; i < plan->n_chunks; i++)
        for (int s = 0; s < plan->n_stages; s++) {
            ek_chunk_mix one = ek_plan_mix(plan, i, s);
            for (int k = 0; k < EK_N_RECOMPUTE; k++)
                sum.n[k] += one.n[k];
        }
    return sum;
}

ek_status ek__pipeline_as_it_is(const ek__pipeline *p, ek_layers *layers, ek_plan *plan, ek_error *err)
{
    ek_status status = copy_layers(&p->layers, layers, err);
    if (status)
        return status;
    status = ek_plan_copy(&p->plan, plan, err);
    if (status) {
        ek_layers_clear(layers);
        return status;
    }
    ek_chunk_mix mix = mix_of(&p->plan);
    int n = p->plan.n_chunks * p->plan.n_stages;
    for (int i = 0; i < n; i++)
        plan->full[i] = plan->select[i] = plan->comm[i] = 0;
    for (int b = 0; b < layers->n_body; b++) {
        ek_layer *body = &layers->body[b];
        double backward = 0;
        for (int k = 0; k < EK_N_RECOMPUTE; k++)
            backward += body->backward_time[k] * mix.n[k] / layers->n_layers;
        body->backward_time[EK_RECOMPUTE_NONE] = backward;
        for (int k = 0; k < EK_N_RECOMPUTE; k++) {
            body->modelled[k] = k == EK_RECOMPUTE_NONE;
            body->activation_mb[k] = 0;
        }
        body->parameter_mb = 0;
    }
    for (int k = 0; k < EK_N_RECOMPUTE; k++)
        layers->modelled[k] = k == EK_RECOMPUTE_NONE;
    layers->head.parameter_mb = layers->tail.parameter_mb = layers->const_mb = 0;
    layers->head.activation_mb[0] = layers->tail.activation_mb[0] = 0;
    layers->recompute_transient = false;
    return EK_OK;
}

/* ---- the plan of a trace ---- */

static int layers_on(const ek_trace_rank *rank)
{
    int n = 0;
    for (int i = 0; i < rank->layers.n; i++)
        n += rank->layers.layer[i].role == EK_TRACE_BODY && rank->layers.layer[i].forward.n > 0;
    return n;
}

static const ek_trace_rank *rank_of_stage(const ek_trace_run *run, int stage)
{
    for (int r = 0; r < run->n_ranks; r++)
        if ((run->rank[r].stage < 0 ? 0 : run->rank[r].stage) == stage && layers_on(&run->rank[r]) > 0)
            return &run->rank[r];
    return NULL;
}

static int stages_of(const ek_trace_run *run)
{
    int n = run->topology.pipeline > 0 ? run->topology.pipeline : 1;
    for (int r = 0; r < run->n_ranks; r++)
        if (run->rank[r].stage + 1 > n)
            n = run->rank[r].stage + 1;
    return n;
}

static int compare_ints(const void *a, const void *b)
{
    return (*(const int *)a > *(const int *)b) - (*(const int *)a < *(const int *)b);
}

/* Numbers of a rank's layers in order; the number of restarts gives its chunks. @return their count, -1 without numbers
 */
static int sorted_numbers(const ek_trace_rank *rank, int *number, int *n_runs)
{
    int n = 0;
    for (int i = 0; i < rank->layers.n; i++) {
        const ek_trace_layer *l = &rank->layers.layer[i];
        if (l->role != EK_TRACE_BODY || l->forward.n == 0)
            continue;
        if (l->index < 0 || n == EK_MAX_LAYERS)
            return -1;
        number[n++] = l->index;
    }
    qsort(number, (size_t)n, sizeof *number, compare_ints);
    *n_runs = n > 0;
    for (int i = 1; i < n; i++)
        *n_runs += number[i] != number[i - 1] + 1;
    return n;
}

/* One stage has all layers in one stretch however many chunks there are. */
static int count_chunks(const ek_trace_run *run, int n_stages, int *number)
{
    int n_chunks = 0;
    for (int s = 0; s < n_stages; s++) {
        const ek_trace_rank *rank = rank_of_stage(run, s);
        int n_runs = 0;
        if (!rank || sorted_numbers(rank, number, &n_runs) <= 0)
            return 0;
        if (n_chunks > 0 && n_runs != n_chunks)
            return 0;
        n_chunks = n_runs;
    }
    return n_chunks;
}

static bool recomputes(const ek_trace_layer *l, bool full)
{
    return l->recompute.n > 0 && (l->recompute.wall_median >= 0.5 * l->forward.wall_median) == full;
}

static void fill_chunks(const ek_trace_rank *rank, int stage, const int *number, int n, ek_plan *plan)
{
    int chunk = 0;
    for (int i = 0; i < n; i++) {
        chunk += i > 0 && number[i] != number[i - 1] + 1;
        int cell = chunk * plan->n_stages + stage;
        plan->layers[cell]++;
        for (int k = 0; k < rank->layers.n; k++) {
            const ek_trace_layer *l = &rank->layers.layer[k];
            if (l->role != EK_TRACE_BODY || l->index != number[i])
                continue;
            plan->full[cell] += recomputes(l, true);
            plan->select[cell] += recomputes(l, false);
        }
    }
    for (int i = 0; i < plan->n_chunks; i++) {
        int cell = i * plan->n_stages + stage;
        if (plan->full[cell] > 0 && plan->select[cell] > 0) /* a list counts from the front */
            plan->select[cell] += plan->full[cell];
    }
}

static ek_status plan_of_trace(const ek_trace_run *run, ek__pipeline *p, ek_error *err)
{
    int *number = ek__alloc(EK_MAX_LAYERS, sizeof *number);
    if (!number)
        return ek__no_memory(err);
    int n_stages = stages_of(run), n_chunks = count_chunks(run, n_stages, number), n_runs;
    ek_status status = EK_OK;
    if (n_chunks == 0)
        p->why_not = "the trace lacks stages, or its layers are not numbered";
    else
        status = ek_plan_init(&p->plan, n_stages, n_chunks, err);
    for (int s = 0; s < n_stages && n_chunks > 0 && !status; s++) {
        const ek_trace_rank *rank = rank_of_stage(run, s);
        int n = sorted_numbers(rank, number, &n_runs);
        fill_chunks(rank, s, number, n, &p->plan);
        if (rank->layers.n_micro_batches > p->n_micro_batches)
            p->n_micro_batches = rank->layers.n_micro_batches;
    }
    free(number);
    if (status == EK_OK && n_chunks > 0) {
        p->schedule = ek_schedule_default(n_chunks, 0);
        if (p->n_micro_batches < 1)
            p->why_not = "the trace does not contain the number of micro-batches of a step";
    }
    return status;
}

/* ---- times ---- */

/* Times of the trace for the job's kinds of layers: kind by kind where both have the same, else one for all. */
static bool add_times(const ek_layers *from, ek_layers *to)
{
    bool alike = from->n_body == to->n_body;
    for (int b = 0; b < to->n_body && alike; b++)
        alike = from->body[b].n_layers == to->body[b].n_layers;
    if ((!alike && from->n_body != 1) || from->n_layers != to->n_layers)
        return false;
    ek_layer *const ends[] = {&to->head, &to->tail};
    const ek_layer *const measured[] = {&from->head, &from->tail};
    for (int b = 0; b < to->n_body + 2; b++) {
        ek_layer *t = b < to->n_body ? &to->body[b] : ends[b - to->n_body];
        const ek_layer *f = b < to->n_body ? &from->body[alike ? b : 0] : measured[b - to->n_body];
        t->forward_time = f->forward_time;
        t->weight_time = f->weight_time;
        memcpy(t->backward_time, f->backward_time, sizeof t->backward_time);
    }
    return true;
}

/* Median of the transfers between stages, of all ranks. */
static ek_status measure_transfers(const ek__measured *m, ek__pipeline *p, ek_error *err)
{
    static const ek_trace_options usual = {0};
    size_t n = 0, capacity = 0;
    double *value = NULL;
    for (int r = 0; m->replay && r < m->run->n_ranks; r++)
        for (int i = 0; i < m->run->rank[r].communication.n_collectives; i++) {
            const char *name = m->run->rank[r].communication.collective[i].name;
            double transfer = ek__replay_transfer(m->replay, r, i);
            if (!name || isnan(transfer) || !ek__is_receive(&usual, name))
                continue;
            double *room = ek__with_room(value, &capacity, n + 1, sizeof *value);
            if (!room) {
                free(value);
                return ek__no_memory(err);
            }
            value = room;
            value[n++] = transfer;
        }
    double median = ek__median(value, n);
    p->comm.p2p_time = n > 0 && median > 0 ? median / NS_PER_MS : 0;
    free(value);
    return EK_OK;
}

static ek_status measure_layers(const ek__measured *m, ek__pipeline *p, ek_error *err)
{
    ek_layers layers = {0};
    char *notes = NULL;
    ek_error why = {0};
    ek_status status = ek_trace_to_layers(m->run, &layers, &notes, &why);
    free(notes);
    if (status == EK_ERR_INPUT)
        return EK_OK;
    if (status) {
        if (err)
            *err = why;
        return status;
    }
    if (p->layers.n_body == 0) {
        p->layers = layers;
        p->measured = true;
        return EK_OK;
    }
    p->measured = add_times(&layers, &p->layers);
    ek_layers_clear(&layers);
    return EK_OK;
}

/* ---- making it ---- */

static double limit_of(const ek_run_input *input)
{
    if (input->job && input->job->limit_mb > 0)
        return input->job->limit_mb;
    return input->device && input->device->memory_gib > 0 ? input->device->memory_gib * 1024 : 0;
}

static ek_status from_job(const ek_run_input *input, ek__pipeline *p, ek_error *err)
{
    const ek_job *job = input->job;
    ek_error why = {0};
    ek_status status = ek_plan_copy(&job->plan, &p->plan, err);
    if (status)
        return status;
    p->schedule = job->schedule;
    p->n_pieces = job->parallel.n_pieces > 1 ? job->parallel.n_pieces : 1;
    p->n_micro_batches = job->parallel.n_micro_batches * p->n_pieces;
    bool accumulates = job->parallel.pipeline == 1 && job->parallel.n_accumulation > 1;
    p->n_accumulation = accumulates ? job->parallel.n_accumulation : 1;
    status = ek_memory_to_layers(job, input->device, &p->layers, &why);
    if (status == EK_ERR_INPUT) {
        p->why_not = "the layers of the training YAML cannot be modelled";
        return EK_OK;
    }
    if (status) {
        if (err)
            *err = why;
        return status;
    }
    p->limit_mb = limit_of(input);
    p->memory_known = p->limit_mb > 0;
    return EK_OK;
}

/* Passes that were counted go before settings: without stages some frameworks ignore their number. */
static void add_micro_batches(const ek_trace_run *run, ek__pipeline *p)
{
    int most = 0;
    for (int r = 0; r < run->n_ranks; r++)
        most = run->rank[r].layers.n_micro_batches > most ? run->rank[r].layers.n_micro_batches : most;
    if (most == 0 || most > EK_MAX_MICRO_BATCHES)
        return;
    p->n_micro_batches = most;
    p->n_accumulation = 1;
}

/* A measured plan must be valid: kinds that are used are modelled. */
static void model_used_kinds(ek__pipeline *p)
{
    ek_chunk_mix mix = mix_of(&p->plan);
    for (int k = 0; k < EK_N_RECOMPUTE; k++)
        if (mix.n[k] > 0 && !p->memory_known) {
            p->layers.modelled[k] = true;
            for (int b = 0; b < p->layers.n_body; b++)
                p->layers.body[b].modelled[k] = true;
        }
}

/* The least recomputation with today's layers. */
static ek_status balance_kept(const ek__pipeline *p, const ek__edit_oracle *today, ek__planned *kept, ek_error *err)
{
    within w = {.p = p, .layers = &p->layers, .wish = today, .found = kept, .err = err};
    ek_status status = within_start(&w, p->plan.n_stages);
    if (!status)
        status = add_least(&w, &p->plan, err);
    free(w.limit_mb);
    return status;
}

static bool same_layers(const ek_plan *a, const ek_plan *b)
{
    return memcmp(a->layers, b->layers, (size_t)a->n_stages * (size_t)a->n_chunks * sizeof *a->layers) == 0;
}

/* A plan that may move layers may also keep them, and may equal the one found without moving any. */
static ek_status share(const ek_plan *today, ek__planned *kept, ek__planned *best, ek_error *err)
{
    ek__planned *from = best, *to = kept;
    if (!best->plan.layers || kept->ms < best->ms) {
        from = kept;
        to = best;
    } else if (!same_layers(&best->plan, today) || best->ms == kept->ms) {
        return EK_OK;
    }
    if (!from->plan.layers)
        return EK_OK;
    planned_clear(to);
    to->ms = from->ms;
    to->peak_mb = from->peak_mb;
    return ek_plan_copy(&from->plan, &to->plan, err);
}

static ek_status balance_known(ek__pipeline *p, const ek_diagnose_options *options, ek_error *err)
{
    const ek__edit_oracle today = ek__pipeline_today(p);
    ek__planned kept = {.ms = NAN, .peak_mb = NAN}, best = kept;
    ek_status status = balance_kept(p, &today, &kept, err);
    if (!status)
        status = ek__pipeline_balance(p, &p->layers, &today, options, &best, err);
    if (!status)
        status = share(&p->plan, &kept, &best, err);
    if (status) {
        planned_clear(&kept);
        planned_clear(&best);
        return status;
    }
    p->kept_layers = kept.plan;
    p->kept_layers_ms = kept.ms;
    p->kept_peak_mb = kept.peak_mb;
    p->best = best.plan;
    p->best_ms = best.ms;
    p->best_peak_mb = best.peak_mb;
    p->as_it_is_ms = fmin(p->today_ms, p->kept_layers_ms);
    return EK_OK;
}

static ek_status balance_as_it_is(ek__pipeline *p, const ek_diagnose_options *options, ek_error *err)
{
    const ek__edit_oracle today = ek__pipeline_today(p);
    ek_layers layers = {0};
    ek_plan plan = {0};
    ek__planned best = {0};
    ek_status status = ek__pipeline_as_it_is(p, &layers, &plan, err);
    if (!status)
        status = ek__plan_step(p, &layers, &plan, &today, &p->as_it_is_ms, err);
    if (!status)
        status = ek__pipeline_balance(p, &layers, &today, options, &best, err);
    p->best = best.plan;
    p->best_ms = best.ms;
    ek_layers_clear(&layers);
    ek_plan_clear(&plan);
    return status;
}

static ek_status balance(ek__pipeline *p, const ek_diagnose_options *options, ek_error *err)
{
    p->kept_layers_ms = p->kept_peak_mb = p->best_peak_mb = NAN;
    return p->memory_known ? balance_known(p, options, err) : balance_as_it_is(p, options, err);
}

ek_status ek__pipeline_make(const ek_run_input *input, const ek__measured *measured, const ek_diagnose_options *options,
                            ek__pipeline *out, ek_error *err)
{
    ek__pipeline p = {.n_pieces = 1, .n_accumulation = 1, .today_ms = NAN, .job = input->job, .device = input->device};
    ek_status status = EK_OK;
    ek_error why = {0};
    if (input->job)
        status = from_job(input, &p, err);
    else if (measured->run)
        status = plan_of_trace(measured->run, &p, err);
    else
        p.why_not = "neither a training YAML nor a trace was given";
    if (!status && !p.why_not && measured->run) {
        status = measure_layers(measured, &p, err);
        if (!status)
            status = measure_transfers(measured, &p, err);
    }
    if (p.measured && measured->run && p.n_pieces == 1)
        add_micro_batches(measured->run, &p);
    if (!status && !p.why_not && !p.measured && !(input->job && input->device))
        p.why_not = "layer times are not known: no layers in a trace, and no device to model them";
    if (!status && !p.why_not) {
        model_used_kinds(&p);
        if (ek_plan_check(&p.plan, &p.layers, &why))
            p.why_not = "the plan does not match the layers of the trace";
    }
    const ek__edit_oracle today = ek__pipeline_today(&p);
    if (!status && !p.why_not)
        status = p.measured ? ek__plan_simulated(&p, &p.layers, &p.plan, &today, &p.today_ms, NULL, err)
                            : ek__plan_predict_today(&p, err);
    p.there = !status && !p.why_not && p.today_ms > 0;
    if (!status && p.there && p.plan.n_stages * p.plan.n_chunks <= p.layers.n_layers)
        status = balance(&p, options, err);
    if (status)
        ek__pipeline_clear(&p);
    else
        *out = p;
    return status;
}

/* ---- words ---- */

const char *ek__pipeline_peak(const ek__pipeline *p, double peak_mb, struct ek__pool *pool)
{
    static const double near_limit = 0.97; /* of it, as bottleneck_memory.c has it */
    return ek__pool_format(pool, "the largest predicted peak is then %.0f MB of %.0f%s", peak_mb, p->limit_mb,
                           peak_mb > near_limit * p->limit_mb
                               ? ", with little margin for effects that are not predicted: a lower --limit gives more"
                               : "");
}

static const char *emitter_of(ek_framework framework)
{
    switch (framework) {
    case EK_MINDFORMERS:
    case EK_MINDFORMERS_MCORE:
        return "mindformers";
    case EK_MINDSPEED:
        return "mindspeed";
    case EK_TORCHTITAN:
        return "torchtitan";
    case EK_MEGATRON:
        break;
    }
    return "megatron";
}

/* Comments with the basis of a plan are left out, since the diagnosis has it elsewhere. So is recomputation where the
 * plan does not change it: its lists are then empty, which must not look like a change. */
static void keep_settings(char *text, bool recomputation)
{
    char *to = text;
    size_t left_out = SIZE_MAX; /* indent of a section that is */
    for (char *line = text, *next; *line; line = next) {
        char *end = strchr(line, '\n');
        next = end ? end + 1 : line + strlen(line);
        size_t indent = strspn(line, " ");
        if (line[indent] == '#' || line[indent] == '\n' || line[indent] == '\0')
            continue;
        if (indent <= left_out)
            left_out = !recomputation && strncmp(line + indent, "recompute_config:", 17) == 0 ? indent : SIZE_MAX;
        if (left_out != SIZE_MAX)
            continue;
        memmove(to, line, (size_t)(next - line));
        to += next - line;
    }
    while (to > text && to[-1] == '\n')
        to--;
    *to = '\0';
}

/* Only the offsets, where an emitter cannot write the plan. */
static char *plain_settings(const ek_plan *plan, struct ek__pool *pool)
{
    char *text = ek__pool_format(pool, "layers of the stages:");
    for (int i = 0; text && i < plan->n_chunks; i++)
        for (int s = 0; text && s < plan->n_stages; s++)
            text = ek__pool_format(pool, "%s %d", text, plan->layers[i * plan->n_stages + s]);
    return text;
}

/* Does the file name patterns of a kind? A list of counts would mean other patterns. */
static bool names_patterns(const ek_job *job, ek_pattern_kind kind)
{
    for (int i = 0; job && i < job->n_patterns; i++)
        if (job->pattern[i].kind == kind && !job->pattern[i].by_default)
            return true;
    return false;
}

static void add_quoted(const char *text, FILE *out)
{
    putc('\'', out);
    for (; *text; text++)
        fprintf(out, *text == '\'' ? "''" : "%c", *text);
    putc('\'', out);
}

/* "  select_recompute: LIST" as a list for each of the file's patterns. */
static void add_patterns(const ek_job *job, ek_pattern_kind kind, const char *key, const char *list, int length,
                         FILE *out)
{
    fprintf(out, "  %s:\n", key);
    for (int i = 0; i < job->n_patterns; i++) {
        if (job->pattern[i].kind != kind)
            continue;
        fputs("    ", out);
        add_quoted(job->pattern[i].text, out);
        fprintf(out, ": %.*s\n", length, list);
    }
}

/* An emission counts the layers of multi-token prediction with the others, which the file has under a key of their own.
 * @return whether the line is that of the layers */
static bool add_layer_count(const ek_job *job, const char *line, FILE *out)
{
    static const char key[] = "    num_layers: ";
    if (!job || strncmp(line, key, strlen(key)) != 0)
        return false;
    bool newer = job->framework == EK_MINDFORMERS_MCORE;
    fprintf(out, "    %s: %d\n", newer ? "num_hidden_layers" : "num_layers", job->model.n_layers);
    if (job->model.n_prediction_layers > 0)
        fprintf(out, "    %s: %d\n", newer ? "num_nextn_predict_layers" : "mtp_depth", job->model.n_prediction_layers);
    return true;
}

/* The emitter's settings in the words of the job's file. */
static void add_as_in_file(const ek_job *job, const char *settings, FILE *out)
{
    static const struct {
        const char *key;
        ek_pattern_kind kind;
    } keys[] = {{"select_recompute", EK_PATTERN_SELECT}, {"select_comm_recompute", EK_PATTERN_COMM}};
    for (const char *line = settings; *line;) {
        const char *end = strchr(line, '\n'), *next = end ? end + 1 : line + strlen(line);
        bool put = add_layer_count(job, line, out);
        for (size_t k = 0; k < sizeof keys / sizeof *keys && !put; k++) {
            size_t n = strlen(keys[k].key);
            put = strncmp(line, "  ", 2) == 0 && strncmp(line + 2, keys[k].key, n) == 0 && line[n + 2] == ':' &&
                  names_patterns(job, keys[k].kind);
            if (put)
                add_patterns(job, keys[k].kind, keys[k].key, line + n + 4, (int)((end ? end : next) - line - n - 4),
                             out);
        }
        if (!put)
            fprintf(out, "%.*s", (int)(next - line), line);
        line = next;
    }
}

/* Does the file recompute whole experts (--moe-layer-recompute, or the module moe)? */
static bool recomputes_experts(const ek_job *job)
{
    for (int i = 0; job && i < job->n_patterns; i++)
        if (job->pattern[i].kind == EK_PATTERN_SELECT && strcmp(job->pattern[i].text, "mlp\\.experts") == 0)
            return true;
    return false;
}

/* Arguments of Megatron that must go where the plan recomputes less than the file, or otherwise: experts have a
 * separate switch, which cannot be combined with whole layers. */
static void add_left_out(const ek__pipeline *p, const ek_plan *plan, FILE *out)
{
    bool experts = recomputes_experts(p->job);
    if (recomputes_any(&p->plan) && !recomputes_any(plan))
        fprintf(out, "without --recompute-granularity, --recompute-method%s --recompute-num-layers%s\n",
                experts ? "," : " and", experts ? " and --moe-layer-recompute" : "");
    else if (experts && recomputes_any(plan))
        fputs("without --moe-layer-recompute\n", out);
}

/* Where micro-batches have no separate key, their number follows from the global batch. */
static void add_global_batch(const ek__pipeline *p, const ek__edit_oracle *wish, ek_framework framework, FILE *out)
{
    bool counts = framework == EK_MINDFORMERS || framework == EK_MINDFORMERS_MCORE;
    if (!p->job || counts || wish->batch > 0 || wish->n_micro_batches == p->n_micro_batches)
        return;
    fprintf(out, "%s %d\n", framework == EK_MINDSPEED ? "global_batch_size:" : "--global-batch-size",
            p->job->parallel.data * p->job->parallel.batch * wish->n_micro_batches / p->n_pieces);
}

/* Settings of the plan, then those of the micro-batch. */
static ek_status write_settings(const ek__pipeline *p, const ek_plan *plan, const ek__edit_oracle *wish,
                                ek_framework framework, FILE *out, ek_error *err)
{
    const ek_emitter *emitter = ek_emitter_find(emitter_of(framework));
    const ek_emission emission = {.name = "diagnose",
                                  .plan = plan,
                                  .n_layers = p->layers.n_layers,
                                  .schedule = wish->schedule,
                                  .n_micro_batches = wish->n_micro_batches / p->n_pieces,
                                  .n_pieces = p->n_pieces};
    ek_status status = emitter ? emitter->write(&emission, out, NULL, err) : EK_ERR_INPUT;
    if (!status && framework == EK_MEGATRON)
        add_left_out(p, plan, out);
    if (!status)
        add_global_batch(p, wish, framework, out);
    if (status || wish->batch == 0)
        return status;
    if (framework == EK_MINDFORMERS || framework == EK_MINDFORMERS_MCORE)
        fprintf(out, "runner_config:\n  batch_size: %d\n", wish->batch);
    else if (framework == EK_MINDSPEED)
        fprintf(out, "micro_batch_size: %d\n", wish->batch);
    else if (framework == EK_TORCHTITAN)
        fprintf(out, "pipeline_parallel_microbatch_size = %d\n", wish->batch);
    else
        fprintf(out, "--micro-batch-size %d\n", wish->batch);
    return EK_OK;
}

char *ek__pipeline_settings(const ek__pipeline *p, const ek_plan *plan, const ek__edit_oracle *wish,
                            ek_framework framework, struct ek__pool *pool)
{
    char *text = NULL, *kept = NULL, *named = NULL;
    size_t size = 0, named_size = 0;
    ek_error why;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return NULL;
    ek_status status = write_settings(p, plan, wish, framework, out, &why);
    if (fclose(out) != 0 || !text)
        status = EK_ERR_MEMORY;
    if (status == EK_ERR_INPUT)
        kept = plain_settings(plan, pool);
    FILE *all = status ? NULL : open_memstream(&named, &named_size);
    if (all) {
        keep_settings(text, p->memory_known);
        add_as_in_file(p->job, text, all);
        if (fclose(all) == 0 && named)
            kept = ek__pool_format(pool, "%s", named);
    }
    free(named);
    free(text);
    return kept;
}
