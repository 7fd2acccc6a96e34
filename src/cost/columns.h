/* cost/columns.h - finds the columns of a table of measurements by name. */
#ifndef EK_COST_COLUMNS_H
#define EK_COST_COLUMNS_H

#include "trace/text/csv.h"

/* The column of each of the names (NULL at the end), in any order. An unknown, repeated or missing column is
 * EK_ERR_INPUT in line 1, since a measurement that is read in part would be trusted as a whole. */
ek_status ek__csv_columns(const ek__csv *csv, const char *path, const char *const *names, int *at, ek_error *err);

#endif
