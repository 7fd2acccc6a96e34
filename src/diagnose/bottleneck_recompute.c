/* Finds recomputation that memory does not require: today's step less that of the least recomputation of the same
 * layers within the memory limit, with the peak predicted from the settings. Without a gain its cost is still reported,
 * with the reason, and with the measure that makes room for less. Where memory is not known the cost is reported
 * without a gain. Recomputation without effect in a graph keeps memory that others must compensate; that is reported
 * without a gain. Not handled: memory that is known only at run time. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "diagnose/bottleneck.h"
#include "evenkeel/ir_check.h"
#include "evenkeel/memory.h"

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

/* Of the stage with most of it, nanoseconds. */
static double predicted_cost(const ek_step *step)
{
    double most = 0;
    for (int s = 0; s < step->n_stages; s++)
        most = fmax(most, step->stage[s].seconds[EK_STEP_RECOMPUTE]);
    return most * 1e9;
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

static ek_status show_room(const ek__diagnose *d, ek_bottleneck *b, ek_error *err)
{
    const ek__pipeline *p = &d->pipeline;
    return ek__bottleneck_show(
        b,
        (ek_evidence){ek__pool_format(d->out->pool,
                                      "with less recomputation the largest peak is predicted at %.0f MB of %.0f",
                                      p->kept_peak_mb, p->limit_mb),
                      d->input->job->path, NULL, -1},
        err);
}

static ek_status add_with_plan(ek__diagnose *d, double cost_ns, int rank, ek_error *err)
{
    const ek__pipeline *p = &d->pipeline;
    const ek__edit_oracle today = ek__pipeline_today(p);
    double gain = (p->today_ms - p->kept_layers_ms) / 1e3;
    ek_bottleneck b = {.id = "recompute",
                       .topic = EK_TOPIC_MEMORY,
                       .basis = p->measured ? EK_BASIS_SIMULATED : EK_BASIS_ASSUMED,
                       .cost_seconds = cost_ns / 1e9,
                       .gain_seconds = gain,
                       .peak_mb = p->kept_peak_mb};
    b.title = ek__pool_format(d->out->pool,
                              "Unnecessary recomputation: %.2f ms of a step, %.1f %%; the memory limit allows less.",
                              gain * 1e3, 100e9 * gain / d->step_ns);
    b.setting = ek__pipeline_settings(p, &p->kept_layers, &today, ek__framework_of(d), d->out->pool);
    b.change = "Recompute fewer layers, as far as the memory limit allows.";
    b.rests_on = p->measured ? "the simulated step of the current plan less that of the plan with less recomputation, "
                               "with measured times of the layers; memory as predicted from the settings"
                             : "the predicted step of the current plan less that of the plan with less recomputation; "
                               "memory as predicted from the settings";
    const char *peak = ek__pipeline_peak(p, p->kept_peak_mb, d->out->pool);
    b.caution = peak ? ek__pool_format(d->out->pool, "%c%s.", peak[0] - 'a' + 'A', peak + 1) : NULL;
    if (!b.caution)
        return ek__no_memory(err);
    ek_status status = show_cost(d, cost_ns, rank, &b, err);
    if (!status)
        status = show_room(d, &b, err);
    return status ? status : ek__bottleneck_add(d, &b, err);
}

/* ---- recomputation that memory needs ---- */

/* The reason why today's layers cannot recompute less. */
static const char *why_needed(const ek__diagnose *d)
{
    const ek__pipeline *p = &d->pipeline;
    if (!p->kept_layers.layers)
        return ek__pool_format(
            d->out->pool,
            "with the current layers per stage no other recomputation within the limit of %.0f MB was found",
            p->limit_mb);
    return ek__pool_format(d->out->pool,
                           "the least recomputation within the limit of %.0f MB changes the %s step from %.2f to %.2f "
                           "ms, with a largest peak of %.0f MB",
                           p->limit_mb, p->measured ? "simulated" : "predicted", p->today_ms,
                           fmin(p->today_ms, p->kept_layers_ms), p->kept_peak_mb);
}

/* Share of the step gained by less recomputation after the measure: at most the gain of both together, and at most its
 * excess over the gain of the measure by itself, which has nothing to do with recomputation. */
static double relief_of(const ek_mitigation *m)
{
    double without = isnan(m->step_change) ? 0 : m->step_change;
    return m->possible && m->relieved[0] ? fmin(-m->relieved_change, without - m->relieved_change) : 0;
}

/* The measure after which the least recomputation brings most. */
static ek_status find_relief(const ek__diagnose *d, ek_mitigation *best, ek_error *err)
{
    ek_mitigation *list = ek__alloc(EK_MAX_MEASURES, sizeof *list);
    int n = 0;
    ek_error why = {0};
    *best = (ek_mitigation){.relieved_change = 0};
    if (!list)
        return ek__no_memory(err);
    ek_status status = ek_memory_mitigations(d->input->job, d->input->device, list, &n, &why);
    for (int i = 0; i < n && !status; i++)
        if (relief_of(&list[i]) > relief_of(best))
            *best = list[i];
    free(list);
    if (status == EK_ERR_INPUT)
        return EK_OK;
    if (status && err)
        *err = why;
    return status;
}

/* Report the cost of recomputation where the layers need all of it, and the measure that makes room. */
static ek_status add_needed(ek__diagnose *d, double cost_ns, int rank, ek_error *err)
{
    const ek__pipeline *p = &d->pipeline;
    struct ek__pool *pool = d->out->pool;
    ek_mitigation relief;
    ek_status status = find_relief(d, &relief, err);
    if (status)
        return status;
    ek_bottleneck b = {.id = "recompute",
                       .topic = EK_TOPIC_MEMORY,
                       .basis = EK_BASIS_ASSUMED,
                       .cost_seconds = cost_ns / 1e9,
                       .gain_seconds = NAN};
    bool relieved = relief_of(&relief) > d->options->least_share;
    b.title = ek__pool_format(pool, "Recomputation takes %.2f ms of a step, %.1f %%; the memory limit requires it.",
                              cost_ns / 1e6, 100 * cost_ns / d->step_ns);
    if (relieved) {
        b.gain_seconds = relief_of(&relief) * d->step_ns / 1e9;
        b.peak_mb = relief.relieved_mb;
        b.setting = ek__pool_format(pool, "%s", relief.relieved);
        b.change = ek__pool_format(pool, "%c%s: this frees memory for less recomputation.", relief.name[0] - 'a' + 'A',
                                   relief.name + 1);
        const char *peak = ek__pipeline_peak(p, relief.relieved_mb, pool);
        b.caution = peak ? ek__pool_format(pool, "%c%s.", peak[0] - 'a' + 'A', peak + 1) : NULL;
        if (!b.caution)
            return ek__no_memory(err);
    } else {
        b.setting =
            ek__framework_of(d) == EK_TORCHTITAN ? "[activation_checkpoint] unchanged" : "recompute_config unchanged";
        b.change = "No recomputation can be removed at this memory limit; `evenkeel memory --measures` lists settings "
                   "that save memory.";
    }
    b.rests_on = relieved ? "predicted steps: the current settings, and the changed setting with the least "
                            "recomputation that then fits; memory as predicted from the settings"
                          : "steps predicted from the settings; memory as predicted from them";
    status = ek__bottleneck_show(&b, (ek_evidence){why_needed(d), d->input->job->path, NULL, -1}, err);
    if (!status)
        status = show_cost(d, cost_ns, rank, &b, err);
    return status ? status : ek__bottleneck_add(d, &b, err);
}

/* A plan has one list for each kind; patterns with lists of their own are more than it can say. */
static bool has_uneven_patterns(const ek_job *job)
{
    size_t size = (size_t)job->plan.n_stages * (size_t)job->plan.n_chunks * sizeof(int);
    for (int i = 0; i < job->n_patterns; i++) {
        const ek_pattern *pattern = &job->pattern[i];
        const ek_pattern_kind of = ek_pattern_list(pattern);
        const int *list = of == EK_PATTERN_SELECT ? job->plan.select
                          : of == EK_PATTERN_COMM ? job->plan.comm
                                                  : pattern->layers;
        if (memcmp(pattern->layers, list, size) != 0)
            return true;
    }
    return false;
}

static ek_status report_uneven_patterns(ek__diagnose *d, ek_error *err)
{
    if (!has_uneven_patterns(d->input->job))
        return EK_OK;
    return ek__bottleneck_note(
        d,
        "patterns of recompute_config have separate lists: the current step is simulated with the longest list for all "
        "patterns of a kind, so the real one may be shorter; peaks use the actual lists",
        err);
}

static ek_status look_at_plan(ek__diagnose *d, double cost_ns, int rank, ek_error *err)
{
    const ek__pipeline *p = &d->pipeline;
    double gain_ns = (p->today_ms - p->kept_layers_ms) * 1e6;
    if (p->kept_layers.layers && gain_ns > 0 && gain_ns >= ek__least_ns(d))
        return add_with_plan(d, cost_ns, rank, err);
    if (cost_ns >= ek__least_ns(d) && cost_ns > 0)
        return add_needed(d, cost_ns, rank, err);
    return ek__bottleneck_below(d, "recompute", cost_ns / d->step_ns, err);
}

static ek_status add_without_memory(ek__diagnose *d, double cost_ns, int rank, ek_error *err)
{
    ek_bottleneck b = {.id = "recompute",
                       .topic = EK_TOPIC_MEMORY,
                       .basis = EK_BASIS_MEASURED,
                       .cost_seconds = cost_ns / 1e9,
                       .gain_seconds = NAN,
                       .setting = "recompute_config.recompute: fewer layers of each stage",
                       .change = "Recompute only as much as the memory limit requires.",
                       .rests_on = "the cost is measured; the unnecessary part depends on memory, which needs the "
                                   "training YAML with its limit"};
    b.title = ek__pool_format(
        d->out->pool, "Recomputation takes %.2f ms of a step; whether the memory limit requires it is not known.",
        cost_ns / 1e6);
    ek_status status = show_cost(d, cost_ns, rank, &b, err);
    return status ? status : ek__bottleneck_add(d, &b, err);
}

/* The graph's checks split requests without effect by their cause; each is reported by one of them. */
static bool is_without_effect(const ek_ir_finding *f)
{
    return strcmp(f->check, "recompute-not-in-effect") == 0 || strcmp(f->check, "recompute-blocked-by-reshape") == 0;
}

/* Recomputation that is set but not in effect. */
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
                               .rests_on = "the graph: the backward pass uses the original value, so it is saved"};
            b.title = f->bytes > 0
                          ? ek__pool_format(
                                d->out->pool,
                                "Requested recomputation is not in effect: %.1f MB are saved for every micro-batch.",
                                (double)f->bytes * 0x1p-20)
                          : "Requested recomputation is not in effect.";
            b.change = "Make the request effective, or remove it.";
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
    const ek_framework framework = ek__framework_of(d);
    bool has_graphs = framework == EK_MINDFORMERS || framework == EK_MINDFORMERS_MCORE;
    if (!status && d->input->n_ir == 0 && has_graphs)
        status = ek__bottleneck_needs(d, "whether recomputation is in effect", "the IR of the compiled graph",
                                      ek__how_to_graph(d), err);
    if (status)
        return status;
    double cost = most_recomputing(&d->measured, &rank);
    if (p->there && p->memory_known) {
        if (p->measured)
            status = report_uneven_patterns(d, err);
        else
            cost = predicted_cost(&p->step);
        return status ? status : look_at_plan(d, cost, rank, err);
    }
    if (cost > 0 && cost >= ek__least_ns(d))
        return add_without_memory(d, cost, rank, err);
    if (!d->measured.run && !p->there)
        return ek__bottleneck_needs(d, "time of recomputation", "a trace, or the settings with --device",
                                    ek__how_to_times(d), err);
    return EK_OK;
}
