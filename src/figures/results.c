/* The list of results. */
#include "figures/results.h"

#define POINT(name, document) &ek__result_##name,
const ek__result *const ek__results[] = {EK__RESULT_LIST(POINT)};
const int ek__n_results = sizeof ek__results / sizeof *ek__results;
