/* Reads tables of measured runs: columns by name, a job and a step for each row, and a comparison of the rows of one
 * job. A row names a job file or a layout (run_layout.c), which becomes a job by the framework's rules
 * (run_arguments.c, run_mindformers.c). An unknown column is an error, since a misspelt one would silently change the
 * meaning of a row. */
#include "calibrate/run_table.h"
#include "base/config_tree.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "evenkeel/layers.h"
#include "evenkeel/metrics.h"

enum { MAX_RUNS = 1 << 20 };
/* Two steps of the same job that differ by more than this contradict each other. */
#define MAX_SPREAD 1.10

#define COLUMN(name, files) files,
static const char *const columns[EK__N_RUN_COLUMNS] = {EK__RUN_COLUMNS(COLUMN)};

/* Known columns of such tables that are not used: notes, values that follow from other columns, others' predictions. */
static const char ignored[] =
    "note,tag,sweep,seq_stated,from_memory,source_line,layout_group,mfu_pct,aggregate_pflops,param_check_B,"
    "mem_reserved_gib,reserved_over_alloc,rank_min_alloc_mib,rank_max_alloc_mib,rank_min_reserved_mib,"
    "rank_max_reserved_mib,peer_pred_step_s,peer_pred_alloc_gib,peer_pred_reserved_gib,peer_pred_alloc_by_stage_gib";

typedef struct table {
    ek__run_row row;
    ek__csv *csv;
    ek_measured_runs out;
    char **key; /* [out.n] */
    size_t capacity, key_capacity;
} table;

/* ---- columns ---- */

/* Is a name one of a list with commas between? */
static bool is_listed(const char *list, const char *name)
{
    size_t n = strlen(name);
    for (const char *at = list; n > 0 && *at; at += strcspn(at, ","), at += *at == ',')
        if (strcspn(at, ",") == n && strncmp(at, name, n) == 0)
            return true;
    return false;
}

/* The column that a misspelt one is nearest to, in `near`; empty when none is near. */
static void find_near(const char *typed, size_t size, char *near)
{
    enum { MOST = 2 };
    size_t nearest = MOST + 1;
    near[0] = '\0';
    for (int i = 0; i < EK__N_RUN_COLUMNS; i++) {
        for (const char *at = columns[i]; *at; at += *at == ',') {
            char name[40];
            size_t n = strcspn(at, ",");
            snprintf(name, sizeof name, "%.*s", (int)n, at);
            size_t d = ek__edit_distance(typed, name);
            /* "tokens_per_s" may be of a device or of all: the column decides. */
            if (strncmp(typed, name, strlen(typed)) == 0 && strlen(typed) > 3)
                d = d < MOST ? d : MOST;
            if (d < nearest && n > 3) {
                nearest = d;
                snprintf(near, size, "; did you mean %s?", name);
            }
            at += n;
        }
    }
}

static ek_status fail_unknown(const table *t, int column)
{
    char names[800], near[64];
    find_near(ek__csv_header(t->csv, column), sizeof near, near);
    size_t n = 0;
    const char *text = t->row.text, *at = text;
    for (int i = 0; i < EK__N_RUN_COLUMNS; i++)
        n += (size_t)snprintf(names + n, sizeof names - n, "%s%s", i ? "," : "", columns[i]);
    for (int left = column; *at && left > 0; at++)
        left -= *at == ',';
    const ek_origin place = {t->row.path, 1, (int)(at - text) + 1};
    if (near[0])
        return ek__fail(t->row.err, EK_ERR_INPUT, place,
                        "'%.60s' is no column that is known%s Correct or remove it (docs/measured-runs.md)",
                        ek__csv_header(t->csv, column), near);
    return ek__fail(t->row.err, EK_ERR_INPUT, place,
                    "'%.60s' is no column that is known; correct or remove it. Known are %s",
                    ek__csv_header(t->csv, column), names);
}

