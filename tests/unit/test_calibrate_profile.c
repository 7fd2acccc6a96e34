/* Tests profiles as a source of a calibration: operators become rows with their shapes and times, compared with values
 * by hand; collectives take the time of the last rank; launches are the host's. Generated profiles of a hidden device
 * recover it.
 */
#include "assert_close.h"
#include "input.h"

#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/pool.h"
#include "base/random.h"
#include "calibrate/profile.h"
#include "cost/collective.h"
#include "cost/cost_internal.h"
#include "cost/kernel.h"

/* ---- allocations that fail ---- */

void *__real_ek__alloc(size_t count, size_t size);
void *__wrap_ek__alloc(size_t count, size_t size);
void *__real_ek__with_room(void *array, size_t *capacity, size_t needed, size_t size);
void *__wrap_ek__with_room(void *array, size_t *capacity, size_t needed, size_t size);
void *__real_ek__pool_alloc(ek__pool *pool, size_t count, size_t size);
void *__wrap_ek__pool_alloc(ek__pool *pool, size_t count, size_t size);
char *__real_ek__pool_text(ek__pool *pool, const char *text, size_t size);
char *__wrap_ek__pool_text(ek__pool *pool, const char *text, size_t size);

static _Atomic int left = -1; /* until one fails; negative: none does */

static bool fails(void)
{
    return left >= 0 && left-- == 0;
}

void *__wrap_ek__alloc(size_t count, size_t size)
{
    return fails() ? NULL : __real_ek__alloc(count, size);
}

void *__wrap_ek__with_room(void *array, size_t *capacity, size_t needed, size_t size)
{
    return fails() ? NULL : __real_ek__with_room(array, capacity, needed, size);
}

void *__wrap_ek__pool_alloc(ek__pool *pool, size_t count, size_t size)
{
    return fails() ? NULL : __real_ek__pool_alloc(pool, count, size);
}

char *__wrap_ek__pool_text(ek__pool *pool, const char *text, size_t size)
{
    return fails() ? NULL : __real_ek__pool_text(pool, text, size);
}

/* ---- a folder with files ---- */

static char folder[256];

static int make_folder(void **state)
{
    (void)state;
    const char *tmp = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%.200s/ek_profile_XXXXXX", tmp ? tmp : "/tmp");
    return mkdtemp(folder) ? 0 : -1;
}

static const char *file_of(const char *name, char *path, size_t size)
{
    snprintf(path, size, "%s/%s", folder, name);
    return path;
}

static FILE *open_file(const char *name)
{
    char path[512];
    FILE *file = fopen(file_of(name, path, sizeof path), "w");
    assert_non_null(file);
    return file;
}

static int remove_folder(void **state)
{
    char command[512];
    (void)state;
    snprintf(command, sizeof command, "rm -rf '%.250s'", folder);
    return system(command);
}

/* ---- Kineto ---- */

/* A trace being written: the host's time and numbers go on. */
typedef struct trace {
    FILE *file;
    int id;       /* of operators and launches */
    double host;  /* us */
    double every; /* us between launches */
    int rank, world;
} trace;

static trace begin(const char *name, int rank, int world)
{
    trace t = {.file = open_file(name), .host = 1000, .every = 20, .rank = rank, .world = world};
    fprintf(t.file, "{\"schemaVersion\":1,\"distributedInfo\":{\"rank\":%d,\"world_size\":%d},\"traceEvents\":[\n",
            rank, world);
    return t;
}

static void end(trace *t)
{
    fprintf(t->file, "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":0,\"tid\":0,\"args\":{\"name\":\"python\"}}]}\n");
    fclose(t->file);
}

/* @param args  of the operator after its id, "" or with a comma first */
static void put_op(trace *t, const char *name, const char *args)
{
    t->id++;
    t->host += t->every;
    fprintf(t->file,
            "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"%s\",\"pid\":1,\"tid\":1,\"ts\":%.3f,\"dur\":%.3f,\"args\":{"
            "\"External id\":%d%s}},\n",
            name, t->host, t->every / 2, t->id, args);
}

/* A kernel of the operator that was put last. */
static void put_kernel(trace *t, const char *name, double at, double us)
{
    static int correlation;
    correlation++;
    fprintf(t->file,
            "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":1,\"tid\":1,\"ts\":%.3f,"
            "\"dur\":4,\"args\":{\"External id\":%d,\"correlation\":%d}},\n"
            "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"%s\",\"pid\":0,\"tid\":7,\"ts\":%.3f,\"dur\":%.3f,\"args\":{"
            "\"correlation\":%d}},\n",
            t->host + 2, t->id, correlation, name, at, us, correlation);
}

/* An operator with one kernel that runs when the host reaches it. */
static void put(trace *t, const char *name, const char *args, const char *kernel, double us)
{
    put_op(t, name, args);
    put_kernel(t, kernel, t->host + 10, us);
    t->host += us;
}

static void put_mm(trace *t, double m, double n, double k, ek_pass pass, double us)
{
    char args[400];
    bool turned_a = pass == EK_PASS_WEIGHT, turned_b = pass == EK_PASS_FORWARD;
    snprintf(args, sizeof args,
             ",\"Input Dims\":[[%.0f,%.0f],[%.0f,%.0f]],\"Input type\":[\"c10::BFloat16\",\"c10::BFloat16\"],"
             "\"Input Strides\":[[%.0f,%.0f],[%.0f,%.0f]],\"Concrete Inputs\":[\"\",\"\"]",
             m, k, k, n, turned_a ? 1 : k, turned_a ? m : 1, turned_b ? 1 : n, turned_b ? k : 1);
    put(t, "aten::mm", args, "sm90_gemm", us);
}

/* ---- reading ---- */

typedef struct result {
    ek__profile_rows rows;
    ek_calibrated_profile profile;
    ek_link_log log;
} result;

static ek_trace_run read_run(const char *path)
{
    const ek_trace_options options = {.measure = true, .n_threads = 2};
    const char *const paths[] = {path};
    ek_trace_run run;
    ek_error err;
    if (ek_trace_run_read(paths, 1, &options, NULL, &run, &err))
        fail_msg("%s: %s", path, err.message);
    return run;
}

static result take(const char *path, const ek_device *device)
{
    result r = {.profile = {.launch_us = 0}};
    ek_trace_run run = read_run(path);
    assert_int_equal(ek__profile_operators(&run, device, &r.rows, &r.profile, NULL), EK_OK);
    ek__profile_merge(&r.rows);
    assert_int_equal(ek__profile_links(&run, device->devices_per_node, &r.log, &r.profile, NULL), EK_OK);
    ek_trace_run_clear(&run);
    return r;
}

static result take_file(const char *name)
{
    char path[512];
    return take(file_of(name, path, sizeof path), ek_device_find("H100"));
}

static void clear(result *r)
{
    free(r->rows.at);
    ek_link_log_clear(&r->log);
}

static const ek__profile_row *row_of(const result *r, ek_kernel_kind kind, double m, ek_pass pass)
{
    for (int i = 0; i < r->rows.n; i++) {
        const ek_kernel *k = &r->rows.at[i].kernel;
        if (k->kind == kind && k->pass == pass && (m == 0 || k->m == m))
            return &r->rows.at[i];
    }
    fail_msg("no row of %s with m = %g", ek_kernel_name[kind], m);
    return NULL;
}

/* ---- operators of PyTorch ---- */

