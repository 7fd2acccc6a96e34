/* Computes the times of layers: passes of layers are built from the best source that has any and summed up
 * (docs/trace.md). User ranges come first, then device tasks that carry the framework's paths, then MindSpore's Scope
 * Layer, then modules of PyTorch. Pieces that are run again during a backward pass count as one recomputation and not
 * as backward. Not handled: recomputation that runs ahead, with other layers between it and its backward pass. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/median.h"
#include "evenkeel/layers.h"
#include "trace/analyse/analysis.h"
#include "trace/layers/layers.h"

/* ---- pieces of recomputation ---- */

static int compare_passes(const void *a, const void *b)
{
    const ek__layer_pass *x = a, *y = b;
    if (x->layer != y->layer)
        return (x->layer > y->layer) - (x->layer < y->layer);
    if (x->start != y->start)
        return (x->start > y->start) - (x->start < y->start);
    return (x->direction > y->direction) - (x->direction < y->direction);
}

static void add_piece(ek__layer_pass *sum, const ek__layer_pass *piece)
{
    sum->wall = ek__ns_add(sum->wall, piece->wall);
    if (sum->busy != EK_TRACE_UNKNOWN && piece->busy != EK_TRACE_UNKNOWN)
        sum->busy = ek__ns_add(sum->busy, piece->busy);
    sum->end = piece->end > sum->end ? piece->end : sum->end;
}

/* Pieces that were run again since the last backward pass, and inside this one, are joined; the part inside is
 * subtracted from the backward pass. Passes are sorted by layer and start; a piece that was added to another gets no
 * direction. */
static void join_reruns(ek__layer_search *search)
{
    ek__layer_pass *before = NULL, *inside_of = NULL, *sum = NULL;
    for (size_t i = 0; i < search->n_passes; i++) {
        ek__layer_pass *p = &search->pass[i];
        if (i > 0 && p[-1].layer != p->layer)
            before = inside_of = sum = NULL;
        if (inside_of && p->start >= inside_of->end)
            inside_of = sum = NULL;
        if (p->direction == EK__PASS_FORWARD) {
            before = NULL;
        } else if (p->direction == EK__PASS_BACKWARD) {
            inside_of = p;
            sum = before;
            before = NULL;
        } else if (inside_of) {
            inside_of->wall -= p->end <= inside_of->end ? p->wall : 0;
            if (sum) {
                add_piece(sum, p);
                p->direction = EK__N_LAYER_PASSES;
            } else
                sum = p;
        } else if (before) {
            add_piece(before, p);
            p->direction = EK__N_LAYER_PASSES;
        } else
            before = p;
    }
}

static int by_start(const void *a, const void *b)
{
    const ek_trace_span *x = a, *y = b;
    return (x->start > y->start) - (x->start < y->start);
}

/* Begins of layers' repeated executions, including pieces. Before they are joined. */
static ek_status keep_reruns(const ek__layer_search *search, ek_trace_layers *out, ek_error *err)
{
    ek__intervals set = {0};
    size_t n = 0;
    ek_trace_span *all = ek__pool_alloc(search->rank->pool, search->n_passes, sizeof *all);
    for (size_t i = 0; all && i < search->n_passes; i++)
        if (search->pass[i].direction == EK__PASS_RERUN)
            all[n++] = (ek_trace_span){search->pass[i].start, search->pass[i].end};
    if (n > 1)
        qsort(all, n, sizeof *all, by_start);
    bool fine = all;
    for (size_t i = 0; fine && i < n; i++)
        fine = ek__intervals_add(&set, all[i].start, all[i].end);
    for (size_t i = 0; fine && i < set.n; i++)
        all[i] = (ek_trace_span){set.at[i].start, set.at[i].end};
    out->rerun = all;
    out->n_reruns = (int)set.n;
    ek__intervals_clear(&set);
    return fine ? EK_OK : ek__no_memory(err);
}

/* ---- figures ---- */

static double mean_of(const double *value, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += value[i];
    return n ? sum / (double)n : NAN;
}

