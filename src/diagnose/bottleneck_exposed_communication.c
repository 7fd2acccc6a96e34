/* Finds exposed communication, by its purpose, and ways to hide it. Gradients hide behind the last micro-batch's
 * backward passes except for their last bucket; weights behind the first micro-batch's forward passes except for the
 * first; communication of layers and experts behind the other half of the batch, which hides the lesser of both halves'
 * computing and communication. Without a trace it is that of the predicted step. Hidden communication never exceeds the
 * computing that hides it. Left out: receives of the pipeline, which are bubbles; waits for a late rank; redistribution
 * between layouts, which can be avoided altogether. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "diagnose/communication.h"
#include "diagnose/predicted.h"

typedef struct exposure {
    ek__diagnose *d;
    ek__comm_classes classes;
    double *hidden; /* [classes] share of each one's exposed transfer */
} exposure;

/* Computing of one micro-batch on a rank, nanoseconds. Without layers: a third of the rank's own computing is forward,
 * two thirds backward, in the job's number of micro-batches. */
static double computing_of(const exposure *x, const ek_trace_rank *rank, bool backward)
{
    double sum = 0;
    for (int i = 0; i < rank->layers.n; i++) {
        const ek_trace_pass *pass = backward ? &rank->layers.layer[i].backward : &rank->layers.layer[i].forward;
        sum += pass->n > 0 ? pass->busy_median : 0;
    }
    if (sum > 0)
        return sum;
    const ek_job *job = x->d->input->job;
    double micro_batches = job ? job->parallel.n_micro_batches : rank->layers.n_micro_batches;
    double computing = rank->mean.computing == EK_TRACE_UNKNOWN ? 0 : (double)rank->mean.computing;
    return computing / fmax(1, micro_batches) * (backward ? 2.0 / 3 : 1.0 / 3);
}

static int layers_of(const ek_trace_rank *rank)
{
    int n = 0;
    for (int i = 0; i < rank->layers.n; i++)
        n += rank->layers.layer[i].role == EK_TRACE_BODY;
    return n > 0 ? n : 1;
}

/* Share of a class that can be hidden. */
static double hideable(const exposure *x, const ek__comm_class *c)
{
    const ek_trace_rank *rank = &x->d->measured.run->rank[c->rank];
    if (!(c->exposed_ns > 0))
        return 0;
    if (c->use == EK__USE_GRADIENT || c->use == EK__USE_WEIGHTS) {
        /* As many buckets as layers, or as there are calls already. */
        double buckets = fmax(c->count, layers_of(rank)), beside = computing_of(x, rank, c->use == EK__USE_GRADIENT);
        double stays = buckets > 1 ? c->total_ns / buckets : 0;
        return fmax(0, fmin(c->exposed_ns - stays, beside)) / c->exposed_ns;
    }
    double computing = rank->mean.computing == EK_TRACE_UNKNOWN ? 0 : (double)rank->mean.computing;
    double keep = 1 - ek__redistributed_share(x->d->input, c);
    return keep * fmin(c->exposed_ns, computing) / 2 / c->exposed_ns;
}

/* ---- remedies ---- */

typedef struct remedy {
    const char *title, *mindspore, *torch, *change, *caution;
} remedy;

static const remedy remedies[EK__N_USES] = {
    {"Reducing gradients", "parallel_speed_up.json: \"enable_grad_comm_opt\": true", "--overlap-grad-reduce",
     "Reduce gradients bucket by bucket during the backward passes of the last micro-batch; the last bucket stays "
     "exposed.",
     "Collectives slow down overlapped computing by their share of the memory bandwidth."},
    {"Gathering weights", "parallel_speed_up.json: \"enable_opt_shard_comm_opt\": true", "--overlap-param-gather",
     "Gather weights one group of layers ahead, during the forward passes of the first micro-batch; the first group "
     "stays exposed.",
     "Weights gathered ahead need memory."},
    {"Communication inside layers", "model.model_config.fine_grain_interleave: 2", "--tp-comm-overlap",
     "Compute the batch in two halves, one of which communicates while the other computes.",
     "Two halves have more live activations; half-sized operators are less efficient."},
    {"Token exchange between experts", "moe_config.enable_alltoall: True\nmodel.model_config.fine_grain_interleave: 2",
     "--moe-alltoall-overlap-comm",
     "Exchange the tokens of one half of the batch, or of the routed experts, while the other half or the shared "
     "expert is computed.",
     "Two halves have more live activations."},
};

/* ---- one use ---- */

/* Of the rank with most of it. */
typedef struct worst {
    int rank;
    double exposed;
} worst;

static worst find_worst(const exposure *x, ek__comm_use use)
{
    worst w = {-1, 0};
    double sum = 0;
    for (int i = 0; i < x->classes.n; i++) {
        const ek__comm_class *c = &x->classes.class_of[i];
        sum = i > 0 && c->rank == c[-1].rank ? sum : 0;
        if (c->use != use)
            continue;
        sum += c->exposed_ns * (1 - ek__redistributed_share(x->d->input, c));
        if (sum > w.exposed)
            w = (worst){c->rank, sum};
    }
    return w;
}

