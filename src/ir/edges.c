/* Builds the edges of a graph for the checks: for every value its uses, as one array sorted by counting, since the file
 * lists operands only. A call of a graph in the file passes its operands to the formal parameters of that graph; the
 * parameters' uses count as uses of the operand and are collected on demand, so nothing is expanded. The result of a
 * called graph is not followed back into it: the call itself represents its result. */
#include <ctype.h>
#include <string.h>

#include "base/error.h"
#include "ir/check.h"

/* A loop is a graph that calls itself, hence the limit of depth. */
enum { MAX_CALL_DEPTH = 8, MAX_THROUGH = 4096, MAX_DEPENDS = 64 };

typedef struct known {
    const char *name;
    uint8_t op, comm;
} known;

/* Names as MindSpore prints them. _MiniStepAllGather and _MicroStepAllGather gather a sharded weight; those of
 * InnerComm and DistComm come from mint.distributed, whose group and ranks are operands; with Matmul in the name the
 * operator also calculates. */
static const known operators[] = {
    {"AllReduce", EK__IR_OP_COMM, EK_IR_ALL_REDUCE},
    {"InnerCommAllReduce", EK__IR_OP_COMM, EK_IR_ALL_REDUCE},
    {"DistCommAllReduce", EK__IR_OP_COMM, EK_IR_ALL_REDUCE},
    {"MatMulAllReduce", EK__IR_OP_COMM, EK_IR_ALL_REDUCE},
    {"MatmulAllReduceAddRmsNorm", EK__IR_OP_COMM, EK_IR_ALL_REDUCE},
    {"QbmmAllReduceAdd", EK__IR_OP_COMM, EK_IR_ALL_REDUCE},
    {"AllGather", EK__IR_OP_COMM, EK_IR_ALL_GATHER},
    {"AllGatherV", EK__IR_OP_COMM, EK_IR_ALL_GATHER},
    {"_MiniStepAllGather", EK__IR_OP_COMM, EK_IR_ALL_GATHER},
    {"_MicroStepAllGather", EK__IR_OP_COMM, EK_IR_ALL_GATHER},
    {"InnerCommAllGather", EK__IR_OP_COMM, EK_IR_ALL_GATHER},
    {"DistCommAllGather", EK__IR_OP_COMM, EK_IR_ALL_GATHER},
    {"DistCommAllGatherIntoTensor", EK__IR_OP_COMM, EK_IR_ALL_GATHER},
    {"DistCommAllGatherIntoTensorUneven", EK__IR_OP_COMM, EK_IR_ALL_GATHER},
    {"AllGatherMatmul", EK__IR_OP_COMM, EK_IR_ALL_GATHER},
    {"ReduceScatter", EK__IR_OP_COMM, EK_IR_REDUCE_SCATTER},
    {"ReduceScatterV", EK__IR_OP_COMM, EK_IR_REDUCE_SCATTER},
    {"InnerCommReduceScatter", EK__IR_OP_COMM, EK_IR_REDUCE_SCATTER},
    {"DistCommReduceScatter", EK__IR_OP_COMM, EK_IR_REDUCE_SCATTER},
    {"DistCommReduceScatterTensor", EK__IR_OP_COMM, EK_IR_REDUCE_SCATTER},
    {"DistCommReduceScatterTensorUneven", EK__IR_OP_COMM, EK_IR_REDUCE_SCATTER},
    {"MatmulReduceScatter", EK__IR_OP_COMM, EK_IR_REDUCE_SCATTER},
    {"AlltoAll", EK__IR_OP_COMM, EK_IR_ALL_TO_ALL},
    {"AllToAll", EK__IR_OP_COMM, EK_IR_ALL_TO_ALL},
    {"AlltoAllV", EK__IR_OP_COMM, EK_IR_ALL_TO_ALL},
    {"AllToAllv", EK__IR_OP_COMM, EK_IR_ALL_TO_ALL},
    {"AlltoAllVC", EK__IR_OP_COMM, EK_IR_ALL_TO_ALL},
    {"AlltoAllVGE", EK__IR_OP_COMM, EK_IR_ALL_TO_ALL},
    {"InnerCommAllToAllV", EK__IR_OP_COMM, EK_IR_ALL_TO_ALL},
    {"DistCommAllToAllV", EK__IR_OP_COMM, EK_IR_ALL_TO_ALL},
    {"DistCommAllToAllVC", EK__IR_OP_COMM, EK_IR_ALL_TO_ALL},
    {"DistCommAllToAllVSingle", EK__IR_OP_COMM, EK_IR_ALL_TO_ALL},
    {"Send", EK__IR_OP_COMM, EK_IR_SEND},
    {"InnerCommIsend", EK__IR_OP_COMM, EK_IR_SEND},
    {"DistCommIsend", EK__IR_OP_COMM, EK_IR_SEND},
    {"Receive", EK__IR_OP_COMM, EK_IR_RECEIVE},
    {"InnerCommIrecv", EK__IR_OP_COMM, EK_IR_RECEIVE},
    {"DistCommIrecv", EK__IR_OP_COMM, EK_IR_RECEIVE},
    {"Broadcast", EK__IR_OP_COMM, EK_IR_BROADCAST},
    {"DistCommBroadcast", EK__IR_OP_COMM, EK_IR_BROADCAST},
    {"Barrier", EK__IR_OP_COMM, EK_IR_OTHER_COMM},
    {"Reduce", EK__IR_OP_COMM, EK_IR_OTHER_COMM},
    {"NeighborExchange", EK__IR_OP_COMM, EK_IR_OTHER_COMM},
    {"NeighborExchangeV2", EK__IR_OP_COMM, EK_IR_OTHER_COMM},
    {"CollectiveScatter", EK__IR_OP_COMM, EK_IR_OTHER_COMM},
    {"CollectiveGather", EK__IR_OP_COMM, EK_IR_OTHER_COMM},
    {"BatchISendIRecv", EK__IR_OP_COMM, EK_IR_OTHER_COMM},
    {"DistCommBarrier", EK__IR_OP_COMM, EK_IR_OTHER_COMM},
    {"DistCommReduce", EK__IR_OP_COMM, EK_IR_OTHER_COMM},
    {"DistCommScatter", EK__IR_OP_COMM, EK_IR_OTHER_COMM},
    {"DistCommScatterTensor", EK__IR_OP_COMM, EK_IR_OTHER_COMM},
    {"DistCommGather", EK__IR_OP_COMM, EK_IR_OTHER_COMM},
    {"DistCommGatherIntoTensor", EK__IR_OP_COMM, EK_IR_OTHER_COMM},
    {"DistCommBatchIsendIrecv", EK__IR_OP_COMM, EK_IR_OTHER_COMM},
    {"MoeDistributeDispatch", EK__IR_OP_COMM, EK_IR_OTHER_COMM},
    {"MoeDistributeCombine", EK__IR_OP_COMM, EK_IR_OTHER_COMM},
    {"AlltoAllAllGatherBatchMatMul", EK__IR_OP_COMM, EK_IR_OTHER_COMM},
    {"BatchMatMulReduceScatterAlltoAll", EK__IR_OP_COMM, EK_IR_OTHER_COMM},
    {"MatMul", EK__IR_OP_MATMUL, 0},
    {"BatchMatMul", EK__IR_OP_BATCH_MATMUL, 0},
    {"Reshape", EK__IR_OP_RESHAPE, 0},
    {"Cast", EK__IR_OP_CAST, 0},
    {"Transpose", EK__IR_OP_TRANSPOSE, 0},
    {"Depend", EK__IR_OP_DEPEND, 0},
    {"Load", EK__IR_OP_LOAD, 0},
    {"UpdateState", EK__IR_OP_UPDATE_STATE, 0},
    {"TupleGetItem", EK__IR_OP_TUPLE_GET_ITEM, 0},
    {"MakeTuple", EK__IR_OP_MAKE_TUPLE, 0},
    {"StridedSlice", EK__IR_OP_STRIDED_SLICE, 0},
    {"Slice", EK__IR_OP_STRIDED_SLICE, 0},
    {"Split", EK__IR_OP_SPLIT, 0},
    {"Concat", EK__IR_OP_CONCAT, 0},
    {"Gather", EK__IR_OP_GATHER, 0},
    {"Add", EK__IR_OP_ELEMENTWISE, 0},
    {"Sub", EK__IR_OP_ELEMENTWISE, 0},
    {"Mul", EK__IR_OP_ELEMENTWISE, 0},
    {"Div", EK__IR_OP_ELEMENTWISE, 0},
    {"RealDiv", EK__IR_OP_ELEMENTWISE, 0},
    {"BiasAdd", EK__IR_OP_ELEMENTWISE, 0},
    {"Maximum", EK__IR_OP_ELEMENTWISE, 0},
    {"Minimum", EK__IR_OP_ELEMENTWISE, 0},
    {"Pow", EK__IR_OP_ELEMENTWISE, 0},
    {"Square", EK__IR_OP_ELEMENTWISE, 0},
    {"Sqrt", EK__IR_OP_ELEMENTWISE, 0},
    {"Rsqrt", EK__IR_OP_ELEMENTWISE, 0},
    {"Exp", EK__IR_OP_ELEMENTWISE, 0},
    {"Neg", EK__IR_OP_ELEMENTWISE, 0},
    {"Tanh", EK__IR_OP_ELEMENTWISE, 0},
    {"Sigmoid", EK__IR_OP_ELEMENTWISE, 0},
    {"SiLU", EK__IR_OP_ELEMENTWISE, 0},
    {"GeLU", EK__IR_OP_ELEMENTWISE, 0},
    {"FastGeLU", EK__IR_OP_ELEMENTWISE, 0},
    {"ReLU", EK__IR_OP_ELEMENTWISE, 0},
    {"Dropout", EK__IR_OP_OTHER, 0},
    {"RmsNorm", EK__IR_OP_ROW_WISE, 0},
    {"LayerNorm", EK__IR_OP_ROW_WISE, 0},
    {"Softmax", EK__IR_OP_ROW_WISE, 0},
};

