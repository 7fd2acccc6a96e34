/* Resolves paths of gates: a walk down the description of a result's figures (src/figures) along the keys of a path,
 * which finds the figure at its end, and names the existing keys where a key is wrong. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/config_tree.h"
#include "base/error.h"
#include "figures/schema.h"
#include "write/gate.h"
#include "write/schemas.h"

enum { MAX_KEYS = 256, MAX_LIST = 700 };

ek__quantity ek__quantity_of(ek__kind kind, double *in_base)
{
    static const struct {
        ek__quantity quantity;
        double in_base;
    } of[] = {
        [EK__KIND_BYTES] = {EK__QUANTITY_SIZE, 1 / 1048576.0},
        [EK__KIND_BYTES_MB] = {EK__QUANTITY_SIZE, 1},
        [EK__KIND_MB] = {EK__QUANTITY_SIZE, 1},
        [EK__KIND_KB] = {EK__QUANTITY_SIZE, 1 / 1024.0},
        [EK__KIND_NS] = {EK__QUANTITY_TIME, 1e-6},
        [EK__KIND_MEAN] = {EK__QUANTITY_TIME, 1e-6},
        [EK__KIND_NS_MS] = {EK__QUANTITY_TIME, 1e-3},
        [EK__KIND_MS] = {EK__QUANTITY_TIME, 1e-3},
        [EK__KIND_MS_6] = {EK__QUANTITY_TIME, 1e-3},
        [EK__KIND_SECONDS] = {EK__QUANTITY_TIME, 1},
        [EK__KIND_SHARE] = {EK__QUANTITY_PART, 1},
        [EK__KIND_PERCENT] = {EK__QUANTITY_PART, 0.01},
        [EK__KIND_GBPS] = {EK__QUANTITY_SPEED, 1},
        [EK__KIND_OWN] = {EK__QUANTITY_NONE, 0},
    };
    *in_base = of[kind].in_base;
    return of[kind].quantity;
}

/* ---- keys of an object ---- */

typedef struct keys {
    const ek__member *field[MAX_KEYS];
    const char *name[MAX_KEYS];
    int n;
} keys;

/* NOLINTBEGIN(misc-no-recursion): as deep as structs are put into structs */
static void gather(const ek__fields *fields, keys *all)
{
    for (int i = 0; i < fields->n; i++) {
        const ek__member *f = &fields->field[i];
        if (f->kind == EK__KIND_PARTS)
            gather(f->fields, all);
        else if (f->key && *f->key && all->n < MAX_KEYS) {
            all->field[all->n] = f;
            all->name[all->n++] = f->key;
        }
    }
}
/* NOLINTEND(misc-no-recursion) */

/* "a, b, c", as many as fit. */
static void list_names(const char *const *name, int n, char *text, size_t room)
{
    size_t used = 0;
    *text = '\0';
    for (int i = 0; i < n; i++) {
        size_t more = strlen(name[i]) + 2;
        if (used + more + 8 > room) {
            snprintf(text + used, room - used, ", ...");
            return;
        }
        used += (size_t)snprintf(text + used, room - used, "%s%s", i ? ", " : "", name[i]);
    }
}

ek_status ek__gate_unknown(const ek__gate *gate, const char *what, const char *name, const char *const *known, int n,
                           ek_error *err)
{
    char list[MAX_LIST];
    const char *near = ek__nearest_word(name, known, n);
    list_names(known, n, list, sizeof list);
    return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "%s: %s '%s'; %s%s%s are %s", gate->text, what, name,
                    near ? "did you mean '" : "", near ? near : "", near ? "'? Known" : "known", list);
}

/* ---- the path as text ---- */

/* "stages[].peak_mb": keys at points, lists in brackets, empty or with a number from 0 on. */
static ek_status split(ek__gate *gate, ek_error *err)
{
    const char *c = gate->name;
    int n = 0;
    while (*c && n < EK__MAX_SEGMENTS) {
        ek__segment *s = &gate->segment[n++];
        size_t size = strcspn(c, ".[");
        *s = (ek__segment){.index = -1};
        if (*c == '[') {
            char *end = NULL;
            s->in_list = true;
            if (c[1] != ']') {
                long index = strtol(c + 1, &end, 10);
                if (end == c + 1 || *end != ']' || index < 0 || index > 1 << 30)
                    return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE,
                                    "%s: brackets are empty, for each of a list, or have a number from 0 on",
                                    gate->text);
                s->index = (int)index;
            }
            c = (end ? end : c + 1) + 1;
        } else {
            if (size == 0 || size >= sizeof s->key)
                return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "%s: a key of the path is empty or too long",
                                gate->text);
            memcpy(s->key, c, size);
            c += size;
        }
        if (*c == '.' && (c[1] == '.' || !c[1] || c[1] == '['))
            return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "%s: a key of the path is empty or too long", gate->text);
        c += *c == '.';
    }
    gate->n_segments = n;
    return *c ? ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "%s: the path has more than %d parts", gate->text,
                         EK__MAX_SEGMENTS)
              : EK_OK;
}

