/* Writes tables of figures from their description in src/figures: columns, then a row for every entry of a list of a
 * result, or of the ranks of a trace. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/digits.h"
#include "view/rows.h"
#include "view/trace_sections.h"

static ek__view_unit unit_of(ek__kind kind)
{
    switch (kind) {
    case EK__KIND_COUNT:
    case EK__KIND_SIZE:
        return EK__UNIT_COUNT;
    case EK__KIND_NS:
    case EK__KIND_NS_MS:
    case EK__KIND_MEAN:
    case EK__KIND_MS:
    case EK__KIND_MS_6:
    case EK__KIND_SECONDS:
        return EK__UNIT_NS;
    case EK__KIND_TIME:
        return EK__UNIT_TIME;
    case EK__KIND_SHARE:
    case EK__KIND_PERCENT:
        return EK__UNIT_PERCENT;
    case EK__KIND_BYTES:
    case EK__KIND_BYTES_MB:
    case EK__KIND_KB:
    case EK__KIND_MB:
        return EK__UNIT_MB;
    case EK__KIND_GBPS:
        return EK__UNIT_GBPS;
    case EK__KIND_NUMBER:
    case EK__KIND_REAL:
        return EK__UNIT_NONE;
    default:
        return EK__UNIT_TEXT;
    }
}

static double real_of(ek__kind kind, ek__reading value)
{
    switch (kind) {
    case EK__KIND_BYTES:
    case EK__KIND_BYTES_MB:
        return value.number == INT64_MIN ? NAN : (double)value.number / EK__MB;
    case EK__KIND_KB:
        return value.real / 1024;
    case EK__KIND_SHARE:
        return 100 * value.real;
    case EK__KIND_MS:
    case EK__KIND_MS_6:
        return 1e6 * value.real;
    case EK__KIND_SECONDS:
        return 1e9 * value.real;
    default:
        return value.real;
    }
}

static void write_cell(const ek_view_run *run, const ek__column *c, const void *record, const ek__owner *of,
                       ek__section *x)
{
    const ek__member *f = c->field;
    ek__kind kind = ek__column_kind(c);
    if (f->kind == EK__KIND_TEXT) {
        char room[EK__VIEW_KEY_SIZE];
        ek__cell_text(x, ek__member_text(f, ek__column_record(c, record, of), of, room, sizeof room));
        return;
    }
    ek__reading value = ek__column_value(c, record, of);
    double at;
    if (f->page.flags & EK__PLACE)
        ek__cell_real(x, ek__view_trace_at(run, of->rank, value.number, &at) ? at : NAN);
    else if (kind == EK__KIND_FLAG)
        ek__cell_text(x, value.number < 0 ? NULL : f->word ? f->word[value.number] : value.number ? "yes" : "no");
    else if (ek__kind_is_text(kind))
        ek__cell_text(x, value.text);
    else if (ek__kind_is_whole(kind) && unit_of(kind) != EK__UNIT_MB)
        ek__cell_int(x, value.number);
    else
        ek__cell_real(x, real_of(kind, value));
}

/* ---- one table ---- */

ek__view_table ek__view_table_begin(const ek__rows *rows, const char *id, const char *title, ek__section *x)
{
    ek__view_table t = {.rows = rows};
    ek__view_column column[EK__MAX_COLUMNS + 3];
    char name[EK__MAX_COLUMNS][64];
    int n = 0;
    t.n_columns = ek__fields_columns(rows->fields, rows->also, EK__OF_PAGE, t.column);
    if (rows->first != EK__KEY_FIELD)
        column[n++] = (ek__view_column){rows->key, rows->key_title, EK__UNIT_TEXT, false};
    for (int i = 0; i < t.n_columns; i++) {
        const ek__column *c = &t.column[i];
        int flags = c->field->page.flags;
        ek__column_name(c, EK__OF_PAGE, name[i], sizeof name[i]);
        if (n + 1 == rows->rank_column)
            column[n++] = (ek__view_column){"rank", "Rank", EK__UNIT_TEXT, false};
        if (n + 1 == rows->stage_column)
            column[n++] = (ek__view_column){"stage", "Stage", EK__UNIT_NONE, false};
        column[n++] = (ek__view_column){name[i], ek__column_title(c, EK__OF_PAGE),
                                        unit_of(ek__column_kind(c)) | (ek__view_unit)(flags & (EK__LESS | EK__MORE)),
                                        (flags & EK__SEARCH) != 0};
    }
    ek__table_begin(x, id ? id : rows->id, title ? title : rows->title, column, n);
    return t;
}

void ek__view_table_row(const ek_view_run *run, ek__view_table *t, const void *record, const ek__owner *of, int number,
                        ek__section *x)
{
    const ek__rows *rows = t->rows;
    char text[16], key[64];
    int n = 0;
    ek__row_begin(x);
    if (rows->first == EK__KEY_NUMBER) {
        snprintf(text, sizeof text, "%d", number);
        ek__view_key(of->run, of->rank, text, key, sizeof key);
    } else if (rows->first == EK__KEY_RANK) {
        ek__view_rank_title(of->run, of->rank, key, sizeof key);
    }
    if (rows->first != EK__KEY_FIELD) {
        ek__cell_text(x, key);
        n++;
    }
    for (int i = 0; i < t->n_columns; i++, n++) {
        if (n + 1 == rows->rank_column) {
            ek__view_cell_rank(x, of->run, of->rank);
            n++;
        }
        if (n + 1 == rows->stage_column) {
            ek__view_cell_from(x, of->rank->stage);
            n++;
        }
        write_cell(run, &t->column[i], record, of, x);
    }
    ek__row_end(x);
}

