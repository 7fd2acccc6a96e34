/* Compares measured with predicted figures: the step with the median time, its transfers edge by edge, and the
 * rehearsal simulated with these. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/c_locale.h"
#include "base/error.h"
#include "base/median.h"
#include "evenkeel/rehearse.h"

void ek_rehearse_result_clear(ek_rehearse_result *result)
{
    free(result->step);
    free(result->stage);
    free(result->edge);
    *result = (ek_rehearse_result){0};
}

/* Of long cycles the first and the last waits: those between are similar. */
enum { MOST_WAITS_TOLD = 6, FIRST_TOLD = 3, LAST_TOLD = 2 };

static void append(char *text, size_t size, size_t *used, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int more = *used < size ? ek__vsnprintf(text + *used, size - *used, format, arguments) : 0;
    va_end(arguments);
    *used += more > 0 ? (size_t)more : 0;
}

void ek_rehearse_cycle_text(const ek_rehearsal *rehearsal, const ek_rehearse_wait *cycle, int n,
                            const char *(*machine)(int process), char *text, size_t size)
{
    size_t used = 0;
    if (size > 0)
        *text = '\0';
    for (int i = 0; i < n; i++) {
        char one[320];
        if (n > MOST_WAITS_TOLD && i == FIRST_TOLD) {
            i = n - LAST_TOLD;
            append(text, size, &used, "; %d more stages likewise", n - FIRST_TOLD - LAST_TOLD);
        }
        ek_rehearse_wait_text(rehearsal, &cycle[i], one, sizeof one);
        append(text, size, &used, "%s%s", i ? "; " : "", one);
        if (machine)
            append(text, size, &used, " (%s)", machine(ek_rehearsal_process(rehearsal, cycle[i].stage)));
    }
}

ek_status ek_rehearse_analyse(const ek_rehearsal *rehearsal, ek_rehearse_result *out, ek_error *err)
{
    for (int send = 0; send < EK_N_REHEARSE_SENDS; send++) {
        ek_rehearse_play play;
        ek_status status = ek_rehearsal_play(rehearsal, (ek_rehearse_send)send, NULL, &play, err);
        if (status)
            return status;
        out->completes[send] = play.completes;
        ek_rehearse_cycle_text(rehearsal, play.cycle, play.n_cycle, NULL, out->cycle[send], sizeof out->cycle[send]);
        ek_rehearse_play_clear(&play);
    }
    return EK_OK;
}

static double step_of(const ek_rehearsal *r, const ek_rehearse_record *record)
{
    double step = 0;
    for (size_t k = 0; k < r->n_blocks; k++)
        step = fmax(step, record[k].end);
    return step;
}

/* The step with the median time, the lower one of two. */
static int median_step(const double *step, int n)
{
    for (int i = 0; i < n; i++) {
        int below = 0, same = 0;
        for (int j = 0; j < n; j++) {
            below += step[j] < step[i];
            same += step[j] == step[i];
        }
        if (below <= (n - 1) / 2 && (n - 1) / 2 < below + same)
            return i;
    }
    return 0;
}

/* For each message, the blocks that send and receive it. */
typedef struct ends {
    size_t *sender, *receiver; /* [n_messages] */
} ends;

static void find_ends(const ek_rehearsal *r, ends *e)
{
    for (size_t k = 0; k < r->n_blocks; k++) {
        if (r->block[k].sends != EK_NO_BLOCK)
            e->sender[r->block[k].sends] = k;
        if (r->block[k].receives != EK_NO_BLOCK)
            e->receiver[r->block[k].receives] = k;
    }
}

static void time_transfers(const ek_rehearsal *r, const ends *e, const ek_rehearse_record *record,
                           ek_rehearse_result *out)
{
    for (int i = 0; i < r->n_edges; i++) {
        const char *from = out->stage[r->edge[i].from].machine, *to = out->stage[r->edge[i].to].machine;
        out->edge[i] = (ek_rehearse_transfers){.from = r->edge[i].from,
                                               .to = r->edge[i].to,
                                               .between_machines = from && to && strcmp(from, to) != 0,
                                               .mean = 0,
                                               .least = INFINITY};
    }
    for (size_t m = 0; m < r->n_messages; m++) {
        const ek_rehearse_record *sender = &record[e->sender[m]], *receiver = &record[e->receiver[m]];
        ek_rehearse_transfers *edge = &out->edge[r->message[m].edge];
        bool rendezvous = out->send == EK_SEND_RENDEZVOUS;
        double begun = rendezvous ? fmax(sender->end, receiver->ready) : sender->end;
        edge->n++;
        if (!rendezvous && receiver->ready > sender->end)
            continue;
        double seconds = fmax(receiver->arrived - begun, 0);
        edge->n_timed++;
        edge->mean += seconds;
        edge->least = fmin(edge->least, seconds);
    }
    for (int i = 0; i < r->n_edges; i++) {
        ek_rehearse_transfers *edge = &out->edge[i];
        edge->mean = edge->n_timed > 0 ? edge->mean / (double)edge->n_timed : (double)NAN;
        edge->least = edge->n_timed > 0 ? edge->least : (double)NAN;
    }
}

