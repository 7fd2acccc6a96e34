/* Writes chosen operators, their producers and consumers, and the edges between, as Graphviz. An edge from a forward
 * value to a backward operator costs memory: it is drawn thick, with its bytes. Neighbours are dashed; their other
 * connections are not drawn. Literals and graphs are not nodes and are omitted. */
#include <inttypes.h>
#include <stdlib.h>

#include "base/error.h"
#include "evenkeel/ir.h"
#include "report/ir_internal.h"
#include "report/writers.h"

enum { LINE = 44 };

enum { CHOSEN = 1, NEIGHBOUR = 2, KEPT = 4, BLOCKING = 8, IN_VAIN = 16, COMMUNICATES = 32 };

typedef struct drawing {
    const ek_ir_report *r;
    const ek_ir *ir;
    FILE *out;
    unsigned char *mark;      /* [n_nodes] */
    unsigned char *parameter; /* [n_parameters]: is drawn */
} drawing;

static void escape(const char *text, FILE *out)
{
    uint32_t code;
    for (int length; (length = ek__utf8_next(text, &code)); text += length) {
        bool control = code < 0x20 || (code >= 0x7f && code < 0xa0);
        if (code == '"' || code == '\\')
            fputc('\\', out);
        /* Graphviz reads "&amp;" as an HTML character in every label. */
        if (code == '&')
            fputs("&amp;", out);
        else
            ek__utf8_print(control ? 0xfffd : code, out);
    }
}

/* ---- selection ---- */

static void mark_neighbours(drawing *d)
{
    const ek_ir *ir = d->ir;
    for (uint32_t i = 0; i < ir->n_nodes; i++)
        for (uint32_t k = 0; k < ir->node[i].n_inputs; k++) {
            const ek_ir_input *input = &ir->input[ir->node[i].first_input + k];
            if (input->kind == EK_IR_INPUT_NODE && (d->mark[i] & CHOSEN))
                d->mark[input->index] |= NEIGHBOUR;
            if (input->kind == EK_IR_INPUT_NODE && (d->mark[input->index] & CHOSEN))
                d->mark[i] |= NEIGHBOUR;
            if (input->kind == EK_IR_INPUT_PARAMETER && (d->mark[i] & CHOSEN))
                d->parameter[input->index] = 1;
        }
}

static void mark_findings(drawing *d)
{
    for (int i = 0; i < d->r->n_kept; i++)
        d->mark[d->r->kept[i].node] |= KEPT;
    for (int i = 0; i < d->r->n_comms; i++)
        d->mark[d->r->comm[i].node] |= COMMUNICATES;
    for (int i = 0; i < d->r->n_recompute; i++) {
        const ek_ir_recompute *r = &d->r->recompute[i];
        if (ek__ir_outcome_of(r) != EK__IR_NOT_IN_EFFECT)
            continue;
        d->mark[r->node] |= IN_VAIN;
        if (r->blocked_by != EK_IR_NONE)
            d->mark[r->blocked_by] |= BLOCKING;
    }
}

static bool drawn(const drawing *d, uint32_t node)
{
    return d->mark[node] & (CHOSEN | NEIGHBOUR);
}

static uint32_t count_drawn(const drawing *d)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < d->ir->n_nodes; i++)
        n += drawn(d, i);
    return n;
}

/* ---- nodes ---- */

/* The end of a text, cut to a line of a box. */
static void write_tail(const char *text, FILE *out)
{
    const char *tail = ek__tail(text, LINE);
    fputs(tail > text ? "..." : "", out);
    escape(tail, out);
}

static const char *fill(const drawing *d, uint32_t i)
{
    uint32_t flags = d->ir->node[i].flags;
    if (d->mark[i] & BLOCKING)
        return "#f6c7c3";
    if (flags & EK_IR_DUPLICATED)
        return "#d5ead2";
    if (d->mark[i] & COMMUNICATES)
        return "#e3d7f2";
    return flags & EK_IR_BACKWARD ? "#fbe3c6" : "#dbe8f7";
}

static void write_node(const drawing *d, uint32_t i)
{
    const ek_ir_node *node = &d->ir->node[i];
    char text[EK__IR_SCOPE];
    fprintf(d->out, "  n%" PRIu32 " [label=\"", i);
    if (node->number != EK_IR_NONE)
        fprintf(d->out, "%%%" PRIu32 " ", node->number);
    escape(ek__ir_primitive(d->ir, i), d->out);
    if (d->mark[i] & IN_VAIN)
        fputs("\\nto be recomputed: not in effect", d->out);
    else if (d->mark[i] & BLOCKING)
        fputs("\\nin the way of recomputation", d->out);
    else if (node->flags & EK_IR_DUPLICATED)
        fputs("\\ncopy", d->out);
    else if (node->flags & EK_IR_RECOMPUTE)
        fputs("\\nto be recomputed", d->out);
    if (node->type != EK_IR_NONE) {
        ek_ir_type_text(d->ir, node->type, text, sizeof text);
        fputs("\\n", d->out);
        write_tail(text, d->out);
    }
    ek_ir_scope(d->ir, node, text, sizeof text);
    if (text[0]) {
        fputs("\\n", d->out);
        write_tail(text, d->out);
    }
    fprintf(d->out, "\\nline %" PRIu32 "\", tooltip=\"", node->line);
    escape(text, d->out);
    fprintf(d->out, "\", fillcolor=\"%s\", style=\"filled%s\"%s];\n", fill(d, i), d->mark[i] & CHOSEN ? "" : ",dashed",
            d->mark[i] & (IN_VAIN | BLOCKING) ? ", color=\"#b3261e\", penwidth=2" : "");
}

