/* Writes a training file for a changed job. The settings that differ are put into the text, and the new text is read
 * back as a job. Remaining differences (for example a switch that depends on another one) are put in by further rounds,
 * each of which begins from the current text; a job that no round reaches is rejected. */
#include "evenkeel/job_write.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "job/write.h"

enum { MAX_ROUNDS = 4 };

typedef struct writing {
    const ek_job *was;
    ek_job *now;
    const char *name; /* of the text, for messages and other files that it names */
    char *text;       /* with the changes so far */
    size_t size;
    ek_job is;         /* the job read from the text */
    char script[1024]; /* the name of the script that replaces a config.json */
    ek_error *err;
} writing;

static ek_origin file_of(const writing *w)
{
    return (ek_origin){w->name, 0, 0};
}

/* ---- the current file ---- */

static ek_status refuse_source(const ek_job *was, const char *why, ek_error *err)
{
    return ek__fail(err, EK_ERR_INPUT, ((ek_origin){was->path, was->path ? 1 : 0, was->path ? 1 : 0}), "%s", why);
}

static ek_status read_text(writing *w)
{
    const ek_job *was = w->was;
    struct stat file;
    if (!was->path || was->digest == 0)
        return refuse_source(was, "the job was read from no file, so none can be written with its settings", w->err);
    if (stat(was->path, &file) == 0 && !S_ISREG(file.st_mode))
        return refuse_source(was, "is no ordinary file, so it cannot be read again to be written anew; give a file",
                             w->err);
    return ek__config_read_text(was->path, &w->text, &w->size, w->err);
}

/* Read the text as a job into w->is. */
static ek_status parse(writing *w, ek_error *err)
{
    ek_job_overrides overrides = ek_job_overrides_none();
    ek__job_step step;
    ek_job is;
    overrides.literal = w->was->literal;
    ek_status status = ek__job_parse_file(w->name, w->text, w->size, &overrides, NULL, &is, &step, err);
    if (status)
        return status;
    ek_job_clear(&w->is);
    w->is = is;
    return EK_OK;
}

static ek_status read_again(writing *w)
{
    w->name = w->was->path;
    ek_status status = read_text(w);
    if (status == EK_OK)
        status = parse(w, w->err);
    if (status == EK_OK && w->is.digest != w->was->digest)
        return refuse_source(w->was, "has changed since it was read; read it again", w->err);
    return status;
}

/* A config.json cannot store a layout: from here on the text is a script with its model. */
static ek_status become_script(writing *w)
{
    char *text = NULL;
    size_t n = strlen(w->name), end = n > 5 && strcmp(w->name + n - 5, ".json") == 0 ? n - 5 : n;
    if (ek__job_format_of(w->name, w->text, w->size) != &ek__job_hugging_face)
        return EK_OK;
    ek_status status = ek__write_script(w->now, &text, &n, w->err);
    if (status)
        return status;
    free(w->text);
    w->text = text;
    w->size = n;
    snprintf(w->script, sizeof w->script, "%.*s.sh", end < 1000 ? (int)end : 1000, w->name);
    w->name = w->script;
    status = parse(w, w->err);
    if (status == EK_OK)
        ek__take_script_run(&w->is, w->was, w->now);
    return status;
}

/* ---- rounds ---- */

static ek_status refuse(const writing *w, const char *why)
{
    return ek__fail(w->err, EK_ERR_INPUT, file_of(w), "cannot be written with this layout: %s", why);
}

typedef ek_status put_function(const ek__settings *s, const ek__job_text *file, char **out, size_t *size,
                               ek_error *err);

static put_function *function_of(ek_framework framework)
{
    return framework == EK_TORCHTITAN ? ek__write_toml
           : framework == EK_MEGATRON ? ek__write_arguments
                                      : ek__write_yaml;
}

static ek_status add(writing *w, const ek__settings *s)
{
    const ek__job_text file = {w->name, w->text, w->size};
    char *text = NULL;
    size_t size = 0;
    for (int i = 0; i < s->n; i++)
        if (s->setting[i].kind == EK__SETTING_VARIABLE)
            return ek__fail(w->err, EK_ERR_INPUT, file_of(w),
                            "has no setting for the allocator; set %s=%s in the environment instead", s->setting[i].key,
                            s->setting[i].value);
    ek_status status = function_of(w->now->framework)(s, &file, &text, &size, w->err);
    if (status)
        return status;
    free(w->text);
    w->text = text;
    w->size = size;
    return EK_OK;
}

