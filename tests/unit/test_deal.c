/* Tests the distribution of work to the processes of a team, which are threads here: every item is done once, whichever
 * process fails, stops or has another version. The oracle is the result that each item must have. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/random.h"
#include "effort.h"
#include "team/deal.h"
#include "thread_team.h"

enum { MOST_ITEMS = 200 };

typedef struct run run;

typedef struct process {
    run *of;
    int index;
    int news_made, news_heard[MOST_ITEMS + 1];
    ek_status status;
    ek_error error;
    ek__deal_end end;
} process;

struct run {
    thread_team team;
    int n_items;
    int n_taken[MOST_ITEMS], n_failed[MOST_ITEMS], value[MOST_ITEMS];
    atomic_int n_worked[MOST_ITEMS];
    int fails_on[MOST_ITEMS]; /* bits of the processes that cannot do it */
    bool is_damaged[MOST_ITEMS];
    int still_at[THREAD_TEAM_MOST];       /* stops when it gets its n-th item, for ever; 0: never */
    double wakes_after[THREAD_TEAM_MOST]; /* seconds that it stops; 0: for ever */
    atomic_int n_given[THREAD_TEAM_MOST];
    bool unwanted[MOST_ITEMS];
    const char *same[THREAD_TEAM_MOST];
    double work_s, patience;
    process process[THREAD_TEAM_MOST];
    pthread_t waker;
    bool has_waker;
    bool own;                        /* item i is for process i */
    bool declines[THREAD_TEAM_MOST]; /* cannot begin */
    int fail_take_at;                /* item; -1 */
    int batch; /* this number of items become known at a time, when those before are taken; 0: all at once */
    int n_known;
};

static ek_status describe(void *user, int item, ek__packet *out, ek_error *err)
{
    (void)user, (void)err;
    out->at = malloc(16);
    out->n = (size_t)snprintf(out->at, 16, "d%d", 7 * item);
    return EK_OK;
}

static bool wanted(void *user, int item)
{
    return !((process *)user)->of->unwanted[item];
}

typedef struct nap {
    run *of;
    int index;
} nap;

static void *wake_up(void *argument)
{
    nap *n = argument;
    thread_pause(n->of->wakes_after[n->index]);
    atomic_store(&n->of->team.process[n->index].stands_still, 0);
    free(n);
    return NULL;
}

static void stand_still(run *r, int index)
{
    atomic_store(&r->team.process[index].stands_still, 1);
    if (r->wakes_after[index] <= 0)
        return;
    nap *n = malloc(sizeof *n);
    *n = (nap){r, index};
    pthread_create(&r->waker, NULL, wake_up, n);
    r->has_waker = true;
}

static ek_status work(void *user, int item, const ek__packet *what, ek__packet *result, ek_error *err)
{
    process *p = user;
    run *r = p->of;
    char text[17] = "";
    memcpy(text, what->at, what->n < 16 ? what->n : 16);
    atomic_fetch_add(&r->n_worked[item], 1);
    int nth = atomic_fetch_add(&r->n_given[p->index], 1) + 1;
    if (r->still_at[p->index] == nth)
        stand_still(r, p->index);
    if (r->work_s > 0)
        thread_pause(r->work_s);
    if (r->fails_on[item] & 1 << p->index || r->is_damaged[item]) {
        *err = (ek_error){.status = EK_OK};
        snprintf(err->message, sizeof err->message, "item %d is %s", item,
                 r->is_damaged[item] ? "damaged" : "not here");
        return r->is_damaged[item] ? EK_ERR_INPUT : EK_ERR_SYSTEM;
    }
    result->at = malloc(32);
    result->n = (size_t)snprintf(result->at, 32, "r%d", atoi(text + 1) + item * item);
    return EK_OK;
}

static ek_status take(void *user, int item, const ek__packet *result, const ek_error *failed, ek_error *err)
{
    run *r = ((process *)user)->of;
    char text[33] = "";
    r->n_taken[item]++;
    if (item == r->fail_take_at) {
        *err = (ek_error){.status = EK_ERR_MEMORY, .message = "no room for it"};
        return EK_ERR_MEMORY;
    }
    if (failed) {
        r->n_failed[item]++;
        r->value[item] = failed->status == EK_ERR_SYSTEM ? -1 : -2;
        /* With items of its own a process has failed at one, or is lost with it. */
        bool lost = r->own && strstr(failed->message, "the work that only process ");
        assert_true(lost || strstr(failed->message, r->is_damaged[item] ? "damaged" : "not here"));
        return EK_OK;
    }
    memcpy(text, result->at ? result->at : "", result->n < 32 ? result->n : 32);
    r->value[item] = result->n ? atoi(text + 1) : -3;
    return EK_OK;
}

