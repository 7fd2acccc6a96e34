/* evenkeel/cases.h - named plans with their simulations, for comparison in a report or a page.
 *
 * Unless stated otherwise, functions take O(1), those that clear or free O(size of the object), and may be called from
 * several threads at once, on the same objects where these are const. */
#ifndef EVENKEEL_CASES_H
#define EVENKEEL_CASES_H

#include "evenkeel/decls.h"
#include "evenkeel/plan.h"
#include "evenkeel/simulate.h"
#include "evenkeel/types.h"

EK_BEGIN_DECLS

/** One plan with its simulation, under a name. All borrowed. */
typedef struct ek_case {
    const char *name; /**< of the strategy: "result", "naive_no_recomp", "manual1", ... */
    const ek_plan *plan;
    const ek_timeline *timeline;
} ek_case;

/** How plans are simulated. All pointers are borrowed for the call. */
typedef struct ek_case_options {
    int n_stages;                /**< that plans must have; 0: any */
    int n_chunks;                /**< per stage, that `schedule` is given for; 0: those of each plan */
    int n_micro_batches;         /**< of a step, whole ones; 0: the plan's, 4 without one */
    int n_pieces;                /**< sequence pieces of a micro-batch, which the layers are cut for; 0 counts as 1 */
    int less_memory;             /**< 1: the shorter warm-up; 0; -1: the plan's */
    bool same_chunks;            /**< plans with another number of chunks than n_chunks are refused */
    const ek_schedule *schedule; /**< NULL: the plan's own, else ek_schedule_for() */
    ek_comm comm;
    double memory_limit_mb;        /**< for orders that are made for it; 0: none */
    const ek_balance_lists *lists; /**< settings that depend on the shape; they live as long as the case. NULL */
} ek_case_options;

enum { EK_MAX_CASES = 260 }; /**< the most plans of a file, an answer, and the plans it is compared with */

/** Plans, each with its simulation. Zeroed to begin with; it must not move, since `cases` points into it. */
typedef struct ek_cases {
    int n;
    ek_case cases[EK_MAX_CASES];
    ek_plan plans[EK_MAX_CASES];
    ek_timeline timelines[EK_MAX_CASES];
    void *own[EK_MAX_CASES]; /**< the case's settings from `lists` */
    void (*release)(void *own);
    char names[EK_MAX_CASES][EK_NAME_SIZE];
    char files[EK_MAX_CASES][256]; /**< names for pictures: the plan's own or NAME.svg, each once, without folders */
    const char *file_names[EK_MAX_CASES]; /**< these */
    ek_order *order;                      /**< the last one laid out; plans of one shape share it */
} ek_cases;

/** The schedule of a plan with this number of chunks: options->schedule, unless that is given for other chunks than the
 *  plan's and is not defined for those; else ek_schedule_for(). */
const ek_schedule *ek_case_schedule(const ek_case_options *options, int n_chunks, int less_memory);

/**
 * Simulate a plan under ek_order_for_plan() and add it.
 *
 * @param name             of the case; also in messages
 * @param file             name for its picture; NULL or "": NAME.svg
 * @param plan             passes ek_plan_check() for `layers`; copied
 * @param n_micro_batches  of the step, whole ones
 * @param less_memory      as ek_case_options.less_memory
 * @return EK_OK; EK_ERR_INPUT, also beyond EK_MAX_CASES and where `lists` refuses the shape; EK_ERR_MEMORY. After a
 *         failure ek_cases_clear() is all that may be called. O(blocks).
 */
ek_status ek_cases_add(ek_cases *cases, const ek_case_options *options, const ek_layers *layers, const char *name,
                       const char *file, const ek_plan *plan, int n_micro_batches, int less_memory, ek_error *err);

/**
 * ek_cases_add() under an order that is laid out already.
 *
 * @return EK_OK; EK_ERR_INPUT beyond EK_MAX_CASES and where `lists` refuses the shape; EK_ERR_MEMORY. After a failure
 *         ek_cases_clear() is all that may be called. O(blocks).
 */
ek_status ek_cases_add_run(ek_cases *cases, const ek_case_options *options, const ek_layers *layers, const char *name,
                           const char *file, const ek_plan *plan, const ek_order *order, ek_error *err);

/**
 * Add the plans of a file that ek_strategies_read() takes.
 *
 * @param warnings  receives warnings of the reader; may be NULL
 * @param notes     receives notes on assumed micro-batches and on sequences that are not cut; may be NULL
 * @return as ek_strategies_read() and ek_cases_add(); EK_ERR_INPUT for plans of other stages or chunks.
 *         O(file size + blocks of the plans).
 */
ek_status ek_cases_add_file(ek_cases *cases, const ek_case_options *options, const ek_layers *layers, const char *path,
                            const ek_listener *warnings, const ek_listener *notes, ek_error *err);

/** Free the plans, their simulations and the order; then it is empty. */
void ek_cases_clear(ek_cases *cases);

EK_END_DECLS
#endif
