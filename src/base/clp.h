/* base/clp.h - linear programs, by CLP. It throws std::bad_alloc where there is no memory, which must not pass through
 * functions of C: here it becomes a flag, after which the program can only be deleted. `model` is CLP's own. */
#ifndef EK_BASE_CLP_H
#define EK_BASE_CLP_H

#include <stdbool.h>

/** Is CLP part of this build? Without it no program is made: nothing else here may be called. */
bool ek__clp_present(void);

/** A program without output and, unless `scales`, without CLP's scaling; NULL when memory is out. */
void *ek__clp_new(bool scales);
void ek__clp_free(void *model);
/** End a running simplex once over(user), called in every iteration, returns true: its status is then 5. */
void ek__clp_stop_when(void *model, bool (*over)(void *user), void *user, bool *no_memory);

/* As the functions of CLP that they are called after. Nothing is done once *no_memory is set; they set it. */
void ek__clp_load(void *model, int n_columns, int n_rows, const int *start, const int *index, const double *value,
                  const double *column_low, const double *column_high, const double *cost, const double *row_low,
                  const double *row_high, bool *no_memory);
/** One row, one column, of `n` elements. */
void ek__clp_add_row(void *model, double low, double high, int n, const int *column, const double *value,
                     bool *no_memory);
void ek__clp_add_column(void *model, double high, int n, const int *row, const double *value, bool *no_memory);
void ek__clp_delete_rows(void *model, int n, const int *which, bool *no_memory);
/** The highest values of all columns, [columns]. */
void ek__clp_set_column_high(void *model, const double *high);
/** The simplex. @return as Clp_status(); -1 when memory is out */
int ek__clp_dual(void *model, bool *no_memory);
int ek__clp_primal(void *model, bool *no_memory);

int ek__clp_n_rows(void *model);
int ek__clp_n_columns(void *model);
/** Of the last simplex: values of the columns, and prices of the rows. */
const double *ek__clp_columns(void *model);
const double *ek__clp_row_prices(void *model);
/** Limits, which may be written to between two runs of the simplex. */
double *ek__clp_row_low(void *model);
double *ek__clp_row_high(void *model);
double *ek__clp_column_low(void *model);
double *ek__clp_column_high(void *model);
/** The matrix by columns: elements of column k are start[k] to start[k] + length[k], with their rows. */
const int *ek__clp_starts(void *model);
const int *ek__clp_lengths(void *model);
const int *ek__clp_indices(void *model);
const double *ek__clp_elements(void *model);

/** Run work(user), which calls other libraries of COIN-OR. @return false when they had no memory; their memory is then
 *  leaked. */
bool ek__coin_run(void (*work)(void *user), void *user);

#endif
