/* Frames and walks a Chrome trace by the bits of its structure (structure.h): blocks are cut between events, and a walk
 * goes from bit to bit. Validates only as much as finding an event's values needs. */
#include "trace/scan/scan.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/c_locale.h"
#include "trace/scan/gunzip.h"
#include "trace/scan/made.h"
#include "trace/scan/structure.h"

enum { BLOCK_BYTES = 1 << 20, FIRST_BYTES = 16 << 10, PADDING = EK__BLOCK_PADDING, KEY_BYTES = 32 };

typedef enum mode { HEAD, EVENTS, TAIL, ENDED } mode;

/* State of a scan of the header. Bytes of the header are few; they are scanned one by one. */
typedef struct head_state {
    bool in_string, escaped, after_key;
    int64_t depth;
    char key[KEY_BYTES]; /* the last string at depth 1, cut */
    int key_size;
} head_state;

struct ek__feed {
    const char *name;
    int fd;         /* -1 when compressed or from memory */
    ek__gunzip *gz; /* NULL unless compressed */
    ek__made *made; /* NULL unless its text is made */
    const char *memory;
    size_t memory_left;
    size_t block_bytes;           /* limit, except for longer events */
    int64_t total, bytes, offset; /* offset: of the next byte to read, decompressed */
    mode mode;
    bool end_of_file, array_form, has_events, out_of_memory;
    head_state head;
    char *carry;
    size_t n_carry, carry_capacity;
    char *header;
    size_t n_header, header_capacity;
    int64_t sequence;
    char problem[400];
    int64_t problem_offset;
};

/* ---- reading ---- */

static ek_status system_error(const char *path, const char *what, ek_error *err)
{
    ek_origin origin = {path, 0, 0};
    return ek__fail(err, ek__system_status(), origin, "cannot %s '%s': %s", what, path, strerror(errno));
}

static ek__feed *feed_new(const char *name)
{
    ek__feed *feed = calloc(1, sizeof *feed);
    if (!feed)
        return NULL;
    feed->name = name;
    feed->fd = -1;
    feed->block_bytes = BLOCK_BYTES;
    feed->problem_offset = -1;
    return feed;
}

static bool is_gzip(int fd)
{
    unsigned char magic[2];
    ssize_t n = pread(fd, magic, 2, 0);
    return n == 2 && magic[0] == 0x1f && magic[1] == 0x8b;
}

static ek_status open_file(ek__feed *feed, const char *path, ek_error *err)
{
    struct stat about;
    ek_origin origin = {path, 0, 0};
    feed->fd = open(path, O_RDONLY | O_CLOEXEC);
    if (feed->fd < 0 || fstat(feed->fd, &about) != 0)
        return system_error(path, "open", err);
    if (S_ISDIR(about.st_mode))
        return ek__fail(err, EK_ERR_SYSTEM, origin, "'%s' is a folder, not a trace; give the file inside", path);
    feed->total = about.st_size;
    if (S_ISREG(about.st_mode) && ek__is_made(path)) {
        close(feed->fd);
        feed->fd = -1;
        return ek__made_open(path, &feed->made, err);
    }
    if (!is_gzip(feed->fd))
        return EK_OK;
    feed->gz = ek__gunzip_new(feed->fd);
    if (!feed->gz)
        return ek__no_memory(err);
    feed->fd = -1; /* closed with the stream */
    return EK_OK;
}

ek_status ek__feed_open(const char *path, ek__feed **out, ek_error *err)
{
    ek__feed *feed = feed_new(path);
    if (!feed)
        return ek__no_memory(err);
    ek_status status = open_file(feed, path, err);
    if (status != EK_OK) {
        ek__feed_close(feed);
        return status;
    }
    *out = feed;
    return EK_OK;
}

ek_status ek__feed_open_buffer(const char *name, const char *text, size_t size, ek__feed **out, ek_error *err)
{
    ek__feed *feed = feed_new(name);
    if (!feed)
        return ek__no_memory(err);
    feed->memory = text;
    feed->memory_left = size;
    feed->total = (int64_t)size;
    *out = feed;
    return EK_OK;
}

