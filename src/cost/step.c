/* Predicts the step of a job: layers are priced part by part, summed into the chunks of every stage and simulated under
 * the schedule; then follow gradients, the norm over all stages, the optimizer and the weights. A stage's parts are
 * sums of its blocks, and the rest of the step is its bubble, so they add up exactly. Not handled: the first forward
 * pass of the next step that begins on early stages while late ones still update. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "cost/collective.h"
#include "cost/data_parallel.h"
#include "cost/layer_table.h"
#include "cost/step_layers.h"
#include "cost/step_stage.h"
#include "memory/program.h"
#include "simulate/order.h"

const char *const ek__step_part_name[EK_N_STEP_PARTS] = {"matrix", "attention", "grouped", "memory", "recompute",
                                                         "tensor", "context",   "expert",  "bubble", "p2p",
                                                         "data",   "optimizer", "host",    "input"};
const char *const *const ek_step_part_name = ek__step_part_name;
static const char *const ek__step_part_title[EK_N_STEP_PARTS] = {"matrix products",
                                                                 "attention",
                                                                 "experts' products",
                                                                 "memory-bound operators",
                                                                 "recomputation",
                                                                 "exposed tensor parallel",
                                                                 "exposed context parallel",
                                                                 "exposed expert parallel",
                                                                 "pipeline bubble",
                                                                 "exposed sends and receives",
                                                                 "exposed data parallel",
                                                                 "optimizer",
                                                                 "host",
                                                                 "input"};
const char *const *const ek_step_part_title = ek__step_part_title;

/* Forward and backward of a cell, a chunk of a stage, one micro-batch. */
typedef struct cell_cost {
    ek__pass forward, backward;
    double weight; /* seconds of backward that are the gradient of the weights */
    int n_layers;  /* with the embedding and the head */
} cell_cost;

typedef struct stepper {
    const ek_job *job;
    const ek_device *device;
    ek__step_layers *layers;
    ek_order *order;
    int n_stages, n_cells;
    cell_cost *cell;                           /* [n_cells] */
    ek__data_layer kind[EK__N_GRAPH_KINDS][2]; /* parameters, also of a head on a stage that has the table */
    ek__data_layer *listed;                    /* layers of one stage at a time */
    ek__data_times *data;                      /* [n_stages] */
    double edge_error;                         /* of the edges, the largest standard error of a logarithm */
    double *edge;                              /* [n_stages] seconds */
    double *scratch;
    ek_step out;
    ek_error *err;
} stepper;

/* ---- layers of cells ---- */

typedef void on_layer(stepper *s, int cell, ek__graph_kind kind, ek__recompute what, void *to);

static ek__recompute no_recompute(void)
{
    return (ek__recompute){.full = false};
}

/* The recomputation of a layer of a chunk: everything for the first `full` ones, for others the patterns that apply to
 * them. */
static ek__recompute recompute_of(const ek_job *job, int cell, int layer)
{
    ek__recompute what = {.full = layer < job->plan.full[cell]};
    for (int i = 0; i < job->n_patterns; i++) {
        const ek_pattern *pattern = &job->pattern[i];
        bool excludes = pattern->kind == EK_PATTERN_SELECT_EXCLUDE || pattern->kind == EK_PATTERN_COMM_EXCLUDE;
        if (layer < pattern->layers[cell] && (!what.full || excludes))
            what.patterns |= UINT64_C(1) << i;
    }
    return what;
}

/* Layers of the chunk at a model position, from the chunk's first layer in the model on; with the embedding before the
 * first and the head after the last of all. */
static void each_layer_at(stepper *s, int position, int first, on_layer *visit, void *to)
{
    int cell = s->order->cell_at[position];
    if (position == 0)
        visit(s, cell, EK__GRAPH_EMBEDDING, no_recompute(), to);
    for (int i = 0; i < s->job->plan.layers[cell]; i++)
        visit(s, cell, ek__layer_graph_kind(s->job, first + i), recompute_of(s->job, cell, i), to);
    if (position == s->n_cells - 1)
        visit(s, cell, EK__GRAPH_HEAD, no_recompute(), to);
}

