/* Compares the predicted step of every published run with the measured one (ESTIMATE_FOLDS=5, 1: no fits;
 * ESTIMATE_TABLES=WORD: tables with WORD in the file name). Devices are the shipped ones, and ones fitted to a table's
 * other models and layouts, starting from the shipped device or from one with measured kernels; a further fit chooses
 * its held-out rows as the other half of the table's source was chosen. The tables are read from the folder that
 * EK_SHARED names; without it that part is skipped with a note. */
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/random.h"
#include "bench.h"
#include "calibrate/runs_fit.h"
#include "evenkeel/calibrate.h"
#include "judge.h"

/* The rows that are held out of a fit together. */
typedef enum keeping {
    KEEP_LAYOUTS, /* models and layouts, dealt into parts */
    KEEP_DEVICES, /* all runs of one number of devices */
    KEEP_SECOND,  /* every second row */
    KEEP_ROWS,    /* rows, dealt into parts at random */
    KEEP_CHOICES, /* runs that are alternatives, divided into parts */
} keeping;
static const char *const keeping_title[] = {"kept back", "other device counts", "every second row", "other rows",
                                            "other groups"};

/* Upper limits of errors, in per cent; 0: only reported. */
static const struct table {
    const char *file, *title;
    double shipped, fitted, worst; /* mean as shipped; mean and worst of the held-out rows */
    double narrow;                 /* mean of the held-out runs in 8 bits, which are then judged separately */
    double order, first;           /* of the held-out rows: least Spearman coefficient, 0: none; largest cost of the
                                    * choice */
    /* Kernel measurements of the table's only hardware, in reference/kernels; NULL: none. Held-out rows are then judged
     * with fits that start from them. */
    const char *kernels, *rates;
    keeping cut; /* as the table was cut from its source; KEEP_LAYOUTS: by models or layouts, or not at all */
} tables[] = {
    {"korthikanti_tab5.csv", "Korthikanti (22B to 1T, A100)", 12, 3.5, 0, 0, 0, 0, NULL, NULL, KEEP_LAYOUTS},
    {"megatron_sc21_table1_from_memory.csv", "Megatron SC21 (1.7B to 1T, A100)", 12, 8, 0, 0, 0, 0, NULL, NULL,
     KEEP_LAYOUTS},
    {"vtrain_a100_sample150.csv", "vTrain, most on one node (A100)", 12, 3, 0, 0, 0.95, 1, NULL, NULL, KEEP_ROWS},
    {"vtrain_a100_multi33.csv", "vTrain, 64 and 512 devices (A100)", 12, 6, 0, 0, 0, 0, NULL, NULL, KEEP_ROWS},
    {"simumax_b200.csv", "SimuMax (B200)", 12, 3, 7, 0, 0, 0, "b200.csv", "b200_rates.csv", KEEP_LAYOUTS},
    {"internevo_a100.csv", "InternEvo (7B on 8 to 512, A100)", 12, 8, 0, 0, 0.9, 0, NULL, NULL, KEEP_DEVICES},
    {"mpt_fsdp.csv", "MPT (FSDP, A100 and H100)", 12, 8, 0, 0, 0, 0, NULL, NULL, KEEP_LAYOUTS},
    {"torchtitan_h100_h200.csv", "torchtitan (8B to 405B, H100)", 12, 8, 0, 10, 0, 0, NULL, NULL, KEEP_SECOND},
    {"nemo_h100_b200.csv", "NeMo (8 bits, H100)", 12, 10, 0, 0, 0, 0, NULL, NULL, KEEP_SECOND},
    {"mindformers_throughput.csv", "MindFormers (Ascend)", 0, 0, 0, 0, 0, 0, NULL, NULL, KEEP_LAYOUTS},
};
enum { N_TABLES = sizeof tables / sizeof *tables };

static int n_parts; /* that groups are dealt into */

/* Runs of a table that can be priced. */
typedef struct priced {
    ek_measured_runs runs;
    judged_run *row; /* [n] on the shipped device */
    int n;
} priced;