static const known *find_known(const char *name)
{
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++)
        if (strcmp(operators[i].name, name) == 0)
            return &operators[i];
    return NULL;
}

/* Each distinct primitive is looked up once. */
static bool classify(ek__ir_context *c)
{
    const ek_ir *ir = c->ir;
    uint8_t *known_as = ek__pool_alloc(c->scratch, ir->n_texts, 1); /* index + 1, 255: not in the table */
    if (!known_as)
        return false;
    for (uint32_t i = 0; i < ir->n_nodes; i++) {
        uint32_t text = ir->node[i].primitive;
        if (text == EK_IR_NONE)
            continue;
        if (known_as[text] == 0) {
            const known *found = find_known(ir->text[text]);
            known_as[text] = found ? (uint8_t)(found - operators + 1) : 255;
        }
        if (known_as[text] == 255)
            continue;
        c->op[i] = operators[known_as[text] - 1].op;
        c->comm_kind[i] = operators[known_as[text] - 1].comm;
    }
    return true;
}

/* ---- uses of values ---- */

static uint32_t value_of(const ek_ir *ir, const ek_ir_input *input)
{
    if (input->kind == EK_IR_INPUT_NODE && input->index < ir->n_nodes)
        return input->index;
    if (input->kind == EK_IR_INPUT_PARAMETER && input->index < ir->n_parameters)
        return ir->n_nodes + input->index;
    return EK_IR_NONE;
}

