/* Selects the sets of a front to offer. A stage with some layers of one kind and some of another is on the line between
 * the two, so the relevant part of a front is its lower convex hull, and a few sets are rated by the area between the
 * hull and the line through them. Every chain of up to MOST_OFFERED vertices is tried, each set with all patterns of
 * the one before, since a plan's lists can only add. */
#include <math.h>
#include <string.h>

#include "recompute/sets.h"

enum { MOST_OFFERED = 3 };

bool ek_recompute_set_has(const ek_recompute_set *set, const ek_set_pattern *pattern)
{
    for (int i = 0; i < set->n_patterns; i++)
        if (set->pattern[i].kind == pattern->kind && strcmp(set->pattern[i].text, pattern->text) == 0)
            return true;
    return false;
}

bool ek_recompute_set_has_all(const ek_recompute_set *large, const ek_recompute_set *small)
{
    for (int i = 0; i < small->n_patterns; i++)
        if (!ek_recompute_set_has(large, &small->pattern[i]))
            return false;
    return true;
}

/* ---- the hull ---- */

/* Is b on the line from a to c, or above? */
static bool is_above(const ek_recompute_set *a, const ek_recompute_set *b, const ek_recompute_set *c)
{
    return (b->kept_mb - a->kept_mb) * (c->extra_ms - a->extra_ms) >=
           (c->kept_mb - a->kept_mb) * (b->extra_ms - a->extra_ms);
}

static const ek_recompute_set *previous(const ek_recompute_set_list *list, int i)
{
    while (--i >= 0)
        if (list->set[i].hull)
            return &list->set[i];
    return &list->nothing;
}

/* Remove vertices after which the chain would turn the wrong way towards `to`. */
static void drop_above(ek_recompute_set_list *list, int n, const ek_recompute_set *to)
{
    for (int i = n - 1; i >= 0; i--) {
        ek_recompute_set *set = &list->set[i];
        if (set->hull && !is_above(previous(list, i), set, to))
            return;
        set->hull = false;
    }
}

static void mark_hull(ek_recompute_set_list *list)
{
    for (int i = 0; i < list->n; i++) {
        drop_above(list, i, &list->set[i]);
        list->set[i].hull = true;
    }
    drop_above(list, list->n, &list->full);
}

/* ---- offered sets ---- */

/* The area below the line between two. */
static double area_between(const ek_recompute_set *a, const ek_recompute_set *b)
{
    return (b->extra_ms - a->extra_ms) * (a->kept_mb + b->kept_mb) / 2;
}

typedef struct chain {
    int n, at[MOST_OFFERED];
    double area;
} chain;

/* All chains that continue `so_far`, with a line that ends in `end`. */
static void try_chains(const ek_recompute_set_list *list, int n_offered, const chain *so_far,
                       const ek_recompute_set *end, chain *best)
{
    double area = so_far->area + area_between(end, &list->full);
    if (area < best->area) {
        *best = *so_far;
        best->area = area;
    }
    if (so_far->n == n_offered)
        return;
    for (int i = so_far->n ? so_far->at[so_far->n - 1] + 1 : 0; i < list->n; i++) {
        const ek_recompute_set *set = &list->set[i];
        chain longer = *so_far;
        if (!set->hull || !ek_recompute_set_has_all(set, end))
            continue;
        longer.at[longer.n++] = i;
        longer.area += area_between(end, set);
        try_chains(list, n_offered, &longer, set, best);
    }
}

void ek__set_offer(ek_recompute_set_list *list, int n_offered)
{
    const chain none = {.n = 0};
    chain best = {.area = INFINITY};
    mark_hull(list);
    try_chains(list, n_offered < MOST_OFFERED ? n_offered : MOST_OFFERED, &none, &list->nothing, &best);
    for (int i = 0; i < best.n; i++)
        list->set[best.at[i]].offered = true;
}
