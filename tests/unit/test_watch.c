/* Tests the end of work: by a flag, a time, or a count, and its effect on an outer watch and on work that must be
 * complete. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/watch.h"
#include "evenkeel/plan.h"
#include "evenkeel/progress.h"
#include "evenkeel/simulate.h"

static void without_a_watch_nothing_ends(void **state)
{
    (void)state;
    assert_false(ek__watch_over());
    assert_false(ek__watch_spent(1e12));
    assert_false(ek__watch_late(1e12));
}

static void a_flag_ends_the_work(void **state)
{
    (void)state;
    ek_interrupt flag = {0};
    ek_error err;
    ek__watch watch;
    ek__watch_begin(&watch, &flag, INFINITY);
    assert_false(ek__watch_spent(1e12));
    ek_interrupt_set(&flag);
    assert_false(ek__watch_spent(1)); /* it looks now and then */
    assert_true(ek__watch_spent(1e6));
    assert_true(ek__watch_spent(0));
    assert_false(ek__watch_late(1e6)); /* work that must be complete continues for a moment */
    assert_int_equal(ek__watch_fail(&err, "an order"), EK_ERR_STOPPED);
    assert_string_equal(err.message, "interrupted before there was an order");
    ek__watch_end(&watch);
    assert_false(ek__watch_over());
}

typedef struct shown {
    int n;
    double share;
    const char *what;
} shown;

static void show(void *user, double share, const char *what)
{
    shown *s = user;
    s->n++;
    s->share = share;
    s->what = what;
}

/* Work of so many units, after the time between two reports. */
static void work_on(double work)
{
    for (double until = ek__now() + 0.12; ek__now() < until;)
        continue;
    assert_false(ek__watch_spent(work));
}

static void work_is_reported_by_parts_and_steps(void **state)
{
    (void)state;
    shown seen = {0};
    ek__watch inner;
    ek__watch_part("before", 1e6);
    ek_progress_begin(show, &seen);
    work_on(1e6);
    assert_int_equal(seen.n, 0); /* earlier starts are unknown */
    ek__watch_part("a part", 4e6);
    work_on(1e6);
    assert_int_equal(seen.n, 1);
    assert_float_equal(seen.share, 0.25, 1e-12);
    assert_string_equal(seen.what, "a part");
    assert_false(ek__watch_spent(1e6));
    assert_int_equal(seen.n, 1); /* not that often */
    ek__watch_begin(&inner, NULL, INFINITY);
    work_on(9e6);
    ek__watch_end(&inner);
    assert_int_equal(seen.n, 2);
    assert_float_equal(seen.share, 1, 0); /* an estimate that was too low */
    ek__watch_step("steps", 1, 4);
    ek__watch_part("a part", 2e6);
    work_on(1e6);
    assert_string_equal(seen.what, "steps");
    assert_float_equal(seen.share, 0.375, 1e-12);
    ek__watch_step(NULL, 0, 0);
    ek__watch_part("the last", 1e6);
    work_on(1e5);
    assert_string_equal(seen.what, "the last");
    int n = seen.n;
    ek_progress_end();
    work_on(1e6);
    assert_int_equal(seen.n, n);
    ek_progress_begin(show, &seen); /* another piece of work knows nothing of it */
    ek__watch_part("again", 4e6);
    work_on(2e6);
    assert_int_equal(seen.n, n + 1);
    assert_string_equal(seen.what, "again");
    assert_float_equal(seen.share, 0.5, 1e-12);
    ek_progress_end();
}

static void the_end_of_an_outer_watch_is_that_of_an_inner_one(void **state)
{
    (void)state;
    ek_error err;
    ek__watch outer, inner;
    ek__watch_begin(&outer, NULL, ek__now() - 1);
    ek__watch_begin(&inner, NULL, INFINITY);
    assert_true(ek__watch_over());
    for (double until = ek__now() + 0.15; ek__now() < until;)
        continue;
    assert_true(ek__watch_late(1e6));
    assert_int_equal(ek__watch_fail(&err, "an order"), EK_ERR_STOPPED);
    assert_non_null(strstr(err.message, "the time limit ended before there was an order"));
    ek__watch_end(&inner);
    assert_true(ek__watch_over());
    ek__watch_end(&outer);
}

static void nothing_is_late_by_a_share(void **state)
{
    (void)state;
    ek__watch share;
    ek__watch_begin_share(&share, ek__now() - 10);
    assert_true(ek__watch_over());
    assert_false(ek__watch_late(1e6));
    ek__watch_end(&share);
}

static void a_count_ends_at_the_same_place_each_time(void **state)
{
    (void)state;
    int n[2] = {0};
    for (int i = 0; i < 2; i++) {
        ek__watch watch;
        ek__watch_begin_work(&watch, 1e6);
        while (!ek__watch_spent(10))
            n[i]++;
        ek__watch_end(&watch);
    }
    assert_true(n[0] > 90000 && n[0] < 110000);
    assert_int_equal(n[0], n[1]);
}

/* The search for an order gives the best it has, and the same one each time. */
static void an_order_is_made_of_what_was_found(void **state)
{
    (void)state;
    enum { P = 32, M = 64, CELLS = 2 * P };
    const ek_shape shape = {.n_stages = P, .n_chunks = 2, .n_micro_batches = M};
    ek_chunk_cost cost[CELLS];
    double step[2];
    for (int c = 0; c < CELLS; c++)
        cost[c] = (ek_chunk_cost){.forward_time = 1, .backward_time = 2, .weight_time = 1};
    for (int i = 0; i < 2; i++) {
        ek_order *order;
        ek_error err;
        ek__watch watch;
        ek__watch_begin_work(&watch, 4e6); /* the whole search takes 1e8 or so */
        if (ek_order_new(ek_schedule_find("v-min"), &shape, &order, &err))
            fail_msg("%s", err.message);
        assert_true(ek__watch_over());
        ek__watch_end(&watch);
        double *scratch = calloc(ek_order_scratch_size(order), sizeof *scratch);
        assert_non_null(scratch);
        step[i] = ek_order_step_time(order, cost, NULL, scratch);
        free(scratch);
        ek_order_free(order);
    }
    assert_true(step[0] >= 6 * M); /* F, B and W of both chunks */
    assert_true(step[0] == step[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_watch_nothing_ends),
        cmocka_unit_test(a_flag_ends_the_work),
        cmocka_unit_test(work_is_reported_by_parts_and_steps),
        cmocka_unit_test(the_end_of_an_outer_watch_is_that_of_an_inner_one),
        cmocka_unit_test(nothing_is_late_by_a_share),
        cmocka_unit_test(a_count_ends_at_the_same_place_each_time),
        cmocka_unit_test(an_order_is_made_of_what_was_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
