/* Writes simulated and balanced plans as JSON, the versioned machine contract (docs/json.md), by a walk over their
 * figures (figures/balance*.c). */
#include <assert.h>

#include "report/fields_json.h"
#include "report/report_internal.h"
#include "report/writers.h"

/* One result, or a list with one per case. */
ek_status ek__balance_write_json(const ek_report *report, FILE *out, ek_error *err)
{
    bool list = ek__is_list(report);
    int n = list ? report->n_cases : 1;
    ek_status status = EK_OK;
    assert(report->search || report->n_cases > 0);
    for (int i = 0; i < n && status == EK_OK; i++) {
        ek__stream s = {.out = out, .points = true};
        ek__json_walk w = {.s = &s, .of = {.result = report, .number = i}, .err = err};
        fputs(!list ? "" : i == 0 ? "[\n" : ",\n", out);
        status = ek__put_record(&w, NULL, ek__result_balance.fields, report);
    }
    fputs(list ? "\n]\n" : "\n", out);
    return status ? status : ek__finish(out, err);
}
