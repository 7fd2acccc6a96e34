/* index/output.h - output files: unnamed temporary files, bytes written at a place with checks of their blocks, and
 * streams of unknown length. */
#ifndef EK_INDEX_OUTPUT_H
#define EK_INDEX_OUTPUT_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/** "cannot WHAT: why", with advice when too many files are open. @return EK_ERR_SYSTEM */
ek_status ek__cannot_open(const char *path, const char *what, int why, ek_error *err);
/** An unnamed file in a folder: it is deleted when it is closed. @return EK_OK, EK_ERR_SYSTEM. */
ek_status ek__open_nameless(const char *folder, int *fd, ek_error *err);
/** All bytes at a place of a file; `name` is for the message. Thread-safe. @return EK_OK, EK_ERR_SYSTEM. */
ek_status ek__write_at(int fd, const char *name, const void *bytes, size_t n, uint64_t at, ek_error *err);
ek_status ek__read_at(int fd, const char *name, void *bytes, size_t n, uint64_t at, ek_error *err);

/** A file that several threads write at any place, and the checks of its blocks (checks.h). Unwritten bytes are 0.
 */
typedef struct ek__output {
    int fd;
    const char *name; /**< for messages */
    uint64_t first;   /**< byte of the file where blocks begin */
    pthread_mutex_t lock;
    size_t n, capacity;
    uint64_t *check; /**< [n] */
} ek__output;

void ek__output_init(ek__output *output, int fd, const char *name, uint64_t first);
void ek__output_clear(ek__output *output);
/** Write bytes at or after `first`, each once. Thread-safe. @return EK_OK, EK_ERR_SYSTEM, EK_ERR_MEMORY. */
ek_status ek__output_write(ek__output *output, const void *bytes, size_t n, uint64_t at, ek_error *err);

/** The checks of all blocks up to byte `end` of the file, written after the last block. NULL: out of memory. */
const uint64_t *ek__output_checks(ek__output *output, uint64_t end, size_t *n);

/** Bytes spooled until their place in the file is known: in memory up to a bound, then in a file without a
 *  name. */
typedef struct ek__aside {
    const char *folder;
    int fd;           /**< -1: none yet */
    uint64_t in_file; /**< bytes there */
    size_t n, capacity;
    char *bytes; /**< [n] the bytes after them */
} ek__aside;

void ek__aside_init(ek__aside *aside, const char *folder);
void ek__aside_clear(ek__aside *aside);
static inline uint64_t ek__aside_size(const ek__aside *aside)
{
    return aside->in_file + aside->n;
}
ek_status ek__aside_put(ek__aside *aside, const void *bytes, size_t n, ek_error *err);
/** Copy n bytes from `from` on, which were spooled, to a place of a file. */
ek_status ek__aside_copy(const ek__aside *aside, uint64_t from, uint64_t n, ek__output *output, uint64_t at,
                         ek_error *err);

#endif
