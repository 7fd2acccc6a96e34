/* Prints one line for each run of a table of measured runs: measured, predicted, the error, and the parts of the
 * predicted step; then their errors together. A tool for improving the model of steps.
 *
 * usage: estimate_rows TABLE... [--device NAME|FILE] [--all] [--group WORD] --all also lists rows that do not count,
 * with the reason; --group only rows with the word in their group or name. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "evenkeel/calibrate.h"
#include "judge.h"

typedef struct options {
    const ek_device *device;
    const char *group;
    bool all;
} options;

static void warn(void *user, const ek_error *warning)
{
    (void)user;
    fprintf(stderr, "%s:%d: %s\n", warning->file, warning->line, warning->message);
}

static void print_parts(const judged_run *row)
{
    for (int p = 0; p < EK_N_STEP_PARTS; p++)
        if (row->part[p] > 0.0005 * row->predicted)
            printf(" %s %.1f", ek_step_part_name[p], 100 * row->part[p] / row->predicted);
    printf("\n");
}

static void print_row(const judged_run *row)
{
    const ek_measured_run *run = row->run;
    printf("%4d %-44.44s %-10.10s %5d ", run->origin.line, run->name, row->device ? row->device->name : "-",
           run->n_devices);
    if (isnan(row->predicted)) {
        printf("%10.4f          -        - %s\n", run->step_seconds, row->error.message);
        return;
    }
    printf("%10.4f %10.4f %+7.1f%% ", run->step_seconds, row->predicted, 100 * judged_error(row));
    print_parts(row);
}

static bool wanted(const ek_measured_run *run, const options *o)
{
    if (!ek_measured_run_counts(run) && o->all)
        printf("%4d %-44.44s left out: %s\n", run->origin.line, run->name,
               run->why[0] ? run->why : "no step was measured");
    return ek_measured_run_counts(run) && (!o->group || strstr(run->group, o->group) || strstr(run->name, o->group));
}

static int judge_table(const char *path, const options *o)
{
    static const ek_listener listener = {.warn = warn};
    ek_measured_runs runs;
    ek_error err;
    if (ek_run_table_read(path, &listener, &runs, &err)) {
        fprintf(stderr, "%s:%d:%d: %s\n", err.file, err.line, err.column, err.message);
        return 2;
    }
    judged_run *row = calloc((size_t)runs.n + 1, sizeof *row);
    int n = 0;
    printf("%s\nline run%41s device     cards   measured  predicted    error  parts in %%\n", path, "");
    for (int i = 0; i < runs.n && row; i++)
        if (wanted(&runs.run[i], o)) {
            row[n] = judge_run(&runs.run[i], o->device);
            print_row(&row[n++]);
        }
    judged all = row ? judge_all(row, n) : (judged){0};
    printf("%d runs, %d not priced: |error| mean %.2f %% median %.2f %% worst %.2f %%, bias %+.2f %%", all.n,
           all.n_failed, 100 * all.mean, 100 * all.median, 100 * all.worst, 100 * all.bias);
    if (all.n_groups)
        printf("; %d groups: Spearman %.3f, first choice %.2f %% slower than the best", all.n_groups, all.spearman,
               100 * all.first_choice);
    printf("\n\n");
    free(row);
    ek_measured_runs_clear(&runs);
    return 0;
}

/* @return a shipped device, or `own` read from a file; NULL with a message */
static const ek_device *find_device(const char *name, ek_device *own)
{
    ek_error err;
    const ek_device *device = ek_device_find(name);
    if (device || ek_device_read(name, NULL, own, &err) == EK_OK)
        return device ? device : own;
    fprintf(stderr, "%s:%d: %s\n", err.file, err.line, err.message);
    return NULL;
}

int main(int argc, char **argv)
{
    options o = {0};
    ek_device own = {0};
    int status = 0, n = 0;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--device") == 0 && i + 1 < argc) {
            if (!(o.device = find_device(argv[++i], &own)))
                return 2;
        } else if (strcmp(argv[i], "--group") == 0 && i + 1 < argc) {
            o.group = argv[++i];
        } else if (strcmp(argv[i], "--all") == 0) {
            o.all = true;
        } else {
            argv[1 + n++] = argv[i];
        }
    }
    for (int i = 0; i < n; i++)
        status = judge_table(argv[1 + i], &o) ? 2 : status;
    ek_device_clear(&own);
    return n == 0 ? 2 : status;
}
