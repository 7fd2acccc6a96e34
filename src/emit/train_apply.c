/* Writes a plan into a training YAML. The keys to change and their values are determined here from the current file;
 * base/edit.h changes the text. A setting that already has the value is left unchanged, so a second run changes
 * nothing. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/edit.h"
#include "base/error.h"
#include "emit/emit_internal.h"
#include "evenkeel/schedule.h"
#include "job/mindformers_pipeline.h"

/* State of a change. */
typedef struct applier {
    ek__in in;
    ek__edit *edit;
    const ek_train_change *change;
    ek__mf_pipeline now; /* of the current file */
    bool lists_known;    /* are its lists valid too? */
    const ek__node *root;
    char *value; /* scratch for a value's text */
    size_t size;
} applier;

static const ek__node *find(const ek__node *root, const char *const *keys)
{
    for (; root && *keys; keys++)
        root = root->kind == EK__MAP ? ek__get(root, *keys) : NULL;
    return root;
}

static const char *const pipeline_stage[] = {"parallel_config", "pipeline_stage", NULL};
static const char *const micro_batch_num[] = {"parallel_config", "micro_batch_num", NULL};
static const char *const seq_split_num[] = {"parallel_config", "seq_split_num", NULL};
static const char *const interleave_num[] = {"model", "model_config", "pp_interleave_num", NULL};
static const char *const offset[] = {"model", "model_config", "offset", NULL};
static const char *const interleave[] = {"parallel", "pipeline_config", "pipeline_interleave", NULL};
static const char *const scheduler[] = {"parallel", "pipeline_config", "pipeline_scheduler", NULL};

/* The first value below `node` that is an alias of `original`, in another place. */
static const ek__node *find_alias(const ek__node *node, const ek__node *original)
{
    if (node->original == original)
        return node;
    const ek__node *found = NULL;
    for (const ek__node *inner = node->first; inner && !found; inner = inner->next)
        found = find_alias(inner, original);
    return found;
}

/* Other users of a value shared through an anchor keep the old one: they may mean something else, so they are named. */
static void warn_of_sharing(applier *a, const ek__node *node)
{
    const ek__node *alias = node && node->anchor ? find_alias(a->root, node) : NULL;
    if (!alias)
        return;
    char path[128];
    ek__node_path(alias, path, sizeof path);
    ek__warn_at(&a->in, node,
                "changes for itself; %s shared it through '&%s' and keeps %s, so look whether it "
                "should follow",
                path, node->anchor, node->text ? node->text : "its value");
}

static ek_status set_number(applier *a, const char *const *keys, int value, const char *after)
{
    char text[16];
    snprintf(text, sizeof text, "%d", value);
    int now;
    const ek__node *node = find(a->root, keys);
    if (node && !(ek__node_is_int(node, &now) && now == value))
        warn_of_sharing(a, node);
    return ek__edit_set(a->edit, keys, text, after, a->in.err);
}

/* ---- the pipeline ---- */

static bool splits_sequence(const applier *a)
{
    return a->change->schedule && a->change->schedule->pieces;
}

/* A switch is written in the style of the file's other switches. */
static ek_status set_interleave(applier *a)
{
    int v = a->change->plan->n_chunks;
    const ek__node *node = find(a->root, interleave);
    bool wanted = v > 1 || splits_sequence(a), now = false;
    if (node && !ek__node_is_bool(node, &now))
        return ek__bool(&a->in, node, "it switches pp_interleave_num on", &now);
    if (now == wanted)
        return EK_OK;
    return ek__edit_set(a->edit, interleave, wanted ? "True" : "False", NULL, a->in.err);
}

static ek_status set_scheduler(applier *a)
{
    const ek_emission emission = {.plan = a->change->plan, .schedule = a->change->schedule};
    const char *usual = ek__schedule_in(ek_schedule_default(1, 0), EK_MINDFORMERS)->word;
    const char *now = a->now.scheduler[0] ? a->now.scheduler : usual;
    ek__theirs theirs;
    ek_status status = ek__find_schedule(&emission, EK_MINDFORMERS, "MindFormers", &theirs, a->in.err);
    if (status)
        return status;
    if (!theirs.same)
        ek__warn_at(&a->in, a->root,
                    "gets the pipeline_scheduler %s, which places the chunks as %s does but orders "
                    "them in its own way: step and peak may not be those of the plan",
                    theirs.name, ek__emission_schedule(&emission)->name);
    if (ek__emission_schedule(&emission)->shorter_warm_up)
        ek__warn_at(&a->in, a->root,
                    "has no key that picks the interleaved schedule with the shorter warm-up, which "
                    "the plan is for; see that the run uses it");
    return strcmp(theirs.name, now) == 0
               ? EK_OK
               : ek__edit_set(a->edit, scheduler, theirs.name, "pipeline_interleave", a->in.err);
}

