/* Tests the output for a run's traces: JSON that any parser accepts with times to the nanosecond, tables with rows that
 * fit their header, a picture inside its page, a summary that stays short for many ranks, and every finding on both
 * sides of its threshold. Runs are made by hand, so that every figure is known. */
#include "input.h"

#include <jansson.h>
#include <math.h>

#include "base/pool.h"
#include "evenkeel/compute.h"
#include "evenkeel/trace_report.h"
#include "golden.h"
#include "report/report_internal.h"
#include "report/writers.h"
#include "trace/analyse/analysis.h"
#include "trace/text/csv.h"

enum { MS = 1000000, MAX_RANKS = 64, N_STEPS = 3 };

/* A run of ranks that are alike: 60 ms computing, 30 exposed, 10 free; the first step is warm-up. */
typedef struct fixture {
    ek_trace_run run;
    ek_trace_rank rank[MAX_RANKS];
    ek_trace_step step[MAX_RANKS][N_STEPS];
} fixture;

static const ek_trace_breakdown parts = {.n_events = 7,
                                         .computing = 60 * MS,
                                         .communication = 40 * MS,
                                         .communication_not_overlapped = 30 * MS,
                                         .overlapped = 10 * MS,
                                         .busy = 90 * MS,
                                         .free = 10 * MS,
                                         .total = 100 * MS};

static fixture *new_fixture(int n_ranks)
{
    static const char *const name[N_STEPS] = {"10", "11", "12"};
    fixture *f = calloc(1, sizeof *f);
    assert_non_null(f);
    f->run = (ek_trace_run){.n_ranks = n_ranks,
                            .rank = f->rank,
                            .stage_imbalance = NAN,
                            .worst_rank_by_interval = EK_TRACE_NO_RANK,
                            .pool = ek__pool_new()};
    for (int r = 0; r < n_ranks; r++) {
        f->rank[r] = (ek_trace_rank){.rank = r,
                                     .stage = -1,
                                     .device_id = -1,
                                     .producer = EK_PRODUCER_TORCH_NPU,
                                     .n_steps = N_STEPS,
                                     .step = f->step[r],
                                     .has_device_events = true,
                                     .device = parts,
                                     .mean = parts};
        for (int s = 0; s < N_STEPS; s++)
            f->step[r][s] = (ek_trace_step){.name = name[s],
                                            .warm_up = s == 0,
                                            .start = (int64_t)1736408883688177930 + s * 100 * MS,
                                            .own = parts,
                                            .source = "overlap_layer",
                                            .host_step = 100 * MS,
                                            .table_stage = EK_TRACE_UNKNOWN,
                                            .table_preparing = EK_TRACE_UNKNOWN};
    }
    return f;
}

static void free_fixture(fixture *f)
{
    ek__pool_free(f->run.pool);
    free(f);
}

typedef ek_status writer(const ek_trace_run *run, const ek_trace_view *view, FILE *out, ek_error *err);

static char *written(writer *write, const ek_trace_run *run, const ek_trace_view *view)
{
    char *text = NULL;
    size_t size;
    ek_error err;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    assert_int_equal(write(run, view, out, &err), EK_OK);
    fclose(out);
    return text;
}

/* ---- numbers ---- */

