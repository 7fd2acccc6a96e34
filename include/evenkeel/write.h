/* evenkeel/write.h - writes every result in each of its formats with one function:
 *
 *     ek_write(ek_output_of_memory(&report), "json", stdout, &err);
 *
 * Unless stated otherwise, functions take O(1) and may be called from several threads at once, on the same objects
 * where these are const. */
#ifndef EVENKEEL_WRITE_H
#define EVENKEEL_WRITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "evenkeel/decls.h"
#include "evenkeel/error.h"
#include "evenkeel/types.h"

EK_BEGIN_DECLS

/** Kinds of results: constant, name, and the type that is written. Formats of each, in src/write/write.c:
 *
 *  balance        text, yaml, json, svg (a case, or all side by side), chrome (the simulated timeline of a case), plot
 *                 (only the drawings of the text)
 *  schedules      text, json; of nothing (NULL): all schedules
 *  sweep          text, json, svg
 *  uniform        text, json
 *  quick          text, json
 *  rehearsal      text, json
 *  guide          text, yaml, json
 *  collected      text, yaml, json
 *  memory         text, json, csv, svg
 *  rules          text, json
 *  estimate       text, json, csv, svg
 *  calibration    text, json, csv, svg
 *  diagnosis      text, json, sarif
 *  ir             text, json, sarif, dot (the first graph)
 *  ir_difference  text, json
 *  lint           text, json, sarif
 *  layout         text, json, csv, svg
 *  layout_sweep   text, json, csv
 *  metrics        text, json, openmetrics
 *  devices        text, json; of nothing (NULL): all devices
 *  trace          text, json, jsonl (a line a rank), csv (a table), svg, sqlite
 *  overview       text, json
 *  doctor         text, json
 *  page           html, json (the page's document) */
#define EK_OUTPUT_LIST(X)                                                                                              \
    X(BALANCE, balance, ek_report)                                                                                     \
    X(SCHEDULES, schedules, void)                                                                                      \
    X(SWEEP, sweep, ek_sweep)                                                                                          \
    X(UNIFORM, uniform, ek_uniform_run)                                                                                \
    X(QUICK, quick, ek_quick_report)                                                                                   \
    X(REHEARSAL, rehearsal, ek_rehearse_result)                                                                        \
    X(GUIDE, guide, ek_guide)                                                                                          \
    X(COLLECTED, collected, ek_collected)                                                                              \
    X(MEMORY, memory, ek_memory_report)                                                                                \
    X(RULES, rules, ek_rules_report)                                                                                   \
    X(ESTIMATE, estimate, ek_estimate_report)                                                                          \
    X(CALIBRATION, calibration, ek_calibration)                                                                        \
    X(DIAGNOSIS, diagnosis, ek_diagnosis)                                                                              \
    X(IR, ir, ek_ir_reports)                                                                                           \
    X(IR_DIFFERENCE, ir_difference, ek_ir_difference_report)                                                           \
    X(LINT, lint, ek_lint)                                                                                             \
    X(LAYOUT, layout, ek_layout_report)                                                                                \
    X(LAYOUT_SWEEP, layout_sweep, ek_layout_sweep_report)                                                              \
    X(METRICS, metrics, ek_metrics_report)                                                                             \
    X(DEVICES, devices, void)                                                                                          \
    X(TRACE, trace, ek_trace_report)                                                                                   \
    X(PAGE, page, ek_view)                                                                                             \
    X(OVERVIEW, overview, ek_overview)                                                                                 \
    X(DOCTOR, doctor, ek_doctor)

typedef enum ek_output_kind {
#define EK_OUTPUT_KIND(constant, name, type) EK_OUTPUT_##constant,
    EK_OUTPUT_LIST(EK_OUTPUT_KIND)
#undef EK_OUTPUT_KIND
        EK_N_OUTPUTS
} ek_output_kind;

/** A result that can be written. Made by ek_output_of_NAME(); borrows. */
typedef struct ek_output {
    ek_output_kind kind;
    const void *of; /**< of the kind's type */
    int index;      /**< balance, svg and chrome: the case, -1: all side by side (svg). trace, csv: the table */
    bool color; /**< calibration, diagnosis, overview, doctor, text: ANSI colours; other reports say it themselves */
    bool brief; /**< lint, text: findings without the lines around them */
} ek_output;

/** `ek_output ek_output_of_memory(const ek_memory_report *of)` and so on: a result as input of ek_write(). */
#define EK_OUTPUT_OF(constant, name, type)                                                                             \
    static inline ek_output ek_output_of_##name(const type *of)                                                        \
    {                                                                                                                  \
        ek_output output = {EK_OUTPUT_##constant, NULL, 0, false, false};                                              \
        output.of = of;                                                                                                \
        return output;                                                                                                 \
    }
/** One for each kind. O(1); any thread. */
EK_OUTPUT_LIST(EK_OUTPUT_OF)
#undef EK_OUTPUT_OF

/** Does the kind have this format? O(formats). */
bool ek_can_write(ek_output_kind kind, const char *format);

/**
 * Write a result. Writers only print: every figure is computed before, the same in every format. Numbers do not depend
 * on the locale. Text is for people and may change; JSON, CSV, SARIF and OpenMetrics are for scripts, documented under
 * docs/.
 *
 * @param format  a name of the list above
 * @return EK_OK; EK_ERR_INPUT where the kind has no such format or there is nothing to draw; EK_ERR_MEMORY;
 *         EK_ERR_SYSTEM when `out` cannot be written. O(output), pictures O(blocks).
 */
ek_status ek_write(ek_output output, const char *format, FILE *out, ek_error *err);

/**
 * Write a result into memory: the bytes that ek_write() gives a file.
 *
 * @param text  out: with a terminating NUL, for free(); untouched on failure
 * @param size  out: bytes without that NUL; binary formats contain NULs. May be NULL
 * @return as ek_write(). O(output).
 */
ek_status ek_write_text(ek_output output, const char *format, char **text, size_t *size, ek_error *err);

/** Name of the JSON Schema of a kind's JSON, installed as DATADIR/evenkeel/schemas/NAME.json.
 *
 * @param format  "json"; of traces also "jsonl", with the schema of one line; of plans "chrome"
 * @return NULL where the kind has no such format, or one that is not JSON. O(kinds). */
const char *ek_schema_name(ek_output_kind kind, const char *format);

/**
 * Write the JSON Schema (draft 2020-12) of a kind's JSON: its keys with types, units and which are always there. It is
 * made from the description by which ek_write() prints that JSON; those of pages and timelines are written by hand.
 *
 * @param format  as in ek_schema_name()
 * @return EK_OK; EK_ERR_INPUT where there is none; EK_ERR_SYSTEM when `out` cannot be written. O(keys).
 */
ek_status ek_write_schema(ek_output_kind kind, const char *format, FILE *out, ek_error *err);

/** Takes the next bytes of an output; false ends it. */
typedef bool (*ek_sink)(void *user, const char *bytes, size_t size);

/**
 * Write a result to a callback, which gets the bytes of ek_write() in their order, at most 64 KB at once. The
 * whole output is held in memory meanwhile.
 *
 * @return as ek_write(); EK_ERR_SYSTEM where the callback returned false, after which it is not called again.
 * O(output).
 */
ek_status ek_write_sink(ek_output output, const char *format, ek_sink sink, void *user, ek_error *err);

EK_END_DECLS
#endif
