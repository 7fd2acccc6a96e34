/* A script's settings and commands, from the words that job/arguments.c splits it into: a walk over words and
 * assignments in the order of the text, with the conditions that are open. Here-documents are blanked first, so that
 * their lines are no commands. Whether a condition holds is not known, and branches are not distinguished: settings in
 * one are "maybe". */
#include "lint/shell.h"

#include <stdlib.h>
#include <string.h>

#include "job/arguments.h"

/* ---- here-documents ---- */

enum { MAX_PENDING = 8, MAX_DELIMITER = 64 };

typedef struct here_document {
    char delimiter[MAX_DELIMITER];
    bool tabs; /* <<-: tabs before the delimiter do not count */
} here_document;

typedef struct blanker {
    char *text;
    size_t size, at;
    int n_pending;
    here_document pending[MAX_PENDING];
} blanker;

static char look(const blanker *b, size_t ahead)
{
    return b->at + ahead < b->size ? b->text[b->at + ahead] : '\0';
}

static void skip_quoted(blanker *b)
{
    char quote = look(b, 0);
    for (b->at++; b->at < b->size && look(b, 0) != quote; b->at++)
        b->at += look(b, 0) == '\\' && quote == '"';
    b->at++;
}

/* `<<`: note the delimiter of the document. */
static void note_document(blanker *b)
{
    here_document d = {.tabs = look(b, 2) == '-'};
    b->at += d.tabs ? 3 : 2;
    while (look(b, 0) == ' ' || look(b, 0) == '\t')
        b->at++;
    size_t n = 0;
    char quote = '\0';
    for (; b->at < b->size && look(b, 0) != '\n' && (quote || !strchr(" \t\r;|&()<>", look(b, 0))); b->at++) {
        char c = look(b, 0);
        if (c == quote || (!quote && (c == '\'' || c == '"')))
            quote = quote ? '\0' : c;
        else if (n + 1 < MAX_DELIMITER && c != '\\')
            d.delimiter[n++] = c;
    }
    if (n > 0 && b->n_pending < MAX_PENDING)
        b->pending[b->n_pending++] = d;
}

/* The line at b->at: is it the delimiter? Blanks it, and moves to its end. */
static bool blank_line(blanker *b, const here_document *d)
{
    const char *line = b->text + b->at, *newline = memchr(line, '\n', b->size - b->at);
    size_t n = newline ? (size_t)(newline - line) : b->size - b->at, skip = 0, end = n;
    while (d->tabs && skip < n && line[skip] == '\t')
        skip++;
    end -= end > skip && line[end - 1] == '\r';
    bool found = end - skip == strlen(d->delimiter) && memcmp(line + skip, d->delimiter, end - skip) == 0;
    memset(b->text + b->at, ' ', n);
    b->at += n + (newline != NULL);
    return found;
}

static void blank_documents(blanker *b)
{
    while (b->at < b->size) {
        char c = look(b, 0), before = b->at > 0 ? b->text[b->at - 1] : '\n';
        if (c == '\\') {
            b->at += 2;
        } else if (c == '\'' || c == '"') {
            skip_quoted(b);
        } else if (c == '#' && strchr(" \t\n;", before)) {
            while (b->at < b->size && look(b, 0) != '\n')
                b->at++;
        } else if (c == '(' && look(b, 1) == '(') { /* a shift in $((..)) is no document */
            while (b->at < b->size && look(b, 0) != '\n' && !(look(b, 0) == ')' && look(b, 1) == ')'))
                b->at++;
        } else if (c == '<' && look(b, 1) == '<' && look(b, 2) == '<') {
            b->at += 3;
        } else if (c == '<' && look(b, 1) == '<') {
            note_document(b);
        } else if (c == '\n') {
            b->at++;
            for (int i = 0; i < b->n_pending; i++)
                while (b->at < b->size && !blank_line(b, &b->pending[i]))
                    continue;
            b->n_pending = 0;
        } else {
            b->at++;
        }
    }
}

