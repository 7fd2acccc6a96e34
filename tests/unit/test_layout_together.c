/* Tests the search for layouts on several processes, which are threads here: the answer is that of one process,
 * whichever process stops and when; the best step is known to all at once. */
#include "effort.h"
#include "input.h"

#include <math.h>
#include <stdio.h>
#include <time.h>

#include "evenkeel/layout.h"
#include "evenkeel/layout_advice.h"
#include "job/job_pack.h"
#include "layout_jobs.h"
#include "plan/plan_pack.h"
#include "thread_team.h"

enum { MOST_NEWS = 4096, NEWS = 105 /* of team/deal.c */ };

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* A step to beat, when process 0 first sent it, and when the others had it. */
typedef struct told {
    double seconds, sent, heard;
    int n_heard;
} told;

typedef struct together {
    thread_team team;
    const ek_job *job;
    ek_layout_options options;
    ek_layout_result result;
    ek_status status[THREAD_TEAM_MOST];
    int n_plans[THREAD_TEAM_MOST];
    /* the messages sent */
    pthread_mutex_t lock;
    ek_status (*send)(void *state, int to, int kind, const void *bytes, size_t n, ek_error *err);
    bool (*receive)(void *state, double seconds, ek_team_message *out);
    int n_news;
    told news[MOST_NEWS];
    atomic_long n_messages, n_bytes, n_items;
    /* the process that stops before its n-th message is sent, and for how long; 0: for ever */
    int still, still_at, n_sent;
    double still_s;
} together;

/* The running test: teams' functions have only the process's state. */
static together *at_work;

static told *news_of(together *t, double seconds)
{
    for (int i = 0; i < t->n_news; i++)
        if (t->news[i].seconds == seconds)
            return &t->news[i];
    assert_true(t->n_news < MOST_NEWS);
    t->news[t->n_news] = (told){.seconds = seconds, .sent = now()};
    return &t->news[t->n_news++];
}

static void *wake_up(void *argument)
{
    together *t = argument;
    thread_pause(t->still_s);
    atomic_store(&t->team.process[t->still].stands_still, 0);
    return NULL;
}

static void maybe_stand_still(together *t, const thread_process *p)
{
    pthread_t waker;
    if (p->index != t->still || ++t->n_sent != t->still_at)
        return;
    atomic_store(&t->team.process[t->still].stands_still, 1);
    if (t->still_s > 0 && pthread_create(&waker, NULL, wake_up, t) == 0)
        pthread_detach(waker);
}

static ek_status watched_send(void *state, int to, int kind, const void *bytes, size_t n, ek_error *err)
{
    together *t = at_work;
    double seconds;
    if (kind == NEWS && n >= sizeof seconds) {
        memcpy(&seconds, bytes, sizeof seconds);
        pthread_mutex_lock(&t->lock);
        news_of(t, seconds);
        pthread_mutex_unlock(&t->lock);
    }
    atomic_fetch_add(&t->n_messages, 1);
    atomic_fetch_add(&t->n_bytes, (long)n);
    atomic_fetch_add(&t->n_items, kind == NEWS - 2);
    maybe_stand_still(t, state);
    return t->send(state, to, kind, bytes, n, err);
}

static bool watched_receive(void *state, double seconds, ek_team_message *out)
{
    together *t = at_work;
    bool any = t->receive(state, seconds, out);
    double step;
    if (any && out->kind == NEWS && out->n >= sizeof step) {
        memcpy(&step, out->bytes, sizeof step);
        pthread_mutex_lock(&t->lock);
        told *one = news_of(t, step);
        one->heard = now();
        one->n_heard++;
        pthread_mutex_unlock(&t->lock);
    }
    return any;
}