static void products_are_rows_with_the_median(void **state)
{
    (void)state;
    trace t = begin("products.json", 0, 1);
    put_mm(&t, 4096, 1024, 2048, EK_PASS_FORWARD, 100);
    put_mm(&t, 4096, 1024, 2048, EK_PASS_FORWARD, 900);
    put_mm(&t, 4096, 1024, 2048, EK_PASS_FORWARD, 110);
    put_mm(&t, 4096, 2048, 1024, EK_PASS_INPUT, 120);
    put_mm(&t, 1024, 2048, 4096, EK_PASS_WEIGHT, 130);
    /* A bias comes first; the result is split and summed by a second kernel. */
    put(&t, "aten::addmm",
        ",\"Input Dims\":[[512],[8192,256],[256,512],[],[]],\"Input type\":[\"c10::Half\",\"c10::Half\",\"c10::Half\","
        "\"Scalar\",\"Scalar\"],\"Input Strides\":[[1],[256,1],[1,256],[],[]]",
        "gemm_splitk", 50);
    put_kernel(&t, "splitKreduce", t.host, 7);
    put(&t, "aten::bmm",
        ",\"Input Dims\":[[32,128,64],[32,64,256]],\"Input type\":[\"c10::BFloat16\",\"c10::BFloat16\"]",
        "ampere_bf16_gemm_nt", 60);
    end(&t);
    result r = take_file("products.json");
    assert_int_equal(r.rows.n, 5);
    assert_int_equal(r.profile.n_operators[EK_PROFILE_TAKEN], 7);
    const ek__profile_row *row = row_of(&r, EK_KERNEL_MATMUL, 4096, EK_PASS_FORWARD);
    assert_true(fabs(row->seconds - 110e-6) < 1e-12 && row->weight == 3);
    assert_true(row->kernel.n == 1024 && row->kernel.k == 2048 && row->kernel.type == EK_BF16);
    assert_true(row->kernel.flops == 2.0 * 4096 * 1024 * 2048);
    assert_true(row->kernel.bytes == 2.0 * (4096.0 * 2048 + 2048.0 * 1024 + 4096.0 * 1024));
    assert_true(fabs(row_of(&r, EK_KERNEL_MATMUL, 4096, EK_PASS_INPUT)->seconds - 120e-6) < 1e-12);
    assert_true(fabs(row_of(&r, EK_KERNEL_MATMUL, 1024, EK_PASS_WEIGHT)->seconds - 130e-6) < 1e-12);
    row = row_of(&r, EK_KERNEL_MATMUL, 8192, EK_PASS_FORWARD);
    assert_true(fabs(row->seconds - 57e-6) < 1e-12 && row->kernel.type == EK_FP16);
    /* Without strides the kernel's name gives the layout. */
    row = row_of(&r, EK_KERNEL_MATMUL, 128, EK_PASS_WEIGHT);
    assert_true(row->kernel.groups == 32 && row->kernel.n == 256 && row->kernel.k == 64);
    assert_int_equal(r.profile.n_layout_assumed, 0);
    clear(&r);
}

#define QKV(a, b)                                                                                                      \
    ",\"Input Dims\":[" a "],\"Input type\":[\"c10::BFloat16\",\"c10::BFloat16\",\"c10::BFloat16\",\"c10::BFloat16\"]" \
    ",\"Concrete Inputs\":[" b "]"

static void attention_has_its_mask_and_all_its_kernels(void **state)
{
    (void)state;
    trace t = begin("attention.json", 0, 1);
    put(&t, "aten::_flash_attention_forward",
        QKV("[2,4096,32,128],[2,4096,8,128],[2,4096,8,128]",
            "\"\",\"\",\"\",\"\",\"\",\"4096\",\"4096\",\"0.\",\"True\",\"False\""),
        "flash_fwd_kernel", 600);
    put(&t, "aten::_flash_attention_backward",
        QKV("[2,4096,32,128],[2,4096,32,128],[2,4096,8,128],[2,4096,8,128]",
            "\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"4096\",\"4096\",\"0.\",\"True\""),
        "flash_bwd_dot_do_o", 20);
    put_kernel(&t, "flash_bwd_dq_dk_dv", t.host, 1500);
    put_kernel(&t, "flash_bwd_convert_dq", t.host + 1500, 30);
    put(&t, "aten::_scaled_dot_product_cudnn_attention",
        QKV("[1,16,1024,64],[1,16,1024,64],[1,16,1024,64]", "\"\",\"\",\"\",\"\",\"True\",\"0.\",\"False\""),
        "cudnn_sdpa", 80);
    put(&t, "aten::_flash_attention_forward", QKV("[8192,32,128],[8192,8,128],[8192,8,128]", ""), "flash_varlen", 300);
    end(&t);
    result r = take_file("attention.json");
    assert_int_equal(r.rows.n, 3);
    assert_int_equal(r.profile.n_operators[EK_PROFILE_PACKED], 1);
    assert_int_equal(r.profile.n_causal_assumed, 0);
    for (int i = 0; i < r.rows.n; i++) {
        const ek_kernel *k = &r.rows.at[i].kernel;
        if (k->kind == EK_KERNEL_ATTENTION_BACKWARD) {
            assert_true(fabs(r.rows.at[i].seconds - 1550e-6) < 1e-12);
            assert_true(k->flops == 2.5 * 2 * 32 * 4096 * 4096 * 256 && k->kv_heads == 8);
        } else if (k->seq == 4096) {
            assert_true(k->flops == 2.0 * 32 * 4096 * 4096 * 256 && k->batch == 2 && k->heads == 32);
            assert_true(fabs(r.rows.at[i].seconds - 600e-6) < 1e-12);
        } else { /* heads first, and no mask: the whole matrix */
            assert_true(k->flops == 2.0 * 16 * 1024 * 1024 * 128 && k->heads == 16 && k->seq == 1024);
        }
    }
    clear(&r);
}

static void streams_count_what_they_read_and_write(void **state)
{
    (void)state;
    trace t = begin("streams.json", 0, 1);
    /* A row that is repeated (stride 0) is read once; the sum is written. */
    put(&t, "aten::add_",
        ",\"Input Dims\":[[8192,8192],[8192,8192],[]],\"Input type\":[\"c10::BFloat16\",\"c10::BFloat16\",\"Scalar\"],"
        "\"Input Strides\":[[8192,1],[0,1],[]]",
        "vectorized_add", 150);
    put(&t, "aten::copy_",
        ",\"Input Dims\":[[4096,4096],[4096,4096],[]],\"Input type\":[\"float\",\"c10::BFloat16\",\"Scalar\"]", "copy",
        100);
    put(&t, "aten::index_select", ",\"Input Dims\":[[100],[],[5]],\"Input type\":[\"float\",\"Scalar\",\"long int\"]",
        "index", 3);
    put(&t, "aten::mul", ",\"Input Dims\":[[1024,1024],[]],\"Input type\":[\"float\",\"double\"]", "in_cache", 0.5);
    put(&t, "aten::mm", ",\"Input Dims\":[[64,64],[64,64]],\"Input type\":[\"float\",\"float\"]",
        "cutlass_80_tensorop_s1688gemm_nn", 5);
    put(&t, "aten::mm", ",\"Input Dims\":[[64,64],[65,64]],\"Input type\":[\"float\",\"float\"]", "sgemm_nn", 5);
    put_op(&t, "aten::silent", "");
    put_kernel(&t, "silent", t.host + 10, 5);
    end(&t);
    result r = take_file("streams.json");
    assert_int_equal(r.rows.n, 2);
    for (int i = 0; i < 2; i++) {
        bool add = fabs(r.rows.at[i].seconds - 150e-6) < 1e-12;
        assert_true(r.rows.at[i].kernel.kind == EK_KERNEL_MEMORY);
        assert_true(r.rows.at[i].kernel.bytes == (add ? 2.0 * 8192 * (8192 + 1 + 8192) : 6.0 * 4096 * 4096));
    }
    assert_int_equal(r.profile.n_operators[EK_PROFILE_OTHER], 1);
    assert_int_equal(r.profile.n_operators[EK_PROFILE_TOO_FAST], 1);
    assert_int_equal(r.profile.n_operators[EK_PROFILE_NO_PEAK], 1);
    assert_int_equal(r.profile.n_operators[EK_PROFILE_UNCLEAR], 1);
    assert_int_equal(r.profile.n_operators[EK_PROFILE_NO_SHAPES], 1);
    clear(&r);
}

