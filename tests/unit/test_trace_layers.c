/* Tests times of layers from traces: against a generator that knows them, in every form and over random shapes; against
 * made and published traces with known truth; and on to a layer file that balances. */
#include "input.h"

#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

#include <jansson.h>

#include "evenkeel/layers.h"
#include "golden.h"
#include "made_traces.h"
#include "skip.h"
#include "trace/analyse/analysis.h"
#include "trace_generator.h"

/* ---- reading the generator's files ---- */

static char folder[] = "/tmp/evenkeel-trace-XXXXXX";

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    for (int s = 0; s < 8; s++) {
        for (int form = TRACE_MINDSPORE; form <= TRACE_TORCH_NPU; form++)
            trace_remove((trace_form)form, folder, s);
    }
    return rmdir(folder);
}

enum { MAX_LAYERS = 256 };

typedef struct one_rank {
    ek_trace_rank rank;
    ek_trace_step step[64];
    double busy[MAX_LAYERS]; /* of each layer: the device's operators that are its members, steps or not */
} one_rank;

/* The time of the operators that begin where members do; each begins at a different time. */
static void sum_members(const ek__trace *trace, one_rank *out)
{
    const ek_trace_layers *layers = &out->rank.layers;
    ek__slice kernels = trace->of[EK__EVENT_KERNEL];
    size_t at = 0;
    assert_true(layers->n <= MAX_LAYERS);
    for (size_t i = 0; i < layers->n_members; i++) {
        const ek_trace_member *m = &layers->member[i];
        while (at < kernels.n && kernels.event[at].start < m->start)
            at++;
        assert_true(at < kernels.n && kernels.event[at].start == m->start);
        out->busy[m->layer] += (double)kernels.event[at].duration;
    }
}

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
        out->step[i] = (ek_trace_step){.name = "",
                                       .host_start = t->host_start,
                                       .host_step = t->host_duration,
                                       .start = t->start,
                                       .end = t->end,
                                       .warm_up = i == 0 && truth->n_steps > 1};
    }
    out->rank.step = out->step;
    out->rank.n_steps = truth ? truth->n_steps : 0;
    ek_trace_options measuring = options ? *options : (ek_trace_options){0};
    measuring.measure = true;
    if (ek__analyse_layers(&trace, &measuring, &out->rank, &err))
        fail_msg("%s", err.message);
    sum_members(&trace, out);
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
        assert_true(found->longest.start == EK_TRACE_UNKNOWN);
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
    /* Recomputation in pieces takes less than from its first piece to its last. */
    int64_t longest = found->longest.end - found->longest.start;
    if (strcmp(direction, "forward") == 0 ? (double)longest != e->wall_max : (double)longest < e->wall_max)
        fail_msg("%s: %s %s: the longest takes %lld ns, expected %.0f", what, name, direction, (long long)longest,
                 e->wall_max);
    for (size_t i = 0; i < sizeof figures / sizeof *figures - !busy; i++)
        if (!(fabs(figures[i].found - figures[i].expected) <= 1e-9 * figures[i].expected))
            fail_msg("%s: %s %s: %s is %.3f ns, expected %.3f", what, name, direction, figures[i].figure,
                     figures[i].found, figures[i].expected);
}

/* The operators of a layer, by name, are those of all its executions. */
static void check_members(const char *what, const trace_truth_layer *t, double found, bool known)
{
    double expected = 0;
    for (int d = 0; d < TRACE_N_DIRECTIONS && known; d++)
        for (int i = 0; i < t->n[d]; i++)
            expected += (double)t->execution[d][i].busy;
    if (fabs(found - expected) > 1e-9 * expected)
        fail_msg("%s: %s: its operators take %.3f ns, expected %.3f", what, t->name, found, expected);
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
        if (!l) {
            fail_msg("%s: stage %d: no layer %s", what, stage, t->name);
            break;
        }
        const ek_trace_pass *found[] = {&l->forward, &l->recompute, &l->backward};
        static const char *const direction[] = {"forward", "recompute", "backward"};
        ek_trace_role role = t->index >= 0 ? EK_TRACE_BODY : t->is_tail ? EK_TRACE_TAIL : EK_TRACE_HEAD;
        if (l->role != role)
            fail_msg("%s: %s is %s, expected %s", what, t->name, ek_trace_role_name[l->role], ek_trace_role_name[role]);
        for (int d = 0; d < TRACE_N_DIRECTIONS; d++) {
            expectation e = expect(t, d, first_step);
            check_pass(what, t->name, direction[d], &e, found[d], busy);
        }
        check_members(what, t, r.busy[l - layers->layer], busy);
    }
    if (layers->n != n)
        fail_msg("%s: stage %d: %d layers, expected %d (last: %s)", what, stage, layers->n, n,
                 layers->n ? layers->layer[layers->n - 1].name : "-");
    if (!shape->no_step_marks)
        assert_int_equal(layers->n_micro_batches, shape->n_micro_batches);
    ek__pool_free(r.rank.pool);
}

static void check_shape(const char *what, const trace_shape *shape, const ek_trace_options *options, const char *source,
                        bool busy)
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
    *out = (trace_shape){.form = form,
                         .n_stages = 1 + (int)(next_random(seed) % 4),
                         .n_micro_batches = 1 + (int)(next_random(seed) % 8),
                         .n_steps = 1 + (int)(next_random(seed) % 4),
                         .n_chunks = 1,
                         .n_layers = 1 + (int)(next_random(seed) % 4),
                         .warm_up = 1.4,
                         .shared_numbers = next_random(seed) % 2,
                         .select_in_default = next_random(seed) % 2,
                         .select_spread = next_random(seed) % 2,
                         .names_in_arguments = next_random(seed) % 2,
                         .jitter = next_random(seed) % 2 ? 0.2 : 0.0,
                         .seed = next_random(seed)};
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

/* ---- other sources ---- */

static void scopes_tell_where_kernels_do_not(void **state)
{
    (void)state;
    static const trace_rerun rerun[] = {TRACE_RERUN_FULL, TRACE_RERUN_NONE, TRACE_RERUN_FULL, TRACE_RERUN_FULL};
    const trace_shape shape = {.n_stages = 2,
                               .n_micro_batches = 4,
                               .n_steps = 3,
                               .n_chunks = 1,
                               .n_layers = 2,
                               .rerun = rerun,
                               .warm_up = 1.4,
                               .jitter = 0.1,
                               .seed = 5,
                               .nameless_kernels = true};
    check_shape("scopes", &shape, NULL, "scope_layer", false);
}

