/* What only ranks together can say: who came last to collectives, how far ranks are apart, collectives whose durations
 * were compared; and, in a tab of their own, the files that everything was read from. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "view/trace_sections.h"

enum { MAX_BALLOTS = 1000 };

static void rank_text(const ek_trace_run *run, int at, bool with_stage, char *text, size_t room)
{
    if (at < 0 || at >= run->n_ranks)
        snprintf(text, room, "-");
    else if (with_stage)
        ek__view_rank_title(run, &run->rank[at], text, room);
    else
        ek__rank_label(run, &run->rank[at], text, room);
}

static const ek__view_column vote_column[] = {
    {"rank", "Rank", EK__UNIT_TEXT, false},
    {"votes", "Far later than the others", EK__UNIT_COUNT, false},
    {"shortest", "Came last", EK__UNIT_COUNT, false},
    {"compared", "Collectives compared", EK__UNIT_COUNT, false},
};

static void put_votes(const ek_trace_run *run, ek__section *x)
{
    if (run->n_votes == 0)
        return;
    ek__table_begin(x, "votes", "Which rank do the others wait for?", vote_column,
                    sizeof vote_column / sizeof *vote_column);
    for (int i = 0; i < run->n_votes && i < EK__VIEW_MAX_ROWS; i++) {
        const ek_trace_vote *vote = &run->vote[i];
        char label[64];
        rank_text(run, vote->at, true, label, sizeof label);
        ek__row_begin(x);
        ek__cell_text(x, label);
        ek__cell_int(x, vote->n_votes);
        ek__cell_int(x, vote->n_shortest);
        ek__cell_int(x, vote->n_compared);
        ek__row_end(x);
    }
    ek__table_end(x, 1, true);
}

static const ek__view_column gap_column[] = {
    {"part", "Part of the step", EK__UNIT_TEXT, false},
    {"gap", "Most less least, of the mean step", EK__UNIT_PERCENT | EK__LESS, false},
    {"flagged", "Over 5\xc2\xa0%", EK__UNIT_TEXT, false},
    {"most", "Most", EK__UNIT_TEXT, false},
    {"least", "Least", EK__UNIT_TEXT, false},
};

static void put_gaps(const ek_trace_run *run, ek__section *x)
{
    if (run->n_gaps == 0)
        return;
    ek__table_begin(x, "gaps", "How far ranks are apart", gap_column, sizeof gap_column / sizeof *gap_column);
    for (int i = 0; i < run->n_gaps; i++) {
        const ek_trace_gap *gap = &run->gap[i];
        char part[64], most[64], least[64];
        snprintf(part, sizeof part, "%s", strcmp(gap->part, "free") == 0 ? "idle" : gap->part);
        for (char *c = part; *c; c++)
            *c = *c == '_' ? ' ' : *c;
        rank_text(run, gap->most_at, true, most, sizeof most);
        rank_text(run, gap->least_at, true, least, sizeof least);
        ek__row_begin(x);
        ek__cell_text(x, part);
        ek__cell_real(x, 100 * gap->gap);
        ek__cell_text(x, gap->flagged ? "yes" : "no");
        ek__cell_text(x, most);
        ek__cell_text(x, least);
        ek__row_end(x);
    }
    ek__table_end(x, -1, false);
}

static const ek__view_column ballot_column[] = {
    {"collective", "Group, collective and occurrence", EK__UNIT_TEXT, false},
    {"name", "Collective", EK__UNIT_TEXT, true},
    {"ranks", "Ranks", EK__UNIT_COUNT, false},
    {"last", "Came last", EK__UNIT_TEXT, false},
    {"shortest", "Shortest", EK__UNIT_NS, false},
    {"longest", "Longest", EK__UNIT_NS, false},
    {"ratio", "Dixon's ratio", EK__UNIT_NONE, false},
    {"limit", "Its limit", EK__UNIT_NONE, false},
    {"votes", "Votes", EK__UNIT_COUNT, false},
};

static void put_ballots(const ek_trace_run *run, ek__section *x)
{
    if (run->n_ballots == 0)
        return;
    ek__table_begin(x, "ballots", "Collectives whose durations were compared over their ranks", ballot_column,
                    sizeof ballot_column / sizeof *ballot_column);
    for (int i = 0; i < run->n_ballots && i < MAX_BALLOTS; i++) {
        const ek_trace_ballot *ballot = &run->ballot[i];
        char key[EK__VIEW_KEY_SIZE], last[64];
        snprintf(key, sizeof key, "%s, %s, %d", ballot->group ? ballot->group : "", ballot->name, ballot->occurrence);
        rank_text(run, ballot->shortest_at, false, last, sizeof last);
        ek__row_begin(x);
        ek__cell_text(x, key);
        ek__cell_text(x, ballot->name);
        ek__cell_int(x, ballot->n_ranks);
        ek__cell_text(x, last);
        ek__cell_int(x, ballot->shortest_ns);
        ek__cell_int(x, ballot->longest_ns);
        ek__cell_real(x, ballot->ratio);
        ek__cell_real(x, ballot->limit);
        ek__cell_int(x, ballot->n_votes);
        ek__row_end(x);
    }
    ek__table_end(x, -1, false);
}

void ek__view_trace_ranks(const ek_view_run *run, ek__stream *s)
{
    const ek_trace_run *trace = run->trace;
    if (trace->n_ranks < 2)
        return;
    ek__section x = ek__section_begin(s, "ranks");
    if (trace->n_votes == 0)
        ek__section_note(&x,
                         "No collective of these ranks was seen on two of them: nothing tells which rank the others "
                         "wait for. Profile the same steps of all ranks of a group.");
    else
        ek__section_note(&x,
                         "The rank that comes last to a collective has the shortest one: the others waited for it.");
    ek__view_note_rest(&x, trace->n_ballots - MAX_BALLOTS, "collectives", "evenkeel trace --format json has them");
    put_votes(trace, &x);
    put_gaps(trace, &x);
    put_ballots(trace, &x);
    ek__section_end(&x);
}

/* ---- files ---- */

