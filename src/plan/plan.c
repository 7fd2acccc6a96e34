/* Computes a plan's layers per recompute kind from the framework's three lists, and the time and memory of every chunk
 * from those. */
#include "evenkeel/plan.h"
#include "evenkeel/layers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

static ek_status check_size(int n_stages, int n_chunks, ek_error *err)
{
    if (n_stages < 1 || n_stages > EK_MAX_STAGES)
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "stages must be 1 to %d (got %d)", EK_MAX_STAGES, n_stages);
    if (n_chunks < 1 || n_chunks > EK_MAX_CHUNKS)
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "chunks per stage must be 1 to %d (got %d)", EK_MAX_CHUNKS,
                        n_chunks);
    return EK_OK;
}

ek_status ek_plan_init(ek_plan *plan, int n_stages, int n_chunks, ek_error *err)
{
    ek_status status = check_size(n_stages, n_chunks, err);
    if (status)
        return status;
    size_t n = (size_t)n_stages * (size_t)n_chunks;
    int *cells = ek__alloc(4 * n, sizeof *cells);
    if (!cells)
        return ek__no_memory(err);
    *plan = (ek_plan){.n_stages = n_stages,
                      .n_chunks = n_chunks,
                      .layers = cells,
                      .full = cells + n,
                      .select = cells + 2 * n,
                      .comm = cells + 3 * n};
    return EK_OK;
}

ek_status ek_plan_copy(const ek_plan *from, ek_plan *to, ek_error *err)
{
    ek_plan copy;
    ek_status status = ek_plan_init(&copy, from->n_stages, from->n_chunks, err);
    if (status)
        return status;
    size_t size = (size_t)from->n_stages * (size_t)from->n_chunks * sizeof(int);
    memcpy(copy.layers, from->layers, size);
    memcpy(copy.full, from->full, size);
    memcpy(copy.select, from->select, size);
    memcpy(copy.comm, from->comm, size);
    *to = copy;
    return EK_OK;
}

void ek_plan_clear(ek_plan *plan)
{
    free(plan->layers); /* the four arrays are one allocation */
    *plan = (ek_plan){0};
}

static int max_int(int a, int b)
{
    return a > b ? a : b;
}

static int min_int(int a, int b)
{
    return a < b ? a : b;
}

ek_chunk_mix ek_plan_mix(const ek_plan *plan, int chunk, int stage)
{
    int c = chunk * plan->n_stages + stage;
    int full = plan->full[c], select = plan->select[c], comm = plan->comm[c];
    ek_chunk_mix mix;
    mix.n[EK_RECOMPUTE_FULL] = full;
    mix.n[EK_RECOMPUTE_BOTH] = max_int(min_int(select, comm) - full, 0);
    mix.n[EK_RECOMPUTE_SELECT] = max_int(select - full - mix.n[EK_RECOMPUTE_BOTH], 0);
    mix.n[EK_RECOMPUTE_COMM] = max_int(comm - full - mix.n[EK_RECOMPUTE_BOTH], 0);
    mix.n[EK_RECOMPUTE_NONE] = plan->layers[c] - mix.n[EK_RECOMPUTE_FULL] - mix.n[EK_RECOMPUTE_BOTH] -
                               mix.n[EK_RECOMPUTE_SELECT] - mix.n[EK_RECOMPUTE_COMM];
    return mix;
}

int ek_plan_offset(const ek_plan *plan, int n_layers, int chunk, int stage)
{
    return plan->layers[chunk * plan->n_stages + stage] - n_layers / (plan->n_stages * plan->n_chunks);
}

/* One chunk's layers and lists. */
static ek_status check_chunk(const ek_plan *plan, int chunk, int stage, ek_error *err)
{
    int c = chunk * plan->n_stages + stage, n = plan->layers[c];
    const struct {
        const char *name;
        int value;
    } lists[] = {
        {"recompute", plan->full[c]}, {"select_recompute", plan->select[c]}, {"select_comm_recompute", plan->comm[c]}};
    if (n < 0)
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "stage %d, chunk %d: %d layers", stage, chunk, n);
    for (size_t l = 0; l < sizeof lists / sizeof *lists; l++)
        if (lists[l].value < 0 || lists[l].value > n)
            return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE,
                            "stage %d, chunk %d: %s is %d, but the chunk has %d layers; it must be 0 to %d", stage,
                            chunk, lists[l].name, lists[l].value, n, n);
    return EK_OK;
}

ek_status ek_plan_check_layers(const ek_plan *plan, int n_layers, ek_error *err)
{
    long total = 0;
    ek_status status = check_size(plan->n_stages, plan->n_chunks, err);
    for (int i = 0; i < plan->n_chunks && !status; i++)
        for (int s = 0; s < plan->n_stages && !status; s++) {
            status = check_chunk(plan, i, s, err);
            total += plan->layers[i * plan->n_stages + s];
        }
    if (!status && total != n_layers)
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "the plan places %ld layers, but the model has %d", total,
                        n_layers);
    return status;
}

