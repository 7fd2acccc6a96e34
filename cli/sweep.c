/* Reads a sweep's values from the command line, and writes its result as table, picture and page. */
#include "sweep.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "evenkeel/job.h"
#include "evenkeel/sweep.h"
#include "files.h"
#include "named_files.h"
#include "page.h"
#include "progress.h"
#include "team.h"

/* The requested sweep. */
typedef struct sweep {
    int key; /* an ek_swept; EK_N_SWEPT: unknown */
    int n;
    double value[EK_MAX_SWEEP_VALUES];
    const cli_model *model;
    cli_search *search;
} sweep;

static const char *name_of(int key)
{
    return ek_swept_quantities[key].key.name;
}

static int find_key(const char *text)
{
    size_t length = strcspn(text, "=");
    for (int i = 0; i < EK_N_SWEPT; i++)
        if (strlen(name_of(i)) == length && strncmp(name_of(i), text, length) == 0)
            return i;
    return EK_N_SWEPT;
}

bool cli_sweeps(const char *text, const char *key)
{
    int found = find_key(text);
    return found < EK_N_SWEPT && strcmp(name_of(found), key) == 0;
}

static bool parse_value(const sweep *s, const char *text, size_t length, const char *what, double least, double *out)
{
    char number[64] = "", *end = number;
    double value = NAN;
    bool plain = length > 0 && length < sizeof number && strspn(text, "0123456789+-.eE") >= length;
    if (plain) {
        memcpy(number, text, length);
        number[length] = '\0';
        value = strtod(number, &end);
    }
    bool whole = ek_swept_quantities[s->key].whole;
    if (*end || !(value >= least && value <= ek_swept_quantities[s->key].most) || (whole && value != floor(value))) {
        cli_error(NULL, "--sweep %s: %s must be a %snumber from %g to %g (got '%.*s')", name_of(s->key), what,
                  whole ? "whole " : "", least, ek_swept_quantities[s->key].most, (int)length, text);
        return false;
    }
    *out = value;
    return true;
}

static bool too_many(double n)
{
    cli_error(NULL, "--sweep: %.0f values are more than %d; take a larger step", n, EK_MAX_SWEEP_VALUES);
    return false;
}

