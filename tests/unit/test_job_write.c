/* Layouts written into job files: every file that tests know gets random legal changes, and what is written must be
 * read as the job that was changed, with the same peaks and the same step, and differ from the file in lines of
 * settings alone. A layout that cannot be written is refused with a sentence. */
#include "made_configs.h"

#include <math.h>

#include "evenkeel/cost.h"
#include "evenkeel/job_write.h"
#include "evenkeel/lint.h"
#include "evenkeel/memory.h"
#include "job/settings.h"

/* ---- random changes ---- */

static uint64_t seed;

static int below_n(int n)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (int)((seed >> 33) % (uint64_t)n);
}

static int n_cells(const ek_job *job)
{
    return job->plan.n_stages * job->plan.n_chunks;
}

/* Layers spread evenly over other stages or chunks; lists that hold for all layers still do, others are dropped. */
static bool respread(ek_job *job, int p, int v, const ek_schedule *schedule)
{
    ek_plan old = job->plan;
    bool all = ek__settings_all(&old, old.full);
    int group = job->full_group;
    job->parallel.pipeline = p;
    job->schedule = schedule;
    job->plan = (ek_plan){0};
    if (ek__job_spread(job, v, NULL)) {
        job->plan = old;
        return false;
    }
    int n = n_cells(job);
    for (int c = 0; c < n && all; c++)
        job->plan.full[c] = job->plan.layers[c];
    for (int i = 0; i < job->n_patterns; i++) {
        bool every = ek__settings_all(&old, job->pattern[i].layers);
        free(job->pattern[i].layers);
        job->pattern[i].layers = ek__alloc((size_t)n, sizeof(int));
        assert_non_null(job->pattern[i].layers);
        for (int c = 0; c < n && every; c++)
            job->pattern[i].layers[c] = job->plan.layers[c];
    }
    ek__job_sum_patterns(job);
    ek__job_settle_run(job);
    job->full_group = group;
    ek_plan_clear(&old);
    return true;
}

static void change_data(ek_job *job)
{
    int d = job->parallel.data;
    job->parallel.data = below_n(2) || d % 2 ? 2 * d : d / 2;
}

static void change_tensor(ek_job *job)
{
    int t = job->parallel.tensor;
    job->parallel.tensor = below_n(2) || t == 1 ? 2 * t : t / 2;
    if (job->framework == EK_MEGATRON)
        job->parallel.data *= below_n(2) ? 1 : 2;
}

static void change_context(ek_job *job)
{
    int c = job->parallel.context;
    job->parallel.context = c == 1 ? 2 : 1;
}

static void change_expert(ek_job *job)
{
    int e = job->parallel.expert;
    job->parallel.expert = below_n(2) || e == 1 ? 2 * e : e / 2;
}

static void change_stages(ek_job *job)
{
    int p = job->parallel.pipeline, to = below_n(2) || p == 1 ? 2 * p : p / 2, v = to == 1 ? 1 : job->plan.n_chunks;
    const ek_schedule *schedule = v == job->plan.n_chunks ? job->schedule : ek_schedule_default(v, false);
    if (job->parallel.n_micro_batches < to)
        job->parallel.n_micro_batches = 2 * to;
    job->parallel.n_accumulation = to > 1 ? 1 : job->parallel.n_accumulation;
    if (to == 1 && (job->framework == EK_MINDFORMERS || job->framework == EK_MINDFORMERS_MCORE)) {
        job->parallel.n_accumulation = job->parallel.n_micro_batches;
        job->parallel.n_micro_batches = 1;
    }
    (void)respread(job, to, v, schedule);
}

static void change_chunks(ek_job *job)
{
    int p = job->parallel.pipeline, v = job->plan.n_chunks == 1 ? 2 : 1;
    if (p > 1)
        (void)respread(job, p, v, ek_schedule_default(v, false));
}

