/* Layers: forward, recomputation and backward of each, as bars for one rank of every stage and as tables for all ranks.
 * Times are of one micro-batch, from a pass's first start to its last end; busy is the sum of its operators. */
#include <math.h>
#include <stdio.h>

#include "view/trace_sections.h"

/* Does the rank stand for its stage? The first of a stage that has layers does; without stages every rank does. */
static bool stands_for_stage(const ek_trace_run *run, int at)
{
    const ek_trace_rank *rank = &run->rank[at];
    if (rank->layers.n == 0)
        return false;
    for (int i = 0; i < at && rank->stage >= 0; i++)
        if (run->rank[i].stage == rank->stage && run->rank[i].layers.n > 0)
            return false;
    return true;
}

static void put_bars(const ek_view_run *run, ek__section *x)
{
    const ek_trace_run *trace = run->trace;
    int n = 0;
    ek__bars_begin(x, "layers", "Layers, one micro-batch: mean of a rank of every stage", EK__UNIT_NS);
    ek__bars_series(x, "forward", EK_VIEW_FORWARD);
    ek__bars_series(x, "recompute", EK_VIEW_RECOMPUTE);
    ek__bars_series(x, "backward", EK_VIEW_BACKWARD);
    for (int i = 0; i < trace->n_ranks; i++) {
        const ek_trace_rank *rank = &trace->rank[i];
        if (!stands_for_stage(trace, i))
            continue;
        for (int k = 0; k < rank->layers.n && n++ < EK__VIEW_MAX_BARS; k++) {
            const ek_trace_layer *layer = &rank->layers.layer[k];
            const double value[] = {layer->forward.n ? layer->forward.wall_mean : 0,
                                    layer->recompute.n ? layer->recompute.wall_mean : 0,
                                    layer->backward.n ? layer->backward.wall_mean : 0};
            char label[EK__VIEW_KEY_SIZE];
            if (rank->stage >= 0 && trace->n_stages > 1)
                snprintf(label, sizeof label, "stage %d: %s", rank->stage, layer->name);
            else
                ek__view_key(trace, rank, layer->name, label, sizeof label);
            ek__bars_bar(x, label, ek__view_trace_group(run, rank), value, 3);
        }
    }
    ek__bars_end(x, NAN);
}

static const ek__view_column layer_column[] = {
    {"layer", "Layer", EK__UNIT_TEXT, false},
    {"rank", "Rank", EK__UNIT_TEXT, false},
    {"stage", "Stage", EK__UNIT_NONE, false},
    {"role", "Place", EK__UNIT_TEXT, false},
    {"kind", "Kind", EK__UNIT_TEXT, false},
    {"forward_mean", "Forward, mean", EK__UNIT_NS | EK__LESS, false},
    {"forward_median", "Forward, median", EK__UNIT_NS | EK__LESS, false},
    {"forward_n", "Forward passes", EK__UNIT_COUNT, false},
    {"recompute_mean", "Recompute, mean", EK__UNIT_NS | EK__LESS, false},
    {"recompute_median", "Recompute, median", EK__UNIT_NS | EK__LESS, false},
    {"recompute_n", "Recomputations", EK__UNIT_COUNT, false},
    {"backward_mean", "Backward, mean", EK__UNIT_NS | EK__LESS, false},
    {"backward_median", "Backward, median", EK__UNIT_NS | EK__LESS, false},
    {"backward_n", "Backward passes", EK__UNIT_COUNT, false},
};

static void put_layer_row(const ek_trace_run *run, const ek_trace_rank *rank, const ek_trace_layer *layer,
                          ek__section *x)
{
    const ek_trace_pass *pass[] = {&layer->forward, &layer->recompute, &layer->backward};
    ek__row_begin(x);
    ek__cell_text(x, layer->name);
    ek__view_cell_rank(x, run, rank);
    ek__view_cell_from(x, rank->stage);
    ek__cell_text(x, ek_trace_role_name[layer->role]);
    ek__cell_text(x, layer->kind);
    for (int i = 0; i < 3; i++) {
        ek__cell_real(x, pass[i]->n ? pass[i]->wall_mean : NAN);
        ek__cell_real(x, pass[i]->n ? pass[i]->wall_median : NAN);
        ek__cell_int(x, pass[i]->n);
    }
    ek__row_end(x);
}

