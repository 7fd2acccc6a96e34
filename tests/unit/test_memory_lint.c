/* Tests warnings of settings without effect: each is triggered once by hand, and each with the settings that remove it.
 * Shipped training files trigger them only where they are true. */
#include "evenkeel/memory.h"
#include "memory_job.h"
#include "skip.h"

#include <dirent.h>

/* The warnings that a listener received. */
typedef struct heard {
    int n;
    ek_error warning[32];
} heard;

static void hear(void *user, const ek_error *warning)
{
    heard *h = user;
    assert_true(h->n < 32);
    h->warning[h->n++] = *warning;
}

static void lint(const ek_job *job, heard *h)
{
    ek_listener listener = {hear, h};
    h->n = 0;
    assert_int_equal(ek_memory_lint(job, &listener, NULL), EK_OK);
}

static int one_layer[1] = {1};

/* Four layers on one stage, patterns for all of them from line 7 on. */
static void make(made_job *m)
{
    static int layers[1] = {4}, full[1], none[1];
    make_llama(m);
    full[0] = 0;
    m->job.path = (char *)"job.yaml";
    m->job.plan = (ek_plan){1, 1, layers, full, none, none};
    m->job.parallel.tensor = 2;
    m->job.parallel.data = 2;
    m->job.parallel.sequence_parallel = true;
    m->job.parallel.fine_grain = 2;
}

static void add(made_job *m, ek_pattern_kind kind, const char *text)
{
    static int layers[1] = {4};
    add_pattern(m, kind, text);
    ek_pattern *pattern = &m->pattern[m->job.n_patterns - 1];
    pattern->layers = layers;
    pattern->origin = (ek_origin){"job.yaml", 6 + m->job.n_patterns, 5};
}

/* One pattern and its warning: a part of the message, NULL for none. */
typedef struct one_case {
    const char *what, *pattern, *message;
    ek_pattern_kind kind;
    bool reshapes, plain_sequence, concat;
} one_case;

static void a_pattern_that_does_nothing_is_named(void **state)
{
    (void)state;
    static const one_case cases[] = {
        {"Mul", "feed_forward\\.mul", NULL, EK_PATTERN_SELECT, 0, 0, 0},
        {"upper case", "feed_forward\\.W3\\.matmul", "'feed_forward\\.w3\\.matmul'", EK_PATTERN_SELECT, 0, 0, 0},
        {"a blank for an underscore", "attention\\.flash attention", "names no operator of this model's layers",
         EK_PATTERN_SELECT, 0, 0, 0},
        {"a slip, and the nearest path", "attention_normi\\.rcast", "'attention_norm\\.rcast'", EK_PATTERN_SELECT, 0, 0,
         0},
        {"w1 and w3 are one matrix", "feed_forward\\.w1\\.activation\\.silu", "'feed_forward\\.activate\\.silu'",
         EK_PATTERN_SELECT, 0, 0, 1},
        {"an exclusion of nothing", "feed_forward\\.nul", "'feed_forward\\.mul'", EK_PATTERN_SELECT_EXCLUDE, 0, 0, 0},
        {"an exclusion", "feed_forward\\.mul", NULL, EK_PATTERN_SELECT_EXCLUDE, 0, 0, 0},
        {"flash attention's cell", "attention\\.flash_attention", "names a cell with one operator, whose output",
         EK_PATTERN_SELECT, 0, 0, 0},
        {"the activation's cell", "feed_forward\\.w1\\.activation", NULL, EK_PATTERN_SELECT, 0, 0, 0},
        {"no expression", "feed_forward\\.(mul", "no regular expression", EK_PATTERN_SELECT, 0, 0, 0},
        {"Mul in front of a reshape", "feed_forward\\.mul", "add 'feed_forward\\.w2\\.reshape'", EK_PATTERN_SELECT, 1,
         0, 0},
        {"SiLU in front of one", "feed_forward\\.w1\\.activation\\.silu", "add 'feed_forward\\.w1\\.reshape'",
         EK_PATTERN_SELECT, 1, 0, 0},
        {"both with their reshapes", "feed_forward\\.(mul|reshape|w.*)", NULL, EK_PATTERN_SELECT, 0, 0, 0},
        {"norms", ".*\\.norm", NULL, EK_PATTERN_COMM, 0, 0, 0},
        {"norms, without anything gathered behind them", ".*\\.norm", "sequence parallelism is off", EK_PATTERN_COMM, 0,
         1, 0},
        {"a cell", "attention_norm", "names a cell, which does nothing here", EK_PATTERN_COMM, 0, 0, 0},
        {"nothing behind SiLU", "feed_forward\\.mul", "no communication follows", EK_PATTERN_COMM, 0, 0, 0},
        {"a reshape that shipped files name with the norms", ".*\\.w1\\.reshape", NULL, EK_PATTERN_COMM, 1, 0, 0},
    };
    static made_job m;
    static heard h;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        make(&m);
        add(&m, cases[i].kind, cases[i].pattern);
        m.job.model.qkv_concat = cases[i].concat;
        m.job.parallel.sequence_parallel = !cases[i].plain_sequence;
        if (cases[i].reshapes || cases[i].plain_sequence)
            m.job.parallel.fine_grain = 1;
        lint(&m.job, &h);
        const char *message = cases[i].message;
        if (h.n != (message ? 1 : 0))
            fail_msg("%s: %d warnings, the first '%s'", cases[i].what, h.n, h.n ? h.warning[0].message : "");
        if (message && !strstr(h.warning[0].message, message))
            fail_msg("%s: '%s'", cases[i].what, h.warning[0].message);
        if (h.n)
            assert_int_equal(h.warning[0].line, 7);
    }
}

