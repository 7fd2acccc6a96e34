/* evenkeel/sweep.h - finds the best plan for each of several values of one quantity, everything else equal.
 *
 * Unless stated otherwise, functions take O(1), those that clear or free O(size of the object), and may be called from
 * several threads at once, on the same objects where these are const. */
#ifndef EVENKEEL_SWEEP_H
#define EVENKEEL_SWEEP_H

#include "evenkeel/balance.h"
#include "evenkeel/decls.h"
#include "evenkeel/team.h"
#include "evenkeel/types.h"

EK_BEGIN_DECLS

/** The answer for one value of a sweep. */
typedef struct ek_sweep_row {
    double value;
    double step_time; /**< simulated; INFINITY when nothing fits */
    double peak_memory_mb;
    double lower_bound;       /**< on the step; NAN when there is none */
    double smallest_limit_mb; /**< when nothing fits; NAN when not known */
    ek_plan plan;             /**< empty when nothing fits */
    ek_balance_status status;
    int peak_stage;
    int n_micro_batches;  /**< of the step */
    char impossible[200]; /**< the reason why the value was not searched; empty when it was */
} ek_sweep_row;

/** The swept quantity. */
typedef struct ek_sweep_key {
    const char *name;  /**< as given to --sweep: mem, i, mb, s, seq */
    const char *title; /**< for people, with the unit */
} ek_sweep_key;

/** Best plans over one swept value, everything else equal. */
typedef struct ek_sweep {
    const ek_layers *layers; /**< borrowed */
    const ek_sweep_key *key;
    char *pipeline; /**< the rest of the shape, for people */
    int n;
    ek_sweep_row *row; /**< [n] by value */
} ek_sweep;

/** Quantities that can be swept. */
typedef enum ek_swept {
    EK_SWEPT_MEMORY,        /**< memory limit of a stage, MB */
    EK_SWEPT_CHUNKS,        /**< chunks per stage */
    EK_SWEPT_MICRO_BATCHES, /**< micro-batches of a step */
    EK_SWEPT_STAGES,
    EK_SWEPT_PIECES, /**< sequence pieces of a micro-batch */
} ek_swept;
enum { EK_N_SWEPT = 5, EK_MAX_SWEEP_VALUES = 200 };

/** A quantity and its allowed values. */
typedef struct ek_swept_quantity {
    ek_sweep_key key;
    const char *one;    /**< singular of a title that counts: "stage"; NULL where the title has none */
    double least, most; /**< of a value */
    bool whole;         /**< whole numbers only */
} ek_swept_quantity;
/** By ek_swept. */
extern const ek_swept_quantity *const ek_swept_quantities;

/** Input of a sweep. All pointers are borrowed for the call, `layers` by the result too. */
typedef struct ek_sweep_input {
    const ek_layers *layers; /**< of whole micro-batches when pieces are swept; of a piece where n_pieces is above 1 */
    ek_swept swept;
    int n;
    const double *value;                               /**< [n] ascending, within the quantity's range, 1 to
                                                            EK_MAX_SWEEP_VALUES of them */
    int n_stages, n_chunks, n_micro_batches, n_pieces; /**< the swept one is not used; micro-batches are whole ones;
                                                            0 pieces count as 1 */
    const ek_schedule *schedule;                       /**< NULL: ek_schedule_for() the value's chunks and pieces */
    bool less_memory;                                  /**< passed to ek_schedule_for() */
    const ek_job *job; /**< shapes of the model, to cut it into pieces: EK_JOB_SHAPES is enough; needed when pieces are
                            swept, else not used */
    /** How each value is balanced. `time_limit` is for all values together, and `n_threads` are shared by them.
     *  `progress` is not called: the searches run side by side. */
    ek_balance_options options;
    const ek_balance_lists *lists; /**< called from several threads at once; NULL: the options hold for every value */
    const ek_listener *listener; /**< warned as ek_layers_split_sequence() warns, and of lost processes; may be NULL */
    /** Called several times a second from the calling thread with the number of finished values. May be NULL. */
    void (*progress)(void *user, int done, int n);
    void *user; /**< of `progress` */
    /** Processes that search together, each with the same input: a value is searched by one of them, with all
     *  `n_threads`. Process 0 has the answer, the others get rows without plans. NULL: none. */
    const ek_team *team;
    double patience; /**< of a team: seconds without a sign of life after which a process is lost; 0: 30 */
} ek_sweep_input;

/**
 * Balance a model with ek_balance_arranged() for every value, several values side by side.
 *
 * When the memory limit is swept, a plan found for one value is offered to every value that it fits, and a lower bound
 * that holds for a limit holds for the smaller ones. So step times never grow with the limit. Numbers of pieces with
 * pieces that are too short are reduced by ek_sequence_pieces(); equal ones are one row.
 *
 * @param out  ek_sweep_clear() frees it; untouched on failure. A value that cannot be searched, and one after
 *   `options.interrupt` was set, has its reason in `impossible`.
 * @return EK_OK; EK_ERR_INPUT for a model that ek_layers_check() refuses, for values and options outside their range,
 *         values out of order, for pieces without `job` and for layers that cannot be cut into pieces; EK_ERR_SYSTEM
 * when no thread can be started; EK_ERR_MEMORY. Cost: ek_balance_arranged() for every value, at most about
 * `options.time_limit` seconds in all. Reentrant. With the solver `milp`, which solves one model at a time, values are
 * searched one after the other.
 */
ek_status ek_sweep_run(const ek_sweep_input *input, ek_sweep *out, ek_error *err);
/** Free the rows with their plans; then as zeroed. */
void ek_sweep_clear(ek_sweep *sweep);

EK_END_DECLS
#endif
