/* Reads Python's tokens in one pass, by the rules of its reference manual: indentation, joined lines, strings of every
 * prefix. The text in an f-string's braces is returned as tokens, from a stack of the brackets and f-strings that are
 * open, so that a call there is found like any other. Not handled: tabs and blanks that Python would refuse as mixed,
 * and letters: every byte above 127 is one. */
#include <limits.h>
#include <stdint.h>
#include <string.h>

#include "base/python_tokens.h"

/* Something open: a bracket, or an f-string. */
typedef struct opened {
    int token;
    char closing;     /* of a bracket; '\0': an f-string */
    char quote;       /* of an f-string */
    bool triple, raw; /* of an f-string */
    bool field;       /* a bracket that is an f-string's brace */
    bool spec;        /* a field after its colon */
} opened;

typedef struct scanner {
    ek__python_text *out;
    const char *text;
    size_t size, at, line_start;
    size_t counted; /* bytes up to here are in `inner` */
    int inner;      /* bytes of this line up to there that begin no character */
    int line;
    int n_open, n_indents;
    opened open[EK__PYTHON_MAX_BRACKETS];
    int indent[EK__PYTHON_MAX_INDENTS];
    ek_error *err;
} scanner;

static ek_status fail_at(const scanner *s, int line, int column, const char *what)
{
    return ek__fail(s->err, EK_ERR_INPUT, ((ek_origin){s->out->name, line, column}), "%s", what);
}

/* In characters, as other readers count. */
static int column_of(const scanner *s)
{
    int inner = s->inner;
    for (size_t i = s->counted; i < s->at; i++)
        inner += ((unsigned char)s->text[i] & 0xC0) == 0x80;
    return (int)(s->at - s->line_start) - inner + 1;
}

static ek_status fail_here(const scanner *s, const char *what)
{
    return fail_at(s, s->line, column_of(s), what);
}

static char peek(const scanner *s, size_t ahead)
{
    return s->at + ahead < s->size ? s->text[s->at + ahead] : '\0';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (unsigned char)c >= 0x80;
}

static bool is_line_end(char c)
{
    return c == '\n' || c == '\r';
}

static ek_status add(scanner *s, ek__python_kind kind, size_t size)
{
    ek__python_text *p = s->out;
    ek__python_token *all = ek__pool_push(p->pool, p->token, p->n_tokens, sizeof *all);
    if (!all)
        return ek__no_memory(s->err);
    p->token = all;
    for (; s->counted < s->at; s->counted++)
        s->inner += ((unsigned char)s->text[s->counted] & 0xC0) == 0x80;
    all[p->n_tokens++] = (ek__python_token){.kind = kind,
                                            .at = (int)s->at,
                                            .size = (int)size,
                                            .line = s->line,
                                            .column = column_of(s),
                                            .partner = -1,
                                            .symbol = -1,
                                            .primary = -1};
    return EK_OK;
}

/* Over a line end: \n, \r\n or \r. */
static void skip_line_end(scanner *s)
{
    s->at += peek(s, 0) == '\r' && peek(s, 1) == '\n' ? 2 : 1;
    s->line++;
    s->line_start = s->counted = s->at;
    s->inner = 0;
}

/* Over one byte of a string, or its line end. */
static void skip_one(scanner *s)
{
    if (is_line_end(peek(s, 0)))
        skip_line_end(s);
    else
        s->at++;
}

/* ---- brackets and f-strings that are open ---- */

static opened *innermost(scanner *s)
{
    return s->n_open > 0 ? &s->open[s->n_open - 1] : NULL;
}

static ek_status push(scanner *s, opened what)
{
    if (s->n_open == EK__PYTHON_MAX_BRACKETS)
        return fail_here(s, "is the 201st bracket inside others; Python takes at most 200: split the expression");
    what.token = s->out->n_tokens - 1;
    s->open[s->n_open++] = what;
    return EK_OK;
}

static void close_innermost(scanner *s)
{
    int other = s->open[--s->n_open].token, here = s->out->n_tokens - 1;
    s->out->token[other].partner = here;
    s->out->token[here].partner = other;
}

static ek_status fail_unclosed(const scanner *s)
{
    const opened *o = &s->open[s->n_open - 1];
    const ek__python_token *t = &s->out->token[o->token];
    return ek__fail(s->err, EK_ERR_INPUT, ((ek_origin){s->out->name, t->line, t->column}),
                    o->closing ? "begins with %.*s and does not end; close it"
                               : "is a string that begins with %.*s and does not end; close it",
                    t->size, s->text + t->at);
}

/* ---- strings ---- */

typedef struct prefix {
    size_t length; /* letters */
    bool raw, formatted;
} prefix;

