/* Reads the ranks of a run by several processes: each is an item of work, largest first; the analysed rank is sent as a
 * part. With --local each process's own ranks are one item. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/pool.h"
#include "base/threads.h"
#include "evenkeel/evenkeel.h"
#include "team/deal.h"
#include "trace/one_rank.h"
#include "trace/partial/pack.h"
#include "trace/partial/part.h"
#include "trace/run_ranks.h"

/* The properties that all processes must have in common, in words. */
static const char *same_of(const ek_trace_options *options, ek__pool *pool)
{
    const char *given = ek__part_options(options, pool);
    return given ? ek__pool_format(pool, "evenkeel %s, records %08x%s%s", EK_VERSION, (unsigned)ek__records_number(),
                                   *given ? ", " : "", given)
                 : NULL;
}

static void tell_of_lost(const ek__deal_end *end, const ek_trace_options *options, const ek_listener *listener)
{
    ek__deal_tell_of_lost(end, options->patience,
                          options->local ? ", with the ranks that only this process could read" : EK__OTHERS_DID_IT,
                          listener);
}

/* ---- a rank an item ---- */

typedef struct shared_work {
    ek__run_reading *reading;
    int *order;    /* [n_ranks]: of items, largest first */
    double all;    /* bytes */
    double done;   /* likewise */
    int n_threads; /* of this process */
} shared_work;

typedef struct sized {
    double weight;
    int index;
} sized;

