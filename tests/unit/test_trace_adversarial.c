/* Tests traces with a misleading obvious cause: a table of small generated runs, each with the findings that must
 * appear and those that must not, through ek_trace_run_read. A row writes its files with the helpers below; times are
 * milliseconds from the begin of the trace, and the expected findings are computed by hand from them.
 *
 * A new case is a function that writes the traces and a row of the table `cases`. */
#include "golden.h"
#include "input.h"
#include "made_traces.h"
#include "skip.h"

#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace/events/links.h"
#include "trace/rank.h"

enum { ROOM = 1 << 18, MAX_SAID = 4 };

/* ---- files ---- */

static char folder[256]; /* of the case at hand */
static char text[ROOM];  /* the file being written */
static size_t length;
static char tables[ROOM / 4]; /* communication.json, beside it */
static size_t tables_length;
static ek_trace_run run;

static void add(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void add(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    length += (size_t)vsnprintf(text + length, sizeof text - length, format, arguments);
    va_end(arguments);
    assert_true(length < sizeof text);
}

/* Folders above it are made. */
static void write_bytes(const char *bytes, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));
static void write_bytes(const char *bytes, size_t size, const char *format, ...)
{
    char path[512];
    va_list arguments;
    int n = snprintf(path, sizeof path, "%s/", folder);
    va_start(arguments, format);
    vsnprintf(path + n, sizeof path - (size_t)n, format, arguments);
    va_end(arguments);
    for (char *at = path + strlen(folder) + 1; (at = strchr(at, '/')); at++) {
        *at = '\0';
        mkdir(path, 0700);
        *at = '/';
    }
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    fclose(file);
}

/* ---- traces of Ascend ---- */

static void begin_ascend(void)
{
    length = 0;
    tables_length = 0;
    add("[{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":3,\"args\":{\"name\":\"Ascend Hardware\"}},"
        "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":4,\"args\":{\"name\":\"HCCL\"}},"
        "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":4,\"tid\":1,\"args\":{\"name\":\"Group 0 Communication\"}},"
        "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":4,\"tid\":2,\"args\":{\"name\":\"Plane 0\"}}");
}

static void add_operator(double start, double ms)
{
    add(",{\"ph\":\"X\",\"name\":\"MatMul%d\",\"pid\":3,\"tid\":2,\"ts\":\"%.3f\",\"dur\":%.3f,\"args\":{\"Task "
        "Type\":\"AI_CORE\"}}",
        (int)length, 1e3 * start, 1e3 * ms);
}

/* A whole collective. `transit` of it goes into communication.json, unless negative. */
static void add_hcom(const char *operation, int index, double start, double ms, double transit)
{
    add(",{\"ph\":\"X\",\"name\":\"hcom_%s__586_%d_1\",\"pid\":4,\"tid\":1,\"ts\":\"%.3f\",\"dur\":%.3f,\"args\":{}}",
        operation, index, 1e3 * start, 1e3 * ms);
    if (transit < 0)
        return;
    tables_length += (size_t)snprintf(
        tables + tables_length, sizeof tables - tables_length,
        "%s\"hcom_%s__586_%d_1@17522688603477080586\":{\"Communication Time Info\":{\"Start Timestamp(us)\":%.1f,"
        "\"Elapse Time(ms)\":%.6f,\"Transit Time(ms)\":%.6f,\"Wait Time(ms)\":%.6f},\"Communication Bandwidth "
        "Info\":{}}",
        tables_length > 0 ? "," : "", operation, index, 1e3 * start, ms, transit, ms - transit);
    assert_true(tables_length < sizeof tables);
}

static void end_ascend(int rank)
{
    static const char before[] = "{\"step\":{\"p2p\":{},\"collective\":{", after[] = "}}}";
    add("]");
    write_bytes(text, length, "rank%d_ascend_pt/ASCEND_PROFILER_OUTPUT/trace_view.json", rank);
    write_bytes("{}", 2, "rank%d_ascend_pt/profiler_info_%d.json", rank, rank);
    if (tables_length == 0)
        return;
    length = 0;
    add("%s%s%s", before, tables, after);
    write_bytes(text, length, "rank%d_ascend_pt/ASCEND_PROFILER_OUTPUT/communication.json", rank);
}

/* ---- the cases ---- */

/* 30 ms of computing, then an all-reduce that waits and at last transfers. */
static void write_reduction(int rank, double computing, double end, double transit)
{
    begin_ascend();
    add_operator(0, computing);
    add_hcom("allReduce", 0, computing, end - computing, transit);
    end_ascend(rank);
}

static void waiting_told_by_table(void)
{
    write_reduction(0, 30, 129.97, 4.04);
}

