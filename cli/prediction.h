/* cli/prediction.h - a prediction of memory for a page: all that there is to say about a job, since a page has room. */
#ifndef EK_CLI_PREDICTION_H
#define EK_CLI_PREDICTION_H

#include "evenkeel/evenkeel.h"

#include "memory.h"

/** A prediction, and the report that points at its parts: it stays where it is. Zeroed to begin with. */
typedef struct cli_prediction {
    ek_memory memory;
    ek_memory_course course;
    int n_times, n_measures, n_kept;
    ek_memory_time time[CLI_MAX_MEMORY_TIMES];
    ek_mitigation measure[EK_MAX_MEASURES];
    ek_kept kept[EK_MAX_KEPT];
    ek_memory_report report;
} cli_prediction;

/** @param device  NULL: no modelled times. On failure there is nothing to clear. */
ek_status cli_prediction_make(const ek_job *job, const ek_device *device, cli_prediction *out, ek_error *err);
void cli_prediction_clear(cli_prediction *prediction);

#endif
