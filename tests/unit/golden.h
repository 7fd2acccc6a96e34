/* golden.h - compares a text with its golden file. */
#ifndef TESTS_UNIT_GOLDEN_H
#define TESTS_UNIT_GOLDEN_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/** Compare with tests/golden/NAME, or write it when EK_UPDATE_GOLDEN is set. */
static inline void assert_golden(const char *name, const char *text)
{
    char path[1024];
    const char *root = getenv("EK_SOURCE_ROOT");
    snprintf(path, sizeof path, "%s/tests/golden/%s", root ? root : ".", name);
    if (getenv("EK_UPDATE_GOLDEN")) {
        FILE *out = fopen(path, "w");
        assert_non_null(out);
        assert_true(fputs(text, out) >= 0);
        assert_int_equal(fclose(out), 0);
        return;
    }
    FILE *in = fopen(path, "r");
    if (!in)
        fail_msg("%s is missing: run the test with EK_UPDATE_GOLDEN=1 and look at it", path);
    size_t n = strlen(text), got;
    char *expected = malloc(n + 2);
    assert_non_null(expected);
    got = fread(expected, 1, n + 1, in);
    fclose(in);
    expected[got] = '\0';
    size_t same = 0, line = 1;
    for (; expected[same] && expected[same] == text[same]; same++)
        line += text[same] == '\n';
    bool equal = got == n && memcmp(expected, text, n) == 0;
    free(expected);
    if (!equal)
        fail_msg("%s differs from line %zu on: EK_UPDATE_GOLDEN=1 rewrites it", path, line);
}

#endif
