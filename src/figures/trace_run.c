/* Figures of a rank and of the run, which contain all others: the figures of each rank, in the order of the JSON, those
 * of all ranks together, and findings. */
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "evenkeel/compute.h"
#include "figures/rows.h"
#include "figures/trace_figures.h"

static const void *breakdown_of(const void *rank, const ek__owner *of)
{
    (void)of;
    return ek__rank_breakdown(rank);
}

#define EK__T ek_trace_rank
GETTER(data_wait, number, ek__step_mean(it, offsetof(ek_trace_step, data_loading_idle)));
GETTER(stage_wait, number, ek__step_mean(it, offsetof(ek_trace_step, pipeline_wait)));
GETTER(overlapped, number, ek__rank_breakdown(it)->overlapped);
GETTER(outside, number, ek__sum(ek__rank_step(it), -ek__rank_span(it)));
enum { MAX_COLLECTIVES = 10000 }; /* of a rank, listed one by one; the sums contain all of them */

/* ---- a rank ---- */
GETTER(rank_step, number, ek_trace_rank_step(it).ns);
static const ek__member whole_device[] = {
    {"all", OBJECT(device, ek__trace_device), "the whole file"},
    {"linked", OBJECT(device_linked, ek__trace_device), "work launched within it"},
};
static const ek__fields whole_devices = {FIELDS(whole_device, "ranks[].device_breakdown", NULL), .lines = true};
#undef EK__T

#define EK__T ek_trace_recompute
static const ek__member recompute[] = {
    {"recompute_regions", COUNT(n_regions), "ranges of `recompute_fn`"},
    {"recompute", OBJECT(recompute, ek__trace_device), "device time in them"},
    {"not_recompute", OBJECT(rest, ek__trace_device), "all other device time"},
};
static const ek__fields recomputes = {FIELDS(recompute, "ranks[].recompute_time", "PyTorch.")};
#undef EK__T

static double mean_of_activity(const ek_trace_rank *rank, int activity)
{
    double ns[EK_N_TRACE_ACTIVITIES];
    return ek_trace_rank_anatomy(rank, ns) > 0 ? ns[activity] : NAN;
}

#define EK__T ek_trace_rank
GETTER(mean_activity, real, mean_of_activity(it, of->number));
static const ek__member rank[] = {
    {"rank", NUMBER(rank), "null if not known, as the following three"},
    {"stage", NUMBER(stage), "its place in the group `pp`"},
    {"device_id", NUMBER(device_id), "of its host", CSV(2, "device")},
    {"world_size", SIZE(world_size), "ranks of the run"},
    {"host", TEXT(host), "null if not known", CSV(1)},
    {"producer", WORD(producer, ek__producer_name),
     "`torch_npu`, `mindspore`, `msprof`, `timeline`, `kineto`, `unknown`", CSV(3)},
    {NULL, COUNT(n_steps), NULL, CSV(4, "steps")},
    {NULL, EK__KIND_OBJECT, .fields = &ek__trace_breakdown, .find = breakdown_of, CSV(1)},
    {"has_device_events", FLAG(has_device_events), "false for a file without any", CSV(24, "device_events")},
    {"profiler_info", JSON(profiler_info), "profiler_info_N.json unchanged: settings and versions of the profiler"},
    {"sources", LIST(n_sources, source, ek__trace_source), "files that were read"},
    {"warnings", OWN("list of strings"), "problems of files, and figures that are missing, with the reason"},
    {"steps", OWN_OF("list", ek__trace_step), "every step"},
    {"events_outside_steps", COUNT(n_outside_steps), "device events in no step"},
    {"mean", OBJECT(mean, ek__trace_breakdown), "parts of a step, over those that are no warm-up"},
    {"anatomy_us", GET_BY_WORD(MEAN, mean_activity, ek__trace_activity_name, EK_N_TRACE_ACTIVITIES),
     "[parts of the mean step](trace.md#anatomy-of-a-step)"},
    {"step_us", GET(NS, rank_step), "the rank's [step](trace.md#the-length-of-a-step)", CSV(23)},
    {"device_breakdown", HERE(whole_devices), "device time of the whole file"},
    {"pipeline_intervals", HERE(ek__trace_pipeline), "waiting of pipelines"},
    {"idle_attribution", OBJECT(idle, ek__trace_idle), "idle time by cause"},
    {"host_dispatch", OBJECT(dispatch, ek__trace_dispatch), "does the host launch in time?", CSV(1), PRINT(1)},
    {"launch_queue", OBJECT(queue, ek__trace_queue), "how long does launched work wait?", CSV(1)},
    {"layers", LIST(layers.n, layers.layer, ek__trace_layer), "layers in full, in the order of first execution"},
    {"layer_times", OBJECT(layers, ek__trace_layer_times), "mean times by layer"},
    {"recompute_time", OBJECT(recompute, recomputes), "device time of recomputation"},
    {"operators", LIST(operators.n, operators.op, ek__trace_operator), "every kind"},
    {"kernel_totals", OBJECT(operators, ek__trace_kernel_totals), "sums over kernels"},
    {"top_operators", OBJECT(operators, ek__trace_top_operators), "operators with their shares"},
    {"collective_table", OWN_OF("object", ek__trace_collective_row), "collectives by kind and size"},
    {"collective_sums", LIST(communication.n_sums, communication.sum, ek__trace_collective_sum), "by group too"},
    {"comm_summary", OWN_OF("object", ek__trace_comm_step), "communication.json by step"},
    {"link_bandwidth", MAP(communication.n_transports, communication.transport, ek__trace_transport), "links by kind"},
    {"links", MAP(communication.n_links, communication.link, ek__trace_link), "every link, in file order"},
    {"n_collectives", COUNT(communication.n_collectives), "how many there are"},
    {"collectives", LIST(communication.n_collectives, communication.collective, ek__trace_collective),
     .most = MAX_COLLECTIVES, .about = "one by one, the first 10000 by start"},
    {"exposure", OBJECT(exposure, ek__trace_exposure), "parts of exposed communication"},
    {"data_loading", OBJECT(data, ek__trace_data), "data iterators and the data pipeline", CSV(1)},
    {"memory_peak", OBJECT(memory, ek__trace_memory), "memory"},
    {"marks", LIST(n_marks, mark, ek__trace_mark), "marks of the program"},
    {"event_counts", OBJECT(counts, ek__trace_counts), "content of the files, before interpretation"},
    {NULL, GET(NS, outside), NULL, PRINT(1, "outside")},
    {NULL, GET(NS, overlapped), NULL, PRINT(2, "overlapped")},
    {NULL, GET(NS, stage_wait), NULL, PRINT(3, "stage wait")},
    {NULL, GET(NS, data_wait), NULL, PRINT(5, "data wait")},
};
const ek__fields ek__trace_rank = {FIELDS(rank, "ranks[]", NULL), .lines = true};

