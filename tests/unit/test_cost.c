/* Tests the times of layers: the roofline against closed forms, recomputation against sums of forward times, devices
 * read from files, and whole steps against the measured ones of Korthikanti et al. (arXiv 2205.05198, table 5), with
 * the shipped shares of the peak. */
#include "input.h"

#include <math.h>
#include <unistd.h>

#include "cost/cost_internal.h"
#include "evenkeel/cost.h"
#include "model/layer.h"
#include "trace/text/csv.h"

/* ---- jobs and devices ---- */

static ek_job gpt(void)
{
    ek_job job = {.framework = EK_MEGATRON, .family = EK_FAMILY_MEGATRON};
    job.model = (ek_job_model){.n_layers = 48,
                               .hidden = 6144,
                               .n_heads = 64,
                               .n_kv_heads = 64,
                               .head_dim = 96,
                               .value_dim = 96,
                               .intermediate = 24576,
                               .vocab = 51200,
                               .max_position = 2048,
                               .qkv_bias = true,
                               .linear_bias = true,
                               .layer_norm = true,
                               .position_table = true,
                               .hidden_dropout = 0.1,
                               .attention_dropout = 0.1};
    job.types = (ek_job_types){.compute = EK_FP16,
                               .residual = EK_FP16,
                               .param = EK_FP16,
                               .embedding = EK_FP16,
                               .norm = EK_FP16,
                               .softmax = EK_FP16,
                               .rotary = EK_FP16,
                               .router = EK_FP32};
    job.parallel = (ek_job_parallel){.data = 1,
                                     .tensor = 8,
                                     .pipeline = 1,
                                     .context = 1,
                                     .expert = 1,
                                     .expert_tensor = 8,
                                     .batch = 4,
                                     .seq_length = 2048,
                                     .n_micro_batches = 1,
                                     .n_accumulation = 1,
                                     .n_batch_interleave = 1,
                                     .n_pieces = 1,
                                     .fine_grain = 1,
                                     .table_split = 8,
                                     .head_split = 8,
                                     .ulysses = 1};
    job.rules = ek_rules_default(EK_MEGATRON);
    return job;
}

static ek_pattern core_attention = {.text = (char[]){"self_attention\\.core_attention"}, .kind = EK_PATTERN_SELECT};
static ek_pattern sums = {.text = (char[]){".*norm"}, .kind = EK_PATTERN_COMM};

static ek_layer_times times_of(const ek_job *job, const ek_device *device, ek_layer_place place)
{
    ek_layer_times times;
    ek_error err;
    if (ek_cost_layer(job, device, place, &times, &err))
        fail_msg("%s", err.message);
    return times;
}

/* All tiers' share and latency. */
static void set_links(ek_device *device, double share, double latency_us)
{
    for (int i = 0; i < device->n_tiers; i++) {
        device->tier[i].latency_us = latency_us;
        for (int c = 0; c < EK_N_COLLECTIVES; c++)
            device->tier[i].share[c] = share;
    }
}

/* Only arithmetic: memory, launches and links cost nothing. */
static ek_device arithmetic(double tflops)
{
    ek_device device = {.name = "arithmetic",
                        .memory_gib = 1,
                        .memory_gbs = 1e18,
                        .peak_tflops = {tflops, tflops, tflops},
                        .devices_per_node = 8};
    ek__device_default(&device);
    ek__device_links(&device, 1e18, 1e18);
    device.host = (ek_host){.basis = EK_COST_ASSUMED};
    for (int k = 0; k < EK_N_KERNEL_KINDS; k++) {
        bool attention = k == EK_KERNEL_ATTENTION_FORWARD || k == EK_KERNEL_ATTENTION_BACKWARD;
        device.curve[k] = (ek_curve){.share = attention ? 0.25 : 0.5, .memory_share = 1, .hidden = 1};
    }
    set_links(&device, 1, 0);
    return device;
}

