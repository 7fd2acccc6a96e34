/* Tests pages of memory predictions, traces and diagnoses: their documents, read again by jansson, against the structs
 * they were made from. Bars add up to their stated total; matrices have the links of a sum by hand; findings are in
 * their order; names that look like markup are read back unchanged; allocations that fail leave no document. */
#include "tree.h"

#include <jansson.h>
#include <math.h>

#include "base/pool.h"
#include "base/random.h"
#include "evenkeel/diagnose.h"
#include "evenkeel/memory_report.h"
#include "evenkeel/trace_index.h"
#include "evenkeel/view.h"
#include "no_memory.h"
#include "report/memory_internal.h"
#include "report/trace_internal.h"
#include "trace/analyse/analysis.h"
#include "trace_generator.h"
#include "view/view.h"

FAILING_ALLOC
FAILING_WITH_ROOM
FAILING_POOL_ALLOC
FAILING_POOL_TEXT
FAILING_POOL_PUSH

#define HOSTILE "</script><img src=x onerror=\"alert('1')\">&amp;<!-- \x01 \xe4\xb8\xad"

/* ---- reading a document again ---- */

static char *written(const ek_view_run *run, bool html)
{
    char *text = NULL;
    size_t size = 0;
    ek_error err = {0};
    const ek_view view = {.title = HOSTILE, .n_runs = 1, .run = run};
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    ek_status status = html ? ek__view_write_html(&view, out, &err) : ek__view_write_json(&view, out, &err);
    assert_int_equal(fclose(out), 0);
    if (status)
        fail_msg("%s", err.message);
    return text;
}

/* The only run of its document, which the caller releases through *root. */
static const json_t *decoded(const ek_view_run *run, json_t **root)
{
    json_error_t problem;
    char *text = written(run, false);
    *root = json_loads(text, JSON_REJECT_DUPLICATES, &problem);
    free(text);
    if (!*root)
        fail_msg("%d:%d: %s", problem.line, problem.column, problem.text);
    return json_array_get(json_object_get(*root, "runs"), 0);
}

