/* Tests the assignment of a folder's files to ranks, over every layout that profilers write, in trees built here. */
#include "tree.h"

#include "base/pool.h"
#include "trace/tables/files.h"

static const char events[] = "[{\"ph\": \"X\", \"name\": \"a\", \"ts\": 1, \"dur\": 1, \"pid\": 1, \"tid\": 1}]";

static said heard;

/* "R<rank>[ stage S][ device D]: type name, ...; " of the files found, paths below `top`. */
static const char *found_in(const char *const *path, int n)
{
    static char text[16384];
    ek__pool *pool = ek__pool_new();
    ek__layout layout;
    ek_error err = {0};
    ek_listener listener = {say_warning, &heard};
    size_t at = 0;
    heard = (said){0};
    text[0] = '\0';
    if (ek__layout_find(path, n, pool, &listener, &layout, &err)) {
        snprintf(text, sizeof text, "error %d: %s", (int)err.status, err.message);
        ek__pool_free(pool);
        return text;
    }
    for (int i = -1; i < layout.n_ranks; i++) {
        const ek__rank_files *rank = i < 0 ? NULL : &layout.rank[i];
        int n_files = rank ? rank->n_files : layout.n_common;
        if (n_files == 0)
            continue;
        if (rank)
            at += (size_t)snprintf(text + at, sizeof text - at, "R%d", rank->rank);
        else
            at += (size_t)snprintf(text + at, sizeof text - at, "run");
        if (rank && rank->stage >= 0)
            at += (size_t)snprintf(text + at, sizeof text - at, " stage %d", rank->stage);
        if (rank && rank->device >= 0)
            at += (size_t)snprintf(text + at, sizeof text - at, " device %d", rank->device);
        for (int k = 0; k < n_files; k++) {
            const ek__rank_file *file = rank ? &rank->file[k] : &layout.common[k];
            const char *name = strncmp(file->path, top, strlen(top)) == 0 ? file->path + strlen(top) + 1 : file->path;
            at += (size_t)snprintf(text + at, sizeof text - at, "%s %s %s", k ? "," : ":",
                                   ek__file_type_name(file->type), name);
        }
        at += (size_t)snprintf(text + at, sizeof text - at, "; ");
    }
    ek__pool_free(pool);
    return text;
}

static const char *found(const char *path)
{
    return found_in(&path, 1);
}

static void takes_a_torch_npu_folder(void **state)
{
    (void)state;
    put("w_12_20250109120000123_ascend_pt/ASCEND_PROFILER_OUTPUT/trace_view.json", events);
    put("w_12_20250109120000123_ascend_pt/ASCEND_PROFILER_OUTPUT/kernel_details.csv", "Name\n");
    put("w_12_20250109120000123_ascend_pt/ASCEND_PROFILER_OUTPUT/operator_details.csv", "Name\n");
    put("w_12_20250109120000123_ascend_pt/profiler_info_3.json", "{\"rank_id\": 9}");
    put("w_12_20250109120000123_ascend_pt/FRAMEWORK/trace_view.json", events);
    put("w_12_20250109120000123_ascend_pt/logs/trace_view.json", events);
    put("w_12_20250109120000123_ascend_pt/PROF_0001_2_X/device_5/timeline/msprof_5_1_1.json", events);
    const char *want = "R3: trace w_12_20250109120000123_ascend_pt/ASCEND_PROFILER_OUTPUT/trace_view.json, "
                       "profiler_info w_12_20250109120000123_ascend_pt/profiler_info_3.json, "
                       "kernel_details w_12_20250109120000123_ascend_pt/ASCEND_PROFILER_OUTPUT/kernel_details.csv; ";
    assert_string_equal(found(top), want);
    assert_string_equal(found(below("w_12_20250109120000123_ascend_pt")), want);
    assert_int_equal(heard.n_warnings, 0);
    /* The file by itself is of the same rank. */
    assert_string_equal(found(below("w_12_20250109120000123_ascend_pt/ASCEND_PROFILER_OUTPUT/trace_view.json")),
                        "R3: trace w_12_20250109120000123_ascend_pt/ASCEND_PROFILER_OUTPUT/trace_view.json; ");
}

