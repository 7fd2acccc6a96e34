/* Figures of the host: idle time of the device by cause, late launches, data loading, marks of the program, and the
 * contents of the files. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "figures/rows.h"
#include "figures/trace_figures.h"

#define EK__T ek_trace_stream_idle
COMPOSER(stream_key, 256, "%s/%s", it->pid ? it->pid : "", it->tid ? it->tid : "");
/* ---- idle time ---- */
COMPOSER(name_stream, 256, "device %.100s, stream %.100s", it->pid, it->tid);
static const ek__member stream[] = {
    {NULL, COMPOSE(name_stream), NULL, PAGE(1, "stream", "Stream")},
    {NULL, TEXT(pid), NULL, CSV(1, "pid")},
    {NULL, TEXT(tid), NULL, CSV(2, "tid")},
    {"events", COUNT(n_events), "events of the stream", CSV(10), PAGE(3, "events", "Events")},
    {"host_wait", NS(host_wait), "waiting for the host", CSV(3, "host_wait_us"),
     PAGE(4, "host", "Waited for the host", EK__LESS)},
    {"kernel_wait", NS(kernel_wait), "waiting for a kernel", CSV(4, "kernel_wait_us"),
     PAGE(5, "kernel", "Waited for a kernel", EK__LESS)},
    {"other", NS(other), "other idle time", CSV(5, "other_us"), PAGE(6, "other", "Other", EK__LESS)},
    {"n_host_wait", COUNT(n_host_wait), "how often", CSV(6)},
    {"n_kernel_wait", COUNT(n_kernel_wait), "how often", CSV(7)},
    {"n_other", COUNT(n_other), "how often", CSV(8)},
    {"no_launch", COUNT(n_no_launch), "events without a launch in the file", CSV(9),
     PAGE(7, "no_launch", "Without a launch")},
};
const ek__fields ek__trace_stream = {FIELDS(stream, "ranks[].idle_attribution.streams[\"PID/TID\"]", "Kineto.")};
#undef EK__T

#define EK__T ek_trace_idle
PREDICATE(is_idle, it->n_intervals != 0);
static const ek__member idle[] = {
    {"free_intervals", COUNT(n_intervals), "stretches of idle time", PAGE(2, "intervals", "Stretches")},
    {"host_bound_us", NS(host_bound), "waiting for the host", PAGE(3, "host", "For the host", EK__LESS)},
    {"host_bound_count", COUNT(n_host_bound), "how often"},
    {"device_bound_us", NS(device_bound), "waiting for the device's own order",
     PAGE(4, "device", "For the device's own order", EK__LESS)},
    {"device_bound_count", COUNT(n_device_bound), "how often"},
    {"unlinked_us", NS(unlinked), "reason not known", PAGE(5, "unlinked", "Reason not known", EK__LESS)},
    {"unlinked_count", COUNT(n_unlinked), "how often"},
    {"linked_device_tasks", COUNT(n_linked_tasks), "tasks with a launch", PAGE(6, "linked", "Tasks with a launch")},
    {"device_tasks", COUNT(n_tasks), "tasks", PAGE(7, "tasks", "Tasks")},
    {"streams", MAP(n_streams, stream, ek__trace_stream), .compose = stream_key, .about = "by stream"},
};
const ek__fields ek__trace_idle = {FIELDS(idle, "ranks[].idle_attribution", "Ascend, but for the streams.")};
#undef EK__T

/* ---- dispatch ---- */

static bool has_dispatch(const void *record)
{
    return ek__has_dispatch(record);
}

bool ek__has_dispatch(const ek_trace_dispatch *d)
{
    return d->step_time > 0 || d->n_launch > 0 || d->n_node_launch > 0 || d->n_enqueue > 0;
}

