/* Writes the JSON Schema from the description of figures: a walk over fields as in the writer of JSON
 * (report/fields_json.c), which prints types in place of values. A struct that has a path in the documentation is a
 * definition of its own. A value may be null where its kind has a mark for unknown values, even if no result ever has
 * it. */
#include "figures/schema.h"

#include <assert.h>
#include <string.h>

#include "base/json_stream.h"
#include "base/print.h"

enum { MAX_DEFINITIONS = 128, MAX_PROPERTIES = 128, MAX_NAME = 64 };

/* A key of an object: PARTS of several structs may have it twice. */
typedef struct property {
    const ek__member *field;
    bool always, maybe_null;
} property;

typedef struct walk {
    ek__stream *s;
    const ek__fields *defined[MAX_DEFINITIONS]; /* in the order of their first use */
    int n;
    const char *without; /* a key that the complete result does not have */
    const ek__fields *whole;
} walk;

const char *ek__kind_unit(ek__kind kind)
{
    static const char *const unit[] = {
        [EK__KIND_BYTES] = "bytes", [EK__KIND_BYTES_MB] = "MB",     [EK__KIND_NS] = "us",
        [EK__KIND_NS_MS] = "ms",    [EK__KIND_MEAN] = "us",         [EK__KIND_MS] = "ms",
        [EK__KIND_MS_6] = "ms",     [EK__KIND_SECONDS] = "s",       [EK__KIND_TIME] = "the unit of the given times",
        [EK__KIND_SHARE] = "of 1",  [EK__KIND_PERCENT] = "percent", [EK__KIND_MB] = "MB",
        [EK__KIND_KB] = "KB",       [EK__KIND_GBPS] = "GB/s",       [EK__KIND_OWN] = NULL,
    };
    return unit[kind];
}

/* ---- values ---- */

/* Can the writer print null in its place? */
static bool may_be_null(const ek__member *f)
{
    if (f->known || (f->find && f->kind == EK__KIND_OBJECT) || f->not_empty || f->positive || f->natural)
        return true;
    switch (f->kind) {
    case EK__KIND_WORD:
    case EK__KIND_BY_WORD:
    case EK__KIND_OWN:
        return false;
    case EK__KIND_FLAG:
        return f->get != NULL;
    case EK__KIND_TEXT:
        return !f->in_place;
    case EK__KIND_COUNT:
        return f->get || f->size != sizeof(int);
    case EK__KIND_OBJECT:
        return f->fields->known != NULL;
    case EK__KIND_LIST:
    case EK__KIND_MAP:
        return f->count != NULL;
    default:
        return true;
    }
}

static const char *value_type(const ek__member *f)
{
    if (f->kind == EK__KIND_FLAG)
        return "boolean";
    if (f->kind == EK__KIND_NS || f->kind == EK__KIND_NS_MS || f->kind == EK__KIND_BYTES_MB)
        return "number";
    if (ek__kind_is_text(f->kind))
        return "string";
    return ek__kind_is_whole(f->kind) ? "integer" : "number";
}

/* Types by the words of a description for values that a function of the writer prints: "list of integers or
 * strings". */
static void write_word_types(ek__stream *s, const char *words, bool maybe_null)
{
    static const char *const type[] = {"integer", "string", "number", "boolean", "object", "array", "null"};
    const char *found[sizeof type / sizeof *type];
    int n = 0;
    for (size_t i = 0; i < sizeof type / sizeof *type; i++)
        if (strstr(words, type[i]) || (maybe_null && strcmp(type[i], "null") == 0))
            found[n++] = type[i];
    assert(n > 0);
    if (n == 1) {
        ek__stream_text(s, "type", found[0]);
        return;
    }
    ek__stream_list(s, "type", false);
    for (int i = 0; i < n; i++)
        ek__stream_text(s, NULL, found[i]);
    ek__stream_end(s);
}

static void write_type(ek__stream *s, const char *type, bool maybe_null)
{
    write_word_types(s, type, maybe_null);
}

static void write_limits(ek__stream *s, const ek__member *f)
{
    if (f->kind == EK__KIND_SIZE)
        ek__stream_int(s, "minimum", 1);
    else if (f->positive)
        ek__stream_int(s, "exclusiveMinimum", 0);
    else if (f->natural || f->kind == EK__KIND_NUMBER)
        ek__stream_int(s, "minimum", 0);
}

static void write_description(ek__stream *s, const char *about, const char *unit)
{
    char text[2048];
    if (!about || !*about)
        return;
    snprintf(text, sizeof text, "%s%s%s", about, unit ? ". Unit: " : "", unit ? unit : "");
    ek__stream_text(s, "description", text);
}

/* ---- structs ---- */

/* NOLINTBEGIN(misc-no-recursion): as deep as the structs */
static void write_fields(walk *w, const ek__fields *fields);
static void write_entry(walk *w, const ek__fields *fields, bool maybe_null);