static const ek__member topology_rank[] = {
    {"rank", NUMBER(rank), "null if not known"},
    {"stage", NUMBER(stage), "its place in the group `pp`"},
    {"device_id", NUMBER(device_id), "of its host"},
    {"world_size", SIZE(world_size), "ranks of the run"},
    {"host", TEXT(host), "its host"},
    {"groups", OWN_OF("list", ek__trace_place), "the groups it is in"},
};
const ek__fields ek__trace_topology_rank = {FIELDS(topology_rank, "topology.ranks[]", NULL)};
#undef EK__T

/* ---- slow ranks ---- */

static void rank_text(const ek_trace_run *run, int at, bool with_stage, char *text, size_t room)
{
    if (at < 0 || at >= run->n_ranks)
        snprintf(text, room, "-");
    else if (with_stage)
        ek__view_rank_title(run, &run->rank[at], text, room);
    else
        ek__rank_label(run, &run->rank[at], text, room);
}

#define EK__T ek_trace_vote
WRITER(voted_rank, rank_text(of->run, it->at, true, text, room < 64 ? room : 64));
static const ek__member vote[] = {
    {NULL, COMPOSE(voted_rank), NULL, PAGE(1, "rank", "Rank")},
    {"rank", NUMBER(rank), "every rank compared"},
    {"stage", NUMBER(stage), "its stage"},
    {"votes", COUNT(n_votes), "collectives to which it came far later than the others",
     PAGE(2, "votes", "Far later than the others")},
    {"shortest", COUNT(n_shortest), "to which it came last", PAGE(3, "shortest", "Came last")},
    {"compared", COUNT(n_compared), "that were compared", PAGE(4, "compared", "Collectives compared")},
};
static const ek__fields votes = {FIELDS(vote, "slow_rank.votes[]", "Most votes first, then most often shortest.")};
#undef EK__T

