/* Tests parts of jobs: in a whole file each part is that of the whole job, for every kind of file; a YAML of
 * MindFormers may lack everything that a part does not need; other files, and files without a layout, are recognised;
 * and the plan that a training file runs is read as a plan file. */
#include "evenkeel/job.h"
#include "evenkeel/layers.h"
#include "evenkeel/strategies.h"
#include "input.h"

#include <glob.h>

typedef struct file_of_job {
    char path[1024];
} file_of_job;

enum { MAX_FILES = 64 };

/* The training files of every framework that the source tree has. */
static int list_files(file_of_job out[MAX_FILES])
{
    static const char *const patterns[] = {
        "examples/*.sh",           "examples/llama*_*.yaml",  "examples/*config.json", "examples/gallery/*.sh",
        "examples/gallery/*.toml", "examples/gallery/*.yaml", "tests/data/job/*"};
    int n = 0;
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
        glob_t found;
        assert_int_equal(glob(source_path(patterns[i]), 0, NULL, &found), 0);
        for (size_t k = 0; k < found.gl_pathc && n < MAX_FILES; k++) {
            ek_job job;
            if (ek_job_read(found.gl_pathv[k], NULL, NULL, &job, NULL))
                continue;
            ek_job_clear(&job);
            snprintf(out[n++].path, sizeof out->path, "%s", found.gl_pathv[k]);
        }
        globfree(&found);
    }
    return n;
}

static void read_part(const char *path, ek_job_part part, ek_job *out)
{
    ek_error err = {0};
    if (ek_job_read_part(path, part, NULL, out, &err))
        fail_msg("%s: part %d: %d:%d: %s", path, (int)part, err.line, err.column, err.message);
}

static void assert_degrees(const char *path, const ek_job *job)
{
    ek_job part;
    read_part(path, EK_JOB_DEGREES, &part);
    const ek_job_parallel *a = &part.parallel, *b = &job->parallel;
    int stages = a->pipeline ? a->pipeline : 1; /* a YAML without the setting has one */
    if (a->data != b->data || a->tensor != b->tensor || a->context != b->context || a->expert != b->expert ||
        stages != b->pipeline)
        fail_msg("%s: dp %d tp %d cp %d ep %d pp %d", path, a->data, a->tensor, a->context, a->expert, a->pipeline);
    assert_int_equal(part.no_layout, job->no_layout);
    ek_job_clear(&part);
}

static void assert_sizes(const char *path, const ek_job *part, const ek_job *job)
{
    if (part->plan.n_stages != job->plan.n_stages || part->plan.n_chunks != job->plan.n_chunks ||
        part->model.n_layers != job->model.n_layers ||
        part->model.n_prediction_layers != job->model.n_prediction_layers ||
        part->parallel.n_pieces != job->parallel.n_pieces || part->schedule != job->schedule)
        fail_msg("%s: %d stages x %d chunks, %d layers", path, part->plan.n_stages, part->plan.n_chunks,
                 part->model.n_layers);
    /* Without a pipeline a whole job of MindFormers counts them as accumulated. */
    if (job->parallel.pipeline > 1)
        assert_int_equal(part->parallel.n_micro_batches, job->parallel.n_micro_batches);
}

static void assert_plan(const char *path, const ek_job *job)
{
    ek_job part;
    read_part(path, EK_JOB_PLAN, &part);
    assert_sizes(path, &part, job);
    const struct {
        const int *a, *b;
    } lists[] = {{part.plan.layers, job->plan.layers},
                 {part.plan.full, job->plan.full},
                 {part.plan.select, job->plan.select},
                 {part.plan.comm, job->plan.comm}};
    for (int l = 0; l < 4; l++)
        for (int c = 0; c < job->plan.n_stages * job->plan.n_chunks; c++)
            if (lists[l].a[c] != lists[l].b[c])
                fail_msg("%s: list %d of chunk %d is %d, not %d", path, l, c, lists[l].a[c], lists[l].b[c]);
    ek_job_clear(&part);
}