static int more(void *user, bool *ended)
{
    run *r = ((process *)user)->of;
    for (int i = 0; i < r->n_known; i++)
        if (r->n_taken[i] == 0)
            return r->n_known;
    *ended = r->n_known == r->n_items;
    r->n_known = r->n_known + r->batch < r->n_items ? r->n_known + r->batch : r->n_items;
    return r->n_known;
}

/* Each process reports its kind once. */
static bool tell(void *user, ek__packet *news)
{
    process *p = user;
    if (p->news_made++ > 0)
        return false;
    news->at = malloc(1);
    news->n = 1;
    *(char *)news->at = (char)p->index;
    return true;
}

static void hear(void *user, const ek__packet *news)
{
    process *p = user;
    assert_int_equal(news->n, 1);
    p->news_heard[(int)*(const char *)news->at]++;
}

static void *take_part(void *argument)
{
    process *p = argument;
    run *r = p->of;
    if (r->declines[p->index]) {
        ek_error why = {.status = EK_ERR_INPUT, .line = 3, .column = 7, .file = "job.yaml"};
        snprintf(why.message, sizeof why.message, "what process %d needs is not here", p->index);
        ek_team_decline(&r->team.process[p->index].team, &why);
        return NULL;
    }
    const ek__deal_job job = {.user = p,
                              .own = r->own,
                              .n_items = p->index == 0 && !r->batch ? r->n_items : 0,
                              .more = r->batch ? more : NULL,
                              .describe = describe,
                              .wanted = wanted,
                              .take = take,
                              .work = work,
                              .tell = tell,
                              .hear = hear,
                              .patience = r->patience,
                              .same = r->same[p->index]};
    p->status = ek__deal(&r->team.process[p->index].team, &job, &p->end, &p->error);
    /* A stopped process wakes when the answer is there, like a continued process: all threads must end. */
    if (p->index == 0)
        for (int i = 1; i < r->team.size; i++)
            atomic_store(&r->team.process[i].stands_still, 0);
    return NULL;
}

static run *make(int size, int n_items)
{
    run *r = calloc(1, sizeof *r);
    thread_team_make(&r->team, size);
    r->n_items = n_items;
    r->fail_take_at = -1;
    r->patience = 20;
    for (int i = 0; i < size; i++)
        r->process[i] = (process){.of = r, .index = i}, r->same[i] = "evenkeel 1";
    return r;
}

static void play(run *r)
{
    thread_team_run(&r->team, take_part, r->process, sizeof *r->process);
    if (r->has_waker)
        pthread_join(r->waker, NULL);
}

static void clear(run *r)
{
    thread_team_clear(&r->team);
    free(r);
}

static int value_of(int item)
{
    return 7 * item + item * item;
}

static void every_item_is_taken_once(void **state)
{
    (void)state;
    static const int sizes[] = {1, 2, 3, 5, 6, 9, 17, 23};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int n = 0; n <= 40; n += 20) {
            run *r = make(sizes[i], n);
            play(r);
            assert_int_equal(r->process[0].status, EK_OK);
            assert_int_equal(r->process[0].end.n_lost, 0);
            for (int k = 0; k < n; k++) {
                assert_int_equal(r->n_taken[k], 1);
                assert_int_equal(r->n_worked[k], 1);
                assert_int_equal(r->value[k], value_of(k));
            }
            for (int k = 1; k < sizes[i]; k++)
                assert_int_equal(r->process[k].status, EK_OK);
            clear(r);
        }
}

static void items_may_become_known_as_results_come(void **state)
{
    (void)state;
    static const int sizes[] = {1, 2, 5, 9};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int batch = 1; batch <= 65; batch *= 8) {
            const int n = 83;
            run *r = make(sizes[i], n);
            r->batch = batch;
            play(r);
            assert_int_equal(r->process[0].status, EK_OK);
            for (int k = 0; k < n; k++) {
                assert_int_equal(r->n_taken[k], 1);
                assert_int_equal(r->value[k], value_of(k));
            }
            for (int k = 1; k < sizes[i]; k++)
                assert_int_equal(r->process[k].status, EK_OK);
            clear(r);
        }
}

static void news_reach_all(void **state)
{
    (void)state;
    run *r = make(23, 60);
    r->work_s = 0.02;
    play(r);
    for (int i = 0; i < 23; i++)
        for (int k = 0; k < 23; k++)
            if (i != k)
                assert_true(r->process[i].news_heard[k] >= 1);
    clear(r);
}

