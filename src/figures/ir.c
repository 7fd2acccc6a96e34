/* Figures of checked graphs: files, and lists of the contents of all of them, each entry with its file. */
#include "figures/ir_figures.h"
#include "figures/results.h"
#include "figures/rows.h"

/* ---- files and graphs ---- */

#define EK__T ek_ir
GETTER(ir_path, text, it->path);
GETTER(entry, text, it->entry == EK_IR_NONE ? NULL : ek_ir_text(it, it->entry));
GETTER(parameters, number, ek__ir_count_parameters(it));
static const ek__member whole_file[] = {
    {"file", GET(TEXT, ir_path), "as given"},
    {"bytes", BYTES(bytes), "size of the file"},
    {"lines", COUNT(n_lines), "of the file"},
    {"entry", GET(TEXT, entry), "the entry's name in the header; null: the file has none"},
    {"nodes", COUNT(n_nodes), "with Return"},
    {"operators", COUNT(n_operators), "without Return"},
    {"parameters", GET(COUNT, parameters), "of the list before all graphs; without one the formal ones of all graphs"},
    {"said_nodes", NUMBER(said_nodes), "count of the header, or null"},
    {"said_operators", NUMBER(said_cnodes), "the same of operators"},
    {"said_graphs", NUMBER(said_graphs), "the same of graphs"},
    {"said_parameters", NUMBER(said_parameters), "the same of parameters"},
    {"analyze_fail", FLAG(analyze_fail), "the dialect that a failed compilation leaves"},
};
static const ek__fields whole_files = {FIELDS(whole_file, NULL, NULL)};
static const ek__member damage[] = {
    {"damaged", COUNT(n_diagnostics), "damaged places; each is reported on standard error"},
    {"not_understood", COUNT(n_unknown), "lines and groups left out without harm"},
    {"attributes_left_out", COUNT(n_left_out), "attributes that no check reads"},
};
static const ek__fields damages = {FIELDS(damage, NULL, NULL)};
#undef EK__T

#define EK__T ek__ir_file
FINDER(ir, it->report.ir);
static const ek__member file[] = {
    {NULL, FOUND_PARTS(ir, whole_files), NULL},
    {"has_backward", FLAG(report.has_backward), "a backward operator is in the file"},
    {NULL, FOUND_PARTS(ir, damages), NULL},
    {"all_shown", FLAG(sums.choice.all), "nothing is left out by `--layer` and `--op`"},
    {"nodes_shown", COUNT(sums.choice.n), "nodes that are not left out; every Return among them when all are shown"},
    {"forward", COUNT(sums.n_forward), "operators shown: of the forward pass"},
    {"backward", COUNT(sums.n_backward), "operators shown: of the backward pass"},
    {"copies", COUNT(sums.n_copies), "operators shown: copies that are made for recomputation"},
    {"first_micro_batch", NUMBER(sums.first_micro), "the first that operators shown name; null: they name none"},
    {"last_micro_batch", NUMBER(sums.last_micro), "the last one"},
    {"kept_bytes_of_graph", BYTES(report.kept_bytes), "saved activations of the whole file and all its micro-batches"},
    {"kept_tensors", COUNT(sums.n_kept),
     "the shown part of it, for one micro-batch: the first, and values without one"},
    {"kept_bytes", BYTES(sums.kept), "bytes of these"},
    {"traffic_bytes", BYTES(sums.traffic), "bytes sent by each device, as in `communication`"},
};
static const ek__fields files = {FIELDS(file, "files[]", NULL)};
#undef EK__T

#define EK__T ek__ir_graph_sum
GETTER(path, text, ek__ir_of(of)->path);
GETTER(parent, text,
       it->graph == EK_IR_NONE ? NULL : ek__ir_graph_name(ek__ir_of(of)->graph[it->graph].parent, of, NULL, 0));
GETTER(graph_line, number, it->graph == EK_IR_NONE ? INT64_MIN : (int64_t)ek__ir_of(of)->graph[it->graph].line);
static const ek__member graph[] = {
    {"file", GET(TEXT, path), "as given"},
    {"name", TEXT_OF(graph, ek__ir_graph_name), "null: outside of a graph, in a fragment"},
    {"parent", GET(TEXT, parent), "the graph that it is in; null: none"},
    {"line", GET(COUNT, graph_line), "where it begins; null without name"},
    {"nodes", COUNT(nodes), "with Return"},
    {"parameters", COUNT(parameters), "of the entry those of the list before all graphs, else the formal ones"},
};
static const ek__fields graphs = {FIELDS(graph, "graphs[]", NULL)};
#undef EK__T