/* All layers of the model in its order. */
static void each_layer(stepper *s, on_layer *visit, void *to)
{
    int at = 0;
    for (int q = 0; q < s->n_cells; q++) {
        each_layer_at(s, q, at, visit, to);
        at += s->job->plan.layers[s->order->cell_at[q]];
    }
}

/* ---- chunks ---- */

/* Passes of a layer with the host's part. */
static void passes_of(stepper *s, ek__graph_kind kind, ek__recompute what, ek__pass *forward, ek__pass *backward,
                      ek__layer_cost **layer)
{
    *layer = ek__step_layer(s->layers, kind);
    *forward = (*layer)->forward;
    *backward = (*layer)->backward;
    ek__pass_add(backward, ek__layer_again(s->job, s->device, *layer, what), 1);
    ek__pass_launch(s->job, s->device, *layer, forward);
    ek__pass_launch(s->job, s->device, *layer, backward);
}

static void add_to_cell(stepper *s, int cell, ek__graph_kind kind, ek__recompute what, void *to)
{
    ek__pass forward, backward;
    ek__layer_cost *layer;
    (void)to;
    passes_of(s, kind, what, &forward, &backward, &layer);
    cell_cost *c = &s->cell[cell];
    ek__pass_add(&c->forward, &forward, 1);
    ek__pass_add(&c->backward, &backward, 1);
    c->weight += ek__pass_seconds(&layer->weight);
    c->n_layers++;
}

/* ---- data parallel ---- */

typedef struct listing {
    int stage, n;
    bool has_table;
} listing;

static bool holds(const stepper *s, int stage, int cell)
{
    int other = s->n_stages - 1 - stage;
    return cell % s->n_stages == stage || (s->order->n_ways == 2 && cell % s->n_stages == other);
}

static void list_layer(stepper *s, int cell, ek__graph_kind kind, ek__recompute what, void *to)
{
    listing *l = to;
    ek__pass forward, backward;
    ek__layer_cost *layer;
    if (!holds(s, l->stage, cell))
        return;
    passes_of(s, kind, what, &forward, &backward, &layer);
    l->has_table |= kind == EK__GRAPH_EMBEDDING;
    ek__data_layer *to_list = &s->listed[l->n++];
    *to_list = s->kind[kind][kind == EK__GRAPH_HEAD && l->has_table];
    to_list->chunk = cell / s->n_stages;
    to_list->forward = ek__pass_seconds(&forward);
    to_list->backward = ek__pass_seconds(&backward);
}

static void count_parameters(stepper *s)
{
    for (int kind = 0; kind < EK__N_GRAPH_KINDS; kind++)
        for (int table = 0; table < 2; table++) {
            const ek__graph *graph = ek__step_layer(s->layers, (ek__graph_kind)kind)->graph;
            if (graph)
                s->kind[kind][table] = ek__data_layer_of(s->job, graph, table);
        }
}

static int accumulation(const ek_job *job)
{
    return job->parallel.pipeline == 1 && job->parallel.n_accumulation > 1 ? job->parallel.n_accumulation : 1;
}

/* Micro-batches that a chunk runs in a row where chunks interleave one after another; with other placements passes of a
 * stage's chunks take turns one by one. */
static int in_a_row(const stepper *s)
{
    const ek_job_parallel *p = &s->job->parallel;
    int row = p->chunk_group > 0 ? p->chunk_group : s->n_stages;
    if (s->job->plan.n_chunks == 1 || s->job->schedule->placement != EK_PLACE_WRAP)
        return 1;
    return row < p->n_micro_batches ? row : p->n_micro_batches;
}

/* Data parallel work of a stage with listed layers. */
static ek_status price_listed(stepper *s, const listing *l)
{
    const ek__data_stage work = {.layer = s->listed,
                                 .n_layers = l->n,
                                 .first = l->stage == 0,
                                 .in_a_row = in_a_row(s),
                                 .n_micro_batches = s->job->parallel.n_micro_batches * accumulation(s->job)};
    return ek__data_parallel(s->job, s->device, &work, &s->data[l->stage], s->err);
}

