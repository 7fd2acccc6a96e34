/* report/ir_internal.h - what the writers of graphs share: which nodes are shown, sums over them, and how a node, a
 * size and a scope are printed. */
#ifndef EK_REPORT_IR_INTERNAL_H
#define EK_REPORT_IR_INTERNAL_H

#include "base/json_stream.h"
#include "base/page.h"
#include "base/pool.h"
#include "evenkeel/ir_report.h"
#include "report/report_internal.h"

/* ---- which nodes are shown (ir_view.c) ---- */

/** The nodes that a view shows. */
typedef struct ek__ir_choice {
    bool all;   /**< the view leaves nothing out */
    uint32_t n; /**< nodes shown, every Return among them when all are */
    bool *node; /**< [ir->n_nodes]; NULL when all are shown */
} ek__ir_choice;

ek_status ek__ir_choose(const ek_ir *ir, const ek_ir_view *view, ek__ir_choice *out, ek_error *err);
void ek__ir_choice_clear(ek__ir_choice *choice);
bool ek__ir_chosen(const ek__ir_choice *choice, uint32_t node);
/** Rows of a list for people. */
int ek__ir_top(const ek_ir_view *view);
/** Is a finding severe enough, and do chosen operators take part in it, as far as can be told? */
bool ek__ir_shows_finding(const ek_ir_view *view, const ek__ir_choice *choice, const ek_ir_finding *finding);

/* ---- sums over what is shown (ir_sums.c) ---- */

/** How a request for recomputation ended. */
typedef enum ek__ir_outcome {
    EK__IR_IN_EFFECT,
    EK__IR_NOT_IN_EFFECT,
    EK__IR_BY_DESIGN,
    EK__IR_NOT_SEEN,
    EK__IR_N_OUTCOMES
} ek__ir_outcome;
ek__ir_outcome ek__ir_outcome_of(const ek_ir_recompute *recompute);

typedef struct ek__ir_layer_sum {
    int layer; /**< -1: outside layers */
    int n_kept, n_comms, n_recompute[EK__IR_N_OUTCOMES];
    int64_t kept, traffic; /**< kept: for one micro-batch */
} ek__ir_layer_sum;

/** Communication of one kind, role and group. */
typedef struct ek__ir_comm_sum {
    ek_ir_comm_kind kind;
    ek_ir_comm_role role;
    const char *group; /**< NULL: not told */
    int n_ranks;
    int n, n_backward, n_copies;
    int n_unknown; /**< of which the bytes are not known and not in the sums */
    int64_t bytes, traffic;
} ek__ir_comm_sum;

/** Entries of a list that differ in the layer they lie in only. */
typedef struct ek__ir_group {
    int first; /**< index in the list of the first of them, in file order */
    int n, first_layer, last_layer;
    int64_t bytes; /**< of those of the first micro-batch */
} ek__ir_group;

typedef struct ek__ir_sums {
    ek__ir_choice choice;
    int n_forward, n_backward, n_copies; /**< operators */
    int first_micro, last_micro; /**< micro-batches that operators shown name; -1: none. Bytes that are kept are summed
                                    for the first, and for what names none */
    int n_outcome[EK__IR_N_OUTCOMES]; /**< requests for recomputation, of all micro-batches */
    int64_t outcome[EK__IR_N_OUTCOMES];
    int n_layers, n_comms;
    ek__ir_layer_sum *layer; /**< [n_layers], those with anything in them, by number; outside layers last */
    ek__ir_comm_sum *comm;   /**< [n_comms], most traffic first */
    int n_kept;
    int64_t kept, traffic; /**< kept: for one micro-batch, n_kept tensors; traffic: of all that is in the graph */
    int n_blocked, n_kept_groups;
    ek__ir_group *blocked;   /**< [n_blocked] of report->recompute that are not in effect, most bytes first */
    ek__ir_group *kept_like; /**< [n_kept_groups] of report->kept of the first micro-batch, most bytes first */
    int n_findings[3];       /**< by severity, whatever the view shows */
    ek__pool *pool;
} ek__ir_sums;

/** Sum what `view` shows. EK_OK or an error; O(n log n). */
ek_status ek__ir_sum(const ek_ir_report *report, const ek_ir_view *view, ek__ir_sums *out, ek_error *err);
void ek__ir_sums_clear(ek__ir_sums *sums);

/** Parameters of the entry's list; without one, as in fragments, the formal parameters of all graphs. */
uint32_t ek__ir_count_parameters(const ek_ir *ir);

/** Who takes the value of each node: consumer[first[i] .. first[i + 1]), in file order. */
typedef struct ek__ir_takers {
    uint32_t *first; /**< [n_nodes + 1] */
    uint32_t *consumer;
} ek__ir_takers;
ek_status ek__ir_find_takers(const ek_ir *ir, ek__ir_takers *out, ek_error *err);
void ek__ir_takers_clear(ek__ir_takers *uses);

/* ---- printing (ir_page.c) ---- */

enum { EK__IR_SCOPE = 2048 };

/** "%12"; "Return"; "-" for EK_IR_NONE and nodes without a number. */
ek__digits ek__ir_node_label(const ek_ir *ir, uint32_t node);
/** The primitive of a node; "Return". */
const char *ek__ir_primitive(const ek_ir *ir, uint32_t node);
/** "%12 Mul"; the primitive alone of a node without number. */
void ek__ir_print_named(const ek_ir *ir, uint32_t node, FILE *out);
/** "512 B", "12.0 KiB", "32.0 MiB", from 10 000 MiB on "12.3 GiB"; "-" for what is not known. */
ek__digits ek__ir_size(int64_t bytes);
/** The same with a sign. */
ek__digits ek__ir_size_change(int64_t bytes);
/** A bold line with an empty one before it; the caller ends the line. */
void ek__ir_heading(const ek_ir_view *view, const char *text, FILE *out);
/** "layer 3", "layers 0 to 31", "outside layers". */
ek__digits ek__ir_layers(int first, int last);
/** What a node's flags say, as words; index i is for bit i. */
enum { EK__IR_N_FLAGS = 12 };
extern const char *const ek__ir_flag_name[EK__IR_N_FLAGS];

/** The nodes of a text that are shown one by one (ir_text_nodes.c). */
ek_status ek__ir_print_nodes(const ek_ir *ir, const ek_ir_view *view, const ek__ir_choice *choice, FILE *out,
                             ek_error *err);

/** Members of an object that say which node it is (ir_json.c): file, line, graph, node, operator, scope, layer. */
void ek__ir_put_node(ek__stream *s, const ek_ir *ir, uint32_t node);

#endif
