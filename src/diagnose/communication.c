/* Classifies collectives by purpose. A trace names the operation and the group but not the purpose, which follows from
 * their position in the step: exchanges of tokens are all-to-all; reductions that only begin when most of the step is
 * over, or are fewer than layers would have, are of gradients; gathers that are over before its middle are of weights;
 * collectives over the whole step belong to the layers. Not distinguished: tensor and context parallelism, and
 * gradients that are reduced in every micro-batch. */
#include "diagnose/communication.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/c_locale.h"
#include "base/error.h"
#include "trace/analyse/analysis.h"
#include "trace/rank.h"

static const double gradients_from = 0.3, weights_until = 0.6;
enum { MAX_CLASSES = 256 }; /* of a rank; further groups are not checked */

/* Letters of the name without regard to case, "_" and "-". */
static bool has_word(const char *name, const char *word)
{
    for (; *name; name++) {
        const char *a = name, *b = word;
        while (*a && *b && (*a == '_' || *a == '-' || ek__to_lower((unsigned char)*a) == *b)) {
            b += *a != '_' && *a != '-';
            a++;
        }
        if (!*b)
            return true;
    }
    return false;
}

static ek_ir_comm_kind kind_of(const ek_trace_collective *c)
{
    static const struct {
        const char *word;
        ek_ir_comm_kind kind;
    } words[] = {{"allreduce", EK_IR_ALL_REDUCE},
                 {"reducescatter", EK_IR_REDUCE_SCATTER},
                 {"allgather", EK_IR_ALL_GATHER},
                 {"alltoall", EK_IR_ALL_TO_ALL},
                 {"broadcast", EK_IR_BROADCAST}};
    if (c->exchange == EK_EXCHANGE_COLLECTIVE)
        return EK_IR_ALL_TO_ALL;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (has_word(c->name, words[i].word))
            return words[i].kind;
    return EK_IR_OTHER_COMM;
}

/* Tensor parallelism reduces twice in every layer's forward pass and twice in its backward pass: a group that reduces
 * less often does not belong to the layers, wherever in the step it begins. */
static ek__comm_use use_of(const ek_trace_rank *rank, const ek__comm_class *c)
{
    bool reduces = c->kind == EK_IR_ALL_REDUCE || c->kind == EK_IR_REDUCE_SCATTER;
    int n_layers = 0;
    for (int i = 0; i < rank->layers.n; i++)
        n_layers += rank->layers.layer[i].role == EK_TRACE_BODY;
    bool seldom = n_layers > 0 ? c->count < 4.0 * n_layers : c->count <= 4;
    if (c->kind == EK_IR_ALL_TO_ALL)
        return EK__USE_EXPERT;
    if (reduces && (c->first > gradients_from || seldom))
        return EK__USE_GRADIENT;
    if (c->kind == EK_IR_ALL_GATHER && (c->last < weights_until || c->first > gradients_from))
        return c->last < weights_until ? EK__USE_WEIGHTS : EK__USE_GRADIENT;
    return EK__USE_LAYER;
}

/* Time that cannot be separated from waiting counts as transfer: the replay's, where other ranks are present. */
static double exposed_transfer(const ek__measured *m, int rank, int collective)
{
    ek__exposure e = ek__collective_exposure(&m->run->rank[rank].communication.collective[collective]);
    double transfer = m->replay ? ek__replay_transfer(m->replay, rank, collective) : NAN;
    return fmax(0, fmin(e.transfer + e.unknown, transfer)); /* fmin: the other one when one is NAN */
}

/* @return class index, -1 when there are too many */
static int class_at(ek__comm_classes *out, int first, int rank, ek_ir_comm_kind kind, const char *group)
{
    const char *text = group ? group : "";
    for (int i = first; i < out->n; i++)
        if (out->class_of[i].kind == kind && strcmp(out->class_of[i].group ? out->class_of[i].group : "", text) == 0)
            return i;
    if (out->n - first >= MAX_CLASSES)
        return -1;
    out->class_of[out->n] = (ek__comm_class){.rank = rank, .kind = kind, .group = group, .first = 1};
    return out->n++;
}

static void add_one(const ek__measured *m, ek__comm_class *c, int rank, int index)
{
    const ek_trace_rank *r = &m->run->rank[rank];
    const ek_trace_collective *one = &r->communication.collective[index];
    c->count++;
    c->total_ns += (double)one->duration;
    c->exposed_ns += exposed_transfer(m, rank, index);
    double place = 0.5;
    if (one->step >= 0) {
        const ek_trace_step *s = &r->step[one->step];
        place = (double)(one->start - s->start) / (double)(s->end > s->start ? s->end - s->start : 1);
    }
    c->first = fmin(c->first, place);
    c->last = fmax(c->last, place);
}

static bool counts(const ek_trace_rank *rank, const ek_trace_collective *c)
{
    if (!c->name || ek__collective_is_p2p(c))
        return false;
    return c->step >= 0 ? ek__has_window(&rank->step[c->step]) : rank->n_steps == 0;
}

