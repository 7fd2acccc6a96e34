/* Tests reference values of made, real and synthetic traces: every case of an expected.json is read as a user would,
 * written as JSON, and looked up at that kind of figure's place in docs/trace-json.md. The values of the made ones come
 * from slow loops (made_traces.h), those of ../shared, where it is there, from the producers, from other public tools,
 * from exact arithmetic or from the generators of the synthetic files. */
#include "input.h"
#include "made_traces.h"

#include <jansson.h>
#include <math.h>

#include "evenkeel/trace.h"
#include "evenkeel/trace_report.h"
#include "report/writers.h"

enum { MAX_SHOWN = 12 /* differences of a case */ };

static const char *const kinds[] = {
    "collective_table",   "comm_summary",   "data_loading",   "device_breakdown", "event_counts",
    "idle_attribution",   "kernel_totals",  "layer_times",    "link_bandwidth",   "memory_peak",
    "pipeline_intervals", "recompute_time", "step_breakdown", "top_operators",
};
enum { N_KINDS = sizeof kinds / sizeof *kinds };

static json_t *reference[MAX_TRACE_REFERENCES];
static const char *folder[MAX_TRACE_REFERENCES];
static int n_references;

/* A case being compared. */
typedef struct trial {
    const json_t *spec, *tolerance;
    int n_wrong;
} trial;

/* ---- comparing ---- */

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

static double tolerance_named(const trial *t, const char *name)
{
    const json_t *value = json_object_get(t->tolerance, name);
    return value ? json_number_value(value) : NAN;
}

/* By the unit in a key's name, else the one that the case gives for its times or for all. */
static double tolerance_of(const trial *t, const char *key)
{
    static const char *const units[][2] = {
        {"_ms", "abs_ms"},    {"_mb", "abs_mb"}, {"_pct", "ratio_pct"}, {"_pct", "pct"},
        {"gbps", "abs_gbps"}, {"_us", "abs_us"}, {"_bytes", "bytes"},   {"_at_peak_by_type", "bytes"}};
    static const char *const all[] = {"abs", "abs_us", "abs_ms", "abs_mb", "abs_gbps", "bytes"};
    double value = tolerance_named(t, key);
    for (size_t i = 0; i < sizeof units / sizeof *units && isnan(value); i++)
        if (ends_with(key, units[i][0]))
            value = tolerance_named(t, units[i][1]);
    for (size_t i = 0; i < sizeof all / sizeof *all && isnan(value); i++)
        value = tolerance_named(t, all[i]);
    return isnan(value) ? 0 : value;
}

static void say_difference(trial *t, const char *path, const json_t *expected, const json_t *actual)
{
    if (t->n_wrong++ >= MAX_SHOWN)
        return;
    char *want = json_dumps(expected, JSON_ENCODE_ANY | JSON_REAL_PRECISION(15));
    char *got = actual ? json_dumps(actual, JSON_ENCODE_ANY | JSON_REAL_PRECISION(15)) : NULL;
    print_message("# %s: %s: expected %.160s, got %.160s\n", json_string_value(json_object_get(t->spec, "name")), path,
                  want, got ? got : "nothing");
    free(want);
    free(got);
}

static bool same_number(const trial *t, const char *key, const json_t *expected, const json_t *actual)
{
    double want = json_number_value(expected), got = json_number_value(actual);
    double relative = tolerance_named(t, "rel"), absolute = tolerance_of(t, key);
    if (!isnan(relative))
        return fabs(want - got) <= relative * fabs(want);
    if (json_is_integer(expected) && json_is_integer(actual))
        return json_integer_value(expected) == json_integer_value(actual);
    return fabs(want - got) <= absolute + 1e-9 * fabs(want) * 1e-3;
}

static void compare(trial *t, const char *path, const char *key, const json_t *expected, const json_t *actual);

static void compare_members(trial *t, const char *path, const json_t *expected, const json_t *actual)
{
    const char *key;
    json_t *value;
    char place[512];
    json_object_foreach((json_t *)expected, key, value)
    {
        snprintf(place, sizeof place, "%.300s.%.200s", path, key);
        compare(t, place, key, value, json_object_get(actual, key));
    }
}

/* Expected entries must be there; more are permitted only at the end of a "top" list. */
static void compare(trial *t, const char *path, const char *key, const json_t *expected, const json_t *actual)
{
    char place[512];
    if (!actual) {
        say_difference(t, path, expected, NULL);
    } else if (json_is_object(expected) && json_is_object(actual)) {
        compare_members(t, path, expected, actual);
    } else if (json_is_array(expected) && json_is_array(actual)) {
        bool top = strncmp(key, "top", 3) == 0;
        if (!top && json_array_size(expected) != json_array_size(actual))
            say_difference(t, path, expected, actual);
        for (size_t i = 0; i < json_array_size(expected); i++) {
            snprintf(place, sizeof place, "%.400s[%zu]", path, i);
            compare(t, place, key, json_array_get(expected, i), json_array_get(actual, i));
        }
    } else if (json_is_number(expected) && json_is_number(actual)) {
        if (!same_number(t, key, expected, actual))
            say_difference(t, path, expected, actual);
    } else if (!json_equal(expected, actual)) {
        say_difference(t, path, expected, actual);
    }
}

