/* Reads plan files: the original's manual format with named strategies, the bare lists that it prints, its log, and the
 * JSON and YAML that Evenkeel writes. All of them contain the same lists, so one reader serves; every plan is checked
 * cell by cell against the model, so that a message names the entry that is wrong. */
#include "strategies/strategies.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/grid.h"
#include "evenkeel/layers.h"
#include "evenkeel/schedule.h"
#include "evenkeel/strategies.h"
#include "job/job_internal.h"
#include "strategies/log_block.h"

enum { MAX_STRATEGIES = 256, JSON_VERSION = 1 };

enum { OFFSET, LAYERS, FULL, SELECT, COMM, N_FIELDS };
static const char *const field_name[N_FIELDS] = {"offset", "layers", "recompute", "select_recompute",
                                                 "select_comm_recompute"};

/* State of a reading; `strategies` is returned only when all of it is valid. */
typedef struct reader {
    ek__in in;
    const ek_layers *layers;
    ek_layers bare; /* used for the model when there is none */
    ek_layer bare_body;
    int n_stages; /* of plans without lists; 0 while unknown */
    ek_strategies strategies;
} reader;

/* One plan: its fields as nodes, NULL where absent, and their shape. */
typedef struct lists {
    const ek__node *node; /* of the map that contains them */
    const ek__node *field[N_FIELDS];
    ek__grid grid;
} lists;

void ek_strategies_clear(ek_strategies *strategies)
{
    for (int i = 0; i < strategies->n; i++)
        ek_plan_clear(&strategies->strategy[i].plan);
    free(strategies->strategy);
    *strategies = (ek_strategies){0};
}

/* ---- the shape ---- */

static ek_status measure(reader *r, lists *l)
{
    const ek__node *interleave = ek__get(l->node, "interleave_num");
    int n_stages = 0;
    const ek__node *from = NULL;
    l->grid = (ek__grid){.n_rows = 1, .max_rows = EK_MAX_CHUNKS, .row_name = "chunk"};
    ek_status status = EK_OK;
    if (interleave) {
        status =
            ek__int(&r->in, interleave, 1, EK_MAX_CHUNKS, "it is the number of chunks on each stage", &l->grid.n_rows);
        l->grid.nested = l->grid.n_rows > 1;
        l->grid.rows_from = interleave;
    }
    for (int f = 0; f < N_FIELDS && status == EK_OK; f++) {
        l->field[f] = ek__get(l->node, field_name[f]);
        if (l->field[f])
            status = ek__grid_measure(&r->in, &l->grid, l->field[f]);
    }
    for (int f = 0; f < N_FIELDS && status == EK_OK && n_stages == 0; f++) {
        from = l->field[f];
        n_stages = from ? ek__grid_count_stages(&l->grid, from) : 0;
    }
    if (status)
        return status;
    if (n_stages == 0)
        n_stages = r->n_stages;
    if (n_stages == 0)
        return ek__fail_at(&r->in, l->node,
                           "has no list with one number for each stage, so the number of stages is not known; write "
                           "out offset as %d list%s, or give the stages with -s",
                           l->grid.n_rows, l->grid.n_rows > 1 ? "s, one for each chunk" : "");
    if (n_stages > EK_MAX_STAGES)
        return ek__fail_at(&r->in, from ? from : l->node, "has %d stages, at most %d are possible; correct the list",
                           n_stages, EK_MAX_STAGES);
    l->grid.n_stages = n_stages;
    return EK_OK;
}

/* ---- the layers of the model, where none is given ---- */

static bool is_counts(const ek__node *node)
{
    while (node && node->kind == EK__LIST && node->first)
        node = node->first;
    return node && node->parent->kind == EK__LIST && ek__node_is_int(node, NULL);
}

/* The list `layers` of a plan of the file: of the root itself, of a map in it, or, in the JSON form, of a map in a list
 * in it. NULL when there is none. */
static const ek__node *find_counts(const ek__node *node, int depth)
{
    const ek__node *counts = node->kind == EK__MAP ? ek__get(node, field_name[LAYERS]) : NULL;
    if (is_counts(counts))
        return counts;
    counts = NULL;
    for (const ek__node *n = node->first; n && !counts && depth > 0; n = n->next)
        counts = find_counts(n, depth - 1);
    return counts;
}

