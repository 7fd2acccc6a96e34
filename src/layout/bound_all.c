/* Bounds all layouts of the space. An item is a group of layouts that differ only in chunks and schedule: its job is
 * made once, its layers are priced once for all groups with the same ones, and each of its layouts then costs a closed
 * form. Groups are taken in slabs, so that a thread often finds the same layers in its cache, and results are joined in
 * the order of the space. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "layout/bound.h"
#include "layout/frameworks.h"
#include "layout/search.h"
#include "layout/together.h"

enum { SLAB = 256 }; /* groups */

typedef struct found {
    size_t n, capacity, n_groups;
    ek__candidate *candidate;
    long legal, illegal;
} found;

typedef struct bounder {
    ek__layout_search *search;
    bool with_first;
    size_t n_slabs;
    found *found; /* [slabs + 1] the last is the group that was balanced first, if its slab was not reached in time */
} bounder;

/* By how much the least peak exceeds the limit. */
static int over_by(double ratio)
{
    return ratio <= 1.1 ? 0 : ratio <= 1.5 ? 1 : ratio <= 2 ? 2 : 3;
}

static ek_status add(found *to, const ek__candidate *c, ek_error *err)
{
    ek__candidate *grown = ek__with_room(to->candidate, &to->capacity, to->n + 1, sizeof *grown);
    if (!grown)
        return ek__no_memory(err);
    to->candidate = grown;
    grown[to->n++] = *c;
    return EK_OK;
}

static ek_status bound_one(const ek__layout_search *search, size_t group, const ek__bound_figures *f, int n_chunks,
                           int schedule, found *to, ek_error *err)
{
    const ek_schedule *by = search->options.schedule[schedule];
    ek__candidate c = {.group = (uint32_t)group,
                       .n_chunks = (uint8_t)n_chunks,
                       .schedule = (uint8_t)schedule,
                       .peak_mb = (float)ek__bound_peak_mb(f, n_chunks, by),
                       .bound = ek__bound_seconds(f, n_chunks, by),
                       .plan_mb = NAN,
                       .seconds = INFINITY};
    c.fate = f->job->limit_mb > 0 && c.peak_mb > f->job->limit_mb ? EK_FATE_MEMORY : EK_FATE_BOUND;
    return add(to, &c, err);
}

/* Does any schedule run the group, with any number of chunks? */
static bool runs_any(const ek__layout_search *search, const ek__layout_group *group, int most)
{
    for (int v = 1; v <= most; v++)
        for (int s = 0; s < search->options.n_schedules; s++)
            if (ek__space_allows(&search->space, group, v, search->options.schedule[s]))
                return true;
    return false;
}

static ek_status bound_group(const ek__layout_search *search, size_t at, ek_cost_cache *cache, found *to, ek_error *err)
{
    const ek__layout_group *group = &search->space.group[at];
    int most = ek__space_most_chunks(&search->space, group);
    ek_error why;
    ek_job job;
    ek__bound_figures figures;
    if (!runs_any(search, group, most)) {
        to->illegal += most;
        return EK_OK;
    }
    ek_status status = ek__layout_job_on(search->job, search->device, &group->layout, &job, &why);
    if (status == EK_ERR_INPUT) {
        to->illegal += most;
        return EK_OK;
    }
    if (status) {
        if (err)
            *err = why;
        return status;
    }
    if (ek__framework_objection(&job)) {
        ek_job_clear(&job);
        to->illegal += most;
        return EK_OK;
    }
    status = ek__bound_figures_of(&job, search->device, cache, false, &figures, &why);
    for (int v = 1; v <= most && !status; v++) {
        long before = to->n;
        for (int s = 0; s < search->options.n_schedules && !status; s++)
            if (ek__space_allows(&search->space, group, v, search->options.schedule[s]))
                status = bound_one(search, at, &figures, v, s, to, &why);
        *(to->n > (size_t)before ? &to->legal : &to->illegal) += 1;
    }
    ek_job_clear(&job);
    if (status && err)
        *err = why;
    return status;
}

static ek_status bound_slab(const ek__layout_search *search, size_t slab, ek_cost_cache *cache, found *to,
                            ek_error *err)
{
    size_t n = search->space.n_groups, end = (slab + 1) * SLAB < n ? (slab + 1) * SLAB : n;
    ek_status status = EK_OK;
    for (size_t i = slab * SLAB; i < end && !status && !ek__layout_over(search); i++) {
        status = bound_group(search, i, cache, to, err);
        to->n_groups++;
    }
    return status;
}

