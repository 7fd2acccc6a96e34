/* edit_oracle.h - the oracle of the editor: requested changes, and a slow comparison of the old and the new tree that
 * checks that only these differ. It shares no code with the editor's own check. */
#ifndef TESTS_UNIT_WISH_H
#define TESTS_UNIT_WISH_H

#include <string.h>

#include "base/config_tree.h"

enum { MAX_WISHES = 8, MAX_KEYS = 16 };

/* A requested change: a path of `n` keys, followed by NULL. */
typedef struct wish {
    const char *key[MAX_KEYS + 1];
    int n;
    const char *value, *after;
} wish;

static inline const ek__node *find_child(const ek__node *map, const char *key)
{
    for (const ek__node *child = map->first; child; child = child->next)
        if (map->kind == EK__MAP && strcmp(child->key, key) == 0)
            return child;
    return NULL;
}

static inline bool same_words(const ek__node *a, const ek__node *b)
{
    double x, y;
    bool p, q;
    if (ek__node_is_null(a) || ek__node_is_null(b))
        return ek__node_is_null(a) && ek__node_is_null(b);
    if (ek__node_is_bool(a, &p) && ek__node_is_bool(b, &q))
        return p == q;
    if (!a->quoted && !b->quoted && ek__text_is_number(a->text, &x) && ek__text_is_number(b->text, &y))
        return x == y;
    bool number = ek__text_is_number(a->text, &x) || ek__node_is_bool(a, NULL) || ek__node_is_bool(b, NULL);
    return strcmp(a->text, b->text) == 0 && (a->quoted == b->quoted || !number);
}

/* Is it the same value: to the letter, or in meaning? */
static inline bool same_value(const ek__node *a, const ek__node *b, bool letter)
{
    if (a->kind != b->kind || a->n != b->n)
        return false;
    if (a->kind == EK__SCALAR && letter)
        return (a->quoted == b->quoted && strcmp(a->text, b->text) == 0) ||
               (ek__node_is_null(a) && ek__node_is_null(b));
    if (a->kind == EK__SCALAR)
        return same_words(a, b);
    const ek__node *x = a->first, *y = b->first;
    for (; x; x = x->next, y = y->next)
        if ((a->kind == EK__MAP && strcmp(x->key, y->key) != 0) || !same_value(x, y, letter))
            return false;
    return true;
}

static inline bool is_wished(const ek__node *now, const wish *w)
{
    ek__config_tree *doc = NULL;
    ek_error err = {0};
    if (ek__config_parse_buffer("value", w->value, strlen(w->value), &doc, &err))
        return false;
    bool same = same_value(now, ek__config_root(doc), false);
    ek__config_free(doc);
    return same;
}

/* Do only the requested changes differ? `old` is NULL where there was nothing. All requests are checked here. */
static inline bool only_wishes(const ek__node *old, const ek__node *now, const wish *const *w, int n, int depth)
{
    if (n == 0)
        return old && same_value(old, now, true);
    if (n == 1 && w[0]->n == depth)
        return is_wished(now, w[0]);
    if (now->kind != EK__MAP || (old && old->kind != EK__MAP && !ek__node_is_null(old)))
        return false;
    int n_found = 0, last = -1, n_kept = 0;
    for (const ek__node *child = now->first; child; child = child->next) {
        const wish *inside[MAX_WISHES];
        int n_inside = 0;
        for (int i = 0; i < n; i++)
            if (strcmp(w[i]->key[depth], child->key) == 0)
                inside[n_inside++] = w[i];
        const ek__node *before = old ? find_child(old, child->key) : NULL;
        if (before && before->index <= last)
            return false;
        last = before ? before->index : last;
        n_kept += before != NULL;
        n_found += n_inside;
        if (!only_wishes(before, child, inside, n_inside, depth + 1))
            return false;
    }
    return n_found == n && n_kept == (old ? old->n : 0);
}

#endif
