/* Writes the made traces and their expected results (see the header). Everything here is as slow and simple as
 * possible: a duration is summed interval by interval, each compared with every event, and a launch is searched from
 * the first one on. Nothing of src/ is used. */
#include "made_traces.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "skip.h"
#include "trace_generator.h"
#include "tree.h"

#define US   INT64_C(1000)
#define NONE INT64_MIN

enum { N_STAGES = 2, N_DATA = 2, N_RANKS = N_STAGES * N_DATA, N_STEPS = 3, HOST_AHEAD = 20000, QUEUE = 1700 };

static json_t *cases;

static void check(bool fine, const char *what)
{
    if (!fine) {
        fprintf(stderr, "made traces: %s\n", what);
        abort();
    }
}

static json_t *us(int64_t ns)
{
    return json_real((double)ns / 1000);
}

static FILE *create(const char *name)
{
    put(name, "");
    FILE *file = fopen(below(name), "w");
    check(file, name);
    return file;
}

/* A case of these files. It owns everything that is given. */
static void add_case(const char *kind, json_t *files, json_t *params, json_t *tolerance, json_t *expected)
{
    const char *first = json_string_value(json_array_get(files, 0));
    char name[512];
    snprintf(name, sizeof name, "%s of %s", kind, first);
    json_t *one = json_pack("{s:s, s:s, s:o, s:o, s:o, s:o}", "name", name, "command_kind", kind, "files", files,
                            "params", params ? params : json_object(), "tolerance", tolerance, "expected", expected);
    check(one && json_array_append_new(cases, one) == 0, "a case");
}

static json_t *file_list(const char *one, const char *two)
{
    return two ? json_pack("[s, s]", one, two) : json_pack("[s]", one);
}

/* ---- the generator's events, kept ---- */

typedef struct happening {
    trace_item item;
    char name[160];
} happening;

typedef struct profile {
    const trace_shape *shape;
    const char *folder;
    happening *at;
    size_t n, capacity;
    trace_truth truth;
} profile;

static void keep(void *user, const trace_item *item)
{
    profile *p = user;
    if (p->n == p->capacity) {
        p->capacity = p->capacity ? 2 * p->capacity : 4096;
        p->at = realloc(p->at, p->capacity * sizeof *p->at);
        check(p->at, "memory");
    }
    p->at[p->n].item = *item;
    snprintf(p->at[p->n++].name, sizeof p->at[0].name, "%s", item->name ? item->name : "");
}

static profile make_profile(const trace_shape *shape, const char *folder)
{
    profile p = {.shape = shape, .folder = folder};
    mkdir(below(folder), 0777);
    check(trace_write(shape, below(folder), &p.truth) && trace_generate(shape, keep, &p, NULL), "a profile");
    return p;
}

static void clear_profile(profile *p)
{
    trace_truth_clear(&p->truth);
    free(p->at);
}

/* Of the trace, below the whole. */
static const char *trace_of(const profile *p, int rank)
{
    static char path[4][512];
    static int next;
    next = (next + 1) % 4;
    trace_file(p->shape, p->folder, rank, path[next], sizeof path[0]);
    return path[next];
}

/* Beside it. */
static const char *beside(const profile *p, int rank, const char *name)
{
    static char path[4][512];
    static int next;
    const char *trace = trace_of(p, rank);
    next = (next + 1) % 4;
    snprintf(path[next], sizeof path[0], "%.*s/%s", (int)(strrchr(trace, '/') - trace), trace, name);
    return path[next];
}

static const trace_truth_step *truth_of(const profile *p, int rank, int step)
{
    return &p->truth.step[rank * p->shape->n_steps + step];
}

/* ---- work of a device ---- */

enum { COMPUTE = 1, COMMUNICATE = 2, COPY = 4, ALL = 7 };

typedef struct work {
    int kind, step, stream; /* step: that it ran in */
    bool is_set, again;     /* a memory set; run again before a backward pass */
    int64_t start, end, launch;
    const char *name, *core;
} work;

typedef struct works {
    work *at;
    int n;
} works;

static work *add_work(works *w, work one)
{
    w->at = realloc(w->at, ((size_t)w->n + 1) * sizeof *w->at);
    check(w->at, "memory");
    w->at[w->n++] = one;
    return &w->at[w->n - 1];
}

/* When the host launched it; NONE where the trace does not contain it. */
static void find_launch(const profile *p, int rank, int64_t id, work *w)
{
    const happening *call = NULL;
    for (size_t i = 0; i < p->n && !call; i++)
        if (p->at[i].item.kind == TRACE_LAUNCH && p->at[i].item.rank == rank && p->at[i].item.id == id)
            call = &p->at[i];
    w->launch = call                                ? call->item.start + (p->shape->form == TRACE_TORCH_NPU ? QUEUE : 0)
                : p->shape->form == TRACE_MINDSPORE ? w->start - HOST_AHEAD
                                                    : NONE;
    for (size_t i = 0; i < p->n && call; i++) {
        const trace_item *region = &p->at[i].item;
        w->again |= region->kind == TRACE_RECOMPUTE && region->rank == rank && region->thread == call->item.thread &&
                    region->start <= call->item.start && call->item.start < region->start + region->duration;
    }
}

static works works_of(const profile *p, int rank)
{
    works all = {0};
    for (size_t i = 0; i < p->n; i++) {
        const trace_item *item = &p->at[i].item;
        if (item->rank != rank || (item->kind != TRACE_TASK && item->kind != TRACE_COLLECTIVE))
            continue;
        bool task = item->kind == TRACE_TASK;
        work one = {.kind = task ? COMPUTE : COMMUNICATE,
                    .step = item->step,
                    .stream = task ? 7 : 20,
                    .start = item->start,
                    .end = item->start + item->duration,
                    .name = p->at[i].name,
                    .core = task ? item->task_type : "HCCL"};
        find_launch(p, rank, item->id, &one);
        add_work(&all, one);
    }
    return all;
}

static int by_start(const void *a, const void *b)
{
    const work *x = a, *y = b;
    return x->start != y->start ? (x->start > y->start) - (x->start < y->start) : (x->end > y->end) - (x->end < y->end);
}

