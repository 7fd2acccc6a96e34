/* Times of layers from traces: against a generator that knows them, in every form and over random shapes; against
 * published traces with known truth; and on to a layer file that balances. */
#include "input.h"

#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

#include <jansson.h>

#include "trace/analysis.h"
#include "trace_generator.h"

/* ---- reading what the generator wrote ---- */

static char folder[] = "/tmp/evenkeel-trace-XXXXXX";

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static void remove_stage(trace_form form, int stage)
{
    const trace_shape shape = {.form = form};
    char path[4096];
    trace_file(&shape, folder, stage, path, sizeof path);
    unlink(path);
    if (form == TRACE_TORCH)
        return;
    snprintf(path, sizeof path, "%s/rank_%d_ascend_ms/ASCEND_PROFILER_OUTPUT", folder, stage);
    rmdir(path);
    snprintf(path, sizeof path, "%s/rank_%d_ascend_ms/profiler_info_%d.json", folder, stage, stage);
    unlink(path);
    snprintf(path, sizeof path, "%s/rank_%d_ascend_ms", folder, stage);
    rmdir(path);
}

static int remove_folder(void **state)
{
    (void)state;
    for (int s = 0; s < 8; s++) {
        remove_stage(TRACE_TORCH, s);
        remove_stage(TRACE_MINDSPORE, s);
    }
    return rmdir(folder);
}

typedef struct one_rank {
    ek_trace_rank rank;
    ek_trace_step step[64];
} one_rank;

/* A rank from one file, with steps as given (none: n_steps 0). */
static void read_rank(const char *path, const ek_trace_options *options, const trace_truth *truth, int stage,
                      one_rank *out)
{
    ek_trace_source source = {0};
    ek__trace trace;
    ek_error err = {0};
    memset(out, 0, sizeof *out);
    out->rank.pool = ek__pool_new();
    if (ek__trace_read(&path, 1, 1, options, out->rank.pool, &source, &trace, &err))
        fail_msg("%s", err.message);
    for (int i = 0; truth && i < truth->n_steps; i++) {
        const trace_truth_step *t = &truth->step[stage * truth->n_steps + i];
        out->step[i] = (ek_trace_step){.name = "", .host_start = t->host_start, .host_step = t->host_duration,
                                       .start = t->start, .end = t->end, .warm_up = i == 0 && truth->n_steps > 1};
    }
    out->rank.step = out->step;
    out->rank.n_steps = truth ? truth->n_steps : 0;
    if (ek__analyse_layers(&trace, options, &out->rank, &err))
        fail_msg("%s", err.message);
    ek__trace_clear(&trace);
}

static const ek_trace_layer *find_layer(const ek_trace_layers *layers, const char *name)
{
    for (int i = 0; i < layers->n; i++)
        if (strcmp(layers->layer[i].name, name) == 0)
            return &layers->layer[i];
    return NULL;
}

/* ---- truth ---- */

typedef struct expectation {
    int64_t n;
    double wall_mean, busy_mean, wall_min, wall_max, wall_median;
} expectation;

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static expectation expect(const trace_truth_layer *layer, int direction, int first_step)
{
    double wall[4096];
    expectation e = {0, 0, 0, INFINITY, -INFINITY, 0};
    for (int i = 0; i < layer->n[direction]; i++) {
        const trace_execution *x = &layer->execution[direction][i];
        if (x->step < first_step)
            continue;
        assert_true(e.n < 4096);
        wall[e.n++] = (double)x->wall;
        e.wall_mean += (double)x->wall;
        e.busy_mean += (double)x->busy;
        e.wall_min = fmin(e.wall_min, (double)x->wall);
        e.wall_max = fmax(e.wall_max, (double)x->wall);
    }
    e.wall_mean /= (double)e.n;
    e.busy_mean /= (double)e.n;
    qsort(wall, (size_t)e.n, sizeof *wall, compare_doubles);
    e.wall_median = e.n == 0 ? 0 : 0.5 * (wall[(e.n - 1) / 2] + wall[e.n / 2]);
    return e;
}

static void check_pass(const char *what, const char *name, const char *direction, const expectation *e,
                       const ek_trace_pass *found, bool busy)
{
    if (found->n != e->n)
        fail_msg("%s: %s %s: %lld executions, expected %lld", what, name, direction, (long long)found->n,
                 (long long)e->n);
    if (e->n == 0) {
        assert_true(isnan(found->wall_mean));
        return;
    }
    const struct {
        const char *figure;
        double found, expected;
    } figures[] = {{"wall mean", found->wall_mean, e->wall_mean},
                   {"wall median", found->wall_median, e->wall_median},
                   {"wall min", found->wall_min, e->wall_min},
                   {"wall max", found->wall_max, e->wall_max},
                   {"busy mean", found->busy_mean, e->busy_mean}};
    for (size_t i = 0; i < sizeof figures / sizeof *figures - !busy; i++)
        if (!(fabs(figures[i].found - figures[i].expected) <= 1e-9 * figures[i].expected))
            fail_msg("%s: %s %s: %s is %.3f ns, expected %.3f", what, name, direction, figures[i].figure,
                     figures[i].found, figures[i].expected);
}

