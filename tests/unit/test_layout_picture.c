/* Tests pictures of layouts: the front against all pairs, thinning that loses no conclusion, a step simulated block by
 * block against the predicted step, the SVG of figures made by hand, and the document of a page against its search. */
#include "assert_close.h"
#include "base/random.h"
#include "evenkeel/layout_picture.h"
#include "evenkeel/view.h"
#include "golden_page.h"
#include "layout/points.h"
#include "report/writers.h"
#include "report_fixture.h"
#include "view/view.h"
#include <jansson.h>
#include <math.h>
#include <zlib.h>

/* ---- points made by chance ---- */

/* Few values, so that many are equal. A found plan is above its bounds, or at them. */
static ek_layout_point *random_points(uint64_t seed, long n, int n_values)
{
    ek__random r = ek__random_seed(seed);
    ek_layout_point *point = calloc((size_t)n + 1, sizeof *point);
    assert_non_null(point);
    for (long i = 0; i < n; i++) {
        ek_layout_point *p = &point[i];
        p->layout.value[0] = (int)i;
        p->least_seconds = 1 + (float)ek__random_below(&r, n_values) / 8;
        p->least_mb = 1000 * (1 + (float)ek__random_below(&r, n_values));
        p->found = ek__random_below(&r, 4) == 0;
        p->fate = p->found ? EK_FATE_BALANCED : ek__random_below(&r, 4) == 0 ? EK_FATE_MEMORY : EK_FATE_BOUND;
        p->seconds = p->least_seconds + (p->found ? (float)ek__random_below(&r, 2) / 4 : 0);
        p->peak_mb = p->least_mb + (p->found ? 500.0F * (float)ek__random_below(&r, 3) : 0);
    }
    return point;
}

static bool is_below(double mb, double seconds, double of_mb, double of_seconds)
{
    return mb <= of_mb && seconds <= of_seconds && (mb < of_mb || seconds < of_seconds);
}

/* On the front: below it is none, and of equal ones it is the first. */
static bool on_front(const ek_layout_point *point, long n, long i, bool bounds)
{
    for (long j = 0; j < n; j++) {
        if (bounds ? point[j].fate == EK_FATE_MEMORY : !point[j].found)
            continue;
        double mb = bounds ? point[j].least_mb : point[j].peak_mb,
               own_mb = bounds ? point[i].least_mb : point[i].peak_mb;
        double s = bounds ? point[j].least_seconds : point[j].seconds,
               own = bounds ? point[i].least_seconds : point[i].seconds;
        if (is_below(mb, s, own_mb, own) || (j < i && mb == own_mb && s == own))
            return false;
    }
    return bounds ? point[i].fate != EK_FATE_MEMORY : point[i].found;
}

static bool none_can_beat(const ek_layout_point *point, long n, long i)
{
    for (long j = 0; j < n; j++)
        if (j != i && point[j].fate != EK_FATE_MEMORY && point[j].least_mb < point[i].peak_mb &&
            point[j].least_seconds < point[i].seconds)
            return false;
    return true;
}

static void fronts_are_those_of_all_pairs(void **state)
{
    (void)state;
    int n_proved = 0, n_open = 0;
    for (uint64_t seed = 1; seed <= 300; seed++) {
        long n = (long)(seed % 60);
        ek_layout_point *point = random_points(seed, n, seed % 2 ? 5 : 40);
        for (int bounds = 0; bounds < 2; bounds++) {
            ek_layout_front front;
            ek_error err;
            long expected = 0;
            assert_int_equal((bounds ? ek_layout_front_of_bounds : ek_layout_front_of_plans)(point, n, &front, &err),
                             EK_OK);
            for (long i = 0; i < n; i++)
                expected += on_front(point, n, i, bounds);
            assert_int_equal(front.n, expected);
            for (long k = 0; k < front.n; k++) {
                assert_true(on_front(point, n, front.at[k], bounds));
                assert_int_equal(front.proved[k], bounds || none_can_beat(point, n, front.at[k]));
                n_proved += !bounds && front.proved[k];
                n_open += !front.proved[k];
            }
            ek_layout_front_clear(&front);
        }
        free(point);
    }
    assert_true(n_proved > 50 && n_open > 50);
}

