/* Tests the writers of a prediction: hand-made ones with known figures, in every form; and the saved activations of a
 * layer, against the closed form of docs/models.md and by trying each offered pattern again. */
#include "input.h"

#include <jansson.h>
#include <math.h>
#include <unistd.h>

#include "assert_close.h"
#include "base/error.h"
#include "described.h"
#include "evenkeel/memory_report.h"
#include "evenkeel/prediction.h"
#include "evenkeel/recompute_sets.h"
#include "figures/results.h"
#include "golden_page.h"
#include "job/job_internal.h"
#include "model/graph.h"
#include "report/memory_internal.h"
#include "report/svg_internal.h"
#include "report/writers.h"

#define MB (INT64_C(1) << 20)

/* ---- a job and a prediction by hand ---- */

/* A Llama in bfloat16: 4 stages x 2 chunks x 3 layers, of which chunk 1 recomputes one whole. */
static void make_job(ek_job *job, int n_stages, int n_chunks)
{
    ek_error err;
    *job = (ek_job){.framework = EK_MINDFORMERS,
                    .family = EK_FAMILY_LLAMA,
                    .schedule = ek_schedule_default(n_chunks, 0),
                    .full_group = 1,
                    .rules = ek_rules_default(EK_MINDFORMERS)};
    job->model = (ek_job_model){.n_layers = n_stages * n_chunks * 3,
                                .hidden = 4096,
                                .n_heads = 32,
                                .n_kv_heads = 8,
                                .head_dim = 128,
                                .value_dim = 128,
                                .intermediate = 14336,
                                .vocab = 32000,
                                .max_position = 4096,
                                .gated = true,
                                .flash_attention = true,
                                .mask_compressed = true};
    job->types = (ek_job_types){.compute = EK_BF16,
                                .param = EK_FP32,
                                .embedding = EK_FP32,
                                .norm = EK_FP32,
                                .softmax = EK_FP32,
                                .rotary = EK_FP32,
                                .residual = EK_BF16};
    job->parallel = (ek_job_parallel){.data = 2,
                                      .tensor = 4,
                                      .pipeline = n_stages,
                                      .context = 1,
                                      .expert = 1,
                                      .expert_tensor = 4,
                                      .batch = 1,
                                      .seq_length = 4096,
                                      .n_micro_batches = 16,
                                      .n_accumulation = 1,
                                      .n_batch_interleave = 1,
                                      .n_pieces = 1,
                                      .fine_grain = 2,
                                      .sequence_parallel = true,
                                      .table_split = 4,
                                      .head_split = 4,
                                      .ulysses = 1};
    job->states = (ek_job_states){.weight = 4, .gradient = 4, .optimizer = 8, .shard_size = -1};
    snprintf(job->name, sizeof job->name, "llama <by hand>");
    assert_int_equal(ek_plan_init(&job->plan, n_stages, n_chunks, &err), EK_OK);
    for (int c = 0; c < n_stages * n_chunks; c++)
        job->plan.layers[c] = 3;
    for (int s = 0; s < n_stages; s++)
        job->plan.full[(n_chunks - 1) * n_stages + s] = 1;
}

/* Stage s: parts of (s + 1) x 100, 200, .. 600 MB and a bit, 300 MB of fragments. */
static void make_memory(ek_memory *memory, int n_stages, int64_t limit)
{
    *memory = (ek_memory){.n_stages = n_stages, .limit = limit, .fullest = n_stages - 1};
    memory->stage = ek__alloc((size_t)n_stages, sizeof *memory->stage);
    assert_non_null(memory->stage);
    for (int s = 0; s < n_stages; s++) {
        ek_memory_stage *stage = &memory->stage[s];
        stage->n_layers = 6;
        for (int i = 0; i < EK_N_MEMORY_PARTS; i++) {
            stage->part[i] = (s + 1) * (i + 1) * 100 * MB + 512 * (i + 1);
            stage->used_peak += stage->part[i];
        }
        stage->actual_peak = stage->used_peak + 300 * MB;
        stage->alive = 1.5;
        stage->block = (ek_block){.micro_batch = 7, .chunk = 1, .kind = EK_BACKWARD};
        stage->layer = 2;
        snprintf(stage->operator_name, sizeof stage->operator_name, "feed_forward.w1,\"matmul\"");
        stage->n_top = 1;
        stage->top[0] = (ek_memory_tensor){"w1 output", EK_PART_ACTIVATIONS, 28 * MB, 9};
    }
    memory->margin = limit - memory->stage[n_stages - 1].actual_peak;
    memory->fits = limit == 0 || memory->margin >= 0;
    memory->n_layer_kinds = 1;
    memory->layer_kind[0] =
        (ek_memory_layer){.name = "decoder", .parameter_bytes = 500 * MB, .kept = {200 * MB, 0, 0, 0, 8 * MB}};
}

