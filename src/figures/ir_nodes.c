/* Figures of the nodes of a graph: their names, the selection of nodes and of findings in a view, and their figures. */
#include <inttypes.h>
#include <string.h>

#include "figures/ir_figures.h"
#include "figures/rows.h"

const char *const ek__ir_flag_name[EK__IR_N_FLAGS] = {"recompute",
                                                      "duplicated",
                                                      "need_cse_after_recompute",
                                                      "target_grad",
                                                      "backward",
                                                      "cell recomputed whole",
                                                      "recompute_comm_op",
                                                      "skip_redistribution",
                                                      "return",
                                                      "call",
                                                      "damaged",
                                                      "compilation stopped here"};

ek__digits ek__ir_node_label(const ek_ir *ir, uint32_t node)
{
    ek__digits text = {"-"};
    if (node == EK_IR_NONE)
        return text;
    if (ir->node[node].flags & EK_IR_RETURN)
        snprintf(text.text, sizeof text.text, "Return");
    else if (ir->node[node].number != EK_IR_NONE)
        snprintf(text.text, sizeof text.text, "%%%" PRIu32, ir->node[node].number);
    return text;
}

const char *ek__ir_primitive(const ek_ir *ir, uint32_t node)
{
    const ek_ir_node *n = &ir->node[node];
    return n->primitive != EK_IR_NONE ? ek_ir_text(ir, n->primitive) : n->flags & EK_IR_RETURN ? "Return" : "-";
}

uint32_t ek__ir_count_parameters(const ek_ir *ir)
{
    uint32_t listed = 0;
    for (uint32_t i = 0; i < ir->n_parameters; i++)
        listed += ir->parameter[i].graph == EK_IR_NONE;
    return listed > 0 ? listed : ir->n_parameters;
}

bool ek__ir_chosen(const ek__ir_choice *choice, uint32_t node)
{
    return choice->all || choice->node[node];
}

bool ek__ir_shows_finding(const ek_ir_view *view, const ek__ir_choice *choice, const ek_ir_finding *finding)
{
    if (view && finding->severity < view->least)
        return false;
    /* Only the nodes of the first layer are known for a finding that repeats in layers. */
    if (choice->all || finding->n_layers > 1)
        return true;
    for (int i = 0; i < finding->n_chain; i++)
        if (ek__ir_chosen(choice, finding->chain[i]))
            return true;
    return finding->node != EK_IR_NONE && ek__ir_chosen(choice, finding->node);
}

/* ---- names of the numbers of a graph ---- */

static const char *text_at(uint32_t number, const ek__owner *of, char *text, size_t room)
{
    (void)text;
    (void)room;
    return number == EK_IR_NONE ? NULL : ek_ir_text(ek__ir_of(of), number);
}

const char *ek__ir_graph_name(uint32_t graph, const ek__owner *of, char *text, size_t room)
{
    return graph == EK_IR_NONE ? NULL : text_at(ek__ir_of(of)->graph[graph].name, of, text, room);
}

static const char *parameter_name(uint32_t parameter, const ek__owner *of, char *text, size_t room)
{
    return text_at(ek__ir_of(of)->parameter[parameter].name, of, text, room);
}

static const char *type_text(uint32_t number, const ek__owner *of, char *text, size_t room)
{
    if (number == EK_IR_NONE)
        return NULL;
    ek_ir_type_text(ek__ir_of(of), number, text, room < EK__IR_TYPE ? room : EK__IR_TYPE);
    return text;
}

const char *ek__ir_label(uint32_t node, const ek__owner *of, char *text, size_t room)
{
    const ek__digits called = ek__ir_node_label(ek__ir_of(of), node);
    memcpy(text, called.text, room < sizeof called.text ? room : sizeof called.text);
    return *text == '-' ? NULL : text;
}

int64_t ek__ir_line(uint32_t node, const ek__owner *of)
{
    return node == EK_IR_NONE ? INT64_MIN : (int64_t)ek__ir_of(of)->node[node].line;
}

const void *ek__ir_node_of(const void *record, const ek__owner *of)
{
    return &ek__ir_of(of)->node[*(const uint32_t *)record];
}

/* ---- figures ---- */

