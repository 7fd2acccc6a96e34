/* Files below folders, in the order of their names, so that two runs print the same. Links to folders are not followed,
 * which keeps the walk from going round. */
#include "evenkeel/lint.h"
#include "evenkeel/lint_files.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/c_locale.h"
#include "base/error.h"

enum { MAX_FILES = 100000, MAX_DEPTH = 64, MAX_PATH = 4096 };

static bool make_room(ek_lint_files *files)
{
    int capacity = files->capacity ? 2 * files->capacity : 64;
    char **more = realloc(files->path, (size_t)capacity * sizeof *more);
    if (!more)
        return false;
    files->path = more;
    bool *marks = realloc(files->found, (size_t)capacity * sizeof *marks);
    if (!marks)
        return false;
    files->found = marks;
    files->capacity = capacity;
    return true;
}

/* `found`: below a folder, not named by the user. */
static ek_status keep(ek_lint_files *files, const char *path, bool found, ek_error *err)
{
    if (files->n == MAX_FILES)
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "more than %d files; give a folder with fewer", MAX_FILES);
    if (files->n == files->capacity && !make_room(files))
        return ek__no_memory(err);
    char *copy = strdup(path);
    if (!copy)
        return ek__no_memory(err);
    files->found[files->n] = found;
    files->path[files->n++] = copy;
    return EK_OK;
}

static ek_status add_folder(ek_lint_files *files, const char *path, int depth, const ek_listener *notes, ek_error *err);

/* An entry of a folder. */
static ek_status add_entry(ek_lint_files *files, const char *folder, const char *name, int depth,
                           const ek_listener *notes, ek_error *err)
{
    char path[MAX_PATH];
    struct stat about;
    if (name[0] == '.')
        return EK_OK;
    const char *slash = folder[strlen(folder) - 1] == '/' ? "" : "/";
    if (snprintf(path, sizeof path, "%s%s%s", folder, slash, name) >= (int)sizeof path)
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "%s: a path below it is longer than %d bytes", folder,
                        MAX_PATH - 1);
    if (lstat(path, &about) != 0)
        return EK_OK; /* gone since */
    if (S_ISDIR(about.st_mode))
        return add_folder(files, path, depth + 1, notes, err);
    if (S_ISLNK(about.st_mode) && stat(path, &about) != 0)
        return EK_OK;                                              /* a link to nothing */
    if (ek_lint_kind_by_name(name) < 0 || !S_ISREG(about.st_mode)) /* a pipe would wait for ever */
        return EK_OK;
    return keep(files, path, true, err);
}

static ek_status add_folder(ek_lint_files *files, const char *path, int depth, const ek_listener *notes, ek_error *err)
{
    struct dirent **entry = NULL;
    if (depth > MAX_DEPTH)
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "%s: folders are more than %d deep", path, MAX_DEPTH);
    int n = scandir(path, &entry, NULL, ek__alphasort);
    if (n < 0 && depth > 0 && errno != ENOMEM) {
        ek__warn(notes, EK__NOWHERE, "%s is left out: it cannot be read: %s", path, strerror(errno));
        return EK_OK;
    }
    if (n < 0)
        return ek__fail(err, ek__system_status(), EK__NOWHERE, "%s: cannot be read: %s", path, strerror(errno));
    ek_status status = EK_OK;
    for (int i = 0; i < n; i++) {
        status = status ? status : add_entry(files, path, entry[i]->d_name, depth, notes, err);
        free(entry[i]);
    }
    free(entry);
    return status;
}

ek_status ek_lint_files_add(ek_lint_files *files, const char *path, const ek_listener *notes, ek_error *err)
{
    struct stat about;
    if (strcmp(path, "-") != 0 && stat(path, &about) == 0 && S_ISDIR(about.st_mode))
        return add_folder(files, path, 0, notes, err);
    return keep(files, path, false, err);
}

void ek_lint_files_clear(ek_lint_files *files)
{
    for (int i = 0; i < files->n; i++)
        free(files->path[i]);
    free(files->path);
    free(files->found);
    *files = (ek_lint_files){0};
}
