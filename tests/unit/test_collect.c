/* Tests finding the logs of a dry run in folders and listings: every layout, the stage of each log, missing logs, and
 * refusals. The 16 stages of examples/dryrun16 have the peaks of their init file by formula. */
#include "input.h"

#include <dirent.h>
#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

#include "described.h"
#include "dryrun/collect.h"
#include "evenkeel/dryrun.h"
#include "evenkeel/report.h"
#include "figures/results.h"
#include "report/report_internal.h"
#include "report/writers.h"

static char top[64];

/* A separate folder for every test. */
static int make_top(void **state)
{
    (void)state;
    snprintf(top, sizeof top, "/tmp/evenkeel_collect_XXXXXX");
    return mkdtemp(top) ? 0 : -1;
}

static void remove_tree(const char *path)
{
    DIR *folder = opendir(path);
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        char inner[4096];
        struct stat info;
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        snprintf(inner, sizeof inner, "%s/%s", path, entry->d_name);
        if (lstat(inner, &info) == 0 && S_ISDIR(info.st_mode))
            remove_tree(inner);
        else
            unlink(inner);
    }
    if (folder)
        closedir(folder);
    rmdir(path);
}

static int remove_top(void **state)
{
    (void)state;
    remove_tree(top);
    return 0;
}

/* A file below `top` with its folders. */
static void put_file(const char *name, const char *text)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", top, name);
    for (char *slash = path + strlen(top) + 1; (slash = strchr(slash, '/')); *slash++ = '/') {
        *slash = '\0';
        mkdir(path, 0777);
    }
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void put_log(const char *name, int peak)
{
    char text[256];
    snprintf(text, sizeof text,
             "Used peak memory usage (without fragments): %dM\nActual peak memory usage (with fragments): %dM\n",
             peak - 1, peak);
    put_file(name, text);
}

/* "stage rank peak log; ..." of the first round, paths below `top`. */
static const char *summary(const ek_collection *all)
{
    static char text[8192];
    size_t n = 0;
    text[0] = '\0';
    for (int i = 0; i < all->round[0].n; i++) {
        const ek_stage_log *log = &all->round[0].stage[i];
        const char *path = strncmp(log->path, top, strlen(top)) == 0 ? log->path + strlen(top) + 1 : log->path;
        n += (size_t)snprintf(text + n, sizeof text - n, "%d %d %g %s%s; ", log->stage, log->rank, log->log.actual_mb,
                              log->no_log ? "none in " : "", path);
    }
    return text;
}

static void expect(const char *what, const char *expected)
{
    ek_collection all;
    ek_error err = {0};
    const char *source = top;
    if (ek_collection_read(&source, 1, 0, NULL, &all, &err))
        fail_msg("%s: %s: %s", what, err.file, err.message);
    if (strcmp(summary(&all), expected) != 0)
        fail_msg("%s: %s", what, summary(&all));
    const ek_collected collected = {&all, EK_PEAK_ACTUAL, NULL};
    CHECK_WRITTEN(ek__result_collected.fields, ek__collected_write_json, &collected);
    ek_collection_clear(&all);
}

static void refuse(const char *source, int n_stages, const char *file, const char *message)
{
    ek_collection all = {.n_rounds = 77};
    ek_error err = {0};
    assert_int_equal(ek_collection_read(&source, 1, n_stages, NULL, &all, &err), EK_ERR_INPUT);
    assert_int_equal(all.n_rounds, 77);
    if (!strstr(err.file, file) || !strstr(err.message, message))
        fail_msg("%s:%d:%d: %s", err.file, err.line, err.column, err.message);
}

/* ---- names ---- */

static void names_tell_stage_and_rank(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        ek__log_name kind;
        int stage, rank;
    } cases[] = {
        {"stage_3_rank_3072", EK__NAME_STAGE_FOLDER, 3, 3072},
        {"stage3_3072", EK__NAME_STAGE_FOLDER, 3, 3072},
        {"rank_3072.log", EK__NAME_RANK_FILE, EK__NO_STAGE, 3072},
        {"rank_0.log", EK__NAME_RANK_FILE, EK__NO_STAGE, 0},
        {"stage_3_3072", EK__NAME_OTHER, 0, 0},
        {"stage3_rank_3072", EK__NAME_OTHER, 0, 0},
        {"stage_3_rank_3072.old", EK__NAME_OTHER, 0, 0},
        {"stage_3_rank_", EK__NAME_OTHER, 0, 0},
        {"stage_-3_rank_2", EK__NAME_OTHER, 0, 0},
        {"stage_1_rank_99999999999", EK__NAME_OTHER, 0, 0},
        {"rank_3072", EK__NAME_OTHER, 0, 0},
        {"rank_3072.log.1", EK__NAME_OTHER, 0, 0},
        {"rank_.log", EK__NAME_OTHER, 0, 0},
        {"mindformer.log", EK__NAME_OTHER, 0, 0},
        {"", EK__NAME_OTHER, 0, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int stage = 0, rank = 0;
        ek__log_name kind = ek__log_name_read(cases[i].name, strlen(cases[i].name), &stage, &rank);
        if (kind != cases[i].kind || (kind != EK__NAME_OTHER && (stage != cases[i].stage || rank != cases[i].rank)))
            fail_msg("%s: %d, stage %d, rank %d", cases[i].name, kind, stage, rank);
    }
}