static int largest_first(const void *a, const void *b)
{
    const sized *x = a, *y = b;
    if (x->weight != y->weight)
        return x->weight > y->weight ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

static ek_status make_order(shared_work *w, ek_error *err)
{
    const int n = w->reading->layout->n_ranks;
    sized *sizes = ek__alloc((size_t)n, sizeof *sizes);
    w->order = ek__alloc((size_t)n, sizeof *w->order);
    if (!sizes || !w->order) {
        free(sizes);
        return ek__no_memory(err);
    }
    for (int i = 0; i < n; i++) {
        sizes[i] = (sized){w->reading->weight[i], i};
        w->all += sizes[i].weight;
    }
    if (n > 1)
        qsort(sizes, (size_t)n, sizeof *sizes, largest_first);
    for (int i = 0; i < n; i++)
        w->order[i] = sizes[i].index;
    free(sizes);
    return EK_OK;
}

/* Its files, and the number of its ranks. */
static ek_status describe(void *user, int item, ek__packet *out, ek_error *err)
{
    const shared_work *w = user;
    ek__records_out pack;
    ek_status status = ek__records_begin(&pack, err);
    if (status)
        return status;
    status = ek__records_add(&pack, &ek__record_files, &w->reading->layout->rank[w->order[item]], 1, err);
    if (!status) {
        ek__buffer_add_number(&pack.bytes, w->reading->layout->n_ranks);
        out->at = ek__records_end(&pack, &out->n);
        status = out->at ? EK_OK : ek__no_memory(err);
    }
    ek__records_clear(&pack);
    return status;
}

static ek_status read_files(const shared_work *w, const ek__rank_files *files, int n_ranks, ek_trace_run *run,
                            ek_error *err)
{
    ek_trace_options options = *w->reading->options;
    pthread_mutex_t lock;
    options.progress = NULL;
    run->rank = ek__pool_alloc(run->pool, 1, sizeof *run->rank);
    if (!run->rank)
        return ek__no_memory(err);
    pthread_mutex_init(&lock, NULL);
    const ek__rank_reading how = {&options, run, &lock, n_ranks, w->n_threads};
    run->n_ranks = 1;
    ek_status status = ek__rank_read(&how, files, run->rank, err);
    pthread_mutex_destroy(&lock);
    return status;
}

static ek_status work_on(void *user, int item, const ek__packet *what, ek__packet *result, ek_error *err)
{
    const shared_work *w = user;
    ek_trace_run run = {.pool = ek__pool_new()};
    ek__rank_files files = {0};
    ek__records_in unpack;
    unsigned char *bytes = NULL;
    (void)item;
    if (!run.pool)
        return ek__no_memory(err);
    ek_status status = ek__records_open(&unpack, what->at, what->n, run.pool, err);
    if (!status)
        status = ek__records_read(&unpack, &ek__record_files, &files, 1, err);
    if (!status)
        status = read_files(w, &files, (int)ek__cursor_number(&unpack.cursor), &run, err);
    if (!status)
        status = ek__part_write(&run, "", &bytes, &result->n, err);
    result->at = bytes;
    ek_trace_run_clear(&run);
    return status;
}

static ek_status take(void *user, int item, const ek__packet *result, const ek_error *failed, ek_error *err)
{
    shared_work *w = user;
    ek__run_reading *r = w->reading;
    const int index = w->order[item];
    w->done += r->weight[index];
    if (failed) {
        r->status[index] = failed->status;
        r->error[index] = *failed;
        return failed->status == EK_ERR_MEMORY ? ek__no_memory(err) : EK_OK;
    }
    ek__trace_part part;
    ek_status status = ek__part_read(result->at, result->n, NULL, &part, err);
    if (status)
        return status;
    r->run->rank[index] = part.run.rank[0];
    pthread_mutex_lock(&r->lock);
    status = ek__run_join_common(r->run, &part.run, err);
    pthread_mutex_unlock(&r->lock);
    ek__pool_join(r->run->pool, part.run.pool);
    return status;
}

static void report(void *user, int n_done)
{
    const shared_work *w = user;
    const ek_trace_options *options = w->reading->options;
    (void)n_done;
    options->progress(options->user, w->all > 0 ? w->done / w->all : 1, "reading");
}

ek_status ek__run_read_by_team(ek__run_reading *reading, ek_error *err)
{
    const ek_trace_options *options = reading->options;
    shared_work w = {.reading = reading, .n_threads = ek__thread_count(options->n_threads)};
    ek__deal_job job = {.user = &w,
                        .n_items = reading->layout->n_ranks,
                        .describe = describe,
                        .take = take,
                        .progress = options->progress ? report : NULL,
                        .work = work_on,
                        .interrupt = options->interrupt,
                        .patience = options->patience,
                        .same = same_of(options, reading->run->pool)};
    ek__deal_end end;
    ek_status status = job.same ? make_order(&w, err) : ek__no_memory(err);
    if (!status)
        status = ek__deal(options->team, &job, &end, err);
    if (!status)
        tell_of_lost(&end, options, reading->listener);
    free(w.order);
    return status;
}

/* ---- all that a process finds, an item ---- */

typedef struct own_work {
    const ek_trace_options *options;
    const ek_listener *listener;
    ek_status (*read)(void *user, ek_trace_run *out, ek_error *err);
    void *user;
    ek_trace_run *run;
    int n_fine;
    ek_error error; /* of a process that found nothing */
} own_work;

static ek_status work_on_own(void *user, int item, const ek__packet *what, ek__packet *result, ek_error *err)
{
    own_work *w = user;
    ek_trace_run run = {.pool = ek__pool_new()};
    unsigned char *bytes = NULL;
    (void)item, (void)what;
    ek_status status = run.pool ? w->read(w->user, &run, err) : ek__no_memory(err);
    if (!status)
        status = ek__part_write(&run, "", &bytes, &result->n, err);
    result->at = bytes;
    ek_trace_run_clear(&run);
    return status;
}

static ek_status take_own(void *user, int item, const ek__packet *result, const ek_error *failed, ek_error *err)
{
    own_work *w = user;
    if (failed) {
        if (failed->status == EK_ERR_MEMORY)
            return ek__no_memory(err);
        ek__warn(w->listener, (ek_origin){failed->file[0] ? failed->file : NULL, failed->line, failed->column},
                 "process %d: %s", item, failed->message);
        w->error = *failed;
        return EK_OK;
    }
    ek__trace_part part;
    ek_status status = ek__part_read(result->at, result->n, NULL, &part, err);
    w->n_fine++;
    return status ? status : ek__run_join(w->run, &part.run, err);
}

ek_status ek__run_gather(const ek_trace_options *options, const ek_listener *listener,
                         ek_status (*read)(void *user, ek_trace_run *out, ek_error *err), void *user, ek_trace_run *run,
                         ek_error *err)
{
    own_work w = {options, listener, read, user, run, 0, {.status = EK_OK}};
    const ek__deal_job job = {.user = &w,
                              .n_items = options->team->size,
                              .own = true,
                              .take = take_own,
                              .work = work_on_own,
                              .interrupt = options->interrupt,
                              .patience = options->patience,
                              .same = same_of(options, run->pool)};
    ek__deal_end end;
    ek_status status = job.same ? ek__deal(options->team, &job, &end, err) : ek__no_memory(err);
    if (status || options->team->index > 0)
        return status;
    tell_of_lost(&end, options, listener);
    if (w.n_fine == 0) {
        if (err)
            *err = w.error;
        return w.error.status;
    }
    return EK_OK;
}
