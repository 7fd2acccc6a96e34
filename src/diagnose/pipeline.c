/* The run's pipeline as the simulator sees it. The plan is the training YAML's, or what the trace's layers show: which
 * numbers sit on which stage, and which of them run again before their backward pass. Times are the trace's where it
 * has layers, else modelled from the device; memory is predicted from the YAML. Not made where the trace lacks a stage,
 * numbers its layers in a way that is no plan, or nothing tells times. */
#include "diagnose/pipeline.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/median.h"
#include "base/pool.h"
#include "evenkeel/cost.h"
#include "evenkeel/emit.h"
#include "layers/layers.h"
#include "trace/analysis.h"

#define NS_PER_MS 1e6

void ek__pipeline_clear(ek__pipeline *pipeline)
{
    ek_layers_clear(&pipeline->layers);
    ek_plan_clear(&pipeline->plan);
    ek_plan_clear(&pipeline->kept_layers);
    ek_plan_clear(&pipeline->best);
    *pipeline = (ek__pipeline){0};
}

/* ---- simulating ---- */

static ek_shape shape_of(const ek__pipeline *p, const ek_plan *plan, int n_micro_batches)
{
    return (ek_shape){.n_stages = plan->n_stages,
                      .n_chunks = plan->n_chunks,
                      .n_micro_batches = n_micro_batches,
                      .n_pieces = p->n_pieces};
}

static void search_options(const ek__pipeline *p, double limit_mb, const ek_diagnose_options *options,
                           ek_balance_options *out)
{
    ek_balance_options_init(out);
    out->memory_limit_mb = limit_mb;
    out->comm = p->comm;
    out->gap = 1e-3;
    out->min_layers = 1;
    if (options) {
        out->time_limit = options->seconds / 2;
        out->proof_limit = options->seconds / 8;
        out->n_threads = options->n_threads;
        out->interrupt = options->interrupt;
    }
}

/* Simulated step of a plan with the pipeline's times, milliseconds; NAN where the schedule does not admit the shape. */
static ek_status simulate(const ek__pipeline *p, const ek_layers *layers, const ek_plan *plan,
                          const ek_schedule *schedule, int n_micro_batches, double *ms, ek_error *err)
{
    const ek_shape shape = shape_of(p, plan, n_micro_batches);
    ek_balance_options options;
    ek_order *order = NULL;
    ek_error why = {0};
    search_options(p, 0, NULL, &options);
    *ms = NAN;
    ek_status status = ek_order_for_plan(layers, plan, schedule, &shape, &options, &order, &why);
    if (!status) {
        ek_timeline timeline;
        status = ek_simulate(order, plan, layers, &p->comm, &timeline, &why);
        if (!status) {
            *ms = timeline.step_time * p->n_accumulation;
            ek_timeline_clear(&timeline);
        }
        ek_order_free(order);
    }
    if (status == EK_ERR_INPUT)
        return EK_OK;
    if (status && err)
        *err = why;
    return status;
}

ek_status ek__pipeline_balance(const ek__pipeline *p, const ek_layers *layers, const ek_schedule *schedule,
                               int n_chunks, int n_micro_batches, const int *fixed_layers, double limit_mb,
                               const ek_diagnose_options *options, ek_plan *plan, double *ms, ek_error *err)
{
    ek_shape shape = {.n_stages = p->plan.n_stages,
                      .n_chunks = n_chunks,
                      .n_micro_batches = n_micro_batches,
                      .n_pieces = p->n_pieces};
    ek_balance_options search;
    ek_balance_result result = {0};
    ek_order *order = NULL;
    ek_error why = {0};
    search_options(p, limit_mb, options, &search);
    search.fixed_layers = fixed_layers;
    *ms = NAN;
    *plan = (ek_plan){0};
    ek_status status = ek_balance_arranged(layers, schedule, &shape, &search, &order, &result, &why);
    ek_order_free(order);
    if (!status && result.status != EK_BALANCE_INFEASIBLE && result.plan.layers) {
        *ms = result.step_time * p->n_accumulation;
        *plan = result.plan;
        result.plan = (ek_plan){0};
    }
    if (!status)
        ek_balance_result_clear(&result);
    if (status == EK_ERR_INPUT)
        return EK_OK;
    if (status && err)
        *err = why;
    return status;
}

/* ---- recomputation as it is ---- */

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

/* Numbers of a rank's layers in order; how often they begin anew is its chunks. @return their count, -1 without numbers
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
            p->why_not = "the trace does not tell how many micro-batches a step has";
    }
    return status;
}

/* ---- times ---- */

/* Times of the trace for the job's kinds of layers: kind by kind where both have the same, else one for all. */
static bool take_times(const ek_layers *from, ek_layers *to)
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
    p->measured = take_times(&layers, &p->layers);
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
static void take_micro_batches(const ek_trace_run *run, ek__pipeline *p)
{
    int most = 0;
    for (int r = 0; r < run->n_ranks; r++)
        most = run->rank[r].layers.n_micro_batches > most ? run->rank[r].layers.n_micro_batches : most;
    if (most == 0 || most > EK_MAX_MICRO_BATCHES)
        return;
    p->n_micro_batches = most;
    p->n_accumulation = 1;
}