static long add_counts(const ek__node *node)
{
    int count = 0;
    long total = 0;
    if (node->kind == EK__SCALAR)
        return ek__node_is_int(node, &count) ? count : 0;
    for (const ek__node *n = node->first; n; n = n->next)
        total += add_counts(n);
    return total;
}

/* A model that consists only of its number of layers, which is in a plan of the file. */
static ek_status read_counted_layers(reader *r, const ek__node *root)
{
    enum { DEEPEST = 4 }; /* [{"cases": [{"plan": {"layers": ...}}]}] */
    const ek__node *counts = find_counts(root, DEEPEST);
    if (!counts)
        return ek__fail_at(&r->in, root,
                           "does not contain the number of layers (no plan has a list `layers`); give the model "
                           "(--init FILE or --layers FILE) or --num-layers N");
    long total = add_counts(counts);
    if (total < 1 || total > EK_MAX_LAYERS)
        return ek__fail_at(&r->in, counts, "adds up to %ld layers; a model has 1 to %d", total, EK_MAX_LAYERS);
    r->bare = ek_layers_bare((int)total, &r->bare_body);
    r->layers = &r->bare;
    return EK_OK;
}

/* ---- layers ---- */

static ek_status read_offset(reader *r, const lists *l, ek_plan *plan)
{
    int base = r->layers->n_layers / (plan->n_stages * plan->n_chunks);
    const ek__grid_field field = {NULL, -r->layers->n_layers, r->layers->n_layers, EK__OFFSET_ADVICE};
    ek_status status = ek__grid_read(&r->in, &l->grid, l->field[OFFSET], &field, plan->layers);
    for (int c = 0; c < plan->n_stages * plan->n_chunks && status == EK_OK; c++) {
        plan->layers[c] += base;
        if (plan->layers[c] < 0)
            status =
                ek__fail_at(&r->in, ek__grid_cell(&l->grid, l->field[OFFSET], c / plan->n_stages, c % plan->n_stages),
                            "is %d, but the even split gives a chunk %d layers: it would have %d; use %d or more",
                            plan->layers[c] - base, base, plan->layers[c], -base);
    }
    return status;
}

/* Explicit counts, checked against the offsets if there are any. */
static ek_status read_counts(reader *r, const lists *l, ek_plan *plan)
{
    int n = plan->n_stages * plan->n_chunks;
    const ek__grid_field field = {NULL, 0, r->layers->n_layers, "it is how many layers the chunk has"};
    int *counts = ek__alloc((size_t)n, sizeof *counts);
    if (!counts)
        return ek__no_memory(r->in.err);
    ek_status status = ek__grid_read(&r->in, &l->grid, l->field[LAYERS], &field, counts);
    for (int c = 0; c < n && status == EK_OK && l->field[OFFSET]; c++)
        if (counts[c] != plan->layers[c])
            status = ek__fail_at(
                &r->in, ek__grid_cell(&l->grid, l->field[LAYERS], c / plan->n_stages, c % plan->n_stages),
                "is %d, but offset makes it %d (%d layers on %d chunks are %d each); correct one, or give only one",
                counts[c], plan->layers[c], r->layers->n_layers, n, r->layers->n_layers / n);
    if (status == EK_OK)
        memcpy(plan->layers, counts, (size_t)n * sizeof *counts);
    free(counts);
    return status;
}

static ek_status read_layers(reader *r, const lists *l, ek_plan *plan)
{
    const ek__node *from = l->field[OFFSET] ? l->field[OFFSET] : l->field[LAYERS];
    if (!from)
        return ek__fail_at(&r->in, l->node, "has neither offset nor layers; give offset, or the counts as layers");
    ek_status status = l->field[OFFSET] ? read_offset(r, l, plan) : EK_OK;
    if (status == EK_OK && l->field[LAYERS])
        status = read_counts(r, l, plan);
    if (status)
        return status;
    int n = plan->n_stages * plan->n_chunks;
    long total = 0;
    for (int c = 0; c < n; c++)
        total += plan->layers[c];
    if (total != r->layers->n_layers)
        return ek__fail_at(
            &r->in, from,
            "places %ld layers, but the model has %d (%d on each of %d stages x %d chunks and %d over); correct it",
            total, r->layers->n_layers, r->layers->n_layers / n, plan->n_stages, plan->n_chunks,
            r->layers->n_layers % n);
    return EK_OK;
}

