/* Writes numbers as texts, the same in every locale. */
#include "base/digits.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/c_locale.h"

ek__digits ek__fixed(double value, int decimals)
{
    ek__digits out = {"-"};
    if (!isfinite(value))
        return out;
    if (fabs(value) >= 1e15)
        ek__snprintf(out.text, sizeof out.text, "%.6g", value);
    else
        ek__snprintf(out.text, sizeof out.text, "%.*f", decimals, value);
    if (out.text[0] == '-' && strspn(out.text + 1, "0.") == strlen(out.text + 1))
        memmove(out.text, out.text + 1, strlen(out.text));
    return out;
}

ek__digits ek__real(double value)
{
    ek__digits out = {"-"};
    if (!isfinite(value))
        return out;
    ek__snprintf(out.text, sizeof out.text, "%.15g", value);
    return out;
}

ek__digits ek__pointed(double value)
{
    ek__digits out = ek__real(value);
    char *exponent = strchr(out.text, 'e');
    if (exponent) {
        char *digit = exponent + 1 + (exponent[1] == '-');
        size_t more = strspn(digit, "+0");
        memmove(digit, digit + more, strlen(digit + more) + 1);
    } else if (!strchr(out.text, '.')) {
        strcat(out.text, ".0");
    }
    return out;
}

ek__digits ek__seconds(double seconds)
{
    bool whole = fabs(seconds) >= 1;
    ek__digits text = whole ? ek__fixed(seconds, 3) : ek__fixed(1e3 * seconds, 2);
    size_t used = strlen(text.text);
    snprintf(text.text + used, sizeof text.text - used, whole ? " s" : " ms");
    return text;
}

/* By hand: large reports print a million of them. */
ek__digits ek__exact_us(int64_t ns)
{
    ek__digits out;
    char reversed[24];
    size_t n = 0, at = 0;
    uint64_t left = ns < 0 ? -(uint64_t)ns : (uint64_t)ns;
    do {
        if (n == 3)
            reversed[n++] = '.';
        reversed[n++] = (char)('0' + left % 10);
        left /= 10;
    } while (left > 0 || n < 5);
    if (ns < 0)
        out.text[at++] = '-';
    while (n > 0)
        out.text[at++] = reversed[--n];
    out.text[at] = '\0';
    return out;
}

static void cut_zeros(char *text)
{
    char *point = strchr(text, '.');
    if (!point)
        return;
    char *end = text + strlen(text);
    while (end[-1] == '0')
        end--;
    if (end[-1] == '.')
        end--;
    *end = '\0';
}

ek__digits ek__short(double value)
{
    double size = fabs(value);
    if (!isfinite(value) || value == 0)
        return ek__fixed(value, 0);
    if (size < 1e-6) {
        ek__digits out;
        ek__snprintf(out.text, sizeof out.text, "%.6g", value);
        return out;
    }
    int decimals = 5 - (int)floor(log10(size));
    ek__digits out = ek__fixed(value, decimals > 0 ? decimals : 0);
    cut_zeros(out.text);
    return out;
}

ek__digits ek__grouped(double value)
{
    ek__digits plain = ek__fixed(value, 0), out;
    size_t length = strlen(plain.text), n = 0;
    if (strchr(plain.text, 'e'))
        return plain;
    for (size_t i = 0; i < length; i++) {
        if (i > 0 && plain.text[i - 1] != '-' && (length - i) % 3 == 0)
            out.text[n++] = ' ';
        out.text[n++] = plain.text[i];
    }
    out.text[n] = '\0';
    return out;
}
