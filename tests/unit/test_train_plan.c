/* Tests the pipeline of a training YAML: reading, refusals with their places, and the changes of applying a plan. */
#include "input.h"
#include "skip.h"

#include <dirent.h>
#include <unistd.h>

#include "evenkeel/emit.h"
#include "evenkeel/job.h"
#include "evenkeel/schedule.h"
#include "job/mindformers_pipeline.h"

/* Sections around which the cases vary. */
#define MODEL(lines)    "model:\n  model_config:\n" lines
#define PARALLEL(lines) "parallel_config:\n" lines

static ek__config_tree *parse(const char *text)
{
    ek__config_tree *doc;
    ek_error err;
    if (ek__config_parse_buffer("train.yaml", text, strlen(text), &doc, &err))
        fail_msg("%d:%d: %s", err.line, err.column, err.message);
    return doc;
}

static void print_cells(const int *cell, int n, char *out, size_t size)
{
    out[0] = '\0';
    for (int i = 0; i < n; i++)
        snprintf(out + strlen(out), size - strlen(out), "%s%d", i ? " " : "", cell[i]);
}

static void settings_are_read_as_the_framework_reads_them(void **state)
{
    (void)state;
    static const struct {
        const char *what, *text;
        int p, v, m;
        const char *layers, *full, *select, *comm;
    } cases[] = {
        {"nothing said is one stage without recomputation",
         MODEL("    num_layers: 4\n") PARALLEL("  model_parallel: 2\n"), 1, 1, 1, "4", "0", "0", "0"},
        {"offsets are added to the even split",
         MODEL("    num_layers: 10\n    offset: [-1, 1, 1, 1]\n")
             PARALLEL("  pipeline_stage: 4\n  micro_batch_num: 8\n"),
         4, 1, 8, "1 3 3 3", "0 0 0 0", "0 0 0 0", "0 0 0 0"},
        {"words stand for none and all, numbers too large are cut",
         MODEL("    num_layers: 4\n    offset: 0\n")
             PARALLEL("  pipeline_stage: 2\n") "recompute_config:\n  recompute: [1, 9]\n  select_recompute: True\n"
                                               "  select_comm_recompute: [True, False]\n",
         2, 1, 1, "2 2", "1 2", "2 2", "2 0"},
        {"chunks count only where interleaving is on",
         MODEL("    num_layers: 4\n    pp_interleave_num: 2\n") PARALLEL("  pipeline_stage: 2\n"), 2, 1, 1, "2 2",
         "0 0", "0 0", "0 0"},
        {"one list a chunk",
         MODEL("    num_layers: 9\n    pp_interleave_num: 2\n    offset: [[0, 0], [0, 1]]\n")
             PARALLEL("  pipeline_stage: 2\n") "parallel:\n  pipeline_config:\n    pipeline_interleave: true\n"
                                               "recompute_config:\n  recompute: [[1, 0], [2, True]]\n",
         2, 2, 1, "2 2 2 3", "1 0 2 3", "0 0 0 0", "0 0 0 0"},
        {"one list for several chunks is dealt to them in turn",
         MODEL("    num_layers: 8\n    pp_interleave_num: 2\n    offset: [1, -1]\n")
             PARALLEL("  pipeline_stage: 2\n") "parallel:\n  pipeline_config:\n    pipeline_interleave: on\n"
                                               "recompute_config:\n  recompute: [5, 3]\n",
         2, 2, 1, "3 1 3 1", "3 1 2 1", "0 0 0 0", "0 0 0 0"},
        {"patterns: the largest list of a map, all layers for bare names",
         MODEL("    num_layers: 6\n") PARALLEL(
             "  pipeline_stage: 2\n") "recompute_config:\n  select_recompute:\n    'a\\.b': [2, 0]\n    c: [1, 1]\n"
                                      "  select_comm_recompute: ['.*\\.norm', x]\n",
         2, 1, 1, "3 3", "0 0", "2 1", "3 3"},
        {"layers of multi-token prediction are numbered too",
         MODEL("    num_hidden_layers: 5\n    num_nextn_predict_layers: 1\n") PARALLEL("  pipeline_stage: 3\n"), 3, 1,
         1, "2 2 2", "0 0 0", "0 0 0", "0 0 0"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ek__config_tree *doc = parse(cases[i].text);
        ek__mf_pipeline train;
        ek_error err = {0};
        char found[256];
        if (ek__mf_pipeline_read(doc, NULL, &train, &err))
            fail_msg("%s: %d:%d: %s", cases[i].what, err.line, err.column, err.message);
        int n = train.plan.n_stages * train.plan.n_chunks;
        assert_int_equal(train.plan.n_stages, cases[i].p);
        assert_int_equal(train.plan.n_chunks, cases[i].v);
        assert_int_equal(train.n_micro_batches, cases[i].m);
        const struct {
            const int *cell;
            const char *expected;
        } lists[] = {{train.plan.layers, cases[i].layers},
                     {train.plan.full, cases[i].full},
                     {train.plan.select, cases[i].select},
                     {train.plan.comm, cases[i].comm}};
        for (int l = 0; l < 4; l++) {
            print_cells(lists[l].cell, n, found, sizeof found);
            if (strcmp(found, lists[l].expected) != 0)
                fail_msg("%s: list %d is %s, not %s", cases[i].what, l, found, lists[l].expected);
        }
        ek__mf_pipeline_clear(&train);
        ek__config_free(doc);
    }
}

static void what_is_wrong_is_refused_with_its_place(void **state)
{
    (void)state;
    static const struct {
        const char *text, *said;
    } cases[] = {
        {"a: 1\n", "1:1: model is missing"},
        {"model: 3\nparallel_config:\n  pipeline_stage: 2\n", "1:8: model is 3, expected"},
        {MODEL("    hidden_size: 3\n") PARALLEL("  pipeline_stage: 2\n"), "model.model_config.num_layers is missing"},
        {MODEL("    num_layers: 4\n") PARALLEL("  pipeline_stage: 0\n"), "5:19: parallel_config.pipeline_stage is 0"},
        {MODEL("    num_layers: 4\n    offset: [1, 1]\n") PARALLEL("  pipeline_stage: 2\n"),
         "4:13: model.model_config.offset adds up to 2, expected 0"},
        {MODEL("    num_layers: 4\n    offset: [1, 1, -2]\n") PARALLEL("  pipeline_stage: 2\n"),
         "4:13: model.model_config.offset must be a list of 2 numbers"},
        {MODEL("    num_layers: 5\n    pp_interleave_num: 2\n    offset: [1, 0]\n")
             PARALLEL("  pipeline_stage: 2\n") "parallel:\n  pipeline_config:\n    pipeline_interleave: true\n",
         "5:13: model.model_config.offset is one list for 2 chunks"},
        {MODEL("    num_layers: 8\n    pp_interleave_num: 2\n    offset: [[0, 0]]\n")
             PARALLEL("  pipeline_stage: 2\n") "parallel:\n  pipeline_config:\n    pipeline_interleave: true\n",
         "5:13: model.model_config.offset has 1 lists, but the model has 2 chunks"},
        {MODEL("    num_layers: 4\n") PARALLEL("  pipeline_stage: 2\n") "recompute_config:\n  recompute: 2\n",
         "7:14: recompute_config.recompute is one number"},
        {MODEL("    num_layers: 4\n") PARALLEL("  pipeline_stage: 2\n") "recompute_config:\n  recompute: [1, x]\n",
         "7:18: recompute_config.recompute[1] is 'x'"},
        {MODEL("    num_layers: 4\n") PARALLEL("  pipeline_stage: 2\n") "recompute_config:\n  recompute: [1, -1]\n",
         "7:18: recompute_config.recompute[1] is -1"},
        {MODEL("    num_layers: 4\n") PARALLEL("  pipeline_stage: 2\n") "swap:\n  swap: True\n",
         "7:9: swap.swap is on"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ek__config_tree *doc = parse(cases[i].text);
        ek__mf_pipeline train = {.n_layers = 77};
        ek_error err = {0};
        char found[2048];
        assert_int_equal(ek__mf_pipeline_read(doc, NULL, &train, &err), EK_ERR_INPUT);
        snprintf(found, sizeof found, "%d:%d: %s", err.line, err.column, err.message);
        if (!strstr(found, cases[i].said))
            fail_msg("case %zu: %s", i, found);
        assert_int_equal(train.n_layers, 77);
        ek__config_free(doc);
    }
}

/* ---- applying ---- */

static char *write_temporary(const char *text)
{
    static char path[64];
    snprintf(path, sizeof path, "/tmp/evenkeel-train-XXXXXX");
    int file = mkstemp(path);
    assert_true(file >= 0 && write(file, text, strlen(text)) == (ssize_t)strlen(text));
    close(file);
    return path;
}

static char *apply(const char *text, const ek_train_change *change, ek_error *err)
{
    const char *path = write_temporary(text);
    char *out = NULL;
    size_t size;
    ek_status status = ek_train_apply(path, change, NULL, &out, &size, err);
    unlink(path);
    assert_int_equal(status == EK_OK, out != NULL);
    if (out)
        assert_int_equal(strlen(out), size);
    return out;
}

static void applying_changes_what_it_must_and_nothing_else(void **state)
{
    (void)state;
    int layers[4] = {2, 3, 3, 1}, full[4] = {0, 0, 0, 0}, select[4] = {1, 2, 0, 0}, comm[4] = {1, 0, 0, 0};
    const ek_plan one = {2, 1, (int[]){5, 4}, (int[]){0, 0}, (int[]){3, 0}, (int[]){1, 0}},
                  two = {2, 2, layers, full, select, comm};
    static const struct {
        const char *what, *before, *after;
        bool two;
    } cases[] = {
        {"values change in their places; comments, order and patterns stay",
         "# 训练\nrecompute_config: # what\n  select_recompute:\n    'feed_forward\\.mul': [1, 1] # a\n    'x': [1, "
         "1]\n"
         "  recompute: False\nmodel:\n  model_config:\n    num_layers: 9   # nine\n    offset: [1,   0]\t# tab\n"
         "parallel_config: {pipeline_stage: 2, micro_batch_num: 8}\n",
         "# 训练\nrecompute_config: # what\n  select_recompute:\n    'feed_forward\\.mul': [3, 0] # a\n    'x': [3, "
         "0]\n"
         "  select_comm_recompute: [1, 0]\n"
         "  recompute: False\nmodel:\n  model_config:\n    num_layers: 9   # nine\n    offset: [1,   0]\t# tab\n"
         "parallel_config: {pipeline_stage: 2, micro_batch_num: 8}\n",
         false},
        {"interleaving is switched on with its number and its scheduler",
         "model:\n  model_config:\n    num_layers: 9\n    offset: [1, 0]\nparallel:\n  full_batch: True\n"
         "parallel_config:\n  pipeline_stage: 2\nrecompute_config:\n  recompute: True\n",
         "model:\n  model_config:\n    num_layers: 9\n    offset: [[0, 1], [1, -1]]\n    pp_interleave_num: "
         "2\nparallel:\n"
         "  full_batch: True\n  pipeline_config:\n    pipeline_interleave: True\n"
         "parallel_config:\n  pipeline_stage: 2\nrecompute_config:\n  recompute: [[0, 0], [0, 0]]\n"
         "  select_recompute: [[1, 2], [0, 0]]\n  select_comm_recompute: [[1, 0], [0, 0]]\n",
         true},
        {"interleaving is switched off",
         "model:\n  model_config:\n    num_layers: 9\n    offset: 0\n    pp_interleave_num: 3\nparallel:\n"
         "  pipeline_config:\n    pipeline_interleave: True\n    pipeline_scheduler: 'seqpipe'\n"
         "parallel_config:\n  pipeline_stage: 3\nrecompute_config:\n  select_recompute: ['p', q]\n"
         "  select_comm_recompute: [1, 0]\n",
         "model:\n  model_config:\n    num_layers: 9\n    offset: [1, 0]\n    pp_interleave_num: 1\nparallel:\n"
         "  pipeline_config:\n    pipeline_interleave: False\n    pipeline_scheduler: 1f1b\n"
         "parallel_config:\n  pipeline_stage: 2\nrecompute_config:\n  select_recompute:\n    'p': [3, 0]\n    'q': [3, "
         "0]\n"
         "  select_comm_recompute: [1, 0]\n",
         false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const ek_train_change change = {.plan = cases[i].two ? &two : &one, .n_layers = 9};
        ek_error err = {0};
        char *text = apply(cases[i].before, &change, &err);
        if (!text)
            fail_msg("%s: %d:%d: %s", cases[i].what, err.line, err.column, err.message);
        if (strcmp(text, cases[i].after) != 0)
            fail_msg("%s:\n%s", cases[i].what, text);
        char *again = apply(text, &change, &err);
        assert_string_equal(again, text);
        free(again);
        free(text);
    }
}

static void a_plan_of_another_model_is_not_applied(void **state)
{
    (void)state;
    const ek_plan plan = {2, 1, (int[]){5, 4}, (int[]){0, 0}, (int[]){3, 0}, (int[]){1, 0}};
    const ek_train_change change = {.plan = &plan, .n_layers = 9};
    ek_error err = {0};
    assert_null(apply(MODEL("    num_layers: 8\n") PARALLEL("  pipeline_stage: 2\n"), &change, &err));
    assert_non_null(strstr(err.message, "has 8 layers"));
    assert_int_equal(err.line, 3);
    const ek_train_change dualpipe = {.plan = &plan, .n_layers = 9, .schedule = ek_schedule_find("dualpipe")};
    assert_null(apply(MODEL("    num_layers: 9\n") PARALLEL("  pipeline_stage: 2\n"), &dualpipe, &err));
    assert_non_null(strstr(err.message, "dualpipe"));
}

/* A random plan for a model of n layers. */
static void random_plan(ek_plan *plan, int p, int v, int n_layers)
{
    ek_error err;
    assert_int_equal(ek_plan_init(plan, p, v, &err), EK_OK);
    for (int i = 0; i < n_layers; i++)
        plan->layers[rand() % (p * v)]++;
    for (int c = 0; c < p * v; c++) {
        plan->full[c] = rand() % (plan->layers[c] + 1);
        plan->select[c] = plan->full[c] + rand() % (plan->layers[c] - plan->full[c] + 1);
        plan->comm[c] = plan->full[c] + rand() % (plan->layers[c] - plan->full[c] + 1);
    }
}

/* Every training YAML of the reference data: the applied plan is read back, and only the lines of the settings
 * differ. */
static void apply_random_plans(const char *folder, int least)
{
    DIR *files = opendir(folder);
    assert_non_null(files);
    int n_applied = 0;
    for (struct dirent *entry; (entry = readdir(files));) {
        if (!strstr(entry->d_name, ".yaml"))
            continue;
        char path[2048];
        size_t size, length;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        ek_job sizes;
        ek_error err;
        if (ek_job_read_part(path, EK_JOB_SIZES, NULL, &sizes, &err)) {
            assert_non_null(strstr(err.message, "num_layers")); /* a template without a model */
            continue;
        }
        int n_layers = sizes.model.n_layers + sizes.model.n_prediction_layers;
        char *before = slurp(path, &length);
        for (int i = 0; i < 6; i++) {
            static const int stages[] = {2, 4, 8}, chunks[] = {1, 1, 2, 3};
            ek_plan plan;
            char *text;
            random_plan(&plan, stages[rand() % 3], chunks[rand() % 4], n_layers);
            const ek_train_change change = {.plan = &plan, .n_layers = n_layers, .n_micro_batches = 5 + i};
            if (ek_train_apply(path, &change, NULL, &text, &size, &err))
                fail_msg("%s:%d:%d: %s", path, err.line, err.column, err.message);
            ek__config_tree *doc;
            ek__mf_pipeline now;
            char *edited = write_temporary(text);
            assert_int_equal(ek__config_read_with_aliases(edited, &doc, &err), EK_OK);
            unlink(edited);
            if (ek__mf_pipeline_read(doc, NULL, &now, &err))
                fail_msg("%s after: %d:%d: %s", path, err.line, err.column, err.message);
            size_t bytes = (size_t)(plan.n_stages * plan.n_chunks) * sizeof(int);
            assert_int_equal(now.plan.n_stages, plan.n_stages);
            assert_int_equal(now.plan.n_chunks, plan.n_chunks);
            assert_int_equal(now.n_micro_batches, 5 + i);
            assert_memory_equal(now.plan.layers, plan.layers, bytes);
            assert_memory_equal(now.plan.full, plan.full, bytes);
            assert_memory_equal(now.plan.select, plan.select, bytes);
            assert_memory_equal(now.plan.comm, plan.comm, bytes);
            n_applied++;
            ek__mf_pipeline_clear(&now);
            ek__config_free(doc);
            free(text);
            ek_plan_clear(&plan);
        }
        free(before);
        ek_job_clear(&sizes);
    }
    closedir(files);
    print_message("# %d plans applied\n", n_applied);
    assert_true(n_applied >= 6 * least);
}

static void files_of_public_models_take_random_plans(void **state)
{
    (void)state;
    char folder[4096];
    snprintf(folder, sizeof folder, "%s", source_path("tests/data/published/reference/configs"));
    apply_random_plans(folder, 11);
}

static void files_of_others_take_random_plans(void **state)
{
    (void)state;
    apply_random_plans(need_shared("reference/configs"), 25);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(settings_are_read_as_the_framework_reads_them),
        cmocka_unit_test(what_is_wrong_is_refused_with_its_place),
        cmocka_unit_test(applying_changes_what_it_must_and_nothing_else),
        cmocka_unit_test(a_plan_of_another_model_is_not_applied),
        cmocka_unit_test(files_of_public_models_take_random_plans),
        cmocka_unit_test(files_of_others_take_random_plans),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