/* Item 0 is the first answer, the others are slabs. */
static ek_status run_item(void *user, size_t item, ek_cost_cache *cache, ek_error *err)
{
    bounder *b = user;
    ek__layout_search *s = b->search;
    if (item > 0)
        return bound_slab(s, item - 1, cache, &b->found[item - 1], err);
    ek_status status = b->with_first ? ek__layout_first(s, cache, err) : EK_OK;
    if (!status && s->first.split.found)
        status = bound_group(s, s->first.group, cache, &b->found[b->n_slabs], err);
    return status;
}

/* ---- items of other processes ---- */

static bool is_slab(void *user, size_t item)
{
    (void)user;
    return item > 0;
}

static void pack_item(void *user, size_t item, ek__pack *to)
{
    (void)user;
    EK__PACK(to, item);
}

ek_status ek__layout_errand_slab(ek__layout_search *search, ek__unpack *what, ek__pack *result, ek_error *err)
{
    found to = {.n = 0};
    size_t item = 0;
    EK__UNPACK(what, item);
    ek_status status = ek__unpack_end(what, err);
    if (!status)
        status = bound_slab(search, item - 1, search->cache[0], &to, err);
    EK__PACK(result, to.n);
    EK__PACK(result, to.n_groups);
    EK__PACK(result, to.legal);
    EK__PACK(result, to.illegal);
    ek__pack_put(result, to.candidate, to.n * sizeof *to.candidate);
    free(to.candidate);
    return status;
}

static ek_status take_item(void *user, size_t item, ek__unpack *from, ek_error *err)
{
    bounder *b = user;
    found *to = &b->found[item - 1];
    EK__UNPACK(from, to->n);
    EK__UNPACK(from, to->n_groups);
    EK__UNPACK(from, to->legal);
    EK__UNPACK(from, to->illegal);
    to->candidate = ek__unpack_array(from, to->n, sizeof *to->candidate);
    to->capacity = to->candidate ? to->n : 0;
    return to->candidate || from->wrong ? ek__unpack_end(from, err) : ek__no_memory(err);
}

/* ---- the whole ---- */

/* The extra group is not needed if its slab contains it. */
static void drop_extra(bounder *b)
{
    size_t group = b->search->first.group;
    found *extra = &b->found[b->n_slabs];
    if (b->search->first.split.found && group % SLAB < b->found[group / SLAB].n_groups) {
        extra->n = 0;
        extra->legal = extra->illegal = 0;
    }
}

static void count(ek__layout_search *search, const ek__candidate *c)
{
    double limit = search->job->limit_mb;
    search->counts.bounded++;
    if (c->fate == EK_FATE_MEMORY)
        search->counts.over_by[over_by(c->peak_mb / limit)]++;
}

static ek_status gather(bounder *b)
{
    ek__layout_search *s = b->search;
    size_t n = 0, at = 0, n_slabs = b->n_slabs + 1;
    drop_extra(b);
    for (size_t i = 0; i < n_slabs; i++) {
        n += b->found[i].n;
        s->counts.legal += b->found[i].legal;
        s->counts.all += b->found[i].legal + b->found[i].illegal;
    }
    s->candidate = ek__alloc(n + 1, sizeof *s->candidate);
    if (!s->candidate)
        return ek__no_memory(s->err);
    for (size_t i = 0; i < n_slabs; i++) {
        if (b->found[i].n > 0)
            memcpy(s->candidate + at, b->found[i].candidate, b->found[i].n * sizeof *s->candidate);
        at += b->found[i].n;
    }
    s->n = n;
    for (size_t i = 0; i < n; i++)
        count(s, &s->candidate[i]);
    return EK_OK;
}

ek_status ek__layout_bound_all(ek__layout_search *search, bool with_first)
{
    static const ek__layout_items items = {EK__ERRAND_SLAB, run_item, is_slab, pack_item, take_item, NULL};
    size_t n_slabs = (search->space.n_groups + SLAB - 1) / SLAB;
    bounder b = {.search = search, .with_first = with_first, .n_slabs = n_slabs};
    b.found = ek__alloc(n_slabs + 1, sizeof *b.found);
    if (!b.found)
        return ek__no_memory(search->err);
    ek_status status = ek__layout_do(search, n_slabs + 1, &items, &b);
    if (!status)
        status = gather(&b);
    search->ended_early |= ek__layout_over(search);
    for (size_t i = 0; i <= n_slabs; i++)
        free(b.found[i].candidate);
    free(b.found);
    return status;
}