#define EK__T ek_trace_dispatch
static const ek__member dispatch[] = {
    {"node_launch", COUNT(n_node_launch), "calls of `Node@launch` in the whole file",
     PAGE(8, "nodes", "Node launches")},
    {"enqueue", COUNT(n_enqueue), "tasks put into the queue", PAGE(9, "enqueued", "Enqueued")},
    {"dequeue", COUNT(n_dequeue), "tasks taken from it", PAGE(10, "dequeued", "Dequeued")},
    {"compile", COUNT(n_compile), "calls of `aclopCompileAndExecute`", PAGE(11, "compiled", "Compilations", EK__LESS)},
    {"synchronize", COUNT(n_synchronize), "calls that wait for streams, devices and events",
     PAGE(12, "synchronized", "Synchronizations", EK__LESS)},
    {"launch", COUNT(n_launch), "launches of Kineto's runtime", PAGE(7, "launches", "Launches")},
    {"garbage_collection", COUNT(n_gc), "garbage collections", PAGE(13, "collected", "Garbage collections", EK__LESS)},
    {"host_bound_us", NS(host_bound),
     "idle time that waits for the host, over the steps that are no warm-up (`--drop-first 0`: over all); of each "
     "step: "
     "`ranks[].steps[].host_bound_us`",
     PAGE(5, "host_bound", "Idle for the host", EK__LESS)},
    {"idle_us", NS(idle),
     "of one step, with the idle time before its first kernel and without waits for data, as the findings and "
     "`diagnose` have it; of Kineto the part in which the whole device is idle, not the sum over its streams",
     PRINT(4, "host bound")},
    {"step_us", NS(step_time), "the host's steps", PAGE(6, "steps", "Steps")},
    {"share", SHARE(share), "`host_bound_us` of them", CSV(20, "host_bound_share"),
     PAGE(2, "share", "Idle for the host, of the steps", EK__LESS)},
    {"host_bound", FLAG(is_host_bound), "the verdict: the share is over `--host-bound-share`",
     PAGE(3, "bound", "Is the host too slow?")},
    {"cause", TEXT(cause),
     "`none`, `data_loading`, `compilation`, `synchronization`, `garbage_collection`, `dispatch`; `none` below the "
     "threshold, whatever was counted",
     CSV(21), PAGE(4, "cause", "Cause")},
};
const ek__fields ek__trace_dispatch = {FIELDS(dispatch, "ranks[].host_dispatch", NULL)};
#undef EK__T

/* ---- launches that wait ---- */

#define EK__T ek_trace_queue
PREDICATE(has_launches, it->n > 0);

static bool is_queued(const void *record, const ek__owner *of)
{
    (void)of;
    return has_launches(record);
}

static const ek__member queue[] = {
    {"launches", COUNT(n), "device work with a launch in the files; 0 if there is none, and then nothing else is known",
     PAGE(2, "launches", "Launches")},
    {"mean_length", REAL(length), "work that was launched and had not begun, from the first launch to the last begin",
     KNOWN(is_queued), CSV(26, "queue_length"), PAGE(3, "length", "Queue, mean")},
    {"longest", COUNT(longest), "the most at a time", KNOWN(is_queued), CSV(27, "queue_longest"),
     PAGE(4, "longest", "Queue, longest")},
    {"mean_delay_us", MEAN(delay), "from a launch to the begin of its device work", KNOWN(is_queued),
     CSV(28, "launch_delay_us"), PAGE(5, "delay", "From launch to begin, mean")},
    {"longest_delay_us", NS(longest_delay), "the longest", KNOWN(is_queued), CSV(29, "longest_launch_delay_us"),
     PAGE(6, "longest_delay", "From launch to begin, longest")},
};
const ek__fields ek__trace_queue = {FIELDS(queue, "ranks[].launch_queue", NULL)};
#undef EK__T

#define EK__T ek_trace_host_gap
GETTER(gap_length, number, ek__sum(it->end, -it->start));
static const ek__member gap[] = {
    {NULL, NS(start), NULL, PAGE(2, "at", "At", EK__PLACE)},
    {NULL, GET(NS, gap_length), NULL, PAGE(3, "length", "Device idle for", EK__LESS)},
    {NULL, TEXT(cause), NULL, PAGE(4, "cause", "The host did")},
};
static const ek__fields gaps = {FIELDS(gap, NULL, NULL)};
#undef EK__T

