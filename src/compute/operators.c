/* Groups the operators of all ranks by type, shape and kernel: rows of the ranks are sorted by their texts, so that
 * equal ones follow one another. Times of ranks are compared by the mean of an execution; the rate of an operator
 * follows from the mean over all of them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/c_locale.h"
#include "base/error.h"
#include "base/median.h"
#include "compute/compute_internal.h"
#include "compute/profiled.h"
#include "cost/kernel.h"
#include "trace/events/intervals.h"

const char *const ek__profile_left_name[EK_N_PROFILE_LEFT] = {"taken",   "no_shapes", "other",   "unclear",
                                                              "no_peak", "packed",    "too_fast"};
const char *const *const ek_profile_left_name = ek__profile_left_name;
const char *const ek__compute_class_name[EK_N_COMPUTE_CLASSES] = {"matrix",    "attention", "vector",
                                                                  "transform", "ai_cpu",    "other"};
const char *const *const ek_compute_class_name = ek__compute_class_name;

/* A row of a rank. */
typedef struct row {
    const ek_trace_shaped *op;
    int rank, number;
} row;

enum { N_KEYS = 6 };

static void keys_of(const ek_trace_shaped *op, const char *key[N_KEYS])
{
    key[0] = op->name;
    key[1] = op->shapes;
    key[2] = op->types;
    key[3] = op->layout;
    key[4] = op->kernel;
    key[5] = op->core ? op->core : "";
}

static int compare(const ek_trace_shaped *a, const ek_trace_shaped *b)
{
    const char *left[N_KEYS], *right[N_KEYS];
    int order = 0;
    keys_of(a, left);
    keys_of(b, right);
    for (int i = 0; i < N_KEYS && order == 0; i++)
        order = strcmp(left[i], right[i]);
    return order;
}

static int by_text(const void *a, const void *b)
{
    const row *x = a, *y = b;
    int order = compare(x->op, y->op);
    if (order == 0)
        order = (x->rank > y->rank) - (x->rank < y->rank);
    return order ? order : (x->number > y->number) - (x->number < y->number);
}

/* ---- rates of operators ---- */

static void find_work(ek_compute_operator *op, const ek_trace_shaped *shaped, bool torch)
{
    ek__profile_doubt doubt;
    op->known = EK_PROFILE_NO_SHAPES;
    if (shaped->shapes[0])
        op->known = (torch ? ek__profile_torch : ek__profile_ascend)(shaped, &op->work, &doubt);
    if (op->known != EK_PROFILE_TAKEN)
        op->work = (ek_kernel){.flops = 0};
}

/* Seconds of the mean execution are above 0. */
static void compare_with(const ek_device *device, ek_compute_operator *op, double seconds)
{
    double peak = device->peak_tflops[op->work.type], rate = device->memory_gbs;
    if (op->work.flops > 0 && peak > 0)
        op->share_of_peak = op->tflops / peak;
    if (op->work.bytes > 0 && rate > 0)
        op->share_of_memory = op->work.bytes / seconds / 1e9 / rate;
    const ek__kernel_time time = ek__kernel_seconds(device, &op->work);
    if (time.seconds > 0) {
        op->expected = time.seconds * 1e9;
        op->basis = time.basis;
    }
}

static void find_rates(const ek__compute *c, ek_compute_operator *op)
{
    double seconds = (double)op->total / (double)op->count * 1e-9;
    op->tflops = op->gbs = op->share_of_peak = op->share_of_memory = op->expected = (double)NAN;
    op->basis = EK_COST_ASSUMED;
    if (op->known != EK_PROFILE_TAKEN || !(seconds > 0))
        return;
    if (op->work.flops > 0)
        op->tflops = op->work.flops / seconds / 1e12;
    if (op->work.bytes > 0)
        op->gbs = op->work.bytes / seconds / 1e9;
    if (c->device)
        compare_with(c->device, op, seconds);
}

/* ---- bringing together ---- */

/* Means of the ranks' shares, weighted by their times. */
static double mean_share(const row *list, int n, int unit)
{
    double sum = 0, time = 0;
    for (int i = 0; i < n; i++)
        if (!isnan(list[i].op->unit[unit])) {
            sum += list[i].op->unit[unit] * (double)list[i].op->total;
            time += (double)list[i].op->total;
        }
    return time > 0 ? sum / time : (double)NAN;
}

/* Of each rank the mean of an execution. @param mean  scratch, [n] */
static void compare_ranks(const row *list, int n, double *mean, ek_compute_operator *op)
{
    op->least = INFINITY;
    op->most = -INFINITY;
    for (int i = 0, end; i < n; i = end) {
        int64_t total = 0, count = 0;
        for (end = i; end < n && list[end].rank == list[i].rank; end++) {
            total = ek__ns_add(total, list[end].op->total);
            count = ek__ns_add(count, list[end].op->count);
        }
        double one = (double)total / (double)count;
        mean[op->n_ranks++] = one;
        if (one < op->least)
            op->least_at = list[i].rank;
        if (one > op->most)
            op->most_at = list[i].rank;
        op->least = fmin(op->least, one);
        op->most = fmax(op->most, one);
    }
    op->median = ek__median(mean, (size_t)op->n_ranks);
}

