/* Lists collectives one by one, with the time in which nothing was computed at the same time, and summed by kind:
 * Kineto by name, type, sizes and group of the arguments, else by kernel name; Ascend by operation and group. Overlap
 * with computing is looked up in running sums over the merged intervals, O(log n) each. */
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/median.h"
#include "trace/events/device.h"

/* ---- exposed time ---- */

/* Length of `set` before its i-th interval, for each i. */
static int64_t *running_sums(const ek__intervals *set)
{
    int64_t *before = ek__alloc(set->n + 1, sizeof *before);
    for (size_t i = 0; before && i < set->n; i++)
        before[i + 1] = ek__ns_add(before[i], ek__ns_sub(set->at[i].end, set->at[i].start));
    return before;
}

static int64_t covered_before(const ek__intervals *set, const int64_t *before, int64_t time)
{
    size_t low = 0, high = set->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (set->at[middle].start < time)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0)
        return 0;
    const ek__interval *last = &set->at[low - 1];
    return ek__ns_add(before[low - 1], (last->end < time ? last->end : time) - last->start);
}

/* ---- the kind of a collective ---- */

static size_t bytes_of_type(const char *type, size_t size)
{
    static const struct {
        const char *name;
        size_t bytes;
    } types[] = {{"Float", 4}, {"BFloat16", 2}, {"Half", 2},  {"Double", 8}, {"Long", 8},          {"Int", 4},
                 {"Char", 1},  {"Byte", 1},     {"Short", 2}, {"Bool", 1},   {"Float8_e4m3fn", 1}, {"Float8_e5m2", 1}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strlen(types[i].name) == size && memcmp(types[i].name, type, size) == 0)
            return types[i].bytes;
    return 0;
}

/* The larger of input and output size, of "allreduce|Float|2049000|2049000|2". */
static int64_t bytes_of_key(const char *key)
{
    const char *type = strchr(key, '|');
    const char *in = type ? strchr(type + 1, '|') : NULL;
    const char *out = in ? strchr(in + 1, '|') : NULL;
    size_t unit = in ? bytes_of_type(type + 1, (size_t)(in - type - 1)) : 0;
    if (!out || unit == 0)
        return EK_TRACE_UNKNOWN;
    int64_t a = strtoll(in + 1, NULL, 10), b = strtoll(out + 1, NULL, 10), n = a > b ? a : b, bytes;
    return n >= 0 && !__builtin_mul_overflow(n, (int64_t)unit, &bytes) ? bytes : EK_TRACE_UNKNOWN;
}

/* The group's size after the last bar of such a key; 0 without one. */
static int group_size(const char *key)
{
    const char *bar = strrchr(key, '|');
    long n = bar ? strtol(bar + 1, NULL, 10) : 0;
    return n > 1 && n <= INT_MAX ? (int)n : 0;
}

/* The traffic of each rank's link in an operation over n ranks, in shares of its bytes, which are those of the larger
 * side: as NCCL's performance tests define the bandwidth of the bus. 0 for other operations. */
static double bus_share(const char *key, int n)
{
    static const struct {
        const char *begin;
        bool twice, all;
    } operations[] = {{"allreduce", true, false},
                      {"all_reduce", true, false},
                      {"allgather", false, false},
                      {"_allgather_base", false, false},
                      {"all_gather", false, false},
                      {"reducescatter", false, false},
                      {"_reduce_scatter_base", false, false},
                      {"reduce_scatter", false, false},
                      {"all_to_all", false, false},
                      {"alltoall", false, false},
                      {"broadcast", false, true},
                      {"reduce|", false, true}};
    for (size_t i = 0; i < sizeof operations / sizeof *operations && n > 1; i++)
        if (strncmp(key, operations[i].begin, strlen(operations[i].begin)) == 0)
            return operations[i].all ? 1 : (operations[i].twice ? 2.0 : 1.0) * (n - 1) / n;
    return 0;
}

/* Length of the part of a name that identifies the operation. Kernels up to "(", hcom_allReduce__586_0_1 up to "__",
 * AllReduce-op12 up to "-op". */
static size_t length_of_operation(const char *name, bool kineto)
{
    const char *end = kineto                           ? strchr(name, '(')
                      : strncmp(name, "hcom_", 5) == 0 ? strstr(name, "__")
                                                       : strstr(name, "-op");
    return end && end > name ? (size_t)(end - name) : strlen(name);
}

/* The group's digits in hcom_allReduce__586_0_1; false without. */
static bool group_in_name(const char *name, const char **group, size_t *size)
{
    const char *at = strncmp(name, "hcom_", 5) == 0 ? strstr(name, "__") : NULL;
    if (!at)
        return false;
    *group = at + 2;
    *size = strspn(*group, "0123456789");
    return *size > 0 && (*group)[*size] == '_';
}

