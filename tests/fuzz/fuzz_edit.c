/* Fuzzes the editor: the input's lines up to an empty one are changes ("a.b=[1, 2]", at most four), the rest is the
 * file. A change is refused with a message, or gives a file in which only this change differs. */
#include <assert.h>
#include <stdlib.h>

#include "../unit/edit_oracle.h"
#include "base/edit.h"
#include "fuzz.h"

enum { MAX_CHANGES = 4 };

/* Cut the line at `text` into a path and a value; returns the text after it, NULL when it is no change. */
static char *read_wish(char *text, wish *w)
{
    char *end = strchr(text, '\n'), *equals = strchr(text, '=');
    memset(w, 0, sizeof *w);
    if (!end || !equals || equals > end)
        return NULL;
    *end = *equals = '\0';
    w->value = equals + 1;
    for (char *key = text; key && w->n < MAX_KEYS; w->n++) {
        w->key[w->n] = key;
        key = strchr(key, '.');
        if (key)
            *key++ = '\0';
    }
    return end + 1;
}

static bool same_path(const wish *a, const wish *b)
{
    for (int i = 0; i < a->n && a->n == b->n; i++)
        if (strcmp(a->key[i], b->key[i]) != 0)
            return false;
    return a->n == b->n;
}

static void check(const ek__edit *edit, const char *text, size_t size, const wish *const *w, int n)
{
    ek__config_tree *doc = NULL;
    ek_error err = {0};
    ek_status status = ek__config_parse_buffer_with_aliases("new", text, size, &doc, &err);
    assert(status == EK_OK && text[size] == '\0');
    assert(only_wishes(ek__config_root(ek__edit_config(edit)), ek__config_root(doc), w, n, 0));
    ek__config_free(doc);
}

static void change(const char *text, size_t size, const wish *w, int n)
{
    const wish *all[MAX_CHANGES];
    int n_all = 0;
    ek__edit *edit = NULL;
    char *out = NULL;
    size_t out_size = 0;
    ek_error err = {0};
    ek_status status = ek__edit_open_buffer("input", text, size, &edit, &err);
    for (int i = 0; i < n && status == EK_OK; i++) {
        status = ek__edit_set(edit, w[i].key, w[i].value, i > 0 ? w[i - 1].key[w[i - 1].n - 1] : NULL, &err);
        bool last = true;
        for (int k = i + 1; k < n; k++)
            last = last && !same_path(&w[i], &w[k]);
        if (last)
            all[n_all++] = &w[i];
    }
    if (status == EK_OK)
        status = ek__edit_finish(edit, &out, &out_size, &err);
    if (status == EK_OK)
        check(edit, out, out_size, all, n_all);
    else
        assert(status == EK_ERR_INPUT && err.message[0] != '\0' && err.line > 0 && !out);
    free(out);
    ek__edit_free(edit);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    wish w[MAX_CHANGES];
    int n = 0;
    char *copy = malloc(size + 1), *file = copy;
    memcpy(copy, data, size);
    copy[size] = '\0';
    while (n < MAX_CHANGES && *file != '\n') {
        char *next = read_wish(file, &w[n]);
        if (!next)
            break;
        file = next;
        n++;
    }
    if (*file == '\n')
        file++;
    change(file, (size_t)(copy + size - file), w, n);
    free(copy);
    return 0;
}