static void waiting_told_by_ranks(void)
{
    for (int rank = 0; rank < 4; rank++)
        write_reduction(rank, rank == 3 ? 125.93 : 30, 129.97, -1);
}

/* A task of the collective at `start`: a wait for a place in the group, or a copy. */
static void add_task(const char *name, int plane, int place, double start, double ms)
{
    add(",{\"ph\":\"X\",\"name\":\"%s\",\"pid\":4,\"tid\":%d,\"ts\":\"%.3f\",\"dur\":%.3f,\"args\":{\"notify_id\":1,"
        "\"src rank\":0,\"dst rank\":%d,\"task type\":\"%s\"}}",
        name, 2 + plane, 1e3 * start, 1e3 * ms, place, name);
}

/* Three planes: two wait 5 and 95.5 ms, all then move data for 4 ms, one of them 0.47 ms longer. */
static void waiting_told_by_tasks(void)
{
    begin_ascend();
    add_operator(0, 30);
    add_hcom("allReduce", 0, 30, 99.97, -1);
    add_task("Notify_Wait", 0, 1, 30, 5);
    add_task("Notify_Wait", 1, 5, 30, 95.5);
    add_task("Notify_Record", 2, 6, 30, 0.1);
    for (int plane = 0; plane < 3; plane++)
        add_task("Memcpy", plane, 1 + plane, 125.5, plane == 2 ? 4.47 : 4);
    end_ascend(0);
}

static void all_that_are_here_wait(void)
{
    for (int rank = 0; rank < 2; rank++)
        write_reduction(rank, 30 + rank, 129.97, 4.04);
}

static void nothing_tells_waiting(void)
{
    write_reduction(0, 30, 129.97, -1);
}

static void only_transfer(void)
{
    for (int rank = 0; rank < 4; rank++)
        write_reduction(rank, 30, 129.97, -1);
}

/* A kind of collective that waits, and another that transfers less, but all of its time. */
static void waiting_and_transfer(void)
{
    begin_ascend();
    add_operator(0, 30);
    add_hcom("allReduce", 0, 30, 60, 1);
    add_operator(90, 10);
    add_hcom("allGather", 0, 100, 20, 19);
    end_ascend(0);
}

/* ---- traces of Kineto ---- */

static void begin_kineto(int rank)
{
    length = 0;
    add("{");
    if (rank >= 0)
        add("\"distributedInfo\":{\"rank\":%d},", rank);
    add("\"traceEvents\":[{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":0,\"args\":{\"name\":\"python\"}}");
}

/* `arguments`: the content of args, each after a comma. */
static void add_gpu(const char *name, int stream, double start, double ms, const char *arguments)
{
    add(",{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"%s\",\"pid\":0,\"tid\":%d,\"ts\":%.3f,\"dur\":%.3f,\"args\":{"
        "\"stream\":%d%s}}",
        name, stream, 1e3 * start, 1e3 * ms, stream, arguments);
}

static void end_kineto(const char *name)
{
    add("]}");
    write_bytes(text, length, "%s.pt.trace.json", name);
}

/* ---- ranks without numbers, links ---- */

static void unnumbered(void)
{
    static const char *const name[] = {"alpha", "beta", "gamma"};
    for (int i = 0; i < 3; i++) {
        begin_kineto(-1);
        add_gpu("gemm", 7, 0, i == 1 ? 80 : 50, "");
        add_gpu("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", 20, i == 1 ? 80 : 50,
                i == 1 ? 20 : 50, "");
        end_kineto(name[i]);
    }
}

/* Copies within devices, one of which is four times slower; and cables, all alike. */
static void local_links(void)
{
    for (int rank = 0; rank < 3; rank++) {
        write_reduction(rank, 30, 35, 4);
        length = 0;
        add("{\"step\":{\"p2p\":{},\"collective\":{\"allreduce-total@17522688603477080586\":{"
            "\"%d-%d\":{\"Transport Type\":\"LOCAL\",\"Transit Size(MB)\":100,\"Transit Time(ms)\":%g},"
            "\"%d-%d\":{\"Transport Type\":\"HCCS\",\"Transit Size(MB)\":100,\"Transit Time(ms)\":%g}}}}}",
            rank, rank, rank == 2 ? 1.0 : 0.25, rank, (rank + 1) % 3, rank == 2 ? 5.1 : 5.0);
        write_bytes(text, length, "rank%d_ascend_pt/ASCEND_PROFILER_OUTPUT/communication_matrix.json", rank);
    }
}

