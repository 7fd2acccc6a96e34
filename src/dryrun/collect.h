/* dryrun/collect.h - helpers for finding logs in folders and in listings. */
#ifndef EK_DRYRUN_COLLECT_H
#define EK_DRYRUN_COLLECT_H

#include "evenkeel/collect.h"

enum {
    EK__MAX_LOGS = 4096,        /**< of a round */
    EK__MAX_RANK = 1 << 30,     /**< far beyond any cluster */
    EK__NO_STAGE = -1,          /**< derived from the ranks of the others */
    EK__MAX_LOG_STAGE = 999999, /**< largest number that a name may contain; the existing stages are checked later */
};

/** The information in the name of a file or folder. */
typedef enum ek__log_name {
    EK__NAME_OTHER,
    EK__NAME_STAGE_FOLDER, /**< stage_3_rank_3072, stage3_3072 */
    EK__NAME_RANK_FILE,    /**< rank_3072.log; the stage is EK__NO_STAGE */
} ek__log_name;

/** Read a name of `n` bytes. */
ek__log_name ek__log_name_read(const char *name, size_t n, int *stage, int *rank);

/** The logs found so far. */
typedef struct ek__logs {
    size_t n, room;
    ek_stage_log *log; /**< [n] in the order found; EK__NO_STAGE where only the rank is known */
} ek__logs;

void ek__logs_clear(ek__logs *logs);
/** Add a log without memory; `path` is copied. `source` is for messages. */
ek_status ek__logs_add(ek__logs *logs, const char *source, int stage, int rank, const char *path, ek_error *err);

/** Find the logs below a folder and read them. */
ek_status ek__folder_read(const char *path, const ek_listener *listener, ek__logs *logs, ek_error *err);
/** Read a listing from an open file. */
ek_status ek__listing_read(int fd, const char *name, ek__logs *logs, ek_error *err);

#endif
