/* Tests the step of a job: its parts add up on every stage, over all shipped and reference configurations and devices;
 * its pipeline is the one that the simulator runs; without a pipeline or communication it is a closed form; layers that
 * were priced before give the same figures. */
#include "configs.h"
#include "skip.h"

#include <math.h>
#include <unistd.h>

#include "cost/cost_internal.h"
#include "cost/step_layers.h"
#include "evenkeel/layers.h"
#include "evenkeel/layout.h"
#include "job/job_internal.h"
#include "memory/program.h"

static int list_configs(void **state)
{
    (void)state;
    list_folder(source_path("examples"));
    list_folder(source_path("tests/data/job"));
    list_reference();
    return 0;
}

static bool read_job(const char *path, ek_job *job)
{
    return ek_job_read(path, NULL, NULL, job, NULL) == EK_OK;
}

/* Infinite links, no launches, no host, no optimizer: only arithmetic and memory. */
static ek_device bare(const char *name)
{
    ek_device device = *ek_device_find(name);
    device.kernels = NULL;
    device.layers = NULL;
    device.host = (ek_host){.step_us = 0};
    device.jitter = device.optimizer_us = 0;
    device.overlap_slowdown = 1;
    for (int i = 0; i < device.n_tiers; i++) {
        device.tier[i].gbs = 1e15;
        device.tier[i].latency_us = 0;
        for (int c = 0; c < EK_N_COLLECTIVES; c++)
            device.tier[i].start_us[c] = 0;
    }
    return device;
}

/* ---- parts ---- */

static void check_sums(const char *path, const ek_device *device, const ek_step *step)
{
    if (!(step->seconds > 0) || !isfinite(step->seconds))
        fail_msg("%s on %s: a step of %g s", path, device->name, step->seconds);
    for (int s = 0; s < step->n_stages; s++) {
        double sum = 0;
        for (int i = 0; i < EK_N_STEP_PARTS; i++) {
            if (!(step->stage[s].seconds[i] >= 0))
                fail_msg("%s on %s, stage %d: %s is %g s", path, device->name, s, ek_step_part_name[i],
                         step->stage[s].seconds[i]);
            sum += step->stage[s].seconds[i];
        }
        if (fabs(sum - step->seconds) > 1e-9 * step->seconds)
            fail_msg("%s on %s, stage %d: parts are %.12g s, the step %.12g", path, device->name, s, sum,
                     step->seconds);
    }
}

static void parts_add_up_to_the_step(void **state)
{
    int n, tried = 0;
    (void)state;
    const ek_device *device = ek_devices(&n);
    for (int c = 0; c < n_configs; c++) {
        ek_job job;
        if (!read_job(config[c], &job))
            continue;
        for (int d = 0; d < n; d++) {
            ek_step step;
            ek_error err = {0};
            ek_status status = ek_cost_step(&job, &device[d], NULL, &step, &err);
            if (status == EK_ERR_INPUT) /* the device has no such type */
                continue;
            assert_int_equal(status, EK_OK);
            check_sums(config[c], &device[d], &step);
            if (job.parallel.pipeline == 1) /* no rank to wait for, and no residue of rounding either */
                assert_true(step.stage[0].seconds[EK_STEP_BUBBLE] == 0);
            ek_step_clear(&step);
            tried++;
        }
        ek_job_clear(&job);
    }
    assert_true(tried > 50);
}

/* ---- the pipeline ---- */

/* Layers as the balancer has them, run by the simulator. */
static double simulated(const ek_job *job, const ek_device *device)
{
    ek_layers layers;
    ek_order *order;
    const ek_shape shape = {.n_stages = job->plan.n_stages,
                            .n_chunks = job->plan.n_chunks,
                            .n_micro_batches = job->parallel.n_micro_batches};
    assert_int_equal(ek_memory_to_layers(job, device, &layers, NULL), EK_OK);
    assert_int_equal(ek_order_new(job->schedule, &shape, &order, NULL), EK_OK);
    ek_chunk_cost *cost = calloc((size_t)shape.n_stages * (size_t)shape.n_chunks, sizeof *cost);
    double *scratch = calloc(ek_order_scratch_size(order), sizeof *scratch);
    ek_plan_costs(&job->plan, &layers, job->schedule->placement, cost);
    double ms = ek_order_step_time(order, cost, NULL, scratch);
    free(cost);
    free(scratch);
    ek_order_free(order);
    ek_layers_clear(&layers);
    return ms / 1e3;
}

