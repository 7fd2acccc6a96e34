/* Reads the init file of the original tool: the dry run's layer counts and recompute lists, in one round or several,
 * and the peaks of each stage. Everything that can be checked without solving anything is checked here, so that the
 * decomposition works on counts that add up. */
#include "dryrun/init.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/grid.h"
#include "layers/layers.h"

enum { MAX_ROUNDS = 64 };

/* State of a reading; `init` is returned only when all of it is valid. */
typedef struct reader {
    ek__in in;
    ek_dryrun init;
    ek__grid grid;
    const ek__node *offset;
} reader;

/* The three recompute lists, in the order of `out` below. */
static const char *const list_name[3] = {"recompute", "select_recompute", "select_comm_recompute"};

void ek_dryrun_clear(ek_dryrun *init)
{
    free(init->path);
    free(init->layers);
    free(init->full);
    free(init->select);
    free(init->comm);
    free(init->measurement);
    free(init->profiling_folder);
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < init->n_profiling_names[i]; j++)
            free(init->profiling_name[i][j]);
        free(init->profiling_name[i]);
        free(init->profiling_at[i]);
    }
    free(init->profiled);
    *init = (ek_dryrun){0};
}

/* ---- pipeline_config and recompute_config ---- */

static ek_status read_sizes(reader *r, const ek__node *pipeline)
{
    const ek__node *stages, *layers;
    ek__warn_unknown_keys(&r->in, pipeline, ek__pipeline_keys);
    ek_status status = ek__require(&r->in, pipeline, "pipeline_num", "give the stages of the dry run", &stages);
    if (status == EK_OK)
        status = ek__int(&r->in, stages, 3, EK_MAX_STAGES, "a dry run needs a stage between the first and the last",
                         &r->init.n_stages);
    if (status == EK_OK)
        status = ek__require(&r->in, pipeline, "num_layer", "give the model's body layers", &layers);
    if (status == EK_OK)
        status =
            ek__int(&r->in, layers, 1, EK_MAX_LAYERS, "it is the number of the model's body layers", &r->init.n_layers);
    if (status == EK_OK)
        status = ek__require(&r->in, pipeline, "offset", "write 'offset: 0' for the even split", &r->offset);
    return status;
}

/* The number of rounds, from every field that may be a list of lists; each map may be NULL. */
static ek_status measure_rounds(reader *r, const ek__node *recompute, const ek__node *body_memories)
{
    r->grid = (ek__grid){.n_rows = 1, .n_stages = r->init.n_stages, .max_rows = MAX_ROUNDS, .row_name = "round"};
    ek_status status = ek__grid_measure(&r->in, &r->grid, r->offset);
    for (int l = 0; l < 3 && status == EK_OK && recompute; l++) {
        const ek__node *node = ek__get(recompute, list_name[l]);
        if (node)
            status = ek__grid_measure(&r->in, &r->grid, node);
    }
    static const char *const per_round[] = {"stage_id", "memories"};
    for (int i = 0; i < 2 && status == EK_OK && body_memories; i++) {
        const ek__node *node = ek__get(body_memories, per_round[i]);
        if (node)
            status = ek__grid_measure(&r->in, &r->grid, node);
    }
    r->init.n_rounds = r->grid.n_rows;
    return status;
}

static ek_status check_round(reader *r, int round, const int *offset)
{
    assert(r->init.n_stages > 0);
    int base = r->init.n_layers / r->init.n_stages, over = r->init.n_layers % r->init.n_stages;
    long sum = 0;
    for (int s = 0; s < r->init.n_stages; s++) {
        sum += offset[s];
        if (base + offset[s] < 0)
            return ek__fail_at(
                &r->in, ek__grid_cell(&r->grid, r->offset, round, s),
                "is %d, but the even split gives a stage %d layers: stage %d would have %d; use %d or more", offset[s],
                base, s, base + offset[s], -base);
    }
    if (sum != over)
        return ek__fail_at(&r->in, ek__grid_row(&r->grid, r->offset, round),
                           "adds up to %ld, expected %d: %d layers on %d stages are %d each and %d over; correct the "
                           "offsets",
                           sum, over, r->init.n_layers, r->init.n_stages, base, over);
    return EK_OK;
}

