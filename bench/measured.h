/* bench/measured.h - published figures of memory, each with the job that was run, for the bench and for tests. They are
 * read from the folder that EK_SHARED names (reference/measured, reference/configs) and are not part of the project;
 * without the folder there are none. */
#ifndef EK_BENCH_MEASURED_H
#define EK_BENCH_MEASURED_H

#include "evenkeel/job.h"

/** The kind of model or sequence of a row. */
typedef enum measured_kind { MEASURED_DENSE, MEASURED_EXPERTS, MEASURED_LONG, MEASURED_N_KINDS } measured_kind;
/** Where a row is from: its table. */
typedef enum measured_table {
    MEASURED_SAPP,      /**< Llama-175B dry run, 16 stages */
    MEASURED_PAIRS,     /**< dry run against real run, Qwen2.5-7B */
    MEASURED_SIMUMAX,   /**< Megatron on B200 */
    MEASURED_GALVATRON, /**< Llama2-7B, 1 to 4 layers */
    MEASURED_N_TABLES
} measured_table;

typedef struct measured_row {
    char name[160];
    measured_table table;
    measured_kind kind;
    ek_job job;
    int stage;   /**< -1: the fullest one */
    bool actual; /**< with fragments; else live bytes */
    double mb;
} measured_row;

typedef struct measured_rows {
    int n;
    measured_row *row;
} measured_rows;

/**
 * Read them all, jobs made and checked.
 * @param shared  the folder; NULL or absent: no rows
 * @return EK_OK, also with no rows; else a reader's error
 */
ek_status measured_read(const char *shared, measured_rows *out, ek_error *err);
void measured_clear(measured_rows *rows);

/** The prediction for a row, in MB. */
double measured_predicted(const measured_row *row, const ek_memory *memory);

#endif
