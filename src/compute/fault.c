/* Helpers of faults: collect losses, and make a finding with the rank that loses most of a mean step. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "compute/compute_internal.h"
#include "trace/rank.h"

const char *const ek__compute_fault_name[EK_N_COMPUTE_FAULTS] = {
    "ai-cpu",         "unfused-attention",     "unfused-norm",      "unfused-rope",
    "unfused-swiglu", "unfused-cross-entropy", "layout-transforms", "slow-type",
    "slow-shape"};
const char *const *const ek_compute_fault_name = ek__compute_fault_name;

static const char *const ek__compute_fault_title[EK_N_COMPUTE_FAULTS] = {"Operators run on AI CPU",
                                                                         "Attention is not fused",
                                                                         "Norms are not fused",
                                                                         "Rotary embeddings are not fused",
                                                                         "SwiGLU is not fused",
                                                                         "Cross entropy is not fused",
                                                                         "Layouts are changed back and forth",
                                                                         "Products use a slow type",
                                                                         "Products have slow shapes"};
const char *const *const ek_compute_fault_title = ek__compute_fault_title;

bool ek__fault_lose(ek__fault_losses *losses, int rank, int64_t start, int64_t time, double lost)
{
    if (!(lost >= 1))
        return true;
    ek_compute_loss *grown = ek__with_room(losses->at, &losses->room, losses->n + 1, sizeof *grown);
    if (!grown)
        return false;
    losses->at = grown;
    losses->at[losses->n++] = (ek_compute_loss){rank, start, time, (int64_t)lost};
    return true;
}

static int by_place(const void *a, const void *b)
{
    const ek_compute_loss *x = a, *y = b;
    if (x->rank != y->rank)
        return x->rank - y->rank;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return (x->lost < y->lost) - (x->lost > y->lost);
}

/* Of the rank that loses most of a mean step; losses are by rank. */
static void find_worst(const ek_trace_run *run, ek_compute_finding *f)
{
    f->worst = -1;
    for (size_t i = 0, end; i < f->n; i = end) {
        const ek_trace_rank *rank = &run->rank[f->loss[i].rank];
        double time = 0, lost = 0;
        for (end = i; end < f->n && f->loss[end].rank == f->loss[i].rank; end++)
            if (ek__in_counted_step(rank, f->loss[end].start)) {
                time += (double)f->loss[end].time;
                lost += (double)f->loss[end].lost;
            }
        lost /= ek__counted_steps(rank);
        if (f->worst < 0 || lost > f->lost) {
            f->worst = f->loss[i].rank;
            f->lost = lost;
            f->time = time / ek__counted_steps(rank);
        }
    }
}

ek_status ek__fault_add(ek__compute *c, ek_compute_fault fault, const ek__fault_losses *losses, const char *what,
                        const char *instead, const char *estimate, ek_error *err)
{
    ek_compute *out = c->out;
    if (losses->n == 0)
        return EK_OK;
    ek_compute_finding *list = ek__pool_push(c->run->pool, out->finding, out->n_findings, sizeof *list);
    ek_compute_loss *kept = ek__pool_alloc(c->run->pool, losses->n, sizeof *kept);
    if (!list || !kept || !what || !instead || !estimate)
        return ek__no_memory(err);
    memcpy(kept, losses->at, losses->n * sizeof *kept);
    qsort(kept, losses->n, sizeof *kept, by_place);
    ek_compute_finding found = {.fault = fault,
                                .what = what,
                                .instead = instead,
                                .setting = ek__compute_setting(c, fault),
                                .estimate = estimate,
                                .n = losses->n,
                                .loss = kept};
    find_worst(c->run, &found);
    out->finding = list;
    list[out->n_findings++] = found;
    return EK_OK;
}
