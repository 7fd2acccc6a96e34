/* Tests rankings and sweeps against separate calls of the balancer: a small model that is solved long before the clock
 * ends it, so every answer is that of ek_balance_arranged() to the last bit. */
#include "report_fixture.h"

#include <math.h>

#include "assert_close.h"
#include "evenkeel/job.h"
#include "evenkeel/ranking.h"
#include "evenkeel/sequence.h"
#include "evenkeel/sweep.h"

enum { STAGES = 2, MICRO_BATCHES = 4, LAYERS = 8 };

static ek_balance_options options_at(double limit_mb)
{
    ek_balance_options options;
    ek_balance_options_init(&options);
    options.memory_limit_mb = limit_mb;
    options.time_limit = 300;
    options.gap = 0;
    options.n_threads = 2;
    return options;
}

static ek_ranking_input every_schedule(const fixture *f, double limit_mb)
{
    return (ek_ranking_input){.layers = &f->layers,
                              .n_stages = STAGES,
                              .n_micro_batches = MICRO_BATCHES,
                              .n_pieces = 1,
                              .every_schedule = true,
                              .options = options_at(limit_mb)};
}

/* A separate call; the step, or INFINITY with *needed the smallest limit. */
static double alone(const ek_layers *layers, const ek_schedule *schedule, ek_shape shape, double limit_mb,
                    double *peak_mb, double *needed_mb)
{
    ek_balance_options options = options_at(limit_mb);
    ek_order *order;
    ek_balance_result result;
    ek_timeline timeline;
    ek_error err;
    if (ek_balance_arranged(layers, schedule, &shape, &options, &order, &result, &err))
        fail_msg("%s", err.message);
    double step = INFINITY;
    if (result.status != EK_BALANCE_INFEASIBLE) {
        assert_int_equal(ek_simulate(order, &result.plan, layers, NULL, &timeline, &err), EK_OK);
        step = timeline.step_time;
        *peak_mb = ek_timeline_peak(&timeline, NULL);
        ek_timeline_clear(&timeline);
    }
    *needed_mb = result.smallest_limit_mb;
    ek_balance_result_clear(&result);
    ek_order_free(order);
    return step;
}

static const ek_skipped *skipped(const ek_ranking *ranking, const char *name)
{
    for (int i = 0; i < ranking->n_skipped; i++)
        if (strcmp(ranking->skipped[i].name, name) == 0)
            return &ranking->skipped[i];
    return NULL;
}

/* ---- rankings ---- */

static void every_row_is_a_call_of_its_own_and_the_best_is_the_best_of_them(void **state)
{
    (void)state;
    static const int chunks[] = {1, 2, 8};
    fixture f;
    fixture_init(&f, "small", LAYERS);
    ek_ranking_input input = every_schedule(&f, 6000);
    input.n_chunk_counts = 3;
    input.chunk_counts = chunks;
    ek_choice choice;
    ek_error err;
    assert_int_equal(ek_rank_schedules(&input, &choice, &err), EK_OK);
    assert_true(choice.ranking.n >= 8);
    double best = INFINITY;
    for (int i = 0; i < choice.ranking.n; i++) {
        const ek_ranked *r = &choice.ranking.ranked[i];
        ek_shape shape = {STAGES, r->n_chunks, MICRO_BATCHES, 1};
        double peak = NAN, needed;
        double step = alone(&f.layers, r->schedule, shape, 6000, &peak, &needed);
        assert_true(step == r->step_time);
        assert_true(isinf(step) || peak == r->peak_memory_mb);
        assert_true(i == 0 || r->step_time >= choice.ranking.ranked[i - 1].step_time);
        best = fmin(best, step);
    }
    assert_true(isfinite(best));
    assert_true(choice.result.step_time == best);
    assert_ptr_equal(choice.schedule, ek_order_schedule(choice.order));
    /* 2 stages of 8 chunks are more than 8 layers; pieces have their own schedule. */
    const ek_skipped *few = skipped(&choice.ranking, "-i 8"), *pieces = skipped(&choice.ranking, "sequence");
    assert_non_null(few);
    assert_string_equal(few->reason, "8 layers are too few for 2 stages of 8 chunks with 1 each");
    assert_non_null(pieces);
    assert_string_equal(pieces->reason, "for sequence pieces (-seq)");
    ek_choice_clear(&choice);
    assert_null(choice.order);
}

