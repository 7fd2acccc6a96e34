/* Reads a rank's tables and traces, analyses them, and frees its events. */
#include "trace/one_rank.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/threads.h"
#include "trace/analyse/analysis.h"
#include "trace/events/device.h"
#include "trace/events/shapes.h"
#include "trace/tables/table_times.h"
#include "trace/tables/tracker_csv.h"

/* Values that need several tables of a rank. */
struct ek__gathered {
    ek__table_times times;
    ek__tracker_tasks tasks;
    bool has_trace;
    ek__shapes shapes; /* of a rank with a trace */
};
typedef struct ek__gathered gathered;

/* Tables of the whole run are written by one rank at a time. */
static bool writes_to_run(ek__file_type type)
{
    return type == EK__FILE_profiler_metadata || type == EK__FILE_communication_group ||
           type == EK__FILE_cluster_step_trace_time;
}

/* Maps of allocations outlive their rank: of many ranks each stores fewer. */
static int most_blocks_of(int n_ranks)
{
    int most = n_ranks > 0 ? EK_TRACE_KEPT_RUN_BLOCKS / n_ranks : EK_TRACE_KEPT_BLOCKS;
    return most > EK_TRACE_KEPT_BLOCKS ? EK_TRACE_KEPT_BLOCKS : most < 1000 ? 1000 : most;
}

ek_status ek__table_read(const ek__rank_reading *how, const ek__rank_file *file, ek_trace_source *source,
                         ek_trace_rank *rank, gathered *all, ek_error *err)
{
    static ek__table_reader *const readers[EK__N_FILE_TYPES] = {
#define READER_OF(name, pattern) [EK__FILE_##name] = ek__table_##name,
        EK__TABLE_LIST(READER_OF)
#undef READER_OF
    };
    ek__table_in in = {.path = file->path,
                       .type = file->type,
                       .database = file->database,
                       .source = source,
                       .rank = rank,
                       .run = how->run,
                       .options = how->options};
    in.times = all ? &all->times : NULL;
    in.tasks = all ? &all->tasks : NULL;
    in.shapes = all && all->has_trace ? &all->shapes : NULL;
    in.most_blocks = most_blocks_of(how->n_ranks);
    bool locked = writes_to_run(file->type);
    if (locked)
        pthread_mutex_lock(how->lock);
    ek_status status = readers[file->type](&in, err);
    if (locked)
        pthread_mutex_unlock(how->lock);
    return status;
}

/* "FILE:LINE:COLUMN: MESSAGE" of a file that could not be used. */
static char *problem_text(ek__pool *pool, const ek_error *err)
{
    if (err->line > 0 && err->column > 0)
        return ek__pool_format(pool, "line %d, column %d: %s", err->line, err->column, err->message);
    if (err->line > 0)
        return ek__pool_format(pool, "line %d: %s", err->line, err->message);
    return ek__pool_format(pool, "%s", err->message);
}

/* An unreadable table is reported and left out; the rest of the rank is still useful. */
static ek_status read_tables(const ek__rank_reading *how, const ek__rank_files *files, int first, ek_trace_rank *rank,
                             gathered *all, int *n_read, ek_error *first_error, ek_error *err)
{
    for (int i = first; i < files->n_files; i++) {
        ek_error own;
        ek_trace_source *source = &rank->source[i];
        ek_status status = ek__table_read(how, &files->file[i], source, rank, all, &own);
        if (status == EK_ERR_MEMORY)
            return ek__no_memory(err);
        if (status == EK_OK) {
            ++*n_read;
            continue;
        }
        source->problem = problem_text(rank->pool, &own);
        if (!source->problem)
            return ek__no_memory(err);
        if (first_error->status == EK_OK)
            *first_error = own;
    }
    return EK_OK;
}

/* ---- analyses ---- */

/* Analyses in parallel with the others: on a copy of the rank, with a pool of its own. */
typedef struct beside {
    const ek__trace *trace;
    const ek_trace_options *options;
    ek_trace_rank rank;
    ek_status status; /* EK_OK or EK_ERR_MEMORY */
} beside;

static void *analyse_beside(void *argument)
{
    beside *b = argument;
#define ANALYSE(name)                                                                                                  \
    if (!b->status)                                                                                                    \
        b->status = ek__analyse_##name(b->trace, b->options, &b->rank, NULL);
    EK__ANALYSIS_BESIDE_LIST(ANALYSE)
#undef ANALYSE
    return NULL;
}

