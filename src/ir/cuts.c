/* Reads strategies from their text and derives the layout of an operator's output. Only certain cases are derived:
 * MatMul and BatchMatMul (rows of one operand, columns of the other), and operators whose output is like an operand.
 * Reshape, Transpose, Gather and unknown operators give no layout. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/check.h"

static const char *skip_blanks(const char *text)
{
    while (*text == ' ' || *text == ',')
        text++;
    return text;
}

/* One "(2, 1)" or "[2, 1]"; returns the place after it, NULL for anything else. */
static const char *read_tuple(const char *text, ek__ir_tuple *out)
{
    if (*text != '(' && *text != '[')
        return NULL;
    out->n = 0;
    text = skip_blanks(text + 1);
    while (*text != ')' && *text != ']') {
        char *end;
        long long value = strtoll(text, &end, 10);
        if (end == text || out->n == EK__IR_MAX_DIMS)
            return NULL;
        out->of[out->n++] = value;
        text = skip_blanks(end);
    }
    return text + 1;
}

bool ek__ir_cuts_read(const char *text, ek__ir_cuts *out)
{
    text = skip_blanks(text);
    out->n = 0;
    if (*text != '(' && *text != '[')
        return false;
    text = skip_blanks(text + 1);
    while (*text != ')' && *text != ']') {
        if (out->n == EK__IR_MAX_CUTS)
            return false;
        text = read_tuple(text, &out->input[out->n]);
        if (!text)
            return false;
        out->n++;
        text = skip_blanks(text);
    }
    return out->n > 0;
}

bool ek__ir_cuts_of(const ek__ir_context *context, uint32_t node, ek__ir_cuts *out)
{
    const ek_ir_node *n = &context->ir->node[node];
    if ((n->flags & EK_IR_DAMAGED) || n->in_strategy == EK_IR_NONE ||
        !ek__ir_cuts_read(ek_ir_text(context->ir, n->in_strategy), out))
        return false;
    for (int i = 0; i < out->n; i++)
        for (int d = 0; d < out->input[i].n; d++)
            if (out->input[i].of[d] < 1)
                return false;
    return true;
}

bool ek__ir_transposed(const ek__ir_context *context, uint32_t node, int operand)
{
    static const char *const keys[2][2] = {{"transpose_a", "transpose_x1"}, {"transpose_b", "transpose_x2"}};
    for (int i = 0; i < 2; i++) {
        const char *text = ek_ir_attribute_of(context->ir, &context->ir->node[node], keys[operand][i]);
        if (text)
            return ek__ir_is_true(text);
    }
    const ek_ir_input *literal = ek__ir_operand(context, node, (uint32_t)operand + 2);
    return literal && literal->kind == EK_IR_INPUT_LITERAL && ek__ir_is_true(ek_ir_text(context->ir, literal->index));
}

static bool is_matmul(const ek__ir_context *context, uint32_t node)
{
    return context->op[node] == EK__IR_OP_MATMUL || context->op[node] == EK__IR_OP_BATCH_MATMUL;
}

/* The index of the summed dimension among the last two. */
static int contracted_dimension(const ek__ir_context *context, uint32_t node, int operand, int n)
{
    bool last = (operand == 0) != ek__ir_transposed(context, node, operand);
    return last ? n - 1 : n - 2;
}

bool ek__ir_contracted(const ek__ir_context *context, uint32_t node, const ek__ir_cuts *cuts, int64_t out[2])
{
    if (!is_matmul(context, node) || cuts->n < 2 || cuts->input[0].n < 2 || cuts->input[1].n < 2)
        return false;
    for (int i = 0; i < 2; i++)
        out[i] = cuts->input[i].of[contracted_dimension(context, node, i, cuts->input[i].n)];
    return true;
}

static bool matmul_layout(const ek__ir_context *context, uint32_t node, const ek__ir_cuts *cuts, ek__ir_tuple *out)
{
    if (cuts->n < 2 || cuts->input[0].n < 2 || cuts->input[1].n < 2)
        return false;
    const ek__ir_tuple *a = &cuts->input[0], *b = &cuts->input[1];
    /* leading dimensions may be broadcast: those of the longer one are used if their numbers agree */
    *out = *a;
    int row = 2 * a->n - 3 - contracted_dimension(context, node, 0, a->n);
    int column = 2 * b->n - 3 - contracted_dimension(context, node, 1, b->n);
    out->of[a->n - 2] = a->of[row];
    out->of[a->n - 1] = b->of[column];
    return a->n >= b->n;
}

/* The operand with the output's rank. */
static bool like_operand(const ek__ir_context *context, uint32_t node, const ek__ir_cuts *cuts, ek__ir_tuple *out)
{
    const ek_ir_type *type = ek__ir_type_of_node(context, node);
    if (!type || !type->tensor)
        return false;
    for (int i = 0; i < cuts->n; i++) {
        const ek_ir_type *operand = ek__ir_type_of_operand(context, node, (uint32_t)i);
        if (!operand || operand->rank != type->rank || cuts->input[i].n != (int)type->rank)
            continue;
        if (type->rank == 0 || memcmp(&context->ir->dim[operand->first_dim], &context->ir->dim[type->first_dim],
                                      type->rank * sizeof(int64_t)) == 0) {
            *out = cuts->input[i];
            return true;
        }
    }
    return false;
}

bool ek__ir_layout_of(const ek__ir_context *context, uint32_t node, ek__ir_tuple *out)
{
    const ek_ir_node *n = &context->ir->node[node];
    ek__ir_cuts cuts;
    if (n->flags & EK_IR_DAMAGED)
        return false;
    if (n->out_strategy != EK_IR_NONE && ek__ir_cuts_read(ek_ir_text(context->ir, n->out_strategy), &cuts)) {
        *out = cuts.input[0];
        return true;
    }
    if (!ek__ir_cuts_of(context, node, &cuts))
        return false;
    if (is_matmul(context, node))
        return matmul_layout(context, node, &cuts, out);
    uint8_t op = context->op[node];
    const ek_ir_type *type = ek__ir_type_of_node(context, node);
    if (op == EK__IR_OP_ROW_WISE && type && type->n_parts > 0) { /* a norm's first output; the others are statistics */
        *out = cuts.input[0];
        return true;
    }
    return (op == EK__IR_OP_ELEMENTWISE || op == EK__IR_OP_ROW_WISE || op == EK__IR_OP_CAST) &&
           like_operand(context, node, &cuts, out);
}

bool ek__ir_tuple_equal(const ek__ir_tuple *a, const ek__ir_tuple *b)
{
    return a->n == b->n && memcmp(a->of, b->of, (size_t)a->n * sizeof a->of[0]) == 0;
}

int64_t ek__ir_tuple_product(const ek__ir_tuple *tuple)
{
    int64_t product = 1;
    for (int i = 0; i < tuple->n; i++)
        if (__builtin_mul_overflow(product, tuple->of[i], &product))
            return INT64_MAX;
    return product;
}

const char *ek__ir_tuple_text(char out[128], const ek__ir_tuple *tuple)
{
    size_t used = 1;
    out[0] = '(';
    for (int i = 0; i < tuple->n && used < 100; i++)
        used += (size_t)snprintf(out + used, 128 - used, "%s%lld", i ? ", " : "", (long long)tuple->of[i]);
    snprintf(out + used, 128 - used, ")");
    return out;
}
