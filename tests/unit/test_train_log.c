/* Tests training logs: the format of every release, several ranks in one file, damage, restarts, and that a log of any
 * size reads the same. Lines are invented in the frameworks' formats. */
#include "input.h"

#include <math.h>
#include <unistd.h>

#include "assert_close.h"
#include "base/random.h"
#include "evenkeel/job.h"
#include "evenkeel/train_log.h"
#include "no_memory.h"

static char folder_path[] = "/tmp/train_log_XXXXXX";

static const char *write_log(const char *text, size_t size)
{
    static char path[64];
    snprintf(path, sizeof path, "%s", folder_path);
    int fd = mkstemp(path);
    if (fd < 0 || write(fd, text, size) != (ssize_t)size)
        fail_msg("cannot write %s", path);
    close(fd);
    return path;
}

static ek_train_log read_text(const char *text, size_t size)
{
    ek_train_log log;
    ek_error err = {0};
    const char *path = write_log(text, size);
    ek_status status = ek_train_log_read(path, NULL, &log, &err);
    unlink(path);
    if (status)
        fail_msg("%s", err.message);
    return log;
}

#define MF(step, of, ms)                                                                                               \
    "2025-04-07 15:34:29,173 - [mindformers/core/callback/callback.py:529] - INFO - { Epoch:[  1/  2], step:[" step    \
    "/" of "], loss: 8.314, per_step_time: " ms "ms, lr: 3e-06, overflow cond: False, loss_scale: 1.0, "               \
    "global_norm: [1.2], train_throughput_per_npu: 123.4T\n"
#define MF_RATE "2025 - INFO -    0.1% |          | 0.43440 samples/s/p  4:09:25 }\n"
#define MG(step, ms)                                                                                                   \
    " [2025-03-31 05:54:07] iteration " step                                                                           \
    "/  500000 | consumed samples:         1280 | elapsed time per iteration "                                         \
    "(ms): " ms " | throughput per GPU (TFLOP/s/GPU): 143.2 | learning rate: 3.000000E-06 | global batch size:   256 " \
    "| lm loss: 6.100000E+00 | loss scale: 1.0 | grad norm: 2.7 | number of skipped iterations:   0 | number of nan "  \
    "iterations:   0 |\n"

#define TT(step, tps)                                                                                                  \
    "[rank0]:[titan] 2025-04-07 15:34:29,173 - root - INFO - \x1b[31mstep: " step " \x1b[32m loss:  7.1250 "           \
    "\x1b[38;2;180;60;0m grad_norm:  1.2345 \x1b[33m memory: 35.50GiB(44.22%) \x1b[34m tps: " tps " \x1b[36m tflops: " \
    "312.75 \x1b[35m mfu: 31.61%\x1b[39m\n"