/* ---- recompute lists ---- */

static ek_status read_recompute(reader *r, const lists *l, ek_plan *plan)
{
    int *const out[N_FIELDS] = {[FULL] = plan->full, [SELECT] = plan->select, [COMM] = plan->comm};
    const ek__grid_field field = {plan->layers, 0, EK_MAX_LAYERS, EK__RECOMPUTE_ADVICE};
    for (int f = FULL; f <= COMM; f++) {
        if (!l->field[f])
            continue;
        ek_status status = ek__grid_read(&r->in, &l->grid, l->field[f], &field, out[f]);
        if (status)
            return status;
        for (int c = 0; c < plan->n_stages * plan->n_chunks; c++)
            if (out[f][c] > plan->layers[c])
                return ek__fail_at(&r->in, ek__grid_cell(&l->grid, l->field[f], c / plan->n_stages, c % plan->n_stages),
                                   "is %d, but chunk %d of stage %d has %d layers; it cannot recompute more than it "
                                   "has",
                                   out[f][c], c / plan->n_stages, c % plan->n_stages, plan->layers[c]);
    }
    return EK_OK;
}

static void list_modelled(const ek_layers *layers, char *out, size_t size)
{
    size_t at = 0;
    for (int k = 0; k < EK_N_RECOMPUTE; k++)
        if (layers->modelled[k])
            at += (size_t)snprintf(out + at, size - at, "%s%s", at ? ", " : "", ek_recompute_name[k]);
}

/* The entry that errors about layers of kind `k` name: those of kind NONE come from the layer count. */
static ek_status fail_kind(reader *r, const lists *l, int chunk, int stage, ek_recompute k, int n)
{
    static const int blamed[EK_N_RECOMPUTE] = {OFFSET, SELECT, COMM, SELECT, FULL};
    char known[64];
    const ek__node *node = l->field[blamed[k]];
    if (!node)
        node = l->field[LAYERS];
    list_modelled(r->layers, known, sizeof known);
    return ek__fail_at(&r->in, ek__grid_cell(&l->grid, node, chunk, stage),
                       "gives chunk %d of stage %d %d layer%s of recompute kind '%s', with unknown memory (known: %s); "
                       "remove it, or add a dry run that uses it",
                       chunk, stage, n, n == 1 ? "" : "s", ek_recompute_name[k], known);
}

static ek_status check_kinds(reader *r, const lists *l, const ek_plan *plan)
{
    for (int i = 0; i < plan->n_chunks; i++) {
        for (int s = 0; s < plan->n_stages; s++) {
            ek_chunk_mix mix = ek_plan_mix(plan, i, s);
            for (int k = 0; k < EK_N_RECOMPUTE; k++)
                if (mix.n[k] > 0 && !r->layers->modelled[k])
                    return fail_kind(r, l, i, s, (ek_recompute)k, mix.n[k]);
        }
    }
    return EK_OK;
}

/* ---- one strategy ---- */

static ek_status read_plan(reader *r, const ek__node *node, ek_plan *out)
{
    lists l = {.node = node};
    ek_plan plan = {0};
    ek_status status = measure(r, &l);
    if (status == EK_OK)
        status = ek_plan_init(&plan, l.grid.n_stages, l.grid.n_rows, r->in.err);
    if (status)
        return status;
    status = read_layers(r, &l, &plan);
    if (status == EK_OK)
        status = read_recompute(r, &l, &plan);
    if (status == EK_OK)
        status = check_kinds(r, &l, &plan);
    if (status) {
        ek_plan_clear(&plan);
        return status;
    }
    assert(ek_plan_check(&plan, r->layers, NULL) == EK_OK);
    *out = plan;
    return EK_OK;
}

/* true, false, 0 or 1; `*out` is unchanged when the key is absent. */
static ek_status read_switch(reader *r, const ek__node *map, const char *key, int *out)
{
    const ek__node *node = ek__get(map, key);
    bool yes;
    if (!node)
        return EK_OK;
    if (!ek__node_is_int(node, NULL)) {
        ek_status status = ek__bool(&r->in, node, "0 and 1 will do too", &yes);
        if (status == EK_OK)
            *out = yes;
        return status;
    }
    return ek__int(&r->in, node, 0, 1, "true and false will do too", out);
}