static int by_time(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* How long one of the kinds `with` ran and none of `without`. */
static int64_t covered(const works *w, int with, int without)
{
    int64_t sum = 0, *border = calloc(2 * (size_t)w->n + 1, sizeof *border);
    check(border, "memory");
    for (int i = 0; i < w->n; i++) {
        border[2 * i] = w->at[i].start;
        border[2 * i + 1] = w->at[i].end;
    }
    qsort(border, 2 * (size_t)w->n, sizeof *border, by_time);
    for (int b = 0; b + 1 < 2 * w->n; b++) {
        int runs = 0;
        for (int i = 0; i < w->n; i++)
            runs |= w->at[i].start <= border[b] && border[b + 1] <= w->at[i].end ? w->at[i].kind : 0;
        sum += (runs & with) && !(runs & without) ? border[b + 1] - border[b] : 0;
    }
    free(border);
    return sum;
}

static int64_t overlapped(const works *w)
{
    return covered(w, COMPUTE, 0) + covered(w, COMMUNICATE, 0) - covered(w, COMPUTE | COMMUNICATE, 0);
}

static int64_t span_of(const works *w)
{
    int64_t first = INT64_MAX, last = INT64_MIN;
    for (int i = 0; i < w->n; i++) {
        first = w->at[i].start < first ? w->at[i].start : first;
        last = w->at[i].end > last ? w->at[i].end : last;
    }
    return w->n ? last - first : 0;
}

typedef bool choice(const profile *p, int rank, const work *w, int step);

static works choose(const profile *p, int rank, const works *all, choice *wanted, int step)
{
    works some = {0};
    for (int i = 0; i < all->n; i++)
        if (wanted(p, rank, &all->at[i], step))
            add_work(&some, all->at[i]);
    return some;
}

static bool runs_in_step(const profile *p, int rank, const work *w, int step)
{
    (void)p, (void)rank;
    return w->step == step;
}

/* ---- parts of all traces ---- */

static void count_text(json_t *counts, const char *key)
{
    json_object_set_new(counts, key, json_integer(json_integer_value(json_object_get(counts, key)) + 1));
}

static const char *process_of(const json_t *events, json_int_t pid)
{
    size_t i;
    const json_t *e;
    json_array_foreach(events, i,
                       e) if (strcmp(json_string_value(json_object_get(e, "name")), "process_name") == 0 &&
                              json_integer_value(json_object_get(e, "pid")) ==
                                  pid) return json_string_value(json_object_get(json_object_get(e, "args"), "name"));
    return "";
}

/* The file itself is counted, by a reader of JSON. */
static void add_counts(const profile *p, int rank)
{
    bool torch = p->shape->form == TRACE_TORCH;
    json_t *root = json_load_file(below(trace_of(p, rank)), 0, NULL), *events = root, *e;
    check(root, "a trace is no JSON");
    if (torch)
        events = json_object_get(root, "traceEvents");
    size_t i;
    json_t *phases = json_object(), *complete = json_object();
    json_array_foreach(events, i, e)
    {
        const char *phase = json_string_value(json_object_get(e, "ph"));
        count_text(phases, phase);
        if (strcmp(phase, "X") == 0)
            count_text(complete, torch ? json_string_value(json_object_get(e, "cat"))
                                       : process_of(events, json_integer_value(json_object_get(e, "pid"))));
    }
    json_t *expected = json_pack("{s:I, s:o, s:o}", torch ? "events" : "items", (json_int_t)json_array_size(events),
                                 "by_ph", phases, torch ? "complete_by_cat" : "complete_events_by_process", complete);
    if (torch)
        json_object_update_new(expected, json_pack("{s:i, s:i, s:[i, i, i]}", "rank", rank, "world_size", N_RANKS,
                                                   "profiler_steps", 0, 1, 2));
    add_case("event_counts", file_list(trace_of(p, rank), NULL), NULL, json_pack("{s:i}", "abs", 0), expected);
    json_decref(root);
}

static json_t *exact(void)
{
    return json_pack("{s:f}", "abs_us", 1e-6);
}

/* ---- the trace of a rank on Ascend ---- */

static bool begins(const char *name, const char *with)
{
    return strncmp(name, with, strlen(with)) == 0;
}

static json_t *ascend_parts(const works *w)
{
    return json_pack("{s:o, s:o, s:o, s:o, s:o}", "computing", us(covered(w, COMPUTE, 0)), "communication",
                     us(covered(w, COMMUNICATE, 0)), "communication_not_overlapped",
                     us(covered(w, COMMUNICATE, COMPUTE)), "overlapped", us(overlapped(w)), "free",
                     us(span_of(w) - covered(w, COMPUTE | COMMUNICATE, 0)));
}

/* The producer's "stage": without its "bubble". */
static int64_t stage_of(const profile *p, const trace_truth_step *t, const works *w, int64_t *bubble)
{
    int64_t first = INT64_MAX, last = INT64_MIN;
    for (int i = 0; i < w->n; i++)
        if (w->at[i].kind == COMMUNICATE) {
            first = w->at[i].start < first ? w->at[i].start : first;
            last = w->at[i].start > last ? w->at[i].start : last;
        }
    bool mindspore = p->shape->form == TRACE_MINDSPORE;
    *bubble = t->receive + (mindspore ? t->send : 0);
    return (mindspore ? last - first : t->end - t->start) - *bubble;
}

/* As printed: to a quarter of a microsecond. */
static double quarters(int64_t ns)
{
    return (double)((ns + 125) / 250) / 4;
}

static void add_ascend_steps(const profile *p, int rank, const works *all)
{
    bool torch = p->shape->form == TRACE_TORCH_NPU;
    FILE *table = create(beside(p, rank, "step_trace_time.csv"));
    fputs("Device_id,Step,Computing,Communication(Not Overlapped),Overlapped,Communication,Free,Stage,Bubble,"
          "Communication(Not Overlapped and Exclude Receive),Preparing\n",
          table);
    for (int s = 0; s < N_STEPS; s++) {
        const trace_truth_step *t = truth_of(p, rank, s);
        works w = choose(p, rank, all, runs_in_step, s);
        char name[16];
        int64_t bubble, stage = stage_of(p, t, &w, &bubble), preparing = t->start - t->host_start;
        snprintf(name, sizeof name, "%d", s);
        json_t *expected = ascend_parts(&w), *tolerance = exact();
        if (s == 0)
            add_case("step_breakdown", file_list(trace_of(p, rank), NULL), json_pack("{s:s}", "source", "raw_events"),
                     exact(), json_deep_copy(expected));
        json_object_update_new(expected,
                               json_pack("{s:s, s:o, s:o, s:o, s:o}", "step", name, "stage", us(stage), "bubble",
                                         us(bubble), "preparing", us(preparing), "host_step", us(t->host_duration)));
        if (s == 0 && torch) {
            json_object_update_new(
                expected, json_pack("{s:f, s:f}", "csv_stage", quarters(stage), "csv_preparing", quarters(preparing)));
            json_object_update_new(tolerance, json_pack("{s:f, s:f}", "csv_stage", 0.125, "csv_preparing", 0.125));
        }
        int64_t exposed = covered(&w, COMMUNICATE, COMPUTE), both = overlapped(&w);
        fprintf(table, "%d,%d,%.3f,%.3f,%.3f,%.3f,%.3f,%.2f,%.3f,%.3f,%.2f\n", rank, s,
                (double)covered(&w, COMPUTE, 0) / 1e3, (double)exposed / 1e3, (double)both / 1e3,
                (double)(exposed + both) / 1e3, (double)(span_of(&w) - covered(&w, COMPUTE | COMMUNICATE, 0)) / 1e3,
                quarters(stage), (double)bubble / 1e3, (double)(exposed - bubble) / 1e3, quarters(preparing));
        add_case("step_breakdown", file_list(trace_of(p, rank), NULL), json_pack("{s:s}", "source", "overlap_layer"),
                 tolerance, expected);
        free(w.at);
    }
    fclose(table);
}

/* Idle intervals of the whole file, each by the earliest launch of the work that ends it. */
static void add_ascend_idle(const profile *p, int rank, works *all)
{
    int64_t busy_until = NONE, ns[3] = {0};
    int n[3] = {0}, n_tasks = 0, n_linked = 0;
    qsort(all->at, (size_t)all->n, sizeof *all->at, by_start);
    for (int i = 0; i < all->n; i++) {
        const work *w = &all->at[i];
        if (busy_until != NONE && w->start > busy_until) {
            int64_t launch = NONE;
            for (int k = 0; k < all->n; k++)
                if (all->at[k].start == w->start && all->at[k].launch != NONE &&
                    (launch == NONE || all->at[k].launch < launch))
                    launch = all->at[k].launch;
            int why = launch == NONE ? 2 : launch > busy_until ? 0 : 1;
            n[why]++;
            ns[why] += w->start - busy_until;
        }
        busy_until = busy_until == NONE || w->end > busy_until ? w->end : busy_until;
        n_tasks += w->kind == COMPUTE;
        n_linked += w->kind == COMPUTE && w->launch != NONE;
    }
    check(n[0] > 0 && n[1] > 0, "idle time of one kind only");
    add_case("idle_attribution", file_list(trace_of(p, rank), NULL),
             json_pack("{s:s}", "method", "free_interval_successor_launch"), exact(),
             json_pack("{s:i, s:i, s:o, s:i, s:o, s:i, s:o, s:i, s:i}", "free_intervals", n[0] + n[1] + n[2],
                       "host_bound_count", n[0], "host_bound_us", us(ns[0]), "device_bound_count", n[1],
                       "device_bound_us", us(ns[1]), "unlinked_count", n[2], "unlinked_us", us(ns[2]),
                       "linked_device_tasks", n_linked, "device_tasks", n_tasks));
}

static void add_ascend_data(const profile *p, int rank)
{
    int64_t host = 0;
    for (int s = 0; s < N_STEPS; s++)
        host += truth_of(p, rank, s)->host_duration;
    int64_t wait = N_STEPS * p->shape->data_wait;
    json_t *tolerance = exact();
    json_object_set_new(tolerance, "share_of_host_step", json_real(5e-6));
    add_case("data_loading", file_list(trace_of(p, rank), NULL), NULL, tolerance,
             json_pack("{s:i, s:o, s:f}", "count", N_STEPS, "total_us", us(wait), "share_of_host_step",
                       (double)(int64_t)(1e5 * (double)wait / (double)host + 0.5) / 1e5));
}

static void add_pipeline(const profile *p, int rank, const works *all)
{
    json_t *steps = json_array();
    for (int s = 0; s < p->shape->n_steps; s++) {
        const trace_truth_step *t = truth_of(p, rank, s);
        works receives = choose(p, rank, all, runs_in_step, s);
        for (int i = 0; i < receives.n; i++) /* other communication does not count */
            receives.at[i].kind = receives.at[i].kind == COMPUTE                  ? COMPUTE
                                  : begins(receives.at[i].name, "hcom_receive__") ? COMMUNICATE
                                                                                  : COPY;
        json_array_append_new(steps, json_pack("{s:i, s:o, s:o, s:o, s:o, s:o, s:o, s:i, s:o, s:o, s:o}", "step", s,
                                               "computing", us(t->computing), "communication", us(t->communication),
                                               "not_overlapped", us(t->not_overlapped), "free_us", us(t->free),
                                               "device_span_us", us(t->end - t->start), "preparing_us",
                                               us(t->start - t->host_start), "receive_count", t->n_receives,
                                               "receive_us", us(t->receive), "receive_exposed_us",
                                               us(covered(&receives, COMMUNICATE, COMPUTE)), "send_us", us(t->send)));
        free(receives.at);
    }
    add_case("pipeline_intervals", file_list(trace_of(p, rank), NULL), NULL, exact(),
             json_pack("{s:o}", "steps", steps));
}

/* ---- tables of operators ---- */

/* "../MatMul-op17" and "aclnnMatMul_AI_CORE" are MatMul; of a collective: up to the group. */
static const char *type_of(const work *w)
{
    static char text[128];
    const char *begin = strrchr(w->name, '/');
    begin = begin ? begin + 1 : begins(w->name, "aclnn") ? w->name + strlen("aclnn") : w->name;
    snprintf(text, sizeof text, "%.*s", (int)strcspn(begin, w->kind == COMPUTE ? "-_" : "@"), begin);
    if (w->kind == COMMUNICATE)
        text[strstr(text, "__") + 1 - text] = '\0';
    return text;
}

typedef struct sum {
    char type[128], core[32];
    int n;
    int64_t total, least, most;
} sum;

enum { MAX_SUMS = 128 };

typedef struct sums {
    sum at[MAX_SUMS];
    int n;
} sums;

static void add_to(sums *s, const char *type, const char *core, int64_t ns)
{
    int i = 0;
    while (i < s->n && (strcmp(s->at[i].type, type) != 0 || strcmp(s->at[i].core, core) != 0))
        i++;
    check(i < MAX_SUMS, "too many kinds");
    if (i == s->n) {
        s->at[s->n++] = (sum){.least = ns, .most = ns};
        snprintf(s->at[i].type, sizeof s->at[i].type, "%s", type);
        snprintf(s->at[i].core, sizeof s->at[i].core, "%s", core);
    }
    s->at[i].n++;
    s->at[i].total += ns;
    s->at[i].least = ns < s->at[i].least ? ns : s->at[i].least;
    s->at[i].most = ns > s->at[i].most ? ns : s->at[i].most;
}

static int by_total(const void *a, const void *b)
{
    const sum *x = a, *y = b;
    return x->total != y->total ? (x->total < y->total) - (x->total > y->total) : strcmp(x->type, y->type);
}

static void sort(sums *s)
{
    qsort(s->at, (size_t)s->n, sizeof *s->at, by_total);
}

static json_t *near(void)
{
    return json_pack("{s:f, s:f}", "abs_us", 0.0006, "ratio_pct", 0.0006);
}

/* Every execution in a row. */
static void add_kernel_details(const profile *p, int rank, const works *all)
{
    FILE *rows = create(beside(p, rank, "kernel_details.csv"));
    sums cores = {0}, types = {0};
    fputs("Device_id,Step ID,Type,Name,Start Time(us),Accelerator Core,Duration(us),Wait Time(us),Block Num,"
          "Input Shapes\n",
          rows);
    for (int i = 0; i < all->n; i++) {
        const work *w = &all->at[i];
        int64_t ns = w->end - w->start;
        const char *type = type_of(w);
        fprintf(rows, "%d,%d,%s,%s,%" PRId64 ".%03d\t,%s,%.3f,0,8,N/A\n", rank, w->step, type, w->name, w->start / US,
                (int)(w->start % US), w->core, (double)ns / 1e3);
        add_to(&cores, "", w->core, ns);
        add_to(&types, type, "", ns);
    }
    fclose(rows);
    sort(&types);
    json_t *by_core = json_object(), *top_types = json_array();
    for (int i = 0; i < cores.n; i++)
        json_object_set_new(by_core, cores.at[i].core,
                            json_pack("{s:i, s:o}", "count", cores.at[i].n, "total_us", us(cores.at[i].total)));
    for (int i = 0; i < types.n; i++)
        json_array_append_new(top_types, json_pack("{s:s, s:i, s:o}", "type", types.at[i].type, "count", types.at[i].n,
                                                   "total_us", us(types.at[i].total)));
    add_case("kernel_totals", file_list(beside(p, rank, "kernel_details.csv"), NULL), NULL, near(),
             json_pack("{s:i, s:o, s:o}", "rows", all->n, "by_core", by_core, "top_types", top_types));
}

/* Operators by type and core, of which the other table must give the same sums. */
static void add_op_statistic(const profile *p, int rank, const works *all)
{
    FILE *file = create(beside(p, rank, "op_statistic.csv"));
    sums pairs = {0};
    int64_t computing = 0;
    json_t *top_pairs = json_array();
    for (int i = 0; i < all->n; i++) {
        const work *w = &all->at[i];
        if (w->kind != COMPUTE)
            continue;
        add_to(&pairs, type_of(w), w->core, w->end - w->start);
        computing += w->end - w->start;
    }
    sort(&pairs);
    fputs("Device_id,OP Type,Core Type,Count,Total Time(us),Min Time(us),Avg Time(us),Max Time(us),Ratio(%)\n", file);
    for (int i = 0; i < pairs.n; i++) {
        const sum *s = &pairs.at[i];
        double mean = (double)s->total / s->n / 1e3, ratio = 100 * (double)s->total / (double)computing;
        fprintf(file, "%d,%s,%s,%d,%.3f,%.3f,%.3f,%.3f,%.3f\n", rank, s->type, s->core, s->n, (double)s->total / 1e3,
                (double)s->least / 1e3, mean, (double)s->most / 1e3, ratio);
        json_array_append_new(top_pairs,
                              json_pack("{s:s, s:s, s:i, s:o, s:o, s:f, s:o, s:f}", "type", s->type, "core", s->core,
                                        "count", s->n, "total_us", us(s->total), "min_us", us(s->least), "avg_us", mean,
                                        "max_us", us(s->most), "ratio_pct", ratio));
    }
    fclose(file);
    add_case("top_operators", file_list(beside(p, rank, "kernel_details.csv"), beside(p, rank, "op_statistic.csv")),
             NULL, near(), json_pack("{s:i, s:o}", "rows", pairs.n, "top", top_pairs));
}

/* ---- communication.json, communication_matrix.json ---- */

static void add_number(json_t *object, const char *key, double value)
{
    json_object_set_new(object, key, json_real(json_number_value(json_object_get(object, key)) + value));
}

/* In ms. Gradients move for as long as the generator has them transferred, a send or receive for a quarter of its time;
 * of the rest half is waiting. */
typedef struct call_times {
    double elapse, transit, wait, idle;
} call_times;

static call_times times_of(const work *w, bool p2p)
{
    double elapse = (double)(w->end - w->start) / 1e6, transit = p2p ? elapse / 4 : 0.1;
    return (call_times){elapse, transit, (elapse - transit) / 2, (elapse - transit) / 2};
}

static void write_call(FILE *file, const char *comma, const work *w, int group, const call_times *t)
{
    fprintf(file,
            "%s\"%s@%d\": {\"Communication Time Info\": {\"Start Timestamp(us)\": %" PRId64
            ".%03d, \"Elapse Time(ms)\": %.6f, \"Transit Time(ms)\": %.8f, \"Wait Time(ms)\": %.8f, "
            "\"Synchronization Time(ms)\": 0, \"Idle Time(ms)\": %.8f}, \"Communication Bandwidth Info\": {}}",
            comma, w->name, group, w->start / US, (int)(w->start % US), t->elapse, t->transit, t->wait, t->idle);
}

/* By operation and group. */
static void add_call(json_t *section, const work *w, int group, const call_times *t)
{
    char key[128];
    const char *type = type_of(w);
    snprintf(key, sizeof key, "%.*s@%d", (int)strlen(type) - 1, type, group);
    if (!json_object_get(section, key))
        json_object_set_new(section, key, json_pack("{s:i}", "count", 0));
    json_t *total = json_object_get(section, key);
    count_text(total, "count");
    add_number(total, "elapse_ms", t->elapse);
    add_number(total, "transit_ms", t->transit);
    add_number(total, "wait_ms", t->wait);
    add_number(total, "idle_ms", t->idle);
}

/* @return the expected section */
static json_t *add_section(FILE *file, const works *all, int step, bool p2p)
{
    const char *comma = "";
    const int group = 9000 + p2p;
    json_t *section = json_object();
    fprintf(file, "%s\"%s\": {", p2p ? "" : ", ", p2p ? "p2p" : "collective");
    for (int i = 0; i < all->n; i++) {
        const work *w = &all->at[i];
        bool transfer = begins(w->name, "hcom_send") || begins(w->name, "hcom_receive");
        if (w->kind != COMMUNICATE || w->step != step || transfer != p2p)
            continue;
        call_times t = times_of(w, p2p);
        write_call(file, comma, w, group, &t);
        add_call(section, w, group, &t);
        comma = ", ";
    }
    fputs("}", file);
    return section;
}

static void add_communication(const profile *p, int rank, const works *all)
{
    FILE *file = create(beside(p, rank, "communication.json"));
    json_t *expected = json_object();
    for (int s = 0; s < N_STEPS; s++) {
        char step[16];
        snprintf(step, sizeof step, "step%d", s);
        fprintf(file, "%s\"%s\": {", s ? ", " : "{", step);
        json_t *p2p = add_section(file, all, s, true), *collective = add_section(file, all, s, false);
        json_object_set_new(expected, step, json_pack("{s:o, s:o}", "p2p", p2p, "collective", collective));
        fputs("}", file);
    }
    fputs("}\n", file);
    fclose(file);
    add_case("comm_summary", file_list(beside(p, rank, "communication.json"), NULL), NULL,
             json_pack("{s:f}", "abs_ms", 1e-6), expected);
}

/* Links of one transport. */
static json_t *links_of(int n, double size_mb, double mean, const char *slowest, double least, const char *fastest,
                        double most)
{
    return json_pack("{s:i, s:i, s:f, s:f, s:{s:s, s:f}, s:{s:s, s:f}}", "links", n, "ranked_links", n, "total_size_mb",
                     size_mb, "mean_gbps", mean, "slowest", "link", slowest, "gbps", least, "fastest", "link", fastest,
                     "gbps", most);
}

/* In each step: 10 MB to three others over HCCS in 0.8, 1 and 1.25 ms, 1 MB to the next stage by RDMA in 4 ms, and 40
 * MB within the device in 0.1 ms. The bytes of a single operator are in the totals, too, and count once. */
static void add_matrix(const profile *p, int rank)
{
    static const double time[] = {0.1, 0.8, 1, 1.25};
    FILE *file = create(beside(p, rank, "communication_matrix.json"));
    for (int s = 0; s < 2; s++) {
        fprintf(file,
                "%s\"step%d\": {\"p2p\": {\"send-total@77\": {\"0-1\": {\"Transport Type\": \"RDMA\", \"Transit "
                "Size(MB)\": 1, \"Transit Time(ms)\": 4, \"Bandwidth(GB/s)\": 0.25}}}, \"collective\": "
                "{\"allreduce-top1@9000\": {\"0-1\": {\"Transport Type\": \"HCCS\", \"Transit Size(MB)\": 900, "
                "\"Transit Time(ms)\": 9, \"Bandwidth(GB/s)\": 100}}, \"allreduce-total@9000\": {",
                s ? ", " : "{", s);
        for (int to = 0; to < 4; to++)
            fprintf(file,
                    "%s\"0-%d\": {\"Transport Type\": \"%s\", \"Transit Size(MB)\": %d, \"Transit Time(ms)\": %g, "
                    "\"Bandwidth(GB/s)\": %g}",
                    to ? ", " : "", to, to ? "HCCS" : "LOCAL", to ? 10 : 40, time[to], (to ? 10 : 40) / time[to]);
        fputs("}}}", file);
    }
    fputs("}\n", file);
    fclose(file);
    add_case("link_bandwidth", file_list(beside(p, rank, "communication_matrix.json"), NULL), NULL,
             json_pack("{s:f, s:f}", "abs_gbps", 1e-6, "abs_mb", 1e-9),
             json_pack("{s:o, s:o, s:o}", "HCCS", links_of(3, 60, (12.5 + 10 + 8) / 3, "9000:0-3", 8, "9000:0-1", 12.5),
                       "LOCAL", links_of(1, 80, 400, "9000:0-0", 400, "9000:0-0", 400), "RDMA",
                       links_of(1, 2, 0.25, "77:0-1", 0.25, "77:0-1", 0.25)));
}

/* Rows in the order of time; the peaks of a component's columns lie in different rows. */
static void add_memory(const profile *p, int rank)
{
    put(beside(p, rank, "memory_record.csv"),
        "Component,Timestamp(us),Total Allocated(MB),Total Reserved(MB),Total Active(MB),Stream Ptr,Device Type\n"
        "APP,1750000000000001.000\t,,2100.25,,,NPU:0\nPTA,1750000000000002.000\t,512.5,900,500.25,1,NPU:0\n"
        "PTA,1750000000000003.000\t,800.75,850,700,1,NPU:0\nGE,1750000000000004.000\t,70,72.5,,2,NPU:0\n"
        "PTA,1750000000000005.000\t,640,860,720.5,1,NPU:0\nAPP,1750000000000006.000\t,,2000,,,NPU:0\n");
    put(beside(p, rank, "operator_memory.csv"),
        "Name,Size(KB),Allocation Time(us),Release Time(us),Duration(us),Device Type\n"
        "MatMul,1024.5,1750000000000002.000\t,1750000000000004.000\t,2,NPU:0\n"
        "Gather,4096.25,1750000000000003.000\t,,,NPU:0\n"
        "RmsNorm,64,1750000000000003.500\t,,,NPU:0\n"
        "Add,4096,1750000000000004.000\t,1750000000000005.000\t,1,NPU:0\n");
    add_case("memory_peak", file_list(beside(p, rank, "memory_record.csv"), beside(p, rank, "operator_memory.csv")),
             NULL, json_pack("{s:f}", "abs_mb", 1e-9),
             json_pack("{s:i, s:i, s:i, s:{s:s, s:f}, s:{s:{s:f}, s:{s:f, s:f}, s:{s:f, s:f, s:f}}}", "rows", 6,
                       "operator_rows", 4, "never_released", 2, "largest_allocation", "name", "Gather", "size_kb",
                       4096.25, "peak_by_component", "APP", "reserved_mb", 2100.25, "GE", "allocated_mb", 70.0,
                       "reserved_mb", 72.5, "PTA", "allocated_mb", 800.75, "reserved_mb", 900.0, "active_mb", 720.5));
}

static void add_ascend(const trace_shape *shape, const char *folder)
{
    profile p = make_profile(shape, folder);
    for (int rank = 0; rank < N_RANKS; rank++) {
        works all = works_of(&p, rank);
        add_counts(&p, rank);
        add_ascend_steps(&p, rank, &all);
        add_ascend_idle(&p, rank, &all);
        add_ascend_data(&p, rank);
        add_pipeline(&p, rank, &all);
        add_kernel_details(&p, rank, &all);
        add_op_statistic(&p, rank, &all);
        add_communication(&p, rank, &all);
        add_matrix(&p, rank);
        add_memory(&p, rank);
        free(all.at);
    }
    clear_profile(&p);
}

/* ---- the trace of a rank on a GPU ---- */

static FILE *open_end(const char *path, const char *end)
{
    FILE *file = fopen(path, "r+");
    check(file && fseek(file, -(long)strlen(end), SEEK_END) == 0, path);
    return file;
}

static void print_us(FILE *file, const char *key, int64_t ns)
{
    fprintf(file, ", \"%s\": %" PRId64 ".%03d", key, ns / US, (int)(ns % US));
}

/* An event of the device, with its launch where that is known. */
static void write_work(FILE *file, const work *w, const char *category, const char *arguments, int correlation)
{
    if (w->launch != NONE) {
        fprintf(file, ", {\"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": \"cudaMemoryAsync\", \"pid\": 700, "
                      "\"tid\": 709");
        print_us(file, "ts", w->launch);
        fprintf(file, ", \"dur\": 1.5, \"args\": {\"correlation\": %d}}", correlation);
    }
    fprintf(file, ", {\"ph\": \"X\", \"cat\": \"%s\", \"name\": \"%s\", \"pid\": 0, \"tid\": %d", category, w->name,
            w->stream);
    print_us(file, "ts", w->start);
    print_us(file, "dur", w->end - w->start);
    fprintf(file, ", \"args\": {\"device\": 0, \"stream\": %d, \"correlation\": %d%s}}", w->stream, correlation,
            arguments);
}

/* Events that the generator does not make. In every step: a copy before all else, a memory set and, 20 ns after it, a
 * copy, both after computing, and a collective that names its kind, half of it after the last operator. After the last
 * step a kernel outside of any step. */
static void add_to_torch(const profile *p, int rank, works *all)
{
    FILE *file = open_end(below(trace_of(p, rank)), "]}");
    int correlation = 1000000;
    for (int s = 0; s < N_STEPS; s++) {
        const trace_truth_step *t = truth_of(p, rank, s);
        int64_t start = t->start;
        work one = {.kind = COPY,
                    .step = s,
                    .stream = 9,
                    .start = start - 40 * US,
                    .end = start - 20 * US,
                    .launch = start - 60 * US,
                    .name = "Memcpy HtoD (Pinned -> Device)"};
        write_work(file, add_work(all, one), "gpu_memcpy", "", ++correlation);
        one = (work){COMPUTE, s, 9, true, false, start + US, start + 4 * US, start - 30 * US, "Memset (Device)", ""};
        write_work(file, add_work(all, one), "gpu_memset", "", ++correlation);
        one = (work){COPY,
                     s,
                     9,
                     false,
                     false,
                     start + 4 * US + 20,
                     start + 9 * US,
                     start - 28 * US,
                     "Memcpy DtoD (Device -> Device)",
                     ""};
        write_work(file, add_work(all, one), "gpu_memcpy", "", ++correlation);
        one = (work){COMMUNICATE,
                     s,
                     20,
                     false,
                     false,
                     t->end - 3 * US,
                     t->end + 3 * US,
                     NONE,
                     "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevComm*)",
                     ""};
        write_work(file, add_work(all, one), "kernel",
                   ", \"Collective name\": \"allreduce\", \"In msg nelems\": 1024, \"Out msg nelems\": 1024, \"Group "
                   "size\": 2, \"dtype\": \"BFloat16\"",
                   ++correlation);
    }
    int64_t late = truth_of(p, rank, N_STEPS - 1)->end + 20 * US;
    work one = {COMPUTE, -1, 7, false, false, late, late + 4 * US, NONE, "void at::native::fill_kernel(float*)", ""};
    write_work(file, add_work(all, one), "kernel", "", ++correlation);
    fputs("]}", file);
    fclose(file);
}

static json_t *kineto_parts(const works *w)
{
    int64_t busy = covered(w, ALL, 0), total = span_of(w);
    return json_pack("{s:i, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "n_gpu_events", w->n, "computation",
                     us(covered(w, COMPUTE, 0)), "communication", us(covered(w, COMMUNICATE, 0)),
                     "exposed_communication", us(covered(w, COMMUNICATE, COMPUTE)), "overlapped_communication",
                     us(overlapped(w)), "memcpy", us(covered(w, COPY, 0)), "exposed_memcpy",
                     us(covered(w, COPY, COMPUTE | COMMUNICATE)), "busy", us(busy), "idle", us(total - busy), "total",
                     us(total));
}

/* The step in which it was launched, else that in which it began; -1: none. */
static bool counts_in_step(const profile *p, int rank, const work *w, int step)
{
    int64_t when = w->launch != NONE ? w->launch : w->start;
    for (int s = 0; s < N_STEPS; s++) {
        const trace_truth_step *t = truth_of(p, rank, s);
        if (t->host_start <= when && when < t->host_start + t->host_duration)
            return s == step;
    }
    return step == -1;
}

static bool is_linked(const profile *p, int rank, const work *w, int step)
{
    (void)p, (void)rank, (void)step;
    return w->launch != NONE;
}

/* `step`: whether it is to run again. */
static bool is_run_again(const profile *p, int rank, const work *w, int step)
{
    (void)p, (void)rank;
    return w->launch != NONE && !w->is_set && w->again == step;
}

/* @return the parts of the selection */
static json_t *parts_of(const profile *p, int rank, const works *all, choice *wanted, int step)
{
    works some = choose(p, rank, all, wanted, step);
    json_t *parts = kineto_parts(&some);
    free(some.at);
    return parts;
}

static void add_torch_steps(const profile *p, int rank, const works *all)
{
    const char *trace = trace_of(p, rank);
    json_t *steps = json_object();
    for (int s = 0; s < N_STEPS; s++) {
        char name[16];
        snprintf(name, sizeof name, "%d", s);
        json_t *parts = parts_of(p, rank, all, counts_in_step, s);
        json_object_set_new(parts, "host_step", us(truth_of(p, rank, s)->host_duration));
        json_object_set_new(steps, name, parts);
    }
    works outside = choose(p, rank, all, counts_in_step, -1);
    add_case("step_breakdown", file_list(trace, NULL), NULL, exact(),
             json_pack("{s:o, s:i}", "steps", steps, "events_outside_steps", outside.n));
    free(outside.at);
    add_case("device_breakdown", file_list(trace, NULL), json_pack("{s:s}", "events", "all"), exact(),
             kineto_parts(all));
    add_case("device_breakdown", file_list(trace, NULL), json_pack("{s:s}", "events", "linked_only"), exact(),
             parts_of(p, rank, all, is_linked, 0));
    int n_regions = 0;
    for (size_t i = 0; i < p->n; i++)
        n_regions += p->at[i].item.kind == TRACE_RECOMPUTE && p->at[i].item.rank == rank;
    add_case("recompute_time", file_list(trace, NULL), NULL, exact(),
             json_pack("{s:i, s:o, s:o}", "recompute_regions", n_regions, "recompute",
                       parts_of(p, rank, all, is_run_again, true), "not_recompute",
                       parts_of(p, rank, all, is_run_again, false)));
}

/* Gaps of a stream, each to the latest end before it. */
static void add_torch_idle(const profile *p, int rank, works *all)
{
    static const int stream[] = {7, 9, 20};
    json_t *expected = json_object();
    qsort(all->at, (size_t)all->n, sizeof *all->at, by_start);
    for (size_t k = 0; k < sizeof stream / sizeof *stream; k++) {
        int64_t until = NONE, ns[3] = {0};
        int n = 0, n_of[3] = {0}, no_launch = 0;
        for (int i = 0; i < all->n; i++) {
            const work *w = &all->at[i];
            if (w->stream != stream[k])
                continue;
            if (n++ > 0) {
                int64_t gap = w->start - until;
                int why = w->launch != NONE && w->launch > until ? 0 : gap < 30 ? 1 : 2;
                no_launch += w->launch == NONE;
                n_of[why] += gap > 0;
                ns[why] += gap > 0 ? gap : 0;
            }
            until = w->end > until ? w->end : until;
        }
        char name[16];
        snprintf(name, sizeof name, "0/%d", stream[k]);
        json_object_set_new(expected, name,
                            json_pack("{s:i, s:o, s:o, s:o, s:i, s:i, s:i}", "events", n, "host_wait", us(ns[0]),
                                      "kernel_wait", us(ns[1]), "other", us(ns[2]), "n_host_wait", n_of[0], "n_other",
                                      n_of[2], "no_launch", no_launch));
    }
    add_case("idle_attribution", file_list(trace_of(p, rank), NULL),
             json_pack("{s:s}", "method", "per_stream_gap_launch"), exact(), expected);
}

static const char *kernel_name(const work *w)
{
    static char name[128];
    snprintf(name, sizeof name, "%s%s", begins(w->name, "hcom_") ? "ncclDevKernel_" : "", w->name);
    return name;
}

/* Kernels by name. Copies and memory sets are none. */
static void add_torch_kernels(const profile *p, int rank, const works *all)
{
    static sums kernels;
    int n = 0;
    int64_t total = 0;
    json_t *top_kernels = json_array();
    kernels.n = 0;
    for (int i = 0; i < all->n; i++) {
        const work *w = &all->at[i];
        if (w->kind == COPY || w->is_set)
            continue;
        add_to(&kernels, kernel_name(w), "", w->end - w->start);
        n++;
        total += w->end - w->start;
    }
    sort(&kernels);
    for (int i = 0; i < 6; i++) {
        const sum *s = &kernels.at[i];
        json_array_append_new(top_kernels,
                              json_pack("{s:s, s:i, s:o, s:o, s:o}", "name", s->type, "count", s->n, "total_us",
                                        us(s->total), "min_us", us(s->least), "max_us", us(s->most)));
    }
    add_case("kernel_totals", file_list(trace_of(p, rank), NULL), NULL, near(),
             json_pack("{s:i, s:i, s:o, s:o}", "distinct", kernels.n, "total_count", n, "total_us", us(total), "top",
                       top_kernels));
}

/* By their arguments or else their names. */
static void add_torch_collectives(const profile *p, int rank, const works *all)
{
    json_t *collectives = json_object();
    for (int i = 0; i < all->n; i++) {
        const work *w = &all->at[i];
        if (w->kind != COMMUNICATE)
            continue;
        const char *key = begins(w->name, "hcom_") ? kernel_name(w) : "allreduce|BFloat16|1024|1024|2";
        if (!json_object_get(collectives, key))
            json_object_set_new(collectives, key, json_pack("{s:i}", "count", 0));
        json_t *one = json_object_get(collectives, key);
        count_text(one, "count");
        add_number(one, "total_us", (double)(w->end - w->start) / 1000);
    }
    add_case("collective_table", file_list(trace_of(p, rank), NULL), NULL, near(), collectives);
}

static void add_torch_data(const profile *p, int rank)
{
    add_case("data_loading", file_list(trace_of(p, rank), NULL), NULL, exact(),
             json_pack("{s:{s:i, s:o}}", "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", "count",
                       N_STEPS, "total_us", us(N_STEPS * p->shape->data_wait)));
}

static void add_torch(const trace_shape *shape, const char *folder)
{
    profile p = make_profile(shape, folder);
    for (int rank = 0; rank < N_RANKS; rank++) {
        works all = works_of(&p, rank);
        add_to_torch(&p, rank, &all);
        add_counts(&p, rank);
        add_torch_steps(&p, rank, &all);
        add_torch_idle(&p, rank, &all);
        add_torch_kernels(&p, rank, &all);
        add_torch_collectives(&p, rank, &all);
        add_torch_data(&p, rank);
        free(all.at);
    }
    clear_profile(&p);
}

/* ---- stages with layers that are run again ---- */

enum { STAGE_STEPS = 5, MICRO_BATCHES = 4 };

static json_t *layer_params(bool dropped)
{
    json_t *params = json_pack("{s:[s], s:[s], s:[s, s, s]}", "head", "Embedding", "body", "DecoderLayer", "tail",
                               "norm_out-FinalNorm", "lm_head-Head", "loss-CrossEntropy");
    if (dropped)
        json_object_set_new(params, "drop_first_steps", json_integer(1));
    else
        json_object_set_new(params, "micro_batches", json_integer(MICRO_BATCHES));
    return params;
}

/* Means over the steps after the first. NULL: never executed. */
static json_t *pass_of(const trace_truth_layer *layer, int direction, double *wall_mean)
{
    int64_t wall = 0, busy = 0;
    int n = 0;
    for (int i = 0; i < layer->n[direction]; i++) {
        const trace_execution *e = &layer->execution[direction][i];
        wall += e->step > 0 ? e->wall : 0;
        busy += e->step > 0 ? e->busy : 0;
        n += e->step > 0;
    }
    *wall_mean = n ? (double)wall / n / 1e3 : 0;
    return n ? json_pack("{s:f, s:f, s:i}", "wall_us", *wall_mean, "busy_us", (double)busy / n / 1e3, "n", n) : NULL;
}

/* @return the mean time of a layer's backward pass, in ms */
static double add_layers(const profile *p)
{
    static const char *const word[] = {"embedding", "norm", "head", "loss"};
    static const char *const element[] = {"tok_embeddings-Embedding", "norm_out-FinalNorm", "lm_head-Head",
                                          "loss-CrossEntropy"};
    static const char *const direction[TRACE_N_DIRECTIONS] = {"fwd", "rec", "bwd"};
    double backward = 0, wall;
    int n_layers = 0;
    for (int stage = 0; stage < N_STAGES; stage++) {
        json_t *layers = json_object(), *recomputed = json_array();
        for (int i = 0; i < p->truth.n_layers; i++) {
            const trace_truth_layer *l = &p->truth.layer[i];
            char key[16];
            if (l->stage != stage)
                continue;
            snprintf(key, sizeof key, "%d", l->index);
            for (int k = 0; k < 4; k++)
                if (strcmp(l->name, element[k]) == 0)
                    snprintf(key, sizeof key, "%s", word[k]);
            json_t *passes = json_object();
            for (int d = 0; d < TRACE_N_DIRECTIONS; d++) {
                json_t *pass = pass_of(l, d, &wall);
                if (pass)
                    json_object_set_new(passes, direction[d], pass);
                if (pass && d == TRACE_RERUN)
                    json_array_append_new(recomputed, json_integer(l->index));
            }
            backward += l->index >= 0 ? wall / 1e3 : 0;
            n_layers += l->index >= 0;
            json_object_set_new(layers, key, passes);
        }
        check(json_array_size(recomputed) == 1, "layers that are run again");
        add_case("layer_times", file_list(trace_of(p, stage), NULL), layer_params(true),
                 json_pack("{s:f}", "abs_us", 0.001),
                 json_pack("{s:i, s:o, s:o}", "micro_batches", MICRO_BATCHES, "recomputed_layers", recomputed, "layers",
                           layers));
    }
    return backward / n_layers;
}

/* ---- results of MindFormers' analyser for scopes ---- */

enum { N_TEXTS = 5, MAX_MARKS = STAGE_STEPS * MICRO_BATCHES };
static const char *const scope_text[N_TEXTS] = {"Embedding", "DecoderLayer", "norm_out-FinalNorm", "lm_head-Head",
                                                "loss-CrossEntropy"};
enum { BODY = 1 /* in scope_text */ };

/* From the third execution of the first MatMul to the last one. */
static void find_window(const profile *p, int stage, int64_t *from, int64_t *to)
{
    const char *mark = NULL;
    int n = 0;
    for (size_t i = 0; i < p->n; i++) {
        const happening *h = &p->at[i];
        if (h->item.rank != stage || h->item.kind != TRACE_TASK)
            continue;
        if (!mark && strstr(h->name, "MatMul-op"))
            mark = h->name;
        if (!mark || strcmp(mark, h->name) != 0)
            continue;
        if (n++ == 2)
            *from = h->item.start;
        *to = h->item.start;
    }
    check(n == MAX_MARKS, "marks");
}

/* Does it lie within one of the outermost scopes "Default"? */
static bool is_in_default(const profile *p, int stage, int64_t start, int64_t end)
{
    for (size_t i = 0; i < p->n; i++) {
        const trace_item *d = &p->at[i].item;
        if (d->rank == stage && d->kind == TRACE_SCOPE && d->thread == 0 && strcmp(p->at[i].name, "Default") == 0 &&
            d->start <= start && end <= d->start + d->duration)
            return true;
    }
    return false;
}

/* Totals in ms by the text in a scope's name, of the body by the whole name; 0 outside of them. */
static void add_scopes(const profile *p, int stage, json_t *total)
{
    int64_t from = 0, to = 0;
    find_window(p, stage, &from, &to);
    for (size_t i = 0; i < p->n; i++) {
        const happening *h = &p->at[i];
        if (h->item.rank != stage || h->item.kind != TRACE_SCOPE)
            continue;
        int64_t start = h->item.start, end = start + h->item.duration;
        bool counts = from <= start && end <= to && is_in_default(p, stage, start, end);
        for (int k = 0; k < N_TEXTS; k++)
            if (strstr(h->name, scope_text[k]))
                add_number(total, k == BODY ? h->name : scope_text[k], counts ? (double)h->item.duration / 1e6 : 0);
    }
}

/* Of a step and micro-batch; of the body the mean over its layers. */
static double cost_of(const json_t *total, const char *text)
{
    double ms = 0;
    int n = 0;
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)total, name, value)
    {
        ms += strstr(name, text) ? json_number_value(value) : 0;
        n += strstr(name, text) != NULL;
    }
    return ms / n / (MAX_MARKS - 3) / MICRO_BATCHES;
}