typedef ek_status writer(const ek_memory_report *report, FILE *out, ek_error *err);

/* The output of a writer; the caller frees it. */
static char *written(writer *write, const ek_memory_report *report)
{
    char *text = NULL;
    size_t size;
    ek_error err;
    FILE *out = open_memstream(&text, &size);
    assert_int_equal(write(report, out, &err), EK_OK);
    fclose(out);
    return text;
}

static void assert_has(const char *text, const char *part)
{
    assert_non_null(text);
    if (!strstr(text, part))
        fail_msg("no '%s' in:\n%s", part, text ? text : "");
}

typedef struct fixture {
    ek_job job;
    ek_memory memory;
    ek_memory_report report;
} fixture;

static void make(fixture *f, int n_stages, int n_chunks, int64_t limit)
{
    make_job(&f->job, n_stages, n_chunks);
    make_memory(&f->memory, n_stages, limit);
    f->report = (ek_memory_report){.job = &f->job, .memory = &f->memory, .stage = -1};
}

static void clear(fixture *f)
{
    ek_job_clear(&f->job);
    free(f->memory.stage);
}

/* ---- text ---- */

/* Stage 3 has 4 x 2100 MB and 300 MB of fragments: 8700. */
static void the_verdict_comes_first_and_is_right(void **state)
{
    (void)state;
    static const struct {
        int64_t limit;
        const char *first;
    } cases[] = {
        {10000 * MB, "fits: fullest is stage 3 with 8 700 MB of 10 000 MB, 1 299 MB (13.0 %) free\n"},
        {8000 * MB, "does not fit: fullest is stage 3 with 8 700 MB of 8 000 MB, 700 MB (8.8 %) too much\n"
                    "over the limit: 1 of 4 stages; --measures lists remedies\n"},
        {0, "no limit is known: fullest is stage 3 with 8 700 MB; set it with --mem\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fixture f;
        make(&f, 4, 2, cases[i].limit);
        char *text = written(ek__memory_write_text, &f.report);
        if (strncmp(text, cases[i].first, strlen(cases[i].first)) != 0)
            fail_msg("begins with:\n%.300s", text);
        free(text);
        f.report.verdict_only = true;
        text = written(ek__memory_write_text, &f.report);
        /* One line, whatever follows it otherwise. */
        assert_int_equal(strcspn(text, "\n") + 1, strlen(text));
        assert_memory_equal(text, cases[i].first, strlen(text));
        free(text);
        clear(&f);
    }
}

static void text_tells_mixes_places_and_tensors(void **state)
{
    (void)state;
    fixture f;
    make(&f, 4, 2, 10000 * MB);
    char *text = written(ek__memory_write_text, &f.report);
    assert_has(text, "5 none, 1 full");
    /* Chunk 1 of stage 3 is position 7: 21 layers are before it. */
    assert_has(text, "in the backward pass of micro-batch 7, chunk 1, layer 2 (23 of the model), at feed_forward.w1");
    assert_has(text, "      252      9       28.0  activations  w1 output");
    assert_null(strstr(text, "\033["));
    free(text);
    f.report.color = true;
    f.report.stage = 1;
    text = written(ek__memory_write_text, &f.report);
    assert_has(text, "\033[");
    assert_has(text, "Stage 1\n");
    assert_has(text, "parameters        200 MB    4.8 %");
    free(text);
    clear(&f);
}

static void both_readings_stand_side_by_side(void **state)
{
    (void)state;
    fixture f;
    ek_memory literal;
    make(&f, 4, 2, 10000 * MB);
    make_memory(&literal, 4, 10000 * MB);
    literal.stage[3].actual_peak = 9999 * MB;
    snprintf(f.job.reading, sizeof f.job.reading, "res_dtype is read as residual_dtype.");
    f.report.literal = &literal;
    char *text = written(ek__memory_write_text, &f.report);
    assert_has(text, "res_dtype is read as residual_dtype.");
    for (char *at = text; (at = strchr(at, '\n')); at++) /* wrapped */
        *at = ' ';
    assert_has(text, "its fullest is stage 3 with 9 999 MB instead of 8 700 MB");
    free(text);
    text = written(ek__memory_write_csv, &f.report);
    assert_has(text, ",9999.000,");
    free(text);
    free(literal.stage);
    clear(&f);
}

/* ---- places ---- */

/* Slow: walk the model's positions until the one that the stage's chunk is. */
static void a_peaks_layer_is_found_in_the_model(void **state)
{
    (void)state;
    static const char *const schedules[] = {"interleaved", "zb-v", "dualpipe"};
    for (size_t k = 0; k < sizeof schedules / sizeof *schedules; k++) {
        fixture f;
        const ek_schedule *schedule = ek_schedule_find(schedules[k]);
        bool both = schedule->placement == EK_PLACE_BOTH_WAYS;
        make(&f, 4, both ? 1 : 2, 0);
        f.job.schedule = schedule;
        for (int c = 0; c < 4 * f.job.plan.n_chunks; c++)
            f.job.plan.layers[c] = 3 + c;
        for (int s = 0; s < 4; s++)
            for (int chunk = 0; chunk < 2; chunk++) {
                f.memory.stage[s].block.chunk = (uint16_t)chunk;
                int want = 2;
                for (int q = 0;; q++) {
                    int cell = schedule->placement == EK_PLACE_V && q >= 4 ? 4 + (7 - q) : q;
                    int at = both                                ? (chunk == 0 ? s : 3 - s)
                             : chunk == 0                        ? s
                             : schedule->placement == EK_PLACE_V ? 7 - s
                                                                 : 4 + s;
                    if (q == at)
                        break;
                    want += f.job.plan.layers[cell];
                }
                assert_int_equal(ek__memory_place(&f.job, &f.memory, s).model_layer, want);
            }
        clear(&f);
    }
}

/* ---- machines ---- */

static double real_of(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    if (!json_is_number(value))
        fail_msg("no number '%s'", key);
    return json_number_value(value);
}

static json_t *parsed(const ek_memory_report *report)
{
    json_error_t problem;
    char *text = written(ek__memory_write_json, report);
    check_described(ek__result_memory.fields, text, true);
    json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, &problem);
    if (!root)
        fail_msg("line %d: %s", problem.line, problem.text);
    free(text);
    return root;
}

