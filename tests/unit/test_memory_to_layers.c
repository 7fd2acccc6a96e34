/* Tests a job's layers for the balancer against the prediction of the job itself: simulated with the job's own plan
 * they must have the predicted peaks, and a layer file must give them back. */
#include "input.h"

#include <math.h>
#include <unistd.h>

#include "evenkeel/cost.h"
#include "evenkeel/layers.h"
#include "evenkeel/memory.h"

/* ---- jobs ---- */

enum { MAX_CELLS = 16 };

/* A job with its lists in place; not for ek_job_clear(). */
typedef struct made {
    ek_job job;
    int layers[MAX_CELLS], full[MAX_CELLS], select[MAX_CELLS], comm[MAX_CELLS], lists[3][MAX_CELLS];
    ek_pattern pattern[3];
} made;

/* A Llama of 7 billion parameters on p stages with v chunks, t 2. */
static void make(made *m, ek_framework framework, int p, int v, int n_layers)
{
    memset(m, 0, sizeof *m);
    ek_job *job = &m->job;
    job->framework = framework;
    job->family = framework == EK_MEGATRON ? EK_FAMILY_MEGATRON : EK_FAMILY_LLAMA;
    job->model = (ek_job_model){.n_layers = n_layers,
                                .hidden = 4096,
                                .n_heads = 32,
                                .n_kv_heads = 32,
                                .head_dim = 128,
                                .value_dim = 128,
                                .intermediate = 11008,
                                .vocab = 32000,
                                .max_position = 4096,
                                .gated = true,
                                .flash_attention = true,
                                .mask_compressed = true};
    ek_dtype param = framework == EK_MEGATRON ? EK_BF16 : EK_FP32;
    job->types =
        (ek_job_types){.compute = EK_BF16, .residual = EK_BF16, .param = param, .embedding = param, .norm = EK_FP32};
    job->parallel = (ek_job_parallel){.data = 4,
                                      .tensor = 2,
                                      .pipeline = p,
                                      .context = 1,
                                      .expert = 1,
                                      .expert_tensor = 2,
                                      .batch = 1,
                                      .seq_length = 4096,
                                      .n_micro_batches = 2 * p,
                                      .n_accumulation = 1,
                                      .n_batch_interleave = 1,
                                      .n_pieces = 1,
                                      .fine_grain = 2,
                                      .sequence_parallel = true,
                                      .table_split = 2,
                                      .head_split = 2,
                                      .ulysses = 1};
    job->states = framework == EK_MEGATRON
                      ? (ek_job_states){.weight = 2, .gradient = 4, .optimizer = 12, .shard_optimizer = true}
                      : (ek_job_states){.weight = 4,
                                        .gradient = 4,
                                        .optimizer = 8,
                                        .gathered = 4,
                                        .shard_weight = true,
                                        .shard_optimizer = true};
    job->states.shard_size = -1;
    job->rules = ek_rules_default(framework);
    job->plan = (ek_plan){p, v, m->layers, m->full, m->select, m->comm};
    job->schedule = ek_schedule_find(v > 1 ? "interleaved" : "1f1b");
    job->pattern = m->pattern;
    for (int c = 0; c < p * v; c++)
        m->layers[c] = n_layers / (p * v) + (c < n_layers % (p * v));
}

/* All layers of a kind, or the first `n` of every chunk. */
static void recompute(made *m, ek_recompute kind, int n)
{
    static const char *const texts[] = {"feed_forward\\.mul", "feed_forward\\.w1\\.activation\\.silu", ".*\\.norm"};
    bool select = kind == EK_RECOMPUTE_SELECT || kind == EK_RECOMPUTE_BOTH;
    bool comm = kind == EK_RECOMPUTE_COMM || kind == EK_RECOMPUTE_BOTH;
    for (int c = 0; c < m->job.plan.n_stages * m->job.plan.n_chunks; c++) {
        int count = m->layers[c] < n ? m->layers[c] : n;
        m->full[c] = kind == EK_RECOMPUTE_FULL ? count : 0;
        m->select[c] = select ? count : 0;
        m->comm[c] = comm ? count : 0;
    }
    for (int i = 0; i < 3; i++) {
        if (i < 2 ? !select : !comm)
            continue;
        int at = m->job.n_patterns++;
        memcpy(m->lists[at], i < 2 ? m->select : m->comm, sizeof m->select);
        m->pattern[at] = (ek_pattern){
            .text = (char *)texts[i], .kind = i < 2 ? EK_PATTERN_SELECT : EK_PATTERN_COMM, .layers = m->lists[at]};
    }
}

