/* Finds the purpose of NCCL's SendRecv kernels. Sends and receives of a pipeline and all-to-all use the same kernel, so
 * its name does not distinguish them. In this order: --receive; the arguments ("Collective name"); the range that
 * PyTorch puts around the call ("nccl:all_to_all", "nccl:send 0->1"), on the device over the kernel or on the host over
 * its launch. Kernels of a trace without any of these are classified like its others, when those are all of one kind;
 * else unclear, and the comparison of ranks examines them. The kind is stored in ek__event.core, which Kineto has no
 * other use for. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "trace/analyse/analysis.h"
#include "trace/scan/part.h"

/* A range of PyTorch around calls of NCCL. */
typedef struct range {
    int64_t start, end;
    uint32_t name;
    uint16_t track;
} range;

typedef struct ranges {
    size_t n;
    range *at; /* [n], by track, then start */
} ranges;

enum { MAX_NESTED = 16 }; /* ranges that may lie between a call and its own range */

static int by_track(const void *a, const void *b)
{
    const range *x = a, *y = b;
    if (x->track != y->track)
        return x->track < y->track ? -1 : 1;
    return (x->start > y->start) - (x->start < y->start);
}

static bool begins(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

static bool find_ranges(const ek__trace *trace, ranges *out)
{
    static const ek__event_kind kinds[] = {EK__EVENT_ANNOTATION, EK__EVENT_DEVICE_ANNOTATION};
    out->at = ek__alloc(trace->of[kinds[0]].n + trace->of[kinds[1]].n, sizeof *out->at);
    for (int k = 0; k < 2 && out->at; k++) {
        const ek__slice *slice = &trace->of[kinds[k]];
        for (size_t i = 0; i < slice->n; i++) {
            const ek__event *e = &slice->event[i];
            if (begins(ek__trace_name(trace, e->name), "nccl:"))
                out->at[out->n++] = (range){e->start, ek__event_end(e), e->name, e->track};
        }
    }
    if (out->at && out->n > 1)
        qsort(out->at, out->n, sizeof *out->at, by_track);
    return out->at;
}

/* The innermost range of a track at a time, as its text after "nccl:"; NULL without. O(log ranges). */
static const char *range_at(const ek__trace *trace, const ranges *r, uint16_t track, int64_t time)
{
    size_t low = 0, high = r->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const range *one = &r->at[middle];
        if (one->track < track || (one->track == track && one->start <= time))
            low = middle + 1;
        else
            high = middle;
    }
    for (int i = 0; i < MAX_NESTED && low > 0 && r->at[low - 1].track == track; i++)
        if (r->at[--low].end >= time)
            return ek__trace_name(trace, r->at[low].name) + strlen("nccl:");
    return NULL;
}

/* Of the operation that arguments or a range name. */
static ek_trace_exchange kind_of_text(const char *text)
{
    if (begins(text, "send") || begins(text, "recv") || begins(text, "batch"))
        return EK_EXCHANGE_P2P;
    return EK_EXCHANGE_COLLECTIVE;
}

static bool is_send_receive(const char *name)
{
    return strstr(name, "SendRecv") != NULL;
}

static ek_trace_exchange kind_of(const ek__trace *trace, const ek_trace_options *options, const ranges *r,
                                 const ek__event *e)
{
    const char *name = ek__trace_name(trace, e->name), *detail = ek__trace_name(trace, e->detail);
    bool exchange = is_send_receive(name);
    if (options && options->n_receives > 0 && ek__is_receive(options, name))
        return EK_EXCHANGE_P2P;
    if (!detail[0]) {
        const ek__event *launch = ek__launch_of(trace, e);
        detail = range_at(trace, r, e->track, e->start);
        if (!detail && launch)
            detail = range_at(trace, r, launch->track, launch->start);
    }
    if (!detail || !detail[0])
        return exchange ? EK_EXCHANGE_UNCLEAR : EK_EXCHANGE_NONE;
    if (begins(detail, "coalesced")) /* for several calls: sends and receives, when the kernel is one of them */
        return exchange ? EK_EXCHANGE_P2P : EK_EXCHANGE_NONE;
    ek_trace_exchange kind = kind_of_text(detail);
    return exchange || kind == EK_EXCHANGE_P2P ? kind : EK_EXCHANGE_NONE;
}

/* Unclassified ones get the kind of the trace's other exchanges, when these are all equal. */
static void fill_unclear(ek__event *e, size_t n)
{
    size_t count[EK_N_EXCHANGES] = {0};
    for (size_t i = 0; i < n; i++)
        count[e[i].core]++;
    bool p2p = count[EK_EXCHANGE_P2P] > 0, collective = count[EK_EXCHANGE_COLLECTIVE] > 0;
    for (size_t i = 0; i < n && p2p != collective; i++)
        if (e[i].core == EK_EXCHANGE_UNCLEAR)
            e[i].core = (uint8_t)(p2p ? EK_EXCHANGE_P2P : EK_EXCHANGE_COLLECTIVE);
}

ek_status ek__name_exchanges(ek__trace *trace, const ek_trace_options *options, ek_error *err)
{
    size_t n = trace->of[EK__EVENT_COLLECTIVE].n;
    ek__event *e = trace->store->event[EK__EVENT_COLLECTIVE];
    ranges r = {0};
    if (trace->producer != EK_PRODUCER_KINETO || n == 0)
        return EK_OK;
    if (!find_ranges(trace, &r))
        return ek__no_memory(err);
    for (size_t i = 0; i < n; i++)
        e[i].core = (uint8_t)kind_of(trace, options, &r, &e[i]);
    fill_unclear(e, n);
    free(r.at);
    return EK_OK;
}
