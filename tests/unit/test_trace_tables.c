/* Tests the tables of operators, steps, groups and intervals. Oracles: the tables' own figures summed slowly, occupancy
 * of a grid of microseconds, and the known values of made and of real traces. */
#include "made_traces.h"
#include "tree.h"

#include <math.h>

#include <jansson.h>

#include "base/pool.h"
#include "trace/analyse/analysis.h"
#include "trace/tables/files.h"
#include "trace/tables/tables.h"

/* One rank in a run, without the facts of a layout. */
static ek_trace_run run;
static ek_trace_rank *rank;
static ek_trace_source source;
static ek_error last;

static void start_ranks(int n)
{
    run = (ek_trace_run){.n_ranks = n, .worst_rank_by_interval = EK_TRACE_NO_RANK, .worst_over_mean = (double)NAN};
    run.pool = ek__pool_new();
    run.rank = calloc((size_t)n, sizeof *run.rank);
    for (int i = 0; i < n; i++)
        run.rank[i] = (ek_trace_rank){.rank = EK_TRACE_NO_RANK, .stage = -1, .device_id = -1, .pool = ek__pool_new()};
    rank = run.rank;
}

static void end_ranks(void)
{
    for (int i = 0; i < run.n_ranks; i++)
        ek__pool_free(run.rank[i].pool);
    ek__pool_free(run.pool);
    free(run.rank);
}

static ek_status read_path(ek__table_reader *reader, const char *path)
{
    source = (ek_trace_source){.path = path, .type = "a table", .problem_offset = EK_TRACE_UNKNOWN};
    last = (ek_error){0};
    ek__table_in in = {.path = path, .source = &source, .rank = rank, .run = &run};
    return reader(&in, &last);
}

static ek_status read_text(ek__table_reader *reader, const char *text)
{
    put("table", text);
    return read_path(reader, below("table"));
}

static int make_rank(void **state)
{
    start_ranks(1);
    return make_top(state);
}

static int end_rank(void **state)
{
    end_ranks();
    return remove_top(state);
}

/* ---- the profiler ---- */

static void reads_the_rank_of_profiler_info(void **state)
{
    (void)state;
    assert_int_equal(
        read_text(ek__table_profiler_info, "\xef\xbb\xbf{\"rank_id\": \"7\", \"torch_npu_version\": \"2\"}"), EK_OK);
    assert_int_equal(rank->rank, 7);
    assert_int_equal(rank->producer, EK_PRODUCER_TORCH_NPU);
    assert_int_equal(
        read_text(ek__table_profiler_info, "{\"rank_id\": 3, \"rank_size\": 2, \"context_mode\": \"graph\"}"), EK_OK);
    assert_int_equal(rank->rank, 7); /* known values stay */
    assert_int_equal(rank->world_size, 2);
    assert_int_equal(rank->producer, EK_PRODUCER_MINDSPORE);
    rank->rank = EK_TRACE_NO_RANK;
    assert_int_equal(read_text(ek__table_profiler_info, "{\"rank_id\": -1}"), EK_OK);
    assert_int_equal(rank->rank, EK_TRACE_NO_RANK);
}

static void says_where_json_is_wrong(void **state)
{
    (void)state;
    assert_int_equal(read_text(ek__table_profiler_info, "{\n\"rank_id\": }"), EK_ERR_INPUT);
    assert_int_equal(last.line, 2);
    assert_non_null(strstr(last.message, "is no JSON"));
    assert_int_equal(read_text(ek__table_profiler_metadata, "[1]"), EK_ERR_INPUT);
    assert_non_null(strstr(last.message, "no JSON object"));
    assert_int_equal(read_path(ek__table_communication_group, below("nowhere")), EK_ERR_SYSTEM);
}

/* ---- topology ---- */

static const char *groups(void)
{
    static char text[4096];
    size_t n = 0;
    text[0] = '\0';
    for (int i = 0; i < run.topology.n_groups; i++) {
        const ek_trace_group *g = &run.topology.group[i];
        n += (size_t)snprintf(text + n, sizeof text - n, "%s(%s):", g->name, g->key);
        for (int k = 0; k < g->n_ranks; k++)
            n += (size_t)snprintf(text + n, sizeof text - n, " %d", g->rank[k]);
        n += (size_t)snprintf(text + n, sizeof text - n, "; ");
    }
    return text;
}

/* Four ranks, two stages, as each would write it. */
static void read_metadata_of(int r)
{
    char text[2048];
    int stage = r / 2, lane = r % 2;
    snprintf(text, sizeof text,
             "{\"distributed_args\": {\"tensor_model_parallel_size\": 2, \"pipeline_model_parallel_size\": 2, "
             "\"data_parallel_size\": 1, \"context_parallel_size\": 1, \"expert_model_parallel_size\": 1, "
             "\"sequence_parallel\": true, \"rank\": %d, \"world_size\": 4}, \"parallel_group_info\": {"
             "\"group_name_%d\": {\"group_name\": \"tp\", \"group_rank\": %d, \"global_ranks\": [%d, %d]}, "
             "\"group_name_5\": {\"group_name\": \"mp\", \"group_rank\": 0, \"global_ranks\": [0, 1, 2, 3]}, "
             "\"group_name_3\": {\"group_name\": \"mp\", \"group_rank\": 0, \"global_ranks\": [0, 1, 2, 3]}, "
             "\"ip%%eth_60%d\": {\"group_name\": \"pp\", \"group_rank\": %d, \"global_ranks\": [%d, %d]}}}",
             r, 9 - r, lane, 2 * stage, 2 * stage + 1, r, stage, lane, lane + 2);
    rank = &run.rank[r];
    assert_int_equal(read_text(ek__table_profiler_metadata, text), EK_OK);
    assert_int_equal(source.items, 4);
    assert_int_equal(rank->stage, stage);
    assert_int_equal(rank->rank, r);
    assert_int_equal(rank->world_size, 4);
}

