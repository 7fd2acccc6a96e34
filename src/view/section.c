/* Writes facts and sections as JSON. A section tracks the open list of pieces, and the open list within the piece, so
 * that writers name pieces and never write brackets. */
#include <math.h>
#include <string.h>

#include "view/view.h"

const char *const ek__view_unit_name[EK__N_UNITS] = {"", "ns", "time", "MB", "%", "count", "GB/s", "text"};

/* The unit, and the better direction where it is known. */
static void write_unit(ek__stream *s, ek__view_unit unit)
{
    ek__stream_text(s, "unit", ek__view_unit_name[unit & (EK__LESS - 1)]);
    if (unit & (EK__LESS | EK__MORE))
        ek__stream_text(s, "better", unit & EK__LESS ? "less" : "more");
}

void ek__view_fact(ek__stream *s, const char *label, double value, ek__view_unit unit, const char *text,
                   const char *basis)
{
    ek__stream_object(s, NULL, false);
    ek__stream_text(s, "label", label);
    ek__stream_real(s, "value", value);
    write_unit(s, unit);
    ek__stream_text(s, "text", text);
    ek__stream_text(s, "basis", basis);
    ek__stream_end(s);
}

/* Open `list`; NULL: none. Lists are identified by the address of their names. */
static void open_list(ek__section *x, const char *list)
{
    if (x->list == list)
        return;
    if (x->list)
        ek__stream_end(x->s);
    if (list)
        ek__stream_list(x->s, list, false);
    x->list = list;
}

/* The same for the list within the piece. */
static void open_inner(ek__section *x, const char *inner)
{
    if (x->inner == inner)
        return;
    if (x->inner)
        ek__stream_end(x->s);
    if (inner)
        ek__stream_list(x->s, inner, false);
    x->inner = inner;
}

static const char notes[] = "notes", bars[] = "bars", tables[] = "tables", matrices[] = "matrices", lines[] = "lines",
                  findings[] = "findings", series[] = "series", columns[] = "columns", rows[] = "rows",
                  labels[] = "labels", cells[] = "cells", points[] = "points", places[] = "places", parts[] = "parts",
                  blocks[] = "blocks";

static void begin_piece(ek__section *x, const char *list, const char *id, const char *title)
{
    open_list(x, list);
    ek__stream_object(x->s, NULL, false);
    ek__stream_text(x->s, "id", id);
    ek__stream_text(x->s, "title", title);
}

static void write_from(ek__stream *s, const char *key, int value)
{
    ek__stream_from(s, key, value, 0);
}

ek__section ek__section_begin(ek__stream *s, const char *name)
{
    ek__stream_object(s, NULL, false);
    ek__stream_text(s, "name", name);
    return (ek__section){.s = s};
}

void ek__section_end(ek__section *x)
{
    open_list(x, NULL);
    ek__stream_end(x->s);
}

void ek__section_note(ek__section *x, const char *text)
{
    open_list(x, notes);
    ek__stream_text(x->s, NULL, text);
}

void ek__bars_begin(ek__section *x, const char *id, const char *title, ek__view_unit unit)
{
    begin_piece(x, bars, id, title);
    ek__stream_text(x->s, "unit", ek__view_unit_name[unit]);
    open_inner(x, series);
}

void ek__bars_series(ek__section *x, const char *name, int type)
{
    ek__stream_object(x->s, NULL, false);
    ek__stream_text(x->s, "name", name);
    write_from(x->s, "type", type);
    ek__stream_end(x->s);
}

void ek__bars_bar(ek__section *x, const char *label, int group, const double *value, int n)
{
    open_inner(x, bars);
    ek__stream_object(x->s, NULL, false);
    ek__stream_text(x->s, "label", label);
    write_from(x->s, "group", group);
    ek__stream_list(x->s, "values", false);
    for (int i = 0; i < n; i++)
        ek__stream_real(x->s, NULL, value[i]);
    ek__stream_end(x->s);
    ek__stream_end(x->s);
}

void ek__bars_end(ek__section *x, double limit)
{
    open_inner(x, bars); /* written when empty, too */
    open_inner(x, NULL);
    ek__stream_real(x->s, "limit", limit);
    ek__stream_end(x->s);
}

void ek__table_begin(ek__section *x, const char *id, const char *title, const ek__view_column *column, int n_columns)
{
    begin_piece(x, tables, id, title);
    open_inner(x, columns);
    for (int i = 0; i < n_columns; i++) {
        ek__stream_object(x->s, NULL, false);
        ek__stream_text(x->s, "name", column[i].name);
        ek__stream_text(x->s, "title", column[i].title);
        write_unit(x->s, column[i].unit);
        ek__stream_bool(x->s, "search", column[i].search);
        ek__stream_end(x->s);
    }
    open_inner(x, rows);
}

void ek__row_begin(ek__section *x)
{
    ek__stream_list(x->s, NULL, false);
}

void ek__cell_text(ek__section *x, const char *text)
{
    ek__stream_text(x->s, NULL, text);
}

void ek__cell_real(ek__section *x, double value)
{
    ek__stream_real(x->s, NULL, value);
}

void ek__cell_int(ek__section *x, int64_t value)
{
    ek__stream_int(x->s, NULL, value);
}

void ek__row_end(ek__section *x)
{
    ek__stream_end(x->s);
}

