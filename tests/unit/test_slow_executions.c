/* Tests finding executions slower than those of the same operator elsewhere, in traces made by hand: an operator slow
 * in some layers is found, one of a larger parameter or of another place in the graph is not. */
#include "input.h"

#include <unistd.h>

#include "evenkeel/trace.h"

static char path[] = "/tmp/evenkeel-slow-XXXXXX";

static int make_file(void **state)
{
    (void)state;
    int fd = mkstemp(path);
    return fd < 0 ? -1 : close(fd);
}

static int remove_file(void **state)
{
    (void)state;
    return unlink(path);
}

/* `n` operators after one another, over and over; format of their names with a number, every `slow`th one eight times
 * as long as the others. */
static void write_trace(const char *format, int n, int n_times, int slow)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs("[{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":3,\"tid\":0,\"args\":{\"name\":\"Ascend Hardware\"}}", f);
    for (int i = 0, now = 1000; i < n * n_times; i++) {
        char name[160];
        int length = slow > 0 && i % n % slow == 1 ? 400 : 50;
        snprintf(name, sizeof name, format, i % n, i % n);
        fprintf(f,
                ",{\"ph\":\"X\",\"name\":\"%s\",\"pid\":3,\"tid\":1,\"ts\":\"%d.000\",\"dur\":%d.0,\"args\":"
                "{\"Task Type\":\"AI_CORE\"}}",
                name, now, length);
        now += length + 2;
    }
    fputs("]", f);
    assert_int_equal(fclose(f), 0);
}

static void only_operators_with_peers_are_called_slow(void **state)
{
    static const struct {
        const char *format;
        int n, n_times, slow, n_slow;
    } cases[] = {
        {"Default/layers-CellList/%d-Layer/w1-Linear/MatMul-op%d", 12, 10, 3, 40},
        {"Default/layers-CellList/%d-Layer/w1-Linear/MatMul-op%d", 12, 10, 0, 0},
        {"Default/optimizer-Momentum/FusedMulApplyMomentum%d-op%d", 12, 10, 3, 0},
        {"Slice%d-op%d", 12, 10, 3, 0},
        {"Default/conv%d-Conv2d/Conv2D-op%d", 12, 10, 3, 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *const paths[] = {path};
        ek_trace_run run;
        ek_error err = {0};
        write_trace(cases[i].format, cases[i].n, cases[i].n_times, cases[i].slow);
        if (ek_trace_run_read(paths, 1, NULL, NULL, &run, &err))
            fail_msg("%s", err.message);
        const ek_trace_operators *ops = &run.rank[0].operators;
        /* The first two and the last two operators have other neighbours than the rest. */
        if (cases[i].n_slow > 0)
            assert_in_range(ops->n_slow, cases[i].n_slow - 2, cases[i].n_slow);
        else
            assert_int_equal(ops->n_slow, 0);
        for (int k = 0; k < ops->n_slow; k++) {
            assert_int_equal(ops->slow[k].duration, 400000);
            assert_int_equal(ops->slow[k].expected, 50000);
        }
        ek_trace_run_clear(&run);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_operators_with_peers_are_called_slow),
    };
    return cmocka_run_group_tests(tests, make_file, remove_file);
}
