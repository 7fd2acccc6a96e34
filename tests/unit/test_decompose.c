/* Tests the decomposition of dry-run peaks: the published figures, a property over random models, and the fit's own
 * report. */
#include "input.h"
#include "skip.h"

#include <math.h>
#include <time.h>
#include <unistd.h>

#include "dryrun/init.h"
#include "evenkeel/plan.h"
#include "evenkeel/simulate.h"

static const ek_times some_times = {0.1, 3.1357, 3.47};

static void read_and_decompose(const char *path, const ek_times *times, bool sapp_compatible, ek_layers *layers)
{
    ek_dryrun init;
    ek_error err = {0};
    if (ek_dryrun_read(path, NULL, &init, &err) ||
        ek_dryrun_decompose(&init, "model", times, sapp_compatible, layers, &err))
        fail_msg("%s:%d:%d: %s", err.file, err.line, err.column, err.message);
    ek_dryrun_clear(&init);
}

/* Source: the original tool's own decomposition of its two published dry runs. The condition number of the smaller one
 * is the ratio of the singular values of its six equations, columns scaled to length 1, by a one-sided Jacobi
 * rotation: 1.943064134 and 0.04980873273. */
static void the_published_decompositions_come_out_exactly(void **state)
{
    (void)state;
    static const struct {
        const char *file;
        double par, act[EK_N_RECOMPUTE], constant, head, tail;
        int n_residuals;
        double condition;
    } cases[] = {
        {"tests/data/llama175b_init.yaml", 2217, {1002, 783, 695, 423, 0}, 1206, 4614, 5885, 14, NAN},
        {"tests/data/demo96_init.yaml", 2141, {852, 767, 535, 511, 0}, -1896, 4245, 1203, 6, 39.010511366},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ek_layers layers;
        read_and_decompose(source_path(cases[i].file), &some_times, true, &layers);
        assert_int_equal(layers.n_body, 1);
        assert_int_equal(layers.n_layers, 96);
        assert_true(layers.body[0].parameter_mb == cases[i].par);
        for (int k = 0; k < EK_N_RECOMPUTE; k++) {
            assert_true(layers.body[0].activation_mb[k] == cases[i].act[k]);
            assert_int_equal(layers.modelled[k], cases[i].act[k] > 0);
        }
        assert_true(layers.const_mb == cases[i].constant);
        assert_true(layers.head.parameter_mb == cases[i].head);
        assert_true(layers.tail.parameter_mb == cases[i].tail);
        assert_int_equal(layers.fit.n_residuals, cases[i].n_residuals);
        assert_true(layers.fit.const_modelled);
        assert_true(layers.fit.condition > 1 && layers.fit.condition < 1000);
        assert_true(isnan(cases[i].condition) || fabs(layers.fit.condition - cases[i].condition) < 1e-7);
        ek_layers_clear(&layers);
    }
}

static void times_come_from_the_caller_then_from_the_file(void **state)
{
    (void)state;
    ek_layers layers;
    const ek_times body_only = {NAN, 40, NAN};
    read_and_decompose(source_path("tests/data/demo96_init.yaml"), &body_only, false, &layers);
    assert_true(layers.head.forward_time == 30 && layers.body[0].forward_time == 40 && layers.tail.forward_time == 60);
    assert_true(fabs(layers.body[0].backward_time[EK_RECOMPUTE_NONE] - 80) < 1e-12);
    assert_true(fabs(layers.body[0].backward_time[EK_RECOMPUTE_BOTH] - 80 * 1.165) < 1e-12);
    ek_layers_clear(&layers);
}

static void an_exact_system_leaves_no_residual_and_a_wrong_peak_shows_in_one(void **state)
{
    (void)state;
    ek_layers layers;
    for (int sapp = 0; sapp < 2; sapp++) {
        /* Up to 91 layers x micro-batches, each rounded to 1e-6 MB, unless the residual is from before the cut. */
        double rounding = sapp ? 1e-6 : 1e-4;
        read_and_decompose(source_path("tests/data/demo96_init.yaml"), NULL, sapp, &layers);
        for (int i = 0; i < layers.fit.n_residuals; i++)
            assert_true(fabs(layers.fit.residual[i].measured_mb - layers.fit.residual[i].predicted_mb) < rounding);
        assert_int_equal(layers.fit.residual[1].stage, 9);
        ek_layers_clear(&layers);
    }
    read_and_decompose(source_path("tests/data/llama175b_init.yaml"), &some_times, false, &layers);
    double worst = 0;
    for (int i = 0; i < layers.fit.n_residuals; i++)
        worst = fmax(worst, fabs(layers.fit.residual[i].measured_mb - layers.fit.residual[i].predicted_mb));
    assert_true(worst > 1000 && worst < 2000);
    ek_layers_clear(&layers);
}

