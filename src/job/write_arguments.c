/* Puts settings into a script with arguments of Megatron-LM, or into a list of arguments. A value is changed at its
 * place; a removed argument is deleted with its values, and with its line if that has nothing else; a new one is added
 * next to one of its kind, on a separate line if that one has its own. The script is edited by bytes, so that comments,
 * quotes and blanks do not change. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "job/script.h"

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static size_t line_begin(const ek__script *s, size_t at)
{
    while (at > 0 && s->file->text[at - 1] != '\n')
        at--;
    return at;
}

/* The place of the line break, or the text's end. */
static size_t line_end(const ek__script *s, size_t at)
{
    while (at < s->file->size && s->file->text[at] != '\n')
        at++;
    return at;
}

static bool is_gone(const ek__script *s, int word)
{
    return s->gone[s->a.words.word[word].at];
}

/* ---- values ---- */

/* A text quoted as needed next to the word: words in a quoted text or a list have no quotes. */
static const char *quoted_for(const ek__script *s, const ek__word *word, const char *value)
{
    bool bare = s->a.words.list || (word->in_text && word->owner >= 0), escaped = word->in_text && !bare;
    char *out = ek__pool_alloc(s->splices.pool, 2 * strlen(value) + 1, 1), *at = out;
    for (; out && *value; value++) {
        if (*value == '"' && bare)
            continue;
        if (*value == '"' && escaped)
            *at++ = '\\';
        *at++ = *value;
    }
    return out;
}

static ek_status splice(ek__script *s, ek__bytes b, const char *text)
{
    return text ? ek__splice_add(&s->splices, b.at, b.end, text, s->err) : ek__no_memory(s->err);
}

/* Replace the value in `value` of argument `word`: at the place of its assignment, unless other words depend on
 * that. */
static ek_status set_value(ek__script *s, const ek__word *word, ek__bytes value, const char *text)
{
    ek__bytes place;
    bool own = ek__script_place(s, value, true, &place) && (place.at == value.at || ek__script_is_number(s, place));
    return splice(s, own ? place : value, quoted_for(s, word, text));
}

/* @return whether argument `i` is written as --name=value, or followed by one */
static bool value_of(const ek__script *s, int i, ek__bytes *out)
{
    const ek__word *word = &s->a.words.word[i];
    const char *equals = strchr(word->text, '=') ? memchr(s->file->text + word->at, '=', word->end - word->at) : NULL;
    if (equals)
        *out = (ek__bytes){(size_t)(equals - s->file->text) + 1, word->end};
    else if (ek__argument_values(&s->a, i) > 0)
        *out = (ek__bytes){word[1].at, word[1].end};
    else
        return false;
    return true;
}

/* ---- removed arguments ---- */

static size_t end_of(const ek__script *s, int i)
{
    return s->a.words.word[i + ek__argument_values(&s->a, i)].end;
}

static void drop(ek__script *s, const char *name)
{
    for (int i = 0; i < s->a.words.n; i++) {
        if (!ek__argument_is(&s->a, i, name))
            continue;
        size_t at = s->a.words.word[i].at, end = end_of(s, i), begin = line_begin(s, at);
        memset(s->gone + at, true, end - at);
        while (at > begin && is_blank(s->file->text[at - 1])) /* one side of the blanks around it */
            at--;
        if (at > begin)
            memset(s->gone + at, true, end - at);
    }
}

/* Is a line empty after a removal? A backslash at its end is removed too. */
static bool is_emptied(const ek__script *s, size_t begin, size_t end)
{
    bool any = false;
    for (size_t i = begin; i < end; i++) {
        bool continues = s->file->text[i] == '\\' && (i + 1 == end || s->file->text[i + 1] == '\r');
        any = any || s->gone[i];
        if (s->anchor[i] || (!s->gone[i] && !is_blank(s->file->text[i]) && !continues))
            return false;
    }
    return any;
}

/* The backslash that ends a line, or the line's end if there is none. */
static size_t continuation(const ek__script *s, size_t begin, size_t end)
{
    size_t at = end;
    while (at > begin && is_blank(s->file->text[at - 1]))
        at--;
    return at > begin && s->file->text[at - 1] == '\\' ? at - 1 : end;
}

