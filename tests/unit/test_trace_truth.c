/* Tests whole runs from a generator that knows the truth, read as a user reads them: the folder of all ranks through
 * ek_trace_run_read(). Steps, the breakdown of their time, waits of the pipeline, layers, ratios and balance of stages
 * must be recovered within 0.1 %; sums of whole nanoseconds must be exact. With EK_LONG set also ten times as many
 * shapes and one run of 200 MB. */
#include "input.h"

#include <inttypes.h>
#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

#include "evenkeel/trace.h"
#include "skip.h"
#include "trace_generator.h"

enum { MAX_STAGES = 8, MAX_STEPS = 64 };

static const double tolerance = 1e-3; /* promised */

static char folder[] = "/tmp/evenkeel-truth-XXXXXX";

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static void remove_ranks(void)
{
    for (int form = TRACE_MINDSPORE; form <= TRACE_TORCH_NPU; form++)
        for (int s = 0; s < MAX_STAGES; s++)
            trace_remove((trace_form)form, folder, s);
}

static int remove_folder(void **state)
{
    (void)state;
    remove_ranks();
    return rmdir(folder);
}

static const char *const form_name[] = {"MindSpore", "PyTorch on a GPU", "torch_npu"};

/* The current case, for messages. */
static char what[512];

static void check_ns(const char *figure, int stage, int step, int64_t found, int64_t expected)
{
    if (found != expected)
        fail_msg("%s: stage %d, step %d: %s is %" PRId64 " ns, expected %" PRId64, what, stage, step, figure, found,
                 expected);
}

static void check_close(const char *figure, const char *of, double found, double expected, double share)
{
    assert_true(share <= tolerance);
    if (!(fabs(found - expected) <= share * fabs(expected)))
        fail_msg("%s: %s of %s is %.9g, expected %.9g", what, figure, of, found, expected);
}

/* ---- a second opinion on collectives ---- */

/* First and last start of collectives: MindSpore's Stage is made of them. */
typedef struct marks {
    int64_t first, last;
} marks;

static void take_mark(void *user, const trace_item *item)
{
    marks(*m)[MAX_STEPS] = user;
    if (item->kind != TRACE_COLLECTIVE)
        return;
    marks *one = &m[item->stage][item->step];
    one->first = one->first == 0 || item->start < one->first ? item->start : one->first;
    one->last = item->start > one->last ? item->start : one->last;
}

/* ---- steps ---- */

static void check_step(const trace_shape *shape, const ek_trace_step *step, const trace_truth_step *t, const marks *m,
                       int stage, int number)
{
    const int64_t span = t->end - t->start;
    char name[16];
    snprintf(name, sizeof name, "%d", number);
    assert_string_equal(step->name, name);
    check_ns("start of the host's step", stage, number, step->host_start, t->host_start);
    check_ns("host step", stage, number, step->host_step, t->host_duration);
    check_ns("computing", stage, number, step->own.computing, t->computing);
    check_ns("communication", stage, number, step->own.communication, t->communication);
    check_ns("not overlapped", stage, number, step->own.communication_not_overlapped, t->not_overlapped);
    check_ns("overlapped", stage, number, step->own.overlapped, t->communication - t->not_overlapped);
    check_ns("free", stage, number, step->own.free, t->free);
    check_ns("whole", stage, number, step->own.total, span);
    check_ns("parts", stage, number, t->computing + t->not_overlapped + t->free, span);
    check_ns("computing of raw events", stage, number, step->raw.computing, t->computing);
    check_ns("not overlapped of raw events", stage, number, step->raw.communication_not_overlapped, t->not_overlapped);
    check_ns("span", stage, number, step->span, span);
    /* Receives never run beside operators here: all of them is a wait. */
    check_ns("pipeline wait", stage, number, step->pipeline_wait, t->receive);
    check_ns("own stage", stage, number, step->own_stage, span - t->receive);
    check_ns("receives", stage, number, step->n_receives, t->n_receives);
    check_ns("time of receives", stage, number, step->receive, t->receive);
    check_ns("exposed receives", stage, number, step->receive_exposed, t->receive);
    if (shape->form == TRACE_TORCH)
        return;
    bool mindspore = shape->form == TRACE_MINDSPORE;
    check_ns("sends", stage, number, step->n_sends, t->n_sends);
    check_ns("time of sends", stage, number, step->send, t->send);
    assert_string_equal(step->source, "overlap_layer");
    assert_string_equal(step->producer_definition, mindspore ? "mindspore" : "torch_npu");
    int64_t bubble = mindspore ? t->receive + t->send : t->receive;
    check_ns("bubble", stage, number, step->bubble, bubble);
    if (m->first != 0 || !mindspore)
        check_ns("stage", stage, number, step->stage, (mindspore ? m->last - m->first : span) - bubble);
    check_ns("exclude receive", stage, number, step->exclude_receive,
             mindspore || t->not_overlapped > bubble ? t->not_overlapped - bubble : 0);
    check_ns("preparing", stage, number, step->preparing, t->start - t->host_start);
}

