/* Writes the timeline of a simulated plan: a row of blocks for each stage, an arrow for every result that goes to
 * another stage, the memory of each stage as steps, and the contents of that memory at any time. Everything is as in
 * the simulation (evenkeel/simulate.h); this file only adds names. */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/c_locale.h"
#include "evenkeel/cases.h"
#include "report/report_internal.h"
#include "view/plan.h"

enum { ARGS_SIZE = 2048, NAME_SIZE = EK__VIEW_BLOCK_SIZE };

typedef struct filler {
    const ek_report *report;
    const ek_case *of;
    const ek_timeline *t;
    const ek_wait *wait; /* [n_blocks] */
    const int *stage_of; /* [n_blocks] */
    ek__view_timeline *out;
} filler;

/* ---- names ---- */

static bool several_chunks(const ek_timeline *t)
{
    return t->shape.n_chunks > 1 || t->schedule->placement == EK_PLACE_BOTH_WAYS;
}

/* "F3", of several chunks "F3·1", of pieces "F3.0·1". */
void ek__view_block_name(const ek_timeline *t, const ek_interval *b, char text[EK__VIEW_BLOCK_SIZE])
{
    static const char *const letter[EK_N_BLOCK_KINDS] = {"F", "B", "W"};
    int n = snprintf(text, NAME_SIZE, "%s%s", letter[b->kind], ek__micro_batch(&t->shape, b->micro_batch).text);
    if (several_chunks(t))
        snprintf(text + n, NAME_SIZE - (size_t)n, "·%d", b->chunk);
}

static void held_name(const ek_timeline *t, const ek_interval *b, const char *what, char text[NAME_SIZE])
{
    int n = snprintf(text, NAME_SIZE, "micro-batch %s", ek__micro_batch(&t->shape, b->micro_batch).text);
    if (several_chunks(t))
        n += snprintf(text + n, NAME_SIZE - (size_t)n, ", chunk %d", b->chunk);
    snprintf(text + n, NAME_SIZE - (size_t)n, "%s", what);
}

ek_view_type ek__view_block_type(const ek_timeline *t, const ek_interval *b)
{
    return b->kind == EK_FORWARD           ? EK_VIEW_FORWARD
           : b->kind == EK_BACKWARD_WEIGHT ? EK_VIEW_BACKWARD_WEIGHT
           : t->schedule->splits_backward  ? EK_VIEW_BACKWARD_INPUT
                                           : EK_VIEW_BACKWARD;
}

/* ---- details of a block ---- */

typedef struct details {
    char text[ARGS_SIZE];
    size_t n;
} details;