/* The median over executions, not over rows, wherever they were seen. */
static void equal_shapes_become_one_row(void **state)
{
    (void)state;
    const ek_kernel a = {.kind = EK_KERNEL_MATMUL, .type = EK_BF16, .groups = 1, .m = 8, .n = 8, .k = 8, .flops = 1024};
    ek_kernel b = a, c = a, d = a;
    b.pass = EK_PASS_WEIGHT;
    c.type = EK_FP16;
    d.k = 16;
    ek__profile_row row[] = {{a, 10e-6, 1}, {b, 5e-6, 2}, {a, 2e-6, 3}, {c, 6e-6, 1},
                             {a, 1e-6, 1},  {d, 7e-6, 1}, {b, 3e-6, 2}};
    ek__profile_rows rows = {.n = (int)(sizeof row / sizeof *row), .at = row};
    ek__profile_merge(&rows);
    assert_int_equal(rows.n, 4);
    int found = 0;
    for (int i = 0; i < rows.n; i++) {
        const ek__profile_row *r = &rows.at[i];
        bool is_a = r->kernel.pass == EK_PASS_FORWARD && r->kernel.type == EK_BF16 && r->kernel.k == 8;
        bool is_b = r->kernel.pass == EK_PASS_WEIGHT;
        found += is_a && fabs(r->seconds - 2e-6) < 1e-15 && r->weight == 5;
        found += is_b && fabs(r->seconds - 4e-6) < 1e-15 && r->weight == 4; /* between both halves */
    }
    assert_int_equal(found, 2);
}

/* ---- operators of Ascend ---- */

static void tables_of_ascend_are_rows(void **state)
{
    static const struct {
        const char *type, *in, *in_types, *formats, *out, *out_types;
        double us;
    } row[] = {
        {"MatMulV3", "4096,2048;1024,2048", "DT_BF16;DT_BF16", "ND;ND", "4096,1024", "DT_BF16", 100},
        {"MatMulV2", "4096,2048;2048,1000", "FLOAT16;FLOAT16", "FORMAT_ND;FORMAT_ND", "4096,1000", "FLOAT16", 110},
        {"MatMulV2", "4096,2048;4096,1024", "FLOAT16;FLOAT16", "FORMAT_ND;FORMAT_ND", "2048,1024", "FLOAT", 120},
        /* tiles of 64 x 256 of 16 x 16: 4096 rows of 1000 columns, padded */
        {"MatMulV2", "63,256,16,16;1000,512", "DT_BF16;DT_BF16", "FRACTAL_NZ;ND", "4096,512", "DT_BF16", 130},
        {"BatchMatMulV2", "8,32,64;8,64,128", "FLOAT16;FLOAT16", "ND;ND", "8,32,128", "FLOAT16", 140},
        {"GroupedMatmul", "8192,1024;8,1024,512;8", "DT_BF16;DT_BF16;INT64", "ND;ND;ND", "8192,512", "DT_BF16", 150},
        {"FlashAttentionScore", "4096,2,4096;4096,2,1024;4096,2,1024;2048,2048", "DT_BF16;DT_BF16;DT_BF16;UINT8",
         "ND;ND;ND;ND", "2,32,4096,8;2,32,4096,8;0;4096,2,4096", "FLOAT;FLOAT;DT_BF16;DT_BF16", 2000},
        {"FlashAttentionScore", "8192,32,128;8192,8,128;8192,8,128", "DT_BF16;DT_BF16;DT_BF16", "ND;ND;ND",
         "8192,32,8;8192,32,8;0;8192,32,128", "FLOAT;FLOAT;DT_BF16;DT_BF16", 300},
        {"RmsNorm", "8192,4096;4096", "DT_BF16;DT_BF16", "ND;ND", "8192,4096;8192,1", "DT_BF16;FLOAT", 160},
        {"Conv2D", "1,2,3,4", "FLOAT", "ND", "1,2,3,4", "FLOAT", 10},
        {"MatMulV2", "4096,4096;4096,4096", "FLOAT16;FLOAT16", "ND;ND", "4096,4096", "FLOAT16", 700},
    };
    (void)state;
    char path[512];
    FILE *file = open_file("kernel_details.csv");
    fprintf(file, "Name,Type,Accelerator Core,Start Time(us),Duration(us),Input Shapes,Input Data Types,Input Formats,"
                  "Output Shapes,Output Data Types\n");
    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        for (int times = 0; times < 3; times++)
            fprintf(file, "op,%s,AI_CORE,%zu,%g,\"\"\"%s\"\"\",%s,%s,\"\"\"%s\"\"\",%s\n", row[i].type,
                    (3 * i + (size_t)times) * 10000, row[i].us + times - 1, row[i].in, row[i].in_types, row[i].formats,
                    row[i].out, row[i].out_types);
    fprintf(file, "op,MemSet,AI_VECTOR_CORE,500000,11,N/A,N/A,N/A,N/A,N/A\n");
    fclose(file);
    result r = take(file_of("kernel_details.csv", path, sizeof path), ek_device_find("Atlas 800T A2"));
    assert_int_equal(r.rows.n, 9);
    assert_int_equal(r.profile.n_operators[EK_PROFILE_TAKEN], 27);
    assert_int_equal(r.profile.n_operators[EK_PROFILE_PACKED], 3);
    assert_int_equal(r.profile.n_operators[EK_PROFILE_OTHER], 3);
    assert_int_equal(r.profile.n_operators[EK_PROFILE_NO_SHAPES], 1);
    /* Only the square fits every layout; the mask of all attention is assumed. */
    assert_int_equal(r.profile.n_layout_assumed, 3);
    assert_int_equal(r.profile.n_causal_assumed, 3);
    static const struct {
        int type;
        ek_pass pass;
        double m, n, k, groups, us;
    } product[] = {
        {EK_BF16, EK_PASS_FORWARD, 4096, 1024, 2048, 1, 100}, {EK_FP16, EK_PASS_INPUT, 4096, 1000, 2048, 1, 110},
        {EK_FP16, EK_PASS_WEIGHT, 2048, 1024, 4096, 1, 120},  {EK_BF16, EK_PASS_INPUT, 4096, 512, 1000, 1, 130},
        {EK_FP16, EK_PASS_INPUT, 32, 128, 64, 8, 140},        {EK_BF16, EK_PASS_INPUT, 1024, 512, 1024, 8, 150},
        {EK_FP16, EK_PASS_FORWARD, 4096, 4096, 4096, 1, 700}};
    for (size_t p = 0; p < sizeof product / sizeof *product; p++) {
        int found = 0;
        for (int i = 0; i < r.rows.n; i++) {
            const ek_kernel *k = &r.rows.at[i].kernel;
            found += k->type == product[p].type && k->pass == product[p].pass && k->m == product[p].m &&
                     k->n == product[p].n && k->k == product[p].k && k->groups == product[p].groups &&
                     fabs(r.rows.at[i].seconds - product[p].us * 1e-6) < 1e-12;
        }
        if (found != 1)
            fail_msg("product %zu is found %d times", p, found);
    }
    const ek__profile_row *attention = row_of(&r, EK_KERNEL_ATTENTION_FORWARD, 0, EK_PASS_FORWARD);
    assert_true(attention->kernel.heads == 32 && attention->kernel.kv_heads == 8 && attention->kernel.qk_dim == 128);
    assert_true(attention->kernel.batch == 2 && attention->kernel.seq == 4096);
    const ek__profile_row *norm = row_of(&r, EK_KERNEL_MEMORY, 0, EK_PASS_FORWARD);
    assert_true(norm->kernel.bytes == 2.0 * (2 * 8192.0 * 4096 + 4096) + 4.0 * 8192);
    clear(&r);
}

