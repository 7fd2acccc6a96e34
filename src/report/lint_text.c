/* Findings for people: a line each in the form that editors and terminals know, with the line of the file and a mark
 * below where that is wanted; a rule with all it says. Rules are written with lines of at most 100 bytes, broken at
 * blanks. */
#include <string.h>

#include "report/lint_internal.h"
#include "report/page.h"
#include "report/report_internal.h"

enum { INDENT = 8 };

ek__lint_counts ek__lint_count(const ek_lint *lint)
{
    ek__lint_counts counts = {{0}};
    for (int i = 0; i < lint->n_findings; i++)
        counts.of[lint->finding[i].rule->level]++;
    return counts;
}

static int count_characters(const char *text)
{
    int n = 0;
    for (; *text; text++)
        n += ((unsigned char)*text & 0xC0) != 0x80;
    return n;
}

/* The line, and a mark below what is meant. */
static void print_context(const ek_lint_finding *finding, FILE *out)
{
    int length = count_characters(finding->excerpt), from = finding->column - 1;
    int to = finding->end_column > 0 ? finding->end_column - 1 : from + 1;
    if (from >= length)
        return;
    fprintf(out, "%6d | %s\n       | %*s^", finding->line, finding->excerpt, from, "");
    for (int i = from + 1; i < to && i < length; i++)
        putc('~', out);
    putc('\n', out);
}

ek_status ek_lint_write_text(const ek_lint *lint, bool context, FILE *out, ek_error *err)
{
    for (int i = 0; i < lint->n_findings; i++) {
        const ek_lint_finding *f = &lint->finding[i];
        fprintf(out, "%s:%d:%d: %s: %s [%s]\n", f->path, f->line, f->column, ek_lint_level_name[f->rule->level],
                f->message, f->rule->id);
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
    print_part("what it costs", rule->cost, out);
    print_part("what to write", rule->fix, out);
    print_part("source", rule->source, out);
    print_example("fires on", rule->bad, out);
    print_example("is silent on", rule->good, out);
    return ek__finish(out, err);
}
