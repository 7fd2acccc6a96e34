/* Opens the index of a run. Its traces are found as for the analysis, and each has an index file. An index file that
 * does not match its trace (size or modification time), is damaged or has another version is written again, one trace
 * at a time. If several files are given, those that are not traces are reported and skipped. */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <sys/stat.h>

#include "base/pool.h"
#include "base/threads.h"
#include "evenkeel/save.h"
#include "index/opened.h"
#include "index/write.h"
#include "trace/events/kernel_events.h"
#include "trace/find/layout.h"

const char *const ek__track_class_name[EK__N_TRACK_CLASSES] = {
    "step", "overlap", "compute", "communication", "scope", "host", "runtime", "other",
};

#define FARTHEST_SHIFT (INT64_C(1) << 61)

typedef struct trace {
    const char *path, *given; /* absolute; as found below the given path */
    int rank, stage, number;
    int64_t size;
} trace;

typedef struct opening {
    ek__pool *pool;
    int n_traces;
    trace *trace;
    int64_t bytes, done; /* bytes of all traces; of the traces before this one */
    const ek_trace_index_options *options;
    const ek_listener *listener;
    ek__index_places places;
    ek_trace_index *index;
    ek_trace_index_made made;
    ek_error skipped; /* of the last file that was not a trace */
    ek_error *err;
} opening;

/* ---- the traces ---- */

static ek_status add_trace(opening *o, const char *path, const ek__rank_files *rank)
{
    struct stat info;
    if (stat(path, &info) != 0)
        return ek__fail(o->err, EK_ERR_SYSTEM, ((ek_origin){path, 0, 0}), "cannot be opened: %s", strerror(errno));
    if (!S_ISREG(info.st_mode))
        return ek__fail(
            o->err, EK_ERR_INPUT, ((ek_origin){path, 0, 0}),
            "is a pipe: an index is of a file, which is read again for details; unpack the trace to a file");
    char *real = realpath(path, NULL), *kept = real ? ek__pool_text(o->pool, real, strlen(real)) : NULL;
    char *given = ek__pool_text(o->pool, path, strlen(path));
    trace *grown = ek__pool_push(o->pool, o->trace, o->n_traces, sizeof *grown);
    free(real);
    if (!kept || !given || !grown)
        return ek__no_memory(o->err);
    o->trace = grown;
    o->trace[o->n_traces++] = (trace){kept, given, rank->rank, rank->stage, 0, info.st_size};
    o->bytes += info.st_size;
    return EK_OK;
}

/* The name of a trace's index and the trace's path. */
typedef struct named {
    char *name;
    trace *trace;
} named;

static int by_name(const void *a, const void *b)
{
    const named *x = a, *y = b;
    int order = strcmp(x->name, y->name);
    return order != 0 ? order : strcmp(x->trace->path, y->trace->path);
}

/* An index file is named by the hash of the path: paths with equal hashes get numbers. */
static bool distinguish_names(const opening *o)
{
    named *all = ek__pool_alloc(o->pool, (size_t)o->n_traces, sizeof *all);
    for (int i = 0; all && i < o->n_traces; i++) {
        char *own = ek__index_file_name(o->trace[i].path, 0);
        all[i] = (named){own ? ek__pool_text(o->pool, own, strlen(own)) : NULL, &o->trace[i]};
        free(own);
        if (!all[i].name)
            return false;
    }
    if (!all)
        return false;
    assert(o->n_traces >= 1);
    qsort(all, (size_t)o->n_traces, sizeof *all, by_name);
    for (int i = 1; i < o->n_traces; i++)
        if (strcmp(all[i].name, all[i - 1].name) == 0)
            all[i].trace->number = all[i - 1].trace->number + 1;
    return true;
}

bool ek__index_takes_table(const char *path)
{
    return ek__is_kernel_table(path);
}

/* The kernel table that replaces the trace of a rank without one; -1. */
static int table_of(const ek__rank_files *rank)
{
    int found = -1;
    for (int i = 0; i < rank->n_files; i++) {
        const ek__rank_file *f = &rank->file[i];
        if (f->type == EK__FILE_TRACE)
            return -1;
        bool kernels = f->type == EK__FILE_kernel_details || f->type == EK__FILE_op_summary;
        if (found < 0 && kernels && !f->database && ek__index_takes_table(f->path))
            found = i;
    }
    return found;
}

