/* Reads minddata_pipeline_summary_{id}.csv: the pipeline's times per batch, in milliseconds. The producer writes it
 * sideways, a name and its values per line, so the header is such a line too; the upright form is read as well. Figures
 * per operator are left to the raw table. -1 means unknown. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/c_locale.h"
#include "base/config_tree.h"
#include "trace/tables/table_rows.h"

enum { BATCH, PIPELINE, PUSH_QUEUE, N_TIMES };
static const char *const time_name[N_TIMES] = {"per_batch_time", "per_pipeline_time", "per_push_queue_time"};

typedef struct summary {
    int column[N_TIMES]; /* of an upright table; -1 */
    bool seen[N_TIMES];
    double time[N_TIMES];
} summary;

/* Python writes a list with one entry as "[3.2]" where it was not unpacked. */
static bool parse_time(const char *cell, double *ms)
{
    char text[64];
    size_t skip = strspn(cell, "[ "), size = strcspn(cell + skip, "] ");
    if (size >= sizeof text)
        return false;
    memcpy(text, cell + skip, size);
    text[size] = '\0';
    return ek__text_is_number(text, ms);
}

static void read_time(summary *s, int which, const char *cell, int64_t line, ek__left_out *left)
{
    double ms = NAN;
    if (s->seen[which] || !*cell)
        return;
    if (!parse_time(cell, &ms)) {
        ek__left_out_cell(left, line, time_name[which], cell);
        return;
    }
    s->seen[which] = true;
    s->time[which] = ms >= 0 && ms <= 1e15 ? ms : NAN;
}

static ek_status add_row(void *user, const ek__csv *csv, ek__left_out *left, ek_error *err)
{
    (void)err;
    summary *s = user;
    for (int i = 0; i < N_TIMES; i++) {
        if (ek__strcasecmp(ek__csv_cell(csv, 0), time_name[i]) == 0)
            read_time(s, i, ek__csv_cell(csv, 1), ek__csv_line(csv), left);
        else if (s->column[i] >= 0)
            read_time(s, i, ek__csv_cell(csv, s->column[i]), ek__csv_line(csv), left);
    }
    return EK_OK;
}

/* The place of the times: below a name in the header, or next to it. */
static void read_header(summary *s, const ek__csv *csv)
{
    ek__left_out ignored = {0};
    for (int i = 0; i < N_TIMES; i++) {
        s->time[i] = NAN;
        s->column[i] = ek__csv_column(csv, time_name[i], NULL);
        if (s->column[i] != 0)
            continue;
        read_time(s, i, ek__csv_header(csv, 1), 1, &ignored);
        if (s->seen[i])
            s->column[i] = -1;
    }
}

ek_status ek__table_minddata_summary(const ek__table_in *in, ek_error *err)
{
    ek__csv *csv = NULL;
    ek_status status = ek__csv_open(in->path, &csv, err);
    if (status)
        return status;
    summary s = {0};
    read_header(&s, csv);
    status = ek__table_rows(in, csv, add_row, &s, err);
    ek__csv_close(csv);
    if (status)
        return status;
    in->rank->data.per_batch_ms = s.time[BATCH];
    in->rank->data.per_pipeline_ms = s.time[PIPELINE];
    in->rank->data.per_push_queue_ms = s.time[PUSH_QUEUE];
    return EK_OK;
}
