/* Makes temporary files that are removed at the end of the process. A list has the name of each. Making a file and
 * adding its name are one step for a signal handler: the lock is held with all signals blocked, so a handler never
 * interrupts the thread that holds it, and waits for other threads at most a few system calls. A handler keeps the
 * lock, so that no file appears after it. Not handled: SIGKILL and a power failure. */
#define _GNU_SOURCE 1 /* NOLINT(bugprone-reserved-identifier): for mkostemp() */
#include "base/temporary.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"

/* The latest first, so that files come before the folder that they are in. */
typedef struct temporary {
    struct temporary *next;
    char path[];
} temporary;

static temporary *first;
static bool locked;

static void lock(sigset_t *before)
{
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, before);
    while (__atomic_test_and_set(&locked, __ATOMIC_ACQUIRE))
        poll(NULL, 0, 1);
}

static void unlock(const sigset_t *before)
{
    int why = errno;
    __atomic_clear(&locked, __ATOMIC_RELEASE);
    pthread_sigmask(SIG_SETMASK, before, NULL);
    errno = why;
}

/* Where the list refers to a file; its end when there is no such one. */
static temporary **find(const char *path)
{
    temporary **at = &first;
    while (*at && strcmp((*at)->path, path) != 0)
        at = &(*at)->next;
    return at;
}

static temporary *take_out(const char *path)
{
    temporary **at = find(path), *found = *at;
    if (found)
        *at = found->next;
    return found;
}

/* A file, or a folder where `fd` is NULL, and its name in the list. */
static ek_status make(char *pattern, int *fd, ek_error *err)
{
    size_t size = strlen(pattern) + 1;
    assert(size > 6 && strcmp(pattern + size - 7, "XXXXXX") == 0);
    sigset_t before;
    temporary *added = malloc(sizeof *added + size);
    if (!added)
        return ek__no_memory(err);
    lock(&before);
    int file = fd ? mkostemp(pattern, O_CLOEXEC) : -1;
    bool made = fd ? file >= 0 : mkdtemp(pattern) != NULL;
    if (made) {
        memcpy(added->path, pattern, size);
        added->next = first;
        first = added;
        added = NULL; /* it is the list's now */
    }
    unlock(&before);
    int why = errno;
    free(added);
    if (made && fd)
        *fd = file;
    if (made)
        return EK_OK;
    ek__set_error(err, EK_ERR_SYSTEM, EK__NOWHERE, "cannot make a temporary file: %s", strerror(why));
    errno = why;
    return EK_ERR_SYSTEM;
}

ek_status ek_temporary_open(char *pattern, int *fd, ek_error *err)
{
    return make(pattern, fd, err);
}

ek_status ek__temporary_folder(char *pattern, ek_error *err)
{
    return make(pattern, NULL, err);
}

static void remove_path(const char *path)
{
    if (unlink(path) != 0)
        rmdir(path);
}

void ek_temporary_remove(const char *path)
{
    sigset_t before;
    lock(&before);
    temporary *found = take_out(path);
    remove_path(path);
    unlock(&before);
    free(found);
}

bool ek__temporary_rename(const char *path, const char *to, bool stays)
{
    sigset_t before;
    size_t size = strlen(to) + 1;
    temporary *again = stays ? malloc(sizeof *again + size) : NULL;
    if (stays && !again)
        return false; /* with ENOMEM */
    lock(&before);
    assert(*find(path));
    bool fine = rename(path, to) == 0;
    temporary *found = fine ? take_out(path) : NULL;
    if (fine && again) {
        memcpy(again->path, to, size);
        again->next = first;
        first = again;
        again = NULL;
    }
    unlock(&before);
    free(found);
    free(again);
    return fine;
}

void ek_temporaries_remove(void)
{
    sigset_t unused;
    lock(&unused);
    for (const temporary *t = first; t; t = t->next)
        remove_path(t->path);
}
