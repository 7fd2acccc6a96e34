/* trace/scan/ordered.h - processes blocks of a feed by several threads and merges them in the order of the file.
 *
 * Each thread takes the next block and turns it into a part on its own; parts are merged one at a time in the order of
 * the file, so that the result does not depend on the threads. */
#ifndef EK_TRACE_SCAN_ORDERED_H
#define EK_TRACE_SCAN_ORDERED_H

#include "trace/scan/scan.h"
#include "trace/trace.h"

typedef struct ek__ordered {
    ek__feed *feed;
    int n_threads;
    size_t part_size; /**< of a part, which is all zeros at first */
    void *user;
    /** Turn a block into a part, which may reuse an earlier one's memory. Called from any thread. */
    void (*fill)(void *user, void *part, const ek__block *block);
    /** Merge a part; called in the order of the file, never concurrently. @return false to stop reading: parts that are
     *  done already are still merged. */
    bool (*merge)(void *user, void *part);
    void (*clear)(void *part);
    /** Called before every block, never concurrently. @return false to stop reading */
    bool (*go_on)(void *user);
} ek__ordered;

/** Read to the end of the feed, or until stopped. @return false when memory is out. */
bool ek__read_in_order(const ek__ordered *how);

#endif
