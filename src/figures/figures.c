/* Reading what a row of figures describes: a member's value, a struct within, columns in order, entries of tables. */
#include "figures/figures.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* ---- values ---- */

bool ek__member_is_text(const ek__member *f)
{
    return f->kind == EK__KIND_TEXT || f->kind == EK__KIND_WORD || f->kind == EK__KIND_JSON;
}

bool ek__member_is_whole(const ek__member *f)
{
    return f->kind >= EK__KIND_FLAG && f->kind <= EK__KIND_NS_MS;
}

static int64_t whole_of(const void *member, size_t size)
{
    if (size == sizeof(int64_t)) {
        int64_t value;
        memcpy(&value, member, sizeof value);
        return value;
    }
    if (size == sizeof(bool))
        return *(const bool *)member;
    assert(size == sizeof(int));
    return *(const int *)member;
}

ek__reading ek__member_value(const ek__member *f, const void *record, const ek__owner *of)
{
    const char *member = (const char *)record + f->at;
    ek__reading value;
    if (f->get) {
        value = f->get(record, of);
    } else if (f->kind == EK__KIND_WORD) {
        value.text = f->word[whole_of(member, f->size)];
    } else if (ek__member_is_text(f)) {
        value.text = *(const char *const *)member;
    } else if (ek__member_is_whole(f)) {
        value.number = whole_of(member, f->size);
    } else {
        value.real = *(const double *)(const void *)member;
        if (f->counted && whole_of((const char *)record + f->n_at, sizeof(int64_t)) == 0)
            value.real = NAN;
    }
    if ((f->kind == EK__KIND_NUMBER && value.number < 0) || (f->kind == EK__KIND_SIZE && value.number < 1))
        value.number = INT64_MIN;
    return value;
}

const void *ek__member_record(const ek__member *f, const void *record, const ek__owner *of)
{
    const char *member = (const char *)record + f->at;
    bool pointer = f->kind == EK__KIND_LIST || f->kind == EK__KIND_MAP;
    return f->find ? f->find(record, of) : pointer ? *(const void *const *)member : member;
}

int ek__member_count(const ek__member *f, const void *record)
{
    return *(const int *)((const char *)record + f->n_at);
}

/* ---- columns ---- */

static int place_of(const ek__member *f, ek__columns_of which)
{
    return which == EK__OF_CSV ? f->csv.at : which == EK__OF_PAGE ? f->page.at : f->text.at;
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as the structs */
static int add_columns(const ek__fields *fields, ek__columns_of which, ek__column of, int depth, int n,
                       ek__column out[EK__MAX_COLUMNS])
{
    for (int i = 0; i < fields->n; i++) {
        const ek__member *f = &fields->field[i];
        ek__column one = of;
        if (f->kind == EK__KIND_PARTS || (f->kind == EK__KIND_OBJECT && place_of(f, which) > 0)) {
            assert(depth < EK__MAX_DEPTH);
            if (depth < EK__MAX_DEPTH) /* the compiler does not know how deep the structs are */
                one.part[depth] = f;
            n = add_columns(f->fields, which, one, depth + 1, n, out);
            continue;
        }
        one.field = f;
        one.at = place_of(f, which);
        if (one.at == 0)
            continue;
        int at = n++;
        assert(n <= EK__MAX_COLUMNS);
        for (; at > 0 && out[at - 1].at > one.at; at--)
            out[at] = out[at - 1];
        out[at] = one;
    }
    return n;
}

int ek__fields_columns(const ek__fields *fields, const ek__fields *also, ek__columns_of which,
                       ek__column out[EK__MAX_COLUMNS])
{
    int n = add_columns(fields, which, (ek__column){0}, 0, 0, out);
    return also ? add_columns(also, which, (ek__column){0}, 0, n, out) : n;
}

const void *ek__column_record(const ek__column *c, const void *record, const ek__owner *of)
{
    for (int i = 0; i < 2 && c->part[i]; i++)
        record = ek__member_record(c->part[i], record, of);
    return record;
}

/* ---- tables ---- */

const void *ek__rows_entry(const ek__rows *t, int i, ek__owner *of, bool *end)
{
    const char *base = t->of_run ? (const char *)of->run : (const char *)of->rank;
    *end = false;
    if (t->item)
        return t->item(of->rank, i, of, end);
    int n = t->inner ? 1 : *(const int *)(base + t->n_at);
    *end = i >= n;
    if (*end)
        return NULL;
    const char *entry = t->inner ? base + t->at : *(const char *const *)(base + t->at) + (size_t)i * t->fields->size;
    return t->shown && !t->shown(entry) ? NULL : entry;
}
