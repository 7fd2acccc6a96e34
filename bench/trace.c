/* Traces: how fast a step's breakdown is found in files from 10 MB to 20 GB, in how much memory, beside Python's
 * json.load of the same file, and a run of 64 ranks. A file is a real trace over and over: every copy is a step later,
 * with steps and arrows numbered on. Every reading is a process of its own, whose memory is then its alone. Files that
 * the disk has no room for, and the largest one, come through a pipe. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"
#include "trace/scan.h"
#include "trace/trace.h"

enum { MB = 1000000, MAX_SLOTS = 1 << 20, OUT_BYTES = 1 << 20, N_RANKS = 64, N_PYTHON_RUNS = 3 };

/* ---- a file made of copies ---- */

typedef enum slot_kind { SLOT_TIME, SLOT_ID, SLOT_STEP } slot_kind;

/* A number of the original that each copy counts on. */
typedef struct slot {
    size_t begin, end;
    slot_kind kind;
    int64_t value; /* nanoseconds; id; step */
} slot;

typedef struct original {
    char *text; /* between '[' and ']' */
    size_t size;
    size_t n_slots;
    slot *slot;
    int64_t period; /* from one copy to the next, nanoseconds */
} original;

static void add_slot(original *o, const char *at, size_t size, slot_kind kind, int64_t value)
{
    if (o->n_slots == MAX_SLOTS)
        bench_give_up("the trace to copy has too many events");
    o->slot[o->n_slots++] = (slot){(size_t)(at - o->text), (size_t)(at - o->text) + size, kind, value};
}

static void find_slots(original *o, const ek__raw_event *e, int64_t *first, int64_t *last)
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
    const slot *x = a, *y = b;
    return x->begin < y->begin ? -1 : x->begin > y->begin;
}

