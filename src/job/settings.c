/* What the writers of settings share: the list of names that are noted, the list of settings that change, comparisons
 * of plans, and the settings as one text to paste. */
#include "job/settings.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/pool.h"

const char *const ek__job_noted[] = {
    /* Megatron, and MindSpeed-Core-MS with other dashes */
    "world",
    "data-parallel-size",
    "global-batch-size",
    "micro-batch-num",
    "sequence-parallel",
    "expert-tensor-parallel-size",
    "moe-tp-extend-ep",
    "ulysses-degree-in-cp",
    "attention-backend",
    "overlap-param-gather",
    "tp-comm-overlap",
    "num-layers-per-virtual-pipeline-stage",
    "num-virtual-stages-per-pipeline-rank",
    "decoder-first-pipeline-num-layers",
    "decoder-last-pipeline-num-layers",
    "account-for-embedding-in-pipeline-split",
    "account-for-loss-in-pipeline-split",
    "num-layer-list",
    "pipeline-model-parallel-layout",
    "noop-layers",
    "schedules-method",
    "zero-bubble-v-schedule",
    "zero-bubble-v-schedule-mem-setup",
    "uniform",
    "recompute-granularity",
    "recompute-method",
    "recompute-num-layers",
    "recompute-modules",
    "recompute-activations",
    "recompute-activation-function",
    "moe-layer-recompute",
    "recompute-config",
    "select-recompute",
    "select-comm-recompute",
    "checkpoint-activations",
    "checkpoint-num-layers",
    "num-distributed-optimizer-instances",
    "use-distributed-optimizer",
    "no-async-tensor-model-parallel-allreduce",
    "optimizer-cpu-offload",
    "deepspeed",
    /* MindFormers */
    "lists",
    "shares",
    "shares-gradients",
    "expert-model-parallel",
    /* torchtitan */
    "module-fqns-per-model-part",
    "pipeline-parallel-split-points",
    "pipeline-parallel-layers-per-stage",
    "pipeline-parallel-first-stage-less-layers",
    "pipeline-parallel-last-stage-less-layers",
    "pipeline-parallel-microbatches",
    "fsdp-reshard-after-forward",
    "context-parallel-load-balancer",
    "pipeline-runs", /* of one step, several */
    NULL,
};

/* ---- what stands in the file ---- */

/* Is a key the name, whichever way it writes its dashes? */
static bool is_name(const char *key, const char *name)
{
    for (; *key && *name; key++, name++)
        if (*key != *name && !(*key == '_' && *name == '-'))
            return false;
    return !*key && !*name;
}

static int index_of(const char *name)
{
    for (int i = 0; ek__job_noted[i]; i++)
        if (strcmp(ek__job_noted[i], name) == 0)
            return i;
    return -1;
}

void ek__job_note(ek_job *job, const char *name)
{
    int i = index_of(name);
    assert(i >= 0 && i < 64);
    job->noted |= UINT64_C(1) << i;
}

bool ek__job_has(const ek_job *job, const char *name)
{
    int i = index_of(name);
    assert(i >= 0 && i < 64);
    return job->noted >> i & 1;
}

static void note_below(const ek__node *node, ek_job *job)
{
    for (const ek__node *inner = node->first; inner; inner = inner->next) {
        for (int i = 0; inner->key && ek__job_noted[i]; i++)
            if (is_name(inner->key, ek__job_noted[i]) && !ek__node_is_null(inner))
                ek__job_note(job, ek__job_noted[i]);
        note_below(inner, job);
    }
}

void ek__job_note_keys(const ek__config_tree *doc, ek_job *job)
{
    note_below(ek__config_root(doc), job);
}

/* ---- the list ---- */

static bool is_known(const char *name)
{
    return index_of(name) >= 0;
}

/* Where MindSpeed-Core-MS's file has keys of a kind. */
static const char *section_in_file(const ek_job *job, const char *kind)
{
    return strcmp(kind, "degrees") == 0   ? job->section_of_degrees
           : strcmp(kind, "batches") == 0 ? job->section_of_batches
           : strcmp(kind, "model") == 0   ? job->section_of_model
                                          : kind;
}

/* A name as the framework's files spell it. */
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
    int n = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    char *value = n < 0 ? NULL : ek__pool_alloc(s->pool, (size_t)n + 1, 1);
    if (!value) {
        s->no_memory = true;
        return;
    }
    va_start(arguments, format);
    (void)vsnprintf(value, (size_t)n + 1, format, arguments);
    va_end(arguments);
    if (is_known(name))
        ek__job_note(s->now, name);
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
    if (is_known(name))
        ek__job_note(s->now, name);
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
    int i = index_of(name);
    assert(i >= 0);
    if (!ek__job_has(s->now, name))
        return;
    s->now->noted &= ~(UINT64_C(1) << i);
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