/* ---- folders ---- */

static void stage_folders_are_found_at_any_depth(void **state)
{
    (void)state;
    put_log("stage_0_rank_0/mindformer.log", 10);
    put_log("a/stage_10_rank_80/mindformer.log", 20);
    put_log("a/log/stage2_16/mindformer.log", 30);
    put_log("a/b/c/d/stage_3_rank_24/mindformer.log", 40);
    put_log("a/b/c/d/e/stage_4_rank_32/mindformer.log", 50); /* too deep */
    put_log("a/checkpoint/mindformer.log", 60);
    expect("depths", "0 0 10 stage_0_rank_0/mindformer.log; 2 16 30 a/log/stage2_16/mindformer.log; "
                     "3 24 40 a/b/c/d/stage_3_rank_24/mindformer.log; 10 80 20 a/stage_10_rank_80/mindformer.log; ");
}

static void ranks_tell_stages_by_their_smallest_gap(void **state)
{
    (void)state;
    put_log("out/rank_0.log", 10);
    put_log("out/rank_1024.log", 20);
    put_log("out/rank_3072.log", 40);
    put_log("out/rank_10240.log", 50);
    expect("with gaps", "0 0 10 out/rank_0.log; 1 1024 20 out/rank_1024.log; 3 3072 40 out/rank_3072.log; "
                        "10 10240 50 out/rank_10240.log; ");
    put_log("out/rank_1500.log", 20);
    refuse(top, 0, "rank_1024.log", "is no multiple of 476");
}

static void one_rank_alone_tells_its_stage_only_when_it_is_the_first(void **state)
{
    (void)state;
    put_log("rank_0.log", 10);
    expect("rank 0", "0 0 10 rank_0.log; ");
    char old[128], new[128];
    snprintf(old, sizeof old, "%s/rank_0.log", top);
    snprintf(new, sizeof new, "%s/rank_8.log", top);
    assert_int_equal(rename(old, new), 0);
    refuse(top, 0, top, "the stage of a single rank is not known");
}

static void the_log_in_a_stage_folder_is_chosen_by_its_name(void **state)
{
    (void)state;
    put_log("stage_0_rank_0/mindformer.log", 10);
    put_log("stage_0_rank_0/worker_0.log", 11);
    put_log("stage_1_rank_8/anything.log", 20);
    put_file("stage_1_rank_8/notes.txt", "x");
    put_log("stage_2_rank_16/worker_0.log", 30);
    put_log("stage_2_rank_16/scheduler.log", 31);
    put_file("stage_3_rank_24/notes.txt", "x");
    expect("chosen", "0 0 10 stage_0_rank_0/mindformer.log; 1 8 20 stage_1_rank_8/anything.log; "
                     "2 16 30 stage_2_rank_16/worker_0.log; 3 24 nan none in stage_3_rank_24; ");
    put_log("stage_2_rank_16/worker_1.log", 32);
    said s = {{0}, 0, 0};
    const ek_listener listener = {say_warning, &s};
    ek_collection all;
    const char *source = top;
    assert_int_equal(ek_collection_read(&source, 1, 0, &listener, &all, NULL), EK_OK);
    assert_int_equal(s.n_warnings, 1);
    assert_true(all.round[0].stage[2].log.actual_mb == 30);
    ek_collection_clear(&all);
    put_log("stage_4_rank_32/a.log", 1);
    put_log("stage_4_rank_32/b.log", 1);
    refuse(top, 0, "stage_4_rank_32", "several *.log");
}

static void links_in_circles_end(void **state)
{
    (void)state;
    char link[128];
    put_log("a/stage_0_rank_0/mindformer.log", 10);
    snprintf(link, sizeof link, "%s/a/round", top);
    assert_int_equal(symlink("..", link), 0);
    snprintf(link, sizeof link, "%s/nowhere", top);
    assert_int_equal(symlink("no/such", link), 0);
    expect("circles", "0 0 10 a/stage_0_rank_0/mindformer.log; ");
}

