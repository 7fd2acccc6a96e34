/* Figures of a sweep of layouts: the best one by devices, memory or global batch. */
#include <math.h>

#include "figures/layout_figures.h"
#include "figures/rows.h"

#define EK__T ek_layout_sweep_point
static double found(const ek_layout_sweep_point *p, double value)
{
    return p->found ? value : (double)NAN;
}
FINDER(layout_of, it->found ? &it->plan.layout : NULL);
FINDER(plan_of, it->found ? &it->plan : NULL);
GETTER(gap, real, found(it, it->gap));
GETTER(seconds, real, found(it, it->step_seconds));
GETTER(tokens, real, found(it, it->tokens_per_second_per_device));
GETTER(least_mb, real, it->found ? (double)NAN : it->least_mb);
/* The share that a part of the step adds to the device time of a token. */
static double lost(const ek_layout_sweep_point *p, const ek__owner *of)
{
    const ek_layout_sweep *sweep = of->parent;
    ek_layout_difference d;
    return ek_layout_sweep_difference(sweep, (int)(p - sweep->point), &d) ? d.part[of->number] : (double)NAN;
}
GETTER(lost_to, real, lost(it, of));
GETTER(peak, number, it->found ? ek__layout_peak(&it->plan) : INT64_MIN);
static const ek__member point[] = {
    {"value", REAL(value), "devices, MB or sequences", CSV(1)},
    {"devices", COUNT(n_devices), "with which", CSV(2)},
    {"global_batch", COUNT(global_batch), "sequences of a step", CSV(3)},
    {"found", FLAG(found), "there is a plan"},
    {"proved", FLAG(proved), "no layout has a shorter plan", CSV(8, .spelled = true)},
    {"gap", GET(SHARE, gap), "how much shorter a step could still be, as a share; null without a plan"},
    {"step_time_s", GET(SECONDS, seconds), "predicted; null without a plan", CSV(4, .decimals = 9)},
    {"tokens_per_second_per_device", GET(REAL, tokens), "throughput of a device; null without a plan",
     CSV(5, .decimals = 3)},
    {"linearity", SHARE(linearity), "of that to the first value's with a plan; null without a plan",
     CSV(6, .decimals = 6)},
    {"lost_to", GET_BY_WORD(SHARE, lost_to, ek__step_part_name, EK_N_STEP_PARTS),
     "by part of the step, the change of the device time of a token against that value, as a share of all of it there; "
     "they add up to 1 / linearity - 1; null for the first and without a plan"},
    {"least_peak_mb", GET(MB, least_mb), "where nothing fits: what the layout that needs least needs; else null",
     DECIMALS(3), .positive = true},
    {"plan", FOUND(plan_of, ek__layout_plan_fields), "the best; null where nothing fits"},
    {NULL, GET(BYTES_MB, peak), NULL, CSV(7, "peak_mb")},
    {NULL, FOUND(layout_of, ek__layout_fields), NULL, CSV(1)},
};
static const ek__fields points = {FIELDS(point, "points[]", "In the order of the values."), .lines = true};
#undef EK__T

#define EK__T ek_layout_sweep
static const ek__member sweep[] = {
    {"sweep", WORD(what, ek__layout_sweep_name), "`devices`, `memory` or `global-batch`"},
    {"last_linear", NUMBER(last_linear),
     "place in `points` of the last value before linearity falls below 0.8; null: none"},
    {"cheapest", NUMBER(cheapest),
     "place of the fewest devices whose step is no longer than `--step`; null without it, or where none is"},
    {"points", LIST(n, point, points), "a search at each value"},
};
static const ek__fields sweeps = {FIELDS(sweep, NULL, NULL)};
#undef EK__T

#define EK__T ek_layout_sweep_report
GETTER(version, number, 1);
GETTER(job_name, text, it->job->name);
GETTER(device, text, it->device->name);
FINDER(sweep_of, it->sweep);
static const ek__member report[] = {
    {"version", GET(COUNT, version), "1"},
    {"job", GET(TEXT, job_name), "name of the model"},
    {"device", GET(TEXT, device), "its name"},
    {NULL, FOUND_PARTS(sweep_of, sweeps)},
};
const ek__fields ek__layout_sweep_fields = {FIELDS(report, "--sweep", "The whole of the object that `--sweep` prints."),
                                            .lines = true};
#undef EK__T

#define EK__R ek_layout_sweep
const ek__rows ek__layout_sweep_rows = {"sweep", .fields = &points, RESULT_LIST(n, point)};
#undef EK__R