static const judged_run *priced_row(const priced *p, int which)
{
    const judged_run *row = &p->row[which];
    assert(row->run && "a row has a run");
    return row;
}

static priced price_table(const char *path)
{
    priced out = {0};
    ek_error err;
    if (ek_run_table_read(path, NULL, &out.runs, &err))
        bench_give_up("%s:%d: %s", err.file, err.line, err.message);
    out.row = calloc((size_t)out.runs.n + 1, sizeof *out.row);
    if (!out.row)
        bench_give_up("out of memory");
    for (int i = 0; i < out.runs.n; i++)
        if (ek_measured_run_counts(&out.runs.run[i]) && ek_device_of_hardware(out.runs.run[i].device))
            out.row[out.n++] = judge_run(&out.runs.run[i], NULL);
    return out;
}

static void priced_clear(priced *p)
{
    free(p->row);
    ek_measured_runs_clear(&p->runs);
}

/* ---- fits ---- */

/* Runs of one hardware of a table. */
typedef struct fold_runs {
    judged_run **row;
    const ek_job **job;
    bool **met; /* of each row: did the fit see a run with its layer? */
    int n;
    double *seconds;
    int *group; /* model and layout */
    int *part;  /* those of equal numbers are held out together */
    bool *held;
} fold_runs;

static bool same_group(const ek_measured_run *a, const ek_measured_run *b)
{
    return strcmp(a->group, b->group) == 0;
}

static bool same_devices(const ek_measured_run *a, const ek_measured_run *b)
{
    return a->n_devices == b->n_devices;
}

/* Numbers of those that are the same, in the order of their first run; @return how many */
static int number_same(const fold_runs *runs, bool (*same)(const ek_measured_run *, const ek_measured_run *),
                       int *number)
{
    int n = 0;
    for (int i = 0; i < runs->n; i++) {
        number[i] = n;
        for (int k = 0; k < i; k++)
            if (same(runs->row[k]->run, runs->row[i]->run))
                number[i] = number[k];
        n += number[i] == n;
    }
    return n;
}

/* Numbers of runs in a random order, the same every time; @return how many */
static int number_shuffled(const fold_runs *runs, int *number)
{
    ek__random random = ek__random_seed(19);
    for (int i = 0; i < runs->n; i++) {
        int k = ek__random_below(&random, i + 1);
        number[i] = number[k];
        number[k] = i;
    }
    return runs->n;
}

/* @return how many parts there are */
static int deal(int *number, int n, int n_numbers, int n_most)
{
    int n_dealt = n_numbers < n_most ? n_numbers : n_most;
    for (int i = 0; i < n; i++)
        number[i] %= n_dealt;
    return n_dealt;
}

static int number_rows(const fold_runs *runs, int *number)
{
    for (int i = 0; i < runs->n; i++)
        number[i] = i;
    return runs->n;
}

/* @return how many parts there are */
static int part_runs(fold_runs *runs, keeping how)
{
    switch (how) {
    case KEEP_DEVICES:
        return number_same(runs, same_devices, runs->part);
    case KEEP_SECOND:
        return deal(runs->part, runs->n, number_rows(runs, runs->part), 2);
    case KEEP_CHOICES:
        return deal(runs->part, runs->n, number_same(runs, judge_same_choice, runs->part), n_parts);
    case KEEP_ROWS:
        return deal(runs->part, runs->n, number_shuffled(runs, runs->part), n_parts);
    default:
        return deal(runs->part, runs->n, number_same(runs, same_group, runs->part), n_parts);
    }
}

static void runs_alloc(fold_runs *runs, int most)
{
    size_t n = (size_t)most + 1;
    runs->row = calloc(n, sizeof(*runs->row));
    runs->job = calloc(n, sizeof(*runs->job));
    runs->met = calloc(n, sizeof(*runs->met));
    runs->seconds = calloc(n, sizeof *runs->seconds);
    runs->group = calloc(n, sizeof *runs->group);
    runs->part = calloc(n, sizeof *runs->part);
    runs->held = calloc(n, sizeof *runs->held);
    if (!runs->row || !runs->job || !runs->met || !runs->seconds || !runs->group || !runs->part || !runs->held)
        bench_give_up("out of memory");
}

