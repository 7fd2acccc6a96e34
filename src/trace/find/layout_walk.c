/* Walks through folders and lists files that profilers write. Names come in any order; sorting at the end and one entry
 * per file of the disk make the result independent of it and of the order of the paths given. A folder is not entered
 * below itself, depth and the number of entries are limited; so links in circles end. Unreadable entries are reported
 * and skipped. */
#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/c_locale.h"
#include "trace/database/database.h"
#include "trace/find/layout.h"

/* Folders from the given one to the current one. */
typedef struct trail {
    int depth;
    struct {
        dev_t device;
        ino_t file;
    } at[EK__LAYOUT_MAX_DEPTH + 1];
} trail;

/* Folders of profilers with files that are not used here. */
static const char *const skipped[] = {"FRAMEWORK", "logs", "log"};

/* Report a path that cannot be used. EK_OK or EK_ERR_MEMORY. */
__attribute__((format(printf, 5, 6))) static ek_status
note_trouble(ek__file_search *search, ek_status status, const char *path, ek_error *err, const char *format, ...)
{
    char text[1024];
    va_list arguments;
    if (status == EK_ERR_MEMORY)
        return ek__no_memory(err);
    va_start(arguments, format);
    ek__vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    ek__trouble *grown = ek__pool_push(search->pool, search->trouble, search->n_troubles, sizeof *grown);
    char *path_copy = ek__pool_text(search->pool, path, strlen(path));
    char *text_copy = ek__pool_text(search->pool, text, strlen(text));
    if (!grown || !path_copy || !text_copy)
        return ek__no_memory(err);
    search->trouble = grown;
    search->trouble[search->n_troubles++] = (ek__trouble){path_copy, text_copy, status};
    return EK_OK;
}

/* From the root, without "." and "..", only by the text: names of links stay. NULL when it is too long. */
static const char *full_path(const char *path, char full[EK__LAYOUT_PATH_SIZE])
{
    size_t n = 0;
    if (*path != '/') {
        if (!getcwd(full, EK__LAYOUT_PATH_SIZE))
            return NULL;
        n = strlen(full);
        n -= n == 1;
    }
    while (*path) {
        size_t size = strcspn(path, "/");
        if (size == 2 && memcmp(path, "..", 2) == 0) {
            while (n > 0 && full[--n] != '/')
                ;
        } else if (size > 0 && !(size == 1 && *path == '.')) {
            if (n + 1 + size >= EK__LAYOUT_PATH_SIZE)
                return NULL;
            full[n] = '/';
            memcpy(full + n + 1, path, size);
            n += 1 + size;
        }
        path += size + (path[size] == '/');
    }
    full[n] = '\0';
    return full;
}

/* Append to a list of the search. */
static ek_status keep_in(ek__file_search *search, ek__found **list, int *n, const char *path, const struct stat *info,
                         ek__found found, ek_error *err)
{
    char full[EK__LAYOUT_PATH_SIZE];
    if (!full_path(path, full))
        return note_trouble(search, EK_ERR_INPUT, path, err, "the path is longer than %d bytes",
                            EK__LAYOUT_PATH_SIZE - 1);
    if (*n >= EK_TRACE_MAX_FILES)
        return ek__fail(err, EK_ERR_INPUT, ((ek_origin){path, 0, 0}),
                        "is one file more than the %d that are read at once; give a folder further inside",
                        EK_TRACE_MAX_FILES);
    ek__found *grown = ek__pool_push(search->pool, *list, *n, sizeof *grown);
    char *path_copy = ek__pool_text(search->pool, path, strlen(path));
    char *full_copy = ek__pool_text(search->pool, full, strlen(full));
    if (!grown || !path_copy || !full_copy)
        return ek__no_memory(err);
    found.path = path_copy;
    found.full = full_copy;
    found.device = info->st_dev;
    found.file = info->st_ino;
    found.number = found.device_id = found.stage = -1;
    *list = grown;
    (*list)[(*n)++] = found;
    return EK_OK;
}

/* `types`: of a database; else 0. */
static ek_status keep(ek__file_search *search, const char *path, const struct stat *info, ek__file_type type,
                      uint32_t types, bool given, ek_error *err)
{
    return keep_in(search, &search->found, &search->n_found, path, info,
                   (ek__found){.type = type, .types = types, .given = given}, err);
}

static ek_status keep_part(ek__file_search *search, const char *path, const struct stat *info, ek_error *err)
{
    return keep_in(search, &search->part, &search->n_parts, path, info, (ek__found){.given = true}, err);
}

/* ---- folders ---- */

static ek_status walk(ek__file_search *search, const char *path, const struct stat *info, trail *on, ek_error *err);

static bool is_skipped(const char *name)
{
    for (size_t i = 0; i < sizeof skipped / sizeof *skipped; i++)
        if (strcmp(name, skipped[i]) == 0)
            return true;
    return *name == '.';
}