static void add_analyser(const profile *p, double backward_ms)
{
    json_t *total = json_object(), *costs = json_object();
    double cost[N_TEXTS];
    for (int stage = 0; stage < N_STAGES; stage++)
        add_scopes(p, stage, total);
    for (int k = 0; k < N_TEXTS; k++) {
        cost[k] = cost_of(total, scope_text[k]);
        json_object_set_new(costs, scope_text[k], json_real(cost[k]));
    }
    add_case("layer_times", file_list(trace_of(p, 0), trace_of(p, 1)), layer_params(false),
             json_pack("{s:f}", "abs_ms", 1e-6),
             json_pack("{s:{s:i, s:o, s:o, s:f, s:f, s:f}, s:f}", "mindformers_analyser", "counted_steps",
                       MAX_MARKS - 3, "total_ms", total, "cost_ms", costs, "head_ms", cost[0], "body_ms", cost[BODY],
                       "tail_ms", cost[2] + cost[3] + cost[4], "backward_ms_per_layer", backward_ms));
}

static void add_stages(const trace_shape *shape, const char *folder)
{
    profile p = make_profile(shape, folder);
    for (int stage = 0; stage < N_STAGES; stage++) {
        works all = works_of(&p, stage);
        add_pipeline(&p, stage, &all);
        free(all.at);
    }
    add_analyser(&p, add_layers(&p));
    clear_profile(&p);
}