static void json_holds_every_figure(void **state)
{
    (void)state;
    fixture f;
    make(&f, 4, 2, 8000 * MB);
    json_t *root = parsed(&f.report);
    assert_int_equal(json_integer_value(json_object_get(root, "version")), 1);
    assert_true(json_is_false(json_object_get(root, "fits")));
    assert_close_to(real_of(root, "limit_mb"), 8000, 0);
    const json_t *stages = json_object_get(root, "stages");
    assert_int_equal(json_array_size(stages), 4);
    for (int s = 0; s < 4; s++) {
        const json_t *stage = json_array_get(stages, (size_t)s), *value;
        const char *key;
        double sum = 0;
        json_object_foreach(json_object_get((json_t *)stage, "parts_mb"), key, value) sum += json_number_value(value);
        assert_close_to(sum, real_of(stage, "used_peak_mb"), 0.0035);
        assert_close_to(real_of(stage, "used_peak_bytes"), (double)f.memory.stage[s].used_peak, 0);
        assert_close_to(real_of(stage, "actual_peak_mb") - real_of(stage, "used_peak_mb"), 300, 0.0015);
        assert_close_to(real_of(stage, "alive_micro_batches"), 1.5, 0);
        assert_close_to(real_of(json_object_get(stage, "layers"), "full"), 1, 0);
        assert_close_to(real_of(json_object_get(stage, "peak_at"), "layer_of_model"), 12 + 3 * s + 2, 0);
    }
    assert_int_equal(json_array_size(json_object_get(root, "warnings")), 0);
    json_decref(root);
    clear(&f);
}

/* With all optional parts: every figure has the kind of its description, and nothing else is there. */
static void json_is_what_its_description_says(void **state)
{
    (void)state;
    fixture f;
    ek_error err;
    ek_memory_time time[EK_MAX_MEMORY_TIMES];
    ek_kept kept[EK_MAX_KEPT];
    ek_recompute_set_list worth;
    const ek_memory_assumption assumption = {.rule = "loss_fused", .value = "yes", .other = "no"};
    make(&f, 4, 2, 8000 * MB);
    f.report.device = ek_device_find("910B");
    f.report.time = time;
    f.report.kept = kept;
    f.report.worth = &worth;
    f.report.literal = &f.memory;
    f.report.assumption = &assumption;
    f.report.n_assumptions = 1;
    assert_int_equal(ek_memory_times(&f.job, f.report.device, time, &f.report.n_times, &err), EK_OK);
    assert_int_equal(ek_memory_kept(&f.job, kept, &f.report.n_kept, &err), EK_OK);
    assert_int_equal(ek_recompute_sets(&f.job, f.report.device, 2, &worth, &err), EK_OK);
    json_t *root = parsed(&f.report);
    const json_t *layer = json_array_get(json_object_get(root, "kept_tensors"), 0),
                 *tensor = json_array_get(json_object_get(layer, "tensors"), 0);
    assert_int_equal(json_array_size(json_object_get(root, "times_ms")), f.report.n_times);
    assert_int_equal(json_array_size(json_object_get(layer, "tensors")), kept[0].n);
    assert_int_equal(json_array_size(json_object_get(tensor, "shape")), kept[0].tensor[0].n_dims);
    assert_int_equal(json_array_size(json_object_get(json_object_get(root, "worth_recomputing"), "sets")), worth.n);
    json_decref(root);
    for (int i = 0; i < f.report.n_kept; i++)
        ek_kept_clear(&kept[i]);
    ek_recompute_set_list_clear(&worth);
    clear(&f);
}

