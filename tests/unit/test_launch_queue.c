/* Tests the queue of launched work that has not begun: figures and curves of random launches against counting at every
 * nanosecond. Long curves are thinned: their largest and least values, and where they end, stay. */
#include "input.h"

#include <math.h>

#include "base/pool.h"
#include "base/random.h"
#include "trace/analyse/launch_queue.h"

enum { MOST = 40, SPAN = 300 };

typedef struct launches {
    size_t n;
    ek__launched work[MOST];
} launches;

static int by_begin(const void *a, const void *b)
{
    const ek__launched *x = a, *y = b;
    return (x->start > y->start) - (x->start < y->start);
}

/* Some without a launch, some that begin before theirs, several at one time. */
static void make(ek__random *random, launches *l)
{
    l->n = 1 + (size_t)ek__random_below(random, MOST);
    for (size_t i = 0; i < l->n; i++)
        l->work[i].start = 50 + ek__random_below(random, SPAN - 50);
    qsort(l->work, l->n, sizeof *l->work, by_begin);
    for (size_t i = 0; i < l->n; i++) {
        l->work[i].launch = l->work[i].start + 10 - ek__random_below(random, 60);
        if (ek__random_below(random, 6) == 0)
            l->work[i].launch = EK_TRACE_UNKNOWN;
    }
}

static int64_t waiting_at(const launches *l, int64_t time)
{
    int64_t n = 0;
    for (size_t i = 0; i < l->n; i++)
        n += l->work[i].launch != EK_TRACE_UNKNOWN && l->work[i].launch <= time && l->work[i].start > time;
    return n;
}

/* A curve's value at a time: of two points at one time the later one. */
static double curve_at(const ek_trace_value *value, int n, int64_t time)
{
    double found = 0;
    for (int i = 0; i < n && value[i].time <= time; i++)
        found = value[i].value;
    return found;
}

static void check_lengths(const launches *l, const ek_trace_queue *q)
{
    int64_t first = INT64_MAX, last = INT64_MIN, most = 0, sum = 0;
    for (size_t i = 0; i < l->n; i++) {
        int64_t launch = l->work[i].launch, start = l->work[i].start;
        if (launch == EK_TRACE_UNKNOWN || launch >= start)
            continue;
        first = launch < first ? launch : first;
        last = start > last ? start : last;
    }
    for (int64_t time = -20; time < SPAN + 20; time++) {
        int64_t n = waiting_at(l, time);
        most = n > most ? n : most;
        sum += n;
        assert_true(curve_at(q->lengths, q->n_lengths, time) == (double)n);
    }
    assert_int_equal(q->longest, most);
    if (first < last)
        assert_true(fabs(q->length - (double)sum / (double)(last - first)) < 1e-9);
    else
        assert_true(isnan(q->length));
}

static void check_delays(const launches *l, const ek_trace_queue *q)
{
    int64_t n = 0, sum = 0, most = 0;
    for (size_t i = 0; i < l->n; i++) {
        int64_t launch = l->work[i].launch, start = l->work[i].start;
        if (launch == EK_TRACE_UNKNOWN)
            continue;
        int64_t delay = start > launch ? start - launch : 0;
        assert_true(q->delays[n].time == start && q->delays[n].value == (double)delay);
        most = delay > most ? delay : most;
        sum += delay;
        n++;
    }
    assert_int_equal(q->n, n);
    assert_int_equal(q->n_delays, n);
    assert_int_equal(q->longest_delay, most);
    if (n > 0)
        assert_true(fabs(q->delay - (double)sum / (double)n) < 1e-9);
}

static void figures_are_those_of_counting(void **state)
{
    (void)state;
    for (unsigned seed = 1; seed <= 400; seed++) {
        ek__random random = ek__random_seed(seed);
        launches l;
        ek_trace_rank rank = {.pool = ek__pool_new()};
        make(&random, &l);
        assert_int_equal(ek__launch_queue_make(l.work, l.n, rank.pool, &rank.queue, NULL), EK_OK);
        if (rank.queue.n > 0)
            check_lengths(&l, &rank.queue);
        check_delays(&l, &rank.queue);
        ek__pool_free(rank.pool);
    }
}

static void without_launches_there_is_nothing(void **state)
{
    (void)state;
    const ek__launched work = {EK_TRACE_UNKNOWN, 5};
    ek_trace_rank rank = {.pool = ek__pool_new()};
    assert_int_equal(ek__launch_queue_make(&work, 1, rank.pool, &rank.queue, NULL), EK_OK);
    assert_int_equal(rank.queue.n, 0);
    assert_int_equal(rank.queue.n_lengths + rank.queue.n_delays, 0);
    assert_int_equal(ek__launch_queue_make(NULL, 0, rank.pool, &rank.queue, NULL), EK_OK);
    ek__pool_free(rank.pool);
}

/* A hundred are launched at once every microsecond, and begin one after the other. */
static void long_curves_keep_their_extremes(void **state)
{
    (void)state;
    enum { N = 60000, BURST = 100 };
    ek__launched *work = calloc(N, sizeof *work);
    ek_trace_rank rank = {.pool = ek__pool_new()};
    double most = 0, least = INFINITY;
    for (int i = 0; i < N; i++)
        work[i] = (ek__launched){i / BURST * 1000, i / BURST * 1000 + 5 * (i % BURST) + 5};
    assert_int_equal(ek__launch_queue_make(work, N, rank.pool, &rank.queue, NULL), EK_OK);
    const ek_trace_queue *q = &rank.queue;
    assert_true(q->n_lengths <= EK_TRACE_MAX_QUEUE_POINTS && q->n_lengths > EK_TRACE_MAX_QUEUE_POINTS / 2);
    assert_true(q->n_delays <= EK_TRACE_MAX_QUEUE_POINTS && q->n_delays > EK_TRACE_MAX_QUEUE_POINTS / 2);
    for (int i = 0; i < q->n_lengths; i++) {
        most = fmax(most, q->lengths[i].value);
        least = fmin(least, q->lengths[i].value);
        assert_true(i == 0 || q->lengths[i].time >= q->lengths[i - 1].time);
    }
    assert_int_equal(q->longest, BURST);
    assert_true(most == BURST && least == 0);
    assert_true(q->lengths[q->n_lengths - 1].value == 0);
    assert_int_equal(q->longest_delay, 5 * BURST);
    ek__pool_free(rank.pool);
    free(work);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(figures_are_those_of_counting),
        cmocka_unit_test(without_launches_there_is_nothing),
        cmocka_unit_test(long_curves_keep_their_extremes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
