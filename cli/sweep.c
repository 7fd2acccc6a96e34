/* A sweep: values from the command line, one balance each on a pool of threads, and what one answer says about its
 * neighbours. A larger memory limit can only help, so a plan that fits a value is offered to every value it fits, and a
 * bound that holds for a limit holds for the smaller ones: the rows are monotone whatever the clock did to each. */
#include "sweep.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cmd.h"
#include "files.h"
#include "page.h"

enum { MAX_VALUES = 200 };

static const struct {
    ek_sweep_key key;
    const char *one; /* singular of a counted title */
    double least, most;
    bool whole;
} keys[] = {
    {{"mem", "memory limit of a stage, MB"}, NULL, 1, 1e9, false},
    {{"i", "chunks per stage"}, "chunk per stage", 1, EK_MAX_CHUNKS, true},
    {{"mb", "micro-batches"}, "micro-batch", 1, EK_MAX_MICRO_BATCHES, true},
    {{"s", "stages"}, "stage", 1, EK_MAX_STAGES, true},
    {{"seq", "sequence pieces of a micro-batch"}, NULL, 1, 1024, true},
};
enum { MEM, CHUNKS, MICRO_BATCHES, STAGES, PIECES, N_KEYS };

/* What all values share, and the rows that the threads take one by one. */
typedef struct sweep {
    int key, n;
    double value[MAX_VALUES];
    ek_sweep_row row[MAX_VALUES];
    const cli_model *model;
    const ek_layers *layers;
    ek_layers pieces[MAX_VALUES]; /* cut for the value, when it is pieces that are swept */
    ek_balance_options options;
    const cli_search *search;
    int workers;
    atomic_int next, done;
} sweep;

static int find_key(const char *text)
{
    size_t length = strcspn(text, "=");
    for (int i = 0; i < N_KEYS; i++)
        if (strlen(keys[i].key.name) == length && strncmp(keys[i].key.name, text, length) == 0)
            return i;
    return N_KEYS;
}

bool cli_sweeps(const char *text, const char *key)
{
    int found = find_key(text);
    return found < N_KEYS && strcmp(keys[found].key.name, key) == 0;
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
    bool whole = keys[s->key].whole;
    if (*end || !(value >= least && value <= keys[s->key].most) || (whole && value != floor(value))) {
        cli_error(NULL, "--sweep %s: %s must be a %snumber from %g to %g (got '%.*s')", keys[s->key].key.name, what,
                  whole ? "whole " : "", least, keys[s->key].most, (int)length, text);
        return false;
    }
    *out = value;
    return true;
}

static bool too_many(double n)
{
    cli_error(NULL, "--sweep: %.0f values are more than %d; take a larger step", n, MAX_VALUES);
    return false;
}

/* from:to:step; `to` itself is a value when the steps meet it. */
static bool parse_range(sweep *s, const char *text)
{
    const char *colon = strchr(text, ':'), *second = strchr(colon + 1, ':');
    double from, to, step, least = keys[s->key].least;
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
    if (n > MAX_VALUES)
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
        if (s->n == MAX_VALUES)
            return too_many(MAX_VALUES + 1.0);
        if (!parse_value(s, at, length, "a value", keys[s->key].least, &s->value[s->n]))
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
    if (s->key == N_KEYS || !values) {
        char names[64] = "";
        for (int i = 0; i < N_KEYS; i++) {
            size_t used = strlen(names);
            snprintf(names + used, sizeof names - used, "%s%s", i ? ", " : "", keys[i].key.name);
        }
        cli_error(NULL, "--sweep: '%s' is not KEY=from:to:step or KEY=a,b,c with one of the keys %s", text, names);
        return false;
    }
    return strchr(values, ':') ? parse_range(s, values + 1) : parse_list(s, values + 1);
}

