/* Findings for people: a line each in the form that editors and terminals know, with the line of the file and a mark
 * below where that is wanted; a rule with all it says. Rules are written with lines of at most 100 bytes, broken at
 * blanks. */
#include <stdint.h>
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

/* A character of UTF-8 at *at, which moves behind it; a byte that begins none counts as one character. */
static uint32_t next_character(const char **at)
{
    const unsigned char *c = (const unsigned char *)*at;
    int n = c[0] >= 0xF0 ? 3 : c[0] >= 0xE0 ? 2 : c[0] >= 0xC0 ? 1 : 0;
    uint32_t code = n == 0 ? c[0] : c[0] & (0x3Fu >> n);
    int i = 1;
    for (; i <= n && (c[i] & 0xC0) == 0x80; i++)
        code = code << 6 | (c[i] & 0x3Fu);
    *at += i;
    return code;
}

/* Columns of a terminal that a character takes: two for those that are wide in Unicode's East Asian Width, none for
 * marks that combine with the letter before. By blocks, not by single characters. */
static int width_of(uint32_t code)
{
    static const struct {
        uint32_t first, last;
        int width;
    } blocks[] = {
        {0x0300, 0x036F, 0}, {0x1100, 0x115F, 2},   {0x200B, 0x200F, 0},   {0x2E80, 0x303E, 2},   {0x3041, 0xA4CF, 2},
        {0xAC00, 0xD7A3, 2}, {0xF900, 0xFAFF, 2},   {0xFE00, 0xFE0F, 0},   {0xFE30, 0xFE6F, 2},   {0xFF00, 0xFF60, 2},
        {0xFFE0, 0xFFE6, 2}, {0x1F300, 0x1F64F, 2}, {0x1F680, 0x1F6FF, 2}, {0x1F900, 0x1F9FF, 2}, {0x20000, 0x3FFFD, 2},
    };
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
        if (code >= blocks[i].first && code <= blocks[i].last)
            return blocks[i].width;
    return 1;
}

/* The line, and a mark below what is meant, which is as wide as the characters are. */
static void print_context(const ek_lint_finding *finding, FILE *out)
{
    int before = 0, marked = 0, column = 1;
    for (const char *c = finding->excerpt; *c; column++) {
        int width = width_of(next_character(&c));
        if (column < finding->column)
            before += width;
        else if (column == finding->column || column < finding->end_column)
            marked += width;
    }
    if (column <= finding->column)
        return; /* behind what is shown */
    fprintf(out, "%6d | %s\n       | %*s^", finding->line, finding->excerpt, before, "");
    for (int i = 1; i < marked; i++)
        putc('~', out);
    putc('\n', out);
}

/* A name of a file may hold what a terminal would obey. */
static void print_path(const char *path, FILE *out)
{
    for (; *path; path++)
        putc((unsigned char)*path < ' ' || *path == 0x7F ? '?' : *path, out);
}

ek_status ek_lint_write_text(const ek_lint *lint, bool context, FILE *out, ek_error *err)
{
    for (int i = 0; i < lint->n_findings; i++) {
        const ek_lint_finding *f = &lint->finding[i];
        print_path(f->path, out);
        fprintf(out, ":%d:%d: %s: %s [%s]\n", f->line, f->column, ek_lint_level_name[f->rule->level], f->message,
                f->rule->id);
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