/* The same of one rank that lists all links, some by place twice and another transport. */
static void local_links_of_one(void)
{
    write_reduction(0, 30, 35, 4);
    length = 0;
    add("{\"step\":{\"p2p\":{},\"collective\":{\"allreduce-total@17522688603477080586\":{"
        "\"0-0\":{\"Transport Type\":\"SDMA\",\"Transit Size(MB)\":100,\"Transit Time(ms)\":20},"
        "\"0-1\":{\"Transport Type\":\"SDMA\",\"Transit Size(MB)\":100,\"Transit Time(ms)\":5},"
        "\"0-2\":{\"Transport Type\":\"SDMA\",\"Transit Size(MB)\":100,\"Transit Time(ms)\":5}}}}}");
    write_bytes(text, length, "rank0_ascend_pt/ASCEND_PROFILER_OUTPUT/communication_matrix.json");
}

static void slow_cable(void)
{
    for (int rank = 0; rank < 3; rank++) {
        write_reduction(rank, 30, 35, 4);
        length = 0;
        add("{\"step\":{\"p2p\":{},\"collective\":{\"allreduce-total@17522688603477080586\":{"
            "\"%d-%d\":{\"Transport Type\":\"HCCS\",\"Transit Size(MB)\":100,\"Transit Time(ms)\":5},"
            "\"%d-%d\":{\"Transport Type\":\"HCCS\",\"Transit Size(MB)\":100,\"Transit Time(ms)\":%d}}}}}",
            rank, (rank + 2) % 3, rank, (rank + 1) % 3, rank == 2 ? 20 : 5);
        write_bytes(text, length, "rank%d_ascend_pt/ASCEND_PROFILER_OUTPUT/communication_matrix.json", rank);
    }
}

/* ---- kernels that communicate without NCCL ---- */

static const char *const communicate[] = {
    "void deep_ep::intranode::dispatch<8, 768, 8192>(int4*, float*, long*)",
    "void deep_ep::internode_ll::combine<false, 7168, 9>(void*, void*)",
    "void ep::internode::notify_dispatch<true, 4>(int const*)",
    "void deep_ep::low_latency::barrier<8>(int*)",
    "void (anonymous namespace)::multimem_all_reduce_kernel<c10::BFloat16, 16>(c10::BFloat16*, unsigned long)",
    "void (anonymous namespace)::multimem_all_gather_kernel<16>(char*)",
    "void vllm::cross_device_reduce_2stage<__nv_bfloat16, 8>(vllm::RankData*)",
    "void nvshmemi_transfer_rma<3>(void*)",
    "void mscclpp::allreduce7<half>(half*)",
    "void flashinfer::trtllm_allreduce_fusion::allreduce_fusion_kernel_oneshot_lamport<1>(Params)",
    "ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
};
static const char *const compute[] = {
    "void at::native::reduce_kernel<512, 1>(at::native::ReduceOp<float>)",
    "void cutlass::device_kernel<flash::enable_sm90>(nvshmem_team_t)",
    "void internodes_of_a_tree<4>(int)",
    "void multimedia_kernel<2>(int)",
};

static void write_kernel(const char *name)
{
    begin_kineto(0);
    add_gpu("gemm", 7, 0, 50, "");
    add_gpu(name, 20, 50, 50, "");
    end_kineto("rank0");
}

/* A kernel outside of the lists with a collective in its name. */
static void fused(void)
{
    write_kernel("void mylib::gemm_all_reduce_sm90<128, 3>(float*)");
}

static void deep_ep(void)
{
    write_kernel("void deep_ep::intranode::dispatch<8, 768, 8192>(int4*, float*, long*)");
}

/* ---- NCCL's SendRecv ---- */

#define SEND_RECEIVE "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)"
#define OF(what)     ",\"Collective name\":\"" what "\""

/* A pipeline of two stages and four micro-batches, all forward passes and then all backward ones: 10 ms forward, 20 ms
 * backward, 1 ms of transfer. Stage 1 waits 10 ms for the first micro-batch and stage 0 for the gradients. */
static void write_stage(int stage, bool told)
{
    const char *of_send = told ? OF("send") : "", *of_receive = told ? OF("recv") : "";
    begin_kineto(stage);
    for (int i = 0; i < 4; i++) {
        const double sent = 10 * (i + 1);
        if (stage == 0) {
            add_gpu("gemm", 7, 10 * i, 10, "");
            add_gpu(SEND_RECEIVE, 20, sent, 1, of_send);
        } else {
            add_gpu(SEND_RECEIVE, 20, i == 0 ? 0.01 : sent, i == 0 ? 10.99 : 1, of_receive);
            add_gpu("gemm", 7, sent + 1, 9, "");
        }
    }
    for (int i = 0; i < 4; i++) {
        const double back = 51 + 21 * (i + 1);
        if (stage == 1) {
            add_gpu("gemm", 7, back - 20, 20, "");
            add_gpu(SEND_RECEIVE, 20, back, 1, of_send);
        } else {
            add_gpu(SEND_RECEIVE, 20, i == 0 ? 41.5 : back, i == 0 ? back + 1 - 41.5 : 1, of_receive);
            add_gpu("gemm", 7, back + 1, 20, "");
        }
    }
    end_kineto(stage == 0 ? "first" : "second");
}