static int count_characters(const char *text, size_t size)
{
    int n = 0;
    for (size_t i = 0; i < size; i++)
        n += ((unsigned char)text[i] & 0xC0) != 0x80;
    return n;
}

/* ---- words and assignments ---- */

typedef struct walker {
    ek__shell *out;
    ek__pool *pool;
    const char *text;
    const ek__words *words;
    bool *exported; /* [n_variables] by `export NAME` */
    bool all;       /* set -a */
    int conditions; /* open */
    ek_error *err;
} walker;

static bool is_one_of(const char *text, const char *const *words)
{
    for (int i = 0; words[i]; i++)
        if (strcmp(text, words[i]) == 0)
            return true;
    return false;
}

/* Does `&&` or `||` precede the statement that the byte at `at` is in? */
static bool is_chained(const char *text, size_t at)
{
    enum { FAR = 256 };
    size_t stop = at > FAR ? at - FAR : 0;
    for (size_t i = at; i-- > stop;) {
        if (text[i] == '\n' && !(i > 0 && text[i - 1] == '\\'))
            return false;
        if (strchr(";({", text[i]) && text[i])
            return false;
        if (text[i] == '&' || text[i] == '|')
            return i > 0 && text[i - 1] == text[i];
    }
    return false;
}

static ek_status add(const walker *w, ek__lint_setting setting, const char *name, size_t n, const char *value)
{
    ek__lint_settings *out = &w->out->environment;
    if (out->n == EK__SETTINGS_MAX)
        return EK_OK;
    ek__lint_setting *all = ek__pool_push(w->pool, out->setting, out->n, sizeof *all);
    setting.name = ek__pool_text(w->pool, name, n);
    setting.value = value ? ek__pool_text(w->pool, value, strlen(value)) : NULL;
    if (!all || !setting.name || (value && !setting.value))
        return ek__no_memory(w->err);
    out->setting = all;
    all[out->n++] = setting;
    return EK_OK;
}

/* Is `export` the statement's word before the assignment? */
static bool is_exporting(const walker *w, const ek__assignment *a)
{
    if (a->n_words == 0)
        return false;
    const ek__word *before = &w->words->word[a->n_words - 1];
    return before->group == a->group && strcmp(before->text, "export") == 0;
}

/* Is it for a command that follows in its statement? */
static bool is_for_command(const walker *w, const ek__assignment *a)
{
    return a->n_words < w->words->n && w->words->word[a->n_words].group == a->group;
}

static ek_status write_assignment(walker *w, const ek__assignment *a)
{
    const ek__variable *v = &w->words->variable[a->variable];
    const char *raw = w->text + a->at;
    int column = a->column;
    size_t size = a->end - a->at, n = strlen(v->name), behind = n + 1;
    bool one_line = !memchr(raw, '\n', size);
    bool quoted = behind < size && (raw[behind] == '"' || raw[behind] == '\'');
    size_t n_value = a->value ? strlen(a->value) : 0, begin = behind + quoted;
    bool as_is = a->value && count_characters(raw, size) == (int)size && begin + n_value + quoted == size &&
                 memcmp(raw + begin, a->value, n_value) == 0;
    bool fallback = size > behind + quoted + n + 3 && memcmp(raw + behind + quoted, "${", 2) == 0 &&
                    memcmp(raw + behind + quoted + 2, v->name, n) == 0;
    return add(w,
               (ek__lint_setting){.line = a->line,
                                  .column = column,
                                  .end_column = one_line ? column + count_characters(raw, size) : 0,
                                  .value_column = as_is && one_line ? column + (int)begin : 0,
                                  .maybe = w->conditions > 0 || is_chained(w->text, a->at),
                                  .fallback = fallback,
                                  .one_command = !is_exporting(w, a) && is_for_command(w, a),
                                  .exported = w->all || is_exporting(w, a) || is_for_command(w, a)},
               v->name, n, a->value);
}

