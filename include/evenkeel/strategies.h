/* evenkeel/strategies.h - reads plan files: plans with names.
 *
 * Unless stated otherwise, functions take O(1), those that clear or free O(size of the object), and may be called from
 * several threads at once, on the same objects where these are const. */
#ifndef EVENKEEL_STRATEGIES_H
#define EVENKEEL_STRATEGIES_H

#include <stddef.h>

#include "evenkeel/decls.h"
#include "evenkeel/plan.h"

EK_BEGIN_DECLS

/** A plan with a name, from a plan file. */
typedef struct ek_strategy {
    char name[EK_NAME_SIZE];
    char file_name[256];         /**< picture to write, from the file; empty when not given */
    int show;                    /**< 0 or 1; 1 when not given */
    int n_micro_batches;         /**< 0 when not given */
    int less_memory;             /**< 0 or 1; -1 when not given */
    const ek_schedule *schedule; /**< that the JSON form names with the plan, or of a training YAML; NULL when
                                      not given */
    int n_pieces;                /**< sequence pieces of a micro-batch, likewise; 0 when not given */
    ek_plan plan;
} ek_strategy;

typedef struct ek_strategies {
    int n;
    ek_strategy *strategy;
} ek_strategies;

/**
 * Read a plan file: named strategies in the original's manual format (YAML), or the output of `balance --format
 * yaml|json`; or a training file of any kind, with the plan name "today" (ek_job_read_part()); or the output or log of
 * the balancer with the lists that it prints, as plans "log-1", "log-2". Every plan is checked against the model.
 *
 * @param layers    the model, needed to resolve offsets and `true`; ek_layers_bare() is enough. NULL: from the first
 * list `layers` in the file, which the JSON form has
 * @param n_stages  stages of a plan that has no list to count them by (`offset: 0`); 0: those of the file's other plans
 * @return EK_OK, EK_ERR_INPUT with the place, EK_ERR_SYSTEM, EK_ERR_MEMORY. O(file size + plans x stages x chunks).
 */
ek_status ek_strategies_read(const char *path, const ek_layers *layers, int n_stages, const ek_listener *listener,
                             ek_strategies *out, ek_error *err);
/** The same from memory. @param name file name used in messages. @return as ek_strategies_read(). O(size + plans x
 *  stages x chunks). */
ek_status ek_strategies_parse(const char *name, const char *text, size_t size, const ek_layers *layers, int n_stages,
                              const ek_listener *listener, ek_strategies *out, ek_error *err);
/** Free its contents and zero it. Accepts a zeroed struct. */
void ek_strategies_clear(ek_strategies *strategies);

EK_END_DECLS
#endif
