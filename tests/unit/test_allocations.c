/* Tests every allocation of the readers and of the balancer failing once: each gives EK_ERR_MEMORY, leaks nothing
 * (checked by the sanitizer) and leaves the output untouched. Linked with --wrap=ek__alloc, so the library itself needs
 * no hook. */
#include "input.h"

#include "base/edit.h"
#include "base/error.h"
#include "evenkeel/balance.h"
#include "evenkeel/collect.h"
#include "evenkeel/dryrun.h"
#include "evenkeel/emit.h"
#include "evenkeel/job.h"
#include "evenkeel/sequence.h"
#include "evenkeel/strategies.h"

void *__real_ek__alloc(size_t count, size_t size);
void *__wrap_ek__alloc(size_t count, size_t size);

static int left = -1; /* allocations until one fails; negative: none does */

void *__wrap_ek__alloc(size_t count, size_t size)
{
    if (left == 0) {
        left = -1;
        return NULL;
    }
    left -= left > 0;
    return __real_ek__alloc(count, size);
}

/* Run `call` with the first allocation failing, then the second, ... until all succeed; returns how many there are. */
static int fail_each(ek_status (*call)(const char *path, ek_error *err), const char *file)
{
    char path[4096];
    snprintf(path, sizeof path, "%s", source_path(file));
    for (int n = 0;; n++) {
        assert_true(n < 10000);
        ek_error err = {0};
        left = n;
        ek_status status = call(path, &err);
        bool failed = left < 0;
        left = -1;
        if (!failed) {
            assert_int_equal(status, EK_OK);
            return n;
        }
        assert_int_equal(status, EK_ERR_MEMORY);
        assert_string_equal(err.message, "out of memory");
    }
}

static ek_status read_init(const char *path, ek_error *err)
{
    ek_dryrun init = {0};
    ek_layers layers = {0};
    const ek_times times = {1, 1, 1};
    ek_status status = ek_dryrun_read(path, NULL, &init, err);
    if (status) {
        assert_null(init.path);
        return status;
    }
    status = ek_dryrun_decompose(&init, "m", &times, false, &layers, err);
    assert_int_equal(layers.body == NULL, status != EK_OK);
    ek_layers_clear(&layers);
    ek_dryrun_clear(&init);
    return status;
}

static ek_status read_layers(const char *path, ek_error *err)
{
    ek_layers layers = {0};
    ek_status status = ek_layers_read(path, NULL, NULL, &layers, err);
    assert_int_equal(layers.body == NULL, status != EK_OK);
    ek_layers_clear(&layers);
    return status;
}

static ek_status read_strategies(const char *path, ek_error *err)
{
    ek_layer body = {.n_layers = 96, .modelled = {true, true, true, true, true}};
    const ek_layers layers = {.n_body = 1, .body = &body, .n_layers = 96, .modelled = {true, true, true, true, true}};
    ek_strategies strategies = {0};
    ek_status status = ek_strategies_read(path, &layers, 0, NULL, &strategies, err);
    assert_int_equal(strategies.n == 0, status != EK_OK);
    ek_strategies_clear(&strategies);
    return status;
}

static ek_status collect(const char *path, ek_error *err)
{
    ek_collection logs = {0};
    ek_memory_usage usage = {.head = ""};
    char *text = NULL, init[4200];
    size_t size = 0;
    ek_status status = ek_collection_read(&path, 1, 16, NULL, &logs, err);
    assert_int_equal(logs.round == NULL, status != EK_OK);
    if (status == EK_OK)
        status = ek_memory_usage_make(&logs, EK_PEAK_USED, &usage, err);
    snprintf(init, sizeof init, "%s_init.yaml", path);
    if (status == EK_OK)
        status = ek_dryrun_fill(init, &logs, EK_PEAK_ACTUAL, NULL, &text, &size, err);
    assert_int_equal(text == NULL, status != EK_OK);
    free(text);
    ek_memory_usage_clear(&usage);
    ek_collection_clear(&logs);
    return status;
}

