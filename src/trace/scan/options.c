/* Checks the options of the readers of traces. */
#include "base/error.h"
#include "base/threads.h"
#include "trace/trace.h"

ek_status ek__trace_options_check(const ek_trace_options *options, ek_error *err)
{
    const struct {
        const char *name;
        int value, least;
    } counts[] = {
        {"drop_first_steps", options->drop_first_steps, -1},
        {"n_micro_batches", options->n_micro_batches, 0},
        {"n_head", options->n_head, 0},
        {"n_body", options->n_body, 0},
        {"n_tail", options->n_tail, 0},
        {"n_receives", options->n_receives, 0},
        {"n_collectives", options->n_collectives, 0},
        {"stages", options->stages, 0},
    };
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        if (counts[i].value < counts[i].least)
            return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "%s of reading a trace must be %d or more (got %d)",
                            counts[i].name, counts[i].least, counts[i].value);
    if (!(options->host_bound_share >= 0 && options->host_bound_share <= 1))
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "host_bound_share of reading a trace must be 0 to 1 (got %g)",
                        options->host_bound_share);
    return ek__threads_check(options->n_threads, err);
}
