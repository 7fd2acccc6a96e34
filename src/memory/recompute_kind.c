/* Recompute kinds as patterns. A plan knows five kinds of layers, a job any number of patterns with layers of their
 * own: a kind stands for all patterns of its sort together. */
#include "memory/recompute_kind.h"

#include <stdlib.h>

#include "base/error.h"
#include "job/job_internal.h"

ek__recompute ek__recompute_of_kind(const ek_job *job, ek_recompute kind)
{
    bool select = kind == EK_RECOMPUTE_SELECT || kind == EK_RECOMPUTE_BOTH;
    bool comm = kind == EK_RECOMPUTE_COMM || kind == EK_RECOMPUTE_BOTH;
    ek__recompute recompute = {.full = kind == EK_RECOMPUTE_FULL};
    for (int i = 0; i < job->n_patterns; i++) {
        ek_pattern_kind of = job->pattern[i].kind;
        bool holds = of == EK_PATTERN_SELECT ? select : of == EK_PATTERN_COMM ? comm : true;
        if (holds)
            recompute.patterns |= UINT64_C(1) << i;
    }
    return recompute;
}

/* Defaults of select_recompute and select_comm_recompute in MindFormers r1.5.0; Megatron-LM's selective recomputation
 * is its attention (--recompute-activations). */
static const struct {
    ek_pattern_kind kind;
    bool megatron;
    const char *text;
} defaults[] = {
    {EK_PATTERN_SELECT, false, "feed_forward\\.mul"},
    {EK_PATTERN_SELECT, false, "feed_forward\\.w1\\.activation\\.silu"},
    {EK_PATTERN_COMM, false, ".*\\.norm"},
    {EK_PATTERN_SELECT, true, "self_attention\\.core_attention"},
};

ek_status ek__job_default_patterns(ek_job *job, ek_error *err)
{
    bool has[EK_PATTERN_COMM + 1] = {false};
    for (int i = 0; i < job->n_patterns; i++)
        if (job->pattern[i].kind <= EK_PATTERN_COMM)
            has[job->pattern[i].kind] = true;
    int n = job->plan.n_stages * job->plan.n_chunks;
    int *none = ek__alloc((size_t)n, sizeof *none);
    ek_status status = none ? EK_OK : ek__no_memory(err);
    for (size_t i = 0; i < sizeof defaults / sizeof *defaults && !status; i++)
        if (!has[defaults[i].kind] && defaults[i].megatron == (job->family == EK_FAMILY_MEGATRON) &&
            job->n_patterns < EK_MAX_PATTERNS)
            status = ek__job_add_pattern(job, defaults[i].text, defaults[i].kind, none, true,
                                         (ek_origin){.file = job->path}, err);
    free(none);
    return status;
}
