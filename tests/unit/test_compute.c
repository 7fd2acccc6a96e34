/* Tests the analysis of a run's computation: operators by type and shape over all ranks, and those that could be
 * faster. Steps are made of a list of operators; a fault replaces some of them by slower ones, so that its cost is the
 * difference of two known steps. Oracles: sums over all pairs of rows, closed forms of FLOPs, and regular expressions
 * of the C library for operators in a row. */
#include "tree.h"

#include <inttypes.h>
#include <math.h>
#include <regex.h>

#include "assert_close.h"
#include "base/random.h"
#include "cost/kernel.h"
#include "evenkeel/compute.h"
#include "evenkeel/diagnose.h"
#include "evenkeel/trace.h"

#define assert_close(got, expected, share) assert_close_to((got), (expected), (share)*fabs(expected))

/* ---- steps of operators ---- */

typedef struct op {
    const char *type, *core, *shapes, *types, *out, *out_types;
    int us;
} op;

#define CUBE "AI_CORE"
#define VEC  "AI_VECTOR_CORE"
#define BF   "DT_BF16"
#define BF2  "DT_BF16;DT_BF16"
#define BF3  "DT_BF16;DT_BF16;DT_BF16"

enum { MAX_OPS = 400, N_STEPS = 4, N_LAYERS = 4 };

typedef struct program {
    int n;
    op at[MAX_OPS];
} program;

static void add(program *p, op one)
{
    assert_true(p->n < MAX_OPS);
    p->at[p->n++] = one;
}

static void add_all(program *p, const op *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        add(p, list[i]);
}
#define ADD_ALL(p, list) add_all((p), (list), sizeof(list) / sizeof *(list))

/* The replaced part of a step. */
typedef enum part { NOTHING, COUNTING, ATTENTION, NORM, ROPE, SWIGLU, LOSS, LAYOUT, TYPE, SHAPE, N_PARTS } part;

static const op fused_norm[] = {{"RmsNorm", VEC, "4096,4096;4096", BF2, "4096,4096", BF, 60}};
static const op single_norm[] = {{"Square", VEC, "4096,4096", BF, "4096,4096", BF, 55},
                                 {"ReduceMean", VEC, "4096,4096", BF, "4096,1", BF, 30},
                                 {"Adds", VEC, "4096,1", BF, "4096,1", BF, 4},
                                 {"Rsqrt", VEC, "4096,1", BF, "4096,1", BF, 4},
                                 {"Mul", VEC, "4096,4096;4096,1", BF2, "4096,4096", BF, 60},
                                 {"Mul", VEC, "4096,4096;4096", BF2, "4096,4096", BF, 58}};
static const op fused_rope[] = {
    {"RotaryMul", VEC, "1,4096,32,128;1,4096,1,128;1,4096,1,128", BF3, "1,4096,32,128", BF, 42}};
static const op single_rope[] = {{"Mul", VEC, "1,4096,32,128;1,4096,1,128", BF2, "1,4096,32,128", BF, 40},
                                 {"Neg", VEC, "1,4096,32,64", BF, "1,4096,32,64", BF, 22},
                                 {"ConcatD", VEC, "1,4096,32,64;1,4096,32,64", BF2, "1,4096,32,128", BF, 41},
                                 {"Mul", VEC, "1,4096,32,128;1,4096,1,128", BF2, "1,4096,32,128", BF, 40},
                                 {"Add", VEC, "1,4096,32,128;1,4096,32,128", BF2, "1,4096,32,128", BF, 42}};
static const op fused_attention[] = {
    {"FlashAttentionScore", "MIX_AIC", "4096,1,4096;4096,1,4096;4096,1,4096", BF3, "1,32,4096,8", "FLOAT", 800}};
static const op single_attention[] = {{"BatchMatMulV2", CUBE, "32,4096,128;32,128,4096", BF2, "32,4096,4096", BF, 420},
                                      {"Muls", VEC, "32,4096,4096", BF, "32,4096,4096", BF, 500},
                                      {"MaskedFill", VEC, "32,4096,4096", BF, "32,4096,4096", BF, 520},
                                      {"SoftmaxV2", VEC, "32,4096,4096", BF, "32,4096,4096", BF, 700},
                                      {"BatchMatMulV2", CUBE, "32,4096,4096;32,4096,128", BF2, "32,4096,128", BF, 400}};
static const op fused_swiglu[] = {{"SwiGlu", VEC, "4096,22016", BF, "4096,11008", BF, 120}};
static const op single_swiglu[] = {{"Swish", VEC, "4096,11008", BF, "4096,11008", BF, 110},
                                   {"Mul", VEC, "4096,11008;4096,11008", BF2, "4096,11008", BF, 120}};
static const op fused_loss[] = {
    {"SoftmaxCrossEntropyWithLogits", VEC, "4096,32000;4096,32000", "FLOAT;FLOAT", "4096", "FLOAT", 2000}};
static const op single_loss[] = {{"LogSoftmaxV2", VEC, "4096,32000", "FLOAT", "4096,32000", "FLOAT", 2000},
                                 {"GatherElements", VEC, "4096,32000;4096,1", "FLOAT;INT32", "4096,1", "FLOAT", 700}};
