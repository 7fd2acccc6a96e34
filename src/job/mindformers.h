/* job/mindformers.h - the interface between the parts of the reader of MindFormers' training YAML: shapes of the model,
 * lists of recomputation, and the run's degrees and states. */
#ifndef EK_JOB_MINDFORMERS_H
#define EK_JOB_MINDFORMERS_H

#include "job/job_internal.h"

/* The sections of a file; NULL if absent; root, model and parallel_config are always set. */
typedef struct ek__mf_sections {
    const ek__node *root;
    const ek__node *model; /* model.model_config */
    const ek__node *moe;   /* moe_config, of the root or of model_config */
    const ek__node *parallel_config, *parallel, *pipeline,
        *optimizer_parallel; /* the last: parallel_optimizer_config */
    const ek__node *runner, *context, *recompute;
} ek__mf_sections;

/* Read by the part for the model, for the other parts. */
typedef struct ek__mf_facts {
    bool table_sharded; /* may the optimizer shard the embedding table? */
    int fine_grain;     /* as written */
    bool ring;          /* use_ring_attention */
} ek__mf_facts;

/* A value below the first of the names (NULL at the end) that the map has; NULL if there is none. The map may be
 * NULL. */
const ek__node *ek__mf_find(const ek__node *map, const char *const *names);
/* An integer or a switch below a key; *out does not change without one. `map` may be NULL. */
ek_status ek__mf_int(const ek__in *in, const ek__node *map, const char *key, int min, int max, const char *advice,
                     int *out);
ek_status ek__mf_bool(const ek__in *in, const ek__node *map, const char *key, const char *advice, bool *out);

/* parallel: ranks, stages, batch, accumulation, copies, pieces, 1 if absent; only the sections parallel_config, runner
 * and root are read. `advice` ends messages on wrong ranks. */
ek_status ek__mf_read_degrees(const ek__in *in, const ek__mf_sections *file, const char *advice, ek_job *job);
/* The read_part() of ek__job_format. */
ek_status ek__mf_read_part(const ek__job_source *source, ek_job_part part, ek_job *job);
/* Framework, family, model, types, reading, name. An overridden sequence length replaces a missing one. */
ek_status ek__mf_read_model(const ek__in *in, const ek__mf_sections *file, const ek_job_overrides *overrides,
                            ek__mf_facts *facts, ek_job *job);
/* Plan, patterns, schedule and m, for the stages and chunks of the file. The model is read. */
ek_status ek__mf_read_plan(const ek__in *in, const ek__mf_sections *file, ek_job *job);
/* Only stages, chunks, total layers, micro-batches, pieces and schedule; `placed`: also the layers of every chunk and
 * its recomputation, for several patterns the largest list. The rest of the file is ignored. */
ek_status ek__mf_read_pipeline(const ek__in *in, bool placed, ek_job *job);
/* The widths that determine the memory of a sequence piece, and the sequence length, all of which must be in the file:
 * defaults of a class are not used. Only the sections root and model are read. */
ek_status ek__mf_read_shapes(const ek__in *in, const ek__mf_sections *file, ek_job *job);
/* Is the model one of the newer ones, EK_MINDFORMERS_MCORE? */
bool ek__mf_is_newer(const ek__in *in, const ek__mf_sections *file);
/* Set job->run. The states and the plan must be read. */
ek_status ek__mf_read_run(const ek__job_source *source, const ek__mf_sections *file, ek_job *job);
/* Warn of keys that the framework ignores but that resemble known keys for memory. */
void ek__mf_warn_near_keys(const ek__in *in, const ek__mf_sections *file);

#endif
