/* Writes the figures of the host: late launches, reasons for idle time of the device, and waiting for data. Marks of
 * the program too. Only the longest stretches of idle time are listed. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "view/trace_sections.h"

enum { N_GAPS = 200 };

/* ---- stretches of idle time ---- */

typedef struct gap {
    const ek_trace_rank *rank;
    const ek_trace_host_gap *one;
    int64_t length;
} gap;

static int find_gaps(const ek_trace_run *run, gap list[N_GAPS])
{
    int n = 0;
    for (int i = 0; i < run->n_ranks; i++)
        for (int k = 0; k < run->rank[i].dispatch.n_gaps; k++) {
            const ek_trace_host_gap *one = &run->rank[i].dispatch.gap[k];
            int64_t length = ek__sum(one->end, -one->start);
            int at = n;
            while (at > 0 && list[at - 1].length < length)
                at--;
            if (at == N_GAPS)
                continue;
            n += n < N_GAPS;
            memmove(&list[at + 1], &list[at], (size_t)(n - 1 - at) * sizeof *list);
            list[at] = (gap){&run->rank[i], one, length};
        }
    return n;
}

static bool write_table(const ek_view_run *run, const ek__rows *rows, ek__section *x)
{
    if (strcmp(rows->id, "gaps") != 0)
        return false;
    gap list[N_GAPS];
    int n = find_gaps(run->trace, list);
    if (n == 0)
        return true;
    ek__view_table t = ek__view_table_begin(rows, NULL, NULL, x);
    for (int i = 0; i < n; i++) {
        const ek__owner of = {.run = run->trace, .rank = list[i].rank};
        ek__view_table_row(run, &t, list[i].one, &of, i + 1, x);
    }
    ek__view_table_end(&t, x);
    return true;
}

/* ---- the tab ---- */

static void note_data(const ek_trace_run *run, ek__section *x)
{
    for (int i = 0; i < run->n_ranks && i < EK__VIEW_MAX_RANKS; i++) {
        const ek_trace_data *data = &run->rank[i].data;
        char title[64], text[200];
        if (!data->near_empty_queue && !data->near_full_queue)
            continue;
        ek__view_rank_title(run, &run->rank[i], title, sizeof title);
        snprintf(text, sizeof text, "%s: the queue after the data pipeline is nearly %s", title,
                 data->near_empty_queue ? "empty: data is late" : "full: data is in time");
        ek__section_note(x, text);
    }
}

void ek__view_trace_host(const ek_view_run *run, ek__stream *s)
{
    const ek_trace_run *trace = run->trace;
    ek__section x = ek__section_begin(s, "host");
    bool dispatch = false, data = false;
    for (int i = 0; i < trace->n_ranks; i++) {
        dispatch = dispatch || ek__has_dispatch(&trace->rank[i].dispatch);
        data = data || trace->rank[i].data.n_iterators > 0 || trace->rank[i].data.n_ops > 0;
    }
    if (!dispatch)
        ek__section_note(&x, "These files contain no launches of the host. Profile with host events (CPU), too.");
    if (!data)
        ek__section_note(&x, "No data iterator was found. Profile the whole training loop with host events, for "
                             "MindSpore with data_process=True.");
    note_data(trace, &x);
    ek__view_tables(run, "host", write_table, &x);
    ek__section_end(&x);
}