static void lists_every_group_once_whoever_comes_first(void **state)
{
    (void)state;
    static const int orders[][4] = {{0, 1, 2, 3}, {3, 2, 1, 0}, {2, 0, 3, 1}};
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
        end_ranks();
        start_ranks(4);
        for (int k = 0; k < 4; k++)
            read_metadata_of(orders[i][k]);
        assert_string_equal(groups(), "mp(group_name_3): 0 1 2 3; mp(group_name_5): 0 1 2 3; "
                                      "pp(ip%eth_600): 0 2; pp(ip%eth_601): 1 3; "
                                      "tp(group_name_8): 0 1; tp(group_name_6): 2 3; ");
        const ek_trace_topology *t = &run.topology;
        assert_true(t->known && t->sequence_parallel);
        assert_int_equal(t->tensor, 2);
        assert_int_equal(t->pipeline, 2);
        assert_int_equal(t->data, 1);
        assert_int_equal(t->world_size, 4);
    }
}

static void knows_no_topology_of_plain_data_parallel_runs(void **state)
{
    (void)state;
    assert_int_equal(read_text(ek__table_profiler_metadata, "{\"ENV_VARIABLES\": {}}"), EK_OK);
    assert_false(run.topology.known);
    assert_int_equal(rank->stage, -1);
}

static void names_ranks_that_are_none(void **state)
{
    (void)state;
    assert_int_equal(
        read_text(ek__table_profiler_metadata,
                  "{\"parallel_group_info\": {\"a\": {\"group_name\": \"pp\", \"global_ranks\": [4, -1, 6, "
                  "\"x\"]}, \"b\": 3}}"),
        EK_OK);
    assert_string_equal(groups(), "(b):; pp(a): 4 6; ");
    assert_non_null(strstr(source.problem, "2 entries"));
}

static void reads_communication_groups(void **state)
{
    (void)state;
    assert_int_equal(
        read_text(ek__table_communication_group,
                  "{\"collective\": [[3, 1, 2, 0], [0, 1], [1, 0]], \"p2p\": [[0, 2], []], "
                  "\"comm_group_parallel_info\": [{\"type\": "
                  "\"collective\", \"rank_set\": [0, 1], \"group_name\": \"123\", \"group_id\": \"g%0\", \"pg_name\": "
                  "\"tp\"}]}"),
        EK_OK);
    assert_string_equal(groups(),
                        "collective(): 0 1; collective(): 0 1; collective(): 0 1 2 3; p2p(): 0 2; tp(g%0): 0 1; ");
    assert_int_equal(source.items, 5);
}

/* ---- operators ---- */

static const ek_trace_operator *find_op(const char *name, const char *core)
{
    for (int i = 0; i < rank->operators.n; i++)
        if (strcmp(rank->operators.op[i].name, name) == 0 && strcmp(rank->operators.op[i].core, core) == 0)
            return &rank->operators.op[i];
    return NULL;
}

static void sums_operators_by_type_and_core(void **state)
{
    (void)state;
    assert_int_equal(read_text(ek__table_kernel_details,
                               "Device_id,Step ID,Type,Name,Start Time(us),Accelerator Core,Duration(us),Wait Time(us),"
                               "Block Num,Input Shapes\r\n"
                               "3,5,MatMulV2,mm/0,100.5\t,AI_CORE,10.001,1,8,\"\"\"4,4;4,4\"\"\"\r\n"
                               "3,5,MatMulV2,mm/1,\"120.5\t\",AI_CORE,20,0.5,8,\"\"\"4,4;4,4\"\"\"\r\n"
                               "3,5,MatMulV2,mm/2,150,MIX_AIC,5,N/A,8,\r\n"
                               "3,5,Add,add,160,AI_VECTOR_CORE,5,2,8,N/A\r\n"
                               "3,5,hcom_allReduce_,hcom,170,COMMUNICATION,1000,0,0,N/A\r\n"
                               "3,5,Cast,cast,N/A,AI_VECTOR_CORE,x,2,8,N/A\r\n"),
                     EK_OK);
    const ek_trace_operators *ops = &rank->operators;
    assert_string_equal(ops->source, "kernel_details");
    assert_int_equal(ops->n_rows, 6);
    assert_int_equal(ops->n_executions, 4);
    assert_int_equal(ops->total, 40001);
    assert_int_equal(ops->n, 3);
    const ek_trace_operator *mm = find_op("MatMulV2", "AI_CORE");
    assert_ptr_equal(mm, &ops->op[0]);
    assert_int_equal(mm->count, 2);
    assert_int_equal(mm->total, 30001);
    assert_int_equal(mm->min, 10001);
    assert_int_equal(mm->max, 20000);
    assert_int_equal(mm->wait, 1500);
    assert_true(fabs(mm->average - 15000.5) < 1e-9);
    assert_true(fabs(mm->ratio - 100 * 30001 / 40001.0) < 1e-9);
    assert_string_equal(mm->family, "matmul");
    assert_true(find_op("MatMulV2", "MIX_AIC")->wait == EK_TRACE_UNKNOWN);
    /* Equal totals by name. */
    assert_string_equal(ops->op[1].name, "Add");
    assert_string_equal(ops->op[1].family, "vector");
    assert_true(fabs(ops->share_matmul - 35001 / 40001.0) < 1e-12);
    assert_true(fabs(ops->share_vector - 5000 / 40001.0) < 1e-12);
    assert_int_equal(ops->n_cores, 4);
    assert_string_equal(ops->core[2].name, "COMMUNICATION");
    assert_int_equal(ops->core[2].total, 1000000);
    assert_string_equal(ops->type[0].name, "hcom_allReduce_");
    assert_string_equal(ops->type[1].name, "MatMulV2");
    assert_int_equal(ops->type[1].count, 3);
    assert_non_null(strstr(source.problem, "1 row left out: line 7: the duration \"x\" is no time"));
}

