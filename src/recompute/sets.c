/* Finds the useful sets to recompute: computes the front by one of the two searches, measures it, removes sets that are
 * not better than whole layers, and selects the offered ones. */
#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "recompute/sets.h"

static ek_status search(const ek__set_problem *p, double full_ms, ek__found_sets *found, double *gap_ms)
{
    *gap_ms = 0;
    return p->by_operator ? ek__set_labels(p, full_ms, found, gap_ms) : ek__set_subsets(p, found);
}

static void describe_kinds(const ek__set_problem *p, ek_recompute_set_list *out)
{
    out->n_kinds = p->n_layers;
    for (int k = 0; k < p->n_layers; k++) {
        size_t i = 0;
        for (const char *c = p->layer[k].cost.graph->name; *c; c++)
            out->kind[k].name[i++] = *c;
        out->kind[k].n_layers = p->layer[k].n_layers;
    }
}

static int layers_of(const ek__set_problem *p)
{
    int n = 0;
    for (int k = 0; k < p->n_layers; k++)
        n += p->layer[k].n_layers;
    return n;
}

/* Patterns that stay in the job with every set. */
static int n_staying(const ek_job *job)
{
    int n = 0;
    for (int i = 0; i < job->n_patterns; i++)
        n += !ek__set_replaces(job, &job->pattern[i]);
    return n;
}

/* Between none and full, and at most as many patterns as a file may have. */
static bool is_worth_it(const ek__set_problem *p, const ek_recompute_set_list *list, const ek_recompute_set *set)
{
    return set->n_patterns > 0 && set->saved_mb > 0 && set->n_patterns + n_staying(p->job) <= EK_MAX_PATTERNS &&
           (set->extra_ms < list->full.extra_ms * (1 - 1e-12) || set->kept_mb < list->full.kept_mb);
}

static ek_status add_sets(const ek__set_problem *p, const ek__found_sets *found, ek_recompute_set_list *out)
{
    out->set = ek__alloc(found->n, sizeof *out->set);
    if (!out->set)
        return ek__no_memory(p->err);
    for (size_t i = 0; i < found->n; i++) {
        ek_recompute_set set;
        ek_status status = ek__set_mitigation(p, &found->at[i].chosen, &set);
        if (status)
            return status;
        ek__set_mean(p, &out->nothing, &set);
        if (is_worth_it(p, out, &set))
            out->set[out->n++] = set;
        else
            free(set.pattern);
    }
    return EK_OK;
}

static ek_status measure_ends(const ek__set_problem *p, ek_recompute_set_list *out)
{
    const ek__chosen none = {{0}};
    ek_status status = ek__set_mitigation(p, &none, &out->nothing);
    if (status)
        return status;
    ek__set_mean(p, NULL, &out->nothing);
    ek__set_measure_full(p, &out->full);
    ek__set_mean(p, &out->nothing, &out->full);
    return EK_OK;
}

static ek_status solve(const ek__set_problem *p, ek_recompute_set_list *out)
{
    ek__found_sets found = {0};
    double gap_ms = 0;
    describe_kinds(p, out);
    ek_status status = measure_ends(p, out);
    if (!status)
        status = search(p, out->full.extra_ms * layers_of(p), &found, &gap_ms);
    if (!status)
        status = add_sets(p, &found, out);
    free(found.at);
    out->gap_ms = gap_ms / layers_of(p);
    out->proved = gap_ms <= 0;
    return status;
}

ek_status ek_recompute_sets(const ek_job *job, const ek_device *device, int n_offered, ek_recompute_set_list *out,
                            ek_error *err)
{
    ek__set_problem problem;
    ek_recompute_set_list list = {.n = 0};
    ek_status status = ek__set_problem_init(job, device, &problem, err);
    if (!status)
        status = solve(&problem, &list);
    ek__set_problem_clear(&problem);
    if (status) {
        ek_recompute_set_list_clear(&list);
        return status;
    }
    ek__set_offer(&list, n_offered);
    *out = list;
    return EK_OK;
}

void ek_recompute_set_list_clear(ek_recompute_set_list *list)
{
    for (int i = 0; i < list->n; i++)
        free(list->set[i].pattern);
    free(list->nothing.pattern);
    free(list->set);
    *list = (ek_recompute_set_list){.n = 0};
}
