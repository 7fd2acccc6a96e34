/* Tests FLOPs and utilisation against published figures (Korthikanti et al., arXiv 2205.05198, table 5; Narayanan et
 * al., arXiv 2104.04473; bubbles of MindSpore's tuning guide), against a recount from the operators of layers' graphs,
 * and contradictory inputs. */
#include <math.h>
#include <unistd.h>

#include "assert_close.h"
#include "base/random.h"
#include "described.h"
#include "evenkeel/metrics.h"
#include "evenkeel/metrics_report.h"
#include "evenkeel/trace.h"
#include "evenkeel/train_log.h"
#include "figures/metrics_figures.h"
#include "figures/results.h"
#include "memory/program.h"
#include "memory_job.h"
#include "metrics/flops.h"
#include "no_memory.h"
#include "report/writers.h"
#include "skip.h"

FAILING_ALLOC
FAILING_WITH_ROOM

/* ---- jobs ---- */

typedef struct planned_job {
    made_job made;
    int cell[5][64], lists[16][64]; /* layers, full, select, comm; patterns' lists */
} planned_job;

static void plan_evenly(planned_job *j, int stages, int chunks, int full)
{
    ek_job *job = &j->made.job;
    int n = stages * chunks;
    job->plan = (ek_plan){stages, chunks, j->cell[0], j->cell[1], j->cell[2], j->cell[3]};
    job->schedule = ek_schedule_find(chunks > 1 ? "interleaved" : "1f1b");
    job->parallel.pipeline = stages;
    for (int c = 0; c < n; c++) {
        j->cell[0][c] = (job->model.n_layers + job->model.n_prediction_layers) / n;
        j->cell[1][c] = full < 0 ? j->cell[0][c] : full;
    }
}

/* A GPT of two matrices a feed-forward layer, its whole score matrix counted. */
static void make_gpt(planned_job *j, int layers, int hidden, int heads, int vocab, int length, bool full)
{
    memset(j, 0, sizeof *j);
    make_megatron(&j->made);
    ek_job_model *m = &j->made.job.model;
    m->n_layers = layers;
    m->hidden = hidden;
    m->n_heads = m->n_kv_heads = heads;
    m->head_dim = m->value_dim = hidden / heads;
    m->intermediate = 4 * hidden;
    m->vocab = vocab;
    m->gated = false;
    j->made.job.parallel.seq_length = length;
    plan_evenly(j, 1, 1, full ? -1 : 0);
}

static ek_flops count(const ek_job *job, ek_attention_count attention)
{
    ek_flops flops;
    ek_error err = {0};
    if (ek_flops_count(job, attention, &flops, &err))
        fail_msg("%s", err.message);
    return flops;
}

/* ---- published figures ---- */

static void korthikanti_table_5_has_these_utilisations(void **state)
{
    (void)state;
    static const struct {
        int layers, hidden, heads, devices, batch;
        double full, selective, mfu; /* seconds, seconds, % */
    } rows[] = {{48, 6144, 64, 8, 4, 1.42, 1.10, 41.7},
                {96, 12288, 96, 64, 64, 18.13, 13.75, 51.4},
                {105, 20480, 128, 280, 280, 49.05, 37.83, 56.1},
                {128, 25600, 160, 512, 512, 94.42, 71.49, 56.3}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        planned_job j;
        make_gpt(&j, rows[i].layers, rows[i].hidden, rows[i].heads, 51200, 2048, false);
        const ek_device *a100 = ek_device_find("A100-80");
        ek_job *job = &j.made.job;
        job->parallel.data = rows[i].devices; /* one micro-batch of the whole batch, whatever the ranks */
        ek_metrics_input in = {.job = job, .device = a100, .attention = EK_ATTENTION_FULL};
        in.step_seconds = rows[i].selective;
        in.model_flops_per_token = 0;
        ek_metrics m;
        ek_error err = {0};
        job->parallel.batch = 1;
        job->parallel.n_micro_batches = 1;
        if (rows[i].batch < rows[i].devices) { /* 4 sequences on 8 devices */
            job->parallel.data = rows[i].batch;
            job->parallel.context = rows[i].devices / rows[i].batch;
        }
        if (ek_metrics_compute(&in, &m, &err))
            fail_msg("%s", err.message);
        assert_close_to(100 * m.mfu, rows[i].mfu, 0.06);
        assert_int_equal(m.n_devices, rows[i].devices);
        assert_close_to(m.global_batch, rows[i].batch, 0);
    }
}

