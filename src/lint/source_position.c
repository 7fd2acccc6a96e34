/* The position of a setting: in a YAML by its key, in a script by the argument's name. A job does not remember where
 * each of its numbers came from, and a rule needs the place only when it fires, so it is looked for then. */
#include "lint/source_position.h"

#include <string.h>

#include "base/c_locale.h"

int ek__column_of(const char *start, const char *at)
{
    int column = 1;
    for (const char *c = start; c < at; c++)
        column += ((unsigned char)*c & 0xC0) != 0x80;
    return column;
}

ek__source_position ek__source_position_of_node(const ek__node *node)
{
    if (!node)
        return (ek__source_position){1, 1, 0, NULL};
    ek__source_position place = {node->line, node->column, 0, node};
    /* An anchor belongs to others, and the value of an alias is elsewhere: neither is to be replaced. */
    if (node->kind == EK__SCALAR && node->end > node->begin && !node->anchor && !node->original)
        place.end_column = node->column + (node->end - node->begin);
    return place;
}

const ek__node *ek__lint_get(const ek__node *root, const char *path)
{
    const ek__node *node = root;
    char key[64];
    while (node && *path) {
        size_t n = strcspn(path, ".");
        if (n >= sizeof key)
            return NULL;
        memcpy(key, path, n);
        key[n] = '\0';
        path += n + (path[n] == '.');
        node = node->kind == EK__MAP ? ek__get(node, key) : NULL;
    }
    return node;
}

/* Depth first without recursion: a node knows its parent. */
const ek__node *ek__lint_find(const ek__node *root, const char *key)
{
    const ek__node *node = root;
    while (node) {
        if (node->key && node->kind == EK__SCALAR && strcmp(node->key, key) == 0)
            return node;
        if (node->first) {
            node = node->first;
            continue;
        }
        while (node && node != root && !node->next)
            node = node->parent;
        node = node && node != root ? node->next : NULL;
    }
    return NULL;
}

bool ek__lint_is_on(const ek__node *node)
{
    bool on = false;
    if (!node || node->kind != EK__SCALAR)
        return false;
    if (ek__node_is_bool(node, &on))
        return on;
    return node->text && (ek__strcasecmp(node->text, "on") == 0 || ek__strcasecmp(node->text, "true") == 0);
}

static bool is_word_end(char c)
{
    return c == '\0' || strchr(" \t\r\n\\=\"')", c) != NULL;
}

static ek__source_position find_argument(const ek__lint_file *file, const char *argument)
{
    size_t n = strlen(argument);
    int line = 1;
    bool comment = false;
    const char *start = file->text, *end = file->text + file->size;
    for (const char *c = file->text; c < end; c++) {
        if (*c == '\n') {
            line++;
            start = c + 1;
            comment = false;
        } else if (*c == '#' && (c == start || c[-1] == ' ' || c[-1] == '\t')) {
            comment = true;
        } else if (!comment && *c == '-' && (size_t)(end - c) >= n && memcmp(c, argument, n) == 0 &&
                   is_word_end(c[n])) {
            int column = ek__column_of(start, c);
            return (ek__source_position){line, column, column + (int)n, NULL};
        }
    }
    return (ek__source_position){1, 1, 0, NULL};
}

ek__source_position ek__source_position_of(const ek__lint_file *file, const ek__job_key *setting)
{
    if (file->kind == EK_LINT_SHELL)
        return setting->argument ? find_argument(file, setting->argument) : (ek__source_position){1, 1, 0, NULL};
    const ek__node *node = NULL;
    for (int i = 0; i < EK__PLACE_KEYS && setting->key[i] && !node; i++)
        node = ek__lint_find(file->yaml, setting->key[i]);
    return ek__source_position_of_node(node);
}

const ek__job_key *ek__source_either(const ek__lint_file *file, const ek__job_key *setting,
                                     const ek__job_key *otherwise)
{
    ek__source_position at = ek__source_position_of(file, setting);
    return at.node || at.end_column > 0 ? setting : otherwise;
}