/* Without the blanks of a file that is laid out for people. NULL when memory is out. */
static const char *compact(ek__pool *pool, const char *text)
{
    char *copy = ek__pool_text(pool, text, strlen(text)), *to = copy;
    for (const char *from = copy; copy && *from; from++) {
        bool blank = *from == ' ' || *from == '\t' || *from == '\r' || *from == '\n';
        bool between = to > copy && ek__is_alnum((unsigned char)to[-1]) && ek__is_alnum((unsigned char)from[1]);
        if (!blank || between)
            *to++ = *from;
    }
    if (copy)
        *to = '\0';
    return copy;
}

static bool make_operator(ek__compute *c, const row *list, int n, double *mean, ek_compute_operator *op)
{
    const ek_trace_shaped *first = list[0].op;
    bool torch = c->run->rank[list[0].rank].producer == EK_PRODUCER_KINETO;
    *op = (ek_compute_operator){.name = first->name[0] ? first->name : first->kernel,
                                .kernel = first->kernel,
                                .shapes = compact(c->run->pool, first->shapes),
                                .types = compact(c->run->pool, first->types),
                                .layout = compact(c->run->pool, first->layout),
                                .core = first->core,
                                .class_ = ek__compute_class_of(first, torch)};
    for (int i = 0; i < n; i++) {
        op->total = ek__ns_add(op->total, list[i].op->total);
        op->count = ek__ns_add(op->count, list[i].op->count);
        op->blocks = list[i].op->blocks > op->blocks ? list[i].op->blocks : op->blocks;
    }
    for (int unit = 0; unit < EK_N_TRACE_UNITS; unit++)
        op->unit[unit] = mean_share(list, n, unit);
    compare_ranks(list, n, mean, op);
    find_work(op, first, torch);
    find_rates(c, op);
    return op->shapes && op->types && op->layout;
}

typedef struct placed {
    ek_compute_operator op;
    int number;
} placed;

static int longest_first(const void *a, const void *b)
{
    const placed *x = a, *y = b;
    if (x->op.total != y->op.total)
        return x->op.total > y->op.total ? -1 : 1;
    return (x->number > y->number) - (x->number < y->number); /* which is by text */
}

static ek_status bring_together(ek__compute *c, row *list, int n, ek_error *err)
{
    double *mean = ek__alloc((size_t)c->run->n_ranks, sizeof *mean);
    placed *all = ek__alloc((size_t)n, sizeof *all);
    int *place = ek__alloc((size_t)n, sizeof *place), n_ops = 0;
    ek_status status = mean && all && place ? EK_OK : ek__no_memory(err);
    if (status == EK_OK && n > 1)
        qsort(list, (size_t)n, sizeof *list, by_text);
    for (int i = 0, end; status == EK_OK && i < n; i = end, n_ops++) {
        for (end = i + 1; end < n && compare(list[end].op, list[i].op) == 0;)
            end++;
        if (!make_operator(c, list + i, end - i, mean, &all[n_ops].op))
            status = ek__no_memory(err);
        all[n_ops].number = n_ops;
        for (int k = i; k < end; k++)
            c->of[list[k].rank][list[k].number] = n_ops;
    }
    if (status == EK_OK && n_ops > 1)
        qsort(all, (size_t)n_ops, sizeof *all, longest_first);
    c->out->op = status ? NULL : ek__pool_alloc(c->run->pool, (size_t)n_ops, sizeof *c->out->op);
    if (status == EK_OK && !c->out->op)
        status = ek__no_memory(err);
    for (int i = 0; status == EK_OK && i < n_ops; i++) {
        c->out->op[i] = all[i].op;
        place[all[i].number] = i;
    }
    c->out->n = status ? 0 : n_ops;
    for (int i = 0; status == EK_OK && i < n; i++)
        c->of[list[i].rank][list[i].number] = place[c->of[list[i].rank][list[i].number]];
    free(mean);
    free(all);
    free(place);
    return status;
}

static void sum_up(ek_compute *out)
{
    for (int i = 0; i < out->n; i++) {
        const ek_compute_operator *op = &out->op[i];
        out->time[op->class_] += (double)op->total;
        out->total += (double)op->total;
        if (op->known == EK_PROFILE_TAKEN) {
            out->flops += op->work.flops * (double)op->count;
            out->known += (double)op->total;
        }
    }
}

ek_status ek__compute_operators(ek__compute *c, ek_error *err)
{
    const ek_trace_run *run = c->run;
    int64_t n = 0;
    for (int r = 0; r < run->n_ranks; r++)
        n += run->rank[r].measured.n;
    row *list = n <= INT32_MAX ? ek__alloc((size_t)n, sizeof *list) : NULL;
    if (!list)
        return ek__no_memory(err);
    n = 0;
    for (int r = 0; r < run->n_ranks; r++)
        for (int i = 0; i < run->rank[r].measured.n; i++) {
            const ek_trace_shaped *op = &run->rank[r].measured.op[i];
            c->word[r][i] = (uint8_t)ek__action_of(op);
            list[n++] = (row){op, r, i};
        }
    ek_status status = bring_together(c, list, (int)n, err);
    free(list);
    if (status == EK_OK)
        sum_up(c->out);
    return status;
}