static ek_status find_columns(table *t)
{
    int n = ek__csv_n_columns(t->csv);
    for (int k = 0; k < EK__N_RUN_COLUMNS; k++)
        t->row.at[k] = -1;
    for (int c = 0; c < n; c++) {
        const char *name = ek__csv_header(t->csv, c);
        int k = 0;
        while (k < EK__N_RUN_COLUMNS && !is_listed(columns[k], name))
            k++;
        if (k < EK__N_RUN_COLUMNS && t->row.at[k] < 0)
            t->row.at[k] = c;
        else if (k == EK__N_RUN_COLUMNS && name[0] && !is_listed(ignored, name))
            return fail_unknown(t, c);
    }
    if (t->row.at[EK__RUN_STEP] < 0 && t->row.at[EK__RUN_TOKENS] < 0 && t->row.at[EK__RUN_TFLOPS] < 0)
        return ek__fail(t->row.err, EK_ERR_INPUT, ((ek_origin){t->row.path, 1, 1}),
                        "no column has the step time; add step_seconds, or tokens_per_s_per_gpu");
    return EK_OK;
}

/* ---- a row's job ---- */

static ek_status fail_job_file(const ek__run_row *row, const char *file)
{
    char why[96] = "";
    if (row->err)
        snprintf(why, sizeof why, "%.90s", row->err->message);
    return ek__fail(row->err, EK_ERR_INPUT, ek__run_place(row, EK__RUN_JOB),
                    "job is '%.200s', a file that %s; give its path from the table's folder", file, why);
}

/* Read a job file next to the table, with the row's other cells as overrides. */
static ek_status read_job_file(const ek__run_row *row, ek_job *out)
{
    const char *file = ek__run_cell(row, EK__RUN_JOB), *slash = strrchr(row->path, '/');
    char path[1024];
    ek_job_overrides o = ek_job_overrides_none();
    const struct {
        ek__run_column column;
        int most, *out;
    } sizes[] = {{EK__RUN_DP, EK_MAX_RANKS, &o.data},
                 {EK__RUN_TP, EK_MAX_RANKS, &o.tensor},
                 {EK__RUN_PP, EK_MAX_STAGES, &o.pipeline},
                 {EK__RUN_CP, EK_MAX_RANKS, &o.context},
                 {EK__RUN_EP, EK_MAX_RANKS, &o.expert},
                 {EK__RUN_VPP, EK_MAX_CHUNKS, &o.n_chunks},
                 {EK__RUN_MICRO_BATCH, EK__JOB_MAX_BATCH, &o.batch},
                 {EK__RUN_N_MICRO_BATCHES, EK_MAX_MICRO_BATCHES, &o.n_micro_batches},
                 {EK__RUN_SEQ, EK__JOB_MAX_SEQUENCE, &o.seq_length},
                 {EK__RUN_LAYERS, EK_MAX_LAYERS, &o.n_layers}};
    ek_status status = EK_OK;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes && status == EK_OK; i++)
        status = ek__run_whole(row, sizes[i].column, 1, sizes[i].most, sizes[i].out);
    /* "./" keeps a file from being taken for standard input. */
    int n = file[0] == '/' ? snprintf(path, sizeof path, "%s", file)
            : slash        ? snprintf(path, sizeof path, "%.*s%s", (int)(slash - row->path) + 1, row->path, file)
                           : snprintf(path, sizeof path, "./%s", file);
    if (status == EK_OK && n >= (int)sizeof path)
        return ek__fail(row->err, EK_ERR_INPUT, ek__run_place(row, EK__RUN_JOB), "the path is too long");
    if (status == EK_OK)
        status = ek_job_read(path, &o, row->listener, out, row->err);
    return status == EK_ERR_SYSTEM ? fail_job_file(row, file) : status;
}

static void describe_layout(const ek_job *job, ek_measured_run *run)
{
    const ek_job_parallel *p = &job->parallel;
    char shard[24] = "";
    if (job->states.shard_size > 0)
        snprintf(shard, sizeof shard, " z%d", job->states.shard_size);
    int v = job->plan.n_chunks;
    /* With the shape, since tables call models of many sizes "GPT". */
    snprintf(run->group, sizeof run->group, "%s %dx%d|t%d p%d v%d cp%d ep%d%s", run->model[0] ? run->model : job->name,
             job->model.n_layers, job->model.hidden, p->tensor, p->pipeline, v, p->context, p->expert, shard);
    if (run->name[0] == '\0')
        snprintf(run->name, sizeof run->name, "%.40s d%d t%d p%d v%d cp%d ep%d%s S%d B%d m%d%s",
                 run->model[0] ? run->model : job->name, p->data, p->tensor, p->pipeline, v, p->context, p->expert,
                 shard, p->seq_length, p->batch, p->n_micro_batches * p->n_accumulation,
                 job->plan.full[0] > 0 ? " full" : "");
}

