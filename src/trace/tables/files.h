/* trace/tables/files.h - the list of profilers' files: the rank of each file, and its reader.
 *
 * A new kind of file is one reader src/trace/table_NAME.c and one line here; src/meson.build names the file. A reader
 * fills its part of the rank (or of the run) and the source's items; all its results are in the rank's pool. CSV goes
 * through trace/tables/table_rows.h, JSON through trace/text/side_json.h. */
#ifndef EK_TRACE_TABLES_FILES_H
#define EK_TRACE_TABLES_FILES_H

#include "base/error.h"
#include "base/pool.h"
#include "evenkeel/trace.h"

/* X(name, pattern): a shell pattern of the file's name, with .gz after it allowed for traces. First match counts. */
#define EK__TABLE_LIST(X)                                                                                              \
    X(profiler_info, "profiler_info*.json")                                                                            \
    X(profiler_metadata, "profiler_metadata.json")                                                                     \
    X(kernel_details, "kernel_details*.csv")                                                                           \
    X(op_summary, "op_summary*.csv")                                                                                   \
    X(op_statistic, "op_statistic*.csv")                                                                               \
    X(step_trace_time, "step_trace_time*.csv")                                                                         \
    X(cluster_step_trace_time, "cluster_step_trace_time*.csv")                                                         \
    X(communication_group, "communication_group*.json")                                                                \
    X(communication_matrix, "communication_matrix*.json")                                                              \
    X(communication, "communication*.json")                                                                            \
    X(hccl_raw, "hccl_raw*.csv")                                                                                       \
    X(memory_record, "memory_record*.csv")                                                                             \
    X(operator_memory, "operator_memory*.csv")                                                                         \
    X(npu_module_mem, "npu_module_mem*.csv")                                                                           \
    X(memory_task, "task.csv")                                                                                         \
    X(memory_block, "memory_block*.csv")                                                                               \
    X(memory_snapshot, "*memory_snapshot*.pickle")                                                                     \
    X(msprof_tx, "msprof_tx*.csv")                                                                                     \
    X(minddata_raw, "minddata_pipeline_raw*.csv")                                                                      \
    X(minddata_summary, "minddata_pipeline_summary*.csv")                                                              \
    X(step_trace_raw, "step_trace_raw*_detail_time.csv")                                                               \
    X(cluster_analyse, "ascend_cluster_analyse*.csv")

/** Of a file. */
typedef enum ek__file_type {
    EK__FILE_TRACE, /**< Chrome trace */
#define EK__FILE_OF(name, pattern) EK__FILE_##name,
    EK__TABLE_LIST(EK__FILE_OF)
#undef EK__FILE_OF
        EK__N_FILE_TYPES,
} ek__file_type;

/**
 * Inputs and outputs of reading one table.
 *
 * A reader returns EK_OK, EK_ERR_INPUT with file, line and column for a file with content that does not fit its name,
 * EK_ERR_SYSTEM, EK_ERR_MEMORY. Rows that cannot be read are left out, with source->problem naming the first and their
 * number. It must not change the results of other readers.
 */
typedef struct ek__table_in {
    const char *path;
    ek__file_type type;
    bool database;                   /**< of a profiler, to be read as a file of the type */
    ek_trace_source *source;         /**< items, bytes, problem to fill */
    ek_trace_rank *rank;             /**< to fill, in rank->pool */
    ek_trace_run *run;               /**< topology and cluster rows only, in run->pool; under the caller's lock */
    struct ek__table_times *times;   /**< begin and duration of the rows, to add to; NULL: not needed */
    struct ek__tracker_tasks *tasks; /**< of task.csv, to add to; NULL: not needed */
    const ek_trace_options *options;
    const ek_listener *listener;
    int most_blocks;           /**< limit of blocks in a map of allocations; 0: EK_TRACE_KEPT_BLOCKS */
    struct ek__shapes *shapes; /**< inputs of operators, row by row; NULL: not wanted */
} ek__table_in;

static inline size_t ek__most_blocks(const ek__table_in *in)
{
    return in->most_blocks > 0 ? (size_t)in->most_blocks : EK_TRACE_KEPT_BLOCKS;
}

typedef ek_status ek__table_reader(const ek__table_in *in, ek_error *err);
#define EK__TABLE_READER(name, pattern) ek__table_reader ek__table_##name;
EK__TABLE_LIST(EK__TABLE_READER)
#undef EK__TABLE_READER

/** A file of a rank. */
typedef struct ek__rank_file {
    const char *path;
    ek__file_type type;
    bool database; /**< a profiler's database that is read as a file of this type; it may be listed as others, too */
} ek__rank_file;

/** The files of one rank. */
typedef struct ek__rank_files {
    int rank, stage, device; /**< from names and folders; EK_TRACE_NO_RANK, -1 when they have none */
    int n_files;
    ek__rank_file *file; /**< [n_files], traces first, then by type, then by path */
} ek__rank_files;

typedef struct ek__layout {
    int n_ranks, n_common;
    ek__rank_files *rank;  /**< [n_ranks], by rank, unknown ones last by path */
    ek__rank_file *common; /**< [n_common]: of the whole run (cluster tables) */
    int n_databases;
    const char *database; /**< the first by path of the databases that were not read; NULL */
    int n_parts;
    const char **part; /**< [n_parts], by path: partial results of earlier analyses (trace/partial/part.h) */
} ek__layout;

/**
 * Find profilers' files below the paths and the rank of each (docs/trace.md, "Layouts").
 * @param pool   that receives the result
 * @return EK_OK, EK_ERR_INPUT when there is none, EK_ERR_SYSTEM, EK_ERR_MEMORY. Never depends on the paths' order.
 */
ek_status ek__layout_find(const char *const *path, int n_paths, ek__pool *pool, const ek_listener *listener,
                          ek__layout *out, ek_error *err);
/** The remedy for databases without tables of an export: how to produce readable files of the results. */
#define EK__EXPORT_AS_TEXT                                                                                             \
    "export as text: profile with export_type=[ExportType.Text] in _ExperimentalConfig (torch_npu.profiler, "          \
    "mindspore.profiler); or, for an existing recording of torch_npu, call "                                           \
    "torch_npu.profiler.profiler.analyse(FOLDER, export_type=[\"text\"]); for a PROF_ folder run msprof --export=on "  \
    "--output=FOLDER"
/** The name of a type as in ek_trace_source.type: "trace", "kernel_details". */
const char *ek__file_type_name(ek__file_type type);

#endif
