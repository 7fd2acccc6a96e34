/* Tests reading a whole run from its files: the same bytes whatever the order of the paths and the number of threads;
 * and every allocation failing once, which must end in EK_ERR_MEMORY or in the whole result (the sanitizer checks that
 * nothing leaks). The runs are those of the generator with tables beside them. Linked with --wrap for the allocators
 * and the pool, so the library itself needs no hook. Jansson's own allocations do not fail here: it takes some of them
 * for bad syntax.
 */
#include "failing_heap.h"
#include "input.h"

#include <ftw.h>
#include <jansson.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/pool.h"
#include "evenkeel/layers.h"
#include "evenkeel/trace.h"
#include "evenkeel/trace_report.h"
#include "report/writers.h"
#include "trace_generator.h"

/* ---- allocations that fail ---- */

void *__real_ek__pool_alloc(ek__pool *pool, size_t count, size_t size);
char *__real_ek__pool_text(ek__pool *pool, const char *text, size_t size);
void *__real_ek__pool_push(ek__pool *pool, void *array, int n, size_t size);
void *__wrap_ek__pool_alloc(ek__pool *pool, size_t count, size_t size);
char *__wrap_ek__pool_text(ek__pool *pool, const char *text, size_t size);
void *__wrap_ek__pool_push(ek__pool *pool, void *array, int n, size_t size);

static int left = -1; /* allocations until one fails; negative: none does */
static bool one_failed;

/* Only a run of one thread is made to fail. */
static bool fails(void)
{
    if (left < 0)
        return false;
    one_failed |= left == 0;
    return left-- == 0;
}

FAILING_HEAP(fails)

void *__wrap_ek__pool_alloc(ek__pool *pool, size_t count, size_t size)
{
    return fails() ? NULL : __real_ek__pool_alloc(pool, count, size);
}

char *__wrap_ek__pool_text(ek__pool *pool, const char *text, size_t size)
{
    return fails() ? NULL : __real_ek__pool_text(pool, text, size);
}

void *__wrap_ek__pool_push(ek__pool *pool, void *array, int n, size_t size)
{
    return fails() ? NULL : __real_ek__pool_push(pool, array, n, size);
}

FAILING_POOL_FORMAT(fails, __real_ek__pool_text)

/* ---- files ---- */

static char folder[] = "/tmp/evenkeel-run-XXXXXX";

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_one(const char *path, const struct stat *about, int type, struct FTW *walk)
{
    (void)about;
    (void)type;
    (void)walk;
    return remove(path);
}

