/* Bounds a layout by mixes under each rule of recomputation: the bound, a mix that reaches it, the bound with whole
 * layers. */
#include "layout/mix.h"

#include <math.h>

/* The bound by mixes under one rule: *bound is the step, and *out a mix if one was found. */
static ek_status look_under(const ek__mixes *mixes, const ek__bound_figures *figures, const ek_device *device,
                            double upper, bool find, bool (*over)(void *user), void *user, ek__mix **out, double *bound,
                            ek_error *err)
{
    ek__mix_layout layout;
    double enough = ek__mix_seconds_of(figures, upper), seconds;
    *out = NULL;
    ek_status status = ek__mix_layout_init(&layout, figures, device, mixes, err);
    if (status)
        return status;
    double most = ek__mixes_bound(&layout, enough);
    if (most < enough && find) {
        status = ek__mix_find(&layout, enough, over, user, out, &seconds, err);
        most = status ? most : fmax(most, seconds);
    }
    *bound = ek__mix_step_of(figures, most);
    ek__mix_layout_clear(&layout);
    return status;
}

ek_status ek__mixes_look(const ek__mixes *mixes, const ek__bound_figures *figures, const ek_device *device,
                         double upper, bool find, bool (*over)(void *user), void *user, ek__mix **out, double *bound,
                         ek_error *err)
{
    ek__rule_says says;
    ek__bound_figures under;
    ek_status status = EK_OK;
    *out = NULL;
    *bound = INFINITY;
    for (int i = 0; !status && i < ek__rule_says_at(figures->job, i, &says); i++) {
        ek__mix *mix = NULL;
        if (!ek__bound_under(figures, &says, &under))
            continue;
        double one = ek__bound_within_rule(&under, mixes->v, mixes->schedule);
        if (one < fmin(upper, *bound))
            status = look_under(mixes, &under, device, upper, find, over, user, &mix, &one, err);
        if (one < *bound && mix) { /* the mix of the rule that bounds the layout */
            ek__mix_free(*out);
            *out = mix;
        } else {
            ek__mix_free(mix);
        }
        *bound = fmin(*bound, one);
    }
    return status;
}

ek_status ek__mixes_branch_rule(const ek__mixes *mixes, const ek__bound_figures *figures, const ek_device *device,
                                const ek__branch_options *options, double *bound, ek_error *err)
{
    ek__mix_layout layout;
    double seconds = 0;
    ek_status status = ek__mix_layout_init(&layout, figures, device, mixes, err);
    if (status)
        return status;
    status = ek__mix_branch(&layout, options, &seconds, err);
    *bound = ek__mix_step_of(figures, seconds);
    ek__mix_layout_clear(&layout);
    return status;
}

ek_status ek__mixes_branch(const ek__mixes *mixes, const ek__bound_figures *figures, const ek_device *device,
                           const ek__branch_options *options, double *bound, ek_error *err)
{
    ek__rule_says says;
    ek__bound_figures under;
    ek__branch_options with = *options;
    ek_status status = EK_OK;
    for (int i = 0; !status && i < ek__rule_says_at(figures->job, i, &says); i++) {
        double one = INFINITY;
        if (ek__bound_under(figures, &says, &under) &&
            ek__bound_within_rule(&under, mixes->v, mixes->schedule) < with.upper)
            status = ek__mixes_branch_rule(mixes, &under, device, &with, &one, err);
        with.upper = fmin(with.upper, one);
    }
    *bound = with.upper;
    return status;
}
