/* Finds stages that do not take the same time: the step of today's split of the layers less that of the best split that
 * the balancer finds under the same times, schedule and memory limit, simulated or predicted both (plan_step.h). Where
 * memory is known recomputation may move with the layers, and the gain of recomputation by itself is not counted here
 * again; where it is not, layers keep today's average recomputation. Needs times of layers and a pipeline. */
#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "diagnose/bottleneck.h"

static ek_status show_stages(const ek__diagnose *d, ek_bottleneck *b, ek_error *err)
{
    const ek_trace_run *run = d->measured.run;
    const ek_trace_stage *slow = NULL, *fast = NULL;
    for (int i = 0; run && i < run->n_stages; i++) {
        slow = !slow || run->stage[i].computing_mean > slow->computing_mean ? &run->stage[i] : slow;
        fast = !fast || run->stage[i].computing_mean < fast->computing_mean ? &run->stage[i] : fast;
    }
    if (!slow || slow == fast)
        return EK_OK;
    return ek__bottleneck_show(
        b,
        (ek_evidence){ek__pool_format(d->out->pool, "stage %d computes %.2f ms a step, stage %d %.2f ms", slow->stage,
                                      (double)slow->computing_mean / 1e6, fast->stage,
                                      (double)fast->computing_mean / 1e6),
                      NULL, NULL, -1},
        err);
}

ek_status ek__bottleneck_load_balance(ek__diagnose *d, ek_error *err)
{
    const ek__pipeline *p = &d->pipeline;
    if (!p->there)
        return ek__bottleneck_needs(d, "balance of the stages", "layers' times and the plan", ek__how_to_times(d), err);
    if (p->plan.n_stages < 2 || !p->best.layers || !(p->as_it_is_ms > p->best_ms))
        return EK_OK;
    double gain = (p->as_it_is_ms - p->best_ms) / 1e3;
    ek_bottleneck b = {.id = "load-balance",
                       .topic = EK_TOPIC_BALANCE,
                       .basis = p->measured ? EK_BASIS_SIMULATED : EK_BASIS_ASSUMED,
                       .cost_seconds = gain,
                       .gain_seconds = gain,
                       .peak_mb = p->best_peak_mb};
    const ek__edit_oracle today = ek__pipeline_today(p);
    b.title = ek__pool_format(d->out->pool, "The stages are not balanced: %.2f ms of a step, %.1f %%.", gain * 1e3,
                              100e9 * gain / d->step_ns);
    b.setting = ek__pipeline_settings(p, &p->best, &today, ek__framework_of(d), d->out->pool);
    b.change = "Move layers between the stages.";
    b.rests_on = p->measured ? "the simulated step of the current split less that of the best split found, both with "
                               "the layers' measured times"
                             : "the predicted step of the current split less that of the best split found";
    const char *peak = p->memory_known
                           ? ek__pipeline_peak(p, p->best_peak_mb, d->out->pool)
                           : "no memory limit is known, so the plan may not fit: give the training YAML, or "
                             "see `evenkeel memory`";
    b.caution = peak ? ek__pool_format(d->out->pool, "%c%s.", peak[0] - 'a' + 'A', peak + 1) : NULL;
    if (!b.caution)
        return ek__no_memory(err);
    ek_status status = ek__bottleneck_show(
        &b,
        (ek_evidence){ek__pool_format(d->out->pool, "%s step %.2f ms with the current split, %.2f ms balanced",
                                      p->measured ? "simulated" : "predicted", p->as_it_is_ms, p->best_ms),
                      NULL, NULL, -1},
        err);
    if (!status)
        status = show_stages(d, &b, err);
    return status ? status : ek__bottleneck_add(d, &b, err);
}
