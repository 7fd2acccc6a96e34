/* Tests the analyses over made, real and generated traces with known answers: every case of an expected.json that
 * depends only on the trace, with its names and tolerances. The made ones are made_traces.h's; those of ../shared are
 * not part of the project and are used where available. */
#include "input.h"
#include "made_traces.h"

#include <jansson.h>
#include <math.h>

#include "trace/analyse/analysis.h"

enum { MAX_CASES = 256 };
static json_t *reference[MAX_TRACE_REFERENCES];
static const char *folder[MAX_TRACE_REFERENCES];
static int n_references, n_checked;

/* ---- reading one case's file ---- */

typedef struct reading {
    const char *folder, *file; /* as in the reference */
    ek_trace_rank rank;
} reading;
static reading readings[MAX_CASES];
static int n_readings;

static ek_trace_rank *read_file(const char *where, const char *file)
{
    for (int i = 0; i < n_readings; i++)
        if (readings[i].folder == where && strcmp(readings[i].file, file) == 0)
            return &readings[i].rank;
    static ek__analysis *const analyses[] = {
#define ANALYSIS_OF(name) ek__analyse_##name,
        EK__ANALYSIS_LIST(ANALYSIS_OF)
#undef ANALYSIS_OF
    };
    assert_true(n_readings < MAX_CASES);
    reading *r = &readings[n_readings++];
    *r = (reading){.folder = where, .file = file, .rank = {.rank = EK_TRACE_NO_RANK, .stage = -1}};
    char path[8192];
    snprintf(path, sizeof path, "%s/%s", where, file);
    const char *paths[] = {path};
    ek_trace_options options = {.n_threads = 1};
    ek_error err = {0};
    ek__trace trace;
    ek_trace_source source = {0};
    r->rank.pool = ek__pool_new();
    if (ek__trace_read(paths, 1, 1, &options, r->rank.pool, &source, &trace, &err) != EK_OK)
        fail_msg("%s: %s", file, err.message);
    r->rank.producer = trace.producer;
    r->rank.counts = trace.counts;
    r->rank.rank = trace.rank;
    r->rank.world_size = trace.world_size;
    for (size_t i = 0; i < sizeof analyses / sizeof *analyses; i++)
        assert_int_equal(analyses[i](&trace, &options, &r->rank, &err), EK_OK);
    ek__trace_clear(&trace);
    return &r->rank;
}

/* ---- comparing ---- */

static int n_wrong;

static void check(const char *name, const char *what, double got, double expected, double tolerance)
{
    n_checked++;
    if (fabs(got - expected) <= tolerance + 1e-9 * fabs(expected))
        return;
    n_wrong++;
    print_error("%s: %s is %.6f, expected %.6f (+- %g)\n", name, what, got, expected, tolerance);
}

static double us(int64_t ns)
{
    return ns == EK_TRACE_UNKNOWN ? (double)NAN : (double)ns / 1000;
}

static double tolerance_of(json_t *c, const char *key)
{
    json_t *t = json_object_get(json_object_get(c, "tolerance"), key);
    return t ? json_number_value(t) : 0;
}

/* Compare every field of `expected` that has a figure; unknown keys are named as wrong, so that none is missed. */
typedef struct figure {
    const char *key;
    double value;
    bool is_count;
} figure;

static void check_figures(const char *name, json_t *expected, const figure *f, size_t n, double tolerance)
{
    const char *key;
    json_t *value;
    json_object_foreach(expected, key, value)
    {
        if (!json_is_number(value))
            continue;
        bool found = false;
        for (size_t i = 0; i < n; i++)
            if (strcmp(f[i].key, key) == 0) {
                found = true;
                check(name, key, f[i].value, json_number_value(value), f[i].is_count ? 0 : tolerance);
            }
        if (!found) {
            n_wrong++;
            print_error("%s: nothing to compare %s with\n", name, key);
        }
    }
}

static const ek_trace_step *step_of(const ek_trace_rank *rank, const char *name)
{
    for (int i = 0; i < rank->n_steps; i++)
        if (strcmp(rank->step[i].name, name) == 0)
            return &rank->step[i];
    return NULL;
}

