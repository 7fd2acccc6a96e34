/* Measures the search for layouts: its time over devices and layers, the layouts that a core bounds in a second, the
 * time to the first plan, the memory, and the proved share of the best step. Jobs are those of examples/gallery, each
 * search in a separate process. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench.h"

#include "layout/search.h"

typedef struct search_case {
    const char *job, *device;
    int n_devices, n_layers; /* 0: the job's */
    int global_batch;
    int most_chunks; /* 0: the usual */
} search_case;

static const search_case cases[] = {
    {"deepseek_v3.sh", "H800", 1024, 0, 8192, 1},       {"deepseek_v3.sh", "H800", 1024, 0, 8192, 0},
    {"llama3_405b_8192.sh", "H100", 16384, 0, 2048, 1}, {"llama3_405b_8192.sh", "H100", 16384, 0, 2048, 0},
    {"llama3_70b.sh", "H100", 64, 0, 512, 1},           {"llama3_70b.sh", "H100", 256, 0, 512, 1},
    {"llama3_70b.sh", "H100", 1024, 0, 1024, 1},        {"llama3_70b.sh", "H100", 4096, 0, 4096, 1},
    {"llama3_70b.sh", "H100", 256, 40, 512, 1},         {"llama3_70b.sh", "H100", 256, 160, 512, 1},
};

typedef struct search_result {
    long all, legal, balanced;
    double bound_seconds, seconds, first, gap, step, peak_mb;
    bool proved;
} search_result;

static void read_case(const search_case *c, ek_job *job)
{
    char path[512];
    ek_error err;
    ek_job_overrides overrides = ek_job_overrides_none();
    overrides.n_layers = c->n_layers;
    snprintf(path, sizeof path, "examples/gallery/%s", c->job);
    if (ek_job_read(path, &overrides, NULL, job, &err))
        bench_give_up("%s: %s", path, err.message);
    ek_memory_limit_by_device(job, ek_device_find(c->device));
}

static double time_limit = 60;

static ek_layout_options options_of(const search_case *c)
{
    ek_layout_options o;
    ek_layout_options_init(&o);
    o.n_devices = c->n_devices;
    o.global_batch = c->global_batch;
    o.time_limit = time_limit;
    if (c->most_chunks > 0)
        o.range[EK_AXIS_CHUNKS] = (ek_layout_range){1, c->most_chunks};
    return o;
}

/* Only the bounds, on one core. */
static double bound_seconds(const ek_job *job, const search_case *c)
{
    ek_error err;
    ek__layout_search s = {.job = job, .device = ek_device_find(c->device), .options = options_of(c), .err = &err};
    s.n_threads = 1;
    s.options.schedule[s.options.n_schedules++] = ek_schedule_default(1, 0);
    s.options.schedule[s.options.n_schedules++] = ek_schedule_default(2, 0);
    s.start = ek__now();
    double begin = bench_now();
    if (ek__space_new(job, &s.options, &s.space, &err) || ek__layout_bound_all(&s, false))
        bench_give_up("%s: %s", c->job, err.message);
    double seconds = bench_now() - begin;
    ek__space_clear(&s.space);
    free(s.candidate);
    for (int i = 0; i < EK__MOST_THREADS; i++)
        ek_cost_cache_free(s.cache[i]);
    return seconds;
}

static void search(const char *which, void *result)
{
    const search_case *c = &cases[atoi(which)];
    search_result *out = result;
    ek_layout_options o = options_of(c);
    ek_layout_result r;
    ek_error err;
    ek_job job;
    read_case(c, &job);
    if (ek_layout_search(&job, ek_device_find(c->device), &o, &r, &err))
        bench_give_up("%s: %s", c->job, err.message);
    *out = (search_result){.all = r.counts.all,
                           .legal = r.counts.legal,
                           .balanced = r.counts.balanced,
                           .seconds = r.seconds,
                           .first = r.first_seconds,
                           .gap = r.gap,
                           .proved = r.proved,
                           .step = r.n_plans ? r.plan[0].estimate.step.seconds : NAN,
                           .peak_mb = bench_peak_mb()};
    ek_layout_result_clear(&r);
    out->bound_seconds = bound_seconds(&job, c);
    ek_job_clear(&job);
}

void bench_layouts(double seconds)
{
    time_limit = seconds;
    bench_say("\n## Searches for layouts\n\n");
    bench_say(
        "| job | devices | layers | chunks | layouts | legal | bounded a second and core | balanced | first plan, s | "
        "all, s | MB | best step, s | no other is among the best 10 | step could be shorter by |\n"
        "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|---|--:|\n");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const search_case *c = &cases[i];
        char which[16];
        ek_job job;
        search_result r;
        snprintf(which, sizeof which, "%zu", i);
        read_case(c, &job);
        bench_apart(search, which, &r, sizeof r);
        bench_say("| %s | %d | %d | %s | %ld | %ld | %.0f | %ld | %.1f | %.1f | %.0f | %.3f | %s | %.2f %% |\n", c->job,
                  c->n_devices, job.model.n_layers, c->most_chunks == 1 ? "1" : "1 to 8", r.all, r.legal,
                  (double)r.legal / r.bound_seconds, r.balanced, r.first, r.seconds, r.peak_mb, r.step,
                  r.proved ? "proved" : "open", 100 * r.gap);
        bench_hold((double)r.legal / r.bound_seconds >= 1e5 || r.legal < 10000, "%s: 10^5 layouts a second and core",
                   c->job);
        bench_hold(r.peak_mb <= 1024, "%s: at most 1 GB", c->job);
        ek_job_clear(&job);
    }
    bench_say(
        "\nLayouts: all combinations of the axes; bounded on one core, searched with all of this machine's, at most "
        "%.0f s.\n",
        time_limit);
}