/* Means over the steps that count, of whole nanoseconds. */
static void check_mean(const char *figure, int stage, int64_t found, int64_t sum, int n)
{
    if (llabs(found - sum / n) > 1)
        fail_msg("%s: stage %d: mean %s is %" PRId64 " ns, expected %" PRId64, what, stage, figure, found, sum / n);
}

static void check_means(const ek_trace_rank *rank, const trace_truth *truth, int stage, int n_dropped)
{
    trace_truth_step sum = {0};
    int n = truth->n_steps - n_dropped;
    for (int i = n_dropped; i < truth->n_steps; i++) {
        const trace_truth_step *t = &truth->step[stage * truth->n_steps + i];
        sum.computing += t->computing;
        sum.not_overlapped += t->not_overlapped;
        sum.free += t->free;
    }
    check_mean("computing", stage, rank->mean.computing, sum.computing, n);
    check_mean("not overlapped", stage, rank->mean.communication_not_overlapped, sum.not_overlapped, n);
    check_mean("free", stage, rank->mean.free, sum.free, n);
}

/* ---- layers ---- */

/* Means over executions from step `first` on. */
typedef struct expectation {
    int64_t n;
    double wall, busy;
} expectation;

static expectation expect(const trace_truth_layer *layer, int direction, int first)
{
    expectation e = {0, 0, 0};
    for (int i = 0; i < layer->n[direction]; i++)
        if (layer->execution[direction][i].step >= first) {
            e.n++;
            e.wall += (double)layer->execution[direction][i].wall;
            e.busy += (double)layer->execution[direction][i].busy;
        }
    e.wall /= e.n ? (double)e.n : 1;
    e.busy /= e.n ? (double)e.n : 1;
    return e;
}

static void check_layer(const ek_trace_layer *layer, const trace_truth_layer *truth, int first, bool busy)
{
    const ek_trace_pass *found[] = {&layer->forward, &layer->recompute, &layer->backward};
    expectation e[TRACE_N_DIRECTIONS];
    for (int d = 0; d < TRACE_N_DIRECTIONS; d++) {
        static const char *const wall[] = {"forward wall", "recompute wall", "backward wall"}, *const sum[] = {
                                                                                                   "forward busy",
                                                                                                   "recompute busy",
                                                                                                   "backward busy"};
        e[d] = expect(truth, d, first);
        if (found[d]->n != e[d].n)
            fail_msg("%s: %s: %" PRId64 " executions of direction %d, expected %" PRId64, what, truth->name,
                     found[d]->n, d, e[d].n);
        if (e[d].n == 0)
            continue;
        check_close(wall[d], truth->name, found[d]->wall_mean, e[d].wall, 1e-9);
        if (busy)
            check_close(sum[d], truth->name, found[d]->busy_mean, e[d].busy, 1e-9);
    }
    check_close("backward / forward", truth->name, layer->backward.wall_mean / layer->forward.wall_mean,
                e[TRACE_BACK].wall / e[TRACE_FORWARD].wall, 1e-9);
    if (e[TRACE_RERUN].n > 0)
        check_close("recompute / forward", truth->name, layer->recompute.wall_mean / layer->forward.wall_mean,
                    e[TRACE_RERUN].wall / e[TRACE_FORWARD].wall, 1e-9);
}

static void check_layers(const trace_shape *shape, const ek_trace_rank *rank, const trace_truth *truth, int stage,
                         int first)
{
    int n = 0;
    const ek_trace_layers *layers = &rank->layers;
    const char *source = shape->form != TRACE_MINDSPORE                      ? "modules"
                         : shape->names_in_arguments || shape->names_on_host ? "launch_names"
                         : shape->nameless_kernels                           ? "scope_layer"
                                                                             : "task_names";
    if (!layers->source || strcmp(layers->source, source) != 0)
        fail_msg("%s: layers from %s, expected %s", what, layers->source ? layers->source : "nothing", source);
    for (int i = 0; i < truth->n_layers; i++) {
        const trace_truth_layer *t = &truth->layer[i];
        const ek_trace_layer *found = NULL;
        if (t->stage != stage)
            continue;
        n++;
        for (int k = 0; k < layers->n; k++)
            if (strcmp(layers->layer[k].name, t->name) == 0)
                found = &layers->layer[k];
        if (!found) {
            fail_msg("%s: stage %d: no layer %s", what, stage, t->name);
            return;
        }
        ek_trace_role role = t->index >= 0 ? EK_TRACE_BODY : t->is_tail ? EK_TRACE_TAIL : EK_TRACE_HEAD;
        assert_int_equal(found->role, role);
        check_layer(found, t, first, !shape->nameless_kernels);
    }
    assert_int_equal(layers->n, n);
    assert_int_equal(layers->n_micro_batches, shape->n_micro_batches);
    assert_int_equal(layers->n_steps, truth->n_steps - first);
}