static ek_status read_train(const char *path, ek_error *err)
{
    ek_layer body = {.n_layers = 12, .modelled = {true}};
    const ek_layers layers = {.n_body = 1, .body = &body, .n_layers = 12, .modelled = {true}};
    ek_job job = {0};
    ek_layers pieces = {0};
    ek_status status = ek_job_read_part(path, EK_JOB_SHAPES, NULL, &job, err);
    if (status == EK_OK)
        status = ek_layers_split_sequence(&layers, &job, 2, NULL, &pieces, err);
    assert_int_equal(pieces.body == NULL, status != EK_OK);
    ek_layers_clear(&pieces);
    ek_job_clear(&job);
    return status;
}

/* Every emitter on the published plan, with a model and without. Nothing may be written before all memory is
 * allocated. */
static ek_status emit_all(const char *path, ek_error *err)
{
    ek_layer body;
    const ek_layers layers = ek_layers_bare(96, &body);
    const ek_shape shape = {16, 3, 16, 0};
    ek_strategies strategies = {0};
    ek_order *order = NULL;
    ek_status status = ek_strategies_read(path, &layers, 0, NULL, &strategies, err);
    if (status == EK_OK)
        status = ek_order_new(ek_schedule_default(3, 1), &shape, &order, err);
    for (const ek_emitter *const *emitter = ek_emitters; *emitter && status == EK_OK; emitter++) {
        ek_emission emission = {
            .name = "p", .plan = &strategies.strategy[0].plan, .n_layers = 96, .layers = &layers, .order = order};
        char *text = NULL;
        size_t size = 0;
        FILE *out = open_memstream(&text, &size);
        status = (*emitter)->write(&emission, out, NULL, err);
        assert_int_equal(fclose(out), 0);
        assert_int_equal(size == 0, status != EK_OK);
        free(text);
    }
    ek_order_free(order);
    ek_strategies_clear(&strategies);
    return status;
}

static ek_status edit_train(const char *path, ek_error *err)
{
    static const char *const list[] = {"recompute_config", "recompute", NULL}, *const section[] = {"new", "section",
                                                                                                   NULL};
    ek__edit *edit = NULL;
    char *text = NULL;
    size_t size;
    ek_status status = ek__edit_open(path, &edit, err);
    assert_int_equal(edit == NULL, status != EK_OK);
    if (status == EK_OK)
        status = ek__edit_set(edit, list, "[1, 2]", NULL, err);
    if (status == EK_OK)
        status = ek__edit_set(edit, section, "{a: 1}", "b", err);
    if (status == EK_OK)
        status = ek__edit_finish(edit, &text, &size, err);
    assert_int_equal(text == NULL, status != EK_OK);
    free(text);
    ek__edit_free(edit);
    return status;
}

static void any_allocation_of_collecting_peaks_may_fail(void **state)
{
    (void)state;
    assert_true(fail_each(collect, "examples/dryrun16") > 50);
}

static void any_allocation_of_init_and_decomposition_may_fail(void **state)
{
    (void)state;
    assert_true(fail_each(read_init, "tests/data/demo96_init.yaml") > 10);
}

static void any_allocation_of_the_layer_reader_may_fail(void **state)
{
    (void)state;
    assert_true(fail_each(read_layers, "tests/data/two_bodies_layers.json") > 4);
}

static void any_allocation_of_the_plan_reader_may_fail(void **state)
{
    (void)state;
    assert_true(fail_each(read_strategies, "tests/data/llama175b_answer.yaml") > 4);
    assert_true(fail_each(read_strategies, "tests/data/printed_lists.log") > 4);
}

static void any_allocation_of_the_training_file_and_its_pieces_may_fail(void **state)
{
    (void)state;
    assert_true(fail_each(read_train, "tests/data/small_train.yaml") > 4);
}

static void any_allocation_of_the_emitters_may_fail(void **state)
{
    (void)state;
    assert_true(fail_each(emit_all, "tests/data/llama175b_answer.yaml") > 30);
}

