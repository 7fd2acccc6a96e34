/* Tests the guide: its dry runs can be solved, lie near the even split, predict the peaks of balanced plans with small
 * errors (by random errors and least squares), satisfy their documented bounds, and recover the memory of random
 * models. */
#include "described.h"
#include "dryrun/guide.h"
#include "effort.h"
#include "evenkeel/collect.h"
#include "evenkeel/guide.h"
#include "evenkeel/plan.h"
#include "evenkeel/report.h"
#include "figures/results.h"
#include "input.h"

#include "report/report_internal.h"
#include "report/writers.h"
#include <lapacke.h>
#include <math.h>
#include <unistd.h>

static uint64_t random_state = 12345;

static int random_below(int n)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (int)((random_state >> 11) % (uint64_t)n);
}

static ek_guide make_guide(const ek_guide_options *options)
{
    ek_guide guide;
    ek_error err = {0};
    if (ek_guide_make(options, &guide, &err))
        fail_msg("%d stages, %d layers: %s", options->n_stages, options->n_layers, err.message);
    return guide;
}

static ek_guide_options options_for(int n_stages, int n_layers, int kinds)
{
    ek_guide_options options;
    ek_guide_options_init(&options);
    options.n_stages = n_stages;
    options.n_layers = n_layers;
    for (int k = 1; k < EK_N_RECOMPUTE; k++)
        options.kind[k] = kinds >> (k - 1) & 1;
    return options;
}

/* The equations as the documentation of the original states them, written down a second time. `rows` of them; columns:
 * layers, 1, alive x each kind. */
enum { MAX_ROWS = 256, MAX_COLUMNS = 7 };

static double condition_of(double matrix[MAX_ROWS][MAX_COLUMNS], int rows, int columns)
{
    double a[MAX_ROWS * MAX_COLUMNS], value[MAX_COLUMNS], rest[MAX_COLUMNS], unused[1];
    for (int i = 0; i < rows; i++)
        for (int c = 0; c < columns; c++)
            a[i * columns + c] = matrix[i][c];
    assert_int_equal(LAPACKE_dgesvd(LAPACK_ROW_MAJOR, 'N', 'N', rows, columns, a, columns, value, unused, columns,
                                    unused, columns, rest),
                     0);
    return value[columns - 1] > 1e-9 * value[0] ? value[0] / value[columns - 1] : INFINITY;
}

static int fill_from_lists(const ek_guide *guide, double matrix[MAX_ROWS][MAX_COLUMNS])
{
    const ek_dryrun *runs = &guide->runs;
    int row = 0;
    for (int r = 0; r < runs->n_rounds; r++)
        for (int s = 1; s < runs->n_stages - 1; s++, row++) {
            int at = r * runs->n_stages + s, n = runs->layers[at], full = runs->full[at];
            int select = runs->select[at], comm = runs->comm[at], column = 2;
            select = select > full ? select : full; /* full recomputation hides the other two */
            comm = comm > full ? comm : full;
            int both = (select < comm ? select : comm) - full;
            int count[EK_N_RECOMPUTE] = {[EK_RECOMPUTE_FULL] = full,
                                         [EK_RECOMPUTE_BOTH] = both,
                                         [EK_RECOMPUTE_SELECT] = select - full - both,
                                         [EK_RECOMPUTE_COMM] = comm - full - both};
            count[EK_RECOMPUTE_NONE] = n - (select > comm ? select : comm);
            matrix[row][0] = n;
            matrix[row][1] = 1;
            for (int k = 0; k < EK_N_RECOMPUTE; k++)
                if (guide->kind[k])
                    matrix[row][column++] = (double)(runs->n_stages - s) * count[k];
                else
                    assert_int_equal(count[k], 0);
        }
    return row;
}

