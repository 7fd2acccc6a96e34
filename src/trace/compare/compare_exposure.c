/* Splits each rank's exposed communication by kind: transfer, which overlapping could hide, and waiting for other
 * ranks, which it could not. The sums are those of rank.c, after the comparison of ranks has filled the values that a
 * rank's own files do not have. */
#include <math.h>

#include "trace/analyse/analysis.h"
#include "trace/rank.h"

static int64_t whole(double ns)
{
    return ns >= 0 && ns < 9e18 ? llround(ns) : 0;
}

ek_status ek__compare_exposure(const ek_trace_options *options, ek_trace_run *run, ek_error *err)
{
    (void)options;
    (void)err;
    for (int r = 0; r < run->n_ranks; r++) {
        ek__exposure e = ek__rank_exposure(&run->rank[r]);
        run->rank[r].exposure =
            (ek_trace_exposure){whole(e.exposed), whole(e.transfer), whole(e.wait), whole(e.unknown), e.at_most};
    }
    return EK_OK;
}