/* Texts of the trace in the rank's pool, each name once. */
typedef struct texts {
    const ek__trace *trace;
    ek__pool *pool;
    const char **name, **group, **key; /* [n_names], NULL until needed */
} texts;

static const char *copied(texts *t, const char **at, const char *text, size_t size)
{
    if (!*at)
        *at = ek__pool_text(t->pool, text, size);
    return *at;
}

static const char *key_of(texts *t, const ek__event *e)
{
    bool kineto = t->trace->producer == EK_PRODUCER_KINETO;
    const char *name = ek__trace_name(t->trace, e->name), *detail = ek__trace_name(t->trace, e->detail);
    if (kineto && detail[0])
        return copied(t, &t->key[e->detail], detail, strlen(detail));
    return copied(t, &t->key[e->name], name, length_of_operation(name, kineto));
}

/* The group's digits in the name are the same on every rank, unlike the number in the thread's. @return false when
 * memory is out */
static bool describe(texts *t, const ek__event *e, ek_trace_collective *out)
{
    const char *name = ek__trace_name(t->trace, e->name), *detail = ek__trace_name(t->trace, e->detail), *group;
    size_t size;
    if (t->trace->producer == EK_PRODUCER_KINETO) {
        out->name = key_of(t, e); /* the arguments have more detail than the kernel's name */
        return out->name;
    }
    out->name = copied(t, &t->name[e->name], name, strlen(name));
    if (!group_in_name(name, &group, &size)) {
        group = detail;
        size = strlen(detail);
    }
    const char **at = group == detail ? &t->group[e->detail] : &t->group[e->name];
    out->group = size > 0 ? copied(t, at, group, size) : NULL;
    return out->name && (out->group || size == 0);
}

/* ---- the tables ---- */

typedef struct table {
    texts texts;
    const ek_trace_options *options;
    const ek_trace_collective *told; /* [n_told] by start: of communication.json */
    int n_told;
    ek__device_sets sets;
    int64_t *before;
    ek__intervals transfers; /* of the tasks of collectives */
    int64_t *transferred;    /* before each of them */
    ek__step_finder finder;
    ek_trace_collective *at;
    ek_trace_collective_sum *sum; /* [n], one per collective until they are grouped */
} table;

/* Starts in the table are rounded to a tenth of a microsecond, and to less as a double. */
enum { SAME_START_NS = 1000 };

/* The table's entry for the collective: of its name, at its start. NULL without. O(log told). */
static const ek_trace_collective *told_of(const table *t, const char *name, int64_t start)
{
    int low = 0, high = t->n_told;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (t->told[middle].start < start - SAME_START_NS)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < t->n_told && t->told[low].start <= start + SAME_START_NS; low++)
        if (strcmp(t->told[low].name, name) == 0)
            return &t->told[low];
    return NULL;
}

/* ---- the tasks of a collective ---- */

/* Larger numbers are not places. */
enum { MAX_PLACE = 1 << 20 };

/* The place in the group that the longest wait within the collective is for; -1 without. */
static int longest_wait(const ek__trace *trace, const ek__event *e)
{
    const ek__slice *waits = &trace->of[EK__EVENT_WAIT];
    const ek__event *longest = NULL;
    for (size_t i = ek__slice_lower(*waits, e->start); i < waits->n && waits->event[i].start < ek__event_end(e); i++)
        if (!longest || waits->event[i].duration > longest->duration)
            longest = &waits->event[i];
    if (!longest)
        return -1;
    char *end;
    const char *text = ek__trace_name(trace, longest->detail);
    long place = strtol(text, &end, 10);
    return end != text && place >= 0 && place < MAX_PLACE ? (int)place : -1;
}

/* The time in which its tasks moved data, over all planes at once; unknown where the trace does not have them. Planes
 * of collectives of other groups at the same time count, too: the result is an upper bound. */
static int64_t transit_of_tasks(const table *t, const ek__event *e)
{
    int64_t ns = covered_before(&t->transfers, t->transferred, ek__event_end(e)) -
                 covered_before(&t->transfers, t->transferred, e->start);
    return ns > 0 ? ns : EK_TRACE_UNKNOWN;
}

