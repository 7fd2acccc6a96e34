/* Fuzzes graphs as text: whatever the bytes, every index is within its array, nodes are in order, a file reads like
 * memory, and a node's own bytes are a node again. The graph is checked, compared with itself without a difference, and
 * written in every form. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "evenkeel/ir.h"
#include "evenkeel/ir_report.h"
#include "fuzz.h"
#include "report/writers.h"

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

/* ---- checks ---- */

static void check_report(const ek_ir_report *report)
{
    const ek_ir *ir = report->ir;
    int64_t kept = 0;
    for (int i = 0; i < report->n_recompute; i++) {
        const ek_ir_recompute *r = &report->recompute[i];
        assert(r->node < ir->n_nodes && (i == 0 || r[-1].node < r->node));
        assert((r->in_effect == EK_IR_YES) <= (r->copy < ir->n_nodes));
        assert((r->held == EK_IR_NONE) == (r->consumer == EK_IR_NONE) && r->bytes >= -1);
    }
    for (int i = 0; i < report->n_comms; i++)
        assert(report->comm[i].node < ir->n_nodes && report->comm[i].n_ranks >= 0 && report->comm[i].bytes >= -1);
    for (int i = 0; i < report->n_kept; i++) {
        const ek_ir_kept *k = &report->kept[i];
        assert(k->node < ir->n_nodes && k->consumer < ir->n_nodes && k->n_consumers > 0);
        kept += k->bytes > 0 && kept <= INT64_MAX - k->bytes ? k->bytes : 0;
    }
    assert(kept <= report->kept_bytes);
    for (int i = 0; i < report->n_findings; i++) {
        const ek_ir_finding *f = &report->finding[i];
        assert(f->node < ir->n_nodes || strcmp(f->check, "parameters") == 0);
        assert(f->text[0] && f->advice[0] && f->n_occurrences > 0 && f->n_chain <= EK_IR_MAX_CHAIN);
    }
}

/* Writing takes longer than reading: one view and half of the writers an input, by its size. */
static void write_report(const ek_ir_report *report, const ek_ir_difference *difference)
{
    static const ek_ir_view views[] = {{.layer = -1}, {.layer = 0}, {.layer = -1, .operators = "^[A-M]", .top = 2}};
    const size_t n_views = sizeof views / sizeof *views, choice = (size_t)report->ir->bytes % (2 * n_views);
    const ek_ir_view *view = &views[choice / 2];
    ek_error err;
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    assert(out);
    if (choice % 2 == 0) {
        assert(ek__ir_write_text(report, view, out, &err) == EK_OK);
        assert(ek__ir_write_difference_json(report, report, difference, view, out, &err) == EK_OK);
    } else {
        assert(ek__ir_write_json(&report, 1, view, out, &err) == EK_OK);
        assert(ek__ir_write_difference_text(report, report, difference, view, out, &err) == EK_OK);
        ek_status status = ek__ir_write_dot(report, view, out, &err);
        assert(status == EK_OK || (status == EK_ERR_INPUT && err.message[0]));
    }
    fclose(out);
    free(text);
}

static void check_checks(const ek_ir *ir)
{
    static const ek_ir_check_options options = {.n_devices = 8, .alive = 3, .large_bytes = 100};
    ek_ir_report report;
    ek_ir_difference difference;
    ek_error err;
    assert(ek_ir_check(ir, &options, &report, &err) == EK_OK);
    check_report(&report);
    assert(ek_ir_compare(&report, &report, &difference, &err) == EK_OK);
    assert(difference.n_primitives + difference.n_comms + difference.n_only[0] + difference.n_only[1] == 0);
    write_report(&report, &difference);
    ek_ir_difference_clear(&difference);
    ek_ir_report_clear(&report);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ek_error err = {0};
    ek_ir *file = NULL, *memory = NULL;
    ek_status status = ek_ir_read(fuzz_file(data, size), NULL, NULL, &file, &err);
    bool twice = size % 2 == 0; /* half of the inputs from memory, too */
    if (twice)
        assert(ek_ir_parse("memory", (const char *)data, size, NULL, &memory, NULL) == status);
    assert(status == EK_OK || (status == EK_ERR_INPUT && err.message[0] && !file && !memory));
    if (status == EK_OK) {
        assert(!twice || (file->n_nodes == memory->n_nodes && file->n_inputs == memory->n_inputs &&
                          file->n_texts == memory->n_texts && file->n_diagnostics == memory->n_diagnostics));
        check_inputs(file);
        check_types(file);
        check_nodes(file);
        if (file->n_nodes > 0)
            check_source(file);
        check_checks(file);
    }
    ek_ir_free(file);
    ek_ir_free(memory);
    return 0;
}