#define EK__T ek_trace_iterator
/* ---- data ---- */
GETTER(share_of_step, real, of->rank->data.share_of_host_step);
static const ek__member iterator[] = {
    {NULL, TEXT(name), NULL, PAGE(1, "iterator", "Data iterator", EK__SEARCH)},
    {"count", COUNT(count), "number of queries", PAGE(3, "count", "Times")},
    {"total_us", NS(total), "host time in it", PAGE(4, "total", "Total", EK__LESS)},
    {NULL, GET(SHARE, share_of_step), NULL, PAGE(5, "share", "All iterators, of the host's steps", EK__LESS)},
};
static const ek__fields iterators = {FIELDS(iterator, "ranks[].data_loading.iterators[NAME]", NULL)};
#undef EK__T

#define EK__T ek_trace_data_op
WRITER(parent, snprintf(text, it->parent < 0 ? 1 : room, "%d", it->parent)); /* room for "" where it is none */
COMPOSER(name_operation, 256, "%d %.200s", it->id, it->type ? it->type : "");
static const ek__member operation[] = {
    {NULL, COMPOSE(name_operation), NULL, PAGE(1, "operation", "Operation of the data pipeline")},
    {"id", COUNT(id), "its number"},
    {"type", TEXT(type), "its operation"},
    {"workers", COUNT(workers), "threads", PAGE(4, "workers", "Workers")},
    {"queue_average", REAL(queue_average), "filled on average; null without a queue",
     PAGE(5, "queue", "Queue, average")},
    {"queue_length", REAL(queue_length), "its length", PAGE(6, "length", "Queue's length")},
    {"usage_rate", SHARE(usage_rate), "average by length", PAGE(7, "usage", "Queue's usage")},
    {NULL, NUMBER(parent), NULL, PAGE(3, "parent", "Feeds")},
    {"parent", COMPOSE(parent), "number of the operation that it feeds; null of the last one", .not_empty = true},
};
static const ek__fields operations = {FIELDS(operation, "ranks[].data_loading.ops[]", "MindSpore's data pipeline.")};
#undef EK__T

static ek__reading data_count(const void *record, const ek__owner *of)
{
    const ek_trace_data *data = record;
    int64_t count = 0;
    (void)of;
    for (int i = 0; i < data->n_iterators; i++)
        count = ek__sum(count, data->iterator[i].count);
    return (ek__reading){.number = count};
}

#define EK__T ek_trace_data
static const ek__member data[] = {
    {"count", GET(COUNT, data_count), "of all iterators"},
    {"total_us", NS(total), "host time in them", CSV(22, "data_loading_us")},
    {"share_of_host_step", SHARE(share_of_host_step), "of the host's steps; null without steps"},
    {"iterators", SHORT_MAP(n_iterators, iterator, iterators), "by name"},
    {"ops", LIST(n_ops, op, operations), "operations of the data pipeline"},
    {"near_empty_output_queue", FLAG(near_empty_queue), "the last operation's queue is filled under 10 %"},
    {"near_full_output_queue", FLAG(near_full_queue), "over 90 %"},
    {"per_batch_ms", MS(per_batch_ms), "as minddata_pipeline_summary prints it"},
    {"per_pipeline_ms", MS(per_pipeline_ms), "the same"},
    {"per_push_queue_ms", MS(per_push_queue_ms), "the same"},
};
const ek__fields ek__trace_data = {FIELDS(data, "ranks[].data_loading", NULL)};
#undef EK__T

#define EK__T ek_trace_mark
GETTER(on_device, number,
       (it->device_start != EK_TRACE_UNKNOWN && it->device_end != EK_TRACE_UNKNOWN)
           ? ek__sum(it->device_end, -it->device_start)
           : EK_TRACE_UNKNOWN);
