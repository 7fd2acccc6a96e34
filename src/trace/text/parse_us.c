/* Converts decimal microseconds, as profilers print them, into whole nanoseconds without a double in between: epochs of
 * 16 digits before the point lose a quarter of a microsecond in one. The digits are those of the answer up to the third
 * after the point; the rest only decides the rounding, half to even. Hexadecimal, infinity and NaN are refused. */
#include <string.h>

#include "base/byte_order.h"
#include "trace/trace.h"

/* Digits of an answer from the left, and the digits after them. */
typedef struct rounding {
    uint64_t value;
    bool overflow;
    int first_left_out; /* digit; -1 before there is one */
    bool more_left_out; /* any digit after it is not 0 */
} rounding;

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static void add(rounding *r, int digit)
{
    const uint64_t most = INT64_MAX;
    if (r->value > most / 10 || (r->value == most / 10 && (uint64_t)digit > most % 10))
        r->overflow = true;
    else
        r->value = r->value * 10 + (uint64_t)digit;
}

static void leave_out(rounding *r, int digit)
{
    if (r->first_left_out < 0)
        r->first_left_out = digit;
    else if (digit != 0)
        r->more_left_out = true;
}

static bool finish(rounding *r, bool negative, int64_t *ns)
{
    if (r->first_left_out > 5 || (r->first_left_out == 5 && (r->more_left_out || r->value % 2 == 1)))
        r->value++;
    if (r->overflow || r->value > INT64_MAX)
        return false;
    *ns = negative ? -(int64_t)r->value : (int64_t)r->value;
    return true;
}

/* The number after "e", at most a billion either way: beyond that no result fits, or all are 0. */
static bool read_exponent(const char *text, const char *end, int64_t *exponent)
{
    bool negative = text < end && *text == '-';
    if (text < end && (*text == '-' || *text == '+'))
        text++;
    if (text == end)
        return false;
    int64_t value = 0;
    for (; text < end; text++) {
        if (!is_digit(*text))
            return false;
        if (value < 1000000000)
            value = value * 10 + (*text - '0');
    }
    *exponent = negative ? -value : value;
    return true;
}

/* `digits` ends where the exponent begins and contains at most one point. The answer uses `n_whole` digits of it. */
static bool with_exponent(const char *digits, const char *end, int64_t n_whole, bool negative, int64_t *ns)
{
    rounding r = {.first_left_out = n_whole < 0 ? 0 : -1};
    int64_t n = 0;
    for (; digits < end; digits++) {
        if (*digits == '.')
            continue;
        if (n++ < n_whole)
            add(&r, *digits - '0');
        else
            leave_out(&r, *digits - '0');
    }
    for (; n < n_whole && r.value > 0 && !r.overflow; n++)
        add(&r, 0);
    return finish(&r, negative, ns);
}

/* Eight digits at once: bytes to pairs to fours to one number. @return false when one is not a digit */
static bool eight_digits(const char *text, int64_t *value)
{
    uint64_t eight;
    memcpy(&eight, text, 8);
    eight = ek__lowest_first_64(eight) ^ UINT64_C(0x3030303030303030); /* digits become 0..9 */
    if (((eight + UINT64_C(0x7676767676767676)) | eight) & UINT64_C(0x8080808080808080))
        return false;
    eight = eight * 10 + (eight >> 8);
    eight = ((eight & UINT64_C(0x000000ff000000ff)) * UINT64_C(0x000f424000000064) +
             ((eight >> 16) & UINT64_C(0x000000ff000000ff)) * UINT64_C(0x0000271000000001)) >>
            32;
    *value = (int64_t)eight;
    return true;
}

/* An epoch of today, "1736408883688177.930". */
static bool parse_epoch(const char *text, size_t size, int64_t *ns)
{
    int64_t high, low;
    if (size != 20 || text[0] == '9' || text[16] != '.' || !eight_digits(text, &high) ||
        !eight_digits(text + 8, &low) || !is_digit(text[17]) || !is_digit(text[18]) || !is_digit(text[19]))
        return false;
    *ns = (high * 100000000 + low) * 1000 + (text[17] - '0') * 100 + (text[18] - '0') * 10 + (text[19] - '0');
    return true;
}

/* The common case: digits, a point, at most three more, without possible overflow. */
static bool parse_plain(const char *text, size_t size, int64_t *ns)
{
    static const int64_t missing[] = {1000, 100, 10, 1};
    /* 16 digits before the point and 3 after it fit while the first of the 16 is below 9. */
    enum { MOST_WHOLE = 16, MOST_FRACTION = 3 };
    int64_t value = 0;
    size_t i = 0, n_fraction = 0;
    if (size == 0 || size > MOST_WHOLE + 1 + MOST_FRACTION || !is_digit(text[0]) || text[0] == '9')
        return false;
    for (; i < size && i < MOST_WHOLE && is_digit(text[i]); i++)
        value = value * 10 + (text[i] - '0');
    if (i < size && text[i++] != '.')
        return false;
    for (; i < size && n_fraction < MOST_FRACTION && is_digit(text[i]); i++, n_fraction++)
        value = value * 10 + (text[i] - '0');
    if (i < size)
        return false;
    *ns = value * missing[n_fraction];
    return true;
}

bool ek__parse_us(const char *text, size_t size, int64_t *ns)
{
    if (parse_epoch(text, size, ns) || parse_plain(text, size, ns))
        return true;
    const char *end = text + size;
    while (text < end && is_blank(*text))
        text++;
    while (text < end && is_blank(end[-1]))
        end--;
    bool negative = text < end && *text == '-';
    if (text < end && (*text == '-' || *text == '+'))
        text++;

    const char *digits = text;
    rounding r = {.first_left_out = -1};
    int64_t n_whole = 0, n_fraction = 0;
    for (; text < end && is_digit(*text); text++, n_whole++)
        add(&r, *text - '0');
    for (text += text < end && *text == '.'; text < end && is_digit(*text); text++, n_fraction++) {
        if (n_fraction < 3)
            add(&r, *text - '0');
        else
            leave_out(&r, *text - '0');
    }
    if (n_whole + n_fraction == 0)
        return false;
    if (text < end) {
        int64_t exponent;
        return (*text == 'e' || *text == 'E') && read_exponent(text + 1, end, &exponent) &&
               with_exponent(digits, text, n_whole + exponent + 3, negative, ns);
    }
    for (; n_fraction < 3; n_fraction++)
        add(&r, 0);
    return finish(&r, negative, ns);
}
