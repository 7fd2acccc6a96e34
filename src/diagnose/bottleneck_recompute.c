/* Recomputation that memory does not ask for: the simulated step of today's plan less that of the best recomputation of
 * the same layers within the memory limit, whose peak is predicted again from the settings. Where memory is not known
 * the cost is told and the gain is not. What a graph shows to be recomputed without effect keeps memory that others
 * must make up for; that is told without a gain. Not handled: memory that only the running job knows of. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "diagnose/bottleneck.h"

static double most_recomputing(const ek__measured *m, int *rank)
{
    double most = 0;
    for (int r = 0; m->run && r < m->run->n_ranks; r++)
        if (ek__recomputation(&m->run->rank[r]) > most) {
            most = ek__recomputation(&m->run->rank[r]);
            *rank = r;
        }
    return most;
}

static void modelled_cost(const ek__pipeline *p, double *ms)
{
    double most = 0;
    for (int s = 0; s < p->plan.n_stages; s++) {
        double sum = 0;
        for (int i = 0; i < p->plan.n_chunks; i++) {
            ek_chunk_mix mix = ek_plan_mix(&p->plan, i, s);
            for (int k = 1; k < EK_N_RECOMPUTE; k++)
                sum += mix.n[k] * (p->layers.body[0].backward_time[k] - p->layers.body[0].backward_time[0]);
        }
        most = fmax(most, sum);
    }
    *ms = most * p->n_micro_batches * p->n_accumulation;
}

/* Largest peak of the job with a plan, MB; NAN where it cannot be predicted. */
static ek_status peak_of(const ek_job *job, const ek_plan *plan, double *mb, ek_error *err)
{
    static const ek_memory_options options = {.without_top = true};
    ek_job copy;
    ek_memory memory = {0};
    ek_error why = {0};
    *mb = NAN;
    ek_status status = ek_job_copy(job, &copy, err);
    if (status)
        return status;
    ek_plan_clear(&copy.plan);
    status = ek_plan_copy(plan, &copy.plan, &why);
    if (!status)
        status = ek_memory_predict(&copy, &options, &memory, &why);
    if (!status) {
        *mb = (double)memory.stage[memory.fullest].actual_peak * 0x1p-20;
        ek_memory_clear(&memory);
    }
    ek_job_clear(&copy);
    if (status == EK_ERR_INPUT)
        return EK_OK;
    if (status && err)
        *err = why;
    return status;
}

/* ---- findings ---- */

static ek_status show_cost(const ek__diagnose *d, double cost_ns, int rank, ek_bottleneck *b, ek_error *err)
{
    if (rank < 0)
        return EK_OK;
    const ek_trace_rank *r = &d->measured.run->rank[rank];
    return ek__bottleneck_show(b,
                               (ek_evidence){ek__pool_format(d->out->pool, "%s: recomputation takes %.2f ms of a step",
                                                             ek__who_is(r).text, cost_ns / 1e6),
                                             ek__file_of(r), NULL, r->rank},
                               err);
}

static ek_status show_room(const ek__diagnose *d, double peak_mb, ek_bottleneck *b, ek_error *err)
{
    const ek__pipeline *p = &d->pipeline;
    return ek__bottleneck_show(
        b,
        (ek_evidence){ek__pool_format(d->out->pool,
                                      "with less recomputation the largest peak is predicted at %.0f MB of %.0f",
                                      peak_mb, p->limit_mb),
                      d->input->job->path, NULL, -1},
        err);
}

static ek_status add_with_plan(ek__diagnose *d, double cost_ns, int rank, ek_error *err)
{
    const ek__pipeline *p = &d->pipeline;
    double gain = (p->today_ms - p->kept_layers_ms) / 1e3, peak = NAN;
    if (!(gain > 0))
        return EK_OK;
    ek_status status = peak_of(d->input->job, &p->kept_layers, &peak, err);
    if (status || !(peak <= p->limit_mb)) /* the layers' memory is a model of the model */
        return status;
    ek_bottleneck b = {.id = "recompute",
                       .topic = EK_TOPIC_MEMORY,
                       .basis = p->measured ? EK_BASIS_SIMULATED : EK_BASIS_ASSUMED,
                       .cost_seconds = cost_ns / 1e9,
                       .gain_seconds = gain};
    b.title =
        ek__pool_format(d->out->pool, "Recomputation that memory has room to leave out: %.2f ms of a step, %.1f %%.",
                        gain * 1e3, 100e9 * gain / d->step_ns);
    b.setting =
        ek__pipeline_settings(p, &p->kept_layers, p->schedule, p->n_micro_batches, ek__framework_of(d), d->out->pool);
    b.change = "Recompute fewer layers, as far as the memory limit admits.";
    b.rests_on = p->measured ? "the simulated step of today's plan less that of the plan with less recomputation, with "
                               "measured times of the layers; memory as predicted from the settings"
                             : "the simulated step of today's plan less that of the plan with less recomputation, with "
                               "times modelled for the device; memory as predicted from the settings";
    b.caution =
        ek__pool_format(d->out->pool, "The largest peak is predicted to become %.0f MB of %.0f.", peak, p->limit_mb);
    if (!b.caution)
        return ek__no_memory(err);
    status = show_cost(d, cost_ns, rank, &b, err);
    if (!status)
        status = show_room(d, peak, &b, err);
    return status ? status : ek__bottleneck_add(d, &b, err);
}

