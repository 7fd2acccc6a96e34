/* figures/metrics_figures.h - the figures of a run's metrics as a table of the text report, and of devices. */
#ifndef EK_FIGURES_METRICS_FIGURES_H
#define EK_FIGURES_METRICS_FIGURES_H

#include "evenkeel/metrics_report.h"
#include "figures/figures.h"

/** A line of the table. */
typedef struct ek__metrics_line {
    ek__member figure; /**< its value: of an ek_metrics */
    const char *title, *unit;
    int decimals; /**< of value * scale */
    double scale;
    const char *basis;   /**< its basis: "given", "measured", "counted", "derived", "assumed" */
    const char *formula; /**< in the letters of docs/models.md; "" where it is an input */
} ek__metrics_line;
enum { EK__N_METRICS_LINES = 18 };
void ek__metrics_lines(const ek_metrics_report *report, ek__metrics_line out[EK__N_METRICS_LINES]);
/** The value; NAN: not known. */
double ek__metrics_value(const ek__metrics_line *line, const ek_metrics *metrics);

/** The known devices. */
typedef struct ek__device_list {
    int n;
    const ek_device *device; /**< [n] */
} ek__device_list;
extern const ek__fields ek__device_list_fields;

#endif
