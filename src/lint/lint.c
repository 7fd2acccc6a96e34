/* The engine of the linter: files are read one after another, then every entry of every table that is wanted looks at
 * every file of its kinds, and what it reports is put in order. Rules know nothing of one another; an entry may look at
 * the other files of the run, which is how a launch script's environment counts for
 * the program that it starts. */
#include "evenkeel/lint.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "lint/comments.h"
#include "lint/read.h"

enum { MAX_FILES = 100000, EXCERPT = 160, MESSAGE = 1200 };

const char *const ek_lint_level_name[3] = {"note", "warning", "error"};
const char *const ek_lint_kind_name[EK_N_LINT_KINDS] = {"yaml", "shell", "python", "toml"};

/* A finding while the run goes on. */
struct ek__lint_found {
    ek_lint_finding about;
    int file;
    bool suppressed;
};

#define POINT(name) ek__lint_##name,
static const ek__lint_entry *const tables[] = {EK__LINT_TABLES(POINT)};
#undef POINT
enum { N_TABLES = sizeof tables / sizeof *tables };

ek_lint_options ek_lint_options_default(void)
{
    return (ek_lint_options){.least = EK_LINT_NOTE, .kind = -1};
}

/* ---- rules ---- */

int ek_lint_rules(const ek_lint_rule *out[EK_MAX_LINT_RULES])
{
    int n = 0;
    for (int t = 0; t < N_TABLES; t++)
        for (const ek__lint_entry *e = tables[t]; e->about.id && n < EK_MAX_LINT_RULES; e++) {
            int at = n++;
            for (; at > 0 && strcmp(out[at - 1]->id, e->about.id) > 0; at--)
                out[at] = out[at - 1];
            out[at] = &e->about;
        }
    return n;
}

const ek_lint_rule *ek_lint_rule_find(const char *id)
{
    for (int t = 0; t < N_TABLES; t++)
        for (const ek__lint_entry *e = tables[t]; e->about.id; e++)
            if (strcmp(e->about.id, id) == 0)
                return &e->about;
    return NULL;
}

const char *ek__lint_nearest(const char *id)
{
    const ek_lint_rule *rules[EK_MAX_LINT_RULES];
    int n = ek_lint_rules(rules);
    const char *best = NULL;
    size_t least = strlen(id) / 3 + 2;
    for (int i = 0; i < n; i++) {
        size_t distance = ek__edit_distance(id, rules[i]->id);
        if (distance < least) {
            least = distance;
            best = rules[i]->id;
        }
    }
    return best;
}

static ek_status check_ids(const char *const *ids, int n, ek_error *err)
{
    for (int i = 0; i < n; i++) {
        const char *near = ek_lint_rule_find(ids[i]) ? ids[i] : ek__lint_nearest(ids[i]);
        if (near != ids[i])
            return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "no rule is called '%.80s'%s%s%s", ids[i],
                            near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
    }
    return EK_OK;
}

static bool is_in(const char *id, const char *const *ids, int n)
{
    for (int i = 0; i < n; i++)
        if (strcmp(ids[i], id) == 0)
            return true;
    return false;
}

static bool is_wanted(const ek_lint_rule *rule, const ek_lint_options *options)
{
    return rule->level >= options->least && !is_in(rule->id, options->off, options->n_off) &&
           (options->n_only == 0 || is_in(rule->id, options->only, options->n_only));
}

/* ---- findings ---- */

/* Where the line of the last finding begins: findings come in the order of lines, so a file is gone through once. */
typedef struct line_cursor {
    const ek__lint_file *file;
    int line;
    const char *start, *end; /* of the line on, of the file */
    const char *excerpt;     /* of the line; NULL: not made yet */
} line_cursor;

