/* Reads the first line of a node: number, name, applied operator, operands. The operator is all text before the
 * operands' parenthesis, so that every spelling of it (a primitive with or without prefix and attributes, a call of a
 * graph, of another node or of a choice of graphs) is recognised from that text. */
#include <string.h>

#include "ir/reader.h"

/* ---- operands ---- */

static void add_input(ek__ir_reader *r, ek_ir_input input)
{
    ek_ir *ir = r->ir;
    ek_ir_input *array = ek__ir_room(r, EK__IR_INPUTS, ir->input, ir->n_inputs, sizeof *array);
    if (!array)
        return;
    ir->input = array;
    array[ir->n_inputs++] = input;
    r->node.n_inputs++;
}

static void add_literal(ek__ir_reader *r, const char *at, const char *end)
{
    add_input(r, (ek_ir_input){EK_IR_INPUT_LITERAL, ek__ir_intern(r, at, end), EK_IR_NONE});
}

/* The name's text represents the graph until all graphs are known. */
static void add_graph(ek__ir_reader *r, const char *name, const char *end)
{
    add_input(r, (ek_ir_input){EK_IR_INPUT_GRAPH, ek__ir_intern(r, name, end), EK_IR_NONE});
}

/* "$(@graph:node)": a literal until the end of the file, when all graphs are known. */
static void add_outer(ek__ir_reader *r, const char *at, const char *end)
{
    const char *colon = memchr(at, ':', (size_t)(end - at));
    add_literal(r, at, end);
    if (!colon || end[-1] != ')' || !ek__ir_begins(at, end, "$(@"))
        return;
    ek__ir_outer *array = ek__ir_room(r, EK__IR_OUTER, r->outer, r->n_outer, sizeof *array);
    if (!array)
        return;
    r->outer = array;
    array[r->n_outer++] = (ek__ir_outer){r->ir->n_inputs - 1, ek__ir_intern(r, at + 3, colon),
                                         ek__ir_intern(r, colon + 1, end - 1), r->line};
}

static void read_input(ek__ir_reader *r, const char *at, const char *end)
{
    int64_t number;
    if (ek__ir_begins(at, end, "%para"))
        add_input(r, (ek_ir_input){EK_IR_INPUT_PARAMETER, ek__ir_parameter_find(r, at + 5, end), EK_IR_NONE});
    else if (*at == '%' && ek__ir_number(at + 1, end, &number) && number < EK_IR_NONE)
        add_input(r, (ek_ir_input){EK_IR_INPUT_OUTSIDE, (uint32_t)number, EK_IR_NONE});
    else if (*at == '@')
        add_graph(r, at + 1, end);
    else if (*at == '$')
        add_outer(r, at, end);
    else
        add_literal(r, at, end);
}

/* The place after the closing parenthesis; NULL when damaged. */
static const char *operands(ek__ir_reader *r, const char *open)
{
    const char *p = open + 1;
    for (;;) {
        ek__ir_fault fault;
        p = ek__ir_skip_space(p, r->end);
        if (p < r->end && *p == ')')
            return p + 1;
        const char *stop = ek__ir_item_end(p, r->end, EK__IR_ITEM_VALUE, &fault);
        if (!stop || stop == r->end || (*stop != ',' && *stop != ')')) {
            if (stop)
                fault = (ek__ir_fault){stop, open};
            ek__ir_unmatched(r, &fault, "operands from here on are left out");
            return NULL;
        }
        const char *end = ek__ir_trim(p, stop);
        if (end > p)
            read_input(r, p, end);
        p = stop + (*stop == ',');
    }
}

/* ---- the applied operator ---- */

static void set_primitive(ek__ir_reader *r, const char *at, const char *end)
{
    static const char *const prefixes[] = {"S-Prim-", "S_Prim_", "PrimFunc_"};
    for (const char *p = at; p + 2 < end && *p != '{' && *p != '['; p++)
        if (p[0] == ':' && p[1] == ':')
            at = p + 2;
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (ek__ir_begins(at, end, prefixes[i]))
            at += strlen(prefixes[i]);
    r->node.primitive = ek__ir_intern(r, at, end);
    if (ek__ir_is(at, end, "Return"))
        r->node.flags |= EK_IR_RETURN;
}

