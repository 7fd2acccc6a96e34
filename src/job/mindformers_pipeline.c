/* Reads the layers and recomputation of every stage from a training YAML, as MindFormers r1.5 does. The keys are in
 * four sections, and the rest of the file is ignored; a list may be a word, one number per stage, or one list per
 * chunk. */
#include "job/mindformers_pipeline.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/grid.h"
#include "evenkeel/layers.h"
#include "evenkeel/schedule.h"
#include "schedule/frameworks.h"

/* A reading in progress; `out` is passed on only if all of it is valid. */
typedef struct reader {
    ek__in in;
    const ek__node *root, *model;    /* model.model_config */
    const ek__node *parallel_config; /* the degrees */
    const ek__node *pipeline;        /* parallel.pipeline_config, or NULL */
    ek__mf_pipeline out;
} reader;

bool ek__mf_has_degrees(const ek__config_tree *doc)
{
    const ek__node *root = ek__config_root(doc);
    return root && root->kind == EK__MAP && ek__get(root, "parallel_config");
}

bool ek__mf_is_pattern_list(const ek__node *node)
{
    const ek__node *first = node && node->kind == EK__LIST ? node->first : NULL;
    double number; /* with a fraction it is a wrong count, not a name */
    return first && first->kind == EK__SCALAR && (first->quoted || !ek__text_is_number(first->text, &number)) &&
           !ek__node_is_bool(first, NULL);
}

void ek__mf_pipeline_clear(ek__mf_pipeline *pipeline)
{
    ek_plan_clear(&pipeline->plan);
    *pipeline = (ek__mf_pipeline){0};
}

/* ---- sizes ---- */

/* An integer from 1 to `max` below a key; *out does not change if it is absent. */
static ek_status read_count(const ek__in *in, const ek__node *map, const char *key, int max, const char *advice,
                            int *out)
{
    const ek__node *node = map ? ek__get(map, key) : NULL;
    return node ? ek__int(in, node, 1, max, advice, out) : EK_OK;
}

ek_status ek__mf_layers(const ek__in *in, const ek__node *model_config, int *layers, int *prediction)
{
    static const char *const names[] = {"num_layers", "num_hidden_layers"}, *const more[] = {
                                                                                "mtp_depth",
                                                                                "num_nextn_predict_layers"};
    const ek__node *node = ek__get(model_config, names[0]);
    int n = 0, extra = 0;
    if (!node)
        node = ek__get(model_config, names[1]);
    ek_status status = node ? EK_OK : ek__require(in, model_config, names[0], "give the model's layers", &node);
    if (status == EK_OK)
        status = ek__int(in, node, 1, EK_MAX_LAYERS, "it is the number of the model's layers", &n);
    for (int i = 0; i < 2 && status == EK_OK && extra == 0; i++) {
        const ek__node *mtp = ek__get(model_config, more[i]);
        if (mtp)
            status = ek__int(in, mtp, 0, EK_MAX_LAYERS - n, "it is the layers of multi-token prediction", &extra);
    }
    *layers = n;
    *prediction = extra;
    return status;
}

static ek_status find_sections(reader *r)
{
    static const char advice[] = "a training file has model.model_config and parallel_config";
    const ek__node *model = NULL, *parallel = NULL, *swap_section = NULL, *swap = NULL;
    bool on = false;
    ek_status status = ek__expect(&r->in, r->root, EK__MAP, advice);
    if (status == EK_OK)
        status = ek__require_map(&r->in, r->root, "model", advice, &model);
    if (status == EK_OK)
        status = ek__require_map(&r->in, model, "model_config", advice, &r->model);
    if (status == EK_OK)
        status = ek__require_map(&r->in, r->root, "parallel_config", advice, &r->parallel_config);
    if (status == EK_OK)
        status = ek__optional_map(&r->in, r->root, "parallel", &parallel);
    if (status == EK_OK)
        status = ek__optional_map(&r->in, parallel, "pipeline_config", &r->pipeline);
    if (status == EK_OK)
        status = ek__optional_map(&r->in, r->root, "swap", &swap_section);
    swap = status == EK_OK && swap_section ? ek__get(swap_section, "swap") : NULL;
    if (swap)
        status = ek__bool(&r->in, swap, "it switches swapping on", &on);
    if (status == EK_OK && on)
        return ek__fail_at(&r->in, swap,
                           "is on, so the recompute lists name layers instead of counting them; switch it off, since a "
                           "plan can only count layers");
    return status;
}

