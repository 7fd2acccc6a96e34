/* Reads the heads of graphs and the parameters. Parameters are found by the text after "%para", number and name: first
 * among the formal parameters of the open graph, then in the entry's list, then among those of enclosing graphs; in a
 * fragment without lists each distinct text becomes a parameter. */
#include <string.h>

#include "base/error.h"
#include "ir/reader.h"

/* ---- parameters ---- */

static ek__ir_parameter_key *key_of(ek__ir_reader *r, const char *key, const char *end)
{
    uint32_t known = r->parameter_keys.n;
    uint32_t number = ek__texts_intern(&r->parameter_keys, key, (size_t)(end - key));
    if (number == UINT32_MAX) {
        r->status = EK_ERR_MEMORY;
        return NULL;
    }
    if (number >= known) {
        ek__ir_parameter_key *keys = ek__ir_room(r, EK__IR_PARAMETER_KEYS, r->parameter_key, number, sizeof *keys);
        if (!keys)
            return NULL;
        r->parameter_key = keys;
        keys[number] = (ek__ir_parameter_key){EK_IR_NONE, EK_IR_NONE};
    }
    return &r->parameter_key[number];
}

/* "1_name" as number and name; a bare "1" is its own name. */
static uint32_t add_parameter(ek__ir_reader *r, const char *key, const char *end, ek_ir_parameter p)
{
    ek_ir *ir = r->ir;
    int64_t number;
    const char *digits = key;
    while (digits < end && ek__ir_is_digit(*digits))
        digits++;
    p.number = ek__ir_number(key, digits, &number) && number < EK_IR_NONE ? (uint32_t)number : EK_IR_NONE;
    p.name = digits < end && *digits == '_' ? ek__ir_intern(r, digits + 1, end) : ek__ir_intern(r, key, end);
    ek_ir_parameter *array = ek__ir_room(r, EK__IR_PARAMETERS, ir->parameter, ir->n_parameters, sizeof *array);
    if (!array)
        return EK_IR_NONE;
    ir->parameter = array;
    array[ir->n_parameters] = p;
    return ir->n_parameters++;
}

uint32_t ek__ir_parameter_find(ek__ir_reader *r, const char *key, const char *end)
{
    ek__ir_parameter_key *k = key_of(r, key, end);
    if (!k)
        return EK_IR_NONE;
    if (k->formal != EK_IR_NONE && (k->entry == EK_IR_NONE || r->ir->parameter[k->formal].graph == r->graph))
        return k->formal;
    if (k->entry == EK_IR_NONE) {
        uint32_t made =
            add_parameter(r, key, end, (ek_ir_parameter){.type = EK_IR_NONE, .graph = EK_IR_NONE, .line = r->line});
        k->entry = made;
    }
    return k->entry;
}

/* The end of a parameter's name. */
static const char *name_end(const char *at, const char *end)
{
    while (at < end && !ek__ir_is_space(*at) && *at != ',' && *at != ')' && *at != ':')
        at++;
    return at;
}

/* "%para1_x : type" or "%para1_x : type : has_default"; `graph` EK_IR_NONE for the entry's list. */
static uint32_t declare(ek__ir_reader *r, const char *at, const char *end, uint32_t graph, uint32_t line)
{
    const char *key = at + 5, *key_end = name_end(key, end), *p = ek__ir_skip_space(key_end, end);
    uint32_t type = EK_IR_NONE;
    if (p < end && *p == ':') {
        ek__ir_fault fault;
        const char *begin = p + 1, *stop = begin;
        int depth = 0; /* a type may have colons in its angle brackets: ref_key=:w */
        while (stop < end && (depth > 0 || (*stop != ':' && *stop != '#'))) {
            depth += *stop == '<' || *stop == '(' || *stop == '[';
            depth -= *stop == '>' || *stop == ')' || *stop == ']';
            stop++;
        }
        if (ek__ir_item_end(begin, stop, EK__IR_ITEM_TYPE, &fault) == NULL)
            ek__ir_unmatched(r, &fault, "the parameter is used without type");
        else
            type = ek__ir_type_read(r, begin, stop);
    }
    uint32_t index = add_parameter(r, key, key_end, (ek_ir_parameter){.type = type, .graph = graph, .line = line});
    ek__ir_parameter_key *k = key_of(r, key, key_end);
    if (k)
        *(graph == EK_IR_NONE ? &k->entry : &k->formal) = index;
    return index;
}

