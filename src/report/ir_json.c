/* Checked graphs as JSON, by docs/ir-json.md: one object for all files, in which every entry says its file. It is
 * printed as it goes, so that a large graph needs no second copy in memory. A number that is not known is null. */
#include <stdlib.h>

#include "base/error.h"
#include "evenkeel/ir.h"
#include "report/ir_internal.h"
#include "report/writers.h"

/* What all parts print with. */
typedef struct page {
    ek__stream s;
    const ek_ir_report *const *report;
    const ek__ir_sums *sums; /* [n] */
    const ek_ir_view *view;
    int n;
} page;

/* ---- nodes ---- */

static void put_number(ek__stream *s, const char *key, const ek_ir *ir, uint32_t node)
{
    bool none = node == EK_IR_NONE || (ir->node[node].number == EK_IR_NONE && !(ir->node[node].flags & EK_IR_RETURN));
    ek__stream_text(s, key, none ? NULL : ek__ir_node_label(ir, node).text);
}

static void put_text(ek__stream *s, const char *key, const ek_ir *ir, uint32_t text)
{
    ek__stream_text(s, key, text == EK_IR_NONE ? NULL : ek_ir_text(ir, text));
}

static void put_type(ek__stream *s, const char *key, const ek_ir *ir, uint32_t type)
{
    char text[1024];
    if (type != EK_IR_NONE)
        ek_ir_type_text(ir, type, text, sizeof text);
    ek__stream_text(s, key, type == EK_IR_NONE ? NULL : text);
}

static void put_graph_name(ek__stream *s, const char *key, const ek_ir *ir, uint32_t graph)
{
    put_text(s, key, ir, graph == EK_IR_NONE ? EK_IR_NONE : ir->graph[graph].name);
}

void ek__ir_put_node(ek__stream *s, const ek_ir *ir, uint32_t node)
{
    const ek_ir_node *n = &ir->node[node];
    char scope[EK__IR_SCOPE];
    ek_ir_scope(ir, n, scope, sizeof scope);
    ek__stream_text(s, "file", ir->path);
    ek__stream_int(s, "line", n->line);
    put_graph_name(s, "graph", ir, n->graph);
    put_number(s, "node", ir, node);
    ek__stream_text(s, "operator", ek__ir_primitive(ir, node));
    ek__stream_text(s, "scope", scope[0] ? scope : NULL);
    ek__stream_from(s, "layer", ek_ir_layer(ir, n), 0);
    ek__stream_from(s, "micro_batch", n->micro, 0);
}

/* ---- files and graphs ---- */

static void put_files(page *p)
{
    ek__stream *s = &p->s;
    ek__stream_list(s, "files", true);
    for (int i = 0; i < p->n; i++) {
        const ek_ir_report *r = p->report[i];
        const ek_ir *ir = r->ir;
        const ek__ir_sums *sums = &p->sums[i];
        ek__stream_object(s, NULL, false);
        ek__stream_text(s, "file", ir->path);
        ek__stream_int(s, "bytes", ir->bytes);
        ek__stream_int(s, "lines", ir->n_lines);
        put_text(s, "entry", ir, ir->entry);
        ek__stream_int(s, "nodes", ir->n_nodes);
        ek__stream_int(s, "operators", ir->n_operators);
        ek__stream_int(s, "parameters", ek__ir_count_parameters(ir));
        ek__stream_from(s, "said_nodes", ir->said_nodes, 0);
        ek__stream_from(s, "said_operators", ir->said_cnodes, 0);
        ek__stream_from(s, "said_graphs", ir->said_graphs, 0);
        ek__stream_from(s, "said_parameters", ir->said_parameters, 0);
        ek__stream_bool(s, "analyze_fail", ir->analyze_fail);
        ek__stream_bool(s, "has_backward", r->has_backward);
        ek__stream_int(s, "damaged", ir->n_diagnostics);
        ek__stream_int(s, "not_understood", ir->n_unknown);
        ek__stream_int(s, "attributes_left_out", ir->n_left_out);
        ek__stream_bool(s, "all_shown", sums->choice.all);
        ek__stream_int(s, "nodes_shown", sums->choice.n);
        ek__stream_int(s, "forward", sums->n_forward);
        ek__stream_int(s, "backward", sums->n_backward);
        ek__stream_int(s, "copies", sums->n_copies);
        ek__stream_from(s, "first_micro_batch", sums->first_micro, 0);
        ek__stream_from(s, "last_micro_batch", sums->last_micro, 0);
        ek__stream_int(s, "kept_bytes_of_graph", r->kept_bytes);
        ek__stream_int(s, "kept_tensors", sums->n_kept);
        ek__stream_int(s, "kept_bytes", sums->kept);
        ek__stream_int(s, "traffic_bytes", sums->traffic);
        ek__stream_end(s);
    }
    ek__stream_end(s);
}

