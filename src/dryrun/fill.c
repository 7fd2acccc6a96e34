/* Puts the peaks of a dry run into its init file. Only the values of memory_usage change, through the editor that keeps
 * the rest of the text; a value without peaks (nothing, null, 0) is replaced completely. The result is read back as an
 * init file before it is returned, and decomposed, so that unusable peaks are noticed here and not when balancing. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/edit.h"
#include "base/error.h"
#include "dryrun/init.h"
#include "evenkeel/collect.h"

static const char body_name[] = "body_memories";

typedef struct filling {
    const char *path;
    const ek_collection *logs;
    ek_peak which;
    const ek_listener *listener;
    ek_error *err;
    ek__edit *edit;
    ek_memory_usage usage;
} filling;

/* ---- the file's description of the dry run ---- */

static ek_status check_shape(filling *f)
{
    int n_stages, n_rounds;
    ek_status status = ek__dryrun_shape_from_config(ek__edit_config(f->edit), &n_stages, &n_rounds, f->err);
    if (status)
        return status;
    if (n_rounds != f->logs->n_rounds)
        return ek__fail(f->err, EK_ERR_INPUT, ((ek_origin){f->path, 0, 0}),
                        "the file has %d round%s (by its offset and recompute lists), but logs of %d %s given, "
                        "the first of '%.300s'; give one folder for each round, in the order of the lists",
                        n_rounds, n_rounds == 1 ? "" : "s", f->logs->n_rounds,
                        f->logs->n_rounds == 1 ? "run is" : "runs are", f->logs->round[0].source);
    if (n_stages != f->logs->n_stages)
        return ek__fail(f->err, EK_ERR_INPUT, ((ek_origin){f->path, 0, 0}),
                        "pipeline_num is %d, but the logs are of %d stages; give the logs of the run that the file is "
                        "about",
                        n_stages, f->logs->n_stages);
    return EK_OK;
}

/* ---- peaks that the file had ---- */

typedef struct difference {
    int had, differ;
} difference;

/* Count an existing peak; 0 and values that are not numbers are placeholders. */
static void compare(const ek__node *node, double peak, difference *d)
{
    double old;
    if (!node || node->kind != EK__SCALAR || node->quoted || !ek__text_is_number(node->text, &old) || old == 0)
        return;
    d->had++;
    d->differ += !(old == peak);
}

static void compare_round(const filling *f, int round, const ek__node *stages, const ek__node *peaks, difference *d)
{
    const ek__node *id = stages->first, *peak = peaks->first;
    for (; id && peak; id = id->next, peak = peak->next) {
        int stage = -1;
        if (!ek__node_is_int(id, &stage))
            continue;
        compare(peak, ek_stage_log_peak(ek_round_find(&f->logs->round[round], stage), f->which), d);
    }
}

static bool is_nested(const ek__node *list)
{
    return list && list->kind == EK__LIST && list->first && list->first->kind == EK__LIST;
}

static const ek__node *get_map(const ek__node *map, const char *key)
{
    const ek__node *node = map && map->kind == EK__MAP ? ek__get(map, key) : NULL;
    return node && node->kind == EK__MAP ? node : NULL;
}

static void compare_body(const filling *f, const ek__node *body, difference *d)
{
    const ek__node *stages = body ? ek__get(body, "stage_id") : NULL, *peaks = body ? ek__get(body, "memories") : NULL;
    if (!stages || !peaks || stages->kind != EK__LIST || peaks->kind != EK__LIST)
        return;
    if (!is_nested(stages) || !is_nested(peaks)) {
        compare_round(f, 0, stages, peaks, d);
        return;
    }
    const ek__node *s = stages->first, *p = peaks->first;
    for (int r = 0; s && p && r < f->logs->n_rounds; r++, s = s->next, p = p->next)
        compare_round(f, r, s, p, d);
}

static void warn_of_others(const filling *f, const ek__node *memory)
{
    difference d = {0, 0};
    const ek_round *first = &f->logs->round[0];
    const ek__in in = {ek__edit_config(f->edit), f->listener, NULL};
    compare(ek__get(memory, "head_memory"), ek_stage_log_peak(ek_round_find(first, 0), f->which), &d);
    compare(ek__get(memory, "tail_memory"), ek_stage_log_peak(ek_round_find(first, f->logs->n_stages - 1), f->which),
            &d);
    compare_body(f, get_map(memory, body_name), &d);
    if (d.differ > 0)
        ek__warn_at(&in, memory, "had %d peaks already; %d of them %s from the logs and %s replaced", d.had, d.differ,
                    d.differ == 1 ? "differs" : "differ", d.differ == 1 ? "is" : "are");
}

/* ---- the changes ---- */

