/* Writes the differences between two graphs for people and as JSON: recomputation, tensors kept for backward,
 * communication, parameters, counts of operators, and operators of only one of them. The figures are the comparison's;
 * the writers subtract and print. */
#include <inttypes.h>

#include "base/error.h"
#include "evenkeel/ir.h"
#include "figures/results.h"
#include "report/fields_json.h"
#include "report/ir_internal.h"
#include "report/writers.h"

typedef struct page {
    FILE *out;
    const ek_ir_report *side[2];
    const ek_ir_difference *d;
    const ek_ir_view *view;
    int top;
} page;

static const char *const side_name[2] = {"before", "after"};

/* ---- text ---- */

static void more(const page *p, int n)
{
    if (n > p->top)
        fprintf(p->out, "  ... and %d more; --top %d shows all\n", n - p->top, n);
}

static void print_count(const page *p, const char *name, const int n[2])
{
    char change[16];
    snprintf(change, sizeof change, n[0] == n[1] ? "%d" : "%+d", n[1] - n[0]);
    fprintf(p->out, "  %-38s  %12d  %12d  %12s\n", name, n[0], n[1], change);
}

static void print_bytes(const page *p, const char *name, const int64_t bytes[2])
{
    int64_t change;
    fprintf(p->out, "  %-38s  %12s", name, ek__ir_size(bytes[0]).text);
    fprintf(p->out, "  %12s", ek__ir_size(bytes[1]).text);
    if (bytes[0] < 0 || bytes[1] < 0 || __builtin_sub_overflow(bytes[1], bytes[0], &change))
        fprintf(p->out, "  %12s\n", "-");
    else
        fprintf(p->out, "  %12s\n", ek__ir_size_change(change).text);
}

static void print_sums(const page *p)
{
    const ek_ir_difference *d = p->d;
    const int operators[2] = {(int)p->side[0]->ir->n_operators, (int)p->side[1]->ir->n_operators};
    fprintf(p->out, "\n  %-38s  %12s  %12s  %12s\n", "", "before", "after", "change");
    print_count(p, "operators", operators);
    print_count(p, "recomputation requested", d->n_recompute_requested);
    print_count(p, "recomputation in effect", d->n_recompute_in_effect);
    print_bytes(p, "kept for backward, all micro-batches", d->kept_bytes);
    print_bytes(p, "sent by each device", d->traffic);
    print_bytes(p, "parameters", d->parameter_bytes);
}

static void print_differences(const page *p, const char *title, const char *bytes_of,
                              const ek_ir_count_difference *difference, int n)
{
    if (n == 0)
        return;
    ek__ir_heading(p->view, title, p->out);
    fprintf(p->out,
            " with a different number\n"
            "  %-28s  %8s  %8s  %8s  %12s  %12s  %s\n",
            "", "before", "after", "change", "before", "after", bytes_of);
    for (int i = 0; i < n && i < p->top; i++) {
        const ek_ir_count_difference *c = &difference[i];
        fputs("  ", p->out);
        ek__print_cell(c->name, 28, p->out);
        fprintf(p->out, "  %8" PRId64 "  %8" PRId64 "  %+8" PRId64, c->n[0], c->n[1], c->n[1] - c->n[0]);
        fprintf(p->out, "  %12s", ek__ir_size(c->bytes[0]).text);
        fprintf(p->out, "  %12s\n", ek__ir_size(c->bytes[1]).text);
    }
    more(p, n);
}

static void print_only(const page *p, int side)
{
    const ek_ir *ir = p->side[side]->ir;
    int n = p->d->n_only[side];
    char type[256];
    if (n == 0)
        return;
    ek__ir_heading(p->view, side ? "Only after" : "Only before", p->out);
    fprintf(p->out, ": %d operator%s\n  %7s  %-8s %-16s  %-26s  scope\n", n, n == 1 ? "" : "s", "line", "node",
            "operator", "output");
    for (int i = 0; i < n && i < p->top; i++) {
        uint32_t at = p->d->only[side][i];
        const ek_ir_node *node = &ir->node[at];
        ek_ir_type_text(ir, node->type, type, sizeof type);
        fprintf(p->out, "  %7" PRIu32 "  %-8s ", node->line, ek__ir_node_label(ir, at).text);
        ek__print_cell(ek__ir_primitive(ir, at), 16, p->out);
        fputs("  ", p->out);
        ek__print_cell(type, 26, p->out);
        fputs("  ", p->out);
        ek__print_tail(ek_ir_text(ir, node->scope), EK__PAGE_WIDTH - 66, p->out);
        fputc('\n', p->out);
    }
    more(p, n);
}

static bool same_in_all(const ek_ir_difference *d)
{
    return d->n_primitives + d->n_comms + d->n_only[0] + d->n_only[1] == 0 && d->kept_bytes[0] == d->kept_bytes[1] &&
           d->traffic[0] == d->traffic[1] && d->n_recompute_requested[0] == d->n_recompute_requested[1] &&
           d->n_recompute_in_effect[0] == d->n_recompute_in_effect[1] && d->parameter_bytes[0] == d->parameter_bytes[1];
}

ek_status ek__ir_write_difference_text(const ek_ir_report *a, const ek_ir_report *b, const ek_ir_difference *difference,
                                       const ek_ir_view *view, FILE *out, ek_error *err)
{
    const page p = {out, {a, b}, difference, view, ek__ir_top(view)};
    for (int i = 0; i < 2; i++) {
        fprintf(out, "%-6s  ", side_name[i]);
        ek__print_name(p.side[i]->ir->path, out);
        fputc('\n', out);
    }
    if (same_in_all(difference))
        fputs("no difference in operators, recomputation, communication or parameters\n", out);
    print_sums(&p);
    if (!view || !view->verdict_only) {
        print_differences(&p, "Operators", "bytes of outputs", difference->primitive, difference->n_primitives);
        print_differences(&p, "Communication", "bytes sent", difference->comm, difference->n_comms);
        print_only(&p, 0);
        print_only(&p, 1);
    }
    return ek__finish(out, err);
}

/* ---- JSON ---- */

ek_status ek__ir_write_difference_json(const ek_ir_report *a, const ek_ir_report *b, const ek_ir_difference *difference,
                                       const ek_ir_view *view, FILE *out, ek_error *err)
{
    (void)view; /* the selection is for people; the comparison is of all */
    const ek_ir_difference *d = difference;
    const ek__ir_sides sides = {
        .side = {{.report = *a, .only = d->only[0], .n_only = d->n_only[0]},
                 {.report = *b, .only = d->only[1], .n_only = d->n_only[1]}},
        .difference = *d,
        .same = same_in_all(d),
        .operators = {a->ir->n_operators, b->ir->n_operators},
        .recompute_requested = {d->n_recompute_requested[0], d->n_recompute_requested[1]},
        .recompute_in_effect = {d->n_recompute_in_effect[0], d->n_recompute_in_effect[1]},
    };
    return ek__write_fields(ek__result_ir_difference.fields, &sides, NULL, 0, out, err);
}
