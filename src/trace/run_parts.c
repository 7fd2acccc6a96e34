/* Joins parts of a run, from files or other processes, to one run. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/pool.h"
#include "trace/partial/part.h"
#include "trace/run_ranks.h"
#include "trace/tables/tables.h"

/* ---- data about the whole run in files ---- */

static void take_largest(int value, int *to)
{
    *to = value > *to ? value : *to;
}

static ek_status join_topology(ek_trace_run *run, const ek_trace_topology *from, ek_error *err)
{
    ek_trace_topology *to = &run->topology;
    to->known |= from->known;
    take_largest(from->tensor, &to->tensor);
    take_largest(from->pipeline, &to->pipeline);
    take_largest(from->data, &to->data);
    take_largest(from->context, &to->context);
    take_largest(from->expert, &to->expert);
    take_largest(from->world_size, &to->world_size);
    to->sequence_parallel |= from->sequence_parallel;
    to->tells_sequence_parallel |= from->tells_sequence_parallel;
    return from->n_groups > 0 ? ek__topology_add(run, from->group, (size_t)from->n_groups, err) : EK_OK;
}

static bool is_same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static bool is_same_row(const ek_trace_cluster_row *a, const ek_trace_cluster_row *b)
{
    return is_same_text(a->step, b->step) && is_same_text(a->type, b->type) && is_same_text(a->index, b->index) &&
           a->computing == b->computing && a->not_overlapped == b->not_overlapped && a->overlapped == b->overlapped &&
           a->communication == b->communication && a->free == b->free && a->stage == b->stage &&
           a->bubble == b->bubble && a->exclude_receive == b->exclude_receive && a->preparing == b->preparing;
}

/* A table of the whole run may be with every part of it: its rows count once. */
static ek_status join_rows(ek_trace_run *run, const ek_trace_run *part, ek_error *err)
{
    const int n = part->n_cluster_rows, before = run->n_cluster_rows;
    bool same = n > 0 && n <= before;
    for (int i = 0; i < n && same; i++)
        same = is_same_row(&run->cluster_row[i], &part->cluster_row[i]);
    if (n == 0 || same)
        return EK_OK;
    ek_trace_cluster_row *all = ek__pool_alloc(run->pool, (size_t)before + (size_t)n, sizeof *all);
    if (!all)
        return ek__no_memory(err);
    if (before > 0)
        memcpy(all, run->cluster_row, (size_t)before * sizeof *all);
    memcpy(all + before, part->cluster_row, (size_t)n * sizeof *all);
    run->cluster_row = all;
    run->n_cluster_rows += n;
    return EK_OK;
}

ek_status ek__run_join_common(ek_trace_run *run, const ek_trace_run *part, ek_error *err)
{
    ek_status status = join_topology(run, &part->topology, err);
    run->n_databases += part->n_databases;
    if (part->database && (!run->database || strcmp(part->database, run->database) < 0))
        run->database = part->database;
    return status ? status : join_rows(run, part, err);
}

ek_status ek__run_join(ek_trace_run *run, ek_trace_run *part, ek_error *err)
{
    ek_status status = ek__run_join_common(run, part, err);
    ek__pool_join(run->pool, part->pool);
    part->pool = NULL;
    int n = 0;
    for (; n < part->n_ranks && !status; n++) {
        ek_trace_rank *all = ek__pool_push(run->pool, run->rank, run->n_ranks, sizeof *all);
        if (!all) {
            status = ek__no_memory(err);
            break;
        }
        run->rank = all;
        run->rank[run->n_ranks++] = part->rank[n];
    }
    for (; n < part->n_ranks; n++) /* number that did not fit */
        ek__pool_free(part->rank[n].pool);
    *part = (ek_trace_run){0};
    return status;
}

/* ---- files ---- */

static ek_status read_file(const char *path, unsigned char **bytes, size_t *size, ek_error *err)
{
    const ek_origin origin = {path, 0, 0};
    FILE *file = fopen(path, "rb");
    size_t room = 0, n = 0, got;
    unsigned char *at = NULL;
    ek_status status = EK_OK;
    if (!file)
        return ek__fail(err, ek__system_status(), origin, "cannot be opened: %s", strerror(errno));
    do {
        unsigned char *more = ek__with_room(at, &room, n + 65536, 1);
        if (!more) {
            status = ek__no_memory(err);
            break;
        }
        at = more;
        got = fread(at + n, 1, room - n, file);
        n += got;
    } while (got > 0);
    if (!status && ferror(file))
        status = ek__fail(err, EK_ERR_SYSTEM, origin, "cannot be read: %s", strerror(errno));
    fclose(file);
    if (status) {
        free(at);
        return status;
    }
    *bytes = at;
    *size = n;
    return EK_OK;
}

static const char *or_none(const char *options)
{
    return *options ? options : "no options";
}

static ek_status read_part(const char *path, const char *own, ek__trace_part *out, ek_error *err)
{
    unsigned char *bytes;
    size_t size;
    ek_status status = read_file(path, &bytes, &size, err);
    if (status)
        return status;
    status = ek__part_read(bytes, size, path, out, err);
    free(bytes);
    if (status || strcmp(out->options, own) == 0)
        return status;
    status = ek__fail(err, EK_ERR_INPUT, ((ek_origin){path, 0, 0}),
                      "was written with %s, but the current options are %s: give the same ones, since the analysis of "
                      "ranks cannot be changed later",
                      or_none(out->options), or_none(own));
    ek_trace_run_clear(&out->run);
    return status;
}

ek_status ek__run_read_parts(const char *const *path, int n_paths, const ek_trace_options *options, ek_trace_run *run,
                             ek_error *err)
{
    const char *own = ek__part_options(options, run->pool);
    ek_status status = own ? EK_OK : ek__no_memory(err);
    for (int i = 0; i < n_paths && !status; i++) {
        ek__trace_part part;
        if (ek_interrupted(options->interrupt))
            return ek__fail(err, EK_ERR_SYSTEM, ((ek_origin){path[i], 0, 0}), "interrupted");
        status = read_part(path[i], own, &part, err);
        for (int k = 0; !status && k < part.run.n_ranks; k++)
            part.run.rank[k].is_part = true;
        if (!status)
            status = ek__run_join(run, &part.run, err);
        if (!status && options->progress)
            options->progress(options->user, (double)(i + 1) / n_paths, "reading");
    }
    return status;
}

ek_status ek_trace_part_write(const ek_trace_run *run, const ek_trace_options *options, FILE *out, ek_error *err)
{
    unsigned char *bytes;
    size_t size;
    ek__pool *pool = ek__pool_new();
    const char *text = pool ? ek__part_options(options, pool) : NULL;
    ek_status status = text ? ek__part_write(run, text, &bytes, &size, err) : ek__no_memory(err);
    ek__pool_free(pool);
    if (status)
        return status;
    bool fine = fwrite(bytes, 1, size, out) == size;
    free(bytes);
    return fine ? EK_OK : ek__fail(err, EK_ERR_SYSTEM, EK__NOWHERE, "cannot be written: %s", strerror(errno));
}