static void without_step_marks_all_executions_count(void **state)
{
    (void)state;
    const trace_shape shape = {
        .n_stages = 2, .n_micro_batches = 3, .n_steps = 2, .n_chunks = 1, .n_layers = 2, .no_step_marks = true};
    check_shape("no marks", &shape, NULL, "task_names", true);
}

static void one_layer_in_a_row_is_cut_by_the_other_stages_count(void **state)
{
    (void)state;
    static const trace_rerun full[] = {TRACE_RERUN_FULL};
    const trace_shape shape = {
        .n_stages = 1, .n_micro_batches = 4, .n_steps = 2, .n_chunks = 1, .n_layers = 1, .bare = true, .rerun = full};
    check_shape("bare", &shape, NULL, "task_names", true);
}

static void modules_are_found_without_names(void **state)
{
    (void)state;
    static const trace_rerun rerun[] = {TRACE_RERUN_FULL, TRACE_RERUN_NONE, TRACE_RERUN_SELECT, TRACE_RERUN_NONE};
    const trace_shape shape = {.form = TRACE_TORCH,
                               .n_stages = 2,
                               .n_micro_batches = 4,
                               .n_steps = 3,
                               .n_chunks = 1,
                               .n_layers = 2,
                               .rerun = rerun,
                               .jitter = 0.1,
                               .seed = 3};
    check_shape("modules", &shape, NULL, "modules", true);
}

static void names_choose_head_body_and_tail(void **state)
{
    (void)state;
    static const char *const head[] = {"Embedding"}, *const body[] = {"DecoderLayer"}, *const tail[] = {"lm_head-Head"};
    const ek_trace_options options = {.n_head = 1, .head = head, .n_body = 1, .body = body, .n_tail = 1, .tail = tail};
    const trace_shape shape = {
        .n_stages = 1, .n_micro_batches = 2, .n_steps = 2, .n_chunks = 1, .n_layers = 3, .n_dense = 1};
    char path[4096];
    trace_truth truth;
    one_rank r;
    assert_true(trace_write(&shape, folder, &truth));
    trace_file(&shape, folder, 0, path, sizeof path);
    read_rank(path, &options, &truth, 0, &r);
    assert_int_equal(r.rank.layers.n, 4);
    assert_null(find_layer(&r.rank.layers, "0-DenseLayer"));
    assert_null(find_layer(&r.rank.layers, "norm_out-FinalNorm"));
    assert_string_equal(find_layer(&r.rank.layers, "1-DecoderLayer")->kind, "DecoderLayer");
    assert_int_equal(find_layer(&r.rank.layers, "1-DecoderLayer")->index, 1);
    assert_int_equal(find_layer(&r.rank.layers, "tok_embeddings-Embedding")->role, EK_TRACE_HEAD);
    assert_int_equal(find_layer(&r.rank.layers, "lm_head-Head")->role, EK_TRACE_TAIL);
    ek__pool_free(r.rank.pool);
    trace_truth_clear(&truth);
}

/* A trace as text in a file of the folder. */
static void read_text(const char *text, const ek_trace_options *options, one_rank *out)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/text.json", folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    read_rank(path, options, NULL, 0, out);
    unlink(path);
}

static void ranges_of_the_user_come_first(void **state)
{
    (void)state;
    one_rank r;
    read_text(
        "{\"traceEvents\": ["
        "{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"0-Block\",\"pid\":1,\"tid\":1,\"ts\":10,\"dur\":10},"
        "{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"1-Block\",\"pid\":1,\"tid\":1,\"ts\":20,\"dur\":10},"
        "{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"backward/"
        "1-Block\",\"pid\":1,\"tid\":1,\"ts\":40,\"dur\":9},"
        "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":1,\"tid\":1,\"ts\":11,\"dur\":1,"
        "\"args\":{\"correlation\":1}},"
        "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":1,\"tid\":1,\"ts\":15,\"dur\":1,"
        "\"args\":{\"correlation\":2}},"
        "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":1,\"tid\":1,\"ts\":25,\"dur\":1,"
        "\"args\":{\"correlation\":3}},"
        "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":1,\"tid\":1,\"ts\":45,\"dur\":1,"
        "\"args\":{\"correlation\":4}},"
        "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"a\",\"pid\":0,\"tid\":7,\"ts\":100,\"dur\":5,\"args\":{"
        "\"correlation\":1}},"
        "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"b\",\"pid\":0,\"tid\":7,\"ts\":107,\"dur\":4,\"args\":{"
        "\"correlation\":2}},"
        "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"c\",\"pid\":0,\"tid\":7,\"ts\":120,\"dur\":6,\"args\":{"
        "\"correlation\":3}},"
        "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"d\",\"pid\":0,\"tid\":7,\"ts\":130,\"dur\":8,\"args\":{"
        "\"correlation\":4}}]}",
        NULL, &r);
    assert_string_equal(r.rank.layers.source, "annotations");
    assert_int_equal(r.rank.layers.n, 2);
    const ek_trace_layer *first = find_layer(&r.rank.layers, "0-Block"),
                         *second = find_layer(&r.rank.layers, "1-Block");
    assert_true(first->forward.wall_mean == 11000 && first->forward.busy_mean == 9000);
    assert_true(second->forward.wall_mean == 6000 && second->backward.wall_mean == 8000);
    assert_true(r.busy[first - r.rank.layers.layer] == 9000 && r.busy[second - r.rank.layers.layer] == 14000);
    ek__pool_free(r.rank.pool);
}

/* One scope encloses all others, and a layer lasts as long as its scope, including its work before and after its
 * parts. */
