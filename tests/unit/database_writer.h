/* database_writer.h - converts profiles from text to the databases that the same profilers export.
 *
 * The tables and columns are those of the published schemas of torch_npu (ascend_pytorch_profiler_*.db, analysis.db)
 * and Nsight Systems (nsys export --type sqlite). Written without the reader: from the text's JSON trees and cells, so
 * that both exports of one profile can be compared. */
#ifndef TESTS_UNIT_DATABASE_WRITER_H
#define TESTS_UNIT_DATABASE_WRITER_H

#include <stdbool.h>

/* Differences of a database from those of the newest releases. */
typedef struct database_shape {
    bool no_overlap;    /* no OVERLAP_ANALYSIS */
    bool times_as_text; /* PYTORCH_API has its times as text, as torch_npu declares them */
    bool no_indexes;    /* tables without a primary key or an index */
} database_shape;

/* The files of a rank of torch_npu, `from`/ASCEND_PROFILER_OUTPUT/..., as `to`/ASCEND_PROFILER_OUTPUT/
 * ascend_pytorch_profiler_RANK.db and analysis.db; profiler_info and profiler_metadata are copied, as profilers write
 * them in both exports. Folders are made. Ends the process where something cannot be written. */
void write_ascend_databases(const char *from, const char *to, int rank, const database_shape *shape);
/* A trace of PyTorch on a GPU as the database of Nsight Systems at `to`: kernels, copies, sets, calls of the runtime,
 * and user annotations as ranges of NVTX; and at `text` as Kineto's trace of only that. */
void write_nsight_database(const char *trace, const char *to, const char *text);
/* Run statements of SQL on a database, made where there is none. */
void change_database(const char *path, const char *sql);

#endif
