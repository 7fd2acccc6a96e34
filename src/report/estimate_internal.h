/* report/estimate_internal.h - texts shared by the writers of an estimate. */
#ifndef EK_REPORT_ESTIMATE_INTERNAL_H
#define EK_REPORT_ESTIMATE_INTERNAL_H

#include "report/memory_internal.h"

/** Does any stage spend time on a part? */
bool ek__estimate_has(const ek_estimate *estimate, int part);
/** "4.321 s a step: 3 210 tokens/s a device, MFU 43.2 %, HFU 56.1 %" */
void ek__estimate_verdict(const ek_estimate *estimate, char *text, size_t size);
/** "fits: fullest is stage 0 with 56 320 MB of 59 392 MB" */
void ek__estimate_memory(const ek_estimate *estimate, char *text, size_t size);
/** The expected error, one sentence: from which runs, or unknown; and the nearest measured cell.
 */
void ek__estimate_error(const ek_estimate *estimate, char *text, size_t size);
/** The framework's way to run the step, as far as it matters for the job's groups: "kernels launched one by one;
 * overlapped with computing: gradients in buckets of 40 MB; exposed: tensor parallel" */
void ek__estimate_run(const ek_job *job, char *text, size_t size);
/** The name of the job's model. */
const char *ek__estimate_name(const ek_estimate *estimate);

/** The meaning of the figures, one sentence, for every writer. */
extern const char ek__estimate_basis[];

#endif