/* The passes of one layer and direction, of n values each. */
static ek_trace_pass sum_up(double *wall, double *busy, int64_t n, bool busy_known)
{
    ek_trace_pass out = {n, NAN, NAN, NAN, NAN, NAN, NAN, NAN, {EK_TRACE_UNKNOWN, EK_TRACE_UNKNOWN}};
    if (n == 0)
        return out;
    out.wall_median = ek__median(wall, (size_t)n);
    out.wall_mean = mean_of(wall, n);
    out.wall_min = wall[0];
    out.wall_max = wall[n - 1];
    double squares = 0;
    for (int64_t i = 0; i < n; i++)
        squares += (wall[i] - out.wall_mean) * (wall[i] - out.wall_mean);
    out.wall_deviation = sqrt(squares / (double)n);
    if (busy_known) {
        out.busy_median = ek__median(busy, (size_t)n);
        out.busy_mean = mean_of(busy, n);
    }
    return out;
}

static void fill_layer(const ek__layer_search *search, size_t first, size_t last, double *scratch, ek_trace_layer *out)
{
    double *wall = scratch, *busy = scratch + (last - first);
    ek_trace_pass *const to[EK__N_LAYER_PASSES] = {&out->forward, &out->recompute, &out->backward};
    for (int d = 0; d < EK__N_LAYER_PASSES; d++) {
        int64_t n = 0;
        bool busy_known = true;
        const ek__layer_pass *longest = NULL;
        for (size_t i = first; i < last; i++) {
            const ek__layer_pass *p = &search->pass[i];
            if (p->direction != d)
                continue;
            longest = longest && longest->wall >= p->wall ? longest : p;
            busy_known &= p->busy != EK_TRACE_UNKNOWN;
            wall[n] = (double)p->wall;
            busy[n++] = (double)p->busy;
        }
        *to[d] = sum_up(wall, busy, n, busy_known);
        if (longest)
            to[d]->longest = (ek_trace_span){longest->start, longest->end};
    }
    out->n_instances = out->forward.n;
}

/* Forward passes of a layer per step, as most body layers have them (most of all, when there is no body). O(n log n).
 */
static int count_micro_batches(const ek__layer_search *search, const ek_trace_layers *layers, double *scratch)
{
    bool has_body = false;
    int64_t n = 0, best_votes = 0;
    double best = 0;
    if (search->options && search->options->n_micro_batches > 0)
        return search->options->n_micro_batches;
    for (int i = 0; i < layers->n; i++)
        has_body |= layers->layer[i].role == EK_TRACE_BODY;
    for (int i = 0; i < layers->n; i++)
        if (!has_body || layers->layer[i].role == EK_TRACE_BODY)
            scratch[n++] = (double)layers->layer[i].forward.n;
    ek__sort_numbers(scratch, (size_t)n);
    for (int64_t i = 0, first = 0; i < n; i++) {
        first = scratch[i] == scratch[first] ? first : i;
        if (i - first + 1 >= best_votes) {
            best_votes = i - first + 1;
            best = scratch[i];
        }
    }
    double each = layers->n_steps > 0 ? round(best / layers->n_steps) : 0;
    return each <= EK_MAX_MICRO_BATCHES ? (int)each : 0;
}

/* Steps in which a layer ran. */
static bool count_steps(const ek__layer_search *search, int *out)
{
    int n_steps = search->rank->n_steps > 0 ? search->rank->n_steps : 1;
    bool *seen = ek__alloc((size_t)n_steps, sizeof *seen);
    if (!seen)
        return false;
    *out = 0;
    for (size_t i = 0; i < search->n_passes; i++) {
        *out += !seen[search->pass[i].step];
        seen[search->pass[i].step] = true;
    }
    free(seen);
    return true;
}

typedef struct place {
    int64_t first;
    size_t layer, begin, end; /* its passes */
} place;

static int compare_places(const void *a, const void *b)
{
    const place *x = a, *y = b;
    if (x->first != y->first)
        return (x->first > y->first) - (x->first < y->first);
    return (x->layer > y->layer) - (x->layer < y->layer);
}

/* Layers with their ranges of passes, in the order of first execution. */
static size_t find_places(const ek__layer_search *search, place *out)
{
    size_t n = 0;
    for (size_t i = 0; i < search->n_passes;) {
        size_t j = i;
        int64_t first = INT64_MAX;
        int32_t layer = search->pass[i].layer;
        for (; j < search->n_passes && search->pass[j].layer == layer; j++)
            first = search->pass[j].start < first ? search->pass[j].start : first;
        if (!search->layer[layer].dropped)
            out[n++] = (place){first, (size_t)layer, i, j};
        i = j;
    }
    if (n > 0)
        qsort(out, n, sizeof *out, compare_places);
    return n;
}