static void the_first_scope_holds_the_others(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int depth, start, duration;
    } scopes[] = {{"Default", 0, 100, 90}, {"0-Block", 1, 100, 30},      {"attention", 2, 105, 10},
                  {"1-Block", 1, 140, 40}, {"feed_forward", 2, 140, 40}, {"Gradients", 0, 200, 90},
                  {"Default", 1, 200, 90}, {"1-Block", 2, 200, 50},      {"0-Block", 2, 250, 40}};
    char text[4096];
    int n =
        snprintf(text, sizeof text,
                 "[{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":3,\"tid\":0,\"args\":{\"name\":\"Scope Layer\"}}");
    for (size_t i = 0; i < sizeof scopes / sizeof *scopes; i++)
        n += snprintf(text + n, sizeof text - (size_t)n,
                      ",{\"ph\":\"X\",\"name\":\"%s\",\"pid\":3,\"tid\":%d,\"ts\":\"%d\",\"dur\":%d,\"args\":{}}",
                      scopes[i].name, scopes[i].depth, scopes[i].start, scopes[i].duration);
    snprintf(text + n, sizeof text - (size_t)n, "]");
    one_rank r;
    read_text(text, NULL, &r);
    assert_string_equal(r.rank.layers.source, "scope_layer");
    assert_int_equal(r.rank.layers.n, 2);
    for (int i = 0; i < 2; i++) {
        const ek_trace_layer *l = &r.rank.layers.layer[i];
        assert_string_equal(l->name, i ? "1-Block" : "0-Block");
        assert_int_equal(l->index, i);
        assert_true(l->forward.n == 1 && l->forward.wall_mean == (i ? 40000 : 30000));
        assert_true(l->backward.n == 1 && l->backward.wall_mean == (i ? 50000 : 40000));
    }
    ek__pool_free(r.rank.pool);
}

static void a_trace_without_layers_has_none(void **state)
{
    (void)state;
    one_rank r;
    read_text("[{\"ph\":\"X\",\"name\":\"MatMul\",\"pid\":1,\"tid\":1,\"ts\":\"1\",\"dur\":\"2\","
              "\"args\":{\"Task Type\":\"AI_CORE\"}}]",
              NULL, &r);
    assert_null(r.rank.layers.source);
    assert_int_equal(r.rank.layers.n, 0);
    ek__pool_free(r.rank.pool);
}

/* ---- layers outside of the body ---- */

/* Kernels one after another, each of 1 us, with these names; then the layers of the trace. */
static void read_paths(const char *const *path, int n, one_rank *out)
{
    char text[8192] = "[";
    int at = 1;
    for (int i = 0; i < n; i++)
        at +=
            snprintf(text + at, sizeof text - (size_t)at,
                     "%s{\"ph\":\"X\",\"name\":\"%s\",\"pid\":9,\"tid\":2,\"ts\":\"%d\",\"dur\":\"1\",\"args\":{\"Task "
                     "Type\":\"AI_CORE\"}}",
                     i ? "," : "", path[i], 10 + 2 * i);
    snprintf(text + at, sizeof text - (size_t)at, "]");
    read_text(text, NULL, out);
}

static void operators_in_a_row_are_no_layers(void **state)
{
    (void)state;
    static const char *const convolutions[] = {"Default/net-Vgg/layers-SequentialCell/0-Conv2d/Conv2D-op1",
                                               "Default/net-Vgg/layers-SequentialCell/1-ReLU/ReLU-op2",
                                               "Default/net-Vgg/layers-SequentialCell/2-Conv2d/Conv2D-op3",
                                               "Default/net-Vgg/layers-SequentialCell/3-ReLU/ReLU-op4",
                                               "Default/net-Vgg/classifier-Dense/MatMul-op5"};
    static const char *const flat[] = {"Default/net-Net/layers-CellList/0-Block/MatMul-op1",
                                       "Default/net-Net/layers-CellList/1-Block/MatMul-op2",
                                       "Default/net-Net/head-Dense/MatMul-op3"};
    static const char *const blocks[] = {"Default/net-ResNet/conv1-Conv2d/Conv2D-op1",
                                         "Default/net-ResNet/layer1-SequentialCell/0-Block/conv1-Conv2d/Conv2D-op2",
                                         "Default/net-ResNet/layer1-SequentialCell/1-Block/conv1-Conv2d/Conv2D-op3",
                                         "Default/net-ResNet/layer1-SequentialCell/3-Block/conv1-Conv2d/Conv2D-op4"};
    one_rank r;
    read_paths(convolutions, 5, &r);
    assert_int_equal(r.rank.layers.n, 0);
    assert_int_equal(r.rank.n_notes, 1);
    assert_non_null(strstr(r.rank.note[0], "--body"));
    ek__pool_free(r.rank.pool);
    read_paths(flat, 3, &r);
    assert_int_equal(r.rank.layers.n, 3);
    assert_int_equal(find_layer(&r.rank.layers, "1-Block")->role, EK_TRACE_BODY);
    assert_int_equal(find_layer(&r.rank.layers, "head-Dense")->role, EK_TRACE_TAIL);
    assert_int_equal(r.rank.n_notes, 0);
    ek__pool_free(r.rank.pool);
    read_paths(blocks, 4, &r);
    assert_int_equal(r.rank.layers.n, 4);
    assert_int_equal(find_layer(&r.rank.layers, "3-Block")->role, EK_TRACE_BODY);
    ek__pool_free(r.rank.pool);
}

typedef struct module_at {
    const char *name;
    int start, end;
} module_at;

/* Modules, and a kernel launched in every microsecond of them. */
static void read_module_ranges(const module_at *module, int n, const ek_trace_options *options, one_rank *out)
{
    char text[16384] = "{\"traceEvents\": [";
    int at = (int)strlen(text), end = 0;
    for (int i = 0; i < n; i++) {
        at += snprintf(text + at, sizeof text - (size_t)at,
                       "{\"ph\":\"X\",\"cat\":\"python_function\",\"name\":\"nn.Module: %s\",\"pid\":1,\"tid\":1,"
                       "\"ts\":%d,\"dur\":%d},",
                       module[i].name, module[i].start, module[i].end - module[i].start);
        end = module[i].end > end ? module[i].end : end;
    }
    for (int i = 0; i < end; i++)
        at += snprintf(text + at, sizeof text - (size_t)at,
                       "%s{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":1,\"tid\":1,"
                       "\"ts\":%d.5,\"dur\":0.1,\"args\":{\"correlation\":%d}},"
                       "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":0,\"tid\":7,\"ts\":%d,\"dur\":1,"
                       "\"args\":{\"correlation\":%d}}",
                       i ? "," : "", i, i + 1, i + 2, i + 1);
    snprintf(text + at, sizeof text - (size_t)at, "]}");
    read_text(text, options, out);
}

