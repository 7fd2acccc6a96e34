/* paste.h - puts a setting into a job's file as a user would paste it: keys of YAML and TOML into their section,
 * arguments in place of those of the same name. A setting that cannot be pasted fails the test. */
#ifndef TESTS_UNIT_PASTE_H
#define TESTS_UNIT_PASTE_H

#include "base/edit.h"
#include "evenkeel/memory.h"
#include "tree.h"

enum { PASTE_SIZE = 1 << 17 };

/* Megabytes of the fullest stage. */
static inline double paste_peak_mb(const ek_job *job)
{
    static const ek_memory_options options = {.without_top = true};
    ek_memory memory;
    ek_error err = {0};
    if (ek_memory_predict(job, &options, &memory, &err))
        fail_msg("%s", err.message);
    double mb = (double)memory.stage[memory.fullest].actual_peak * 0x1p-20;
    ek_memory_clear(&memory);
    return mb;
}

/* A file with room for pasted settings. */
static inline void paste_read(const char *path, char out[PASTE_SIZE])
{
    size_t size = 0;
    char *text = slurp(path, &size);
    assert_true(text && size < PASTE_SIZE / 2);
    memcpy(out, text, size + 1);
    free(text);
}

/* ---- YAML ---- */

static inline void paste_key(ek__edit *edit, char *path, const char *value)
{
    const char *keys[16] = {NULL};
    ek_error err = {0};
    int n = 0;
    for (char *key = strtok(path, "."); key && n < 15; key = strtok(NULL, "."))
        keys[n++] = key;
    if (ek__edit_set(edit, keys, value, NULL, &err))
        fail_msg("%s: %s", path, err.message);
}

/* Where the value at `text` ends: at a comma or a line's end outside of lists, maps and quotes. */
static inline const char *paste_value_end(const char *text)
{
    int depth = 0;
    bool quoted = false;
    for (; *text && (*text != '\n' || depth > 0); text++) {
        if (*text == '\'' || *text == '"')
            quoted = !quoted;
        if (quoted)
            continue;
        depth += *text == '[' || *text == '{';
        depth -= *text == ']' || *text == '}';
        if (depth == 0 && (*text == ',' || strncmp(text, " (without ", 10) == 0))
            break;
    }
    return text;
}

/* "a.b: 1, c: 2": a key without a dot is beside the one before. */
static inline void paste_keys(ek__edit *edit, const char *text)
{
    char prefix[256] = "";
    while (*text) {
        char key[256], path[512], value[8192];
        size_t n = strcspn(text, ":");
        if (strncmp(text + n, ": ", 2) != 0)
            fail_msg("'%s' has no key", text);
        const char *end = paste_value_end(text + n);
        snprintf(key, sizeof key, "%.*s", (int)n, text);
        snprintf(value, sizeof value, "%.*s", (int)(end - text - (ptrdiff_t)n) - 2, text + n + 2);
        char *dot = strrchr(key, '.');
        if (dot)
            snprintf(prefix, sizeof prefix, "%.*s", (int)(dot - key), key);
        snprintf(path, sizeof path, "%s.%s", prefix, dot ? dot + 1 : key);
        paste_key(edit, path, value);
        text = end + strspn(end, ", \n");
    }
}

static inline void paste_yaml(const char *path, const char *setting)
{
    ek__edit *edit;
    ek_error err = {0};
    char *text;
    size_t size;
    if (ek__edit_open(path, &edit, &err))
        fail_msg("%s: %s", path, err.message);
    paste_keys(edit, setting);
    if (ek__edit_finish(edit, &text, &size, &err))
        fail_msg("%s: %s\n%s", path, err.message, setting);
    ek__edit_free(edit);
    put("pasted.yaml", text);
    free(text);
}

/* ---- arguments ---- */

static inline void paste_cut(char *from, const char *to)
{
    memmove(from, to, strlen(to) + 1);
}

/* The end of the values after an argument's name. */
static inline char *paste_values_end(char *at)
{
    if (*at == '=')
        return at + strcspn(at, " \t\n");
    for (;;) {
        char *next = at + strspn(at, " \t");
        bool same_line = *next != '\n';
        next += strspn(next, " \t\n");
        if (!*next || strchr("-)\\#|&", *next) || (*next == '"' && !same_line))
            return at;
        at = next + (*next == '"' ? 1 + strcspn(next + 1, "\"") + 1 : strcspn(next, " \t\n)\""));
    }
}