static ek_status find_traces(opening *o, const char *const *path, int n_paths)
{
    ek__layout layout;
    ek_status status = ek__layout_find(path, n_paths, o->pool, o->listener, &layout, o->err);
    for (int r = 0; status == EK_OK && r < layout.n_ranks; r++) {
        const int table = table_of(&layout.rank[r]);
        for (int i = 0; status == EK_OK && i < layout.rank[r].n_files; i++)
            if (layout.rank[r].file[i].type == EK__FILE_TRACE || i == table)
                status = add_trace(o, layout.rank[r].file[i].path, &layout.rank[r]);
    }
    if (status == EK_OK && o->n_traces == 0 && layout.n_ranks == 0 && layout.n_parts > 0)
        status = ek__fail(o->err, EK_ERR_INPUT, ((ek_origin){layout.part[0], 0, 0}),
                          "is a partial result, which has figures and no events: give the trace that it was made from");
    else if (status == EK_OK && o->n_traces == 0)
        status =
            ek__fail(o->err, EK_ERR_INPUT, ((ek_origin){n_paths > 0 ? path[0] : NULL, 0, 0}),
                     "there are tables but no trace in it; give a Chrome trace such as trace_view.json, or a table of "
                     "kernels with their begins such as kernel_details.csv");
    if (status == EK_OK && !distinguish_names(o))
        status = ek__no_memory(o->err);
    return status;
}

/* ---- one of them ---- */

static char *path_in(const char *folder, const trace *t)
{
    char *name = ek__index_file_name(t->path, t->number), *path = NULL;
    size_t size = name ? strlen(folder) + strlen(name) + 2 : 0;
    if (name && (path = malloc(size)))
        snprintf(path, size, "%s/%s", folder, name);
    free(name);
    return path;
}

/* Open an existing index that matches. With any defect it is written again. */
static ek_status open_existing(const opening *o, const trace *t, ek__index_opened *out, bool *found)
{
    int64_t size, changed;
    *found = false;
    if ((o->options && (o->options->fresh || o->options->temporary)) ||
        !ek__index_trace_state(-1, t->path, &size, &changed))
        return EK_OK;
    for (int i = 0; i < o->places.n && !*found; i++) {
        char *path = path_in(o->places.folder[i], t);
        if (!path)
            return ek__no_memory(o->err);
        ek_status status = access(path, R_OK) == 0 ? ek__index_file_open(path, out, NULL) : EK_ERR_SYSTEM;
        free(path);
        if (status == EK_ERR_MEMORY)
            return ek__no_memory(o->err);
        if (status != EK_OK)
            continue;
        *found = out->header.trace_size == size && out->header.trace_changed == changed;
        if (!*found)
            ek__index_file_close(out);
    }
    return EK_OK;
}

static double seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static ek_status write_to(opening *o, const trace *t, const char *path, ek__index_opened *out)
{
    double all = o->bytes > 0 ? (double)o->bytes : 1, begun = seconds_now();
    assert(o->done >= 0 && o->done + t->size <= o->bytes);
    ek__index_written written = {0};
    ek_status status = ek__index_write(t->path, path, o->options, (double)o->done / all,
                                       (double)(o->done + t->size) / all, &written, o->err);
    o->made.seconds += seconds_now() - begun;
    if (status != EK_OK)
        return status;
    o->made.n_written++;
    o->made.bytes_read += written.bytes_read;
    status = ek__index_file_open(path, out, o->err);
    if (o->places.temporary)
        ek_temporary_remove(path); /* it stays readable while it is open */
    return status;
}

static ek_status write_anew(opening *o, const trace *t, ek__index_opened *out)
{
    const char *folder = ek__index_place_to_write(&o->places, o->err);
    if (!folder)
        return EK_ERR_SYSTEM;
    char *path = path_in(folder, t);
    ek_status status = path ? write_to(o, t, path, out) : ek__no_memory(o->err);
    free(path);
    return status;
}

static void report_problem(opening *o, const trace *t, const ek__index_opened *f)
{
    if (f->header.problem_at < 0)
        return;
    o->made.n_problems++;
    ek__warn(o->listener, (ek_origin){t->path, 0, 0},
             "the trace is damaged or cut at byte %lld; the %lld events before it are shown, later ones are not",
             (long long)f->header.problem_at, (long long)f->header.n_items);
}

static ek_status open_one(opening *o, const trace *t)
{
    ek__index_opened file;
    bool found;
    ek_status status = open_existing(o, t, &file, &found);
    if (status == EK_OK && !found)
        status = write_anew(o, t, &file);
    o->done += t->size;
    if (status == EK_ERR_INPUT && o->n_traces > 1) {
        o->made.n_problems++;
        if (o->err) {
            o->skipped = *o->err;
            ek__warn(o->listener, (ek_origin){t->path, 0, 0}, "it is left out: %s", o->err->message);
        }
        return EK_OK;
    }
    if (status != EK_OK)
        return status;
    file.trace = strdup(t->path);
    file.path = strdup(t->given);
    if (!file.trace || !file.path) {
        ek__index_file_close(&file);
        return ek__no_memory(o->err);
    }
    file.rank = t->rank != EK_TRACE_NO_RANK ? t->rank : file.header.rank;
    file.stage = t->stage;
    o->made.bytes_index = ek__ns_add(o->made.bytes_index, (int64_t)file.size);
    report_problem(o, t, &file);
    assert(o->index->n_files < o->n_traces);
    o->index->file[o->index->n_files++] = file;
    return EK_OK;
}

