/* Resolves operands by number and name. Numbers are unique only within a graph and nearly always count up from the
 * first node's, so a node is searched first at the place that follows from its number, then by bisection; a graph whose
 * numbers do not rise is sorted first. Names of other graphs are resolved after the whole file has been read. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "ir/reader.h"

/* ---- numbers ---- */

typedef struct place {
    uint32_t number, node;
} place;

static int by_number(const void *a, const void *b)
{
    const place *x = a, *y = b;
    if (x->number != y->number)
        return x->number < y->number ? -1 : 1;
    return x->node < y->node ? -1 : x->node > y->node;
}

/* The nodes of a graph by number. */
typedef struct numbers {
    size_t n;
    place *place;
    bool distinct; /* surely */
} numbers;

static bool list_numbers(const ek_ir *ir, const ek_ir_graph *g, numbers *out)
{
    bool rising = true;
    out->n = 0;
    out->place = ek__alloc(g->n_nodes, sizeof *out->place);
    if (!out->place)
        return false;
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        uint32_t node = g->first_node + i, number = ir->node[node].number;
        if (number == EK_IR_NONE)
            continue;
        rising = rising && (out->n == 0 || out->place[out->n - 1].number < number);
        out->place[out->n++] = (place){number, node};
    }
    out->distinct = rising;
    if (!rising)
        qsort(out->place, out->n, sizeof *out->place, by_number);
    return true;
}

