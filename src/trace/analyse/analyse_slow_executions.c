/* Finds executions that take longer than the same operator does elsewhere. Layers of a model are equal, so an
 * operator's peers are those with the same name except for numbers (layers/3-Layer/MatMul-op17), on the same core, with
 * inputs of the same shapes and types where a table or the host's operator has them, and with the same two operators
 * before and after it on its stream. An operator of a graph outside the layers (an optimizer's, of one parameter) has
 * only its own executions as peers. A plain kernel without known shapes is identified only by its surroundings, and is
 * marked so. The expected duration is the median of the peers. Unlike the outliers, which are rare, these may be up to
 * just under half of them: an operator slow in every third layer. Not detected: an operator that is slow everywhere,
 * which only its arithmetic could show, and peers that differ by design, as layers of different kinds do where all
 * operators around are equal. Events are sorted by their start already, so they are sorted by stream and by key by
 * counting, and medians are selected: O(events), O(events log events) where starts are not in order or shapes are
 * known.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "trace/events/device.h"
#include "trace/events/shapes.h"

static const double markedly = 1.25;
static const int64_t least_loss_ns = 1000;
enum { LEAST_PEERS = 8, AROUND = 2, FIRST_SLOTS = 1024 };

typedef struct execution {
    uint64_t key; /* of the operator and its neighbours */
    int64_t start, duration;
    uint32_t name, kind;
    uint16_t track;
    bool shape_unknown;
} execution;

/* Executions with the same key. */
typedef struct kind {
    uint64_t key;
    size_t n, first; /* first: in table.of_kind */
    int64_t median;
} kind;

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

bool ek__is_of_graph(const char *name)
{
    if (strchr(name, '/'))
        return true;
    const char *number = strstr(name, "-op");
    return number && isdigit((unsigned char)number[3]);
}

/* A name without its numbers; unchanged for an operator of the graph outside its layers: those of the same name
 * elsewhere have other sizes. */
static uint64_t hash_of(const char *name)
{
    uint64_t hash = 0xcbf29ce484222325u;
    bool alone = ek__is_of_graph(name) && !is_in_layer(name);
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
    execution *all, *spare; /* [n] */
    kind *kinds;            /* [n_kinds] */
    uint32_t *slot;         /* [n_slots], a power of two: 1 + index of the kind that hashes there, 0: none */
    int64_t *of_kind;       /* [n]: durations, kind by kind */
    size_t n_kinds, n_slots, room;
    uint64_t *of_name;      /* [n_names]: hashes, 0 until needed */
    uint64_t *own;          /* [n]: key of the operator without its neighbours */
    ek_trace_outlier *slow; /* [n_slow], room for n; names are the trace's */
} table;

static ek_status gather(table *t, const ek__shape_finder *shapes, ek_error *err)
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
        uint32_t shape = ek__shape_of(shapes, e);
        t->all[t->n++] = (execution){.key = mix(mix(t->of_name[e->name], e->core), (uint64_t)shape << 32),
                                     .start = e->start,
                                     .duration = e->duration,
                                     .name = e->name,
                                     .track = e->track,
                                     .shape_unknown = shape == 0};
    }
    return EK_OK;
}

static bool in_order(const table *t)
{
    for (size_t i = 1; i < t->n; i++)
        if (t->all[i].start < t->all[i - 1].start)
            return false;
    return true;
}

/* Stable, so that events in order of start stay so on each stream. */
static ek_status sort_by_stream(table *t, ek_error *err)
{
    if (!in_order(t)) {
        qsort(t->all, t->n, sizeof *t->all, by_stream);
        return EK_OK;
    }
    size_t *first = ek__alloc((size_t)UINT16_MAX + 2, sizeof *first);
    t->spare = ek__alloc(t->n, sizeof *t->spare);
    if (!first || !t->spare) {
        free(first);
        return ek__no_memory(err);
    }
    for (size_t i = 0; i < t->n; i++)
        first[t->all[i].track + 1]++;
    for (size_t i = 1; i <= UINT16_MAX; i++)
        first[i] += first[i - 1];
    for (size_t i = 0; i < t->n; i++)
        t->spare[first[t->all[i].track]++] = t->all[i];
    execution *sorted = t->spare;
    t->spare = t->all;
    t->all = sorted;
    free(first);
    return EK_OK;
}

/* The key of each includes its neighbours' on the same stream. */
static void look_around(table *t)
{
    for (size_t i = 0; i < t->n; i++)
        t->own[i] = t->all[i].key;
    for (size_t i = 0; i < t->n; i++) {
        uint64_t around = 0; /* keys are mixed already: only their order matters */
        for (int k = -AROUND; k <= AROUND; k++) {
            size_t j = i + (size_t)k; /* wraps around below 0, to a value above n */
            bool there = j < t->n && t->all[j].track == t->all[i].track;
            around = around * 0x9e3779b97f4a7c15u + (there ? t->own[j] : (uint64_t)(k + AROUND));
        }
        t->all[i].key = mix(t->own[i], around);
    }
}

/* ---- kinds ---- */

