/* Reads kernel_details.csv and op_summary.csv: one row for every execution of an operator. Both are the same table
 * under different column names, which also differ between releases; columns are found by name. Only those metrics of
 * the cores are read that split an execution's time: matrix unit, vector unit, data in, data out.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/events/device.h"
#include "trace/events/measured.h"
#include "trace/events/shapes.h"
#include "trace/tables/kernels.h"
#include "trace/tables/table_rows.h"

typedef struct columns {
    int name, type, core, start, duration, wait, step, shapes, types, formats, out_shapes, out_types;
    int stream, blocks;
    int cube[2], vector[2], load[3], store[3]; /* of one metric; -1: not there */
} columns;

/* The reader's state: a row's keys are composed in `key`. */
typedef struct reading {
    const ek__csv *csv;
    columns column;
    ek__kernels *kernels;
    ek__shapes *shapes; /* NULL: not needed */
    char *key;
    size_t key_room;
    ek__texts in_step; /* "name\nstep", and the number of its occurrences */
    uint32_t *n_in_step;
    size_t n_room;
    bool measure;       /* store executions by shape */
    ek__texts measured; /* their inputs: trace/events/measured.h */
    ek__execution *one; /* [n_ones] */
    size_t n_ones, ones_room;
    int64_t n_without_shapes;
} reading;

static void find_columns(const ek__csv *csv, columns *c)
{
    c->name = ek__csv_column(csv, "Name", "Op Name", NULL);
    c->type = ek__csv_column(csv, "Type", "OP Type", NULL);
    c->core = ek__csv_column(csv, "Accelerator Core", "Task Type", NULL);
    c->start = ek__csv_column(csv, "Start Time(us)", "Task Start Time(us)", NULL);
    c->duration = ek__csv_column(csv, "Duration(us)", "Task Duration(us)", NULL);
    c->wait = ek__csv_column(csv, "Wait Time(us)", "Task Wait Time(us)", NULL);
    c->step = ek__csv_column(csv, "Step Id", "Step", NULL);
    c->shapes = ek__csv_column(csv, "Input Shapes", NULL);
    c->types = ek__csv_column(csv, "Input Data Types", NULL);
    c->formats = ek__csv_column(csv, "Input Formats", NULL);
    c->out_shapes = ek__csv_column(csv, "Output Shapes", NULL);
    c->out_types = ek__csv_column(csv, "Output Data Types", NULL);
    c->stream = ek__csv_column(csv, "Stream ID", "Stream Id", NULL);
    c->blocks = ek__csv_column(csv, "Block Dim", "Block Num", NULL);
    c->cube[0] = ek__csv_column(csv, "aic_mac_ratio", "mac_ratio", NULL);
    c->cube[1] = ek__csv_column(csv, "aic_mac_fp16_ratio", "mac_fp16_ratio", NULL);
    c->vector[0] = ek__csv_column(csv, "aiv_vec_ratio", NULL);
    c->vector[1] = ek__csv_column(csv, "vec_ratio", NULL);
    c->load[0] = ek__csv_column(csv, "aic_mte2_ratio", NULL);
    c->load[1] = ek__csv_column(csv, "aiv_mte2_ratio", NULL);
    c->load[2] = ek__csv_column(csv, "mte2_ratio", NULL);
    c->store[0] = ek__csv_column(csv, "aic_fixpipe_ratio", NULL);
    c->store[1] = ek__csv_column(csv, "aiv_mte3_ratio", NULL);
    c->store[2] = ek__csv_column(csv, "mte3_ratio", NULL);
}

enum { MAX_PARTS = 7 };

/* The number of "a\nb\nc"; a NULL ends it. UINT32_MAX when memory is out. */
static uint32_t intern_key(reading *r, ek__texts *texts, const char *const part[MAX_PARTS])
{
    size_t n = 0;
    for (int i = 0; i < MAX_PARTS && part[i]; i++) {
        size_t size = strlen(part[i]);
        char *grown = ek__with_room(r->key, &r->key_room, n + size + 1, 1);
        if (!grown)
            return UINT32_MAX;
        r->key = grown;
        memcpy(r->key + n, part[i], size + 1);
        n += size;
        r->key[n++] = '\n';
    }
    return ek__texts_intern(texts, r->key, n - 1);
}

static uint32_t intern(ek__texts *texts, const char *text)
{
    return ek__texts_intern(texts, text, strlen(text));
}

static bool is_known(const char *text)
{
    return *text && strcmp(text, "N/A") != 0;
}

/* Without shapes only executions at the same place in every step surely take equally long: the nth operator of its name
 * there. UINT32_MAX when memory is out. */
