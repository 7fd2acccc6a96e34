/* A run's traces as JSON, by docs/trace-json.md: what every rank holds, then what only the ranks together can say. It
 * is printed as it goes, so that a run of many ranks needs no second copy in memory. */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "report/json_stream.h"
#include "report/report_internal.h"
#include "report/trace_internal.h"

enum { MAX_COLLECTIVES = 10000 }; /* of a rank, listed one by one; the sums hold all of them */

/* A step's name as a number where it is one. */
static void put_step(ek__stream *s, const char *key, const char *name)
{
    size_t n = strlen(name);
    if (n > 0 && n < 19 && strspn(name, "0123456789") == n)
        ek__stream_int(s, key, strtoll(name, NULL, 10));
    else
        ek__stream_text(s, key, name);
}

/* ---- breakdowns ---- */

/* Kineto's words, all in microseconds. */
static void put_device(ek__stream *s, const char *key, const ek_trace_breakdown *b)
{
    ek__stream_object(s, key, false);
    ek__stream_int(s, "n_gpu_events", b->n_events);
    ek__stream_us(s, "computation", b->computing);
    ek__stream_us(s, "communication", b->communication);
    ek__stream_us(s, "exposed_communication", b->communication_not_overlapped);
    ek__stream_us(s, "overlapped_communication", b->overlapped);
    ek__stream_us(s, "memcpy", b->copy);
    ek__stream_us(s, "exposed_memcpy", b->copy_not_overlapped);
    ek__stream_us(s, "busy", b->busy);
    ek__stream_us(s, "idle", b->free);
    ek__stream_us(s, "total", b->total);
    ek__stream_end(s);
}

/* Ascend's words, into an object that is open. */
static void put_parts(ek__stream *s, const ek_trace_breakdown *b)
{
    ek__stream_us(s, "computing_us", b->computing);
    ek__stream_us(s, "communication_us", b->communication);
    ek__stream_us(s, "communication_not_overlapped_us", b->communication_not_overlapped);
    ek__stream_us(s, "overlapped_us", b->overlapped);
    ek__stream_us(s, "copy_us", b->copy);
    ek__stream_us(s, "copy_not_overlapped_us", b->copy_not_overlapped);
    ek__stream_us(s, "busy_us", b->busy);
    ek__stream_us(s, "free_us", b->free);
    ek__stream_us(s, "total_us", b->total);
    ek__stream_int(s, "n_events", b->n_events);
}

static void put_breakdown(ek__stream *s, const char *key, const ek_trace_breakdown *b)
{
    ek__stream_object(s, key, false);
    put_parts(s, b);
    ek__stream_end(s);
}

/* ---- what is in the files ---- */

static void put_sources(ek__stream *s, const ek_trace_rank *rank)
{
    ek__stream_list(s, "sources", true);
    for (int i = 0; i < rank->n_sources; i++) {
        const ek_trace_source *source = &rank->source[i];
        ek__stream_object(s, NULL, false);
        ek__stream_text(s, "path", source->path);
        ek__stream_text(s, "type", source->type);
        ek__stream_int(s, "bytes", source->bytes);
        ek__stream_int(s, "items", source->items);
        ek__stream_text(s, "problem", source->problem);
        ek__stream_int(s, "problem_offset", source->problem ? source->problem_offset : INT64_MIN);
        ek__stream_end(s);
    }
    ek__stream_end(s);
}

static int by_name(const void *a, const void *b)
{
    const ek_trace_process *p = a, *q = b;
    return strcmp(p->name ? p->name : "", q->name ? q->name : "");
}

static int by_pid(const void *a, const void *b)
{
    const ek_trace_process *p = a, *q = b;
    return strcmp(p->pid ? p->pid : "", q->pid ? q->pid : "");
}

/* Events of processes that go by one name, or one pid, as one. `process` is sorted so; without a name none is listed.
 */
static void put_processes(ek__stream *s, const char *key, const ek_trace_process *process, int n, bool names)
{
    ek__stream_object(s, key, false);
    for (int i = 0, next; i < n; i = next) {
        int64_t events = 0;
        const char *label = names ? process[i].name : process[i].pid;
        for (next = i; next < n && (names ? by_name : by_pid)(&process[i], &process[next]) == 0; next++)
            events = ek__sum(events, process[next].n_complete);
        if (label && events > 0)
            ek__stream_int(s, label, events);
    }
    ek__stream_end(s);
}

static void put_phases(ek__stream *s, const ek_trace_counts *counts)
{
    ek__stream_object(s, "by_ph", false);
    for (int i = 0; i < 128; i++)
        if (counts->by_phase[i] > 0) {
            char letter[2] = {(char)i, '\0'};
            ek__stream_int(s, i ? letter : "", counts->by_phase[i]);
        }
    ek__stream_end(s);
}

static ek_status put_counts(ek__stream *s, const ek_trace_rank *rank, ek_error *err)
{
    const ek_trace_counts *counts = &rank->counts;
    int n = counts->n_processes;
    int64_t threads = 0, pid1 = 0;
    ek_trace_process *sorted = ek__alloc((size_t)n, sizeof *sorted);
    if (!sorted)
        return ek__no_memory(err);
    if (n > 0)
        memcpy(sorted, counts->process, (size_t)n * sizeof *sorted);
    for (int i = 0; i < n; i++) {
        threads += sorted[i].n_threads;
        if (sorted[i].pid && strcmp(sorted[i].pid, "1") == 0)
            pid1 = ek__sum(pid1, sorted[i].total_ns);
    }
    ek__stream_object(s, "event_counts", false);
    ek__stream_int(s, "items", counts->n_items);
    ek__stream_int(s, "events", counts->n_items);
    put_phases(s, counts);
    qsort(sorted, (size_t)n, sizeof *sorted, by_name);
    put_processes(s, "complete_events_by_process", sorted, n, true);
    ek__stream_object(s, "complete_by_cat", false);
    for (int i = 0; i < counts->n_categories; i++)
        if (counts->category[i].n_complete > 0)
            ek__stream_int(s, counts->category[i].name, counts->category[i].n_complete);
    ek__stream_end(s);
    qsort(sorted, (size_t)n, sizeof *sorted, by_pid);
    put_processes(s, "by_pid", sorted, n, false);
    ek__stream_us(s, "pid1_total_us", pid1);
    ek__stream_int(s, "distinct_tids", threads);
    ek__stream_int(s, "left_out", counts->n_odd);
    ek__stream_int(s, "unmatched", counts->n_unmatched);
    ek__stream_from(s, "rank", rank->counts.rank, 0);
    ek__stream_from(s, "world_size", rank->counts.world_size, 1);
    ek__stream_list(s, "profiler_steps", false);
    for (int i = 0; i < rank->n_steps; i++)
        if (rank->step[i].name[0] && !rank->step[i].from_table)
            put_step(s, NULL, rank->step[i].name);
    ek__stream_end(s);
    ek__stream_end(s);
    free(sorted);
    return EK_OK;
}

