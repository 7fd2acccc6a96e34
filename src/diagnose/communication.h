/* diagnose/communication.h - classifies a trace's collectives by purpose, as far as a trace allows. */
#ifndef EK_DIAGNOSE_COMMUNICATION_H
#define EK_DIAGNOSE_COMMUNICATION_H

#include "diagnose/bottleneck.h"
#include "evenkeel/ir_check.h"

/** Purposes of collectives. */
typedef enum ek__comm_use {
    EK__USE_GRADIENT, /**< after the backward passes */
    EK__USE_WEIGHTS,  /**< gathers before or in the first forward passes */
    EK__USE_LAYER,    /**< inside layers, over the whole step: tensor, sequence, context parallel */
    EK__USE_EXPERT,   /**< exchanges of tokens */
} ek__comm_use;
enum { EK__N_USES = 4 };

/** Collectives of one kind and group on one rank. */
typedef struct ek__comm_class {
    int rank; /**< index in the run */
    ek_ir_comm_kind kind;
    const char *group; /**< NULL */
    ek__comm_use use;
    double count;                /**< of a step */
    double total_ns, exposed_ns; /**< of a step; exposed: only transfers, without waits for a late rank */
    double first, last;          /**< where in the step they begin, 0..1 */
} ek__comm_class;

typedef struct ek__comm_classes {
    int n;
    ek__comm_class *class_of; /**< [n], by rank */
    int **of;                 /**< [n_ranks][n_collectives] class of a collective, -1: none */
    int n_ranks;
} ek__comm_classes;

/** Sort the collectives of all ranks' counted steps. Transfers between stages are in no class. O(collectives x
 *  classes of a rank). */
ek_status ek__comm_classes_make(const ek__measured *m, ek__comm_classes *out, ek_error *err);
void ek__comm_classes_clear(ek__comm_classes *classes);
/** Which share of a class' bytes the graphs show to be redistribution between layouts; 0 without graphs. */
double ek__redistributed_share(const ek_run_input *input, const ek__comm_class *c);
/** The gain of a step without the share `hidden[class]` of every collective's exposed transfer. */
ek_status ek__comm_gain(const ek__measured *m, const ek__comm_classes *classes, const double *hidden, double *ns,
                        ek_error *err);

#endif
