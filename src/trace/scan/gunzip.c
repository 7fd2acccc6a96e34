/* Reads .gz: members inflated by ISA-L, which takes a third of the time, or by zlib where the borders between blocks
 * are recorded, which ISA-L does not report. Members are concatenated; data after the last one that is not a member is
 * ignored, as gzip does. Headers are read by zlib in both ways, and errors are zlib's: a member that ISA-L cannot read
 * to its end is read again from its start, so that the message does not depend on the decoder. (ISA-L accepts a few
 * codes that zlib refuses; then some bytes more come before the same message.) */
#include "trace/scan/gunzip.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "base/error.h"
#include "trace/scan/isal.h"

enum {
    INPUT_BYTES = 64 << 10,
    WINDOW_BYTES = 32 << 10,
    GZIP = 16 + MAX_WBITS,
    FASTEST = 1,
    AT_BORDER = 128,
    LAST = 64
};

struct ek__gunzip {
    int fd;
    z_stream z;
    int64_t in, out; /* bytes read of the file; bytes returned */
    int64_t distance, next_spot;
    int64_t member_in, member_out; /* in, out where the member begins */
    int64_t skip;                  /* bytes of it that were returned before it was restarted */
    bool any_member;               /* one was read to its end */
    bool between;                  /* at the start of a member */
    bool pending;                  /* there may be more output without more input */
    bool by_isal;                  /* this member's bytes */
    bool again;                    /* this member was restarted, by zlib */
    bool ended, out_of_memory;
    const char *problem;
    size_t n_spots, spots_capacity;
    ek__gunzip_spot *spot;
    size_t input_bytes;
    unsigned char input[INPUT_BYTES], skipped[WINDOW_BYTES];
    ek__isal *isal; /* NULL: zlib inflates everything */
};

ek__gunzip *ek__gunzip_new(int fd)
{
    ek__gunzip *g = ek__alloc(1, sizeof *g);
    if (!g)
        return NULL;
    g->isal = ek__isal_new();
    if ((ek__isal_present() && !g->isal) || inflateInit2(&g->z, GZIP) != Z_OK) {
        ek__isal_free(g->isal);
        free(g);
        return NULL;
    }
    g->fd = fd;
    g->input_bytes = INPUT_BYTES;
    g->between = true;
    return g;
}

void ek__gunzip_limit_input(ek__gunzip *g, size_t bytes)
{
    assert(bytes > 0 && bytes <= INPUT_BYTES);
    g->input_bytes = bytes;
}

void ek__gunzip_free(ek__gunzip *g)
{
    if (!g)
        return;
    inflateEnd(&g->z);
    close(g->fd);
    for (size_t i = 0; i < g->n_spots; i++)
        free(g->spot[i].window);
    free(g->spot);
    ek__isal_free(g->isal);
    free(g);
}

void ek__gunzip_note_spots(ek__gunzip *g, int64_t distance)
{
    assert(g->in == 0);
    g->distance = distance;
    g->next_spot = 0;
}

static void stop(ek__gunzip *g, const char *problem)
{
    g->ended = true;
    g->problem = problem;
}

/* More of the file when the buffer is empty. @return false at its end */
static bool have_input(ek__gunzip *g)
{
    ssize_t n;
    if (g->z.avail_in > 0)
        return true;
    do
        n = read(g->fd, g->input, g->input_bytes);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        stop(g, strerror(errno));
    g->in += n > 0 ? n : 0;
    g->z.next_in = g->input;
    g->z.avail_in = n > 0 ? (unsigned)n : 0;
    return n > 0;
}

/* The bytes before this place, compressed. @return false when memory is out */
static bool keep_window(ek__gunzip *g, ek__gunzip_spot *spot)
{
    unsigned char window[WINDOW_BYTES];
    unsigned size = 0;
    if (inflateGetDictionary(&g->z, window, &size) != Z_OK)
        return false;
    if (size == 0)
        return true;
    uLongf packed = compressBound(size);
    unsigned char *room = malloc(packed);
    if (!room || compress2(room, &packed, window, size, FASTEST) != Z_OK) {
        free(room);
        return false;
    }
    unsigned char *fitting = realloc(room, packed);
    if (fitting)
        room = fitting;
    spot->window = room;
    spot->window_size = (uint32_t)packed;
    return true;
}

static void note_spot(ek__gunzip *g)
{
    ek__gunzip_spot *room = ek__with_room(g->spot, &g->spots_capacity, g->n_spots + 1, sizeof *room);
    if (room)
        g->spot = room;
    ek__gunzip_spot spot = {.out = g->out, .in = g->in - g->z.avail_in, .bits = (unsigned)g->z.data_type & 7};
    if (!room || !keep_window(g, &spot)) {
        g->out_of_memory = g->ended = true;
        return;
    }
    g->spot[g->n_spots++] = spot;
    g->next_spot = g->out + g->distance;
}