static void *take_part(void *argument)
{
    const thread_process *p = *(thread_process **)argument;
    together *t = at_work;
    ek_layout_options options = t->options;
    ek_layout_result result = {0};
    ek_error err;
    options.team = &p->team;
    t->status[p->index] = ek_layout_search(t->job, ek_device_find("A100-80"), &options, &result, &err);
    t->n_plans[p->index] = result.n_plans;
    if (p->index == 0 && t->status[0])
        print_message("# %s\n", err.message);
    if (p->index == 0)
        t->result = result;
    else if (!t->status[p->index])
        ek_layout_result_clear(&result);
    /* A dropped process is no longer asleep at the end. */
    if (p->index == 0)
        for (int i = 0; i < t->team.size; i++)
            atomic_store(&t->team.process[i].stands_still, 0);
    return NULL;
}

static void begin(together *t, const ek_job *job, const ek_layout_options *options, int n_processes)
{
    memset(t, 0, sizeof *t);
    t->job = job;
    t->options = *options;
    t->still = -1;
    thread_team_make(&t->team, n_processes);
    pthread_mutex_init(&t->lock, NULL);
    t->send = t->team.process[0].team.send;
    t->receive = t->team.process[0].team.receive;
    for (int i = 0; i < n_processes; i++) {
        t->team.process[i].team.send = watched_send;
        t->team.process[i].team.receive = watched_receive;
    }
}

static void play(together *t)
{
    thread_process *process[THREAD_TEAM_MOST];
    for (int i = 0; i < t->team.size; i++)
        process[i] = &t->team.process[i];
    at_work = t;
    thread_team_run(&t->team, take_part, process, sizeof *process);
}

static void end(together *t)
{
    ek_layout_result_clear(&t->result);
    thread_team_clear(&t->team);
    pthread_mutex_destroy(&t->lock);
}

/* ---- the oracle: one process ---- */

static void assert_same_plan(const ek_layout_plan *a, const ek_layout_plan *b)
{
    size_t cells = (size_t)a->job.plan.n_stages * (size_t)a->job.plan.n_chunks;
    assert_true(ek_layout_equal(&a->layout, &b->layout));
    assert_true(a->estimate.step.seconds == b->estimate.step.seconds);
    assert_true(a->estimate.memory.stage[a->estimate.memory.fullest].actual_peak ==
                b->estimate.memory.stage[b->estimate.memory.fullest].actual_peak);
    assert_true(a->lower_bound == b->lower_bound);
    assert_string_equal(a->settings, b->settings);
    assert_int_equal(a->job.plan.n_stages, b->job.plan.n_stages);
    assert_memory_equal(a->job.plan.layers, b->job.plan.layers, 4 * cells * sizeof(int));
    assert_int_equal(a->job.n_patterns, b->job.n_patterns);
    for (int i = 0; i < a->job.n_patterns; i++)
        assert_string_equal(a->job.pattern[i].text, b->job.pattern[i].text);
}

static void assert_same_result(const ek_layout_result *a, const ek_layout_result *b)
{
    assert_int_equal(a->n_plans, b->n_plans);
    for (int i = 0; i < a->n_plans; i++)
        assert_same_plan(&a->plan[i], &b->plan[i]);
    assert_memory_equal(&a->counts, &b->counts, sizeof a->counts);
    assert_int_equal(a->proved, b->proved);
    assert_int_equal(a->ended_early, b->ended_early);
    assert_true(a->lower_bound == b->lower_bound && a->gap == b->gap);
    assert_int_equal(a->n_points, b->n_points);
    for (long i = 0; i < a->n_points; i++) {
        const ek_layout_point *x = &a->point[i], *y = &b->point[i];
        assert_true(ek_layout_equal(&x->layout, &y->layout));
        assert_true(x->fate == y->fate && x->found == y->found && x->seconds == y->seconds &&
                    x->peak_mb == y->peak_mb && x->least_seconds == y->least_seconds && x->least_mb == y->least_mb);
    }
}

static ek_layout_options options_of(int n_devices)
{
    ek_layout_options o;
    ek_layout_options_init(&o);
    o.n_devices = n_devices;
    o.n_threads = 1;
    o.time_limit = 600; /* never ended by the clock, which would leave layouts open */
    o.n_best = 3;
    return o;
}

