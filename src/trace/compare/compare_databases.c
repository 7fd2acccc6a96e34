/* Reports raw results of the device's profiler, which are databases that have not been exported: their folder has
 * settings and metadata as text. Then no rank has figures, although data was recorded. */
#include <math.h>

#include "base/error.h"
#include "base/pool.h"
#include "trace/analyse/analysis.h"
#include "trace/tables/files.h"

static bool has_figures(const ek_trace_rank *rank)
{
    return rank->has_device_events || rank->n_steps > 0 || rank->operators.n > 0 || rank->operators.n_table > 0 ||
           rank->communication.n_comm_sums > 0 || rank->communication.n_links > 0 || rank->memory.n_rows > 0 ||
           rank->memory.n_operator_rows > 0 || rank->memory.n_modules > 0 || rank->memory.tracker.n_rows > 0 ||
           rank->data.n_ops > 0 || rank->counts.n_items > 0;
}

/* O(ranks). */
ek_status ek__compare_databases(const ek_trace_options *options, ek_trace_run *run, ek_error *err)
{
    (void)options;
    if (run->n_databases == 0)
        return EK_OK;
    for (int i = 0; i < run->n_ranks; i++)
        if (has_figures(&run->rank[i]))
            return EK_OK;
    ek_trace_finding *list = ek__pool_push(run->pool, run->finding, run->n_findings, sizeof *list);
    const char *text = ek__pool_format(
        run->pool,
        "%d database%s without the tables of an export lie%s there unread (%.300s%s), and no other file has figures.",
        run->n_databases, run->n_databases == 1 ? "" : "s", run->n_databases == 1 ? "s" : "", run->database,
        run->n_databases == 1 ? "" : ", ...");
    if (!list || !text)
        return ek__no_memory(err);
    run->finding = list;
    list[run->n_findings++] = (ek_trace_finding){.id = "databases-unread",
                                                 .rank = EK_TRACE_NO_RANK,
                                                 .stage = -1,
                                                 .text = text,
                                                 .advice = "To get readable files, " EK__EXPORT_AS_TEXT ".",
                                                 .share = (double)NAN,
                                                 .gain_ns = EK_TRACE_UNKNOWN};
    return EK_OK;
}