/* 1536 sequences in about 32 s on 1024 devices: 138 TFLOP/s are those of the hardware. */
static void megatrons_138_tflops_count_recomputation(void **state)
{
    (void)state;
    planned_job j;
    make_gpt(&j, 96, 12288, 96, 51200, 2048, true);
    ek_flops flops = count(&j.made.job, EK_ATTENTION_FULL);
    double tokens = 1536.0 * 2048 / 32 / 1024;
    assert_close_to(flops.hardware * tokens / 1e12, 137.7, 0.05);
    assert_close_to(flops.model * tokens / 1e12, 103.3, 0.05);
    double h = 12288, l = 96, s = 2048, v = 51200;
    assert_close_to(flops.hardware / (96 * l * h * h * (1 + s / (6 * h) + v / (16 * l * h))), 1, 1e-12);
    assert_close_to(flops.model / (72 * l * h * h * (1 + s / (6 * h) + v / (12 * l * h))), 1, 1e-12);
}

static void the_tables_of_2021_are_hardware_flops(void **state)
{
    (void)state;
    char line[1024];
    FILE *file = fopen(source_path("tests/data/published/reference/measured/megatron_sc21_table1.csv"), "r");
    assert_non_null(file);
    int n = 0;
    while (fgets(line, sizeof line, file)) {
        double parameters, published, seconds;
        int heads, hidden, layers, vocab, length, t, p, d, devices, batch;
        char hardware[64];
        if (sscanf(line, "%lf,%d,%d,%d,%d,%d,%d,%d,%d,%d,%d,full,%63[^,],%lf,%lf", &parameters, &heads, &hidden,
                   &layers, &vocab, &length, &t, &p, &d, &devices, &batch, hardware, &published, &seconds) != 14)
            continue;
        planned_job j;
        make_gpt(&j, layers, hidden, heads, vocab, length, true);
        ek_flops flops = count(&j.made.job, EK_ATTENTION_FULL);
        double tflops = flops.hardware * batch * length / seconds / devices / 1e12;
        assert_close_to(tflops / published, 1, 0.001);
        assert_true(flops.model * batch * length / seconds / devices / 1e12 < 0.78 * published);
        assert_close_to(flops.parameters / 1e9 / parameters, 1, 0.04);
        n++;
    }
    fclose(file);
    assert_int_equal(n, 10);
}

static void make_llama2(planned_job *j, int layers, int hidden, int heads, int groups, int inner)
{
    memset(j, 0, sizeof *j);
    make_llama(&j->made);
    ek_job_model *m = &j->made.job.model;
    m->n_layers = layers;
    m->hidden = hidden;
    m->n_heads = heads;
    m->n_kv_heads = groups;
    m->head_dim = m->value_dim = hidden / heads;
    m->intermediate = inner;
    m->vocab = 32000;
    j->made.job.parallel.seq_length = 4096;
    plan_evenly(j, 1, 1, 0);
}

static void the_convention_moves_a_13b_by_13_percent(void **state)
{
    (void)state;
    planned_job j;
    make_llama2(&j, 40, 5120, 40, 40, 13824);
    assert_close_to(count(&j.made.job, EK_ATTENTION_NONE).model / 1e9, 77.1, 0.05);
    assert_close_to(count(&j.made.job, EK_ATTENTION_CAUSAL).model / 1e9, 82.1, 0.05);
    assert_close_to(count(&j.made.job, EK_ATTENTION_FULL).model / 1e9, 87.2, 0.05);
    /* Without scores the rule is 6 P, of all parameters that are multiplied: not the table, not the norms. */
    ek_flops flops = count(&j.made.job, EK_ATTENTION_NONE);
    assert_close_to(flops.model / 6, flops.parameters - 32000.0 * 5120 - 81 * 5120.0, 0.5);
    assert_close_to(flops.parameters, 13015864320.0, 0);
}

/* 404 tokens/s/p, read per device, are 180 TFLOP/s; read as the rate of a data-parallel group of 32 they would be 6. */
static void tokens_per_second_are_of_all_devices(void **state)
{
    (void)state;
    planned_job j;
    make_llama2(&j, 80, 8192, 64, 8, 28672);
    ek_metrics_input in = {.job = &j.made.job, .attention = EK_ATTENTION_FULL, .tokens_per_second_per_device = 404};
    ek_metrics m;
    ek_error err = {0};
    assert_int_equal(ek_metrics_compute(&in, &m, &err), EK_OK);
    assert_close_to(m.achieved_tflops, 180, 1);
    assert_close_to(m.achieved_tflops / 32, 5.6, 0.1);
    assert_close_to(m.flops.parameters / 1e9, 68.98, 0.01);
}

static void bubbles_are_those_of_the_guide(void **state)
{
    (void)state;
    static const struct {
        int p, v, m;
        double share, ratio;
    } cases[] = {{16, 1, 16, 0.484, 0.9375}, {16, 3, 16, 0.238, 0.3125}, {1, 1, 4, 0, 0}, {8, 1, 24, 0.2258, 0.2917}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ek_metrics_input in = {
            .n_stages = cases[i].p, .n_chunks = cases[i].v, .n_micro_batches = cases[i].m, .baseline = NAN};
        ek_metrics m;
        ek_error err = {0};
        assert_int_equal(ek_metrics_compute(&in, &m, &err), EK_OK);
        assert_close_to(m.bubble_share, cases[i].share, 0.0005);
        assert_close_to(m.bubble_ratio, cases[i].ratio, 0.0001);
        assert_close_to(m.bubble_share, m.bubble_ratio / (1 + m.bubble_ratio), 1e-15);
    }
}