/* ---- steps ---- */

/* As the producer's table prints it; without the table what it would print. */
static int64_t printed(int64_t table, int64_t computed)
{
    return table == EK_TRACE_UNKNOWN || table == 0 ? computed : table;
}

static void put_step_fields(ek__stream *s, const ek_trace_rank *rank, const ek_trace_step *step)
{
    bool begin_to_begin;
    int64_t length = ek_trace_step_length(rank, (int)(step - rank->step), &begin_to_begin);
    ek__stream_text(s, "step", step->name);
    ek__stream_bool(s, "warm_up", step->warm_up);
    ek__stream_bool(s, "from_table", step->from_table);
    ek__stream_text(s, "source", step->source);
    ek__stream_us(s, "start_us", step->start);
    ek__stream_us(s, "end_us", step->end);
    ek__stream_us(s, "host_start_us", step->host_start);
    ek__stream_us(s, "host_step_us", step->host_step);
    ek__stream_us(s, "length_us", length);
    ek__stream_bool(s, "begin_to_begin", begin_to_begin);
    put_parts(s, &step->own);
    ek__stream_text(s, "producer_definition", step->producer_definition);
    ek__stream_us(s, "stage_us", step->stage);
    ek__stream_us(s, "bubble_us", step->bubble);
    ek__stream_us(s, "preparing_us", step->preparing);
    ek__stream_us(s, "exclude_receive_us", step->exclude_receive);
    ek__stream_us(s, "csv_stage_us", printed(step->table_stage, step->stage));
    ek__stream_us(s, "csv_preparing_us", printed(step->table_preparing, step->preparing));
    ek__stream_us(s, "device_span_us", step->span);
    ek__stream_us(s, "pipeline_wait_us", step->pipeline_wait);
    ek__stream_us(s, "own_stage_us", step->own_stage);
    ek__stream_us(s, "data_loading_us", step->data_loading);
    ek__stream_us(s, "data_loading_idle_us", step->data_loading_idle);
    ek__stream_us(s, "host_bound_us", step->host_bound);
    ek__stream_us(s, "device_bound_us", step->device_bound);
    ek__stream_us(s, "unlinked_us", step->unlinked);
    ek__stream_us(s, "iteration_time_us", rank->producer == EK_PRODUCER_MSPROF ? step->host_step : EK_TRACE_UNKNOWN);
    ek__stream_us(s, "scope_default_busy_us", step->scope_default_busy);
    ek__stream_us(s, "scope_gradients_busy_us", step->scope_gradients_busy);
}

/* MindSpore of 2020 to 2023: the columns of step_trace_raw and ascend_cluster_analyse, in their milliseconds. */
static void put_step_trace(ek__stream *s, const ek_trace_step *step)
{
    ek__stream_object(s, "step_trace", false);
    ek__stream_ms(s, "iteration_interval_ms", step->iteration_interval);
    ek__stream_ms(s, "fp_and_bp_ms", step->fp_and_bp);
    ek__stream_ms(s, "tail_ms", step->tail);
    ek__stream_ms(s, "computation_time_ms", step->own.computing);
    ek__stream_ms(s, "communication_alone_time_ms", step->communication_alone);
    ek__stream_ms(s, "stage_time_ms", step->stage);
    ek__stream_ms(s, "receive_alone_time_ms", step->receive_alone);
    ek__stream_ms(s, "collective_communication_alone_time_ms", step->collective_alone);
    ek__stream_end(s);
}

static void put_steps(ek__stream *s, const ek_trace_rank *rank, const ek_trace_view *view)
{
    ek__stream_list(s, "steps", true);
    for (int i = 0; i < rank->n_steps; i++) {
        const ek_trace_step *step = &rank->step[i];
        if (!ek__view_shows_step(view, step))
            continue;
        ek__stream_object(s, NULL, false);
        put_step_fields(s, rank, step);
        put_breakdown(s, "raw", &step->raw);
        put_device(s, "device_breakdown", &step->own);
        put_step_trace(s, step);
        ek__stream_end(s);
    }
    ek__stream_end(s);
    ek__stream_int(s, "events_outside_steps", rank->n_outside_steps);
}

static void put_pipeline(ek__stream *s, const ek_trace_rank *rank, const ek_trace_view *view)
{
    ek__stream_object(s, "pipeline_intervals", false);
    ek__stream_list(s, "steps", true);
    for (int i = 0; i < rank->n_steps; i++) {
        const ek_trace_step *step = &rank->step[i];
        if (!ek__view_shows_step(view, step))
            continue;
        ek__stream_object(s, NULL, false);
        put_step(s, "step", step->name);
        ek__stream_us(s, "computing", step->own.computing);
        ek__stream_us(s, "communication", step->own.communication);
        ek__stream_us(s, "not_overlapped", step->own.communication_not_overlapped);
        ek__stream_us(s, "free_us", step->own.free);
        ek__stream_us(s, "device_span_us", step->span);
        ek__stream_us(s, "preparing_us", step->preparing);
        ek__stream_int(s, "receive_count", step->n_receives);
        ek__stream_us(s, "receive_us", step->receive);
        ek__stream_us(s, "receive_exposed_us", step->receive_exposed);
        ek__stream_int(s, "send_count", step->n_sends);
        ek__stream_us(s, "send_us", step->send);
        ek__stream_us(s, "pipeline_wait_us", step->pipeline_wait);
        ek__stream_end(s);
    }
    ek__stream_end(s);
    ek__stream_end(s);
}

