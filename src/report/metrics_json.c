/* The metrics of a run and the table of devices for scripts, by docs/metrics-json.md: walks over their figures
 * (figures/metrics.c). */
#include "evenkeel/device.h"
#include "figures/metrics_figures.h"
#include "figures/results.h"
#include "report/fields_json.h"
#include "report/writers.h"

ek_status ek__metrics_write_json(const ek_metrics_report *report, FILE *out, ek_error *err)
{
    return ek__write_fields(ek__result_metrics.fields, report, NULL, 0, out, err);
}

ek_status ek__devices_write_json(FILE *out, ek_error *err)
{
    ek__device_list all;
    all.device = ek_devices(&all.n);
    return ek__write_fields(&ek__device_list_fields, &all, NULL, 0, out, err);
}
