/* index_view.h - reads an index file by its structs and checks the invariants of format.h. It does not depend on the
 * writer. */
#ifndef TESTS_UNIT_INDEX_VIEW_H
#define TESTS_UNIT_INDEX_VIEW_H

#include <stdbool.h>
#include <stddef.h>

#include "index/format.h"

typedef struct index_view {
    const char *bytes;
    size_t size;
    const ek__index_header *header;
    const ek__index_row *row;
    const ek__index_chunk *chunk;
    const ek__index_sum *group;
    const ek__index_track *track;
    const ek__index_arrow *from, *to;
    const ek__index_counter *counter;
    const ek__index_point *point;
    const ek__index_range *range;
    const ek__index_name *name;
    const ek__index_spot *spot;
    const char *texts;
} index_view;

/* Look at a file's bytes, 8-byte aligned and borrowed. NULL, or the error in its header and sections. */
const char *index_view_open(index_view *view, const void *bytes, size_t size);
/* Check every sum, order and number. NULL, or the violated invariant with some of its numbers. */
const char *index_view_check(const index_view *view);
/* An event of a row; its number must be there. */
const ek__index_event *index_view_event(const index_view *view, const ek__index_row *row, uint64_t i);
bool index_view_text_is(const index_view *view, ek__index_text text, const char *what);

#endif
