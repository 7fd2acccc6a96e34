/* Plans offsets ahead, as graph compilers do: the largest tensor first, each at the lowest offset that is free for its
 * whole life. No packing is proven best; frameworks use this one, and it is close to the live bytes in practice.
 *
 * Placed tensors are sorted by offset, so one walk upwards past those alive at the same time finds the gap. They are in
 * groups with the span of their lives, and a group that does not overlap the life is skipped in one step. */
#include <assert.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "memory/allocator.h"

enum { GROUP = 64 };

/* A placed tensor, and groups of them in order of offsets. */
typedef struct placed {
    int64_t offset, end;
    int32_t from, to;
} placed;

typedef struct group {
    int n;
    int32_t from, to; /* of any of them */
    int64_t highest;  /* end of any */
    placed at[GROUP];
} group;

typedef struct plan {
    size_t n;
    group **group; /* [n] in order of offsets; those between have GROUP / 2 or more */
} plan;

/* Largest first; among equals the earlier, then the longer one, so that the plan depends on nothing else. */
static int by_bytes(const void *a, const void *b)
{
    const ek__lifetime *x = *(const ek__lifetime *const *)a, *y = *(const ek__lifetime *const *)b;
    if (x->bytes != y->bytes)
        return x->bytes > y->bytes ? -1 : 1;
    if (x->from != y->from)
        return x->from < y->from ? -1 : 1;
    if (x->to != y->to)
        return x->to > y->to ? -1 : 1;
    return x < y ? -1 : x > y;
}

/* Lowest offset of a gap of `bytes` for the life. */
static int64_t lowest(const plan *p, const ek__lifetime *life, int64_t bytes)
{
    int64_t offset = 0;
    assert(bytes >= 0 && bytes % EK__ALIGNMENT == 0);
    for (size_t g = 0; g < p->n; g++) {
        const group *q = p->group[g];
        if (q->from >= life->to || q->to <= life->from || q->highest <= offset)
            continue;
        for (int i = 0; i < q->n; i++) {
            const placed *x = &q->at[i];
            if (x->from >= life->to || x->to <= life->from)
                continue;
            if (x->offset - offset >= bytes)
                return offset;
            offset = x->end > offset ? x->end : offset;
        }
    }
    return offset;
}

static void respan(group *q)
{
    assert(q->n >= 0 && q->n <= GROUP);
    q->from = INT32_MAX;
    q->to = INT32_MIN;
    q->highest = 0;
    for (int i = 0; i < q->n; i++) {
        q->from = q->at[i].from < q->from ? q->at[i].from : q->from;
        q->to = q->at[i].to > q->to ? q->at[i].to : q->to;
        q->highest = q->at[i].end > q->highest ? q->at[i].end : q->highest;
    }
}

/* The full group g becomes two. */
static bool split(plan *p, size_t g)
{
    group *second = ek__alloc(1, sizeof *second);
    if (!second)
        return false;
    group *first = p->group[g];
    assert(g < p->n && first->n == GROUP);
    first->n = GROUP / 2;
    second->n = GROUP - GROUP / 2;
    memcpy(second->at, first->at + GROUP / 2, (size_t)second->n * sizeof *second->at);
    respan(first);
    respan(second);
    memmove(p->group + g + 2, p->group + g + 1, (p->n - g - 1) * sizeof(group *));
    p->group[g + 1] = second;
    p->n++;
    return true;
}

static bool insert(plan *p, placed x)
{
    size_t g = 0;
    while (g + 1 < p->n && p->group[g + 1]->at[0].offset <= x.offset)
        g++;
    if (p->group[g]->n == GROUP) {
        if (!split(p, g))
            return false;
        g += p->group[g + 1]->at[0].offset <= x.offset;
    }
    group *q = p->group[g];
    int at = q->n;
    for (; at > 0 && q->at[at - 1].offset > x.offset; at--)
        q->at[at] = q->at[at - 1];
    q->at[at] = x;
    q->n++;
    assert(at == 0 || q->at[at - 1].offset <= x.offset);
    assert(at + 1 == q->n || q->at[at + 1].offset > x.offset);
    q->from = x.from < q->from ? x.from : q->from;
    q->to = x.to > q->to ? x.to : q->to;
    q->highest = x.end > q->highest ? x.end : q->highest;
    return true;
}