/* The front of the bounds as figures, since of equal ones another may stay. */
static size_t front_figures(const ek_layout_point *point, long n, float *out)
{
    ek_layout_front front;
    ek_error err;
    assert_int_equal(ek_layout_front_of_bounds(point, n, &front, &err), EK_OK);
    size_t size = (size_t)front.n;
    for (size_t i = 0; i < size && i < 1000; i++) {
        out[2 * i] = point[front.at[i]].least_mb;
        out[2 * i + 1] = point[front.at[i]].least_seconds;
    }
    ek_layout_front_clear(&front);
    return size;
}

static void thinning_loses_no_plan_and_no_front(void **state)
{
    (void)state;
    static float before[2000], after[2000];
    for (uint64_t seed = 1; seed <= 6; seed++) {
        long n = 30000, kept = n, at = 0, n_found = 0;
        ek_layout_point *all = random_points(seed, n, 20000), *point = calloc((size_t)n, sizeof *point);
        ek_error err;
        for (long i = 0; i < n; i++) /* few plans, as a search has */
            if (i % 50 && all[i].found)
                all[i] = (ek_layout_point){.layout = all[i].layout,
                                           .fate = EK_FATE_BOUND,
                                           .seconds = all[i].seconds,
                                           .peak_mb = all[i].peak_mb,
                                           .least_seconds = all[i].seconds,
                                           .least_mb = all[i].peak_mb};
        for (long i = 0; i < n; i += 40) { /* a front with several in a cell */
            float share = (float)i / (float)n, seconds = 0.01F * expf(8 * share), mb = 500 * expf(-6 * share);
            all[i] = (ek_layout_point){.layout = all[i].layout,
                                       .fate = EK_FATE_BOUND,
                                       .seconds = seconds,
                                       .peak_mb = mb,
                                       .least_seconds = seconds,
                                       .least_mb = mb};
        }
        memcpy(point, all, (size_t)n * sizeof *point);
        assert_int_equal(ek__layout_thin(point, &kept, 5000, &err), EK_OK);
        size_t n_front = front_figures(all, n, before);
        assert_true(kept <= 5000 + (long)n_front && kept > 1000);
        for (long i = 0; i < n; i++) { /* the rest is in order and unchanged, and has all plans */
            bool stays = at < kept && point[at].layout.value[0] == all[i].layout.value[0];
            if (stays)
                assert_memory_equal(&point[at++], &all[i], sizeof *point);
            assert_true(stays || !all[i].found);
            n_found += all[i].found;
        }
        assert_int_equal(at, kept);
        assert_true(n_found > 50 && n_front > 500 && n_front < 1000);
        assert_int_equal(front_figures(point, kept, after), n_front);
        assert_memory_equal(before, after, 2 * n_front * sizeof *before);
        /* Repeating it gives the same, whatever follows them, such as one that would replace another. */
        long again = n, memory = 0;
        ek_layout_point *other = calloc((size_t)n + 1, sizeof *other);
        memcpy(other, all, (size_t)n * sizeof *other);
        while (memory < kept && (point[memory].found || point[memory].fate != EK_FATE_MEMORY))
            memory++;
        assert_true(memory < kept);
        other[n] = point[memory];
        other[n].least_seconds *= 1 - 1e-6F;
        assert_int_equal(ek__layout_thin(other, &again, 5000, &err), EK_OK);
        assert_int_equal(again, kept);
        assert_memory_equal(other, point, (size_t)kept * sizeof *point);
        free(other);
        free(all);
        free(point);
    }
}

static void few_points_are_not_thinned(void **state)
{
    (void)state;
    ek_layout_point *point = random_points(3, 500, 50);
    long n = 500;
    ek_error err;
    assert_int_equal(ek__layout_thin(point, &n, 500, &err), EK_OK);
    assert_int_equal(n, 500);
    free(point);
}

/* ---- a search ---- */

typedef struct searched {
    ek_job job;
    ek_layout_result result;
} searched;

static searched found; /* of the first test that needs it, and all after it */

