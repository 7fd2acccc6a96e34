/* compute/compute_internal.h - state of the analysis of a run's computing, and the list of faults.
 *
 * A fault is a file src/compute/fault_NAME.c with ek__fault_NAME() and a line here. It reads the executions of every
 * rank, collects the loss of each, and passes the list to ek__fault_add(). */
#ifndef EK_COMPUTE_INTERNAL_H
#define EK_COMPUTE_INTERNAL_H

#include "base/pool.h"
#include "evenkeel/compute.h"
#include "evenkeel/trace.h"

#define EK__FAULT_LIST(X)                                                                                              \
    X(ai_cpu)                                                                                                          \
    X(chains)                                                                                                          \
    X(transforms)                                                                                                      \
    X(products)

/** Actions of operators, as far as patterns distinguish them. */
typedef enum ek__action {
    EK__ACTION_OTHER,
    EK__ACTION_PRODUCT,
    EK__ACTION_SOFTMAX,
    EK__ACTION_SOFTMAX_GRAD,
    EK__ACTION_DROPOUT,
    EK__ACTION_FILL, /**< masks */
    EK__ACTION_MUL,
    EK__ACTION_ADD,
    EK__ACTION_DIV,
    EK__ACTION_NEG,
    EK__ACTION_SQUARE,
    EK__ACTION_MEAN,
    EK__ACTION_RSQRT,
    EK__ACTION_CONCAT,
    EK__ACTION_SLICE,
    EK__ACTION_SILU,
    EK__ACTION_SILU_GRAD,
    EK__ACTION_SIGMOID,
    EK__ACTION_LOG_SOFTMAX,
    EK__ACTION_LOSS, /**< selects a row's value from its logarithms */
    EK__ACTION_CAST,
    EK__ACTION_TURN, /**< Transpose, a copy that makes a tensor contiguous */
    EK__ACTION_TRANS_DATA,
    EK__N_ACTIONS,
} ek__action;
#define EK__ACTION(word) (1u << EK__ACTION_##word)
enum {
    EK__TRANSFORMS = EK__ACTION(CAST) | EK__ACTION(TURN) | EK__ACTION(TRANS_DATA),
};

typedef struct ek__compute {
    ek_trace_run *run;
    const ek_device *device; /**< NULL */
    ek_compute *out;
    int **of;       /**< [n_ranks][measured.n]: index in out->op */
    uint8_t **word; /**< [n_ranks][measured.n]: ek__action */
} ek__compute;

/** Names and kernels of a rank's operators. O(1). */
ek__action ek__action_of(const ek_trace_shaped *op);
ek_compute_class ek__compute_class_of(const ek_trace_shaped *op, bool torch);

/** out->op, c->of, c->word, sums. O(n log n) for n operators. */
ek_status ek__compute_operators(ek__compute *c, ek_error *err);

typedef ek_status ek__fault(ek__compute *c, ek_error *err);
#define EK__FAULT_DECLARE(name) ek__fault ek__fault_##name;
EK__FAULT_LIST(EK__FAULT_DECLARE)
#undef EK__FAULT_DECLARE

/** Losses as they are found. {0} is empty; free() at. */
typedef struct ek__fault_losses {
    size_t n, room;
    ek_compute_loss *at;
} ek__fault_losses;
/** Nothing that is not lost is added. @return false when memory is out */
bool ek__fault_lose(ek__fault_losses *losses, int rank, int64_t start, int64_t time, double lost);

/** Of a step; smaller losses are not reported. */
#define EK__LEAST_LOST 0.01

/** A finding of these losses, which are copied; none when there are none. Texts are in the run's pool or static; `what`
 *  NULL: EK_ERR_MEMORY. O(losses x steps). */
ek_status ek__fault_add(ek__compute *c, ek_compute_fault fault, const ek__fault_losses *losses, const char *what,
                        const char *instead, const char *estimate, ek_error *err);

/** The recommended change, and the setting of the trace's framework. O(1). */
const char *ek__compute_instead(ek_compute_fault fault);
const char *ek__compute_setting(const ek__compute *c, ek_compute_fault fault);

/** The findings that lose enough of a step as findings of the run. O(findings log findings). */
ek_status ek__compute_tell(ek__compute *c, ek_error *err);

#endif