static void lists_of_modules_are_no_layers(void **state)
{
    (void)state;
    static const module_at alexnet[] = {
        {"AlexNet_0", 0, 20}, {"Sequential_0", 1, 9},   {"Conv2d_0", 1, 3},   {"ReLU_0", 3, 4},   {"Conv2d_1", 4, 6},
        {"ReLU_1", 6, 7},     {"Sequential_1", 10, 19}, {"Linear_0", 10, 12}, {"ReLU_2", 12, 13}, {"Linear_1", 13, 18}};
    static const module_at fused[] = {{"Net_0", 0, 20},  {"Embedding_0", 1, 2}, {"Encoder_0", 3, 18},
                                      {"Layer_0", 4, 8}, {"Layer_1", 8, 12},    {"Layer_2", 13, 17}};
    static const char *const body[] = {"Sequential"};
    const ek_trace_options named = {.n_body = 1, .body = body};
    one_rank r;
    read_module_ranges(alexnet, 10, NULL, &r);
    assert_int_equal(r.rank.layers.n, 0);
    assert_int_equal(r.rank.n_notes, 1);
    assert_non_null(strstr(r.rank.note[0], "no layers"));
    ek__pool_free(r.rank.pool);
    read_module_ranges(alexnet, 10, &named, &r);
    assert_int_equal(r.rank.layers.n, 2);
    assert_true(find_layer(&r.rank.layers, "Sequential_1")->forward.busy_mean == 9000);
    ek__pool_free(r.rank.pool);
    read_module_ranges(fused, 6, NULL, &r);
    assert_int_equal(r.rank.layers.n, 4);
    assert_int_equal(find_layer(&r.rank.layers, "Embedding_0")->role, EK_TRACE_HEAD);
    assert_int_equal(find_layer(&r.rank.layers, "Layer_2")->role, EK_TRACE_BODY);
    assert_true(find_layer(&r.rank.layers, "Layer_2")->forward.wall_mean == 4000);
    ek__pool_free(r.rank.pool);
}

/* On the thread of the backward pass each layer's module runs again, and then its operators' gradients, which arrows
 * from the forward pass identify: Layer_2, then Layer_1 and Layer_0, four kernels again and two backwards each. */
static void modules_on_the_backward_thread_run_again(void **state)
{
    (void)state;
    static const module_at forward[] = {{"Net_0", 0, 20},  {"Embedding_0", 1, 2}, {"Encoder_0", 3, 18},
                                        {"Layer_0", 4, 8}, {"Layer_1", 8, 12},    {"Layer_2", 13, 17}};
    char text[16384] = "{\"traceEvents\": [";
    int n = (int)strlen(text);
    for (int i = 0; i < 6; i++)
        n += snprintf(
            text + n, sizeof text - (size_t)n,
            "{\"ph\":\"X\",\"cat\":\"python_function\",\"name\":\"nn.Module: %s\",\"pid\":1,\"tid\":1,\"ts\":%d,"
            "\"dur\":%d},",
            forward[i].name, forward[i].start, forward[i].end - forward[i].start);
    for (int i = 0; i < 3; i++) {
        const module_at *m = &forward[5 - i];
        int again = 30 + 10 * i;
        n += snprintf(
            text + n, sizeof text - (size_t)n,
            "{\"ph\":\"X\",\"cat\":\"python_function\",\"name\":\"nn.Module: %s\",\"pid\":1,\"tid\":2,\"ts\":%d,"
            "\"dur\":4},"
            "{\"ph\":\"s\",\"cat\":\"fwdbwd\",\"name\":\"fwdbwd\",\"id\":%d,\"pid\":1,\"tid\":1,\"ts\":%d.2},"
            "{\"ph\":\"f\",\"bp\":\"e\",\"cat\":\"fwdbwd\",\"name\":\"fwdbwd\",\"id\":%d,\"pid\":1,\"tid\":2,\"ts\":"
            "%d.2},",
            m->name, again, i + 1, m->start, i + 1, again + 5);
    }
    for (int i = 0, id = 0; i < 60; i++) {
        bool is_forward = i < 20, runs = i >= 30 && (i % 10 < 4 || i % 10 == 5 || i % 10 == 6);
        if (!is_forward && !runs)
            continue;
        id++;
        n += snprintf(text + n, sizeof text - (size_t)n,
                      "%s{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":1,\"tid\":%d,"
                      "\"ts\":%d.5,\"dur\":0.1,\"args\":{\"correlation\":%d}},"
                      "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":0,\"tid\":7,\"ts\":%d,\"dur\":1,"
                      "\"args\":{\"correlation\":%d}}",
                      i ? "," : "", is_forward ? 1 : 2, i, id, i + 2, id);
    }
    snprintf(text + n, sizeof text - (size_t)n, "]}");
    one_rank r;
    read_text(text, NULL, &r);
    assert_string_equal(r.rank.layers.source, "modules");
    for (int i = 0; i < 3; i++) {
        const ek_trace_layer *l = find_layer(&r.rank.layers, forward[3 + i].name);
        assert_non_null(l);
        assert_true(l->forward.n == 1 && l->forward.wall_mean == 4000);
        assert_true(l->recompute.n == 1 && l->recompute.wall_mean == 4000 && l->recompute.busy_mean == 4000);
        assert_true(l->backward.n == 1 && l->backward.wall_mean == 2000 && l->backward.busy_mean == 2000);
    }
    ek__pool_free(r.rank.pool);
}