static void change_schedule(ek_job *job)
{
    static const char *const names[] = {"1f1b", "gpipe", "interleaved", "zb-v", "dualpipev", "v-half", "v-min"};
    const ek_schedule *to = ek_schedule_find(names[below_n(7)]);
    assert_non_null(to);
    int v = strcmp(to->name, "1f1b") == 0 || strcmp(to->name, "gpipe") == 0 ? 1 : 2;
    if (job->parallel.pipeline > 1)
        (void)respread(job, job->parallel.pipeline, v, to);
}

/* A layer goes from one chunk to another. */
static void change_layers(ek_job *job)
{
    int from = below_n(n_cells(job)), to = below_n(n_cells(job));
    if (from == to || job->plan.layers[from] < 2)
        return;
    for (int i = -1; i < job->n_patterns; i++) {
        int *list = i < 0 ? job->plan.full : job->pattern[i].layers;
        bool all = ek__settings_all(&job->plan, list);
        for (int c = 0; c < n_cells(job); c++) {
            int layers = job->plan.layers[c] + (c == to) - (c == from);
            list[c] = all || list[c] > layers ? layers : list[c];
        }
    }
    job->plan.layers[from]--;
    job->plan.layers[to]++;
    ek__job_sum_patterns(job);
}

static void change_full(ek_job *job)
{
    int how = below_n(4), n = 1 + below_n(job->plan.layers[0]);
    for (int c = 0; c < n_cells(job); c++) {
        int layers = job->plan.layers[c];
        job->plan.full[c] = how == 0   ? 0
                            : how == 1 ? layers
                            : how == 2 ? (n < layers ? n : layers)
                                       : below_n(layers + 1);
    }
}

static void change_patterns(ek_job *job)
{
    for (int i = 0; i < job->n_patterns; i++) {
        int how = below_n(3);
        for (int c = 0; c < n_cells(job); c++) {
            int layers = job->plan.layers[c];
            job->pattern[i].layers[c] = how == 0 ? 0 : how == 1 ? layers : below_n(layers + 1);
        }
    }
    ek__job_sum_patterns(job);
}

static bool is_mindformers(const ek_job *job)
{
    return job->framework == EK_MINDFORMERS || job->framework == EK_MINDFORMERS_MCORE;
}

static void change_micro_batches(ek_job *job)
{
    if (is_mindformers(job) && job->parallel.pipeline == 1) {
        job->parallel.n_accumulation = 1 + below_n(4);
        return;
    }
    int m = job->parallel.n_micro_batches;
    job->parallel.n_micro_batches = below_n(2) ? 2 * m : m + job->parallel.pipeline;
}

static void change_batch(ek_job *job)
{
    job->parallel.batch = 1 + below_n(4);
}

static void change_states(ek_job *job)
{
    ek_job_states *states = &job->states;
    states->shard_optimizer = !states->shard_optimizer;
    if (is_mindformers(job)) {
        states->shard_weight = states->shard_optimizer;
        states->gathered = states->shard_weight ? states->weight : 0;
        states->shard_gradient = states->shard_gradient && states->shard_optimizer;
        job->run.sums_every_micro_batch = states->shard_gradient && states->gradient > 0;
    }
}

static void change_shard_size(ek_job *job)
{
    int group = job->parallel.data * job->parallel.context;
    if (job->framework == EK_MEGATRON && group % 2 == 0) {
        job->states.instances = job->states.instances > 1 ? 1 : 2;
        return;
    }
    job->states.shard_size = group % 2 == 0 && job->states.shard_size < 0 ? group / 2 : -1;
}

static void change_sequence_parallel(ek_job *job)
{
    job->parallel.sequence_parallel = !job->parallel.sequence_parallel;
}