/* ---- MindSpore until 2023, by hand ---- */

static void add_old_timeline(void)
{
    put("older/timeline_display_1.json",
        "[{\"name\": \"process_name\", \"ph\": \"M\", \"pid\": 1, \"args\": {\"name\": \"Device\"}},\n"
        "{\"name\": \"Iteration 1\", \"ph\": \"X\", \"pid\": 0, \"tid\": \"Steps\", \"ts\": 10.0, \"dur\": 90.0},\n"
        "{\"name\": \"MatMul-op1\", \"ph\": \"X\", \"pid\": 1, \"tid\": \"1\", \"ts\": 12.0, \"dur\": 20.5},\n"
        "{\"name\": \"Add-op2\", \"ph\": \"X\", \"pid\": 1, \"tid\": \"1\", \"ts\": 40.0, \"dur\": 1.25},\n"
        "{\"name\": \"AllReduce-op3\", \"ph\": \"X\", \"pid\": 1, \"tid\": \"2\", \"ts\": 50.0, \"dur\": 10.0}]\n");
    add_case("event_counts", file_list("older/timeline_display_1.json", NULL), NULL, json_pack("{s:i}", "abs", 0),
             json_pack("{s:i, s:{s:i, s:i}, s:{s:i, s:i}, s:i, s:f}", "events", 5, "by_ph", "M", 1, "X", 4, "by_pid",
                       "0", 1, "1", 3, "distinct_tids", 3, "pid1_total_us", 31.75));
}

