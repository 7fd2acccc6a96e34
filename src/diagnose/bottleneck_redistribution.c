/* Finds redistribution: collectives that the framework inserts between two operators with different strategies. A graph
 * has the collectives, a trace their times: of the exposed collectives of the same operation within layers, the share
 * of the bytes that the graph shows to be redistribution. With matching strategies they would not exist, so that share
 * is the gain. Where the trace has no such operation, or there is no trace, their bytes over a rate are used
 * (transfer_time.h), as if nothing overlapped them: an upper bound of the gain. Without a graph they cannot be
 * distinguished from the operators' own communication. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "diagnose/communication.h"
#include "diagnose/transfer_time.h"

/* Evidence of the graph: its own findings, else the number of collectives. */
static ek_status show_graph(const ek__diagnose *d, ek_bottleneck *b, ek_error *err)
{
    const ek_run_input *in = d->input;
    ek_status status = EK_OK;
    for (int i = 0; i < in->n_ir && !status; i++) {
        const ek_ir_report *report = in->ir[i];
        int n = 0;
        double bytes = 0;
        for (int k = 0; k < report->n_comms; k++)
            if (report->comm[k].role == EK_IR_ROLE_REDISTRIBUTION) {
                n++;
                bytes += report->comm[k].traffic > 0 ? (double)report->comm[k].traffic : 0;
            }
        for (int k = 0; k < report->n_findings && !status; k++)
            if (strstr(report->finding[k].check, "redistribution"))
                status = ek__bottleneck_show(
                    b, (ek_evidence){ek__pool_format(d->out->pool, "%s", report->finding[k].text), NULL, NULL, -1},
                    err);
        if (!status && n > 0)
            status = ek__bottleneck_show(
                b,
                (ek_evidence){
                    ek__pool_format(
                        d->out->pool,
                        "the graph has %d redistribution collective%s; each device sends %.1f MB for one micro-batch",
                        n, n == 1 ? "" : "s", bytes * 0x1p-20),
                    NULL, NULL, -1},
                err);
    }
    return status;
}

static int count_redistributions(const ek_run_input *in)
{
    int n = 0;
    for (int i = 0; i < in->n_ir; i++)
        for (int k = 0; k < in->ir[i]->n_comms; k++)
            n += in->ir[i]->comm[k].role == EK_IR_ROLE_REDISTRIBUTION;
    return n;
}

static ek_status add_timed(ek__diagnose *d, const ek__comm_classes *classes, double *share, ek_bottleneck *b,
                           ek_error *err)
{
    double most = 0, sum = 0, gain = 0;
    int rank = -1;
    for (int i = 0; i < classes->n; i++) {
        const ek__comm_class *c = &classes->class_of[i];
        share[i] = ek__redistributed_share(d->input, c);
        sum = (i > 0 && c->rank == c[-1].rank ? sum : 0) + share[i] * c->exposed_ns;
        if (sum > most) {
            most = sum;
            rank = c->rank;
        }
    }
    if (rank < 0) /* all hidden */
        return EK_OK;
    const ek_trace_rank *r = &d->measured.run->rank[rank];
    ek_status status = ek__comm_gain(&d->measured, classes, share, &gain, err);
    if (!status)
        status = ek__bottleneck_show(
            b,
            (ek_evidence){ek__pool_format(d->out->pool,
                                          "%s: %.2f ms of a step in such collectives, not overlapped with computing",
                                          ek__who_is(r).text, most / 1e6),
                          ek__file_of(r), NULL, r->rank},
            err);
    if (status)
        return status;
    b->cost_seconds = most / 1e9;
    b->gain_seconds = gain / 1e9;
    b->title = ek__pool_format(d->out->pool, "Tensors are redistributed between operators: %.2f ms of a step, %.1f %%.",
                               most / 1e6, 100 * most / d->step_ns);
    return ek__bottleneck_add(d, b, err);
}

/* ---- by bytes ---- */