/* One step each. */
static const struct {
    const char *name, *text;
    ek_train_log_kind kind;
    bool overflow;
    int64_t step;
    double seconds, loss, rate, tflops, batch;
} words[] = {
    {"MindFormers with its rate", MF("    5", " 6500", "2302") MF_RATE, EK_TRAIN_LOG_MINDFORMERS, false, 5, 2.302,
     8.314, 0.4344, 123.4, NAN},
    {"MindFormers of old: a pair of losses, no throughput",
     "[INFO] { Epoch:[ 2/ 3], step:[   10/  400], loss:[ 5.125/ 6.250], per_step_time: 900ms, lr: 1e-05, overflow "
     "cond: "
     "True, loss_scale: 65536.0, global_norm: None\n",
     EK_TRAIN_LOG_MINDFORMERS, true, 410, 0.9, 5.125, NAN, NAN, NAN},
    {"MindFormers' newer models",
     "{ step:[    2/   10], loss:  11.755612, per_step_time:    710ms, load_balancing_loss:   1.106543, lr: "
     "1.000000e-05, grad_norm:  19.926786, throughput:  25.92T }\n",
     EK_TRAIN_LOG_MINDFORMERS, false, 2, 0.71, 11.755612, NAN, 25.92, NAN},
    {"a stage without a loss",
     "{ step:[    2/   10], loss: N/A (non-last PP stage, refer to last stage for real loss), per_step_time:    710ms, "
     "lr: 1e-05 }\n",
     EK_TRAIN_LOG_MINDFORMERS, false, 2, 0.71, NAN, NAN, NAN, NAN},
    {"MindFormers' epochs of one step", "{ Epoch:[ 3/ 3], step:[ 1/ 1], loss: 1.5, per_step_time: 900ms }\n",
     EK_TRAIN_LOG_MINDFORMERS, false, 3, 0.9, 1.5, NAN, NAN, NAN},
    {"MindFormers' epochs of no known length", "{ Epoch:[ 3/ 3], step:[ 5/ 0], loss: 1.5, per_step_time: 900ms }\n",
     EK_TRAIN_LOG_MINDFORMERS, false, 5, 0.9, 1.5, NAN, NAN, NAN},
    {"a length of an epoch that is no number of steps",
     "{ Epoch:[ 3/ 3], step:[ 5/ 2.5], loss: 1.5, per_step_time: 900ms }\n", EK_TRAIN_LOG_MINDFORMERS, false, 5, 0.9,
     1.5, NAN, NAN, NAN},
    {"an epoch that is none", "{ Epoch:[ 0/ 3], step:[ 5/ 10], loss: 1.5, per_step_time: 900ms }\n",
     EK_TRAIN_LOG_MINDFORMERS, false, 5, 0.9, 1.5, NAN, NAN, NAN},
    {"a rate of nothing", MF("    5", " 6500", "2302") "| 0.0 samples/s/p }\n", EK_TRAIN_LOG_MINDFORMERS, false, 5,
     2.302, 8.314, NAN, 123.4, NAN},
    {"a rate without a space", MF("    5", " 6500", "2302") "|0.5samples/s/p }\n", EK_TRAIN_LOG_MINDFORMERS, false, 5,
     2.302, 8.314, 0.5, 123.4, NAN},
    {"an overflow at the end of a log", "{ step:[ 7/ 10], loss: 1.5, per_step_time: 710ms, overflow cond: [True",
     EK_TRAIN_LOG_MINDFORMERS, true, 7, 0.71, 1.5, NAN, NAN, NAN},
    {"Megatron", MG("       5", "11532.1"), EK_TRAIN_LOG_MEGATRON, false, 5, 11.5321, 6.1, NAN, 143.2, 256},
    {"Megatron of old, without throughput",
     " iteration        5/  500000 | elapsed time per iteration (ms): 430.0 | learning rate 1.342E-04 | lm loss "
     "7.399415E+00 | loss scale 16384.0 |\n",
     EK_TRAIN_LOG_MEGATRON, false, 5, 0.43, 7.399415, NAN, NAN, NAN},
    {"Megatron with a skipped iteration",
     " iteration       10/    1000 | consumed samples:          160 | elapsed time per iteration (ms): 1147.6 | "
     "learning rate: 0.000000E+00 | global batch size:    16 | loss scale: 8388608.0 | number of skipped iterations:  "
     "10 | number of nan iterations:   0 |\n",
     EK_TRAIN_LOG_MEGATRON, true, 10, 1.1476, NAN, NAN, NAN, 16},
    {"Megatron-DeepSpeed behind a rank prefix",
     "127:  iteration      200/  100000 | consumed samples:       409600 | consumed tokens: 838860800 | elapsed time "
     "per "
     "iteration (ms): 819.8 | learning rate: 1.267E-04 | global batch size:  2048 | lm loss: 3.5E+00 | number of "
     "skipped iterations:   0 | samples per second: 1.013 | TFLOPs: 37.10 |\n",
     EK_TRAIN_LOG_MEGATRON, false, 200, 0.8198, 3.5, NAN, 37.1, 2048},
    {"colours and a carriage return",
     "\x1b[32m[rank3]:\x1b[0m { step:[ \x1b[1m  7\x1b[0m/   10], loss: \x1b[31m 1.5\x1b[0m, per_step_time: \x1b[33m 710"
     "ms\x1b[0m, lr: 1e-05 }\r\n",
     EK_TRAIN_LOG_MINDFORMERS, false, 7, 0.71, 1.5, NAN, NAN, NAN},
};

static void near_or_nan(const char *name, const char *what, double got, double expected)
{
    if (!(isnan(got) && isnan(expected)) && !(fabs(got - expected) <= 1e-12 * fabs(expected)))
        fail_msg("%s: %s is %.12g, expected %.12g", name, what, got, expected);
}

