/* Warns of settings without effect, or with an unexpected one. The graphs of the job's layers give the operators that a
 * pattern names and the bytes it changes, without a list of known mistakes. The reader of a file warns of problems that
 * only the file shows (ignored keys, a vocabulary that does not divide, counts that were cut). */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/c_locale.h"
#include "base/error.h"
#include "evenkeel/memory.h"
#include "model/pattern.h"

enum { MAX_GRAPHS = 3, TEXT = 160 };

typedef struct lint {
    const ek_job *job;
    const ek_listener *listener;
    int n_graphs;
    ek__graph *graph; /* [n_graphs] of the existing kinds of layers */
} lint;

static const char *const kind_name[] = {"select_recompute", "select_comm_recompute", "select_recompute_exclude",
                                        "select_comm_recompute_exclude"};

static int n_chunks_of(const ek_job *job)
{
    return job->plan.layers ? job->plan.n_stages * job->plan.n_chunks : 0;
}

/* Does it apply to any layer, and with `full` to one that is not recomputed whole? */
static bool holds(const ek_job *job, const ek_pattern *pattern, bool full)
{
    if (!pattern->layers || n_chunks_of(job) == 0)
        return true;
    for (int i = 0; i < n_chunks_of(job); i++)
        if (pattern->layers[i] > (full && job->plan.full ? job->plan.full[i] : 0))
            return true;
    return false;
}

/* ---- the nearest operator ---- */

/* Levenshtein distance, ignoring case. */
static size_t edit_distance(const char *a, const char *b)
{
    size_t n = strlen(a), m = strlen(b), row[TEXT + 1];
    assert(m <= TEXT);
    for (size_t j = 0; j <= m; j++)
        row[j] = j;
    for (size_t i = 1; i <= n; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= m; j++) {
            size_t best = diagonal + (ek__to_lower((unsigned char)a[i - 1]) != ek__to_lower((unsigned char)b[j - 1]));
            diagonal = row[j];
            best = row[j] + 1 < best ? row[j] + 1 : best;
            row[j] = row[j - 1] + 1 < best ? row[j - 1] + 1 : best;
        }
    }
    return row[m];
}

/* A pattern without its escapes, or a path with them. */
static void convert(const char *text, bool escape, char out[TEXT])
{
    size_t n = 0;
    for (; *text && n + 2 < TEXT; text++) {
        if (!escape && *text == '\\')
            continue;
        if (escape && *text == '.')
            out[n++] = '\\';
        out[n++] = *text;
    }
    out[n] = '\0';
}

static void find_nearest(const lint *l, const char *pattern, char out[TEXT])
{
    char plain[TEXT];
    assert(l->n_graphs >= 1 && l->n_graphs <= MAX_GRAPHS);
    size_t least = SIZE_MAX;
    const char *best = "";
    convert(pattern, false, plain);
    for (const ek__graph *g = l->graph; g < l->graph + l->n_graphs; g++)
        for (const ek__op *op = g->op; op < g->op + g->n_ops; op++) {
            size_t distance =
                op->kind == EK__OP_COMM || strlen(op->path) > TEXT ? SIZE_MAX : edit_distance(plain, op->path);
            if (distance < least) {
                least = distance;
                best = op->path;
            }
        }
    convert(best, true, out);
}

/* ---- the operators of a pattern ---- */

static void warn_of_no_operator(const lint *l, const ek_pattern *pattern)
{
    char nearest[TEXT];
    find_nearest(l, pattern->text, nearest);
    ek__warn_of(
        l->listener, "recompute-no-operator", pattern->origin,
        "%s: %s'%.120s' names no operator of this model's layers and does nothing; write the operator's path with "
        "\\. between its names, such as the nearest one there is, '%s'",
        kind_name[pattern->kind], pattern->by_default ? "the default pattern " : "", pattern->text, nearest);
}

static void warn_of_no_communication(const lint *l, const ek_pattern *pattern, const ek__pattern_names *names)
{
    const ek_job_parallel *p = &l->job->parallel;
    if (!names->primitive)
        ek__warn_of(
            l->listener, "recompute-no-communication", pattern->origin,
            "%s: '%.120s' names a cell, which does nothing here; name the operator in it that the communication "
            "follows, such as '.*\\.norm'",
            kind_name[pattern->kind], pattern->text);
    else if (!names->reshape)
        ek__warn_of(l->listener, "recompute-no-communication", pattern->origin,
                    "%s: no communication follows the operators of '%.120s', so it saves nothing%s",
                    kind_name[pattern->kind], pattern->text,
                    p->tensor == 1          ? "; there is none without tensor parallelism"
                    : !p->sequence_parallel ? "; sequence parallelism is off, which would gather after norms"
                                            : "; name the operator in front of it, such as '.*\\.norm'");
}