static void pipeline(void)
{
    for (int stage = 0; stage < 2; stage++)
        write_stage(stage, false);
}

static void told_pipeline(void)
{
    for (int stage = 0; stage < 2; stage++)
        write_stage(stage, true);
}

static void last_stage_alone(void)
{
    write_stage(1, false);
}

static void first_stage_alone(void)
{
    write_stage(0, false);
}

/* Four layers with an exchange before and after the experts; rank 2 comes 3 ms later than the others to every second
 * one. Each transfers for 2 ms less the rank's own delay. */
static void write_experts(int rank, int late, const char *arguments, const char *range)
{
    static const char *const name[] = {"rank0", "rank1", "rank2", "rank3"};
    begin_kineto(rank);
    for (int i = 0; i < 8; i++) {
        const double begin = 20 * i, own = 10 + 0.05 * rank + (rank == late && i % 2 == 0 ? 3 : 0),
                     end = begin + (i % 2 ? 12 : 15);
        add_gpu("gemm", 7, begin, own, "");
        add_gpu(SEND_RECEIVE, 20, begin + own, end - begin - own, arguments);
        if (range)
            add(",{\"ph\":\"X\",\"cat\":\"gpu_user_annotation\",\"name\":\"%s\",\"pid\":0,\"tid\":20,\"ts\":%.3f,"
                "\"dur\":%.3f,\"args\":{}}",
                range, 1e3 * (begin + own), 1e3 * (end - begin - own));
        add_gpu("gemm", 7, end, 20 * (i + 1) - end, "");
    }
    end_kineto(name[rank]);
}

static void experts(void)
{
    for (int rank = 0; rank < 4; rank++)
        write_experts(rank, 2, "", NULL);
}

static void experts_told_by_arguments(void)
{
    write_experts(0, 2, OF("all_to_allv"), NULL);
}

static void experts_told_by_ranges(void)
{
    write_experts(0, 2, "", "nccl:all_to_all");
}

static void experts_told_by_nothing(void)
{
    write_experts(0, 2, "", NULL);
}

/* ---- the table ---- */

/* "id: part of its text"; the id may be "note". */
typedef struct adversary {
    const char *name;
    void (*write)(void);
    const char *must[MAX_SAID], *must_not[MAX_SAID];
    double most_gain_ms; /* of any finding on communication; NAN: any */
} adversary;

