/* Figures of a run's computing: its operators by type and shape over all ranks, and those that could be faster. */
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "evenkeel/compute.h"
#include "figures/rows.h"
#include "figures/trace_figures.h"

/* ---- operators by shape ---- */

static const ek_trace_run *run_of(const ek__owner *of)
{
    return of->run;
}

static int rank_at(const ek_trace_run *run, int at)
{
    return at >= 0 && at < run->n_ranks ? run->rank[at].rank : EK_TRACE_NO_RANK;
}

#define EK__T ek_compute_operator
COMPOSER(name_operator, EK__VIEW_KEY_SIZE, "%s%s%s", it->name, it->shapes[0] ? " " : "", it->shapes);
GETTER(mean_ns, real, it->count > 0 ? (double)it->total / (double)it->count : NAN);
GETTER(flops, real, it->known == EK_PROFILE_TAKEN && it->work.flops > 0 ? it->work.flops : NAN);
GETTER(bytes, real, it->known == EK_PROFILE_TAKEN && it->work.bytes > 0 ? it->work.bytes : NAN);
GETTER(share_of_time, real,
       it->count > 0 && it->expected > 0 ? it->expected / ((double)it->total / (double)it->count) : NAN);
GETTER(least_rank, number, rank_at(run_of(of), it->least_at));
GETTER(most_rank, number, rank_at(run_of(of), it->most_at));
CONDITION(is_compared, it->expected > 0);
static const ek__member operators[] = {
    {NULL, COMPOSE(name_operator), NULL, PAGE(1, "operator", "Operator", EK__SEARCH)},
    {"name", TEXT(name), "type for Ascend, operator for PyTorch; the kernel if neither is known", CSV(1)},
    {"kernel", TEXT(kernel), "PyTorch: the kernel that took longest of an execution", CSV(2)},
    {"core", TEXT(core), "Ascend's accelerator core; null without one", CSV(3), PAGE(2, "core", "Core")},
    {"class", WORD(class_, ek__compute_class_name), "`matrix`, `attention`, `vector`, `transform`, `ai_cpu`, `other`",
     CSV(4), PAGE(3, "class", "Class")},
    {"shapes", TEXT(shapes), "of the inputs, as the profiler writes them; empty where it does not", CSV(5)},
    {"types", TEXT(types), "of the inputs, likewise", CSV(6), PAGE(4, "types", "Types")},
    {"layout", TEXT(layout), "PyTorch: strides of the inputs; Ascend: their formats", CSV(7)},
    {"count", COUNT(count), "executions on all ranks", CSV(8), PAGE(5, "count", "Times")},
    {"total_us", NS(total), "sum of them", CSV(9), PAGE(6, "total", "Total", EK__LESS)},
    {"mean_us", GET(MEAN, mean_ns), "mean of one", CSV(10), PAGE(7, "mean", "Mean", EK__LESS)},
    {"ranks", COUNT(n_ranks), "that have it", CSV(11), PAGE(8, "ranks", "Ranks")},
    {"least_us", MEAN(least), "mean of one on the rank where it is shortest", CSV(12),
     PAGE(9, "least", "Shortest rank", EK__LESS)},
    {"median_us", MEAN(median), "median of the ranks' means", CSV(13), PAGE(10, "median", "Median of ranks", EK__LESS)},
    {"most_us", MEAN(most), "on the rank where it is longest", CSV(14), PAGE(11, "most", "Longest rank", EK__LESS)},
    {"least_rank", GET(NUMBER, least_rank), "that rank", CSV(15)},
    {"most_rank", GET(NUMBER, most_rank), "that rank", CSV(16), PAGE(12, "which", "Which")},
    {"work", WORD(known, ek__profile_left_name),
     "`taken`: FLOPs and bytes follow from the shapes; else why not: `no_shapes`, `other`, `unclear`, `no_peak`, "
     "`packed`",
     CSV(17)},
    {"flops", GET(REAL, flops), "floating-point operations of one", CSV(18)},
    {"bytes", GET(REAL, bytes), "read and written by one", CSV(19)},
    {"tflops", REAL(tflops), "10^12 operations a second that the mean reaches", CSV(20),
     PAGE(13, "tflops", "TFLOP/s", EK__MORE)},
    {"share_of_peak", SHARE(share_of_peak), "of the device's peak for its type; null without a device", CSV(21),
     PAGE(14, "peak", "Of the peak", EK__MORE)},
    {"gbps", GBPS(gbs), "10^9 bytes a second", CSV(22), PAGE(15, "rate", "GB/s", EK__MORE)},
    {"share_of_memory_rate", SHARE(share_of_memory), "of the device's memory rate; above 1 from a cache", CSV(23)},
    {"expected_us", MEAN(expected), "by the device's measured shapes and curves", CSV(24),
     PAGE(16, "expected", "By the device", EK__LESS)},
    {"basis", WORD(basis, ek__cost_basis_name), "its basis: `measured`, `fitted`, `derived`, `assumed`", CSV(25),
     WHEN(is_compared)},
    {"share_of_expected", GET(SHARE, share_of_time), "the expected time over the mean: 1 is as fast as expected",
     CSV(26), PAGE(17, "curve", "Of the expected", EK__MORE)},
    {"matrix_unit", SHARE(unit[EK_TRACE_CUBE]), "Ascend: mean share of its time in which the matrix unit computes",
     CSV(27), PAGE(18, "cube", "Matrix unit")},
    {"vector_unit", SHARE(unit[EK_TRACE_VECTOR]), "the same of the vector unit", CSV(28),
     PAGE(19, "vector", "Vector unit")},
    {"load", SHARE(unit[EK_TRACE_LOAD]), "in which data come in (MTE2)", CSV(29), PAGE(20, "load", "Data in")},
    {"store", SHARE(unit[EK_TRACE_STORE]), "in which data go out (MTE3, fixpipe)", CSV(30),
     PAGE(21, "store", "Data out")},
    {"blocks", COUNT(blocks),
     "cores that one ran on at most; GPU: blocks of threads of the longest kernel; 0: not recorded", CSV(31)},
    {"occupancy", SHARE(unit[EK_TRACE_OCCUPANCY]),
     "GPU: mean share of the multiprocessors' places for warps that the longest kernel fills, as the profiler "
     "estimates it",
     CSV(32), PAGE(22, "occupancy", "Occupancy")},
};
static const ek__fields operator_ = {
    FIELDS(operators, "compute.operators[]", "Over all ranks, longest total first, then by name and shapes.")};
