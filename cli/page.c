/* Writes pages for a browser, whole or not at all. */
#include "page.h"

#include <stdio.h>
#include <stdlib.h>

#include "evenkeel/view_files.h"
#include "files.h"

typedef struct page {
    const char *title, *lang;
    const ek_view_run *run;
    int n_runs;
} page;

static ek_status write_html(const void *user, FILE *out, ek_error *err)
{
    const page *p = user;
    return ek_view_page_write(p->title, p->lang, p->run, p->n_runs, out, err);
}

bool cli_write_page(const char *path, const char *title, const char *lang, const ek_view_run *run, int n_runs)
{
    const page whole = {title, lang, run, n_runs};
    return cli_write_file(path, write_html, &whole);
}

bool cli_write_plans_page(const char *path, const char *lang, const ek_report *report)
{
    char title[EK_NAME_SIZE + 64];
    ek_view_run *run = calloc((size_t)report->n_cases + 1, sizeof *run);
    if (!run) {
        cli_error(NULL, "out of memory");
        return false;
    }
    for (int i = 0; i < report->n_cases; i++)
        run[i] = (ek_view_run){.name = report->cases[i].name, .plans = report, .case_index = i};
    snprintf(title, sizeof title, "%s: %s", report->layers->name,
             report->n_cases == 1 ? "a plan and its simulation" : "plans and their simulations");
    bool fine = cli_write_page(path, title, lang, run, report->n_cases);
    free(run);
    return fine;
}