static void reads_op_summary_as_the_same_table(void **state)
{
    (void)state;
    assert_int_equal(
        read_text(ek__table_op_summary,
                  "Device_id,Op Name,OP Type,Task Type,Task Start Time(us),Task Duration(us),Task Wait Time(us)\n"
                  "0,a,Add,AI_VECTOR_CORE,1,2,3\n0,hcom_x,N/A,HCCL,4,8,0\n"),
        EK_OK);
    assert_string_equal(rank->operators.source, "op_summary");
    assert_int_equal(rank->operators.op[0].wait, 3000);
    assert_int_equal(rank->n_steps, 1);
    assert_string_equal(rank->step[0].name, "");
    assert_int_equal(rank->step[0].own.computing, 2000);
    assert_int_equal(rank->step[0].own.communication_not_overlapped, 8000);
    assert_int_equal(rank->step[0].own.free, 1000);
    /* A second table of executions would count everything twice. */
    assert_int_equal(read_text(ek__table_kernel_details, "Name,Duration(us)\nb,1\n"), EK_OK);
    assert_int_equal(rank->operators.n_rows, 2);
    assert_string_equal(source.problem, "the operators of op_summary are used");
}

static void takes_the_family_from_the_name_without_a_type(void **state)
{
    (void)state;
    assert_int_equal(read_text(ek__table_kernel_details,
                               "Name,Type,Accelerator Core,Duration(us)\nMatMulV2_1,N/A,N/A,3\nRelu_1,N/A,N/A,1\n"
                               "hcom_allReduce__1,N/A,N/A,50\nFlashAttentionScore,N/A,N/A,4\n"),
                     EK_OK);
    assert_int_equal(rank->operators.n, 1);
    assert_string_equal(rank->operators.op[0].name, "N/A");
    assert_int_equal(rank->operators.op[0].count, 3);
    assert_true(fabs(rank->operators.share_matmul - 3 / 8.0) < 1e-12);
    assert_true(fabs(rank->operators.share_attention - 4 / 8.0) < 1e-12);
    assert_int_equal(rank->operators.type[0].count, 4);
    assert_int_equal(rank->n_steps, 0); /* no starts, no step */
}

static void names_executions_far_slower_than_their_like(void **state)
{
    (void)state;
    assert_int_equal(read_text(ek__table_kernel_details,
                               "Name,Type,Accelerator Core,Duration(us),Start Time(us),Input Shapes\n"
                               "a,MatMul,AI_CORE,10,1,\"4,4\"\na,MatMul,AI_CORE,11,2,\"4,4\"\n"
                               "b,MatMul,AI_CORE,12,3,\"4,4\"\nc,MatMul,AI_CORE,90,4,\"4,4\"\n"
                               "d,MatMul,AI_CORE,10,5,\"4,4\"\ne,MatMul,AI_CORE,5000,6,\"9,9\"\n"
                               "f,Add,AI_VECTOR_CORE,1,7,\"4\"\nf,Add,AI_VECTOR_CORE,1,8,\"4\"\n"
                               "f,Add,AI_VECTOR_CORE,1,9,\"4\"\nf,Add,AI_VECTOR_CORE,1,9,\"4\"\n"
                               "f,Add,AI_VECTOR_CORE,19,9,\"4\"\n"),
                     EK_OK);
    assert_int_equal(rank->operators.n_outliers, 1);
    const ek_trace_outlier *slow = &rank->operators.outlier[0];
    assert_string_equal(slow->name, "c");
    assert_string_equal(slow->type, "MatMul");
    assert_string_equal(slow->core, "AI_CORE");
    assert_string_equal(slow->shape, "4,4");
    assert_int_equal(slow->start, 4000);
    assert_int_equal(slow->duration, 90000);
    assert_int_equal(slow->expected, 11000);
    assert_int_equal(slow->n_kind, 5);
}

/* Without shapes an operator is compared with itself in other steps only: the second "x" is always long. */
static void compares_operators_without_shapes_over_steps(void **state)
{
    (void)state;
    char text[2048];
    size_t n = (size_t)snprintf(text, sizeof text, "Step Id,Name,Type,Accelerator Core,Start Time(us),Duration(us)\n");
    for (int step = 0; step < 5; step++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%d,x,N/A,N/A,%d,1\n%d,x,N/A,N/A,%d,%d\n%d,x,N/A,N/A,%d,1\n",
                              step, 1000 * step, step, 1000 * step + 5, step == 3 ? 900 : 200, step, 1000 * step + 950);
    assert_int_equal(read_text(ek__table_kernel_details, text), EK_OK);
    assert_int_equal(rank->operators.n_outliers, 1);
    assert_int_equal(rank->operators.outlier[0].start, 3005000);
    assert_int_equal(rank->operators.outlier[0].expected, 200000);
}

static uint64_t random_state;

static unsigned roll(unsigned n)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(random_state >> 33) % n;
}

/* Steps of rows on a grid of microseconds, in any order: each microsecond is of computing, communication, both, none.
 */