static ek_status price_data(stepper *s)
{
    ek_status status = EK_OK;
    count_parameters(s);
    for (int stage = 0; stage < s->n_stages && !status; stage++) {
        listing l = {.stage = stage};
        each_layer(s, list_layer, &l);
        status = price_listed(s, &l);
    }
    return status;
}

/* Each micro-batch's wait for weights and gradients is distributed to the stage's cells by their layers. */
static void spread_data(stepper *s)
{
    for (int c = 0; c < s->n_cells; c++) {
        const ek__data_times *data = &s->data[c % s->n_stages];
        int all = 0;
        for (int other = c % s->n_stages; other < s->n_cells; other += s->n_stages)
            all += s->cell[other].n_layers;
        double share = all > 0 ? (double)s->cell[c].n_layers / all : 0;
        ek__pass wait = {.part[EK_STEP_DATA] = share * data->forward,
                         .error[EK_STEP_DATA] = share * data->forward * data->error,
                         .basis[EK_STEP_DATA] = data->basis};
        ek__pass_add(&s->cell[c].forward, &wait, 1);
        wait.part[EK_STEP_DATA] = share * data->backward;
        wait.error[EK_STEP_DATA] = share * data->backward * data->error;
        ek__pass_add(&s->cell[c].backward, &wait, 1);
    }
}

/* ---- the pipeline ---- */

static ek_status lay_out(stepper *s)
{
    const ek_job *job = s->job;
    int pieces = job->parallel.n_pieces > 1 ? job->parallel.n_pieces : 1;
    const ek_shape shape = {.n_stages = job->plan.n_stages,
                            .n_chunks = job->plan.n_chunks,
                            .n_micro_batches = job->parallel.n_micro_batches * pieces,
                            .n_pieces = pieces};
    ek_status status = ek__step_order(s->layers, job->schedule, &shape, &s->order, s->err);
    if (status)
        return status;
    s->n_stages = shape.n_stages;
    s->n_cells = s->order->n_cells;
    return EK_OK;
}

double ek_cost_border_bytes(const ek_job *job)
{
    const ek_job_parallel *p = &job->parallel;
    double pieces = p->n_pieces > 1 ? p->n_pieces : 1, copies = p->n_batch_interleave > 1 ? p->n_batch_interleave : 1;
    double tokens = (double)p->batch * p->seq_length / p->context / pieces;
    return copies * tokens * job->model.hidden * ek_dtype_bytes(job->types.compute) /
           (p->sequence_parallel || job->run.p2p_scattered ? p->tensor : 1);
}

static void weaken(ek_step *step, ek_step_part part, ek_cost_basis basis)
{
    if (basis > step->basis[part])
        step->basis[part] = basis;
}

static void price_edges(stepper *s)
{
    for (int stage = 0; stage < s->n_stages; stage++) {
        const ek__ranks ranks = ek__placement_edge(s->job, s->device, stage);
        ek__collective_time sent = {.seconds = 0};
        if (s->n_stages > 1)
            sent = ek__collective_seconds(s->device, EK_COLLECTIVE_P2P, &ranks, ek_cost_border_bytes(s->job));
        s->edge[stage] = sent.seconds;
        s->edge_error = fmax(s->edge_error, sent.error);
        weaken(&s->out, EK_STEP_P2P, sent.basis);
    }
}

/* The number of runs of each slot on the stage of its cell, and on the mirrored one where micro-batches run both
 * ways. */
static void count_blocks(const stepper *s, double *count)
{
    int n_slots = ek__order_n_slots(s->order);
    memset(count, 0, 2 * (size_t)n_slots * sizeof *count);
    for (size_t k = 0; k < s->order->n_blocks; k++) {
        size_t slot = ek__step_slot(s->order->steps[k]);
        bool mirrored = (int)slot % s->n_cells % s->n_stages != (int)ek__step_stage(s->order->steps[k]);
        count[(mirrored ? n_slots : 0) + (int)slot]++;
    }
}

static void add_pass(ek_step *step, double *seconds, double *error, const ek__pass *pass, double times)
{
    for (int i = 0; i < EK_N_STEP_PARTS; i++) {
        seconds[i] += times * pass->part[i];
        error[i] += times * pass->error[i];
        if (pass->part[i] > 0 && pass->basis[i] > step->basis[i])
            step->basis[i] = pass->basis[i];
    }
}