/* A job with enough work to distribute in its search. */
static bool some_job(ek__random *random, ek_job *job)
{
    if (!random_small_job(random, 8, job))
        return false;
    job->limit_mb = 1500 + 500 * ek__random_below(random, 4);
    return true;
}

static ek_layout_result alone(const ek_job *job, const ek_layout_options *options)
{
    ek_layout_result result;
    assert_int_equal(ek_layout_search(job, ek_device_find("A100-80"), options, &result, NULL), EK_OK);
    return result;
}

static void answers_are_those_of_one_process(void **state)
{
    static const int sizes[] = {1, 2, 4, 8};
    ek__random random = ek__random_seed(11);
    together *t = malloc(sizeof *t);
    int n_plans = 0;
    long n_items = 0;
    (void)state;
    for (int i = 0; i < effort(4, 1); i++) {
        ek_job job;
        assert_true(some_job(&random, &job));
        const ek_layout_options o = options_of(16);
        ek_layout_result one = alone(&job, &o);
        n_plans += one.n_plans;
        for (int k = 0; k < 4; k++) {
            begin(t, &job, &o, sizes[k]);
            play(t);
            for (int p = 0; p < sizes[k]; p++)
                assert_int_equal(t->status[p], EK_OK);
            for (int p = 1; p < sizes[k]; p++)
                assert_int_equal(t->n_plans[p], 0);
            assert_same_result(&one, &t->result);
            n_items += atomic_load(&t->n_items);
            end(t);
        }
        ek_layout_result_clear(&one);
        ek_job_clear(&job);
    }
    print_message("# %d plans, %ld layouts done by others\n", n_plans, n_items);
    assert_true(n_plans >= effort(4, 3) && n_items > 20);
    free(t);
}

static void count_lost(void *user, const ek_error *warning)
{
    int *n = user;
    assert_non_null(strstr(warning->message, " has shown no sign of life for 0 s and is left out; others did its work"));
    ++*n;
}

static void a_process_that_stands_still_costs_time_only(void **state)
{
    ek__random random = ek__random_seed(12);
    together *t = malloc(sizeof *t);
    int n_given_up = 0, n_told = 0;
    const ek_listener listener = {count_lost, &n_told};
    (void)state;
    for (int i = 0; i < effort(4, 2); i++) {
        ek_job job;
        assert_true(some_job(&random, &job));
        ek_layout_options o = options_of(16);
        ek_layout_result one = alone(&job, &o);
        o.patience = 0.3;
        o.listener = &listener;
        begin(t, &job, &o, 3);
        t->still = 1 + ek__random_below(&random, 2);
        t->still_at = 2 + ek__random_below(&random, 12);
        t->still_s = i % 2 ? 0.6 : 0;
        play(t);
        assert_int_equal(t->status[0], EK_OK);
        assert_same_result(&one, &t->result);
        n_given_up += atomic_load(&t->team.process[0].n_given_up);
        if (i % 2) /* the waker has ended */
            thread_pause(0.7);
        end(t);
        ek_layout_result_clear(&one);
        ek_job_clear(&job);
    }
    print_message("# %d processes were lost\n", n_given_up);
    assert_true(n_given_up > 0);
    assert_int_equal(n_told, n_given_up);
    free(t);
}

static void the_best_is_known_to_all_within_a_second(void **state)
{
    ek__random random = ek__random_seed(13);
    together *t = malloc(sizeof *t);
    double longest = 0;
    int n = 0;
    (void)state;
    for (int i = 0; i < effort(4, 2); i++) {
        ek_job job;
        assert_true(some_job(&random, &job));
        const ek_layout_options o = options_of(16);
        begin(t, &job, &o, 6);
        play(t);
        for (int k = 0; k < t->n_news; k++) {
            if (t->news[k].n_heard < 5) /* the search was over */
                continue;
            longest = fmax(longest, t->news[k].heard - t->news[k].sent);
            n++;
        }
        /* The time of the last layout in the answer had been sent, or no work remained to use it. */
        for (int k = 1; k < t->n_news; k++)
            assert_true(t->news[k].seconds <= t->news[k - 1].seconds);
        end(t);
        ek_job_clear(&job);
    }
    print_message("# %d news, the last process had each after %.4f s at most\n", n, longest);
    assert_true(n > 0);
    assert_true(longest < 1);
    free(t);
}

