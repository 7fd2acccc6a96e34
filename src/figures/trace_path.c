/* Figures of a step's time: each step by activity, and the critical path by its parts. */
#include <stdio.h>
#include <string.h>

#include "figures/rows.h"
#include "figures/trace_figures.h"

/* ---- anatomy ---- */

#define EK__T ek_trace_step
WRITER(name_step, ek__step_key(of->run, of->rank, it, text, room));
static const ek__member anatomy[] = {
    {NULL, COMPOSE(name_step), NULL, PAGE(1, "step", "Step")},
    {NULL, TEXT(name), NULL, CSV(1, "step")},
    {NULL, FLAG(warm_up), NULL, CSV(2, "warm_up")},
    {NULL, NS(start), NULL, CSV(3, "start_us")},
    {NULL, NS(activity[EK_TRACE_FORWARD]), NULL, CSV(4, "forward_us"), PAGE(2, "forward", "Forward", EK__LESS)},
    {NULL, NS(activity[EK_TRACE_RECOMPUTE]), NULL, CSV(5, "recompute_us"),
     PAGE(3, "recompute", "Recomputation", EK__LESS)},
    {NULL, NS(activity[EK_TRACE_BACKWARD]), NULL, CSV(6, "backward_us"), PAGE(4, "backward", "Backward", EK__LESS)},
    {NULL, NS(activity[EK_TRACE_OPTIMIZER]), NULL, CSV(7, "optimizer_us"), PAGE(5, "optimizer", "Optimizer", EK__LESS)},
    {NULL, NS(activity[EK_TRACE_POST]), NULL, CSV(8, "post_us"), PAGE(6, "post", "After the optimizer", EK__LESS)},
    {NULL, NS(activity[EK_TRACE_OTHER_COMPUTING]), NULL, CSV(9, "other_computing_us"),
     PAGE(7, "other", "Other computing", EK__LESS)},
    {NULL, NS(activity[EK_TRACE_COLLECTIVES]), NULL, CSV(10, "collectives_us"),
     PAGE(8, "collectives", "Collectives", EK__LESS)},
    {NULL, NS(activity[EK_TRACE_GRADIENTS]), NULL, CSV(11, "gradients_us"),
     PAGE(9, "gradients", "Reduction of gradients", EK__LESS)},
    {NULL, NS(activity[EK_TRACE_PIPELINE]), NULL, CSV(12, "pipeline_us"),
     PAGE(10, "pipeline", "Between stages", EK__LESS)},
    {NULL, NS(activity[EK_TRACE_COPIES]), NULL, CSV(13, "copies_us"), PAGE(11, "copies", "Copies", EK__LESS)},
    {NULL, NS(activity[EK_TRACE_DATA]), NULL, CSV(14, "data_us"), PAGE(12, "data", "Waiting for data", EK__LESS)},
    {NULL, NS(activity[EK_TRACE_HOST]), NULL, CSV(15, "host_us"), PAGE(13, "host", "Waiting for the host", EK__LESS)},
    {NULL, NS(activity[EK_TRACE_IDLE]), NULL, CSV(16, "idle_us"), PAGE(14, "idle", "Idle otherwise", EK__LESS)},
};
static const ek__fields anatomies = {FIELDS(anatomy, NULL, NULL)};

#undef EK__T

/* Steps with events for it. */
static const void *step_at(int i, ek__owner *of, bool *end)
{
    const ek_trace_rank *rank = of->rank;
    *end = i >= rank->n_steps;
    return *end || rank->step[i].activity[0] == EK_TRACE_UNKNOWN ? NULL : &rank->step[i];
}

/* ---- the critical path ---- */

static int rank_at(const ek__owner *of, int at)
{
    const ek_trace_run *run = of->run;
    return run->rank[at].rank;
}

#define EK__T ek_trace_path_part
static const char *const no_operator[EK_N_TRACE_ACTIVITIES] = {
    [EK_TRACE_DATA] = "(waiting for data)", [EK_TRACE_HOST] = "(the host)", [EK_TRACE_IDLE] = "(idle)"};