static ek_status set_micro_batches(applier *a)
{
    int wanted = a->change->n_micro_batches ? a->change->n_micro_batches : a->now.n_micro_batches;
    if (wanted < a->change->least_micro_batches) {
        const ek__node *node = find(a->root, micro_batch_num);
        wanted = a->change->least_micro_batches;
        ek__warn_at(&a->in, node ? node : a->root,
                    "becomes %d: fewer would not fill the pipeline, so that the peaks "
                    "would be those of another run",
                    wanted);
    }
    return wanted == a->now.n_micro_batches ? EK_OK : set_number(a, micro_batch_num, wanted, "pipeline_stage");
}

static ek_status set_pipeline(applier *a)
{
    const ek_plan *plan = a->change->plan;
    ek_status status = EK_OK;
    if (a->now.plan.n_stages != plan->n_stages)
        status = set_number(a, pipeline_stage, plan->n_stages, NULL);
    if (status == EK_OK)
        status = set_micro_batches(a);
    if (status == EK_OK && a->change->n_pieces && a->change->n_pieces != a->now.n_pieces)
        status = set_number(a, seq_split_num, a->change->n_pieces, "pipeline_stage");
    if (status == EK_OK && (plan->n_chunks > 1 || find(a->root, interleave_num)))
        status = set_number(a, interleave_num, plan->n_chunks, "offset");
    if (status == EK_OK)
        status = set_interleave(a);
    return status ? status : set_scheduler(a);
}

/* ---- the lists ---- */

static void append(applier *a, const char *text)
{
    size_t used = strlen(a->value);
    snprintf(a->value + used, a->size - used, "%s", text);
}

/* [p] for one chunk, else [v][p], as text in a->value; cell(i) - base. */
static void print_list(applier *a, const int *cell, int base)
{
    const ek_plan *plan = a->change->plan;
    char number[16];
    a->value[0] = '\0';
    append(a, plan->n_chunks > 1 ? "[" : "");
    for (int i = 0; i < plan->n_chunks; i++) {
        append(a, i ? ", [" : "[");
        for (int s = 0; s < plan->n_stages; s++) {
            snprintf(number, sizeof number, "%s%d", s ? ", " : "", cell[i * plan->n_stages + s] - base);
            append(a, number);
        }
        append(a, "]");
    }
    append(a, plan->n_chunks > 1 ? "]" : "");
}

static bool same_shape(const applier *a)
{
    return a->lists_known && a->now.plan.n_stages == a->change->plan->n_stages &&
           a->now.plan.n_chunks == a->change->plan->n_chunks;
}

static ek_status set_offset(applier *a)
{
    const ek_plan *plan = a->change->plan;
    int n = plan->n_stages * plan->n_chunks;
    if (same_shape(a) && memcmp(a->now.plan.layers, plan->layers, (size_t)n * sizeof *plan->layers) == 0)
        return EK_OK;
    print_list(a, plan->layers, a->change->n_layers / n);
    return ek__edit_set(a->edit, offset, a->value, NULL, a->in.err);
}

/* Is nothing recomputed, or everything, and does the file express that in one word? */
static bool is_word(const applier *a, const ek__node *node, const int *cell)
{
    const ek_plan *plan = a->change->plan;
    bool none = true, all = true, on = false;
    int number = 1;
    for (int i = 0; i < plan->n_stages * plan->n_chunks; i++) {
        none = none && cell[i] == 0;
        all = all && cell[i] == plan->layers[i];
    }
    if (!node || ek__node_is_int(node, &number))
        return none && number == (node ? 0 : 1);
    return ek__node_is_bool(node, &on) && (on ? all : none);
}

