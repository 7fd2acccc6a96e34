/* Reading .gz with zlib's inflate rather than its gzread(), so that the borders between blocks can be noted on the way.
 * Members follow one another as if they were one; what is no member behind the last one is left alone, as gzip does. */
#include "trace/scan/gunzip.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "base/error.h"

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
    int64_t in, out; /* bytes read of the file; bytes given */
    int64_t distance, next_spot;
    bool any_member; /* one was read to its end */
    bool between;    /* at the start of a member */
    bool pending;    /* there may be more output without more input */
    bool ended, out_of_memory;
    const char *problem;
    size_t n_spots, spots_capacity;
    ek__gunzip_spot *spot;
    unsigned char input[INPUT_BYTES];
};

ek__gunzip *ek__gunzip_new(int fd)
{
    ek__gunzip *g = ek__alloc(1, sizeof *g);
    if (!g || inflateInit2(&g->z, GZIP) != Z_OK) {
        free(g);
        return NULL;
    }
    g->fd = fd;
    g->between = true;
    return g;
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
    free(g);
}

void ek__gunzip_note_spots(ek__gunzip *g, int64_t distance)
{
    g->distance = distance;
    g->next_spot = g->out;
}

static void stop(ek__gunzip *g, const char *problem)
{
    g->ended = true;
    g->problem = problem;
}

/* More of the file when none is at hand. @return false at its end */
static bool have_input(ek__gunzip *g)
{
    ssize_t n;
    if (g->z.avail_in > 0)
        return true;
    do
        n = read(g->fd, g->input, INPUT_BYTES);
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
    g->pending = false;
    if (inflateReset(&g->z) != Z_OK)
        stop(g, "the library that inflates failed");
}

static void add_result(ek__gunzip *g, int code)
{
    if (code == Z_STREAM_END)
        end_member(g);
    else if (code == Z_MEM_ERROR)
        g->out_of_memory = g->ended = true;
    else if (code != Z_OK && code != Z_BUF_ERROR)
        stop(g, g->z.msg ? g->z.msg : "it makes no sense");
    else if (g->distance > 0 && g->out >= g->next_spot && (g->z.data_type & AT_BORDER) && !(g->z.data_type & LAST))
        note_spot(g);
}

/* Behind a member another one may follow; anything else is not looked at. */
static bool begin_member(ek__gunzip *g)
{
    if (g->between && g->any_member && g->z.next_in[0] != 0x1f) {
        g->ended = true;
        return false;
    }
    g->between = false;
    return true;
}

size_t ek__gunzip_read(ek__gunzip *g, char *to, size_t size)
{
    size_t n = 0;
    while (n < size && !g->ended) {
        if (!g->pending && !have_input(g)) {
            if (!g->between && !g->problem)
                g->problem = "it ends too early";
            g->ended = true;
            break;
        }
        if (!begin_member(g))
            break;
        size_t room = size - n < UINT32_MAX / 2 ? size - n : UINT32_MAX / 2;
        g->z.next_out = (unsigned char *)to + n;
        g->z.avail_out = (unsigned)room;
        int code = inflate(&g->z, g->distance > 0 ? Z_BLOCK : Z_NO_FLUSH);
        n += room - g->z.avail_out;
        g->out += (int64_t)(room - g->z.avail_out);
        g->pending = g->z.avail_out == 0;
        add_result(g, code);
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