static void two_logs_of_one_stage_must_agree(void **state)
{
    (void)state;
    put_log("a/stage_1_rank_8/mindformer.log", 20);
    put_log("b/stage_1_rank_8/mindformer.log", 20);
    put_file("c/stage_1_rank_8/mindformer.log", "RuntimeError: x\n");
    expect("the same", "1 8 20 a/stage_1_rank_8/mindformer.log; ");
    put_file("a/stage_1_rank_8/mindformer.log", "RuntimeError: x\n");
    expect("the one with a peak", "1 8 20 b/stage_1_rank_8/mindformer.log; ");
    put_log("a/stage_1_rank_8/mindformer.log", 21);
    refuse(top, 0, top, "a/stage_1_rank_8/mindformer.log' and '");
    refuse(top, 0, top, "b/stage_1_rank_8/mindformer.log'");
}

static void what_cannot_be_is_refused(void **state)
{
    (void)state;
    refuse(top, 0, top, "contains no log of a dry run; looked for stage_S_rank_R/mindformer.log");
    put_log("stage_0_rank_0/mindformer.log", 10);
    put_log("stage_5_rank_40/mindformer.log", 10);
    refuse(top, 5, top, "is of stage 5, but the dry run has 5 stages, 0 to 4");
    put_log("stage_6_rank_16/mindformer.log", 10);
    refuse(top, 0, "stage_6_rank_16", "stage 6 has rank 16, but stage 5 has rank 40");
    put_log("stage_1024_rank_65536/mindformer.log", 10);
    refuse(top, 0, top, "there are at most 1024 stages");
    put_file("stage_0_rank_0/mindformer.log", "\nUsed peak memory usage: 5K\n");
    refuse(top, 0, "stage_0_rank_0/mindformer.log", "unknown unit");
}

static void a_log_without_a_peak_is_there_with_its_end(void **state)
{
    (void)state;
    put_log("stage_0_rank_0/mindformer.log", 10);
    put_file("stage_1_rank_8/mindformer.log", "begins\nRuntimeError: out of memory\nends\n");
    put_log("stage_3_rank_24/mindformer.log", 10);
    ek_collection all;
    const char *source = top;
    assert_int_equal(ek_collection_read(&source, 1, 5, NULL, &all, NULL), EK_OK);
    assert_int_equal(all.n_stages, 5);
    assert_int_equal(ek_collection_count_gaps(&all, EK_PEAK_ACTUAL), 3);
    assert_null(ek_round_find(&all.round[0], 2));
    assert_null(ek_round_find(&all.round[0], 4));
    const ek_stage_log *crashed = ek_round_find(&all.round[0], 1);
    assert_true(isnan(ek_stage_log_peak(crashed, EK_PEAK_USED)));
    assert_string_equal(crashed->log.line[0], "RuntimeError: out of memory");
    ek_collection_clear(&all);
}

/* ---- listings ---- */

static const char *put_listing(const char *text)
{
    static char path[128];
    put_file("listing", text);
    snprintf(path, sizeof path, "%s/listing", top);
    return path;
}

static void listings_are_read_in_the_forms_of_grep(void **state)
{
    (void)state;
    static const struct {
        const char *text, *expected;
    } cases[] = {
        {"stage_1_rank_8/mindformer.log:54:Actual peak memory usage (with fragments): 60M\n",
         "1 8 60 stage_1_rank_8/mindformer.log; "},
        {"  ./out/log/stage1_8/worker_0.log:Actual peak memory usage: 60MB\r\n",
         "1 8 60 ./out/log/stage1_8/worker_0.log; "},
        {"C:\\out\\stage_1_rank_8\\mindformer.log:54:Actual peak memory usage (with fragments): 60M\n",
         "1 8 60 C:\\out\\stage_1_rank_8\\mindformer.log; "},
        {"o/rank_0.log:1:Actual peak memory usage: 5M\no/rank_8.log:1:x: Actual peak memory usage: 6M\n",
         "0 0 5 o/rank_0.log; 1 8 6 o/rank_8.log; "},
        {"stage_0_rank_0/a.log:9:Actual peak memory usage: 5M\nstage_1_rank_8/a.log:9:Actual peak memory usage: 6M\n"
         "stage_0_rank_0/a.log:99:Actual peak memory usage: 7M\n",
         "0 0 7 stage_0_rank_0/a.log; 1 8 6 stage_1_rank_8/a.log; "},
        {"noise\nstage_0_rank_0/a.log:9:Device MOC memory size: 9M\nstage_0_rank_0/a.log:9:Actual peak memory usage: "
         "5M",
         "0 0 5 stage_0_rank_0/a.log; "},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ek_collection all;
        ek_error err = {0};
        const char *source = put_listing(cases[i].text);
        if (ek_collection_read(&source, 1, 0, NULL, &all, &err))
            fail_msg("%s: %s", cases[i].text, err.message);
        assert_string_equal(summary(&all), cases[i].expected);
        assert_true(all.round[0].listing);
        ek_collection_clear(&all);
    }
}

