/* base/clp.h - CLP's calls that take memory. It throws std::bad_alloc where there is none, which must not pass through
 * functions of C: here it becomes a flag, after which the program is only good to be deleted. */
#ifndef EK_BASE_CLP_H
#define EK_BASE_CLP_H

#include <Clp_C_Interface.h>
#include <stdbool.h>

/** A program without output and, unless `scales`, without scaling of its own; NULL when memory is out. */
Clp_Simplex *ek__clp_new(bool scales);
void ek__clp_free(Clp_Simplex *model);

/* As the functions of CLP that they are called after. Nothing is done once *no_memory is set; they set it. */
void ek__clp_load(Clp_Simplex *model, int n_columns, int n_rows, const CoinBigIndex *start, const int *index,
                  const double *value, const double *column_low, const double *column_high, const double *cost,
                  const double *row_low, const double *row_high, bool *no_memory);
/** One row, one column, of `n` elements. */
void ek__clp_add_row(Clp_Simplex *model, double low, double high, int n, const int *column, const double *value,
                     bool *no_memory);
void ek__clp_add_column(Clp_Simplex *model, double high, int n, const int *row, const double *value, bool *no_memory);
void ek__clp_delete_rows(Clp_Simplex *model, int n, const int *which, bool *no_memory);
/** The simplex. @return as Clp_status(); -1 when memory is out */
int ek__clp_dual(Clp_Simplex *model, bool *no_memory);
int ek__clp_primal(Clp_Simplex *model, bool *no_memory);

/** Run work(user), which calls other libraries of COIN-OR. @return false when they had no memory; what they held then
 *  is lost. */
bool ek__coin_run(void (*work)(void *user), void *user);

#endif
