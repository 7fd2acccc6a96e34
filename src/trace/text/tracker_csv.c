/* Reads lines of the memory tracker's files, cut into cells; tasks by tick are sorted once and found by bisection. */
#include "trace/tables/tracker_csv.h"
#include "base/c_locale.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "trace/text/csv.h"

/* Cut blanks and quotes around [from, to), end it there. */
static char *cut_cell(char *from, char *to)
{
    while (from < to && (ek__is_space((unsigned char)*from) || *from == '"'))
        from++;
    while (to > from && (ek__is_space((unsigned char)to[-1]) || to[-1] == '"'))
        to--;
    *to = '\0';
    return from;
}

static bool cut_line(ek__tracker_csv *csv, char *line, char *end)
{
    csv->n_cells = 0;
    if (end > line && end[-1] == '\n')
        end--;
    if (end > line && end[-1] == '\r')
        end--;
    if (end > line && end[-1] == ',')
        end--;
    for (char *c = line; c < end; c++)
        if (!*c)
            *c = '?';
    for (char *from = line, *to; from <= end; from = to + 1) {
        to = memchr(from, ',', (size_t)(end - from));
        if (!to)
            to = end;
        char **cell = ek__with_room(csv->cell, &csv->cells_capacity, csv->n_cells + 1, sizeof *cell);
        if (!cell)
            return false;
        csv->cell = cell;
        cell[csv->n_cells++] = cut_cell(from, to);
    }
    return true;
}

/* A line with its end into `line`: its size, 0 at the end of the file. */
static ek_status read_line(ek__tracker_csv *csv, size_t *size, ek_error *err)
{
    size_t n = 0;
    for (int c = 0; c != '\n' && (c = getc_unlocked(csv->file)) != EOF;) {
        if (n + 1 >= csv->line_capacity) { /* one more for the NUL after the last cell */
            char *room = ek__with_room(csv->line, &csv->line_capacity, n + 2, 1);
            if (!room)
                return ek__no_memory(err);
            csv->line = room;
        }
        if (n == EK__CSV_MAX_ROW)
            return ek__fail(err, EK_ERR_INPUT, ((ek_origin){csv->path, (int)(csv->n_lines % INT_MAX) + 1, 0}),
                            "the line is longer than %d MB; is this a file of the memory tracker?",
                            EK__CSV_MAX_ROW >> 20);
        csv->line[n++] = (char)c;
    }
    if (ferror(csv->file))
        return ek__fail(err, ek__system_status(), ((ek_origin){.file = csv->path}), "cannot read: %s", strerror(errno));
    *size = n;
    return EK_OK;
}

ek_status ek__tracker_csv_next(ek__tracker_csv *csv, bool *more, ek_error *err)
{
    for (;;) {
        size_t size;
        ek_status status = read_line(csv, &size, err);
        *more = !status && size > 0;
        if (!*more)
            return status;
        csv->n_lines++;
        csv->bytes += (int64_t)size;
        if (!cut_line(csv, csv->line, csv->line + size))
            return ek__no_memory(err);
        if (csv->n_cells > 1 || *csv->cell[0])
            return EK_OK;
    }
}

const char *ek__tracker_csv_cell(const ek__tracker_csv *csv, int which)
{
    if (csv->column[which] < 0)
        return "";
    size_t at = (size_t)csv->column[which];
    if (csv->column[csv->stack] >= 0 && at > (size_t)csv->column[csv->stack])
        at = csv->n_cells > csv->n_header ? csv->n_cells - (csv->n_header - at) : at;
    return at < csv->n_cells ? csv->cell[at] : "";
}

bool ek__tracker_csv_number(ek__tracker_csv *csv, int which, int64_t *value)
{
    const char *cell = ek__tracker_csv_cell(csv, which);
    char *end;
    errno = 0;
    long long read = strtoll(cell, &end, 10);
    if (end == cell || *end || errno == ERANGE) {
        ek__left_out_cell(&csv->left, csv->n_lines, csv->column_name[which], cell);
        return false;
    }
    *value = read;
    return true;
}

