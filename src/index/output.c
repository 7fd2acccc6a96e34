/* Writing and reading at places of files, to the last byte, with messages that say which file and why. */
#include "index/output.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "evenkeel/save.h"

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

/* ---- put aside ---- */

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

ek_status ek__aside_copy(const ek__aside *aside, uint64_t from, uint64_t n, int fd, const char *name, uint64_t at,
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
            status = ek__write_at(fd, name, buffer, (size_t)some, at, err);
        from += some;
        at += some;
        n -= some;
    }
    if (n > 0 && status == EK_OK)
        status = ek__write_at(fd, name, aside->bytes + (from - aside->in_file), (size_t)n, at, err);
    return status;
}
