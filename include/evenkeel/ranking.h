/* evenkeel/ranking.h - balances a model under several schedules and numbers of chunks and ranks the answers.
 *
 * Unless stated otherwise, functions take O(1), those that clear or free O(size of the object), and may be called from
 * several threads at once, on the same objects where these are const. */
#ifndef EVENKEEL_RANKING_H
#define EVENKEEL_RANKING_H

#include "evenkeel/balance.h"
#include "evenkeel/decls.h"
#include "evenkeel/types.h"

EK_BEGIN_DECLS

/** The answer for one schedule and interleave, of several that were tried. */
typedef struct ek_ranked {
    const ek_schedule *schedule;
    int n_chunks;
    ek_balance_status status;
    double step_time; /**< simulated; INFINITY when nothing fits */
    double peak_memory_mb;
    int peak_stage;
    double lower_bound;       /**< on the step; NAN when there is none */
    double smallest_limit_mb; /**< when nothing fits */
} ek_ranked;

/** A schedule or interleave that was not tried, with the reason. */
typedef struct ek_skipped {
    char name[EK_NAME_SIZE];
    char reason[200];
} ek_skipped;

/** The candidates that were tried, shortest step first. */
typedef struct ek_ranking {
    int n, n_skipped;
    ek_ranked *ranked;   /**< [n] */
    ek_skipped *skipped; /**< [n_skipped] */
} ek_ranking;

/** One candidate, for a progress line. */
typedef struct ek_ranking_candidate {
    const ek_schedule *schedule;
    int n_chunks;
    int index, n;      /**< it is the candidate `index`, from 0, of `n` */
    double time_limit; /**< seconds that its search gets */
} ek_ranking_candidate;

/** Input of a ranking. All pointers are borrowed for the call. */
typedef struct ek_ranking_input {
    const ek_layers *layers; /**< of a sequence piece where n_pieces is above 1 */
    int n_stages;            /**< 1..EK_MAX_STAGES */
    int n_micro_batches;     /**< of a step, whole ones, 1 or more */
    int n_pieces;            /**< sequence pieces of a micro-batch, 1 or more; 0 counts as 1 */
    /** Try all of ek_schedules that are made for n_pieces; the others are listed as skipped. */
    bool every_schedule;
    int n_schedules;                    /**< used without every_schedule */
    const ek_schedule *const *schedule; /**< [n_schedules]; none: ek_schedule_for() each number of chunks */
    int n_chunk_counts;
    const int *chunk_counts; /**< [n_chunk_counts] chunks per stage to try, ascending, 1..EK_MAX_CHUNKS; none: the
                                  least that each schedule takes */
    bool less_memory;        /**< passed to ek_schedule_for() */
    /** How each candidate is balanced. `time_limit` is for all candidates together: each gets an equal share of the
     *  remaining time. */
    ek_balance_options options;
    const ek_balance_lists *lists; /**< NULL: the options hold for every candidate */
    /** Called before each candidate is balanced, from the calling thread; may be NULL. */
    void (*next)(void *user, const ek_ranking_candidate *candidate);
    void *user; /**< of `next` */
} ek_ranking_input;

/** Chunks per stage that are usually worth a try: 1, 2, 3, 4, 6 and 8. */
enum { EK_N_USUAL_CHUNKS = 6 };
extern const int *const ek_usual_chunks;

/** The best of all candidates, and how the others did. */
typedef struct ek_choice {
    const ek_schedule *schedule; /**< of the best; NULL: no candidate could be tried, the ranking has the reasons */
    int n_chunks;
    ek_order *order;          /**< the order of `result` */
    ek_balance_result result; /**< of the best; infeasible when nothing fits under any candidate */
    ek_ranking ranking;
} ek_choice;

/**
 * Balance a model with ek_balance_arranged() under every candidate, and keep the best answer.
 *
 * A candidate is a schedule with a number of chunks that it is defined for and that leaves every chunk its least number
 * of layers. The best candidate has the shortest simulated step. When nothing fits under any, the best is the one with
 * the smallest limit that would fit. Ties go to the candidate that was tried first. A candidate with a failed search,
 * and one after `options.interrupt` was set, is listed in `ranking.skipped` with the reason.
 *
 * @param out  ek_choice_clear() frees it; untouched on failure
 * @return EK_OK, also when no candidate could be tried; EK_ERR_INPUT for a model that ek_layers_check() refuses, and
 *         for options, a shape or numbers of chunks outside their ranges; EK_ERR_MEMORY. Cost: ek_balance_arranged()
 * for every candidate, at most about `options.time_limit` seconds in all. Reentrant. `options.progress` and `next` are
 * called from the calling thread.
 */
ek_status ek_rank_schedules(const ek_ranking_input *input, ek_choice *out, ek_error *err);
/** Free order, plan and ranking; then as zeroed. */
void ek_choice_clear(ek_choice *choice);

EK_END_DECLS
#endif
