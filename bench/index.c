/* Measures indices of traces: how fast one is written beside `evenkeel trace` on the same file in the same minutes, in
 * how much memory, and its size. The largest trace comes through a pipe, as for `trace`, where the disk has room for
 * its index and for the runs of the sort. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "bench.h"
#include "copies.h"
#include "evenkeel/trace.h"
#include "index/write.h"

enum { MB = 1000000, N_RUNS = 5 };

static char folder[] = "/tmp/evenkeel_benchXXXXXX";

typedef struct measured {
    double seconds, peak_mb, index_bytes, n_events;
    bool problem;
} measured;

enum { TRACE_PATH, PIPE_PATH, INDEX_PATH, N_PATHS };
static char path_of[N_PATHS][64];

static void name_files(void)
{
    static const char *const name[N_PATHS] = {"trace_view.json", "pipe.json", "index"};
    for (int i = 0; i < N_PATHS; i++)
        snprintf(path_of[i], sizeof path_of[i], "%s/%s", folder, name[i]);
}

static void read_apart(const char *path, void *result)
{
    measured *m = result;
    ek_trace_run run;
    ek_error err;
    double begin = bench_now();
    if (ek_trace_run_read(&path, 1, NULL, NULL, &run, &err) != EK_OK)
        bench_give_up("%s", err.message);
    m->seconds = bench_now() - begin;
}

static void write_apart(const char *path, void *result)
{
    measured *m = result;
    ek__index_written written;
    ek_error err;
    double begin = bench_now();
    if (ek__index_write(path, path_of[INDEX_PATH], NULL, 0, 1, &written, &err) != EK_OK)
        bench_give_up("%s", err.message);
    m->seconds = bench_now() - begin;
    m->peak_mb = bench_peak_mb();
    m->index_bytes = (double)written.bytes_index;
    m->n_events = (double)written.n_events;
    m->problem = written.problem[0] != '\0';
}

/* The best of several, in turns, since others may be disturbed. */
static void measure(const char *path, measured *reading, measured *writing)
{
    for (int i = 0; i < N_RUNS; i++) {
        measured r = {0}, w = {0};
        bench_apart(read_apart, path, &r, sizeof r);
        bench_apart(write_apart, path, &w, sizeof w);
        unlink(path_of[INDEX_PATH]);
        if (i == 0 || r.seconds < reading->seconds)
            *reading = r;
        if (i == 0 || w.seconds < writing->seconds)
            *writing = w;
    }
}

static void say_line(const char *size, double bytes, double trace_seconds, const measured *w)
{
    bench_say("| %s | %.2f s | %.2f GB/s | %.2f | %.0f MB | %.0f MB, %.1f %% |\n", size, w->seconds,
              bytes / w->seconds / 1e9, trace_seconds / w->seconds, w->peak_mb, w->index_bytes / MB,
              100 * w->index_bytes / bytes);
    bench_hold(w->peak_mb < 300, "the index of %s in 300 MB", size);
    bench_hold(!w->problem && w->n_events > 0, "the index of %s whole", size);
}

static void size_table(const bench_copies *o)
{
    static const int64_t sizes[] = {10, 100, 1000};
    static const char *const names[] = {"10 MB", "100 MB", "1 GB"};
    bench_say("| file | index | rate | of `trace`'s speed | resident | index |\n"
              "|---|--:|--:|--:|--:|--:|\n");
    for (int i = 0; i < 3; i++) {
        measured reading = {0}, writing = {0};
        const char *path = path_of[TRACE_PATH];
        bench_copies_make(o, path, sizes[i] * MB);
        measure(path, &reading, &writing);
        say_line(names[i], bench_file_bytes(path), reading.seconds, &writing);
        if (i == 2)
            bench_hold(2 * reading.seconds >= writing.seconds, "half the speed of `trace`");
        unlink(path);
    }
}

static void stream_line(const bench_copies *o, int64_t bytes)
{
    measured reading = {0}, writing = {0};
    if (!bench_index_has_room(folder, bytes))
        return;
    bench_copies_pipe(o, path_of[PIPE_PATH], bytes, read_apart, &reading, sizeof reading);
    bench_copies_pipe(o, path_of[PIPE_PATH], bytes, write_apart, &writing, sizeof writing);
    unlink(path_of[INDEX_PATH]);
    say_line("20 GB, from a pipe", (double)bytes, reading.seconds, &writing);
}

void bench_index(double seconds)
{
    bench_copies o = {0};
    bench_say("## Indices of traces\n\n");
    if (!bench_copies_take(&o, BENCH_ASCEND)) {
        bench_say("Not measured: the real trace to copy is not there (EK_SHARED).\n");
        bench_copies_clear(&o);
        return;
    }
    if (!mkdtemp(folder))
        bench_give_up("no folder in /tmp");
    name_files();
    bench_say(
        "The same files as above, all cores, in the cache, the best of five in turns with `trace`: the ratio is of "
        "these runs, `trace` by itself is above.\n\n");
    size_table(&o);
    stream_line(&o, (int64_t)(20 * seconds) * 1000 * MB);
    rmdir(folder);
    bench_copies_clear(&o);
}
