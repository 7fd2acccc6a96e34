/* evenkeel/save.h - writes files that appear whole or not at all, and temporary files that are removed however the
 * program ends.
 *
 * A file is written under another name in its folder, brought to the disk, and renamed. A reader finds the old file or
 * the new one, also after a crash of the machine. A symbolic link stays a link; its target is replaced. Non-regular
 * files (a pipe, a device) are written directly. Where there is a file already, the new one has its mode, owner and
 * group; hard links, access control lists and other attributes do not carry over.
 *
 * Unless stated otherwise, functions take O(1) and may be called from several threads at once, on the same object by
 * one thread at a time. */
#ifndef EVENKEEL_SAVE_H
#define EVENKEEL_SAVE_H

#include <stdbool.h>
#include <stdio.h>

#include "evenkeel/decls.h"
#include "evenkeel/error.h"

EK_BEGIN_DECLS

/** A file on its way. */
typedef struct ek_save ek_save;

/** Options of a new file. Zeroed: only its owner has access. */
typedef struct ek_save_options {
    unsigned mode;    /**< permission bits of a new file, without those of the umask; 0: 0600 */
    const char *like; /**< take mode, owner and group of this file; NULL: of the file that is replaced */
    bool temporary;   /**< it is one for ek_temporaries_remove() in its place, too, until ek_temporary_remove() */
    bool executable;  /**< for whoever may read it */
    bool keep_owner;  /**< fail where owner and group cannot be kept; else the bits that they were given are dropped */
} ek_save_options;

/**
 * Begin to write a file. Nothing changes at `path` before ek_save_finish(). A file that may not be written is not
 * replaced either, and a link to nothing is refused.
 *
 * @param options  NULL: zeroed
 * @return EK_OK, EK_ERR_SYSTEM with errno set, EK_ERR_MEMORY. Cost: some system calls.
 */
ek_status ek_save_begin(const char *path, const ek_save_options *options, ek_save **out, ek_error *err);
/** Where to write; not to be closed. */
FILE *ek_save_stream(const ek_save *save);
/**
 * Move the file to its place, and free `save`. An error leaves `path` unchanged.
 * @return EK_OK, EK_ERR_SYSTEM. O(bytes) until they are on the disk.
 */
ek_status ek_save_finish(ek_save *save, ek_error *err);
/** Leave `path` unchanged, remove the written data, and free `save`, which may be NULL. */
void ek_save_drop(ek_save *save);

/**
 * Make a temporary file, readable only by its owner, that ek_temporaries_remove() removes.
 * @param pattern  ends with XXXXXX, which becomes an unused name
 * @param fd       out: closed by exec()
 * @return EK_OK, EK_ERR_SYSTEM with errno set, EK_ERR_MEMORY. Cost: some system calls.
 */
ek_status ek_temporary_open(char *pattern, int *fd, ek_error *err);
/** Remove one by its name. */
void ek_temporary_remove(const char *path);
/**
 * Remove all temporary files of this process, those of files on their way too. For a signal handler before the process
 * ends: it is async-signal-safe, and no thread can make, rename or remove another one afterwards. The calling thread
 * has all signals blocked after it. O(their number).
 */
void ek_temporaries_remove(void);

EK_END_DECLS
#endif