/* The prefix of a string at s->at; false: no string begins here. */
static bool string_begins(const scanner *s, prefix *out)
{
    *out = (prefix){0};
    bool bytes = false, plain = false;
    for (; out->length < 3; out->length++) {
        char c = (char)(peek(s, out->length) | 0x20);
        if (peek(s, out->length) == '"' || peek(s, out->length) == '\'')
            return true;
        if (c == 'r' && !out->raw && !plain)
            out->raw = true;
        else if ((c == 'f' || c == 't') && !out->formatted && !bytes && !plain)
            out->formatted = true;
        else if (c == 'b' && !bytes && !out->formatted && !plain)
            bytes = true;
        else if (c == 'u' && out->length == 0)
            plain = true;
        else
            return false;
    }
    return false;
}

static bool is_triple(const scanner *s, size_t ahead)
{
    char quote = peek(s, ahead);
    return peek(s, ahead + 1) == quote && peek(s, ahead + 2) == quote;
}

static ek_status read_string(scanner *s, size_t length)
{
    int token = s->out->n_tokens, line = s->line, column = column_of(s);
    ek_status status = add(s, EK__PYTHON_STRING, 0);
    if (status)
        return status;
    size_t begin = s->at;
    bool triple = is_triple(s, length);
    char quote = peek(s, length);
    s->at += length + (triple ? 3 : 1);
    for (;;) {
        char c = peek(s, 0);
        if (s->at >= s->size || (!triple && is_line_end(c)))
            return fail_at(s, line, column,
                           triple ? "is a string in three quotes that does not end; close it with three quotes"
                                  : "is a string that does not end in its line; close it, or use three quotes");
        if (c == quote && (!triple || is_triple(s, 0)))
            break;
        if (c == '\\' && s->at + 1 < s->size)
            s->at++;
        skip_one(s);
    }
    s->at += triple ? 3 : 1;
    s->out->token[token].size = (int)(s->at - begin);
    return EK_OK;
}

static ek_status open_fstring(scanner *s, prefix p)
{
    bool triple = is_triple(s, p.length);
    opened what = {.quote = peek(s, p.length), .triple = triple, .raw = p.raw};
    size_t size = p.length + (triple ? 3 : 1);
    ek_status status = add(s, EK__PYTHON_FSTRING_START, size);
    if (status == EK_OK)
        status = push(s, what);
    s->at += size;
    return status;
}

/* A backslash and its escaped characters. */
static void skip_escape(scanner *s, bool raw)
{
    char next = peek(s, 1);
    s->at++;
    if (next == '{' || next == '}')
        return; /* a brace is one even here */
    if (next == 'N' && !raw && peek(s, 1) == '{') {
        while (s->at < s->size && peek(s, 0) != '}' && !is_line_end(peek(s, 0)) && peek(s, 0) != '"' &&
               peek(s, 0) != '\'')
            s->at++;
        s->at += peek(s, 0) == '}';
        return;
    }
    if (s->at < s->size)
        skip_one(s);
}

/* The text of an f-string, or of a field's format, up to the next brace or the end. `format`: the latter. */
static ek_status read_middle(scanner *s, const opened *string, bool format)
{
    for (;;) {
        char c = peek(s, 0);
        if (s->at >= s->size || (!string->triple && is_line_end(c)))
            return fail_unclosed(s);
        if (c == string->quote && (!string->triple || is_triple(s, 0))) {
            if (format)
                return fail_unclosed(s);
            size_t size = string->triple ? 3 : 1;
            ek_status status = add(s, EK__PYTHON_FSTRING_END, size);
            if (status == EK_OK)
                close_innermost(s);
            s->at += size;
            return status;
        }
        bool doubled = !format && peek(s, 1) == c;
        if (c == '{' && !doubled) {
            ek_status status = add(s, EK__PYTHON_OPERATOR, 1);
            if (status == EK_OK)
                status = push(s, (opened){.closing = '}', .field = true});
            s->at++;
            return status;
        }
        if (c == '}' && format) {
            ek_status status = add(s, EK__PYTHON_OPERATOR, 1);
            if (status == EK_OK)
                close_innermost(s);
            s->at++;
            return status;
        }
        if (c == '\\')
            skip_escape(s, string->raw);
        else if ((c == '{' || c == '}') && doubled)
            s->at += 2;
        else
            skip_one(s);
    }
}

/* The f-string that the innermost field is in. */
static const opened *string_around(const scanner *s)
{
    for (int i = s->n_open - 1; i >= 0; i--)
        if (!s->open[i].closing)
            return &s->open[i];
    return NULL;
}

/* ---- numbers and names ---- */

static bool is_base_digit(char c, int base)
{
    char lower = (char)(c | 0x20);
    return base == 16 ? is_digit(c) || (lower >= 'a' && lower <= 'f') : c >= '0' && c < '0' + base;
}