/* A member is read to its end. */
static void end_member(ek__gunzip *g)
{
    g->any_member = g->between = true;
    g->pending = g->by_isal = g->again = false;
    g->skip = 0;
    if (inflateReset(&g->z) != Z_OK)
        stop(g, "the library that inflates failed");
}

/* Members that ISA-L does not read to their end are read by zlib from their beginning. */
static void begin_again(ek__gunzip *g)
{
    if (lseek(g->fd, g->member_in, SEEK_SET) < 0)
        stop(g, strerror(errno));
    else if (inflateReset(&g->z) != Z_OK)
        stop(g, "the library that inflates failed");
    g->by_isal = g->pending = false;
    g->again = true;
    g->z.avail_in = 0;
    g->in = g->member_in;
    g->skip = g->out - g->member_out;
}

static void add_result(ek__gunzip *g, int code)
{
    if (code == Z_STREAM_END)
        end_member(g);
    else if (code == Z_MEM_ERROR)
        g->out_of_memory = g->ended = true;
    else if (code != Z_OK && code != Z_BUF_ERROR)
        stop(g, g->z.msg ? g->z.msg : "invalid data");
    else if (g->distance > 0 && g->out >= g->next_spot && (g->z.data_type & AT_BORDER) && !(g->z.data_type & LAST))
        note_spot(g);
}

/* After a member another one may follow; any other data is ignored. */
static bool begin_member(ek__gunzip *g)
{
    if (g->between && g->any_member && g->z.next_in[0] != 0x1f) {
        g->ended = true;
        return false;
    }
    if (g->between) {
        g->member_in = g->in - g->z.avail_in;
        g->member_out = g->out;
    }
    g->between = false;
    return true;
}

/* At the end of the file. @return false when there is nothing to read again */
static bool read_on_at_end(ek__gunzip *g)
{
    if (g->by_isal && !g->problem) {
        begin_again(g);
        return !g->ended;
    }
    if (!g->between && !g->problem)
        g->problem = "unexpected end";
    g->ended = true;
    return false;
}

static size_t inflate_isal(ek__gunzip *g, unsigned char *to, unsigned room)
{
    unsigned left = room;
    ek__isal_end end = ek__isal_inflate(g->isal, &g->z.next_in, &g->z.avail_in, to, &left);
    g->out += (int64_t)(room - left);
    g->pending = left == 0;
    if (end == EK__ISAL_FAILED)
        begin_again(g);
    else if (end == EK__ISAL_DONE)
        end_member(g);
    return room - left;
}

/* Bytes returned already are not returned again. */
static size_t inflate_zlib(ek__gunzip *g, unsigned char *to, unsigned room)
{
    const bool skips = g->skip > 0;
    if (skips)
        room = g->skip < WINDOW_BYTES ? (unsigned)g->skip : WINDOW_BYTES;
    g->z.next_out = skips ? g->skipped : to;
    g->z.avail_out = room;
    int code = inflate(&g->z, g->distance > 0 ? Z_BLOCK : Z_NO_FLUSH);
    unsigned n = room - g->z.avail_out;
    g->pending = g->z.avail_out == 0;
    if (skips)
        g->skip -= n;
    else
        g->out += n;
    add_result(g, code);
    return skips ? 0 : n;
}

/* The head of a member, after which zlib stops before the first block. */
static void read_head(ek__gunzip *g)
{
    g->z.next_out = g->skipped;
    g->z.avail_out = 0;
    int code = inflate(&g->z, Z_BLOCK);
    if (code == Z_OK && (g->z.data_type & AT_BORDER)) {
        ek__isal_begin(g->isal);
        g->by_isal = true;
    } else
        add_result(g, code);
}

size_t ek__gunzip_read(ek__gunzip *g, char *to, size_t size)
{
    size_t n = 0;
    while (n < size && !g->ended) {
        if (!g->pending && !have_input(g)) {
            if (!read_on_at_end(g))
                break;
            continue;
        }
        if (!begin_member(g))
            break;
        unsigned room = size - n < UINT32_MAX / 2 ? (unsigned)(size - n) : UINT32_MAX / 2;
        if (g->by_isal)
            n += inflate_isal(g, (unsigned char *)to + n, room);
        else if (g->distance > 0 || g->again || !g->isal)
            n += inflate_zlib(g, (unsigned char *)to + n, room);
        else
            read_head(g);
    }
    return n;
}

const char *ek__gunzip_problem(const ek__gunzip *g)
{
    return g->problem;
}

bool ek__gunzip_out_of_memory(const ek__gunzip *g)
{
    return g->out_of_memory;
}

int64_t ek__gunzip_bytes(const ek__gunzip *g)
{
    return g->in;
}

const ek__gunzip_spot *ek__gunzip_spots(const ek__gunzip *g, size_t *n)
{
    *n = g->n_spots;
    return g->spot;
}