/* @return whether it names operators that need further checks */
static bool check_names(const lint *l, const ek_pattern *pattern)
{
    assert((unsigned)pattern->kind < EK_N_PATTERN_KINDS);
    ek__pattern_names all = {0};
    bool matched[EK__MAX_OPS];
    int n = 0;
    if (!ek__pattern_compiles(pattern->text)) {
        ek__warn_of(
            l->listener, "recompute-no-operator", pattern->origin,
            "%s: '%.120s' is no regular expression that can be read here and is taken to name nothing; use names, "
            ".*, [..], (a|b)",
            kind_name[pattern->kind], pattern->text);
        return false;
    }
    for (int i = 0; i < l->n_graphs; i++) {
        ek__pattern_names names = ek__pattern_names_in(&l->graph[i], pattern->text);
        all.primitive |= names.primitive;
        all.cell |= names.cell;
        all.reshape |= names.reshape;
        n += ek__pattern_match(&l->graph[i], pattern->text, pattern->kind, matched);
    }
    if (!all.primitive && !all.cell)
        warn_of_no_operator(l, pattern);
    else if (n == 0 && pattern->kind == EK_PATTERN_COMM)
        warn_of_no_communication(l, pattern, &all);
    else if (n == 0 && pattern->kind == EK_PATTERN_SELECT)
        ek__warn_of(l->listener, "recompute-no-saving", pattern->origin,
                    "%s: '%.120s' names a cell with one operator, whose output is saved: it saves nothing; name the "
                    "operator itself",
                    kind_name[pattern->kind], pattern->text);
    return n > 0;
}

/* ---- its effect ---- */

/* Operators named by any selection. */
static void select_all(const lint *l, const ek__graph *g, bool out[EK__MAX_OPS])
{
    bool matched[EK__MAX_OPS];
    memset(out, 0, EK__MAX_OPS * sizeof *out);
    for (int i = 0; i < l->job->n_patterns; i++) {
        const ek_pattern *pattern = &l->job->pattern[i];
        if (pattern->kind != EK_PATTERN_SELECT || !holds(l->job, pattern, false))
            continue;
        ek__pattern_match(g, pattern->text, pattern->kind, matched);
        for (int k = 0; k < g->n_ops; k++)
            out[k] |= matched[k];
    }
}

/* The operator that is missing for this pattern's recomputation to take effect, or NULL. */
static const ek__op *missing_for(const lint *l, const ek__graph *g, const ek_pattern *pattern)
{
    bool matched[EK__MAX_OPS], selected[EK__MAX_OPS];
    select_all(l, g, selected);
    ek__pattern_match(g, pattern->text, pattern->kind, matched);
    for (int i = 0; i < g->n_ops; i++)
        if (matched[i] && g->op[i].requires >= 0 && !selected[g->op[i].requires])
            return &g->op[g->op[i].requires];
    return NULL;
}

static bool check_requirements(const lint *l, const ek_pattern *pattern)
{
    for (const ek__graph *g = l->graph; g < l->graph + l->n_graphs; g++) {
        const ek__op *op = missing_for(l, g, pattern);
        char text[TEXT];
        if (!op)
            continue;
        convert(op->path, true, text);
        ek__warn_of(l->listener, "recompute-no-saving", pattern->origin,
                    "%s: recomputing '%.120s' saves nothing unless the following reshape, which saves the same bytes, "
                    "is recomputed too; add '%s' for the same layers%s",
                    kind_name[pattern->kind], pattern->text, text,
                    l->job->parallel.tensor > 1 ? ", or set fine_grain_interleave: 2, with which there are no reshapes"
                                                : "");
        return false;
    }
    return true;
}

/* Saved bytes with all patterns, or with all except one. */
static int64_t kept_without(const lint *l, const ek__graph *g, int pattern)
{
    bool recomputed[EK__MAX_OPS], kept[EK__MAX_TENSORS];
    assert(pattern >= -1 && pattern < l->job->n_patterns && l->job->n_patterns <= EK_MAX_PATTERNS);
    ek__recompute all = {.patterns = ~(pattern < 0 ? UINT64_C(0) : UINT64_C(1) << pattern)};
    ek__graph_recomputed(l->job, g, all, recomputed);
    return ek__graph_keep(g, recomputed, kept);
}

static void check_saving(const lint *l, int index)
{
    const ek_pattern *pattern = &l->job->pattern[index];
    for (const ek__graph *g = l->graph; g < l->graph + l->n_graphs; g++) {
        int64_t more = kept_without(l, g, -1) - kept_without(l, g, index);
        if (more <= 0)
            continue;
        ek__warn_of(l->listener, "recompute-no-saving", pattern->origin,
                    "%s: recomputing '%.120s' saves %.1f MB more in a layer, not less: its input is larger than its "
                    "output, as with a cast to lower precision; remove it",
                    kind_name[pattern->kind], pattern->text, (double)more / 0x1p20);
        return;
    }
}