/* Only memory. */
static ek_device memory_alone(double gbs)
{
    ek_device device = arithmetic(1e18);
    device.memory_gbs = gbs;
    return device;
}

/* ---- closed forms ---- */

static void assert_close(double found, double expected)
{
    if (fabs(found - expected) > 1e-9 * fabs(expected))
        fail_msg("%.12g, expected %.12g", found, expected);
}

/* A GPT layer of T tokens on t ranks: 24 T H^2 / t FLOPs in matrices, 4 T S H / t in the attention, which without a
 * fused kernel multiplies the whole score matrix at the rate of matrices. */
static void a_layer_of_arithmetic_takes_its_flops(void **state)
{
    (void)state;
    ek_job job = gpt();
    const ek_device device = arithmetic(100);
    double T = 4.0 * 2048, H = 6144, S = 2048, t = 8, rate = 100e12 * 0.5;
    double matrices = 24 * T * H * H / t / rate * 1e3, scores = 4 * T * S * H / t / rate * 1e3;
    ek_layer_times x = times_of(&job, &device, EK_LAYER_DENSE);
    assert_close(x.forward, matrices + scores);
    assert_close(x.backward[EK_RECOMPUTE_NONE], 2 * (matrices + scores));
    assert_close(x.weight, matrices);
    /* Fused and causal: half of the scores, at the attention's rate; backward makes them again, 2.5 times forward. */
    job.model.flash_attention = true;
    x = times_of(&job, &device, EK_LAYER_DENSE);
    assert_close(x.forward, matrices + scores / 2 * 2);
    assert_close(x.backward[EK_RECOMPUTE_NONE], 2 * matrices + 2.5 * scores / 2 * 2);
    /* The head: 2 T H V / t. */
    assert_close(times_of(&job, &device, EK_LAYER_TAIL).forward, 2 * T * H * 51200 / t / rate * 1e3);
    assert_true(times_of(&job, &device, EK_LAYER_HEAD).forward < 1e-12);
}

/* With sequence parallelism two gathers and two scatters of c T H each way, (t-1)/t of it past each link; gathered
 * again for the gradients of the weights, (arXiv 2205.05198, section 4.2.2), two more. */
static void collectives_take_their_traffic(void **state)
{
    (void)state;
    ek_job job = gpt();
    job.parallel.sequence_parallel = true;
    job.rules.regather = false;
    ek_device device = arithmetic(1e18);
    device.tier[0].gbs = 100;
    set_links(&device, 0.5, 0);
    double once = 7.0 / 8 * 2 * 4 * 2048 * 6144 / 50e9 * 1e3;
    ek_layer_times x = times_of(&job, &device, EK_LAYER_DENSE);
    assert_close(x.forward, 4 * once);
    assert_close(x.backward[EK_RECOMPUTE_NONE], 4 * once);
    job.rules.regather = true;
    assert_close(times_of(&job, &device, EK_LAYER_DENSE).backward[EK_RECOMPUTE_NONE], 6 * once);
    /* Without it two sums each way, the same traffic. */
    job.parallel.sequence_parallel = false;
    x = times_of(&job, &device, EK_LAYER_DENSE);
    assert_close(x.forward, 4 * once);
    assert_close(x.backward[EK_RECOMPUTE_NONE], 4 * once);
    /* Groups larger than a node go over the cards of all their ranks in one: four of a tenth of the rate. */
    device.devices_per_node = device.tier[0].size = 4;
    device.tier[1].gbs = 10;
    assert_close(times_of(&job, &device, EK_LAYER_DENSE).forward, 4 * once * 10 / 4);
    /* Steps of latency: (t-1) for each gather or scatter, twice that for a sum. */
    device.tier[0].gbs = device.tier[1].gbs = 1e18;
    set_links(&device, 0.5, 3);
    double forward = times_of(&job, &device, EK_LAYER_DENSE).forward;
    assert_true(fabs(forward - 2 * 14 * 3e-3) < 1e-6);
}

