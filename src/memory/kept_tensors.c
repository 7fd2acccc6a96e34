/* Lists the saved activations of one layer, tensor by tensor, with the pattern that would remove each. Every offered
 * pattern has been tried on the layer's operators, because recomputing an operator may save its inputs instead, or be
 * optimised away. Combinations beyond an operator's requirements are not searched: ek_memory_mitigations() evaluates
 * the usual ones.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "evenkeel/memory_report.h"
#include "model/pattern.h"

typedef struct table {
    const ek_job *job;
    const ek__graph *graph;
    bool recomputable; /* the settings apply to decoder layers, not to the embedding and the head */
    bool kept[EK_N_RECOMPUTE][EK__MAX_TENSORS];
    bool again[EK__MAX_OPS]; /* recomputed without any selection */
    int64_t bytes;
} table;

static uint64_t patterns_of(const ek_job *job, ek_recompute kind)
{
    uint64_t mask = 0;
    assert((unsigned)kind < EK_N_RECOMPUTE && job->n_patterns <= EK_MAX_PATTERNS);
    for (int i = 0; i < job->n_patterns; i++) {
        ek_pattern_kind of = ek_pattern_list(&job->pattern[i]);
        bool select = kind == EK_RECOMPUTE_SELECT || kind == EK_RECOMPUTE_BOTH;
        bool comm = kind == EK_RECOMPUTE_COMM || kind == EK_RECOMPUTE_BOTH;
        if ((of == EK_PATTERN_SELECT && select) || (of == EK_PATTERN_COMM && comm) || of == EK_PATTERN_SELECT_EXCLUDE ||
            of == EK_PATTERN_COMM_EXCLUDE)
            mask |= UINT64_C(1) << i;
    }
    return mask;
}

static void keep_by_kind(table *t)
{
    const ek__graph *graph = t->graph;
    for (int k = 0; k < EK_N_RECOMPUTE; k++) {
        bool recomputed[EK__MAX_OPS];
        ek__recompute settings = {.full = k == EK_RECOMPUTE_FULL, .patterns = patterns_of(t->job, k)};
        if (!t->recomputable)
            settings = (ek__recompute){0};
        ek__graph_recomputed(t->job, graph, settings, recomputed);
        int64_t bytes = ek__graph_keep(graph, recomputed, t->kept[k]);
        if (k == EK_RECOMPUTE_NONE) {
            t->bytes = bytes;
            memcpy(t->again, recomputed, sizeof t->again);
        }
    }
}

static bool has_storage(const ek__graph *graph, const int *list, int n, int storage)
{
    for (int i = 0; i < n; i++)
        if (graph->tensor[list[i]].storage == storage)
            return true;
    return false;
}

/* Gradients that read the tensor; if there are none, recomputed operators that do. */
static void find_readers(const table *t, int storage, ek_kept_tensor *out)
{
    const ek__graph *graph = t->graph;
    for (int pass = 0; pass < 2 && out->n_readers == 0; pass++) {
        out->for_recompute = pass == 1;
        for (int o = graph->n_ops - 1; o >= 0; o--) {
            const ek__op *op = &graph->op[o];
            bool reads = pass == 0 ? has_storage(graph, op->needs, op->n_needs, storage)
                                   : t->again[o] && has_storage(graph, op->in, op->n_in, storage);
            if (!reads)
                continue;
            out->n_readers++;
            snprintf(out->reader, sizeof out->reader, "%s", op->path);
        }
    }
}

/* The patterns for the operator that makes a tensor. @return false when there is none */
static bool propose(const ek__graph *graph, int maker, ek_kept_tensor *out)
{
    assert(maker >= 0 && maker < graph->n_ops);
    const ek__op *op = &graph->op[maker];
    out->pattern_kind = op->kind == EK__OP_COMM ? EK_PATTERN_COMM : EK_PATTERN_SELECT;
    if (op->kind == EK__OP_COMM)
        maker = op->comm_after;
    for (int n = 0; maker >= 0; maker = graph->op[maker].requires, n++) {
        if (n == EK_MAX_KEPT_PATTERNS)
            return false;
        ek__pattern_of_path(graph->op[maker].path, out->pattern[n], sizeof out->pattern[n]);
        out->n_patterns = n + 1;
        if (op->kind == EK__OP_COMM)
            return true;
    }
    return out->n_patterns > 0;
}

/* Try the proposed patterns. `pattern` has room for the job's and EK_MAX_KEPT_PATTERNS more. */
static void try_patterns(const table *t, ek_pattern *pattern, int storage, ek_kept_tensor *out)
{
    bool recomputed[EK__MAX_OPS], kept[EK__MAX_TENSORS];
    ek_job trial = *t->job;
    ek__recompute settings = {.patterns = patterns_of(t->job, EK_RECOMPUTE_NONE)};
    trial.pattern = pattern;
    for (int i = 0; i < out->n_patterns; i++) {
        assert(trial.n_patterns < EK_MAX_PATTERNS);
        settings.patterns |= UINT64_C(1) << trial.n_patterns;
        pattern[trial.n_patterns++] = (ek_pattern){.text = out->pattern[i], .kind = out->pattern_kind};
    }
    ek__graph_recomputed(&trial, t->graph, settings, recomputed);
    out->pattern_saves = t->bytes - ek__graph_keep(t->graph, recomputed, kept);
    if (kept[storage] || out->pattern_saves <= 0) {
        out->n_patterns = 0;
        out->pattern_saves = 0;
    }
}