/* Digits with single underscores between them, from `n` on. */
static size_t skip_digits(const scanner *s, size_t n, int base)
{
    while (is_base_digit(peek(s, n), base) || (peek(s, n) == '_' && is_base_digit(peek(s, n + 1), base)))
        n++;
    return n;
}

static size_t number_length(const scanner *s)
{
    char second = (char)(peek(s, 1) | 0x20);
    int base = peek(s, 0) != '0' ? 0 : second == 'x' ? 16 : second == 'o' ? 8 : second == 'b' ? 2 : 0;
    if (base && (is_base_digit(peek(s, 2), base) || (peek(s, 2) == '_' && is_base_digit(peek(s, 3), base))))
        return skip_digits(s, 2, base);
    size_t n = skip_digits(s, 0, 10);
    if (peek(s, n) == '.')
        n = is_digit(peek(s, n + 1)) ? skip_digits(s, n + 1, 10) : n + 1;
    if ((peek(s, n) | 0x20) == 'e') {
        size_t sign = peek(s, n + 1) == '+' || peek(s, n + 1) == '-';
        if (is_digit(peek(s, n + 1 + sign)))
            n = skip_digits(s, n + 1 + sign, 10);
    }
    return n + ((peek(s, n) | 0x20) == 'j');
}

static size_t name_length(const scanner *s)
{
    size_t n = 0;
    while (is_letter(peek(s, n)) || is_digit(peek(s, n)))
        n++;
    return n;
}

/* ---- operators ---- */

static size_t operator_length(const scanner *s)
{
    static const char *const three[] = {"**=", "//=", ">>=", "<<=", "...", NULL};
    static const char *const two[] = {"!=", "->", ":=", "+=", "-=", "*=", "/=", "%=", "&=", "|=",
                                      "^=", "@=", "==", "<=", ">=", "<<", ">>", "**", "//", NULL};
    for (int i = 0; three[i]; i++)
        if (s->size - s->at >= 3 && memcmp(s->text + s->at, three[i], 3) == 0)
            return 3;
    for (int i = 0; two[i]; i++)
        if (s->size - s->at >= 2 && memcmp(s->text + s->at, two[i], 2) == 0)
            return 2;
    return 1;
}

static ek_status read_operator(scanner *s)
{
    opened *inner = innermost(s);
    char c = peek(s, 0);
    size_t size = operator_length(s);
    if (inner && inner->field && c == ':')
        size = 1; /* a walrus needs brackets here */
    if (!strchr("()[]{}+-*/%&|^~<>=!.,:;@", c)) {
        char what[96];
        bool shown = (unsigned char)c >= 0x20 && (unsigned char)c < 0x7f;
        return ek__fail(s->err, EK_ERR_INPUT, ((ek_origin){s->out->name, s->line, column_of(s)}),
                        "is %s, which no Python program has here; is this a Python program?",
                        shown ? (what[0] = '\'', what[1] = c, what[2] = '\'', what[3] = '\0', what)
                              : "a byte that cannot be printed");
    }
    bool closes = c == ')' || c == ']' || c == '}';
    if (closes && (!inner || inner->closing != c))
        return fail_here(s, inner && inner->closing ? "closes a bracket of another kind" : "closes no bracket");
    ek_status status = add(s, EK__PYTHON_OPERATOR, size);
    if (status)
        return status;
    if (closes)
        close_innermost(s);
    else if (c == '(' || c == '[' || c == '{')
        status = push(s, (opened){.closing = (char)(c == '(' ? ')' : c == '[' ? ']' : '}')});
    else if (inner && inner->field && c == ':')
        inner->spec = true;
    s->at += size;
    return status;
}

/* ---- lines ---- */

static ek_status indent_to(scanner *s, int column)
{
    ek_status status = EK_OK;
    int now = s->n_indents > 0 ? s->indent[s->n_indents - 1] : 0;
    if (column > now) {
        if (s->n_indents == EK__PYTHON_MAX_INDENTS)
            return fail_here(s, "is indented for the 101st time; Python takes at most 100 levels");
        s->indent[s->n_indents++] = column;
        return add(s, EK__PYTHON_INDENT, 0);
    }
    while (status == EK_OK && s->n_indents > 0 && s->indent[s->n_indents - 1] > column) {
        s->n_indents--;
        status = add(s, EK__PYTHON_DEDENT, 0);
    }
    now = s->n_indents > 0 ? s->indent[s->n_indents - 1] : 0;
    if (status == EK_OK && now != column)
        return fail_here(s, "is indented like no line above that it could follow; indent it like one of them");
    return status;
}

static void skip_comment(scanner *s)
{
    while (s->at < s->size && !is_line_end(peek(s, 0)))
        s->at++;
}

