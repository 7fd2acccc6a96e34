/* The list of results. */
#include "figures/results.h"

#define POINT(name, document) &ek__result_##name,
const ek__result *const ek__results[] = {EK__RESULT_LIST(POINT)};
const int ek__n_results = sizeof ek__results / sizeof *ek__results;

const ek__rows *ek__next_of(const ek__rows *rows, int n, const ek__rows *last)
{
    const ek__rows *next = last ? last + 1 : rows;
    return next < rows + n ? next : NULL;
}
