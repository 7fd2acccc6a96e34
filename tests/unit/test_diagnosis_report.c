/* Tests the writers of a diagnosis. JSON must parse and give back every field; lines for a terminal must end before
 * column 100, except settings, which are printed unchanged. The page is test_view_runs.c's. */
#include "golden_page.h"
#include "input.h"
#include "skip.h"

#include <jansson.h>
#include <math.h>

#include "evenkeel/diagnose.h"
#include "report/writers.h"

#define HOSTILE "<img src=x onerror=\"alert('1')\">&amp;</pre></style><script>\x01 \xff \xe4\xb8\xad"

static ek_diagnosis sample(void)
{
    static ek_bottleneck list[3];
    static ek_not_looked_at missing[] = {
        {"recomputation in the graph", "the IR of the compiled graph", "export MS_DEV_SAVE_GRAPHS=1, then give it"},
        {HOSTILE, "nothing <b>", NULL}};
    static const char *notes[] = {"the trace shows 4 stages, and the settings say 8", "a " HOSTILE};
    list[0] = (ek_bottleneck){.id = "exposed-communication",
                              .topic = EK_TOPIC_COMMUNICATION,
                              .title = "AllReduce of gradients is not hidden: 8.1 % of the step",
                              .n_evidence = 2,
                              .evidence = {{"exposed AllReduce 41.2 ms of every step, in 32 collectives, of which the "
                                            "longest takes 2.3 ms and the shortest 1.1 ms",
                                            "rank_0/trace_view.json", "3", 0},
                                           {"nothing is computed beside it", NULL, NULL, -1}},
                              .cost_seconds = 0.0412,
                              .share = 0.081,
                              .setting = "parallel_speed_up.json: \"enable_grad_comm_opt\": true\n\tindented: <yes>",
                              .change = "Reduce gradients behind the backward pass.",
                              .gain_seconds = 0.0386,
                              .gain_share = 0.076,
                              .basis = EK_BASIS_DERIVED,
                              .rests_on = "the last bucket of 16 stays exposed",
                              .caution = "buckets take memory"};
    list[1] = (ek_bottleneck){.id = HOSTILE,
                              .topic = EK_TOPIC_BALANCE,
                              .title = "title " HOSTILE,
                              .n_evidence = 1,
                              .evidence = {{"text " HOSTILE, "file " HOSTILE, "step " HOSTILE, 7}},
                              .cost_seconds = 0.01,
                              .share = 0.02,
                              .setting = "setting " HOSTILE,
                              .change = "change " HOSTILE,
                              .gain_seconds = NAN,
                              .gain_share = NAN,
                              .basis = EK_BASIS_ASSUMED,
                              .rests_on = "rests " HOSTILE,
                              .caution = "caution " HOSTILE};
    list[2] = (ek_bottleneck){.id = "memory",
                              .topic = EK_TOPIC_MEMORY,
                              .title = "bare",
                              .cost_seconds = NAN,
                              .share = NAN,
                              .gain_seconds = NAN,
                              .gain_share = NAN,
                              .basis = EK_BASIS_MEASURED};
    return (ek_diagnosis){.step_seconds = 0.5123,
                          .step_source = "mean of 4 steps of the trace",
                          .n_bottlenecks = 3,
                          .bottleneck = list,
                          .n_not_looked_at = 2,
                          .not_looked_at = missing,
                          .n_notes = 2,
                          .note = notes};
}

typedef ek_status writer(const ek_diagnosis *diagnosis, FILE *out, ek_error *err);

static ek_status write_plain(const ek_diagnosis *diagnosis, FILE *out, ek_error *err)
{
    return ek__diagnosis_write_text(diagnosis, false, out, err);
}

static char *written(writer *write, const ek_diagnosis *diagnosis)
{
    char *text = NULL;
    size_t size;
    ek_error err;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    assert_int_equal(write(diagnosis, out, &err), EK_OK);
    assert_int_equal(fclose(out), 0);
    return text;
}

/* ---- JSON ---- */

/* Invalid characters must be U+FFFD in JSON. */
static void check_text(const json_t *object, const char *key, const char *expected)
{
    const json_t *value = json_object_get(object, key);
    if (!expected) {
        assert_true(json_is_null(value));
        return;
    }
    assert_true(json_is_string(value));
    char fixed[1024];
    const char *bad = strchr(expected, '\xff');
    snprintf(fixed, sizeof fixed, "%.*s%s%s", bad ? (int)(bad - expected) : (int)strlen(expected), expected,
             bad ? "\xef\xbf\xbd" : "", bad ? bad + 1 : "");
    assert_string_equal(json_string_value(value), fixed);
}

