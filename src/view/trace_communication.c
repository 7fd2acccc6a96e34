/* Writes communication: traffic and waiting time between ranks as matrices; collectives, links, transports and groups
 * as tables. Only the most exposed single collectives are listed; the timeline has all. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/report_internal.h"
#include "view/trace_sections.h"

enum { MAX_MATRICES = 24, N_EXPOSED = 200 };

/* ---- matrices ---- */

static double cell_value(const ek_trace_matrix_cell *cell, ek__view_unit unit)
{
    return unit == EK__UNIT_MB ? cell->size_mb : unit == EK__UNIT_NS ? 1e6 * cell->time_ms : cell->bandwidth_gbps;
}

static void write_members(const ek_trace_matrix *m, ek__section *x)
{
    for (int i = 0; i < m->n_members; i++) {
        const ek_trace_matrix_member *one = &m->member[i];
        char label[64];
        if (one->rank >= 0)
            snprintf(label, sizeof label, "rank %d", one->rank);
        else
            snprintf(label, sizeof label, "place %d", one->place);
        ek__matrix_label(x, label);
    }
}

/* Is there a choice of several? */
static bool has_choice(const ek_trace_matrix *m)
{
    for (int i = 1; i < m->n_parts; i++)
        if (strcmp(m->part[i].step, m->part[0].step) != 0 || strcmp(m->part[i].operation, m->part[0].operation) != 0 ||
            strcmp(m->part[i].transport, m->part[0].transport) != 0)
            return true;
    return false;
}

static void write_parts(const ek_trace_matrix *m, ek__section *x)
{
    bool chosen = m->n_parts <= EK__VIEW_MAX_ROWS && has_choice(m);
    for (int i = 0; i < m->n_parts && chosen; i++) {
        const ek_trace_matrix_cell *cell = &m->cell[m->part[i].cell];
        ek__matrix_part(x, cell->from, cell->to, &m->part[i]);
    }
}

static void write_matrix(const ek_trace_matrix *m, int number, const char *what, const char *title, ek__view_unit unit,
                         ek__section *x)
{
    char id[64], text[256];
    snprintf(id, sizeof id, "%s-%d", what, number);
    if (m->group)
        snprintf(text, sizeof text, "%s, group %.160s", title, m->group[0] ? m->group : "without a name");
    else
        snprintf(text, sizeof text, "%s", title);
    ek__matrix_begin(x, id, text, unit);
    write_members(m, x);
    for (int i = 0; i < m->n_cells; i++) {
        const ek_trace_matrix_cell *cell = &m->cell[i];
        if (!isfinite(cell_value(cell, unit)))
            continue;
        snprintf(text, sizeof text, "%s MB in %s ms", ek__short(cell->size_mb).text, ek__short(cell->time_ms).text);
        if (isfinite(cell->bandwidth_gbps))
            snprintf(text + strlen(text), sizeof text - strlen(text), ", %s GB/s",
                     ek__short(cell->bandwidth_gbps).text);
        ek__matrix_cell(x, cell->from, cell->to, cell_value(cell, unit), text);
    }
    write_parts(m, x);
    ek__matrix_end(x);
}

/* Indices of ranks that exchange with others, in order; the list has room for two a pair. */
static int pair_ranks(const ek_trace_run *run, int *rank)
{
    int n = 0;
    for (int i = 0; i < run->n_pairs; i++) {
        const int ends[] = {run->pair[i].from_at, run->pair[i].to_at};
        for (int e = 0; e < 2; e++) {
            int at = n;
            while (at > 0 && rank[at - 1] > ends[e])
                at--;
            if (at > 0 && rank[at - 1] == ends[e])
                continue;
            memmove(&rank[at + 1], &rank[at], (size_t)(n - at) * sizeof *rank);
            rank[at] = ends[e];
            n++;
        }
    }
    return n;
}