static bool fill_one(table *t, const ek__event *e, size_t i)
{
    ek_trace_collective *c = &t->at[i];
    *c = (ek_trace_collective){.start = e->start,
                               .duration = e->duration,
                               .transit = EK_TRACE_UNKNOWN,
                               .step = ek__step_of(&t->finder, e),
                               .sum = -1,
                               .last = -1,
                               .last_call = -1,
                               .last_in_group = -1,
                               .match = -1};
    int64_t end = ek__event_end(e);
    c->exposed = e->duration - (covered_before(&t->sets.computing, t->before, end) -
                                covered_before(&t->sets.computing, t->before, e->start));
    const char *key = key_of(&t->texts, e);
    if (!key || !describe(&t->texts, e, c))
        return false;
    const ek_trace_collective *told = told_of(t, ek__trace_name(t->texts.trace, e->name), e->start);
    if (t->texts.trace->producer == EK_PRODUCER_KINETO) {
        c->exchange = (ek_trace_exchange)e->core;
        c->p2p = c->exchange == EK_EXCHANGE_P2P;
    } else
        c->p2p = ek__is_p2p(t->options, c->name) || (told && told->p2p);
    c->transit = told ? told->transit : EK_TRACE_UNKNOWN;
    c->moved_mb = told ? told->moved_mb : 0;
    if (c->transit == EK_TRACE_UNKNOWN)
        c->transit = transit_of_tasks(t, e);
    if (c->transit > c->duration)
        c->transit = c->duration;
    c->last_in_group = longest_wait(t->texts.trace, e);
    t->sum[i] = (ek_trace_collective_sum){.key = key,
                                          .group = c->group,
                                          .p2p = c->p2p,
                                          .exchange = c->exchange,
                                          .count = 1,
                                          .total = c->duration,
                                          .exposed = c->exposed,
                                          .bytes = bytes_of_key(key),
                                          .bandwidth_gbps = NAN,
                                          .n_group = group_size(key),
                                          .bus_gbps = NAN};
    return true;
}

static int by_key(const void *a, const void *b)
{
    const ek_trace_collective_sum *x = a, *y = b;
    int order = strcmp(x->key, y->key);
    if (order == 0)
        order = strcmp(x->group ? x->group : "", y->group ? y->group : "");
    return order ? order : (int)x->exchange - (int)y->exchange;
}

static int by_exposed(const void *a, const void *b)
{
    const ek_trace_collective_sum *x = a, *y = b;
    if (x->exposed != y->exposed)
        return x->exposed > y->exposed ? -1 : 1;
    if (x->total != y->total)
        return x->total > y->total ? -1 : 1;
    return by_key(a, b);
}

static size_t bring_together(ek_trace_collective_sum *sum, size_t n)
{
    size_t kept = 0;
    qsort(sum, n, sizeof *sum, by_key);
    for (size_t i = 0; i < n; i++) {
        if (kept == 0 || by_key(&sum[kept - 1], &sum[i]) != 0) {
            sum[kept++] = sum[i];
            continue;
        }
        ek_trace_collective_sum *s = &sum[kept - 1];
        s->count++;
        s->total = ek__ns_add(s->total, sum[i].total);
        s->exposed = ek__ns_add(s->exposed, sum[i].exposed);
    }
    for (size_t i = 0; i < kept; i++)
        if (sum[i].bytes != EK_TRACE_UNKNOWN && sum[i].total > 0) { /* bytes per nanosecond are GB/s */
            double share = bus_share(sum[i].key, sum[i].n_group);
            sum[i].bandwidth_gbps = (double)sum[i].bytes * (double)sum[i].count / (double)sum[i].total;
            sum[i].bus_gbps = share > 0 ? share * sum[i].bandwidth_gbps : (double)NAN;
        }
    qsort(sum, kept, sizeof *sum, by_exposed);
    return kept;
}

/* ---- unclear exchanges ---- */

static int64_t computed_before(const table *t, int64_t time)
{
    return covered_before(&t->sets.computing, t->before, time);
}

/* The ranks after the first of a pipeline have nothing to compute before they received something, while all-to-all
 * always follows the computing of its data. So: computing before the first exchange of a step over the mean before each
 * of them; the median over steps. */
static double lead_of(const table *t, const ek_trace_rank *rank, size_t n)
{
    double *of_step = ek__alloc((size_t)rank->n_steps + 1, sizeof *of_step), median = (double)NAN;
    size_t n_leads = 0;
    for (size_t i = 0, end; of_step && i < n; i = end) {
        int step = t->at[i].step;
        int64_t first = INT64_MAX;
        int count = 0;
        for (end = i; end < n && t->at[end].step == step; end++)
            if (t->at[end].exchange == EK_EXCHANGE_UNCLEAR) {
                first = count == 0 ? t->at[end].start : first;
                count++;
            }
        if (count == 0 || (step < 0 && rank->n_steps > 0) || n_leads > (size_t)rank->n_steps)
            continue;
        int64_t from = step >= 0 ? rank->step[step].start : INT64_MIN,
                to = step >= 0 ? rank->step[step].end : INT64_MAX;
        double begin = (double)computed_before(t, from), all = (double)computed_before(t, to) - begin;
        if (all > 0)
            of_step[n_leads++] = ((double)computed_before(t, first) - begin) * (count + 1) / all;
    }
    if (of_step && n_leads > 0)
        median = ek__median(of_step, n_leads);
    free(of_step);
    return median;
}

