/* Keeps the largest allocations in a short sorted list: most are smaller than its last one and cost one comparison. */
#include "trace/events/largest.h"

#include <math.h>
#include <string.h>

void ek__largest_add(ek__largest *largest, const ek__sized *one)
{
    int n = largest->n;
    if (isnan(one->size) || (n == largest->max && !(one->size > largest->of[n - 1].size)))
        return;
    int at = n < largest->max ? largest->n++ : n - 1;
    for (; at > 0 && one->size > largest->of[at - 1].size; at--)
        largest->of[at] = largest->of[at - 1];
    largest->of[at] = *one;
}

ek_trace_allocation *ek__largest_keep(const ek__largest *largest, const ek__texts *names, double unit_kb,
                                      ek__pool *pool)
{
    ek_trace_allocation *out = ek__pool_alloc(pool, (size_t)largest->n, sizeof *out);
    for (int i = 0; out && i < largest->n; i++) {
        const ek__sized *one = &largest->of[i];
        const char *name = ek__texts_at(names, (uint32_t)one->name);
        out[i] =
            (ek_trace_allocation){ek__pool_text(pool, name, strlen(name)), one->size * unit_kb, one->start, one->end};
        if (!out[i].name)
            return NULL;
    }
    return out;
}
