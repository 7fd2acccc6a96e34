/* Checks that the Overlap Analysis layer is complete. Profilers write it after the events that it sums up, so a cut or
 * filtered file loses parts of it, and its sums then belong to no step. Five conditions must be met, each within a
 * hundredth: its events of a kind do not overlap; operators run during the layer's computing, or communication for
 * those that do both; collectives run during its communication; exposed time is communication outside computing; and
 * free covers its span. Layers of real profilers meet all of them within nanoseconds. O(events). */
#include "trace/events/device.h"

static const double tolerance = 0.01;
enum { ROUNDING_NS = 10000 };

/* The layer's four kinds, and its computing and communication together. */
typedef struct layer {
    ek__intervals computing, communication, exposed, idle, busy;
} layer;

static void clear(layer *l)
{
    ek__intervals_clear(&l->computing);
    ek__intervals_clear(&l->communication);
    ek__intervals_clear(&l->exposed);
    ek__intervals_clear(&l->idle);
    ek__intervals_clear(&l->busy);
}

static bool gather(const ek__trace *trace, layer *l)
{
    return ek__intervals_of(trace->of[EK__EVENT_COMPUTING], INT64_MIN, INT64_MAX, &l->computing) &&
           ek__intervals_of(trace->of[EK__EVENT_COMMUNICATION], INT64_MIN, INT64_MAX, &l->communication) &&
           ek__intervals_of(trace->of[EK__EVENT_NOT_OVERLAPPED], INT64_MIN, INT64_MAX, &l->exposed) &&
           ek__intervals_of(trace->of[EK__EVENT_FREE], INT64_MIN, INT64_MAX, &l->idle) &&
           ek__intervals_unite(&l->computing, &l->communication, &l->busy);
}

/* Is `wrong` more than the rounding error of a length? */
static bool matters(int64_t wrong, int64_t length)
{
    double size = wrong < 0 ? -(double)wrong : (double)wrong;
    return size > tolerance * (double)length && size > ROUNDING_NS;
}

/* Does the span continue where Free has ended, or begin before it? Between steps some producers leave gaps unnamed. */
static bool is_free_cut(const layer *l)
{
    if (l->busy.n == 0)
        return false;
    ek__interval span = {l->busy.at[0].start, l->busy.at[l->busy.n - 1].end}, reach = {span.start, span.start};
    if (l->idle.n > 0)
        reach = (ek__interval){l->idle.at[0].start, l->idle.at[l->idle.n - 1].end};
    ek__intervals before = {1, 1, &(ek__interval){span.start, reach.start}};
    ek__intervals behind = {1, 1, &(ek__interval){reach.end, span.end}};
    int64_t unnamed = reach.start > span.start ? ek__intervals_without(&before, &l->busy) : 0;
    if (reach.end < span.end)
        unnamed = ek__ns_add(unnamed, ek__intervals_without(&behind, &l->busy));
    return matters(unnamed, ek__ns_sub(span.end, span.start));
}

/* Do events of one kind overlap? */
static bool is_manifold(const ek__trace *trace, const layer *l)
{
    const ek__intervals *const of[] = {&l->computing, &l->communication, &l->exposed, &l->idle};
    for (int k = 0; k < 4; k++) {
        ek__slice slice = trace->of[EK__EVENT_COMPUTING + k];
        int64_t sum = 0, once = ek__intervals_length(of[k]);
        for (size_t i = 0; i < slice.n; i++)
            sum = ek__ns_add(sum, slice.event[i].duration);
        if (matters(ek__ns_sub(sum, once), once))
            return true;
    }
    return false;
}

static const char *problem_of(const ek__trace *trace, const layer *l, const ek__device_sets *own)
{
    if (is_manifold(trace, l))
        return "its events run at the same time";
    int64_t exposed = ek__intervals_without(&l->communication, &l->computing);
    if (matters(ek__intervals_without(&own->computing, &l->busy), ek__intervals_length(&own->computing)))
        return "operators run outside its computing";
    if (matters(ek__intervals_without(&own->communication, &l->communication),
                ek__intervals_length(&own->communication)))
        return "collectives run outside its communication";
    if (matters(ek__intervals_length(&l->exposed) - exposed, ek__intervals_length(&l->communication)))
        return "its exposed communication is not its communication outside computing";
    return is_free_cut(l) ? "its free time ends before its computing and communication" : NULL;
}

ek_status ek__overlap_layer_problem(const ek__trace *trace, const char **problem, ek_error *err)
{
    static const ek_trace_options usual = {0}, raw = {.from_raw_events = true};
    layer l = {0};
    ek__device_sets own = {0};
    *problem = NULL;
    if (!ek__has_overlap_layer(trace, &usual))
        return EK_OK;
    ek_status status = ek__device_sets_make(trace, &raw, &own, err);
    if (status == EK_OK && !gather(trace, &l))
        status = ek__no_memory(err);
    if (status == EK_OK && own.computing.n + own.communication.n > 0)
        *problem = problem_of(trace, &l, &own);
    clear(&l);
    ek__device_sets_clear(&own);
    return status;
}