static void listings_that_do_not_tell_are_refused_with_their_line(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
        int line, column;
    } cases[] = {
        {"", "contains no line with a peak", 0, 0},
        {"x\ny\n", "contains no line with a peak", 0, 0},
        {"x\nActual peak memory usage: 5M\n", "no path with a stage or rank", 2, 1},
        {"mindformer.log:5:Actual peak memory usage: 5M\n", "no path with a stage or rank", 1, 1},
        {"stage_1_rank_8/a.log:1:Actual peak memory usage: 5M\nstage_2_rank_16/a.log:1:Actual peak memory usage: 5K\n",
         "'5K' has an unknown unit", 2, 51},
        {"a/stage_1_rank_8/a.log:1:Actual peak memory usage: 5M\nb/stage_1_rank_8/a.log:1:Actual peak memory usage: "
         "6M\n",
         "'a/stage_1_rank_8/a.log' and 'b/stage_1_rank_8/a.log'", 0, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ek_collection all;
        ek_error err = {0};
        const char *source = put_listing(cases[i].text);
        assert_int_equal(ek_collection_read(&source, 1, 0, NULL, &all, &err), EK_ERR_INPUT);
        if (!strstr(err.message, cases[i].message) || err.line != cases[i].line || err.column != cases[i].column)
            fail_msg("%s: %d:%d: %s", cases[i].text, err.line, err.column, err.message);
    }
}

/* ---- the init file ---- */

static void memory_usage_is_made_of_what_is_there(void **state)
{
    (void)state;
    put_log("a/stage_0_rank_0/x.log", 10);
    put_log("a/stage_1_rank_8/x.log", 20);
    put_log("a/stage_2_rank_16/x.log", 30);
    put_file("a/stage_3_rank_24/x.log", "");
    put_file("a/stage_4_rank_32/x.log", "Used peak memory usage: 1.5G\nActual peak memory usage: 2.5M\n");
    put_log("b/stage_3_rank_24/x.log", 60);
    put_log("b/stage_1_rank_8/x.log", 70);
    char a[128], b[128];
    snprintf(a, sizeof a, "%s/a", top);
    snprintf(b, sizeof b, "%s/b", top);
    const char *const both[] = {a, b};
    ek_collection all;
    ek_memory_usage usage;
    ek_error err;
    assert_int_equal(ek_collection_read(both, 2, 0, NULL, &all, NULL), EK_OK);
    assert_int_equal(ek_memory_usage_make(&all, EK_PEAK_ACTUAL, &usage, NULL), EK_OK);
    assert_string_equal(usage.head, "10");
    assert_string_equal(usage.tail, "2.5");
    assert_string_equal(usage.stage_id, "[[1, 2], [1, 3]]");
    assert_string_equal(usage.memories, "[[20, 30], [70, 60]]");
    ek_memory_usage_clear(&usage);
    double share = 0;
    assert_int_equal(ek_collection_most_fragmented(&all, &share)->stage, 0);
    assert_true(fabs(share - 1.0 / 9) < 1e-12);
    ek_collection_clear(&all);

    assert_int_equal(ek_collection_read(both, 1, 0, NULL, &all, NULL), EK_OK);
    assert_int_equal(ek_memory_usage_make(&all, EK_PEAK_USED, &usage, NULL), EK_OK);
    assert_string_equal(usage.tail, "1536");
    assert_string_equal(usage.stage_id, "[1, 2]");
    assert_string_equal(usage.memories, "[19, 29]");
    ek_memory_usage_clear(&usage);
    ek_collection_clear(&all);

    assert_int_equal(ek_collection_read(both + 1, 1, 0, NULL, &all, NULL), EK_OK);
    assert_int_equal(ek_memory_usage_make(&all, EK_PEAK_ACTUAL, &usage, &err), EK_ERR_INPUT);
    assert_non_null(strstr(err.message, "stage 0 has no peak in the first round"));
    ek_collection_clear(&all);
}

