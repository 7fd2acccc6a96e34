/* What whole layers took beside the sum of their kernels. Curves of kernels leave a few percent that depend on the
 * shape of the layer: tiles, caches, clocks, what a framework launches besides. Runs with the same layer in another
 * layout leave the same residual, so it is carried over, and fades with the distance: a Nadaraya-Watson kernel
 * regression (Nadaraya 1964, Watson 1964) over logarithms of the layer's sizes with a constant in the denominator that
 * shrinks it to nothing where nothing is near. calibrate makes the rows (src/calibrate/layers_fit.c). */
#include "cost/layer_table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

struct ek_layer_table {
    ek__layer_scale scale;
    int n;
    ek__layer_row *row; /* [n] */
};

const char *const ek__layer_coordinate_name[EK__N_LAYER_COORDINATES] = {
    "hidden",  "intermediate", "sequence", "tokens", "heads",  "tensor",
    "context", "experts",      "expert",   "format", "launch",
};

/* Number formats and ways to launch have no sizes; other ones are as far away as a size e^2 times as large. */
static const double category = 2;

static double format_of(const ek_job *job)
{
    return job->run.fp8 == EK_FP8_NONE ? (double)job->types.compute : (double)EK_N_DTYPES + (double)job->run.fp8;
}

void ek__layer_coordinates(const ek_job *job, ek__graph_kind kind, double out[EK__N_LAYER_COORDINATES])
{
    const ek_job_model *model = &job->model;
    const ek_job_parallel *par = &job->parallel;
    bool experts = kind == EK__GRAPH_EXPERTS;
    const double size[EK__N_LAYER_COORDINATES - 2] = {
        model->hidden,
        experts ? model->expert_intermediate : model->intermediate,
        par->seq_length,
        (double)par->batch * par->seq_length / par->context,
        (double)model->n_heads / par->tensor,
        par->tensor,
        par->context,
        experts ? 1.0 + model->n_experts : 1.0,
        experts ? par->expert : 1.0,
    };
    for (int i = 0; i < EK__N_LAYER_COORDINATES - 2; i++)
        out[i] = log(fmax(size[i], 1e-3));
    out[EK__N_LAYER_COORDINATES - 2] = category * format_of(job);
    out[EK__N_LAYER_COORDINATES - 1] = category * (double)job->run.launch;
}

/* ---- tables ---- */

ek_layer_table *ek__layer_table_new(const ek__layer_row *row, int n, const ek__layer_scale *scale)
{
    ek_layer_table *table = ek__alloc(1, sizeof *table);
    ek__layer_row *copy = ek__alloc((size_t)n, sizeof *copy);
    if (!table || !copy) {
        free(table);
        free(copy);
        return NULL;
    }
    if (n > 0)
        memcpy(copy, row, (size_t)n * sizeof *copy);
    *table = (ek_layer_table){*scale, n, copy};
    return table;
}

void ek__layer_table_free(ek_layer_table *table)
{
    if (table)
        free(table->row);
    free(table);
}

int ek__layer_table_size(const ek_layer_table *table)
{
    return table ? table->n : 0;
}

const ek__layer_scale *ek__layer_table_scale(const ek_layer_table *table)
{
    return &table->scale;
}

int ek__layer_table_rows(const ek_layer_table *table, const ek__layer_row **row)
{
    *row = table ? table->row : NULL;
    return ek__layer_table_size(table);
}

static double squared_distance(const double *a, const double *b)
{
    double sum = 0;
    for (int k = 0; k < EK__N_LAYER_COORDINATES; k++)
        sum += (a[k] - b[k]) * (a[k] - b[k]);
    return sum;
}

double ek__layer_table_factor(const ek_layer_table *table, const double at[EK__N_LAYER_COORDINATES], double *nearest,
                              double *error)
{
    double near = INFINITY, above = 0, below = 0;
    int n = ek__layer_table_size(table);
    for (int i = 0; i < n; i++) {
        const ek__layer_row *row = &table->row[i];
        double d2 = squared_distance(row->at, at);
        double w = row->weight * exp(-d2 / (2 * table->scale.width * table->scale.width));
        near = fmin(near, d2);
        above += w * row->value;
        below += w;
    }
    if (nearest)
        *nearest = n > 0 ? sqrt(near) : NAN;
    if (error)
        *error = 0;
    if (n == 0)
        return 1;
    const ek__layer_scale *s = &table->scale;
    double unknown = s->lambda / (below + s->lambda);
    if (error)
        *error = sqrt(s->met_error * s->met_error +
                      unknown * fmax(s->new_error * s->new_error - s->met_error * s->met_error, 0));
    return exp(above / (below + s->lambda));
}

double ek__layer_factor(const ek_job *job, const ek_device *device, ek__graph_kind kind)
{
    double at[EK__N_LAYER_COORDINATES];
    if (!device->layers || kind == EK__GRAPH_EMBEDDING || kind == EK__GRAPH_HEAD)
        return 1;
    ek__layer_coordinates(job, kind, at);
    return ek__layer_table_factor(device->layers, at, NULL, NULL);
}

/* ---- device files ---- */

static const char *const keys[] = {"width", "lambda", "met_error", "new_error", "coordinates", "rows", NULL};

