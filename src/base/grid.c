/* Reads tables of rows x stages; grid.h describes the shorthands. */
#include "base/grid.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"

static const ek__node *child(const ek__node *list, int index)
{
    const ek__node *node = list->first;
    while (node && index-- > 0)
        node = node->next;
    return node;
}

static const ek__node *first_list_in(const ek__node *node)
{
    const ek__node *row = node->first;
    while (row && row->kind != EK__LIST)
        row = row->next;
    return row;
}

ek_status ek__grid_measure(const ek__in *in, ek__grid *grid, const ek__node *node)
{
    if (node->kind != EK__LIST || !first_list_in(node))
        return EK_OK;
    if (grid->rows_from && node->n != grid->n_rows) {
        char other[256];
        ek__node_path(grid->rows_from, other, sizeof other);
        return ek__fail_at(in, node, "has %d %ss, expected %d as in %s; give every field the same number of %ss",
                           node->n, grid->row_name, grid->n_rows, other, grid->row_name);
    }
    if (node->n > grid->max_rows)
        return ek__fail_at(in, node, "has %d %ss, at most %d are possible; leave some out", node->n, grid->row_name,
                           grid->max_rows);
    grid->nested = true;
    grid->n_rows = node->n;
    grid->rows_from = node;
    return EK_OK;
}

int ek__grid_count_stages(const ek__grid *grid, const ek__node *node)
{
    if (node->kind != EK__LIST)
        return 0;
    const ek__node *row = grid->nested ? first_list_in(node) : node;
    return row ? row->n : 0;
}

static ek_status read_list(const ek__in *in, const ek__grid *grid, const ek__node *list, const ek__grid_field *field,
                           int *out)
{
    if (list->n != grid->n_stages)
        return ek__fail_at(in, list, "has %d entries, expected %d, one for each stage; correct the list", list->n,
                           grid->n_stages);
    ek_status status = EK_OK;
    for (const ek__node *cell = list->first; cell && status == EK_OK; cell = cell->next) {
        const char *advice = ek__node_is_bool(cell, NULL) && field->all
                                 ? "true and false are for a whole list, not for one stage of it"
                                 : field->advice;
        status = ek__int(in, cell, field->min, field->max, advice, out++);
    }
    return status;
}

static ek_status read_row(const ek__in *in, const ek__grid *grid, const ek__node *node, int row,
                          const ek__grid_field *field, int *out)
{
    if (node->kind == EK__LIST)
        return read_list(in, grid, node, field, out);
    int number;
    bool yes = false;
    bool known = (ek__node_is_int(node, &number) && number == 0) || (field->all && ek__node_is_bool(node, &yes));
    if (!known) {
        char found[96];
        ek__node_describe(node, found, sizeof found);
        return ek__fail_at(in, node,
                           "is %s, expected a list of %d whole numbers, one for each stage, or %s for all of "
                           "them",
                           found, grid->n_stages, field->all ? "true, false or 0" : "0");
    }
    size_t n = (size_t)grid->n_stages;
    if (yes)
        memcpy(out, field->all + (size_t)row * n, n * sizeof *out);
    else
        memset(out, 0, n * sizeof *out);
    return EK_OK;
}

ek_status ek__grid_read(const ek__in *in, const ek__grid *grid, const ek__node *node, const ek__grid_field *field,
                        int *out)
{
    bool rows = grid->nested && node->kind == EK__LIST;
    if (rows && node->n != grid->n_rows)
        return ek__fail_at(in, node,
                           "has %d entries, expected %d lists, one for each %s, of %d numbers, one for each stage; "
                           "correct the list",
                           node->n, grid->n_rows, grid->row_name, grid->n_stages);
    const ek__node *row = rows ? node->first : node;
    ek_status status = EK_OK;
    for (int i = 0; i < grid->n_rows && status == EK_OK; i++) {
        status = read_row(in, grid, row, i, field, out + (size_t)i * (size_t)grid->n_stages);
        row = rows ? row->next : node;
    }
    return status;
}

const ek__node *ek__grid_row(const ek__grid *grid, const ek__node *node, int row)
{
    return grid->nested && node->kind == EK__LIST ? child(node, row) : node;
}

const ek__node *ek__grid_cell(const ek__grid *grid, const ek__node *node, int row, int stage)
{
    node = ek__grid_row(grid, node, row);
    return node->kind == EK__LIST ? child(node, stage) : node;
}