static void add(details *d, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void add(details *d, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    int n = ek__vsnprintf(d->text + d->n, sizeof d->text - d->n, format, list);
    va_end(list);
    if (n > 0 && (size_t)n < sizeof d->text - d->n)
        d->n += (size_t)n;
    else
        d->text[d->n] = '\0'; /* a detail that does not fit is left out completely */
}

/* Six digits, as in the other reports; the event itself has its exact times. */
static void add_time(details *d, const char *key, double value)
{
    add(d, ",\"%s\":%s", key, ek__short(value).text);
}

/* Sums of a few hundred terms; values below a millionth are rounding errors. */
static void add_memory(details *d, const char *key, const char *unit, double value)
{
    add(d, ",\"%s (%s)\":%s", key, unit, ek__real(round(value * 1e6) / 1e6).text);
}

static bool is_there(const ek_layer *extra)
{
    return extra->n_layers > 0 || extra->forward_time > 0 || extra->parameter_mb > 0;
}

static void add_layers(details *d, const filler *f, int position)
{
    const ek_timeline *t = f->t;
    const ek_layers *layers = f->report->layers;
    char text[EK__VIEW_KINDS_SIZE];
    int cell = ek_cell_at(t->schedule->placement, t->shape.n_stages, position);
    ek__view_layer_kinds(f->of->plan, cell / t->shape.n_stages, cell % t->shape.n_stages, text);
    bool first = position == 0 && is_there(&layers->head);
    bool last = position == t->shape.n_stages * t->shape.n_chunks - 1 && is_there(&layers->tail);
    add(d, ",\"layers by recomputation\":\"%s%s%s\"", first ? "embedding, " : "", text, last ? ", head and loss" : "");
}

static void add_wait(details *d, const filler *f, const ek_wait *w)
{
    char name[NAME_SIZE];
    add_time(d, "idle before it", w->idle_time);
    if (w->source == EK_NO_BLOCK)
        return;
    ek__view_block_name(f->t, &f->t->block[w->source], name);
    add(d, ",\"takes the result of\":\"%s of stage %d\"", name, f->stage_of[w->source]);
    if (w->transfer_time > 0)
        add_time(d, "transfer", w->transfer_time);
}

static void block_details(const filler *f, size_t k, double before_mb, details *d)
{
    const ek_timeline *t = f->t;
    const ek_interval *b = &t->block[k];
    static const char *const kind[EK_N_BLOCK_KINDS] = {"forward", "backward", "backward for weights"};
    const char *unit = f->report->memory_unit ? f->report->memory_unit : "MB";
    uint32_t pieces = (uint32_t)ek__shape_pieces(&t->shape);
    int position = ek_position(t->schedule->placement, t->shape.n_stages, b->chunk, f->stage_of[k]);
    d->n = 0;
    add(d, "{\"block\":\"%s\",\"stage\":%d,\"chunk\":%d,\"micro-batch\":%" PRIu32,
        t->schedule->splits_backward && b->kind == EK_BACKWARD ? "backward for inputs" : kind[b->kind], f->stage_of[k],
        b->chunk, b->micro_batch / pieces);
    if (pieces > 1)
        add(d, ",\"piece of the sequence\":%" PRIu32, b->micro_batch % pieces);
    add(d, ",\"position in the model\":%d", position);
    add_layers(d, f, position);
    if (b->recompute_time > 0)
        add_time(d, "recomputation in it", b->recompute_time);
    add_wait(d, f, &f->wait[k]);
    add_memory(d, "memory before", unit, before_mb);
    add_memory(d, "memory during", unit, b->during_mb);
    add_memory(d, "memory after", unit, b->memory_mb);
    add(d, "}");
}

/* ---- rows ---- */

static uint32_t transfer_name(const filler *f, const char *text)
{
    return ek__timeline_name(f->out, text, strlen(text), EK_VIEW_TRANSFER);
}

static void fill_row(const filler *f, int stage)
{
    const ek_timeline *t = f->t;
    details d;
    char name[NAME_SIZE];
    double before_mb = t->static_mb[stage], clock = 0;
    ek__timeline_row(f->out);
    for (size_t k = t->first[stage]; k < t->first[stage + 1]; k++) {
        const ek_interval *b = &t->block[k];
        const ek_wait *w = &f->wait[k];
        if (w->receive_time > 0) {
            double begin = fmax(b->start - w->receive_time, clock); /* rounding of differences */
            ek__timeline_event(f->out, begin, b->start - begin, transfer_name(f, "receive"), NULL, 0);
        }
        ek__view_block_name(t, b, name);
        block_details(f, k, before_mb, &d);
        ek__timeline_event(f->out, b->start, b->end - b->start,
                           ek__timeline_name(f->out, name, strlen(name), ek__view_block_type(t, b)), d.text, d.n);
        if (w->send_time > 0)
            ek__timeline_event(f->out, b->end, w->send_time, transfer_name(f, "send"), NULL, 0);
        clock = b->end + w->send_time;
        before_mb = b->memory_mb;
    }
}

static void fill_arrows(const filler *f)
{
    const ek_timeline *t = f->t;
    for (size_t k = 0; k < t->n_blocks; k++) {
        ptrdiff_t source = f->wait[k].source;
        if (source == EK_NO_BLOCK || f->stage_of[source] == f->stage_of[k])
            continue;
        /* An arrow leaves from inside its block: its end may be where the next one begins. */
        const ek_interval *from = &t->block[source];
        double leaves = from->end - (from->end - from->start) / 1000;
        ek__timeline_arrow(f->out, f->stage_of[source], leaves, f->stage_of[k], t->block[k].start,
                           t->block[k].kind == EK_FORWARD ? "activations" : "gradients");
    }
}

/* ---- memory ---- */

static ek_status fill_curve(const filler *f, int stage, ek_error *err)
{
    const ek_timeline *t = f->t;
    size_t n_blocks = t->first[stage + 1] - t->first[stage], n = 0;
    double *time = ek__alloc(2 * n_blocks + 2, sizeof *time), *value = ek__alloc(2 * n_blocks + 2, sizeof *value);
    double before = t->static_mb[stage], limit = ek__stage_limit(f->report, stage);
    if (time && value) {
        value[n++] = before;
        for (size_t k = t->first[stage]; k < t->first[stage + 1]; k++) {
            const ek_interval *b = &t->block[k];
            if (b->during_mb > before) { /* recomputation needs memory for as long as the block runs */
                time[n] = b->start;
                value[n++] = b->during_mb;
            }
            time[n] = b->end;
            value[n++] = before = b->memory_mb;
        }
        time[n] = t->step_time;
        value[n++] = before;
        ek__timeline_curve(f->out, "memory", stage, f->report->memory_unit ? f->report->memory_unit : "MB",
                           limit > 0 ? limit : NAN, true, time, value, n);
    }
    bool fine = time && value;
    free(time);
    free(value);
    return fine ? EK_OK : ek__no_memory(err);
}

/* The sum of the saved bytes at any time is the curve: activations from the end of F to that of B, then the share that
 * the gradient of the weights needs, and the recomputed activations while B runs. */
static void fill_held(const filler *f, int stage)
{
    const ek_timeline *t = f->t;
    char name[NAME_SIZE];
    double constant = fmin(f->report->layers->const_mb, t->static_mb[stage]), before = t->static_mb[stage];
    if (constant > 0)
        ek__timeline_held(f->out, stage, "constant part", EK_VIEW_OTHER, 0, t->step_time, constant);
    if (t->static_mb[stage] > constant)
        ek__timeline_held(f->out, stage, "parameters, gradients and optimizer states", EK_VIEW_PARAMETERS, 0,
                          t->step_time, t->static_mb[stage] - constant);
    for (size_t k = t->first[stage]; k < t->first[stage + 1]; k++) {
        const ek_interval *b = &t->block[k];
        ptrdiff_t until = f->wait[k].freed_by;
        const ek_interval *end = until == EK_NO_BLOCK ? NULL : &t->block[until];
        if (b->kind == EK_FORWARD && end && b->activation_mb > 0) {
            held_name(t, b, "", name);
            ek__timeline_held(f->out, stage, name, EK_VIEW_ACTIVATIONS, b->end, end->end, b->activation_mb);
        }
        if (b->kind == EK_BACKWARD && end && t->weight_share * b->activation_mb > 0) {
            held_name(t, b, ", for the gradient of the weights", name);
            ek__timeline_held(f->out, stage, name, EK_VIEW_ACTIVATIONS, b->end, end->end,
                              t->weight_share * b->activation_mb);
        }
        if (b->during_mb > before) {
            held_name(t, b, ", recomputed", name);
            ek__timeline_held(f->out, stage, name, EK_VIEW_RECOMPUTE, b->start, b->end, b->during_mb - before);
        }
        before = b->memory_mb;
    }
}

/* ---- all of it ---- */

ek_status ek__view_plan_timeline(const ek_report *report, int case_index, ek__view_timeline **out, ek_error *err)
{
    const ek_case *c = &report->cases[case_index];
    const ek_timeline *t = c->timeline;
    int p = t->shape.n_stages;
    ek_status status = ek__check_drawn(t, err);
    if (status)
        return status;
    ek_wait *wait = ek__alloc(t->n_blocks, sizeof *wait);
    int *stage_of = ek__alloc(t->n_blocks, sizeof *stage_of);
    ek__view_timeline *made = ek__timeline_new(NULL, NULL);
    status = wait && stage_of && made ? ek_timeline_waits(t, wait, err) : ek__no_memory(err);
    if (status)
        goto done;
    for (int s = 0; s < p; s++)
        for (size_t k = t->first[s]; k < t->first[s + 1]; k++)
            stage_of[k] = s;
    const filler f = {report, c, t, wait, stage_of, made};
    for (int s = 0; s < p; s++) {
        char name[32];
        snprintf(name, sizeof name, "stage %d", s);
        ek__timeline_group(made, name, -1, s);
        ek__timeline_track(made, "blocks", "stage", 1);
        fill_row(&f, s);
    }
    fill_arrows(&f);
    for (size_t i = 0; i < t->n_path; i++)
        ek__timeline_path(made, stage_of[t->path[i]], t->block[t->path[i]].start, t->block[t->path[i]].end);
    for (int s = 0; s < p && !status; s++) {
        status = fill_curve(&f, s, err);
        fill_held(&f, s);
    }
    ek__timeline_span(made, 0, t->step_time);
done:
    free(wait);
    free(stage_of);
    if (status)
        ek__timeline_free(made);
    else
        *out = made;
    return status;
}

void ek__view_layer_kinds(const ek_plan *plan, int chunk, int stage, char text[EK__VIEW_KINDS_SIZE])
{
    ek_chunk_mix mix = ek_plan_mix(plan, chunk, stage);
    int used = 0;
    snprintf(text, EK__VIEW_KINDS_SIZE, "no layer");
    for (int k = 0; k < EK_N_RECOMPUTE; k++)
        if (mix.n[k] > 0)
            used += snprintf(text + used, EK__VIEW_KINDS_SIZE - (size_t)used, "%s%d %s", used ? ", " : "", mix.n[k],
                             ek_recompute_name[k]);
}