/* ---- the property ---- */

static uint64_t random_state;

/* xorshift64*: the same everywhere, unlike rand(). */
static int random_int(int min, int max)
{
    random_state ^= random_state >> 12;
    random_state ^= random_state << 25;
    random_state ^= random_state >> 27;
    return min + (int)((random_state * 2685821657736338717u >> 33) % (uint64_t)(max - min + 1));
}

typedef struct truth {
    int par, act[EK_N_RECOMPUTE], constant, head, tail;
} truth;

/* Peak by the model's formula, written independently of the library. */
static double peak(const truth *t, int n_stages, int stage, int n, int full, int select, int comm)
{
    int both = (select < comm ? select : comm) - full;
    both = both > 0 ? both : 0;
    int only_select = select - full - both > 0 ? select - full - both : 0;
    int only_comm = comm - full - both > 0 ? comm - full - both : 0;
    int none = n - full - both - only_select - only_comm;
    double act = none * (double)t->act[0] + only_select * (double)t->act[1] + only_comm * (double)t->act[2] +
                 both * (double)t->act[3] + full * (double)t->act[4];
    double sum = n * (double)t->par + (n_stages - stage) * act + t->constant;
    return sum + (stage == 0 ? t->head : 0) + (stage == n_stages - 1 ? t->tail : 0);
}

static void append_list(char *text, size_t size, const char *key, const int *list, int n)
{
    size_t at = strlen(text);
    at += (size_t)snprintf(text + at, size - at, "%s [", key);
    for (int i = 0; i < n; i++)
        at += (size_t)snprintf(text + at, size - at, "%s%d", i ? ", " : "", list[i]);
    snprintf(text + at, size - at, "]\n");
}

/* An init file of a dry run that has each of the given kinds. */
static void make_init(const truth *t, int n_stages, int n_layers, bool with_full, char *text, size_t size)
{
    enum { MAX = 32 };
    int offset[MAX], full[MAX], select[MAX], comm[MAX], id[MAX], memory[MAX], base = n_layers / n_stages;
    for (int s = 0; s < n_stages; s++)
        offset[s] = s < n_layers % n_stages;
    for (int move = 0; move < n_stages; move++) {
        int from = random_int(0, n_stages - 1), to = random_int(0, n_stages - 1);
        int n = base + offset[from] > 1;
        offset[from] -= n;
        offset[to] += n;
    }
    for (int s = 0; s < n_stages; s++) {
        int n = base + offset[s];
        full[s] = with_full ? random_int(0, n / 2) : 0;
        select[s] = random_int(0, n);
        comm[s] = random_int(0, n);
        id[s] = s;
    }
    for (int s = 0; s < n_stages; s++)
        memory[s] = (int)peak(t, n_stages, s, base + offset[s], full[s], select[s], comm[s]);
    snprintf(text, size, "pipeline_config:\n  pipeline_num: %d\n  num_layer: %d\n", n_stages, n_layers);
    append_list(text, size, "  offset:", offset, n_stages);
    strncat(text, "recompute_config:\n", size - strlen(text) - 1);
    append_list(text, size, "  recompute:", full, n_stages);
    append_list(text, size, "  select_recompute:", select, n_stages);
    append_list(text, size, "  select_comm_recompute:", comm, n_stages);
    size_t at = strlen(text);
    snprintf(text + at, size - at, "memory_usage:\n  head_memory: %d\n  tail_memory: %d\n  body_memories:\n", memory[0],
             memory[n_stages - 1]);
    append_list(text, size, "    stage_id:", id + 1, n_stages - 2);
    append_list(text, size, "    memories:", memory + 1, n_stages - 2);
}

/* As the original, head and tail hold the constant too. */
static void check_truth(const truth *t, bool sapp_compatible, const ek_layers *layers)
{
    int inside = sapp_compatible ? t->constant : 0;
    const ek_layer *body = &layers->body[0];
    assert_true(body->parameter_mb == t->par);
    for (int k = 0; k < EK_N_RECOMPUTE; k++)
        assert_true(!body->modelled[k] || body->activation_mb[k] == t->act[k]);
    assert_true(layers->const_mb == t->constant);
    assert_true(layers->head.parameter_mb == t->head + inside);
    assert_true(layers->tail.parameter_mb == t->tail + inside);
}

/* The dry run of a round as the layers predict it: 1F1B with micro-batches enough. */
static ek_timeline simulate_round(const ek_dryrun *init, const ek_layers *layers, int round)
{
    int at = round * init->n_stages, p = init->n_stages;
    const ek_plan plan = {p, 1, init->layers + at, init->full + at, init->select + at, init->comm + at};
    const ek_shape shape = {.n_stages = p, .n_chunks = 1, .n_micro_batches = p};
    ek_order *order;
    ek_timeline timeline = {0};
    ek_error err = {0};
    if (ek_order_new(ek_schedule_find("1f1b"), &shape, &order, &err) ||
        ek_simulate(order, &plan, layers, NULL, &timeline, &err))
        fail_msg("%s", err.message);
    ek_order_free(order);
    return timeline;
}