/* ---- collectives ---- */

/* @param ranks  as a profiler lists them, NULL: not at all */
static void put_collective(trace *t, const char *what, double elements, int n, const char *ranks, double end_us,
                           double us)
{
    char args[400];
    snprintf(args, sizeof args,
             ",\"Collective name\":\"%s\",\"dtype\":\"BFloat16\",\"In msg nelems\":%.0f,\"Out msg nelems\":%.0f,"
             "\"Group size\":%d%s%s%s",
             what, elements, elements, n, ranks ? ",\"Process Group Ranks\":\"" : "", ranks ? ranks : "",
             ranks ? "\"" : "");
    put_op(t, "record_param_comms", args);
    put_kernel(t, "ncclDevKernel_Generic", end_us - us, us);
}

/* The ranks of two nodes of 8; one is there, of 16. */
static void places_and_waiting_of_collectives(void **state)
{
    static const char *const across = "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]";
    (void)state;
    trace t = begin("collectives.json", 0, 16);
    double at = 1e5;
    for (int i = 0; i < 4; i++)
        put_collective(&t, "allreduce", 1e6, 16, across, at += 1e4, 500 - 20 * i);
    for (int i = 0; i < 3; i++)
        put_collective(&t, "_allgather_base", 2e6, 2, "[0, 8]", at += 1e4, 300 + i);
    for (int i = 0; i < 3; i++)
        put_collective(&t, "_reduce_scatter_base", 2e6, 4, "[0, 1, 8, 9]", at += 1e4, 200 + i);
    for (int i = 0; i < 2; i++)
        put_collective(&t, "allreduce", 5e6, 8, "[0, 1, 2, 3, 4, 5, 6, 7]", at += 1e4, 900);
    put_collective(&t, "broadcast", 1e6, 16, across, at += 1e4, 100);
    put_collective(&t, "allreduce", 3e6, 4, NULL, at += 1e4, 100);
    put_collective(&t, "allreduce", 3e6, 0, NULL, at += 1e4, 100);
    put_collective(&t, "allreduce", 4e6, 1, "[0]", at += 1e4, 10);
    end(&t);
    result r = take_file("collectives.json");
    assert_int_equal(r.profile.n_link_times, 3);
    assert_int_equal(r.profile.n_collectives[EK_PROFILE_SHORTEST], 10);
    assert_int_equal(r.profile.n_collectives[EK_PROFILE_TOO_FEW], 2);
    assert_int_equal(r.profile.n_collectives[EK_PROFILE_UNMODELLED], 1);
    assert_int_equal(r.profile.n_collectives[EK_PROFILE_UNPLACED], 1);
    assert_int_equal(r.profile.n_collectives[EK_PROFILE_UNSIZED], 2);
    static const struct {
        ek_collective what;
        int n, per_node;
        double bytes, us;
    } time[] = {{EK_COLLECTIVE_ALL_REDUCE, 16, 8, 2e6, 440},
                {EK_COLLECTIVE_ALL_GATHER, 2, 1, 4e6, 300},
                {EK_COLLECTIVE_REDUCE_SCATTER, 4, 2, 4e6, 200}};
    for (int i = 0; i < 3; i++) {
        const ek_link_time *l = &r.log.time[i];
        assert_int_equal(l->what, time[i].what);
        assert_int_equal(l->n_ranks, time[i].n);
        assert_int_equal(l->per_node, time[i].per_node);
        assert_true(l->bytes == time[i].bytes && fabs(l->seconds - time[i].us * 1e-6) < 1e-12);
    }
    clear(&r);
}

/* Groups of two among four ranks: each has its own last rank; where one of the ranks is not there, the shortest counts.
 */
static void groups_have_their_own_last_rank(void **state)
{
    (void)state;
    char path[512];
    for (int r = 0; r < 3; r++) {
        char name[64];
        snprintf(name, sizeof name, "groups");
        mkdir(file_of(name, path, sizeof path), 0777);
        snprintf(name, sizeof name, "groups/rank%d.json", r);
        trace t = begin(name, r, 4);
        for (int i = 0; i < 5; i++) /* of 0 and 1, which are last in turn */
            if (r < 2)
                put_collective(&t, "allreduce", 1e6, 2, "[0, 1]", 1e5 + 1e4 * i, 100 + i + (i % 2 == r ? 0 : 70));
        for (int i = 0; i < 3; i++) /* of 2 and 3, which is absent */
            if (r == 2)
                put_collective(&t, "allreduce", 3e6, 2, "[2, 3]", 1e5 + 1e4 * i, 300 - 10 * i);
        end(&t);
    }
    result r = take(file_of("groups", path, sizeof path), ek_device_find("H100"));
    assert_int_equal(r.profile.n_collectives[EK_PROFILE_WHOLE], 10);
    assert_int_equal(r.profile.n_collectives[EK_PROFILE_SHORTEST], 3);
    assert_int_equal(r.log.n, 2);
    assert_true(fabs(r.log.time[0].seconds - 102e-6) < 1e-12); /* of 100 to 104 */
    assert_true(fabs(r.log.time[1].seconds - 280e-6) < 1e-12);
    clear(&r);
}

/* ---- whole calibrations ---- */

static ek_status run_calibration(const char *const *path, int n, const ek_device *start, ek_calibration *out,
                                 ek_error *err)
{
    const ek_calibrate_input input = {.path = path, .n_paths = n, .start = start};
    return ek_calibrate(&input, out, err);
}

static double noise(ek__random *r, double share)
{
    double sum = -6;
    for (int i = 0; i < 12; i++)
        sum += ek__random_unit(r);
    return exp(share * sum);
}

static ek_kernel product(double m, double n, double k, ek_pass pass)
{
    ek_kernel kernel = {.kind = EK_KERNEL_MATMUL, .pass = pass, .type = EK_BF16, .groups = 1, .m = m, .n = n, .k = k};
    ek__profile_product(&kernel, 2);
    return kernel;
}

static ek_device hidden_device(void)
{
    ek_device d = *ek_device_find("A100-80");
    ek_curve *curve = &d.curve[EK_KERNEL_MATMUL];
    curve->share = 0.72;
    curve->memory_share = 0.6;
    curve->launch_us = 6;
    curve->half_k = 250;
    d.tier[0].share[EK_COLLECTIVE_ALL_REDUCE] = 0.5;
    d.tier[0].share[EK_COLLECTIVE_ALL_GATHER] = 0.4;
    d.tier[0].latency_us = 4;
    d.kernels = NULL;
    d.layers = NULL;
    return d;
}

enum { RANKS = 8, SIZES = 7, TIMES = 4 };
static const double lengths[] = {512, 1024, 2048, 4096, 8192};
#define N_LENGTHS ((int)(sizeof lengths / sizeof *lengths))

/* Every rank has the products with different noise, and collectives in which it waits for the one that comes last. */
static void write_rank(const ek_device *hidden, int rank)
{
    char name[32];
    snprintf(name, sizeof name, "rank%d.json", rank);
    trace t = begin(name, rank, RANKS);
    ek__random own = ek__random_seed(77 + (uint64_t)rank), shared = ek__random_seed(5);
    for (int a = 0; a < N_LENGTHS; a++)
        for (int b = 0; b < N_LENGTHS; b++)
            for (int p = 0; p < 3; p++) {
                const ek_kernel k = product(lengths[a], lengths[b], lengths[(a + 2 * b) % N_LENGTHS], (ek_pass)p);
                put_mm(&t, k.m, k.n, k.k, k.pass, 1e6 * ek__kernel_curve(hidden, &k) * noise(&own, 0.02));
            }
    const ek__ranks ranks = {.n = RANKS, .in = {RANKS, RANKS}, .sharing = {1, 1}};
    double at = 1e7; /* the same on all ranks: they end together */
    for (int i = 0; i < 2 * SIZES * TIMES; i++) {
        ek_collective what = i % 2 ? EK_COLLECTIVE_ALL_GATHER : EK_COLLECTIVE_ALL_REDUCE;
        double elements = 1e5 * pow(4, i / 2 % SIZES);
        double us = 1e6 * ek__collective_seconds(hidden, what, &ranks, 2 * elements).seconds * noise(&shared, 0.02);
        int last = ek__random_below(&shared, RANKS);
        at += 1e5;
        put_collective(&t, i % 2 ? "_allgather_base" : "allreduce", elements, RANKS, "[0, 1, 2, 3, 4, 5, 6, 7]", at,
                       us + (rank == last ? 0 : 50 + 2000 * ek__random_unit(&own)));
    }
    end(&t);
}

