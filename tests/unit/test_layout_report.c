/* Tests the output of a search for layouts as text, JSON and a table, to the letter: with invented figures, so that
 * each differs from all others, and with all parts that can accompany plans. */
#include <math.h>

#include "evenkeel/calibrate.h"
#include "evenkeel/layout_advice.h"
#include "evenkeel/layout_fit.h"
#include "evenkeel/layout_report.h"
#include "evenkeel/uniform.h"
#include "evenkeel/write.h"
#include "golden_page.h"

enum { N_PLANS = 3, MOST_CELLS = 8, MB = 1 << 20 };

/* Plans of a model of 13 layers; today's is the last. */
typedef struct made {
    ek_job job;
    ek_device device;
    ek_layout_plan plan[N_PLANS];
    ek_step_stage step[N_PLANS + 1][4];
    ek_memory_stage stage[N_PLANS + 1][4];
    int lists[N_PLANS + 1][4][MOST_CELLS];
    ek_layout_result result;
} made;

typedef struct shape {
    int data, tensor, context, expert, pipeline, chunks, batch, shard, copies, fine, table, sums, micro_batches;
    bool sequence_parallel;
    const char *schedule;
} shape;

static ek_layout layout_of(const shape *s)
{
    return (ek_layout){.value = {s->data, s->tensor, s->context, s->expert, s->pipeline, s->chunks, s->batch, s->shard,
                                 s->copies, s->fine, s->table, s->sums},
                       .n_micro_batches = s->micro_batches,
                       .sequence_parallel = s->sequence_parallel,
                       .schedule = ek_schedule_find(s->schedule)};
}

/* Parts of a step that end in different digits, the last so that they add up; every second one has an error. */
static void make_step(ek_step *step, ek_step_stage *stage, int n_stages, double seconds)
{
    double left = seconds;
    *step = (ek_step){.seconds = seconds,
                      .n_stages = n_stages,
                      .stage = stage,
                      .slowest = n_stages - 1,
                      .standard_error = seconds / 32,
                      .nearest = NAN};
    for (int i = 0; i < EK_N_STEP_PARTS; i++) {
        double part = i + 1 < EK_N_STEP_PARTS ? i == EK_STEP_CONTEXT ? 0 : seconds * (i + 1) / 128 : left;
        stage[n_stages - 1].seconds[i] = part;
        step->basis[i] = (ek_cost_basis)(i % EK_N_COST_BASES);
        step->error[i] = i % 2 ? part / 16 : 0;
        left -= part;
    }
}

static void make_memory(ek_memory *memory, ek_memory_stage *stage, int n_stages, double peak_mb, double limit_mb)
{
    *memory = (ek_memory){.n_stages = n_stages, .stage = stage, .limit = (int64_t)(limit_mb * MB)};
    for (int s = 0; s < n_stages; s++) /* the last is the fullest */
        stage[s].actual_peak = (int64_t)((peak_mb - 1000 * (n_stages - 1 - s)) * MB);
    memory->fullest = n_stages - 1;
    memory->margin = limit_mb > 0 ? memory->limit - stage[n_stages - 1].actual_peak : EK_MEMORY_UNKNOWN;
    memory->fits = limit_mb <= 0 || memory->margin >= 0;
}

/* Of the lists of a cell: 2 + c layers, c with all run again, c + 1 in part, and c + 2. */
static void make_plan(made *m, int i, const shape *of, double seconds, double peak_mb)
{
    ek_layout_plan *plan = i < N_PLANS ? &m->plan[i] : &m->result.today;
    *plan = (ek_layout_plan){.layout = layout_of(of), .job = m->job, .lower_bound = 0.75 * seconds, .group = -1};
    plan->job.plan =
        (ek_plan){of->pipeline, of->chunks, m->lists[i][0], m->lists[i][1], m->lists[i][2], m->lists[i][3]};
    for (int c = 0; c < of->pipeline * of->chunks; c++)
        for (int k = 0; k < 4; k++)
            m->lists[i][k][c] = c + (k == 0 ? 2 : k - 1);
    make_step(&plan->estimate.step, m->step[i], of->pipeline, seconds);
    make_memory(&plan->estimate.memory, m->stage[i], of->pipeline, peak_mb, m->job.limit_mb);
    plan->estimate.job = &plan->job;
    plan->estimate.device = &m->device;
    plan->estimate.metrics.tokens_per_second_per_device = 16384 / seconds;
    plan->estimate.metrics.mfu = 0.75 / seconds;
    plan->estimate.share_without_error = 0.25;
}

