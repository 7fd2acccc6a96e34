/* figures/ir_figures.h - the inputs of the figures of checked graphs: files with sums over the nodes in a view, and
 * pairs of graphs to compare; names of nodes, and the selection of a view. */
#ifndef EK_FIGURES_IR_FIGURES_H
#define EK_FIGURES_IR_FIGURES_H

#include "base/digits.h"
#include "base/pool.h"
#include "evenkeel/ir.h"
#include "evenkeel/ir_report.h"
#include "figures/figures.h"

/* ---- nodes (ir_nodes.c) ---- */

/** Limit of bytes of a scope and a type in the JSON. */
enum { EK__IR_SCOPE = 2048, EK__IR_TYPE = 1024 };

/** "%12"; "Return"; "-" for EK_IR_NONE and nodes without a number. */
ek__digits ek__ir_node_label(const ek_ir *ir, uint32_t node);
/** The primitive of a node; "Return". */
const char *ek__ir_primitive(const ek_ir *ir, uint32_t node);
/** The words of a node's flags; index i is for bit i. */
enum { EK__IR_N_FLAGS = 12 };
extern const char *const ek__ir_flag_name[EK__IR_N_FLAGS];
/** Parameters of the entry's list; without one, as in fragments, the formal parameters of all graphs. */
uint32_t ek__ir_count_parameters(const ek_ir *ir);

/** The nodes that a view shows. */
typedef struct ek__ir_choice {
    bool all;   /**< the view omits nothing */
    uint32_t n; /**< nodes shown, including every Return when all are */
    bool *node; /**< [ir->n_nodes]; NULL when all are shown */
} ek__ir_choice;
bool ek__ir_chosen(const ek__ir_choice *choice, uint32_t node);
/** Is a finding severe enough, and do chosen operators take part in it, as far as this is known? */
bool ek__ir_shows_finding(const ek_ir_view *view, const ek__ir_choice *choice, const ek_ir_finding *finding);

/* ---- sums over the nodes in a view ---- */

/** The result of a request for recomputation. */
typedef enum ek__ir_outcome {
    EK__IR_IN_EFFECT,
    EK__IR_NOT_IN_EFFECT,
    EK__IR_BY_DESIGN,
    EK__IR_NOT_SEEN,
    EK__IR_N_OUTCOMES
} ek__ir_outcome;

typedef struct ek__ir_layer_sum {
    int layer; /**< -1: outside layers */
    int n_kept, n_comms, n_recompute[EK__IR_N_OUTCOMES];
    int64_t kept, traffic; /**< saved: for one micro-batch */
} ek__ir_layer_sum;

/** Communication of one kind, role and group. */
typedef struct ek__ir_comm_sum {
    ek_ir_comm_kind kind;
    ek_ir_comm_role role;
    const char *group; /**< NULL: not given */
    int n_ranks;
    int n, n_backward, n_copies;
    int n_unknown; /**< those with unknown bytes, which are not in the sums */
    int64_t bytes, traffic;
} ek__ir_comm_sum;

/** A graph, or with EK_IR_NONE the nodes outside of all graphs. */
typedef struct ek__ir_graph_sum {
    uint32_t graph, nodes, parameters;
} ek__ir_graph_sum;

/** Entries of a list that differ only in their layer. */
typedef struct ek__ir_group {
    int first; /**< index in the list of the first of them, in file order */
    int n, first_layer, last_layer;
    int64_t bytes; /**< of those of the first micro-batch */
} ek__ir_group;

typedef struct ek__ir_sums {
    ek__ir_choice choice;
    int n_forward, n_backward, n_copies; /**< operators */
    int first_micro, last_micro; /**< micro-batches that shown operators name; -1: none. Saved bytes are summed for the
                                    first, and for operators that name none */
    int n_outcome[EK__IR_N_OUTCOMES]; /**< requests for recomputation, of all micro-batches */
    int64_t outcome[EK__IR_N_OUTCOMES];
    int n_layers, n_comms, n_graphs;
    ek__ir_layer_sum *layer; /**< [n_layers], the non-empty ones, by number; outside layers last */
    ek__ir_comm_sum *comm;   /**< [n_comms], most traffic first */
    ek__ir_graph_sum *graph; /**< [n_graphs], in file order; the nodes outside of all graphs last. Independent of the
                              * view */
    int n_kept;
    int64_t kept, traffic; /**< saved: for one micro-batch, n_kept tensors; traffic: of the complete graph */
    int n_blocked, n_kept_groups;
    ek__ir_group *blocked;   /**< [n_blocked] of report->recompute that are not in effect, most bytes first */
    ek__ir_group *kept_like; /**< [n_kept_groups] of report->kept of the first micro-batch, most bytes first */
    int n_findings[3];       /**< by severity, independent of the view */
    ek__pool *pool;
} ek__ir_sums;

/* ---- the results ---- */

/** A checked file; a side of a comparison, which has no sums. */
typedef struct ek__ir_file {
    ek_ir_report report; /**< the contents are borrowed */
    ek__ir_sums sums;
    const ek_ir_view *view;
    const uint32_t *only; /**< [n_only] of a side: nodes without a counterpart in the other graph */
    int n_only;
} ek__ir_file;

/** The result "ir". */
typedef struct ek__ir_files {
    ek__ir_file *file; /**< [n] */
    int n;
} ek__ir_files;

/** The result "ir_difference": before and after. */
typedef struct ek__ir_sides {
    ek__ir_file side[2];
    ek_ir_difference difference; /**< the contents are borrowed */
    bool same;
    int64_t operators[2], recompute_requested[2], recompute_in_effect[2];
} ek__ir_sides;

/* ---- figures of nodes (ir_nodes.c) ---- */

/** The file of a record, and its graph. */
static inline const ek__ir_file *ek__ir_file_of(const ek__owner *of)
{
    return (const ek__ir_file *)of->part;
}
static inline const ek_ir *ek__ir_of(const ek__owner *of)
{
    return ek__ir_file_of(of)->report.ir;
}

/** Texts of numbers: a node as in ek__ir_node_label(), a graph's name. NULL without one. */
const char *ek__ir_label(uint32_t node, const ek__owner *of, char *text, size_t room);
const char *ek__ir_graph_name(uint32_t graph, const ek__owner *of, char *text, size_t room);
/** The start of a node in the file; INT64_MIN for EK_IR_NONE. */
int64_t ek__ir_line(uint32_t node, const ek__owner *of);
/** The ek_ir_node with the number in the record, or in its first member. */
const void *ek__ir_node_of(const void *record, const ek__owner *of);

/** Fields of an ek_ir_node: its name, the same without file and line, its type, instance name and type, strategies; all
 *  of it. */
extern const ek__fields ek__ir_which_node, ek__ir_node_place, ek__ir_node_type, ek__ir_instance, ek__ir_strategies,
    ek__ir_nodes;

#endif
