/* Prints a rehearsal for people: measured next to predicted, each figure with its unit and basis. */
#include <math.h>

#include "evenkeel/rehearse.h"
#include "report/report_internal.h"
#include "report/writers.h"

static const double MS = 1000, US = 1e6;

static void figure(const char *name, double measured, double predicted, const char *unit, const char *basis, FILE *out)
{
    double difference = 100 * (measured / predicted - 1);
    fprintf(out, "%-9s  %12s  ", name, ek__fixed(measured, 3).text);
    fprintf(out, "%12s  ", ek__fixed(predicted, 3).text);
    fprintf(out, "%-4s  ", unit);
    if (isfinite(difference))
        fprintf(out, "%s%s %%", difference >= 0 ? "+" : "", ek__fixed(difference, 2).text);
    fprintf(out, "  %s\n", basis);
}

static void head_lines(const ek_rehearse_result *result, FILE *out)
{
    static const char *const how[] = {"sends that do not block, receives posted ahead", "blocking rendezvous sends"};
    const ek_rehearsal *r = result->rehearsal;
    fprintf(out, "rehearsal of %s: %d stages, %d chunk%s a stage, %d micro-batches, on %d processes\n",
            result->schedule, r->n_stages, r->n_chunks, r->n_chunks == 1 ? "" : "s", r->n_micro_batches,
            r->n_processes);
    fprintf(out, "%s; messages of %zu bytes, checked byte by byte; compute: %s; a time of 1 is %s ms\n",
            how[result->send], r->bytes, ek_rehearse_compute_name[result->compute], ek__short(result->unit * MS).text);
    if (result->swapped[0])
        fprintf(out, "NOT the plan's order: %s\n", result->swapped);
    for (int send = 0; send < EK_N_REHEARSE_SENDS; send++)
        fprintf(out, "%s: %s%s\n", ek_rehearse_send_name[send],
                result->completes[send] ? "the order completes" : "the order deadlocks: ", result->cycle[send]);
}

static void stage_table(const ek_rehearse_result *result, FILE *out)
{
    const ek_rehearsal *r = result->rehearsal;
    fputs("\nstage  process  busy (ms)  predicted  waiting (ms)  predicted  machine\n", out);
    for (int s = 0; s < r->n_stages; s++) {
        const ek_rehearse_stage *stage = &result->stage[s];
        fprintf(out, "%5d  %7d  %9s", s, stage->process, ek__fixed(stage->busy * MS, 2).text);
        fprintf(out, "  %9s", ek__fixed(stage->predicted_busy * MS, 2).text);
        fprintf(out, "  %12s", ek__fixed(stage->waiting * MS, 2).text);
        fprintf(out, "  %9s  %s\n", ek__fixed(stage->predicted_waiting * MS, 2).text, stage->machine);
    }
}

static void edge_table(const ek_rehearse_result *result, FILE *out)
{
    const ek_rehearsal *r = result->rehearsal;
    fprintf(out, "\nfrom  to  messages  bytes each  timed  mean (us)  least (us)       GB/s\n");
    for (int i = 0; i < r->n_edges; i++) {
        const ek_rehearse_transfers *edge = &result->edge[i];
        fprintf(out, "%4d  %2d  %8zu  %10zu  %5zu", edge->from, edge->to, edge->n, r->bytes, edge->n_timed);
        if (edge->n_timed == 0) {
            fputs("          -           -          -\n", out);
            continue;
        }
        fprintf(out, "  %9s", ek__fixed(edge->mean * US, 1).text);
        fprintf(out, "  %10s", ek__fixed(edge->least * US, 1).text);
        fprintf(out, "  %9s%s\n", ek__fixed((double)r->bytes / edge->mean / 1e9, 4).text,
                edge->between_machines ? "  between machines" : "");
    }
    fputs("timed: transfers with a waiting receiver; the end of others is not visible\n", out);
}

static void notes(const ek_rehearse_result *result, FILE *out)
{
    fprintf(out, "\nblocks ended %s us late in the mean (measured)\n", ek__fixed(result->late * US, 1).text);
    if (result->late > 0.02 * result->shortest) {
        fprintf(out, "warning: the shortest block takes %s ms, of which ", ek__fixed(result->shortest * MS, 3).text);
        fprintf(out, "%s %% is lateness %s\n", ek__fixed(100 * result->late / result->shortest, 1).text,
                result->compute == EK_COMPUTE_SLEEP ? "of waking up: give a larger --scale"
                                                    : "for want of cores: other programs run on them");
    }
    if (result->compute != EK_COMPUTE_SLEEP && result->cores > 0 && result->most_on_machine > result->cores)
        fprintf(out,
                "warning: %d processes compute on %d cores, so they slow each other down; start fewer on a machine, or "
                "give --compute sleep\n",
                result->most_on_machine, result->cores);
    if (result->gflops > 0)
        fprintf(out, "products: %s GFLOP/s a process (measured)\n", ek__fixed(result->gflops, 2).text);
    if (result->clock_error > 0)
        fprintf(out, "the machines' clocks differ by at most %s us more than was accounted for (half a round trip)\n",
                ek__fixed(result->clock_error * US, 1).text);
}

ek_status ek__rehearsal_write_text(const ek_rehearse_result *result, FILE *out, ek_error *err)
{
    double measured = result->step[result->shown];
    head_lines(result, out);
    fprintf(out, "\nfigure         measured     predicted  unit  difference\n");
    figure("step", measured * MS, result->predicted * MS, "ms",
           "median of the steps; predicted: simulated with the transfers measured in it", out);
    figure("simulated", measured * MS, result->simulated * MS, "ms", "predicted: as by `evenkeel simulate`", out);
    figure("bubble", 100 * result->bubble, 100 * result->predicted_bubble, "%", "of the stages' time, not computing",
           out);
    fprintf(out, "steps: %d, the shortest %s ms (measured)\n", result->n_steps, ek__fixed(result->best * MS, 3).text);
    stage_table(result, out);
    edge_table(result, out);
    notes(result, out);
    return ek__finish(out, err);
}
