/* Every result in every format: the list of writers. A new format is a function in the file of its result's other
 * formats, and a line in the list. */
#include "evenkeel/write.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "evenkeel/calibration.h"
#include "evenkeel/diagnose.h"
#include "evenkeel/estimate_report.h"
#include "evenkeel/ir_report.h"
#include "evenkeel/layout_picture.h"
#include "evenkeel/layout_report.h"
#include "evenkeel/lint.h"
#include "evenkeel/memory_report.h"
#include "evenkeel/metrics_report.h"
#include "evenkeel/report.h"
#include "evenkeel/trace_report.h"
#include "evenkeel/view.h"
#include "report/report_internal.h"
#include "report/writers.h"
#include "view/view.h"

/* A balance that found nothing has no case. */
static ek_status fail_case(const ek_report *of, int index, ek_error *err)
{
    return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "there is no case %d to draw; the report has %d", index,
                    of->n_cases);
}

static ek_status draw_balance(const ek_report *of, int index, FILE *out, ek_error *err)
{
    if (index < 0)
        return ek__svg_compare_write(of, out, err);
    return index < of->n_cases ? ek__svg_write(of, index, out, err) : fail_case(of, index, err);
}

static ek_status trace_balance(const ek_report *of, int index, FILE *out, ek_error *err)
{
    return index >= 0 && index < of->n_cases ? ek__chrome_trace_write(of, index, out, err) : fail_case(of, index, err);
}

static ek_status write_graphs(const ek_ir_reports *of, FILE *out, ek_error *err)
{
    ek_status status = EK_OK;
    for (int i = 0; i < of->n && status == EK_OK; i++)
        status = ek__ir_write_text(of->report[i], of->view, out, err);
    return status;
}

/* X(kind, type, format, expression): of the result `of`, which came with the output `o`. Layouts are coloured by the
 * degree of the pipeline, which distinguishes them best: time and memory vary with it. */
