/* Helpers of all emitters: cost of a plan, the schedule it is for, comments on the parts that a framework cannot
 * express. */
#include <stdarg.h>
#include <string.h>

#include "base/c_locale.h"
#include "base/digits.h"
#include "base/error.h"
#include "base/print.h"
#include "emit/emit_internal.h"
#include "evenkeel/simulate.h"

/* ---- the cost of a plan ---- */

bool ek__can_judge(const ek_emission *emission)
{
    return emission->layers && emission->order;
}

ek_status ek__judge(const ek_emission *emission, const ek_plan *plan, ek__cost *out, ek_error *err)
{
    ek_timeline timeline;
    ek_status status = ek_simulate(emission->order, plan, emission->layers, emission->comm, &timeline, err);
    if (status)
        return status;
    *out = (ek__cost){.step_time = timeline.step_time, .within = true};
    out->peak_mb = ek_timeline_peak(&timeline, &out->peak_stage);
    for (int s = 0; s < plan->n_stages; s++) {
        double limit = emission->stage_memory_mb ? emission->stage_memory_mb[s] : emission->memory_limit_mb;
        /* A peak is a sum of a few hundred terms; one part in 10^9 is rounding, not memory. */
        if (limit > 0 && timeline.peak_mb[s] > limit * (1 + 1e-9))
            out->within = false;
    }
    ek_timeline_clear(&timeline);
    return EK_OK;
}

/* ---- schedules ---- */

const ek_schedule *ek__emission_schedule(const ek_emission *emission)
{
    return emission->schedule ? emission->schedule : ek_schedule_default(emission->plan->n_chunks, 0);
}

ek_status ek__find_schedule(const ek_emission *emission, ek_framework framework, const char *name, ek__theirs *out,
                            ek_error *err)
{
    const ek_schedule *schedule = ek__emission_schedule(emission);
    const ek__framework_schedule *theirs = ek__schedule_in(schedule, framework);
    int v = emission->plan->n_chunks;
    if (theirs && (v > 1 ? theirs->several : theirs->single)) {
        *out = (ek__theirs){v > 1 ? theirs->several : theirs->single, theirs->same};
        return EK_OK;
    }
    const char *why = schedule->placement == EK_PLACE_V           ? "chunks run down the stages and back up"
                      : schedule->placement == EK_PLACE_BOTH_WAYS ? "chunks are held by two stages each"
                                                                  : "order has no counterpart there";
    return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE,
                    "%s has no equivalent of the schedule %s: its %s; make a plan for another schedule, for example "
                    "with --schedule %s",
                    name, schedule->name, why, ek_schedule_default(v, 0)->name);
}

ek_status ek__check_interleave(const ek_emission *emission, const char *framework, ek_error *err)
{
    const ek_plan *plan = emission->plan;
    if (plan->n_stages > 1 || plan->n_chunks == 1)
        return EK_OK;
    return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE,
                    "%s has no setting for %d chunks on one stage: it interleaves from 2 stages on; make a plan with "
                    "one chunk (-i 1) or more stages",
                    framework, plan->n_chunks);
}

ek_status ek__check_filled(const ek_emission *emission, const char *framework, int first, int last, const char *why,
                           ek_error *err)
{
    const ek_plan *plan = emission->plan;
    for (int q = first; q <= last; q++) {
        int cell = ek_cell_at(ek__emission_schedule(emission)->placement, plan->n_stages, q);
        if (plan->layers[cell] == 0)
            return ek__fail(
                err, EK_ERR_INPUT, EK__NOWHERE,
                "%s has no setting for chunk %d of stage %d without layers: %s; make a plan with --min-layers 1",
                framework, cell / plan->n_stages, cell % plan->n_stages, why);
    }
    return EK_OK;
}

/* ---- printing ---- */

void ek__print_comment(FILE *out, const char *format, ...)
{
    enum { WIDTH = 116 };
    char text[2048];
    va_list arguments;
    va_start(arguments, format);
    ek__vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    int column = fprintf(out, "#");
    for (char *word = text, *next; *word; word = next) {
        size_t length = strcspn(word, " ");
        next = word + length + (word[length] == ' ');
        word[length] = '\0';
        int width = ek__columns(word);
        if (column + 1 + width > WIDTH && column > 1) {
            fputs("\n#", out);
            column = 1;
        }
        fputc(' ', out);
        ek__print_name(word, out);
        column += 1 + width;
    }
    fputc('\n', out);
}

static void write_cost(const ek_emission *e, const ek__cost *cost, FILE *out)
{
    bool limited = e->stage_memory_mb || e->memory_limit_mb > 0;
    char limit[80] = "";
    if (e->stage_memory_mb)
        snprintf(limit, sizeof limit, ", %s the stages' limits", cost->within ? "within" : "over");
    else if (limited)
        snprintf(limit, sizeof limit, ", %s the limit of %s MB", cost->within ? "within" : "over",
                 ek__fixed(e->memory_limit_mb, 0).text);
    ek__print_comment(out, "Simulated: step %s in the unit of the given times, peak %s MB on stage %d%s.",
                      ek__short(cost->step_time).text, ek__fixed(cost->peak_mb, 0).text, cost->peak_stage, limit);
}

static void write_plan(const ek_emission *e, const char *framework, FILE *out)
{
    char chunks[40] = "", micro_batches[80] = "";
    const ek_plan *plan = e->plan;
    if (plan->n_chunks > 1)
        snprintf(chunks, sizeof chunks, ", %d chunks each", plan->n_chunks);
    if (e->n_micro_batches > 0)
        snprintf(micro_batches, sizeof micro_batches, ", %d micro-batches", e->n_micro_batches);
    if (e->n_pieces > 1) {
        size_t n = strlen(micro_batches);
        snprintf(micro_batches + n, sizeof micro_batches - n, " in %d sequence pieces", e->n_pieces);
    }
    ek__print_comment(out, "Plan '%s' as settings of %s: %d layers, %d stages%s%s, schedule %s.", e->name, framework,
                      e->n_layers, plan->n_stages, chunks, micro_batches, ek__emission_schedule(e)->name);
}

ek_status ek__begin(const ek_emission *emission, const char *framework, const ek__theirs *schedule, const char *source,
                    FILE *out, ek_error *err)
{
    ek__cost cost;
    if (ek__can_judge(emission)) {
        ek_status status = ek__judge(emission, emission->plan, &cost, err);
        if (status)
            return status;
    }
    write_plan(emission, framework, out);
    if (ek__can_judge(emission))
        write_cost(emission, &cost, out);
    else
        ek__print_comment(out,
                          "Step and peak are not known: that takes the model and the micro-batches (--init FILE or "
                          "--layers FILE, -mb N).");
    ek__print_comment(out, "The meaning of the settings is taken from %s; nothing was run.", source);
    if (!schedule->same)
        ek__print_comment(
            out,
            "Careful: the plan is made for the schedule %s. %s runs %s, which orders the same chunks in its own "
            "way: step and peak may not be those of the plan.",
            ek__emission_schedule(emission)->name, framework, schedule->name);
    return EK_OK;
}

void ek__print_chunks(const ek_plan *plan, const int *values, int base, FILE *out)
{
    if (plan->n_chunks > 1)
        fputc('[', out);
    for (int i = 0; i < plan->n_chunks; i++) {
        fputs(i ? ", [" : "[", out);
        for (int s = 0; s < plan->n_stages; s++)
            fprintf(out, "%s%d", s ? ", " : "", values[i * plan->n_stages + s] - base);
        fputc(']', out);
    }
    if (plan->n_chunks > 1)
        fputc(']', out);
}
