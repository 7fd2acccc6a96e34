/* Computes the rate at which collectives move bytes: that of the links in the trace that moved most; else that of all
 * the trace's collectives with known bytes; else that of the device's links. A graph and a trace name groups
 * differently, so the rate is that of the run and not of the group. The second includes waits for late ranks, so links
 * come first. Copies within a device are not links. */
#include "diagnose/transfer_time.h"

#include <math.h>
#include <string.h>

#include "base/error.h"

static const ek_trace_run_transport *busiest(const ek_trace_run *run)
{
    const ek_trace_run_transport *best = NULL;
    for (int i = 0; run && i < run->n_transports; i++) {
        const ek_trace_run_transport *t = &run->transport[i];
        if (strcmp(t->name, "LOCAL") == 0 || !(t->mean_gbps > 0))
            continue;
        if (!best || t->total_size_mb > best->total_size_mb)
            best = t;
    }
    return best;
}

/* Bytes of the message over its time, of all collectives with known bytes. */
static double of_collectives(const ek_trace_run *run)
{
    double bytes = 0, ns = 0;
    for (int r = 0; run && r < run->n_ranks; r++)
        for (int i = 0; i < run->rank[r].communication.n_sums; i++) {
            const ek_trace_collective_sum *s = &run->rank[r].communication.sum[i];
            if (s->bytes == EK_TRACE_UNKNOWN || s->total <= 0)
                continue;
            bytes += (double)s->bytes * (double)s->count;
            ns += (double)s->total;
        }
    return ns > 0 && bytes > 0 ? bytes / ns : NAN;
}

static void of_device(const ek_device *device, int n_ranks, ek__rate *out, ek__pool *pool)
{
    bool within = n_ranks > 0 && n_ranks <= device->devices_per_node;
    const ek_tier *tier = &device->tier[within ? 0 : device->n_tiers - 1];
    double reached = tier->share[EK_COLLECTIVE_ALL_REDUCE] * tier->gbs;
    if (!(reached > 0))
        return;
    out->gbs = reached;
    out->basis = EK_BASIS_ASSUMED;
    out->source = ek__pool_format(pool, "links of %s %s a node, %.1f GB/s in practice", device->name,
                                  within ? "within" : "beyond", reached);
}

ek_status ek__rate_find(const ek__diagnose *d, int n_ranks, ek__rate *out, ek_error *err)
{
    ek__pool *pool = d->out->pool;
    const ek_trace_run_transport *links = busiest(d->measured.run);
    double messages = of_collectives(d->measured.run);
    *out = (ek__rate){.gbs = NAN, .basis = EK_BASIS_DERIVED};
    if (links) {
        out->gbs = links->mean_gbps;
        out->source = ek__pool_format(pool, "the mean of %s links in the trace, %.1f GB/s", links->name, out->gbs);
    } else if (messages > 0) {
        out->gbs = messages;
        out->of_message = true;
        out->source = ek__pool_format(pool, "the rate of other collectives in the trace, %.1f GB/s", out->gbs);
    } else if (d->input->device) {
        of_device(d->input->device, n_ranks, out, pool);
    }
    return !isnan(out->gbs) && !out->source ? ek__no_memory(err) : EK_OK;
}

double ek__rate_time(const ek__rate *rate, const ek_ir_comm *comm)
{
    int64_t bytes = rate->of_message ? comm->bytes : comm->traffic;
    return bytes >= 0 ? (double)bytes / rate->gbs : NAN;
}

int ek__micro_batches_of_step(const ek__diagnose *d, bool *known)
{
    int n = 0;
    *known = true;
    for (int r = 0; d->measured.run && r < d->measured.run->n_ranks; r++)
        n = d->measured.run->rank[r].layers.n_micro_batches > n ? d->measured.run->rank[r].layers.n_micro_batches : n;
    const ek_job *job = d->input->job;
    if (n == 0 && job) {
        n = job->parallel.n_micro_batches;
        if (job->parallel.pipeline == 1 && job->parallel.n_accumulation > 1)
            n *= job->parallel.n_accumulation;
    }
    *known = n > 0;
    return n > 0 ? n : 1;
}
