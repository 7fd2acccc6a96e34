/* Figures of dry runs: those to make, and the memory in existing ones. */
#include <math.h>

#include "evenkeel/collect.h"
#include "evenkeel/guide.h"
#include "evenkeel/report.h"
#include "figures/balance_figures.h"
#include "figures/rows.h"

/* ---- a guide ---- */

#define EK__T int
static const ek_dryrun *runs_of(const ek__owner *of)
{
    return &((const ek_guide *)of->result)->runs;
}
GETTER(offset, number, *it - runs_of(of)->n_layers / runs_of(of)->n_stages);
static const ek__member offsets[] = {{"", GET(COUNT, offset), "layers"}};
static const ek__fields all_offsets = {FIELDS(offsets, NULL, NULL)};
#undef EK__T

#define EK__T ek_guide
static const int *round_of(const int *list, const ek__owner *of)
{
    return list + (size_t)of->number * (size_t)runs_of(of)->n_stages;
}
COUNTER(n_stages, it->runs.n_stages);
COUNTER(n_rounds, it->runs.n_rounds);
FINDER(layers, round_of(it->runs.layers, of));
FINDER(full, round_of(it->runs.full, of));
FINDER(select_, round_of(it->runs.select, of));
FINDER(comm, round_of(it->runs.comm, of));
static const ek__member round_[] = {
    {"offset", FOUND_SHORT_LIST(layers, n_stages, all_offsets), "by stage: layers less floor(layers / stages)"},
    {"recompute", FOUND_SHORT_LIST(full, n_stages, ek__list_of_integers), "by stage: layers recomputed in full"},
    {"select_recompute", FOUND_SHORT_LIST(select_, n_stages, ek__list_of_integers),
     "by stage: layers with selective recomputation"},
    {"select_comm_recompute", FOUND_SHORT_LIST(comm, n_stages, ek__list_of_integers),
     "by stage: layers with communication recomputation"},
};
static const ek__fields rounds = {FIELDS_BY_NUMBER(round_, "rounds[]", "Lists to paste.")};
#undef EK__T

#define EK__T ek_guide_error
static const ek__member error[] = {
    {"one_peak_mb", MB(one_mb), "when one peak is 1 MB off, the worst of them"},
    {"every_peak_mb", MB(all_mb),
     "standard deviation, when every peak is off by an independent error of 1 MB standard deviation"},
};
static const ek__fields errors = {FIELDS(error, "errors_per_mb", NULL)};
COMPOSER(error_name, EK_NAME_SIZE, "%s", it->name);
#undef EK__T

#define EK__T ek_guide
GETTER(version, number, 1);
FINDER(kinds, it->kind);
FINDER(first_error, it->error);
CONDITION(has_peaks, it->peak_mb != NULL);
static const ek__member guide[] = {
    {"version", GET(COUNT, version), "1"},
    {"rounds", NUMBERED(n_rounds, rounds), "the dry runs to make"},
    {"condition", REAL(condition), "2-norm condition number of the system that their peaks give"},
    {"condition_scaled", REAL(scaled_condition), "the same with columns of unit length, as `balance` prints it"},
    {"condition_random", REAL(random_condition), "the same of random lists, their median, for comparison"},
    {"stages", COUNT(runs.n_stages), "of the dry runs"},
    {"layers", COUNT(runs.n_layers), "of the dry runs"},
    {"kinds", KINDS(kinds), "recompute kinds that are determined"},
    {"job_stages", COUNT(job_stages), "of the job"},
    {"reason", NAME(reason), "why the dry runs have other stages than the job; null: they have the same"},
    {"errors_per_mb", SHORT_MAP(n_errors, error, errors),
     "by answer (`parameters`, `activation none`, `constant`, ...): its error for errors of the peaks",
     .find = first_error, .compose = error_name},
    {"predicted_peak_mb", GRID(runs.n_rounds, runs.n_stages, peak_mb, ek__list_of_reals),
     "MB, by round and stage; null: without `--rough`", KNOWN(has_peaks)},
};
static const ek__fields guides = {FIELDS(guide, NULL, NULL), .lines = true, .points = true};
const ek__result ek__result_guide = {"guide", "guide.md", &guides, NULL, NULL};
#undef EK__T

/* ---- logs ---- */

