/* A merge sort of records of a few words that moves only records out of order. If the right half follows the left,
 * nothing moves; otherwise only records of the left half that belong after the first of the right one do. Profilers
 * write threads nearly in order, so a long thread is sorted in little more than one pass. Words are compared inline,
 * without a comparison callback. */
#include "index/sort.h"

#include <assert.h>
#include <string.h>

/* How records look. */
typedef struct shape {
    size_t n_words; /* 2 or 4 */
    int n_keys;
} shape;

static inline bool is_before(const uint64_t *a, const uint64_t *b, shape s)
{
    for (int i = 0; i < s.n_keys; i++)
        if (a[i] != b[i])
            return a[i] < b[i];
    return false;
}

static inline void copy(uint64_t *to, const uint64_t *from, shape s)
{
    to[0] = from[0];
    to[1] = from[1];
    if (s.n_words == 4) {
        to[2] = from[2];
        to[3] = from[3];
    }
}

/* Stable; for the small parts at the end of halving. */
static void sort_few(uint64_t *record, size_t n, shape s)
{
    uint64_t moved[EK__SORT_MAX_WORDS] = {0};
    for (size_t i = 1; i < n; i++) {
        size_t at = i;
        if (!is_before(record + i * s.n_words, record + (i - 1) * s.n_words, s))
            continue;
        copy(moved, record + i * s.n_words, s);
        for (; at > 0 && is_before(moved, record + (at - 1) * s.n_words, s); at--)
            copy(record + at * s.n_words, record + (at - 1) * s.n_words, s);
        copy(record + at * s.n_words, moved, s);
    }
}

/* Both halves are in order: merge them. */
static void merge_halves(uint64_t *record, size_t middle, size_t n, shape s, uint64_t *spare)
{
    const uint64_t *right = record + middle * s.n_words, *right_end = record + n * s.n_words;
    size_t first = 0;
    for (size_t high = middle; first < high;) { /* the first of the left that belongs after the right's first */
        size_t half = first + (high - first) / 2;
        if (is_before(right, record + half * s.n_words, s))
            high = half;
        else
            first = half + 1;
    }
    assert(first < middle); /* the halves are out of order */
    size_t n_left = middle - first;
    const uint64_t *left = spare, *left_end = spare + n_left * s.n_words;
    uint64_t *to = record + first * s.n_words;
    memcpy(spare, to, n_left * s.n_words * sizeof *spare);
    for (; left < left_end; to += s.n_words) {
        if (right == right_end || !is_before(right, left, s)) {
            copy(to, left, s);
            left += s.n_words;
        } else {
            copy(to, right, s);
            right += s.n_words;
        }
    }
}

static void sort_range(uint64_t *record, size_t n, shape s, uint64_t *spare) /* NOLINT(misc-no-recursion): log n deep */
{
    enum { FEW = 16 };
    if (n <= FEW) {
        sort_few(record, n, s);
        return;
    }
    size_t middle = n / 2;
    sort_range(record, middle, s, spare);
    sort_range(record + middle * s.n_words, n - middle, s, spare);
    if (is_before(record + middle * s.n_words, record + (middle - 1) * s.n_words, s))
        merge_halves(record, middle, n, s, spare);
}

#ifndef NDEBUG
static bool is_sorted(const uint64_t *record, size_t n, shape s)
{
    for (size_t i = 1; i < n; i++)
        if (is_before(record + i * s.n_words, record + (i - 1) * s.n_words, s))
            return false;
    return true;
}
#endif

void ek__sort_records(uint64_t *record, size_t n, int n_words, int n_keys, uint64_t *spare)
{
    assert((n_words == 2 || n_words == 4) && n_keys >= 1 && n_keys <= n_words);
    sort_range(record, n, (shape){(size_t)n_words, n_keys}, spare);
    assert(is_sorted(record, n, (shape){(size_t)n_words, n_keys}));
}
