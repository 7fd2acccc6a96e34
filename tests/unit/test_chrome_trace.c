/* Tests the Chrome trace: it is valid JSON with the timeline's blocks as slices, arrows in pairs that run forward in
 * time, and counters that reach each stage's peak. */
#include "report/writers.h"
#include "report_fixture.h"

#include <jansson.h>
#include <math.h>

static json_t *trace_of(const fixture *f, double limit)
{
    ek_report report = fixture_report(f, limit, NULL);
    char *text = written(&report, NULL, ek__chrome_trace_write, 0);
    json_error_t error;
    json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, &error);
    if (!root)
        fail_msg("line %d: %s", error.line, error.text);
    free(text);
    return root;
}

static double field(const json_t *event, const char *key)
{
    const json_t *value = json_object_get(event, key);
    if (!json_is_number(value))
        fail_msg("no %s", key);
    return json_number_value(value);
}

static bool is_phase(const json_t *event, const char *phase)
{
    return strcmp(json_string_value(json_object_get(event, "ph")), phase) == 0;
}

static void slices_are_the_blocks(void **state)
{
    (void)state;
    fixture f;
    fixture_init(&f, "small", 16);
    fixture_add(&f, "result", (ek_shape){4, 2, 8, 0}, 1, EK_RECOMPUTE_BOTH);
    json_t *root = trace_of(&f, 5000), *event;
    const ek_timeline *t = &f.timeline[0];
    size_t i, next[4], n = 0;
    memcpy(next, t->first, sizeof next);
    json_array_foreach(json_object_get(root, "traceEvents"), i, event)
    {
        if (!is_phase(event, "X"))
            continue;
        int stage = (int)field(event, "tid");
        const ek_interval *b = &t->block[next[stage]++];
        const json_t *args = json_object_get(event, "args");
        char name[64];
        snprintf(name, sizeof name, "%c%u chunk%d", b->kind == EK_FORWARD ? 'F' : 'B', (unsigned)b->micro_batch,
                 b->chunk);
        assert_string_equal(json_string_value(json_object_get(event, "name")), name);
        assert_true(fabs(field(event, "ts") - 1000 * b->start) < 0.001);
        assert_true(fabs(field(event, "dur") - 1000 * (b->end - b->start)) < 0.001);
        assert_true(field(args, "stage") == stage);
        assert_true(field(args, "chunk") == b->chunk);
        assert_true(field(args, "micro_batch") == b->micro_batch);
        n++;
    }
    assert_int_equal(n, t->n_blocks);
    json_decref(root);
    fixture_clear(&f);
}

/* Is a time inside a block of a stage? In microseconds, printed to thousandths. */
static bool inside_block(const ek_timeline *t, int stage, double at)
{
    for (size_t i = t->first[stage]; i < t->first[stage + 1]; i++)
        if (at > 1000 * t->block[i].start - 0.001 && at < 1000 * t->block[i].end - 0.001)
            return true;
    return false;
}