static bool ends_with_one_of(const char *name, const char *const *end)
{
    size_t n = strlen(name);
    for (; *end; end++)
        if (n > strlen(*end) && strcmp(name + n - strlen(*end), *end) == 0)
            return true;
    return false;
}

static bool has_database_name(const char *name)
{
    static const char *const ends[] = {".db", ".sqlite", ".sqlite3", NULL};
    return ends_with_one_of(name, ends);
}

/* Names that other files have, too: their beginning decides. */
static bool is_worth_a_look(const char *name)
{
    static const char *const ends[] = {".json", ".pickle", ".pkl", NULL};
    return ends_with_one_of(name, ends);
}

/* @return false when memory is out */
static bool add_database(ek__file_search *search, const char *path)
{
    search->n_databases++;
    if (search->database && strcmp(search->database, path) <= 0)
        return true;
    search->database = ek__pool_text(search->pool, path, strlen(path));
    return search->database != NULL;
}

static ek__file_type first_of(uint32_t types)
{
    return (ek__file_type)__builtin_ctz(types);
}

/* A database in a searched folder. Databases other than profilers' exports, such as the raw results that the device's
 * profiler leaves below PROF_ folders, are counted. */
static ek_status look_at_database(ek__file_search *search, const char *path, const struct stat *info, ek_error *err)
{
    uint32_t types = 0;
    ek_error own;
    if (info->st_size == 0)
        return note_trouble(search, EK_ERR_INPUT, path, err, "is empty: the profiler did not finish writing it");
    ek_status status = ek__is_database(path) ? ek__database_look(path, &types, &own) : EK_OK;
    if (status != EK_OK)
        return note_trouble(search, status, path, err, "%s", own.message);
    if (types != 0)
        return keep(search, path, info, first_of(types), types, false, err);
    return add_database(search, path) ? EK_OK : ek__no_memory(err);
}

/* A regular file of a searched folder. */
static ek_status look_at(ek__file_search *search, const char *path, const char *name, const struct stat *info,
                         ek_error *err)
{
    static const char *const part_ends[] = {EK__PART_END, NULL};
    ek__file_type type;
    if (ends_with_one_of(name, part_ends))
        return keep_part(search, path, info, err);
    if (has_database_name(name))
        return look_at_database(search, path, info, err);
    bool known = ek__type_of_name(name, &type);
    /* Many programs write a task.csv. */
    if (known && type == EK__FILE_memory_task && !ek__begins_with_tasks(path))
        return EK_OK;
    if (!known && (!is_worth_a_look(name) || !ek__type_of_content(path, true, &type)))
        return EK_OK;
    if (info->st_size == 0)
        return note_trouble(search, EK_ERR_INPUT, path, err, "is empty: the profiler did not finish writing it");
    return keep(search, path, info, type, 0, false, err);
}

static ek_status walk_entry(ek__file_search *search, const char *folder, const char *name, trail *on, ek_error *err)
{
    char path[EK__LAYOUT_PATH_SIZE];
    struct stat info;
    size_t n = strlen(folder);
    if (snprintf(path, sizeof path, "%s%s%s", folder, n > 0 && folder[n - 1] == '/' ? "" : "/", name) >=
        (int)sizeof path)
        return note_trouble(search, EK_ERR_INPUT, folder, err,
                            "a path below it is longer than %d bytes; give a folder further inside",
                            EK__LAYOUT_PATH_SIZE - 1);
    if (stat(path, &info) != 0)
        return EK_OK; /* a link to nowhere */
    if (S_ISDIR(info.st_mode))
        return is_skipped(name) ? EK_OK : walk(search, path, &info, on, err);
    return S_ISREG(info.st_mode) ? look_at(search, path, name, &info, err) : EK_OK;
}

static bool is_below_itself(const trail *on, const struct stat *info)
{
    for (int i = 0; i < on->depth; i++)
        if (on->at[i].device == info->st_dev && on->at[i].file == info->st_ino)
            return true;
    return false;
}

static ek_status walk(ek__file_search *search, const char *path, const struct stat *info, trail *on, ek_error *err)
{
    if (is_below_itself(on, info))
        return EK_OK;
    if (on->depth > EK__LAYOUT_MAX_DEPTH)
        return note_trouble(search, EK_ERR_INPUT, path, err,
                            "is more than %d folders below the given one and is not searched; give this folder",
                            EK__LAYOUT_MAX_DEPTH);
    DIR *folder = opendir(path);
    if (!folder)
        return note_trouble(search, ek__system_status(), path, err, "the folder cannot be read: %s", strerror(errno));
    on->at[on->depth].device = info->st_dev;
    on->at[on->depth++].file = info->st_ino;
    ek_status status = EK_OK;
    for (struct dirent *entry; status == EK_OK && (entry = readdir(folder));) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        if (++search->n_entries > EK__LAYOUT_MAX_ENTRIES)
            status =
                ek__fail(err, EK_ERR_INPUT, ((ek_origin){path, 0, 0}),
                         "more than %d files and folders were looked at; give the folders of the profiles themselves",
                         EK__LAYOUT_MAX_ENTRIES);
        else
            status = walk_entry(search, path, entry->d_name, on, err);
    }
    closedir(folder);
    on->depth--;
    return status;
}

