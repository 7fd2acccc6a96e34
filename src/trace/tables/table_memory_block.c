/* Reads memory_block.csv of MindSpore's memory tracker: every block of the pools with its lifetime in ticks. From them
 * the peak, the memory at the peak by type, by layer and by place in the program, the part of it that no task would use
 * any more, memory that is never freed, and the growth at the start of every step (docs/trace.md). Blocks inside a
 * SOMAS block (start -1) are counted and skipped. */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/c_locale.h"
#include "trace/events/largest.h"
#include "trace/events/memory_sites.h"

enum {
    START,
    END,
    SIZE,
    TYPE,
    PRODUCER,
    TASK_NAME,
    NODE_NAME,
    USER_TASKS,
    LAST_USER,
    ACTUAL_PEAK,
    PERSISTENT,
    STACK,
    N_COLUMNS
};
static const char *const column_name[N_COLUMNS] = {
    "start_time_stamp", "end_time_stamp",     "size",          "type",
    "producer_task",    "task_name",          "node_name",     "user_tasks",
    "last_user_task",   "actual_peak_memory", "is_persistent", "python_stack"};

typedef struct tracker {
    ek__tracker_csv csv;
    int64_t n_rows, n_somas, total, actual_peak;
    ek__tracker_blocks blocks;
    ek__tracker_tasks own, *tasks; /* tasks: of task.csv, else `own`: the tasks in the blocks */
} tracker;

static const char *cell_of(const tracker *t, int which)
{
    return ek__tracker_csv_cell(&t->csv, which);
}

static bool cell_number(tracker *t, int which, int64_t *value)
{
    return ek__tracker_csv_number(&t->csv, which, value);
}

/* ---- rows ---- */

/* The outermost element "12-Name" of a path: its length, 0 without. */
static size_t find_layer(const char *path, const char **at)
{
    for (const char *from = path; *from;) {
        size_t size = strcspn(from, "/"), digits = strspn(from, "0123456789");
        if (digits > 0 && from[digits] == '-' && digits + 1 < size &&
            (ek__is_alpha((unsigned char)from[digits + 1]) || from[digits + 1] == '_')) {
            *at = from;
            return size;
        }
        from += size + (from[size] == '/');
    }
    return 0;
}

static int number_of(ek__texts *index, const char *text, const char *otherwise)
{
    if (!*text)
        text = otherwise;
    return (int)ek__texts_intern(index, text, strlen(text));
}

/* The last number of "{12-15-}", or of last_user_task. */
static int64_t last_user(const tracker *t)
{
    const char *text = cell_of(t, LAST_USER);
    if (!*text)
        text = cell_of(t, USER_TASKS);
    const char *end = text + strlen(text);
    while (end > text && !isdigit((unsigned char)end[-1]))
        end--;
    const char *from = end;
    while (from > text && isdigit((unsigned char)from[-1]))
        from--;
    if (from == end)
        return EK_TRACE_UNKNOWN;
    errno = 0;
    long long tick = strtoll(from, NULL, 10);
    return errno == ERANGE ? EK_TRACE_UNKNOWN : tick;
}

/* Weights and constants are never released. */
static bool is_to_stay(const tracker *t)
{
    static const char *const types[] = {"Weight", "ConstantValue", "GeConst"};
    const char *persistent = cell_of(t, PERSISTENT), *type = cell_of(t, TYPE);
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(type, types[i]) == 0)
            return true;
    return strcmp(persistent, "1") == 0 || ek__strcasecmp(persistent, "true") == 0;
}

/* Of a block that stays: the numbers of "{12-15-}". @return false when memory is out */
static bool add_users(tracker *t, ek__memory_block *one)
{
    ek__tracker_blocks *all = &t->blocks;
    one->users = (uint32_t)all->n_users;
    for (const char *text = cell_of(t, USER_TASKS); *text; text += strspn(text, "0123456789")) {
        text += strcspn(text, "0123456789");
        if (!*text || all->n_users == UINT32_MAX)
            break;
        int64_t *room = ek__with_room(all->user, &all->users_capacity, all->n_users + 1, sizeof *room);
        if (!room)
            return false;
        all->user = room;
        all->user[all->n_users++] = strtoll(text, NULL, 10); /* one too large is after all tasks */
        one->n_users++;
    }
    return true;
}

/* The place in the program of the block's allocation, else the operator. */
static int find_place(tracker *t, const char *name)
{
    char place[512];
    bool told = ek__tracker_place(cell_of(t, STACK), place, sizeof place);
    t->blocks.tells_stacks |= told;
    return number_of(&t->blocks.places, told ? place : name, "(none)");
}