#undef EK__T

/* ---- operators that could be faster ---- */

#define EK__T ek_compute_finding
GETTER(worst_rank, number, rank_at(run_of(of), it->worst));
GETTER(places, number, (int64_t)it->n);
static const ek__member finding[] = {
    {"id", WORD(fault, ek__compute_fault_name), "`ai-cpu`, `unfused-attention`, ... ([list](trace.md#computing))"},
    {"what", TEXT(what), "the operators in words"},
    {"places", GET(COUNT, places), "executions, or runs of them, on all ranks"},
    {"rank", GET(NUMBER, worst_rank), "that loses most"},
    {"time_us", MEAN(time), "their time in a mean step of that rank"},
    {"lost_us", MEAN(lost), "the part of it that the better ones avoid: at most this can be gained per step"},
    {"instead", TEXT(instead), "recommended change"},
    {"setting", TEXT(setting), "the same in the format of the run's files"},
    {"estimate", TEXT(estimate), "how the loss was worked out"},
};
static const ek__fields findings = {FIELDS(finding, "compute.findings[]", "Most lost first.")};
#undef EK__T

/* ---- the report ---- */

#define EK__T ek_compute
GETTER(time_of_class, real, it->time[of->number]);
GETTER(known_share, real, it->total > 0 ? it->known / it->total : NAN);
GETTER(rate, real, it->known > 0 && it->flops > 0 ? it->flops / it->known * 1e-3 : NAN);
static const ek__member compute[] = {
    {"device", NAME(device), "device for the comparison; null without `--device`"},
    {"total_us", MEAN(total), "of all operators on all ranks"},
    {"time_us", GET_BY_WORD(MEAN, time_of_class, ek__compute_class_name, EK_N_COMPUTE_CLASSES), "of it by class"},
    {"known_share", GET(SHARE, known_share),
     "share of the time of operators with FLOPs and bytes known from their shapes"},
    {"tflops", GET(REAL, rate), "10^12 operations a second that these reach"},
    {"operators", LIST(n, op, operator_), "by type and shape"},
    {"findings", LIST(n_findings, finding, findings), "possible speed-ups"},
};
const ek__fields ek__trace_compute = {FIELDS(compute, "compute",
                                             "Computing of the device, over all ranks and the whole trace, without "
                                             "PyTorch's warm-up; null if nothing was recorded."),
                                      .lines = true};
#undef EK__T

/* ---- executions ---- */

static const ek_trace_shaped *shaped_of(const ek_trace_execution *e, const ek__owner *of)
{
    return &of->rank->measured.op[e->op];
}

/* The latest step with a device window that contains the time; NULL. Steps are in order of time, some without a window.
 * O(log steps) with windows. */
static const char *step_at(const ek_trace_rank *rank, int64_t time)
{
    int low = 0, high = rank->n_steps; /* steps before `low` begin no later */
    while (low < high) {
        int middle = low + (high - low) / 2, at = middle;
        while (at > low && rank->step[at].start == EK_TRACE_UNKNOWN)
            at--;
        if (rank->step[at].start <= time) /* an unknown time is the least */
            low = middle + 1;
        else
            high = at;
    }
    while (low > 0 && rank->step[low - 1].start == EK_TRACE_UNKNOWN)
        low--;
    return low > 0 && time <= rank->step[low - 1].end ? rank->step[low - 1].name : NULL;
}

/* Events that begin at a time of two texts: times of tables may be rounded otherwise than those of the trace. */
enum { ROUNDING = 2 };

