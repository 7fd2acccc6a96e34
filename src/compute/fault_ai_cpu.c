/* Finds operators on Ascend's scalar processors (AI CPU), some ten to a hundred times slower than the same on the
 * vector units. The loss is the time beyond the median of an operator of the vector units: the time of the right
 * operator is not known, but these mostly take a few microseconds. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/median.h"
#include "compute/compute_internal.h"

static const ek_compute_operator *operator_of(const ek__compute *c, int rank, const ek_trace_execution *e)
{
    return &c->out->op[c->of[rank][e->op]];
}

/* 0 without one. */
static ek_status usual_vector(const ek__compute *c, int rank, int64_t *usual, ek_error *err)
{
    const ek_trace_measured *m = &c->run->rank[rank].measured;
    int64_t *all = ek__alloc(m->n_all, sizeof *all);
    size_t n = 0;
    if (!all)
        return ek__no_memory(err);
    for (size_t i = 0; i < m->n_all; i++)
        if (operator_of(c, rank, &m->execution[i])->class_ == EK_COMPUTE_VECTOR)
            all[n++] = m->execution[i].duration;
    *usual = ek__median_ns(all, n);
    free(all);
    return EK_OK;
}

static ek_status collect(const ek__compute *c, int rank, ek__fault_losses *losses, ek_error *err)
{
    const ek_trace_measured *m = &c->run->rank[rank].measured;
    int64_t usual;
    ek_status status = usual_vector(c, rank, &usual, err);
    for (size_t i = 0; i < m->n_all && status == EK_OK; i++) {
        const ek_trace_execution *e = &m->execution[i];
        if (operator_of(c, rank, e)->class_ == EK_COMPUTE_AI_CPU &&
            !ek__fault_lose(losses, rank, e->start, e->duration, (double)(e->duration - usual)))
            status = ek__no_memory(err);
    }
    return status;
}

static bool has_ai_cpu(const ek_compute *out)
{
    return out->time[EK_COMPUTE_AI_CPU] > 0;
}

/* The longest of them: "Cumsum (INT64), Unique". NULL when memory is out. */
static const char *names(const ek__compute *c)
{
    const char *text = NULL, *last = NULL;
    int n = 0;
    for (int i = 0; i < c->out->n && n < 3; i++) {
        const ek_compute_operator *op = &c->out->op[i];
        if (op->class_ != EK_COMPUTE_AI_CPU || (last && strcmp(last, op->name) == 0))
            continue;
        last = op->name;
        size_t size = strcspn(op->types, ";");
        text = ek__pool_format(c->run->pool, "%s%s%.80s%s%.*s%s", text ? text : "", text ? ", " : "", op->name,
                               size > 0 ? " (" : "", (int)(size < 20 ? size : 20), op->types, size > 0 ? ")" : "");
        if (!text)
            return NULL;
        n++;
    }
    return text;
}

ek_status ek__fault_ai_cpu(ek__compute *c, ek_error *err)
{
    ek__fault_losses losses = {0};
    ek_status status = EK_OK;
    if (!has_ai_cpu(c->out))
        return EK_OK;
    for (int r = 0; r < c->run->n_ranks && status == EK_OK; r++)
        status = collect(c, r, &losses, err);
    if (status == EK_OK)
        status = ek__fault_add(c, EK_FAULT_AI_CPU, &losses, names(c), ek__compute_instead(EK_FAULT_AI_CPU),
                               "the time of these operators less that of the median operator of the vector units", err);
    free(losses.at);
    return status;
}
