/* Figures of a diagnosis: bottlenecks by their cost, and the checks that were skipped. */
#include <math.h>

#include "evenkeel/diagnose.h"
#include "figures/results.h"
#include "figures/rows.h"

#define EK__T ek_evidence
static const ek__member evidence[] = {
    {"text", TEXT(text), "the figure in a sentence"},
    {"file", TEXT(file), "where it is from; null when it is not of one file"},
    {"step", TEXT(step), "of the trace or log; null: all that count"},
    {"rank", NUMBER(rank), "null when it is not of one"},
};
static const ek__fields evidences = {FIELDS(evidence, "bottlenecks[].evidence[]", NULL)};
#undef EK__T

#define EK__T ek_bottleneck
FINDER(first_evidence, it->evidence);
COUNTER(n_evidence, it->n_evidence < EK_MAX_EVIDENCE ? it->n_evidence : EK_MAX_EVIDENCE);
static const ek__member bottleneck[] = {
    {"id", TEXT(id), "of the table [above](#what-is-looked-at)"},
    {"topic", WORD(topic, ek__topic_name),
     "`operators`, `communication`, `memory and recomputation`, `data loading`, `host`, `pipeline bubbles`, "
     "`load balance`"},
    {"title", TEXT(title), "one sentence with its share"},
    {"evidence", FOUND_LIST(first_evidence, n_evidence, evidences), "its basis"},
    {"cost_seconds", SECONDS(cost_seconds), "its current cost within a step; null when it is not time (memory)"},
    {"share", SHARE(share), "the same of the step"},
    {"setting", TEXT(setting), "the change, in the format of the run's files; one or more lines, or null"},
    {"change", TEXT(change), "the same in a sentence, or null"},
    {"gain_seconds", SECONDS(gain_seconds), "of a step, predicted with that change; null: not known"},
    {"gain_share", SHARE(gain_share), "the same of the step"},
    {"basis", WORD(basis, ek__basis_name), "`measured`, `derived`, `simulated`, `assumed`"},
    {"rests_on", TEXT(rests_on), "how the gain was computed, or null"},
    {"caution", TEXT(caution), "possible cost of the change elsewhere, or null"},
    {"peak_mb", MB(peak_mb),
     "the largest peak of a stage with the setting, as `evenkeel memory` predicts it; null: not predicted", DECIMALS(0),
     .positive = true},
};
static const ek__fields bottlenecks = {FIELDS(bottleneck, "bottlenecks[]", "By gain, largest first."), .lines = true};
#undef EK__T

#define EK__T ek_not_looked_at
static const ek__member missing[] = {
    {"what", TEXT(what), "the topic"},
    {"needs", TEXT(needs), "its required input"},
    {"how", TEXT(how), "how to get that, or null"},
};
static const ek__fields all_missing = {FIELDS(missing, "not_looked_at[]", NULL)};
#undef EK__T

#define EK__T ek_diagnosis
GETTER(version, number, 1);
static const ek__member diagnosis[] = {
    {"version", GET(COUNT, version), "1"},
    {"step_seconds", SECONDS(step_seconds),
     "the step that shares are of; of a trace [its step](trace.md#the-length-of-a-step), the same as in `trace`, "
     "`metrics` and the page"},
    {"step_source", TEXT(step_source), "where it is from, or null"},
    {"bottlenecks", LIST(n_bottlenecks, bottleneck, bottlenecks), "bottlenecks of the run"},
    {"not_looked_at", LIST(n_not_looked_at, not_looked_at, all_missing), "checks without input"},
    {"notes", LIST(n_notes, note, ek__list_of_texts),
     "sentences on input that contradicts itself or could not be used"},
};
static const ek__fields fields = {FIELDS(diagnosis, NULL, NULL), .lines = true};
#undef EK__T

const ek__result ek__result_diagnosis = {"diagnosis", "diagnose.md", &fields, NULL, NULL};
