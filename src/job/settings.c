/* What the writers of settings share: the list of names that are noted, the text, comparisons of plans. */
#include "job/settings.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

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
    "uniform",
    "recompute-granularity",
    "recompute-method",
    "recompute-num-layers",
    "recompute-modules",
    "recompute-activations",
    "recompute-activation-function",
    "moe-layer-recompute",
    "checkpoint-activations",
    "checkpoint-num-layers",
    "num-distributed-optimizer-instances",
    "no-async-tensor-model-parallel-allreduce",
    "optimizer-cpu-offload",
    "deepspeed",
    /* MindFormers */
    "lists",
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

void ek__job_note_keys(const ek__doc *doc, ek_job *job)
{
    note_below(ek__doc_root(doc), job);
}

/* ---- the text ---- */

static const char cut[] = ", and lists that are too long to show";

bool ek__settings_are_cut(const char *text)
{
    size_t n = strlen(text), m = strlen(cut);
    return n >= m && strcmp(text + n - m, cut) == 0;
}

/* Whole or not at all, so that nothing that is half there is pasted. */
static void add(ek__settings *s, const char *format, va_list arguments)
{
    size_t room = s->size - s->used;
    if (s->too_long)
        return;
    int n = vsnprintf(s->text + s->used, room, format, arguments);
    if (n < 0 || (size_t)n + sizeof cut > room) {
        s->too_long = true;
        s->text[s->used] = '\0';
    } else {
        s->used += (size_t)n;
    }
}

static void say(ek__settings *s, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void say(ek__settings *s, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    add(s, format, arguments);
    va_end(arguments);
}

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

/* Keys of YAML are separated by commas, and one whose section is the same as before needs no section in those of the
 * degrees, which have many keys. */
static void say_name(ek__settings *s, const char *section, const char *name)
{
    const ek_framework framework = s->now->framework;
    const char *between = s->used == 0 ? "" : framework == EK_MEGATRON ? " " : ", ";
    char key[96];
    snprintf(key, sizeof key, "%s", name);
    for (char *c = key; framework == EK_MINDSPEED && *c; c++)
        *c = (char)(*c == '-' ? '_' : *c);
    if (framework == EK_MEGATRON) {
        say(s, "%s--%s", between, key);
        return;
    }
    section = framework == EK_MINDSPEED ? section_in_file(s->now, section) : section;
    bool beside =
        framework != EK_TORCHTITAN && strncmp(section, "parallel", 8) == 0 && strcmp(section, s->section) == 0;
    snprintf(s->section, sizeof s->section, "%s", section);
    say(s, "%s%s%s%s", between, beside ? "" : section, beside || !*section ? "" : ".", key);
}

void ek__settings_put(ek__settings *s, const char *section, const char *name, const char *format, ...)
{
    const ek_framework framework = s->now->framework;
    const size_t before = s->used;
    va_list arguments;
    if (is_known(name))
        ek__job_note(s->now, name);
    say_name(s, section, name);
    say(s, "%s", framework == EK_MEGATRON ? " " : framework == EK_TORCHTITAN ? " = " : ": ");
    va_start(arguments, format);
    add(s, format, arguments);
    va_end(arguments);
    if (s->too_long) { /* the key goes with its value */
        s->used = before;
        s->text[before] = '\0';
    }
}

void ek__settings_put_switch(ek__settings *s, const char *section, const char *name)
{
    if (s->now->framework != EK_MEGATRON) {
        ek__settings_put(s, section, name, "True");
        return;
    }
    if (is_known(name))
        ek__job_note(s->now, name);
    say_name(s, section, name);
}

void ek__settings_drop(ek__settings *s, const char *name)
{
    int i = index_of(name);
    assert(i >= 0);
    if (!ek__job_has(s->now, name))
        return;
    s->now->noted &= ~(UINT64_C(1) << i);
    if (s->n_without < (int)(sizeof s->without / sizeof *s->without))
        s->without[s->n_without++] = name;
}

/* "(without --a, --b and --c)" */
static void say_without(ek__settings *s)
{
    const bool megatron = s->now->framework == EK_MEGATRON;
    for (int i = 0; i < s->n_without; i++) {
        const char *first = s->used ? " (without " : "(without ";
        char name[96];
        snprintf(name, sizeof name, "%s", s->without[i]);
        for (char *c = name; !megatron && *c; c++)
            *c = (char)(*c == '-' ? '_' : *c);
        say(s, "%s%s%s", i == 0 ? first : i + 1 < s->n_without ? ", " : " and ", megatron ? "--" : "", name);
    }
    if (s->n_without > 0)
        say(s, ")");
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

/* ---- all of it ---- */

/* A variable of the allocator, whoever uses it. */
static void say_pages(ek__settings *s)
{
    bool pytorch = s->was->rules.allocation == EK_ALLOCATION_CACHING;
    if (s->now->rules.allocation == s->was->rules.allocation || s->now->rules.allocation != EK_ALLOCATION_PAGES)
        return;
    say(s, "%s%s (environment)", s->used ? "\n" : "",
        pytorch ? "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True" : "MS_ALLOC_CONF=enable_vmm:True");
}

const char *ek__job_settings(const ek_job *was, ek_job *now, char *text, size_t size)
{
    ek__settings s = {.was = was, .now = now, .text = text, .size = size};
    assert(size > sizeof cut);
    text[0] = '\0';
    now->noted = was->noted;
    switch (now->framework) {
    case EK_MINDFORMERS:
    case EK_MINDFORMERS_MCORE:
        ek__settings_mindformers(&s);
        break;
    case EK_MEGATRON:
    case EK_MINDSPEED:
        ek__settings_megatron(&s);
        break;
    case EK_TORCHTITAN:
        ek__settings_torchtitan(&s);
        break;
    }
    say_without(&s);
    say_pages(&s);
    if (s.too_long)
        memcpy(text + s.used, cut, sizeof cut);
    return s.why;
}