static void every_releases_words_are_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        ek_train_log log = read_text(words[i].text, strlen(words[i].text));
        const char *name = words[i].name;
        assert_int_equal(log.n, 1);
        assert_int_equal(log.kind, words[i].kind);
        assert_int_equal(log.step[0].step, words[i].step);
        assert_int_equal(log.step[0].line, 1);
        near_or_nan(name, "time", log.step[0].seconds, words[i].seconds);
        near_or_nan(name, "loss", log.step[0].loss, words[i].loss);
        near_or_nan(name, "rate", log.step[0].samples_per_second_per_device, words[i].rate);
        near_or_nan(name, "throughput", log.step[0].tflops_per_device, words[i].tflops);
        near_or_nan(name, "batch", log.step[0].global_batch, words[i].batch);
        assert_int_equal(log.step[0].overflow, words[i].overflow);
        ek_train_log_clear(&log);
    }
}

static void arguments_and_memory_are_read(void **state)
{
    (void)state;
    static const char text[] =
        "using world size: 1024, data-parallel size: 32\n"
        "  decoder_seq_length .............................. None\n"
        "  encoder_seq_length .............................. 77\n"
        "  global_batch_size ............................... 256\n"
        "0:   seq_length ...................................... 4096\n"
        "  world_size ...................................... 1024\n"
        "[Rank 0] (after 1 iterations) memory (MB) | allocated: 7253.6 | max allocated: 7959.96 | "
        "reserved: 8266.0 | max reserved: 8266.0\n" MG(
            "       1", "9000.0") "[Rank 9] (after 1 iterations) memory (MB) | allocated: 1.0 | max allocated: 41299.5 "
                                  "| reserved: 2.0 | max reserved: 3.0\n";
    ek_train_log log = read_text(text, sizeof text - 1);
    assert_int_equal(log.world_size, 1024);
    assert_int_equal(log.global_batch, 256);
    assert_int_equal(log.seq_length, 4096);
    assert_close_to(log.peak_mb, 41299.5, 1e-9);
    ek_train_log_clear(&log);
    static const char ascend[] =
        MF("    1", " 6500", "9302") "Actual peak memory usage (with fragments): 48874M\n" MF("    2", " 6500", "2302");
    log = read_text(ascend, sizeof ascend - 1);
    assert_close_to(log.peak_mb, 48874, 0);
    assert_int_equal(log.world_size, -1);
    ek_train_log_clear(&log);
}

/* Rates, of which a job makes times. */
static void rates_of_torchtitan_become_times(void **state)
{
    (void)state;
    static const char text[] =
        "[rank0]:[titan] - INFO - Trainer is initialized with local batch size 2, global batch size 64, gradient "
        "accumulation steps 1, sequence length 8192, total steps 1000 (see https: //nowhere.example)\n" TT(" 1", "912")
            TT("10", "6,123") TT("10", "6,120") "a download at https: //nowhere.example\n" TT("20", "1,006,144")
                TT("30", "6,12") TT("31", "6144,000") TT("32", "61,44");
    ek_train_log log = read_text(text, sizeof text - 1);
    static const double rate[] = {912, 6123, 1006144}; /* the last lines are no numbers */
    assert_int_equal(log.kind, EK_TRAIN_LOG_TORCHTITAN);
    assert_int_equal(log.n, 3);
    assert_int_equal(log.global_batch, 64);
    assert_int_equal(log.seq_length, 8192);
    assert_close_to(log.peak_mb, 35.5 * 1024, 1e-9);
    assert_close_to(ek_train_log_token_rate(&log), 6123, 0);
    ek_train_log_summary s;
    assert_false(ek_train_log_summarise(&log, &s)); /* no times yet */
    ek_job job = {.parallel = {.data = 8,
                               .tensor = 2,
                               .pipeline = 4,
                               .context = 1,
                               .batch = 2,
                               .n_micro_batches = 16,
                               .n_accumulation = 3,
                               .n_batch_interleave = 1,
                               .seq_length = 8192}};
    log.step[2].seconds = 5; /* a time that is printed stays */
    ek_train_log_time(&log, &job);
    for (int i = 0; i < 2; i++) {
        assert_close_to(log.step[i].tokens_per_second_per_device, rate[i], 0);
        assert_close_to(log.step[i].seconds, 2.0 * 16 * 3 * 8192 / (2 * 4) / rate[i], 1e-9);
        assert_close_to(log.step[i].loss, 7.125, 0);
        assert_close_to(log.step[i].tflops_per_device, 312.75, 0);
    }
    assert_close_to(log.step[2].seconds, 5, 0);
    assert_true(ek_train_log_summarise(&log, &s));
    ek_train_log_clear(&log);
}