/* NAME=VALUE as an argument: of env, declare -x, mpirun -x. */
static ek_status write_word(walker *w, const ek__word *word, bool one_command)
{
    const char *sign = strchr(word->text, '=');
    size_t n = ek__name_length(word->text, strlen(word->text));
    if (!sign || n == 0 || word->text + n != sign)
        return EK_OK;
    return add(w,
               (ek__lint_setting){.line = word->line,
                                  .column = word->column,
                                  .maybe = w->conditions > 0,
                                  .one_command = one_command,
                                  .exported = true},
               word->text, n, word->unknown ? NULL : sign + 1);
}

static void drop_names(const walker *w, const char *name)
{
    for (int i = 0; w->conditions == 0 && i < w->out->environment.n; i++)
        if (strcmp(w->out->environment.setting[i].name, name) == 0)
            w->out->environment.setting[i].unset = true;
}

/* The variables that a command sets. */
static ek_status read_command(walker *w, const ek__word *word, int n)
{
    static const char *const declaring[] = {"env", "export", "declare", "typeset", NULL};
    static const char *const launching[] = {"mpirun", "mpiexec", "horovodrun", NULL};
    ek_status status = EK_OK;
    const char *program = word[0].text;
    if (strcmp(program, "set") == 0 && n > 1)
        w->all = strcmp(word[1].text, "-a") == 0 || (n > 2 && strcmp(word[2].text, "allexport") == 0) || w->all;
    for (int i = 1; status == EK_OK && i < n; i++) {
        int variable = ek__words_find(w->words, word[i].text, strlen(word[i].text));
        if (strcmp(program, "unset") == 0)
            drop_names(w, word[i].text);
        else if (strcmp(program, "export") == 0 && variable >= 0)
            w->exported[variable] = true;
        else if (is_one_of(program, declaring) ||
                 (is_one_of(program, launching) && strcmp(word[i - 1].text, "-x") == 0))
            status = write_word(w, &word[i], !is_one_of(program, declaring) || strcmp(program, "env") == 0);
    }
    return status;
}

static ek_status write_command(walker *w, int first, int n)
{
    static const char *const quiet[] = {"export", "declare", "typeset", "local", "readonly", "unset",
                                        "set",    "source",  ".",       "shopt", "ulimit",   NULL};
    ek__shell *out = w->out;
    ek__command *all = ek__pool_push(w->pool, out->command, out->n_commands, sizeof *all);
    if (!all)
        return ek__no_memory(w->err);
    const ek__word *word = &w->words->word[first];
    out->command = all;
    all[out->n_commands++] = (ek__command){first, n, word->line, w->conditions > 0};
    out->runs = out->runs || !is_one_of(word->text, quiet);
    return read_command(w, word, n);
}

/* The words of a statement from `first` on: keywords, then a command. Returns how many words there are. */
static ek_status read_statement(walker *w, int first, int *n_out)
{
    static const char *const opening[] = {"if", "case", NULL}, *const closing[] = {"fi", "esac", NULL};
    static const char *const before[] = {"if", "then", "elif", "else", "do", "{", "!", "while", "until", "time", NULL};
    static const char *const loops[] = {"for", "select", "case", "function", "done", "}", "fi", "esac", NULL};
    const ek__words *words = w->words;
    int n = 1;
    while (first + n < words->n && words->word[first + n].group == words->word[first].group &&
           words->word[first + n].owner < 0)
        n++;
    *n_out = n;
    int i = first, end = first + n;
    for (bool keyword = true; i < end && keyword;) {
        const char *text = words->word[i].text;
        w->conditions += is_one_of(text, opening);
        w->conditions -= w->conditions > 0 && is_one_of(text, closing);
        if (is_one_of(text, loops)) {
            w->out->runs = true;
            return EK_OK;
        }
        keyword = is_one_of(text, before);
        w->out->runs = w->out->runs || keyword;
        i += keyword;
    }
    return i < end ? write_command(w, i, end - i) : EK_OK;
}

