/* Measures traces: how fast a step's breakdown is found in files from 10 MB to 20 GB, in how much memory, beside
 * Python's json.load of the same file, and a run of 64 ranks. A file consists of copies of a real trace: every copy is
 * one step later, and its steps and arrows continue the numbering. Every reading is a separate process, so that its
 * memory is measured separately. Files too large for the disk, and the largest one, come through a pipe. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench.h"
#include "copies.h"
#include "trace/trace.h"

enum { MB = 1000000, N_RANKS = 64, N_PYTHON_RUNS = 3 };

/* ---- reading, in a separate process ---- */

typedef struct reading {
    double seconds;
    double peak_mb; /* 2^20 bytes: resident, the most it was */
    int64_t steps, items, kept;
    double computing_us; /* mean over the steps, so that the answer is used */
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

static void read_apart(const char *path, void *result)
{
    reading *r = result;
    ek_trace_run run;
    ek_error err;
    double begin = bench_now();
    if (ek_trace_run_read(&path, 1, NULL, NULL, &run, &err) != EK_OK)
        bench_give_up("%s", err.message);
    r->seconds = bench_now() - begin;
    steps_of(&run, r);
    r->peak_mb = bench_peak_mb();
}

static reading read_run(const char *path)
{
    reading r = {0};
    bench_apart(read_apart, path, &r, sizeof r);
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

/* Python reads the whole file into objects: the seconds of json.load, and the peak memory. 0 without Python. */
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

static void say_reading(const char *size, double bytes, const reading *r, double kept)
{
    double limit = 512 + 32 * kept / (1 << 20);
    bench_say("| %s | %.2f s | %.2f GB/s | %" PRId64 " | %.0f MB | %.0f MB |\n", size, r->seconds,
              bytes / r->seconds / 1e9, r->steps, r->peak_mb, limit);
    bench_hold(r->peak_mb <= limit, "%s of trace in %.0f MB", size, limit);
    bench_hold(r->problems == 0 && r->steps > 0, "%s of trace read to its end", size);
}

/* The best of several, since others may be disturbed. */
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

static void size_table(const bench_copies *o, double *gigabyte_seconds, char *gigabyte, size_t size)
{
    static const int64_t sizes[] = {10, 100, 1000};
    static const char *const names[] = {"10 MB", "100 MB", "1 GB"};
    double per_byte[3];
    bench_say("| file | time | rate | steps | resident | allowed |\n|---|--:|--:|--:|--:|--:|\n");
    for (int i = 0; i < 3; i++) {
        char path[128];
        snprintf(path, sizeof path, "%s/trace_view%d.json", folder, i);
        bench_copies_make(o, path, sizes[i] * MB);
        reading r = best_of(5, path);
        per_byte[i] = r.seconds / bench_file_bytes(path);
        say_reading(names[i], bench_file_bytes(path), &r, (double)count_kept(path));
        if (i == 2) {
            *gigabyte_seconds = r.seconds;
            snprintf(gigabyte, size, "%s", path);
        } else
            unlink(path);
    }
    bench_hold(per_byte[2] < 1.5 * per_byte[1], "time growing linearly from 100 MB to 1 GB");
    bench_hold(1 / per_byte[2] >= 1e9, "1 GB/s for the step breakdown");
}

static void stream_line(const bench_copies *o, int64_t bytes, double kept_per_byte, double seconds_per_byte)
{
    char path[128];
    reading r = {0};
    snprintf(path, sizeof path, "%s/trace_view.json", folder);
    bench_copies_pipe(o, path, bytes, read_apart, &r, sizeof r);
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

static void ranks_line(const bench_copies *o)
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
        bench_copies_make(o, path, (int64_t)(100 + i % 4) * MB);
        bytes += bench_file_bytes(path);
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
    bench_copies o = {0};
    char gigabyte[128] = "";
    double gigabyte_seconds = 0;
    bench_say("## Traces\n\n");
    if (!bench_copies_take(&o, BENCH_ASCEND)) {
        bench_say("Not measured: the real trace to copy is not there (EK_SHARED).\n");
        bench_copies_clear(&o);
        return;
    }
    if (!mkdtemp(folder))
        bench_give_up("no folder in /tmp");
    bench_say("A real trace (torch_npu, level 1, %.1f MB) over and over, a step later each time; the whole of "
              "`evenkeel trace`, all cores, files in the cache, the best of five.\n\n",
              (double)o.size / MB);
    size_table(&o, &gigabyte_seconds, gigabyte, sizeof gigabyte);
    stream_line(&o, (int64_t)(20 * seconds) * 1000 * MB, (double)count_kept(gigabyte) / bench_file_bytes(gigabyte),
                gigabyte_seconds / bench_file_bytes(gigabyte));
    python_line(gigabyte, gigabyte_seconds);
    ranks_line(&o);
    remove_folder();
    bench_copies_clear(&o);
}
