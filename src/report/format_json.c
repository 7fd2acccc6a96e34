/* The versioned machine contract (docs/json.md): walks over the figures of each answer (figures/balance*.c, dryrun.c).
 */
#include <assert.h>

#include "report/fields_json.h"
#include "report/report_internal.h"

/* One answer, or a list of one for every case. */
ek_status ek__json_report(const ek_report *report, FILE *out, ek_error *err)
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

ek_status ek__json_schedules(FILE *out, ek_error *err)
{
    return ek__write_fields(&ek__schedules_answer, ek_schedules, NULL, 0, out, err);
}

#define WRITER_OF(name, type, fields)                                                                                  \
    ek_status ek__json_##name(const type *answer, FILE *out, ek_error *err)                                            \
    {                                                                                                                  \
        return ek__write_fields(fields, answer, NULL, 0, out, err);                                                    \
    }
WRITER_OF(uniform, ek_uniform_run, &ek__uniform_answer)
WRITER_OF(sweep, ek_sweep, &ek__sweep_answer)
WRITER_OF(quick, ek_quick_report, &ek__quick_answer)
WRITER_OF(guide, ek_guide, ek__result_guide.fields)
WRITER_OF(collected, ek_collected, ek__result_collected.fields)