static void runs_free(fold_runs *runs)
{
    free(runs->row);
    free(runs->job);
    free(runs->met);
    free(runs->seconds);
    free(runs->group);
    free(runs->part);
    free(runs->held);
}

static bool same_layer(const ek_job *a, const ek_job *b)
{
    double x[EK__N_LAYER_COORDINATES], y[EK__N_LAYER_COORDINATES];
    ek__layer_coordinates(a, ek__job_layer_kind(a), x);
    ek__layer_coordinates(b, ek__job_layer_kind(b), y);
    return ek__layer_same_place(x, y);
}

static bool is_met(const fold_runs *runs, int which)
{
    for (int i = 0; i < runs->n; i++)
        if (!runs->held[i] && same_layer(runs->job[i], runs->job[which]))
            return true;
    return false;
}

/* All of a calibration without the runs of a part, which it then predicts. */
static void fit_fold(fold_runs *runs, const ek_device *device, int part)
{
    ek_error err;
    ek__runs_fit fit;
    for (int i = 0; i < runs->n; i++)
        runs->held[i] = runs->part[i] == part;
    const ek__runs_to_fit measured = {
        .n = runs->n, .job = runs->job, .seconds = runs->seconds, .group = runs->group, .held = runs->held};
    if (ek__runs_fit_run(&measured, device, &fit, &err)) {
        fprintf(stderr, "bench: no fit: %s\n", err.message);
        return;
    }
    for (int i = 0; i < runs->n; i++)
        if (runs->held[i]) {
            judged_run fitted = judge_run(runs->row[i]->run, &fit.fit.device);
            fitted.device = runs->row[i]->device; /* the fit's goes */
            *runs->row[i] = fitted;
            *runs->met[i] = is_met(runs, i);
        }
    ek__runs_fit_clear(&fit);
}

/* Measurements of a device other than steps. */
typedef struct sources {
    const char *path[2];
    int n;
} sources;

/* The start of fits: the shipped device of a run's hardware with its network, calibrated to the sources where any are
 * given. @param out  ek_calibration_clear() frees it; only its device is set without any
 * @return false: no device is known */
static bool start_of(const ek_measured_run *run, const sources *measured, ek_calibration *out)
{
    ek_error err;
    ek_device shipped;
    if (!ek_device_of_run(run, &shipped))
        return false;
    const ek_calibrate_input input = {.path = measured->path, .n_paths = measured->n, .start = &shipped};
    if (ek_calibrate(&input, out, &err))
        bench_give_up("%s:%d: %s", err.file, err.line, err.message);
    return true;
}

static void fit_folds(fold_runs *runs, const ek_device *start, keeping how)
{
    int n_folds = part_runs(runs, how);
    number_same(runs, same_group, runs->group);
    for (int i = 0; i < runs->n; i++) {
        runs->job[i] = &runs->row[i]->run->job;
        runs->seconds[i] = runs->row[i]->run->step_seconds;
        runs->row[i]->predicted = NAN;
    }
    for (int fold = 0; fold < n_folds && n_folds > 1; fold++)
        fit_fold(runs, start, fold);
}

/* Every part is held out once; its prediction with a fit to the others replaces that of the shipped device. Runs of a
 * device with only one part cannot be judged in this way and are not priced. */
static void fit_device(fold_runs *runs, const sources *measured, keeping how)
{
    ek_device shipped;
    ek_calibration with;
    const ek_measured_run *run = runs->row[0]->run;
    if (measured->n > 0 && start_of(run, measured, &with)) {
        fit_folds(runs, &with.device, how);
        ek_calibration_clear(&with);
    } else if (measured->n == 0 && ek_device_of_run(run, &shipped)) {
        fit_folds(runs, &shipped, how);
    }
}

static bool same_hardware(const priced *p, int a, int b)
{
    return strcmp(priced_row(p, a)->run->device, priced_row(p, b)->run->device) == 0;
}

/* Is no row before it of the same hardware? */
static bool is_first(const priced *p, int which)
{
    for (int k = 0; k < which; k++)
        if (same_hardware(p, k, which))
            return false;
    return true;
}

