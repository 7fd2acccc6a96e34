/* Fuzzes framing of traces: whatever the bytes, blocks of any size hold the same events, and where all of them are
 * sound, the file has the same header and the same problem. The first byte is the size of the smaller blocks. */
#include <assert.h>
#include <string.h>

#include "base/texts.h"
#include "fuzz.h"
#include "trace/scan/scan.h"

/* The events of a file, in an order that blocks must not change. */
typedef struct seen {
    int64_t n_events, n_others, damage; /* damage: byte of the file; -1 */
    uint64_t hash;
} seen;

static void add_number(seen *s, int64_t number)
{
    s->hash = (s->hash ^ (uint64_t)number) * UINT64_C(0x9e3779b97f4a7c15);
    s->hash ^= s->hash >> 29;
}

static void add_span(seen *s, const ek__block *block, const ek__span *span)
{
    if (span->at) {
        assert(span->at >= block->data && span->at + span->size <= block->data + block->size);
        add_number(s, block->offset + (span->at - block->data));
        add_number(s, (int64_t)span->size << 1 | span->quoted);
    }
}

static void add_event(seen *s, const ek__block *block, const ek__raw_event *event)
{
    const ek__span *const spans[] = {&event->name, &event->cat, &event->pid, &event->tid,
                                     &event->id,   &event->ts,  &event->dur, &event->args};
    assert(*event->begin == '{' && event->begin + event->size <= block->data + block->size);
    s->n_events++;
    add_number(s, block->offset + (event->begin - block->data));
    add_number(s, (int64_t)event->size << 8 | (unsigned char)event->phase);
    for (size_t i = 0; i < sizeof spans / sizeof *spans; i++)
        add_span(s, block, spans[i]);
    ek__span key, value;
    for (size_t at = 0; event->args.at && ek__walk_member(block, &event->args, &at, &key, &value);) {
        add_span(s, block, &key);
        add_span(s, block, &value);
    }
}

/* After a damaged place nothing is read, as in readers. */
static void walk(ek__feed *feed, seen *s)
{
    ek__block block = {0};
    int64_t sequence = 0, end = 0;
    *s = (seen){.damage = -1};
    while (s->damage < 0 && ek__feed_next(feed, &block)) {
        ek__walk w = {.block = &block};
        ek__raw_event event;
        ek__walk_state state;
        assert(block.sequence == sequence++ && block.offset >= end && block.size > 0);
        end = block.offset + (int64_t)block.size;
        while ((state = ek__walk_whole(&w, &event)) == EK__WALK_EVENT)
            add_event(s, &block, &event);
        s->n_others += w.n_others;
        if (state == EK__WALK_DAMAGED)
            s->damage = block.offset + (int64_t)w.at;
    }
    ek__block_clear(&block);
}

static void compare(ek__feed *a, ek__feed *b)
{
    seen of_a, of_b;
    walk(a, &of_a);
    walk(b, &of_b);
    assert(of_a.n_events == of_b.n_events && of_a.n_others == of_b.n_others && of_a.damage == of_b.damage);
    assert(of_a.hash == of_b.hash && ek__feed_has_events(a) == ek__feed_has_events(b));
    if (of_a.damage >= 0)
        return;
    int64_t at_a, at_b;
    const char *problem_a = ek__feed_problem(a, &at_a), *problem_b = ek__feed_problem(b, &at_b);
    assert(!problem_a == !problem_b && at_a == at_b && (!problem_a || strcmp(problem_a, problem_b) == 0));
    size_t size_a, size_b;
    const char *header_a = ek__feed_header(a, &size_a), *header_b = ek__feed_header(b, &size_b);
    assert(size_a == size_b && memcmp(header_a, header_b, size_a) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ek__feed *whole, *parts;
    if (size == 0)
        return 0;
    size_t block_bytes = (size_t)data[0] + 4;
    assert(ek__feed_open_buffer("whole", (const char *)data + 1, size - 1, &whole, NULL) == EK_OK);
    if (size % 2 == 0)
        assert(ek__feed_open_buffer("parts", (const char *)data + 1, size - 1, &parts, NULL) == EK_OK);
    else
        assert(ek__feed_open(fuzz_file(data + 1, size - 1), &parts, NULL) == EK_OK);
    ek__feed_limit_blocks(parts, block_bytes);
    if (!ek__feed_gunzip(parts)) /* bytes in memory are never compressed */
        compare(whole, parts);
    ek__feed_close(whole);
    ek__feed_close(parts);
    return 0;
}