static ek_status read_file_name(reader *r, const ek__node *node, ek_strategy *strategy)
{
    static const char advice[] = "name the picture, for example manual1.svg";
    ek_status status = ek__string(&r->in, node, sizeof strategy->file_name, advice, strategy->file_name);
    const char *name = strategy->file_name;
    if (status == EK_OK && (strpbrk(name, "/\\") || strstr(name, "..") || strcmp(name, ".") == 0)) {
        char found[96];
        ek__node_describe(node, found, sizeof found);
        return ek__fail_at(&r->in, node, "is %s, which leads to another folder; %s", found, advice);
    }
    return status;
}

static ek_status read_options(reader *r, const ek__node *node, ek_strategy *strategy)
{
    const ek__node *file_name = ek__get(node, "file_name"), *micro_batches = ek__get(node, "micro_batch_num");
    ek_status status = read_switch(r, node, "show", &strategy->show);
    if (status == EK_OK)
        status = read_switch(r, node, "less_memory", &strategy->less_memory);
    if (status == EK_OK && micro_batches)
        status = ek__int(&r->in, micro_batches, 1, EK_MAX_MICRO_BATCHES, "it is the number in one step",
                         &strategy->n_micro_batches);
    return status || !file_name ? status : read_file_name(r, file_name, strategy);
}

/* Append a strategy; `named` is the place of its name. */
static ek_status add_strategy(reader *r, const ek__node *node, const ek__node *named, const char *name)
{
    static const char *const known[] = {"offset",
                                        "layers",
                                        "recompute",
                                        "select_recompute",
                                        "select_comm_recompute",
                                        "interleave_num",
                                        "show",
                                        "file_name",
                                        "micro_batch_num",
                                        "less_memory",
                                        NULL};
    ek_strategy strategy = {.show = 1, .less_memory = -1};
    ek_status status = ek__expect(&r->in, node, EK__MAP, "write offset, recompute and others below the plan's name");
    if (status)
        return status;
    if (r->strategies.n == MAX_STRATEGIES)
        return ek__fail_at(&r->in, node, "is plan number %d, at most %d are possible; split the file",
                           MAX_STRATEGIES + 1, MAX_STRATEGIES);
    if (!name[0] || strlen(name) >= sizeof strategy.name || !ek__text_is_printable(name))
        return ek__fail_at(&r->in, named, "is no name for a plan; give 1 to %d bytes without control characters",
                           EK_NAME_SIZE - 1);
    memcpy(strategy.name, name, strlen(name) + 1);
    ek__warn_unknown_keys(&r->in, node, known);
    status = read_options(r, node, &strategy);
    if (status == EK_OK)
        status = read_plan(r, node, &strategy.plan);
    if (status == EK_OK)
        r->strategies.strategy[r->strategies.n++] = strategy;
    return status;
}

/* ---- the file ---- */

/* The schedule and the pieces of a plan, which are next to it in the JSON form. */
static ek_status read_run(reader *r, const ek__node *node, ek_strategy *strategy)
{
    const ek__node *schedule = ek__get(node, "schedule"), *pieces = ek__get(node, "seq");
    char name[EK_NAME_SIZE];
    ek_status status = EK_OK;
    if (schedule)
        status = ek__string(&r->in, schedule, sizeof name, "it is a name of --list-schedules", name);
    if (schedule && status == EK_OK) {
        strategy->schedule = ek_schedule_find(name);
        if (!strategy->schedule)
            status = ek__fail_at(&r->in, schedule,
                                 "is '%s', which is no schedule; see `evenkeel simulate "
                                 "--list-schedules`",
                                 name);
    }
    if (pieces && status == EK_OK)
        status = ek__int(&r->in, pieces, 1, EK_MAX_MICRO_BATCHES, "it is the number of sequence pieces",
                         &strategy->n_pieces);
    return status;
}

/* A case of the JSON form, which may be at the top of the file when it is the first; results of the search and the
 * simulation are not input. */
