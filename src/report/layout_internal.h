/* report/layout_internal.h - what the writers of a search for layouts share. */
#ifndef EK_REPORT_LAYOUT_INTERNAL_H
#define EK_REPORT_LAYOUT_INTERNAL_H

#include <math.h>

#include "base/json_stream.h"
#include "evenkeel/layout_fit.h"
#include "evenkeel/layout_report.h"
#include "report/estimate_internal.h"

/** A figure that is known when it is positive; NAN else, which JSON has as null. */
static inline double ek__layout_known(double value)
{
    return value > 0 ? value : (double)NAN;
}

/** "proved best of 1 957 layouts in 9.4 s", "best so far of ... layouts after 60.0 s: a step may be up to 3.1 %
 * shorter"
 */
void ek__layout_proof(const ek_layout_result *result, char *text, size_t size);
/** How much shorter the best plan's step is than today's, as a share of today's; of as many tokens, where the two have
 *  different global batches. NAN where there is no today. */
double ek__layout_gain(const ek_layout_result *result);
/** MB of a plan's fullest stage, and of its limit; 0: none. */
double ek__layout_peak_mb(const ek_layout_plan *plan);
double ek__layout_limit_mb(const ek_layout_plan *plan);
/** Layouts that were bounded: what the counts of fates, but for illegal ones, add up to. */
long ek__layout_judged(const ek_layout_result *result);
/** The change, a phrase: "16 devices", "optimizer states on the host (--optimizer-cpu-offload)". */
void ek__layout_change(const ek_layout_result *result, const ek_layout_fit *fit, char *text, size_t size);
/** "up to 1.1 times the limit", ... of ek_layout_counts.over_by; and their keys in JSON. */
extern const char *const ek__layout_over_words[4];
extern const char *const ek__layout_over_key[4];

/** Advice beside the plans, for people: a layout that was asked about; rules of thumb and runs to try; files. */
void ek__layout_print_explanation(const ek_layout_report *report, FILE *out);
void ek__layout_print_advice(const ek_layout_report *report, FILE *out);
/** The same as members of the report's object. */
void ek__layout_put_advice(ek__stream *s, const ek_layout_report *report);
/** Degrees, switches and schedule, members of the object that is open. */
void ek__layout_put_degrees(ek__stream *s, const ek_layout *layout);
/** A plan; `file` may be NULL. */
void ek__layout_put_plan(ek__stream *s, const char *key, const ek_layout_plan *plan, const char *file);

#endif
