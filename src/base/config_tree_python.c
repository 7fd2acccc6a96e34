/* Reads assignments of a Python program as a document. The statements are found first, with the tokens of their values;
 * values are then written into the tree from there, so that a name is looked up where it is used. */
#include "base/config_tree_python.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/c_locale.h"
#include "base/config_tree_build.h"
#include "base/python_tokens.h"

/* NAME = value, tokens [begin, end). */
typedef struct assigned {
    int name;
    int begin, end;
    bool unknown; /* under a condition, in a loop, or together with others */
} assigned;

typedef struct reader {
    ek__python_text p;
    ek__config_builder tree;
    int n;
    assigned *all; /* by place */
    int n_references, depth;
    int n_worked_out; /* operands of numbers, so that names of names of names end */
    ek_error *err;
} reader;

/* Position of an expression. */
typedef struct range {
    int begin, end;
} range;

#define RUN_TIME_VALUE "a value that is known only at run time"

static bool is(const reader *r, int token, const char *text)
{
    return ek__python_text_is(&r->p, token, text);
}

static bool is_kind(const reader *r, int token, ek__python_kind kind)
{
    return token < r->p.n_tokens && r->p.token[token].kind == kind;
}

static bool same_text(const reader *r, int a, int b)
{
    const ek__python_token *s = &r->p.token[a], *t = &r->p.token[b];
    return s->size == t->size && memcmp(r->p.text + s->at, r->p.text + t->at, (size_t)s->size) == 0;
}

static ek__mark mark_of(const reader *r, int token)
{
    const ek__python_token *t = &r->p.token[token];
    return (ek__mark){t->line, t->column, t->at};
}

static int end_of(const reader *r, int token)
{
    return r->p.token[token].at + r->p.token[token].size;
}

/* The next token of the same depth: of a bracket or an f-string, after its other end. */
static int after(const reader *r, int token)
{
    int partner = r->p.token[token].partner;
    return partner > token ? partner + 1 : token + 1;
}

/* The first such token within a range that is `text`; its end: none is. */
static int find(const reader *r, range in, const char *text)
{
    int at = in.begin;
    while (at < in.end && !is(r, at, text))
        at = after(r, at);
    return at < in.end ? at : in.end;
}

/* ---- statements ---- */

/* The last assignment of a name above a token, -1: none. */
static int lookup(const reader *r, int name, int before)
{
    for (int i = r->n - 1; i >= 0; i--)
        if (r->all[i].name < before && same_text(r, r->all[i].name, name))
            return i;
    return -1;
}

static ek_status add(reader *r, assigned a)
{
    assigned *all = ek__pool_push(r->p.pool, r->all, r->n, sizeof *all);
    if (!all)
        return ek__no_memory(r->err);
    r->all = all;
    all[r->n++] = a;
    return EK_OK;
}

static bool is_augmented(const reader *r, int token)
{
    static const char *const signs[] = {"+=", "-=", "*=", "/=", "//=", "%=", "**=", "|="};
    bool any = false;
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
        any = any || is(r, token, signs[i]);
    return any;
}

/* A simple statement, [s.begin, s.end). */
static ek_status read_statement(reader *r, range s, bool conditional)
{
    int name = s.begin, sign = find(r, s, "=");
    if (!is_kind(r, name, EK__PYTHON_NAME) || s.end - s.begin < 2)
        return EK_OK;
    bool plain = is(r, name + 1, "=") || (is(r, name + 1, ":") && sign < s.end);
    if (plain) {
        range value = {sign + 1, s.end};
        bool chain = find(r, value, "=") < s.end;
        return add(r, (assigned){name, value.begin, value.end, conditional || chain});
    }
    if (is_augmented(r, name + 1))
        return add(r, (assigned){name, s.begin, s.end, true});
    bool changes = (is(r, name + 1, "[") && sign < s.end) || (is(r, name + 1, ".") && s.end > name + 3);
    if (changes && lookup(r, name, name) >= 0)
        return ek__config_fail(
            &r->tree, mark_of(r, name),
            "a value is changed after its assignment, which is not supported; write it in the assignment");
    return EK_OK;
}

