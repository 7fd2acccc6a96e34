/* Helpers shared by the writers of settings: the list of changed settings, and comparisons of plans. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/c_locale.h"
#include "base/pool.h"
#include "evenkeel/schedule.h"
#include "job/settings.h"

/* The section for a kind of keys in the file of MindSpeed-Core-MS. */
static const char *section_in_file(const ek_job *job, const char *kind)
{
    return strcmp(kind, "degrees") == 0   ? job->section_of_degrees
           : strcmp(kind, "batches") == 0 ? job->section_of_batches
           : strcmp(kind, "model") == 0   ? job->section_of_model
                                          : kind;
}

/* A name in the spelling of the framework's files. */
static const char *spell(ek__settings *s, const char *name)
{
    char *key = ek__pool_text(s->pool, name, strlen(name));
    for (char *c = key; key && s->now->framework != EK_MEGATRON && *c; c++)
        *c = (char)(*c == '-' ? '_' : *c);
    return key;
}

static void push(ek__settings *s, ek__setting_kind kind, const char *section, const char *name, const char *value,
                 const char *remark)
{
    const ek_framework framework = s->now->framework;
    const char *in_file = framework == EK_MEGATRON || !section ? ""
                          : framework == EK_MINDSPEED          ? section_in_file(s->now, section)
                                                               : section;
    ek__setting *all = ek__pool_push(s->pool, s->setting, s->n, sizeof *all);
    const ek__setting added = {.kind = kind,
                               .section = ek__pool_text(s->pool, in_file, strlen(in_file)),
                               .key = spell(s, name),
                               .value = value,
                               .remark = remark};
    s->setting = all ? all : s->setting;
    s->no_memory = s->no_memory || !all || !added.section || !added.key;
    if (!s->no_memory)
        all[s->n++] = added;
}

void ek__settings_put(ek__settings *s, const char *section, const char *name, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int n = ek__vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    char *value = n < 0 ? NULL : ek__pool_alloc(s->pool, (size_t)n + 1, 1);
    if (!value) {
        s->no_memory = true;
        return;
    }
    va_start(arguments, format);
    (void)ek__vsnprintf(value, (size_t)n + 1, format, arguments);
    va_end(arguments);
    ek__job_note_known(s->now, name);
    push(s, EK__SETTING_VALUE, section, name, value, NULL);
}

void ek__settings_put_switch(ek__settings *s, const char *section, const char *name)
{
    if (s->now->framework != EK_MEGATRON) {
        ek__settings_put(s, section, name, "True");
        return;
    }
    ek__settings_put_switch_of(s, name, NULL);
}

void ek__settings_put_switch_of(ek__settings *s, const char *name, const char *remark)
{
    ek__job_note_known(s->now, name);
    push(s, EK__SETTING_SWITCH, NULL, name, NULL, remark);
}

void ek__settings_put_ranks(ek__settings *s, long long n)
{
    const char *value = ek__pool_format(s->pool, "%lld", n);
    s->no_memory = s->no_memory || !value;
    if (value)
        push(s, EK__SETTING_RANKS, NULL, "ranks", value, NULL);
}

void ek__settings_drop(ek__settings *s, const char *name)
{
    if (!ek__job_has(s->now, name))
        return;
    ek__job_forget(s->now, name);
    push(s, EK__SETTING_GONE, NULL, name, NULL, NULL);
}

const char *ek__settings_list(const ek_plan *plan, const int *list, int minus, char *text, size_t size)
{
    size_t used = 0;
    text[0] = '\0';
    for (int c = 0; c < plan->n_stages * plan->n_chunks && used < size; c++) {
        bool starts = c % plan->n_stages == 0, ends = (c + 1) % plan->n_stages == 0;
        const char *open = !starts ? ", " : plan->n_chunks == 1 ? "[" : c == 0 ? "[[" : ", [";
        const char *close = !ends ? "" : plan->n_chunks > 1 && c + 1 == plan->n_stages * plan->n_chunks ? "]]" : "]";
        used += (size_t)snprintf(text + used, size - used, "%s%d%s", open, list[c] - minus, close);
    }
    return text;
}

bool ek__settings_same_layers(const ek__settings *s)
{
    const ek_plan *a = &s->was->plan, *b = &s->now->plan;
    if (a->n_stages != b->n_stages || a->n_chunks != b->n_chunks)
        return false;
    for (int q = 0; q < a->n_stages * a->n_chunks; q++)
        if (a->layers[ek_cell_at(s->was->schedule->placement, a->n_stages, q)] !=
            b->layers[ek_cell_at(s->now->schedule->placement, b->n_stages, q)])
            return false;
    return true;
}

bool ek__settings_any(const ek_plan *plan, const int *list)
{
    for (int c = 0; c < plan->n_stages * plan->n_chunks; c++)
        if (list[c] > 0)
            return true;
    return false;
}

bool ek__settings_all(const ek_plan *plan, const int *list)
{
    return memcmp(list, plan->layers, (size_t)plan->n_stages * (size_t)plan->n_chunks * sizeof *list) == 0;
}

/* A variable of the allocator, for all frameworks. */
void ek__settings_put_pages(ek__settings *s)
{
    bool pytorch = s->was->rules.allocation == EK_ALLOCATION_CACHING;
    if (s->now->rules.allocation == s->was->rules.allocation || s->now->rules.allocation != EK_ALLOCATION_PAGES)
        return;
    push(s, EK__SETTING_VARIABLE, NULL, pytorch ? "PYTORCH_CUDA_ALLOC_CONF" : "MS_ALLOC_CONF",
         pytorch ? "expandable_segments:True" : "enable_vmm:True", NULL);
}