/* ---- given paths ---- */

static ek_status add_given_database(ek__file_search *search, const char *path, const struct stat *info, ek_error *err)
{
    uint32_t types = 0;
    ek_error own;
    ek_status status = ek__database_look(path, &types, &own);
    if (status != EK_OK)
        return note_trouble(search, status, path, err, "%s", own.message);
    if (types != 0)
        return keep(search, path, info, first_of(types), types, true, err);
    return note_trouble(
        search, EK_ERR_INPUT, path, err,
        "is a database without the tables of a profiler's export: ascend_pytorch_profiler_*.db, "
        "ascend_mindspore_profiler_*.db, msprof_*.db, analysis.db, or the output of nsys export --type sqlite");
}

static ek_status add_file(ek__file_search *search, const char *path, const struct stat *info, ek_error *err)
{
    ek__file_type type;
    /* `<(zstd -dc trace.json.zst)`: a pipe can be read only once, so its content counts as a trace.
     */
    if (S_ISFIFO(info->st_mode))
        return keep(search, path, info, EK__FILE_TRACE, 0, true, err);
    if (!S_ISREG(info->st_mode))
        return note_trouble(search, EK_ERR_INPUT, path, err,
                            "is no regular file; profiles are read from files or pipes, not from devices");
    if (info->st_size == 0)
        return note_trouble(search, EK_ERR_INPUT, path, err, "is empty: the profiler did not finish writing it");
    if (access(path, R_OK) != 0)
        return note_trouble(search, ek__system_status(), path, err, "cannot be opened: %s", strerror(errno));
    if (ek__begins_as_part(path))
        return keep_part(search, path, info, err);
    if (ek__is_database(path))
        return add_given_database(search, path, info, err);
    const char *slash = strrchr(path, '/');
    if (ek__type_of_name(slash ? slash + 1 : path, &type) || ek__type_of_content(path, false, &type))
        return keep(search, path, info, type, 0, true, err);
    if (fnmatch("*.nsys-rep", path, 0) == 0 || fnmatch("*.qdrep", path, 0) == 0)
        return note_trouble(
            search, EK_ERR_INPUT, path, err,
            "is a report that only Nsight Systems reads; export it as a database: nsys export --type sqlite FILE");
    if (has_database_name(path))
        return note_trouble(search, EK_ERR_INPUT, path, err,
                            "is no SQLite database, in spite of its name; copy or export it again");
    return note_trouble(search, EK_ERR_INPUT, path, err,
                        "has an unknown format: neither a trace (JSON, plain or .gz), nor a memory snapshot of "
                        "PyTorch, nor a table with the columns of kernel_details.csv, step_trace_time.csv, "
                        "op_statistic.csv, memory_record.csv or another that profilers write");
}

static int by_file(const void *a, const void *b)
{
    const ek__found *x = a, *y = b;
    if (x->device != y->device)
        return x->device < y->device ? -1 : 1;
    if (x->file != y->file)
        return x->file < y->file ? -1 : 1;
    size_t n = strlen(x->path), m = strlen(y->path);
    if (n != m)
        return n < m ? -1 : 1;
    return strcmp(x->path, y->path);
}

static int by_path(const void *a, const void *b)
{
    return strcmp(((const ek__found *)a)->path, ((const ek__found *)b)->path);
}

/* The same file by two paths is read once, by the shortest one: it goes through fewer links. */
static void drop_repeats(ek__found *list, int *n_list)
{
    int n = 0;
    if (*n_list == 0)
        return;
    qsort(list, (size_t)*n_list, sizeof *list, by_file);
    for (int i = 0; i < *n_list; i++) {
        ek__found *last = n > 0 ? &list[n - 1] : NULL;
        if (last && last->device == list[i].device && last->file == list[i].file)
            last->given = last->given || list[i].given;
        else
            list[n++] = list[i];
    }
    *n_list = n;
    qsort(list, (size_t)n, sizeof *list, by_path);
}

ek_status ek__file_search_walk(ek__file_search *search, const char *const *path, int n_paths, ek_error *err)
{
    ek_status status = EK_OK;
    for (int i = 0; i < n_paths && status == EK_OK; i++) {
        struct stat info;
        trail on = {0};
        if (stat(path[i], &info) != 0)
            status = note_trouble(search, ek__system_status(), path[i], err, "cannot be opened: %s", strerror(errno));
        else if (S_ISDIR(info.st_mode))
            status = walk(search, path[i], &info, &on, err);
        else
            status = add_file(search, path[i], &info, err);
    }
    if (status == EK_OK) {
        drop_repeats(search->found, &search->n_found);
        drop_repeats(search->part, &search->n_parts);
    }
    return status;
}