void ek__ir_parameter_line(ek__ir_reader *r)
{
    const char *at = memchr(r->begin, '%', (size_t)(r->end - r->begin));
    if (at && declare(r, at, r->end, EK_IR_NONE, r->line) != EK_IR_NONE)
        r->n_listed++;
}

/* ---- graphs ---- */

static void add_graph(ek__ir_reader *r, uint32_t name)
{
    ek_ir *ir = r->ir;
    ek_ir_graph *array = ek__ir_room(r, EK__IR_GRAPHS, ir->graph, ir->n_graphs, sizeof *array);
    if (!array)
        return;
    ir->graph = array;
    array[ir->n_graphs] = (ek_ir_graph){.name = name,
                                        .parent = EK_IR_NONE,
                                        .line = r->line,
                                        .first_node = ir->n_nodes,
                                        .first_formal = ir->n_parameters};
    r->graph = ir->n_graphs++;
    r->in_attrs = false;
}

void ek__ir_graph_ensure(ek__ir_reader *r)
{
    if (r->graph == EK_IR_NONE)
        add_graph(r, EK_IR_NONE);
}

/* "%para1_x, %para2_y : type # remark" up to the closing parenthesis. */
static void formals(ek__ir_reader *r, const char *at)
{
    ek_ir_graph *g = &r->ir->graph[r->graph];
    const uint32_t n_types = r->n_list;
    ek__ir_fault fault;
    const char *counted = r->begin;
    uint32_t line = r->line;
    for (const char *p = at;;) {
        p = ek__ir_skip_space(p, r->end);
        for (; counted < p; counted++)
            line += *counted == '\n';
        if (p == r->end || *p == ')' || r->status)
            break;
        if (*p == '#') { /* the name, or a remark */
            p = ek__ir_line_end(p, r->end);
            continue;
        }
        const char *stop = ek__ir_item_end(p, r->end, EK__IR_ITEM_TYPE, &fault);
        if (!stop || stop == r->end || (*stop != ',' && *stop != ')')) {
            if (stop)
                fault = (ek__ir_fault){stop, at - 1};
            ek__ir_unmatched(r, &fault, "parameters from here on are left out");
            break;
        }
        if (ek__ir_begins(p, stop, "%para")) {
            uint32_t index = declare(r, p, ek__ir_trim(p, stop), r->graph, line);
            if (index != EK_IR_NONE && r->ir->parameter[index].type == EK_IR_NONE && g->n_formals < n_types)
                r->ir->parameter[index].type = r->list[g->n_formals];
            g->n_formals += index != EK_IR_NONE;
        } else
            r->ir->n_unknown++;
        p = stop + (*stop == ',');
    }
    r->n_list = 0;
}

/* "subgraph @name parent: [subgraph @other](...) {" and "funcgraph name[other](...) {". */
void ek__ir_graph_open(ek__ir_reader *r)
{
    static const char modern[] = "subgraph @", failed[] = "funcgraph ";
    if (r->graph != EK_IR_NONE)
        ek__ir_graph_close(r);
    const char *p = ek__ir_skip_blanks(r->begin, r->end);
    bool funcgraph = ek__ir_begins(p, r->end, failed);
    p += funcgraph ? sizeof failed - 1 : sizeof modern - 1;
    if (p > r->end) /* the blank after the word was the line's last */
        p = r->end;
    const char *end = p;
    while (end < r->end && !ek__ir_is_space(*end) && *end != '(' && *end != '[')
        end++;
    add_graph(r, ek__ir_intern(r, p, end));
    if (r->status)
        return;
    if (funcgraph)
        r->ir->analyze_fail = true;
    const char *open = memchr(end, '(', (size_t)(r->end - end));
    const char *bracket = open ? memchr(end, '[', (size_t)(open - end)) : NULL;
    const char *close = bracket ? memchr(bracket, ']', (size_t)(open - bracket)) : NULL;
    if (close) {
        const char *name = ek__ir_begins(bracket + 1, close, modern) ? bracket + sizeof modern : bracket + 1;
        r->ir->graph[r->graph].parent = ek__ir_intern(r, name, close); /* its name until all graphs are known */
    }
    if (open)
        formals(r, open + 1);
    else
        ek__ir_damage(r, end, "'(' is missing after the graph's name; it is read as a graph without parameters");
}