static ek_status read_layers(reader *r)
{
    ek_dryrun *init = &r->init;
    size_t n = (size_t)init->n_rounds * (size_t)init->n_stages;
    init->layers = ek__alloc(n, sizeof *init->layers);
    init->full = ek__alloc(n, sizeof *init->full);
    init->select = ek__alloc(n, sizeof *init->select);
    init->comm = ek__alloc(n, sizeof *init->comm);
    if (!init->layers || !init->full || !init->select || !init->comm)
        return ek__no_memory(r->in.err);
    const ek__grid_field field = {NULL, -init->n_layers, init->n_layers, EK__OFFSET_ADVICE};
    ek_status status = ek__grid_read(&r->in, &r->grid, r->offset, &field, init->layers);
    for (int round = 0; round < init->n_rounds && status == EK_OK; round++)
        status = check_round(r, round, init->layers + (size_t)round * (size_t)init->n_stages);
    for (size_t i = 0; i < n; i++)
        init->layers[i] += init->n_layers / init->n_stages;
    return status;
}

static ek_status check_list(reader *r, const ek__node *node, const int *list)
{
    for (int i = 0; i < r->init.n_rounds * r->init.n_stages; i++) {
        int round = i / r->init.n_stages, stage = i % r->init.n_stages, n = r->init.layers[i];
        if (list[i] > n)
            return ek__fail_at(&r->in, ek__grid_cell(&r->grid, node, round, stage),
                               "is %d, but stage %d has %d layers; it cannot recompute more than it has", list[i],
                               stage, n);
    }
    return EK_OK;
}

static ek_status read_recompute(reader *r, const ek__node *root, const ek__node *recompute)
{
    static const char *const known[] = {"recompute", "select_recompute", "select_comm_recompute", NULL};
    if (!recompute) {
        ek__warn_at(&r->in, root, "has no recompute_config; the dry run counts as one without recomputation");
        return EK_OK;
    }
    ek__warn_unknown_keys(&r->in, recompute, known);
    int *const out[3] = {r->init.full, r->init.select, r->init.comm};
    ek_status status = EK_OK;
    for (int l = 0; l < 3 && status == EK_OK; l++) {
        const ek__node *node = ek__get(recompute, list_name[l]);
        if (!node)
            continue;
        const ek__grid_field field = {r->init.layers, 0, EK_MAX_LAYERS, EK__RECOMPUTE_ADVICE};
        status = ek__grid_read(&r->in, &r->grid, node, &field, out[l]);
        if (status == EK_OK)
            status = check_list(r, node, out[l]);
    }
    return status;
}

/* ---- time_config and profiling_config ---- */

static ek_status read_times(reader *r, const ek__node *root)
{
    static const char *const known[] = {"head", "body", "tail", NULL};
    double *const slots[] = {&r->init.times.head, &r->init.times.body, &r->init.times.tail};
    r->init.times = (ek_times){NAN, NAN, NAN};
    const ek__node *config = ek__get(root, "time_config");
    if (!config)
        return EK_OK;
    ek_status status = ek__expect(&r->in, config, EK__MAP, "write head, body and tail below it");
    if (status)
        return status;
    ek__warn_unknown_keys(&r->in, config, known);
    for (int i = 0; known[i] && status == EK_OK; i++) {
        const ek__node *node = ek__get(config, known[i]);
        double least = slots[i] == &r->init.times.body ? EK__MIN_TIME : 0.0;
        if (node)
            status =
                ek__number(&r->in, node, least, EK__MAX_TIME, "it is the forward time of one micro-batch", slots[i]);
    }
    return status;
}

/* Operator scopes: a name or a list of names, those of head (0), body or tail. */
static ek_status read_scope(reader *r, const ek__node *node, int of)
{
    char name[256];
    ek_status status = ek__string(&r->in, node, sizeof name, "name operator scopes, one or a list", name);
    if (status)
        return status;
    char *copy = ek__strdup(name);
    if (!copy)
        return ek__no_memory(r->in.err);
    int i = r->init.n_profiling_names[of]++;
    r->init.profiling_name[of][i] = copy;
    r->init.profiling_at[of][i] = (ek_origin){r->init.path, node->line, node->column};
    return EK_OK;
}