static void keeps_raw_results_without_a_trace_of_the_framework(void **state)
{
    (void)state;
    put("rank2_ascend_ms/ASCEND_PROFILER_OUTPUT/kernel_details.csv", "Name\n");
    put("rank2_ascend_ms/PROF_0001_2_X/mindstudio_profiler_output/msprof_20250109.json", events);
    put("rank2_ascend_ms/PROF_0001_2_X/mindstudio_profiler_output/op_summary_20250109.csv", "Op Name\n");
    assert_string_equal(
        found(top), "R2: trace rank2_ascend_ms/PROF_0001_2_X/mindstudio_profiler_output/msprof_20250109.json, "
                    "kernel_details rank2_ascend_ms/ASCEND_PROFILER_OUTPUT/kernel_details.csv, "
                    "op_summary rank2_ascend_ms/PROF_0001_2_X/mindstudio_profiler_output/op_summary_20250109.csv; ");
}

static void finds_the_rank_of_a_folder(void **state)
{
    (void)state;
    static const struct {
        const char *folder, *info, *rank;
    } cases[] = {
        {"a", NULL, "R-1"},
        {"host_4242_20250109120000123_ascend_pt", NULL, "R-1"},
        {"host_4242_20250109120000123_ascend_pt", "profiler_info_7.json", "R7"},
        {"host_4242_20250109120000123_ascend_pt", "profiler_info.json", "R9"},
        {"rank_6", NULL, "R6"},
        {"rank-6_20240101120000_ascend_ms", NULL, "R6"},
        {"node3_rank12_ascend_pt", NULL, "R12"},
        {"job_5", NULL, "R5"},
        {"profile/rank_4/host_4242_20250109120000123_ascend_ms", NULL, "R4"},
        {"frank_8x", NULL, "R8"}, /* its last number, not a rank in its name */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char name[512], got[8] = "";
        snprintf(name, sizeof name, "%s/ASCEND_PROFILER_OUTPUT/trace_view.json", cases[i].folder);
        put(name, events);
        snprintf(name, sizeof name, "%s/%s", cases[i].folder, cases[i].info ? cases[i].info : "x.txt");
        put(name, "{\"rank_id\": \"9\"}");
        snprintf(got, sizeof got, "%.*s", (int)strcspn(found(top), ":"), found(top));
        if (strcmp(got, cases[i].rank) != 0)
            fail_msg("%s: %s, not %s", cases[i].folder, got, cases[i].rank);
        remove_tree(top);
        assert_int_equal(mkdir(top, 0777), 0);
    }
}

static void takes_bare_files_by_their_numbers(void **state)
{
    (void)state;
    put("p/step_trace_raw_0_detail_time.csv", "step_num\n");
    put("p/step_trace_raw_11_detail_time.csv", "step_num\n");
    put("p/ascend_cluster_analyse_pipeline-parallel_2_4_11.csv", "x\n");
    put("p/hccl_raw_0.csv", "x\n");
    put("p/minddata_pipeline_raw_0.csv", "x\n");
    put("p/ascend_timeline_display_11.json", events);
    put("p/ascend_timeline_summary_11.json", "{}");
    put("p/framework_raw_0.csv", "x\n");
    assert_string_equal(found(top), "R0: hccl_raw p/hccl_raw_0.csv, minddata_raw p/minddata_pipeline_raw_0.csv, "
                                    "step_trace_raw p/step_trace_raw_0_detail_time.csv; "
                                    "R11: trace p/ascend_timeline_display_11.json, "
                                    "step_trace_raw p/step_trace_raw_11_detail_time.csv, "
                                    "cluster_analyse p/ascend_cluster_analyse_pipeline-parallel_2_4_11.csv; ");
}

static void takes_iterations_in_order_and_leaves_their_parts(void **state)
{
    (void)state;
    static const char *const names[] = {"msprof_1_2_10.json", "msprof_1_2_9.json",    "msprof_1_2_1.json",
                                        "hccl_1_2_1.json",    "task_time_1_2_1.json", "step_trace_1_2_1.json"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char name[128];
        snprintf(name, sizeof name, "p/PROF_000001_20230818_A/device_1/timeline/%s", names[i]);
        put(name, events);
    }
    put("p/PROF_000001_20230818_B/device_0/timeline/hccl_0_2_1.json", events);
    put("p/ascend_timeline_display_1.json", events);
    assert_string_equal(found(top), "R0 device 0: trace p/PROF_000001_20230818_B/device_0/timeline/hccl_0_2_1.json; "
                                    "R1 device 1: trace p/PROF_000001_20230818_A/device_1/timeline/msprof_1_2_1.json, "
                                    "trace p/PROF_000001_20230818_A/device_1/timeline/msprof_1_2_9.json, "
                                    "trace p/PROF_000001_20230818_A/device_1/timeline/msprof_1_2_10.json; ");
    /* A file given by itself is read in any case. */
    const char *both[] = {top, below("p/PROF_000001_20230818_A/device_1/timeline/hccl_1_2_1.json")};
    assert_non_null(strstr(found_in(both, 2), "hccl_1_2_1.json"));
}

