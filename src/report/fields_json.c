/* Writes the JSON of a result by a walk over its fields, in order. Fields that their kind cannot describe are written
 * by functions of the result's own writer. */
#include "report/fields_json.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/digits.h"
#include "base/print.h"

/* A text that is an integer, as a number. */
static void write_numeral(ek__stream *s, const char *key, const char *text)
{
    size_t n = text ? strlen(text) : 0;
    if (n > 0 && n < 19 && strspn(text, "0123456789") == n)
        ek__stream_int(s, key, strtoll(text, NULL, 10));
    else
        ek__stream_text(s, key, text);
}

static void write_value(ek__stream *s, const char *key, const ek__member *f, ek__reading value)
{
    switch (f->kind) {
    case EK__KIND_TEXT:
    case EK__KIND_WORD:
        (f->numeral ? write_numeral : ek__stream_text)(s, key, value.text);
        break;
    case EK__KIND_JSON:
        ek__stream_raw(s, key, value.text);
        break;
    case EK__KIND_FLAG:
        if (value.number < 0)
            ek__stream_null(s, key);
        else
            ek__stream_bool(s, key, value.number != 0);
        break;
    case EK__KIND_COUNT:
    case EK__KIND_NUMBER:
    case EK__KIND_SIZE:
    case EK__KIND_BYTES:
        ek__stream_int(s, key, value.number);
        break;
    case EK__KIND_BYTES_MB:
        ek__stream_fixed(s, key, value.number == INT64_MIN ? NAN : (double)value.number / EK__MB, 3);
        break;
    case EK__KIND_NS:
        ek__stream_us(s, key, value.number);
        break;
    case EK__KIND_NS_MS:
        ek__stream_ms(s, key, value.number);
        break;
    case EK__KIND_MEAN:
        ek__stream_mean_us(s, key, value.real);
        break;
    case EK__KIND_MS_6:
        ek__stream_fixed(s, key, value.real, 6); /* nanoseconds */
        break;
    default:
        if (f->decimals > 0)
            ek__stream_fixed(s, key, value.real, f->decimals - 1);
        else
            ek__stream_real(s, key, value.real);
        break;
    }
}

static void write_words(ek__json_walk *w, const ek__member *f, const void *record)
{
    int number = w->of.number;
    ek__stream_object(w->s, f->key, f->lines);
    for (int i = 0; i < f->n_words; i++) {
        ek__member one = ek__member_of_word(f, i);
        w->of.number = i;
        write_value(w->s, one.key, &one, ek__member_value(&one, record, &w->of));
    }
    ek__stream_end(w->s);
    w->of.number = number;
}

static ek_status write_own(ek__json_walk *w, const ek__fields *fields, const ek__member *f, const void *record)
{
    size_t n = fields->path ? strlen(fields->path) : 0;
    for (int i = 0; i < w->n_own; i++) {
        const char *path = w->own[i].path;
        if (n > 0 && (strncmp(path, fields->path, n) != 0 || path[n] != '.'))
            continue;
        if (strcmp(path + (n > 0 ? n + 1 : 0), f->key) == 0)
            return w->own[i].write(w, f->key, record);
    }
    assert(!"a field of its own has a function");
    return EK_OK;
}

/* NOLINTBEGIN(misc-no-recursion): as deep as the structs */
static ek_status write_entries(ek__json_walk *w, const char *key, const ek__member *f, const void *record);

/* The first member of a map's entry is its key. If an entry has a single value without a key, that value or list is the
 * entry.
 */
static ek_status write_each(ek__json_walk *w, const ek__member *f, const void *record)
{
    const char *entry = ek__member_record(f, record, &w->of);
    const ek__member *inner = &f->fields->field[f->fields->n - 1];
    bool map = f->kind == EK__KIND_MAP, bare = inner->key && !*inner->key;
    int n = ek__member_count(f, record, &w->of);
    char text[EK__VIEW_KEY_SIZE];
    const ek__owner of = w->of;
    n = f->most > 0 && n > f->most ? f->most : n;
    ek_status status = EK_OK;
    w->of.parent = record;
    for (int i = 0; i < n && status == EK_OK; i++, entry += f->fields->size) {
        w->of.number = i;
        if (f->shown && !f->shown(entry, &w->of))
            continue;
        if (f->compose)
            f->compose(entry, &w->of, text, sizeof text);
        const char *name = f->compose ? text : map ? *(const char *const *)(const void *)entry : NULL;
        if (bare && inner->kind == EK__KIND_LIST)
            status = write_entries(w, name, inner, entry);
        else if (bare)
            write_value(w->s, name, inner, ek__member_value(inner, entry, &w->of));
        else
            status = ek__put_record(w, name, f->fields, entry);
    }
    w->of = of;
    return status;
}