/* from:to:step; `to` itself is a value when the steps meet it. */
static bool parse_range(sweep *s, const char *text)
{
    const char *colon = strchr(text, ':'), *second = strchr(colon + 1, ':');
    double from, to, step, least = ek_swept_quantities[s->key].least;
    if (!second || strchr(second + 1, ':')) {
        cli_error(NULL, "--sweep: a range is from:to:step (got '%s')", text);
        return false;
    }
    if (!parse_value(s, text, (size_t)(colon - text), "the first value", least, &from) ||
        !parse_value(s, colon + 1, (size_t)(second - colon - 1), "the last value", least, &to) ||
        !parse_value(s, second + 1, strlen(second + 1), "the step", 0, &step))
        return false;
    if (!(step > 0)) {
        cli_error(NULL, "--sweep: the step must be more than 0 (got '%s')", second + 1);
        return false;
    }
    if (to < from) {
        cli_error(NULL, "--sweep: the range runs backwards; write it as %g:%g:%g", to, from, step);
        return false;
    }
    double n = floor((to - from) / step * (1 + 1e-12)) + 1;
    if (n > EK_MAX_SWEEP_VALUES)
        return too_many(n);
    for (s->n = 0; s->n < (int)n; s->n++)
        s->value[s->n] = from + s->n * step;
    return true;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static bool parse_list(sweep *s, const char *text)
{
    for (const char *at = text;; at++) {
        size_t length = strcspn(at, ",");
        if (s->n == EK_MAX_SWEEP_VALUES)
            return too_many(EK_MAX_SWEEP_VALUES + 1.0);
        if (!parse_value(s, at, length, "a value", ek_swept_quantities[s->key].least, &s->value[s->n]))
            return false;
        s->n++;
        at += length;
        if (!*at)
            break;
    }
    qsort(s->value, (size_t)s->n, sizeof *s->value, by_value);
    int kept = 1;
    for (int i = 1; i < s->n; i++)
        if (s->value[i] != s->value[kept - 1])
            s->value[kept++] = s->value[i];
    s->n = kept;
    return true;
}

static bool parse_sweep(sweep *s, const char *text)
{
    const char *values = strchr(text, '=');
    s->key = find_key(text);
    if (s->key == EK_N_SWEPT || !values) {
        char names[64] = "";
        for (int i = 0; i < EK_N_SWEPT; i++) {
            size_t used = strlen(names);
            snprintf(names + used, sizeof names - used, "%s%s", i ? ", " : "", name_of(i));
        }
        cli_error(NULL, "--sweep: '%s' is not KEY=from:to:step or KEY=a,b,c with one of the keys %s", text, names);
        return false;
    }
    return strchr(values, ':') ? parse_range(s, values + 1) : parse_list(s, values + 1);
}

static void show(void *user, int done, int n)
{
    const sweep *s = user;
    fprintf(stderr, "\r\033[Ksweep over %s: %d of %d values done, at most %.1f s left", name_of(s->key), done, n,
            cli_search_left(s->search));
    fflush(stderr);
    cli_bar_drawn();
}

/* The shapes that pieces are cut by. False after a message. */
static bool read_shapes(const sweep *s, ek_job *shapes)
{
    if (s->key != EK_SWEPT_PIECES)
        return true;
    if (!s->model->train) {
        cli_error(NULL, "--sweep seq needs the model's shapes: give its training file with -train FILE");
        return false;
    }
    return cli_model_shapes(s->model, shapes);
}

static bool run_sweep(sweep *s, const ek_layers *layers, ek_sweep *out)
{
    const cli_model *model = s->model;
    const ek_balance_lists lists = {cli_model_fill, cli_cluster_release, model};
    ek_job shapes = {0};
    ek_error err;
    if (!read_shapes(s, &shapes))
        return false;
    const ek_sweep_input input = {.layers = layers,
                                  .swept = (ek_swept)s->key,
                                  .n = s->n,
                                  .value = s->value,
                                  .n_stages = model->n_stages,
                                  .n_chunks = model->n_chunks,
                                  .n_micro_batches = model->n_micro_batches,
                                  .n_pieces = model->n_pieces,
                                  .schedule = model->schedule,
                                  .less_memory = model->less_memory == 1,
                                  .job = &shapes,
                                  .options = cli_search_options(s->search, &model->comm),
                                  .lists = &lists,
                                  .listener = &cli_listener,
                                  .progress = s->search->terminal ? show : NULL,
                                  .user = s,
                                  .team = cli_team(),
                                  .patience = s->search->patience};
    cli_search_begin(s->search);
    ek_status status = ek_sweep_run(&input, out, &err);
    cli_search_end(s->search);
    if (status)
        cli_error(&err, "%s", err.message);
    ek_job_clear(&shapes);
    return status == EK_OK;
}

static bool write_pictures(const cli_model *model, const ek_sweep *report)
{
    bool text = strcmp(model->format, "text") == 0 && !cli_stdout_taken();
    const char *folder = model->output ? model->output : text && !model->svg && !model->html ? "output" : NULL;
    const ek_view_run run = {.name = report->key->name, .sweep = report};
    char path[4096];
    if (!cli_save(model->svg, ek_output_of_sweep(report), "svg"))
        return false;
    if (model->html) {
        char title[EK_NAME_SIZE + 128];
        snprintf(title, sizeof title, "%s: best plans over %s", report->layers->name, report->key->title);
        if (!cli_write_page(model->html, title, model->lang, &run, 1))
            return false;
    }
    if (!folder)
        return true;
    if (snprintf(path, sizeof path, "%s/sweep.svg", folder) >= (int)sizeof path) {
        cli_error(NULL, "the path of a picture is too long");
        return false;
    }
    if (!cli_make_folder(folder) || !cli_save(path, ek_output_of_sweep(report), "svg"))
        return false;
    if (text)
        printf("\npictures:\n  %s\n", path);
    return fflush(stdout) == 0;
}

static int print_sweep(const cli_model *model, const ek_sweep *found)
{
    if (!cli_answer(ek_output_of_sweep(found), model->format) || !write_pictures(model, found))
        return EXIT_WRONG;
    for (int i = 0; i < found->n; i++)
        if (found->row[i].plan.n_stages > 0)
            return EXIT_DONE;
    return EXIT_NO;
}

int cli_run_sweep(const cli_model *model, const ek_layers *layers, cli_search *search, const char *text)
{
    sweep s = {.model = model, .search = search};
    ek_sweep found;
    if (!cli_check_format(model, EK_OUTPUT_SWEEP, "--sweep"))
        return EXIT_WRONG;
    if (model->chrome_trace) {
        cli_error(NULL, "--chrome-trace is of one plan; leave it or --sweep out");
        return EXIT_WRONG;
    }
    if (!parse_sweep(&s, text) || !run_sweep(&s, layers, &found))
        return EXIT_WRONG;
    bool answers = !cli_team() || cli_team()->index == 0;
    int code = answers ? print_sweep(model, &found) : EXIT_DONE;
    ek_sweep_clear(&found);
    return code;
}
