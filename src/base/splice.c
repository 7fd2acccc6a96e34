/* Sorts splices by place and copies the text around them. */
#include "base/splice.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

ek_status ek__splice_add(ek__splices *s, size_t at, size_t end, const char *text, ek_error *err)
{
    ek__splice *all = ek__pool_push(s->pool, s->splice, s->n, sizeof *all);
    if (!all)
        return ek__no_memory(err);
    s->splice = all;
    all[s->n] = (ek__splice){.at = at, .end = end, .text = text, .order = s->n};
    s->n++;
    return EK_OK;
}

static int compare(const void *a, const void *b)
{
    const ek__splice *x = a, *y = b;
    if (x->at != y->at)
        return x->at < y->at ? -1 : 1;
    return (x->order > y->order) - (x->order < y->order);
}

ek_status ek__splice_apply(ek__splices *s, const char *text, size_t size, char **out, size_t *n, ek_error *err)
{
    size_t room = size + 1, used = 0, from = 0;
    for (int i = 0; i < s->n; i++)
        room += strlen(s->splice[i].text);
    char *bytes = ek__alloc(room, 1);
    if (!bytes)
        return ek__no_memory(err);
    if (s->n > 1)
        qsort(s->splice, (size_t)s->n, sizeof *s->splice, compare);
    for (int i = 0; i < s->n; i++) {
        const ek__splice *p = &s->splice[i];
        if (p->at < from)
            continue;
        memcpy(bytes + used, text + from, p->at - from);
        used += p->at - from;
        memcpy(bytes + used, p->text, strlen(p->text));
        used += strlen(p->text);
        from = p->end;
    }
    memcpy(bytes + used, text + from, size - from);
    used += size - from;
    bytes[used] = '\0';
    *out = bytes;
    *n = used;
    return EK_OK;
}
