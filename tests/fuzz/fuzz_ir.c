/* Graphs as text: whatever the bytes, every index is within its array, nodes stand in order, a file reads like memory,
 * and a node's own bytes are a node again. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "evenkeel/ir.h"
#include "fuzz.h"

static void check_inputs(const ek_ir *ir)
{
    const uint32_t n_of[] = {ir->n_nodes, ir->n_parameters, ir->n_graphs, ir->n_texts, UINT32_MAX};
    for (uint32_t i = 0; i < ir->n_inputs; i++) {
        const ek_ir_input *input = &ir->input[i];
        assert(input->kind <= EK_IR_INPUT_OUTSIDE);
        assert(input->index < n_of[input->kind] || (input->kind == EK_IR_INPUT_GRAPH && input->index == EK_IR_NONE));
        assert(input->type == EK_IR_NONE || input->type < ir->n_types);
    }
}

static void check_types(const ek_ir *ir)
{
    for (uint32_t i = 0; i < ir->n_types; i++) {
        const ek_ir_type *t = &ir->type[i];
        char text[64];
        assert(t->first_dim + t->rank <= ir->n_dims && t->first_part + t->n_parts <= ir->n_parts);
        for (uint32_t k = 0; k < t->n_parts; k++)
            assert(ir->part[t->first_part + k] == EK_IR_NONE || ir->part[t->first_part + k] < i);
        ek_ir_type_text(ir, i, text, sizeof text);
        assert(strlen(text) < sizeof text);
    }
}

static void check_nodes(const ek_ir *ir)
{
    int64_t end = 0;
    uint32_t inputs = 0, attributes = 0;
    for (uint32_t i = 0; i < ir->n_nodes; i++) {
        const ek_ir_node *n = &ir->node[i];
        char scope[64];
        assert(n->offset >= end && n->bytes > 0 && n->offset + n->bytes <= ir->bytes && n->graph < ir->n_graphs);
        assert(n->first_input == inputs && n->first_attribute == attributes);
        assert(n->type == EK_IR_NONE || n->type < ir->n_types);
        end = n->offset + n->bytes;
        inputs += n->n_inputs;
        attributes += n->n_attributes;
        ek_ir_scope(ir, n, scope, sizeof scope);
        ek_ir_layer(ir, n);
    }
    assert(inputs == ir->n_inputs && attributes == ir->n_attributes);
    for (uint32_t i = 0; i < ir->n_attributes; i++)
        assert(ir->attribute[i].key < ir->n_texts && ir->attribute[i].value < ir->n_texts);
}

/* The last node read again from the file. */
static void check_source(const ek_ir *ir)
{
    char *text = NULL;
    ek_ir *one = NULL;
    const ek_ir_node *n = &ir->node[ir->n_nodes - 1];
    assert(ek_ir_node_source(ir, ir->n_nodes - 1, &text, NULL) == EK_OK);
    assert(ek_ir_parse("node", text, n->bytes, NULL, &one, NULL) == EK_OK);
    assert(one->n_nodes == 1 && one->node[0].number == n->number && one->node[0].n_inputs == n->n_inputs);
    ek_ir_free(one);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ek_error err = {0};
    ek_ir *file = NULL, *memory = NULL;
    ek_status status = ek_ir_read(fuzz_file(data, size), NULL, NULL, &file, &err);
    assert(ek_ir_parse("memory", (const char *)data, size, NULL, &memory, NULL) == status);
    assert(status == EK_OK || (status == EK_ERR_INPUT && err.message[0] && !file && !memory));
    if (status == EK_OK) {
        assert(file->n_nodes == memory->n_nodes && file->n_inputs == memory->n_inputs &&
               file->n_texts == memory->n_texts && file->n_diagnostics == memory->n_diagnostics);
        check_inputs(file);
        check_types(file);
        check_nodes(file);
        if (file->n_nodes > 0)
            check_source(file);
    }
    ek_ir_free(file);
    ek_ir_free(memory);
    return 0;
}
