/* report/memory_internal.h - what the writers of a memory prediction share. */
#ifndef EK_REPORT_MEMORY_INTERNAL_H
#define EK_REPORT_MEMORY_INTERNAL_H

#include "evenkeel/memory.h"
#include "report/report_internal.h"

/** Whole MB in groups of three, cut as logs cut them: "54 321". */
ek__digits ek__whole_mb(int64_t bytes);
/** MB with three decimals, for machines. */
ek__digits ek__exact_mb(int64_t bytes);

/** "1 none, 5 both": the kinds that a stage has, or "-" without a layer. */
void ek__mix_text(const ek_chunk_mix *mix, char *text, size_t size);

/** What the job is, for people, three lines: the model, its degrees, its micro-batches (job_text.c). */
void ek__print_job(const ek_job *job, FILE *out);

/** Layers of the chunk that the stage's peak is in, and where its first one is in the model. */
typedef struct ek__place {
    int n_layers;
    int model_layer; /**< of the peak, from 0; -1 in the embedding or the head */
} ek__place;
ek__place ek__memory_place(const ek_job *job, const ek_memory *memory, int stage);
/** "forward pass", "backward pass", "gradient of the weights". */
const char *ek__pass_name(int kind);

/** A stage's peak that counts: with fragments, or without them where no allocation was asked for. */
int64_t ek__memory_peak(const ek_memory_stage *stage);
/** Is the peak that counts what PyTorch's allocator reserves, and the used one what it calls allocated? */
bool ek__is_reserved(const ek_job *job);
bool ek__memory_over(const ek_memory *memory, const ek_memory_stage *stage);

/** ", but fits with gather_after_cast=yes": the rules that the verdict hangs on, each with its nearest alternative;
 * empty without any. */
void ek__assumptions_text(const ek_memory_report *report, char *text, size_t size);
/** A sentence: what is assumed, what another value does, and which measurement tells. */
void ek__assumption_text(const ek_memory_assumption *assumption, char *text, size_t size);
/** Does the rule change anything in this job? */
bool ek__rule_matters(const ek_job *job, const char *name);
/** Its value, and whether that is not the framework's default. */
typedef struct ek__rule_value {
    char text[64];
    char usual[64];
    bool changed;
} ek__rule_value;
ek__rule_value ek__rule_value_of(const ek_rules *rules, ek_framework framework, const char *name);

/** What the figures rest on, one sentence, for every writer. */
extern const char ek__memory_basis[];

#endif