/* ---- the place of each kind (docs/trace-json.md) ---- */

static const json_t *member(const json_t *object, const char *name)
{
    return json_object_get(object, name);
}

static const json_t *rank_at(const json_t *answer, size_t i)
{
    return json_array_get(member(answer, "ranks"), i);
}

/* Member of a list with this text or number as its `key`. */
static const json_t *find(const json_t *list, const char *key, const char *text)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *item = json_array_get(list, i), *value = member(item, key);
        if (json_is_string(value) ? strcmp(json_string_value(value), text) == 0
                                  : json_is_integer(value) && json_integer_value(value) == strtoll(text, NULL, 10))
            return item;
    }
    return NULL;
}

/* Ascend: KEY of the expected object is KEY_us. */
static void compare_us(trial *t, const json_t *expected, const json_t *actual)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)expected, key, value)
    {
        char name[128];
        snprintf(name, sizeof name, "%s%s", key, strcmp(key, "step") == 0 ? "" : "_us");
        compare(t, name, key, value, member(actual, name));
    }
}

static void check_kineto_steps(trial *t, const json_t *expected, const json_t *rank)
{
    const char *name;
    json_t *step;
    json_object_foreach((json_t *)member(expected, "steps"), name, step)
    {
        const json_t *actual = find(member(rank, "steps"), "step", name);
        json_t *flat = json_copy((json_t *)member(actual, "device_breakdown"));
        if (flat)
            json_object_set(flat, "host_step", (json_t *)member(actual, "host_step_us"));
        compare(t, name, name, step, flat);
        json_decref(flat);
    }
    compare(t, "events_outside_steps", "events_outside_steps", member(expected, "events_outside_steps"),
            member(rank, "events_outside_steps"));
}

static void check_step_trace(trial *t, const json_t *expected, const json_t *answer)
{
    const char *name;
    json_t *figures;
    json_object_foreach((json_t *)member(expected, "ranks"), name, figures)
    {
        const json_t *steps = member(find(member(answer, "ranks"), "rank", name), "steps");
        const json_t *average = find(steps, "step", "-");
        compare(t, name, name, figures, member(average, "step_trace"));
    }
    static const char *const rest[] = {"worst_rank_by_iteration_interval", "worst_over_mean_pct"};
    for (int i = 0; i < 2; i++)
        compare(t, rest[i], rest[i], member(expected, rest[i]), member(answer, rest[i]));
}

static void check_step_breakdown(trial *t, const json_t *expected, const json_t *answer)
{
    const json_t *rank = rank_at(answer, 0), *steps = member(rank, "steps");
    const char *source = json_string_value(member(member(t->spec, "params"), "source"));
    if (member(expected, "ranks"))
        check_step_trace(t, expected, answer);
    else if (member(expected, "steps"))
        check_kineto_steps(t, expected, rank);
    else if (source && strcmp(source, "raw_events") == 0)
        compare_us(t, expected, member(json_array_get(steps, 0), "raw"));
    else
        compare_us(t, expected, find(steps, "step", json_string_value(member(expected, "step"))));
}

static void check_device_breakdown(trial *t, const json_t *expected, const json_t *answer)
{
    const char *events = json_string_value(member(member(t->spec, "params"), "events"));
    bool linked = strcmp(events, "linked_only") == 0;
    compare(t, "device_breakdown", "", expected,
            member(member(rank_at(answer, 0), "device_breakdown"), linked ? "linked" : "all"));
}

static void check_idle(trial *t, const json_t *expected, const json_t *answer)
{
    const char *method = json_string_value(member(member(t->spec, "params"), "method"));
    const json_t *idle = member(rank_at(answer, 0), "idle_attribution");
    compare(t, "idle_attribution", "", expected,
            strcmp(method, "per_stream_gap_launch") == 0 ? member(idle, "streams") : idle);
}

static void check_data(trial *t, const json_t *expected, const json_t *answer)
{
    const json_t *data = member(rank_at(answer, 0), "data_loading");
    bool whole = member(expected, "count") || member(expected, "ops");
    compare(t, "data_loading", "", expected, whole ? data : member(data, "iterators"));
}

static void check_memory(trial *t, const json_t *expected, const json_t *answer)
{
    const json_t *memory = member(rank_at(answer, 0), "memory_peak");
    compare(t, "memory_peak", "", expected, member(expected, "peak_bytes") ? member(memory, "tracker") : memory);
}