void ek__feed_limit_blocks(ek__feed *feed, size_t bytes)
{
    assert(bytes >= 4 && feed->bytes == 0); /* the first block has a byte-order mark in one piece */
    feed->block_bytes = bytes;
}

void ek__feed_close(ek__feed *feed)
{
    if (!feed)
        return;
    ek__gunzip_free(feed->gz);
    ek__made_close(feed->made);
    if (feed->fd >= 0)
        close(feed->fd);
    free(feed->carry);
    free(feed->header);
    free(feed);
}

/* Only the first problem is reported: later ones follow from it. */
__attribute__((format(printf, 3, 4))) static void set_problem(ek__feed *feed, int64_t offset, const char *format, ...)
{
    va_list args;
    if (feed->problem[0])
        return;
    va_start(args, format);
    ek__vsnprintf(feed->problem, sizeof feed->problem, format, args);
    va_end(args);
    feed->problem_offset = offset;
}

static size_t read_compressed(ek__feed *feed, char *to, size_t size)
{
    size_t n = ek__gunzip_read(feed->gz, to, size);
    const char *problem = ek__gunzip_problem(feed->gz);
    feed->bytes = ek__gunzip_bytes(feed->gz);
    feed->out_of_memory |= ek__gunzip_out_of_memory(feed->gz);
    if (n < size && problem)
        set_problem(feed, feed->offset + (int64_t)n, "the compressed file is damaged or truncated: %s", problem);
    return n;
}

static size_t read_plain(ek__feed *feed, char *to, size_t size)
{
    ssize_t n;
    do
        n = read(feed->fd, to, size);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        set_problem(feed, feed->offset, "it cannot be read further: %s", strerror(errno));
    feed->bytes += n > 0 ? n : 0;
    return n > 0 ? (size_t)n : 0;
}

/* Its text is complete also where rows cannot be read. It has no positions that a user would know. */
static size_t read_made(ek__feed *feed, char *to, size_t size)
{
    size_t n = ek__made_read(feed->made, to, size);
    const char *problem = ek__made_problem(feed->made);
    feed->bytes = ek__made_bytes(feed->made);
    feed->out_of_memory |= ek__made_out_of_memory(feed->made);
    if (n < size && problem)
        set_problem(feed, -1, "%s", problem);
    return n;
}

static size_t read_some(ek__feed *feed, char *to, size_t size)
{
    if (feed->made)
        return read_made(feed, to, size);
    if (feed->gz)
        return read_compressed(feed, to, size);
    if (feed->fd >= 0)
        return read_plain(feed, to, size);
    size_t n = size < feed->memory_left ? size : feed->memory_left;
    if (n > 0)
        memcpy(to, feed->memory, n);
    feed->memory += n;
    feed->memory_left -= n;
    feed->bytes += (int64_t)n;
    return n;
}

/* Fill [to, to + size) up to the end of the file. */
static size_t read_full(ek__feed *feed, char *to, size_t size)
{
    size_t n = 0;
    while (n < size && !feed->end_of_file) {
        size_t got = read_some(feed, to + n, size - n);
        feed->end_of_file = got == 0;
        n += got;
        feed->offset += (int64_t)got;
    }
    return n;
}

/* Number of bytes to read for the next block. Most runs have many small files, which must not pay for a large block:
 * the rest of a plain file, and one byte to see its end. For a file of unknown size, as many bytes as were read so far.
 * An event that is longer than a block doubles the number. */
static size_t next_bytes(const ek__feed *feed)
{
    const size_t most = feed->n_carry > feed->block_bytes ? feed->n_carry : feed->block_bytes;
    bool known = !feed->gz && !feed->made && feed->total > feed->bytes;
    int64_t wanted = known ? feed->total - feed->bytes + 1 : feed->offset < FIRST_BYTES ? FIRST_BYTES : feed->offset;
    if (feed->end_of_file)
        return 0;
    return wanted < (int64_t)most ? (size_t)wanted : most;
}

/* ---- outside the event array ---- */