static void describe(const table *t, ek_pattern *pattern, int index, ek_kept_tensor *out)
{
    const ek__graph *graph = t->graph;
    const ek__tensor *tensor = &graph->tensor[index];
    assert(tensor->storage == index); /* storages are saved, not tensors */
    *out = (ek_kept_tensor){.n_dims = tensor->n_dims, .dtype = tensor->dtype, .bytes = tensor->bytes};
    snprintf(out->name, sizeof out->name, "%s", tensor->name);
    memcpy(out->dim, tensor->dim, sizeof out->dim);
    for (int k = 0; k < EK_N_RECOMPUTE; k++)
        out->kept[k] = t->kept[k][index];
    find_readers(t, index, out);
    if (tensor->producer < 0)
        return;
    snprintf(out->maker, sizeof out->maker, "%s", graph->op[tensor->producer].path);
    bool room = t->recomputable && t->job->n_patterns + EK_MAX_KEPT_PATTERNS <= EK_MAX_PATTERNS;
    if (room && propose(graph, tensor->producer, out))
        try_patterns(t, pattern, index, out);
    else
        out->n_patterns = 0;
}

static int by_bytes(const void *a, const void *b)
{
    const ek_kept_tensor *p = a, *q = b;
    int order = (p->bytes < q->bytes) - (p->bytes > q->bytes);
    return order ? order : strcmp(p->name, q->name);
}

/* For asserts. */
__attribute__((unused)) static int64_t sum_of(const ek_kept *kept)
{
    int64_t bytes = 0;
    for (int i = 0; i < kept->n; i++)
        bytes += kept->tensor[i].bytes;
    return bytes;
}

static ek_status fill(table *t, ek_kept *out, ek_error *err)
{
    size_t n_job = (size_t)t->job->n_patterns;
    ek_pattern *pattern = ek__alloc(n_job + EK_MAX_KEPT_PATTERNS, sizeof *pattern);
    ek_kept_tensor *tensor = ek__alloc((size_t)t->graph->n_tensors, sizeof *tensor);
    if (!pattern || !tensor) {
        free(pattern);
        free(tensor);
        return ek__no_memory(err);
    }
    if (n_job > 0)
        memcpy(pattern, t->job->pattern, n_job * sizeof *pattern);
    keep_by_kind(t);
    *out = (ek_kept){.bytes = t->bytes, .tensor = tensor};
    snprintf(out->name, sizeof out->name, "%s", t->graph->name);
    for (int i = 0; i < t->graph->n_tensors; i++)
        if (t->kept[EK_RECOMPUTE_NONE][i])
            describe(t, pattern, i, &tensor[out->n++]);
    assert(out->n <= t->graph->n_tensors && sum_of(out) == out->bytes);
    qsort(tensor, (size_t)out->n, sizeof *tensor, by_bytes);
    free(pattern);
    return EK_OK;
}

static bool has_kind(const ek_job *job, ek__graph_kind kind)
{
    const ek_job_model *m = &job->model;
    switch (kind) {
    case EK__GRAPH_EXPERTS:
        return m->n_experts > 0 && m->n_dense_layers < m->n_layers;
    case EK__GRAPH_PREDICTION:
        return m->n_prediction_layers > 0;
    case EK__GRAPH_DENSE:
        return m->n_experts == 0 || m->n_dense_layers > 0 || m->expert_period > 1;
    default:
        return true;
    }
}

ek_status ek_memory_kept(const ek_job *job, ek_kept out[EK_MAX_KEPT], int *n, ek_error *err)
{
    ek_kept found[EK_MAX_KEPT];
    int n_found = 0;
    ek__graph *graph = ek__alloc(1, sizeof *graph);
    table *t = ek__alloc(1, sizeof *t);
    ek_status status = graph && t ? EK_OK : ek__no_memory(err);
    for (int kind = 0; kind < EK__N_GRAPH_KINDS && status == EK_OK; kind++) {
        if (!has_kind(job, kind))
            continue;
        ek__graph_build(job, kind, graph);
        assert(n_found < EK_MAX_KEPT);
        *t = (table){.job = job, .graph = graph, .recomputable = kind != EK__GRAPH_EMBEDDING && kind != EK__GRAPH_HEAD};
        status = fill(t, &found[n_found], err);
        if (status == EK_OK && found[n_found].n == 0)
            ek_kept_clear(&found[n_found]);
        else if (status == EK_OK)
            n_found++;
    }
    free(graph);
    free(t);
    for (int i = 0; i < n_found; i++)
        if (status)
            ek_kept_clear(&found[i]);
        else
            out[i] = found[i];
    if (status == EK_OK)
        *n = n_found;
    return status;
}

void ek_kept_clear(ek_kept *kept)
{
    free(kept->tensor);
    *kept = (ek_kept){0};
}
