/* Derives the model from a run's layers. Layers of all ranks are put in the order of their numbers, neighbours of one
 * kind are one entry, and each time is the median over layers and ranks of the medians over executions: a median, since
 * one slow micro-batch or rank must not move the balance. Recomputation of half a layer's work or more counts as full,
 * less as selective. Values that were not measured follow from the coefficients of docs/models.md. Not handled:
 * communication that is recomputed, which cannot be separated from other communication; memory. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/c_locale.h"
#include "base/error.h"
#include "base/median.h"
#include "evenkeel/trace.h"
#include "layers/layers.h"

#define NS_PER_MS 1e6

/* One layer on one rank. Milliseconds, NAN where not measured. */
typedef struct sample {
    const char *name, *kind;
    int index, order; /* order: of ranks and layers, where there is no number */
    ek_trace_role role;
    double forward, backward, full, select; /* the last two: parts run again */
} sample;

typedef struct samples {
    size_t n;
    sample *at; /* body layers by number, then heads, then tails */
    double *scratch;
    FILE *notes;
} samples;

static sample make_sample(const ek_trace_layer *l, int order)
{
    sample s = {l->name,
                l->kind,
                l->index,
                order,
                l->role,
                l->forward.wall_median / NS_PER_MS,
                l->backward.wall_median / NS_PER_MS,
                NAN,
                NAN};
    double again = l->recompute.wall_median / NS_PER_MS;
    if (l->recompute.n > 0)
        *(again >= 0.5 * s.forward ? &s.full : &s.select) = again;
    return s;
}

static int compare_samples(const void *a, const void *b)
{
    static const int rank_of[] = {[EK_TRACE_HEAD] = 1, [EK_TRACE_BODY] = 0, [EK_TRACE_TAIL] = 2};
    const sample *x = a, *y = b;
    if (x->role != y->role)
        return rank_of[x->role] - rank_of[y->role];
    if (x->role != EK_TRACE_BODY && strcmp(x->name, y->name) != 0)
        return strcmp(x->name, y->name);
    if (x->index != y->index)
        return (x->index > y->index) - (x->index < y->index);
    return (x->order > y->order) - (x->order < y->order);
}

static bool collect(const ek_trace_run *run, samples *out)
{
    size_t n = 0;
    int order = 0;
    for (int r = 0; r < run->n_ranks; r++)
        n += (size_t)run->rank[r].layers.n;
    out->at = ek__alloc(n, sizeof *out->at);
    out->scratch = ek__alloc(n, sizeof *out->scratch);
    if (!out->at || !out->scratch)
        return false;
    for (int r = 0; r < run->n_ranks; r++)
        for (int i = 0; i < run->rank[r].layers.n; i++) {
            const ek_trace_layer *l = &run->rank[r].layers.layer[i];
            if (l->forward.n > 0 && l->name && l->kind)
                out->at[out->n++] = make_sample(l, order++);
        }
    if (out->n > 0)
        qsort(out->at, out->n, sizeof *out->at, compare_samples);
    return true;
}

/* ---- medians ---- */

typedef double field(const sample *s);
static double forward_of(const sample *s)
{
    return s->forward;
}
static double backward_of(const sample *s)
{
    return s->backward;
}
static double full_of(const sample *s)
{
    return s->full;
}
static double select_of(const sample *s)
{
    return s->select;
}

/* Over samples [first, last) of a kind (NULL: all), those that are measured; NAN without any. */
static double median(const samples *all, size_t first, size_t last, const char *kind, field *of)
{
    size_t n = 0;
    for (size_t i = first; i < last; i++)
        if ((!kind || strcmp(all->at[i].kind, kind) == 0) && !isnan(of(&all->at[i])))
            all->scratch[n++] = of(&all->at[i]);
    return ek__median(all->scratch, n);
}

/* ---- one entry ---- */

static void set_name(ek_layer *layer, const char *name)
{
    snprintf(layer->name, sizeof layer->name, "%s", name);
    for (char *c = layer->name; *c; c++)
        if ((unsigned char)*c < 0x20 || (unsigned char)*c > 0x7e) /* cut or odd characters could not be read back */
            *c = '?';
    if (!layer->name[0])
        snprintf(layer->name, sizeof layer->name, "layer");
}

/* Times of one entry from its measurements; notes list the missing ones. */
static void set_times(const samples *all, ek_layer *layer, double forward, double backward, double full, double select)
{
    layer->forward_time = forward;
    if (isnan(backward)) {
        ek__fprintf(all->notes, "%s: no backward pass was found; it counts as %g times the forward pass.\n",
                    layer->name, EK_BACKWARD_RATIO);
        backward = EK_BACKWARD_RATIO * forward;
    }
    ek__layer_default_times(layer, backward);
    if (!isnan(full))
        layer->backward_time[EK_RECOMPUTE_FULL] = backward + full;
    if (!isnan(select))
        layer->backward_time[EK_RECOMPUTE_SELECT] = backward + select;
}