/* A stage's blocks, by part. `errors` [n_stages][parts]. */
static void add_blocks(stepper *s, const double *count, const ek__delays *delays, double (*errors)[EK_N_STEP_PARTS])
{
    int n_slots = ek__order_n_slots(s->order), p = s->n_stages;
    for (int way = 0; way < s->order->n_ways; way++)
        for (int c = 0; c < s->n_cells; c++) {
            const double *times = count + way * n_slots;
            int stage = way ? p - 1 - c % p : c % p;
            ek_step_stage *to = &s->out.stage[stage];
            add_pass(&s->out, to->seconds, errors[stage], &s->cell[c].forward, times[c]);
            add_pass(&s->out, to->seconds, errors[stage], &s->cell[c].backward, times[s->n_cells + c]);
            to->hidden_tensor +=
                times[c] * s->cell[c].forward.hidden_tensor + times[s->n_cells + c] * s->cell[c].backward.hidden_tensor;
            for (int slot = c; slot < n_slots; slot += s->n_cells) {
                double sent =
                    times[slot] * (delays->before[way * n_slots + slot] + delays->after[way * n_slots + slot]);
                to->seconds[EK_STEP_P2P] += sent;
                errors[stage][EK_STEP_P2P] += sent * s->edge_error;
            }
        }
}

static void set_durations(const stepper *s, double *duration)
{
    for (int c = 0; c < s->n_cells; c++) {
        double backward = ek__pass_seconds(&s->cell[c].backward);
        bool splits = s->order->n_kinds > 2;
        duration[c] = ek__pass_seconds(&s->cell[c].forward);
        duration[s->n_cells + c] = backward - (splits ? s->cell[c].weight : 0);
        if (splits)
            duration[2 * s->n_cells + c] = s->cell[c].weight;
    }
}

/* ---- the step ---- */

static double work_of(const ek_step_stage *stage)
{
    double sum = 0;
    for (int i = 0; i < EK_N_STEP_PARTS; i++)
        sum += i == EK_STEP_BUBBLE ? 0 : stage->seconds[i];
    return sum;
}

/* Add the work after the pipeline on a stage: its gradients, the barrier of the norm, the update, the weights.
 * @param end  [n_stages] of the last block. @return the step */
static double finish_stages(stepper *s, const double *end, double (*errors)[EK_N_STEP_PARTS])
{
    double barrier = 0, step = 0;
    for (int i = 0; i < s->n_stages; i++)
        barrier = fmax(barrier, end[i] + s->data[i].reduction + s->data[i].slowdown);
    for (int i = 0; i < s->n_stages; i++) {
        const ek__data_times *d = &s->data[i];
        ek_step_stage *to = &s->out.stage[i];
        double data = d->reduction + d->slowdown + d->first_forward, update = d->norm + d->optimizer;
        to->seconds[EK_STEP_DATA] += data;
        to->seconds[EK_STEP_OPTIMIZER] += update;
        to->hidden_data = d->hidden;
        errors[i][EK_STEP_DATA] += data * d->error;
        errors[i][EK_STEP_OPTIMIZER] += d->optimizer_error;
        if (data > 0)
            weaken(&s->out, EK_STEP_DATA, d->basis);
        if (update > 0)
            weaken(&s->out, EK_STEP_OPTIMIZER, d->optimizer_basis);
        step = fmax(step, barrier + update + d->first_forward);
    }
    return step;
}

static double n_devices(const ek_job *job)
{
    return (double)job->parallel.data * job->parallel.tensor * job->parallel.pipeline * job->parallel.context;
}

/* Seconds that a step of this length waits for its data: a token's number and its label, 4 bytes each. */
static double input_seconds(const ek_device *device, const ek_job *job, double step)
{
    const ek_job_parallel *p = &job->parallel;
    double copies = p->n_batch_interleave > 1 ? p->n_batch_interleave : 1, ranks = job->run.full_batch ? p->data : 1;
    double bytes = 8.0 * ranks * copies * p->batch * p->seq_length * p->n_micro_batches * accumulation(job);
    return device->input_gbs > 0 ? fmax(0, bytes / (device->input_gbs * 1e9) - step) : 0;
}

