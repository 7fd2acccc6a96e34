/* Finds periods: the prefix function (Knuth, Morris, Pratt) of the reversed sequence gives the smallest exact period of
 * every tail. Sequences that vary from period to period are not recognised. */
#include "trace/events/periodic.h"

#include <stdlib.h>

#include "base/error.h"

enum { MIN_REPEATS = 3 };

size_t ek__periodic_tail(const uint32_t *name, size_t n, size_t least, size_t *period, bool *no_memory)
{
    uint32_t *border = n < UINT32_MAX ? ek__alloc(n + 1, sizeof *border) : NULL;
    *no_memory = !border && n < UINT32_MAX;
    if (!border)
        return 0;
#define AT(i) name[n - 1 - (i)]
    size_t length = 0, best = 0;
    for (size_t i = 1; i < n; i++) {
        while (length > 0 && AT(i) != AT(length))
            length = border[length];
        length += AT(i) == AT(length);
        border[i + 1] = (uint32_t)length;
        size_t p = i + 1 - length;
        if (p >= least && (i + 1) / p >= MIN_REPEATS) {
            best = i + 1;
            *period = p;
        }
    }
#undef AT
    free(border);
    return best;
}