#define EK__T ek_trace_ballot
WRITER(last_rank, rank_text(of->run, it->shortest_at, false, text, room < 64 ? room : 64));
COMPOSER(name_ballot, EK__VIEW_KEY_SIZE, "%s, %s, %d", it->group ? it->group : "", it->name, it->occurrence);
static const ek__member ballot[] = {
    {NULL, COMPOSE(name_ballot), NULL, PAGE(1, "collective", "Group, collective and occurrence")},
    {"name", TEXT(name), "the collective", PAGE(2, "name", "Collective", EK__SEARCH)},
    {"group", TEXT(group), "as the files have it: of traces the last digits, of communication.json all"},
    {"occurrence", COUNT(occurrence), "how many of that name the rank had before"},
    {"n_ranks", COUNT(n_ranks), "ranks compared", PAGE(3, "ranks", "Ranks")},
    {"shortest", NUMBER(shortest), "the rank that came last"},
    {NULL, COMPOSE(last_rank), NULL, PAGE(4, "last", "Came last")},
    {"shortest_us", NS(shortest_ns), "its duration", PAGE(5, "shortest", "Shortest")},
    {"longest_us", NS(longest_ns), "the longest duration", PAGE(6, "longest", "Longest")},
    {"dixon_ratio", REAL(ratio), "null where Dixon's test does not apply", PAGE(7, "ratio", "Dixon's ratio")},
    {"dixon_limit", REAL(limit), "over which it gives a vote", PAGE(8, "limit", "Its limit")},
    {"votes", COUNT(n_votes), "ranks that got one", PAGE(9, "votes", "Votes")},
};
static const ek__fields ballots = {
    FIELDS(ballot, "slow_rank.operators[]",
           "Collectives whose durations were compared over their ranks: the first 10000, by group, name and "
           "occurrence.")};
#undef EK__T

#define EK__T ek_trace_wait
WRITER(who_waits, rank_text(of->run, it->at, true, text, room < 64 ? room : 64));
WRITER(who_is_last, rank_text(of->run, it->last, true, text, room < 64 ? room : 64));
COMPOSER(name_wait, EK__VIEW_KEY_SIZE, "%d for %d", it->at, it->last);
GETTER(waiting_rank, number, ((const ek_trace_run *)of->run)->rank[it->at].rank);
GETTER(last_rank_of_wait, number, ((const ek_trace_run *)of->run)->rank[it->last].rank);
static const ek__member wait[] = {
    {NULL, COMPOSE(name_wait), NULL, PAGE(1, "pair", "Traces")},
    {"trace", NUMBER(at), "index in `ranks` of the one that waits", CSV(1)},
    {"rank", GET(NUMBER, waiting_rank), "its rank", CSV(2)},
    {"last_trace", NUMBER(last), "index of the one that came last", CSV(3)},
    {"last_rank", GET(NUMBER, last_rank_of_wait), "its rank", CSV(4)},
    {NULL, COMPOSE(who_waits), NULL, PAGE(2, "waits", "Waits")},
    {NULL, COMPOSE(who_is_last), NULL, PAGE(3, "for", "For")},
    {"count", COUNT(n), "collectives and transfers, over all steps that count", CSV(5), PAGE(4, "count", "Times")},
    {"wait_us", MEAN(ns), "of a mean step of the rank that waits", CSV(6), PAGE(5, "wait", "Of a step", EK__LESS)},
};
static const ek__fields waits = {FIELDS(wait, "waits[]",
                                        "[Waiting](trace.md#waiting-and-transfer) of each rank for another one in "
                                        "collectives and transfers, longest first.")};
#undef EK__T

static void name_part(const void *record, const ek__owner *of, char *text, size_t room)
{
    const ek_trace_gap *gap = record;
    (void)of;
    snprintf(text, room < 64 ? room : 64, "%s", strcmp(gap->part, "free") == 0 ? "idle" : gap->part);
    for (char *c = text; *c; c++)
        *c = *c == '_' ? ' ' : *c;
}

#define EK__T ek_trace_gap
WRITER(most_rank, rank_text(of->run, it->most_at, true, text, room < 64 ? room : 64));
WRITER(least_rank, rank_text(of->run, it->least_at, true, text, room < 64 ? room : 64));
static const ek__member gap[] = {
    {NULL, COMPOSE(name_part), NULL, PAGE(1, "part", "Part of the step")},
    {"part", TEXT(part), "`computing`, `communication_not_overlapped`, `free`"},
    {"gap", SHARE(gap), "most less least, of the mean step; null where fewer than two ranks know the part",
     PAGE(2, "gap", "Most less least, of the mean step", EK__LESS)},
    {"most", NUMBER(most), "rank"},
    {"least", NUMBER(least), "rank"},
    {"most_stage", NUMBER(most_stage), "its stage"},
    {"least_stage", NUMBER(least_stage), "its stage"},
    {"flagged", FLAG(flagged), "over 0.05", PAGE(3, "flagged", "Over 5\xc2\xa0%")},
    {NULL, COMPOSE(most_rank), NULL, PAGE(4, "most", "Most")},
    {NULL, COMPOSE(least_rank), NULL, PAGE(5, "least", "Least")},
};
static const ek__fields gaps = {FIELDS(
    gap, "slow_rank.gaps[]",
    "Of the ranks' means over steps that are no warm-up; with stages, computing is that of the widest stage, over "
    "its own mean.")};
