/* evenkeel/prediction.h - predicts everything that a report shows of a job's memory.
 *
 * Unless stated otherwise, functions take O(1), those that clear or free O(size of the object), and may be called from
 * several threads at once, on the same objects where these are const. */
#ifndef EVENKEEL_PREDICTION_H
#define EVENKEEL_PREDICTION_H

#include "evenkeel/decls.h"
#include "evenkeel/memory.h"
#include "evenkeel/memory_report.h"

EK_BEGIN_DECLS

enum { EK_MAX_MEMORY_TIMES = 5 };

/**
 * Times of each kind of layer that a job has, in model order, modelled with ek_cost_layer().
 *
 * @param time  out: [EK_MAX_MEMORY_TIMES], milliseconds; the names are static
 * @param n     out: how many kinds the job has
 * @return as ek_cost_layer(). Cost: that of ek_cost_layer() for each kind.
 */
ek_status ek_memory_times(const ek_job *job, const ek_device *device, ek_memory_time *time, int *n, ek_error *err);

/** A prediction with everything that a page shows of it, and the report that points at its parts: it must not move.
 */
typedef struct ek_prediction {
    ek_memory memory;
    ek_memory_course course;
    int n_times, n_measures, n_kept;
    ek_memory_time time[EK_MAX_MEMORY_TIMES];
    ek_mitigation measure[EK_MAX_MEASURES];
    ek_kept kept[EK_MAX_KEPT];
    ek_memory_report report;
} ek_prediction;

/**
 * Predict a job's memory, with measures against a peak, saved tensors and the memory of the stages block by block.
 *
 * @param job     borrowed by the result
 * @param device  for modelled times and for measures that need it; borrowed by the result. NULL: no times
 * @param out     ek_prediction_clear() frees it; after a failure there is nothing to clear
 * @return as ek_memory_predict(), ek_memory_mitigations(), ek_memory_kept(), ek_memory_course_of() and
 *   ek_memory_times(). Cost: the sum of theirs.
 */
ek_status ek_prediction_of(const ek_job *job, const ek_device *device, ek_prediction *out, ek_error *err);
/** Free all parts of a prediction; then as zeroed. */
void ek_prediction_clear(ek_prediction *prediction);

EK_END_DECLS
#endif
