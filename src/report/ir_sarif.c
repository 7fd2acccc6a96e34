/* Writes findings of checked graphs as SARIF: a rule for every check, a result for each finding that the view shows, at
 * the line of the graph of its first occurrence and at the operator by its scope; the nodes of its evidence and the
 * line of the program are related places. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "evenkeel/ir.h"
#include "report/ir_internal.h"
#include "report/sarif.h"
#include "report/writers.h"

enum { MAX_SCOPE = 1024, MAX_RELATED = EK_IR_MAX_CHAIN + 1 };

/* In the order of docs/ir-checks.md, which has more details. */
static const ek__sarif_rule rules[] = {
    {"recompute-not-in-effect", "Requested recomputation is not in effect.",
     "The backward pass uses the value itself, not a recomputed copy, so the value is saved as without recomputation; "
     "or there is no copy.",
     NULL, "warning", NULL},
    {"recompute-blocked-by-reshape", "A Reshape, Cast, Transpose or Depend saves the output of a recomputed operator.",
     "The backward pass uses the value through an operator without recomputation. The output of that operator is saved "
     "instead, and recomputation saves nothing. Recompute that operator, too.",
     NULL, "warning", NULL},
    {"recompute-costs-memory", "A recomputed Cast saves its wider input.",
     "The copy of a Cast to a narrower format takes the wider input, which is now held: more memory than without.",
     NULL, "warning", NULL},
    {"redistribution", "The compiler put communication in where neighbours are cut differently.",
     "Operators with different strategies need their tensors sent anew. Give the operator that can take any cut the "
     "one of "
     "its neighbour.",
     NULL, "warning", NULL},
    {"allreduce-then-slice", "An AllReduce or AllGather is followed by a slice of its output.",
     "A ReduceScatter computes a rank's part of a sum with half the traffic of an AllReduce; data that is gathered and "
     "sliced again need not be sent.",
     NULL, "warning", NULL},
    {"repeated-gather", "The same value is sent twice, or one communication makes the one before it pointless.",
     "The same operator sends the same value over the same group again. Keep the result, or let both takers share it.",
     NULL, "warning", NULL},
    {"shard-mismatch", "Cuts contradict each other or the shapes.",
     "A value is produced with one sharding and used with another, a sharding does not divide the devices, or a shape "
     "does not match its strategy.",
     NULL, "error", NULL},
    {"row-parallel", "The sum after a MatMul with a sharded inner dimension is missing, or costs more than necessary.",
     "Each rank has a part of the sum: an AllReduce or ReduceScatter over as many ranks must follow.", NULL, "error",
     NULL},
    {"parameters", "A large weight is not cut.",
     "Every device has all of it, with its gradient and optimizer states. Shard it, or use optimizer parallelism.",
     NULL, "warning", NULL},
    {"dtype", "Work is done in more bits than its data has.",
     "Products and communication in float32 take twice the time and bytes of 16 bits; Casts that undo each other cost "
     "both.",
     NULL, "note", NULL},
    {"unfused-pattern", "Operators could be replaced by a fused one.",
     "Each writes its result to memory for the next one to read; the fused operator does not.", NULL, "warning", NULL},
};
enum { N_RULES = sizeof rules / sizeof *rules };

const ek__sarif_rule *ek__ir_sarif_rules(int *n)
{
    *n = N_RULES;
    return rules;
}

/* Buffers for the texts of one result. */
typedef struct texts {
    char message[4096], label[64], scope[MAX_SCOPE];
    char chain_label[EK_IR_MAX_CHAIN][64], chain_scope[EK_IR_MAX_CHAIN][MAX_SCOPE];
    char source[MAX_SCOPE];
} texts;

