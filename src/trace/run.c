/* Reads a run: finds the files, reads every rank's tables and traces, by threads or with other processes, compares. A
 * rank's events live only while it is analysed, so memory depends on the ranks in flight. Ranks are sorted at the end;
 * the result does not depend on the thread or process of a rank. */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/pool.h"
#include "team/deal.h"
#include "trace/analyse/analysis.h"
#include "trace/compare/cluster.h"
#include "trace/one_rank.h"
#include "trace/run_ranks.h"

static const char *first_path(const ek_trace_rank *rank)
{
    return rank->n_sources > 0 && rank->source[0].path ? rank->source[0].path : "";
}

/* By rank, unknown ones last; then by path, so that the order of the arguments does not matter. */
static int compare_ranks(const void *a, const void *b)
{
    const ek_trace_rank *x = a, *y = b;
    unsigned rx = (unsigned)x->rank, ry = (unsigned)y->rank; /* -1 is the largest */
    if (rx != ry)
        return rx < ry ? -1 : 1;
    return strcmp(first_path(x), first_path(y));
}

/* Ranks without results are removed; their errors are reported. */
static void drop_empty(const ek__run_reading *w)
{
    int n = 0;
    for (int i = 0; i < w->layout->n_ranks; i++) {
        ek_trace_rank *rank = &w->run->rank[i];
        if (w->status[i] == EK_OK) {
            w->run->rank[n++] = *rank;
            continue;
        }
        ek_origin origin = {w->error[i].file[0] ? w->error[i].file : NULL, w->error[i].line, w->error[i].column};
        ek__warn(w->listener, origin, "%s", w->error[i].message);
        ek__pool_free(rank->pool);
    }
    w->run->n_ranks = n;
}

/* A rank that came twice would count twice; for parts and other machines nothing else checks that their files differ.
 */
static ek_status check_repeats(const ek_trace_run *run, ek_error *err)
{
    for (int i = 1; i < run->n_ranks; i++) {
        const ek_trace_rank *x = &run->rank[i - 1], *y = &run->rank[i];
        if (x->rank >= 0 && x->rank == y->rank && strcmp(first_path(x), first_path(y)) == 0)
            return ek__fail(err, EK_ERR_INPUT, ((ek_origin){first_path(x), 0, 0}),
                            "rank %d was read from this file twice: give each part once, and --local only if the "
                            "machines have separate disks",
                            x->rank);
    }
    return EK_OK;
}

static void report_problems(const ek_trace_run *run, const ek_listener *listener)
{
    for (int r = 0; r < run->n_ranks; r++)
        for (int i = 0; i < run->rank[r].n_sources; i++) {
            const ek_trace_source *s = &run->rank[r].source[i];
            if (s->problem)
                ek__warn(listener, (ek_origin){s->path, 0, 0}, "%s", s->problem);
        }
}

static ek_status compare(const ek_trace_options *options, ek_trace_run *run, ek_error *err)
{
    static ek__comparison *const comparisons[] = {
#define COMPARISON_OF(name) ek__compare_##name,
        EK__COMPARISON_LIST(COMPARISON_OF)
#undef COMPARISON_OF
    };
    ek_status status = EK_OK;
    if (options->sapp_compatible)
        status = ek__trace_sapp(options, run, err);
    for (size_t i = 0; i < sizeof comparisons / sizeof *comparisons && status == EK_OK; i++)
        status = comparisons[i](options, run, err);
    return status;
}

static ek_status read_common(ek__run_reading *w, int *n_read, ek_error *err)
{
    const ek__rank_reading how = {w->options, w->run, &w->lock, w->layout->n_ranks, 1};
    for (int i = 0; i < w->layout->n_common; i++) {
        ek_error own;
        ek_trace_source source = {.path = w->layout->common[i].path};
        ek_status status = ek__table_read(&how, &w->layout->common[i], &source, NULL, NULL, &own);
        if (status == EK_ERR_MEMORY)
            return ek__no_memory(err);
        ek_origin origin = {source.path, status == EK_OK ? 0 : own.line, status == EK_OK ? 0 : own.column};
        if (status != EK_OK || source.problem)
            ek__warn(w->listener, origin, "%s", status == EK_OK ? source.problem : own.message);
        *n_read += status == EK_OK;
        if (status != EK_OK && err)
            *err = own;
    }
    return EK_OK;
}

static ek_status first_failure(const ek__run_reading *w, ek_error *err)
{
    for (int i = 0; i < w->layout->n_ranks; i++)
        if (w->status[i] == EK_ERR_MEMORY || (w->status[i] != EK_OK && ek__interrupted(w->options))) {
            if (err)
                *err = w->error[i];
            return w->status[i];
        }
    return EK_OK;
}

static ek_status no_rank(const ek__run_reading *w, ek_error *err)
{
    for (int i = 0; i < w->layout->n_ranks; i++)
        if (w->status[i] != EK_OK) {
            if (err)
                *err = w->error[i];
            return w->status[i];
        }
    return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "no part of a trace could be read");
}

/* ---- the steps ---- */

static void weigh(ek__run_reading *w)
{
    for (int i = 0; i < w->layout->n_ranks; i++)
        for (int f = 0; f < w->layout->rank[i].n_files; f++) {
            struct stat about;
            if (stat(w->layout->rank[i].file[f].path, &about) == 0)
                w->weight[i] += (double)about.st_size + 1;
        }
}