static void put_graph(page *p, const ek_ir *ir, uint32_t graph, uint32_t nodes, uint32_t parameters)
{
    ek__stream *s = &p->s;
    bool none = graph == EK_IR_NONE;
    ek__stream_object(s, NULL, false);
    ek__stream_text(s, "file", ir->path);
    put_graph_name(s, "name", ir, graph);
    put_graph_name(s, "parent", ir, none ? EK_IR_NONE : ir->graph[graph].parent);
    ek__stream_int(s, "line", none ? INT64_MIN : (int64_t)ir->graph[graph].line);
    ek__stream_int(s, "nodes", nodes);
    ek__stream_int(s, "parameters", parameters);
    ek__stream_end(s);
}

static bool is_entry(const ek_ir *ir, uint32_t graph)
{
    return ir->entry != EK_IR_NONE && ir->graph[graph].name == ir->entry;
}

/* The list of parameters before all graphs belongs to the entry. Nodes that no graph is around, in a fragment, and
 * that list where the entry is not in the file come as a graph without name. */
static void put_graphs_of(page *p, const ek_ir *ir)
{
    uint32_t nodes = 0, listed = 0;
    for (uint32_t i = 0; i < ir->n_nodes; i++)
        nodes += ir->node[i].graph == EK_IR_NONE;
    for (uint32_t i = 0; i < ir->n_parameters; i++)
        listed += ir->parameter[i].graph == EK_IR_NONE;
    for (uint32_t i = 0; i < ir->n_graphs; i++) {
        bool takes_list = listed > 0 && is_entry(ir, i);
        put_graph(p, ir, i, ir->graph[i].n_nodes, takes_list ? listed : ir->graph[i].n_formals);
        listed = takes_list ? 0 : listed;
    }
    if (nodes + listed > 0)
        put_graph(p, ir, EK_IR_NONE, nodes, listed);
}

static void put_graphs(page *p)
{
    ek__stream_list(&p->s, "graphs", true);
    for (int i = 0; i < p->n; i++)
        put_graphs_of(p, p->report[i]->ir);
    ek__stream_end(&p->s);
}

/* ---- recomputation ---- */

static void put_answer(ek__stream *s, const char *key, ek_ir_answer answer)
{
    if (answer == EK_IR_UNSEEN)
        ek__stream_null(s, key);
    else
        ek__stream_bool(s, key, answer == EK_IR_YES);
}

static void put_recompute(page *p, const ek_ir *ir, const ek_ir_recompute *r)
{
    ek__stream *s = &p->s;
    ek__stream_object(s, NULL, false);
    ek__ir_put_node(s, ir, r->node);
    ek__stream_bool(s, "requested", true);
    put_answer(s, "in_effect", r->in_effect);
    ek__stream_bool(s, "by_design", r->by_design);
    put_number(s, "copy", ir, r->copy);
    put_number(s, "held", ir, r->held);
    put_number(s, "consumer", ir, r->consumer);
    put_number(s, "blocked_by", ir, r->blocked_by);
    ek__stream_text(s, "blocked_by_operator", r->blocked_by == EK_IR_NONE ? NULL : ek__ir_primitive(ir, r->blocked_by));
    ek__stream_int(s, "blocked_by_line",
                   r->blocked_by == EK_IR_NONE ? INT64_MIN : (int64_t)ir->node[r->blocked_by].line);
    ek__stream_text(s, "setting", r->setting);
    ek__stream_from(s, "bytes", r->bytes, 0);
    ek__stream_end(s);
}