static void reshapes_make_the_selection_before_them_count(void **state)
{
    (void)state;
    static made_job m;
    static heard h;
    make(&m);
    m.job.parallel.fine_grain = 1;
    add(&m, EK_PATTERN_SELECT, "feed_forward\\.mul");
    add(&m, EK_PATTERN_SELECT, "feed_forward\\.w1\\.activation\\.silu");
    lint(&m.job, &h);
    assert_int_equal(h.n, 2);
    add(&m, EK_PATTERN_SELECT, "feed_forward\\.w[12]\\.reshape");
    lint(&m.job, &h);
    assert_int_equal(h.n, 0);
}

static void layers_recomputed_whole_hide_the_rest(void **state)
{
    (void)state;
    static made_job m;
    static heard h;
    make(&m);
    add(&m, EK_PATTERN_SELECT, "feed_forward\\.mul");
    add(&m, EK_PATTERN_SELECT, "feed_forward\\.w1\\.activation\\.silu");
    add(&m, EK_PATTERN_COMM, ".*\\.norm");
    m.job.plan.full[0] = 3;
    lint(&m.job, &h);
    assert_int_equal(h.n, 0); /* the fourth layer selects */
    m.job.plan.full[0] = 4;
    lint(&m.job, &h);
    assert_int_equal(h.n, 2);
    assert_non_null(strstr(h.warning[0].message, "select_recompute applies only to layers that `recompute`"));
    assert_non_null(strstr(h.warning[1].message, "select_comm_recompute applies only"));
    assert_int_equal(h.warning[1].line, 9);
    m.pattern[2].layers = m.job.plan.select; /* no layer: then there is nothing to hide */
    lint(&m.job, &h);
    assert_int_equal(h.n, 1);
    m.job.plan.full[0] = 0;
    m.pattern[0].layers = (int[]){5};
    lint(&m.job, &h);
    assert_int_equal(h.n, 1);
    assert_non_null(strstr(h.warning[0].message, "set for 5 layers of stage 0, chunk 0, which has 4"));
}

static void a_recomputed_cast_that_keeps_more_is_named(void **state)
{
    (void)state;
    static made_job m;
    static heard h;
    make(&m);
    m.job.types.residual = EK_FP32;
    m.job.types.norm = EK_BF16;
    add(&m, EK_PATTERN_SELECT, "attention_norm\\.cast");
    lint(&m.job, &h);
    assert_int_equal(h.n, 1);
    /* x in fp32 instead of its cast: 2 bytes of 256 tokens x 256 */
    assert_non_null(strstr(h.warning[0].message, "saves 0.1 MB more in a layer"));
    m.job.types.norm = EK_FP32;
    m.job.types.residual = EK_BF16; /* a cast to higher precision is fine */
    lint(&m.job, &h);
    assert_int_equal(h.n, 0);
}

