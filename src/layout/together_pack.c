/* Packs the contents of a search's items as bytes: mixes of a pipeline, and the plan found for a layout. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "job/job_pack.h"
#include "layout/together.h"

/* The arrays of a mix are one allocation. */
static size_t size_of(const ek__mixes *of)
{
    return (4 * (size_t)of->n_cells + 4 * (size_t)of->p + 1) * sizeof(double);
}

void ek__mix_pack(const ek__mixes *of, const ek__mix *mix, ek__pack *to)
{
    const bool is_there = mix != NULL;
    EK__PACK(to, is_there);
    if (mix)
        ek__pack_put(to, mix->forward, size_of(of));
}

ek_status ek__mix_unpack(ek__unpack *from, const ek__mixes *of, ek__mix **out, ek_error *err)
{
    bool is_there = false;
    *out = NULL;
    EK__UNPACK(from, is_there);
    if (!is_there)
        return EK_OK;
    ek__mix *mix = of ? ek__mix_new(of) : NULL;
    if (!mix)
        return ek__no_memory(err);
    if (!ek__unpack_get(from, mix->forward, size_of(of))) {
        ek__mix_free(mix);
        return ek__unpack_end(from, err);
    }
    *out = mix;
    return EK_OK;
}

void ek__mixes_pack(const ek__mixes *mixes, ek__pack *to)
{
    const bool is_there = mixes != NULL;
    EK__PACK(to, is_there);
    if (!mixes)
        return;
    EK__PACK(to, mixes->n);
    for (size_t i = 0; i < mixes->n; i++)
        ek__mix_pack(mixes, mixes->mix[i], to);
}

ek_status ek__mixes_unpack(ek__unpack *from, ek__mixes *known, ek__mixes *view, ek__mixes **out, ek_error *err)
{
    bool is_there = false;
    size_t n = 0;
    ek_status status = EK_OK;
    *out = NULL;
    EK__UNPACK(from, is_there);
    if (!is_there)
        return EK_OK;
    EK__UNPACK(from, n);
    if (!known)
        from->wrong = true;
    for (size_t i = 0; i < n && !status && !from->wrong; i++) {
        ek__mix *mix;
        status = ek__mix_unpack(from, known, &mix, err);
        if (!status && mix && i == known->n) /* mixes of a pipeline are never removed */
            status = ek__mixes_add(known, mix, err);
        else
            ek__mix_free(mix);
    }
    if (status || from->wrong)
        return status ? status : ek__unpack_end(from, err);
    *view = *known;
    view->n = n;
    *out = view;
    return EK_OK;
}

void ek__split_pack(const ek__split *split, ek__pack *to)
{
    const bool has_peaks = split->actual != NULL;
    EK__PACK(to, split->found);
    EK__PACK(to, split->seconds);
    EK__PACK(to, split->peak_mb);
    EK__PACK(to, split->bound);
    EK__PACK(to, split->over);
    EK__PACK(to, split->free);
    if (!split->found)
        return;
    ek__job_pack(&split->job, to);
    EK__PACK(to, has_peaks);
    if (has_peaks)
        ek__pack_put(to, split->actual, (size_t)split->job.plan.n_stages * sizeof *split->actual);
}

ek_status ek__split_unpack(ek__unpack *from, const char *path, ek__split *out, ek_error *err)
{
    ek__split split = {.seconds = 0};
    bool has_peaks = false;
    EK__UNPACK(from, split.found);
    EK__UNPACK(from, split.seconds);
    EK__UNPACK(from, split.peak_mb);
    EK__UNPACK(from, split.bound);
    EK__UNPACK(from, split.over);
    EK__UNPACK(from, split.free);
    ek_status status = split.found ? ek__job_unpack(from, path, &split.job, err) : EK_OK;
    if (!status && split.found)
        EK__UNPACK(from, has_peaks);
    if (!status && has_peaks) {
        split.actual = ek__unpack_array(from, (size_t)split.job.plan.n_stages, sizeof *split.actual);
        status = split.actual || from->wrong ? EK_OK : ek__no_memory(err);
    }
    if (!status && from->wrong)
        status = ek__unpack_end(from, err);
    if (status)
        ek__split_clear(&split);
    else
        *out = split;
    return status;
}