static void keep_header(ek__feed *feed, const char *text, size_t size)
{
    if (feed->n_header + size > EK__HEADER_MAX_BYTES)
        return;
    char *room = ek__with_room(feed->header, &feed->header_capacity, feed->n_header + size + 8, 1);
    if (!room) {
        feed->out_of_memory = true;
        return;
    }
    feed->header = room;
    /* Names that jansson refuses are not needed here. */
    for (size_t i = 0; i < size; i++) {
        unsigned char c = (unsigned char)text[i];
        feed->header[feed->n_header++] = c < 0x20 ? ' ' : c >= 0x7f ? '?' : (char)c;
    }
}

/* Process one byte of a string. */
static void head_string(head_state *h, char c)
{
    if (h->escaped)
        h->escaped = false;
    else if (c == '\\')
        h->escaped = true;
    else if (c == '"') {
        h->in_string = false;
        return;
    }
    if (h->depth == 1 && h->key_size < KEY_BYTES)
        h->key[h->key_size++] = c;
}

static bool key_is_events(const head_state *h)
{
    static const char events[] = "traceEvents";
    return h->key_size == (int)sizeof events - 1 && memcmp(h->key, events, sizeof events - 1) == 0;
}

/* @return true when the event array opens here */
static bool head_byte(ek__feed *feed, char c)
{
    head_state *h = &feed->head;
    if (h->in_string) {
        head_string(h, c);
        return false;
    }
    if (c == '"') {
        h->in_string = true;
        if (h->depth == 1)
            h->key_size = 0;
    } else if (c == ':' && h->depth == 1) {
        h->after_key = true;
        return false;
    } else if (c == '[' && feed->mode == HEAD &&
               (h->depth == 0 || (h->depth == 1 && h->after_key && key_is_events(h) && !feed->array_form))) {
        feed->array_form = h->depth == 0;
        h->depth++;
        return true;
    } else if (c == '{' || c == '[')
        h->depth++;
    else if (c == '}' || c == ']')
        h->depth--;
    if (c != ' ' && c != '\n' && c != '\r' && c != '\t')
        h->after_key = false;
    return false;
}

/* Number of bytes of the header: up to and with the '[' of the event array, or all. `offset` is that of data[0].
 */
static size_t parse_head(ek__feed *feed, const char *data, size_t size, int64_t offset, bool *opened)
{
    size_t n = 0;
    *opened = false;
    while (n < size && !*opened) {
        unsigned char c = (unsigned char)data[n];
        if (feed->mode == TAIL && feed->head.depth == 0 && c > ' ')
            set_problem(feed, offset + (int64_t)n, "data after the end of the JSON text is not read");
        *opened = head_byte(feed, data[n++]);
    }
    keep_header(feed, data, n);
    return n;
}

/* ---- framing ---- */

/* The end of the last whole event, and the byte of the ']' that closes the array (SIZE_MAX: not here). */
typedef struct frame {
    size_t border, array_end;
} frame;

static frame find_frame(const ek__block *block, size_t size)
{
    frame f = {0, SIZE_MAX};
    int64_t depth = 0;
    for (size_t w = 0; w < (size + 63) / 64; w++) {
        uint64_t open = block->open[w], close = block->close[w];
        for (uint64_t both = open | close; both != 0; both &= both - 1) {
            size_t at = 64 * w + (size_t)__builtin_ctzll(both);
            if (open & both & -both) {
                depth++;
                continue;
            }
            if (depth == 0) {
                f.array_end = at;
                return f;
            }
            if (--depth == 0)
                f.border = at + 1;
        }
    }
    return f;
}

static bool make_room(ek__feed *feed, ek__block *block, size_t size)
{
    size_t capacity = (size + PADDING + 63) / 64 * 64;
    if (block->data && block->capacity >= capacity)
        return true;
    char *data = realloc(block->data, capacity + PADDING);
    if (data)
        block->data = data;
    size_t n_words = capacity / 64 + 1; /* with the sentinels */
    uint64_t *bits = data ? realloc(block->quote, n_words * 4 * sizeof *bits) : NULL;
    if (!bits) {
        feed->out_of_memory = true;
        return false;
    }
    block->capacity = capacity;
    block->quote = bits;
    block->open = bits + n_words;
    block->close = bits + n_words * 2;
    block->stop = bits + n_words * 3;
    return true;
}

