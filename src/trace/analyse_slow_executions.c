/* Executions that take longer than the same operator does elsewhere. Layers of a model are alike, so an operator's
 * peers are those of its name without the numbers in it (layers/3-Layer/MatMul-op17), on the same core, with the same
 * two operators before and behind it on its stream: a kernel's name serves many shapes, its surroundings do not. An
 * operator of a graph outside the layers (an optimizer's, of one parameter) has only its own executions as peers. What
 * is expected is the median of the peers. Unlike the outliers, which are rare, these may be as many as just under half
 * of them: an operator slow in every third layer. Not seen: an operator that is slow everywhere, which only its
 * arithmetic could tell, and peers that differ by design, as layers of different kinds do where all operators around
 * are alike. O(events log events). */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "trace/device.h"

static const double markedly = 1.25;
static const int64_t least_loss_ns = 1000;
enum { LEAST_PEERS = 8, AROUND = 2 };

typedef struct execution {
    uint64_t key; /* of the operator and what is around it */
    int64_t start, duration;
    uint32_t name;
    uint16_t track;
} execution;

static uint64_t mix(uint64_t a, uint64_t b)
{
    a ^= b + 0x9e3779b97f4a7c15u + (a << 6) + (a >> 2);
    a *= 0xff51afd7ed558ccdu;
    return a ^ (a >> 32);
}

/* "3-DecoderLayer" in a path. */
static bool is_in_layer(const char *name)
{
    for (const char *at = strchr(name, '/'); at; at = strchr(at + 1, '/')) {
        size_t n = strspn(at + 1, "0123456789");
        if (n > 0 && at[1 + n] == '-')
            return true;
    }
    return false;
}

/* A path, or an operator by its number in the graph: "Slice-op192". */
static bool is_of_graph(const char *name)
{
    const char *number = strstr(name, "-op");
    return strchr(name, '/') || (number && isdigit((unsigned char)number[3]));
}

/* A name without its numbers; one of the graph outside its layers as it is: its likes elsewhere are of other sizes. */
static uint64_t hash_of(const char *name)
{
    uint64_t hash = 0xcbf29ce484222325u;
    bool alone = is_of_graph(name) && !is_in_layer(name);
    bool in_number = false;
    for (; *name; name++) {
        bool digit = isdigit((unsigned char)*name);
        unsigned char c = digit && !alone ? '#' : (unsigned char)*name;
        if (alone || !digit || !in_number)
            hash = (hash ^ c) * 0x100000001b3u;
        in_number = digit;
    }
    return hash;
}

static int by_stream(const void *a, const void *b)
{
    const execution *x = a, *y = b;
    if (x->track != y->track)
        return x->track < y->track ? -1 : 1;
    return (x->start > y->start) - (x->start < y->start);
}

static int by_key(const void *a, const void *b)
{
    const execution *x = a, *y = b;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    if (x->duration != y->duration)
        return x->duration < y->duration ? -1 : 1;
    return (x->start > y->start) - (x->start < y->start);
}

static int by_loss(const void *a, const void *b)
{
    const ek_trace_outlier *x = a, *y = b;
    int64_t p = x->duration - x->expected, q = y->duration - y->expected;
    if (p != q)
        return p > q ? -1 : 1;
    return (x->start > y->start) - (x->start < y->start);
}

typedef struct table {
    const ek__trace *trace;
    size_t n, n_slow;
    execution *all;         /* [n] */
    uint64_t *of_name;      /* [n_names]: hashes, 0 until asked for */
    uint64_t *own;          /* [n]: key of the operator alone */
    ek_trace_outlier *slow; /* [n_slow], room for n; names are the trace's */
} table;