static void write_parameter(const drawing *d, uint32_t i)
{
    const ek_ir_parameter *parameter = &d->ir->parameter[i];
    char type[256];
    fprintf(d->out, "  p%" PRIu32 " [shape=ellipse, style=filled, fillcolor=\"#eeeeee\", label=\"", i);
    write_tail(ek_ir_text(d->ir, parameter->name), d->out);
    if (parameter->type != EK_IR_NONE) {
        ek_ir_type_text(d->ir, parameter->type, type, sizeof type);
        fputs("\\n", d->out);
        write_tail(type, d->out);
    }
    fputs("\"];\n", d->out);
}

/* ---- edges ---- */

static void write_edge(const drawing *d, uint32_t from, uint32_t to)
{
    const ek_ir *ir = d->ir;
    fprintf(d->out, "  n%" PRIu32 " -> n%" PRIu32, from, to);
    if ((d->mark[from] & KEPT) && (ir->node[to].flags & EK_IR_BACKWARD)) {
        fputs(" [color=\"#b3261e\", fontcolor=\"#b3261e\", penwidth=2.5, label=\"kept", d->out);
        if (ir->node[from].type != EK_IR_NONE)
            fprintf(d->out, " %s", ek__ir_size(ir->type[ir->node[from].type].bytes).text);
        fputs("\"]", d->out);
    }
    fputs(";\n", d->out);
}

static void write_edges(const drawing *d)
{
    const ek_ir *ir = d->ir;
    for (uint32_t i = 0; i < ir->n_nodes; i++) {
        if (!drawn(d, i))
            continue;
        for (uint32_t k = 0; k < ir->node[i].n_inputs; k++) {
            const ek_ir_input *input = &ir->input[ir->node[i].first_input + k];
            if (input->kind == EK_IR_INPUT_NODE && drawn(d, input->index))
                write_edge(d, input->index, i);
            else if (input->kind == EK_IR_INPUT_PARAMETER && d->parameter[input->index])
                fprintf(d->out, "  p%" PRIu32 " -> n%" PRIu32 " [color=\"#888888\"];\n", input->index, i);
        }
    }
}

/* Nodes of one graph in one frame if there are several graphs. */
static void write_nodes(const drawing *d)
{
    const ek_ir *ir = d->ir;
    uint32_t open = EK_IR_NONE;
    for (uint32_t i = 0; i < ir->n_nodes; i++) {
        if (!drawn(d, i))
            continue;
        uint32_t graph = ir->n_graphs > 1 ? ir->node[i].graph : EK_IR_NONE;
        if (graph != open && open != EK_IR_NONE)
            fputs("  }\n", d->out);
        if (graph != open && graph != EK_IR_NONE) {
            fprintf(d->out, "  subgraph cluster_%" PRIu32 " {\n  color=\"#999999\";\n  label=\"", graph);
            escape(ek_ir_text(ir, ir->graph[graph].name), d->out);
            fputs("\";\n", d->out);
        }
        open = graph;
        write_node(d, i);
    }
    fputs(open != EK_IR_NONE ? "  }\n" : "", d->out);
}

static void write_all(const drawing *d)
{
    fputs("digraph ir {\n  label=\"", d->out);
    escape(d->ir->path, d->out);
    fputs("\";\n  labelloc=t;\n  fontname=\"Helvetica\";\n  bgcolor=\"white\";\n"
          "  node [shape=box, fontname=\"Helvetica\", fontsize=10, color=\"#777777\"];\n"
          "  edge [fontname=\"Helvetica\", fontsize=9, color=\"#555555\"];\n",
          d->out);
    write_nodes(d);
    for (uint32_t i = 0; i < d->ir->n_parameters; i++)
        if (d->parameter[i])
            write_parameter(d, i);
    write_edges(d);
    fputs("}\n", d->out);
}

static ek_status draw(drawing *d, const ek__ir_choice *choice, ek_error *err)
{
    for (uint32_t i = 0; i < d->ir->n_nodes; i++)
        d->mark[i] = ek__ir_chosen(choice, i) ? CHOSEN : 0;
    mark_neighbours(d);
    mark_findings(d);
    uint32_t n = count_drawn(d);
    if (choice->n == 0)
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE,
                        "no operator of '%.400s' is chosen, so there is nothing to draw", d->ir->path);
    if (n > EK_IR_MAX_DRAWN)
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE,
                        "%" PRIu32 " operators of '%.400s' would be drawn, and %d are the most that can be looked at; "
                        "choose some by layer (--layer N) or by name (--op REGEX)",
                        n, d->ir->path, EK_IR_MAX_DRAWN);
    write_all(d);
    return ek__finish(d->out, err);
}

ek_status ek__ir_write_dot(const ek_ir_report *report, const ek_ir_view *view, FILE *out, ek_error *err)
{
    const ek_ir *ir = report->ir;
    ek__ir_choice choice;
    ek_status status = ek__ir_choose(ir, view, &choice, err);
    if (status)
        return status;
    drawing d = {report, ir, out, ek__alloc(ir->n_nodes, 1), ek__alloc(ir->n_parameters, 1)};
    status = d.mark && d.parameter ? draw(&d, &choice, err) : ek__no_memory(err);
    free(d.mark);
    free(d.parameter);
    ek__ir_choice_clear(&choice);
    return status;
}