static inline void paste_drop(char *script, const char *flag, size_t n)
{
    for (char *at = script; (at = strstr(at, "--"));) {
        bool begins = at == script || strchr(" \t\n(\"", at[-1]);
        if (begins && strncmp(at, flag, n) == 0 && (at[n] == '\0' || strchr(" \t\n=)\"\\", at[n])))
            paste_cut(at, paste_values_end(at + n));
        else
            at += 2;
    }
}

/* Before the model's first argument; an array keeps quotes, a text of arguments has none. */
static inline void paste_insert(char *script, const char *flag, size_t n)
{
    static const char first[] = "--num-layers ";
    char *at = strstr(script, first), words[8192];
    bool array = false;
    size_t used = 0;
    assert_non_null(at);
    for (char *list = script; (list = strstr(list, "ARGS=")) && list < at; list += 5)
        array = list[5] == '(';
    for (size_t i = 0; i < n; i++)
        if (array || flag[i] != '"')
            words[used++] = flag[i];
    words[used++] = ' ';
    assert_true(strlen(script) + used + 1 < PASTE_SIZE);
    memmove(at + used, at, strlen(at) + 1);
    memcpy(at, words, used);
}

/* Call `each` for every "--flag values" of a setting, and for those that "(without --a, --b)" names. */
static inline bool paste_each(const char *whole, bool (*each)(void *user, const char *flag, size_t name, size_t all),
                              void *user)
{
    bool all_known = true;
    for (const char *setting = whole; *setting;) {
        setting += strspn(setting, " \n");
        if (*setting == '(') {
            const char *end = strchr(setting, ')');
            if (!end) {
                fail_msg("'%s' ends inside brackets", setting);
                return false;
            }
            bool without = strncmp(setting, "(without ", 9) == 0;
            for (const char *at = setting; without && (at = strstr(at, "--")) && at < end;) {
                size_t n = strcspn(at, " ,)");
                all_known = each(user, at, n, 0) && all_known;
                at += n;
            }
            setting = end + 1;
            continue;
        }
        if (!*setting)
            return all_known;
        if (strncmp(setting, "--", 2) != 0)
            fail_msg("'%s' has more than arguments", whole);
        size_t name = strcspn(setting, " \n"), all = name;
        while (setting[all] && setting[all] != '\n' && strncmp(setting + all, " --", 3) != 0 &&
               strncmp(setting + all, " (", 2) != 0)
            all++;
        all_known = each(user, setting, name, all) && all_known;
        setting += all;
    }
    return all_known;
}

static inline bool paste_flag(void *script, const char *flag, size_t name, size_t all)
{
    paste_drop(script, flag, name);
    if (all > 0)
        paste_insert(script, flag, all);
    return true;
}

static inline void paste_arguments(const char *path, const char *setting)
{
    static char script[PASTE_SIZE];
    paste_read(path, script);
    (void)paste_each(setting, paste_flag, script);
    put("pasted.sh", script);
}

/* A job with only numbers has its degrees on the command line. @return false where there is no such option */
static inline bool paste_option(void *user, const char *flag, size_t name, size_t all)
{
    ek_job_overrides *o = user;
    const struct {
        const char *flag;
        int *value;
    } numbers[] = {{"--data-parallel-size", &o->data},
                   {"--tensor-model-parallel-size", &o->tensor},
                   {"--pipeline-model-parallel-size", &o->pipeline},
                   {"--context-parallel-size", &o->context},
                   {"--expert-model-parallel-size", &o->expert},
                   {"--num-virtual-stages-per-pipeline-rank", &o->n_chunks},
                   {"--micro-batch-size", &o->batch},
                   {"--global-batch-size", &o->n_micro_batches}}; /* divided once all is there */
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (strncmp(flag, numbers[i].flag, name) == 0 && numbers[i].flag[name] == '\0') {
            *numbers[i].value = atoi(flag + name + 1);
            return true;
        }
    if (strncmp(flag, "--sequence-parallel", name) == 0)
        o->sequence_parallel = 1;
    else if (strncmp(flag, "--recompute-granularity full", name + 5) == 0)
        o->recompute = EK_RECOMPUTE_FULL;
    else
        return strncmp(flag, "--recompute-method uniform", all) == 0 ||
               strncmp(flag, "--recompute-num-layers 1", all) == 0;
    return true;
}

/* ---- TOML ---- */

/* Take "key = ..." out, with a list over several lines. */
static inline void paste_drop_toml(char *toml, const char *key)
{
    size_t n = strlen(key);
    for (char *line = toml; line && *line;) {
        if (strncmp(line, key, n) == 0 && line[n + strspn(line + n, " ")] == '=') {
            const char *end = paste_value_end(line);
            end += strcspn(end, "\n");
            paste_cut(line, end + (*end == '\n'));
            continue;
        }
        line = strchr(line, '\n');
        line += line != NULL;
    }
}