static void other_schedules_have_no_closed_bubble(void **state)
{
    (void)state;
    planned_job j;
    make_llama2(&j, 40, 5120, 40, 40, 13824);
    plan_evenly(&j, 2, 1, 0);
    j.made.job.parallel.n_micro_batches = 4;
    ek_metrics_input in = {.job = &j.made.job};
    ek_metrics m;
    ek_error err = {0};
    assert_int_equal(ek_metrics_compute(&in, &m, &err), EK_OK);
    assert_close_to(m.bubble_share, 0.2, 1e-15);
    j.made.job.schedule = ek_schedule_find("zb-h1");
    assert_int_equal(ek_metrics_compute(&in, &m, &err), EK_OK);
    assert_true(isnan(m.bubble_share) && isnan(m.bubble_ratio));
}

/* The 38B of the documentation: 128 devices, d 4, t 8, p 4, v 4, 256 sequences in 11.5 s. */
static void numbers_alone_do(void **state)
{
    (void)state;
    ek_metrics_input in = {.step_seconds = 11.5,
                           .n_devices = 128,
                           .global_batch = 256,
                           .seq_length = 4096,
                           .parameters = 38e9,
                           .peak_tflops = 360,
                           .n_stages = 4,
                           .n_chunks = 4,
                           .n_micro_batches = 32,
                           .baseline = 1.5,
                           .baseline_devices = 8};
    ek_metrics m;
    ek_error err = {0};
    assert_int_equal(ek_metrics_compute(&in, &m, &err), EK_OK);
    assert_close_to(m.samples_per_second, 22.26, 0.005);
    assert_close_to(m.tokens_per_second_per_device, 712.35, 0.005);
    assert_close_to(m.achieved_tflops, 162.4, 0.05);
    assert_close_to(m.mfu, 0.451, 0.0005);
    assert_true(isnan(m.hfu));
    assert_close_to(m.linearity, 22.2609 / 128 / (1.5 / 8), 0.0001);
    assert_close_to(m.bubble_share, 3.0 / 131, 1e-15);
    assert_close_to(m.bubble_ratio, 3.0 / 128, 1e-15);
    assert_int_equal(m.flops_source, EK_FLOPS_SIX_P);
    /* The other two rates give the same back. */
    ek_metrics_input rate = in, tokens = in;
    rate.step_seconds = tokens.step_seconds = NAN;
    rate.samples_per_second = m.samples_per_second;
    tokens.tokens_per_second_per_device = m.tokens_per_second_per_device;
    ek_metrics a, b;
    assert_int_equal(ek_metrics_compute(&rate, &a, &err), EK_OK);
    assert_int_equal(ek_metrics_compute(&tokens, &b, &err), EK_OK);
    assert_close_to(a.step_seconds, 11.5, 1e-9);
    assert_close_to(b.step_seconds, 11.5, 1e-9);
    assert_close_to(b.mfu, m.mfu, 1e-12);
}