static void the_pipeline_is_the_simulators(void **state)
{
    const ek_device device = bare("910B");
    int tried = 0;
    (void)state;
    for (int c = 0; c < n_configs; c++) {
        ek_job job;
        ek_step step;
        if (!read_job(config[c], &job))
            continue;
        bool plain = job.parallel.pipeline > 1 && job.parallel.n_pieces <= 1 && !job.states.shard_weight;
        if (plain && ek_cost_step(&job, &device, NULL, &step, NULL) == EK_OK) {
            double after = 0, pipeline = simulated(&job, &device), most = 0;
            for (int s = 0; s < step.n_stages; s++)
                after = fmax(after, step.stage[s].seconds[EK_STEP_OPTIMIZER] + step.stage[s].seconds[EK_STEP_DATA]);
            most = pipeline + after + 1e-6 * pipeline;
            if (step.seconds < pipeline * (1 - 1e-3) || step.seconds > most * (1 + 1e-3))
                fail_msg("%s: %.9g s, simulated %.9g and at most %.9g behind it", config[c], step.seconds, pipeline,
                         after);
            ek_step_clear(&step);
            tried++;
        }
        ek_job_clear(&job);
    }
    assert_true(tried > 3);
}

/* One stage, no communication: micro-batches times layers, and the update. */
static void one_device_is_a_sum(void **state)
{
    ek_job_overrides overrides = ek_job_overrides_none();
    const ek_device device = bare("A100-80");
    ek_job job;
    ek_step step;
    ek_layer_times head, body, tail;
    (void)state;
    overrides.data = overrides.tensor = overrides.pipeline = overrides.context = 1;
    overrides.n_micro_batches = 3;
    assert_int_equal(ek_job_read(source_path("tests/data/job/qwen2.json"), &overrides, NULL, &job, NULL), EK_OK);
    assert_int_equal(ek_cost_step(&job, &device, NULL, &step, NULL), EK_OK);
    assert_int_equal(ek_cost_layer(&job, &device, EK_LAYER_HEAD, &head, NULL), EK_OK);
    assert_int_equal(ek_cost_layer(&job, &device, EK_LAYER_DENSE, &body, NULL), EK_OK);
    assert_int_equal(ek_cost_layer(&job, &device, EK_LAYER_TAIL, &tail, NULL), EK_OK);
    double once = head.forward + head.backward[0] + tail.forward + tail.backward[0] +
                  job.model.n_layers * (body.forward + body.backward[0]);
    const double *part = step.stage[0].seconds;
    double rest = part[EK_STEP_OPTIMIZER] + part[EK_STEP_DATA];
    assert_true(part[EK_STEP_OPTIMIZER] > 0);
    assert_true(fabs(step.seconds - rest - 3 * once / 1e3) < 1e-9 * step.seconds);
    assert_true(part[EK_STEP_BUBBLE] < 1e-9 * step.seconds);
    assert_true(part[EK_STEP_TENSOR] + part[EK_STEP_CONTEXT] + part[EK_STEP_EXPERT] + part[EK_STEP_P2P] == 0);
    /* Absent work has no measurement, nor has data that arrives in time. */
    assert_true(step.basis[EK_STEP_CONTEXT] == EK_COST_DERIVED && step.basis[EK_STEP_EXPERT] == EK_COST_DERIVED);
    assert_true(part[EK_STEP_INPUT] == 0 && step.basis[EK_STEP_INPUT] == EK_COST_ASSUMED);
    ek_step_clear(&step);
    ek_job_clear(&job);
}

/* ---- the cache ---- */

/* Also after the cache went to another device, and back. */
static void layers_priced_before_give_the_same(void **state)
{
    static const char *const devices[] = {"910B", "910B", "A100-80", "910B"};
    ek_cost_cache *cache = ek_cost_cache_new(ek_device_find(devices[0]));
    double seconds[sizeof devices / sizeof *devices] = {0};
    (void)state;
    assert_non_null(cache);
    for (size_t round = 0; round < sizeof devices / sizeof *devices; round++) {
        const ek_device *device = ek_device_find(devices[round]);
        if (round > 0 && device != ek_device_find(devices[round - 1]))
            ek_cost_cache_reset(cache, device);
        for (int c = -1; c < n_configs; c++) {
            ek_job job;
            ek_step fresh, kept;
            if (!read_job(c < 0 ? source_path("examples/llama2_13b_2_pp2.yaml") : config[c], &job))
                continue;
            if (ek_cost_step(&job, device, NULL, &fresh, NULL) == EK_OK) {
                assert_int_equal(ek_cost_step(&job, device, cache, &kept, NULL), EK_OK);
                assert_true(fresh.seconds == kept.seconds);
                assert_memory_equal(fresh.stage, kept.stage, (size_t)fresh.n_stages * sizeof *fresh.stage);
                seconds[round] = c < 0 ? kept.seconds : seconds[round];
                ek_step_clear(&kept);
                ek_step_clear(&fresh);
            }
            ek_job_clear(&job);
        }
    }
    assert_true(seconds[1] > 0 && seconds[2] != seconds[1] && seconds[3] == seconds[1]);
    ek_cost_cache_free(cache);
}

#if defined(__has_builtin)
#if __has_builtin(__builtin_clear_padding)
#define HAS_CLEAR_PADDING
#endif
#endif

