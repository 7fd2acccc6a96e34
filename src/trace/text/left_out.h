/* trace/text/left_out.h - rows of a table that could not be read: how many, and what was wrong with the first. */
#ifndef EK_TRACE_TABLES_LEFT_OUT_H
#define EK_TRACE_TABLES_LEFT_OUT_H

#include <stdint.h>

#include "trace/tables/files.h"

/** {0} is none. */
typedef struct ek__left_out {
    int64_t n;
    char first[200]; /**< "line 3: the size 'x' is no number"; printable ASCII */
} ek__left_out;

/** Count one; the text of the first is kept. */
void ek__left_out_add(ek__left_out *left, const char *format, ...) __attribute__((format(printf, 2, 3)));
/** Name a number's cell that could not be read, by its header: "line 3: Size(KB) 'x' is no number". */
void ek__left_out_cell(ek__left_out *left, int64_t line, const char *header, const char *cell);
/** Say in the source what was left out, if anything: "3 rows left out; the first: line 3: ...". `one` and `many` are
 * what is counted: "row", "rows". When reading ended early, `cut` (may be NULL) says where: source->problem takes that
 * too. EK_OK or EK_ERR_MEMORY. */
ek_status ek__left_out_report(const ek__left_out *left, const char *one, const char *many, const ek_error *cut,
                              const ek__table_in *in, ek_error *err);

#endif
