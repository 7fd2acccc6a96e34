/* Writes the findings of a trace: recommended changes, largest gain first. Their gain is an upper bound from measured
 * times. Where a run has a diagnosis too, which ranks the trace's findings among all others, they are a table after
 * it. */
#include <math.h>

#include "view/trace_sections.h"

static void write_finding(const ek_view_run *run, const ek_trace_finding *finding, int number, ek__section *x)
{
    ek__finding_begin(x);
    ek__stream_text(x->s, "id", finding->id);
    ek__stream_int(x->s, "rank", number);
    ek__stream_text(x->s, "title", finding->text);
    ek__stream_null(x->s, "cost");
    ek__stream_int(x->s, "gain", finding->gain_ns);
    ek__stream_real(x->s, "gain_share", finding->share);
    ek__stream_text(x->s, "basis", EK__DERIVED);
    ek__stream_null(x->s, "topic");
    ek__stream_list(x->s, "evidence", false);
    ek__stream_end(x->s);
    ek__stream_null(x->s, "setting");
    ek__stream_text(x->s, "change", finding->advice);
    ek__stream_text(x->s, "rests_on",
                    finding->gain_ns == EK_TRACE_UNKNOWN ? NULL
                                                         : "upper bound of the gain per step, from measured times");
    ek__stream_null(x->s, "caution");
    ek__view_put_window(run, finding->rank, finding->step, x->s);
    ek__finding_end(x);
}

void ek__view_trace_finding_table(const ek_view_run *run, ek__section *x)
{
    if (run->trace->n_findings > 0)
        ek__view_rows(run, ek__view_find_rows("findings", "trace-findings"), NULL, NULL, -1, x);
}

void ek__view_trace_findings(const ek_view_run *run, ek__stream *s)
{
    const ek_trace_run *trace = run->trace;
    ek__section x = ek__section_begin(s, "findings");
    if (trace->n_findings > 0)
        ek__section_note(&x, "Each gain is the upper bound of one finding by itself; gains do not add up.");
    else
        ek__section_note(&x, "The trace has no finding that is worth a change.");
    for (int i = 0; i < trace->n_findings; i++)
        write_finding(run, &trace->finding[i], i + 1, &x);
    ek__section_end(&x);
}