/* Bytes of names, times and numbers are changed; whatever comes out, passes are never negative. */
static void damaged_names_and_times_do_no_harm(void **state)
{
    (void)state;
    static const trace_rerun rerun[] = {TRACE_RERUN_FULL, TRACE_RERUN_SELECT};
    unsigned seed = 21;
    for (int form = 0; form < 2; form++) {
        const trace_shape shape = {.form = (trace_form)form,
                                   .n_stages = 1,
                                   .n_micro_batches = 2,
                                   .n_steps = 1,
                                   .n_chunks = 1,
                                   .n_layers = 2,
                                   .rerun = rerun,
                                   .select_spread = true};
        char path[4096];
        size_t size = 0;
        assert_true(trace_write(&shape, folder, NULL));
        trace_file(&shape, folder, 0, path, sizeof path);
        char *whole = slurp(path, &size);
        assert_non_null(whole);
        for (int trial = 0; trial < 150; trial++) {
            one_rank r;
            char *text = strdup(whole);
            assert_non_null(text);
            for (unsigned n = 1 + next_random(&seed) % 60; n > 0; n--) {
                static const char replace[] = "/-0129_aG";
                char *at = text + 200 + next_random(&seed) % (size - 400);
                if (strchr("\"{}[],:\\", *at) == NULL)
                    *at = replace[next_random(&seed) % (sizeof replace - 1)];
            }
            read_text(text, NULL, &r);
            for (int i = 0; i < r.rank.layers.n; i++) {
                const ek_trace_layer *l = &r.rank.layers.layer[i];
                assert_true(l->name && l->kind);
                assert_true(l->forward.n == 0 || l->forward.wall_min >= 0);
                assert_true(l->backward.n == 0 || l->backward.n > 0);
            }
            ek__pool_free(r.rank.pool);
            free(text);
        }
        free(whole);
    }
}

/* ---- references with known truth ---- */

/* Names that a case configures. */
typedef struct words {
    const char *at[4];
    int n;
} words;

static words words_of(const json_t *one, const char *key)
{
    words w = {.n = 0};
    const json_t *value = json_object_get(json_object_get(one, "params"), key);
    if (json_is_string(value))
        w.at[w.n++] = json_string_value(value);
    for (size_t i = 0; i < json_array_size(value) && w.n < 4; i++)
        w.at[w.n++] = json_string_value(json_array_get(value, i));
    return w;
}

typedef struct configured {
    words head, body, tail;
    ek_trace_options options; /* points into them */
} configured;

static void configure(const json_t *one, configured *c)
{
    c->head = words_of(one, "head");
    c->body = words_of(one, "body");
    c->tail = words_of(one, "tail");
    c->options = (ek_trace_options){
        .n_head = c->head.n,
        .head = c->head.at,
        .n_body = c->body.n,
        .body = c->body.at,
        .n_tail = c->tail.n,
        .tail = c->tail.at,
        .n_micro_batches = (int)json_integer_value(json_object_get(json_object_get(one, "params"), "micro_batches")),
    };
}

/* Give every case of layers in every reference to `check`, which returns whether it used the case. */
static void go_through(bool (*check)(const char *folder, const json_t *one), const int least[MAX_TRACE_REFERENCES])
{
    const char *where[MAX_TRACE_REFERENCES];
    int n_references = trace_references(where);
    for (int r = 0; r < n_references; r++) {
        char path[4200];
        int n = 0;
        size_t i;
        const json_t *one;
        snprintf(path, sizeof path, "%s/expected.json", where[r]);
        json_t *root = json_load_file(path, 0, NULL);
        assert_non_null(root);
        json_array_foreach(json_object_get(root, "cases"), i,
                           one) if (strcmp(json_string_value(json_object_get(one, "command_kind")), "layer_times") == 0)
            n += check(where[r], one);
        assert_true(n >= least[r]);
        json_decref(root);
    }
}

static const char *file_of(const char *where, const json_t *one, size_t i)
{
    static char path[2][8192];
    snprintf(path[i], sizeof path[0], "%s/%s", where,
             json_string_value(json_array_get(json_object_get(one, "files"), i)));
    return path[i];
}

/* Steps of the host's marks, the first n dropped. */
static void read_marked(const char *path, const ek_trace_options *options, int drop, one_rank *out)
{
    ek_trace_source source = {0};
    ek__trace trace;
    ek_error err = {0};
    memset(out, 0, sizeof *out);
    out->rank.pool = ek__pool_new();
    if (ek__trace_read(&path, 1, 1, options, out->rank.pool, &source, &trace, &err))
        fail_msg("%s", err.message);
    ek__slice marks = trace.of[EK__EVENT_STEP];
    for (size_t i = 0; i < marks.n; i++) {
        const ek__event *e = &marks.event[i];
        out->step[i] = (ek_trace_step){.start = e->start,
                                       .end = ek__event_end(e),
                                       .host_start = e->start,
                                       .host_step = e->duration,
                                       .warm_up = (int)i < drop};
    }
    out->rank.step = out->step;
    out->rank.n_steps = (int)marks.n;
    if (ek__analyse_layers(&trace, options, &out->rank, &err))
        fail_msg("%s", err.message);
    ek__trace_clear(&trace);
}

static void check_mean_pass(const char *what, const json_t *expected, const ek_trace_pass *found)
{
    if (!expected) {
        if (found->n != 0)
            fail_msg("%s: %lld executions, expected none", what, (long long)found->n);
        return;
    }
    assert_int_equal(found->n, json_integer_value(json_object_get(expected, "n")));
    double wall = json_number_value(json_object_get(expected, "wall_us")),
           busy = json_number_value(json_object_get(expected, "busy_us"));
    if (fabs(found->wall_mean / 1e3 - wall) > 0.01 || fabs(found->busy_mean / 1e3 - busy) > 0.01)
        fail_msg("%s: wall %.3f busy %.3f us, expected %.3f and %.3f", what, found->wall_mean / 1e3,
                 found->busy_mean / 1e3, wall, busy);
}

/* The case's own words for head and tail mean the configured names, numbers mean layers of the body. */
static const ek_trace_layer *layer_called(const ek_trace_layers *layers, const configured *c, const char *word)
{
    static const char *const tail[] = {"norm", "head", "loss"};
    char name[64];
    snprintf(name, sizeof name, "%s-%s", word, c->body.at[0]);
    if (strcmp(word, "embedding") == 0)
        snprintf(name, sizeof name, "%s", c->head.at[0]);
    for (int i = 0; i < c->tail.n; i++)
        if (strcmp(word, tail[i]) == 0)
            snprintf(name, sizeof name, "%s", c->tail.at[i]);
    for (int i = 0; i < layers->n; i++) {
        const char *own = layers->layer[i].name, *kind = strchr(own, '-');
        if (strcmp(own, name) == 0 || (kind && strcmp(kind + 1, name) == 0))
            return &layers->layer[i];
    }
    return NULL;
}

