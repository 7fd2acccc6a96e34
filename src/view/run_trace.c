/* Writes the figures of a trace: files read, breakdown of a step, layers, operators, communication, memory, host,
 * ranks, findings. A tab is one function in a file of its own; this file has the facts above all tabs. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/report_internal.h"
#include "view/trace_sections.h"

static bool present(const ek_view_run *run)
{
    return run->trace != NULL;
}

/* ---- facts ---- */

/* The rank to show steps of: the first that has some. */
static const ek_trace_rank *with_steps(const ek_trace_run *run)
{
    for (int i = 0; i < run->n_ranks; i++)
        if (run->rank[i].n_steps > 0)
            return &run->rank[i];
    return NULL;
}

static void write_step_names(const ek_trace_run *run, ek__stream *s)
{
    const ek_trace_rank *rank = with_steps(run);
    const char *first = NULL, *last = NULL;
    char text[512];
    int n = 0, warm = 0;
    for (int i = 0; rank && i < rank->n_steps; i++) {
        const ek_trace_step *step = &rank->step[i];
        warm += step->warm_up;
        if (step->warm_up)
            continue;
        n++;
        first = first ? first : step->name;
        last = step->name;
    }
    int used = snprintf(text, sizeof text, rank ? "%d" : "no step is marked: the whole file", n);
    if (n > 0 && first[0])
        used +=
            snprintf(text + used, sizeof text - (size_t)used, n > 1 ? " (%.100s to %.100s)" : " (%.100s)", first, last);
    if (warm > 0)
        snprintf(text + used, sizeof text - (size_t)used, ", %d left out as warm-up", warm);
    ek__view_fact(s, "steps", NAN, EK__UNIT_TEXT, text, NULL);
}

static void write_producer(const ek_trace_run *run, ek__stream *s)
{
    bool seen[EK_N_PRODUCERS] = {false};
    char text[128] = "";
    size_t used = 0;
    for (int i = 0; i < run->n_ranks; i++)
        seen[run->rank[i].producer] = true;
    for (int k = 0; k < EK_N_PRODUCERS; k++)
        if (seen[k])
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", used ? ", " : "", ek_producer_name[k]);
    if (used > 0)
        ek__view_fact(s, "written by", NAN, EK__UNIT_TEXT, text, NULL);
}

static void write_topology(const ek_trace_topology *t, ek__stream *s)
{
    const struct {
        const char *name;
        int size;
    } degrees[] = {{"data", t->data},
                   {"tensor", t->tensor},
                   {"pipeline", t->pipeline},
                   {"context", t->context},
                   {"expert", t->expert}};
    char text[160] = "";
    size_t used = 0;
    for (size_t i = 0; i < sizeof degrees / sizeof *degrees; i++)
        if (degrees[i].size > 0)
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%s %d", used ? ", " : "", degrees[i].name,
                                     degrees[i].size);
    if (used > 0)
        ek__view_fact(s, "parallel", NAN, EK__UNIT_TEXT, text, NULL);
}