/* ---- idle time, host ---- */

static void put_idle(ek__stream *s, const ek_trace_idle *idle)
{
    ek__stream_object(s, "idle_attribution", false);
    ek__stream_int(s, "free_intervals", idle->n_intervals);
    ek__stream_us(s, "host_bound_us", idle->host_bound);
    ek__stream_int(s, "host_bound_count", idle->n_host_bound);
    ek__stream_us(s, "device_bound_us", idle->device_bound);
    ek__stream_int(s, "device_bound_count", idle->n_device_bound);
    ek__stream_us(s, "unlinked_us", idle->unlinked);
    ek__stream_int(s, "unlinked_count", idle->n_unlinked);
    ek__stream_int(s, "linked_device_tasks", idle->n_linked_tasks);
    ek__stream_int(s, "device_tasks", idle->n_tasks);
    ek__stream_object(s, "streams", true);
    for (int i = 0; i < idle->n_streams; i++) {
        const ek_trace_stream_idle *stream = &idle->stream[i];
        char key[256];
        snprintf(key, sizeof key, "%s/%s", stream->pid ? stream->pid : "", stream->tid ? stream->tid : "");
        ek__stream_object(s, key, false);
        ek__stream_int(s, "events", stream->n_events);
        ek__stream_us(s, "host_wait", stream->host_wait);
        ek__stream_us(s, "kernel_wait", stream->kernel_wait);
        ek__stream_us(s, "other", stream->other);
        ek__stream_int(s, "n_host_wait", stream->n_host_wait);
        ek__stream_int(s, "n_kernel_wait", stream->n_kernel_wait);
        ek__stream_int(s, "n_other", stream->n_other);
        ek__stream_int(s, "no_launch", stream->n_no_launch);
        ek__stream_end(s);
    }
    ek__stream_end(s);
    ek__stream_end(s);
}

static void put_dispatch(ek__stream *s, const ek_trace_dispatch *dispatch)
{
    ek__stream_object(s, "host_dispatch", false);
    ek__stream_int(s, "node_launch", dispatch->n_node_launch);
    ek__stream_int(s, "enqueue", dispatch->n_enqueue);
    ek__stream_int(s, "dequeue", dispatch->n_dequeue);
    ek__stream_int(s, "compile", dispatch->n_compile);
    ek__stream_int(s, "synchronize", dispatch->n_synchronize);
    ek__stream_int(s, "launch", dispatch->n_launch);
    ek__stream_int(s, "garbage_collection", dispatch->n_gc);
    ek__stream_us(s, "host_bound_us", dispatch->host_bound);
    ek__stream_us(s, "idle_us", dispatch->idle);
    ek__stream_us(s, "step_us", dispatch->step_time);
    ek__stream_real(s, "share", dispatch->share);
    ek__stream_bool(s, "host_bound", dispatch->is_host_bound);
    ek__stream_text(s, "cause", dispatch->cause);
    ek__stream_end(s);
}

/* ---- layers ---- */

static void put_pass(ek__stream *s, const char *key, const ek_trace_pass *pass)
{
    ek__stream_object(s, key, false);
    ek__stream_int(s, "n", pass->n);
    bool none = pass->n == 0;
    ek__stream_mean_us(s, "wall_mean_us", none ? NAN : pass->wall_mean);
    ek__stream_mean_us(s, "wall_median_us", none ? NAN : pass->wall_median);
    ek__stream_mean_us(s, "wall_min_us", none ? NAN : pass->wall_min);
    ek__stream_mean_us(s, "wall_max_us", none ? NAN : pass->wall_max);
    ek__stream_mean_us(s, "wall_deviation_us", none ? NAN : pass->wall_deviation);
    ek__stream_mean_us(s, "busy_mean_us", none ? NAN : pass->busy_mean);
    ek__stream_mean_us(s, "busy_median_us", none ? NAN : pass->busy_median);
    ek__stream_end(s);
}

static double ratio(const ek_trace_pass *part, const ek_trace_pass *whole)
{
    return part->n > 0 && whole->n > 0 && whole->wall_mean > 0 ? part->wall_mean / whole->wall_mean : NAN;
}

static void put_layers(ek__stream *s, const ek_trace_layers *layers)
{
    ek__stream_list(s, "layers", true);
    for (int i = 0; i < layers->n; i++) {
        const ek_trace_layer *layer = &layers->layer[i];
        ek__stream_object(s, NULL, false);
        ek__stream_text(s, "name", layer->name);
        ek__stream_text(s, "kind", layer->kind);
        ek__stream_from(s, "index", layer->index, 0);
        ek__stream_text(s, "role", ek_trace_role_name[layer->role]);
        ek__stream_int(s, "instances", layer->n_instances);
        ek__stream_mean_us(s, "forward_us", layer->forward.n ? layer->forward.wall_mean : NAN);
        ek__stream_mean_us(s, "recompute_us", layer->recompute.n ? layer->recompute.wall_mean : NAN);
        ek__stream_mean_us(s, "backward_us", layer->backward.n ? layer->backward.wall_mean : NAN);
        ek__stream_real(s, "backward_over_forward", ratio(&layer->backward, &layer->forward));
        ek__stream_real(s, "recompute_over_forward", ratio(&layer->recompute, &layer->forward));
        put_pass(s, "forward", &layer->forward);
        put_pass(s, "recompute", &layer->recompute);
        put_pass(s, "backward", &layer->backward);
        ek__stream_end(s);
    }
    ek__stream_end(s);
}