static const struct {
    const char *name;
    void (*change)(ek_job *job);
} changes[] = {{"data", change_data},
               {"tensor", change_tensor},
               {"context", change_context},
               {"expert", change_expert},
               {"stages", change_stages},
               {"chunks", change_chunks},
               {"schedule", change_schedule},
               {"layers", change_layers},
               {"full", change_full},
               {"patterns", change_patterns},
               {"micro-batches", change_micro_batches},
               {"batch", change_batch},
               {"states", change_states},
               {"shard size", change_shard_size},
               {"sequence parallel", change_sequence_parallel}};
enum { N_CHANGES = sizeof changes / sizeof *changes };

/* A copy with one to three changes that its framework runs. @return false where none was found */
static bool change_at_random(const ek_job *was, ek_job *now, char *what, size_t size)
{
    for (int tries = 0; tries < 40; tries++) {
        size_t used = 0;
        assert_int_equal(ek_job_copy(was, now, NULL), EK_OK);
        what[0] = '\0';
        for (int n = 1 + below_n(3); n > 0; n--) {
            int k = below_n(N_CHANGES);
            changes[k].change(now);
            used += (size_t)snprintf(what + used, size - used, "%s%s", used ? ", " : "", changes[k].name);
        }
        if (ek__job_follow(was, now, NULL) == EK_OK && ek_job_check(now, NULL) == EK_OK)
            return true;
        ek_job_clear(now);
    }
    return false;
}

/* ---- figures ---- */

static const ek_device *device_of(const ek_job *job)
{
    bool other = job->framework == EK_TORCHTITAN || job->framework == EK_MEGATRON;
    const ek_device *found = ek_device_find(other ? "A100" : "910B");
    assert_non_null(found);
    return found;
}

static double step_of(const ek_job *job)
{
    ek_step step;
    if (ek_cost_step(job, device_of(job), NULL, &step, NULL))
        return NAN;
    double seconds = step.seconds;
    ek_step_clear(&step);
    return seconds;
}

static bool is_near(double a, double b)
{
    return (isnan(a) && isnan(b)) || fabs(a - b) <= 1e-12 * fmax(fabs(a), fabs(b));
}

/* The peaks of all stages and the step. */
static bool same_figures(const ek_job *a, const ek_job *b, char *why, size_t size)
{
    static const ek_memory_options options = {.without_top = true};
    ek_memory x, y;
    ek_error err = {0};
    bool same = a->parallel.pipeline == b->parallel.pipeline;
    snprintf(why, size, "%d and %d stages", a->parallel.pipeline, b->parallel.pipeline);
    if (!same)
        return false;
    if (ek_memory_predict(a, &options, &x, &err) || ek_memory_predict(b, &options, &y, &err))
        fail_msg("%s", err.message);
    for (int s = 0; s < a->parallel.pipeline && same; s++) {
        same = x.stage[s].actual_peak == y.stage[s].actual_peak && x.stage[s].used_peak == y.stage[s].used_peak;
        snprintf(why, size, "stage %d has %.3f and %.3f MB", s, (double)x.stage[s].actual_peak * 0x1p-20,
                 (double)y.stage[s].actual_peak * 0x1p-20);
    }
    ek_memory_clear(&x);
    ek_memory_clear(&y);
    if (!same)
        return false;
    double t = step_of(a), u = step_of(b);
    snprintf(why, size, "steps take %.15g and %.15g s", t, u);
    return is_near(t, u);
}

/* ---- files ---- */

/* A config.json says nothing of a run. */
static ek_job_overrides overrides_of(const char *path)
{
    ek_job_overrides overrides = ek_job_overrides_none();
    const char *dot = strrchr(path, '.');
    if (dot && strcmp(dot, ".json") == 0) {
        overrides.data = 16;
        overrides.pipeline = 2;
        overrides.tensor = 2;
        overrides.batch = 2;
        overrides.n_micro_batches = 8;
    }
    return overrides;
}

