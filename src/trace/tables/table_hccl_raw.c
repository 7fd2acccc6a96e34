/* Reads hccl_raw_{id}.csv of MindSpore until 2023: links with their sums of the last row, the producer's average of all
 * steps. The cell contains JSON, {"1-0": {"SDMA": [ms, KB, B/s]}}. The bandwidth is the producer's own third figure,
 * which other tools rank by: it is not the quotient of the first two. Single operators (the last column) are not
 * read. */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/events/links.h"
#include "trace/tables/table_rows.h"
#include "trace/text/side_json.h"

/* link_info of the last row that has one. */
typedef struct last {
    int column;
    char *text;
    size_t size, capacity;
    int64_t line;
} last;

static ek_status add_row(void *user, const ek__csv *csv, ek__left_out *left, ek_error *err)
{
    last *l = user;
    const char *cell = ek__csv_cell(csv, l->column);
    size_t size = strlen(cell);
    if (size == 0) {
        ek__left_out_row(left, csv, "no link_info");
        return EK_OK;
    }
    char *room = ek__with_room(l->text, &l->capacity, size + 1, 1);
    if (!room)
        return ek__no_memory(err);
    l->text = memcpy(room, cell, size + 1);
    l->size = size;
    l->line = ek__csv_line(csv);
    return EK_OK;
}

/* The rank in link names: the known one, else the number at the end of the file's name; -1 without. */
static int rank_of(const ek__table_in *in)
{
    if (in->rank->rank >= 0)
        return in->rank->rank;
    const char *name = strrchr(in->path, '/');
    const char *number = strstr(name ? name : in->path, "hccl_raw_");
    int rank = -1;
    if (number && sscanf(number, "hccl_raw_%9d", &rank) != 1)
        rank = -1;
    return rank;
}

static bool read_number(const json_t *list, size_t i, double *value)
{
    const json_t *item = json_array_get(list, i);
    *value = json_number_value(item);
    return json_is_number(item) && *value >= 0 && *value <= 1e18;
}

/* "rank0:1-0:SDMA"; NULL when memory is out. */
static const char *link_name(const ek__table_in *in, const char *pair, const char *transport)
{
    int rank = rank_of(in);
    if (rank < 0)
        return ek__pool_format(in->rank->pool, "%s:%s", pair, transport);
    return ek__pool_format(in->rank->pool, "rank%d:%s:%s", rank, pair, transport);
}

static ek_status add_pair(const ek__table_in *in, const char *pair, json_t *transports, ek__left_out *left,
                          ek_trace_link **link, int *n, ek_error *err)
{
    const char *transport;
    json_t *figures;
    if (!json_is_object(transports))
        ek__left_out_add(left, "link '%.40s' contains no transports", pair);
    json_object_foreach(transports, transport, figures)
    {
        double ms = 0, kb = 0, rate = 0;
        if (!read_number(figures, 0, &ms) || !read_number(figures, 1, &kb) || !read_number(figures, 2, &rate)) {
            ek__left_out_add(left, "link '%.40s' by '%.40s' is no list of time, size and bandwidth", pair, transport);
            continue;
        }
        ek_trace_link *all = ek__pool_push(in->rank->pool, *link, *n, sizeof *all);
        const char *name = link_name(in, pair, transport);
        const char *kept = ek__pool_text(in->rank->pool, transport, strlen(transport));
        if (!all || !name || !kept)
            return ek__no_memory(err);
        all[*n] = (ek_trace_link){.link = name,
                                  .transport = kept,
                                  .size_mb = kb / 1e3,
                                  .time_ms = ms,
                                  .bandwidth_gbps = rate / 1e9,
                                  .size_kb = kb,
                                  .bytes_per_s = rate};
        *link = all;
        ++*n;
    }
    return EK_OK;
}

static ek_status read_links(const ek__table_in *in, last *l, ek_error *err)
{
    json_t *root = NULL;
    const ek_origin origin = {.file = in->path, .line = l->line < INT_MAX ? (int)l->line : INT_MAX};
    ek_status status = ek__side_json_parse(l->text, l->size, origin, &root, err);
    if (status)
        return status;
    if (!json_is_object(root))
        status = ek__fail(err, EK_ERR_INPUT, origin, "link_info is no object of links; export the table again");
    ek__left_out left = {0};
    ek_trace_link *link = NULL;
    int n = 0;
    const char *pair;
    json_t *transports;
    json_object_foreach(root, pair, transports)
    {
        if (!status)
            status = add_pair(in, pair, transports, &left, &link, &n, err);
    }
    if (!status && left.n > 0)
        status = ek__left_out_report(&left, "link", "links", NULL, in, err);
    if (!status)
        status = ek__links_add(in->rank, link, (size_t)n, err);
    json_decref(root);
    return status;
}

ek_status ek__table_hccl_raw(const ek__table_in *in, ek_error *err)
{
    ek__csv *csv = NULL;
    last l = {0};
    ek_status status = ek__csv_open(in->path, &csv, err);
    if (status)
        return status;
    l.column = ek__csv_column(csv, "link_info", NULL);
    status = ek__table_needs(in, l.column, "link_info", err);
    if (!status)
        status = ek__table_rows(in, csv, add_row, &l, err);
    if (!status && l.text)
        status = read_links(in, &l, err);
    ek__csv_close(csv);
    free(l.text);
    return status;
}