static void put_short_pass(ek__stream *s, const char *key, const ek_trace_pass *pass)
{
    if (pass->n == 0)
        return;
    ek__stream_object(s, key, false);
    ek__stream_mean_us(s, "wall_us", pass->wall_mean);
    ek__stream_mean_us(s, "busy_us", pass->busy_mean);
    ek__stream_int(s, "n", pass->n);
    ek__stream_end(s);
}

/* A body layer with a number, by which layers are listed. */
typedef struct numbered {
    int index, at;
} numbered;

static int by_index(const void *a, const void *b)
{
    const numbered *x = a, *y = b;
    if (x->index != y->index)
        return x->index < y->index ? -1 : 1;
    return (x->at > y->at) - (x->at < y->at);
}

/* Which layers are the first body layer of their number: those are called by it, others by name. NULL when memory is
 * out; the caller frees it. O(n log n). */
static bool *called_by_number(const ek_trace_layers *layers)
{
    bool *first = ek__alloc((size_t)layers->n, sizeof *first);
    numbered *sorted = ek__alloc((size_t)layers->n, sizeof *sorted);
    int n = 0;
    for (int i = 0; first && sorted && i < layers->n; i++)
        if (layers->layer[i].role == EK_TRACE_BODY && layers->layer[i].index >= 0)
            sorted[n++] = (numbered){layers->layer[i].index, i};
    if (n > 0)
        qsort(sorted, (size_t)n, sizeof *sorted, by_index);
    for (int i = 0; i < n; i++)
        first[sorted[i].at] = i == 0 || sorted[i].index != sorted[i - 1].index;
    if (!sorted) {
        free(first);
        first = NULL;
    }
    free(sorted);
    return first;
}

static ek_status put_layer_times(ek__stream *s, const ek_trace_layers *layers, ek_error *err)
{
    bool *by_number = called_by_number(layers);
    if (!by_number)
        return ek__no_memory(err);
    ek__stream_object(s, "layer_times", false);
    ek__stream_from(s, "micro_batches", layers->n_micro_batches, 1);
    ek__stream_int(s, "steps", layers->n_steps);
    ek__stream_text(s, "source", layers->source);
    ek__stream_list(s, "recomputed_layers", false);
    for (int i = 0; i < layers->n; i++)
        if (layers->layer[i].role == EK_TRACE_BODY && layers->layer[i].recompute.n > 0) {
            if (layers->layer[i].index >= 0)
                ek__stream_int(s, NULL, layers->layer[i].index);
            else
                ek__stream_text(s, NULL, layers->layer[i].name);
        }
    ek__stream_end(s);
    ek__stream_object(s, "layers", true);
    for (int i = 0; i < layers->n; i++) {
        const ek_trace_layer *layer = &layers->layer[i];
        char number[16];
        snprintf(number, sizeof number, "%d", layer->index);
        ek__stream_object(s, by_number[i] ? number : layer->name, false);
        ek__stream_text(s, "name", layer->name);
        ek__stream_text(s, "role", ek_trace_role_name[layer->role]);
        put_short_pass(s, "fwd", &layer->forward);
        put_short_pass(s, "rec", &layer->recompute);
        put_short_pass(s, "bwd", &layer->backward);
        ek__stream_end(s);
    }
    ek__stream_end(s);
    ek__stream_end(s);
    free(by_number);
    return EK_OK;
}

/* ---- operators ---- */

static void put_operator(ek__stream *s, const ek_trace_operator *op)
{
    ek__stream_object(s, NULL, false);
    ek__stream_text(s, "name", op->name);
    ek__stream_text(s, "type", op->type);
    ek__stream_text(s, "core", op->core);
    ek__stream_int(s, "count", op->count);
    ek__stream_us(s, "total_us", op->total);
    ek__stream_us(s, "min_us", op->min);
    ek__stream_mean_us(s, "avg_us", op->average);
    ek__stream_us(s, "max_us", op->max);
    ek__stream_us(s, "wait_us", op->wait);
    ek__stream_real(s, "ratio_pct", op->ratio);
    ek__stream_text(s, "family", op->family);
    ek__stream_end(s);
}

static void put_operator_list(ek__stream *s, const char *key, const ek_trace_operator *op, int n)
{
    ek__stream_list(s, key, true);
    for (int i = 0; i < n; i++)
        put_operator(s, &op[i]);
    ek__stream_end(s);
}

static bool is_kernel(const ek_trace_operator *op)
{
    return op->type && strcmp(op->type, "kernel") == 0;
}

/* Kineto's kernels; for Ascend every operator. */
static void put_kernels(ek__stream *s, const ek_trace_operators *ops, bool kineto)
{
    int64_t distinct = 0, count = 0, total = 0;
    for (int i = 0; i < ops->n; i++)
        if (!kineto || is_kernel(&ops->op[i])) {
            distinct++;
            count += ops->op[i].count;
            total = ek__sum(total, ek__known(ops->op[i].total));
        }
    ek__stream_int(s, "distinct", distinct);
    ek__stream_int(s, "total_count", count);
    ek__stream_us(s, "total_us", total);
    ek__stream_list(s, "top", true);
    for (int i = 0; i < ops->n; i++) {
        const ek_trace_operator *op = &ops->op[i];
        if (kineto && !is_kernel(op))
            continue;
        ek__stream_object(s, NULL, false);
        ek__stream_text(s, "name", op->name);
        ek__stream_int(s, "count", op->count);
        ek__stream_us(s, "total_us", op->total);
        ek__stream_us(s, "min_us", op->min);
        ek__stream_us(s, "max_us", op->max);
        ek__stream_end(s);
    }
    ek__stream_end(s);
}

