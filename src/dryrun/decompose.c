/* Splits the peaks of a dry run into memory per layer, by least squares over singular values (LAPACK dgelsd). Columns
 * are scaled to unit length first, so that the condition number describes the dry run's design and not the units. When
 * the system is singular the null space names the quantities that the dry run cannot separate. Only 1F1B dry runs are
 * modelled, in which stage s of P has P - s micro-batches. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/c_locale.h"
#include "base/config_tree.h"
#include "base/error.h"
#include "base/linear.h"
#include "dryrun/design.h"
#include "dryrun/init.h"
#include "layers/layers.h"

/* Below this share of the largest singular value a direction is not determined. The matrices are small whole numbers:
 * their smallest true singular values are many orders above it, rounding is many below. */
static const double rank_tolerance = 1e-10;

/* The linear system over the given middle stages: unknowns are par, the activations of the modelled kinds, const. */
typedef struct lsq {
    const ek_dryrun *init;
    bool sapp_compatible;
    ek__unknowns unknowns;
    int n_rows, n_columns;
    double *matrix; /* [n_columns][n_rows], LAPACK's column-major order */
    double scale[EK__MAX_UNKNOWNS];
    double value[EK__MAX_UNKNOWNS];
    double condition;
} lsq;

static ek_chunk_mix mix_of(const ek_dryrun *init, int round, int stage)
{
    int at = round * init->n_stages + stage;
    const ek_plan cell = {1, 1, init->layers + at, init->full + at, init->select + at, init->comm + at};
    return ek_plan_mix(&cell, 0, 0);
}

/* Coefficients of one stage's equation, without the measured value. */
static void equation(const lsq *q, int round, int stage, double row[EK__MAX_UNKNOWNS])
{
    ek_chunk_mix mix = mix_of(q->init, round, stage);
    ek__design_row(&q->unknowns, &mix, q->init->n_stages - stage, row);
}

/* Peak of a stage by the values found, with const or without. */
static double predict(const lsq *q, int round, int stage, bool with_const)
{
    double row[EK__MAX_UNKNOWNS], sum = 0.0;
    equation(q, round, stage, row);
    for (int c = 0; c < q->n_columns - (q->unknowns.has_const && !with_const); c++)
        sum += row[c] * q->value[c];
    return sum;
}

/* ---- modelled kinds ---- */

static const char *const vary = "vary offset and the recompute lists from stage to stage, or add a round that does";

/* NONE always, and every kind that a given stage uses. A kind of the first or last stage only has no equation. */
static ek_status choose_kinds(lsq *q, ek_error *err)
{
    const ek_dryrun *init = q->init;
    bool middle[EK_N_RECOMPUTE] = {false};
    for (int i = 0; i < init->n_measurements; i++) {
        ek_chunk_mix mix = mix_of(init, init->measurement[i].round, init->measurement[i].stage);
        for (int k = 0; k < EK_N_RECOMPUTE; k++)
            middle[k] = middle[k] || mix.n[k] > 0;
    }
    const int ends[2] = {0, init->n_stages - 1};
    for (int e = 0; e < 2; e++) {
        ek_chunk_mix mix = mix_of(init, 0, ends[e]);
        for (int k = 1; k < EK_N_RECOMPUTE; k++)
            if (mix.n[k] > 0 && !middle[k])
                return ek__fail(
                    err, EK_ERR_INPUT, init->memory_usage,
                    "stage %d has layers with recompute kind '%s' (%d), which no given middle stage uses, so "
                    "its memory cannot be found; use it on middle stages too, or leave it out of stage %d",
                    ends[e], ek_recompute_name[k], mix.n[k], ends[e]);
    }
    if (init->n_measurements > 0 && !middle[EK_RECOMPUTE_NONE])
        return ek__fail(err, EK_ERR_INPUT, init->memory_usage,
                        "every layer of the given middle stages is recomputed, so the memory of a layer without "
                        "recomputation cannot be found; leave some layers of some middle stages out of the recompute "
                        "lists");
    for (int k = 0; k < EK_N_RECOMPUTE; k++)
        if (k == EK_RECOMPUTE_NONE || middle[k])
            q->unknowns.kind[q->unknowns.n_kinds++] = (ek_recompute)k;
    return EK_OK;
}