static void set_call(ek__ir_reader *r, const char *callee, const char *end)
{
    static const char call[] = "call", graph[] = "FuncGraph::";
    callee = ek__ir_skip_space(callee, end);
    r->node.primitive = ek__ir_intern(r, call, call + sizeof call - 1);
    r->node.flags |= EK_IR_CALL;
    r->n_callee = 1;
    if (callee == end)
        add_literal(r, callee, end);
    else if (ek__ir_begins(callee, end, graph))
        add_graph(r, callee + sizeof graph - 1, end);
    else
        read_input(r, callee, end);
}

/* "NAME{prim_type=1}[key=value, ...]" up to the operands. */
static void primitive(ek__ir_reader *r, const char *at, const char *open)
{
    const char *end = at;
    while (end < open && *end != '{' && *end != '[')
        end++;
    set_primitive(r, at, ek__ir_trim(at, end));
    for (const char *p = end; p && p < open;) {
        ek__ir_fault fault;
        if (*p == '[')
            p = ek__ir_pairs_read(r, p + 1, '=', ']');
        else
            p = *p == '{' ? ek__ir_item_end(p + 1, open, EK__IR_ITEM_WHOLE, &fault) : p + 1;
    }
}

/* The parenthesis of the operands: the first one outside of brackets that is not that of "$(". NULL without one. */
static const char *find_operands(ek__ir_reader *r, const char *at)
{
    ek__ir_fault fault;
    for (const char *p = at; p < r->end && *p != '\n'; p++) {
        bool outer = *p == '$' && p + 1 < r->end && p[1] == '(';
        if (*p == '(')
            return p;
        if (*p != '[' && *p != '{' && !outer)
            continue;
        p = ek__ir_item_end(p + 1 + outer, r->end, EK__IR_ITEM_WHOLE, &fault);
        if (!p) {
            ek__ir_unmatched(r, &fault, "this node is kept without operands");
            return NULL;
        }
        if (p == r->end)
            break;
    }
    ek__ir_damage(r, at, "no operands '(...)' on this line; the node is kept without them");
    return NULL;
}

static const char *application(ek__ir_reader *r, const char *at)
{
    const char *open = find_operands(r, at);
    const char *end = open ? ek__ir_trim(at, open) : at;
    if (!open)
        while (end < r->end && !ek__ir_is_space(*end) && *end != '{' && *end != '[')
            end++;
    if (ek__ir_begins(at, end, "call "))
        set_call(r, at + 5, end);
    else if (ek__ir_begins(at, end, "FuncGraph::"))
        set_call(r, at, end);
    else if (at < end && (*at == '%' || *at == '$')) {
        const char *bracket = *at == '%' ? memchr(at, '[', (size_t)(end - at)) : NULL;
        set_call(r, at, bracket ? bracket : end);
    } else
        primitive(r, at, end);
    return open ? operands(r, open) : NULL;
}

/* ---- number, name ---- */

/* ") =" on this line from `at` on: the place of its parenthesis. */
static const char *name_end(const ek__ir_reader *r, const char *at)
{
    const char *end = ek__ir_line_end(at, r->end);
    for (const char *p = at; p < end; p++) {
        p = memchr(p, ')', (size_t)(end - p));
        if (!p)
            return NULL;
        const char *sign = ek__ir_skip_blanks(p + 1, end);
        if (sign < end && *sign == '=')
            return p;
    }
    return NULL;
}

static bool is_balanced(const char *at, const char *end, const char **wrong)
{
    int depth = 0;
    for (const char *p = at; p < end; p++) {
        depth += *p == '(';
        depth -= *p == ')';
        if (depth < 0) {
            *wrong = p;
            return false;
        }
    }
    *wrong = end;
    return depth == 0;
}