/* The model gives back every peak of its own input within the residual that it states; the ends have none. */
static void check_peaks(const ek_dryrun *init, const ek_layers *layers)
{
    const double off = 1e-5; /* sums of rounding */
    assert_int_equal(layers->fit.n_residuals, init->n_measurements);
    for (int round = 0; round < init->n_rounds; round++) {
        ek_timeline t = simulate_round(init, layers, round);
        assert_true(round > 0 || fabs(t.peak_mb[0] - init->head_mb) < off);
        assert_true(round > 0 || fabs(t.peak_mb[init->n_stages - 1] - init->tail_mb) < off);
        for (int i = 0; i < init->n_measurements; i++) {
            const ek_measurement *m = &init->measurement[i];
            const ek_residual *r = &layers->fit.residual[i];
            assert_true(r->stage == m->stage && r->round == m->round && r->measured_mb == m->peak_mb);
            assert_true(m->round != round || fabs(t.peak_mb[m->stage] - r->predicted_mb) < off);
        }
        ek_timeline_clear(&t);
    }
}

static void peaks_made_from_random_memory_decompose_back_to_it(void **state)
{
    (void)state;
    enum { TRIALS = 2000 };
    const char *given = getenv("EK_SEED");
    uint64_t seed = given ? strtoull(given, NULL, 10) : (uint64_t)time(NULL);
    print_message("# seed %llu (EK_SEED repeats it)\n", (unsigned long long)seed);
    random_state = seed * 2 + 1;
    int solved = 0;
    for (int trial = 0; trial < TRIALS; trial++) {
        /* Constants below, at and above zero. */
        static const int sign[] = {-1, 0, 1};
        truth t = {
            random_int(0, 5000), {0}, sign[trial % 3] * random_int(1, 3000), random_int(0, 9000), random_int(0, 9000)};
        for (int k = 0; k < EK_N_RECOMPUTE; k++)
            t.act[k] = random_int(1, 2000);
        int n_stages = random_int(10, 24), n_layers = n_stages * random_int(5, 12) + random_int(0, n_stages - 1);
        char text[8192];
        make_init(&t, n_stages, n_layers, trial % 2 == 1, text, sizeof text);
        ek__config_tree *doc;
        ek_dryrun init;
        ek_layers layers;
        ek_error err = {0};
        assert_int_equal(ek__config_parse_buffer("trial", text, strlen(text), &doc, &err), EK_OK);
        /* A negative constant may make a peak negative, which no file can state. */
        if (ek__dryrun_from_config(doc, NULL, &init, &err) == EK_OK) {
            /* Chance may leave a kind without variation; that is refused, never answered wrongly. */
            bool fine = true;
            for (int sapp = 0; sapp < 2; sapp++)
                if (ek_dryrun_decompose(&init, "trial", &some_times, sapp, &layers, &err) == EK_OK) {
                    check_truth(&t, sapp, &layers);
                    if (!sapp)
                        check_peaks(&init, &layers);
                    ek_layers_clear(&layers);
                } else {
                    fine = false;
                }
            solved += fine;
            ek_dryrun_clear(&init);
        }
        ek__config_free(doc);
    }
    print_message("# %d of %d solved\n", solved, TRIALS);
    assert_true(solved > TRIALS * 9 / 10);
}

static void give_back_own_peaks(const char *path)
{
    ek_dryrun init;
    ek_layers layers;
    ek_error err = {0};
    if (ek_dryrun_read(path, NULL, &init, &err) ||
        ek_dryrun_decompose(&init, "model", &some_times, false, &layers, &err))
        fail_msg("%s:%d:%d: %s", err.file, err.line, err.column, err.message);
    check_peaks(&init, &layers);
    ek_layers_clear(&layers);
    ek_dryrun_clear(&init);
}

static void shipped_files_give_their_own_peaks_back(void **state)
{
    (void)state;
    static const char *const own[] = {"tests/data/llama175b_init.yaml", "tests/data/demo96_init.yaml",
                                      "tests/data/small_init.yaml", "examples/llama175b_init.yaml"};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        give_back_own_peaks(source_path(own[i]));
}