#undef EK__T

static ek__reading most_often_shortest(const void *record, const ek__owner *of)
{
    const ek_trace_run *run = record;
    int often = EK_TRACE_NO_RANK;
    int64_t most = -1;
    (void)of;
    for (int i = 0; i < run->n_votes; i++) {
        if (run->vote[i].n_shortest > most)
            often = run->vote[i].rank;
        most = run->vote[i].n_shortest > most ? run->vote[i].n_shortest : most;
    }
    return (ek__reading){.number = often};
}

#define EK__T ek_trace_run
GETTER(slowest, number, it->n_votes > 0 && it->vote[0].n_votes > 0 ? it->vote[0].rank : -1);
static const ek__member slow_rank[] = {
    {"voted_operators", COUNT(n_voted_operators), "collectives compared over two ranks or more"},
    {"slowest", GET(NUMBER, slowest), "most votes; null without any"},
    {"most_often_shortest", GET(NUMBER, most_often_shortest), "rank that came last most often"},
    {"votes", LIST(n_votes, vote, votes), "how often a rank came last"},
    {"operators", LIST(n_ballots, ballot, ballots), "the collectives"},
    {"gaps", LIST(n_gaps, gap, gaps), "how far ranks are apart"},
};
static const ek__fields slow_ranks = {FIELDS(slow_rank, "slow_rank", NULL), .lines = true};
#undef EK__T

#define EK__T ek_trace_sapp_entry
static const ek__member sapp_total[] = {{"", REAL(total_ms), NULL}};
static const ek__fields sapp_totals = {FIELDS(sapp_total, NULL, NULL)};
static const ek__member sapp_cost[] = {{"", REAL(cost_ms), NULL}};
static const ek__fields sapp_costs = {FIELDS(sapp_cost, NULL, NULL)};
#undef EK__T

#define EK__T ek_trace_sapp
/* ---- MindFormers' own analysis ---- */
PREDICATE(was_made, it->made);
static const ek__member sapp[] = {
    {"counted_steps", COUNT(counted_steps), "steps that count"},
    {"total_ms", SHORT_MAP(n_totals, total, sapp_totals), "by layer, over those steps and their micro-batches"},
    {"cost_ms", SHORT_MAP(n_costs, cost, sapp_costs), "by configured name, of one micro-batch"},
    {"head_ms", MS(head_ms), "of the head"},
    {"body_ms", MS(body_ms), "of a body layer"},
    {"tail_ms", MS(tail_ms), "of the tail"},
};
static const ek__fields sapps = {
    FIELDS(sapp, "mindformers_analyser", "Output of MindFormers' analysis, with `--sapp-compatible`; else null."),
    .lines = true, .known = was_made};
#undef EK__T

/* ---- findings ---- */

#define EK__T ek_trace_finding
static const ek__member finding[] = {
    {"id", TEXT(id), "`host-bound`, `slow-rank`, ...", CSV(1), PAGE(1, "finding", "Kind")},
    {"rank", NUMBER(rank), "null: of the run", CSV(2), PAGE(2, "rank", "Rank")},
    {"trace", NUMBER(at), "index in `ranks`, also where nothing numbers them"},
    {"stage", NUMBER(stage), "null: of the run", CSV(3)},
    {"step", TEXT(step), "null: of all", CSV(4)},
    {"share", SHARE(share), "of the step: the gain's, or the time's that goes by where `gain_us` is null", CSV(7),
     PAGE(4, "share", "Share of the step")},
    {"gain_us", NS(gain_ns), "at most this can be won per step", CSV(8), PAGE(3, "gain", "At most to win, of a step")},
    {"text", TEXT(text), "one sentence with its figures", CSV(5), PAGE(5, "text", "Evidence of the trace")},
    {"advice", TEXT(advice), "recommended action", CSV(6), PAGE(6, "advice", "Recommended action")},
};
const ek__fields ek__trace_finding = {FIELDS(finding, "findings[]", "Most to win first.")};
#undef EK__T

/* The definition of the run's step. */
static void step_source(const void *record, const ek__owner *of, char *text, size_t room)
{
    ek_trace_step_time step = ek_trace_run_step(record);
    (void)of;
    text[0] = '\0';
    if (step.n_steps > 0)
        ek_trace_step_words(record, &step, text, room);
}