static void what_contradicts_itself_is_refused(void **state)
{
    (void)state;
    planned_job j;
    make_llama2(&j, 40, 5120, 40, 40, 13824);
    j.made.job.parallel.data = 8;
    static const ek_device volta = {.name = "v", .certain = true, .peak_tflops = {[EK_FP16] = 125}};
    const struct {
        ek_metrics_input in;
        const char *says;
    } cases[] = {
        {{.step_seconds = 2, .global_batch = 8, .samples_per_second = 4.03}, "more than 0.5 % apart"},
        {{.step_seconds = 2, .global_batch = 8, .seq_length = 100, .n_devices = 4, .tokens_per_second_per_device = 101},
         "more than 0.5 % apart"},
        {{.step_seconds = -1}, "the step time must be a number above 0"},
        {{.n_devices = -4}, "the number of devices must be"},
        {{.samples_per_second = INFINITY}, "samples/s must be"},
        {{.baseline = 3}, "give both"},
        {{.baseline_devices = 3}, "give both"},
        {{.job = &j.made.job, .n_devices = 16}, "given as 16, but the model file comes to 8"},
        {{.job = &j.made.job, .global_batch = 16}, "given as 16, but the model file comes to 8"},
        {{.job = &j.made.job, .seq_length = 2048}, "given as 2048, but the model file comes to 4096"},
        {{.job = &j.made.job, .device = &volta}, "device 'v' has no peak for bfloat16"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ek_metrics m = {.mfu = 7};
        ek_error err = {0};
        assert_int_equal(ek_metrics_compute(&cases[i].in, &m, &err), EK_ERR_INPUT);
        if (!strstr(err.message, cases[i].says))
            fail_msg("'%s' does not say '%s'", err.message, cases[i].says);
        assert_close_to(m.mfu, 7, 0);
    }
    /* Within half a percent both are taken. */
    ek_metrics_input close = {.step_seconds = 2, .global_batch = 8, .samples_per_second = 4.015};
    ek_metrics m;
    assert_int_equal(ek_metrics_compute(&close, &m, NULL), EK_OK);
}

static void what_is_not_known_is_left_open(void **state)
{
    (void)state;
    const ek_metrics_input nothing = {0}, only_step = {.step_seconds = 3},
                           rate = {.tokens_per_second_per_device = 100, .model_flops_per_token = 1e12};
    ek_metrics m;
    assert_int_equal(ek_metrics_compute(&nothing, &m, NULL), EK_OK);
    assert_true(isnan(m.step_seconds) && isnan(m.samples_per_second) && isnan(m.mfu) && isnan(m.linearity) &&
                isnan(m.bubble_share));
    assert_int_equal(ek_metrics_compute(&only_step, &m, NULL), EK_OK);
    assert_close_to(m.step_seconds, 3, 0);
    assert_true(isnan(m.samples_per_second) && isnan(m.tokens_per_second_per_device));
    assert_int_equal(ek_metrics_compute(&rate, &m, NULL), EK_OK);
    assert_close_to(m.achieved_tflops, 100, 1e-9);
    assert_true(isnan(m.mfu) && isnan(m.samples_per_second));
}

/* ---- recounting ---- */

static int pick(ek__random *r, int least, int most)
{
    return least + ek__random_below(r, most - least + 1);
}

static void randomise_model(planned_job *j, ek__random *r)
{
    ek_job *job = &j->made.job;
    ek_job_model *m = &job->model;
    bool latent = ek__random_below(r, 3) == 0, experts = ek__random_below(r, 2) == 0;
    m->n_heads = 1 << pick(r, 1, 4);
    m->n_kv_heads = latent ? m->n_heads : m->n_heads >> pick(r, 0, 1);
    m->head_dim = m->value_dim = 8 * pick(r, 1, 8);
    m->hidden = 16 * pick(r, 1, 40); /* not always heads times their width */
    m->intermediate = 16 * pick(r, 1, 60);
    m->vocab = 32 * pick(r, 1, 400);
    m->gated = ek__random_below(r, 2);
    m->qkv_concat = !latent && ek__random_below(r, 2);
    m->fused_swiglu = ek__random_below(r, 2);
    m->tied = ek__random_below(r, 2);
    m->flash_attention = ek__random_below(r, 2);
    m->n_prediction_layers = ek__random_below(r, 3) == 0 ? pick(r, 1, 2) : 0;
    if (latent) {
        m->q_lora_rank = ek__random_below(r, 2) ? 8 * pick(r, 1, 20) : 0;
        m->kv_lora_rank = 8 * pick(r, 1, 20);
        m->nope_dim = 8 * pick(r, 1, 8);
        m->rope_dim = 8 * pick(r, 1, 4);
        m->head_dim = m->nope_dim + m->rope_dim;
        m->value_dim = 8 * pick(r, 1, 8);
    }
    if (experts) {
        m->n_experts = 1 << pick(r, 1, 5);
        m->top_k = pick(r, 1, m->n_experts < 4 ? m->n_experts : 4);
        m->expert_intermediate = 16 * pick(r, 1, 20);
        m->n_shared_experts = ek__random_below(r, 3);
        m->shared_intermediate = m->n_shared_experts * m->expert_intermediate;
        m->n_dense_layers = ek__random_below(r, 3);
        m->expert_period = 1;
        m->grouped_matmul = ek__random_below(r, 2);
    }
}

static void randomise_plan(planned_job *j, ek__random *r)
{
    ek_job *job = &j->made.job;
    static const char *const texts[] = {"attention.*matmul", "core_attention", "mlp",     "feed_forward\\.w1",
                                        "flash_attention",   "linear_fc1",     "wo\\.",   "self_attention",
                                        "linear_qkv",        "routed_experts", "experts", "attention\\.wq"};
    int p = pick(r, 1, 4), v = pick(r, 1, 3), total = 0;
    plan_evenly(j, p, v, 0);
    for (int c = 0; c < p * v; c++) {
        int layers = pick(r, c == p * v - 1 ? 2 : 0, 5);
        j->cell[0][c] = layers;
        j->cell[1][c] = ek__random_below(r, layers + 1);
        total += layers;
    }
    job->model.n_layers = total - job->model.n_prediction_layers;
    for (int i = pick(r, 0, 4); i > 0; i--) {
        int k = job->n_patterns;
        bool excludes = ek__random_below(r, 4) == 0;
        add_pattern(&j->made, excludes ? EK_PATTERN_SELECT_EXCLUDE : EK_PATTERN_SELECT,
                    texts[ek__random_below(r, (int)(sizeof texts / sizeof *texts))]);
        j->made.pattern[k].layers = j->lists[k];
        for (int c = 0; c < p * v; c++)
            j->lists[k][c] = ek__random_below(r, j->cell[0][c] + 1);
    }
}

static void make_random(planned_job *j, ek__random *r)
{
    memset(j, 0, sizeof *j);
    if (ek__random_below(r, 2))
        make_megatron(&j->made);
    else
        make_llama(&j->made);
    ek_job_parallel *p = &j->made.job.parallel;
    randomise_model(j, r);
    p->batch = pick(r, 1, 3);
    p->context = 1 << pick(r, 0, 2);
    p->context_algorithm = EK_CONTEXT_RING;
    p->seq_length = 64 * pick(r, 1, 20);
    p->expert_tensor = 1;
    if (j->made.job.model.n_experts > 0)
        p->expert = 1 << pick(r, 0, 1);
    randomise_plan(j, r);
}

/* All products of a graph, whatever their names, and the recomputed ones. */
static void recount_graph(const ek_job *job, ek__graph_kind kind, ek__recompute what, double *once, double *again)
{
    static ek__graph graph;
    bool recomputed[EK__MAX_OPS];
    double tokens = (double)job->parallel.batch * job->parallel.seq_length / job->parallel.context;
    ek__graph_build(job, kind, &graph);
    ek__graph_run_again(job, &graph, what, recomputed);
    for (int i = 0; i < graph.n_ops; i++) {
        *once += graph.op[i].flops / tokens;
        *again += recomputed[i] ? graph.op[i].flops / tokens : 0;
    }
}

static void random_jobs_count_what_their_operators_do(void **state)
{
    (void)state;
    int n_again = 0;
    for (uint64_t seed = 0; seed < 600; seed++) {
        planned_job j;
        ek__random r = ek__random_seed(seed);
        make_random(&j, &r);
        const ek_job *job = &j.made.job;
        double once = 0, again = 0;
        int layer = 0;
        recount_graph(job, EK__GRAPH_HEAD, (ek__recompute){0}, &once, &(double){0});
        for (int q = 0; q < job->plan.n_stages * job->plan.n_chunks; q++)
            for (int i = 0; i < job->plan.layers[q]; i++) { /* chunks of a stage are p apart: model order */
                ek__recompute what = {.full = i < job->plan.full[q]};
                for (int k = 0; k < job->n_patterns; k++)
                    what.patterns |= (uint64_t)(i < job->pattern[k].layers[q]) << k;
                recount_graph(job, ek__layer_graph_kind(job, layer++), what, &once, &again);
            }
        ek_flops flops = count(job, job->model.flash_attention ? EK_ATTENTION_CAUSAL : EK_ATTENTION_FULL);
        if (!(fabs(flops.forward / once - 1) < 1e-9 && fabs(flops.recomputed - again) < 1e-9 * once))
            fail_msg("job %d: %.9g forward and %.9g again, operators do %.9g and %.9g", (int)seed, flops.forward,
                     flops.recomputed, once, again);
        double sum = 0;
        for (int t = 0; t < flops.n; t++) {
            sum += flops.term[t].forward;
            assert_true(flops.term[t].recomputed <= flops.term[t].forward * (1 + 1e-12));
            assert_true(flops.term[t].name[0] && flops.term[t].formula[0]);
        }
        assert_close_to(sum / flops.forward, 1, 1e-12);
        assert_close_to(flops.hardware, 3 * flops.forward + flops.recomputed, 1e-6 * flops.hardware);
        assert_true(flops.active_parameters <= flops.parameters);
        n_again += again > 0;
    }
    assert_true(n_again > 300);
}

/* Every product with a weight counts twice its elements a token, an expert's by the share of experts a token goes to:
 * so without scores the FLOPs follow from the parameters. */
static void flops_without_scores_follow_from_the_parameters(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 200; seed++) {
        planned_job j;
        ek__random r = ek__random_seed(1000 + seed);
        make_random(&j, &r);
        ek_job *job = &j.made.job;
        job->model.tied = job->model.qkv_bias = job->model.linear_bias = false;
        ek_flops flops = count(job, EK_ATTENTION_NONE);
        double h = job->model.hidden, layers = job->model.n_layers, prediction = job->model.n_prediction_layers;
        double heads = 2 * h * job->model.vocab, least = 2 * (flops.active_parameters - h * job->model.vocab);
        /* Prediction layers use the head again. Norms are parameters that multiply no matrix: a few rows a layer. */
        double matrices = flops.forward - prediction * heads;
        double norms = 2 * (layers + prediction + 1) * (8 * h + 2000);
        if (!(matrices <= least * (1 + 1e-12) && matrices >= least - norms))
            fail_msg("job %d: %.9g FLOPs, %.9g by parameters", (int)seed, matrices, least);
    }
}