static int remove_folder(void **state)
{
    (void)state;
    return nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* "FOLDER/..." in one of a few static buffers. */
static const char *below(const char *format, ...) __attribute__((format(printf, 1, 2)));
static const char *below(const char *format, ...)
{
    static char path[8][1024];
    static int next;
    char *out = path[next++ % 8];
    int n = snprintf(out, sizeof *path, "%s/", folder);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(out + n, sizeof *path - (size_t)n, format, arguments);
    va_end(arguments);
    return out;
}

static void make_folders(const char *path)
{
    mkdir(path, 0777);
    struct stat about;
    assert_int_equal(stat(path, &about), 0);
}

static void put_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static void copy_fixture(const char *name, const char *to)
{
    char from[256];
    size_t size;
    snprintf(from, sizeof from, "tests/data/trace/side/%s", name);
    char *text = slurp(source_path(from), &size);
    assert_non_null(text);
    put_file(to, text);
    free(text);
}

/* Tables as profilers write them beside a trace, one row of most is no good. */
static void put_tables(const char *run, int rank)
{
    static const struct {
        const char *name, *text;
    } table[] = {
        {"step_trace_time.csv",
         "Device_id,Step,Computing,Communication(Not Overlapped),Overlapped,Communication,Free,Stage,Bubble,"
         "Communication(Not Overlapped and Exclude Receive),Preparing\n"
         "0,0,100.5,20,3,23,7.25,120,0,20,1\n0,1,101.5,x,3,23,7.25,120,0,20,1\n0,2,99,21,3,24,8,121,0,21,1\n"},
        {"kernel_details.csv",
         "Step Id,Name,Type,Accelerator Core,Start Time(us),Duration(us),Wait Time(us),Input Shapes\n"
         "0,MatMul1,MatMulV2,AI_CORE,1000.5,20,1,\"\"\"2,3\"\"\"\n0,Add1,Add,AI_VECTOR_CORE,1030,5.5,0,N/A\n"
         "0,hcom_allReduce__586_0_1,hcom_allReduce_,HCCL,1040,9,0,N/A\n1,Add1,Add,AI_VECTOR_CORE,2030,soon,0,N/A\n"},
        {"op_statistic.csv", "OP Type,Core Type,Count,Total Time(us),Min Time(us),Avg Time(us),Max Time(us),Ratio(%)\n"
                             "MatMulV2,AI_CORE,4,100.5,20,25.125,30,90\nAdd,AI_VECTOR_CORE,2,11,5,5.5,6,10\n"},
        {"memory_record.csv",
         "Component,Timestamp(us),Total Allocated(MB),Total Reserved(MB),Total Active(MB),Stream Ptr,Device Type\n"
         "PTA,1000.5\t,10,20,10,1,NPU:0\nPTA,1001.5\t,15,20,12,1,NPU:0\nAPP,1001.75\t,,40,,,NPU:0\nGE,,?,1,2,3,NPU:"
         "0\n"},
        {"operator_memory.csv",
         "Name,Size(KB),Allocation Time(us),Release Time(us)\nconv,12.5,1000,1100\nadd,4,1000,\n"},
        {"task.csv", "time_stamp,task_name,node_name,graph_name,\n1,LoadWeights,,g,\n4,A,,g,\n6,B,,g,\n8,A,,g,\n10,B,,"
                     "g,\n12,A,,g,\n13,B,,g,\n"},
        {"npu_module_mem.csv",
         "Component,Timestamp(us),Total Reserved(MB),Device\nRUNTIME,1,2.5,NPU:0\nHCCL,2,8,NPU:0\n"},
    };
    static const char *const side[] = {"communication.json",
                                       "communication_matrix.json",
                                       "memory_block_3.csv",
                                       "minddata_pipeline_raw_0.csv",
                                       "minddata_pipeline_summary_0.csv",
                                       "msprof_tx_0.csv",
                                       "hccl_raw_3.csv"};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        put_file(below("%s/rank_%d_ascend_ms/ASCEND_PROFILER_OUTPUT/%s", run, rank, table[i].name), table[i].text);
    for (size_t i = 0; i < sizeof side / sizeof *side; i++)
        copy_fixture(side[i], below("%s/rank_%d_ascend_ms/ASCEND_PROFILER_OUTPUT/%s", run, rank, side[i]));
}

/* The arrangement of `n` ranks: stages in order, ranks of one stage side by side. */
static void put_topology(const char *run, int rank, int n_stages, int n)
{
    char text[1024];
    int at = snprintf(text, sizeof text,
                      "{\"distributed_args\": {\"pipeline_model_parallel_size\": %d, \"rank\": %d, \"world_size\": %d},"
                      " \"parallel_group_info\": {\"group_name_%d\": {\"group_name\": \"pp\", \"group_rank\": %d, "
                      "\"global_ranks\": [",
                      n_stages, rank, n, rank % n_stages, rank % n_stages);
    int first = rank - rank % n_stages;
    for (int i = 0; i < n_stages; i++)
        at += snprintf(text + at, sizeof text - (size_t)at, "%s%d", i ? ", " : "", first + i);
    snprintf(text + at, sizeof text - (size_t)at, "]}}}");
    put_file(below("%s/rank_%d_ascend_ms/profiler_metadata.json", run, rank), text);
}

static void put_cluster(const char *run)
{
    make_folders(below("%s/cluster_analysis_output", run));
    put_file(below("%s/cluster_analysis_output/cluster_step_trace_time.csv", run),
             "Step,Type,Index,Computing,Communication(Not Overlapped),Overlapped,Communication,Free,Stage,Bubble,"
             "Communication(Not Overlapped and Exclude Receive)\n"
             "1,rank,0,100,20,3,23,7,120,0,20\n1,rank,1,oops,20,3,23,7,120,0,20\n1,stage,\"(0, "
             "1)\",100,20,3,23,7,120,0,20\n");
    put_file(below("%s/cluster_analysis_output/communication_group.json", run),
             "{\"p2p\": [[0, 1], [2, 3]], \"collective\": [[1, 0], [\"2\", 3]]}");
}

/* A run in two halves of `n_stages` stages each: the generator's ranks 0.. and, moved up, those of another seed. */
static void put_run(const char *run, const trace_shape *shape, int n_halves)
{
    make_folders(below("%s", run));
    for (int half = n_halves - 1; half >= 0; half--) {
        trace_shape one = *shape;
        one.seed += (unsigned)half;
        assert_true(trace_write(&one, below("%s", run), NULL));
        for (int s = 0; s < shape->n_stages && half > 0; s++) {
            int to = half * shape->n_stages + s;
            char text[64];
            assert_int_equal(rename(below("%s/rank_%d_ascend_ms", run, s), below("%s/rank_%d_ascend_ms", run, to)), 0);
            assert_int_equal(unlink(below("%s/rank_%d_ascend_ms/profiler_info_%d.json", run, to, s)), 0);
            snprintf(text, sizeof text, "{\"rank_id\": \"%d\", \"ms_version\": \"2.4\"}", to);
            put_file(below("%s/rank_%d_ascend_ms/profiler_info_%d.json", run, to, to), text);
        }
    }
}

static void cut_short(const char *path, long bytes)
{
    struct stat about;
    assert_int_equal(stat(path, &about), 0);
    assert_int_equal(truncate(path, about.st_size - bytes), 0);
}

/* ---- results ---- */

/* Layers for the balancer: their number, or -1 where the run has none. */
static ek_status count_layers(const ek_trace_run *run, int *n, ek_error *err)
{
    ek_layers layers = {0};
    char *notes = NULL;
    ek_status status = ek_trace_to_layers(run, &layers, &notes, err);
    *n = status ? -1 : layers.n_layers;
    assert_int_equal(notes == NULL, status != EK_OK);
    ek_layers_clear(&layers);
    free(notes);
    return status == EK_ERR_INPUT ? EK_OK : status;
}

/* The run as JSON, followed by the number of its layers and of warnings; the caller frees it. NULL with *status when
 * reading fails. */
static char *read_as_json(const char *const *path, int n, const ek_trace_options *options, ek_status *status)
{
    ek_trace_run run = {0};
    ek_error err = {0};
    said warnings = {0};
    const ek_listener listener = {say_warning, &warnings};
    *status = ek_trace_run_read(path, n, options, &listener, &run, &err);
    if (*status) {
        left = -1;
        assert_null(run.rank);
        if (*status != EK_ERR_MEMORY)
            print_message("%s: %s\n", err.file, err.message);
        return NULL;
    }
    char *text = NULL;
    size_t size = 0;
    int n_layers = 0;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    *status = ek__trace_write_json(&run, NULL, out, &err);
    if (!*status)
        *status = count_layers(&run, &n_layers, &err);
    left = -1;
    fprintf(out, "%d layers, %d warnings", n_layers, warnings.n_warnings);
    assert_int_equal(fclose(out), 0);
    ek_trace_run_clear(&run);
    if (*status) {
        free(text);
        return NULL;
    }
    return text;
}

/* Equal, or the first difference is shown. */
static void assert_same(const char *text, const char *expected, int at_allocation)
{
    size_t n = 0;
    while (text[n] && text[n] == expected[n])
        n++;
    if (text[n] == expected[n])
        return;
    size_t from = n > 60 ? n - 60 : 0;
    fail_msg("allocation %d: '%.120s' instead of '%.120s'", at_allocation, text + from, expected + from);
}

static void neither_order_nor_threads_change_a_byte(void **state)
{
    (void)state;
    enum { N_STAGES = 4, N_RANKS = 8 };
    static const trace_rerun rerun[N_STAGES * 2] = {TRACE_RERUN_FULL, TRACE_RERUN_SELECT};
    static const char *const broken[] = {"", "rank_3_ascend_ms/ASCEND_PROFILER_OUTPUT/trace_view.json"};
    const trace_shape shape = {.n_stages = N_STAGES,
                               .n_micro_batches = 4,
                               .n_steps = 4,
                               .n_layers = 2,
                               .rerun = rerun,
                               .jitter = .1,
                               .warm_up = 2,
                               .seed = 11};
    put_run("eight", &shape, 2);
    for (int r = 0; r < N_RANKS; r++)
        put_topology("eight", r, N_STAGES, N_RANKS);
    put_tables("eight", 1);
    put_tables("eight", 6);
    put_cluster("eight");
    cut_short(below("eight/%s", broken[1]), 1000);
    char path[N_RANKS + 1][4096];
    const char *list[N_RANKS + 1];
    for (int r = 0; r < N_RANKS; r++)
        snprintf(path[r], sizeof *path, "%s", below("eight/rank_%d_ascend_ms", r));
    snprintf(path[N_RANKS], sizeof *path, "%s", below("eight/cluster_analysis_output"));
    for (int i = 0; i <= N_RANKS; i++)
        list[i] = path[i];
    static const int threads[] = {1, 2, 5};
    char *expected = NULL;
    ek_status status;
    uint32_t random = 1;
    for (int round = 0; round < 9; round++) {
        const ek_trace_options options = {.n_threads = threads[round % 3], .sapp_compatible = round % 2 == 0};
        const ek_trace_options first = {.n_threads = 1, .sapp_compatible = options.sapp_compatible};
        char *text = read_as_json(list, N_RANKS + 1, &options, &status);
        assert_int_equal(status, EK_OK);
        free(expected);
        for (int i = 0; i <= N_RANKS; i++)
            list[i] = path[i];
        expected = read_as_json(list, N_RANKS + 1, &first, &status);
        assert_int_equal(status, EK_OK);
        assert_same(text, expected, -1);
        free(text);
        for (int i = N_RANKS; i > 0; i--) {
            random = random * 1664525u + 1013904223u;
            int j = (int)((random >> 16) % (uint32_t)(i + 1));
            const char *swap = list[i];
            list[i] = list[j];
            list[j] = swap;
        }
    }
    /* It is the run that was meant: all ranks, stages, the cut, the cluster's table. */
    json_t *root = json_loads(expected, JSON_DISABLE_EOF_CHECK, NULL);
    assert_int_equal(json_array_size(json_object_get(root, "ranks")), N_RANKS);
    assert_non_null(strstr(expected, "events before it are used"));
    json_decref(root);
    const char *whole = below("eight");
    const ek_trace_options defaults = {.sapp_compatible = true};
    char *text = read_as_json(&whole, 1, &defaults, &status);
    assert_int_equal(status, EK_OK);
    assert_same(text, expected, -1);
    free(text);
    free(expected);
}

static void same_operators(const ek_trace_measured *a, const ek_trace_measured *b)
{
    assert_int_equal(a->n, b->n);
    for (int i = 0; i < a->n; i++) {
        assert_string_equal(a->op[i].name, b->op[i].name);
        assert_string_equal(a->op[i].kernel, b->op[i].kernel);
        assert_int_equal(a->op[i].count, b->op[i].count);
        assert_int_equal(a->op[i].total, b->op[i].total);
    }
    assert_int_equal(a->n_all, b->n_all);
    for (size_t i = 0; i < a->n_all; i++) {
        assert_int_equal(a->execution[i].start, b->execution[i].start);
        assert_int_equal(a->execution[i].op, b->execution[i].op);
    }
    assert_int_equal(a->n_intervals, b->n_intervals);
    assert_true(a->launch == b->launch);
}

/* As many kernels as make it worth a thread to measure them beside the other analyses. */
static void operators_measured_beside_are_those_of_one_thread(void **state)
{
    (void)state;
    enum { LEAST_KERNELS = 6000 };
    const trace_shape shape = {
        .form = TRACE_TORCH, .n_stages = 1, .n_micro_batches = 8, .n_layers = 8, .n_steps = 12, .jitter = .1};
    make_folders(below("beside"));
    assert_true(trace_write(&shape, below("beside"), NULL));
    const char *path = below("beside");
    char *text[2];
    ek_trace_run run[2];
    for (int i = 0; i < 2; i++) {
        const ek_trace_options options = {.n_threads = i == 0 ? 1 : 3, .measure = true};
        ek_status status;
        text[i] = read_as_json(&path, 1, &options, &status);
        assert_int_equal(status, EK_OK);
        assert_int_equal(ek_trace_run_read(&path, 1, &options, NULL, &run[i], NULL), EK_OK);
        assert_int_equal(run[i].n_ranks, 1);
    }
    assert_same(text[1], text[0], -1);
    assert_true(run[0].rank[0].measured.n_all >= LEAST_KERNELS);
    same_operators(&run[1].rank[0].measured, &run[0].rank[0].measured);
    for (int i = 0; i < 2; i++) {
        free(text[i]);
        ek_trace_run_clear(&run[i]);
    }
}

/* The caller's record of the progress; only one thread may be in the callback at a time. */
typedef struct watch {
    int n, stop_at; /* calls; the one that stops */
    double share;
    ek_interrupt stop;
    bool inside, overlapped, fell;
} watch;

static void watch_progress(void *user, double share, const char *what)
{
    watch *w = user;
    assert_non_null(what);
    w->overlapped |= w->inside;
    w->inside = true;
    w->fell |= share < w->share - 1e-9 || share > 1 + 1e-9;
    w->share = share;
    if (w->n++ == w->stop_at)
        ek_interrupt_set(&w->stop);
    w->inside = false;
}

static void it_can_be_stopped_at_any_time(void **state)
{
    (void)state;
    const trace_shape shape = {.n_stages = 4, .n_micro_batches = 4, .n_layers = 1, .n_steps = 2};
    put_run("stop", &shape, 1);
    const char *path = below("stop");
    for (int threads = 1; threads <= 8; threads += 7) {
        bool whole = false;
        for (int stop_at = 0; !whole; stop_at++) {
            ek_trace_run run = {0};
            ek_error err = {0};
            watch w = {.stop_at = stop_at};
            const ek_trace_options options = {
                .n_threads = threads, .progress = watch_progress, .user = &w, .interrupt = &w.stop};
            ek_status status = ek_trace_run_read(&path, 1, &options, NULL, &run, &err);
            assert_false(w.overlapped || w.fell);
            assert_true(w.n > 0);
            whole = !ek_interrupted(&w.stop);
            if (status == EK_OK) {
                assert_int_equal(run.n_ranks, 4);
                assert_true(w.share > 1 - 1e-9);
            } else {
                assert_false(whole);
                assert_int_equal(status, EK_ERR_SYSTEM);
                if (strcmp(err.message, "interrupted") != 0)
                    fail_msg("%d %d %s", threads, stop_at, err.message);
            }
            ek_trace_run_clear(&run);
        }
    }
}

/* Reading with the first allocation failing, then the second, ... until all succeed. */
static void fail_each(const char *path, const ek_trace_options *options, int at_least)
{
    ek_status status;
    int n = 0;
    char *expected = read_as_json(&path, 1, options, &status);
    assert_int_equal(status, EK_OK);
    do {
        one_failed = false;
        left = n++;
        char *text = read_as_json(&path, 1, options, &status);
        if (status == EK_OK)
            assert_same(text, expected, n - 1);
        else if (status != EK_ERR_MEMORY)
            fail_msg("allocation %d: status %d", n - 1, status);
        free(text);
    } while (one_failed);
    free(expected);
    assert_true(n > at_least);
}

static void any_allocation_of_an_ascend_run_may_fail(void **state)
{
    (void)state;
    static const trace_rerun rerun[] = {TRACE_RERUN_FULL, TRACE_RERUN_SELECT};
    const trace_shape shape = {.n_stages = 2, .n_micro_batches = 2, .n_layers = 1, .n_steps = 2, .rerun = rerun};
    const ek_trace_options options = {.n_threads = 1, .sapp_compatible = true};
    put_run("two", &shape, 1);
    put_topology("two", 0, 2, 2);
    put_topology("two", 1, 2, 2);
    put_cluster("two");
    cut_short(below("two/rank_1_ascend_ms/ASCEND_PROFILER_OUTPUT/trace_view.json"), 300);
    fail_each(below("two"), &options, 300);
}

static void any_allocation_of_halves_may_fail(void **state)
{
    (void)state;
    const ek_trace_options options = {.n_threads = 1};
    put_file(
        below("halves.pt.trace.json"),
        "{\"schemaVersion\": 1, \"traceEvents\": [{\"ph\": \"B\", \"name\": \"k\", \"cat\": \"kernel\", \"pid\": 0, "
        "\"tid\": 7, \"ts\": 1}, {\"ph\": \"B\", \"name\": \"l\", \"cat\": \"kernel\", \"pid\": 0, \"tid\": 7, \"ts\": "
        "2}, "
        "{\"ph\": \"E\", \"pid\": 0, \"tid\": 7, \"ts\": 9}]}");
    fail_each(below("halves.pt.trace.json"), &options, 20);
}

static void any_allocation_of_tables_alone_may_fail(void **state)
{
    (void)state;
    const ek_trace_options options = {.n_threads = 1};
    const trace_shape shape = {.n_stages = 1};
    put_run("tables", &shape, 1);
    assert_int_equal(unlink(below("tables/rank_0_ascend_ms/ASCEND_PROFILER_OUTPUT/trace_view.json")), 0);
    put_tables("tables", 0);
    fail_each(below("tables"), &options, 300);
}

/* Ranks and stages out of the vendor's table; those of a stage compute differently. */
static void any_allocation_of_a_cluster_table_may_fail(void **state)
{
    (void)state;
    const ek_trace_options options = {.n_threads = 1};
    const char *path = below("cluster_step_trace_time.csv");
    ek_trace_run run;
    ek_error err;
    put_file(path, "Step,Type,Index,Computing,Communication(Not Overlapped),Overlapped,Communication,Free,Stage,Bubble,"
                   "Communication(Not Overlapped and Exclude Receive),Preparing\n"
                   "5,rank,0,10,1,2,3,4,5,0,1,7\n6,rank,0,12,1,2,3,4,5,0,1,7\n5,rank,1,21,1,2,3,4,5,0,1,7\n"
                   "5,rank,8,40,1,2,3,4,5,0,1,7\n5,rank,9,48,1,2,3,4,5,0,1,7\n"
                   "5,stage,\"(8, 9)\",48,1,2,3,4,5,0,1,7\n5,stage,\"(0, 1)\",21,1,2,3,4,5,0,1,7\n");
    assert_int_equal(ek_trace_run_read(&path, 1, &options, NULL, &run, &err), EK_OK);
    assert_int_equal(run.n_ranks, 4);
    bool found = false;
    for (int i = 0; i < run.n_findings; i++)
        found |= strcmp(run.finding[i].id, "compute-gap") == 0;
    assert_true(found);
    ek_trace_run_clear(&run);
    fail_each(path, &options, 20);
}

static void any_allocation_of_a_kineto_run_may_fail(void **state)
{
    (void)state;
    static const trace_rerun rerun[] = {TRACE_RERUN_FULL, TRACE_RERUN_NONE};
    const trace_shape shape = {
        .form = TRACE_TORCH, .n_stages = 1, .n_micro_batches = 2, .n_layers = 2, .n_steps = 2, .rerun = rerun};
    const ek_trace_options options = {.n_threads = 1, .measure = true};
    make_folders(below("kineto"));
    assert_true(trace_write(&shape, below("kineto"), NULL));
    fail_each(below("kineto"), &options, 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(neither_order_nor_threads_change_a_byte),
        cmocka_unit_test(operators_measured_beside_are_those_of_one_thread),
        cmocka_unit_test(it_can_be_stopped_at_any_time),
        cmocka_unit_test(any_allocation_of_an_ascend_run_may_fail),
        cmocka_unit_test(any_allocation_of_tables_alone_may_fail),
        cmocka_unit_test(any_allocation_of_halves_may_fail),
        cmocka_unit_test(any_allocation_of_a_cluster_table_may_fail),
        cmocka_unit_test(any_allocation_of_a_kineto_run_may_fail),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