/* ---- recomputation, communication, saved tensors ---- */

/* These structs begin with the number of their node. */
_Static_assert(offsetof(ek_ir_recompute, node) + offsetof(ek_ir_comm, node) + offsetof(ek_ir_kept, node) == 0, "first");
#define EK__T uint32_t
CONDITION(is_chosen, ek__ir_chosen(&ek__ir_file_of(of)->sums.choice, *it));
#undef EK__T

static const char *primitive(uint32_t node, const ek__owner *of, char *text, size_t room)
{
    (void)text;
    (void)room;
    return node == EK_IR_NONE ? NULL : ek__ir_primitive(ek__ir_of(of), node);
}

#define EK__T ek_ir_recompute
GETTER(requested, number, true);
GETTER(in_effect, number, it->in_effect == EK_IR_UNSEEN ? -1 : it->in_effect == EK_IR_YES);
GETTER(blocked_by_line, number, ek__ir_line(it->blocked_by, of));
static const ek__member recompute[] = {
    {NULL, FOUND_PARTS(ek__ir_node_of, ek__ir_which_node), NULL},
    {"requested", GET(FLAG, requested), "true"},
    {"in_effect", GET(FLAG, in_effect),
     "true: the backward pass uses the copy; false: it uses the forward output, or there is no copy; null: there is no "
     "backward operator that would use it"},
    {"by_design", FLAG(by_design), "the output of a cell that is recomputed whole, kept on purpose; or not needed"},
    {"copy", TEXT_OF(copy, ek__ir_label),
     "the copy's number, or null; the node itself where the file shows a copy and not its original"},
    {"held", TEXT_OF(held, ek__ir_label), "the node with the value that is saved instead, or null"},
    {"consumer", TEXT_OF(consumer, ek__ir_label), "the backward operator that uses it, or null"},
    {"blocked_by", TEXT_OF(blocked_by, ek__ir_label),
     "the Reshape, Cast, Transpose or Depend without request in between, or null"},
    {"blocked_by_operator", TEXT_OF(blocked_by, primitive), "its primitive"},
    {"blocked_by_line", GET(COUNT, blocked_by_line), "where it begins"},
    {"setting", TEXT(setting), "pattern for `select_recompute` that takes it out of the way, or null"},
    {"bytes", BYTES_FROM_0(bytes), "kept because of it, one micro-batch; null: not known"},
};
static const ek__fields recomputes = {
    FIELDS(recompute, "recompute[]", "Operators with requested recomputation, in file order.")};
#undef EK__T

#define EK__T ek_ir_comm
static const ek__member comm[] = {
    {NULL, FOUND_PARTS(ek__ir_node_of, ek__ir_which_node), NULL},
    {"kind", WORD(kind, ek__ir_comm_kind_name),
     "`AllReduce`, `AllGather`, `ReduceScatter`, `AlltoAll`, `Send`, `Receive`, `Broadcast`, `other`"},
    {"role", WORD(role, ek__ir_comm_role_name),
     "`redistribution`, `forward`, `gradient`, `optimizer`, `pipeline`, `other` ([ir.md](ir.md#communication))"},
    {"group", TEXT(group), "as written, or null"},
    {"ranks", SIZE(n_ranks), "of the group; null: not in the file"},
    {"bytes", BYTES_FROM_0(bytes),
     "of the message: of AllGather the output, of ReduceScatter the input; null: not known"},
    {"traffic_bytes", BYTES_FROM_0(traffic), "bytes sent by each device with a ring; null: not known"},
    {"backward", FLAG(backward), "it is in the backward pass"},
    {"copy", FLAG(copy), "it is repeated for the backward pass by recomputation"},
    {"position", COUNT(position), "operators of its graph before it"},
    {NULL, FOUND_PARTS(ek__ir_node_of, ek__ir_instance), NULL},
};
static const ek__fields comms = {FIELDS(comm, "communication[]", "In file order.")};
#undef EK__T