/* ---- marks ---- */
GETTER(on_host, number, ek__sum(it->end, -it->start));
static const ek__member mark[] = {
    {"name", TEXT(name), "the user's text", PAGE(2, "name", "Mark", EK__SEARCH)},
    {"domain", TEXT(domain), "the same of its domain", PAGE(3, "domain", "Domain")},
    {"start_us", NS(start), "on the host", PAGE(4, "at", "At", EK__PLACE)},
    {"end_us", NS(end), "on the host; the begin of a single point in time"},
    {"device_start_us", NS(device_start), "null when the device did not see it"},
    {"device_end_us", NS(device_end), "the same"},
    {NULL, GET(NS, on_host), NULL, PAGE(5, "host", "On the host", EK__LESS)},
    {NULL, GET(NS, on_device), NULL, PAGE(6, "device", "On the device", EK__LESS)},
};
const ek__fields ek__trace_mark = {FIELDS(mark, "ranks[].marks[]", "Ranges that the program marked (mstx), by begin.")};
#undef EK__T

#define EK__T ek_trace_source
WRITER(name_reader, ek__view_rank_title(of->run, of->rank, text, room < 64 ? room : 64));
/* ---- files ---- */
GETTER(offset, number, it->problem ? it->problem_offset : EK_TRACE_UNKNOWN);
static const ek__member source[] = {
    {"path", TEXT(path), "as it was given or found", CSV(1), PAGE(1, "file", "File")},
    {NULL, COMPOSE(name_reader), NULL, PAGE(2, "rank", "Of")},
    {"type", TEXT(type), "`trace` or the table's name", CSV(2), PAGE(3, "type", "Kind")},
    {"bytes", BYTES(bytes), "read of it, before decompression", CSV(3), PAGE(4, "mb", "Read")},
    {"items", COUNT(items), "events or rows", CSV(5), PAGE(5, "items", "Events or rows")},
    {"problem", TEXT(problem), "the problem, as a sentence; readable parts are used", CSV(4),
     PAGE(6, "problem", "Problem")},
    {"problem_offset", GET(COUNT, offset),
     "byte of the decompressed file: place of the damaged event, or the end of the last complete event of a truncated "
     "file, or the end of the file"},
};
const ek__fields ek__trace_source = {
    FIELDS(source, "ranks[].sources[]",
           "A file of which nothing can be used gives no JSON, a message and exit code 2; one without device events "
           "gives its JSON and exit code 1.")};
#undef EK__T

static ek__reading first_process(const void *record, const ek__owner *of)
{
    const ek_trace_counts *counts = record;
    int64_t sum = 0;
    (void)of;
    for (int i = 0; i < counts->n_processes; i++)
        if (counts->process[i].pid && strcmp(counts->process[i].pid, "1") == 0)
            sum = ek__sum(sum, counts->process[i].total_ns);
    return (ek__reading){.number = sum};
}

static ek__reading threads(const void *record, const ek__owner *of)
{
    const ek_trace_counts *counts = record;
    int64_t n = 0;
    (void)of;
    for (int i = 0; i < counts->n_processes; i++)
        n += counts->process[i].n_threads;
    return (ek__reading){.number = n};
}

#define EK__T int64_t
CONDITION(has_events, *it > 0);
WRITER(phase, snprintf(text, room, "%c", of->number));
#undef EK__T

#define EK__T ek_trace_category
CONDITION(is_complete, it->n_complete > 0);
static const ek__member category[] = {{"", COUNT(n_complete), "complete events"}};
static const ek__fields categories = {FIELDS(category, NULL, NULL)};
#undef EK__T

#define EK__T ek_trace_step
CONDITION(is_marked, it->name[0] && !it->from_table);
static const ek__member step_name[] = {{"", TEXT(name), "of a step", .numeral = true}};
static const ek__fields step_names = {FIELDS(step_name, NULL, NULL)};
#undef EK__T