static void check_number(const json_t *object, const char *key, double expected)
{
    const json_t *value = json_object_get(object, key);
    if (isnan(expected))
        assert_true(json_is_null(value));
    else
        assert_true(fabs(json_number_value(value) - expected) <= 1e-14 * fabs(expected));
}

static void check_bottleneck(const json_t *found, const ek_bottleneck *b)
{
    check_text(found, "id", b->id);
    check_text(found, "topic", ek_topic_name[b->topic]);
    check_text(found, "title", b->title);
    check_text(found, "setting", b->setting);
    check_text(found, "change", b->change);
    check_text(found, "basis", ek_basis_name[b->basis]);
    check_text(found, "rests_on", b->rests_on);
    check_text(found, "caution", b->caution);
    check_number(found, "cost_seconds", b->cost_seconds);
    check_number(found, "share", b->share);
    check_number(found, "gain_seconds", b->gain_seconds);
    check_number(found, "gain_share", b->gain_share);
    const json_t *evidence = json_object_get(found, "evidence");
    assert_int_equal(json_array_size(evidence), b->n_evidence);
    for (int i = 0; i < b->n_evidence; i++) {
        const json_t *one = json_array_get(evidence, (size_t)i);
        check_text(one, "text", b->evidence[i].text);
        check_text(one, "file", b->evidence[i].file);
        check_text(one, "step", b->evidence[i].step);
        check_number(one, "rank", b->evidence[i].rank < 0 ? NAN : b->evidence[i].rank);
    }
}

static void json_gives_back_every_field(void **state)
{
    (void)state;
    const ek_diagnosis d = sample();
    char *text = written(ek__diagnosis_write_json, &d);
    json_error_t problem;
    json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, &problem);
    if (!root)
        fail_msg("%d:%d: %s", problem.line, problem.column, problem.text);
    assert_int_equal(json_integer_value(json_object_get(root, "version")), 1);
    check_number(root, "step_seconds", d.step_seconds);
    check_text(root, "step_source", d.step_source);
    const json_t *list = json_object_get(root, "bottlenecks");
    assert_int_equal(json_array_size(list), d.n_bottlenecks);
    for (int i = 0; i < d.n_bottlenecks; i++)
        check_bottleneck(json_array_get(list, (size_t)i), &d.bottleneck[i]);
    list = json_object_get(root, "not_looked_at");
    assert_int_equal(json_array_size(list), d.n_not_looked_at);
    for (int i = 0; i < d.n_not_looked_at; i++) {
        check_text(json_array_get(list, (size_t)i), "what", d.not_looked_at[i].what);
        check_text(json_array_get(list, (size_t)i), "needs", d.not_looked_at[i].needs);
        check_text(json_array_get(list, (size_t)i), "how", d.not_looked_at[i].how);
    }
    list = json_object_get(root, "notes");
    assert_int_equal(json_array_size(list), d.n_notes);
    json_decref(root);
    free(text);
}

static void json_of_nothing_is_whole(void **state)
{
    (void)state;
    const ek_diagnosis d = {.step_seconds = NAN};
    char *text = written(ek__diagnosis_write_json, &d);
    json_t *root = json_loads(text, 0, NULL);
    assert_non_null(root);
    assert_true(json_is_null(json_object_get(root, "step_seconds")));
    assert_int_equal(json_array_size(json_object_get(root, "bottlenecks")), 0);
    json_decref(root);
    free(text);
}

/* ---- text ---- */

static void lines_for_a_terminal_end_before_column_100(void **state)
{
    (void)state;
    const ek_diagnosis d = sample();
    char *text = written(write_plain, &d);
    assert_null(strchr(text, '\x1b'));
    assert_null(strchr(text, '\x01'));
    for (char *line = text, *end; *line; line = end + 1) {
        end = strchr(line, '\n');
        assert_non_null(end);
        int columns = 0;
        for (const char *c = line; c < end; c++)
            columns += (*c & 0xc0) != 0x80;
        bool is_setting = strncmp(line, "       ", 7) == 0;
        if (columns > 99 && !is_setting)
            fail_msg("%d columns: %.*s", columns, (int)(end - line), line);
    }
    free(text);
}

