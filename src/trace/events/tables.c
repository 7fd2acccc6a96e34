/* Helpers of the readers of tables. Steps are found by name one after the other: a profile has a few dozen. */
#include "trace/tables/tables.h"
#include "base/c_locale.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/events/device.h"

ek_status ek__table_text(ek__pool *pool, const char *text, const char **out, ek_error *err)
{
    char *copy = ek__pool_text(pool, text, strlen(text));
    if (!copy)
        return ek__no_memory(err);
    *out = copy;
    return EK_OK;
}

/* ---- steps ---- */

static void clear_breakdown(ek_trace_breakdown *b)
{
    const int64_t none = EK_TRACE_UNKNOWN;
    *b = (ek_trace_breakdown){.n_events = none,
                              .computing = none,
                              .communication = none,
                              .communication_not_overlapped = none,
                              .overlapped = none,
                              .copy = none,
                              .copy_not_overlapped = none,
                              .busy = none,
                              .free = none,
                              .total = none};
}

void ek__step_clear(ek_trace_step *step)
{
    const int64_t none = EK_TRACE_UNKNOWN;
    *step = (ek_trace_step){.name = "",
                            .host_start = none,
                            .host_step = none,
                            .start = none,
                            .end = none,
                            .stage = none,
                            .bubble = none,
                            .preparing = none,
                            .exclude_receive = none,
                            .producer_free = none,
                            .table_stage = none,
                            .table_preparing = none,
                            .span = none,
                            .pipeline_wait = none,
                            .own_stage = none,
                            .n_receives = none,
                            .receive = none,
                            .receive_exposed = none,
                            .n_sends = none,
                            .send = none,
                            .n_exchanges = none,
                            .exchange = none,
                            .exchange_exposed = none,
                            .data_loading = none,
                            .data_loading_idle = none,
                            .host_bound = none,
                            .device_bound = none,
                            .unlinked = none,
                            .iteration_interval = none,
                            .fp_and_bp = none,
                            .tail = none,
                            .communication_alone = none,
                            .receive_alone = none,
                            .collective_alone = none,
                            .scope_default_busy = none,
                            .scope_gradients_busy = none};
    for (int i = 0; i < EK_N_TRACE_ACTIVITIES; i++)
        step->activity[i] = none;
    clear_breakdown(&step->own);
    clear_breakdown(&step->raw);
}

/* No schedule: torch_npu leaves the name empty, MindSpore writes 0. */
static bool is_unnamed(const char *name)
{
    return *name == '\0' || strcmp(name, "0") == 0;
}

static ek_trace_step *find_step(const ek_trace_rank *rank, const char *name, bool alone)
{
    for (int i = 0; i < rank->n_steps; i++)
        if (rank->step[i].from_table && strcmp(rank->step[i].name, name) == 0)
            return &rank->step[i];
    if (alone && rank->n_steps == 1 && rank->step[0].from_table && (is_unnamed(name) || is_unnamed(rank->step[0].name)))
        return &rank->step[0];
    return NULL;
}

ek_status ek__table_step(const ek__table_in *in, const char *name, bool alone, ek_trace_step **out, ek_error *err)
{
    ek_trace_rank *rank = in->rank;
    *out = find_step(rank, name, alone);
    if (*out) {
        if (is_unnamed((*out)->name) && !is_unnamed(name))
            return ek__table_text(rank->pool, name, &(*out)->name, err);
        return EK_OK;
    }
    if (rank->n_steps >= EK__MAX_TABLE_STEPS)
        return EK_OK;
    ek_trace_step *grown = ek__pool_push(rank->pool, rank->step, rank->n_steps, sizeof *grown), step;
    if (!grown)
        return ek__no_memory(err);
    rank->step = grown;
    ek__step_clear(&step);
    step.from_table = true;
    ek_status status = ek__table_text(rank->pool, name, &step.name, err);
    if (status)
        return status;
    *out = &rank->step[rank->n_steps++];
    **out = step;
    return EK_OK;
}

const char *ek__table_producer(const ek__table_in *in)
{
    if (in->rank->producer == EK_PRODUCER_TORCH_NPU || in->rank->producer == EK_PRODUCER_MINDSPORE)
        return ek_producer_name[in->rank->producer];
    /* The folder's end, when its user has kept that name. */
    if (strstr(in->path, "_ascend_ms/"))
        return ek_producer_name[EK_PRODUCER_MINDSPORE];
    return strstr(in->path, "_ascend_pt/") ? ek_producer_name[EK_PRODUCER_TORCH_NPU] : NULL;
}

/* ---- operators ---- */

static bool contains(const char *text, const char *part)
{
    size_t n = strlen(part);
    for (; *text; text++)
        if (ek__strncasecmp(text, part, n) == 0)
            return true;
    return false;
}