static void note_kinds(const samples *all, const ek_layer *layer, double full, double select)
{
    const struct {
        ek_recompute kind;
        bool measured;
    } kinds[] = {{EK_RECOMPUTE_SELECT, !isnan(select)},
                 {EK_RECOMPUTE_COMM, false},
                 {EK_RECOMPUTE_BOTH, false},
                 {EK_RECOMPUTE_FULL, !isnan(full)}};
    ek__fprintf(all->notes, "%s: forward %.6g ms, backward %.6g ms (%.3f times it)", layer->name, layer->forward_time,
                layer->backward_time[EK_RECOMPUTE_NONE], layer->backward_time[EK_RECOMPUTE_NONE] / layer->forward_time);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (kinds[i].measured)
            ek__fprintf(all->notes, "; recomputation '%s' measured: %.3f of the backward pass",
                        ek_recompute_name[kinds[i].kind],
                        layer->backward_time[kinds[i].kind] / layer->backward_time[EK_RECOMPUTE_NONE] - 1);
    fprintf(all->notes, ".\n%s: not measured, so the coefficients of the models count:", layer->name);
    const char *separator = " ";
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (!kinds[i].measured) {
            ek__fprintf(all->notes, "%s'%s' %g", separator, ek_recompute_name[kinds[i].kind],
                        ek_recompute_coefficient[kinds[i].kind]);
            separator = ", ";
        }
    fprintf(all->notes, ".\n");
}

/* Head or tail: the sum of its layers, each a median over ranks. */
static void make_extra(const samples *all, size_t first, size_t last, const char *role, ek_layer *out)
{
    double forward = 0, backward = 0;
    bool no_backward = false;
    *out = (ek_layer){.n_layers = 1};
    set_name(out, first < last ? all->at[first].name : role);
    for (size_t i = first, j; i < last; i = j) {
        for (j = i; j < last && strcmp(all->at[j].name, all->at[i].name) == 0;)
            j++;
        double b = median(all, i, j, NULL, backward_of);
        forward += median(all, i, j, NULL, forward_of);
        no_backward |= isnan(b);
        backward += isnan(b) ? EK_BACKWARD_RATIO * median(all, i, j, NULL, forward_of) : b;
    }
    out->modelled[EK_RECOMPUTE_NONE] = true;
    out->forward_time = forward;
    ek__layer_default_times(out, backward);
    if (first == last)
        fprintf(all->notes,
                "%s: none of its layers was found, so its time counts as 0; is the trace of the %s stage among them?\n",
                role, strcmp(role, "HEAD") == 0 ? "first" : "last");
    else
        ek__fprintf(all->notes, "%s: %s of %s: forward %.6g ms, backward %.6g ms%s.\n", out->name, role,
                    last - first > 1 ? "all its parts" : "one part", forward, backward,
                    no_backward ? ", partly assumed" : "");
}

/* ---- body ---- */

/* Consecutive layers of a kind. */
typedef struct stretch {
    size_t first, last; /* samples */
    int n_layers;
} stretch;

/* Number of layers from sample i to the one before j, which may be of other ranks; layers with numbers in between were
 * not traced. */
static int count_layers(const samples *all, size_t i, size_t j)
{
    int n = 0;
    if (all->at[i].index >= 0)
        return all->at[j - 1].index - all->at[i].index + 1;
    for (size_t k = i; k < j; k++) {
        bool seen = false;
        for (size_t m = i; m < k && !seen; m++)
            seen = strcmp(all->at[m].name, all->at[k].name) == 0;
        n += !seen;
    }
    return n;
}

static void note_gaps(const samples *all, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        int from = all->at[i - 1].index + 1, to = all->at[i].index - 1;
        if (all->at[i - 1].index >= 0 && from <= to)
            fprintf(all->notes, "Layers %d to %d are in none of the traces; they count as %s.\n", from, to,
                    all->at[i - 1].kind);
    }
    if (n > 0 && all->at[0].index > 0)
        fprintf(all->notes, "Layers 0 to %d are in none of the traces; they count as %s.\n", all->at[0].index - 1,
                all->at[0].kind);
}

/* @return the number of stretches, EK_MAX_BODY_KINDS + 1 when there are more than fit. */
static int find_stretches(const samples *all, size_t n, stretch *out)
{
    int n_stretches = 0;
    for (size_t i = 0, j; i < n; i = j) {
        for (j = i; j < n && strcmp(all->at[j].kind, all->at[i].kind) == 0;)
            j++;
        if (n_stretches == EK_MAX_BODY_KINDS)
            return EK_MAX_BODY_KINDS + 1;
        stretch s = {i, j, count_layers(all, i, j)};
        if (i == 0 && all->at[0].index > 0)
            s.n_layers += all->at[0].index;
        if (j < n && all->at[i].index >= 0) /* untraced ones before the next kind */
            s.n_layers += all->at[j].index - all->at[j - 1].index - 1;
        out[n_stretches++] = s;
    }
    return n_stretches;
}

