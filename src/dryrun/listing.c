/* Reads the lines that grep found in the logs of a dry run: each has the log's path before the memory line, and the
 * path has the stage or the rank. Several runs in a log are handled as when the complete log is read, so the last one
 * counts. */
#include <stdlib.h>
#include <string.h>

#include "base/c_locale.h"
#include "base/config_tree.h"
#include "base/error.h"
#include "dryrun/collect.h"
#include "dryrun/log.h"

typedef struct listing {
    const char *name;
    ek__logs *logs;
    ek__blocks *blocks; /* [logs->n] */
    size_t blocks_room;
    ek_status status;
    ek_error error; /* of the first invalid line */
} listing;

static bool is_separator(char c)
{
    return c == '/' || c == '\\' || c == ':';
}

/* Find the log's path at the start of a line: up to the end of the file's name.
 * @return its length, 0 when none of its names has a stage or a rank. */
static size_t find_path(const char *line, size_t n, int *stage, int *rank)
{
    for (size_t from = 0; from < n;) {
        size_t to = from;
        while (to < n && !is_separator(line[to]))
            to++;
        ek__log_name kind = ek__log_name_read(line + from, to - from, stage, rank);
        if (kind == EK__NAME_STAGE_FOLDER)
            while (to < n && line[to] != ':')
                to++;
        if (kind != EK__NAME_OTHER)
            return to;
        from = to + 1;
    }
    return 0;
}

/* The index of a path's log, added when it is new. */
static ek_status find_log(listing *l, const char *path, int stage, int rank, size_t *index)
{
    for (size_t i = l->logs->n; i-- > 0;) /* lines of one log are adjacent */
        if (strcmp(l->logs->log[i].path, path) == 0) {
            *index = i;
            return EK_OK;
        }
    ek__blocks *grown = ek__with_room(l->blocks, &l->blocks_room, l->logs->n + 1, sizeof *grown);
    if (!grown)
        return ek__no_memory(&l->error);
    l->blocks = grown;
    l->blocks[l->logs->n] = (ek__blocks){0};
    *index = l->logs->n;
    return ek__logs_add(l->logs, l->name, stage, rank, path, &l->error);
}

static ek_status read_line(listing *l, const ek__hit *hit, const ek__memory_line *line)
{
    const char *start = (const char *)hit->start, *at = (const char *)hit->at;
    while (start < at && ek__is_space((unsigned char)*start))
        start++;
    int stage = EK__NO_STAGE, rank = 0;
    size_t index = 0, n = hit->from_start ? find_path(start, (size_t)(at - start), &stage, &rank) : 0;
    if (n == 0)
        return ek__fail(
            &l->error, EK_ERR_INPUT, ((ek_origin){l->name, hit->line, 1}),
            "there is no path with a stage or rank before the memory line; expected lines of grep such as "
            "'stage_1_rank_1024/mindformer.log:5482:Actual peak ...'; for logs themselves give the folder they are in");
    char *path = ek__alloc(n + 1, 1);
    if (!path)
        return ek__no_memory(&l->error);
    memcpy(path, start, n);
    ek_status status = memchr(path, '\0', n)
                           ? ek__fail(&l->error, EK_ERR_INPUT, ((ek_origin){l->name, hit->line, 1}),
                                      "the path before the memory line contains a NUL byte; correct it")
                           : find_log(l, path, stage, rank, &index);
    if (status == EK_OK)
        ek__blocks_add(&l->blocks[index], line);
    free(path);
    return status;
}

static void read_hit(void *user, const ek__hit *hit)
{
    listing *l = user;
    ek__memory_line line;
    if (l->status == EK_OK && ek__memory_line_read(hit, &line))
        l->status = read_line(l, hit, &line);
}

static ek_status finish(listing *l, ek_error *err)
{
    if (l->status == EK_OK && l->logs->n == 0)
        l->status =
            ek__fail(&l->error, EK_ERR_INPUT, ((ek_origin){l->name, 0, 0}),
                     "contains no line with a peak; expected the output of `grep -rn 'peak memory usage' FOLDER`");
    for (size_t i = 0; i < l->logs->n && l->status == EK_OK; i++)
        l->status = ek__blocks_finish(&l->blocks[i], l->name, &l->logs->log[i].log, &l->error);
    if (l->status && err)
        *err = l->error;
    return l->status;
}

ek_status ek__listing_read(int fd, const char *name, ek__logs *logs, ek_error *err)
{
    listing l = {.name = name, .logs = logs};
    ek__needles set;
    ek__memory_needles(&set);
    ek__scan scan = {.set = &set, .handle = read_hit, .user = &l};
    ek_status status = ek__scan_file(&scan, fd, name, err);
    if (status == EK_OK) {
        ek__scan_finish(&scan);
        status = finish(&l, err);
    }
    ek__scan_clear(&scan);
    free(l.blocks);
    return status;
}
