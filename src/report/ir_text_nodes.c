/* Prints operators one by one for people: inputs, outputs and their consumers, attributes, scope and source. Only
 * attributes that the reader stores are printed; the line of the file has the others. */
#include <inttypes.h>

#include "evenkeel/ir.h"
#include "report/ir_internal.h"

enum { LABEL = 12, NUMBER = 10, NAME = 30, MAX_TAKERS = 4, TEXT = 512 };

typedef struct listing {
    const ek_ir *ir;
    const ek__ir_takers *uses;
    FILE *out;
} listing;

static void label(const listing *l, const char *text)
{
    fprintf(l->out, "      %-*s", LABEL, text);
}

static void print_input(const listing *l, const ek_ir_input *input)
{
    const ek_ir *ir = l->ir;
    char type[TEXT], number[24];
    ek_ir_type_text(ir, input->type, type, sizeof type);
    label(l, "takes");
    switch ((ek_ir_input_kind)input->kind) {
    case EK_IR_INPUT_NODE:
        fprintf(l->out, "%-*s", NUMBER, ek__ir_node_label(ir, input->index).text);
        ek__print_cell(ek__ir_primitive(ir, input->index), NAME, l->out);
        break;
    case EK_IR_INPUT_PARAMETER: {
        const ek_ir_parameter *parameter = &ir->parameter[input->index];
        snprintf(number, sizeof number, "%%para%" PRIu32, parameter->number);
        fprintf(l->out, "%-*s", NUMBER, parameter->number == EK_IR_NONE ? "parameter" : number);
        ek__print_cell(ek_ir_text(ir, parameter->name), NAME, l->out);
        break;
    }
    case EK_IR_INPUT_GRAPH:
        fprintf(l->out, "%-*s", NUMBER, "graph");
        ek__print_cell(input->index == EK_IR_NONE ? "not in the file" : ek_ir_text(ir, ir->graph[input->index].name),
                       NAME, l->out);
        break;
    case EK_IR_INPUT_LITERAL:
        fprintf(l->out, "%-*s", NUMBER, "value");
        ek__print_cell(ek_ir_text(ir, input->index), NAME, l->out);
        break;
    case EK_IR_INPUT_OUTSIDE:
        snprintf(number, sizeof number, "%%%" PRIu32, input->index);
        fprintf(l->out, "%-*s", NUMBER, number);
        ek__print_cell("not in the file", NAME, l->out);
        break;
    }
    if (type[0] && input->type != EK_IR_NONE) {
        fputs("  ", l->out);
        ek__print_name(type, l->out);
    }
    fputc('\n', l->out);
}

static void print_output(const listing *l, const ek_ir_node *node)
{
    char type[TEXT];
    if (node->type == EK_IR_NONE)
        return;
    ek_ir_type_text(l->ir, node->type, type, sizeof type);
    label(l, "gives");
    ek__print_name(type, l->out);
    if (l->ir->type[node->type].bytes > 0)
        fprintf(l->out, ", %s", ek__ir_size(l->ir->type[node->type].bytes).text);
    fputc('\n', l->out);
}

static void print_takers(const listing *l, uint32_t node)
{
    uint32_t from = l->uses->first[node], to = l->uses->first[node + 1], n = 0;
    for (uint32_t k = from; k < to; k++) {
        uint32_t taker = l->uses->consumer[k];
        if (k > from && taker == l->uses->consumer[k - 1])
            continue;
        if (n++ >= MAX_TAKERS)
            continue;
        if (n == 1)
            label(l, "taken by");
        else
            fputs(", ", l->out);
        ek__ir_print_named(l->ir, taker, l->out);
        fputs(l->ir->node[taker].flags & EK_IR_BACKWARD ? " (backward)" : "", l->out);
    }
    if (n > MAX_TAKERS)
        fprintf(l->out, " and %" PRIu32 " more", n - MAX_TAKERS);
    fputs(n ? "\n" : "", l->out);
}

static void print_text(const listing *l, const char *title, uint32_t text)
{
    if (text == EK_IR_NONE)
        return;
    label(l, title);
    ek__print_name(ek_ir_text(l->ir, text), l->out);
    fputc('\n', l->out);
}

static void print_flags(const listing *l, const ek_ir_node *node)
{
    int n = 0;
    for (int bit = 0; bit < EK__IR_N_FLAGS; bit++) {
        if (!(node->flags & (1U << bit)))
            continue;
        if (n++ == 0)
            label(l, "marks");
        fprintf(l->out, "%s%s", n > 1 ? ", " : "", ek__ir_flag_name[bit]);
    }
    fputs(n ? "\n" : "", l->out);
}

static void print_attributes(const listing *l, const ek_ir_node *node)
{
    for (uint32_t k = 0; k < node->n_attributes; k++) {
        const ek_ir_attribute *attribute = &l->ir->attribute[node->first_attribute + k];
        label(l, k == 0 ? "attributes" : "");
        ek__print_name(ek_ir_text(l->ir, attribute->key), l->out);
        fputs(": ", l->out);
        ek__print_name(ek_ir_text(l->ir, attribute->value), l->out);
        fputc('\n', l->out);
    }
}

static void print_node(const listing *l, uint32_t i)
{
    const ek_ir_node *node = &l->ir->node[i];
    char scope[EK__IR_SCOPE];
    fputs("  ", l->out);
    ek__ir_print_named(l->ir, i, l->out);
    if (node->instance != EK_IR_NONE) {
        fputs(" '", l->out);
        ek__print_name(ek_ir_text(l->ir, node->instance), l->out);
        fputc('\'', l->out);
    }
    fprintf(l->out, ", line %" PRIu32 "\n", node->line);
    for (uint32_t k = 0; k < node->n_inputs; k++)
        print_input(l, &l->ir->input[node->first_input + k]);
    print_output(l, node);
    print_takers(l, i);
    print_flags(l, node);
    print_text(l, "inputs cut", node->in_strategy);
    print_text(l, "output cut", node->out_strategy);
    print_attributes(l, node);
    ek_ir_scope(l->ir, node, scope, sizeof scope);
    if (scope[0]) {
        label(l, "scope");
        ek__print_name(scope, l->out);
        fputc('\n', l->out);
    }
    print_text(l, "source", node->source);
}

ek_status ek__ir_print_nodes(const ek_ir *ir, const ek_ir_view *view, const ek__ir_choice *choice, FILE *out,
                             ek_error *err)
{
    ek__ir_takers uses;
    ek_status status = ek__ir_find_takers(ir, &uses, err);
    if (status)
        return status;
    const listing l = {ir, &uses, out};
    uint32_t shown = 0, top = (uint32_t)ek__ir_top(view);
    ek__ir_heading(view, "Operators", out);
    fputc('\n', out);
    for (uint32_t i = 0; i < ir->n_nodes && shown < top; i++)
        if (ek__ir_chosen(choice, i)) {
            shown++;
            print_node(&l, i);
        }
    if (choice->n > top)
        fprintf(out, "  ... and %" PRIu32 " more; --top %" PRIu32 " shows all\n", choice->n - top, choice->n);
    ek__ir_takers_clear(&uses);
    return EK_OK;
}