void ek__block_clear(ek__block *block)
{
    free(block->data);
    free(block->quote);
    *block = (ek__block){0};
}

static bool keep_carry(ek__feed *feed, const char *data, size_t size)
{
    char *room = ek__with_room(feed->carry, &feed->carry_capacity, size > 0 ? size : 1, 1);
    if (!room) {
        feed->out_of_memory = true;
        return false;
    }
    feed->carry = room;
    memcpy(room, data, size);
    feed->n_carry = size;
    return true;
}

/* Read until the event array opens; the part of it that was read becomes the carry. */
static void read_head(ek__feed *feed, ek__block *block)
{
    bool opened = false;
    while (!opened && !feed->end_of_file && !feed->out_of_memory) {
        const size_t wanted = next_bytes(feed);
        if (!make_room(feed, block, wanted))
            return;
        bool first = feed->offset == 0;
        size_t n = read_full(feed, block->data, wanted), start = 0;
        if (first && n >= 3 && memcmp(block->data, "\xef\xbb\xbf", 3) == 0)
            start = 3;
        start += parse_head(feed, block->data + start, n - start, feed->offset - (int64_t)(n - start), &opened);
        if (opened) {
            feed->mode = EVENTS;
            feed->has_events = true;
            keep_carry(feed, block->data + start, n - start);
        }
    }
    if (!opened)
        feed->mode = ENDED;
}

static bool only_separators(const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (!strchr(" \t\r\n,", text[i]) || text[i] == '\0')
            return false;
    return true;
}

/* The file ended before the array did. */
static void report_cut(ek__feed *feed, const ek__block *block, size_t border, size_t size)
{
    feed->mode = ENDED;
    if (only_separators(block->data + border, size - border))
        set_problem(feed, block->offset + (int64_t)size, "the file ends without the ']' of its events");
    else
        set_problem(feed, block->offset + (int64_t)border, "the file is truncated inside an event");
    keep_header(feed, feed->array_form ? "]" : "]}", feed->array_form ? 1 : 2);
}

static void read_tail(ek__feed *feed)
{
    char buffer[4096];
    size_t n;
    bool opened;
    while (feed->mode == TAIL && (n = read_full(feed, buffer, sizeof buffer)) > 0)
        parse_head(feed, buffer, n, feed->offset - (int64_t)n, &opened);
    feed->mode = ENDED;
    if (feed->head.depth > 0)
        set_problem(feed, feed->offset, "the file is truncated after its events");
}

/* Carry and more bytes become a block that ends between events. @return false when there is no data */
static bool frame_block(ek__feed *feed, ek__block *block)
{
    size_t carried = feed->n_carry, wanted = next_bytes(feed);
    if (!make_room(feed, block, carried + wanted))
        return false;
    int64_t begin = feed->offset - (int64_t)carried;
    if (carried > 0)
        memcpy(block->data, feed->carry, carried);
    size_t size = carried + read_full(feed, block->data + carried, wanted);
    ek__block_index(block, size, NULL);
    frame f = find_frame(block, size);
    block->offset = begin;
    if (f.array_end != SIZE_MAX) {
        bool opened;
        block->size = f.array_end;
        feed->mode = TAIL;
        parse_head(feed, block->data + f.array_end, size - f.array_end, begin + (int64_t)f.array_end, &opened);
        feed->n_carry = 0;
        return true;
    }
    block->size = f.border;
    if (feed->end_of_file) {
        report_cut(feed, block, f.border, size);
        return true;
    }
    if (size - f.border > EK__EVENT_MAX_BYTES) {
        set_problem(feed, begin + (int64_t)f.border, "an event is longer than %d MB: a quote or bracket is missing",
                    EK__EVENT_MAX_BYTES >> 20);
        feed->mode = ENDED;
        return true;
    }
    return keep_carry(feed, block->data + f.border, size - f.border);
}

bool ek__feed_next(ek__feed *feed, ek__block *block)
{
    if (feed->mode == HEAD)
        read_head(feed, block);
    while (feed->mode == EVENTS && !feed->out_of_memory) {
        if (!frame_block(feed, block))
            break;
        if (feed->mode == TAIL)
            read_tail(feed);
        if (block->size > 0) {
            block->sequence = feed->sequence++;
            return true;
        }
    }
    return false;
}