/* The first block of a small trace is all of it. */
static bool take_original(const char *path, original *o)
{
    ek__feed *feed;
    ek__block block = {0};
    int64_t first = INT64_MAX, last = INT64_MIN;
    FILE *file = fopen(path, "rb");
    struct stat about;
    if (!file || fstat(fileno(file), &about) != 0)
        return false;
    char *text = malloc((size_t)about.st_size + 1);
    size_t size = text ? fread(text, 1, (size_t)about.st_size, file) : 0;
    fclose(file);
    o->slot = malloc(MAX_SLOTS * sizeof *o->slot);
    o->text = malloc(size + 1);
    if (!text || !o->text || !o->slot || ek__feed_open_buffer(path, text, size, &feed, NULL) != EK_OK)
        bench_give_up("out of memory");
    while (ek__feed_next(feed, &block)) {
        ek__walk walk = {.block = &block};
        ek__raw_event e;
        /* Blocks one behind the other are the inside of the array. */
        char *block_text = o->text + o->size;
        memcpy(block_text, block.data, block.size);
        while (ek__walk_whole(&walk, &e) == EK__WALK_EVENT) {
            ek__span *const span[] = {&e.ts, &e.id, &e.dur, &e.name};
            for (size_t i = 0; i < sizeof span / sizeof *span; i++)
                if (span[i]->at)
                    span[i]->at = block_text + (span[i]->at - block.data);
            find_slots(o, &e, &first, &last);
        }
        o->size += block.size;
    }
    ek__block_clear(&block);
    ek__feed_close(feed);
    free(text);
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
static size_t make_copy(const original *o, int64_t copy, char *out)
{
    size_t n = 0, at = 0;
    for (size_t i = 0; i < o->n_slots; i++) {
        const slot *s = &o->slot[i];
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

static int64_t write_copies(const original *o, int fd, int64_t bytes)
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

/* ---- reading, in a process of its own ---- */

typedef struct reading {
    double seconds;
    double peak_mb; /* 2^20 bytes: resident, the most it was */
    int64_t steps, items, kept;
    double computing_us; /* mean over the steps, so that the answer is looked at */
    int problems;
} reading;

static int64_t steps_of(const ek_trace_run *run, reading *r)
{
    for (int i = 0; i < run->n_ranks; i++) {
        r->steps += run->rank[i].n_steps;
        r->items += run->rank[i].counts.n_items;
        for (int s = 0; s < run->rank[i].n_sources; s++)
            r->problems += run->rank[i].source[s].problem != NULL;
        r->computing_us += (double)run->rank[i].mean.computing / 1000 / run->n_ranks;
    }
    return r->steps;
}

static reading read_run(const char *path)
{
    int channel[2];
    reading r = {0};
    if (pipe(channel) != 0)
        bench_give_up("no pipe");
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        ek_trace_run run;
        ek_error err;
        double begin = bench_now();
        if (ek_trace_run_read(&path, 1, NULL, NULL, &run, &err) != EK_OK) {
            fprintf(stderr, "bench: %s\n", err.message);
            _exit(1);
        }
        r.seconds = bench_now() - begin;
        steps_of(&run, &r);
        struct rusage usage;
        getrusage(RUSAGE_SELF, &usage);
        r.peak_mb = (double)usage.ru_maxrss / 1024;
        _exit(write(channel[1], &r, sizeof r) == sizeof r ? 0 : 1);
    }
    close(channel[1]);
    int status;
    bool told = read(channel[0], &r, sizeof r) == (ssize_t)sizeof r;
    close(channel[0]);
    waitpid(child, &status, 0);
    if (!told)
        bench_give_up("reading %s failed", path);
    return r;
}

/* Events of the trace that reading keeps, by the size of the file. */
static int64_t count_kept(const char *path)
{
    ek__pool *pool = ek__pool_new();
    ek_trace_source source = {0};
    ek__trace trace;
    int64_t kept = 0;
    if (!pool || ek__trace_read(&path, 1, 2, NULL, pool, &source, &trace, NULL) != EK_OK)
        bench_give_up("%s cannot be read", path);
    for (int kind = 0; kind < EK__N_EVENT_KINDS; kind++)
        kept += (int64_t)trace.of[kind].n;
    ek__trace_clear(&trace);
    ek__pool_free(pool);
    return kept;
}

/* Python reads all of it into objects: the seconds of json.load alone, and the most it held. 0 where there is none. */
static double python_seconds(const char *path, double *peak_mb)
{
    char command[1024], line[128] = "";
    snprintf(command, sizeof command,
             "python3 -c \"import json,time,resource as r\nb=time.perf_counter()\nd=json.load(open('%s'))\n"
             "print(time.perf_counter()-b, r.getrusage(r.RUSAGE_SELF).ru_maxrss/1024, flush=True)\nimport os\n"
             "os._exit(0)\" 2>/dev/null",
             path);
    FILE *out = popen(command, "r");
    double seconds = 0;
    *peak_mb = 0;
    if (out && fgets(line, sizeof line, out) && sscanf(line, "%lf %lf", &seconds, peak_mb) != 2)
        seconds = 0;
    if (out)
        pclose(out);
    return seconds;
}

/* ---- the tables ---- */

static char folder[] = "/tmp/evenkeel_benchXXXXXX";

static void make_file(const original *o, const char *path, int64_t bytes)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (fd < 0)
        bench_give_up("cannot write %s", path);
    write_copies(o, fd, bytes);
    close(fd);
}

static double file_bytes(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 ? (double)about.st_size : 0;
}

static void say_reading(const char *size, double bytes, const reading *r, double kept)
{
    double limit = 512 + 32 * kept / (1 << 20);
    bench_say("| %s | %.2f s | %.2f GB/s | %" PRId64 " | %.0f MB | %.0f MB |\n", size, r->seconds,
              bytes / r->seconds / 1e9, r->steps, r->peak_mb, limit);
    bench_hold(r->peak_mb <= limit, "%s of trace in %.0f MB", size, limit);
    bench_hold(r->problems == 0 && r->steps > 0, "%s of trace read to its end", size);
}

/* The best of several: the others were disturbed. */
static reading best_of(int n, const char *path)
{
    reading best = read_run(path);
    for (int i = 1; i < n; i++) {
        reading r = read_run(path);
        if (r.seconds < best.seconds)
            best = r;
    }
    return best;
}

static void size_table(const original *o, double *gigabyte_seconds, char *gigabyte, size_t size)
{
    static const int64_t sizes[] = {10, 100, 1000};
    static const char *const names[] = {"10 MB", "100 MB", "1 GB"};
    double per_byte[3];
    bench_say("| file | time | rate | steps | resident | allowed |\n|---|--:|--:|--:|--:|--:|\n");
    for (int i = 0; i < 3; i++) {
        char path[128];
        snprintf(path, sizeof path, "%s/trace_view%d.json", folder, i);
        make_file(o, path, sizes[i] * MB);
        reading r = best_of(5, path);
        per_byte[i] = r.seconds / file_bytes(path);
        say_reading(names[i], file_bytes(path), &r, (double)count_kept(path));
        if (i == 2) {
            *gigabyte_seconds = r.seconds;
            snprintf(gigabyte, size, "%s", path);
        } else
            unlink(path);
    }
    bench_hold(per_byte[2] < 1.5 * per_byte[1], "time growing linearly from 100 MB to 1 GB");
    bench_hold(1 / per_byte[2] >= 1e9, "1 GB/s for the step breakdown");
}

static void stream_line(const original *o, int64_t bytes, double kept_per_byte, double seconds_per_byte)
{
    char path[128];
    snprintf(path, sizeof path, "%s/trace_view.json", folder);
    if (mkfifo(path, 0600) != 0)
        bench_give_up("no pipe");
    fflush(NULL);
    pid_t writer = fork();
    if (writer == 0) {
        int fd = open(path, O_WRONLY);
        write_copies(o, fd, bytes);
        close(fd);
        _exit(0);
    }
    reading r = read_run(path);
    int status;
    waitpid(writer, &status, 0);
    unlink(path);
    say_reading("20 GB, from a pipe", (double)bytes, &r, kept_per_byte * (double)bytes);
    bench_say("\nThrough the pipe the time is that of writer and reader on the same cores: %.2f times that of a file, "
              "a byte.\n",
              r.seconds / (double)bytes / seconds_per_byte);
}

static void python_line(const char *path, double seconds)
{
    double peak_mb, python = INFINITY;
    for (int i = 0; i < N_PYTHON_RUNS; i++) /* the best, as for our own */
        python = fmin(python, python_seconds(path, &peak_mb));
    if (python <= 0) {
        bench_say("\njson.load: there is no python3, or not enough memory for it.\n");
        return;
    }
    bench_say(
        "\nPython's json.load of the same file, without looking at an event, the best of three: %.1f s and %.0f MB, "
        "%.0f times as long.\n",
        python, peak_mb, python / seconds);
    bench_hold(python / seconds >= 40, "40 times as fast as json.load");
}

static void ranks_line(const original *o)
{
    char path[256], run[128];
    double bytes = 0;
    snprintf(run, sizeof run, "%s/run", folder);
    mkdir(run, 0700);
    for (int i = 0; i < N_RANKS; i++) {
        snprintf(path, sizeof path, "%s/rank_%d", run, i);
        mkdir(path, 0700);
        snprintf(path, sizeof path, "%s/rank_%d/ASCEND_PROFILER_OUTPUT", run, i);
        mkdir(path, 0700);
        snprintf(path, sizeof path, "%s/rank_%d/ASCEND_PROFILER_OUTPUT/trace_view.json", run, i);
        make_file(o, path, (int64_t)(100 + i % 4) * MB);
        bytes += file_bytes(path);
    }
    reading r = read_run(run);
    bench_say("\n64 ranks of 100 MB in one run: %.1f s, %.2f GB/s, %" PRId64 " events, %.0f MB resident.\n", r.seconds,
              bytes / r.seconds / 1e9, r.items, r.peak_mb);
    bench_hold(r.problems == 0 && r.peak_mb < 1024, "64 ranks in 1 GB");
}

static void remove_folder(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    if (system(command) != 0)
        fprintf(stderr, "bench: %s could not be removed\n", folder);
}

void bench_trace(double seconds)
{
    original o = {0};
    char path[1024], gigabyte[128] = "";
    const char *shared = getenv("EK_SHARED");
    double gigabyte_seconds = 0;
    snprintf(path, sizeof path,
             "%s/reference/traces/ascend/msinsight/text/level1/rank0_ascend_pt/ASCEND_PROFILER_OUTPUT/trace_view.json",
             shared ? shared : "../shared");
    bench_say("## Traces\n\n");
    if (!take_original(path, &o)) {
        bench_say("Not measured: the real trace to copy is not there (EK_SHARED).\n");
        free(o.text);
        free(o.slot);
        return;
    }
    if (!mkdtemp(folder))
        bench_give_up("no folder in /tmp");
    bench_say("A real trace (torch_npu, level 1, %.1f MB) over and over, a step later each time; the whole of "
              "`evenkeel trace`, all cores, files in the cache, the best of five.\n\n",
              (double)o.size / MB);
    size_table(&o, &gigabyte_seconds, gigabyte, sizeof gigabyte);
    stream_line(&o, (int64_t)(20 * seconds) * 1000 * MB, (double)count_kept(gigabyte) / file_bytes(gigabyte),
                gigabyte_seconds / file_bytes(gigabyte));
    python_line(gigabyte, gigabyte_seconds);
    ranks_line(&o);
    remove_folder();
    free(o.text);
    free(o.slot);
}