static void check_known_stage(const ek_trace_layers *layers, const configured *c, json_t *expected)
{
    const char *key;
    json_t *entry;
    char what[128];
    assert_int_equal(layers->n_micro_batches, json_integer_value(json_object_get(expected, "micro_batches")));
    assert_int_equal(layers->n, (int)json_object_size(json_object_get(expected, "layers")));
    json_object_foreach(json_object_get(expected, "layers"), key, entry)
    {
        const ek_trace_layer *l = layer_called(layers, c, key);
        if (!l) {
            fail_msg("no layer %s", key);
            break;
        }
        static const char *const direction[] = {"fwd", "rec", "bwd"};
        const ek_trace_pass *found[] = {&l->forward, &l->recompute, &l->backward};
        for (int d = 0; d < 3; d++) {
            snprintf(what, sizeof what, "%s %s", key, direction[d]);
            check_mean_pass(what, json_object_get(entry, direction[d]), found[d]);
        }
    }
    int n_recomputed = 0;
    for (int i = 0; i < layers->n; i++)
        n_recomputed += layers->layer[i].recompute.n > 0;
    assert_int_equal(n_recomputed, (int)json_array_size(json_object_get(expected, "recomputed_layers")));
}

/* With the configured names, and found without. */
static bool check_stages(const char *where, const json_t *one)
{
    json_t *expected = json_object_get(one, "expected");
    configured c;
    if (!json_object_get(expected, "layers"))
        return false;
    configure(one, &c);
    c.options.n_micro_batches = 0;
    for (int found = 0; found < 2; found++) {
        one_rank r;
        read_marked(file_of(where, one, 0), found ? NULL : &c.options, 1, &r);
        check_known_stage(&r.rank.layers, &c, expected);
        ek__pool_free(r.rank.pool);
    }
    return true;
}

static void stages_give_their_truth(void **state)
{
    (void)state;
    go_through(check_stages, (const int[]){2, 2});
}

static void published_scopes_give_the_backward_pass(void **state)
{
    (void)state;
    one_rank r;
    read_marked(need_shared("reference/traces/synthetic/scope_pp/trace_view0.json"), NULL, 0, &r);
    assert_string_equal(r.rank.layers.source, "scope_layer");
    const ek_trace_layer *l = find_layer(&r.rank.layers, "0-LLamaDecodeLayer");
    assert_non_null(l);
    assert_float_equal(l->backward.wall_mean, 2100000.0, 1e-6);
    assert_int_equal(find_layer(&r.rank.layers, "tok-LlamaEmbedding")->role, EK_TRACE_HEAD);
    ek__pool_free(r.rank.pool);
}

/* ---- the original's numbers ---- */

static double entry_of(const ek_trace_sapp_entry *entry, int n, const char *name, bool cost)
{
    double sum = NAN;
    for (int i = 0; i < n; i++)
        if (strcmp(entry[i].name, name) == 0)
            sum = cost ? entry[i].cost_ms : entry[i].total_ms;
    return sum;
}

static bool check_sapp(const char *where, const json_t *one)
{
    json_t *expected = json_object_get(one, "expected");
    ek_trace_source source[2] = {{.type = "trace"}, {.type = "trace"}};
    ek_trace_rank rank[2] = {{.n_sources = 1, .source = &source[0]}, {.n_sources = 1, .source = &source[1]}};
    ek_trace_run run = {.n_ranks = 2, .rank = rank};
    ek_error err = {0};
    configured c;
    if (json_object_get(expected, "layers"))
        return false;
    if (json_object_get(expected, "mindformers_analyser"))
        expected = json_object_get(expected, "mindformers_analyser");
    configure(one, &c);
    run.pool = ek__pool_new();
    for (int i = 0; i < 2; i++)
        source[i].path = ek__pool_format(run.pool, "%s", file_of(where, one, (size_t)i));
    if (ek__trace_sapp(&c.options, &run, &err))
        fail_msg("%s: %s", json_string_value(json_object_get(one, "name")), err.message);
    assert_int_equal(run.sapp.counted_steps, json_integer_value(json_object_get(expected, "counted_steps")));
    const char *key;
    json_t *value;
    json_object_foreach(json_object_get(expected, "total_ms"), key, value)
        assert_float_equal(entry_of(run.sapp.total, run.sapp.n_totals, key, false), json_number_value(value), 1e-6);
    json_object_foreach(json_object_get(expected, "cost_ms"), key, value)
        assert_float_equal(entry_of(run.sapp.cost, run.sapp.n_costs, key, true), json_number_value(value), 1e-6);
    assert_int_equal(run.sapp.n_totals, (int)json_object_size(json_object_get(expected, "total_ms")));
    if (json_object_get(expected, "head_ms")) {
        assert_float_equal(run.sapp.head_ms, json_number_value(json_object_get(expected, "head_ms")), 1e-6);
        assert_float_equal(run.sapp.body_ms, json_number_value(json_object_get(expected, "body_ms")), 1e-6);
        assert_float_equal(run.sapp.tail_ms, json_number_value(json_object_get(expected, "tail_ms")), 1e-6);
    }
    ek__pool_free(run.pool);
    return true;
}

static void the_originals_numbers_come_out(void **state)
{
    (void)state;
    go_through(check_sapp, (const int[]){1, 2});
}

/* ---- on to the balancer ---- */

/* The ranks of a generated run, as ek_trace_run_read() would fill their layers. */
static void read_run(const trace_shape *shape, one_rank *rank, ek_trace_rank *list, ek_trace_run *run,
                     trace_truth *truth)
{
    char path[4096];
    assert_true(trace_write(shape, folder, truth));
    for (int s = 0; s < shape->n_stages; s++) {
        trace_file(shape, folder, s, path, sizeof path);
        read_rank(path, NULL, truth, s, &rank[s]);
        list[s] = rank[s].rank;
    }
    *run = (ek_trace_run){.n_ranks = shape->n_stages, .rank = list};
}