static void add_experts(made *m)
{
    ek_job_model *model = &m->job.model;
    model->n_experts = 8;
    model->top_k = 2;
    model->expert_intermediate = 1408;
    model->shared_intermediate = 2816;
    model->n_shared_experts = 2;
    model->n_dense_layers = 1;
    model->expert_period = 1;
    model->grouped_matmul = true;
    model->fused_swiglu = true;
    m->job.parallel.expert = 4;
    m->job.parallel.expert_tensor = 1;
    m->job.types.router = EK_FP32;
}

/* ---- peaks ---- */

static ek_layers layers_of(const ek_job *job, const ek_device *device)
{
    ek_layers layers;
    ek_error err;
    if (ek_memory_to_layers(job, device, &layers, &err))
        fail_msg("%s", err.message);
    return layers;
}

static void simulate(const ek_job *job, const ek_layers *layers, ek_timeline *out)
{
    ek_error err;
    ek_order *order = NULL;
    const ek_shape shape = {.n_stages = job->plan.n_stages,
                            .n_chunks = job->plan.n_chunks,
                            .n_micro_batches = job->parallel.n_micro_batches};
    if (ek_plan_check(&job->plan, layers, &err) || ek_order_new(job->schedule, &shape, &order, &err) ||
        ek_simulate(order, &job->plan, layers, NULL, out, &err))
        fail_msg("%s", err.message);
    ek_order_free(order);
    if (!out->peak_mb)
        abort(); /* which tools know not to return */
}

/* Largest deviation of a simulated peak from the predicted one; the last stage's, which may be high, apart. */
static void compare(const char *what, const ek_job *job, double *inner, double *last)
{
    const ek_memory_options options = {.without_allocation = true, .without_top = true};
    ek_memory memory;
    ek_error err;
    if (ek_memory_predict(job, &options, &memory, &err))
        fail_msg("%s: %s", what, err.message);
    ek_layers layers = layers_of(job, NULL);
    ek_timeline t = {0};
    simulate(job, &layers, &t);
    *inner = *last = 0;
    for (int s = 0; s < memory.n_stages; s++) {
        double predicted = (double)memory.stage[s].used_peak / 1048576, error = t.peak_mb[s] / predicted - 1;
        if (s == memory.n_stages - 1)
            *last = error;
        else if (fabs(error) > fabs(*inner))
            *inner = error;
    }
    print_message("# %s: %.0f MB on stage 0; inner stages %+.2f %%, the last %+.2f %%\n", what, t.peak_mb[0],
                  100 * *inner, 100 * *last);
    ek_timeline_clear(&t);
    ek_layers_clear(&layers);
    ek_memory_clear(&memory);
}

static void layers_peak_where_the_job_does(void **state)
{
    (void)state;
    static const struct {
        const char *what;
        ek_framework framework;
        int p, v, layers;
        ek_recompute kind;
        int n;
    } cases[] = {
        {"MindFormers, none", EK_MINDFORMERS, 4, 1, 32, EK_RECOMPUTE_NONE, 0},
        {"MindFormers, select", EK_MINDFORMERS, 4, 1, 32, EK_RECOMPUTE_SELECT, 99},
        {"MindFormers, comm", EK_MINDFORMERS, 4, 1, 32, EK_RECOMPUTE_COMM, 99},
        {"MindFormers, both in 3 of 8", EK_MINDFORMERS, 4, 1, 32, EK_RECOMPUTE_BOTH, 3},
        {"MindFormers, full", EK_MINDFORMERS, 4, 1, 32, EK_RECOMPUTE_FULL, 99},
        {"MindFormers, full in 5 of 8", EK_MINDFORMERS, 4, 1, 32, EK_RECOMPUTE_FULL, 5},
        {"MindFormers, two chunks", EK_MINDFORMERS, 4, 2, 32, EK_RECOMPUTE_NONE, 0},
        {"MindFormers, two chunks, full in 2 of 4", EK_MINDFORMERS, 4, 2, 32, EK_RECOMPUTE_FULL, 2},
        {"Megatron, none", EK_MEGATRON, 4, 1, 34, EK_RECOMPUTE_NONE, 0},
        {"Megatron, full", EK_MEGATRON, 4, 1, 34, EK_RECOMPUTE_FULL, 99},
        {"Megatron, two chunks", EK_MEGATRON, 2, 2, 30, EK_RECOMPUTE_NONE, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        made m;
        double inner, last;
        make(&m, cases[i].framework, cases[i].p, cases[i].v, cases[i].layers);
        recompute(&m, cases[i].kind, cases[i].n);
        compare(cases[i].what, &m.job, &inner, &last);
        assert_true(fabs(inner) < 0.03);
        /* The loss and a recomputed layer do not peak together, which constants cannot express. */
        assert_true(last > -0.03 && last < 0.05);
    }
}

static void layers_of_several_kinds_peak_where_the_job_does(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        made m;
        double inner, last;
        make(&m, EK_MEGATRON, 4, 1, 16);
        add_experts(&m);
        if (i) {
            m.job.model.n_prediction_layers = 1;
            m.layers[3]++;
        }
        compare(i ? "experts and a prediction layer" : "experts", &m.job, &inner, &last);
        assert_true(fabs(inner) < 0.03 && fabs(last) < 0.03);
        ek_layers layers = layers_of(&m.job, NULL);
        assert_int_equal(layers.n_body, 2 + i);
        assert_int_equal(layers.body[0].n_layers, 1);
        assert_int_equal(layers.body[1].n_layers, 15);
        assert_int_equal(layers.n_layers, 16 + i);
        if (i)
            assert_string_equal(layers.body[2].name, "prediction");
        ek_layers_clear(&layers);
    }
}