bool ek__is_communication_row(const char *core, const char *name)
{
    if (strcmp(core, "HCCL") == 0 || strcmp(core, "COMMUNICATION") == 0)
        return true;
    return (*core == '\0' || strcmp(core, "N/A") == 0) && strncmp(name, "hcom_", 5) == 0;
}

const char *ek__operator_family(const char *type, const char *core)
{
    core = core ? core : "";
    if (ek__is_communication_row(core, type))
        return "communication";
    if (contains(type, "attention") || contains(type, "flash"))
        return "attention";
    if (contains(type, "matmul") || contains(type, "gemm"))
        return "matmul";
    if (contains(type, "memcpy") || contains(type, "memory_copy") || contains(core, "SDMA"))
        return "copy";
    if (strcmp(core, "AI_VECTOR_CORE") == 0 || strcmp(core, "MIX_AIV") == 0)
        return "vector";
    return "other";
}

/* ---- groups of ranks ---- */

static int compare_ranks(const ek_trace_group *g, const int *rank, int n)
{
    for (int i = 0; i < g->n_ranks && i < n; i++)
        if (g->rank[i] != rank[i])
            return g->rank[i] < rank[i] ? -1 : 1;
    return (g->n_ranks > n) - (g->n_ranks < n);
}

static int compare_group(const ek_trace_group *g, const char *name, const int *rank, int n)
{
    int order = strcmp(g->name, name);
    return order != 0 ? order : compare_ranks(g, rank, n);
}

/* Groups are stored by name, ranks and key, so that the order of the ranks' files does not matter. A run has a few
 * times as many groups as ranks: finding the place is a binary search, moving the rest up is linear. */
static ek_status add_group(ek_trace_run *run, const char *name, const char *key, const int *rank, int n_ranks,
                           int occurrence, ek_error *err)
{
    ek_trace_topology *t = &run->topology;
    int low = 0, high = t->n_groups;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (compare_group(&t->group[middle], name, rank, n_ranks) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    int at = low + occurrence;
    bool known = at < t->n_groups && compare_group(&t->group[at], name, rank, n_ranks) == 0;
    if (known && strcmp(t->group[at].key, key) <= 0)
        return EK_OK;
    char *key_copy = ek__pool_text(run->pool, key, strlen(key));
    if (!key_copy)
        return ek__no_memory(err);
    if (known) {
        t->group[at].key = key_copy;
        return EK_OK;
    }
    if (t->n_groups == EK__MAX_GROUPS)
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "more than %d groups of ranks; those before are used",
                        EK__MAX_GROUPS);
    ek_trace_group *grown = ek__pool_push(run->pool, t->group, t->n_groups, sizeof *grown);
    char *name_copy = ek__pool_text(run->pool, name, strlen(name));
    int *ranks = ek__pool_alloc(run->pool, (size_t)n_ranks, sizeof *ranks);
    if (!grown || !name_copy || !ranks)
        return ek__no_memory(err);
    t->group = grown;
    if (n_ranks > 0)
        memcpy(ranks, rank, (size_t)n_ranks * sizeof *ranks);
    while (at > low && (at > t->n_groups || compare_group(&t->group[at - 1], name, rank, n_ranks) != 0))
        at--;
    memmove(&t->group[at + 1], &t->group[at], (size_t)(t->n_groups - at) * sizeof *t->group);
    t->group[at] = (ek_trace_group){name_copy, key_copy, n_ranks, ranks};
    t->n_groups++;
    return EK_OK;
}

static int by_group(const void *a, const void *b)
{
    const ek_trace_group *x = a, *y = b;
    int order = compare_group(x, y->name, y->rank, y->n_ranks);
    return order != 0 ? order : strcmp(x->key, y->key);
}

ek_status ek__topology_add(ek_trace_run *run, ek_trace_group *group, size_t n, ek_error *err)
{
    int occurrence = 0;
    ek_status status = EK_OK;
    if (n > 0)
        qsort(group, n, sizeof *group, by_group);
    for (size_t i = 0; i < n && status == EK_OK; i++) {
        const ek_trace_group *g = &group[i];
        occurrence = i > 0 && compare_group(&group[i - 1], g->name, g->rank, g->n_ranks) == 0 ? occurrence + 1 : 0;
        status = add_group(run, g->name, g->key, g->rank, g->n_ranks, occurrence, err);
        run->topology.known = true;
    }
    return status;
}

ek_trace_step ek__step_of_events(void)
{
    ek_trace_step step;
    ek__step_clear(&step);
    step.own = step.raw = (ek_trace_breakdown){0};
    step.span = step.pipeline_wait = step.own_stage = 0;
    step.n_receives = step.receive = step.receive_exposed = step.n_sends = step.send = 0;
    step.n_exchanges = step.exchange = step.exchange_exposed = 0;
    step.data_loading = step.data_loading_idle = 0;
    step.host_bound = step.device_bound = step.unlinked = 0;
    step.scope_default_busy = step.scope_gradients_busy = 0;
    return step;
}