/* The first of n records by start that begins then or later. @param at  each begins with its start. O(log n) */
static size_t first_near(const void *at, size_t n, size_t size, int64_t start)
{
    size_t low = 0, high = n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int64_t begins;
        memcpy(&begins, (const char *)at + middle * size, sizeof begins);
        if (begins < start - ROUNDING)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The layer of an event that begins at a time; NULL. O(log operators of layers). */
static const char *layer_at(const ek_trace_layers *layers, int64_t start)
{
    _Static_assert(offsetof(ek_trace_member, start) == 0, "a record begins with its start");
    size_t at = first_near(layers->member, layers->n_members, sizeof *layers->member, start);
    return at < layers->n_members && layers->member[at].start <= start + ROUNDING
               ? layers->layer[layers->member[at].layer].name
               : NULL;
}

/* The operator that begins at a time, with its launch and its purpose; NULL. O(log operators). */
static const ek_trace_piece *piece_at(const ek_trace_work *work, int64_t start)
{
    _Static_assert(offsetof(ek_trace_piece, start) == 0, "a record begins with its start");
    size_t at = first_near(work->piece, work->n, sizeof *work->piece, start);
    for (; at < work->n && work->piece[at].start <= start + ROUNDING; at++)
        if (work->piece[at].activity <= EK_TRACE_OTHER_COMPUTING)
            return &work->piece[at];
    return NULL;
}

static const char *phase_at(const ek_trace_work *work, int64_t start)
{
    const ek_trace_piece *piece = piece_at(work, start);
    return piece ? ek_trace_activity_name[piece->activity] : NULL;
}

static int64_t launch_at(const ek_trace_work *work, int64_t start)
{
    const ek_trace_piece *piece = piece_at(work, start);
    return piece ? piece->launch : EK_TRACE_UNKNOWN;
}

#define EK__T ek_trace_execution
GETTER(execution_name, text, shaped_of(it, of)->name[0] ? shaped_of(it, of)->name : shaped_of(it, of)->kernel);
GETTER(execution_kernel, text, shaped_of(it, of)->kernel);
GETTER(execution_core, text, shaped_of(it, of)->core);
GETTER(execution_shapes, text, shaped_of(it, of)->shapes);
GETTER(execution_types, text, shaped_of(it, of)->types);
GETTER(execution_layer, text, layer_at(&of->rank->layers, it->start));
GETTER(execution_phase, text, phase_at(&of->rank->work, it->start));
GETTER(execution_launch, number, launch_at(&of->rank->work, it->start));
GETTER(execution_step, text, step_at(of->rank, it->start));
static const ek__member execution[] = {
    {NULL, NS(start), NULL, CSV(1, "start_us")},
    {NULL, NS(duration), NULL, CSV(2, "duration_us")},
    {NULL, GET(TEXT, execution_step), NULL, CSV(3, "step")},
    {NULL, GET(TEXT, execution_name), NULL, CSV(4, "name")},
    {NULL, GET(TEXT, execution_kernel), NULL, CSV(5, "kernel")},
    {NULL, GET(TEXT, execution_core), NULL, CSV(6, "core")},
    {NULL, GET(TEXT, execution_shapes), NULL, CSV(7, "shapes")},
    {NULL, GET(TEXT, execution_types), NULL, CSV(8, "types")},
    {NULL, NUMBER(stream), NULL, CSV(9, "stream")},
    {NULL, GET(TEXT, execution_layer), NULL, CSV(10, "layer")},
    {NULL, GET(TEXT, execution_phase), NULL, CSV(11, "phase")},
    {NULL, GET(NS, execution_launch), NULL, CSV(12, "launch_us")},
};
static const ek__fields executions = {FIELDS(execution, NULL, NULL)};
#undef EK__T

/* ---- tables ---- */

#define EK__T ek_compute_operator
/* The rank on which it takes longest. */
LOCATOR(locate_operator, out->rank = ek__trace_rank_at(of->run, it->most_at);
        out->name = it->kernel && it->kernel[0] ? it->kernel : it->name);
#undef EK__T

static const void *execution_at(int i, ek__owner *of, bool *end)
{
    const ek_trace_measured *m = &of->rank->measured;
    *end = i < 0 || (size_t)i >= m->n_all;
    return *end ? NULL : &m->execution[i];
}

static const void *operator_at(int i, ek__owner *of, bool *end)
{
    const ek_compute *all = ((const ek_trace_run *)of->run)->compute;
    *end = !all || i >= all->n;
    return *end ? NULL : &all->op[i];
}

const ek__rows ek__compute_rows[] = {
    {"shapes", "operators", "shapes", "Operators by type and shape, over all ranks", .fields = &operator_,
     RESULT_ITEMS(operator_at), .locate = locate_operator, .sort = 6},
    {"kernels", .fields = &executions, .item = execution_at},
};
const int ek__n_compute_rows = sizeof ek__compute_rows / sizeof *ek__compute_rows;