/* Dispatch and combine of experts over two nodes: of n ranks, half of them elsewhere. */
static void an_all_to_all_is_as_fast_as_its_slower_part(void **state)
{
    (void)state;
    ek_job job = gpt();
    job.parallel.tensor = job.parallel.expert_tensor = 1;
    job.parallel.head_split = job.parallel.table_split = 1;
    job.model.n_experts = 16;
    job.model.top_k = 2;
    job.model.expert_intermediate = 1024;
    job.model.gated = true;
    ek_device device = arithmetic(1e18);
    device.tier[0].gbs = 100;
    device.tier[1].gbs = 10;
    job.parallel.expert = job.parallel.data = 8;
    double bytes = 2.0 * 2 * 4 * 2048 * 6144;
    assert_close(times_of(&job, &device, EK_LAYER_EXPERTS).forward, 2 * bytes * 7 / 8 / 100e9 * 1e3);
    job.parallel.expert = job.parallel.data = 16;
    assert_close(times_of(&job, &device, EK_LAYER_EXPERTS).forward, 2 * bytes * 8 / 16 / 10e9 * 1e3);
}

static void times_scale_with_what_bounds_them(void **state)
{
    (void)state;
    ek_job job = gpt();
    for (int place = EK_LAYER_HEAD; place <= EK_LAYER_TAIL; place++) {
        if (place == EK_LAYER_EXPERTS || place == EK_LAYER_PREDICTION)
            continue;
        ek_device slow = memory_alone(100), fast = memory_alone(400);
        double once = times_of(&job, &slow, (ek_layer_place)place).forward;
        assert_true(once > 0);
        assert_close(times_of(&job, &fast, (ek_layer_place)place).forward, once / 4);
    }
}

/* ---- recomputation ---- */

static void full_recomputation_adds_the_forward_pass(void **state)
{
    (void)state;
    ek_pattern patterns[] = {core_attention, sums};
    ek_job job = gpt();
    job.pattern = patterns;
    job.n_patterns = 2;
    const ek_device *device = ek_device_find("a100-80");
    for (int i = 0; i < 2; i++) {
        job.parallel.sequence_parallel = i > 0;
        ek_layer_times x = times_of(&job, device, EK_LAYER_DENSE);
        assert_close(x.backward[EK_RECOMPUTE_FULL], x.backward[EK_RECOMPUTE_NONE] + x.forward);
        assert_true(x.backward[EK_RECOMPUTE_NONE] < x.backward[EK_RECOMPUTE_SELECT]);
        assert_true(x.backward[EK_RECOMPUTE_SELECT] < x.backward[EK_RECOMPUTE_FULL]);
        assert_true(x.backward[EK_RECOMPUTE_COMM] >= x.backward[EK_RECOMPUTE_NONE]);
        assert_true(x.backward[EK_RECOMPUTE_BOTH] >= x.backward[EK_RECOMPUTE_SELECT]);
        assert_true(x.backward[EK_RECOMPUTE_BOTH] >= x.backward[EK_RECOMPUTE_COMM]);
        assert_true(x.backward[EK_RECOMPUTE_BOTH] <= x.backward[EK_RECOMPUTE_FULL]);
        assert_true(x.weight > 0 && x.weight < x.backward[EK_RECOMPUTE_NONE]);
    }
}

/* Recomputed parts of an attention that is not fused: scores, softmax, dropout and the product with the values; a
 * checkpoint of PyTorch runs all of its function again. */
static void selective_recomputation_adds_what_it_names(void **state)
{
    (void)state;
    ek_job job = gpt();
    job.pattern = &core_attention;
    job.n_patterns = 1;
    const ek_device device = arithmetic(100);
    ek_layer_times x = times_of(&job, &device, EK_LAYER_DENSE);
    double T = 4.0 * 2048, scores = 2 * 2 * T * 2048 * 6144 / 8 / 50e12 * 1e3;
    assert_close(x.backward[EK_RECOMPUTE_SELECT] - x.backward[EK_RECOMPUTE_NONE], scores);
    assert_close(x.backward[EK_RECOMPUTE_COMM], x.backward[EK_RECOMPUTE_NONE]);
}