/* Of the products' curve, at shapes that are in no profile. */
static double worst_curve_error(const ek_device *hidden, const ek_device *found)
{
    double worst = 0;
    for (double m = 768; m <= 6144; m *= 2)
        for (double k = 768; k <= 6144; k *= 2) {
            const ek_kernel one = product(m, 1536, k, EK_PASS_FORWARD);
            worst = fmax(worst, fabs(ek__kernel_curve(found, &one) / ek__kernel_curve(hidden, &one) - 1));
        }
    return worst;
}

static void a_hidden_device_is_found_again(void **state)
{
    (void)state;
    const ek_device hidden = hidden_device(), *start = ek_device_find("A100-80");
    char path[RANKS][512];
    const char *paths[RANKS];
    for (int r = 0; r < RANKS; r++) {
        char name[32];
        write_rank(&hidden, r);
        snprintf(name, sizeof name, "rank%d.json", r);
        paths[r] = file_of(name, path[r], sizeof path[r]);
    }
    ek_calibration c;
    ek_error err;
    if (run_calibration(paths, RANKS, start, &c, &err))
        fail_msg("%s", err.message);
    const ek_calibrated_profile *p = &c.profile[0];
    const double *share = c.device.tier[0].share;
    print_message("# curve: worst %.3f of start %.3f; links %.3f %.3f, median error %.3f %.3f\n",
                  worst_curve_error(&hidden, &c.device), worst_curve_error(&hidden, start),
                  share[EK_COLLECTIVE_ALL_REDUCE], share[EK_COLLECTIVE_ALL_GATHER], c.link[0].median_error,
                  c.link[1].median_error);
    assert_int_equal(c.n_profiles, 1);
    assert_int_equal(p->n_ranks, RANKS);
    assert_int_equal(p->n_shapes[EK_KERNEL_MATMUL], 3 * N_LENGTHS * N_LENGTHS);
    assert_int_equal(p->n_operators[EK_PROFILE_TAKEN], RANKS * 3 * N_LENGTHS * N_LENGTHS);
    assert_true(worst_curve_error(&hidden, start) > 0.15 && worst_curve_error(&hidden, &c.device) < 0.04);
    /* Measured shapes are predicted within the noise of a median of eight. */
    const ek_kernel known = product(4096, 4096, lengths[(3 + 6) % N_LENGTHS], EK_PASS_FORWARD);
    ek__kernel_time time = ek__kernel_seconds(&c.device, &known);
    assert_true(time.basis == EK_COST_MEASURED && fabs(time.seconds / ek__kernel_curve(&hidden, &known) - 1) < 0.03);
    assert_int_equal(p->n_collectives[EK_PROFILE_WHOLE], RANKS * 2 * SIZES * TIMES);
    assert_int_equal(p->n_link_times, 2 * SIZES);
    assert_true(fabs(share[EK_COLLECTIVE_ALL_REDUCE] / 0.5 - 1) < 0.03);
    assert_true(fabs(share[EK_COLLECTIVE_ALL_GATHER] / 0.4 - 1) < 0.03);
    ek_calibration_clear(&c);
}

/* Launches 15 us apart, with pauses between layers and calls that wait for a full queue. */
static void write_launches(const char *name, const char *first)
{
    FILE *file = open_file(name);
    fprintf(file, "{\"schemaVersion\":1,\"traceEvents\":[\n%s", first);
    double host = 1000;
    for (int i = 0; i < 300; i++) {
        double call = i % 3 == 2 ? 400 : 5;
        host += i % 20 == 0 ? 500 : 14 + i % 3;
        fprintf(file,
                "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":1,\"tid\":1,\"ts\":%.3f,"
                "\"dur\":%.3f,\"args\":{\"correlation\":%d}},\n"
                "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":0,\"tid\":7,\"ts\":%.3f,\"dur\":2,\"args\":{"
                "\"correlation\":%d}},\n",
                host, call, i + 1, host + 10, i + 1);
        host += call > 100 ? call - 14 : 0;
    }
    fprintf(file, "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":0,\"args\":{\"name\":\"python\"}}]}\n");
    fclose(file);
}

static void launches_are_the_hosts(void **state)
{
    (void)state;
    char path[512];
    const char *paths[] = {file_of("launches.json", path, sizeof path)};
    ek_calibration c;
    ek_error err;
    const ek_device *start = ek_device_find("A100-80");
    write_launches("launches.json", "");
    if (run_calibration(paths, 1, start, &c, &err))
        fail_msg("%s", err.message);
    /* Of three calls one waits, which ends its own interval and the next: 15 us are left, and few pauses. */
    assert_true(fabs(c.profile[0].launch_us - 15) < 1e-9);
    assert_true(fabs(c.device.host.kernel_us[EK_LAUNCH_EAGER] - 15) < 1e-9);
    assert_true(c.device.host.kernel_us[EK_LAUNCH_COMPILED] == start->host.kernel_us[EK_LAUNCH_COMPILED]);
    assert_true(c.device.host.layer_us[EK_LAUNCH_EAGER] == start->host.layer_us[EK_LAUNCH_EAGER]);
    assert_string_equal(c.profile[0].note[0],
                        "no operator has shapes: profile with torch.profiler.profile(record_shapes=True)");
    ek_calibration_clear(&c);
}

/* Recording stacks slows the host: its launches are no measure then, and this profile has nothing else. */
static void launches_under_stacks_are_not_taken(void **state)
{
    (void)state;
    char path[512];
    const char *paths[] = {file_of("stacks.json", path, sizeof path)};
    ek_calibration c;
    ek_error err;
    write_launches("stacks.json", "{\"ph\":\"X\",\"cat\":\"python_function\",\"name\":\"train.py(1): main\",\"pid\":1,"
                                  "\"tid\":1,\"ts\":900,\"dur\":9000,\"args\":{}},\n");
    assert_int_equal(run_calibration(paths, 1, ek_device_find("A100-80"), &c, &err), EK_ERR_INPUT);
    assert_non_null(strstr(err.message, "nothing to calibrate to"));
}