static void a_step_of_several_ranks_counts_once(void **state)
{
    (void)state;
    static const char text[] = "0: " MF("    1", " 6500", "9302") "1: " MF("    1", " 6500", "9305") "1: " MF(
        "    2", " 6500",
        "2300") "0: " MF("    2", " 6500",
                         "2302") "0: " MF_RATE
                                 /* Two processes wrote into one line, and one line was cut by the other's. */
                                 "{ step:[    3/ 6500], loss: 1.0, per_st{ step:[    3/ 6500], loss: 2.0, "
                                 "per_step_time: 2000ms, lr: 1 }{ "
                                 "step:[    4/ 6500], loss: 3.0, per_step_time: 2001ms, lr: 1 }\n";
    ek_train_log log = read_text(text, sizeof text - 1);
    assert_int_equal(log.n, 4);
    for (int i = 0; i < 4; i++)
        assert_int_equal(log.step[i].step, i + 1);
    assert_close_to(log.step[0].seconds, 9.302, 1e-12);
    assert_close_to(log.step[1].samples_per_second_per_device, 0.4344, 1e-12);
    assert_close_to(log.step[2].loss, 2, 0);
    assert_close_to(log.step[3].loss, 3, 0);
    ek_train_log_clear(&log);
}

static void a_restarted_run_goes_on(void **state)
{
    (void)state;
    char text[64 * 1024];
    size_t n = 0;
    for (int i = 1; i <= 200; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "{ step:[ %d/ 900], loss: 1.0, per_step_time: 1000ms }\n", i);
    for (int i = 101; i <= 150; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "{ step:[ %d/ 900], loss: 1.0, per_step_time: 2000ms }\n", i);
    ek_train_log log = read_text(text, n);
    assert_int_equal(log.n, 250);
    assert_int_equal(log.step[200].step, 101);
    assert_int_equal(log.step[200].line, 201);
    ek_train_log_clear(&log);
}

static void whole_or_missing(const char *what, double got, double expected)
{
    if (!isnan(got))
        near_or_nan("cut", what, got, expected);
}

/* Cut after every byte: a step is there when its time is whole, and never with another one. */
static void a_cut_log_never_tells_another_number(void **state)
{
    (void)state;
    static const char *const texts[] = {MF("    5", " 6500", "2302") MF("    6", " 6500", "2303") MF_RATE,
                                        MG("       5", "11532.1") MG("       6", "11532.2"),
                                        TT(" 5", "6,123") TT(" 6", "6,124")};
    static const double seconds[][2] = {{2.302, 2.303}, {11.5321, 11.5322}, {6123, 6124}}; /* or rates */
    static const double loss[] = {8.314, 6.1, 7.125}, tflops[] = {123.4, 143.2, 312.75};
    for (int k = 0; k < 3; k++)
        for (size_t n = 0; n <= strlen(texts[k]); n++) {
            ek_train_log log;
            ek_error err = {0};
            const char *path = write_log(texts[k], n);
            ek_status status = ek_train_log_read(path, NULL, &log, &err);
            unlink(path);
            if (status) {
                assert_int_equal(status, EK_ERR_INPUT);
                continue;
            }
            for (int i = 0; i < log.n; i++) {
                assert_int_equal(log.step[i].step, 5 + i);
                assert_close_to(k == 2 ? log.step[i].tokens_per_second_per_device : log.step[i].seconds, seconds[k][i],
                                1e-12);
                whole_or_missing("loss", log.step[i].loss, loss[k]);
                whole_or_missing("throughput", log.step[i].tflops_per_device, tflops[k]);
                whole_or_missing("batch", log.step[i].global_batch, 256);
            }
            ek_train_log_clear(&log);
        }
}

