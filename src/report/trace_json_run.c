/* What only the ranks of a run together can say, as JSON by docs/trace-json.md: topology, stages, slow ranks and links,
 * findings. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "report/json_stream.h"
#include "report/trace_internal.h"

/* ---- topology ---- */

/* Are there files of this rank? Ranks are sorted, unknown ones last. */
static bool has_files(const ek_trace_run *run, int number)
{
    int low = 0, high = run->n_ranks;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if ((unsigned)run->rank[middle].rank < (unsigned)number)
            low = middle + 1;
        else
            high = middle;
    }
    return low < run->n_ranks && run->rank[low].rank == number;
}

static void put_members(ek__stream *s, const char *key, const ek_trace_group *group)
{
    ek__stream_list(s, key, false);
    for (int k = 0; k < group->n_ranks; k++)
        ek__stream_int(s, NULL, group->rank[k]);
    ek__stream_end(s);
}

static void put_groups(ek__stream *s, const ek_trace_run *run)
{
    ek__stream_list(s, "groups", true);
    for (int i = 0; i < run->topology.n_groups; i++) {
        const ek_trace_group *group = &run->topology.group[i];
        ek__stream_object(s, NULL, false);
        ek__stream_text(s, "group_name", group->name);
        ek__stream_text(s, "key", group->key);
        ek__stream_int(s, "size", group->n_ranks);
        put_members(s, "global_ranks", group);
        ek__stream_list(s, "missing_ranks", false);
        for (int k = 0; k < group->n_ranks; k++)
            if (!has_files(run, group->rank[k]))
                ek__stream_int(s, NULL, group->rank[k]);
        ek__stream_end(s);
        ek__stream_end(s);
    }
    ek__stream_end(s);
}

/* Groups are sorted by name. */
static void put_groups_by_name(ek__stream *s, const ek_trace_topology *t)
{
    ek__stream_object(s, "groups_by_name", false);
    for (int i = 0; i < t->n_groups;) {
        const char *name = t->group[i].name;
        ek__stream_list(s, name, false);
        for (; i < t->n_groups && strcmp(t->group[i].name, name) == 0; i++)
            put_members(s, NULL, &t->group[i]);
        ek__stream_end(s);
    }
    ek__stream_end(s);
}

/* A rank's place in a group. */
typedef struct place {
    int rank, group, at;
} place;

static int by_rank(const void *a, const void *b)
{
    const place *x = a, *y = b;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    return x->group != y->group ? (x->group < y->group ? -1 : 1) : (x->at > y->at) - (x->at < y->at);
}

/* All of them by rank, the end marked by a rank below 0; NULL when memory is out. */
static place *places_of(const ek_trace_topology *t)
{
    size_t n = 0, room = 0;
    for (int i = 0; i < t->n_groups; i++)
        room += (size_t)t->group[i].n_ranks;
    place *all = ek__alloc(room + 1, sizeof *all);
    if (!all)
        return NULL;
    for (int i = 0; i < t->n_groups; i++)
        for (int k = 0; k < t->group[i].n_ranks; k++)
            all[n++] = (place){t->group[i].rank[k], i, k};
    qsort(all, n, sizeof *all, by_rank);
    all[n].rank = -1;
    return all;
}

/* The groups that a rank is in. `next` is at or before its places, and left behind them. */
static void put_places(ek__stream *s, const ek_trace_topology *t, int rank, const place **next)
{
    ek__stream_list(s, "groups", false);
    while (rank >= 0 && (*next)->rank >= 0 && (*next)->rank < rank)
        ++*next;
    for (const place *p = *next; rank >= 0 && p->rank == rank; p++) {
        ek__stream_object(s, NULL, false);
        ek__stream_text(s, "group_name", t->group[p->group].name);
        ek__stream_text(s, "key", t->group[p->group].key);
        ek__stream_int(s, "group_rank", p->at);
        ek__stream_end(s);
    }
    ek__stream_end(s);
}