static ek_status read_scale(const ek__in *in, const ek__node *map, ek__layer_scale *scale)
{
    const struct {
        const char *key, *advice;
        double least, *out;
    } list[] = {
        {"width", "it is how far apart layers are alike, in powers of e, above 0", 1e-6, &scale->width},
        {"lambda", "it is the weight of no correction, above 0", 1e-9, &scale->lambda},
        {"met_error", "it is a standard error, 0 or more", 0, &scale->met_error},
        {"new_error", "it is a standard error, 0 or more", 0, &scale->new_error},
    };
    ek_status status = EK_OK;
    for (size_t i = 0; i < sizeof list / sizeof *list && status == EK_OK; i++) {
        const ek__node *node;
        status = ek__require(in, map, list[i].key, list[i].advice, &node);
        if (status == EK_OK)
            status = ek__number(in, node, list[i].least, 1e6, list[i].advice, list[i].out);
    }
    return status;
}

/* The words must be those that rows are read by: a file of another version has others. */
static ek_status check_coordinates(const ek__in *in, const ek__node *map)
{
    static const char advice[] = "write it with `evenkeel calibrate` of this version";
    const ek__node *list;
    ek_status status = ek__require(in, map, "coordinates", advice, &list);
    if (status == EK_OK)
        status = ek__expect(in, list, EK__LIST, advice);
    if (status)
        return status;
    int i = 0;
    for (const ek__node *word = list->first; word; word = word->next, i++)
        if (i >= EK__N_LAYER_COORDINATES || word->kind != EK__SCALAR ||
            strcmp(word->text, ek__layer_coordinate_name[i]) != 0)
            return ek__fail_at(in, word, "is no coordinate of layers at this place; %s", advice);
    if (i != EK__N_LAYER_COORDINATES)
        return ek__fail_at(in, list, "has %d coordinates of %d; %s", i, EK__N_LAYER_COORDINATES, advice);
    return EK_OK;
}

static ek_status read_row(const ek__in *in, const ek__node *node, ek__layer_row *row)
{
    static const char advice[] = "a row is the coordinates, the logarithm of a factor and a weight above 0";
    ek_status status = ek__expect(in, node, EK__LIST, advice);
    if (status)
        return status;
    if (node->n != EK__N_LAYER_COORDINATES + 2)
        return ek__fail_at(in, node, "has %d figures of %d; %s", node->n, EK__N_LAYER_COORDINATES + 2, advice);
    const ek__node *figure = node->first;
    for (int k = 0; k < EK__N_LAYER_COORDINATES && status == EK_OK; k++, figure = figure->next)
        status = ek__number(in, figure, -100, 100, advice, &row->at[k]);
    if (status == EK_OK)
        status = ek__number(in, figure, -5, 5, advice, &row->value);
    return status ? status : ek__number(in, figure->next, 1e-9, 1e9, advice, &row->weight);
}

static ek_status read_rows(const ek__in *in, const ek__node *map, ek__layer_row **out, int *n)
{
    static const char advice[] = "list the rows that `evenkeel calibrate` found";
    const ek__node *list;
    ek_status status = ek__require(in, map, "rows", advice, &list);
    if (status == EK_OK)
        status = ek__expect(in, list, EK__LIST, advice);
    if (status)
        return status;
    if (list->n > EK__MAX_LAYER_ROWS)
        return ek__fail_at(in, list, "has %d rows, more than %d; leave some out", list->n, EK__MAX_LAYER_ROWS);
    ek__layer_row *row = ek__alloc((size_t)list->n, sizeof *row);
    if (!row)
        return ek__no_memory(in->err);
    int i = 0;
    for (const ek__node *node = list->first; node && status == EK_OK; node = node->next)
        status = read_row(in, node, &row[i++]);
    if (status) {
        free(row);
        return status;
    }
    *out = row;
    *n = i;
    return EK_OK;
}

ek_status ek__layer_table_read(const ek__in *in, const ek__node *node, ek_layer_table **out)
{
    ek__layer_scale scale;
    ek__layer_row *row = NULL;
    int n = 0;
    ek_status status = ek__expect(in, node, EK__MAP, "write it with `evenkeel calibrate`");
    if (status)
        return status;
    ek__warn_unknown_keys(in, node, keys);
    status = read_scale(in, node, &scale);
    if (status == EK_OK)
        status = check_coordinates(in, node);
    if (status == EK_OK)
        status = read_rows(in, node, &row, &n);
    if (status)
        return status;
    ek_layer_table *table = ek__layer_table_new(row, n, &scale);
    free(row);
    if (!table)
        return ek__no_memory(in->err);
    *out = table;
    return EK_OK;
}

void ek__layer_table_write(const ek_layer_table *table, FILE *out)
{
    if (ek__layer_table_size(table) == 0)
        return;
    const ek__layer_scale *s = &table->scale;
    fprintf(out, "layers:\n  width: %.9g\n  lambda: %.9g\n  met_error: %.9g\n  new_error: %.9g\n  coordinates: [",
            s->width, s->lambda, s->met_error, s->new_error);
    for (int k = 0; k < EK__N_LAYER_COORDINATES; k++)
        fprintf(out, "%s%s", k ? ", " : "", ek__layer_coordinate_name[k]);
    fprintf(out, "]\n  rows:\n");
    for (int i = 0; i < table->n; i++) {
        fprintf(out, "    - [");
        for (int k = 0; k < EK__N_LAYER_COORDINATES; k++)
            fprintf(out, "%.9g, ", table->row[i].at[k]);
        fprintf(out, "%.9g, %.9g]\n", table->row[i].value, table->row[i].weight);
    }
}