#define EK__T ek_trace_run
GETTER(version, number, 1);
GETTER(worst_percent, real, it->worst_rank_by_interval < 0 ? NAN : round(it->worst_over_mean * 1e8) / 1e6);
/* ---- the run ---- */
GETTER(run_step, number, ek_trace_run_step(it).ns);
FINDER(critical, it->path.n_steps > 0 ? &it->path : NULL);
FINDER(computing, it->compute && it->compute->n > 0 ? it->compute : NULL);
static const ek__member run[] = {
    {"version", GET(COUNT, version),
     "1; a field may be added without a new number, one that changes its meaning or goes "
     "gets a new number"},
    {"ranks", OWN_OF("list", ek__trace_rank), "by rank; `--rank N` leaves only that one"},
    {"topology", OBJECT(topology, ek__trace_topology), "sizes and groups, as in the files"},
    {"step_us", GET(NS, run_step), "the run's [step](trace.md#the-length-of-a-step)"},
    {"step_source", COMPOSE(step_source), "its definition with its numbers; null without steps", .not_empty = true},
    {"compute", FOUND(computing, ek__trace_compute), "operators by type and shape over all ranks"},
    {"critical_path", FOUND(critical, ek__trace_path), "the critical path of the step"},
    {"stage_balance", HERE(ek__trace_balance), "stages side by side"},
    {"slow_rank", HERE(slow_ranks), "which rank do the others wait for?"},
    {"waits", LIST(n_waits, wait, waits), "who waits for whom?"},
    {"p2p_pairs", HERE(ek__trace_transfers), "transfers between ranks, both sides of which are there"},
    {"link_matrices", LIST(n_matrices, matrix, ek__trace_matrix), "links from rank to rank"},
    {"cluster_table", LIST(n_cluster_rows, cluster_row, ek__trace_cluster), "cluster_step_trace_time.csv"},
    {"link_bandwidth", HERE(ek__trace_bandwidth), "links of all ranks"},
    {"worst_rank_by_iteration_interval", NUMBER(worst_rank_by_interval), "of step_trace_raw"},
    {"worst_over_mean_pct", GET(PERCENT, worst_percent), "how far its interval is over the mean"},
    {"mindformers_analyser", OBJECT(sapp, sapps), "with `--sapp-compatible`"},
    {"findings", LIST(n_findings, finding, ek__trace_finding), "recommended actions"},
};
const ek__fields ek__trace_run = {FIELDS(run, NULL, NULL), .lines = true};
#undef EK__T

/* ---- places in the timeline ---- */

#define EK__T ek_trace_vote
LOCATOR(locate_vote, out->rank = ek__trace_rank_at(of->run, it->at));
#undef EK__T

#define EK__T ek_trace_wait
LOCATOR(locate_wait, out->rank = ek__trace_rank_at(of->run, it->last));
#undef EK__T

#define EK__T ek_trace_gap
LOCATOR(locate_most, out->rank = ek__trace_rank_at(of->run, it->most_at));
#undef EK__T

#define EK__T ek_trace_ballot
/* The rank that came last, by name: the single collective is not stored. */
LOCATOR(locate_ballot, out->rank = ek__trace_rank_at(of->run, it->shortest_at); out->name = it->name);
#undef EK__T

#define EK__T ek_trace_finding
LOCATOR(locate_finding, out->rank = ek__trace_rank_at(of->run, it->at);
        out->step = ek__trace_find_step(out->rank, it->step));
#undef EK__T

/* ---- tables ---- */

const ek__rows ek__run_rows[] = {
    {"ranks", .fields = &ek__trace_rank, .inner = true},
    {NULL, "ranks", "votes", "Which rank do the others wait for?", .fields = &votes, RUN_LIST(n_votes, vote),
     .locate = locate_vote, .sort = 1},
    {"waits", "ranks", "waits", "Who waits for whom?", .fields = &waits, RUN_LIST(n_waits, wait), .locate = locate_wait,
     .sort = 4},
    {NULL, "ranks", "gaps", "How far ranks are apart", .fields = &gaps, RUN_LIST(n_gaps, gap), .locate = locate_most},
    {NULL, "ranks", "ballots", "Collectives with durations compared over their ranks", .fields = &ballots,
     RUN_LIST(n_ballots, ballot), .locate = locate_ballot, .most = EK__VIEW_MAX_BALLOTS},
    {"findings", "findings", "trace-findings", "Findings of the trace", .fields = &ek__trace_finding,
     RUN_LIST(n_findings, finding), .locate = locate_finding},
};
const int ek__n_run_rows = sizeof ek__run_rows / sizeof *ek__run_rows;