#define EK__T ek__ir_comm_sum
static const ek__member comm_sum[] = {
    {"file", GET(TEXT, path), "as given"},
    {"kind", WORD(kind, ek__ir_comm_kind_name), "as in `communication`"},
    {"role", WORD(role, ek__ir_comm_role_name), "as in `communication`"},
    {"group", TEXT(group), "as written, or null"},
    {"ranks", SIZE(n_ranks), "of the group; null: not in the file"},
    {"n", COUNT(n), "how many there are"},
    {"n_backward", COUNT(n_backward), "of them in the backward pass"},
    {"n_copies", COUNT(n_copies), "of them repeated by recomputation"},
    {"n_unknown", COUNT(n_unknown), "of them without known bytes, which are not in the sums"},
    {"bytes", BYTES(bytes), "of the messages"},
    {"traffic_bytes", BYTES(traffic), "bytes sent by each device"},
};
static const ek__fields comm_sums = {
    FIELDS(comm_sum, "communication_sums[]", "By kind, role and group, of all micro-batches; most traffic first.")};
#undef EK__T

#define EK__T ek_ir_kept
static const ek__member kept[] = {
    {NULL, FOUND_PARTS(ek__ir_node_of, ek__ir_which_node), NULL},
    {NULL, FOUND_PARTS(ek__ir_node_of, ek__ir_node_type), NULL},
    {"bytes", BYTES_FROM_0(bytes), "its size; null: not known"},
    {"life", COUNT(life), "operators between the one that makes it and the last that takes it"},
    {"consumer", TEXT_OF(consumer, ek__ir_label), "the first backward operator that takes it"},
    {"n_consumers", COUNT(n_consumers), "how many do"},
};
static const ek__fields kepts = {
    FIELDS(kept, "kept[]",
           "Tensors that the backward pass takes from the forward pass, most bytes first. The node is the one that "
           "makes it.")};
#undef EK__T

/* ---- layers, parameters ---- */

#define EK__T ek__ir_layer_sum
static const ek__member layer_sum[] = {
    {"file", GET(TEXT, path), "as given"},
    {"layer", NUMBER(layer), "its number; null: outside layers"},
    {"kept_tensors", COUNT(n_kept), "that the backward pass takes, of one micro-batch"},
    {"kept_bytes", BYTES(kept), "of these"},
    {"communications", COUNT(n_comms), "entries of `communication`"},
    {"traffic_bytes", BYTES(traffic), "bytes sent by each device"},
    {"recompute_in_effect", COUNT(n_recompute[EK__IR_IN_EFFECT]), "requests for recomputation: the copy is taken"},
    {"recompute_not_in_effect", COUNT(n_recompute[EK__IR_NOT_IN_EFFECT]), "requests: the copy is not taken"},
    {"recompute_by_design", COUNT(n_recompute[EK__IR_BY_DESIGN]), "requests: kept on purpose"},
    {"recompute_not_seen", COUNT(n_recompute[EK__IR_NOT_SEEN]), "requests: the file does not show it"},
};
static const ek__fields layers = {FIELDS(layer_sum, "layers[]", "By number, those outside layers last.")};
#undef EK__T

#define EK__T ek_ir_parameter_sum
static const ek__member parameter_sum[] = {
    {"file", GET(TEXT, path), "as given"},
    {"prefix", TEXT(prefix), "`weights`, `adam_m`, `adam_v`, ..., `inputs`"},
    {"n", COUNT(n), "how many there are"},
    {"bytes", BYTES_FROM_0(bytes), "of all of them; null: of one not known"},
};
static const ek__fields parameter_sums = {FIELDS(parameter_sum, "parameters[]", NULL)};
#undef EK__T

/* ---- findings ---- */

#define EK__T uint32_t
static const ek__member chain[] = {
    {NULL, FOUND_PARTS(ek__ir_node_of, ek__ir_which_node), NULL},
    {NULL, FOUND_PARTS(ek__ir_node_of, ek__ir_node_type), NULL},
    {NULL, FOUND_PARTS(ek__ir_node_of, ek__ir_strategies), NULL},
};
static const ek__fields chains = {FIELDS(chain, "findings[].chain[]", NULL)};
#undef EK__T