static ek_status sort_rank(const ek__measured *m, int rank, ek__comm_classes *out, ek_error *err)
{
    const ek_trace_rank *r = &m->run->rank[rank];
    const ek_trace_communication *comm = &r->communication;
    int first = out->n;
    out->of[rank] = ek__alloc((size_t)comm->n_collectives, sizeof **out->of);
    ek__comm_class *room = realloc(out->class_of, ((size_t)first + MAX_CLASSES) * sizeof *room);
    if (room)
        out->class_of = room;
    if (!out->of[rank] || !room)
        return ek__no_memory(err);
    for (int i = 0; i < comm->n_collectives; i++) {
        const ek_trace_collective *c = &comm->collective[i];
        out->of[rank][i] = counts(r, c) ? class_at(out, first, rank, kind_of(c), c->group) : -1;
        if (out->of[rank][i] >= 0)
            add_one(m, &out->class_of[out->of[rank][i]], rank, i);
    }
    for (int i = first; i < out->n; i++) {
        ek__comm_class *c = &out->class_of[i];
        c->count /= ek__counted_steps(r);
        c->total_ns /= ek__counted_steps(r);
        c->exposed_ns /= ek__counted_steps(r);
        c->use = use_of(r, c);
    }
    return EK_OK;
}

ek_status ek__comm_classes_make(const ek__measured *m, ek__comm_classes *out, ek_error *err)
{
    ek_status status = EK_OK;
    *out = (ek__comm_classes){.n_ranks = m->run->n_ranks};
    out->of = ek__alloc((size_t)out->n_ranks, sizeof *out->of);
    if (!out->of)
        return ek__no_memory(err);
    for (int r = 0; r < out->n_ranks && !status; r++)
        status = sort_rank(m, r, out, err);
    if (status)
        ek__comm_classes_clear(out);
    return status;
}

void ek__comm_classes_clear(ek__comm_classes *classes)
{
    for (int r = 0; classes->of && r < classes->n_ranks; r++)
        free(classes->of[r]);
    free(classes->of);
    free(classes->class_of);
    *classes = (ek__comm_classes){0};
}

/* Gradients and weights have roles of their own in a graph; within layers it is redistribution or the operators' own.
 */
double ek__redistributed_share(const ek_run_input *input, const ek__comm_class *c)
{
    double all = 0, redistributed = 0;
    if (c->use == EK__USE_GRADIENT || c->use == EK__USE_WEIGHTS)
        return 0;
    for (int i = 0; i < input->n_ir; i++)
        for (int k = 0; k < input->ir[i]->n_comms; k++) {
            const ek_ir_comm *comm = &input->ir[i]->comm[k];
            bool layers = comm->role == EK_IR_ROLE_REDISTRIBUTION || comm->role == EK_IR_ROLE_FORWARD ||
                          comm->role == EK_IR_ROLE_OTHER;
            if (comm->kind != c->kind || !layers)
                continue;
            double weight = comm->traffic > 0 ? (double)comm->traffic : 1;
            all += weight;
            redistributed += comm->role == EK_IR_ROLE_REDISTRIBUTION ? weight : 0;
        }
    return all > 0 ? redistributed / all : 0;
}

static void fill_hidden(const ek__measured *m, const ek__comm_classes *classes, const double *hidden, int rank,
                        double *out)
{
    for (int i = 0; i < m->run->rank[rank].communication.n_collectives; i++) {
        int c = classes->of[rank][i];
        out[i] = c >= 0 ? hidden[c] * exposed_transfer(m, rank, i) : 0;
    }
}

/* Without a replay: of the rank that hides most. */
static double most_hidden(const ek__comm_classes *classes, const double *hidden)
{
    double most = 0, sum = 0;
    for (int i = 0; i < classes->n; i++) {
        sum = i > 0 && classes->class_of[i].rank == classes->class_of[i - 1].rank ? sum : 0;
        sum += hidden[i] * classes->class_of[i].exposed_ns;
        most = fmax(most, sum);
    }
    return most;
}

ek_status ek__comm_gain(const ek__measured *m, const ek__comm_classes *classes, const double *hidden, double *ns,
                        ek_error *err)
{
    if (!m->replay) {
        *ns = most_hidden(classes, hidden);
        return EK_OK;
    }
    ek_status status = EK_OK;
    double **gone = ek__alloc((size_t)classes->n_ranks, sizeof *gone);
    for (int r = 0; gone && r < classes->n_ranks && !status; r++) {
        gone[r] = ek__alloc((size_t)m->run->rank[r].communication.n_collectives, sizeof **gone);
        if (gone[r])
            fill_hidden(m, classes, hidden, r, gone[r]);
        else
            status = ek__no_memory(err);
    }
    if (!gone)
        status = ek__no_memory(err);
    ek__change change = {.hidden = (const double *const *)gone};
    if (!status)
        status = ek__replay_gain(m->replay, &change, ns, err);
    for (int r = 0; gone && r < classes->n_ranks; r++)
        free(gone[r]);
    free(gone);
    return status;
}
