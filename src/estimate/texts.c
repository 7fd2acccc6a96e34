/* Formats the sentences of an estimate. */
#include "estimate/texts.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/c_locale.h"

void ek__estimate_say(ek_estimate_texts *texts, const char *format, ...)
{
    if (texts->n == EK_MAX_ESTIMATE_TEXTS)
        return;
    va_list list;
    va_start(list, format);
    ek__vsnprintf(texts->text[texts->n++], EK_ESTIMATE_TEXT, format, list);
    va_end(list);
}
