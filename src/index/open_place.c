/* Finds the folder for index files. It is the requested one; a new temporary one for an index that is not kept;
 * otherwise a folder `evenkeel-index` next to the trace (for several traces, in the deepest folder that contains them
 * all), or in the user's cache if that is not writable. Names consist of the trace's name and the hash of its path, so
 * they cannot lead out of the folder. */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sys/stat.h>

#include "base/temporary.h"
#include "index/opened.h"

enum { NAME_KEPT = 60 };

static char *join(const char *a, const char *b)
{
    size_t size = strlen(a) + strlen(b) + 2;
    char *path = malloc(size);
    if (path)
        snprintf(path, size, "%s%s%s", a, *a && a[strlen(a) - 1] == '/' ? "" : "/", b);
    return path;
}

static uint64_t hash_of(const char *text, size_t size)
{
    uint64_t hash = UINT64_C(14695981039346656037);
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ (unsigned char)text[i]) * UINT64_C(1099511628211);
    return hash;
}

static bool is_plain(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
           c == '.';
}

char *ek__index_file_name(const char *trace, int number)
{
    const char *slash = strrchr(trace, '/'), *base = slash ? slash + 1 : trace;
    assert(number >= 0);
    char kept[NAME_KEPT + 1], *name = malloc(NAME_KEPT + 64);
    size_t n = strcspn(base, ".");
    n = n > NAME_KEPT ? NAME_KEPT : n;
    for (size_t i = 0; i < n; i++)
        kept[i] = is_plain(base[i]) ? base[i] : '_';
    kept[n] = '\0';
    unsigned long long hash = hash_of(trace, strlen(trace));
    if (name && number > 0)
        snprintf(name, NAME_KEPT + 64, "%s-%016llx-%d.ekindex", kept, hash, number);
    else if (name)
        snprintf(name, NAME_KEPT + 64, "%s-%016llx.ekindex", kept, hash);
    return name;
}

/* ---- folders ---- */

/* The deepest folder that contains all traces: its size within the first one's path; 0 when that is the root. */
static size_t common_folder(const char *const *trace, int n)
{
    assert(n >= 1 && trace[0][0] == '/');
    const char *slash = strrchr(trace[0], '/');
    size_t size = slash ? (size_t)(slash - trace[0]) : 0;
    for (int i = 1; i < n; i++) {
        size_t same = 0, last = 0;
        while (same < size && trace[i][same] == trace[0][same]) {
            if (trace[0][same] == '/')
                last = same;
            same++;
        }
        size = same == size && trace[i][same] == '/' ? size : last;
    }
    assert(trace[0][size] == '/'); /* it ends with a whole name */
    return size;
}

static char *beside(const char *const *trace, int n, size_t *size)
{
    *size = common_folder(trace, n);
    char *folder = *size > 0 ? strndup(trace[0], *size) : NULL;
    char *path = folder ? join(folder, EK_TRACE_INDEX_FOLDER) : NULL;
    free(folder);
    return path;
}

/* ${XDG_CACHE_HOME:-$HOME/.cache}/evenkeel/index/HASH; NULL without either. */
static char *in_cache(const char *folder, size_t size)
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    char rest[64], *own = NULL, *path = NULL;
    snprintf(rest, sizeof rest, "evenkeel/index/%016llx", (unsigned long long)hash_of(folder, size));
    if (!cache || *cache != '/') { /* the standard requires relative paths to be ignored */
        if (!home || *home != '/')
            return NULL;
        cache = own = join(home, ".cache");
    }
    if (cache)
        path = join(cache, rest);
    free(own);
    return path;
}

static ek_status make_temporary(ek__index_places *out, ek_error *err)
{
    const char *folder = getenv("TMPDIR");
    char *path = join(folder && *folder ? folder : "/tmp", EK_TRACE_INDEX_FOLDER "-XXXXXX");
    if (!path)
        return ek__no_memory(err);
    ek_status status = ek__temporary_folder(path, err);
    if (status == EK_ERR_SYSTEM)
        status = ek__fail(err, EK_ERR_SYSTEM, EK__NOWHERE,
                          "no temporary folder can be made in %s: %s; set TMPDIR to a folder with room",
                          folder && *folder ? folder : "/tmp", strerror(errno));
    if (status != EK_OK) {
        free(path);
        return status;
    }
    *out = (ek__index_places){.n = 1, .folder = {path}, .temporary = true};
    return EK_OK;
}

ek_status ek__index_places_find(const char *const *trace, int n, const ek_trace_index_options *options,
                                ek__index_places *out, ek_error *err)
{
    ek__index_places places = {0};
    size_t size;
    if (options && options->temporary)
        return make_temporary(out, err);
    if (options && options->folder) {
        places.folder[0] = strdup(options->folder);
        places.n = places.folder[0] != NULL;
        *out = places;
        return places.n > 0 ? EK_OK : ek__no_memory(err);
    }
    char *first = beside(trace, n, &size), *second = in_cache(trace[0], size);
    if (first)
        places.folder[places.n++] = first;
    if (second)
        places.folder[places.n++] = second;
    *out = places;
    if (places.n == 0)
        return ek__fail(err, EK_ERR_SYSTEM, EK__NOWHERE,
                        "there is no place for the index: neither a folder that all traces are in, nor HOME or "
                        "XDG_CACHE_HOME; name a folder for it");
    return EK_OK;
}

void ek__index_places_clear(ek__index_places *places)
{
    if (places->temporary && places->n > 0)
        ek_temporary_remove(places->folder[0]);
    for (int i = 0; i < places->n; i++)
        free(places->folder[i]);
    *places = (ek__index_places){0};
}

/* Make a folder and its parents. @return false with errno */
static bool make_folders(const char *folder)
{
    char *path = strdup(folder);
    bool fine = path != NULL;
    for (char *at = path ? path + 1 : NULL; fine && at; at++) {
        at = strchr(at, '/');
        if (at)
            *at = '\0';
        fine = mkdir(path, 0700) == 0 || errno == EEXIST;
        if (!at)
            break;
        *at = '/';
    }
    free(path);
    return fine;
}

static bool can_write(const char *folder)
{
    struct stat info;
    if (stat(folder, &info) != 0)
        return false;
    if (!S_ISDIR(info.st_mode)) {
        errno = ENOTDIR;
        return false;
    }
    return access(folder, W_OK | X_OK) == 0;
}

const char *ek__index_place_to_write(const ek__index_places *places, ek_error *err)
{
    int problem = 0;
    for (int i = 0; i < places->n; i++) {
        /* next to the traces only this folder is made: those above it exist */
        bool made = can_write(places->folder[i]) || make_folders(places->folder[i]);
        if (made && can_write(places->folder[i]))
            return places->folder[i];
        problem = problem ? problem : errno;
    }
    ek__set_error(err, EK_ERR_SYSTEM, EK__NOWHERE,
                  "the index cannot be written to %s%s%s (%s); name a folder for it that can be written",
                  places->folder[0], places->n > 1 ? " nor to " : "", places->n > 1 ? places->folder[1] : "",
                  strerror(problem));
    return NULL;
}
