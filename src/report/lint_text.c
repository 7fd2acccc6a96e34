/* Prints findings for people: one line each in the form that editors and terminals parse, optionally with the line of
 * the file and a mark below; also prints a whole rule. Rules are printed in lines of at most 100 bytes, broken at
 * blanks. */
#include <stdint.h>
#include <string.h>

#include "base/message_words.h"
#include "base/page.h"
#include "base/utf8.h"
#include "report/lint_internal.h"
#include "report/report_internal.h"
#include "report/writers.h"

enum { INDENT = 8 };

ek__lint_counts ek__lint_count(const ek_lint *lint)
{
    ek__lint_counts counts = {{0}};
    for (int i = 0; i < lint->n_findings; i++)
        counts.of[lint->finding[i].rule->level]++;
    return counts;
}

/* The line, and a mark below the place, as wide as its characters. */
static void print_context(const ek_lint_finding *finding, FILE *out)
{
    int before = 0, marked = 0, column = 1, length;
    uint32_t code;
    for (const char *c = finding->excerpt; (length = ek__utf8_next(c, &code)); c += length, column++) {
        int width = ek__width(code);
        if (column < finding->column)
            before += width;
        else if (column == finding->column || column < finding->end_column)
            marked += width;
    }
    if (column <= finding->column)
        return; /* after the shown part */
    fprintf(out, "%6d | %s\n       | %*s^", finding->line, finding->excerpt, before, "");
    for (int i = 1; i < marked; i++)
        putc('~', out);
    putc('\n', out);
}

/* The words of a further place's message that the first one's does not have, without the signs at their ends. */
static void print_difference(const char *first, const char *other, FILE *out)
{
    size_t n, m = 1;
    while (m > 0) {
        const char *there = ek__message_word(&first, &n), *word = ek__message_word(&other, &m);
        size_t shown = m;
        if (m == 0 || (n == m && memcmp(there, word, m) == 0))
            continue;
        while (shown > 0 && strchr(",;:", word[shown - 1]))
            shown--;
        fprintf(out, " %.*s", (int)shown, word);
    }
}

/* `; also 12:5 'x', 13:5 'y'` */
static void print_more(const ek_lint_finding *f, FILE *out)
{
    for (int i = 0; i < f->n_more; i++) {
        fprintf(out, "%s%d:%d", i == 0 ? "; also " : ", ", f->more[i].line, f->more[i].column);
        print_difference(f->message, f->more[i].message, out);
    }
}

ek_status ek__lint_write_text(const ek_lint *lint, bool context, FILE *out, ek_error *err)
{
    for (int i = 0; i < lint->n_findings; i++) {
        const ek_lint_finding *f = &lint->finding[i];
        ek__print_name(f->path, out);
        fprintf(out, ":%d:%d: %s: %s", f->line, f->column, ek_lint_level_name[f->rule->level], f->message);
        print_more(f, out);
        fprintf(out, " [%s]\n", f->rule->id);
        if (context)
            print_context(f, out);
    }
    return ek__finish(out, err);
}

/* ---- a rule ---- */

static void print_part(const char *heading, const char *text, FILE *out)
{
    fprintf(out, "\n%s\n", heading);
    ek__print_wrapped(text, INDENT, out);
}

static void print_example(const char *heading, const char *text, FILE *out)
{
    fprintf(out, "\n%s\n", heading);
    while (*text) {
        size_t n = strcspn(text, "\n");
        fprintf(out, "%*s%.*s\n", INDENT, "", (int)n, text);
        text += n + (text[n] == '\n');
    }
}

static void print_kinds(const ek_lint_rule *rule, FILE *out)
{
    bool any = false;
    for (int k = 0; k < EK_N_LINT_KINDS; k++)
        if (rule->kinds & 1U << k) {
            fprintf(out, "%s%s", any ? ", " : "", ek_lint_kind_name[k]);
            any = true;
        }
}

ek_status ek_lint_write_rule(const ek_lint_rule *rule, FILE *out, ek_error *err)
{
    fprintf(out, "%s (%s; ", rule->id, ek_lint_level_name[rule->level]);
    print_kinds(rule, out);
    fprintf(out, ")\n        %s\n", rule->title);
    print_part("why", rule->why, out);
    print_part("cost", rule->cost, out);
    print_part("fix", rule->fix, out);
    print_part("source", rule->source, out);
    print_example("fires on", rule->bad, out);
    print_example("is silent on", rule->good, out);
    return ek__finish(out, err);
}