static void does_not_mix_two_profiles_of_a_device(void **state)
{
    (void)state;
    put("p/PROF_1/device_0/timeline/msprof_0_2_1.json", events);
    put("p/PROF_2/device_0/timeline/hccl_0_2_1.json", events);
    put("p/PROF_2/device_0/timeline/task_time_0_2_1.json", events);
    put("r/trace_view.json", events);
    put("r/trace_view.json.gz", "x");
    /* One device below a folder: its rank is the folder's. */
    put("q/PROF_1/device_0/timeline/msprof_0_2_1.json", events);
    put("q/profiler_info_6.json", "{}");
    assert_string_equal(found(top), "R0 device 0: trace p/PROF_1/device_0/timeline/msprof_0_2_1.json; "
                                    "R0 device 0: trace p/PROF_2/device_0/timeline/hccl_0_2_1.json, "
                                    "trace p/PROF_2/device_0/timeline/task_time_0_2_1.json; "
                                    "R6 device 0: trace q/PROF_1/device_0/timeline/msprof_0_2_1.json, "
                                    "profiler_info q/profiler_info_6.json; "
                                    "R-1: trace r/trace_view.json; ");
}

static void takes_traces_beside_each_other_for_ranks(void **state)
{
    (void)state;
    put("a/trace_view_stage0.json", events);
    put("a/trace_view_stage1.json", events);
    put("b/job_rank-12.1623143089861.pt.trace.json.gz", "x");
    put("b/worker0.1623143089861.pt.trace.json", events);
    put("b/notes.json", "{\"nodes\": []}");
    put("b/other.json", "{\"schemaVersion\": 1, \"traceEvents\": []}");
    put("b/array.json", "[1, 2]");
    put("b/resnet50_h100/model__1016002.json.gz", "x");
    assert_string_equal(found(top), "R0 stage 0: trace a/trace_view_stage0.json; "
                                    "R1 stage 1: trace a/trace_view_stage1.json; "
                                    "R12: trace b/job_rank-12.1623143089861.pt.trace.json.gz; "
                                    "R-1: trace b/other.json; "
                                    "R-1: trace b/resnet50_h100/model__1016002.json.gz; "
                                    "R-1: trace b/worker0.1623143089861.pt.trace.json; ");
}

static void joins_a_dump_of_its_own_with_the_profile(void **state)
{
    (void)state;
    put("mem/rank_1/memory_block.csv", "x\n");
    put("prof/rank_1/ASCEND_PROFILER_OUTPUT/trace_view.json", events);
    assert_string_equal(found(top), "R1: trace prof/rank_1/ASCEND_PROFILER_OUTPUT/trace_view.json, "
                                    "memory_block mem/rank_1/memory_block.csv; ");
    /* Two profiles of one rank stay two. */
    put("again/rank_1/ASCEND_PROFILER_OUTPUT/trace_view.json", events);
    assert_string_equal(found(top), "R1: trace again/rank_1/ASCEND_PROFILER_OUTPUT/trace_view.json; "
                                    "R1: memory_block mem/rank_1/memory_block.csv; "
                                    "R1: trace prof/rank_1/ASCEND_PROFILER_OUTPUT/trace_view.json; ");
}