/* Blanks at a line's start, and lines without a token; then the indentation of the first one with some. */
static ek_status begin_line(scanner *s)
{
    int column = 0;
    while (s->at < s->size) {
        char c = peek(s, 0);
        if (c == ' ')
            column++;
        else if (c == '\t')
            column = (column / 8 + 1) * 8;
        else if (c == '\f')
            column = 0;
        else
            break;
        s->at++;
    }
    if (peek(s, 0) == '#')
        skip_comment(s);
    if (s->at >= s->size)
        return EK_OK;
    if (is_line_end(peek(s, 0))) {
        skip_line_end(s);
        return EK_OK;
    }
    if (peek(s, 0) == '\\' && is_line_end(peek(s, 1)))
        return EK_OK; /* joined to the next line; its indentation is ignored */
    return indent_to(s, column);
}

/* One token, or the text between tokens. */
static ek_status read_one(scanner *s)
{
    opened *inner = innermost(s);
    if (inner && (!inner->closing || inner->spec)) {
        const opened *string = string_around(s);
        return read_middle(s, string, inner->spec);
    }
    char c = peek(s, 0);
    prefix p;
    if (c == ' ' || c == '\t' || c == '\f') {
        s->at++;
    } else if (c == '#') {
        skip_comment(s);
    } else if (is_line_end(c)) {
        ek_status status = s->n_open == 0 ? add(s, EK__PYTHON_NEWLINE, 1) : EK_OK;
        skip_line_end(s);
        return status;
    } else if (c == '\\') {
        s->at++;
        if (!is_line_end(peek(s, 0)))
            return fail_here(s, "follows a backslash, which must be the last character of its line");
        skip_line_end(s);
    } else if (string_begins(s, &p)) {
        return p.formatted ? open_fstring(s, p) : read_string(s, p.length);
    } else if (is_digit(c) || (c == '.' && is_digit(peek(s, 1)))) {
        size_t n = number_length(s);
        ek_status status = add(s, EK__PYTHON_NUMBER, n);
        s->at += n;
        return status;
    } else if (is_letter(c)) {
        size_t n = name_length(s);
        ek_status status = add(s, EK__PYTHON_NAME, n);
        s->at += n;
        return status;
    } else {
        return read_operator(s);
    }
    return EK_OK;
}

/* Is nothing of a logical line read yet? */
static bool at_start(const scanner *s)
{
    const ek__python_text *p = s->out;
    if (p->n_tokens == 0)
        return true;
    ek__python_kind last = p->token[p->n_tokens - 1].kind;
    return last == EK__PYTHON_NEWLINE;
}

static ek_status finish(scanner *s)
{
    if (s->n_open > 0)
        return fail_unclosed(s);
    ek_status status = at_start(s) ? EK_OK : add(s, EK__PYTHON_NEWLINE, 0);
    for (; status == EK_OK && s->n_indents > 0; s->n_indents--)
        status = add(s, EK__PYTHON_DEDENT, 0);
    return status ? status : add(s, EK__PYTHON_END, 0);
}

static ek_status refuse_nul(scanner *s, const char *nul)
{
    while (s->text + s->at < nul)
        skip_one(s);
    return fail_here(s, "is a NUL byte, which no Python program has; is this a text file?");
}

ek_status ek__python_tokens(ek__python_text *python, size_t size, ek_error *err)
{
    scanner s = {.out = python, .text = python->text, .size = size, .line = 1, .err = err};
    if (size > EK__PYTHON_MAX_BYTES)
        return fail_at(&s, 0, 0, "is larger than 2 MiB, too large for a program; give the part that trains");
    const char *nul = memchr(python->text, '\0', size);
    if (nul)
        return refuse_nul(&s, nul);
    if (size >= 3 && memcmp(python->text, "\xef\xbb\xbf", 3) == 0)
        s.at = s.line_start = s.counted = 3;
    ek_status status = EK_OK;
    size_t joined = SIZE_MAX; /* where a line begins that is joined to the one before */
    while (status == EK_OK && s.at < s.size) {
        size_t before = s.at;
        bool fresh = s.n_open == 0 && at_start(&s) && s.at == s.line_start && s.at != joined;
        if (fresh)
            status = begin_line(&s);
        if (status == EK_OK && s.at == before)
            status = read_one(&s);
        if (s.at > before && s.at == s.line_start && s.text[before] == '\\')
            joined = s.at;
    }
    return status ? status : finish(&s);
}

bool ek__python_text_is(const ek__python_text *python, int token, const char *text)
{
    if (token < 0 || token >= python->n_tokens)
        return false;
    const ek__python_token *t = &python->token[token];
    return (size_t)t->size == strlen(text) && memcmp(python->text + t->at, text, (size_t)t->size) == 0;
}
