/* report/lint_internal.h - helpers shared by the writers of findings. */
#ifndef EK_REPORT_LINT_INTERNAL_H
#define EK_REPORT_LINT_INTERNAL_H

#include "evenkeel/lint.h"

typedef struct ek__lint_counts {
    int of[3]; /**< by level */
} ek__lint_counts;

ek__lint_counts ek__lint_count(const ek_lint *lint);

#endif