/* Two jobs that differ only in padding between their members have one place in the cache. */
static void padding_is_of_no_account(void **state)
{
    (void)state;
#ifdef HAS_CLEAR_PADDING
    static ek_job job, other, members;
    const ek_device *device = ek_device_find("A100-80");
    assert_true(read_job(source_path("examples/llama2_13b_2_pp2.yaml"), &job));
    memset(&members, 0xff, sizeof members);
    __builtin_clear_padding(&members);
    size_t n_padding = 0;
    for (size_t i = 0; i < sizeof job; i++) {
        unsigned char mask = ((unsigned char *)&members)[i];
        n_padding += mask == 0;
        ((unsigned char *)&other)[i] = (unsigned char)((((unsigned char *)&job)[i] & mask) | (0xa5 & ~mask));
    }
    assert_true(n_padding > 0);
    ek_cost_cache *cache = ek_cost_cache_new(device);
    const ek__step_layers *first = ek__cost_cache_layers(cache, &job);
    assert_ptr_equal(ek__cost_cache_layers(cache, &other), first);
    other.model.hidden *= 2;
    assert_ptr_not_equal(ek__cost_cache_layers(cache, &other), first);
    ek_cost_cache_free(cache);
    ek_job_clear(&job);
#else
    skip_because("the compiler does not fill padding");
#endif
}

/* ---- errors ---- */

/* Standard errors of parts are those of the constants by finite differences; one that is not known is 0 in the step,
 * and null for scripts. */
static void the_optimizers_error_follows_from_its_constants(void **state)
{
    (void)state;
    enum { SHARE, CONSTANT, N_MOVES };
    static const double share_error = 0.05, us_error = 300, small = 1e-6;
    ek_device device = *ek_device_find("A100-80");
    ek_job job;
    ek_step step, moved;
    double slope[N_MOVES];
    assert_true(read_job(source_path("examples/llama2_13b_2_pp2.yaml"), &job));
    device.optimizer_us = 1000;
    device.optimizer_error = device.optimizer_us_error = 0;
    assert_int_equal(ek_cost_step(&job, &device, NULL, &step, NULL), EK_OK);
    assert_true(step.error[EK_STEP_OPTIMIZER] == 0);
    double before = step.stage[step.slowest].seconds[EK_STEP_OPTIMIZER], host = step.error[EK_STEP_HOST];
    int slowest = step.slowest;
    ek_step_clear(&step);
    for (int move = 0; move < N_MOVES; move++) {
        ek_device other = device;
        other.optimizer_share *= move == SHARE ? exp(small) : 1;
        other.optimizer_us += move == CONSTANT ? 1 : 0;
        assert_int_equal(ek_cost_step(&job, &other, NULL, &moved, NULL), EK_OK);
        slope[move] = (moved.stage[slowest].seconds[EK_STEP_OPTIMIZER] - before) / (move == SHARE ? small : 1);
        ek_step_clear(&moved);
    }
    device.optimizer_error = share_error;
    device.optimizer_us_error = us_error;
    device.host.error = 0.25;
    assert_int_equal(ek_cost_step(&job, &device, NULL, &step, NULL), EK_OK);
    double expected = hypot(slope[SHARE] * share_error, slope[CONSTANT] * us_error);
    if (!(fabs(step.error[EK_STEP_OPTIMIZER] - expected) < 0.01 * expected))
        fail_msg("%g s, %g by differences", step.error[EK_STEP_OPTIMIZER], expected);
    assert_true(step.error[EK_STEP_HOST] >= host + 0.25e-6 * device.host.step_us * (1 - 1e-9));
    ek_step_clear(&step);
    ek_job_clear(&job);
}

/* ---- the tuning of a 13B model ---- */

static double step_of(const char *name, const ek_job_overrides *overrides)
{
    ek_job job;
    ek_step step;
    ek_error err;
    if (ek_job_read(source_path(name), overrides, NULL, &job, &err) ||
        ek_cost_step(&job, ek_device_find("910B"), NULL, &step, &err))
        fail_msg("%s: %s", name, err.message);
    double tokens =
        (double)job.parallel.data * job.parallel.batch * job.parallel.n_micro_batches * job.parallel.seq_length;
    double devices = (double)job.parallel.data * job.parallel.tensor * job.parallel.pipeline;
    double rate = tokens / devices / step.seconds;
    ek_step_clear(&step);
    ek_job_clear(&job);
    return rate;
}

/* The published steps of the guide come out in their order: 1860, 2136, 2189, 2210 and 2562 tokens/s a device. The
 * fifth (2353) also fuses graph kernels, which is not modelled. Its rule, measured: two tensor parallel ranks without
 * recomputation are slower than data parallel ranks with it. */
