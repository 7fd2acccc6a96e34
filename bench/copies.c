/* Writes copies of a real trace one after another: every copy is one step later, and its steps and arrows continue the
 * numbering. */
#include "copies.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"
#include "trace/scan/scan.h"
#include "trace/trace.h"

/* LINKS: more than a trace has; four thousand copies stay within 32 bits. */
enum { MAX_SLOTS = 1 << 20, LINKS = 1000000 };

static void add_slot(bench_copies *o, const char *at, size_t size, bench_slot_kind kind, int64_t value)
{
    if (o->n_slots == MAX_SLOTS)
        bench_give_up("the trace to copy has too many events");
    o->slot[o->n_slots++] = (bench_slot){(size_t)(at - o->text), (size_t)(at - o->text) + size, kind, value};
}

static void find_slots(bench_copies *o, const ek__raw_event *e, int64_t *first, int64_t *last)
{
    int64_t start = 0, duration = 0;
    static const char mark[] = "ProfilerStep#";
    if (e->ts.at && ek__parse_us(e->ts.at, e->ts.size, &start)) {
        add_slot(o, e->ts.at, e->ts.size, SLOT_TIME, start);
        if (e->dur.at)
            ek__parse_us(e->dur.at, e->dur.size, &duration);
        *first = start < *first ? start : *first;
        *last = start + duration > *last ? start + duration : *last;
    }
    if (e->id.at)
        add_slot(o, e->id.at, e->id.size, SLOT_ID, atoll(e->id.at));
    if (e->name.at && e->name.size > sizeof mark - 1 && memcmp(e->name.at, mark, sizeof mark - 1) == 0)
        add_slot(o, e->name.at + sizeof mark - 1, e->name.size - (sizeof mark - 1), SLOT_STEP,
                 atoll(e->name.at + sizeof mark - 1));
}

static int by_place(const void *a, const void *b)
{
    const bench_slot *x = a, *y = b;
    return x->begin < y->begin ? -1 : x->begin > y->begin;
}

/* The number shared by a call and its kernel: it must differ between copies. */
static void find_links(bench_copies *o, const ek__block *block, const ek__raw_event *e, ptrdiff_t moved)
{
    size_t at = 0;
    ek__span key, value;
    while (e->args.at && ek__walk_member(block, &e->args, &at, &key, &value)) {
        bool link = (key.size == 11 && memcmp(key.at, "correlation", 11) == 0) ||
                    (key.size == 11 && memcmp(key.at, "External id", 11) == 0);
        if (link && !value.quoted)
            add_slot(o, value.at + moved, value.size, SLOT_LINK, atoll(value.at));
    }
}

/* Consecutive blocks are the inside of the array. */
static void take_block(bench_copies *o, const ek__block *block, int64_t *first, int64_t *last)
{
    ek__walk walk = {.block = block};
    ek__raw_event e;
    o->text = realloc(o->text, o->size + block->size);
    if (!o->text)
        bench_give_up("out of memory");
    ptrdiff_t moved = o->text + o->size - block->data;
    memcpy(o->text + o->size, block->data, block->size);
    while (ek__walk_whole(&walk, &e) == EK__WALK_EVENT) {
        ek__span *const span[] = {&e.ts, &e.id, &e.dur, &e.name};
        find_links(o, block, &e, moved);
        for (size_t i = 0; i < sizeof span / sizeof *span; i++)
            if (span[i]->at)
                span[i]->at += moved;
        find_slots(o, &e, first, last);
    }
    o->size += block->size;
}

bool bench_copies_take(bench_copies *o, const char *trace)
{
    char path[1024];
    const char *shared = getenv("EK_SHARED");
    ek__feed *feed;
    ek__block block = {0};
    int64_t first = INT64_MAX, last = INT64_MIN;
    snprintf(path, sizeof path, "%s/reference/traces/%s", shared ? shared : "../shared", trace);
    if (access(path, R_OK) != 0)
        return false;
    o->slot = malloc(MAX_SLOTS * sizeof *o->slot);
    if (!o->slot || ek__feed_open(path, &feed, NULL) != EK_OK)
        bench_give_up("out of memory");
    while (ek__feed_next(feed, &block))
        take_block(o, &block, &first, &last);
    ek__block_clear(&block);
    ek__feed_close(feed);
    qsort(o->slot, o->n_slots, sizeof *o->slot, by_place);
    o->period = last - first + 1000000;
    return o->size > 0;
}

static void write_all(int fd, const char *text, size_t size)
{
    while (size > 0) {
        ssize_t n = write(fd, text, size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            bench_give_up("cannot write a trace: %s", strerror(errno));
        text += n;
        size -= (size_t)n;
    }
}

/* One copy into a buffer with room for it; gives its size. */
static size_t make_copy(const bench_copies *o, int64_t copy, char *out)
{
    size_t n = 0, at = 0;
    for (size_t i = 0; i < o->n_slots; i++) {
        const bench_slot *s = &o->slot[i];
        memcpy(out + n, o->text + at, s->begin - at);
        n += s->begin - at;
        at = s->end;
        int64_t value = s->value;
        if (s->kind == SLOT_TIME) {
            value += copy * o->period;
            n += (size_t)sprintf(out + n, "%" PRId64 ".%03d", value / 1000, (int)(value % 1000));
        } else if (s->kind == SLOT_ID)
            n += (size_t)sprintf(out + n, "%" PRId64, value + copy * INT64_C(20000000000000));
        else
            n += (size_t)sprintf(out + n, "%" PRId64, value + copy);
    }
    memcpy(out + n, o->text + at, o->size - at);
    return n + o->size - at;
}

int64_t bench_copies_write(const bench_copies *o, int fd, int64_t bytes)
{
    char *buffer = malloc(2 * o->size + 64 * o->n_slots);
    int64_t total = 1, copy = 0;
    if (!buffer)
        bench_give_up("out of memory");
    write_all(fd, "[", 1);
    do {
        if (copy > 0)
            write_all(fd, ", ", 2);
        size_t n = make_copy(o, copy++, buffer);
        write_all(fd, buffer, n);
        total += (int64_t)n + 2;
    } while (total + (int64_t)o->size <= bytes);
    write_all(fd, "]", 1);
    free(buffer);
    return copy;
}

void bench_copies_make(const bench_copies *o, const char *path, int64_t bytes)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (fd < 0)
        bench_give_up("cannot write %s", path);
    bench_copies_write(o, fd, bytes);
    close(fd);
}

void bench_copies_pipe(const bench_copies *o, const char *path, int64_t bytes,
                       void (*work)(const char *path, void *result), void *result, size_t size)
{
    int status;
    if (mkfifo(path, 0600) != 0)
        bench_give_up("no pipe");
    fflush(NULL);
    pid_t writer = fork();
    if (writer == 0) {
        int fd = open(path, O_WRONLY);
        bench_copies_write(o, fd, bytes);
        close(fd);
        _exit(0);
    }
    bench_apart(work, path, result, size);
    waitpid(writer, &status, 0);
    unlink(path);
}

bool bench_index_has_room(const char *folder, int64_t bytes)
{
    struct statvfs room;
    if (statvfs(folder, &room) == 0 && (double)room.f_bavail * (double)room.f_frsize >= 0.4 * (double)bytes)
        return true;
    bench_say("\n20 GB: not measured, the disk has no room for its index.\n");
    return false;
}

void bench_copies_clear(bench_copies *o)
{
    free(o->text);
    free(o->slot);
    *o = (bench_copies){0};
}

double bench_file_bytes(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 ? (double)about.st_size : 0;
}
