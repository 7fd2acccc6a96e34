/* dryrun/log.h - memory lines of dry-run logs, for whole logs and for lines that grep found in them. */
#ifndef EK_DRYRUN_LOG_H
#define EK_DRYRUN_LOG_H

#include "base/needles.h"
#include "evenkeel/collect.h"

/** The kind of a memory line; in the order of a log. */
typedef enum ek__memory_kind { EK__DEVICE, EK__FRAMEWORK, EK__USED, EK__ACTUAL, EK__N_MEMORY } ek__memory_kind;

/** A memory line. */
typedef struct ek__memory_line {
    ek__memory_kind kind;
    bool bare;        /**< "Actual peak memory usage: " without "(with fragments)" */
    double mb;        /**< NAN when it is no memory */
    int line, column; /**< of the value */
    char wrong[256];  /**< then the error */
} ek__memory_line;

/** The lines between two repetitions: the output of one run of the framework. */
typedef struct ek__peak_block {
    ek__memory_line at[EK__N_MEMORY];
    bool has[EK__N_MEMORY];
} ek__peak_block;

/** The block being read, and the last one with a peak. */
typedef struct ek__fold {
    ek__peak_block last, next;
} ek__fold;

/** Memory lines of one log accumulated in its last block. Starts as zeros. */
typedef struct ek__blocks {
    ek__fold all, full;  /**< `full` without the bare lines */
    bool with_fragments; /**< a line names it: then the ones without a name are of something else, and `full` counts */
} ek__blocks;

/** Needles of the memory lines. */
void ek__memory_needles(ek__needles *set);
/** Read the line of a hit. @return false when it is no memory line, its end is cut off, or it is a wrong one of device
 *  or framework, which are only shown. */
bool ek__memory_line_read(const ek__hit *hit, ek__memory_line *out);
void ek__blocks_add(ek__blocks *blocks, const ek__memory_line *line);
/** The peaks and sizes of the last block. @return EK_OK, or EK_ERR_INPUT at one of its peaks in `file`. */
ek_status ek__blocks_finish(const ek__blocks *blocks, const char *file, ek_log *out, ek_error *err);

/** ek_log_read() of an open file; `name` is for messages. */
ek_status ek__log_read_fd(int fd, const char *name, ek_log *out, ek_error *err);

#endif