/* @param met  out: of each row, did its fit see a run with the same layer?
 * @return rows as `of`, each predicted by a fit to other parts of its table and device. The caller frees them. */
static judged_run *kept_back(const priced *of, const sources *measured, keeping how, bool *met)
{
    judged_run *row = calloc((size_t)of->n + 1, sizeof *row);
    fold_runs runs = {0};
    runs_alloc(&runs, of->n);
    if (!row)
        bench_give_up("out of memory");
    memcpy(row, of->row, (size_t)of->n * sizeof *row);
    for (int i = 0; i < of->n; i++) {
        if (!is_first(of, i))
            continue;
        runs.n = 0;
        for (int k = i; k < of->n; k++)
            if (same_hardware(of, i, k) && !isnan(of->row[k].predicted)) {
                runs.met[runs.n] = &met[k];
                runs.row[runs.n++] = &row[k];
            }
        if (runs.n > 0)
            fit_device(&runs, measured, how);
    }
    runs_free(&runs);
    return row;
}

/* ---- tables ---- */

static void say_line(const char *title, const char *how, const judged *j, double most)
{
    char order[32] = "-", first[32] = "-", bound[16] = "-";
    if (j->n_groups > 0) {
        snprintf(order, sizeof order, "%.3f", j->spearman);
        snprintf(first, sizeof first, "%+.1f %%", 100 * j->first_choice);
    }
    if (most > 0)
        snprintf(bound, sizeof bound, "%g %%", most);
    bench_say("| %s | %s | %d | %d | %.2f %% | %s | %.2f %% | %.2f %% | %+.2f %% | %s | %s |\n", title, how, j->n,
              j->n_failed, 100 * j->mean, bound, 100 * j->median, 100 * j->worst, 100 * j->bias, order, first);
}

/* The runs with products in 8 bits, or the others. */
static judged judge_type(const judged_run *row, int n, bool narrow)
{
    judged_run *some = calloc((size_t)n + 1, sizeof *some);
    int count = 0;
    if (!some)
        bench_give_up("out of memory");
    for (int i = 0; i < n; i++)
        if ((row[i].run->job.run.fp8 != EK_FP8_NONE) == narrow)
            some[count++] = row[i];
    judged out = judge_all(some, count);
    free(some);
    return out;
}

/* For cuts other than by layout only the mean: there it is chance which rows of a group the same fit predicts. */
static void hold_kept_back(const struct table *t, keeping kept, const char *how, const judged *fitted, double most)
{
    bench_hold(most == 0 || 100 * fitted->mean <= most, "%s: %s, a mean error of at most %g %%", t->title, how, most);
    if (kept != KEEP_LAYOUTS)
        return;
    bench_hold(t->worst == 0 || 100 * fitted->worst <= t->worst, "%s: %s, no error above %g %%", t->title, how,
               t->worst);
    bench_hold(t->order == 0 || fitted->spearman >= t->order, "%s: %s, an order of at least %g", t->title, how,
               t->order);
    bench_hold(t->first == 0 || 100 * fitted->first_choice <= t->first,
               "%s: %s, a first choice at most %g %% longer than the best", t->title, how, t->first);
}

/* The held-out rows, by type where a table is judged by type. @param bound  false: only reported */
static void judge_kept_back(const struct table *t, keeping kept, const char *title, const judged_run *row, int n,
                            bool bound)
{
    for (int narrow = 0; narrow < (t->narrow > 0 ? 2 : 1); narrow++) {
        judged fitted = t->narrow > 0 ? judge_type(row, n, narrow) : judge_all(row, n);
        const char *which = t->narrow > 0 ? narrow ? ", 8 bits" : ", 16 bits" : "";
        double most = !bound ? 0 : narrow ? t->narrow : t->fitted;
        char how[96];
        snprintf(how, sizeof how, "%s%s", title, which);
        say_line(t->title, how, &fitted, most);
        if (bound)
            hold_kept_back(t, kept, how, &fitted, most);
    }
}