static void what_is_no_step_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text;
    } cases[] = {{""},
                 {"per_step_time: 5ms\n"},
                 {"{ step:[ x/ 10], per_step_time: 5ms }\n"},
                 {"{ step:[ 1/ 10], per_step_time: -5ms }\n"},
                 {"{ step:[ 1/ 10], per_step_time: nanms }\n"},
                 {"{ step:[ 1/ 10], per_step_time: 0x10ms }\n"},
                 {"{ step:[ 1/ 10], per_step_time: 5s }\n"},
                 {"{ step:[ 1/ 10], per_step_time: 0ms }\n"},
                 {"{ step:[ 1/ 10], per_step_time: 5m"},
                 {"{ step:[ 1/ 10], per_step_time: 5"},
                 {"{ step:[ -1/ 10], per_step_time: 5ms }\n"},
                 {"{ step:[ 1.5/ 10], per_step_time: 5ms }\n"},
                 {" iteration 5/ 9 | elapsed time per iteration (ms): - |\n"},
                 {"elapsed time per iteration (ms): 5.0 | iteration 5/ 9\n"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ek_train_log log = {.n = 77};
        ek_error err = {0};
        const char *path = write_log(cases[i].text, strlen(cases[i].text));
        if (ek_train_log_read(path, NULL, &log, &err) != EK_ERR_INPUT)
            fail_msg("'%s' is read", cases[i].text);
        unlink(path);
        assert_non_null(strstr(err.message, "per_step_time"));
        assert_non_null(strstr(err.message, "elapsed time per iteration"));
        assert_int_equal(log.n, 77);
    }
    ek_train_log log;
    ek_error err = {0};
    const char *packed = write_log("\x1f\x8b\x08 what gzip makes of it", 26);
    assert_int_equal(ek_train_log_read(packed, NULL, &log, &err), EK_ERR_INPUT);
    assert_non_null(strstr(err.message, "unpack it"));
    unlink(packed);
    assert_int_equal(ek_train_log_read("/nowhere/at/all", NULL, &log, &err), EK_ERR_SYSTEM);
}

static void another_frameworks_steps_are_left_out_with_a_warning(void **state)
{
    (void)state;
    static const char text[] = MF("    5", " 6500", "2302") MG("       6", "11532.1");
    ek_train_log log;
    ek_error err = {0};
    said heard = {0};
    const ek_listener listener = {say_warning, &heard};
    const char *path = write_log(text, sizeof text - 1);
    assert_int_equal(ek_train_log_read(path, &listener, &log, &err), EK_OK);
    unlink(path);
    assert_int_equal(log.n, 1);
    assert_int_equal(heard.n_warnings, 1);
    assert_non_null(strstr(heard.text, "2:0: warning: 1 line of steps"));
    ek_train_log_clear(&log);
}

/* ---- summaries ---- */

static void the_summary_leaves_out_compiling(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int n;
        uint32_t skipped; /* bits */
        double ms[16];
        int first, counted;
        double median, mean, worst;
    } cases[] = {
        {"the first step compiles", 5, 0, {90000, 2000, 2010, 1990, 2000}, 1, 4, 2.0, 2.0, 2.01},
        {"two graphs are compiled", 7, 0, {90000, 2000, 50000, 2000, 2100, 2000, 2000}, 3, 4, 2.0, 2.025, 2.1},
        {"a slow step later on stays", 6, 0, {2000, 2000, 2000, 2000, 2000, 9000}, 0, 6, 2.0, 19.0 / 6, 9},
        {"an even start is kept", 3, 0, {2000, 2000, 2000}, 0, 3, 2, 2, 2},
        {"one step is what there is", 1, 0, {5000}, 0, 1, 5, 5, 5},
        {"two steps", 2, 0, {60000, 2000}, 1, 1, 2, 2, 2},
        {"skipped steps do not count", 5, 4, {2000, 2000, 7000, 2000, 2000}, 0, 4, 2, 2, 2},
        {"only the slow ones were not skipped", 4, 14, {9000, 2000, 2000, 2000}, 0, 1, 9, 9, 9},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        ek_train_log_step step[16] = {{0}};
        ek_train_log log = {.n = cases[k].n, .step = step};
        for (int i = 0; i < cases[k].n; i++) {
            step[i].seconds = cases[k].ms[i] / 1000;
            step[i].overflow = cases[k].skipped >> i & 1;
        }
        ek_train_log_summary s;
        assert_true(ek_train_log_summarise(&log, &s));
        if (s.first != cases[k].first || s.n != cases[k].counted)
            fail_msg("%s: %d steps from %d on", cases[k].name, s.n, s.first);
        assert_close_to(s.median_seconds, cases[k].median, 1e-12);
        assert_close_to(s.mean_seconds, cases[k].mean, 1e-12);
        assert_close_to(s.worst_seconds, cases[k].worst, 1e-12);
    }
    ek_train_log empty = {0};
    ek_train_log_summary s;
    assert_false(ek_train_log_summarise(&empty, &s));
}