static void other_settings_that_waste_are_named(void **state)
{
    (void)state;
    static made_job m;
    static heard h;
    make(&m);
    m.job.parallel.sequence_parallel = false;
    lint(&m.job, &h);
    assert_int_equal(h.n, 1);
    assert_non_null(strstr(h.warning[0].message, "fine_grain_interleave is 2 without sequence parallelism"));

    /* 32000 x 256 at 16 bytes are 125 MB: more than a twentieth of 2000. */
    make(&m);
    m.job.states = (ek_job_states){.weight = 4, .gradient = 4, .optimizer = 8, .shard_weight = true};
    m.job.limit_mb = 2000;
    lint(&m.job, &h);
    assert_int_equal(h.n, 1);
    assert_non_null(strstr(h.warning[0].message, "the embedding table takes 125 MB"));
    assert_non_null(strstr(h.warning[0].message, "the 4 ranks that have it"));
    assert_string_equal(h.warning[0].file, "job.yaml");
    m.job.limit_mb = 3000;
    lint(&m.job, &h);
    assert_int_equal(h.n, 0);
    m.job.model.vocab = 320000; /* 1250 MB are large whatever the limit */
    m.job.limit_mb = 0;
    lint(&m.job, &h);
    assert_int_equal(h.n, 1);
    m.job.states.shard_table = true;
    lint(&m.job, &h);
    assert_int_equal(h.n, 0);
    /* No rank to share it with. */
    m.job.states.shard_table = false;
    m.job.parallel.data = 1;
    m.job.parallel.table_split = 2;
    lint(&m.job, &h);
    assert_int_equal(h.n, 0);
    /* One layer of a pattern that names nothing is enough, none is not. */
    make(&m);
    add(&m, EK_PATTERN_SELECT, "nothing");
    m.pattern[0].layers = one_layer;
    lint(&m.job, &h);
    assert_int_equal(h.n, 1);
    m.pattern[0].layers = m.job.plan.select;
    lint(&m.job, &h);
    assert_int_equal(h.n, 0);
    assert_int_equal(ek_memory_lint(&m.job, NULL, NULL), EK_OK);
}

/* Warnings about patterns in a shipped file; -1 when the job cannot be read. */
static int pattern_warnings(const char *path, heard *h)
{
    ek_job job;
    int n = 0;
    if (ek_job_read(path, NULL, NULL, &job, NULL))
        return -1;
    lint(&job, h);
    for (int i = 0; i < h->n; i++)
        n += strstr(h->warning[i].message, "embedding table") == NULL;
    ek_job_clear(&job);
    return n;
}

/* A file that is warned of, and how often. */
typedef struct known_wrong {
    const char *file;
    int n;
} known_wrong;

/* All files of a folder; those not among the wrong ones are not warned of. @return how many */
static int check_folder(const char *folder, const known_wrong *wrong, size_t n_wrong)
{
    static heard h;
    char path[4352];
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    int n_read = 0;
    for (const struct dirent *e; (e = readdir(dir)) != NULL;) {
        if (!strstr(e->d_name, ".yaml"))
            continue;
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        int n = pattern_warnings(path, &h), expected = 0;
        if (n < 0)
            continue;
        n_read++;
        for (size_t i = 0; i < n_wrong; i++)
            if (strcmp(e->d_name, wrong[i].file) == 0)
                expected = wrong[i].n;
        if (n != expected)
            fail_msg("%s: %d warnings: %s", e->d_name, n, h.warning[0].message);
    }
    closedir(dir);
    return n_read;
}

/* Three are wrong: without fine_grain_interleave a reshape follows the operators that each of their patterns
 * recomputes. */
static void own_files_are_warned_of_only_what_is_true(void **state)
{
    (void)state;
    static const known_wrong wrong[] = {{"llama2_70b.yaml", 2}, {"llama3_70b.yaml", 2}, {"qwen2_5_7b.yaml", 1}};
    char folder[4096];
    snprintf(folder, sizeof folder, "%s", source_path("tests/data/published/reference/configs"));
    assert_int_equal(check_folder(folder, wrong, sizeof wrong / sizeof *wrong), 11);
}

/* Two files are wrong: with qkv_concat there is no feed_forward.w1 (two of four patterns), and recomputing all layers
 * whole hides a selection. */
static void shipped_files_are_warned_of_only_what_is_true(void **state)
{
    (void)state;
    static const known_wrong wrong[] = {{"finetune_qwen2_5_14b_8k.yaml", 2}, {"pretrain_yizhao_12b_8k.yaml", 1}};
    assert_true(check_folder(need_shared("reference/configs"), wrong, sizeof wrong / sizeof *wrong) >= 25);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pattern_that_does_nothing_is_named),
        cmocka_unit_test(reshapes_make_the_selection_before_them_count),
        cmocka_unit_test(layers_recomputed_whole_hide_the_rest),
        cmocka_unit_test(a_recomputed_cast_that_keeps_more_is_named),
        cmocka_unit_test(other_settings_that_waste_are_named),
        cmocka_unit_test(own_files_are_warned_of_only_what_is_true),
        cmocka_unit_test(shipped_files_are_warned_of_only_what_is_true),
    };
    return cmocka_run_group_tests_name("memory lint", tests, NULL, NULL);
}