static ek_status grow_slots(table *t, ek_error *err)
{
    size_t n = t->n_slots ? 2 * t->n_slots : FIRST_SLOTS;
    uint32_t *slot = ek__alloc(n, sizeof *slot);
    if (!slot)
        return ek__no_memory(err);
    for (size_t k = 0; k < t->n_kinds; k++) {
        size_t at = t->kinds[k].key & (n - 1);
        while (slot[at])
            at = (at + 1) & (n - 1);
        slot[at] = (uint32_t)k + 1;
    }
    free(t->slot);
    t->slot = slot;
    t->n_slots = n;
    return EK_OK;
}

static ek_status read_kind(table *t, execution *e, ek_error *err)
{
    if (2 * t->n_kinds >= t->n_slots) {
        ek_status status = grow_slots(t, err);
        if (status)
            return status;
    }
    size_t at = e->key & (t->n_slots - 1);
    while (t->slot[at] && t->kinds[t->slot[at] - 1].key != e->key)
        at = (at + 1) & (t->n_slots - 1);
    if (!t->slot[at]) {
        kind *room = ek__with_room(t->kinds, &t->room, t->n_kinds + 1, sizeof *room);
        if (!room)
            return ek__no_memory(err);
        t->kinds = room;
        room[t->n_kinds] = (kind){.key = e->key};
        t->slot[at] = (uint32_t)++t->n_kinds;
    }
    e->kind = t->slot[at] - 1;
    t->kinds[e->kind].n++;
    return EK_OK;
}

static ek_status sort_by_kind(table *t, ek_error *err)
{
    ek_status status = EK_OK;
    for (size_t i = 0; i < t->n && !status; i++)
        status = read_kind(t, &t->all[i], err);
    if (status)
        return status;
    t->of_kind = ek__alloc(t->n, sizeof *t->of_kind);
    if (!t->of_kind)
        return ek__no_memory(err);
    for (size_t k = 1; k < t->n_kinds; k++)
        t->kinds[k].first = t->kinds[k - 1].first + t->kinds[k - 1].n;
    for (size_t i = 0; i < t->n; i++)
        t->of_kind[t->kinds[t->all[i].kind].first++] = t->all[i].duration;
    for (size_t k = 0; k < t->n_kinds; k++)
        t->kinds[k].first -= t->kinds[k].n;
    return EK_OK;
}

/* Hoare's partition: @return the split position, below `high`. */
static size_t split_values(int64_t *value, size_t low, size_t high)
{
    int64_t pivot = value[low + (high - low) / 2];
    for (size_t i = low, j = high;; i++, j--) {
        while (value[i] < pivot)
            i++;
        while (value[j] > pivot)
            j--;
        if (i >= j)
            return j;
        int64_t other = value[i];
        value[i] = value[j];
        value[j] = other;
    }
}

/* The value at `place` in sorted order; the values are moved. */
static int64_t select_value(int64_t *value, size_t n, size_t place)
{
    size_t low = 0, high = n - 1;
    while (low < high) {
        size_t split = split_values(value, low, high);
        if (place <= split)
            high = split;
        else
            low = split + 1;
    }
    return value[low];
}

static void compare_peers(table *t)
{
    for (size_t k = 0; k < t->n_kinds; k++)
        if (t->kinds[k].n >= LEAST_PEERS)
            t->kinds[k].median = select_value(t->of_kind + t->kinds[k].first, t->kinds[k].n, (t->kinds[k].n - 1) / 2);
    for (size_t i = 0; i < t->n; i++) {
        const execution *e = &t->all[i];
        const kind *of = &t->kinds[e->kind];
        if (of->n < LEAST_PEERS || (double)e->duration < markedly * (double)of->median ||
            e->duration - of->median < least_loss_ns)
            continue;
        t->slow[t->n_slow++] = (ek_trace_outlier){
            .name = ek__trace_name(t->trace, e->name),
            .start = e->start,
            .duration = e->duration,
            .expected = of->median,
            .n_kind = (int64_t)of->n,
            .shapes_unknown = e->shape_unknown && !ek__is_of_graph(ek__trace_name(t->trace, e->name))};
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
        if (i >= EK_TRACE_MAX_NAMES) { /* the worst are named, the others only counted */
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
    ek__shape_finder shapes = {0};
    ek_status status = ek__shape_finder_make(trace, &shapes, err);
    if (!status)
        status = gather(&t, &shapes, err);
    ek__shape_finder_clear(&shapes);
    if (!status)
        status = sort_by_stream(&t, err);
    if (!status) {
        look_around(&t);
        status = sort_by_kind(&t, err);
    }
    if (!status) {
        t.slow = ek__alloc(t.n, sizeof *t.slow);
        status = t.slow ? EK_OK : ek__no_memory(err);
    }
    if (!status) {
        compare_peers(&t);
        status = keep_worst(&t, rank, err);
    }
    free(t.all);
    free(t.spare);
    free(t.kinds);
    free(t.slot);
    free(t.of_kind);
    free(t.own);
    free(t.of_name);
    free(t.slow);
    return status;
}