static int64_t place(plan *p, ek__lifetime **order, size_t n)
{
    int64_t height = 0;
    for (size_t i = 0; i < n; i++) {
        ek__lifetime *life = order[i];
        int64_t bytes = ek__aligned(life->bytes);
        assert(i == 0 || life->bytes <= order[i - 1]->bytes);
        life->offset = lowest(p, life, bytes);
        assert(life->offset >= 0 && life->offset % EK__ALIGNMENT == 0);
        if (life->from >= life->to || bytes == 0)
            continue; /* never alive: overlaps with none */
        if (!insert(p, (placed){life->offset, life->offset + bytes, life->from, life->to}))
            return -1;
        height = life->offset + bytes > height ? life->offset + bytes : height;
    }
    return height;
}

int64_t ek__allocate_offline(ek__lifetime *lifetime, size_t n)
{
    int64_t height = -1;
    ek__lifetime **order = ek__alloc(n, sizeof *order);
    plan p = {1, ek__alloc(n / (GROUP / 2) + 2, sizeof *p.group)};
    group *first = ek__alloc(1, sizeof *first);
    if (order && p.group && first) {
        respan(first);
        p.group[0] = first;
        first = NULL;
        for (size_t i = 0; i < n; i++)
            order[i] = &lifetime[i];
        qsort(order, n, sizeof *order, by_bytes);
        height = place(&p, order, n);
    }
    for (size_t g = 0; p.group && g < p.n; g++)
        free(p.group[g]);
    free(first);
    free(p.group);
    free(order);
    return height;
}

/* ---- the allocator interface: lifetimes are recorded, and planned when the figure is requested ---- */

struct ek__allocator {
    ek__lifetime *life;
    size_t capacity, n;
    int64_t bytes; /* of all tensors so far, an upper bound of the height */
    int32_t now;
};

static ek__allocator *create(const ek_rules *rules, int64_t device_bytes)
{
    (void)rules;
    (void)device_bytes;
    return ek__alloc(1, sizeof(ek__allocator));
}

static void destroy(ek__allocator *a)
{
    if (a)
        free(a->life);
    free(a);
}

static int32_t take(ek__allocator *a, int64_t bytes, bool persistent)
{
    (void)persistent;
    if (a->now == INT32_MAX - 1 || bytes > INT64_MAX / 2 - a->bytes)
        return -1;
    ek__lifetime *grown = ek__with_room(a->life, &a->capacity, a->n + 1, sizeof *grown);
    if (!grown)
        return -1;
    a->life = grown;
    a->bytes += ek__aligned(bytes > 0 ? bytes : 1);
    a->life[a->n] = (ek__lifetime){bytes > 0 ? bytes : 1, 0, a->now++, INT32_MAX};
    return (int32_t)a->n++;
}

static void give(ek__allocator *a, int32_t taken)
{
    assert(taken >= 0 && (size_t)taken < a->n && a->life[taken].to == INT32_MAX);
    a->life[taken].to = a->now;
}

static int64_t offset(const ek__allocator *a, int32_t taken)
{
    (void)a;
    (void)taken;
    return -1; /* unknown before the end */
}

static int64_t actual(const ek__allocator *a)
{
    ek__lifetime *copy = ek__alloc(a->n, sizeof *copy);
    if (!copy)
        return -1;
    if (a->n > 0)
        memcpy(copy, a->life, a->n * sizeof *copy);
    int64_t height = ek__allocate_offline(copy, a->n);
    assert(height <= a->bytes);
    free(copy);
    return height;
}

static const struct ek__pieces *pieces_of(const ek__allocator *a)
{
    (void)a;
    return NULL;
}

const ek__allocator_kind ek__allocator_offline = {
    .allocation = EK_ALLOCATION_OFFLINE,
    .create = create,
    .destroy = destroy,
    .take = take,
    .give = give,
    .offset = offset,
    .actual = actual,
    .pieces = pieces_of,
};
