/* trace/partial/records.h - the members of an analysed rank, as data: the description for writing and reading.
 *
 * A new member of ek_trace_rank, or of a struct that it points to, is one line in records.c; a test finds bytes of a
 * record that no line names. */
#ifndef EK_TRACE_PARTIAL_RECORDS_H
#define EK_TRACE_PARTIAL_RECORDS_H

#include <stddef.h>
#include <stdint.h>

typedef enum ek__member_kind {
    EK__MEMBER_WHOLE, /**< a whole number of `size` bytes, with a sign where `least` is negative */
    EK__MEMBER_DOUBLE,
    EK__MEMBER_TEXT,   /**< const char *; `least` 1: never NULL */
    EK__MEMBER_RECORD, /**< `n` records of `of`, one after the other */
    EK__MEMBER_LIST,   /**< a pointer to records of `of`, as many as the member `count` of the same record */
    EK__MEMBER_LATER,  /**< filled by the comparison of ranks, or by the reader: unchanged */
} ek__member_kind;

struct ek__record_type;

typedef struct ek__record_member {
    const char *name;
    ek__member_kind kind;
    size_t offset, size; /**< size: of one; of a list: of the pointer */
    int n;               /**< number of members, one after the other */
    int64_t least, most; /**< of whole numbers: other values are not read */
    const struct ek__record_type *of;
    size_t count, count_size; /**< of a list: the member that counts it */
} ek__record_member;

typedef struct ek__record_type {
    const char *name;
    size_t size;
    int n_members;
    const ek__record_member *member; /**< by offset; lists after their counts, or before: counts are read first */
} ek__record_type;

/** ek_trace_rank. */
extern const ek__record_type ek__record_rank;
/** ek__derived. */
extern const ek__record_type ek__record_derived;
/** Data about the whole run in files: the topology and the rows of cluster tables of an ek_trace_run. */
extern const ek__record_type ek__record_run;
/** ek__rank_files. */
extern const ek__record_type ek__record_files;

/** A number that differs where records do: of names, kinds, sizes. O(members). */
uint32_t ek__records_number(void);

#endif
