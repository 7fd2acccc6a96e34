/* report/fields_csv.h - writes tables of comma-separated values from the description of their figures. Unknown values
 * are empty. */
#ifndef EK_REPORT_FIELDS_CSV_H
#define EK_REPORT_FIELDS_CSV_H

#include <stdio.h>

#include "evenkeel/error.h"
#include "figures/figures.h"

/** Names of the columns separated by commas, without a line end. */
void ek__print_names_csv(const ek__column *column, int n, FILE *out);
/** A value. */
void ek__print_cell_csv(const ek__column *c, const void *record, const ek__owner *of, FILE *out);
/**
 * A table of a list of a result: the line of names, and a line for every entry.
 *
 * @return EK_OK, or EK_ERR_SYSTEM when `out` cannot be written. O(output).
 */
ek_status ek__write_csv(const ek__rows *rows, const void *result, FILE *out, ek_error *err);

#endif