static int by_member_start(const void *a, const void *b)
{
    const ek_trace_member *x = a, *y = b;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return (x->layer > y->layer) - (x->layer < y->layer);
}

/* Operators by the layers as they are returned. `found`: [out->n] */
static ek_status keep_members(const ek__layer_search *search, const place *found, ek_trace_layers *out, ek_error *err)
{
    int *number = ek__alloc(search->n_layers, sizeof *number); /* less 1; 0: dropped */
    out->member = ek__pool_alloc(search->rank->pool, search->n_members, sizeof *out->member);
    bool fine = number && out->member;
    for (int i = 0; fine && i < out->n; i++)
        number[found[i].layer] = i + 1;
    for (size_t i = 0; fine && i < search->n_members; i++) {
        const ek__layer_member *m = &search->member[i];
        if (number[m->layer] > 0)
            out->member[out->n_members++] = (ek_trace_member){m->start, number[m->layer] - 1};
    }
    if (out->n_members > 1)
        qsort(out->member, out->n_members, sizeof *out->member, by_member_start);
    free(number);
    return fine ? EK_OK : ek__no_memory(err);
}

static ek_status fill(ek__layer_search *search, const char *source, ek_error *err)
{
    ek_trace_layers out = {.source = source};
    double *scratch = ek__alloc(2 * search->n_passes, sizeof *scratch);
    place *found = ek__alloc(search->n_layers, sizeof *found);
    ek_status status = scratch && found && count_steps(search, &out.n_steps) ? EK_OK : ek__no_memory(err);
    if (status == EK_OK)
        status = keep_reruns(search, &out, err);
    if (status == EK_OK) {
        qsort(search->pass, search->n_passes, sizeof *search->pass, compare_passes);
        join_reruns(search);
        out.n = (int)find_places(search, found);
        out.layer = ek__pool_alloc(search->rank->pool, (size_t)out.n, sizeof *out.layer);
        status = out.layer ? keep_members(search, found, &out, err) : ek__no_memory(err);
    }
    for (int i = 0; i < out.n && status == EK_OK; i++) {
        const ek__found_layer *l = &search->layer[found[i].layer];
        out.layer[i] = (ek_trace_layer){.name = l->name, .kind = l->kind, .index = l->index, .role = l->role};
        fill_layer(search, found[i].begin, found[i].end, scratch, &out.layer[i]);
    }
    if (status == EK_OK) {
        out.n_micro_batches = count_micro_batches(search, &out, scratch);
        search->rank->layers = out;
    }
    free(scratch);
    free(found);
    return status;
}

ek_status ek__analyse_layers(const ek__trace *trace, const ek_trace_options *options, ek_trace_rank *rank,
                             ek_error *err)
{
    typedef ek_status from(ek__layer_search *, const char **, ek_error *);
    static from *const source[] = {ek__layers_of_annotations, ek__layers_of_tasks, ek__layers_of_scopes,
                                   ek__layers_of_modules};
    ek__layer_search search = {.trace = trace, .options = options, .rank = rank, .use_warm_up = true};
    for (int i = 0; i < rank->n_steps; i++)
        search.use_warm_up &= rank->step[i].warm_up;
    ek_status status = EK_OK;
    for (size_t i = 0; i < sizeof source / sizeof *source && status == EK_OK && search.n_passes == 0; i++) {
        const char *name = NULL;
        ek__layer_search_clear(&search);
        status = source[i](&search, &name, err);
        if (status == EK_OK && search.n_passes > 0)
            status = fill(&search, name, err);
    }
    if (status == EK_OK && search.n_passes == 0 && trace->of[EK__EVENT_KERNEL].n > 0)
        status = ek__rank_note(rank, err, "%s",
                               search.named
                                   ? "no layers: the names of the model have no repeated layers (0-Layer, 1-Layer, "
                                     "...); name them with --body, --head and --tail of `evenkeel trace`"
                                   : "no layers: neither operators nor host events contain names of modules; profile "
                                     "with with_modules or with_stack (PyTorch), or in graph mode (MindSpore)");
    ek__layer_search_clear(&search);
    return status;
}
