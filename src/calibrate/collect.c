/* Collects the runs of sources of any kind and order: rows of tables in their order, a training log with the job in its
 * folder. */
#include "calibrate/collect.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "evenkeel/calibrate.h"
#include "evenkeel/train_log.h"

ek__run_item *ek__collected_add(ek__collected *c)
{
    ek__run_item *grown = ek__with_room(c->item, &c->room, (size_t)c->n + 1, sizeof *grown);
    if (!grown)
        return NULL;
    c->item = grown;
    grown[c->n] = (ek__run_item){.seconds = NAN};
    return &grown[c->n++];
}

bool ek__is_priced(const ek__run_item *item)
{
    return item->job && !item->suspect && item->seconds > 0;
}

/* ---- tables ---- */

static ek_status read_table(ek__collected *c, int source, const ek_listener *listener, ek_error *err)
{
    ek_measured_runs *table = &c->table[source];
    ek_status status = ek_run_table_read(c->source[source].path, listener, table, err);
    if (status)
        return status;
    c->source[source].n = table->n;
    if (table->n == 0)
        return ek__fail(err, EK_ERR_INPUT, ((ek_origin){c->source[source].path, 1, 1}),
                        "the table has its header and no row; add a line for each run");
    for (int i = 0; i < table->n; i++) {
        const ek_measured_run *run = &table->run[i];
        ek__run_item *item = ek__collected_add(c);
        if (!item)
            return ek__no_memory(err);
        item->job = run->has_job ? &run->job : NULL;
        item->seconds = run->step_seconds;
        item->origin = run->origin;
        item->suspect = run->suspect;
        snprintf(item->name, sizeof item->name, "%s", run->name);
        snprintf(item->group, sizeof item->group, "%s", run->group);
        snprintf(item->device, sizeof item->device, "%s", run->device);
        snprintf(item->why, sizeof item->why, "%s", run->why);
    }
    return EK_OK;
}

/* ---- logs with jobs ---- */

static size_t folder_size(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? (size_t)(slash - path) + 1 : 0;
}

/* A folder is in itself, too. */
static bool same_folder(const char *job, const char *of)
{
    size_t n = folder_size(job), whole = strlen(of);
    return (n == folder_size(of) && strncmp(job, of, n) == 0) || (n == whole + 1 && strncmp(job, of, whole) == 0);
}

int ek__collected_job(const ek__collected *c, int source)
{
    int beside = -1, any = -1, n_beside = 0, n_any = 0;
    for (int i = 0; i < c->n_sources; i++) {
        if (c->source[i].kind != EK_SOURCE_JOB)
            continue;
        n_any++;
        any = i;
        if (same_folder(c->source[i].path, c->source[source].path)) {
            n_beside++;
            beside = i;
        }
    }
    return n_beside == 1 ? beside : n_beside == 0 && n_any == 1 ? any : -1;
}

bool ek__collected_has_log(const ek__collected *c, const ek_job *job)
{
    for (int i = 0; i < c->n_sources; i++) {
        int of = c->source[i].kind == EK_SOURCE_LOG ? ek__collected_job(c, i) : -1;
        if (of >= 0 && &c->job[of] == job)
            return true;
    }
    return false;
}

void ek__run_item_name(const ek_job *job, ek__run_item *item)
{
    const ek_job_parallel *p = &job->parallel;
    /* With the shape, as of tables: scripts of many models are called train.sh. */
    snprintf(item->group, sizeof item->group, "%.60s %dx%d|t%d p%d v%d cp%d ep%d", job->name, job->model.n_layers,
             job->model.hidden, p->tensor, p->pipeline, job->plan.n_chunks, p->context, p->expert);
    snprintf(item->name, sizeof item->name, "%.60s d%d t%d p%d S%d B%d m%d", job->name, p->data, p->tensor, p->pipeline,
             p->seq_length, p->batch, p->n_micro_batches * p->n_accumulation);
}

/* A log of another job would be fitted as a faster or slower device. */
static ek_status check_log(const ek__collected *c, int source, int of, ek_error *err)
{
    const ek_train_log *log = &c->log[source];
    const ek_job_parallel *p = &c->job[of].parallel;
    double batch = log->step[log->n - 1].global_batch;
    const struct {
        const char *what;
        double of_log, of_job; /* below 1: unknown */
    } told[] = {
        {"devices", (double)log->world_size, (double)p->data * p->tensor * p->pipeline * p->context},
        {"sequences a step", isnan(batch) ? (double)log->global_batch : batch,
         (double)p->data * p->batch * p->n_micro_batches * p->n_accumulation * p->n_batch_interleave},
        {"tokens a sequence", (double)log->seq_length, (double)p->seq_length},
    };
    for (size_t i = 0; i < sizeof told / sizeof *told; i++)
        if (told[i].of_log >= 1 && fabs(told[i].of_log - told[i].of_job) > 0.5)
            return ek__fail(err, EK_ERR_INPUT, ((ek_origin){c->source[source].path, 0, 0}),
                            "the log is of %.0f %s, but the job '%.200s' of %.0f; give the job that it is of",
                            told[i].of_log, told[i].what, c->source[of].path, told[i].of_job);
    return EK_OK;
}

