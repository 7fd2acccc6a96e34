/* Converts recompute kinds to patterns. A plan has five kinds of layers, a job any number of patterns with their own
 * layers: a kind represents all patterns that follow its list (ek_pattern_list()). */
#include "model/recompute_kind.h"

#include <assert.h>
#include <stdlib.h>

#include "base/error.h"
#include "job/job_internal.h"

ek__recompute ek__recompute_of_kind(const ek_job *job, ek_recompute kind)
{
    assert((unsigned)kind < EK_N_RECOMPUTE);
    assert(job->n_patterns >= 0 && job->n_patterns <= EK_MAX_PATTERNS);
    bool select = kind == EK_RECOMPUTE_SELECT || kind == EK_RECOMPUTE_BOTH;
    bool comm = kind == EK_RECOMPUTE_COMM || kind == EK_RECOMPUTE_BOTH;
    ek__recompute recompute = {.full = kind == EK_RECOMPUTE_FULL};
    for (int i = 0; i < job->n_patterns; i++) {
        ek_pattern_kind of = ek_pattern_list(&job->pattern[i]);
        bool holds = of == EK_PATTERN_SELECT ? select : of == EK_PATTERN_COMM ? comm : true;
        if (holds)
            recompute.patterns |= UINT64_C(1) << i;
    }
    return recompute;
}

ek_status ek__job_add_usual_patterns(ek_job *job, ek_error *err)
{
    static const ek_pattern_kind kinds[] = {EK_PATTERN_SELECT, EK_PATTERN_COMM};
    int n = job->plan.n_stages * job->plan.n_chunks;
    assert(n >= 1);
    int *no_layer = ek__alloc((size_t)n, sizeof *no_layer);
    ek_status status = no_layer ? EK_OK : ek__no_memory(err);
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds && !status; k++) {
        const char *const *text = ek__job_usual_patterns(job, kinds[k]);
        bool has = ek__job_has_pattern(job, kinds[k]);
        for (; *text && !has && !status && job->n_patterns < EK_MAX_PATTERNS; text++)
            status = ek__job_add_pattern(job, *text, kinds[k], no_layer, true, (ek_origin){.file = job->path}, err);
    }
    free(no_layer);
    return status;
}
