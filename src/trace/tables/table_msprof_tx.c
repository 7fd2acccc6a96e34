/* Reads msprof_tx_*.csv: ranges that the user's program marked (mstx), with their texts, on the host and on the device.
 * The unit of the times is in the header; older releases print none and use nanoseconds. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace/tables/table_rows.h"

enum { START, END, DEVICE_START, DEVICE_END, N_TIMES };

typedef struct marks {
    int message, domain, time[N_TIMES]; /* columns */
    bool is_us[N_TIMES];
    ek__pool *pool;
    ek_trace_mark *mark;
    int n;
} marks;

/* As ek__cell_us() but in the column's unit. */
static bool read_time(const marks *m, const ek__csv *csv, int which, ek__left_out *left, int64_t *ns)
{
    int column = m->time[which];
    const char *cell = ek__csv_cell(csv, column);
    *ns = EK_TRACE_UNKNOWN;
    if (m->is_us[which] || !*cell || strcmp(cell, "N/A") == 0)
        return ek__cell_us(csv, column, left, ns);
    if (ek__csv_int(csv, column, ns))
        return true;
    ek__left_out_cell(left, ek__csv_line(csv), ek__csv_header(csv, column), cell);
    return false;
}

static ek_status add_row(void *user, const ek__csv *csv, ek__left_out *left, ek_error *err)
{
    marks *m = user;
    ek_trace_mark one = {0};
    if (!read_time(m, csv, START, left, &one.start) || !read_time(m, csv, END, left, &one.end) ||
        !read_time(m, csv, DEVICE_START, left, &one.device_start) ||
        !read_time(m, csv, DEVICE_END, left, &one.device_end))
        return EK_OK;
    if (one.end == EK_TRACE_UNKNOWN)
        one.end = one.start;
    if (one.start == EK_TRACE_UNKNOWN || one.end < one.start) {
        ek__left_out_row(left, csv, "the mark '%.60s' has no start or ends before it", ek__csv_cell(csv, m->message));
        return EK_OK;
    }
    const char *name = ek__csv_cell(csv, m->message);
    one.name = ek__pool_text(m->pool, name, strlen(name));
    const char *domain = ek__csv_cell(csv, m->domain);
    one.domain = ek__pool_text(m->pool, domain, strlen(domain));
    ek_trace_mark *mark = ek__pool_push(m->pool, m->mark, m->n, sizeof *mark);
    if (!mark || !one.name || !one.domain)
        return ek__no_memory(err);
    m->mark = mark;
    mark[m->n++] = one;
    return EK_OK;
}

static void find_time(marks *m, const ek__csv *csv, int which, const char *us, const char *us_blank, const char *plain,
                      const char *ns)
{
    m->time[which] = ek__csv_column(csv, us, us_blank, NULL);
    m->is_us[which] = m->time[which] >= 0;
    if (m->time[which] < 0)
        m->time[which] = ek__csv_column(csv, ns, plain, NULL);
}

static int by_start(const void *a, const void *b)
{
    const ek_trace_mark *p = a, *q = b;
    if (p->start != q->start)
        return p->start < q->start ? -1 : 1;
    if (p->end != q->end) /* the outer one first */
        return p->end > q->end ? -1 : 1;
    int order = strcmp(p->name, q->name);
    return order ? order : strcmp(p->domain, q->domain);
}

ek_status ek__table_msprof_tx(const ek__table_in *in, ek_error *err)
{
    ek__csv *csv = NULL;
    ek_status status = ek__csv_open(in->path, &csv, err);
    if (status)
        return status;
    marks m = {.message = ek__csv_column(csv, "message", NULL),
               .domain = ek__csv_column(csv, "domain", NULL),
               .pool = in->rank->pool};
    find_time(&m, csv, START, "Start_time(us)", "Start_time (us)", "Start_time", "Start_time(ns)");
    find_time(&m, csv, END, "End_time(us)", "End_time (us)", "End_time", "End_time(ns)");
    find_time(&m, csv, DEVICE_START, "Device Start_time(us)", "Device Start_time (us)", "Device Start_time",
              "Device Start_time(ns)");
    find_time(&m, csv, DEVICE_END, "Device End_time(us)", "Device End_time (us)", "Device End_time",
              "Device End_time(ns)");
    status = ek__table_needs(in, m.time[START], "Start_time(us)", err);
    if (!status)
        status = ek__table_needs(in, m.message, "message", err);
    for (int i = 0; !status && i < in->rank->n_marks; i++) { /* of another file */
        ek_trace_mark *mark = ek__pool_push(m.pool, m.mark, m.n, sizeof *mark);
        if (!mark) {
            status = ek__no_memory(err);
            break;
        }
        m.mark = mark;
        mark[m.n++] = in->rank->mark[i];
    }
    if (!status)
        status = ek__table_rows(in, csv, add_row, &m, err);
    ek__csv_close(csv);
    if (status)
        return status;
    if (m.n > 1)
        qsort(m.mark, (size_t)m.n, sizeof *m.mark, by_start);
    in->rank->mark = m.mark;
    in->rank->n_marks = m.n;
    return EK_OK;
}