#define WRITERS(X)                                                                                                     \
    X(BALANCE, ek_report, text, ek__balance_write_text(of, out, err))                                                  \
    X(BALANCE, ek_report, plot, ek__balance_write_plot(of, out, err))                                                  \
    X(BALANCE, ek_report, yaml, ek__balance_write_yaml(of, out, err))                                                  \
    X(BALANCE, ek_report, json, ek__balance_write_json(of, out, err))                                                  \
    X(BALANCE, ek_report, svg, draw_balance(of, o->index, out, err))                                                   \
    X(BALANCE, ek_report, chrome, trace_balance(of, o->index, out, err))                                               \
    X(SCHEDULES, void, text, ((void)of, ek__schedules_write_text(out, err)))                                           \
    X(SCHEDULES, void, json, ((void)of, ek__schedules_write_json(out, err)))                                           \
    X(SWEEP, ek_sweep, text, ek__sweep_write_text(of, out, err))                                                       \
    X(SWEEP, ek_sweep, json, ek__sweep_write_json(of, out, err))                                                       \
    X(SWEEP, ek_sweep, svg, ek__svg_sweep_write(of, out, err))                                                         \
    X(UNIFORM, ek_uniform_run, text, ek__uniform_write_text(of, out, err))                                             \
    X(UNIFORM, ek_uniform_run, json, ek__uniform_write_json(of, out, err))                                             \
    X(QUICK, ek_quick_report, text, ek__quick_write_text(of, out, err))                                                \
    X(QUICK, ek_quick_report, json, ek__quick_write_json(of, out, err))                                                \
    X(REHEARSAL, ek_rehearse_result, text, ek__rehearsal_write_text(of, out, err))                                     \
    X(REHEARSAL, ek_rehearse_result, json, ek__rehearsal_write_json(of, out, err))                                     \
    X(GUIDE, ek_guide, text, ek__guide_write_text(of, out, err))                                                       \
    X(GUIDE, ek_guide, yaml, ek__guide_write_yaml(of, out, err))                                                       \
    X(GUIDE, ek_guide, json, ek__guide_write_json(of, out, err))                                                       \
    X(COLLECTED, ek_collected, text, ek__collected_write_text(of, out, err))                                           \
    X(COLLECTED, ek_collected, yaml, ek__collected_write_yaml(of, out, err))                                           \
    X(COLLECTED, ek_collected, json, ek__collected_write_json(of, out, err))                                           \
    X(MEMORY, ek_memory_report, text, ek__memory_write_text(of, out, err))                                             \
    X(MEMORY, ek_memory_report, json, ek__memory_write_json(of, out, err))                                             \
    X(MEMORY, ek_memory_report, csv, ek__memory_write_csv(of, out, err))                                               \
    X(MEMORY, ek_memory_report, svg, ek__memory_write_svg(of, out, err))                                               \
    X(RULES, ek_rules_report, text, ek__memory_write_rules(of->rules, of->framework, out, err))                        \
    X(RULES, ek_rules_report, json, ek__memory_write_rules_json(of->rules, of->framework, out, err))                   \
    X(ESTIMATE, ek_estimate_report, text, ek__estimate_write_text(of, out, err))                                       \
    X(ESTIMATE, ek_estimate_report, json, ek__estimate_write_json(of, out, err))                                       \
    X(ESTIMATE, ek_estimate_report, csv, ek__estimate_write_csv(of, out, err))                                         \
    X(ESTIMATE, ek_estimate_report, svg, ek__estimate_write_svg(of, out, err))                                         \
    X(CALIBRATION, ek_calibration, text, ek__calibration_write_text(of, o->color, out, err))                           \
    X(CALIBRATION, ek_calibration, json, ek__calibration_write_json(of, out, err))                                     \
    X(CALIBRATION, ek_calibration, csv, ek__calibration_write_csv(of, out, err))                                       \
    X(CALIBRATION, ek_calibration, svg, ek__calibration_write_svg(of, out, err))                                       \
    X(DIAGNOSIS, ek_diagnosis, text, ek__diagnosis_write_text(of, o->color, out, err))                                 \
    X(DIAGNOSIS, ek_diagnosis, json, ek__diagnosis_write_json(of, out, err))                                           \
    X(DIAGNOSIS, ek_diagnosis, sarif, ek__diagnosis_write_sarif(of, out, err))                                         \
    X(IR, ek_ir_reports, text, write_graphs(of, out, err))                                                             \
    X(IR, ek_ir_reports, json, ek__ir_write_json(of->report, of->n, of->view, out, err))                               \
    X(IR, ek_ir_reports, sarif, ek__ir_write_sarif(of->report, of->n, of->view, out, err))                             \
    X(IR, ek_ir_reports, dot, ek__ir_write_dot(of->report[0], of->view, out, err))                                     \
    X(IR_DIFFERENCE, ek_ir_difference_report, text,                                                                    \
      ek__ir_write_difference_text(of->a, of->b, of->difference, of->view, out, err))                                  \
    X(IR_DIFFERENCE, ek_ir_difference_report, json,                                                                    \
      ek__ir_write_difference_json(of->a, of->b, of->difference, of->view, out, err))                                  \
    X(LINT, ek_lint, text, ek__lint_write_text(of, !o->brief, out, err))                                               \
    X(LINT, ek_lint, json, ek__lint_write_json(of, out, err))                                                          \
    X(LINT, ek_lint, sarif, ek__lint_write_sarif(of, out, err))                                                        \
    X(LAYOUT, ek_layout_report, text, ek__layout_write_text(of, out, err))                                             \
    X(LAYOUT, ek_layout_report, json, ek__layout_write_json(of, out, err))                                             \
    X(LAYOUT, ek_layout_report, csv, ek__layout_write_csv(of, out, err))                                               \
    X(LAYOUT, ek_layout_report, svg, ek__layout_write_svg(of->result, EK_AXIS_PIPELINE, out, err))                     \
    X(LAYOUT_SWEEP, ek_layout_sweep_report, text, ek__layout_sweep_write_text(of, out, err))                           \
    X(LAYOUT_SWEEP, ek_layout_sweep_report, json, ek__layout_sweep_write_json(of, out, err))                           \
    X(LAYOUT_SWEEP, ek_layout_sweep_report, csv, ek__layout_sweep_write_csv(of, out, err))                             \
    X(METRICS, ek_metrics_report, text, ek__metrics_write_text(of, out, err))                                          \
    X(METRICS, ek_metrics_report, json, ek__metrics_write_json(of, out, err))                                          \
    X(METRICS, ek_metrics_report, openmetrics, ek__metrics_write_openmetrics(of, out, err))                            \
    X(DEVICES, void, text, ((void)of, ek__devices_write_text(out, err)))                                               \
    X(DEVICES, void, json, ((void)of, ek__devices_write_json(out, err)))                                               \
    X(TRACE, ek_trace_report, text, ek__trace_write_text(of->run, of->view, out, err))                                 \
    X(TRACE, ek_trace_report, json, ek__trace_write_json(of->run, of->view, out, err))                                 \
    X(TRACE, ek_trace_report, jsonl, ek__trace_write_jsonl(of->run, of->view, out, err))                               \
    X(TRACE, ek_trace_report, csv, ek__trace_write_csv(of->run, &ek_trace_tables[o->index], of->view, out, err))       \
    X(TRACE, ek_trace_report, sqlite, ek__trace_write_sqlite(of->run, out, err))                                       \
    X(TRACE, ek_trace_report, svg, ek__trace_write_svg(of->run, of->view, out, err))                                   \
    X(DOCTOR, ek_doctor, text, ek__doctor_write_text(of, o->color, out, err))                                          \
    X(DOCTOR, ek_doctor, json, ek__doctor_write_json(of, out, err))                                                    \
    X(OVERVIEW, ek_overview, text, ek__overview_write_text(of, o->color, out, err))                                    \
    X(OVERVIEW, ek_overview, json, ek__overview_write_json(of, out, err))                                              \
    X(PAGE, ek_view, html, ek__view_write_html(of, out, err))                                                          \
    X(PAGE, ek_view, json, ek__view_write_json(of, out, err))

