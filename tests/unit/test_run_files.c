/* Tests identifying and reading the files of a run: folders made by the tests, and the readers called one by one as the
 * oracle of their combined result. */
#include "input.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

#include "assert_close.h"
#include "evenkeel/estimate.h"
#include "evenkeel/ir_files.h"
#include "evenkeel/job_layers.h"
#include "evenkeel/lint_files.h"
#include "evenkeel/measured_peaks.h"
#include "evenkeel/prediction.h"
#include "evenkeel/run.h"
#include "evenkeel/run_files.h"

/* ---- memory that runs out ---- */

void *__real_ek__alloc(size_t count, size_t size);
void *__wrap_ek__alloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void *__wrap_realloc(void *old, size_t size);
char *__real_strdup(const char *text);
char *__wrap_strdup(const char *text);
typedef int choose_entry(const struct dirent *entry);
typedef int compare_entries(const struct dirent **a, const struct dirent **b);
int __real_scandir64(const char *path, struct dirent ***out, choose_entry *choose, compare_entries *compare);
int __wrap_scandir64(const char *path, struct dirent ***out, choose_entry *choose, compare_entries *compare);

static int left = -1; /* allocations until one fails; negative: none does */

static bool fails(void)
{
    errno = left == 0 ? ENOMEM : errno;
    return left >= 0 && left-- == 0;
}

void *__wrap_ek__alloc(size_t count, size_t size)
{
    return fails() ? NULL : __real_ek__alloc(count, size);
}

void *__wrap_realloc(void *old, size_t size)
{
    return fails() ? NULL : __real_realloc(old, size);
}

char *__wrap_strdup(const char *text)
{
    return fails() ? NULL : __real_strdup(text);
}

/* The name of scandir with file offsets of 64 bits. */
int __wrap_scandir64(const char *path, struct dirent ***out, choose_entry *choose, compare_entries *compare)
{
    return fails() ? -1 : __real_scandir64(path, out, choose, compare);
}

/* ---- files ---- */

static char root[] = "/tmp/evenkeel-run-XXXXXX";

/* ROOT/name, in one of a few static buffers. */
static const char *at(const char *name)
{
    static char path[4][4096];
    static int next;
    char *text = path[next++ % 4];
    snprintf(text, sizeof path[0], "%s/%s", root, name);
    return text;
}

