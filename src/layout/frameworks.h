/* layout/frameworks.h - the layouts that each framework supports: a table that keeps a search from proposing layouts
 * that the framework cannot run. ek_job_check() decides whether one job runs; docs/plan-legal.md has the rules of both
 * with their sources. */
#ifndef EK_LAYOUT_FRAMEWORKS_H
#define EK_LAYOUT_FRAMEWORKS_H

#include <stdbool.h>

#include "schedule/frameworks.h"

/** Possible splits of layers over chunks. */
typedef enum ek__layer_split {
    EK__SPLIT_ANY,  /**< any counts */
    EK__SPLIT_EVEN, /**< equal counts */
    EK__SPLIT_ENDS, /**< equal counts except for the first and the last stage, with one chunk each */
} ek__layer_split;

/** Possible forms of recomputation. */
typedef enum ek__recompute_rules {
    EK__RECOMPUTE_LISTS, /**< three counts for each chunk: full, select, comm */
    EK__RECOMPUTE_FIRST, /**< one of: none; select for every layer; full for the first n layers of every chunk */
    EK__RECOMPUTE_MODE,  /**< one of: none; select for every layer; full for every n-th layer */
} ek__recompute_rules;

/** The features of a framework. Degrees that are false are 1. */
typedef struct ek__framework_space {
    bool tensor, context, expert, pipeline, chunks;
    bool expert_tensor;     /**< tensor-parallel ranks of an expert are a setting: 1 or t; otherwise they are derived */
    bool experts_on_tensor; /**< experts may be spread over t too: ep | d cp t / etp; otherwise ep | d cp */
    bool experts_with_context;           /**< ep and cp may both be more than 1 */
    bool experts_over_context;           /**< ep is a multiple of cp, and of cp t if an expert is whole */
    bool sequence_parallel_choice;       /**< sequence parallelism can be on or off with t > 1; otherwise it is on */
    bool experts_need_sequence_parallel; /**< with experts and t > 1 it is on */
    bool shard_groups;                   /**< optimizer states may be shared by a part of the group */
    bool shard_choice;                   /**< optimizer states may be whole on every rank */
    bool batch_interleave;               /**< halves of a micro-batch run concurrently (micro_batch_interleave_num) */
    bool fine_grain;                     /**< parts of a layer run concurrently (fine_grain_interleave) */
    bool pieces;                         /**< sequence pieces (seq_split_num) */
    bool head_copies;   /**< ranks may hold the same key and value heads: K | t if K < t; otherwise t | K */
    int sequence_parts; /**< of each context-parallel rank: 2 cp (and for torchtitan t) divides the sequence, or cp */
    ek__layer_split split;
    int least_at_ends; /**< layers of the first and the last chunk of the model, if it has more than one */
    int least_between; /**< layers of the others */
    ek__recompute_rules recompute;
} ek__framework_space;

/** The row of a framework. Never NULL; constant, so that threads share it. O(1). */
const ek__framework_space *ek__framework_space_of(ek_framework framework);

/** The entry of a schedule in the framework; NULL: not supported. O(schedules). */
const ek__framework_schedule *ek__framework_schedule_of(ek_framework framework, const ek_schedule *schedule);

/**
 * Schedules for n_chunks chunks on each of n_stages stages.
 * @param all  include those that are not `by_default`
 * @param out  [EK__MOST_FRAMEWORK_SCHEDULES]; in the table's order
 * @return their number
 */
int ek__framework_schedules(ek_framework framework, int n_stages, int n_chunks, bool all, const ek_schedule **out);

/** Does a schedule of the framework take m micro-batches on n_stages stages? False for an unsupported one.
 *  `n_micro_batches` at least 1. */
bool ek__framework_takes(ek_framework framework, const ek_schedule *schedule, int n_stages, int n_micro_batches);

/** The least number of micro-batches, at least `from`, for which ek__framework_takes() is true; 0: none up to
 *  EK_MAX_MICRO_BATCHES. O(stages). */
int ek__framework_least_micro_batches(ek_framework framework, const ek_schedule *schedule, int n_stages, int from);

/**
 * The table's reason against proposing a job that passes ek_job_check(): unsupported schedules or numbers of
 * micro-batches, experts without sequence parallelism or over other ranks, chunks without layers.
 * @return NULL: none; otherwise the reason in a few words, constant. O(stages x chunks).
 */
const char *ek__framework_objection(const ek_job *job);

#endif
