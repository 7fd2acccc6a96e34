/* Warnings about the lost processes of a team. */
#include "base/error.h"
#include "team/deal.h"

void ek__deal_tell_of_lost(const ek__deal_end *end, double patience, const char *then, const ek_listener *listener)
{
    for (int i = 0; i < end->n_lost && i < EK__DEAL_MOST_TOLD; i++)
        ek__warn(listener, EK__NOWHERE, "process %d on %s has shown no sign of life for %.0f s and is left out%s",
                 end->lost[i], end->lost_host[i], ek__deal_patience(patience), then);
    if (end->n_lost > EK__DEAL_MOST_TOLD)
        ek__warn(listener, EK__NOWHERE, "as are %d more processes", end->n_lost - EK__DEAL_MOST_TOLD);
}
