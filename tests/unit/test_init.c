/* Tests the init file: every shorthand of its lists, rounds, times and profiling, and its unset values. Refused files
 * are in tests/data/bad/init. */
#include "input.h"
#include "skip.h"

#include <dirent.h>
#include <math.h>

#include "dryrun/init.h"

static void read_text(const char *text, ek_dryrun *init, said *s)
{
    ek__config_tree *doc;
    ek_error err = {0};
    const ek_listener listener = {say_warning, s};
    if (ek__config_parse_buffer("init", text, strlen(text), &doc, &err) ||
        ek__dryrun_from_config(doc, s ? &listener : NULL, init, &err))
        fail_msg("%s\n%d:%d: %s", text, err.line, err.column, err.message);
    ek__config_free(doc);
}

/* A file of 4 stages and 10 layers around the fields under test. */
static void read_lists(const char *offset, const char *full, const char *select, const char *comm, const char *stages,
                       const char *peaks, ek_dryrun *init)
{
    char text[2048];
    snprintf(text, sizeof text,
             "pipeline_config: {pipeline_num: 4, num_layer: 10, offset: %s}\n"
             "recompute_config: {recompute: %s, select_recompute: %s, select_comm_recompute: %s}\n"
             "memory_usage: {head_memory: 900, tail_memory: 400.5, body_memories: {stage_id: %s, memories: %s}}\n",
             offset, full, select, comm, stages, peaks);
    read_text(text, init, NULL);
}

