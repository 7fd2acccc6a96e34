/* Puts the logs of a dry run in order: finds the stage of each, keeps one log for each stage, lists the stages without
 * one. Ranks determine the stage where no name does: the first ranks of the stages are one gap apart, so all of them
 * are multiples of the smallest gap, which is the number of ranks of a stage as long as two neighbours are present. */
#include "dryrun/collect.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/config_tree.h"
#include "base/error.h"
#include "evenkeel/layers.h"

enum { MAX_ROUNDS = 64 }; /* as in init files */

/* ---- stages from ranks ---- */

static int by_rank(const void *a, const void *b)
{
    const ek_stage_log *x = a, *y = b;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    return strcmp(x->path, y->path);
}

static ek_status number_stages(ek__logs *logs, const char *source, ek_error *err)
{
    int gap = INT_MAX, before = -1, n = 0;
    for (size_t i = 0; i < logs->n; i++) {
        const ek_stage_log *log = &logs->log[i];
        if (log->stage != EK__NO_STAGE || log->rank == before)
            continue;
        if (n++ > 0 && log->rank - before < gap)
            gap = log->rank - before;
        before = log->rank;
    }
    if (n == 1 && before > 0)
        return ek__fail(err, EK_ERR_INPUT, ((ek_origin){source, 0, 0}),
                        "rank_%d.log is the only log, and the stage of a single rank is not known; give the logs of "
                        "the other stages too, or name its folder stage_S_rank_%d",
                        before, before);
    for (size_t i = 0; i < logs->n; i++) {
        ek_stage_log *log = &logs->log[i];
        if (log->stage != EK__NO_STAGE)
            continue;
        if (log->rank % gap != 0)
            return ek__fail(err, EK_ERR_INPUT, ((ek_origin){log->path, 0, 0}),
                            "rank %d is no multiple of %d, the smallest gap between the ranks of '%s', so its stage is "
                            "not known; keep one log for each stage, of its first rank",
                            log->rank, gap, source);
        log->stage = log->rank / gap;
    }
    return EK_OK;
}

/* ---- one log for each stage ---- */

static int by_stage(const void *a, const void *b)
{
    const ek_stage_log *x = a, *y = b;
    if (x->stage != y->stage)
        return x->stage < y->stage ? -1 : 1;
    return strcmp(x->path, y->path);
}

static bool same_peak(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

static bool has_peak(const ek_stage_log *log)
{
    return !isnan(log->log.used_mb) || !isnan(log->log.actual_mb);
}

/* Does the second of two logs of one stage replace the first? */
static ek_status settle(const ek_stage_log *first, const ek_stage_log *second, const char *source,
                        const ek_listener *listener, bool *replaces, ek_error *err)
{
    *replaces = false;
    if (same_peak(first->log.used_mb, second->log.used_mb) && same_peak(first->log.actual_mb, second->log.actual_mb))
        return EK_OK;
    if (has_peak(first) && has_peak(second))
        return ek__fail(err, EK_ERR_INPUT, ((ek_origin){source, 0, 0}),
                        "two logs of stage %d have different peaks: '%.300s' and '%.300s'; remove the one that is not "
                        "of this run, or give the folders of two runs as two rounds",
                        first->stage, first->path, second->path);
    *replaces = has_peak(second);
    ek__warn(listener, (ek_origin){*replaces ? first->path : second->path, 0, 0},
             "has no peak of stage %d and is passed over; '%.500s' has it", first->stage,
             *replaces ? second->path : first->path);
    return EK_OK;
}

/* Stage number of a log that is skipped: after all others when sorted. */
enum { PASSED_OVER = INT_MAX };

static ek_status keep_one_each(ek__logs *logs, const char *source, const ek_listener *listener, ek_error *err)
{
    ek_stage_log *best = logs->log;
    for (size_t i = 1; i < logs->n; i++) {
        ek_stage_log *next = &logs->log[i];
        bool replaces = true;
        if (next->stage == best->stage) {
            ek_status status = settle(best, next, source, listener, &replaces, err);
            if (status)
                return status;
            (replaces ? best : next)->stage = PASSED_OVER;
        }
        best = replaces ? next : best;
    }
    qsort(logs->log, logs->n, sizeof *logs->log, by_stage);
    return EK_OK;
}

static ek_status check_ranks(const ek__logs *logs, ek_error *err)
{
    for (size_t i = 1; i < logs->n; i++) {
        const ek_stage_log *a = &logs->log[i - 1], *b = &logs->log[i];
        if (b->rank <= a->rank)
            return ek__fail(err, EK_ERR_INPUT, ((ek_origin){b->path, 0, 0}),
                            "stage %d has rank %d, but stage %d has rank %d ('%.300s'); ranks grow with the stage: one "
                            "of the two is misnamed or of another run",
                            b->stage, b->rank, a->stage, a->rank, a->path);
    }
    return EK_OK;
}

static ek_status check_stages(const ek__logs *logs, const char *source, int n_stages, ek_error *err)
{
    const ek_stage_log *last = &logs->log[logs->n - 1];
    int most = n_stages ? n_stages : EK_MAX_STAGES;
    if (last->stage >= most)
        return ek__fail(err, EK_ERR_INPUT, ((ek_origin){source, 0, 0}),
                        "'%.300s' is of stage %d, but %s %d stages, 0 to %d; correct the number of stages, or give the "
                        "logs of the right run",
                        last->path, last->stage, n_stages ? "the dry run has" : "there are at most", most, most - 1);
    return EK_OK;
}

/* ---- a round ---- */

static ek_status write_in_order(ek__logs *logs, const char *source, int n_stages, const ek_listener *listener,
                                ek_error *err)
{
    assert(logs->n > 0);
    qsort(logs->log, logs->n, sizeof *logs->log, by_rank);
    ek_status status = number_stages(logs, source, err);
    if (status)
        return status;
    qsort(logs->log, logs->n, sizeof *logs->log, by_stage);
    status = keep_one_each(logs, source, listener, err);
    if (status)
        return status;
    ek__logs kept = *logs;
    while (kept.log[kept.n - 1].stage == PASSED_OVER)
        kept.n--;
    status = check_stages(&kept, source, n_stages, err);
    if (status == EK_OK)
        status = check_ranks(&kept, err);
    if (status)
        return status;
    while (logs->n > kept.n)
        free(logs->log[--logs->n].path);
    return EK_OK;
}

static ek_status read_source(const char *path, const char *name, const ek_listener *listener, bool *listing,
                             ek__logs *logs, ek_error *err)
{
    struct stat info;
    bool is_stdin = strcmp(path, "-") == 0;
    *listing = true;
    if (is_stdin)
        return ek__listing_read(STDIN_FILENO, name, logs, err);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &info) != 0) {
        int why = errno;
        if (fd >= 0)
            close(fd);
        return ek__fail(err, EK_ERR_SYSTEM, ((ek_origin){path, 0, 0}), "cannot be opened: %s", strerror(why));
    }
    *listing = !S_ISDIR(info.st_mode);
    ek_status status = *listing ? ek__listing_read(fd, name, logs, err) : ek__folder_read(path, listener, logs, err);
    close(fd);
    return status;
}

