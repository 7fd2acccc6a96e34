/* Finds the settings of a changed job with the framework's writer, and formats them as one text to paste. */
#include "job/settings.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/c_locale.h"
#include "base/pool.h"

/* ---- the text ---- */

static const char cut[] = ", and lists that are too long to show";

bool ek__settings_are_cut(const char *text)
{
    size_t n = strlen(text), m = strlen(cut);
    return n >= m && strcmp(text + n - m, cut) == 0;
}

/* Text in progress. */
typedef struct writer {
    ek_framework framework;
    char *text; /* [size] */
    size_t size, used;
    const char *section; /* of the last key */
    bool too_long;
} writer;

static void print(writer *w, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Whole or not at all, so that no partial text is pasted. */
static void print(writer *w, const char *format, ...)
{
    size_t room = w->size - w->used;
    va_list arguments;
    if (w->too_long)
        return;
    va_start(arguments, format);
    int n = ek__vsnprintf(w->text + w->used, room, format, arguments);
    va_end(arguments);
    if (n < 0 || (size_t)n + sizeof cut > room) {
        w->too_long = true;
        w->text[w->used] = '\0';
    } else {
        w->used += (size_t)n;
    }
}

/* Keys of YAML are separated by commas, and a degree's key in the same section as the one before omits the section. */
static void write_name(writer *w, const ek__setting *setting)
{
    const char *between = w->used == 0 ? "" : w->framework == EK_MEGATRON ? " " : ", ", *section = setting->section;
    if (w->framework == EK_MEGATRON) {
        print(w, "%s--%s", between, setting->key);
        return;
    }
    bool beside =
        w->framework != EK_TORCHTITAN && strncmp(section, "parallel", 8) == 0 && strcmp(section, w->section) == 0;
    w->section = section;
    print(w, "%s%s%s%s", between, beside ? "" : section, beside || !*section ? "" : ".", setting->key);
}

static void write_setting(writer *w, const ek__setting *setting)
{
    const size_t before = w->used;
    write_name(w, setting);
    if (setting->kind == EK__SETTING_VALUE)
        print(w, "%s%s",
              w->framework == EK_MEGATRON     ? " "
              : w->framework == EK_TORCHTITAN ? " = "
                                              : ": ",
              setting->value);
    if (setting->remark)
        print(w, " (%s)", setting->remark);
    if (w->too_long) { /* the key is removed together with its value */
        w->used = before;
        w->text[before] = '\0';
    }
}

/* "(without --a, --b and --c)" */
static void write_without(writer *w, const ek__settings *s)
{
    const char *dashes = w->framework == EK_MEGATRON ? "--" : "";
    int n = 0, i = 0;
    for (int k = 0; k < s->n; k++)
        n += s->setting[k].kind == EK__SETTING_GONE;
    for (int k = 0; k < s->n; k++) {
        const char *first = w->used ? " (without " : "(without ";
        if (s->setting[k].kind != EK__SETTING_GONE)
            continue;
        print(w, "%s%s%s", i == 0 ? first : i + 1 < n ? ", " : " and ", dashes, s->setting[k].key);
        i++;
    }
    if (n > 0)
        print(w, ")");
}

static void write_all(writer *w, const ek__settings *s)
{
    for (int i = 0; i < s->n; i++)
        if (s->setting[i].kind == EK__SETTING_VALUE || s->setting[i].kind == EK__SETTING_SWITCH)
            write_setting(w, &s->setting[i]);
    write_without(w, s);
    for (int i = 0; i < s->n; i++)
        if (s->setting[i].kind == EK__SETTING_VARIABLE)
            print(w, "%s%s=%s (environment)", w->used ? "\n" : "", s->setting[i].key, s->setting[i].value);
    if (w->too_long)
        memcpy(w->text + w->used, cut, sizeof cut);
}

/* ---- the whole ---- */

ek_status ek__settings_find(const ek_job *was, ek_job *now, ek__settings *out, ek_error *err)
{
    *out = (ek__settings){.was = was, .now = now, .pool = ek__pool_new()};
    if (!out->pool)
        return ek__no_memory(err);
    now->noted = was->noted;
    switch (now->framework) {
    case EK_MINDFORMERS:
    case EK_MINDFORMERS_MCORE:
        ek__settings_mindformers(out);
        break;
    case EK_MEGATRON:
    case EK_MINDSPEED:
        if (ek__job_has(was, "transformers-trainer"))
            ek__settings_trainer(out);
        else
            ek__settings_megatron(out);
        break;
    case EK_TORCHTITAN:
        ek__settings_torchtitan(out);
        break;
    }
    ek__settings_put_pages(out);
    return out->no_memory ? ek__no_memory(err) : EK_OK;
}

void ek__settings_clear(ek__settings *s)
{
    ek__pool_free(s->pool);
    *s = (ek__settings){0};
}

ek_status ek__job_settings(const ek_job *was, ek_job *now, char *text, size_t size, const char **why, ek_error *err)
{
    ek__settings s;
    writer w = {.framework = now->framework, .text = text, .size = size, .section = ""};
    assert(size > sizeof cut);
    text[0] = '\0';
    ek_status status = ek__settings_find(was, now, &s, err);
    if (status == EK_OK)
        write_all(&w, &s);
    *why = s.why;
    ek__settings_clear(&s);
    return status;
}