/* ---- which sum ---- */

static int by_key_of(const void *a, const void *b)
{
    return by_key(*(const ek_trace_collective_sum *const *)a, *(const ek_trace_collective_sum *const *)b);
}

/* The sum of every collective. `sum` [n] is in its final order. */
static bool number_sums(table *t, ek__slice slice, const ek_trace_collective_sum *sum, size_t n)
{
    const ek_trace_collective_sum **at = ek__alloc(n, sizeof *at);
    for (size_t i = 0; at && i < n; i++)
        at[i] = &sum[i];
    if (at)
        qsort(at, n, sizeof *at, by_key_of);
    for (size_t i = 0; at && i < slice.n; i++) {
        const ek_trace_collective_sum one = {
            .key = key_of(&t->texts, &slice.event[i]), .group = t->at[i].group, .exchange = t->at[i].exchange};
        const ek_trace_collective_sum *wanted = &one, **found = bsearch(&wanted, at, n, sizeof *at, by_key_of);
        t->at[i].sum = found ? (int)(*found - sum) : -1;
    }
    bool made = at;
    free(at);
    return made;
}

static ek_status fill_tables(table *t, ek__slice slice, ek_trace_rank *rank, ek_error *err)
{
    for (size_t i = 0; i < slice.n; i++)
        if (!fill_one(t, &slice.event[i], i))
            return ek__no_memory(err);
    size_t n = bring_together(t->sum, slice.n);
    ek_trace_communication *c = &rank->communication;
    ek_trace_collective_sum *sum = ek__pool_alloc(rank->pool, n, sizeof *sum);
    if (!sum)
        return ek__no_memory(err);
    memcpy(sum, t->sum, n * sizeof *sum);
    if (!number_sums(t, slice, sum, n))
        return ek__no_memory(err);
    c->collective = t->at;
    c->n_collectives = (int)slice.n;
    c->sum = sum;
    c->n_sums = (int)n;
    c->unclear_lead = lead_of(t, rank, slice.n);
    return EK_OK;
}

static ek_status make_tables(table *t, const ek_trace_options *options, ek__slice slice, ek_trace_rank *rank,
                             ek_error *err)
{
    const ek__trace *trace = t->texts.trace;
    ek_status status = ek__device_sets_make(trace, options, &t->sets, err);
    if (status == EK_OK)
        status = ek__step_finder_make(trace, rank, &t->finder, err);
    if (status != EK_OK)
        return status;
    if (!ek__intervals_of(trace->of[EK__EVENT_TRANSFER], INT64_MIN, INT64_MAX, &t->transfers))
        return ek__no_memory(err);
    t->transferred = running_sums(&t->transfers);
    t->before = running_sums(&t->sets.computing);
    t->texts.name = ek__alloc(trace->n_names, sizeof *t->texts.name);
    t->texts.group = ek__alloc(trace->n_names, sizeof *t->texts.group);
    t->texts.key = ek__alloc(trace->n_names, sizeof *t->texts.key);
    t->sum = ek__alloc(slice.n, sizeof *t->sum);
    t->at = ek__pool_alloc(rank->pool, slice.n, sizeof *t->at);
    if (!t->before || !t->transferred || !t->texts.name || !t->texts.group || !t->texts.key || !t->sum || !t->at)
        return ek__no_memory(err);
    return fill_tables(t, slice, rank, err);
}

ek_status ek__analyse_collectives(const ek__trace *trace, const ek_trace_options *options, ek_trace_rank *rank,
                                  ek_error *err)
{
    ek__slice slice = trace->of[EK__EVENT_COLLECTIVE];
    table t = {.texts = {.trace = trace, .pool = rank->pool},
               .options = options,
               .told = rank->communication.collective,
               .n_told = rank->communication.n_collectives};
    if (slice.n == 0 || slice.n > INT32_MAX)
        return EK_OK;
    ek_status status = make_tables(&t, options, slice, rank, err);
    ek__device_sets_clear(&t.sets);
    ek__step_finder_clear(&t.finder);
    ek__intervals_clear(&t.transfers);
    free(t.transferred);
    free(t.before);
    free(t.texts.name);
    free(t.texts.group);
    free(t.texts.key);
    free(t.sum);
    return status;
}