/* What a measured plan must be: kinds that are used are modelled. */
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

static ek_status balance(ek__pipeline *p, const ek_diagnose_options *options, ek_error *err)
{
    int *fixed = ek__alloc((size_t)p->plan.n_stages, sizeof *fixed);
    ek_layers layers = {0};
    ek_plan plan = {0};
    if (!fixed)
        return ek__no_memory(err);
    for (int i = 0; i < p->plan.n_stages * p->plan.n_chunks; i++)
        fixed[i % p->plan.n_stages] += p->plan.layers[i];
    ek_status status = EK_OK;
    p->kept_layers_ms = NAN;
    if (p->memory_known) {
        status = ek__pipeline_balance(p, &p->layers, p->schedule, p->plan.n_chunks, p->n_micro_batches, fixed,
                                      p->limit_mb, options, &p->kept_layers, &p->kept_layers_ms, err);
        if (!status)
            status = ek__pipeline_balance(p, &p->layers, p->schedule, p->plan.n_chunks, p->n_micro_batches, NULL,
                                          p->limit_mb, options, &p->best, &p->best_ms, err);
        p->as_it_is_ms = fmin(p->today_ms, p->kept_layers_ms);
    } else {
        status = ek__pipeline_as_it_is(p, &layers, &plan, err);
        if (!status)
            status = simulate(p, &layers, &plan, p->schedule, p->n_micro_batches, &p->as_it_is_ms, err);
        if (!status)
            status = ek__pipeline_balance(p, &layers, p->schedule, p->plan.n_chunks, p->n_micro_batches, NULL, 1e9,
                                          options, &p->best, &p->best_ms, err);
        ek_layers_clear(&layers);
        ek_plan_clear(&plan);
    }
    free(fixed);
    return status;
}

ek_status ek__pipeline_make(const ek_run_input *input, const ek__measured *measured, const ek_diagnose_options *options,
                            ek__pipeline *out, ek_error *err)
{
    ek__pipeline p = {.n_pieces = 1, .n_accumulation = 1, .today_ms = NAN};
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
        take_micro_batches(measured->run, &p);
    if (!status && !p.why_not && !p.measured && !(input->job && input->device))
        p.why_not = "nothing tells the layers' times: no layers in a trace, and no device to model them for";
    if (!status && !p.why_not) {
        model_used_kinds(&p);
        if (ek_plan_check(&p.plan, &p.layers, &why))
            p.why_not = "the plan and the trace's layers do not fit together";
    }
    if (!status && !p.why_not)
        status = simulate(&p, &p.layers, &p.plan, p.schedule, p.n_micro_batches, &p.today_ms, err);
    p.there = !status && !p.why_not && p.today_ms > 0;
    if (!status && p.there && p.plan.n_stages * p.plan.n_chunks <= p.layers.n_layers)
        status = balance(&p, options, err);
    if (status)
        ek__pipeline_clear(&p);
    else
        *out = p;
    return status;
}

/* ---- settings ---- */

static const char *emitter_of(ek_framework framework)
{
    switch (framework) {
    case EK_MINDFORMERS:
    case EK_MINDFORMERS_MCORE:
        return "mindformers";
    case EK_MINDSPEED:
        return "mindspeed";
    case EK_MEGATRON:
        break;
    }
    return "megatron";
}

/* Comments say what a plan rests on; here that stands elsewhere. Nor is recomputation told where the plan leaves it
 * alone: its lists are then empty, which must not read as a change. */
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

/* The offsets alone, where an emitter cannot write the plan. */
static char *plain_settings(const ek_plan *plan, struct ek__pool *pool)
{
    char *text = ek__pool_format(pool, "layers of the stages:");
    for (int i = 0; text && i < plan->n_chunks; i++)
        for (int s = 0; text && s < plan->n_stages; s++)
            text = ek__pool_format(pool, "%s %d", text, plan->layers[i * plan->n_stages + s]);
    return text;
}

char *ek__pipeline_settings(const ek__pipeline *p, const ek_plan *plan, const ek_schedule *schedule,
                            int n_micro_batches, ek_framework framework, struct ek__pool *pool)
{
    const ek_emitter *emitter = ek_emitter_find(emitter_of(framework));
    ek_emission emission = {.name = "diagnose",
                            .plan = plan,
                            .n_layers = p->layers.n_layers,
                            .schedule = schedule,
                            .n_micro_batches = n_micro_batches / (p->n_pieces > 1 ? p->n_pieces : 1),
                            .n_pieces = p->n_pieces};
    char *text = NULL, *kept = NULL;
    size_t size = 0;
    ek_error why;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return NULL;
    ek_status status = emitter ? emitter->write(&emission, out, NULL, &why) : EK_ERR_INPUT;
    if (fclose(out) != 0)
        status = EK_ERR_MEMORY;
    if (!status) {
        keep_settings(text, p->memory_known);
        kept = ek__pool_format(pool, "%s", text);
    } else if (status == EK_ERR_INPUT) {
        kept = plain_settings(plan, pool);
    }
    free(text);
    return kept;
}