static void what_one_cannot_do_another_does(void **state)
{
    (void)state;
    run *r = make(6, 30);
    r->fails_on[0] = 1;
    r->fails_on[3] = 1 | 4 | 8;
    r->fails_on[7] = 0x1f;
    r->fails_on[9] = 0x3f; /* no process can */
    r->is_damaged[12] = true;
    r->unwanted[20] = true;
    play(r);
    assert_int_equal(r->process[0].status, EK_OK);
    for (int k = 0; k < 30; k++) {
        assert_int_equal(r->n_taken[k], 1);
        assert_int_equal(r->value[k], k == 9 ? -1 : k == 12 ? -2 : k == 20 ? -3 : value_of(k));
    }
    assert_int_equal(r->n_worked[9], 6);
    assert_int_equal(r->n_worked[12], 1);
    assert_int_equal(r->n_worked[20], 0);
    clear(r);
}

static void what_lost_ones_had_is_done_again(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 5; seed++) {
        ek__random random = ek__random_seed(seed);
        int size = 3 + ek__random_below(&random, 9), n_still = 0;
        run *r = make(size, 30);
        r->patience = 0.2;
        r->work_s = 0.002;
        for (int i = 1; i < size; i++)
            if (ek__random_below(&random, 3) == 0) {
                r->still_at[i] = 1 + ek__random_below(&random, 3);
                n_still++;
            }
        if (n_still == 0)
            r->still_at[1] = 1; /* which others send through */
        play(r);
        assert_int_equal(r->process[0].status, EK_OK);
        for (int k = 0; k < 30; k++) {
            assert_int_equal(r->n_taken[k], 1);
            assert_int_equal(r->value[k], value_of(k));
        }
        int n_reached = 0;
        for (int i = 1; i < size; i++)
            n_reached += r->still_at[i] && atomic_load(&r->n_given[i]) >= r->still_at[i];
        assert_true(r->process[0].end.n_lost >= (n_reached > 0));
        assert_true(r->process[0].end.n_lost <= n_reached);
        clear(r);
    }
}

/* Process 1 has results of 5 to 8, which have requested other work since. */
static void results_that_a_lost_one_held_are_made_again(void **state)
{
    (void)state;
    run *r = make(9, 60);
    r->patience = 0.3;
    r->work_s = 0.01;
    r->still_at[1] = 2;
    play(r);
    assert_int_equal(r->process[0].status, EK_OK);
    assert_int_equal(r->process[0].end.n_lost, 1);
    assert_int_equal(r->process[0].end.lost[0], 1);
    int n_again = 0;
    for (int k = 0; k < 60; k++) {
        assert_int_equal(r->n_taken[k], 1);
        assert_int_equal(r->value[k], value_of(k));
        n_again += atomic_load(&r->n_worked[k]) > 1;
    }
    assert_true(n_again > 1); /* its own, and those of the ones below */
    clear(r);
}

/* Long after process 1 is lost, 5 to 8 below it still receive messages that 0 is alive. */
static void those_below_a_lost_one_go_on(void **state)
{
    (void)state;
    run *r = make(9, 16);
    r->patience = 0.1 * slower();
    r->work_s = 0.5 * slower();
    r->still_at[1] = 1;
    play(r);
    assert_int_equal(r->process[0].status, EK_OK);
    assert_int_equal(r->process[0].end.n_lost, 1);
    for (int i = 2; i < 9; i++)
        assert_int_equal(r->process[i].status, EK_OK);
    clear(r);
}

/* A process that was only slow sends a result that another has delivered since. */
static void what_comes_twice_is_taken_once(void **state)
{
    (void)state;
    run *r = make(3, 60);
    r->patience = 0.1;
    r->work_s = 0.02;
    r->still_at[1] = 3;
    r->wakes_after[1] = 0.25;
    play(r);
    assert_int_equal(r->process[0].status, EK_OK);
    assert_int_equal(r->process[0].end.n_lost, 1);
    for (int k = 0; k < 60; k++)
        assert_int_equal(r->n_taken[k], 1);
    clear(r);
}

static void versions_must_be_the_same(void **state)
{
    (void)state;
    run *r = make(5, 10);
    r->same[3] = "evenkeel 2";
    play(r);
    assert_int_equal(r->process[0].status, EK_ERR_INPUT);
    assert_non_null(strstr(r->process[0].error.message, "process 3 on "));
    assert_non_null(strstr(r->process[0].error.message, "evenkeel 2"));
    for (int i = 1; i < 5; i++)
        assert_int_equal(r->process[i].status, EK_ERR_INPUT);
    clear(r);
}

static double seconds_of(run *r)
{
    struct timespec a, b;
    clock_gettime(CLOCK_MONOTONIC, &a);
    play(r);
    clock_gettime(CLOCK_MONOTONIC, &b);
    return (double)(b.tv_sec - a.tv_sec) + 1e-9 * (double)(b.tv_nsec - a.tv_nsec);
}

