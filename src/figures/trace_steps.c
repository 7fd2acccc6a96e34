/* Figures of steps: the parts of a step's time, by the words of Ascend and of Kineto, with the producers' tables and
 * the waiting time of pipelines; stages; the producer's cluster table. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "figures/rows.h"
#include "figures/trace_figures.h"

/* ---- breakdowns ---- */

#define EK__T ek_trace_breakdown
static const ek__member breakdown[] = {
    {"computing_us", NS(computing), "union of the compute kernels", CSV(12),
     PAGE(5, "computing", "Computing", EK__LESS), PRINT(3, "computing")},
    {"communication_us", NS(communication), "union of the communication", CSV(13),
     PAGE(6, "communication", "Communication", EK__LESS)},
    {"communication_not_overlapped_us", NS(communication_not_overlapped), "of it outside computing", CSV(14),
     PAGE(7, "exposed", "Exposed communication", EK__LESS), PRINT(4, "exposed")},
    {"overlapped_us", NS(overlapped), "of it overlapped with computing", CSV(15), PAGE(8, "overlapped", "Overlapped")},
    {"copy_us", NS(copy), "memory copies"},
    {"copy_not_overlapped_us", NS(copy_not_overlapped), "of them outside computing and communication", CSV(16),
     PAGE(9, "copy_exposed", "Exposed copies", EK__LESS)},
    {"busy_us", NS(busy), "union of all of these"},
    {"free_us", NS(free), "idle time: Ascend's span less computing and exposed communication, Kineto's total less busy",
     CSV(17), PAGE(10, "free", "Idle", EK__LESS), PRINT(5, "free")},
    {"total_us", NS(total), "first start to last end", CSV(11), PAGE(4, "total", "Device window", EK__LESS),
     PRINT(2, "window")},
    {"n_events", COUNT(n_events), "device events counted"},
};
const ek__fields ek__trace_breakdown = {
    FIELDS(breakdown, "ranks[].mean, ranks[].steps[].raw",
           "Parts of a step in Ascend's words; a step itself has the same fields. `mean` is over the steps that are no "
           "warm-up; `raw` is only from the raw device events; `--raw` puts these into the step itself.")};

/* "all of the device": the kind of a breakdown. */
static void what_device(const void *record, const ek__owner *of, char *text, size_t room)
{
    const ek_trace_rank *rank = of->rank;
    const char *what = record == &rank->device                ? "all of the device"
                       : record == &rank->device_linked       ? "launched within the file"
                       : record == &rank->recompute.recompute ? "recomputation"
                                                              : "all but recomputation";
    ek__view_key(of->run, rank, what, text, room < 128 ? room : 128);
}

static const ek__member device[] = {
    {NULL, COMPOSE(what_device), NULL, PAGE(1, "what", "What")},
    {"n_gpu_events", COUNT(n_events), "device events counted; 0 in a file without any",
     PAGE(2, "events", "Device events")},
    {"computation", NS(computing), "union of compute kernels and memset", PAGE(5, "computing", "Computing", EK__LESS)},
    {"communication", NS(communication), "union of the communication",
     PAGE(6, "communication", "Communication", EK__LESS)},
    {"exposed_communication", NS(communication_not_overlapped), "of it outside computing",
     PAGE(7, "exposed", "Exposed communication", EK__LESS)},
    {"overlapped_communication", NS(overlapped), "of it overlapped with computing",
     PAGE(8, "overlapped", "Overlapped")},
    {"memcpy", NS(copy), "memory copies", PAGE(9, "copy", "Copies", EK__LESS)},
    {"exposed_memcpy", NS(copy_not_overlapped), "of them outside computing and communication",
     PAGE(10, "copy_exposed", "Exposed copies", EK__LESS)},
    {"busy", NS(busy), "union of all of these", PAGE(4, "busy", "Busy")},
    {"idle", NS(free), "total less busy", PAGE(11, "free", "Idle", EK__LESS)},
    {"total", NS(total), "first start to last end", PAGE(3, "total", "First start to last end", EK__LESS)},
};
const ek__fields ek__trace_device = {
    FIELDS(device, "ranks[].device_breakdown.all, .linked, ranks[].steps[].device_breakdown",
           "Device time in Kineto's words. `all` is the whole file, `linked` is the work launched within it; "
           "`ranks[].recompute_time` has the same fields of recomputation and of the rest.")};
