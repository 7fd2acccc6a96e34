/* evenkeel/guide.h - chooses dry runs with peaks that can be split into memory per layer.
 *
 * Unless stated otherwise, functions take O(1), those that clear or free O(size of the object), and may be called from
 * several threads at once, on the same objects where these are const. */
#ifndef EVENKEEL_GUIDE_H
#define EVENKEEL_GUIDE_H

#include "evenkeel/decls.h"
#include "evenkeel/dryrun.h"

EK_BEGIN_DECLS

/** Most rounds of dry runs. */
enum { EK_MAX_ROUNDS = 64 };

/** The job and the purpose of its dry runs. */
typedef struct ek_guide_options {
    int n_stages; /**< of the job */
    int n_layers;
    bool kind[EK_N_RECOMPUTE]; /**< recompute kinds to distinguish; none is always included */
    int n_rounds;              /**< 0: as few as possible */
    double spread; /**< layers of a stage stay within the even split x (1 +- spread), at least one layer of freedom;
                        NAN: the narrowest of some from 0.25 to 3 that makes the condition number good */
    const ek_layers *layers; /**< a rough model, for the peaks; NULL: none */
    double memory_limit_mb;  /**< for the predicted peaks; 0: none. Needs `layers` */
} ek_guide_options;

/** Error of one unknown of the decomposition for an error of 1 MB in the measured peaks. */
typedef struct ek_guide_error {
    char name[EK_NAME_SIZE]; /**< "parameters", "activation none", ..., "constant", "head", "tail" */
    double one_mb;           /**< in one peak, the worst: MB */
    double all_mb;           /**< independent ones of 1 MB standard deviation in every peak: standard deviation in MB */
} ek_guide_error;

/** Dry runs to make. */
typedef struct ek_guide {
    int job_stages;
    char reason[400]; /**< the reason for another number of stages than the job's; empty when it has the same */
    ek_dryrun runs;   /**< stages, layers, rounds and lists of the dry runs; nothing measured */
    bool kind[EK_N_RECOMPUTE];
    double condition;        /**< 2-norm condition number of the unscaled system */
    double random_condition; /**< median of random lists, over as many equations as unknowns, for comparison */
    double scaled_condition; /**< with columns of unit length, as the decomposition reports it */
    int n_errors;
    ek_guide_error error[EK_N_RECOMPUTE + 4];
    double *peak_mb; /**< [n_rounds][n_stages] predicted by the rough model, or NULL */
    double memory_limit_mb;
} ek_guide;

/** Any spread, no kinds, the fewest rounds, no limit. */
void ek_guide_options_init(ek_guide_options *options);

/**
 * Choose the dry runs.
 *
 * The system is that of ek_dryrun_decompose() over the middle stages of all rounds. With k kinds (none included) it has
 * k + 2 unknowns, so that ceil((k + 2) / (P - 2)) rounds are the fewest. Layer counts and recompute lists are chosen
 * to make the condition number small, by annealing with a fixed seed over the Gram matrix of the system: the same
 * options always give the same answer. "Good" is a tenth of the number for random lists (the original tool's method). A
 * stage never has both layers of kind select and of kind comm, which the three lists cannot express.
 *
 * Some jobs cannot be measured unchanged: with 2 stages there is no middle one; with 3 every middle stage holds two
 * micro-batches, so parameters and activations rise together; with as many stages as layers every stage has one layer,
 * so parameters and the constant part do. Then the dry run gets another number of stages, with the reason in `reason`:
 * memory of a layer does not depend on it as long as data and tensor parallel stay (assumed; docs/models.md).
 *
 * @return EK_OK; EK_ERR_INPUT when there are too few layers for any dry run, or no lists are within the memory limit:
 *   the message names a limit that would; EK_ERR_MEMORY. Cost: about a second for all sizes.
 */
ek_status ek_guide_make(const ek_guide_options *options, ek_guide *out, ek_error *err);
/** Free its contents and zero it. Accepts a zeroed struct. */
void ek_guide_clear(ek_guide *guide);

/**
 * Write the init file of the dry runs with memory_usage to be filled in.
 *
 * @param times  for its time_config, where all three are known; may be NULL
 * @return EK_OK, or EK_ERR_SYSTEM when `out` cannot be written. O(rounds x stages).
 */
ek_status ek_guide_write_init(const ek_guide *guide, const ek_times *times, FILE *out, ek_error *err);

EK_END_DECLS
#endif
