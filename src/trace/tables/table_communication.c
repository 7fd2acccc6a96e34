/* Reads communication.json: collectives with their times, summed per step, section (p2p, collective), operator type and
 * group (docs/trace.md). The type is the name up to "__", the group the text after the last '@'. Every operator is also
 * stored as a collective of its own, for ranks without a trace that has them. Totals that the producer adds itself
 * ("Total Op Info") are skipped: they would count everything twice. Size distributions are not read. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/pool.h"
#include "trace/scan/part.h"
#include "trace/tables/table_times.h"
#include "trace/text/left_out.h"
#include "trace/text/side_json.h"

typedef struct sums {
    const ek__table_in *in;
    ek__texts index; /* of step, section and key, one after the other */
    ek_trace_comm_sum *sum;
    size_t capacity;
    int64_t n_operators;
    ek_trace_collective *one; /* [n_ones], in the rank's pool */
    int n_ones;
    ek__left_out left;
    ek__pool *pool;    /* the rank's */
    ek__pool *scratch; /* freed with the file */
} sums;

/* The sums for this key: existing ones, or new ones appended. NULL when memory is out. */
static ek_trace_comm_sum *sum_of(sums *s, const char *step, bool p2p, const char *name)
{
    const char *at = strrchr(name, '@');
    size_t type_size = at ? (size_t)(at - name) : strlen(name);
    const char *numbers = strstr(name, "__");
    if (numbers && (size_t)(numbers - name) < type_size)
        type_size = (size_t)(numbers - name);
    char *unique = ek__pool_format(s->scratch, "%s\n%d\n%.*s%s", step, p2p, (int)type_size, name, at ? at : "");
    if (!unique)
        return NULL;
    int n = (int)s->index.n;
    int number = (int)ek__texts_intern(&s->index, unique, strlen(unique));
    if (number < 0)
        return NULL;
    if (number < n)
        return &s->sum[number];
    ek_trace_comm_sum *sum = ek__with_room(s->sum, &s->capacity, (size_t)n + 1, sizeof *sum);
    if (!sum)
        return NULL;
    s->sum = sum;
    const char *key = unique + strlen(step) + strlen("\n0\n");
    key = ek__pool_text(s->pool, key, strlen(key));
    if (!key)
        return NULL;
    sum[number] = (ek_trace_comm_sum){.step = step, .p2p = p2p, .key = key};
    return &sum[number];
}

/* MB over all ways. SDMA repeats the traffic of HCCS, PCIE and SIO on the node, so it replaces them where it is
 * there. */
static bool read_size(const json_t *bandwidths, double *mb)
{
    static const char *const name[] = {"RDMA", "SDMA", "HCCS", "PCIE", "SIO"};
    enum { RDMA, SDMA, HCCS, PCIE, SIO, N };
    double size[N];
    for (int i = 0; i < N; i++)
        if (!ek__side_json_number(json_object_get(bandwidths, name[i]), "Transit Size(MB)", false, &size[i]))
            return false;
    *mb = size[RDMA] + (size[SDMA] > 0 ? size[SDMA] : size[HCCS] + size[PCIE] + size[SIO]);
    return true;
}

static bool read_operator(const json_t *operator_info, ek_trace_comm_sum *one)
{
    const json_t *times = json_object_get(operator_info, "Communication Time Info");
    if (!ek__side_json_number(times, "Elapse Time(ms)", true, &one->elapse_ms) ||
        !ek__side_json_number(times, "Transit Time(ms)", false, &one->transit_ms) ||
        !ek__side_json_number(times, "Wait Time(ms)", false, &one->wait_ms) ||
        !ek__side_json_number(times, "Synchronization Time(ms)", false, &one->synchronization_ms) ||
        !ek__side_json_number(times, "Idle Time(ms)", false, &one->idle_ms))
        return false;
    if (!json_object_get(times, "Idle Time(ms)"))
        one->idle_ms = one->elapse_ms - one->transit_ms - one->wait_ms;
    return read_size(json_object_get(operator_info, "Communication Bandwidth Info"), &one->size_mb);
}

/* A file without transit times reads as 0 everywhere, which no transfer can have. */
static int64_t transit_of(double elapse_ms, double transit_ms)
{
    double ns = (transit_ms < elapse_ms ? transit_ms : elapse_ms) * 1e6;
    return transit_ms > 0 && ns < 4e18 ? (int64_t)llround(ns) : EK_TRACE_UNKNOWN;
}

