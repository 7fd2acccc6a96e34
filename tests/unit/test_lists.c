/* Tests sorting, selection, medians and memory of lists against qsort() and plain loops. */
#include "input.h"

#include <stdbool.h>

#include "base/error.h"
#include "base/median.h"
#include "base/pool.h"
#include "base/random.h"
#include "base/sort.h"

enum { MOST = 300 };

typedef struct pair {
    int key, place;
} pair;

static int n_compared;

static int by_key(const void *a, const void *b)
{
    n_compared++;
    return ((const pair *)a)->key - ((const pair *)b)->key;
}

static int by_time(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Equal ones stay in the order in which they came. */
static void lists_are_sorted_and_what_is_in_order_is_left_alone(void **state)
{
    ek__random r = ek__random_seed(5);
    (void)state;
    for (int round = 0; round < 500; round++) {
        pair list[MOST];
        const int n = ek__random_below(&r, MOST), keys = 1 + ek__random_below(&r, 40);
        const bool ordered = round % 2 == 0;
        for (int i = 0; i < n; i++)
            list[i] = (pair){ordered ? i / keys : ek__random_below(&r, keys), i};
        n_compared = 0;
        ek__sort(list, (size_t)n, sizeof *list, by_key);
        for (int i = 1; i < n; i++)
            assert_true(list[i - 1].key < list[i].key ||
                        (list[i - 1].key == list[i].key && list[i - 1].place < list[i].place));
        if (ordered)
            assert_int_equal(n_compared, n > 0 ? n - 1 : 0);
    }
}

static void check_nth(const int64_t *value, size_t n, size_t k)
{
    int64_t *changed = ek__alloc(n, sizeof *changed), *sorted = ek__alloc(n, sizeof *sorted);
    memcpy(changed, value, n * sizeof *value);
    memcpy(sorted, value, n * sizeof *value);
    qsort(sorted, n, sizeof *sorted, by_time);
    assert_int_equal(ek__nth_ns(changed, n, k), sorted[k]);
    assert_int_equal(changed[k], sorted[k]);
    for (size_t i = 0; i < n; i++)
        assert_true(i < k ? changed[i] <= sorted[k] : changed[i] >= sorted[k]);
    qsort(changed, n, sizeof *changed, by_time);
    assert_memory_equal(changed, sorted, n * sizeof *value);
    free(changed);
    free(sorted);
}

static void the_nth_is_what_sorting_puts_there(void **state)
{
    ek__random r = ek__random_seed(6);
    int64_t value[MOST];
    (void)state;
    for (int round = 0; round < 400; round++) {
        const size_t n = 1 + (size_t)ek__random_below(&r, 40);
        const int different = 1 + ek__random_below(&r, 30);
        for (size_t i = 0; i < n; i++)
            value[i] = ek__random_below(&r, different) - 7;
        for (size_t k = 0; k < n; k++)
            check_nth(value, n, k);
    }
}

/* Up, down, up and down, in waves, and the ends of the list. */
static void selection_takes_lists_of_all_forms(void **state)
{
    enum { N = 20001 };
    static int64_t value[N];
    (void)state;
    for (int form = 0; form < 5; form++) {
        for (int i = 0; i < N; i++) {
            const int64_t of_form[] = {i, N - i, i < N / 2 ? i : N - i, i % 97, i % 2 ? INT64_MAX : INT64_MIN};
            value[i] = of_form[form];
        }
        check_nth(value, N, 0);
        check_nth(value, N, N / 4);
        check_nth(value, N, N / 2);
        check_nth(value, N, N - 1);
    }
}

static void medians_are_the_middle_or_between_two(void **state)
{
    ek__random r = ek__random_seed(7);
    int64_t value[MOST], sorted[MOST];
    (void)state;
    for (int round = 0; round < 1000; round++) {
        const size_t n = 1 + (size_t)ek__random_below(&r, 50);
        for (size_t i = 0; i < n; i++)
            sorted[i] = value[i] = ek__random_below(&r, 100);
        qsort(sorted, n, sizeof *sorted, by_time);
        assert_int_equal(ek__median_ns(value, n), (sorted[(n - 1) / 2] + sorted[n / 2]) / 2);
    }
    int64_t ends[] = {INT64_MAX, INT64_MIN};
    assert_int_equal(ek__median_ns(ends, 2), -1);
    assert_int_equal(ek__median_ns(ends, 0), 0);
}

/* Beyond the size from which blocks lie in huge pages. */
static void a_list_keeps_what_it_holds_while_it_grows(void **state)
{
    enum { N = 3 << 20 };
    size_t capacity = 0;
    uint32_t *list = NULL;
    (void)state;
    for (uint32_t i = 0; i < N; i++) {
        uint32_t *room = ek__with_room(list, &capacity, i + 1, sizeof *room);
        assert_non_null(room);
        list = room;
        list[i] = i * 7;
    }
    assert_in_range(capacity, N, 2 * N + 64);
    for (uint32_t i = 0; i < N; i++)
        assert_int_equal(list[i], i * 7);
    free(list);
}

static void a_pool_takes_over_another(void **state)
{
    (void)state;
    for (int large = 0; large < 2; large++) {
        ek__pool *pool = ek__pool_new(), *other = ek__pool_new();
        char *ours = ek__pool_text(pool, "ours", 4), *theirs = ek__pool_text(other, "theirs", 6);
        int64_t *room = ek__pool_alloc(other, large ? 1 << 20 : 1, sizeof *room);
        *room = 11;
        ek__pool_join(pool, other);
        assert_string_equal(ek__pool_text(pool, "later", 5), "later");
        assert_string_equal(ours, "ours");
        assert_string_equal(theirs, "theirs");
        assert_int_equal(*room, 11);
        ek__pool_free(pool);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_are_sorted_and_what_is_in_order_is_left_alone),
        cmocka_unit_test(the_nth_is_what_sorting_puts_there),
        cmocka_unit_test(selection_takes_lists_of_all_forms),
        cmocka_unit_test(medians_are_the_middle_or_between_two),
        cmocka_unit_test(a_list_keeps_what_it_holds_while_it_grows),
        cmocka_unit_test(a_pool_takes_over_another),
    };
    return cmocka_run_group_tests_name("lists", tests, NULL, NULL);
}
