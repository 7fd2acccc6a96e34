/* Writes a plan and its simulation as facts and sections: the plan itself, the use of time in each stage, times of
 * layers, memory of stages. The timeline is plan_timeline.c. Times have the unit of the layer times, which is not
 * given. */
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "evenkeel/cases.h"
#include "evenkeel/ranking.h"
#include "report/report_internal.h"
#include "view/plan.h"

enum { TEXT_SIZE = 512 };

static bool present(const ek_view_run *run)
{
    return run->plans && run->case_index >= 0 && run->case_index < run->plans->n_cases;
}

static const ek_case *case_of(const ek_view_run *run)
{
    return &run->plans->cases[run->case_index];
}

/* The search describes only the first case. */
static const ek_balance_result *search_of(const ek_view_run *run)
{
    return run->case_index == 0 ? run->plans->search : NULL;
}

static ek__view_unit memory_unit(const ek_report *report)
{
    return report->memory_unit ? EK__UNIT_NONE : EK__UNIT_MB;
}

/* A title, with the unit where the page does not know it. */
static const char *memory_title(const ek_report *report, const char *title, char text[TEXT_SIZE])
{
    if (!report->memory_unit)
        return title;
    snprintf(text, TEXT_SIZE, "%.400s (%.40s)", title, report->memory_unit);
    return text;
}

static double limit_of(const ek_report *report, int stage)
{
    double limit = ek__stage_limit(report, stage);
    return limit > 0 ? limit : NAN;
}

/* "stage 3" */
static const char *stage_name(int stage, char text[32])
{
    snprintf(text, 32, "stage %d", stage);
    return text;
}

/* ---- places in the timeline ---- */

/* The first block of a stage that is of a chunk (-1: of any), with its name in `name`. */
static ek__view_place first_block(const ek_view_run *run, int stage, int chunk, char name[EK__VIEW_BLOCK_SIZE])
{
    const ek_timeline *t = case_of(run)->timeline;
    for (size_t k = t->first[stage]; k < t->first[stage + 1]; k++)
        if (chunk < 0 || t->block[k].chunk == chunk) {
            ek__view_block_name(t, &t->block[k], name);
            return (ek__view_place){stage, t->block[k].start, t->block[k].end, name};
        }
    return (ek__view_place){stage, NAN, NAN, NULL};
}

/* The block during or after which a stage has its largest memory. */
static ek__view_place fullest_block(const ek_view_run *run, int stage, char name[EK__VIEW_BLOCK_SIZE])
{
    const ek_timeline *t = case_of(run)->timeline;
    const ek_interval *most = NULL;
    for (size_t k = t->first[stage]; k < t->first[stage + 1]; k++) {
        const ek_interval *b = &t->block[k];
        if (!most || fmax(b->during_mb, b->memory_mb) > fmax(most->during_mb, most->memory_mb))
            most = b;
    }
    if (!most)
        return (ek__view_place){stage, NAN, NAN, NULL};
    ek__view_block_name(t, most, name);
    return (ek__view_place){stage, most->start, most->end, name};
}

static void place_stages(int n_stages, ek__section *x)
{
    for (int s = 0; s < n_stages; s++)
        ek__table_place(x, &(ek__view_place){s, NAN, NAN, NULL});
}

/* ---- facts ---- */

/* Labels are equal for all plans, since runs are compared by them. */
static void memory_facts(const ek_view_run *run, ek__stream *s)
{
    const ek_report *report = run->plans;
    const ek_timeline *t = case_of(run)->timeline;
    char title[TEXT_SIZE], text[TEXT_SIZE];
    int stage, tightest = ek__tightest_stage(report, t);
    double peak = ek_timeline_peak(t, &stage), limit = ek__stage_limit(report, tightest);
    ek__view_fact(s, memory_title(report, "peak memory", title), peak, memory_unit(report) | EK__LESS, NULL,
                  EK__SIMULATED);
    snprintf(text, sizeof text, "stage %d", stage);
    ek__view_fact(s, "fullest", NAN, EK__UNIT_TEXT, text, EK__SIMULATED);
    if (!(limit > 0))
        return;
    if (report->stage_memory_mb) {
        snprintf(text, sizeof text, "stage %d", tightest);
        ek__view_fact(s, "least room", NAN, EK__UNIT_TEXT, text, EK__SIMULATED);
    }
    ek__view_fact(s, memory_title(report, report->stage_memory_mb ? "its memory limit" : "memory limit", title), limit,
                  memory_unit(report), NULL, NULL);
    ek__view_fact(s, memory_title(report, "room below the limit", title), limit - t->peak_mb[tightest],
                  memory_unit(report) | EK__MORE, NULL, EK__SIMULATED);
    ek__view_fact(s, "fits", NAN, EK__UNIT_TEXT, ek__over_limit(report, t, tightest) ? "no, over the limit" : "yes",
                  EK__SIMULATED);
}

