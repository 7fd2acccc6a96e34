/* Calls either of two readers through one interface. */
#include "trace/scan/made.h"

#include <stdlib.h>

#include "trace/database/database.h"
#include "trace/events/kernel_events.h"

struct ek__made {
    ek__database *database; /* or, where it is NULL: */
    ek__kernel_events *table;
};

bool ek__is_made(const char *path)
{
    return ek__is_database(path) || ek__is_kernel_table(path);
}

ek_status ek__made_open(const char *path, ek__made **out, ek_error *err)
{
    ek__made *made = ek__alloc(1, sizeof *made);
    if (!made)
        return ek__no_memory(err);
    ek_status status = ek__is_database(path) ? ek__database_open(path, EK__FILE_TRACE, &made->database, err)
                                             : ek__kernel_events_open(path, &made->table, err);
    if (status)
        free(made);
    else
        *out = made;
    return status;
}

void ek__made_close(ek__made *made)
{
    if (!made)
        return;
    ek__database_close(made->database);
    ek__kernel_events_close(made->table);
    free(made);
}

size_t ek__made_read(ek__made *made, char *to, size_t room)
{
    return made->database ? ek__database_read(made->database, to, room) : ek__kernel_events_read(made->table, to, room);
}

const char *ek__made_problem(const ek__made *made)
{
    return made->database ? ek__database_problem(made->database) : ek__kernel_events_problem(made->table);
}

bool ek__made_out_of_memory(const ek__made *made)
{
    return made->database ? ek__database_out_of_memory(made->database) : ek__kernel_events_out_of_memory(made->table);
}

int64_t ek__made_bytes(const ek__made *made)
{
    return made->database ? ek__database_bytes(made->database) : ek__kernel_events_bytes(made->table);
}