static void check_breakdown(const char *name, json_t *expected, const ek_trace_breakdown *b, const ek_trace_step *step,
                            double tolerance)
{
    const figure figures[] = {
        {"n_gpu_events", (double)b->n_events, true},
        {"computation", us(b->computing), false},
        {"communication", us(b->communication), false},
        {"exposed_communication", us(b->communication_not_overlapped), false},
        {"overlapped_communication", us(b->overlapped), false},
        {"memcpy", us(b->copy), false},
        {"exposed_memcpy", us(b->copy_not_overlapped), false},
        {"busy", us(b->busy), false},
        {"idle", us(b->free), false},
        {"total", us(b->total), false},
        {"host_step", step ? us(step->host_step) : (double)NAN, false},
    };
    check_figures(name, expected, figures, sizeof figures / sizeof *figures, tolerance);
}

/* ---- kinds ---- */

static void check_ascend_step(const char *name, json_t *c, json_t *expected, const ek_trace_rank *rank)
{
    const char *source = json_string_value(json_object_get(json_object_get(c, "params"), "source"));
    json_t *wanted = json_object_get(expected, "step");
    const ek_trace_step *s = wanted ? step_of(rank, json_string_value(wanted)) : rank->n_steps ? &rank->step[0] : NULL;
    if (!s) {
        n_wrong++;
        print_error("%s: no such step\n", name);
        return;
    }
    bool raw = source && strcmp(source, "raw_events") == 0;
    const ek_trace_breakdown *b = raw ? &s->raw : &s->own;
    const figure figures[] = {
        {"computing", us(b->computing), false},
        {"communication", us(b->communication), false},
        {"communication_not_overlapped", us(b->communication_not_overlapped), false},
        {"overlapped", us(b->overlapped), false},
        {"free", us(b->free), false},
        {"stage", us(s->stage), false},
        {"bubble", us(s->bubble), false},
        {"preparing", us(s->preparing), false},
        {"host_step", us(s->host_step), false},
        {"iteration_time", us(s->host_step), false},
        {"scope_default_busy", us(s->scope_default_busy), false},
        {"scope_gradients_busy", us(s->scope_gradients_busy), false},
        /* of the CSV, not of the trace; the trace's value is within its rounding */
        {"csv_stage", round(us(s->stage) * 4) / 4, false},
        {"csv_preparing", round(us(s->preparing) * 4) / 4, false},
    };
    json_t *own = json_deep_copy(expected);
    json_object_del(own, "csv_stage");
    json_object_del(own, "csv_preparing");
    check_figures(name, own, figures, sizeof figures / sizeof *figures, tolerance_of(c, "abs_us"));
    json_decref(own);
    if (json_object_get(expected, "csv_stage")) {
        check(name, "csv_stage", us(s->stage), json_number_value(json_object_get(expected, "csv_stage")), 0.5);
        check(name, "csv_preparing", us(s->preparing), json_number_value(json_object_get(expected, "csv_preparing")),
              0.5);
    }
}

static void check_step_breakdown(const char *name, json_t *c, json_t *expected, const ek_trace_rank *rank)
{
    json_t *steps = json_object_get(expected, "steps"), *value;
    const char *key;
    if (!steps) {
        check_ascend_step(name, c, expected, rank);
        return;
    }
    json_object_foreach(steps, key, value)
    {
        const ek_trace_step *s = step_of(rank, key);
        if (s)
            check_breakdown(name, value, &s->own, s, tolerance_of(c, "abs_us"));
        else {
            n_wrong++;
            print_error("%s: no step %s\n", name, key);
        }
    }
    check(name, "n_steps", rank->n_steps, (double)json_object_size(steps), 0);
    check(name, "events_outside_steps", (double)rank->n_outside_steps,
          json_number_value(json_object_get(expected, "events_outside_steps")), 0);
}

static void check_device_breakdown(const char *name, json_t *c, json_t *expected, const ek_trace_rank *rank)
{
    const char *events = json_string_value(json_object_get(json_object_get(c, "params"), "events"));
    bool linked = events && strcmp(events, "linked") == 0;
    for (size_t i = 0; !linked && events && strlen(events) > 6 && i < 1; i++)
        linked = strstr(events, "linked");
    check_breakdown(name, expected, linked ? &rank->device_linked : &rank->device, NULL, tolerance_of(c, "abs_us"));
    if (json_number_value(json_object_get(expected, "n_gpu_events")) == 0) {
        check(name, "has_device_events", rank->has_device_events, 0, 0);
        check(name, "notes", rank->n_notes > 0, 1, 0);
    }
}

