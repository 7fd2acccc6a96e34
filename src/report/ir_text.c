/* Prints a checked graph for people: the contents of the file and the verdict, recomputation and the changes that would
 * bring it into effect, tensors kept for the backward pass, communication, parameters, and the findings at the end,
 * where a terminal shows them. Entries that differ only in the layer are one row. Chosen operators follow one by
 * one. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/c_locale.h"
#include "base/error.h"
#include "evenkeel/ir.h"
#include "report/ir_internal.h"
#include "report/writers.h"

typedef struct page {
    FILE *out;
    const ek_ir_report *r;
    const ek_ir *ir;
    const ek_ir_view *view;
    const ek__ir_sums *sums;
    int top;
} page;

static const char *plural(int64_t n)
{
    return n == 1 ? "" : "s";
}

static void more(const page *p, int n)
{
    if (n > p->top)
        fprintf(p->out, "  ... and %d more; --top %d shows all\n", n - p->top, n);
}

/* ---- the file ---- */

static void print_requests(const page *p)
{
    static const char *const word[EK__IR_N_OUTCOMES] = {"in effect", "not in effect", "by design", "not visible"};
    const ek__ir_sums *s = p->sums;
    int asked = 0;
    for (int k = 0; k < EK__IR_N_OUTCOMES; k++)
        asked += s->n_outcome[k];
    if (asked == 0)
        fputs("no operator requests recomputation", p->out);
    for (int k = 0, n = 0; k < EK__IR_N_OUTCOMES && asked > 0; k++)
        if (s->n_outcome[k] > 0)
            fprintf(p->out, "%s%d %s", n++ ? ", " : "recomputation: ", s->n_outcome[k], word[k]);
}

/* The findings in one line with -q, otherwise in two. */
static void print_verdict(const page *p)
{
    const ek__ir_sums *s = p->sums;
    bool one_line = p->view && p->view->verdict_only;
    fprintf(p->out, "%d error%s, %d warning%s, %d note%s%s", s->n_findings[EK_IR_ERROR],
            plural(s->n_findings[EK_IR_ERROR]), s->n_findings[EK_IR_WARNING], plural(s->n_findings[EK_IR_WARNING]),
            s->n_findings[EK_IR_NOTE], plural(s->n_findings[EK_IR_NOTE]), one_line ? "; " : "\n");
    print_requests(p);
    if (p->r->has_backward)
        fprintf(p->out, "; backward keeps %s", ek__ir_size(s->kept).text);
    if (one_line && p->ir->n_diagnostics > 0)
        fprintf(p->out, "; damaged: %" PRIu32 " place%s", p->ir->n_diagnostics, plural(p->ir->n_diagnostics));
    fputc('\n', p->out);
}

static void print_choice(const page *p)
{
    if (p->sums->choice.all || !p->view)
        return;
    fprintf(p->out, "shown: %" PRIu32 " operator%s", p->sums->choice.n, plural(p->sums->choice.n));
    if (p->view->layer >= 0)
        fprintf(p->out, " of layer %d", p->view->layer);
    if (p->view->operators) {
        fputs(" with a match of '", p->out);
        ek__print_name(p->view->operators, p->out);
        fputc('\'', p->out);
    }
    fputc('\n', p->out);
}

static void print_file(const page *p)
{
    const ek_ir *ir = p->ir;
    const ek__ir_sums *s = p->sums;
    uint32_t parameters = ek__ir_count_parameters(ir);
    ek__print_name(ir->path, p->out);
    ek__fprintf(p->out,
                ": %" PRIu32 " operator%s in %" PRIu32 " graph%s, %" PRIu32 " parameter%s, %" PRIu32 " line%s\n",
                ir->n_operators, plural(ir->n_operators), ir->n_graphs, plural(ir->n_graphs), parameters,
                plural(parameters), ir->n_lines, plural(ir->n_lines));
    print_choice(p);
    fprintf(p->out, "%d forward, %d backward, %d cop%s made for recomputation\n", s->n_forward, s->n_backward,
            s->n_copies, s->n_copies == 1 ? "y" : "ies");
    if (ir->analyze_fail)
        fputs("this is the output of a failed compilation\n", p->out);
    if (ir->n_diagnostics > 0)
        fprintf(p->out, "damaged: %" PRIu32 " place%s; its content is not in the figures (see standard error)\n",
                ir->n_diagnostics, plural(ir->n_diagnostics));
    print_verdict(p);
}