static void lists_are_read_in_every_shorthand(void **state)
{
    (void)state;
    static const struct {
        const char *what, *offset, *full, *select, *comm, *stages, *peaks;
        int n_rounds, layers[8], full_is[8], select_is[8], comm_is[8];
    } cases[] = {
        {"flat lists",
         "[1, 1, 0, 0]",
         "[1, 2, 0, 0]",
         "[0, 0, 0, 2]",
         "[3, 3, 2, 2]",
         "[1, 2]",
         "[5, 6]",
         1,
         {3, 3, 2, 2},
         {1, 2, 0, 0},
         {0, 0, 0, 2},
         {3, 3, 2, 2}},
        {"one word for all",
         "[1, 1, 0, 0]",
         "true",
         "false",
         "0",
         "[1]",
         "[5]",
         1,
         {3, 3, 2, 2},
         {3, 3, 2, 2},
         {0},
         {0}},
        {"YAML 1.1 words", "[1, 1, 0, 0]", "off", "Yes", "NO", "[1]", "[5]", 1, {3, 3, 2, 2}, {0}, {3, 3, 2, 2}, {0}},
        {"a list of one list",
         "[[1, 1, 0, 0]]",
         "[[1, 2, 0, 0]]",
         "[true]",
         "[0]",
         "[[1, 2]]",
         "[[5, 6]]",
         1,
         {3, 3, 2, 2},
         {1, 2, 0, 0},
         {3, 3, 2, 2},
         {0}},
        {"one nested field makes all of them rounds",
         "[[1, 1, 0, 0]]",
         "[false]",
         "false",
         "true",
         "[1]",
         "[5]",
         1,
         {3, 3, 2, 2},
         {0},
         {0},
         {3, 3, 2, 2}},
        {"two rounds",
         "[[1, 1, 0, 0], [2, 0, -1, 1]]",
         "[[1, 2, 0, 0], true]",
         "[false, false]",
         "true",
         "[[1, 2], [2]]",
         "[[5, 6], [7]]",
         2,
         {3, 3, 2, 2, 4, 2, 1, 3},
         {1, 2, 0, 0, 4, 2, 1, 3},
         {0},
         {3, 3, 2, 2, 4, 2, 1, 3}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ek_dryrun init;
        read_lists(cases[i].offset, cases[i].full, cases[i].select, cases[i].comm, cases[i].stages, cases[i].peaks,
                   &init);
        size_t size = (size_t)init.n_rounds * 4 * sizeof(int);
        if (init.n_rounds != cases[i].n_rounds || memcmp(init.layers, cases[i].layers, size) != 0 ||
            memcmp(init.full, cases[i].full_is, size) != 0 || memcmp(init.select, cases[i].select_is, size) != 0 ||
            memcmp(init.comm, cases[i].comm_is, size) != 0)
            fail_msg("%s: read wrongly", cases[i].what);
        ek_dryrun_clear(&init);
    }
}

static void an_offset_of_zero_is_the_even_split(void **state)
{
    (void)state;
    ek_dryrun init;
    read_text("pipeline_config: {pipeline_num: 3, num_layer: 12, offset: 0}\nrecompute_config: {}\n"
              "memory_usage: {head_memory: 1, tail_memory: 1, body_memories: {stage_id: [1], memories: [1]}}\n",
              &init, NULL);
    assert_int_equal(init.layers[0], 4);
    assert_int_equal(init.layers[2], 4);
    assert_int_equal(init.full[1] + init.select[1] + init.comm[1], 0);
    ek_dryrun_clear(&init);
}

static void measurements_keep_round_stage_and_place(void **state)
{
    (void)state;
    ek_dryrun init;
    read_lists("[[1, 1, 0, 0], [2, 0, -1, 1]]", "0", "0", "0", "[[2], [1, 2]]", "[[55], [66.5, 77]]", &init);
    assert_int_equal(init.n_measurements, 3);
    static const struct {
        int round, stage;
        double peak;
    } expected[3] = {{0, 2, 55}, {1, 1, 66.5}, {1, 2, 77}};
    for (int i = 0; i < 3; i++) {
        assert_int_equal(init.measurement[i].round, expected[i].round);
        assert_int_equal(init.measurement[i].stage, expected[i].stage);
        assert_true(init.measurement[i].peak_mb == expected[i].peak);
        assert_int_equal(init.measurement[i].origin.line, 3);
        assert_ptr_equal(init.measurement[i].origin.file, init.path);
    }
    assert_true(init.head_mb == 900 && init.tail_mb == 400.5);
    assert_int_equal(init.memory_usage.line, 3);
    ek_dryrun_clear(&init);
}

static void missing_times_stay_nan_and_profiling_is_remembered(void **state)
{
    (void)state;
    ek_dryrun init;
    said s = {{0}, 0, 0};
    read_text("profiling_config:\n  folder_path: /t\n  micro_batch_num: 8\n  head_layers: A\n  tail_layers: [B, C]\n"
              "time_config: {body: 3.5}\n"
              "pipeline_config: {pipeline_num: 3, num_layer: 12, offset: 0}\nrecompute_config: {recompute: no}\n"
              "memory_usage: {head_memory: 1, tail_memory: 1, body_memories: {stage_id: [1], memories: [1]}}\n",
              &init, &s);
    assert_int_equal(s.n_warnings, 0);
    assert_true(isnan(init.times.head) && init.times.body == 3.5 && isnan(init.times.tail));
    assert_true(init.has_profiling);
    assert_int_equal(init.profiling.line, 1);
    assert_string_equal(init.profiling_folder, "/t");
    assert_int_equal(init.profiling_micro_batches, 8);
    assert_int_equal(init.n_profiling_names[0], 1);
    assert_int_equal(init.n_profiling_names[1], 0);
    assert_int_equal(init.n_profiling_names[2], 2);
    assert_true(init.profiling_at[0][0].line == 4 && init.profiling_at[0][0].column == 16);
    assert_true(init.profiling_at[2][1].line == 5 && init.profiling_at[2][1].column == 20);
    assert_string_equal(init.profiling_name[2][1], "C");
    assert_true(ek_dryrun_wants_profiles(&init, NULL));
    assert_false(ek_dryrun_wants_profiles(&init, &(ek_times){1, NAN, 2}));
    ek_dryrun_clear(&init);
}

static void json_will_do_for_an_init_file(void **state)
{
    (void)state;
    ek_dryrun init;
    read_text("{\"pipeline_config\": {\"pipeline_num\": 3, \"num_layer\": 12, \"offset\": [1, 0, -1]},\n"
              "\t\"recompute_config\": {\"recompute\": true, \"select_recompute\": null},\n"
              "\t\"memory_usage\": {\"head_memory\": 1, \"tail_memory\": 1,\n"
              "\t\t\"body_memories\": {\"stage_id\": [1], \"memories\": [1e3]}}}",
              &init, NULL);
    assert_int_equal(init.full[0], 5);
    assert_true(init.measurement[0].peak_mb == 1000);
    ek_dryrun_clear(&init);
}

static void outputs_stay_untouched_on_failure_and_clear_takes_zeros(void **state)
{
    (void)state;
    ek_dryrun init = {0};
    init.n_stages = 77;
    ek_error err;
    assert_int_equal(ek_dryrun_read(source_path("tests/data/bad/init/offset_sum.yaml"), NULL, &init, &err),
                     EK_ERR_INPUT);
    assert_int_equal(init.n_stages, 77);
    assert_int_equal(ek_dryrun_read("no/such/init.yaml", NULL, &init, NULL), EK_ERR_SYSTEM);
    init = (ek_dryrun){0};
    ek_dryrun_clear(&init);
    ek_dryrun_clear(&init);
}

static const char pipeline_only[] = "pipeline_config:\n  pipeline_num: 6\n%s";

/* Keys: those of the original's newest version, with its defaults. */
static void the_newest_form_says_the_pipeline_too(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        ek_dryrun_run is;
    } cases[] = {
        {"  num_layer: 12\n  offset: 0\n", {false, 6, 0, 0, -1, 0, 0, 0}},
        {"  micro_batch_num: 32\n", {true, 6, 32, 0, -1, 0, 0, 0}},
        {"  micro_batch_num: 8\n  num_of_interleave: 2\n  vpp_less_memory: true\n  memory_limit: 80000\n"
         "  constant_memory: 500\n  sim_comm_time: 0.1\n",
         {true, 6, 8, 2, 1, 80000, 500, 0.1}},
        {"  vpp_less_memory: \"no\"\n  enable_simulation: 1\n  use_backward_time: \"False\"\n",
         {true, 6, 0, 0, 0, 0, 0, 0}},
        {"  optimization_level: 2\n  vpp_less_memory: \"YES\"\n", {true, 6, 0, 0, 1, 0, 0, 0}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[512];
        ek__config_tree *doc;
        ek_dryrun_run run = {0};
        ek_error err = {0};
        snprintf(text, sizeof text, pipeline_only, cases[i].text);
        assert_int_equal(ek__config_parse_buffer("run", text, strlen(text), &doc, &err), EK_OK);
        const ek__in in = {doc, NULL, &err};
        if (ek__dryrun_run_read(&in, ek__get(ek__config_root(doc), "pipeline_config"), &run))
            fail_msg("%s\n%d:%d: %s", text, err.line, err.column, err.message);
        const ek_dryrun_run *is = &cases[i].is;
        if (run.given != is->given || run.n_stages != is->n_stages || run.n_micro_batches != is->n_micro_batches ||
            run.n_chunks != is->n_chunks || run.less_memory != is->less_memory || run.memory_mb != is->memory_mb ||
            run.constant_mb != is->constant_mb || run.p2p_time != is->p2p_time)
            fail_msg("read wrongly: %s", text);
        ek__config_free(doc);
    }
}

/* The value of a switch is checked even where it has no effect. */
static void a_switch_is_true_or_false_also_where_it_is_not_used(void **state)
{
    (void)state;
    static const struct {
        const char *key, *value;
    } cases[] = {{"vpp_less_memory", "perhaps"}, {"enable_simulation", "2"}, {"use_backward_time", "[true]"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[512], line[128], begun[256];
        ek__config_tree *doc;
        ek_dryrun_run run = {0};
        ek_error err = {0};
        snprintf(line, sizeof line, "  %s: %s\n", cases[i].key, cases[i].value);
        snprintf(text, sizeof text, pipeline_only, line);
        snprintf(begun, sizeof begun, "pipeline_config.%s is", cases[i].key);
        assert_int_equal(ek__config_parse_buffer("run", text, strlen(text), &doc, &err), EK_OK);
        const ek__in in = {doc, NULL, &err};
        assert_int_equal(ek__dryrun_run_read(&in, ek__get(ek__config_root(doc), "pipeline_config"), &run),
                         EK_ERR_INPUT);
        assert_int_equal(err.line, 3);
        if (strncmp(err.message, begun, strlen(begun)) != 0 ||
            !strstr(err.message, "expected true or false; 0 and 1 will do too"))
            fail_msg("%s", err.message);
        ek__config_free(doc);
    }
}

/* @return how many of a folder's training files were recognised; those that were not fail */
static int check_training_files(const char *folder, const char *beginning)
{
    int n = 0;
    DIR *dir = opendir(folder);
    for (const struct dirent *entry; dir && (entry = readdir(dir));) {
        char path[8192];
        const char *dot = strrchr(entry->d_name, '.');
        if (!dot || strcmp(dot, ".yaml") != 0 || strncmp(entry->d_name, beginning, strlen(beginning)) != 0)
            continue;
        ek_dryrun init;
        ek_error err = {0};
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        assert_int_equal(ek_dryrun_read(path, NULL, &init, &err), EK_ERR_INPUT);
        if (!strstr(err.message, "this is a training file"))
            fail_msg("%s: %s", path, err.message);
        n++;
    }
    if (dir)
        closedir(dir);
    return n;
}

/* All that are shipped. */
static void training_files_are_told_for_what_they_are(void **state)
{
    (void)state;
    assert_true(check_training_files(source_path("examples"), "llama2_13b") >= 6);
    assert_true(check_training_files(source_path("tests/data/published/reference/configs"), "") >= 11);
}

/* Many of them have aliases. */
static void training_files_of_others_are_told_for_what_they_are(void **state)
{
    (void)state;
    assert_true(check_training_files(need_shared("reference/configs"), "") >= 29);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_are_read_in_every_shorthand),
        cmocka_unit_test(an_offset_of_zero_is_the_even_split),
        cmocka_unit_test(measurements_keep_round_stage_and_place),
        cmocka_unit_test(missing_times_stay_nan_and_profiling_is_remembered),
        cmocka_unit_test(the_newest_form_says_the_pipeline_too),
        cmocka_unit_test(a_switch_is_true_or_false_also_where_it_is_not_used),
        cmocka_unit_test(training_files_are_told_for_what_they_are),
        cmocka_unit_test(training_files_of_others_are_told_for_what_they_are),
        cmocka_unit_test(json_will_do_for_an_init_file),
        cmocka_unit_test(outputs_stay_untouched_on_failure_and_clear_takes_zeros),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