#undef EK__T

/* ---- steps ---- */

/* As in the producer's table; without the table the value that it would have. */
static int64_t printed(int64_t table, int64_t computed)
{
    return table == EK_TRACE_UNKNOWN || table == 0 ? computed : table;
}

static int64_t length_of(const ek_trace_rank *rank, const ek_trace_step *step, bool *begin_to_begin)
{
    return ek_trace_step_length(rank, (int)(step - rank->step), begin_to_begin);
}

static bool begins_next(const ek_trace_rank *rank, const ek_trace_step *step)
{
    bool is;
    length_of(rank, step, &is);
    return is;
}

void ek__step_key(const ek_trace_run *run, const ek_trace_rank *rank, const ek_trace_step *step, char *text,
                  size_t room)
{
    char name[512];
    snprintf(name, sizeof name, "step %s%s", step->name[0] ? step->name : "(without a name)",
             step->average   ? ", the producer's average"
             : step->warm_up ? ", warm-up"
                             : "");
    ek__view_key(run, rank, name, text, room < 600 ? room : 600);
}

#define EK__T ek_trace_step
GETTER(length, number, length_of(of->rank, it, &(bool){false}));
GETTER(begin_to_begin, number, begins_next(of->rank, it));
GETTER(printed_stage, number, printed(it->table_stage, it->stage));
GETTER(printed_preparing, number, printed(it->table_preparing, it->preparing));
WRITER(name_step, ek__step_key(of->run, of->rank, it, text, room));
GETTER(iteration, number, (of->rank->producer == EK_PRODUCER_MSPROF) ? it->host_step : EK_TRACE_UNKNOWN);
static const ek__member step_trace[] = {
    {"iteration_interval_ms", NS_MS(iteration_interval), "from the end of one iteration to the begin of the next"},
    {"fp_and_bp_ms", NS_MS(fp_and_bp), "forward and backward pass"},
    {"tail_ms", NS_MS(tail), "from the end of the backward pass to the end of the iteration"},
    {"computation_time_ms", NS_MS(own.computing), "computing"},
    {"communication_alone_time_ms", NS_MS(communication_alone), "communication outside computing"},
    {"stage_time_ms", NS_MS(stage), "the stage without its waits"},
    {"receive_alone_time_ms", NS_MS(receive_alone), "receives outside computing"},
    {"collective_communication_alone_time_ms", NS_MS(collective_alone), "collectives outside computing"},
};
static const ek__fields step_trace_fields = {
    FIELDS(step_trace, "ranks[].steps[].step_trace",
           "MindSpore of 2020 to 2023: the columns of step_trace_raw and ascend_cluster_analyse. The step named `-` is "
           "the producer's average.")};