static void the_13b_story_keeps_its_order(void **state)
{
    static const char *const steps[] = {"examples/llama2_13b_1_dp8.yaml", "examples/llama2_13b_2_pp2.yaml",
                                        "examples/llama2_13b_3_select.yaml", "examples/llama2_13b_4_by_stage.yaml",
                                        "examples/llama2_13b_6_full_4_0.yaml"};
    double before = 0;
    (void)state;
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        double rate = step_of(steps[i], NULL);
        if (rate <= before)
            fail_msg("%s: %.0f tokens/s, the step before %.0f", steps[i], rate, before);
        before = rate;
    }
    ek_job_overrides tensor = ek_job_overrides_none();
    tensor.data = 4;
    tensor.tensor = 2;
    tensor.recompute = EK_RECOMPUTE_NONE;
    for (tensor.sequence_parallel = 0; tensor.sequence_parallel < 2; tensor.sequence_parallel++)
        assert_true(step_of(steps[0], &tensor) < step_of(steps[0], NULL));
}

/* Tensor groups of 3 and 6 straddle nodes of 8 or not by how many other ranks there are, so a layer of fewer devices is
 * not one of more. */
static void layers_kept_know_where_their_groups_lie(void **state)
{
    const ek_device *device = ek_device_find("910B");
    ek_cost_cache *cache = ek_cost_cache_new(device);
    ek_job job;
    (void)state;
    assert_non_null(cache);
    assert_true(read_job(source_path("tests/data/job/qwen2.json"), &job));
    job.model.n_heads = job.model.n_kv_heads = 24;
    job.model.vocab = job.model.intermediate = 48000;
    for (int data = 1; data <= 8; data++)
        for (int tensor = 3; tensor <= 6; tensor += 3) {
            ek_step fresh, kept;
            job.parallel.data = data;
            job.parallel.tensor = job.parallel.head_split = job.parallel.table_split = tensor;
            assert_int_equal(ek_cost_step(&job, device, NULL, &fresh, NULL), EK_OK);
            assert_int_equal(ek_cost_step(&job, device, cache, &kept, NULL), EK_OK);
            if (fresh.seconds != kept.seconds)
                fail_msg("data %d, tensor %d: %.12g s, from the cache %.12g", data, tensor, fresh.seconds,
                         kept.seconds);
            ek_step_clear(&fresh);
            ek_step_clear(&kept);
        }
    ek_job_clear(&job);
    ek_cost_cache_free(cache);
}

/* Bytes of a prediction layer's parameters, as a cache's graph has them. */
static int64_t static_of(ek_cost_cache *cache, const ek_job *job)
{
    ek__step_layers *layers = ek__cost_cache_layers(cache, job);
    assert_non_null(layers);
    assert_int_equal(ek__step_layers_price(layers, job, NULL), EK_OK);
    return ek__graph_persistent(job, ek__step_layer(layers, EK__GRAPH_PREDICTION)->graph).weight;
}

/* Entries that differ in their micro-batches share graphs, and a stage by itself has a table that others copy: with
 * products in 8 bits and a layer of multi-token prediction all figures are those of an empty cache. */
static void layers_that_share_graphs_cost_what_they_do_alone(void **state)
{
    const ek_device *device = ek_device_find("H800");
    ek_cost_cache *cache = ek_cost_cache_new(device);
    ek_job base;
    double last = 0;
    int n_other = 0;
    (void)state;
    assert_non_null(cache);
    assert_true(read_job(source_path("examples/gallery/deepseek_v3.sh"), &base));
    for (int pipeline = 4; pipeline >= 1; pipeline--)
        for (int m = 64; m >= 8; m /= 2) {
            ek_layout layout = ek_layout_of(&base);
            ek_step fresh, kept;
            ek_job job;
            ek_cost_cache *alone = ek_cost_cache_new(device);
            layout.value[EK_AXIS_PIPELINE] = pipeline;
            layout.value[EK_AXIS_DATA] = 64;
            layout.n_micro_batches = m;
            layout.schedule = ek_schedule_find("1f1b");
            assert_int_equal(ek_layout_job(&base, &layout, &job, NULL), EK_OK);
            assert_int_equal(ek_cost_step(&job, device, NULL, &fresh, NULL), EK_OK);
            assert_int_equal(ek_cost_step(&job, device, cache, &kept, NULL), EK_OK);
            if (fresh.seconds != kept.seconds)
                fail_msg("%d stages, %d micro-batches: %.12g s, from the cache %.12g", pipeline, m, fresh.seconds,
                         kept.seconds);
            n_other += fresh.seconds / m != last;
            last = fresh.seconds / m;
            assert_true(static_of(cache, &job) == static_of(alone, &job));
            ek_cost_cache_free(alone);
            ek_step_clear(&fresh);
            ek_step_clear(&kept);
            ek_job_clear(&job);
        }
    assert_true(n_other > 10);
    ek_job_clear(&base);
    ek_cost_cache_free(cache);
}

/* ---- the host ---- */

