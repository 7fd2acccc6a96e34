/* Reads and verifies bytes of an index file, and keeps the names in memory. Every read is of whole blocks, and each
 * block is compared with its check at every read, in the buffer it was read into. So changed bytes are detected even if
 * the file is modified or truncated while it is open. A check of 4 KB takes less than half a microsecond. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "index/checks.h"
#include "index/opened.h"

static ek_status damaged(const ek__index_opened *file, uint64_t at, ek_error *err)
{
    return ek__fail(err, EK_ERR_SYSTEM, ((ek_origin){file->trace, 0, 0}),
                    "its index is damaged at byte %llu; let it be written again (evenkeel view --serve --fresh)",
                    (unsigned long long)at);
}

/* Blocks [block, block + n), which must exist. */
static ek_status read_blocks(const ek__index_opened *file, uint64_t block, size_t n, char *out, ek_error *err)
{
    uint64_t at = sizeof(ek__index_header) + block * EK__CHECK_BYTES;
    for (size_t got = 0, size = n * EK__CHECK_BYTES; got < size;) {
        ssize_t some = pread(file->fd, out + got, size - got, (off_t)(at + got));
        if (some < 0 && errno == EINTR)
            continue;
        if (some <= 0)
            return ek__fail(err, EK_ERR_SYSTEM, ((ek_origin){file->trace, 0, 0}), "its index cannot be read: %s",
                            some < 0 ? strerror(errno) : "the file has become shorter");
        got += (size_t)some;
    }
    for (size_t i = 0; i < n; i++)
        if (ek__check_of(0, out + i * EK__CHECK_BYTES, EK__CHECK_BYTES) != file->check[block + i])
            return damaged(file, at + i * EK__CHECK_BYTES, err);
    return EK_OK;
}

/* A read that begins or ends within a block goes through a buffer, which fits most reads; whole blocks are read
 * directly. */
ek_status ek__index_read_bytes(const ek__index_opened *file, uint64_t at, void *out, size_t n, ek_error *err)
{
    enum { FEW = 3 };
    char few[FEW * EK__CHECK_BYTES], *to = out;
    if (at < sizeof(ek__index_header) || at > file->header.checks.at || n > file->header.checks.at - at)
        return damaged(file, at, err);
    at -= sizeof(ek__index_header);
    while (n > 0) {
        uint64_t block = at / EK__CHECK_BYTES;
        size_t within = (size_t)(at % EK__CHECK_BYTES), n_blocks = (within + n + EK__CHECK_BYTES - 1) / EK__CHECK_BYTES;
        bool direct = within == 0 && n >= sizeof few;
        n_blocks = direct ? n / EK__CHECK_BYTES : n_blocks < FEW ? n_blocks : FEW;
        ek_status status = read_blocks(file, block, n_blocks, direct ? to : few, err);
        if (status != EK_OK)
            return status;
        size_t got = n_blocks * EK__CHECK_BYTES - within, some = got < n ? got : n;
        if (!direct)
            memcpy(to, few + within, some);
        to += some;
        at += some;
        n -= some;
    }
    return EK_OK;
}

/* ---- names ---- */

void ek__index_names_free(ek__index_names_read *names)
{
    if (names)
        free(names->name);
    free(names);
}

/* Names, and the texts that follow them up to the last section: one read. */
static ek_status read_names(const ek__index_opened *file, ek__index_names_read **out, ek_error *err)
{
    const ek__index_section *names = &file->header.names, *texts = &file->header.texts;
    size_t n = (size_t)(texts->at - names->at), size = n + (size_t)texts->n;
    ek__index_names_read *own = ek__alloc(1, sizeof *own);
    char *bytes = own ? malloc(size + 1) : NULL;
    ek_status status = bytes ? ek__index_read_bytes(file, names->at, bytes, size, err) : ek__no_memory(err);
    if (status != EK_OK) {
        free(bytes);
        free(own);
        return status;
    }
    *own = (ek__index_names_read){(void *)bytes, bytes + n};
    *out = own;
    return EK_OK;
}

/* Two threads may read them at the same time; those of the first are kept. */
ek_status ek__index_names_of(const ek__index_opened *file, const ek__index_names_read **out, ek_error *err)
{
    ek__index_names_read *kept = __atomic_load_n(file->names, __ATOMIC_ACQUIRE), *own = NULL;
    if (!kept) {
        ek_status status = read_names(file, &own, err);
        if (status != EK_OK)
            return status;
        if (__atomic_compare_exchange_n(file->names, &kept, own, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
            kept = own;
        else
            ek__index_names_free(own);
    }
    *out = kept;
    return EK_OK;
}
