/* Splits a launch script into words in one pass, with the shell's rules as far as training scripts use them. A value
 * that depends on running something stays unknown, which is an error only when the value is used. A quoted text with
 * arguments inside is split too, since scripts store arguments in variables and expand them unquoted later. */
#include "job/arguments.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "job/branches.h"
#include "job/slurm.h"

/* Which bytes end a word, and whether line ends and comments count. */
typedef enum scan_mode { IN_SHELL, IN_ARRAY, IN_TEXT, IN_LIST } scan_mode;

enum { MAX_DEFAULTS = 32 }; /* nested ${..:-..}; deeper ones have no value */

typedef struct scanner {
    const char *path, *text;
    size_t size, at;
    int line, column, group, owner, n_defaults;
    scan_mode mode;
    bool from_word_start; /* at the start of a statement, where NAME= is an assignment */
    bool decides;         /* skip branches that are not run */
    ek__branches *branches;
    ek__words out;
    ek_error *err;
} scanner;

/* A word under construction. */
typedef struct word_text {
    char text[EK__ARGUMENTS_MAX_WORD];
    size_t n;
    const char *unknown, *twice;
    bool too_long, quoted;
    int line, column;
    size_t at;
} word_text;

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\0';
}

static bool is_name_start(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static char peek(const scanner *s, size_t ahead)
{
    return s->at + ahead < s->size ? s->text[s->at + ahead] : '\n';
}

static void advance(scanner *s, size_t n)
{
    for (; n > 0 && s->at < s->size; n--) {
        s->column += ((unsigned char)s->text[s->at] & 0xC0) != 0x80; /* characters, not bytes of UTF-8 */
        if (s->text[s->at++] == '\n') {
            s->line++;
            s->column = 1;
        }
    }
}

static ek_status fail_here(const scanner *s, int line, int column, const char *what)
{
    return ek__fail(s->err, EK_ERR_INPUT, ((ek_origin){s->path, line, column}), "%s", what);
}

/* ---- variables ---- */

size_t ek__name_length(const char *text, size_t size)
{
    size_t n = 0;
    while (n < size && (is_name_start(text[n]) || (n > 0 && is_digit(text[n]))))
        n++;
    return n;
}

int ek__words_find(const ek__words *words, const char *name, size_t n)
{
    for (int i = words->n_variables - 1; i >= 0; i--)
        if (strncmp(words->variable[i].name, name, n) == 0 && words->variable[i].name[n] == '\0')
            return i;
    return -1;
}

const ek__variable *ek__words_variable(const ek__words *words, const char *name)
{
    int i = ek__words_find(words, name, strlen(name));
    return i < 0 ? NULL : &words->variable[i];
}

/* The variable of a name, made if absent. */
static ek_status read_variable(scanner *s, const char *name, size_t n, int *out)
{
    *out = ek__words_find(&s->out, name, n);
    if (*out >= 0)
        return EK_OK;
    if (s->out.n_variables == EK__ARGUMENTS_MAX_VARIABLES)
        return fail_here(s, s->line, s->column, "is the 1001st variable; at most 1000 are read: shorten the script");
    ek__variable *all = ek__pool_push(s->out.pool, s->out.variable, s->out.n_variables, sizeof *all);
    if (!all)
        return ek__no_memory(s->err);
    s->out.variable = all;
    char *copy = ek__pool_text(s->out.pool, name, n);
    if (!copy)
        return ek__no_memory(s->err);
    all[s->out.n_variables] = (ek__variable){.name = copy};
    *out = s->out.n_variables++;
    return EK_OK;
}

/* ---- building words ---- */

static void add(word_text *w, const char *text, size_t n)
{
    if (n >= sizeof w->text - w->n) {
        w->too_long = true;
        return;
    }
    memcpy(w->text + w->n, text, n);
    w->n += n;
}

/* Record the text that could not be substituted. */
static ek_status write_unknown(scanner *s, word_text *w, const char *text, size_t n)
{
    if (w->unknown)
        return EK_OK;
    w->unknown = ek__pool_text(s->out.pool, text, n < 60 ? n : 60);
    return w->unknown ? EK_OK : ek__no_memory(s->err);
}

static ek_status write_variable(scanner *s, word_text *w, int variable, const char *shown, size_t n_shown)
{
    ek__variable *v = variable < 0 ? NULL : &s->out.variable[variable];
    if (v && variable != s->owner && !s->branches->skip)
        v->referred = true;
    if (!v || !v->value)
        return write_unknown(s, w, v && v->unknown ? v->unknown : shown,
                             v && v->unknown ? strlen(v->unknown) : n_shown);
    if (v->twice)
        w->twice = v->name;
    add(w, v->value, strlen(v->value));
    return EK_OK;
}

/* Bytes up to the bracket that closes the one at `open`; `size` if there is none. */
static size_t closing(const char *text, size_t size, size_t open, char opening, char ending)
{
    int depth = 0;
    for (size_t i = open; i < size; i++) {
        depth += text[i] == opening;
        depth -= text[i] == ending;
        if (depth == 0)
            return i;
    }
    return size;
}

/* ---- substitution ---- */

/* $((...)), `length` bytes from s->at. */
static ek_status write_arithmetic(scanner *s, word_text *w, size_t length)
{
    const char *begin = s->text + s->at;
    ek__arithmetic sum = ek__arithmetic_of(&s->out, begin + 3, length - 5);
    if (sum.unknown) {
        char shown[64];
        snprintf(shown, sizeof shown, "$%.*s", (int)(sum.n_unknown < 60 ? sum.n_unknown : 60), sum.unknown);
        return write_unknown(s, w, shown, strlen(shown));
    }
    if (!sum.known)
        return write_unknown(s, w, begin, length);
    char text[24];
    int n = snprintf(text, sizeof text, "%lld", (long long)sum.value);
    add(w, text, (size_t)n);
    if (sum.twice)
        w->twice = "a variable in it";
    return EK_OK;
}

static ek_status write_dollar(scanner *s, word_text *w);
static ek_status write_backticks(scanner *s, word_text *w);
static void write_escaped(scanner *s, word_text *w);

/* VALUE of ${NAME:-VALUE}, which has its own quotes and variables. */
static ek_status write_default(const scanner *s, word_text *w, const char *text, size_t n)
{
    scanner inner = *s;
    ek_status status = EK_OK;
    inner.text = text;
    inner.size = n;
    inner.at = 0;
    if (inner.n_defaults++ == MAX_DEFAULTS)
        return write_unknown(&inner, w, text, n);
    while (status == EK_OK && inner.at < n) {
        char c = text[inner.at];
        if (c == '$') {
            status = write_dollar(&inner, w);
        } else if (c == '`') {
            status = write_backticks(&inner, w);
        } else if (c == '\\') {
            write_escaped(&inner, w);
        } else {
            if (c != '"' && c != '\'')
                add(w, &c, 1);
            advance(&inner, 1);
        }
    }
    return status;
}

/* ${...}, `length` bytes from s->at. */
static ek_status write_braced(scanner *s, word_text *w, size_t length)
{
    const char *begin = s->text + s->at, *inside = begin + 2;
    size_t n_inside = length - 3, n = ek__name_length(inside, n_inside);
    int variable = n > 0 ? ek__words_find(&s->out, inside, n) : -1;
    while (variable < 0 && n < n_inside && is_digit(inside[n])) /* an argument of the script, which is unknown */
        n++;
    const char *rest = inside + n;
    size_t n_rest = n_inside - n;
    size_t skip = n_rest >= 2 && rest[0] == ':' && rest[1] == '-' ? 2 : n_rest >= 1 && rest[0] == '-' ? 1 : 0;
    bool known = variable >= 0 && s->out.variable[variable].value;
    if (n > 0 && (n_rest == 0 || (skip && known)))
        return write_variable(s, w, variable, begin, length);
    bool assigned = variable >= 0 && s->out.variable[variable].line > 0;
    if (n > 0 && skip && !assigned)
        return write_default(s, w, rest + skip, n_rest - skip);
    if (variable >= 0 && variable != s->owner && !s->branches->skip)
        s->out.variable[variable].referred = true;
    return write_unknown(s, w, begin, length);
}

/* A substitution that begins with '$'. */
static ek_status write_dollar(scanner *s, word_text *w)
{
    const char *begin = s->text + s->at;
    size_t rest = s->size - s->at, length = 1;
    ek_status status = EK_OK;
    if (peek(s, 1) == '{') {
        length = closing(begin, rest, 1, '{', '}') + 1;
        if (length > rest)
            return fail_here(s, s->line, s->column, "begins with ${ and does not end; close it with }");
        status = write_braced(s, w, length);
    } else if (peek(s, 1) == '(') {
        length = closing(begin, rest, 1, '(', ')') + 1;
        if (length > rest)
            return fail_here(s, s->line, s->column, "begins with $( and does not end; close it with )");
        bool arithmetic = length >= 5 && begin[2] == '(' && begin[length - 2] == ')';
        status = arithmetic ? write_arithmetic(s, w, length) : write_unknown(s, w, begin, length);
    } else if (is_name_start(peek(s, 1))) {
        length = 1 + ek__name_length(begin + 1, rest - 1);
        status = write_variable(s, w, ek__words_find(&s->out, begin + 1, length - 1), begin, length);
    } else if (strchr("@*#?!-$0123456789", peek(s, 1)) && peek(s, 1)) {
        length = 2;
        status = write_unknown(s, w, begin, length);
    } else {
        add(w, "$", 1);
    }
    advance(s, length);
    return status;
}

/* `...`, which is a command's output. */
static ek_status write_backticks(scanner *s, word_text *w)
{
    const char *begin = s->text + s->at;
    const char *end = s->at + 1 < s->size ? memchr(begin + 1, '`', s->size - s->at - 1) : NULL;
    if (!end)
        return fail_here(s, s->line, s->column, "begins with ` and does not end; close it with `");
    size_t length = (size_t)(end - begin) + 1;
    ek_status status = write_unknown(s, w, begin, length);
    advance(s, length);
    return status;
}

/* ---- quotes ---- */

static ek_status write_single_quoted(scanner *s, word_text *w)
{
    int line = s->line, column = s->column;
    const char *begin = s->text + s->at + 1;
    const char *end = memchr(begin, '\'', s->size - s->at - 1);
    if (!end)
        return fail_here(s, line, column, "begins with ' and does not end; close it with '");
    add(w, begin, (size_t)(end - begin));
    advance(s, (size_t)(end - begin) + 2);
    w->quoted = true;
    return EK_OK;
}

/* Skip a backslash and add the escaped character. */
static void write_escaped(scanner *s, word_text *w)
{
    size_t end = peek(s, 1) == '\r' && peek(s, 2) == '\n' ? 3 : 2;
    if (end == 2 && peek(s, 1) != '\n' && s->at + 1 < s->size)
        add(w, s->text + s->at + 1, 1);
    advance(s, end);
}

static ek_status write_double_quoted(scanner *s, word_text *w)
{
    int line = s->line, column = s->column;
    ek_status status = EK_OK;
    w->quoted = true;
    advance(s, 1);
    while (status == EK_OK && s->at < s->size && s->text[s->at] != '"') {
        char c = s->text[s->at];
        if (c == '\\') {
            write_escaped(s, w);
        } else if (c == '$') {
            status = write_dollar(s, w);
        } else if (c == '`') {
            status = write_backticks(s, w);
        } else {
            add(w, &c, 1);
            advance(s, 1);
        }
    }
    if (status == EK_OK && s->at == s->size)
        return fail_here(s, line, column, "begins with \" and does not end; close it with \"");
    advance(s, 1);
    return status;
}

/* Are there arguments inside the quotes at s->at? */
static bool quotes_arguments(const scanner *s)
{
    char quote = s->text[s->at];
    bool blank_before = true, inside = false, blank = false;
    for (size_t i = s->at + 1; i < s->size && s->text[i] != quote; i++) {
        char c = s->text[i];
        inside = inside || (blank_before && c == '-' && i + 1 < s->size && s->text[i + 1] == '-');
        blank_before = is_blank(c) || c == '\n';
        blank = blank || blank_before;
        i += c == '\\';
    }
    return inside && blank;
}

/* ---- words ---- */

static bool ends_word(const scanner *s, char c)
{
    if (is_blank(c) || c == '\n')
        return true;
    if (s->mode == IN_TEXT)
        return false; /* the region ends before its quote */
    if (s->mode == IN_LIST)
        return false;
    return strchr(";|&()<>", c) != NULL;
}

/* Read the word at s->at to its end. */
static ek_status read_word(scanner *s, word_text *w)
{
    ek_status status = EK_OK;
    while (status == EK_OK && s->at < s->size && !ends_word(s, s->text[s->at])) {
        char c = s->text[s->at];
        bool nested = s->mode == IN_TEXT;
        if (c == '\\' && nested && (peek(s, 1) == '"' || peek(s, 1) == '\'')) {
            advance(s, 2);
        } else if (c == '\\') {
            write_escaped(s, w);
        } else if ((c == '\'' || c == '"') && nested) {
            advance(s, 1);
        } else if (c == '\'') {
            status = write_single_quoted(s, w);
        } else if (c == '"') {
            status = write_double_quoted(s, w);
        } else if (c == '$') {
            status = write_dollar(s, w);
        } else if (c == '`') {
            status = write_backticks(s, w);
        } else {
            add(w, &c, 1);
            advance(s, 1);
        }
    }
    return status;
}

static const char *why_unknown(const word_text *w)
{
    return w->unknown ? w->unknown : w->too_long ? "a word of more than 1023 bytes" : NULL;
}

static ek_status add_word(scanner *s, const word_text *w)
{
    if (s->branches->skip)
        return EK_OK;
    ek__word *all = ek__pool_push(s->out.pool, s->out.word, s->out.n, sizeof *all);
    if (!all)
        return ek__no_memory(s->err);
    s->out.word = all;
    const char *text = ek__pool_text(s->out.pool, w->text, w->n);
    if (!text)
        return ek__no_memory(s->err);
    all[s->out.n++] = (ek__word){.text = text,
                                 .line = w->line,
                                 .column = w->column,
                                 .at = w->at,
                                 .end = s->at < s->size ? s->at : s->size,
                                 .in_text = s->mode == IN_TEXT,
                                 .group = s->group,
                                 .owner = s->owner,
                                 .unknown = why_unknown(w),
                                 .twice = w->twice};
    return EK_OK;
}

static ek_status scan(scanner *s);

/* Words between s->at and `end` as their own group; then continue after `end`. */
static ek_status scan_region(scanner *s, size_t end, scan_mode mode, int owner)
{
    scanner inner = *s;
    inner.size = end;
    inner.mode = mode;
    inner.owner = owner;
    inner.group++;
    inner.from_word_start = false;
    ek_status status = scan(&inner);
    s->out = inner.out;
    s->group = inner.group + 1;
    s->line = inner.line;
    s->column = inner.column;
    s->at = end;
    advance(s, 1);
    return status;
}

/* The quote that ends the one at s->at; s->size if there is none. */
static size_t closing_quote(const scanner *s)
{
    char quote = s->text[s->at];
    for (size_t i = s->at + 1; i < s->size; i++) {
        if (s->text[i] == quote)
            return i;
        i += s->text[i] == '\\' && quote == '"';
    }
    return s->size;
}

static ek_status scan_quoted(scanner *s, int owner)
{
    size_t end = closing_quote(s);
    if (end == s->size)
        return fail_here(s, s->line, s->column, "is a quote that does not end; close it");
    advance(s, 1);
    return scan_region(s, end, IN_TEXT, owner);
}

/* The parenthesis that ends an array with its words from s->at on, quotes and comments skipped. */
static size_t closing_array(const scanner *s)
{
    int depth = 1;
    for (size_t i = s->at; i < s->size; i++) {
        char c = s->text[i];
        if (c == '"' || c == '\'') {
            scanner quote = {.text = s->text, .size = s->size, .at = i};
            i = closing_quote(&quote);
        } else if (c == '#' && (is_blank(s->text[i - 1]) || s->text[i - 1] == '\n')) {
            while (i + 1 < s->size && s->text[i + 1] != '\n')
                i++;
        } else if (c == '\\') {
            i++;
        } else {
            depth += c == '(';
            depth -= c == ')';
        }
        if (depth == 0)
            return i;
    }
    return s->size;
}

static ek_status assign(scanner *s, int variable, const word_text *w)
{
    assert(s->out.variable && variable >= 0);
    ek__variable *v = &s->out.variable[variable];
    const char *value = NULL;
    if (!why_unknown(w) && !(value = ek__pool_text(s->out.pool, w->text, w->n)))
        return ek__no_memory(s->err);
    v->twice = v->twice || w->twice || (v->line > 0 && (!value || !v->value || strcmp(v->value, value) != 0));
    v->value = value;
    v->unknown = why_unknown(w);
    v->line = w->line;
    v->column = w->column;
    return EK_OK;
}

/* NAME= or NAME+= at s->at: its length with the sign, otherwise 0. */
static size_t assignment_length(const scanner *s)
{
    size_t n = ek__name_length(s->text + s->at, s->size - s->at);
    if (n > 0 && peek(s, n) == '=' && peek(s, n + 1) != '=')
        return n + 1;
    return n > 0 && peek(s, n) == '+' && peek(s, n + 1) == '=' ? n + 2 : 0;
}

/* The value of NAME= or NAME+= at s->at, `length` bytes with the sign. */
static ek_status read_value(scanner *s, size_t length, int variable)
{
    word_text w = {.line = s->line, .column = s->column};
    bool added = s->text[s->at + length - 2] == '+';
    advance(s, length);
    char c = peek(s, 0);
    bool quoted = (c == '"' || c == '\'') && s->at < s->size;
    if (c == '(' || (quoted && quotes_arguments(s))) {
        assert(s->out.variable);
        w.unknown = s->out.variable[variable].name;
        ek_status status = assign(s, variable, &w);
        if (status)
            return status;
        s->out.variable[variable].unknown = NULL;
        if (quoted)
            return scan_quoted(s, variable);
        advance(s, 1);
        size_t end = closing_array(s);
        if (end == s->size)
            return fail_here(s, w.line, w.column, "is an array that does not end; close it with )");
        return scan_region(s, end, IN_ARRAY, variable);
    }
    ek_status status = read_word(s, &w);
    if (status == EK_OK && added)
        status = write_unknown(s, &w, "+=", 2);
    return status ? status : assign(s, variable, &w);
}

static ek_status read_assignment(scanner *s, size_t length)
{
    size_t n = length - 1 - (s->text[s->at + length - 2] == '+');
    ek__assignment a = {.line = s->line, .column = s->column, .at = s->at, .group = s->group, .n_words = s->out.n};
    ek_status status = read_variable(s, s->text + s->at, n, &a.variable);
    if (status == EK_OK)
        status = read_value(s, length, a.variable);
    ek__assignment *all =
        status ? NULL : ek__pool_push(s->out.pool, s->out.assignment, s->out.n_assignments, sizeof *all);
    if (!all)
        return status ? status : ek__no_memory(s->err);
    a.end = s->at < s->size ? s->at : s->size;
    a.value = s->out.variable[a.variable].value;
    s->out.assignment = all;
    all[s->out.n_assignments++] = a;
    return EK_OK;
}

static bool introduces_assignment(const word_text *w)
{
    static const char *const words[] = {"export", "local", "declare", "readonly", "then", "else", "do", "{", NULL};
    for (int i = 0; words[i]; i++)
        if (w->n == strlen(words[i]) && memcmp(w->text, words[i], w->n) == 0)
            return true;
    return false;
}

/* Pass a statement's first word to the branches, and add it: `if` and `elif` before its condition, the others after it.
 */
static ek_status first_word(scanner *s, const word_text *w, size_t begin)
{
    char text[8];
    bool fits = w->n < sizeof text;
    memcpy(text, w->text, fits ? w->n : 0);
    text[fits ? w->n : 0] = '\0';
    bool asks = strcmp(text, "if") == 0 || strcmp(text, "elif") == 0;
    ek_status status = asks ? add_word(s, w) : EK_OK;
    if (status == EK_OK && s->decides)
        ek__branches_word(s->branches, text, &s->out, s->text, begin);
    return status || asks || w->n == 0 ? status : add_word(s, w);
}

static ek_status scan_word(scanner *s)
{
    size_t begin = s->at, length = s->mode == IN_SHELL && s->from_word_start ? assignment_length(s) : 0;
    if (length > 0 && !s->branches->skip)
        return read_assignment(s, length);
    if ((s->text[s->at] == '"' || s->text[s->at] == '\'') && s->mode != IN_TEXT && quotes_arguments(s))
        return scan_quoted(s, s->owner);
    word_text w = {.line = s->line, .column = s->column, .at = begin};
    ek_status status = read_word(s, &w);
    if (status == EK_OK && s->mode == IN_SHELL && s->from_word_start && !w.quoted && !w.unknown && s->owner < 0)
        status = first_word(s, &w, begin);
    else if (status == EK_OK && (w.n > 0 || w.quoted || w.unknown || w.too_long || w.twice))
        status = add_word(s, &w);
    s->from_word_start = s->from_word_start && introduces_assignment(&w);
    return status;
}

/* A comment. If Slurm reads it (#SBATCH), a script started by Slurm finds its variables set. */
static ek_status skip_comment(scanner *s)
{
    ek__slurm_setting setting[EK__SLURM_MAX_SETTINGS];
    const char *begin = s->text + s->at, *end = memchr(begin, '\n', s->size - s->at);
    size_t n = end ? (size_t)(end - begin) : s->size - s->at;
    int found = s->decides && s->mode == IN_SHELL ? ek__slurm_settings(begin, n, setting) : 0;
    for (int i = 0; i < found; i++) {
        word_text w = {.line = s->line, .column = s->column};
        int variable;
        add(&w, setting[i].value, strlen(setting[i].value));
        ek_status status = read_variable(s, setting[i].variable, strlen(setting[i].variable), &variable);
        if (status == EK_OK)
            status = assign(s, variable, &w);
        if (status)
            return status;
        s->out.variable[variable].comment_at = s->at + setting[i].at;
    }
    advance(s, n);
    return EK_OK;
}

static ek_status scan(scanner *s)
{
    ek_status status = EK_OK;
    while (status == EK_OK && s->at < s->size) {
        char c = s->text[s->at];
        bool start =
            s->at == 0 || is_blank(s->text[s->at - 1]) || s->text[s->at - 1] == '\n' || s->text[s->at - 1] == ';';
        if (c == '#' && start && s->mode != IN_TEXT) {
            status = skip_comment(s);
        } else if (c == '\n' || (s->mode == IN_SHELL && ends_word(s, c) && !is_blank(c))) {
            s->group += s->mode == IN_SHELL;
            s->from_word_start = true;
            advance(s, 1);
        } else if (ends_word(s, c)) {
            advance(s, 1);
        } else if (c == '\\' && (peek(s, 1) == '\n' || (peek(s, 1) == '\r' && peek(s, 2) == '\n'))) {
            advance(s, peek(s, 1) == '\n' ? 2 : 3);
        } else {
            status = scan_word(s);
        }
    }
    return status;
}

/* Does the text begin with an argument, so that it is a plain list? */
static bool is_list(const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (text[i] == '#')
            while (i + 1 < size && text[i + 1] != '\n')
                i++;
        else if (!is_blank(text[i]) && text[i] != '\n' && text[i] != '"' && text[i] != '\'')
            return text[i] == '-';
    }
    return false;
}

ek_status ek__words_read(const char *path, const char *text, size_t size, ek__branching branching, ek__words *out,
                         ek_error *err)
{
    ek__branches branches = {.n = 0};
    scanner s = {.path = path,
                 .text = text,
                 .size = size,
                 .line = 1,
                 .column = 1,
                 .owner = -1,
                 .decides = branching == EK__DECIDED_BRANCHES,
                 .branches = &branches,
                 .err = err};
    if (size > EK__ARGUMENTS_MAX_BYTES)
        return fail_here(&s, 0, 0,
                         "is larger than 1 MiB, too large for a script; give the one that starts the training");
    s.out.pool = ek__pool_new();
    if (!s.out.pool)
        return ek__no_memory(err);
    s.out.list = is_list(text, size);
    s.mode = s.out.list ? IN_LIST : IN_SHELL;
    s.from_word_start = true;
    ek_status status = scan(&s);
    if (status)
        ek__pool_free(s.out.pool);
    else
        *out = s.out;
    return status;
}

void ek__words_clear(ek__words *words)
{
    ek__pool_free(words->pool);
    *words = (ek__words){0};
}