/* A host that takes longer than the device is all that counts, and its wait is a separate part. */
static void a_slow_host_decides(void **state)
{
    ek_device device = bare("A100-80");
    ek_job_overrides overrides = ek_job_overrides_none();
    ek_job job;
    ek_step fast, slow;
    (void)state;
    overrides.data = overrides.tensor = overrides.pipeline = overrides.context = 1;
    overrides.n_micro_batches = 2;
    assert_int_equal(ek_job_read(source_path("tests/data/job/qwen2.json"), &overrides, NULL, &job, NULL), EK_OK);
    assert_int_equal(ek_cost_step(&job, &device, NULL, &fast, NULL), EK_OK);
    for (int i = 0; i < EK_N_LAUNCHES; i++)
        device.host.layer_us[i] = 10e6;
    assert_int_equal(ek_cost_step(&job, &device, NULL, &slow, NULL), EK_OK);
    /* forward and backward of every layer and the head, two micro-batches; the embedding is no layer */
    ek_layer_times embedding;
    assert_int_equal(ek_cost_layer(&job, &device, EK_LAYER_HEAD, &embedding, NULL), EK_OK);
    double launches = 2.0 * 2 * (job.model.n_layers + 1) * 10;
    double lookup = 2e-3 * (embedding.forward + embedding.backward[EK_RECOMPUTE_NONE]);
    double rest = slow.stage[0].seconds[EK_STEP_OPTIMIZER] + slow.stage[0].seconds[EK_STEP_DATA] + lookup;
    assert_true(lookup > 0 && lookup < 10);
    assert_true(fabs(slow.seconds - rest - launches) < 1e-9 * launches);
    assert_true(fast.stage[0].seconds[EK_STEP_HOST] == 0);
    assert_true(fabs(slow.seconds - fast.seconds - slow.stage[0].seconds[EK_STEP_HOST]) < 1e-9 * launches);
    ek_step_clear(&fast);
    ek_step_clear(&slow);
    ek_job_clear(&job);
}

/* Only attention, on a device without launches or traffic: kernels of the generation before take 1 / 0.87 of the time
 * on devices with 8-bit products and the same on others, those in Triton 1.4 times as long forward and twice backward,
 * and the first ones twice as long both ways. */
static void older_attention_takes_longer(void **state)
{
    (void)state;
    static const struct {
        const char *device;
        double flash2;
    } cases[] = {{"A100-80", 1}, {"H100", 1 / 0.87}};
    ek_job job;
    assert_true(read_job(source_path("examples/llama2_13b_1_dp8.yaml"), &job));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ek_device device = bare(cases[i].device);
        double seconds[4];
        for (int backward = 0; backward < 2; backward++) {
            ek_curve *forward_curve = &device.curve[EK_KERNEL_ATTENTION_FORWARD],
                     *backward_curve = &device.curve[EK_KERNEL_ATTENTION_BACKWARD];
            *forward_curve = *backward_curve = (ek_curve){.share = 1, .memory_share = 1, .hidden = 1};
            (backward ? forward_curve : backward_curve)->share = 1e9; /* the other pass takes no time */
            device.memory_gbs = 1e15;
            for (int k = 0; k < 4; k++) {
                ek_step step;
                job.run.attention = (ek_attention_kernels)k;
                assert_int_equal(ek_cost_step(&job, &device, NULL, &step, NULL), EK_OK);
                seconds[k] = step.stage[step.slowest].seconds[EK_STEP_ATTENTION];
                ek_step_clear(&step);
            }
            assert_float_equal(seconds[EK_ATTENTION_FLASH2] / seconds[0], cases[i].flash2, 1e-6);
            assert_float_equal(seconds[EK_ATTENTION_TRITON] / seconds[0], cases[i].flash2 * (backward ? 2 : 1.4), 1e-6);
            assert_float_equal(seconds[EK_ATTENTION_FLASH1] / seconds[0], cases[i].flash2 * 2, 1e-6);
        }
    }
    ek_job_clear(&job);
}

/* Seconds of the context and the attention part of llama3 8B, 4096 tokens on a ring of four ranks, two of them in a
 * node with cards of 1 GB/s. Attention costs only its FLOPs, at shares of the peak. */
static void ring_seconds(double forward_share, double backward_share, double *context, double *attention)
{
    static const char text[] = "[model]\nname = \"llama3\"\nflavor = \"8B\"\n[training]\nlocal_batch_size = 1\n"
                               "seq_len = 4096\n[parallelism]\ncontext_parallel_degree = 4\n"
                               "context_parallel_rotate_method = \"alltoall\"\n"
                               "[activation_checkpoint]\nmode = \"none\"\n";
    ek_job job;
    ek_step step;
    ek__job_step come;
    ek_device device = bare("H100");
    device.memory_gbs = 1e15;
    device.curve[EK_KERNEL_ATTENTION_FORWARD] = (ek_curve){.share = forward_share, .memory_share = 1, .hidden = 1};
    device.curve[EK_KERNEL_ATTENTION_BACKWARD] = (ek_curve){.share = backward_share, .memory_share = 1, .hidden = 1};
    device.tier[0].size = 2;
    device.tier[1].gbs = 1;
    device.tier[1].share[EK_COLLECTIVE_P2P] = 1;
    device.overlap_share = 0.5; /* of gradients and weights */
    assert_int_equal(ek__job_parse("job.toml", text, strlen(text), NULL, NULL, &job, &come, NULL), EK_OK);
    assert_int_equal(ek_cost_step(&job, &device, NULL, &step, NULL), EK_OK);
    *context = step.stage[0].seconds[EK_STEP_CONTEXT];
    *attention = step.stage[0].seconds[EK_STEP_ATTENTION];
    ek_step_clear(&step);
    ek_job_clear(&job);
}