GETTER(what, text, it->name ? it->name : no_operator[it->activity]);
GETTER(share_of_path, real, it->ns / ((const ek_trace_run *)of->run)->path.length);
static const ek__member part[] = {
    {"name", TEXT(name), "of the operator, collective or copy; null while the device runs none"},
    {NULL, GET(TEXT, what), NULL, CSV(1, "name"), PAGE(1, "name", "What", EK__SEARCH)},
    {"activity", WORD(activity, ek__trace_activity_name), "its purpose", CSV(2), PAGE(2, "activity", "For")},
    {"count", COUNT(count), "stretches over all steps", CSV(3), PAGE(3, "count", "Times")},
    {"time_us", MEAN(ns), "of a mean step", CSV(4), PAGE(4, "time", "Of a step", EK__LESS)},
    {"share", GET(SHARE, share_of_path), "of the path", CSV(5), PAGE(5, "share", "Share of the path", EK__LESS)},
};
static const ek__fields parts = {FIELDS(part, "critical_path.parts[]", "Longest first.")};
#undef EK__T

#define EK__T ek_trace_segment
GETTER(segment_rank, number, rank_at(of, it->at));
GETTER(segment_name, text, it->name ? it->name : no_operator[it->activity]);
GETTER(segment_duration, number, it->end - it->start);
static const ek__member segment[] = {
    {NULL, NUMBER(at), NULL, CSV(1, "trace")},
    {NULL, GET(NUMBER, segment_rank), NULL, CSV(2, "rank")},
    {NULL, NS(start), NULL, CSV(3, "start_us")},
    {NULL, GET(NS, segment_duration), NULL, CSV(4, "duration_us")},
    {NULL, WORD(activity, ek__trace_activity_name), NULL, CSV(5, "activity")},
    {NULL, GET(TEXT, segment_name), NULL, CSV(6, "name")},
};
static const ek__fields segments = {FIELDS(segment, NULL, NULL)};
#undef EK__T

#define EK__T ek_trace_path
GETTER(path_activity, real, it->activity[of->number]);
GETTER(of_rank, real, ((const ek_trace_run *)of->run)->path.of_rank[of->number]);
COUNTER(n_ranks, ((const ek_trace_run *)of->run)->n_ranks);
static const ek__member of_ranks[] = {{"", GET(MEAN, of_rank), "of a mean step on that rank"}};
static const ek__fields ranks = {FIELDS(of_ranks, NULL, NULL)};
static const ek__member path[] = {
    {"steps", COUNT(n_steps), "that were followed"},
    {"length_us", MEAN(length), "of a mean step: the sum of its stretches"},
    {"activity_us", GET_BY_WORD(MEAN, path_activity, ek__trace_activity_name, EK_N_TRACE_ACTIVITIES),
     "of a mean step by purpose"},
    {"rank_us", NUMBERED(n_ranks, ranks), "of a mean step by rank, in the order of `ranks`"},
    {"parts", LIST(n_parts, part, parts), "by operator"},
    {"step", TEXT(step), "the step of median length; the table `path` has its parts"},
    {"segments", COUNT(n_segments), "how many these are"},
};
const ek__fields ek__trace_path = {FIELDS(path, "critical_path",
                                          "The [chain](trace.md#critical-path) of work and waiting that determines the "
                                          "step time; null without steps on the device."),
                                   .lines = true};
#undef EK__T

/* ---- tables ---- */

/* The longest stored stretch of a part of the step; NULL where there is none. */
static const ek_trace_segment *longest_of(const ek_trace_path *of, const ek_trace_path_part *it)
{
    const ek_trace_segment *longest = NULL;
    for (int i = 0; i < of->n_segments; i++) {
        const ek_trace_segment *s = &of->segment[i];
        bool same =
            s->activity == it->activity && !s->name == !it->name && (!s->name || strcmp(s->name, it->name) == 0);
        if (same && (!longest || s->end - s->start > longest->end - longest->start))
            longest = s;
    }
    return longest;
}

#define EK__T ek_trace_step
LOCATOR(locate_step, out->step = it);
#undef EK__T

#define EK__T ek_trace_path_part
LOCATOR(
    locate_part, const ek_trace_segment *s = longest_of(&((const ek_trace_run *)of->run)->path, it); if (s) {
        out->rank = ek__trace_rank_at(of->run, s->at);
        out->start = s->start;
        out->end = s->end;
        out->name = s->name;
    });
#undef EK__T

const ek__rows ek__path_rows[] = {
    {"anatomy", "breakdown", "anatomy", "Anatomy of the steps", .fields = &anatomies, .item = step_at,
     .locate = locate_step},
    {"path_parts", "breakdown", "path-parts", "The critical path by content", .fields = &parts,
     RUN_LIST(path.n_parts, path.part), .locate = locate_part, .sort = 3},
    {"path", .fields = &segments, RUN_LIST(path.n_segments, path.segment)},
};
const int ek__n_path_rows = sizeof ek__path_rows / sizeof *ek__path_rows;