static void assert_shapes(const char *path, const ek_job *job)
{
    ek_job part;
    read_part(path, EK_JOB_SHAPES, &part);
    const ek_job_model *a = &part.model, *b = &job->model;
    if (a->hidden != b->hidden || a->n_heads != b->n_heads || a->head_dim != b->head_dim ||
        a->value_dim != b->value_dim || a->intermediate != b->intermediate || a->vocab != b->vocab ||
        part.parallel.batch != job->parallel.batch || part.parallel.seq_length != job->parallel.seq_length ||
        part.parallel.tensor != job->parallel.tensor || part.parallel.context != job->parallel.context)
        fail_msg("%s: hidden %d, %d heads of %d and %d, intermediate %d, vocabulary %d", path, a->hidden, a->n_heads,
                 a->head_dim, a->value_dim, a->intermediate, a->vocab);
    assert_int_equal(part.seq_line, job->seq_line);
    ek_job_clear(&part);
}

static void parts_are_those_of_the_whole_job(void **state)
{
    (void)state;
    static file_of_job files[MAX_FILES];
    int n = list_files(files), n_of[EK_N_FRAMEWORKS] = {0};
    for (int i = 0; i < n; i++) {
        ek_job job, sizes;
        assert_int_equal(ek_job_read(files[i].path, NULL, NULL, &job, NULL), EK_OK);
        n_of[job.framework]++;
        assert_degrees(files[i].path, &job);
        read_part(files[i].path, EK_JOB_SIZES, &sizes);
        assert_sizes(files[i].path, &sizes, &job);
        ek_job_clear(&sizes);
        assert_plan(files[i].path, &job);
        assert_shapes(files[i].path, &job);
        ek_job_clear(&job);
    }
    assert_true(n >= 25);
    for (int f = 0; f < EK_N_FRAMEWORKS; f++)
        assert_true(n_of[f] > 0);
}

static void files_that_say_no_layout_are_known(void **state)
{
    (void)state;
    static const struct {
        const char *path;
        bool no_layout;
    } cases[] = {{"tests/data/job/qwen2.json", true},      {"examples/moe_16b_config.json", true},
                 {"tests/data/job/moe.args", false},       {"tests/data/job/torchtitan_70b.toml", false},
                 {"tests/data/job/mindspeed.yaml", false}, {"tests/data/job/llama.yaml", false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int part = EK_JOB_DEGREES; part <= EK_JOB_SHAPES; part++) {
            said s = {{0}, 0, 0};
            const ek_listener listener = {say_warning, &s};
            ek_job job;
            assert_int_equal(ek_job_read_part(source_path(cases[i].path), part, &listener, &job, NULL), EK_OK);
            assert_int_equal(job.no_layout, cases[i].no_layout);
            if (cases[i].no_layout) /* of a run that is not given */
                assert_int_equal(s.n_warnings, 0);
            ek_job_clear(&job);
        }
}

/* ---- files of less than a job ---- */

static const char *write_file(const char *text)
{
    static char path[64];
    snprintf(path, sizeof path, "/tmp/evenkeel-part-XXXXXX");
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    FILE *file = fdopen(fd, "w");
    fputs(text, file);
    fclose(file);
    return path;
}

static void a_part_needs_its_own_keys_alone(void **state)
{
    (void)state;
    enum { D = 1, Z = 2, P = 4, S = 8 }; /* degrees, sizes, plan, shapes */
    static const struct {
        const char *what, *text;
        int fine;
    } cases[] = {
        {"degrees alone", "parallel_config: {data_parallel: 2, pipeline_stage: 4}\n", D},
        {"layers, and lists that are wrong",
         "model: {model_config: {num_layers: 8, offset: [1, 1, 1]}}\nparallel_config: {pipeline_stage: 2}\n", D | Z},
        {"layers and lists",
         "model: {model_config: {num_layers: 8, offset: [1, -1]}}\nparallel_config: "
         "{pipeline_stage: 2}\n",
         D | Z | P},
        {"shapes without layers",
         "model: {model_config: {hidden_size: 64, num_heads: 4, seq_length: 8, vocab_size: 9, intermediate_size: 7}}\n"
         "parallel_config: {model_parallel: 2}\nrunner_config: {batch_size: 3}\n",
         D | S},
        {"a switch that is wrong spoils what has to do with it",
         "model: {model_config: {num_layers: 8, hidden_size: 64, num_heads: 4, seq_length: 8, vocab_size: 9, "
         "intermediate_size: 7}}\nparallel: {pipeline_config: {pipeline_interleave: 3}}\n"
         "parallel_config: {model_parallel: 2}\nrunner_config: {batch_size: 3}\n",
         D},
        {"nothing of a job", "learning_rate: 1\n", 0},
        {"arguments that are not enough", "torchrun pretrain_gpt.py --num-layers 8 --hidden-size 64\n", 0},
        {"a TOML with a wrong value", "[training]\nseq_len = \"long\"\n", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *path = write_file(cases[i].text);
        for (int part = EK_JOB_DEGREES; part <= EK_JOB_SHAPES; part++) {
            ek_job job = {.model.n_layers = 77};
            ek_error err = {0};
            bool fine = ek_job_read_part(path, part, NULL, &job, &err) == EK_OK;
            if (fine != ((cases[i].fine >> part & 1) != 0))
                fail_msg("%s: part %d: %s", cases[i].what, part, fine ? "is read" : err.message);
            if (fine)
                ek_job_clear(&job);
            else
                assert_true(err.message[0] && job.model.n_layers == 77);
        }
        remove(path);
    }
}

static void too_many_devices_are_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "parallel_config: {data_parallel: 16777216, model_parallel: 2}\n",
        "parallel_config: {data_parallel: 4096, model_parallel: 4096, context_parallel: 1, pipeline_stage: 2}\n",
        "parallel_config: {data_parallel: 16777217}\n"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        const char *path = write_file(texts[i]);
        ek_job job;
        assert_int_equal(ek_job_read_part(path, EK_JOB_DEGREES, NULL, &job, NULL), EK_ERR_INPUT);
        remove(path);
    }
}

