/* An estimate for scripts, by docs/estimate-json.md, and as a table of comma-separated values: walks over its figures
 * (figures/estimate.c). */
#include "evenkeel/estimate_report.h"
#include "figures/estimate_figures.h"
#include "figures/results.h"
#include "report/fields_csv.h"
#include "report/fields_json.h"
#include "report/writers.h"

ek_status ek__estimate_write_json(const ek_estimate_report *report, FILE *out, ek_error *err)
{
    return ek__write_fields(ek__result_estimate.fields, report, NULL, 0, out, err);
}

ek_status ek__estimate_write_csv(const ek_estimate_report *report, FILE *out, ek_error *err)
{
    return ek__write_csv(&ek__estimate_table[EK__ESTIMATE_CSV], report, out, err);
}