static void a_batch_that_grows_is_the_last_ones(void **state)
{
    (void)state;
    enum { N = 7 };
    static const double batch[N] = {32, 32, 64, 64, 128, 128, 128}, ms[N] = {500, 510, 1000, 1010, 2000, 2020, 2010};
    ek_train_log_step step[N] = {{0}};
    ek_train_log log = {.n = N, .step = step};
    ek_train_log_summary s;
    for (int i = 0; i < N; i++) {
        step[i].seconds = ms[i] / 1000;
        step[i].global_batch = batch[i];
    }
    assert_true(ek_train_log_summarise(&log, &s));
    assert_int_equal(s.n, 3);
    assert_close_to(s.median_seconds, 2.01, 1e-12);
    /* A step without that information counts. */
    step[0].global_batch = NAN;
    step[0].seconds = 2.03;
    assert_true(ek_train_log_summarise(&log, &s) && s.n == 4);
}

/* ---- size ---- */

/* 60 MB with noise around and long lines between: every step comes out, as it was put in. */
static void a_long_log_gives_every_step(void **state)
{
    (void)state;
    char path[] = "/tmp/train_log_XXXXXX";
    int fd = mkstemp(path);
    FILE *file = fdopen(fd, "w");
    ek__random r = ek__random_seed(7);
    enum { STEPS = 20000 };
    assert_non_null(file);
    for (int i = 1; i <= STEPS; i++) {
        for (int k = ek__random_below(&r, 40); k > 0; k--)
            fprintf(file, "[INFO] step noise per_step iteration %d elapsed samples %0*d\n", k,
                    ek__random_below(&r, 200) + 1, k);
        if (i % 5000 == 0)
            fprintf(file, "%0*d", 300000, 7); /* a line longer than any buffer, with the step at its end */
        fprintf(file, "{ Epoch:[  1/  2], step:[%5d/%5d], loss: 5.0, per_step_time: %dms, lr: 1 }\n", i, STEPS,
                1000 + i % 977);
    }
    fclose(file);
    ek_train_log log;
    ek_error err = {0};
    if (ek_train_log_read(path, NULL, &log, &err))
        fail_msg("%s", err.message);
    unlink(path);
    assert_int_equal(log.n, STEPS);
    for (int i = 0; i < STEPS; i++) {
        assert_int_equal(log.step[i].step, i + 1);
        assert_close_to(log.step[i].seconds, (1000 + (i + 1) % 977) / 1000.0, 1e-12);
    }
    ek_train_log_clear(&log);
}

/* ---- memory that runs out ---- */

FAILING_ALLOC
FAILING_WITH_ROOM

static void memory_that_is_out_is_said(void **state)
{
    (void)state;
    static const char text[] = MF("    1", " 6500", "9302") MF("    2", " 6500", "2302");
    int n = 0;
    for (;; n++) {
        ek_train_log log = {.n = 77};
        ek_error err = {0};
        const char *path = write_log(text, sizeof text - 1);
        allocations_left = n;
        ek_status status = ek_train_log_read(path, NULL, &log, &err);
        allocations_left = -1;
        unlink(path);
        if (status == EK_OK) {
            ek_train_log_clear(&log);
            break;
        }
        assert_int_equal(status, EK_ERR_MEMORY);
        assert_int_equal(log.n, 77);
    }
    assert_true(n >= 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        {"every release's words are read", every_releases_words_are_read, NULL, NULL, NULL},
        {"arguments and memory are read", arguments_and_memory_are_read, NULL, NULL, NULL},
        {"rates of torchtitan become times", rates_of_torchtitan_become_times, NULL, NULL, NULL},
        {"a step of several ranks counts once", a_step_of_several_ranks_counts_once, NULL, NULL, NULL},
        {"a restarted run goes on", a_restarted_run_goes_on, NULL, NULL, NULL},
        {"a cut log never tells another number", a_cut_log_never_tells_another_number, NULL, NULL, NULL},
        {"what is no step is refused", what_is_no_step_is_refused, NULL, NULL, NULL},
        {"another framework's steps are left out with a warning", another_frameworks_steps_are_left_out_with_a_warning,
         NULL, NULL, NULL},
        {"the summary leaves out compiling", the_summary_leaves_out_compiling, NULL, NULL, NULL},
        {"a batch that grows is the last one's", a_batch_that_grows_is_the_last_ones, NULL, NULL, NULL},
        {"a long log gives every step", a_long_log_gives_every_step, NULL, NULL, NULL},
        {"memory that is out is said", memory_that_is_out_is_said, NULL, NULL, NULL},
    };
    return cmocka_run_group_tests_name("train_log", tests, NULL, NULL);
}