#define EK__T ek_ir_finding
FINDER(finding_node, &ek__ir_of(of)->node[it->node]);
GETTER(finding_line, number, ek__ir_line(it->node, of));
CONDITION(has_node, it->node != EK_IR_NONE);
FINDER(chain_nodes, it->chain);
COUNTER(n_chain, it->n_chain);
CONDITION(finding_is_shown, ek__ir_shows_finding(ek__ir_file_of(of)->view, &ek__ir_file_of(of)->sums.choice, it));
static const ek__member finding[] = {
    {"check", TEXT(check), "which check it is of ([ir-checks.md](ir-checks.md#checks))"},
    {"severity", WORD(severity, ek__ir_severity_name), "`note`, `warning`, `error`"},
    {"file", GET(TEXT, path), "as given"},
    {"line", GET(COUNT, finding_line),
     "where the node of the first occurrence begins; null: it is of no node, and the fields from `graph` to "
     "`micro_batch` are left out"},
    {NULL, FOUND_PARTS(finding_node, ek__ir_node_place), NULL, WHEN(has_node)},
    {"occurrences", COUNT(n_occurrences), "places that are alike"},
    {"layers", COUNT(n_layers), "layers they lie in, 0: none"},
    {"bytes", BYTES_FROM_0(bytes), "of all occurrences; null: not known"},
    {"bytes_of", TEXT(bytes_of), "meaning of these: `held`, `sent by each device`, ..., or null"},
    {"text", TEXT(text), "the problem, with figures"},
    {"advice", TEXT(advice), "the remedy, with settings in their format"},
    {"chain", FOUND_LIST(chain_nodes, n_chain, chains), "the nodes that show it, in order of flow"},
};
static const ek__fields findings = {FIELDS(finding, "findings[]", "Worst first."), .lines = true};
#undef EK__T

/* ---- all of it ---- */

#define EK__T ek_ir_node
CONDITION(node_is_chosen, ek__ir_chosen(&ek__ir_file_of(of)->sums.choice, (uint32_t)(it - ek__ir_of(of)->node)));
#undef EK__T

#define EK__T ek__ir_files
FINDER(first_file, it->file);
COUNTER(n_files, it->n);
CONDITION(some_are_chosen, it->n > 0 && !it->file[0].sums.choice.all);
#undef EK__T
static const ek__member each_file = {NULL, FOUND_LIST(first_file, n_files, files)};

#define EK__T ek__ir_file
GETTER(version, number, 1);
FINDER(first_node, it->report.ir->node);
COUNTER(n_nodes, (int)it->report.ir->n_nodes);
static const ek__member whole[] = {
    {"version", GET(COUNT, version), "1"},
    {"files", FOUND_LIST(first_file, n_files, files), "one object a file"},
    {"graphs", LIST(sums.n_graphs, sums.graph, graphs), "of the whole file, whatever is chosen", ACROSS(each_file)},
    {"recompute", LIST(report.n_recompute, report.recompute, recomputes), "requests for recomputation",
     ACROSS(each_file), .shown = is_chosen},
    {"communication", LIST(report.n_comms, report.comm, comms), "every communication", ACROSS(each_file),
     .shown = is_chosen},
    {"communication_sums", LIST(sums.n_comms, sums.comm, comm_sums), "sums over these", ACROSS(each_file)},
    {"kept", LIST(report.n_kept, report.kept, kepts), "saved activations", ACROSS(each_file), .shown = is_chosen},
    {"layers", LIST(sums.n_layers, sums.layer, layers), "sums over each layer", ACROSS(each_file)},
    {"parameters", LIST(report.n_sums, report.sum, parameter_sums), "of the whole file, whatever is chosen",
     ACROSS(each_file)},
    {"findings", LIST(report.n_findings, report.finding, findings), "recommended changes", ACROSS(each_file),
     .shown = finding_is_shown},
    {"nodes", FOUND_LIST(first_node, n_nodes, ek__ir_nodes), "with `--layer` or `--op`: each chosen operator",
     ACROSS(each_file), .shown = node_is_chosen, WHEN(some_are_chosen)},
};
static const ek__fields fields = {FIELDS(whole, NULL, NULL), .lines = true};
#undef EK__T

const ek__result ek__result_ir = {"ir", "ir-json.md", &fields, NULL, NULL};