/* The options with one of them replaced by a value. */
static cli_model model_at(const sweep *s, double value)
{
    cli_model model = *s->model;
    int whole = (int)value;
    switch (s->key) {
    case CHUNKS:
        model.n_chunks = whole;
        break;
    case MICRO_BATCHES:
        model.n_micro_batches = whole;
        break;
    case STAGES:
        model.n_stages = whole;
        break;
    case PIECES:
        model.n_pieces = whole;
        break;
    default:
        model.memory_mb = value;
    }
    return model;
}

static void run_value(sweep *s, int i)
{
    ek_sweep_row *row = &s->row[i];
    cli_model model = model_at(s, row->value);
    const ek_layers *layers = s->key == PIECES ? &s->pieces[i] : s->layers;
    const ek_schedule *schedule = cli_model_schedule(&model, model.n_chunks, model.less_memory);
    ek_shape shape = cli_model_shape(&model, model.n_stages, model.n_chunks, model.n_micro_batches);
    ek_balance_options options = s->options;
    ek_order *order = NULL;
    ek_balance_result result = {0};
    ek_timeline timeline = {0};
    ek_error err;
    options.activation_limit = cli_activation_limit(&model, model.n_stages);
    if (s->key == MEM)
        options.memory_limit_mb = row->value;
    /* A fair share of what is left: what the values before did not need is divided too. */
    double left = cli_search_left(s->search);
    options.time_limit = fmin(left, left * s->workers / (s->n - i));
    row->n_micro_batches = model.n_micro_batches;
    cli_stages stages = {0};
    ek_status status = cli_cluster_lay_out(&model.cluster, &model.comm, &shape, &stages, &err) ? EK_OK : EK_ERR_INPUT;
    cli_stages_options(&stages, &model.cluster, &options);
    if (!status)
        status = ek_balance_arranged(layers, schedule, &shape, &options, &order, &result, &err);
    if (!status) {
        row->status = result.status;
        row->smallest_limit_mb = result.smallest_limit_mb;
    }
    if (!status && result.status != EK_BALANCE_INFEASIBLE)
        status = ek_simulate(order, &result.plan, layers, &options.comm, &timeline, &err);
    if (!status && result.status != EK_BALANCE_INFEASIBLE) {
        row->step_time = timeline.step_time;
        row->lower_bound = result.lower_bound > 0 ? result.lower_bound : NAN;
        row->peak_memory_mb = ek_timeline_peak(&timeline, &row->peak_stage);
        row->plan = result.plan;
        result.plan = (ek_plan){0};
    }
    if (status)
        snprintf(row->impossible, sizeof row->impossible, "%.199s", err.message);
    ek_timeline_clear(&timeline);
    ek_balance_result_clear(&result);
    ek_order_free(order);
    cli_stages_clear(&stages);
}

static void *work(void *user)
{
    sweep *s = user;
    for (int i; (i = atomic_fetch_add(&s->next, 1)) < s->n;) {
        if (cli_interrupted)
            snprintf(s->row[i].impossible, sizeof s->row[i].impossible, "interrupted before it was searched");
        else
            run_value(s, i);
        atomic_fetch_add(&s->done, 1);
    }
    return NULL;
}

static void watch(sweep *s, cli_search *search)
{
    const struct timespec tick = {.tv_nsec = 125000000};
    while (search->terminal && atomic_load(&s->done) < s->n) {
        fprintf(stderr, "\r\033[Ksweep over %s: %d of %d values done, at most %.1f s left", keys[s->key].key.name,
                atomic_load(&s->done), s->n, cli_search_left(search));
        fflush(stderr);
        search->shown = true;
        nanosleep(&tick, NULL);
    }
}

