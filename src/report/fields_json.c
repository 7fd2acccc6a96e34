/* The JSON of a result: a walk over its fields, in order. What a field's kind cannot say is written by functions of the
 * result's own writer. */
#include "report/fields_json.h"

#include <assert.h>
#include <string.h>

static void put_value(ek__stream *s, const char *key, ek__kind kind, ek__reading value)
{
    switch (kind) {
    case EK__KIND_TEXT:
    case EK__KIND_WORD:
        ek__stream_text(s, key, value.text);
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
        ek__stream_real(s, key, value.real);
        break;
    }
}

static ek_status put_own(ek__json_walk *w, const ek__fields *fields, const ek__member *f, const void *record)
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
/* Entries of a map are called by their first member. Of one value alone, without a key, the value is the entry. */
static ek_status put_entries(ek__json_walk *w, const ek__member *f, const void *record)
{
    const char *entry = ek__member_record(f, record, &w->of);
    const ek__member *inner = &f->fields->field[f->fields->n - 1];
    bool map = f->kind == EK__KIND_MAP, bare = map && inner->key && !*inner->key;
    int n = ek__member_count(f, record);
    char text[EK__VIEW_KEY_SIZE];
    n = f->most > 0 && n > f->most ? f->most : n;
    ek_status status = EK_OK;
    (map ? ek__stream_object : ek__stream_list)(w->s, f->key, f->lines);
    for (int i = 0; i < n && status == EK_OK; i++, entry += f->fields->size) {
        if (f->shown && !f->shown(entry, &w->of))
            continue;
        if (f->compose)
            f->compose(entry, &w->of, text, sizeof text);
        const char *name = f->compose ? text : map ? *(const char *const *)(const void *)entry : NULL;
        if (bare)
            put_value(w->s, name, inner->kind, ek__member_value(inner, entry, &w->of));
        else
            status = ek__put_record(w, name, f->fields, entry);
    }
    ek__stream_end(w->s);
    return status;
}

static ek_status put_field(ek__json_walk *w, const ek__fields *fields, const ek__member *f, const void *record)
{
    switch (f->kind) {
    case EK__KIND_PARTS:
        return ek__put_fields(w, f->fields, ek__member_record(f, record, &w->of));
    case EK__KIND_OBJECT:
        record = ek__member_record(f, record, &w->of);
        if (f->left_out && !f->fields->known(record))
            return EK_OK;
        return ek__put_record(w, f->key, f->fields, record);
    case EK__KIND_LIST:
    case EK__KIND_MAP:
        return put_entries(w, f, record);
    case EK__KIND_OWN:
        return put_own(w, fields, f, record);
    default:
        put_value(w->s, f->key, f->kind, ek__member_value(f, record, &w->of));
        return EK_OK;
    }
}

ek_status ek__put_fields(ek__json_walk *w, const ek__fields *fields, const void *record)
{
    ek_status status = EK_OK;
    for (int i = 0; i < fields->n && status == EK_OK; i++)
        if (fields->field[i].key || fields->field[i].kind == EK__KIND_PARTS)
            status = put_field(w, fields, &fields->field[i], record);
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
