/* evenkeel/recompute_sets.h - selects operators of a layer to recompute, by saved memory and recomputation time, and
 * makes a job that recomputes them.
 *
 * A framework recomputes operators one by one (MindFormers: a pattern for each), module by module (Megatron), or in one
 * fixed way (torchtitan's "op"). A set is a combination of them: the saving of one operator depends on the others,
 * since a tensor is freed only where it can be recomputed from saved tensors.
 *
 * Unless stated otherwise, functions take O(1), those that clear or free O(size of the object), and may be called from
 * several threads at once, on the same objects where these are const. */
#ifndef EVENKEEL_RECOMPUTE_SETS_H
#define EVENKEEL_RECOMPUTE_SETS_H

#include "evenkeel/decls.h"
#include "evenkeel/job.h"
#include "evenkeel/types.h"

EK_BEGIN_DECLS

enum { EK_MAX_SET_LAYERS = 3 };

/** A pattern of a set. */
typedef struct ek_set_pattern {
    char text[96]; /**< as a file has it: feed_forward\.mul */
    ek_pattern_kind kind;
} ek_set_pattern;

/** Operators that are recomputed together. Figures are of one layer and micro-batch on one rank, of all copies of the
 *  batch that run side by side. */
typedef struct ek_recompute_set {
    int n_patterns;
    ek_set_pattern *pattern;         /**< [n_patterns]; none for "nothing" and "full" */
    int64_t kept[EK_MAX_SET_LAYERS]; /**< bytes that a layer of a kind saves with this set, from its program */
    double ms[EK_MAX_SET_LAYERS];    /**< by which its backward pass is longer */
    double kept_mb, saved_mb;        /**< means over the model's layers, MB of 2^20 bytes; saved against nothing */
    double extra_ms;                 /**< likewise */
    double saved_mb_per_ms;          /**< INFINITY where it takes no time; 0 for nothing */
    bool hull;    /**< a vertex of the lower convex hull: no mixture of other sets, layer by layer, is
                       as good */
    bool offered; /**< one of those chosen for a plan's kinds */
} ek_recompute_set;

/** A kind of layers that sets are of. */
typedef struct ek_set_layers {
    char name[EK_NAME_SIZE]; /**< "decoder", "decoder with experts", "prediction" */
    int n_layers;            /**< of the model */
} ek_set_layers;

/** The sets between no recomputation and recomputing whole layers. */
typedef struct ek_recompute_set_list {
    int n_kinds; /**< of layers with operators of a decoder */
    ek_set_layers kind[EK_MAX_SET_LAYERS];
    ek_recompute_set nothing, full;
    int n;
    ek_recompute_set *set; /**< [n] those that no other beats in both figures, least time first; each takes less time
                                than `full` */
    bool proved;           /**< nothing beats them; else a set that does is shorter by at most gap_ms */
    double gap_ms;
} ek_recompute_set_list;

/**
 * The Pareto front of a layer's saved bytes against the added time of its backward pass, over all sets that the job's
 * framework can recompute.
 *
 *     kept(S)  bytes of the storages from which every tensor that a gradient reads can be made by operators of S
 *     ms(S)    backward pass with the forward passes of the operators of S, minus the one without, the host's part and
 *              hidden communication in both
 *
 * both summed over the model's decoder layers, since a pattern holds for every kind of layer. Exact: operators one by
 * one by a sweep with dominated labels dropped (src/recompute/labels.c), modules by trying every subset. Patterns that
 * exclude operators stay in force; the job's others, and its lists, are not read.
 *
 * Of the lower convex hull between nothing and full, `n_offered` sets are offered: those for which the area between
 * the hull and the line through nothing, them and full is smallest, each with all patterns of the one before it. A
 * stage that mixes kinds of layers can be anywhere on that line, so the area measures the possible loss of a plan.
 *
 * @param n_offered  0 to 3
 * @param out        ek_recompute_set_list_clear() frees it; untouched on failure
 * @return EK_OK; EK_ERR_INPUT where the device lacks a figure; EK_ERR_MEMORY. O(operators x labels); labels are some
 *         thousands at most for decoder layers. Thread-safe.
 */
ek_status ek_recompute_sets(const ek_job *job, const ek_device *device, int n_offered, ek_recompute_set_list *out,
                            ek_error *err);
/** Free its contents and zero it. Accepts a zeroed struct. */
void ek_recompute_set_list_clear(ek_recompute_set_list *list);

/** Is a pattern among a set's? O(patterns). */
bool ek_recompute_set_has(const ek_recompute_set *set, const ek_set_pattern *pattern);
/** Are all patterns of one set among another's? O(patterns squared). */
bool ek_recompute_set_has_all(const ek_recompute_set *large, const ek_recompute_set *small);

/**
 * The job with a set's patterns in place of its own, in no layer: a plan (ek_job_with()) sets the number of layers.
 *
 * A plan has five kinds of layers and two lists in addition to the one of whole layers, which is enough for two nested
 * sets. The select list switches the patterns of `small`, the comm list the further patterns of `large`:
 *
 *     EK_RECOMPUTE_NONE    nothing             EK_RECOMPUTE_SELECT  small
 *     EK_RECOMPUTE_COMM    large without small EK_RECOMPUTE_BOTH    large       EK_RECOMPUTE_FULL  the whole layer
 *
 * whether a pattern selects operators or repeats communication: ek_pattern.other_list sets its list. MindFormers' file
 * has a map for each sort, with a list for each pattern:
 *
 *     recompute_config:
 *       recompute: [0, 0]
 *       select_recompute: {'feed_forward\.mul': [4, 2], 'attention_norm\.norm': [3, 0]}
 *       select_comm_recompute: {'ffn_norm\.norm': [3, 0]}
 *
 * where [4, 2] is the plan's select list and [3, 0] its comm list. Of three offered sets a caller gives two. Megatron
 * and torchtitan have no lists: the patterns hold for all layers or none.
 *
 * @param small  a set of ek_recompute_sets() for this job
 * @param large  another one with all of its patterns; NULL: none
 * @param out    ek_job_clear() frees it; untouched on failure
 * @return EK_OK; EK_ERR_INPUT where `large` lacks a pattern of `small`, or there are more patterns than
 *         EK_MAX_PATTERNS; EK_ERR_MEMORY. O(patterns x stages x chunks).
 */
ek_status ek_job_use_recompute_sets(const ek_job *job, const ek_recompute_set *small, const ek_recompute_set *large,
                                    ek_job *out, ek_error *err);

EK_END_DECLS
#endif