static int place_of(const int *rank, int n, int wanted)
{
    int low = 0, high = n;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (rank[middle] < wanted)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Pairs of one direction are adjacent, in any of their groups. */
static void write_waits(const ek_trace_run *run, const int *rank, int n, bool of_sender, ek__section *x)
{
    char text[96];
    ek__matrix_begin(x, of_sender ? "sender-waits" : "receiver-waits",
                     of_sender ? "Time that the sender waited for the receiver"
                               : "Time that the receiver waited for the sender",
                     EK__UNIT_NS);
    for (int i = 0; i < n; i++) {
        ek__rank_label(run, &run->rank[rank[i]], text, sizeof text);
        ek__matrix_label(x, text);
    }
    for (int i = 0, next; i < run->n_pairs; i = next) {
        const ek_trace_pair *pair = &run->pair[i];
        int64_t wait = 0, transfers = 0;
        for (next = i;
             next < run->n_pairs && run->pair[next].from_at == pair->from_at && run->pair[next].to_at == pair->to_at;
             next++) {
            wait = ek__sum(wait, of_sender ? run->pair[next].from_wait : run->pair[next].to_wait);
            transfers += run->pair[next].n;
        }
        snprintf(text, sizeof text, "%" PRId64 " transfer%s", transfers, transfers == 1 ? "" : "s");
        ek__matrix_cell(x, place_of(rank, n, pair->from_at), place_of(rank, n, pair->to_at), (double)wait, text);
    }
    ek__matrix_end(x);
}

static void write_matrices(const ek_trace_run *run, const int *rank, int n, ek__section *x)
{
    for (int i = 0; i < run->n_matrices && i < MAX_MATRICES; i++) {
        const ek_trace_matrix *m = &run->matrix[i];
        write_matrix(m, i, "size", "Sent, from row to column", EK__UNIT_MB, x);
        write_matrix(m, i, "time", "Time of sending, from row to column", EK__UNIT_NS, x);
        write_matrix(m, i, "bandwidth", "Bandwidth, from row to column", EK__UNIT_GBPS, x);
    }
    if (n > 0) {
        write_waits(run, rank, n, false, x);
        write_waits(run, rank, n, true, x);
    }
}

/* ---- the most exposed ones ---- */

typedef struct exposed {
    const ek_trace_rank *rank;
    const ek_trace_collective *one;
} exposed;

static int find_exposed(const ek_trace_run *run, exposed list[N_EXPOSED])
{
    int n = 0;
    for (int i = 0; i < run->n_ranks; i++)
        for (int k = 0; k < run->rank[i].communication.n_collectives; k++) {
            const ek_trace_collective *one = &run->rank[i].communication.collective[k];
            int at = n;
            while (at > 0 && list[at - 1].one->exposed < one->exposed)
                at--;
            if (at == N_EXPOSED || one->exposed <= 0)
                continue;
            n += n < N_EXPOSED;
            memmove(&list[at + 1], &list[at], (size_t)(n - 1 - at) * sizeof *list);
            list[at] = (exposed){&run->rank[i], one};
        }
    return n;
}

static bool write_table(const ek_view_run *run, const ek__rows *rows, ek__section *x)
{
    if (rows->fields != &ek__trace_collective)
        return false;
    exposed list[N_EXPOSED];
    int n = find_exposed(run->trace, list);
    if (n == 0)
        return true;
    ek__view_table t = ek__view_table_begin(rows, NULL, NULL, x);
    for (int i = 0; i < n; i++) {
        const ek__owner of = {.run = run->trace, .rank = list[i].rank};
        ek__view_table_row(run, &t, list[i].one, &of, i + 1, x);
    }
    for (int i = 0; i < n && run->index; i++) {
        const ek__owner of = {.run = run->trace, .rank = list[i].rank};
        ek__view_table_place(run, &t, list[i].one, &of, i + 1, x);
    }
    ek__view_table_end(&t, x);
    return true;
}

/* ---- the tab ---- */

static void write_notes(const ek_trace_run *run, ek__section *x)
{
    int64_t links = 0, sums = 0, collectives = 0;
    char text[256];
    for (int i = 0; i < run->n_ranks; i++) {
        links += run->rank[i].communication.n_links;
        sums += run->rank[i].communication.n_sums;
        collectives += run->rank[i].communication.n_collectives;
    }
    if (links == 0)
        ek__section_note(x, "No link between ranks was measured. On Ascend, profile at level 1 or higher and give the "
                            "folders with communication_matrix.json.");
    else if (run->n_matrices > 0 && run->matrix[run->n_matrices - 1].group)
        ek__section_note(x, "Links refer to members of a group by number. If no file contains the rank of a member, "
                            "the matrix shows its number; give the files of all ranks to see ranks.");
    if (run->n_unpaired > 0) {
        snprintf(text, sizeof text, "%" PRId64 " sends and receives have no counterpart in these files",
                 run->n_unpaired);
        ek__section_note(x, text);
    }
    ek__view_note_rest(x, run->n_matrices - MAX_MATRICES, "groups' matrices", "evenkeel trace --csv DIR has all links");
    for (int i = 0; i < run->n_matrices; i++)
        if (run->matrix[i].n_parts > EK__VIEW_MAX_ROWS) {
            ek__section_note(x, "A matrix has too many steps and operations to choose one of them.");
            break;
        }
    ek__view_note_rest(x, links - EK__VIEW_MAX_ROWS, "links", "evenkeel trace --csv DIR has all");
    ek__view_note_rest(x, sums - EK__VIEW_MAX_ROWS, "sums of collectives", "evenkeel trace --csv DIR has all");
    if (collectives == 0 && sums == 0)
        ek__section_note(x, "These files have no collectives.");
}

ek_status ek__view_trace_communication(const ek_view_run *run, ek__stream *s, ek_error *err)
{
    const ek_trace_run *trace = run->trace;
    int *rank = ek__alloc(2 * (size_t)trace->n_pairs + 1, sizeof *rank);
    if (!rank)
        return ek__no_memory(err);
    int n = pair_ranks(trace, rank);
    ek__section x = ek__section_begin(s, "communication");
    write_notes(trace, &x);
    write_matrices(trace, rank, n, &x);
    ek__view_tables(run, "communication", write_table, &x);
    ek__section_end(&x);
    free(rank);
    return EK_OK;
}