static int list_more(void **state)
{
    static const char *const models[] = {
        "{\"model_type\": \"deepseek_v3\", \"num_hidden_layers\": 16, \"hidden_size\": 2048, \"num_attention_heads\": "
        "16, "
        "\"intermediate_size\": 8192, \"vocab_size\": 129280, \"max_position_embeddings\": 8192, \"kv_lora_rank\": "
        "512, "
        "\"q_lora_rank\": 1536, \"qk_nope_head_dim\": 128, \"qk_rope_head_dim\": 64, \"v_head_dim\": 128, "
        "\"n_routed_experts\": 64, \"num_experts_per_tok\": 8, \"moe_intermediate_size\": 1024, \"n_shared_experts\": "
        "2, "
        "\"first_k_dense_replace\": 3, \"num_nextn_predict_layers\": 1}",
        "{\"model_type\": \"gpt2\", \"n_layer\": 24, \"n_embd\": 1024, \"n_head\": 16, \"vocab_size\": 50257, "
        "\"n_positions\": 1024, \"num_hidden_layers\": 24, \"hidden_size\": 1024, \"num_attention_heads\": 16}",
        "{\"model_type\": \"qwen3_moe\", \"num_hidden_layers\": 24, \"hidden_size\": 2048, \"num_attention_heads\": "
        "32, "
        "\"num_key_value_heads\": 4, \"head_dim\": 128, \"intermediate_size\": 6144, \"vocab_size\": 151936, "
        "\"max_position_embeddings\": 40960, \"num_experts\": 16, \"num_experts_per_tok\": 2, "
        "\"moe_intermediate_size\": 768, \"decoder_sparse_step\": 2}"};
    if (list_all(state))
        return -1;
    add_config(source_path("tests/data/job/qwen2.json"));
    for (size_t i = 0; i < sizeof models / sizeof *models; i++)
        make(".json", models[i]);
    return 0;
}

/* ---- the written files ---- */

typedef struct counts {
    int written, refused, wrong;
} counts;

static void write_one(const char *path, const ek_job *was, ek_job *now, const char *what, counts *n)
{
    char name[64], why[256];
    char *text = NULL;
    size_t size = 0;
    ek_error err = {0};
    ek_job read;
    if (ek_job_write_text(was, now, &text, &size, &err)) {
        n->refused++;
        assert_true(err.message[0] && text == NULL);
        if (getenv("EK_VERBOSE"))
            print_message("# %s (%s): %s:%d:%d: %s\n", path, what, err.file, err.line, err.column, err.message);
        return;
    }
    n->written++;
    snprintf(name, sizeof name, "written%s", ek_job_file_extension(was));
    put_bytes(name, text, size);
    if (ek_job_read(below(name), NULL, NULL, &read, &err)) {
        n->wrong++;
        print_message("# %s (%s): %d:%d: %s\n", path, what, err.line, err.column, err.message);
    } else {
        if (!same_figures(&read, now, why, sizeof why)) {
            n->wrong++;
            print_message("# %s (%s): %s\n", path, what, why);
        }
        ek_job_clear(&read);
    }
    free(text);
}

static void a_written_file_is_the_job_that_was_changed(void **state)
{
    counts n = {0};
    (void)state;
    for (int c = 0; c < n_configs; c++) {
        ek_job was, now;
        char what[128];
        if (getenv("EK_ONLY") && !strstr(config[c], getenv("EK_ONLY")))
            continue;
        const ek_job_overrides overrides = overrides_of(config[c]);
        if (ek_job_read(config[c], &overrides, NULL, &was, NULL))
            continue;
        seed = (uint64_t)c;
        for (int i = 0; i < 10; i++)
            if (change_at_random(&was, &now, what, sizeof what)) {
                write_one(config[c], &was, &now, what, &n);
                ek_job_clear(&now);
            }
        ek_job_clear(&was);
    }
    print_message("# %d written, %d refused, %d wrong\n", n.written, n.refused, n.wrong);
    assert_int_equal(n.wrong, 0);
    assert_true(n.written > 400);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_written_file_is_the_job_that_was_changed),
    };
    return cmocka_run_group_tests_name("job write", tests, list_more, remove_top);
}
