/* Writes JSON and tables of comma-separated values of results that are fully described in src/figures. */
#include "evenkeel/device.h"
#include "evenkeel/diagnose.h"
#include "evenkeel/doctor.h"
#include "evenkeel/estimate_report.h"
#include "evenkeel/lint.h"
#include "evenkeel/memory_report.h"
#include "evenkeel/overview.h"
#include "evenkeel/rehearse.h"
#include "figures/balance_figures.h"
#include "figures/calibration_figures.h"
#include "figures/estimate_figures.h"
#include "figures/layout_figures.h"
#include "figures/memory_figures.h"
#include "figures/metrics_figures.h"
#include "figures/results.h"
#include "report/fields_csv.h"
#include "report/fields_json.h"
#include "report/report_internal.h"
#include "report/writers.h"

#define JSON_OF(function, type, fields)                                                                                \
    ek_status function(const type *result, FILE *out, ek_error *err)                                                   \
    {                                                                                                                  \
        return ek__write_fields(fields, result, NULL, 0, out, err);                                                    \
    }
#define CSV_OF(function, type, rows, list)                                                                             \
    ek_status function(const type *result, FILE *out, ek_error *err)                                                   \
    {                                                                                                                  \
        return ek__write_csv(rows, list, out, err);                                                                    \
    }

JSON_OF(ek__calibration_write_json, ek_calibration, ek__result_calibration.fields)
JSON_OF(ek__diagnosis_write_json, ek_diagnosis, ek__result_diagnosis.fields)
JSON_OF(ek__estimate_write_json, ek_estimate_report, ek__result_estimate.fields)
JSON_OF(ek__collected_write_json, ek_collected, ek__result_collected.fields)
JSON_OF(ek__doctor_write_json, ek_doctor, ek__result_doctor.fields)
JSON_OF(ek__guide_write_json, ek_guide, ek__result_guide.fields)
JSON_OF(ek__quick_write_json, ek_quick_report, &ek__quick_answer)
JSON_OF(ek__sweep_write_json, ek_sweep, &ek__sweep_answer)
JSON_OF(ek__lint_write_json, ek_lint, ek__result_lint.fields)
JSON_OF(ek__rehearsal_write_json, ek_rehearse_result, ek__result_rehearsal.fields)
JSON_OF(ek__uniform_write_json, ek_uniform_run, &ek__uniform_answer)
JSON_OF(ek__layout_sweep_write_json, ek_layout_sweep_report, &ek__layout_sweep_fields)
JSON_OF(ek__memory_write_json, ek_memory_report, ek__result_memory.fields)
JSON_OF(ek__metrics_write_json, ek_metrics_report, ek__result_metrics.fields)
JSON_OF(ek__overview_write_json, ek_overview, ek__result_overview.fields)

CSV_OF(ek__calibration_write_csv, ek_calibration, &ek__calibration_table[EK__CALIBRATION_RUNS], result)
CSV_OF(ek__estimate_write_csv, ek_estimate_report, &ek__estimate_table[EK__ESTIMATE_CSV], result)
CSV_OF(ek__layout_sweep_write_csv, ek_layout_sweep_report, &ek__layout_sweep_rows, result->sweep)
CSV_OF(ek__layout_write_csv, ek_layout_report, &ek__layout_plan_rows, result->result)
CSV_OF(ek__memory_write_csv, ek_memory_report, &ek__memory_table[EK__MEMORY_STAGES], result)

ek_status ek__devices_write_json(FILE *out, ek_error *err)
{
    ek__device_list all;
    all.device = ek_devices(&all.n);
    return ek__write_fields(&ek__device_list_fields, &all, NULL, 0, out, err);
}

ek_status ek__schedules_write_json(FILE *out, ek_error *err)
{
    return ek__write_fields(&ek__schedules_answer, ek_schedules, NULL, 0, out, err);
}

ek_status ek__memory_write_rules_json(const ek_rules *rules, ek_framework framework, FILE *out, ek_error *err)
{
    const ek_job job = {.framework = framework, .rules = *rules};
    const ek_memory_report report = {.job = &job};
    return ek__write_fields(&ek__memory_rules_alone, &report, NULL, 0, out, err);
}
