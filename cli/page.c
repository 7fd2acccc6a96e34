/* Pages for a browser: runs with names of their own, written as a whole. */
#include "page.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "files.h"

typedef char name[EK_NAME_SIZE + 16];

static bool is_taken(const ek_view_run *run, int n, const char *text)
{
    for (int i = 0; i < n; i++)
        if (strcmp(run[i].name, text) == 0)
            return true;
    return false;
}

static ek_status write_html(const void *user, FILE *out, ek_error *err)
{
    return ek_view_write_html(user, out, err);
}

bool cli_write_page(const char *path, const char *title, const ek_view_run *run, int n_runs)
{
    ek_view_run *own = calloc((size_t)n_runs + 1, sizeof *own);
    name *names = calloc((size_t)n_runs + 1, sizeof *names);
    bool fine = own && names;
    for (int i = 0; fine && i < n_runs; i++) {
        own[i] = run[i];
        for (int number = 2; is_taken(own, i, own[i].name); number++) {
            snprintf(names[i], sizeof names[i], "%.*s-%d", EK_NAME_SIZE, run[i].name, number);
            own[i].name = names[i];
        }
    }
    const ek_view view = {.title = title, .n_runs = n_runs, .run = own};
    if (!fine)
        cli_error(NULL, "out of memory");
    fine = fine && cli_write_output(path, write_html, &view);
    free(names);
    free(own);
    return fine;
}

bool cli_write_plans_page(const char *path, const ek_report *report)
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
    bool fine = cli_write_page(path, title, run, report->n_cases);
    free(run);
    return fine;
}
