/* A rehearsal for scripts: docs/rehearse.md. Seconds and bytes. */
#include <math.h>

#include "base/json_stream.h"
#include "evenkeel/rehearse.h"
#include "report/report_internal.h"
#include "report/writers.h"

static void write_orders(ek__stream *s, const ek_rehearse_result *result)
{
    ek__stream_object(s, "order", true);
    for (int send = 0; send < EK_N_REHEARSE_SENDS; send++) {
        ek__stream_object(s, ek_rehearse_send_name[send], false);
        ek__stream_bool(s, "completes", result->completes[send]);
        ek__stream_text(s, "cycle", result->completes[send] ? NULL : result->cycle[send]);
        ek__stream_end(s);
    }
    ek__stream_text(s, "swapped", result->swapped[0] ? result->swapped : NULL);
    ek__stream_end(s);
}

static void write_step(ek__stream *s, const ek_rehearse_result *result)
{
    ek__stream_object(s, "step", true);
    ek__stream_real(s, "measured_s", result->step[result->shown]);
    ek__stream_real(s, "predicted_s", result->predicted);
    ek__stream_real(s, "simulated_s", result->simulated);
    ek__stream_real(s, "best_s", result->best);
    ek__stream_real(s, "bubble", result->bubble);
    ek__stream_real(s, "predicted_bubble", result->predicted_bubble);
    ek__stream_list(s, "steps_s", false);
    for (int i = 0; i < result->n_steps; i++)
        ek__stream_real(s, NULL, result->step[i]);
    ek__stream_end(s);
    ek__stream_real(s, "late_s", result->late);
    ek__stream_real(s, "shortest_block_s", result->shortest);
    ek__stream_end(s);
}

static void write_stages(ek__stream *s, const ek_rehearse_result *result)
{
    ek__stream_list(s, "stages", true);
    for (int i = 0; i < result->rehearsal->n_stages; i++) {
        const ek_rehearse_stage *stage = &result->stage[i];
        ek__stream_object(s, NULL, false);
        ek__stream_int(s, "process", stage->process);
        ek__stream_text(s, "machine", stage->machine);
        ek__stream_real(s, "busy_s", stage->busy);
        ek__stream_real(s, "predicted_busy_s", stage->predicted_busy);
        ek__stream_real(s, "waiting_s", stage->waiting);
        ek__stream_real(s, "predicted_waiting_s", stage->predicted_waiting);
        ek__stream_end(s);
    }
    ek__stream_end(s);
}

static void write_edges(ek__stream *s, const ek_rehearse_result *result)
{
    ek__stream_list(s, "edges", true);
    for (int i = 0; i < result->rehearsal->n_edges; i++) {
        const ek_rehearse_transfers *edge = &result->edge[i];
        ek__stream_object(s, NULL, false);
        ek__stream_int(s, "from", edge->from);
        ek__stream_int(s, "to", edge->to);
        ek__stream_bool(s, "between_machines", edge->between_machines);
        ek__stream_int(s, "messages", (int64_t)edge->n);
        ek__stream_int(s, "bytes", (int64_t)result->rehearsal->bytes);
        ek__stream_int(s, "timed", (int64_t)edge->n_timed);
        ek__stream_real(s, "mean_s", edge->mean);
        ek__stream_real(s, "least_s", edge->least);
        ek__stream_real(s, "bytes_per_s", (double)result->rehearsal->bytes / edge->mean);
        ek__stream_end(s);
    }
    ek__stream_end(s);
}

ek_status ek__rehearsal_write_json(const ek_rehearse_result *result, FILE *out, ek_error *err)
{
    const ek_rehearsal *r = result->rehearsal;
    ek__stream s = {.out = out};
    ek__stream_object(&s, NULL, true);
    ek__stream_text(&s, "schedule", result->schedule);
    ek__stream_int(&s, "n_stages", r->n_stages);
    ek__stream_int(&s, "n_chunks", r->n_chunks);
    ek__stream_int(&s, "n_micro_batches", r->n_micro_batches);
    ek__stream_int(&s, "n_processes", r->n_processes);
    ek__stream_text(&s, "send", ek_rehearse_send_name[result->send]);
    ek__stream_text(&s, "compute", ek_rehearse_compute_name[result->compute]);
    ek__stream_real(&s, "unit_s", result->unit);
    ek__stream_int(&s, "message_bytes", (int64_t)r->bytes);
    ek__stream_int(&s, "messages_checked", (int64_t)r->n_messages * result->n_steps);
    write_orders(&s, result);
    write_step(&s, result);
    write_stages(&s, result);
    write_edges(&s, result);
    ek__stream_int(&s, "most_processes_on_a_machine", result->most_on_machine);
    ek__stream_int(&s, "cores", result->cores);
    ek__stream_real(&s, "clock_error_s", result->clock_error);
    ek__stream_real(&s, "gflops", result->gflops > 0 ? result->gflops : (double)NAN);
    ek__stream_end(&s);
    fputc('\n', out);
    return ek__finish(out, err);
}
