/* Puts settings into a TOML of torchtitan. Values and lines are changed at their places in the document's tree; nothing
 * else changes. A key with another section or name in older versions is changed in place; a new one is added after the
 * last of its section, and a new section at the end. */
#include <stdio.h>
#include <string.h>

#include "base/config_tree_toml.h"
#include "base/splice.h"
#include "job/write.h"

typedef struct toml {
    const ek__job_text *file;
    const ek__node *root;
    size_t shift; /* of a byte-order mark, which the tree's places exclude */
    ek__splices splices;
    char opened[4][64]; /* sections that were added, in order */
    int n_opened;
    ek_error *err;
} toml;

static const char *text_of(const toml *t)
{
    return t->file->text + t->shift;
}

static size_t size_of(const toml *t)
{
    return t->file->size - t->shift;
}

static size_t line_begin(const toml *t, size_t at)
{
    while (at > 0 && text_of(t)[at - 1] != '\n')
        at--;
    return at;
}

static size_t line_end(const toml *t, size_t at)
{
    while (at < size_of(t) && text_of(t)[at] != '\n')
        at++;
    return at;
}

static const char *line_break(const toml *t)
{
    const char *first = memchr(text_of(t), '\n', size_of(t));
    return first && first > text_of(t) && first[-1] == '\r' ? "\r\n" : "\n";
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static bool begins_line(const toml *t, size_t at)
{
    while (at > 0 && is_blank(text_of(t)[at - 1]))
        at--;
    return at == 0 || text_of(t)[at - 1] == '\n';
}

static ek_status splice(toml *t, size_t at, size_t end, const char *text)
{
    return text ? ek__splice_add(&t->splices, at + t->shift, end + t->shift, text, t->err) : ek__no_memory(t->err);
}

static ek_status refuse(const toml *t, const ek__node *node, const char *why)
{
    return ek__fail(t->err, EK_ERR_INPUT, ((ek_origin){t->file->name, node->key_line, node->key_column}), "%s %s",
                    node->key, why);
}

/* ---- the place of a key ---- */

/* Sections that a section's keys have been in, the newest first, in the reader's order (job_torchtitan.c). */
static const char *const of_parallelism[] = {"parallelism", "training", "experimental", NULL};

static const ek__node *section(const toml *t, const char *name)
{
    const ek__node *node = ek__get(t->root, name);
    return node && node->kind == EK__MAP ? node : NULL;
}

static const ek__node *find_in(const toml *t, const char *name, const char *key)
{
    static const char *const older[][2] = {{"local_batch_size", "batch_size"},
                                           {"data_parallel_shard_degree", "data_parallel_degree"}};
    const ek__node *map = section(t, name), *node = map ? ek__get(map, key) : NULL;
    for (size_t i = 0; i < sizeof older / sizeof *older && map && !node; i++)
        if (strcmp(older[i][0], key) == 0)
            node = ek__get(map, older[i][1]);
    return node;
}

static const ek__node *find(const toml *t, const char *name, const char *key)
{
    const ek__node *node = NULL;
    if (strcmp(name, "parallelism") != 0)
        return find_in(t, name, key);
    for (int i = 0; of_parallelism[i] && !node; i++)
        node = find_in(t, of_parallelism[i], key);
    return node;
}

/* The section that a new key goes to: that of older versions if the file has no newer one. */
static const char *home_of(const toml *t, const char *name, const char *key)
{
    if (strcmp(name, "parallelism") != 0 || section(t, name))
        return name;
    bool pipeline = strncmp(key, "pipeline", 8) == 0 || strncmp(key, "context", 7) == 0;
    const ek__node *training = section(t, "training");
    bool degrees =
        training && (ek__get(training, "tensor_parallel_degree") || ek__get(training, "data_parallel_degree") ||
                     ek__get(training, "data_parallel_shard_degree"));
    if (pipeline && section(t, "experimental"))
        return "experimental";
    return !pipeline && degrees ? "training" : name;
}

/* ---- changes ---- */

static ek_status set(toml *t, const ek__node *node, const char *value)
{
    size_t at = (size_t)node->begin, end = (size_t)node->end;
    while (end > at && (is_blank(text_of(t)[end - 1]) || strchr("\r\n", text_of(t)[end - 1])))
        end--;
    return splice(t, at, end, value);
}

static ek_status drop(toml *t, const ek__node *node)
{
    size_t at = (size_t)node->key_begin, end = line_end(t, (size_t)node->end);
    if (!begins_line(t, at))
        return refuse(t, node, "is on a line with others and must be removed; write it on a separate line");
    return splice(t, line_begin(t, at), end + (end < size_of(t)), "");
}

/* The last value of a section in its own lines, not in those of a header. */
static const ek__node *last_of(const ek__node *map)
{
    const ek__node *last = NULL;
    for (const ek__node *node = map->first; node; node = node->next)
        if ((node->kind != EK__MAP || node->flow) && (!last || node->end > last->end))
            last = node;
    return last;
}

/* Is a section written as [name]? */
static bool has_header(const toml *t, const ek__node *map)
{
    size_t at = (size_t)map->key_begin, end = (size_t)map->key_end;
    while (at > 0 && is_blank(text_of(t)[at - 1]))
        at--;
    while (end < size_of(t) && is_blank(text_of(t)[end]))
        end++;
    return at > 0 && text_of(t)[at - 1] == '[' && end < size_of(t) && text_of(t)[end] == ']';
}

/* A new line after that of byte `at`. */
static ek_status add_line(toml *t, size_t at, const char *line)
{
    size_t end = line_end(t, at);
    bool crlf = end > 0 && end < size_of(t) && text_of(t)[end - 1] == '\r';
    return splice(t, end - crlf, end - crlf,
                  line ? ek__pool_format(t->splices.pool, "%s%s", line_break(t), line) : NULL);
}

static ek_status open_section(toml *t, const char *name)
{
    const size_t size = size_of(t);
    const char *lf = line_break(t), *first = size == 0 || text_of(t)[size - 1] == '\n' ? "" : lf;
    for (int i = 0; i < t->n_opened; i++)
        if (strcmp(t->opened[i], name) == 0)
            return EK_OK;
    if (t->n_opened < 4)
        snprintf(t->opened[t->n_opened++], sizeof t->opened[0], "%s", name);
    return splice(t, size, size, ek__pool_format(t->splices.pool, "%s%s[%s]%s", first, lf, name, lf));
}

static ek_status add(toml *t, const char *name, const char *key, const char *value)
{
    const ek__node *map = section(t, name), *last = map ? last_of(map) : NULL;
    ek__pool *pool = t->splices.pool;
    if (map && map->flow && last)
        return splice(t, (size_t)last->end, (size_t)last->end, ek__pool_format(pool, ", %s = %s", key, value));
    if (map && has_header(t, map)) {
        size_t at = last ? (size_t)last->end : (size_t)map->key_end;
        size_t begin = last ? line_begin(t, (size_t)last->key_begin) : 0;
        int indent = last && begins_line(t, (size_t)last->key_begin) ? (int)((size_t)last->key_begin - begin) : 0;
        return add_line(t, at, ek__pool_format(pool, "%.*s%s = %s", indent, text_of(t) + begin, key, value));
    }
    if (map && last) /* parallelism.tensor_parallel_degree = 2 */
        return add_line(t, (size_t)last->end, ek__pool_format(pool, "%s.%s = %s", name, key, value));
    ek_status status = open_section(t, name);
    return status ? status
                  : splice(t, size_of(t), size_of(t), ek__pool_format(pool, "%s = %s%s", key, value, line_break(t)));
}

/* At any place in the file. */
static ek_status drop_all(toml *t, const char *key)
{
    ek_status status = EK_OK;
    for (const ek__node *map = t->root->first; map && status == EK_OK; map = map->next) {
        const ek__node *node = map->kind == EK__MAP ? ek__get(map, key) : NULL;
        if (node)
            status = drop(t, node);
    }
    return status;
}

static ek_status put(toml *t, const ek__setting *setting)
{
    if (setting->kind == EK__SETTING_GONE)
        return drop_all(t, setting->key);
    const ek__node *node = find(t, setting->section, setting->key);
    return node ? set(t, node, setting->value)
                : add(t, home_of(t, setting->section, setting->key), setting->key, setting->value);
}

ek_status ek__write_toml(const ek__settings *s, const ek__job_text *file, char **out, size_t *size, ek_error *err)
{
    ek__config_tree *doc = NULL;
    bool marked = file->size >= 3 && memcmp(file->text, "\xEF\xBB\xBF", 3) == 0;
    toml t = {.file = file, .shift = marked ? 3 : 0, .splices = {.pool = ek__pool_new()}, .err = err};
    ek_status status =
        t.splices.pool ? ek__config_parse_toml(file->name, file->text, file->size, &doc, err) : ek__no_memory(err);
    t.root = status == EK_OK ? ek__config_root(doc) : NULL;
    for (int i = 0; i < s->n && status == EK_OK; i++)
        status = put(&t, &s->setting[i]);
    if (status == EK_OK)
        status = ek__splice_apply(&t.splices, file->text, file->size, out, size, err);
    ek__config_free(doc);
    ek__pool_free(t.splices.pool);
    return status;
}
