/* Reads an indexed trace: the text of one event, or the whole trace. Plain traces are read at the event's position;
 * compressed ones are inflated from the nearest earlier place with a 32 KB window in the index; for databases and
 * tables the text is generated again up to that position. The result must begin like an event, and the trace must have
 * the size and modification time that it had when it was indexed. */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <zlib.h>

#include "index/opened.h"
#include "trace/scan/made.h"

enum {
    WINDOW = 32768,
    KEPT_WINDOW = WINDOW + 64 /* compressBound(WINDOW) */,
    INPUT = 65536,
    SKIPPED = 65536,
    GZIP_TRAILER = 8
};

static ek_status changed(const ek__index_opened *file, ek_error *err)
{
    return ek__fail(err, EK_ERR_SYSTEM, ((ek_origin){file->trace, 0, 0}),
                    "the trace has changed since it was indexed; open it again, and it is indexed anew");
}

/* The trace, if it is unchanged since it was indexed. */
static ek_status open_trace(const ek__index_opened *file, int *fd, ek_error *err)
{
    int64_t size, time;
    *fd = open(file->trace, O_RDONLY | O_CLOEXEC);
    if (*fd < 0)
        return ek__fail(err, EK_ERR_SYSTEM, ((ek_origin){file->trace, 0, 0}),
                        "the trace cannot be opened: %s; events have no arguments without it", strerror(errno));
    if (ek__index_trace_state(*fd, file->trace, &size, &time) && size == file->header.trace_size &&
        time == file->header.trace_changed)
        return EK_OK;
    close(*fd);
    return changed(file, err);
}

/* The available bytes, up to n. @return -1 on an error. */
static ssize_t read_some(int fd, void *out, size_t n, uint64_t at)
{
    size_t got = 0;
    while (got < n) {
        ssize_t some = pread(fd, (char *)out + got, n - got, (off_t)(at + got));
        if (some < 0 && errno == EINTR)
            continue;
        if (some < 0)
            return -1;
        if (some == 0)
            break;
        got += (size_t)some;
    }
    return (ssize_t)got;
}

/* ---- compressed ---- */

typedef struct inflating {
    const ek__index_opened *file;
    int fd;
    uint64_t in;      /* of the compressed file: the next byte to read */
    bool raw;         /* without a header of gzip, from a spot on */
    ek_status status; /* of reading the index */
    ek_error *err;
    z_stream z;
    unsigned char input[INPUT];
} inflating;

/* The last spot at or before a place; NULL without one. */
static const ek__index_spot *find_spot(const ek__index_opened *file, uint64_t place)
{
    uint64_t low = 0, high = file->header.spots.n;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (file->spot[middle].out <= place)
            low = middle + 1;
        else
            high = middle;
    }
    assert(low <= file->header.spots.n);
    return low > 0 ? &file->spot[low - 1] : NULL;
}

/* Begin at a spot: its window, and the bits of the byte before. */
static bool begin_at(inflating *s, const ek__index_spot *spot)
{
    unsigned char window[WINDOW], kept[KEPT_WINDOW], before = 0;
    uLongf n = WINDOW;
    if (spot->window_size > sizeof kept || spot->bits > 7 || spot->in > INT64_MAX || (spot->bits > 0 && spot->in == 0))
        return false;
    if (spot->window_size > 0)
        s->status = ek__index_read_bytes(s->file, spot->window, kept, spot->window_size, s->err);
    if (s->status != EK_OK)
        return false;
    if (spot->window_size == 0)
        n = 0;
    else if (uncompress(window, &n, kept, spot->window_size) != Z_OK)
        return false;
    if (inflateInit2(&s->z, -MAX_WBITS) != Z_OK)
        return false;
    if (spot->bits > 0 && (read_some(s->fd, &before, 1, spot->in - 1) != 1 ||
                           inflatePrime(&s->z, (int)spot->bits, before >> (8 - spot->bits)) != Z_OK))
        return false;
    if (n > 0 && inflateSetDictionary(&s->z, window, (uInt)n) != Z_OK)
        return false;
    s->in = spot->in;
    s->raw = true;
    return true;
}

static bool refill(inflating *s)
{
    if (s->z.avail_in > 0)
        return true;
    ssize_t got = read_some(s->fd, s->input, sizeof s->input, s->in);
    if (got <= 0)
        return false;
    assert((size_t)got <= sizeof s->input);
    s->in += (uint64_t)got;
    s->z.next_in = s->input;
    s->z.avail_in = (uInt)got;
    return true;
}

/* Another stream may follow the end of one, as in `cat a.gz b.gz`. */
static bool begin_next(inflating *s)
{
    for (int i = 0; s->raw && i < GZIP_TRAILER; i++) {
        if (!refill(s))
            return false;
        s->z.next_in++;
        s->z.avail_in--;
    }
    s->raw = false;
    return refill(s) && inflateReset2(&s->z, MAX_WBITS + 16) == Z_OK;
}

