/* Overviews: kinds of files that the tests make, figures beside those of the functions that commands call, words read
 * back by a shell, memory that runs out; and the checks of a machine whose kernel's files the tests make. */
#include "input.h"

#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/pool.h"
#include "doctor/checks.h"
#include "evenkeel/device.h"
#include "evenkeel/estimate.h"
#include "evenkeel/layout.h"
#include "evenkeel/metrics.h"
#include "evenkeel/overview.h"
#include "no_memory.h"
#include "overview/overview_internal.h"

FAILING_ALLOC
FAILING_POOL_ALLOC
FAILING_POOL_TEXT

/* ---- files ---- */

static char root[] = "/tmp/evenkeel-overview-XXXXXX";

static const char *at(const char *name)
{
    static char path[4][4096];
    static int next;
    char *text = path[next++ % 4];
    snprintf(text, sizeof path[0], "%s/%s", root, name);
    return text;
}

static const char *put(const char *name, const char *text)
{
    char folder[4096];
    const char *path = at(name);
    for (const char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        snprintf(folder, sizeof folder, "%.*s", (int)(slash - path), path);
        mkdir(folder, 0700);
    }
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
    return path;
}

static int make_root(void **state)
{
    (void)state;
    return mkdtemp(root) ? 0 : -1;
}

static int remove_root(void **state)
{
    char command[4200];
    (void)state;
    snprintf(command, sizeof command, "rm -rf '%s'", root);
    return system(command);
}

/* ---- kinds ---- */

static void files_have_the_kind_of_their_content(void **state)
{
    (void)state;
    static const struct {
        const char *name, *text;
        ek_overview_kind kind;
    } of[] = {
        {"a.csv", "device,model,hardware,step_time_s\nH100,x,H100,1\n", EK_OVERVIEW_RUNS},
        {"b.csv", "device,operator,share_of_peak\nH100,matmul,0.5\n", EK_OVERVIEW_KERNELS},
        {"dev", "name: x\npeak_tflops: {bfloat16: 1}\n", EK_OVERVIEW_DEVICE},
        {"words", "the peak_tflops of a device are in its file\n", EK_OVERVIEW_OTHER},
        {"train.py", "parser.add_argument('--num-layers', type=int)\nparser.add_argument('--hidden-size')\n",
         EK_OVERVIEW_PROGRAM},
        {"README.md", "Run `pretrain_gpt.py --num-layers 4 --hidden-size 8 --num-attention-heads 2`.\n",
         EK_OVERVIEW_OTHER},
        {"x.nsys-rep", "anything", EK_OVERVIEW_REPORT},
        {"config.json", "{\"num_hidden_layers\": 2, \"hidden_size\": 8, \"num_attention_heads\": 2}\n",
         EK_OVERVIEW_MODEL},
        {"page.html", "<!doctype html>\n<title>evenkeel</title>\n", EK_OVERVIEW_PAGE},
        {"other.html", "<!doctype html>\n<title>news</title>\n", EK_OVERVIEW_OTHER},
        {"empty", "", EK_OVERVIEW_OTHER},
    };
    for (size_t i = 0; i < sizeof of / sizeof *of; i++)
        if (ek_overview_kind_of(put(of[i].name, of[i].text)) != of[i].kind)
            fail_msg("%s is %s", of[i].name, ek_overview_kind_name[ek_overview_kind_of(at(of[i].name))]);
    assert_int_equal(ek_overview_kind_of(at("nothing")), EK_OVERVIEW_OTHER);
    for (int i = 0; i < EK_N_OVERVIEW_KINDS; i++)
        assert_true(ek_overview_kind_name[i][0] != '\0');
}

/* ---- figures ---- */

