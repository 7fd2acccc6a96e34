/* Finds the main cost of layouts excluded by bounds: the part of the step that exceeds the best plan's most. A bound
 * has no parts, so a layout is priced with evenly spread layers and without recomputation; of many layouts, only one
 * per block of neighbours, which represents all of them. */
#include <stdlib.h>

#include "base/error.h"
#include "layout/search.h"

enum { MOST_LOOKED_AT = 500 };

typedef struct blocks {
    ek__layout_search *search;
    size_t size, *middle; /* candidates in a block; index of the priced one */
    long *n;              /* layouts of each block */
    int *part;            /* -1: not known */
} blocks;

static int largest_excess(const ek_step *step, const ek_step *best)
{
    const double *a = step->stage[step->slowest].seconds, *b = best->stage[best->slowest].seconds;
    int most = 0;
    for (int i = 1; i < EK_N_STEP_PARTS; i++)
        most = a[i] - b[i] > a[most] - b[most] ? i : most;
    return most;
}

static ek_status look(void *user, size_t block, ek_cost_cache *cache, ek_error *err)
{
    const blocks *b = user;
    const ek__layout_search *s = b->search;
    const ek_layout layout = ek__candidate_layout(s, &s->candidate[b->middle[block]]);
    ek_error why;
    ek_job job;
    ek_step step;
    b->part[block] = -1;
    if (ek__layout_over(s))
        return EK_OK;
    ek_status status = ek__layout_job_on(s->job, s->device, &layout, &job, &why);
    if (!status) {
        status = ek_cost_step(&job, s->device, cache, &step, &why);
        ek_job_clear(&job);
    }
    if (status == EK_ERR_INPUT) /* chunks without layers */
        return EK_OK;
    if (status) {
        if (err)
            *err = why;
        return status;
    }
    b->part[block] = largest_excess(&step, &s->best[0].estimate.step);
    ek_step_clear(&step);
    return EK_OK;
}

static size_t make_blocks(blocks *b)
{
    const ek__layout_search *s = b->search;
    size_t seen = 0;
    for (size_t i = 0; i < s->n; i++) {
        if (s->candidate[i].fate != EK_FATE_BOUND)
            continue;
        if (seen % b->size == b->size / 2 || b->n[seen / b->size] == 0)
            b->middle[seen / b->size] = i;
        b->n[seen++ / b->size]++;
    }
    return (seen + b->size - 1) / b->size;
}

ek_status ek__layout_bound_by(ek__layout_search *s)
{
    size_t size = (size_t)s->counts.fate[EK_FATE_BOUND] / MOST_LOOKED_AT + 1;
    blocks b = {.search = s, .size = size};
    if (s->n_best == 0 || s->counts.fate[EK_FATE_BOUND] == 0)
        return EK_OK;
    b.middle = ek__alloc(MOST_LOOKED_AT + 1, sizeof *b.middle);
    b.n = ek__alloc(MOST_LOOKED_AT + 1, sizeof *b.n);
    b.part = ek__alloc(MOST_LOOKED_AT + 1, sizeof *b.part);
    ek_status status = b.middle && b.n && b.part ? EK_OK : ek__no_memory(s->err);
    size_t n = status ? 0 : make_blocks(&b);
    if (!status)
        status = ek__layout_parallel(s, n, look, &b);
    for (size_t i = 0; i < n && !status; i++)
        if (b.part[i] >= 0)
            s->counts.bound_by[b.part[i]] += b.n[i];
    free(b.middle);
    free(b.n);
    free(b.part);
    return status;
}