/* "section.key = value", after the section's header. */
static inline void paste_toml_key(char *toml, const char *text, size_t n)
{
    char section[128], line[8192];
    size_t name = strcspn(text, "="), dot = name;
    while (dot > 0 && text[dot] != '.')
        dot--;
    if (dot == 0 || name >= n)
        fail_msg("'%s' has no section", text);
    snprintf(section, sizeof section, "[%.*s]\n", (int)dot, text);
    snprintf(line, sizeof line, "%.*s", (int)(name - dot - 2), text + dot + 1);
    paste_drop_toml(toml, line);
    snprintf(line, sizeof line, "%.*s\n", (int)(n - dot - 1), text + dot + 1);
    char *at = strstr(toml, section);
    if (!at) {
        at = toml + strlen(toml);
        strcpy(at, section);
    }
    at += strlen(section);
    memmove(at + strlen(line), at, strlen(at) + 1);
    memcpy(at, line, strlen(line));
}

static inline void paste_toml(const char *path, const char *setting)
{
    static char toml[PASTE_SIZE];
    paste_read(path, toml);
    while (*setting) {
        if (*setting == '(') { /* "(without a, b and c)" */
            for (setting += strlen("(without "); *setting && *setting != ')';) {
                char key[128];
                int n = (int)strcspn(setting, " ,)");
                snprintf(key, sizeof key, "%.*s", n, setting);
                paste_drop_toml(toml, key);
                setting += n + (int)strspn(setting + n, ", ");
            }
            setting += 1 + strspn(setting + 1, ", \n");
            continue;
        }
        const char *end = paste_value_end(setting);
        paste_toml_key(toml, setting, (size_t)(end - setting));
        setting = end + strspn(end, ", \n");
    }
    put("pasted.toml", toml);
}

/* ---- any of them ---- */

static inline bool paste_ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

/* Lines of a setting but those of the environment, *pages: whether one of these maps memory in pages. */
static inline void paste_without_environment(const char *setting, char *out, size_t size, bool *pages)
{
    size_t used = 0;
    out[0] = '\0';
    while (*setting) {
        int n = (int)strcspn(setting, "\n");
        const char *variable = strstr(setting, "(environment)");
        if (variable && variable < setting + n)
            *pages = true;
        else
            used += (size_t)snprintf(out + used, size - used, "%s%.*s", used ? "\n" : "", n, setting);
        setting += n + (setting[n] == '\n');
    }
}

typedef enum paste_result {
    PASTED,
    PASTED_NOT,    /* the file has no place for such a setting: only numbers, on the command line */
    PASTED_REFUSED /* the framework would not run it */
} paste_result;

/* Read the job with the setting in its file; other overrides hold as well. */
static inline paste_result read_pasted(const char *path, const char *setting, const ek_job_overrides *others,
                                       ek_job *job)
{
    static const char *const rule[] = {"allocation=pages"};
    static char text[PASTE_SIZE];
    ek_job_overrides overrides = others ? *others : ek_job_overrides_none();
    ek_error err = {0};
    bool pages = false;
    const char *file = path;
    paste_without_environment(setting, text, sizeof text, &pages);
    if (pages) {
        overrides.rules = rule;
        overrides.n_rules = 1;
    }
    if (*text && paste_ends_with(path, ".json")) {
        overrides.n_micro_batches = 0;
        if (!paste_each(text, paste_option, &overrides))
            return PASTED_NOT;
        if (overrides.n_micro_batches > 0)
            overrides.n_micro_batches /= overrides.data * (overrides.batch > 0 ? overrides.batch : 1);
        else
            overrides.n_micro_batches = others ? others->n_micro_batches : 0;
    } else if (*text) {
        if (paste_ends_with(path, ".yaml")) {
            paste_yaml(path, text);
            file = below("pasted.yaml");
        } else if (paste_ends_with(path, ".toml")) {
            paste_toml(path, text);
            file = below("pasted.toml");
        } else {
            paste_arguments(path, text);
            file = below("pasted.sh");
        }
    }
    if (ek_job_read(file, &overrides, NULL, job, &err) == EK_OK)
        return PASTED;
    print_message("# %s: %d:%d: %s with\n#   %s\n", path, err.line, err.column, err.message, setting);
    return PASTED_REFUSED;
}

#endif