/* The name of a definition: its path without the marks of lists; of several paths the first. */
static void definition_name(const ek__fields *fields, char name[MAX_NAME])
{
    int n = 0;
    for (const char *c = fields->path; *c && *c != ',' && *c != ' ' && n < MAX_NAME - 1; c++)
        if (strchr("[]", *c) == NULL)
            name[n++] = strchr("\"/~%#", *c) ? '-' : *c;
    name[n] = '\0';
}

static void write_reference(walk *w, const ek__fields *fields)
{
    char name[MAX_NAME], text[MAX_NAME + 16];
    int at = 0;
    while (at < w->n && w->defined[at] != fields)
        at++;
    assert(at < MAX_DEFINITIONS);
    w->defined[at] = fields;
    w->n = at == w->n ? at + 1 : w->n;
    definition_name(fields, name);
    snprintf(text, sizeof text, "#/$defs/%s", name);
    ek__stream_text(w->s, "$ref", text);
}

/* A struct as a value, inside an open object. */
static void write_struct(walk *w, const ek__fields *fields, bool maybe_null)
{
    if (fields->path && maybe_null) {
        ek__stream_list(w->s, "anyOf", false);
        ek__stream_object(w->s, NULL, false);
        write_reference(w, fields);
        ek__stream_end(w->s);
        ek__stream_raw(w->s, NULL, "{\"type\": \"null\"}");
        ek__stream_end(w->s);
    } else if (fields->path) {
        write_reference(w, fields);
    } else {
        write_type(w->s, "object", maybe_null);
        write_fields(w, fields);
    }
}

static bool is_bare(const ek__fields *fields)
{
    const ek__member *last = &fields->field[fields->n - 1];
    return last->key && !*last->key;
}

static void write_many(walk *w, const ek__member *f, bool maybe_null)
{
    bool map = f->kind == EK__KIND_MAP;
    write_type(w->s, map ? "object" : "array", maybe_null);
    if (f->most > 0)
        ek__stream_int(w->s, "maxItems", f->most);
    ek__stream_object(w->s, map ? "additionalProperties" : "items", false);
    if (f->grid) {
        ek__stream_text(w->s, "type", "array");
        ek__stream_object(w->s, "items", false);
        write_entry(w, f->fields, true);
        ek__stream_end(w->s);
    } else {
        write_entry(w, f->fields, f->fields->known != NULL);
    }
    ek__stream_end(w->s);
}

static void write_words(walk *w, const ek__member *f)
{
    ek__stream_text(w->s, "type", "object");
    ek__stream_object(w->s, "properties", false);
    for (int i = 0; i < f->n_words; i++) {
        ek__member one = ek__member_of_word(f, i);
        ek__stream_object(w->s, one.key, false);
        write_type(w->s, value_type(&one), true);
        ek__stream_end(w->s);
    }
    ek__stream_end(w->s);
    ek__stream_list(w->s, "required", false);
    for (int i = 0; i < f->n_words; i++)
        ek__stream_text(w->s, NULL, ek__member_of_word(f, i).key);
    ek__stream_end(w->s);
    ek__stream_bool(w->s, "additionalProperties", false);
}

/* The output of a function of the writer. */
static void write_own(walk *w, const ek__member *f, bool maybe_null)
{
    const char *of = strstr(f->own, " of ");
    bool list = strncmp(f->own, "list", 4) == 0, object = strncmp(f->own, "object", 6) == 0;
    if (!list && !object) {
        write_word_types(w->s, f->own, maybe_null);
        return;
    }
    write_type(w->s, list ? "array" : "object", maybe_null);
    if (!f->fields && !of)
        return;
    ek__stream_object(w->s, list ? "items" : "additionalProperties", false);
    if (f->fields)
        write_entry(w, f->fields, false);
    else
        write_word_types(w->s, of + 4, false);
    ek__stream_end(w->s);
}

static void write_value(walk *w, const ek__member *f, bool maybe_null)
{
    maybe_null = maybe_null || may_be_null(f);
    switch (f->kind) {
    case EK__KIND_OBJECT:
        write_struct(w, f->fields, maybe_null);
        break;
    case EK__KIND_LIST:
    case EK__KIND_MAP:
        write_many(w, f, maybe_null);
        break;
    case EK__KIND_BY_WORD:
        write_words(w, f);
        break;
    case EK__KIND_OWN:
        write_own(w, f, maybe_null);
        break;
    case EK__KIND_JSON:
        if (f->own)
            write_own(w, f, maybe_null);
        else
            write_type(w->s, "object", maybe_null);
        break;
    default:
        write_word_types(w->s, f->numeral ? "integer or string" : value_type(f), maybe_null);
        write_limits(w->s, f);
        break;
    }
}

/* An entry of a list or map: a struct, or one value where its key is "". */
static void write_entry(walk *w, const ek__fields *fields, bool maybe_null)
{
    if (is_bare(fields))
        write_value(w, &fields->field[fields->n - 1], maybe_null);
    else
        write_struct(w, fields, maybe_null);
}