static ek_status read_job(const ek__run_row *row, ek_measured_run *run)
{
    ek__run_layout layout;
    if (ek__run_cell(row, EK__RUN_JOB)[0]) {
        ek_status status = read_job_file(row, &run->job);
        run->has_job = status == EK_OK;
        return status;
    }
    ek_status status = ek__run_layout_read(row, &layout, sizeof run->why, run->why);
    if (status)
        return status;
    snprintf(run->framework, sizeof run->framework, "%s", layout.framework->name);
    if (run->why[0])
        return EK_OK;
    status = layout.framework->mindformers ? ek__run_mindformers(row, &layout, &run->job)
                                           : ek__run_arguments(row, &layout, &run->job);
    run->has_job = status == EK_OK;
    if (run->has_job && run->model[0])
        snprintf(run->job.name, sizeof run->job.name, "%s", run->model);
    return status;
}

/* Where a composed job is refused, the error points at the row, which the user can change. */
static void point_at_row(const ek__run_row *row)
{
    ek_error *err = row->err;
    if (!err || err->line > 0)
        return;
    const ek_origin at = {row->path, (int)ek__csv_line(row->csv), 1};
    char message[sizeof err->message];
    snprintf(message, sizeof message, "%s", err->message);
    ek__set_error(err, err->status, at, "%s", message);
}

/* ---- measurements ---- */

static ek_status step_of(const ek__run_row *row, const ek_job *job, double *out)
{
    double step = NAN, tokens = NAN, tflops = NAN;
    ek_flops flops = {0};
    ek_status status = ek__run_number(row, EK__RUN_STEP, 1e-9, 1e9, &step);
    if (status == EK_OK)
        status = ek__run_number(row, EK__RUN_TOKENS, 1e-9, 1e12, &tokens);
    if (status == EK_OK)
        status = ek__run_number(row, EK__RUN_TFLOPS, 1e-9, 1e9, &tflops);
    const ek_job_parallel *p = &job->parallel;
    double of_device = (double)ek_job_sequences(job) * p->seq_length / (double)ek_job_devices(job);
    *out = !isnan(step) ? step : of_device / tokens;
    if (status || !isnan(*out) || isnan(tflops))
        return status;
    status = ek_flops_count(job, EK_ATTENTION_FULL, &flops, row->err);
    *out = flops.model * of_device / (tflops * 1e12);
    return status;
}

static ek_status read_measured(const ek__run_row *row, ek_measured_run *run)
{
    double gib = NAN, suspect = 0, devices = 0, billions = NAN;
    run->step_seconds = run->memory_mb = run->parameters = NAN;
    ek_status status = ek__run_number(row, EK__RUN_SUSPECT, 0, 1, &suspect);
    if (status == EK_OK)
        status = ek__run_number(row, EK__RUN_MEMORY_MB, 0, 1e9, &run->memory_mb);
    if (status == EK_OK)
        status = ek__run_number(row, EK__RUN_MEMORY_GIB, 0, 1e6, &gib);
    if (status == EK_OK)
        status = ek__run_number(row, EK__RUN_GPUS, 1, EK_MAX_RANKS, &devices);
    if (status == EK_OK)
        status = ek__run_number(row, EK__RUN_PARAMETERS, 1e-6, 1e9, &billions);
    run->suspect = suspect > 0;
    run->n_devices = (int)devices;
    run->parameters = billions * 1e9;
    if (isnan(run->memory_mb))
        run->memory_mb = gib * 1024;
    snprintf(run->device, sizeof run->device, "%s", ek__run_cell(row, EK__RUN_HARDWARE));
    snprintf(run->model, sizeof run->model, "%s", ek__run_cell(row, EK__RUN_MODEL));
    snprintf(run->name, sizeof run->name, "%s", ek__run_cell(row, EK__RUN_NAME));
    return status;
}