static void the_made_up_dry_run_holds_what_its_formula_says(void **state)
{
    (void)state;
    enum { P = 16 };
    static const int layers[P] = {4, 5, 3, 6, 4, 2, 5, 4, 5, 3, 4, 6, 2, 5, 3, 3};
    static const int full[P] = {0, 2, 1, 3, 0, 1, 4, 2, 0, 3, 1, 5, 0, 2, 1, 0};
    static const char *const names[] = {"examples/dryrun16", "examples/dryrun16_listing.txt"};
    for (int i = 0; i < 2; i++) {
        ek_collection all;
        ek_error err = {0};
        char path[4096];
        const char *source = path;
        snprintf(path, sizeof path, "%s", source_path(names[i]));
        if (ek_collection_read(&source, 1, P, NULL, &all, &err))
            fail_msg("%s: %s", err.file, err.message);
        assert_int_equal(all.round[0].n, P);
        for (int s = 0; s < P; s++) {
            const ek_stage_log *log = ek_round_find(&all.round[0], s);
            int peak = 512 * layers[s] + (P - s) * (96 * (layers[s] - full[s]) + 16 * full[s]) + 1200 +
                       (s == 0 ? 2048 : 0) + (s == P - 1 ? 1536 : 0);
            assert_int_equal(log->rank, 8 * s);
            assert_true(log->log.actual_mb == peak);
            assert_true(log->log.used_mb == peak - peak * (2 + s % 5) / 100);
            assert_true(i == 1 || log->log.device_mb == 65536);
        }
        ek_collection_clear(&all);
    }
}

/* The peaks that the documentation of MindFormers' SAPP tool prints for a dry run of 16 stages, one rank of each, as
 * grep lists them. The init file filled in from them is tests/data/llama175b_init.yaml. */
static void the_documented_listing_gives_the_documented_init_file(void **state)
{
    (void)state;
    static const int printed[] = {96643, 60854, 27620, 54533, 100631, 31713, 38874, 146986,
                                  31713, 24553, 24553, 28484, 45016,  33763, 20463, 23531};
    enum { N_STAGES = sizeof printed / sizeof *printed };
    char listing[4096];
    size_t length = 0;
    for (int s = 0; s < N_STAGES; s++)
        length +=
            (size_t)snprintf(listing + length, sizeof listing - length,
                             "stage_%d_rank_%d/mindformer.log:%d:Actual peak memory usage (with fragments): %dM\n", s,
                             1024 * s, 5400 + s, printed[s]);
    ek_collection all;
    ek_error err = {0};
    const char *source = put_listing(listing);
    if (ek_collection_read(&source, 1, 0, NULL, &all, &err))
        fail_msg("%s", err.message);
    ek_dryrun init;
    assert_int_equal(ek_dryrun_read(source_path("tests/data/llama175b_init.yaml"), NULL, &init, &err), EK_OK);
    assert_int_equal(all.round[0].n, N_STAGES);
    assert_int_equal(init.n_measurements, N_STAGES - 2);
    assert_true(ek_round_find(&all.round[0], 0)->log.actual_mb == init.head_mb);
    assert_true(ek_round_find(&all.round[0], N_STAGES - 1)->log.actual_mb == init.tail_mb);
    for (int i = 0; i < init.n_measurements; i++) {
        const ek_stage_log *log = ek_round_find(&all.round[0], init.measurement[i].stage);
        assert_true(log->log.actual_mb == init.measurement[i].peak_mb);
        assert_int_equal(log->rank, 1024 * log->stage);
    }
    ek_dryrun_clear(&init);
    ek_collection_clear(&all);
}

#define OWN_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_top, remove_top)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_tell_stage_and_rank),
        OWN_FOLDER(stage_folders_are_found_at_any_depth),
        OWN_FOLDER(ranks_tell_stages_by_their_smallest_gap),
        OWN_FOLDER(one_rank_alone_tells_its_stage_only_when_it_is_the_first),
        OWN_FOLDER(the_log_in_a_stage_folder_is_chosen_by_its_name),
        OWN_FOLDER(links_in_circles_end),
        OWN_FOLDER(two_logs_of_one_stage_must_agree),
        OWN_FOLDER(what_cannot_be_is_refused),
        OWN_FOLDER(a_log_without_a_peak_is_there_with_its_end),
        OWN_FOLDER(listings_are_read_in_the_forms_of_grep),
        OWN_FOLDER(listings_that_do_not_tell_are_refused_with_their_line),
        OWN_FOLDER(memory_usage_is_made_of_what_is_there),
        cmocka_unit_test(the_made_up_dry_run_holds_what_its_formula_says),
        OWN_FOLDER(the_documented_listing_gives_the_documented_init_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
