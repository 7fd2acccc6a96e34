/* Writes plans as files of the job's framework into a folder, in the form of the file that was read. Existing files
 * with another content are not overwritten. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "evenkeel/job_write.h"

#include "files.h"
#include "plan.h"

#define EQUAL 1e-9 /* of a step */

/* 1: the file has this text; 0: another text; -1: there is no file. */
static int compare_file(const char *path, const char *text, size_t size)
{
    FILE *in = fopen(path, "rb");
    if (!in)
        return errno == ENOENT ? -1 : 0;
    bool same = true;
    for (size_t i = 0; i < size && same; i++)
        same = fgetc(in) == (unsigned char)text[i];
    same = same && fgetc(in) == EOF;
    fclose(in);
    return same;
}

/* False after a message. */
static bool add(const char *path, const char *text, size_t size)
{
    int there = compare_file(path, text, size);
    if (there == 0)
        cli_error(NULL, "'%s' exists with other content; give --write another folder", path);
    return there == 1 || (there < 0 && cli_put_text(path, text, size));
}

/* A file of another framework than the job's (a script for a config.json) has that one's rules. */
static void compare_step(const ek_job *written, const ek_layout_plan *plan, const cli_plan *f, const char *path)
{
    ek_estimate estimate;
    ek_error err;
    if (ek_estimate_of(written, &f->device, 0, &estimate, &err))
        return;
    double was = plan->estimate.step.seconds, is = estimate.step.seconds;
    if (fabs(is / was - 1) > EQUAL)
        cli_note("a step of '%s' takes %.4g s instead of %.4g s: its framework has other rules than those assumed for "
                 "the job",
                 path, is, was);
    ek_estimate_clear(&estimate);
}

/* One plan. A plan without an equivalent in the framework is reported, which is no failure: *path stays NULL.
 * @return false after a message where the file cannot be written */
static bool write_one(const cli_plan *f, const ek_layout_plan *plan, const char *what, int number, const char *folder,
                      char **path)
{
    ek_error err;
    ek_job now;
    char *text = NULL, name[4200];
    size_t size = 0;
    if (ek_job_copy(&plan->job, &now, &err)) {
        cli_error(NULL, "%s", err.message);
        return false;
    }
    int length = snprintf(name, sizeof name, "%s/%s_%d%s", folder, what, number, ek_job_file_extension(&f->job));
    bool fine = length < (int)sizeof name;
    ek_status status = fine ? ek_job_write_text(&f->job, &now, &text, &size, &err) : EK_OK;
    if (!fine)
        cli_error(NULL, "the path of the folder is too long");
    else if (status == EK_ERR_INPUT)
        cli_note("%s %d: %s", what, number, err.message);
    else if (status)
        cli_error(NULL, "%s %d: %s", what, number, err.message);
    fine = fine && (status == EK_OK || status == EK_ERR_INPUT);
    if (fine && status == EK_OK) {
        fine = add(name, text, size);
        *path = fine ? strdup(name) : NULL;
        compare_step(&now, plan, f, name);
    }
    free(text);
    ek_job_clear(&now);
    return fine;
}

bool cli_plan_write(const cli_plan_command *command, cli_plan *found)
{
    ek_layout_result *r = &found->result;
    if (!command->write || r->n_plans == 0)
        return true;
    found->file = calloc((size_t)r->n_plans, sizeof *found->file);
    found->trial_file = calloc(EK_MAX_LAYOUT_TRIALS, sizeof *found->trial_file);
    if (!found->file || !found->trial_file) {
        cli_error(NULL, "out of memory");
        return false;
    }
    if (!cli_make_folder(command->write))
        return false;
    bool fine = true;
    for (int i = 0; i < found->trials.n; i++)
        fine = write_one(found, &r->plan[found->trials.trial[i].plan], "trial", i + 1, command->write,
                         &found->trial_file[i]) &&
               fine;
    for (int i = 0; found->trials.n == 0 && i < r->n_plans; i++)
        fine = write_one(found, &r->plan[i], "plan", i + 1, command->write, &found->file[i]) && fine;
    return fine;
}

void cli_plan_clear_files(cli_plan *found)
{
    for (int i = 0; found->file && i < found->result.n_plans; i++)
        free(found->file[i]);
    for (int i = 0; found->trial_file && i < EK_MAX_LAYOUT_TRIALS; i++)
        free(found->trial_file[i]);
    free(found->file);
    free(found->trial_file);
}
