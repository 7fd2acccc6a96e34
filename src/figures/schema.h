/* figures/schema.h - the JSON Schema of a result: the keys of its JSON, their types, meaning and unit, and whether they
 * are always there, from the description that also writes that JSON. */
#ifndef EK_FIGURES_SCHEMA_H
#define EK_FIGURES_SCHEMA_H

#include "evenkeel/error.h"
#include "figures/figures.h"

/** The documents of one description. */
typedef enum ek__schema_shape {
    EK__SCHEMA_ONE,         /**< an object */
    EK__SCHEMA_ONE_OR_LIST, /**< an object, or a list of such */
    EK__SCHEMA_LINES,       /**< of a line: all except `inner`, or an entry of that list only */
} ek__schema_shape;

typedef struct ek__schema {
    const char *name;         /**< of the file, without .json */
    const char *title, *from; /**< its meaning; its writer, for the description */
    const ek__fields *fields;
    ek__schema_shape shape;
    const char *inner; /**< LINES: key of the list */
} ek__schema;

/** The word for the unit of a kind's values in JSON ("MB", "us"); NULL: it has none. */
const char *ek__kind_unit(ek__kind kind);

/** Write the schema, draft 2020-12. O(fields). */
ek_status ek__schema_write(const ek__schema *schema, FILE *out, ek_error *err);

#endif