static int search(void **state)
{
    (void)state;
    if (found.job.path)
        return 0;
    char path[1024];
    ek_error err;
    const char *root = getenv("EK_SOURCE_ROOT");
    const ek_device *device = ek_device_find("910B");
    ek_layout_options options;
    snprintf(path, sizeof path, "%s/examples/llama2_13b_3_select.yaml", root ? root : ".");
    if (ek_job_read(path, NULL, NULL, &found.job, &err) || !device)
        return -1;
    ek_memory_limit_by_device(&found.job, device);
    ek_layout_options_init(&options);
    options.n_devices = 16;
    options.n_best = 4;
    options.n_threads = 2;
    options.time_limit = 300;
    options.range[EK_AXIS_CHUNKS] = (ek_layout_range){1, 1};
    options.range[EK_AXIS_BATCH] = (ek_layout_range){1, 2};
    return ek_layout_search(&found.job, device, &options, &found.result, &err) ? -1 : 0;
}

static int clear_search(void **state)
{
    (void)state;
    ek_layout_result_clear(&found.result);
    ek_job_clear(&found.job);
    return 0;
}

static double peak_of(const ek_layout_plan *plan)
{
    const ek_memory *m = &plan->estimate.memory;
    return (double)m->stage[m->fullest].actual_peak / (1 << 20);
}

static void points_are_the_layouts_of_the_search(void **state)
{
    (void)state;
    const ek_layout_result *r = &found.result;
    long fate[EK_N_LAYOUT_FATES] = {0}, n_found = 0;
    assert_int_equal(r->n_plans, 4);
    for (long i = 0; i < r->n_points; i++) {
        const ek_layout_point *p = &r->point[i];
        fate[p->fate]++;
        n_found += p->found;
        assert_true(p->least_seconds <= p->seconds && p->least_mb <= p->peak_mb && p->least_mb > 0);
        if (p->fate == EK_FATE_MEMORY)
            assert_true(p->least_mb > found.job.limit_mb);
        if (p->found)
            assert_true(p->peak_mb <= found.job.limit_mb);
    }
    assert_int_equal(fate[EK_FATE_PLAN], r->n_plans);
    assert_int_equal(fate[EK_FATE_MEMORY], r->counts.fate[EK_FATE_MEMORY]);
    assert_int_equal(fate[EK_FATE_BOUND], r->counts.fate[EK_FATE_BOUND]);
    assert_int_equal(fate[EK_FATE_BALANCED], r->counts.fate[EK_FATE_BALANCED]);
    assert_int_equal(r->n_points, r->counts.bounded - r->counts.fate[EK_FATE_NO_PLAN]);
    assert_true(n_found >= r->n_plans);
    for (int k = 0; k < r->n_plans; k++) {
        long at = 0;
        while (at < r->n_points && !ek_layout_equal(&r->point[at].layout, &r->plan[k].layout))
            at++;
        assert_true(at < r->n_points && r->point[at].fate == EK_FATE_PLAN && r->point[at].found);
        assert_close_to(r->point[at].seconds, r->plan[k].estimate.step.seconds,
                        1e-6 * r->plan[k].estimate.step.seconds);
        assert_close_to(r->point[at].peak_mb, peak_of(&r->plan[k]), 1e-6 * peak_of(&r->plan[k]));
    }
}