static const shape shapes[N_PLANS + 1] = {
    {4, 2, 1, 1, 2, 2, 1, 4, 1, 1, 4, 1, 16, true, "interleaved"},
    {8, 1, 1, 1, 2, 1, 2, 8, 1, 1, 1, 8, 4, false, "1f1b"},
    {16, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 4, false, "1f1b"},
    {2, 4, 1, 1, 2, 1, 1, 2, 1, 1, 1, 1, 32, true, "1f1b"},
};

static void make(made *m)
{
    *m = (made){.job = {.path = "job.yaml",
                        .name = "thirteen",
                        .framework = EK_MINDFORMERS,
                        .limit_mb = 30000,
                        .model = {.n_layers = 13, .hidden = 512, .n_heads = 8},
                        .parallel = {.seq_length = 2048}}};
    snprintf(m->device.name, sizeof m->device.name, "made up");
    m->result = (ek_layout_result){
        .job = &m->job,
        .file = &m->job,
        .device = &m->device,
        .options = {.n_devices = 16, .global_batch = 64},
        .n_plans = N_PLANS,
        .plan = m->plan,
        .lower_bound = 1.5,
        .gap = 0.25,
        .ended_early = true,
        .counts =
            {.all = 9000,
             .legal = 8000,
             .bounded = 7000,
             .balanced = 60,
             .fate = {N_PLANS, 1000, 5000, 1900, 50, 7, 40},
             .over_by = {400, 600, 1000, 3000},
             .bound_by = {[EK_STEP_TENSOR] = 1100, [EK_STEP_BUBBLE] = 500, [EK_STEP_DATA] = 200, [EK_STEP_HOST] = 9}},
        .seconds = 12.25,
        .first_seconds = 0.5,
    };
    for (int i = 0; i <= N_PLANS; i++)
        make_plan(m, i, &shapes[i], 2 + 0.125 * i, 25000 + 2250 * i);
    snprintf(m->plan[0].settings, sizeof m->plan[0].settings, "parallel_config:\n  pipeline_stage: 2\n");
    for (int i = 0; i < N_PLANS; i++) {
        m->plan[i].group = i / 2;
        m->plan[i].group_error = i == 1 ? 0.25 : 0;
    }
    ek_estimate_texts *doubts = &m->plan[0].estimate.warnings;
    doubts->n = 2;
    snprintf(doubts->text[0], sizeof doubts->text[0], "Of this device nothing was measured.");
    snprintf(doubts->text[1], sizeof doubts->text[1],
             "It was made up for a test, with figures that can be told apart, "
             "and a text that does not fit into one line of the page.");
}

static char *written(ek_output output, const char *format)
{
    char *text = NULL;
    size_t size = 0;
    ek_error err = {0};
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    if (ek_write(output, format, out, &err))
        fail_msg("%s", err.message);
    assert_int_equal(fclose(out), 0);
    return text;
}

static void check(const ek_layout_report *report, const char *name)
{
    static const char *const format[] = {"text", "json", "csv"}, *const ending[] = {"txt", "json", "csv"};
    for (int i = 0; i < (report->result->n_plans > 0 ? 3 : 2); i++) {
        char file[64], *text = written(ek_output_of_layout(report), format[i]);
        snprintf(file, sizeof file, "%s.%s", name, ending[i]);
        assert_golden(file, text);
        free(text);
    }
}