/* Seconds of a whole step that are not of the pipeline: the host's own, ranks that wait for the slowest of them, and
 * data that arrives more slowly than it is used. */
static double add_whole(stepper *s, double step, double (*errors)[EK_N_STEP_PARTS])
{
    const ek_device *device = s->device;
    const ek_job_parallel *p = &s->job->parallel;
    double host = device->host.step_us * 1e-6, late = device->jitter * log2(n_devices(s->job)) * step;
    double input = input_seconds(device, s->job, step);
    for (int i = 0; i < s->n_stages; i++) {
        double *seconds = s->out.stage[i].seconds;
        seconds[EK_STEP_HOST] += host;
        errors[i][EK_STEP_HOST] += host * device->host.error;
        seconds[p->data * p->context > 1 ? EK_STEP_DATA : EK_STEP_BUBBLE] += late;
        seconds[EK_STEP_INPUT] += input;
    }
    if (host > 0)
        weaken(&s->out, EK_STEP_HOST, device->host.basis);
    return step + host + late + input;
}

/* Of a step: the rounding error of sums of its parts, which is not waiting time. */
#define ROUNDING 1e-12

/* The part of a stage that nothing else explains is its bubble; the slowest stage has the least. */
/* A part that no stage has follows from the job: nothing of it was measured. That a step never waits for its input
 * is assumed where the device file does not say how fast that is. */
static void set_absent(stepper *s)
{
    ek_step *step = &s->out;
    for (int part = 0; part < EK_N_STEP_PARTS; part++) {
        bool present = false;
        for (int i = 0; i < s->n_stages; i++)
            present |= step->stage[i].seconds[part] > 0;
        if (!present && step->basis[part] == EK_COST_MEASURED)
            step->basis[part] =
                part == EK_STEP_INPUT && !(s->device->input_gbs > 0) ? EK_COST_ASSUMED : EK_COST_DERIVED;
    }
}

static void close_stages(stepper *s, double (*errors)[EK_N_STEP_PARTS])
{
    ek_step *step = &s->out;
    for (int i = 0; i < s->n_stages; i++) {
        double *seconds = step->stage[i].seconds;
        double left = step->seconds - work_of(&step->stage[i]);
        seconds[EK_STEP_BUBBLE] = left > ROUNDING * step->seconds ? left : 0;
        if (work_of(&step->stage[i]) > work_of(&step->stage[step->slowest]))
            step->slowest = i;
    }
    const double *seconds = step->stage[step->slowest].seconds;
    double square = 0, share = step->seconds > 0 ? seconds[EK_STEP_BUBBLE] / step->seconds : 0;
    step->basis[EK_STEP_BUBBLE] = EK_COST_DERIVED;
    set_absent(s);
    for (int i = 0; i < EK_N_STEP_PARTS; i++) {
        step->error[i] = errors[step->slowest][i];
        square += step->error[i] * step->error[i];
    }
    /* The bubble is as long as the work of the other stages, and has its error. */
    double rest = sqrt(square) / (share < 1 ? 1 - share : 1);
    step->error[EK_STEP_BUBBLE] = rest * share;
    step->standard_error = s->device->error > 0 ? ek__layer_error(s->job, s->device) * step->seconds : rest;
}

static void find_nearest(stepper *s)
{
    double near = 0, weight = 0;
    for (int c = 0; c < s->n_cells; c++) {
        near += s->cell[c].forward.near + s->cell[c].backward.near;
        weight += s->cell[c].forward.weight + s->cell[c].backward.weight;
    }
    s->out.nearest = weight > 0 ? near / weight : NAN;
}

static void set_micro_batch(stepper *s)
{
    for (int stage = 0; stage < s->n_stages; stage++) {
        double sum = 0;
        for (int c = stage; c < s->n_cells; c += s->n_stages)
            sum += ek__pass_seconds(&s->cell[c].forward) + ek__pass_seconds(&s->cell[c].backward);
        s->out.micro_batch_seconds = fmax(s->out.micro_batch_seconds, sum);
    }
}

