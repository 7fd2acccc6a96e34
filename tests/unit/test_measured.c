/* Tests executions grouped by shape and by kernel: counts, sums, medians, shares and blocks against going through all
 * executions for every row, with few rows and with many. */
#include "input.h"

#include <math.h>
#include <stdbool.h>

#include "base/pool.h"
#include "base/random.h"
#include "trace/events/measured.h"

enum { MOST = 3000, N_TEXTS = 1000 };

static char text[N_TEXTS][32];

static const char *text_of(const void *user, uint32_t number)
{
    (void)user;
    return text[number];
}

static int by_time(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* The row of a pair, by its texts. */
static const ek_trace_shaped *row_of(const ek_trace_measured *m, const ek__execution *e)
{
    const ek_trace_shaped *found = NULL;
    char name[32];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(text[e->what], "\n"), text[e->what]);
    for (int i = 0; i < m->n; i++)
        if (strcmp(m->op[i].name, name) == 0 && strcmp(m->op[i].kernel, text[e->kernel]) == 0) {
            assert_null(found); /* one row a pair */
            found = &m->op[i];
        }
    assert_non_null(found);
    return found;
}

static void check_row(const ek_trace_shaped *row, const ek__execution *all, size_t n, const ek__execution *like)
{
    int64_t duration[MOST], total = 0, blocks = 0;
    size_t k = 0;
    double sum = 0, time = 0;
    for (size_t i = 0; i < n; i++) {
        const ek__execution *e = &all[i];
        if (e->what != like->what || e->kernel != like->kernel)
            continue;
        duration[k++] = e->duration;
        total += e->duration;
        blocks = e->blocks > blocks ? e->blocks : blocks;
        if (!isnan(e->unit[EK_TRACE_CUBE])) {
            sum += e->unit[EK_TRACE_CUBE] * (double)e->duration;
            time += (double)e->duration;
        }
    }
    qsort(duration, k, sizeof *duration, by_time);
    assert_int_equal(row->count, k);
    assert_int_equal(row->total, total);
    assert_int_equal(row->min, duration[0]);
    assert_int_equal(row->max, duration[k - 1]);
    assert_true(row->median == ((double)duration[(k - 1) / 2] + (double)duration[k / 2]) / 2);
    assert_int_equal(row->blocks, blocks);
    assert_int_equal(isnan(row->unit[EK_TRACE_CUBE]), !(time > 0));
    if (time > 0)
        assert_true(fabs(row->unit[EK_TRACE_CUBE] - sum / time) < 1e-12);
}

static void rows_are_what_all_executions_say(void **state)
{
    ek__random r = ek__random_seed(44);
    static ek__execution all[MOST], before[MOST];
    (void)state;
    for (int i = 0; i < N_TEXTS; i++) /* the order of texts is not that of numbers */
        snprintf(text[i], sizeof text[i], "op%03d\n%s", (i * 37) % N_TEXTS, i % 3 ? "2,3" : "");
    for (int round = 0; round < 40; round++) {
        const size_t n = (size_t)ek__random_below(&r, round < 30 ? 60 : MOST);
        const int n_what = round < 30 || round % 2 ? 4 : 60, n_kernels = round < 30 ? 3 : round % 2 ? 800 : 10;
        ek_trace_rank rank = {.pool = ek__pool_new()};
        for (size_t i = 0; i < n; i++)
            all[i] = (ek__execution){
                .what = (uint32_t)ek__random_below(&r, n_what),
                .kernel = (uint32_t)(100 + ek__random_below(&r, n_kernels)),
                .start = ek__random_below(&r, 5) ? ek__random_below(&r, 500) : EK_TRACE_UNKNOWN,
                .duration = ek__random_below(&r, 20),
                .blocks = ek__random_below(&r, 7),
                .unit = {ek__random_below(&r, 3) ? .01 * ek__random_below(&r, 100) : (double)NAN, NAN, NAN, NAN, NAN}};
        memcpy(before, all, n * sizeof *all);
        assert_int_equal(ek__measured_keep(all, n, text_of, NULL, &rank, NULL), EK_OK);
        const ek_trace_measured *m = &rank.measured;
        int64_t counted = 0, shaped = 0;
        size_t placed = 0;
        for (int i = 0; i < m->n; i++) {
            counted += m->op[i].count;
            assert_true(i == 0 || strcmp(m->op[i - 1].name, m->op[i].name) <= 0);
        }
        assert_int_equal(counted, n);
        for (size_t i = 0; i < n; i++) {
            const ek_trace_shaped *row = row_of(m, &before[i]);
            shaped += row->shapes[0] != '\0';
            placed += before[i].start != EK_TRACE_UNKNOWN;
            if (n < 100 || i % 50 == 0)
                check_row(row, before, n, &before[i]);
        }
        assert_int_equal(m->n_executions, shaped);
        assert_int_equal(m->n_all, placed);
        for (size_t i = 0; i < m->n_all; i++)
            assert_true(i == 0 || m->execution[i - 1].start <= m->execution[i].start);
        for (size_t i = 0; i < m->n_all && n < 100; i++) {
            int like = 0;
            for (size_t k = 0; k < n; k++)
                like += before[k].start == m->execution[i].start && before[k].duration == m->execution[i].duration &&
                        row_of(m, &before[k]) == &m->op[m->execution[i].op];
            assert_true(like > 0);
        }
        ek__pool_free(rank.pool);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(rows_are_what_all_executions_say)};
    return cmocka_run_group_tests_name("measured", tests, NULL, NULL);
}