static ek_status read_header(ek__tracker_csv *csv, int n_required, ek_error *err)
{
    bool more = false;
    ek_status status = ek__tracker_csv_next(csv, &more, err);
    if (status)
        return status;
    if (!more)
        return ek__fail(err, EK_ERR_INPUT, ((ek_origin){.file = csv->path}),
                        "empty; was the program stopped too early?");
    csv->n_header = csv->n_cells;
    if (strncmp(csv->cell[0], "\xef\xbb\xbf", 3) == 0)
        csv->cell[0] = cut_cell(csv->cell[0] + 3, csv->cell[0] + strlen(csv->cell[0]));
    for (int which = 0; which < csv->n_columns; which++) {
        csv->column[which] = -1;
        for (size_t i = csv->n_cells; i-- > 0;)
            if (ek__strcasecmp(csv->cell[i], csv->column_name[which]) == 0)
                csv->column[which] = (int)i;
    }
    for (int which = 0; which < n_required; which++)
        if (csv->column[which] < 0)
            return ek__fail(err, EK_ERR_INPUT, ((ek_origin){.file = csv->path, .line = (int)csv->n_lines}),
                            "no column '%s'; the first line must be the header that the memory tracker wrote",
                            csv->column_name[which]);
    return EK_OK;
}

ek_status ek__tracker_csv_open(const char *path, const char *const *column_name, int n_columns, int n_required,
                               int stack, ek__tracker_csv *out, ek_error *err)
{
    assert(n_columns <= EK__TRACKER_MAX_COLUMNS);
    *out = (ek__tracker_csv){.path = path, .column_name = column_name, .n_columns = n_columns, .stack = stack};
    out->file = fopen(path, "rb");
    if (!out->file)
        return ek__fail(err, ek__system_status(), ((ek_origin){.file = path}), "cannot open: %s", strerror(errno));
    return read_header(out, n_required, err);
}

void ek__tracker_csv_close(ek__tracker_csv *csv)
{
    if (csv->file)
        fclose(csv->file);
    free(csv->line);
    free(csv->cell);
    csv->file = NULL;
}

/* ---- tasks ---- */

void ek__tracker_tasks_clear(ek__tracker_tasks *tasks)
{
    free(tasks->task);
    ek__texts_clear(&tasks->names);
    *tasks = (ek__tracker_tasks){0};
}

bool ek__tracker_tasks_add(ek__tracker_tasks *tasks, int64_t tick, const char *node, const char *task)
{
    const char *name = *node ? node : task;
    if (tasks->names.n == 0 && !ek__texts_reset(&tasks->names))
        return false;
    uint32_t number = ek__texts_intern(&tasks->names, name, strlen(name));
    ek__tracker_task *room =
        number == UINT32_MAX ? NULL : ek__with_room(tasks->task, &tasks->capacity, tasks->n + 1, sizeof *room);
    if (!room)
        return false;
    tasks->task = room;
    tasks->task[tasks->n++] = (ek__tracker_task){tick, number};
    return true;
}

static int by_tick(const void *a, const void *b)
{
    const ek__tracker_task *x = a, *y = b;
    if (x->tick != y->tick)
        return x->tick < y->tick ? -1 : 1;
    return (x->name > y->name) - (x->name < y->name); /* numbers are in the order of adding */
}

void ek__tracker_tasks_sort(ek__tracker_tasks *tasks)
{
    size_t n = 0;
    if (tasks->n > 1)
        qsort(tasks->task, tasks->n, sizeof *tasks->task, by_tick);
    for (size_t i = 0; i < tasks->n; i++)
        if (n == 0 || tasks->task[n - 1].tick != tasks->task[i].tick)
            tasks->task[n++] = tasks->task[i];
    tasks->n = n;
}

/* The first task at `tick` or later: its index, or n. */
static size_t lower(const ek__tracker_tasks *tasks, int64_t tick)
{
    size_t low = 0, high = tasks->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (tasks->task[middle].tick < tick)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const char *ek__tracker_tasks_at(const ek__tracker_tasks *tasks, int64_t tick)
{
    size_t at = lower(tasks, tick);
    return at < tasks->n && tasks->task[at].tick == tick ? ek__texts_at(&tasks->names, tasks->task[at].name) : NULL;
}

int64_t ek__tracker_tasks_behind(const ek__tracker_tasks *tasks, int64_t tick)
{
    size_t at = tick < INT64_MAX ? lower(tasks, tick + 1) : tasks->n;
    return at < tasks->n ? tasks->task[at].tick : INT64_MAX;
}
