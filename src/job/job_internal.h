/* job/job_internal.h - the interface shared by the readers of jobs. A kind of file is one file job_NAME.c with its
 * ek__job_format and one line in the table of job.c. */
#ifndef EK_JOB_INTERNAL_H
#define EK_JOB_INTERNAL_H

#include "base/config_tree.h"
#include "base/error.h"
#include "evenkeel/job.h"

/* A file that is being read. */
typedef struct ek__job_source {
    const char *path;
    const char *text; /* `size` bytes, then a NUL */
    size_t size;
    const ek__config_tree *doc; /* NULL when the text is not YAML, JSON or TOML */
    const char
        *folder; /* the folder of the job's other files, with a slash; NULL: none may be read (a text in memory) */
    bool toml;   /* it is TOML */
    const ek_listener *listener;
    ek_error *err;
} ek__job_source;

/* Another file that the job's file names, relative to the job's folder unless it begins with a slash. If it cannot be
 * read or is not a map, *out is NULL and a warning gives the assumption (`taken`, "its switches are taken as off").
 * ek__config_free() it. @return EK_OK or EK_ERR_MEMORY */
ek_status ek__job_read_other(const ek__job_source *source, const char *name, ek_origin at, const char *taken,
                             ek__config_tree **out);

typedef struct ek__job_format {
    const char *name; /* for messages: "a training YAML of MindFormers" */
    bool (*recognises)(const ek__job_source *source);
    /* Fill *job, which has its path and is otherwise zero: all except spreading the plan for the overrides.
     * ek_job_clear() frees it, also after a failure. */
    ek_status (*read)(const ek__job_source *source, const ek_job_overrides *overrides, ek_job *job);
    /* Fill one part of *job, which is as for read(), and ignore the rest of the file. NULL: files of this kind are read
     * whole. */
    ek_status (*read_part)(const ek__job_source *source, ek_job_part part, ek_job *job);
    const char *not_written; /* why a changed job cannot be written into such a file, a sentence; NULL: it can */
} ek__job_format;

extern const ek__job_format ek__job_mindformers, ek__job_mindspeed, ek__job_megatron, ek__job_hugging_face,
    ek__job_torchtitan, ek__job_nemo, ek__job_llama_factory, ek__job_trainer, ek__job_internevo;

/* Record the file's place of the sequence length. */
void ek__job_note_sequence(ek_origin at, ek_job *job);

/* The step that the reading of a job reached. */
typedef enum ek__job_step {
    EK__JOB_RECOGNISING, /* failure: not a known training job */
    EK__JOB_READING,     /* failure: a setting cannot be read or is unknown */
    EK__JOB_CHECKING,    /* failure: the framework would reject it */
} ek__job_step;
/* ek_job_read() of a text in memory, `size` bytes and a NUL. The overrides, which may be NULL, are within the limits.
 * *step is always set to the reached step. */
ek_status ek__job_parse(const char *name, const char *text, size_t size, const ek_job_overrides *overrides,
                        const ek_listener *listener, ek_job *out, ek__job_step *step, ek_error *err);

/* The same for the contents of the file `path`, or its future contents: other files that it names are read from its
 * folder. */
ek_status ek__job_parse_file(const char *path, const char *text, size_t size, const ek_job_overrides *overrides,
                             const ek_listener *listener, ek_job *out, ek__job_step *step, ek_error *err);
/* How the error of ek_job_read() starts for a text that no reader recognises and that is no damaged document. */
#define EK__NO_TRAINING_JOB "is no training job that is known here"
/* The kind of file of a text, NULL: unknown. */
const ek__job_format *ek__job_format_of(const char *name, const char *text, size_t size);
/* ek_job_read_part() of the contents of the file `path`. */
ek_status ek__job_parse_part(const char *path, const char *text, size_t size, ek_job_part part,
                             const ek_listener *listener, ek_job *out, ek_error *err);
/* Is a text certainly one that ek__job_parse_part() reads? False for YAML or JSON that only has arguments of
 * Megatron-LM somewhere. @return EK_OK or EK_ERR_MEMORY */
ek_status ek__job_has_parts(const char *name, const char *text, size_t size, bool *out, ek_error *err);

/* Spread n_layers + n_prediction_layers evenly over job->parallel.pipeline stages and `n_chunks` chunks into job->plan,
 * which is empty: floor each, the rest to the first chunks; prediction layers are on the last one. */
ek_status ek__job_spread(ek_job *job, int n_chunks, ek_error *err);
/* The usual schedule for the plan's chunks, if the file and overrides name none. */
const ek_schedule *ek__job_usual_schedule(const ek_job *job);
/* The framework's default patterns for a file that only gives numbers of layers, NULL at the end; none for kinds that
 * exclude. Framework, family and flash_attention are read. */