/* Exactly n bytes, or false. n: at most as many as zlib can inflate at once. */
static bool read_bytes(inflating *s, void *out, size_t n)
{
    assert(n <= UINT_MAX);
    s->z.next_out = out;
    s->z.avail_out = (uInt)n;
    while (s->z.avail_out > 0) {
        if (!refill(s))
            return false;
        int result = inflate(&s->z, Z_NO_FLUSH);
        if (result == Z_STREAM_END ? !begin_next(s) && s->z.avail_out > 0 : result != Z_OK)
            return false;
    }
    return true;
}

static bool inflate_from(inflating *s, uint64_t place, char *out, size_t n)
{
    unsigned char skipped[SKIPPED];
    const ek__index_spot *at = find_spot(s->file, place);
    ek__index_spot spot = at ? *at : (ek__index_spot){0};
    s->z = (z_stream){0};
    bool begun =
        at && (spot.out > 0 || spot.window_size > 0) ? begin_at(s, &spot) : inflateInit2(&s->z, MAX_WBITS + 16) == Z_OK;
    uint64_t rest = !s->raw ? place : spot.out <= place ? place - spot.out : 0;
    while (begun && rest > 0) {
        size_t some = rest < SKIPPED ? (size_t)rest : SKIPPED;
        assert(some >= 1 && some <= rest);
        begun = read_bytes(s, skipped, some);
        rest -= some;
    }
    bool fine = begun && read_bytes(s, out, n);
    inflateEnd(&s->z);
    return fine;
}

static ek_status read_compressed(const ek__index_opened *file, int fd, uint64_t place, char *out, size_t n,
                                 ek_error *err)
{
    inflating *s = malloc(sizeof *s);
    if (!s)
        return ek__no_memory(err);
    s->file = file;
    s->fd = fd;
    s->in = 0;
    s->raw = false;
    s->status = EK_OK;
    s->err = err;
    bool fine = inflate_from(s, place, out, n);
    ek_status status = s->status;
    free(s);
    return fine || status != EK_OK ? status : changed(file, err);
}

/* ---- generated text ---- */

static ek_status read_made(const ek__index_opened *file, uint64_t place, char *out, size_t n, ek_error *err)
{
    char skipped[4096];
    ek__made *made;
    ek_status status = ek__made_open(file->trace, &made, err);
    if (status != EK_OK)
        return status;
    size_t some = 1, got = 0;
    while (place > 0 && some > 0) {
        some = ek__made_read(made, skipped, place < sizeof skipped ? (size_t)place : sizeof skipped);
        place -= some;
    }
    if (place == 0)
        got = ek__made_read(made, out, n);
    status = ek__made_out_of_memory(made) ? ek__no_memory(err) : got == n ? EK_OK : changed(file, err);
    ek__made_close(made);
    return status;
}

/* ---- all ---- */

static ek_status read_from(const ek__index_opened *file, int fd, uint64_t place, char *out, size_t n, ek_error *err)
{
    if (ek__is_made(file->trace))
        return read_made(file, place, out, n, err);
    if (file->header.compressed)
        return read_compressed(file, fd, place, out, n, err);
    return read_some(fd, out, n, place) == (ssize_t)n ? EK_OK : changed(file, err);
}

ek_status ek__index_read_text(const ek__index_opened *file, const ek__index_event *event, char **out, ek_error *err)
{
    int fd;
    size_t n = EK__EVENT_SIZE(event);
    ek_status status = open_trace(file, &fd, err);
    if (status != EK_OK)
        return status;
    char *text = malloc(n + 1);
    if (!text)
        status = ek__no_memory(err);
    else if (event->place > INT64_MAX - n)
        status = changed(file, err);
    else
        status = read_from(file, fd, event->place, text, n, err);
    if (status == EK_OK && n > 0 && text[0] != '{')
        status = changed(file, err);
    close(fd);
    if (status != EK_OK) {
        free(text);
        return status;
    }
    text[n] = '\0';
    *out = text;
    return EK_OK;
}

ek_status ek__index_whole_trace(const ek_trace_index *index, int file, char **out, size_t *size, ek_error *err)
{
    int fd;
    assert(file >= 0 && file < index->n_files);
    const ek__index_opened *f = &index->file[file];
    ek_status status = open_trace(f, &fd, err);
    if (status != EK_OK)
        return status;
    int64_t bytes = f->header.trace_bytes;
    char *text = bytes >= 0 && (uint64_t)bytes < UINT32_MAX ? malloc((size_t)bytes + 1) : NULL;
    if (!text)
        status = ek__no_memory(err);
    else
        status = read_from(f, fd, 0, text, (size_t)bytes, err);
    close(fd);
    if (status != EK_OK) {
        free(text);
        return status;
    }
    text[bytes] = '\0';
    *out = text;
    *size = (size_t)bytes;
    return EK_OK;
}