static ek_status add_case(reader *r, const ek__node *node)
{
    const ek__node *plan;
    ek_status status = ek__expect(&r->in, node, EK__MAP, "write {\"name\": ..., \"plan\": {\"offset\": ...}}");
    const ek__node *layouts = status == EK_OK ? ek__get(node, "plans") : NULL;
    if (layouts)
        return ek__fail_at(
            &r->in, layouts,
            "is the list of layouts that `evenkeel plan` prints, not a plan file; `evenkeel plan --write "
            "DIR` writes each of them as a training file");
    if (status == EK_OK)
        status = ek__require(&r->in, node, "plan", "there is nothing to run when no plan was found", &plan);
    if (status)
        return status;
    const ek__node *name = ek__get(node, "name");
    if (name)
        status = ek__expect(&r->in, name, EK__SCALAR, "name the plan");
    if (status == EK_OK)
        status = add_strategy(r, plan, name ? name : plan, name ? name->text : "plan");
    return status ? status : read_run(r, node, &r->strategies.strategy[r->strategies.n - 1]);
}

static ek_status read_json(reader *r, const ek__node *root, const ek__node *version)
{
    int number;
    ek_status status = ek__int(&r->in, version, JSON_VERSION, JSON_VERSION,
                               "the file is of another version of Evenkeel; write it again with this one", &number);
    const ek__node *cases = ek__get(root, "cases");
    if (status == EK_OK && (!cases || ek__get(root, "plan")))
        status = add_case(r, root);
    if (status == EK_OK && cases)
        status = ek__expect(&r->in, cases, EK__LIST, "list the plans");
    if (status || !cases)
        return status;
    for (const ek__node *node = cases->first; node && status == EK_OK; node = node->next)
        status = add_case(r, node);
    return status;
}

/* The output of `simulate` for several plans: one answer after the other. */
static ek_status read_json_list(reader *r, const ek__node *root)
{
    ek_status status = EK_OK;
    for (const ek__node *node = root->first; node && status == EK_OK; node = node->next) {
        const ek__node *version;
        status = ek__expect(&r->in, node, EK__MAP, "write {\"version\": 1, \"name\": ..., \"plan\": {...}}");
        if (status == EK_OK)
            status = ek__require(&r->in, node, "version", "it marks files written by Evenkeel", &version);
        if (status == EK_OK)
            status = read_json(r, node, version);
    }
    return status;
}

/* Length of the first list of numbers in a plan of the file, or 0. */
static int count_stages(const ek__node *root)
{
    for (const ek__node *plan = root->first; plan; plan = plan->next) {
        for (int f = 0; f < N_FIELDS && plan->kind == EK__MAP; f++) {
            const ek__node *list = ek__get(plan, field_name[f]);
            while (list && list->kind == EK__LIST && list->first && list->first->kind == EK__LIST)
                list = list->first;
            if (list && list->kind == EK__LIST && list->n > 0)
                return list->n;
        }
    }
    return 0;
}

static ek_status read_root(reader *r, const ek__node *root)
{
    static const char advice[] = "a plan file has one entry for each plan: 'name:' and below it offset, recompute, ...";
    if (root->kind == EK__LIST && root->first && root->first->kind == EK__MAP)
        return read_json_list(r, root);
    ek_status status = ek__expect(&r->in, root, EK__MAP, advice);
    if (status)
        return status;
    const ek__node *version = ek__get(root, "version");
    if (version && version->kind == EK__SCALAR)
        return read_json(r, root, version);
    for (int f = 0; f < N_FIELDS; f++)
        if (ek__get(root, field_name[f]) && ek__get(root, field_name[f])->kind != EK__MAP)
            return add_strategy(r, root, root, "plan");
    if (r->n_stages == 0)
        r->n_stages = count_stages(root);
    for (const ek__node *node = root->first; node && status == EK_OK; node = node->next)
        status = add_strategy(r, node, node, node->key);
    return status;
}

ek_status ek__strategies_from_config(const ek__config_tree *doc, const ek_layers *layers, int n_stages,
                                     const ek_listener *listener, ek_strategies *out, ek_error *err)
{
    reader r = {.in = {doc, listener, err}, .layers = layers, .n_stages = n_stages};
    r.strategies.strategy = ek__alloc(MAX_STRATEGIES, sizeof *r.strategies.strategy);
    if (!r.strategies.strategy)
        return ek__no_memory(err);
    const ek__node *root = ek__config_root(doc);
    ek_status status = layers ? EK_OK : read_counted_layers(&r, root);
    if (status == EK_OK)
        status = read_root(&r, root);
    if (status == EK_OK && r.strategies.n == 0)
        status = ek__fail_at(&r.in, root, "contains no plan; write 'name:' and below it offset, recompute, ...");
    if (status == EK_OK)
        *out = r.strategies;
    else
        ek_strategies_clear(&r.strategies);
    return status;
}