/* Values side by side, one thread each when there are more values than threads. */
static bool run_values(sweep *s, cli_search *search)
{
    pthread_t thread[256];
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    int threads = search->options.n_threads > 0 ? search->options.n_threads : cores > 0 ? (int)cores : 1, started = 0;
    assert(s->n > 0);
    /* CBC, which the solver `milp` calls, solves one model at a time. */
    bool alone = search->options.solver && strcmp(search->options.solver, "milp") == 0;
    int workers = alone ? 1 : threads < s->n ? threads : s->n;
    workers = workers < 256 ? workers : 256;
    s->options = search->options;
    s->options.comm = s->model->comm;
    s->options.n_threads = threads > workers ? threads / workers : 1;
    s->search = search;
    s->workers = workers;
    s->options.interrupt = &cli_interrupted;
    cli_catch_interrupt();
    while (started < workers && pthread_create(&thread[started], NULL, work, s) == 0)
        started++;
    if (started == 0)
        cli_error(NULL, "cannot start a thread: %s", strerror(errno));
    else
        watch(s, search);
    for (int i = 0; i < started; i++)
        pthread_join(thread[i], NULL);
    cli_release_interrupt();
    cli_search_wipe(search);
    return started > 0;
}

/* Every limit takes the best plan that fits it, and the strictest bound. */
static bool share_plans(sweep *s)
{
    int from[MAX_VALUES] = {0};
    for (int i = 0; i < s->n; i++) {
        from[i] = i;
        for (int j = 0; j < s->n; j++) {
            const ek_sweep_row *best = &s->row[from[i]], *other = &s->row[j];
            if (other->plan.n_stages > 0 && other->peak_memory_mb <= s->row[i].value * (1 + 1e-9) &&
                other->step_time < best->step_time)
                from[i] = j;
            if (j > i && other->lower_bound > s->row[i].lower_bound)
                s->row[i].lower_bound = other->lower_bound;
        }
    }
    /* From a copy: what a row gives away may be replaced itself. */
    ek_sweep_row *given = malloc((size_t)s->n * sizeof *given);
    bool fine = given != NULL;
    if (fine)
        memcpy(given, s->row, (size_t)s->n * sizeof *given);
    for (int i = 0; i < s->n && fine; i++) {
        const ek_sweep_row *best = &given[from[i]];
        ek_sweep_row *row = &s->row[i];
        if (from[i] == i)
            continue;
        ek_error err;
        fine = ek_plan_copy(&best->plan, &row->plan, &err) == EK_OK;
        row->step_time = best->step_time;
        row->peak_memory_mb = best->peak_memory_mb;
        row->peak_stage = best->peak_stage;
        /* A proof for a larger limit covers the smaller one. */
        row->status = from[i] > i && best->status == EK_BALANCE_OPTIMAL ? EK_BALANCE_OPTIMAL : EK_BALANCE_FEASIBLE;
    }
    for (int i = 0; fine && i < s->n; i++)
        if (from[i] != i)
            ek_plan_clear(&given[i].plan);
    free(given);
    if (!fine)
        cli_error(NULL, "out of memory");
    return fine;
}

static bool cut_pieces(sweep *s)
{
    ek_error err;
    ek_job job;
    if (!s->model->train) {
        cli_error(NULL, "--sweep seq needs the model's shapes: give its training file with -train FILE");
        return false;
    }
    if (!cli_model_shapes(s->model, &job))
        return false;
    bool fine = true;
    int kept = 0;
    for (int i = 0; i < s->n && fine; i++) {
        /* Too short pieces become fewer: those values are one. */
        int k = ek_sequence_pieces(&job, (int)s->value[i], &cli_listener);
        if (kept > 0 && s->value[kept - 1] >= k)
            continue;
        fine = ek_layers_split_sequence(s->layers, &job, k, &cli_listener, &s->pieces[kept], &err) == EK_OK;
        if (!fine)
            cli_error(&err, "%s", err.message);
        else
            s->value[kept++] = k;
    }
    s->n = fine ? kept : 0;
    ek_job_clear(&job);
    return fine;
}

