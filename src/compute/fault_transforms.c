/* Finds layout transforms that undo each other or follow one another: TransData, Transpose, Cast, copies that make a
 * tensor contiguous. Of several in a row one is enough. Where only operators that do not depend on the layout are
 * between two transforms and the second restores the shape before the first, neither is needed. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "compute/compute_internal.h"

enum { MOST_BETWEEN = 3 };

typedef struct scan {
    ek__compute *c;
    int rank;
    size_t n;
    const ek_trace_execution *at;
    ek__fault_losses losses;
    const char *first, *last; /* of the first chain */
} scan;

static const ek_trace_shaped *shaped_at(const scan *s, size_t i)
{
    return &s->c->run->rank[s->rank].measured.op[s->at[i].op];
}

static bool is_transform(const scan *s, size_t i)
{
    return EK__TRANSFORMS & (1u << s->c->word[s->rank][s->at[i].op]);
}

/* Elementwise, so that the layout does not matter. */
static bool is_blind(const scan *s, size_t i)
{
    const uint32_t words = EK__ACTION(MUL) | EK__ACTION(ADD) | EK__ACTION(DIV) | EK__ACTION(NEG) | EK__ACTION(SQUARE) |
                           EK__ACTION(RSQRT) | EK__ACTION(SILU) | EK__ACTION(SIGMOID) | EK__ACTION(DROPOUT);
    return words & (1u << s->c->word[s->rank][s->at[i].op]);
}

/* The number of transforms in a row from here on. */
static size_t in_a_row(const scan *s, size_t from)
{
    size_t n = 0;
    while (from + n < s->n && s->at[from + n].stream == s->at[from].stream && is_transform(s, from + n))
        n++;
    return n;
}

/* The index of the transform that undoes the one at `from`; 0: none. Only table rows have output shapes. */
static size_t undone_at(const scan *s, size_t from)
{
    const ek_trace_shaped *first = shaped_at(s, from);
    for (size_t i = from + 1; i < s->n && i <= from + MOST_BETWEEN + 1; i++) {
        const ek_trace_shaped *other = shaped_at(s, i);
        if (s->at[i].stream != s->at[from].stream)
            return 0;
        if (is_transform(s, i))
            return first->out_types[0] && strcmp(first->name, other->name) == 0 && first->shapes[0] &&
                           strcmp(first->shapes, other->values) == 0 && strcmp(first->values, other->shapes) == 0 &&
                           strcmp(first->types, other->out_types) == 0
                       ? i
                       : 0;
        if (!is_blind(s, i))
            return 0;
    }
    return 0;
}

static bool lose(scan *s, size_t from, size_t n, bool all)
{
    int64_t time = 0, longest = 0;
    for (size_t i = from; i < from + n; i++) {
        if (!is_transform(s, i))
            continue;
        if (__builtin_add_overflow(time, s->at[i].duration, &time))
            return true;
        longest = s->at[i].duration > longest ? s->at[i].duration : longest;
    }
    if (!s->first) {
        s->first = shaped_at(s, from)->name;
        s->last = shaped_at(s, from + n - 1)->name;
    }
    return ek__fault_lose(&s->losses, s->rank, s->at[from].start, time, (double)(time - (all ? 0 : longest)));
}

static ek_status scan_rank(scan *s, ek_error *err)
{
    for (size_t i = 0, n; i < s->n; i += n) {
        size_t undone = is_transform(s, i) ? undone_at(s, i) : 0, row = in_a_row(s, i);
        n = undone ? undone - i + 1 : row > 1 ? row : 1;
        if ((undone || row > 1) && !lose(s, i, n, undone > 0))
            return ek__no_memory(err);
    }
    return EK_OK;
}

ek_status ek__fault_transforms(ek__compute *c, ek_error *err)
{
    scan s = {.c = c};
    ek_status status = EK_OK;
    for (; s.rank < c->run->n_ranks && status == EK_OK; s.rank++) {
        s.n = c->run->rank[s.rank].measured.n_all;
        s.at = c->run->rank[s.rank].measured.execution;
        status = scan_rank(&s, err);
    }
    if (status == EK_OK && s.losses.n > 0)
        status = ek__fault_add(c, EK_FAULT_TRANSFORMS, &s.losses,
                               ek__pool_format(c->run->pool, "%.80s to %.80s", s.first[0] ? s.first : "a transform",
                                               s.last[0] ? s.last : "a transform"),
                               ek__compute_instead(EK_FAULT_TRANSFORMS),
                               "the time of transforms that undo each other, and of all but the longest in a row", err);
    free(s.losses.at);
    return status;
}