static ek_status put_topology(ek__stream *s, const ek_trace_run *run, ek_error *err)
{
    const ek_trace_topology *t = &run->topology;
    place *places = places_of(t);
    if (!places)
        return ek__no_memory(err);
    const place *next = places;
    ek__stream_object(s, "topology", true);
    ek__stream_bool(s, "known", t->known);
    ek__stream_from(s, "tensor_model_parallel_size", t->tensor, 1);
    ek__stream_from(s, "pipeline_model_parallel_size", t->pipeline, 1);
    ek__stream_from(s, "data_parallel_size", t->data, 1);
    ek__stream_from(s, "context_parallel_size", t->context, 1);
    ek__stream_from(s, "expert_model_parallel_size", t->expert, 1);
    if (t->tells_sequence_parallel)
        ek__stream_bool(s, "sequence_parallel", t->sequence_parallel);
    else
        ek__stream_null(s, "sequence_parallel");
    ek__stream_from(s, "world_size", t->world_size, 1);
    put_groups(s, run);
    put_groups_by_name(s, t);
    ek__stream_list(s, "ranks", true);
    for (int i = 0; i < run->n_ranks; i++) {
        ek__stream_object(s, NULL, false);
        ek__stream_from(s, "rank", run->rank[i].rank, 0);
        ek__stream_from(s, "stage", run->rank[i].stage, 0);
        ek__stream_from(s, "device_id", run->rank[i].device_id, 0);
        ek__stream_from(s, "world_size", run->rank[i].world_size, 1);
        ek__stream_text(s, "host", run->rank[i].host);
        put_places(s, t, run->rank[i].rank, &next);
        ek__stream_end(s);
    }
    ek__stream_end(s);
    ek__stream_end(s);
    free(places);
    return EK_OK;
}

/* The step of that name, which mostly has the same place on every rank. */
static const ek_trace_step *step_named(const ek_trace_rank *rank, const char *name, int near)
{
    if (near < rank->n_steps && strcmp(rank->step[near].name, name) == 0)
        return &rank->step[near];
    for (int i = 0; i < rank->n_steps; i++)
        if (strcmp(rank->step[i].name, name) == 0)
            return &rank->step[i];
    return NULL;
}

/* Computing step by step, warm-up too: means over the stage's ranks of the steps that its first rank with steps has;
 * and the longest of all ranks and steps. */
static void put_stage_steps(ek__stream *s, const ek_trace_run *run, int stage)
{
    const ek_trace_rank *first = NULL;
    int64_t longest = INT64_MIN;
    for (int k = 0; k < run->n_ranks && !first; k++)
        if (run->rank[k].stage == stage && run->rank[k].n_steps > 0)
            first = &run->rank[k];
    ek__stream_object(s, "computing_us_by_step", false);
    for (int i = 0; first && i < first->n_steps; i++) {
        int64_t sum = 0, n = 0;
        for (int k = 0; k < run->n_ranks; k++) {
            const ek_trace_step *step =
                run->rank[k].stage == stage ? step_named(&run->rank[k], first->step[i].name, i) : NULL;
            if (!step || step->own.computing == EK_TRACE_UNKNOWN)
                continue;
            sum = ek__sum(sum, step->own.computing);
            longest = step->own.computing > longest ? step->own.computing : longest;
            n++;
        }
        ek__stream_us(s, first->step[i].name, n > 0 ? sum / n : INT64_MIN);
    }
    ek__stream_end(s);
    ek__stream_us(s, "computing_max_step_us", longest);
}

static void put_stages(ek__stream *s, const ek_trace_run *run)
{
    ek__stream_object(s, "stage_balance", true);
    ek__stream_real(s, "imbalance", run->stage_imbalance);
    ek__stream_list(s, "stages", true);
    for (int i = 0; i < run->n_stages; i++) {
        const ek_trace_stage *stage = &run->stage[i];
        ek__stream_object(s, NULL, false);
        ek__stream_int(s, "stage", stage->stage);
        ek__stream_int(s, "n_ranks", stage->n_ranks);
        ek__stream_list(s, "ranks", false);
        for (int k = 0; k < run->n_ranks; k++)
            if (run->rank[k].stage == stage->stage && run->rank[k].rank != EK_TRACE_NO_RANK)
                ek__stream_int(s, NULL, run->rank[k].rank);
        ek__stream_end(s);
        ek__stream_us(s, "computing_mean_us", stage->computing_mean);
        ek__stream_us(s, "computing_max_us", stage->computing_max);
        ek__stream_object(s, "computing_us_by_rank", false);
        for (int k = 0; k < run->n_ranks; k++)
            if (run->rank[k].stage == stage->stage && run->rank[k].rank != EK_TRACE_NO_RANK) {
                char number[16];
                snprintf(number, sizeof number, "%d", run->rank[k].rank);
                ek__stream_us(s, number, run->rank[k].mean.computing);
            }
        ek__stream_end(s);
        put_stage_steps(s, run, stage->stage);
        ek__stream_us(s, "communication_not_overlapped_mean_us", stage->not_overlapped_mean);
        ek__stream_us(s, "free_mean_us", stage->free_mean);
        ek__stream_us(s, "pipeline_wait_mean_us", stage->pipeline_wait_mean);
        ek__stream_us(s, "step_mean_us", stage->step_mean);
        ek__stream_end(s);
    }
    ek__stream_end(s);
    ek__stream_end(s);
}

