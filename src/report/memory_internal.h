/* report/memory_internal.h - what the writers of a memory prediction share. */
#ifndef EK_REPORT_MEMORY_INTERNAL_H
#define EK_REPORT_MEMORY_INTERNAL_H

#include "evenkeel/memory.h"
#include "figures/memory_figures.h"
#include "report/report_internal.h"

/** Whole MB in groups of three, cut as logs cut them: "54 321". */
ek__digits ek__whole_mb(int64_t bytes);
/** MB with three decimals, for machines. */
ek__digits ek__exact_mb(int64_t bytes);

/** What the job is, for people, three lines: the model, its degrees, its micro-batches (job_text.c). */
void ek__print_job(const ek_job *job, FILE *out);

/** Is the peak that counts what PyTorch's allocator reserves, and the used one what it calls allocated? */
bool ek__is_reserved(const ek_job *job);
bool ek__memory_over(const ek_memory *memory, const ek_memory_stage *stage);

/** ", but fits with gather_after_cast=yes": the rules that the verdict hangs on, each with its nearest alternative;
 * empty without any. */
void ek__assumptions_text(const ek_memory_report *report, char *text, size_t size);
/** A sentence: what is assumed, what another value does, and which measurement tells. */
void ek__assumption_text(const ek_memory_assumption *assumption, char *text, size_t size);

#endif