/* Parts of a pipeline that runs several times, before the work done once a step. */
static void repeat(stepper *s, double times, double (*errors)[EK_N_STEP_PARTS])
{
    for (int i = 0; i < s->n_stages; i++) {
        s->out.stage[i].hidden_tensor *= times;
        for (int part = 0; part < EK_N_STEP_PARTS; part++) {
            s->out.stage[i].seconds[part] *= times;
            errors[i][part] *= times;
        }
    }
}

static void run(stepper *s, double (*errors)[EK_N_STEP_PARTS])
{
    int n_slots = ek__order_n_slots(s->order);
    double *duration = s->scratch, *count = duration + n_slots, *delay = count + 2 * (size_t)n_slots,
           *clocks = delay + ek__order_delays_size(s->order);
    const ek_comm comm = {.edge_time = s->edge, .blocking = !s->job->run.overlap_p2p};
    const ek__delays delays = ek__comm_delays(s->order, &comm, delay);
    double times = accumulation(s->job);
    set_durations(s, duration);
    count_blocks(s, count);
    ek__order_step_time(s->order, duration, &delays, clocks);
    for (int i = 0; i < s->n_stages; i++)
        clocks[i] *= times;
    add_blocks(s, count, &delays, errors);
    repeat(s, times, errors);
    s->out.seconds = add_whole(s, finish_stages(s, clocks, errors), errors);
    close_stages(s, errors);
    find_nearest(s);
    set_micro_batch(s);
}

static size_t scratch_size(const ek_order *order)
{
    return 3 * (size_t)ek__order_n_slots(order) + ek__order_delays_size(order) + ek__order_n_clocks(order);
}

static ek_status make_room(stepper *s)
{
    int n_layers = s->job->model.n_layers + s->job->model.n_prediction_layers;
    s->cell = ek__alloc((size_t)s->n_cells, sizeof *s->cell);
    s->listed = ek__alloc(2 * (size_t)n_layers + 4, sizeof *s->listed);
    s->data = ek__alloc((size_t)s->n_stages, sizeof *s->data);
    s->edge = ek__alloc((size_t)s->n_stages, sizeof *s->edge);
    s->out.stage = ek__alloc((size_t)s->n_stages, sizeof *s->out.stage);
    s->scratch = ek__alloc(scratch_size(s->order), sizeof *s->scratch);
    s->out.n_stages = s->n_stages;
    return s->cell && s->listed && s->data && s->edge && s->out.stage && s->scratch ? EK_OK : ek__no_memory(s->err);
}

/* Everything that does not hang on which stage has which layers. */
static ek_status prepare(stepper *s)
{
    ek_status status = lay_out(s);
    if (!status)
        status = make_room(s);
    return status ? status : ek__step_layers_price(s->layers, s->job, s->err);
}

static void clear_stepper(stepper *s)
{
    free(s->cell);
    free(s->listed);
    free(s->data);
    free(s->edge);
    free(s->scratch);
}

static ek_status compute(stepper *s)
{
    ek_status status = prepare(s);
    if (status)
        return status;
    double(*errors)[EK_N_STEP_PARTS] = ek__alloc((size_t)s->n_stages, sizeof *errors);
    if (!errors)
        return ek__no_memory(s->err);
    each_layer(s, add_to_cell, NULL);
    status = price_data(s);
    if (!status) {
        spread_data(s);
        price_edges(s);
        run(s, errors);
    }
    free(errors);
    return status;
}

ek_status ek_cost_step(const ek_job *job, const ek_device *device, ek_cost_cache *cache, ek_step *out, ek_error *err)
{
    ek_cost_cache *own = cache ? NULL : ek_cost_cache_new(device);
    stepper s = {.job = job, .device = device, .err = err};
    if (!cache && !own)
        return ek__no_memory(err);
    s.layers = ek__cost_cache_layers(cache ? cache : own, job);
    ek_status status = s.layers ? compute(&s) : ek__no_memory(err);
    if (status == EK_OK)
        *out = s.out;
    else
        ek_step_clear(&s.out);
    clear_stepper(&s);
    ek_cost_cache_free(own);
    return status;
}

