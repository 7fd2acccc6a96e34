/* Texts shared by the writers of a memory prediction: amounts, and the rules that the verdict depends on. */
#include <math.h>
#include <string.h>

#include "evenkeel/memory_report.h"
#include "report/memory_internal.h"

ek__digits ek__whole_mb(int64_t bytes)
{
    return ek__grouped(trunc((double)bytes / EK__MB));
}

ek__digits ek__exact_mb(int64_t bytes)
{
    return ek__fixed((double)bytes / EK__MB, 3);
}

bool ek__is_reserved(const ek_job *job)
{
    return job->rules.allocation == EK_ALLOCATION_CACHING;
}

bool ek__memory_over(const ek_memory *memory, const ek_memory_stage *stage)
{
    return memory->limit > 0 && ek__memory_peak(stage) > memory->limit;
}

/* ---- assumed rules ---- */

void ek__assumptions_text(const ek_memory_report *report, char *text, size_t size)
{
    size_t used = 0;
    *text = '\0';
    for (int i = 0; i < report->n_assumptions && used < size; i++) {
        const ek_memory_assumption *a = &report->assumption[i];
        if (i > 0 && strcmp(a->rule, a[-1].rule) == 0)
            continue;
        used += (size_t)snprintf(text + used, size - used, "%s%s=%s",
                                 used      ? " or with "
                                 : a->fits ? ", but fits with "
                                           : ", but does not fit with ",
                                 a->rule, a->other);
    }
}

void ek__assumption_text(const ek_memory_assumption *a, char *text, size_t size)
{
    snprintf(text, size,
             "%s=%s is assumed, with %s it %s. A dry run decides: stage %d peaks at %s MB with %s, %s MB with %s",
             a->rule, a->value, a->other, a->fits ? "fits" : "does not fit", a->stage, ek__grouped(trunc(a->mb)).text,
             a->value, ek__grouped(trunc(a->other_mb)).text, a->other);
}