static void facts(const ek_view_run *run, ek__stream *s)
{
    const ek_timeline *t = case_of(run)->timeline;
    const ek_balance_result *search = search_of(run);
    ek__view_fact(s, "step time", t->step_time, EK__UNIT_TIME | EK__LESS, NULL, EK__SIMULATED);
    if (search)
        ek__view_fact(s, "status", NAN, EK__UNIT_TEXT, ek_balance_status_name[search->status], NULL);
    if (search && search->lower_bound > 0 && !search->proved_optimal) {
        ek__view_fact(s, "lower bound, proved", search->lower_bound, EK__UNIT_TIME, NULL, EK__DERIVED);
        ek__view_fact(s, "gap", 100 * search->gap, EK__UNIT_PERCENT | EK__LESS, NULL, EK__DERIVED);
    }
    ek__view_fact(s, "bubble, of the work", 100 * t->bubble.real, EK__UNIT_PERCENT | EK__LESS, NULL, EK__SIMULATED);
    memory_facts(run, s);
    char text[TEXT_SIZE];
    snprintf(text, sizeof text, "%s, %d stages, %d %s per stage, %d micro-batches", t->schedule->name,
             t->shape.n_stages, t->shape.n_chunks, t->shape.n_chunks == 1 ? "chunk" : "chunks",
             ek__micro_batches(&t->shape));
    ek__view_fact(s, "pipeline", NAN, EK__UNIT_TEXT, text, NULL);
}

static void split_notes(const ek_view_run *run, ek__stream *s)
{
    const ek_timeline *t = case_of(run)->timeline;
    char text[TEXT_SIZE];
    if (!t->schedule->splits_backward)
        return;
    if (!run->plans->layers->split_known)
        ek__stream_text(s, NULL, "Backward split: half input gradient, half weight gradient (assumed).");
    snprintf(text, sizeof text, "Activations saved until the weight gradient: %s %% (assumed).",
             ek__short(100 * t->weight_share).text);
    ek__stream_text(s, NULL, text);
}

static void search_notes(const ek_view_run *run, ek__stream *s)
{
    const ek_balance_result *search = search_of(run);
    char text[TEXT_SIZE];
    if (!search || !ek__status_basis(search->status))
        return;
    snprintf(text, sizeof text, "The plan is %s (%s).", ek_balance_status_name[search->status],
             ek__status_basis(search->status));
    ek__stream_text(s, NULL, text);
    if (search->lower_bound > 0 && !search->proved_optimal) {
        snprintf(text, sizeof text,
                 "No plan within the limits takes less than %s (proved), so this one is within %s %%.",
                 ek__short(search->lower_bound).text, ek__fixed(100 * search->gap, 2).text);
        ek__stream_text(s, NULL, text);
    }
}

