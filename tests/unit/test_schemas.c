/* Tests the JSON Schemas: every kind of JSON has one, and the files in data/schemas agree with the descriptions of the
 * figures. tests/schemas checks documents against them. EK_WRITE_DOCS=1 writes the files. */
#include "input.h"

#include <string.h>

#include "evenkeel/write.h"

static const char *const formats[] = {"json", "jsonl", "chrome"};
enum { N_FORMATS = sizeof formats / sizeof *formats };

static char *schema_of(int kind, const char *format)
{
    ek_error err;
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    if (ek_write_schema((ek_output_kind)kind, format, out, &err))
        fail_msg("%s", err.message);
    fclose(out);
    return text;
}

static void every_kind_of_json_has_a_schema_of_its_own(void **state)
{
    const char *name[EK_N_OUTPUTS * N_FORMATS];
    int n = 0;
    (void)state;
    for (int kind = 0; kind < EK_N_OUTPUTS; kind++)
        for (int f = 0; f < N_FORMATS; f++) {
            const char *one = ek_schema_name((ek_output_kind)kind, formats[f]);
            assert_int_equal(one != NULL, ek_can_write((ek_output_kind)kind, formats[f]));
            for (int i = 0; one && i < n; i++)
                assert_string_not_equal(one, name[i]);
            if (one)
                name[n++] = one;
        }
    assert_true(n > 20);
}

static void no_other_format_has_one(void **state)
{
    ek_error err;
    (void)state;
    assert_null(ek_schema_name(EK_OUTPUT_MEMORY, "csv"));
    assert_null(ek_schema_name(EK_OUTPUT_MEMORY, "jsonl"));
    assert_int_equal(ek_write_schema(EK_OUTPUT_MEMORY, "csv", stdout, &err), EK_ERR_INPUT);
    assert_string_equal(err.message, "there is no schema of the format 'csv' of this");
}

static void the_files_are_what_the_descriptions_say(void **state)
{
    char path[128];
    size_t size;
    (void)state;
    for (int kind = 0; kind < EK_N_OUTPUTS; kind++)
        for (int f = 0; f < N_FORMATS; f++) {
            const char *name = ek_schema_name((ek_output_kind)kind, formats[f]);
            if (!name)
                continue;
            char *wanted = schema_of(kind, formats[f]);
            snprintf(path, sizeof path, "data/schemas/%s.json", name);
            if (getenv("EK_WRITE_DOCS")) {
                FILE *out = fopen(source_path(path), "w");
                assert_non_null(out);
                assert_true(fputs(wanted, out) >= 0);
                assert_int_equal(fclose(out), 0);
            }
            char *text = slurp(source_path(path), &size);
            if (!text || strcmp(text, wanted) != 0)
                fail_msg("%s is not what the figures say: EK_WRITE_DOCS=1 with this test writes it", path);
            free(text);
            free(wanted);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_of_json_has_a_schema_of_its_own),
        cmocka_unit_test(no_other_format_has_one),
        cmocka_unit_test(the_files_are_what_the_descriptions_say),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