static void without_schedules_each_number_of_chunks_has_its_usual_one(void **state)
{
    (void)state;
    static const int chunks[] = {1, 2};
    fixture f;
    fixture_init(&f, "small", LAYERS);
    ek_ranking_input input = every_schedule(&f, 6000);
    input.every_schedule = false;
    input.n_chunk_counts = 2;
    input.chunk_counts = chunks;
    input.less_memory = true;
    ek_choice choice;
    ek_error err;
    assert_int_equal(ek_rank_schedules(&input, &choice, &err), EK_OK);
    assert_int_equal(choice.ranking.n, 2);
    for (int i = 0; i < 2; i++) {
        const ek_ranked *r = &choice.ranking.ranked[i];
        assert_string_equal(r->schedule->name, r->n_chunks == 1 ? "1f1b" : "interleaved-less-memory");
    }
    ek_choice_clear(&choice);
}

static void where_nothing_fits_the_smallest_limit_is_best(void **state)
{
    (void)state;
    fixture f;
    fixture_init(&f, "small", LAYERS);
    ek_ranking_input input = every_schedule(&f, 100);
    const ek_schedule *const two[] = {ek_schedule_find("gpipe"), ek_schedule_find("1f1b"), ek_schedule_find("gpipe")};
    input.every_schedule = false;
    input.schedule = two;
    input.n_schedules = 3; /* one of them twice */
    ek_choice choice;
    ek_error err;
    assert_int_equal(ek_rank_schedules(&input, &choice, &err), EK_OK);
    assert_int_equal(choice.ranking.n, 2);
    assert_int_equal(choice.result.status, EK_BALANCE_INFEASIBLE);
    double least = INFINITY;
    for (int i = 0; i < 2; i++) {
        ek_shape shape = {STAGES, 1, MICRO_BATCHES, 1};
        double peak, needed;
        assert_true(isinf(alone(&f.layers, two[i], shape, 100, &peak, &needed)));
        least = fmin(least, needed);
    }
    assert_true(choice.result.smallest_limit_mb == least);
    assert_true(choice.ranking.ranked[0].smallest_limit_mb == least);
    ek_choice_clear(&choice);
}

typedef struct told {
    int n, filled, released;
    bool interrupt_after_first;
    ek_interrupt interrupted;
} told;

static void note_candidate(void *user, const ek_ranking_candidate *candidate)
{
    told *t = user;
    assert_int_equal(candidate->index, t->n);
    assert_true(candidate->time_limit > 0);
    t->n++;
    if (t->interrupt_after_first)
        ek_interrupt_set(&t->interrupted);
}

static void an_interrupt_skips_the_candidates_that_follow(void **state)
{
    (void)state;
    fixture f;
    fixture_init(&f, "small", LAYERS);
    told t = {.interrupt_after_first = true};
    ek_ranking_input input = every_schedule(&f, 6000);
    input.options.interrupt = &t.interrupted;
    input.next = note_candidate;
    input.user = &t;
    ek_choice choice;
    ek_error err;
    assert_int_equal(ek_rank_schedules(&input, &choice, &err), EK_OK);
    assert_int_equal(t.n, 1);
    assert_non_null(skipped(&choice.ranking, "gpipe -i 1"));
    assert_string_equal(skipped(&choice.ranking, "gpipe -i 1")->reason, "interrupted before it was tried");
    ek_choice_clear(&choice);
}

/* Lists only for two chunks. */
static ek_status fill_two_chunks(const void *user, const ek_shape *shape, ek_balance_options *options, void **own,
                                 ek_error *err)
{
    told *t = *(told *const *)user;
    if (shape->n_chunks != 2) {
        *err = (ek_error){.status = EK_ERR_INPUT, .message = "not two chunks"};
        return EK_ERR_INPUT;
    }
    options->memory_limit_mb = 1e6;
    *own = t;
    t->filled++;
    return EK_OK;
}

static void release_two_chunks(void *own)
{
    ((told *)own)->released++;
}