static void put_recomputes(page *p)
{
    ek__stream_list(&p->s, "recompute", true);
    for (int i = 0; i < p->n; i++)
        for (int k = 0; k < p->report[i]->n_recompute; k++)
            if (ek__ir_chosen(&p->sums[i].choice, p->report[i]->recompute[k].node))
                put_recompute(p, p->report[i]->ir, &p->report[i]->recompute[k]);
    ek__stream_end(&p->s);
}

/* ---- communication ---- */

static void put_comm(page *p, const ek_ir *ir, const ek_ir_comm *c)
{
    ek__stream *s = &p->s;
    const ek_ir_node *node = &ir->node[c->node];
    ek__stream_object(s, NULL, false);
    ek__ir_put_node(s, ir, c->node);
    ek__stream_text(s, "kind", ek_ir_comm_kind_name[c->kind]);
    ek__stream_text(s, "role", ek_ir_comm_role_name[c->role]);
    ek__stream_text(s, "group", c->group);
    ek__stream_from(s, "ranks", c->n_ranks, 1);
    ek__stream_from(s, "bytes", c->bytes, 0);
    ek__stream_from(s, "traffic_bytes", c->traffic, 0);
    ek__stream_bool(s, "backward", c->backward);
    ek__stream_bool(s, "copy", c->copy);
    ek__stream_int(s, "position", c->position);
    put_text(s, "instance", ir, node->instance);
    put_type(s, "type", ir, node->type);
    ek__stream_end(s);
}

static void put_comms(page *p)
{
    ek__stream_list(&p->s, "communication", true);
    for (int i = 0; i < p->n; i++)
        for (int k = 0; k < p->report[i]->n_comms; k++)
            if (ek__ir_chosen(&p->sums[i].choice, p->report[i]->comm[k].node))
                put_comm(p, p->report[i]->ir, &p->report[i]->comm[k]);
    ek__stream_end(&p->s);
}

static void put_comm_sums(page *p)
{
    ek__stream *s = &p->s;
    ek__stream_list(s, "communication_sums", true);
    for (int i = 0; i < p->n; i++)
        for (int k = 0; k < p->sums[i].n_comms; k++) {
            const ek__ir_comm_sum *sum = &p->sums[i].comm[k];
            ek__stream_object(s, NULL, false);
            ek__stream_text(s, "file", p->report[i]->ir->path);
            ek__stream_text(s, "kind", ek_ir_comm_kind_name[sum->kind]);
            ek__stream_text(s, "role", ek_ir_comm_role_name[sum->role]);
            ek__stream_text(s, "group", sum->group);
            ek__stream_from(s, "ranks", sum->n_ranks, 1);
            ek__stream_int(s, "n", sum->n);
            ek__stream_int(s, "n_backward", sum->n_backward);
            ek__stream_int(s, "n_copies", sum->n_copies);
            ek__stream_int(s, "n_unknown", sum->n_unknown);
            ek__stream_int(s, "bytes", sum->bytes);
            ek__stream_int(s, "traffic_bytes", sum->traffic);
            ek__stream_end(s);
        }
    ek__stream_end(s);
}

/* ---- kept tensors, layers, parameters ---- */

static void put_kept(page *p)
{
    ek__stream *s = &p->s;
    ek__stream_list(s, "kept", true);
    for (int i = 0; i < p->n; i++)
        for (int k = 0; k < p->report[i]->n_kept; k++) {
            const ek_ir_kept *kept = &p->report[i]->kept[k];
            const ek_ir *ir = p->report[i]->ir;
            if (!ek__ir_chosen(&p->sums[i].choice, kept->node))
                continue;
            ek__stream_object(s, NULL, false);
            ek__ir_put_node(s, ir, kept->node);
            put_type(s, "type", ir, ir->node[kept->node].type);
            ek__stream_from(s, "bytes", kept->bytes, 0);
            ek__stream_int(s, "life", kept->life);
            put_number(s, "consumer", ir, kept->consumer);
            ek__stream_int(s, "n_consumers", kept->n_consumers);
            ek__stream_end(s);
        }
    ek__stream_end(s);
}

