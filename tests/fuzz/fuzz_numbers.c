/* Fuzzes numbers and short lists of them as texts: whatever the bytes, every reader takes the same text for a number,
 * prints the number so that it is read back, and nothing is outside its range. A second reader with numbers of any
 * length is the oracle of microseconds. */
#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/c_locale.h"
#include "base/config_tree.h"
#include "base/digits.h"
#include "evenkeel/layers.h"
#include "evenkeel/measured_peaks.h"
#include "evenkeel/uniform.h"
#include "fuzz.h"
#include "trace/trace.h"

static bool is_near(double a, double b)
{
    return fabs(a - b) <= 1e-14 * fmax(fabs(a), fabs(b));
}

static void check_digits(double value)
{
    char *end;
    const ek__digits real = ek__real(value), pointed = ek__pointed(value);
    assert(is_near(ek__strtod(real.text, &end), value) && *end == '\0');
    assert(is_near(ek__strtod(pointed.text, &end), value) && *end == '\0' && strpbrk(pointed.text, ".e"));
}

static void check_number(const char *text)
{
    char *end, *end_again;
    double value = ek__strtod(text, &end), again = strtod(text, &end_again), number;
    assert(end == end_again && (value == again || (isnan(value) && isnan(again)))); /* no locale is set here */
    if (!ek__text_is_number(text, &number))
        return;
    assert(isfinite(number) && number == value && *end == '\0');
    check_digits(number);
}

/* Times as nanoseconds: within half a unit of the long double's value. */
static void check_us(const char *text, size_t size)
{
    int64_t ns, again;
    if (!ek__parse_us(text, size, &ns))
        return;
    if (strlen(text) == size) {
        long double us = strtold(text, NULL), exact = us * 1000;
        assert(fabsl(exact - (long double)ns) <= 0.5L + fabsl(exact) * 1e-18L);
    }
    const ek__digits printed = ek__exact_us(ns);
    assert(ek__parse_us(printed.text, strlen(printed.text), &again) && again == ns);
}

static void check_lists(const char *text)
{
    ek_error err = {0};
    ek_times times;
    ek_uniform uniform;
    if (ek_times_parse(text, &times, &err) == EK_OK) {
        assert(isnan(times.body) || (isfinite(times.body) && times.body > 0));
        assert(!(times.head < 0) && !isinf(times.head) && !(times.tail < 0) && !isinf(times.tail));
    } else
        assert(err.message[0]);
    err = (ek_error){0};
    if (ek_uniform_parse(text, &uniform, &err) == EK_OK) {
        assert(isfinite(uniform.forward_time) && isfinite(uniform.backward_time) && isfinite(uniform.weight_time));
        assert(uniform.forward_time >= 0 && uniform.weight_time >= 0 && uniform.weight_time <= uniform.backward_time);
        assert(uniform.weight_share >= 0 && uniform.weight_share <= 1);
    } else
        assert(err.message[0]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size);
    double number, mb = ek_memory_amount_mb(text);
    check_number(text);
    check_us(text, size);
    check_lists(text);
    if (ek__text_is_number(text, &number) && !isnan(mb))
        assert(mb == number);
    free(text);
    return 0;
}