static void put_votes(ek__stream *s, const ek_trace_run *run)
{
    int slowest = EK_TRACE_NO_RANK, often = EK_TRACE_NO_RANK;
    int64_t most = -1;
    for (int i = 0; i < run->n_votes; i++) {
        if (i == 0 && run->vote[i].n_votes > 0)
            slowest = run->vote[i].rank;
        if (run->vote[i].n_shortest > most)
            often = run->vote[i].rank;
        most = run->vote[i].n_shortest > most ? run->vote[i].n_shortest : most;
    }
    ek__stream_from(s, "slowest", slowest, 0);
    ek__stream_from(s, "most_often_shortest", often, 0);
    ek__stream_list(s, "votes", true);
    for (int i = 0; i < run->n_votes; i++) {
        ek__stream_object(s, NULL, false);
        ek__stream_from(s, "rank", run->vote[i].rank, 0);
        ek__stream_from(s, "stage", run->vote[i].stage, 0);
        ek__stream_int(s, "votes", run->vote[i].n_votes);
        ek__stream_int(s, "shortest", run->vote[i].n_shortest);
        ek__stream_int(s, "compared", run->vote[i].n_compared);
        ek__stream_end(s);
    }
    ek__stream_end(s);
}

static void put_ballots(ek__stream *s, const ek_trace_run *run)
{
    ek__stream_list(s, "operators", true);
    for (int i = 0; i < run->n_ballots; i++) {
        const ek_trace_ballot *ballot = &run->ballot[i];
        ek__stream_object(s, NULL, false);
        ek__stream_text(s, "name", ballot->name);
        ek__stream_text(s, "group", ballot->group);
        ek__stream_int(s, "occurrence", ballot->occurrence);
        ek__stream_int(s, "n_ranks", ballot->n_ranks);
        ek__stream_from(s, "shortest", ballot->shortest, 0);
        ek__stream_us(s, "shortest_us", ballot->shortest_ns);
        ek__stream_us(s, "longest_us", ballot->longest_ns);
        ek__stream_real(s, "dixon_ratio", ballot->ratio);
        ek__stream_real(s, "dixon_limit", ballot->limit);
        ek__stream_int(s, "votes", ballot->n_votes);
        ek__stream_end(s);
    }
    ek__stream_end(s);
}

static void put_slow_rank(ek__stream *s, const ek_trace_run *run)
{
    ek__stream_object(s, "slow_rank", true);
    ek__stream_int(s, "voted_operators", run->n_voted_operators);
    put_votes(s, run);
    put_ballots(s, run);
    ek__stream_list(s, "gaps", true);
    for (int i = 0; i < run->n_gaps; i++) {
        const ek_trace_gap *gap = &run->gap[i];
        ek__stream_object(s, NULL, false);
        ek__stream_text(s, "part", gap->part);
        ek__stream_real(s, "gap", gap->gap);
        ek__stream_from(s, "most", gap->most, 0);
        ek__stream_from(s, "least", gap->least, 0);
        ek__stream_from(s, "most_stage", gap->most_stage, 0);
        ek__stream_from(s, "least_stage", gap->least_stage, 0);
        ek__stream_bool(s, "flagged", gap->flagged);
        ek__stream_end(s);
    }
    ek__stream_end(s);
    ek__stream_end(s);
}

/* Transfers between ranks, both sides of which are there. */
static void put_pairs(ek__stream *s, const ek_trace_run *run)
{
    ek__stream_object(s, "p2p_pairs", true);
    ek__stream_list(s, "pairs", true);
    for (int i = 0; i < run->n_pairs; i++) {
        const ek_trace_pair *pair = &run->pair[i];
        ek__stream_object(s, NULL, false);
        ek__stream_from(s, "from", pair->from, 0);
        ek__stream_from(s, "to", pair->to, 0);
        ek__stream_text(s, "group", pair->group);
        ek__stream_int(s, "count", pair->n);
        ek__stream_us(s, "from_wait_us", pair->from_wait);
        ek__stream_us(s, "to_wait_us", pair->to_wait);
        ek__stream_end(s);
    }
    ek__stream_end(s);
    ek__stream_int(s, "unpaired", run->n_unpaired);
    ek__stream_end(s);
}