static ek_status count_unknowns(lsq *q, ek_error *err)
{
    q->n_rows = q->init->n_measurements;
    if (q->n_rows < q->unknowns.n_kinds + 1)
        return ek__fail(err, EK_ERR_INPUT, q->init->memory_usage,
                        "%d middle stages are given, but %d recompute kinds (counting 'none') need %d, and %d to find "
                        "the constant part too; give %d more peaks in body_memories, or a further round",
                        q->n_rows, q->unknowns.n_kinds, q->unknowns.n_kinds + 1, q->unknowns.n_kinds + 2,
                        q->unknowns.n_kinds + 1 - q->n_rows);
    q->unknowns.has_const = q->n_rows >= q->unknowns.n_kinds + 2;
    q->n_columns = ek__unknowns_count(&q->unknowns);
    return EK_OK;
}

ek_status ek__dryrun_check_peaks(const ek_dryrun *init, ek_error *err)
{
    lsq q = {.init = init};
    ek_status status = choose_kinds(&q, err);
    return status ? status : count_unknowns(&q, err);
}

/* ---- solving ---- */

/* To 1e-6 MB, about a byte: far below the precision of a peak, far above rounding errors. */
static double nearly(double mb)
{
    return round(mb * 1e6) / 1e6;
}

static ek_status fill_matrix(lsq *q, ek_error *err)
{
    q->matrix = ek__alloc((size_t)q->n_rows * (size_t)q->n_columns, sizeof *q->matrix);
    if (!q->matrix)
        return ek__no_memory(err);
    for (int i = 0; i < q->n_rows; i++) {
        double row[EK__MAX_UNKNOWNS];
        equation(q, q->init->measurement[i].round, q->init->measurement[i].stage, row);
        for (int c = 0; c < q->n_columns; c++)
            q->matrix[(size_t)c * (size_t)q->n_rows + (size_t)i] = row[c];
    }
    for (int c = 0; c < q->n_columns; c++) {
        double *column = q->matrix + (size_t)c * (size_t)q->n_rows, sum = 0.0;
        for (int i = 0; i < q->n_rows; i++)
            sum += column[i] * column[i];
        q->scale[c] = sum > 0.0 ? sqrt(sum) : 1.0;
        for (int i = 0; i < q->n_rows; i++)
            column[i] /= q->scale[c];
    }
    return EK_OK;
}

/* The quantities that are not separated: those with a part in a direction that the matrix maps to zero. Overwrites
 * it. */
static ek_status fail_singular(lsq *q, ek_error *err)
{
    double singular[EK__MAX_UNKNOWNS] = {0}, right[EK__MAX_UNKNOWNS * EK__MAX_UNKNOWNS];
    int n = q->n_columns;
    ek__linear end = ek__right_vectors(q->n_rows, n, q->matrix, singular, right);
    if (end == EK__LINEAR_NO_MEMORY)
        return ek__no_memory(err);
    if (end)
        return ek__fail(err, EK_ERR_INPUT, q->init->memory_usage, "the given stages do not determine the memory; %s",
                        vary);
    char names[640] = "";
    size_t at = 0;
    int n_mixed = 0;
    for (int c = 0; c < n; c++) {
        bool mixed = false;
        for (int v = 0; v < n; v++)
            mixed = mixed || (singular[v] <= rank_tolerance * singular[0] && fabs(right[v + c * n]) > 1e-6);
        if (!mixed)
            continue;
        char name[96];
        ek__unknown_name(&q->unknowns, c, name, sizeof name);
        at += (size_t)snprintf(names + at, sizeof names - at, "%s%s", n_mixed++ ? ", " : "", name);
    }
    return ek__fail(err, EK_ERR_INPUT, q->init->memory_usage,
                    "the given stages do not separate these: %s; their counts vary together; %s", names, vary);
}

