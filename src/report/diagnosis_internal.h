/* report/diagnosis_internal.h - what the writers of a diagnosis for people share. */
#ifndef EK_REPORT_DIAGNOSIS_INTERNAL_H
#define EK_REPORT_DIAGNOSIS_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>

#include "evenkeel/diagnose.h"

/** Where a figure is from: "rank_0/trace_view.json, step 3, rank 0"; empty when nothing tells. */
void ek__diagnosis_place(const ek_evidence *evidence, char *out, size_t room);

/** "44.1 ms (2.0 %)"; what is not known is left out, "not known" when neither is. */
void ek__diagnosis_amount(double seconds, double share, char *out, size_t room);

/**
 * Things not looked at that one and the same step would make visible are told together: the text of the group that
 * begins at entry `i`, "a; b; c" or "a: needs x" when it is alone. @return false: told with an earlier entry
 */
bool ek__diagnosis_missing(const ek_diagnosis *diagnosis, int i, char *out, size_t room);

#endif
