/* Runs the bench and writes its report. It measures simulation speed and its growth; every balancing case with default
 * options, and the linear method beside the default on the cases that the original tool was run on; the gaps of the
 * certificates; tuning from a training YAML to its settings; traces from 10 MB to 20 GB; graphs as text; predicted
 * against published memory and steps; the linter's findings in shipped files; the diagnosis of faults injected in runs;
 * and the page in a browser. Prints tables with ratios, so that a noisy machine affects both sides, writes them as
 * Markdown to the given file, and fails where a bound that the project promises does not hold.
 *
 * usage: [BENCH_PARTS="gaps bounds"] [MILP_SECONDS=60] ... bench [FILE.md [COMMIT]]
 * BENCH_PARTS names the parts to run, by default all, in the order of the table below; the seconds of its last column
 * are the time limit of a run of the part, and 0 leaves the part out. */
#include "bench.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const struct part {
    const char *name;
    void (*run)(double seconds);
    const char *variable; /* of the environment, instead of `seconds` */
    double seconds;
} parts[] = {
    {"simulation", bench_simulation, NULL, 1},
    {"balance", bench_balance, NULL, 90},
    {"linear", bench_linear, "MILP_SECONDS", 60},
    {"gaps", bench_gaps, "GAP_SECONDS", 60},
    {"stages", bench_stages, "STAGES_SECONDS", 10},
    {"growth", bench_growth, "GROWTH_SECONDS", 55},
    {"way", bench_way, NULL, 1},
    {"trace", bench_trace, NULL, 1},
    {"speed", bench_speed, NULL, 1},
    {"index", bench_index, NULL, 1},
    {"ask", bench_ask, NULL, 1},
    {"ir", bench_ir, NULL, 1},
    {"memory", bench_memory, NULL, 1},
    {"estimate", bench_estimate, "ESTIMATE_FOLDS", 5},
    {"layouts", bench_layouts, "LAYOUT_SECONDS", 60},
    {"lint", bench_lint, NULL, 1},
    {"faults", bench_faults, NULL, 1},
    {"frames", bench_frames, NULL, 1},
    {"bounds", bench_bounds, "BOUNDS_SECONDS", 10}, /* last: it checks the results of the others */
};
enum { N_PARTS = sizeof parts / sizeof *parts };

static int failures;
static FILE *report;

void bench_say(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    va_list again;
    va_copy(again, arguments);
    vprintf(format, arguments);
    fflush(stdout);
    if (report)
        vfprintf(report, format, again);
    va_end(again);
    va_end(arguments);
}

void bench_hold(bool fine, const char *format, ...)
{
    if (fine)
        return;
    failures++;
    va_list arguments;
    va_start(arguments, format);
    fputs("bench: ", stderr);
    vfprintf(stderr, format, arguments);
    fputs(" does not hold\n", stderr);
    va_end(arguments);
}

void bench_give_up(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fputs("bench: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    exit(2);
}

double bench_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void bench_apart(void (*work)(const char *path, void *result), const char *path, void *result, size_t size)
{
    int channel[2], status;
    if (pipe(channel) != 0)
        bench_give_up("no pipe");
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        work(path, result);
        _exit(write(channel[1], result, size) == (ssize_t)size ? 0 : 1);
    }
    close(channel[1]);
    bool told = read(channel[0], result, size) == (ssize_t)size;
    close(channel[0]);
    waitpid(child, &status, 0);
    if (!told)
        bench_give_up("what was to be done with %s failed", path);
}

double bench_peak_mb(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)usage.ru_maxrss / 1024;
}

/* The processor's name, where the system provides it. */
static void processor(char *name, size_t size)
{
    char line[256];
    FILE *file = fopen("/proc/cpuinfo", "r");
    snprintf(name, size, "unknown processor");
    while (file && fgets(line, sizeof line, file)) {
        const char *value = strstr(line, ": ");
        if (strncmp(line, "model name", 10) == 0 && value) {
            snprintf(name, size, "%.*s", (int)strcspn(value + 2, "\n"), value + 2);
            break;
        }
    }
    if (file)
        fclose(file);
}

/* Tick the parts that the words of the list name. */
static void choose_parts(const char *list, bool *chosen)
{
    for (const char *at = list + strspn(list, " ,"); *at; at += strspn(at, " ,")) {
        size_t length = strcspn(at, " ,");
        int i = 0;
        while (i < N_PARTS && (strlen(parts[i].name) != length || strncmp(parts[i].name, at, length) != 0))
            i++;
        if (i == N_PARTS)
            bench_give_up("there is no part '%.*s' in BENCH_PARTS", (int)length, at);
        chosen[i] = true;
        at += length;
    }
}

static double part_seconds(const struct part *part)
{
    const char *text = part->variable ? getenv(part->variable) : NULL;
    return text ? atof(text) : part->seconds;
}

int main(int argc, char **argv)
{
    char name[128];
    struct utsname system;
    bool chosen[N_PARTS] = {false};
    const char *list = getenv("BENCH_PARTS");
    if (list)
        choose_parts(list, chosen);
    report = argc > 1 ? fopen(argv[1], "w") : NULL;
    if (argc > 1 && !report)
        bench_give_up("cannot write '%s'", argv[1]);
    processor(name, sizeof name);
    uname(&system);
    bench_say("# Benchmarks\n\nWritten by `./run bench`; do not edit.\n\nMachine: %s, %ld cores, %s %s. Commit: %s.\n",
              name, sysconf(_SC_NPROCESSORS_ONLN), system.sysname, system.machine, argc > 2 ? argv[2] : "unknown");
    if (list)
        bench_say("Only these parts: %s.\n", list);
    double begin = bench_now();
    for (int i = 0; i < N_PARTS; i++)
        if ((!list || chosen[i]) && part_seconds(&parts[i]) > 0) {
            bench_say("\n");
            parts[i].run(part_seconds(&parts[i]));
        }
    bench_say("\nAll of this took %.0f s.\n", bench_now() - begin);
    if (report && fclose(report) != 0)
        bench_give_up("cannot write '%s'", argv[1]);
    return failures > 0;
}
