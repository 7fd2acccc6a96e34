/* evenkeel/report.h - prints results as text, YAML, JSON, pictures and traces.
 *
 * ek_write() (evenkeel/write.h) writes them. Writers only print: every figure is computed before.
 *
 * Unless stated otherwise, functions take O(1), those that clear or free O(size of the object), and may be called from
 * several threads at once, on the same objects where these are const. */
#ifndef EVENKEEL_REPORT_H
#define EVENKEEL_REPORT_H

#include <stdio.h>

#include "evenkeel/collect.h"
#include "evenkeel/decls.h"
#include "evenkeel/plot.h"
#include "evenkeel/types.h"

EK_BEGIN_DECLS

/** Blocks of the timelines that are drawn one by one: of a Chrome trace (some 450 bytes each) and of a plan's page. SVG
 *  draws any number: blocks narrower than a line as the load of their stage. */
enum { EK_MAX_DRAWN_BLOCKS = 1 << 21 };

/** Quick tuning, and the result of the search under the same rules. All borrowed. */
typedef struct ek_quick_report {
    const ek_layers *layers;
    const ek_quick *quick;
    const ek_balance_result *search; /**< with no recomputation but full; NULL when there was none */
} ek_quick_report;

/** The output of a command. All borrowed. */
typedef struct ek_report {
    const ek_layers *layers;
    double memory_limit_mb; /**< 0: none was given; the largest when the stages have their own */
    /** Differences between the stages or micro-batches of every case, and fixed choices of the search; each NULL
     *  without any. */
    const double *stage_memory_mb;  /**< [n_stages] limits */
    const double *stage_speed;      /**< [n_stages] 1: as the layer times say */
    const double *micro_batch_cost; /**< [whole micro-batches] factors of time and activations */
    const int *fixed_layers;        /**< [n_stages] -1: free */
    const bool *forbidden;          /**< [EK_N_RECOMPUTE] */
    const char *train_file;         /**< that the model of a sequence piece was derived from; NULL without pieces */
    int n_cases;
    const ek_case *cases; /**< [n_cases]; for balance the first is the answer */
    /** The search, or NULL for `simulate`. When its status is infeasible there are no cases. */
    const ek_balance_result *search;
    const ek_ranking *ranking; /**< the candidates of the answer, or NULL */
    const char *memory_unit;   /**< of all memory, for pictures; NULL: MB */
    bool list;                 /**< print cases as a list even when there is one */
    bool color;                /**< ANSI colours, for a terminal that supports them */
    const char *measured;      /**< chrome: the source of its times; NULL: simulated */
    ek_plot plot;              /**< text: the timeline of each case below its table */
} ek_report;

/** Peaks from the logs of dry runs. All borrowed. */
typedef struct ek_collected {
    const ek_collection *logs;
    ek_peak which;
    const ek_memory_usage *usage; /**< NULL when it cannot be made */
} ek_collected;

EK_END_DECLS
#endif