static ek_status start_beside(beside *b, const ek_trace_rank *rank, bool threaded, ek__threads *threads, ek_error *err)
{
    b->rank = *rank;
    b->rank.pool = ek__pool_new();
    if (!b->rank.pool)
        return ek__no_memory(err);
    if (!threaded || ek__threads_start(threads, 1, analyse_beside, b, 0, NULL) == 0)
        analyse_beside(b);
    return EK_OK;
}

static ek_status end_beside(beside *b, ek__threads *threads, ek_trace_rank *rank, ek_error *err)
{
    ek__threads_join(threads);
    ek__pool_join(rank->pool, b->rank.pool);
#define TAKE(name) rank->name = b->rank.name;
    EK__ANALYSIS_BESIDE_LIST(TAKE)
#undef TAKE
    return b->status ? ek__no_memory(err) : EK_OK;
}

static ek_status analyse(const ek__trace *trace, const ek_trace_options *options, bool threaded, ek_trace_rank *rank,
                         ek_error *err)
{
    static ek__analysis *const analyses[] = {
#define ANALYSIS_OF(name) ek__analyse_##name,
        EK__ANALYSIS_LIST(ANALYSIS_OF)
#undef ANALYSIS_OF
    };
    beside b = {.trace = trace, .options = options};
    ek__threads threads = {.n = 0};
    ek_status status = EK_OK;
    for (size_t i = 0; i < sizeof analyses / sizeof *analyses && !status; i++) {
        status = analyses[i](trace, options, rank, err);
        if (!status && analyses[i] == ek__analyse_breakdown)
            status = start_beside(&b, rank, threaded, &threads, err);
    }
    if (!b.rank.pool)
        return status;
    ek_status own = end_beside(&b, &threads, rank, err);
    return status ? status : own;
}

/* A damaged Overlap Analysis layer is not used: its sums are not those of the steps. */
static ek_status leave_damaged_layer(const ek__trace *trace, ek_trace_options *options, ek_trace_rank *rank,
                                     ek_error *err)
{
    const char *problem;
    ek_status status = options->from_raw_events ? EK_OK : ek__overlap_layer_problem(trace, &problem, err);
    if (status != EK_OK || options->from_raw_events || !problem)
        return status;
    options->from_raw_events = true;
    return ek__rank_note(rank, err,
                         "the Overlap Analysis layer is damaged (%s): it is ignored, and all figures are computed from "
                         "the device events",
                         problem);
}

/* Is a thread worth its start? */
static bool is_large(const ek__trace *trace)
{
    enum { MANY_KERNELS = 5000 };
    return trace->of[EK__EVENT_KERNEL].n > MANY_KERNELS;
}

static int count_traces(const ek__rank_files *files)
{
    int n = 0;
    while (n < files->n_files && files->file[n].type == EK__FILE_TRACE)
        n++;
    return n;
}

static ek_status read_traces(const ek__rank_reading *how, const ek__rank_files *files, int n_traces,
                             const ek_trace_options *options, const ek__shapes *shapes, ek_trace_rank *rank,
                             bool *failed, ek_error *first_error, ek_error *err)
{
    const char **path = ek__pool_alloc(rank->pool, (size_t)n_traces, sizeof *path);
    ek__trace trace;
    if (!path)
        return ek__no_memory(err);
    for (int i = 0; i < n_traces; i++)
        path[i] = files->file[i].path;
    ek_error own;
    ek_status status = ek__trace_read(path, n_traces, how->n_threads, options, rank->pool, rank->source, &trace, &own);
    if (status == EK_ERR_MEMORY)
        return ek__no_memory(err);
    if (ek__interrupted(options)) {
        if (status == EK_OK)
            ek__trace_clear(&trace);
        return ek__fail(err, EK_ERR_SYSTEM, ((ek_origin){path[0], 0, 0}), "interrupted");
    }
    if (status != EK_OK) {
        *failed = true;
        *first_error = own;
        if (!rank->source[0].problem)
            rank->source[0].problem = problem_text(rank->pool, &own);
        return rank->source[0].problem ? EK_OK : ek__no_memory(err);
    }
    if (rank->producer == EK_PRODUCER_UNKNOWN || trace.producer != EK_PRODUCER_UNKNOWN)
        rank->producer = trace.producer;
    if (trace.rank != EK_TRACE_NO_RANK)
        rank->rank = trace.rank;
    if (trace.world_size > 0)
        rank->world_size = trace.world_size;
    rank->counts = trace.counts;
    ek_trace_options chosen = *options;
    trace.shapes = shapes->n > 0 ? shapes : NULL;
    status = leave_damaged_layer(&trace, &chosen, rank, err);
    if (status == EK_OK)
        status = analyse(&trace, &chosen, how->n_threads > 1 && is_large(&trace), rank, err);
    ek__trace_clear(&trace);
    return status;
}