static void facts(const ek_view_run *run, ek__stream *s)
{
    const ek_trace_run *trace = run->trace;
    ek__run_means mean = ek__means_of_run(trace);
    ek__view_fact(s, "ranks", trace->n_ranks, EK__UNIT_COUNT, NULL, NULL);
    if (trace->n_stages > 1)
        ek__view_fact(s, "stages", trace->n_stages, EK__UNIT_COUNT, NULL, NULL);
    write_producer(trace, s);
    write_topology(&trace->topology, s);
    if (trace->n_ranks == 0 || (!with_steps(trace) && !(mean.step > 0))) /* files of memory contain no times */
        return;
    write_step_names(trace, s);
    if (with_steps(trace))
        ek__view_fact(s, "step", mean.step, EK__UNIT_NS | EK__LESS, NULL, EK__MEASURED);
    else
        ek__view_fact(s, "length", mean.step, EK__UNIT_NS, NULL, EK__MEASURED);
    if (mean.span > 0) {
        ek__view_fact(s, "of it on the device", mean.span, EK__UNIT_NS, NULL, EK__MEASURED);
    }
    /* For the complete step, as in the breakdown: the wait of a device before its first kernel is idle time too. */
    if (mean.whole > 0 && mean.span > 0) {
        double idle = mean.idle + (mean.whole > mean.span ? mean.whole - mean.span : 0);
        ek__view_fact(s, "computing", 100 * mean.computing / mean.whole, EK__UNIT_PERCENT | EK__MORE, NULL,
                      EK__MEASURED);
        ek__view_fact(s, "exposed communication", 100 * mean.exposed / mean.whole, EK__UNIT_PERCENT | EK__LESS, NULL,
                      EK__MEASURED);
        ek__view_fact(s, "idle", 100 * idle / mean.whole, EK__UNIT_PERCENT | EK__LESS, NULL, EK__MEASURED);
    }
    if (isfinite(trace->stage_imbalance) && trace->n_stages > 1)
        ek__view_fact(s, "slowest stage over fastest, computing", trace->stage_imbalance, EK__UNIT_NONE | EK__LESS,
                      NULL, EK__MEASURED);
}

static bool has_note(const ek_trace_rank *rank, const char *note)
{
    for (int k = 0; k < rank->n_notes; k++)
        if (strcmp(rank->note[k], note) == 0)
            return true;
    return false;
}

/* Facts that are equal on several ranks are written only for the first one. False for ranks without new ones. */
static bool name_speakers(const ek_trace_run *trace, int first, const char *note, char *label, size_t room)
{
    int n = 0;
    for (int i = 0; i < first; i++)
        if (has_note(&trace->rank[i], note))
            return false;
    for (int i = first; i < trace->n_ranks; i++)
        n += has_note(&trace->rank[i], note);
    ek__rank_label(trace, &trace->rank[first], label, room);
    size_t used = strlen(label);
    if (n == trace->n_ranks)
        snprintf(label, room, "all %d ranks", n);
    else if (n > 1)
        snprintf(label + used, room - used, " and %d other%s", n - 1, n == 2 ? "" : "s");
    return true;
}

/* Problems of files, and the notes of each rank. */
static void notes(const ek_view_run *run, ek__stream *s)
{
    const ek_trace_run *trace = run->trace;
    char text[EK__VIEW_KEY_SIZE], label[64];
    int n = 0;
    for (int i = 0; i < trace->n_ranks; i++) {
        const ek_trace_rank *rank = &trace->rank[i];
        for (int k = 0; k < rank->n_sources; k++)
            if (rank->source[k].problem && n++ < 100) {
                snprintf(text, sizeof text, "%s: %s", rank->source[k].path, rank->source[k].problem);
                ek__stream_text(s, NULL, text);
            }
        for (int k = 0; k < rank->n_notes && n < 100; k++) {
            if (!name_speakers(trace, i, rank->note[k], label, sizeof label))
                continue;
            n++;
            snprintf(text, sizeof text, "%s: %s", label, rank->note[k]);
            ek__stream_text(s, NULL, trace->n_ranks > 1 ? text : rank->note[k]);
        }
    }
}

static ek_status sections(const ek_view_run *run, ek__stream *s, ek_error *err)
{
    if (!run->diagnosis)
        ek__view_trace_findings(run, s);
    ek__view_trace_breakdown(run, s);
    ek__view_trace_layers(run, s);
    ek__view_trace_operators(run, s);
    ek_status status = ek__view_trace_communication(run, s, err);
    status = status ? status : ek__view_trace_memory(run, s, err);
    ek__view_trace_host(run, s);
    ek__view_trace_ranks(run, s);
    ek__view_trace_files(run, s);
    return status;
}

const ek__view_part ek__view_part_trace = {.present = present, .facts = facts, .notes = notes, .sections = sections};
