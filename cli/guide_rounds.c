/* Writes the dry runs of a guide as copies of a training file. A YAML of MindFormers is changed in place, round by
 * round. Files of the other frameworks go through the writer of jobs, which checks its output by reading it: their
 * copies are made in memory first, so that either every round is written or none. */
#include "guide_rounds.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "evenkeel/emit.h"
#include "evenkeel/guide.h"
#include "evenkeel/job_write.h"
#include "evenkeel/layout.h"
#include "files.h"
#include "options.h"

/* FOLDER/NAME.roundN.yaml for one round. */
static bool round_path(const char *file, const char *folder, int round, char *path, size_t size)
{
    const char *slash = strrchr(file, '/'), *name = slash ? slash + 1 : file, *dot = strrchr(name, '.');
    int stem = dot && dot != name ? (int)(dot - name) : (int)strlen(name);
    int length = folder ? snprintf(path, size, "%s/%.*s.round%d%s", folder, stem, name, round + 1, name + stem)
                        : snprintf(path, size, "%.*s%.*s.round%d%s", (int)(name - file), file, stem, name, round + 1,
                                   name + stem);
    if (length > 0 && (size_t)length < size)
        return true;
    cli_error(NULL, "the path of a copy of the training file is too long");
    return false;
}

static bool write_round(const char *file, const char *folder, int round, const char *text, size_t size)
{
    char path[4096];
    if (!round_path(file, folder, round, path, sizeof path) || !cli_put_text(path, text, size))
        return false;
    cli_note("wrote %s", path);
    return true;
}

static ek_plan round_plan(const ek_dryrun *runs, int round)
{
    size_t at = (size_t)round * (size_t)runs->n_stages;
    return (ek_plan){runs->n_stages, 1, runs->layers + at, runs->full + at, runs->select + at, runs->comm + at};
}

static bool write_yamls(const char *file, const char *folder, const ek_dryrun *runs)
{
    for (int r = 0; r < runs->n_rounds; r++) {
        const ek_plan plan = round_plan(runs, r);
        const ek_train_change change = {
            .plan = &plan, .n_layers = runs->n_layers, .n_pieces = 1, .least_micro_batches = runs->n_stages};
        char *text;
        size_t size;
        ek_error err;
        if (ek_train_apply(file, &change, &cli_listener, &text, &size, &err)) {
            cli_error(&err, "%s", err.message);
            return false;
        }
        bool fine = write_round(file, folder, r, text, size);
        free(text);
        if (!fine)
            return false;
    }
    return true;
}

/* ---- files of other frameworks ---- */

typedef struct copy {
    char *text;
    size_t size;
} copy;

static bool same(const int *a, const int *b, const ek_plan *plan)
{
    return memcmp(a, b, (size_t)plan->n_stages * (size_t)plan->n_chunks * sizeof *a) == 0;
}

/* Does a job have the round's lists? Those of recomputation that its framework has no patterns for are left out. */
static bool check_lists(const ek_job *job, const ek_plan *plan, ek_error *err)
{
    bool select = same(job->plan.select, plan->select, plan), comm = same(job->plan.comm, plan->comm, plan);
    *err = (ek_error){.status = EK_ERR_INPUT};
    snprintf(err->message, sizeof err->message, "cannot be written: the framework has no recomputation of %s",
             comm ? "parts of a layer" : "communication alone");
    return select && comm && same(job->plan.full, plan->full, plan);
}

/* The job with a round's plan: its other degrees as they are, one chunk a stage, and micro-batches enough to fill the
 * pipeline. */
static ek_status make_round(const ek_job *job, const ek_plan *plan, ek_job *out, ek_error *err)
{
    const ek_schedule *schedule = ek_schedule_default(1, false);
    const ek_job_change change = {.plan = plan, .schedule = schedule};
    ek_layout layout = ek_layout_of(job);
    ek_job spread;
    layout.value[EK_AXIS_PIPELINE] = plan->n_stages;
    layout.value[EK_AXIS_CHUNKS] = 1;
    layout.schedule = schedule;
    if (layout.n_micro_batches < plan->n_stages)
        layout.n_micro_batches = plan->n_stages;
    ek_status status = ek_layout_job(job, &layout, &spread, err);
    if (status)
        return status;
    status = ek_job_with(&spread, &change, out, err);
    ek_job_clear(&spread);
    return status;
}

/* The file with a round's settings. */
static bool make_copy(const ek_job *job, const ek_plan *plan, copy *out, ek_error *err)
{
    ek_job now;
    if (make_round(job, plan, &now, err))
        return false;
    bool fine = check_lists(&now, plan, err) && ek_job_write_text(job, &now, &out->text, &out->size, err) == EK_OK;
    ek_job_clear(&now);
    return fine;
}

static bool make_copies(const char *file, const ek_job *job, const ek_dryrun *runs, copy copies[EK_MAX_ROUNDS])
{
    for (int r = 0; r < runs->n_rounds; r++) {
        const ek_plan plan = round_plan(runs, r);
        ek_error err = {0};
        if (!make_copy(job, &plan, &copies[r], &err)) {
            cli_note("no copies of %s are written; round %d as a job of %s: %s", file, r + 1,
                     ek_framework_name[job->framework], err.message);
            return false;
        }
    }
    return true;
}

static bool write_copies(const char *file, const char *folder, const ek_job *job, const ek_dryrun *runs)
{
    copy copies[EK_MAX_ROUNDS] = {{NULL, 0}};
    bool made = make_copies(file, job, runs, copies), fine = !made || !folder || cli_make_folder(folder);
    for (int r = 0; r < runs->n_rounds && made && fine; r++)
        fine = write_round(file, folder, r, copies[r].text, copies[r].size);
    for (int r = 0; r < runs->n_rounds; r++)
        free(copies[r].text);
    return fine;
}

bool cli_write_rounds(const char *path, const char *folder, const ek_job *job, const ek_guide *guide)
{
    const ek_dryrun *runs = &guide->runs;
    if (job->no_layout) {
        cli_note("no copies of %s are written: a config.json has no place for a layout; put the lists into the file "
                 "that the dry runs start with",
                 path);
        return true;
    }
    if (job->framework != EK_MINDFORMERS && job->framework != EK_MINDFORMERS_MCORE)
        return write_copies(path, folder, job, runs);
    return (!folder || cli_make_folder(folder)) && write_yamls(path, folder, runs);
}
