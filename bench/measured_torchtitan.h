/* bench/measured_torchtitan.h - published runs of torchtitan (H100, H200), each as the TOML that was run, for the bench
 * and for tests. The table is read from the folder that EK_SHARED names and is not part of the project. */
#ifndef EK_BENCH_MEASURED_TORCHTITAN_H
#define EK_BENCH_MEASURED_TORCHTITAN_H

#include <stdbool.h>

#include "evenkeel/error.h"
#include "evenkeel/types.h"

typedef struct measured_torchtitan_row {
    char name[200];     /**< model, devices, degrees, recomputation, precision */
    char hardware[64];  /**< "H100 96GB HBM2e 500W" */
    char precision[64]; /**< as the table has it */
    char toml[2048];    /**< the file */
    int devices;
    double tokens_per_s_per_device;
    double mem_gib; /**< the largest reserved, GiB; 0: not printed */
    bool suspect;
} measured_torchtitan_row;

typedef struct measured_torchtitan_rows {
    int n;
    measured_torchtitan_row *row;
} measured_torchtitan_rows;

/**
 * Read the table.
 * @param shared  the folder; NULL or without the table: no rows
 * @return EK_OK, also with no rows; EK_ERR_INPUT, EK_ERR_MEMORY
 */
ek_status measured_torchtitan_read(const char *shared, measured_torchtitan_rows *out, ek_error *err);
void measured_torchtitan_clear(measured_torchtitan_rows *rows);

/** The row's TOML as a job. */
ek_status measured_torchtitan_job(const measured_torchtitan_row *row, ek_job *out, ek_error *err);

#endif
