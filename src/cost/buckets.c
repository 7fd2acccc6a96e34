/* Collectives by bucket beside one pass: gradients fill buckets in the order in which backward makes them, and each
 * bucket's collective waits for the last gradient in it; weights are gathered in the order in which forward wants them,
 * and each layer waits for the last bucket with a part of it. One stream carries them, one after the other. A layer's
 * gradients are there as its backward ends. Equal buckets that are ready together are one term, so the work does not
 * grow with their number. */
#include <math.h>

#include "cost/data_internal.h"

/* What is left of a bucket after whole ones is noise below this. */
#define LEAST_BYTES 0.5

static double bucket_seconds(ek__data_plan *plan, ek__data_class c, double bytes, bool each, bool once)
{
    ek__data_routes *r = &plan->of[c];
    return (each ? ek__route_seconds(plan, &r->each, bytes) : 0) +
           (once ? ek__route_seconds(plan, &r->once, bytes) : 0);
}

/* ---- gradients ---- */

typedef struct reduction {
    double computed, sent, traffic; /* when computing and the stream are done; seconds on the stream */
    double pending[EK__N_CLASSES];  /* bytes in the open bucket */
    bool each, once;
} reduction;

static void send(reduction *r, double seconds)
{
    if (seconds > 0)
        r->sent = fmax(r->sent, r->computed) + seconds;
    r->traffic += seconds;
}

static void send_full(ek__data_plan *plan, reduction *r, ek__data_class c)
{
    double bucket = plan->job->run.bucket_bytes, n = bucket > 0 ? floor(r->pending[c] / bucket) : 0;
    if (n < 1)
        return;
    send(r, n * bucket_seconds(plan, c, bucket, r->each, r->once));
    r->pending[c] = fmax(0, r->pending[c] - n * bucket);
}

ek__overlap ek__reduce_buckets(ek__data_plan *plan, bool each, bool once)
{
    reduction r = {.each = each, .once = once};
    for (int i = plan->stage->n_layers - 1; i >= 0; i--) {
        const ek__data_layer *layer = &plan->stage->layer[i];
        r.computed += layer->backward;
        for (int c = 0; c < EK__N_CLASSES; c++) {
            r.pending[c] += ek__class_elements(plan, (ek__data_class)c, layer) * plan->reduce_bytes;
            send_full(plan, &r, (ek__data_class)c);
        }
    }
    for (int c = 0; c < EK__N_CLASSES; c++)
        if (r.pending[c] > LEAST_BYTES)
            send(&r, bucket_seconds(plan, (ek__data_class)c, r.pending[c], each, once));
    double exposed = plan->job->run.overlap_gradients ? fmax(0, r.sent - r.computed) : r.traffic;
    return (ek__overlap){r.traffic, exposed};
}

/* ---- weights ---- */

typedef struct gathering {
    double sent;                   /* seconds on the stream so far */
    double wanted[EK__N_CLASSES];  /* bytes that layers up to here have */
    double asked[EK__N_CLASSES];   /* bytes in buckets so far */
    double total[EK__N_CLASSES];   /* of the stage */
    double arrived[EK__N_CLASSES]; /* when the last bucket is there */
} gathering;

/* As many elements as a bucket of gradients has, or what one owner broadcasts. */
static double weight_bucket(const ek__data_plan *plan, double total, ek__data_class c)
{
    double elements = plan->job->run.bucket_bytes / plan->reduce_bytes;
    if (plan->of[c].owners > 0)
        return total / plan->of[c].owners;
    return elements > 0 ? elements * plan->gather_bytes : total;
}

/* Buckets until all that is wanted is in one: whole ones, then the stage's last. */
static void ask(ek__data_plan *plan, gathering *g, ek__data_class c)
{
    double bucket = weight_bucket(plan, g->total[c], c);
    double left = g->total[c] - g->asked[c], missing = g->wanted[c] - g->asked[c];
    if (missing <= LEAST_BYTES)
        return;
    double n = fmin(ceil(missing / bucket), floor(left / bucket));
    g->sent += n * ek__route_seconds(plan, &plan->of[c].gather, bucket);
    if (n * bucket < missing - LEAST_BYTES) {
        g->sent += ek__route_seconds(plan, &plan->of[c].gather, left - n * bucket);
        n = left / bucket;
    }
    g->asked[c] += n * bucket;
    g->arrived[c] = g->sent;
}

static gathering start_gathering(const ek__data_plan *plan)
{
    gathering g = {0};
    for (int i = 0; i < plan->stage->n_layers; i++)
        for (int c = 0; c < EK__N_CLASSES; c++)
            g.total[c] += ek__class_gather_bytes(plan, (ek__data_class)c, &plan->stage->layer[i]);
    return g;
}

ek__overlap ek__gather_buckets(ek__data_plan *plan)
{
    gathering g = start_gathering(plan);
    double now = 0, waited = 0;
    for (int i = 0; i < plan->stage->n_layers; i++) {
        const ek__data_layer *layer = &plan->stage->layer[i];
        for (int c = 0; c < EK__N_CLASSES; c++) {
            double bytes = ek__class_gather_bytes(plan, (ek__data_class)c, layer);
            g.wanted[c] += bytes;
            ask(plan, &g, (ek__data_class)c);
            if (bytes <= 0 || g.arrived[c] <= now)
                continue;
            waited += g.arrived[c] - now;
            now = g.arrived[c];
        }
        now += layer->forward;
    }
    return (ek__overlap){g.sent, plan->job->run.overlap_weights ? waited : g.sent};
}