/* Of a stage: its blocks have the times of ek_cost_step(), one after the other; tails end the step. */
static void check_run(const ek_job *job, const ek_device *device)
{
    ek_step step;
    ek_step_run run;
    ek_error err;
    double end = 0;
    assert_int_equal(ek_cost_step(job, device, NULL, &step, &err), EK_OK);
    assert_int_equal(ek_cost_step_run(job, device, NULL, &run, &err), EK_OK);
    assert_true(run.seconds == step.seconds);
    assert_int_equal(run.pipeline.shape.n_stages, step.n_stages);
    for (int s = 0; s < step.n_stages; s++) {
        const ek_step_tail *tail = &run.tail[s];
        double busy = 0, clock = 0, expected = 0;
        for (size_t k = run.pipeline.first[s]; k < run.pipeline.first[s + 1]; k++) {
            const ek_interval *b = &run.pipeline.block[k];
            assert_true(b->start >= clock - 1e-12 && b->end > b->start);
            busy += b->end - b->start;
            clock = b->end;
        }
        for (int i = 0; i < EK_N_STEP_PARTS; i++)
            if (i != EK_STEP_BUBBLE && i != EK_STEP_P2P && i != EK_STEP_HOST && i != EK_STEP_INPUT &&
                i != EK_STEP_OPTIMIZER && i != EK_STEP_DATA)
                expected += step.stage[s].seconds[i];
        /* The cost of launches is in the blocks, and of the host's part all except the time once a step. */
        expected += step.stage[s].seconds[EK_STEP_HOST] - device->host.step_us * 1e-6;
        expected += step.stage[s].seconds[EK_STEP_DATA] - (tail->gradients - tail->blocks) -
                    (tail->weights - tail->update) - device->jitter;
        assert_close_to(run.repeats * busy, expected, 1e-6 * step.seconds);
        assert_close_to(tail->blocks, run.repeats * clock, 1e-9 * step.seconds);
        assert_close_to(tail->update - tail->barrier, step.stage[s].seconds[EK_STEP_OPTIMIZER], 1e-9 * step.seconds);
        assert_true(tail->blocks <= tail->gradients && tail->gradients <= tail->barrier + 1e-12 &&
                    tail->barrier <= tail->update && tail->update <= tail->weights);
        end = fmax(end, tail->weights);
    }
    assert_close_to(step.seconds - end, device->host.step_us * 1e-6,
                    1e-9 * step.seconds); /* no jitter, no input on it */
    ek_step_run_clear(&run);
    ek_step_clear(&step);
}

/* ---- the page ---- */

/* The bytes of a base64 of zlib; to free. */
static unsigned char *unpacked(const char *text, uLongf n)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    size_t length = strlen(text), size = 0;
    unsigned char *zipped = malloc(length), *out = malloc(n + 1);
    uint32_t group = 0;
    for (size_t i = 0; i < length; i++) {
        const char *digit = strchr(digits, text[i]);
        group = group << 6 | (text[i] == '=' ? 0 : (uint32_t)(digit - digits));
        for (int k = 2; i % 4 == 3 && k >= 0; k--)
            zipped[size++] = (unsigned char)(group >> 8 * k);
    }
    uLongf got = n + 1;
    assert_int_equal(uncompress(out, &got, zipped, (uLong)size), Z_OK);
    assert_int_equal(got, n);
    free(zipped);
    return out;
}

static double real_at(const unsigned char *bytes, size_t n, size_t i)
{
    uint64_t bits = 0;
    double value;
    for (size_t b = 0; b < 8; b++)
        bits |= (uint64_t)bytes[b * n + i] << 8 * b;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static uint32_t number_at(const unsigned char *bytes, size_t i)
{
    return (uint32_t)bytes[4 * i] | (uint32_t)bytes[4 * i + 1] << 8 | (uint32_t)bytes[4 * i + 2] << 16 |
           (uint32_t)bytes[4 * i + 3] << 24;
}

static json_t *document_of(const ek_view_run *runs, int n_runs)
{
    char *text = NULL;
    size_t size = 0;
    ek_error err;
    json_error_t problem;
    const ek_view view = {.title = "layouts", .n_runs = n_runs, .run = runs};
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    ek_status status = ek__view_write_json(&view, out, &err);
    assert_int_equal(fclose(out), 0);
    if (status)
        fail_msg("%s", err.message);
    json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, &problem);
    free(text);
    if (!root)
        fail_msg("%d: %s", problem.line, problem.text);
    return root;
}

static const json_t *run_at(const json_t *root, size_t i)
{
    return json_array_get(json_object_get(root, "runs"), i);
}

/* The timeline of one stage has its micro-batches as often as they are accumulated, up to the end of the step. */
static void check_repeats(const ek_job *job, const ek_device *device)
{
    ek_step_run run;
    ek_memory_course memory;
    ek_error err;
    assert_int_equal(ek_cost_step_run(job, device, NULL, &run, &err), EK_OK);
    assert_int_equal(ek_memory_course_of(job, &memory, &err), EK_OK);
    assert_true(run.repeats > 1);
    const ek_view_step step = {job, &run, &memory};
    const ek_view_run view = {.name = "one stage", .step = &step};
    json_t *root = document_of(&view, 1);
    const json_t *timeline = json_object_get(run_at(root, 0), "timeline");
    json_int_t n = json_integer_value(json_array_get(json_object_get(timeline, "row_events"), 0));
    json_int_t blocks = (json_int_t)run.pipeline.n_blocks * run.repeats;
    assert_in_range(n, blocks + 1, blocks + 3);
    assert_close_to(json_number_value(json_object_get(timeline, "end")), 1e9 * run.seconds, 1);
    json_decref(root);
    ek_memory_course_clear(&memory);
    ek_step_run_clear(&run);
}