/* A newer model does not define the places of odd layers, and neither does the framework: they are spread, as in the
 * whole job. */
static void layers_that_do_not_divide_are_spread_where_the_framework_does(void **state)
{
    (void)state;
    const char *path = write_file("model: {model_config: {num_hidden_layers: 7, offset: 0}}\n"
                                  "parallel_config: {pipeline_stage: 2}\n");
    said s = {{0}, 0, 0};
    const ek_listener listener = {say_warning, &s};
    ek_job job;
    assert_int_equal(ek_job_read_part(path, EK_JOB_PLAN, &listener, &job, NULL), EK_OK);
    assert_int_equal(job.plan.layers[0], 4);
    assert_int_equal(job.plan.layers[1], 3);
    assert_int_equal(s.n_warnings, 1);
    assert_non_null(strstr(s.text, "spread evenly"));
    ek_job_clear(&job);
    remove(path);
}

static void the_place_of_the_sequence_length_is_known(void **state)
{
    (void)state;
    static const struct {
        const char *path, *line;
    } cases[] = {{"examples/megatron_13b.sh", "--seq-length"},
                 {"tests/data/job/mindspeed.yaml", "seq_length"},
                 {"tests/data/job/torchtitan_70b.toml", "seq_len"},
                 {"tests/data/job/llama.yaml", "seq_length"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t size;
        ek_job job;
        read_part(source_path(cases[i].path), EK_JOB_SHAPES, &job);
        char *text = slurp(source_path(cases[i].path), &size), *line = text;
        for (int k = 1; k < job.seq_line; k++)
            line = strchr(line, '\n') + 1;
        line[strcspn(line, "\n")] = '\0';
        if (job.seq_line == 0 || !strstr(line, cases[i].line))
            fail_msg("%s:%d: %s", cases[i].path, job.seq_line, line);
        free(text);
        ek_job_clear(&job);
    }
}

/* ---- as plan files ---- */

static void a_training_file_is_read_as_the_plan_it_runs(void **state)
{
    (void)state;
    static file_of_job files[MAX_FILES];
    int n = list_files(files), n_plans = 0;
    for (int i = 0; i < n; i++) {
        ek_job job;
        ek_strategies strategies;
        ek_error err = {0};
        ek_layer body;
        read_part(files[i].path, EK_JOB_PLAN, &job);
        int n_layers = job.model.n_layers + job.model.n_prediction_layers,
            n_cells = job.plan.n_stages * job.plan.n_chunks;
        ek_layers layers = ek_layers_bare(n_layers, &body), fewer = ek_layers_bare(n_layers - 1, &body);
        if (job.no_layout) {
            assert_int_equal(ek_strategies_read(files[i].path, &layers, 0, NULL, &strategies, &err), EK_ERR_INPUT);
            assert_non_null(strstr(err.message, "no layout"));
        } else {
            if (ek_strategies_read(files[i].path, &layers, 0, NULL, &strategies, &err))
                fail_msg("%s: %s", files[i].path, err.message);
            const ek_strategy *today = &strategies.strategy[0];
            assert_int_equal(strategies.n, 1);
            assert_string_equal(today->name, "today");
            assert_int_equal(today->n_micro_batches, job.parallel.n_micro_batches);
            assert_ptr_equal(today->schedule, job.schedule);
            assert_memory_equal(today->plan.layers, job.plan.layers, (size_t)n_cells * sizeof(int));
            assert_memory_equal(today->plan.full, job.plan.full, (size_t)n_cells * sizeof(int));
            ek_strategies_clear(&strategies);
            assert_int_equal(ek_strategies_read(files[i].path, &fewer, 0, NULL, &strategies, &err), EK_ERR_INPUT);
            assert_non_null(strstr(err.message, "does not go with the model"));
            n_plans++;
        }
        ek_job_clear(&job);
    }
    assert_true(n_plans >= 20);
}

/* A plan file that names a launch command is a plan file; a YAML of another kind with one is the job of that
 * command. */
static void a_command_in_a_yaml_does_not_hide_its_plans(void **state)
{
    (void)state;
    static const char arguments[] =
        "--num-layers 8 --hidden-size 64 --num-attention-heads 4 --seq-length 8 --micro-batch-size 1 "
        "--global-batch-size 4 --vocab-size 100 --pipeline-model-parallel-size 2 --bf16 --transformer-impl local";
    char text[1024];
    ek_layer body;
    ek_layers layers = ek_layers_bare(8, &body);
    ek_strategies strategies;
    ek_error err = {0};
    snprintf(text, sizeof text, "# for torchrun pretrain_gpt.py %s\nmine: {offset: [1, -1]}\n", arguments);
    const char *path = write_file(text);
    assert_int_equal(ek_strategies_read(path, &layers, 0, NULL, &strategies, NULL), EK_OK);
    assert_string_equal(strategies.strategy[0].name, "mine");
    ek_strategies_clear(&strategies);
    remove(path);
    snprintf(text, sizeof text, "kind: Job\nargs: >-\n  torchrun --nproc-per-node 2 pretrain_gpt.py %s\n", arguments);
    path = write_file(text);
    if (ek_strategies_read(path, &layers, 0, NULL, &strategies, &err))
        fail_msg("%s", err.message);
    assert_string_equal(strategies.strategy[0].name, "today");
    assert_int_equal(strategies.strategy[0].plan.n_stages, 2);
    ek_strategies_clear(&strategies);
    remove(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_are_those_of_the_whole_job),
        cmocka_unit_test(files_that_say_no_layout_are_known),
        cmocka_unit_test(a_part_needs_its_own_keys_alone),
        cmocka_unit_test(too_many_devices_are_refused),
        cmocka_unit_test(layers_that_do_not_divide_are_spread_where_the_framework_does),
        cmocka_unit_test(the_place_of_the_sequence_length_is_known),
        cmocka_unit_test(a_training_file_is_read_as_the_plan_it_runs),
        cmocka_unit_test(a_command_in_a_yaml_does_not_hide_its_plans),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