static void notes(const ek_view_run *run, ek__stream *s)
{
    const ek_report *report = run->plans;
    const ek_timeline *t = case_of(run)->timeline;
    char text[TEXT_SIZE];
    ek__stream_text(s, NULL, "Times are in the unit of the given layer times, and simulated from them.");
    search_notes(run, s);
    if (t->comm.edge_time)
        snprintf(text, sizeof text, "Transfers are %s; their times differ between the stages.",
                 t->comm.blocking ? "blocking" : "non-blocking");
    else
        snprintf(text, sizeof text, "Transfers are %s and take %s.", t->comm.blocking ? "blocking" : "non-blocking",
                 ek__short(t->comm.p2p_time).text);
    if (t->comm.edge_time || t->comm.p2p_time > 0)
        ek__stream_text(s, NULL, text);
    split_notes(run, s);
    if (report->layers->recompute_transient)
        ek__stream_text(s, NULL,
                        "Memory counts activations that recomputation restores during the backward pass of a layer.");
    if (report->micro_batch_cost)
        ek__stream_text(s, NULL, "Micro-batches differ: times and activations are scaled by the factors given.");
    if (report->train_file) {
        snprintf(text, sizeof text, "Sequence pieces: %d; times and memory of a piece are derived from %.300s.",
                 ek__shape_pieces(&t->shape), report->train_file);
        ek__stream_text(s, NULL, text);
    }
}

/* ---- the plan ---- */

/* Tables and bars follow the plan, which has each part of the model once. */
static void both_ways_note(const ek_view_run *run, ek__section *x)
{
    if (case_of(run)->timeline->schedule->placement == EK_PLACE_BOTH_WAYS)
        ek__section_note(x, "Micro-batches run in both directions: each stage also has the layers of its mirror stage "
                            "(equally far from the other end), and runs them for the other half of the micro-batches.");
}

static void plan_table(const ek_view_run *run, ek__section *x)
{
    static const ek__view_column column[] = {
        {"chunk", "stage and chunk", EK__UNIT_TEXT, false},
        {"layers", "layers", EK__UNIT_COUNT, false},
        {"offset", "offset", EK__UNIT_NONE, false},
        {"recompute", "recompute", EK__UNIT_COUNT, false},
        {"select_recompute", "select_recompute", EK__UNIT_COUNT, false},
        {"select_comm_recompute", "select_comm_recompute", EK__UNIT_COUNT, false},
        {"kinds", "layers by recomputation", EK__UNIT_TEXT, false},
    };
    const ek_plan *plan = case_of(run)->plan;
    char text[EK__VIEW_KINDS_SIZE], name[EK__VIEW_BLOCK_SIZE];
    ek__table_begin(x, "plan", "Layers and recomputation of every chunk", column, sizeof column / sizeof *column);
    for (int s = 0; s < plan->n_stages; s++)
        for (int i = 0; i < plan->n_chunks; i++) {
            int cell = i * plan->n_stages + s;
            ek__row_begin(x);
            snprintf(text, sizeof text, plan->n_chunks > 1 ? "stage %d, chunk %d" : "stage %d", s, i);
            ek__cell_text(x, text);
            ek__cell_int(x, plan->layers[cell]);
            ek__cell_int(x, ek_plan_offset(plan, run->plans->layers->n_layers, i, s));
            ek__cell_int(x, plan->full[cell]);
            ek__cell_int(x, plan->select[cell]);
            ek__cell_int(x, plan->comm[cell]);
            ek__view_layer_kinds(plan, i, s, text);
            ek__cell_text(x, text);
            ek__row_end(x);
        }
    for (int s = 0; s < plan->n_stages; s++)
        for (int i = 0; i < plan->n_chunks; i++) {
            ek__view_place place = first_block(run, s, i, name);
            ek__table_place(x, &place);
        }
    ek__table_end(x, -1, false);
}

static void setting(ek__section *x, const char *name, const char *value)
{
    ek__row_begin(x);
    ek__cell_text(x, name);
    ek__cell_text(x, value);
    ek__row_end(x);
}

/* The lists in the form of a framework's YAML, a row each. */
static ek_status list_settings(const ek_view_run *run, ek__section *x, ek_error *err)
{
    char *text = NULL, *next;
    size_t size;
    FILE *lines = open_memstream(&text, &size);
    if (!lines)
        return ek__no_memory(err);
    ek__print_lists(case_of(run)->plan, run->plans->layers->n_layers, "", lines);
    if (fclose(lines) != 0 || !text) {
        free(text);
        return ek__no_memory(err);
    }
    for (char *line = text; *line; line = next) {
        next = line + strcspn(line, "\n");
        if (*next)
            *next++ = '\0';
        char *colon = strstr(line, ": ");
        if (colon) {
            *colon = '\0';
            setting(x, line, colon + 2);
        }
    }
    free(text);
    return EK_OK;
}