/* ---- down the description ---- */

/* The position of a walk: an object of these fields, or the value of a field. */
typedef struct place {
    const ek__fields *fields; /* an object; NULL: the value of `field` */
    const ek__member *field;
    ek__kind kind; /* of the value; that of an entry, where `entry` */
    bool entry;    /* it is an entry of the list or map of the field */
} place;

static bool is_bare(const ek__fields *fields)
{
    const ek__member *last = &fields->field[fields->n - 1];
    return last->key && !*last->key;
}

static bool is_list(const place *p)
{
    return p->field && !p->entry &&
           (p->kind == EK__KIND_LIST || (p->kind == EK__KIND_OWN && strncmp(p->field->own, "list", 4) == 0));
}

static bool is_map(const place *p)
{
    return p->field && !p->entry &&
           (p->kind == EK__KIND_MAP ||
            (p->kind == EK__KIND_OWN && strncmp(p->field->own, "object", 6) == 0 && p->field->fields));
}

/* The entries of a list or map. */
static place entry_of(const place *p)
{
    const ek__fields *fields = p->field->fields;
    if (!fields)
        return (place){.field = p->field,
                       .kind = strstr(p->field->own, "of strings") ? EK__KIND_TEXT : EK__KIND_OWN,
                       .entry = true};
    if (!is_bare(fields))
        return (place){.fields = fields};
    const ek__member *value = &fields->field[fields->n - 1];
    return (place){.field = value, .kind = value->kind};
}

static ek_status enter(const ek__gate *gate, const ek__segment *s, place *p, ek_error *err)
{
    keys all = {.n = 0};
    if (s->in_list) {
        bool inner = p->field && p->field->grid && p->entry; /* a list of a list of lists */
        if (!inner && !is_list(p))
            return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "%s: the part before the brackets is no list", gate->text);
        if (p->field->grid && !inner)
            p->entry = true;
        else
            *p = entry_of(p);
        return EK_OK;
    }
    if (is_map(p)) {
        *p = entry_of(p);
        return EK_OK;
    }
    if (is_list(p))
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "%s: '%s' is in a list; write %s[] before it", gate->text,
                        s->key, p->field->key);
    if (p->field && p->kind == EK__KIND_BY_WORD) {
        for (int i = 0; i < p->field->n_words; i++)
            if (strcmp(p->field->word[i], s->key) == 0) {
                p->kind = p->field->each;
                p->entry = true;
                return EK_OK;
            }
        return ek__gate_unknown(gate, "the JSON has no figure", s->key, p->field->word, p->field->n_words, err);
    }
    assert(p->fields || p->field);
    if (!p->fields)
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "%s: there is nothing within '%s'", gate->text,
                        p->field && p->field->key && *p->field->key ? p->field->key : "a value of a list");
    gather(p->fields, &all);
    for (int i = 0; i < all.n; i++)
        if (strcmp(all.name[i], s->key) == 0) {
            const ek__member *f = all.field[i];
            *p = (place){.field = f, .kind = f->kind};
            if (f->kind == EK__KIND_OBJECT)
                *p = (place){.fields = f->fields};
            return EK_OK;
        }
    return ek__gate_unknown(gate, "the JSON has no figure", s->key, all.name, all.n, err);
}

/* A path must end at a value. */
static ek_status check_end(const ek__gate *gate, const place *p, ek_error *err)
{
    char list[MAX_LIST];
    keys all = {.n = 0};
    if (is_list(p) || (p->field && p->field->grid && p->entry))
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "%s: '%s' is a list; write %s[] for each of it", gate->text,
                        gate->name, gate->name);
    if (p->fields)
        gather(p->fields, &all);
    else if (p->kind == EK__KIND_BY_WORD && !p->entry)
        for (int i = 0; i < p->field->n_words; i++)
            all.name[all.n++] = p->field->word[i];
    else if (!is_map(p))
        return EK_OK;
    if (all.n == 0)
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "%s: '%s' is an object by name; write %s.NAME", gate->text,
                        gate->name, gate->name);
    list_names(all.name, all.n, list, sizeof list);
    return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "%s: '%s' is an object; write %s. and one of %s", gate->text,
                    gate->name, gate->name, list);
}

ek_status ek__gate_path(ek_output_kind kind, ek__gate *gate, ek__kind *figure, ek_error *err)
{
    ek__schema schema;
    if (!ek__schema_find(kind, "json", &schema))
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "%s: this result has no figures for gates", gate->text);
    place p = {.fields = schema.fields};
    ek_status status = split(gate, err);
    for (int i = 0; i < gate->n_segments && status == EK_OK; i++)
        status = enter(gate, &gate->segment[i], &p, err);
    status = status ? status : check_end(gate, &p, err);
    if (status)
        return status;
    *figure = p.kind;
    gate->is_flag = p.kind == EK__KIND_FLAG;
    gate->is_text = ek__kind_is_text(p.kind) && !(p.field && p.field->numeral);
    return EK_OK;
}