/* ---- kinds ---- */

static void kinds_that_save_are_modelled(void **state)
{
    (void)state;
    made m;
    make(&m, EK_MINDFORMERS, 4, 1, 32);
    /* Without a word in the file the framework's own patterns: SiLU and Mul save 2 c T I / t; the two gathered norms
     * save 2 c (T - T / t) H. */
    ek_layers layers = layers_of(&m.job, NULL);
    const double *kept = layers.body[0].activation_mb, mb = 1048576;
    for (int k = 0; k < EK_N_RECOMPUTE; k++)
        assert_true(layers.modelled[k]);
    double select = 2 * 2 * 4096.0 * 11008 / 2 / mb, comm = 2 * 2 * 2048.0 * 4096 / mb;
    assert_true(fabs(kept[EK_RECOMPUTE_NONE] - kept[EK_RECOMPUTE_SELECT] - select) < 0.01);
    assert_true(fabs(kept[EK_RECOMPUTE_NONE] - kept[EK_RECOMPUTE_COMM] - comm) < 0.01);
    assert_true(fabs(kept[EK_RECOMPUTE_NONE] - kept[EK_RECOMPUTE_BOTH] - select - comm) < 0.01);
    assert_true(fabs(kept[EK_RECOMPUTE_FULL] - 2 * 2048.0 * 4096 / mb) < 0.01);
    /* A job that selects nothing keeps its scores where there is no flash attention: 32 / 2 heads of S * S
     * probabilities and at least the softmax's output. */
    double flash = kept[EK_RECOMPUTE_NONE];
    ek_layers_clear(&layers);
    m.job.model.flash_attention = false;
    layers = layers_of(&m.job, NULL);
    assert_true(layers.body[0].activation_mb[EK_RECOMPUTE_NONE] > flash + 2 * 16 * 4096.0 * 4096 / mb);
    m.job.model.flash_attention = true;
    ek_layers_clear(&layers);
    /* Without tensor parallelism there is no communication to repeat; Megatron's fused layer has nothing to select. */
    m.job.parallel.tensor = m.job.parallel.table_split = m.job.parallel.head_split = 1;
    m.job.parallel.sequence_parallel = false;
    layers = layers_of(&m.job, NULL);
    assert_true(layers.modelled[EK_RECOMPUTE_SELECT] && !layers.modelled[EK_RECOMPUTE_COMM]);
    assert_false(layers.modelled[EK_RECOMPUTE_BOTH]);
    ek_layers_clear(&layers);
    make(&m, EK_MEGATRON, 4, 1, 32);
    layers = layers_of(&m.job, NULL);
    assert_true(layers.modelled[EK_RECOMPUTE_NONE] && layers.modelled[EK_RECOMPUTE_FULL]);
    assert_false(layers.modelled[EK_RECOMPUTE_SELECT] || layers.modelled[EK_RECOMPUTE_COMM]);
    assert_int_equal(m.job.n_patterns, 0); /* the job is as it was */
    ek_layers_clear(&layers);
}