/* ---- recomputation ---- */

static void print_outcomes(const page *p)
{
    static const char *const name[EK__IR_N_OUTCOMES] = {"in effect", "not in effect", "kept by design",
                                                        "not visible here"};
    static const char *const why[EK__IR_N_OUTCOMES] = {"backward takes the copy", "backward uses the forward output",
                                                       "outputs of recomputed cells, and requests not needed",
                                                       "no backward operator that takes the value is in sight"};
    for (int k = 0; k < EK__IR_N_OUTCOMES; k++)
        if (p->sums->n_outcome[k] > 0)
            fprintf(p->out, "  %-16s  %7d  %10s  %s\n", name[k], p->sums->n_outcome[k],
                    k == EK__IR_NOT_IN_EFFECT ? ek__ir_size(p->sums->outcome[k]).text : "", why[k]);
}

/* A line with the whole scope of a node, cut to the width; nothing without a scope. */
static void print_scope(const page *p, uint32_t node, int indent)
{
    char scope[EK__IR_SCOPE];
    ek_ir_scope(p->ir, &p->ir->node[node], scope, sizeof scope);
    if (!scope[0])
        return;
    fprintf(p->out, "%*s", indent, "");
    ek__print_tail(scope, EK__PAGE_WIDTH - indent, p->out);
    fputc('\n', p->out);
}

static void print_repeats(const page *p, const ek__ir_group *group)
{
    if (group->n > 1)
        fprintf(p->out, "%d times, ", group->n);
    fputs(ek__ir_layers(group->first_layer, group->last_layer).text, p->out);
}

