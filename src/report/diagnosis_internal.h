/* report/diagnosis_internal.h - helpers shared by the writers of a diagnosis for people. */
#ifndef EK_REPORT_DIAGNOSIS_INTERNAL_H
#define EK_REPORT_DIAGNOSIS_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>

#include "evenkeel/diagnose.h"

/** The source of a figure: "rank_0/trace_view.json, step 3, rank 0"; empty if unknown. */
void ek__diagnosis_place(const ek_evidence *evidence, char *out, size_t room);

/** "44.1 ms (2.0 %)"; unknown parts are omitted, "not known" if both are. */
void ek__diagnosis_amount(double seconds, double share, char *out, size_t room);

/**
 * Groups unchecked points that need the same action: the text of the group that begins at entry `i`, "a; b; c" or "a:
 * needs x" for a single one. @return false: printed with an earlier entry
 */
bool ek__diagnosis_missing(const ek_diagnosis *diagnosis, int i, char *out, size_t room);

#endif
