/* write/schemas.h - the JSON description of a kind of result. */
#ifndef EK_WRITE_SCHEMAS_H
#define EK_WRITE_SCHEMAS_H

#include "evenkeel/write.h"
#include "figures/schema.h"

/** @return false where the kind has no such format, or one that is not described in src/figures */
bool ek__schema_find(ek_output_kind kind, const char *format, ek__schema *out);

#endif
