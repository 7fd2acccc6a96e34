/* Finds the logs of a dry run below a folder: a walk in the order of names, so that the same folder always gives the
 * same result. It enters every folder once and its depth and length are limited. Folders of a stage are not searched
 * further. Compressed and rotated logs are not found. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/config_tree.h"
#include "base/error.h"
#include "dryrun/collect.h"

enum {
    MAX_DEPTH = 4, /* below the given folder: OUTPUT/log/stage3_3072 and one to spare */
    MAX_ENTRIES = 100000,
    PATH_SIZE = 4096,
};

/* Names in one folder, sorted. */
typedef struct names {
    size_t n, room;
    char **name;
} names;

/* A folder that was entered, so that links in circles end. */
typedef struct place {
    dev_t device;
    ino_t file;
} place;

typedef struct walk {
    const char *top;
    const ek_listener *listener;
    ek__logs *logs;
    ek_error *err;
    int n_entries;
    size_t n_seen, seen_room;
    place *seen;
} walk;

static ek_status walk_folder(walk *w, const char *path, int depth);

static void clear_names(names *list)
{
    for (size_t i = 0; i < list->n; i++)
        free(list->name[i]);
    free(list->name);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static ek_status add_name(walk *w, names *list, const char *name)
{
    if (++w->n_entries > MAX_ENTRIES)
        return ek__fail(w->err, EK_ERR_INPUT, ((ek_origin){w->top, 0, 0}),
                        "more than %d files and folders lie below it; give the folder of the dry run's logs itself",
                        MAX_ENTRIES);
    char **grown = ek__with_room(list->name, &list->room, list->n + 1, sizeof *grown);
    if (!grown)
        return ek__no_memory(w->err);
    list->name = grown;
    list->name[list->n] = ek__strdup(name);
    if (!list->name[list->n])
        return ek__no_memory(w->err);
    list->n++;
    return EK_OK;
}

static ek_status list_folder(walk *w, const char *path, names *list)
{
    DIR *folder = opendir(path);
    if (!folder)
        return ek__fail(w->err, ek__system_status(), ((ek_origin){path, 0, 0}), "the folder cannot be read: %s",
                        strerror(errno));
    ek_status status = EK_OK;
    for (struct dirent *entry; status == EK_OK && (entry = readdir(folder));)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            status = add_name(w, list, entry->d_name);
    closedir(folder);
    if (list->n > 0)
        qsort(list->name, list->n, sizeof *list->name, by_name);
    return status;
}

static ek_status join(walk *w, const char *folder, const char *name, char path[PATH_SIZE])
{
    size_t n = strlen(folder);
    const char *slash = n > 0 && folder[n - 1] == '/' ? "" : "/";
    if (snprintf(path, PATH_SIZE, "%s%s%s", folder, slash, name) >= PATH_SIZE)
        return ek__fail(w->err, EK_ERR_INPUT, ((ek_origin){w->top, 0, 0}),
                        "a path below it is longer than %d bytes; give a folder further inside", PATH_SIZE - 1);
    return EK_OK;
}

/* ---- the folder of a stage ---- */

static bool is_log(const char *folder, const char *name)
{
    char path[PATH_SIZE];
    struct stat info;
    size_t n = strlen(name);
    return n > 4 && strcmp(name + n - 4, ".log") == 0 &&
           snprintf(path, sizeof path, "%s/%s", folder, name) < (int)sizeof path && stat(path, &info) == 0 &&
           S_ISREG(info.st_mode);
}

/* The log of a stage among the names in its folder; "" when there is none, NULL when it is ambiguous. */
static const char *choose_log(walk *w, const char *folder, const names *list)
{
    const char *only = "", *worker = "";
    int n_logs = 0, n_workers = 0;
    for (size_t i = 0; i < list->n; i++) {
        const char *name = list->name[i];
        if (!is_log(folder, name))
            continue;
        if (strcmp(name, "mindformer.log") == 0)
            return name;
        n_logs++;
        only = name;
        if (strncmp(name, "worker_", 7) == 0 && n_workers++ == 0)
            worker = name;
    }
    if (n_logs <= 1)
        return only;
    if (n_workers > 1)
        ek__warn(w->listener, (ek_origin){folder, 0, 0}, "contains %d logs of workers; the first, %s, is read",
                 n_workers, worker);
    return n_workers > 0 ? worker : NULL;
}

static ek_status read_stage(walk *w, const char *folder, int stage, int rank)
{
    names list = {0};
    char path[PATH_SIZE];
    ek_status status = list_folder(w, folder, &list);
    const char *name = status == EK_OK ? choose_log(w, folder, &list) : "";
    if (status == EK_OK && !name)
        status = ek__fail(w->err, EK_ERR_INPUT, ((ek_origin){folder, 0, 0}),
                          "contains several *.log, but neither mindformer.log nor worker_*.log; leave only the one "
                          "with the memory lines");
    if (status == EK_OK && *name)
        status = join(w, folder, name, path);
    if (status == EK_OK)
        status = ek__logs_add(w->logs, w->top, stage, rank, *name ? path : folder, w->err);
    if (status == EK_OK)
        w->logs->log[w->logs->n - 1].no_log = !*name;
    clear_names(&list);
    return status;
}

/* ---- the walk ---- */

static ek_status enter(walk *w, const struct stat *info, bool *first)
{
    *first = true;
    for (size_t i = 0; i < w->n_seen; i++)
        if (w->seen[i].device == info->st_dev && w->seen[i].file == info->st_ino)
            *first = false;
    if (!*first)
        return EK_OK;
    place *grown = ek__with_room(w->seen, &w->seen_room, w->n_seen + 1, sizeof *grown);
    if (!grown)
        return ek__no_memory(w->err);
    w->seen = grown;
    w->seen[w->n_seen++] = (place){info->st_dev, info->st_ino};
    return EK_OK;
}

/* An unreadable folder that is not of a stage does not belong to the run. */
static ek_status descend(walk *w, const char *path, int depth)
{
    DIR *folder = depth <= MAX_DEPTH ? opendir(path) : NULL;
    if (!folder && depth <= MAX_DEPTH && errno == ENOMEM)
        return ek__no_memory(w->err);
    if (!folder) {
        if (depth <= MAX_DEPTH)
            ek__warn(w->listener, (ek_origin){path, 0, 0}, "the folder is passed over: %s", strerror(errno));
        return EK_OK;
    }
    closedir(folder);
    return walk_folder(w, path, depth);
}

static ek_status read_entry(walk *w, const char *folder, const char *name, int depth)
{
    char path[PATH_SIZE];
    struct stat info;
    int stage = 0, rank = 0;
    bool first = true;
    ek_status status = join(w, folder, name, path);
    if (status || stat(path, &info) != 0) /* a link to nowhere */
        return status;
    ek__log_name kind = ek__log_name_read(name, strlen(name), &stage, &rank);
    if (kind == EK__NAME_RANK_FILE && S_ISREG(info.st_mode))
        return ek__logs_add(w->logs, w->top, EK__NO_STAGE, rank, path, w->err);
    if (!S_ISDIR(info.st_mode))
        return EK_OK;
    status = enter(w, &info, &first);
    if (status || !first)
        return status;
    return kind == EK__NAME_STAGE_FOLDER ? read_stage(w, path, stage, rank) : descend(w, path, depth + 1);
}

static ek_status walk_folder(walk *w, const char *path, int depth)
{
    names list = {0};
    ek_status status = list_folder(w, path, &list);
    for (size_t i = 0; i < list.n && status == EK_OK; i++)
        status = read_entry(w, path, list.name[i], depth);
    clear_names(&list);
    return status;
}

/* The given folder may be that of a stage itself. */
static ek_status walk_top(walk *w)
{
    const char *name = w->top + strlen(w->top);
    while (name > w->top && name[-1] == '/')
        name--;
    size_t n = 0;
    while (name > w->top && name[-1] != '/') {
        name--;
        n++;
    }
    int stage = 0, rank = 0;
    if (ek__log_name_read(name, n, &stage, &rank) == EK__NAME_STAGE_FOLDER)
        return read_stage(w, w->top, stage, rank);
    return walk_folder(w, w->top, 0);
}

ek_status ek__folder_read(const char *path, const ek_listener *listener, ek__logs *logs, ek_error *err)
{
    walk w = {.top = path, .listener = listener, .logs = logs, .err = err};
    ek_status status = walk_top(&w);
    free(w.seen);
    if (status)
        return status;
    if (logs->n == 0)
        return ek__fail(
            err, EK_ERR_INPUT, ((ek_origin){path, 0, 0}),
            "contains no log of a dry run; looked for stage_S_rank_R/mindformer.log, stageS_R/mindformer.log and "
            "rank_R.log, at most %d folders deep; give the folder that contains them",
            MAX_DEPTH);
    for (size_t i = 0; i < logs->n && status == EK_OK; i++)
        if (!logs->log[i].no_log)
            status = ek_log_read(logs->log[i].path, &logs->log[i].log, err);
    return status;
}