/* Terms are identified by the place of a product; the names of operators must agree. */
static void terms_agree_with_the_names_of_operators(void **state)
{
    (void)state;
    static const struct {
        ek__term term;
        const char *text[4];
    } names[] = {{EK__TERM_OUTPUT, {"attention.wo", "linear_proj"}},
                 {EK__TERM_ROUTER, {"router"}},
                 {EK__TERM_HEAD, {"lm_head", "output_layer"}},
                 {EK__TERM_JOIN, {"mtp"}},
                 {EK__TERM_SHARED, {"shared_expert"}},
                 {EK__TERM_DENSE, {"feed_forward.w", "mlp.linear_fc"}}};
    static const ek__graph_kind kinds[] = {EK__GRAPH_DENSE, EK__GRAPH_EXPERTS, EK__GRAPH_PREDICTION, EK__GRAPH_HEAD};
    int seen[EK__N_TERMS] = {0};
    for (uint64_t seed = 0; seed < 200; seed++) {
        planned_job j;
        ek__random r = ek__random_seed(5000 + seed);
        make_random(&j, &r);
        for (int k = 0; k < 4; k++) {
            static ek__graph graph;
            int term[EK__MAX_OPS];
            if (kinds[k] == EK__GRAPH_EXPERTS && j.made.job.model.n_experts == 0)
                continue;
            ek__graph_build(&j.made.job, kinds[k], &graph);
            ek__graph_terms(&graph, kinds[k], term);
            for (int i = 0; i < graph.n_ops; i++)
                for (size_t t = 0; t < sizeof names / sizeof *names; t++) {
                    bool named = false;
                    for (int w = 0; w < 4 && names[t].text[w]; w++)
                        named |= strstr(graph.op[i].path, names[t].text[w]) != NULL;
                    if (term[i] != (int)names[t].term)
                        continue;
                    if (!named)
                        fail_msg("'%s' is taken for term %d", graph.op[i].path, term[i]);
                    seen[term[i]]++;
                }
        }
    }
    for (size_t t = 0; t < sizeof names / sizeof *names; t++)
        assert_true(seen[names[t].term] > 20);
}