static void arrows_come_in_pairs(void **state)
{
    (void)state;
    static const ek_shape shapes[] = {{4, 2, 8, 0}, {3, 1, 5, 0}, {1, 1, 3, 0},
                                      {2, 2, 4, 0}, {4, 1, 8, 0}, {2, 2, 4, 0}};
    static const char *const schedules[] = {"interleaved-less-memory", "1f1b",     "1f1b",
                                            "interleaved-less-memory", "dualpipe", "dualpipev"};
    for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++) {
        fixture f;
        fixture_init(&f, "small", 16);
        fixture_add_schedule(&f, "result", shapes[k], ek_schedule_find(schedules[k]), EK_RECOMPUTE_NONE);
        json_t *root = trace_of(&f, 0), *event;
        size_t i, n_ids = f.timeline[0].n_blocks, n_sent = 0, n_met = 0;
        double *sent = malloc(n_ids * sizeof *sent);
        assert_non_null(sent);
        for (i = 0; i < n_ids; i++)
            sent[i] = -1;
        json_array_foreach(json_object_get(root, "traceEvents"), i, event)
        {
            if (!is_phase(event, "s"))
                continue;
            size_t id = (size_t)field(event, "id");
            assert_true(id < n_ids && sent[id] < 0);
            assert_true(inside_block(&f.timeline[0], (int)field(event, "tid"), field(event, "ts")));
            sent[id] = field(event, "ts");
            n_sent++;
        }
        json_array_foreach(json_object_get(root, "traceEvents"), i, event)
        {
            if (!is_phase(event, "f"))
                continue;
            size_t id = (size_t)field(event, "id");
            assert_true(id < n_ids && sent[id] >= 0);
            assert_true(sent[id] <= field(event, "ts"));
            assert_true(inside_block(&f.timeline[0], (int)field(event, "tid"), field(event, "ts")));
            sent[id] = -1;
            n_met++;
        }
        const ek_shape *s = &shapes[k];
        int turns = ek_schedule_find(schedules[k])->placement == EK_PLACE_V ? s->n_chunks - 1 : 0; /* on one stage */
        int edges = s->n_stages == 1 ? 0 : 2 * s->n_micro_batches * (s->n_stages * s->n_chunks - 1 - turns);
        assert_int_equal(n_sent, edges);
        assert_int_equal(n_met, edges);
        free(sent);
        json_decref(root);
        fixture_clear(&f);
    }
}

static void counters_reach_the_peak(void **state)
{
    (void)state;
    fixture f;
    fixture_init(&f, "small", 24);
    fixture_add(&f, "result", (ek_shape){12, 1, 14, 0}, 0, EK_RECOMPUTE_SELECT);
    json_t *root = trace_of(&f, 0), *event;
    double peak[12] = {0};
    size_t i;
    json_array_foreach(json_object_get(root, "traceEvents"), i, event)
    {
        int stage;
        if (!is_phase(event, "C"))
            continue;
        assert_int_equal(sscanf(json_string_value(json_object_get(event, "name")), "stage %d", &stage), 1);
        peak[stage] = fmax(peak[stage], field(json_object_get(event, "args"), "MB"));
    }
    for (int s = 0; s < 12; s++)
        assert_true(fabs(peak[s] - f.timeline[0].peak_mb[s]) < 0.01);
    json_decref(root);
    fixture_clear(&f);
}

static void small_case_matches_golden(void **state)
{
    (void)state;
    fixture f;
    fixture_init(&f, "name with \"quotes\" \\ and\nlines", 4);
    fixture_add(&f, "result", (ek_shape){2, 1, 2, 0}, 0, EK_RECOMPUTE_NONE);
    ek_report report = fixture_report(&f, 6000, NULL);
    char *text = written(&report, NULL, ek__chrome_trace_write, 0);
    assert_golden("trace_small.json", text);
    free(text);
    json_decref(trace_of(&f, 6000));
    fixture_clear(&f);
}

static void a_full_disk_is_reported(void **state)
{
    (void)state;
    fixture f;
    fixture_init(&f, "small", 16);
    fixture_add(&f, "one", (ek_shape){4, 2, 64, 0}, 0, EK_RECOMPUTE_NONE);
    ek_report report = fixture_report(&f, 0, NULL);
    assert_full_disk_reported(&report, NULL, ek__chrome_trace_write);
    fixture_clear(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        {"slices are the timeline's blocks", slices_are_the_blocks, NULL, NULL, NULL},
        {"arrows come in pairs, start in a block and run forward in time", arrows_come_in_pairs, NULL, NULL, NULL},
        {"counters reach each stage's peak", counters_reach_the_peak, NULL, NULL, NULL},
        {"a small case matches its golden file", small_case_matches_golden, NULL, NULL, NULL},
        {"a full disk is reported", a_full_disk_is_reported, NULL, NULL, NULL},
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
