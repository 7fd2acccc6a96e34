/* Prints a diagnosis for a terminal: the parts of a step, then one block for each bottleneck in the order of gain, with
 * its evidence and the setting to paste, then the unchecked points and the data they need. Lines are broken at words; a
 * setting is printed unbroken for pasting. */
#include <math.h>
#include <string.h>

#include "base/page.h"
#include "report/diagnosis_internal.h"
#include "report/report_internal.h"
#include "report/writers.h"

enum { INDENT = 3, SETTING_INDENT = 7, MAX_HANG = 16 };

typedef struct page {
    FILE *out;
    bool color;
} page;

/* "lead: text", the text indented by the lead, unless that is long. */
static void print_item(const page *p, int indent, const char *lead, const char *text)
{
    fprintf(p->out, "%*s%s", indent, "", lead);
    int column = indent + ek__columns(lead);
    ek__print_words(text, column, column < MAX_HANG ? column : indent + 2, EK__PAGE_WIDTH, p->out);
    fputc('\n', p->out);
}

void ek__diagnosis_place(const ek_evidence *e, char *out, size_t room)
{
    size_t n = 0;
    out[0] = '\0';
    if (e->file)
        n = (size_t)snprintf(out, room, "%s", e->file);
    if (e->step && *e->step && n < room)
        n += (size_t)snprintf(out + n, room - n, "%sstep %s", n ? ", " : "", e->step);
    if (e->rank >= 0 && n < room)
        snprintf(out + n, room - n, "%srank %d", n ? ", " : "", e->rank);
}

static bool same_how(const ek_not_looked_at *a, const ek_not_looked_at *b)
{
    return a->how && b->how && strcmp(a->how, b->how) == 0;
}

bool ek__diagnosis_missing(const ek_diagnosis *d, int i, char *out, size_t room)
{
    const ek_not_looked_at *list = d->not_looked_at;
    int n = 0;
    for (int k = 0; k < i; k++)
        if (same_how(&list[k], &list[i]))
            return false;
    size_t used = (size_t)snprintf(out, room, "%s", list[i].what);
    for (int k = i + 1; k < d->n_not_looked_at; k++)
        if (same_how(&list[k], &list[i]) && used < room) {
            used += (size_t)snprintf(out + used, room - used, "; %s", list[k].what);
            n++;
        }
    if (n == 0 && list[i].needs && used < room)
        snprintf(out + used, room - used, ": needs %s", list[i].needs);
    return true;
}

void ek__diagnosis_amount(double seconds, double share, char *out, size_t room)
{
    if (isnan(seconds) && isnan(share))
        snprintf(out, room, "not known");
    else if (isnan(share))
        snprintf(out, room, "%s ms", ek__fixed(1e3 * seconds, 1).text);
    else if (isnan(seconds))
        snprintf(out, room, "%s %%", ek__fixed(100 * share, 1).text);
    else
        snprintf(out, room, "%s ms (%s %%)", ek__fixed(1e3 * seconds, 1).text, ek__fixed(100 * share, 1).text);
}

static void print_evidence(const page *p, const ek_bottleneck *b)
{
    char text[4096], place[1024];
    for (int i = 0; i < b->n_evidence && i < EK_MAX_EVIDENCE; i++) {
        ek__diagnosis_place(&b->evidence[i], place, sizeof place);
        snprintf(text, sizeof text, place[0] ? "%s (%s)" : "%s", b->evidence[i].text, place);
        print_item(p, INDENT, "- ", text);
    }
}

static void print_setting(const page *p, const char *setting)
{
    ek__color(p->color, "\033[36m", p->out);
    for (const char *line = setting; *line;) {
        size_t n = strcspn(line, "\n");
        fprintf(p->out, "%*s", SETTING_INDENT, "");
        ek__print_part(line, n, p->out);
        fputc('\n', p->out);
        line += n + (line[n] == '\n');
    }
    ek__color(p->color, "\033[0m", p->out);
}

static void print_bottleneck(const page *p, const ek_bottleneck *b, int number)
{
    char lead[16], gain[64], cost[64], rest[512], basis[64];
    snprintf(lead, sizeof lead, "%d. ", number);
    fputc('\n', p->out);
    ek__color(p->color, "\033[1m", p->out);
    print_item(p, 0, lead, b->title);
    ek__color(p->color, "\033[0m", p->out);
    ek__diagnosis_amount(b->gain_seconds, b->gain_share, gain, sizeof gain);
    ek__diagnosis_amount(b->cost_seconds, b->share, cost, sizeof cost);
    fprintf(p->out, "%*sgain ", INDENT, "");
    ek__color(p->color, "\033[32m", p->out);
    fputs(gain, p->out);
    ek__color(p->color, "\033[0m", p->out);
    snprintf(rest, sizeof rest, ", cost %s of a step; %s, %s", cost, ek_topic_name[b->topic], b->id);
    ek__print_words(rest, INDENT + (int)strlen("gain ") + ek__columns(gain), INDENT, EK__PAGE_WIDTH, p->out);
    fputc('\n', p->out);
    print_evidence(p, b);
    if (b->change)
        print_item(p, INDENT, "change: ", b->change);
    if (b->setting)
        print_setting(p, b->setting);
    if (b->rests_on) {
        snprintf(basis, sizeof basis, isnan(b->gain_seconds) ? "%s: " : "gain is %s: ", ek_basis_name[b->basis]);
        print_item(p, INDENT, basis, b->rests_on);
    }
    if (b->caution)
        print_item(p, INDENT, "caution: ", b->caution);
}

static void print_step(const page *p, const ek_diagnosis *d)
{
    char text[1024];
    if (isnan(d->step_seconds))
        snprintf(text, sizeof text, "no step was measured: gains are not shares of one");
    else
        snprintf(text, sizeof text, "a step takes %s ms: %s", ek__fixed(1e3 * d->step_seconds, 1).text,
                 d->step_source ? d->step_source : "measured");
    ek__color(p->color, "\033[1m", p->out);
    print_item(p, 0, "", text);
    ek__color(p->color, "\033[0m", p->out);
    if (d->n_bottlenecks == 0)
        fputs("no bottleneck is above the requested threshold\n", p->out);
    else if (d->n_bottlenecks > 1)
        print_item(p, 0, "",
                   "each gain assumes one change and nothing else: diagnose again after it; gains do not add up");
}

static void print_rest(const page *p, const ek_diagnosis *d)
{
    if (d->n_not_looked_at > 0)
        fputs("\nnot looked at:\n", p->out);
    for (int i = 0; i < d->n_not_looked_at; i++) {
        const ek_not_looked_at *n = &d->not_looked_at[i];
        char text[2048];
        if (!ek__diagnosis_missing(d, i, text, sizeof text))
            continue;
        print_item(p, INDENT, "- ", text);
        if (n->how)
            print_item(p, INDENT + 2, "", n->how);
    }
    if (d->n_notes > 0)
        fputs("\nnotes:\n", p->out);
    for (int i = 0; i < d->n_notes; i++)
        print_item(p, INDENT, "- ", d->note[i]);
}

ek_status ek__diagnosis_write_text(const ek_diagnosis *diagnosis, bool color_wanted, FILE *out, ek_error *err)
{
    const page p = {out, color_wanted};
    print_step(&p, diagnosis);
    for (int i = 0; i < diagnosis->n_bottlenecks; i++)
        print_bottleneck(&p, &diagnosis->bottleneck[i], i + 1);
    print_rest(&p, diagnosis);
    return ek__finish(out, err);
}
