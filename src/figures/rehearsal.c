/* Figures of a rehearsal: the job, whether its order completes, the step, stages and edges, measured next to predicted.
 * Seconds and bytes. */
#include "evenkeel/rehearse.h"

#include <math.h>

#include "figures/results.h"
#include "figures/rows.h"

/* ---- the order ---- */

#define EK__T ek_rehearse_result
/* The fields of one way of sending. */
#define ORDER(name, send_)                                                                                             \
    CONDITION(name##_stops, !it->completes[send_]);                                                                    \
    static const ek__member name##_order[] = {                                                                         \
        {"completes", FLAG(completes[send_]), "no stage waits for ever"},                                              \
        {"cycle", CHARS(cycle[send_]), "who waits for whom; null: it completes", KNOWN(name##_stops)},                 \
    };                                                                                                                 \
    static const ek__fields name##_orders = {FIELDS(name##_order, "order." #name, NULL)}
ORDER(nonblocking, EK_SEND_NONBLOCKING);
ORDER(rendezvous, EK_SEND_RENDEZVOUS);

static const ek__member order[] = {
    {"nonblocking", HERE(nonblocking_orders), "sends that return at once"},
    {"rendezvous", HERE(rendezvous_orders), "sends that wait for the receiver"},
    {"swapped", NAME(swapped), "swapped messages of `--swap`; null: none"},
};
static const ek__fields orders = {FIELDS(order, "order", NULL), .lines = true};

/* ---- the step ---- */

GETTER(measured, real, it->step[it->shown]);
static const ek__member step[] = {
    {"measured_s", GET(SECONDS, measured), "the median of the steps, the lower one of two"},
    {"predicted_s", SECONDS(predicted), "simulated with the transfers of that step"},
    {"simulated_s", SECONDS(simulated), "as `simulate`, with the transfers of the options"},
    {"best_s", SECONDS(best), "the shortest step"},
    {"bubble", REAL(bubble), "of 1: the stages' time in which they do not compute"},
    {"predicted_bubble", REAL(predicted_bubble), "the same, predicted"},
    {"steps_s", SHORT_LIST(n_steps, step, ek__list_of_reals), "every step, seconds"},
    {"late_s", SECONDS(late), "mean lateness of a block's end"},
    {"shortest_block_s", SECONDS(shortest), "the shortest block that takes time"},
};
static const ek__fields steps = {FIELDS(step, "step", NULL), .lines = true};
#undef EK__T

/* ---- stages and edges ---- */

#define EK__T ek_rehearse_stage
static const ek__member stage[] = {
    {"process", COUNT(process), "that it is in"},
    {"machine", TEXT(machine), "that this runs on"},
    {"busy_s", SECONDS(busy), "in blocks"},
    {"predicted_busy_s", SECONDS(predicted_busy), "the same, predicted"},
    {"waiting_s", SECONDS(waiting), "the rest of the step"},
    {"predicted_waiting_s", SECONDS(predicted_waiting), "the same, predicted"},
};
static const ek__fields stages = {FIELDS(stage, "stages[]", NULL)};
#undef EK__T

#define EK__T ek_rehearse_transfers
static int64_t bytes_of(const ek__owner *of)
{
    return (int64_t)((const ek_rehearse_result *)of->result)->rehearsal->bytes;
}

GETTER(messages, number, (int64_t)it->n);
GETTER(edge_bytes, number, bytes_of(of));
GETTER(timed, number, (int64_t)it->n_timed);
GETTER(rate, real, (double)bytes_of(of) / it->mean);
static const ek__member edge[] = {
    {"from", COUNT(from), "stage that sends"},
    {"to", COUNT(to), "stage that receives"},
    {"between_machines", FLAG(between_machines), "they are on different ones"},
    {"messages", GET(COUNT, messages), "of a step"},
    {"bytes", GET(BYTES, edge_bytes), "of each"},
    {"timed", GET(COUNT, timed), "of them those that could be timed"},
    {"mean_s", SECONDS(mean), "of a transfer; null: none was timed"},
    {"least_s", SECONDS(least), "the shortest; null: none was timed"},
    {"bytes_per_s", GET(REAL, rate), "bytes/s, of the mean; null: none was timed"},
};
static const ek__fields edges = {FIELDS(edge, "edges[]", NULL)};
#undef EK__T

/* ---- the report ---- */

#define EK__T ek_rehearse_result
GETTER(n_stages, number, it->rehearsal->n_stages);
GETTER(n_chunks, number, it->rehearsal->n_chunks);
GETTER(n_micro_batches, number, it->rehearsal->n_micro_batches);
GETTER(n_processes, number, it->rehearsal->n_processes);
GETTER(message_bytes, number, (int64_t)it->rehearsal->bytes);
GETTER(checked, number, (int64_t)it->rehearsal->n_messages * it->n_steps);
FINDER(first_stage, it->stage);
FINDER(first_edge, it->edge);
COUNTER(count_stages, it->rehearsal->n_stages);
COUNTER(count_edges, it->rehearsal->n_edges);
static const ek__member rehearsal[] = {
    {"schedule", TEXT(schedule), "its name"},
    {"n_stages", GET(COUNT, n_stages), "of the pipeline"},
    {"n_chunks", GET(COUNT, n_chunks), "of a stage"},
    {"n_micro_batches", GET(COUNT, n_micro_batches), "of a step; sequence pieces count as such"},
    {"n_processes", GET(COUNT, n_processes), "that have the stages"},
    {"send", WORD(send, ek__rehearse_send_name), "as the option `--send`"},
    {"compute", WORD(compute, ek__rehearse_compute_name), "as the option `--compute`"},
    {"unit_s", SECONDS(unit), "of a time of 1 of the plan"},
    {"message_bytes", GET(BYTES, message_bytes), "of each message"},
    {"messages_checked", GET(COUNT, checked), "of all timed steps"},
    {"order", HERE(orders), "does it complete?"},
    {"step", HERE(steps), "measured and predicted"},
    {"stages", FOUND_LIST(first_stage, count_stages, stages), "by stage"},
    {"edges", FOUND_LIST(first_edge, count_edges, edges), "from stage to stage"},
    {"most_processes_on_a_machine", COUNT(most_on_machine), "of the fullest machine"},
    {"cores", COUNT(cores), "the fewest of any machine; 0: not known"},
    {"clock_error_s", SECONDS(clock_error), "of the machines' clocks against one another, at most; 0: one machine"},
    {"gflops", REAL(gflops), "10^9 FLOP/s of a process with `gemm`; null: without", .positive = true},
};
static const ek__fields fields = {FIELDS(rehearsal, NULL, NULL), .lines = true};
#undef EK__T

const ek__result ek__result_rehearsal = {"rehearsal", "rehearse.md", &fields, NULL, NULL};