/* ---- messages ---- */

static void what_is_cut_or_too_long_is_told(void **state)
{
    ek__random random = ek__random_seed(14);
    ek_job job, back;
    ek_error err;
    ek__pack pack = {.at = NULL};
    (void)state;
    assert_true(some_job(&random, &job));
    ek__job_pack(&job, &pack);
    assert_int_equal(ek__pack_end(&pack, &err), EK_OK);
    ek__unpack whole = ek__unpack_of(pack.at, pack.n);
    assert_int_equal(ek__job_unpack(&whole, job.path, &back, &err), EK_OK);
    assert_int_equal(ek__unpack_end(&whole, &err), EK_OK);
    assert_memory_equal(back.plan.layers, job.plan.layers,
                        4 * (size_t)job.plan.n_stages * (size_t)job.plan.n_chunks * sizeof(int));
    assert_int_equal(back.n_patterns, job.n_patterns);
    assert_ptr_equal(back.schedule, job.schedule);
    ek_job_clear(&back);
    for (size_t n = 0; n < pack.n; n += n < pack.n - 64 ? 1 + n / 64 : 1) {
        ek__unpack cut = ek__unpack_of(pack.at, n);
        assert_int_equal(ek__job_unpack(&cut, NULL, &back, &err), EK_ERR_SYSTEM);
    }
    char *longer = calloc(pack.n + 1, 1);
    memcpy(longer, pack.at, pack.n);
    ek__unpack more = ek__unpack_of(longer, pack.n + 1);
    assert_int_equal(ek__job_unpack(&more, NULL, &back, &err), EK_OK);
    assert_int_equal(ek__unpack_end(&more, &err), EK_ERR_SYSTEM);
    ek_job_clear(&back);
    ek_job_clear(&job);
    free(longer);
    free(pack.at);
}

static void other_jobs_are_told(void **state)
{
    ek__random random = ek__random_seed(15);
    (void)state;
    ek_job job[2];
    assert_true(some_job(&random, &job[0]));
    assert_int_equal(ek_job_copy(&job[0], &job[1], NULL), EK_OK);
    job[1].parallel.seq_length *= 2; /* as another file of the same name has it */
    const ek_layout_options o = options_of(16);
    together *t = malloc(sizeof *t);
    for (int same = 0; same < 2; same++) {
        begin(t, &job[0], &o, 2);
        thread_process *p0 = &t->team.process[0];
        at_work = t;
        thread_process *p1 = &t->team.process[1];
        pthread_t thread;
        pthread_create(&thread, NULL, take_part, &p0);
        ek_layout_options options = o;
        ek_layout_result result = {0};
        ek_error err = {.status = EK_OK};
        options.team = &p1->team;
        ek_status status = ek_layout_search(&job[same ? 0 : 1], ek_device_find("A100-80"), &options, &result, &err);
        pthread_join(thread, NULL);
        assert_int_equal(t->status[0], same ? EK_OK : EK_ERR_INPUT);
        assert_int_equal(status, same ? EK_OK : EK_ERR_INPUT);
        if (!same)
            assert_non_null(strstr(err.message, "all machines need the same"));
        end(t);
    }
    ek_job_clear(&job[0]);
    ek_job_clear(&job[1]);
    free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_are_those_of_one_process),
        cmocka_unit_test(a_process_that_stands_still_costs_time_only),
        cmocka_unit_test(the_best_is_known_to_all_within_a_second),
        cmocka_unit_test(what_is_cut_or_too_long_is_told),
        cmocka_unit_test(other_jobs_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