static void mixed_lists_recompute_their_layers_only(void **state)
{
    (void)state;
    planned_job j;
    make_llama2(&j, 40, 5120, 40, 40, 13824);
    plan_evenly(&j, 2, 1, 0);
    j.cell[1][0] = 13;
    j.cell[1][1] = 5;
    ek_flops flops = count(&j.made.job, EK_ATTENTION_CAUSAL);
    double layers = flops.forward - 2 * 5120.0 * 32000;
    assert_close_to(flops.recomputed / layers, 18.0 / 40, 1e-12);
}

/* ---- shipped training files ---- */

/* The fields of a line of comma-separated values, quoted ones too; cuts the line. @return how many */
static int split(char *line, char **field, int room)
{
    int n = 0;
    bool quoted = false;
    for (int i = 0; i < room; i++)
        field[i] = line;
    n++;
    for (char *s = line; *s && n < room; s++) {
        quoted ^= *s == '"';
        if (*s == ',' && !quoted) {
            *s = '\0';
            field[n++] = s + 1;
        }
    }
    return n;
}

static int column_of(char **field, int n, const char *name)
{
    for (int i = 0; i < n; i++)
        if (strcmp(field[i], name) == 0)
            return i;
    fail_msg("no column %s", name);
    return -1;
}

static void a_tied_head_is_no_second_table(void **state)
{
    (void)state;
    for (int stages = 1; stages <= 2; stages++) {
        planned_job j;
        make_llama2(&j, 40, 5120, 40, 40, 13824);
        plan_evenly(&j, stages, 1, 0);
        ek_flops apart = count(&j.made.job, EK_ATTENTION_CAUSAL);
        j.made.job.model.tied = true;
        ek_flops tied = count(&j.made.job, EK_ATTENTION_CAUSAL);
        assert_close_to(apart.parameters - tied.parameters, 5120.0 * 32000, 0);
        assert_close_to(apart.model, tied.model, 0);
    }
}

/* As their publishers count them, weight by weight. */
static void published_models_have_their_parameters(void **state)
{
    (void)state;
    static const struct {
        const char *file;
        double parameters;
    } models[] = {
        {"llama2_7b.yaml", 6738415616},    {"llama2_13b.yaml", 13015864320}, {"llama2_70b.yaml", 68976648192},
        {"llama3_70b.yaml", 70553706496},  {"qwen2_5_7b.yaml", 7615616512},  {"qwen2_5_14b.yaml", 14770033664},
        {"qwen2_5_72b.yaml", 72706203648}, {"qwen3_32b.yaml", 32762123264},  {"mixtral_8x7b.yaml", 46702792704},
        {"glm4_9b.yaml", 9399951360},
    };
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        char path[4352];
        snprintf(path, sizeof path, "%s/%s", source_path("tests/data/published/reference/configs"), models[i].file);
        ek_job job;
        ek_error err = {0};
        double all = 0, active = 0;
        if (ek_job_read(path, NULL, NULL, &job, &err) || ek_job_count_parameters(&job, &all, &active, &err))
            fail_msg("%s: %s", path, err.message);
        if (all != models[i].parameters)
            fail_msg("%s: %.0f parameters, published %.0f", models[i].file, all, models[i].parameters);
        assert_true(job.model.n_experts > 0 ? active < all : active == all);
        ek_job_clear(&job);
    }
}

