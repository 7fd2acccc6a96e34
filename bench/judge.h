/* bench/judge.h - predicted steps of measured runs: errors, rank order inside groups, and the cost of choosing by the
 * prediction. */
#ifndef EK_BENCH_JUDGE_H
#define EK_BENCH_JUDGE_H

#include "evenkeel/cost.h"

/* A run beside its prediction. */
typedef struct judged_run {
    const ek_measured_run *run;   /* borrowed */
    const ek_device *device;      /* NULL: none is known for its hardware */
    double predicted;             /* seconds; NAN: not priced, `error` has the reason */
    double part[EK_N_STEP_PARTS]; /* seconds of the slowest stage */
    ek_error error;
} judged_run;

/* Price a run. @param device  NULL: the shipped one of its hardware, with the network of the run */
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

/* Are the two alternatives: equal model, devices, hardware, length and sequences of a step? */
bool judge_same_choice(const ek_measured_run *a, const ek_measured_run *b);

/* The cost of choosing by the prediction, in groups of runs that are alternatives, with two layouts or more. */
typedef struct judged_choices {
    int n_groups, n_runs;
    int n_without; /* runs without a prediction, in no group */
    double sum;    /* of the groups' regrets: measured step of the run predicted shortest over the shortest, less
                      1; of equal predictions the longest run is taken */
    double worst;  /* of them, in a group of so many runs: */
    int n_worst;
    const ek_measured_run *chosen, *shortest;
    int n_first, n_three; /* groups with the shortest run predicted shortest, or among the first three */
} judged_choices;
judged_choices judge_choices(const judged_run *runs, int n);
/* Those of the other runs. */
void judge_add_choices(judged_choices *to, const judged_choices *more);

#endif