/* Few shapes are kept as they are; the kind's curve and the other shapes of the start stay. */
static void few_shapes_leave_the_curve(void **state)
{
    (void)state;
    char path[512];
    const char *paths[] = {file_of("few.json", path, sizeof path)};
    trace t = begin("few.json", 0, 1);
    put_mm(&t, 4096, 4096, 4096, EK_PASS_FORWARD, 900);
    put_mm(&t, 8192, 4096, 4096, EK_PASS_FORWARD, 1800);
    end(&t);
    ek_calibration c;
    ek_error err;
    ek_device start = *ek_device_find("A100-80");
    ek_kernel_row old[] = {{.kernel = product(4096, 4096, 4096, EK_PASS_FORWARD), .seconds = 1e-3},
                           {.kernel = product(512, 512, 512, EK_PASS_FORWARD), .seconds = 2e-5}};
    assert_int_equal(ek_kernel_table_new(old, 2, &start.kernels, &err), EK_OK);
    if (run_calibration(paths, 1, &start, &c, &err))
        fail_msg("%s", err.message);
    int n;
    ek_kernel_table_rows(c.device.kernels, &n);
    assert_int_equal(n, 3);
    assert_true(fabs(ek__kernel_seconds(&c.device, &old[0].kernel).seconds / 900e-6 - 1) < 1e-6);
    assert_true(fabs(ek__kernel_seconds(&c.device, &old[1].kernel).seconds / 2e-5 - 1) < 1e-6);
    assert_memory_equal(&c.device.curve[EK_KERNEL_MATMUL], &start.curve[EK_KERNEL_MATMUL], sizeof(ek_curve));
    assert_false(c.profile[0].fitted[EK_KERNEL_MATMUL]);
    /* how far the start is off: between both shapes */
    const ek_kernel second = product(8192, 4096, 4096, EK_PASS_FORWARD);
    double off = fabs(ek__kernel_seconds(&start, &old[0].kernel).seconds / 900e-6 - 1) +
                 fabs(ek__kernel_seconds(&start, &second).seconds / 1800e-6 - 1);
    assert_int_equal(c.profile[0].n_shapes[EK_KERNEL_MATMUL], 2);
    assert_close_to(c.profile[0].start_error[EK_KERNEL_MATMUL], off / 2, 1e-6);
    ek_calibration_clear(&c);
    ek_kernel_table_free(start.kernels);
}

/* Each once, of reading and of taking; the sanitizer sees whether anything leaks. */
static void any_allocation_may_fail(void **state)
{
    (void)state;
    char path[512];
    const char *paths[] = {file_of("memory.json", path, sizeof path)};
    trace t = begin("memory.json", 0, 8);
    for (int i = 0; i < 8; i++)
        put_mm(&t, 512 << (i % 4), 1024, 512 << (i / 4), EK_PASS_FORWARD, 100 + 10 * i);
    for (int i = 0; i < 3; i++)
        put_collective(&t, "allreduce", 1e7, 8, "[0, 1, 2, 3, 4, 5, 6, 7]", 1e6 + 1e4 * i, 400);
    end(&t);
    int n_failed = 0, n = 0;
    for (;; n++) {
        ek_calibration c;
        ek_error err = {.message = ""};
        left = n;
        ek_status status = run_calibration(paths, 1, ek_device_find("A100-80"), &c, &err);
        bool over = left >= 0;
        left = -1;
        n_failed += status == EK_ERR_MEMORY;
        if (status == EK_OK)
            ek_calibration_clear(&c);
        else if (status != EK_ERR_MEMORY || strcmp(err.message, "out of memory") != 0)
            fail_msg("allocation %d: status %d, '%s'", n, (int)status, err.message);
        if (over)
            break;
        assert_true(n < 20000);
    }
    print_message("# %d allocations, %d of them needed\n", n, n_failed);
    assert_true(n_failed > 100);
}

static void nothing_to_calibrate_to_is_an_error(void **state)
{
    static const struct {
        const char *name, *text, *says;
    } wrong[] = {
        {"host.json",
         "{\"schemaVersion\":1,\"traceEvents\":[{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::mm\","
         "\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":2,\"args\":{}}]}",
         "nothing to calibrate to: no operators with shapes, no collectives with sizes, no launches; no kernel of the "
         "device is in it: profile with ProfilerActivity.CUDA"},
        {"empty.json", "{\"traceEvents\":[]}", NULL},
        {"cut.json", "{\"traceEvents\":[{\"ph\":\"X\",\"na", NULL},
    };
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char path[512];
        const char *paths[] = {file_of(wrong[i].name, path, sizeof path)};
        FILE *file = open_file(wrong[i].name);
        fputs(wrong[i].text, file);
        fclose(file);
        ek_calibration c;
        ek_error err = {.message = ""};
        assert_int_equal(run_calibration(paths, 1, ek_device_find("A100-80"), &c, &err), EK_ERR_INPUT);
        print_message("# %s: %s\n", wrong[i].name, err.message);
        if (wrong[i].says && !strstr(err.message, wrong[i].says))
            fail_msg("%s", err.message);
    }
}

/* ---- arguments as profilers write them ---- */

static void types_have_their_bytes_and_what_multiplies_them(void **state)
{
    (void)state;
    static const struct {
        const char *torch, *ascend;
        int type, size;
    } types[] = {{"c10::BFloat16", "DT_BF16", EK_BF16, 2},
                 {"c10::BFloat16", "BFLOAT16", EK_BF16, 2},
                 {"c10::Half", "FLOAT16", EK_FP16, 2},
                 {"float", "DT_FLOAT", EK_FP32, 4},
                 {"float", "FLOAT32", EK_FP32, 4},
                 {"c10::Float8_e4m3fn", "FLOAT8_E4M3FN", EK_TYPE_FP8, 1},
                 {"c10::Float8_e5m2", "FLOAT8_E5M2", EK_TYPE_FP8, 1},
                 {"c10::Float8_e4m3fnuz", "FLOAT8_E4M3FN", EK_TYPE_FP8, 1},
                 {"c10::Float8_e5m2fnuz", "FLOAT8_E5M2", EK_TYPE_FP8, 1},
                 {"double", "DOUBLE", -1, 8},
                 {"long", "INT64", -1, 8},
                 {"long int", "UINT64", -1, 8},
                 {"int", "INT32", -1, 4},
                 {"int", "UINT32", -1, 4},
                 {"short", "INT16", -1, 2},
                 {"bool", "BOOL", -1, 1},
                 {"unsigned char", "UINT8", -1, 1},
                 {"signed char", "INT8", -1, 1},
                 {"floa", "DT_FLOAT3", -1, 0}, /* neither a part of a name nor more than it */
                 {"DT_BF16", "c10::Half2", -1, 0}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        char text[64];
        ek__profile_tensor of_torch[EK__PROFILE_MAX_TENSORS], of_ascend[EK__PROFILE_MAX_TENSORS];
        snprintf(text, sizeof text, "[\"%s\"]", types[i].torch);
        const ek_trace_shaped op = {.shapes = "[[3]]", .types = text, .layout = "[[1]]", .values = "[\"\"]"};
        if (i < sizeof types / sizeof *types - 1) { /* PyTorch's may have Ascend's prefix, too */
            assert_int_equal(ek__profile_arguments(&op, of_torch), 1);
            assert_int_equal(of_torch[0].type, types[i].type);
            assert_close_to(of_torch[0].size, types[i].size, 0);
        }
        assert_int_equal(ek__profile_cells("3", types[i].ascend, of_ascend), 1);
        assert_int_equal(of_ascend[0].type, types[i].type);
        assert_close_to(of_ascend[0].size, types[i].size, 0);
    }
}