static const op plain_add[] = {{"Mul", VEC, "8,512,4096;4096", BF2, "8,512,4096", BF, 50}};
static const op turned_add[] = {{"TransData", VEC, "8,512,4096", BF, "8,256,32,16,16", BF, 90},
                                {"Mul", VEC, "8,256,32,16,16;4096", BF2, "8,256,32,16,16", BF, 50},
                                {"TransData", VEC, "8,256,32,16,16", BF, "8,512,4096", BF, 95}};
static const op count_there[] = {{"Cumsum", VEC, "4096", "INT32", "4096", "INT32", 45}};
static const op count_here[] = {{"Cumsum", "AI_CPU", "4096", "INT64", "4096", "INT64", 2300}};
/* 2 x 4096^3 FLOPs at 250 TFLOP/s, and in 32 bits; a side of 4095 takes twice as long */
static const op product[] = {{"MatMulV3", CUBE, "4096,4096;4096,4096", BF2, "4096,4096", BF, 550}};
static const op wide_product[] = {{"MatMulV3", CUBE, "4096,4096;4096,4096", "FLOAT;FLOAT", "4096,4096", "FLOAT", 1900}};
static const op odd_product[] = {{"MatMulV3", CUBE, "4096,4095;4095,4096", BF2, "4096,4096", BF, 1250}};

static void layer(program *p, part fault)
{
#define EITHER(which, faulty, sound)                                                                                   \
    if (fault == (which))                                                                                              \
        ADD_ALL(p, faulty);                                                                                            \
    else                                                                                                               \
        ADD_ALL(p, sound)
    EITHER(NORM, single_norm, fused_norm);
    add(p, (op){"MatMulV3", CUBE, "4096,4096;12288,4096", BF2, "4096,12288", BF, 1600});
    EITHER(ROPE, single_rope, fused_rope);
    EITHER(ATTENTION, single_attention, fused_attention);
    if (fault == TYPE)
        ADD_ALL(p, wide_product);
    else
        EITHER(SHAPE, odd_product, product);
    EITHER(COUNTING, count_here, count_there);
    EITHER(LAYOUT, turned_add, plain_add);
    add(p, (op){"MatMulV3", CUBE, "4096,4096;22016,4096", BF2, "4096,22016", BF, 2900});
    EITHER(SWIGLU, single_swiglu, fused_swiglu);
    add(p, (op){"MatMulV3", CUBE, "4096,11008;4096,11008", BF2, "4096,4096", BF, 1450});
}

static void step_of(program *p, part fault)
{
    p->n = 0;
    for (int i = 0; i < N_LAYERS; i++)
        layer(p, fault);
    EITHER(LOSS, single_loss, fused_loss);
#undef EITHER
}

static int64_t length_of(const program *p)
{
    int64_t us = 0;
    for (int i = 0; i < p->n; i++)
        us += p->at[i].us;
    return us;
}

/* ---- files ---- */

typedef struct text {
    char *at;
    size_t n, room;
} text;