/* Its start is rounded to a tenth of a microsecond in the file, and to less as a double. */
static bool keep_one(sums *s, const char *name, const json_t *start, const ek_trace_comm_sum *one, bool p2p)
{
    const double elapse_ms = one->elapse_ms, transit_ms = one->transit_ms;
    const char *at = strrchr(name, '@');
    double us = json_is_number(start) ? json_number_value(start) : -1;
    if (!(us >= 0 && us < 4e15) || elapse_ms < 0)
        return true;
    ek_trace_collective *list = ek__pool_push(s->pool, s->one, s->n_ones, sizeof *list);
    char *own_name = ek__pool_text(s->pool, name, at ? (size_t)(at - name) : strlen(name));
    char *group = at ? ek__pool_text(s->pool, at + 1, strlen(at + 1)) : NULL;
    if (!list || !own_name || (at && !group))
        return false;
    double ns = elapse_ms * 1e6;
    s->one = list;
    s->one[s->n_ones++] = (ek_trace_collective){.name = own_name,
                                                .group = group,
                                                .start = (int64_t)(us * 1000),
                                                .duration = ns < 4e18 ? (int64_t)llround(ns) : INT64_MAX / 2,
                                                .exposed = EK_TRACE_UNKNOWN,
                                                .transit = transit_of(elapse_ms, transit_ms),
                                                .moved_mb = one->size_mb,
                                                .p2p = p2p,
                                                .step = -1,
                                                .sum = -1,
                                                .last = -1,
                                                .last_call = -1,
                                                .last_in_group = -1,
                                                .match = -1};
    return true;
}

/* For figures of the step "step50", or of the one called "step", that need several tables. */
static bool add_time(const sums *s, const char *step, const char *name)
{
    static const char prefix[] = "step";
    const ek_trace_collective *one = &s->one[s->n_ones - 1];
    if (strncmp(step, prefix, sizeof prefix - 1) == 0)
        step += sizeof prefix - 1;
    return ek__table_times_add(s->in->times, s->in->options, EK__TIMED_BY_COMMUNICATION, step, name, true, one->start,
                               one->duration);
}

/* An ek__take_section. */
static ek_status add_section(void *user, const char *step, bool p2p, json_t *section, ek_error *err)
{
    sums *s = user;
    const char *name;
    json_t *operator_info;
    json_object_foreach(section, name, operator_info)
    {
        if (strncmp(name, "Total Op Info", strlen("Total Op Info")) == 0)
            continue;
        s->n_operators++;
        ek_trace_comm_sum one = {0};
        if (!read_operator(operator_info, &one)) {
            ek__left_out_add(&s->left, "'%.80s' of %.40s lacks usable times or sizes", name, step);
            continue;
        }
        ek_trace_comm_sum *sum = sum_of(s, step, p2p, name);
        const json_t *times = json_object_get(operator_info, "Communication Time Info");
        int n_before = s->n_ones;
        if (!sum || !keep_one(s, name, json_object_get(times, "Start Timestamp(us)"), &one, p2p))
            return ek__no_memory(err);
        if (s->in->times && s->n_ones > n_before && !add_time(s, step, s->one[n_before].name))
            return ek__no_memory(err);
        sum->count++;
        sum->elapse_ms += one.elapse_ms;
        sum->transit_ms += one.transit_ms;
        sum->wait_ms += one.wait_ms;
        sum->idle_ms += one.idle_ms;
        sum->synchronization_ms += one.synchronization_ms;
        sum->size_mb += one.size_mb;
    }
    return EK_OK;
}

static int by_start(const void *a, const void *b)
{
    const ek_trace_collective *x = a, *y = b;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return strcmp(x->name, y->name);
}

static ek_status keep(const sums *s, const ek__table_in *in, ek_error *err)
{
    ek_trace_communication *out = &in->rank->communication;
    ek_trace_comm_sum *all = out->comm_sum;
    int n = out->n_comm_sums;
    for (int i = 0; i < (int)s->index.n; i++) {
        all = ek__pool_push(s->pool, all, n, sizeof *all);
        if (!all)
            return ek__no_memory(err);
        all[n++] = s->sum[i];
    }
    ek_status status = ek__left_out_report(&s->left, "entry", "entries", NULL, in, err);
    if (status)
        return status;
    if (s->n_ones > 1)
        qsort(s->one, (size_t)s->n_ones, sizeof *s->one, by_start);
    out->collective = s->one;
    out->n_collectives = s->n_ones;
    out->comm_sum = all;
    out->n_comm_sums = n;
    in->source->items = s->n_operators;
    return EK_OK;
}

ek_status ek__table_communication(const ek__table_in *in, ek_error *err)
{
    json_t *root = NULL;
    ek_status status = ek__side_json_read(in, &root, err);
    if (status)
        return status;
    sums s = {.in = in,
              .pool = in->rank->pool,
              .one = in->rank->communication.collective,
              .n_ones = in->rank->communication.n_collectives,
              .scratch = ek__pool_new()};
    status = !s.scratch ? ek__no_memory(err)
                        : ek__side_json_steps(in, root, "communication times", &s.left, add_section, &s, err);
    if (!status)
        status = keep(&s, in, err);
    json_decref(root);
    ek__pool_free(s.scratch);
    ek__texts_clear(&s.index);
    free(s.sum);
    return status;
}