/* A plan file, or a log with lists in it. */
static ek_status parse(const char *path, char *text, size_t size, ek__config_tree **out, ek_error *err)
{
    char *kept = NULL;
    ek_status status = EK_OK;
    if (ek__is_balancer_log(text, size))
        status = ek__balancer_log_lists(ek__path_name(path), text, size, &kept, &size, err);
    if (status == EK_OK)
        status = ek__config_parse_buffer_with_aliases(ek__path_name(path), kept ? kept : text, size, out, err);
    free(kept);
    return status;
}

static ek_status read_plans(const char *path, char *text, size_t size, const ek_layers *layers, int n_stages,
                            const ek_listener *listener, ek_strategies *out, ek_error *err)
{
    ek__config_tree *doc;
    ek_status status = parse(path, text, size, &doc, err);
    if (status)
        return status;
    status = ek__strategies_from_config(doc, layers, n_stages, listener, out, err);
    ek__config_free(doc);
    return status;
}

/* The job's current plan; it is moved out of the job. */
static ek_status read_today(ek_job *job, const ek_layers *layers, ek_strategies *out, ek_error *err)
{
    ek_error why;
    const ek_origin file = {job->path, 1, 1};
    if (job->no_layout)
        return ek__fail(err, EK_ERR_INPUT, file,
                        "this is a config.json, which has no layout and no plan; give a plan file, or the job's launch "
                        "script or training YAML");
    if (layers && ek_plan_check(&job->plan, layers, &why))
        return ek__fail(err, EK_ERR_INPUT, file, "the file does not go with the model: %s", why.message);
    ek_strategy *strategy = ek__alloc(1, sizeof *strategy);
    if (!strategy)
        return ek__no_memory(err);
    *strategy = (ek_strategy){.name = "today",
                              .show = 1,
                              .less_memory = -1,
                              .n_micro_batches = job->parallel.n_micro_batches,
                              .schedule = job->schedule,
                              .n_pieces = job->parallel.n_pieces,
                              .plan = job->plan};
    job->plan = (ek_plan){0};
    *out = (ek_strategies){1, strategy};
    return EK_OK;
}

static ek_status read_job(const char *path, const char *text, size_t size, const ek_layers *layers,
                          const ek_listener *listener, ek_strategies *out, ek_error *err)
{
    ek_job job;
    ek_status status = ek__job_parse_part(path, text, size, EK_JOB_PLAN, listener, &job, err);
    if (status)
        return status;
    status = read_today(&job, layers, out, err);
    ek_job_clear(&job);
    return status;
}

static ek_status read_text(const char *path, char *text, size_t size, const ek_layers *layers, int n_stages,
                           const ek_listener *listener, ek_strategies *out, ek_error *err)
{
    const char *name = ek__path_name(path);
    bool is_job = false;
    ek_status status = ek__is_balancer_log(text, size) ? EK_OK : ek__job_has_parts(name, text, size, &is_job, err);
    if (status)
        return status;
    if (is_job)
        return read_job(path, text, size, layers, listener, out, err);
    status = read_plans(path, text, size, layers, n_stages, listener, out, err);
    /* A YAML of another kind may contain a launch command. */
    if (status == EK_ERR_INPUT && ek__job_format_of(name, text, size) &&
        read_job(path, text, size, layers, NULL, out, NULL) == EK_OK)
        return EK_OK;
    return status;
}

ek_status ek_strategies_read(const char *path, const ek_layers *layers, int n_stages, const ek_listener *listener,
                             ek_strategies *out, ek_error *err)
{
    char *text;
    size_t size;
    ek_status status = ek__config_read_text(path, &text, &size, err);
    if (status)
        return status;
    status = read_text(path, text, size, layers, n_stages, listener, out, err);
    free(text);
    return status;
}

ek_status ek_strategies_parse(const char *name, const char *text, size_t size, const ek_layers *layers, int n_stages,
                              const ek_listener *listener, ek_strategies *out, ek_error *err)
{
    char *copy = ek__text_copy(text, size); /* lists of a log are extracted in place */
    if (!copy)
        return ek__no_memory(err);
    ek_status status = read_text(name, copy, size, layers, n_stages, listener, out, err);
    free(copy);
    return status;
}
