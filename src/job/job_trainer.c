/* Reads a launch script of transformers' Trainer or of DeepSpeed's examples as a job: splits it into arguments such as
 * --model_name_or_path by the shell's rules, without running anything. */
#include <stdlib.h>
#include <string.h>

#include "job/megatron_run.h"
#include "job/trainer.h"

static bool recognises(const ek__job_source *source)
{
    const ek__node *root = source->doc ? ek__config_root(source->doc) : NULL;
    bool keys = root && root->kind != EK__SCALAR;
    return !keys && strstr(source->text, "--model_name_or_path") && !ek__arguments_are_in(source->text);
}

static bool is_name(const ek__word *word)
{
    return strncmp(word->text, "--", 2) == 0 && word->text[2] != '\0';
}

/* Is the variable of a word unused in a script that uses others? */
static bool is_left_out(const ek__arguments *a, const ek__word *word)
{
    return a->any_referred && word->owner >= 0 && !a->words.variable[word->owner].referred;
}

static ek_status collect(const ek__arguments *a, ek__trainer_setting *settings, int *n)
{
    const ek__words *words = &a->words;
    for (int i = 0; i < words->n; i++) {
        const ek__word *word = &words->word[i], *next = i + 1 < words->n ? word + 1 : NULL;
        if (!is_name(word) || is_left_out(a, word))
            continue;
        const char *name = word->text + 2, *sign = strchr(name, '=');
        bool has_value = !sign && next && next->group == word->group && !is_name(next);
        ek__trainer_setting s = {.name = name,
                                 .text = sign        ? sign + 1
                                         : has_value ? next->text
                                                     : "true",
                                 .unknown = sign        ? word->unknown
                                            : has_value ? next->unknown
                                                        : NULL,
                                 .at = {a->source->path, word->line, word->column}};
        if (sign && !(s.name = ek__pool_text(words->pool, name, (size_t)(sign - name))))
            return ek__no_memory(a->source->err);
        settings[(*n)++] = s;
    }
    return EK_OK;
}

static ek_status read_job(const ek__job_source *source, const ek_job_overrides *overrides, ek_job *job)
{
    ek__arguments a;
    ek__job_source quiet = *source; /* arguments other than the launcher's are not Megatron's */
    quiet.listener = NULL;
    ek_status status = ek__arguments_read(&quiet, &a);
    if (status)
        return status;
    ek__trainer_setting *settings = ek__alloc((size_t)a.words.n + 1, sizeof *settings);
    ek__trainer t = {.source = source, .overrides = overrides, .job = job, .before = "--", .setting = settings};
    status = settings ? collect(&a, settings, &t.n) : ek__no_memory(source->err);
    t.ranks = ek__megatron_world(&a, &t.ranks_at);
    if (status == EK_OK)
        status = ek__trainer_read(&t);
    free(settings);
    ek__arguments_clear(&a);
    return status;
}

const ek__job_format ek__job_trainer = {
    .name = "a script with --model_name_or_path for transformers' Trainer or DeepSpeed",
    .recognises = recognises,
    .read = read_job,
    .not_written = "a script of transformers' Trainer is read and not written; put the settings into it by hand",
};