/* The keys of an object, including those of its PARTS. */
static int gather(const walk *w, const ek__fields *fields, bool always, bool maybe_null, property *all, int n)
{
    for (int i = 0; i < fields->n; i++) {
        const ek__member *f = &fields->field[i];
        bool here = always && !f->when;
        int at = 0;
        if (f->kind == EK__KIND_PARTS) {
            n = gather(w, f->fields, here, maybe_null || f->find, all, n);
            continue;
        }
        if (!f->key || (fields == w->whole && w->without && strcmp(f->key, w->without) == 0))
            continue;
        while (at < n && strcmp(all[at].field->key, f->key) != 0)
            at++;
        if (at == n) {
            assert(n < MAX_PROPERTIES);
            all[n++] = (property){f, here, maybe_null};
        } else {
            assert(strcmp(value_type(all[at].field), value_type(f)) == 0);
            all[at].always |= here;
            all[at].maybe_null |= maybe_null || may_be_null(f);
        }
    }
    return n;
}

static void write_fields(walk *w, const ek__fields *fields)
{
    property all[MAX_PROPERTIES];
    int n = gather(w, fields, true, false, all, 0);
    ek__stream_object(w->s, "properties", true);
    for (int i = 0; i < n; i++) {
        const ek__member *f = all[i].field;
        ek__kind kind = f->kind == EK__KIND_BY_WORD ? f->each : f->kind;
        bool version = strcmp(f->key, "version") == 0 && f->kind == EK__KIND_COUNT;
        ek__stream_object(w->s, f->key, false);
        write_description(w->s, f->about, ek__kind_unit(kind));
        if (version)
            ek__stream_text(w->s, "type", "integer");
        else
            write_value(w, f, all[i].maybe_null);
        ek__stream_end(w->s);
    }
    ek__stream_end(w->s);
    ek__stream_list(w->s, "required", false);
    for (int i = 0; i < n; i++)
        if (all[i].always)
            ek__stream_text(w->s, NULL, all[i].field->key);
    ek__stream_end(w->s);
    ek__stream_bool(w->s, "additionalProperties", false);
}
/* NOLINTEND(misc-no-recursion) */

/* ---- the document ---- */

static void write_definition(walk *w, const char *name, const ek__fields *fields)
{
    ek__stream_object(w->s, name, true);
    write_description(w->s, fields->about, NULL);
    ek__stream_text(w->s, "type", "object");
    write_fields(w, fields);
    ek__stream_end(w->s);
}

/* Definitions that these need come after them. */
static void write_definitions(walk *w)
{
    char name[MAX_NAME];
    for (int i = 0; i < w->n; i++) {
        definition_name(w->defined[i], name);
        write_definition(w, name, w->defined[i]);
    }
}

static const ek__fields *inner_fields(const ek__schema *schema)
{
    for (int i = 0; i < schema->fields->n; i++) {
        const ek__member *f = &schema->fields->field[i];
        if (f->key && strcmp(f->key, schema->inner) == 0)
            return f->fields;
    }
    assert(!"a list of the result");
    return NULL;
}

ek_status ek__schema_write(const ek__schema *schema, FILE *out, ek_error *err)
{
    char text[256];
    ek__stream s = {.out = out, .points = true};
    walk w = {.s = &s, .whole = schema->fields};
    ek__stream_object(&s, NULL, true);
    ek__stream_text(&s, "$schema", "https://json-schema.org/draft/2020-12/schema");
    snprintf(text, sizeof text, "urn:evenkeel:schema:1:%s", schema->name);
    ek__stream_text(&s, "$id", text);
    ek__stream_text(&s, "title", schema->title);
    snprintf(text, sizeof text, "Output of `%s`", schema->from);
    ek__stream_text(&s, "description", text);
    if (schema->shape == EK__SCHEMA_ONE) {
        ek__stream_text(&s, "type", "object");
        write_fields(&w, schema->fields);
        ek__stream_object(&s, "$defs", true);
    } else if (schema->shape == EK__SCHEMA_ONE_OR_LIST) {
        ek__stream_raw(&s, "oneOf",
                       "[{\"$ref\": \"#/$defs/answer\"}, "
                       "{\"type\": \"array\", \"items\": {\"$ref\": \"#/$defs/answer\"}}]");
        ek__stream_object(&s, "$defs", true);
        write_definition(&w, "answer", schema->fields);
    } else {
        w.without = schema->inner;
        ek__stream_list(&s, "oneOf", false);
        ek__stream_raw(&s, NULL, "{\"$ref\": \"#/$defs/first_line\"}");
        ek__stream_object(&s, NULL, false);
        write_reference(&w, inner_fields(schema));
        ek__stream_end(&s);
        ek__stream_end(&s);
        ek__stream_object(&s, "$defs", true);
        write_definition(&w, "first_line", schema->fields);
    }
    write_definitions(&w);
    ek__stream_end(&s);
    ek__stream_end(&s);
    fputc('\n', out);
    return ek__finish(out, err);
}
