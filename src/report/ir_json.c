/* Writes checked graphs as JSON (docs/ir-json.md) by a walk over the figures of all files (figures/ir.c). The output is
 * a stream, so that a large graph needs no second copy in memory. */
#include <stdlib.h>

#include "base/error.h"
#include "figures/results.h"
#include "report/fields_json.h"
#include "report/ir_internal.h"
#include "report/writers.h"

ek_status ek__ir_write_json(const ek_ir_report *const *report, int n, const ek_ir_view *view, FILE *out, ek_error *err)
{
    ek__ir_file *file = ek__alloc((size_t)n, sizeof *file);
    ek_status status = file ? EK_OK : ek__no_memory(err);
    int summed = 0;
    for (; status == EK_OK && summed < n; summed += status == EK_OK) {
        file[summed] = (ek__ir_file){.report = *report[summed], .view = view};
        status = ek__ir_sum(report[summed], view, &file[summed].sums, err);
    }
    const ek__ir_files files = {file, n};
    if (status == EK_OK)
        status = ek__write_fields(ek__result_ir.fields, &files, NULL, 0, out, err);
    for (int i = 0; i < summed; i++)
        ek__ir_sums_clear(&file[i].sums);
    free(file);
    return status;
}
