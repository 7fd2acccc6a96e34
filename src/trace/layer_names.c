/* Reports given names of layers that no trace has: a missing layer would count as no time. The names of the traces'
 * layers are found by reading them once more without names, since otherwise only the given layers are searched. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/config_tree.h"
#include "base/error.h"
#include "trace/layers/layers.h"

enum { MAX_SHOWN = 3, MAX_CANDIDATES = 256 };

/* Suggested names, the nearest first. Borrowed from the run. */
typedef struct candidates {
    int n;
    const char *name[MAX_CANDIDATES];
    size_t distance[MAX_CANDIDATES];
} candidates;

static bool has_layer(const ek_trace_run *run, const char *name)
{
    for (int r = 0; r < run->n_ranks; r++)
        for (int i = 0; i < run->rank[r].layers.n; i++) {
            const char *element = run->rank[r].layers.layer[i].name;
            if (element && ek__layer_named(&name, 1, element, strlen(element)))
                return true;
        }
    return false;
}

static bool has_layers(const ek_trace_run *run)
{
    for (int r = 0; r < run->n_ranks; r++)
        if (run->rank[r].layers.n > 0)
            return true;
    return false;
}

static void offer(candidates *c, const char *wanted, const char *name)
{
    for (int i = 0; i < c->n; i++)
        if (strcmp(c->name[i], name) == 0)
            return;
    if (c->n == MAX_CANDIDATES)
        return;
    const char *part = strchr(name, '-');
    size_t whole = ek__edit_distance(wanted, name), behind = part ? ek__edit_distance(wanted, part + 1) : whole;
    size_t distance = whole < behind ? whole : behind;
    int at = c->n++;
    for (; at > 0 && c->distance[at - 1] > distance; at--) {
        c->name[at] = c->name[at - 1];
        c->distance[at] = c->distance[at - 1];
    }
    c->name[at] = name;
    c->distance[at] = distance;
}

/* "'a', 'b' and 'c'" of the layers that a run has without given names; empty when it has none. */
static void list_nearest(const ek_trace_run *run, const char *wanted, char *out, size_t size)
{
    candidates c = {0};
    for (int r = 0; r < run->n_ranks; r++)
        for (int i = 0; i < run->rank[r].layers.n; i++) {
            const ek_trace_layer *l = &run->rank[r].layers.layer[i];
            const char *name = l->role == EK_TRACE_BODY ? l->kind : l->name;
            if (name)
                offer(&c, wanted, name);
        }
    int n = c.n < MAX_SHOWN ? c.n : MAX_SHOWN;
    out[0] = '\0';
    for (int i = 0; i < n; i++) {
        size_t at = strlen(out);
        snprintf(out + at, size - at, "%s'%.120s'", i == 0 ? "" : i == n - 1 ? " and " : ", ", c.name[i]);
    }
}

static ek_status fail_missing(const char *const *path, int n_paths, const ek_trace_options *options, const char *name,
                              ek_trace_role role, ek_error *err)
{
    ek_trace_options bare = *options;
    ek_trace_run run;
    char nearest[512] = "";
    bare.n_head = bare.n_body = bare.n_tail = 0;
    bare.sapp_compatible = false;
    ek_status status = ek_trace_run_read(path, n_paths, &bare, NULL, &run, err);
    if (status)
        return status;
    list_nearest(&run, name, nearest, sizeof nearest);
    ek_trace_run_clear(&run);
    return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE,
                    "no %s layer of the traces is called '%.120s'; %s%s; correct the name, leave it out to find the "
                    "layers automatically, or add the trace of its stage",
                    ek_trace_role_name[role], name,
                    nearest[0] ? "the nearest are " : "no layers were found automatically", nearest);
}

ek_status ek_trace_check_names(const ek_trace_run *run, const char *const *path, int n_paths,
                               const ek_trace_options *options, ek_trace_role *role, int *index, ek_error *err)
{
    const struct {
        int n;
        const char *const *name;
    } given[] = {[EK_TRACE_HEAD] = {options->n_head, options->head},
                 [EK_TRACE_BODY] = {options->n_body, options->body},
                 [EK_TRACE_TAIL] = {options->n_tail, options->tail}};
    /* Without its body a model has no layers at all, with any name of its head. */
    static const ek_trace_role order[] = {EK_TRACE_BODY, EK_TRACE_HEAD, EK_TRACE_TAIL};
    if (options->n_body == 0 && !has_layers(run))
        return EK_OK;
    for (int r = 0; r < 3; r++)
        for (int i = 0; i < given[order[r]].n; i++)
            if (!has_layer(run, given[order[r]].name[i])) {
                *role = order[r];
                *index = i;
                return fail_missing(path, n_paths, options, given[order[r]].name[i], *role, err);
            }
    return EK_OK;
}