/* Every other layer with experts, more often than there may be bodies: the sums are unchanged. */
static void alternating_kinds_become_their_mean(void **state)
{
    (void)state;
    made m;
    make(&m, EK_MEGATRON, 4, 1, 8);
    add_experts(&m);
    m.job.model.expert_period = 2;
    ek_layers few = layers_of(&m.job, NULL);
    assert_int_equal(few.n_body, 8);
    double dense = few.body[0].parameter_mb, experts = few.body[1].parameter_mb;
    assert_true(experts != dense);
    ek_layers_clear(&few);
    make(&m, EK_MEGATRON, 4, 1, 32);
    add_experts(&m);
    m.job.model.expert_period = 2;
    ek_layers many = layers_of(&m.job, NULL);
    assert_true(many.n_body <= EK_MAX_BODY_KINDS);
    double sum = 0;
    int n = 0;
    for (int b = 0; b < many.n_body; b++) {
        sum += many.body[b].n_layers * many.body[b].parameter_mb;
        n += many.body[b].n_layers;
    }
    assert_int_equal(n, 32);
    assert_true(fabs(sum - 16 * (dense + experts)) < 1e-6 * sum);
    ek_layers_clear(&many);
}

/* ---- files ---- */

static void assert_same_layer(const ek_layer *a, const ek_layer *b, bool body)
{
    assert_string_equal(a->name, b->name);
    assert_int_equal(a->n_layers, b->n_layers);
    assert_true(a->forward_time == b->forward_time && a->parameter_mb == b->parameter_mb);
    assert_true(fabs(a->weight_time - b->weight_time) <= 1e-12 * a->weight_time);
    for (int k = 0; k < (body ? EK_N_RECOMPUTE : 1); k++) {
        assert_true(!a->modelled[k] || a->activation_mb[k] == b->activation_mb[k]);
        assert_int_equal(a->modelled[k], b->modelled[k]);
        assert_true(fabs(a->backward_time[k] - b->backward_time[k]) <= 1e-12 * a->backward_time[k]);
    }
}

static void a_layer_file_gives_them_back(void **state)
{
    (void)state;
    made m;
    make(&m, EK_MINDFORMERS, 4, 1, 32);
    snprintf(m.job.name, sizeof m.job.name, "llama");
    ek_layers written = layers_of(&m.job, ek_device_find("Atlas 800T A2")), read;
    char path[] = "/tmp/evenkeel-layers-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    FILE *file = fdopen(fd, "w");
    ek_error err;
    assert_int_equal(ek_layers_write(&written, file, &err), EK_OK);
    fclose(file);
    if (ek_layers_read(path, NULL, NULL, &read, &err))
        fail_msg("%d:%d: %s", err.line, err.column, err.message);
    unlink(path);
    assert_string_equal(written.name, read.name);
    assert_true(written.const_mb == read.const_mb && written.split_known == read.split_known);
    assert_int_equal(written.n_body, read.n_body);
    assert_same_layer(&written.head, &read.head, false);
    assert_same_layer(&written.tail, &read.tail, false);
    for (int b = 0; b < written.n_body; b++)
        assert_same_layer(&written.body[b], &read.body[b], true);
    ek_layers_clear(&written);
    ek_layers_clear(&read);
}

static void times_are_those_of_the_device(void **state)
{
    (void)state;
    made m;
    make(&m, EK_MINDFORMERS, 4, 1, 32);
    const ek_device *device = ek_device_find("910B");
    ek_layer_times times;
    ek_error err;
    assert_int_equal(ek_cost_layer(&m.job, device, EK_LAYER_DENSE, &times, &err), EK_OK);
    ek_layers layers = layers_of(&m.job, device);
    assert_true(layers.body[0].forward_time == times.forward && layers.body[0].weight_time == times.weight);
    assert_true(layers.body[0].backward_time[EK_RECOMPUTE_FULL] == times.backward[EK_RECOMPUTE_FULL]);
    assert_true(layers.body[0].backward_time[EK_RECOMPUTE_SELECT] > times.backward[EK_RECOMPUTE_NONE]);
    assert_true(layers.split_known && layers.recompute_transient);
    ek_layers_clear(&layers);
    /* Two copies of a batch side by side. */
    m.job.parallel.n_batch_interleave = 2;
    ek_layers twice = layers_of(&m.job, device);
    assert_true(twice.body[0].forward_time == 2 * times.forward);
    ek_layers_clear(&twice);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layers_peak_where_the_job_does),
        cmocka_unit_test(layers_of_several_kinds_peak_where_the_job_does),
        cmocka_unit_test(kinds_that_save_are_modelled),
        cmocka_unit_test(alternating_kinds_become_their_mean),
        cmocka_unit_test(a_layer_file_gives_them_back),
        cmocka_unit_test(times_are_those_of_the_device),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
