/* Findings of the linter: reported by checks, put in order, shown with the line of the file that they are about; those
 * that comments take away apart. Which rules there are is for lint.c. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/c_locale.h"
#include "base/error.h"
#include "base/message_words.h"
#include "lint/comments.h"
#include "lint/rules.h"

enum { EXCERPT = 160, MESSAGE = 1200 };

/* A finding while the run goes on. */
struct ek__lint_found {
    ek_lint_finding about;
    int file;
    bool suppressed;
    bool together; /* as the rule's entry has it */
};

const char *ek__lint_nearest(const ek_lint_rule *const *rules, int n, const char *id)
{
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

/* A line of the file, with blanks for control characters. */
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

static ek_status add(ek__lint_run *run, const ek__lint_file *file, const ek_lint_finding *about, bool together)
{
    struct ek__lint_found *more = ek__pool_push(run->pool, run->found, run->n_found, sizeof *more);
    if (!more)
        return ek__no_memory(run->err);
    run->found = more;
    more[run->n_found++] =
        (struct ek__lint_found){.about = *about,
                                .file = (int)(file - run->file),
                                .together = together && !about->fix,
                                .suppressed = ek__comments_cover(file->comments, about->rule->id, about->line)};
    return EK_OK;
}

ek_status ek__lint_report(ek__lint_run *run, const ek__lint_entry *entry, const ek__lint_file *file, int line,
                          int column, int end_column, const char *fix, const char *format, ...)
{
    char text[MESSAGE];
    va_list arguments;
    va_start(arguments, format);
    ek__vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    for (char *c = text; *c; c++) /* values of files may contain control sequences of terminals */
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
    return add(run, file, &about, entry->together);
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

/* ---- findings of one cause ---- */

/* Do most words of two messages agree, place by place? A shorter one ends in words that differ. */
static bool are_alike(const char *a, const char *b)
{
    int n = 0, n_same = 0;
    for (size_t size_a = 1, size_b = 1; size_a > 0 || size_b > 0; n++) {
        const char *word_a = ek__message_word(&a, &size_a), *word_b = ek__message_word(&b, &size_b);
        n_same += size_a == size_b && memcmp(word_a, word_b, size_a) == 0;
    }
    return 4 * n_same >= 3 * n;
}

/* The finding of the same rule in [from, n) that this one is a further place of; NULL. */
static ek_lint_finding *cause_of(ek_lint_finding *list, int from, int n, const struct ek__lint_found *found)
{
    for (int i = from; i < n && found->together; i++)
        if (list[i].rule == found->about.rule && are_alike(list[i].message, found->about.message))
            return &list[i];
    return NULL;
}

static ek_status add_place(ek__pool *pool, ek_lint_finding *to, const ek_lint_finding *f, ek_error *err)
{
    ek_lint_place *more = ek__pool_push(pool, (void *)to->more, to->n_more, sizeof *more);
    if (!more)
        return ek__no_memory(err);
    to->more = more;
    more[to->n_more++] = (ek_lint_place){f->line, f->column, f->end_column, f->message};
    return EK_OK;
}

/* The findings of one file, or those that comments took away there. */
typedef struct file_list {
    ek_lint_finding *finding;
    int *n, from; /* findings of the file begin at `from` */
} file_list;

static ek_status add_finding(ek__lint_run *run, file_list *list, struct ek__lint_found *found, line_cursor *cursor)
{
    ek_lint_finding *cause = cause_of(list->finding, list->from, *list->n, found);
    if (cause)
        return add_place(run->pool, cause, &found->about, run->err);
    found->about.excerpt = excerpt_of(cursor, &run->file[found->file], found->about.line, run->pool);
    if (!found->about.excerpt)
        return ek__no_memory(run->err);
    list->finding[(*list->n)++] = found->about;
    return EK_OK;
}

ek_status ek__lint_finish(ek__lint_run *run, ek_lint *out)
{
    if (run->n_found > 0)
        qsort(run->found, (size_t)run->n_found, sizeof *run->found, compare);
    out->finding = ek__pool_alloc(run->pool, (size_t)run->n_found, sizeof *out->finding);
    out->suppressed = ek__pool_alloc(run->pool, (size_t)run->n_found, sizeof *out->suppressed);
    if (!out->finding || !out->suppressed)
        return ek__no_memory(run->err);
    line_cursor cursor = {0};
    file_list lists[] = {{out->finding, &out->n_findings, 0}, {out->suppressed, &out->n_suppressed, 0}};
    ek_status status = EK_OK;
    for (int i = 0; i < run->n_found && status == EK_OK; i++) {
        struct ek__lint_found *found = &run->found[i];
        if (i > 0 && compare(found - 1, found) == 0)
            continue;
        for (int k = 0; k < 2 && i > 0 && found->file != found[-1].file; k++)
            lists[k].from = *lists[k].n;
        status = add_finding(run, &lists[found->suppressed], found, &cursor);
    }
    return status;
}
