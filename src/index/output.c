/* Writes and reads all bytes at a place of a file, with error messages that name the file and the reason. */
#include "index/output.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "evenkeel/save.h"
#include "index/checks.h"

enum { ASIDE_IN_MEMORY = 1 << 20 };

ek_status ek__cannot_open(const char *path, const char *what, int why, ek_error *err)
{
    const char *advice = why == EMFILE ? "; one file a rank stays open, so raise `ulimit -n`" : "";
    return ek__fail(err, EK_ERR_SYSTEM, ((ek_origin){path, 0, 0}), "cannot %s: %s%s", what, strerror(why), advice);
}

ek_status ek__open_nameless(const char *folder, int *fd, ek_error *err)
{
    static const char pattern[] = "/.evenkeel-XXXXXX";
    size_t size = strlen(folder);
    char *path = ek__alloc(size + sizeof pattern, 1);
    if (!path)
        return ek__no_memory(err);
    memcpy(path, folder, size);
    memcpy(path + size, pattern, sizeof pattern);
    ek_status status = ek_temporary_open(path, fd, err);
    if (status == EK_ERR_SYSTEM)
        status = ek__cannot_open(folder, "make a temporary file there", errno, err);
    if (status == EK_OK)
        ek_temporary_remove(path);
    free(path);
    return status;
}

static ek_status cannot_write(const char *name, int why, ek_error *err)
{
    ek_origin origin = {name, 0, 0};
    const char *advice = why == ENOSPC || why == EDQUOT || why == EFBIG
                             ? "; make room there, or let the index go to another folder"
                             : "";
    return ek__fail(err, EK_ERR_SYSTEM, origin, "cannot write '%s': %s%s", name, strerror(why), advice);
}

ek_status ek__write_at(int fd, const char *name, const void *bytes, size_t n, uint64_t at, ek_error *err)
{
    const char *next = bytes;
    assert(fd >= 0);
    while (n > 0) {
        ssize_t written = pwrite(fd, next, n, (off_t)at);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return cannot_write(name, written < 0 ? errno : EIO, err);
        next += written;
        n -= (size_t)written;
        at += (uint64_t)written;
    }
    return EK_OK;
}

ek_status ek__read_at(int fd, const char *name, void *bytes, size_t n, uint64_t at, ek_error *err)
{
    char *next = bytes;
    ek_origin origin = {name, 0, 0};
    assert(fd >= 0);
    while (n > 0) {
        ssize_t got = pread(fd, next, n, (off_t)at);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return ek__fail(err, EK_ERR_SYSTEM, origin, "cannot read '%s' again: %s", name,
                            got < 0 ? strerror(errno) : "it ends too early");
        next += got;
        n -= (size_t)got;
        at += (uint64_t)got;
    }
    return EK_OK;
}

/* ---- checks of blocks ---- */

void ek__output_init(ek__output *output, int fd, const char *name, uint64_t first)
{
    *output = (ek__output){.fd = fd, .name = name, .first = first};
    pthread_mutex_init(&output->lock, NULL);
}

void ek__output_clear(ek__output *output)
{
    pthread_mutex_destroy(&output->lock);
    free(output->check);
    output->check = NULL;
}

/* Room for the checks of the given number of blocks, new ones are 0. */
static bool make_room(ek__output *output, size_t n)
{
    uint64_t *room = ek__with_room(output->check, &output->capacity, n, sizeof *room);
    if (!room)
        return false;
    output->check = room;
    if (n > output->n) {
        memset(room + output->n, 0, (n - output->n) * sizeof *room);
        output->n = n;
    }
    return true;
}

/* Add the contribution of n bytes at a place to the checks of their blocks. */
static void find_checks(const char *bytes, size_t n, uint64_t within, uint64_t *check)
{
    while (n > 0) {
        size_t rest = EK__CHECK_BYTES - (size_t)within, some = n < rest ? n : rest;
        *check++ = ek__check_of((size_t)within, bytes, some);
        bytes += some;
        n -= some;
        within = 0;
    }
}