static ek_status read_schedule(reader *r, bool interleave)
{
    const ek__node *node = r->pipeline ? ek__get(r->pipeline, "pipeline_scheduler") : NULL;
    ek__mf_pipeline *out = &r->out;
    if (node) {
        ek_status status =
            ek__string(&r->in, node, sizeof out->scheduler, "name the scheduler, for example 1f1b", out->scheduler);
        if (status)
            return status;
    }
    const ek_schedule *named = ek__schedule_of_word(EK_MINDFORMERS, out->scheduler).schedule;
    if (!out->scheduler[0] || (named && ek__schedule_in(named, EK_MINDFORMERS)->by_chunks)) {
        out->schedule = ek_schedule_default(interleave ? out->plan.n_chunks : 1, false);
        return EK_OK;
    }
    out->schedule = named;
    if (!named)
        ek__warn_at(&r->in, node, "is '%s', an order that is not known here; the plan is taken without it",
                    out->scheduler);
    return EK_OK;
}

static ek_status read_sizes(reader *r)
{
    int n_stages = 1, n_chunks = 1;
    bool interleave = false;
    const ek__node *node = r->pipeline ? ek__get(r->pipeline, "pipeline_interleave") : NULL;
    r->out.n_micro_batches = r->out.n_pieces = 1;
    int n_decoder_layers = 0;
    ek_status status = ek__mf_layers(&r->in, r->model, &n_decoder_layers, &r->out.n_prediction_layers);
    r->out.n_layers = n_decoder_layers + r->out.n_prediction_layers;
    if (status == EK_OK)
        status = read_count(&r->in, r->parallel_config, "pipeline_stage", EK_MAX_STAGES, "it is the number of stages",
                            &n_stages);
    if (status == EK_OK)
        status = read_count(&r->in, r->parallel_config, "micro_batch_num", EK_MAX_MICRO_BATCHES,
                            "it is the number in one step", &r->out.n_micro_batches);
    if (status == EK_OK)
        status = read_count(&r->in, r->parallel_config, "seq_split_num", EK_MAX_MICRO_BATCHES,
                            "it is the pieces of a sequence", &r->out.n_pieces);
    if (status == EK_OK)
        status =
            read_count(&r->in, r->model, "pp_interleave_num", EK_MAX_CHUNKS, "it is the chunks of a stage", &n_chunks);
    if (status == EK_OK && node)
        status = ek__bool(&r->in, node, "it switches pp_interleave_num on", &interleave);
    if (status == EK_OK)
        status = ek_plan_init(&r->out.plan, n_stages, interleave ? n_chunks : 1, r->in.err);
    return status ? status : read_schedule(r, interleave);
}

/* ---- lists ---- */

typedef enum list_shape { ONE_WORD, BY_STAGE, BY_CHUNK } list_shape;

/* Whether a value is one word, p entries, or v lists of p entries. */
static ek_status shape_of(reader *r, const ek__node *node, list_shape *out)
{
    int p = r->out.plan.n_stages, v = r->out.plan.n_chunks;
    if (node->kind == EK__SCALAR) {
        *out = ONE_WORD;
        return EK_OK;
    }
    if (node->kind == EK__LIST && node->first && node->first->kind == EK__LIST) {
        if (node->n != v)
            return ek__fail_at(&r->in, node, "has %d lists, but the model has %d chunk%s on a stage; give one for each",
                               node->n, v, v > 1 ? "s" : "");
        for (const ek__node *row = node->first; row; row = row->next)
            if (row->kind != EK__LIST || row->n != p)
                return ek__fail_at(&r->in, row, "must be a list of %d numbers, one for each stage; correct it", p);
        *out = BY_CHUNK;
        return EK_OK;
    }
    if (node->kind != EK__LIST || node->n != p)
        return ek__fail_at(&r->in, node, "must be a list of %d numbers, one for each stage; correct it", p);
    *out = BY_STAGE;
    return EK_OK;
}