/* The graph that a node calls; NULL if it is not in the file. */
static const ek_ir_graph *called_by(const ek_ir *ir, uint32_t node)
{
    const ek_ir_node *n = &ir->node[node];
    if (!(n->flags & EK_IR_CALL) || n->n_inputs == 0)
        return NULL;
    const ek_ir_input *first = &ir->input[n->first_input];
    return first->kind == EK_IR_INPUT_GRAPH && first->index < ir->n_graphs ? &ir->graph[first->index] : NULL;
}

static bool make_uses(ek__ir_context *c)
{
    const ek_ir *ir = c->ir;
    size_t n_values = (size_t)ir->n_nodes + ir->n_parameters;
    c->first_use = ek__pool_alloc(c->scratch, n_values + 2, sizeof *c->first_use);
    c->called = ek__pool_alloc(c->scratch, n_values, sizeof *c->called);
    c->use = ek__pool_alloc(c->scratch, ir->n_inputs, sizeof *c->use);
    if (!c->first_use || !c->called || !c->use)
        return false;
    /* Counts two places ahead, so that after the sums first_use[v + 1] is the next free place for the uses of v. */
    for (uint32_t i = 0; i < ir->n_nodes; i++)
        for (uint32_t k = 0; k < ir->node[i].n_inputs; k++) {
            uint32_t value = value_of(ir, &ir->input[ir->node[i].first_input + k]);
            if (value != EK_IR_NONE)
                c->first_use[(size_t)value + 2]++;
        }
    for (size_t v = 2; v < n_values + 2; v++)
        c->first_use[v] += c->first_use[v - 1];
    for (uint32_t i = 0; i < ir->n_nodes; i++)
        for (uint32_t k = 0; k < ir->node[i].n_inputs; k++) {
            uint32_t value = value_of(ir, &ir->input[ir->node[i].first_input + k]);
            if (value == EK_IR_NONE)
                continue;
            c->use[c->first_use[(size_t)value + 1]++] = (ek__ir_use){i, k, i};
            c->called[value] |= called_by(ir, i) != NULL;
        }
    return true;
}