/* A run can do no more than the device, and all were worth printing. */
static void expect_possible(const char *path, double tokens)
{
    ek_job job;
    ek_metrics m;
    ek_error err = {0};
    if (ek_job_read(path, NULL, NULL, &job, &err))
        fail_msg("%s: %s", path, err.message);
    ek_metrics_input in = {.job = &job, .tokens_per_second_per_device = tokens};
    in.peak_tflops = 376; /* the most that any figure of the device implies */
    if (ek_metrics_compute(&in, &m, &err))
        fail_msg("%s: %s", path, err.message);
    if (!(m.mfu > 0.1 && m.hfu < 1))
        fail_msg("%s: %g tokens/s/p are an MFU of %.3f, HFU %.3f", path, tokens, m.mfu, m.hfu);
    ek_job_clear(&job);
}

/* Tokens/s/p that MindFormers' model cards print for full training (v1.3.2, docs/model_cards), of the same models. */
static void published_throughputs_are_possible(void **state)
{
    (void)state;
    static const struct {
        const char *file;
        double tokens;
    } runs[] = {{"llama2_7b.yaml", 4160}, {"llama2_7b.yaml", 3484}, {"llama2_13b.yaml", 1911}, {"llama2_70b.yaml", 337},
                {"llama2_70b.yaml", 404}, {"llama3_70b.yaml", 337}, {"glm4_9b.yaml", 2339}};
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        char path[4352];
        snprintf(path, sizeof path, "%s/%s", source_path("tests/data/published/reference/configs"), runs[i].file);
        expect_possible(path, runs[i].tokens);
    }
}

/* The card's own files, where they are there. */
static void published_throughputs_are_possible_with_their_files(void **state)
{
    (void)state;
    enum { FIELDS = 48 };
    char path[4096], line[4096], *field[FIELDS];
    FILE *file = fopen(need_shared("reference/measured/mindformers_throughput.csv"), "r");
    assert_true(file && fgets(line, sizeof line, file));
    int columns = split(line, field, FIELDS), n = 0;
    int yaml = column_of(field, columns, "yaml"), phase = column_of(field, columns, "phase"),
        tokens = column_of(field, columns, "tokens_per_s_per_device"), suspect = column_of(field, columns, "suspect");
    while (fgets(line, sizeof line, file)) {
        if (split(line, field, FIELDS) != columns || strcmp(field[suspect], "0") != 0 ||
            strcmp(field[phase], "LoRA") == 0)
            continue;
        const char *name = strrchr(field[yaml], '/');
        snprintf(path, sizeof path, "%s/%s", shared_path("reference/configs"), name ? name + 1 : field[yaml]);
        if (access(path, R_OK) != 0)
            continue;
        expect_possible(path, strtod(field[tokens], NULL));
        n++;
    }
    fclose(file);
    assert_true(n >= 10);
}

/* ---- the traced step ---- */

/* Warm-up, averages and steps without time do not count; the host's mark goes before the device's window where it is
 * longer. The means are 0.3 and 0.9 s, of the first two steps of the second rank 0.7 s; the longest is the job's. */
static void the_step_of_a_trace_is_the_longest_mean_of_its_ranks(void **state)
{
    (void)state;
    enum { DS = 100000000 };
    ek_trace_step first[] = {{.host_step = 90 * (int64_t)DS, .warm_up = true},
                             {.host_step = 4 * DS, .own.total = 1 * DS},
                             {.own.total = 2 * DS},
                             {.host_step = 80 * (int64_t)DS, .average = true}};
    ek_trace_step second[] = {{.host_step = 7 * DS},
                              {.host_step = EK_TRACE_UNKNOWN, .own.total = EK_TRACE_UNKNOWN},
                              {.own.total = 11 * (int64_t)DS}};
    ek_trace_rank rank[] = {{.n_steps = 4, .step = first}, {.n_steps = 3, .step = second}};
    ek_trace_run run = {.n_ranks = 2, .rank = rank};
    ek_trace_step_time step = ek_trace_run_step(&run);
    assert_int_equal(step.n_steps, 2);
    assert_int_equal(step.rank, 1);
    assert_int_equal(step.ns, 9 * (int64_t)DS);
    rank[1].n_steps = 2;
    step = ek_trace_run_step(&run);
    assert_int_equal(step.n_steps, 1);
    assert_int_equal(step.ns, 7 * (int64_t)DS);
    run.n_ranks = 0;
    step = ek_trace_run_step(&run);
    assert_true(step.n_steps == 0 && step.ns == EK_TRACE_UNKNOWN);
}

/* ---- JSON ---- */

