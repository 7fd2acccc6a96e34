/* dryrun/guide.h - interface between the parts of the guide. */
#ifndef EK_DRYRUN_GUIDE_H
#define EK_DRYRUN_GUIDE_H

#include "dryrun/design.h"

/** One stage of one round. */
typedef struct ek__guide_cell {
    ek_chunk_mix mix;
    int n; /**< layers, the sum of mix */
} ek__guide_cell;

/** The layers of a dry run and the quantities to separate. */
typedef struct ek__guide_shape {
    ek__unknowns unknowns;
    int n_stages, n_layers, n_rounds;
} ek__guide_shape;

/** Peak of a stage that a rough model predicts, in 1F1B with at least P micro-batches. A kind that the model does not
 *  have counts as none, which has a higher peak. Only the first of several body kinds counts. */
double ek__guide_peak(const ek_layers *rough, int n_stages, int stage, const ek__guide_cell *cell);

/**
 * Find lists after which the peaks of balanced plans are predicted with small errors, near the even split.
 * @param spread    layers of a stage stay within the even split x (1 +- spread), at least one of freedom
 * @param quick     a rough result, in a small part of the time
 * @param rough     for the peaks, or NULL
 * @param limit_mb  limit for the peaks; 0: none
 * @param out       [n_rounds][n_stages]
 * @param error     standard deviation of those peaks, when every measured peak has one of 1: the root of the mean
 * square over errors of the same size and errors in proportion to the peak
 * @return EK_OK, EK_ERR_MEMORY. Some tenths of a second; O(rounds x stages) moves of O(unknowns^3).
 */
ek_status ek__guide_anneal(const ek__guide_shape *shape, double spread, bool quick, const ek_layers *rough,
                           double limit_mb, ek__guide_cell *out, double *error, ek_error *err);

/**
 * 2-norm condition number of the system of the middle stages of all rounds, or only its first `n_rows` equations (0:
 * all).
 * @param cell  [n_rounds][n_stages]
 * @return INFINITY when the system is singular, NAN when memory is out. O(rows x unknowns^2).
 */
double ek__guide_condition(const ek__guide_shape *shape, const ek__guide_cell *cell, int n_rows);

/**
 * Median condition number of lists that are drawn at random until the first k + 2 equations have full rank, as the
 * original tool's guide does. Source: SAPP pipeline balance, MindFormers r1.5, `--guide`; layer counts in proportion to
 * numbers drawn from 1..9, kinds one after the other from 0..the remaining count.
 * @return NAN when memory is out. Some milliseconds.
 */
double ek__guide_random_condition(const ek__guide_shape *shape);

/**
 * The effect of errors of the measured peaks on the answers, from the pseudo-inverse of the system.
 * @param guide  its condition numbers and errors are filled in
 * @return EK_OK, EK_ERR_INPUT when the system is singular, EK_ERR_MEMORY.
 */
ek_status ek__guide_judge(const ek__guide_shape *shape, const ek__guide_cell *cell, ek_guide *guide, ek_error *err);

#endif