/* Of rows with a layer that the fit saw in another run, or did not. */
static void say_part(const char *title, const char *how, const judged_run *row, const bool *met, int n, bool which)
{
    judged_run *part = calloc((size_t)n + 1, sizeof *part);
    int found = 0;
    if (!part)
        bench_give_up("out of memory");
    for (int i = 0; i < n; i++)
        if (met[i] == which && !isnan(row[i].predicted))
            part[found++] = row[i];
    judged j = judge_all(part, found);
    if (found > 0)
        say_line(title, how, &j, 0);
    free(part);
}

/* Every row, predicted by a fit without it. */
static void judge_folds(const struct table *t, const priced *p, const sources *measured, keeping how, bool bound)
{
    bool *met = calloc((size_t)p->n + 1, sizeof *met);
    char title[64];
    if (!met)
        bench_give_up("out of memory");
    judged_run *row = kept_back(p, measured, how, met);
    snprintf(title, sizeof title, "%s%s", keeping_title[how], measured->n > 0 ? ", with kernels" : "");
    judge_kept_back(t, how, title, row, p->n, bound);
    if (how == KEEP_LAYOUTS) {
        say_part(t->title, "layer met", row, met, p->n, true);
        say_part(t->title, "new layer", row, met, p->n, false);
    }
    free(row);
    free(met);
}

static void judge_table(const struct table *t, const priced *p, const char *shared)
{
    judged shipped = judge_all(p->row, p->n);
    say_line(t->title, "shipped", &shipped, t->shipped);
    bench_hold(shipped.n_failed == 0, "%s: every run has an estimate", t->title);
    bench_hold(t->shipped == 0 || 100 * shipped.mean <= t->shipped, "%s: as shipped a mean error of at most %g %%",
               t->title, t->shipped);
    if (n_parts < 2)
        return;
    judge_folds(t, p, &(sources){.n = 0}, KEEP_LAYOUTS, !t->kernels);
    if (t->cut != KEEP_LAYOUTS)
        judge_folds(t, p, &(sources){.n = 0}, t->cut, true);
    if (!t->kernels)
        return;
    char kernels[1024], rates[1024];
    snprintf(kernels, sizeof kernels, "%s/reference/kernels/%s", shared, t->kernels);
    snprintf(rates, sizeof rates, "%s/reference/kernels/%s", shared, t->rates);
    judge_folds(t, p, &(sources){{kernels, rates}, 2}, KEEP_LAYOUTS, true);
}

static void all_tables(const char *shared)
{
    const char *only = getenv("ESTIMATE_TABLES");
    char path[1024];
    bench_say(
        "*Shipped*: on the device file of the run's hardware, as it is in the library. *Kept back*: on that device\n"
        "calibrated to other models and layouts of the same table (constants and table of layers): its groups (model\n"
        "and layout) are dealt into at most %d parts, each of which is predicted by a fit that saw the others only.\n"
        "*With kernels*: likewise, from that device with the kernels and rates that were measured of it, as "
        "`calibrate`\n"
        "takes them.\n"
        "*Other device counts*, *every second row*, *other rows*: likewise, but what is kept back is chosen as the\n"
        "rows of the table's source were that are not in the table: all runs of one number of devices, every second\n"
        "row, rows drawn at random into at most %d parts. MPT's table was cut by models, SimuMax's by layouts, which\n"
        "are their groups.\n"
        "*Layer met*: those of them whose layer, of equal sizes, micro-batch and tensor parallel degree, was in a run\n"
        "that the fit saw; *new layer*: the others. *Most*: what the mean must not exceed. *Order*: Spearman's\n"
        "coefficient inside groups of equal model, devices and sequences; *first*: how much longer than the shortest\n"
        "measured step the one takes that is predicted shortest.\n\n"
        "| table | device | runs | without | mean | most | median | worst | bias | order | first |\n"
        "|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n",
        n_parts, n_parts);
    for (int i = 0; i < N_TABLES; i++) {
        if (only && !strstr(tables[i].file, only))
            continue;
        snprintf(path, sizeof path, "%s/reference/measured/%s", shared, tables[i].file);
        priced p = price_table(path);
        judge_table(&tables[i], &p, shared);
        priced_clear(&p);
    }
    bench_say("\n");
}