/* The oracle are the functions that `evenkeel estimate` calls. */
static void a_job_has_the_figures_of_an_estimate(void **state)
{
    (void)state;
    const char *path[1];
    ek_overview overview;
    ek_error err;
    ek_job job;
    ek_estimate estimate;
    double all, active;
    const ek_overview_options options = {.device = "910B", .seq_length = 512};
    ek_job_overrides overrides = ek_job_overrides_none();
    path[0] = source_path("tests/data/job/llama.yaml");
    overrides.seq_length = 512;
    assert_int_equal(ek_job_read(path[0], &overrides, NULL, &job, &err), EK_OK);
    const ek_device *device = ek_device_find("910B");
    ek_memory_limit_by_device(&job, device);
    assert_int_equal(ek_estimate_of(&job, device, (double)NAN, &estimate, &err), EK_OK);
    assert_int_equal(ek_job_count_parameters(&job, &all, &active, &err), EK_OK);
    assert_int_equal(ek_overview_of(path, 1, &options, &overview, &err), EK_OK);
    const ek_overview_job *f = overview.job;
    assert_non_null(f);
    assert_true(f->parameters == all && f->active_parameters == active);
    assert_int_equal(f->n_devices, ek_job_devices(&job));
    assert_int_equal(f->global_batch, ek_job_sequences(&job));
    assert_int_equal(f->fullest, estimate.memory.fullest);
    assert_true(f->peak == estimate.memory.stage[f->fullest].actual_peak && f->limit == estimate.memory.limit);
    assert_int_equal(f->fits, estimate.memory.fits);
    assert_true(f->step_seconds == estimate.step.seconds && f->mfu == estimate.metrics.mfu);
    assert_int_equal(f->seq_length, 512);
    assert_false(f->device_assumed);
    assert_string_equal(f->device, "910B");
    assert_non_null(strstr(overview.next[0].command, " --device 910B --seq-length 512"));
    ek_overview_clear(&overview);
    ek_estimate_clear(&estimate);
    ek_job_clear(&job);
}

/* A device is assumed only where a figure needs one, and a note names it. */
static void a_device_is_assumed_where_no_limit_is_known(void **state)
{
    (void)state;
    static const char *const known[] = {"tests/data/job/llama.yaml"}, *const unknown[] = {"examples/megatron_13b.sh"};
    const char *path[1];
    ek_overview overview;
    ek_error err;
    path[0] = source_path(known[0]);
    assert_int_equal(ek_overview_of(path, 1, NULL, &overview, &err), EK_OK);
    assert_null(overview.job->device);
    assert_true(isnan(overview.job->step_seconds) && overview.job->limit > 0);
    assert_int_equal(overview.n_notes, 0);
    ek_overview_clear(&overview);
    path[0] = source_path(unknown[0]);
    assert_int_equal(ek_overview_of(path, 1, NULL, &overview, &err), EK_OK);
    assert_string_equal(overview.job->device, "H100");
    assert_true(overview.job->device_assumed && overview.job->step_seconds > 0 && overview.job->limit > 0);
    assert_non_null(strstr(overview.note[0], "H100 is taken"));
    ek_overview_clear(&overview);
}

static void a_global_batch_by_default_is_four_million_tokens_and_any_replicas_divide_it(void **state)
{
    (void)state;
    assert_int_equal(ek_layout_default_batch(4096, 64), 1024);
    assert_int_equal(ek_layout_default_batch(8192, 64), 512);
    assert_int_equal(ek_layout_default_batch(1 << 28, 7), 7);
    for (int length = 1; length <= 1 << 20; length = 3 * length + 1)
        for (int n = 1; n <= 4096; n = 2 * n + n % 3) {
            int64_t batch = ek_layout_default_batch(length, n);
            assert_true(batch >= n && batch % n == 0);
            /* No other multiple is nearer. */
            assert_true(batch == n || fabs((double)batch * length - (1 << 22)) <= 0.5 * length * n);
        }
}

/* ---- folders ---- */

static void several_training_files_are_a_collection(void **state)
{
    (void)state;
    static const char text[] =
        "[model]\nname = \"llama3\"\nflavor = \"8B\"\n[training]\nseq_len = 4096\n[parallelism]\n";
    ek_overview overview;
    ek_error err;
    char folder[4096];
    snprintf(folder, sizeof folder, "%s", at("many"));
    const char *const path[] = {folder};
    put("many/a.toml", text);
    put("many/sub/b.toml", text);
    put("many/notes.txt", "nothing\n");
    put("many/.hidden/c.toml", text);
    assert_int_equal(ek_overview_of(path, 1, NULL, &overview, &err), EK_OK);
    assert_true(overview.folder && !overview.job && !overview.run);
    assert_int_equal(overview.n_parts, 2);
    assert_int_equal(overview.part[0].kind, EK_OVERVIEW_JOB);
    assert_int_equal(overview.part[0].n_files, 2);
    assert_int_equal(overview.part[1].kind, EK_OVERVIEW_OTHER);
    assert_non_null(strstr(overview.next[0].command, "/many/a.toml"));
    ek_overview_clear(&overview);
    unlink(at("many/sub/b.toml"));
    assert_int_equal(ek_overview_of(path, 1, NULL, &overview, &err), EK_OK);
    assert_non_null(overview.job);
    ek_overview_clear(&overview);
}