/* One draw the original's way: layers in proportion to 1..9, kinds one after the other; the first k + 2 equations. */
static double draw_condition(int p, int n_layers, int n_kinds)
{
    double matrix[MAX_ROWS][MAX_COLUMNS];
    int unknowns = n_kinds + 2, rounds = (unknowns + p - 3) / (p - 2), row = 0;
    for (int r = 0; r < rounds; r++) {
        int n[64], total = 0, sum = 0;
        for (int s = 0; s < p; s++)
            total += n[s] = 1 + random_below(9);
        for (int s = 0; s < p; s++) {
            int share = (int)rint((double)n[s] / total * n_layers);
            sum += n[s] = share > 1 ? share : 1;
        }
        for (int s = 0; sum < n_layers; s = (s + 1) % p, sum++)
            n[s]++;
        for (int s = p - 1; sum > n_layers; s = (s + p - 1) % p)
            if (n[s] > 1) {
                n[s]--;
                sum--;
            }
        for (int s = 1; s < p - 1 && row < unknowns; s++, row++) {
            int left = n[s];
            matrix[row][0] = n[s];
            matrix[row][1] = 1;
            for (int k = 0; k < n_kinds - 1; k++) {
                int count = random_below(left + 1);
                matrix[row][2 + k] = (double)(p - s) * count;
                left -= count;
            }
            matrix[row][1 + n_kinds] = (double)(p - s) * left;
        }
    }
    return condition_of(matrix, unknowns, unknowns);
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median_of_draws(int p, int n_layers, int n_kinds)
{
    enum { N_DRAWS = 1000 };
    static double found[N_DRAWS];
    for (int n = 0; n < N_DRAWS;) {
        double condition = draw_condition(p, n_layers, n_kinds);
        if (isfinite(condition))
            found[n++] = condition;
    }
    qsort(found, N_DRAWS, sizeof *found, by_value);
    return (found[N_DRAWS / 2 - 1] + found[N_DRAWS / 2]) / 2;
}

static void the_condition_numbers_are_those_of_the_lists(void **state)
{
    (void)state;
    static const int stages[] = {4, 8, 16, 32};
    for (int i = 0; i < effort(4, 1); i++) {
        double median[EK_N_RECOMPUTE + 1] = {0};
        for (int kinds = 0; kinds < 16; kinds += effort(1, 3)) {
            double matrix[MAX_ROWS][MAX_COLUMNS];
            const ek_guide_options options = options_for(stages[i], 96, kinds);
            ek_guide guide = make_guide(&options);
            int n_kinds = 1 + __builtin_popcount((unsigned)kinds);
            if (median[n_kinds] == 0)
                median[n_kinds] = median_of_draws(stages[i], 96, n_kinds);
            int rows = fill_from_lists(&guide, matrix);
            double condition = condition_of(matrix, rows, n_kinds + 2);
            assert_true(fabs(condition / guide.condition - 1) < 1e-6);
            assert_int_equal(guide.runs.n_rounds, (n_kinds + 2 + stages[i] - 3) / (stages[i] - 2));
            assert_true(fabs(guide.random_condition / median[n_kinds] - 1) < 0.25);
            ek_guide_clear(&guide);
        }
    }
}

/* ---- the peaks of balanced plans, by random errors ---- */

enum { ORACLE_STAGES = 32 };

/* Rows of all stages of one round after another: layers, 1, alive x layers without and with recomputation. */
typedef struct oracle {
    int p, n_rounds, layers[4 * ORACLE_STAGES], full[4 * ORACLE_STAGES];
    bool recomputes;
} oracle;

static int oracle_row(const oracle *o, int stage, double layers, double full, double row[4])
{
    row[0] = layers;
    row[1] = 1;
    row[2] = (o->p - stage) * (layers - full);
    row[3] = (o->p - stage) * full;
    return o->recomputes ? 4 : 3;
}

/* A sum of uniform numbers: about normal, variance 1. */
static double random_error(void)
{
    double sum = 0;
    for (int i = 0; i < 12; i++)
        sum += random_below(1 << 20) / (double)(1 << 20);
    return sum - 6;
}

static double oracle_peak(const oracle *o, int stage, double layers, double full)
{
    static const double value[] = {1000, 800, 120, 20}, head = 3000, tail = 2000;
    double row[4], peak = stage == 0 ? head : stage == o->p - 1 ? tail : 0;
    for (int c = oracle_row(o, stage, layers, full, row) - 1; c >= 0; c--)
        peak += row[c] * value[c];
    return peak;
}

static double measured(const oracle *o, int at, bool proportional)
{
    double peak = oracle_peak(o, at % o->p, o->layers[at], o->full[at]);
    return peak + random_error() * (proportional ? 0.002 * peak : 20);
}

/* Mean square error of the peaks of the even split, all layers of one kind, after one measurement with errors. */
static double one_trial(const oracle *o, int n_layers, bool proportional)
{
    double a[4 * ORACLE_STAGES * 4], b[4 * ORACLE_STAGES], row[4], sum = 0, even = (double)n_layers / o->p;
    int n = 0, columns = o->recomputes ? 4 : 3, n_sums = 0;
    for (int at = 0; at < o->n_rounds * o->p; at++)
        if (at % o->p > 0 && at % o->p < o->p - 1) {
            oracle_row(o, at % o->p, o->layers[at], o->full[at], row);
            memcpy(a + (ptrdiff_t)n * columns, row, (size_t)columns * sizeof *a);
            b[n++] = measured(o, at, proportional);
        }
    assert_int_equal(LAPACKE_dgels(LAPACK_ROW_MAJOR, 'N', n, columns, 1, a, columns, b, 1), 0);
    for (int s = 0; s < o->p; s++) {
        double rest = 0; /* head or tail of the first round */
        if (s == 0 || s == o->p - 1) {
            oracle_row(o, s, o->layers[s], o->full[s], row);
            rest = measured(o, s, proportional);
            for (int c = 0; c < columns; c++)
                rest -= row[c] * b[c];
        }
        for (int full = 0; full <= o->recomputes; full++, n_sums++) {
            double error = rest - oracle_peak(o, s, even, full ? even : 0);
            oracle_row(o, s, even, full ? even : 0, row);
            for (int c = 0; c < columns; c++)
                error += row[c] * b[c];
            sum += error * error;
        }
    }
    return sum / n_sums;
}

static double oracle_error(const oracle *o, int n_layers, bool proportional)
{
    enum { N_TRIALS = 300 };
    double sum = 0;
    for (int k = 0; k < N_TRIALS; k++)
        sum += one_trial(o, n_layers, proportional);
    return sqrt(sum / N_TRIALS);
}

/* Against the lists of least condition number, which lie far from the even split; layers above the even split and
 * recomputed layers, rounds one after the other. */
static void peaks_of_balanced_plans_are_predicted_better_than_after_the_best_conditioned_lists(void **state)
{
    (void)state;
    static const struct {
        int p, n_layers, n_rounds;
        bool recomputes;
        int offset[16], full[16];
    } cases[] = {
        {6, 48, 1, false, {5, -5, -7, -7, -2, 16}, {0}},
        {6, 48, 1, true, {22, -6, -7, -7, -5, 3}, {12, 1, 1, 0, 2, 2}},
        {8, 64, 1, true, {16, -7, -4, -7, -7, -7, 0, 16}, {5, 1, 2, 1, 0, 0, 5, 21}},
        {4, 32, 2, false, {1, -5, -3, 7, 11, -7, -7, 3}, {0}},
        {16,
         96,
         1,
         true,
         {5, -5, -5, -5, -5, -5, -5, 4, -4, -5, 5, 5, 5, 5, 5, 5},
         {4, 1, 1, 1, 0, 0, 1, 6, 0, 1, 7, 6, 7, 8, 5, 1}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int p = cases[i].p, n_layers = cases[i].n_layers,
            kinds = cases[i].recomputes ? 1 << (EK_RECOMPUTE_FULL - 1) : 0;
        const ek_guide_options options = options_for(p, n_layers, kinds);
        ek_guide guide = make_guide(&options);
        oracle before = {.p = p, .n_rounds = cases[i].n_rounds, .recomputes = cases[i].recomputes}, now = before;
        assert_int_equal(guide.runs.n_rounds, now.n_rounds);
        for (int at = 0; at < p * now.n_rounds; at++) {
            before.layers[at] = n_layers / p + cases[i].offset[at];
            before.full[at] = cases[i].full[at];
            now.layers[at] = guide.runs.layers[at];
            now.full[at] = guide.runs.full[at];
            if (2 * abs(now.layers[at] - n_layers / p) > n_layers / p)
                fail_msg("%d stages: %d layers on stage %d", p, now.layers[at], at % p);
        }
        for (int proportional = 0; proportional <= 1; proportional++) {
            double old = oracle_error(&before, n_layers, proportional),
                   new = oracle_error(&now, n_layers, proportional);
            print_message("# %d stages, %s errors: %.1f MB, %.1f after the best conditioned\n", p,
                          proportional ? "proportional" : "equal", new, old);
            assert_true(new <= old);
        }
        ek_guide_clear(&guide);
    }
}

static void lists_add_up_and_can_be_said(void **state)
{
    (void)state;
    for (int i = 0; i < effort(30, 6); i++) {
        int p = 1 + random_below(24), n_layers = p + random_below(4 * p);
        const ek_guide_options options = options_for(p, n_layers, random_below(16));
        ek_guide guide;
        ek_error err = {0};
        if (ek_guide_make(&options, &guide, &err)) {
            assert_true(n_layers <= 4);
            continue;
        }
        const ek_dryrun *runs = &guide.runs;
        assert_int_equal(guide.reason[0] != '\0', runs->n_stages != p);
        for (int r = 0; r < runs->n_rounds; r++) {
            int sum = 0;
            for (int s = 0; s < runs->n_stages; s++) {
                int at = r * runs->n_stages + s, select = runs->select[at], comm = runs->comm[at];
                sum += runs->layers[at];
                assert_true(runs->layers[at] >= 1);
                assert_true(runs->full[at] <= runs->layers[at]);
                assert_true(select <= runs->layers[at] && comm <= runs->layers[at]);
            }
            assert_int_equal(sum, n_layers);
        }
        ek_guide_clear(&guide);
    }
}

static void the_same_question_gets_the_same_answer(void **state)
{
    (void)state;
    const ek_guide_options options = options_for(12, 50, 7);
    ek_guide a = make_guide(&options), b = make_guide(&options);
    size_t size = (size_t)(a.runs.n_rounds * a.runs.n_stages) * sizeof(int);
    assert_memory_equal(a.runs.layers, b.runs.layers, size);
    assert_memory_equal(a.runs.full, b.runs.full, size);
    assert_memory_equal(a.runs.select, b.runs.select, size);
    assert_memory_equal(a.runs.comm, b.runs.comm, size);
    assert_true(a.condition == b.condition);
    ek_guide_clear(&a);
    ek_guide_clear(&b);
}

/* ---- round trip ---- */

typedef struct truth {
    int par, act[EK_N_RECOMPUTE], constant, head, tail;
} truth;

/* Activations decrease with recomputation; all whole MB. */
static truth random_truth(void)
{
    truth t = {.par = 200 + random_below(4000), .constant = random_below(3000), .head = random_below(8000)};
    t.tail = random_below(8000);
    t.act[EK_RECOMPUTE_NONE] = 100 + random_below(2000);
    t.act[EK_RECOMPUTE_SELECT] = 60 + random_below(t.act[EK_RECOMPUTE_NONE]);
    t.act[EK_RECOMPUTE_COMM] = 60 + random_below(t.act[EK_RECOMPUTE_NONE]);
    t.act[EK_RECOMPUTE_BOTH] = 30 + random_below(t.act[EK_RECOMPUTE_SELECT]);
    t.act[EK_RECOMPUTE_FULL] = 10 + random_below(t.act[EK_RECOMPUTE_BOTH]);
    return t;
}

/* Peaks of all stages of all rounds, in MB; the caller rounds. `scale` stretches the truth so that it is no whole MB.
 */
static double peak_of(const ek_guide *guide, const truth *t, double scale, int round, int stage)
{
    const ek_dryrun *runs = &guide->runs;
    int at = round * runs->n_stages + stage, p = runs->n_stages;
    const ek_plan cell = {1, 1, runs->layers + at, runs->full + at, runs->select + at, runs->comm + at};
    ek_chunk_mix mix = ek_plan_mix(&cell, 0, 0);
    double sum = t->constant + (double)runs->layers[at] * t->par;
    for (int k = 0; k < EK_N_RECOMPUTE; k++)
        sum += (double)(p - stage) * mix.n[k] * t->act[k];
    sum += stage == 0 ? t->head : stage == p - 1 ? t->tail : 0;
    return scale * sum;
}

static ek_status write_init(const ek_guide *guide, const char *path, ek_error *err)
{
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    ek_status status = ek_guide_write_init(guide, &(ek_times){1, 2, 3}, out, err);
    fclose(out);
    return status;
}

/* The user's way: the guide's init file, a listing of each round's logs in whole MB, collected into the init file. */
static void decompose(const ek_guide *guide, const truth *t, double scale, ek_layers *layers)
{
    static char folder[] = "/tmp/evenkeel-guide-XXXXXX", init_path[64], listing[EK_MAX_ROUNDS][64];
    const char *source[EK_MAX_ROUNDS];
    const ek_dryrun *runs = &guide->runs;
    ek_error err = {0};
    if (!init_path[0])
        assert_non_null(mkdtemp(folder));
    snprintf(init_path, sizeof init_path, "%s/init.yaml", folder);
    ek_status status = write_init(guide, init_path, &err);
    for (int r = 0; r < runs->n_rounds; r++) {
        snprintf(listing[r], sizeof listing[r], "%s/round%d", folder, r);
        source[r] = listing[r];
        FILE *out = fopen(listing[r], "w");
        assert_non_null(out);
        for (int s = 0; s < runs->n_stages; s++)
            fprintf(out, "stage_%d_rank_%d/mindformer.log:7:Actual peak memory usage (with fragments): %.0fM\n", s,
                    8 * s, rint(peak_of(guide, t, scale, r, s)));
        fclose(out);
    }
    ek_collection logs;
    char *text = NULL;
    size_t size;
    ek_dryrun read;
    if (status || ek_collection_read(source, runs->n_rounds, runs->n_stages, NULL, &logs, &err) ||
        ek_dryrun_fill(init_path, &logs, EK_PEAK_ACTUAL, NULL, &text, &size, &err))
        fail_msg("%s:%d:%d: %s", err.file, err.line, err.column, err.message);
    FILE *filled = fopen(init_path, "w");
    assert_true(filled && fwrite(text, 1, size, filled) == size);
    fclose(filled);
    free(text);
    ek_collection_clear(&logs);
    if (ek_dryrun_read(init_path, NULL, &read, &err) || ek_dryrun_decompose(&read, "m", NULL, false, layers, &err))
        fail_msg("%s:%d:%d: %s", err.file, err.line, err.column, err.message);
    ek_dryrun_clear(&read);
    unlink(init_path);
    for (int r = 0; r < runs->n_rounds; r++)
        unlink(listing[r]);
}

static void memory_made_by_the_equation_comes_back(void **state)
{
    (void)state;
    enum { N_MODELS = 25 }; /* of each shape */
    const int n_shapes = effort(40, 6);
    int n_values = 0, n_near = 0;
    ek_guide guide = {0};
    for (int i = 0; i < n_shapes * N_MODELS; i++) {
        if (i % N_MODELS == 0) {
            static const int stages[] = {4, 5, 6, 8, 12, 16, 24, 32};
            int p = stages[random_below(8)], n_layers = p * (1 + random_below(8)) + 1 + random_below(p);
            const ek_guide_options options = options_for(p, n_layers, random_below(16));
            ek_guide_clear(&guide);
            guide = make_guide(&options);
        }
        truth t = random_truth();
        double scale = 1 + random_below(1000) / 1e4;
        ek_layers layers;
        decompose(&guide, &t, scale, &layers);
        for (int k = -1; k < EK_N_RECOMPUTE; k++) {
            if (k >= 0 && !guide.kind[k])
                continue;
            double found = k < 0 ? layers.body[0].parameter_mb : layers.body[0].activation_mb[k];
            double true_mb = scale * (k < 0 ? t.par : t.act[k]);
            n_values++;
            n_near += fabs(found - true_mb) <= 1;
        }
        ek_layers_clear(&layers);
    }
    ek_guide_clear(&guide);
    print_message("# within 1 MB: %d of %d (%.2f %%)\n", n_near, n_values, 100.0 * n_near / n_values);
    assert_true(n_near >= 0.99 * n_values);
}

/* ---- impossible requests ---- */

static void jobs_that_cannot_be_measured_get_other_stages_and_a_reason(void **state)
{
    (void)state;
    static const struct {
        int stages, layers, runs;
        const char *reason;
    } cases[] = {{2, 32, 4, "no middle stage"},
                 {3, 32, 4, "two live micro-batches"},
                 {1, 8, 4, "one stage"},
                 {16, 16, 8, "a layer on every stage"},
                 {6, 6, 4, "a layer on every stage"},
                 {5, 6, 5, ""},
                 {4, 32, 4, ""}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const ek_guide_options options = options_for(cases[i].stages, cases[i].layers, 1);
        ek_guide guide = make_guide(&options);
        assert_int_equal(guide.runs.n_stages, cases[i].runs);
        assert_non_null(strstr(guide.reason, cases[i].reason));
        assert_int_equal(guide.reason[0] == '\0', cases[i].reason[0] == '\0');
        assert_true(isfinite(guide.condition));
        ek_guide_clear(&guide);
    }
}

/* Of the compared spreads, the narrowest with a first estimate of the error within a quarter of the least. */
static void the_narrowest_spread_that_is_good_is_taken(void **state)
{
    (void)state;
    static const struct {
        int p, n_layers, kinds;
    } cases[] = {{5, 60, 3}, {4, 32, 0}, {8, 64, 1}, {6, 24, 5}};
    static const double spreads[] = {0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 2.5, 3.0};
    enum { N_SPREADS = sizeof spreads / sizeof *spreads };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ek_guide_options options = options_for(cases[i].p, cases[i].n_layers, cases[i].kinds);
        ek_guide guide = make_guide(&options);
        ek__guide_shape shape = {.n_stages = cases[i].p,
                                 .n_layers = cases[i].n_layers,
                                 .n_rounds = guide.runs.n_rounds,
                                 .unknowns.has_const = true};
        for (int k = 0; k < EK_N_RECOMPUTE; k++)
            if (k == EK_RECOMPUTE_NONE || options.kind[k])
                shape.unknowns.kind[shape.unknowns.n_kinds++] = (ek_recompute)k;
        ek__guide_cell cell[64];
        double error[N_SPREADS], least = INFINITY, unused;
        ek_error err = {0};
        assert_true(shape.n_rounds * shape.n_stages <= 64);
        for (int k = 0; k < N_SPREADS; k++) {
            assert_int_equal(ek__guide_anneal(&shape, spreads[k], true, NULL, 0, cell, &error[k], &err), EK_OK);
            least = fmin(least, error[k]);
        }
        int chosen = 0;
        while (error[chosen] > 1.25 * least)
            chosen++;
        assert_int_equal(ek__guide_anneal(&shape, spreads[chosen], false, NULL, 0, cell, &unused, &err), EK_OK);
        for (int c = 0; c < shape.n_rounds * shape.n_stages; c++)
            if (guide.runs.layers[c] != cell[c].n)
                fail_msg("%d stages, %d layers: not as with a spread of %g", cases[i].p, cases[i].n_layers,
                         spreads[chosen]);
        ek_guide_clear(&guide);
    }
}

static void impossible_questions_are_refused(void **state)
{
    (void)state;
    static const struct {
        int stages, layers, rounds;
        const char *message;
    } cases[] = {{4, 4, 0, "at least 5 layers"},   {2, 3, 0, "at least 5 layers"},
                 {8, 6, 0, "do not fill"},         {0, 6, 0, "stages must be 1 to"},
                 {4, 0, 0, "layers must be 1 to"}, {4, 5000, 0, "layers must be 1 to"},
                 {4, 32, 1, "at least 2 rounds"},  {4, 32, -1, "rounds must be"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ek_guide_options options = options_for(cases[i].stages, cases[i].layers, 0);
        options.n_rounds = cases[i].rounds;
        ek_guide guide = {.n_errors = 77};
        ek_error err = {0};
        assert_int_equal(ek_guide_make(&options, &guide, &err), EK_ERR_INPUT);
        if (!strstr(err.message, cases[i].message))
            fail_msg("case %zu: %s", i, err.message);
        assert_int_equal(guide.n_errors, 77);
    }
}

static void layers_that_cannot_be_are_refused(void **state)
{
    (void)state;
    ek_layer body = {.n_layers = 32, .parameter_mb = -1};
    const ek_layers layers = {.n_body = 1, .body = &body, .n_layers = 32, .modelled = {true}};
    ek_guide_options options = options_for(4, 32, 0);
    options.layers = &layers;
    ek_guide guide = {.n_errors = 77};
    ek_error err = {0}, why = {0};
    assert_int_equal(ek_layers_check(&layers, &why), EK_ERR_INPUT);
    assert_int_equal(ek_guide_make(&options, &guide, &err), EK_ERR_INPUT);
    assert_string_equal(err.message, why.message);
    assert_int_equal(guide.n_errors, 77);
}

static void predicted_peaks_keep_the_limit_where_one_is_given(void **state)
{
    (void)state;
    ek_layer body = {.n_layers = 64,
                     .parameter_mb = 1000,
                     .activation_mb = {900, 700, 600, 400, 60},
                     .modelled = {true, true, true, true, true}};
    ek_layers rough = {.n_body = 1, .body = &body, .n_layers = 64, .const_mb = 500};
    memcpy(rough.modelled, body.modelled, sizeof rough.modelled);
    rough.head.parameter_mb = 3000;
    rough.tail.parameter_mb = 4000;
    ek_guide_options options = options_for(8, 64, 15);
    options.layers = &rough;
    ek_guide free_guide = make_guide(&options);
    CHECK_WRITTEN(ek__result_guide.fields, ek__guide_write_json, &free_guide);
    double most = 0;
    for (int i = 0; i < 16; i++)
        most = fmax(most, free_guide.peak_mb[i]);
    ek_guide_clear(&free_guide);
    options.memory_limit_mb = 45000;
    assert_true(most > options.memory_limit_mb);
    ek_guide guide = make_guide(&options);
    truth t = {.par = 1000, .act = {900, 700, 600, 400, 60}, .constant = 500, .head = 3000, .tail = 4000};
    for (int r = 0; r < guide.runs.n_rounds; r++)
        for (int s = 0; s < 8; s++) {
            double peak = guide.peak_mb[r * 8 + s];
            assert_true(fabs(peak - peak_of(&guide, &t, 1, r, s)) < 1e-6);
            assert_true(peak <= options.memory_limit_mb);
        }
    ek_guide_clear(&guide);
    options.memory_limit_mb = 9000;
    ek_error err = {0};
    assert_int_equal(ek_guide_make(&options, &guide, &err), EK_ERR_INPUT);
    assert_non_null(strstr(err.message, "9000 MB"));
}

/* The stated effect of 1 MB: perturb one peak of an exact system and look. */
static void errors_are_what_a_wrong_peak_does(void **state)
{
    (void)state;
    const ek_guide_options options = options_for(6, 40, 9);
    ek_guide guide = make_guide(&options);
    double matrix[MAX_ROWS][MAX_COLUMNS];
    int rows = fill_from_lists(&guide, matrix), columns = 5;
    double worst[MAX_COLUMNS] = {0}, square[MAX_COLUMNS] = {0};
    for (int wrong = 0; wrong < rows; wrong++) {
        double a[MAX_ROWS * MAX_COLUMNS], b[MAX_ROWS] = {0}, value[MAX_COLUMNS];
        lapack_int rank;
        for (int i = 0; i < rows; i++)
            for (int c = 0; c < columns; c++)
                a[i * columns + c] = matrix[i][c];
        b[wrong] = 1;
        assert_int_equal(LAPACKE_dgelsd(LAPACK_ROW_MAJOR, rows, columns, 1, a, columns, b, 1, value, 1e-12, &rank), 0);
        for (int c = 0; c < columns; c++) {
            worst[c] = fmax(worst[c], fabs(b[c]));
            square[c] += b[c] * b[c];
        }
    }
    /* Order of the answers: parameters, activations, constant, head, tail. */
    static const int column_of[] = {0, 2, 3, 4, 1};
    assert_int_equal(guide.n_errors, columns + 2);
    for (int i = 0; i < columns; i++) {
        assert_true(fabs(guide.error[i].one_mb - worst[column_of[i]]) < 1e-9);
        assert_true(fabs(guide.error[i].all_mb - sqrt(square[column_of[i]])) < 1e-9);
    }
    assert_string_equal(guide.error[columns].name, "head");
    assert_true(guide.error[columns].one_mb >= 1 && guide.error[columns + 1].one_mb >= 1);
    ek_guide_clear(&guide);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_condition_numbers_are_those_of_the_lists),
        cmocka_unit_test(peaks_of_balanced_plans_are_predicted_better_than_after_the_best_conditioned_lists),
        cmocka_unit_test(lists_add_up_and_can_be_said),
        cmocka_unit_test(the_same_question_gets_the_same_answer),
        cmocka_unit_test(memory_made_by_the_equation_comes_back),
        cmocka_unit_test(jobs_that_cannot_be_measured_get_other_stages_and_a_reason),
        cmocka_unit_test(the_narrowest_spread_that_is_good_is_taken),
        cmocka_unit_test(impossible_questions_are_refused),
        cmocka_unit_test(layers_that_cannot_be_are_refused),
        cmocka_unit_test(predicted_peaks_keep_the_limit_where_one_is_given),
        cmocka_unit_test(errors_are_what_a_wrong_peak_does),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