GETTER(activity_of, number, it->activity[of->number]);
static const ek__member step[] = {
    {NULL, COMPOSE(name_step), NULL, PAGE(1, "step", "Step")},
    {"step", TEXT(name), "as the producer names it; empty without step marks", CSV(1)},
    {"warm_up", FLAG(warm_up), "left out of means, layers and findings", CSV(38)},
    {"from_table", FLAG(from_table), "the figures are of a table, not from events"},
    {"source", TEXT(source), "`overlap_layer`, `raw_events`, `kernel_details`, `step_trace_time`", CSV(2),
     PAGE(17, "source", "From")},
    {"start_us", NS(start), "begin of the device window"},
    {"end_us", NS(end), "its end"},
    {"host_start_us", NS(host_start), "begin of the host's step mark"},
    {"host_step_us", NS(host_step), "its length", CSV(20), PAGE(14, "host_step", "Host's step", EK__LESS)},
    {"length_us", GET(NS, length), "[how long the step took](trace.md#the-length-of-a-step)", CSV(37),
     PAGE(3, "length", "Length", EK__LESS), PRINT(1, "length")},
    {"begin_to_begin", GET(FLAG, begin_to_begin), "whether that is until the next one begins"},
    {NULL, PARTS(own, ek__trace_breakdown)},
    {"producer_definition", TEXT(producer_definition),
     "source of `stage_us`, `bubble_us`, `preparing_us` and `exclude_receive_us`: `torch_npu` or `mindspore`"},
    {"stage_us", NS(stage), "the stage's own time", CSV(22, "producer_stage_us")},
    {"bubble_us", NS(bubble), "waiting for other stages", CSV(23, "producer_bubble_us")},
    {"preparing_us", NS(preparing), "before the first device task", CSV(21)},
    {"exclude_receive_us", NS(exclude_receive), "communication not overlapped less the bubble"},
    {"csv_stage_us", GET(NS, printed_stage),
     "as the producer's table prints it (rounded to 0.25 us); without the table `stage_us`"},
    {"csv_preparing_us", GET(NS, printed_preparing), "the same of `preparing_us`"},
    {"device_span_us", NS(span), "ours: last end less first start", CSV(24)},
    {"pipeline_wait_us", NS(pipeline_wait), "ours: receives outside computing", CSV(25),
     PAGE(11, "stage_wait", "Waiting for a stage", EK__LESS), PRINT(6, "stage wait")},
    {"own_stage_us", NS(own_stage), "ours: the span less that wait", CSV(26)},
    {"data_loading_us", NS(data_loading), "host time in data iterators", CSV(32)},
    {"data_loading_idle_us", NS(data_loading_idle), "the part of it in which the device was idle", CSV(33),
     PAGE(13, "data_wait", "Idle for data", EK__LESS), PRINT(8, "data wait")},
    {"host_bound_us", NS(host_bound), "idle time that waits for the host", CSV(34),
     PAGE(12, "host_bound", "Idle for the host", EK__LESS), PRINT(7, "host bound")},
    {"device_bound_us", NS(device_bound), "idle time in the device's own order", CSV(35)},
    {"unlinked_us", NS(unlinked), "idle time without a known reason", CSV(36)},
    {"iteration_time_us", GET(NS, iteration), "msprof: the iteration"},
    {"scope_default_busy_us", NS(scope_default_busy), "sum of the tasks with a name that begins with `Default`"},
    {"scope_gradients_busy_us", NS(scope_gradients_busy), "sum of the tasks with a name that begins with `Gradients`"},
    {"raw", OBJECT(raw, ek__trace_breakdown), "the same parts from raw device events"},
    {"device_breakdown", OBJECT(own, ek__trace_device), "the parts in Kineto's words"},
    {"anatomy_us", GET_BY_WORD(NS, activity_of, ek__trace_activity_name, EK_N_TRACE_ACTIVITIES),
     "[parts of its time](trace.md#anatomy-of-a-step)"},
    {"step_trace", HERE(step_trace_fields), "the columns of MindSpore's step trace"},
};
const ek__fields ek__trace_step = {FIELDS(step, "ranks[].steps[]", NULL)};

static const ek__member pipeline[] = {
    {"step", TEXT(name), "the step's name, as a number where it is one", .numeral = true},
    {"computing", NS(own.computing), "union of the compute kernels"},
    {"communication", NS(own.communication), "union of the communication"},
    {"not_overlapped", NS(own.communication_not_overlapped), "of it outside computing"},
    {"free_us", NS(own.free), "idle time"},
    {"device_span_us", NS(span), "last end less first start"},
    {"preparing_us", NS(preparing), "before the first device task"},
    {"receive_count", COUNT(n_receives), "receives", CSV(27, "receives"), PAGE(15, "receives", "Receives")},
    {"receive_us", NS(receive), "union of them", CSV(28)},
    {"receive_exposed_us", NS(receive_exposed), "of them outside computing", CSV(29)},
    {"send_count", COUNT(n_sends), "sends", CSV(30, "sends"), PAGE(16, "sends", "Sends")},
    {"send_us", NS(send), "union of them", CSV(31)},
    {"pipeline_wait_us", NS(pipeline_wait), "receives outside computing"},
};
const ek__fields ek__trace_pipeline_step = {
    FIELDS(pipeline, "ranks[].pipeline_intervals.steps[]", "Pipeline intervals, of a trace or of tables.")};

