/* Compares the output for runs of made_traces.h with golden files, so that no figure changes unnoticed: each form of
 * trace as text, and one rank of it as JSON, as every table and as a page. The events and with them all figures are the
 * same on every machine. */
#include "golden_page.h"
#include "made_traces.h"

#include "evenkeel/trace.h"
#include "evenkeel/trace_report.h"
#include "report/writers.h"

/* A text without the name of the run's folder, which differs each time. */
static char *without_folder(char *text)
{
    const char *folder = made_traces();
    size_t n = strlen(folder);
    char *to = text;
    for (const char *from = text; *from;)
        if (strncmp(from, folder, n) == 0)
            from += n;
        else
            *to++ = *from++;
    *to = '\0';
    return text;
}

static ek_trace_run read_run(const char *form)
{
    char path[4096];
    const char *const paths[] = {path};
    ek_trace_run run;
    ek_error err = {0};
    snprintf(path, sizeof path, "%s/%s", made_traces(), form);
    if (ek_trace_run_read(paths, 1, NULL, NULL, &run, &err))
        fail_msg("%s: %s", path, err.message);
    return run;
}

static void check(const char *form, const char *ending, char *text)
{
    char name[64];
    snprintf(name, sizeof name, "trace_%s.%s", form, ending);
    assert_golden(name, without_folder(text));
    free(text);
}

typedef ek_status writer(const ek_trace_run *run, const ek_trace_view *view, FILE *out, ek_error *err);

static char *written(writer *write, const ek_trace_run *run, const ek_trace_view *view)
{
    char *text = NULL;
    size_t size;
    ek_error err = {0};
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    if (write(run, view, out, &err))
        fail_msg("%s", err.message);
    assert_int_equal(fclose(out), 0);
    return text;
}

static ek_status write_tables(const ek_trace_run *run, const ek_trace_view *view, FILE *out, ek_error *err)
{
    ek_status status = EK_OK;
    for (int i = 0; i < EK_N_TRACE_TABLES && !status; i++) {
        fprintf(out, "%s\n", ek_trace_tables[i].name);
        status = ek__trace_write_csv(run, &ek_trace_tables[i], view, out, err);
    }
    return status;
}

static void summaries_are_as_they_were(void **state)
{
    (void)state;
    static const char *const forms[] = {"mindspore", "torch", "torch_npu", "stages"};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        ek_trace_run run = read_run(forms[i]);
        check(forms[i], "txt", written(ek__trace_write_text, &run, NULL));
        ek_trace_run_clear(&run);
    }
}

static void figures_of_a_rank_are_as_they_were(void **state)
{
    (void)state;
    static const char *const forms[] = {"mindspore", "torch"};
    const ek_trace_view view = {.rank = 1};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        ek_trace_run run = read_run(forms[i]);
        check(forms[i], "json", written(ek__trace_write_json, &run, &view));
        check(forms[i], "csv", written(write_tables, &run, &view));
        ek_trace_run_clear(&run);
    }
}

static void a_page_is_as_it_was(void **state)
{
    (void)state;
    ek_trace_run run = read_run("mindspore");
    const ek_view_run shown = {.name = "mindspore", .trace = &run};
    assert_golden_page_text("trace_page.json", without_folder(page_text(&shown)));
    ek_trace_run_clear(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(summaries_are_as_they_were),
        cmocka_unit_test(figures_of_a_rank_are_as_they_were),
        cmocka_unit_test(a_page_is_as_it_was),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