/* The block's producer, for dumps without task.csv. @return false when memory is out */
static bool add_producer(tracker *t)
{
    const char *cell = cell_of(t, PRODUCER);
    char *end;
    errno = 0;
    long long tick = strtoll(cell, &end, 10);
    if (t->tasks != &t->own || end == cell || *end || errno == ERANGE)
        return true;
    return ek__tracker_tasks_add(t->tasks, tick, cell_of(t, NODE_NAME), cell_of(t, TASK_NAME));
}

static ek_status add_block(tracker *t, ek__memory_block *one, ek_error *err)
{
    ek__tracker_blocks *all = &t->blocks;
    const char *node = cell_of(t, NODE_NAME), *task = cell_of(t, TASK_NAME), *layer = NULL;
    size_t layer_size = find_layer(node, &layer);
    if (layer_size == 0)
        layer_size = find_layer(task, &layer);
    one->last_user = last_user(t);
    one->stays = is_to_stay(t);
    all->tells_users |= one->last_user != EK_TRACE_UNKNOWN;
    one->type = number_of(&all->types, cell_of(t, TYPE), "(none)");
    one->layer = layer_size > 0 ? (int)ek__texts_intern(&all->layers, layer, layer_size)
                                : number_of(&all->layers, "", "(other)");
    one->name = number_of(&all->names, *node ? node : task, "(none)");
    one->place = find_place(t, *node ? node : task);
    ek__memory_block *block = ek__with_room(all->block, &all->capacity, all->n + 1, sizeof *block);
    if (!block)
        return ek__no_memory(err);
    all->block = block;
    if (one->type < 0 || one->layer < 0 || one->name < 0 || one->place < 0 || (one->stays && !add_users(t, one)) ||
        !add_producer(t))
        return ek__no_memory(err);
    block[all->n++] = *one;
    return EK_OK;
}

static ek_status add_row(tracker *t, ek_error *err)
{
    ek__memory_block one = {0};
    int64_t actual = EK_TRACE_UNKNOWN;
    if (!cell_number(t, START, &one.start) || !cell_number(t, END, &one.end) || !cell_number(t, SIZE, &one.bytes))
        return EK_OK;
    if (*cell_of(t, ACTUAL_PEAK) && !cell_number(t, ACTUAL_PEAK, &actual))
        return EK_OK;
    bool somas = one.start == -1;
    if (!somas && (one.start < 0 || one.end < one.start || one.bytes < 0 || one.bytes > INT64_MAX - t->total)) {
        ek__left_out_add(&t->csv.left,
                         "line %" PRId64 ": a block of %" PRId64 " bytes from tick %" PRId64 " to %" PRId64,
                         t->csv.n_lines, one.bytes, one.start, one.end);
        return EK_OK;
    }
    t->n_rows++;
    if (actual > t->actual_peak)
        t->actual_peak = actual;
    if (somas) {
        t->n_somas++;
        return EK_OK;
    }
    t->total += one.bytes;
    return add_block(t, &one, err);
}

/* ---- memory at the peak ---- */

static int by_bytes(const void *a, const void *b)
{
    const ek_trace_live *p = a, *q = b;
    if (p->bytes != q->bytes)
        return p->bytes > q->bytes ? -1 : 1;
    return strcmp(p->type, q->type);
}

/* Those of an index with bytes, largest first. NULL when memory is out. */
static ek_trace_live *keep_live(const ek__texts *index, const int64_t *bytes, ek__pool *pool, int *n_out)
{
    ek_trace_live *live = ek__pool_alloc(pool, (size_t)index->n, sizeof *live);
    int n = 0;
    for (int i = 0; live && i < (int)index->n; i++) {
        if (bytes[i] == 0)
            continue;
        const char *name = ek__texts_at(index, (uint32_t)i);
        live[n] = (ek_trace_live){ek__pool_text(pool, name, strlen(name)), bytes[i]};
        if (!live[n++].type)
            return NULL;
    }
    if (live && n > 1)
        qsort(live, (size_t)n, sizeof *live, by_bytes);
    *n_out = n;
    return live;
}