static ek_status add_without_memory(ek__diagnose *d, double cost_ns, int rank, ek_error *err)
{
    ek_bottleneck b = {.id = "recompute",
                       .topic = EK_TOPIC_MEMORY,
                       .basis = EK_BASIS_MEASURED,
                       .cost_seconds = cost_ns / 1e9,
                       .gain_seconds = NAN,
                       .setting = "recompute_config.recompute: fewer layers of each stage",
                       .change = "Recompute only what does not fit otherwise.",
                       .rests_on = "the cost is measured; what can be left out depends on memory, which the training "
                                   "YAML with its limit would tell"};
    b.title = ek__pool_format(
        d->out->pool, "Recomputation takes %.2f ms of a step; whether memory needs it is not known.", cost_ns / 1e6);
    ek_status status = show_cost(d, cost_ns, rank, &b, err);
    return status ? status : ek__bottleneck_add(d, &b, err);
}

/* The graph's checks split requests without effect by their cause; each is reported by one of them. */
static bool is_without_effect(const ek_ir_finding *f)
{
    return strcmp(f->check, "recompute-not-in-effect") == 0 || strcmp(f->check, "recompute-blocked-by-reshape") == 0;
}

/* What is asked for and not in effect. */
static ek_status look_at_graphs(ek__diagnose *d, ek_error *err)
{
    ek_status status = EK_OK;
    for (int i = 0; i < d->input->n_ir && !status; i++)
        for (int k = 0; k < d->input->ir[i]->n_findings && !status; k++) {
            const ek_ir_finding *f = &d->input->ir[i]->finding[k];
            if (!is_without_effect(f))
                continue;
            ek_bottleneck b = {.id = "recompute",
                               .topic = EK_TOPIC_MEMORY,
                               .basis = EK_BASIS_DERIVED,
                               .cost_seconds = NAN,
                               .gain_seconds = NAN,
                               .rests_on = "the graph: backward takes the original value, so it is held"};
            b.title = f->bytes > 0
                          ? ek__pool_format(d->out->pool,
                                            "Recomputation that is asked for is not in effect: %.1f MB are held "
                                            "for every micro-batch.",
                                            (double)f->bytes * 0x1p-20)
                          : "Recomputation that is asked for is not in effect.";
            b.change = "Let what is asked for take effect, or take it out.";
            b.setting = ek__pool_format(d->out->pool, "%s", f->advice ? f->advice : "");
            status = ek__bottleneck_show(
                &b, (ek_evidence){ek__pool_format(d->out->pool, "%s", f->text ? f->text : ""), NULL, NULL, -1}, err);
            if (!status)
                status = ek__bottleneck_add(d, &b, err);
        }
    return status;
}

ek_status ek__bottleneck_recompute(ek__diagnose *d, ek_error *err)
{
    const ek__pipeline *p = &d->pipeline;
    int rank = -1;
    ek_status status = look_at_graphs(d, err);
    if (!status && d->input->n_ir == 0 && ek__framework_of(d) != EK_MEGATRON && ek__framework_of(d) != EK_MINDSPEED)
        status = ek__bottleneck_needs(d, "whether recomputation is in effect", "the IR of the compiled graph",
                                      ek__how_to_graph(d), err);
    if (status)
        return status;
    double cost = most_recomputing(&d->measured, &rank);
    if (p->there && p->memory_known) {
        if (!p->measured) {
            modelled_cost(p, &cost);
            cost *= 1e6;
        }
        return p->kept_layers.layers ? add_with_plan(d, cost, rank, err) : EK_OK;
    }
    if (cost > 0 && cost >= ek__least_ns(d))
        return add_without_memory(d, cost, rank, err);
    if (!d->measured.run && !p->there)
        return ek__bottleneck_needs(d, "time spent on recomputation", "a trace, or the settings with --device",
                                    ek__how_to_times(d), err);
    return EK_OK;
}