/* ---- the run ---- */

static void check_balance(const ek_trace_run *run, const trace_truth *truth, int first)
{
    double slowest = 0, fastest = INFINITY;
    assert_int_equal(run->n_stages, truth->n_stages);
    for (int s = 0; s < truth->n_stages; s++) {
        int64_t computing = 0, wait = 0, n = truth->n_steps - first;
        for (int i = first; i < truth->n_steps; i++) {
            computing += truth->step[s * truth->n_steps + i].computing;
            wait += truth->step[s * truth->n_steps + i].receive;
        }
        assert_int_equal(run->stage[s].stage, s);
        assert_int_equal(run->stage[s].n_ranks, 1);
        check_mean("computing of the stage", s, run->stage[s].computing_mean, computing, (int)n);
        check_mean("wait of the stage", s, run->stage[s].pipeline_wait_mean, wait, (int)n);
        slowest = fmax(slowest, (double)computing);
        fastest = fmin(fastest, (double)computing);
    }
    if (truth->n_stages > 1)
        check_close("slowest / fastest", "stages", run->stage_imbalance, slowest / fastest, 1e-6);
}

/* Of three steps or more the first is dropped when it is a warm-up. */
static int count_dropped(const trace_shape *shape)
{
    return shape->warm_up > 1 && shape->n_steps >= 3;
}

static void check_run(const trace_shape *shape)
{
    static const char *const body[] = {"DecoderLayer", "DenseLayer"}, *const receive[] = {"ncclDevKernel_hcom_receive"};
    static marks mark[MAX_STAGES][MAX_STEPS];
    ek_trace_options options = {.stages = shape->n_stages};
    const char *path = folder;
    trace_truth truth;
    ek_trace_run run;
    ek_error err = {0};
    if (shape->form != TRACE_MINDSPORE) { /* a stage of one layer does not show that it repeats */
        options.n_body = 2;
        options.body = body;
    }
    if (shape->form == TRACE_TORCH) {
        options.n_receives = 1;
        options.receive = receive;
    }
    memset(mark, 0, sizeof mark);
    remove_ranks();
    assert_true(shape->n_stages <= MAX_STAGES && shape->n_steps <= MAX_STEPS);
    if (!trace_write(shape, folder, &truth) || !trace_generate(shape, take_mark, mark, NULL))
        fail_msg("%s: not written", what);
    if (ek_trace_run_read(&path, 1, &options, NULL, &run, &err))
        fail_msg("%s: %s", what, err.message);
    int dropped = count_dropped(shape);
    assert_int_equal(run.n_ranks, shape->n_stages);
    for (int s = 0; s < run.n_ranks; s++) {
        const ek_trace_rank *rank = &run.rank[s];
        assert_int_equal(rank->rank, s);
        assert_int_equal(rank->stage, s);
        if (rank->n_steps != truth.n_steps)
            fail_msg("%s: stage %d: %d steps, expected %d", what, s, rank->n_steps, truth.n_steps);
        assert_int_equal(rank->n_outside_steps, 0);
        for (int i = 0; i < rank->n_steps; i++) {
            if (rank->step[i].warm_up != (i < dropped))
                fail_msg("%s: stage %d: step %d is %sa warm-up", what, s, i, i < dropped ? "not " : "");
            check_step(shape, &rank->step[i], &truth.step[s * truth.n_steps + i], &mark[s][i], s, i);
        }
        check_means(rank, &truth, s, dropped);
        check_layers(shape, rank, &truth, s, dropped);
    }
    check_balance(&run, &truth, dropped);
    ek_trace_run_clear(&run);
    trace_truth_clear(&truth);
}

/* ---- random shapes ---- */