const char *const *ek__job_usual_patterns(const ek_job *job, ek_pattern_kind kind);
/* Add a pattern; `layers` is [n_chunks][n_stages] and copied, NULL: all layers. */
ek_status ek__job_add_pattern(ek_job *job, const char *text, ek_pattern_kind kind, const int *layers, bool by_default,
                              ek_origin origin, ek_error *err);
/* Add one like a pattern of another job, with its plan's list, for other layers. */
ek_status ek__job_add_like(ek_job *job, const ek_pattern *like, const int *layers, ek_error *err);
/* Does the job have a pattern of a kind, or one that follows that kind's list? */
bool ek__job_has_pattern(const ek_job *job, ek_pattern_kind kind);
/* Remove named patterns that recompute no layer; only the job's text changes. */
void ek__job_drop_idle_patterns(ek_job *job);
/* Remove all patterns; the plan's lists do not change until ek__job_sum_patterns(). */
void ek__job_drop_patterns(ek_job *job);
/* Patterns of PyTorch's selective checkpointing by operators, as torchtitan sets it up ("op"): in every layer the fused
 * attention and every second matrix product are saved, and all other operators run again. For jobs of the family
 * EK_FAMILY_LLAMA with separate matrices for queries, keys, values and feed-forward inputs (qkv_concat false). */
ek_status ek__job_keep_products(ek_job *job, ek_origin at, ek_error *err);
/* Does a job of torchtitan use this recomputation? */
bool ek__job_keeps_products(const ek_job *job);
/* Set the plan's select and comm lists from the patterns': the largest of each kind. ek__job_add_pattern() calls it. */
void ek__job_sum_patterns(ek_job *job);

/* Put the overrides' degrees and sizes into job->parallel and job->model; readers call it after reading the file's
 * values, and derive the rest (table_split, states) from the result. seq_length replaces an equal max_position. */
void ek__job_override_sizes(const ek_job_overrides *overrides, ek_job *job);
/* Apply the remaining overrides after a reader: spread the layers if plan and degrees disagree, schedule,
 * recomputation, limit, rules. */
ek_status ek__job_override(const ek__job_source *source, const ek_job_overrides *overrides, ek_job *job);
/* Set the part of job->run that depends on the plan's chunks. */
void ek__job_settle_run(ek_job *job);
/* Are the overrides within the limits? */
ek_status ek__job_check_overrides(const ek_job_overrides *overrides, ek_error *err);
/* ek_job_check() with the setting's place in `doc`, which may be NULL, in messages. */
ek_status ek__job_check(const ek_job *job, const ek__config_tree *doc, ek_error *err);

/* Limits of jobs. Within them an int holds every width and int64_t every derived size in bytes. */
enum {
    EK__JOB_MAX_HIDDEN = 1 << 20,
    EK__JOB_MAX_WIDTH = 1 << 24, /* feed-forward, heads times their size, vocabulary */
    EK__JOB_MAX_HEADS = 1 << 16,
    EK__JOB_MAX_EXPERTS = 1 << 16,
    EK__JOB_MAX_BATCH = 1 << 16,
    EK__JOB_MAX_SEQUENCE = 1 << 28,
};

/* Feed-forward width of Llama: x = 4 H; x = int((multiplier + 0.01) x) when multiplier > 0; x = int(2 x / 3), rounded
 * up to `multiple`. hidden is within its limit, multiplier at most 100, multiple at most 65536. */
int ek__job_intermediate(int hidden, double multiplier, int multiple);

/** MB of a cuBLAS workspace, on devices from Hopper on: one from PyTorch, one from TransformerEngine, and for its
 *  grouped products one per stream. Sources: getChosenWorkspaceSize of PyTorch's CUDABlas.cpp,
 *  get_cublas_workspace_size_bytes of TransformerEngine's module/base.py, num_cublas_streams there. */
enum { EK__CUBLAS_MB = 32, EK__GROUPED_STREAMS = 4 };
/** Index of the rule that "name=value" names; -1: unknown. */
int ek__rule_index(const char *assignment);

/* Settings of a layout by their names in a job's framework; the global batch represents micro-batches and accumulation
 * if it counts the sequences of a step. */
typedef enum ek__degree {
    EK__DEGREE_DATA,
    EK__DEGREE_TENSOR,
    EK__DEGREE_STAGES,
    EK__DEGREE_CONTEXT,
    EK__DEGREE_EXPERT,
    EK__DEGREE_CHUNKS,
    EK__DEGREE_BATCH,
    EK__DEGREE_MICRO_BATCHES,
    EK__DEGREE_ACCUMULATION,
} ek__degree;
enum { EK__N_DEGREES = 9 };
const char *ek__job_degree_name(const ek_job *job, ek__degree degree);

#endif
