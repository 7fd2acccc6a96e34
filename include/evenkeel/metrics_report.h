/* evenkeel/metrics_report.h - prints the metrics of a run as text, JSON and OpenMetrics. Writers only print: every
 * figure is computed by evenkeel/metrics.h and evenkeel/train_log.h.
 *
 * Unless stated otherwise, functions take O(1), those that clear or free O(size of the object), and may be called from
 * several threads at once, on the same objects where these are const. */
#ifndef EVENKEEL_METRICS_REPORT_H
#define EVENKEEL_METRICS_REPORT_H

#include <math.h>
#include <stdbool.h>
#include <stdio.h>

#include "evenkeel/decls.h"
#include "evenkeel/error.h"
#include "evenkeel/types.h"

EK_BEGIN_DECLS

/** Everything to print; parts that are NULL are left out. */
typedef struct ek_metrics_report {
    const ek_metrics_input *input;
    const ek_metrics *metrics;
    const ek_metrics_prediction *predicted; /**< NULL: no job, no device, or not to be predicted */
    const char *not_predicted;              /**< why it is not, where both are known; NULL */
    const char *source;                     /**< source of the measured time or rate: "given", or a file */
    const ek_train_log *log;                /**< with its summary */
    const ek_train_log_summary *summary;
    bool log_batch, log_devices, log_length; /**< these sizes come from the log */
    int n_trace_steps;                       /**< steps that a trace's time is the mean of; 0: no trace */
    const char *trace_step;                  /**< ek_trace_step_words() of it; NULL: no trace */
    bool color;
} ek_metrics_report;

EK_END_DECLS
#endif