static const ek__member intervals[] = {
    {"steps", OWN_OF("list", ek__trace_pipeline_step), "every step"},
};
const ek__fields ek__trace_pipeline = {FIELDS(intervals, "ranks[].pipeline_intervals", NULL)};
#undef EK__T

/* ---- stages ---- */

/* The step of that name, which mostly has the same place on every rank. */
static const ek_trace_step *step_named(const ek_trace_rank *rank, const char *name, int near)
{
    if (near < rank->n_steps && strcmp(rank->step[near].name, name) == 0)
        return &rank->step[near];
    for (int i = 0; i < rank->n_steps; i++)
        if (strcmp(rank->step[i].name, name) == 0)
            return &rank->step[i];
    return NULL;
}

/* Mean computing of a step over the stage's ranks; of no rank unknown. `longest` is raised to the longest of them. */
static int64_t mean_computing(const ek_trace_run *run, int stage, const char *name, int near, int64_t *longest)
{
    int64_t sum = 0, n = 0;
    for (int k = 0; k < run->n_ranks; k++) {
        const ek_trace_step *one = run->rank[k].stage == stage ? step_named(&run->rank[k], name, near) : NULL;
        if (!one || one->own.computing == EK_TRACE_UNKNOWN)
            continue;
        sum = ek__sum(sum, one->own.computing);
        *longest = one->own.computing > *longest ? one->own.computing : *longest;
        n++;
    }
    return n > 0 ? sum / n : EK_TRACE_UNKNOWN;
}

/* The first rank of a stage with steps, which represent the stage's, warm-up too; NULL without any. */
static const ek_trace_rank *first_with_steps(const ek_trace_run *run, int stage)
{
    for (int k = 0; k < run->n_ranks; k++)
        if (run->rank[k].stage == stage && run->rank[k].n_steps > 0)
            return &run->rank[k];
    return NULL;
}

static int64_t longest_computing(const ek_trace_run *run, int stage)
{
    const ek_trace_rank *first = first_with_steps(run, stage);
    int64_t longest = EK_TRACE_UNKNOWN;
    for (int i = 0; first && i < first->n_steps; i++)
        mean_computing(run, stage, first->step[i].name, i, &longest);
    return longest;
}

static int stage_of(const ek__owner *of)
{
    return ((const ek_trace_stage *)of->parent)->stage;
}

#define EK__T ek_trace_step
GETTER(mean_of_stage, number, mean_computing(of->run, stage_of(of), it->name, of->number, &(int64_t){0}));
static const ek__member stage_step[] = {{"", GET(NS, mean_of_stage), "a step"}};
static const ek__fields stage_steps = {FIELDS(stage_step, NULL, NULL)};
#undef EK__T

#define EK__T ek_trace_rank
CONDITION(is_of_stage, it->stage == stage_of(of) && it->rank != EK_TRACE_NO_RANK);
COMPOSER(rank_number, 16, "%d", it->rank);
static const ek__member stage_rank[] = {{"", COUNT(rank), "a rank"}};
static const ek__fields stage_ranks = {FIELDS(stage_rank, NULL, NULL)};
static const ek__member rank_computing[] = {{"", NS(mean.computing), "a rank"}};
static const ek__fields rank_computings = {FIELDS(rank_computing, NULL, NULL)};
#undef EK__T

