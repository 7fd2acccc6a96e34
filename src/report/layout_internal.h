/* report/layout_internal.h - texts shared by the writers of a layout search. */
#ifndef EK_REPORT_LAYOUT_INTERNAL_H
#define EK_REPORT_LAYOUT_INTERNAL_H

#include "evenkeel/layout_fit.h"
#include "figures/layout_figures.h"
#include "report/estimate_internal.h"

/** "proved best of 1 957 layouts in 9.4 s", "best so far of ... layouts after 60.0 s: a step may be up to 3.1 %
 * shorter"
 */
void ek__layout_proof(const ek_layout_result *result, char *text, size_t size);
/** The number of bounded layouts: the sum of the counts of fates, except illegal ones. */
long ek__layout_judged(const ek_layout_result *result);
/** The change, a phrase: "16 devices", "optimizer states on the host (--optimizer-cpu-offload)". */
void ek__layout_change(const ek_layout_result *result, const ek_layout_fit *fit, char *text, size_t size);

/** Advice on the plans, for people: a queried layout; rules of thumb and runs to try; files. */
void ek__layout_print_explanation(const ek_layout_report *report, FILE *out);
void ek__layout_print_advice(const ek_layout_report *report, FILE *out);

#endif
