/* Computes the overlap of collectives by bucket with one pass: gradients fill buckets in the order in which backward
 * makes them, and each bucket's collective waits for the last gradient in it; weights are gathered in the order in
 * which forward needs them, and each layer waits for the last bucket with a part of it. One stream carries them, one
 * after the other. A layer's gradients are complete as its backward ends. Equal buckets that are ready together are one
 * term, so the work does not grow with their number. */
#include <math.h>

#include "cost/data_internal.h"

/* The rest of a bucket after whole ones is noise below this. */
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

/* Size of the bucket of this layer in bytes, 0: everything up to span_end(). */
static double bucket_of(const ek__data_plan *plan, const ek__data_layer *layer)
{
    bool apart = plan->job->run.first_stage_buckets && !(plan->stage->first && layer->chunk == 0);
    return apart || plan->job->run.layer_buckets ? 0 : plan->job->run.bucket_bytes;
}

static void send_full(ek__data_plan *plan, reduction *r, ek__data_class c, double bucket)
{
    double n = bucket > 0 ? floor(r->pending[c] / bucket) : 0;
    if (n < 1)
        return;
    send(r, n * bucket_seconds(plan, c, bucket, r->each, r->once));
    r->pending[c] = fmax(0, r->pending[c] - n * bucket);
}

static void send_rest(ek__data_plan *plan, reduction *r)
{
    for (int c = 0; c < EK__N_CLASSES; c++) {
        if (r->pending[c] > LEAST_BYTES)
            send(r, bucket_seconds(plan, (ek__data_class)c, r->pending[c], r->each, r->once));
        r->pending[c] = 0;
    }
}

/* Where chunks interleave, the last backward pass of a chunk comes after those of the other micro-batches of its row,
 * and the first forward pass of the next chunk after those of this one. */
static double rest_of_row(const ek__data_stage *stage, double seconds)
{
    return stage->in_a_row > 1 ? (stage->in_a_row - 1) * seconds : 0;
}

/* The layers of a chunk up to `last`. */
static double chunk_seconds(const ek__data_stage *stage, int last, bool backward)
{
    double sum = 0;
    for (int i = last; i >= 0 && stage->layer[i].chunk == stage->layer[last].chunk; i--)
        sum += backward ? stage->layer[i].backward : stage->layer[i].forward;
    return sum;
}

/* Does a chunk begin with layer i? */
static bool begins(const ek__data_stage *stage, int i)
{
    return i == 0 || stage->layer[i - 1].chunk != stage->layer[i].chunk;
}

ek__overlap ek__reduce_buckets(ek__data_plan *plan, bool each, bool once)
{
    reduction r = {.each = each, .once = once};
    for (int i = plan->stage->n_layers - 1; i >= 0; i--) {
        const ek__data_layer *layer = &plan->stage->layer[i];
        r.computed += layer->backward;
        for (int c = 0; c < EK__N_CLASSES; c++) {
            r.pending[c] += ek__class_elements(plan, (ek__data_class)c, layer) * plan->reduce_bytes;
            send_full(plan, &r, (ek__data_class)c, bucket_of(plan, layer));
        }
        if (plan->job->run.layer_buckets || begins(plan->stage, i))
            send_rest(plan, &r);
        if (i > 0 && begins(plan->stage, i))
            r.computed += rest_of_row(plan->stage, chunk_seconds(plan->stage, i - 1, true));
    }
    double exposed = plan->job->run.overlap_gradients ? fmax(0, r.sent - r.computed) : r.traffic;
    return (ek__overlap){r.traffic, exposed};
}

/* ---- weights ---- */

typedef struct gathering {
    double now, waited;            /* of computing */
    double sent;                   /* seconds on the stream so far */
    double wanted[EK__N_CLASSES];  /* bytes of the span that layers up to here have */
    double asked[EK__N_CLASSES];   /* bytes of it in buckets so far */
    double total[EK__N_CLASSES];   /* of it */
    double bucket[EK__N_CLASSES];  /* bytes */
    double arrived[EK__N_CLASSES]; /* when the last bucket is complete */
} gathering;

/* Buckets until all that is wanted is in one: whole ones, then the span's last. */
static void ask(ek__data_plan *plan, gathering *g, ek__data_class c)
{
    double bucket = g->bucket[c], left = g->total[c] - g->asked[c], missing = g->wanted[c] - g->asked[c];
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

/* The end of the layers that may share buckets with layer `first`. */
static int span_end(const ek__data_plan *plan, int first)
{
    int end = first + 1;
    while (end < plan->stage->n_layers && !plan->job->run.layer_buckets && !begins(plan->stage, end))
        end++;
    return end;
}

static double gathered_between(const ek__data_plan *plan, ek__data_class c, int first, int end)
{
    double sum = 0;
    for (int i = first; i < end; i++)
        sum += ek__class_gather_bytes(plan, c, &plan->stage->layer[i]);
    return sum;
}

/* Buckets of a span: as many elements as a bucket of gradients, or the broadcast of one owner of the stage. */
static void start_span(const ek__data_plan *plan, gathering *g, int first, int end)
{
    double elements = bucket_of(plan, &plan->stage->layer[first]) / plan->reduce_bytes;
    for (int i = 0; i < EK__N_CLASSES; i++) {
        ek__data_class c = (ek__data_class)i;
        g->wanted[c] = g->asked[c] = 0;
        g->total[c] = gathered_between(plan, c, first, end);
        g->bucket[c] = elements > 0 ? elements * plan->gather_bytes : g->total[c];
        if (plan->of[c].owners > 0)
            g->bucket[c] = gathered_between(plan, c, 0, plan->stage->n_layers) / plan->of[c].owners;
    }
}

static void run_forward(ek__data_plan *plan, gathering *g, const ek__data_layer *layer)
{
    for (int c = 0; c < EK__N_CLASSES; c++) {
        g->wanted[c] += ek__class_gather_bytes(plan, (ek__data_class)c, layer);
        ask(plan, g, (ek__data_class)c);
        double wait = fmax(0, g->arrived[c] - g->now); /* none for buckets that earlier layers have waited for */
        g->waited += wait;
        g->now += wait;
    }
    g->now += layer->forward;
}

ek__overlap ek__gather_buckets(ek__data_plan *plan)
{
    gathering g = {0};
    for (int first = 0, end; first < plan->stage->n_layers; first = end) {
        end = span_end(plan, first);
        start_span(plan, &g, first, end);
        for (int i = first; i < end; i++)
            run_forward(plan, &g, &plan->stage->layer[i]);
        if (end < plan->stage->n_layers && begins(plan->stage, end))
            g.now += rest_of_row(plan->stage, chunk_seconds(plan->stage, end - 1, false));
    }
    return (ek__overlap){g.sent, plan->job->run.overlap_weights ? g.waited : g.sent};
}
