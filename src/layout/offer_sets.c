/* Offers sets of operators to a search as the recomputation of its lists. The patterns of a file and the framework's
 * default ones may save too little memory for their time. */
#include "evenkeel/layout.h"
#include "evenkeel/recompute_sets.h"

enum { OFFERED = 2 }; /* a plan has two lists in addition to that of whole layers */

ek_status ek_layout_offer_sets(const ek_job *job, const ek_device *device, ek_job *out, ek_error *err)
{
    const ek_recompute_set *set[OFFERED] = {NULL, NULL};
    ek_recompute_set_list list;
    int n = 0;
    if (job->framework != EK_MINDFORMERS && job->framework != EK_MINDFORMERS_MCORE)
        return ek_job_copy(job, out, err);
    ek_status status = ek_recompute_sets(job, device, OFFERED, &list, err);
    if (status)
        return status;
    for (int i = 0; i < list.n && n < OFFERED; i++)
        if (list.set[i].offered)
            set[n++] = &list.set[i];
    status = n > 0 ? ek_job_use_recompute_sets(job, set[0], set[1], out, err) : ek_job_copy(job, out, err);
    ek_recompute_set_list_clear(&list);
    return status;
}
