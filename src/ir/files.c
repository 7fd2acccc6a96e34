/* Selects the file of a folder of graphs. A compiler's passes write one file each, numbered in order; the last one
 * before the back end has the graph that the device runs. */
#include "evenkeel/ir_files.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"

static bool is_folder(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 && S_ISDIR(about.st_mode);
}

static bool is_file(const char *folder, const char *name)
{
    char path[4200];
    struct stat about;
    return snprintf(path, sizeof path, "%s/%s", folder, name) < (int)sizeof path && stat(path, &about) == 0 &&
           S_ISREG(about.st_mode);
}

typedef struct candidate {
    char name[256];
    int pass; /* 2 validate, 1 execute, 0 another */
    long number;
} candidate;

/* The number before ".ir", which orders the passes; -1 without one. */
static candidate judge(const char *name)
{
    candidate c = {.number = -1};
    size_t end = strlen(name) - strlen(".ir"), at = end;
    snprintf(c.name, sizeof c.name, "%s", name);
    c.pass = strstr(name, "validate") ? 2 : strstr(name, "execute") ? 1 : 0;
    while (at > 0 && name[at - 1] >= '0' && name[at - 1] <= '9' && end - at < 18)
        at--;
    if (at < end)
        c.number = strtol(name + at, NULL, 10);
    return c;
}

static bool better(const candidate *a, const candidate *b)
{
    if (!b->name[0] || a->pass != b->pass)
        return !b->name[0] || a->pass > b->pass;
    return a->number != b->number ? a->number > b->number : strcmp(a->name, b->name) > 0;
}

static bool ends_in_ir(const char *name)
{
    size_t n = strlen(name);
    return n > 3 && strcmp(name + n - 3, ".ir") == 0;
}

typedef struct content {
    candidate best;
    int n_files, n_ranks;
    char rank[256]; /* the first by name of the folders rank_N */
} content;

static ek_status list(const char *path, content *out, ek_error *err)
{
    *out = (content){0};
    DIR *folder = opendir(path);
    if (!folder)
        return ek__fail(err, ek__system_status(), ((ek_origin){path, 0, 0}), "cannot be opened: %s", strerror(errno));
    for (struct dirent *entry; (entry = readdir(folder));) {
        char below[4200];
        if (strncmp(entry->d_name, "rank_", 5) == 0 &&
            snprintf(below, sizeof below, "%s/%s", path, entry->d_name) < (int)sizeof below && is_folder(below)) {
            if (out->n_ranks++ == 0 || strcmp(entry->d_name, out->rank) < 0)
                snprintf(out->rank, sizeof out->rank, "%s", entry->d_name);
        }
        if (!ends_in_ir(entry->d_name) || !is_file(path, entry->d_name))
            continue;
        const candidate c = judge(entry->d_name);
        out->n_files++;
        if (better(&c, &out->best))
            out->best = c;
    }
    closedir(folder);
    return EK_OK;
}

static ek_status refuse(const char *path, const content *found, ek_error *err)
{
    const ek_origin origin = {path, 0, 0};
    if (found->n_ranks > 1)
        return ek__fail(err, EK_ERR_INPUT, origin,
                        "contains the graphs of %d ranks; give one of their folders, for example '%s/%s'",
                        found->n_ranks, path, found->rank);
    return ek__fail(
        err, EK_ERR_INPUT, origin,
        "contains no .ir file; MindSpore writes them if the training is started with MS_DEV_SAVE_GRAPHS=2 (and "
        "MS_DEV_SAVE_GRAPHS_PATH=FOLDER), or with `save_graphs: True` under `context` of the training YAML");
}

/* The best file of a folder, or of its only rank folder, to which `folder` is then set. */
static ek_status find(char folder[4200], content *found, ek_error *err)
{
    ek_status status = list(folder, found, err);
    if (status == EK_OK && found->n_files == 0 && found->n_ranks == 1) {
        size_t used = strlen(folder);
        snprintf(folder + used, 4200 - used, "/%s", found->rank);
        status = list(folder, found, err);
    }
    if (status == EK_OK && found->n_files == 0)
        status = refuse(folder, found, err);
    return status;
}

ek_status ek_ir_choose_file(const char *path, char *out, size_t size, const ek_listener *notes, ek_error *err)
{
    static const char *const why[] = {"the one with the highest number; none is of the pass validate or execute",
                                      "the last of the pass execute; none is of the pass validate",
                                      "the last of the pass validate"};
    char folder[4200];
    content found;
    if (strcmp(path, "-") == 0 || !is_folder(path))
        return snprintf(out, size, "%s", path) < (int)size
                   ? EK_OK
                   : ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "the path of '%s' is too long", path);
    snprintf(folder, sizeof folder, "%s", path);
    for (size_t n = strlen(folder); n > 1 && folder[n - 1] == '/';)
        folder[--n] = '\0';
    ek_status status = find(folder, &found, err);
    if (status)
        return status;
    if (snprintf(out, size, "%s/%s", folder, found.best.name) >= (int)size)
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "the path of '%s' is too long", found.best.name);
    ek__warn(notes, EK__NOWHERE, "reading '%s' of %d .ir file%s: %s", out, found.n_files, found.n_files == 1 ? "" : "s",
             why[found.best.pass]);
    return EK_OK;
}