static ek_status settings_table(const ek_view_run *run, ek__section *x, ek_error *err)
{
    static const ek__view_column column[] = {{"setting", "setting", EK__UNIT_TEXT, false},
                                             {"value", "value", EK__UNIT_TEXT, false}};
    const ek_timeline *t = case_of(run)->timeline;
    char text[TEXT_SIZE];
    const struct {
        const char *name;
        int value;
    } number[] = {{"stages", t->shape.n_stages},
                  {"chunks per stage", t->shape.n_chunks},
                  {"micro-batches", ek__micro_batches(&t->shape)},
                  {"sequence pieces", ek__shape_pieces(&t->shape)}};
    ek__table_begin(x, "settings", "Settings", column, 2);
    setting(x, "model", run->plans->layers->name);
    snprintf(text, sizeof text, "%s: %s", t->schedule->name, t->schedule->title);
    setting(x, "schedule", text);
    for (size_t i = 0; i < sizeof number / sizeof *number; i++) {
        snprintf(text, sizeof text, "%d", number[i].value);
        setting(x, number[i].name, text);
    }
    ek_status status = list_settings(run, x, err);
    ek__table_end(x, -1, false);
    return status;
}

/* The candidates from which the answer was chosen. */
static void ranking_table(const ek_report *report, ek__section *x)
{
    const ek_ranking *ranking = report->ranking;
    char text[TEXT_SIZE], peak[TEXT_SIZE];
    const ek__view_column column[] = {
        {"tried", "schedule", EK__UNIT_TEXT, false},
        {"step", "step time", EK__UNIT_TIME | EK__LESS, false},
        {"bound", "lower bound", EK__UNIT_TIME, false},
        {"peak", memory_title(report, "peak memory", peak), memory_unit(report) | EK__LESS, false},
        {"peak_stage", "peak stage", EK__UNIT_NONE, false},
        {"status", "status", EK__UNIT_TEXT, false}};
    ek__table_begin(x, "tried", "Tried combinations", column, sizeof column / sizeof *column);
    for (int i = 0; i < ranking->n; i++) {
        const ek_ranked *r = &ranking->ranked[i];
        bool fits = isfinite(r->step_time);
        ek__row_begin(x);
        snprintf(text, sizeof text, "%s, %d %s per stage", r->schedule->name, r->n_chunks,
                 r->n_chunks == 1 ? "chunk" : "chunks");
        ek__cell_text(x, text);
        ek__cell_real(x, r->step_time);
        ek__cell_real(x, r->lower_bound);
        ek__cell_real(x, fits ? r->peak_memory_mb : NAN);
        ek__cell_int(x, fits ? r->peak_stage : INT64_MIN);
        ek__cell_text(x, ek_balance_status_name[r->status]);
        ek__row_end(x);
    }
    for (int i = 0; i < ranking->n_skipped; i++) {
        ek__row_begin(x);
        ek__cell_text(x, ranking->skipped[i].name);
        for (int k = 0; k < 4; k++)
            ek__cell_text(x, NULL);
        snprintf(text, sizeof text, "not tried: %s", ranking->skipped[i].reason);
        ek__cell_text(x, text);
        ek__row_end(x);
    }
    ek__table_end(x, -1, false);
}

static ek_status plan_section(const ek_view_run *run, ek__stream *s, ek_error *err)
{
    ek__section x = ek__section_begin(s, "plan");
    both_ways_note(run, &x);
    plan_table(run, &x);
    ek_status status = settings_table(run, &x, err);
    if (run->case_index == 0 && run->plans->ranking)
        ranking_table(run->plans, &x);
    ek__section_end(&x);
    return status;
}

/* ---- how the step is spent ---- */

enum { N_SPENT = 6 };

/* A part of a stage's time that this plan has: its name, its type and its place in an ek_stage_time. */
typedef struct spent {
    int n;
    struct {
        const char *name;
        ek_view_type type;
        size_t at;
    } part[N_SPENT];
} spent;