static void check_idle(const char *name, json_t *c, json_t *expected, const ek_trace_rank *rank)
{
    double tolerance = tolerance_of(c, "abs_us");
    const ek_trace_idle *idle = &rank->idle;
    const char *key;
    json_t *value;
    if (json_object_get(expected, "free_intervals")) {
        const figure figures[] = {{"free_intervals", (double)idle->n_intervals, true},
                                  {"host_bound_us", us(idle->host_bound), false},
                                  {"host_bound_count", (double)idle->n_host_bound, true},
                                  {"device_bound_us", us(idle->device_bound), false},
                                  {"device_bound_count", (double)idle->n_device_bound, true},
                                  {"unlinked_us", us(idle->unlinked), false},
                                  {"unlinked_count", (double)idle->n_unlinked, true},
                                  {"linked_device_tasks", (double)idle->n_linked_tasks, true},
                                  {"device_tasks", (double)idle->n_tasks, true}};
        check_figures(name, expected, figures, sizeof figures / sizeof *figures, tolerance);
        return;
    }
    check(name, "streams", idle->n_streams, (double)json_object_size(expected), 0);
    json_object_foreach(expected, key, value)
    {
        const ek_trace_stream_idle *found = NULL;
        for (int i = 0; i < idle->n_streams; i++) {
            char stream[512];
            snprintf(stream, sizeof stream, "%s/%s", idle->stream[i].pid, idle->stream[i].tid);
            if (strcmp(stream, key) == 0)
                found = &idle->stream[i];
        }
        if (!found) {
            n_wrong++;
            print_error("%s: no stream %s\n", name, key);
            continue;
        }
        const figure figures[] = {
            {"events", (double)found->n_events, true},         {"host_wait", us(found->host_wait), false},
            {"kernel_wait", us(found->kernel_wait), false},    {"other", us(found->other), false},
            {"n_host_wait", (double)found->n_host_wait, true}, {"n_other", (double)found->n_other, true},
            {"no_launch", (double)found->n_no_launch, true}};
        check_figures(name, value, figures, sizeof figures / sizeof *figures, tolerance);
    }
}

static void check_kernel_totals(const char *name, json_t *c, json_t *expected, const ek_trace_rank *rank)
{
    const ek_trace_operators *ops = &rank->operators;
    double tolerance = tolerance_of(c, "abs_us");
    size_t i;
    json_t *row;
    check(name, "distinct", ops->n, json_number_value(json_object_get(expected, "distinct")), 0);
    check(name, "total_count", (double)ops->n_executions, json_number_value(json_object_get(expected, "total_count")),
          0);
    check(name, "total_us", us(ops->total), json_number_value(json_object_get(expected, "total_us")), tolerance);
    json_array_foreach(json_object_get(expected, "top"), i, row)
    {
        if ((int)i >= ops->n)
            break;
        const ek_trace_operator *op = NULL;
        const char *kernel = json_string_value(json_object_get(row, "name"));
        for (int k = 0; k < ops->n && !op; k++)
            op = strcmp(ops->op[k].name, kernel) == 0 ? &ops->op[k] : NULL;
        if (!op || op->total != ops->op[i].total) {
            n_wrong++;
            print_error("%s: row %zu is %s\n", name, i, kernel);
            continue;
        }
        const figure figures[] = {{"count", (double)op->count, true},     {"total_us", us(op->total), false},
                                  {"min_us", us(op->min), false},         {"max_us", us(op->max), false},
                                  {"mean_us", op->average / 1000, false}, {"share_pct", op->ratio, false}};
        check_figures(name, row, figures, sizeof figures / sizeof *figures, tolerance > 0 ? tolerance : 0.05);
    }
}