static void json_is_valid_whatever_the_texts(void **state)
{
    (void)state;
    fixture f;
    make(&f, 1, 1, 0);
    const ek_error warning[] = {{.file = "a\xff\"b.yaml", .line = 3, .column = 5, .message = "tab\there, \xc3\x28"},
                                {.message = "no place"}};
    f.report.warning = warning;
    f.report.n_warnings = 2;
    json_t *root = parsed(&f.report);
    const json_t *list = json_object_get(root, "warnings");
    assert_int_equal(json_array_size(list), 2);
    assert_int_equal(json_integer_value(json_object_get(json_array_get(list, 0), "line")), 3);
    assert_true(json_is_null(json_object_get(json_array_get(list, 1), "file")));
    assert_true(json_is_null(json_object_get(root, "limit_mb")));
    assert_true(json_is_true(json_object_get(root, "fits")));
    json_decref(root);
    clear(&f);
}

static void measures_and_calibration_are_told(void **state)
{
    (void)state;
    fixture f;
    make(&f, 4, 2, 8000 * MB);
    const ek_mitigation measure[] = {
        {.name = "recompute SiLU",
         .setting = "select_recompute: True",
         .possible = true,
         .saved_mb = 1234.5,
         .after_mb = 7465.5,
         .fits = true,
         .step_change = 0.021},
        {.name = "more data parallel", .possible = false, .why = "there is one device", .step_change = NAN}};
    const ek_memory_peak peak[] = {{.stage = 0, .mb = 2000}, {.stage = 3, .mb = 8000}};
    const double predicted[] = {2100, 7920};
    const bool fitted[] = {true, false};
    const ek_memory_fit_result fit = {.n_knobs = 1,
                                      .knob = {"constant_mb"},
                                      .value = {123.5},
                                      .before = {0.1, 0.2, -0.1, 3},
                                      .after = {0.01, 0.02, 0.005, 0},
                                      .left_out = {NAN, NAN, NAN, 0}};
    const ek_memory_error judged = {0.01, 0.01, -0.01, 3};
    const ek_memory_calibration calibration = {&fit, true, 2, peak, fitted, predicted, &judged, NULL};
    f.report.measure = measure;
    f.report.n_measures = 2;
    f.report.calibration = &calibration;
    char *text = written(ek__memory_write_text, &f.report);
    assert_has(text, "+2.1 %  recompute SiLU");
    assert_has(text, "more data parallel: not possible, there is one device");
    assert_has(text, "--rule constant_mb=123.5");
    assert_has(text, "+5.0 %\n");
    assert_has(text, "-1.0 %  not fitted to\n");
    assert_null(strstr(text, "each from the others"));
    free(text);
    json_t *root = parsed(&f.report);
    const json_t *first = json_array_get(json_object_get(root, "measures"), 0),
                 *told = json_object_get(root, "calibration");
    assert_close_to(real_of(first, "saved_mb"), 1234.5, 0);
    assert_true(json_is_null(json_object_get(json_array_get(json_object_get(root, "measures"), 1), "saved_mb")));
    assert_true(json_is_null(json_object_get(told, "left_out")));
    assert_close_to(real_of(json_object_get(told, "other_stages"), "bias"), -0.01, 0);
    json_decref(root);
    clear(&f);
}

static int cells_of(const char *line)
{
    int n = 1;
    bool quoted = false;
    for (; *line && *line != '\n'; line++) {
        quoted ^= *line == '"';
        n += *line == ',' && !quoted;
    }
    return n;
}

static void every_row_of_the_table_is_whole(void **state)
{
    (void)state;
    fixture f;
    make(&f, 4, 2, 0);
    char *text = written(ek__memory_write_csv, &f.report), *line = text;
    int rows = 0, wide = cells_of(text);
    for (; *line; line = strchr(line, '\n') + 1, rows++)
        assert_int_equal(cells_of(line), wide);
    assert_int_equal(rows, 5);
    assert_has(text,
               "3,6,5,0,0,0,1,1.500,400.000,800.001,1200.001,1600.002,2000.002,2400.003,8400.010,300.000,8700.010,,,,"
               "\"feed_forward.w1,\"\"matmul\"\"\"");
    free(text);
    clear(&f);
}