static void breaks_steps_down_as_a_grid_does(void **state)
{
    (void)state;
    enum { STEPS = 3, GRID = 4000, ROWS = 300 };
    static bool busy[STEPS][2][GRID];
    static char text[1 << 16];
    for (unsigned round = 1; round <= 30; round++) {
        int64_t first[STEPS], end[STEPS] = {0};
        size_t n = (size_t)snprintf(text, sizeof text, "Step Id,Name,Accelerator Core,Start Time(us),Duration(us)\n");
        random_state = round;
        memset(busy, 0, sizeof busy);
        for (int s = 0; s < STEPS; s++)
            first[s] = GRID;
        for (int i = 0; i < ROWS; i++) {
            int s = (int)roll(STEPS), kind = (int)roll(2), start = s * 1000 + (int)roll(900), length = (int)roll(40);
            n += (size_t)snprintf(text + n, sizeof text - n, "%d,op,%s,%d,%d\n", 7 + s, kind ? "HCCL" : "AI_CORE",
                                  start, length);
            for (int t = start; t < start + length; t++)
                busy[s][kind][t] = true;
            first[s] = start < first[s] ? start : first[s];
            end[s] = start + length > end[s] ? start + length : end[s];
        }
        end_ranks();
        start_ranks(1);
        assert_int_equal(read_text(ek__table_kernel_details, text), EK_OK);
        assert_int_equal(rank->n_steps, STEPS);
        for (int s = 0; s < STEPS; s++) {
            const ek_trace_step *step = &rank->step[s];
            int64_t computing = 0, communication = 0, both = 0;
            for (int t = 0; t < GRID; t++) {
                computing += busy[s][0][t];
                communication += busy[s][1][t];
                both += busy[s][0][t] && busy[s][1][t];
            }
            assert_int_equal(atoi(step->name), 7 + s);
            assert_true(step->from_table);
            assert_string_equal(step->source, "kernel_details");
            assert_int_equal(step->own.computing, 1000 * computing);
            assert_int_equal(step->own.communication, 1000 * communication);
            assert_int_equal(step->own.overlapped, 1000 * both);
            assert_int_equal(step->own.communication_not_overlapped, 1000 * (communication - both));
            assert_int_equal(step->own.total, 1000 * (end[s] - first[s]));
            assert_int_equal(step->own.free, step->own.total - 1000 * (computing + communication - both));
            assert_int_equal(step->start, 1000 * first[s]);
            assert_int_equal(step->end, 1000 * end[s]);
            assert_true(step->stage == EK_TRACE_UNKNOWN && step->raw.computing == EK_TRACE_UNKNOWN);
        }
    }
}

static void counts_rows_outside_every_step(void **state)
{
    (void)state;
    assert_int_equal(read_text(ek__table_kernel_details, "Step Id,Name,Accelerator Core,Start Time(us),Duration(us)\n"
                                                         ",a,AI_CORE,1,1\n4,a,AI_CORE,5,2\n,a,AI_CORE,9,1\n"),
                     EK_OK);
    assert_int_equal(rank->n_steps, 1);
    assert_string_equal(rank->step[0].name, "4");
    assert_int_equal(rank->step[0].own.computing, 2000);
    assert_int_equal(rank->n_outside_steps, 2);
}

static void steps_beyond_the_limit_are_told_of(void **state)
{
    (void)state;
    enum { N = EK__MAX_TABLE_STEPS + 1, ROW = 32 };
    char *text = malloc(64 + (size_t)N * ROW), *at = text;
    assert_non_null(text);
    at += sprintf(at, "Step Id,Name,Start Time(us),Duration(us)\n");
    for (int i = 0; i < N; i++)
        at += sprintf(at, "%d,a,%d,1\n", i, 10 * i);
    assert_int_equal(read_text(ek__table_kernel_details, text), EK_OK);
    free(text);
    assert_int_equal(rank->n_steps, EK__MAX_TABLE_STEPS);
    assert_int_equal(rank->n_notes, 1);
    assert_string_equal(rank->note[0], "kernel_details has 10001 steps: those beyond 10000 are left out");
}

static void pipelines_tell_stages_by_the_names_of_files(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int stage;
    } cases[] = {{"ascend_cluster_analyse_pipeline-parallel_2_4_1.csv", 0},
                 {"ascend_cluster_analyse_pipeline-parallel_2_4_2.csv", 1},
                 {"ascend_cluster_analyse_pipeline-parallel_2_4_4.csv", -1},
                 {"ascend_cluster_analyse_pipeline-parallel_3_4_2.csv", -1},
                 {"ascend_cluster_analyse_data-parallel_1_1_0.csv", -1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rank->stage = -1;
        put(cases[i].name, "computation_time,communication_alone_time\n1,2\n");
        assert_int_equal(read_path(ek__table_cluster_analyse, below(cases[i].name)), EK_OK);
        assert_int_equal(rank->stage, cases[i].stage);
    }
}

static void keeps_op_statistic_as_printed(void **state)
{
    (void)state;
    static const char text[] =
        "Device_id,OP Type,Core Type,Count,Total Time(us),Min Time(us),Avg Time(us),Max Time(us),"
        "Ratio(%)\n0,Add,AI_VECTOR_CORE,2,3.5,1,1.75,2.5,35\n0,MatMul,AI_CORE,1,6.5,6.5,6.5,6.5,65\n"
        "0,Bad,AI_CORE,x,6.5,6.5,6.5,6.5,65\n";
    assert_int_equal(read_text(ek__table_op_statistic, text), EK_OK);
    const ek_trace_operators *ops = &rank->operators;
    assert_int_equal(ops->n_table, 2);
    assert_string_equal(ops->table[0].name, "Add");
    assert_int_equal(ops->table[0].total, 3500);
    assert_true(ops->table[0].average == 1750 && ops->table[0].ratio == 35);
    assert_int_equal(source.items, 3);
    assert_non_null(strstr(source.problem, "line 4"));
    /* By itself it replaces the operators. */
    assert_string_equal(ops->source, "op_statistic");
    assert_int_equal(ops->n, 2);
    assert_string_equal(ops->op[0].name, "MatMul");
    assert_int_equal(ops->n_executions, 3);
    assert_true(fabs(ops->share_matmul - 0.65) < 1e-12);
    end_ranks();
    start_ranks(1);
    assert_int_equal(read_text(ek__table_kernel_details, "Name,Type,Accelerator Core,Duration(us)\na,A,B,1\n"), EK_OK);
    assert_int_equal(read_text(ek__table_op_statistic, text), EK_OK);
    assert_string_equal(rank->operators.source, "kernel_details");
    assert_int_equal(rank->operators.n, 1);
    assert_int_equal(rank->operators.n_table, 2);
}

