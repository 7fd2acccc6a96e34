/* Searches for several texts at once after Wu and Manber ("A fast algorithm for multi-pattern searching", 1994): the
 * last two bytes of a window as long as the shortest needle determine how far the window may move, so that most bytes
 * are never read. Around it is a buffer for streams, which keeps enough bytes before and after every place that a hit's
 * line is the same however the stream was cut. It neither folds case nor supports patterns. */
#include "base/needles.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/watch.h"

enum { BUFFER = 256 << 10 };

static unsigned pair(unsigned char first, unsigned char second)
{
    return (unsigned)first << 8 | second;
}

void ek__needles_init(ek__needles *set, const char *const *text, int n)
{
    assert(n > 0 && n <= EK__MAX_NEEDLES);
    set->n = n;
    set->text = text;
    set->shortest = UCHAR_MAX;
    for (int i = 0; i < n; i++) {
        size_t length = strlen(text[i]);
        assert(length >= 2 && length <= UCHAR_MAX);
        set->length[i] = (unsigned char)length;
        set->shortest = set->length[i] < set->shortest ? set->length[i] : set->shortest;
    }
    memset(set->skip, set->shortest - 1, sizeof set->skip);
    for (int i = 0; i < n; i++)
        for (int end = 1; end < set->shortest; end++) {
            unsigned char *skip = &set->skip[pair((unsigned char)text[i][end - 1], (unsigned char)text[i][end])];
            int left = set->shortest - 1 - end;
            *skip = (unsigned char)(left < *skip ? left : *skip);
        }
}

static int needle_at(const ek__needles *set, const unsigned char *bytes, size_t n)
{
    for (int i = 0; i < set->n; i++)
        if (set->length[i] <= n && memcmp(bytes, set->text[i], set->length[i]) == 0)
            return i;
    return -1;
}

size_t ek__needles_find(const ek__needles *set, const unsigned char *bytes, size_t n, size_t from, int *which)
{
    size_t last = (size_t)set->shortest - 1;
    for (size_t end = from + last; end < n;) {
        unsigned skip = set->skip[pair(bytes[end - 1], bytes[end])];
        if (skip) {
            end += skip;
            continue;
        }
        int found = needle_at(set, bytes + end - last, n - (end - last));
        if (found >= 0) {
            if (which)
                *which = found;
            return end - last;
        }
        end++;
    }
    return n;
}

/* Short runs keep the sum in one byte, which compilers turn into vector instructions. */
static uint64_t count_line_feeds(const unsigned char *bytes, size_t n)
{
    uint64_t count = 0;
    for (size_t i = 0; i < n;) {
        size_t end = n - i > UCHAR_MAX ? i + UCHAR_MAX : n;
        unsigned char run = 0;
        for (; i < end; i++)
            run = (unsigned char)(run + (bytes[i] == '\n'));
        count += run;
    }
    return count;
}

static void count_up_to(ek__scan *scan, size_t end)
{
    uint64_t feeds = count_line_feeds(scan->bytes + scan->counted, end - scan->counted);
    if (feeds > 0) {
        size_t i = end;
        while (scan->bytes[i - 1] != '\n')
            i--;
        scan->line_start = scan->base + i;
        scan->line += feeds;
    }
    scan->counted = end;
}

static int clamped(uint64_t value)
{
    const int most = INT_MAX - EK__HIT_AFTER; /* positions inside the hit have a column, too */
    return value < (uint64_t)most ? (int)value : most;
}

static void report(ek__scan *scan, size_t at, int needle)
{
    count_up_to(scan, at);
    uint64_t column = scan->base + at - scan->line_start;
    size_t before = column < EK__HIT_BEFORE ? (size_t)column : EK__HIT_BEFORE;
    size_t after = scan->n - at < EK__HIT_AFTER ? scan->n - at : EK__HIT_AFTER;
    const unsigned char *start = scan->bytes + at, *feed = memchr(start, '\n', after);
    const ek__hit hit = {
        .needle = needle,
        .line = clamped(scan->line + 1),
        .column = clamped(column + 1),
        .start = start - before,
        .at = start,
        .end = feed ? feed : start + after,
        .from_start = before == column,
        .cut = !feed && after == scan->n - at,
    };
    scan->handle(scan->user, &hit);
}

/* Needles that begin before `limit`. */
static void search(ek__scan *scan, size_t limit)
{
    int which = 0;
    for (size_t at; (at = ek__needles_find(scan->set, scan->bytes, scan->n, scan->next, &which)) < limit;) {
        report(scan, at, which);
        scan->next = at + 1;
    }
    scan->next = limit > scan->next ? limit : scan->next;
    count_up_to(scan, scan->next);
}

/* Search a full buffer, and drop the bytes that no later hit needs. */
static void make_room(ek__scan *scan)
{
    search(scan, scan->n - EK__HIT_AFTER);
    size_t gone = scan->next > EK__HIT_BEFORE ? scan->next - EK__HIT_BEFORE : 0;
    memmove(scan->bytes, scan->bytes + gone, scan->n - gone);
    scan->n -= gone;
    scan->next -= gone;
    scan->counted -= gone;
    scan->base += gone;
}

static ek_status reserve(ek__scan *scan, ek_error *err)
{
    if (!scan->bytes)
        scan->bytes = ek__alloc(BUFFER, 1);
    if (!scan->bytes)
        return ek__no_memory(err);
    if (scan->n == BUFFER)
        make_room(scan);
    return EK_OK;
}

ek_status ek__scan_feed(ek__scan *scan, const unsigned char *bytes, size_t n, ek_error *err)
{
    while (n > 0) {
        ek_status status = reserve(scan, err);
        if (status)
            return status;
        size_t part = n < BUFFER - scan->n ? n : BUFFER - scan->n;
        memcpy(scan->bytes + scan->n, bytes, part);
        scan->n += part;
        bytes += part;
        n -= part;
    }
    return EK_OK;
}

ek_status ek__scan_file(ek__scan *scan, int fd, const char *name, ek_error *err)
{
    struct stat about;
    bool has_end = fstat(fd, &about) == 0 && S_ISREG(about.st_mode);
    ek__watch_part("reading", has_end ? (double)about.st_size : INFINITY);
    for (;;) {
        ek_status status = reserve(scan, err);
        if (status)
            return status;
        ssize_t n = read(fd, scan->bytes + scan->n, BUFFER - scan->n);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return ek__fail(err, ek__system_status(), ((ek_origin){name, 0, 0}), "cannot read it: %s", strerror(errno));
        if (n == 0)
            return EK_OK;
        scan->n += (size_t)n;
        ek__watch_spent((double)n); /* some 10 ns a byte */
    }
}

void ek__scan_finish(ek__scan *scan)
{
    if (!scan->bytes)
        return;
    search(scan, scan->n);
}

void ek__scan_clear(ek__scan *scan)
{
    free(scan->bytes);
    scan->bytes = NULL;
}