static void put_kernel_totals(ek__stream *s, const ek_trace_operators *ops, bool kineto)
{
    ek__stream_object(s, "kernel_totals", false);
    ek__stream_int(s, "rows", ops->n_rows);
    ek__stream_object(s, "by_core", false);
    for (int i = 0; i < ops->n_cores; i++) {
        ek__stream_object(s, ops->core[i].name, false);
        ek__stream_int(s, "count", ops->core[i].count);
        ek__stream_us(s, "total_us", ops->core[i].total);
        ek__stream_end(s);
    }
    ek__stream_end(s);
    ek__stream_list(s, "top_types", true);
    for (int i = 0; i < ops->n_types; i++) {
        ek__stream_object(s, NULL, false);
        ek__stream_text(s, "type", ops->type[i].name);
        ek__stream_int(s, "count", ops->type[i].count);
        ek__stream_us(s, "total_us", ops->type[i].total);
        ek__stream_end(s);
    }
    ek__stream_end(s);
    put_kernels(s, ops, kineto);
    ek__stream_end(s);
}

static void put_top_operators(ek__stream *s, const ek_trace_operators *ops)
{
    ek__stream_object(s, "top_operators", false);
    ek__stream_text(s, "source", ops->source);
    ek__stream_int(s, "rows", ops->n);
    ek__stream_int(s, "executions", ops->n_executions);
    ek__stream_us(s, "total_us", ops->total);
    ek__stream_real(s, "share_matmul", ops->share_matmul);
    ek__stream_real(s, "share_attention", ops->share_attention);
    ek__stream_real(s, "share_vector", ops->share_vector);
    put_operator_list(s, "top", ops->op, ops->n);
    put_operator_list(s, "op_statistic", ops->table, ops->n_table);
    ek__stream_list(s, "outliers", true);
    for (int i = 0; i < ops->n_outliers; i++) {
        const ek_trace_outlier *outlier = &ops->outlier[i];
        ek__stream_object(s, NULL, false);
        ek__stream_text(s, "name", outlier->name);
        ek__stream_text(s, "type", outlier->type);
        ek__stream_text(s, "core", outlier->core);
        ek__stream_text(s, "shape", outlier->shape);
        ek__stream_us(s, "start_us", outlier->start);
        ek__stream_us(s, "duration_us", outlier->duration);
        ek__stream_us(s, "expected_us", outlier->expected);
        ek__stream_int(s, "n_kind", outlier->n_kind);
        ek__stream_bool(s, "shapes_unknown", outlier->shapes_unknown);
        ek__stream_end(s);
    }
    ek__stream_end(s);
    ek__stream_end(s);
}

/* ---- communication ---- */

static int by_key(const void *a, const void *b)
{
    const ek_trace_collective_sum *p = a, *q = b;
    return strcmp(p->key, q->key);
}

/* Sums of one key over its groups: keys of an object must differ. */
static ek_status put_collective_table(ek__stream *s, const ek_trace_communication *c, ek_error *err)
{
    int n = c->n_sums;
    ek_trace_collective_sum *sorted = ek__alloc((size_t)n, sizeof *sorted);
    if (!sorted)
        return ek__no_memory(err);
    if (n > 0)
        memcpy(sorted, c->sum, (size_t)n * sizeof *sorted);
    qsort(sorted, (size_t)n, sizeof *sorted, by_key);
    ek__stream_object(s, "collective_table", true);
    for (int i = 0, next; i < n; i = next) {
        int64_t count = 0, total = 0, exposed = 0;
        for (next = i; next < n && by_key(&sorted[i], &sorted[next]) == 0; next++) {
            count += sorted[next].count;
            total = ek__sum(total, ek__known(sorted[next].total));
            exposed = ek__sum(exposed, ek__known(sorted[next].exposed));
        }
        ek__stream_object(s, sorted[i].key, false);
        ek__stream_int(s, "count", count);
        ek__stream_us(s, "total_us", total);
        ek__stream_us(s, "exposed_us", exposed);
        ek__stream_end(s);
    }
    ek__stream_end(s);
    free(sorted);
    return EK_OK;
}

static void put_collective_sums(ek__stream *s, const ek_trace_communication *c)
{
    ek__stream_list(s, "collective_sums", true);
    for (int i = 0; i < c->n_sums; i++) {
        const ek_trace_collective_sum *sum = &c->sum[i];
        ek__stream_object(s, NULL, false);
        ek__stream_text(s, "key", sum->key);
        ek__stream_text(s, "group", sum->group);
        ek__stream_int(s, "count", sum->count);
        ek__stream_us(s, "total_us", sum->total);
        ek__stream_us(s, "exposed_us", sum->exposed);
        ek__stream_from(s, "bytes", sum->bytes, 0);
        ek__stream_real(s, "bandwidth_gbps", sum->bandwidth_gbps);
        ek__stream_end(s);
    }
    ek__stream_end(s);
}

static void put_collectives(ek__stream *s, const ek_trace_rank *rank)
{
    static const char *const exchange[EK_N_EXCHANGES] = {NULL, "p2p", "collective", "unclear"};
    const ek_trace_communication *c = &rank->communication;
    ek__stream_int(s, "n_collectives", c->n_collectives);
    ek__stream_list(s, "collectives", true);
    for (int i = 0; i < c->n_collectives && i < MAX_COLLECTIVES; i++) {
        const ek_trace_collective *one = &c->collective[i];
        bool inside = one->step >= 0 && one->step < rank->n_steps;
        ek__stream_object(s, NULL, false);
        ek__stream_text(s, "name", one->name);
        ek__stream_text(s, "group", one->group);
        ek__stream_text(s, "step", inside ? rank->step[one->step].name : NULL);
        ek__stream_us(s, "start_us", one->start);
        ek__stream_us(s, "duration_us", one->duration);
        ek__stream_us(s, "exposed_us", one->exposed);
        ek__stream_us(s, "transit_us", one->transit);
        ek__stream_text(s, "exchange", exchange[one->p2p ? EK_EXCHANGE_P2P : one->exchange]);
        ek__stream_end(s);
    }
    ek__stream_end(s);
}