static ek_status read_scopes(reader *r, const ek__node *node, int of)
{
    size_t n = node->kind == EK__LIST ? (size_t)node->n : 1;
    r->init.profiling_name[of] = ek__alloc(n, sizeof *r->init.profiling_name[of]);
    r->init.profiling_at[of] = ek__alloc(n, sizeof *r->init.profiling_at[of]);
    if (!r->init.profiling_name[of] || !r->init.profiling_at[of])
        return ek__no_memory(r->in.err);
    if (node->kind != EK__LIST)
        return read_scope(r, node, of);
    ek_status status = EK_OK;
    for (const ek__node *entry = node->first; entry && status == EK_OK; entry = entry->next)
        status = read_scope(r, entry, of);
    return status;
}

static ek_status read_profiling(reader *r, const ek__node *root)
{
    static const char *const known[] = {"folder_path", "micro_batch_num", "head_layers",
                                        "body_layers", "tail_layers",     NULL};
    const ek__node *config = ek__get(root, "profiling_config");
    if (!config)
        return EK_OK;
    ek_status status = ek__expect(&r->in, config, EK__MAP, "write folder_path and micro_batch_num below it");
    if (status)
        return status;
    ek__warn_unknown_keys(&r->in, config, known);
    const ek__node *folder = ek__get(config, "folder_path"), *micro_batches = ek__get(config, "micro_batch_num");
    char path[4096];
    if (folder)
        status = ek__string(&r->in, folder, sizeof path, "name the folder of trace_view*.json", path);
    if (status == EK_OK && folder) {
        r->init.profiling_folder = ek__strdup(path);
        status = r->init.profiling_folder ? EK_OK : ek__no_memory(r->in.err);
    }
    if (status == EK_OK && micro_batches)
        status = ek__int(&r->in, micro_batches, 1, EK_MAX_MICRO_BATCHES, "it is the number while profiling",
                         &r->init.profiling_micro_batches);
    for (int i = 2; known[i] && status == EK_OK; i++) {
        const ek__node *scopes = ek__get(config, known[i]);
        if (scopes)
            status = read_scopes(r, scopes, i - 2);
    }
    r->init.has_profiling = folder != NULL;
    if (folder)
        r->init.profiling = (ek_origin){r->init.path, config->key_line, config->key_column};
    return status;
}

/* ---- memory_usage ---- */

static ek_status read_peak(reader *r, const ek__node *map, const char *key, double *out)
{
    static const char advice[] = "it is the stage's peak in MB; `evenkeel collect` fills it in";
    const ek__node *node;
    ek_status status = ek__require(&r->in, map, key, "give the stage's peak of the first round in MB", &node);
    return status ? status : ek__number(&r->in, node, 1.0, EK__MAX_MEMORY_MB, advice, out);
}

static ek_status check_new_stage(reader *r, const ek__node *node, const ek_measurement *m)
{
    for (int i = r->init.n_measurements - 1; i >= 0 && r->init.measurement[i].round == m->round; i--)
        if (r->init.measurement[i].stage == m->stage)
            return ek__fail_at(&r->in, node, "names stage %d a second time; give each stage once", m->stage);
    return EK_OK;
}

static ek_status read_measurements(reader *r, int round, const ek__node *stages, const ek__node *peaks)
{
    ek_status status = ek__expect(&r->in, stages, EK__LIST, "list the middle stages with given peaks");
    if (status == EK_OK)
        status = ek__expect(&r->in, peaks, EK__LIST, "list the peaks in MB of the stages in stage_id");
    if (status)
        return status;
    if (stages->n != peaks->n)
        return ek__fail_at(&r->in, peaks, "has %d peaks, but stage_id names %d stages; give one for each", peaks->n,
                           stages->n);
    if (stages->n > r->init.n_stages - 2)
        return ek__fail_at(&r->in, stages, "names %d stages, but %d lie between the first and the last; name each once",
                           stages->n, r->init.n_stages - 2);
    for (const ek__node *id = stages->first, *peak = peaks->first; id && peak; id = id->next, peak = peak->next) {
        ek_measurement m = {.round = round, .origin = {r->init.path, peak->line, peak->column}};
        status = ek__int(&r->in, id, 1, r->init.n_stages - 2,
                         "only middle stages belong here, the others are head_memory and tail_memory", &m.stage);
        if (status == EK_OK)
            status = check_new_stage(r, id, &m);
        if (status == EK_OK)
            status = ek__number(&r->in, peak, 1.0, EK__MAX_MEMORY_MB,
                                "it is the stage's peak in MB; `evenkeel collect` fills it in", &m.peak_mb);
        if (status)
            return status;
        r->init.measurement[r->init.n_measurements++] = m;
    }
    return EK_OK;
}