static uint32_t kind_by_place(reading *r, const char *name)
{
    char place[16];
    const char *const in_step[MAX_PARTS] = {name, ek__csv_cell(r->csv, r->column.step)};
    uint32_t at = intern_key(r, &r->in_step, in_step);
    size_t had = r->n_room;
    uint32_t *grown = at == UINT32_MAX ? NULL : ek__with_room(r->n_in_step, &r->n_room, at + (size_t)1, sizeof *grown);
    if (!grown)
        return UINT32_MAX;
    r->n_in_step = grown;
    if (r->n_room > had)
        memset(grown + had, 0, (r->n_room - had) * sizeof *grown);
    snprintf(place, sizeof place, "%" PRIu32, r->n_in_step[at]++);
    const char *const kind[MAX_PARTS] = {"", name, place};
    return intern_key(r, &r->kernels->kind, kind);
}

/* Executions that should take equally long: one type of operator on one core, with inputs of equal shapes, types and
 * formats. */
static uint32_t kind_by_shapes(reading *r, const char *type, const char *core, const char *shapes)
{
    const char *const kind[MAX_PARTS] = {type, core, shapes, ek__csv_cell(r->csv, r->column.types),
                                         ek__csv_cell(r->csv, r->column.formats)};
    return intern_key(r, &r->kernels->kind, kind);
}

/* For the trace's events, which do not have them. */
static bool note_shapes(reading *r, const ek__kernel *k)
{
    if (!r->shapes || !k->shape || k->start == EK_TRACE_UNKNOWN)
        return true;
    const char *kind = ek__texts_at(&r->kernels->kind, k->kind);
    return ek__shapes_add(r->shapes, &(ek__shape){k->start, k->duration, ek__shape_number(kind, strlen(kind))});
}

/* The largest of a metric's columns, which are 0 for unused units; NAN without one. */
static double metric(const ek__csv *csv, const int *column, int n)
{
    double most = NAN, value;
    for (int i = 0; i < n; i++)
        if (column[i] >= 0 && ek__csv_number(csv, column[i], &value) && value >= 0 && value <= 1)
            most = fmax(most, value);
    return most;
}
#define METRIC(csv, column) metric((csv), (column), (int)(sizeof(column) / sizeof *(column)))

static int whole(const ek__csv *csv, int column, int otherwise)
{
    int64_t value;
    return column >= 0 && ek__csv_int(csv, column, &value) && value >= 0 && value <= INT32_MAX ? (int)value : otherwise;
}

/* The type, derived from the name where the table has none. */
static const char *type_of(const char *type, const char *name, char *text, size_t room)
{
    size_t size;
    if (is_known(type))
        return type;
    const char *found = ek__operator_type(name, &size);
    snprintf(text, room, "%.*s", (int)(size < room ? size : room - 1), found);
    return text;
}

/* An execution with all the row's data about its shapes. @return false when memory is out */
static bool note_execution(reading *r, const ek__kernel *k, const char *type, const char *shapes)
{
    const ek__csv *csv = r->csv;
    char text[256];
    if (!r->measure || k->communication)
        return true;
    bool shaped = is_known(shapes);
    r->n_without_shapes += !shaped;
    const char *part[MAX_PARTS] = {type_of(type, ek__csv_cell(csv, r->column.name), text, sizeof text),
                                   shaped ? shapes : "",
                                   ek__csv_cell(csv, r->column.types),
                                   ek__csv_cell(csv, r->column.formats),
                                   ek__csv_cell(csv, r->column.out_shapes),
                                   ek__csv_cell(csv, r->column.out_types),
                                   ek__csv_cell(csv, r->column.core)};
    for (int i = 2; i < MAX_PARTS; i++)
        part[i] = is_known(part[i]) ? part[i] : "";
    uint32_t what = intern_key(r, &r->measured, part), none = intern(&r->measured, "");
    ek__execution *grown = ek__with_room(r->one, &r->ones_room, r->n_ones + 1, sizeof *grown);
    if (!grown || what == UINT32_MAX || none == UINT32_MAX) {
        r->one = grown ? grown : r->one;
        return false;
    }
    r->one = grown;
    r->one[r->n_ones++] = (ek__execution){.what = what,
                                          .kernel = none,
                                          .start = k->start,
                                          .duration = k->duration,
                                          .stream = whole(csv, r->column.stream, -1),
                                          .blocks = whole(csv, r->column.blocks, 0),
                                          .unit = {[EK_TRACE_CUBE] = METRIC(csv, r->column.cube),
                                                   [EK_TRACE_VECTOR] = METRIC(csv, r->column.vector),
                                                   [EK_TRACE_LOAD] = METRIC(csv, r->column.load),
                                                   [EK_TRACE_STORE] = METRIC(csv, r->column.store),
                                                   [EK_TRACE_OCCUPANCY] = NAN}};
    return true;
}