/* Keys and values of 1024 tokens go to the next rank three times, with their gradients another three, over one card
 * where the ring leaves a node. Three of four steps of attention hide them. */
static void a_ring_shows_what_attention_does_not_hide(void **state)
{
    (void)state;
    const double sent = 32 * 3 * 2 * 1024 * 1024 * 2.0 / 1e9; /* layers, steps, keys and values, tokens, width, bytes */
    double context, attention;
    ring_seconds(1e9, 1e9, &context, &attention);
    assert_float_equal(context / (3 * sent), 1, 1e-6);
    ring_seconds(0.05, 1e9, &context, &attention);
    assert_true(attention > 0.1 * sent && 0.75 * attention < 0.9 * sent);
    assert_float_equal(context / (3 * sent - 0.75 * attention), 1, 1e-6);
    ring_seconds(1e-4, 1e-4, &context, &attention);
    assert_true(context < 1e-9 * attention);
}

/* Memory-bound seconds that adding the gradients of n micro-batches by separate kernels takes: n E (2 + 2 x 4) bytes
 * into a buffer of 32 bits, (n - 1) E (2 + 2 x 2) into one of 16, none where products or shards add them. */
static double added(ek_job *job, const ek_device *device, int gradient)
{
    double seconds[2];
    for (int fused = 0; fused < 2; fused++) {
        ek_step step;
        job->rules.weight_gradient_fused = fused;
        job->states.gradient = gradient;
        assert_int_equal(ek_cost_step(job, device, NULL, &step, NULL), EK_OK);
        seconds[fused] = step.stage[step.slowest].seconds[EK_STEP_MEMORY];
        ek_step_clear(&step);
    }
    return seconds[0] - seconds[1];
}

static void gradients_are_added_by_somebody(void **state)
{
    (void)state;
    ek_job job;
    ek_device device = bare("A100-80");
    device.curve[EK_KERNEL_MEMORY] = (ek_curve){.share = 1, .memory_share = 1, .hidden = 1};
    assert_true(read_job(source_path("examples/megatron_13b.sh"), &job));
    double n = job.parallel.n_micro_batches * job.parallel.n_accumulation;
    assert_true(n > 1);
    double wide = added(&job, &device, 4), narrow = added(&job, &device, 2);
    assert_true(narrow > 0);
    assert_float_equal(wide / narrow, n * 10 / ((n - 1) * 6), 1e-6);
    job.run.sums_every_micro_batch = true;
    assert_float_equal(added(&job, &device, 4), 0, 1e-9);
    ek_job_clear(&job);
}

/* ---- torchtitan's communication ---- */

/* Seconds of memory-bound operators of llama3 8B, 2 x 4096 tokens on 4 data-parallel ranks, where these do 1 TB/s. */
static double memory_seconds(const char *tensor, const char *more, bool compiled)
{
    char text[1024];
    ek_job job;
    ek_step step;
    ek__job_step come;
    ek_device device = bare("H100");
    for (int k = 0; k < EK_N_KERNEL_KINDS; k++)
        device.curve[k] = (ek_curve){.share = 1, .memory_share = 1, .hidden = 1};
    device.memory_gbs = 1000;
    device.cast_share = device.compiled_traffic = 1;
    snprintf(text, sizeof text,
             "[model]\nname = \"llama3\"\nflavor = \"8B\"\n%s[training]\nlocal_batch_size = 2\nseq_len = 4096\n"
             "[parallelism]\ndata_parallel_shard_degree = 4\ntensor_parallel_degree = %s\n"
             "[activation_checkpoint]\nmode = \"none\"\n",
             more, tensor);
    assert_int_equal(ek__job_parse("job.toml", text, strlen(text), NULL, NULL, &job, &come, NULL), EK_OK);
    job.run.launch = compiled ? EK_LAUNCH_COMPILED : EK_LAUNCH_EAGER;
    assert_int_equal(ek_cost_step(&job, &device, NULL, &step, NULL), EK_OK);
    double seconds = step.stage[0].seconds[EK_STEP_MEMORY];
    ek_step_clear(&step);
    ek_job_clear(&job);
    return seconds;
}

/* Bytes of casts, six an element with one scale a tensor. Of a layer: inputs of three products in common, of one, of
 * two in common and of one; gradients of all outputs; weights. Where inputs are gathered in 8 bits, each rank casts its
 * part with five bytes and turns all of it over with two. */