const char *ek__feed_problem(const ek__feed *feed, int64_t *offset)
{
    if (offset)
        *offset = feed->problem_offset;
    return feed->problem[0] ? feed->problem : NULL;
}

bool ek__feed_out_of_memory(const ek__feed *feed)
{
    return feed->out_of_memory;
}

bool ek__feed_has_events(const ek__feed *feed)
{
    return feed->has_events;
}

const char *ek__feed_header(ek__feed *feed, size_t *size)
{
    *size = feed->n_header;
    return feed->header ? feed->header : "";
}

int64_t ek__feed_bytes(const ek__feed *feed)
{
    return feed->bytes;
}

int64_t ek__feed_total(const ek__feed *feed)
{
    return feed->total;
}

struct ek__gunzip *ek__feed_gunzip(const ek__feed *feed)
{
    return feed->gz;
}

int64_t ek__feed_offset(const ek__feed *feed)
{
    return feed->offset;
}

/* ---- walking ---- */

/* The 64 bits from `from` on. Values begin anywhere in a word, so that whether one crosses into the next word is
 * unpredictable; whether it is longer than 64 bytes is predictable. */
static inline uint64_t bits_from(const uint64_t *bits, size_t from)
{
    size_t word = from / 64, shift = from % 64;
    return bits[word] >> shift | bits[word + 1] << 1 << (63 - shift);
}

/* The first set bit at `from` or later. There is one: the words after the last are all ones. */
static inline size_t next_bit(const uint64_t *bits, size_t from)
{
    uint64_t rest = bits_from(bits, from);
    if (rest != 0)
        return from + (size_t)__builtin_ctzll(rest);
    size_t word = from / 64 + 1;
    while (bits[word] == 0)
        word++;
    return word * 64 + (size_t)__builtin_ctzll(bits[word]);
}

/* Blanks are all bytes up to the space, as for the bits; there are some after the block, so this ends. */
static inline bool is_blank(char c)
{
    return (unsigned char)c <= ' ';
}

static inline size_t skip_blanks(const char *data, size_t at, size_t size)
{
    while (at < size && is_blank(data[at]))
        at++;
    return at;
}

/* The byte after the bracket that closes the one at `from`; 0 when there is none. */
static size_t skip_nested(const ek__block *block, size_t from)
{
    int64_t depth = 0;
    for (size_t at = from; at < block->size; at += 64) {
        uint64_t open = bits_from(block->open, at), close = bits_from(block->close, at);
        for (uint64_t both = open | close; both != 0; both &= both - 1) {
            depth += open & both & -both ? 1 : -1;
            if (depth == 0) {
                size_t end = at + (size_t)__builtin_ctzll(both) + 1;
                return end <= block->size ? end : 0;
            }
        }
    }
    return 0;
}

/* A value at `at`. @return the byte after it, or 0 with *wrong set */
static inline size_t read_value(const ek__block *block, size_t at, ek__span *value, size_t *wrong)
{
    const char *data = block->data;
    char first = data[at];
    size_t end;
    value->quoted = first == '"';
    if (value->quoted) {
        end = next_bit(block->quote, at + 1);
        value->at = data + at + 1;
        value->size = (uint32_t)(end - at - 1);
        end++;
    } else {
        end = first == '{' || first == '[' ? skip_nested(block, at) : next_bit(block->stop, at);
        value->at = data + at;
        value->size = (uint32_t)(end - at);
    }
    *wrong = at;
    return end > at && end <= block->size ? end : 0;
}

