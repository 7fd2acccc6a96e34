/* Finds operators that count as computing though their names contain words of communication: kernels of libraries that
 * the list of collective_names.c does not have, and fused ones that compute and communicate at once (MatmulAllReduce).
 * Where their share is significant, a note names the largest. */
#include <string.h>

#include "trace/events/device.h"

static const double least_share = 0.02; /* of the time of all operators */

static bool counts_as_computing(const ek_trace_options *options, const ek_trace_operator *op)
{
    if (op->family && strcmp(op->family, "communication") == 0)
        return false;
    for (int i = 0; i < options->n_collectives; i++)
        if (strstr(op->name, options->collective[i]))
            return false;
    return true;
}

/* The part of a name before its parameters and templates, which may be hundreds of letters. */
static int short_length(const char *name)
{
    size_t n = strcspn(name, "<");
    return (int)(n > 0 && n < 120 ? n : 120);
}

/* O(operators). */
ek_status ek__analyse_likely_collectives(const ek__trace *trace, const ek_trace_options *options, ek_trace_rank *rank,
                                         ek_error *err)
{
    const ek_trace_operators *ops = &rank->operators;
    const ek_trace_operator *largest = NULL;
    double all = 0, likely = 0;
    int n = 0;
    for (int i = 0; i < ops->n; i++) {
        const ek_trace_operator *op = &ops->op[i];
        all += (double)op->total;
        if (!counts_as_computing(options, op) || !ek__looks_like_collective(op->name))
            continue;
        likely += (double)op->total;
        largest = largest ? largest : op; /* longest total first */
        n++;
    }
    if (!largest || !(likely > least_share * all))
        return EK_OK;
    const char *name = largest->name;
    const char *how = trace->producer == EK_PRODUCER_KINETO
                          ? "; if they only communicate, name them with --collective"
                          : ", but part of it is communication that no figure here includes";
    return ek__rank_note(rank, err, "%.*s%s counts as computing (%.1f %% of the operators' time)%s", short_length(name),
                         name, n > 1 ? " and other kernels named like collectives" : "", 100 * likely / all, how);
}