static spent what_is_spent(const ek_timeline *t)
{
    bool split = t->schedule->splits_backward;
    bool blocking = t->comm.blocking && (t->comm.edge_time || t->comm.p2p_time > 0);
    spent out = {2,
                 {{"forward", EK_VIEW_FORWARD, offsetof(ek_stage_time, forward)},
                  {split ? "backward for inputs" : "backward", split ? EK_VIEW_BACKWARD_INPUT : EK_VIEW_BACKWARD,
                   offsetof(ek_stage_time, backward)}}};
    if (split) {
        out.part[out.n].name = "backward for weights";
        out.part[out.n].type = EK_VIEW_BACKWARD_WEIGHT;
        out.part[out.n++].at = offsetof(ek_stage_time, weight);
    }
    out.part[out.n].name = "recompute";
    out.part[out.n].type = EK_VIEW_RECOMPUTE;
    out.part[out.n++].at = offsetof(ek_stage_time, recompute);
    if (blocking) {
        out.part[out.n].name = "blocking transfers";
        out.part[out.n].type = EK_VIEW_TRANSFER;
        out.part[out.n++].at = offsetof(ek_stage_time, transfer);
    }
    out.part[out.n].name = "bubble";
    out.part[out.n].type = EK_VIEW_IDLE;
    out.part[out.n++].at = offsetof(ek_stage_time, idle);
    return out;
}

static double spent_on(const spent *what, int part, const ek_stage_time *time)
{
    double value;
    memcpy(&value, (const char *)time + what->part[part].at, sizeof value);
    return value;
}

static void breakdown_bars(const ek_timeline *t, const spent *what, const ek_stage_time *time, ek__section *x)
{
    char name[32];
    ek__bars_begin(x, "step", "Step time by part and stage (simulated)", EK__UNIT_TIME);
    for (int i = 0; i < what->n; i++)
        ek__bars_series(x, what->part[i].name, what->part[i].type);
    for (int s = 0; s < t->shape.n_stages; s++) {
        double value[N_SPENT];
        for (int i = 0; i < what->n; i++)
            value[i] = spent_on(what, i, &time[s]);
        ek__bars_bar(x, stage_name(s, name), s, value, what->n);
    }
    ek__bars_end(x, NAN);
}

static void breakdown_table(const ek_timeline *t, const spent *what, const ek_stage_time *time, ek__section *x)
{
    ek__view_column column[N_SPENT + 2] = {{"stage", "stage", EK__UNIT_TEXT, false}};
    char name[32];
    for (int i = 0; i < what->n; i++)
        column[i + 1] = (ek__view_column){what->part[i].name, what->part[i].name, EK__UNIT_TIME, false};
    column[what->n + 1] = (ek__view_column){"computing", "computing", EK__UNIT_PERCENT | EK__MORE, false};
    ek__table_begin(x, "stages", "Stages (simulated)", column, what->n + 2);
    for (int s = 0; s < t->shape.n_stages; s++) {
        ek__row_begin(x);
        ek__cell_text(x, stage_name(s, name));
        for (int i = 0; i < what->n; i++)
            ek__cell_real(x, spent_on(what, i, &time[s]));
        ek__cell_real(x, 100 * t->busy[s]);
        ek__row_end(x);
    }
    place_stages(t->shape.n_stages, x);
    ek__table_end(x, -1, false);
}

static void bubble_table(const ek_bubble *b, ek__section *x)
{
    static const ek__view_column column[] = {{"part", "bubble", EK__UNIT_TEXT, false},
                                             {"share", "of the work", EK__UNIT_PERCENT | EK__LESS, false}};
    const struct {
        const char *name;
        double share;
    } part[] = {{"all of it", b->real},
                {"of the schedule, with equal stages", b->ideal},
                {"stages and chunks that differ, transfers", b->imba},
                {"recomputation", b->recompute}};
    ek__table_begin(x, "bubble", "Idle share of the step, and recomputation", column, 2);
    for (size_t i = 0; i < sizeof part / sizeof *part; i++) {
        ek__row_begin(x);
        ek__cell_text(x, part[i].name);
        ek__cell_real(x, 100 * part[i].share);
        ek__row_end(x);
    }
    ek__table_end(x, -1, false);
}