/* ---- steps ---- */

static void reads_both_generations_of_step_trace_time(void **state)
{
    (void)state;
    assert_int_equal(
        read_text(ek__table_step_trace_time,
                  "Step,Computing,Communication(Not Overlapped),Overlapped,Communication,Free,Stage,Bubble,"
                  "Communication(Not Overlapped and Exclude Receive)\r\n7,10.5,4,1.25,5.25,2,16,0.5,3.5\r\n"
                  "8,11,4,1,5,2,17,0,4\r\n8,1,1,1,1,1,1,1,1\r\n9,?,1,1,1,1,1,1,1\r\n"),
        EK_OK);
    assert_int_equal(rank->n_steps, 2);
    const ek_trace_step *step = &rank->step[0];
    assert_string_equal(step->name, "7");
    assert_true(step->from_table);
    assert_string_equal(step->source, "step_trace_time");
    assert_null(step->producer_definition);
    assert_int_equal(step->own.computing, 10500);
    assert_int_equal(step->own.communication, 5250);
    assert_int_equal(step->own.communication_not_overlapped, 4000);
    assert_int_equal(step->own.overlapped, 1250);
    assert_int_equal(step->own.free, 2000);
    assert_int_equal(step->own.total, 16500);
    assert_int_equal(step->table_stage, 16000);
    assert_int_equal(step->bubble, 500);
    assert_int_equal(step->exclude_receive, 3500);
    assert_true(step->table_preparing == EK_TRACE_UNKNOWN && step->host_step == EK_TRACE_UNKNOWN);
    assert_non_null(strstr(source.problem, "2 rows left out; the first: line 4: step \"8\" is repeated"));
    assert_int_equal(rank->device_id, -1);

    end_ranks();
    start_ranks(1);
    put("x_ascend_ms/step_trace_time.csv",
        "Device_id,Step,Computing,Communication(Not Overlapped),Overlapped,Communication,Free,Stage,Bubble,"
        "Communication(Not Overlapped and Exclude Receive),Preparing\n5,0,1,2,3,4,5,6,7,8,9\n6,0,1,2,3,4,5,6,7,8,9\n");
    assert_int_equal(read_path(ek__table_step_trace_time, below("x_ascend_ms/step_trace_time.csv")), EK_OK);
    assert_int_equal(rank->n_steps, 1);
    assert_int_equal(rank->step[0].table_preparing, 9000);
    assert_string_equal(rank->step[0].producer_definition, "mindspore");
    assert_int_equal(rank->device_id, 5);
    assert_non_null(strstr(source.problem, "of device 6"));
}

static void lets_the_whole_breakdown_go_before_the_kernels(void **state)
{
    (void)state;
    static const char kernels[] = "Name,Accelerator Core,Start Time(us),Duration(us)\na,AI_CORE,1,2\n";
    static const char steps[] = "Step,Computing,Communication(Not Overlapped),Free\n%s,5,1,1\n";
    static const char *const names[] = {"", "0", "12"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char text[128];
        snprintf(text, sizeof text, steps, names[i]);
        end_ranks();
        start_ranks(1);
        rank->producer = EK_PRODUCER_TORCH_NPU;
        assert_int_equal(read_text(ek__table_kernel_details, kernels), EK_OK);
        assert_int_equal(read_text(ek__table_step_trace_time, text), EK_OK);
        assert_int_equal(rank->n_steps, 1);
        assert_string_equal(rank->step[0].name, strcmp(names[i], "12") == 0 ? "12" : "");
        assert_string_equal(rank->step[0].source, "step_trace_time");
        assert_string_equal(rank->step[0].producer_definition, "torch_npu");
        assert_int_equal(rank->step[0].own.computing, 5000);
        assert_int_equal(rank->step[0].own.n_events, 1);
        assert_int_equal(rank->step[0].start, 1000);
    }
}

static void keeps_cluster_rows_as_printed(void **state)
{
    (void)state;
    assert_int_equal(
        read_text(ek__table_cluster_step_trace_time,
                  "Step,Type,Index,Computing,Communication(Not Overlapped),Overlapped,Communication,Free,Stage,Bubble,"
                  "Communication(Not Overlapped and Exclude Receive),Preparing\n"
                  "1,rank,4,239.638,109.202,14.532,124.734,297.055,647429.75,0.0,109.202,10671.0\n"
                  ",stage,\"(4, 5)\",1,2,3,4,5,6,7,8,\n1,rank,x,y,1,1,1,1,1,1,1,1\n"),
        EK_OK);
    assert_int_equal(run.n_cluster_rows, 2);
    assert_string_equal(run.cluster_row[0].type, "rank");
    assert_string_equal(run.cluster_row[0].index, "4");
    assert_int_equal(run.cluster_row[0].computing, 239638);
    assert_int_equal(run.cluster_row[0].stage, 647429750);
    assert_int_equal(run.cluster_row[0].preparing, 10671000);
    assert_string_equal(run.cluster_row[1].step, "");
    assert_string_equal(run.cluster_row[1].index, "(4, 5)");
    assert_int_equal(run.cluster_row[1].free, 5000);
    assert_true(run.cluster_row[1].preparing == EK_TRACE_UNKNOWN);
    assert_non_null(strstr(source.problem, "Computing '"));
}