static const adversary cases[] = {
    {"an all-reduce that waits, as communication.json tells",
     waiting_told_by_table,
     {"exposed-communication: waits for other ranks 95.93 ms, transfer 4.04 ms",
      "exposed-communication: The last rank is not among the traces"},
     {"slow-rank:"},
     4.04},
    {"an all-reduce that waits, as four ranks tell",
     waiting_told_by_ranks,
     {"exposed-communication: waits for other ranks", "exposed-communication: transfer at most 4.04 ms",
      "exposed-communication: Rank 3 is last: it causes 95.93 ms"},
     {"exposed-communication: not among the traces"},
     4.04},
    {"an all-reduce that waits, as its tasks tell",
     waiting_told_by_tasks,
     {"exposed-communication: waits for other ranks 95.50 ms, transfer 4.47 ms",
      "exposed-communication: longest waits are for the rank in place 5 of the group: add the trace of that rank"},
     {NULL},
     4.47},
    {"an all-reduce in which all that are here wait",
     all_that_are_here_wait,
     {"exposed-communication: waits for other ranks 95.93 ms, transfer 4.04 ms",
      "exposed-communication: The last rank is not among the traces"},
     {"exposed-communication: Rank 1 is last"},
     4.04},
    {"an all-reduce of which nothing tells",
     nothing_tells_waiting,
     {"exposed-communication: the part that waits for other ranks is unknown"},
     {"exposed-communication: transfer 99.97"},
     0},
    {"an all-reduce that only transfers",
     only_transfer,
     {"exposed-communication: waits for other ranks at least 0.00 ms, transfer at most 99.97 ms"},
     {"exposed-communication: is last"},
     99.97},
    {"waiting in one kind, transfer in another",
     waiting_and_transfer,
     {"exposed-communication: hcom_allReduce not overlapped with computing (1 calls a step, 60.00 ms in total): waits "
      "for other ranks 59.00 ms, transfer 1.00 ms",
      "exposed-communication: hcom_allGather not overlapped with computing (1 calls a step, 20.00 ms in total): waits "
      "for other ranks 1.00 ms, transfer 19.00 ms"},
     {NULL},
     19},
    {"three traces that nothing numbers",
     unnumbered,
     {"compute-gap: Trace 1 computes 30.00 ms longer than trace 0: a gap of 30.0 %"},
     {"compute-gap: rank -1", "compute-gap: computes 0.00 ms", "compute-gap: 187.6"},
     NAN},
    {"copies within devices, one slower", local_links, {NULL}, {"slow-link:"}, NAN},
    {"a copy within a device by another transport", local_links_of_one, {NULL}, {"slow-link:"}, NAN},
    {"DeepEP's dispatch",
     deep_ep,
     {"exposed-communication: deep_ep::intranode::dispatch"},
     {"note: counts as computing"},
     0},
    {"a kernel named like a collective",
     fused,
     {"note: void mylib::gemm_all_reduce_sm90 counts as computing (50.0 % of the operators' time); if they only"},
     {"exposed-communication:"},
     NAN},
    {"a pipeline of SendRecv kernels",
     pipeline,
     {"pipeline-wait: Rank 0: 35.50 ms of a step are spent waiting for another stage"},
     {"exposed-communication:", "note: may belong to a pipeline"},
     35.5},
    {"a pipeline of SendRecv kernels that say so",
     told_pipeline,
     {"pipeline-wait: Rank 0: 35.50 ms"},
     {"exposed-communication:"},
     35.5},
    {"its last stage alone", last_stage_alone, {"pipeline-wait: 17.99 ms"}, {"exposed-communication:"}, 18},
    {"its first stage alone, which computes before its first exchange",
     first_stage_alone,
     {"exposed-communication: of an all-to-all or a pipeline, not overlapped with computing",
      "note: may belong to a pipe"},
     {"pipeline-wait:"},
     0},
    {"an all-to-all of SendRecv kernels, one rank late",
     experts,
     {"exposed-communication: ncclDevKernel_SendRecv, an all-to-all, not overlapped with computing (8 calls a step, "
      "28.00 ms in total): waits for other ranks at least 13.00 ms, transfer at most 15.00 ms",
      "slow-rank: Rank 2 was last in 4 of 8 collectives"},
     {"pipeline-wait:", "note: may belong to a pipeline"},
     15},
    {"an all-to-all that its arguments tell",
     experts_told_by_arguments,
     {"exposed-communication: in all_to_allv||||, an all-to-all, not overlapped"},
     {"pipeline-wait:"},
     0},
    {"an all-to-all that a range tells",
     experts_told_by_ranges,
     {"exposed-communication: ncclDevKernel_SendRecv, an all-to-all, not overlapped"},
     {"pipeline-wait:", "note: may belong to a pipeline"},
     0},
    {"an all-to-all that nothing tells",
     experts_told_by_nothing,
     {"exposed-communication: of an all-to-all or a pipeline,", "note: may belong to a pipeline"},
     {"pipeline-wait:"},
     0},
    {"a slow cable", slow_cable, {"slow-link: 2-0 (HCCS) moves 5.00 GB/s"}, {NULL}, NAN},
};

/* ---- judging ---- */

static bool is_said(const char *what)
{
    const char *colon = strchr(what, ':');
    size_t size = colon ? (size_t)(colon - what) : strlen(what);
    const char *part = colon ? colon + 1 + strspn(colon + 1, " ") : "";
    for (int i = 0; i < run.n_findings; i++) {
        const ek_trace_finding *f = &run.finding[i];
        if (strlen(f->id) == size && strncmp(f->id, what, size) == 0 &&
            (strstr(f->text, part) || strstr(f->advice, part)))
            return true;
    }
    for (int r = 0; r < run.n_ranks && size == 4 && strncmp(what, "note", size) == 0; r++)
        for (int i = 0; i < run.rank[r].n_notes; i++)
            if (strstr(run.rank[r].note[i], part))
                return true;
    return false;
}

static void print_all(void)
{
    for (int i = 0; i < run.n_findings; i++)
        print_message("  %s (%.2f ms): %s\n", run.finding[i].id, (double)run.finding[i].gain_ns / 1e6,
                      run.finding[i].text);
    for (int r = 0; r < run.n_ranks; r++)
        for (int i = 0; i < run.rank[r].n_notes; i++)
            print_message("  note of %d: %s\n", r, run.rank[r].note[i]);
}

/* ---- texts, to the letter ---- */