/* ---- comparisons ---- */

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

static void say(writer *w, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Whole or not at all, so that nothing that is half there is pasted. */
static void say(writer *w, const char *format, ...)
{
    size_t room = w->size - w->used;
    va_list arguments;
    if (w->too_long)
        return;
    va_start(arguments, format);
    int n = vsnprintf(w->text + w->used, room, format, arguments);
    va_end(arguments);
    if (n < 0 || (size_t)n + sizeof cut > room) {
        w->too_long = true;
        w->text[w->used] = '\0';
    } else {
        w->used += (size_t)n;
    }
}

/* Keys of YAML are separated by commas, and one whose section is the same as before needs no section in those of the
 * degrees, which have many keys. */
static void say_name(writer *w, const ek__setting *setting)
{
    const char *between = w->used == 0 ? "" : w->framework == EK_MEGATRON ? " " : ", ", *section = setting->section;
    if (w->framework == EK_MEGATRON) {
        say(w, "%s--%s", between, setting->key);
        return;
    }
    bool beside =
        w->framework != EK_TORCHTITAN && strncmp(section, "parallel", 8) == 0 && strcmp(section, w->section) == 0;
    w->section = section;
    say(w, "%s%s%s%s", between, beside ? "" : section, beside || !*section ? "" : ".", setting->key);
}

static void say_setting(writer *w, const ek__setting *setting)
{
    const size_t before = w->used;
    say_name(w, setting);
    if (setting->kind == EK__SETTING_VALUE)
        say(w, "%s%s",
            w->framework == EK_MEGATRON     ? " "
            : w->framework == EK_TORCHTITAN ? " = "
                                            : ": ",
            setting->value);
    if (setting->remark)
        say(w, " (%s)", setting->remark);
    if (w->too_long) { /* the key goes with its value */
        w->used = before;
        w->text[before] = '\0';
    }
}

/* "(without --a, --b and --c)" */
static void say_without(writer *w, const ek__settings *s)
{
    const char *dashes = w->framework == EK_MEGATRON ? "--" : "";
    int n = 0, i = 0;
    for (int k = 0; k < s->n; k++)
        n += s->setting[k].kind == EK__SETTING_GONE;
    for (int k = 0; k < s->n; k++) {
        const char *first = w->used ? " (without " : "(without ";
        if (s->setting[k].kind != EK__SETTING_GONE)
            continue;
        say(w, "%s%s%s", i == 0 ? first : i + 1 < n ? ", " : " and ", dashes, s->setting[k].key);
        i++;
    }
    if (n > 0)
        say(w, ")");
}

static void say_all(writer *w, const ek__settings *s)
{
    for (int i = 0; i < s->n; i++)
        if (s->setting[i].kind == EK__SETTING_VALUE || s->setting[i].kind == EK__SETTING_SWITCH)
            say_setting(w, &s->setting[i]);
    say_without(w, s);
    for (int i = 0; i < s->n; i++)
        if (s->setting[i].kind == EK__SETTING_VARIABLE)
            say(w, "%s%s=%s (environment)", w->used ? "\n" : "", s->setting[i].key, s->setting[i].value);
    if (w->too_long)
        memcpy(w->text + w->used, cut, sizeof cut);
}

/* ---- all of it ---- */

/* A variable of the allocator, whoever uses it. */
static void put_pages(ek__settings *s)
{
    bool pytorch = s->was->rules.allocation == EK_ALLOCATION_CACHING;
    if (s->now->rules.allocation == s->was->rules.allocation || s->now->rules.allocation != EK_ALLOCATION_PAGES)
        return;
    push(s, EK__SETTING_VARIABLE, NULL, pytorch ? "PYTORCH_CUDA_ALLOC_CONF" : "MS_ALLOC_CONF",
         pytorch ? "expandable_segments:True" : "enable_vmm:True", NULL);
}

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
        ek__settings_megatron(out);
        break;
    case EK_TORCHTITAN:
        ek__settings_torchtitan(out);
        break;
    }
    put_pages(out);
    return out->no_memory ? ek__no_memory(err) : EK_OK;
}

void ek__settings_clear(ek__settings *s)
{
    ek__pool_free(s->pool);
    *s = (ek__settings){0};
}

const char *ek__job_settings(const ek_job *was, ek_job *now, char *text, size_t size)
{
    ek__settings s;
    writer w = {.framework = now->framework, .text = text, .size = size, .section = ""};
    assert(size > sizeof cut);
    text[0] = '\0';
    ek_status status = ek__settings_find(was, now, &s, NULL);
    if (status == EK_OK)
        say_all(&w, &s);
    const char *why = status ? "there is no memory to find its settings" : s.why;
    ek__settings_clear(&s);
    return why;
}