static void plans_stand_with_why_not_the_others(void **state)
{
    (void)state;
    static made m;
    make(&m);
    check(&(ek_layout_report){.result = &m.result}, "layout");
    assert_golden_page("layout_plans_page.json", &(ek_view_run){.name = "layouts", .layout = &m.result});
}

/* Steps as bars, whole where they are proved, and the pipeline of the first plan. */
static void plans_are_drawn_where_it_is_wanted(void **state)
{
    (void)state;
    static made m;
    ek_uniform_run run;
    ek_error err = {0};
    ek_step_tail tail[] = {{1.75, 1.8125, 1.875, 1.9375, 1.9375}, {1.5, 1.5625, 1.875, 1.9375, 1.9375}};
    const ek_uniform times = {.forward_time = 0.125, .backward_time = 0.25};
    make(&m);
    if (ek_uniform_simulate(ek_schedule_find("1f1b"), &(ek_shape){2, 1, 4, 0}, &times, NULL, 0, &run, &err))
        fail_msg("%s", err.message);
    const ek_step_run step = {.pipeline = run.timeline, .repeats = 1, .tail = tail, .seconds = 2};
    ek_layout_report report = {.result = &m.result, .plot = {.columns = 80, .rows = 16}, .run = &step};
    char *text = written(ek_output_of_layout(&report), "text");
    assert_golden("layout_plot.txt", text);
    free(text);
    m.result.proved = true;
    report.run = NULL;
    text = written(ek_output_of_layout(&report), "text");
    assert_non_null(strstr(text, "Their steps, s\n   1"));
    assert_null(strstr(text, "#-"));
    assert_null(strstr(text, "work of each of its stages"));
    free(text);
    ek_uniform_run_clear(&run);
}

/* A way of three changes, two of them at once, with today's job over the limit. */
static ek_layout_way way_of(const made *m)
{
    ek_layout_way way = {.fits = false, .seconds = 2.375, .peak_mb = 31750, .n = 4};
    static const unsigned methods[] = {1U << EK_METHOD_DEGREES | 1U << EK_METHOD_BATCH, 1U << EK_METHOD_CHUNKS,
                                       1U << EK_METHOD_LAYERS | 1U << EK_METHOD_RECOMPUTE,
                                       1U << EK_METHOD_TABLE | 1U << EK_METHOD_INPUTS};
    shape now = shapes[N_PLANS];
    for (int i = 0; i < way.n; i++) {
        if (i == 0) {
            now.data = now.shard = 4;
            now.tensor = 2;
            now.batch = 2;
            now.sums = 4; /* goes with the states, since it is no separate change */
            now.sequence_parallel = false;
        }
        if (i == 1)
            now.schedule = "gpipe";
        if (i == 3)
            now.table = 4;
        way.step[i] = (ek_layout_way_step){.methods = methods[i],
                                           .layout = layout_of(&now),
                                           .fits = i > 0,
                                           .seconds = 2.25 - 0.0625 * i,
                                           .peak_mb = 30500 - 1000 * i};
    }
    snprintf(way.step[1].settings, sizeof way.step[1].settings, "pp_interleave_num: 2\n");
    (void)m;
    return way;
}

