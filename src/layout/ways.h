/* layout/ways.h - the ways to recompute a chunk's layers by lists: numbers of its first layers recomputed whole, by the
 * selective patterns, in their communication. */
#ifndef EK_LAYOUT_WAYS_H
#define EK_LAYOUT_WAYS_H

#include "cost/step_stage.h"
#include "memory/program.h"

/* Lists of a chunk. */
typedef struct ek__chunk_lists {
    int full, select, comm;
} ek__chunk_lists;

/* One way. */
typedef struct ek__chunk_way {
    double time;  /* ms of the backward pass, of the layers only */
    int64_t kept; /* bytes of a micro-batch */
    ek__chunk_lists lists;
} ek__chunk_way;

/* Figures of a kind of layer, by recomputation. */
typedef struct ek__way_figures {
    double time[EK_N_RECOMPUTE]; /* ms */
    int64_t kept[EK_N_RECOMPUTE];
} ek__way_figures;

typedef struct ek__ways {
    const ek_job *job;
    bool
        lists[EK_N_RECOMPUTE]; /* kinds that lists may use: those that save less than no recomputation for some layer */
    ek__way_figures figures[EK__N_GRAPH_KINDS];
    ek__chunk_way *scratch;
    size_t scratch_capacity;
    /* [n_layers + 1] of the given layers, from the first on: sums of the figures of each kind. */
    double (*time_sum)[EK_N_RECOMPUTE];
    int64_t (*kept_sum)[EK_N_RECOMPUTE];
} ek__ways;

/* @param lists  false: the job's framework has none, and nothing recomputed is the only way */
ek_status ek__ways_init(ek__ways *ways, const ek_job *job, const ek__job_programs *programs, ek__stage_pricer *pricer,
                        bool lists, ek_error *err);
void ek__ways_clear(ek__ways *ways);

/* All ways of layers [first, first + n) by their time; of equal ones the one that saves least comes first. No list is
 * below the count of whole layers, where other lists have no effect.
 * @param out  out: the caller's to free. O(n^3 log n) */
ek_status ek__ways_list(ek__ways *ways, int first, int n, ek__chunk_way **out, size_t *n_out, ek_error *err);
/* Those that save at most that, as a heap: the first is in front, and ek__ways_pop() removes it. O(n^3)
 * @param all  false: only no recomputation */
ek_status ek__ways_heap(ek__ways *ways, int first, int n, bool all, int64_t most_kept, ek__chunk_way **out,
                        size_t *n_out, ek_error *err);
void ek__ways_pop(ek__chunk_way *way, size_t *n_ways);

#endif