/* If the last line of a command is removed, the last remaining line no longer continues. */
static void end_command(ek__script *s, size_t begin)
{
    while (begin > 0) {
        size_t end = begin - 1;
        begin = line_begin(s, end);
        if (s->gone[end])
            continue; /* the whole line is removed */
        size_t at = continuation(s, begin, end);
        while (at < end && at > begin && is_blank(s->file->text[at - 1]))
            at--;
        for (; at < end; at++)
            s->gone[at] = s->file->text[at] != '\r';
        return;
    }
}

static void drop_lines(ek__script *s)
{
    for (size_t begin = 0; begin < s->file->size;) {
        size_t end = line_end(s, begin);
        if (is_emptied(s, begin, end)) {
            bool last = continuation(s, begin, end) == end;
            memset(s->gone + begin, true, end - begin + (end < s->file->size));
            if (last && !s->a.words.list)
                end_command(s, begin);
        }
        begin = end + 1;
    }
}

static ek_status splice_gone(ek__script *s)
{
    ek_status status = EK_OK;
    drop_lines(s);
    for (size_t i = 0; i < s->file->size && status == EK_OK; i++) {
        size_t end = i;
        while (end < s->file->size && s->gone[end])
            end++;
        if (end > i)
            status = ek__splice_add(&s->splices, i, end, "", s->err);
        i = end > i ? end - 1 : i;
    }
    return status;
}

/* ---- new arguments ---- */

/* Arguments of a kind, NULL at the end: a new one is added next to the first that exists. */
static const char *const kinds[][9] = {
    {"recompute-granularity", "recompute-method", "recompute-num-layers", "recompute-activations",
     "checkpoint-activations"},
    {"global-batch-size", "micro-batch-size"},
    {"use-distributed-optimizer", "overlap-grad-reduce", "overlap-param-gather", "num-distributed-optimizer-instances",
     "ddp-bucket-size"},
    {"pipeline-model-parallel-layout", "num-layer-list", "decoder-first-pipeline-num-layers",
     "num-layers-per-virtual-pipeline-stage", "num-virtual-stages-per-pipeline-rank", "pipeline-model-parallel-size",
     "zero-bubble-v-schedule", "zero-bubble-v-schedule-mem-setup"},
    {"tensor-model-parallel-size", "pipeline-model-parallel-size", "context-parallel-size",
     "expert-model-parallel-size", "sequence-parallel", "data-parallel-size"},
};
enum { N_KINDS = sizeof kinds / sizeof *kinds };

/* The last place of a remaining argument, -1: none. */
static int find(const ek__script *s, const char *name)
{
    int found = -1;
    for (int i = 0; i < s->a.words.n; i++)
        if (ek__argument_is(&s->a, i, name) && !is_gone(s, i))
            found = i;
    return found;
}

static bool is_of_kind(const char *name, const char *const *kind)
{
    for (; *kind; kind++)
        if (strcmp(*kind, name) == 0)
            return true;
    return false;
}

static int find_of_kind(const ek__script *s, const char *const *kind)
{
    int found = -1;
    for (; *kind && found < 0; kind++)
        found = find(s, *kind);
    return found;
}

static int neighbour_of(const ek__script *s, const char *name)
{
    static const char *const others[] = {"micro-batch-size", "num-layers", "hidden-size", NULL};
    int found = -1;
    for (int k = 0; k < N_KINDS && found < 0; k++)
        if (is_of_kind(name, kinds[k]))
            found = find_of_kind(s, kinds[k]);
    if (found < 0)
        found = find_of_kind(s, kinds[N_KINDS - 1]);
    return found < 0 ? find_of_kind(s, others) : found;
}

/* Is the line blank before `at`? */
static bool begins_line(const ek__script *s, size_t at)
{
    size_t i = line_begin(s, at);
    while (i < at && is_blank(s->file->text[i]))
        i++;
    return i == at;
}

/* The place for a new line after argument `i`, and the end of the line before it: in a command every line except the
 * last ends with a backslash. @return false: the argument does not have its own line */
static bool own_line(const ek__script *s, int i, size_t *at, const char **before, const char **after)
{
    const ek__word *word = &s->a.words.word[i];
    const char *text = s->file->text;
    size_t value = end_of(s, i), end = line_end(s, value), rest = value;
    bool free_lines = s->a.words.list || word->in_text || word->owner >= 0;
    while (rest < end && is_blank(text[rest]))
        rest++;
    size_t slash = continuation(s, value, end);
    bool continues = slash < end && rest == slash, comment = rest < end && text[rest] == '#' && !word->in_text;
    if (!begins_line(s, word->at) || (rest < end && !continues && !(comment && free_lines)))
        return false;
    *at = continues || comment ? end : value;
    if (*at > value && text[*at - 1] == '\r')
        (*at)--;
    *before = continues || free_lines ? "" : " \\";
    *after = continues ? " \\" : "";
    return true;
}

