/* Tests the number and text notation of the contract (docs/json.md) against jansson's, which it follows: numbers and
 * texts of any bits. */
#include "input.h"

#include <jansson.h>
#include <math.h>

#include "base/json_stream.h"
#include "base/random.h"

/* The output of ek__stream, in a text to free. */
static char *real_text(double value)
{
    char *text = NULL;
    size_t size;
    ek__stream s = {.out = open_memstream(&text, &size), .points = true};
    assert_non_null(s.out);
    ek__stream_real(&s, NULL, value);
    fclose(s.out);
    return text;
}

static void check_real(double value)
{
    json_t *real = json_real(value);
    char *wanted = json_dumps(real, JSON_ENCODE_ANY | JSON_REAL_PRECISION(15)), *text = real_text(value);
    assert_string_equal(text, wanted);
    json_decref(real);
    free(wanted);
    free(text);
}

static void real_numbers_are_those_of_jansson(void **state)
{
    (void)state;
    static const double values[] = {0,       -0.0,
                                    1,       -1,
                                    0.1,     1e14,
                                    1e15,    123456789012345678.0,
                                    1e20,    1e22,
                                    1e99,    1e-4,
                                    1e-5,    -1e-5,
                                    1e-10,   1e-100,
                                    2.5e-7,  1e100,
                                    3e9,     1e16,
                                    0.5,     1.0 / 3,
                                    2.0 / 3, 1048576,
                                    5e-324,  1.7976931348623157e308};
    ek__random random = ek__random_seed(7);
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        check_real(values[i]);
    for (int i = 0; i < 20000; i++) {
        uint64_t bits = ek__random_next(&random);
        double value;
        memcpy(&value, &bits, sizeof value);
        if (isfinite(value))
            check_real(value);
        check_real((double)(int64_t)(bits >> (i % 64)));
        check_real((double)(int64_t)(bits >> 40) / 1024);
    }
}

static void check_text(const char *text)
{
    char *printed = NULL;
    size_t size;
    ek__stream s = {.out = open_memstream(&printed, &size), .points = true};
    assert_non_null(s.out);
    ek__stream_text(&s, NULL, text);
    fclose(s.out);
    json_t *string = json_string(text);
    if (string) {
        char *wanted = json_dumps(string, JSON_ENCODE_ANY);
        assert_string_equal(printed, wanted);
        free(wanted);
    } else { /* no valid UTF-8 */
        string = json_loads(printed, JSON_DECODE_ANY, NULL);
        assert_non_null(strstr(json_string_value(string), "\xef\xbf\xbd"));
    }
    json_decref(string);
    free(printed);
}

static void texts_are_those_of_jansson(void **state)
{
    (void)state;
    ek__random random = ek__random_seed(9);
    char text[24];
    for (int byte = 1; byte < 256; byte++) {
        snprintf(text, sizeof text, "a%cb/", byte);
        check_text(text);
    }
    check_text("\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80 \xe2\x80\xa8 <");
    check_text("cut \xe2\x82");
    for (int i = 0; i < 20000; i++) {
        size_t n = ek__random_next(&random) % (sizeof text - 1);
        for (size_t k = 0; k < n; k++)
            text[k] = (char)(1 + ek__random_next(&random) % (i % 2 ? 127 : 255));
        text[n] = '\0';
        check_text(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(real_numbers_are_those_of_jansson),
        cmocka_unit_test(texts_are_those_of_jansson),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