ek_status ek_plan_check(const ek_plan *plan, const ek_layers *layers, ek_error *err)
{
    ek_status status = ek_plan_check_layers(plan, layers->n_layers, err);
    for (int c = 0; !status && c < plan->n_chunks * plan->n_stages; c++) {
        int i = c / plan->n_stages, s = c % plan->n_stages;
        ek_chunk_mix mix = ek_plan_mix(plan, i, s);
        for (int k = 0; k < EK_N_RECOMPUTE && !status; k++)
            if (mix.n[k] > 0 && !layers->modelled[k])
                status = ek__fail(err, EK_ERR_INPUT, EK__NOWHERE,
                                  "stage %d, chunk %d: %d layers with recomputation '%s', with unknown memory: no dry "
                                  "run used it; remove it or add a dry run that uses it",
                                  s, i, mix.n[k], ek_recompute_name[k]);
    }
    return status;
}

/* Add `n` layers of kind `k` starting at `*at`, a position in the model that spans body kinds. */
static void add_layers(const ek_layers *layers, int *at, int n, ek_recompute k, ek_chunk_cost *cost)
{
    int first = 0;
    for (int b = 0; b < layers->n_body && n > 0; b++) {
        const ek_layer *body = &layers->body[b];
        int here = min_int(n, first + body->n_layers - *at);
        if (here > 0) {
            cost->forward_time += here * body->forward_time;
            cost->backward_time += here * body->backward_time[k];
            cost->weight_time += here * body->weight_time;
            cost->recompute_time += here * (body->backward_time[k] - body->backward_time[EK_RECOMPUTE_NONE]);
            cost->parameter_mb += here * body->parameter_mb;
            cost->activation_mb += here * body->activation_mb[k];
            if (layers->recompute_transient)
                cost->transient_mb =
                    fmax(cost->transient_mb, body->activation_mb[EK_RECOMPUTE_NONE] - body->activation_mb[k]);
            *at += here;
            n -= here;
        }
        first += body->n_layers;
    }
}

static void add_extra(const ek_layer *extra, ek_chunk_cost *cost)
{
    cost->forward_time += extra->forward_time;
    cost->backward_time += extra->backward_time[EK_RECOMPUTE_NONE];
    cost->weight_time += extra->weight_time;
    cost->parameter_mb += extra->parameter_mb;
    cost->activation_mb += extra->activation_mb[EK_RECOMPUTE_NONE];
}

/* The framework applies each list to a chunk's first layers, so the kinds come in this order. */
static const ek_recompute order[EK_N_RECOMPUTE] = {EK_RECOMPUTE_FULL, EK_RECOMPUTE_BOTH, EK_RECOMPUTE_SELECT,
                                                   EK_RECOMPUTE_COMM, EK_RECOMPUTE_NONE};

void ek_plan_counts(const ek_plan *plan, const ek_layers *layers, ek_placement placement, int *count)
{
    int p = plan->n_stages, n = plan->n_chunks * p, body = 0, left = layers->body[0].n_layers;
    size_t per_cell = (size_t)layers->n_body * EK_N_RECOMPUTE;
    memset(count, 0, (size_t)n * per_cell * sizeof *count);
    for (int q = 0; q < n; q++) {
        int cell = ek_cell_at(placement, p, q);
        ek_chunk_mix mix = ek_plan_mix(plan, cell / p, cell % p);
        for (int k = 0; k < EK_N_RECOMPUTE; k++)
            for (int todo = mix.n[order[k]]; todo > 0;) {
                while (left == 0)
                    left = layers->body[++body].n_layers;
                int here = min_int(todo, left);
                count[(size_t)cell * per_cell + (size_t)body * EK_N_RECOMPUTE + order[k]] += here;
                left -= here;
                todo -= here;
            }
    }
}

void ek_plan_costs(const ek_plan *plan, const ek_layers *layers, ek_placement placement, ek_chunk_cost *cost)
{
    int at = 0, p = plan->n_stages, n = plan->n_chunks * p;
    for (int q = 0; q < n; q++) {
        int cell = ek_cell_at(placement, p, q);
        cost[cell] = (ek_chunk_cost){0};
        ek_chunk_mix mix = ek_plan_mix(plan, cell / p, cell % p);
        for (size_t k = 0; k < EK_N_RECOMPUTE; k++)
            add_layers(layers, &at, mix.n[order[k]], order[k], &cost[cell]);
    }
    add_extra(&layers->head, &cost[ek_cell_at(placement, p, 0)]);
    add_extra(&layers->tail, &cost[ek_cell_at(placement, p, n - 1)]);
}

ek_status ek_plan_even(const ek_layers *layers, int n_stages, int n_chunks, ek_recompute kind, ek_plan *out,
                       ek_error *err)
{
    if (layers->n_layers < 0 || (unsigned)kind >= EK_N_RECOMPUTE)
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "%d layers cannot be spread with recomputation number %d",
                        layers->n_layers, (int)kind);
    ek_plan plan;
    ek_status status = ek_plan_init(&plan, n_stages, n_chunks, err);
    if (status)
        return status;
    int n = n_stages * n_chunks;
    for (int c = 0; c < n; c++) {
        int count = layers->n_layers / n + (c < layers->n_layers % n);
        plan.layers[c] = count;
        /* The framework's lists include one another: a FULL layer counts in all three. */
        bool both = kind == EK_RECOMPUTE_FULL || kind == EK_RECOMPUTE_BOTH;
        plan.full[c] = kind == EK_RECOMPUTE_FULL ? count : 0;
        plan.select[c] = both || kind == EK_RECOMPUTE_SELECT ? count : 0;
        plan.comm[c] = both || kind == EK_RECOMPUTE_COMM ? count : 0;
    }
    *out = plan;
    return EK_OK;
}
