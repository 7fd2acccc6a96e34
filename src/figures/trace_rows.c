/* The tables of a trace, one topic after the other. */
#include "figures/results.h"
#include "figures/trace_figures.h"

const ek__rows *ek__next_trace_rows(const ek__rows *last)
{
    static const struct {
        const ek__rows *rows;
        const int *n;
    } topics[] = {
#define TOPIC(name) {ek__##name##_rows, &ek__n_##name##_rows},
        EK__TRACE_ROWS_LIST(TOPIC)
#undef TOPIC
    };
    bool next = !last;
    for (size_t i = 0; i < sizeof topics / sizeof *topics; i++)
        for (int k = 0; k < *topics[i].n; k++) {
            if (next)
                return &topics[i].rows[k];
            next = &topics[i].rows[k] == last;
        }
    return NULL;
}

const ek__result ek__result_trace = {"trace", "trace-json.md", &ek__trace_run, ek__next_trace_rows, NULL};