static void products_share_casts_and_ranks_cast_parts(void **state)
{
    (void)state;
    static const char eight[] = "converters = [\"float8\"]\n[float8]\nenable_fsdp_float8_all_gather = true\n";
    const double n = 32 * 2 * 4096.0, h = 4096, k = 1024, i = 14336, weights = 32 * (2 * h * h + 2 * h * k + 3 * h * i);
    double gradients = h + 2 * k + h + 2 * i + h;
    double added = memory_seconds("1", eight, true) - memory_seconds("1", "", true);
    assert_float_equal(added / ((6 * n * (2 * h + h + i + gradients) + 6 * weights) / 1e12), 1, 1e-6);
    added = memory_seconds("4", eight, true) - memory_seconds("4", "", true);
    double gathered = n * 2 * h * (5.0 / 4 + 2), cut = 6 * n * (h / 4 + i / 4);
    gradients = (h + 2 * k) / 4 + h + 2 * i / 4 + h;
    assert_float_equal(added / ((gathered + cut + 6 * n * gradients + 6 * weights / 4) / 1e12), 1, 1e-6);
}

/* Two norms a layer and one in front of the head, 36 bytes an element instead of 4 and 72 instead of 6, and each
 * token's statistics as many times. */
static void norms_without_a_compiler_are_many_operators(void **state)
{
    (void)state;
    double more = memory_seconds("1", "", false) - memory_seconds("1", "", true);
    assert_float_equal(more / (65 * 2 * 4096 * 4096.0 * (32 + 66) / 1e12), 1, 0.01);
}

/* Asynchronous tensor parallelism of four ranks cuts each product beside a collective, and the gradient of its input,
 * into four: seven of a layer and the head's. Where a kernel costs only its launch and rates, that is three launches
 * more for each. */
static void asynchronous_products_are_cut(void **state)
{
    (void)state;
    static const char text[] = "[model]\nname = \"llama3\"\nflavor = \"8B\"\n[training]\nlocal_batch_size = 1\n"
                               "seq_len = 4096\n[parallelism]\ndata_parallel_shard_degree = 2\n"
                               "tensor_parallel_degree = 4\nenable_async_tensor_parallel = true\n"
                               "[activation_checkpoint]\nmode = \"none\"\n[compile]\nenable = true\n";
    const double launch = 20e-6;
    double seconds[2];
    ek_job job;
    ek__job_step come;
    ek_device device = bare("H100");
    for (int k = 0; k < EK_N_KERNEL_KINDS; k++)
        device.curve[k] = (ek_curve){.share = 1, .memory_share = 1, .hidden = 1, .launch_us = launch * 1e6};
    assert_int_equal(ek__job_parse("job.toml", text, strlen(text), NULL, NULL, &job, &come, NULL), EK_OK);
    for (int async = 0; async < 2; async++) {
        ek_step step;
        job.run.overlap_tensor = async;
        assert_int_equal(ek_cost_step(&job, &device, NULL, &step, NULL), EK_OK);
        seconds[async] = step.stage[0].seconds[EK_STEP_MATRIX];
        ek_step_clear(&step);
    }
    assert_float_equal((seconds[1] - seconds[0]) / (3 * launch * (32 * 14 + 2)), 1, 1e-6);
    ek_job_clear(&job);
}

/* Two layers of 16 heads of 64, 8192 tokens, with TransformerEngine, on a device that moves 10^12 bytes a second. */
static ek_step megatron_step(const char *more, ek_device *device)
{
    char text[1024];
    ek_job job;
    ek_step step;
    ek__job_step come;
    ek_error err;
    for (int k = 0; k < EK_N_KERNEL_KINDS; k++)
        device->curve[k] = (ek_curve){.share = 1, .memory_share = 1, .hidden = 1};
    device->memory_gbs = 1000;
    snprintf(text, sizeof text,
             "--num-layers 2 --hidden-size 1024 --ffn-hidden-size 4096 --num-attention-heads 16 --padded-vocab-size "
             "32000 --seq-length 8192 --max-position-embeddings 8192 --micro-batch-size 1 --bf16 --swiglu "
             "--transformer-impl transformer_engine --tensor-model-parallel-size 1 --pipeline-model-parallel-size 1 %s",
             more);
    if (ek__job_parse("run.args", text, strlen(text), NULL, NULL, &job, &come, &err))
        fail_msg("%s", err.message);
    if (ek_cost_step(&job, device, NULL, &step, &err))
        fail_msg("%s", err.message);
    ek_job_clear(&job);
    return step;
}

#define CONTEXT "--global-batch-size 1 --data-parallel-size 1 --context-parallel-size 4 --cp-comm-type "

/* Of 16 heads a rank of four that exchange heads for tokens has 4, of all tokens: a kernel that was measured of that
 * shape is theirs, and no kernel of a ring. */