static void check_links(trial *t, const json_t *expected, const json_t *answer)
{
    compare(t, "link_bandwidth", "", expected,
            member(member(expected, "links") ? answer : rank_at(answer, 0), "link_bandwidth"));
}

/* Mean over the body layers of all ranks, weighted by executions. */
static json_t *mean_backward_ms(const json_t *answer)
{
    double sum = 0, n = 0;
    for (size_t r = 0; r < json_array_size(member(answer, "ranks")); r++) {
        const json_t *layers = member(rank_at(answer, r), "layers");
        for (size_t i = 0; i < json_array_size(layers); i++) {
            const json_t *layer = json_array_get(layers, i), *backward = member(layer, "backward_us");
            if (strcmp(json_string_value(member(layer, "role")), "body") != 0 || !json_is_number(backward))
                continue;
            sum += json_number_value(backward) / 1000;
            n++;
        }
    }
    return json_real(n > 0 ? sum / n : -1);
}

/* The reference has its own words for layers without a number: they mean the configured names. */
static const json_t *find_layer(const json_t *layers, const json_t *params, const char *word)
{
    static const char *const tail[] = {"norm", "head", "loss"};
    const json_t *named = member(layers, word);
    const char *configured =
        strcmp(word, "embedding") == 0 ? json_string_value(json_array_get(member(params, "head"), 0)) : NULL;
    for (size_t i = 0; i < 3; i++)
        if (strcmp(word, tail[i]) == 0)
            configured = json_string_value(json_array_get(member(params, "tail"), i));
    const char *key;
    json_t *layer;
    if (configured)
        json_object_foreach((json_t *)layers, key,
                            layer) if (ends_with(json_string_value(member(layer, "name")), configured)) named = layer;
    return named;
}

static void check_layers(trial *t, const json_t *expected, const json_t *answer)
{
    const json_t *times = member(rank_at(answer, 0), "layer_times"), *params = member(t->spec, "params");
    if (member(expected, "counted_steps")) {
        compare(t, "mindformers_analyser", "", expected, member(answer, "mindformers_analyser"));
        return;
    }
    if (member(expected, "mindformers_analyser")) {
        json_t *backward = mean_backward_ms(answer);
        compare(t, "mindformers_analyser", "", member(expected, "mindformers_analyser"),
                member(answer, "mindformers_analyser"));
        compare(t, "backward_ms_per_layer", "backward_ms", member(expected, "backward_ms_per_layer"), backward);
        json_decref(backward);
        return;
    }
    const char *word;
    json_t *layer;
    json_object_foreach((json_t *)member(expected, "layers"), word, layer)
        compare(t, word, word, layer, find_layer(member(times, "layers"), params, word));
    compare(t, "micro_batches", "n", member(expected, "micro_batches"), member(times, "micro_batches"));
    compare(t, "recomputed_layers", "n", member(expected, "recomputed_layers"), member(times, "recomputed_layers"));
}

static void check(trial *t, const char *kind, const json_t *expected, const json_t *answer)
{
    static const struct {
        const char *kind;
        void (*check)(trial *, const json_t *, const json_t *);
    } own[] = {{"step_breakdown", check_step_breakdown},
               {"device_breakdown", check_device_breakdown},
               {"idle_attribution", check_idle},
               {"data_loading", check_data},
               {"memory_peak", check_memory},
               {"link_bandwidth", check_links},
               {"layer_times", check_layers}};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (strcmp(own[i].kind, kind) == 0) {
            own[i].check(t, expected, answer);
            return;
        }
    /* The rest has a member of the rank of its own name. */
    compare(t, kind, kind, expected, member(rank_at(answer, 0), kind));
}

/* ---- running a case ---- */

enum { MAX_FILES = 64, MAX_WORDS = 16 };

typedef struct words {
    const char *at[MAX_WORDS];
    int n;
} words;

static words words_of(const json_t *params, const char *name)
{
    words w = {.n = 0};
    const json_t *value = member(params, name);
    if (json_is_string(value))
        w.at[w.n++] = json_string_value(value);
    for (size_t i = 0; i < json_array_size(value) && w.n < MAX_WORDS; i++)
        w.at[w.n++] = json_string_value(json_array_get(value, i));
    return w;
}

static json_t *answer_of(const ek_trace_run *run)
{
    char *text = NULL;
    size_t size = 0;
    ek_error err;
    json_error_t wrong;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    assert_int_equal(ek__trace_write_json(run, NULL, out, &err), EK_OK);
    fclose(out);
    json_t *answer = json_loadb(text, size, JSON_REJECT_DUPLICATES, &wrong);
    if (!answer)
        print_message("# not JSON: line %d: %s\n", wrong.line, wrong.text);
    free(text);
    return answer;
}