static void go_to_line(line_cursor *c, const ek__lint_file *file, int line)
{
    if (c->file != file) {
        bool mark = file->size >= 3 && memcmp(file->text, "\xef\xbb\xbf", 3) == 0; /* columns do not count it */
        *c = (line_cursor){file, 1, file->text + (mark ? 3 : 0), file->text + file->size, NULL};
    }
    for (; c->line < line; c->line++) {
        const char *feed = memchr(c->start, '\n', (size_t)(c->end - c->start));
        c->start = feed ? feed + 1 : c->end;
        c->excerpt = NULL;
    }
}

/* A line of the file without what cannot be printed. */
static const char *excerpt_of(line_cursor *c, const ek__lint_file *file, int line, ek__pool *pool)
{
    go_to_line(c, file, line);
    if (c->excerpt)
        return c->excerpt;
    const char *start = c->start, *feed = memchr(start, '\n', (size_t)(c->end - start));
    size_t n = (size_t)((feed ? feed : c->end) - start);
    n -= n > 0 && start[n - 1] == '\r';
    if (n > EXCERPT) { /* not within a character */
        for (n = EXCERPT; n > 0 && ((unsigned char)start[n] & 0xC0) == 0x80;)
            n--;
    }
    char *text = ek__pool_text(pool, start, n);
    for (size_t i = 0; text && i < n; i++)
        if ((unsigned char)text[i] < ' ' || text[i] == 0x7F)
            text[i] = ' ';
    return c->excerpt = text;
}

static ek_status add(ek__lint_run *run, const ek__lint_file *file, const ek_lint_finding *about)
{
    struct ek__lint_found *more = ek__pool_push(run->pool, run->found, run->n_found, sizeof *more);
    if (!more)
        return ek__no_memory(run->err);
    run->found = more;
    more[run->n_found++] =
        (struct ek__lint_found){.about = *about,
                                .file = (int)(file - run->file),
                                .suppressed = ek__comments_cover(file->comments, about->rule->id, about->line)};
    return EK_OK;
}

ek_status ek__lint_report(ek__lint_run *run, const ek__lint_entry *entry, const ek__lint_file *file, int line,
                          int column, int end_column, const char *fix, const char *format, ...)
{
    char text[MESSAGE];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    for (char *c = text; *c; c++) /* values of files may hold what a terminal would obey */
        if ((unsigned char)*c < ' ' || *c == 0x7F)
            *c = ' ';
    ek_lint_finding about = {.rule = &entry->about,
                             .path = file->path,
                             .line = line > 0 ? line : 1,
                             .column = column > 0 ? column : 1,
                             .end_column = end_column > column ? end_column : 0,
                             .message = ek__pool_text(run->pool, text, strlen(text)),
                             .fix = fix ? ek__pool_text(run->pool, fix, strlen(fix)) : NULL};
    if (!about.message || (fix && !about.fix))
        return ek__no_memory(run->err);
    return add(run, file, &about);
}

static int compare(const void *a, const void *b)
{
    const struct ek__lint_found *x = a, *y = b;
    if (x->file != y->file)
        return x->file < y->file ? -1 : 1;
    if (x->about.line != y->about.line)
        return x->about.line < y->about.line ? -1 : 1;
    if (x->about.column != y->about.column)
        return x->about.column < y->about.column ? -1 : 1;
    int by_id = strcmp(x->about.rule->id, y->about.rule->id);
    return by_id ? by_id : strcmp(x->about.message, y->about.message);
}

/* Sorted, without repetitions, those that comments take away apart. */
static ek_status finish(ek__lint_run *run, ek_lint *out)
{
    if (run->n_found > 0)
        qsort(run->found, (size_t)run->n_found, sizeof *run->found, compare);
    out->finding = ek__pool_alloc(run->pool, (size_t)run->n_found, sizeof *out->finding);
    out->suppressed = ek__pool_alloc(run->pool, (size_t)run->n_found, sizeof *out->suppressed);
    if (!out->finding || !out->suppressed)
        return ek__no_memory(run->err);
    line_cursor cursor = {0};
    for (int i = 0; i < run->n_found; i++) {
        struct ek__lint_found *found = &run->found[i];
        if (i > 0 && compare(found - 1, found) == 0)
            continue;
        found->about.excerpt = excerpt_of(&cursor, &run->file[found->file], found->about.line, run->pool);
        if (!found->about.excerpt)
            return ek__no_memory(run->err);
        if (found->suppressed)
            out->suppressed[out->n_suppressed++] = found->about;
        else
            out->finding[out->n_findings++] = found->about;
    }
    return EK_OK;
}

