/* base/clp.h - CLP's calls that take memory. It throws std::bad_alloc where there is none, which must not pass through
 * functions of C: here it becomes a flag, after which the program is only good to be deleted. `model` is CLP's own. */
#ifndef EK_BASE_CLP_H
#define EK_BASE_CLP_H

#include <stdbool.h>

/** A program without output and, unless `scales`, without scaling of its own; NULL when memory is out. */
void *ek__clp_new(bool scales);
void ek__clp_free(void *model);
/** End a simplex under way once over(user), asked in every iteration, says true: its status is 5 then. */
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
/** The simplex. @return as Clp_status(); -1 when memory is out */
int ek__clp_dual(void *model, bool *no_memory);
int ek__clp_primal(void *model, bool *no_memory);

/** Run work(user), which calls other libraries of COIN-OR. @return false when they had no memory; what they held then
 *  is lost. */
bool ek__coin_run(void (*work)(void *user), void *user);

#endif
