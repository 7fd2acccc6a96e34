/* base/child.h - runs third-party code in a separate process: it can be ended at any moment, may crash, print and take
 * the process's signals, without effect on the caller's process. */
#ifndef EK_BASE_CHILD_H
#define EK_BASE_CHILD_H

#include <stdbool.h>
#include <stddef.h>

#include "evenkeel/error.h"

typedef enum ek__child_end {
    EK__CHILD_ANSWERED,
    EK__CHILD_STOPPED, /**< over() said so */
    EK__CHILD_CRASHED,
} ek__child_end;

/**
 * Run work(user, answer) in a copy of this process, and wait. The child's standard output and error go nowhere; it ends
 * with this process, and sees memory as it is now. The caller may have other threads where malloc() works in the child
 * of such a process: libc's does; those of AddressSanitizer and ThreadSanitizer may block until over().
 *
 * @param work    fills `answer`; false: treated as a crash
 * @param answer  of `size` bytes, zeros at first; unchanged unless the end is EK__CHILD_ANSWERED
 * @param over    called every few milliseconds; when true, the child is killed
 * @return EK_OK; EK_ERR_MEMORY, EK_ERR_SYSTEM when no process could be started. Costs a fork(), some milliseconds for
 * each GB that this process uses.
 */
ek_status ek__child_run(bool (*work)(void *user, void *answer), bool (*over)(void *user), void *user, void *answer,
                        size_t size, ek__child_end *end, ek_error *err);

/**
 * The first line that a program prints, without its end. It is started without fork(), whose handlers of libraries may
 * wait for memory that is lacking; its input and errors go nowhere, and it is killed once it has printed a line, or
 * after so many seconds.
 *
 * @param argv  its path, its arguments, NULL
 * @param line  out: empty where it cannot be started or printed none
 */
void ek__child_first_line(char *const argv[], double seconds, char *line, size_t size);

#endif