/* Two stages of two ranks, three steps and their mean. Rank 2 has the longest interval, 40 over a mean of 20 ms. */
static void add_step_traces(void)
{
    json_t *files = json_array(), *ranks = json_object();
    for (int table = 0; table < 2; table++)
        for (int rank = 0; rank < N_RANKS; rank++) {
            char name[128], text[1024], key[16];
            size_t n;
            const int interval = rank == 2 ? 4000000 : 1000000 + 500000 * (rank == 1); /* of 10 ns */
            if (table == 0) {
                snprintf(name, sizeof name, "older/step_trace_raw_%d_detail_time.csv", rank);
                n = (size_t)snprintf(text, sizeof text,
                                     "step_num,start_point,end_point,total,fp_point,bp_point,iteration_interval,"
                                     "fp_and_bp,tail\n");
                for (int step = 1; step <= 5; step++)
                    n += (size_t)snprintf(text + n, sizeof text - n, "%d,100,900,800,200,700,%d,%d,%d\n", step,
                                          interval + step - 3, 500000 + step - 3, 200 + 2 * (step - 3));
                snprintf(text + n, sizeof text - n, "-,100,900,800,200,700,%d,500000,200\n", interval);
            } else {
                snprintf(name, sizeof name, "older/ascend_cluster_analyse_pipeline-parallel_2_4_%d.csv", rank);
                n = (size_t)snprintf(text, sizeof text,
                                     "computation_time,communication_alone_time,stage_time,receive_alone_time,"
                                     "collective_communication_alone_time\n");
                for (int step = 1; step <= 6; step++) /* the last is the mean */
                    n += (size_t)snprintf(text + n, sizeof text - n, "%d.5,2.25,%d,0.75,1.5\n",
                                          100 + rank + (step == 6 ? 0 : step - 3), 120 + rank);
                snprintf(key, sizeof key, "%d", rank);
                json_object_set_new(ranks, key,
                                    json_pack("{s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f}", "iteration_interval_ms",
                                              interval / 1e5, "fp_and_bp_ms", 5.0, "tail_ms", 0.002,
                                              "computation_time_ms", 100.5 + rank, "communication_alone_time_ms", 2.25,
                                              "stage_time_ms", 120.0 + rank, "receive_alone_time_ms", 0.75,
                                              "collective_communication_alone_time_ms", 1.5));
            }
            put(name, text);
            json_array_append_new(files, json_string(name));
        }
    /* 10, 15, 40, 10 ms */
    add_case("step_breakdown", files, NULL, json_pack("{s:f, s:f}", "abs_ms", 1e-6, "pct", 1e-6),
             json_pack("{s:o, s:i, s:f}", "ranks", ranks, "worst_rank_by_iteration_interval", 2, "worst_over_mean_pct",
                       100 * (40 / 18.75 - 1)));
}