#define EK__T ek_trace_stage
FINDER(all_ranks, of->run->rank);
COUNTER(n_ranks, of->run->n_ranks);
static const void *first_steps(const void *stage, const ek__owner *of)
{
    const ek_trace_rank *first = first_with_steps(of->run, ((const ek_trace_stage *)stage)->stage);
    return first ? first->step : NULL;
}
static int n_first_steps(const void *stage, const ek__owner *of)
{
    const ek_trace_rank *first = first_with_steps(of->run, ((const ek_trace_stage *)stage)->stage);
    return first ? first->n_steps : 0;
}
GETTER(longest_step, number, longest_computing(of->run, it->stage));
COMPOSER(name_stage, EK__VIEW_KEY_SIZE, "stage %d", it->stage);
static const ek__member stage[] = {
    {NULL, COMPOSE(name_stage), NULL, PAGE(1, "stage", "Stage")},
    {"stage", COUNT(stage), "its number", CSV(1)},
    {"n_ranks", COUNT(n_ranks), "ranks of it", CSV(8, "ranks"), PAGE(2, "ranks", "Ranks")},
    {"ranks", FOUND_SHORT_LIST(all_ranks, n_ranks, stage_ranks), "which", .shown = is_of_stage},
    {"computing_mean_us", NS(computing_mean), "mean over its ranks", CSV(2),
     PAGE(4, "computing", "Computing", EK__LESS), PRINT(2, "computing")},
    {"computing_max_us", NS(computing_max), "the largest of its ranks' means", CSV(3),
     PAGE(5, "computing_most", "Most of a rank", EK__LESS)},
    {"computing_us_by_rank", FOUND_SHORT_MAP(all_ranks, n_ranks, rank_computings), "us by rank", .shown = is_of_stage,
     .compose = rank_number},
    {"computing_us_by_step", FOUND_SHORT_MAP(first_steps, n_first_steps, stage_steps),
     "us by step, every one: mean over its ranks"},
    {"computing_max_step_us", GET(NS, longest_step), "the largest of all its ranks and steps; null without any"},
    {"communication_not_overlapped_mean_us", NS(not_overlapped_mean), "mean over its ranks", CSV(4),
     PAGE(6, "exposed", "Exposed communication", EK__LESS), PRINT(3, "exposed")},
    {"free_mean_us", NS(free_mean), "mean over its ranks", CSV(5), PAGE(7, "free", "Idle", EK__LESS), PRINT(4, "free")},
    {"pipeline_wait_mean_us", NS(pipeline_wait_mean), "mean over its ranks", CSV(6),
     PAGE(8, "stage_wait", "Waiting for a stage", EK__LESS), PRINT(5, "stage wait")},
    {"step_mean_us", NS(step_mean), "mean of the ranks' [steps](trace.md#the-length-of-a-step)", CSV(7),
     PAGE(3, "step", "Step", EK__LESS), PRINT(1, "step")},
};
const ek__fields ek__trace_stage = {
    FIELDS(stage, "stage_balance.stages[]",
           "But for the two by step, each rank counts with its mean over the steps that are no warm-up (`--drop-first "
           "0` counts all). A rank without this information counts in no mean.")};
#undef EK__T

#define EK__T ek_trace_run
static const ek__member balance[] = {
    {"imbalance", REAL(stage_imbalance), "slowest over fastest mean computing; null with fewer than two stages"},
    {"stages", LIST(n_stages, stage, ek__trace_stage), "every stage"},
};
const ek__fields ek__trace_balance = {FIELDS(balance, "stage_balance", NULL), .lines = true};
#undef EK__T

#define EK__T ek_trace_cluster_row
/* ---- the producer's cluster table ---- */
COMPOSER(name_row, 512, "step %s, %s %s", it->step ? it->step : "", it->type ? it->type : "",
         it->index ? it->index : "");
