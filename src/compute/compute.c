/* Analyses the operators of a run over all ranks, then runs every fault of the list and ranks them by lost time. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "compute/compute_internal.h"

static int most_lost_first(const void *a, const void *b)
{
    const ek_compute_finding *x = a, *y = b;
    if (x->lost != y->lost)
        return x->lost > y->lost ? -1 : 1;
    return x->fault != y->fault ? (int)x->fault - (int)y->fault : strcmp(x->what, y->what);
}

/* ---- all ---- */

static ek_status fill(ek__compute *c, ek_error *err)
{
    static ek__fault *const list[] = {
#define EK__FAULT_ENTRY(name) ek__fault_##name,
        EK__FAULT_LIST(EK__FAULT_ENTRY)
#undef EK__FAULT_ENTRY
    };
    ek_status status = ek__compute_operators(c, err);
    for (size_t i = 0; i < sizeof list / sizeof *list && status == EK_OK; i++)
        status = list[i](c, err);
    if (status == EK_OK && c->out->n_findings > 1)
        qsort(c->out->finding, (size_t)c->out->n_findings, sizeof *c->out->finding, most_lost_first);
    return status == EK_OK ? ek__compute_tell(c, err) : status;
}

static bool make_room(ek__compute *c)
{
    size_t n_ranks = (size_t)c->run->n_ranks;
    c->of = ek__alloc(n_ranks, sizeof *c->of);
    c->word = ek__alloc(n_ranks, sizeof *c->word);
    bool fine = c->of && c->word;
    for (size_t r = 0; r < n_ranks && fine; r++) {
        size_t n = (size_t)c->run->rank[r].measured.n;
        c->of[r] = ek__alloc(n, sizeof *c->of[r]);
        c->word[r] = ek__alloc(n, sizeof *c->word[r]);
        fine = c->of[r] && c->word[r];
    }
    return fine;
}

static void clear(ek__compute *c)
{
    for (int r = 0; r < c->run->n_ranks; r++) {
        if (c->of)
            free(c->of[r]);
        if (c->word)
            free(c->word[r]);
    }
    free(c->of);
    free(c->word);
}

ek_status ek_compute_make(ek_trace_run *run, const ek_device *device, ek_error *err)
{
    run->compute = NULL;
    ek_compute *out = ek__pool_alloc(run->pool, 1, sizeof *out);
    if (!out)
        return ek__no_memory(err);
    *out = (ek_compute){.n = 0};
    if (device)
        memcpy(out->device, device->name, sizeof out->device);
    ek__compute c = {.run = run, .device = device, .out = out};
    ek_status status = make_room(&c) ? fill(&c, err) : ek__no_memory(err);
    clear(&c);
    if (status == EK_OK)
        run->compute = out;
    return status;
}