static struct {
    char text[1 << 18];
    size_t n;
} sheet;

__attribute__((format(printf, 1, 2))) static void write_line(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    sheet.n += (size_t)vsnprintf(sheet.text + sheet.n, sizeof sheet.text - sheet.n, format, arguments);
    va_end(arguments);
    assert_true(sheet.n < sizeof sheet.text);
}

static void write_all(const char *name)
{
    write_line("%s\n", name);
    for (int i = 0; i < run.n_findings; i++) {
        const ek_trace_finding *f = &run.finding[i];
        write_line("  %s: rank %d stage %d at %d step %s", f->id, f->rank, f->stage, f->at, f->step ? f->step : "-");
        if (!isnan(f->share))
            write_line(", %.4f of it", f->share);
        if (f->gain_ns != EK_TRACE_UNKNOWN)
            write_line(", %lld ns", (long long)f->gain_ns);
        write_line("\n    %s\n    => %s\n", f->text, f->advice);
    }
    for (int r = 0; r < run.n_ranks; r++)
        for (int i = 0; i < run.rank[r].n_notes; i++)
            write_line("  note of %d: %s\n", r, run.rank[r].note[i]);
}

static int n_wrong(const adversary *a)
{
    static const char *const communication[] = {"exposed-communication", "slow-rank", "pipeline-wait"};
    int wrong = 0;
    for (int i = 0; i < MAX_SAID && a->must[i]; i++)
        if (!is_said(a->must[i])) {
            print_message("%s: not said: %s\n", a->name, a->must[i]);
            wrong++;
        }
    for (int i = 0; i < MAX_SAID && a->must_not[i]; i++)
        if (is_said(a->must_not[i])) {
            print_message("%s: said: %s\n", a->name, a->must_not[i]);
            wrong++;
        }
    for (int i = 0; i < run.n_findings; i++)
        for (size_t k = 0; k < sizeof communication / sizeof *communication; k++)
            if (strcmp(run.finding[i].id, communication[k]) == 0 && run.finding[i].gain_ns != EK_TRACE_UNKNOWN &&
                (double)run.finding[i].gain_ns > 1e6 * a->most_gain_ms + 1000) {
                print_message("%s: %s promises %.2f ms\n", a->name, run.finding[i].id,
                              (double)run.finding[i].gain_ns / 1e6);
                wrong++;
            }
    return wrong;
}

static void read_folder(const adversary *a)
{
    static const ek_trace_options options = {.n_threads = 2, .drop_first_steps = -1};
    const char *const path[] = {folder};
    ek_error err;
    if (ek_trace_run_read(path, 1, &options, NULL, &run, &err) != EK_OK)
        fail_msg("%s: %s", a->name, err.message);
}

static void causes_are_causes(void **state)
{
    (void)state;
    int wrong = 0;
    sheet.n = 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char command[512];
        snprintf(folder, sizeof folder, "/tmp/evenkeel_adversary_XXXXXX");
        assert_non_null(mkdtemp(folder));
        cases[i].write();
        read_folder(&cases[i]);
        int of_case = n_wrong(&cases[i]);
        if (of_case > 0)
            print_all();
        write_all(cases[i].name);
        wrong += of_case;
        ek_trace_run_clear(&run);
        snprintf(command, sizeof command, "rm -rf '%s'", folder);
        assert_int_equal(system(command), 0);
    }
    assert_int_equal(wrong, 0);
    assert_golden("trace_causes.txt", sheet.text);
}

static void links_within_a_device_are_known(void **state)
{
    (void)state;
    static const struct {
        ek_trace_link link;
        bool local;
    } links[] = {
        {{.link = "g:3-3", .transport = "HCCS"}, true},   {{.link = "rank0:1-1:SDMA", .transport = "SDMA"}, true},
        {{.link = "g:0-1", .transport = "LOCAL"}, true},  {{.link = "12-12", .transport = NULL}, true},
        {{.link = "g:11-1", .transport = "HCCS"}, false}, {{.link = "g:1-11", .transport = "HCCS"}, false},
        {{.link = "1-1-1", .transport = "RDMA"}, false},  {{.link = "", .transport = "RDMA"}, false},
    };
    for (size_t i = 0; i < sizeof links / sizeof *links; i++)
        if (ek__link_is_local(&links[i].link) != links[i].local)
            fail_msg("%s", links[i].link.link);
}