static ek_status breakdown_section(const ek_view_run *run, ek__stream *s, ek_error *err)
{
    const ek_timeline *t = case_of(run)->timeline;
    ek_wait *wait = ek__alloc(t->n_blocks, sizeof *wait);
    ek_stage_time *time = ek__alloc((size_t)t->shape.n_stages, sizeof *time);
    ek_status status = wait && time ? ek_timeline_waits(t, wait, err) : ek__no_memory(err);
    if (!status) {
        ek_timeline_stage_times(t, wait, time);
        ek__section x = ek__section_begin(s, "breakdown");
        const spent what = what_is_spent(t);
        breakdown_bars(t, &what, time, &x);
        breakdown_table(t, &what, time, &x);
        bubble_table(&t->bubble, &x);
        ek__section_end(&x);
    }
    free(wait);
    free(time);
    return status;
}

/* ---- layers ---- */

static void begin_layer_bars(ek__section *x, const char *id, const char *title)
{
    ek__bars_begin(x, id, title, EK__UNIT_TIME);
    ek__bars_series(x, "forward", EK_VIEW_FORWARD);
    ek__bars_series(x, "backward", EK_VIEW_BACKWARD);
    ek__bars_series(x, "recompute", EK_VIEW_RECOMPUTE);
}

static void kind_bar(const ek_layer *layer, const char *label, int kind, ek__section *x)
{
    double plain = layer->backward_time[EK_RECOMPUTE_NONE];
    const double value[3] = {layer->forward_time, plain, layer->backward_time[kind] - plain};
    ek__bars_bar(x, label, -1, value, 3);
}

/* One layer of each kind, by its recomputation. */
static void kind_bars(const ek_layers *layers, ek__section *x)
{
    char label[EK_NAME_SIZE + 32];
    begin_layer_bars(x, "kinds", "One layer of each kind, one micro-batch (as given)");
    if (layers->head.n_layers > 0)
        kind_bar(&layers->head, layers->head.name, EK_RECOMPUTE_NONE, x);
    for (int b = 0; b < layers->n_body; b++)
        for (int k = 0; k < EK_N_RECOMPUTE; k++)
            if (layers->modelled[k]) {
                snprintf(label, sizeof label, "%s, %s", layers->body[b].name, ek_recompute_name[k]);
                kind_bar(&layers->body[b], label, k, x);
            }
    if (layers->tail.n_layers > 0)
        kind_bar(&layers->tail, layers->tail.name, EK_RECOMPUTE_NONE, x);
    ek__bars_end(x, NAN);
}

static void layer_bars(const ek_view_run *run, const ek_chunk_cost *cost, ek__section *x)
{
    const ek_plan *plan = case_of(run)->plan;
    char name[32];
    begin_layer_bars(x, "stage_layers", "Layers of each stage, one micro-batch (from the layer times)");
    for (int s = 0; s < plan->n_stages; s++) {
        double value[3] = {0};
        for (int i = 0; i < plan->n_chunks; i++) {
            const ek_chunk_cost *c = &cost[i * plan->n_stages + s];
            value[0] += c->forward_time;
            value[1] += c->backward_time - c->recompute_time;
            value[2] += c->recompute_time;
        }
        ek__bars_bar(x, stage_name(s, name), s, value, 3);
    }
    ek__bars_end(x, NAN);
}

/* A row, or its place when `at` is given. */
static void layer_row(ek__section *x, const ek__view_place *at, const char *place, const char *what, int n,
                      const ek_layer *layer, int kind)
{
    if (at) {
        ek__table_place(x, at);
        return;
    }
    ek__row_begin(x);
    ek__cell_text(x, place);
    ek__cell_text(x, what);
    ek__cell_text(x, ek_recompute_name[kind]);
    ek__cell_int(x, n);
    ek__cell_real(x, n * layer->forward_time);
    ek__cell_real(x, n * layer->backward_time[EK_RECOMPUTE_NONE]);
    ek__cell_real(x, n * (layer->backward_time[kind] - layer->backward_time[EK_RECOMPUTE_NONE]));
    ek__cell_real(x, n * layer->parameter_mb);
    ek__cell_real(x, n * layer->activation_mb[kind]);
    ek__row_end(x);
}

