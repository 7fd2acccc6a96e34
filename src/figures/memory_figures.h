/* figures/memory_figures.h - the figures of a prediction of memory (evenkeel/memory_report.h): fields, the tables of
 * page and CSV, and the values that several writers use. */
#ifndef EK_FIGURES_MEMORY_FIGURES_H
#define EK_FIGURES_MEMORY_FIGURES_H

#include "evenkeel/job.h"
#include "evenkeel/layers.h"
#include "evenkeel/memory.h"
#include "evenkeel/memory_report.h"
#include "evenkeel/recompute_sets.h"
#include "figures/figures.h"

/* ---- fields ---- */

/** The report reduced to the list of rules: for a report with only a job with rules and a framework. */
extern const ek__fields ek__memory_rules_alone;
/* Fields of other structs, or of tables only. */
extern const ek__fields ek__memory_stage, ek__memory_top, ek__memory_cell, ek__memory_measure, ek__memory_kept_kind,
    ek__memory_kept_tensor, ek__memory_worth, ek__memory_calibration, ek__memory_calibration_peak,
    ek__memory_calibration_error;

/** The report of a figure. */
static inline const ek_memory_report *ek__memory_report_of(const ek__owner *of)
{
    return (const ek_memory_report *)of->result;
}

/* ---- tables ---- */

/** Those of the page, in its order. The table of stages is the CSV too. */
enum {
    EK__MEMORY_STAGES,
    EK__MEMORY_TENSORS,
    EK__MEMORY_MEASURES,
    EK__MEMORY_KEPT, /**< of an ek_kept; its table has an id and a title of its own */
    EK__MEMORY_PEAKS,
    EK__MEMORY_ERRORS,
    EK__MEMORY_RULES,
    EK__MEMORY_LAYERS,
    EK__MEMORY_TIMES,
    EK__MEMORY_PLAN,
    EK__N_MEMORY_TABLES
};
extern const ek__rows ek__memory_table[EK__N_MEMORY_TABLES];

/* ---- stages ---- */

/** Layers of the chunk with the stage's peak, and the place of its first one in the model. */
typedef struct ek__place {
    int n_layers;
    int model_layer; /**< of the peak, from 0; -1 in the embedding or the head */
} ek__place;
ek__place ek__memory_place(const ek_job *job, const ek_memory *memory, int stage);
/** "forward pass", "backward pass", "gradient of the weights". */
const char *ek__pass_name(int kind);
/** "1 none, 5 both": the kinds that a stage has, or "-" without a layer. */
void ek__mix_text(ek_chunk_mix mix, char *text, size_t size);
/** A stage's relevant peak: with fragments, or without them where no allocation was requested. */
int64_t ek__memory_peak(const ek_memory_stage *stage);
/** The allocator's overhead on top of the used peak; INT64_MIN where no allocation was requested. */
int64_t ek__memory_fragments(const ek_memory_stage *stage);

/** Pieces of a bar: the parts, and the fragments, 0 where no allocation was requested. */
enum { EK__N_MEMORY_PIECES = EK_N_MEMORY_PARTS + 1 };
const char *ek__memory_piece_name(int piece);
int64_t ek__memory_piece(const ek_memory_stage *stage, int piece);

/* ---- saved tensors of a layer ---- */

/** "attention.softmax output": a tensor by the operator that produces it. */
void ek__kept_name(const ek_kept_tensor *tensor, char *text, size_t size);
/** "4096 x 5120"; empty for a tensor without a shape. */
void ek__kept_shape(const ek_kept_tensor *tensor, char *text, size_t size);
/** "recomputing attention.softmax, ...": the operators that need it, or nothing. */
void ek__kept_reader(const ek_kept_tensor *tensor, char *text, size_t size);

/* ---- rules ---- */

/** Does the rule change anything in this job? */
bool ek__rule_matters(const ek_job *job, const char *name);
/** Its value, and whether it differs from the framework's default. */
typedef struct ek__rule_value {
    char text[64];
    char usual[64];
    bool changed;
} ek__rule_value;
ek__rule_value ek__rule_value_of(const ek_rules *rules, ek_framework framework, const char *name);

/** The basis of the figures, one sentence, for every writer. */
extern const char ek__memory_basis[];

#endif