/* Rank 1's link to its neighbour is the slowest. Each first row is another step's. */
static void add_old_links(void)
{
    json_t *files = json_array(), *links = json_object();
    for (int rank = 0; rank < N_RANKS; rank++) {
        char name[64], text[512], link[32];
        double rate = rank == 1 ? 1e8 : 2e8 + 1e6 * rank, size = 4000 + 100.5 * rank;
        snprintf(name, sizeof name, "older/hccl_raw_%d.csv", rank);
        snprintf(text, sizeof text,
                 "step_num,communication_cost,wait_cost,link_info,communication_operator_cost\n"
                 "1,2.0,1.0,\"{\"\"0-1\"\": {\"\"SDMA\"\": [9, 9, 9]}}\",\"{}\"\n"
                 "-,2.0,1.0,\"{\"\"0-1\"\": {\"\"SDMA\"\": [2.5, %.1f, %.1f]}, \"\"1-1\"\": {\"\"SDMA\"\": "
                 "[0.5, 5000.25, 4000000000.0]}}\",\"{}\"\n",
                 size, rate);
        put(name, text);
        json_array_append_new(files, json_string(name));
        snprintf(link, sizeof link, "rank%d:0-1:SDMA", rank);
        json_object_set_new(links, link,
                            json_pack("{s:f, s:f, s:f}", "time_ms", 2.5, "size_kb", size, "bytes_per_s", rate));
        snprintf(link, sizeof link, "rank%d:1-1:SDMA", rank);
        json_object_set_new(links, link,
                            json_pack("{s:f, s:f, s:f}", "time_ms", 0.5, "size_kb", 5000.25, "bytes_per_s", 4e9));
    }
    add_case("link_bandwidth", files, NULL, json_pack("{s:f}", "rel", 1e-9),
             json_pack("{s:o, s:s}", "links", links, "slowest", "rank1:0-1:SDMA"));
}

