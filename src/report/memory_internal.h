/* report/memory_internal.h - helpers shared by the writers of a memory prediction. */
#ifndef EK_REPORT_MEMORY_INTERNAL_H
#define EK_REPORT_MEMORY_INTERNAL_H

#include "evenkeel/memory.h"
#include "figures/memory_figures.h"
#include "report/report_internal.h"

/** Whole MB in groups of three, truncated as in logs: "54 321". */
ek__digits ek__whole_mb(int64_t bytes);
/** MB with three decimals, for machines. */
ek__digits ek__exact_mb(int64_t bytes);

/** The job for people, three lines: the model, its degrees, its micro-batches (job_text.c). */
void ek__print_job(const ek_job *job, FILE *out);

/** Is the relevant peak PyTorch's reserved memory, and the used one its allocated memory? */
bool ek__is_reserved(const ek_job *job);
bool ek__memory_over(const ek_memory *memory, const ek_memory_stage *stage);

/** ", but fits with gather_after_cast=yes": the rules that the verdict depends on, each with its nearest alternative;
 * empty without any. */
void ek__assumptions_text(const ek_memory_report *report, char *text, size_t size);
/** A sentence: the assumption, the effect of another value, and the measurement that decides. */
void ek__assumption_text(const ek_memory_assumption *assumption, char *text, size_t size);

#endif
