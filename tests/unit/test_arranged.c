/* Tests orders that are made for a plan: the results of balancing are valid under the returned order; equal stages
 * without a model are compared with closed forms; and the parser of their times. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "assert_close.h"
#include "described.h"
#include "effort.h"
#include "evenkeel/balance.h"
#include "evenkeel/uniform.h"
#include "figures/balance_figures.h"
#include "report/report_internal.h"
#include "report/writers.h"

/* 12 layers of time 2 + 4 (+ 1 when recomputed), with a tail of time 3 + 6: equal stages are not the best. */
static ek_layer body = {.name = "layer",
                        .n_layers = 12,
                        .forward_time = 2,
                        .backward_time = {4, 0, 0, 0, 5},
                        .weight_time = 2,
                        .parameter_mb = 10,
                        .activation_mb = {20, 0, 0, 0, 3},
                        .modelled = {true, false, false, false, true}};

static ek_layers model(void)
{
    return (ek_layers){.name = "model",
                       .n_body = 1,
                       .body = &body,
                       .n_layers = 12,
                       .modelled = {true, false, false, false, true},
                       .head = {.modelled = {true}},
                       .tail = {.forward_time = 3,
                                .backward_time = {6, 6, 6, 6, 6},
                                .weight_time = 3,
                                .parameter_mb = 5,
                                .modelled = {true}}};
}

static ek_balance_options options(double limit)
{
    ek_balance_options o;
    ek_balance_options_init(&o);
    o.proof_limit = 0.05; /* the bounds have a separate test */
    o.memory_limit_mb = limit;
    o.time_limit = 2 * slower();
    o.n_threads = 1;
    o.comm.p2p_time = 0.25;
    return o;
}

/* Step and peak of the answer, run once more under the order that came with it. */
static void check_answer(const ek_layers *layers, const ek_order *order, const ek_balance_options *o,
                         const ek_balance_result *result)
{
    ek_timeline timeline;
    ek_error err;
    assert_int_equal(ek_plan_check(&result->plan, layers, &err), EK_OK);
    assert_int_equal(ek_simulate(order, &result->plan, layers, &o->comm, &timeline, &err), EK_OK);
    assert_close_to(result->step_time, timeline.step_time, 1e-9 * timeline.step_time);
    assert_true(ek_timeline_peak(&timeline, NULL) <= o->memory_limit_mb * (1 + 1e-9));
    ek_timeline_clear(&timeline);
}

static void an_answer_holds_under_its_order(void **state)
{
    (void)state;
    ek_layers layers = model();
    for (const ek_schedule *const *s = ek_schedules; *s; s++) {
        ek_shape shape = {.n_stages = 4, .n_chunks = (*s)->min_chunks, .n_micro_batches = 8};
        for (double limit = 300; limit <= 900; limit += 300) {
            ek_balance_options o = options(limit);
            ek_balance_result result;
            ek_order *order = NULL;
            ek_error err;
            if (ek_balance_arranged(&layers, *s, &shape, &o, &order, &result, &err))
                fail_msg("%s: %s", (*s)->name, err.message);
            assert_ptr_equal(ek_order_schedule(order), *s);
            if (result.status != EK_BALANCE_INFEASIBLE)
                check_answer(&layers, order, &o, &result);
            if ((*s)->arrange)
                assert_int_not_equal(result.status, EK_BALANCE_OPTIMAL);
            ek_balance_result_clear(&result);
            ek_order_free(order);
        }
    }
}

static void a_plan_alone_gets_the_same_order(void **state)
{
    (void)state;
    ek_layers layers = model();
    for (const ek_schedule *const *s = ek_schedules; *s; s++) {
        if (!(*s)->arrange)
            continue;
        ek_shape shape = {.n_stages = 4, .n_chunks = (*s)->min_chunks, .n_micro_batches = 8};
        ek_balance_options o = options(2000);
        ek_balance_result result;
        ek_order *order = NULL, *again = NULL;
        ek_timeline timeline;
        ek_error err;
        assert_int_equal(ek_balance_arranged(&layers, *s, &shape, &o, &order, &result, &err), EK_OK);
        assert_int_equal(ek_order_for_plan(&layers, &result.plan, *s, &shape, &o, &again, &err), EK_OK);
        assert_int_equal(ek_simulate(again, &result.plan, &layers, &o.comm, &timeline, &err), EK_OK);
        assert_close_to(timeline.step_time, result.step_time, 1e-9 * result.step_time);
        ek_timeline_clear(&timeline);
        ek_balance_result_clear(&result);
        ek_order_free(order);
        ek_order_free(again);
    }
}

static void a_limit_without_an_order_is_refused(void **state)
{
    (void)state;
    ek_layers layers = model();
    ek_shape shape = {.n_stages = 4, .n_chunks = 1, .n_micro_batches = 8};
    ek_balance_options o = options(900);
    o.activation_limit = 0.5;
    ek_balance_result result = {0};
    ek_order *order = NULL;
    ek_error err;
    assert_int_equal(ek_balance_arranged(&layers, ek_schedule_find("zb-1p"), &shape, &o, &order, &result, &err),
                     EK_ERR_INPUT);
    assert_null(order);
}