static void advice_stands_below_the_plans(void **state)
{
    (void)state;
    static made m;
    static ek_measured_run run[2];
    make(&m);
    m.result.proved = true;
    m.result.ended_early = false;
    ek_layout_thumb thumb[EK_N_LAYOUT_THUMBS] = {
        {.name = "data", .text = "below ten", .source = "a guide", .layout = m.plan[2].layout},
        {.name = "pipeline", .text = "below twenty", .source = "a guide", .applies = true, .found = true},
        {.name = "tensor", .text = "from twenty on", .source = "a guide", .found = true, .has_difference = true},
        {.name = "context", .text = "of long sequences", .source = "a guide"},
    };
    for (int i = 1; i < 3; i++) {
        thumb[i].plan = m.plan[i];
        thumb[i].layout = m.plan[i].layout;
        thumb[i].difference.share = 0.125;
    }
    ek_layout_explanation explanation = {.verdict = EK_VERDICT_PLAN,
                                         .plan = m.plan[1],
                                         .has_difference = true,
                                         .difference = {0.125, 0.0625, {[EK_STEP_DATA] = 0.0625}},
                                         .words = "This one is 6.2 % longer."};
    snprintf(explanation.plan.settings, sizeof explanation.plan.settings, "parallel_config:\n  data_parallel: 8\n");
    const ek_layout_way way = way_of(&m);
    const ek_layout_trials trials = {
        .n = 2, .trial = {{1, 0.0625, 0.5, 0.03125}, {0, 0.125, 0.25, 0.0078125}}, .loss = 0.0475};
    run[0] = (ek_measured_run){.step_seconds = 2.5, .job = {.path = "tried.yaml"}};
    run[1] = (ek_measured_run){.step_seconds = 3, .name = "B", .job = {.path = "other.yaml"}};
    ek_layout_tries tries = {.n = 2, .n_others = 5, .run = {{&run[0], 2.75}, {&run[1], 2.25}}, .taken = -1};
    static const char *const file[N_PLANS] = {"plans/1.yaml", NULL, "plans/3.yaml"}, *const trial_file[2] = {
                                                                                         NULL, "plans/trial_2.yaml"};
    const ek_error warning = {.message = "a key that is not known"};
    ek_layout_report report = {.result = &m.result,
                               .file = file,
                               .thumb = thumb,
                               .explanation = &explanation,
                               .way = &way,
                               .trials = &trials,
                               .trial_file = trial_file,
                               .tries = &tries,
                               .n_warnings = 1,
                               .warning = &warning};
    check(&report, "layout_advice");
    /* The requested layout is also in the brief output. */
    report.verdict_only = true;
    char *text = written(ek_output_of_layout(&report), "text");
    assert_string_equal(
        text, "dp 4, tp 2, pp 2, vpp 2, batch 1, shard 4, table 4, sequence parallel, interleaved: 2.000 s a step, "
              "8 192 tokens/s a device, MFU 37.5 %; proved best of 7 000 layouts in 12.2 s, but for how its "
              "layers are split: 25.0 %\n"
              "This one is 6.2 % longer.\n"
              "    2.125 s a step, MFU 35.3 %, 27 250 MB; another layout with these values may be shorter\n");
    free(text);
    /* A run that is as short is taken, and a way without changes is reported as such. */
    const ek_layout_way none = {.fits = true, .seconds = 2, .peak_mb = 25000};
    report = (ek_layout_report){.result = &m.result, .way = &none, .tries = &tries};
    tries.taken = 0;
    tries.n_others = 0;
    text = written(ek_output_of_layout(&report), "text");
    assert_non_null(strstr(text, "Take run 1: plan 1 (2.000 s predicted) is not shorter by more than the error of the "
                                 "difference.\n"));
    assert_non_null(strstr(text, "Today's job is the first plan above.\n"));
    assert_null(strstr(text, "other runs of the table"));
    free(text);
}