/* A job file's devices are the row's. */
static ek_status check_devices(const ek__run_row *row, ek_measured_run *run)
{
    const ek_job_parallel *p = &run->job.parallel;
    int64_t n = (int64_t)p->data * p->tensor * p->pipeline * p->context;
    if (run->n_devices > 0 && n != run->n_devices)
        return ek__fail(row->err, EK_ERR_INPUT, ek__run_place(row, EK__RUN_GPUS),
                        "the row has %d devices, its job %lld; correct one of them", run->n_devices, (long long)n);
    run->n_devices = (int)n;
    return EK_OK;
}

/* A row that its table doubts may be wrong in any way: then it has no job. */
static ek_status forgive(ek_measured_run *run, ek_status status, ek_error *err)
{
    if (!run->suspect || status != EK_ERR_INPUT)
        return status;
    if (run->has_job)
        ek_job_clear(&run->job);
    run->has_job = false;
    if (err)
        snprintf(run->why, sizeof run->why, "%.190s", err->message);
    return EK_OK;
}

static ek_status read_run(const ek__run_row *row, ek_measured_run *run)
{
    ek_status status = read_measured(row, run);
    if (status)
        return status;
    status = read_job(row, run);
    if (status == EK_ERR_INPUT)
        point_at_row(row);
    if (run->has_job) {
        status = check_devices(row, run);
        if (status == EK_OK)
            status = step_of(row, &run->job, &run->step_seconds);
        describe_layout(&run->job, run);
    }
    status = forgive(run, status, row->err);
    if (run->suspect && ek__run_cell(row, EK__RUN_WHY)[0])
        snprintf(run->why, sizeof run->why, "%.190s", ek__run_cell(row, EK__RUN_WHY));
    if (status == EK_OK && !run->has_job && !run->suspect)
        ek__warn(row->listener, run->origin, "the row is left out: %s", run->why);
    return status;
}

/* ---- rows against each other ---- */

/* The text of all cells of a row that its step depends on: equal texts are the same job on the same hardware. */
static char *key_of(const ek__run_row *row)
{
    static const ek__run_column measured[] = {EK__RUN_STEP,      EK__RUN_TOKENS,    EK__RUN_TFLOPS, EK__RUN_MEMORY_GIB,
                                              EK__RUN_MEMORY_MB, EK__RUN_SUSPECT,   EK__RUN_WHY,    EK__RUN_SOURCE,
                                              EK__RUN_NAME,      EK__RUN_PARAMETERS};
    size_t size = 64, n = 0;
    for (int k = 0; k < EK__N_RUN_COLUMNS; k++)
        size += strlen(ek__run_cell(row, (ek__run_column)k)) + 1;
    char *key = ek__alloc(size, 1);
    for (int k = 0; k < EK__N_RUN_COLUMNS && key; k++) {
        bool counts = true;
        for (size_t i = 0; i < sizeof measured / sizeof *measured; i++)
            counts = counts && (int)measured[i] != k;
        n += (size_t)snprintf(key + n, size - n, "%s|", counts ? ek__run_cell(row, (ek__run_column)k) : "");
    }
    const char *words = strchr(ek__run_cell(row, EK__RUN_SOURCE), '('); /* "(zero1=8)" */
    if (key && words)
        snprintf(key + n, size - n, "%.60s", words);
    return key;
}

/* A run and its key. */
typedef struct keyed {
    const char *key;
    const ek_measured_run *run;
} keyed;

static int by_key_and_step(const void *a, const void *b)
{
    const keyed *x = a, *y = b;
    int order = strcmp(x->key, y->key);
    double d = x->run->step_seconds - y->run->step_seconds;
    return order ? order : (d > 0) - (d < 0);
}

static ek_status fail_contradiction(const table *t, const ek_measured_run *a, const ek_measured_run *b)
{
    const ek_measured_run *first = a->origin.line < b->origin.line ? a : b, *second = first == a ? b : a;
    return ek__fail(t->row.err, EK_ERR_INPUT, second->origin,
                    "lines %d and %d are the same job on the same hardware with %.6g s and %.6g s, %.0f %% apart; "
                    "correct one of them, or add a column suspect with 1 in the row that is in doubt",
                    first->origin.line, second->origin.line, first->step_seconds, second->step_seconds,
                    100 * (fmax(a->step_seconds, b->step_seconds) / fmin(a->step_seconds, b->step_seconds) - 1));
}