/* "(CNode_549)"; returns the place after it. */
static const char *debug_name(ek__ir_reader *r, const char *open)
{
    const char *wrong, *close = name_end(r, open + 1);
    if (!close) {
        ek__ir_damage(r, open, "the name that opens here is not closed before ' = '; the node is kept without it");
        return ek__ir_line_end(open, r->end);
    }
    if (is_balanced(open + 1, close, &wrong))
        r->node.name = ek__ir_intern(r, open + 1, close);
    else
        ek__ir_damage(r, wrong, "parentheses in the node's name do not match; the node is kept without it");
    return close + 1;
}

/* " : Tensor(F32)[3, 8] " before the equals sign. */
static const char *typed(ek__ir_reader *r, const char *at)
{
    const char *end = ek__ir_line_end(at, r->end), *sign = memchr(at, '=', (size_t)(end - at));
    if (!sign)
        return end;
    r->node.type = ek__ir_type_read(r, at, sign);
    return sign;
}

/* "%12(name) = "; returns the place after it, NULL when there is no equals sign. */
static const char *target(ek__ir_reader *r, const char *at)
{
    int64_t number;
    const char *p = at + 1;
    while (p < r->end && ek__ir_is_digit(*p))
        p++;
    if (ek__ir_number(at + 1, p, &number) && number < EK_IR_NONE)
        r->node.number = (uint32_t)number;
    else
        ek__ir_damage(r, at, "a node's number is below 4294967295; the node is kept without it");
    p = ek__ir_skip_blanks(p, r->end);
    if (p < r->end && *p == '(')
        p = ek__ir_skip_blanks(debug_name(r, p), r->end);
    if (p < r->end && *p == ':')
        p = typed(r, p + 1);
    if (p < r->end && *p == '=')
        return ek__ir_skip_blanks(p + 1, r->end);
    ek__ir_damage(r, p, "'=' is missing after the node's number; the node is kept without operator");
    return NULL;
}

/* ---- the whole ---- */

static void begin_node(ek__ir_reader *r)
{
    ek__ir_graph_ensure(r);
    r->node = (ek_ir_node){
        .offset = r->offset,
        .bytes = (uint32_t)(r->end - r->begin),
        .line = r->line,
        .number = EK_IR_NONE,
        .graph = r->graph,
        .name = EK_IR_NONE,
        .primitive = EK_IR_NONE,
        .instance = EK_IR_NONE,
        .scope = EK_IR_NONE,
        .scope_last = EK_IR_NONE,
        .source = EK_IR_NONE,
        .first_input = r->ir->n_inputs,
        .type = EK_IR_NONE,
        .first_attribute = r->ir->n_attributes,
        .in_strategy = EK_IR_NONE,
        .out_strategy = EK_IR_NONE,
        .flags = r->stopped ? EK_IR_STOPPED : 0,
        .recompute_graph = -1,
        .recompute_id = -1,
        .micro = -1,
        .unique_id = -1,
        .forward_unique_id = -1,
    };
    r->damaged = r->has_types = r->wants_path = r->candidates = r->stopped = false;
    r->n_callee = 0;
    r->source = r->outside = NULL;
}

static void end_node(ek__ir_reader *r)
{
    ek_ir *ir = r->ir;
    ek_ir_node *array = ek__ir_room(r, EK__IR_NODES, ir->node, ir->n_nodes, sizeof *array);
    if (!array)
        return;
    if (r->damaged)
        r->node.flags |= EK_IR_DAMAGED;
    ir->node = array;
    array[ir->n_nodes++] = r->node;
    ir->n_operators += (r->node.flags & EK_IR_RETURN) == 0;
    ir->graph[r->graph].n_nodes++;
}

void ek__ir_node_read(ek__ir_reader *r)
{
    begin_node(r);
    const char *p = ek__ir_skip_blanks(r->begin, r->end);
    const char *at = *p == '%' ? target(r, p) : p;
    if (at)
        at = application(r, at);
    ek__ir_lines_read(r, at ? at : ek__ir_resume(r, p));
    if (r->status == EK_OK)
        end_node(r);
}
