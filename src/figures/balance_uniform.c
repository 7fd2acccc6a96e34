/* Figures of schedules: each schedule by itself, and one with equal stages. */

#include "evenkeel/uniform.h"
#include "figures/balance_figures.h"
#include "figures/rows.h"

/* ---- equal stages ---- */

#define EK__T ek_uniform
GETTER(input_time, real, it->backward_time - it->weight_time);
GETTER(split, text, it->split_given ? "given" : "assumed");
GETTER(share_source, text, it->share_given ? "given" : "assumed");
static const ek__member time[] = {
    {"forward", TIME(forward_time), "of a stage and micro-batch, like all of these"},
    {"backward", TIME(backward_time), "both gradients"},
    {"backward_input", GET(TIME, input_time), "the part of it that is the gradient of the inputs"},
    {"backward_weight", TIME(weight_time), "the part of it that is the gradient of the weights"},
    {"backward_split", GET(TEXT, split), "`given` or `assumed`: basis of these parts"},
    {"weight_activation", SHARE(weight_share), "of the activations: held until the weight gradient"},
    {"weight_activation_source", GET(TEXT, share_source), "`given` or `assumed`"},
};
static const ek__fields times = {FIELDS(time, "times", NULL)};
#undef EK__T

#define EK__T ek_uniform_run
GETTER(version, number, 1);
GETTER(schedule, text, it->timeline.schedule->name);
GETTER(kept, number, it->activation_limit > 0 ? !ek_uniform_over_limit(it) : -1);
static const ek__member run[] = {
    {"version", GET(COUNT, version), "1"},
    {"schedule", GET(TEXT, schedule), "name, as given to `--schedule`"},
    {"shape", OBJECT(timeline.shape, ek__shape_fields), "size of the pipeline"},
    {"times", OBJECT(times, times), "of one stage and micro-batch"},
    {"p2p_time", TIME(timeline.comm.p2p_time), "of one transfer between stages; 0: none is modelled"},
    {"p2p_blocking", FLAG(timeline.comm.blocking), "transfers occupy sender and receiver"},
    {"activation_limit", REAL(activation_limit),
     "in micro-batches of a stage: as given, or the schedule's own; null: there is none", .positive = true},
    {"activation_limit_kept", GET(FLAG, kept), "limit of every stage; null: there is no limit"},
    {"step_time", TIME(timeline.step_time), "end of the last block"},
    {"span", TIME(span),
     "widest time of any stage from its first to its last block: the step when stages need not meet between steps"},
    {"bubble_share", SHARE(bubble_share), "idle share of the step, 1 - work / (p x step)"},
    {"bubble", REAL(timeline.bubble.real), "(p x step - work) / work, `bubble.real` of an answer"},
    {"live_activations", SHORT_LIST(timeline.shape.n_stages, live, ek__list_of_reals),
     "by stage: most activations alive, in micro-batches of a whole stage"},
    {"peak_activations", REAL(peak), "the largest of them"},
};
const ek__fields ek__uniform_answer = {
    FIELDS(run, "simulate --uniform", "All of it is simulated from the given times; its times have their unit."),
    .lines = true, .points = true};
#undef EK__T

/* ---- every schedule ---- */

#define EK__T ek_schedule
static const char *const placement[] = {"wrap", "v", "both_ways"};
CONDITION(arranges, it->arrange != NULL);
static const ek__member schedule_[] = {
    {"name", TEXT(name), "as given to `--schedule`"},
    {"title", TEXT(title), "for people"},
    {"summary", TEXT(summary), "one line on bubble and memory"},
    {"min_chunks", COUNT(min_chunks), "per stage, that it is defined for"},
    {"max_chunks", COUNT(max_chunks), "likewise"},
    {"min_micro_batches_per_stage", COUNT(min_micro_batches), "0: any"},
    {"placement", WORD(placement, placement), "`wrap`, `v` or `both_ways` ([models.md](models.md#schedules))"},
    {"splits_backward", FLAG(splits_backward),
     "the gradient of the weights is a separate block, after that of the inputs"},
    {"activation_limit_per_stage", REAL(limit_per_stage),
     "a of the own limit a p + b of a schedule that makes its order for times and memory; null: its order is fixed",
     KNOWN(arranges)},
    {"activation_limit_constant", REAL(limit_constant), "b of it; null: its order is fixed", KNOWN(arranges)},
};
static const ek__fields all_schedules = {FIELDS(schedule_, NULL, NULL)};
#undef EK__T

#define EK__T ek_schedule *const
FINDER(pointed, *it);
static const ek__member entry[] = {{NULL, FOUND_PARTS(pointed, all_schedules), NULL}};
static const ek__fields entries = {FIELDS(entry, "schedules[]", NULL)};

static int count_schedules(const ek_schedule *const *list)
{
    int n = 0;
    while (list[n])
        n++;
    return n;
}
COUNTER(n_schedules, count_schedules(it));
static const ek__member schedules[] = {
    {"version", GET(COUNT, version), "1"},
    {"schedules", EK__KIND_LIST, .fields = &entries, .find = ek__itself, .count = n_schedules, .at = 0,
     "that there are"},
};
const ek__fields ek__schedules_answer = {FIELDS(schedules, "--list-schedules", NULL), .lines = true, .points = true};
#undef EK__T