/* The number of places before the node `node` of the number `number`. */
static size_t places_before(const numbers *list, uint32_t number, uint32_t node)
{
    const place wanted = {number, node};
    size_t low = 0, high = list->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (by_number(&list->place[middle], &wanted) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The node of a number; of several the last before `user`, otherwise the first. EK_IR_NONE without one. */
static uint32_t node_of(const numbers *list, uint32_t number, uint32_t user)
{
    if (list->n == 0 || number < list->place[0].number)
        return EK_IR_NONE;
    size_t guess = number - list->place[0].number;
    if (list->distinct && guess < list->n && list->place[guess].number == number)
        return list->place[guess].node;
    size_t before = places_before(list, number, user);
    if (before > 0 && list->place[before - 1].number == number)
        return list->place[before - 1].node;
    return before < list->n && list->place[before].number == number ? list->place[before].node : EK_IR_NONE;
}

static void resolve_node(ek_ir *ir, uint32_t user, const numbers *list)
{
    ek_ir_node *node = &ir->node[user];
    for (uint32_t i = 0; i < node->n_inputs; i++) {
        ek_ir_input *input = &ir->input[node->first_input + i];
        uint32_t found = input->kind == EK_IR_INPUT_OUTSIDE ? node_of(list, input->index, user) : EK_IR_NONE;
        if (found != EK_IR_NONE)
            *input = (ek_ir_input){EK_IR_INPUT_NODE, found, input->type};
    }
}

void ek__ir_graph_close(ek__ir_reader *r)
{
    ek_ir *ir = r->ir;
    if (r->graph == EK_IR_NONE)
        return;
    const ek_ir_graph *g = &ir->graph[r->graph];
    numbers list = {0};
    if (r->status == EK_OK && !list_numbers(ir, g, &list))
        r->status = EK_ERR_MEMORY;
    if (r->status == EK_OK)
        for (uint32_t i = 0; i < g->n_nodes; i++)
            resolve_node(ir, g->first_node + i, &list);
    free(list.place);
    r->graph = EK_IR_NONE;
}

/* ---- names ---- */

typedef struct named {
    uint32_t graph, name, index;
} named;

static int by_name(const void *a, const void *b)
{
    const named *x = a, *y = b;
    if (x->name != y->name)
        return x->name < y->name ? -1 : 1;
    if (x->graph != y->graph)
        return x->graph < y->graph ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

/* The first entry of a graph and name; EK_IR_NONE without one. */
static uint32_t find_named(const named *list, size_t n, uint32_t graph, uint32_t name)
{
    const named wanted = {graph, name, 0};
    size_t low = 0, high = n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (by_name(&list[middle], &wanted) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low < n && list[low].graph == graph && list[low].name == name ? list[low].index : EK_IR_NONE;
}

static named *graph_names(ek__ir_reader *r)
{
    named *list = ek__alloc(r->ir->n_graphs, sizeof *list);
    for (uint32_t i = 0; list && i < r->ir->n_graphs; i++)
        list[i] = (named){0, r->ir->graph[i].name, i};
    if (list && r->ir->n_graphs > 0)
        qsort(list, r->ir->n_graphs, sizeof *list, by_name);
    return list;
}

static named *node_names(ek__ir_reader *r)
{
    named *list = ek__alloc(r->ir->n_nodes, sizeof *list);
    for (uint32_t i = 0; list && i < r->ir->n_nodes; i++)
        list[i] = (named){r->ir->node[i].graph, r->ir->node[i].name, i};
    if (list && r->ir->n_nodes > 0)
        qsort(list, r->ir->n_nodes, sizeof *list, by_name);
    return list;
}

static uint32_t type_behind(const ek_ir *ir, const ek_ir_input *input)
{
    if (input->index == EK_IR_NONE)
        return EK_IR_NONE;
    if (input->kind == EK_IR_INPUT_NODE)
        return ir->node[input->index].type;
    return input->kind == EK_IR_INPUT_PARAMETER ? ir->parameter[input->index].type : EK_IR_NONE;
}

/* $(@graph:para4_w) or $(@graph:CNode_5) */
static void resolve_outer(ek__ir_reader *r, const ek__ir_outer *o, const named *graphs, const named *nodes)
{
    ek_ir *ir = r->ir;
    const char *name = ek__texts_at(r->texts, o->name);
    uint32_t graph = find_named(graphs, ir->n_graphs, 0, o->graph);
    uint32_t node = graph == EK_IR_NONE ? EK_IR_NONE : find_named(nodes, ir->n_nodes, graph, o->name);
    ek_ir_input *input = &ir->input[o->input];
    if (node != EK_IR_NONE)
        *input = (ek_ir_input){EK_IR_INPUT_NODE, node, input->type};
    else if (strncmp(name, "para", 4) == 0 && name[4]) {
        char key[512];
        size_t n = strlen(name + 4);
        if (n >= sizeof key)
            return;
        memcpy(key, name + 4, n); /* adding a text may move the existing ones */
        r->graph = graph;
        r->line = o->line;
        uint32_t parameter = ek__ir_parameter_find(r, key, key + n);
        r->graph = EK_IR_NONE;
        if (parameter != EK_IR_NONE)
            *input = (ek_ir_input){EK_IR_INPUT_PARAMETER, parameter, input->type};
    }
}

/* A parameter without a type in any list gets the type at its first use. */
static void complete_types(ek_ir *ir)
{
    for (uint32_t i = 0; i < ir->n_inputs; i++) {
        const ek_ir_input *input = &ir->input[i];
        if (input->kind == EK_IR_INPUT_PARAMETER && input->index != EK_IR_NONE &&
            ir->parameter[input->index].type == EK_IR_NONE)
            ir->parameter[input->index].type = input->type;
    }
    for (uint32_t i = 0; i < ir->n_inputs; i++)
        if (ir->input[i].type == EK_IR_NONE)
            ir->input[i].type = type_behind(ir, &ir->input[i]);
}

void ek__ir_resolve(ek__ir_reader *r)
{
    ek_ir *ir = r->ir;
    named *graphs = graph_names(r), *nodes = r->n_outer > 0 ? node_names(r) : NULL;
    if (!graphs || (r->n_outer > 0 && !nodes))
        r->status = EK_ERR_MEMORY;
    else {
        for (uint32_t i = 0; i < ir->n_inputs; i++)
            if (ir->input[i].kind == EK_IR_INPUT_GRAPH)
                ir->input[i].index = find_named(graphs, ir->n_graphs, 0, ir->input[i].index);
        for (uint32_t i = 0; i < ir->n_graphs; i++)
            if (ir->graph[i].parent != EK_IR_NONE)
                ir->graph[i].parent = find_named(graphs, ir->n_graphs, 0, ir->graph[i].parent);
        for (uint32_t i = 0; i < r->n_outer && r->status == EK_OK; i++)
            resolve_outer(r, &r->outer[i], graphs, nodes);
        complete_types(ir);
    }
    free(graphs);
    free(nodes);
}