/* ---- all of it ---- */

/* Steps of a stage's memory: up by 10 MB a block, and down by 4 at its end. */
static ek_memory_course course_of(int n_stages, ek_memory_moment *moment, int64_t *whole)
{
    const ek_memory_course course = {n_stages, 3, whole, moment};
    for (int s = 0; s < n_stages; s++) {
        whole[s] = (s + 1) * 1000 * MB;
        for (int k = 0; k < 3; k++)
            moment[3 * s + k] =
                (ek_memory_moment){.peak = whole[s] + (10 * k + 10) * MB, .after = whole[s] + (10 * k + 6) * MB};
    }
    return course;
}

/* All optional parts, to the letter, in every form. All figures are invented. */
static void all_there_is_matches_golden(void **state)
{
    (void)state;
    fixture f;
    make(&f, 4, 2, 8000 * MB);
    ek_memory literal;
    make_memory(&literal, 4, 9000 * MB);
    snprintf(f.job.reading, sizeof f.job.reading, "A key stands twice.");
    f.memory.n_layer_kinds = 2;
    f.memory.layer_kind[1] = (ek_memory_layer){"prediction", 700 * MB, {210 * MB, 0, 0, 150 * MB, 9 * MB}, {3 * MB}};
    static const ek_memory_time time[] = {
        {"embedding", {.forward = 0.5, .backward = {1.5, 1.5, 1.5, 1.5, 2}, .weight = 0.25}},
        {"decoder", {.forward = 2, .backward = {4, 4.5, 4.25, 4.75, 6}, .weight = 1.75}}};
    ek_kept_tensor tensor[] = {{.name = "w1 output",
                                .maker = "feed_forward.w1",
                                .reader = "feed_forward.mul",
                                .n_readers = 2,
                                .n_dims = 3,
                                .dim = {1, 4096, 3584},
                                .dtype = EK_BF16,
                                .bytes = 28 * MB,
                                .kept = {true, false, true, false, false},
                                .n_patterns = 2,
                                .pattern = {"feed_forward\\.w1", "ffn_norm"},
                                .pattern_kind = EK_PATTERN_SELECT,
                                .pattern_saves = 20 * MB},
                               {.name = "input",
                                .reader = "norm",
                                .n_readers = 1,
                                .for_recompute = true,
                                .bytes = 8 * MB,
                                .kept = {true, true, true, true, true}}};
    const ek_kept kept = {"decoder", 36 * MB, 2, tensor};
    ek_set_pattern pattern[] = {{"feed_forward\\.mul", EK_PATTERN_SELECT}, {"norm", EK_PATTERN_COMM}};
    ek_recompute_set set[] = {{1, pattern, {172 * MB}, {0.125}, 172, 28, 0.125, 224, true, true},
                              {2, pattern, {150 * MB}, {0.5}, 150, 50, 0.5, 100, false, false}};
    const ek_recompute_set_list worth = {.n_kinds = 1,
                                         .kind = {{"decoder", 24}},
                                         .nothing = {.kept_mb = 200, .hull = true},
                                         .full = {.kept_mb = 8, .saved_mb = 192, .extra_ms = 2, .saved_mb_per_ms = 96},
                                         .n = 2,
                                         .set = set,
                                         .gap_ms = 0.0625};
    const ek_mitigation measure[] = {{.name = "recompute SiLU",
                                      .setting = "select_recompute: True",
                                      .possible = true,
                                      .saved_mb = 1234.5,
                                      .after_mb = 7465.5,
                                      .fits = true,
                                      .step_change = 0.021,
                                      .relieved = "recompute: [0, 1]",
                                      .relieved_change = 0.0125,
                                      .relieved_mb = 7900},
                                     {.name = "less",
                                      .setting = "less: 1",
                                      .possible = true,
                                      .saved_mb = 100,
                                      .after_mb = 8600,
                                      .step_change = -0.01},
                                     {.name = "more data parallel", .why = "there is one device", .step_change = NAN}};
    const ek_memory_peak peak[] = {{.stage = 0, .mb = 2000}, {.stage = 3, .mb = 8000}};
    const double predicted[] = {2100, 7920};
    const bool fitted[] = {true, false};
    const ek_memory_fit_result fit = {.n_knobs = 1,
                                      .knob = {"constant_mb"},
                                      .value = {123.5},
                                      .before = {0.1, 0.2, -0.1, 3},
                                      .after = {0.01, 0.02, 0.005, 2},
                                      .left_out = {0.03, 0.04, 0.015, 1}};
    const ek_memory_error judged = {0.05, 0.06, -0.025, 4};
    const ek_memory_calibration calibration = {&fit, true, 2, peak, fitted, predicted, &judged, NULL};
    const ek_memory_assumption assumption = {"loss_fused", "yes", "no", true, 3, 8700, 7900};
    const ek_error warning = {.file = "job.yaml", .line = 3, .column = 5, .message = "a key that is not known"};
    ek_memory_moment moment[12];
    int64_t whole[4];
    const ek_memory_course course = course_of(4, moment, whole);
    f.report = (ek_memory_report){.job = &f.job,
                                  .memory = &f.memory,
                                  .literal = &literal,
                                  .n_warnings = 1,
                                  .warning = &warning,
                                  .device = ek_device_find("910B"),
                                  .n_times = 2,
                                  .time = time,
                                  .n_measures = 3,
                                  .measure = measure,
                                  .n_kept = 1,
                                  .kept = &kept,
                                  .worth = &worth,
                                  .calibration = &calibration,
                                  .course = &course,
                                  .n_assumptions = 1,
                                  .assumption = &assumption,
                                  .stage = -1};
    static const struct {
        const char *golden;
        writer *write;
    } forms[] = {{"memory.txt", ek__memory_write_text},
                 {"memory.json", ek__memory_write_json},
                 {"memory.csv", ek__memory_write_csv},
                 {"memory_all.svg", ek__memory_write_svg}};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        char *text = written(forms[i].write, &f.report);
        assert_golden(forms[i].golden, text);
        free(text);
    }
    const ek_view_run run = {.name = "memory", .memory = &f.report};
    assert_golden_page("memory_page.json", &run);
    free(literal.stage);
    clear(&f);
}