#define FUNCTION(kind, type, format, expression)                                                                       \
    static ek_status write_##kind##_##format(const ek_output *o, FILE *out, ek_error *err)                             \
    {                                                                                                                  \
        const type *of = o->of;                                                                                        \
        return expression;                                                                                             \
    }
WRITERS(FUNCTION)
#undef FUNCTION

typedef struct writer {
    ek_output_kind kind;
    const char *format;
    ek_status (*write)(const ek_output *output, FILE *out, ek_error *err);
} writer;

static const writer writers[] = {
#define ROW(kind, type, format, expression) {EK_OUTPUT_##kind, #format, write_##kind##_##format},
    WRITERS(ROW)
#undef ROW
};

static const writer *find(ek_output_kind kind, const char *format)
{
    for (size_t i = 0; i < sizeof writers / sizeof *writers; i++)
        if (writers[i].kind == kind && strcmp(writers[i].format, format) == 0)
            return &writers[i];
    return NULL;
}

bool ek_can_write(ek_output_kind kind, const char *format)
{
    return find(kind, format) != NULL;
}

ek_status ek_write(ek_output output, const char *format, FILE *out, ek_error *err)
{
    const writer *w = find(output.kind, format);
    return w ? w->write(&output, out, err)
             : ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "there is no format '%s' of this", format);
}

ek_status ek_write_text(ek_output output, const char *format, char **text, size_t *size, ek_error *err)
{
    char *made = NULL;
    size_t n = 0;
    FILE *out = open_memstream(&made, &n);
    if (!out)
        return ek__fail(err, EK_ERR_MEMORY, EK__NOWHERE, "out of memory");
    ek_status status = ek_write(output, format, out, err);
    if (fclose(out) && status == EK_OK)
        status = ek__fail(err, EK_ERR_MEMORY, EK__NOWHERE, "out of memory");
    if (status) {
        free(made);
        return status;
    }
    *text = made;
    if (size)
        *size = n;
    return EK_OK;
}

enum { SINK_BYTES = 65536 };

ek_status ek_write_sink(ek_output output, const char *format, ek_sink sink, void *user, ek_error *err)
{
    char *text;
    size_t size;
    ek_status status = ek_write_text(output, format, &text, &size, err);
    if (status)
        return status;
    for (size_t at = 0; at < size && status == EK_OK; at += SINK_BYTES) {
        size_t n = size - at < SINK_BYTES ? size - at : SINK_BYTES;
        if (!sink(user, text + at, n))
            status = ek__fail(err, EK_ERR_SYSTEM, EK__NOWHERE, "the output ended after %zu of %zu bytes", at, size);
    }
    free(text);
    return status;
}
