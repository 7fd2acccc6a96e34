/* Prints a schedule of equal stages for people and for scripts. */

#include "evenkeel/uniform.h"
#include "report/report_internal.h"
#include "report/writers.h"

/* Stages next to one another with the same figure share a line. */
static void live_table(const ek_uniform_run *run, FILE *out)
{
    int p = run->plan.n_stages;
    fputs("stage      live activations\n", out);
    for (int from = 0, to; from < p; from = to + 1) {
        char stages[32];
        for (to = from; to + 1 < p && run->live[to + 1] == run->live[from];)
            to++;
        if (to > from)
            snprintf(stages, sizeof stages, "%d..%d", from, to);
        else
            snprintf(stages, sizeof stages, "%d", from);
        fprintf(out, "%-9s  %s\n", stages, ek__short(run->live[from]).text);
    }
}

static void limit_line(const ek_uniform_run *run, FILE *out)
{
    const ek_schedule *schedule = run->timeline.schedule;
    if (!(run->activation_limit > 0))
        return;
    fprintf(out, "activation limit: %s, ", ek__short(run->activation_limit).text);
    if (schedule->arrange)
        fputs(run->limit_given ? "kept: the order is made for it\n" : "the schedule's own; the order is made for it\n",
              out);
    else if (ek_uniform_over_limit(run))
        fprintf(out, "NOT kept: %s has a fixed order, which stores %s\n", schedule->name, ek__short(run->peak).text);
    else
        fputs("kept\n", out);
}

ek_status ek__uniform_write_text(const ek_uniform_run *run, FILE *out, ek_error *err)
{
    const ek_timeline *timeline = &run->timeline;
    const ek_schedule *schedule = timeline->schedule;
    const ek_uniform *times = &run->times;
    fprintf(out, "%s: %s\n", schedule->name, schedule->summary);
    fprintf(out, "%d stage%s, %d chunk%s per stage, %d micro-batch%s\n", timeline->shape.n_stages,
            timeline->shape.n_stages == 1 ? "" : "s", timeline->shape.n_chunks,
            timeline->shape.n_chunks == 1 ? "" : "s", timeline->shape.n_micro_batches,
            timeline->shape.n_micro_batches == 1 ? "" : "es");
    fprintf(out, "times of a stage and micro-batch: forward %s, ", ek__short(times->forward_time).text);
    if (schedule->splits_backward) {
        fprintf(out, "input gradient %s, ", ek__short(times->backward_time - times->weight_time).text);
        fprintf(out, "weight gradient %s%s\n", ek__short(times->weight_time).text,
                times->split_given ? "" : " (half and half: assumed)");
        fprintf(out, "activations held until the weight gradient: %s %%%s\n", ek__short(100 * times->weight_share).text,
                times->share_given ? "" : " (assumed)");
    } else {
        fprintf(out, "backward %s\n", ek__short(times->backward_time).text);
    }
    if (timeline->comm.p2p_time > 0)
        fprintf(out, "transfers: %s, %s\n", ek__short(timeline->comm.p2p_time).text,
                timeline->comm.blocking ? "blocking" : "non-blocking");
    fprintf(out, "\nstep time: %s (simulated)\n", ek__short(timeline->step_time).text);
    fprintf(out, "idle share of the step: %s = 1 - work / (p step)\n", ek__fixed(run->bubble_share, 6).text);
    fprintf(out, "bubble ratio: %s = (p step - work) / work, as balance prints it\n",
            ek__fixed(timeline->bubble.real, 6).text);
    if (run->span < timeline->step_time * (1 - 1e-9))
        fprintf(out,
                "widest stage: %s from its first to its last block, the step if stages need not meet between "
                "steps\n",
                ek__short(run->span).text);
    fprintf(out, "peak: %s live activations, in micro-batches of a whole stage (%s p)\n", ek__short(run->peak).text,
            ek__short(run->peak / timeline->shape.n_stages).text);
    limit_line(run, out);
    fputc('\n', out);
    live_table(run, out);
    return ek__finish(out, err);
}