static ek_status show_classes(const exposure *x, ek__comm_use use, int rank, ek_bottleneck *b, ek_error *err)
{
    const ek_trace_rank *r = &x->d->measured.run->rank[rank];
    for (int i = 0; i < x->classes.n; i++) {
        const ek__comm_class *c = &x->classes.class_of[i];
        if (c->use != use || c->rank != rank || !(c->exposed_ns > 0))
            continue;
        const char *text = ek__pool_format(
            x->d->out->pool, "%s: %s%s%.80s: %.2f of %.2f ms a step not overlapped with computing, %.3g calls",
            ek__who_is(r).text, ek_ir_comm_kind_name[c->kind], c->group ? " of group " : "", c->group ? c->group : "",
            c->exposed_ns / 1e6, c->total_ns / 1e6, c->count);
        ek_status status = ek__bottleneck_show(b, (ek_evidence){text, ek__file_of(r), NULL, r->rank}, err);
        if (status)
            return status;
    }
    return EK_OK;
}

static ek_status look_at(exposure *x, ek__comm_use use, ek_error *err)
{
    ek__diagnose *d = x->d;
    const remedy *how = &remedies[use];
    worst w = find_worst(x, use);
    double gain = 0;
    if (w.rank < 0 || w.exposed < ek__least_ns(d))
        return EK_OK;
    for (int i = 0; i < x->classes.n; i++)
        x->hidden[i] = x->classes.class_of[i].use == use ? hideable(x, &x->classes.class_of[i]) : 0;
    ek_status status = ek__comm_gain(&d->measured, &x->classes, x->hidden, &gain, err);
    if (status)
        return status;
    ek_framework framework = ek__framework_of(d);
    bool mindspore = framework == EK_MINDFORMERS || framework == EK_MINDFORMERS_MCORE;
    ek_bottleneck b = {.id = "exposed-communication",
                       .topic = EK_TOPIC_COMMUNICATION,
                       .basis = EK_BASIS_DERIVED,
                       .cost_seconds = w.exposed / 1e9,
                       .gain_seconds = gain / 1e9,
                       .setting = mindspore ? how->mindspore : how->torch,
                       .change = how->change,
                       .caution = how->caution,
                       .rests_on = ek__gain_rests_on(&d->measured)};
    b.title = ek__pool_format(d->out->pool, "%s is not overlapped: %.2f ms of a step, %.1f %%.", how->title,
                              w.exposed / 1e6, 100 * w.exposed / d->step_ns);
    status = show_classes(x, use, w.rank, &b, err);
    return status ? status : ek__bottleneck_add(d, &b, err);
}

/* ---- without a trace ---- */

static const struct {
    ek_step_part part;
    const char *title, *otherwise;
} predicted[] = {
    {EK_STEP_DATA, "Gradient reduction and weight gathering",
     "More micro-batches a step, or fewer data-parallel ranks, give more computing per exchange; `evenkeel memory "
     "--measures` compares degrees."},
    {EK_STEP_TENSOR, "Communication of tensor parallel groups",
     "Use groups within a node, no larger than memory requires; more stages also free memory; `evenkeel memory "
     "--measures` compares degrees."},
    {EK_STEP_CONTEXT, "Communication of context parallel groups",
     "Use groups within a node, no larger than memory requires; `evenkeel memory --measures` compares degrees."},
    {EK_STEP_EXPERT, "Token exchange between experts",
     "Use groups within a node; reduce expert parallelism if memory is sufficient for more experts per rank."},
};

static ek_status look_at_prediction(ek__diagnose *d, ek_error *err)
{
    ek_status status = EK_OK;
    for (size_t i = 0; i < sizeof predicted / sizeof *predicted && !status; i++)
        status = ek__predicted_part(d, predicted[i].part, "exposed-communication", EK_TOPIC_COMMUNICATION,
                                    predicted[i].title, predicted[i].otherwise, err);
    return status ? status
                  : ek__bottleneck_needs(d, "communication that is not overlapped", "a trace of all ranks",
                                         ek__how_to_trace(d), err);
}

ek_status ek__bottleneck_exposed_communication(ek__diagnose *d, ek_error *err)
{
    exposure x = {.d = d};
    if (!d->measured.run)
        return look_at_prediction(d, err);
    ek_status status = ek__comm_classes_make(&d->measured, &x.classes, err);
    if (status)
        return status;
    x.hidden = ek__alloc((size_t)x.classes.n, sizeof *x.hidden);
    if (!x.hidden)
        status = ek__no_memory(err);
    for (int use = 0; use < EK__N_USES && !status; use++)
        status = look_at(&x, (ek__comm_use)use, err);
    free(x.hidden);
    ek__comm_classes_clear(&x.classes);
    return status;
}
