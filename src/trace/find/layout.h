/* trace/find/layout.h - the steps of finding a run's files: walk the folders, detect types, group by rank. */
#ifndef EK_TRACE_FIND_LAYOUT_H
#define EK_TRACE_FIND_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sys/types.h>

#include "base/pool.h"
#include "trace/tables/files.h"

/** Part of a text. */
typedef struct ek__path_part {
    const char *at;
    size_t n;
} ek__path_part;

enum {
    EK__LAYOUT_MAX_DEPTH = 16,        /**< folders below the given one */
    EK__LAYOUT_MAX_ENTRIES = 1 << 24, /**< names checked, over all folders */
    EK__LAYOUT_PATH_SIZE = 4096,
};

/** A file to be read. */
typedef struct ek__found {
    const char *path; /**< as given, or below a given folder */
    const char *full; /**< the same from the root, without "." and ".." */
    ek__file_type type;
    uint32_t types; /**< of a database: the types as which it can be read, EK__FILE_BIT(); else 0. `type` is the first
                     * of them */
    bool given;     /**< the file itself was given, not a folder */
    bool left_out;
    dev_t device;
    ino_t file;
    const char *key;  /**< equal for files of one rank */
    const char *prof; /**< raw results of the device profiler: their PROF_ folder; else NULL */
    int number;       /**< rank number in the name or the device's folder; -1 */
    int device_id, stage;
} ek__found;

/** Files that could not be used, and the reasons. */
typedef struct ek__trouble {
    const char *path, *text;
    ek_status status;
} ek__trouble;

typedef struct ek__file_search {
    ek__pool *pool;
    int n_found, n_troubles;
    int n_entries, n_databases;
    const char *database; /**< the first by path of n_databases that were not read */
    int n_parts;
    ek__found *part;  /**< [n_parts], by path: partial results of earlier analyses */
    ek__found *found; /**< in `pool` */
    ek__trouble *trouble;
} ek__file_search;

/** Everything below the paths that is of a known type, each file once, by path. O(entries log entries). */
ek_status ek__file_search_walk(ek__file_search *search, const char *const *path, int n_paths, ek_error *err);

/** The type by a file's name; false when the name has none. */
bool ek__type_of_name(const char *name, ek__file_type *type);
/** The type by its beginning; `strict`: JSON only when events are visible. */
bool ek__type_of_content(const char *path, bool strict, ek__file_type *type);
/** Files of partial results: the end of their names, and the check whether their bytes begin as such
 * (trace/partial/part.h). */
#define EK__PART_END   ".ekr"
#define EK__PART_MAGIC "EKPART1\n"
bool ek__begins_as_part(const char *path);
/** Does a CSV have the header of the memory tracker's tasks? */
bool ek__begins_with_tasks(const char *path);

/** Folder of a path, its last part; both of a part. */
ek__path_part ek__folder_of(ek__path_part path);
ek__path_part ek__last_of(ek__path_part path);
ek__path_part ek__part_of(const char *text);
bool ek__part_is(ek__path_part part, const char *text);
bool ek__part_begins(ek__path_part part, const char *text);
/** The name without .json, .csv, .db, .sqlite and .gz. */
ek__path_part ek__stem_of(ek__path_part name);
/** The number of the last "rank3", "rank-3" or "rank_3" for the word "rank"; -1 without one. */
int ek__number_behind(ek__path_part name, const char *word);
/** The last number, unless it has more than six digits, as times and process ids have; -1 without one. */
int ek__last_number(ek__path_part name);
/** The numbers of "msprof_0_2_1": those at the end, separated by "_", up to three. @return their number. */
int ek__end_numbers(ek__path_part stem, int number[3]);

#endif