static void check_collectives(const char *name, json_t *c, json_t *expected, const ek_trace_rank *rank)
{
    const char *key;
    json_t *value;
    check(name, "sums", rank->communication.n_sums, (double)json_object_size(expected), 0);
    json_object_foreach(expected, key, value)
    {
        const ek_trace_collective_sum *sum = NULL;
        for (int i = 0; i < rank->communication.n_sums; i++)
            if (strcmp(rank->communication.sum[i].key, key) == 0)
                sum = &rank->communication.sum[i];
        check(name, key, sum ? (double)sum->count : 0, json_number_value(json_object_get(value, "count")), 0);
        check(name, key, sum ? us(sum->total) : 0, json_number_value(json_object_get(value, "total_us")),
              tolerance_of(c, "abs_us"));
    }
}

static void check_recompute(const char *name, json_t *c, json_t *expected, const ek_trace_rank *rank)
{
    double tolerance = tolerance_of(c, "abs_us");
    check(name, "regions", (double)rank->recompute.n_regions,
          json_number_value(json_object_get(expected, "recompute_regions")), 0);
    check_breakdown(name, json_object_get(expected, "recompute"), &rank->recompute.recompute, NULL, tolerance);
    check_breakdown(name, json_object_get(expected, "not_recompute"), &rank->recompute.rest, NULL, tolerance);
}

static void check_pipeline(const char *name, json_t *c, json_t *expected, const ek_trace_rank *rank)
{
    size_t i;
    json_t *row;
    check(name, "steps", rank->n_steps, (double)json_array_size(json_object_get(expected, "steps")), 0);
    json_array_foreach(json_object_get(expected, "steps"), i, row)
    {
        char number[32];
        snprintf(number, sizeof number, "%d", (int)json_integer_value(json_object_get(row, "step")));
        const ek_trace_step *s = step_of(rank, number);
        if (!s)
            continue;
        const figure figures[] = {{"step", (double)strtol(s->name, NULL, 10), true},
                                  {"computing", us(s->own.computing), false},
                                  {"communication", us(s->own.communication), false},
                                  {"not_overlapped", us(s->own.communication_not_overlapped), false},
                                  {"free_us", us(s->own.free), false},
                                  {"device_span_us", us(s->span), false},
                                  {"preparing_us", us(s->preparing), false},
                                  {"receive_count", (double)s->n_receives, true},
                                  {"receive_us", us(s->receive), false},
                                  {"receive_exposed_us", us(s->receive_exposed), false},
                                  {"send_us", us(s->send), false}};
        check_figures(name, row, figures, sizeof figures / sizeof *figures, tolerance_of(c, "abs_us"));
    }
}

static void check_data(const char *name, json_t *c, json_t *expected, const ek_trace_rank *rank)
{
    double tolerance = tolerance_of(c, "abs_us");
    const char *key;
    json_t *value;
    if (json_object_get(expected, "count")) {
        const figure figures[] = {{"count", rank->data.n_iterators ? (double)rank->data.iterator[0].count : 0, true},
                                  {"total_us", us(rank->data.total), false},
                                  {"share_of_host_step", round(rank->data.share_of_host_step * 1e5) / 1e5, false}};
        check_figures(name, expected, figures, 3, tolerance);
        return;
    }
    json_object_foreach(expected, key, value)
    {
        const ek_trace_iterator *it = NULL;
        for (int i = 0; i < rank->data.n_iterators; i++)
            if (strcmp(rank->data.iterator[i].name, key) == 0)
                it = &rank->data.iterator[i];
        check(name, key, it ? (double)it->count : 0, json_number_value(json_object_get(value, "count")), 0);
        check(name, key, it ? us(it->total) : 0, json_number_value(json_object_get(value, "total_us")), tolerance);
    }
}

