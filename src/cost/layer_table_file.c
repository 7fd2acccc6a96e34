/* Reads and writes tables of layers in device files. */
#include <stdlib.h>
#include <string.h>

#include "base/c_locale.h"
#include "base/error.h"
#include "base/linear.h"
#include "cost/layer_table.h"

static const char *const keys[] = {"width", "lambda", "met_error", "new_error", "coordinates", "rows", NULL};

static ek_status read_scale(const ek__in *in, const ek__node *map, ek__layer_scale *scale)
{
    const struct {
        const char *key, *advice;
        double least, *out;
    } list[] = {
        {"width", "it is how far the correction of a layer reaches, in powers of e, above 0", 1e-6, &scale->width},
        {"lambda", "it is the variance of a row of weight 1 over that of corrections, above 0", 1e-9, &scale->lambda},
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
        status = ek__number(in, figure, -50, 50, advice, &row->value);
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
    if (status == EK_OK && n > 0)
        status = ek__linear_needed("a device with measured layers", in->err);
    ek_layer_table *table = status ? NULL : ek__layer_table_new(row, n, &scale);
    free(row);
    if (status)
        return status;
    if (!table)
        return ek__no_memory(in->err);
    *out = table;
    return EK_OK;
}

void ek__layer_table_write(const ek_layer_table *table, FILE *out)
{
    if (ek__layer_table_size(table) == 0)
        return;
    const ek__layer_scale *s = ek__layer_table_scale(table);
    const ek__layer_row *row;
    int n = ek__layer_table_rows(table, &row);
    ek__fprintf(out, "layers:\n  width: %.9g\n  lambda: %.9g\n  met_error: %.9g\n  new_error: %.9g\n  coordinates: [",
                s->width, s->lambda, s->met_error, s->new_error);
    for (int k = 0; k < EK__N_LAYER_COORDINATES; k++)
        fprintf(out, "%s%s", k ? ", " : "", ek__layer_coordinate_name[k]);
    fprintf(out, "]\n  rows:\n");
    for (int i = 0; i < n; i++) {
        fprintf(out, "    - [");
        for (int k = 0; k < EK__N_LAYER_COORDINATES; k++)
            ek__fprintf(out, "%.9g, ", row[i].at[k]);
        ek__fprintf(out, "%.9g, %.9g]\n", row[i].value, row[i].weight);
    }
}
