/* A diagnosis as JSON, by docs/diagnose.md: a walk over its figures (figures/diagnosis.c). */
#include "evenkeel/diagnose.h"
#include "figures/results.h"
#include "report/fields_json.h"
#include "report/writers.h"

ek_status ek__diagnosis_write_json(const ek_diagnosis *diagnosis, FILE *out, ek_error *err)
{
    return ek__write_fields(ek__result_diagnosis.fields, diagnosis, NULL, 0, out, err);
}
