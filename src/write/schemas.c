/* The JSON Schema of every result that has JSON: the list of them. A result that is described in src/figures has its
 * schema from there; others have one that is written by hand. */
#include "evenkeel/write.h"

#include <assert.h>
#include <string.h>

#include "base/error.h"
#include "base/print.h"
#include "figures/balance_figures.h"
#include "figures/layout_figures.h"
#include "figures/memory_figures.h"
#include "figures/metrics_figures.h"
#include "figures/results.h"
#include "figures/schema.h"
#include "write/schema_files.h"
#include "write/schemas.h"

/* X(kind, format, name, title, its writer, description, shape, inner) */
#define SCHEMAS(X)                                                                                                     \
    X(BALANCE, "json", "balance", "A pipeline plan", "balance, simulate", ek__result_balance.fields, ONE_OR_LIST,      \
      NULL)                                                                                                            \
    X(SCHEDULES, "json", "schedules", "The pipeline schedules", "simulate --list-schedules", &ek__schedules_answer,    \
      ONE, NULL)                                                                                                       \
    X(SWEEP, "json", "sweep", "Pipeline plans over a range of values", "balance --sweep", &ek__sweep_answer, ONE,      \
      NULL)                                                                                                            \
    X(UNIFORM, "json", "uniform", "A schedule with equal stages", "simulate --uniform", &ek__uniform_answer, ONE,      \
      NULL)                                                                                                            \
    X(QUICK, "json", "quick", "Tuning by a rule of thumb", "balance --quick", &ek__quick_answer, ONE, NULL)            \
    X(REHEARSAL, "json", "rehearsal", "A rehearsed plan", "rehearse", ek__result_rehearsal.fields, ONE, NULL)          \
    X(GUIDE, "json", "guide", "Dry runs to make", "guide", ek__result_guide.fields, ONE, NULL)                         \
    X(COLLECTED, "json", "collected", "Content of dry-run logs", "collect", ek__result_collected.fields, ONE, NULL)    \
    X(MEMORY, "json", "memory", "Memory of a job", "memory", ek__result_memory.fields, ONE, NULL)                      \
    X(RULES, "json", "rules", "Behaviour of a framework", "memory --rules", &ek__memory_rules_alone, ONE, NULL)        \
    X(ESTIMATE, "json", "estimate", "Step and memory of a job", "estimate", ek__result_estimate.fields, ONE, NULL)     \
    X(CALIBRATION, "json", "calibration", "A fitted device", "calibrate", ek__result_calibration.fields, ONE, NULL)    \
    X(DIAGNOSIS, "json", "diagnosis", "Bottlenecks of a run", "diagnose", ek__result_diagnosis.fields, ONE, NULL)      \
    X(IR, "json", "ir", "Checked graphs", "ir", ek__result_ir.fields, ONE, NULL)                                       \
    X(IR_DIFFERENCE, "json", "ir_difference", "Two graphs compared", "ir diff", ek__result_ir_difference.fields, ONE,  \
      NULL)                                                                                                            \
    X(LINT, "json", "lint", "Findings in training files", "lint", ek__result_lint.fields, ONE, NULL)                   \
    X(LAYOUT, "json", "layout", "The best layouts of a job", "plan", ek__result_plan.fields, ONE, NULL)                \
    X(LAYOUT_SWEEP, "json", "layout_sweep", "Layouts over a range of values", "plan --sweep",                          \
      &ek__layout_sweep_fields, ONE, NULL)                                                                             \
    X(METRICS, "json", "metrics", "How well a run uses its devices", "metrics", ek__result_metrics.fields, ONE, NULL)  \
    X(DOCTOR, "json", "doctor", "A checked installation", "doctor", ek__result_doctor.fields, ONE, NULL)               \
    X(OVERVIEW, "json", "overview", "What files are, and the commands to type next", "overview",                       \
      ek__result_overview.fields, ONE, NULL)                                                                           \
    X(DEVICES, "json", "devices", "The devices that are known", "metrics --devices-list", &ek__device_list_fields,     \
      ONE, NULL)                                                                                                       \
    X(TRACE, "json", "trace", "An analysed run", "trace", ek__result_trace.fields, ONE, NULL)                          \
    X(TRACE, "jsonl", "trace_lines", "A line of an analysed run: the whole in the first, then a rank in each",         \
      "trace --format jsonl", ek__result_trace.fields, LINES, "ranks")

/* X(kind, format, name, number of the file) */
#define SCHEMA_FILES(X)                                                                                                \
    X(BALANCE, "chrome", "chrome_trace", 0)                                                                            \
    X(PAGE, "json", "page", 1)

/* A schema: from a description, or else a file. */
typedef struct found {
    ek__schema schema;
    const ek__schema_file *file; /* NULL: from the description */
} found;

/* Described fields of results are accessed through a pointer, which is not a constant of C11. */
static bool find(ek_output_kind kind, const char *format, found *out)
{
#define ROW(kind_, format_, name_, title_, from_, fields_, shape_, inner_)                                             \
    if (kind == EK_OUTPUT_##kind_ && strcmp(format, format_) == 0) {                                                   \
        *out = (found){{name_, title_, from_, fields_, EK__SCHEMA_##shape_, inner_}, NULL};                            \
        return true;                                                                                                   \
    }
    SCHEMAS(ROW)
#undef ROW
#define ROW(kind_, format_, name_, number)                                                                             \
    if (kind == EK_OUTPUT_##kind_ && strcmp(format, format_) == 0) {                                                   \
        assert((number) < ek__n_schema_files);                                                                         \
        *out = (found){{.name = (name_)}, &ek__schema_files[number]};                                                  \
        return true;                                                                                                   \
    }
    SCHEMA_FILES(ROW)
#undef ROW
    return false;
}

bool ek__schema_find(ek_output_kind kind, const char *format, ek__schema *out)
{
    found it;
    if (!find(kind, format, &it) || it.file)
        return false;
    *out = it.schema;
    return true;
}

const char *ek_schema_name(ek_output_kind kind, const char *format)
{
    found it;
    return find(kind, format, &it) ? it.schema.name : NULL;
}

ek_status ek_write_schema(ek_output_kind kind, const char *format, FILE *out, ek_error *err)
{
    found it;
    if (!find(kind, format, &it))
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "there is no schema of the format '%s' of this", format);
    if (!it.file)
        return ek__schema_write(&it.schema, out, err);
    fwrite(it.file->text, 1, it.file->size, out);
    return ek__finish(out, err);
}
