/* Searches plans with whole layers near a fractional solution. The solution is rounded by largest remainders, first the
 * stages, then the cells of each, of equal ones the later chunk, which has fewer live micro-batches; then single layers
 * are moved to another chunk of their stage, or to another stage of their chunk, as long as the judge finds shorter
 * plans. */
#include "layout/whole_near.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

#define WHOLE 1e-6 /* layers */

typedef struct near {
    const ek__near *options;
    int p, n_cells;
    int *layers;   /* [n_cells] */
    int *stage;    /* [p] */
    double *value; /* [p] of stages, then [n_cells] */
    double upper;  /* a step */
    bool exact;    /* the result of the last query; false: the judge has reached its limit */
    ek_error *err;
} near;

/* Round numbers with the sum `sum` to integers with the same sum. value[i x stride], likewise *out. */
static void round_to(const double *value, int n, int stride, int sum, int *out)
{
    for (int i = 0; i < n; i++)
        sum -= out[i * stride] = (int)floor(value[i * stride] + WHOLE);
    for (; sum > 0; sum--) {
        int most = 0;
        for (int i = 1; i < n; i++)
            if (value[i * stride] - out[i * stride] > value[most * stride] - out[most * stride] - WHOLE)
                most = i;
        out[most * stride]++;
    }
}

static void round_stages(near *w)
{
    int p = w->p;
    for (int s = 0; s < p; s++) {
        w->value[s] = 0;
        for (int cell = s; cell < w->n_cells; cell += p)
            w->value[s] += w->options->value[cell];
    }
    round_to(w->value, p, 1, w->options->n_layers, w->stage);
}

static void round_cells(near *w, const double *value)
{
    for (int s = 0; s < w->p; s++)
        round_to(value + s, w->n_cells / w->p, w->p, w->stage[s], w->layers + s);
}

static ek_status judge(near *w, bool *shorter)
{
    const ek__whole_judge *j = w->options->judge;
    double step;
    ek_status status = j->judge(j->user, w->layers, w->upper, &step, &w->exact, w->err);
    *shorter = !status && step < w->upper;
    if (*shorter)
        w->upper = step;
    return status;
}

/* Move one layer from a cell to another if that is shorter. */
static ek_status move(near *w, int from, int to, bool *shorter)
{
    int most = w->options->most_layers, p = w->p;
    *shorter = false;
    if (from == to || w->layers[from] < 2 || (most > 0 && w->layers[to] >= most) ||
        (from % p != to % p && from / p != to / p))
        return EK_OK;
    w->layers[from]--;
    w->layers[to]++;
    ek_status status = judge(w, shorter);
    if (!*shorter) {
        w->layers[from]++;
        w->layers[to]--;
    }
    return status;
}

static ek_status improve(near *w)
{
    const ek__near *o = w->options;
    ek_status status = EK_OK;
    for (bool any = true; any && !status && w->exact;) {
        any = false;
        for (int from = 0; from < w->n_cells && !status && w->exact; from++)
            for (int to = 0; to < w->n_cells && !status && w->exact && !o->over(o->user); to++) {
                bool shorter;
                status = move(w, from, to, &shorter);
                any = any || shorter;
            }
    }
    return status;
}

/* A program has many equally good solutions: try the current one, and one with equal numbers of layers in the chunks of
 * a stage. */
static ek_status start(near *w)
{
    double *even = w->value + w->p;
    bool shorter;
    w->stage = w->layers + w->n_cells;
    round_stages(w);
    for (int cell = 0; cell < w->n_cells; cell++)
        even[cell] = (double)w->stage[cell % w->p] / w->options->v;
    round_cells(w, even);
    ek_status status = judge(w, &shorter);
    memcpy(w->stage + w->p, w->layers, (size_t)w->n_cells * sizeof *w->layers);
    round_cells(w, w->options->value);
    if (!status)
        status = judge(w, &shorter);
    if (!shorter)
        memcpy(w->layers, w->stage + w->p, (size_t)w->n_cells * sizeof *w->layers);
    return status;
}

ek_status ek__whole_near(const ek__near *options, double *step, ek_error *err)
{
    int p = options->p, n = options->p * options->v;
    near w = {.options = options, .p = p, .n_cells = n, .upper = *step, .err = err};
    w.layers = ek__alloc(2 * (size_t)n + (size_t)p, sizeof *w.layers);
    w.value = ek__alloc((size_t)n + (size_t)p, sizeof *w.value);
    ek_status status = w.layers && w.value ? EK_OK : ek__no_memory(err);
    if (!status)
        status = start(&w);
    if (!status)
        status = improve(&w);
    *step = w.upper;
    free(w.layers);
    free(w.value);
    return status;
}