/* Of the graph with most of it, one micro-batch; NAN when bytes or rates are not known. */
static ek_status time_by_bytes(const ek__diagnose *d, double *ns, ek__rate *rate, ek_error *err)
{
    *ns = NAN;
    for (int i = 0; i < d->input->n_ir; i++) {
        const ek_ir_report *report = d->input->ir[i];
        double sum = 0;
        ek__rate one = {0};
        for (int k = 0; k < report->n_comms; k++) {
            if (report->comm[k].role != EK_IR_ROLE_REDISTRIBUTION)
                continue;
            ek_status status = ek__rate_find(d, report->comm[k].n_ranks, &one, err);
            if (status)
                return status;
            double time = ek__rate_time(&one, &report->comm[k]);
            sum += isnan(time) ? 0 : time;
        }
        if (sum > 0 && !(sum <= *ns)) {
            *ns = sum;
            *rate = one;
        }
    }
    return EK_OK;
}

/* Exposed communication of the rank with most of it: an upper bound of the time of the bytes. */
static double most_exposed(const ek__diagnose *d)
{
    double most = NAN;
    for (int r = 0; d->measured.run && r < d->measured.run->n_ranks; r++) {
        int64_t ns = d->measured.run->rank[r].mean.communication_not_overlapped;
        if (ns != EK_TRACE_UNKNOWN && !((double)ns <= most))
            most = (double)ns;
    }
    return fmin(most, d->step_ns); /* the other one when one is NAN */
}

static ek_status add_by_bytes(ek__diagnose *d, ek_bottleneck *b, ek_error *err)
{
    ek__rate rate = {0};
    double ns;
    bool known;
    int n = ek__micro_batches_of_step(d, &known);
    ek_status status = time_by_bytes(d, &ns, &rate, err);
    if (status)
        return status;
    if (isnan(ns)) {
        b->rests_on = "only the graph: no trace and no device gives the transfer rate of its bytes";
        return ek__bottleneck_add(d, b, err);
    }
    double cost = fmin(ns * n, most_exposed(d));
    b->cost_seconds = b->gain_seconds = cost / 1e9;
    b->basis = rate.basis;
    b->rests_on = ek__pool_format(
        d->out->pool,
        "the graph's bytes of one micro-batch times %d%s, over %s, without overlap: an upper bound of the gain", n,
        known ? "" : " (number of micro-batches of a step not known)", rate.source);
    b->title = ek__pool_format(d->out->pool, "Tensors are redistributed between operators: up to %.2f ms of a step.",
                               cost / 1e6);
    return ek__bottleneck_add(d, b, err);
}

/* Does the trace have operations of the kinds that the graph redistributes with? */
static bool trace_has_them(const ek__diagnose *d, const ek__comm_classes *classes)
{
    for (int i = 0; i < classes->n; i++)
        if (ek__redistributed_share(d->input, &classes->class_of[i]) > 0)
            return true;
    return false;
}

ek_status ek__bottleneck_redistribution(ek__diagnose *d, ek_error *err)
{
    ek_framework framework = ek__framework_of(d);
    if (framework == EK_MEGATRON || framework == EK_MINDSPEED || framework == EK_TORCHTITAN)
        return EK_OK; /* nothing is redistributed by itself */
    if (d->input->n_ir == 0)
        return ek__bottleneck_needs(d, "redistribution between operators' layouts", "the IR of the compiled graph",
                                    ek__how_to_graph(d), err);
    if (count_redistributions(d->input) == 0)
        return EK_OK;
    ek_bottleneck b = {
        .id = "redistribution",
        .topic = EK_TOPIC_COMMUNICATION,
        .basis = EK_BASIS_DERIVED,
        .cost_seconds = NAN,
        .gain_seconds = NAN,
        .setting = "shard((...)) of the two operators, so that the output's layout is the input's",
        .change =
            "Use matching strategies for the operators on both sides, so that nothing is redistributed between them.",
        .rests_on = "exposed time of these operations in the trace, by the share of redistribution in their bytes in "
                    "the graph, removed from a replay of the measured steps",
        .caution = "Another strategy changes the memory of each device."};
    b.title = "Tensors are redistributed between operators; no trace has the time of it.";
    ek_status status = show_graph(d, &b, err);
    if (status || !d->measured.run)
        return status ? status : add_by_bytes(d, &b, err);
    ek__comm_classes classes;
    status = ek__comm_classes_make(&d->measured, &classes, err);
    if (status)
        return status;
    double *share = ek__alloc((size_t)classes.n, sizeof *share);
    if (!share)
        status = ek__no_memory(err);
    else
        status = trace_has_them(d, &classes) ? add_timed(d, &classes, share, &b, err) : add_by_bytes(d, &b, err);
    free(share);
    ek__comm_classes_clear(&classes);
    return status;
}