static ek_status read_body_memories(reader *r, const ek__node *body)
{
    static const char *const known[] = {"stage_id", "memories", NULL};
    const ek__node *field[2];
    ek__warn_unknown_keys(&r->in, body, known);
    for (int i = 0; i < 2; i++) {
        ek_status status = ek__require(&r->in, body, known[i], "list middle stages and their peaks", &field[i]);
        if (status == EK_OK)
            status = ek__expect(&r->in, field[i], EK__LIST, "list middle stages and their peaks");
        if (status)
            return status;
    }
    r->init.measurement = ek__alloc((size_t)r->init.n_rounds * (size_t)r->init.n_stages, sizeof *r->init.measurement);
    if (!r->init.measurement)
        return ek__no_memory(r->in.err);
    /* One round may be written flat even where other fields are lists of one list. */
    bool nested[2];
    for (int i = 0; i < 2; i++)
        nested[i] = field[i]->first && field[i]->first->kind == EK__LIST;
    for (int i = 0; i < 2; i++)
        if ((nested[i] && field[i]->n != r->init.n_rounds) || (!nested[i] && r->init.n_rounds > 1))
            return ek__fail_at(&r->in, field[i], "must be %d lists, one for each round; correct it", r->init.n_rounds);
    const ek__node *stages = nested[0] ? field[0]->first : field[0], *peaks = nested[1] ? field[1]->first : field[1];
    ek_status status = EK_OK;
    for (int round = 0; round < r->init.n_rounds && status == EK_OK; round++) {
        status = read_measurements(r, round, stages, peaks);
        stages = stages->next;
        peaks = peaks->next;
    }
    return status;
}

static ek_status read_memory(reader *r, const ek__node *memory, const ek__node *body)
{
    static const char *const known[] = {"head_memory", "tail_memory", "body_memories", NULL};
    ek__warn_unknown_keys(&r->in, memory, known);
    r->init.memory_usage = (ek_origin){r->init.path, memory->key_line, memory->key_column};
    ek_status status = read_peak(r, memory, "head_memory", &r->init.head_mb);
    if (status == EK_OK)
        status = read_peak(r, memory, "tail_memory", &r->init.tail_mb);
    return status ? status : read_body_memories(r, body);
}

/* ---- the file ---- */

static ek_status read_maps(reader *r, const ek__node *root, const ek__node **pipeline, const ek__node **recompute)
{
    static const char *const known[] = {"pipeline_config",  "profiling_config", "time_config",
                                        "recompute_config", "memory_usage",     NULL};
    ek_status status = ek__expect(&r->in, root, EK__MAP, "an init file has pipeline_config, memory_usage and others");
    if (status)
        return status;
    status = ek__dryrun_refuse_training_file(r->in.doc, r->in.err);
    if (status)
        return status;
    ek__warn_unknown_keys(&r->in, root, known);
    *recompute = ek__get(root, "recompute_config");
    if (*recompute)
        status = ek__expect(&r->in, *recompute, EK__MAP, "write recompute, select_recompute and others below it");
    if (status == EK_OK)
        status = ek__require_map(&r->in, root, "pipeline_config",
                                 "write pipeline_num, num_layer and offset of the dry run below it", pipeline);
    return status;
}