static ek_status check_body(const ek_layers *layers, const ek_layer *body, ek_error *err)
{
    if (body->n_layers < 1 || body->n_layers > EK_MAX_LAYERS - layers->n_layers)
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE,
                        "the layers of the traces have numbers above %d; name the layers of the body (`evenkeel trace "
                        "--body`, body_layers of profiling_config)",
                        EK_MAX_LAYERS);
    if (!(body->forward_time >= EK__MIN_TIME) || body->backward_time[EK_RECOMPUTE_FULL] > EK__MAX_TIME)
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE,
                        "layer %s takes %g ms forward in the traces, expected more than 0; is the trace complete?",
                        body->name, body->forward_time);
    return EK_OK;
}

/* Layers of one kind are balanced as one: differing ones are reported. */
static void note_unlike(const samples *all, size_t n, const char *kind)
{
    double least = INFINITY, most = 0;
    for (size_t i = 0; i < n; i++)
        if (strcmp(all->at[i].kind, kind) == 0) {
            least = fmin(least, all->at[i].forward);
            most = fmax(most, all->at[i].forward);
        }
    if (most > 1.5 * least)
        ek__fprintf(all->notes,
                    "%s: its layers differ, with forward times from %.6g to %.6g ms; all count with the median.\n",
                    kind, least, most);
}

/* A recomputation that was found in another stretch of the kind applies here too: medians are over the kind. */
static ek_status make_body(const samples *all, size_t n, ek_layers *out, ek_error *err)
{
    stretch s[EK_MAX_BODY_KINDS];
    int n_stretches = find_stretches(all, n, s);
    if (n_stretches > EK_MAX_BODY_KINDS)
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE,
                        "the layers of the traces change their kind more than %d times; name one kind (`evenkeel trace "
                        "--body`, body_layers of profiling_config)",
                        EK_MAX_BODY_KINDS);
    for (int i = 0; i < n_stretches; i++) {
        const char *kind = all->at[s[i].first].kind;
        ek_layer *body = &out->body[out->n_body];
        *body = (ek_layer){.n_layers = s[i].n_layers};
        set_name(body, kind);
        double full = median(all, 0, n, kind, full_of), select = median(all, 0, n, kind, select_of);
        set_times(all, body, median(all, 0, n, kind, forward_of), median(all, 0, n, kind, backward_of), full, select);
        ek_status status = check_body(out, body, err);
        if (status)
            return status;
        note_kinds(all, body, full, select);
        note_unlike(all, n, kind);
        out->n_body++;
        out->n_layers += body->n_layers;
    }
    return EK_OK;
}

static ek_status make_layers(const samples *all, ek_layers *out, ek_error *err)
{
    size_t heads = 0, tails;
    while (heads < all->n && all->at[heads].role == EK_TRACE_BODY)
        heads++;
    for (tails = heads; tails < all->n && all->at[tails].role == EK_TRACE_HEAD;)
        tails++;
    if (heads == 0)
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE,
                        "the traces show no layers of a body; name them (`evenkeel trace --body`, body_layers of "
                        "profiling_config), or profile with scopes (MindSpore graph mode, PyTorch "
                        "with_modules or with_stack)");
    out->body = ek__alloc(EK_MAX_BODY_KINDS, sizeof *out->body);
    if (!out->body)
        return ek__no_memory(err);
    snprintf(out->name, sizeof out->name, "model");
    ek_status status = make_body(all, heads, out, err);
    if (status)
        return status;
    make_extra(all, heads, tails, "HEAD", &out->head);
    make_extra(all, tails, all->n, "TAIL", &out->tail);
    note_gaps(all, heads);
    fprintf(all->notes, "Memory is not in a trace: add memory_parameter, memory_activation and memory_recompute (MB of "
                        "one layer) to the layer file, or name the traces in profiling_config.folder_path of a dry "
                        "run's init file, which has the memory.\n");
    return EK_OK;
}

ek_status ek_trace_to_layers(const ek_trace_run *run, ek_layers *out, char **notes, ek_error *err)
{
    samples all = {0};
    ek_layers layers = {0};
    char *text = NULL;
    size_t size;
    all.notes = open_memstream(&text, &size);
    ek_status status = all.notes && collect(run, &all) ? EK_OK : ek__no_memory(err);
    if (status == EK_OK)
        status = make_layers(&all, &layers, err);
    if (all.notes && (fclose(all.notes) != 0 || !text) && status == EK_OK)
        status = ek__no_memory(err);
    if (status == EK_OK) {
        *out = layers;
        layers = (ek_layers){0};
        *notes = text;
        text = NULL;
    }
    ek_layers_clear(&layers);
    free(text);
    free(all.at);
    free(all.scratch);
    return status;
}
