/* Tests work in a child process: its answer, its crash, its end on request, and that nothing of it happens in this
 * process. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/child.h"
#include "base/watch.h"

typedef struct task {
    int base;      /* the child's start value */
    int n_asked;   /* number of calls in this process that check for the end */
    int over_from; /* the time at which it is */
} task;

static bool over(void *user)
{
    task *t = user;
    return ++t->n_asked >= t->over_from;
}

enum { N = 100000 };

static bool squares(void *user, void *answer)
{
    const task *t = user;
    long *out = answer;
    for (int i = 0; i < N; i++)
        out[i] = (long)(t->base + i) * (t->base + i);
    return true;
}

static bool noisy(void *user, void *answer)
{
    ((task *)user)->base = -1;
    *(int *)answer = 7;
    puts("not ok 99 - printed by a child");
    fputs("printed by a child\n", stderr);
    fflush(stdout);
    signal(SIGINT, SIG_DFL);
    return true;
}

static bool crashes(void *user, void *answer)
{
    (void)user;
    *(int *)answer = 1;
    kill(getpid(), SIGKILL);
    return true;
}

static bool gives_up(void *user, void *answer)
{
    (void)user;
    *(int *)answer = 1;
    return false;
}

static bool never_ends(void *user, void *answer)
{
    (void)user;
    (void)answer;
    for (;;)
        pause();
    return true;
}

static void an_answer_comes_whole(void **state)
{
    (void)state;
    task t = {.base = 5, .over_from = 1 << 30};
    long *answer = calloc(N, sizeof *answer);
    ek__child_end end;
    ek_error err;
    assert_int_equal(ek__child_run(squares, over, &t, answer, N * sizeof *answer, &end, &err), EK_OK);
    assert_int_equal(end, EK__CHILD_ANSWERED);
    for (int i = 0; i < N; i++)
        assert_int_equal(answer[i], (long)(5 + i) * (5 + i));
    free(answer);
}

static void nothing_but_the_answer_comes_back(void **state)
{
    (void)state;
    task t = {.base = 5, .over_from = 1 << 30};
    int answer = 0;
    ek__child_end end;
    ek_error err;
    assert_int_equal(ek__child_run(noisy, over, &t, &answer, sizeof answer, &end, &err), EK_OK);
    assert_int_equal(end, EK__CHILD_ANSWERED);
    assert_int_equal(answer, 7);
    assert_int_equal(t.base, 5);
}

static void a_crash_leaves_the_answer_alone(void **state)
{
    (void)state;
    bool (*const ways[])(void *, void *) = {crashes, gives_up};
    for (int i = 0; i < 2; i++) {
        task t = {.over_from = 1 << 30};
        int answer = 42;
        ek__child_end end;
        ek_error err;
        assert_int_equal(ek__child_run(ways[i], over, &t, &answer, sizeof answer, &end, &err), EK_OK);
        assert_int_equal(end, EK__CHILD_CRASHED);
        assert_int_equal(answer, 42);
    }
}

static void what_is_over_is_ended(void **state)
{
    (void)state;
    task t = {.over_from = 6};
    int answer = 42;
    ek__child_end end;
    ek_error err;
    assert_int_equal(ek__child_run(never_ends, over, &t, &answer, sizeof answer, &end, &err), EK_OK);
    assert_int_equal(end, EK__CHILD_STOPPED);
    assert_int_equal(t.n_asked, 6);
    assert_int_equal(answer, 42);
}

/* Where a process lets the system reap its children, there is none to wait for. */
static void a_process_that_ignores_its_children_gets_answers_too(void **state)
{
    (void)state;
    task t = {.base = 1, .over_from = 1 << 30};
    long answer[N / 100];
    bool (*const ways[])(void *, void *) = {noisy, crashes};
    const ek__child_end wanted[] = {EK__CHILD_ANSWERED, EK__CHILD_CRASHED};
    void (*before)(int) = signal(SIGCHLD, SIG_IGN);
    for (int i = 0; i < 2; i++) {
        ek__child_end end;
        ek_error err;
        assert_int_equal(ek__child_run(ways[i], over, &t, answer, sizeof answer, &end, &err), EK_OK);
        assert_int_equal(end, wanted[i]);
    }
    signal(SIGCHLD, before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_answer_comes_whole),
        cmocka_unit_test(nothing_but_the_answer_comes_back),
        cmocka_unit_test(a_crash_leaves_the_answer_alone),
        cmocka_unit_test(what_is_over_is_ended),
        cmocka_unit_test(a_process_that_ignores_its_children_gets_answers_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
