/* Puts settings into a YAML of MindFormers or MindSpeed-Core-MS, in place (base/edit.h). A setting of MindSpeed-Core-MS
 * means the same in any section, so it is changed in the one that has it. If keys with the same name refer to a value
 * (micro_batch_num: *micro_batch_num of a callback), it is changed at its anchor, for them too; other references keep
 * the old value.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/edit.h"
#include "base/edit_text.h"
#include "base/splice.h"
#include "job/write.h"

enum { MAX_KEYS = 12 };

/* The place for a missing key: after this one of the same section. */
static const char *neighbour_of(const char *key)
{
    static const char *const pairs[][2] = {{"micro_batch_num", "pipeline_stage"},
                                           {"use_seq_parallel", "micro_batch_num"},
                                           {"select_recompute", "recompute"},
                                           {"select_comm_recompute", "select_recompute"},
                                           {"offset", "num_layers"},
                                           {"pp_interleave_num", "offset"},
                                           {"pipeline_scheduler", "pipeline_interleave"},
                                           {"num_layer_list", "pipeline_model_parallel_size"},
                                           {"virtual_pipeline_model_parallel_size", "pipeline_model_parallel_size"},
                                           {"sequence_parallel", "tensor_model_parallel_size"}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (strcmp(pairs[i][0], key) == 0)
            return pairs[i][1];
    return NULL;
}

/* ---- the place of a setting ---- */

/* "a.b" and a key as the path from the root; `text` is cut at its dots. @return the number of keys, 0: too many */
static int split(char *text, const char *key, const char *path[MAX_KEYS + 1])
{
    int n = 0;
    for (char *at = text; *at;) {
        size_t length = strcspn(at, ".");
        if (n == MAX_KEYS - 1)
            return 0;
        path[n++] = at;
        at += length;
        if (*at)
            *at++ = '\0';
    }
    path[n++] = key;
    path[n] = NULL;
    return n;
}

static const ek__node *find(const ek__node *root, const char *const *path)
{
    for (; root && *path; path++)
        root = root->kind == EK__MAP ? ek__get(root, *path) : NULL;
    return root;
}

/* The first map with a key, sections before nested ones. */
static const ek__node *section_with(const ek__node *map, const char *key)
{
    assert(map);
    if (ek__get(map, key))
        return map;
    for (const ek__node *inner = map->first; inner; inner = inner->next) {
        const ek__node *found = inner->kind == EK__MAP && !inner->original ? section_with(inner, key) : NULL;
        if (found)
            return found;
    }
    return NULL;
}

/* The path of a setting of MindSpeed-Core-MS that is in another section, or has its older name, into `path`. */
static void find_elsewhere(const ek__node *root, const char *key, const char *path[MAX_KEYS + 1])
{
    const ek__node *node[MAX_KEYS], *map = section_with(root, key);
    int n = 0;
    if (!map && strcmp(key, "micro_batch_size") == 0 && (map = section_with(root, "batch_size")))
        key = "batch_size";
    for (; map && map->parent && n < MAX_KEYS - 1; map = map->parent)
        node[n++] = map;
    if (!map || map->parent)
        return;
    for (int i = 0; i < n; i++)
        path[i] = node[n - 1 - i]->key;
    path[n] = key;
    path[n + 1] = NULL;
}

/* The path of a setting in the file, or the place to add it; `section` is cut into keys of it. */
static bool find_path(const ek__settings *s, const ek__setting *setting, const ek__node *root, char section[256],
                      const char *path[MAX_KEYS + 1])
{
    int n = snprintf(section, 256, "%s", setting->section);
    if (n < 0 || n >= 256 || split(section, setting->key, path) == 0)
        return false;
    if (s->now->framework == EK_MINDSPEED && (setting->kind == EK__SETTING_GONE || !find(root, path)))
        find_elsewhere(root, setting->key, path);
    return true;
}

/* ---- shared values ---- */

/* Does an alias mean the same setting: by its key, or as the data-parallel ranks in the cut of data? */
static bool means_the_same(const ek__node *alias, const ek__node *original)
{
    if (alias->key)
        return strcmp(alias->key, original->key) == 0;
    const ek__node *list = alias->parent;
    while (list && !list->key)
        list = list->parent;
    return list && strcmp(list->key, "dataset_strategy") == 0;
}

/* Aliases of a value below `node`, and the number of them with another meaning. */
static int count_aliases(const ek__node *node, const ek__node *original, int *n_others)
{
    int n = node->original == original;
    *n_others += n > 0 && !means_the_same(node, original);
    for (const ek__node *inner = node->first; inner; inner = inner->next)
        n += count_aliases(inner, original, n_others);
    return n;
}

static ek_status splice_shared(const ek__settings *s, const ek__source *source, ek__splices *splices, ek_error *err)
{
    const ek__node *root = ek__config_root(source->doc);
    ek_status status = EK_OK;
    for (int i = 0; i < s->n && status == EK_OK; i++) {
        char section[256];
        const char *path[MAX_KEYS + 1];
        const ek__setting *setting = &s->setting[i];
        bool named = setting->kind == EK__SETTING_VALUE && find_path(s, setting, root, section, path);
        const ek__node *node = named ? find(root, path) : NULL;
        int n_others = 0;
        if (!node || !node->anchor || node->kind != EK__SCALAR || count_aliases(root, node, &n_others) == 0 ||
            n_others > 0)
            continue;
        const ek__text_span span = ek__span_of(source, node);
        status = ek__splice_add(splices, (size_t)span.content, (size_t)span.end, setting->value, err);
    }
    return status;
}

/* The text with the shared values. */
static ek_status set_shared(const ek__settings *s, const ek__job_text *file, char **out, size_t *size, ek_error *err)
{
    ek__source source = {.size = (int)file->size};
    ek__splices splices = {.pool = ek__pool_new()};
    ek_status status = splices.pool
                           ? ek__config_parse_buffer_with_aliases(file->name, file->text, file->size, &source.doc, err)
                           : ek__no_memory(err);
    source.text = status == EK_OK ? ek__alloc(file->size + 1, 1) : NULL;
    if (source.text) {
        memcpy(source.text, file->text, file->size);
        status = splice_shared(s, &source, &splices, err);
        if (status == EK_OK)
            status = ek__splice_apply(&splices, file->text, file->size, out, size, err);
    } else if (status == EK_OK) {
        status = ek__no_memory(err);
    }
    free(source.text);
    ek__config_free(source.doc);
    ek__pool_free(splices.pool);
    return status;
}

/* ---- all settings ---- */

static ek_status add(ek__edit *edit, const ek__settings *s, const ek__setting *setting, ek_error *err)
{
    char section[256];
    const char *path[MAX_KEYS + 1];
    const ek__node *root = ek__config_root(ek__edit_config(edit));
    if (!find_path(s, setting, root, section, path))
        return ek__fail(err, EK_ERR_INPUT, ((ek_origin){ek__config_name(ek__edit_config(edit)), 0, 0}),
                        "%s is too deep to be written; change it by hand", setting->key);
    const ek__node *node = find(root, path);
    bool gone = setting->kind == EK__SETTING_GONE;
    if (gone && !node)
        return EK_OK;
    const char *value = !gone ? setting->value : ek__node_is_bool(node, NULL) ? "False" : "null";
    return ek__edit_set(edit, path, value, neighbour_of(setting->key), err);
}

ek_status ek__write_yaml(const ek__settings *s, const ek__job_text *file, char **out, size_t *size, ek_error *err)
{
    ek__edit *edit = NULL;
    char *text = NULL;
    size_t n = 0;
    ek_status status = set_shared(s, file, &text, &n, err);
    if (status == EK_OK)
        status = ek__edit_open_buffer(file->name, text, n, &edit, err);
    for (int i = 0; i < s->n && status == EK_OK; i++)
        status = add(edit, s, &s->setting[i], err);
    if (status == EK_OK)
        status = ek__edit_finish(edit, out, size, err);
    ek__edit_free(edit);
    free(text);
    return status;
}