static ek_status read_offset(reader *r)
{
    const ek_plan *plan = &r->out.plan;
    int p = plan->n_stages, v = plan->n_chunks, base = r->out.n_layers / (p * v), sum = 0, value = 0;
    const ek__node *node = ek__get(r->model, "offset");
    list_shape shape = ONE_WORD;
    ek_status status = node ? shape_of(r, node, &shape) : EK_OK;
    if (status == EK_OK && node && shape == ONE_WORD)
        status = ek__int(&r->in, node, 0, 0, "write a list with one number for each stage", &value);
    const ek__node *row = node && shape == BY_CHUNK ? node->first : node;
    for (int i = 0; i < v && status == EK_OK; i++, row = shape == BY_CHUNK ? row->next : row) {
        const ek__node *entry = shape == ONE_WORD ? NULL : row->first;
        for (int s = 0; s < p && status == EK_OK; s++, entry = entry ? entry->next : NULL) {
            if (entry)
                status = ek__int(&r->in, entry, -base, r->out.n_layers, EK__OFFSET_ADVICE, &value);
            plan->layers[i * p + s] = base + value;
            sum += value;
        }
    }
    if (status)
        return status;
    if (shape == BY_STAGE && v > 1 && sum != 0)
        return ek__fail_at(&r->in, node,
                           "is one list for %d chunks, and every chunk gets all of it: it places %d layers too many; "
                           "write %d lists",
                           v, sum - r->out.n_layers % (p * v), v);
    if (!node && sum != r->out.n_layers % (p * v))
        return ek__fail_at(&r->in, r->model,
                           "has no offset, but %d layers on %d stages x %d chunks are %d each and %d over; write an "
                           "offset that adds up to %d",
                           r->out.n_layers, p, v, base, r->out.n_layers % (p * v), r->out.n_layers % (p * v));
    if (sum != r->out.n_layers % (p * v))
        return ek__fail_at(&r->in, node,
                           "adds up to %d, expected %d: %d layers on %d stages x %d chunks are %d each and %d over; "
                           "correct the offsets",
                           sum, r->out.n_layers % (p * v), r->out.n_layers, p, v, base, r->out.n_layers % (p * v));
    return EK_OK;
}

/* A count of recomputed layers, or a word for none and all; `all` is cut to the existing layers later. */
static ek_status read_entry(reader *r, const ek__node *node, int *out)
{
    bool yes;
    if (!ek__node_is_bool(node, &yes))
        return ek__int(&r->in, node, 0, EK_MAX_LAYERS, EK__RECOMPUTE_ADVICE, out);
    *out = yes ? EK_MAX_LAYERS : 0;
    return EK_OK;
}

/* Layers of a chunk, or of a whole stage (chunk -1). */
static int layers_of(const ek_plan *plan, int chunk, int stage)
{
    int n = 0;
    for (int i = 0; i < plan->n_chunks; i++)
        if (chunk < 0 || i == chunk)
            n += plan->layers[i * plan->n_stages + stage];
    return n;
}

/* The framework silently accepts counts above the number of layers. The first one of a list is reported. */
static void warn_of_cut(const reader *r, const ek__node *entry, int chunk, int stage, int value, bool *told)
{
    int there = layers_of(&r->out.plan, chunk, stage);
    if (*told || value <= there || ek__node_is_bool(entry, &(bool){false}))
        return;
    ek__warn_of_at(&r->in, "recompute-count", entry,
                   "is %d, but %s %d has %d layer%s, and no more are recomputed; write %d", value,
                   chunk < 0 ? "stage" : "this chunk of stage", stage, there, there == 1 ? "" : "s", there);
    *told = true;
}

/* `count` layers of a stage are distributed to its chunks in order, each up to its layers. */
static void deal(const ek_plan *plan, int stage, int count, int *out)
{
    int p = plan->n_stages, placed = -1;
    while (count > 0 && placed != 0) {
        placed = 0;
        for (int i = 0; i < plan->n_chunks && count > 0; i++)
            if (out[i * p + stage] < plan->layers[i * p + stage]) {
                out[i * p + stage]++;
                count--;
                placed++;
            }
    }
}

/* One list into out[v][p], cut to the existing layers. */
static ek_status read_list(reader *r, const ek__node *node, int *out)
{
    const ek_plan *plan = &r->out.plan;
    int p = plan->n_stages, v = plan->n_chunks, value = 0;
    bool told = false;
    list_shape shape = ONE_WORD;
    ek_status status = shape_of(r, node, &shape);
    if (status == EK_OK && shape == ONE_WORD)
        status = read_entry(r, node, &value);
    if (status == EK_OK && shape == ONE_WORD && value != 0 && value != EK_MAX_LAYERS)
        return ek__fail_at(&r->in, node, "is one number; write true, false, or a list with one number for each stage");
    const ek__node *row = shape == BY_CHUNK ? node->first : node;
    memset(out, 0, (size_t)(p * v) * sizeof *out);
    for (int i = 0; i < v && status == EK_OK; i++, row = shape == BY_CHUNK ? row->next : row) {
        const ek__node *entry = shape == ONE_WORD ? NULL : row->first;
        for (int s = 0; s < p && status == EK_OK; s++, entry = entry ? entry->next : NULL) {
            if (entry)
                status = read_entry(r, entry, &value);
            if (status == EK_OK && entry && (shape == BY_CHUNK || i == 0))
                warn_of_cut(r, entry, shape == BY_CHUNK ? i : -1, s, value, &told);
            if (shape == BY_STAGE && i == 0 && v > 1)
                deal(plan, s, value, out);
            else if (shape != BY_STAGE || v == 1)
                out[i * p + s] = value < plan->layers[i * p + s] ? value : plan->layers[i * p + s];
        }
    }
    return status;
}

