/* base/needles.h - finds any of several short texts, and their lines, in streams of any length. */
#ifndef EK_BASE_NEEDLES_H
#define EK_BASE_NEEDLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "evenkeel/error.h"

enum {
    EK__MAX_NEEDLES = 16,
    EK__HIT_BEFORE = 8192, /**< bytes of the line before a needle that a hit shows */
    EK__HIT_AFTER = 1024,  /**< bytes from the needle on */
};

/** Texts to search for. Immutable once made; threads may share it. */
typedef struct ek__needles {
    int n, shortest;
    const char *const *text; /**< [n], borrowed */
    unsigned char length[EK__MAX_NEEDLES];
    unsigned char skip[1 << 16]; /**< step of the window, by the last two bytes under the shortest needle's length */
} ek__needles;

/** @param text  [n <= EK__MAX_NEEDLES] of 2..255 bytes each */
void ek__needles_init(ek__needles *set, const char *const *text, int n);

/**
 * The first place at or after `from` where a needle begins.
 * @param which  the needle, the first in the table of those that begin there; may be NULL
 * @return its offset, or `n` when there is none. O(n / shortest) in the usual case, O(n needles) at worst.
 */
size_t ek__needles_find(const ek__needles *set, const unsigned char *bytes, size_t n, size_t from, int *which);

/** A needle in its line. Pointers are good for the call only. */
typedef struct ek__hit {
    int needle;
    int line, column;           /**< of the needle, from 1, in bytes; at most INT_MAX - EK__HIT_AFTER */
    const unsigned char *start; /**< of the line, or EK__HIT_BEFORE before the needle when the line begins earlier */
    const unsigned char *at;    /**< the needle */
    const unsigned char *end;   /**< of the line without its line feed, or EK__HIT_AFTER after `at` */
    bool from_start;            /**< `start` is the start of the line */
    bool cut;                   /**< the bytes end after `end`, without a line feed */
} ek__hit;

typedef void ek__hit_handler(void *user, const ek__hit *hit);

/** A search through bytes that come piece by piece; hits do not depend on how they were cut. Bounded memory. */
typedef struct ek__scan {
    const ek__needles *set;
    ek__hit_handler *handle;
    void *user;
    size_t n;             /**< bytes held */
    size_t next;          /**< first of them that was not searched yet */
    size_t counted;       /**< first of them that is not in `line` yet */
    uint64_t line;        /**< line feeds before `counted` */
    uint64_t base;        /**< bytes dropped so far */
    uint64_t line_start;  /**< of the line that `counted` is in, from the first byte of all */
    unsigned char *bytes; /**< NULL until the first ones came */
} ek__scan;

/** Take bytes. @return EK_OK or EK_ERR_MEMORY. */
ek_status ek__scan_feed(ek__scan *scan, const unsigned char *bytes, size_t n, ek_error *err);
/** Read a file from its current position to its end. @return EK_OK, EK_ERR_SYSTEM naming `name`, EK_ERR_MEMORY. */
ek_status ek__scan_file(ek__scan *scan, int fd, const char *name, ek_error *err);
/** End of the stream: report the last hits. The last EK__HIT_BEFORE bytes stay in scan->bytes, up to scan->n. */
void ek__scan_finish(ek__scan *scan);
void ek__scan_clear(ek__scan *scan);

#endif
