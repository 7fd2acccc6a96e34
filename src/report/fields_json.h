/* report/fields_json.h - writes the JSON of a result from the description of its figures. */
#ifndef EK_REPORT_FIELDS_JSON_H
#define EK_REPORT_FIELDS_JSON_H

#include <stdio.h>

#include "base/error.h"
#include "base/json_stream.h"
#include "figures/figures.h"

typedef struct ek__json_walk ek__json_walk;

/** Writes a field of kind EK__KIND_OWN. EK_OK or EK_ERR_MEMORY. */
typedef struct ek__own_field {
    const char *path; /**< of its fields, and its key: "topology.groups_by_name" */
    ek_status (*write)(ek__json_walk *w, const char *key, const void *record);
} ek__own_field;

struct ek__json_walk {
    ek__stream *s;
    ek__owner of;
    const ek__own_field *own; /**< [n_own] */
    int n_own;
    void *user; /**< of the functions of `own` */
    ek_error *err;
};

/** The fields of a record as members of the open object. */
ek_status ek__put_fields(ek__json_walk *w, const ek__fields *fields, const void *record);
/** The same as a separate object; null if the fields are unknown. `key` is NULL inside lists. */
ek_status ek__put_record(ek__json_walk *w, const char *key, const ek__fields *fields, const void *record);
/**
 * A whole result: its fields as one object, and a line end. `own`: [n_own] functions of its fields of kind
 * EK__KIND_OWN.
 *
 * @return EK_OK, EK_ERR_MEMORY, or EK_ERR_SYSTEM when `out` cannot be written. O(output).
 */
ek_status ek__write_fields(const ek__fields *fields, const void *result, const ek__own_field *own, int n_own, FILE *out,
                           ek_error *err);

#endif
