/* Tests finding the step around a time against a search of all steps: times in any order, also with steps without
 * times. */
#include "input.h"

#include "base/random.h"
#include "trace/rank.h"

enum { MOST = 12, SPAN = 100 };

static int last_by_then(const ek_trace_rank *rank, int64_t time)
{
    int found = -1;
    for (int i = 0; i < rank->n_steps; i++) {
        int64_t start = ek__step_start_of(&rank->step[i]);
        if (start != EK_TRACE_UNKNOWN && start <= time)
            found = i;
    }
    return found;
}

/* In order of their begins, on the host or on the device. */
static void make_steps(ek__random *random, ek_trace_rank *rank)
{
    int64_t time = 0;
    rank->n_steps = ek__random_below(random, MOST + 1);
    for (int i = 0; i < rank->n_steps; i++) {
        ek_trace_step *step = &rank->step[i];
        time += ek__random_below(random, 2 * SPAN / MOST);
        *step = (ek_trace_step){.start = EK_TRACE_UNKNOWN, .host_start = EK_TRACE_UNKNOWN};
        step->warm_up = ek__random_below(random, 3) == 0;
        switch (ek__random_below(random, 4)) {
        case 0:
            break;
        case 1:
            step->start = time;
            break;
        case 2:
            step->host_start = time;
            step->start = time + 5;
            break;
        default:
            step->host_start = time;
        }
    }
}

static void the_cursor_finds_what_a_search_of_all_steps_does(void **state)
{
    ek__random random = ek__random_seed(91);
    (void)state;
    for (int round = 0; round < 2000; round++) {
        ek_trace_step step[MOST];
        ek_trace_rank rank = {.step = step};
        make_steps(&random, &rank);
        ek__step_cursor cursor = ek__step_cursor_of(&rank), counts = cursor;
        int64_t time = 0;
        for (int i = 0; i < 60; i++) {
            /* Up, down, and anywhere. */
            if (round % 3 == 2)
                time = ek__random_below(&random, SPAN + 20) - 10;
            else
                time = round % 3 == 0 ? 2 * i - 10 : SPAN + 10 - 2 * i;
            const int expected = last_by_then(&rank, time);
            assert_int_equal(ek__step_index_before(&cursor, time), expected);
            assert_int_equal(ek__after_warm_up(&counts, time), expected < 0 || !step[expected].warm_up);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_cursor_finds_what_a_search_of_all_steps_does)};
    return cmocka_run_group_tests_name("step_cursor", tests, NULL, NULL);
}
