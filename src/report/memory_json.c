/* A prediction of memory for scripts (docs/memory-json.md), as a table of comma-separated values, and as the list of
 * rules: walks over its figures (figures/memory.c). */
#include "evenkeel/memory_report.h"
#include "figures/memory_figures.h"
#include "figures/results.h"
#include "report/fields_csv.h"
#include "report/fields_json.h"
#include "report/writers.h"

ek_status ek__memory_write_json(const ek_memory_report *report, FILE *out, ek_error *err)
{
    return ek__write_fields(ek__result_memory.fields, report, NULL, 0, out, err);
}

ek_status ek__memory_write_rules_json(const ek_rules *rules, ek_framework framework, FILE *out, ek_error *err)
{
    const ek_job job = {.framework = framework, .rules = *rules};
    const ek_memory_report report = {.job = &job};
    return ek__write_fields(&ek__memory_rules_alone, &report, NULL, 0, out, err);
}

ek_status ek__memory_write_csv(const ek_memory_report *report, FILE *out, ek_error *err)
{
    return ek__write_csv(&ek__memory_table[EK__MEMORY_STAGES], report, out, err);
}
