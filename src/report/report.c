/* A new output format is a file format_NAME.c with its ek_format, one line in FORMATS, one declaration in
 * report_internal.h, one line in src/meson.build and one golden file. What writers share is in report_parts.c,
 * base/digits.c and base/print.c. */
#include "report/report_internal.h"

#include <string.h>

#define FORMATS(X)                                                                                                     \
    X(text)                                                                                                            \
    X(yaml)                                                                                                            \
    X(json)

#define POINT(id) &ek__format_##id,
const ek_format *const ek_formats[] = {FORMATS(POINT) NULL};

const ek_format *ek_format_find(const char *name)
{
    for (const ek_format *const *f = ek_formats; *f; f++)
        if (strcmp((*f)->name, name) == 0)
            return *f;
    return NULL;
}