static json_t *read_case(const char *where, const json_t *spec, ek_error *err)
{
    static char path[MAX_FILES][5000];
    const char *paths[MAX_FILES];
    const json_t *files = member(spec, "files"), *params = member(spec, "params");
    int n = (int)json_array_size(files);
    assert_in_range(n, 1, MAX_FILES);
    for (int i = 0; i < n; i++) {
        snprintf(path[i], sizeof path[i], "%s/%s", where, json_string_value(json_array_get(files, (size_t)i)));
        paths[i] = path[i];
    }
    words head = words_of(params, "head"), body = words_of(params, "body"), tail = words_of(params, "tail");
    bool sapp = json_is_true(member(params, "known_wrong")) || member(member(spec, "expected"), "mindformers_analyser");
    if (json_is_true(member(params, "known_wrong"))) { /* the configuration of its sibling case */
        head = (words){{"LlamaEmbedding"}, 1};
        body = (words){{"LLamaDecodeLayer"}, 1};
        tail = (words){{"lm_head-Linear", "LlamaRMSNorm"}, 2};
    }
    ek_trace_options options = {
        .drop_first_steps = (int)json_integer_value(member(params, "drop_first_steps")),
        .n_micro_batches = (int)json_integer_value(member(params, "micro_batches")),
        .n_head = head.n,
        .n_body = body.n,
        .n_tail = tail.n,
        .head = head.at,
        .body = body.at,
        .tail = tail.at,
        .sapp_compatible = sapp,
    };
    ek_trace_run run;
    if (ek_trace_run_read(paths, n, &options, NULL, &run, err))
        return NULL;
    json_t *answer = answer_of(&run);
    ek_trace_run_clear(&run);
    snprintf(err->message, sizeof err->message, "no JSON");
    return answer;
}

static bool passes(const char *where, const json_t *spec)
{
    ek_error err;
    trial t = {.spec = spec, .tolerance = member(spec, "tolerance")};
    json_t *answer = read_case(where, spec, &err);
    if (!answer) {
        print_message("# %s: %s\n", json_string_value(member(spec, "name")), err.message);
        return false;
    }
    check(&t, json_string_value(member(spec, "command_kind")), member(spec, "expected"), answer);
    json_decref(answer);
    if (t.n_wrong > MAX_SHOWN)
        print_message("# %s: %d more\n", json_string_value(member(spec, "name")), t.n_wrong - MAX_SHOWN);
    return t.n_wrong == 0;
}

static void a_kind_agrees_with_the_reference(void **state)
{
    const char *kind = *state;
    for (int r = 0; r < n_references; r++) {
        int n = 0, passed = 0;
        size_t i;
        json_t *spec;
        json_array_foreach(member(reference[r], "cases"), i,
                           spec) if (strcmp(json_string_value(member(spec, "command_kind")), kind) == 0)
        {
            n++;
            passed += passes(folder[r], spec);
        }
        print_message("# %s: %d of %d cases\n", kind, passed, n);
        assert_int_equal(passed, n);
        assert_true(n > 0);
    }
}

static void no_kind_is_unknown(void **state)
{
    (void)state;
    size_t i;
    json_t *spec;
    for (int r = 0; r < n_references; r++)
        json_array_foreach(member(reference[r], "cases"), i, spec)
        {
            const char *kind = json_string_value(member(spec, "command_kind"));
            bool known = false;
            for (int k = 0; k < N_KINDS; k++)
                known |= strcmp(kind, kinds[k]) == 0;
            if (!known)
                print_message("# no test looks at the kind %s\n", kind);
            assert_true(known);
        }
}

int main(void)
{
    struct CMUnitTest tests[N_KINDS + 2];
    n_references = trace_references(folder);
    for (int r = 0; r < n_references; r++) {
        char path[5000];
        snprintf(path, sizeof path, "%s/expected.json", folder[r]);
        reference[r] = json_load_file(path, 0, NULL);
        if (!reference[r]) {
            print_error("%s is no JSON\n", path);
            return 1;
        }
    }
    for (int i = 0; i < N_KINDS; i++)
        tests[i] = (struct CMUnitTest){kinds[i], a_kind_agrees_with_the_reference, NULL, NULL, (void *)kinds[i]};
    tests[N_KINDS] = (struct CMUnitTest){"every kind has its test", no_kind_is_unknown, NULL, NULL, NULL};
    tests[N_KINDS + 1] = (struct CMUnitTest)cmocka_unit_test(traces_of_others_are_among_them);
    int failed = cmocka_run_group_tests_name("trace reference", tests, NULL, NULL);
    for (int r = 0; r < n_references; r++)
        json_decref(reference[r]);
    return failed;
}
