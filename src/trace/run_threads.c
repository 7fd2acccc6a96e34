/* Reads the ranks of a run by threads: each takes the next rank; threads beyond the ranks share one file. */
#include <stdlib.h>

#include "base/error.h"
#include "base/pool.h"
#include "base/threads.h"
#include "trace/one_rank.h"
#include "trace/run_ranks.h"

typedef struct threads_work {
    ek__run_reading *reading;
    int n_workers, n_reader_threads;
    int next;
    double *share;    /* [n_ranks]: progress of each */
    double done, all; /* bytes */
} threads_work;

/* A rank's view of the progress. */
typedef struct rank_progress {
    threads_work *w;
    int index;
} rank_progress;

static void report_rank_progress(void *user, double share, const char *what)
{
    const rank_progress *p = user;
    threads_work *w = p->w;
    pthread_mutex_lock(&w->reading->lock);
    w->done += (share - w->share[p->index]) * w->reading->weight[p->index];
    w->share[p->index] = share;
    w->reading->options->progress(w->reading->options->user, w->all > 0 ? w->done / w->all : 1, what);
    pthread_mutex_unlock(&w->reading->lock);
}

static ek_status read_rank(threads_work *w, int index, ek_error *err)
{
    ek_trace_rank *rank = &w->reading->run->rank[index];
    ek_trace_options options = *w->reading->options;
    rank_progress progress = {w, index};
    if (options.progress) {
        options.progress = report_rank_progress;
        options.user = &progress;
    }
    const ek__rank_reading how = {&options, w->reading->run, &w->reading->lock, w->reading->layout->n_ranks,
                                  w->n_reader_threads};
    return ek__rank_read(&how, &w->reading->layout->rank[index], rank, err);
}

static void *run_worker(void *argument)
{
    threads_work *w = argument;
    for (;;) {
        pthread_mutex_lock(&w->reading->lock);
        int index = w->next < w->reading->layout->n_ranks ? w->next++ : -1;
        pthread_mutex_unlock(&w->reading->lock);
        if (index < 0)
            return NULL;
        w->reading->status[index] = read_rank(w, index, &w->reading->error[index]);
        if (w->reading->options->progress) {
            rank_progress done = {w, index};
            report_rank_progress(&done, 1, "reading");
        }
    }
}

ek_status ek__run_read_by_threads(ek__run_reading *reading, ek_error *err)
{
    const int n_ranks = reading->layout->n_ranks, n_threads = ek__thread_count(reading->options->n_threads);
    threads_work w = {.reading = reading};
    w.share = ek__alloc((size_t)n_ranks, sizeof *w.share);
    if (!w.share)
        return ek__no_memory(err);
    for (int i = 0; i < n_ranks; i++)
        w.all += reading->weight[i];
    w.n_workers = n_ranks < n_threads ? n_ranks : n_threads;
    w.n_reader_threads = w.n_workers > 0 ? n_threads / w.n_workers : 1;
    if (w.n_workers > 0)
        ek__run_threads(w.n_workers, run_worker, &w, 0);
    free(w.share);
    return EK_OK;
}
