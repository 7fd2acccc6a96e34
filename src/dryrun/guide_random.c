/* The reference for the guide's answers: lists drawn at random, as the original tool draws them. One fixed seed, so
 * that the guide stays deterministic. */
#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/median.h"
#include "base/random.h"
#include "dryrun/guide.h"

enum { N_DRAWS = 301, MAX_TRIES = 20000 };

/* Layer counts in proportion to random weights, rounded, then corrected to the sum from the front or the back. */
static void draw_layers(const ek__guide_shape *shape, ek__guide_cell *cell, ek__random *random)
{
    int weights = 0, sum = 0, p = shape->n_stages;
    for (int s = 0; s < p; s++)
        weights += cell[s].n = 1 + ek__random_below(random, 9);
    for (int s = 0; s < p; s++) {
        int n = (int)rint((double)cell[s].n / weights * shape->n_layers);
        sum += cell[s].n = n < 1 ? 1 : n;
    }
    for (int s = 0; sum < shape->n_layers; s++, sum++)
        cell[s % p].n++;
    for (int s = p - 1; sum > shape->n_layers; s = s ? s - 1 : p - 1)
        if (cell[s].n > 1) {
            cell[s].n--;
            sum--;
        }
}

static void draw_kinds(const ek__guide_shape *shape, ek__guide_cell *cell, ek__random *random)
{
    int left = cell->n;
    cell->mix = (ek_chunk_mix){0};
    for (int k = 1; k < shape->unknowns.n_kinds; k++) {
        int n = ek__random_below(random, left + 1);
        cell->mix.n[shape->unknowns.kind[k]] = n;
        left -= n;
    }
    cell->mix.n[EK_RECOMPUTE_NONE] = left;
}

double ek__guide_random_condition(const ek__guide_shape *shape)
{
    ek__random random = ek__random_seed(1);
    double found[N_DRAWS];
    int n_found = 0, n_cells = shape->n_rounds * shape->n_stages;
    ek__guide_cell *cell = ek__alloc((size_t)n_cells, sizeof *cell);
    bool no_memory = !cell;
    for (int tries = 0; !no_memory && n_found < N_DRAWS && tries < MAX_TRIES; tries++) {
        for (int r = 0; r < shape->n_rounds; r++)
            draw_layers(shape, cell + (size_t)r * (size_t)shape->n_stages, &random);
        for (int i = 0; i < n_cells; i++)
            draw_kinds(shape, &cell[i], &random);
        double condition = ek__guide_condition(shape, cell, ek__unknowns_count(&shape->unknowns));
        no_memory = isnan(condition);
        if (isfinite(condition))
            found[n_found++] = condition;
    }
    free(cell);
    if (no_memory)
        return NAN;
    ek__sort_numbers(found, (size_t)n_found);
    return n_found ? found[n_found / 2] : INFINITY;
}
