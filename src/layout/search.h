/* layout/search.h - the state of a search for layouts: the knowledge about each layout, and the best so far. */
#ifndef EK_LAYOUT_SEARCH_H
#define EK_LAYOUT_SEARCH_H

#include "base/threads.h"
#include "layout/mix.h"
#include "layout/space.h"
#include "layout/split.h"

/* The state of a layout in the search. */
typedef enum ek__look {
    EK__KNOWN_BOUND,  /* in closed form, ignoring memory */
    EK__KNOWN_WITHIN, /* within the memory limit */
    EK__KNOWN_MIXED,  /* with several chunks per stage: by the best mix of paths (mix.h) */
    EK__KNOWN_TRIED,  /* balanced in short */
    EK__KNOWN_SPLIT,  /* balanced */
    EK__KNOWN_WHOLE,  /* with several chunks per stage: bounded with whole layers */
} ek__look;

/* One layout. */
typedef struct ek__candidate {
    uint32_t group;
    uint8_t n_chunks, schedule, known, fate;
    uint8_t looks;  /* searches over whole layers so far */
    float peak_mb;  /* no plan needs less */
    float plan_mb;  /* of the plan found; NAN */
    double bound;   /* seconds: no plan is shorter */
    double seconds; /* of the plan found; INFINITY */
} ek__candidate;

/* The layout that is balanced first. */
typedef struct ek__first {
    size_t group;
    ek_layout layout;
    bool whole;      /* under all rules of recomputation */
    ek__split split; /* found is false if there is none */
} ek__first;

/* Candidates by bound, the least first. */
typedef struct ek__heap {
    size_t n, *at;
} ek__heap;
enum { EK__N_HEAPS = 4 };

typedef struct ek__together ek__together;

typedef struct ek__layout_search {
    const ek_job *job;
    const ek_device *device;
    ek_layout_options options;
    ek__space space;
    size_t n, capacity; /* legal ones */
    ek__candidate *candidate;
    ek_layout_counts counts;
    int n_threads; /* 1 or more */
    int n_best;
    ek_layout_plan *best; /* [options.n_best] by step */
    size_t *best_at;      /* [n_best] index of each */
    double start, first_at;
    ek_layout_plan today; /* the unchanged job */
    ek__first first;
    /* One chunk per stage; several; several, after the search for a mix: to be balanced briefly, then thoroughly. */
    ek__heap heap[EK__N_HEAPS];
    size_t n_mixes, mixes_capacity;
    ek__mixes **mixes;                      /* of the pipelines seen so far */
    ek_cost_cache *cache[EK__MOST_THREADS]; /* of each thread, made at its first item */
    bool bounded_all, ended_early;
    ek__together *together; /* with other processes; NULL: a single process */
    ek_interrupt given_up;  /* the search was cancelled */
    ek_error *err;
} ek__layout_search;

/* Is the time over, or did the user cancel? */
bool ek__layout_over(const ek__layout_search *search);
/* The step that a plan has to beat: the k-th best so far, INFINITY while there are fewer. */
double ek__layout_upper(const ek__layout_search *search);
ek_layout ek__candidate_layout(const ek__layout_search *search, const ek__candidate *candidate);
/* Is it in the search's space, according to its numbers? */
bool ek__candidate_is_of(const ek__layout_search *search, const ek__candidate *candidate);

/* Run `work` on items [0, n) by all threads, each with its own cache; the first failure ends it. */
typedef ek_status ek__layout_work(void *user, size_t item, ek_cost_cache *cache, ek_error *err);
ek_status ek__layout_parallel(ek__layout_search *search, size_t n, ek__layout_work *work, void *user);

/* The best plan of one layout, with its peak, and with its estimate if it is below `upper`.
 * @param legal  out: false if the framework's check rejects it */
ek_status ek__layout_balance(const ek__layout_search *search, const ek_layout *layout, double upper, ek__effort effort,
                             const ek__mixes *mixes, ek_cost_cache *cache, ek__split *out, bool *legal, ek_error *err);
/* Memory of the fullest stage of the plan found, MB; with the rest of its estimate if it may be among the best. */
ek_status ek__layout_find_peak(const ek__layout_search *search, double upper, ek__split *split, ek_error *err);
/* Record the plan found for a layout if it is shorter than the known one, and add it to the best plans if it is one. */
ek_status ek__layout_take_plan(ek__layout_search *search, size_t at, ek__split *split);
/* Balance one layout before the others are bounded, into search->first. */
ek_status ek__layout_first(ek__layout_search *search, ek_cost_cache *cache, ek_error *err);
/* Bound every layout of the space: fills search->candidate in the space's order.
 * @param with_first  and also find search->first */
ek_status ek__layout_bound_all(ek__layout_search *search, bool with_first);
/* Fills counts.bound_by, while there is time. About 500 ek_cost_step(). */
ek_status ek__layout_bound_by(ek__layout_search *search);
/* The layouts of out->point. */
ek_status ek__layout_points(const ek__layout_search *search, ek_layout_result *out);
/* Best first, until no other can be among the best or the time is over. */
ek_status ek__layout_best_first(ek__layout_search *search);
/* Then improve the bounds of layouts that may beat the best plan, while there is time. */
ek_status ek__layout_prove(ek__layout_search *search);
/* The mixes of a layout's pipeline. *out is NULL if they do not apply to it. */
ek_status ek__layout_mixes_of(ek__layout_search *search, const ek__candidate *candidate, ek__mixes **out);

#endif