static void tells_cluster_tables_from_those_of_ranks(void **state)
{
    (void)state;
    put("cluster_analysis_output/cluster_step_trace_time.csv", "Step\n");
    put("cluster_analysis_output/communication_group.json", "{}");
    put("cluster_analysis_output/cluster_communication.json", "{}");
    put("cluster_analysis_output/communication_matrix.json", "{}");
    put("r0/ASCEND_PROFILER_OUTPUT/communication_matrix.json", "{}");
    put("r0/ASCEND_PROFILER_OUTPUT/communication.json", "{}");
    assert_string_equal(found(top), "run: cluster_step_trace_time cluster_analysis_output/cluster_step_trace_time.csv, "
                                    "communication_group cluster_analysis_output/communication_group.json; "
                                    "R0: communication_matrix r0/ASCEND_PROFILER_OUTPUT/communication_matrix.json, "
                                    "communication r0/ASCEND_PROFILER_OUTPUT/communication.json; ");
}

static void reads_nothing_twice_and_ends_in_circles(void **state)
{
    (void)state;
    put("a/rank_0/ASCEND_PROFILER_OUTPUT/trace_view.json", events);
    put("a/rank_1/ASCEND_PROFILER_OUTPUT/trace_view.json", events);
    assert_int_equal(symlink("..", below("a/rank_0/up")), 0);
    assert_int_equal(symlink("a", below("link")), 0);
    assert_int_equal(symlink("/nowhere", below("a/broken.json")), 0);
    const char *want = "R0: trace a/rank_0/ASCEND_PROFILER_OUTPUT/trace_view.json; "
                       "R1: trace a/rank_1/ASCEND_PROFILER_OUTPUT/trace_view.json; ";
    const char *forth[] = {below("a/rank_0"), below("a/rank_1"), below("a/rank_0")};
    const char *back[] = {below("a/rank_1"), below("a/rank_0/ASCEND_PROFILER_OUTPUT/trace_view.json"),
                          below("a/rank_0")};
    assert_string_equal(found(top), want);
    assert_string_equal(found_in(forth, 3), want);
    assert_string_equal(found_in(back, 3), want);
}

static void does_not_depend_on_how_a_path_is_written(void **state)
{
    (void)state;
    char here[4096];
    assert_non_null(getcwd(here, sizeof here));
    put("rank_5/ASCEND_PROFILER_OUTPUT/trace_view.json", events);
    assert_int_equal(chdir(below("rank_5/ASCEND_PROFILER_OUTPUT")), 0);
    assert_string_equal(found("trace_view.json"), "R5: trace trace_view.json; ");
    assert_string_equal(found("."), "R5: trace ./trace_view.json; ");
    assert_string_equal(found("../../rank_5//./"),
                        "R5: trace ../../rank_5//./ASCEND_PROFILER_OUTPUT/trace_view.json; ");
    assert_int_equal(chdir(here), 0);
}