static void lists_hold_for_their_shape_and_their_failure_skips_a_candidate(void **state)
{
    (void)state;
    static const int chunks[] = {1, 2};
    told t = {0}, *user = &t;
    fixture f;
    fixture_init(&f, "small", LAYERS);
    const ek_balance_lists lists = {fill_two_chunks, release_two_chunks, &user};
    ek_ranking_input input = every_schedule(&f, 100); /* nothing would fit */
    input.every_schedule = false;
    input.n_chunk_counts = 2;
    input.chunk_counts = chunks;
    input.lists = &lists;
    ek_choice choice;
    ek_error err;
    assert_int_equal(ek_rank_schedules(&input, &choice, &err), EK_OK);
    assert_int_equal(choice.n_chunks, 2);
    assert_true(choice.result.status != EK_BALANCE_INFEASIBLE);
    assert_string_equal(skipped(&choice.ranking, "1f1b -i 1")->reason, "not two chunks");
    assert_int_equal(t.filled, 1);
    assert_int_equal(t.released, 1);
    ek_choice_clear(&choice);
}

static void a_ranking_of_nothing_and_wrong_chunks_are_told_apart(void **state)
{
    (void)state;
    static const int far[] = {64}, falling[] = {2, 1}, none[] = {0};
    fixture f;
    fixture_init(&f, "small", LAYERS);
    ek_ranking_input input = every_schedule(&f, 6000);
    input.every_schedule = false;
    input.n_chunk_counts = 1;
    input.chunk_counts = far;
    ek_choice choice = {.n_chunks = 77};
    ek_error err;
    assert_int_equal(ek_rank_schedules(&input, &choice, &err), EK_OK);
    assert_null(choice.schedule);
    assert_int_equal(choice.ranking.n, 0);
    assert_non_null(skipped(&choice.ranking, "-i 64"));
    ek_choice_clear(&choice);
    choice.n_chunks = 77;
    input.chunk_counts = none;
    assert_int_equal(ek_rank_schedules(&input, &choice, &err), EK_ERR_INPUT);
    input.n_chunk_counts = 2;
    input.chunk_counts = falling;
    assert_int_equal(ek_rank_schedules(&input, &choice, &err), EK_ERR_INPUT);
    assert_non_null(strstr(err.message, "ascending"));
    input.n_chunk_counts = 0;
    input.n_stages = 0;
    assert_int_equal(ek_rank_schedules(&input, &choice, NULL), EK_ERR_INPUT);
    assert_int_equal(choice.n_chunks, 77);
}

/* ---- sweeps ---- */

static ek_sweep_input sweep_over(const fixture *f, ek_swept swept, const double *value, int n)
{
    return (ek_sweep_input){.layers = &f->layers,
                            .swept = swept,
                            .n = n,
                            .value = value,
                            .n_stages = STAGES,
                            .n_chunks = 1,
                            .n_micro_batches = MICRO_BATCHES,
                            .n_pieces = 1,
                            .options = options_at(6000)};
}

static void rows_equal_calls_of_their_own(void **state)
{
    (void)state;
    static const struct {
        ek_swept swept;
        double value[3];
        ek_shape shape[3];
        const char *pipeline;
    } cases[] = {
        {EK_SWEPT_CHUNKS,
         {1, 2, 4},
         {{2, 1, 4, 1}, {2, 2, 4, 1}, {2, 4, 4, 1}},
         "2 stages, 4 micro-batches, limit 6000 MB"},
        {EK_SWEPT_MICRO_BATCHES,
         {1, 4, 6},
         {{2, 1, 1, 1}, {2, 1, 4, 1}, {2, 1, 6, 1}},
         "2 stages, 1 chunk per stage, 1f1b, limit 6000 MB"},
        {EK_SWEPT_STAGES,
         {1, 2, 4},
         {{1, 1, 4, 1}, {2, 1, 4, 1}, {4, 1, 4, 1}},
         "1 chunk per stage, 4 micro-batches, 1f1b, limit 6000 MB"},
    };
    fixture f;
    fixture_init(&f, "small", LAYERS);
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        ek_sweep_input input = sweep_over(&f, cases[k].swept, cases[k].value, 3);
        ek_sweep sweep;
        ek_error err;
        assert_int_equal(ek_sweep_run(&input, &sweep, &err), EK_OK);
        assert_int_equal(sweep.n, 3);
        assert_string_equal(sweep.pipeline, cases[k].pipeline);
        assert_ptr_equal(sweep.key, &ek_swept_quantities[cases[k].swept].key);
        for (int i = 0; i < 3; i++) {
            const ek_sweep_row *row = &sweep.row[i];
            ek_shape shape = cases[k].shape[i];
            double peak = NAN, needed;
            double step = alone(&f.layers, ek_schedule_default(shape.n_chunks, 0), shape, 6000, &peak, &needed);
            assert_true(row->value == cases[k].value[i]);
            assert_true(row->step_time == step);
            assert_int_equal(row->n_micro_batches, shape.n_micro_batches);
            assert_true(isinf(step) ? row->plan.n_stages == 0 && row->smallest_limit_mb == needed
                                    : row->peak_memory_mb == peak && row->plan.n_stages == shape.n_stages);
        }
        ek_sweep_clear(&sweep);
    }
}

