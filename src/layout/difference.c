/* Computes the difference of two steps by part, and describes it in words with figures that add up as printed. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/c_locale.h"
#include "evenkeel/layout_advice.h"

enum { MOST_PARTS = 6 }; /* in words */

ek_layout_difference ek_layout_difference_of(const ek_step *a, const ek_step *b)
{
    const double *x = a->stage[a->slowest].seconds, *y = b->stage[b->slowest].seconds;
    ek_layout_difference d = {.seconds = a->seconds - b->seconds, .share = a->seconds / b->seconds - 1};
    for (int i = 0; i < EK_N_STEP_PARTS; i++)
        d.part[i] = (x[i] - y[i]) / b->seconds;
    return d;
}

/* In tenths of a percent. */
static int tenths(double share)
{
    return (int)lround(1000 * share);
}

/* The parts by size, the largest first; of equal ones the first. */
static void order_parts(const ek_layout_difference *d, int order[EK_N_STEP_PARTS])
{
    for (int i = 0; i < EK_N_STEP_PARTS; i++) {
        int k = i;
        for (; k > 0 && fabs(d->part[order[k - 1]]) < fabs(d->part[i]); k--)
            order[k] = order[k - 1];
        order[k] = i;
    }
}

typedef struct writer {
    char *text;
    size_t size, used;
    int left, n; /* tenths not named yet, parts named */
} writer;

static void put(writer *w, const char *title, int value)
{
    if (value == 0 || w->used >= w->size)
        return;
    w->used += (size_t)ek__snprintf(w->text + w->used, w->size - w->used, "%s%s %+.1f", w->n++ ? ", " : ": ", title,
                                    value / 10.0);
    w->left -= value;
}

const char *ek_layout_difference_words(const ek_layout_difference *d, char *text, size_t size)
{
    int order[EK_N_STEP_PARTS] = {0}, all = tenths(d->share);
    writer w = {.text = text, .size = size, .left = all};
    w.used = all == 0 ? (size_t)ek__snprintf(text, size, "as long")
                      : (size_t)ek__snprintf(text, size, "%.1f %% %s", abs(all) / 10.0, all > 0 ? "longer" : "shorter");
    order_parts(d, order);
    for (int i = 0; i < EK_N_STEP_PARTS && w.n < MOST_PARTS; i++)
        put(&w, ek_step_part_title[order[i]], tenths(d->part[order[i]]));
    put(&w, "others", w.left);
    return text;
}