static void a_step_runs_as_long_as_it_takes(void **state)
{
    (void)state;
    const ek_layout_result *r = &found.result;
    assert_true(r->device->jitter == 0 && !(r->device->input_gbs > 0));
    for (int k = 0; k < r->n_plans; k++)
        check_run(&r->plan[k].job, r->device);
    /* One stage with accumulated micro-batches. */
    ek_layout one = r->plan[0].layout;
    ek_job job;
    ek_error err;
    one.value[EK_AXIS_PIPELINE] = 1;
    one.value[EK_AXIS_DATA] = 16;
    one.value[EK_AXIS_SHARD] = 16;
    one.n_micro_batches = r->plan[0].layout.n_micro_batches * r->plan[0].layout.value[EK_AXIS_DATA] / 16;
    assert_int_equal(ek_layout_job(&found.job, &one, &job, &err), EK_OK);
    check_run(&job, r->device);
    check_repeats(&job, r->device);
    ek_job_clear(&job);
}

static const json_t *section_of(const json_t *run, const char *name)
{
    size_t i;
    const json_t *one;
    json_array_foreach(json_object_get(run, "sections"), i,
                       one) if (strcmp(json_string_value(json_object_get(one, "name")), name) == 0) return one;
    fail_msg("no section %s", name);
    return NULL;
}

static void check_columns(const ek_layout_result *r, const json_t *space)
{
    size_t n = (size_t)r->n_points;
    assert_int_equal(json_integer_value(json_object_get(space, "n")), n);
    unsigned char *bytes =
        unpacked(json_string_value(json_object_get(space, "data")), (uLongf)(n * (32 + 4 * (EK_N_LAYOUT_AXES + 5))));
    for (size_t i = 0; i < n; i++) {
        const ek_layout_point *p = &r->point[i];
        const unsigned char *numbers = bytes + 32 * n;
        assert_true(real_at(bytes, n, i) == p->seconds && real_at(bytes + 8 * n, n, i) == p->peak_mb);
        assert_true(real_at(bytes + 16 * n, n, i) == p->least_seconds && real_at(bytes + 24 * n, n, i) == p->least_mb);
        for (size_t k = 0; k < EK_N_LAYOUT_AXES; k++)
            assert_int_equal(number_at(numbers + 4 * n * k, i), p->layout.value[k]);
        numbers += 4 * n * EK_N_LAYOUT_AXES;
        assert_int_equal(number_at(numbers, i), p->layout.n_micro_batches);
        assert_int_equal(number_at(numbers + 4 * n, i), p->layout.sequence_parallel);
        const json_t *schedules = json_object_get(space, "schedules");
        assert_string_equal(json_string_value(json_array_get(schedules, number_at(numbers + 8 * n, i))),
                            p->layout.schedule->name);
        assert_int_equal(number_at(numbers + 12 * n, i), p->fate);
        assert_int_equal(number_at(numbers + 16 * n, i), p->found);
    }
    free(bytes);
}

static const json_t *table_of(const json_t *section, const char *id)
{
    size_t i;
    const json_t *one;
    json_array_foreach(json_object_get(section, "tables"), i,
                       one) if (strcmp(json_string_value(json_object_get(one, "id")), id) == 0) return one;
    fail_msg("no table %s", id);
    return NULL;
}

static const json_t *cell(const json_t *table, size_t row, const char *column)
{
    size_t i;
    const json_t *one;
    json_array_foreach(json_object_get(table, "columns"), i,
                       one) if (strcmp(json_string_value(json_object_get(one, "name")), column) ==
                                0) return json_array_get(json_array_get(json_object_get(table, "rows"), row), i);
    fail_msg("no column %s", column);
    return NULL;
}