/* ---- logs ---- */

static void a_log_is_read_back_to_the_same_peaks(void **state)
{
    (void)state;
    fixture f;
    ek_error err;
    ek_log log;
    char path[] = "/tmp/evenkeel_log_XXXXXX", name[64];
    make(&f, 4, 2, 59392 * MB);
    FILE *out = fdopen(mkstemp(path), "w");
    assert_int_equal(ek_memory_write_log(&f.memory, 2, 0, out, &err), EK_OK);
    fclose(out);
    size_t size;
    char *text = slurp(path, &size);
    assert_string_equal(text, "Device MOC memory size: 65536M\nMindSpore Used memory size: 59392M\n"
                              "MindSpore memory base address: 0\n"
                              "Used peak memory usage (without fragments): 6300M\n"
                              "Actual peak memory usage (with fragments): 6600M\n");
    free(text);
    assert_int_equal(ek_log_read(path, &log, &err), EK_OK);
    unlink(path);
    assert_close_to(log.used_mb, 6300, 0);
    assert_close_to(log.actual_mb, 6600, 0);
    assert_close_to(log.device_mb, 65536, 0);
    assert_close_to(log.framework_mb, 59392, 0);
    ek_memory_log_name(&f.job, 3, name, sizeof name);
    assert_string_equal(name, "stage_3_rank_24/mindformer.log");
    clear(&f);
}

/* ---- pictures ---- */

static int count(const char *text, const char *part)
{
    int n = 0;
    for (const char *at = text; (at = strstr(at, part)); at += strlen(part))
        n++;
    return n;
}

static double attribute(const char *element, const char *name)
{
    const char *at = strstr(element, name);
    assert_non_null(at);
    return strtod(at + strlen(name), NULL);
}

static const char *last_of(const char *text, const char *part)
{
    const char *last = NULL;
    for (const char *at = text; (at = strstr(at, part)); at++)
        last = at;
    assert_non_null(last);
    return last;
}

/* No text may leave the page, whatever the face. */
static void check_texts(const char *svg)
{
    char text[512];
    for (const char *at = svg; (at = strstr(at, "<text ")); at++) {
        const char *from = strchr(at, '>') + 1;
        snprintf(text, sizeof text, "%.*s", (int)strcspn(from, "<"), from);
        double x = attribute(at, " x=\""), size = attribute(at, "font-size=\"");
        bool bold = strncmp(at + 13, "h\"", 2) == 0 || strncmp(at + 13, "bad\"", 4) == 0;
        double width = ek__svg_text_width(text, size, bold);
        bool end = strncmp(from - 6, "\"end\"", 5) == 0, middle = strncmp(from - 9, "\"middle\"", 8) == 0;
        double left = end ? x - width : middle ? x - width / 2 : x;
        if (left < 0 || left + width > EK__PAGE)
            fail_msg("'%s' spans %g to %g", text, left, left + width);
    }
}