/* Without a trace the steps are those of the tables; their mean has the same meaning. */
static void mean_of_tables(ek_trace_rank *rank)
{
    int64_t *const field[] = {
        &rank->mean.computing,  &rank->mean.communication, &rank->mean.communication_not_overlapped,
        &rank->mean.overlapped, &rank->mean.free,          &rank->mean.total,
        &rank->mean.copy,       &rank->mean.busy,          &rank->mean.copy_not_overlapped};
    const size_t n_fields = sizeof field / sizeof *field;
    for (size_t f = 0; f < n_fields; f++) {
        size_t offset = (size_t)((const char *)field[f] - (const char *)&rank->mean);
        double sum = 0;
        int n = 0;
        for (int i = 0; i < rank->n_steps; i++) {
            int64_t value;
            memcpy(&value, (const char *)&rank->step[i].own + offset, sizeof value);
            if (rank->step[i].warm_up || value == EK_TRACE_UNKNOWN)
                continue;
            sum += (double)value;
            n++;
        }
        *field[f] = n > 0 && sum / n < 9e18 && sum / n > -9e18 ? llround(sum / n) : EK_TRACE_UNKNOWN;
    }
}

/* Only as given: tables have too few figures of a step to detect warm-up. */
static ek_status drop_first_of_tables(const ek_trace_options *options, ek_trace_rank *rank, ek_error *err)
{
    return options->drop_first_steps > 0 ? ek__mark_warm_up(options, rank, err) : EK_OK;
}

static void set_unknown(ek_trace_rank *rank, const ek__rank_files *files)
{
    rank->rank = files->rank;
    rank->place = -1;
    rank->stage = files->stage;
    rank->device_id = files->device;
    rank->counts.rank = EK_TRACE_NO_RANK;
    rank->dispatch.share = (double)NAN;
    rank->dispatch.cause = "none";
    rank->data.share_of_host_step = (double)NAN;
    rank->data.per_batch_ms = rank->data.per_pipeline_ms = rank->data.per_push_queue_ms = (double)NAN;
}

static ek_status set_sources(const ek__rank_files *files, ek_trace_rank *rank, ek_error *err)
{
    rank->n_sources = files->n_files;
    rank->source = ek__pool_alloc(rank->pool, (size_t)files->n_files, sizeof *rank->source);
    if (!rank->source)
        return ek__no_memory(err);
    for (int i = 0; i < files->n_files; i++) {
        const char *path = ek__pool_text(rank->pool, files->file[i].path, strlen(files->file[i].path));
        if (!path)
            return ek__no_memory(err);
        rank->source[i] = (ek_trace_source){
            .path = path, .type = ek__file_type_name(files->file[i].type), .problem_offset = EK_TRACE_UNKNOWN};
    }
    return EK_OK;
}

ek_status ek__rank_read(const ek__rank_reading *how, const ek__rank_files *files, ek_trace_rank *rank, ek_error *err)
{
    const ek_trace_options *options = how->options;
    int n_traces = count_traces(files), n_read = 0;
    bool failed = false;
    ek_error first_error = {.status = EK_OK};
    gathered all = {.has_trace = n_traces > 0};
    rank->pool = ek__pool_new();
    if (!rank->pool)
        return ek__no_memory(err);
    set_unknown(rank, files);
    ek_status status = set_sources(files, rank, err);
    if (status == EK_OK)
        status = read_tables(how, files, n_traces, rank, &all, &n_read, &first_error, err);
    ek__shapes_sort(&all.shapes);
    if (status == EK_OK && n_traces > 0)
        status = read_traces(how, files, n_traces, options, &all.shapes, rank, &failed, &first_error, err);
    if (status == EK_OK && !rank->has_device_events)
        status = ek__table_times_finish(&all.times, rank, err);
    ek__table_times_clear(&all.times);
    ek__tracker_tasks_clear(&all.tasks);
    ek__shapes_clear(&all.shapes);
    if (status != EK_OK)
        return status;
    n_read += n_traces > 0 && !failed;
    if (n_traces == 0 || failed) {
        status = drop_first_of_tables(options, rank, err);
        if (status != EK_OK)
            return status;
        mean_of_tables(rank);
    }
    if (n_read == 0) {
        if (err)
            *err = first_error;
        return first_error.status;
    }
    return EK_OK;
}