static void check_plans(const json_t *root, const json_t *space)
{
    const ek_layout_result *r = &found.result;
    const json_t *table = table_of(section_of(run_at(root, 0), "plans"), "plans");
    for (int k = 0; k < r->n_plans; k++) {
        const ek_layout_plan *plan = &r->plan[k];
        const json_t *one = json_array_get(json_object_get(space, "plans"), (size_t)k);
        long at = (long)json_integer_value(json_object_get(one, "point"));
        assert_true(ek_layout_equal(&r->point[at].layout, &plan->layout));
        assert_close_to(json_number_value(cell(table, (size_t)k, "step")), 1e9 * plan->estimate.step.seconds, 1);
        assert_close_to(json_number_value(cell(table, (size_t)k, "peak")), peak_of(plan), 1e-6);
        assert_close_to(json_number_value(cell(table, (size_t)k, "mfu")), 100 * plan->estimate.metrics.mfu, 1e-9);
        /* Its run, with every block on its timeline, up to the step. */
        const json_t *run = run_at(root, (size_t)json_integer_value(json_object_get(one, "run")));
        const json_t *timeline = json_object_get(run, "timeline");
        size_t blocks = 2 * (size_t)plan->layout.value[EK_AXIS_PIPELINE] * (size_t)plan->layout.n_micro_batches, row;
        const json_t *n_events;
        size_t listed = 0;
        assert_string_equal(json_string_value(json_object_get(run, "name")),
                            json_string_value(cell(table, (size_t)k, "plan")));
        assert_close_to(json_number_value(json_object_get(timeline, "end")), 1e9 * plan->estimate.step.seconds, 1);
        json_array_foreach(json_object_get(timeline, "row_events"), row,
                           n_events) if (row < (size_t)plan->layout.value[EK_AXIS_PIPELINE]) listed +=
            (size_t)json_integer_value(n_events);
        assert_in_range(listed, blocks, blocks + 3 * (size_t)plan->layout.value[EK_AXIS_PIPELINE]);
        /* A curve a stage: its maximum is the stage's used peak, on some stage the least below the actual. */
        assert_int_equal(json_array_size(json_object_get(timeline, "curves")), plan->layout.value[EK_AXIS_PIPELINE]);
    }
}

static void the_page_has_what_the_search_found(void **state)
{
    (void)state;
    const ek_layout_result *r = &found.result;
    ek_layout_view pages;
    ek_layout_front front;
    ek_error err;
    assert_int_equal(ek_layout_view_of(r, &pages, &err), EK_OK);
    assert_int_equal(pages.n_runs, r->n_plans + 2); /* today's is for 16 devices, too */
    json_t *root = document_of(pages.run, pages.n_runs);
    const json_t *space = json_object_get(section_of(run_at(root, 0), "layouts"), "space");
    check_columns(r, space);
    check_plans(root, space);
    assert_int_equal(ek_layout_front_of_plans(r->point, r->n_points, &front, &err), EK_OK);
    const json_t *listed = json_object_get(space, "front");
    assert_int_equal(json_array_size(listed), front.n);
    for (long i = 0; i < front.n; i++) {
        const json_t *one = json_array_get(listed, (size_t)i);
        assert_int_equal(json_integer_value(json_object_get(one, "point")), front.at[i]);
        assert_int_equal(json_is_true(json_object_get(one, "proved")), front.proved[i]);
    }
    const json_t *today = json_object_get(space, "today");
    assert_close_to(json_number_value(json_object_get(today, "seconds")), r->today.estimate.step.seconds, 1e-9);
    assert_close_to(json_number_value(json_object_get(today, "mb")), peak_of(&r->today), 1e-6);
    assert_close_to(json_number_value(json_object_get(space, "limit_mb")), found.job.limit_mb, 1e-9);
    ek_layout_front_clear(&front);
    json_decref(root);
    ek_layout_view_clear(&pages);
}

/* ---- the picture ---- */

/* Plans of made-up figures: one stage, so that a memory is one number. */
typedef struct drawn {
    ek_layout_result result;
    ek_job job;
    ek_device device;
    ek_layout_plan plan[3];
    ek_memory_stage stage[4];
    ek_layout_point point[12];
} drawn;

static ek_layout layout_of(int data, int tensor, int pipeline)
{
    return (ek_layout){.value = {data, tensor, 1, 1, pipeline, 1, 1, data, 1},
                       .n_micro_batches = 8,
                       .schedule = ek_schedule_find("1f1b")};
}