static void check_stage(const char *what, const trace_shape *shape, const trace_truth *truth, int stage,
                        const ek_trace_options *options, const char *source, bool busy)
{
    char path[4096];
    one_rank r;
    trace_file(shape, folder, stage, path, sizeof path);
    read_rank(path, options, shape->no_step_marks ? NULL : truth, stage, &r);
    int n = 0, first_step = truth->n_steps > 1 && !shape->no_step_marks ? 1 : 0;
    const ek_trace_layers *layers = &r.rank.layers;
    if (!layers->source || strcmp(layers->source, source) != 0)
        fail_msg("%s: source %s, expected %s", what, layers->source ? layers->source : "none", source);
    for (int i = 0; i < truth->n_layers; i++) {
        const trace_truth_layer *t = &truth->layer[i];
        if (t->stage != stage)
            continue;
        n++;
        const ek_trace_layer *l = find_layer(layers, t->name);
        if (!l)
            fail_msg("%s: stage %d: no layer %s", what, stage, t->name);
        const ek_trace_pass *found[] = {&l->forward, &l->recompute, &l->backward};
        static const char *const direction[] = {"forward", "recompute", "backward"};
        ek_trace_role role = t->index >= 0 ? EK_TRACE_BODY : t->is_tail ? EK_TRACE_TAIL : EK_TRACE_HEAD;
        if (l->role != role)
            fail_msg("%s: %s is %s, expected %s", what, t->name, ek_trace_role_name[l->role], ek_trace_role_name[role]);
        for (int d = 0; d < TRACE_N_DIRECTIONS; d++) {
            expectation e = expect(t, d, first_step);
            check_pass(what, t->name, direction[d], &e, found[d], busy);
        }
    }
    if (layers->n != n)
        fail_msg("%s: stage %d: %d layers, expected %d (last: %s)", what, stage, layers->n, n,
                 layers->n ? layers->layer[layers->n - 1].name : "-");
    if (!shape->no_step_marks)
        assert_int_equal(layers->n_micro_batches, shape->n_micro_batches);
    ek__pool_free(r.rank.pool);
}

static void check_shape(const char *what, const trace_shape *shape, const ek_trace_options *options,
                        const char *source, bool busy)
{
    trace_truth truth;
    if (!trace_write(shape, folder, &truth))
        fail_msg("%s: not written", what);
    for (int s = 0; s < shape->n_stages; s++)
        check_stage(what, shape, &truth, s, options, source, busy);
    trace_truth_clear(&truth);
}

/* ---- random shapes ---- */

static unsigned next_random(unsigned *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

static void random_shape(unsigned *seed, trace_form form, trace_rerun *rerun, trace_shape *out)
{
    *out = (trace_shape){.form = form, .n_stages = 1 + (int)(next_random(seed) % 4),
                         .n_micro_batches = 1 + (int)(next_random(seed) % 8), .n_steps = 1 + (int)(next_random(seed) % 4),
                         .n_chunks = 1, .n_layers = 1 + (int)(next_random(seed) % 4), .warm_up = 1.4,
                         .shared_numbers = next_random(seed) % 2, .select_in_default = next_random(seed) % 2,
                         .select_spread = next_random(seed) % 2, .names_in_arguments = next_random(seed) % 2,
                         .jitter = next_random(seed) % 2 ? 0.2 : 0.0, .seed = next_random(seed)};
    if (next_random(seed) % 3 == 0) {
        out->n_chunks = 2;
        out->n_micro_batches = out->n_stages * (1 + (int)(next_random(seed) % 2));
    }
    int n = out->n_stages * out->n_chunks * out->n_layers, kind = (int)(next_random(seed) % 4);
    out->n_dense = (int)(next_random(seed) % (unsigned)(n + 1));
    for (int i = 0; i < n; i++)
        rerun[i] = kind < 3 ? (trace_rerun)kind : (trace_rerun)(next_random(seed) % 3);
    out->rerun = rerun;
}

static void describe(const trace_shape *s, char *text, size_t size)
{
    int at = snprintf(text, size, "stages %d, micro-batches %d, steps %d, chunks %d, layers %d%s%s%s%s, rerun ",
                      s->n_stages, s->n_micro_batches, s->n_steps, s->n_chunks, s->n_layers,
                      s->shared_numbers ? ", shared" : "", s->select_in_default ? ", in Default" : "",
                      s->select_spread ? ", spread" : "", s->names_in_arguments ? ", arguments" : "");
    for (int i = 0; i < s->n_stages * s->n_chunks * s->n_layers; i++)
        at += snprintf(text + at, size - (size_t)at, "%d", s->rerun[i]);
}

static void random_mindspore_traces_give_their_truth(void **state)
{
    (void)state;
    unsigned seed = 7;
    for (int trial = 0; trial < 120; trial++) {
        trace_rerun rerun[64];
        trace_shape shape;
        char what[512];
        random_shape(&seed, TRACE_MINDSPORE, rerun, &shape);
        describe(&shape, what, sizeof what);
        check_shape(what, &shape, NULL, shape.names_in_arguments ? "launch_names" : "task_names", true);
    }
}

static void random_torch_traces_give_their_truth(void **state)
{
    (void)state;
    unsigned seed = 11;
    for (int trial = 0; trial < 60; trial++) {
        trace_rerun rerun[64];
        trace_shape shape;
        char what[512];
        random_shape(&seed, TRACE_TORCH, rerun, &shape);
        static const char *const body[] = {"DecoderLayer", "DenseLayer"};
        const ek_trace_options options = {.n_body = 2, .body = body};
        describe(&shape, what, sizeof what);
        check_shape(what, &shape, &options, "modules", true);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_mindspore_traces_give_their_truth),
        cmocka_unit_test(random_torch_traces_give_their_truth),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
