/* Designs dry runs: the number of stages and rounds, and then the lists, by dryrun/guide_anneal.c. The layer counts are
 * kept as near to the even split as exact answers allow: their bounds are the narrowest after which the errors of the
 * peaks of balanced plans are only slightly larger than after any other. */
#include "dryrun/guide.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/config_tree.h"
#include "base/error.h"
#include "base/linear.h"
#include "base/watch.h"
#include "evenkeel/guide.h"

/* Factor to the least error of all spreads up to which errors count as equal. */
static const double near_least = 1.25;
enum { MAX_SPREADS = 9 };

void ek_guide_options_init(ek_guide_options *options)
{
    *options = (ek_guide_options){.spread = NAN};
}

void ek_guide_clear(ek_guide *guide)
{
    ek_dryrun_clear(&guide->runs);
    free(guide->peak_mb);
    *guide = (ek_guide){0};
}

/* Stages of the dry run: those of the job where the system can be solved, else the nearest solvable number. 0: there is
 * none. */
static int choose_stages(const ek_guide_options *options, char *reason, size_t size)
{
    int p = options->n_stages, n = options->n_layers;
    reason[0] = '\0';
    if (p >= 4 && n > p)
        return p;
    if (n <= 4)
        return 0;
    int chosen = p < 4 ? 4 : n / 2 > 4 ? n / 2 : 4;
    const char *why = p == 1   ? "with one stage there is no middle stage without embedding and head"
                      : p == 2 ? "with two stages there is no middle stage without embedding and head"
                      : p == 3 ? "with three stages every measured stage has two live micro-batches, so parameters and "
                                 "activations vary together"
                               : "with a layer on every stage, the parameters of a layer and the constant part rise "
                                 "and fall together";
    snprintf(reason, size,
             "%s; so the dry run has %d stages instead of %d. Keep data and model parallel as they are (%d times the "
             "ranks of one stage): the memory of a layer does not depend on the number of stages",
             why, chosen, p, chosen);
    return chosen;
}

static ek_status check_options(const ek_guide_options *options, ek_error *err)
{
    if (options->n_stages < 1 || options->n_stages > EK_MAX_STAGES)
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "the stages must be 1 to %d (got %d)", EK_MAX_STAGES,
                        options->n_stages);
    if (options->n_layers < 1 || options->n_layers > EK_MAX_LAYERS)
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "the layers must be 1 to %d (got %d)", EK_MAX_LAYERS,
                        options->n_layers);
    if (options->n_layers < options->n_stages)
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE,
                        "%d layers do not fill %d stages, one each at least; correct one of the two", options->n_layers,
                        options->n_stages);
    if (options->spread < 0 || isinf(options->spread))
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "the spread must be 0 or more (got %g)", options->spread);
    if (options->n_rounds < 0 || options->n_rounds > EK_MAX_ROUNDS)
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "the rounds must be 1 to %d (got %d)", EK_MAX_ROUNDS,
                        options->n_rounds);
    if (options->memory_limit_mb > 0 && !options->layers)
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE,
                        "a memory limit needs a rough model of the layers to predict the peaks with");
    if (!(options->memory_limit_mb >= 0))
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "the memory limit must be 0 MB, for none, or more (got %g)",
                        options->memory_limit_mb);
    return options->layers ? ek_layers_check(options->layers, err) : EK_OK;
}

static ek_status lay_out(const ek_guide_options *options, ek__guide_shape *shape, char *reason, size_t size,
                         ek_error *err)
{
    ek__unknowns *unknowns = &shape->unknowns;
    *shape = (ek__guide_shape){.n_layers = options->n_layers, .unknowns.has_const = true};
    for (int k = 0; k < EK_N_RECOMPUTE; k++)
        if (k == EK_RECOMPUTE_NONE || options->kind[k])
            unknowns->kind[unknowns->n_kinds++] = (ek_recompute)k;
    shape->n_stages = choose_stages(options, reason, size);
    if (shape->n_stages == 0)
        return ek__fail(
            err, EK_ERR_INPUT, EK__NOWHERE,
            "no dry run of %d layers separates parameters, activations and the constant part: this needs 4 stages with "
            "different numbers of layers, so at least 5 layers; measure a deeper model of the same layers",
            options->n_layers);
    int n = ek__unknowns_count(unknowns), middle = shape->n_stages - 2, fewest = (n + middle - 1) / middle;
    shape->n_rounds = options->n_rounds ? options->n_rounds : fewest;
    if (shape->n_rounds < fewest)
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE,
                        "%d unknowns need at least %d rounds of %d middle stages; %d would leave some undetermined", n,
                        fewest, middle, shape->n_rounds);
    return EK_OK;
}

static ek_status read_runs(const ek__guide_shape *shape, const ek__guide_cell *cell, ek_guide *guide, ek_error *err)
{
    ek_dryrun *runs = &guide->runs;
    size_t n_cells = (size_t)shape->n_rounds * (size_t)shape->n_stages;
    *runs = (ek_dryrun){.n_stages = shape->n_stages,
                        .n_layers = shape->n_layers,
                        .n_rounds = shape->n_rounds,
                        .times = {NAN, NAN, NAN},
                        .path = ek__strdup("guide"),
                        .layers = ek__alloc(n_cells, sizeof *runs->layers),
                        .full = ek__alloc(n_cells, sizeof *runs->full),
                        .select = ek__alloc(n_cells, sizeof *runs->select),
                        .comm = ek__alloc(n_cells, sizeof *runs->comm)};
    if (!runs->path || !runs->layers || !runs->full || !runs->select || !runs->comm)
        return ek__no_memory(err);
    /* Full recomputation counts in the other two lists only where they are in use. */
    bool both = guide->kind[EK_RECOMPUTE_BOTH], select = both || guide->kind[EK_RECOMPUTE_SELECT];
    bool comm = both || guide->kind[EK_RECOMPUTE_COMM];
    for (size_t i = 0; i < n_cells; i++) {
        const int *n = cell[i].mix.n;
        runs->layers[i] = cell[i].n;
        runs->full[i] = n[EK_RECOMPUTE_FULL];
        runs->select[i] = select ? n[EK_RECOMPUTE_FULL] + n[EK_RECOMPUTE_BOTH] + n[EK_RECOMPUTE_SELECT] : 0;
        runs->comm[i] = comm ? n[EK_RECOMPUTE_FULL] + n[EK_RECOMPUTE_BOTH] + n[EK_RECOMPUTE_COMM] : 0;
    }
    return EK_OK;
}