static ek_layout_plan plan_of(ek_layout layout, double seconds, double mb, ek_memory_stage *stage)
{
    *stage = (ek_memory_stage){.used_peak = (int64_t)(mb * 1048576), .actual_peak = (int64_t)(mb * 1048576)};
    return (ek_layout_plan){
        .layout = layout,
        .estimate = {.step = {.seconds = seconds},
                     .metrics = {.tokens_per_second_per_device = 4096 / seconds, .mfu = 0.5 / seconds},
                     .memory = {.n_stages = 1, .stage = stage}}};
}

static void draw(drawn *d)
{
    static const double shape[12][4] = {/* tensor, pipeline, seconds, MB */
                                        {1, 2, 2, 49152},   {2, 2, 2.125, 40960}, {2, 4, 2.25, 45056},
                                        {4, 1, 2.5, 24576}, {4, 2, 3, 32768},     {8, 1, 4, 12288},
                                        {8, 2, 4.5, 14336}, {1, 1, 1.75, 65536},  {1, 4, 1.875, 61440},
                                        {2, 8, 6, 16384},   {4, 4, 250, 16384},   {8, 4, 5, 163840}};
    *d = (drawn){.job = {.limit_mb = 57344, .path = "job.yaml"}};
    snprintf(d->device.name, sizeof d->device.name, "A <fast> one");
    for (int i = 0; i < 12; i++) {
        bool plan = i < 3, balanced = i < 4;
        d->point[i] = (ek_layout_point){
            .layout = layout_of(32 / (int)(shape[i][0] * shape[i][1]), (int)shape[i][0], (int)shape[i][1]),
            .fate = plan                  ? EK_FATE_PLAN
                    : balanced            ? EK_FATE_BALANCED
                    : shape[i][3] > 57344 ? EK_FATE_MEMORY
                                          : EK_FATE_BOUND,
            .found = balanced,
            .seconds = (float)shape[i][2],
            .peak_mb = (float)shape[i][3],
            .least_seconds = (float)shape[i][2],
            .least_mb = (float)shape[i][3] - (balanced ? 8192 : 0)};
        if (plan)
            d->plan[i] = plan_of(d->point[i].layout, shape[i][2], shape[i][3], &d->stage[i]);
    }
    d->result = (ek_layout_result){.job = &d->job,
                                   .device = &d->device,
                                   .options = {.n_devices = 32},
                                   .n_plans = 3,
                                   .plan = d->plan,
                                   .proved = true,
                                   .counts = {.bounded = 12, .balanced = 4},
                                   .today = plan_of(layout_of(4, 8, 1), 3.5, 30720, &d->stage[3]),
                                   .n_points = 12,
                                   .point = d->point};
    d->result.today.job.path = d->job.path;
}

static char *svg_of(const ek_layout_result *result, ek_layout_axis color)
{
    char *text = NULL;
    size_t size = 0;
    ek_error err;
    FILE *out = open_memstream(&text, &size);
    assert_int_equal(ek__layout_write_svg(result, color, out, &err), EK_OK);
    assert_int_equal(fclose(out), 0);
    return text;
}

static int times(const char *text, const char *what)
{
    int n = 0;
    for (const char *at = text; (at = strstr(at, what)); at++)
        n++;
    return n;
}

static void the_picture_is_as_it_was(void **state)
{
    (void)state;
    static drawn d;
    draw(&d);
    char *text = svg_of(&d.result, EK_AXIS_TENSOR);
    assert_golden("layouts.svg", text);
    assert_non_null(strstr(text, "A &lt;fast&gt; one"));
    assert_non_null(strstr(text, ">limit 56 GB<"));
    assert_int_equal(times(text, "the job's own layout: step 3.500 s, 30 GB"), 1); /* not near the best */
    assert_int_equal(times(text, "<title>1: dp 16, pp 2"), 2);                     /* in both plots */
    assert_non_null(strstr(text, ">2 more need more memory"));                     /* 250 s, 160 GB */
    free(text);
    /* Another axis has other colours. */
    text = svg_of(&d.result, EK_AXIS_PIPELINE);
    assert_non_null(strstr(text, ">pp 8<"));
    assert_null(strstr(text, ">tp 8<"));
    free(text);
}