/* ---- the run ---- */

static ek_status check_file(ek__lint_run *run, const ek__lint_file *file)
{
    ek_status status = EK_OK;
    for (int t = 0; t < N_TABLES; t++)
        for (const ek__lint_entry *e = tables[t]; e->about.id && status == EK_OK; e++)
            if (e->check[file->kind] && is_wanted(&e->about, run->options))
                status = e->check[file->kind](run, e, file);
    return status;
}

/* A file that cannot be read, or not as what it is, is left out where the options say so. */
static ek_status read_file(const char *path, bool may_skip, const ek_lint_options *options, const ek_listener *listener,
                           ek__pool *pool, ek__lint_file *file, ek_error *err)
{
    ek_error reason = {0};
    ek_status status = ek__lint_file_read(path, options, pool, file, &reason);
    if ((status == EK_ERR_INPUT || status == EK_ERR_SYSTEM) && may_skip) {
        ek__warn(listener, (ek_origin){reason.file, reason.line, reason.column}, "is left out: %s", reason.message);
        ek__lint_file_clear(file);
        return EK_OK;
    }
    if (status && err)
        *err = reason;
    if (status == EK_OK && (file->kind == EK_LINT_YAML || file->kind == EK_LINT_TOML) && !file->job && !file->refusal)
        ek__warn(listener, (ek_origin){.file = file->path},
                 "holds no training job that is known here; only rules about single keys look at it");
    return status;
}

static ek_status run_all(const char *const *path, int n_paths, const ek_lint_options *options,
                         const ek_listener *listener, ek__lint_file *file, ek_lint *out, ek_error *err)
{
    ek__lint_run run = {.file = file, .options = options, .pool = out->pool, .err = err};
    ek_status status = EK_OK;
    for (int i = 0; i < n_paths && status == EK_OK; i++) {
        status = read_file(path[i], options->may_skip && options->may_skip[i], options, listener, out->pool,
                           &file[run.n_files], err);
        run.n_files += status == EK_OK && file[run.n_files].text;
    }
    for (int i = 0; i < run.n_files && status == EK_OK; i++)
        status = check_file(&run, &file[i]);
    out->n_files = run.n_files;
    return status ? status : finish(&run, out);
}

ek_status ek_lint_run(const char *const *path, int n_paths, const ek_lint_options *options, const ek_listener *listener,
                      ek_lint *out, ek_error *err)
{
    const ek_lint_options usual = ek_lint_options_default();
    options = options ? options : &usual;
    ek_status status = check_ids(options->only, options->n_only, err);
    if (status == EK_OK)
        status = check_ids(options->off, options->n_off, err);
    if (status)
        return status;
    if (n_paths > MAX_FILES)
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "%d files are too many, at most %d go together", n_paths,
                        MAX_FILES);
    ek_lint lint = {.pool = ek__pool_new()};
    ek__lint_file *file = ek__alloc((size_t)n_paths, sizeof *file);
    status = lint.pool && file ? run_all(path, n_paths, options, listener, file, &lint, err) : ek__no_memory(err);
    for (int i = 0; file && i < n_paths; i++)
        ek__lint_file_clear(&file[i]);
    free(file);
    if (status == EK_OK)
        *out = lint;
    else
        ek_lint_clear(&lint);
    return status;
}

void ek_lint_clear(ek_lint *lint)
{
    ek__pool_free(lint->pool);
    *lint = (ek_lint){0};
}
