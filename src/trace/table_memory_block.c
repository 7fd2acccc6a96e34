/* memory_block.csv of MindSpore's memory tracker: every block of the pools with its lifetime in ticks. From them the
 * peak, what was live then by type and by layer, and what of it no task would use any more (docs/trace.md).
 *
 * The writer quotes nothing and puts Python stacks into one cell, so lines are cut here, not by the general CSV reader,
 * for which a stack that begins with a quote would swallow the rest: cells up to python_stack count from the front,
 * those behind it from the end. Blocks inside a SOMAS block (start -1) are counted and left aside. */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "trace/csv.h"
#include "trace/largest.h"
#include "trace/left_out.h"
#include "trace/memory_sweep.h"

enum { START, END, SIZE, TYPE, TASK_NAME, NODE_NAME, USER_TASKS, LAST_USER, ACTUAL_PEAK, STACK, N_COLUMNS };
static const char *const column_name[N_COLUMNS] = {
    "start_time_stamp", "end_time_stamp",     "size",        "type", "task_name", "node_name", "user_tasks",
    "last_user_task",   "actual_peak_memory", "python_stack"};

typedef struct tracker {
    FILE *file;
    char *line;
    size_t line_capacity;
    int64_t n_lines, bytes, n_rows, n_somas, total, actual_peak;
    char **cell; /* of the current line, cut and NUL-terminated in `line` */
    size_t n_cells, cells_capacity, n_header;
    int column[N_COLUMNS]; /* -1 when missing */
    ek__memory_block *block;
    size_t n_blocks, block_capacity;
    ek__texts types, layers, names;
    ek__left_out left;
} tracker;

/* ---- lines ---- */

/* Cut blanks and quotes around [from, to), end it there. */
static char *cut_cell(char *from, char *to)
{
    while (from < to && (isspace((unsigned char)*from) || *from == '"'))
        from++;
    while (to > from && (isspace((unsigned char)to[-1]) || to[-1] == '"'))
        to--;
    *to = '\0';
    return from;
}

static bool cut_line(tracker *t, char *line, char *end)
{
    t->n_cells = 0;
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
        char **cell = ek__with_room(t->cell, &t->cells_capacity, t->n_cells + 1, sizeof *cell);
        if (!cell)
            return false;
        t->cell = cell;
        cell[t->n_cells++] = cut_cell(from, to);
    }
    return true;
}

/* A line with its end into `line`: its size, 0 at the end of the file. */
static ek_status read_line(tracker *t, const char *path, size_t *size, ek_error *err)
{
    size_t n = 0;
    for (int c = 0; c != '\n' && (c = getc_unlocked(t->file)) != EOF;) {
        if (n + 1 >= t->line_capacity) { /* one more for the NUL that ends the last cell */
            char *room = ek__with_room(t->line, &t->line_capacity, n + 2, 1);
            if (!room)
                return ek__no_memory(err);
            t->line = room;
        }
        if (n == EK__CSV_MAX_ROW)
            return ek__fail(err, EK_ERR_INPUT, ((ek_origin){path, (int)(t->n_lines % INT_MAX) + 1, 0}),
                            "the line is longer than %d MB; is this memory_block.csv?", EK__CSV_MAX_ROW >> 20);
        t->line[n++] = (char)c;
    }
    if (ferror(t->file))
        return ek__fail(err, EK_ERR_SYSTEM, ((ek_origin){.file = path}), "cannot read: %s", strerror(errno));
    *size = n;
    return EK_OK;
}

/* The next line that is not blank. */
static ek_status next_line(tracker *t, const char *path, bool *more, ek_error *err)
{
    for (;;) {
        size_t size;
        ek_status status = read_line(t, path, &size, err);
        *more = !status && size > 0;
        if (!*more)
            return status;
        t->n_lines++;
        t->bytes += (int64_t)size;
        if (!cut_line(t, t->line, t->line + size))
            return ek__no_memory(err);
        if (t->n_cells > 1 || *t->cell[0])
            return EK_OK;
    }
}

static const char *cell_of(const tracker *t, int which)
{
    if (t->column[which] < 0)
        return "";
    size_t at = (size_t)t->column[which];
    if (t->column[STACK] >= 0 && at > (size_t)t->column[STACK])
        at = t->n_cells > t->n_header ? t->n_cells - (t->n_header - at) : at;
    return at < t->n_cells ? t->cell[at] : "";
}

static bool cell_number(tracker *t, int which, int64_t *value)
{
    const char *cell = cell_of(t, which);
    char *end;
    errno = 0;
    long long read = strtoll(cell, &end, 10);
    if (end == cell || *end || errno == ERANGE) {
        ek__left_out_cell(&t->left, t->n_lines, column_name[which], cell);
        return false;
    }
    *value = read;
    return true;
}

static ek_status read_header(tracker *t, const char *path, ek_error *err)
{
    bool more = false;
    ek_status status = next_line(t, path, &more, err);
    if (status)
        return status;
    if (!more)
        return ek__fail(err, EK_ERR_INPUT, ((ek_origin){.file = path}), "empty; was the program stopped too early?");
    t->n_header = t->n_cells;
    if (strncmp(t->cell[0], "\xef\xbb\xbf", 3) == 0)
        t->cell[0] = cut_cell(t->cell[0] + 3, t->cell[0] + strlen(t->cell[0]));
    for (int which = 0; which < N_COLUMNS; which++) {
        t->column[which] = -1;
        for (size_t i = t->n_cells; i-- > 0;)
            if (strcasecmp(t->cell[i], column_name[which]) == 0)
                t->column[which] = (int)i;
    }
    for (int which = START; which <= SIZE; which++)
        if (t->column[which] < 0)
            return ek__fail(err, EK_ERR_INPUT, ((ek_origin){.file = path, .line = (int)t->n_lines}),
                            "no column '%s'; the first line must be the header that the memory tracker wrote",
                            column_name[which]);
    return EK_OK;
}

