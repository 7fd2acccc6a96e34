/* Replaces the linear programs in a build without CLP: no solver is available. Callers check ek__clp_present() first
 * and stop there; the other functions exist for the linker and change nothing. */
#include "base/clp.h"

#include <stddef.h>

bool ek__clp_present(void)
{
    return false;
}

void *ek__clp_new(bool scales)
{
    (void)scales;
    return NULL;
}

void ek__clp_free(void *model)
{
    (void)model;
}

void ek__clp_stop_when(void *model, bool (*over)(void *user), void *user, bool *no_memory)
{
    (void)model, (void)over, (void)user, (void)no_memory;
}

void ek__clp_load(void *model, int n_columns, int n_rows, const int *start, const int *index, const double *value,
                  const double *column_low, const double *column_high, const double *cost, const double *row_low,
                  const double *row_high, bool *no_memory)
{
    (void)model, (void)n_columns, (void)n_rows, (void)start, (void)index, (void)value, (void)column_low;
    (void)column_high, (void)cost, (void)row_low, (void)row_high, (void)no_memory;
}

void ek__clp_add_row(void *model, double low, double high, int n, const int *column, const double *value,
                     bool *no_memory)
{
    (void)model, (void)low, (void)high, (void)n, (void)column, (void)value, (void)no_memory;
}

void ek__clp_add_column(void *model, double high, int n, const int *row, const double *value, bool *no_memory)
{
    (void)model, (void)high, (void)n, (void)row, (void)value, (void)no_memory;
}

void ek__clp_delete_rows(void *model, int n, const int *which, bool *no_memory)
{
    (void)model, (void)n, (void)which, (void)no_memory;
}

void ek__clp_set_column_high(void *model, const double *high)
{
    (void)model, (void)high;
}

int ek__clp_dual(void *model, bool *no_memory)
{
    (void)model, (void)no_memory;
    return -1;
}

int ek__clp_primal(void *model, bool *no_memory)
{
    (void)model, (void)no_memory;
    return -1;
}

int ek__clp_n_rows(void *model)
{
    (void)model;
    return 0;
}

int ek__clp_n_columns(void *model)
{
    (void)model;
    return 0;
}

const double *ek__clp_columns(void *model)
{
    (void)model;
    return NULL;
}

const double *ek__clp_row_prices(void *model)
{
    (void)model;
    return NULL;
}

double *ek__clp_row_low(void *model)
{
    (void)model;
    return NULL;
}

double *ek__clp_row_high(void *model)
{
    (void)model;
    return NULL;
}

double *ek__clp_column_low(void *model)
{
    (void)model;
    return NULL;
}

double *ek__clp_column_high(void *model)
{
    (void)model;
    return NULL;
}

const int *ek__clp_starts(void *model)
{
    (void)model;
    return NULL;
}

const int *ek__clp_lengths(void *model)
{
    (void)model;
    return NULL;
}

const int *ek__clp_indices(void *model)
{
    (void)model;
    return NULL;
}

const double *ek__clp_elements(void *model)
{
    (void)model;
    return NULL;
}

bool ek__coin_run(void (*work)(void *user), void *user)
{
    (void)work, (void)user;
    return false;
}