static ek_status read_root(reader *r, const ek__node *root)
{
    const ek__node *pipeline = NULL, *memory = NULL, *body = NULL, *recompute = NULL;
    ek_status status = read_maps(r, root, &pipeline, &recompute);
    if (status == EK_OK)
        status = ek__require_map(
            &r->in, root, "memory_usage",
            ek__get(pipeline, "micro_batch_num")
                ? "write head_memory, tail_memory and body_memories below it, or give the layers with --layers FILE"
                : "write head_memory, tail_memory and body_memories below it",
            &memory);
    if (status == EK_OK)
        status = ek__require_map(&r->in, memory, "body_memories", "write stage_id and memories below it", &body);
    if (status == EK_OK)
        status = read_sizes(r, pipeline);
    if (status == EK_OK)
        status = ek__dryrun_run_read(&r->in, pipeline, &r->init.run);
    if (status == EK_OK)
        status = measure_rounds(r, recompute, body);
    if (status == EK_OK)
        status = read_layers(r);
    if (status == EK_OK)
        status = read_recompute(r, root, recompute);
    if (status == EK_OK)
        status = read_times(r, root);
    if (status == EK_OK)
        status = read_profiling(r, root);
    return status ? status : read_memory(r, memory, body);
}

ek_status ek__dryrun_shape_from_config(const ek__config_tree *doc, int *n_stages, int *n_rounds, ek_error *err)
{
    reader r = {.in = {doc, NULL, err}};
    const ek__node *pipeline = NULL, *recompute = NULL;
    ek_status status = read_maps(&r, ek__config_root(doc), &pipeline, &recompute);
    if (status == EK_OK)
        status = read_sizes(&r, pipeline);
    if (status == EK_OK)
        status = measure_rounds(&r, recompute, NULL);
    if (status)
        return status;
    *n_stages = r.init.n_stages;
    *n_rounds = r.init.n_rounds;
    return EK_OK;
}

ek_status ek__dryrun_from_config(const ek__config_tree *doc, const ek_listener *listener, ek_dryrun *out, ek_error *err)
{
    reader r = {.in = {doc, listener, err}};
    r.init.path = ek__strdup(ek__config_name(doc));
    if (!r.init.path)
        return ek__no_memory(err);
    ek_status status = read_root(&r, ek__config_root(doc));
    if (status == EK_OK)
        *out = r.init;
    else
        ek_dryrun_clear(&r.init);
    return status;
}

ek_status ek_dryrun_read(const char *path, const ek_listener *listener, ek_dryrun *out, ek_error *err)
{
    ek__config_tree *doc;
    ek_status status = ek__dryrun_doc_read(path, &doc, err);
    if (status)
        return status;
    status = ek__dryrun_from_config(doc, listener, out, err);
    ek__config_free(doc);
    return status;
}

ek_status ek_dryrun_parse(const char *name, const char *text, size_t size, const ek_listener *listener, ek_dryrun *out,
                          ek_error *err)
{
    ek__config_tree *doc;
    char *copy = ek__text_copy(text, size);
    if (!copy)
        return ek__no_memory(err);
    ek_status status = ek__dryrun_doc_parse(name, copy, size, &doc, err);
    free(copy);
    if (status)
        return status;
    status = ek__dryrun_from_config(doc, listener, out, err);
    ek__config_free(doc);
    return status;
}

ek_status ek_dryrun_read_run(const char *path, const ek_listener *listener, ek_dryrun_run *out, ek_error *err)
{
    ek__config_tree *doc;
    ek_status status = ek__dryrun_doc_read(path, &doc, err);
    if (status)
        return status;
    reader r = {.in = {doc, listener, err}};
    const ek__node *pipeline = NULL, *recompute = NULL;
    ek_dryrun_run run = {0};
    status = read_maps(&r, ek__config_root(doc), &pipeline, &recompute);
    if (status == EK_OK) {
        ek__warn_unknown_keys(&r.in, pipeline, ek__pipeline_keys);
        status = ek__dryrun_run_read(&r.in, pipeline, &run);
    }
    if (status == EK_OK)
        *out = run;
    ek__config_free(doc);
    return status;
}

ek_status ek_dryrun_read_shape(const char *path, int *n_stages, int *n_rounds, ek_error *err)
{
    ek__config_tree *doc;
    ek_status status = ek__dryrun_doc_read(path, &doc, err);
    if (status)
        return status;
    status = ek__dryrun_shape_from_config(doc, n_stages, n_rounds, err);
    ek__config_free(doc);
    return status;
}
