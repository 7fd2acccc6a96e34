/* report/metrics_internal.h - the figures of a run in one order, for every writer. */
#ifndef EK_REPORT_METRICS_INTERNAL_H
#define EK_REPORT_METRICS_INTERNAL_H

#include "evenkeel/metrics_report.h"

enum { EK__MAX_FIGURES = 24 };

typedef struct ek__figure {
    const char *key;   /**< of the JSON: "step_seconds" */
    const char *label; /**< for people */
    const char *unit;
    double value; /**< NAN: not known */
    int decimals; /**< for people, of value * scale */
    double scale;
    const char *basis;   /**< "given", "measured", "counted", "derived", "assumed" */
    const char *formula; /**< in the letters of docs/models.md; "" where it is an input */
} ek__figure;

/** @return how many */
int ek__metrics_figures(const ek_metrics_report *report, ek__figure out[EK__MAX_FIGURES]);

#endif