/* stage_id and memories as one map, or memory_usage completely. */
static ek_status set_map(filling *f, const char *const *keys, bool whole, const char *after)
{
    const ek_memory_usage *u = &f->usage;
    size_t size = strlen(u->stage_id) + strlen(u->memories) + sizeof *u + 128;
    char *value = ek__alloc(size, 1);
    if (!value)
        return ek__no_memory(f->err);
    if (whole)
        snprintf(value, size, "{head_memory: %s, tail_memory: %s, %s: {stage_id: %s, memories: %s}}", u->head, u->tail,
                 body_name, u->stage_id, u->memories);
    else
        snprintf(value, size, "{stage_id: %s, memories: %s}", u->stage_id, u->memories);
    ek_status status = ek__edit_set(f->edit, keys, value, after, f->err);
    free(value);
    return status;
}

/* A list; a single round that was a list of one list stays so. */
static ek_status set_list(filling *f, const ek__node *body, const char *key, const char *list, const char *after)
{
    const char *const keys[] = {"memory_usage", body_name, key, NULL};
    if (f->logs->n_rounds > 1 || !is_nested(ek__get(body, key)))
        return ek__edit_set(f->edit, keys, list, after, f->err);
    size_t size = strlen(list) + 3;
    char *value = ek__alloc(size, 1);
    if (!value)
        return ek__no_memory(f->err);
    snprintf(value, size, "[%s]", list);
    ek_status status = ek__edit_set(f->edit, keys, value, after, f->err);
    free(value);
    return status;
}

static ek_status set_values(filling *f, const ek__node *memory)
{
    static const char *const usage[] = {"memory_usage", NULL}, *const body_keys[] = {"memory_usage", body_name, NULL},
                             *const head[] = {"memory_usage", "head_memory", NULL},
                             *const tail[] = {"memory_usage", "tail_memory", NULL};
    if (!memory)
        return set_map(f, usage, true, NULL);
    const ek__node *body = get_map(memory, body_name);
    ek_status status = ek__edit_set(f->edit, head, f->usage.head, NULL, f->err);
    if (status == EK_OK)
        status = ek__edit_set(f->edit, tail, f->usage.tail, "head_memory", f->err);
    if (status == EK_OK && !body)
        return set_map(f, body_keys, false, "tail_memory");
    if (status == EK_OK)
        status = set_list(f, body, "stage_id", f->usage.stage_id, NULL);
    if (status == EK_OK)
        status = set_list(f, body, "memories", f->usage.memories, "stage_id");
    return status;
}

/* ---- the new file ---- */

/* Too few peaks because stages are missing are an error; other obstacles to the decomposition belong to the run itself:
 * they are reported but the peaks are still written. */
static ek_status check_use(const filling *f, const ek_dryrun *init)
{
    static const ek_times times = {1, 1, 1}; /* any */
    ek_error why = {0};
    ek_layers layers;
    int gaps = ek_collection_count_gaps(f->logs, f->which);
    ek_status status = gaps > 0 ? ek__dryrun_check_peaks(init, &why) : EK_OK;
    if (status)
        return ek__fail(f->err, status, ((ek_origin){f->path, 0, 0}),
                        "%d peaks are missing, and the others are not enough: %.800s", gaps, why.message);
    status = ek_dryrun_decompose(init, "model", &times, false, &layers, &why);
    if (status == EK_ERR_MEMORY)
        return ek__no_memory(f->err);
    if (status)
        ek__warn(f->listener, (ek_origin){f->path, 0, 0}, "the peaks cannot be taken apart into layers: %.800s",
                 why.message);
    else
        ek_layers_clear(&layers);
    return EK_OK;
}

static ek_status check_text(const filling *f, const char *text, size_t size)
{
    ek__config_tree *doc;
    ek_dryrun init;
    ek_status status = ek__config_parse_buffer(f->path, text, size, &doc, f->err);
    if (status)
        return status;
    status = ek__dryrun_from_config(doc, f->listener, &init, f->err);
    ek__config_free(doc);
    if (status)
        return status;
    status = check_use(f, &init);
    ek_dryrun_clear(&init);
    return status;
}

static ek_status fill(filling *f, char **text, size_t *size)
{
    ek_status status = check_shape(f);
    if (status == EK_OK)
        status = ek_memory_usage_make(f->logs, f->which, &f->usage, f->err);
    if (status)
        return status;
    const ek__node *memory = get_map(ek__config_root(ek__edit_config(f->edit)), "memory_usage");
    status = set_values(f, memory);
    if (status == EK_OK)
        status = ek__edit_finish(f->edit, text, size, f->err);
    if (status)
        return status;
    status = check_text(f, *text, *size);
    if (status)
        free(*text);
    else if (memory)
        warn_of_others(f, memory);
    return status;
}

ek_status ek_dryrun_fill(const char *path, const ek_collection *logs, ek_peak which, const ek_listener *listener,
                         char **text, size_t *size, ek_error *err)
{
    filling f = {.path = path, .logs = logs, .which = which, .listener = listener, .err = err};
    ek_status status = ek__edit_open(path, &f.edit, err);
    if (status)
        return status;
    char *filled = NULL;
    size_t length = 0;
    status = fill(&f, &filled, &length);
    if (status == EK_OK) {
        *text = filled;
        *size = length;
    }
    ek_memory_usage_clear(&f.usage);
    ek__edit_free(f.edit);
    return status;
}