static void print(text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void print(text *t, const char *format, ...)
{
    va_list list;
    if (t->room - t->n < 2000) {
        t->room = 2 * t->room + 65536;
        t->at = realloc(t->at, t->room);
        assert_non_null(t->at);
    }
    va_start(list, format);
    t->n += (size_t)vsnprintf(t->at + t->n, t->room - t->n, format, list);
    va_end(list);
}

/* MindSpore's two files: one operator after the other, steps marked on the host. */
static void write_rank(const char *folder, const program *p, bool events, bool shapes)
{
    char name[256];
    text table = {0}, trace = {0};
    int64_t at = 1000000;
    print(
        &table,
        "Step Id,Name,Type,Accelerator Core,Start Time(us),Duration(us),Wait Time(us),Block Dim,Input Shapes,Input "
        "Data "
        "Types,Input Formats,Output Shapes,Output Data Types,Output Formats,aic_mac_ratio,aiv_vec_ratio,aic_mte2_ratio,"
        "aiv_mte3_ratio\n");
    print(&trace,
          "[{\"ph\":\"M\",\"pid\":1,\"tid\":0,\"name\":\"process_name\",\"args\":{\"name\":\"MindSpore\"}},"
          "{\"ph\":\"M\",\"pid\":5,\"tid\":0,\"name\":\"process_name\",\"args\":{\"name\":\"Ascend Hardware\"}}");
    for (int step = 0; step < N_STEPS; step++) {
        print(&trace,
              ",{\"ph\":\"X\",\"pid\":1,\"tid\":1,\"name\":\"ProfilerStep#%d\",\"ts\":\"%" PRId64
              "\",\"dur\":\"%" PRId64 "\",\"cat\":\"\",\"args\":{}}",
              step, at, length_of(p));
        for (int i = 0; i < p->n; i++) {
            const op *o = &p->at[i];
            print(&table, "%d,%s-op%d,%s,%s,%" PRId64 ".000,%d.000,0,20,\"\"\"%s\"\"\",%s,ND,\"\"\"%s\"\"\",%s,ND,%s\n",
                  step, o->type, i, o->type, o->core, at, o->us, shapes ? o->shapes : "", shapes ? o->types : "",
                  shapes ? o->out : "", shapes ? o->out_types : "",
                  strcmp(o->core, CUBE) == 0 ? "0.75,0,0.5,0" : "0,0.25,0,0.5");
            print(&trace,
                  ",{\"ph\":\"X\",\"pid\":5,\"tid\":2,\"name\":\"%s-op%d\",\"ts\":\"%" PRId64
                  "\",\"dur\":\"%d\",\"cat\":\"\",\"args\":{\"Task Type\":\"%s\"}}",
                  o->type, i, at, o->us, o->core);
            at += o->us;
        }
    }
    print(&trace, "]");
    snprintf(name, sizeof name, "%s/ASCEND_PROFILER_OUTPUT/kernel_details.csv", folder);
    put(name, table.at);
    snprintf(name, sizeof name, "%s/ASCEND_PROFILER_OUTPUT/trace_view.json", folder);
    if (events)
        put(name, trace.at);
    free(table.at);
    free(trace.at);
}

static void read_run(const char *folder, ek_trace_run *run, const ek_device *device)
{
    const char *path = below(folder);
    const ek_trace_options options = {.measure = true, .drop_first_steps = -1};
    ek_error err;
    assert_int_equal(ek_trace_run_read(&path, 1, &options, NULL, run, &err), EK_OK);
    assert_int_equal(ek_compute_make(run, device, &err), EK_OK);
}

static void read_fault(part fault, bool events, ek_trace_run *run, program *p)
{
    char folder[64];
    snprintf(folder, sizeof folder, "fault%d/rank_0_ascend_ms", (int)fault + 100 * events);
    step_of(p, fault);
    write_rank(folder, p, events, true);
    read_run(folder, run, NULL);
}

/* ---- faults ---- */

static const ek_compute_fault fault_of[N_PARTS] = {
    [COUNTING] = EK_FAULT_AI_CPU,   [ATTENTION] = EK_FAULT_ATTENTION, [NORM] = EK_FAULT_NORM,
    [ROPE] = EK_FAULT_ROPE,         [SWIGLU] = EK_FAULT_SWIGLU,       [LOSS] = EK_FAULT_CROSS_ENTROPY,
    [LAYOUT] = EK_FAULT_TRANSFORMS, [TYPE] = EK_FAULT_TYPE,           [SHAPE] = EK_FAULT_SHAPE,
};

static bool names_a_fault(const char *id)
{
    for (int f = 0; f < EK_N_COMPUTE_FAULTS; f++)
        if (strcmp(id, ek_compute_fault_name[f]) == 0)
            return true;
    return false;
}

static void a_healthy_step_has_no_fault(void **state)
{
    (void)state;
    for (int events = 0; events < 2; events++) {
        ek_trace_run run;
        program p;
        read_fault(NOTHING, events, &run, &p);
        assert_non_null(run.compute);
        assert_int_equal(run.compute->n_findings, 0);
        for (int i = 0; i < run.n_findings; i++)
            assert_false(names_a_fault(run.finding[i].id));
        assert_close(run.compute->total, 1e3 * N_STEPS * (double)length_of(&p), 1e-9);
        ek_trace_run_clear(&run);
    }
}

/* The true cost is the difference of the steps with and without the fault. */
static void a_fault_is_named_with_what_it_costs(void **state)
{
    (void)state;
    program healthy;
    step_of(&healthy, NOTHING);
    for (int events = 0; events < 2; events++)
        for (int fault = COUNTING; fault < N_PARTS; fault++) {
            ek_trace_run run;
            program p;
            read_fault((part)fault, events, &run, &p);
            double cost = 1e3 * (double)(length_of(&p) - length_of(&healthy));
            if (run.compute->n_findings != 1)
                print_message("events %d, fault %d: %d findings\n", events, fault, run.compute->n_findings);
            assert_int_equal(run.compute->n_findings, 1);
            const ek_compute_finding *f = &run.compute->finding[0];
            assert_int_equal(f->fault, fault_of[fault]);
            assert_int_equal(f->n, N_STEPS * (fault == LOSS ? 1 : N_LAYERS));
            assert_close(f->lost, cost, 0.1);
            int told = -1;
            for (int i = 0; i < run.n_findings; i++)
                told = strcmp(run.finding[i].id, ek_compute_fault_name[f->fault]) == 0 ? i : told;
            assert_int_equal(told, 0);
            assert_close((double)run.finding[0].gain_ns, f->lost, 1e-6);
            assert_ptr_equal(strstr(run.finding[0].advice, f->instead), run.finding[0].advice);
            assert_non_null(strstr(run.finding[0].advice, f->setting));
            ek_trace_run_clear(&run);
        }
}

static void a_fault_is_the_first_bottleneck(void **state)
{
    (void)state;
    program healthy;
    step_of(&healthy, NOTHING);
    for (int fault = NOTHING; fault < N_PARTS; fault++) {
        ek_trace_run run;
        ek_diagnosis diagnosis;
        ek_error err;
        program p;
        read_fault((part)fault, true, &run, &p);
        const ek_run_input input = {.trace = &run};
        assert_int_equal(ek_diagnose(&input, NULL, &diagnosis, &err), EK_OK);
        assert_close(diagnosis.step_seconds, 1e-6 * (double)length_of(&p), 1e-6);
        if (fault == NOTHING) {
            for (int i = 0; i < diagnosis.n_bottlenecks; i++)
                assert_false(names_a_fault(diagnosis.bottleneck[i].id));
        } else {
            const ek_bottleneck *b = &diagnosis.bottleneck[0];
            assert_string_equal(b->id, ek_compute_fault_name[fault_of[fault]]);
            assert_close(b->gain_seconds, 1e-6 * (double)(length_of(&p) - length_of(&healthy)), 0.1);
            assert_close(b->cost_seconds, run.compute->finding[0].lost / 1e9, 1e-6);
        }
        ek_diagnosis_clear(&diagnosis);
        ek_trace_run_clear(&run);
    }
}

/* As many FLOPs as the others, but a byte for every few of them: it waits for memory, and may be as fast as it can be.
 */
static void a_product_that_waits_for_memory_is_not_compared(void **state)
{
    (void)state;
    ek_trace_run run;
    program p;
    step_of(&p, NOTHING);
    add(&p, (op){"BatchMatMulV2", CUBE, "64,4097,64;64,64,4097", BF2, "64,4097,4097", BF, 4000});
    write_rank("thin/rank_0_ascend_ms", &p, true, true);
    read_run("thin/rank_0_ascend_ms", &run, NULL);
    assert_int_equal(run.compute->n_findings, 0);
    ek_trace_run_clear(&run);
}

/* Half a percent of a step is no finding of the trace, though it is in the list. */
static void what_costs_little_is_not_told(void **state)
{
    (void)state;
    ek_trace_run run;
    program p;
    step_of(&p, NOTHING);
    add(&p, (op){"Cumsum", "AI_CPU", "16", "INT64", "16", "INT64", 150});
    write_rank("little/rank_0_ascend_ms", &p, true, true);
    read_run("little/rank_0_ascend_ms", &run, NULL);
    assert_int_equal(run.compute->n_findings, 1);
    assert_true(run.compute->finding[0].lost < 0.01 * 1e3 * (double)length_of(&p));
    for (int i = 0; i < run.n_findings; i++)
        assert_false(names_a_fault(run.finding[i].id));
    ek_trace_run_clear(&run);
}

/* Made twice, it has no duplicates. */
static void is_made_again(void **state)
{
    (void)state;
    ek_trace_run run;
    ek_error err;
    program p;
    read_fault(NORM, true, &run, &p);
    int n = run.n_findings;
    assert_int_equal(ek_compute_make(&run, ek_device_find("Atlas 800T A2"), &err), EK_OK);
    assert_int_equal(run.n_findings, n);
    assert_string_equal(run.compute->device, ek_device_find("Atlas 800T A2")->name);
    ek_trace_run_clear(&run);
}

/* ---- operators by shape ---- */

static const ek_compute_operator *find(const ek_compute *c, const char *name, const char *shapes)
{
    for (int i = 0; i < c->n; i++)
        if (strcmp(c->op[i].name, name) == 0 && strstr(c->op[i].shapes, shapes))
            return &c->op[i];
    return NULL;
}

static void tells_what_operators_reach(void **state)
{
    (void)state;
    const ek_device *device = ek_device_find("Atlas 800T A2");
    ek_trace_run run;
    program p;
    step_of(&p, NOTHING);
    write_rank("reach/rank_0_ascend_ms", &p, false, true);
    read_run("reach/rank_0_ascend_ms", &run, device);
    const ek_compute_operator *o = find(run.compute, "MatMulV3", "4096,4096;12288,4096");
    assert_non_null(o);
    assert_int_equal(o->class_, EK_COMPUTE_MATRIX);
    assert_int_equal(o->count, N_STEPS * N_LAYERS);
    assert_int_equal(o->known, EK_PROFILE_TAKEN);
    double flops = 2.0 * 4096 * 4096 * 12288, bytes = 2.0 * (4096.0 * 4096 + 12288.0 * 4096 + 4096.0 * 12288);
    assert_close(o->work.flops, flops, 1e-12);
    assert_close(o->tflops, flops / 1600e-6 / 1e12, 1e-9);
    assert_close(o->gbs, bytes / 1600e-6 / 1e9, 1e-9);
    assert_close(o->share_of_peak, flops / 1600e-6 / 1e12 / device->peak_tflops[EK_BF16], 1e-9);
    assert_close(o->share_of_memory, bytes / 1600e-6 / 1e9 / device->memory_gbs, 1e-9);
    assert_true(o->expected > 0);
    assert_close(o->unit[EK_TRACE_CUBE], 0.75, 1e-6);
    assert_close(o->unit[EK_TRACE_LOAD], 0.5, 1e-6);
    assert_int_equal(o->blocks, 20);
    o = find(run.compute, "FlashAttentionScore", "");
    assert_int_equal(o->class_, EK_COMPUTE_ATTENTION);
    assert_close(o->work.flops, 1.0 * 32 * 4096 * 4096 * 256, 1e-12); /* half of the scores, two products */
    o = find(run.compute, "SwiGlu", "");
    assert_int_equal(o->class_, EK_COMPUTE_VECTOR);
    assert_true(isnan(o->tflops) && isnan(o->share_of_peak));
    assert_close(o->unit[EK_TRACE_VECTOR], 0.25, 1e-6);
    assert_close(o->unit[EK_TRACE_STORE], 0.5, 1e-6);
    double of_class[EK_N_COMPUTE_CLASSES] = {0};
    for (int i = 0; i < p.n; i++)
        of_class[strcmp(p.at[i].core, CUBE) == 0                    ? EK_COMPUTE_MATRIX
                 : strcmp(p.at[i].type, "FlashAttentionScore") == 0 ? EK_COMPUTE_ATTENTION
                                                                    : EK_COMPUTE_VECTOR] += 1e3 * N_STEPS * p.at[i].us;
    for (int k = 0; k < EK_N_COMPUTE_CLASSES; k++)
        assert_close(run.compute->time[k], of_class[k], 1e-9);
    ek_trace_run_clear(&run);
}

static void without_shapes_types_are_read_off_names(void **state)
{
    (void)state;
    ek_trace_run run;
    program p;
    step_of(&p, ATTENTION);
    write_rank("bare/rank_0_ascend_ms", &p, true, false);
    read_run("bare/rank_0_ascend_ms", &run, NULL);
    assert_true(run.rank[0].measured.n_executions == 0);
    assert_int_equal(run.rank[0].measured.n_all, N_STEPS * p.n);
    const ek_compute_operator *o = find(run.compute, "BatchMatMulV2", "");
    assert_int_equal(o->known, EK_PROFILE_NO_SHAPES);
    assert_true(isnan(o->tflops) && isnan(o->gbs) && isnan(o->expected));
    assert_int_equal(run.compute->n_findings, 1);
    assert_int_equal(run.compute->finding[0].fault, EK_FAULT_ATTENTION);
    ek_trace_run_clear(&run);
}

/* Rows of all ranks against sums over all executions of all ranks. */
static void rows_are_those_of_all_ranks(void **state)
{
    static const char *const types[] = {"Add", "Mul", "MatMulV3"}, *const shapes[] = {"16;16", "32;32", "16,16;16,16"};
    (void)state;
    enum { N_RANKS = 3, N_OPS = 60 };
    program p[N_RANKS];
    ek_trace_run run;
    ek__random seed = ek__random_seed(11);
    for (int r = 0; r < N_RANKS; r++) {
        char folder[64];
        p[r].n = 0;
        for (int i = 0; i < N_OPS; i++)
            add(&p[r], (op){types[ek__random_below(&seed, 3)], VEC, shapes[ek__random_below(&seed, 3)], BF2, "16", BF,
                            1 + ek__random_below(&seed, 50)});
        snprintf(folder, sizeof folder, "ranks/rank_%d_ascend_ms", r);
        write_rank(folder, &p[r], false, true);
    }
    read_run("ranks", &run, NULL);
    assert_int_equal(run.n_ranks, N_RANKS);
    int n_rows = 0;
    for (int t = 0; t < 3; t++)
        for (int s = 0; s < 3; s++) {
            int64_t total = 0, count = 0;
            double mean[N_RANKS], least = INFINITY, most = 0;
            int n_ranks = 0;
            for (int r = 0; r < N_RANKS; r++) {
                int64_t own = 0, n = 0;
                for (int i = 0; i < p[r].n; i++)
                    if (p[r].at[i].type == types[t] && p[r].at[i].shapes == shapes[s]) {
                        own += 1000 * (int64_t)p[r].at[i].us;
                        n++;
                    }
                if (n == 0)
                    continue;
                mean[n_ranks++] = (double)own / (double)n;
                least = fmin(least, (double)own / (double)n);
                most = fmax(most, (double)own / (double)n);
                total += N_STEPS * own;
                count += N_STEPS * n;
            }
            if (count == 0)
                continue;
            const ek_compute_operator *o = NULL;
            for (int i = 0; i < run.compute->n; i++)
                if (strcmp(run.compute->op[i].name, types[t]) == 0 && strcmp(run.compute->op[i].shapes, shapes[s]) == 0)
                    o = &run.compute->op[i];
            assert_non_null(o);
            n_rows++;
            assert_int_equal(o->total, total);
            assert_int_equal(o->count, count);
            assert_int_equal(o->n_ranks, n_ranks);
            assert_close(o->least, least, 1e-12);
            assert_close(o->most, most, 1e-12);
            if (n_ranks == 3)
                assert_close(o->median, mean[0] + mean[1] + mean[2] - least - most, 1e-9);
        }
    assert_int_equal(run.compute->n, n_rows);
    for (int i = 1; i < run.compute->n; i++)
        assert_true(run.compute->op[i - 1].total >= run.compute->op[i].total);
    ek_trace_run_clear(&run);
}

/* ---- with a device ---- */

/* The expected time of a fused kernel there, in place of the products'. */
static void fused_attention_is_priced_on_the_device(void **state)
{
    const ek_device *device = ek_device_find("Atlas 800T A2");
    (void)state;
    ek_trace_run run;
    program p;
    step_of(&p, ATTENTION);
    write_rank("priced/rank_0_ascend_ms", &p, false, true);
    read_run("priced/rank_0_ascend_ms", &run, device);
    ek_kernel fused = {.kind = EK_KERNEL_ATTENTION_FORWARD,
                       .type = EK_BF16,
                       .groups = 1,
                       .batch = 32,
                       .heads = 1,
                       .kv_heads = 1,
                       .seq = 4096,
                       .key_seq = 4096,
                       .qk_dim = 128,
                       .v_dim = 128,
                       .flops = 32 * 4096.0 * 4096 * 256,
                       .bytes = 2 * 32 * 256 * 2 * 4096.0};
    const ek_compute_finding *f = &run.compute->finding[0];
    assert_int_equal(f->fault, EK_FAULT_ATTENTION);
    assert_string_equal(f->what, "BatchMatMulV2, Muls, MaskedFill, SoftmaxV2, BatchMatMulV2");
    assert_close(f->lost, N_LAYERS * (2540e3 - 1e9 * ek__kernel_seconds(device, &fused).seconds), 1e-5);
    ek_trace_run_clear(&run);
}

/* ---- PyTorch ---- */

/* An operator of the host, its launch and its kernel. `us`: when it begins. */
static void host_and_kernel(text *t, int id, const char *name, const char *dims, const char *types, const char *kernel,
                            int us, int duration)
{
    print(
        t,
        ",{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"%s\",\"pid\":1,\"tid\":1,\"ts\":%d,\"dur\":1,\"args\":{"
        "\"External id\":%d,\"Input Dims\":%s,\"Input type\":%s}}"
        ",{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":1,\"tid\":1,\"ts\":%d,\"dur\":1,"
        "\"args\":{\"External id\":%d,\"correlation\":%d}}"
        ",{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"%s\",\"pid\":0,\"tid\":7,\"ts\":%d,\"dur\":%d,\"args\":{"
        "\"External id\":%d,\"correlation\":%d,\"stream\":7,\"device\":0}}",
        name, us, id, dims, types, us, id, id, kernel, us + 2, duration, id, id);
}

static void pytorch_is_read_by_the_operators_of_its_host(void **state)
{
    static const char x[] = "[[4096,1024]]", two[] = "[[4096,1024],[1024]]", f[] = "[\"c10::BFloat16\"]",
                      ff[] = "[\"c10::BFloat16\",\"c10::BFloat16\"]";
    (void)state;
    ek_trace_run run;
    text t = {0};
    int us = 100;
    print(&t,
          "{\"schemaVersion\":1,\"traceEvents\":[{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"ProfilerStep#1\","
          "\"pid\":1,\"tid\":1,\"ts\":90,\"dur\":100000}");
    for (int i = 0; i < 10; i++) {
        const int id = 10 * i + 1;
        host_and_kernel(&t, id, "aten::pow", x, f, "vectorized_elementwise_kernel", us, 30);
        host_and_kernel(&t, id + 1, "aten::mean", x, f, "reduce_kernel", us + 40, 20);
        host_and_kernel(&t, id + 2, "aten::add", "[[4096,1]]", f, "vectorized_elementwise_kernel", us + 70, 3);
        host_and_kernel(&t, id + 3, "aten::rsqrt", "[[4096,1]]", f, "vectorized_elementwise_kernel", us + 80, 3);
        host_and_kernel(&t, id + 4, "aten::mul", two, ff, "elementwise_kernel", us + 90, 35);
        host_and_kernel(&t, id + 5, "aten::mm", "[ [ 4096, 1024 ], [ 1024, 512 ] ]", ff, "sm80_xmma_gemm_bf16_tn",
                        us + 130, 50);
        us += 200;
    }
    print(&t, "]}");
    put("one.pt.trace.json", t.at);
    free(t.at);
    read_run("one.pt.trace.json", &run, ek_device_find("A100-80"));
    const ek_compute_operator *o = find(run.compute, "aten::mm", "[[4096,1024],[1024,512]]");
    assert_non_null(o);
    assert_string_equal(o->kernel, "sm80_xmma_gemm_bf16_tn");
    assert_int_equal(o->count, 10);
    assert_close(o->tflops, 2.0 * 4096 * 1024 * 512 / 50e-6 / 1e12, 1e-9);
    assert_int_equal(run.compute->n_findings, 1);
    assert_int_equal(run.compute->finding[0].fault, EK_FAULT_NORM);
    assert_string_equal(run.compute->finding[0].what, "aten::pow, aten::mean, aten::add, aten::rsqrt, aten::mul");
    assert_int_equal(run.compute->finding[0].n, 10);
    assert_close(run.compute->finding[0].lost, 10 * 1e3 * (91 - 35), 1e-9);
    ek_trace_run_clear(&run);
}

/* Two executions of one product, with the second kernel as the longer one; Kineto's 0 % is no information. */
static void kernels_of_a_gpu_tell_their_grid_and_occupancy(void **state)
{
    static const struct {
        int id, us, duration;
        const char *grid;
    } kernels[] = {{1, 10, 4, "\"grid\": [999, 9, 9], \"est. achieved occupancy %\": 99"},
                   {1, 20, 30, "\"grid\": [3, 4, 1], \"est. achieved occupancy %\": 50"},
                   {2, 60, 10, "\"est. achieved occupancy %\": 12.5, \"grid\":[\n 2,5,\n 2]"},
                   {3, 80, 7, "\"grid\": [7, 1, 1], \"est. achieved occupancy %\": 0"},
                   {4, 90, 7, "\"grid\": [7, 1], \"est. achieved occupancy %\": 20"},
                   {5, 99, 7, "\"est. achieved occupancy %\": 20"},
                   {6, 110, 7, "\"grid\": [4294967295, 4294967295, 4294967295], \"est. achieved occupancy %\": 101"}};
    (void)state;
    ek_trace_run run;
    text t = {0};
    print(&t, "{\"schemaVersion\":1,\"traceEvents\":[{\"ph\":\"M\",\"name\":\"x\",\"pid\":1}");
    for (int id = 1; id <= 6; id++)
        print(&t,
              ",{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::%s\",\"pid\":1,\"tid\":1,\"ts\":%d,\"dur\":1,"
              "\"args\":{\"External id\":%d,\"Input Dims\":[[8,%d]]}}",
              id < 3 ? "mm" : "add", id, id, id < 3 ? 2 : id);
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
        print(&t,
              ",{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":1,\"tid\":1,\"ts\":%d,"
              "\"dur\":1,\"args\":{\"External id\":%d,\"correlation\":%zu}}"
              ",{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":0,\"tid\":7,\"ts\":%d,\"dur\":%d,\"args\":{"
              "\"correlation\":%zu,%s}}",
              kernels[i].id, kernels[i].id, i + 1, kernels[i].us, kernels[i].duration, i + 1, kernels[i].grid);
    print(&t, "]}");
    put("grid.pt.trace.json", t.at);
    free(t.at);
    read_run("grid.pt.trace.json", &run, NULL);
    const ek_compute_operator *o = find(run.compute, "aten::mm", "[[8,2]]");
    assert_non_null(o);
    assert_int_equal(o->count, 2);
    assert_int_equal(o->blocks, 20);
    assert_close(o->unit[EK_TRACE_OCCUPANCY], (34 * 0.5 + 10 * 0.125) / 44, 1e-12);
    assert_true(isnan(o->unit[EK_TRACE_CUBE]));
    static const struct {
        const char *shapes;
        int blocks;
    } others[] = {{"[[8,3]]", 7}, {"[[8,4]]", 0}, {"[[8,5]]", 0}, {"[[8,6]]", 0}};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        o = find(run.compute, "aten::add", others[i].shapes);
        assert_non_null(o);
        assert_int_equal(o->blocks, others[i].blocks);
        assert_true(isnan(o->unit[EK_TRACE_OCCUPANCY]));
    }
    ek_trace_run_clear(&run);
}