/* The most usual cause has a message of its own. */
static ek_status check_layer_counts(const lsq *q, ek_error *err)
{
    const ek_dryrun *init = q->init;
    int first = 0;
    for (int i = 0; i < q->n_rows; i++) {
        int n = init->layers[init->measurement[i].round * init->n_stages + init->measurement[i].stage];
        if (i == 0)
            first = n;
        if (n != first || !q->unknowns.has_const)
            return EK_OK;
    }
    return ek__fail(err, EK_ERR_INPUT, init->memory_usage,
                    "every given middle stage has %d layers, so the parameters of a layer cannot be separated from the "
                    "constant part; vary offset from stage to stage, or add a round that does",
                    first);
}

static ek_status solve(lsq *q, ek_error *err)
{
    ek_status status = check_layer_counts(q, err);
    if (status == EK_OK)
        status = fill_matrix(q, err);
    if (status)
        return status;
    size_t n_cells = (size_t)q->n_rows * (size_t)q->n_columns;
    double *work = ek__alloc(n_cells + (size_t)q->n_rows, sizeof *work), singular[EK__MAX_UNKNOWNS];
    if (!work)
        return ek__no_memory(err);
    memcpy(work, q->matrix, n_cells * sizeof *work); /* LAPACK overwrites its input */
    double *peaks = work + n_cells;
    for (int i = 0; i < q->n_rows; i++)
        peaks[i] = q->init->measurement[i].peak_mb;
    int rank = 0;
    ek__linear failed = ek__least_squares(q->n_rows, q->n_columns, work, peaks, singular, rank_tolerance, &rank);
    if (failed == EK__LINEAR_NO_MEMORY) {
        status = ek__no_memory(err);
    } else if (failed || rank < q->n_columns) {
        status = fail_singular(q, err);
    } else {
        q->condition = singular[0] / singular[q->n_columns - 1];
        for (int c = 0; c < q->n_columns; c++)
            q->value[c] = peaks[c] / q->scale[c];
        if (!q->sapp_compatible)
            for (int c = 0; c < q->n_columns; c++)
                q->value[c] = nearly(q->value[c]);
    }
    free(work);
    return status;
}

/* ---- from the solution to layers ---- */

/* Whole MB as the original's int(); a value that is whole except for rounding is not reduced by one. */
static double whole_mb(double value)
{
    double nearest = round(value);
    return fabs(value - nearest) <= 1e-6 * fmax(1.0, fabs(nearest)) ? nearest : trunc(value);
}

static void fill_residuals(const lsq *q, ek_residual *residual)
{
    for (int i = 0; i < q->n_rows; i++) {
        const ek_measurement *m = &q->init->measurement[i];
        residual[i] = (ek_residual){m->round, m->stage, m->peak_mb, predict(q, m->round, m->stage, true)};
    }
}

/* Activations below 1 MB or negative parameters: the peaks contradict one another or the given lists. */
static ek_status check_values(const lsq *q, const ek_residual *residual, ek_error *err)
{
    int bad = 0;
    while (bad <= q->unknowns.n_kinds && whole_mb(q->value[bad]) >= (bad == 0 ? 0.0 : 1.0))
        bad++;
    if (bad > q->unknowns.n_kinds)
        return EK_OK;
    char name[96], hint[256];
    ek__unknown_name(&q->unknowns, bad, name, sizeof name);
    ek_origin origin = q->init->memory_usage;
    if (q->n_rows == q->n_columns) {
        snprintf(hint, sizeof hint,
                 "every given stage is needed to solve this, so a wrong one cannot be detected; give another stage to "
                 "find it");
    } else {
        int worst = 0;
        for (int i = 1; i < q->n_rows; i++)
            if (fabs(residual[i].measured_mb - residual[i].predicted_mb) >
                fabs(residual[worst].measured_mb - residual[worst].predicted_mb))
                worst = i;
        origin = q->init->measurement[worst].origin;
        ek__snprintf(hint, sizeof hint, "stage %d of round %d fits worst: %.0f MB given, %.0f MB by the fit",
                     residual[worst].stage, residual[worst].round + 1, residual[worst].measured_mb,
                     residual[worst].predicted_mb);
    }
    return ek__fail(err, EK_ERR_INPUT, origin,
                    "the peaks contradict one another or the recompute lists: %s come out as %.6g MB, expected at "
                    "least %d MB; %s; check that peaks, offset and recompute lists are of the same dry run",
                    name, q->value[bad], bad == 0 ? 0 : 1, hint);
}