/* From a header to the end of its block. */
static int skip_block(const reader *r, int at)
{
    int depth = 0;
    while (!is_kind(r, at, EK__PYTHON_NEWLINE) && !is_kind(r, at, EK__PYTHON_END))
        at = after(r, at);
    if (!is_kind(r, at, EK__PYTHON_NEWLINE) || !is_kind(r, at + 1, EK__PYTHON_INDENT))
        return at;
    for (at++; !is_kind(r, at, EK__PYTHON_END); at++) {
        depth += is_kind(r, at, EK__PYTHON_INDENT);
        depth -= is_kind(r, at, EK__PYTHON_DEDENT);
        if (depth == 0)
            return at + 1;
    }
    return at;
}

static ek_status find_statements(reader *r)
{
    int depth = 0;
    ek_status status = EK_OK;
    for (int at = 0; status == EK_OK && !is_kind(r, at, EK__PYTHON_END);) {
        ek__python_kind kind = r->p.token[at].kind;
        if (kind == EK__PYTHON_NEWLINE || kind == EK__PYTHON_INDENT || kind == EK__PYTHON_DEDENT || is(r, at, ";")) {
            depth += kind == EK__PYTHON_INDENT;
            depth -= kind == EK__PYTHON_DEDENT;
            at++;
            continue;
        }
        if (is(r, at, "def") || is(r, at, "class") || is(r, at, "async")) {
            at = skip_block(r, at);
            continue;
        }
        range s = {at, at};
        while (!is_kind(r, s.end, EK__PYTHON_NEWLINE) && !is_kind(r, s.end, EK__PYTHON_END) && !is(r, s.end, ";"))
            s.end = after(r, s.end);
        status = read_statement(r, s, depth > 0);
        at = s.end;
    }
    return status;
}

/* ---- value of an expression ---- */

/* Without brackets around it, other than a tuple's. */
static range bare(const reader *r, range e)
{
    while (e.end - e.begin > 2 && is(r, e.begin, "(") && r->p.token[e.begin].partner == e.end - 1 &&
           find(r, (range){e.begin + 1, e.end - 1}, ",") == e.end - 1)
        e = (range){e.begin + 1, e.end - 1};
    return e;
}

/* The arguments of dict(...) or the inside of {...}; false: it is neither. */
static bool is_map(const reader *r, range e, range *inside)
{
    bool call = is(r, e.begin, "dict") && is(r, e.begin + 1, "(");
    int open = e.begin + call;
    if (e.end - open < 2 || (!call && !is(r, open, "{")) || r->p.token[open].partner != e.end - 1)
        return false;
    *inside = (range){open + 1, e.end - 1};
    /* comprehensions, and sets, are worked out by a run */
    return find(r, *inside, "for") == inside->end &&
           (call || inside->begin == inside->end || find(r, *inside, ":") < inside->end);
}

/* The next entry of a map: its key's token, -1 where it is unknown, and its value. *at moves past it. */
static int next_entry(const reader *r, range inside, int *at, range *value)
{
    int begin = *at, end = find(r, (range){begin, inside.end}, ",");
    *at = end + 1;
    bool named = is_kind(r, begin, EK__PYTHON_NAME) && is(r, begin + 1, "=");
    bool quoted = is_kind(r, begin, EK__PYTHON_STRING) && is(r, begin + 1, ":");
    *value = (range){begin + 2, end};
    return (named || quoted) && end > begin + 2 ? begin : -1;
}

/* Bytes of a string token inside of its quotes. */
static void inside_of(const reader *r, int token, const char **text, size_t *size)
{
    const ek__python_token *t = &r->p.token[token];
    const char *c = r->p.text + t->at;
    size_t prefix = strcspn(c, "\"'");
    size_t quotes = (size_t)t->size >= prefix + 6 && c[prefix + 1] == c[prefix] && c[prefix + 2] == c[prefix] ? 3 : 1;
    *text = c + prefix + quotes;
    *size = (size_t)t->size - prefix - 2 * quotes;
}

static void key_text(const reader *r, int token, const char **text, size_t *size)
{
    if (is_kind(r, token, EK__PYTHON_STRING)) {
        inside_of(r, token, text, size);
        return;
    }
    *text = r->p.text + r->p.token[token].at;
    *size = (size_t)r->p.token[token].size;
}