typedef char log_line[EK_LOG_LINE_SIZE];
#define EK__T log_line
static const ek__member lines[] = {{.key = "", .kind = EK__KIND_TEXT, .in_place = true, .about = "a line"}};
static const ek__fields all_lines = {FIELDS(lines, NULL, NULL)};
#undef EK__T

#define EK__T ek_stage_log
FINDER(first_line, it->log.line);
COUNTER(n_lines, it->log.n_lines);
CONDITION(has_log, !it->no_log);
CONDITION(has_errors, it->log.n_lines > 0 && it->log.errors);
CONDITION(has_lines, it->log.n_lines > 0 && !it->log.errors);
static const ek__member stage[] = {
    {"stage", COUNT(stage), "from 0 on"},
    {"rank", COUNT(rank), "that it was run as"},
    {"used_mb", MB(log.used_mb), "used peak, without fragments; null, here and below: not in the log"},
    {"actual_mb", MB(log.actual_mb), "actual peak, with them"},
    {"device_mb", MB(log.device_mb), "memory of the device"},
    {"framework_mb", MB(log.framework_mb), "of the framework's pool"},
    {"log", TEXT(path), "path; null: the folder of the stage has none", KNOWN(has_log)},
    {"last_errors", FOUND_SHORT_LIST(first_line, n_lines, all_lines),
     "only of a log without one of the two peaks: its last lines with errors", WHEN(has_errors)},
    {"last_lines", FOUND_SHORT_LIST(first_line, n_lines, all_lines), "likewise where it has no errors: its last lines",
     WHEN(has_lines)},
};
static const ek__fields stages = {FIELDS(stage, "rounds[].stages[]", NULL)};
#undef EK__T

#define EK__T ek_round
static const ek_collected *collected_of(const ek__owner *of)
{
    return of->result;
}
COUNTER(n_all_stages, collected_of(of)->logs->n_stages);
CONDITION(has_no_peak, isnan(ek_stage_log_peak(ek_round_find(it, of->number), collected_of(of)->which)));
GETTER(number, number, of->number);
static const ek__member missing[] = {{"", GET(COUNT, number), "a stage"}};
static const ek__fields all_missing = {FIELDS_BY_NUMBER(missing, NULL, NULL)};
static const ek__member log_round[] = {
    {"folder", TEXT(source), "as given; `<stdin>` for standard input"},
    {"stages", SHORT_LIST(n, stage, stages), "with a log, by stage"},
    {"without_peak", NUMBERED(n_all_stages, all_missing), "stages without a log, or without the peak that counts",
     .shown = has_no_peak},
};
static const ek__fields log_rounds = {FIELDS(log_round, "rounds[]", NULL)};
#undef EK__T

#define EK__T ek_memory_usage
GETTER(head, text, it->head);
GETTER(tail, text, it->tail);
static const ek__member body[] = {
    {"stage_id", JSON(stage_id), "stages between the first and the last; a list for each of several rounds",
     .own = "list"},
    {"memories", JSON(memories), "MB, their peaks, likewise", .own = "list"},
};
static const ek__fields bodies = {FIELDS(body, "memory_usage.body_memories", NULL)};
static const ek__member usage[] = {
    {"head_memory", GET(JSON, head), "MB, peak of the first stage in the first round", .own = "number"},
    {"tail_memory", GET(JSON, tail), "MB, that of the last stage", .own = "number"},
    {"body_memories", HERE(bodies), "peaks of the other stages"},
};
static const ek__fields usages = {FIELDS(usage, "memory_usage", "As in an [init file](formats.md#init-file).")};
#undef EK__T

#define EK__T ek_collected
GETTER(which, text, it->which == EK_PEAK_USED ? "used" : "actual");
COUNTER(n_log_rounds, it->logs->n_rounds);
FINDER(first_round, it->logs->round);
FINDER(the_usage, it->usage);
static const ek__member collected[] = {
    {"version", GET(COUNT, version), "1"},
    {"which", GET(TEXT, which), "the peak that counts: `actual` or `used`"},
    {"rounds", FOUND_SHORT_LIST(first_round, n_log_rounds, log_rounds), "an object for each round"},
    {"memory_usage", FOUND(the_usage, usages), "null: stages are missing, or there are fewer than 3"},
};
static const ek__fields all_collected = {FIELDS(collected, NULL, NULL), .lines = true, .points = true};
const ek__result ek__result_collected = {"collected", "collect.md", &all_collected, NULL, NULL};
#undef EK__T