static void a_device_without_the_type_is_refused(void **state)
{
    (void)state;
    ek_job job = gpt();
    job.types.compute = EK_BF16;
    ek_layer_times times = {.forward = -1};
    ek_error err = {0};
    assert_int_equal(ek_cost_layer(&job, ek_device_find("V100"), EK_LAYER_DENSE, &times, &err), EK_ERR_INPUT);
    assert_non_null(strstr(err.message, "bfloat16"));
    assert_true(times.forward == -1);
}

/* ---- devices ---- */

static void shipped_devices_are_found_by_name(void **state)
{
    (void)state;
    int n;
    const ek_device *devices = ek_devices(&n);
    assert_true(n >= 9);
    for (int i = 0; i < n; i++) {
        const ek_device *d = &devices[i];
        assert_ptr_equal(ek_device_find(d->name), d);
        assert_true(d->source[0] && d->memory_gib > 0 && d->memory_gbs > 0 && d->peak_tflops[EK_FP16] > 0);
        assert_true(d->tier[0].gbs > 0 && d->tier[1].gbs > 0 && d->devices_per_node >= 1);
        const double shares[] = {d->curve[0].share, d->curve[2].share, d->curve[4].memory_share, d->tier[0].share[0]};
        for (int k = 0; k < 4; k++)
            assert_true(shares[k] > 0 && shares[k] <= 1);
    }
    assert_string_equal(ek_device_find("910b")->name, "Atlas 800T A2");
    assert_false(ek_device_find("atlas 800t a2")->certain);
    assert_string_equal(ek_device_find("A100")->name, "A100-80");
    assert_null(ek_device_find("TPU"));
}

static ek_status read_text(const char *text, const ek_listener *listener, ek_device *out, ek_error *err)
{
    char path[] = "/tmp/evenkeel-device-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
    ek_status status = ek_device_read(path, listener, out, err);
    unlink(path);
    return status;
}

static void count_warning(void *user, const ek_error *warning)
{
    (void)warning;
    ++*(int *)user;
}

static void a_device_file_is_read(void **state)
{
    (void)state;
    int warnings = 0;
    const ek_listener listener = {count_warning, &warnings};
    ek_device d;
    ek_error err;
    assert_int_equal(read_text("name: mine\nsource: measured\ncertain: yes\nmemory_gib: 48\nmemory_gbs: 900\n"
                               "peak_tflops: {bf16: 120, float16: 121, fp32: 60}\neff_matmul: 0.7\n"
                               "devices_per_node: 4\nintra: {gbs: 50, latency_us: 2}\neff_link: 1\ncolour: red\n",
                               &listener, &d, &err),
                     EK_OK);
    assert_string_equal(d.name, "mine");
    assert_true(d.certain && d.memory_gib == 48 && d.memory_gbs == 900);
    assert_true(d.peak_tflops[EK_BF16] == 120 && d.peak_tflops[EK_FP16] == 121 && d.peak_tflops[EK_FP32] == 60);
    assert_true(d.curve[EK_KERNEL_MATMUL].share == 0.7 && d.tier[1].share[0] == 1 && d.devices_per_node == 4);
    assert_true(d.tier[0].gbs == 50 && d.tier[0].latency_us == 2);
    assert_true(d.tier[1].gbs == 50); /* one link serves for both */
    ek_device assumed;
    ek__device_default(&assumed);
    assert_true(d.curve[EK_KERNEL_MEMORY].memory_share == assumed.curve[EK_KERNEL_MEMORY].memory_share);
    assert_int_equal(warnings, 1);
    assert_int_equal(
        read_text("{\"memory_gib\": 1, \"memory_gbs\": 2, \"peak_tflops\": {\"fp16\": 3}}", NULL, &d, &err), EK_OK);
    assert_true(d.peak_tflops[EK_FP16] == 3 && d.peak_tflops[EK_BF16] == 0);
}

