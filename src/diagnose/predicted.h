/* diagnose/predicted.h - finds large parts of a predicted step, and their remedies. Without a trace they are the only
 * known figures. A remedy is a line in remedies.c. */
#ifndef EK_DIAGNOSE_PREDICTED_H
#define EK_DIAGNOSE_PREDICTED_H

#include "diagnose/bottleneck.h"

enum { EK__REMEDY_SETTING = 400 };

/** A change of a job for the sake of a part of its step. */
typedef struct ek__remedy {
    ek_step_part part;
    const char *change;  /**< a sentence */
    const char *caution; /**< likewise */
    /** Put it into a copy of the job. @return false: it is already in effect, or has no effect here */
    bool (*change_job)(ek_job *job, const ek_device *device);
} ek__remedy;
extern const ek__remedy ek__remedies[]; /* change_job NULL at the end */

/** Apply a remedy to a job, with the members that its reader derives from it, and print the settings that the job's
 *  file needs.
 *  @param applies  out: false where nothing is changed, or the framework has no such setting; the job may still be
 *    changed. @return EK_OK, EK_ERR_INPUT, EK_ERR_MEMORY */
ek_status ek__remedy_apply(const ek__remedy *remedy, const ek_device *device, ek_job *job,
                           char setting[EK__REMEDY_SETTING], bool *applies, ek_error *err);

/** Report a part of the predicted step: where it takes more than a tenth, or a change is predicted to gain the least
 *  share. The gain is ek_cost_step() of the job less that of the job with the best remedy that fits in memory. Nothing
 *  where the step is not predicted.
 *
 * @param title      "Reducing gradients and gathering weights"
 * @param otherwise  advice where no remedy helps */
ek_status ek__predicted_part(ek__diagnose *d, ek_step_part part, const char *id, ek_diagnose_topic topic,
                             const char *title, const char *otherwise, ek_error *err);

#endif
