/* Tests sets of intervals against bitmaps: random sets over a small axis, with one bit for each covered tick. */
#include "input.h"

#include <math.h>

#include "trace/events/intervals.h"

enum { AXIS = 96, MAX_INTERVALS = 24, N_ROUNDS = 20000 };

static uint64_t random_state = 88172645463325252u;

static int random_below(int n)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (int)((random_state >> 20) % (uint64_t)n);
}

static int by_start(const void *a, const void *b)
{
    const ek__interval *x = a, *y = b;
    return (x->start > y->start) - (x->start < y->start);
}

/* A random set and its ticks. */
static void random_set(ek__intervals *set, bool tick[AXIS])
{
    ek__interval raw[MAX_INTERVALS];
    int n = random_below(MAX_INTERVALS + 1);
    ek__intervals_reset(set);
    for (int i = 0; i < AXIS; i++)
        tick[i] = false;
    for (int i = 0; i < n; i++) {
        int start = random_below(AXIS), end = start + random_below(1 + random_below(AXIS - start + 1));
        for (int t = start; t < end; t++)
            tick[t] = true;
        raw[i] = (ek__interval){start, end};
    }
    qsort(raw, (size_t)n, sizeof *raw, by_start);
    for (int i = 0; i < n; i++)
        assert_true(ek__intervals_add(set, raw[i].start, raw[i].end));
}

/* Is the set the merged intervals of the ticks? */
static void assert_is(const ek__intervals *set, const bool tick[AXIS])
{
    size_t n = 0;
    int64_t length = 0;
    for (int t = 0; t < AXIS; t++) {
        length += tick[t];
        if (!tick[t] || (t > 0 && tick[t - 1]))
            continue;
        int end = t;
        while (end < AXIS && tick[end])
            end++;
        assert_true(n < set->n);
        assert_int_equal(set->at[n].start, t);
        assert_int_equal(set->at[n].end, end);
        n++;
    }
    assert_int_equal(set->n, n);
    assert_int_equal(ek__intervals_length(set), length);
}

static void every_operation_is_what_a_bitmap_says(void **state)
{
    (void)state;
    ek__intervals a = {0}, b = {0}, out = {0};
    for (int round = 0; round < N_ROUNDS; round++) {
        bool x[AXIS], y[AXIS], any[AXIS];
        int64_t n_both = 0, n_only = 0;
        random_set(&a, x);
        random_set(&b, y);
        for (int t = 0; t < AXIS; t++) {
            any[t] = x[t] || y[t];
            n_both += x[t] && y[t];
            n_only += x[t] && !y[t];
        }
        assert_is(&a, x);
        assert_true(ek__intervals_unite(&a, &b, &out));
        assert_is(&out, any);
        assert_int_equal(ek__intervals_common(&a, &b), n_both);
        assert_int_equal(ek__intervals_without(&a, &b), n_only);
    }
    ek__intervals_clear(&a);
    ek__intervals_clear(&b);
    ek__intervals_clear(&out);
}

static void events_are_taken_by_their_start_and_merged(void **state)
{
    (void)state;
    static const ek__event events[] = {{.start = 1, .duration = 3},  {.start = 4, .duration = 0},
                                       {.start = 4, .duration = 2},  {.start = 5, .duration = 5},
                                       {.start = 8, .duration = 1},  {.start = 11, .duration = 0},
                                       {.start = 12, .duration = 9}, {.start = 30, .duration = 4}};
    ek__slice slice = {events, sizeof events / sizeof *events};
    ek__intervals set = {0};
    assert_true(ek__intervals_of(slice, INT64_MIN, INT64_MAX, &set));
    assert_int_equal(set.n, 3);
    assert_int_equal(set.at[0].start, 1);
    assert_int_equal(set.at[0].end, 10);
    assert_int_equal(set.at[1].end, 21);
    assert_int_equal(ek__intervals_length(&set), 9 + 9 + 4);
    assert_true(ek__intervals_of(slice, 4, 12, &set));
    assert_int_equal(set.n, 1);
    assert_int_equal(ek__intervals_length(&set), 6);
    assert_true(ek__intervals_of((ek__slice){0}, INT64_MIN, INT64_MAX, &set));
    assert_int_equal(set.n, 0);
    ek__intervals_clear(&set);
}

static void lengths_saturate(void **state)
{
    (void)state;
    ek__intervals a = {0}, b = {0}, out = {0};
    assert_true(ek__intervals_add(&a, INT64_MIN, INT64_MAX));
    assert_true(ek__intervals_add(&b, -5, 5));
    assert_true(ek__intervals_add(&b, 10, 5));
    assert_int_equal(b.n, 1);
    assert_true(ek__intervals_length(&a) == INT64_MAX);
    assert_int_equal(ek__intervals_common(&a, &b), 10);
    assert_true(ek__intervals_unite(&a, &b, &out));
    assert_int_equal(out.n, 1);
    assert_true(ek__intervals_length(&out) == INT64_MAX);
    ek__event huge = {.start = INT64_MAX - 3, .duration = INT64_MAX};
    assert_true(ek__event_end(&huge) == INT64_MAX);
    assert_true(ek__ns_add(INT64_MIN, -1) == INT64_MIN);
    assert_true(ek__ns_sub(INT64_MAX, -1) == INT64_MAX);
    assert_int_equal(ek__ns_sub(3, 5), -2);
    ek__intervals_clear(&a);
    ek__intervals_clear(&b);
    ek__intervals_clear(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_operation_is_what_a_bitmap_says),
        cmocka_unit_test(events_are_taken_by_their_start_and_merged),
        cmocka_unit_test(lengths_saturate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