static bool add_through(ek__ir_context *c, ek__ir_use use)
{
    ek__ir_use *grown = ek__with_room(c->through, &c->through_capacity, c->n_through + 1, sizeof use);
    if (!grown) {
        c->out_of_memory = true;
        return false;
    }
    c->through = grown;
    c->through[c->n_through++] = use;
    return true;
}

static void follow(ek__ir_context *c, uint32_t value, uint32_t site, int depth)
{
    const ek_ir *ir = c->ir;
    for (uint32_t u = c->first_use[value]; u < c->first_use[value + 1]; u++) {
        ek__ir_use use = c->use[u];
        const ek_ir_graph *graph = called_by(ir, use.node);
        if (site != EK_IR_NONE)
            use.site = site;
        /* operand 0 is the graph */
        if (c->n_followed++ >= MAX_THROUGH)
            return;
        if (graph && use.operand > 0 && use.operand - 1 < graph->n_formals && depth < MAX_CALL_DEPTH)
            follow(c, ir->n_nodes + graph->first_formal + use.operand - 1, use.site, depth + 1);
        else if (!add_through(c, use))
            return;
    }
}

const ek__ir_use *ek__ir_uses(ek__ir_context *context, uint32_t value, uint32_t *n)
{
    if (!context->called[value]) {
        *n = context->first_use[value + 1] - context->first_use[value];
        return &context->use[context->first_use[value]];
    }
    context->n_through = context->n_followed = 0;
    follow(context, value, EK_IR_NONE, 0);
    *n = (uint32_t)context->n_through;
    return context->through;
}

const ek_ir_input *ek__ir_operand(const ek__ir_context *context, uint32_t node, uint32_t k)
{
    const ek_ir_node *n = &context->ir->node[node];
    return k < n->n_inputs ? &context->ir->input[n->first_input + k] : NULL;
}

const ek_ir_input *ek__ir_source(const ek__ir_context *context, uint32_t node, uint32_t k)
{
    const ek_ir_input *input = ek__ir_operand(context, node, k);
    for (int i = 0; input && i < MAX_DEPENDS; i++) {
        if (input->kind != EK_IR_INPUT_NODE || context->op[input->index] != EK__IR_OP_DEPEND)
            return input;
        input = ek__ir_operand(context, input->index, 0);
    }
    return NULL;
}

uint32_t ek__ir_maker(const ek__ir_context *context, uint32_t node, uint32_t k)
{
    const ek_ir_input *input = ek__ir_source(context, node, k);
    return input && input->kind == EK_IR_INPUT_NODE ? input->index : EK_IR_NONE;
}

uint32_t ek__ir_only_taker(ek__ir_context *context, uint32_t node)
{
    for (int i = 0; i < MAX_DEPENDS; i++) {
        uint32_t n, taker = EK_IR_NONE;
        const ek__ir_use *use = ek__ir_uses(context, node, &n);
        for (uint32_t u = 0; u < n; u++) {
            bool order_only = context->op[use[u].node] == EK__IR_OP_UPDATE_STATE ||
                              (context->op[use[u].node] == EK__IR_OP_DEPEND && use[u].operand > 0);
            if (order_only || use[u].node == taker)
                continue;
            if (taker != EK_IR_NONE)
                return EK_IR_NONE;
            taker = use[u].node;
        }
        if (taker == EK_IR_NONE || context->op[taker] != EK__IR_OP_DEPEND)
            return taker;
        node = taker;
    }
    return EK_IR_NONE;
}

/* ---- nodes ---- */

const ek_ir_type *ek__ir_type(const ek__ir_context *context, uint32_t type)
{
    return type < context->ir->n_types ? &context->ir->type[type] : NULL;
}

const ek_ir_type *ek__ir_type_of_node(const ek__ir_context *context, uint32_t node)
{
    return ek__ir_type(context, context->ir->node[node].type);
}

const ek_ir_type *ek__ir_type_of_operand(const ek__ir_context *context, uint32_t node, uint32_t k)
{
    const ek_ir_input *input = ek__ir_operand(context, node, k);
    return input ? ek__ir_type(context, input->type) : NULL;
}

int ek__ir_element_bytes(ek_ir_dtype dtype)
{
    static const int bytes[EK_N_IR_DTYPES] = {
        [EK_IR_BOOL] = 1,      [EK_IR_INT8] = 1,        [EK_IR_UINT8] = 1,   [EK_IR_INT16] = 2,   [EK_IR_UINT16] = 2,
        [EK_IR_INT32] = 4,     [EK_IR_UINT32] = 4,      [EK_IR_INT64] = 8,   [EK_IR_UINT64] = 8,  [EK_IR_FLOAT8] = 1,
        [EK_IR_FLOAT16] = 2,   [EK_IR_BFLOAT16] = 2,    [EK_IR_FLOAT32] = 4, [EK_IR_FLOAT64] = 8, [EK_IR_INT4] = 1,
        [EK_IR_COMPLEX64] = 8, [EK_IR_COMPLEX128] = 16,
    };
    return bytes[dtype];
}