static void a_text_says_what_when_and_how_much(void **state)
{
    static const char *const sentence[] = {
        "a step takes 512.3 ms: mean of 4 steps of the trace\n",
        "1. AllReduce of gradients is not hidden: 8.1 % of the step\n",
        "gain 38.6 ms (7.6 %), cost 41.2 ms (8.1 %) of a step; communication, exposed-communication\n",
        "(rank_0/trace_view.json, step 3,",
        "       parallel_speed_up.json: \"enable_grad_comm_opt\": true\n",
        "gain is derived: the last bucket of 16 stays exposed\n",
        "caution: buckets take memory\n",
        "not looked at:\n",
        "recomputation in the graph: needs the IR of the compiled graph\n",
        "export MS_DEV_SAVE_GRAPHS=1, then give it\n",
        "gain not known, cost not known of a step; memory and recomputation, memory\n",
        "notes:\n",
    };
    (void)state;
    const ek_diagnosis d = sample();
    char *text = written(write_plain, &d);
    for (size_t i = 0; i < sizeof sentence / sizeof *sentence; i++)
        if (!strstr(text, sentence[i]))
            fail_msg("it does not say '%s' but\n%s", sentence[i], text);
    free(text);
}

static ek_status write_colored(const ek_diagnosis *diagnosis, FILE *out, ek_error *err)
{
    return ek__diagnosis_write_text(diagnosis, true, out, err);
}

/* Places with unknown parts, amounts with one known, and parts missing for the same reason. */
static void all_there_is_matches_its_golden_files(void **state)
{
    (void)state;
    static ek_bottleneck list[] = {{.id = "host",
                                    .topic = EK_TOPIC_HOST,
                                    .title = "The device waits for the host",
                                    .n_evidence = 7,
                                    .evidence = {{"all", "trace.json", "3", 7},
                                                 {"no file", NULL, "4", 7},
                                                 {"a rank alone", NULL, NULL, 7},
                                                 {"a step alone", NULL, "5", -1},
                                                 {"a file alone", "trace.json", "", -1},
                                                 {"no step", "trace.json", NULL, 0},
                                                 {"nothing", NULL, NULL, -1}},
                                    .cost_seconds = 0.25,
                                    .share = NAN,
                                    .gain_seconds = NAN,
                                    .gain_share = 0.125,
                                    .basis = EK_BASIS_MEASURED,
                                    .setting = "A=1\n\nB=2\n",
                                    .change = "Launch less.",
                                    .rests_on = "what was measured"},
                                   {.id = "memory",
                                    .topic = EK_TOPIC_MEMORY,
                                    .title = "Memory is short",
                                    .cost_seconds = NAN,
                                    .share = NAN,
                                    .gain_seconds = NAN,
                                    .gain_share = NAN,
                                    .basis = EK_BASIS_ASSUMED,
                                    .rests_on = "the limit",
                                    .caution = "slower"}};
    static ek_not_looked_at missing[] = {{"bubbles", "a plan", "give a plan"},
                                         {"graphs", "the IR", "save graphs"},
                                         {"balance", "layers", "give a plan"},
                                         {"nothing to be done", NULL, NULL},
                                         {"nor here", "anything", NULL}};
    static const char *notes[] = {"one", "two"};
    const ek_diagnosis d = {.step_seconds = 2,
                            .step_source = "made up",
                            .n_bottlenecks = 2,
                            .bottleneck = list,
                            .n_not_looked_at = 5,
                            .not_looked_at = missing,
                            .n_notes = 2,
                            .note = notes},
                       nothing = {.step_seconds = NAN};
    static const struct {
        const char *golden;
        writer *write;
    } forms[] = {{"diagnosis.txt", write_plain},
                 {"diagnosis_colored.txt", write_colored},
                 {"diagnosis.json", ek__diagnosis_write_json}};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        char *text = written(forms[i].write, &d);
        assert_golden(forms[i].golden, text);
        free(text);
    }
    assert_golden_page("diagnosis_page.json", &(ek_view_run){.name = "diagnosis", .diagnosis = &d});
    char *text = written(write_plain, &nothing);
    assert_string_equal(text, "no step was measured: gains are not shares of one\n"
                              "no bottleneck is above the requested threshold\n");
    free(text);
}

static void a_full_disk_is_told(void **state)
{
    (void)state;
    const ek_diagnosis d = sample();
    writer *const writers[] = {write_plain, ek__diagnosis_write_json};
    for (size_t i = 0; i < sizeof writers / sizeof *writers; i++) {
        ek_error err;
        FILE *out = need_full_disk();
        assert_int_equal(writers[i](&d, out, &err), EK_ERR_SYSTEM);
        fclose(out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(json_gives_back_every_field),
        cmocka_unit_test(json_of_nothing_is_whole),
        cmocka_unit_test(lines_for_a_terminal_end_before_column_100),
        cmocka_unit_test(a_text_says_what_when_and_how_much),
        cmocka_unit_test(all_there_is_matches_its_golden_files),
        cmocka_unit_test(a_full_disk_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