static unsigned next_random(unsigned *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

enum { MAX_LAYERS = 128 };

/* Without a warm-up durations vary little, so that no step seems to be one. */
static void random_shape(unsigned *seed, trace_form form, trace_rerun *rerun, trace_shape *out)
{
    bool warm = next_random(seed) % 2;
    *out = (trace_shape){.form = form,
                         .n_stages = 1 + (int)(next_random(seed) % 8),
                         .n_micro_batches = 1 + (int)(next_random(seed) % 8),
                         .n_steps = 1 + (int)(next_random(seed) % 4),
                         .n_chunks = 1,
                         .n_layers = 1 + (int)(next_random(seed) % 4),
                         .warm_up = warm ? 1.5 : 0,
                         .shared_numbers = next_random(seed) % 2,
                         .select_in_default = next_random(seed) % 2,
                         .select_spread = next_random(seed) % 2,
                         .jitter = next_random(seed) % 2 ? 0
                                   : warm                ? 0.1
                                                         : 0.02,
                         .seed = next_random(seed)};
    unsigned source = next_random(seed) % 3;
    out->names_in_arguments = source == 1;
    out->names_on_host = source == 2;
    if (next_random(seed) % 3 == 0) {
        out->n_chunks = 2 + (int)(next_random(seed) % 2);
        out->n_micro_batches = out->n_stages;
    }
    int n = out->n_stages * out->n_chunks * out->n_layers, kind = (int)(next_random(seed) % 4);
    out->n_dense = (int)(next_random(seed) % (unsigned)(n + 1));
    assert_true(n <= MAX_LAYERS);
    for (int i = 0; i < n; i++)
        rerun[i] = kind < 3 ? (trace_rerun)kind : (trace_rerun)(next_random(seed) % 3);
    out->rerun = rerun;
}

static void describe(const trace_shape *s)
{
    int at = snprintf(what, sizeof what, "%s, stages %d, micro-batches %d, steps %d, chunks %d, layers %d%s%s%s%s%s%s",
                      form_name[s->form], s->n_stages, s->n_micro_batches, s->n_steps, s->n_chunks, s->n_layers,
                      s->shared_numbers ? ", shared" : "", s->select_in_default ? ", in Default" : "",
                      s->select_spread ? ", spread" : "", s->names_in_arguments ? ", arguments" : "",
                      s->names_on_host ? ", host" : "", s->warm_up > 1 ? ", warm-up" : "");
    at += snprintf(what + at, sizeof what - (size_t)at, ", rerun ");
    for (int i = 0; i < s->n_stages * s->n_chunks * s->n_layers && at < (int)sizeof what - 1; i++)
        at += snprintf(what + at, sizeof what - (size_t)at, "%d", s->rerun[i]);
}

static void check_random(trace_form form, unsigned seed, int n)
{
    n *= getenv("EK_LONG") ? 10 : 1;
    for (int trial = 0; trial < n; trial++) {
        trace_rerun rerun[MAX_LAYERS];
        trace_shape shape;
        random_shape(&seed, form, rerun, &shape);
        describe(&shape);
        check_run(&shape);
    }
}

static void runs_of_mindspore_give_their_truth(void **state)
{
    (void)state;
    check_random(TRACE_MINDSPORE, 101, 40);
}

static void runs_of_pytorch_on_a_gpu_give_their_truth(void **state)
{
    (void)state;
    check_random(TRACE_TORCH, 102, 25);
}

static void runs_of_torch_npu_give_their_truth(void **state)
{
    (void)state;
    check_random(TRACE_TORCH_NPU, 103, 25);
}

/* Layers and stages as equal as can be: the imbalance follows from the factors of the layers' numbers. */
static void stages_of_unlike_layers_are_told(void **state)
{
    (void)state;
    for (int form = TRACE_MINDSPORE; form <= TRACE_TORCH_NPU; form++) {
        const trace_shape shape = {.form = (trace_form)form,
                                   .n_stages = 4,
                                   .n_micro_batches = 8,
                                   .n_steps = 3,
                                   .n_chunks = 1,
                                   .n_layers = 2,
                                   .n_dense = 4,
                                   .warm_up = 1.3,
                                   .bare = true};
        snprintf(what, sizeof what, "unlike stages of %s", form_name[form]);
        check_run(&shape);
    }
}

static void a_run_of_200_megabytes_gives_its_truth(void **state)
{
    (void)state;
    if (!getenv("EK_LONG")) {
        skip_because("EK_LONG is not set");
    }
    static trace_rerun rerun[64];
    for (int i = 0; i < 64; i++)
        rerun[i] = (trace_rerun)(i % 3);
    const trace_shape shape = {.n_stages = 8,
                               .n_micro_batches = 32,
                               .n_steps = 6,
                               .n_chunks = 1,
                               .n_layers = 8,
                               .n_dense = 10,
                               .rerun = rerun,
                               .jitter = 0.05,
                               .warm_up = 1.5};
    snprintf(what, sizeof what, "large run");
    check_run(&shape);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_of_mindspore_give_their_truth),
        cmocka_unit_test(runs_of_pytorch_on_a_gpu_give_their_truth),
        cmocka_unit_test(runs_of_torch_npu_give_their_truth),
        cmocka_unit_test(stages_of_unlike_layers_are_told),
        cmocka_unit_test(a_run_of_200_megabytes_gives_its_truth),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
