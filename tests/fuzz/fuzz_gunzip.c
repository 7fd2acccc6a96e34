/* Fuzzes compressed files: whatever the bytes, ISA-L gives the bytes that zlib gives, in pieces of any size, and the
 * same problem; of damaged files it may give more, as it accepts codes that zlib refuses. From every restart point the
 * rest of the bytes can be inflated again. The first byte is the size of pieces, and the distance of restart points in
 * units of 64 bytes. */
#include <assert.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "fuzz.h"
#include "trace/scan/gunzip.h"

enum { MOST = 1 << 20, WINDOW = 32 << 10, MOST_SPOTS = 8, TAIL = 4096 };

static ek__gunzip *open_file(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ek__gunzip *g = fd < 0 ? NULL : ek__gunzip_new(fd);
    assert(g);
    return g;
}

/* Up to MOST bytes. */
static size_t read_pieces(ek__gunzip *g, char *to, size_t piece)
{
    size_t n = 0, got;
    while (n < MOST && (got = ek__gunzip_read(g, to + n, piece < MOST - n ? piece : MOST - n)) > 0)
        n += got;
    return n;
}

/* The bytes from a spot on are those that were read there. */
static void check_spot(const ek__gunzip_spot *spot, const uint8_t *file, size_t size, const char *text, size_t n)
{
    static unsigned char window[WINDOW], again[TAIL];
    z_stream z = {0};
    uLongf filled = sizeof window;
    assert(spot->in >= 0 && (size_t)spot->in <= size && spot->bits < 8 && !spot->window == (spot->window_size == 0));
    assert(inflateInit2(&z, -MAX_WBITS) == Z_OK);
    if (spot->bits > 0)
        assert(spot->in > 0 && inflatePrime(&z, (int)spot->bits, file[spot->in - 1] >> (8 - spot->bits)) == Z_OK);
    if (spot->window) {
        assert(uncompress(window, &filled, spot->window, spot->window_size) == Z_OK);
        assert(inflateSetDictionary(&z, window, (unsigned)filled) == Z_OK);
    }
    z.next_in = (unsigned char *)file + spot->in;
    z.avail_in = (unsigned)(size - (size_t)spot->in);
    z.next_out = again;
    z.avail_out = sizeof again;
    inflate(&z, Z_SYNC_FLUSH);
    size_t got = sizeof again - z.avail_out, there = n - (size_t)spot->out;
    assert(memcmp(again, text + spot->out, got < there ? got : there) == 0);
    inflateEnd(&z);
}

static void check_spots(const ek__gunzip *g, const uint8_t *file, size_t size, const char *text, size_t n)
{
    size_t n_spots;
    const ek__gunzip_spot *spot = ek__gunzip_spots(g, &n_spots);
    for (size_t i = 0; i < n_spots; i++) {
        assert(spot[i].out >= 0 && (i == 0 || spot[i].out > spot[i - 1].out));
        if (i < MOST_SPOTS && (size_t)spot[i].out <= n)
            check_spot(&spot[i], file, size, text, n);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char whole[MOST], pieces[MOST];
    if (size == 0)
        return 0;
    const char *path = fuzz_file(data + 1, size - 1);
    ek__gunzip *a = open_file(path), *b = open_file(path);
    ek__gunzip_note_spots(b, 64 * ((int64_t)data[0] + 1));
    size_t n = read_pieces(a, whole, MOST), n_again = read_pieces(b, pieces, (size_t)data[0] + 1);
    const char *problem = ek__gunzip_problem(a), *problem_again = ek__gunzip_problem(b);
    assert(n >= n_again && memcmp(whole, pieces, n_again) == 0);
    assert(n == n_again || problem_again);
    if (n < MOST)
        assert(!problem == !problem_again && (!problem || strcmp(problem, problem_again) == 0));
    assert(ek__gunzip_bytes(a) <= (int64_t)size - 1 && !ek__gunzip_out_of_memory(a) && !ek__gunzip_out_of_memory(b));
    check_spots(b, data + 1, size - 1, pieces, n);
    ek__gunzip_free(a);
    ek__gunzip_free(b);
    return 0;
}