/* A file below the root with its folders. */
static void put(const char *name, const char *text, size_t size)
{
    char path[4096];
    snprintf(path, sizeof path, "%s", at(name));
    for (char *slash = strchr(path + sizeof root, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(path, 0777);
        *slash = '/';
    }
    FILE *out = fopen(path, "wb");
    assert_non_null(out);
    assert_int_equal(fwrite(text, 1, size, out), size);
    assert_int_equal(fclose(out), 0);
}

static void put_text(const char *name, const char *text)
{
    put(name, text, strlen(text));
}

static void put_copy(const char *name, const char *source)
{
    size_t size = 0;
    char *text = slurp(source_path(source), &size);
    assert_non_null(text);
    put(name, text, size);
    free(text);
}

static int make_root(void **state)
{
    (void)state;
    snprintf(root, sizeof root, "/tmp/evenkeel-run-XXXXXX");
    return mkdtemp(root) ? 0 : 1;
}

static int remove_root(void **state)
{
    (void)state;
    char command[4200];
    snprintf(command, sizeof command, "rm -rf %s", root);
    return system(command);
}

static const char steps[] = "per_step_time: 1000ms\n";
static const char peaks[] = "[WARNING] Actual peak memory usage (with fragments): 2000M\n"
                            "[WARNING] Used peak memory usage (without fragments): 1900M\n";
static const char settings[] = "parallel_config:\n  model_parallel: 2\n";
static const char graph[] = "# IR entry: @main\n";
static const char trace[] = "{\"traceEvents\": [{\"ph\": \"X\"}]}\n";

/* ---- kinds ---- */

static void a_file_is_what_it_holds_whatever_its_name(void **state)
{
    (void)state;
    static const struct {
        const char *name, *text;
        ek_run_kind kind;
    } cases[] = {
        {"a", trace, EK_RUN_TRACE},
        {"b.yaml", settings, EK_RUN_CONFIG},
        {"c.yaml", peaks, EK_RUN_DRY_RUN},
        {"d.txt", graph, EK_RUN_IR},
        {"e.json", steps, EK_RUN_LOG},
        {"f", "recompute: [[1]]\noffset: [[0]]\n", EK_RUN_PLAN},
        {"g", "{\"layers_description\": []}", EK_RUN_LAYERS},
        {"h", "pipeline_num: 4\nrecompute_config:\n", EK_RUN_INIT},
        {"i", "{\"version\": 1, \"sweep\": {}}", EK_RUN_ANSWER},
        {"j", "some words\n", EK_RUN_UNKNOWN},
        {"k.json.gz", "\x1f\x8b", EK_RUN_TRACE},
        {"step_trace_time.csv", "x\n", EK_RUN_TRACE},
        {"l", "\xef\xbb\xbf{\"hidden_size\": 4096}", EK_RUN_CONFIG},
        {"m", "", EK_RUN_UNKNOWN},
        {"n", "# a run\nmodel:\n  tensor_model_parallel_size: 2\n", EK_RUN_CONFIG},
        {"o", "tensor_model_parallel_size ...... 2\n", EK_RUN_UNKNOWN},
        {"s", "{\"distributed_args\": {\"tensor_model_parallel_size\": 1, \"world_size\": 2}}", EK_RUN_UNKNOWN},
        {"p", "### model\nmodel_name_or_path: x\n", EK_RUN_CONFIG},
        {"q", "torchrun a.py --model_name_or_path x\n", EK_RUN_CONFIG},
        {"r", "SEQ = 1\nparallel = dict(zero1=1)\n", EK_RUN_CONFIG},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        put_text(cases[i].name, cases[i].text);
        ek_run_kind kind = ek_run_kind_of(at(cases[i].name));
        if (kind != cases[i].kind)
            fail_msg("%s is taken as %d, not as %d", cases[i].name, kind, cases[i].kind);
    }
    assert_int_equal(ek_run_kind_of(at("none")), EK_RUN_UNKNOWN);
}

/* A launcher prints its settings first; steps come after the first block. */
static void steps_late_in_a_log_count_more_than_the_settings_before(void **state)
{
    (void)state;
    enum { SIZE = 3 << 20 };
    char *text = malloc(SIZE);
    assert_non_null(text);
    memset(text, '\n', SIZE);
    memcpy(text, settings, sizeof settings - 1);
    put("launch.log", text, SIZE);
    assert_int_equal(ek_run_kind_of(at("launch.log")), EK_RUN_CONFIG);
    /* Across the border of two blocks of 1 MB. */
    memcpy(text + (1 << 20) - 5, steps, sizeof steps - 1);
    put("launch.log", text, SIZE);
    assert_int_equal(ek_run_kind_of(at("launch.log")), EK_RUN_LOG);
    free(text);
}

/* ---- lists ---- */

static void make_run(void)
{
    put_text("run/profile/rank_0/trace_view.json", trace);
    put_text("run/profile/rank_1/trace_view.json", trace);
    put_text("run/profile/rank_1/step_trace_time.csv", "Step\n");
    put_text("run/graphs/05_optimize.ir", graph);
    put_text("run/graphs/18_validate.ir", graph);
    put_text("run/graphs/20_other.ir", graph);
    put_text("run/train.yaml", settings);
    put_text("run/worker.log", steps);
    put_text("run/plan.yaml", "recompute: [[1]]\noffset: [[0]]\n");
    put_text("run/.hidden.yaml", settings);
    put_text("run/readme", "some words\n");
    put_text("run/empty.yaml", "");
}

static void a_folder_gives_each_kind_once_by_name(void **state)
{
    (void)state;
    make_run();
    static const struct {
        const char *name;
        ek_run_kind kind;
    } expected[] = {{"run/graphs/18_validate.ir", EK_RUN_IR},
                    {"run/train.yaml", EK_RUN_CONFIG},
                    {"run/worker.log", EK_RUN_LOG},
                    {"run", EK_RUN_TRACE}};
    ek_run_files files = {0};
    ek_error err;
    char slashed[4096];
    snprintf(slashed, sizeof slashed, "%s//", at("run"));
    if (ek_run_files_add(&files, slashed, EK_RUN_UNKNOWN, NULL, &err))
        fail_msg("%s", err.message);
    assert_int_equal(files.n, 4);
    for (int i = 0; i < 4; i++) {
        assert_string_equal(files.file[i].path, at(expected[i].name));
        assert_int_equal(files.file[i].kind, expected[i].kind);
        assert_true(files.file[i].found);
    }
    assert_int_equal(files.n_traces, 2);
    assert_int_equal(files.trace_bytes, 2 * strlen(trace));
    const char *path[EK_MAX_RUN_FILES];
    assert_int_equal(ek_run_files_of(&files, EK_RUN_LOG, path), 1);
    assert_string_equal(path[0], at("run/worker.log"));
    assert_ptr_equal(ek_run_files_first(&files, EK_RUN_CONFIG), &files.file[1]);
    assert_null(ek_run_files_first(&files, EK_RUN_DRY_RUN));
    ek_run_files_clear(&files);
    assert_int_equal(files.n, 0);
}

static void what_is_named_is_taken_as_it_is_said(void **state)
{
    (void)state;
    make_run();
    put_text("dry/rank_3.log", peaks);
    put_text("list.txt", "dry/rank_3.log:1: peak memory usage 3M\n");
    ek_run_files files = {.models = true};
    ek_error err;
    assert_int_equal(ek_run_files_add(&files, at("run/profile"), EK_RUN_TRACE, NULL, &err), EK_OK);
    assert_int_equal(files.n_traces, 2);
    assert_int_equal(ek_run_files_add(&files, at("dry/rank_3.log"), EK_RUN_UNKNOWN, NULL, &err), EK_OK);
    assert_int_equal(ek_run_files_add(&files, at("list.txt"), EK_RUN_DRY_RUN, NULL, &err), EK_OK);
    assert_int_equal(ek_run_files_add(&files, at("run/plan.yaml"), EK_RUN_UNKNOWN, NULL, &err), EK_OK);
    assert_int_equal(files.n, 4);
    assert_string_equal(files.file[1].path, at("dry"));
    assert_string_equal(files.file[2].path, at("list.txt"));
    assert_int_equal(files.file[3].kind, EK_RUN_PLAN);
    assert_false(files.file[3].found);
    ek_run_files_clear(&files);
}

static void what_is_nothing_of_a_run_is_refused(void **state)
{
    (void)state;
    make_run();
    put_text("answer.json", "{\"version\": 1, \"sweep\": {}}");
    static const struct {
        const char *name;
        ek_run_kind kind;
        bool models;
        const char *message;
    } cases[] = {
        {"none", EK_RUN_UNKNOWN, false, "cannot read '"},
        {"run/readme", EK_RUN_UNKNOWN, false, "is neither a trace, nor settings of a training job"},
        {"run/readme", EK_RUN_UNKNOWN, true, "is not something to look at"},
        {"run/plan.yaml", EK_RUN_UNKNOWN, false, "is neither a trace, nor settings of a training job"},
        {"answer.json", EK_RUN_UNKNOWN, true, "is an answer of a command"},
        {"run/readme", EK_RUN_DRY_RUN, false, "has no line with a peak memory usage"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ek_run_files files = {.models = cases[i].models};
        ek_error err;
        assert_int_equal(ek_run_files_add(&files, at(cases[i].name), cases[i].kind, NULL, &err), EK_ERR_INPUT);
        if (!strstr(err.message, cases[i].message))
            fail_msg("%s", err.message);
        assert_int_equal(ek_run_files_add(&files, at(cases[i].name), cases[i].kind, NULL, NULL), EK_ERR_INPUT);
        assert_int_equal(files.n, 0);
        ek_run_files_clear(&files);
    }
}

/* Each allocation of a search fails once. */
static void a_search_finds_all_or_says_that_memory_is_out(void **state)
{
    (void)state;
    static const struct {
        const char *file;
        ek_run_kind kind;
    } found[] = {{"all/a.yaml", EK_RUN_CONFIG},
                 {"all/deep/b.log", EK_RUN_LOG},
                 {"all/deep/er/c.ir", EK_RUN_IR},
                 {"all", EK_RUN_TRACE},
                 {"all", EK_RUN_DRY_RUN}};
    enum { N = sizeof found / sizeof *found };
    put_text("all/a.yaml", settings);
    put_text("all/deep/b.log", steps);
    put_text("all/deep/er/c.ir", graph);
    put_text("all/trace_view.json", trace);
    put_text("all/stage0_0/mindformer.log", peaks);
    int n_told = 0;
    for (bool failed = true; failed; n_told += failed) {
        ek_run_files files = {0};
        ek_error err = {.message = ""};
        left = n_told;
        ek_status status = ek_run_files_add(&files, at("all"), EK_RUN_UNKNOWN, NULL, &err);
        failed = left < 0;
        left = -1;
        assert_int_equal(status, failed ? EK_ERR_MEMORY : EK_OK);
        if (failed)
            assert_string_equal(err.message, "out of memory");
        assert_true(failed || files.n == N);
        for (int i = 0; i < files.n && !failed; i++) {
            assert_string_equal(files.file[i].path, at(found[i].file));
            assert_int_equal(files.file[i].kind, found[i].kind);
            assert_true(files.file[i].found);
        }
        ek_run_files_clear(&files);
    }
    assert_int_equal(n_told, 4 + 1 + N); /* folders, the list, its paths */
}

static void databases_alone_are_noted(void **state)
{
    (void)state;
    put_text("db/one.db", "SQLite");
    put_text("db/two.db", "SQLite");
    said heard = {0};
    const ek_listener notes = {say_warning, &heard};
    ek_run_files files = {0};
    assert_int_equal(ek_run_files_add(&files, at("db"), EK_RUN_UNKNOWN, &notes, NULL), EK_OK);
    assert_int_equal(files.n, 0);
    assert_int_equal(heard.n_warnings, 1);
    assert_non_null(strstr(heard.text, "has 2 databases (.db) without the tables of a profiler's export"));
    ek_run_files_clear(&files);
}

/* ---- reading ---- */

static ek_run_evidence evidence; /* too large for the stack */

static void the_shipped_run_is_what_its_readers_give(void **state)
{
    (void)state;
    said heard = {0};
    const ek_listener notes = {say_warning, &heard};
    ek_run_files files = {0};
    ek_error err;
    char folder[4096];
    snprintf(folder, sizeof folder, "%s", source_path("examples/run"));
    assert_int_equal(ek_run_files_add(&files, folder, EK_RUN_UNKNOWN, &notes, &err), EK_OK);
    const ek_run_reading how = {.files = &files, .notes = &notes, .device = "910B"};
    if (ek_run_read(&how, &evidence, &err))
        fail_msg("%s", err.message);
    ek_job job;
    assert_int_equal(ek_job_read(source_path("examples/run/train.yaml"), NULL, NULL, &job, &err), EK_OK);
    assert_ptr_equal(evidence.input.job, &evidence.job);
    assert_string_equal(evidence.job.name, job.name);
    assert_int_equal(evidence.job.parallel.pipeline, job.parallel.pipeline);
    assert_int_equal(evidence.trace.n_ranks, 2);
    assert_string_equal(evidence.input.device->name, "Atlas 800T A2");
    assert_false(evidence.owns_device);
    assert_null(evidence.input.log);
    assert_null(evidence.input.dry_runs);
    assert_int_equal(evidence.input.n_ir, 0);
    assert_int_equal(heard.n_warnings, 2);
    assert_non_null(strstr(heard.text, "settings: "));
    assert_non_null(strstr(heard.text, "trace: "));
    ek_job_clear(&job);
    ek_run_evidence_clear(&evidence);
    memset(&evidence, 0, sizeof evidence);
    ek_run_files_clear(&files);
}

static ek_status read_these(const ek_run_files *files, said *heard, ek_error *err)
{
    const ek_listener notes = {say_warning, heard};
    const ek_run_reading how = {.files = files, .notes = &notes};
    memset(&evidence, 0, sizeof evidence);
    return ek_run_read(&how, &evidence, err);
}

/* Files found are reported, one line each, with their kind. */
static void files_that_are_taken_are_told(void **state)
{
    (void)state;
    said heard = {0};
    ek_run_files files = {0};
    ek_error err;
    put_copy("told/train.yaml", "examples/run/train.yaml");
    put_copy("told/a.ir", "examples/silu_mul.ir");
    put_text("told/stage0_0/mindformer.log", peaks);
    put_text("told/stage1_1/mindformer.log", peaks);
    put_copy("told/trace.json", "examples/trace/rank_0/ASCEND_PROFILER_OUTPUT/trace_view.json");
    put_text(
        "told/worker.log",
        " iteration 2/ 100 | consumed samples: 256 | elapsed time per iteration (ms): 710.0 | learning rate: 1.5E-04 "
        "| global batch size: 256 | lm loss: 2.1E+00 |\n");
    static const char *const names[] = {"train.yaml", "stage0_0", "stage1_1", "a.ir", "worker.log", "trace.json"};
    static const char *const kinds[] = {"settings", "dry run", "dry run", "graph", "training log", "trace"};
    char expected[4096] = "";
    for (size_t i = 0, n = 0; i < sizeof names / sizeof *names; i++) {
        char path[64];
        snprintf(path, sizeof path, "told/%s", names[i]);
        assert_int_equal(
            ek_run_files_add(&files, at(path), i == 1 || i == 2 ? EK_RUN_DRY_RUN : EK_RUN_UNKNOWN, NULL, &err), EK_OK);
        n += (size_t)snprintf(expected + n, sizeof expected - n, "0:0: warning: %s: %s\n", kinds[i], at(path));
    }
    if (read_these(&files, &heard, &err))
        fail_msg("%s", err.message);
    assert_string_equal(heard.text, expected);
    ek_run_evidence_clear(&evidence);

    /* Each allocation of reading them fails once: the result is complete, or the error is reported. */
    int n_told = 0;
    const ek_listener notes = {say_warning, &heard};
    const ek_run_reading how = {.files = &files, .notes = &notes, .n_threads = 1};
    bool failed = true;
    for (int i = 0; failed; i++) {
        heard = (said){0};
        left = i;
        ek_status status = ek_run_read(&how, &evidence, &err);
        failed = left < 0;
        left = -1;
        n_told += status != EK_OK;
        if (status == EK_OK)
            assert_string_equal(heard.text, expected);
        else
            assert_int_equal(status, EK_ERR_MEMORY);
        ek_run_evidence_clear(&evidence);
        memset(&evidence, 0, sizeof evidence);
    }
    assert_true(n_told > 100);
    ek_run_files_clear(&files);
}

static void a_bad_file_that_was_found_is_left_out_and_one_that_was_named_is_not(void **state)
{
    (void)state;
    put_text("bad/train.yaml", "parallel_config: [\n");
    for (int named = 0; named < 2; named++) {
        said heard = {0};
        ek_run_files files = {0};
        ek_error err;
        assert_int_equal(ek_run_files_add(&files, at(named ? "bad/train.yaml" : "bad"), EK_RUN_UNKNOWN, NULL, &err),
                         EK_OK);
        assert_int_equal(read_these(&files, &heard, &err), named ? EK_ERR_INPUT : EK_OK);
        assert_null(evidence.input.job);
        assert_int_equal(heard.n_warnings, !named);
        if (!named)
            assert_non_null(strstr(heard.text, "train.yaml is left out as settings: "));
        ek_run_evidence_clear(&evidence);
        ek_run_files_clear(&files);
    }
}

static void a_job_has_one_file_of_settings(void **state)
{
    (void)state;
    put_copy("one.yaml", "examples/run/train.yaml");
    put_copy("two/train.yaml", "examples/run/train.yaml");
    said heard = {0};
    ek_run_files files = {0};
    ek_error err;
    assert_int_equal(ek_run_files_add(&files, at("one.yaml"), EK_RUN_UNKNOWN, NULL, &err), EK_OK);
    assert_int_equal(ek_run_files_add(&files, at("two"), EK_RUN_UNKNOWN, NULL, &err), EK_OK);
    assert_int_equal(read_these(&files, &heard, &err), EK_OK); /* the named one wins over the found one */
    assert_non_null(strstr(heard.text, "one.yaml"));
    ek_run_evidence_clear(&evidence);
    assert_int_equal(ek_run_files_add(&files, at("two/train.yaml"), EK_RUN_UNKNOWN, NULL, &err), EK_OK);
    assert_int_equal(read_these(&files, &heard, &err), EK_ERR_INPUT);
    assert_non_null(strstr(err.message, "are both settings of a job"));
    ek_run_evidence_clear(&evidence);
    ek_run_files_clear(&files);
}

static void an_interrupt_ends_the_reading_of_traces(void **state)
{
    (void)state;
    const ek_interrupt interrupted = {1};
    ek_run_files files = {0};
    ek_error err;
    assert_int_equal(ek_run_files_add(&files, source_path("examples/run"), EK_RUN_UNKNOWN, NULL, &err), EK_OK);
    const ek_run_reading how = {.files = &files, .interrupt = &interrupted};
    memset(&evidence, 0, sizeof evidence);
    assert_int_equal(ek_run_read(&how, &evidence, &err), EK_ERR_SYSTEM);
    ek_run_evidence_clear(&evidence);
    ek_run_files_clear(&files);
}

/* ---- peaks ---- */

static void amounts_have_units(void **state)
{
    (void)state;
    assert_close_to(ek_memory_amount_mb("48874"), 48874, 0);
    assert_close_to(ek_memory_amount_mb("47.5 GB"), 47.5 * 1024, 0);
    assert_close_to(ek_memory_amount_mb("2g"), 2048, 0);
    assert_close_to(ek_memory_amount_mb("1.5MiB"), 1.5, 0);
    assert_true(isnan(ek_memory_amount_mb("GB")));
    assert_true(isnan(ek_memory_amount_mb("5 TB")));
    assert_true(isnan(ek_memory_amount_mb("0x10")));
    assert_true(isnan(ek_memory_amount_mb("inf")));
}

/* The rest of an overlong line may look like a separate line. */
static void overlong_lines_are_lines_of_their_own(void **state)
{
    (void)state;
    char text[2300];
    ek_measured_peaks found;
    ek_error err = {0};
    memset(text, ' ', sizeof text);
    text[0] = '#';
    snprintf(text + 1100, sizeof text - 1100, "7,5\n0,30000\n");
    put_text("peaks.csv", text);
    if (ek_measured_peaks_read(at("peaks.csv"), NULL, 8, true, NULL, NULL, &found, &err))
        fail_msg("%s", err.message);
    assert_int_equal(found.n, 1);
    assert_int_equal(found.peak[0].stage, 0);
    assert_int_equal(found.peak[0].origin.line, 2);
    ek_measured_peaks_clear(&found);
    for (size_t length = 1022; length < 1026; length++) { /* with its end */
        memset(text, ' ', sizeof text);
        memcpy(text, "0,1\n1,30000", 11);
        snprintf(text + 3 + length, sizeof text - 3 - length, "\n2,4\n");
        put_text("peaks.csv", text);
        ek_status status = ek_measured_peaks_read(at("peaks.csv"), NULL, 8, true, NULL, NULL, &found, &err);
        assert_int_equal(status, length <= 1024 ? EK_OK : EK_ERR_INPUT);
        if (status) {
            assert_int_equal(err.line, 2);
            continue;
        }
        assert_int_equal(found.n, 3);
        ek_measured_peaks_clear(&found);
    }
}

static void lists_and_logs_give_the_same_peaks(void **state)
{
    (void)state;
    put_text("peaks.csv", "# measured\nstage;used_mb;actual_mb\n1;40GB;41GB\n0;30000;31000\n");
    ek_measured_peaks found;
    ek_error err;
    for (int actual = 0; actual < 2; actual++) {
        if (ek_measured_peaks_read(at("peaks.csv"), NULL, 2, actual, NULL, NULL, &found, &err))
            fail_msg("%s", err.message);
        assert_int_equal(found.n, 2);
        assert_int_equal(found.n_fitted, 2);
        assert_int_equal(found.peak[0].stage, 1);
        assert_close_to(found.peak[0].mb, (actual ? 41 : 40) * 1024, 0);
        assert_int_equal(found.peak[0].origin.line, 3);
        assert_close_to(found.peak[1].mb, actual ? 31000 : 30000, 0);
        assert_true(found.fitted[0] && found.fitted[1]);
        ek_measured_peaks_clear(&found);
    }
    /* The logs of the shipped dry run, as ek_collection_read() has them. */
    ek_collection logs;
    char folder[4096];
    const char *source = folder;
    snprintf(folder, sizeof folder, "%s", source_path("examples/dryrun16"));
    assert_int_equal(ek_collection_read(&source, 1, 0, NULL, &logs, &err), EK_OK);
    assert_int_equal(ek_measured_peaks_read(folder, NULL, 16, true, NULL, NULL, &found, &err), EK_OK);
    assert_int_equal(found.n, logs.round[0].n);
    for (int i = 0; i < found.n; i++) {
        assert_int_equal(found.peak[i].stage, logs.round[0].stage[i].stage);
        assert_close_to(found.peak[i].mb, ek_stage_log_peak(&logs.round[0].stage[i], EK_PEAK_ACTUAL), 0);
    }
    ek_measured_peaks_clear(&found);
    ek_collection_clear(&logs);
}

/* Each allocation of reading logs fails once: all peaks are there, or that is said. */
static void peaks_are_all_there_or_memory_is_out(void **state)
{
    (void)state;
    char folder[4096];
    snprintf(folder, sizeof folder, "%s", source_path("examples/dryrun16"));
    int n_told = 0;
    for (bool failed = true; failed; n_told += failed) {
        ek_measured_peaks found;
        ek_error err = {.message = ""};
        left = n_told;
        ek_status status = ek_measured_peaks_read(folder, NULL, 16, false, NULL, NULL, &found, &err);
        failed = left < 0;
        left = -1;
        assert_int_equal(status, failed ? EK_ERR_MEMORY : EK_OK);
        if (failed)
            continue;
        assert_int_equal(found.n, 16);
        ek_measured_peaks_clear(&found);
    }
    assert_true(n_told > 2 * 16); /* two lists that grow by one */
}

static void a_list_that_is_wrong_is_refused_with_its_place(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
        int line;
    } cases[] = {
        {"0,1000\n0,2000\n", "stage 0 has two peaks", 2},
        {"0,1000\n5,2000\n", "a peak of stage 5, but the job has 2 stages, 0 to 1", 2},
        {"0,1000\nx,2000\n", "expected a stage from 0", 2},
        {"0,many\n", "the peak 'many' is no amount of memory", 1},
        {"stage,used_mb\n0,5\n", "has no column of actual peaks", 0},
        {"stage,actual_mb\n", "has no peaks to calibrate with", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ek_measured_peaks found = {.n = 77};
        ek_error err;
        put_text("peaks.csv", cases[i].text);
        assert_int_equal(ek_measured_peaks_read(at("peaks.csv"), "<here>", 2, true, NULL, NULL, &found, &err),
                         EK_ERR_INPUT);
        if (!strstr(err.message, cases[i].message) || err.line != cases[i].line)
            fail_msg("line %d: %s", err.line, err.message);
        if (cases[i].line > 0)
            assert_string_equal(err.file, "<here>");
        assert_int_equal(found.n, 77);
    }
}

/* ---- a prediction, and a measured run beside it ---- */

static void a_prediction_has_what_its_parts_say(void **state)
{
    (void)state;
    ek_error err;
    ek_job job;
    ek_device device;
    bool owns = true;
    ek_memory memory;
    static ek_prediction p; /* too large for the stack */
    assert_int_equal(ek_job_read(source_path("examples/llama2_13b_2_pp2.yaml"), NULL, NULL, &job, &err), EK_OK);
    assert_int_equal(ek_device_open("910b", NULL, &device, &owns, &err), EK_OK);
    assert_false(owns);
    if (ek_prediction_of(&job, &device, &p, &err))
        fail_msg("%s", err.message);
    assert_int_equal(ek_memory_predict(&job, NULL, &memory, &err), EK_OK);
    assert_int_equal(p.memory.n_stages, memory.n_stages);
    for (int s = 0; s < memory.n_stages; s++)
        assert_int_equal(p.memory.stage[s].actual_peak, memory.stage[s].actual_peak);
    /* Dense: embedding, decoder, head and loss. */
    static const char *const names[] = {"embedding", "decoder", "head and loss"};
    static const ek_layer_place places[] = {EK_LAYER_HEAD, EK_LAYER_DENSE, EK_LAYER_TAIL};
    assert_int_equal(p.report.n_times, 3);
    for (int i = 0; i < 3; i++) {
        ek_layer_times ms;
        assert_string_equal(p.report.time[i].name, names[i]);
        assert_int_equal(ek_cost_layer(&job, &device, places[i], &ms, &err), EK_OK);
        assert_memory_equal(&p.report.time[i].ms, &ms, sizeof ms);
    }
    assert_ptr_equal(p.report.job, &job);
    assert_ptr_equal(p.report.memory, &p.memory);
    assert_true(p.report.n_kept > 0);
    assert_int_equal(p.report.stage, -1);
    ek_memory_clear(&memory);
    ek_prediction_clear(&p);
    assert_int_equal(ek_prediction_of(&job, NULL, &p, &err), EK_OK);
    assert_int_equal(p.report.n_times, 0);
    ek_prediction_clear(&p);
    ek_job_clear(&job);
    assert_int_equal(ek_device_open("no such device", NULL, &device, &owns, &err), EK_ERR_INPUT);
    assert_non_null(strstr(err.message, "Atlas 800T A2"));
}

static void a_device_file_is_owned(void **state)
{
    (void)state;
    ek_error err;
    ek_device device;
    bool owns = false;
    int n;
    FILE *out = fopen(at("device.yaml"), "w");
    assert_non_null(out);
    assert_int_equal(ek_device_write(&ek_devices(&n)[0], NULL, out, &err), EK_OK);
    fclose(out);
    if (ek_device_open(at("device.yaml"), NULL, &device, &owns, &err))
        fail_msg("%s", err.message);
    assert_true(owns);
    ek_device_clear(&device);
}

static void a_measured_run_is_read_as_what_it_is(void **state)
{
    (void)state;
    ek_error err;
    ek_job job;
    ek_estimate estimate;
    ek_train_log log;
    ek_trace_run run;
    ek_against by_path, direct;
    const ek_trace_options how = {0};
    put_text("steps.log",
             "[INFO] { Epoch:[  1/  1], step:[   10/  100], loss: 9.0, per_step_time: 1200ms, lr: 1e-05 }\n"
             "[INFO] { Epoch:[  1/  1], step:[   20/  100], loss: 8.0, per_step_time: 1000ms, lr: 1e-05 }\n"
             "[INFO] { Epoch:[  1/  1], step:[   30/  100], loss: 7.0, per_step_time: 1010ms, lr: 1e-05 }\n");
    assert_int_equal(ek_job_read(source_path("examples/run/train.yaml"), NULL, NULL, &job, &err), EK_OK);
    if (ek_estimate_of(&job, ek_device_find("910B"), 0, &estimate, &err))
        fail_msg("%s", err.message);
    assert_false(ek_run_is_trace(at("steps.log")));
    if (ek_run_against(&estimate, at("steps.log"), NULL, NULL, &by_path, &err))
        fail_msg("%s", err.message);
    assert_int_equal(ek_train_log_read(at("steps.log"), NULL, &log, &err), EK_OK);
    assert_int_equal(ek_estimate_against_log(&estimate, &log, &direct, &err), EK_OK);
    assert_close_to(by_path.seconds, direct.seconds, 0);
    assert_close_to(by_path.error, direct.error, 0);
    assert_false(by_path.has_parts);
    ek_train_log_clear(&log);
    char folder[4096];
    const char *source = folder;
    snprintf(folder, sizeof folder, "%s", source_path("examples/run/profile"));
    assert_true(ek_run_is_trace(folder));
    if (ek_run_against(&estimate, folder, NULL, NULL, &by_path, &err))
        fail_msg("%s", err.message);
    assert_int_equal(ek_trace_run_read(&source, 1, &how, NULL, &run, &err), EK_OK);
    assert_int_equal(ek_estimate_against_trace(&estimate, &run, &direct, &err), EK_OK);
    assert_close_to(by_path.seconds, direct.seconds, 0);
    assert_true(by_path.has_parts);
    for (int i = 0; i < EK_N_AGAINST_PARTS; i++)
        assert_true(by_path.part[i] == direct.part[i] || (isnan(by_path.part[i]) && isnan(direct.part[i])));
    ek_trace_run_clear(&run);
    assert_int_equal(ek_run_against(&estimate, at("none"), NULL, NULL, &by_path, &err), EK_ERR_INPUT);
    assert_non_null(strstr(err.message, "is not there"));
    ek_estimate_clear(&estimate);
    ek_job_clear(&job);
}

/* ---- other lists of files ---- */

static void the_graph_of_a_folder_is_that_of_the_last_pass(void **state)
{
    (void)state;
    static const struct {
        const char *file, *chosen;
    } steps_of_compiling[] = {
        /* each with those before it in the folder */
        {"graphs/rank_0/a_9.ir", "graphs/rank_0/a_9.ir"},
        {"graphs/rank_0/a_10.ir", "graphs/rank_0/a_10.ir"},
        {"graphs/rank_0/execute_3.ir", "graphs/rank_0/execute_3.ir"},
        {"graphs/rank_0/18_validate_2.ir", "graphs/rank_0/18_validate_2.ir"},
        {"graphs/rank_0/execute_77.ir", "graphs/rank_0/18_validate_2.ir"},
        {"graphs/rank_0/19_validate_1.ir", "graphs/rank_0/18_validate_2.ir"},
    };
    char chosen[4096];
    ek_error err;
    for (size_t i = 0; i < sizeof steps_of_compiling / sizeof *steps_of_compiling; i++) {
        said heard = {0};
        const ek_listener notes = {say_warning, &heard};
        put_text(steps_of_compiling[i].file, graph);
        if (ek_ir_choose_file(at("graphs/"), chosen, sizeof chosen, &notes, &err))
            fail_msg("%s", err.message);
        assert_string_equal(chosen, at(steps_of_compiling[i].chosen));
        assert_int_equal(heard.n_warnings, 1);
    }
    assert_int_equal(ek_ir_choose_file(at("graphs/rank_0/a_9.ir"), chosen, sizeof chosen, NULL, &err), EK_OK);
    assert_string_equal(chosen, at("graphs/rank_0/a_9.ir"));
    put_text("graphs/rank_1/a_1.ir", graph);
    assert_int_equal(ek_ir_choose_file(at("graphs"), chosen, sizeof chosen, NULL, &err), EK_ERR_INPUT);
    assert_non_null(strstr(err.message, "contains the graphs of 2 ranks"));
    put_text("no graphs/readme", "some words");
    assert_int_equal(ek_ir_choose_file(at("no graphs"), chosen, sizeof chosen, NULL, &err), EK_ERR_INPUT);
    assert_non_null(strstr(err.message, "contains no .ir file"));
    assert_int_equal(ek_ir_choose_file(at("graphs/rank_0"), chosen, 8, NULL, &err), EK_ERR_INPUT);
}

static void the_linter_takes_what_its_rules_know_by_name(void **state)
{
    (void)state;
    put_text("lint/b/run.sh", "true\n");
    put_text("lint/a.yaml", settings);
    put_text("lint/c.py", "pass\n");
    put_text("lint/notes.txt", "words\n");
    put_text("lint/.hidden.yaml", settings);
    assert_int_equal(symlink("b", at("lint/again")), 0); /* not followed */
    static const char *const expected[] = {"lint/a.yaml", "lint/b/run.sh", "lint/c.py", "lint/notes.txt"};
    ek_lint_files files = {0};
    ek_error err;
    assert_int_equal(ek_lint_files_add(&files, at("lint"), NULL, &err), EK_OK);
    assert_int_equal(ek_lint_files_add(&files, at("lint/notes.txt"), NULL, &err), EK_OK); /* named: whatever it is */
    assert_int_equal(files.n, 4);
    for (int i = 0; i < 4; i++) {
        assert_string_equal(files.path[i], at(expected[i]));
        assert_int_equal(files.found[i], i < 3);
    }
    ek_lint_files_clear(&files);
    assert_int_equal(files.n, 0);
}

/* 4095 bytes are the longest path that there is. */
static void the_linter_takes_paths_as_long_as_they_may_be(void **state)
{
    (void)state;
    enum { LONGEST = 4095, FOLDER = 200 };
    char path[LONGEST + 1], name[256];
    ek_error err;
    size_t n = (size_t)snprintf(path, sizeof path, "%s", at("long"));
    assert_int_equal(mkdir(path, 0777), 0);
    while (n + FOLDER + 1 < LONGEST - 20) {
        path[n++] = '/';
        memset(path + n, 'f', FOLDER);
        n += FOLDER;
        path[n] = '\0';
        assert_int_equal(mkdir(path, 0777), 0);
    }
    int above = open(path, O_RDONLY | O_DIRECTORY);
    assert_true(above >= 0);
    for (size_t over = 0; over < 2; over++) {
        size_t size = LONGEST - n - 1 + over;
        assert_true(size < sizeof name);
        memset(name, 'a', size);
        snprintf(name + size - 3, 4, ".sh");
        int file = openat(above, name, O_WRONLY | O_CREAT, 0666);
        assert_true(file >= 0);
        close(file);
        ek_lint_files files = {0};
        assert_int_equal(ek_lint_files_add(&files, path, NULL, &err), over ? EK_ERR_INPUT : EK_OK);
        assert_int_equal(files.n, over ? 0 : 1);
        assert_true(over || strlen(files.path[0]) == LONGEST);
        ek_lint_files_clear(&files);
        assert_int_equal(unlinkat(above, name, 0), 0);
    }
    close(above);
}

/* ---- a job's layers ---- */

static void times_of_layers_are_modelled_then_measured_then_given(void **state)
{
    (void)state;
    ek_error err;
    ek_job job;
    ek_layers modelled, layers, measured;
    const ek_device *device = ek_device_find("910B");
    ek_job_layer_times times = {.device = device, .given = {NAN, NAN, NAN}};
    assert_int_equal(ek_job_read(source_path("examples/llama2_13b_2_pp2.yaml"), NULL, NULL, &job, &err), EK_OK);
    assert_int_equal(ek_memory_to_layers(&job, device, &modelled, &err), EK_OK);
    if (ek_job_layers(&job, &times, NULL, NULL, &layers, &err))
        fail_msg("%s", err.message);
    assert_close_to(layers.body[0].forward_time, modelled.body[0].forward_time, 0);
    assert_int_equal(layers.split_known, modelled.split_known);
    ek_layers_clear(&layers);
    /* Given: the ratio to the forward stays. */
    times.given.body = 2 * modelled.body[0].forward_time;
    assert_int_equal(ek_job_layers(&job, &times, NULL, NULL, &layers, &err), EK_OK);
    for (int k = 0; k < EK_N_RECOMPUTE; k++)
        assert_close_to(layers.body[0].backward_time[k], 2 * modelled.body[0].backward_time[k], 1e-9);
    assert_close_to(layers.head.forward_time, modelled.head.forward_time, 0);
    ek_layers_clear(&layers);
    /* Without a device: the usual ratios. */
    times.device = NULL;
    times.given.body = 3;
    assert_int_equal(ek_job_layers(&job, &times, NULL, NULL, &layers, &err), EK_OK);
    assert_close_to(layers.body[0].backward_time[EK_RECOMPUTE_FULL],
                    EK_BACKWARD_RATIO * 3 * (1 + ek_recompute_coefficient[EK_RECOMPUTE_FULL]), 1e-12);
    assert_false(layers.split_known);
    ek_layers_clear(&layers);
    /* Measured: the file's, with the job's memory; head and tail as well. */
    char path[4096];
    snprintf(path, sizeof path, "%s", source_path("tests/data/small_layers.json"));
    times = (ek_job_layer_times){.measured = path, .given = {NAN, NAN, NAN}};
    assert_int_equal(ek_layers_read(path, NULL, NULL, &measured, &err), EK_OK);
    assert_int_equal(ek_job_layers(&job, &times, NULL, NULL, &layers, &err), EK_OK);
    assert_close_to(layers.body[0].forward_time, measured.body[0].forward_time, 0);
    assert_close_to(layers.tail.forward_time, measured.tail.forward_time, 0);
    assert_close_to(layers.body[0].parameter_mb, modelled.body[0].parameter_mb, 0);
    ek_layers_clear(&layers);
    ek_layers_clear(&measured);
    snprintf(path, sizeof path, "%s", source_path("tests/data/two_bodies_layers.json"));
    memset(&layers, 0, sizeof layers);
    assert_int_equal(ek_job_layers(&job, &times, NULL, NULL, &layers, &err), EK_ERR_INPUT);
    assert_non_null(strstr(err.message, "has 2 kinds of body layers, but the job has 1"));
    assert_null(layers.body);
    ek_layers_clear(&modelled);
    ek_job_clear(&job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_is_what_it_holds_whatever_its_name),
        cmocka_unit_test(steps_late_in_a_log_count_more_than_the_settings_before),
        cmocka_unit_test(a_folder_gives_each_kind_once_by_name),
        cmocka_unit_test(what_is_named_is_taken_as_it_is_said),
        cmocka_unit_test(what_is_nothing_of_a_run_is_refused),
        cmocka_unit_test(a_search_finds_all_or_says_that_memory_is_out),
        cmocka_unit_test(databases_alone_are_noted),
        cmocka_unit_test(the_shipped_run_is_what_its_readers_give),
        cmocka_unit_test(files_that_are_taken_are_told),
        cmocka_unit_test(a_bad_file_that_was_found_is_left_out_and_one_that_was_named_is_not),
        cmocka_unit_test(a_job_has_one_file_of_settings),
        cmocka_unit_test(an_interrupt_ends_the_reading_of_traces),
        cmocka_unit_test(amounts_have_units),
        cmocka_unit_test(overlong_lines_are_lines_of_their_own),
        cmocka_unit_test(lists_and_logs_give_the_same_peaks),
        cmocka_unit_test(peaks_are_all_there_or_memory_is_out),
        cmocka_unit_test(a_list_that_is_wrong_is_refused_with_its_place),
        cmocka_unit_test(a_prediction_has_what_its_parts_say),
        cmocka_unit_test(a_device_file_is_owned),
        cmocka_unit_test(a_measured_run_is_read_as_what_it_is),
        cmocka_unit_test(the_graph_of_a_folder_is_that_of_the_last_pass),
        cmocka_unit_test(the_linter_takes_what_its_rules_know_by_name),
        cmocka_unit_test(the_linter_takes_paths_as_long_as_they_may_be),
        cmocka_unit_test(times_of_layers_are_modelled_then_measured_then_given),
    };
    return cmocka_run_group_tests(tests, make_root, remove_root);
}
