/* Tests the cost of choosing by the prediction, in groups with known regrets and positions. */
#include "input.h"

#include <math.h>

#include "../../bench/judge.h"
#include "evenkeel/calibrate.h"

enum { MOST = 16 };

typedef struct made {
    ek_measured_run run[MOST];
    judged_run row[MOST];
    int n;
} made;

/* A run of a model with so many layers; `layout` distinguishes its layouts. */
static void add(made *m, int layers, const char *layout, double measured, double predicted)
{
    ek_measured_run *run = &m->run[m->n];
    memset(run, 0, sizeof *run);
    run->job.model.n_layers = layers;
    run->job.parallel.data = run->job.parallel.batch = run->job.parallel.n_micro_batches = 1;
    run->job.parallel.n_accumulation = run->job.parallel.n_batch_interleave = 1;
    run->n_devices = 8;
    snprintf(run->device, sizeof run->device, "A100");
    snprintf(run->group, sizeof run->group, "%d %s", layers, layout);
    run->step_seconds = measured;
    m->row[m->n++] = (judged_run){.run = run, .predicted = predicted};
}

static void regrets_and_places_are_those_of_the_groups(void **state)
{
    (void)state;
    made m = {0};
    add(&m, 10, "a", 1.0, 1.2); /* predicted second: b is taken, 10 % longer */
    add(&m, 10, "b", 1.1, 1.1);
    add(&m, 10, "c", 3.0, 2.0);
    add(&m, 20, "a", 2.0, 5.0); /* the best is predicted fourth; a regret of 50 % */
    add(&m, 20, "b", 3.0, 1.0);
    add(&m, 20, "c", 4.0, 2.0);
    add(&m, 20, "d", 5.0, 3.0);
    add(&m, 30, "a", 1.0, 1.0); /* one layout is no choice */
    add(&m, 30, "a", 1.5, 0.5);
    add(&m, 40, "a", 1.0, 1.0); /* right */
    add(&m, 40, "b", 2.0, 1.5);
    add(&m, 40, "c", 0.5, NAN);
    judged_choices c = judge_choices(m.row, m.n);
    assert_int_equal(c.n_groups, 3);
    assert_int_equal(c.n_runs, 9);
    assert_int_equal(c.n_without, 1);
    assert_true(fabs(c.sum - 0.6) < 1e-12);
    assert_true(fabs(c.worst - 0.5) < 1e-12);
    assert_int_equal(c.n_worst, 4);
    assert_string_equal(c.chosen->group, "20 b");
    assert_string_equal(c.shortest->group, "20 a");
    assert_int_equal(c.n_first, 1);
    assert_int_equal(c.n_three, 2);
}

/* Whatever the order of the rows. */
static void equal_predictions_are_charged(void **state)
{
    (void)state;
    for (int turned = 0; turned < 2; turned++) {
        made m = {0};
        add(&m, 10, "a", turned ? 1.2 : 1.0, 1.0);
        add(&m, 10, "b", turned ? 1.0 : 1.2, 1.0);
        judged_choices c = judge_choices(m.row, m.n), sum = {0};
        assert_true(fabs(c.sum - 0.2) < 1e-12 && c.n_first == 0 && c.n_three == 1);
        judge_add_choices(&sum, &c);
        judge_add_choices(&sum, &c);
        assert_true(sum.n_groups == 2 && fabs(sum.sum - 0.4) < 1e-12 && fabs(sum.worst - 0.2) < 1e-12);
    }
}

static void other_batches_are_other_choices(void **state)
{
    (void)state;
    made m = {0};
    add(&m, 10, "a", 1, 1);
    add(&m, 10, "b", 2, 2);
    m.run[1].job.parallel.data = 2;
    assert_false(judge_same_choice(&m.run[0], &m.run[1]));
    assert_int_equal(judge_choices(m.row, m.n).n_groups, 0);
    m.run[1].job.parallel.data = 1;
    assert_true(judge_same_choice(&m.run[0], &m.run[1]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(regrets_and_places_are_those_of_the_groups),
        cmocka_unit_test(equal_predictions_are_charged),
        cmocka_unit_test(other_batches_are_other_choices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
