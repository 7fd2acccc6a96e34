/* trace/text/left_out.h - rows of a table that could not be read: their number, and the error of the first. */
#ifndef EK_TRACE_TABLES_LEFT_OUT_H
#define EK_TRACE_TABLES_LEFT_OUT_H

#include <stdint.h>

#include "trace/tables/files.h"

/** {0} is none. */
typedef struct ek__left_out {
    int64_t n;
    char first[200]; /**< "line 3: the size 'x' is no number"; printable ASCII */
} ek__left_out;

/** Count one; the text of the first is stored. */
void ek__left_out_add(ek__left_out *left, const char *format, ...) __attribute__((format(printf, 2, 3)));
/** Name a number's cell that could not be read, by its header: "line 3: Size(KB) 'x' is no number". */
void ek__left_out_cell(ek__left_out *left, int64_t line, const char *header, const char *cell);
/** Report in the source the rows left out, if any: "3 rows left out; the first: line 3: ...". `one` and `many` are the
 * words for the counted items: "row", "rows". When reading ended early, `cut` (may be NULL) gives the place:
 * source->problem includes that too. EK_OK or EK_ERR_MEMORY. */
ek_status ek__left_out_report(const ek__left_out *left, const char *one, const char *many, const ek_error *cut,
                              const ek__table_in *in, ek_error *err);

#endif