/* ---- choices ---- */

static void say_choices(const char *title, const char *how, const judged_choices *c)
{
    if (c->n_groups == 0) {
        bench_say("| %s | %s | 0 | - | - | - | - | - | - |\n", title, how);
        return;
    }
    bench_say("| %s | %s | %d | %d | %.2f %% | %.2f %% | %d | %d of %d | %d of %d |\n", title, how, c->n_groups,
              c->n_runs, 100 * c->sum / c->n_groups, 100 * c->worst, c->n_worst, c->n_first, c->n_groups, c->n_three,
              c->n_groups);
}

/* Rows of two tables together, which stay alive. */
static priced joined(const priced *a, const priced *b)
{
    priced out = {.n = a->n + b->n};
    out.row = calloc((size_t)out.n + 1, sizeof *out.row);
    if (!out.row)
        bench_give_up("out of memory");
    memcpy(out.row, a->row, (size_t)a->n * sizeof *out.row);
    memcpy(out.row + a->n, b->row, (size_t)b->n * sizeof *out.row);
    return out;
}

/* @param all  the choices of fits to other groups are added to it; the rows must stay valid for its worst group's
 * names */
static judged_run *judge_source(const char *title, const priced *of, judged_choices *all)
{
    bool *met = calloc((size_t)of->n + 1, sizeof *met);
    if (!met)
        bench_give_up("out of memory");
    judged_run *row = kept_back(of, &(sources){.n = 0}, KEEP_CHOICES, met);
    judged_choices shipped = judge_choices(of->row, of->n), fitted = judge_choices(row, of->n);
    say_choices(title, "shipped", &shipped);
    say_choices(title, keeping_title[KEEP_CHOICES], &fitted);
    judge_add_choices(all, &fitted);
    free(met);
    return row;
}

/* The cost of the first choice where layouts were measured side by side. A source's tables are one: a model's runs on
 * some devices are in both of vTrain's. */
static void choices(const char *shared)
{
    static const int which[] = {2, 3, 5, 1}; /* of the tables: those with groups of one model, devices and batch */
    char path[1024];
    priced of[4];
    judged_choices all = {0};
    bench_say("### Choosing among measured layouts\n\n"
              "Groups of equal model, devices, sequence length and sequences of a step, with two layouts or more. "
              "*Regret*: the measured\nstep of the layout that is predicted shortest over the shortest measured one, "
              "less 1. *Other groups*: predicted by a fit that\nsaw other groups of the source only (at most %d "
              "parts).\n\n"
              "| source | device | groups | runs | mean regret | worst | of runs | best is first | among the first "
              "three |\n"
              "|---|---|--:|--:|--:|--:|--:|--:|--:|\n",
              n_parts);
    for (int i = 0; i < 4; i++) {
        snprintf(path, sizeof path, "%s/reference/measured/%s", shared, tables[which[i]].file);
        of[i] = price_table(path);
    }
    priced both = joined(&of[0], &of[1]);
    judged_run *row[] = {judge_source("vTrain (A100)", &both, &all), judge_source(tables[5].title, &of[2], &all),
                         judge_source(tables[1].title, &of[3], &all)};
    say_choices("all", keeping_title[KEEP_CHOICES], &all);
    bench_say("\n");
    if (all.n_groups > 0)
        bench_say("Worst: `%s` is chosen (%.3f s measured), `%s` is shortest (%.3f s).\n\n", all.chosen->name,
                  all.chosen->step_seconds, all.shortest->name, all.shortest->step_seconds);
    bench_hold(all.n_groups > 0 && 100 * all.sum <= all.n_groups, "choices: a mean regret of at most 1 %%");
    bench_hold(100 * all.worst <= 5, "choices: no regret above 5 %%");
    bench_hold(all.n_three >= 0.95 * all.n_groups, "choices: the best among the first three in 95 %% of groups");
    for (int i = 0; i < 3; i++)
        free(row[i]);
    free(both.row);
    for (int i = 0; i < 4; i++)
        priced_clear(&of[i]);
}