/* A list of patterns becomes a map from each to the plan's list. */
static ek_status set_pattern_list(applier *a, const char *const *keys, const ek__node *list)
{
    size_t each = strlen(a->value) + 8, size = 3;
    for (const ek__node *node = list->first; node; node = node->next) {
        if (node->kind != EK__SCALAR)
            return ek__fail_at(&a->in, node, "must be a pattern, as the others; correct the list");
        size += each + 2 * strlen(node->text);
    }
    char *map = ek__alloc(size, 1), *at = map;
    if (!map)
        return ek__no_memory(a->in.err);
    *at++ = '{';
    for (const ek__node *node = list->first; node; node = node->next) {
        at += sprintf(at, "%s'", node == list->first ? "" : ", ");
        for (const char *c = node->text; *c; c++) {
            if (*c == '\'')
                *at++ = '\'';
            *at++ = *c;
        }
        at += sprintf(at, "': %s", a->value);
    }
    *at++ = '}';
    *at = '\0';
    ek_status status = ek__edit_set(a->edit, keys, map, NULL, a->in.err);
    free(map);
    return status;
}

static ek_status set_recompute(applier *a, const char *key, const char *after, const int *cell, const int *now)
{
    const char *const keys[] = {"recompute_config", key, NULL};
    const ek_plan *plan = a->change->plan;
    int n = plan->n_stages * plan->n_chunks;
    const ek__node *node = find(a->root, keys);
    bool same = same_shape(a) && memcmp(cell, now, (size_t)n * sizeof *cell) == 0 &&
                memcmp(a->now.plan.layers, plan->layers, (size_t)n * sizeof *cell) == 0;
    bool by_pattern = node && node->kind == EK__MAP;
    if (is_word(a, node, cell) || (same && !by_pattern))
        return EK_OK;
    print_list(a, cell, 0);
    if (ek__mf_is_pattern_list(node))
        return set_pattern_list(a, keys, node);
    if (!by_pattern)
        return ek__edit_set(a->edit, keys, a->value, after, a->in.err);
    ek_status status = EK_OK;
    for (const ek__node *pattern = node->first; pattern && status == EK_OK; pattern = pattern->next) {
        const char *const inner[] = {"recompute_config", key, pattern->key, NULL};
        if (!is_word(a, pattern, cell))
            status = ek__edit_set(a->edit, inner, a->value, NULL, a->in.err);
    }
    return status;
}

static ek_status set_lists(applier *a)
{
    const ek_plan *plan = a->change->plan, *now = &a->now.plan;
    ek_status status = set_offset(a);
    if (status == EK_OK)
        status = set_recompute(a, "recompute", NULL, plan->full, now->full);
    if (status == EK_OK)
        status = set_recompute(a, "select_recompute", "recompute", plan->select, now->select);
    return status ? status : set_recompute(a, "select_comm_recompute", "select_recompute", plan->comm, now->comm);
}

/* ---- the file ---- */

/* Lists that are wrong, perhaps for another number of stages, are not an error: they are replaced. */
static ek_status read_now(applier *a)
{
    a->lists_known = ek__mf_pipeline_read(a->in.doc, NULL, &a->now, NULL) == EK_OK;
    return a->lists_known ? EK_OK : ek__mf_pipeline_sizes(a->in.doc, a->in.listener, &a->now, a->in.err);
}

static ek_status check_layers(const applier *a)
{
    if (a->now.n_layers == a->change->n_layers)
        return EK_OK;
    static const char *const model_config[] = {"model", "model_config", NULL};
    return ek__fail_at(&a->in, find(a->root, model_config),
                       "has %d layers (with those of multi-token prediction), but the plan places %d; use the plan of "
                       "this model",
                       a->now.n_layers, a->change->n_layers);
}

ek_status ek_train_apply(const char *path, const ek_train_change *change, const ek_listener *listener, char **text,
                         size_t *size, ek_error *err)
{
    const ek_plan *plan = change->plan;
    applier a = {.change = change, .size = (size_t)plan->n_chunks * ((size_t)plan->n_stages * 14 + 8) + 8};
    ek_status status = ek__edit_open(path, &a.edit, err);
    if (status)
        return status;
    a.in = (ek__in){ek__edit_config(a.edit), listener, err};
    a.root = ek__config_root(a.in.doc);
    a.value = ek__alloc(a.size, 1);
    status = a.value ? read_now(&a) : ek__no_memory(err);
    if (status == EK_OK)
        status = check_layers(&a);
    if (status == EK_OK)
        status = set_pipeline(&a);
    if (status == EK_OK)
        status = set_lists(&a);
    if (status == EK_OK)
        status = ek__edit_finish(a.edit, text, size, err);
    free(a.value);
    ek__mf_pipeline_clear(&a.now);
    ek__edit_free(a.edit);
    return status;
}
