/* report/json.h - building JSON for the machine contract (docs/json.md), one way for every writer. */
#ifndef EK_REPORT_JSON_H
#define EK_REPORT_JSON_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "evenkeel/error.h"
#include "evenkeel/types.h"

enum { EK__JSON_VERSION = 1 };

/** jansson reports a failed allocation as NULL or -1 at every call; one flag collects them. */
typedef struct ek__json {
    bool failed;
} ek__json;

void ek__json_put(ek__json *b, json_t *object, const char *key, json_t *value);
void ek__json_append(ek__json *b, json_t *array, json_t *value);
/** null when not finite. */
json_t *ek__json_number(double value);
/** A name of any bytes: what is no valid character becomes U+FFFD. */
json_t *ek__json_string(const char *text);
/** Lists of a plan, [chunk][stage]. */
json_t *ek__json_plan(ek__json *b, const ek_plan *plan, int n_layers);

/** What an answer was chosen from, and what was not tried. */
json_t *ek__json_ranking(ek__json *b, const ek_ranking *ranking);
json_t *ek__json_skipped(ek__json *b, const ek_ranking *ranking);

/** One top-level field a line: short to look through, and `diff` finds what changed. No line end after it. */
void ek__json_dump(const json_t *root, FILE *out);
/** Print a whole answer and give it back; the answer's only owner. */
ek_status ek__json_finish(const ek__json *b, json_t *root, FILE *out, ek_error *err);

#endif