static void put_layers(page *p)
{
    ek__stream *s = &p->s;
    ek__stream_list(s, "layers", true);
    for (int i = 0; i < p->n; i++)
        for (int k = 0; k < p->sums[i].n_layers; k++) {
            const ek__ir_layer_sum *layer = &p->sums[i].layer[k];
            ek__stream_object(s, NULL, false);
            ek__stream_text(s, "file", p->report[i]->ir->path);
            ek__stream_from(s, "layer", layer->layer, 0);
            ek__stream_int(s, "kept_tensors", layer->n_kept);
            ek__stream_int(s, "kept_bytes", layer->kept);
            ek__stream_int(s, "communications", layer->n_comms);
            ek__stream_int(s, "traffic_bytes", layer->traffic);
            ek__stream_int(s, "recompute_in_effect", layer->n_recompute[EK__IR_IN_EFFECT]);
            ek__stream_int(s, "recompute_not_in_effect", layer->n_recompute[EK__IR_NOT_IN_EFFECT]);
            ek__stream_int(s, "recompute_by_design", layer->n_recompute[EK__IR_BY_DESIGN]);
            ek__stream_int(s, "recompute_not_seen", layer->n_recompute[EK__IR_NOT_SEEN]);
            ek__stream_end(s);
        }
    ek__stream_end(s);
}

static void put_parameters(page *p)
{
    ek__stream *s = &p->s;
    ek__stream_list(s, "parameters", true);
    for (int i = 0; i < p->n; i++)
        for (int k = 0; k < p->report[i]->n_sums; k++) {
            const ek_ir_parameter_sum *sum = &p->report[i]->sum[k];
            ek__stream_object(s, NULL, false);
            ek__stream_text(s, "file", p->report[i]->ir->path);
            ek__stream_text(s, "prefix", sum->prefix);
            ek__stream_int(s, "n", sum->n);
            ek__stream_from(s, "bytes", sum->bytes, 0);
            ek__stream_end(s);
        }
    ek__stream_end(s);
}

/* ---- findings ---- */

static void put_finding(page *p, const ek_ir *ir, const ek_ir_finding *f)
{
    ek__stream *s = &p->s;
    ek__stream_object(s, NULL, true);
    ek__stream_text(s, "check", f->check);
    ek__stream_text(s, "severity", ek_ir_severity_name[f->severity]);
    if (f->node != EK_IR_NONE) {
        ek__ir_put_node(s, ir, f->node);
    } else {
        ek__stream_text(s, "file", ir->path);
        ek__stream_null(s, "line");
    }
    ek__stream_int(s, "occurrences", f->n_occurrences);
    ek__stream_int(s, "layers", f->n_layers);
    ek__stream_from(s, "bytes", f->bytes, 0);
    ek__stream_text(s, "bytes_of", f->bytes_of);
    ek__stream_text(s, "text", f->text);
    ek__stream_text(s, "advice", f->advice);
    ek__stream_list(s, "chain", true);
    for (int i = 0; i < f->n_chain; i++) {
        const ek_ir_node *node = &ir->node[f->chain[i]];
        ek__stream_object(s, NULL, false);
        ek__ir_put_node(s, ir, f->chain[i]);
        put_type(s, "type", ir, node->type);
        put_text(s, "in_strategy", ir, node->in_strategy);
        put_text(s, "out_strategy", ir, node->out_strategy);
        ek__stream_end(s);
    }
    ek__stream_end(s);
    ek__stream_end(s);
}

static void put_findings(page *p)
{
    ek__stream_list(&p->s, "findings", true);
    for (int i = 0; i < p->n; i++)
        for (int k = 0; k < p->report[i]->n_findings; k++)
            if (ek__ir_shows_finding(p->view, &p->sums[i].choice, &p->report[i]->finding[k]))
                put_finding(p, p->report[i]->ir, &p->report[i]->finding[k]);
    ek__stream_end(&p->s);
}

/* ---- chosen nodes ---- */