/* ---- all of them ---- */

static ek_status keep_folder(opening *o)
{
    assert(o->places.n >= 1);
    o->index->folder = strdup(o->places.folder[0]);
    o->made.folder = o->index->folder;
    return o->index->folder ? EK_OK : ek__no_memory(o->err);
}

#ifndef NDEBUG
static bool is_by_rank(const ek_trace_index *index)
{
    for (int i = 1; i < index->n_files; i++) {
        int before = index->file[i - 1].rank, rank = index->file[i].rank;
        if (rank >= 0 && (before < 0 || before > rank))
            return false;
    }
    return true;
}
#endif

/* By rank, those without a rank last; otherwise in their old order. */
static void sort_files(ek_trace_index *index)
{
    for (int i = 1; i < index->n_files; i++) {
        ek__index_opened file = index->file[i];
        int k = i;
        for (; k > 0; k--) {
            int before = index->file[k - 1].rank;
            if (file.rank < 0 || (before >= 0 && before <= file.rank))
                break;
            index->file[k] = index->file[k - 1];
        }
        index->file[k] = file;
    }
    assert(is_by_rank(index));
}

static ek_status open_all(opening *o)
{
    const char **path = ek__pool_alloc(o->pool, (size_t)o->n_traces, sizeof *path);
    if (!path)
        return ek__no_memory(o->err);
    for (int i = 0; i < o->n_traces; i++)
        path[i] = o->trace[i].path;
    ek_status status = ek__index_places_find(path, o->n_traces, o->options, &o->places, o->err);
    o->index->file = ek__alloc((size_t)o->n_traces, sizeof *o->index->file);
    if (status == EK_OK && !o->index->file)
        status = ek__no_memory(o->err);
    for (int i = 0; i < o->n_traces && status == EK_OK; i++)
        status = open_one(o, &o->trace[i]);
    if (status == EK_OK && o->index->n_files == 0) {
        if (o->err)
            *o->err = o->skipped;
        status = EK_ERR_INPUT;
    }
    if (status == EK_OK)
        status = keep_folder(o);
    if (status == EK_OK) {
        sort_files(o->index);
        status = ek__index_number(o->index, o->err);
    }
    o->made.n_files = o->index->n_files;
    return status;
}

ek_status ek_trace_index_open(const char *const *path, int n_paths, const ek_trace_index_options *options,
                              const ek_listener *listener, ek_trace_index **out, ek_trace_index_made *made,
                              ek_error *err)
{
    ek_error own = {0};
    opening o = {.options = options, .listener = listener, .err = err ? err : &own};
    o.pool = ek__pool_new();
    o.index = calloc(1, sizeof *o.index);
    ek_status status = ek__threads_check(options ? options->n_threads : 0, err);
    if (status == EK_OK)
        status = o.pool && o.index ? find_traces(&o, path, n_paths) : ek__no_memory(err);
    if (status == EK_OK)
        status = open_all(&o);
    ek__index_places_clear(&o.places);
    ek__pool_free(o.pool);
    if (status != EK_OK) {
        ek_trace_index_close(o.index);
        return status;
    }
    *out = o.index;
    if (made)
        *made = o.made;
    return EK_OK;
}

void ek_trace_index_close(ek_trace_index *index)
{
    if (!index)
        return;
    for (int i = 0; i < index->n_files; i++)
        ek__index_file_close(&index->file[i]);
    free(index->file);
    free(index->folder);
    free(index);
}

int ek_trace_index_rank(const ek_trace_index *index, int file)
{
    assert(file >= 0 && file < index->n_files);
    return index->file[file].rank;
}

void ek_trace_index_shift(ek_trace_index *index, const int64_t *shift)
{
    for (int i = 0; i < index->n_files; i++) {
        int64_t own = shift[i] < -FARTHEST_SHIFT ? -FARTHEST_SHIFT : shift[i];
        index->file[i].shift = own > FARTHEST_SHIFT ? FARTHEST_SHIFT : own;
    }
    ek_status status = ek__index_number(index, NULL);
    assert(status == EK_OK); /* same number as before */
    (void)status;
}