static void put_matrix(ek__stream *s, const ek_trace_matrix *matrix)
{
    ek__stream_object(s, NULL, true);
    ek__stream_text(s, "group", matrix->group);
    ek__stream_list(s, "members", true);
    for (int i = 0; i < matrix->n_members; i++) {
        ek__stream_object(s, NULL, false);
        ek__stream_from(s, "rank", matrix->member[i].rank, 0);
        ek__stream_from(s, "place", matrix->member[i].place, 0);
        ek__stream_end(s);
    }
    ek__stream_end(s);
    ek__stream_list(s, "cells", true);
    for (int i = 0; i < matrix->n_cells; i++) {
        const ek_trace_matrix_cell *cell = &matrix->cell[i];
        ek__stream_object(s, NULL, false);
        ek__stream_int(s, "from", cell->from);
        ek__stream_int(s, "to", cell->to);
        ek__stream_int(s, "links", cell->n_links);
        ek__stream_real(s, "size_mb", cell->size_mb);
        ek__stream_fixed(s, "time_ms", cell->time_ms, 6);
        ek__stream_real(s, "gbps", cell->bandwidth_gbps);
        ek__stream_end(s);
    }
    ek__stream_end(s);
    ek__stream_end(s);
}

/* Links from rank to rank. */
static void put_matrices(ek__stream *s, const ek_trace_run *run)
{
    ek__stream_list(s, "link_matrices", true);
    for (int i = 0; i < run->n_matrices; i++)
        put_matrix(s, &run->matrix[i]);
    ek__stream_end(s);
}

static void put_cluster(ek__stream *s, const ek_trace_run *run)
{
    ek__stream_list(s, "cluster_table", true);
    for (int i = 0; i < run->n_cluster_rows; i++) {
        const ek_trace_cluster_row *row = &run->cluster_row[i];
        ek__stream_object(s, NULL, false);
        ek__stream_text(s, "step", row->step);
        ek__stream_text(s, "type", row->type);
        ek__stream_text(s, "index", row->index);
        ek__stream_us(s, "computing", row->computing);
        ek__stream_us(s, "communication_not_overlapped", row->not_overlapped);
        ek__stream_us(s, "overlapped", row->overlapped);
        ek__stream_us(s, "communication", row->communication);
        ek__stream_us(s, "free", row->free);
        ek__stream_us(s, "stage", row->stage);
        ek__stream_us(s, "bubble", row->bubble);
        ek__stream_us(s, "communication_not_overlapped_and_exclude_receive", row->exclude_receive);
        ek__stream_us(s, "preparing", row->preparing);
        ek__stream_bool(s, "computed", row->computed);
        ek__stream_end(s);
    }
    ek__stream_end(s);
}

/* Is `a` the slower of two links? Those that moved little count only where nothing else is there. */
static bool slower(const ek_trace_link *a, const ek_trace_link *b)
{
    return !b || (a->ranked && !b->ranked) || (a->ranked == b->ranked && a->bandwidth_gbps < b->bandwidth_gbps);
}

static void put_run_link(ek__stream *s, const char *key, const ek_trace_run_link *link)
{
    if (!link->name) {
        ek__stream_null(s, key);
        return;
    }
    ek__stream_object(s, key, false);
    ek__stream_text(s, "link", link->name);
    ek__stream_text(s, "transport", link->transport);
    ek__stream_real(s, "gbps", link->bandwidth_gbps);
    ek__stream_real(s, "mean_gbps", link->mean_gbps);
    ek__stream_end(s);
}

/* The ranked links of all ranks by what carries them, and those far below the mean. */
static void put_run_transports(ek__stream *s, const ek_trace_run *run)
{
    ek__stream_object(s, "transports", true);
    for (int i = 0; i < run->n_transports; i++) {
        const ek_trace_run_transport *transport = &run->transport[i];
        ek__stream_object(s, transport->name, false);
        ek__stream_int(s, "links", transport->n_links);
        ek__stream_int(s, "ranked_links", transport->n_ranked);
        ek__stream_int(s, "slow_links", transport->n_slow);
        ek__stream_real(s, "total_size_mb", transport->total_size_mb);
        ek__stream_real(s, "mean_gbps", transport->mean_gbps);
        ek__stream_real(s, "gap", transport->gap);
        ek__stream_bool(s, "flagged", transport->flagged);
        put_run_link(s, "slowest", &transport->slowest);
        put_run_link(s, "fastest", &transport->fastest);
        ek__stream_end(s);
    }
    ek__stream_end(s);
    ek__stream_list(s, "slow_links", true);
    for (int i = 0; i < run->n_slow_links; i++)
        put_run_link(s, NULL, &run->slow_link[i]);
    ek__stream_end(s);
}