static void any_allocation_of_the_editor_may_fail(void **state)
{
    (void)state;
    assert_true(fail_each(edit_train, "tests/data/small_train.yaml") > 20);
}

/* Balance a model that only an uneven split fits, with a head of so much time; `limit` 0: far too little memory. */
static ek_status balance(const ek_order *order, const char *solver, double head, double limit, ek_balance_result *out,
                         ek_layers *layers)
{
    ek_balance_options options;
    ek_balance_options_init(&options);
    options.memory_limit_mb = limit > 0 ? limit : 1;
    options.time_limit = 5;
    options.proof_limit = solver ? 0.01 : 0.2;
    options.n_threads = 1;
    options.n_steps = 20;
    options.solver = solver;
    options.gap = solver ? 0 : options.gap;
    *layers = (ek_layers){
        .n_body = 1,
        .body = layers->body,
        .n_layers = layers->body->n_layers,
        .modelled = {true, [EK_RECOMPUTE_FULL] = true},
        .head = {.forward_time = head, .backward_time = {2 * head}, .parameter_mb = 80, .modelled = {true}}};
    return ek_balance(layers, order, &options, out, NULL);
}

/* With an allocation of a search missing, it still finds a plan or reports that memory is out; it never reports that
 * nothing fits. */
static void any_allocation_of_the_balancer_may_fail(void **state)
{
    (void)state;
    static const struct {
        const char *schedule, *solver;
        ek_shape shape;
        double head;
    } cases[] = {{"1f1b", NULL, {3, 1, 6, 0}, 0},
                 {"interleaved", NULL, {2, 2, 4, 0}, 0},
                 {"gpipe", NULL, {3, 1, 6, 0}, 0.7},
                 {"interleaved", "anneal", {2, 2, 4, 0}, 0.7}}; /* proved when the search is over */
    ek_layer body = {.n_layers = 12,
                     .forward_time = 1,
                     .backward_time = {2, 2, 2, 2, 3},
                     .weight_time = 1,
                     .parameter_mb = 20,
                     .activation_mb = {4, [EK_RECOMPUTE_FULL] = 1},
                     .modelled = {true, [EK_RECOMPUTE_FULL] = true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ek_order *order;
        ek_balance_result result = {0};
        ek_layers layers = {.body = &body};
        assert_int_equal(ek_order_new(ek_schedule_find(cases[i].schedule), &cases[i].shape, &order, NULL), EK_OK);
        assert_int_equal(balance(order, cases[i].solver, cases[i].head, 0, &result, &layers), EK_OK);
        assert_int_equal(result.status, EK_BALANCE_INFEASIBLE);
        double limit = result.smallest_limit_mb + 1;
        ek_balance_result_clear(&result);
        int n_failed = 0;
        for (int n = 0;; n++) {
            left = n;
            ek_status status = balance(order, cases[i].solver, cases[i].head, limit, &result, &layers);
            bool failed = left < 0;
            left = -1;
            n_failed += status == EK_ERR_MEMORY;
            assert_true(status == EK_OK || (failed && status == EK_ERR_MEMORY));
            if (status == EK_OK) {
                assert_int_not_equal(result.status, EK_BALANCE_INFEASIBLE);
                assert_int_equal(ek_plan_check(&result.plan, &layers, NULL), EK_OK);
                ek_balance_result_clear(&result);
            }
            if (!failed)
                break;
            assert_true(n < 20000);
        }
        assert_true(n_failed > 20);
        ek_order_free(order);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_allocation_of_collecting_peaks_may_fail),
        cmocka_unit_test(any_allocation_of_init_and_decomposition_may_fail),
        cmocka_unit_test(any_allocation_of_the_layer_reader_may_fail),
        cmocka_unit_test(any_allocation_of_the_plan_reader_may_fail),
        cmocka_unit_test(any_allocation_of_the_training_file_and_its_pieces_may_fail),
        cmocka_unit_test(any_allocation_of_the_emitters_may_fail),
        cmocka_unit_test(any_allocation_of_the_editor_may_fail),
        cmocka_unit_test(any_allocation_of_the_balancer_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
