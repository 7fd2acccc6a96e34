/* Checks JSON against the description of its figures in src/figures: it has every figure once, with a value of its
 * kind, and nothing else. This checks figures that functions of a writer write; those written by a walk over the rows
 * always agree with them, so golden files and tests by key check their values. */
#ifndef EK_TESTS_DESCRIBED_H
#define EK_TESTS_DESCRIBED_H

#include "input.h"

#include <jansson.h>

#include "figures/figures.h"

static bool may_be_empty;

static inline bool is_bare(const ek__fields *fields)
{
    const ek__member *last = &fields->field[fields->n - 1];
    return last->key && !*last->key;
}

/* The field of a key, also within PARTS. */
static inline const ek__member *find_field(const ek__fields *fields, const char *key)
{
    for (int i = 0; i < fields->n; i++) {
        const ek__member *f = &fields->field[i], *inner;
        if (f->key && strcmp(f->key, key) == 0)
            return f;
        if (f->kind == EK__KIND_PARTS && (inner = find_field(f->fields, key)) != NULL)
            return inner;
    }
    return NULL;
}

static inline bool has_type(const ek__member *f, const json_t *value)
{
    switch (f->kind) {
    case EK__KIND_TEXT:
    case EK__KIND_WORD:
        return json_is_string(value) || (f->numeral && json_is_integer(value));
    case EK__KIND_FLAG:
        return json_is_boolean(value);
    case EK__KIND_COUNT:
    case EK__KIND_NUMBER:
    case EK__KIND_SIZE:
    case EK__KIND_BYTES:
        return json_is_integer(value);
    case EK__KIND_JSON:
        return f->own || json_is_object(value);
    case EK__KIND_OBJECT:
    case EK__KIND_MAP:
        return json_is_object(value);
    case EK__KIND_BY_WORD:
        return json_is_object(value);
    case EK__KIND_LIST:
        return json_is_array(value);
    case EK__KIND_OWN:
        return true;
    default:
        return json_is_number(value);
    }
}

static inline void check_object(const ek__fields *fields, const json_t *object, const char *where);

static inline void check_value(const ek__member *f, const json_t *value, const char *where)
{
    const char *key;
    json_t *entry;
    size_t i;
    if (!value && f->when)
        return;
    if (may_be_empty && json_is_null(value))
        return;
    if (!value || !has_type(f, value))
        fail_msg("%s.%s is %s", where, f->key, value ? "of another type" : "not in the JSON");
    if (!f->fields)
        return;
    if (json_is_array(value)) {
        if (json_array_size(value) == 0 && !may_be_empty)
            fail_msg("%s.%s is empty", where, f->key);
        json_array_foreach(value, i, entry)
        {
            if (!is_bare(f->fields))
                check_object(f->fields, entry, f->key);
        }
    } else if (f->kind == EK__KIND_MAP || f->kind == EK__KIND_OWN) {
        if (json_object_size(value) == 0 && !may_be_empty)
            fail_msg("%s.%s is empty", where, f->key);
        json_object_foreach((json_t *)(uintptr_t)value, key, entry)
        {
            if (!is_bare(f->fields))
                check_object(f->fields, entry, f->key);
        }
    } else {
        check_object(f->fields, value, f->key);
    }
}

static inline void check_members(const ek__fields *fields, const json_t *object, const char *where)
{
    for (int i = 0; i < fields->n; i++) {
        const ek__member *f = &fields->field[i];
        if (f->kind == EK__KIND_PARTS && !f->when)
            check_members(f->fields, object, where);
        if (f->key)
            check_value(f, json_object_get(object, f->key), where);
    }
}

static inline void check_object(const ek__fields *fields, const json_t *object, const char *where)
{
    const char *key;
    json_t *value;
    check_members(fields, object, where);
    json_object_foreach((json_t *)(uintptr_t)object, key, value)
    {
        if (!find_field(fields, key))
            fail_msg("%s.%s is in the JSON, but not described", where, key);
    }
}

/** A whole answer. `nulls`: figures may be null and lists empty, which of a filled result they may not. */
static inline void check_described(const ek__fields *fields, const char *text, bool nulls)
{
    json_error_t wrong;
    /* The links of a filled run are called alike. */
    json_t *root = json_loads(text, nulls ? JSON_REJECT_DUPLICATES : 0, &wrong);
    if (!root)
        fail_msg("line %d: %s", wrong.line, wrong.text);
    may_be_empty = nulls;
    check_object(fields, root, "the result");
    json_decref(root);
}
/** The same for the output of `write` for an answer; figures may be null. */
#define CHECK_WRITTEN(fields, write, answer)                                                                           \
    {                                                                                                                  \
        char *text_ = NULL;                                                                                            \
        size_t size_;                                                                                                  \
        ek_error err_;                                                                                                 \
        FILE *out_ = open_memstream(&text_, &size_);                                                                   \
        assert_non_null(out_);                                                                                         \
        assert_int_equal((write)(answer, out_, &err_), EK_OK);                                                         \
        fclose(out_);                                                                                                  \
        check_described(fields, text_, true);                                                                          \
        free(text_);                                                                                                   \
    }

#endif
