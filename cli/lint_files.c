/* Files below folders, in the order of their names, so that two runs print the same. Links to folders are not followed,
 * which keeps the walk from going round. */
#include "lint_files.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "evenkeel/lint.h"

#include "options.h"

enum { MAX_FILES = 100000, MAX_DEPTH = 64, MAX_PATH = 4096 };

static bool make_room(cli_lint_files *files)
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
static bool keep(cli_lint_files *files, const char *path, bool found)
{
    if (files->n == MAX_FILES) {
        cli_error(NULL, "more than %d files; give a folder with fewer", MAX_FILES);
        return false;
    }
    if (files->n == files->capacity && !make_room(files)) {
        cli_error(NULL, "out of memory");
        return false;
    }
    char *copy = strdup(path);
    if (!copy) {
        cli_error(NULL, "out of memory");
        return false;
    }
    files->found[files->n] = found;
    files->path[files->n++] = copy;
    return true;
}

static bool add_folder(cli_lint_files *files, const char *path, int depth);

/* An entry of a folder. */
static bool add_entry(cli_lint_files *files, const char *folder, const char *name, int depth)
{
    char path[MAX_PATH];
    struct stat about;
    if (name[0] == '.')
        return true;
    const char *slash = folder[strlen(folder) - 1] == '/' ? "" : "/";
    if (snprintf(path, sizeof path, "%s%s%s", folder, slash, name) >= (int)sizeof path) {
        cli_error(NULL, "%s: a path below it is longer than %d bytes", folder, MAX_PATH - 1);
        return false;
    }
    if (lstat(path, &about) != 0)
        return true; /* gone since */
    if (S_ISDIR(about.st_mode))
        return add_folder(files, path, depth + 1);
    if (S_ISLNK(about.st_mode) && stat(path, &about) != 0)
        return true; /* a link to nothing */
    return ek_lint_kind_by_name(name) < 0 || !S_ISREG(about.st_mode) ||
           keep(files, path, true); /* a pipe would wait for ever */
}

static bool add_folder(cli_lint_files *files, const char *path, int depth)
{
    struct dirent **entry = NULL;
    if (depth > MAX_DEPTH) {
        cli_error(NULL, "%s: folders are more than %d deep", path, MAX_DEPTH);
        return false;
    }
    int n = scandir(path, &entry, NULL, alphasort);
    if (n < 0 && depth > 0) {
        cli_note("%s is left out: it cannot be read: %s", path, strerror(errno));
        return true;
    }
    if (n < 0) {
        cli_error(NULL, "%s: cannot be read: %s", path, strerror(errno));
        return false;
    }
    bool fine = true;
    for (int i = 0; i < n; i++) {
        fine = fine && add_entry(files, path, entry[i]->d_name, depth);
        free(entry[i]);
    }
    free(entry);
    return fine;
}

bool cli_lint_files_add(cli_lint_files *files, const char *path)
{
    struct stat about;
    if (strcmp(path, "-") != 0 && stat(path, &about) == 0 && S_ISDIR(about.st_mode)) {
        return add_folder(files, path, 0);
    }
    return keep(files, path, false);
}

void cli_lint_files_clear(cli_lint_files *files)
{
    for (int i = 0; i < files->n; i++)
        free(files->path[i]);
    free(files->path);
    free(files->found);
    *files = (cli_lint_files){0};
}