void ek__table_place(ek__section *x, const ek__view_place *place)
{
    open_inner(x, places);
    if (!place) {
        ek__stream_null(x->s, NULL);
        return;
    }
    ek__stream_list(x->s, NULL, false);
    ek__stream_int(x->s, NULL, place->group);
    ek__stream_real(x->s, NULL, place->begin);
    ek__stream_real(x->s, NULL, place->end);
    ek__stream_text(x->s, NULL, place->name);
    ek__stream_end(x->s);
}

void ek__table_end(ek__section *x, int sort, bool descending)
{
    open_inner(x, NULL);
    if (sort < 0) {
        ek__stream_null(x->s, "sort");
    } else {
        ek__stream_object(x->s, "sort", false);
        ek__stream_int(x->s, "column", sort);
        ek__stream_bool(x->s, "descending", descending);
        ek__stream_end(x->s);
    }
    ek__stream_end(x->s);
}

void ek__matrix_begin(ek__section *x, const char *id, const char *title, ek__view_unit unit)
{
    begin_piece(x, matrices, id, title);
    ek__stream_text(x->s, "unit", ek__view_unit_name[unit]);
    open_inner(x, labels);
}

void ek__matrix_label(ek__section *x, const char *text)
{
    ek__stream_text(x->s, NULL, text);
}

void ek__matrix_column(ek__section *x, const char *text)
{
    open_inner(x, columns);
    ek__stream_text(x->s, NULL, text);
}

void ek__matrix_cell(ek__section *x, int row, int column, double value, const char *text)
{
    open_inner(x, cells);
    ek__stream_list(x->s, NULL, false);
    ek__stream_int(x->s, NULL, row);
    ek__stream_int(x->s, NULL, column);
    ek__stream_real(x->s, NULL, value);
    ek__stream_text(x->s, NULL, text);
    ek__stream_end(x->s);
}

void ek__matrix_part(ek__section *x, int row, int column, const ek_trace_matrix_part *part)
{
    open_inner(x, parts);
    ek__stream_list(x->s, NULL, false);
    ek__stream_int(x->s, NULL, row);
    ek__stream_int(x->s, NULL, column);
    ek__stream_text(x->s, NULL, part->step);
    ek__stream_text(x->s, NULL, part->operation);
    ek__stream_text(x->s, NULL, part->transport);
    ek__stream_real(x->s, NULL, part->size_mb);
    ek__stream_real(x->s, NULL, part->time_ms);
    ek__stream_end(x->s);
}

void ek__matrix_end(ek__section *x)
{
    if (x->inner != parts)
        open_inner(x, cells);
    open_inner(x, NULL);
    ek__stream_end(x->s);
}

static void write_axis(ek__stream *s, const char *key, const char *title, ek__view_unit unit)
{
    ek__stream_object(s, key, false);
    ek__stream_text(s, "title", title);
    ek__stream_text(s, "unit", ek__view_unit_name[unit]);
    ek__stream_end(s);
}

static void begin_lines(ek__section *x, const char *id, const char *title, const char *x_title, ek__view_unit x_unit,
                        const char *y_title, ek__view_unit y_unit, bool steps)
{
    begin_piece(x, lines, id, title);
    write_axis(x->s, "x", x_title, x_unit);
    write_axis(x->s, "y", y_title, y_unit);
    if (steps)
        ek__stream_bool(x->s, "steps", true);
    open_inner(x, series);
}

void ek__lines_begin(ek__section *x, const char *id, const char *title, const char *x_title, ek__view_unit x_unit,
                     const char *y_title, ek__view_unit y_unit)
{
    begin_lines(x, id, title, x_title, x_unit, y_title, y_unit, false);
}

void ek__steps_begin(ek__section *x, const char *id, const char *title, const char *x_title, ek__view_unit x_unit,
                     const char *y_title, ek__view_unit y_unit)
{
    begin_lines(x, id, title, x_title, x_unit, y_title, y_unit, true);
}

void ek__polyline_begin(ek__section *x, const char *name)
{
    ek__stream_object(x->s, NULL, false);
    ek__stream_text(x->s, "name", name);
    ek__stream_list(x->s, points, false);
}

static void write_point(ek__section *x, double at, double y, bool hollow)
{
    ek__stream_list(x->s, NULL, false);
    ek__stream_real(x->s, NULL, at);
    ek__stream_real(x->s, NULL, y);
    if (hollow)
        ek__stream_int(x->s, NULL, 1);
    ek__stream_end(x->s);
}

void ek__polyline_point(ek__section *x, double at, double y)
{
    write_point(x, at, y, false);
}

void ek__polyline_hollow(ek__section *x, double at, double y)
{
    write_point(x, at, y, true);
}

void ek__polyline_end(ek__section *x)
{
    ek__stream_end(x->s);
    ek__stream_end(x->s);
}

void ek__lines_end(ek__section *x, double limit)
{
    open_inner(x, NULL);
    ek__stream_real(x->s, "limit", limit);
    ek__stream_end(x->s);
}

void ek__blocks_begin(ek__section *x, const char *id, const char *title)
{
    begin_piece(x, blocks, id, title);
}

void ek__blocks_end(ek__section *x)
{
    ek__stream_end(x->s);
}

void ek__finding_begin(ek__section *x)
{
    open_list(x, findings);
    ek__stream_object(x->s, NULL, false);
}

void ek__finding_end(ek__section *x)
{
    ek__stream_end(x->s);
}
