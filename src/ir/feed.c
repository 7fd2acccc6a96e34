/* Reads a file in blocks into a sliding buffer. The bytes of the current record move to the front before the next block
 * is read after them, so a record is always contiguous and memory is that of the longest record. A text in memory is
 * used in place. Compressed files are not read. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "ir/reader.h"

/* Fits a second-level cache together with the reader's data; larger blocks were slower. */
enum { BLOCK_BYTES = 512 << 10 };

/* Two blocks, or a whole small file and one byte to detect its end. */
static size_t first_capacity(int64_t size)
{
    const int64_t least = 4096, most = 2 * (int64_t)BLOCK_BYTES;
    int64_t wanted = size < least ? least : size + 1;
    return (size_t)(size >= 0 && wanted < most ? wanted : most);
}

ek_status ek__ir_feed_open(ek__ir_feed *feed, const char *path, ek_error *err)
{
    bool standard = strcmp(path, "-") == 0;
    *feed = (ek__ir_feed){.file = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC)};
    if (feed->file < 0)
        return ek__fail(err, ek__system_status(), ((ek_origin){path, 0, 0}), "cannot be opened: %s", strerror(errno));
    feed->capacity = first_capacity(ek__ir_feed_size(feed));
    feed->buffer = malloc(feed->capacity);
    feed->text = feed->buffer;
    if (!feed->buffer) {
        ek__ir_feed_close(feed);
        return ek__no_memory(err);
    }
    return EK_OK;
}

int64_t ek__ir_feed_size(const ek__ir_feed *feed)
{
    struct stat about;
    return fstat(feed->file, &about) == 0 && S_ISREG(about.st_mode) ? about.st_size : -1;
}

void ek__ir_feed_open_text(ek__ir_feed *feed, const char *text, size_t size)
{
    *feed = (ek__ir_feed){.file = -1, .ended = true, .text = text, .filled = size};
}

void ek__ir_feed_close(ek__ir_feed *feed)
{
    if (feed->file > STDIN_FILENO)
        close(feed->file);
    free(feed->buffer);
    *feed = (ek__ir_feed){.file = -1};
}

static ek_status fill(ek__ir_feed *feed)
{
    if (feed->begin > 0) {
        memmove(feed->buffer, feed->buffer + feed->begin, feed->filled - feed->begin);
        feed->filled -= feed->begin;
        feed->begin = 0;
    }
    if (feed->filled > EK__IR_MAX_NODE_BYTES)
        return EK_ERR_INPUT;
    if (feed->filled == feed->capacity) {
        char *more = realloc(feed->buffer, 2 * feed->capacity);
        if (!more)
            return EK_ERR_MEMORY;
        feed->buffer = more;
        feed->capacity *= 2;
    }
    feed->text = feed->buffer;
    size_t room = feed->capacity - feed->filled;
    ssize_t n;
    do
        n = read(feed->file, feed->buffer + feed->filled, room < BLOCK_BYTES ? room : BLOCK_BYTES);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return EK_ERR_SYSTEM;
    feed->ended = n == 0;
    feed->filled += (size_t)n;
    return EK_OK;
}

ek_status ek__ir_feed_line(ek__ir_feed *feed, size_t from, size_t *next)
{
    size_t searched = from;
    for (;;) {
        size_t n = feed->filled - feed->begin;
        const char *text = feed->text + feed->begin;
        const char *found = n > searched ? memchr(text + searched, '\n', n - searched) : NULL;
        if (found || feed->ended) {
            *next = found ? (size_t)(found - text) + 1 : n;
            return *next > EK__IR_MAX_NODE_BYTES ? EK_ERR_INPUT : EK_OK;
        }
        searched = n;
        ek_status status = fill(feed);
        if (status)
            return status;
    }
}

void ek__ir_feed_skip(ek__ir_feed *feed, size_t size)
{
    feed->begin += size;
    feed->offset += (int64_t)size;
}