static ek_status read_log(ek__collected *c, int source, ek_error *err)
{
    const char *path = c->source[source].path;
    int of = ek__collected_job(c, source);
    ek_train_log_summary summary;
    if (of < 0)
        return ek__fail(err, EK_ERR_INPUT, ((ek_origin){path, 0, 0}),
                        "a training log needs the job that it is of: give one job file (a training YAML, a launch "
                        "script) in the log's folder as a source, too");
    const ek_job *job = &c->job[of];
    ek_train_log_time(&c->log[source], job);
    if (!ek_train_log_summarise(&c->log[source], &summary))
        return ek__fail(err, EK_ERR_INPUT, ((ek_origin){path, 0, 0}), "has no step with a time");
    ek_status status = check_log(c, source, of, err);
    if (status)
        return status;
    ek__run_item *item = ek__collected_add(c);
    if (!item)
        return ek__no_memory(err);
    item->job = job;
    item->seconds = summary.median_seconds;
    item->origin = (ek_origin){path, 0, 0};
    c->source[source].n = summary.n;
    ek__run_item_name(job, item);
    return EK_OK;
}

/* ---- all ---- */

static ek_status read_one(ek__collected *c, int i, const ek_calibrate_input *input, ek_error *err)
{
    struct ek_calibration_source *s = &c->source[i];
    ek_status status = EK_OK;
    if (strlen(input->path[i]) >= sizeof s->path)
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "the path '%.80s...' is too long; give a shorter one",
                        input->path[i]);
    snprintf(s->path, sizeof s->path, "%s", input->path[i]);
    status = ek_source_kind_of(s->path, &s->kind, err);
    if (status)
        return status;
    if (s->kind == EK_SOURCE_JOB) {
        s->n = 1;
        return ek_job_read(s->path, NULL, input->listener, &c->job[i], err);
    }
    if (s->kind == EK_SOURCE_LOG)
        return ek_train_log_read(s->path, input->listener, &c->log[i], err);
    return s->kind == EK_SOURCE_RUNS ? read_table(c, i, input->listener, err) : EK_OK;
}

ek_status ek__collect(const ek_calibrate_input *input, ek__collected *out, ek_error *err)
{
    size_t n = (size_t)input->n_paths;
    ek__collected c = {.n_sources = input->n_paths,
                       .source = ek__alloc(n, sizeof *c.source),
                       .table = ek__alloc(n, sizeof *c.table),
                       .job = ek__alloc(n, sizeof *c.job),
                       .log = ek__alloc(n, sizeof *c.log),
                       .link = ek__alloc(n, sizeof *c.link)};
    ek_status status = c.source && c.table && c.job && c.log && c.link ? EK_OK : ek__no_memory(err);
    for (int i = 0; i < c.n_sources && status == EK_OK; i++)
        status = read_one(&c, i, input, err);
    for (int i = 0; i < c.n_sources && status == EK_OK; i++)
        if (c.source[i].kind == EK_SOURCE_LOG)
            status = read_log(&c, i, err);
    if (status)
        ek__collected_clear(&c);
    else
        *out = c;
    return status;
}

ek_status ek__collect_links(int per_node, ek__collected *c, ek_error *err)
{
    ek_status status = EK_OK;
    for (int i = 0; i < c->n_sources && status == EK_OK; i++)
        if (c->source[i].kind == EK_SOURCE_LINKS) {
            status = ek_link_log_read(c->source[i].path, per_node, &c->link[i], err);
            c->source[i].n = status == EK_OK ? c->link[i].n : 0;
        }
    return status;
}

void ek__collected_clear(ek__collected *c)
{
    for (int i = 0; i < c->n_sources; i++) {
        if (c->table)
            ek_measured_runs_clear(&c->table[i]);
        if (c->job)
            ek_job_clear(&c->job[i]);
        if (c->log)
            ek_train_log_clear(&c->log[i]);
        if (c->link)
            ek_link_log_clear(&c->link[i]);
    }
    free(c->source);
    free(c->table);
    free(c->job);
    free(c->log);
    free(c->link);
    free(c->item);
    *c = (ek__collected){0};
}