/* ---- operators in a row ---- */

/* A letter each, and the faults as expressions over them, the longest match from each place on. */
static const struct {
    char letter;
    const char *type;
} letters[] = {{'P', "BatchMatMulV2"}, {'S', "SoftmaxV2"},    {'G', "SoftmaxGrad"},
               {'D', "DropOutDoMask"}, {'M', "Mul"},          {'A', "Add"},
               {'/', "RealDiv"},       {'N', "Neg"},          {'Q', "Square"},
               {'E', "ReduceMeanD"},   {'R', "Rsqrt"},        {'C', "ConcatD"},
               {'L', "Slice"},         {'U', "Swish"},        {'V', "SwishGrad"},
               {'I', "Sigmoid"},       {'X', "LogSoftmaxV2"}, {'Y', "GatherElements"},
               {'K', "Cast"},          {'O', "OneHot"}};
enum { N_LETTERS = sizeof letters / sizeof *letters };

static const struct {
    ek_compute_fault fault;
    const char *expression;
} expressions[] = {{EK_FAULT_ATTENTION, "^P[MA/K]{0,6}S[DMK]{0,5}P"},
                   {EK_FAULT_ATTENTION, "^PK{0,2}P?[DMK]{0,5}G[MA/K]{0,6}PK{0,2}P?"},
                   {EK_FAULT_NORM, "^K?QEA?R[M/]K?M?"},
                   {EK_FAULT_NORM, "^K?EAQEA?R[M/]K?M?A?"},
                   {EK_FAULT_ROPE, "^M?L{0,3}NCM{1,2}A"},
                   {EK_FAULT_SWIGLU, "^L{0,2}UM"},
                   {EK_FAULT_SWIGLU, "^L{0,2}IMM"},
                   {EK_FAULT_SWIGLU, "^M{1,2}VM?"},
                   {EK_FAULT_CROSS_ENTROPY, "^K?XY"}};