/* "stage 2, body, full" distinguishes rows when plans are compared. */
static void layer_rows(const ek_view_run *run, int stage, int chunk, const int *count, const ek__view_place *where,
                       ek__section *x)
{
    const ek_plan *plan = case_of(run)->plan;
    const ek_layers *layers = run->plans->layers;
    ek_placement placement = case_of(run)->timeline->schedule->placement;
    int cell = chunk * plan->n_stages + stage, last = plan->n_stages * plan->n_chunks - 1;
    int position = ek_cell_at(placement, plan->n_stages, cell);
    size_t per_cell = (size_t)layers->n_body * EK_N_RECOMPUTE;
    char place[EK_NAME_SIZE + 96], at[64];
    snprintf(at, sizeof at, plan->n_chunks > 1 ? "stage %d, chunk %d" : "stage %d", stage, chunk);
    if (position == 0 && layers->head.n_layers > 0) {
        snprintf(place, sizeof place, "%s: %s", at, layers->head.name);
        layer_row(x, where, place, layers->head.name, layers->head.n_layers, &layers->head, EK_RECOMPUTE_NONE);
    }
    for (int b = 0; b < layers->n_body; b++)
        for (int k = 0; k < EK_N_RECOMPUTE; k++) {
            int n = count[(size_t)cell * per_cell + (size_t)b * EK_N_RECOMPUTE + (size_t)k];
            snprintf(place, sizeof place, "%s: %s, %s", at, layers->body[b].name, ek_recompute_name[k]);
            if (n > 0)
                layer_row(x, where, place, layers->body[b].name, n, &layers->body[b], k);
        }
    if (position == last && layers->tail.n_layers > 0) {
        snprintf(place, sizeof place, "%s: %s", at, layers->tail.name);
        layer_row(x, where, place, layers->tail.name, layers->tail.n_layers, &layers->tail, EK_RECOMPUTE_NONE);
    }
}

static void layer_table(const ek_view_run *run, const int *count, ek__section *x)
{
    const ek_plan *plan = case_of(run)->plan;
    char parameters[TEXT_SIZE], activations[TEXT_SIZE];
    const ek__view_column column[] = {
        {"place", "where", EK__UNIT_TEXT, false},
        {"layer", "layer", EK__UNIT_TEXT, false},
        {"recompute", "recomputes", EK__UNIT_TEXT, false},
        {"layers", "layers", EK__UNIT_COUNT, false},
        {"forward", "forward", EK__UNIT_TIME, false},
        {"backward", "backward", EK__UNIT_TIME, false},
        {"recompute_time", "recompute", EK__UNIT_TIME, false},
        {"parameters", memory_title(run->plans, "parameters", parameters), memory_unit(run->plans), false},
        {"activations", memory_title(run->plans, "activations", activations), memory_unit(run->plans), false},
    };
    ek__table_begin(x, "layers", "Layers by stage and kind, one micro-batch (as given)", column,
                    sizeof column / sizeof *column);
    for (int s = 0; s < plan->n_stages; s++)
        for (int i = 0; i < plan->n_chunks; i++)
            layer_rows(run, s, i, count, NULL, x);
    for (int s = 0; s < plan->n_stages; s++)
        for (int i = 0; i < plan->n_chunks; i++) {
            char name[EK__VIEW_BLOCK_SIZE];
            ek__view_place where = first_block(run, s, i, name);
            layer_rows(run, s, i, count, &where, x);
        }
    ek__table_end(x, -1, false);
}

static ek_status layers_section(const ek_view_run *run, ek__stream *s, ek_error *err)
{
    const ek_plan *plan = case_of(run)->plan;
    const ek_layers *layers = run->plans->layers;
    ek_placement placement = case_of(run)->timeline->schedule->placement;
    size_t n_cells = (size_t)plan->n_stages * (size_t)plan->n_chunks;
    ek_chunk_cost *cost = ek__alloc(n_cells, sizeof *cost);
    int *count = ek__alloc(n_cells * (size_t)layers->n_body * EK_N_RECOMPUTE, sizeof *count);
    if (cost && count) {
        ek_plan_costs(plan, layers, placement, cost);
        ek_plan_counts(plan, layers, placement, count);
        ek__section x = ek__section_begin(s, "layers");
        both_ways_note(run, &x);
        layer_bars(run, cost, &x);
        kind_bars(layers, &x);
        layer_table(run, count, &x);
        ek__section_end(&x);
    }
    bool fine = cost && count;
    free(cost);
    free(count);
    return fine ? EK_OK : ek__no_memory(err);
}

