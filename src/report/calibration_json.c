/* A calibration for scripts, by docs/calibrate.md: all of it as JSON, and its runs as a table: walks over its figures
 * (figures/calibration.c). */
#include "figures/calibration_figures.h"
#include "figures/results.h"
#include "report/fields_csv.h"
#include "report/fields_json.h"
#include "report/writers.h"

ek_status ek__calibration_write_json(const ek_calibration *calibration, FILE *out, ek_error *err)
{
    return ek__write_fields(ek__result_calibration.fields, calibration, NULL, 0, out, err);
}

ek_status ek__calibration_write_csv(const ek_calibration *calibration, FILE *out, ek_error *err)
{
    return ek__write_csv(&ek__calibration_table[EK__CALIBRATION_RUNS], calibration, out, err);
}