void ek__view_table_place(const ek_view_run *run, ek__view_table *t, const void *record, const ek__owner *of,
                          int number, ek__section *x)
{
    ek__location at = {of->rank, NULL, EK_TRACE_UNKNOWN, EK_TRACE_UNKNOWN, NULL};
    (void)number;
    if (t->rows->locate)
        t->rows->locate(record, of, &at);
    if (at.rank != t->placed || !at.rank) {
        t->placed = at.rank;
        t->group = at.rank && run->index ? ek__view_trace_group(run, at.rank) : -1;
    }
    ek__view_put_location(run, &at, t->group, x);
}

void ek__view_table_end(const ek__view_table *t, ek__section *x)
{
    ek__table_end(x, t->rows->sort > 0 ? t->rows->sort : -1, t->rows->sort > 0);
}

/* ---- a table of a list ---- */

void ek__view_result_rows(const ek_view_run *run, const void *result, const ek__rows *rows, const char *id,
                          const char *title, ek__section *x)
{
    ek__owner of = {.result = result};
    int least = rows->least > 0 ? rows->least : 1, n = 0;
    bool end = false;
    for (int i = 0; !end && n < least; i++)
        n += ek__rows_entry(rows, i, &of, &end) != NULL;
    if (n < least)
        return;
    ek__view_table t = ek__view_table_begin(rows, id, title, x);
    end = false;
    for (int i = 0, left = rows->most > 0 ? rows->most : EK__VIEW_MAX_ROWS; !end && left > 0; i++) {
        const void *record = ek__rows_entry(rows, i, &of, &end);
        if (!record)
            continue;
        left--;
        ek__view_table_row(run, &t, record, &of, i + 1, x);
    }
    ek__view_table_end(&t, x);
}

/* ---- of a trace ---- */

/* Ranks that may have rows; 1 for the run itself. */
static int ranks_of(const ek_trace_run *run, const ek__rows *rows)
{
    bool some = rows->most_ranks > 0 && rows->most_ranks < run->n_ranks;
    return rows->of_run ? 1 : some ? rows->most_ranks : run->n_ranks;
}

/* Has the table at least `least` entries? */
static bool has_rows(const ek_trace_run *run, const ek__rows *rows)
{
    ek__owner of = {.run = run};
    int n = 0, least = rows->least > 0 ? rows->least : 1;
    bool end;
    for (int r = 0; r < ranks_of(run, rows); r++) {
        of.rank = rows->of_run ? NULL : &run->rank[r];
        end = false;
        for (int i = 0; !end && n < least; i++)
            n += ek__rows_entry(rows, i, &of, &end) != NULL;
    }
    return n >= least;
}

typedef void put_row(const ek_view_run *run, ek__view_table *t, const void *record, const ek__owner *of, int number,
                     ek__section *x);

/* Every entry of a table, of one rank only where `only_rank` is its index. */
static void each_row(const ek_view_run *run, ek__view_table *t, int only_rank, put_row *put, ek__section *x)
{
    const ek__rows *rows = t->rows;
    const ek_trace_run *trace = run->trace;
    ek__owner of = {.run = trace};
    int n_entries = 0, n_rows = 0, most = rows->most > 0 ? rows->most : INT32_MAX;
    for (int r = 0; r < ranks_of(trace, rows); r++) {
        bool end = only_rank >= 0 && r != only_rank;
        of.rank = rows->of_run ? NULL : &trace->rank[r];
        for (int i = 0; !end && n_entries < most && n_rows < EK__VIEW_MAX_ROWS; i++) {
            const void *record = ek__rows_entry(rows, i, &of, &end);
            n_entries += !end;
            if (!record)
                continue;
            n_rows++;
            put(run, t, record, &of, i + 1, x);
        }
    }
}

void ek__view_rows(const ek_view_run *run, const ek__rows *rows, const char *id, const char *title, int only_rank,
                   ek__section *x)
{
    ek__view_table t = ek__view_table_begin(rows, id, title, x);
    each_row(run, &t, only_rank, ek__view_table_row, x);
    if (run->index && (rows->locate || !rows->of_run))
        each_row(run, &t, only_rank, ek__view_table_place, x);
    ek__view_table_end(&t, x);
}

const ek__rows *ek__view_find_rows(const char *section, const char *id)
{
    const ek__rows *rows = NULL;
    while ((rows = ek__next_trace_rows(rows)) != NULL)
        if (rows->section && strcmp(rows->section, section) == 0 && strcmp(rows->id, id) == 0)
            return rows;
    return NULL;
}

void ek__view_tables(const ek_view_run *run, const char *section, ek__view_own_table *own, ek__section *x)
{
    const ek__rows *rows = NULL;
    while ((rows = ek__next_trace_rows(rows)) != NULL)
        if (rows->section && strcmp(rows->section, section) == 0 && !(own && own(run, rows, x)) &&
            has_rows(run->trace, rows))
            ek__view_rows(run, rows, NULL, NULL, -1, x);
}