/* The queue that feeds training is that of 2, and nearly empty. */
static void add_old_data(void)
{
    put("older/minddata_pipeline_raw_0.csv",
        "op_id,op_type,num_workers,output_queue_size,output_queue_average_size,output_queue_length,"
        "output_queue_usage_rate,sample_interval,parent_id,children_id\n"
        "0,Batch,2,,,,0,10,,[2]\n2,Map,4,\"[1, 2]\",1.5,32,0.046875,10,0,[3]\n"
        "3,TFReader,8,\"[32, 32]\",32.0,32,1,10,2,\n");
    add_case(
        "data_loading", file_list("older/minddata_pipeline_raw_0.csv", NULL), NULL, json_pack("{s:f}", "abs", 1e-9),
        json_pack("{s:[{s:i, s:s, s:i, s:f, s:n}, {s:i, s:s, s:i, s:f, s:i, s:f, s:s}, {s:i, s:s, s:i, s:f, s:i, s:f, "
                  "s:s}], s:b}",
                  "ops", "id", 0, "type", "Batch", "workers", 2, "usage_rate", 0.0, "parent", "id", 2, "type", "Map",
                  "workers", 4, "queue_average", 1.5, "queue_length", 32, "usage_rate", 0.046875, "parent", "0", "id",
                  3, "type", "TFReader", "workers", 8, "queue_average", 32.0, "queue_length", 32, "usage_rate", 1.0,
                  "parent", "2", "near_empty_output_queue", 1));
}