static void put_input(ek__stream *s, const ek_ir *ir, const ek_ir_input *input)
{
    ek__stream_object(s, NULL, false);
    switch ((ek_ir_input_kind)input->kind) {
    case EK_IR_INPUT_NODE:
        put_number(s, "node", ir, input->index);
        ek__stream_int(s, "line", ir->node[input->index].line);
        break;
    case EK_IR_INPUT_PARAMETER:
        put_text(s, "parameter", ir, ir->parameter[input->index].name);
        break;
    case EK_IR_INPUT_GRAPH:
        put_graph_name(s, "graph", ir, input->index);
        break;
    case EK_IR_INPUT_LITERAL:
        put_text(s, "value", ir, input->index);
        break;
    case EK_IR_INPUT_OUTSIDE:
        ek__stream_int(s, "outside", input->index);
        break;
    }
    put_type(s, "type", ir, input->type);
    ek__stream_end(s);
}

static void put_node_whole(ek__stream *s, const ek_ir *ir, uint32_t i)
{
    const ek_ir_node *node = &ir->node[i];
    ek__stream_object(s, NULL, false);
    ek__ir_put_node(s, ir, i);
    put_text(s, "name", ir, node->name);
    put_text(s, "instance", ir, node->instance);
    put_type(s, "type", ir, node->type);
    ek__stream_from(s, "bytes", node->type == EK_IR_NONE ? -1 : ir->type[node->type].bytes, 0);
    put_text(s, "in_strategy", ir, node->in_strategy);
    put_text(s, "out_strategy", ir, node->out_strategy);
    put_text(s, "source", ir, node->source);
    ek__stream_list(s, "marks", false);
    for (int bit = 0; bit < EK__IR_N_FLAGS; bit++)
        if (node->flags & (1U << bit))
            ek__stream_text(s, NULL, ek__ir_flag_name[bit]);
    ek__stream_end(s);
    ek__stream_list(s, "inputs", false);
    for (uint32_t k = 0; k < node->n_inputs; k++)
        put_input(s, ir, &ir->input[node->first_input + k]);
    ek__stream_end(s);
    ek__stream_list(s, "attributes", false);
    for (uint32_t k = 0; k < node->n_attributes; k++) {
        const ek_ir_attribute *attribute = &ir->attribute[node->first_attribute + k];
        ek__stream_object(s, NULL, false);
        put_text(s, "key", ir, attribute->key);
        put_text(s, "value", ir, attribute->value);
        ek__stream_end(s);
    }
    ek__stream_end(s);
    ek__stream_end(s);
}

static void put_nodes(page *p)
{
    ek__stream_list(&p->s, "nodes", true);
    for (int i = 0; i < p->n; i++)
        for (uint32_t k = 0; k < p->report[i]->ir->n_nodes; k++)
            if (ek__ir_chosen(&p->sums[i].choice, k))
                put_node_whole(&p->s, p->report[i]->ir, k);
    ek__stream_end(&p->s);
}

/* ---- all of it ---- */

static void put_all(page *p)
{
    ek__stream *s = &p->s;
    ek__stream_object(s, NULL, true);
    ek__stream_int(s, "version", 1);
    put_files(p);
    put_graphs(p);
    put_recomputes(p);
    put_comms(p);
    put_comm_sums(p);
    put_kept(p);
    put_layers(p);
    put_parameters(p);
    put_findings(p);
    if (p->n > 0 && !p->sums[0].choice.all)
        put_nodes(p);
    ek__stream_end(s);
    fputc('\n', s->out);
}

ek_status ek__ir_write_json(const ek_ir_report *const *report, int n, const ek_ir_view *view, FILE *out, ek_error *err)
{
    ek__ir_sums *sums = ek__alloc((size_t)n, sizeof *sums);
    ek_status status = sums ? EK_OK : ek__no_memory(err);
    int summed = 0;
    for (; status == EK_OK && summed < n; summed += status == EK_OK)
        status = ek__ir_sum(report[summed], view, &sums[summed], err);
    if (status == EK_OK) {
        page p = {{.out = out}, report, sums, view, n};
        put_all(&p);
        status = ek__finish(out, err);
    }
    for (int i = 0; i < summed; i++)
        ek__ir_sums_clear(&sums[i]);
    free(sums);
    return status;
}
