/* Writes layers: forward, recomputation and backward of each, as bars for one rank of every stage and as tables for all
 * ranks. Times are of one micro-batch, from a pass's first start to its last end; busy is the sum of its operators. */
#include <math.h>
#include <stdio.h>

#include "view/trace_sections.h"

/* Does the rank represent its stage? The first of a stage that has layers does; without stages every rank does. */
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

static void write_bars(const ek_view_run *run, ek__section *x)
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

static void write_sources(const ek_trace_run *run, ek__section *x)
{
    for (int i = 0; i < run->n_ranks; i++) {
        const ek_trace_layers *layers = &run->rank[i].layers;
        char text[256], title[64];
        if (!stands_for_stage(run, i) || i >= EK__VIEW_MAX_RANKS)
            continue;
        ek__view_rank_title(run, &run->rank[i], title, sizeof title);
        if (layers->n_micro_batches > 0)
            snprintf(text, sizeof text, "%s: %d micro-batch%s a step, %d step%s used, layers found by %s", title,
                     layers->n_micro_batches, layers->n_micro_batches == 1 ? "" : "es", layers->n_steps,
                     layers->n_steps == 1 ? "" : "s", layers->source ? layers->source : "the trace");
        else
            snprintf(text, sizeof text, "%s: %d step%s used, layers found by %s", title, layers->n_steps,
                     layers->n_steps == 1 ? "" : "s", layers->source ? layers->source : "the trace");
        ek__section_note(x, text);
    }
}

/* With bars, both tables are written, also without rows. */
static bool write_table(const ek_view_run *run, const ek__rows *rows, ek__section *x)
{
    ek__view_rows(run, rows, NULL, NULL, -1, x);
    return true;
}

void ek__view_trace_layers(const ek_view_run *run, ek__stream *s)
{
    ek__section x = ek__section_begin(s, "layers");
    int64_t n = 0;
    for (int i = 0; i < run->trace->n_ranks; i++)
        n += run->trace->rank[i].layers.n;
    if (n == 0)
        ek__section_note(&x,
                         "No layers were found in these files. Name them with --body, --head and --tail of `evenkeel "
                         "trace` if the names of the model have no repeated layers; on Ascend, profile at level 1 or "
                         "higher; for PyTorch, record modules or stacks (with_modules=True or with_stack=True).");
    write_sources(run->trace, &x);
    ek__view_note_rest(&x, n - EK__VIEW_MAX_ROWS / 3, "layers", "evenkeel trace --csv DIR has all");
    if (n > 0) {
        write_bars(run, &x);
        ek__view_tables(run, "layers", write_table, &x);
    }
    ek__section_end(&x);
}