/* ---- effects ---- */

/* The first run with this number of data-parallel ranks and states shared by `shard` of them, -1: all. */
static const judged_run *sharded(const priced *p, int data, int shard)
{
    for (int i = 0; i < p->n; i++) {
        const ek_job *job = &priced_row(p, i)->run->job;
        if (job->parallel.data == data && job->states.shard_size == shard && job->parallel.batch == 2 &&
            job->parallel.n_micro_batches == 4)
            return &p->row[i];
    }
    return NULL;
}

static double seconds_with(const judged_run *row, int data)
{
    ek_measured_run run = *row->run; /* borrows all of it */
    run.job.parallel.data = data;
    return judge_run(&run, NULL).predicted;
}

/* Sharding states over 8 devices instead of all, the same otherwise. */
static void sharding_group(const char *shared)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/reference/measured/internevo_a100.csv", shared);
    priced p = price_table(path);
    const judged_run *all = sharded(&p, 512, -1), *few = sharded(&p, 512, 8);
    if (all && few) {
        double measured = all->run->step_seconds / few->run->step_seconds, predicted = all->predicted / few->predicted;
        bench_say("Sharding over 8 instead of all of 512 devices (InternEvo): %.2f times as fast measured, %.2f "
                  "predicted as shipped; of 1024 devices %.2f, which nobody measured.\n\n",
                  measured, predicted, seconds_with(all, 1024) / seconds_with(few, 1024));
        bench_hold(fabs(predicted / measured - 1) <= 0.15, "InternEvo: the effect of the sharding group within 15 %%");
    }
    priced_clear(&p);
}

/* Tensor parallel groups that reach over nodes. */
static void groups_over_nodes(const char *shared)
{
    static const char *const files[] = {"vtrain_a100_sample150.csv", "vtrain_a100_multi33.csv"};
    char path[1024];
    double worst = 0;
    bench_say("Tensor parallel groups over nodes (vTrain), as shipped:");
    for (int f = 0; f < 2; f++) {
        snprintf(path, sizeof path, "%s/reference/measured/%s", shared, files[f]);
        priced p = price_table(path);
        for (int i = 0; i < p.n; i++)
            if (p.row[i].device && p.row[i].run->job.parallel.tensor > p.row[i].device->devices_per_node) {
                worst = fmax(worst, fabs(judged_error(&p.row[i])));
                bench_say(" %+.1f %%", 100 * judged_error(&p.row[i]));
            }
        priced_clear(&p);
    }
    bench_say(".\n\n");
    bench_hold(worst <= 0.15, "vTrain: tensor parallel groups over nodes within 15 %%");
}

/* The published tuning of the 13B model; its jobs are among the examples. */
static void tuning_story(void)
{
    priced p = price_table("examples/llama2_13b_runs.csv");
    bench_say("### Llama2-13B, a published tuning\n\n"
              "| step | measured s | predicted s | error | tokens/s/p measured | predicted |\n"
              "|---|--:|--:|--:|--:|--:|\n");
    for (int i = 0; i < p.n; i++) {
        const judged_run *row = priced_row(&p, i);
        double tokens = judge_tokens(row->run);
        bench_say("| %s | %.2f | %.2f | %+.1f %% | %.0f | %.0f |\n", row->run->name, row->run->step_seconds,
                  row->predicted, 100 * judged_error(row), tokens / row->run->step_seconds, tokens / row->predicted);
    }
    bench_say("\n");
    priced_clear(&p);
}

void bench_estimate(double seconds)
{
    const char *shared = getenv("EK_SHARED");
    char path[1024];
    n_parts = (int)seconds;
    bench_say("## Estimates: steps beside published ones\n\n");
    snprintf(path, sizeof path, "%s/reference/measured", shared ? shared : "");
    if (!shared || access(path, R_OK) != 0) {
        bench_say("EK_SHARED names no folder with measured runs: left out.\n\n");
    } else {
        all_tables(shared);
        if (n_parts > 1)
            choices(shared);
        sharding_group(shared);
        groups_over_nodes(shared);
    }
    tuning_story();
}