/* The value of a name, or of NAME["key"]["key"]; e itself where it is neither or not known. */
static range resolve(const reader *r, range e)
{
    e = bare(r, e);
    if (!is_kind(r, e.begin, EK__PYTHON_NAME))
        return e;
    int i = lookup(r, e.begin, e.begin);
    if (i < 0 || r->all[i].unknown)
        return e;
    range to = bare(r, (range){r->all[i].begin, r->all[i].end});
    for (int at = e.begin + 1; at < e.end; at += 3) {
        range inside, value, found = {-1, -1};
        if (!is(r, at, "[") || !is_kind(r, at + 1, EK__PYTHON_STRING) || !is(r, at + 2, "]") || !is_map(r, to, &inside))
            return e;
        const char *wanted, *key;
        size_t n_wanted, n_key;
        inside_of(r, at + 1, &wanted, &n_wanted);
        for (int entry = inside.begin; entry < inside.end;) {
            int token = next_entry(r, inside, &entry, &value);
            if (token < 0)
                continue;
            key_text(r, token, &key, &n_key);
            if (n_key == n_wanted && memcmp(key, wanted, n_key) == 0)
                found = value;
        }
        if (found.begin < 0)
            return e;
        to = bare(r, found);
    }
    return to;
}

/* ---- numbers ---- */

typedef struct number {
    bool known, whole;
    double value;
} number;

static number sum(reader *r, range e);

static number literal(const reader *r, int token)
{
    const ek__python_token *t = &r->p.token[token];
    number out = {.known = false};
    char text[64];
    size_t n = 0;
    for (int i = 0; i < t->size; i++)
        if (r->p.text[t->at + i] != '_' && n + 1 < sizeof text)
            text[n++] = r->p.text[t->at + i];
    text[n] = '\0';
    out.known = text[strspn(text, "0123456789.eE+-")] == '\0' && ek__text_is_number(text, &out.value);
    out.whole = out.known && text[strspn(text, "0123456789")] == '\0';
    return out;
}

/* A number, a name of one, int(...) and float(...), an expression in brackets. */
static number atom(reader *r, range e)
{
    number out = {.known = false};
    range inside = bare(r, e);
    if (inside.begin != e.begin)
        return sum(r, inside);
    if (e.end - e.begin == 1 && is_kind(r, e.begin, EK__PYTHON_NUMBER))
        return literal(r, e.begin);
    bool whole = is(r, e.begin, "int"), broken = is(r, e.begin, "float");
    if ((whole || broken) && is(r, e.begin + 1, "(") && r->p.token[e.begin + 1].partner == e.end - 1) {
        out = sum(r, (range){e.begin + 2, e.end - 1});
        out.value = whole ? trunc(out.value) : out.value;
        out.whole = whole;
        return out;
    }
    range to = resolve(r, e);
    if (to.begin == e.begin || r->n_references >= EK__PYTHON_MAX_REFERENCES)
        return out;
    r->n_references++;
    out = sum(r, to);
    r->n_references--;
    return out;
}

static number power(reader *r, range e)
{
    int sign = find(r, e, "**");
    if (sign == e.end)
        return atom(r, e);
    number base = atom(r, (range){e.begin, sign}), to = atom(r, (range){sign + 1, e.end});
    double value = pow(base.value, to.value);
    return (number){base.known && to.known && isfinite(value), base.whole && to.whole && to.value >= 0, value};
}

static number apply(number a, char sign, bool twice, number b)
{
    double value = sign == '+'   ? a.value + b.value
                   : sign == '-' ? a.value - b.value
                   : sign == '*' ? a.value * b.value
                   : sign == '%' ? a.value - b.value * floor(a.value / b.value)
                                 : a.value / b.value;
    bool whole = a.whole && b.whole && (sign != '/' || twice);
    value = twice ? floor(value) : value;
    return (number){a.known && b.known && isfinite(value), whole, value};
}