/* Sums over the blocks. */
static void sum_blocks(const tracker *t, ek_trace_tracker *out, int64_t *by_type, int64_t *by_layer,
                       ek__largest *largest)
{
    for (size_t i = 0; i < t->blocks.n; i++) {
        const ek__memory_block *b = &t->blocks.block[i];
        if (b->end == EK__NEVER_FREED)
            out->never_freed_bytes += b->bytes;
        if (out->peak_tick == EK_TRACE_UNKNOWN || !ek__block_is_live(b, out->peak_tick))
            continue;
        by_type[b->type] += b->bytes;
        by_layer[b->layer] += b->bytes;
        if (b->last_user != EK_TRACE_UNKNOWN && b->last_user < out->peak_tick)
            out->held_dead_bytes += b->bytes;
        ek__largest_add(largest, &(ek__sized){.size = (double)b->bytes,
                                              .start = b->start,
                                              .end = b->end == EK__NEVER_FREED ? EK_TRACE_UNKNOWN : b->end,
                                              .name = b->name});
    }
}

/* A task is over when the next one begins; without known tasks, after its tick. */
static void end_uses(const tracker *t)
{
    for (size_t i = 0; i < t->blocks.n; i++) {
        ek__memory_block *b = &t->blocks.block[i];
        b->used_until = EK_TRACE_UNKNOWN;
        if (b->last_user == EK_TRACE_UNKNOWN || b->last_user == INT64_MAX)
            continue;
        b->used_until = t->tasks->n > 0 ? ek__tracker_tasks_behind(t->tasks, b->last_user) : b->last_user + 1;
        if (b->used_until <= b->start && b->start < INT64_MAX)
            b->used_until = b->start + 1;
    }
}

static bool measure(const tracker *t, ek__pool *pool, ek_trace_tracker *out)
{
    const ek__tracker_blocks *all = &t->blocks;
    ek__largest largest = {.max = EK__N_LARGEST};
    int64_t *by_type = ek__alloc((size_t)all->types.n, sizeof *by_type);
    int64_t *by_layer = ek__alloc((size_t)all->layers.n, sizeof *by_layer);
    bool good = by_type && by_layer && ek__memory_sweep(all->block, all->n, &out->peak_bytes, &out->peak_tick);
    if (good) {
        sum_blocks(t, out, by_type, by_layer, &largest);
        out->live = keep_live(&all->types, by_type, pool, &out->n_live);
        out->live_layer = keep_live(&all->layers, by_layer, pool, &out->n_live_layers);
        out->largest = ek__largest_keep(&largest, &all->names, 1.0 / 1024, pool);
        out->n_largest = largest.n;
        good = out->live && out->live_layer && out->largest && ek__memory_steps(all, t->tasks, pool, out) &&
               ek__memory_sites(all, t->tasks, pool, out);
    }
    free(by_type);
    free(by_layer);
    return good;
}

static ek_status keep(const tracker *t, const ek__table_in *in, ek_error *err)
{
    ek_trace_tracker out = {.n_rows = t->n_rows,
                            .n_pool_blocks = (int64_t)t->blocks.n,
                            .n_somas_rows = t->n_somas,
                            .max_actual_peak_bytes = t->actual_peak,
                            .tells_users = t->blocks.tells_users,
                            .tells_stacks = t->blocks.tells_stacks,
                            .growth_bytes = (double)NAN};
    ek__tracker_tasks_sort(t->tasks);
    end_uses(t);
    if (!measure(t, in->rank->pool, &out))
        return ek__no_memory(err);
    ek_status status = ek__left_out_report(&t->csv.left, "row", "rows", NULL, in, err);
    if (status)
        return status;
    in->rank->memory.tracker = out;
    in->source->items = t->n_rows + t->csv.left.n;
    in->source->bytes = t->csv.bytes;
    return EK_OK;
}

static void clear(tracker *t)
{
    ek__tracker_csv_close(&t->csv);
    ek__tracker_tasks_clear(&t->own);
    free(t->blocks.block);
    free(t->blocks.user);
    ek__texts_clear(&t->blocks.types);
    ek__texts_clear(&t->blocks.layers);
    ek__texts_clear(&t->blocks.names);
    ek__texts_clear(&t->blocks.places);
}

ek_status ek__table_memory_block(const ek__table_in *in, ek_error *err)
{
    tracker t = {.actual_peak = EK_TRACE_UNKNOWN};
    t.tasks = in->tasks && in->tasks->n > 0 ? in->tasks : &t.own;
    ek_status status = ek__tracker_csv_open(in->path, column_name, N_COLUMNS, SIZE + 1, STACK, &t.csv, err);
    for (bool more = true; !status && more;) {
        status = ek__tracker_csv_next(&t.csv, &more, err);
        if (!status && more)
            status = add_row(&t, err);
    }
    if (!status)
        status = keep(&t, in, err);
    clear(&t);
    return status;
}
