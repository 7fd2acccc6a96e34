/* Reads the places of layers in a training YAML of MindFormers and their recomputation. Sizes, offsets and lists are
 * read by the reader of the pipeline's settings; here every pattern of recompute_config has its own list, which a plan
 * does not. */
#include <stdlib.h>
#include <string.h>

#include "job/mindformers.h"
#include "job/mindformers_pipeline.h"
#include "job/settings.h"

/* A reading of one key of recompute_config. */
typedef struct list_reader {
    const ek__in *in;
    ek_job *job;
    ek_pattern_kind kind;
    int *list; /* [v][p], room for one */
} list_reader;

static ek_status add(const list_reader *r, const char *text, const ek__node *node, const int *layers, bool by_default)
{
    ek_origin origin = ek__node_origin(r->in->doc, node);
    origin.file = r->job->path;
    return ek__job_add_pattern(r->job, text, r->kind, layers, by_default, origin, r->in->err);
}

static bool any(const int *list, const ek_plan *plan)
{
    for (int c = 0; c < plan->n_stages * plan->n_chunks; c++)
        if (list[c] > 0)
            return true;
    return false;
}

static void note_list(const list_reader *r, const ek__node *node)
{
    if (node->kind == EK__LIST)
        ek__job_note(r->job, "lists");
}

/* Counts without patterns: for the default patterns. Excluded patterns have no default. */
static ek_status read_counts(const list_reader *r, const ek__node *node)
{
    ek_status status = ek__mf_list(r->in, &r->job->plan, node, r->list);
    note_list(r, node);
    /* Without flash attention, scores are recomputed in every layer as soon as there is a list, even one of zeros. */
    bool counts = r->kind == EK_PATTERN_SELECT && node->kind == EK__LIST && !r->job->model.flash_attention;
    if (status || (!counts && !any(r->list, &r->job->plan)))
        return status;
    if (r->kind == EK_PATTERN_SELECT_EXCLUDE || r->kind == EK_PATTERN_COMM_EXCLUDE)
        return ek__fail_at(r->in, node, "has no patterns to exclude; write a list of patterns");
    const char *const *pattern = ek__job_usual_patterns(r->job, r->kind);
    for (; *pattern && status == EK_OK; pattern++)
        status = add(r, *pattern, node, r->list, true);
    return status;
}

/* Patterns without counts apply to every layer. */
static ek_status read_names(const list_reader *r, const ek__node *node)
{
    char text[256];
    ek_status status = EK_OK;
    for (const ek__node *name = node->first; name && status == EK_OK; name = name->next) {
        status = ek__string(r->in, name, sizeof text, "write a pattern such as 'feed_forward\\.mul'", text);
        if (status == EK_OK)
            status = add(r, text, name, NULL, false);
    }
    return status;
}

static ek_status read_map(const list_reader *r, const ek__node *node)
{
    ek_status status = EK_OK;
    for (const ek__node *entry = node->first; entry && status == EK_OK; entry = entry->next) {
        status = ek__mf_list(r->in, &r->job->plan, entry, r->list);
        note_list(r, entry);
        if (status == EK_OK) {
            ek_origin origin = {r->job->path, entry->key_line, entry->key_column};
            status = ek__job_add_pattern(r->job, entry->key, r->kind, r->list, false, origin, r->in->err);
        }
    }
    return status;
}

static ek_status read_key(const ek__in *in, const ek__node *config, const char *key, ek_pattern_kind kind, int *list,
                          ek_job *job)
{
    const ek__node *node = config ? ek__get(config, key) : NULL;
    const list_reader r = {in, job, kind, list};
    if (!node)
        return EK_OK;
    if (node->kind == EK__MAP)
        return read_map(&r, node);
    return ek__mf_is_pattern_list(node) ? read_names(&r, node) : read_counts(&r, node);
}