/* Most is alive from 4 on: 1000 + 300 + 512, and again at 8: 1000 + 700 + 112. */
static void add_tracker(void)
{
    put("older/rank_0/memory_block.csv",
        "start_time_stamp,end_time_stamp,device_addr,stream_id,pool_type,size,actual_peak_memory,file_name,line_num,"
        "type,producer_task,task_name,node_name,graph_name,user_tasks,\n"
        "1,9223372036854775807,0x1,0,Pool,1000,2048,a.cc,1,Weight,1,Load,embedding.weight,graph,{2-9-},\n"
        "2,6,0x2,0,Pool,300,2048,a.cc,1,Kernel,2,MatMul,Default/network/0-Layer/MatMul-op1,graph,{3-5-},\n"
        "4,5,0x3,0,Pool,512,4096,a.cc,1,WorkSpace,4,MatMul,,graph,,\n"
        "-1,-1,0x4,0,Pool,99,4096,a.cc,1,InsideSomas,4,MatMul,,graph,,\n"
        "6,9,0x5,0,Pool,700,4096,a.cc,1,Kernel,6,Add,Default/network/1-Layer/Add-op2,graph,{7-8-},\n"
        "8,9,0x6,0,Pool,112,3000,a.cc,1,,8,Add,,graph,,\n"
        "9,9223372036854775807,0x7,0,Pool,50,3000,a.cc,1,Kernel,9,Add,op9,graph,{9-},\n");
    add_case("memory_peak", file_list("older/rank_0/memory_block.csv", NULL), NULL, json_pack("{s:i}", "bytes", 0),
             json_pack("{s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:{s:i, s:i, s:i}}", "rows", 7, "pool_blocks", 6,
                       "somas_rows", 1, "peak_bytes", 1812, "peak_tick", 4, "never_freed_bytes", 1050,
                       "max_actual_peak_memory", 4096, "live_at_peak_by_type", "Weight", 1000, "Kernel", 300,
                       "WorkSpace", 512));
}

/* ---- all ---- */

static char whole[64];

static void remove_whole(void)
{
    strcpy(top, whole);
    remove_top(NULL);
}

static void make(void)
{
    static const trace_rerun rerun[] = {TRACE_RERUN_FULL, TRACE_RERUN_SELECT},
                             stages_rerun[] = {TRACE_RERUN_NONE, TRACE_RERUN_FULL, TRACE_RERUN_SELECT,
                                               TRACE_RERUN_NONE};
    trace_shape job = {.n_stages = N_STAGES,
                       .n_data = N_DATA,
                       .n_micro_batches = 2,
                       .n_steps = N_STEPS,
                       .n_layers = 1,
                       .rerun = rerun,
                       .jitter = 0.05,
                       .warm_up = 1.4,
                       .seed = 11,
                       .gradients = true,
                       .launches = true,
                       .data_wait = 300 * US,
                       .slow_rank = 3,
                       .slow_rank_by = 0.2};
    const trace_shape stages = {.form = TRACE_MINDSPORE,
                                .n_stages = N_STAGES,
                                .n_micro_batches = MICRO_BATCHES,
                                .n_steps = STAGE_STEPS,
                                .n_layers = 2,
                                .rerun = stages_rerun,
                                .shared_numbers = true,
                                .jitter = 0.1,
                                .warm_up = 1.4,
                                .seed = 5};
    cases = json_array();
    add_ascend((job.form = TRACE_MINDSPORE, &job), "mindspore");
    add_ascend((job.form = TRACE_TORCH_NPU, &job), "torch_npu");
    add_torch((job.form = TRACE_TORCH, &job), "torch");
    add_stages(&stages, "stages");
    add_old_timeline();
    add_step_traces();
    add_old_links();
    add_old_data();
    add_tracker();
    json_t *root = json_pack("{s:o}", "cases", cases);
    check(json_dump_file(root, below("expected.json"), JSON_INDENT(1)) == 0, "expected.json");
    json_decref(root);
}

const char *made_traces(void)
{
    if (!whole[0]) {
        check(make_top(NULL) == 0, "no folder");
        strcpy(whole, top);
        atexit(remove_whole);
        make();
    }
    return whole;
}

int trace_references(const char *folder[MAX_TRACE_REFERENCES])
{
    static char shared[4096];
    int n = 0;
    folder[n++] = made_traces();
    snprintf(shared, sizeof shared, "%s", shared_path("reference/traces"));
    if (access(shared, R_OK) == 0)
        folder[n++] = shared;
    return n;
}

void traces_of_others_are_among_them(void **state)
{
    (void)state;
    const char *folder[MAX_TRACE_REFERENCES];
    need_shared("reference/traces/expected.json");
    assert_int_equal(trace_references(folder), MAX_TRACE_REFERENCES);
}