static ek_status predict(const ek_rehearsal *r, ek_rehearse_result *out, ek_error *err)
{
    double *seconds = ek__alloc((size_t)r->n_edges, sizeof *seconds), sum = 0, n = 0;
    ek_rehearse_play play;
    if (!seconds)
        return ek__no_memory(err);
    for (int i = 0; i < r->n_edges; i++)
        if (out->edge[i].n_timed > 0) {
            sum += out->edge[i].mean * (double)out->edge[i].n_timed;
            n += (double)out->edge[i].n_timed;
        }
    for (int i = 0; i < r->n_edges; i++)
        seconds[i] = out->edge[i].n_timed > 0 ? out->edge[i].mean : n > 0 ? sum / n : 0;
    ek_status status = ek_rehearsal_play(r, out->send, seconds, &play, err);
    free(seconds);
    if (status)
        return status;
    out->predicted = play.step;
    ek_rehearse_play_clear(&play);
    return EK_OK;
}

static void sum_stages(const ek_rehearsal *r, const ek_rehearse_record *record, ek_rehearse_result *out)
{
    double step = out->step[out->shown], busy = 0, predicted_busy = 0, late = 0;
    out->shortest = INFINITY;
    for (int s = 0; s < r->n_stages; s++) {
        ek_rehearse_stage *stage = &out->stage[s];
        stage->busy = stage->predicted_busy = 0;
        for (size_t k = r->first[s]; k < r->first[s + 1]; k++) {
            double seconds = r->block[k].seconds;
            stage->busy += record[k].end - record[k].start;
            stage->predicted_busy += seconds;
            late += record[k].end - record[k].start - seconds;
            if (seconds > 0)
                out->shortest = fmin(out->shortest, seconds);
        }
        stage->waiting = step - stage->busy;
        stage->predicted_waiting = out->predicted - stage->predicted_busy;
        busy += stage->busy;
        predicted_busy += stage->predicted_busy;
    }
    out->late = late / (double)r->n_blocks;
    out->bubble = 1 - busy / (r->n_stages * step);
    out->predicted_bubble = 1 - predicted_busy / (r->n_stages * out->predicted);
}

ek_status ek_rehearse_compare(const ek_rehearsal *rehearsal, const ek_rehearse_measured *measured,
                              ek_rehearse_result *out, ek_error *err)
{
    const ek_rehearsal *r = rehearsal;
    assert(measured->n_steps >= 1 && out->stage);
    ends e = {ek__alloc(r->n_messages, sizeof *e.sender), ek__alloc(r->n_messages, sizeof *e.receiver)};
    out->rehearsal = r;
    out->n_steps = measured->n_steps;
    out->step = ek__alloc((size_t)measured->n_steps, sizeof *out->step);
    out->edge = ek__alloc((size_t)r->n_edges, sizeof *out->edge);
    ek_status status = e.sender && e.receiver && out->step && out->edge ? EK_OK : ek__no_memory(err);
    if (status == EK_OK) {
        out->best = INFINITY;
        for (int i = 0; i < measured->n_steps; i++) {
            out->step[i] = step_of(r, measured->record + (size_t)i * r->n_blocks);
            out->best = fmin(out->best, out->step[i]);
        }
        out->shown = median_step(out->step, measured->n_steps);
        const ek_rehearse_record *record = measured->record + (size_t)out->shown * r->n_blocks;
        find_ends(r, &e);
        time_transfers(r, &e, record, out);
        status = predict(r, out, err);
        if (status == EK_OK)
            sum_stages(r, record, out);
    }
    free(e.sender);
    free(e.receiver);
    return status;
}