static void put_exposure(ek__stream *s, const ek_trace_exposure *e)
{
    ek__stream_object(s, "exposure", true);
    ek__stream_us(s, "exposed_us", e->exposed);
    ek__stream_us(s, "transfer_us", e->transfer);
    ek__stream_us(s, "wait_us", e->wait);
    ek__stream_us(s, "unknown_us", e->unknown);
    ek__stream_bool(s, "at_most", e->at_most);
    ek__stream_end(s);
}

static void put_comm_sums(ek__stream *s, const ek_trace_comm_sum *sum, int n, bool p2p)
{
    ek__stream_object(s, p2p ? "p2p" : "collective", false);
    for (int i = 0; i < n; i++) {
        if (sum[i].p2p != p2p)
            continue;
        ek__stream_object(s, sum[i].key, false);
        ek__stream_int(s, "count", sum[i].count);
        ek__stream_real(s, "elapse_ms", sum[i].elapse_ms);
        ek__stream_real(s, "transit_ms", sum[i].transit_ms);
        ek__stream_real(s, "wait_ms", sum[i].wait_ms);
        ek__stream_real(s, "idle_ms", sum[i].idle_ms);
        ek__stream_real(s, "synchronization_ms", sum[i].synchronization_ms);
        ek__stream_real(s, "size_mb", sum[i].size_mb);
        ek__stream_end(s);
    }
    ek__stream_end(s);
}

/* Rows of one step follow one another, as in the file. */
static void put_comm_summary(ek__stream *s, const ek_trace_communication *c)
{
    ek__stream_object(s, "comm_summary", true);
    for (int i = 0, next; i < c->n_comm_sums; i = next) {
        const ek_trace_comm_sum *first = &c->comm_sum[i];
        for (next = i + 1; next < c->n_comm_sums && strcmp(first->step, c->comm_sum[next].step) == 0;)
            next++;
        ek__stream_object(s, first->step, false);
        put_comm_sums(s, first, next - i, true);
        put_comm_sums(s, first, next - i, false);
        ek__stream_end(s);
    }
    ek__stream_end(s);
}

void ek__put_link(ek__stream *s, const char *key, const ek_trace_link *link)
{
    ek__stream_object(s, key, false);
    ek__stream_text(s, "transport", link->transport);
    ek__stream_fixed(s, "time_ms", link->time_ms, 6); /* nanoseconds */
    ek__stream_real(s, "size_mb", link->size_mb);
    ek__stream_real(s, "gbps", link->bandwidth_gbps);
    ek__stream_real(s, "size_kb", link->size_kb);
    ek__stream_real(s, "bytes_per_s", link->bytes_per_s);
    ek__stream_bool(s, "ranked", link->ranked);
    ek__stream_bool(s, "slow", link->slow);
    ek__stream_end(s);
}

static void put_end_of(ek__stream *s, const char *key, const ek_trace_communication *c, int i)
{
    if (i < 0 || i >= c->n_links) {
        ek__stream_null(s, key);
        return;
    }
    ek__stream_object(s, key, false);
    ek__stream_text(s, "link", c->link[i].link);
    ek__stream_real(s, "gbps", c->link[i].bandwidth_gbps);
    ek__stream_end(s);
}

static void put_links(ek__stream *s, const ek_trace_communication *c)
{
    ek__stream_object(s, "link_bandwidth", true);
    for (int i = 0; i < c->n_transports; i++) {
        const ek_trace_transport *transport = &c->transport[i];
        ek__stream_object(s, transport->name, false);
        ek__stream_int(s, "links", transport->n_links);
        ek__stream_int(s, "ranked_links", transport->n_ranked);
        ek__stream_real(s, "total_size_mb", transport->total_size_mb);
        ek__stream_real(s, "mean_gbps", transport->mean_gbps);
        put_end_of(s, "slowest", c, transport->slowest);
        put_end_of(s, "fastest", c, transport->fastest);
        ek__stream_end(s);
    }
    ek__stream_end(s);
    ek__stream_object(s, "links", true);
    for (int i = 0; i < c->n_links; i++)
        ek__put_link(s, c->link[i].link, &c->link[i]);
    ek__stream_end(s);
}

/* ---- data, memory, recomputation ---- */

static void put_data_ops(ek__stream *s, const ek_trace_data *data)
{
    ek__stream_list(s, "ops", true);
    for (int i = 0; i < data->n_ops; i++) {
        const ek_trace_data_op *op = &data->op[i];
        char parent[16];
        snprintf(parent, sizeof parent, "%d", op->parent);
        ek__stream_object(s, NULL, false);
        ek__stream_int(s, "id", op->id);
        ek__stream_text(s, "type", op->type);
        ek__stream_int(s, "workers", op->workers);
        ek__stream_real(s, "queue_average", op->queue_average);
        ek__stream_real(s, "queue_length", op->queue_length);
        ek__stream_real(s, "usage_rate", op->usage_rate);
        ek__stream_text(s, "parent", op->parent < 0 ? NULL : parent);
        ek__stream_end(s);
    }
    ek__stream_end(s);
}

static void put_data(ek__stream *s, const ek_trace_rank *rank)
{
    const ek_trace_data *data = &rank->data;
    int64_t count = 0;
    for (int i = 0; i < data->n_iterators; i++)
        count += data->iterator[i].count;
    ek__stream_object(s, "data_loading", false);
    ek__stream_int(s, "count", count);
    ek__stream_us(s, "total_us", data->total);
    ek__stream_real(s, "share_of_host_step", data->share_of_host_step);
    ek__stream_object(s, "iterators", false);
    for (int i = 0; i < data->n_iterators; i++) {
        ek__stream_object(s, data->iterator[i].name, false);
        ek__stream_int(s, "count", data->iterator[i].count);
        ek__stream_us(s, "total_us", data->iterator[i].total);
        ek__stream_end(s);
    }
    ek__stream_end(s);
    put_data_ops(s, data);
    ek__stream_bool(s, "near_empty_output_queue", data->near_empty_queue);
    ek__stream_bool(s, "near_full_output_queue", data->near_full_queue);
    ek__stream_real(s, "per_batch_ms", data->per_batch_ms);
    ek__stream_real(s, "per_pipeline_ms", data->per_pipeline_ms);
    ek__stream_real(s, "per_push_queue_ms", data->per_push_queue_ms);
    ek__stream_end(s);
}