static void times_are_exact_to_the_nanosecond(void **state)
{
    (void)state;
    static const struct {
        int64_t ns;
        const char *us;
    } cases[] = {
        {0, "0.000"},
        {1, "0.001"},
        {-1, "-0.001"},
        {1736408883688177930, "1736408883688177.930"},
        {9007199254740993, "9007199254740.993"}, /* no double can represent it */
        {INT64_MAX, "9223372036854775.807"},
        {INT64_MIN, "-9223372036854775.808"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(ek__exact_us(cases[i].ns).text, cases[i].us);
}

/* ---- JSON ---- */

static json_t *parsed(const ek_trace_run *run, const ek_trace_view *view)
{
    json_error_t wrong;
    char *text = written(ek__trace_write_json, run, view);
    json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, &wrong);
    if (!root)
        print_message("# line %d: %s\n", wrong.line, wrong.text);
    assert_non_null(root);
    free(text);
    return root;
}

static void names_of_any_bytes_and_unknown_figures_make_json(void **state)
{
    (void)state;
    fixture *f = new_fixture(1);
    ek_trace_operator op = {
        .name = "a\"b\\c\n\x01\xff\xc3\xa4", .type = "kernel", .min = EK_TRACE_UNKNOWN, .ratio = NAN};
    ek_trace_collective_sum sums[] = {{.key = "allreduce", .group = "0", .count = 1, .total = 5, .exposed = 3},
                                      {.key = "allreduce", .group = "1", .count = 2, .total = 7, .exposed = 4}};
    ek_trace_process process[] = {{"Python", "7", 3, 10, 1}, {NULL, "1", 4, 20, 2}, {"Python", "9", 5, 30, 3}};
    f->rank[0].operators = (ek_trace_operators){.n = 1, .op = &op, .share_matmul = NAN};
    f->rank[0].communication = (ek_trace_communication){.n_sums = 2, .sum = sums};
    f->rank[0].counts = (ek_trace_counts){.n_items = 12, .n_processes = 3, .process = process};
    f->rank[0].producer = EK_PRODUCER_KINETO;
    f->rank[0].rank = EK_TRACE_NO_RANK;
    f->step[0][1].stage = EK_TRACE_UNKNOWN;
    json_t *root = parsed(&f->run, NULL), *rank = json_array_get(json_object_get(root, "ranks"), 0);
    assert_true(json_is_null(json_object_get(rank, "rank")));
    json_t *top = json_array_get(json_object_get(json_object_get(rank, "kernel_totals"), "top"), 0);
    assert_string_equal(json_string_value(json_object_get(top, "name")), "a\"b\\c\n\x01\xef\xbf\xbd\xc3\xa4");
    assert_true(json_is_null(json_object_get(top, "min_us")));
    json_t *sum = json_object_get(json_object_get(rank, "collective_table"), "allreduce");
    assert_int_equal(json_integer_value(json_object_get(sum, "count")), 3);
    assert_true(fabs(json_real_value(json_object_get(sum, "total_us")) - 0.012) < 1e-12);
    json_t *counts = json_object_get(rank, "event_counts");
    json_t *by_name = json_object_get(counts, "complete_events_by_process");
    assert_int_equal(json_integer_value(json_object_get(by_name, "Python")), 8);
    assert_int_equal(json_object_size(by_name), 1);
    assert_int_equal(json_integer_value(json_object_get(json_object_get(counts, "by_pid"), "9")), 5);
    assert_int_equal(json_integer_value(json_object_get(counts, "distinct_tids")), 6);
    assert_true(json_is_null(json_object_get(json_array_get(json_object_get(rank, "steps"), 1), "stage_us")));
    json_decref(root);
    free_fixture(f);
}

static void a_view_narrows_the_json(void **state)
{
    (void)state;
    fixture *f = new_fixture(4);
    ek_trace_view view = {.rank = 2, .step = "12"};
    json_t *root = parsed(&f->run, &view), *ranks = json_object_get(root, "ranks");
    assert_int_equal(json_array_size(ranks), 1);
    assert_int_equal(json_integer_value(json_object_get(json_array_get(ranks, 0), "rank")), 2);
    json_t *steps = json_object_get(json_array_get(ranks, 0), "steps");
    assert_int_equal(json_array_size(steps), 1);
    assert_string_equal(json_string_value(json_object_get(json_array_get(steps, 0), "step")), "12");
    assert_true(ek_trace_view_has_rank(&f->run, &view) && ek_trace_view_has_step(&f->run, &view));
    view = (ek_trace_view){.rank = 4, .step = "13"};
    assert_false(ek_trace_view_has_rank(&f->run, &view) || ek_trace_view_has_step(&f->run, &view));
    json_decref(root);
    free_fixture(f);
}

/* ---- tables ---- */

static void every_table_has_rows_that_fit_its_header(void **state)
{
    (void)state;
    fixture *f = new_fixture(2);
    ek_trace_operator op = {.name = "comma, \"quote\"\nline", .type = "t"};
    ek_trace_outlier outlier = {.name = "x", .shape = "1,2"};
    ek_trace_collective_sum sum = {.key = "k"};
    ek_trace_link link = {.link = "0-1", .transport = "HCCS"};
    ek_trace_stream_idle stream = {.pid = "0", .tid = "stream 7"};
    ek_trace_memory_peak peak = {.component = "APP", .allocated_mb = NAN, .active_mb = NAN};
    ek_trace_live live = {"Weight", 1048576};
    ek_trace_layer layer = {
        .name = "0-L", .kind = "L", .forward = {.n = 1}, .recompute = {.n = 2}, .backward = {.n = 3}};
    ek_trace_source source = {.path = "a,b.json", .type = "trace", .problem = "cut"};
    ek_trace_stage stage = {.n_ranks = 2};
    ek_trace_cluster_row row = {.step = "1", .type = "rank", .index = "(0, 1)", .preparing = EK_TRACE_UNKNOWN};
    ek_trace_finding finding = {.id = "x", .rank = -1, .stage = -1, .text = "a, b", .advice = "c", .share = NAN};
    ek_compute_operator shaped = {
        .name = "mm", .shapes = "[[1,2],[2,3]]", .kernel = "k", .types = "", .layout = "", .count = 1};
    ek_compute compute = {.n = 1, .op = &shaped};
    f->run.compute = &compute;
    f->rank[0].operators = (ek_trace_operators){.n = 1, .op = &op, .n_outliers = 1, .outlier = &outlier};
    f->rank[0].communication = (ek_trace_communication){.n_sums = 1, .sum = &sum, .n_links = 1, .link = &link};
    f->rank[0].idle = (ek_trace_idle){.n_streams = 1, .stream = &stream};
    f->rank[0].memory = (ek_trace_memory){.n_peaks = 1, .peak = &peak, .tracker = {.n_live = 1, .live = &live}};
    f->rank[0].layers = (ek_trace_layers){.n = 1, .layer = &layer};
    f->rank[0].queue = f->rank[1].queue = (ek_trace_queue){.n = 1, .longest = 1, .length = 1};
    f->rank[0].n_sources = 1, f->rank[0].source = &source;
    f->run.n_stages = 1, f->run.stage = &stage;
    f->run.n_cluster_rows = 1, f->run.cluster_row = &row;
    f->run.n_findings = 1, f->run.finding = &finding;
    static const int n_rows[EK_N_TRACE_TABLES] = {6, 6, 0, 0, 2, 3, 1, 1, 0, 1, 1, 0, 0, 1, 1, 2, 0, 0, 1, 1, 1, 1};
    for (int i = 0; i < EK_N_TRACE_TABLES; i++) {
        char *text = NULL;
        size_t size;
        ek_error err;
        ek__csv *csv;
        bool more = true;
        int n = 0;
        FILE *out = open_memstream(&text, &size);
        assert_int_equal(ek__trace_write_csv(&f->run, &ek_trace_tables[i], NULL, out, &err), EK_OK);
        fclose(out);
        assert_int_equal(ek__csv_open_buffer(ek_trace_tables[i].name, text, size, &csv, &err), EK_OK);
        int last = ek__csv_n_columns(csv) - 1;
        while (ek__csv_next(csv, &more, &err) == EK_OK && more) {
            /* The last column of each is never empty but where a time is not known. */
            assert_true(*ek__csv_cell(csv, last) || strcmp(ek_trace_tables[i].name, "cluster") == 0);
            assert_string_equal(ek__csv_cell(csv, last + 1), "");
            n++;
        }
        if (strcmp(ek_trace_tables[i].name, "operators") == 0)
            assert_non_null(strstr(text, "0,,\"comma, \"\"quote\"\"\nline\",t,"));
        assert_int_equal(n, n_rows[i]);
        ek__csv_close(csv);
        free(text);
    }
    free_fixture(f);
}

/* ---- summary and picture ---- */

static int count_of(const char *text, const char *part)
{
    int n = 0;
    for (const char *at = text; (at = strstr(at, part)); at += strlen(part))
        n++;
    return n;
}

static void the_summary_of_many_ranks_is_short(void **state)
{
    (void)state;
    fixture *f = new_fixture(MAX_RANKS);
    f->rank[37].mean.computing += 5 * MS;
    f->rank[37].mean.communication_not_overlapped -= 5 * MS;
    char *text = written(ek__trace_write_text, &f->run, NULL);
    assert_true(count_of(text, "\n") < 40);
    assert_non_null(strstr(text, "64 ranks"));
    assert_non_null(strstr(text, "2 steps (11 to 12), 1 before it left out"));
    assert_non_null(strstr(text, "computing                      60.08       60.00       65.00  rank 37"));
    assert_non_null(strstr(text, "Details of rank 37, the busiest"));
    assert_null(strstr(text, "\033"));
    free(text);
    for (int r = 0; r < MAX_RANKS; r++) /* one has a value */
        f->rank[r].mean.free = r == 12 ? 10 * MS : EK_TRACE_UNKNOWN;
    text = written(ek__trace_write_text, &f->run, NULL);
    assert_non_null(strstr(text, "\nfree                           10.00       10.00       10.00  rank 12\n"));
    free(text);
    ek_trace_view view = {.rank = 5, .color = true};
    text = written(ek__trace_write_text, &f->run, &view);
    assert_non_null(strstr(text, "\033[1mSteps"));
    assert_int_equal(count_of(text, "rank 5 "), 1);
    free(text);
    free_fixture(f);
}

static void the_picture_stays_in_its_page(void **state)
{
    (void)state;
    for (int n = 1; n <= MAX_RANKS; n *= 4) {
        fixture *f = new_fixture(n);
        f->rank[0].mean = (ek_trace_breakdown){.computing = EK_TRACE_UNKNOWN, .total = EK_TRACE_UNKNOWN};
        f->rank[0].device = f->rank[0].mean;
        if (n > 1)
            f->step[1][1].pipeline_wait = f->step[1][2].pipeline_wait = INT64_MAX; /* more than there is */
        char *text = written(ek__trace_write_svg, &f->run, NULL);
        double width, height;
        assert_int_equal(sscanf(strstr(text, "viewBox=\"0 0 "), "viewBox=\"0 0 %lf %lf", &width, &height), 2);
        int bars = 0;
        for (const char *at = text; (at = strstr(at, "<rect class=\"p")); at++) {
            double x, y, w, h;
            if (sscanf(at, "<rect class=\"p%*d\" x=\"%lf\" y=\"%lf\" width=\"%lf\" height=\"%lf\"", &x, &y, &w, &h) !=
                4)
                continue;
            assert_true(x >= 0 && y >= 0 && w > 0 && x + w <= width + 0.01 && y + h <= height);
            bars++;
        }
        assert_true(bars >= (n - 1) * 4);
        assert_int_equal(count_of(text, "<g>"), n);
        assert_null(strstr(text, "nan"));
        free(text);
        free_fixture(f);
    }
}

/* Three ranks, of which the middle one computes more and waits for its stage in both steps. */
static void a_picture_and_a_summary_match_golden(void **state)
{
    (void)state;
    fixture *f = new_fixture(3);
    f->rank[1].mean.computing += 16 * MS;
    f->rank[1].mean.communication_not_overlapped -= 16 * MS;
    f->step[1][1].pipeline_wait = 4 * MS;
    f->step[1][2].pipeline_wait = 8 * MS;
    char *text = written(ek__trace_write_svg, &f->run, NULL);
    assert_golden("trace.svg", text);
    free(text);
    text = written(ek__trace_write_text, &f->run, NULL);
    assert_golden("trace.txt", text);
    free(text);
    free_fixture(f);
}

/* The ranks' means as bars; of a single rank its steps, too. Unknown values have no bar. */
static void ranks_and_steps_are_drawn_where_it_is_wanted(void **state)
{
    (void)state;
    fixture *f = new_fixture(3);
    ek_trace_view view = {.rank = EK_TRACE_NO_RANK, .plot = {.columns = 80, .rows = 16}};
    f->rank[1].mean.computing += 16 * MS;
    f->rank[1].mean.communication_not_overlapped -= 16 * MS;
    f->step[1][2].own.free = EK_TRACE_UNKNOWN;
    char *text = written(ek__trace_write_text, &f->run, &view);
    assert_golden("trace_plot.txt", text);
    free(text);
    view.rank = 1;
    text = written(ek__trace_write_text, &f->run, &view);
    assert_golden("trace_plot_rank.txt", text);
    free(text);
    free_fixture(f);
}

/* ---- findings ---- */

static const ek_trace_finding *found(fixture *f, const char *id)
{
    ek_error err;
    f->run.n_findings = 0;
    assert_int_equal(ek__compare_findings(&(ek_trace_options){0}, &f->run, &err), EK_OK);
    for (int i = 1; i < f->run.n_findings; i++)
        assert_true(f->run.finding[i - 1].gain_ns >= f->run.finding[i].gain_ns);
    for (int i = 0; i < f->run.n_findings; i++) {
        assert_non_null(f->run.finding[i].advice);
        if (strcmp(f->run.finding[i].id, id) == 0)
            return &f->run.finding[i];
    }
    return NULL;
}

/* Both steps that count. */
#define SET(field, value) (f->step[1][1].field = f->step[1][2].field = (value))

static void times_of_steps_are_found_above_their_share_only(void **state)
{
    (void)state;
    fixture *f = new_fixture(2);
    assert_null(found(f, "pipeline-wait"));
    assert_int_equal(f->run.n_findings, 1); /* 30 of 100 ms are exposed communication, whatever it waits for */
    assert_string_equal(f->run.finding[0].id, "exposed-communication");
    assert_int_equal(f->run.finding[0].gain_ns, EK_TRACE_UNKNOWN);
    /* An empty queue shows it where no idle time does, without the amount. */
    f->rank[1].data.near_empty_queue = true;
    const ek_trace_finding *queue = found(f, "data-loading");
    assert_non_null(queue);
    assert_string_equal(queue->text,
                        "Rank 1: the last queue of the data pipeline is under 10 % full on average: training "
                        "waits for data.");
    assert_true(queue->rank == 1 && isnan(queue->share) && queue->gain_ns == EK_TRACE_UNKNOWN);
    SET(pipeline_wait, 5 * MS);
    assert_null(found(f, "pipeline-wait"));
    SET(pipeline_wait, 5 * MS + 1000);
    f->step[1][0].pipeline_wait = 90 * MS; /* warm-up does not count */
    const ek_trace_finding *finding = found(f, "pipeline-wait");
    assert_non_null(finding);
    assert_int_equal(finding->rank, 1);
    assert_int_equal(finding->gain_ns, 5 * MS + 1000);
    assert_true(fabs(finding->share - 0.05001) < 1e-9);
    f->rank[1].data.near_empty_queue = false;
    SET(data_loading_idle, 2 * MS);
    assert_null(found(f, "data-loading"));
    SET(data_loading_idle, 3 * MS);
    assert_non_null(found(f, "data-loading"));
    int64_t start = f->step[1][1].start;
    for (int s = 0; s < N_STEPS; s++)
        f->step[1][s].host_start = f->step[1][s].start;
    ek_trace_host_gap gap[] = {{start, start + 30 * MS, "compilation"},
                               {start + 40 * MS, start + 90 * MS, "data_loading"},
                               {f->step[1][2].start, f->step[1][2].start + 10 * MS, "compilation"}};
    f->rank[1].dispatch = (ek_trace_dispatch){.is_host_bound = true, .cause = "compilation", .n_gaps = 3, .gap = gap};
    finding = found(f, "host-bound");
    assert_non_null(finding);
    assert_int_equal(finding->gain_ns, 20 * MS);
    assert_non_null(strstr(finding->advice, "compile"));
    free_fixture(f);
}

static void communication_and_links_are_found(void **state)
{
    (void)state;
    fixture *f = new_fixture(2);
    ek_trace_collective_sum sums[] = {{.key = "hcom_receive", .p2p = true}, {.key = "hcom_allReduce"}};
    ek_trace_collective collectives[] = {
        {.name = "hcom_allReduce__1_0_1", .exposed = 90 * MS, .transit = MS, .sum = 1, .step = 0}, /* warm-up */
        {.name = "hcom_allReduce__1_1_1", .exposed = 5 * MS, .transit = 4 * MS, .sum = 1, .step = 1, .last = -1},
        {.name = "hcom_receive__2_1_1", .exposed = 90 * MS, .p2p = true, .step = 1},
        {.name = "hcom_allReduce__1_2_1", .exposed = 5 * MS, .transit = EK_TRACE_UNKNOWN, .sum = 1, .step = 2},
    };
    ek_trace_link link = {.link = "g:0-1", .transport = "HCCS", .time_ms = 30, .bandwidth_gbps = 10, .slow = true};
    ek_trace_transport transport = {.name = "HCCS", .mean_gbps = 20};
    SET(own.communication_not_overlapped, 0); /* of the other rank, which lists no collectives */
    f->rank[0].communication = (ek_trace_communication){.n_collectives = 4,
                                                        .collective = collectives,
                                                        .n_sums = 2,
                                                        .sum = sums,
                                                        .n_links = 1,
                                                        .link = &link,
                                                        .n_transports = 1,
                                                        .transport = &transport};
    assert_null(found(f, "exposed-communication")); /* 5 ms of each step is no more than the least share */
    collectives[1].exposed = 9 * MS;
    const ek_trace_finding *finding = found(f, "exposed-communication");
    assert_non_null(finding);
    assert_non_null(strstr(finding->text, "7.00 ms of a step, 7.0 %, are spent in hcom_allReduce"));
    assert_non_null(strstr(finding->text, "waits for other ranks 2.50 ms, transfer 2.00 ms, unknown 2.50 ms"));
    assert_int_equal(finding->gain_ns, 2 * MS); /* 4 ms of transfer in one of two steps: no more is sure */
    collectives[1].transit = EK_TRACE_UNKNOWN;
    finding = found(f, "exposed-communication");
    assert_non_null(strstr(finding->text, "is unknown"));
    assert_int_equal(finding->gain_ns, EK_TRACE_UNKNOWN);
    collectives[3].transit = 5 * MS;
    collectives[1].transit = 0;
    collectives[1].last = 1; /* the other rank */
    finding = found(f, "exposed-communication");
    assert_non_null(strstr(finding->text, "waits for other ranks 4.50 ms, transfer 2.50 ms"));
    assert_null(strstr(finding->text, "is last")); /* 4.5 ms are under the least share */
    collectives[1].exposed = 20 * MS;
    finding = found(f, "exposed-communication");
    assert_non_null(strstr(finding->text, "Rank 1 is last: it causes 10.00 ms of the waiting."));
    finding = found(f, "slow-link");
    assert_non_null(finding);
    assert_int_equal(finding->gain_ns, 5 * MS); /* half of 30 ms, over three steps */
    link.slow = false;
    assert_null(found(f, "slow-link"));
    free_fixture(f);
}

static void ranks_and_stages_are_found(void **state)
{
    (void)state;
    fixture *f = new_fixture(3);
    ek_trace_stage stages[] = {{.stage = 0, .computing_mean = 50 * MS, .step_mean = 100 * MS},
                               {.stage = 1, .computing_mean = 70 * MS, .step_mean = 100 * MS}};
    ek_trace_vote vote = {.rank = 2, .stage = -1, .n_votes = 2, .n_shortest = 4, .at = 2};
    ek_trace_gap gap = {.part = "computing", .gap = 0.1, .most = 2, .least = 0, .most_at = 2, .least_at = 0};
    f->run.n_stages = 2, f->run.stage = stages, f->run.stage_imbalance = 1.04;
    f->run.n_votes = 1, f->run.vote = &vote, f->run.n_voted_operators = 10;
    f->run.n_gaps = 1, f->run.gap = &gap;
    f->rank[2].mean.computing = 70 * MS;
    f->rank[2].mean.communication_not_overlapped = 20 * MS;
    assert_null(found(f, "stage-imbalance"));
    assert_int_equal(f->run.n_findings, 1); /* exposed communication of the fixture */
    f->run.stage_imbalance = 1.4;
    vote.n_votes = 3;
    gap.flagged = true;
    const ek_trace_finding *finding = found(f, "stage-imbalance");
    assert_non_null(finding);
    assert_int_equal(finding->stage, 1);
    assert_int_equal(finding->gain_ns, 10 * MS);
    finding = found(f, "slow-rank");
    assert_non_null(finding);
    assert_int_equal(finding->rank, 2);
    assert_int_equal(finding->gain_ns, 10 * MS); /* the others communicate 30 ms, it 20 */
    finding = found(f, "compute-gap");
    assert_non_null(finding);
    assert_int_equal(finding->gain_ns, 10 * MS);
    f->run.n_voted_operators = 31;
    assert_null(found(f, "slow-rank"));
    free_fixture(f);
}

static void operators_memory_and_silence_are_found(void **state)
{
    (void)state;
    fixture *f = new_fixture(2);
    ek_trace_outlier outlier = {.name = "MatMul", .duration = 7 * MS, .expected = 1 * MS};
    ek_trace_layer layer = {.name = "0-L", .recompute = {.n = 4, .busy_mean = 3.0 * MS}};
    ek_trace_memory_peak peak = {.component = "PTA", .allocated_mb = 8000, .reserved_mb = 10000};
    ek_trace_allocation kept = {"aten::mm", 100 * 1024, 0, EK_TRACE_UNKNOWN};
    f->rank[0].operators = (ek_trace_operators){.n_outliers = 1, .outlier = &outlier};
    f->rank[0].layers = (ek_trace_layers){.n = 1, .layer = &layer, .n_steps = 2};
    f->rank[0].memory = (ek_trace_memory){.n_peaks = 1, .peak = &peak, .n_kept = 1, .kept = &kept};
    assert_non_null(found(f, "slow-operators")); /* 6 ms over three steps */
    const ek_trace_finding *finding = found(f, "recompute-cost");
    assert_non_null(finding);
    assert_int_equal(finding->gain_ns, 6 * MS);
    assert_null(found(f, "memory-fragmentation")); /* 20 % just is not over 20 % */
    peak.allocated_mb = 7000;
    assert_non_null(found(f, "memory-fragmentation"));
    assert_null(found(f, "memory-never-released")); /* from before the steps */
    kept.start = f->step[0][1].start;
    assert_non_null(found(f, "memory-never-released"));
    kept.start = f->step[0][2].start; /* of the last step: it may still be needed */
    assert_null(found(f, "memory-never-released"));
    assert_null(found(f, "no-device-events"));
    f->rank[1].has_device_events = false;
    f->rank[1].mean = f->rank[1].device = (ek_trace_breakdown){0};
    f->rank[1].counts.n_items = 5;
    finding = found(f, "no-device-events");
    assert_non_null(finding);
    assert_int_equal(finding->gain_ns, EK_TRACE_UNKNOWN);
    free_fixture(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_are_exact_to_the_nanosecond),
        cmocka_unit_test(names_of_any_bytes_and_unknown_figures_make_json),
        cmocka_unit_test(a_view_narrows_the_json),
        cmocka_unit_test(every_table_has_rows_that_fit_its_header),
        cmocka_unit_test(the_summary_of_many_ranks_is_short),
        cmocka_unit_test(the_picture_stays_in_its_page),
        cmocka_unit_test(a_picture_and_a_summary_match_golden),
        cmocka_unit_test(ranks_and_steps_are_drawn_where_it_is_wanted),
        cmocka_unit_test(times_of_steps_are_found_above_their_share_only),
        cmocka_unit_test(communication_and_links_are_found),
        cmocka_unit_test(ranks_and_stages_are_found),
        cmocka_unit_test(operators_memory_and_silence_are_found),
    };
    return cmocka_run_group_tests_name("trace report", tests, NULL, NULL);
}