static void wrong_device_files_are_refused_where_they_are_wrong(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int line;
        const char *word;
    } cases[] = {
        {"memory_gib: 1\nmemory_gbs: 2\n", 1, "peak_tflops"},
        {"memory_gib: 1\nmemory_gbs: 2\npeak_tflops: {tf32: 3}\n", 3, "no type"},
        {"memory_gib: 1\nmemory_gbs: -2\npeak_tflops: {bf16: 3}\n", 2, "memory_gbs"},
        {"memory_gbs: 2\npeak_tflops: {bf16: 3}\n", 1, "memory_gib"},
        {"memory_gib: 1\nmemory_gbs: 2\npeak_tflops: {bf16: nan}\n", 3, "bf16"},
        {"memory_gib: 1\nmemory_gbs: 2\npeak_tflops: {bf16: 3}\neff_matmul: 1.5\n", 4, "eff_matmul"},
        {"memory_gib: 1\nmemory_gbs: 2\npeak_tflops: {bf16: 3}\nintra: 300\n", 4, "intra"},
        {"memory_gib: 1\nmemory_gbs: 2\npeak_tflops: {bf16: 3}\nintra: {latency_us: 1}\n", 4, "gbs"},
        {"- 1\n", 1, "memory_gib"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ek_device d = {.memory_gib = -1};
        ek_error err = {0};
        if (read_text(cases[i].text, NULL, &d, &err) != EK_ERR_INPUT)
            fail_msg("case %zu is read", i);
        if (err.line != cases[i].line || !strstr(err.message, cases[i].word))
            fail_msg("case %zu: %d:%d %s", i, err.line, err.column, err.message);
        assert_true(d.memory_gib == -1);
    }
    ek_device d;
    ek_error err;
    assert_int_equal(ek_device_read("/nonexistent/device.yaml", NULL, &d, &err), EK_ERR_SYSTEM);
}

/* ---- measured steps ---- */

typedef struct row {
    char model[32];
    int layers, hidden, heads, p, v, batch, m;
    bool full;
    double seconds;
} row;

static const char *cell(const ek__csv *csv, const char *column)
{
    return ek__csv_cell(csv, ek__csv_column(csv, column, NULL));
}

static row parse_row(const ek__csv *csv)
{
    row r = {.layers = atoi(cell(csv, "layers")),
             .hidden = atoi(cell(csv, "hidden")),
             .heads = atoi(cell(csv, "heads")),
             .p = atoi(cell(csv, "pp")),
             .v = atoi(cell(csv, "vpp")),
             .batch = atoi(cell(csv, "micro_batch")),
             .m = atoi(cell(csv, "num_microbatches")),
             .full = strcmp(cell(csv, "recompute"), "full") == 0,
             .seconds = strtod(cell(csv, "step_time_s"), NULL)};
    snprintf(r.model, sizeof r.model, "%s", cell(csv, "model"));
    return r;
}

/* Chunks of equal size, the embedding and the head on the first and the last, through the interleaved schedule; and the
 * optimizer, which reads and writes about 30 bytes an element (weights, gradients, master weights, two states). */