static const ek__view_column file_column[] = {
    {"file", "File", EK__UNIT_TEXT, false},
    {"rank", "Of", EK__UNIT_TEXT, false},
    {"type", "Kind", EK__UNIT_TEXT, false},
    {"mb", "Read", EK__UNIT_MB, false},
    {"items", "Events or rows", EK__UNIT_COUNT, false},
    {"problem", "What was wrong", EK__UNIT_TEXT, false},
};

void ek__view_trace_files(const ek_view_run *run, ek__stream *s)
{
    const ek_trace_run *trace = run->trace;
    int n = 0;
    for (int i = 0; i < trace->n_ranks; i++)
        n += trace->rank[i].n_sources > 0;
    if (n == 0)
        return;
    n = 0;
    ek__section x = ek__section_begin(s, "files");
    ek__table_begin(&x, "files", "What was read", file_column, sizeof file_column / sizeof *file_column);
    for (int i = 0; i < trace->n_ranks; i++)
        for (int k = 0; k < trace->rank[i].n_sources && n++ < EK__VIEW_MAX_ROWS; k++) {
            const ek_trace_source *source = &trace->rank[i].source[k];
            char label[64];
            ek__view_rank_title(trace, &trace->rank[i], label, sizeof label);
            ek__row_begin(&x);
            ek__cell_text(&x, source->path);
            ek__cell_text(&x, label);
            ek__cell_text(&x, source->type);
            ek__cell_real(&x, (double)source->bytes / 1048576);
            ek__cell_int(&x, source->items);
            ek__cell_text(&x, source->problem);
            ek__row_end(&x);
        }
    ek__table_end(&x, -1, false);
    ek__section_end(&x);
}