bool ek__ir_is_forward(const ek__ir_context *context, uint32_t node)
{
    return !(context->ir->node[node].flags & (EK_IR_BACKWARD | EK_IR_DUPLICATED | EK_IR_RETURN));
}

bool ek__ir_is_backward(const ek__ir_context *context, uint32_t node)
{
    return context->ir->node[node].flags & (EK_IR_BACKWARD | EK_IR_DUPLICATED);
}

ek__ir_place *ek__ir_place_of(ek__ir_context *context, uint32_t node)
{
    uint32_t scope = context->ir->node[node].scope;
    if (scope == EK_IR_NONE)
        return &context->no_place;
    if (!context->place[scope]) {
        ek__ir_place *made = ek__pool_alloc(context->scratch, 1, sizeof *made);
        if (!made) {
            context->out_of_memory = true;
            return &context->no_place;
        }
        *made = (ek__ir_place){ek__ir_hash_scope(context->ir->text[scope], false),
                               ek_ir_layer(context->ir, &context->ir->node[node])};
        context->place[scope] = made;
    }
    return context->place[scope];
}

bool ek__ir_is_true(const char *text)
{
    return text && (strcmp(text, "1") == 0 || strcmp(text, "true") == 0 || strcmp(text, "True") == 0 ||
                    strcmp(text, "Bool(1)") == 0);
}

int ek__ir_count_numbers(const char *text, char separator)
{
    int n = 0;
    bool digits = false;
    for (; *text; text++) {
        bool digit = isdigit((unsigned char)*text);
        n += digit && !digits;
        digits = digit;
        if (!digit && *text != separator && !strchr(" ()[]", *text))
            return 0;
    }
    return n;
}

/* ---- the whole ---- */

static bool count_positions(ek__ir_context *c)
{
    const ek_ir *ir = c->ir;
    uint32_t *before = ek__pool_alloc(c->scratch, (size_t)ir->n_graphs + 1, sizeof *before);
    if (!before)
        return false;
    for (uint32_t g = 0; g < ir->n_graphs; g++)
        c->whole_graph[g] = true;
    bool *returns = ek__pool_alloc(c->scratch, (size_t)ir->n_graphs + 1, sizeof *returns);
    if (!returns)
        return false;
    for (uint32_t i = 0; i < ir->n_nodes; i++) {
        const ek_ir_node *node = &ir->node[i];
        uint32_t graph = node->graph < ir->n_graphs ? node->graph : ir->n_graphs;
        c->position[i] = before[graph];
        before[graph] += !(node->flags & EK_IR_RETURN);
        returns[graph] |= (node->flags & EK_IR_RETURN) != 0;
        c->report->has_backward |= (node->flags & EK_IR_BACKWARD) != 0;
        c->has_copies |= (node->flags & EK_IR_DUPLICATED) != 0;
        for (uint32_t k = 0; k < node->n_inputs && graph < ir->n_graphs; k++)
            if (ir->input[node->first_input + k].kind == EK_IR_INPUT_OUTSIDE)
                c->whole_graph[graph] = false;
    }
    for (uint32_t g = 0; g < ir->n_graphs; g++)
        c->whole_graph[g] &= returns[g];
    return true;
}

ek_status ek__ir_edges_make(ek__ir_context *context, ek_error *err)
{
    const ek_ir *ir = context->ir;
    context->op = ek__pool_alloc(context->scratch, ir->n_nodes, 1);
    context->comm_kind = ek__pool_alloc(context->scratch, ir->n_nodes, 1);
    context->position = ek__pool_alloc(context->scratch, ir->n_nodes, sizeof *context->position);
    context->place = ek__pool_alloc(context->scratch, ir->n_texts, sizeof(ek__ir_place *));
    context->whole_graph = ek__pool_alloc(context->scratch, ir->n_graphs, sizeof *context->whole_graph);
    context->no_place = (ek__ir_place){1, -1};
    if (!context->op || !context->comm_kind || !context->position || !context->place || !context->whole_graph)
        return ek__no_memory(err);
    if (!classify(context) || !make_uses(context) || !count_positions(context))
        return ek__no_memory(err);
    return EK_OK;
}