/* ---- time ---- */

static double processor_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The search for the order takes 4 s, and ten times as long with sanitizers. */
static void the_time_limit_covers_the_order(void **state)
{
    (void)state;
    ek_layers layers = model();
    const ek_shape shape = {.n_stages = 64, .n_chunks = 2, .n_micro_batches = 256};
    ek_balance_options o = options(100000);
    ek_balance_result result;
    ek_order *order;
    ek_error err;
    double begin = processor_seconds();
    o.min_layers = 0;
    o.time_limit = 1.5;
    if (ek_balance_arranged(&layers, ek_schedule_find("v-min"), &shape, &o, &order, &result, &err))
        fail_msg("%s", err.message);
    assert_true(processor_seconds() - begin < 3);
    assert_int_equal(result.status, EK_BALANCE_TIME_LIMIT);
    assert_true(result.seconds > 0.5); /* all of it, not only the search for the plan */
    check_answer(&layers, order, &o, &result);
    ek_balance_result_clear(&result);
    ek_order_free(order);
}

static void an_interrupt_ends_the_search_for_the_order(void **state)
{
    (void)state;
    ek_layers layers = model();
    const ek_shape shape = {.n_stages = 64, .n_chunks = 2, .n_micro_batches = 256};
    const ek_interrupt interrupt = {1};
    ek_balance_options o = options(100000);
    ek_balance_result result;
    ek_order *order;
    ek_error err;
    double begin = processor_seconds();
    o.min_layers = 0;
    o.time_limit = 1000;
    o.interrupt = &interrupt;
    ek_status status = ek_balance_arranged(&layers, ek_schedule_find("v-min"), &shape, &o, &order, &result, &err);
    assert_true(processor_seconds() - begin < slower());
    assert_true(status == EK_OK || status == EK_ERR_STOPPED); /* work that must be complete may have ended in time */
    if (status == EK_OK) {
        check_answer(&layers, order, &o, &result);
        ek_balance_result_clear(&result);
        ek_order_free(order);
    } else {
        assert_non_null(strstr(err.message, "interrupted before"));
    }
}

/* 500 live vectors of 64 chunks a stage, which the steady part repeats. Comparing each with all of them took 4 s, and
 * three times as long with sanitizers. */
static void an_order_of_many_chunks_is_made_at_once(void **state)
{
    (void)state;
    const ek_shape shape = {.n_stages = 16, .n_chunks = 64, .n_micro_batches = 1024};
    ek_order *order;
    ek_error err;
    const double *vectors;
    double begin = processor_seconds();
    assert_int_equal(ek_order_new(ek_schedule_find("interleaved"), &shape, &order, &err), EK_OK);
    double spent = processor_seconds() - begin;
    print_message("# %.2f s\n", spent);
    assert_true(spent < 3 * slower());
    assert_int_equal(ek_order_live_vectors(order, 0, &vectors), 498); /* as comparing each with all found */
    assert_int_equal(ek_order_live_vectors(order, 8, &vectors), 512);
    ek_order_free(order);
}

/* ---- equal stages ---- */

static ek_uniform_run run_uniform(const char *schedule, int p, int v, int m, const char *text, double p2p, double limit)
{
    ek_uniform times;
    ek_uniform_run run = {0};
    ek_error err;
    ek_comm comm = {.p2p_time = p2p};
    ek_shape shape = {.n_stages = p, .n_chunks = v, .n_micro_batches = m};
    if (ek_uniform_parse(text, &times, &err) ||
        ek_uniform_simulate(ek_schedule_find(schedule), &shape, &times, &comm, limit, &run, &err))
        fail_msg("%s", err.message);
    return run;
}

static void equal_stages_take_the_closed_form(void **state)
{
    (void)state;
    static const struct {
        const char *schedule;
        int p, v, m;
        double step, peak;
    } cases[] = {
        {"1f1b", 4, 1, 8, (8 + 3) * 9.0, 4},              /* (m + p - 1)(F + B) */
        {"gpipe", 4, 1, 8, (8 + 3) * 9.0, 8},             /* the same step, all m alive */
        {"interleaved", 4, 2, 8, 8 * 9.0 + 3 * 4.5, 5.5}, /* m (F + B) + (p - 1)(F + B) / v; p (1 + (p - 1) / (p v)) */
        {"zb-h1", 4, 1, 8, 8 * 9.0 + 3 * 3.0, 4},         /* (p - 1)(F + B - W) for F = B = W */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ek_uniform_run run = run_uniform(cases[i].schedule, cases[i].p, cases[i].v, cases[i].m,
                                         "forward=3,backward_input=3,backward_weight=3", 0, 0);
        CHECK_WRITTEN(&ek__uniform_answer, ek__uniform_write_json, &run);
        assert_close_to(run.timeline.step_time, cases[i].step, 1e-9);
        assert_close_to(run.peak, cases[i].peak, 0);
        assert_close_to(run.bubble_share, 1 - cases[i].m * 9 / cases[i].step, 1e-12);
        assert_close_to(run.timeline.bubble.real, cases[i].step / (cases[i].m * 9) - 1, 1e-12);
        assert_false(ek_uniform_over_limit(&run));
        ek_uniform_run_clear(&run);
    }
}