/* Today's job above the limit is drawn where it is, with room beside it. */
static void what_is_above_the_limit_is_in_the_picture(void **state)
{
    (void)state;
    static drawn d;
    draw(&d);
    d.stage[3].actual_peak = INT64_C(81920) << 20;
    char *text = svg_of(&d.result, EK_AXIS_TENSOR);
    assert_int_equal(times(text, "the job's own layout: step 3.500 s, 80 GB"), 1);
    assert_non_null(strstr(text, ">limit 56 GB<"));
    assert_non_null(strstr(text, ">100<")); /* a quarter more */
    free(text);
}

/* The same figures as a page, and each of its points, under one of two schedules. */
static void a_page_of_made_up_layouts_is_as_it_was(void **state)
{
    (void)state;
    static drawn d;
    static ek_step_stage step[4];
    draw(&d);
    for (int i = 0; i < 4; i++) { /* each part another share of the step */
        ek_step *of = i < 3 ? &d.plan[i].estimate.step : &d.result.today.estimate.step;
        of->n_stages = 1;
        of->stage = &step[i];
        for (int k = 0; k < EK_N_STEP_PARTS; k++)
            step[i].seconds[k] = of->seconds * (k + 1) / 128;
    }
    d.result.gap = 0.0625;
    d.result.proved = false;
    d.result.ended_early = true;
    d.result.counts = (ek_layout_counts){.bounded = 14, .balanced = 4, .fate = {3, 2, 1, 7, 1, 2, 5}};
    d.result.options.n_schedules = 2;
    d.result.options.schedule[0] = ek_schedule_find("1f1b");
    d.result.options.schedule[1] = ek_schedule_find("gpipe");
    for (int i = 0; i < 12; i++) {
        d.point[i].layout.sequence_parallel = i % 3 == 0;
        d.point[i].layout.n_micro_batches = 8 + i;
        d.point[i].layout.schedule = d.result.options.schedule[i % 2];
        if (i < 3)
            d.plan[i].layout = d.point[i].layout;
    }
    const ek_view_run run = {.name = "layouts", .layout = &d.result};
    json_t *root = document_of(&run, 1);
    check_columns(&d.result, json_object_get(section_of(run_at(root, 0), "layouts"), "space"));
    assert_golden_document("layout_page.json", root);
    json_decref(root);
}

static void nothing_that_fits_is_drawn_too(void **state)
{
    (void)state;
    static drawn d;
    ek_error err;
    draw(&d);
    d.result.n_plans = 0;
    d.result.today = (ek_layout_plan){0};
    for (int i = 0; i < 12; i++) {
        d.point[i].found = false;
        d.point[i].fate = EK_FATE_MEMORY;
    }
    char *text = svg_of(&d.result, EK_AXIS_TENSOR);
    assert_non_null(strstr(text, "Nothing fits"));
    assert_null(strstr(text, "nan"));
    assert_null(strstr(text, "inf"));
    free(text);
    d.result.n_points = 0;
    FILE *out = fopen("/dev/null", "w");
    assert_int_equal(ek__layout_write_svg(&d.result, EK_AXIS_TENSOR, out, &err), EK_ERR_INPUT);
    fclose(out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        {"fronts are those of all pairs", fronts_are_those_of_all_pairs, NULL, NULL, NULL},
        {"thinning loses no plan and no front", thinning_loses_no_plan_and_no_front, NULL, NULL, NULL},
        {"few points are not thinned", few_points_are_not_thinned, NULL, NULL, NULL},
        {"points are the layouts of the search", points_are_the_layouts_of_the_search, search, NULL, NULL},
        {"a step runs as long as it takes", a_step_runs_as_long_as_it_takes, search, NULL, NULL},
        {"the page has what the search found", the_page_has_what_the_search_found, search, NULL, NULL},
        {"the picture is as it was", the_picture_is_as_it_was, NULL, NULL, NULL},
        {"what is above the limit is in the picture", what_is_above_the_limit_is_in_the_picture, NULL, NULL, NULL},
        {"a page of made-up layouts is as it was", a_page_of_made_up_layouts_is_as_it_was, NULL, NULL, NULL},
        {"nothing that fits is drawn, too", nothing_that_fits_is_drawn_too, NULL, NULL, NULL},
    };
    return cmocka_run_group_tests_name("layout_picture", tests, NULL, clear_search);
}