/* ---- layers ---- */

/* All layers named by a kind are already recomputed whole. */
static void check_hidden(const lint *l, ek_pattern_kind kind)
{
    const ek_pattern *first = NULL;
    for (int i = 0; i < l->job->n_patterns; i++) {
        const ek_pattern *pattern = &l->job->pattern[i];
        if (pattern->kind != kind || !holds(l->job, pattern, false))
            continue;
        if (holds(l->job, pattern, true))
            return;
        first = first ? first : pattern;
    }
    if (first)
        ek__warn_of(l->listener, "recompute-hidden", first->origin,
                    "%s applies only to layers that `recompute` recomputes fully, which hides it; name more layers "
                    "than `recompute` does, or drop it",
                    kind_name[kind]);
}

static void check_counts(const lint *l, const ek_pattern *pattern)
{
    const ek_plan *plan = &l->job->plan;
    for (int i = 0; pattern->layers && i < n_chunks_of(l->job); i++)
        if (pattern->layers[i] > plan->layers[i]) {
            ek__warn_of(l->listener, "recompute-count", pattern->origin,
                        "%s: '%.120s' is set for %d layers of stage %d, chunk %d, which has %d; the rest does nothing",
                        kind_name[pattern->kind], pattern->text, pattern->layers[i], i % plan->n_stages,
                        i / plan->n_stages, plan->layers[i]);
            return;
        }
}

static void check_pattern(const lint *l, int index)
{
    const ek_pattern *pattern = &l->job->pattern[index];
    if (!holds(l->job, pattern, false))
        return;
    check_counts(l, pattern);
    if (!check_names(l, pattern) || pattern->kind != EK_PATTERN_SELECT)
        return;
    if (check_requirements(l, pattern))
        check_saving(l, index);
}

/* ---- other settings ---- */

static void check_table(const lint *l)
{
    const ek_job *job = l->job;
    const ek_job_states *s = &job->states;
    int64_t split = job->parallel.table_split > 1 ? job->parallel.table_split : 1;
    double bytes =
        (double)job->model.vocab * job->model.hidden / (double)split * (s->weight + s->gradient + s->optimizer);
    assert(job->model.vocab >= 1 && job->model.hidden >= 1);
    int64_t group = (int64_t)job->parallel.data * job->parallel.context * job->parallel.tensor / split;
    bool shards = s->shard_weight || s->shard_optimizer;
    bool large = bytes > 0x1p30 || (job->limit_mb > 0 && bytes > 0.05 * job->limit_mb * 0x1p20);
    if (s->shard_table || !shards || group <= 1 || !large)
        return;
    ek__warn_of(
        l->listener, "embedding-not-sharded", (ek_origin){.file = job->path},
        "the embedding table takes %.0f MB on each rank of the first stage with its gradient and states, and the "
        "optimizer does not shard it over the %lld ranks that have it; set parallel_optimizer: True in model_config",
        bytes / 0x1p20, (long long)group);
}

static void check_fine_grain(const lint *l)
{
    const ek_job_parallel *p = &l->job->parallel;
    if (p->fine_grain > 1 && p->tensor > 1 && !p->sequence_parallel)
        ek__warn_of(l->listener, "fine-grain-without-sequence-parallel", (ek_origin){.file = l->job->path},
                    "fine_grain_interleave is %d without sequence parallelism, for which it is meant; set "
                    "use_seq_parallel: True",
                    p->fine_grain);
}

/* Graphs of the kinds of layers that the job has. */
static bool build_graphs(lint *l)
{
    const ek_job_model *m = &l->job->model;
    l->graph = ek__alloc(MAX_GRAPHS, sizeof *l->graph);
    if (!l->graph)
        return false;
    if (m->n_experts == 0 || m->n_dense_layers > 0 || m->expert_period > 1)
        ek__graph_build(l->job, EK__GRAPH_DENSE, &l->graph[l->n_graphs++]);
    if (m->n_experts > 0)
        ek__graph_build(l->job, EK__GRAPH_EXPERTS, &l->graph[l->n_graphs++]);
    if (m->n_prediction_layers > 0)
        ek__graph_build(l->job, EK__GRAPH_PREDICTION, &l->graph[l->n_graphs++]);
    return true;
}

ek_status ek_memory_lint(const ek_job *job, const ek_listener *listener, ek_error *err)
{
    lint l = {.job = job, .listener = listener};
    if (!listener || !listener->warn)
        return EK_OK;
    if (!build_graphs(&l))
        return ek__no_memory(err);
    for (int i = 0; i < job->n_patterns; i++)
        check_pattern(&l, i);
    check_hidden(&l, EK_PATTERN_SELECT);
    check_hidden(&l, EK_PATTERN_COMM);
    check_fine_grain(&l);
    check_table(&l);
    free(l.graph);
    return EK_OK;
}