static void layers_go_to_a_file_and_balance(void **state)
{
    (void)state;
    static const trace_rerun rerun[] = {TRACE_RERUN_NONE,   TRACE_RERUN_FULL, TRACE_RERUN_FULL,
                                        TRACE_RERUN_SELECT, TRACE_RERUN_NONE, TRACE_RERUN_FULL};
    const trace_shape shape = {.n_stages = 2,
                               .n_micro_batches = 4,
                               .n_steps = 3,
                               .n_chunks = 1,
                               .n_layers = 3,
                               .n_dense = 2,
                               .rerun = rerun,
                               .warm_up = 1.5};
    one_rank rank[2];
    ek_trace_rank list[2];
    ek_trace_run run;
    trace_truth truth;
    ek_layers layers, again;
    ek_error err = {0};
    char *notes, path[4096];
    read_run(&shape, rank, list, &run, &truth);
    if (ek_trace_to_layers(&run, &layers, &notes, &err))
        fail_msg("%s", err.message);
    assert_int_equal(layers.n_body, 2);
    assert_int_equal(layers.body[0].n_layers, 2);
    assert_int_equal(layers.body[1].n_layers, 4);
    assert_string_equal(layers.body[1].name, "DecoderLayer");
    /* layer 2: full; 3: select; of four numbers 2..5 the median is the mean of 3's and 4's, but 5 % 5 = 0 */
    expectation f[4] = {{0}}, b[4] = {{0}}, full[2] = {{0}}, select = {0};
    for (int i = 0; i < truth.n_layers; i++) {
        const trace_truth_layer *t = &truth.layer[i];
        if (t->index < 2)
            continue;
        f[t->index - 2] = expect(t, TRACE_FORWARD, 1);
        b[t->index - 2] = expect(t, TRACE_BACK, 1);
        if (t->index == 2 || t->index == 5)
            full[t->index == 5] = expect(t, TRACE_RERUN, 1);
        if (t->index == 3)
            select = expect(t, TRACE_RERUN, 1);
    }
    double forward = 0.5 * (f[0].wall_mean + f[1].wall_mean) / 1e6; /* factors 1.06, 1.09, 1.12, 1.00 */
    double backward = 0.5 * (b[0].wall_mean + b[1].wall_mean) / 1e6;
    const ek_layer *body = &layers.body[1];
    assert_float_equal(body->forward_time, forward, 1e-9);
    assert_float_equal(body->backward_time[EK_RECOMPUTE_NONE], backward, 1e-9);
    assert_float_equal(body->backward_time[EK_RECOMPUTE_FULL],
                       backward + 0.5 * (full[0].wall_mean + full[1].wall_mean) / 1e6, 1e-9);
    assert_float_equal(body->backward_time[EK_RECOMPUTE_SELECT], backward + select.wall_mean / 1e6, 1e-9);
    assert_float_equal(body->backward_time[EK_RECOMPUTE_COMM], backward * 1.125, 1e-9);
    assert_non_null(strstr(notes, "DecoderLayer: not measured"));
    assert_non_null(strstr(notes, "Memory is not in a trace"));
    free(notes);

    /* As written, the file requires memory; with memory it gives the times back and can be balanced. */
    snprintf(path, sizeof path, "%s/layers.json", folder);
    for (int with_memory = 0; with_memory < 2; with_memory++) {
        for (int i = 0; i < layers.n_body && with_memory; i++) {
            layers.body[i].parameter_mb = 100;
            layers.body[i].modelled[EK_RECOMPUTE_NONE] = layers.body[i].modelled[EK_RECOMPUTE_FULL] = true;
            layers.body[i].activation_mb[EK_RECOMPUTE_NONE] = 10;
            layers.body[i].activation_mb[EK_RECOMPUTE_FULL] = 2;
        }
        FILE *file = fopen(path, "w");
        assert_non_null(file);
        assert_int_equal(ek_layers_write(&layers, file, &err), EK_OK);
        fclose(file);
        ek_status status = ek_layers_read(path, NULL, NULL, &again, &err);
        if (!with_memory) {
            assert_int_equal(status, EK_ERR_INPUT);
            assert_non_null(strstr(err.message, "memory_activation"));
        } else if (status)
            fail_msg("%s", err.message);
    }
    for (int k = 0; k < EK_N_RECOMPUTE; k++)
        assert_true(fabs(again.body[1].backward_time[k] - body->backward_time[k]) < 1e-12);
    assert_true(again.head.forward_time == layers.head.forward_time);
    assert_true(again.tail.backward_time[0] == layers.tail.backward_time[0]);
    unlink(path);
    ek_layers_clear(&again);
    ek_layers_clear(&layers);
    for (int s = 0; s < 2; s++)
        ek__pool_free(rank[s].rank.pool);
    trace_truth_clear(&truth);
}

/* Milliseconds; NAN: not seen. */
static ek_trace_layer layer_of(const char *name, const char *kind, int index, ek_trace_role role, double forward,
                               double backward, double again)
{
    return (ek_trace_layer){.name = name,
                            .kind = kind,
                            .index = index,
                            .role = role,
                            .forward = {.n = 1, .wall_median = forward * 1e6},
                            .backward = {.n = !isnan(backward), .wall_median = backward * 1e6},
                            .recompute = {.n = !isnan(again), .wall_median = again * 1e6}};
}

/* Two ranks with layers 2, 3, 6, 7 and 9 of ten: those between are counted, times are medians over the kind, again
 * running half the forward pass is full recomputation, and layers are unlike above 1.5 times the shortest. */
