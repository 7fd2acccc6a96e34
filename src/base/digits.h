/* base/digits.h - writes numbers as texts, independent of the locale. */
#ifndef EK_BASE_DIGITS_H
#define EK_BASE_DIGITS_H

#include <stdint.h>

/** Bytes of the MB that logs and figures are in. */
#define EK__MB 1048576.0

/** A printed number, returned by value: `fputs(ek__fixed(x, 2).text, out)`. From 1e15 on with an exponent. */
typedef struct ek__digits {
    char text[48];
} ek__digits;

/** Fixed decimals with a point in every locale; "-" when not finite. No negative zero. */
ek__digits ek__fixed(double value, int decimals);

/** At most six significant digits after which zeros are cut: "1396.31", "15450.3", "12". */
ek__digits ek__short(double value);

/** Fifteen significant digits with a point in every locale; "-" when not finite. */
ek__digits ek__real(double value);

/** The same with a point or an exponent in any case: "1.0", "0.5", "1e20", "1e-7". */
ek__digits ek__pointed(double value);

/** A time for people: "12.345 s", "123.45 ms". */
ek__digits ek__seconds(double seconds);

/** Nanoseconds as microseconds with three decimals, from the whole number: exact. */
ek__digits ek__exact_us(int64_t ns);

/** Whole number in groups of three: "55 821". */
ek__digits ek__grouped(double value);

#endif