/* Operands between signs of one of two levels, from the left. */
static number chain(reader *r, range e, const char *signs, number (*operand)(reader *r, range e))
{
    number all = {.known = true, .whole = true};
    char before = '\0';
    bool twice = false;
    for (int at = e.begin, begin = e.begin; at <= e.end; at = at < e.end ? after(r, at) : e.end + 1) {
        const ek__python_token *t = &r->p.token[at];
        char c = r->p.text[t->at];
        bool sign = at < e.end && t->kind == EK__PYTHON_OPERATOR && t->size <= 2 && strchr(signs, c) &&
                    (t->size == 1 || is(r, at, "//")) && at > begin;
        if (sign && strchr("+-", c) && r->p.token[at - 1].kind == EK__PYTHON_OPERATOR && !is(r, at - 1, ")") &&
            !is(r, at - 1, "]"))
            sign = false; /* of the operand: 2 * -3 */
        if (!sign && at < e.end)
            continue;
        number next = operand(r, (range){begin, at});
        all = before ? apply(all, before, twice, next) : next;
        before = c;
        twice = at < e.end && t->size == 2;
        begin = at + 1;
    }
    return all;
}

static number signed_power(reader *r, range e)
{
    bool minus = false;
    for (; e.begin < e.end && (is(r, e.begin, "-") || is(r, e.begin, "+")); e.begin++)
        minus = minus != is(r, e.begin, "-");
    number out = e.begin < e.end ? power(r, e) : (number){.known = false};
    out.value = minus ? -out.value : out.value;
    return out;
}

static number product(reader *r, range e)
{
    return chain(r, e, "*/%", signed_power);
}

static number sum(reader *r, range e)
{
    enum { MAX_DEPTH = 64, MAX_OPERANDS = 100000 };
    number out = {.known = false};
    if (e.begin >= e.end || r->depth == MAX_DEPTH || r->n_worked_out++ > MAX_OPERANDS)
        return out;
    r->depth++;
    out = chain(r, e, "+-", product);
    r->depth--;
    return out;
}

/* ---- into the tree ---- */

static ek_status put(reader *r, range e);

static ek_status put_text(reader *r, range e, const char *text, size_t size, bool quoted)
{
    const char *kept = NULL;
    ek__node *node;
    ek__mark at = mark_of(r, e.begin);
    ek_status status = ek__config_text(&r->tree, at, text, size, &kept);
    return status ? status : ek__config_add_scalar(&r->tree, kept, quoted, at, end_of(r, e.end - 1), &node);
}

static ek_status put_string(reader *r, range e)
{
    char *all = ek__pool_alloc(r->p.pool, (size_t)(end_of(r, e.end - 1) - r->p.token[e.begin].at) + 1, 1);
    size_t n = 0;
    if (!all)
        return ek__no_memory(r->err);
    for (int i = e.begin; i < e.end; i++) {
        const char *text;
        size_t size;
        inside_of(r, i, &text, &size);
        memcpy(all + n, text, size);
        n += size;
    }
    return put_text(r, e, all, n, true);
}

static bool is_string(const reader *r, range e)
{
    bool all = e.begin < e.end;
    for (int i = e.begin; i < e.end && all; i++)
        all = is_kind(r, i, EK__PYTHON_STRING);
    return all;
}

static ek_status put_scalar(reader *r, range e)
{
    static const char *const words[][2] = {{"True", "true"}, {"False", "false"}, {"None", "null"}};
    char text[40];
    if (is_string(r, e))
        return put_string(r, e);
    for (int i = 0; i < 3 && e.end - e.begin == 1; i++)
        if (is(r, e.begin, words[i][0]))
            return put_text(r, e, words[i][1], strlen(words[i][1]), false);
    number value = sum(r, e);
    if (!value.known || fabs(value.value) > 1e15) { /* unchanged, as text */
        int begin = r->p.token[e.begin].at, size = end_of(r, e.end - 1) - begin;
        const char *source = r->p.text + begin;
        bool digits = size > 0 && strchr("0123456789.", *source);
        return put_text(r, e, source, (size_t)(size < 200 ? size : 200), digits);
    }
    if (value.whole)
        ek__snprintf(text, sizeof text, "%.0f", value.value);
    else
        ek__snprintf(text, sizeof text, "%.17g", value.value);
    return put_text(r, e, text, strlen(text), false);
}

