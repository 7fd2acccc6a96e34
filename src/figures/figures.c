/* Reads the values that a row of figures describes: a member's value, a nested struct, columns in order, entries of
 * tables. */
#include "figures/figures.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* ---- values ---- */

bool ek__kind_is_text(ek__kind kind)
{
    return kind == EK__KIND_TEXT || kind == EK__KIND_WORD || kind == EK__KIND_JSON;
}

bool ek__kind_is_whole(ek__kind kind)
{
    return kind >= EK__KIND_FLAG && kind <= EK__KIND_NS_MS;
}

static int64_t whole_of(const void *member, size_t size, bool no_sign)
{
    if (size == sizeof(int64_t)) {
        int64_t value;
        memcpy(&value, member, sizeof value);
        return value;
    }
    if (size == sizeof(bool))
        return *(const bool *)member;
    assert(size == sizeof(int) && size == sizeof(uint32_t));
    return no_sign ? (int64_t) * (const uint32_t *)member : *(const int *)member;
}

static ek__reading unknown(ek__kind kind)
{
    if (ek__kind_is_text(kind))
        return (ek__reading){.text = NULL};
    return ek__kind_is_whole(kind) ? (ek__reading){.number = INT64_MIN} : (ek__reading){.real = NAN};
}

ek__reading ek__member_value(const ek__member *f, const void *record, const ek__owner *of)
{
    const char *member = (const char *)record + f->at;
    ek__reading value;
    if (f->known && !f->known(record, of))
        return unknown(f->kind);
    if (f->get) {
        value = f->get(record, of);
    } else if (f->kind == EK__KIND_WORD) {
        value.text = f->word[whole_of(member, f->size, false)];
    } else if (ek__kind_is_text(f->kind)) {
        value.text = f->in_place ? member : *(const char *const *)member;
    } else if (ek__kind_is_whole(f->kind)) {
        value.number = whole_of(member, f->size, f->no_sign);
    } else {
        value.real = *(const double *)(const void *)member;
        if (f->counted && whole_of((const char *)record + f->n_at, sizeof(int64_t), false) == 0)
            value.real = NAN;
    }
    if (ek__kind_is_text(f->kind)) {
        if (f->not_empty && value.text && !*value.text)
            value.text = NULL;
    } else if (ek__kind_is_whole(f->kind)) {
        bool some = f->positive || f->kind == EK__KIND_SIZE;
        bool natural = f->natural || f->kind == EK__KIND_NUMBER;
        if ((natural && value.number < 0) || (some && value.number < 1))
            value.number = INT64_MIN;
    } else if (f->positive && !(value.real > 0)) {
        value.real = NAN;
    }
    return value;
}

const char *ek__member_text(const ek__member *f, const void *record, const ek__owner *of, char *text, size_t room)
{
    const char *value = text;
    if (!record)
        return NULL;
    if (f->text_of)
        value = f->text_of(*(const uint32_t *)(const void *)((const char *)record + f->at), of, text, room);
    else if (f->compose)
        f->compose(record, of, text, room);
    else
        return ek__member_value(f, record, of).text;
    return f->not_empty && value && !*value ? NULL : value;
}

const void *ek__member_record(const ek__member *f, const void *record, const ek__owner *of)
{
    const char *member = (const char *)record + f->at;
    bool pointer = (f->kind == EK__KIND_LIST || f->kind == EK__KIND_MAP) && !f->in_place;
    return f->find ? f->find(record, of) : pointer ? *(const void *const *)member : member;
}

const void *ek__itself(const void *record, const ek__owner *of)
{
    (void)of;
    return record;
}

int ek__member_count(const ek__member *f, const void *record, const ek__owner *of)
{
    return f->count ? f->count(record, of) : *(const int *)(const void *)((const char *)record + f->n_at);
}

ek__member ek__member_of_word(const ek__member *f, int i)
{
    assert(f->kind == EK__KIND_BY_WORD && i >= 0 && i < f->n_words);
    ek__member one = *f;
    one.key = f->word[i];
    one.kind = f->each;
    one.at += (size_t)i * f->size;
    one.word = NULL;
    return one;
}

/* ---- plain lists ---- */

#define PLAIN(name, kind_, type)                                                                                       \
    static const ek__member name[] = {{.key = "", .kind = (kind_), .size = sizeof(type), .about = "a value"}};         \
    const ek__fields ek__list_of_##name = {.field = name, .n = 1, .size = sizeof(type)}