static void the_split_stands_in_the_rank(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/evenkeel_adversary_XXXXXX");
    assert_non_null(mkdtemp(folder));
    waiting_told_by_table();
    read_folder(&cases[0]);
    assert_int_equal(run.rank[0].exposure.exposed, 99970000);
    assert_int_equal(run.rank[0].exposure.transfer, 4040000);
    assert_int_equal(run.rank[0].exposure.wait, 95930000);
    assert_int_equal(run.rank[0].exposure.unknown, 0);
    assert_int_equal(run.rank[0].communication.collective[0].transit, 4040000);
    ek_trace_run_clear(&run);
    char command[512];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    assert_int_equal(system(command), 0);
}

/* Stage 1 waits 9.99 ms for the first micro-batch, stage 0 30.5 ms for the first gradients. */
static void sides_of_a_pipeline_are_paired(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/evenkeel_adversary_XXXXXX");
    assert_non_null(mkdtemp(folder));
    pipeline();
    read_folder(&cases[0]);
    assert_int_equal(run.n_pairs, 1);
    assert_int_equal(run.n_unpaired, 0);
    assert_int_equal(run.pair[0].from, 0);
    assert_int_equal(run.pair[0].to, 1);
    assert_int_equal(run.pair[0].n, 8);
    assert_int_equal(run.pair[0].from_wait, 30500000);
    assert_int_equal(run.pair[0].to_wait, 9990000);
    ek_trace_run_clear(&run);
    char command[512];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    assert_int_equal(system(command), 0);
}

static const ek_trace_rank *read_kernel(const char *name)
{
    static const char *const more[] = {"of_a_TREE"};
    const ek_trace_options options = {.n_threads = 1, .n_collectives = 1, .collective = more};
    const char *const path[] = {folder};
    ek_error err;
    ek_trace_run_clear(&run);
    write_kernel(name);
    if (ek_trace_run_read(path, 1, &options, NULL, &run, &err) != EK_OK)
        fail_msg("%s: %s", name, err.message);
    return &run.rank[0];
}

/* Names of --collective come beside the list, as its own first name shows. */
static void kernels_that_communicate_are_known(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/evenkeel_adversary_XXXXXX");
    assert_non_null(mkdtemp(folder));
    for (size_t i = 0; i < sizeof communicate / sizeof *communicate; i++) {
        const ek_trace_rank *rank = read_kernel(communicate[i]);
        if (rank->device.communication != 50000000 || rank->device.computing != 50000000)
            fail_msg("%s computes", communicate[i]);
    }
    for (size_t i = 0; i < sizeof compute / sizeof *compute; i++) {
        bool listed = strstr(compute[i], "tree");
        const ek_trace_rank *rank = read_kernel(compute[i]);
        if (rank->device.communication != (listed ? 50000000 : 0))
            fail_msg("%s: %s", compute[i], listed ? "--collective is not heard" : "it communicates");
    }
    ek_trace_run_clear(&run);
    char command[512];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    assert_int_equal(system(command), 0);
}

/* ---- made and reference traces ---- */

static void read_one(const char *where, const char *name)
{
    static const ek_trace_options options = {.n_threads = 2};
    char path[4200];
    snprintf(path, sizeof path, "%s/%s", where, name);
    const char *const paths[] = {path};
    ek_error err;
    if (ek_trace_run_read(paths, 1, &options, NULL, &run, &err) != EK_OK)
        fail_msg("%s: %s", name, err.message);
}

/* The most that a kind of collective transfers in a step of the rank. */
static double most_of_a_kind(const ek_trace_rank *rank)
{
    const int n = rank->communication.n_sums;
    ek__exposure *of_sum = calloc((size_t)n + 1, sizeof *of_sum);
    double most = 0;
    assert_non_null(of_sum);
    ek__rank_exposures(rank, of_sum);
    for (int i = 0; i < n; i++)
        most = fmax(most, of_sum[i].transfer);
    free(of_sum);
    return most;
}

/* Findings on communication promise no more than some rank's transfers or waits for a stage take; the parts add up.
 * Where a collective and a send are exposed side by side, the rank counts their time once, so a single kind may
 * transfer for longer. */
static void check_parts(const char *name, bool side_by_side)
{
    double most = 0;
    for (int r = 0; r < run.n_ranks; r++) {
        const ek_trace_rank *rank = &run.rank[r];
        ek__exposure e = ek__rank_exposure(rank);
        assert_true(e.transfer >= 0 && e.wait >= -1 && e.unknown >= 0);
        assert_true(fabs(e.exposed - e.transfer - e.wait - e.unknown) < 1);
        if (rank->mean.communication_not_overlapped >= 0 &&
            e.exposed > (double)rank->mean.communication_not_overlapped + 1000)
            fail_msg("%s: %.3f us exposed of %.3f", name, e.exposed / 1e3,
                     (double)rank->mean.communication_not_overlapped / 1e3);
        assert_true(fabs((double)rank->exposure.transfer - e.transfer) <= 1);
        assert_true(fabs((double)rank->exposure.exposed - e.exposed) <= 1);
        most = fmax(most, side_by_side ? most_of_a_kind(rank) : e.transfer);
    }
    for (int i = 0; i < run.n_findings; i++)
        if (strcmp(run.finding[i].id, "exposed-communication") == 0 && run.finding[i].gain_ns != EK_TRACE_UNKNOWN)
            assert_true((double)run.finding[i].gain_ns <= most + 1);
}