static bool intern_texts(reading *r, ek__kernel *k)
{
    const ek__csv *csv = r->csv;
    ek__kernels *all = r->kernels;
    const char *name = ek__csv_cell(csv, r->column.name), *type = ek__csv_cell(csv, r->column.type);
    const char *core = ek__csv_cell(csv, r->column.core), *shapes = ek__csv_cell(csv, r->column.shapes);
    k->communication = ek__is_communication_row(core, is_known(type) ? type : name);
    k->group = intern_key(r, &all->group, (const char *const[MAX_PARTS]){type, core});
    k->kind = is_known(shapes) ? kind_by_shapes(r, type, core, shapes) : kind_by_place(r, name);
    k->name = intern(&all->name, name);
    k->shape = is_known(shapes) ? intern(&all->name, shapes) : 0;
    k->step = intern(&all->step, ek__csv_cell(csv, r->column.step));
    return k->group != UINT32_MAX && k->kind != UINT32_MAX && k->name != UINT32_MAX && k->shape != UINT32_MAX &&
           k->step != UINT32_MAX && note_shapes(r, k) && note_execution(r, k, type, shapes);
}

static ek_status add_row(void *user, const ek__csv *csv, ek__left_out *left, ek_error *err)
{
    reading *r = user;
    ek__kernel k = {.start = EK_TRACE_UNKNOWN, .wait = EK_TRACE_UNKNOWN};
    if (!ek__csv_us(csv, r->column.duration, &k.duration) || k.duration < 0) {
        ek__left_out_row(left, csv, "the duration \"%.40s\" is no time", ek__csv_cell(csv, r->column.duration));
        return EK_OK;
    }
    if (!ek__csv_us(csv, r->column.start, &k.start))
        k.start = EK_TRACE_UNKNOWN;
    if (!ek__csv_us(csv, r->column.wait, &k.wait))
        k.wait = EK_TRACE_UNKNOWN;
    ek__kernel *grown = ek__with_room(r->kernels->at, &r->kernels->capacity, r->kernels->n + 1, sizeof *grown);
    if (!grown || !intern_texts(r, &k)) {
        r->kernels->at = grown ? grown : r->kernels->at;
        return ek__no_memory(err);
    }
    r->kernels->at = grown;
    r->kernels->at[r->kernels->n++] = k;
    return EK_OK;
}

static const char *text_of(const void *user, uint32_t number)
{
    return ek__texts_at(user, number);
}

static ek_status keep_executions(const ek__table_in *in, reading *r, ek_error *err)
{
    in->rank->measured.n_without_shapes = r->n_without_shapes;
    return r->measure ? ek__measured_keep(r->one, r->n_ones, text_of, &r->measured, in->rank, err) : EK_OK;
}

static ek_status read_table(const ek__table_in *in, ek__csv *csv, reading *r, const char *source, ek_error *err)
{
    ek_trace_operators *ops = &in->rank->operators;
    find_columns(csv, &r->column);
    ek_status status = ek__table_needs(in, r->column.name, "Name", err);
    if (!status)
        status = ek__table_needs(in, r->column.duration, "Duration(us)", err);
    r->kernels->has_steps = r->column.step >= 0;
    if (!status)
        status = ek__table_rows(in, csv, add_row, r, err);
    if (status)
        return status;
    if (ops->source) {
        in->source->problem = ek__pool_format(in->rank->pool, "the operators of %s are used", ops->source);
        return in->source->problem ? EK_OK : ek__no_memory(err);
    }
    status = ek__kernels_operators(r->kernels, source, in->rank, err);
    if (!status)
        status = ek__kernels_steps(r->kernels, in, source, err);
    if (!status)
        status = keep_executions(in, r, err);
    ops->n_rows = status ? 0 : in->source->items;
    return status;
}

static ek_status read_kernels(const ek__table_in *in, const char *source, ek_error *err)
{
    ek__kernels kernels = {0};
    ek__csv *csv;
    ek_status status = ek__table_open(in, &csv, err);
    if (status)
        return status;
    reading r = {.kernels = &kernels, .csv = csv, .shapes = in->shapes, .measure = in->options && in->options->measure};
    if (ek__texts_reset(&kernels.group) && ek__texts_reset(&kernels.kind) && ek__texts_reset(&kernels.name) &&
        ek__texts_reset(&kernels.step) && ek__texts_reset(&r.in_step) && ek__texts_reset(&r.measured))
        status = read_table(in, csv, &r, source, err);
    else
        status = ek__no_memory(err);
    ek__csv_close(csv);
    ek__kernels_clear(&kernels);
    ek__texts_clear(&r.in_step);
    free(r.n_in_step);
    ek__texts_clear(&r.measured);
    free(r.one);
    free(r.key);
    return status;
}

ek_status ek__table_kernel_details(const ek__table_in *in, ek_error *err)
{
    return read_kernels(in, "kernel_details", err);
}

ek_status ek__table_op_summary(const ek__table_in *in, ek_error *err)
{
    return read_kernels(in, "op_summary", err);
}