static ek_status put_map(reader *r, range e, range inside)
{
    ek__node *node;
    ek_status status = ek__config_open(&r->tree, EK__MAP, true, mark_of(r, e.begin), &node);
    for (int at = inside.begin; at < inside.end && status == EK_OK;) {
        range value;
        const char *text, *key = NULL;
        size_t size;
        int token = next_entry(r, inside, &at, &value);
        if (token < 0)
            continue; /* **NAME, a comma at the end */
        key_text(r, token, &text, &size);
        status = ek__config_text(&r->tree, mark_of(r, token), text, size, &key);
        if (status)
            break;
        ek__config_key(&r->tree, key, mark_of(r, token), end_of(r, token));
        status = put(r, value);
    }
    return status ? status : ek__config_close(&r->tree, end_of(r, e.end - 1));
}

static ek_status put_list(reader *r, range e)
{
    ek__node *node;
    ek_status status = ek__config_open(&r->tree, EK__LIST, true, mark_of(r, e.begin), &node);
    for (int at = e.begin + 1; at < e.end - 1 && status == EK_OK;) {
        int end = find(r, (range){at, e.end - 1}, ",");
        if (end > at)
            status = put(r, (range){at, end});
        at = end + 1;
    }
    return status ? status : ek__config_close(&r->tree, end_of(r, e.end - 1));
}

static ek_status put(reader *r, range e)
{
    range inside, to = resolve(r, e);
    e = bare(r, e);
    bool referred = to.begin != e.begin;
    if (e.begin >= e.end)
        return ek__config_fail(&r->tree, mark_of(r, e.begin), "a value is missing");
    if (referred && r->n_references < EK__PYTHON_MAX_REFERENCES) {
        r->n_references++;
        ek_status status = put(r, to);
        r->n_references--;
        return status;
    }
    if (is_map(r, e, &inside))
        return put_map(r, e, inside);
    bool list = (is(r, e.begin, "[") || is(r, e.begin, "(")) && r->p.token[e.begin].partner == e.end - 1 &&
                find(r, (range){e.begin + 1, e.end - 1}, "for") == e.end - 1;
    return list ? put_list(r, e) : put_scalar(r, e);
}

static ek_status put_statements(reader *r)
{
    ek_status status = EK_OK;
    for (int i = 0; i < r->n && status == EK_OK; i++) {
        const assigned *a = &r->all[i];
        const ek__python_token *t = &r->p.token[a->name];
        const char *key = NULL;
        if (lookup(r, a->name, r->p.n_tokens) != i)
            continue; /* assigned again */
        status = ek__config_text(&r->tree, mark_of(r, a->name), r->p.text + t->at, (size_t)t->size, &key);
        if (status)
            break;
        ek__config_key(&r->tree, key, mark_of(r, a->name), end_of(r, a->name));
        if (!a->unknown) {
            status = put(r, (range){a->begin, a->end});
            continue;
        }
        status = put_text(r, (range){a->name, a->name + 1}, RUN_TIME_VALUE, sizeof RUN_TIME_VALUE - 1, true);
    }
    return status;
}

static ek_status build(reader *r, size_t size)
{
    ek__node *root;
    ek_status status = ek__python_tokens(&r->p, size, r->err);
    if (status == EK_OK)
        status = find_statements(r);
    if (status == EK_OK)
        status = ek__config_open(&r->tree, EK__MAP, false, (ek__mark){1, 1, 0}, &root);
    if (status == EK_OK)
        status = put_statements(r);
    return status ? status : ek__config_close(&r->tree, (int)size);
}

ek_status ek__config_parse_python(const char *name, const char *text, size_t size, ek__config_tree **out, ek_error *err)
{
    ek_status status = ek__config_check_text(name, (const unsigned char *)text, size, "Python", err);
    if (status)
        return status;
    reader r = {.p = {.pool = ek__pool_new(), .name = name, .text = text}, .err = err};
    status = r.p.pool ? ek__config_begin(name, err, &r.tree) : ek__no_memory(err);
    if (status == EK_OK) {
        status = build(&r, size);
        if (status == EK_OK)
            *out = r.tree.doc;
        else
            ek__config_free(r.tree.doc);
    }
    ek__pool_free(r.p.pool);
    return status;
}
