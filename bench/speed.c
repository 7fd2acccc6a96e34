/* Measures how fast traces are read, compared with other programs on the same bytes: cat into a pipe, Python's
 * json.load, and simdjson. Its first stage finds the structure as the reader here does, and its On-Demand takes the
 * name, time and duration of every event. All in one run, so that a noisy machine affects all of them. */
#include <fcntl.h>
#include <malloc.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"
#include "copies.h"
#include "other_parsers.h"
#include "trace/scan/gunzip.h"
#include "trace/scan/scan.h"
#include "trace/trace.h"

enum { MB = 1000000, N_RUNS = 5, PIECE_BYTES = 1 << 20, NO_SPOTS = 0, SPOTS = 1 };

static char folder[] = "/tmp/evenkeel_speedXXXXXX";

/* ---- readings, each in a separate process ---- */

/* As the command does: freed memory stays with the process (cli/main.c). */
static void keep_memory(void)
{
    mallopt(M_MMAP_THRESHOLD, 32 << 20);
    mallopt(M_TRIM_THRESHOLD, 256 << 20);
}

static void read_run(const char *path, void *result)
{
    ek_trace_run run;
    ek_error err;
    keep_memory();
    double begin = bench_now();
    if (ek_trace_run_read(&path, 1, NULL, NULL, &run, &err) != EK_OK)
        bench_give_up("%s", err.message);
    *(double *)result = bench_now() - begin;
}

/* Only the events, without the analyses. */
static void read_events(const char *path, void *result)
{
    ek__pool *pool = ek__pool_new();
    ek_trace_source source = {0};
    ek__trace trace;
    keep_memory();
    double begin = bench_now();
    if (!pool ||
        ek__trace_read(&path, 1, (int)sysconf(_SC_NPROCESSORS_ONLN), NULL, pool, &source, &trace, NULL) != EK_OK)
        bench_give_up("%s cannot be read", path);
    *(double *)result = bench_now() - begin;
}

static void read_cat(const char *path, void *result)
{
    static char piece[PIECE_BYTES];
    char command[256];
    snprintf(command, sizeof command, "cat '%s'", path);
    double begin = bench_now();
    FILE *out = popen(command, "r");
    while (out && read(fileno(out), piece, sizeof piece) > 0) {
    }
    if (!out || pclose(out) != 0)
        bench_give_up("cat failed");
    *(double *)result = bench_now() - begin;
}

static double inflate_seconds(const char *path, int spots)
{
    static char piece[PIECE_BYTES];
    double begin = bench_now();
    ek__gunzip *g = ek__gunzip_new(open(path, O_RDONLY));
    if (!g)
        bench_give_up("%s cannot be read", path);
    if (spots)
        ek__gunzip_note_spots(g, INT64_MAX / 2);
    while (ek__gunzip_read(g, piece, sizeof piece) > 0) {
    }
    ek__gunzip_free(g);
    return bench_now() - begin;
}

static void inflate_isal(const char *path, void *result)
{
    *(double *)result = inflate_seconds(path, NO_SPOTS);
}

static void inflate_zlib(const char *path, void *result)
{
    *(double *)result = inflate_seconds(path, SPOTS);
}

#ifndef HAVE_SIMDJSON
double bench_simdjson_stage1(const char *path)
{
    (void)path;
    return INFINITY;
}

double bench_simdjson_events(const char *path)
{
    (void)path;
    return INFINITY;
}
#endif

static void read_stage1(const char *path, void *result)
{
    *(double *)result = bench_simdjson_stage1(path);
}

static void read_on_demand(const char *path, void *result)
{
    *(double *)result = bench_simdjson_events(path);
}

/* The objects of all of it. INFINITY where there is no Python. */
static void read_python(const char *path, void *result)
{
    char command[512], line[64] = "";
    snprintf(command, sizeof command,
             "python3 -c \"import json,time,os\nb=time.perf_counter()\nd=json.load(open('%s'))\n"
             "print(time.perf_counter()-b, flush=True)\nos._exit(0)\" 2>/dev/null",
             path);
    FILE *out = popen(command, "r");
    bool told = out && fgets(line, sizeof line, out);
    *(double *)result = told ? atof(line) : INFINITY;
    if (out)
        pclose(out);
}

/* ---- the tables ---- */

static const struct way {
    const char *title;
    void (*read)(const char *path, void *result);
    int n_runs;
    bool simdjson;
} ways[] = {{"trace", read_run, N_RUNS, false},
            {"events alone", read_events, N_RUNS, false},
            {"cat", read_cat, N_RUNS, false},
            {"simdjson stage 1", read_stage1, 1, true},
            {"simdjson On-Demand", read_on_demand, 1, true},
            {"json.load", read_python, 1, false}};
enum { N_WAYS = sizeof ways / sizeof *ways };