/* The settings produced the new text: if it is rejected, the layout is impossible. */
static ek_status parse_new(writing *w)
{
    ek_error why = {0};
    ek_status status = parse(w, &why);
    if (status != EK_ERR_INPUT)
        return status == EK_ERR_MEMORY ? ek__no_memory(w->err) : status;
    return ek__fail(w->err, EK_ERR_INPUT, ((ek_origin){w->name, why.line, why.column}),
                    "with the new settings would be refused: %s", why.message);
}

/* Rules from the user or a calibration do not count as differences. */
static void read_rules(const ek_job *from, ek_job *is)
{
    for (int i = 0; ek_rule_names[i]; i++) {
        char value[64], assignment[160];
        if (!(from->rules_told >> i & 1) || !ek_rules_get(&from->rules, ek_rule_names[i], value, sizeof value))
            continue;
        snprintf(assignment, sizeof assignment, "%s=%s", ek_rule_names[i], value);
        (void)ek_rules_set(&is->rules, assignment, NULL);
    }
}

/* @param why  [size] the remaining difference if nothing was put */
static ek_status one_round(writing *w, const char *why)
{
    ek__settings s;
    read_rules(w->now, &w->is);
    ek_status status = ek__settings_find(&w->is, w->now, &s, w->err);
    if (status == EK_OK && (s.why || s.n == 0))
        status = refuse(w, s.why ? s.why : why);
    if (status == EK_OK)
        status = add(w, &s);
    ek__settings_clear(&s);
    return status ? status : parse_new(w);
}

static ek_status change(writing *w)
{
    char why[512];
    const ek__job_format *format = ek__job_format_of(w->name, w->text, w->size);
    ek_status status = EK_OK;
    if (format && format->not_written && ek__job_differs(&w->is, w->now, why, sizeof why))
        return refuse(w, format->not_written);
    for (int i = 0; status == EK_OK && ek__job_differs(&w->is, w->now, why, sizeof why); i++)
        status = i < MAX_ROUNDS ? one_round(w, why) : refuse(w, why);
    if (status == EK_OK)
        w->now->noted = w->is.noted;
    return status;
}

/* ---- the whole ---- */

ek_status ek_job_write_text(const ek_job *was, ek_job *now, char **text, size_t *size, ek_error *err)
{
    writing w = {.was = was, .now = now, .err = err};
    const uint64_t noted = now->noted;
    const ek_job_run run = now->run;
    const ek_rules rules = now->rules;
    const ek_job_states states = now->states;
    ek_status status = ek_job_check(now, err);
    if (status == EK_OK)
        status = read_again(&w);
    if (status == EK_OK)
        status = become_script(&w);
    if (status == EK_OK)
        status = change(&w);
    if (status == EK_OK) {
        *text = w.text;
        *size = w.size;
    } else {
        free(w.text);
        now->noted = noted;
        now->run = run;
        now->rules = rules;
        now->states = states;
    }
    ek_job_clear(&w.is);
    return status;
}

ek_status ek_job_write(const ek_job *was, ek_job *now, FILE *out, ek_error *err)
{
    char *text = NULL;
    size_t size = 0;
    ek_status status = ek_job_write_text(was, now, &text, &size, err);
    if (status)
        return status;
    bool written = fwrite(text, 1, size, out) == size && fflush(out) == 0;
    free(text);
    return written ? EK_OK
                   : ek__fail(err, EK_ERR_SYSTEM, ((ek_origin){was->path, 0, 0}),
                              "the file with the new layout cannot be written; see whether the disk is full");
}

const char *ek_job_file_extension(const ek_job *job)
{
    const char *slash = job->path ? strrchr(job->path, '/') : NULL;
    const char *name = slash ? slash + 1 : job->path ? job->path : "", *dot = strrchr(name, '.');
    bool script = job->framework == EK_MEGATRON && dot && strcmp(dot, ".json") == 0;
    return script ? ".sh" : dot && dot != name ? dot : "";
}
