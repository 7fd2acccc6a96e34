/* emit/emit_internal.h - helpers of the emitters: comments, lists, the schedule of the framework that runs a plan, and
 * recomputation as one rule for all chunks, since most frameworks accept no more than that. */
#ifndef EK_EMIT_INTERNAL_H
#define EK_EMIT_INTERNAL_H

#include <limits.h>
#include <stdbool.h>

#include "evenkeel/emit.h"
#include "schedule/frameworks.h"

/* ---- the cost of a plan ---- */

typedef struct ek__cost {
    double step_time;
    double peak_mb; /**< largest of any stage */
    int peak_stage;
    bool within; /**< the limits; true without any */
} ek__cost;

/** Can plans be evaluated? */
bool ek__can_judge(const ek_emission *emission);

/** Simulate a plan of the emission's shape. Only when ek__can_judge(). @return EK_OK, EK_ERR_INPUT, EK_ERR_MEMORY. */
ek_status ek__judge(const ek_emission *emission, const ek_plan *plan, ek__cost *out, ek_error *err);

/* ---- schedules ---- */

/** The schedule of the plan. */
const ek_schedule *ek__emission_schedule(const ek_emission *emission);

/** The framework's schedule for a plan, and whether it is the same. */
typedef struct ek__theirs {
    const char *name;
    bool same;
} ek__theirs;

/** Find the framework's schedule that runs a plan; `name` is the framework's name in messages. @return EK_OK;
 *  EK_ERR_INPUT, naming the schedule, when the framework has no equivalent of it. */
ek_status ek__find_schedule(const ek_emission *emission, ek_framework framework, const char *name, ek__theirs *out,
                            ek_error *err);

/** EK_ERR_INPUT for several chunks on one stage, where there is no pipeline to interleave. */
ek_status ek__check_interleave(const ek_emission *emission, const char *framework, ek_error *err);

/** EK_ERR_INPUT for chunks without layers, from model position `first` to `last`; `why` ends the message. */
ek_status ek__check_filled(const ek_emission *emission, const char *framework, int first, int last, const char *why,
                           ek_error *err);

/* ---- printing ---- */

/** A comment, wrapped, each line led by "# ". */
void ek__print_comment(FILE *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

/** The common beginning of all emitters: the plan, its cost where it can be computed, its schedule, and the source of
 *  the settings. `source`: the documentation or code from which the meaning of the settings was taken. */
ek_status ek__begin(const ek_emission *emission, const char *framework, const ek__theirs *schedule, const char *source,
                    FILE *out, ek_error *err);

/** "[a, b]" with one chunk a stage, else "[[a, b], [c, d]]", of values less `base`. */
void ek__print_chunks(const ek_plan *plan, const int *values, int base, FILE *out);

/* ---- one rule for all chunks ---- */

/** NONE or SELECT for every layer, or FULL for the first n layers of each chunk. */
typedef struct ek__rule {
    ek_recompute kind;
    int n; /**< of FULL; EK__EVERY_LAYER for all */
} ek__rule;
enum { EK__EVERY_LAYER = INT_MAX };

/** A plan's recomputation as a rule. */
typedef struct ek__told {
    ek_telling telling;
    ek__rule rule;    /**< the plan that the settings express; with EK_TELLS_LAYERS and costs, the one with the smallest
                       * peak */
    int cell;         /**< unless EK_TELLS_PLAN: the first chunk in the model that no rule fits together with all
                           chunks before it; index into the plan's arrays */
    int n_judged;     /**< plans that were simulated; 0: costs are not known */
    ek__cost own;     /**< of the plan */
    ek__cost nearest; /**< of the plan of `rule` */
} ek__told;

/**
 * The rule that a plan follows or else, where plans can be judged, the rule whose plan, with the same layers, has the
 * shortest simulated step among those that only use kinds the model knows and stay within the limits. Without limits:
 * the largest peak must be at most that of the plan itself. Ties go to the smaller peak.
 *
 * @param partial  may a rule recompute the first n layers of each chunk? Else all or none
 * @return EK_OK, EK_ERR_MEMORY
 */
ek_status ek__tell(const ek_emission *emission, bool partial, ek__told *out, ek_error *err);

/** Write comments on the parts of the plan that the settings cannot express, and on the cost of the nearest plan;
 * nothing when the settings express all of it. */
void ek__explain(const ek_emission *emission, const ek__told *told, const char *framework, const char *rules,
                 FILE *out);

/** The plan of a rule with the layers of another plan. @return EK_OK, EK_ERR_MEMORY. */
ek_status ek__rule_plan(const ek_plan *plan, ek__rule rule, ek_plan *out, ek_error *err);

extern const ek_emitter ek__emitter_mindformers;
extern const ek_emitter ek__emitter_mindspeed;
extern const ek_emitter ek__emitter_megatron;
extern const ek_emitter ek__emitter_torchtitan;

#endif