/* Long before it would be taken for lost, and in its words. */
static void one_that_cannot_begin_ends_all(void **state)
{
    (void)state;
    run *r = make(7, 40);
    r->declines[5] = true;
    r->work_s = 0.05;
    assert_true(seconds_of(r) < 10);
    for (int i = 0; i < 7; i++)
        if (i != 5) {
            const char *told = r->process[i].error.message;
            assert_int_equal(r->process[i].status, EK_ERR_INPUT);
            assert_ptr_equal(strstr(told, "process 5 on "), told);
            assert_non_null(strstr(told, ": job.yaml:3:7: what process 5 needs is not here"));
            assert_int_equal(atomic_load(&r->team.process[i].n_given_up), 0);
        }
    assert_int_equal(r->process[0].end.n_lost, 0);
    clear(r);
}

static void the_others_end_when_process_0_cannot_begin(void **state)
{
    (void)state;
    run *r = make(7, 40);
    r->declines[0] = r->declines[4] = true;
    assert_true(seconds_of(r) < 10);
    for (int i = 1; i < 7; i++)
        if (i != 4) {
            assert_int_equal(r->process[i].status, EK_ERR_INPUT);
            assert_string_equal(r->process[i].error.message, "what process 0 needs is not here");
            assert_string_equal(r->process[i].error.file, "job.yaml");
        }
    clear(r);
}

/* Results of 5 to 8 may be on their way through 1, which is lost. */
static void where_each_has_its_own_the_others_go_on(void **state)
{
    (void)state;
    for (int declines = 0; declines < 2; declines++) {
        run *r = make(9, 9);
        r->own = true;
        r->patience = declines ? 20 : 0.3;
        r->declines[1] = declines;
        r->still_at[1] = !declines;
        assert_true(seconds_of(r) < 10);
        assert_int_equal(r->process[0].status, EK_OK);
        assert_int_equal(r->process[0].end.n_lost, !declines);
        for (int k = 0; k < 9; k++) {
            assert_int_equal(r->n_taken[k], 1);
            assert_int_equal(r->value[k], k != 1 ? value_of(k) : declines ? -2 : -1);
        }
        clear(r);
    }
}

static void the_others_end_when_taking_fails(void **state)
{
    (void)state;
    run *r = make(4, 10);
    r->fail_take_at = 5;
    play(r);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(r->process[i].status, EK_ERR_MEMORY);
        assert_string_equal(r->process[i].error.message, "no room for it");
    }
    clear(r);
}

static void *be_absent(void *argument)
{
    process *p = argument;
    if (p->index > 0)
        return take_part(p);
    thread_pause(0.9);
    return NULL;
}

static void the_others_end_without_process_0(void **state)
{
    (void)state;
    run *r = make(4, 10);
    r->patience = 0.1;
    thread_team_run(&r->team, be_absent, r->process, sizeof *r->process);
    for (int i = 1; i < 4; i++) {
        assert_int_equal(r->process[i].status, EK_ERR_SYSTEM);
        assert_int_equal(r->team.process[i].n_given_up, 1);
    }
    clear(r);
}

/* With a fan-out of 4 process 0 of 21 hears results from 4 only; all others' come through those. */
static void results_come_up_a_tree(void **state)
{
    (void)state;
    run *r = make(21, 0);
    play(r);
    int idle = r->team.process[1].n_received;
    clear(r);
    r = make(21, 105);
    r->work_s = 0.005;
    play(r);
    /* its own items, and about 4 times as many results from below */
    assert_true(r->team.process[1].n_received - idle > 8);
    assert_int_equal(r->process[0].status, EK_OK);
    clear(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_item_is_taken_once),
        cmocka_unit_test(items_may_become_known_as_results_come),
        cmocka_unit_test(news_reach_all),
        cmocka_unit_test(what_one_cannot_do_another_does),
        cmocka_unit_test(what_lost_ones_had_is_done_again),
        cmocka_unit_test(results_that_a_lost_one_held_are_made_again),
        cmocka_unit_test(those_below_a_lost_one_go_on),
        cmocka_unit_test(what_comes_twice_is_taken_once),
        cmocka_unit_test(versions_must_be_the_same),
        cmocka_unit_test(one_that_cannot_begin_ends_all),
        cmocka_unit_test(the_others_end_when_process_0_cannot_begin),
        cmocka_unit_test(where_each_has_its_own_the_others_go_on),
        cmocka_unit_test(the_others_end_when_taking_fails),
        cmocka_unit_test(the_others_end_without_process_0),
        cmocka_unit_test(results_come_up_a_tree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