static void arguments_are_told_apart_by_place(void **state)
{
    (void)state;
    ek__profile_tensor t[EK__PROFILE_MAX_TENSORS];
    const ek_trace_shaped op = {.shapes =
                                    "[[4, 1024], [[32, 10], [32, 20]], [], [8, 6, 5], [1,2,3,4,5,6,7,8,9], [2, -1]]",
                                .types = "[\"float\", \"TensorList\", \"Scalar\", \"c10::Half\", \"int\", \"int\"]",
                                .layout = "[[1024, 1], [[10, 1], [20, 1]], [], [0, 5, 1], [], []]",
                                .values = "[\"\", \"\", \"0.5\", \"\", \"\", \"\", \"[1, 2]\", \"True\"]"};
    assert_int_equal(ek__profile_arguments(&op, t), 8);
    assert_int_equal(t[0].n, 2);
    assert_true(t[0].dim[0] == 4 && t[0].dim[1] == 1024 && t[0].elements == 4096 && t[0].type == EK_FP32);
    assert_true(t[0].has_strides && t[0].stride[0] == 1024 && t[0].stride[1] == 1);
    assert_true(t[1].n == -1 && t[1].elements == 32 * 10 + 32 * 20 && t[1].size == 0 && !t[1].has_strides);
    assert_true(t[2].n == 0 && t[2].elements == 0 && !t[2].has_strides);
    assert_string_equal(t[2].value, "0.5");
    assert_true(t[3].n == 3 && t[3].elements == 6 * 5 && t[3].has_strides); /* repeated 8 times without being there */
    assert_int_equal(t[4].n, -1);                                           /* more dimensions than there are */
    assert_int_equal(t[5].n, -1);
    assert_true(t[6].n == -1 && t[7].n == -1 && t[7].type == -1 && t[7].size == 0);
    assert_string_equal(t[6].value, "[1, 2]");
    assert_string_equal(t[7].value, "True");
    const ek_trace_shaped none = {.shapes = "none", .types = "", .layout = "", .values = " 3"};
    assert_int_equal(ek__profile_arguments(&none, t), 0);

    assert_int_equal(ek__profile_cells("\"\"\"4096,1024;1024,512;;8;x\"\"\"", "DT_BF16;FLOAT;;INT64", t), 5);
    assert_true(t[0].n == 2 && t[0].dim[0] == 4096 && t[0].elements == 4096.0 * 1024 && t[0].type == EK_BF16);
    assert_true(t[1].n == 2 && t[1].dim[1] == 512 && t[1].elements == 1024.0 * 512 && t[1].type == EK_FP32);
    assert_true(t[2].n == 0 && t[2].elements == 0 && t[2].type == -1);
    assert_true(t[3].n == 1 && t[3].elements == 8 && t[3].size == 8);
    assert_true(t[4].n == -1 && t[4].type == -1 && t[4].size == 0); /* more shapes than types */
    assert_int_equal(ek__profile_cells("1,1,1,1,1,1,1,2;1,1,1,1,1,1,1,1,2", "", t), 2);
    assert_true(t[0].n == 8 && t[0].elements == 2 && t[1].n == -1);
    assert_int_equal(ek__profile_cells("\"\"", "", t), 0);
}

/* By their signatures in PyTorch's native_functions.yaml and flash-attn's interface: tensors from `query` on, the mask
 * at its argument's position. */
static void attentions_are_read_by_their_signatures(void **state)
{
    (void)state;
    static const struct {
        const char *name, *arguments;
        bool heads_first;
    } known[] = {
        {"aten::_flash_attention_forward", "query,key,value,cum_seq_q,cum_seq_k,max_q,max_k,dropout_p,MASK", false},
        {"aten::_flash_attention_backward",
         "grad_out,query,key,value,out,logsumexp,cum_seq_q,cum_seq_k,max_q,max_k,dropout_p,MASK", false},
        {"aten::_scaled_dot_product_flash_attention", "query,key,value,dropout_p,MASK", true},
        {"aten::_scaled_dot_product_flash_attention_backward",
         "grad_out,query,key,value,out,logsumexp,cum_seq_q,cum_seq_k,max_q,max_k,dropout_p,MASK", true},
        {"aten::_efficient_attention_forward",
         "query,key,value,bias,cu_seqlens_q,cu_seqlens_k,max_seqlen_q,max_seqlen_k,dropout_p,MASK", false},
        {"aten::_efficient_attention_backward",
         "grad_out,query,key,value,bias,out,cu_seqlens_q,cu_seqlens_k,max_seqlen_q,max_seqlen_k,logsumexp,dropout_p,"
         "philox_seed,philox_offset,MASK",
         false},
        {"aten::_scaled_dot_product_cudnn_attention", "query,key,value,attn_bias,compute_log_sumexp,dropout_p,MASK",
         true},
        {"aten::_cudnn_attention_forward",
         "query,key,value,attn_bias,cum_seq_q,cum_seq_k,max_q,max_k,compute_log_sumexp,dropout_p,MASK", true},
        {"aten::_scaled_dot_product_cudnn_attention_backward",
         "grad_out,query,key,value,out,logsumexp,philox_seed,philox_offset,attn_bias,cum_seq_q,cum_seq_k,max_q,max_k,"
         "dropout_p,MASK",
         true},
        {"aten::_cudnn_attention_backward",
         "grad_out,query,key,value,out,logsumexp,philox_seed,philox_offset,attn_bias,cum_seq_q,cum_seq_k,max_q,max_k,"
         "dropout_p,MASK",
         true},
        {"flash_attn::_flash_attn_forward", "q,key,value,dropout_p,softmax_scale,MASK", false},
        {"flash_attn::_flash_attn_backward", "dout,q,key,value,out,softmax_lse,dq,dk,dv,dropout_p,softmax_scale,MASK",
         false},
        {"FlashAttnFunc", "q,key,value,dropout_p,softmax_scale,MASK", false},
    };
    static const char *const masks[] = {"True", "1", "2", "False", "0", ""};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        for (size_t m = 0; m < sizeof masks / sizeof *masks; m++) {
            char shapes[512] = "[", types[512] = "[", values[512] = "[";
            const char *comma = "";
            bool backward = known[i].arguments[0] != 'q';
            for (const char *at = known[i].arguments; at;
                 comma = ",", at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
                bool q = *at == 'q', k = strncmp(at, "key", 3) == 0, v = strncmp(at, "value", 5) == 0;
                size_t n = strlen(shapes);
                snprintf(shapes + n, sizeof shapes - n, "%s%s", comma,
                         q   ? "[2,32,512,64]"
                         : k ? "[2,8,128,64]"
                         : v ? "[2,8,128,96]"
                             : "[]");
                n = strlen(types);
                snprintf(types + n, sizeof types - n, "%s\"%s\"", comma, q || k || v ? "c10::Half" : "Scalar");
                n = strlen(values);
                snprintf(values + n, sizeof values - n, "%s\"%s\"", comma,
                         strncmp(at, "MASK", 4) == 0    ? masks[m]
                         : at[0] == 'd' && at[1] == 'r' ? "0."
                                                        : "");
            }
            strcat(shapes, "]");
            strcat(types, "]");
            strcat(values, "]");
            const ek_trace_shaped op = {.name = known[i].name,
                                        .kernel = "k",
                                        .shapes = shapes,
                                        .types = types,
                                        .layout = "[]",
                                        .values = values};
            ek_kernel kernel;
            ek__profile_doubt doubt = {false, false};
            if (ek__profile_torch(&op, &kernel, &doubt) != EK_PROFILE_TAKEN)
                fail_msg("%s is not taken", known[i].name);
            bool first = known[i].heads_first, whole = masks[m][0] == 'F' || masks[m][0] == '0';
            assert_int_equal(kernel.kind, backward ? EK_KERNEL_ATTENTION_BACKWARD : EK_KERNEL_ATTENTION_FORWARD);
            assert_true(kernel.batch == 2 && kernel.qk_dim == 64 && kernel.v_dim == 96 && kernel.type == EK_FP16);
            assert_true(kernel.heads == (first ? 32 : 512) && kernel.kv_heads == (first ? 8 : 128));
            assert_true(kernel.seq == (first ? 512 : 32) && kernel.key_seq == (first ? 128 : 8));
            /* two products of q by k and of the scores by v, a multiplication and an addition each; half below a mask
             */
            double pairs = 2 * kernel.heads * kernel.seq * kernel.key_seq;
            if (kernel.flops != 2 * pairs * (64 + 96) * (whole ? 1 : 0.5) * (backward ? 2.5 : 1))
                fail_msg("%s, mask '%s': %g FLOPs", known[i].name, masks[m], kernel.flops);
            assert_int_equal(doubt.causal, masks[m][0] == '\0');
        }
}

/* Bytes that operators must read and write of tensors of 6 x 10 and 10 numbers of 2 bytes: 120 and 20 bytes each
 * time. */