static double predict(const row *r, const ek_device *device)
{
    ek_job job = gpt();
    job.model.n_layers = r->layers;
    job.model.hidden = r->hidden;
    job.model.n_heads = job.model.n_kv_heads = r->heads;
    job.model.head_dim = job.model.value_dim = r->hidden / r->heads;
    job.model.intermediate = 4 * r->hidden;
    job.parallel.batch = r->batch;
    job.parallel.pipeline = r->p;
    job.parallel.sequence_parallel = !r->full;
    job.pattern = &core_attention;
    job.n_patterns = 1;
    ek_recompute kind = r->full ? EK_RECOMPUTE_FULL : EK_RECOMPUTE_SELECT;
    const ek_layer_times body = times_of(&job, device, EK_LAYER_DENSE), head = times_of(&job, device, EK_LAYER_HEAD),
                         tail = times_of(&job, device, EK_LAYER_TAIL);
    const ek_shape shape = {.n_stages = r->p, .n_chunks = r->v, .n_micro_batches = r->m};
    ek_order *order;
    ek_error err;
    if (ek_order_new(ek_schedule_find(r->v > 1 ? "interleaved" : "1f1b"), &shape, &order, &err))
        fail_msg("%s: %s", r->model, err.message);
    int n = r->p * r->v;
    ek_chunk_cost *cost = calloc((size_t)n, sizeof *cost);
    double *scratch = calloc(ek_order_scratch_size(order), sizeof *scratch);
    assert_true(cost && scratch);
    for (int c = 0; c < n; c++) {
        double layers = (double)r->layers / n;
        cost[c].forward_time = layers * body.forward + (c == 0 ? head.forward : 0) + (c == n - 1 ? tail.forward : 0);
        cost[c].backward_time =
            layers * body.backward[kind] + (c == 0 ? head.backward[0] : 0) + (c == n - 1 ? tail.backward[0] : 0);
    }
    /* Each tensor rank sends its part of an activation. */
    double sent = 2.0 * r->batch * 2048 * r->hidden / 8 / (device->tier[1].gbs * device->tier[1].share[0] * 1e9) * 1e3;
    const ek_comm comm = {.p2p_time = sent + device->tier[1].latency_us / 1e3};
    double elements = 12.0 * r->layers * r->hidden * r->hidden / (8.0 * r->p);
    double optimizer = 30 * elements / (device->memory_gbs * device->optimizer_share * 1e9) * 1e3;
    double step = ek_order_step_time(order, cost, &comm, scratch) + optimizer;
    free(scratch);
    free(cost);
    ek_order_free(order);
    return step / 1e3;
}

/* None of these rows was fitted to: the shares are the shipped round figures. A tool with measured efficiencies by
 * shape is off by 3.7 % on average and 8.9 % at worst here (Calculon); this roofline must stay within twice its average
 * and a little more than its worst, so that a missing term is noticed. */
static void measured_steps_are_met_loosely(void **state)
{
    (void)state;
    ek__csv *csv;
    ek_error err;
    double sum = 0, worst = 0;
    int n = 0;
    const ek_device *device = ek_device_find("A100-80");
    assert_int_equal(
        ek__csv_open(source_path("tests/data/published/reference/measured/korthikanti_tab5.csv"), &csv, &err), EK_OK);
    for (bool more = true;;) {
        assert_int_equal(ek__csv_next(csv, &more, &err), EK_OK);
        if (!more)
            break;
        const row r = parse_row(csv);
        double found = predict(&r, device), error = found / r.seconds - 1;
        print_message("# %s, %s: %.2f s, measured %.2f, %+.1f %%\n", r.model, r.full ? "full" : "selective", found,
                      r.seconds, 100 * error);
        sum += fabs(error);
        worst = fmax(worst, fabs(error));
        n++;
    }
    ek__csv_close(csv);
    assert_int_equal(n, 8);
    print_message("# mean %.1f %%, worst %.1f %%\n", 100 * sum / n, 100 * worst);
    assert_true(sum / n < 0.075);
    assert_true(worst < 0.1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_layer_of_arithmetic_takes_its_flops),
        cmocka_unit_test(collectives_take_their_traffic),
        cmocka_unit_test(an_all_to_all_is_as_fast_as_its_slower_part),
        cmocka_unit_test(times_scale_with_what_bounds_them),
        cmocka_unit_test(full_recomputation_adds_the_forward_pass),
        cmocka_unit_test(selective_recomputation_adds_what_it_names),
        cmocka_unit_test(a_device_without_the_type_is_refused),
        cmocka_unit_test(shipped_devices_are_found_by_name),
        cmocka_unit_test(a_device_file_is_read),
        cmocka_unit_test(wrong_device_files_are_refused_where_they_are_wrong),
        cmocka_unit_test(measured_steps_are_met_loosely),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