static void matches_step_traces_with_cluster_tables(void **state)
{
    (void)state;
    assert_int_equal(
        read_text(ek__table_step_trace_raw,
                  "step_num,start_point,end_point,total,fp_point,bp_point,iteration_interval,fp_and_bp,tail,"
                  "stream_1_0_Receive-op1\n3,100,200,100,100,180,0,80,20,5\n4,300,420,220,300,400,100,100,20,5\n"
                  "-,200,310,160,200,290,90,90,20,5\n"),
        EK_OK);
    assert_int_equal(
        read_text(ek__table_cluster_analyse,
                  "computation_time,communication_alone_time,stage_time,receive_alone_time,"
                  "collective_communication_alone_time\n1,2,3,4,5\n1.5,2,3,4,5\n14.6986,2.5,3.5,4.5,5.5\n"),
        EK_OK);
    assert_int_equal(rank->n_steps, 3);
    assert_string_equal(rank->step[1].name, "4");
    assert_int_equal(rank->step[1].iteration_interval, 1000);
    assert_int_equal(rank->step[1].own.computing, 1500000);
    assert_false(rank->step[1].average);
    const ek_trace_step *step = &rank->step[2];
    assert_string_equal(step->name, "-");
    assert_true(step->average && step->warm_up);
    assert_int_equal(step->iteration_interval, 900);
    assert_int_equal(step->fp_and_bp, 900);
    assert_int_equal(step->tail, 200);
    assert_int_equal(step->own.total, 1600);
    assert_int_equal(step->own.computing, 14698600);
    assert_int_equal(step->communication_alone, 2500000);
    assert_int_equal(step->stage, 3500000);
    assert_int_equal(step->receive_alone, 4500000);
    assert_int_equal(step->collective_alone, 5500000);
    /* By itself, the last row is the average. */
    end_ranks();
    start_ranks(1);
    assert_int_equal(read_text(ek__table_cluster_analyse, "computation,communication_alone_time\n1,2\n3,4\n"), EK_OK);
    assert_string_equal(rank->step[0].name, "1");
    assert_string_equal(rank->step[1].name, "-");
    assert_true(rank->step[1].average);
    assert_int_equal(rank->step[1].own.computing, 3000000);
}

static void finds_the_rank_with_the_longest_interval(void **state)
{
    (void)state;
    static const char *const rows[] = {"1,0\n2,100\n3,200\n", "1,0\n-,300\n", "1,9000\n-,150\n", ""};
    end_ranks();
    start_ranks(4);
    for (int i = 0; i < 4; i++) {
        char text[128];
        snprintf(text, sizeof text, "step_num,iteration_interval\n%s", rows[i]);
        rank = &run.rank[i];
        rank->rank = 10 + i;
        assert_int_equal(read_text(ek__table_step_trace_raw, text), EK_OK);
    }
    assert_int_equal(ek__compare_intervals(NULL, &run, NULL), EK_OK);
    assert_int_equal(run.worst_rank_by_interval, 11);
    assert_true(fabs(run.worst_over_mean - (300 / 200.0 - 1)) < 1e-12);
    run.worst_rank_by_interval = EK_TRACE_NO_RANK;
    run.n_ranks = 1;
    assert_int_equal(ek__compare_intervals(NULL, &run, NULL), EK_OK);
    assert_int_equal(run.worst_rank_by_interval, EK_TRACE_NO_RANK);
    run.n_ranks = 4;
}

/* ---- other tables ---- */

static void names_the_column_that_is_missing(void **state)
{
    (void)state;
    static ek__table_reader *const readers[] = {
        ek__table_kernel_details,
        ek__table_op_summary,
        ek__table_op_statistic,
        ek__table_step_trace_time,
        ek__table_cluster_step_trace_time,
        ek__table_step_trace_raw,
        ek__table_cluster_analyse,
    };
    for (size_t i = 0; i < sizeof readers / sizeof *readers; i++) {
        assert_int_equal(read_text(readers[i], "a,b\n1,2\n"), EK_ERR_INPUT);
        assert_int_equal(last.line, 1);
        assert_non_null(strstr(last.message, "has no column \""));
        assert_int_equal(read_text(readers[i], ""), EK_ERR_INPUT);
        assert_int_equal(read_path(readers[i], below("nowhere")), EK_ERR_SYSTEM);
    }
    assert_int_equal(rank->n_steps, 0);
}

static void keeps_the_rows_before_a_break(void **state)
{
    (void)state;
    assert_int_equal(read_text(ek__table_kernel_details,
                               "Name,Accelerator Core,Start Time(us),Duration(us)\na,AI_CORE,1,2\nb,AI_CORE,\"3,4\n"),
                     EK_OK);
    assert_int_equal(rank->operators.n_executions, 1);
    assert_non_null(strstr(source.problem, "line 3: the quote that opens here never closes"));
}