/* ---- rows ---- */

/* The outermost element "12-Name" of a path: its length, 0 without. */
static size_t find_layer(const char *path, const char **at)
{
    for (const char *from = path; *from;) {
        size_t size = strcspn(from, "/"), digits = strspn(from, "0123456789");
        if (digits > 0 && from[digits] == '-' && digits + 1 < size &&
            (isalpha((unsigned char)from[digits + 1]) || from[digits + 1] == '_')) {
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

static ek_status add_block(tracker *t, ek__memory_block *one, ek_error *err)
{
    const char *node = cell_of(t, NODE_NAME), *task = cell_of(t, TASK_NAME), *layer = NULL;
    size_t layer_size = find_layer(node, &layer);
    if (layer_size == 0)
        layer_size = find_layer(task, &layer);
    one->last_user = last_user(t);
    one->type = number_of(&t->types, cell_of(t, TYPE), "(none)");
    one->layer =
        layer_size > 0 ? (int)ek__texts_intern(&t->layers, layer, layer_size) : number_of(&t->layers, "", "(other)");
    one->name = number_of(&t->names, *node ? node : task, "(none)");
    ek__memory_block *block = ek__with_room(t->block, &t->block_capacity, t->n_blocks + 1, sizeof *block);
    if (!block)
        return ek__no_memory(err);
    t->block = block;
    if (one->type < 0 || one->layer < 0 || one->name < 0)
        return ek__no_memory(err);
    block[t->n_blocks++] = *one;
    return EK_OK;
}

static ek_status take_row(tracker *t, ek_error *err)
{
    ek__memory_block one = {0};
    int64_t actual = EK_TRACE_UNKNOWN;
    if (!cell_number(t, START, &one.start) || !cell_number(t, END, &one.end) || !cell_number(t, SIZE, &one.bytes))
        return EK_OK;
    if (*cell_of(t, ACTUAL_PEAK) && !cell_number(t, ACTUAL_PEAK, &actual))
        return EK_OK;
    bool somas = one.start == -1;
    if (!somas && (one.start < 0 || one.end < one.start || one.bytes < 0 || one.bytes > INT64_MAX - t->total)) {
        ek__left_out_add(&t->left, "line %" PRId64 ": a block of %" PRId64 " bytes from tick %" PRId64 " to %" PRId64,
                         t->n_lines, one.bytes, one.start, one.end);
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

/* ---- what was live at the peak ---- */

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
    for (size_t i = 0; i < t->n_blocks; i++) {
        const ek__memory_block *b = &t->block[i];
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

static ek_status keep(const tracker *t, const ek__table_in *in, ek_error *err)
{
    ek__pool *pool = in->rank->pool;
    ek_trace_tracker out = {.n_rows = t->n_rows,
                            .n_pool_blocks = (int64_t)t->n_blocks,
                            .n_somas_rows = t->n_somas,
                            .max_actual_peak_bytes = t->actual_peak};
    ek__largest largest = {.max = EK__N_LARGEST};
    int64_t *by_type = ek__alloc((size_t)t->types.n, sizeof *by_type);
    int64_t *by_layer = ek__alloc((size_t)t->layers.n, sizeof *by_layer);
    bool good = by_type && by_layer && ek__memory_sweep(t->block, t->n_blocks, &out.peak_bytes, &out.peak_tick);
    if (good) {
        sum_blocks(t, &out, by_type, by_layer, &largest);
        out.live = keep_live(&t->types, by_type, pool, &out.n_live);
        out.live_layer = keep_live(&t->layers, by_layer, pool, &out.n_live_layers);
        out.largest = ek__largest_keep(&largest, &t->names, 1.0 / 1024, pool);
        out.n_largest = largest.n;
        good = out.live && out.live_layer && out.largest;
    }
    free(by_type);
    free(by_layer);
    if (!good)
        return ek__no_memory(err);
    ek_status status = ek__left_out_report(&t->left, "row", "rows", NULL, in, err);
    if (status)
        return status;
    in->rank->memory.tracker = out;
    in->source->items = t->n_rows + t->left.n;
    in->source->bytes = t->bytes;
    return EK_OK;
}

ek_status ek__table_memory_block(const ek__table_in *in, ek_error *err)
{
    tracker t = {.file = fopen(in->path, "rb"), .actual_peak = EK_TRACE_UNKNOWN};
    if (!t.file)
        return ek__fail(err, EK_ERR_SYSTEM, ((ek_origin){.file = in->path}), "cannot open: %s", strerror(errno));
    ek_status status = read_header(&t, in->path, err);
    for (bool more = true; !status && more;) {
        status = next_line(&t, in->path, &more, err);
        if (!status && more)
            status = take_row(&t, err);
    }
    if (!status)
        status = keep(&t, in, err);
    fclose(t.file);
    free(t.line);
    free(t.cell);
    free(t.block);
    ek__texts_clear(&t.types);
    ek__texts_clear(&t.layers);
    ek__texts_clear(&t.names);
    return status;
}