static void traces_that_are_too_large_are_counted(void **state)
{
    (void)state;
    ek_overview overview;
    ek_error err;
    const ek_overview_options few = {.trace_bytes = 100};
    const char *path[1];
    path[0] = source_path("examples/trace");
    assert_int_equal(ek_overview_of(path, 1, &few, &overview, &err), EK_OK);
    assert_null(overview.run);
    assert_int_equal(overview.n_notes, 1);
    ek_overview_clear(&overview);
    assert_int_equal(ek_overview_of(path, 1, NULL, &overview, &err), EK_OK);
    assert_int_equal(overview.run->n_ranks, 2);
    assert_true(overview.run->step_seconds > 0 && overview.run->n_causes == EK_MAX_OVERVIEW_CAUSES);
    ek_overview_clear(&overview);
}

static void the_result_stays_untouched_on_failure(void **state)
{
    (void)state;
    ek_overview overview, before;
    ek_error err;
    const char *path[1];
    memset(&overview, 7, sizeof overview);
    before = overview;
    path[0] = at("nothing at all");
    assert_int_equal(ek_overview_of(path, 1, NULL, &overview, &err), EK_ERR_INPUT);
    assert_non_null(strstr(err.message, "No such file"));
    path[0] = put("prose", "some words\n");
    assert_int_equal(ek_overview_of(path, 1, NULL, &overview, NULL), EK_ERR_INPUT);
    assert_memory_equal(&overview, &before, sizeof overview);
}

/* ---- words of a shell ---- */

/* The oracle is a shell, which prints the word. */
static void a_shell_reads_the_word_back(void **state)
{
    (void)state;
    static const char *const word[] = {"plain/file-1.yaml",
                                       "with blank",
                                       "it's",
                                       "$HOME `x` \"y\" \\z",
                                       "*?[a]",
                                       "~",
                                       "a\nb",
                                       "\xc3\xa4",
                                       "#x",
                                       "a;b&c|d>e<f(g)",
                                       "!",
                                       "''",
                                       "{a,b}"};
    ek__pool *pool = ek__pool_new();
    for (size_t i = 0; i < sizeof word / sizeof *word; i++) {
        char command[512], got[256];
        snprintf(command, sizeof command, "cd /; printf %%s %s", ek__shell_quote(pool, word[i]));
        FILE *out = popen(command, "r");
        size_t n = fread(got, 1, sizeof got - 1, out);
        got[n] = '\0';
        assert_int_equal(pclose(out), 0);
        assert_string_equal(got, word[i]);
    }
    assert_string_equal(ek__shell_quote(pool, "-a"), "./-a");
    assert_string_equal(ek__shell_quote(pool, ""), "''");
    ek__pool_free(pool);
}

/* ---- memory ---- */

/* A file that cannot be looked at for want of memory is not recognised, which is EK_ERR_INPUT; nothing leaks, and an
 * overview that is there is whole. */
static void memory_that_runs_out_is_reported(void **state)
{
    (void)state;
    bool any = false;
    const ek_overview_options options = {.device = "910B"};
    for (int n = 0; n < 4000; n += 1 + n / 24) {
        ek_overview overview = {.n_paths = 0};
        ek_error err;
        const char *path[1];
        path[0] = source_path("tests/data/job/llama.yaml");
        atomic_store(&allocations_left, n);
        ek_status status = ek_overview_of(path, 1, &options, &overview, &err);
        bool failed = atomic_load(&allocations_left) < 0;
        atomic_store(&allocations_left, -1);
        any |= status == EK_ERR_MEMORY;
        assert_true(status == EK_OK || status == EK_ERR_MEMORY || status == EK_ERR_INPUT);
        if (status == EK_OK) {
            assert_non_null(overview.sentence);
            for (int i = 0; i < overview.n_next; i++)
                assert_non_null(overview.next[i].command);
            ek_overview_clear(&overview);
        }
        if (!failed)
            break;
    }
    assert_true(any);
}