static const ek__member cluster[] = {
    {NULL, COMPOSE(name_row), NULL, PAGE(1, "row", "Step, rank or stage")},
    {"step", TEXT(step), "the step", CSV(1)},
    {"type", TEXT(type), "`rank`, `stage`", CSV(2)},
    {"index", TEXT(index), "`\"0\"`, `\"(0, 1)\"`", CSV(3)},
    {"computing", NS(computing), "as the producer's table has it", CSV(4, "computing_us"),
     PAGE(2, "computing", "Computing", EK__LESS)},
    {"communication_not_overlapped", NS(not_overlapped), "the same", CSV(5, "communication_not_overlapped_us"),
     PAGE(3, "exposed", "Communication not overlapped", EK__LESS)},
    {"overlapped", NS(overlapped), "the same", CSV(6, "overlapped_us"), PAGE(4, "overlapped", "Overlapped")},
    {"communication", NS(communication), "the same", CSV(7, "communication_us"),
     PAGE(5, "communication", "Communication", EK__LESS)},
    {"free", NS(free), "the same; for MindSpore clipped to the step", CSV(8, "free_us"),
     PAGE(6, "free", "Idle", EK__LESS)},
    {"stage", NS(stage), "the same; as step_trace_time.csv prints it where it is there", CSV(9, "stage_us"),
     PAGE(7, "stage", "Stage", EK__LESS)},
    {"bubble", NS(bubble), "the same", CSV(10, "bubble_us"), PAGE(8, "bubble", "Bubble", EK__LESS)},
    {"communication_not_overlapped_and_exclude_receive", NS(exclude_receive), "the same", CSV(11, "exclude_receive_us"),
     PAGE(9, "exclude_receive", "Not overlapped and no receive", EK__LESS)},
    {"preparing", NS(preparing), "the same; as step_trace_time.csv prints it where it is there",
     CSV(12, "preparing_us"), PAGE(10, "preparing", "Preparing", EK__LESS)},
    {"computed", FLAG(computed), "false: a row of cluster_step_trace_time.csv; true: made of the ranks' own columns",
     WORDS("cluster_step_trace_time.csv", "the ranks' files"), PAGE(11, "source", "From")},
};
const ek__fields ek__trace_cluster = {
    FIELDS(cluster, "cluster_table[]",
           "Null where the producer has no such column. Ranks of Kineto have no rows. `--rank` and `--step` leave the "
           "table whole.")};
#undef EK__T

/* ---- places in the timeline ---- */

#define EK__T ek_trace_step
LOCATOR(locate_step, out->step = it);
#undef EK__T

#define EK__T ek_trace_stage
LOCATOR(locate_stage, out->rank = first_with_steps(of->run, it->stage));
#undef EK__T

/* Rows of stages name several ranks, so no single one could be shown. */
static void locate_cluster(const void *record, const ek__owner *of, ek__location *out)
{
    const ek_trace_cluster_row *it = record;
    bool of_rank = it->type && it->index && strcmp(it->type, "rank") == 0 && it->index[0] >= '0' && it->index[0] <= '9';
    out->rank = of_rank ? ek__trace_find_rank(of->run, (int)strtol(it->index, NULL, 10)) : NULL;
    out->step = ek__trace_find_step(out->rank, it->step);
}

/* ---- tables ---- */

/* The time of a rank's device: of the complete file, and of recomputation where there is some. */
static const void *device_of(int i, ek__owner *of, bool *end)
{
    const ek_trace_rank *rank = of->rank;
    const ek_trace_breakdown *all[] = {&rank->device, &rank->device_linked, &rank->recompute.recompute,
                                       &rank->recompute.rest};
    *end = i >= (rank->recompute.n_regions > 0 ? 4 : 2);
    return *end || all[i]->n_events == 0 ? NULL : all[i];
}

const ek__rows ek__step_rows[] = {
    {"steps", "breakdown", "steps", "Steps", .stage_column = 2, .fields = &ek__trace_step,
     .also = &ek__trace_pipeline_step, RANK_LIST(n_steps, step), .locate = locate_step},
    {"stages", "breakdown", "stages", "Means of the stages", .fields = &ek__trace_stage, .least = 2,
     RUN_LIST(n_stages, stage), .locate = locate_stage},
    {NULL, "breakdown", "device", "The whole file", .fields = &ek__trace_device, .item = device_of,
     .most_ranks = EK__VIEW_MAX_ROWS / 4},
    {"cluster", "breakdown", "cluster", "Steps by the columns of the producer's cluster table",
     .fields = &ek__trace_cluster, RUN_LIST(n_cluster_rows, cluster_row), .locate = locate_cluster},
};
const int ek__n_step_rows = sizeof ek__step_rows / sizeof *ek__step_rows;