static void pictures_hold_every_stage(void **state)
{
    (void)state;
    static const int stages[] = {1, 4, 16, 128, 1024};
    for (size_t i = 0; i < sizeof stages / sizeof *stages; i++)
        for (int limit = 0; limit < 3; limit++) {
            fixture f;
            make(&f, stages[i], 1, limit == 0 ? 0 : limit == 1 ? 1000 * MB : INT64_C(3000000) * MB);
            char *svg = written(ek__memory_write_svg, &f.report);
            assert_int_equal(count(svg, "<g><title>stage "), stages[i]);
            assert_int_equal(count(svg, "<g>"), count(svg, "</g>"));
            assert_int_equal(count(svg, "<text "), count(svg, "</text>"));
            assert_int_equal(count(svg, "class=\"fragment\" x"),
                             stages[i] + 1); /* and the legend's, unless too narrow */
            assert_int_equal(count(svg, "class=\"limit\""), limit == 0 ? 0 : 2);
            assert_null(strstr(svg, "nan"));
            assert_null(strstr(svg, "inf"));
            assert_has(svg, "llama &lt;by hand&gt;");
            check_texts(svg);
            free(svg);
            clear(&f);
        }
}

/* Stages of 2400 and 4500 MB and a bit: below a limit, and without one. */
static void pictures_match_golden(void **state)
{
    (void)state;
    for (int limited = 0; limited < 2; limited++) {
        fixture f;
        make(&f, 2, 1, limited ? 5000 * MB : 0);
        char *svg = written(ek__memory_write_svg, &f.report);
        assert_golden(limited ? "memory_limit.svg" : "memory.svg", svg);
        free(svg);
        clear(&f);
    }
}

/* The limit is drawn where a bar of its length would end. */
static void a_bar_is_as_long_as_its_peak(void **state)
{
    (void)state;
    fixture f;
    make(&f, 2, 1, 0);
    f.memory.limit = f.memory.stage[1].actual_peak;
    char *svg = written(ek__memory_write_svg, &f.report);
    const char *bar = last_of(svg, "class=\"fragment\" x=\""), *limit = last_of(svg, "class=\"limit\" d=\"M");
    assert_close_to(attribute(bar, " x=\"") + attribute(bar, "width=\""), attribute(limit, "d=\"M"), 0.02);
    free(svg);
    clear(&f);
}

/* ---- rules ---- */

static void rules_that_are_changed_are_marked(void **state)
{
    (void)state;
    ek_error err;
    char *text = NULL;
    size_t size;
    ek_rules rules = ek_rules_default(EK_MINDFORMERS);
    assert_int_equal(ek_rules_set(&rules, "loss_buffers=6", &err), EK_OK);
    FILE *out = open_memstream(&text, &size);
    assert_int_equal(ek__memory_write_rules(&rules, EK_MINDFORMERS, out, &err), EK_OK);
    fclose(out);
    assert_has(text, "\n* loss_buffers           6            changed");
    assert_int_equal(count(text, "\n* "), 1);
    for (int i = 0; ek_rule_names[i]; i++)
        assert_has(text, ek_rule_names[i]);
    free(text);
}

/* ---- saved activations of a layer ---- */

/* A_none of docs/models.md for the job above. */
static int64_t kept_by_formula(const ek_job *job)
{
    const ek_job_model *m = &job->model;
    int64_t T = job->parallel.seq_length, t = job->parallel.tensor, Ts = T / t, H = m->hidden, I = m->intermediate;
    int64_t K = (int64_t)m->n_kv_heads * m->head_dim, c = 2;
    return c * (2 * Ts * H + 2 * T * H + T * (3 * H + 2 * K) / t + 4 * T * I / t) + 64 * (m->n_heads / t) * T + 8 * Ts;
}

static const ek_kept *find_kept(const ek_kept *kept, int n, const char *tensor, const ek_kept_tensor **out)
{
    for (int i = 0; i < n; i++)
        for (int k = 0; k < kept[i].n; k++)
            if (strstr(kept[i].tensor[k].maker, tensor)) {
                *out = &kept[i].tensor[k];
                return &kept[i];
            }
    fail_msg("nothing is made by %s", tensor);
    return NULL;
}

static void kept_tensors_add_up_to_the_closed_form(void **state)
{
    (void)state;
    ek_job job;
    ek_error err;
    ek_kept kept[EK_MAX_KEPT];
    const ek_kept_tensor *tensor;
    int n = 0;
    make_job(&job, 4, 2);
    assert_int_equal(ek_memory_kept(&job, kept, &n, &err), EK_OK);
    const ek_kept *decoder = find_kept(kept, n, "feed_forward.mul", &tensor);
    int64_t sum = 0;
    for (int i = 0; i < decoder->n; i++) {
        sum += decoder->tensor[i].bytes;
        if (i > 0)
            assert_true(decoder->tensor[i - 1].bytes >= decoder->tensor[i].bytes);
        assert_true(decoder->tensor[i].n_readers > 0);
    }
    assert_int_equal(sum, decoder->bytes);
    assert_int_equal(decoder->bytes, kept_by_formula(&job));
    /* The product of SiLU and gate: c T I / t, gone with its own pattern and nothing kept instead. */
    assert_int_equal(tensor->bytes, INT64_C(2) * 4096 * 14336 / 4);
    assert_int_equal(tensor->n_patterns, 1);
    assert_string_equal(tensor->pattern[0], "feed_forward\\.mul");
    assert_int_equal(tensor->pattern_saves, tensor->bytes);
    assert_true(tensor->kept[EK_RECOMPUTE_NONE]);
    assert_false(tensor->kept[EK_RECOMPUTE_FULL]);
    for (int i = 0; i < n; i++)
        ek_kept_clear(&kept[i]);
    ek_job_clear(&job);
}

