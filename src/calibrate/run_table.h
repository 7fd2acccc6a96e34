/* calibrate/run_table.h - turns a row of a table of measured runs into a job: cells, their layout, the rules of the
 * framework, the job. */
#ifndef EK_CALIBRATE_RUN_TABLE_H
#define EK_CALIBRATE_RUN_TABLE_H

#include "evenkeel/calibrate.h"
#include "job/job_internal.h"
#include "trace/text/csv.h"

/* Columns that mean something, in the order of messages: X(name in C, names in files, commas between). */
#define EK__RUN_COLUMNS(X)                                                                                             \
    X(JOB, "job")                                                                                                      \
    X(FRAMEWORK, "framework")                                                                                          \
    X(MODEL, "model")                                                                                                  \
    X(NAME, "case,step")                                                                                               \
    X(PARAMETERS, "params_B")                                                                                          \
    X(LAYERS, "layers")                                                                                                \
    X(HIDDEN, "hidden")                                                                                                \
    X(HEADS, "heads")                                                                                                  \
    X(KV_HEADS, "kv_heads")                                                                                            \
    X(FFN, "ffn_hidden")                                                                                               \
    X(FFN_OR_MULTIPLIER, "ffn_or_mult")                                                                                \
    X(VOCAB, "vocab")                                                                                                  \
    X(SEQ, "seq")                                                                                                      \
    X(GPUS, "gpus")                                                                                                    \
    X(DP, "dp")                                                                                                        \
    X(TP, "tp,mp")                                                                                                     \
    X(PP, "pp")                                                                                                        \
    X(VPP, "vpp,pp_interleave_num")                                                                                    \
    X(CP, "cp")                                                                                                        \
    X(EP, "ep")                                                                                                        \
    X(MICRO_BATCH, "micro_batch,batch_size")                                                                           \
    X(N_MICRO_BATCHES, "num_microbatches,micro_batch_num")                                                             \
    X(COPIES, "micro_batch_interleave_num")                                                                            \
    X(GLOBAL_BATCH, "global_batch")                                                                                    \
    X(LOCAL_BATCH, "local_batch")                                                                                      \
    X(RECOMPUTE, "recompute")                                                                                          \
    X(SELECT, "select_recompute")                                                                                      \
    X(OFFSET, "offset")                                                                                                \
    X(SEQ_PARALLEL, "seq_parallel,use_seq_parallel")                                                                   \
    X(VOCAB_WHOLE, "vocab_emb_dp")                                                                                     \
    X(OPTIMIZER_SHARD, "optimizer_shard")                                                                              \
    X(ZERO, "zero")                                                                                                    \
    X(SHARD_SIZE, "shard_size")                                                                                        \
    X(FSDP, "fsdp")                                                                                                    \
    X(PHASE, "phase")                                                                                                  \
    X(FILE, "yaml")                                                                                                    \
    X(HARDWARE, "hardware,hardware_heading,device")                                                                    \
    X(PRECISION, "precision")                                                                                          \
    X(LIMIT, "max_device_memory")                                                                                      \
    X(STEP, "step_time_s,step_seconds,derived_step_time_s")                                                            \
    X(TOKENS, "tokens_per_s_per_gpu,tokens_per_s_per_device")                                                          \
    X(TFLOPS, "tflops_per_gpu")                                                                                        \
    X(MEMORY_GIB, "mem_alloc_gib,mem_gib")                                                                             \
    X(MEMORY_MB, "memory_mb")                                                                                          \
    X(SUSPECT, "suspect")                                                                                              \
    X(WHY, "suspect_reason")                                                                                           \
    X(SOURCE, "source")

#define EK__RUN_COLUMN(name, files) EK__RUN_##name,
typedef enum ek__run_column { EK__RUN_COLUMNS(EK__RUN_COLUMN) EK__N_RUN_COLUMNS } ek__run_column;

/* The row that is being read. */
typedef struct ek__run_row {
    const ek__csv *csv;
    const char *path, *text;   /* of the whole table */
    int at[EK__N_RUN_COLUMNS]; /* columns of the file, -1: not there */
    const ek_listener *listener;
    ek_error *err;
} ek__run_row;

const char *ek__run_cell(const ek__run_row *row, ek__run_column column);
/* Its place: line and, found by walking the text, column. */
ek_origin ek__run_place(const ek__run_row *row, ek__run_column column);
/* A number within the range; *out is unchanged for an empty cell. A whole one may be written 4.0, and >=2 means 2. */
ek_status ek__run_number(const ek__run_row *row, ek__run_column column, double least, double most, double *out);
ek_status ek__run_whole(const ek__run_row *row, ek__run_column column, int least, int most, int *out);
/* yes, no, True, False, 1, 0; words after the first are notes. */
ek_status ek__run_switch(const ek__run_row *row, ek__run_column column, bool *out);
/* Does a text contain a word, ignoring case? */
bool ek__run_has(const char *text, const char *word);

typedef struct ek__run_layout ek__run_layout;

/* A framework: properties of its runs that rows do not have. */
typedef struct ek__run_framework {
    const char *name;       /* in the column framework */
    const char *sources[3]; /* words of the column source that mean it */
    bool mindformers;       /* rows are composed into a training YAML, else into arguments of Megatron */
    bool shares;            /* Megatron's own arguments set the sharing of states */
    bool titan;             /* layers are cut into stages as torchtitan does */
    bool half;              /* fp16 where nothing is said, else bf16 */
    const char *arguments;  /* of Megatron, in addition to the layout's */
    void (*settle)(const ek__run_layout *layout, ek_job *job); /* sets what arguments cannot express; may be NULL */
} ek__run_framework;
/* Of the row, never NULL on success. @return EK_ERR_INPUT for a name that is not known. */
ek_status ek__run_framework_of(const ek__run_row *row, const ek__run_framework **out);

typedef enum ek__run_recompute {
    EK__RUN_KEEP,
    EK__RUN_FULL,
    EK__RUN_ATTENTION, /* the attention's core */
    EK__RUN_OPERATORS, /* operators that PyTorch's per-operator policy drops */
} ek__run_recompute;

/* The layout of a row's run, completed from the public model and by derivation. */
struct ek__run_layout {
    const ek__run_framework *framework;
    const ek_public_model *model; /* NULL: none known */
    ek_model_style style;
    int layers, hidden, heads, kv_heads, ffn, vocab, seq;
    int gpus, dp, tp, pp, vpp, cp, ep, micro_batch, n_micro_batches, copies;
    ek__run_recompute recompute;
    bool sequence_parallel;
    int zero;       /* -1: as the framework does */
    int shard_size; /* ranks that share states, -1: all of them */
    bool fsdp;
    bool half;             /* fp16 */
    const char *precision; /* as written, "" */
};

/* Arguments or a file under construction. */
typedef struct ek__run_text {
    size_t n;
    bool cut; /* there was more than fits */
    char bytes[1 << 16];
} ek__run_text;
void ek__run_write(ek__run_text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Read the composed text as a job. */
ek_status ek__run_parse(const ek__run_row *row, const ek__run_text *text, ek_job *out);

/* Read a row's layout. `why` gets the missing values for a job, "" without any. */
ek_status ek__run_layout_read(const ek__run_row *row, ek__run_layout *out, size_t size, char *why);
/* Compose a job of the layout: as arguments of Megatron, or as a training YAML of MindFormers. */
ek_status ek__run_arguments(const ek__run_row *row, const ek__run_layout *layout, ek_job *out);
ek_status ek__run_mindformers(const ek__run_row *row, const ek__run_layout *layout, ek_job *out);

#endif