static void limits_are_swept_one_below_the_other(void **state)
{
    (void)state;
    static const double limits[] = {100, 4000, 4500, 5000, 5001, 8000};
    enum { N = sizeof limits / sizeof *limits };
    fixture f;
    fixture_init(&f, "small", LAYERS);
    ek_sweep_input input = sweep_over(&f, EK_SWEPT_MEMORY, limits, N);
    ek_sweep sweep;
    ek_error err;
    assert_int_equal(ek_sweep_run(&input, &sweep, &err), EK_OK);
    assert_string_equal(sweep.pipeline, "2 stages, 1 chunk per stage, 4 micro-batches, 1f1b");
    for (int i = 0; i < N; i++) {
        const ek_sweep_row *row = &sweep.row[i];
        ek_shape shape = {STAGES, 1, MICRO_BATCHES, 1};
        double peak = NAN, needed;
        assert_true(row->step_time == alone(&f.layers, ek_schedule_find("1f1b"), shape, limits[i], &peak, &needed));
        assert_true(isinf(row->step_time) || row->peak_memory_mb <= limits[i]);
        assert_true(i == 0 || row->step_time <= sweep.row[i - 1].step_time);
    }
    assert_true(isinf(sweep.row[0].step_time));
    assert_true(isfinite(sweep.row[N - 1].step_time));
    assert_true(sweep.row[N - 1].step_time < sweep.row[1].step_time);
    ek_sweep_clear(&sweep);
    assert_null(sweep.row);
}

/* The larger limit also has transfers, and so a higher bound. */
static ek_status fill_transfers(const void *user, const ek_shape *shape, ek_balance_options *options, void **own,
                                ek_error *err)
{
    (void)user;
    (void)shape;
    (void)err;
    *own = NULL;
    if (options->memory_limit_mb > 5000)
        options->comm.p2p_time = 3;
    return EK_OK;
}

static void release_nothing(void *own)
{
    assert_null(own);
}

static void a_bound_for_a_limit_holds_for_smaller_ones(void **state)
{
    (void)state;
    static const double limits[] = {5000, 5001};
    fixture f;
    fixture_init(&f, "small", LAYERS);
    const ek_balance_lists lists = {fill_transfers, release_nothing, NULL};
    ek_sweep_input input = sweep_over(&f, EK_SWEPT_MEMORY, limits, 1);
    input.lists = &lists;
    ek_sweep alone, both;
    ek_error err;
    assert_int_equal(ek_sweep_run(&input, &alone, &err), EK_OK);
    input.n = 2;
    assert_int_equal(ek_sweep_run(&input, &both, &err), EK_OK);
    assert_true(alone.row[0].lower_bound < both.row[1].lower_bound);
    assert_true(both.row[0].lower_bound == both.row[1].lower_bound);
    ek_sweep_clear(&alone);
    ek_sweep_clear(&both);
}