/* ---- block by block ---- */

/* Ends of the terms that finish_stages() adds up, from those of the last blocks. */
static void set_tails(const stepper *s, const double *end, ek_step_tail *tail)
{
    double barrier = 0;
    for (int i = 0; i < s->n_stages; i++)
        barrier = fmax(barrier, end[i] + s->data[i].reduction + s->data[i].slowdown);
    for (int i = 0; i < s->n_stages; i++) {
        const ek__data_times *d = &s->data[i];
        double update = barrier + (d->norm + d->optimizer);
        tail[i] = (ek_step_tail){.blocks = end[i],
                                 .gradients = end[i] + d->reduction + d->slowdown,
                                 .barrier = barrier,
                                 .update = update,
                                 .weights = update + d->first_forward};
    }
}

/* compute() has left the times of blocks in the stepper. */
static ek_status lay_run(stepper *s, ek_step_run *run)
{
    double *end = ek__alloc((size_t)s->n_stages, sizeof *end);
    run->tail = ek__alloc((size_t)s->n_stages, sizeof *run->tail);
    run->edge = s->edge;
    s->edge = NULL;
    if (!end || !run->tail) {
        free(end);
        return ek__no_memory(s->err);
    }
    const ek_comm comm = {.edge_time = run->edge, .blocking = !s->job->run.overlap_p2p};
    run->repeats = accumulation(s->job);
    run->seconds = s->out.seconds;
    set_durations(s, s->scratch);
    ek_status status = ek__order_run(s->order, s->scratch, &comm, &run->pipeline, s->err);
    for (int i = 0; i < s->n_stages && !status; i++)
        end[i] = run->repeats * run->pipeline.block[run->pipeline.first[i + 1] - 1].end;
    if (!status)
        set_tails(s, end, run->tail);
    free(end);
    return status;
}

ek_status ek_cost_step_run(const ek_job *job, const ek_device *device, ek_cost_cache *cache, ek_step_run *out,
                           ek_error *err)
{
    ek_cost_cache *own = cache ? NULL : ek_cost_cache_new(device);
    stepper s = {.job = job, .device = device, .err = err};
    ek_step_run run = {.repeats = 1};
    if (!cache && !own)
        return ek__no_memory(err);
    s.layers = ek__cost_cache_layers(cache ? cache : own, job);
    ek_status status = s.layers ? compute(&s) : ek__no_memory(err);
    if (!status)
        status = lay_run(&s, &run);
    if (status)
        ek_step_run_clear(&run);
    else
        *out = run;
    ek_step_clear(&s.out);
    clear_stepper(&s);
    ek_cost_cache_free(own);
    return status;
}

void ek_step_run_clear(ek_step_run *run)
{
    ek_timeline_clear(&run->pipeline);
    free(run->edge);
    free(run->tail);
    *run = (ek_step_run){0};
}

void ek_step_clear(ek_step *step)
{
    free(step->stage);
    *step = (ek_step){0};
}

/* ---- stage by stage ---- */

struct ek__stage_pricer {
    stepper s;
    double *delay; /* of the edges, filled by ek__comm_delays() */
    ek__delays delays;
};

static ek_status begin_pricer(ek__stage_pricer *p)
{
    ek_status status = prepare(&p->s);
    if (status)
        return status;
    p->delay = ek__alloc(ek__order_delays_size(p->s.order), sizeof *p->delay);
    if (!p->delay)
        return ek__no_memory(p->s.err);
    count_parameters(&p->s);
    price_edges(&p->s);
    const ek_comm comm = {.edge_time = p->s.edge, .blocking = !p->s.job->run.overlap_p2p};
    p->delays = ek__comm_delays(p->s.order, &comm, p->delay);
    return EK_OK;
}

ek_status ek__stage_pricer_new(const ek_job *job, const ek_device *device, ek_cost_cache *cache, ek__stage_pricer **out,
                               ek_error *err)
{
    ek__stage_pricer *made = ek__alloc(1, sizeof *made);
    if (!made)
        return ek__no_memory(err);
    made->s = (stepper){.job = job, .device = device, .err = err};
    made->s.layers = ek__cost_cache_layers(cache, job);
    ek_status status = made->s.layers ? begin_pricer(made) : ek__no_memory(err);
    if (status)
        ek__stage_pricer_free(made);
    else
        *out = made;
    return status;
}