enum { N_EXPRESSIONS = sizeof expressions / sizeof *expressions };

/* Words that make matches likely. */
static const char *const pieces[] = {"PMASKP", "PMSP", "PPGMPP", "PDGP", "QEARMM", "KQERMKM", "EAQEARMMA", "MLLNCMA",
                                     "NCMA",   "UM",   "IMM",    "MMV",  "MVM",    "XY",      "KXY",       "P",
                                     "M",      "A",    "K",      "O",    "L",      "S",       "N"};
enum { N_PIECES = sizeof pieces / sizeof *pieces };

static void count_by_expressions(const char *line, int count[EK_N_COMPUTE_FAULTS])
{
    static regex_t compiled[N_EXPRESSIONS];
    static bool made = false;
    for (int i = 0; i < N_EXPRESSIONS && !made; i++)
        assert_int_equal(regcomp(&compiled[i], expressions[i].expression, REG_EXTENDED), 0);
    made = true;
    while (*line) {
        regmatch_t match;
        regoff_t longest = 0;
        ek_compute_fault fault = EK_FAULT_AI_CPU;
        for (int i = 0; i < N_EXPRESSIONS; i++)
            if (regexec(&compiled[i], line, 1, &match, 0) == 0 && match.rm_eo > longest) {
                longest = match.rm_eo;
                fault = expressions[i].fault;
            }
        count[fault] += longest > 0;
        line += longest > 0 ? longest : 1;
    }
}