static void tells_given_files_by_what_is_inside(void **state)
{
    (void)state;
    static const struct {
        const char *name, *text, *type;
    } cases[] = {
        {"a.txt", events, "trace"},
        {"b", "\xef\xbb\xbf\n {\"traceEvents\": []}", "trace"},
        {"c.csv", "Name,Accelerator Core,Duration(us)\n", "kernel_details"},
        {"d.csv", "Device_id,Op Name,Task Duration(us)\n", "op_summary"},
        {"e.csv", "Step,Type,Index,Computing,Overlapped,Free\n", "cluster_step_trace_time"},
        {"f.csv", "Step,Computing,Overlapped,Free\n", "step_trace_time"},
        {"g.csv", "step_num,fp_point,iteration_interval\n", "step_trace_raw"},
        {"h.csv", "Component,Timestamp(us),Total Allocated(MB)\n", "memory_record"},
        {"i.json", "{\"distributed_args\": {}}", "profiler_metadata"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char want[128];
        put(cases[i].name, cases[i].text);
        snprintf(want, sizeof want, ": %s %s; ", cases[i].type, cases[i].name);
        const char *got = found(below(cases[i].name));
        if (!strstr(got, want))
            fail_msg("%s: %s", cases[i].name, got);
    }
}

static void says_what_is_missing(void **state)
{
    (void)state;
    put("empty.json", "");
    put("text.md", "# nothing\n");
    put("logs_only/a.txt", "x");
    put("db/ASCEND_PROFILER_OUTPUT/analysis.db", "x");

    assert_string_equal(found(below("nowhere")), "error 2: cannot be opened: No such file or directory");
    assert_non_null(strstr(found(below("empty.json")), "error 1: is empty"));
    assert_non_null(strstr(found(below("text.md")), "error 1: has an unknown format"));
    assert_non_null(strstr(found(below("logs_only")), "error 1: contains no profiler output; looked for"));
    assert_non_null(strstr(found(below("db")), "its databases (.db, .sqlite) have other tables"));
    assert_non_null(strstr(found(below("db")), "export_type=[ExportType.Text]"));
    const char *alone = found(below("db/ASCEND_PROFILER_OUTPUT/analysis.db"));
    assert_non_null(strstr(alone, "is no SQLite database, in spite of its name"));
    assert_non_null(strstr(found("/dev/null"), "no regular file"));
    assert_string_equal(found_in(NULL, 0), "error 1: no file or folder is given");
    /* Beside something good they are warnings. */
    put("good/trace_view.json", events);
    const char *some[] = {below("good"), below("nowhere"), below("text.md")};
    assert_string_equal(found_in(some, 3), "R-1: trace good/trace_view.json; ");
    assert_int_equal(heard.n_warnings, 2);
}

/* Iterations of one device are one rank, wherever their files were put; the same iteration twice is two ranks' files.
 */
static void iterations_of_a_device_are_one_rank(void **state)
{
    (void)state;
    put("a/msprof_1_0_10.json", events);
    put("b/msprof_1_0_3.json", events);
    put("b/op_summary_1_0_3.csv", "Op Name\n");
    put("c/op_summary_1_0_10.csv", "Op Name\n");
    assert_string_equal(found(top), "R1 device 1: trace b/msprof_1_0_3.json, trace a/msprof_1_0_10.json, "
                                    "op_summary b/op_summary_1_0_3.csv, op_summary c/op_summary_1_0_10.csv; ");
    const char *two[] = {below("a/msprof_1_0_10.json"), below("b/msprof_1_0_3.json")};
    assert_string_equal(found_in(two, 2), "R1 device 1: trace b/msprof_1_0_3.json, trace a/msprof_1_0_10.json; ");
    /* Another device. */
    put("d/msprof_2_0_4.json", events);
    assert_non_null(strstr(found(top), "; R2 device 2: trace d/msprof_2_0_4.json; "));
    /* Of one iteration there is one file for each run: these are not mixed. */
    put("e/msprof_1_0_3.json", events);
    assert_non_null(strstr(found(top), "R1 device 1: trace e/msprof_1_0_3.json; "));
    /* Other models of the device count apart. */
    put("f/msprof_7_0_1.json", events);
    put("g/msprof_7_1_1.json", events);
    assert_non_null(strstr(found(top), "R7 device 7: trace f/msprof_7_0_1.json, trace g/msprof_7_1_1.json; "));
    /* A trace of another kind is not an iteration. */
    put("h/msprof_9_0_1.json", events);
    put("i/trace_view_9.json", events);
    assert_non_null(strstr(found(top), "R9 device 9: trace h/msprof_9_0_1.json; R9: trace i/trace_view_9.json; "));
}

static void does_not_go_deep_for_ever(void **state)
{
    (void)state;
    char name[256] = "";
    for (int i = 0; i < 20; i++)
        strcat(name, "d/");
    strcat(name, "trace_view.json");
    put(name, events);
    assert_non_null(strstr(found(top), "error 1: is more than 16 folders below"));
    put("trace_view.json", events);
    assert_string_equal(found(top), "R-1: trace trace_view.json; ");
    assert_non_null(strstr(heard.text, "16 folders"));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_top, remove_top)
    const struct CMUnitTest tests[] = {
        TEST(takes_a_torch_npu_folder),
        TEST(keeps_raw_results_without_a_trace_of_the_framework),
        TEST(finds_the_rank_of_a_folder),
        TEST(takes_bare_files_by_their_numbers),
        TEST(takes_iterations_in_order_and_leaves_their_parts),
        TEST(does_not_mix_two_profiles_of_a_device),
        TEST(takes_traces_beside_each_other_for_ranks),
        TEST(joins_a_dump_of_its_own_with_the_profile),
        TEST(tells_cluster_tables_from_those_of_ranks),
        TEST(reads_nothing_twice_and_ends_in_circles),
        TEST(does_not_depend_on_how_a_path_is_written),
        TEST(tells_given_files_by_what_is_inside),
        TEST(says_what_is_missing),
        TEST(iterations_of_a_device_are_one_rank),
        TEST(does_not_go_deep_for_ever),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