static void put_allocations(ek__stream *s, const char *key, const ek_trace_allocation *allocation, int n, bool ticks)
{
    ek__stream_list(s, key, true);
    for (int i = 0; i < n; i++) {
        const ek_trace_allocation *one = &allocation[i];
        ek__stream_object(s, NULL, false);
        ek__stream_text(s, "name", one->name);
        ek__stream_real(s, "size_kb", one->size_kb);
        (ticks ? ek__stream_int : ek__stream_us)(s, ticks ? "start_tick" : "start_us", one->start);
        (ticks ? ek__stream_int : ek__stream_us)(s, ticks ? "end_tick" : "end_us", one->end);
        ek__stream_end(s);
    }
    ek__stream_end(s);
}

static void put_live(ek__stream *s, const char *key, const ek_trace_live *live, int n)
{
    ek__stream_object(s, key, false);
    for (int i = 0; i < n; i++)
        ek__stream_int(s, live[i].type, live[i].bytes);
    ek__stream_end(s);
}

static void put_tracker_sites(ek__stream *s, const ek_trace_tracker *tracker)
{
    ek__stream_list(s, "sites", true);
    for (int i = 0; i < tracker->n_sites; i++) {
        const ek_trace_tracker_site *site = &tracker->site[i];
        ek__stream_object(s, NULL, false);
        ek__stream_text(s, "place", site->place);
        ek__stream_text(s, "layer", site->layer);
        ek__stream_int(s, "live", site->n_live);
        ek__stream_int(s, "live_bytes", site->live_bytes);
        ek__stream_int(s, "held", site->n_held);
        ek__stream_int(s, "held_bytes", site->held_bytes);
        ek__stream_text(s, "last_user", site->last_user);
        ek__stream_int(s, "last_used_tick", site->last_used_tick);
        ek__stream_int(s, "released_tick", site->released_tick);
        ek__stream_int(s, "never_freed", site->n_never_freed);
        ek__stream_int(s, "never_freed_bytes", site->never_freed_bytes);
        ek__stream_int(s, "leaked", site->n_leaked);
        ek__stream_int(s, "leaked_bytes", site->leaked_bytes);
        ek__stream_end(s);
    }
    ek__stream_end(s);
}

static void put_tracker_steps(ek__stream *s, const ek_trace_tracker *tracker)
{
    ek__stream_list(s, "steps", false);
    for (int i = 0; i < tracker->n_steps; i++) {
        ek__stream_object(s, NULL, false);
        ek__stream_int(s, "tick", tracker->step[i].tick);
        ek__stream_int(s, "live_bytes", tracker->step[i].live_bytes);
        ek__stream_end(s);
    }
    ek__stream_end(s);
}

static void put_tracker(ek__stream *s, const ek_trace_tracker *tracker)
{
    if (tracker->n_rows == 0) {
        ek__stream_null(s, "tracker");
        return;
    }
    ek__stream_object(s, "tracker", false);
    ek__stream_int(s, "rows", tracker->n_rows);
    ek__stream_int(s, "pool_blocks", tracker->n_pool_blocks);
    ek__stream_int(s, "somas_rows", tracker->n_somas_rows);
    ek__stream_int(s, "peak_bytes", tracker->peak_bytes);
    ek__stream_int(s, "peak_tick", tracker->peak_tick);
    ek__stream_int(s, "never_freed_bytes", tracker->never_freed_bytes);
    ek__stream_int(s, "max_actual_peak_memory", tracker->max_actual_peak_bytes);
    ek__stream_int(s, "held_dead_bytes", tracker->held_dead_bytes);
    ek__stream_bool(s, "tells_users", tracker->tells_users);
    ek__stream_bool(s, "tells_stacks", tracker->tells_stacks);
    ek__stream_int(s, "held_bytes", tracker->held_bytes);
    ek__stream_int(s, "released_peak_bytes", tracker->released_peak_bytes);
    ek__stream_int(s, "never_freed_other_bytes", tracker->never_freed_other_bytes);
    ek__stream_int(s, "leaked_bytes", tracker->leaked_bytes);
    ek__stream_real(s, "growth_bytes", tracker->growth_bytes);
    ek__stream_bool(s, "grows", tracker->grows);
    put_tracker_steps(s, tracker);
    put_tracker_sites(s, tracker);
    put_live(s, "live_at_peak_by_type", tracker->live, tracker->n_live);
    put_live(s, "live_at_peak_by_layer", tracker->live_layer, tracker->n_live_layers);
    put_allocations(s, "largest", tracker->largest, tracker->n_largest, true);
    ek__stream_end(s);
}

/* npu_module_mem: what the driver's modules reserve. */
static void put_modules(ek__stream *s, const ek_trace_memory *memory)
{
    ek__stream_object(s, "peak_by_module", false);
    for (int i = 0; i < memory->n_modules; i++) {
        ek__stream_object(s, memory->module[i].component, false);
        ek__stream_real(s, "reserved_mb", memory->module[i].reserved_mb);
        ek__stream_end(s);
    }
    ek__stream_end(s);
}