static void operators_of_pytorch_have_their_bytes_or_shapes(void **state)
{
    (void)state;
#define ONE  "[[6,10]]"
#define ROW  "[[6,10],[10]]"
#define BOTH "[[6,10],[6,10]]"
    static const struct {
        const char *names, *shapes;
        double bytes;
        ek_kernel_kind kind;
    } streams[] = {
        {"pow,neg,exp,sqrt,rsqrt,silu,gelu,relu,sigmoid,tanh,clamp_min,masked_fill,_softmax", ONE, 2 * 120,
         EK_KERNEL_MEMORY},
        {"add,sub,rsub,mul,div,native_layer_norm,_fused_rms_norm", ROW, 2 * 120 + 20, EK_KERNEL_MEMORY},
        {"add,sub,rsub,mul,div,silu_backward,gelu_backward,sigmoid_backward,tanh_backward,threshold_backward,"
         "native_dropout_backward,_softmax_backward_data",
         BOTH, 3 * 120, EK_KERNEL_MEMORY},
        {"native_layer_norm_backward,_fused_rms_norm_backward", "[[6,10],[6,10],[10],[6,1],[6,1],[10],[10]]", 3 * 120,
         EK_KERNEL_MEMORY},
        {"copy", BOTH, 2 * 120, EK_KERNEL_MEMORY},
        {"fill,zero,sum,mean", ONE, 120, EK_KERNEL_MEMORY},
        {"cat", "[[[6,10],[6,10]],[]]", 2 * 240, EK_KERNEL_MEMORY},
        {"_log_softmax", ONE, 2 * 120, EK_KERNEL_LOSS},
        {"_log_softmax_backward_data", BOTH, 2 * 120, EK_KERNEL_LOSS},
    };
    static const char types[] =
        "[\"c10::Half\",\"c10::Half\",\"c10::Half\",\"c10::Half\",\"c10::Half\",\"c10::Half\",\"c10::"
        "Half\"]",
                      of_a_list[] = "[\"TensorList\",\"\"]";
    ek_kernel kernel;
    ek__profile_doubt doubt;
    for (size_t i = 0; i < sizeof streams / sizeof *streams; i++)
        for (const char *at = streams[i].names; *at; at += strcspn(at, ","), at += *at == ',') {
            char name[80];
            for (int in_place = 0; in_place < 2; in_place++) {
                snprintf(name, sizeof name, "aten::%.*s%s", (int)strcspn(at, ","), at, in_place ? "_" : "");
                const ek_trace_shaped op = {.name = name,
                                            .kernel = "k",
                                            .shapes = streams[i].shapes,
                                            .types = strncmp(at, "cat", 3) == 0 ? of_a_list : types,
                                            .layout = "[]",
                                            .values = "[]"};
                assert_int_equal(ek__profile_torch(&op, &kernel, &doubt), EK_PROFILE_TAKEN);
                if (kernel.bytes != streams[i].bytes || kernel.kind != streams[i].kind || kernel.flops != 0)
                    fail_msg("%s: kind %d, %g bytes", name, kernel.kind, kernel.bytes);
            }
        }
    static const struct {
        const char *name, *shapes;
        ek_profile_left left;
        double m, n, k, groups;
    } products[] = {
        {"aten::mm", "[[6,10],[10,4]]", EK_PROFILE_TAKEN, 6, 4, 10, 1},
        {"aten::bmm", "[[3,6,10],[3,10,4]]", EK_PROFILE_TAKEN, 6, 4, 10, 3},
        {"aten::addmm", "[[4],[6,10],[10,4]]", EK_PROFILE_TAKEN, 6, 4, 10, 1},
        {"aten::addmm_", "[[6,4],[6,10],[10,4]]", EK_PROFILE_TAKEN, 6, 4, 10, 1},
        {"aten::baddbmm", "[[3,6,4],[3,6,10],[3,10,4]]", EK_PROFILE_TAKEN, 6, 4, 10, 3},
        {"aten::baddbmm_", "[[3,6,4],[3,6,10],[3,10,4]]", EK_PROFILE_TAKEN, 6, 4, 10, 3},
        {"aten::_addmm_activation", "[[4],[6,10],[10,4]]", EK_PROFILE_TAKEN, 6, 4, 10, 1},
        {"aten::_scaled_mm", "[[6,10],[10,4],[],[]]", EK_PROFILE_TAKEN, 6, 4, 10, 1},
        {"aten::_grouped_mm", "[[12,10],[3,10,4],[3]]", EK_PROFILE_TAKEN, 4, 4, 10, 3},
        {"aten::_grouped_mm", "[[6,30],[30,4],[3]]", EK_PROFILE_TAKEN, 6, 4, 10, 3},
        {"aten::_grouped_mm", "[[6,30],[30,4]]", EK_PROFILE_UNCLEAR, 0, 0, 0, 0},
        {"aten::mm", "[[6,10],[9,4]]", EK_PROFILE_UNCLEAR, 0, 0, 0, 0},
        {"aten::mm", "[[6,10]]", EK_PROFILE_UNCLEAR, 0, 0, 0, 0},
        {"aten::add", "[[]]", EK_PROFILE_UNCLEAR, 0, 0, 0, 0},
        {"aten::add__", ROW, EK_PROFILE_OTHER, 0, 0, 0, 0},
        {"aten::addcmul", BOTH, EK_PROFILE_OTHER, 0, 0, 0, 0},
        {"add", ROW, EK_PROFILE_OTHER, 0, 0, 0, 0},
        {"aten::convolution", BOTH, EK_PROFILE_OTHER, 0, 0, 0, 0},
    };
    for (size_t i = 0; i < sizeof products / sizeof *products; i++) {
        const ek_trace_shaped op = {.name = products[i].name,
                                    .kernel = "k",
                                    .shapes = products[i].shapes,
                                    .types = types,
                                    .layout = "[]",
                                    .values = "[]"};
        kernel = (ek_kernel){.m = 0};
        if (ek__profile_torch(&op, &kernel, &doubt) != products[i].left)
            fail_msg("%s of %s", products[i].name, products[i].shapes);
        if (products[i].left != EK_PROFILE_TAKEN)
            continue;
        assert_true(kernel.m == products[i].m && kernel.n == products[i].n && kernel.k == products[i].k);
        assert_true(kernel.groups == products[i].groups && kernel.type == EK_FP16);
        assert_true(kernel.flops == 2 * kernel.m * kernel.n * kernel.k * kernel.groups);
    }
#undef ONE
#undef ROW
#undef BOTH
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(types_have_their_bytes_and_what_multiplies_them),
        cmocka_unit_test(arguments_are_told_apart_by_place),
        cmocka_unit_test(attentions_are_read_by_their_signatures),
        cmocka_unit_test(operators_of_pytorch_have_their_bytes_or_shapes),
        cmocka_unit_test(products_are_rows_with_the_median),
        cmocka_unit_test(attention_has_its_mask_and_all_its_kernels),
        cmocka_unit_test(streams_count_what_they_read_and_write),
        cmocka_unit_test(equal_shapes_become_one_row),
        cmocka_unit_test(tables_of_ascend_are_rows),
        cmocka_unit_test(places_and_waiting_of_collectives),
        cmocka_unit_test(groups_have_their_own_last_rank),
        cmocka_unit_test(a_hidden_device_is_found_again),
        cmocka_unit_test(launches_are_the_hosts),
        cmocka_unit_test(launches_under_stacks_are_not_taken),
        cmocka_unit_test(few_shapes_leave_the_curve),
        cmocka_unit_test(any_allocation_may_fail),
        cmocka_unit_test(nothing_to_calibrate_to_is_an_error),
    };
    return cmocka_run_group_tests_name("calibrate_profile", tests, make_folder, remove_folder);
}