static const char *text_of(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

/* A piece of a section by its list and id; NULL when it is not there. */
static const json_t *piece(const json_t *run, const char *section, const char *list, const char *id)
{
    size_t i, k;
    const json_t *one, *found;
    json_array_foreach(json_object_get(run, "sections"), i, one)
    {
        if (strcmp(text_of(one, "name"), section) != 0)
            continue;
        json_array_foreach(json_object_get(one, list), k,
                           found) if (!id || strcmp(text_of(found, "id"), id) == 0) return found;
    }
    return NULL;
}

static const json_t *need(const json_t *run, const char *section, const char *list, const char *id)
{
    const json_t *found = piece(run, section, list, id);
    if (!found)
        fail_msg("section %s has no %s called %s", section, list, id ? id : "anything");
    return found;
}

static const json_t *row_of(const json_t *table, size_t i)
{
    return json_array_get(json_object_get(table, "rows"), i);
}

static size_t n_rows(const json_t *table)
{
    return json_array_size(json_object_get(table, "rows"));
}

/* The cell of a column by its name. */
static const json_t *cell(const json_t *table, size_t row, const char *column)
{
    size_t i;
    const json_t *one;
    json_array_foreach(json_object_get(table, "columns"), i,
                       one) if (strcmp(text_of(one, "name"), column) == 0) return json_array_get(row_of(table, row), i);
    fail_msg("there is no column %s", column);
    return NULL;
}

static void is_near(double value, double expected)
{
    if (!(fabs(value - expected) <= 1e-12 * fmax(1, fabs(expected))))
        fail_msg("%.17g is not %.17g", value, expected);
}

static double number(const json_t *value)
{
    assert_true(json_is_number(value));
    return json_number_value(value);
}

static double sum_of(const json_t *bar)
{
    double sum = 0;
    size_t i;
    const json_t *value;
    json_array_foreach(json_object_get(bar, "values"), i, value) sum += number(value);
    return sum;
}

static const json_t *bar_at(const json_t *bars, size_t i)
{
    return json_array_get(json_object_get(bars, "bars"), i);
}

/* Rows are as long as the columns, bars as their series, and no table is empty. */
static void check_shape(const json_t *run)
{
    size_t i, k, r;
    const json_t *section, *one, *row;
    json_array_foreach(json_object_get(run, "sections"), i, section)
    {
        json_array_foreach(json_object_get(section, "tables"), k, one)
        {
            assert_true(n_rows(one) > 0);
            json_array_foreach(json_object_get(one, "rows"), r, row)
                assert_int_equal(json_array_size(row), json_array_size(json_object_get(one, "columns")));
            const json_t *places = json_object_get(one, "places");
            assert_true(!places || json_array_size(places) == n_rows(one));
        }
        json_array_foreach(json_object_get(section, "bars"), k, one)
        {
            json_array_foreach(json_object_get(one, "bars"), r, row) assert_int_equal(
                json_array_size(json_object_get(row, "values")), json_array_size(json_object_get(one, "series")));
        }
    }
}

/* ---- memory ---- */

static ek_job read_job(const char *name)
{
    ek_job job;
    ek_error err;
    if (ek_job_read(source_path(name), NULL, NULL, &job, &err) != EK_OK)
        fail_msg("%s", err.message);
    return job;
}

static void check_stage(const json_t *run, const ek_memory_report *r, int s)
{
    const ek_memory_stage *stage = &r->memory->stage[s];
    const json_t *bar = bar_at(need(run, "memory", "bars", "stages"), (size_t)s);
    const json_t *table = need(run, "memory", "tables", "stages");
    const json_t *values = json_object_get(bar, "values");
    is_near(sum_of(bar), (double)ek__memory_peak(stage) / 1048576);
    for (int k = 0; k < EK_N_MEMORY_PARTS; k++)
        is_near(number(json_array_get(values, (size_t)k)), (double)stage->part[k] / 1048576);
    is_near(number(cell(table, (size_t)s, "used")), (double)stage->used_peak / 1048576);
    is_near(number(cell(table, (size_t)s, "actual")), (double)stage->actual_peak / 1048576);
    is_near(number(cell(table, (size_t)s, "free")), (double)(r->memory->limit - stage->actual_peak) / 1048576);
    is_near(number(cell(table, (size_t)s, "alive")), stage->alive);
}

static void a_prediction_is_that_of_its_struct(void **state)
{
    (void)state;
    ek_job job = read_job("examples/llama175b_train.yaml");
    ek_memory memory;
    ek_memory_course course;
    ek_mitigation *measure = calloc(EK_MAX_MEASURES, sizeof *measure);
    ek_kept kept[EK_MAX_KEPT];
    ek_error err;
    int n_measures, n_kept;
    assert_int_equal(ek_memory_predict(&job, NULL, &memory, &err), EK_OK);
    assert_int_equal(ek_memory_course_of(&job, &course, &err), EK_OK);
    assert_int_equal(ek_memory_mitigations(&job, NULL, measure, &n_measures, &err), EK_OK);
    assert_int_equal(ek_memory_kept(&job, kept, &n_kept, &err), EK_OK);
    const ek_memory_report report = {.job = &job,
                                     .memory = &memory,
                                     .n_measures = n_measures,
                                     .measure = measure,
                                     .n_kept = n_kept,
                                     .kept = kept,
                                     .course = &course,
                                     .stage = -1};
    const ek_view_run shown = {.name = "memory", .memory = &report};
    json_t *root;
    const json_t *run = decoded(&shown, &root);
    check_shape(run);
    is_near(number(json_object_get(need(run, "memory", "bars", "stages"), "limit")), (double)memory.limit / 1048576);
    for (int s = 0; s < memory.n_stages; s++)
        check_stage(run, &report, s);
    const json_t *table = need(run, "memory", "tables", "measures");
    size_t row = 0;
    for (int i = 0; i < n_measures; i++, row++) {
        assert_string_equal(json_string_value(cell(table, row, "measure")), measure[i].name);
        if (measure[i].possible)
            is_near(number(cell(table, row, "saved")), measure[i].saved_mb);
        if (measure[i].possible && measure[i].relieved[0]) /* a separate row at the end */
            is_near(number(cell(table, ++row, "after")), measure[i].relieved_mb);
    }
    assert_int_equal(n_rows(table), row);
    assert_int_equal(n_rows(need(run, "memory", "tables", "kept-0")), kept[0].n);
    const json_t *line = json_array_get(json_object_get(need(run, "memory", "lines", "course"), "series"), 3);
    double most = 0;
    for (size_t i = 0; i < json_array_size(json_object_get(line, "points")); i++)
        most = fmax(most, number(json_array_get(json_array_get(json_object_get(line, "points"), i), 1)));
    is_near(most, (double)memory.stage[3].used_peak / 1048576);
    int layers = 0;
    const json_t *plan = need(run, "plan", "tables", "plan");
    for (size_t i = 0; i < n_rows(plan); i++)
        layers += (int)number(cell(plan, i, "layers"));
    assert_int_equal(layers, job.model.n_layers);
    json_decref(root);
    for (int i = 0; i < n_kept; i++)
        ek_kept_clear(&kept[i]);
    free(measure);
    ek_memory_course_clear(&course);
    ek_memory_clear(&memory);
    ek_job_clear(&job);
}

/* ---- a trace made by hand ---- */

enum { MS = 1000000, N_RANKS = 4, N_STEPS = 3 };

typedef struct fixture {
    ek_trace_run run;
    ek_trace_rank rank[N_RANKS];
    ek_trace_step step[N_RANKS][N_STEPS];
    ek_trace_layer layer[N_RANKS][2];
    ek_trace_operator op[N_RANKS][3];
    ek_trace_link link[N_RANKS][N_RANKS];
    char link_name[N_RANKS][N_RANKS][64];
    ek_trace_pair pair[4];
    ek_trace_memory_peak peak[2];
    ek_trace_memory_point point[6];
    ek_trace_allocation kept[1];
    ek_trace_finding finding[3];
    const char *note[1];
} fixture;

static ek_trace_breakdown breakdown(int64_t computing, int64_t exposed, int64_t overlapped, int64_t idle)
{
    return (ek_trace_breakdown){.n_events = 5,
                                .computing = computing,
                                .communication = exposed + overlapped,
                                .communication_not_overlapped = exposed,
                                .overlapped = overlapped,
                                .free = idle,
                                .busy = computing + exposed,
                                .total = computing + exposed + idle};
}

static void make_rank(fixture *f, int r)
{
    static const char *const name[N_STEPS] = {"10", "11", HOSTILE};
    ek_trace_rank *rank = &f->rank[r];
    ek_trace_breakdown mean = breakdown((50 + r) * MS, 30 * MS, 7 * MS, 20 * MS);
    *rank = (ek_trace_rank){.rank = r,
                            .stage = r / 2,
                            .device_id = r,
                            .producer = EK_PRODUCER_TORCH_NPU,
                            .n_steps = N_STEPS,
                            .step = f->step[r],
                            .has_device_events = true,
                            .device = mean,
                            .mean = mean,
                            .n_notes = 1,
                            .note = f->note};
    for (int s = 0; s < N_STEPS; s++)
        f->step[r][s] = (ek_trace_step){.name = name[s],
                                        .warm_up = s == 0,
                                        .own = breakdown((50 + r + s) * MS, 30 * MS, 7 * MS, 20 * MS),
                                        .source = "overlap_layer",
                                        .host_step = 110 * MS,
                                        .pipeline_wait = 11 * MS,
                                        .host_bound = 9 * MS,
                                        .data_loading_idle = 4 * MS};
    for (int i = 0; i < 2; i++) {
        f->layer[r][i] = (ek_trace_layer){.name = i ? HOSTILE : "0-Layer", .kind = "Layer", .role = EK_TRACE_BODY};
        f->layer[r][i].forward = (ek_trace_pass){.n = 8, .wall_mean = 1e6 + r, .wall_median = 1e6};
        f->layer[r][i].backward = (ek_trace_pass){.n = 8, .wall_mean = 2e6 + i, .wall_median = 2e6};
    }
    rank->layers = (ek_trace_layers){.n = 2, .layer = f->layer[r], .n_steps = 2, .source = "task_names"};
    for (int i = 0; i < 3; i++)
        f->op[r][i] = (ek_trace_operator){.name = i == 2 ? HOSTILE : "MatMul",
                                          .type = "MatMul",
                                          .core = i ? "VECTOR" : "CUBE",
                                          .count = 10 + i,
                                          .total = (30 - 10 * i) * MS,
                                          .average = 1e6,
                                          .ratio = 30 - 10 * i,
                                          .family = "matmul"};
    rank->operators = (ek_trace_operators){.n = 3, .op = f->op[r], .share_matmul = 0.5};
}

static void add_memory(fixture *f)
{
    f->peak[0] = (ek_trace_memory_peak){"APP", NAN, 900, NAN};
    f->peak[1] = (ek_trace_memory_peak){HOSTILE, 700, 800, 600};
    for (int i = 0; i < 6; i++)
        f->point[i] =
            (ek_trace_memory_point){(int64_t)1736408883688177930 + i * MS, i / 3, i < 3 ? NAN : 100 * i, 500 + i};
    f->kept[0] = (ek_trace_allocation){HOSTILE, 2048, 5, EK_TRACE_UNKNOWN};
    f->rank[0].memory = (ek_trace_memory){.n_rows = 6,
                                          .n_peaks = 2,
                                          .peak = f->peak,
                                          .n_points = 6,
                                          .point = f->point,
                                          .n_kept = 1,
                                          .kept = f->kept,
                                          .n_never_released = 1};
}

/* All ranks in a group "all", and each of two pairs in "a" and "b"; rank 3 is missing in its own file. */
static void add_links(fixture *f)
{
    for (int r = 0; r < N_RANKS; r++) {
        for (int k = 0; k < N_RANKS; k++) {
            snprintf(f->link_name[r][k], sizeof f->link_name[r][k], "all:%d-%d", r, k);
            f->link[r][k] = (ek_trace_link){.link = f->link_name[r][k],
                                            .transport = "HCCS",
                                            .size_mb = 10 * r + k + 1,
                                            .time_ms = 1 + k,
                                            .bandwidth_gbps = (10 * r + k + 1) / (1.0 + k)};
        }
        f->rank[r].communication = (ek_trace_communication){.n_links = N_RANKS, .link = f->link[r]};
    }
}

static fixture *new_fixture(void)
{
    fixture *f = calloc(1, sizeof *f);
    ek_error err;
    assert_non_null(f);
    f->run = (ek_trace_run){.n_ranks = N_RANKS,
                            .rank = f->rank,
                            .stage_imbalance = 1.04,
                            .worst_rank_by_interval = EK_TRACE_NO_RANK,
                            .pool = ek__pool_new()};
    f->note[0] = HOSTILE;
    for (int r = 0; r < N_RANKS; r++)
        make_rank(f, r);
    add_memory(f);
    add_links(f);
    for (int i = 0; i < 4; i++)
        f->pair[i] =
            (ek_trace_pair){i / 2, i / 2 + 2, i % 2 ? HOSTILE : NULL, 3 + i, i * MS, (i + 1) * MS, i / 2, i / 2 + 2};
    f->run.n_pairs = 4, f->run.pair = f->pair;
    f->finding[0] = (ek_trace_finding){"slow-rank", 1, 0, "11", HOSTILE, "first", 0.2, 20 * MS, 1};
    f->finding[1] = (ek_trace_finding){"host-bound", -1, -1, NULL, "second", HOSTILE, 0.1, 10 * MS, -1};
    f->finding[2] = (ek_trace_finding){"memory", -1, -1, NULL, "third", NULL, NAN, EK_TRACE_UNKNOWN, -1};
    f->run.n_findings = 3, f->run.finding = f->finding;
    assert_int_equal(ek__compare_matrix(NULL, &f->run, &err), EK_OK);
    return f;
}

static void free_fixture(fixture *f)
{
    ek__pool_free(f->run.pool);
    free(f);
}

static void bars_add_up_to_steps(void **state)
{
    (void)state;
    fixture *f = new_fixture();
    json_t *root;
    const ek_view_run shown = {.name = HOSTILE, .trace = &f->run};
    const json_t *run = decoded(&shown, &root);
    check_shape(run);
    const json_t *ranks = need(run, "breakdown", "bars", "ranks"), *steps = need(run, "breakdown", "bars", "steps");
    const json_t *table = need(run, "breakdown", "tables", "steps");
    for (int r = 0; r < N_RANKS; r++) {
        is_near(sum_of(bar_at(ranks, (size_t)r)), 110 * MS);
        is_near(number(json_array_get(json_object_get(bar_at(ranks, (size_t)r), "values"), EK__RANK_OVERLAPPED)),
                7 * MS);
        for (int s = 0; s < N_STEPS; s++) {
            size_t at = (size_t)r * N_STEPS + (size_t)s;
            is_near(sum_of(bar_at(steps, at)), (double)f->step[r][s].own.total);
            is_near(number(cell(table, at, "computing")), (double)f->step[r][s].own.computing);
            is_near(number(cell(table, at, "exposed")), 30 * MS);
        }
    }
    assert_null(piece(run, "breakdown", "bars", "stages")); /* the stages of this run are unknown */
    json_decref(root);
    free_fixture(f);
}

static void tables_are_those_of_the_structs(void **state)
{
    (void)state;
    fixture *f = new_fixture();
    json_t *root;
    const ek_view_run shown = {.name = "run", .trace = &f->run};
    const json_t *run = decoded(&shown, &root);
    for (int r = 0; r < N_RANKS; r++) {
        char id[32];
        snprintf(id, sizeof id, "operators-%d", r);
        const json_t *table = need(run, "operators", "tables", id);
        assert_int_equal(n_rows(table), 3);
        assert_string_equal(json_string_value(cell(table, 0, "operator")), "MatMul on CUBE");
        assert_string_equal(json_string_value(cell(table, 1, "operator")), "MatMul on VECTOR");
        assert_string_equal(json_string_value(cell(table, 2, "operator")), HOSTILE);
        for (size_t i = 0; i < 3; i++) {
            is_near(number(cell(table, i, "total")), (double)f->op[r][i].total);
            is_near(number(cell(table, i, "count")), (double)f->op[r][i].count);
        }
    }
    const json_t *layers = need(run, "layers", "tables", "layers");
    assert_int_equal(n_rows(layers), 2 * N_RANKS);
    is_near(number(cell(layers, 5, "forward_mean")), f->layer[2][1].forward.wall_mean);
    assert_true(json_is_null(cell(layers, 5, "recompute_mean")));
    const json_t *bars = need(run, "layers", "bars", "layers");
    assert_int_equal(json_array_size(json_object_get(bars, "bars")), 4); /* a rank of each of two stages */
    is_near(sum_of(bar_at(bars, 3)), f->layer[2][1].forward.wall_mean + f->layer[2][1].backward.wall_mean);
    const json_t *peaks = need(run, "memory", "tables", "peaks");
    assert_true(json_is_null(cell(peaks, 0, "allocated")));
    is_near(number(cell(peaks, 1, "allocated")), 700);
    const json_t *lines = json_object_get(need(run, "memory", "lines", "curve"), "series");
    assert_int_equal(json_array_size(lines), 3); /* nothing is allocated of APP */
    /* From the first point of all curves, and not of its own. */
    is_near(number(json_array_get(json_array_get(json_object_get(json_array_get(lines, 2), "points"), 2), 0)), 5 * MS);
    assert_true(json_is_true(json_object_get(need(run, "memory", "lines", "curve"), "steps")));
    assert_int_equal(n_rows(need(run, "memory", "tables", "kept")), 1);
    json_decref(root);
    free_fixture(f);
}

/* Two folders of one run each: both have rank 0. */
static const json_t *fact(const json_t *run, const char *label)
{
    const json_t *one, *found = NULL;
    size_t i;
    json_array_foreach(json_object_get(run, "facts"), i, one)
    {
        if (strcmp(json_string_value(json_object_get(one, "label")), label) == 0)
            found = one;
    }
    assert_non_null(found);
    return found;
}

/* The shares above the tabs are those of the bars: of the whole step, with the device's wait before its first
 * kernel. */
static void shares_are_of_the_whole_step(void **state)
{
    (void)state;
    fixture *f = new_fixture();
    json_t *root;
    const ek_view_run shown = {.name = "run", .trace = &f->run};
    const json_t *run = decoded(&shown, &root), *bars = need(run, "breakdown", "bars", "ranks");
    double part[EK__N_RANK_PARTS] = {0}, whole = 0, longest = 0;
    for (size_t r = 0; r < N_RANKS; r++) {
        whole += sum_of(bar_at(bars, r));
        longest = fmax(longest, sum_of(bar_at(bars, r)));
        for (size_t k = 0; k < EK__N_RANK_PARTS; k++)
            part[k] += number(json_array_get(json_object_get(bar_at(bars, r), "values"), k));
    }
    is_near(number(json_object_get(fact(run, "step"), "value")), longest);
    is_near(number(json_object_get(fact(run, "computing"), "value")),
            100 * (part[EK__RANK_ALONE] + part[EK__RANK_OVERLAPPED]) / whole);
    is_near(number(json_object_get(fact(run, "exposed communication"), "value")),
            100 * (part[EK__RANK_EXPOSED] + part[EK__RANK_WAITING]) / whole);
    is_near(number(json_object_get(fact(run, "idle"), "value")),
            100 * (part[EK__RANK_DATA] + part[EK__RANK_HOST] + part[EK__RANK_FREE]) / whole);
    json_decref(root);
    free_fixture(f);
}

/* There is a chart of communication where there is some. */
static void no_chart_of_nothing(void **state)
{
    (void)state;
    fixture *f = new_fixture();
    json_t *root;
    const ek_view_run shown = {.name = "run", .trace = &f->run};
    assert_non_null(piece(decoded(&shown, &root), "breakdown", "bars", "overlap"));
    json_decref(root);
    for (int r = 0; r < N_RANKS; r++)
        for (int s = 0; s < N_STEPS; s++)
            f->step[r][s].own.communication_not_overlapped = f->step[r][s].own.overlapped =
                s % 2 ? 0 : EK_TRACE_UNKNOWN;
    assert_null(piece(decoded(&shown, &root), "breakdown", "bars", "overlap"));
    json_decref(root);
    free_fixture(f);
}

/* Which way is better is said where it is known, of a fact as of a column, and of nothing else. */
static void what_is_better_is_said(void **state)
{
    (void)state;
    fixture *f = new_fixture();
    json_t *root;
    const ek_view_run shown = {.name = "run", .trace = &f->run};
    const json_t *run = decoded(&shown, &root), *column;
    size_t i;
    assert_string_equal(json_string_value(json_object_get(fact(run, "step"), "better")), "less");
    assert_string_equal(json_string_value(json_object_get(fact(run, "idle"), "better")), "less");
    assert_string_equal(json_string_value(json_object_get(fact(run, "idle"), "unit")), "%");
    assert_string_equal(json_string_value(json_object_get(fact(run, "computing"), "better")), "more");
    assert_null(json_object_get(fact(run, "ranks"), "better"));
    json_array_foreach(json_object_get(need(run, "breakdown", "tables", "steps"), "columns"), i, column)
    {
        const char *name = json_string_value(json_object_get(column, "name"));
        const json_t *better = json_object_get(column, "better");
        if (strcmp(name, "exposed") == 0 || strcmp(name, "free") == 0)
            assert_string_equal(json_string_value(better), "less");
        else if (strcmp(name, "step") == 0 || strcmp(name, "overlapped") == 0 || strcmp(name, "sends") == 0)
            assert_null(better);
    }
    json_decref(root);
    free_fixture(f);
}

/* A finding of several ranks is shown once, with the ranks. */
static void notes_of_many_ranks_are_said_once(void **state)
{
    (void)state;
    fixture *f = new_fixture();
    json_t *root;
    const char *every[] = {"every", "two", "one"};
    const ek_view_run shown = {.name = "run", .trace = &f->run};
    char text[64], all[32];
    assert_true(f->run.n_ranks > 2);
    for (int i = 0; i < f->run.n_ranks; i++) {
        f->rank[i].note = every;
        f->rank[i].n_notes = i == 0 ? 3 : i == 1 ? 2 : 1;
    }
    const json_t *notes = json_object_get(decoded(&shown, &root), "notes");
    snprintf(all, sizeof all, "all %d ranks: every", f->run.n_ranks);
    const char *const expected[] = {all, "and 1 other: two", "rank 0: one"};
    size_t found = 0;
    for (size_t i = 0; i < json_array_size(notes); i++) {
        snprintf(text, sizeof text, "%.60s", json_string_value(json_array_get(notes, i)));
        found += found < 3 && strstr(text, expected[found]) != NULL;
        assert_null(i > 0 ? strstr(text, "every") : NULL);
    }
    assert_int_equal(found, 3);
    json_decref(root);
    free_fixture(f);
}

/* Names are separate, so that they are found in the timeline; their ranks are shown beside them. */
static void the_rank_is_a_column_of_its_own(void **state)
{
    (void)state;
    fixture *f = new_fixture();
    json_t *root;
    const ek_view_run shown = {.name = "run", .trace = &f->run};
    const json_t *run = decoded(&shown, &root);
    const json_t *table = need(run, "layers", "tables", "layers");
    size_t row = 0;
    for (int i = 0; i < f->run.n_ranks; i++)
        for (int k = 0; k < f->run.rank[i].layers.n; k++, row++) {
            char rank[32];
            snprintf(rank, sizeof rank, "rank %d", f->run.rank[i].rank);
            assert_string_equal(json_string_value(cell(table, row, "layer")), f->run.rank[i].layers.layer[k].name);
            assert_string_equal(json_string_value(cell(table, row, "rank")), rank);
        }
    assert_true(row > 1 && row == n_rows(table));
    json_decref(root);
    free_fixture(f);
}

static void traces_of_one_rank_are_told_apart(void **state)
{
    (void)state;
    fixture *f = new_fixture();
    json_t *root;
    const ek_view_run shown = {.name = "run", .trace = &f->run};
    f->rank[1].rank = 0;
    const json_t *run = decoded(&shown, &root);
    const json_t *table = need(run, "breakdown", "tables", "steps");
    for (size_t i = 0; i < n_rows(table); i++)
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(json_string_value(cell(table, i, "step")),
                                    json_string_value(cell(table, k, "step")));
    assert_string_equal(json_string_value(cell(table, 0, "step")), "rank 0 (trace 0): step 10, warm-up");
    assert_string_equal(json_string_value(cell(table, n_rows(table) - 3, "step")), "rank 3: step 10, warm-up");
    json_decref(root);
    free_fixture(f);
}

static void matrices_are_the_links_and_waits(void **state)
{
    (void)state;
    fixture *f = new_fixture();
    json_t *root;
    const ek_view_run shown = {.name = "run", .trace = &f->run};
    const json_t *run = decoded(&shown, &root);
    const json_t *size = need(run, "communication", "matrices", "size-0"), *one;
    size_t i;
    assert_int_equal(json_array_size(json_object_get(size, "cells")), N_RANKS * N_RANKS);
    json_array_foreach(json_object_get(size, "cells"), i, one)
    {
        const ek_trace_link *link = &f->link[i / N_RANKS][i % N_RANKS];
        assert_int_equal(json_integer_value(json_array_get(one, 0)), i / N_RANKS);
        assert_int_equal(json_integer_value(json_array_get(one, 1)), i % N_RANKS);
        is_near(number(json_array_get(one, 2)), link->size_mb);
    }
    json_array_foreach(json_object_get(need(run, "communication", "matrices", "time-0"), "cells"), i, one)
        is_near(number(json_array_get(one, 2)), 1e6 * f->link[i / N_RANKS][i % N_RANKS].time_ms);
    const json_t *waits = json_object_get(need(run, "communication", "matrices", "receiver-waits"), "cells");
    assert_int_equal(json_array_size(waits), 2);
    is_near(number(json_array_get(json_array_get(waits, 0), 2)), 3 * MS); /* of both groups */
    is_near(number(json_array_get(json_array_get(waits, 1), 2)), 7 * MS);
    assert_string_equal(json_string_value(json_array_get(json_array_get(waits, 0), 3)), "7 transfers");
    json_decref(root);
    free_fixture(f);
}

static void findings_stand_in_their_order(void **state)
{
    (void)state;
    fixture *f = new_fixture();
    json_t *root;
    ek_view_run shown = {.name = "run", .trace = &f->run};
    const json_t *run = decoded(&shown, &root);
    for (int i = 0; i < 3; i++) {
        const json_t *one = need(run, "findings", "findings", f->finding[i].id);
        assert_int_equal(json_integer_value(json_object_get(one, "rank")), i + 1);
        assert_string_equal(text_of(one, "title"), f->finding[i].text);
        if (f->finding[i].gain_ns == EK_TRACE_UNKNOWN)
            assert_true(json_is_null(json_object_get(one, "gain")));
        else
            is_near(number(json_object_get(one, "gain")), (double)f->finding[i].gain_ns);
        assert_true(json_is_null(json_object_get(one, "begin"))); /* no timeline */
    }
    json_decref(root);
    /* With a diagnosis its findings count, and those of only the trace are a table. */
    const ek_diagnosis nothing = {.step_seconds = NAN};
    shown.diagnosis = &nothing;
    run = decoded(&shown, &root);
    assert_null(piece(run, "findings", "findings", NULL));
    assert_int_equal(n_rows(need(run, "findings", "tables", "trace-findings")), 3);
    json_decref(root);
    free_fixture(f);
}

/* ---- matrices of links ---- */

/* The sum of a cell, in a quarter and three quarters by step, or in one piece where the files have no steps. */
static void check_parts(const ek_trace_matrix *m, bool steps)
{
    int before = -1;
    assert_int_equal(m->n_parts, steps ? 2 * m->n_cells : m->n_cells);
    for (int i = 0; i < m->n_parts; i++) {
        const ek_trace_matrix_part *p = &m->part[i];
        double share = !steps ? 1 : strcmp(p->step, "step1") == 0 ? 0.25 : 0.75;
        assert_true(p->cell == before || p->cell == before + 1);
        before = p->cell;
        is_near(p->size_mb, share * m->cell[p->cell].size_mb);
        is_near(p->time_ms, share * m->cell[p->cell].time_ms);
        assert_string_equal(p->operation, steps ? "allreduce" : "");
        assert_string_equal(p->transport, "RDMA");
    }
}

static void add_moves(ek_trace_communication *c, int link)
{
    const ek_trace_link *of = &c->link[link];
    c->move[c->n_moves++] = (ek_trace_move){link, "step1", "allreduce", of->size_mb / 4, of->time_ms / 4};
    c->move[c->n_moves++] = (ek_trace_move){link, "step2", "allreduce", of->size_mb * 0.75, of->time_ms * 0.75};
}

/* Every group numbers its members as it likes; the oracle adds up links by their real ranks. */
static void links_become_the_matrix_of_ranks(void **state)
{
    (void)state;
    ek__random random = ek__random_seed(11);
    for (int round = 0; round < 60; round++) {
        enum { RANKS = 6, GROUPS = 3, LINKS = GROUPS * 2 * RANKS };
        ek_trace_rank *rank = calloc(RANKS, sizeof *rank);
        static ek_trace_link link[RANKS][LINKS];
        static ek_trace_move move[RANKS][2 * LINKS];
        static char name[RANKS][LINKS][48];
        static double sum[RANKS][RANKS];
        memset(sum, 0, sizeof sum);
        ek_trace_run run = {.n_ranks = RANKS, .rank = rank, .pool = ek__pool_new()};
        for (int r = 0; r < RANKS; r++)
            rank[r] = (ek_trace_rank){.rank = 10 * r, .communication = {.link = link[r], .move = move[r]}};
        for (int g = 0; g < GROUPS; g++) {
            int member[RANKS];
            for (int i = 0; i < RANKS; i++)
                member[i] = i;
            for (int i = RANKS - 1; i > 0; i--) {
                int k = ek__random_below(&random, i + 1), swapped = member[i];
                member[i] = member[k];
                member[k] = swapped;
            }
            int n = 2 + ek__random_below(&random, RANKS - 1);
            for (int from = 0; from < n; from++)
                for (int to = 0; to < n; to++) {
                    double mb = 1 + ek__random_below(&random, 100);
                    int r = member[from];
                    bool twice = from != to && ek__random_below(&random, 3) == 0;
                    for (int end = 0; end < 1 + twice; end++) { /* the other end reports less of it */
                        ek_trace_communication *c = &rank[end ? member[to] : r].communication;
                        int at = c->n_links++;
                        char *text = name[end ? member[to] : r][at];
                        snprintf(text, sizeof name[0][0], "group%d:%d-%d", g, from, to);
                        c->link[at] = (ek_trace_link){
                            .link = text, .transport = "RDMA", .size_mb = end ? mb / 2 : mb, .time_ms = 1};
                        if (round % 2 == 1)
                            add_moves(c, at);
                    }
                    sum[r][member[to]] += mb;
                }
        }
        ek_error err;
        assert_int_equal(ek__compare_matrix(NULL, &run, &err), EK_OK);
        assert_int_equal(run.n_matrices, 1);
        const ek_trace_matrix *m = &run.matrix[0];
        assert_null(m->group);
        double found = 0, all = 0;
        for (int i = 0; i < m->n_cells; i++) {
            const ek_trace_matrix_cell *c = &m->cell[i];
            is_near(c->size_mb, sum[m->member[c->from].rank / 10][m->member[c->to].rank / 10]);
            found += c->size_mb;
        }
        for (int i = 0; i < RANKS * RANKS; i++)
            all += sum[i / RANKS][i % RANKS];
        is_near(found, all);
        check_parts(m, round % 2 == 1);
        ek__pool_free(run.pool);
        free(rank);
    }
}

static void places_without_a_rank_stay_places(void **state)
{
    (void)state;
    int members[] = {4, 8};
    ek_trace_group group = {"tp", "tp_0", 2, members};
    ek_trace_link link[] = {{.link = "g:0-0", .transport = "LOCAL", .size_mb = 1, .time_ms = 0},
                            {.link = "g:0-1", .transport = "HCCS", .size_mb = 2, .time_ms = 4},
                            {.link = "rank4:0-1:SDMA", .transport = "SDMA", .size_mb = 3, .time_ms = 1},
                            {.link = "nothing", .transport = NULL, .size_mb = 3, .time_ms = 1},
                            {.link = "g:0-99999999999999", .transport = NULL, .size_mb = 3, .time_ms = 1}};
    ek_trace_rank rank = {.rank = 4, .communication = {.n_links = 5, .link = link}};
    ek_trace_run run = {.n_ranks = 1, .rank = &rank, .pool = ek__pool_new()};
    ek_error err;
    assert_int_equal(ek__compare_matrix(NULL, &run, &err), EK_OK);
    assert_int_equal(run.n_matrices, 1);
    assert_string_equal(run.matrix[0].group, "g");
    assert_int_equal(run.matrix[0].n_members, 2);
    assert_int_equal(run.matrix[0].member[0].rank, 4);
    assert_int_equal(run.matrix[0].member[1].rank, EK_TRACE_NO_RANK);
    assert_int_equal(run.matrix[0].member[1].place, 1);
    is_near(run.matrix[0].cell[1].bandwidth_gbps, 0.5);
    /* A matching group of the topology gives the rank of place 1. */
    run.topology.group = &group;
    run.topology.n_groups = 1;
    run.matrix = NULL, run.n_matrices = 0;
    assert_int_equal(ek__compare_matrix(NULL, &run, &err), EK_OK);
    assert_null(run.matrix[0].group);
    assert_int_equal(run.matrix[0].member[1].rank, 8);
    ek__pool_free(run.pool);
}

/* ---- a diagnosis ---- */

static void a_diagnosis_gives_back_every_field(void **state)
{
    (void)state;
    ek_bottleneck list[] = {{.id = "exposed-communication",
                             .topic = EK_TOPIC_COMMUNICATION,
                             .title = HOSTILE,
                             .n_evidence = 2,
                             .evidence = {{HOSTILE, NULL, NULL, -1}, {"second", "file " HOSTILE, "3", 1}},
                             .cost_seconds = 0.0412,
                             .share = 0.081,
                             .setting = "line 1\n\tline " HOSTILE,
                             .change = HOSTILE,
                             .gain_seconds = 0.0386,
                             .gain_share = 0.076,
                             .basis = EK_BASIS_SIMULATED,
                             .rests_on = HOSTILE,
                             .caution = HOSTILE},
                            {.id = "memory",
                             .topic = EK_TOPIC_MEMORY,
                             .title = "bare",
                             .cost_seconds = NAN,
                             .share = NAN,
                             .gain_seconds = NAN,
                             .gain_share = NAN}};
    ek_not_looked_at missing[] = {{"recomputation", "the graph", HOSTILE}, {"redistribution", "it too", HOSTILE}};
    const char *notes[] = {HOSTILE};
    const ek_diagnosis d = {0.5123, "mean of 4 steps", 2, 2, list, missing, 1, notes, NULL};
    const ek_view_run shown = {.name = "run", .diagnosis = &d};
    json_t *root;
    const json_t *run = decoded(&shown, &root);
    check_shape(run);
    const json_t *first = need(run, "findings", "findings", "exposed-communication");
    const json_t *second = need(run, "findings", "findings", "memory");
    static const char *const texts[] = {"title", "change", "rests_on", "caution"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_string_equal(text_of(first, texts[i]), HOSTILE);
    assert_string_equal(text_of(first, "setting"), list[0].setting);
    assert_string_equal(text_of(first, "basis"), "simulated");
    assert_string_equal(text_of(first, "topic"), "communication");
    is_near(number(json_object_get(first, "cost")), 41.2 * MS);
    is_near(number(json_object_get(first, "gain")), 38.6 * MS);
    is_near(number(json_object_get(first, "gain_share")), 0.076);
    const json_t *evidence = json_array_get(json_object_get(first, "evidence"), 1);
    assert_string_equal(text_of(evidence, "file"), "file " HOSTILE);
    assert_string_equal(text_of(evidence, "step"), "3");
    assert_int_equal(json_integer_value(json_object_get(evidence, "rank")), 1);
    assert_true(json_is_null(json_object_get(second, "cost")));
    assert_true(json_is_null(json_object_get(second, "setting")));
    const json_t *table = need(run, "findings", "tables", "not-looked-at");
    assert_int_equal(n_rows(table), 1); /* got in the same way */
    assert_string_equal(json_string_value(cell(table, 0, "what")), "recomputation; redistribution");
    assert_string_equal(json_string_value(json_array_get(json_object_get(run, "notes"), 0)), HOSTILE);
    is_near(number(json_object_get(json_array_get(json_object_get(run, "facts"), 0), "value")), 512.3 * MS);
    json_decref(root);
}

/* ---- all of them ---- */

static void hostile_names_cannot_end_the_document(void **state)
{
    (void)state;
    fixture *f = new_fixture();
    const ek_view_run shown = {.name = HOSTILE, .trace = &f->run};
    char *page = written(&shown, true);
    assert_null(strstr(page, "<img"));
    const char *begin = strstr(page, "id=\"document\"");
    assert_non_null(begin);
    begin = strchr(begin, '>') + 1;
    size_t size = (size_t)(strstr(begin, "</script>") - begin);
    json_t *root = json_loadb(begin, size, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(root);
    assert_string_equal(text_of(json_array_get(json_object_get(root, "runs"), 0), "name"), HOSTILE);
    json_decref(root);
    free(page);
    free_fixture(f);
}

static void a_run_of_nothing_makes_a_page(void **state)
{
    (void)state;
    ek_trace_run run = {.stage_imbalance = NAN};
    json_t *root;
    const ek_view_run shown = {.name = "run", .trace = &run};
    const json_t *decoded_run = decoded(&shown, &root);
    check_shape(decoded_run);
    assert_true(json_array_size(json_object_get(decoded_run, "sections")) > 0);
    json_decref(root);
}

static void failing_allocations_are_told(void **state)
{
    (void)state;
    fixture *f = new_fixture();
    const ek_view_run shown = {.name = "run", .trace = &f->run};
    const ek_view view = {.title = "", .n_runs = 1, .run = &shown};
    int failed = 0;
    for (int n = 0;; n++) {
        char *text = NULL;
        size_t size;
        ek_error err;
        FILE *out = open_memstream(&text, &size);
        allocations_left = n;
        ek_status status = ek__view_write_json(&view, out, &err);
        bool over = allocations_left >= 0;
        allocations_left = -1;
        fclose(out);
        free(text);
        if (over)
            break;
        assert_int_equal(status, EK_ERR_MEMORY);
        failed++;
    }
    assert_true(failed > 0);
    for (int n = 0;; n++) {
        ek_error err;
        f->run.matrix = NULL, f->run.n_matrices = 0;
        allocations_left = n;
        ek_status status = ek__compare_matrix(NULL, &f->run, &err);
        bool over = allocations_left >= 0;
        allocations_left = -1;
        if (over)
            break;
        assert_int_equal(status, EK_ERR_MEMORY);
    }
    free_fixture(f);
    ek_job job = read_job("examples/llama175b_train.yaml");
    for (int n = 0;; n++) {
        ek_error err;
        ek_memory_course course;
        allocations_left = n;
        ek_status status = ek_memory_course_of(&job, &course, &err);
        bool over = allocations_left >= 0;
        allocations_left = -1;
        if (over) {
            ek_memory_course_clear(&course);
            break;
        }
        assert_int_equal(status, EK_ERR_MEMORY);
    }
    ek_job_clear(&job);
}

/* ---- a trace with its events ---- */

/* The row of a layer, and of each of its passes, leads to an interval as long as the longest of the passes, a layer's
 * to its longest forward pass. */
static void layers_lead_to_their_longest_pass(const json_t *run)
{
    static const char *const table[] = {"layers", "passes"}, *const most[] = {"forward_mean", "most"};
    for (int t = 0; t < 2; t++) {
        const json_t *one = need(run, "layers", "tables", table[t]), *place;
        size_t i;
        assert_true(n_rows(one) > 0);
        json_array_foreach(json_object_get(one, "places"), i, place)
        {
            double from = number(json_array_get(place, 1)), to = number(json_array_get(place, 2));
            double is = number(cell(one, (int)i, most[t]));
            assert_true(from >= 0 && to > from && json_is_null(json_array_get(place, 3)));
            if (t == 1)
                is_near(to - from, is);
            else
                assert_true(to - from >= is * (1 - 1e-9));
        }
        assert_int_equal(i, n_rows(one));
    }
}

static void steps_stand_in_the_timeline_of_the_events(void **state)
{
    (void)state;
    const trace_shape shape = {
        .form = TRACE_MINDSPORE, .n_stages = 2, .n_micro_batches = 4, .n_steps = 3, .n_layers = 2, .seed = 5};
    trace_truth truth;
    ek_trace_run trace;
    ek_trace_index *index;
    ek_error err;
    const char *path[] = {top};
    assert_true(trace_write(&shape, top, &truth));
    if (ek_trace_run_read(path, 1, NULL, NULL, &trace, &err) != EK_OK)
        fail_msg("%s", err.message);
    const ek_trace_index_options options = {.temporary = true};
    if (ek_trace_index_open(path, 1, &options, NULL, &index, NULL, &err) != EK_OK)
        fail_msg("%s", err.message);
    const ek_view_run shown = {.name = "run", .trace = &trace, .index = index};
    json_t *root;
    const json_t *run = decoded(&shown, &root), *timeline = json_object_get(run, "timeline"), *one;
    check_shape(run);
    const json_t *steps = json_object_get(timeline, "steps");
    assert_int_equal(json_array_size(steps), 2 * 3);
    int64_t origin = strtoll(text_of(timeline, "origin"), NULL, 10);
    size_t i;
    json_array_foreach(steps, i, one)
    {
        int group = (int)json_integer_value(json_object_get(one, "group"));
        const json_t *its = json_array_get(json_object_get(timeline, "groups"), (size_t)group);
        int rank = (int)json_integer_value(json_object_get(its, "rank"));
        const trace_truth_step *step = &truth.step[rank * 3 + (int)(i % 3)];
        assert_int_equal(rank, (int)(i / 3));
        is_near(number(json_object_get(one, "begin")), (double)(step->host_start - origin));
        is_near(number(json_object_get(one, "end")), (double)(step->host_start + step->host_duration - origin));
    }
    json_array_foreach(json_object_get(need(run, "breakdown", "bars", "ranks"), "bars"), i, one)
        assert_int_equal(json_integer_value(json_object_get(one, "group")), i);
    layers_lead_to_their_longest_pass(run);
    json_decref(root);
    ek_trace_index_close(index);
    ek_trace_run_clear(&trace);
    trace_truth_clear(&truth);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        {"shares of a step are of the whole step", shares_are_of_the_whole_step, NULL, NULL, NULL},
        {"a chart of communication stands where there is some", no_chart_of_nothing, NULL, NULL, NULL},
        cmocka_unit_test(a_prediction_is_that_of_its_struct),
        cmocka_unit_test(bars_add_up_to_steps),
        cmocka_unit_test(tables_are_those_of_the_structs),
        cmocka_unit_test(what_is_better_is_said),
        cmocka_unit_test(notes_of_many_ranks_are_said_once),
        cmocka_unit_test(the_rank_is_a_column_of_its_own),
        cmocka_unit_test(traces_of_one_rank_are_told_apart),
        cmocka_unit_test(matrices_are_the_links_and_waits),
        cmocka_unit_test(findings_stand_in_their_order),
        cmocka_unit_test(links_become_the_matrix_of_ranks),
        cmocka_unit_test(places_without_a_rank_stay_places),
        cmocka_unit_test(a_diagnosis_gives_back_every_field),
        cmocka_unit_test(hostile_names_cannot_end_the_document),
        cmocka_unit_test(a_run_of_nothing_makes_a_page),
        cmocka_unit_test(failing_allocations_are_told),
        cmocka_unit_test_setup_teardown(steps_stand_in_the_timeline_of_the_events, make_top, remove_top),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