static void the_reference_files_give_the_same_as_the_own_ones(void **state)
{
    (void)state;
    static const char *const pairs[][2] = {{"llama175b_init.yaml", "tests/data/llama175b_init.yaml"},
                                           {"demo_init.yaml", "tests/data/demo96_init.yaml"}};
    for (size_t i = 0; i < 2; i++) {
        char path[2048];
        snprintf(path, sizeof path, "%s/%s", need_shared("reference/balance"), pairs[i][0]);
        ek_layers theirs, ours;
        read_and_decompose(path, &some_times, true, &theirs);
        read_and_decompose(source_path(pairs[i][1]), &some_times, true, &ours);
        assert_memory_equal(theirs.body, ours.body, sizeof *ours.body);
        assert_true(theirs.head.parameter_mb == ours.head.parameter_mb && theirs.const_mb == ours.const_mb);
        ek_layers_clear(&theirs);
        ek_layers_clear(&ours);
        give_back_own_peaks(path);
    }
}

static void one_stage_fewer_leaves_the_constant_part_out(void **state)
{
    (void)state;
    ek__config_tree *doc;
    ek_dryrun init;
    ek_layers layers;
    ek_error err = {0};
    /* par 100, NONE 50, FULL 10, const 0. */
    static const char text[] = "pipeline_config: {pipeline_num: 6, num_layer: 12, offset: [0, 1, -1, 1, -1, 0]}\n"
                               "recompute_config: {recompute: [0, 1, 0, 2, 1, 0]}\n"
                               "memory_usage:\n  head_memory: 830\n  tail_memory: 340\n"
                               "  body_memories: {stage_id: [1, 2, 3], memories: [850, 300, 510]}\n";
    assert_int_equal(ek__config_parse_buffer("t", text, sizeof text - 1, &doc, &err), EK_OK);
    assert_int_equal(ek__dryrun_from_config(doc, NULL, &init, &err), EK_OK);
    assert_int_equal(ek_dryrun_decompose(&init, "t", &some_times, false, &layers, &err), EK_OK);
    assert_false(layers.fit.const_modelled);
    assert_true(layers.const_mb == 0 && layers.body[0].parameter_mb == 100);
    assert_true(layers.body[0].activation_mb[0] == 50 && layers.body[0].activation_mb[4] == 10);
    assert_true(layers.head.parameter_mb == 30 && layers.tail.parameter_mb == 40);
    ek_layers_clear(&layers);
    ek_dryrun_clear(&init);
    ek__config_free(doc);
}

static void a_name_must_be_printable_and_short(void **state)
{
    (void)state;
    ek_dryrun init;
    ek_layers layers;
    ek_error err = {0};
    char too_long[EK_NAME_SIZE + 1];
    memset(too_long, 'x', EK_NAME_SIZE);
    too_long[EK_NAME_SIZE] = '\0';
    const char *const names[] = {"", "a\nb", too_long};
    assert_int_equal(ek_dryrun_read(source_path("tests/data/demo96_init.yaml"), NULL, &init, &err), EK_OK);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(ek_dryrun_decompose(&init, names[i], NULL, false, &layers, &err), EK_ERR_INPUT);
    ek_dryrun_clear(&init);
}

static void measured_times_take_their_backward_pass_along(void **state)
{
    (void)state;
    ek_dryrun init;
    ek_error err;
    ek_layers layers;
    const ek_times head_only = {7, NAN, NAN};
    assert_int_equal(ek_dryrun_read(source_path("tests/data/demo96_init.yaml"), NULL, &init, &err), EK_OK);
    init.times = (ek_times){NAN, NAN, 4};
    init.profiled = calloc(3, sizeof *init.profiled);
    assert_non_null(init.profiled);
    for (int i = 0; i < 3; i++)
        init.profiled[i] = (ek_layer){.forward_time = 1 + i, .backward_time = {5, 6, 7, 8, 9}, .weight_time = 2};
    assert_int_equal(ek_dryrun_decompose(&init, "m", &head_only, false, &layers, &err), EK_OK);
    assert_true(layers.head.forward_time == 7 && layers.head.backward_time[0] == 14);
    assert_true(layers.tail.forward_time == 4 && layers.tail.backward_time[0] == 8);
    assert_true(layers.body[0].forward_time == 2 && layers.body[0].backward_time[EK_RECOMPUTE_FULL] == 9);
    assert_true(layers.body[0].weight_time == 2);
    ek_layers_clear(&layers);
    ek_dryrun_clear(&init);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(measured_times_take_their_backward_pass_along),
        cmocka_unit_test(the_published_decompositions_come_out_exactly),
        cmocka_unit_test(the_reference_files_give_the_same_as_the_own_ones),
        cmocka_unit_test(times_come_from_the_caller_then_from_the_file),
        cmocka_unit_test(an_exact_system_leaves_no_residual_and_a_wrong_peak_shows_in_one),
        cmocka_unit_test(peaks_made_from_random_memory_decompose_back_to_it),
        cmocka_unit_test(shipped_files_give_their_own_peaks_back),
        cmocka_unit_test(one_stage_fewer_leaves_the_constant_part_out),
        cmocka_unit_test(a_name_must_be_printable_and_short),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