static void put_memory(ek__stream *s, const ek_trace_memory *memory)
{
    ek__stream_object(s, "memory_peak", false);
    ek__stream_int(s, "rows", memory->n_rows);
    ek__stream_object(s, "peak_by_component", false);
    for (int i = 0; i < memory->n_peaks; i++) {
        ek__stream_object(s, memory->peak[i].component, false);
        ek__stream_real(s, "allocated_mb", memory->peak[i].allocated_mb);
        ek__stream_real(s, "reserved_mb", memory->peak[i].reserved_mb);
        ek__stream_real(s, "active_mb", memory->peak[i].active_mb);
        ek__stream_end(s);
    }
    ek__stream_end(s);
    ek__stream_int(s, "operator_rows", memory->n_operator_rows);
    if (memory->n_largest > 0) {
        ek__stream_object(s, "largest_allocation", false);
        ek__stream_text(s, "name", memory->largest[0].name);
        ek__stream_real(s, "size_kb", memory->largest[0].size_kb);
        ek__stream_end(s);
    } else {
        ek__stream_null(s, "largest_allocation");
    }
    ek__stream_int(s, "never_released", memory->n_never_released);
    put_allocations(s, "largest", memory->largest, memory->n_largest, false);
    put_allocations(s, "kept", memory->kept, memory->n_kept, false);
    ek__stream_list(s, "curve", false);
    for (int i = 0; i < memory->n_points; i++) {
        const ek_trace_memory_point *point = &memory->point[i];
        ek__stream_object(s, NULL, false);
        ek__stream_us(s, "time_us", point->time);
        ek__stream_text(s, "component", memory->peak[point->component].component);
        ek__stream_real(s, "allocated_mb", point->allocated_mb);
        ek__stream_real(s, "reserved_mb", point->reserved_mb);
        ek__stream_end(s);
    }
    ek__stream_end(s);
    put_modules(s, memory);
    put_tracker(s, &memory->tracker);
    ek__stream_end(s);
}

static void put_recompute(ek__stream *s, const ek_trace_recompute *recompute)
{
    ek__stream_object(s, "recompute_time", false);
    ek__stream_int(s, "recompute_regions", recompute->n_regions);
    put_device(s, "recompute", &recompute->recompute);
    put_device(s, "not_recompute", &recompute->rest);
    ek__stream_end(s);
}

/* Ranges that the program marked. */
static void put_marks(ek__stream *s, const ek_trace_rank *rank)
{
    ek__stream_list(s, "marks", true);
    for (int i = 0; i < rank->n_marks; i++) {
        const ek_trace_mark *mark = &rank->mark[i];
        ek__stream_object(s, NULL, false);
        ek__stream_text(s, "name", mark->name);
        ek__stream_text(s, "domain", mark->domain);
        ek__stream_us(s, "start_us", mark->start);
        ek__stream_us(s, "end_us", mark->end);
        ek__stream_us(s, "device_start_us", mark->device_start);
        ek__stream_us(s, "device_end_us", mark->device_end);
        ek__stream_end(s);
    }
    ek__stream_end(s);
}

/* ---- a rank ---- */

static void put_warnings(ek__stream *s, const ek_trace_rank *rank)
{
    ek__stream_list(s, "warnings", true);
    for (int i = 0; i < rank->n_sources; i++)
        if (rank->source[i].problem)
            ek__stream_text(s, NULL, rank->source[i].problem);
    for (int i = 0; i < rank->n_notes; i++)
        ek__stream_text(s, NULL, rank->note[i]);
    ek__stream_end(s);
}

static ek_status put_rank(ek__stream *s, const ek_trace_rank *rank, const ek_trace_view *view, ek_error *err)
{
    bool kineto = rank->producer == EK_PRODUCER_KINETO;
    ek__stream_object(s, NULL, true);
    ek__stream_from(s, "rank", rank->rank, 0);
    ek__stream_from(s, "stage", rank->stage, 0);
    ek__stream_from(s, "device_id", rank->device_id, 0);
    ek__stream_from(s, "world_size", rank->world_size, 1);
    ek__stream_text(s, "host", rank->host);
    ek__stream_text(s, "producer", ek_producer_name[rank->producer]);
    ek__stream_bool(s, "has_device_events", rank->has_device_events);
    ek__stream_raw(s, "profiler_info", rank->profiler_info);
    put_sources(s, rank);
    put_warnings(s, rank);
    put_steps(s, rank, view);
    put_breakdown(s, "mean", &rank->mean);
    ek__stream_us(s, "step_us", ek_trace_rank_step(rank).ns);
    ek__stream_object(s, "device_breakdown", true);
    put_device(s, "all", &rank->device);
    put_device(s, "linked", &rank->device_linked);
    ek__stream_end(s);
    put_pipeline(s, rank, view);
    put_idle(s, &rank->idle);
    put_dispatch(s, &rank->dispatch);
    put_layers(s, &rank->layers);
    ek_status status = put_layer_times(s, &rank->layers, err);
    put_recompute(s, &rank->recompute);
    put_operator_list(s, "operators", rank->operators.op, rank->operators.n);
    put_kernel_totals(s, &rank->operators, kineto);
    put_top_operators(s, &rank->operators);
    if (status == EK_OK)
        status = put_collective_table(s, &rank->communication, err);
    put_collective_sums(s, &rank->communication);
    put_comm_summary(s, &rank->communication);
    put_links(s, &rank->communication);
    put_collectives(s, rank);
    put_exposure(s, &rank->exposure);
    put_data(s, rank);
    put_memory(s, &rank->memory);
    put_marks(s, rank);
    if (status == EK_OK)
        status = put_counts(s, rank, err);
    ek__stream_end(s);
    return status;
}

ek_status ek_trace_write_json(const ek_trace_run *run, const ek_trace_view *view, FILE *out, ek_error *err)
{
    ek__stream s = {.out = out};
    ek__stream_object(&s, NULL, true);
    ek__stream_int(&s, "version", 1);
    ek__stream_list(&s, "ranks", true);
    for (int i = 0; i < run->n_ranks; i++)
        if (ek__view_shows(view, &run->rank[i]) && put_rank(&s, &run->rank[i], view, err))
            return EK_ERR_MEMORY;
    ek__stream_end(&s);
    if (ek__put_trace_run(&s, run, err))
        return EK_ERR_MEMORY;
    ek__stream_end(&s);
    fputc('\n', out);
    return ek__finish(out, err);
}
