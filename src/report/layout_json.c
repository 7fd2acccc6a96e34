/* Writes the best layouts for scripts (docs/plan-json.md) by a walk over their figures (figures/layout.c). */
#include "figures/results.h"
#include "report/fields_json.h"
#include "report/layout_internal.h"
#include "report/writers.h"

/* The doubts are those of the best plan's estimate. */
static ek_status write_warnings(ek__json_walk *w, const char *key, const void *record)
{
    const ek_layout_report *report = record;
    const ek_layout_result *r = report->result;
    ek__stream_list(w->s, key, true);
    for (int i = 0; r->n_plans > 0 && i < r->plan[0].estimate.warnings.n; i++)
        ek__stream_text(w->s, NULL, r->plan[0].estimate.warnings.text[i]);
    for (int i = 0; i < report->n_warnings; i++)
        ek__stream_text(w->s, NULL, report->warning[i].message);
    ek__stream_end(w->s);
    return EK_OK;
}

ek_status ek__layout_write_json(const ek_layout_report *report, FILE *out, ek_error *err)
{
    static const ek__own_field own = {"warnings", write_warnings};
    return ek__write_fields(ek__result_plan.fields, report, &own, 1, out, err);
}