static void rows_of_operators_are_found_as_expressions_find_them(void **state)
{
    (void)state;
    ek__random seed = ek__random_seed(3);
    int n_found = 0;
    for (int trial = 0; trial < 60; trial++) {
        char line[MAX_OPS + 1] = "", folder[64];
        int count[EK_N_COMPUTE_FAULTS] = {0};
        program p = {0};
        ek_trace_run run;
        while (strlen(line) < 80)
            strcat(line, pieces[ek__random_below(&seed, N_PIECES)]);
        for (const char *c = line; *c; c++)
            for (int i = 0; i < N_LETTERS; i++)
                if (letters[i].letter == *c)
                    add(&p, (op){letters[i].type, VEC, "16", BF, "16", BF, 10});
        assert_int_equal(p.n, strlen(line));
        snprintf(folder, sizeof folder, "rows%d/rank_0_ascend_ms", trial);
        /* Steps are consecutive, and so may be their content. */
        char all[N_STEPS * MAX_OPS + 1] = "";
        for (int s = 0; s < N_STEPS; s++)
            strcat(all, line);
        count_by_expressions(all, count);
        write_rank(folder, &p, false, true);
        read_run(folder, &run, NULL);
        int found[EK_N_COMPUTE_FAULTS] = {0};
        for (int i = 0; i < run.compute->n_findings; i++)
            found[run.compute->finding[i].fault] = (int)run.compute->finding[i].n;
        for (int f = EK_FAULT_ATTENTION; f <= EK_FAULT_CROSS_ENTROPY; f++) {
            if (found[f] != count[f])
                print_message("%s: %s %d, not %d\n", line, ek_compute_fault_name[f], found[f], count[f]);
            assert_int_equal(found[f], count[f]);
            n_found += count[f];
        }
        ek_trace_run_clear(&run);
    }
    assert_true(n_found > 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_healthy_step_has_no_fault, make_top, remove_top),
        cmocka_unit_test_setup_teardown(a_fault_is_named_with_what_it_costs, make_top, remove_top),
        cmocka_unit_test_setup_teardown(a_fault_is_the_first_bottleneck, make_top, remove_top),
        cmocka_unit_test_setup_teardown(a_product_that_waits_for_memory_is_not_compared, make_top, remove_top),
        cmocka_unit_test_setup_teardown(what_costs_little_is_not_told, make_top, remove_top),
        cmocka_unit_test_setup_teardown(is_made_again, make_top, remove_top),
        cmocka_unit_test_setup_teardown(tells_what_operators_reach, make_top, remove_top),
        cmocka_unit_test_setup_teardown(without_shapes_types_are_read_off_names, make_top, remove_top),
        cmocka_unit_test_setup_teardown(rows_are_those_of_all_ranks, make_top, remove_top),
        cmocka_unit_test_setup_teardown(fused_attention_is_priced_on_the_device, make_top, remove_top),
        cmocka_unit_test_setup_teardown(pytorch_is_read_by_the_operators_of_its_host, make_top, remove_top),
        cmocka_unit_test_setup_teardown(kernels_of_a_gpu_tell_their_grid_and_occupancy, make_top, remove_top),
        cmocka_unit_test_setup_teardown(rows_of_operators_are_found_as_expressions_find_them, make_top, remove_top),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