static void json_has_every_figure_and_what_it_rests_on(void **state)
{
    (void)state;
    planned_job j;
    make_gpt(&j, 24, 2304, 24, 51200, 2048, true);
    ek_train_log_step step = {.seconds = 2, .loss = 3};
    const ek_train_log log = {.n = 1, .step = &step, .peak_mb = 1024};
    const ek_train_log_summary summary = {0, 1, 2, 2, 2, 0, 120, 8};
    const ek_metrics_input in = {.job = &j.made.job,
                                 .device = ek_device_find("A100-80"),
                                 .step_seconds = 2,
                                 .baseline = 1.5,
                                 .baseline_devices = 8};
    ek_metrics m;
    ek_metrics_prediction predicted;
    assert_int_equal(ek_metrics_compute(&in, &m, NULL), EK_OK);
    assert_int_equal(ek_metrics_predict(&in, &predicted, NULL), EK_OK);
    const ek_metrics_report report = {
        .input = &in, .metrics = &m, .predicted = &predicted, .source = "a.log", .log = &log, .summary = &summary};
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    assert_int_equal(ek__metrics_write_json(&report, out, NULL), EK_OK);
    fclose(out);
    check_described(ek__result_metrics.fields, text, true);
    json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    const json_t *basis = json_object_get(root, "basis");
    assert_int_equal(json_object_size(basis), EK__N_METRICS_LINES);
    assert_string_equal(json_string_value(json_object_get(basis, "step_seconds")), "measured");
    assert_string_equal(json_string_value(json_object_get(basis, "global_batch")), "model file");
    assert_string_equal(json_string_value(json_object_get(basis, "mfu")), "derived");
    json_decref(root);
    free(text);
    ek_metrics_prediction_clear(&predicted);
}

/* ---- memory that runs out ---- */

static void memory_that_is_out_is_said(void **state)
{
    (void)state;
    planned_job j;
    make_llama2(&j, 40, 5120, 40, 40, 13824);
    int n = 0;
    for (;; n++) {
        ek_flops flops = {.n = 77};
        ek_error err = {0};
        allocations_left = n;
        ek_status status = ek_flops_count(&j.made.job, EK_ATTENTION_CAUSAL, &flops, &err);
        allocations_left = -1;
        if (status == EK_OK)
            break;
        assert_int_equal(status, EK_ERR_MEMORY);
        assert_int_equal(flops.n, 77);
    }
    assert_true(n >= 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        {"korthikanti's table 5 has 41.7, 51.4, 56.1 and 56.3 %", korthikanti_table_5_has_these_utilisations, NULL,
         NULL, NULL},
        {"megatron's 138 TFLOP/s count recomputation", megatrons_138_tflops_count_recomputation, NULL, NULL, NULL},
        {"the ten rows of 2021 are hardware FLOPs", the_tables_of_2021_are_hardware_flops, NULL, NULL, NULL},
        {"a 13B takes 77.1, 82.1 or 87.2 GFLOP a token", the_convention_moves_a_13b_by_13_percent, NULL, NULL, NULL},
        {"404 tokens/s/p of a 70B are 180 TFLOP/s", tokens_per_second_are_of_all_devices, NULL, NULL, NULL},
        {"bubbles are those of the guide", bubbles_are_those_of_the_guide, NULL, NULL, NULL},
        {"other schedules have no closed bubble", other_schedules_have_no_closed_bubble, NULL, NULL, NULL},
        {"numbers alone do", numbers_alone_do, NULL, NULL, NULL},
        {"what contradicts itself is refused", what_contradicts_itself_is_refused, NULL, NULL, NULL},
        {"what is not known is left open", what_is_not_known_is_left_open, NULL, NULL, NULL},
        {"random jobs count what their operators do", random_jobs_count_what_their_operators_do, NULL, NULL, NULL},
        {"FLOPs without scores follow from the parameters", flops_without_scores_follow_from_the_parameters, NULL, NULL,
         NULL},
        {"terms agree with the names of operators", terms_agree_with_the_names_of_operators, NULL, NULL, NULL},
        {"mixed lists recompute their layers only", mixed_lists_recompute_their_layers_only, NULL, NULL, NULL},
        {"published models have their parameters", published_models_have_their_parameters, NULL, NULL, NULL},
        {"a tied head is no second table", a_tied_head_is_no_second_table, NULL, NULL, NULL},
        {"the step of a trace is the median over ranks", the_step_of_a_trace_is_the_longest_mean_of_its_ranks, NULL,
         NULL, NULL},
        {"JSON has every figure and its basis", json_has_every_figure_and_what_it_rests_on, NULL, NULL, NULL},
        {"memory that is out is said", memory_that_is_out_is_said, NULL, NULL, NULL},
        {"published throughputs are possible", published_throughputs_are_possible, NULL, NULL, NULL},
        {"so they are with their files", published_throughputs_are_possible_with_their_files, NULL, NULL, NULL},
    };
    return cmocka_run_group_tests_name("metrics", tests, NULL, NULL);
}