static void stands_huge_numbers(void **state)
{
    (void)state;
    assert_int_equal(read_text(ek__table_kernel_details,
                               "Step Id,Name,Type,Accelerator Core,Start Time(us),Duration(us),Wait Time(us)\n"
                               "1,a,A,X,9223372036854775,9223372036854775,9223372036854775\n"
                               "1,a,A,X,-9223372036854775,9223372036854775,9223372036854775\n"
                               "1,a,A,X,1,9223372036854775,9223372036854775\n1,a,A,X,5,1,1\n"),
                     EK_OK);
    assert_int_equal(rank->operators.op[0].total, INT64_MAX);
    assert_int_equal(rank->step[0].own.computing, 1000);
    assert_int_equal(read_text(ek__table_step_trace_raw, "step_num,iteration_interval\n1,9223372036854775807\n2,5\n"),
                     EK_OK);
    assert_int_equal(rank->step[rank->n_steps - 1].iteration_interval, 50);
    assert_int_equal(read_text(ek__table_cluster_analyse, "computation_time\n1e300\n"), EK_OK);
    assert_int_equal(
        read_text(ek__table_step_trace_time, "Step,Computing,Communication(Not Overlapped),Free\n9,9e15,9e15,9e15\n"),
        EK_OK);
}

/* ---- the reference traces ---- */

static const char *reference; /* that is gone through */

static const char *in_reference(const char *name)
{
    static char path[4][8192];
    static int next;
    next = (next + 1) % 4;
    snprintf(path[next], sizeof path[0], "%s/%s", reference, name);
    return path[next];
}

/* Give the cases of every reference to `check`, which returns how many it used. */
static void go_through(int (*check)(const json_t *cases), const int least[MAX_TRACE_REFERENCES])
{
    const char *folder[MAX_TRACE_REFERENCES];
    int n_references = trace_references(folder);
    for (int r = 0; r < n_references; r++) {
        reference = folder[r];
        json_t *root = json_load_file(in_reference("expected.json"), 0, NULL);
        assert_non_null(root);
        assert_true(check(json_object_get(root, "cases")) >= least[r]);
        json_decref(root);
    }
}

static bool is_kind(const json_t *test, const char *kind)
{
    return strcmp(json_string_value(json_object_get(test, "command_kind")), kind) == 0;
}

static const char *file_of(const json_t *test, size_t i)
{
    return json_string_value(json_array_get(json_object_get(test, "files"), i));
}

static void assert_us(const json_t *object, const char *key, double ns, double tolerance)
{
    double want = json_number_value(json_object_get(object, key));
    if (!(fabs(ns / 1000 - want) <= tolerance))
        fail_msg("%s: %.6f, not %.6f", key, ns / 1000, want);
}

static void compare_totals(const json_t *want)
{
    const char *core;
    json_t *value;
    const ek_trace_operators *ops = &rank->operators;
    assert_int_equal(ops->n_rows, json_integer_value(json_object_get(want, "rows")));
    assert_int_equal(ops->n_cores, json_object_size(json_object_get(want, "by_core")));
    json_object_foreach(json_object_get(want, "by_core"), core, value)
    {
        int at = 0;
        while (at < ops->n_cores && strcmp(ops->core[at].name, core) != 0)
            at++;
        assert_true(at < ops->n_cores);
        assert_int_equal(ops->core[at].count, json_integer_value(json_object_get(value, "count")));
        assert_us(value, "total_us", (double)ops->core[at].total, 0.01);
    }
    const json_t *types = json_object_get(want, "top_types");
    for (size_t i = 0; i < json_array_size(types); i++) {
        const json_t *type = json_array_get(types, i);
        assert_true((int)i < ops->n_types);
        assert_string_equal(ops->type[i].name, json_string_value(json_object_get(type, "type")));
        assert_int_equal(ops->type[i].count, json_integer_value(json_object_get(type, "count")));
        assert_us(type, "total_us", (double)ops->type[i].total, 0.01);
    }
}

static void compare_top(const json_t *want, const ek_trace_operator *op, int n)
{
    const json_t *top_ops = json_object_get(want, "top");
    assert_int_equal(n, json_integer_value(json_object_get(want, "rows")));
    for (size_t i = 0; i < json_array_size(top_ops); i++) {
        const json_t *w = json_array_get(top_ops, i);
        assert_string_equal(op[i].name, json_string_value(json_object_get(w, "type")));
        assert_string_equal(op[i].core, json_string_value(json_object_get(w, "core")));
        assert_int_equal(op[i].count, json_integer_value(json_object_get(w, "count")));
        assert_us(w, "total_us", (double)op[i].total, 0.01);
        assert_us(w, "min_us", (double)op[i].min, 0.01);
        assert_us(w, "avg_us", op[i].average, 0.01);
        assert_us(w, "max_us", (double)op[i].max, 0.01);
        assert_true(fabs(op[i].ratio - json_number_value(json_object_get(w, "ratio_pct"))) <= 0.01);
    }
}

static int check_operators(const json_t *cases)
{
    int n = 0;
    for (size_t i = 0; i < json_array_size(cases); i++) {
        const json_t *test = json_array_get(cases, i), *want = json_object_get(test, "expected");
        const char *file = file_of(test, 0);
        bool totals = is_kind(test, "kernel_totals") && strstr(file, ".csv");
        if (!totals && !is_kind(test, "top_operators"))
            continue;
        end_ranks();
        start_ranks(1);
        assert_int_equal(read_path(ek__table_kernel_details, in_reference(file)), EK_OK);
        assert_null(source.problem);
        if (totals) {
            compare_totals(want);
        } else {
            compare_top(want, rank->operators.op, rank->operators.n);
            assert_int_equal(read_path(ek__table_op_statistic, in_reference(file_of(test, 1))), EK_OK);
            compare_top(want, rank->operators.table, rank->operators.n_table);
        }
        n++;
    }
    return n;
}

static void agrees_with_the_reference_on_operators(void **state)
{
    (void)state;
    go_through(check_operators, (const int[]){16, 6});
}