/* Patterns with their own lists: the largest list counts. */
static ek_status read_patterns(reader *r, const ek__node *map, int *out)
{
    int n = r->out.plan.n_stages * r->out.plan.n_chunks;
    bool differ = false;
    int *list = ek__alloc((size_t)n, sizeof *list);
    if (!list)
        return ek__no_memory(r->in.err);
    ek_status status = EK_OK;
    memset(out, 0, (size_t)n * sizeof *out);
    for (const ek__node *node = map->first; node && status == EK_OK; node = node->next) {
        status = read_list(r, node, list);
        for (int i = 0; i < n && status == EK_OK; i++) {
            differ = differ || (node != map->first && list[i] != out[i]);
            out[i] = list[i] > out[i] ? list[i] : out[i];
        }
    }
    free(list);
    if (status == EK_OK && differ)
        ek__warn_at(&r->in, map, "gives its patterns different lists; a layer counts where any of them does");
    return status;
}

static ek_status read_recompute(reader *r, const ek__node *config, const char *key, int *out)
{
    const ek__node *node = config ? ek__get(config, key) : NULL;
    const ek_plan *plan = &r->out.plan;
    if (!node)
        return EK_OK;
    if (node->kind == EK__MAP)
        return read_patterns(r, node, out);
    if (!ek__mf_is_pattern_list(node))
        return read_list(r, node, out);
    /* Patterns without counts apply to every layer. */
    memcpy(out, plan->layers, (size_t)(plan->n_stages * plan->n_chunks) * sizeof *out);
    return EK_OK;
}

ek_status ek__mf_pipeline_sizes(const ek__config_tree *doc, const ek_listener *listener, ek__mf_pipeline *out,
                                ek_error *err)
{
    reader r = {.in = {doc, listener, err}, .root = ek__config_root(doc)};
    ek_status status = find_sections(&r);
    if (status == EK_OK)
        status = read_sizes(&r);
    if (status == EK_OK)
        *out = r.out;
    else
        ek__mf_pipeline_clear(&r.out);
    return status;
}

static ek_status read_lists(reader *r)
{
    const ek__node *recompute = NULL;
    ek_plan *plan = &r->out.plan;
    ek_status status = ek__optional_map(&r->in, r->root, "recompute_config", &recompute);
    if (status == EK_OK)
        status = read_recompute(r, recompute, "recompute", plan->full);
    if (status == EK_OK)
        status = read_recompute(r, recompute, "select_recompute", plan->select);
    return status ? status : read_recompute(r, recompute, "select_comm_recompute", plan->comm);
}

ek_status ek__mf_pipeline_read(const ek__config_tree *doc, const ek_listener *listener, ek__mf_pipeline *out,
                               ek_error *err)
{
    reader r = {.in = {doc, listener, err}, .root = ek__config_root(doc)};
    ek_status status = find_sections(&r);
    if (status == EK_OK)
        status = read_sizes(&r);
    if (status == EK_OK)
        status = read_offset(&r);
    if (status == EK_OK)
        status = read_lists(&r);
    if (status == EK_OK)
        *out = r.out;
    else
        ek__mf_pipeline_clear(&r.out);
    return status;
}

ek_status ek__mf_offset(const ek__in *in, const ek__node *model_config, int n_layers, const ek_plan *plan)
{
    /* The plan's arrays are written, the plan itself is not: a shallow copy is sufficient. */
    reader r = {.in = *in, .model = model_config, .out = {.plan = *plan, .n_layers = n_layers}};
    return read_offset(&r);
}

ek_status ek__mf_list(const ek__in *in, const ek_plan *plan, const ek__node *node, int *out)
{
    reader r = {.in = *in, .out.plan = *plan};
    return read_list(&r, node, out);
}

ek_status ek__mf_lists(const ek__in *in, const ek_plan *plan)
{
    reader r = {.in = *in, .root = ek__config_root(in->doc), .out.plan = *plan};
    return read_lists(&r);
}