static void where_nothing_fits_changes_stand_that_would(void **state)
{
    (void)state;
    static made m;
    make(&m);
    m.result.n_plans = 0;
    m.result.ended_early = false;
    m.result.closest = layout_of(&shapes[1]);
    m.result.closest_mb = 33000.5;
    m.result.counts.fate[EK_FATE_PLAN] = 0;
    m.result.counts.bound_by[EK_STEP_DATA] = m.result.counts.bound_by[EK_STEP_HOST] = 0; /* no third part is named */
    const ek_layout_fits fits = {.n = EK_N_FIT_CHANGES,
                                 .fit = {{EK_FIT_FREE, true, 16, 30000, 29000.25, 2.5, layout_of(&shapes[0])},
                                         {EK_FIT_OFFLOAD, false, 16, 30000, 0, 0, layout_of(&shapes[0])},
                                         {EK_FIT_DEVICES, true, 32, 30000, 28000.75, 1.25, layout_of(&shapes[1])},
                                         {EK_FIT_MEMORY, false, 16, 99000, 0, 0, layout_of(&shapes[1])}}};
    check(&(ek_layout_report){.result = &m.result, .fits = &fits}, "layout_nothing");
    m.result.closest_mb = 29000; /* below the limit there need not be a plan */
    char *text = written(ek_output_of_layout(&(ek_layout_report){.result = &m.result}), "text");
    assert_non_null(strstr(text, "it might do with 29 000 MB, but no split of its layers does\n"));
    free(text);
    m.result.ended_early = true; /* then nothing is known of the closest */
    text = written(ek_output_of_layout(&(ek_layout_report){.result = &m.result}), "text");
    assert_memory_equal(text, "no plan found before the search ended: 7 000 layouts of 16 devices bounded in 12.2 s\n",
                        85);
    assert_null(strstr(text, "closest"));
    free(text);
}

static void a_sweep_has_a_row_for_each_value(void **state)
{
    (void)state;
    static made m;
    static const char *const format[] = {"text", "json", "csv"}, *const file[] = {"layout_sweep.txt",
                                                                                  "layout_sweep.json",
                                                                                  "layout_sweep.csv"};
    make(&m);
    ek_layout_sweep_point point[] = {
        {.value = 4, .n_devices = 4, .global_batch = 16, .least_mb = 40000.5, .linearity = NAN},
        {.value = 8,
         .n_devices = 8,
         .global_batch = 32,
         .found = true,
         .plan = m.plan[0],
         .gap = 0.125,
         .step_seconds = 2,
         .tokens_per_second_per_device = 8192,
         .linearity = 1},
        {.value = 16,
         .n_devices = 16,
         .global_batch = 64,
         .found = true,
         .plan = m.plan[1],
         .proved = true,
         .step_seconds = 2.125,
         .tokens_per_second_per_device = 7710,
         .linearity = 7710 / 8192.0},
        {.value = 24, .n_devices = 24, .global_batch = 96, .linearity = NAN},
        {.value = 32, .n_devices = 32, .global_batch = 128, .least_mb = 20000, .linearity = NAN},
    };
    for (int i = 1; i <= 2; i++)
        point[i].plan.estimate.tokens_per_step =
            point[i].tokens_per_second_per_device * point[i].step_seconds * point[i].n_devices;
    ek_layout_sweep sweep = {EK_SWEEP_DEVICES, 5, point, 2, 1};
    const ek_layout_sweep_report report = {&sweep, &m.job, &m.device, 2.25, false};
    for (int i = 0; i < 3; i++) {
        char *text = written(ek_output_of_layout_sweep(&report), format[i]);
        assert_golden(file[i], text);
        free(text);
    }
    /* Where the memory varies, each value is the limit of its row. */
    sweep = (ek_layout_sweep){EK_SWEEP_MEMORY, 1, &point[4], -1, -1};
    point[4].value = 19000;
    char *text = written(ek_output_of_layout_sweep(&report), "text");
    assert_string_equal(text, "thirteen on made up: the best layout by memory\n\n"
                              "  memory, MB          step  tokens/s  linearity  peak, MB  gap, %  layout\n"
                              "      19 000  nothing fits: every layout needs 20 000 MB or more\n"
                              "None of these has a step of 2.250 s or less.\n");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plans_stand_with_why_not_the_others),
        cmocka_unit_test(plans_are_drawn_where_it_is_wanted),
        cmocka_unit_test(advice_stands_below_the_plans),
        cmocka_unit_test(where_nothing_fits_changes_stand_that_would),
        cmocka_unit_test(a_sweep_has_a_row_for_each_value),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