static ek_status set_up(ek__run_reading *w, ek_error *err)
{
    size_t n = (size_t)w->layout->n_ranks;
    for (size_t i = 0; i < n; i++) { /* rank by rank: those of parts are appended */
        ek_trace_rank *grown = ek__pool_push(w->run->pool, w->run->rank, (int)i, sizeof *grown);
        if (!grown)
            return ek__no_memory(err);
        w->run->rank = grown;
        w->run->rank[i] = (ek_trace_rank){0};
    }
    w->weight = ek__pool_alloc(w->run->pool, n, sizeof *w->weight);
    w->status = ek__pool_alloc(w->run->pool, n, sizeof *w->status);
    w->error = ek__alloc(n, sizeof *w->error);
    if (!w->weight || !w->status || !w->error)
        return ek__no_memory(err);
    weigh(w);
    return EK_OK;
}

/* The ranks with files here, or where other processes are. */
static ek_status read_ranks(ek__run_reading *w, ek_error *err)
{
    int n_common = 0;
    ek_error common_error = {.status = EK_OK};
    ek_status status = read_common(w, &n_common, &common_error);
    if (status == EK_OK) {
        bool together = ek__has_team(w->options) && !w->options->local;
        status = together ? ek__run_read_by_team(w, err) : ek__run_read_by_threads(w, err);
        w->run->n_ranks = w->layout->n_ranks;
        if (status || (together && w->options->team->index > 0))
            return status;
        status = first_failure(w, err);
    } else if (err)
        *err = common_error;
    if (status != EK_OK)
        return status;
    int n_fine = n_common + w->layout->n_parts;
    for (int i = 0; i < w->layout->n_ranks; i++)
        n_fine += w->status[i] == EK_OK;
    if (n_fine == 0) {
        if (w->layout->n_ranks == 0 && common_error.status != EK_OK) {
            if (err)
                *err = common_error;
            return common_error.status;
        }
        return no_rank(w, err);
    }
    drop_empty(w);
    return ek__run_read_parts(w->layout->part, w->layout->n_parts, w->options, w->run, err);
}

/* With options->parts_only. */
static ek_status check_parts(const ek__layout *layout, ek_error *err)
{
    const char *other = layout->n_ranks > 0    ? layout->rank[0].file[0].path
                        : layout->n_common > 0 ? layout->common[0].path
                                               : NULL;
    if (other)
        return ek__fail(err, EK_ERR_INPUT, ((ek_origin){other, 0, 0}),
                        "is no partial result, and --combine reads only those: remove --combine to read both together");
    return EK_OK;
}

static ek_status find_and_read(const char *const *path, int n_paths, const ek_trace_options *options,
                               const ek_listener *listener, ek_trace_run *run, ek_error *err)
{
    ek__layout layout = {0};
    ek__run_reading w = {.layout = &layout, .options = options, .listener = listener, .run = run};
    ek_status status = EK_OK;
    /* The other processes receive their ranks from process 0. */
    if (!ek__has_team(options) || options->local || options->team->index == 0)
        status = ek__layout_find(path, n_paths, run->pool, listener, &layout, err);
    if (status == EK_OK && options->parts_only)
        status = check_parts(&layout, err);
    run->n_databases = layout.n_databases;
    run->database = layout.database;
    pthread_mutex_init(&w.lock, NULL);
    if (status == EK_OK)
        status = set_up(&w, err);
    if (status && ek__has_team(options) && !options->local && options->team->index == 0) {
        const ek_error why = {.status = status, .message = "process 0 could not begin"};
        ek__deal_abandon(options->team, err ? err : &why);
    }
    if (status == EK_OK)
        status = read_ranks(&w, err);
    pthread_mutex_destroy(&w.lock);
    free(w.error);
    return status;
}

/* The analyses of all ranks together. */
static ek_status finish(const ek_trace_options *options, const ek_listener *listener, ek_trace_run *run, ek_error *err)
{
    if (run->n_ranks > 0)
        qsort(run->rank, (size_t)run->n_ranks, sizeof *run->rank, compare_ranks);
    for (int i = 0; i < run->n_ranks; i++)
        run->rank[i].place = run->n_ranks > 1 ? i : -1;
    ek_status status = check_repeats(run, err);
    if (status)
        return status;
    report_problems(run, listener);
    if (options->ranks_only)
        return EK_OK;
    status = ek__ranks_of_cluster(run, err);
    return status ? status : compare(options, run, err);
}

/* Of one process, with --local. */
typedef struct own_files {
    const char *const *path;
    int n_paths;
    const ek_trace_options *options;
} own_files;

static ek_status read_own(void *user, ek_trace_run *out, ek_error *err)
{
    const own_files *own = user;
    ek_trace_options options = *own->options;
    options.progress = NULL;
    return find_and_read(own->path, own->n_paths, &options, NULL, out, err);
}

ek_status ek_trace_run_read(const char *const *path, int n_paths, const ek_trace_options *options,
                            const ek_listener *listener, ek_trace_run *out, ek_error *err)
{
    static const ek_trace_options defaults = {0};
    ek_trace_run run = {.worst_rank_by_interval = EK_TRACE_NO_RANK, .stage_imbalance = (double)NAN};
    options = options ? options : &defaults;
    run.worst_over_mean = (double)NAN;
    ek_status status = ek__trace_options_check(options, err);
    if (status)
        return status;
    run.pool = ek__pool_new();
    if (!run.pool)
        return ek__no_memory(err);
    own_files own = {path, n_paths, options};
    const bool local = options->local && ek__has_team(options);
    status = local ? ek__run_gather(options, listener, read_own, &own, &run, err)
                   : find_and_read(path, n_paths, options, listener, &run, err);
    if (!status && (!ek__has_team(options) || options->team->index == 0))
        status = finish(options, listener, &run, err);
    if (status != EK_OK) {
        ek_trace_run_clear(&run);
        return status;
    }
    *out = run;
    return EK_OK;
}
