/* trace/database/database.h - reads databases of profilers (SQLite) as the text files that the same profilers write.
 *
 * Profilers export the same results as text or as a database. A database is read as those files: its rows come as the
 * events of a Chrome trace, as the rows of kernel_details.csv, and so on, in the format that the readers of these files
 * take. So the meaning of an event or a row is defined in one place, and both exports give the same figures.
 *
 *   file.db --tables, STRING_IDS--> rows --one statement a table--> text in blocks --> ek__feed, ek__csv, side_json
 *
 * Tables and columns may be absent. Rows are read in the order of the file, one at a time; memory contains one row's
 * text and the file's strings. */
#ifndef EK_TRACE_DATABASE_DATABASE_H
#define EK_TRACE_DATABASE_DATABASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "trace/tables/files.h"

typedef struct ek__database ek__database;

/** Bit of a type in a set of types. */
#define EK__FILE_BIT(type) (UINT32_C(1) << (type))

/** Does a file begin as a database of SQLite does? False also where it cannot be read. */
bool ek__is_database(const char *path);
/**
 * The files as which a database can be read: all with tables in it, with a row at least.
 *
 * @param types  set of EK__FILE_BIT(); 0 for a database that is not a profiler's. Untouched on failure
 * @return EK_OK; EK_ERR_INPUT for a file that is damaged, cut, or no database; EK_ERR_SYSTEM for one that is locked or
 *         cannot be opened; EK_ERR_MEMORY. O(tables).
 */
ek_status ek__database_look(const char *path, uint32_t *types, ek_error *err);
/** Open a database to be read as a file of a type that ek__database_look() returned. Errors as there; EK_ERR_INPUT
 *  where it has no such tables. Owned by the caller: ek__database_close(). O(strings). */
ek_status ek__database_open(const char *path, ek__file_type type, ek__database **out, ek_error *err);
void ek__database_close(ek__database *database);
/** The next bytes of the text, as many as fit; fewer only at its end. One thread at a time. Where a row cannot be read
 *  the text ends, with ek__database_problem(). O(bytes). */
size_t ek__database_read(ek__database *database, char *to, size_t room);
/** The error in the part of the database read so far; NULL. */
const char *ek__database_problem(const ek__database *database);
bool ek__database_out_of_memory(const ek__database *database);
/** Size of the file on disk, and the part read so far, in proportion to rows. */
int64_t ek__database_total(const ek__database *database);
int64_t ek__database_bytes(const ek__database *database);

#endif