static ek_status read_round(const char *path, int n_stages, const ek_listener *listener, ek_round *out, ek_error *err)
{
    ek__logs logs = {0};
    const char *name = strcmp(path, "-") == 0 ? "<stdin>" : path;
    bool listing = false;
    char *source = NULL;
    ek_status status = read_source(path, name, listener, &listing, &logs, err);
    if (status == EK_OK)
        status = write_in_order(&logs, name, n_stages, listener, err);
    if (status == EK_OK && !(source = ek__strdup(name)))
        status = ek__no_memory(err);
    if (status)
        ek__logs_clear(&logs);
    else
        *out = (ek_round){source, listing, (int)logs.n, logs.log};
    return status;
}

/* ---- all rounds ---- */

void ek_collection_clear(ek_collection *collection)
{
    for (int r = 0; r < collection->n_rounds; r++) {
        ek_round *round = &collection->round[r];
        ek__logs logs = {(size_t)round->n, (size_t)round->n, round->stage};
        ek__logs_clear(&logs);
        free(round->source);
    }
    free(collection->round);
    *collection = (ek_collection){0};
}

ek_status ek_collection_read(const char *const *sources, int n_sources, int n_stages, const ek_listener *listener,
                             ek_collection *out, ek_error *err)
{
    if (n_sources < 1 || n_sources > MAX_ROUNDS || n_stages < 0 || n_stages > EK_MAX_STAGES)
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "1 to %d rounds and 0 to %d stages are possible (got %d, %d)",
                        MAX_ROUNDS, EK_MAX_STAGES, n_sources, n_stages);
    ek_collection all = {.n_stages = n_stages, .round = ek__alloc((size_t)n_sources, sizeof *all.round)};
    if (!all.round)
        return ek__no_memory(err);
    ek_status status = EK_OK;
    for (int r = 0; r < n_sources && status == EK_OK; r++) {
        status = read_round(sources[r], n_stages, listener, &all.round[r], err);
        all.n_rounds += status == EK_OK;
    }
    for (int r = 0; r < all.n_rounds && !n_stages; r++) {
        int stages = all.round[r].stage[all.round[r].n - 1].stage + 1;
        all.n_stages = stages > all.n_stages ? stages : all.n_stages;
    }
    if (status)
        ek_collection_clear(&all);
    else
        *out = all;
    return status;
}

const ek_stage_log *ek_round_find(const ek_round *round, int stage)
{
    for (int i = 0; i < round->n; i++)
        if (round->stage[i].stage == stage)
            return &round->stage[i];
    return NULL;
}

double ek_stage_log_peak(const ek_stage_log *log, ek_peak which)
{
    if (!log)
        return NAN;
    return which == EK_PEAK_USED ? log->log.used_mb : log->log.actual_mb;
}

int ek_collection_count_gaps(const ek_collection *collection, ek_peak which)
{
    int n = 0;
    for (int r = 0; r < collection->n_rounds; r++)
        for (int s = 0; s < collection->n_stages; s++)
            n += isnan(ek_stage_log_peak(ek_round_find(&collection->round[r], s), which)) != 0;
    return n;
}

const ek_stage_log *ek_collection_most_fragmented(const ek_collection *collection, double *share)
{
    const ek_stage_log *most = NULL;
    for (int r = 0; r < collection->n_rounds; r++)
        for (int i = 0; i < collection->round[r].n; i++) {
            const ek_stage_log *log = &collection->round[r].stage[i];
            double own = (log->log.actual_mb - log->log.used_mb) / log->log.used_mb;
            if (!isnan(own) && (!most || own > *share)) {
                most = log;
                *share = own;
            }
        }
    return most;
}