static ek_status check_contradictions(const table *t)
{
    keyed *run = ek__alloc((size_t)t->out.n + 1, sizeof *run);
    size_t n = 0;
    ek_status status = EK_OK;
    if (!run)
        return ek__no_memory(t->row.err);
    for (int i = 0; i < t->out.n; i++)
        if (ek_measured_run_counts(&t->out.run[i]))
            run[n++] = (keyed){t->key[i], &t->out.run[i]};
    qsort(run, n, sizeof *run, by_key_and_step);
    for (size_t from = 0, i = 1; i < n && status == EK_OK; i++) {
        if (strcmp(run[from].key, run[i].key) != 0)
            from = i;
        else if (run[i].run->step_seconds > MAX_SPREAD * run[from].run->step_seconds)
            status = fail_contradiction(t, run[from].run, run[i].run);
    }
    free(run);
    return status;
}

/* ---- the table ---- */

static ek_status add_row(table *t)
{
    ek_measured_run *grown, run = {.origin = {t->out.path, (int)ek__csv_line(t->csv), 1}};
    if (t->out.n == MAX_RUNS)
        return ek__fail(t->row.err, EK_ERR_INPUT, run.origin, "more than %d rows; split the table", MAX_RUNS);
    ek_status status = read_run(&t->row, &run);
    if (status) {
        ek_job_clear(&run.job);
        return status;
    }
    char *key = key_of(&t->row), **keys = ek__with_room(t->key, &t->key_capacity, (size_t)t->out.n + 1, sizeof *keys);
    t->key = keys ? keys : t->key;
    grown = ek__with_room(t->out.run, &t->capacity, (size_t)t->out.n + 1, sizeof *grown);
    t->out.run = grown ? grown : t->out.run;
    if (!key || !keys || !grown) {
        free(key);
        ek_job_clear(&run.job);
        return ek__no_memory(t->row.err);
    }
    t->key[t->out.n] = key;
    t->out.run[t->out.n++] = run;
    return EK_OK;
}

static ek_status read_rows(table *t)
{
    bool more = true;
    ek_status status = find_columns(t);
    while (status == EK_OK) {
        status = ek__csv_next(t->csv, &more, t->row.err);
        if (status || !more)
            break;
        status = add_row(t);
    }
    return status ? status : check_contradictions(t);
}

ek_status ek_run_table_parse(const char *name, const char *text, size_t size, const ek_listener *listener,
                             ek_measured_runs *out, ek_error *err)
{
    table t = {.row = {.path = name, .text = text, .listener = listener, .err = err}};
    ek_error own = {0};
    if (!err)
        t.row.err = &own;
    t.out.path = ek__strdup(name);
    ek_status status = t.out.path ? ek__csv_open_buffer(name, text, size, &t.csv, t.row.err) : ek__no_memory(err);
    if (status == EK_OK) {
        t.row.csv = t.csv;
        status = read_rows(&t);
        ek__csv_close(t.csv);
    }
    for (int i = 0; i < t.out.n; i++)
        free(t.key[i]);
    free(t.key);
    if (status == EK_OK)
        *out = t.out;
    else
        ek_measured_runs_clear(&t.out);
    return status;
}

ek_status ek_run_table_read(const char *path, const ek_listener *listener, ek_measured_runs *out, ek_error *err)
{
    char *text = NULL;
    size_t size = 0;
    ek_status status = ek__config_read_text(path, &text, &size, err);
    if (status == EK_OK)
        status = ek_run_table_parse(ek__path_name(path), text, size, listener, out, err);
    free(text);
    return status;
}

void ek_measured_runs_clear(ek_measured_runs *runs)
{
    for (int i = 0; i < runs->n; i++)
        ek_job_clear(&runs->run[i].job);
    free(runs->run);
    free(runs->path);
    *runs = (ek_measured_runs){0};
}

bool ek_measured_run_counts(const ek_measured_run *run)
{
    return run->has_job && !run->suspect && run->step_seconds > 0;
}