static ek_status read_recompute(const ek__in *in, const ek__node *config, ek_job *job)
{
    static const struct {
        const char *key;
        ek_pattern_kind kind;
    } keys[] = {{"select_recompute", EK_PATTERN_SELECT},
                {"select_comm_recompute", EK_PATTERN_COMM},
                {"select_recompute_exclude", EK_PATTERN_SELECT_EXCLUDE},
                {"select_comm_recompute_exclude", EK_PATTERN_COMM_EXCLUDE}};
    const ek__node *full = config ? ek__get(config, "recompute") : NULL;
    ek_status status = full ? ek__mf_list(in, &job->plan, full, job->plan.full) : EK_OK;
    if (full && full->kind == EK__LIST)
        ek__job_note(job, "lists");
    int *list =
        status == EK_OK ? ek__alloc((size_t)job->plan.n_stages * (size_t)job->plan.n_chunks, sizeof *list) : NULL;
    if (status == EK_OK && !list)
        return ek__no_memory(in->err);
    for (size_t i = 0; i < sizeof keys / sizeof *keys && status == EK_OK; i++)
        status = read_key(in, config, keys[i].key, keys[i].kind, list, job);
    free(list);
    return status;
}

/* Layers of every chunk. The newer models come with `offset: 0` for layers that do not divide; they are then spread. */
static ek_status place_layers(const ek__in *in, const ek__mf_sections *file, int n_layers, ek_job *job)
{
    const ek__node *offset = ek__get(file->model, "offset");
    int n = job->plan.n_stages * job->plan.n_chunks, value = 0;
    bool nothing = !offset || (ek__node_is_int(offset, &value) && value == 0);
    if (job->framework != EK_MINDFORMERS_MCORE || !nothing || n_layers % n == 0)
        return ek__mf_offset(in, file->model, n_layers, &job->plan);
    ek__warn_at(in, offset ? offset : file->model,
                "%s %d layers on %d stages x %d chunks without saying where %d of them go; they are spread evenly, the "
                "first chunks get one more",
                offset ? "leaves" : "has", n_layers, job->plan.n_stages, job->plan.n_chunks, n_layers % n);
    ek_plan empty = job->plan;
    ek_status status = ek__job_spread(job, empty.n_chunks, in->err);
    if (status)
        job->plan = empty;
    else
        ek_plan_clear(&empty);
    return status;
}

/* Stages, chunks, micro-batches, pieces and schedule; the plan gets no layers. */
static ek_status read_sizes(const ek__in *in, int *n_layers, ek_job *job)
{
    ek__mf_pipeline pipeline;
    ek_status status = ek__mf_pipeline_sizes(in->doc, in->listener, &pipeline, in->err);
    if (status)
        return status;
    *n_layers = pipeline.n_layers;
    job->plan = pipeline.plan;
    job->model.n_layers = pipeline.n_layers - pipeline.n_prediction_layers;
    job->model.n_prediction_layers = pipeline.n_prediction_layers;
    job->parallel.pipeline = pipeline.plan.n_stages;
    job->parallel.n_micro_batches = pipeline.n_micro_batches;
    job->parallel.n_pieces = pipeline.n_pieces;
    job->schedule = pipeline.schedule;
    return EK_OK;
}

ek_status ek__mf_read_plan(const ek__in *in, const ek__mf_sections *file, ek_job *job)
{
    int n_layers = 0;
    ek_status status = read_sizes(in, &n_layers, job);
    if (status == EK_OK)
        status = place_layers(in, file, n_layers, job);
    return status ? status : read_recompute(in, file->recompute, job);
}

ek_status ek__mf_read_pipeline(const ek__in *in, bool placed, ek_job *job)
{
    int n_layers = 0;
    ek_status status = read_sizes(in, &n_layers, job);
    if (status || !placed)
        return status;
    const ek__node *root = ek__config_root(in->doc);
    const ek__mf_sections file = {.root = root, .model = ek__get(ek__get(root, "model"), "model_config")};
    job->framework = ek__mf_is_newer(in, &file) ? EK_MINDFORMERS_MCORE : EK_MINDFORMERS;
    status = place_layers(in, &file, n_layers, job);
    return status ? status : ek__mf_lists(in, &job->plan);
}
