/* Writes a key and a number of a device file with as few digits as give the same number again. */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/c_locale.h"
#include "cost/device_write.h"

void ek__write_pair(const char *before, const char *key, double value, FILE *out)
{
    char text[40];
    bool exponent = fabs(value) < 1e-4 || fabs(value) >= 1e15; /* else 180 would be 1.8e+02 */
    for (int digits = 1; digits <= 17; digits++) {
        ek__snprintf(text, sizeof text, "%.*g", digits, value);
        if (ek__strtod(text, NULL) == value && (exponent || !strchr(text, 'e')))
            break;
    }
    fprintf(out, "%s%s: %s", before, key, text);
}