/* The fullest cell by the rough model; its memory is returned in *peak. */
static int fullest(const ek__guide_shape *shape, const ek__guide_cell *cell, const ek_layers *rough, double *peak)
{
    int worst = 0;
    *peak = -INFINITY;
    for (int i = 0; i < shape->n_rounds * shape->n_stages; i++) {
        double mb = ek__guide_peak(rough, shape->n_stages, i % shape->n_stages, &cell[i]);
        if (mb > *peak) {
            *peak = mb;
            worst = i;
        }
    }
    return worst;
}

/* The narrowest of the spreads with a quick result near the least error; the widest for none. */
static ek_status choose_spread(const ek_guide_options *options, const ek__guide_shape *shape, const double *spreads,
                               int n, ek__guide_cell *cell, int *chosen, ek_error *err)
{
    double error[MAX_SPREADS], least = INFINITY;
    ek_status status = EK_OK;
    for (int i = 0; i < n && status == EK_OK; i++) {
        ek__watch_step("comparing how far layers may spread", i, n);
        status =
            ek__guide_anneal(shape, spreads[i], true, options->layers, options->memory_limit_mb, cell, &error[i], err);
        least = status ? least : fmin(least, error[i]);
    }
    ek__watch_step(NULL, 0, 0);
    if (status)
        return status;
    for (*chosen = 0; *chosen < n - 1 && error[*chosen] > near_least * least; ++*chosen)
        ;
    return EK_OK;
}

/* From the selected bounds on, wider ones where the limit requires them; the widest are used where none suffice. */
static ek_status find_lists(const ek_guide_options *options, const ek__guide_shape *shape, ek__guide_cell *cell,
                            ek_error *err)
{
    static const double spreads[MAX_SPREADS] = {0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 2.5, 3.0};
    bool given = !isnan(options->spread), good = false;
    double limit = options->memory_limit_mb > 0 ? options->memory_limit_mb : INFINITY, peak = -INFINITY, error;
    int from = MAX_SPREADS - 1;
    ek_status status = given ? EK_OK : choose_spread(options, shape, spreads, MAX_SPREADS, cell, &from, err);
    for (int i = from; i < MAX_SPREADS && status == EK_OK && !good; i++) {
        status = ek__guide_anneal(shape, given ? options->spread : spreads[i], false, options->layers,
                                  options->memory_limit_mb, cell, &error, err);
        if (options->layers && status == EK_OK)
            fullest(shape, cell, options->layers, &peak);
        good = peak <= limit;
    }
    if (status || good)
        return status;
    return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE,
                    "no lists keep every stage within %.0f MB: stage %d would need %.0f MB; a simulated dry run need "
                    "not fit the device, so remove the limit, or use more stages, or a kind that recomputes more",
                    limit, fullest(shape, cell, options->layers, &peak) % shape->n_stages, ceil(peak));
}

static ek_status predict_peaks(const ek__guide_shape *shape, const ek__guide_cell *cell, const ek_layers *rough,
                               double **out, ek_error *err)
{
    size_t n_cells = (size_t)shape->n_rounds * (size_t)shape->n_stages;
    if (!rough)
        return EK_OK;
    *out = ek__alloc(n_cells, sizeof **out);
    for (size_t i = 0; *out && i < n_cells; i++)
        (*out)[i] = ek__guide_peak(rough, shape->n_stages, (int)(i % (size_t)shape->n_stages), &cell[i]);
    return *out ? EK_OK : ek__no_memory(err);
}

ek_status ek_guide_make(const ek_guide_options *options, ek_guide *out, ek_error *err)
{
    ek_guide guide = {.job_stages = options->n_stages, .memory_limit_mb = options->memory_limit_mb};
    ek__guide_shape shape;
    ek__guide_cell *cell = NULL;
    ek_status status = ek__linear_needed("planning a dry run", err);
    if (status == EK_OK)
        status = check_options(options, err);
    if (status == EK_OK)
        status = lay_out(options, &shape, guide.reason, sizeof guide.reason, err);
    if (status)
        return status;
    cell = ek__alloc((size_t)shape.n_rounds * (size_t)shape.n_stages, sizeof *cell);
    guide.random_condition = ek__guide_random_condition(&shape);
    if (!cell || isnan(guide.random_condition)) {
        status = ek__no_memory(err);
        goto done;
    }
    for (int k = 0; k < shape.unknowns.n_kinds; k++)
        guide.kind[shape.unknowns.kind[k]] = true;
    status = find_lists(options, &shape, cell, err);
    if (status == EK_OK)
        status = ek__guide_judge(&shape, cell, &guide, err);
    if (status == EK_OK)
        status = read_runs(&shape, cell, &guide, err);
    if (status == EK_OK)
        status = predict_peaks(&shape, cell, options->layers, &guide.peak_mb, err);
    if (status)
        goto done;
    *out = guide;
    guide = (ek_guide){0};
done:
    free(cell);
    ek_guide_clear(&guide);
    return status;
}
