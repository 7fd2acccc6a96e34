/* Calls libc's functions in the C locale. The calling thread has it for the time of one call: the process may have set
 * another one for all its threads. */
#include "base/c_locale.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* With every category "C" libc returns a static object: nothing is allocated, and the call cannot fail. */
static locale_t c_locale(void)
{
    static _Atomic(locale_t) made;
    locale_t locale = made;
    if (!locale)
        made = locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    assert(locale);
    return locale;
}

locale_t ek__c_locale_enter(void)
{
    return uselocale(c_locale());
}

void ek__c_locale_leave(locale_t before)
{
    uselocale(before);
}

double ek__strtod(const char *text, char **end)
{
    locale_t before = ek__c_locale_enter();
    double value = strtod(text, end);
    ek__c_locale_leave(before);
    return value;
}

int ek__vsnprintf(char *out, size_t size, const char *format, va_list arguments)
{
    locale_t before = ek__c_locale_enter();
    int n = vsnprintf(out, size, format, arguments);
    ek__c_locale_leave(before);
    return n;
}

int ek__snprintf(char *out, size_t size, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int n = ek__vsnprintf(out, size, format, arguments);
    va_end(arguments);
    return n;
}

int ek__fprintf(FILE *out, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    locale_t before = ek__c_locale_enter();
    int n = vfprintf(out, format, arguments);
    ek__c_locale_leave(before);
    va_end(arguments);
    return n;
}

int ek__strncasecmp(const char *a, const char *b, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        int x = ek__to_lower((unsigned char)a[i]), y = ek__to_lower((unsigned char)b[i]);
        if (x != y || !x)
            return x - y;
    }
    return 0;
}

int ek__strcasecmp(const char *a, const char *b)
{
    return ek__strncasecmp(a, b, SIZE_MAX);
}

int ek__alphasort(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}