/* A key with its colon at `at`. @return the position of its value, or 0 with *wrong set */
static inline size_t read_key(const ek__block *block, size_t at, ek__span *key, size_t *wrong)
{
    const char *data = block->data;
    *wrong = at;
    if (data[at] != '"')
        return 0;
    size_t end = next_bit(block->quote, at + 1);
    *wrong = end;
    if (end >= block->size)
        return 0;
    key->at = data + at + 1;
    key->size = (uint32_t)(end - at - 1);
    key->quoted = true;
    at = skip_blanks(data, end + 1, block->size);
    *wrong = at;
    return data[at] == ':' ? skip_blanks(data, at + 1, block->size) : 0;
}

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define FOUR(a, b, c, d) ((uint32_t)(a) | (uint32_t)(b) << 8 | (uint32_t)(c) << 16 | (uint32_t)(d) << 24)
#else
#define FOUR(a, b, c, d) ((uint32_t)(a) << 24 | (uint32_t)(b) << 16 | (uint32_t)(c) << 8 | (uint32_t)(d))
#endif

/* The destination of a key's value, and the key's size; NULL for a key that is not stored. The quote that ends a known
 * key needs no search: nothing before it could escape it. Four bytes of any key can be read: the block has some after
 * it. */
static inline ek__span *known_key(ek__raw_event *event, ek__span *phase, const char *key, size_t *size)
{
    uint32_t four;
    memcpy(&four, key, 4);
    *size = 3;
    switch (four) {
    case FOUR('p', 'i', 'd', '"'):
        return &event->pid;
    case FOUR('t', 'i', 'd', '"'):
        return &event->tid;
    case FOUR('d', 'u', 'r', '"'):
        return &event->dur;
    case FOUR('c', 'a', 't', '"'):
        return &event->cat;
    case FOUR('n', 'a', 'm', 'e'):
        *size = 4;
        return key[4] == '"' ? &event->name : NULL;
    case FOUR('a', 'r', 'g', 's'):
        *size = 4;
        return key[4] == '"' ? &event->args : NULL;
    default:
        break;
    }
    *size = 2;
    if (key[2] != '"')
        return NULL;
    if (key[0] == 't' && key[1] == 's')
        return &event->ts;
    if (key[0] == 'p' && key[1] == 'h')
        return phase;
    return key[0] == 'i' && key[1] == 'd' ? &event->id : NULL;
}

/* A member of an event at `at`. @return the byte after its value, or 0 with *wrong set */
static inline size_t read_member(const ek__block *block, size_t at, ek__raw_event *event, ek__span *phase,
                                 size_t *wrong)
{
    const char *data = block->data;
    ek__span key, other;
    size_t size;
    if (data[at] != '"') {
        *wrong = at;
        return 0;
    }
    ek__span *value = known_key(event, phase, data + at + 1, &size);
    size_t value_at = at + size + 4;
    if (!value || data[value_at - 2] != ':' || data[value_at - 1] != ' ' || is_blank(data[value_at])) {
        value_at = read_key(block, at, &key, wrong);
        if (value_at == 0)
            return 0;
    }
    return read_value(block, value_at, value ? value : &other, wrong);
}

/* A quarter of the bytes of an Ascend trace are counters, which end with their phase. The last quote closes "C", since
 * a blank or colon precedes the opening one; the key is complete unless a backslash precedes it. */
static bool ends_as_counter(const char *data, size_t begin, size_t end)
{
    static const char spaced[] = "\"ph\": \"C\"}", tight[] = "\"ph\":\"C\"}";
    const size_t longer = sizeof spaced - 1, shorter = sizeof tight - 1;
    if (end - begin < longer + 2 || data[end - 3] != 'C')
        return false;
    return (memcmp(data + end - longer, spaced, longer) == 0 && data[end - longer - 1] != '\\') ||
           (memcmp(data + end - shorter, tight, shorter) == 0 && data[end - shorter - 1] != '\\');
}

/* The usual notation. A predictable branch is faster than computing the number of bytes between: the next key need not
 * wait for them. */
static inline bool another_follows(const char *data)
{
    return data[0] == ',' && data[1] == ' ' && data[2] == '"';
}

static inline void clear_span(ek__span *span)
{
    span->at = NULL;
    span->size = 0;
    span->quoted = false;
}