/* "16 stages, 3 chunks per stage, 16 micro-batches, 1f1b, limit 56 000 MB" without what is swept. */
static void describe(const sweep *s, char *text, size_t size)
{
    const cli_model *model = s->model;
    int n = 0;
    text[0] = '\0';
    const int value[] = {[CHUNKS] = model->n_chunks,
                         [MICRO_BATCHES] = model->n_micro_batches,
                         [STAGES] = model->n_stages,
                         [PIECES] = model->n_pieces};
    static const int shown[] = {STAGES, CHUNKS, MICRO_BATCHES, PIECES};
    for (int i = 0; i < 4; i++)
        if (shown[i] != s->key && (shown[i] != PIECES || model->n_pieces > 1))
            n += snprintf(text + n, size - (size_t)n, "%s%d %s", n ? ", " : "", value[shown[i]],
                          value[shown[i]] == 1 ? keys[shown[i]].one : keys[shown[i]].key.title);
    if (s->key != CHUNKS && s->key != PIECES)
        n += snprintf(text + n, size - (size_t)n, ", %s",
                      cli_model_schedule(model, model->n_chunks, model->less_memory)->name);
    if (s->key != MEM)
        snprintf(text + n, size - (size_t)n, ", limit %.6g MB", s->options.memory_limit_mb);
}

static ek_status write_picture(const void *user, FILE *out, ek_error *err)
{
    return ek_svg_sweep_write(user, out, err);
}

static bool write_pictures(const cli_model *model, const ek_sweep *report)
{
    bool text = strcmp(model->format->name, "text") == 0 && !cli_on_stdout(model->html);
    const char *folder = model->output ? model->output : text && !model->svg && !model->html ? "output" : NULL;
    const ek_view_run run = {.name = report->key->name, .sweep = report};
    char path[4096];
    if (model->svg && !cli_write_file(model->svg, write_picture, report))
        return false;
    if (model->html) {
        char title[EK_NAME_SIZE + 128];
        snprintf(title, sizeof title, "%s: best plans over %s", report->layers->name, report->key->title);
        if (!cli_write_page(model->html, title, &run, 1))
            return false;
    }
    if (!folder)
        return true;
    if (snprintf(path, sizeof path, "%s/sweep.svg", folder) >= (int)sizeof path) {
        cli_error(NULL, "the path of a picture is too long");
        return false;
    }
    if (!cli_make_folder(folder) || !cli_write_file(path, write_picture, report))
        return false;
    if (text)
        printf("\npictures:\n  %s\n", path);
    return fflush(stdout) == 0;
}

static int print_sweep(sweep *s)
{
    char pipeline[256];
    ek_error err;
    describe(s, pipeline, sizeof pipeline);
    ek_sweep report = {s->layers, &keys[s->key].key, pipeline, s->n, s->row};
    bool silent = cli_on_stdout(s->model->html);
    if ((!silent && !cli_printed(s->model->format->write_sweep(&report, stdout, &err), &err)) ||
        !write_pictures(s->model, &report))
        return EXIT_WRONG;
    for (int i = 0; i < s->n; i++)
        if (s->row[i].plan.n_stages > 0)
            return EXIT_DONE;
    return EXIT_NO;
}

int cli_run_sweep(const cli_model *model, const ek_layers *layers, cli_search *search, const char *text)
{
    if (!model->format->write_sweep) {
        cli_error(NULL, "--sweep prints text or json, not %s", model->format->name);
        return EXIT_WRONG;
    }
    if (model->chrome_trace) {
        cli_error(NULL, "--chrome-trace is of one plan; leave it or --sweep out");
        return EXIT_WRONG;
    }
    sweep *s = calloc(1, sizeof *s);
    if (!s) {
        cli_error(NULL, "out of memory");
        return EXIT_WRONG;
    }
    int code = EXIT_WRONG;
    s->model = model;
    s->layers = layers;
    if (parse_sweep(s, text) && (s->key != PIECES || cut_pieces(s))) {
        for (int i = 0; i < s->n; i++)
            s->row[i] = (ek_sweep_row){
                .value = s->value[i], .step_time = INFINITY, .lower_bound = NAN, .smallest_limit_mb = NAN};
        if (run_values(s, search) && (s->key != MEM || share_plans(s)))
            code = print_sweep(s);
    }
    for (int i = 0; i < s->n; i++) {
        ek_plan_clear(&s->row[i].plan);
        ek_layers_clear(&s->pieces[i]);
    }
    free(s);
    return code;
}