#define EK__T ek_trace_counts
FINDER(phases, it->by_phase);
COUNTER(n_phases, sizeof it->by_phase / sizeof *it->by_phase);
FINDER(steps, of->rank->step);
COUNTER(n_steps, of->rank->n_steps);
static const ek__member count[] = {
    {"items", COUNT(n_items), "entries of the event array; those that are no events too"},
    {"events", COUNT(n_items), "the same"},
    {"by_ph", FOUND_SHORT_MAP(phases, n_phases, ek__list_of_long_integers), "by the letter of `ph`",
     .shown = has_events, .compose = phase},
    {"complete_events_by_process", OWN("object of integers"), "by process name"},
    {"complete_by_cat", SHORT_MAP(n_categories, category, categories), "by category", .shown = is_complete},
    {"by_pid", OWN("object of integers"), "by process id"},
    {"pid1_total_us", GET(NS, first_process), "time of the events of process 1"},
    {"distinct_tids", GET(COUNT, threads), "threads of all processes"},
    {"left_out", COUNT(n_odd),
     "events without usable name, time or duration, halves, and entries that are no events; a "
     "missing or negative duration is taken as 0"},
    {"unmatched", COUNT(n_unmatched), "of those: begins and ends (`ph` B and E) without their other half"},
    {"negative_durations", COUNT(n_negative), "complete events with a negative duration, which is taken as 0"},
    {"doubled", COUNT(n_doubled),
     "events of the device that are there twice, with the same begin and end; they count once"},
    {"rank", NUMBER(rank), "as in the file"},
    {"world_size", SIZE(world_size), "the same"},
    {"profiler_steps", FOUND_SHORT_LIST(steps, n_steps, step_names), "names of the steps that events mark",
     .shown = is_marked},
};
const ek__fields ek__trace_counts = {FIELDS(count, "ranks[].event_counts", NULL)};
#undef EK__T

/* ---- places in the timeline ---- */

#define EK__T ek_trace_host_gap
LOCATOR(locate_gap, out->start = it->start; out->end = it->end);
#undef EK__T

#define EK__T ek_trace_mark
LOCATOR(locate_mark, out->start = it->start; out->end = it->end; out->name = it->name);
#undef EK__T

/* ---- tables ---- */

const ek__rows ek__host_rows[] = {
    {NULL, "host", "dispatch", "Does the host launch in time?", "rank", "Rank", EK__KEY_RANK,
     .fields = &ek__trace_dispatch, RANK_STRUCT(dispatch), .shown = has_dispatch, .sort = 1},
    {NULL, "host", "queue", "How long launched work waits for the device", "rank", "Rank", EK__KEY_RANK,
     .fields = &ek__trace_queue, RANK_STRUCT(queue), .shown = has_launches, .sort = 1},
    {NULL, "host", "gaps", "Longest stretches in which the device waited for the host", "number", "No.", EK__KEY_NUMBER,
     .fields = &gaps, RANK_LIST(dispatch.n_gaps, dispatch.gap), .locate = locate_gap, .sort = 2},
    {NULL, "host", "idle", "Idle time of the device by cause", "rank", "Rank", EK__KEY_RANK, .fields = &ek__trace_idle,
     RANK_STRUCT(idle), .shown = is_idle, .sort = 2},
    {"idle", "host", "streams", "Idle time of streams by cause", .rank_column = 2, .fields = &ek__trace_stream,
     RANK_LIST(idle.n_streams, idle.stream)},
    {NULL, "host", "iterators", "Data loading on the host", .rank_column = 2, .fields = &iterators,
     RANK_LIST(data.n_iterators, data.iterator), .sort = 3},
    {NULL, "host", "data", "The data pipeline", .rank_column = 2, .fields = &operations,
     RANK_LIST(data.n_ops, data.op)},
    {NULL, "host", "marks", "Marks of the program", "number", "No.", EK__KEY_NUMBER, .fields = &ek__trace_mark,
     RANK_LIST(n_marks, mark), .locate = locate_mark},
    {"sources", "files", "files", "Files read", .fields = &ek__trace_source, RANK_LIST(n_sources, source)},
};
const int ek__n_host_rows = sizeof ek__host_rows / sizeof *ek__host_rows;
