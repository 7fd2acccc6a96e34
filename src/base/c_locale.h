/* base/c_locale.h - libc's functions with the C locale, independent of the process's locale.
 *
 * The library runs inside processes that call setlocale(): there strtod() stops at the point of "10.80", printf()
 * writes "10,80", and tolower('I') is not 'i'. So src calls the functions below in place of libc's; test `sources`
 * checks it. */
#ifndef EK_BASE_C_LOCALE_H
#define EK_BASE_C_LOCALE_H

#include <dirent.h>
#include <locale.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/** strtod(): a point is the decimal mark. Also reads hexadecimal numbers, "nan" and "infinity". */
double ek__strtod(const char *text, char **end);

/** snprintf(), vsnprintf() and fprintf() with a point as the decimal mark. Needed where a real number is printed. */
int ek__vsnprintf(char *out, size_t size, const char *format, va_list arguments) __attribute__((format(printf, 3, 0)));
int ek__snprintf(char *out, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));
int ek__fprintf(FILE *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

/** alphasort() for scandir(): by the bytes of the names. */
int ek__alphasort(const struct dirent **a, const struct dirent **b);

/** Put the calling thread into the C locale, for libraries that read and print numbers. @return the argument for
 *  leaving it */
locale_t ek__c_locale_enter(void);
void ek__c_locale_leave(locale_t before);

/* Characters of ASCII; bytes of 0x80 and above belong to no class. `c`: a char or an unsigned char. */
static inline bool ek__is_upper(int c)
{
    return c >= 'A' && c <= 'Z';
}

static inline int ek__to_lower(int c)
{
    return ek__is_upper(c) ? c + ('a' - 'A') : c;
}

static inline bool ek__is_alpha(int c)
{
    return ek__is_upper(c) || (c >= 'a' && c <= 'z');
}

static inline bool ek__is_alnum(int c)
{
    return ek__is_alpha(c) || (c >= '0' && c <= '9');
}

static inline bool ek__is_space(int c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/** strcasecmp() and strncasecmp(): letters of ASCII only. */
int ek__strcasecmp(const char *a, const char *b);
int ek__strncasecmp(const char *a, const char *b, size_t n);

#endif
