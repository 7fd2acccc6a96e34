/* recompute/sets.h - the interface between the parts of the search for recompute sets: the choices of a framework
 * (choices.c), priced layers (problem.c), the two searches for a front (labels.c, subsets.c), and the selection of
 * offered sets (offered.c). */
#ifndef EK_RECOMPUTE_SETS_H
#define EK_RECOMPUTE_SETS_H

#include "cost/layer.h"
#include "evenkeel/recompute_sets.h"

enum {
    EK__MAX_CHOICES = EK_MAX_SET_LAYERS * EK__MAX_OPS, /* an operator each */
    EK__CHOICE_WORDS = EK__MAX_CHOICES / 64,
    EK__MOST_SUBSETS = 10, /* maximum number of choices for trying every subset */
    EK__MAX_CHOICE_PATTERNS = 24,
};

/* A choice of a framework: recompute it or not. */
typedef struct ek__choice {
    int n_patterns;
    ek_set_pattern pattern[EK__MAX_CHOICE_PATTERNS];
} ek__choice;

/* A set, as bits of choices. */
typedef struct ek__chosen {
    uint64_t word[EK__CHOICE_WORDS];
} ek__chosen;

/* A kind of layer. */
typedef struct ek__set_layer {
    ek__graph_kind kind;
    int n_layers;
    ek__layer_cost cost;
    double seconds; /* of its passes, without recomputation */
    double copies;  /* of the batch, run concurrently */
} ek__set_layer;

typedef struct ek__set_problem {
    const ek_job *job; /* as given */
    const ek_device *device;
    ek_job bare;      /* without its own recompute patterns; the framework's graph is that of a job with some */
    bool by_operator; /* choices are operators, one pattern each */
    int n_choices;
    ek__choice *choice; /* [EK__MAX_CHOICES] */
    int n_layers;       /* existing kinds of layers */
    ek__set_layer layer[EK_MAX_SET_LAYERS];
    ek_error *err;
} ek__set_problem;

/* A set with its figures, summed over the model's layers. */
typedef struct ek__found_set {
    ek__chosen chosen;
    int n_patterns;
    double kept, ms; /* bytes, of all copies; ms */
} ek__found_set;

/* A growing list of them. */
typedef struct ek__found_sets {
    size_t n, room;
    ek__found_set *at;
} ek__found_sets;

ek_status ek__found_add(ek__found_sets *sets, const ek__found_set *set, ek_error *err);
/* Keep the undominated ones: least time first, with decreasing saved bytes. Of equal ones the fewest patterns. */
void ek__found_front(ek__found_sets *sets);

/* The available choices; each names an operator of the problem's graphs. choices.c */
ek_status ek__set_choices(ek__set_problem *p);
/* Patterns to remove for a bare job. */
bool ek__set_replaces(const ek_job *job, const ek_pattern *pattern);

/* problem.c. Call ek__set_problem_clear() also after a failure. */
ek_status ek__set_problem_init(const ek_job *job, const ek_device *device, ek__set_problem *out, ek_error *err);
void ek__set_problem_clear(ek__set_problem *p);
/* Bytes of the storages in kept[], as a program counts them. */
int64_t ek__set_bytes(const ek_job *job, const ek__graph *graph, const bool *kept);
/* Figures of a kind of layer with a set: bytes of one layer and all copies, additional ms of its backward pass. */
ek_status ek__set_mitigation(const ek__set_problem *p, const ek__chosen *chosen, ek_recompute_set *out);
/* The same for a layer recomputed whole. */
void ek__set_measure_full(const ek__set_problem *p, ek_recompute_set *out);
/* Means over layers from the figures by kind. `nothing` NULL: the set itself is the one without recomputation */
void ek__set_mean(const ek__set_problem *p, const ek_recompute_set *nothing, ek_recompute_set *set);
/* ms by which a layer's backward pass is longer if a sum of forward passes (ek__layer_run()) runs again. */
double ek__set_extra_ms(const ek__set_problem *p, const ek__set_layer *layer, const ek__pass *run);

/* Fronts over all sets that take less than `full_ms` in all layers. *gap_ms is 0 if it is exact. */
ek_status ek__set_labels(const ek__set_problem *p, double full_ms, ek__found_sets *out, double *gap_ms);
ek_status ek__set_subsets(const ek__set_problem *p, ek__found_sets *out);

/* Mark the hull and the offered sets. */
void ek__set_offer(ek_recompute_set_list *list, int n_offered);

static inline bool ek__is_chosen(const ek__chosen *chosen, int i)
{
    return chosen->word[i / 64] >> (i % 64) & 1;
}

static inline void ek__choose(ek__chosen *chosen, int i)
{
    chosen->word[i / 64] |= UINT64_C(1) << (i % 64);
}

#endif