/* The place and the name of a node. */
static ek__sarif_place place_of(const ek_ir *ir, uint32_t node, char label[64], char scope[MAX_SCOPE])
{
    ek__sarif_place place = {.path = ir->in_file ? ir->path : NULL};
    if (node == EK_IR_NONE)
        return place;
    const ek_ir_node *n = &ir->node[node];
    if (n->number != EK_IR_NONE)
        snprintf(label, 64, "%%%u %s", n->number, ek_ir_text(ir, n->primitive));
    else
        snprintf(label, 64, "%s", ek_ir_text(ir, n->primitive));
    ek_ir_scope(ir, n, scope, MAX_SCOPE);
    place.line = n->line;
    place.name = label;
    place.fully_called = *scope ? scope : NULL;
    place.kind = "function";
    return place;
}

/* The line of the program that made a node, "file.py:20". @return false if the graph does not have it */
static bool source_of(const ek_ir *ir, uint32_t node, char path[MAX_SCOPE], ek__sarif_place *out)
{
    const char *text =
        node == EK_IR_NONE || ir->node[node].source == EK_IR_NONE ? NULL : ek_ir_text(ir, ir->node[node].source);
    const char *colon = text ? strrchr(text, ':') : NULL;
    int64_t line = colon ? strtoll(colon + 1, NULL, 10) : 0;
    if (line < 1 || colon == text || (size_t)(colon - text) >= MAX_SCOPE)
        return false;
    memcpy(path, text, (size_t)(colon - text));
    path[colon - text] = '\0';
    *out = (ek__sarif_place){.path = path, .line = line, .said = "the line of the program"};
    return true;
}

static void add_finding(ek__sarif *sarif, const ek_ir *ir, const ek_ir_finding *f, texts *t)
{
    ek__sarif_place related[MAX_RELATED];
    const ek__sarif_figure figure[] = {{"occurrences", f->n_occurrences},
                                       {"layers", f->n_layers},
                                       {"bytes", f->bytes >= 0 ? (double)f->bytes : (double)NAN}};
    int n = 0;
    snprintf(t->message, sizeof t->message, "%s%s%s", f->text, f->advice ? "; " : "", f->advice ? f->advice : "");
    for (int i = 0; i < f->n_chain; i++) {
        related[n] = place_of(ir, f->chain[i], t->chain_label[i], t->chain_scope[i]);
        related[n].said = t->chain_label[i];
        n += related[n].name != NULL;
    }
    n += source_of(ir, f->node, t->source, &related[n]);
    ek__sarif_add(sarif, &(ek__sarif_result){.rule = f->check,
                                             .level = ek_ir_severity_name[f->severity],
                                             .message = t->message,
                                             .place = place_of(ir, f->node, t->label, t->scope),
                                             .related = related,
                                             .n_related = n,
                                             .figure = figure,
                                             .n_figures = sizeof figure / sizeof *figure});
}

static ek_status add_file(ek__sarif *sarif, const ek_ir_report *report, const ek_ir_view *view, texts *t, ek_error *err)
{
    ek__ir_choice choice;
    ek_status status = ek__ir_choose(report->ir, view, &choice, err);
    if (status)
        return status;
    for (int i = 0; i < report->n_findings; i++)
        if (ek__ir_shows_finding(view, &choice, &report->finding[i]))
            add_finding(sarif, report->ir, &report->finding[i], t);
    ek__ir_choice_clear(&choice);
    return EK_OK;
}

ek_status ek__ir_write_sarif(const ek_ir_report *const *report, int n, const ek_ir_view *view, FILE *out, ek_error *err)
{
    ek__sarif sarif;
    texts *t = ek__alloc(1, sizeof *t);
    ek_status status = t ? EK_OK : ek__no_memory(err);
    if (status == EK_OK)
        ek__sarif_begin(&sarif, "evenkeel ir", rules, N_RULES, out);
    for (int i = 0; i < n && status == EK_OK; i++)
        status = add_file(&sarif, report[i], view, t, err);
    if (status == EK_OK)
        status = ek__sarif_end(&sarif, err);
    free(t);
    return status;
}