static ek_status gather(table *t, ek_error *err)
{
    ek__slice slice = t->trace->of[EK__EVENT_KERNEL];
    t->all = ek__alloc(slice.n, sizeof *t->all);
    t->own = ek__alloc(slice.n, sizeof *t->own);
    t->of_name = ek__alloc(t->trace->n_names, sizeof *t->of_name);
    if (!t->all || !t->own || !t->of_name)
        return ek__no_memory(err);
    for (size_t i = 0; i < slice.n; i++) {
        const ek__event *e = &slice.event[i];
        if (!ek__is_compute(t->trace, e))
            continue;
        if (!t->of_name[e->name])
            t->of_name[e->name] = hash_of(ek__trace_name(t->trace, e->name));
        t->all[t->n++] = (execution){mix(t->of_name[e->name], e->core), e->start, e->duration, e->name, e->track};
    }
    return EK_OK;
}

/* The key of each takes in its neighbours' on the same stream. */
static void look_around(table *t)
{
    if (t->n > 1)
        qsort(t->all, t->n, sizeof *t->all, by_stream);
    for (size_t i = 0; i < t->n; i++)
        t->own[i] = t->all[i].key;
    for (size_t i = 0; i < t->n; i++)
        for (int k = -AROUND; k <= AROUND; k++) {
            size_t j = i + (size_t)k; /* runs over below 0, which is above n */
            bool there = j < t->n && t->all[j].track == t->all[i].track;
            t->all[i].key = mix(t->all[i].key, there ? t->own[j] : (uint64_t)(k + AROUND));
        }
}

static void compare_peers(table *t)
{
    if (t->n > 1)
        qsort(t->all, t->n, sizeof *t->all, by_key);
    for (size_t i = 0, end; i < t->n; i = end) {
        for (end = i + 1; end < t->n && t->all[end].key == t->all[i].key;)
            end++;
        int64_t median = t->all[i + (end - i - 1) / 2].duration;
        if (end - i < LEAST_PEERS)
            continue;
        for (size_t k = end; k > i; k--) {
            const execution *e = &t->all[k - 1];
            if ((double)e->duration < markedly * (double)median || e->duration - median < least_loss_ns)
                break;
            t->slow[t->n_slow++] = (ek_trace_outlier){.name = ek__trace_name(t->trace, e->name),
                                                      .start = e->start,
                                                      .duration = e->duration,
                                                      .expected = median,
                                                      .n_kind = (int64_t)(end - i)};
        }
    }
}

static ek_status keep_worst(table *t, ek_trace_rank *rank, ek_error *err)
{
    ek_trace_operators *ops = &rank->operators;
    size_t n = t->n_slow < EK_TRACE_MAX_SLOW ? t->n_slow : EK_TRACE_MAX_SLOW;
    const char *last = NULL, *copy = NULL;
    if (t->n_slow > 1)
        qsort(t->slow, t->n_slow, sizeof *t->slow, by_loss);
    ek_trace_outlier *kept = ek__pool_alloc(rank->pool, n, sizeof *kept);
    if (!kept)
        return ek__no_memory(err);
    for (size_t i = 0; i < n; i++) {
        kept[i] = t->slow[i];
        if (i >= EK_TRACE_MAX_NAMES) { /* the worst are named, the others only count */
            kept[i].name = NULL;
            continue;
        }
        if (kept[i].name != last)
            copy = ek__pool_text(rank->pool, kept[i].name, strlen(kept[i].name));
        last = kept[i].name;
        kept[i].name = copy;
        if (!copy)
            return ek__no_memory(err);
    }
    ops->slow = kept;
    ops->n_slow = (int)n;
    return EK_OK;
}

ek_status ek__analyse_slow_executions(const ek__trace *trace, const ek_trace_options *options, ek_trace_rank *rank,
                                      ek_error *err)
{
    (void)options;
    table t = {.trace = trace};
    if (trace->of[EK__EVENT_KERNEL].n == 0)
        return EK_OK;
    ek_status status = gather(&t, err);
    if (!status) {
        look_around(&t);
        t.slow = ek__alloc(t.n, sizeof *t.slow);
        status = t.slow ? EK_OK : ek__no_memory(err);
    }
    if (!status) {
        compare_peers(&t);
        status = keep_worst(&t, rank, err);
    }
    free(t.all);
    free(t.own);
    free(t.of_name);
    free(t.slow);
    return status;
}