PLAIN(texts, EK__KIND_TEXT, const char *);
PLAIN(reals, EK__KIND_REAL, double);
PLAIN(integers, EK__KIND_COUNT, int);
PLAIN(long_integers, EK__KIND_COUNT, int64_t);

/* ---- columns ---- */

static int place_of(const ek__member *f, ek__columns_of which)
{
    return which == EK__OF_CSV ? f->csv.at : which == EK__OF_PAGE ? f->page.at : f->text.at;
}

/* Insert into the columns, which are in order: after those of the same place. */
static int insert_column(ek__column one, int n, ek__column out[EK__MAX_COLUMNS])
{
    int at = n;
    assert(n < EK__MAX_COLUMNS);
    for (; at > 0 && out[at - 1].at > one.at; at--)
        out[at] = out[at - 1];
    out[at] = one;
    return n + 1;
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
            if (depth < EK__MAX_DEPTH) /* for the compiler, which cannot determine the depth of the structs */
                one.part[depth] = f;
            n = add_columns(f->fields, which, one, depth + 1, n, out);
            continue;
        }
        one.field = f;
        one.at = place_of(f, which);
        one.word = -1;
        if (one.at == 0)
            continue;
        int n_words = f->kind == EK__KIND_BY_WORD ? f->n_words : 1;
        for (int k = 0; k < n_words; k++) {
            one.word = f->kind == EK__KIND_BY_WORD ? k : -1;
            n = insert_column(one, n, out);
        }
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
    for (int i = 0; i < EK__MAX_DEPTH && c->part[i] && record; i++)
        record = ek__member_record(c->part[i], record, of);
    return record;
}

ek__kind ek__column_kind(const ek__column *c)
{
    return c->word < 0 ? c->field->kind : c->field->each;
}

ek__reading ek__column_value(const ek__column *c, const void *record, const ek__owner *of)
{
    ek__kind kind = ek__column_kind(c);
    record = ek__column_record(c, record, of);
    if (!record)
        return ek__kind_is_text(kind)    ? (ek__reading){.text = NULL}
               : ek__kind_is_whole(kind) ? (ek__reading){.number = INT64_MIN}
                                         : (ek__reading){.real = NAN};
    if (c->word < 0)
        return ek__member_value(c->field, record, of);
    ek__member one = ek__member_of_word(c->field, c->word);
    ek__owner inner = *of;
    inner.number = c->word;
    return ek__member_value(&one, record, &inner);
}

void ek__column_name(const ek__column *c, ek__columns_of which, char *text, size_t room)
{
    const ek__member *f = c->field;
    const char *name = which == EK__OF_CSV ? f->csv.name : f->page.name;
    const char *at = name ? strstr(name, "%s") : NULL;
    if (c->word < 0)
        snprintf(text, room, "%s", name ? name : f->key);
    else if (!at)
        snprintf(text, room, "%s", f->word[c->word]);
    else
        snprintf(text, room, "%.*s%s%s", (int)(at - name), name, f->word[c->word], at + 2);
}

const char *ek__column_title(const ek__column *c, ek__columns_of which)
{
    const char *title = which == EK__OF_PAGE ? c->field->page.title : c->field->text.title;
    const char *const *titles = which == EK__OF_PAGE ? c->field->page.titles : c->field->text.titles;
    return c->word < 0 ? title : (titles ? titles : c->field->word)[c->word];
}

/* ---- tables ---- */

const void *ek__rows_entry(const ek__rows *t, int i, ek__owner *of, bool *end)
{
    const char *base = t->of_run ? (const char *)of->result : (const char *)of->rank;
    *end = false;
    if (t->item)
        return t->item(i, of, end);
    int n = t->inner ? 1 : *(const int *)(base + t->n_at);
    *end = i >= n;
    if (*end)
        return NULL;
    of->number = i;
    const char *entry = t->inner ? base + t->at : *(const char *const *)(base + t->at) + (size_t)i * t->fields->size;
    return t->shown && !t->shown(entry) ? NULL : entry;
}

const ek__rows *ek__next_of(const ek__rows *rows, int n, const ek__rows *last)
{
    const ek__rows *next = last ? last + 1 : rows;
    return next < rows + n ? next : NULL;
}
