/* report/report_internal.h - helpers and formats shared by the writers of reports. */
#ifndef EK_REPORT_INTERNAL_H
#define EK_REPORT_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/digits.h"
#include "base/print.h"
#include "base/utf8.h"
#include "evenkeel/dryrun.h"
#include "evenkeel/report.h"
#include "evenkeel/sweep.h"
#include "figures/balance_figures.h"

/** The stage with the least free memory under its limit; the fullest one if all limits are equal. */
int ek__tightest_stage(const ek_report *report, const ek_timeline *timeline);

/** "1, 0.8x2": numbers with repeats. */
void ek__print_repeats(const double *value, int n, FILE *out);

/** Number of a micro-batch, and with several pieces that of the piece: "7", "3.1". */
ek__digits ek__micro_batch(const ek_shape *shape, uint32_t micro_batch);

/** The four lists of a plan in the form of the framework's YAML, one per line, each line with the prefix `indent`. */
void ek__print_lists(const ek_plan *plan, int n_layers, const char *indent, FILE *out);

/** Memory with the report's unit: "55 821 MB", "9.5 micro-batches". */
ek__digits ek__memory(const ek_report *report, double value);

/** Entry of one of a dry run's lists: 0 offset, 1 recompute, 2 select_recompute, 3 select_comm_recompute. */
int ek__guide_entry(const ek_dryrun *runs, int list, int round, int stage);
/** May a timeline be drawn block by block? EK_OK, or EK_ERR_INPUT above EK_MAX_DRAWN_BLOCKS. */
ek_status ek__check_drawn(const ek_timeline *timeline, ek_error *err);
/** The table above a result. */
void ek__print_ranking(const ek_ranking *ranking, FILE *out);

/** A sentence on the basis of a search's status; NULL for infeasible. */
const char *ek__status_basis(ek_balance_status status);

/** The smallest of 1, 2, 5 x 10^n that is at least the given value (> 0). */
double ek__nice_step(double least);

#endif