/* Links of all ranks side by side, for tables that each rank keeps of its own ones. */
static void put_all_links(ek__stream *s, const ek_trace_run *run)
{
    const ek_trace_link *slowest = NULL;
    ek__stream_object(s, "link_bandwidth", false);
    ek__stream_object(s, "links", true);
    for (int r = 0; r < run->n_ranks; r++)
        for (int i = 0; i < run->rank[r].communication.n_links; i++) {
            const ek_trace_link *link = &run->rank[r].communication.link[i];
            if (isnan(link->bytes_per_s)) /* their names are of one rank only */
                continue;
            ek__put_link(s, link->link, link);
            if (slower(link, slowest))
                slowest = link;
        }
    ek__stream_end(s);
    ek__stream_text(s, "slowest", slowest ? slowest->link : NULL);
    put_run_transports(s, run);
    ek__stream_end(s);
}

static void put_sapp_entries(ek__stream *s, const char *key, const ek_trace_sapp_entry *entry, int n, bool cost)
{
    ek__stream_object(s, key, false);
    for (int i = 0; i < n; i++)
        ek__stream_real(s, entry[i].name, cost ? entry[i].cost_ms : entry[i].total_ms);
    ek__stream_end(s);
}

static void put_sapp(ek__stream *s, const ek_trace_sapp *sapp)
{
    if (!sapp->made) {
        ek__stream_null(s, "mindformers_analyser");
        return;
    }
    ek__stream_object(s, "mindformers_analyser", true);
    ek__stream_int(s, "counted_steps", sapp->counted_steps);
    put_sapp_entries(s, "total_ms", sapp->total, sapp->n_totals, false);
    put_sapp_entries(s, "cost_ms", sapp->cost, sapp->n_costs, true);
    ek__stream_real(s, "head_ms", sapp->head_ms);
    ek__stream_real(s, "body_ms", sapp->body_ms);
    ek__stream_real(s, "tail_ms", sapp->tail_ms);
    ek__stream_end(s);
}

/* The step of the run, and which definition that is. */
static void put_step_time(ek__stream *s, const ek_trace_run *run)
{
    char words[EK_TRACE_STEP_WORDS];
    ek_trace_step_time step = ek_trace_run_step(run);
    ek__stream_us(s, "step_us", step.ns);
    ek__stream_text(s, "step_source", step.n_steps > 0 ? ek_trace_step_words(run, &step, words, sizeof words) : NULL);
}

static void put_findings(ek__stream *s, const ek_trace_run *run)
{
    ek__stream_list(s, "findings", true);
    for (int i = 0; i < run->n_findings; i++) {
        const ek_trace_finding *finding = &run->finding[i];
        ek__stream_object(s, NULL, false);
        ek__stream_text(s, "id", finding->id);
        ek__stream_from(s, "rank", finding->rank, 0);
        ek__stream_from(s, "trace", finding->at, 0);
        ek__stream_from(s, "stage", finding->stage, 0);
        ek__stream_text(s, "step", finding->step);
        ek__stream_real(s, "share", finding->share);
        ek__stream_us(s, "gain_us", finding->gain_ns);
        ek__stream_text(s, "text", finding->text);
        ek__stream_text(s, "advice", finding->advice);
        ek__stream_end(s);
    }
    ek__stream_end(s);
}

ek_status ek__put_trace_run(ek__stream *s, const ek_trace_run *run, ek_error *err)
{
    ek_status status = put_topology(s, run, err);
    if (status != EK_OK)
        return status;
    put_step_time(s, run);
    put_stages(s, run);
    put_slow_rank(s, run);
    put_pairs(s, run);
    put_matrices(s, run);
    put_cluster(s, run);
    put_all_links(s, run);
    ek__stream_from(s, "worst_rank_by_iteration_interval", run->worst_rank_by_interval, 0);
    ek__stream_real(s, "worst_over_mean_pct",
                    run->worst_rank_by_interval < 0 ? NAN : round(run->worst_over_mean * 1e8) / 1e6);
    put_sapp(s, &run->sapp);
    put_findings(s, run);
    return EK_OK;
}