static void a_limit_is_kept_by_orders_made_for_it(void **state)
{
    (void)state;
    double step = INFINITY;
    for (int limit = 3; limit <= 8; limit++) {
        ek_uniform_run run = run_uniform("zb-1p", 4, 1, 8, "forward=3,backward=6", 0.5, limit);
        assert_true(run.peak <= limit);
        assert_false(ek_uniform_over_limit(&run));
        assert_true(run.span <= run.timeline.step_time);
        step = fmin(step, run.timeline.step_time);
        ek_uniform_run_clear(&run);
        run = run_uniform("gpipe", 4, 1, 8, "forward=3,backward=6", 0.5, limit);
        assert_int_equal(ek_uniform_over_limit(&run), limit < 8);
        ek_uniform_run_clear(&run);
    }
    ek_uniform_run fixed = run_uniform("1f1b", 4, 1, 8, "forward=3,backward=6", 0.5, 0);
    assert_true(step < fixed.timeline.step_time);
    FILE *full = fopen("/dev/full", "w");
    ek_error err = {0};
    if (full) {
        assert_int_equal(ek__uniform_write_text(&fixed, full, &err), EK_ERR_SYSTEM);
        fclose(full);
    }
    ek_uniform_run_clear(&fixed);
}

static void times_are_parsed(void **state)
{
    (void)state;
    ek_uniform t;
    ek_error err;
    assert_int_equal(ek_uniform_parse("backward_weight=1,forward=2,backward_input=3.5", &t, &err), EK_OK);
    assert_close_to(t.forward_time, 2, 0);
    assert_close_to(t.backward_time, 4.5, 0);
    assert_close_to(t.weight_time, 1, 0);
    assert_close_to(t.weight_share, EK_WEIGHT_SHARE, 0);
    assert_true(t.split_given && !t.share_given);
    assert_int_equal(ek_uniform_parse("forward=2,backward=5,weight_activation=0.25", &t, &err), EK_OK);
    assert_close_to(t.weight_time, 2.5, 0);
    assert_close_to(t.weight_share, 0.25, 0);
    assert_true(!t.split_given && t.share_given);
    assert_int_equal(ek_uniform_parse("forward=0,backward=1e12,weight_activation=1", &t, &err),
                     EK_OK); /* at the ends */
    assert_close_to(t.forward_time, 0, 0);
    assert_close_to(t.backward_time, 1e12, 0);
    assert_close_to(t.weight_share, 1, 0);
    assert_int_equal(ek_uniform_parse("forward=1,backward=0,weight_activation=0", &t, &err), EK_OK);
    assert_close_to(t.weight_share, 0, 0);
    assert_int_equal(
        ek_uniform_parse("forward=1,backward=000000000000000000000000000000000000000000000000000000000000002", &t,
                         &err),
        EK_OK); /* 63 characters */
    assert_close_to(t.backward_time, 2, 0);
    static const char *const wrong[] = {
        "", ",", "forward", "forward=1", "forward=1,", "forward=1,backward=", "forward=1,backward=-2",
        "forward=1,backward=inf", "forward=1,backward=0x10", "forward=1,backward=2,backward=3",
        "forward=1,backward=2,backward_weight=3", "forward=1,backward_weight=3", "forward=0,backward=0",
        "forward=1,backward=2,weight_activation=1.01", "forward=1,backward=1.01e12",
        "forward=1,backward=2,backward_input=1", "forward=1,backward_input=1", "backward=2", "=",
        "forward=1,backward=2e",
        /* 64 characters */
        "forward=1,backward=0000000000000000000000000000000000000000000000000000000000000002", "forwards=1,backward=2",
        "=1"};
    t.forward_time = 77;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        if (ek_uniform_parse(wrong[i], &t, &err) != EK_ERR_INPUT || !err.message[0])
            fail_msg("'%s' was taken", wrong[i]);
    assert_close_to(t.forward_time, 77, 0); /* untouched on failure */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_answer_holds_under_its_order),
        cmocka_unit_test(a_plan_alone_gets_the_same_order),
        cmocka_unit_test(a_limit_without_an_order_is_refused),
        cmocka_unit_test(the_time_limit_covers_the_order),
        cmocka_unit_test(an_interrupt_ends_the_search_for_the_order),
        cmocka_unit_test(an_order_of_many_chunks_is_made_at_once),
        cmocka_unit_test(equal_stages_take_the_closed_form),
        cmocka_unit_test(a_limit_is_kept_by_orders_made_for_it),
        cmocka_unit_test(times_are_parsed),
    };
    return cmocka_run_group_tests_name("arranged", tests, NULL, NULL);
}
