/* cost/columns.h - the columns of a table of measurements by name. */
#ifndef EK_COST_COLUMNS_H
#define EK_COST_COLUMNS_H

#include "trace/text/csv.h"

/* Where each of the names (NULL at the end) stands, in any order. A column of another name, one that comes twice or one
 * that is missing is EK_ERR_INPUT in line 1, since a measurement that is read in part would be trusted as a whole. */
ek_status ek__csv_columns(const ek__csv *csv, const char *path, const char *const *names, int *at, ek_error *err);

#endif
