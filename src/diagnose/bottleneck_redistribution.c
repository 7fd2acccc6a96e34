/* Redistribution: collectives that the framework puts between two operators whose strategies do not fit. A graph says
 * which they are, a trace what they take: of the exposed collectives of the same operation within layers, the share of
 * the bytes that the graph shows to be redistribution. With strategies that fit they would not be there, so that share
 * is the gain. Without a trace their bytes are known but not their time. Without a graph they cannot be told from the
 * operators' own communication. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "diagnose/communication.h"

static const char how_to_get_graphs[] =
    "export MS_DEV_SAVE_GRAPHS=1, start again for one step, then give the last validate graph of rank_0";

/* What the graph says: its own findings, else the collectives counted. */
static ek_status show_graph(const ek__diagnose *d, ek_bottleneck *b, ek_error *err)
{
    const ek_run_input *in = d->input;
    ek_status status = EK_OK;
    for (int i = 0; i < in->n_ir && !status; i++) {
        const ek_ir_report *report = in->ir[i];
        int n = 0, found = 0;
        double bytes = 0;
        for (int k = 0; k < report->n_comms; k++)
            if (report->comm[k].role == EK_IR_ROLE_REDISTRIBUTION) {
                n++;
                bytes += report->comm[k].traffic > 0 ? (double)report->comm[k].traffic : 0;
            }
        for (int k = 0; k < report->n_findings && !status; k++)
            if (strstr(report->finding[k].check, "redistribution")) {
                found++;
                status = ek__bottleneck_show(
                    b, (ek_evidence){ek__pool_format(d->out->pool, "%s", report->finding[k].text), NULL, NULL, -1},
                    err);
            }
        if (!status && n > 0)
            status = ek__bottleneck_show(
                b,
                (ek_evidence){
                    ek__pool_format(d->out->pool,
                                    "the graph has %d collective%s of redistribution, which send %.1f MB from "
                                    "each device for one micro-batch",
                                    n, n == 1 ? "" : "s", bytes * 0x1p-20),
                    NULL, NULL, -1},
                err);
        (void)found;
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
    if (rank < 0)
        return EK_OK;
    const ek_trace_rank *r = &d->measured.run->rank[rank];
    ek_status status = ek__comm_gain(&d->measured, classes, share, &gain, err);
    if (!status)
        status = ek__bottleneck_show(
            b,
            (ek_evidence){ek__pool_format(d->out->pool,
                                          "%s: %.2f ms of a step in such collectives with nothing computed beside them",
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

ek_status ek__bottleneck_redistribution(ek__diagnose *d, ek_error *err)
{
    ek_framework framework = ek__framework_of(d);
    if (framework == EK_MEGATRON)
        return EK_OK; /* nothing is redistributed by itself */
    if (d->input->n_ir == 0)
        return ek__bottleneck_needs(d, "redistribution between operators' layouts", "the IR of the compiled graph",
                                    how_to_get_graphs, err);
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
            "Give the operators on both sides strategies that fit, so that nothing is redistributed between them.",
        .rests_on = "exposed time of these operations in the trace, by the share of their bytes that the graph shows "
                    "to be redistribution, taken out of a replay of the measured steps",
        .caution = "Another strategy changes what each device holds."};
    b.title = "Tensors are redistributed between operators; no trace tells for how long.";
    ek_status status = show_graph(d, &b, err);
    if (status || !d->measured.run)
        return status ? status : ek__bottleneck_add(d, &b, err);
    ek__comm_classes classes;
    status = ek__comm_classes_make(&d->measured, &classes, err);
    if (status)
        return status;
    double *share = ek__alloc((size_t)classes.n, sizeof *share);
    status = share ? add_timed(d, &classes, share, &b, err) : ek__no_memory(err);
    free(share);
    ek__comm_classes_clear(&classes);
    return status;
}
