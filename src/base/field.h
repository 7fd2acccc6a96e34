/* base/field.h - accesses doubles of a struct by their offset, for tables that name fields. */
#ifndef EK_BASE_FIELD_H
#define EK_BASE_FIELD_H

#include <stddef.h>

/** @param at  offsetof() a double in the struct at `base` */
static inline double *ek__field(void *base, size_t at)
{
    void *field = (char *)base + at;
    return (double *)field;
}

static inline const double *ek__const_field(const void *base, size_t at)
{
    const void *field = (const char *)base + at;
    return (const double *)field;
}

#endif
