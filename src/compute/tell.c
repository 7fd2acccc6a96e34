/* Adds the faults of computing to the findings of the trace: one sentence with the figures of the rank that loses
 * most. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "compute/compute_internal.h"
#include "trace/rank.h"

/* Made again, the findings of before are replaced. */
static void drop(ek_trace_run *run)
{
    int kept = 0;
    for (int i = 0; i < run->n_findings; i++) {
        bool ours = false;
        for (int f = 0; f < EK_N_COMPUTE_FAULTS; f++)
            ours |= run->finding[i].id == ek_compute_fault_name[f];
        if (!ours)
            run->finding[kept++] = run->finding[i];
    }
    run->n_findings = kept;
}

/* NULL when memory is out. */
static const char *sentence(const ek_trace_run *run, const ek_compute_finding *f)
{
    const ek_trace_rank *rank = &run->rank[f->worst];
    return ek__pool_format(run->pool, "%s. %s: %s take %.2f ms of a step, of which at most %.2f ms could be saved.",
                           ek_compute_fault_title[f->fault], ek__who_is(rank).text, f->what, f->time / 1e6,
                           f->lost / 1e6);
}

ek_status ek__compute_tell(ek__compute *c, ek_error *err)
{
    ek_trace_run *run = c->run;
    drop(run);
    for (int i = 0; i < c->out->n_findings; i++) {
        const ek_compute_finding *f = &c->out->finding[i];
        const ek_trace_rank *rank = &run->rank[f->worst];
        int64_t step = ek_trace_rank_step(rank).ns;
        double whole = step > 0 ? (double)step : (double)rank->device.total;
        if (!(whole > 0) || !(f->lost >= EK__LEAST_LOST * whole))
            continue;
        ek_trace_finding *list = ek__pool_push(run->pool, run->finding, run->n_findings, sizeof *list);
        const char *text = list ? sentence(run, f) : NULL;
        const char *advice = text ? ek__pool_format(run->pool, "%s Setting: %s", f->instead, f->setting) : NULL;
        if (!advice)
            return ek__no_memory(err);
        run->finding = list;
        list[run->n_findings++] = (ek_trace_finding){.id = ek_compute_fault_name[f->fault],
                                                     .rank = rank->rank,
                                                     .stage = rank->stage,
                                                     .at = f->worst,
                                                     .text = text,
                                                     .advice = advice,
                                                     .share = f->lost / whole,
                                                     .gain_ns = (int64_t)f->lost};
    }
    ek__findings_sort(run);
    return EK_OK;
}