/* Times of head, body, tail: from `given` first, then the file, then the traces. `from_traces`: the ones from
 * traces. */
static ek_status choose_times(const ek_dryrun *init, const ek_times *given, ek_times *out, bool from_traces[3],
                              ek_error *err)
{
    ek_times times = init->times;
    if (given) {
        times.head = isnan(given->head) ? times.head : given->head;
        times.body = isnan(given->body) ? times.body : given->body;
        times.tail = isnan(given->tail) ? times.tail : given->tail;
    }
    struct {
        const char *name;
        double *time;
    } slots[] = {{"head", &times.head}, {"body", &times.body}, {"tail", &times.tail}};
    char missing[32] = "";
    size_t at = 0;
    for (size_t i = 0; i < sizeof slots / sizeof *slots; i++) {
        from_traces[i] = isnan(*slots[i].time) && init->profiled;
        if (from_traces[i])
            *slots[i].time = init->profiled[i].forward_time;
        if (isnan(*slots[i].time))
            at += (size_t)snprintf(missing + at, sizeof missing - at, "%s%s", at ? ", " : "", slots[i].name);
    }
    if (missing[0] && init->has_profiling)
        return ek__fail(err, EK_ERR_INPUT, init->profiling,
                        "times of %s are missing: profiling_config names a folder of traces that were not read; give "
                        "times with --time head=0.1,body=3.1,tail=3.5 or a time_config",
                        missing);
    if (missing[0])
        return ek__fail(err, EK_ERR_INPUT, (ek_origin){init->path, 1, 1},
                        "times of %s are missing; give them with --time head=0.1,body=3.1,tail=3.5 or a time_config",
                        missing);
    *out = times;
    return EK_OK;
}

/* `measured`: its backward times; NULL: they follow from the forward time. */
static ek_layer make_layer(const char *name, double time, const ek_layer *measured)
{
    ek_layer layer = {.n_layers = 1, .forward_time = time};
    snprintf(layer.name, sizeof layer.name, "%s", name);
    layer.modelled[EK_RECOMPUTE_NONE] = true;
    ek__layer_default_times(&layer, EK_BACKWARD_RATIO * time);
    if (measured) {
        memcpy(layer.backward_time, measured->backward_time, sizeof layer.backward_time);
        layer.weight_time = measured->weight_time;
    }
    return layer;
}

/* Memory as given in the layers. */
static double stated_mb(const lsq *q, double value)
{
    return q->sapp_compatible ? whole_mb(value) : nearly(value);
}

/* Memory of head or tail: the end stage's peak less the layers. The original leaves the constant inside, and adds it to
 * the stage again. */
static double left_over(const lsq *q, double peak_mb, int stage)
{
    return stated_mb(q, peak_mb - predict(q, 0, stage, !q->sapp_compatible));
}