static void layers_by_hand_give_these_counts_and_times(void **state)
{
    (void)state;
    for (int unlike = 0; unlike < 2; unlike++) {
        double slow = unlike ? 30.5 : 30;
        ek_trace_layer first[] = {
            layer_of("embed", "Embedding", -1, EK_TRACE_HEAD, 2, 4, NAN),
            layer_of("2-Dense", "Dense", 2, EK_TRACE_BODY, 10, NAN, NAN),
            layer_of("3-Dense", "Dense", 3, EK_TRACE_BODY, 12, NAN, NAN),
            layer_of("6-MoE", "MoE", 6, EK_TRACE_BODY, 20, 40, 10),
            layer_of("7-MoE", "MoE", 7, EK_TRACE_BODY, slow, 60, 14.5),
        };
        ek_trace_layer second[] = {
            layer_of("norm", "Norm", -1, EK_TRACE_TAIL, 1, NAN, NAN),
            layer_of("9-MoE", "MoE", 9, EK_TRACE_BODY, 25, 50, NAN),
            layer_of("head", "Head", -1, EK_TRACE_TAIL, 3, 7, NAN),
        };
        ek_trace_rank rank[] = {{.layers = {.n = 5, .layer = first}}, {.layers = {.n = 3, .layer = second}}};
        const ek_trace_run run = {.n_ranks = 2, .rank = rank};
        ek_layers layers;
        ek_error err = {0};
        char *notes;
        if (ek_trace_to_layers(&run, &layers, &notes, &err))
            fail_msg("%s", err.message);
        assert_int_equal(layers.n_layers, 10);
        assert_int_equal(layers.n_body, 2);
        assert_int_equal(layers.body[0].n_layers, 6);
        assert_int_equal(layers.body[1].n_layers, 4);
        assert_true(layers.body[0].forward_time == 11 && layers.body[0].backward_time[EK_RECOMPUTE_NONE] == 22);
        const ek_layer *moe = &layers.body[1];
        assert_true(moe->forward_time == 25 && moe->backward_time[EK_RECOMPUTE_NONE] == 50);
        assert_true(moe->backward_time[EK_RECOMPUTE_FULL] == 60 && moe->backward_time[EK_RECOMPUTE_SELECT] == 64.5);
        assert_true(layers.head.forward_time == 2 && layers.head.backward_time[EK_RECOMPUTE_NONE] == 4);
        assert_true(layers.tail.forward_time == 4 && layers.tail.backward_time[EK_RECOMPUTE_NONE] == 9);
        assert_golden(unlike ? "layers_unlike.txt" : "layers_alike.txt", notes);
        free(notes);
        ek_layers_clear(&layers);
    }
}

/* Names that no layer has are answered with the nearest that the traces show by themselves, the most alike first: with
 * 2, 7 and 8 edits to the whole or the part after the number, and with 1, 5 and 9. */
static void a_missing_name_is_answered_with_the_nearest(void **state)
{
    (void)state;
    const trace_shape shape = {
        .n_stages = 1, .n_micro_batches = 2, .n_steps = 2, .n_chunks = 1, .n_layers = 3, .n_dense = 1};
    char path[4096];
    const char *at = path;
    assert_true(trace_write(&shape, folder, NULL));
    trace_file(&shape, folder, 0, path, sizeof path);
    ek_trace_layer layers[] = {layer_of("embed", "Embedding", -1, EK_TRACE_HEAD, 2, 4, NAN),
                               layer_of("2-Dense", "Dense", 2, EK_TRACE_BODY, 10, NAN, NAN)};
    ek_trace_rank rank = {.layers = {.n = 2, .layer = layers}};
    const ek_trace_run run = {.n_ranks = 1, .rank = &rank};
    static const char *const body[] = {"Dense", "DecoderLayr"}, *const tail[] = {"Haed"};
    ek_trace_options options = {.n_body = 1, .body = body, .n_tail = 1, .tail = tail};
    ek_trace_role role = EK_TRACE_HEAD;
    int index = -1;
    ek_error err = {0};
    assert_int_equal(ek_trace_check_names(&run, &at, 1, &options, &role, &index, &err), EK_ERR_INPUT);
    assert_true(role == EK_TRACE_TAIL && index == 0);
    assert_string_equal(
        err.message,
        "no tail layer of the traces is called 'Haed'; the nearest are 'lm_head-Head', 'tok_embeddings-Embedding' and "
        "'DenseLayer'; correct the name, leave it out to find the layers automatically, or add the trace of its stage");
    options.n_body = 2;
    assert_int_equal(ek_trace_check_names(&run, &at, 1, &options, &role, &index, &err), EK_ERR_INPUT);
    assert_true(role == EK_TRACE_BODY && index == 1);
    assert_non_null(strstr(err.message, "no body layer of the traces is called 'DecoderLayr'; the nearest are "
                                        "'DecoderLayer', 'DenseLayer' and 'lm_head-Head'; correct"));
    trace_remove(shape.form, folder, 0);
    /* where they cannot be read again, that is the error */
    assert_int_equal(ek_trace_check_names(&run, &at, 1, &options, &role, &index, &err), EK_ERR_SYSTEM);
    options.n_body = 1;
    options.n_tail = 0;
    assert_int_equal(ek_trace_check_names(&run, &at, 1, &options, &role, &index, &err), EK_OK);
}

static void a_run_without_layers_says_what_to_do(void **state)
{
    (void)state;
    ek_trace_rank rank = {.n_sources = 0};
    ek_trace_run run = {.n_ranks = 1, .rank = &rank};
    ek_layers layers;
    ek_error err = {0};
    char *notes = NULL;
    assert_int_equal(ek_trace_to_layers(&run, &layers, &notes, &err), EK_ERR_INPUT);
    assert_null(notes);
    assert_non_null(strstr(err.message, "--body"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_mindspore_traces_give_their_truth),
        cmocka_unit_test(random_torch_traces_give_their_truth),
        cmocka_unit_test(scopes_tell_where_kernels_do_not),
        cmocka_unit_test(without_step_marks_all_executions_count),
        cmocka_unit_test(one_layer_in_a_row_is_cut_by_the_other_stages_count),
        cmocka_unit_test(modules_are_found_without_names),
        cmocka_unit_test(names_choose_head_body_and_tail),
        cmocka_unit_test(ranges_of_the_user_come_first),
        cmocka_unit_test(the_first_scope_holds_the_others),
        cmocka_unit_test(a_trace_without_layers_has_none),
        cmocka_unit_test(operators_in_a_row_are_no_layers),
        cmocka_unit_test(lists_of_modules_are_no_layers),
        cmocka_unit_test(modules_on_the_backward_thread_run_again),
        cmocka_unit_test(damaged_names_and_times_do_no_harm),
        cmocka_unit_test(stages_give_their_truth),
        cmocka_unit_test(the_originals_numbers_come_out),
        cmocka_unit_test(published_scopes_give_the_backward_pass),
        cmocka_unit_test(layers_go_to_a_file_and_balance),
        cmocka_unit_test(layers_by_hand_give_these_counts_and_times),
        cmocka_unit_test(a_missing_name_is_answered_with_the_nearest),
        cmocka_unit_test(a_run_without_layers_says_what_to_do),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