#define EK__T ek_ir_node
GETTER(path, text, ek__ir_of(of)->path);
GETTER(operator, text, ek__ir_primitive(ek__ir_of(of), (uint32_t)(it - ek__ir_of(of)->node)));
GETTER(layer, number, ek_ir_layer(ek__ir_of(of), it));
GETTER(type_bytes, number, it->type == EK_IR_NONE ? -1 : ek__ir_of(of)->type[it->type].bytes);
WRITER(scope, ek_ir_scope(ek__ir_of(of), it, text, room < EK__IR_SCOPE ? room : EK__IR_SCOPE));
WRITER(own_label, if (!ek__ir_label((uint32_t)(it - ek__ir_of(of)->node), of, text, room)) *text = '\0');
static const ek__member place[] = {
    {"graph", TEXT_OF(graph, ek__ir_graph_name), "the graph it is in; null: none is around it"},
    {"node", COMPOSE(own_label), "its number, `%12`, unique within its graph; `Return` of a Return; null: it has none",
     .not_empty = true},
    {"operator", GET(TEXT, operator), "the primitive, `MatMul`, without `PrimFunc_` and the like"},
    {"scope", COMPOSE(scope), "the full name with scope, or null", .not_empty = true},
    {"layer", GET(NUMBER, layer), "N of the first element `N-Name` of the scope; null: outside layers"},
    {"micro_batch", NUMBER(micro), "the micro-batch of the node; null: not in the file"},
};
const ek__fields ek__ir_node_place = {FIELDS(place, NULL, NULL)};
static const ek__member which_node[] = {
    {"file", GET(TEXT, path), "as given"},
    {"line", COUNT(line), "where it begins"},
    {NULL, MORE(ek__ir_node_place), NULL},
};
const ek__fields ek__ir_which_node = {FIELDS(which_node, "NODE", "Which node an entry is about.")};
static const ek__member node_type[] = {
    {"type", TEXT_OF(type, type_text), "of the output, `float16 (1, 4096, 11008)`; null: not in the file"},
};
const ek__fields ek__ir_node_type = {FIELDS(node_type, NULL, NULL)};
static const ek__member instance[] = {
    {"instance", TEXT_OF(instance, text_at), "the instance name, or null"},
    {NULL, MORE(ek__ir_node_type), NULL},
};
const ek__fields ek__ir_instance = {FIELDS(instance, NULL, NULL)};
static const ek__member strategy[] = {
    {"in_strategy", TEXT_OF(in_strategy, text_at), "how the inputs are cut, `((2, 1), (1, 4))`, or null"},
    {"out_strategy", TEXT_OF(out_strategy, text_at), "how the output is cut, or null"},
};
const ek__fields ek__ir_strategies = {FIELDS(strategy, NULL, NULL)};
#undef EK__T

#define EK__T ek_ir_input
GETTER(input_line, number, ek__ir_line(it->index, of));
CONDITION(is_node, it->kind == EK_IR_INPUT_NODE);
CONDITION(is_parameter, it->kind == EK_IR_INPUT_PARAMETER);
CONDITION(is_graph, it->kind == EK_IR_INPUT_GRAPH);
CONDITION(is_literal, it->kind == EK_IR_INPUT_LITERAL);
CONDITION(is_outside, it->kind == EK_IR_INPUT_OUTSIDE);
static const ek__member input[] = {
    {"node", TEXT_OF(index, ek__ir_label), "of a node: its number; null: it has none", WHEN(is_node)},
    {"line", GET(COUNT, input_line), "of a node: where it begins", WHEN(is_node)},
    {"parameter", TEXT_OF(index, parameter_name), "of a parameter: its name", WHEN(is_parameter)},
    {"graph", TEXT_OF(index, ek__ir_graph_name), "of a graph: its name; null: it is not in the file", WHEN(is_graph)},
    {"value", TEXT_OF(index, text_at), "of a value: as written", WHEN(is_literal)},
    {"outside", COUNT(index), "the number of a node that the file does not show", WHEN(is_outside)},
    {"type", TEXT_OF(type, type_text), "its type, or null"},
};
static const ek__fields inputs = {FIELDS(input, "nodes[].inputs[]", "`type` and its meaning.")};
#undef EK__T

#define EK__T ek_ir_attribute
static const ek__member attribute[] = {
    {"key", TEXT_OF(key, text_at), "its name"},
    {"value", TEXT_OF(value, text_at), "without `I64( )`, `Bool( )` and quotes around it"},
};
static const ek__fields attributes = {FIELDS(attribute, "nodes[].attributes[]", NULL)};
#undef EK__T

#define EK__T ek_ir_node
FINDER(flag_names, ek__ir_flag_name);
COUNTER(n_flags, EK__IR_N_FLAGS);
CONDITION(is_marked, (((const ek_ir_node *)of->parent)->flags & (1U << of->number)) != 0);
FINDER(first_input, &ek__ir_of(of)->input[it->first_input]);
COUNTER(n_inputs, (int)it->n_inputs);
FINDER(first_attribute, &ek__ir_of(of)->attribute[it->first_attribute]);
COUNTER(n_attributes, (int)it->n_attributes);
static const ek__member node[] = {
    {NULL, MORE(ek__ir_which_node), NULL},
    {"name", TEXT_OF(name, text_at), "`CNode_549`, or null"},
    {NULL, MORE(ek__ir_instance), NULL},
    {"bytes", GET(BYTES, type_bytes), "of the output; null: not known", .natural = true},
    {NULL, MORE(ek__ir_strategies), NULL},
    {"source", TEXT_OF(source, text_at), "`file.py:20`, the innermost line of the program, or null"},
    {"marks", FOUND_SHORT_LIST(flag_names, n_flags, ek__list_of_texts), "description in words", .shown = is_marked},
    {"inputs", FOUND_SHORT_LIST(first_input, n_inputs, inputs), "its inputs, in order"},
    {"attributes", FOUND_SHORT_LIST(first_attribute, n_attributes, attributes), "those that checks read"},
};
const ek__fields ek__ir_nodes = {FIELDS(node, "nodes[]", NULL)};
#undef EK__T