static void all_to_all_leaves_a_rank_few_heads_of_all_tokens(void **state)
{
    (void)state;
    ek_device device = bare("H100");
    const double seq = 8192;
    const ek_kernel_row row = {.kernel = {.kind = EK_KERNEL_ATTENTION_FORWARD,
                                          .type = EK_BF16,
                                          .batch = 1,
                                          .seq = seq,
                                          .key_seq = seq,
                                          .heads = 4,
                                          .kv_heads = 4,
                                          .qk_dim = 64,
                                          .v_dim = 64,
                                          .flops = 4 * seq * seq * 128,
                                          .bytes = 2 * 4 * seq * 256},
                               .seconds = 100};
    assert_int_equal(ek_kernel_table_new(&row, 1, &device.kernels, NULL), EK_OK);
    ek_step heads = megatron_step(CONTEXT "a2a", &device), ring = megatron_step(CONTEXT "p2p", &device);
    double attention = heads.stage[0].seconds[EK_STEP_ATTENTION];
    assert_true(attention > 2 * 100 && attention < 2 * 100.1);
    assert_true(ring.stage[0].seconds[EK_STEP_ATTENTION] < 1);
    ek_step_clear(&heads);
    ek_step_clear(&ring);
    ek_kernel_table_free(device.kernels);
}

/* Queries, keys, values and the result, forward and backward, in three copies each, which a ring does not need. */
static void all_to_all_over_context_ranks_copies(void **state)
{
    (void)state;
    ek_device device = bare("H100");
    ek_step heads = megatron_step(CONTEXT "a2a", &device), ring = megatron_step(CONTEXT "p2p", &device);
    double more = heads.stage[0].seconds[EK_STEP_MEMORY] - ring.stage[0].seconds[EK_STEP_MEMORY];
    assert_float_equal(more / (2 * 2 * 3 * 4 * 2 * (8192 / 4 * 1024 * 2.0) / 1e12), 1, 1e-6);
    ek_step_clear(&heads);
    ek_step_clear(&ring);
}

#define EXPERTS                                                                                                        \
    "--global-batch-size 8 --data-parallel-size 8 --num-experts 8 --moe-router-topk 2 --moe-grouped-gemm "             \
    "--moe-token-dispatcher-type alltoall --expert-model-parallel-size "

/* Tokens from other ranks are permuted to the order of the rank's experts, and back: both exchanges, forward and
 * backward, read and written. A rank with one expert has nothing to order. */
static void tokens_are_ordered_by_the_ranks_experts(void **state)
{
    (void)state;
    ek_device device = bare("H100");
    ek_step two = megatron_step(EXPERTS "4", &device), one = megatron_step(EXPERTS "8", &device);
    double more = two.stage[0].seconds[EK_STEP_MEMORY] - one.stage[0].seconds[EK_STEP_MEMORY];
    assert_float_equal(more / (2 * 2 * 2 * 2 * (2 * 8192 * 1024 * 2.0) / 1e12), 1, 1e-6);
    /* And to the experts' order at a separate rate: of half the rate it takes twice as long. */
    device.permute_share = 0.5;
    ek_step slow = megatron_step(EXPERTS "8", &device);
    more = slow.stage[0].seconds[EK_STEP_MEMORY] - one.stage[0].seconds[EK_STEP_MEMORY];
    double token = 1024 * 2.0, once = 8192 * (token + 2 * token);
    assert_true(more > 2 * 4 * once / 1e12 && more < 2 * 4 * 1.5 * once / 1e12);
    ek_step_clear(&two);
    ek_step_clear(&one);
    ek_step_clear(&slow);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_to_all_leaves_a_rank_few_heads_of_all_tokens),
        cmocka_unit_test(all_to_all_over_context_ranks_copies),
        cmocka_unit_test(tokens_are_ordered_by_the_ranks_experts),
        cmocka_unit_test(parts_add_up_to_the_step),
        cmocka_unit_test(the_pipeline_is_the_simulators),
        cmocka_unit_test(one_device_is_a_sum),
        cmocka_unit_test(layers_priced_before_give_the_same),
        cmocka_unit_test(layers_kept_know_where_their_groups_lie),
        cmocka_unit_test(layers_that_share_graphs_cost_what_they_do_alone),
        cmocka_unit_test(padding_is_of_no_account),
        cmocka_unit_test(the_optimizers_error_follows_from_its_constants),
        cmocka_unit_test(a_slow_host_decides),
        cmocka_unit_test(the_13b_story_keeps_its_order),
        cmocka_unit_test(older_attention_takes_longer),
        cmocka_unit_test(a_ring_shows_what_attention_does_not_hide),
        cmocka_unit_test(gradients_are_added_by_somebody),
        cmocka_unit_test(products_share_casts_and_ranks_cast_parts),
        cmocka_unit_test(norms_without_a_compiler_are_many_operators),
        cmocka_unit_test(asynchronous_products_are_cut),
        cmocka_unit_test(configurations_of_others_are_among_them),
    };
    return cmocka_run_group_tests(tests, list_configs, NULL);
}
