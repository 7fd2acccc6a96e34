/* bench/judge.h - predicted steps of measured runs: errors, rank order inside groups, what choosing by the prediction
 * would have cost. */
#ifndef EK_BENCH_JUDGE_H
#define EK_BENCH_JUDGE_H

#include "evenkeel/calibrate.h"
#include "evenkeel/cost.h"

/* A run beside its prediction. */
typedef struct judged_run {
    const ek_measured_run *run;   /* borrowed */
    const ek_device *device;      /* NULL: none is known for its hardware */
    double predicted;             /* seconds; NAN: not priced, `error` says why */
    double part[EK_N_STEP_PARTS]; /* seconds of the slowest stage */
    ek_error error;
} judged_run;

/* Price a run. @param device  NULL: the shipped one of its hardware, with the network that the run says */
judged_run judge_run(const ek_measured_run *run, const ek_device *device);
/* Tokens of a device in a step. */
double judge_tokens(const ek_measured_run *run);
/* predicted / measured - 1 */
double judged_error(const judged_run *run);

/* Of some runs; those that were not priced are left out of all but n_failed. */
typedef struct judged {
    int n, n_failed;
    double mean, median, worst, bias; /* of |error|, |error|, |error|, error */
    /* Inside groups of equal model, devices, hardware and sequences of a step, of three runs and more: Spearman's
     * coefficient, weighted by their runs; NAN without such groups. */
    int n_groups;
    double spearman;
    double first_choice; /* measured step of the run predicted shortest over the shortest, less 1, mean over groups */
} judged;
judged judge_all(const judged_run *runs, int n);

#endif