static void check_counts(const char *name, json_t *c, json_t *expected, const ek_trace_rank *rank)
{
    const ek_trace_counts *counts = &rank->counts;
    const char *key;
    json_t *value, *items = json_object_get(expected, "items");
    (void)c;
    items = items ? items : json_object_get(expected, "events");
    check(name, "items", (double)counts->n_items, json_number_value(items), 0);
    json_object_foreach(json_object_get(expected, "by_ph"), key, value)
        check(name, key, (double)counts->by_phase[(int)key[0]], json_number_value(value), 0);
    json_object_foreach(json_object_get(expected, "complete_by_cat"), key, value)
    {
        double n = 0;
        for (int i = 0; i < counts->n_categories; i++)
            if (strcmp(counts->category[i].name, key) == 0)
                n = (double)counts->category[i].n_complete;
        check(name, key, n, json_number_value(value), 0);
    }
    json_object_foreach(json_object_get(expected, "complete_events_by_process"), key, value)
    {
        double n = 0;
        for (int i = 0; i < counts->n_processes; i++)
            if (counts->process[i].name && strcmp(counts->process[i].name, key) == 0)
                n += (double)counts->process[i].n_complete;
        check(name, key, n, json_number_value(value), 0);
    }
    json_t *rank_value = json_object_get(expected, "rank"), *world = json_object_get(expected, "world_size");
    if (rank_value)
        check(name, "rank", rank->rank, json_is_null(rank_value) ? EK_TRACE_NO_RANK : json_number_value(rank_value), 0);
    if (world)
        check(name, "world_size", rank->world_size, json_is_null(world) ? 0 : json_number_value(world), 0);
}

/* ---- the cases ---- */

typedef void checker(const char *name, json_t *c, json_t *expected, const ek_trace_rank *rank);

static bool is_trace(const char *file)
{
    return strstr(file, ".json") && !strstr(file, "communication") && !strstr(file, "profiler_info") &&
           !strstr(file, "profiler_metadata");
}

static int run_cases(const char *where, json_t *cases, const char *kind, checker *run)
{
    int n = 0;
    size_t i;
    json_t *c;
    json_array_foreach(cases, i, c)
    {
        json_t *files = json_object_get(c, "files");
        const char *file = json_string_value(json_array_get(files, 0));
        if (strcmp(json_string_value(json_object_get(c, "command_kind")), kind) != 0 || json_array_size(files) != 1 ||
            !is_trace(file))
            continue;
        run(json_string_value(json_object_get(c, "name")), c, json_object_get(c, "expected"), read_file(where, file));
        n++;
    }
    return n;
}

/* `least` of each reference. */
static void run_kind(const char *kind, checker *run, const int least[MAX_TRACE_REFERENCES])
{
    n_wrong = 0;
    for (int r = 0; r < n_references; r++)
        assert_true(run_cases(folder[r], json_object_get(reference[r], "cases"), kind, run) >= least[r]);
    assert_int_equal(n_wrong, 0);
}

#define KIND(kind, run, made, of_others)                                                                               \
    static void kind##_is_as_expected(void **state)                                                                    \
    {                                                                                                                  \
        (void)state;                                                                                                   \
        run_kind(#kind, run, (const int[]){made, of_others});                                                          \
    }
KIND(event_counts, check_counts, 13, 28)
KIND(step_breakdown, check_step_breakdown, 36, 30)
KIND(device_breakdown, check_device_breakdown, 8, 27)
KIND(idle_attribution, check_idle, 12, 21)
KIND(kernel_totals, check_kernel_totals, 4, 20)
KIND(collective_table, check_collectives, 4, 5)
KIND(recompute_time, check_recompute, 4, 1)
KIND(pipeline_intervals, check_pipeline, 10, 2)
KIND(data_loading, check_data, 12, 10)

int main(void)
{
    n_references = trace_references(folder);
    for (int r = 0; r < n_references; r++) {
        char path[8192];
        snprintf(path, sizeof path, "%s/expected.json", folder[r]);
        reference[r] = json_load_file(path, 0, NULL);
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(event_counts_is_as_expected),     cmocka_unit_test(step_breakdown_is_as_expected),
        cmocka_unit_test(device_breakdown_is_as_expected), cmocka_unit_test(idle_attribution_is_as_expected),
        cmocka_unit_test(kernel_totals_is_as_expected),    cmocka_unit_test(collective_table_is_as_expected),
        cmocka_unit_test(recompute_time_is_as_expected),   cmocka_unit_test(pipeline_intervals_is_as_expected),
        cmocka_unit_test(data_loading_is_as_expected),     cmocka_unit_test(traces_of_others_are_among_them),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    for (int i = 0; i < n_readings; i++)
        ek__pool_free(readings[i].rank.pool);
    for (int r = 0; r < n_references; r++)
        json_decref(reference[r]);
    print_message("# %d figures compared\n", n_checked);
    return failed;
}