static void print_blocked(const page *p, const ek__ir_group *group)
{
    const ek_ir_recompute *r = &p->r->recompute[group->first];
    fprintf(p->out, "  %7" PRIu32 "  %-8s ", p->ir->node[r->node].line, ek__ir_node_label(p->ir, r->node).text);
    ek__print_cell(ek__ir_primitive(p->ir, r->node), 20, p->out);
    fprintf(p->out, "  %10s  ", ek__ir_size(group->bytes).text);
    print_repeats(p, group);
    fputc('\n', p->out);
    print_scope(p, r->node, 11);
    fprintf(p->out, "%*s", 11, "");
    if (r->consumer != EK_IR_NONE) {
        ek__ir_print_named(p->ir, r->consumer, p->out);
        fputs(" holds ", p->out);
        ek__ir_print_named(p->ir, r->held != EK_IR_NONE ? r->held : r->node, p->out);
    } else {
        fputs("no copy was made", p->out);
    }
    if (r->blocked_by != EK_IR_NONE) {
        fputs("; in the way: ", p->out);
        ek__ir_print_named(p->ir, r->blocked_by, p->out);
        fprintf(p->out, " (line %" PRIu32 ")", p->ir->node[r->blocked_by].line);
    }
    fputc('\n', p->out);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* A text in YAML's single quotes; control characters as '?'. */
static void print_quoted(const page *p, const char *text)
{
    uint32_t code;
    fputc('\'', p->out);
    for (int length; (length = ek__utf8_next(text, &code)); text += length) {
        bool control = code < 0x20 || (code >= 0x7f && code < 0xa0);
        ek__utf8_print(control ? '?' : code, p->out);
        if (code == '\'')
            fputc('\'', p->out);
    }
    fputc('\'', p->out);
}

/* The patterns that remove the blocks, each once. */
static ek_status print_settings(const page *p, ek_error *err)
{
    const char **setting = ek__alloc((size_t)p->r->n_recompute, sizeof *setting);
    int n = 0, shown = 0;
    if (!setting)
        return ek__no_memory(err);
    for (int i = 0; i < p->r->n_recompute; i++) {
        const ek_ir_recompute *r = &p->r->recompute[i];
        if (r->setting && ek__ir_chosen(&p->sums->choice, r->node) && ek__ir_outcome_of(r) == EK__IR_NOT_IN_EFFECT)
            setting[n++] = r->setting;
    }
    qsort(setting, (size_t)n, sizeof *setting, by_text);
    for (int i = 0; i < n; i++) {
        if (i > 0 && strcmp(setting[i - 1], setting[i]) == 0)
            continue;
        fputs(shown++ ? ", " : "  add to select_recompute of recompute_config:\n    [", p->out);
        print_quoted(p, setting[i]);
    }
    fputs(shown ? "]\n" : "", p->out);
    free(setting);
    return EK_OK;
}

/* Casts with a copy that costs more than it frees are a finding; here they are only counted. */
static void print_casts(const page *p)
{
    int n = 0;
    for (int i = 0; i < p->r->n_findings; i++)
        if (strcmp(p->r->finding[i].check, "recompute-costs-memory") == 0)
            n += p->r->finding[i].n_occurrences;
    if (n > 0)
        fprintf(p->out,
                "  casts recomputed the wrong way: %d; backward saves the wider input (recompute-costs-memory below)\n",
                n);
}

/* The rest of a line: the micro-batch of the sizes if there are several. */
static void print_micro(const page *p)
{
    const ek__ir_sums *s = p->sums;
    if (s->last_micro > s->first_micro)
        fprintf(p->out, " (number %d of %d to %d)", s->first_micro, s->first_micro, s->last_micro);
    fputc('\n', p->out);
}

static ek_status print_recompute(const page *p, ek_error *err)
{
    const ek__ir_sums *s = p->sums;
    int asked = 0;
    for (int k = 0; k < EK__IR_N_OUTCOMES; k++)
        asked += s->n_outcome[k];
    if (asked == 0)
        return EK_OK;
    ek__ir_heading(p->view, "Recomputation", p->out);
    fprintf(p->out, ", requested by %d operator%s; sizes of one micro-batch", asked, plural(asked));
    print_micro(p);
    print_outcomes(p);
    print_casts(p);
    if (s->n_blocked > 0)
        fprintf(p->out, "\n  not in effect, most bytes first\n  %7s  %-8s %-20s  %10s  %s\n", "line", "node",
                "operator", "kept", "where");
    for (int i = 0; i < s->n_blocked && i < p->top; i++)
        print_blocked(p, &s->blocked[i]);
    more(p, s->n_blocked);
    return print_settings(p, err);
}

/* ---- kept tensors ---- */

/* Successive layers that keep the same tensors are one row. */
static void print_kept_layers(const page *p)
{
    const ek__ir_sums *s = p->sums;
    if (s->n_layers < 1 || s->layer[0].layer < 0)
        return;
    for (int i = 0, last; i < s->n_layers; i = last + 1) {
        const ek__ir_layer_sum *layer = &s->layer[i];
        for (last = i; last + 1 < s->n_layers && s->layer[last + 1].layer == s->layer[last].layer + 1 &&
                       s->layer[last + 1].kept == layer->kept && s->layer[last + 1].n_kept == layer->n_kept;)
            last++;
        if (layer->n_kept == 0)
            continue;
        fprintf(p->out, "  %-20s  %10s in %d tensor%s%s\n", ek__ir_layers(layer->layer, s->layer[last].layer).text,
                ek__ir_size(layer->kept).text, layer->n_kept, plural(layer->n_kept), last > i ? " each" : "");
    }
    fputc('\n', p->out);
}

static void print_kept_row(const page *p, const ek__ir_group *group)
{
    const ek_ir_kept *kept = &p->r->kept[group->first];
    char type[256];
    ek_ir_type_text(p->ir, p->ir->node[kept->node].type, type, sizeof type);
    fprintf(p->out, "  %10s  %7" PRIu32 "  %-8s ", ek__ir_size(group->bytes).text, p->ir->node[kept->node].line,
            ek__ir_node_label(p->ir, kept->node).text);
    ek__print_cell(ek__ir_primitive(p->ir, kept->node), 20, p->out);
    fprintf(p->out, "  %7" PRIu32 "  ", kept->life);
    ek__print_name(type, p->out);
    fputc('\n', p->out);
    print_scope(p, kept->node, 14);
    fprintf(p->out, "%*s", 14, "");
    print_repeats(p, group);
    if (kept->consumer != EK_IR_NONE) {
        fputs("; for ", p->out);
        ek__ir_print_named(p->ir, kept->consumer, p->out);
        if (kept->n_consumers > 1)
            fprintf(p->out, " and %d more", kept->n_consumers - 1);
    }
    fputc('\n', p->out);
}

static void print_kept(const page *p)
{
    const ek__ir_sums *s = p->sums;
    if (s->n_kept == 0)
        return;
    ek__ir_heading(p->view, "Kept for the backward pass", p->out);
    fprintf(p->out, ": %s in %d tensor%s, one micro-batch", ek__ir_size(s->kept).text, s->n_kept, plural(s->n_kept));
    print_micro(p);
    print_kept_layers(p);
    fprintf(p->out, "  %10s  %7s  %-8s %-20s  %7s  %s\n", "size", "line", "node", "operator", "life", "type");
    for (int i = 0; i < s->n_kept_groups && i < p->top; i++)
        print_kept_row(p, &s->kept_like[i]);
    more(p, s->n_kept_groups);
    fputs("  life: operators between the one that makes it and the last that takes it\n", p->out);
}

/* ---- communication ---- */

static void print_comm_row(const page *p, const ek__ir_comm_sum *sum)
{
    fprintf(p->out, "  %-13s  %-14s ", ek_ir_comm_kind_name[sum->kind], ek_ir_comm_role_name[sum->role]);
    ek__print_cell(sum->group ? sum->group : "-", 23, p->out);
    if (sum->n_ranks > 0)
        fprintf(p->out, " %5d", sum->n_ranks);
    else
        fprintf(p->out, " %5s", "-");
    fprintf(p->out, " %6d %8d", sum->n, sum->n_backward);
    fprintf(p->out, "  %10s", sum->n_unknown == sum->n ? "-" : ek__ir_size(sum->bytes).text);
    fprintf(p->out, " %10s\n", sum->n_unknown == sum->n ? "-" : ek__ir_size(sum->traffic).text);
}

static void print_communication(const page *p)
{
    const ek__ir_sums *s = p->sums;
    int unknown = 0, copies = 0, n = 0;
    if (s->n_comms == 0)
        return;
    for (int i = 0; i < s->n_comms; i++) {
        n += s->comm[i].n;
        unknown += s->comm[i].n_unknown;
        copies += s->comm[i].n_copies;
    }
    ek__ir_heading(p->view, "Communication", p->out);
    fprintf(p->out, ": each device sends %s for the content of the file\n",
            n == unknown ? "an unknown amount" : ek__ir_size(s->traffic).text);
    fprintf(p->out, "  %-13s  %-14s %-23s %5s %6s %8s  %10s %10s\n", "kind", "role", "group", "ranks", "n", "backward",
            "messages", "sent");
    for (int i = 0; i < s->n_comms && i < p->top; i++)
        print_comm_row(p, &s->comm[i]);
    more(p, s->n_comms);
    fputs("  sent: by each device, by a ring over so many ranks\n", p->out);
    if (copies > 0)
        fprintf(p->out, "  %d of them %s repeated for the backward pass by recomputation\n", copies,
                copies == 1 ? "is" : "are");
    if (unknown > 0)
        fprintf(p->out, "  not in the sums: %d with unknown size or number of ranks\n", unknown);
}

/* ---- parameters ---- */

static void print_parameters(const page *p)
{
    if (p->r->n_sums == 0 || !p->sums->choice.all)
        return;
    ek__ir_heading(p->view, "Parameters", p->out);
    fputs(" of one device, as the graph shows them\n", p->out);
    for (int i = 0; i < p->r->n_sums; i++) {
        const ek_ir_parameter_sum *sum = &p->r->sum[i];
        fputs("  ", p->out);
        ek__print_cell(sum->prefix, 20, p->out);
        fprintf(p->out, "  %7" PRIu32 "  %10s\n", sum->n, ek__ir_size(sum->bytes).text);
    }
}

/* ---- findings ---- */

static void print_chain_node(const page *p, uint32_t i)
{
    const ek_ir_node *node = &p->ir->node[i];
    char type[256];
    ek_ir_type_text(p->ir, node->type, type, sizeof type);
    fprintf(p->out, "    %7" PRIu32 "  %-8s ", node->line, ek__ir_node_label(p->ir, i).text);
    ek__print_cell(ek__ir_primitive(p->ir, i), 16, p->out);
    fputs("  ", p->out);
    const char *scope = ek_ir_text(p->ir, node->scope);
    if (*scope) {
        ek__print_cell(type, 26, p->out);
        fputs("  ", p->out);
    } else {
        ek__print_name(type, p->out);
    }
    ek__print_tail(scope, EK__PAGE_WIDTH - 68, p->out);
    fputc('\n', p->out);
    if (node->in_strategy != EK_IR_NONE || node->out_strategy != EK_IR_NONE) {
        fprintf(p->out, "%*s", 22, "");
        if (node->in_strategy != EK_IR_NONE) {
            fputs("inputs cut by ", p->out);
            ek__print_name(ek_ir_text(p->ir, node->in_strategy), p->out);
        }
        if (node->out_strategy != EK_IR_NONE) {
            fputs(node->in_strategy != EK_IR_NONE ? ", output by " : "output cut by ", p->out);
            ek__print_name(ek_ir_text(p->ir, node->out_strategy), p->out);
        }
        fputc('\n', p->out);
    }
}

static void print_finding(const page *p, const ek_ir_finding *f)
{
    static const char *const code[3] = {"", "\033[33m", "\033[31m"};
    bool color = p->view && p->view->color && f->severity != EK_IR_NOTE;
    fprintf(p->out, "  %s%s%s: ", color ? code[f->severity] : "", ek_ir_severity_name[f->severity],
            color ? "\033[0m" : "");
    ek__print_name(f->check, p->out);
    if (f->n_occurrences > 1)
        fprintf(p->out, ", in %d places", f->n_occurrences);
    if (f->n_layers > 1)
        fprintf(p->out, " of %d layers", f->n_layers);
    if (f->bytes > 0)
        fprintf(p->out, ", %s %s", ek__ir_size(f->bytes).text, f->bytes_of ? f->bytes_of : "");
    fputc('\n', p->out);
    if (f->text)
        ek__print_wrapped(f->text, 4, p->out);
    if (f->advice) {
        fputs("    remedy:\n", p->out);
        ek__print_wrapped(f->advice, 6, p->out);
    }
    if (f->n_chain > 0)
        fprintf(p->out, "    %7s  %-8s %-16s  %-26s  scope\n", "line", "node", "operator", "output");
    for (int i = 0; i < f->n_chain; i++)
        print_chain_node(p, f->chain[i]);
}

static void print_findings(const page *p)
{
    int n = 0, shown = 0;
    for (int i = 0; i < p->r->n_findings; i++)
        n += ek__ir_shows_finding(p->view, &p->sums->choice, &p->r->finding[i]);
    if (n == 0)
        return;
    ek__ir_heading(p->view, "Findings", p->out);
    fputs(", worst first\n", p->out);
    for (int i = 0; i < p->r->n_findings && shown < p->top; i++) {
        if (!ek__ir_shows_finding(p->view, &p->sums->choice, &p->r->finding[i]))
            continue;
        fputs(shown++ ? "\n" : "", p->out);
        print_finding(p, &p->r->finding[i]);
    }
    more(p, n);
}

ek_status ek__ir_write_text(const ek_ir_report *report, const ek_ir_view *view, FILE *out, ek_error *err)
{
    static const ek_ir_view whole = {.layer = -1}; /* the verdict is for the file */
    ek__ir_sums sums;
    ek_status status = ek__ir_sum(report, view && view->verdict_only ? &whole : view, &sums, err);
    if (status)
        return status;
    const page p = {out, report, report->ir, view, &sums, ek__ir_top(view)};
    if (view && view->verdict_only) {
        ek__print_name(p.ir->path, out);
        fputs(": ", out);
        print_verdict(&p);
    } else {
        print_file(&p);
        status = print_recompute(&p, err);
        print_kept(&p);
        print_communication(&p);
        print_parameters(&p);
        if (status == EK_OK && !sums.choice.all)
            status = ek__ir_print_nodes(p.ir, view, &sums.choice, out, err);
        print_findings(&p);
    }
    ek__ir_sums_clear(&sums);
    return status ? status : ek__finish(out, err);
}