/* 4096 tokens keep a device busy: of 16384 there are at most four such pieces. */
static void pieces_are_cut_and_those_that_are_too_short_are_one_row(void **state)
{
    (void)state;
    static const double pieces[] = {1, 2, 4, 8};
    fixture f;
    fixture_init(&f, "small", LAYERS);
    ek_job job = {
        .model = {.hidden = 64, .n_heads = 4, .head_dim = 16, .value_dim = 16, .intermediate = 256, .vocab = 1000},
        .parallel = {.batch = 1, .seq_length = 16384, .tensor = 1, .context = 1}};
    ek_sweep_input input = sweep_over(&f, EK_SWEPT_PIECES, pieces, 4);
    ek_sweep sweep;
    ek_error err;
    assert_int_equal(ek_sweep_run(&input, &sweep, &err), EK_ERR_INPUT);
    input.job = &job;
    assert_int_equal(ek_sweep_run(&input, &sweep, &err), EK_OK);
    assert_int_equal(sweep.n, 3);
    for (int i = 0; i < sweep.n; i++) {
        int k = (int)pieces[i];
        ek_layers cut;
        double peak, needed;
        ek_shape shape = {STAGES, 1, MICRO_BATCHES * k, k};
        assert_true(sweep.row[i].value == pieces[i]);
        assert_int_equal(sweep.row[i].n_micro_batches, MICRO_BATCHES);
        assert_int_equal(ek_layers_split_sequence(&f.layers, &job, k, NULL, &cut, &err), EK_OK);
        assert_true(sweep.row[i].step_time == alone(&cut, ek_schedule_for(1, k, false), shape, 6000, &peak, &needed));
        ek_layers_clear(&cut);
    }
    ek_sweep_clear(&sweep);
}

static void count_progress(void *user, int done, int n)
{
    assert_true(done >= 0 && done <= n && n == 2);
    ++*(int *)user;
}

static void progress_comes_from_the_caller_and_an_interrupt_leaves_reasons(void **state)
{
    (void)state;
    static const double limits[] = {5000, 6000};
    const ek_interrupt interrupted = {1};
    int told_times = 0;
    fixture f;
    fixture_init(&f, "small", LAYERS);
    ek_sweep_input input = sweep_over(&f, EK_SWEPT_MEMORY, limits, 2);
    input.progress = count_progress;
    input.user = &told_times;
    ek_sweep sweep;
    ek_error err;
    assert_int_equal(ek_sweep_run(&input, &sweep, &err), EK_OK);
    assert_true(told_times >= 1);
    ek_sweep_clear(&sweep);
    input.progress = NULL;
    input.options.interrupt = &interrupted;
    assert_int_equal(ek_sweep_run(&input, &sweep, &err), EK_OK);
    for (int i = 0; i < 2; i++)
        assert_string_equal(sweep.row[i].impossible, "interrupted before it was searched");
    ek_sweep_clear(&sweep);
}

static void values_outside_their_range_or_order_are_refused(void **state)
{
    (void)state;
    static const double falling[] = {2, 1}, half[] = {1.5}, none[] = {0}, many[EK_MAX_SWEEP_VALUES + 1] = {1};
    fixture f;
    fixture_init(&f, "small", LAYERS);
    const struct {
        ek_swept swept;
        const double *value;
        int n;
    } cases[] = {{EK_SWEPT_CHUNKS, falling, 2},
                 {EK_SWEPT_CHUNKS, half, 1},
                 {EK_SWEPT_MEMORY, none, 1},
                 {EK_SWEPT_STAGES, many, EK_MAX_SWEEP_VALUES + 1},
                 {EK_SWEPT_STAGES, many, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ek_sweep_input input = sweep_over(&f, cases[i].swept, cases[i].value, cases[i].n);
        ek_sweep sweep = {.n = 77};
        ek_error err;
        assert_int_equal(ek_sweep_run(&input, &sweep, &err), EK_ERR_INPUT);
        assert_int_equal(sweep.n, 77);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_is_a_call_of_its_own_and_the_best_is_the_best_of_them),
        cmocka_unit_test(without_schedules_each_number_of_chunks_has_its_usual_one),
        cmocka_unit_test(where_nothing_fits_the_smallest_limit_is_best),
        cmocka_unit_test(an_interrupt_skips_the_candidates_that_follow),
        cmocka_unit_test(lists_hold_for_their_shape_and_their_failure_skips_a_candidate),
        cmocka_unit_test(a_ranking_of_nothing_and_wrong_chunks_are_told_apart),
        cmocka_unit_test(rows_equal_calls_of_their_own),
        cmocka_unit_test(limits_are_swept_one_below_the_other),
        cmocka_unit_test(a_bound_for_a_limit_holds_for_smaller_ones),
        cmocka_unit_test(pieces_are_cut_and_those_that_are_too_short_are_one_row),
        cmocka_unit_test(progress_comes_from_the_caller_and_an_interrupt_leaves_reasons),
        cmocka_unit_test(values_outside_their_range_or_order_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
