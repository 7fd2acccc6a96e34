/* Computes the front of layouts: sorted by memory, then by step, each one that is shorter than all before it. A plan on
 * it is proved by the bounds of all other layouts. */
#include <stdlib.h>

#include "base/error.h"
#include "evenkeel/layout_picture.h"

typedef struct place {
    float mb, seconds;
    long at;
} place;

static int by_memory(const void *a, const void *b)
{
    const place *x = a, *y = b;
    if (x->mb != y->mb)
        return x->mb < y->mb ? -1 : 1;
    if (x->seconds != y->seconds)
        return x->seconds < y->seconds ? -1 : 1;
    return (x->at > y->at) - (x->at < y->at);
}

static ek_status sweep(place *all, long n, ek_layout_front *out, ek_error *err)
{
    ek_layout_front front = {0};
    qsort(all, (size_t)n, sizeof *all, by_memory);
    front.at = ek__alloc((size_t)n + 1, sizeof *front.at);
    front.proved = ek__alloc((size_t)n + 1, sizeof *front.proved);
    if (!front.at || !front.proved) {
        ek_layout_front_clear(&front);
        return ek__no_memory(err);
    }
    float shortest = 0;
    for (long i = 0; i < n; i++)
        if (front.n == 0 || all[i].seconds < shortest) {
            shortest = all[i].seconds;
            front.proved[front.n] = true;
            front.at[front.n++] = all[i].at;
        }
    *out = front;
    return EK_OK;
}

static bool is_proved(const ek_layout_point *point, long n, long at)
{
    for (long i = 0; i < n; i++)
        if (i != at && point[i].fate != EK_FATE_MEMORY && point[i].least_seconds < point[at].seconds &&
            point[i].least_mb < point[at].peak_mb)
            return false;
    return true;
}

ek_status ek_layout_front_of_plans(const ek_layout_point *point, long n, ek_layout_front *out, ek_error *err)
{
    place *all = ek__alloc((size_t)n + 1, sizeof *all);
    long n_all = 0;
    if (!all)
        return ek__no_memory(err);
    for (long i = 0; i < n; i++)
        if (point[i].found)
            all[n_all++] = (place){point[i].peak_mb, point[i].seconds, i};
    ek_status status = sweep(all, n_all, out, err);
    for (long i = 0; !status && i < out->n; i++)
        out->proved[i] = is_proved(point, n, out->at[i]);
    free(all);
    return status;
}

ek_status ek_layout_front_of_bounds(const ek_layout_point *point, long n, ek_layout_front *out, ek_error *err)
{
    place *all = ek__alloc((size_t)n + 1, sizeof *all);
    long n_all = 0;
    if (!all)
        return ek__no_memory(err);
    for (long i = 0; i < n; i++)
        if (point[i].fate != EK_FATE_MEMORY)
            all[n_all++] = (place){point[i].least_mb, point[i].least_seconds, i};
    ek_status status = sweep(all, n_all, out, err);
    free(all);
    return status;
}

void ek_layout_front_clear(ek_layout_front *front)
{
    free(front->at);
    free(front->proved);
    *front = (ek_layout_front){0};
}
