/* Keeps the worst of many executions in a short list: most are less bad than all in the list, which one comparison with
 * the least bad shows. */
#include "trace/events/outliers.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

static int by_loss(const void *a, const void *b)
{
    const ek_trace_outlier *x = a, *y = b;
    int64_t lost_x = x->duration - x->expected, lost_y = y->duration - y->expected;
    if (lost_x != lost_y)
        return lost_x > lost_y ? -1 : 1;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return strcmp(x->name, y->name);
}

/* Once full, the least bad one is last. */
static void add_least_last(ek__outliers *outliers)
{
    ek_trace_outlier *last = &outliers->of[EK_TRACE_MAX_NAMES - 1];
    int least = EK_TRACE_MAX_NAMES - 1;
    for (int i = 0; i < EK_TRACE_MAX_NAMES - 1; i++)
        if (by_loss(&outliers->of[i], &outliers->of[least]) > 0)
            least = i;
    ek_trace_outlier other = outliers->of[least];
    outliers->of[least] = *last;
    *last = other;
}

void ek__outliers_add(ek__outliers *outliers, const ek_trace_outlier *one)
{
    if (outliers->n < EK_TRACE_MAX_NAMES)
        outliers->of[outliers->n++] = *one;
    else if (by_loss(one, &outliers->of[EK_TRACE_MAX_NAMES - 1]) < 0)
        outliers->of[EK_TRACE_MAX_NAMES - 1] = *one;
    else
        return;
    if (outliers->n == EK_TRACE_MAX_NAMES)
        add_least_last(outliers);
}

static bool keep_text(ek__pool *pool, const char **text)
{
    *text = ek__pool_text(pool, *text, strlen(*text));
    return *text;
}

ek_status ek__outliers_keep(ek__outliers *outliers, ek__pool *pool, ek_trace_operators *out, ek_error *err)
{
    size_t n = (size_t)outliers->n;
    ek_trace_outlier *kept = ek__pool_alloc(pool, n, sizeof *kept);
    if (!kept)
        return ek__no_memory(err);
    if (n > 0) {
        qsort(outliers->of, n, sizeof *kept, by_loss);
        memcpy(kept, outliers->of, n * sizeof *kept);
    }
    for (size_t i = 0; i < n; i++)
        if (!keep_text(pool, &kept[i].name) || (kept[i].shape && !keep_text(pool, &kept[i].shape)))
            return ek__no_memory(err);
    out->outlier = kept;
    out->n_outliers = outliers->n;
    return EK_OK;
}