/* The members of the object that opens at walk->at. */
static ek__walk_state add_event(ek__walk *walk, ek__raw_event *event, bool skip_counters)
{
    const ek__block *block = walk->block;
    size_t begin = walk->at, at = skip_blanks(block->data, begin + 1, block->size), wrong = at;
    size_t behind = skip_counters && walk->in_counters ? skip_nested(block, begin) : 0;
    ek__span phase = {0};
    event->begin = block->data + begin;
    event->phase = 0;
    clear_span(&event->name);
    clear_span(&event->cat);
    clear_span(&event->pid);
    clear_span(&event->tid);
    clear_span(&event->id);
    clear_span(&event->ts);
    clear_span(&event->dur);
    clear_span(&event->args);
    if (behind != 0 && ends_as_counter(block->data, begin, behind)) {
        event->phase = 'C';
        event->size = behind - begin; /* still in_counters */
        walk->at = behind;
        return EK__WALK_EVENT;
    }
    while (block->data[at] != '}') {
        size_t end = at < block->size ? read_member(block, at, event, &phase, &wrong) : 0;
        if (end == 0) {
            walk->at = at < block->size ? wrong : at;
            return EK__WALK_DAMAGED;
        }
        if (another_follows(block->data + end)) {
            at = end + 2;
            continue;
        }
        at = skip_blanks(block->data, end, block->size);
        if (block->data[at] == ',')
            at = skip_blanks(block->data, at + 1, block->size);
        else if (block->data[at] != '}') {
            walk->at = at;
            return EK__WALK_DAMAGED;
        }
    }
    event->phase = phase.at && phase.size > 0 ? phase.at[0] : 0;
    walk->in_counters = event->phase == 'C';
    walk->at = at + 1;
    event->size = at + 1 - begin;
    return at < block->size ? EK__WALK_EVENT : EK__WALK_DAMAGED;
}

static bool is_literal(const ek__span *token)
{
    static const char *const literal[] = {"null", "true", "false"};
    uint32_t n = 0;
    for (size_t i = 0; i < sizeof literal / sizeof *literal; i++)
        if (token->size == strlen(literal[i]) && memcmp(token->at, literal[i], token->size) == 0)
            return true;
    while (n < token->size && strchr("0123456789+-.eE", token->at[n]) && token->at[n])
        n++;
    return n > 0 && n == token->size;
}

/* The byte after a value that is not an object; 0 when it is not JSON either. */
static size_t skip_other(const ek__block *block, size_t at)
{
    ek__span value;
    size_t wrong, end = read_value(block, at, &value, &wrong);
    return end != 0 && (value.quoted || *value.at == '[' || is_literal(&value)) ? end : 0;
}

static inline ek__walk_state walk_on(ek__walk *walk, ek__raw_event *event, bool skip_counters)
{
    const ek__block *block = walk->block;
    for (;;) {
        size_t at = walk->at;
        bool separated = at == 0 && block->sequence == 0; /* a block begins after an event, thus with a comma */
        for (; (is_blank(block->data[at]) || block->data[at] == ',') && at < block->size; at++)
            separated |= block->data[at] == ',';
        walk->at = at;
        if (at >= block->size)
            return EK__WALK_END;
        if (block->data[at] == '{')
            return add_event(walk, event, skip_counters);
        size_t behind = separated ? skip_other(block, at) : 0;
        if (behind == 0)
            return EK__WALK_DAMAGED;
        walk->at = behind;
        walk->n_others++;
    }
}

ek__walk_state ek__walk_next(ek__walk *walk, ek__raw_event *event)
{
    return walk_on(walk, event, true);
}

ek__walk_state ek__walk_whole(ek__walk *walk, ek__raw_event *event)
{
    return walk_on(walk, event, false);
}

bool ek__walk_member(const ek__block *block, const ek__span *object, size_t *at, ek__span *key, ek__span *value)
{
    size_t begin = (size_t)(object->at - block->data), last = begin + object->size, wrong;
    if (object->size < 2 || object->quoted || object->at[0] != '{')
        return false;
    if (*at <= begin)
        *at = begin + 1;
    size_t here = *at;
    while (here < last && (is_blank(block->data[here]) || block->data[here] == ','))
        here++;
    if (here >= last)
        return false;
    size_t value_at = read_key(block, here, key, &wrong);
    size_t end = value_at ? read_value(block, value_at, value, &wrong) : 0;
    if (end == 0 || end > last)
        return false;
    *at = end;
    return true;
}