typedef struct expected_words {
    const char *name, *must[MAX_SAID];
} expected_words;

static void none_promises_its_waiting(const char *where, bool side_by_side, const expected_words *traces, size_t n)
{
    int wrong = 0;
    for (size_t i = 0; i < n; i++) {
        read_one(where, traces[i].name);
        check_parts(traces[i].name, side_by_side);
        int before = wrong;
        for (int k = 0; k < MAX_SAID && traces[i].must[k]; k++)
            if (!is_said(traces[i].must[k])) {
                print_message("%s: not said: %s\n", traces[i].name, traces[i].must[k]);
                wrong++;
            }
        if (wrong > before)
            print_all();
        write_all(traces[i].name);
        ek_trace_run_clear(&run);
    }
    assert_int_equal(wrong, 0);
}

/* Rank 3 is the slow one: rank 2 waits for it in every reduction of gradients with a transfer of 0.1 ms, rank 1 as the
 * other stage of its pipeline. The slow link is 8 GB/s of 12.5, 10 and 8. */
static void no_made_trace_promises_its_waiting(void **state)
{
    (void)state;
    static const expected_words traces[] = {
        {"mindspore",
         {"pipeline-wait: Rank 1:", "compute-gap: Rank 3 computes",
          "exposed-communication: Rank 2: 2.87 ms of a step, 11.7 %, are spent in hcom_allReduce not overlapped with "
          "computing (1 calls a step, 2.87 ms in total): waits for other ranks 2.77 ms, transfer 0.10 ms. Rank 3 is "
          "last",
          "slow-link: Link 9000:0-3 (HCCS) moves 8.00 GB/s, 21 % below the mean of 10.17"}},
        {"torch_npu",
         {"pipeline-wait: Rank 1:", "compute-gap: Rank 3 computes",
          "exposed-communication: waits for other ranks 2.77 ms, transfer 0.10 ms. Rank 3 is last", "slow-link:"}},
        {"torch", {"compute-gap: Rank 3", "exposed-communication: the part that waits for other ranks is unknown"}},
        {"stages", {"pipeline-wait: Rank 0:", "recompute-cost: Rank 0:"}},
    };
    sheet.n = 0;
    none_promises_its_waiting(made_traces(), true, traces, sizeof traces / sizeof *traces);
    assert_golden("trace_made_findings.txt", sheet.text);
}

static void no_reference_trace_promises_its_waiting(void **state)
{
    (void)state;
    static const expected_words traces[] = {
        {"ascend/msinsight/text/level0", {"exposed-communication: hcom_allReduce"}},
        {"ascend/msinsight/text/level1",
         {"exposed-communication: waits for other ranks 98.28 ms, transfer 3.68 ms",
          "exposed-communication: longest waits are for the rank in place 5 of the group: add the trace"}},
        {"ascend/mindinsight/utils/resource/profiler", {NULL}},
        {"kineto/hta/trace_filter", {"exposed-communication: SendRecv_RING_SIMPLE_Sum_int8_t, an all-to-all,"}},
        {"kineto/hta/trace_diff/control", {"exposed-communication: SendRecv_RING_SIMPLE_Sum_int8_t, an all-to-all,"}},
        {"kineto/hta/nccl_parser_config",
         {"exposed-communication: 13.18 ms of a step, 5.9 %, are spent in collectives of 7"}},
        {"kineto/tracelens/mi300/resnet_act_checkpoint.json.gz", {"exposed-communication:"}},
        {"synthetic/pp_recompute", {NULL}},
        {"synthetic/scope_pp", {NULL}},
    };
    none_promises_its_waiting(need_shared("reference/traces"), false, traces, sizeof traces / sizeof *traces);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(causes_are_causes),
                                       cmocka_unit_test(the_split_stands_in_the_rank),
                                       cmocka_unit_test(links_within_a_device_are_known),
                                       cmocka_unit_test(sides_of_a_pipeline_are_paired),
                                       cmocka_unit_test(no_made_trace_promises_its_waiting),
                                       cmocka_unit_test(no_reference_trace_promises_its_waiting),
                                       cmocka_unit_test(kernels_that_communicate_are_known)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