static int check_step_traces(const json_t *cases)
{
    static const struct {
        const char *key;
        size_t offset;
    } fields[] = {
        {"iteration_interval_ms", offsetof(ek_trace_step, iteration_interval)},
        {"fp_and_bp_ms", offsetof(ek_trace_step, fp_and_bp)},
        {"tail_ms", offsetof(ek_trace_step, tail)},
        {"computation_time_ms", offsetof(ek_trace_step, own.computing)},
        {"communication_alone_time_ms", offsetof(ek_trace_step, communication_alone)},
        {"stage_time_ms", offsetof(ek_trace_step, stage)},
        {"receive_alone_time_ms", offsetof(ek_trace_step, receive_alone)},
        {"collective_communication_alone_time_ms", offsetof(ek_trace_step, collective_alone)},
    };
    const json_t *test = NULL;
    for (size_t i = 0; i < json_array_size(cases) && !test; i++)
        if (strstr(file_of(json_array_get(cases, i), 0), "step_trace_raw_"))
            test = json_array_get(cases, i);
    const json_t *want = json_object_get(test, "expected");
    end_ranks();
    start_ranks(4);
    for (int r = 0; r < 4; r++) {
        char key[16];
        snprintf(key, sizeof key, "%d", r);
        const json_t *of_rank = json_object_get(json_object_get(want, "ranks"), key);
        rank = &run.rank[r];
        rank->rank = r;
        assert_int_equal(read_path(ek__table_step_trace_raw, in_reference(file_of(test, (size_t)r))), EK_OK);
        assert_int_equal(read_path(ek__table_cluster_analyse, in_reference(file_of(test, (size_t)r + 4))), EK_OK);
        assert_int_equal(rank->n_steps, 6);
        assert_true(rank->step[5].average);
        for (size_t f = 0; f < sizeof fields / sizeof *fields; f++) {
            int64_t ns;
            memcpy(&ns, (const char *)&rank->step[5] + fields[f].offset, sizeof ns);
            assert_us(of_rank, fields[f].key, (double)ns / 1000, 0.0001);
        }
    }
    assert_int_equal(ek__compare_intervals(NULL, &run, NULL), EK_OK);
    assert_int_equal(run.worst_rank_by_interval,
                     json_integer_value(json_object_get(want, "worst_rank_by_iteration_interval")));
    assert_true(fabs(100 * run.worst_over_mean - json_number_value(json_object_get(want, "worst_over_mean_pct"))) <=
                0.01);
    return 1;
}

static void agrees_with_the_reference_on_step_traces(void **state)
{
    (void)state;
    go_through(check_step_traces, (const int[]){1, 1});
}

/* The printed breakdown beside a trace is that of the trace. */
static int check_step_trace_time(const json_t *cases)
{
    int n = 0;
    for (size_t i = 0; i < json_array_size(cases); i++) {
        const json_t *test = json_array_get(cases, i), *want = json_object_get(test, "expected");
        const char *file = file_of(test, 0), *name = strstr(file, "trace_view.json");
        char beside[1024];
        if (!is_kind(test, "step_breakdown") || !name || !json_object_get(want, "csv_stage"))
            continue;
        snprintf(beside, sizeof beside, "%.*sstep_trace_time.csv", (int)(name - file), file);
        end_ranks();
        start_ranks(1);
        assert_int_equal(read_path(ek__table_step_trace_time, in_reference(beside)), EK_OK);
        const ek_trace_step *step = &rank->step[0];
        assert_string_equal(step->name, json_string_value(json_object_get(want, "step")));
        assert_us(want, "csv_stage", (double)step->table_stage, 1e-9);
        assert_us(want, "csv_preparing", (double)step->table_preparing, 1e-9);
        assert_us(want, "computing", (double)step->own.computing, 0.05);
        assert_us(want, "communication", (double)step->own.communication, 0.05);
        assert_us(want, "free", (double)step->own.free, 0.05);
        assert_string_equal(step->producer_definition, "torch_npu");
        n++;
    }
    return n;
}

static void agrees_with_the_reference_on_step_trace_time(void **state)
{
    (void)state;
    go_through(check_step_trace_time, (const int[]){4, 4});
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_rank, end_rank)
    const struct CMUnitTest tests[] = {
        TEST(reads_the_rank_of_profiler_info),
        TEST(says_where_json_is_wrong),
        TEST(lists_every_group_once_whoever_comes_first),
        TEST(knows_no_topology_of_plain_data_parallel_runs),
        TEST(names_ranks_that_are_none),
        TEST(reads_communication_groups),
        TEST(sums_operators_by_type_and_core),
        TEST(reads_op_summary_as_the_same_table),
        TEST(takes_the_family_from_the_name_without_a_type),
        TEST(names_executions_far_slower_than_their_like),
        TEST(compares_operators_without_shapes_over_steps),
        TEST(breaks_steps_down_as_a_grid_does),
        TEST(counts_rows_outside_every_step),
        TEST(steps_beyond_the_limit_are_told_of),
        TEST(pipelines_tell_stages_by_the_names_of_files),
        TEST(keeps_op_statistic_as_printed),
        TEST(reads_both_generations_of_step_trace_time),
        TEST(lets_the_whole_breakdown_go_before_the_kernels),
        TEST(keeps_cluster_rows_as_printed),
        TEST(matches_step_traces_with_cluster_tables),
        TEST(finds_the_rank_with_the_longest_interval),
        TEST(names_the_column_that_is_missing),
        TEST(keeps_the_rows_before_a_break),
        TEST(stands_huge_numbers),
        TEST(agrees_with_the_reference_on_operators),
        TEST(agrees_with_the_reference_on_step_traces),
        TEST(agrees_with_the_reference_on_step_trace_time),
        cmocka_unit_test(traces_of_others_are_among_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