/* `layers->body` and `layers->fit.residual` are allocated. */
static void fill_layers(const lsq *q, const ek_times *times, const bool from_traces[3], ek_layers *layers)
{
    const ek_dryrun *init = q->init;
    layers->head = make_layer("HEAD", times->head, from_traces[0] ? &init->profiled[0] : NULL);
    layers->tail = make_layer("TAIL", times->tail, from_traces[2] ? &init->profiled[2] : NULL);
    ek_layer *body = &layers->body[0];
    *body = make_layer("BODY", times->body, from_traces[1] ? &init->profiled[1] : NULL);
    body->n_layers = init->n_layers;
    body->parameter_mb = stated_mb(q, q->value[0]);
    for (int k = 0; k < q->unknowns.n_kinds; k++) {
        body->activation_mb[q->unknowns.kind[k]] = stated_mb(q, q->value[1 + k]);
        body->modelled[q->unknowns.kind[k]] = true;
    }
    memcpy(layers->modelled, body->modelled, sizeof layers->modelled);
    layers->head.parameter_mb = left_over(q, init->head_mb, 0);
    layers->tail.parameter_mb = left_over(q, init->tail_mb, init->n_stages - 1);
    layers->const_mb = q->unknowns.has_const ? stated_mb(q, q->value[1 + q->unknowns.n_kinds]) : 0.0;
    layers->n_body = 1;
    layers->n_layers = init->n_layers;
    layers->fit.condition = q->condition;
    layers->fit.const_modelled = q->unknowns.has_const;
    layers->fit.n_residuals = q->n_rows;
}

/* Beyond the range of a layer file: peaks and counts of different runs, or of no run at all. */
static ek_status check_limits(const ek_dryrun *init, const ek_layers *layers, ek_error *err)
{
    const ek_layer *body = &layers->body[0];
    double largest = fmax(fmax(fabs(layers->head.parameter_mb), fabs(layers->tail.parameter_mb)),
                          fmax(fabs(layers->const_mb), body->parameter_mb));
    for (int k = 0; k < EK_N_RECOMPUTE; k++)
        largest = fmax(largest, body->activation_mb[k]);
    if (largest > EK__MAX_MEMORY_MB)
        return ek__fail(err, EK_ERR_INPUT, init->memory_usage,
                        "the peaks come out as %g MB for one part of the model, at most %g is possible; check that "
                        "peaks, offset and recompute lists are of the same dry run",
                        largest, EK__MAX_MEMORY_MB);
    return EK_OK;
}

static ek_status check_name(const char *name, ek_error *err)
{
    if (!name[0] || strlen(name) >= EK_NAME_SIZE || !ek__text_is_printable(name))
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE,
                        "a model's name must be 1 to %d bytes without control characters", EK_NAME_SIZE - 1);
    return EK_OK;
}

ek_status ek_dryrun_decompose(const ek_dryrun *init, const char *name, const ek_times *times, bool sapp_compatible,
                              ek_layers *out, ek_error *err)
{
    lsq q = {.init = init, .sapp_compatible = sapp_compatible};
    ek_times chosen;
    bool from_traces[3];
    ek_layers layers = {0};
    ek_status status = ek__linear_needed("taking a dry run's memory apart", err);
    if (status == EK_OK)
        status = check_name(name, err);
    if (status == EK_OK)
        status = choose_times(init, times, &chosen, from_traces, err);
    if (status == EK_OK)
        status = choose_kinds(&q, err);
    if (status == EK_OK)
        status = count_unknowns(&q, err);
    if (status == EK_OK)
        status = solve(&q, err);
    if (status)
        goto done;
    layers.body = ek__alloc(1, sizeof *layers.body);
    layers.fit.residual = ek__alloc((size_t)q.n_rows, sizeof *layers.fit.residual);
    if (!layers.body || !layers.fit.residual) {
        status = ek__no_memory(err);
        goto done;
    }
    fill_residuals(&q, layers.fit.residual);
    status = check_values(&q, layers.fit.residual, err);
    if (status)
        goto done;
    snprintf(layers.name, sizeof layers.name, "%s", name);
    fill_layers(&q, &chosen, from_traces, &layers);
    status = check_limits(init, &layers, err);
    if (status)
        goto done;
    *out = layers;
    layers = (ek_layers){0};
done:
    free(q.matrix);
    ek_layers_clear(&layers);
    return status;
}