static bool add_checks(ek__output *output, const uint64_t *check, size_t n, uint64_t block)
{
    pthread_mutex_lock(&output->lock);
    bool fine = block < SIZE_MAX - n && make_room(output, (size_t)block + n);
    for (size_t i = 0; fine && i < n; i++)
        output->check[block + i] += check[i];
    pthread_mutex_unlock(&output->lock);
    return fine;
}

ek_status ek__output_write(ek__output *output, const void *bytes, size_t n, uint64_t at, ek_error *err)
{
    enum { BLOCKS = 64 };
    uint64_t check[BLOCKS + 1] = {0};
    const char *next = bytes;
    ek_status status = EK_OK;
    assert(at >= output->first);
    while (n > 0 && status == EK_OK) {
        uint64_t place = at - output->first, within = place % EK__CHECK_BYTES;
        size_t some = n < (size_t)BLOCKS * EK__CHECK_BYTES ? n : (size_t)BLOCKS * EK__CHECK_BYTES;
        size_t n_checks = ((size_t)within + some + EK__CHECK_BYTES - 1) / EK__CHECK_BYTES;
        find_checks(next, some, within, check);
        if (!add_checks(output, check, n_checks, place / EK__CHECK_BYTES))
            return ek__no_memory(err);
        status = ek__write_at(output->fd, output->name, next, some, at, err);
        next += some;
        at += some;
        n -= some;
    }
    return status;
}

const uint64_t *ek__output_checks(ek__output *output, uint64_t end, size_t *n)
{
    uint64_t blocks = (end - output->first + EK__CHECK_BYTES - 1) / EK__CHECK_BYTES;
    assert(end >= output->first && blocks >= output->n);
    *n = (size_t)blocks;
    return make_room(output, (size_t)blocks + 1) ? output->check : NULL; /* for an empty file too */
}

/* ---- spooled bytes ---- */

void ek__aside_init(ek__aside *aside, const char *folder)
{
    *aside = (ek__aside){.folder = folder, .fd = -1};
}

void ek__aside_clear(ek__aside *aside)
{
    if (aside->fd >= 0)
        close(aside->fd);
    free(aside->bytes);
    *aside = (ek__aside){.fd = -1};
}

ek_status ek__aside_put(ek__aside *aside, const void *bytes, size_t n, ek_error *err)
{
    ek_status status = EK_OK;
    if (aside->n > ASIDE_IN_MEMORY) {
        if (aside->fd < 0)
            status = ek__open_nameless(aside->folder, &aside->fd, err);
        if (status == EK_OK)
            status = ek__write_at(aside->fd, aside->folder, aside->bytes, aside->n, aside->in_file, err);
        if (status != EK_OK)
            return status;
        aside->in_file += aside->n;
        aside->n = 0;
    }
    char *room = ek__with_room(aside->bytes, &aside->capacity, aside->n + n + 1, 1);
    if (!room)
        return ek__no_memory(err);
    aside->bytes = room;
    memcpy(room + aside->n, bytes, n);
    aside->n += n;
    assert(aside->n <= aside->capacity && (aside->in_file == 0) == (aside->fd < 0));
    return EK_OK;
}

ek_status ek__aside_copy(const ek__aside *aside, uint64_t from, uint64_t n, ek__output *output, uint64_t at,
                         ek_error *err)
{
    char buffer[16 << 10];
    ek_status status = EK_OK;
    assert(from <= ek__aside_size(aside) && n <= ek__aside_size(aside) - from);
    while (n > 0 && status == EK_OK && from < aside->in_file) {
        uint64_t left = aside->in_file - from, some = n < left ? n : left;
        some = some < sizeof buffer ? some : sizeof buffer;
        status = ek__read_at(aside->fd, aside->folder, buffer, (size_t)some, from, err);
        if (status == EK_OK)
            status = ek__output_write(output, buffer, (size_t)some, at, err);
        from += some;
        at += some;
        n -= some;
    }
    if (n > 0 && status == EK_OK)
        status = ek__output_write(output, aside->bytes + (from - aside->in_file), (size_t)n, at, err);
    return status;
}
