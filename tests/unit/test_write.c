/* Tests that results in memory and through a callback are the same bytes as in a file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "evenkeel/job.h"
#include "evenkeel/memory.h"
#include "evenkeel/memory_report.h"
#include "evenkeel/report.h"
#include "evenkeel/version.h"
#include "evenkeel/view.h"
#include "evenkeel/write.h"

typedef struct taken {
    char *text;
    size_t size, largest;
    int calls, most; /* calls that are answered with true */
} taken;

static bool take(void *user, const char *bytes, size_t size)
{
    taken *t = user;
    if (++t->calls > t->most)
        return false;
    t->text = realloc(t->text, t->size + size);
    assert_non_null(t->text);
    memcpy(t->text + t->size, bytes, size);
    t->size += size;
    t->largest = size > t->largest ? size : t->largest;
    return true;
}

static char *file_of(ek_output output, const char *format, size_t *size)
{
    ek_error err;
    FILE *out = tmpfile();
    assert_non_null(out);
    assert_int_equal(ek_write(output, format, out, &err), EK_OK);
    *size = (size_t)ftell(out);
    char *text = malloc(*size + 1);
    assert_non_null(text);
    rewind(out);
    assert_int_equal(fread(text, 1, *size, out), *size);
    fclose(out);
    return text;
}

static void outputs_are_alike(ek_output output, const char *format, size_t least)
{
    ek_error err;
    size_t size, size_of_text;
    char *wanted = file_of(output, format, &size), *text;
    assert_true(size >= least);
    assert_int_equal(ek_write_text(output, format, &text, &size_of_text, &err), EK_OK);
    assert_int_equal(size_of_text, size);
    assert_memory_equal(text, wanted, size);
    assert_int_equal(text[size], 0);
    free(text);
    taken t = {.most = 1 << 20};
    assert_int_equal(ek_write_sink(output, format, take, &t, &err), EK_OK);
    assert_int_equal(t.size, size);
    assert_memory_equal(t.text, wanted, size);
    assert_true(t.largest <= 65536);
    free(t.text);
    taken one = {.most = size > 65536 ? 1 : 0};
    assert_int_equal(ek_write_sink(output, format, take, &one, &err), EK_ERR_SYSTEM);
    assert_int_equal(one.calls, one.most + 1);
    assert_int_equal(one.size, size > 65536 ? 65536 : 0);
    free(one.text);
    free(wanted);
}

static void all_ways_of_writing_give_the_same_bytes(void **state)
{
    (void)state;
    ek_error err;
    ek_job job;
    ek_memory memory;
    char path[4096];
    snprintf(path, sizeof path, "%s/examples/llama175b_train.yaml", getenv("EK_SOURCE_ROOT"));
    assert_int_equal(ek_job_read(path, NULL, NULL, &job, &err), EK_OK);
    assert_int_equal(ek_memory_predict(&job, NULL, &memory, &err), EK_OK);
    ek_memory_report report = {.job = &job, .memory = &memory, .stage = -1};
    outputs_are_alike(ek_output_of_memory(&report), "json", 10000);
    outputs_are_alike(ek_output_of_memory(&report), "csv", 100);
    ek_view page = {.title = "nothing"};
    outputs_are_alike(ek_output_of_page(&page), "html", 3 * 65536);
    ek_memory_clear(&memory);
    ek_job_clear(&job);
}

static void a_format_that_is_not_there_leaves_the_text(void **state)
{
    (void)state;
    ek_error err;
    char mine[] = "mine", *text = mine;
    size_t size = 7;
    assert_int_equal(ek_write_text(ek_output_of_devices(NULL), "svg", &text, &size, &err), EK_ERR_INPUT);
    assert_ptr_equal(text, mine);
    assert_int_equal(size, 7);
    taken t = {.most = 1};
    assert_int_equal(ek_write_sink(ek_output_of_devices(NULL), "svg", take, &t, &err), EK_ERR_INPUT);
    assert_int_equal(t.calls, 0);
}

static void a_case_that_is_not_there_is_refused(void **state)
{
    (void)state;
    static const char *const formats[] = {"svg", "chrome"};
    const ek_report report = {.memory_limit_mb = 1};
    for (int index = -1; index < 2; index++)
        for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
            ek_error err;
            char *text = NULL;
            ek_output output = ek_output_of_balance(&report);
            output.index = index;
            assert_int_equal(ek_write_text(output, formats[i], &text, NULL, &err), EK_ERR_INPUT);
            assert_non_null(strstr(err.message, "there is no case"));
            assert_null(text);
        }
}

static void versions_agree(void **state)
{
    (void)state;
    char text[32];
    snprintf(text, sizeof text, "%d.%d.%d", EK_VERSION_MAJOR, EK_VERSION_MINOR, EK_VERSION_PATCH);
    assert_string_equal(ek_version(), text);
    assert_string_equal(EK_VERSION, text);
    assert_int_equal(ek_version_number(), EK_VERSION_NUMBER);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_ways_of_writing_give_the_same_bytes),
        cmocka_unit_test(a_format_that_is_not_there_leaves_the_text),
        cmocka_unit_test(a_case_that_is_not_there_is_refused),
        cmocka_unit_test(versions_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