static ek_status walk(walker *w)
{
    const ek__words *words = w->words;
    ek_status status = EK_OK;
    int a = 0;
    for (int i = 0, n; status == EK_OK && i < words->n; i += n) {
        for (; status == EK_OK && a < words->n_assignments && words->assignment[a].n_words <= i; a++)
            status = write_assignment(w, &words->assignment[a]);
        n = 1;
        if (status == EK_OK && words->word[i].owner < 0)
            status = read_statement(w, i, &n);
    }
    for (; status == EK_OK && a < words->n_assignments; a++)
        status = write_assignment(w, &words->assignment[a]);
    return status;
}

/* Plain assignments reach programs where their names are exported elsewhere, or where the file is there to be read by
 * something that does. */
static void finish_settings(const walker *w)
{
    for (int i = 0; i < w->out->environment.n; i++) {
        ek__lint_setting *s = &w->out->environment.setting[i];
        int variable = ek__words_find(w->words, s->name, strlen(s->name));
        s->exported = s->exported || !w->out->runs || (variable >= 0 && w->exported[variable]);
    }
}

static ek_status copy_words(walker *w)
{
    ek__shell *out = w->out;
    out->word = ek__pool_alloc(w->pool, (size_t)w->words->n, sizeof *out->word);
    if (!out->word)
        return ek__no_memory(w->err);
    for (out->n_words = 0; out->n_words < w->words->n; out->n_words++) {
        const ek__word *word = &w->words->word[out->n_words];
        const char *text = ek__pool_text(w->pool, word->text, strlen(word->text));
        if (!text)
            return ek__no_memory(w->err);
        out->word[out->n_words] = (ek__shell_word){text, word->line, word->column, !word->unknown};
    }
    return EK_OK;
}

ek_status ek__shell_read(const char *name, const char *text, size_t size, ek__pool *pool, ek__shell **out,
                         ek_error *err)
{
    ek__words words = {0};
    const char *nul = memchr(text, '\0', size);
    if (nul) {
        int line = 1;
        for (const char *c = text; c < nul; c++)
            line += *c == '\n';
        return ek__fail(err, EK_ERR_INPUT, ((ek_origin){name, line, 1}),
                        "has a NUL byte, which no shell script has; is this a text file?");
    }
    ek__shell *shell = ek__pool_alloc(pool, 1, sizeof *shell);
    blanker b = {.text = ek__alloc(size + 1, 1), .size = size};
    if (!shell || !b.text) {
        free(b.text);
        return ek__no_memory(err);
    }
    memcpy(b.text, text, size);
    blank_documents(&b);
    ek_status status = ek__words_read(name, b.text, size, EK__ALL_BRANCHES, &words, err);
    if (status == EK_OK) {
        walker w = {.out = shell, .pool = pool, .text = b.text, .words = &words, .err = err};
        w.exported = ek__pool_alloc(pool, (size_t)words.n_variables, sizeof *w.exported);
        status = w.exported ? walk(&w) : ek__no_memory(err);
        if (status == EK_OK)
            status = copy_words(&w);
        if (status == EK_OK)
            finish_settings(&w);
        ek__words_clear(&words);
    }
    free(b.text);
    if (status == EK_OK)
        *out = shell;
    return status;
}

static const char *find_argument(const ek__shell *shell, const char *name, bool *given)
{
    size_t n = strlen(name);
    const char *value = NULL;
    *given = false;
    for (int i = 0; i < shell->n_words; i++) { /* the last one counts */
        const char *text = shell->word[i].text;
        if (strncmp(text, name, n) != 0 || (text[n] != '\0' && text[n] != '='))
            continue;
        *given = true;
        value = text[n] == '=' ? text + n + 1 : i + 1 < shell->n_words ? shell->word[i + 1].text : NULL;
    }
    return value;
}

const char *ek__shell_argument(const ek__shell *shell, const char *name)
{
    bool given;
    return find_argument(shell, name, &given);
}

bool ek__shell_has(const ek__shell *shell, const char *name)
{
    bool given;
    find_argument(shell, name, &given);
    return given;
}