static const ek__view_column pass_column[] = {
    {"pass", "Pass of a layer", EK__UNIT_TEXT, false},
    {"rank", "Rank", EK__UNIT_TEXT, false},
    {"n", "Times", EK__UNIT_COUNT, false},
    {"mean", "Mean", EK__UNIT_NS | EK__LESS, false},
    {"median", "Median", EK__UNIT_NS | EK__LESS, false},
    {"least", "Shortest", EK__UNIT_NS | EK__LESS, false},
    {"most", "Longest", EK__UNIT_NS | EK__LESS, false},
    {"deviation", "Standard deviation", EK__UNIT_NS, false},
    {"busy_mean", "Busy, mean", EK__UNIT_NS | EK__LESS, false},
    {"busy_median", "Busy, median", EK__UNIT_NS | EK__LESS, false},
};

static void put_pass_row(const ek_trace_run *run, const ek_trace_rank *rank, const ek_trace_layer *layer,
                         const char *what, const ek_trace_pass *pass, ek__section *x)
{
    const double times[] = {pass->wall_mean,      pass->wall_median, pass->wall_min,   pass->wall_max,
                            pass->wall_deviation, pass->busy_mean,   pass->busy_median};
    char name[EK__VIEW_KEY_SIZE];
    if (pass->n == 0)
        return;
    snprintf(name, sizeof name, "%s, %s", layer->name, what);
    ek__row_begin(x);
    ek__cell_text(x, name);
    ek__view_cell_rank(x, run, rank);
    ek__cell_int(x, pass->n);
    for (size_t i = 0; i < sizeof times / sizeof *times; i++)
        ek__cell_real(x, times[i]);
    ek__row_end(x);
}

static void put_tables(const ek_trace_run *run, ek__section *x)
{
    int n = 0;
    ek__table_begin(x, "layers", "Layers, one micro-batch", layer_column, sizeof layer_column / sizeof *layer_column);
    for (int i = 0; i < run->n_ranks; i++)
        for (int k = 0; k < run->rank[i].layers.n && n++ < EK__VIEW_MAX_ROWS; k++)
            put_layer_row(run, &run->rank[i], &run->rank[i].layers.layer[k], x);
    ek__table_end(x, -1, false);
    n = 0;
    ek__table_begin(x, "passes", "Passes, with their spread", pass_column, sizeof pass_column / sizeof *pass_column);
    for (int i = 0; i < run->n_ranks; i++)
        for (int k = 0; k < run->rank[i].layers.n && n++ < EK__VIEW_MAX_ROWS / 3; k++) {
            const ek_trace_layer *layer = &run->rank[i].layers.layer[k];
            put_pass_row(run, &run->rank[i], layer, "forward", &layer->forward, x);
            put_pass_row(run, &run->rank[i], layer, "recompute", &layer->recompute, x);
            put_pass_row(run, &run->rank[i], layer, "backward", &layer->backward, x);
        }
    ek__table_end(x, -1, false);
}

static void put_sources(const ek_trace_run *run, ek__section *x)
{
    for (int i = 0; i < run->n_ranks; i++) {
        const ek_trace_layers *layers = &run->rank[i].layers;
        char text[256], title[64];
        if (!stands_for_stage(run, i) || i >= EK__VIEW_MAX_RANKS)
            continue;
        ek__view_rank_title(run, &run->rank[i], title, sizeof title);
        if (layers->n_micro_batches > 0)
            snprintf(text, sizeof text, "%s: %d micro-batch%s a step, %d step%s looked at, told by %s", title,
                     layers->n_micro_batches, layers->n_micro_batches == 1 ? "" : "es", layers->n_steps,
                     layers->n_steps == 1 ? "" : "s", layers->source ? layers->source : "the trace");
        else
            snprintf(text, sizeof text, "%s: %d step%s looked at, told by %s", title, layers->n_steps,
                     layers->n_steps == 1 ? "" : "s", layers->source ? layers->source : "the trace");
        ek__section_note(x, text);
    }
}

void ek__view_trace_layers(const ek_view_run *run, ek__stream *s)
{
    ek__section x = ek__section_begin(s, "layers");
    int64_t n = 0;
    for (int i = 0; i < run->trace->n_ranks; i++)
        n += run->trace->rank[i].layers.n;
    if (n == 0)
        ek__section_note(&x, "No layers are told by these files. Name them with --body, --head and --tail of "
                             "`evenkeel trace` where the "
                             "model's own names do not repeat as layers do; on Ascend profile at level 1 or higher, of "
                             "PyTorch record modules or stacks (with_modules=True or with_stack=True).");
    put_sources(run->trace, &x);
    ek__view_note_rest(&x, n - EK__VIEW_MAX_ROWS / 3, "layers", "evenkeel trace --csv DIR has all");
    if (n > 0) {
        put_bars(run, &x);
        put_tables(run->trace, &x);
    }
    ek__section_end(&x);
}
