/* report/sarif.h - writes findings in SARIF 2.1.0, the format that code-review services read (OASIS, Static Analysis
 * Results Interchange Format): a log of one run with its rules, then its results one by one. lint_sarif.c, ir_sarif.c
 * and diagnosis_sarif.c define the kinds of findings. */
#ifndef EK_REPORT_SARIF_H
#define EK_REPORT_SARIF_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/json_stream.h"
#include "evenkeel/error.h"

/** A kind of finding. */
typedef struct ek__sarif_rule {
    const char *id, *title; /**< title: one sentence */
    const char *why, *help; /**< NULL: as the title; NULL: as `why` */
    const char *level;      /**< "note", "warning", "error" */
    const char *source;     /**< its basis; NULL */
} ek__sarif_rule;

/** The rules of checks of graphs, [*n]. */
const ek__sarif_rule *ek__ir_sarif_rules(int *n);
enum { EK__MAX_SARIF_RULES = 64 };
/** The rules of bottlenecks. @return their number */
int ek__diagnosis_sarif_rules(ek__sarif_rule out[EK__MAX_SARIF_RULES]);

/** A place in a file. */
typedef struct ek__sarif_place {
    const char *path;         /**< NULL: nowhere in a file */
    int64_t line, column;     /**< from 1; 0: only the file; only the line */
    int64_t end_column;       /**< 0: to the line's end */
    const char *excerpt;      /**< the line; NULL */
    const char *said;         /**< description of a related place; NULL */
    const char *name, *kind;  /**< a place by name, in addition to the file or instead of it; NULL */
    const char *fully_called; /**< the fully qualified name; NULL: the name */
} ek__sarif_place;

typedef struct ek__sarif_figure {
    const char *key;
    double value; /**< NAN: left out */
} ek__sarif_figure;

typedef struct ek__sarif_result {
    const char *rule, *level, *message;
    ek__sarif_place place;
    const ek__sarif_place *related; /**< [n_related] */
    int n_related;
    const char *fix; /**< replacement from column to end_column of the place; NULL */
    bool suppressed; /**< suppressed by a comment in the source */
    const ek__sarif_figure *figure;
    int n_figures;
} ek__sarif_result;

/** A log being written. */
typedef struct ek__sarif {
    ek__stream s;
    const ek__sarif_rule *rule;
    int n_rules;
} ek__sarif;

/** Begin the log of a tool ("evenkeel lint") with its rules, which are borrowed. O(rules). */
void ek__sarif_begin(ek__sarif *sarif, const char *tool, const ek__sarif_rule *rule, int n_rules, FILE *out);
/** Add a result; its rule must be one of the log's. O(rules + related). */
void ek__sarif_add(ek__sarif *sarif, const ek__sarif_result *result);
/** End the log. @return EK_OK; EK_ERR_SYSTEM when it could not be written */
ek_status ek__sarif_end(ek__sarif *sarif, ek_error *err);

#endif
