/* index/finish.h - writes the index file from the gathered records. */
#ifndef EK_INDEX_FINISH_H
#define EK_INDEX_FINISH_H

#include "index/rows.h"
#include "index/write.h"

/** Header fields that do not come from the records. */
typedef struct ek__index_finish {
    const ek__index_store *store;
    const ek__trace *trace;
    const char *path, *folder;       /**< for messages; of temporary files */
    const struct ek__gunzip *gunzip; /**< of a compressed trace, with spots; NULL for others */
    int fd, n_threads;               /**< n_threads: 1 or more */
    size_t bound;                    /**< bytes of records in memory */
    ek__index_header *header;        /**< in: the fields about the trace; out: its sections too */
    const ek_interrupt *interrupt;
    /** Called with a share of 0 to 1, never concurrently; may be NULL. */
    void (*progress)(void *user, double share);
    void *user;
} ek__index_finish;

/** Write all of the file; the sorts are finished. @return EK_OK, EK_ERR_SYSTEM, EK_ERR_MEMORY. O(n log runs). */
ek_status ek__index_finish_file(const ek__index_finish *how, ek_error *err);

#endif