static double best_of(const struct way *way, const char *path)
{
    double best = INFINITY, seconds;
    for (int i = 0; i < way->n_runs; i++) {
        bench_apart(way->read, path, &seconds, sizeof seconds);
        best = fmin(best, seconds);
    }
    return best;
}

/* Python takes 15 times a file's size of memory: only of the smaller ones. */
static void say_file(const char *name, const char *path, bool python)
{
    double bytes = bench_file_bytes(path);
    bench_say("| %s, %.0f MB |", name, bytes / MB);
    for (int i = 0; i < N_WAYS; i++)
        if (ways[i].simdjson && !BENCH_HAS_SIMDJSON)
            bench_say(" - |");
        else if (ways[i].read == read_python && !python)
            bench_say(" |");
        else
            bench_say(" %.2f |", bytes / best_of(&ways[i], path) / 1e9);
    bench_say("\n");
}

/* `trace`, and only inflating, by ISA-L and by zlib, which notes restart points: decompressed bytes a second. */
static void say_packed(const char *name, const char *path)
{
    static const struct way way[] = {{"trace", read_run, N_RUNS, false},
                                     {"ISA-L", inflate_isal, N_RUNS, false},
                                     {"zlib", inflate_zlib, N_RUNS, false}};
    char command[256], packed[160];
    double bytes = bench_file_bytes(path), seconds[3];
    snprintf(packed, sizeof packed, "%s.gz", path);
    snprintf(command, sizeof command, "gzip -k '%s'", path);
    if (system(command) != 0)
        bench_give_up("gzip failed");
    for (int i = 0; i < 3; i++)
        seconds[i] = best_of(&way[i], packed);
    bench_say("| %s, %.0f MB of %.0f MB | %.2f | %.2f | %.2f | %.1f |\n", name, bench_file_bytes(packed) / MB,
              bytes / MB, bytes / seconds[0] / 1e9, bytes / seconds[1] / 1e9, bytes / seconds[2] / 1e9,
              seconds[2] / seconds[1]);
    bench_hold(seconds[2] >= 2 * seconds[1], "twice zlib's speed for %s", name);
    unlink(packed);
}

static const struct form {
    const char *name, *trace; /* NULL: made */
} forms[] = {{"Ascend", BENCH_ASCEND}, {"Kineto", BENCH_KINETO}, {"dense", NULL}};
enum { N_FORMS = sizeof forms / sizeof *forms };

/* false: the real trace is not there. */
static bool make_file(const struct form *form, const char *path, int64_t bytes)
{
    bench_copies o = {0};
    bool there = !form->trace || bench_copies_take(&o, form->trace);
    if (!form->trace)
        bench_dense_make(path, bytes);
    else if (there)
        bench_copies_make(&o, path, bytes);
    bench_copies_clear(&o);
    return there;
}

static void plain_table(int64_t megabytes, bool python)
{
    char path[128];
    for (int f = 0; f < N_FORMS; f++) {
        snprintf(path, sizeof path, "%s/%s%d.json", folder, forms[f].name, (int)megabytes);
        if (make_file(&forms[f], path, megabytes * MB))
            say_file(forms[f].name, path, python);
        else
            bench_say("| %s: the real trace to copy is not there (EK_SHARED) |\n", forms[f].name);
        if (megabytes > 300)
            unlink(path);
    }
}

void bench_speed(double seconds)
{
    char path[128];
    (void)seconds;
    if (!mkdtemp(folder))
        bench_give_up("no folder in /tmp");
    bench_say("## Speed of reading traces\n\nGB/s, files in the cache, the best of %d (json.load: one): the whole of "
              "`evenkeel trace`, its reader alone, and others over the same bytes, simdjson without reading the file. "
              "Ascend: torch_npu, level 1; Kineto: "
              "PyTorch with shapes and stacks; dense: 190 bytes an event, all kept.%s\n\n|",
              N_RUNS, BENCH_HAS_SIMDJSON ? "" : " simdjson is not installed.");
    bench_say(" file |");
    for (int i = 0; i < N_WAYS; i++)
        bench_say(" %s |", ways[i].title);
    bench_say("\n|---|--:|--:|--:|--:|--:|--:|\n");
    plain_table(300, true);
    plain_table(1000, false);
    bench_say("\nCompressed by gzip, decompressed GB/s: `evenkeel trace`, and inflating alone.\n\n"
              "| file | trace | ISA-L | zlib | times |\n|---|--:|--:|--:|--:|\n");
    for (int f = 0; f < N_FORMS; f++) {
        snprintf(path, sizeof path, "%s/%s300.json", folder, forms[f].name);
        if (access(path, R_OK) == 0)
            say_packed(forms[f].name, path);
        unlink(path);
    }
    rmdir(folder);
}