/* Every offered pattern, set in the job as a user would, saves the reported memory. */
static void offered_patterns_keep_their_promise(void **state)
{
    (void)state;
    ek_job job;
    ek_error err;
    ek_kept kept[EK_MAX_KEPT], again[EK_MAX_KEPT];
    const ek_kept_tensor *tensor;
    int n = 0, n_again = 0, offered = 0;
    make_job(&job, 4, 2);
    job.parallel.fine_grain = 1; /* reshapes come in, so that some patterns take others */
    assert_int_equal(ek_memory_kept(&job, kept, &n, &err), EK_OK);
    const ek_kept *decoder = find_kept(kept, n, "feed_forward.mul", &tensor);
    for (int i = 0; i < decoder->n; i++) {
        const ek_kept_tensor *t = &decoder->tensor[i];
        if (t->n_patterns == 0)
            continue;
        offered++;
        ek_job with;
        make_job(&with, 4, 2);
        with.parallel.fine_grain = 1;
        for (int k = 0; k < t->n_patterns; k++)
            assert_int_equal(
                ek__job_add_pattern(&with, t->pattern[k], t->pattern_kind, NULL, false, (ek_origin){0}, &err), EK_OK);
        assert_int_equal(ek_memory_kept(&with, again, &n_again, &err), EK_OK);
        int kind = t->pattern_kind == EK_PATTERN_COMM ? EK_RECOMPUTE_COMM : EK_RECOMPUTE_SELECT;
        int64_t bytes = 0;
        for (int k = 0; k < EK_MAX_KEPT; k++)
            if (k < n_again && strcmp(again[k].name, decoder->name) == 0) {
                ek__graph *graph = ek__alloc(1, sizeof *graph);
                bool recomputed[EK__MAX_OPS], left[EK__MAX_TENSORS];
                ek__graph_build(&with, EK__GRAPH_DENSE, graph);
                ek__graph_recomputed(&with, graph, (ek__recompute){.patterns = (UINT64_C(1) << with.n_patterns) - 1},
                                     recomputed);
                bytes = ek__graph_keep(graph, recomputed, left);
                for (int q = 0; q < again[k].n; q++)
                    if (strcmp(again[k].tensor[q].name, t->name) == 0 &&
                        strcmp(again[k].tensor[q].maker, t->maker) == 0)
                        assert_false(again[k].tensor[q].kept[kind]);
                free(graph);
            }
        assert_int_equal(decoder->bytes - bytes, t->pattern_saves);
        for (int k = 0; k < n_again; k++)
            ek_kept_clear(&again[k]);
        ek_job_clear(&with);
    }
    assert_true(offered >= 5);
    for (int i = 0; i < n; i++)
        ek_kept_clear(&kept[i]);
    ek_job_clear(&job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_verdict_comes_first_and_is_right),
        cmocka_unit_test(text_tells_mixes_places_and_tensors),
        cmocka_unit_test(both_readings_stand_side_by_side),
        cmocka_unit_test(a_peaks_layer_is_found_in_the_model),
        cmocka_unit_test(json_holds_every_figure),
        cmocka_unit_test(json_is_what_its_description_says),
        cmocka_unit_test(json_is_valid_whatever_the_texts),
        cmocka_unit_test(measures_and_calibration_are_told),
        cmocka_unit_test(every_row_of_the_table_is_whole),
        cmocka_unit_test(all_there_is_matches_golden),
        cmocka_unit_test(a_log_is_read_back_to_the_same_peaks),
        cmocka_unit_test(pictures_hold_every_stage),
        cmocka_unit_test(pictures_match_golden),
        cmocka_unit_test(a_bar_is_as_long_as_its_peak),
        cmocka_unit_test(rules_that_are_changed_are_marked),
        cmocka_unit_test(kept_tensors_add_up_to_the_closed_form),
        cmocka_unit_test(offered_patterns_keep_their_promise),
    };
    return cmocka_run_group_tests_name("memory reports", tests, NULL, NULL);
}