/* ---- the machine ---- */

static const ek_doctor_line *line_of(const ek_doctor *doctor, const char *id)
{
    for (int i = 0; i < doctor->n_lines; i++)
        if (strcmp(doctor->line[i].id, id) == 0)
            return &doctor->line[i];
    return NULL;
}

static void cores_and_memory_are_those_of_the_kernels_files(void **state)
{
    (void)state;
    char folder[4096];
    static const ek_doctor_options none = {.program = NULL};
    ek_doctor made = {.n_threads = 3, .pool = ek__pool_new()};
    snprintf(folder, sizeof folder, "%s", at("machine"));
    ek__doctor d = {.out = &made, .options = &none, .root = folder};
    put("machine/sys/devices/system/cpu/online", "0-63\n");
    put("machine/sys/devices/system/node/online", "0-1\n");
    put("machine/proc/self/status", "Name:\tx\nCpus_allowed:\tff\nCpus_allowed_list:\t0-7,16\n");
    put("machine/proc/self/cgroup", "0::/box\n");
    put("machine/sys/fs/cgroup/box/cpu.max", "250000 100000\n");
    put("machine/proc/meminfo", "MemTotal:       65536000 kB\nMemAvailable:    1048576 kB\n");
    put("machine/sys/fs/cgroup/memory.max", "104857600\n");
    ek__check_cores(&d);
    ek__check_memory(&d);
    assert_string_equal(line_of(&made, "cores")->text,
                        "9 of 64 cores may be used, a CPU quota of 2.5 cores: 3 threads");
    assert_int_equal(line_of(&made, "cores")->level, EK_DOCTOR_NOTE);
    assert_string_equal(line_of(&made, "numa")->text, "2 NUMA nodes");
    assert_string_equal(line_of(&made, "memory")->text,
                        "1 024 MB available of 64 000 MB, 100 MB allowed by the cgroup");
    assert_int_equal(line_of(&made, "memory")->level, EK_DOCTOR_PROBLEM);
    assert_int_equal(made.n_of_level[EK_DOCTOR_PROBLEM], 1);
    ek__pool_free(made.pool);
}

static void a_check_that_runs_out_of_memory_says_so(void **state)
{
    (void)state;
    bool any = false;
    for (int n = 0; n < 2000; n += 1 + n / 16) {
        ek_doctor doctor;
        ek_error err;
        atomic_store(&allocations_left, n);
        ek_status status = ek_doctor_check(NULL, &doctor, &err);
        bool failed = atomic_load(&allocations_left) < 0;
        atomic_store(&allocations_left, -1);
        any |= status == EK_ERR_MEMORY;
        assert_true(status == EK_OK || status == EK_ERR_MEMORY);
        if (status == EK_OK)
            ek_doctor_clear(&doctor);
        if (!failed)
            break;
    }
    assert_true(any);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_have_the_kind_of_their_content),
        cmocka_unit_test(a_job_has_the_figures_of_an_estimate),
        cmocka_unit_test(a_device_is_assumed_where_no_limit_is_known),
        cmocka_unit_test(a_global_batch_by_default_is_four_million_tokens_and_any_replicas_divide_it),
        cmocka_unit_test(several_training_files_are_a_collection),
        cmocka_unit_test(traces_that_are_too_large_are_counted),
        cmocka_unit_test(the_result_stays_untouched_on_failure),
        cmocka_unit_test(a_shell_reads_the_word_back),
        cmocka_unit_test(memory_that_runs_out_is_reported),
        cmocka_unit_test(cores_and_memory_are_those_of_the_kernels_files),
        cmocka_unit_test(a_check_that_runs_out_of_memory_says_so),
    };
    return cmocka_run_group_tests(tests, make_root, remove_root);
}