/* ---- memory ---- */

static double constant_of(const ek_view_run *run, int stage)
{
    return fmin(run->plans->layers->const_mb, case_of(run)->timeline->static_mb[stage]);
}

static void memory_bars(const ek_view_run *run, ek__section *x)
{
    const ek_report *report = run->plans;
    const ek_timeline *t = case_of(run)->timeline;
    char name[32], title[TEXT_SIZE];
    ek__bars_begin(x, "peaks", memory_title(report, "Memory of each stage at its peak (simulated)", title),
                   memory_unit(report));
    ek__bars_series(x, "constant part", EK_VIEW_OTHER);
    ek__bars_series(x, "parameters, gradients and optimizer states", EK_VIEW_PARAMETERS);
    ek__bars_series(x, "activations", EK_VIEW_ACTIVATIONS);
    for (int s = 0; s < t->shape.n_stages; s++) {
        double constant = constant_of(run, s);
        const double value[] = {constant, t->static_mb[s] - constant, t->peak_mb[s] - t->static_mb[s]};
        ek__bars_bar(x, stage_name(s, name), s, value, 3);
    }
    ek__bars_end(x, report->stage_memory_mb || !(report->memory_limit_mb > 0) ? NAN : report->memory_limit_mb);
}

static void memory_table(const ek_view_run *run, ek__section *x)
{
    const ek_report *report = run->plans;
    const ek_timeline *t = case_of(run)->timeline;
    ek__view_unit unit = memory_unit(report);
    char name[32], title[TEXT_SIZE];
    const ek__view_column column[] = {
        {"stage", "stage", EK__UNIT_TEXT, false},
        {"constant", "constant part", unit, false},
        {"parameters", "parameters, gradients and optimizer states", unit, false},
        {"activations", "activations at the peak", unit, false},
        {"peak", "peak", unit, false},
        {"limit", "limit", unit, false},
        {"room", "room", unit, false},
    };
    ek__table_begin(x, "memory", memory_title(report, "Memory of each stage (simulated)", title), column,
                    sizeof column / sizeof *column);
    for (int s = 0; s < t->shape.n_stages; s++) {
        double constant = constant_of(run, s), limit = limit_of(report, s);
        const double value[] = {constant, t->static_mb[s] - constant, t->peak_mb[s] - t->static_mb[s], t->peak_mb[s],
                                limit,    limit - t->peak_mb[s]};
        ek__row_begin(x);
        ek__cell_text(x, stage_name(s, name));
        for (size_t i = 0; i < sizeof value / sizeof *value; i++)
            ek__cell_real(x, value[i]);
        ek__row_end(x);
    }
    for (int s = 0; s < t->shape.n_stages; s++) {
        char block[EK__VIEW_BLOCK_SIZE];
        ek__view_place place = fullest_block(run, s, block);
        ek__table_place(x, &place);
    }
    ek__table_end(x, -1, false);
}

static void memory_section(const ek_view_run *run, ek__stream *s)
{
    ek__section x = ek__section_begin(s, "memory");
    memory_bars(run, &x);
    memory_table(run, &x);
    ek__section_end(&x);
}

static ek_status sections(const ek_view_run *run, ek__stream *s, ek_error *err)
{
    ek_status status = plan_section(run, s, err);
    if (!status)
        status = breakdown_section(run, s, err);
    if (!status)
        status = layers_section(run, s, err);
    if (!status)
        memory_section(run, s);
    return status;
}

static ek_status timeline(const ek_view_run *run, bool served, ek__view_timeline **out, ek_error *err)
{
    (void)served; /* a server serves traces; a plan on the same page is small */
    return ek__view_plan_timeline(run->plans, run->case_index, out, err);
}

const ek__view_part ek__view_part_plan = {present, facts, notes, timeline, sections};
