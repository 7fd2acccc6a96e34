/* base/print.h - prints names with any bytes, and reports output that could not be written. */
#ifndef EK_BASE_PRINT_H
#define EK_BASE_PRINT_H

#include <stdint.h>
#include <stdio.h>

#include "evenkeel/error.h"

/** Print one code point. */
void ek__utf8_print(uint32_t code, FILE *out);

/** Columns a terminal needs for a name; East Asian wide characters count two, invalid bytes one. */
int ek__columns(const char *text);
/** Columns that a terminal gives a character: 2 for wide ones, 0 for marks that combine with the one before. */
int ek__width(uint32_t code);

/** Print a name for a terminal or a comment: valid UTF-8, control characters as '?'. */
void ek__print_name(const char *text, FILE *out);

/** Print a text as a cell of comma-separated values, quoted where needed. */
void ek__print_csv(const char *text, FILE *out);

/** Flush, and turn any write error since `out` was opened into EK_ERR_SYSTEM. */
ek_status ek__finish(FILE *out, ek_error *err);

#endif