/* "--name value", `value` NULL for a switch. */
static ek_status add(ek__script *s, const char *name, const char *value)
{
    int i = neighbour_of(s, name);
    if (i < 0)
        return ek__fail(s->err, EK_ERR_INPUT, ((ek_origin){s->file->name, 1, 1}),
                        "has no place where --%s could be added; write its arguments out in the script", name);
    assert(s->a.words.word && i < s->a.words.n);
    const ek__word *word = &s->a.words.word[i];
    const char *written = quoted_for(s, word, value ? value : ""), *before, *after;
    size_t begin = line_begin(s, word->at), end = line_end(s, word->at), at = end_of(s, i);
    bool crlf = end > begin && s->file->text[end - 1] == '\r', own = own_line(s, i, &at, &before, &after);
    const char *text =
        !written ? NULL
        : own    ? ek__pool_format(s->splices.pool, "%s%s%.*s--%s%s%s%s", before, crlf ? "\r\n" : "\n",
                                   (int)(word->at - begin), s->file->text + begin, name, value ? " " : "", written, after)
                 : ek__pool_format(s->splices.pool, " --%s%s%s", name, value ? " " : "", written);
    s->anchor[word->at] = true;
    return splice(s, (ek__bytes){at, at}, text);
}

static ek_status put(ek__script *s, const ek__setting *setting)
{
    ek_status status = EK_OK;
    bool found = false;
    for (int i = 0; i < s->a.words.n && status == EK_OK; i++) {
        ek__bytes value;
        assert(s->a.words.word);
        if (!ek__argument_is(&s->a, i, setting->key) || is_gone(s, i))
            continue;
        found = true;
        if (setting->kind != EK__SETTING_VALUE)
            continue;
        if (value_of(s, i, &value))
            status = set_value(s, &s->a.words.word[i], value, setting->value);
        else
            return ek__fail(s->err, EK_ERR_INPUT,
                            ((ek_origin){s->file->name, s->a.words.word[i].line, s->a.words.word[i].column}),
                            "--%s has no value to change; write one", setting->key);
    }
    return found || status ? status : add(s, setting->key, setting->value);
}

/* ---- all settings ---- */

static ek_status write_all(ek__script *s, const ek__settings *settings)
{
    ek_status status = EK_OK;
    bool ranks = false;
    for (int i = 0; i < settings->n; i++) /* so that nothing is added next to a removed argument */
        if (settings->setting[i].kind == EK__SETTING_GONE)
            drop(s, settings->setting[i].key);
    for (int i = 0; i < settings->n && status == EK_OK; i++)
        if (settings->setting[i].kind == EK__SETTING_RANKS)
            status = ek__script_set_ranks(s, strtoll(settings->setting[i].value, NULL, 10), &ranks);
    for (int i = 0; i < settings->n && status == EK_OK; i++) {
        const ek__setting *setting = &settings->setting[i];
        bool follows = ranks && strcmp(setting->key, "data-parallel-size") == 0 && find(s, setting->key) < 0;
        if (setting->kind != EK__SETTING_GONE && setting->kind != EK__SETTING_RANKS && !follows)
            status = put(s, setting);
    }
    return status ? status : splice_gone(s);
}

ek_status ek__write_arguments(const ek__settings *settings, const ek__job_text *file, char **out, size_t *size,
                              ek_error *err)
{
    ek__script s = {.file = file,
                    .source = {.path = file->name, .text = file->text, .size = file->size, .err = err},
                    .splices = {.pool = ek__pool_new()},
                    .gone = ek__alloc(file->size + 1, sizeof(bool)),
                    .anchor = ek__alloc(file->size + 1, sizeof(bool)),
                    .err = err};
    ek_status status = s.splices.pool && s.gone && s.anchor ? ek__arguments_read(&s.source, &s.a) : ek__no_memory(err);
    if (status == EK_OK) {
        status = write_all(&s, settings);
        if (status == EK_OK)
            status = ek__splice_apply(&s.splices, file->text, file->size, out, size, err);
        ek__arguments_clear(&s.a);
    }
    free(s.gone);
    free(s.anchor);
    ek__pool_free(s.splices.pool);
    return status;
}