static ek_status write_entries(ek__json_walk *w, const char *key, const ek__member *f, const void *record)
{
    const ek__owner of = w->of;
    if (!f->across && ek__member_count(f, record, &of) < 0) {
        ek__stream_null(w->s, key);
        return EK_OK;
    }
    const char *part = f->across ? ek__member_record(f->across, record, &of) : record;
    int n = f->across ? ek__member_count(f->across, record, &of) : 1;
    ek_status status = EK_OK;
    (f->kind == EK__KIND_MAP ? ek__stream_object : ek__stream_list)(w->s, key, f->lines);
    for (int i = 0; i < n && status == EK_OK; i++) {
        if (f->across)
            w->of.part = part;
        status = write_each(w, f, part);
        part += f->across ? f->across->fields->size : 0;
    }
    w->of = of;
    ek__stream_end(w->s);
    return status;
}

/* A list of lists of values. */
static void write_grid(ek__json_walk *w, const ek__member *f, const void *record)
{
    const char *entry = ek__member_record(f, record, &w->of);
    const ek__member *value = &f->fields->field[0];
    const ek__owner of = w->of;
    int n_columns = *(const int *)(const void *)((const char *)record + f->n_columns_at);
    int less = f->less ? f->less(record) : 0;
    w->of.parent = record;
    ek__stream_list(w->s, f->key, false);
    for (int n = ek__member_count(f, record, &w->of), i = 0; i < n; i++) {
        ek__stream_list(w->s, NULL, false);
        for (int k = 0; k < n_columns; k++, entry += f->fields->size) {
            ek__reading one = ek__member_value(value, entry, &w->of);
            if (less)
                one.number -= less;
            write_value(w->s, NULL, value, one);
        }
        ek__stream_end(w->s);
    }
    w->of = of;
    ek__stream_end(w->s);
}

static ek_status write_field(ek__json_walk *w, const ek__fields *fields, const ek__member *f, const void *record)
{
    if (f->when && !f->when(record, &w->of))
        return EK_OK;
    if (f->known && !f->known(record, &w->of)) {
        ek__stream_null(w->s, f->key);
        return EK_OK;
    }
    if (f->grid) {
        write_grid(w, f, record);
        return EK_OK;
    }
    switch (f->kind) {
    case EK__KIND_PARTS:
        return ek__put_fields(w, f->fields, ek__member_record(f, record, &w->of));
    case EK__KIND_OBJECT:
        return ek__put_record(w, f->key, f->fields, ek__member_record(f, record, &w->of));
    case EK__KIND_LIST:
    case EK__KIND_MAP:
        return write_entries(w, f->key, f, record);
    case EK__KIND_OWN:
        return write_own(w, fields, f, record);
    case EK__KIND_BY_WORD:
        write_words(w, f, record);
        return EK_OK;
    case EK__KIND_TEXT: {
        char room[EK__VIEW_KEY_SIZE];
        const char *text = ek__member_text(f, record, &w->of, room, sizeof room);
        (f->numeral ? write_numeral : ek__stream_text)(w->s, f->key, text);
        return EK_OK;
    }
    default:
        write_value(w->s, f->key, f, ek__member_value(f, record, &w->of));
        return EK_OK;
    }
}

ek_status ek__put_fields(ek__json_walk *w, const ek__fields *fields, const void *record)
{
    ek_status status = EK_OK;
    for (int i = 0; i < fields->n && status == EK_OK; i++)
        if (fields->field[i].key || fields->field[i].kind == EK__KIND_PARTS)
            status = write_field(w, fields, &fields->field[i], record);
    return status;
}

ek_status ek__put_record(ek__json_walk *w, const char *key, const ek__fields *fields, const void *record)
{
    if (!record || (fields->known && !fields->known(record))) {
        ek__stream_null(w->s, key);
        return EK_OK;
    }
    ek__stream_object(w->s, key, fields->lines);
    ek_status status = ek__put_fields(w, fields, record);
    ek__stream_end(w->s);
    return status;
}
/* NOLINTEND(misc-no-recursion) */

ek_status ek__write_fields(const ek__fields *fields, const void *result, const ek__own_field *own, int n_own, FILE *out,
                           ek_error *err)
{
    ek__stream s = {.out = out, .points = fields->points};
    ek__json_walk w = {.s = &s, .of.result = result, .own = own, .n_own = n_own, .err = err};
    ek_status status = ek__put_record(&w, NULL, fields, result);
    fputc('\n', out);
    return status ? status : ek__finish(out, err);
}
