/* Communication: who sent how much to whom and who waited for whom, as matrices; collectives, links, transports and
 * groups as tables. Of single collectives the most exposed ones are listed; the timeline has all. */
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

static void put_members(const ek_trace_matrix *m, ek__section *x)
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

static void put_matrix(const ek_trace_matrix *m, int number, const char *what, const char *title, ek__view_unit unit,
                       ek__section *x)
{
    char id[64], text[256];
    snprintf(id, sizeof id, "%s-%d", what, number);
    if (m->group)
        snprintf(text, sizeof text, "%s, group %.160s", title, m->group[0] ? m->group : "without a name");
    else
        snprintf(text, sizeof text, "%s", title);
    ek__matrix_begin(x, id, text, unit);
    put_members(m, x);
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

/* Pairs of one direction follow one another, whatever their groups. */
static void put_waits(const ek_trace_run *run, const int *rank, int n, bool of_sender, ek__section *x)
{
    char text[96];
    ek__matrix_begin(x, of_sender ? "sender-waits" : "receiver-waits",
                     of_sender ? "How long the sender waited for the receiver"
                               : "How long the receiver waited for the sender",
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

static void put_matrices(const ek_trace_run *run, const int *rank, int n, ek__section *x)
{
    for (int i = 0; i < run->n_matrices && i < MAX_MATRICES; i++) {
        const ek_trace_matrix *m = &run->matrix[i];
        put_matrix(m, i, "size", "Sent, from row to column", EK__UNIT_MB, x);
        put_matrix(m, i, "time", "Time of sending, from row to column", EK__UNIT_NS, x);
        put_matrix(m, i, "bandwidth", "Bandwidth, from row to column", EK__UNIT_GBPS, x);
    }
    if (n > 0) {
        put_waits(run, rank, n, false, x);
        put_waits(run, rank, n, true, x);
    }
}

/* ---- collectives ---- */

static const ek__view_column sum_column[] = {
    {"collective", "Collective, by kind and size", EK__UNIT_TEXT, false},
    {"rank", "Rank", EK__UNIT_TEXT, false},
    {"group", "Group", EK__UNIT_TEXT, false},
    {"count", "Times", EK__UNIT_COUNT, false},
    {"total", "Total", EK__UNIT_NS | EK__LESS, false},
    {"exposed", "Exposed", EK__UNIT_NS | EK__LESS, false},
    {"mb", "Size of one", EK__UNIT_MB, false},
    {"bandwidth", "Bandwidth", EK__UNIT_GBPS | EK__MORE, false},
};

static void put_sums(const ek_trace_run *run, ek__section *x)
{
    int n = 0;
    for (int i = 0; i < run->n_ranks; i++)
        n += run->rank[i].communication.n_sums > 0;
    if (n == 0)
        return;
    n = 0;
    ek__table_begin(x, "collectives", "Collectives, summed by kind, group and size", sum_column,
                    sizeof sum_column / sizeof *sum_column);
    for (int i = 0; i < run->n_ranks; i++)
        for (int k = 0; k < run->rank[i].communication.n_sums && n++ < EK__VIEW_MAX_ROWS; k++) {
            const ek_trace_collective_sum *sum = &run->rank[i].communication.sum[k];
            ek__row_begin(x);
            ek__cell_text(x, sum->key);
            ek__view_cell_rank(x, run, &run->rank[i]);
            ek__cell_text(x, sum->group);
            ek__cell_int(x, sum->count);
            ek__cell_int(x, sum->total);
            ek__cell_int(x, sum->exposed);
            ek__cell_real(x, sum->bytes >= 0 ? (double)sum->bytes / 1048576 : NAN);
            ek__cell_real(x, sum->bandwidth_gbps);
            ek__row_end(x);
        }
    ek__table_end(x, 5, true);
}

static const ek__view_column comm_column[] = {
    {"operator", "Step, operator and group", EK__UNIT_TEXT, false},
    {"rank", "Rank", EK__UNIT_TEXT, false},
    {"kind", "Kind", EK__UNIT_TEXT, false},
    {"count", "Times", EK__UNIT_COUNT, false},
    {"elapse", "Elapsed", EK__UNIT_NS | EK__LESS, false},
    {"transit", "In transit", EK__UNIT_NS, false},
    {"wait", "Waiting", EK__UNIT_NS | EK__LESS, false},
    {"idle", "Idle", EK__UNIT_NS | EK__LESS, false},
    {"synchronization", "Synchronization", EK__UNIT_NS | EK__LESS, false},
    {"mb", "Size", EK__UNIT_MB, false},
};

static void put_comm_sums(const ek_trace_run *run, ek__section *x)
{
    int n = 0;
    for (int i = 0; i < run->n_ranks; i++)
        n += run->rank[i].communication.n_comm_sums > 0;
    if (n == 0)
        return;
    n = 0;
    ek__table_begin(x, "communication-json", "communication.json, summed by operator and group", comm_column,
                    sizeof comm_column / sizeof *comm_column);
    for (int i = 0; i < run->n_ranks; i++)
        for (int k = 0; k < run->rank[i].communication.n_comm_sums && n++ < EK__VIEW_MAX_ROWS; k++) {
            const ek_trace_comm_sum *sum = &run->rank[i].communication.comm_sum[k];
            const double ms[] = {sum->elapse_ms, sum->transit_ms, sum->wait_ms, sum->idle_ms, sum->synchronization_ms};
            char name[EK__VIEW_KEY_SIZE];
            snprintf(name, sizeof name, "%s, %s", sum->step, sum->key);
            ek__row_begin(x);
            ek__cell_text(x, name);
            ek__view_cell_rank(x, run, &run->rank[i]);
            ek__cell_text(x, sum->p2p ? "point to point" : "collective");
            ek__cell_int(x, sum->count);
            for (size_t t = 0; t < sizeof ms / sizeof *ms; t++)
                ek__cell_real(x, 1e6 * ms[t]);
            ek__cell_real(x, sum->size_mb);
            ek__row_end(x);
        }
    ek__table_end(x, 4, true);
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

static const ek__view_column exposed_column[] = {
    {"number", "No.", EK__UNIT_TEXT, false},
    {"name", "Collective", EK__UNIT_TEXT, true},
    {"group", "Group", EK__UNIT_TEXT, false},
    {"step", "Step", EK__UNIT_TEXT, false},
    {"at", "At", EK__UNIT_NS, false},
    {"duration", "Took", EK__UNIT_NS | EK__LESS, false},
    {"exposed", "Exposed", EK__UNIT_NS | EK__LESS, false},
};

static void put_exposed(const ek_view_run *run, ek__section *x)
{
    exposed list[N_EXPOSED];
    int n = find_exposed(run->trace, list);
    if (n == 0)
        return;
    ek__table_begin(x, "exposed", "Single collectives, most exposed first", exposed_column,
                    sizeof exposed_column / sizeof *exposed_column);
    for (int i = 0; i < n; i++) {
        const ek_trace_collective *one = list[i].one;
        bool inside = one->step >= 0 && one->step < list[i].rank->n_steps;
        double at = NAN;
        char number[16], key[64];
        snprintf(number, sizeof number, "%d", i + 1);
        ek__view_key(run->trace, list[i].rank, number, key, sizeof key);
        ek__row_begin(x);
        ek__cell_text(x, key);
        ek__cell_text(x, one->name);
        ek__cell_text(x, one->group);
        ek__cell_text(x, inside ? list[i].rank->step[one->step].name : NULL);
        ek__cell_real(x, ek__view_trace_at(run, list[i].rank, one->start, &at) ? at : NAN);
        ek__cell_int(x, one->duration);
        ek__cell_int(x, one->exposed);
        ek__row_end(x);
    }
    ek__table_end(x, 6, true);
}

/* ---- links ---- */

static const ek__view_column transport_column[] = {
    {"transport", "Transport", EK__UNIT_TEXT, false},
    {"links", "Links", EK__UNIT_COUNT, false},
    {"ranked", "That moved 1 MB or more", EK__UNIT_COUNT, false},
    {"slow", "20 % below the mean", EK__UNIT_COUNT | EK__LESS, false},
    {"mb", "Moved", EK__UNIT_MB, false},
    {"mean", "Mean bandwidth", EK__UNIT_GBPS | EK__MORE, false},
    {"gap", "Fastest less slowest, of the mean", EK__UNIT_PERCENT | EK__LESS, false},
    {"slowest", "Slowest", EK__UNIT_TEXT, false},
    {"slowest_gbps", "Its bandwidth", EK__UNIT_GBPS | EK__MORE, false},
    {"fastest", "Fastest", EK__UNIT_TEXT, false},
    {"fastest_gbps", "Its bandwidth", EK__UNIT_GBPS | EK__MORE, false},
};

static void put_transports(const ek_trace_run *run, ek__section *x)
{
    if (run->n_transports == 0)
        return;
    ek__table_begin(x, "transports", "What carries it, over all ranks", transport_column,
                    sizeof transport_column / sizeof *transport_column);
    for (int i = 0; i < run->n_transports; i++) {
        const ek_trace_run_transport *t = &run->transport[i];
        ek__row_begin(x);
        ek__cell_text(x, t->name);
        ek__cell_int(x, t->n_links);
        ek__cell_int(x, t->n_ranked);
        ek__cell_int(x, t->n_slow);
        ek__cell_real(x, t->total_size_mb);
        ek__cell_real(x, t->mean_gbps);
        ek__cell_real(x, 100 * t->gap);
        ek__cell_text(x, t->slowest.name);
        ek__cell_real(x, t->slowest.name ? t->slowest.bandwidth_gbps : NAN);
        ek__cell_text(x, t->fastest.name);
        ek__cell_real(x, t->fastest.name ? t->fastest.bandwidth_gbps : NAN);
        ek__row_end(x);
    }
    ek__table_end(x, -1, false);
}

static const ek__view_column slow_column[] = {
    {"link", "Slow link", EK__UNIT_TEXT, false},
    {"transport", "Transport", EK__UNIT_TEXT, false},
    {"bandwidth", "Bandwidth", EK__UNIT_GBPS | EK__MORE, false},
    {"mean", "Mean of its transport", EK__UNIT_GBPS | EK__MORE, false},
};

static void put_slow_links(const ek_trace_run *run, ek__section *x)
{
    if (run->n_slow_links == 0)
        return;
    ek__table_begin(x, "slow-links", "Links 20 % or more below the mean of their transport", slow_column,
                    sizeof slow_column / sizeof *slow_column);
    for (int i = 0; i < run->n_slow_links && i < EK__VIEW_MAX_ROWS; i++) {
        ek__row_begin(x);
        ek__cell_text(x, run->slow_link[i].name);
        ek__cell_text(x, run->slow_link[i].transport);
        ek__cell_real(x, run->slow_link[i].bandwidth_gbps);
        ek__cell_real(x, run->slow_link[i].mean_gbps);
        ek__row_end(x);
    }
    ek__table_end(x, -1, false);
}

static const ek__view_column link_column[] = {
    {"link", "Link", EK__UNIT_TEXT, false},
    {"rank", "Rank", EK__UNIT_TEXT, false},
    {"transport", "Transport", EK__UNIT_TEXT, false},
    {"mb", "Moved", EK__UNIT_MB, false},
    {"time", "Time", EK__UNIT_NS | EK__LESS, false},
    {"bandwidth", "Bandwidth", EK__UNIT_GBPS | EK__MORE, false},
    {"slow", "20 % below the mean", EK__UNIT_TEXT, false},
};

static void put_links(const ek_trace_run *run, ek__section *x)
{
    int n = 0;
    for (int i = 0; i < run->n_ranks; i++)
        n += run->rank[i].communication.n_links > 0;
    if (n == 0)
        return;
    n = 0;
    ek__table_begin(x, "links", "Links", link_column, sizeof link_column / sizeof *link_column);
    for (int i = 0; i < run->n_ranks; i++)
        for (int k = 0; k < run->rank[i].communication.n_links && n++ < EK__VIEW_MAX_ROWS; k++) {
            const ek_trace_link *link = &run->rank[i].communication.link[k];
            char name[EK__VIEW_KEY_SIZE];
            snprintf(name, sizeof name, "%s, %s", link->link, link->transport ? link->transport : "");
            ek__row_begin(x);
            ek__cell_text(x, name);
            ek__view_cell_rank(x, run, &run->rank[i]);
            ek__cell_text(x, link->transport);
            ek__cell_real(x, link->size_mb);
            ek__cell_real(x, 1e6 * link->time_ms);
            ek__cell_real(x, link->bandwidth_gbps);
            ek__cell_text(x, link->slow ? "slow" : NULL);
            ek__row_end(x);
        }
    ek__table_end(x, -1, false);
}

/* ---- who talks to whom ---- */

static const ek__view_column pair_column[] = {
    {"pair", "From, to and group", EK__UNIT_TEXT, false},
    {"transfers", "Transfers", EK__UNIT_COUNT, false},
    {"from_wait", "The sender waited", EK__UNIT_NS | EK__LESS, false},
    {"to_wait", "The receiver waited", EK__UNIT_NS | EK__LESS, false},
};

static void put_pairs(const ek_trace_run *run, ek__section *x)
{
    if (run->n_pairs == 0)
        return;
    ek__table_begin(x, "pairs", "Transfers between stages", pair_column, sizeof pair_column / sizeof *pair_column);
    for (int i = 0; i < run->n_pairs && i < EK__VIEW_MAX_ROWS; i++) {
        const ek_trace_pair *pair = &run->pair[i];
        char key[512];
        char from[64], to[64];
        ek__rank_label(run, &run->rank[pair->from_at], from, sizeof from);
        ek__rank_label(run, &run->rank[pair->to_at], to, sizeof to);
        snprintf(key, sizeof key, "%s to %s%s%s", from, to, pair->group ? ", " : "", pair->group ? pair->group : "");
        ek__row_begin(x);
        ek__cell_text(x, key);
        ek__cell_int(x, pair->n);
        ek__cell_int(x, pair->from_wait);
        ek__cell_int(x, pair->to_wait);
        ek__row_end(x);
    }
    ek__table_end(x, -1, false);
}

static const ek__view_column group_column[] = {
    {"group", "Group", EK__UNIT_TEXT, false},
    {"purpose", "Of", EK__UNIT_TEXT, false},
    {"size", "Ranks", EK__UNIT_COUNT, false},
    {"ranks", "Which", EK__UNIT_TEXT, false},
};

static void put_groups(const ek_trace_topology *t, ek__section *x)
{
    if (t->n_groups == 0)
        return;
    ek__table_begin(x, "groups", "Groups of ranks", group_column, sizeof group_column / sizeof *group_column);
    for (int i = 0; i < t->n_groups && i < EK__VIEW_MAX_ROWS; i++) {
        const ek_trace_group *group = &t->group[i];
        char key[1024], list[1024] = "";
        size_t used = 0;
        for (int k = 0; k < group->n_ranks && used + 32 < sizeof list; k++)
            used += (size_t)snprintf(list + used, sizeof list - used, "%s%d", k ? ", " : "", group->rank[k]);
        if (used + 32 >= sizeof list)
            snprintf(list + used, sizeof list - used, ", ...");
        snprintf(key, sizeof key, "%.256s %.256s: %.400s", group->name, group->key, list);
        ek__row_begin(x);
        ek__cell_text(x, key);
        ek__cell_text(x, group->name);
        ek__cell_int(x, group->n_ranks);
        ek__cell_text(x, list);
        ek__row_end(x);
    }
    ek__table_end(x, -1, false);
}

/* ---- the tab ---- */

static void put_notes(const ek_trace_run *run, ek__section *x)
{
    int64_t links = 0, sums = 0, collectives = 0;
    char text[256];
    for (int i = 0; i < run->n_ranks; i++) {
        links += run->rank[i].communication.n_links;
        sums += run->rank[i].communication.n_sums;
        collectives += run->rank[i].communication.n_collectives;
    }
    if (links == 0)
        ek__section_note(x, "No link between ranks was measured. On Ascend profile at level 1 or higher and give the "
                            "folders with communication_matrix.json.");
    else if (run->n_matrices > 0 && run->matrix[run->n_matrices - 1].group)
        ek__section_note(x, "Links number the members of a group. Where no file tells which rank has a place, the "
                            "matrix shows places; give the files of all ranks to have ranks.");
    if (run->n_unpaired > 0) {
        snprintf(text, sizeof text, "%" PRId64 " sends and receives have no other side in these files",
                 run->n_unpaired);
        ek__section_note(x, text);
    }
    ek__view_note_rest(x, run->n_matrices - MAX_MATRICES, "groups' matrices", "evenkeel trace --csv DIR has all links");
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
    put_notes(trace, &x);
    put_matrices(trace, rank, n, &x);
    put_sums(trace, &x);
    put_exposed(run, &x);
    put_comm_sums(trace, &x);
    put_transports(trace, &x);
    put_slow_links(trace, &x);
    put_pairs(trace, &x);
    put_links(trace, &x);
    put_groups(&trace->topology, &x);
    ek__section_end(&x);
    free(rank);
    return EK_OK;
}