void ek__stage_pricer_free(ek__stage_pricer *pricer)
{
    if (!pricer)
        return;
    ek_step_clear(&pricer->s.out);
    clear_stepper(&pricer->s);
    free(pricer->delay);
    free(pricer);
}

const ek_order *ek__stage_pricer_order(const ek__stage_pricer *pricer)
{
    return pricer->s.order;
}

const ek__delays *ek__stage_pricer_delays(const ek__stage_pricer *pricer)
{
    return &pricer->delays;
}

ek__stage_price ek__stage_price_of(ek__stage_pricer *pricer, int stage, int first)
{
    ek__chunk_price chunk;
    ek__stage_price price = ek__stage_price_chunks(pricer, stage, 1, &first, &chunk);
    price.forward = chunk.forward + chunk.wait_forward;
    price.backward = chunk.backward + chunk.wait_backward;
    price.weight = pricer->s.cell[stage].weight;
    return price;
}

ek__stage_price ek__stage_price_chunks(ek__stage_pricer *pricer, int stage, int n_chunks, const int *first,
                                       ek__chunk_price *chunk)
{
    stepper *s = &pricer->s;
    listing l = {.stage = stage};
    double times = accumulation(s->job);
    int all = 0;
    for (int c = 0; c < n_chunks; c++) {
        int cell = c * s->n_stages + stage;
        s->cell[cell] = (cell_cost){.n_layers = 0};
        each_layer_at(s, cell, first[c], add_to_cell, NULL);
        each_layer_at(s, cell, first[c], list_layer, &l);
        all += s->cell[cell].n_layers;
    }
    ek__stage_price price = {.status = price_listed(s, &l)};
    const ek__data_times *d = &s->data[stage];
    for (int c = 0; c < n_chunks; c++) {
        const cell_cost *cell = &s->cell[c * s->n_stages + stage];
        double share = all > 0 ? (double)cell->n_layers / all : 0;
        chunk[c] = (ek__chunk_price){.forward = times * ek__pass_seconds(&cell->forward),
                                     .backward = times * ek__pass_seconds(&cell->backward),
                                     .wait_forward = times * share * d->forward,
                                     .wait_backward = times * share * d->backward};
    }
    price.after = d->reduction + d->slowdown;
    price.update = d->norm + d->optimizer + d->first_forward;
    return price;
}

ek_layer_times ek__stage_pricer_layer(ek__stage_pricer *pricer, ek__graph_kind kind)
{
    ek_layer_times times = {0};
    double ms = 1e3 * accumulation(pricer->s.job);
    for (int k = 0; k < EK_N_RECOMPUTE; k++) {
        ek__pass forward, backward;
        ek__layer_cost *layer;
        passes_of(&pricer->s, kind, ek__recompute_of_kind(pricer->s.job, (ek_recompute)k), &forward, &backward, &layer);
        times.forward = ms * ek__pass_seconds(&forward);
        times.weight = ms * ek__pass_seconds(&layer->weight);
        times.backward[k] = ms * ek__pass_seconds(&backward);
    }
    return times;
}

ek_status ek__stage_pricer_kept(ek__stage_pricer *pricer, ek__graph_kind kind, ek_recompute recompute, int64_t *kept,
                                ek_error *err)
{
    ek__layer_bytes bytes;
    ek_status status = ek__step_layer_bytes(pricer->s.layers, pricer->s.job, kind, recompute, &bytes, err);
    if (!status)
        *kept = bytes.kept;
    return status;
}

const double *ek__stage_pricer_edges(const ek__stage_pricer *pricer)
{
    return pricer->s.edge;
}

double ek__stage_pricer_whole(ek__stage_pricer *pricer, double step)
{
    if (!isfinite(step))
        return step;
    stepper *s = &pricer->s;
    double late = s->device->jitter * log2(n_devices(s->job)) * step;
    double input = input_seconds(s->device, s->job, step);
    return step + s->device->host.step_us * 1e-6 + late + input;
}
