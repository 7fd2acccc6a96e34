/* Reads settings of a run of transformers' Trainer by name: numbers, switches and texts, and the files that they
 * name. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/c_locale.h"
#include "job/trainer.h"

const ek__trainer_setting *ek__trainer_get(const ek__trainer *t, const char *name)
{
    for (int i = t->n - 1; i >= 0; i--)
        if (strcmp(t->setting[i].name, name) == 0) {
            const ek__trainer_setting *s = &t->setting[i];
            bool none = s->text && (strcmp(s->text, "null") == 0 || strcmp(s->text, "None") == 0);
            return none || (s->node && ek__node_is_null(s->node)) ? NULL : s;
        }
    return NULL;
}

const ek__trainer_setting *ek__trainer_find(const ek__trainer *t, const char *const *names)
{
    const ek__trainer_setting *found = NULL;
    for (; *names && !found; names++)
        found = ek__trainer_get(t, *names);
    return found;
}

ek_status ek__trainer_fail(const ek__trainer *t, const ek__trainer_setting *s, const char *format, ...)
{
    char text[sizeof((ek_error *)0)->message];
    va_list arguments;
    va_start(arguments, format);
    ek__vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return ek__fail(t->source->err, EK_ERR_INPUT, s->at, "%s%s %s", t->before, s->name, text);
}

void ek__trainer_warn(const ek__trainer *t, const ek__trainer_setting *s, const char *format, ...)
{
    char text[sizeof((ek_error *)0)->message];
    va_list arguments;
    va_start(arguments, format);
    ek__vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    ek__warn(t->source->listener, s->at, "%s%s %s", t->before, s->name, text);
}

ek_status ek__trainer_text(const ek__trainer *t, const ek__trainer_setting *s, const char **out)
{
    if (!s)
        return EK_OK;
    if (s->unknown)
        return ek__trainer_fail(t, s, "is given as %.60s, with a value known only at run time; write the value there",
                                s->unknown);
    if (!s->text)
        return ek__trainer_fail(t, s, "has several values, expected one; correct it");
    *out = s->text;
    return EK_OK;
}

ek_status ek__trainer_int(const ek__trainer *t, const ek__trainer_setting *s, int min, int max, int *out)
{
    const char *text = NULL;
    double value = 0;
    ek_status status = ek__trainer_text(t, s, &text);
    if (status || !text)
        return status;
    if (!ek__text_is_number(text, &value) || value < min || value > max || value != (int)value)
        return ek__trainer_fail(t, s, "is '%.40s', expected a whole number from %d to %d; correct it", text, min, max);
    *out = (int)value;
    return EK_OK;
}

ek_status ek__trainer_switch(const ek__trainer *t, const char *name, bool *out)
{
    static const char *const on[] = {"true", "True", "TRUE", "1", "yes", "on"};
    static const char *const off[] = {"false", "False", "FALSE", "0", "no", "off"};
    const ek__trainer_setting *s = ek__trainer_get(t, name);
    const char *text = NULL;
    ek_status status = ek__trainer_text(t, s, &text);
    for (int i = 0; i < 6 && status == EK_OK && text; i++) {
        if (strcmp(text, on[i]) == 0 || strcmp(text, off[i]) == 0) {
            *out = strcmp(text, on[i]) == 0;
            return EK_OK;
        }
    }
    return status || !text ? status : ek__trainer_fail(t, s, "is '%.40s', expected true or false; correct it", text);
}

/* ---- other files ---- */

static void take_reason(void *user, const ek_error *warning)
{
    *(ek_error *)user = *warning;
}

ek_status ek__trainer_open(const ek__trainer *t, const ek__trainer_setting *s, const char *what, ek__config_tree **out)
{
    const char *name = NULL;
    ek_status status = ek__trainer_text(t, s, &name);
    *out = NULL;
    if (status)
        return status;
    ek_error why = {.message = ""};
    const ek_listener listener = {take_reason, &why};
    ek__job_source source = *t->source;
    source.listener = &listener;
    /* Paths are relative to the run's working directory, which may be this file's folder or any other. */
    const char *slash = strrchr(name, '/');
    status = ek__job_read_other(&source, name, s->at, "", out);
    if (status == EK_OK && !*out && slash && slash[1] != '\0')
        status = ek__job_read_other(&source, slash + 1, s->at, "", out);
    if (status || *out)
        return status;
    return ek__trainer_fail(
        t, s, "is %.200s, which is not next to this file, and contains %s; put it there, or give its path", name, what);
}
