/* Tests layouts written into job files: every file of the tests gets random legal changes, and the written file must be
 * read as the changed job, with the same peaks and the same step, and differ from the original only in lines of
 * settings. A layout that cannot be written is refused with a sentence. */
#include "effort.h"
#include "made_configs.h"

#include <math.h>

#include "evenkeel/cost.h"
#include "evenkeel/job_write.h"
#include "evenkeel/lint.h"
#include "evenkeel/memory.h"
#include "job/settings.h"
#include "job/write.h"

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

/* A config.json has no settings of a run. */
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

/* ---- unchanged parts ---- */

enum { MOST_LINES = 1200 };
typedef struct lines {
    int n;
    const char *line[MOST_LINES];
    int size[MOST_LINES];
} lines;

static void split_lines(const char *text, lines *out)
{
    out->n = 0;
    while (*text) {
        int n = (int)strcspn(text, "\n");
        assert_true(out->n < MOST_LINES);
        out->line[out->n] = text;
        out->size[out->n++] = n;
        text += n + (text[n] == '\n');
    }
}

static bool same_line(const lines *a, int i, const lines *b, int k)
{
    return a->size[i] == b->size[k] && memcmp(a->line[i], b->line[k], (size_t)a->size[i]) == 0;
}

/* Lines of each text that are not in the longest common sequence of both. */
static void mark_changed(const lines *a, const lines *b, bool *in_a, bool *in_b)
{
    static short length[MOST_LINES + 1][MOST_LINES + 1];
    for (int i = a->n; i >= 0; i--)
        for (int k = b->n; k >= 0; k--) {
            short down = i < a->n ? length[i + 1][k] : 0, right = k < b->n ? length[i][k + 1] : 0;
            bool same = i < a->n && k < b->n && same_line(a, i, b, k);
            length[i][k] = same ? (short)(length[i + 1][k + 1] + 1) : down > right ? down : right;
        }
    for (int i = 0; i < a->n; i++)
        in_a[i] = true;
    for (int k = 0; k < b->n; k++)
        in_b[k] = true;
    for (int i = 0, k = 0; i < a->n && k < b->n;) {
        if (same_line(a, i, b, k))
            in_a[i++] = in_b[k++] = false;
        else if (length[i + 1][k] >= length[i][k + 1])
            i++;
        else
            k++;
    }
}

/* Is the name in the line, whichever way it writes its dashes? */
static bool has_name(const char *line, int size, const char *name)
{
    int n = (int)strlen(name);
    for (int at = 0; at + n <= size; at++) {
        int i = 0;
        while (i < n && (line[at + i] == name[i] || (strchr("-_", line[at + i]) && strchr("-_", name[i]))))
            i++;
        if (i == n)
            return true;
    }
    return false;
}

/* Further names of the settings found: older ones of torchtitan, of MindSpeed-Core-MS. */
static bool is_setting(const ek__settings *s, const ek_job *job, const char *line, int size)
{
    static const char *const others[] = {
        "batch_size",      "data_parallel_degree",      "pipeline_config",
        "parallel_config", "parallel_optimizer_config", "parallel_optimizer_comm_recompute",
        "[parallelism]",   "recompute_config"};
    for (int i = 0; i < s->n; i++)
        if (has_name(line, size, s->setting[i].key))
            return true;
    for (int i = 0; ek__job_noted[i]; i++)
        if (has_name(line, size, ek__job_noted[i]))
            return true;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (has_name(line, size, others[i]))
            return true;
    for (int i = 0; i < job->n_patterns; i++) /* a separate line in a list of patterns */
        if (has_name(line, size, job->pattern[i].text))
            return true;
    return false;
}

/* The same but for their numbers, as TP=2 and TP=4 are. */
static bool same_words(const char *a, int n, const char *b, int m)
{
    int i = 0, k = 0;
    for (;;) {
        while (i < n && a[i] >= '0' && a[i] <= '9')
            i++;
        while (k < m && b[k] >= '0' && b[k] <= '9')
            k++;
        if (i == n || k == m)
            return i == n && k == m;
        if (a[i++] != b[k++])
            return false;
    }
}

static bool has_twin(const lines *a, int i, const lines *b, const bool *in_b)
{
    for (int k = 0; k < b->n; k++)
        if (in_b[k] && same_words(a->line[i], a->size[i], b->line[k], b->size[k]))
            return true;
    return false;
}

/* A value that another one refers to gets its anchor when the setting that had it changes. */
static bool has_anchor(const char *line, int size)
{
    return memchr(line, '*', (size_t)size) || memchr(line, '&', (size_t)size);
}

/* Several settings on a line: its first word is that of a line with a setting. */
static bool shares_line(const ek__settings *s, const ek_job *job, const lines *a, int i, const lines *b,
                        const bool *in_b)
{
    int n = 0;
    while (n < a->size[i] && (a->line[i][n] == ' ' || !strchr(" :", a->line[i][n])))
        n++;
    for (int k = 0; k < b->n; k++)
        if (in_b[k] && b->size[k] > n && memcmp(a->line[i], b->line[k], (size_t)n) == 0 &&
            is_setting(s, job, b->line[k], b->size[k]))
            return memchr(a->line[i], '{', (size_t)a->size[i]) || memcmp(a->line[i], "--", 2) == 0;
    return false;
}

/* A backslash at a line's end is added and removed with the line after it. */
static bool has_all_but_backslash(const lines *a, int i, const lines *b, const bool *in_b)
{
    int n = a->size[i];
    for (int k = 0; k < b->n; k++) {
        int shorter = n < b->size[k] ? n : b->size[k], longer = n < b->size[k] ? b->size[k] : n;
        const char *rest = n < b->size[k] ? b->line[k] : a->line[i];
        if (in_b[k] && longer == shorter + 2 && memcmp(rest + shorter, " \\", 2) == 0 &&
            memcmp(a->line[i], b->line[k], (size_t)shorter) == 0)
            return true;
    }
    return false;
}

static bool all_explained(const ek__settings *s, const ek_job *job, const lines *a, const bool *in_a, const lines *b,
                          const bool *in_b, const char *path)
{
    bool fine = true;
    for (int i = 0; i < a->n; i++) {
        bool explained = !in_a[i] || a->size[i] == 0 || is_setting(s, job, a->line[i], a->size[i]) ||
                         has_anchor(a->line[i], a->size[i]) || has_twin(a, i, b, in_b) ||
                         has_all_but_backslash(a, i, b, in_b) || shares_line(s, job, a, i, b, in_b);
        if (!explained)
            print_message("# %s: a line changed that is no setting: %.*s\n", path, a->size[i], a->line[i]);
        fine = fine && explained;
    }
    return fine;
}

/* Do only lines of settings differ? */
static bool keeps_the_rest(const char *path, const ek_job *now, const char *text)
{
    static lines before, after;
    static bool in_before[MOST_LINES], in_after[MOST_LINES];
    size_t size;
    char *old = slurp(path, &size);
    ek_job copy, is; /* as the file is, whatever the command line said */
    ek__settings s;
    assert_non_null(old);
    assert_int_equal(ek_job_read(path, NULL, NULL, &is, NULL), EK_OK);
    assert_int_equal(ek_job_copy(now, &copy, NULL), EK_OK);
    assert_int_equal(ek__settings_find(&is, &copy, &s, NULL), EK_OK);
    split_lines(old, &before);
    split_lines(text, &after);
    mark_changed(&before, &after, in_before, in_after);
    bool fine = all_explained(&s, &is, &before, in_before, &after, in_after, path);
    fine = all_explained(&s, &is, &after, in_after, &before, in_before, path) && fine;
    ek__settings_clear(&s);
    ek_job_clear(&copy);
    ek_job_clear(&is);
    free(old);
    return fine;
}

/* ---- the linter ---- */

/* Errors of a rule, or of all of them. */
static int count_errors(const char *path, ek_lint *lint)
{
    ek_lint_options options = ek_lint_options_default();
    ek_error err = {0};
    options.least = EK_LINT_ERROR;
    options.kind = strstr(path, ".args") ? (int)EK_LINT_SHELL : -1;
    if (ek_lint_run(&path, 1, &options, NULL, lint, &err))
        fail_msg("%s: %s", path, err.message);
    return lint->n_findings;
}

/* Is there an error of a rule of which the file had fewer? */
static bool has_new_error(const char *path, const char *written)
{
    ek_lint before, after;
    const bool json = strstr(path, ".json") != NULL;
    int n = count_errors(written, &after), had = json ? 0 : count_errors(path, &before);
    bool more = false;
    for (int i = 0; i < n; i++) {
        int now = 0, then = 0;
        for (int k = 0; k < n; k++)
            now += after.finding[k].rule == after.finding[i].rule;
        for (int k = 0; k < had; k++)
            then += before.finding[k].rule == after.finding[i].rule;
        if (now > then) {
            more = true;
            print_message("# %s: %s: %s\n", path, after.finding[i].rule->id, after.finding[i].message);
        }
    }
    ek_lint_clear(&after);
    if (!json)
        ek_lint_clear(&before);
    return more;
}

/* ---- all files ---- */

static void check_written(const char *path, const ek_job *was, const ek_job *now, const char *what, const char *text,
                          counts *n)
{
    char name[64], why[256];
    ek_error err = {0};
    ek_job read;
    snprintf(name, sizeof name, "written%s", ek_job_file_extension(was));
    put(name, text);
    if (ek_job_read(below(name), NULL, NULL, &read, &err)) {
        n->wrong++;
        print_message("# %s (%s): %d:%d: %s\n", path, what, err.line, err.column, err.message);
        return;
    }
    if (!same_figures(&read, now, why, sizeof why)) {
        n->wrong++;
        print_message("# %s (%s): %s\n", path, what, why);
    }
    ek_job_clear(&read);
    if (has_new_error(path, below(name)) || (!strstr(path, ".json") && !keeps_the_rest(path, now, text))) {
        n->wrong++;
        print_message("# %s (%s)\n", path, what);
    }
}

static void write_one(const char *path, const ek_job *was, ek_job *now, const char *what, counts *n)
{
    char *text = NULL;
    size_t size = 0;
    ek_error err = {0};
    if (ek_job_write_text(was, now, &text, &size, &err)) {
        n->refused++;
        assert_true(err.message[0] && err.file[0] && text == NULL);
        if (getenv("EK_VERBOSE"))
            print_message("# %s (%s): %s:%d:%d: %s\n", path, what, err.file, err.line, err.column, err.message);
        return;
    }
    n->written++;
    assert_int_equal(strlen(text), size);
    check_written(path, was, now, what, text, n);
    free(text);
}

static void a_written_file_is_the_job_that_was_changed(void **state)
{
    counts n = {0};
    (void)state;
    for (int c = 0; c < n_configs; c++) {
        ek_job was, now;
        char what[128];
        const ek_job_overrides overrides = overrides_of(config[c]);
        if (ek_job_read(config[c], &overrides, NULL, &was, NULL))
            continue;
        seed = (uint64_t)c;
        for (int i = 0; i < effort(10, 2); i++)
            if (change_at_random(&was, &now, what, sizeof what)) {
                write_one(config[c], &was, &now, what, &n);
                ek_job_clear(&now);
            }
        ek_job_clear(&was);
    }
    print_message("# %d written, %d refused, %d wrong\n", n.written, n.refused, n.wrong);
    assert_int_equal(n.wrong, 0);
    assert_true(n.written > effort(300, 40) && n.refused < n.written / 5);
}

/* A job without changes is its own file, byte for byte. */
static void nothing_changes_where_nothing_was_changed(void **state)
{
    (void)state;
    for (int c = 0; c < n_configs; c++) {
        ek_job was, now;
        char *text = NULL;
        size_t size = 0, old_size = 0;
        ek_error err = {0};
        if (strstr(config[c], ".json") || ek_job_read(config[c], NULL, NULL, &was, NULL))
            continue;
        assert_int_equal(ek_job_copy(&was, &now, NULL), EK_OK);
        if (ek_job_write_text(&was, &now, &text, &size, &err))
            fail_msg("%s: %s", config[c], err.message);
        char *old = slurp(config[c], &old_size);
        assert_non_null(old);
        assert_int_equal(size, old_size);
        assert_memory_equal(text, old, size);
        free(old);
        free(text);
        ek_job_clear(&was);
        ek_job_clear(&now);
    }
}

/* Overrides of the command line are in the written file. */
static void overrides_are_written(void **state)
{
    int n_written = 0;
    (void)state;
    for (int c = 0; c < n_configs; c++) {
        ek_job was, now;
        counts n = {0};
        ek_job_overrides overrides = ek_job_overrides_none();
        overrides.data = 8;
        overrides.tensor = 4;
        overrides.pipeline = 2;
        overrides.n_micro_batches = 16;
        if (ek_job_read(config[c], &overrides, NULL, &was, NULL))
            continue;
        assert_int_equal(ek_job_copy(&was, &now, NULL), EK_OK);
        write_one(config[c], &was, &now, "overrides", &n);
        assert_int_equal(n.wrong, 0);
        n_written += n.written;
        ek_job_clear(&was);
        ek_job_clear(&now);
    }
    print_message("# %d written\n", n_written);
    assert_true(n_written > 20);
}

/* ---- bytes ---- */

#define MODEL "--num-layers 24 --hidden-size 2048 --num-attention-heads 16 --seq-length 4096 --vocab-size 50257 --bf16"

/* The changes of a case; 0 and -1: nothing. */
typedef struct asked {
    int data, tensor, pipeline, context, batch, n_micro_batches, full, distributed, sequence;
} asked;
#define NOTHING .full = -1, .distributed = -1, .sequence = -1

static const struct {
    const char *what, *name, *text, *expected;
    asked now;
} exact[] = {
    {"a value in a variable of its own changes there, and nodes follow",
     "a.sh",
     "#!/bin/bash\nNNODES=2  # of eight\nTP=2\ntorchrun --nproc_per_node 8 --nnodes $NNODES p.py " MODEL
     " --tensor-model-parallel-size \"$TP\" --micro-batch-size 1\n",
     "#!/bin/bash\nNNODES=4  # of eight\nTP=4\ntorchrun --nproc_per_node 8 --nnodes $NNODES p.py " MODEL
     " --tensor-model-parallel-size \"$TP\" --micro-batch-size 1\n",
     {.tensor = 4, NOTHING}},
    {"a variable that others use, too, stays, and the use is replaced",
     "b.sh",
     "TP=2\nOUT=out_tp${TP}\ntorchrun --nproc_per_node=8 p.py " MODEL
     " --tensor-model-parallel-size ${TP} --micro-batch-size 1 --save $OUT\n",
     "TP=2\nOUT=out_tp${TP}\ntorchrun --nproc_per_node=8 p.py " MODEL
     " --tensor-model-parallel-size 4 --micro-batch-size 1 --save $OUT\n",
     {.tensor = 4, .data = 2, NOTHING}},
    {"a default stays one",
     "c.sh",
     "TP=${TP:-2}\ntorchrun --nproc_per_node 8 p.py " MODEL " --tensor-model-parallel-size $TP --micro-batch-size 1\n",
     "TP=${TP:-4}\ntorchrun --nproc_per_node 8 p.py " MODEL " --tensor-model-parallel-size $TP --micro-batch-size 1\n",
     {.tensor = 4, .data = 2, NOTHING}},
    {"lines of a command that go end it before",
     "d.sh",
     "torchrun --nproc_per_node 8 p.py \\\n  " MODEL
     " \\\n  --micro-batch-size 1 \\\n  --recompute-granularity full \\\n"
     "  --recompute-method uniform \\\n  --recompute-num-layers 1\necho done\n",
     "torchrun --nproc_per_node 8 p.py \\\n  " MODEL " \\\n  --micro-batch-size 1\necho done\n",
     {.full = 0, .distributed = -1, .sequence = -1}},
    {"an argument that goes from the middle of a line takes its blank along",
     "e.sh",
     "torchrun --nproc_per_node 8 p.py --use-distributed-optimizer " MODEL " --micro-batch-size 1 # the run\n",
     "torchrun --nproc_per_node 8 p.py " MODEL " --micro-batch-size 1 # the run\n",
     {.full = -1, .distributed = 0, .sequence = -1}},
    {"a new argument gets a line like that of its kind",
     "f.sh",
     "ARGS=(\n\t" MODEL "\n\t--micro-batch-size 1   # small\n)\r\ntorchrun --nproc_per_node 8 p.py \"${ARGS[@]}\"\n",
     "ARGS=(\n\t" MODEL
     "\n\t--micro-batch-size 1   # small\n\t--global-batch-size 32\n)\r\ntorchrun --nproc_per_node 8 "
     "p.py \"${ARGS[@]}\"\n",
     {.n_micro_batches = 4, NOTHING}},
    {"a new line in a command goes on as the others do",
     "g.sh",
     "torchrun --nproc_per_node 8 p.py \\\r\n    " MODEL " \\\r\n    --tensor-model-parallel-size 2 \\\r\n"
     "    --micro-batch-size 1\r\n",
     "torchrun --nproc_per_node 8 p.py \\\r\n    " MODEL " \\\r\n    --tensor-model-parallel-size 2 \\\r\n"
     "    --sequence-parallel \\\r\n    --micro-batch-size 1\r\n",
     {.full = -1, .distributed = -1, .sequence = 1}},
    {"behind the last line of a command it ends the command",
     "h.sh",
     "torchrun --nproc_per_node 8 p.py \\\n    " MODEL " \\\n    --micro-batch-size 1\necho done\n",
     "torchrun --nproc_per_node 8 p.py \\\n    " MODEL " \\\n    --micro-batch-size 1 \\\n    --global-batch-size 16\n"
     "echo done\n",
     {.n_micro_batches = 2, NOTHING}},
    {"nodes and devices that Slurm is told follow",
     "i.sh",
     "#!/bin/bash\n#SBATCH --nodes=2 --gpus-per-node=a100:8\nsrun p.py " MODEL " --micro-batch-size 1\n",
     "#!/bin/bash\n#SBATCH --nodes=4 --gpus-per-node=a100:8\nsrun p.py " MODEL " --micro-batch-size 1\n",
     {.data = 32, NOTHING}},
    {"fewer ranks than a node has are fewer of a node",
     "j.sh",
     "GPUS_PER_NODE=8\nNNODES=1\nWORLD_SIZE=$((GPUS_PER_NODE * NNODES))\ntorchrun p.py " MODEL
     " --micro-batch-size 1\n",
     "GPUS_PER_NODE=4\nNNODES=1\nWORLD_SIZE=$((GPUS_PER_NODE * NNODES))\ntorchrun p.py " MODEL
     " --micro-batch-size 1\n",
     {.data = 4, NOTHING}},
    {"an older spelling and a value behind = stay",
     "k.args",
     MODEL " --micro-batch-size=1 --num-experts 8 --moe-expert-parallel-size=2 --data-parallel-size=8\n",
     MODEL " --micro-batch-size=2 --num-experts 8 --moe-expert-parallel-size=2 --data-parallel-size=8\n",
     {.batch = 2, NOTHING}},
    {"comments with arguments, and arguments that nothing refers to, stay",
     "l.sh",
     "# --tensor-model-parallel-size 2\nOLD=\"--tensor-model-parallel-size 2\"\nA=\"" MODEL
     " --tensor-model-parallel-size 2 --micro-batch-size 1\"\ntorchrun --nproc_per_node 8 p.py $A\n",
     "# --tensor-model-parallel-size 2\nOLD=\"--tensor-model-parallel-size 2\"\nA=\"" MODEL
     " --tensor-model-parallel-size 1 --micro-batch-size 1\"\ntorchrun --nproc_per_node 8 p.py $A\n",
     {.tensor = 1, .data = 8, NOTHING}},
    {"ranks that only the environment says become its defaults",
     "l2.sh",
     "torchrun --nproc_per_node 8 --nnodes \"$NNODES\" p.py " MODEL " --micro-batch-size 1\n",
     "torchrun --nproc_per_node 8 --nnodes \"${NNODES:-4}\" p.py " MODEL " --micro-batch-size 1\n",
     {.data = 32, NOTHING}},
    {"a launcher of one node is told of more",
     "l3.sh",
     "deepspeed --num_gpus 8 p.py " MODEL " --micro-batch-size 1\n",
     "deepspeed --num_gpus 8 --num_nodes 2 p.py " MODEL " --micro-batch-size 1\n",
     {.data = 16, NOTHING}},
    {"an argument that is given twice changes in both places",
     "l4.sh",
     "A=\"" MODEL " --micro-batch-size 1\"\ntorchrun --nproc_per_node 8 p.py $A --micro-batch-size 1\n",
     "A=\"" MODEL " --micro-batch-size 2\"\ntorchrun --nproc_per_node 8 p.py $A --micro-batch-size 2\n",
     {.batch = 2, NOTHING}},
    {"a variable through another one, with quotes",
     "l5.sh",
     "MBS='1'\nexport MICRO=\"$MBS\"\nmsrun --worker_num=8 p.py " MODEL " --micro-batch-size $MICRO\n",
     "MBS='2'\nexport MICRO=\"$MBS\"\nmsrun --worker_num=16 p.py " MODEL " --micro-batch-size $MICRO\n",
     {.batch = 2, .data = 16, NOTHING}},
    {"a sum is no place for a value",
     "l6.sh",
     "N=1\nMBS=$((N * 1))\ntorchrun --nproc_per_node 8 p.py " MODEL " --micro-batch-size $MBS\n",
     "N=1\nMBS=$((N * 1))\ntorchrun --nproc_per_node 8 p.py " MODEL " --micro-batch-size 2\n",
     {.batch = 2, NOTHING}},
    {"no value is said of ranks that nothing says",
     "l7.args",
     MODEL " --micro-batch-size 1\n",
     MODEL " --micro-batch-size 1 --data-parallel-size 4\n",
     {.data = 4, NOTHING}},
    {"a TOML's missing section comes behind everything, its other lines stay",
     "m.toml",
     "# mine\n[model]\nname = \"llama3\"\nflavor = \"8B\" # small\n\n[training]\nlocal_batch_size = 2",
     "# mine\n[model]\nname = \"llama3\"\nflavor = \"8B\" # small\n\n[training]\nlocal_batch_size = "
     "2\n\n[parallelism]\n"
     "tensor_parallel_degree = 2\n",
     {.tensor = 2, NOTHING}},
    {"dotted keys and inline tables are added to as they are",
     "n.toml",
     "model = {name = \"llama3\", flavor = \"8B\"}\nparallelism.tensor_parallel_degree = 2 # two\n"
     "training = {local_batch_size = 2}\n",
     "model = {name = \"llama3\", flavor = \"8B\"}\nparallelism.tensor_parallel_degree = 4 # two\n"
     "parallelism.context_parallel_degree = 2\ntraining = {local_batch_size = 2}\n",
     {.tensor = 4, .context = 2, NOTHING}},
    {"keys of older versions are changed where they stand",
     "o.toml",
     "[model]\r\nname = \"llama3\"\r\nflavor = \"8B\"\r\n[training]\r\nbatch_size = 8\r\n"
     "data_parallel_degree = 4\r\ntensor_parallel_degree = 1\r\n[experimental]\r\npipeline_parallel_degree = 2\r\n",
     "[model]\r\nname = \"llama3\"\r\nflavor = \"8B\"\r\n[training]\r\nbatch_size = 8\r\n"
     "data_parallel_degree = 2\r\ntensor_parallel_degree = 2\r\n[experimental]\r\npipeline_parallel_degree = 2\r\n"
     "pipeline_parallel_microbatch_size = 1\r\n",
     {.data = 2, .tensor = 2, NOTHING}},
    {"a key that is new goes where older versions have its kind",
     "o2.toml",
     "[model]\nname = \"llama3\"\nflavor = \"8B\"\n[training]\nbatch_size = 8\ndata_parallel_degree = 4\n"
     "[experimental]\npipeline_parallel_degree = 1\n",
     "[model]\nname = \"llama3\"\nflavor = \"8B\"\n[training]\nbatch_size = 8\ndata_parallel_degree = 4\n"
     "tensor_parallel_degree = 2\n[experimental]\npipeline_parallel_degree = 1\ncontext_parallel_degree = 2\n",
     {.tensor = 2, .context = 2, NOTHING}},
    {"values that share an anchor and a key change together, in a YAML",
     "p.yaml",
     "context: {mode: 0}\nrunner_config:\n  batch_size: &b 1 # sequences\nparallel_config: {data_parallel: 8}\n"
     "other: &b2 8\nmodel:\n  model_config:\n    type: LlamaConfig\n    batch_size: *b\n    seq_length: 4096\n"
     "    hidden_size: 2048\n    num_layers: 24\n    num_heads: 16\n    vocab_size: 32000\n",
     "context: {mode: 0}\nrunner_config:\n  batch_size: &b 2 # sequences\nparallel_config: {data_parallel: 8, "
     "model_parallel: 2, vocab_emb_dp: False}\n"
     "other: &b2 8\nmodel:\n  model_config:\n    type: LlamaConfig\n    batch_size: *b\n    seq_length: 4096\n"
     "    hidden_size: 2048\n    num_layers: 24\n    num_heads: 16\n    vocab_size: 32000\n",
     {.batch = 2, .tensor = 2, NOTHING}},
    {"inputs that were cut over the data-parallel ranks are cut over those that there are then",
     "p2.yaml",
     "train_dataset: {input_columns: ['input_ids', 'labels']}\nparallel: {full_batch: False, dataset_strategy: [[8, "
     "1], "
     "[1, 4]]}\nparallel_config: {data_parallel: 8, model_parallel: 2}\n"
     "model:\n  model_config: {type: LlamaConfig, seq_length: 4096, hidden_size: 2048, num_layers: 24, num_heads: 16, "
     "vocab_size: 32000}\n",
     "train_dataset: {input_columns: ['input_ids', 'labels']}\nparallel: {full_batch: False, dataset_strategy: [[4, "
     "1], "
     "[1, 4]]}\nparallel_config: {data_parallel: 4, model_parallel: 2}\n"
     "model:\n  model_config: {type: LlamaConfig, seq_length: 4096, hidden_size: 2048, num_layers: 24, num_heads: 16, "
     "vocab_size: 32000}\n",
     {.data = 4, NOTHING}},
};

static void ask(const asked *a, ek_job *job)
{
    ek_job_parallel *p = &job->parallel;
    p->data = a->data ? a->data : p->data;
    p->tensor = a->tensor ? a->tensor : p->tensor;
    p->context = a->context ? a->context : p->context;
    p->batch = a->batch ? a->batch : p->batch;
    p->n_micro_batches = a->n_micro_batches ? a->n_micro_batches : p->n_micro_batches;
    p->sequence_parallel = a->sequence >= 0 ? a->sequence > 0 : p->sequence_parallel;
    job->states.shard_optimizer = a->distributed >= 0 ? a->distributed > 0 : job->states.shard_optimizer;
    for (int c = 0; c < n_cells(job) && a->full == 0; c++)
        job->plan.full[c] = 0;
}

static void read_and_ask(const char *name, const char *text, const asked *a, ek_job *was, ek_job *now)
{
    ek_error err = {0};
    put(name, text);
    if (ek_job_read(below(name), NULL, NULL, was, &err))
        fail_msg("%s: %s", name, err.message);
    assert_int_equal(ek_job_copy(was, now, NULL), EK_OK);
    ask(a, now);
    assert_int_equal(ek__job_follow(was, now, NULL), EK_OK);
}

static void only_these_bytes_change(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof exact / sizeof *exact; i++) {
        ek_job was, now;
        char *text = NULL;
        size_t size = 0;
        ek_error err = {0};
        read_and_ask(exact[i].name, exact[i].text, &exact[i].now, &was, &now);
        if (ek_job_write_text(&was, &now, &text, &size, &err))
            fail_msg("%s: %s", exact[i].what, err.message);
        if (strcmp(text, exact[i].expected) != 0)
            fail_msg("%s:\n%s---- instead of\n%s", exact[i].what, text, exact[i].expected);
        free(text);
        ek_job_clear(&was);
        ek_job_clear(&now);
    }
}

/* A file lists selected operators before communication; a job may have them in any order. */
static void the_order_of_kinds_of_patterns_is_no_difference(void **state)
{
    (void)state;
    static const char text[] =
        "model:\n  model_config:\n    type: LlamaConfig\n    seq_length: 256\n    hidden_size: 64\n"
        "    num_layers: 8\n    num_heads: 4\n    vocab_size: 512\n"
        "parallel_config:\n  data_parallel: 2\n  pipeline_stage: 2\n  micro_batch_num: 4\n"
        "recompute_config:\n  recompute: False\n  select_recompute: {'attention_norm\\.norm': True}\n"
        "  select_comm_recompute: {'ffn_norm\\.norm': True}\n";
    ek_job was, now;
    char *out = NULL;
    size_t size = 0;
    ek_error err = {0};
    read_and_ask("p.yaml", text, &(asked){.data = 4, NOTHING}, &was, &now);
    assert_int_equal(now.n_patterns, 2);
    const ek_pattern first = now.pattern[0];
    assert_int_not_equal(first.kind, now.pattern[1].kind);
    now.pattern[0] = now.pattern[1];
    now.pattern[1] = first;
    if (ek_job_write_text(&was, &now, &out, &size, &err))
        fail_msg("%s", err.message);
    assert_non_null(strstr(out, "data_parallel: 4"));
    free(out);
    ek_job_clear(&was);
    ek_job_clear(&now);
}

/* Where a file counts layers chunk by chunk, counts of two stages mean nothing to four: all lists in it are written
 * again, that of full recomputation first, even if it has only zeros. Words for all layers stay as they are. */
static void lists_are_written_for_the_stages_that_there_are(void **state)
{
    (void)state;
    static const char text[] =
        "model:\n  model_config:\n    type: LlamaConfig\n    seq_length: 256\n    hidden_size: 64\n"
        "    num_layers: 8\n    offset: 0\n    num_heads: 4\n    vocab_size: 512\n    use_flash_attention: True\n"
        "parallel_config:\n  data_parallel: 2\n  pipeline_stage: %d\n  micro_batch_num: 8\n"
        "recompute_config:\n  recompute: %s\n  %s: %s\n";
    static const struct {
        const char *full, *key, *value, *full_then, *then;
    } cases[] = {
        {"False", "select_recompute", "True", "False", "True"},
        {"False", "select_recompute", "[4, 4]", "[0, 0, 0, 0]", "[2, 2, 2, 2]"},
        {"False", "select_comm_recompute", "True", "False", "True"},
        {"False", "select_comm_recompute", "[4, 4]", "[0, 0, 0, 0]", "[2, 2, 2, 2]"},
        {"False", "select_recompute", "{'ffn_norm\\.norm': True}", "False", "{'ffn_norm\\.norm': True}"},
        {"False", "select_recompute", "{'ffn_norm\\.norm': [4, 4]}", "[0, 0, 0, 0]", "['ffn_norm\\.norm']"},
        {"False", "select_comm_recompute", "['ffn_norm\\.norm']", "False", "['ffn_norm\\.norm']"},
        {"False", "select_comm_recompute_exclude", "{'ffn_norm\\.norm': [4, 4]}", "[0, 0, 0, 0]",
         "['ffn_norm\\.norm']"},
        {"True", "select_recompute", "False", "True", "False"},
        {"[4, 4]", "select_recompute", "False", "True", "False"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char before[1024], after[1024];
        ek_job was, now;
        char *out = NULL;
        size_t size = 0;
        ek_error err = {0};
        snprintf(before, sizeof before, text, 2, cases[i].full, cases[i].key, cases[i].value);
        snprintf(after, sizeof after, text, 4, cases[i].full_then, cases[i].key, cases[i].then);
        read_and_ask("lists.yaml", before, &(asked){NOTHING}, &was, &now);
        assert_true(respread(&now, 4, 1, now.schedule));
        assert_int_equal(ek__job_follow(&was, &now, NULL), EK_OK);
        if (ek_job_write_text(&was, &now, &out, &size, &err))
            fail_msg("%s: %s: %s", cases[i].key, cases[i].value, err.message);
        assert_string_equal(out, after);
        free(out);
        ek_job_clear(&was);
        ek_job_clear(&now);
    }
}

/* A job changed to other degrees equals the job that its reader makes of the file with the same degrees. Degrees do not
 * determine two things: a table that was not cut is cut over new ranks, which a file of MindFormers has to set, and
 * experts that are also spread over tensor-parallel ranks grow with these. */
static void what_follows_is_what_the_reader_derives(void **state)
{
    (void)state;
    static const struct {
        double data, tensor, context, expert; /* times as many */
    } times[] = {{2, 1, 1, 1},   {1, 2, 1, 1},   {1, 1, 2, 1},   {1, 1, 1, 2}, {0.5, 1, 1, 1},
                 {1, 0.5, 1, 1}, {1, 1, 0.5, 1}, {1, 1, 1, 0.5}, {2, 2, 1, 1}, {0.5, 2, 1, 1}};
    int n = 0, n_wrong = 0;
    for (int c = 0; c < n_configs; c++) {
        ek_job was;
        const ek_job_overrides first = overrides_of(config[c]);
        if (ek_job_read(config[c], &first, NULL, &was, NULL))
            continue;
        for (size_t i = 0; i < sizeof times / sizeof *times && !ek__job_has(&was, "moe-tp-extend-ep"); i++) {
            ek_job now, wanted;
            char why[256];
            ek_job_overrides overrides = first;
            overrides.data = (int)(times[i].data * was.parallel.data);
            overrides.tensor = (int)(times[i].tensor * was.parallel.tensor);
            overrides.context = (int)(times[i].context * was.parallel.context);
            overrides.expert = (int)(times[i].expert * was.parallel.expert);
            overrides.n_micro_batches = was.parallel.n_micro_batches * was.parallel.n_accumulation;
            if (!overrides.data || !overrides.tensor || !overrides.context || !overrides.expert ||
                ek_job_read(config[c], &overrides, NULL, &wanted, NULL))
                continue;
            assert_int_equal(ek_job_copy(&was, &now, NULL), EK_OK);
            now.parallel.data = overrides.data;
            now.parallel.tensor = overrides.tensor;
            now.parallel.context = overrides.context;
            now.parallel.expert = overrides.expert;
            assert_int_equal(ek__job_follow(&was, &now, NULL), EK_OK);
            if (was.parallel.tensor * was.parallel.context == 1) {
                wanted.parallel.table_split = now.parallel.table_split;
                wanted.parallel.head_split = now.parallel.head_split;
            }
            n++;
            if (ek__job_differs(&now, &wanted, why, sizeof why)) {
                n_wrong++;
                print_message("# %s, %d x %d x %d, experts over %d: %s\n", config[c], overrides.data, overrides.tensor,
                              overrides.context, overrides.expert, why);
            }
            ek_job_clear(&now);
            ek_job_clear(&wanted);
        }
        ek_job_clear(&was);
    }
    print_message("# %d jobs, %d wrong\n", n, n_wrong);
    assert_int_equal(n_wrong, 0);
    assert_true(n > 250);
}

#define WAITING(more)                                                                                                  \
    "torchrun --nproc_per_node 8 p.py " MODEL " --tensor-model-parallel-size 2 --micro-batch-size 1 " more "\n"

/* Switches that are given and waited for another one are on as soon as that one is, and off without it. */
static void switches_wait_for_others(void **state)
{
    (void)state;
    static const struct {
        const char *without, *with;
        asked on, off;
        size_t at; /* in the job's run: the waiting part */
    } cases[] = {
        {WAITING("--overlap-grad-reduce --overlap-param-gather"),
         WAITING("--overlap-grad-reduce --overlap-param-gather --use-distributed-optimizer"),
         {.full = -1, .distributed = 1, .sequence = -1},
         {.full = -1, .distributed = 0, .sequence = -1},
         offsetof(ek_job_run, overlap_weights)},
        {WAITING("--tp-comm-overlap"),
         WAITING("--tp-comm-overlap --sequence-parallel"),
         {.full = -1, .distributed = -1, .sequence = 1},
         {.full = -1, .distributed = -1, .sequence = 0},
         offsetof(ek_job_run, overlap_tensor)},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int on = 0; on < 2; on++) {
            ek_job was, now, wanted, same;
            char why[256];
            read_and_ask("w.sh", on ? cases[i].with : cases[i].without, &(asked){NOTHING}, &wanted, &same);
            read_and_ask("w.sh", on ? cases[i].without : cases[i].with, on ? &cases[i].on : &cases[i].off, &was, &now);
            assert_int_equal(*((const bool *)&wanted.run + cases[i].at), on);
            assert_int_equal(*((const bool *)&was.run + cases[i].at), !on);
            if (ek__job_differs(&now, &wanted, why, sizeof why))
                fail_msg("%s: %s", cases[i].with, why);
            assert_int_equal(*((const bool *)&now.run + cases[i].at), on);
            ek_job_clear(&same);
            ek_job_clear(&wanted);
            ek_job_clear(&was);
            ek_job_clear(&now);
        }
}

/* Values that follow from degrees are set again by the framework's rules; those of a user or a calibration stay. */
static void rules_that_were_told_stay(void **state)
{
    (void)state;
    static const char *const rules[] = {"loss_buffers=3"};
    put("rules.toml", "[model]\nname = \"llama3\"\nflavor = \"8B\"\n[parallelism]\ndata_parallel_shard_degree = 8\n");
    for (int told = 0; told < 2; told++) {
        ek_job_overrides overrides = ek_job_overrides_none();
        overrides.rules = rules;
        overrides.n_rules = told;
        ek_job was, now;
        ek_error err = {0};
        if (ek_job_read(below("rules.toml"), &overrides, NULL, &was, &err))
            fail_msg("%s", err.message);
        was.rules.constant_mb = 700;
        was.rules.activation_scale = 1.25;
        was.rules.allocation = EK_ALLOCATION_WHOLE;
        assert_int_equal(ek_job_copy(&was, &now, NULL), EK_OK);
        now.parallel.tensor = 2;
        assert_int_equal(ek__job_follow(&was, &now, NULL), EK_OK);
        assert_int_equal(now.rules.loss_buffers, told ? 3 : 4); /* of tensor parallel ranks */
        assert_true(now.rules.constant_mb == 700 && now.rules.activation_scale == 1.25);
        assert_int_equal(now.rules.allocation, EK_ALLOCATION_WHOLE);
        ek_job_clear(&was);
        ek_job_clear(&now);
    }
}

/* A job of a config.json becomes one of a script: with the script's rules and switches, but given values stay. */
static void a_script_keeps_the_rules_that_were_told(void **state)
{
    (void)state;
    static const char *const rules[] = {"loss_buffers=5"};
    ek_job script, same, was, now;
    ek_error err = {0};
    read_and_ask("r.sh", "torchrun --nproc_per_node 8 p.py " MODEL " --micro-batch-size 1\n", &(asked){NOTHING},
                 &script, &same);
    for (int told = 0; told < 2; told++) {
        const char *path = source_path("tests/data/job/qwen2.json");
        ek_job_overrides overrides = overrides_of(path);
        overrides.rules = rules;
        overrides.n_rules = told;
        if (ek_job_read(path, &overrides, NULL, &was, &err))
            fail_msg("%s", err.message);
        was.rules.constant_mb = 700;
        was.rules.loss_fused = !script.rules.loss_fused; /* not given */
        assert_int_equal(ek_job_copy(&was, &now, NULL), EK_OK);
        now.run.offload_optimizer = true;
        ek__take_script_run(&script, &was, &now);
        assert_int_equal(now.rules.loss_buffers, told ? 5 : script.rules.loss_buffers);
        assert_true(now.rules.constant_mb == 700);
        assert_int_equal(now.rules.loss_fused, script.rules.loss_fused);
        assert_true(now.run.offload_optimizer);
        ek_job_clear(&was);
        ek_job_clear(&now);
    }
    ek_job_clear(&script);
    ek_job_clear(&same);
}

/* ---- settings in words ---- */

static void to_nothing(ek_job *job)
{
    (void)job;
}

static void to_overlapped(ek_job *job)
{
    job->run.overlap_tensor = true;
}

static void to_overlapped_and_compiled(ek_job *job)
{
    job->run.overlap_tensor = true;
    job->run.launch = EK_LAUNCH_COMPILED;
}

static void to_fused(ek_job *job)
{
    job->run.fused_optimizer = true;
}

static void to_the_device(ek_job *job)
{
    job->run.offload_optimizer = false;
}

static void to_the_usual_schedule(ek_job *job)
{
    job->schedule = ek_schedule_default(job->plan.n_chunks, false);
}

static void to_v_half(ek_job *job)
{
    job->schedule = ek_schedule_find("v-half");
}

static void to_graphs(ek_job *job)
{
    job->run.launch = EK_LAUNCH_GRAPH;
}

#define TITAN    "[model]\nname = \"llama3\"\nflavor = \"8B\"\n[training]\nlocal_batch_size = 2\n"
#define IN_A_V   RUN_OF_8 " --pipeline-model-parallel-size 2 --global-batch-size 32"
#define NO_KEY   "the framework has no key for it"
#define RUN_OF_8 "torchrun --nproc_per_node 8 p.py " MODEL " --micro-batch-size 1"

/* A report's text on a change, to the letter: values before removed settings, the last one after an "and". */
static void settings_are_said_in_a_sentence(void **state)
{
    (void)state;
    static const struct {
        const char *name, *text;
        asked now;
        void (*change)(ek_job *job);
        const char *says, *why;
    } cases[] = {
        {"s.sh",
         RUN_OF_8 " --recompute-granularity full --recompute-method uniform --recompute-num-layers 1\n",
         {.full = 0, .distributed = -1, .sequence = -1},
         to_nothing,
         "(without --recompute-granularity, --recompute-method and --recompute-num-layers)",
         NULL},
        {"s.sh",
         RUN_OF_8 " --recompute-granularity full --recompute-method uniform --use-distributed-optimizer\n",
         {.full = 0, .distributed = 0, .sequence = -1},
         to_nothing,
         "(without --use-distributed-optimizer, --recompute-granularity and --recompute-method)",
         NULL},
        {"s.sh",
         RUN_OF_8 " --recompute-granularity full --recompute-method uniform\n",
         {.full = 0, .distributed = -1, .sequence = -1},
         to_nothing,
         "(without --recompute-granularity and --recompute-method)",
         NULL},
        {"s.sh",
         RUN_OF_8 " --use-distributed-optimizer\n",
         {.full = -1, .distributed = 0, .sequence = -1},
         to_nothing,
         "(without --use-distributed-optimizer)",
         NULL},
        {"s.sh",
         RUN_OF_8 " --use-distributed-optimizer\n",
         {.full = -1, .distributed = 0, .sequence = -1, .batch = 2},
         to_nothing,
         "--micro-batch-size 2 (without --use-distributed-optimizer)",
         NULL},
        {"s.sh",
         IN_A_V " --schedules-method dualpipev\n",
         {NOTHING},
         to_the_usual_schedule,
         "--num-virtual-stages-per-pipeline-rank 2 (without --schedules-method)",
         NULL},
        {"s.sh",
         IN_A_V " --zero-bubble-v-schedule --zero-bubble-v-schedule-mem-setup half\n",
         {NOTHING},
         to_the_usual_schedule,
         "--num-virtual-stages-per-pipeline-rank 2 (without --zero-bubble-v-schedule and "
         "--zero-bubble-v-schedule-mem-setup)",
         NULL},
        {"s.sh",
         IN_A_V " --zero-bubble-v-schedule\n",
         {NOTHING},
         to_the_usual_schedule,
         "--num-virtual-stages-per-pipeline-rank 2 (without --zero-bubble-v-schedule)",
         NULL},
        {"s.sh",
         IN_A_V " --schedules-method dualpipev\n",
         {NOTHING},
         to_v_half,
         "--zero-bubble-v-schedule --zero-bubble-v-schedule-mem-setup half (without --schedules-method)",
         NULL},
        {"s.sh",
         IN_A_V " --zero-bubble-v-schedule\n",
         {NOTHING},
         to_v_half,
         "--zero-bubble-v-schedule-mem-setup half",
         NULL},
        {"s.toml", TITAN, {NOTHING}, to_nothing, "", NO_KEY},
        {"s.toml", TITAN, {NOTHING}, to_overlapped, "", "the framework needs its compiler for that"},
        {"s.toml",
         TITAN "[compile]\nenable = true\n",
         {NOTHING},
         to_overlapped,
         "parallelism.enable_async_tensor_parallel = true",
         NULL},
        {"s.toml",
         TITAN,
         {NOTHING},
         to_overlapped_and_compiled,
         "parallelism.enable_async_tensor_parallel = true",
         NULL},
        {"s.toml", TITAN, {NOTHING}, to_fused, "", NO_KEY},
        {"s.toml",
         TITAN "[optimizer]\nimplementation = \"foreach\"\n",
         {NOTHING},
         to_fused,
         "optimizer.implementation = \"fused\"",
         NULL},
        {"s.toml",
         TITAN "enable_cpu_offload = true\n",
         {NOTHING},
         to_the_device,
         "training.enable_cpu_offload = false",
         NULL},
        {"s.toml", TITAN, {NOTHING}, to_graphs, "", "the framework hands no graphs over"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[1024];
        const char *why = NULL;
        ek_job was, now;
        ek_error err = {0};
        read_and_ask(cases[i].name, cases[i].text, &cases[i].now, &was, &now);
        cases[i].change(&now);
        assert_int_equal(ek__job_settings(&was, &now, text, sizeof text, &why, &err), EK_OK);
        assert_string_equal(text, cases[i].says);
        assert_string_equal(why ? why : "", cases[i].why ? cases[i].why : "");
        ek_job_clear(&was);
        ek_job_clear(&now);
    }
}

/* ---- refusals ---- */

static const char script[] = "torchrun --nproc_per_node 8 p.py " MODEL " --micro-batch-size 1\n";

static void expect_refusal(const ek_job *was, ek_job *now, ek_status status, int line, const char *message)
{
    char *text = NULL;
    size_t size = 7;
    ek_error err = {0};
    const uint64_t noted = now->noted;
    assert_int_equal(ek_job_write_text(was, now, &text, &size, &err), status);
    if (!strstr(err.message, message))
        fail_msg("'%s' does not say '%s'", err.message, message);
    assert_string_equal(err.file, was->path ? was->path : "");
    assert_int_equal(err.line, line);
    assert_true(line == 0 || err.column > 0);
    assert_true(text == NULL && size == 7 && now->noted == noted);
}

static void a_file_that_changed_is_refused(void **state)
{
    ek_job was, now;
    (void)state;
    read_and_ask("x.sh", script, &(asked){.data = 16, NOTHING}, &was, &now);
    put("x.sh", "torchrun --nproc_per_node 8 p.py " MODEL " --micro-batch-size 1 \n");
    expect_refusal(&was, &now, EK_ERR_INPUT, 1, "has changed since it was read");
    put("x.sh", "ARGS=(\n --num-layers\n 24 \" )");
    expect_refusal(&was, &now, EK_ERR_INPUT, 1, "array that does not end");
    unlink(below("x.sh"));
    expect_refusal(&was, &now, EK_ERR_SYSTEM, 0, "");
    put("x.sh", script);
    now.parallel.tensor = 3;
    expect_refusal(&was, &now, EK_ERR_INPUT, 0, "");
    now.parallel.tensor = 1;
    was.digest = 0;
    expect_refusal(&was, &now, EK_ERR_INPUT, 1, "was read from no file");
    ek_job_clear(&was);
    ek_job_clear(&now);
}

static void what_cannot_be_edited_is_refused_with_its_place(void **state)
{
    static const struct {
        const char *name, *text, *message;
        int line;
        asked now;
    } cases[] = {
        {"q.yaml",
         "runner_config: {batch_size: 1}\nmine: &p {data_parallel: 8}\nparallel_config: *p\nmodel:\n  model_config: "
         "{type: "
         "LlamaConfig, seq_length: 4096, hidden_size: 2048, num_layers: 24, num_heads: 16, vocab_size: 32000}\n",
         "alias",
         3,
         {.data = 16, NOTHING}},
        {"q.toml",
         "model = {name = \"llama3\", flavor = \"8B\"}\n"
         "parallelism = {pipeline_parallel_degree = 2, pipeline_parallel_microbatches = 4}\n"
         "training = {local_batch_size = 8}\n",
         "is on a line with others",
         2,
         {.batch = 1, NOTHING}},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ek_job was, now;
        ek_error err = {0};
        put(cases[i].name, cases[i].text);
        if (ek_job_read(below(cases[i].name), NULL, NULL, &was, &err))
            fail_msg("%s: %s", cases[i].name, err.message);
        assert_int_equal(ek_job_copy(&was, &now, NULL), EK_OK);
        ask(&cases[i].now, &now);
        assert_int_equal(ek__job_follow(&was, &now, NULL), EK_OK);
        expect_refusal(&was, &now, EK_ERR_INPUT, cases[i].line, cases[i].message);
        ek_job_clear(&was);
        ek_job_clear(&now);
    }
}

static void the_written_file_has_the_ending_of_its_kind(void **state)
{
    static const struct {
        const char *path, *ending;
        ek_framework framework;
    } cases[] = {{"a/b.c/train.yaml", ".yaml", EK_MINDFORMERS},
                 {"a.b/train", "", EK_MEGATRON},
                 {"x/config.json", ".sh", EK_MEGATRON},
                 {"run.args", ".args", EK_MEGATRON},
                 {"x/.hidden", "", EK_TORCHTITAN},
                 {"x.toml", ".toml", EK_TORCHTITAN}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char path[64];
        snprintf(path, sizeof path, "%s", cases[i].path);
        const ek_job job = {.path = path, .framework = cases[i].framework};
        assert_string_equal(ek_job_file_extension(&job), cases[i].ending);
    }
}

static void a_file_is_written_to_a_stream(void **state)
{
    ek_job was, now;
    ek_error err = {0};
    char text[512] = "";
    (void)state;
    read_and_ask("s.sh", script, &(asked){.data = 16, NOTHING}, &was, &now);
    FILE *out = tmpfile(), *full = fopen("/dev/full", "w");
    assert_non_null(out);
    assert_int_equal(ek_job_write(&was, &now, out, &err), EK_OK);
    rewind(out);
    assert_true(fread(text, 1, sizeof text - 1, out) > 0);
    fclose(out);
    assert_non_null(strstr(text, "--nproc_per_node 8 --nnodes 2"));
    if (full) {
        assert_int_equal(ek_job_write(&was, &now, full, &err), EK_ERR_SYSTEM);
        fclose(full);
    }
    ek_job_clear(&was);
    ek_job_clear(&now);
}

/* Of 8 data-parallel ranks: a shard size is a setting where anything is sharded, and no other size than 1, 2 and 4 cuts
 * them. */
static void a_shard_size_is_a_difference_where_it_does_something(void **state)
{
    (void)state;
    static const struct {
        int size;
        bool cuts;
    } sizes[] = {{-1, false}, {0, false}, {1, true}, {2, true}, {3, false}, {4, true}, {8, false}, {16, false}};
    ek_job one;
    char why[256];
    assert_int_equal(ek_job_read(source_path("tests/data/job/mindspeed.yaml"), NULL, NULL, &one, NULL), EK_OK);
    one.parallel.data = 8;
    one.parallel.context = 1;
    for (int what = 0; what < 4; what++)
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            one.states.shard_weight = what == 1;
            one.states.shard_gradient = what == 2;
            one.states.shard_optimizer = what == 3;
            one.states.shard_size = -1;
            ek_job other = one;
            other.states.shard_size = sizes[i].size;
            if (ek__job_differs(&one, &other, why, sizeof why) != (what > 0 && sizes[i].cuts))
                fail_msg("size %d, sharded %d", sizes[i].size, what);
        }
    ek_job_clear(&one);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_written_file_is_the_job_that_was_changed),
        cmocka_unit_test(nothing_changes_where_nothing_was_changed),
        cmocka_unit_test(overrides_are_written),
        cmocka_unit_test(a_shard_size_is_a_difference_where_it_does_something),
        cmocka_unit_test(only_these_bytes_change),
        cmocka_unit_test(the_order_of_kinds_of_patterns_is_no_difference),
        cmocka_unit_test(lists_are_written_for_the_stages_that_there_are),
        cmocka_unit_test(switches_wait_for_others),
        cmocka_unit_test(rules_that_were_told_stay),
        cmocka_unit_test(a_script_keeps_the_rules_that_were_told),
        cmocka_unit_test(what_follows_is_what_the_reader_derives),
        cmocka_unit_test(settings_are_said_in_a_sentence),
        cmocka_unit_test(a_file_that_changed_is_refused),
        cmocka_unit_test(what_cannot_be_edited_is_refused_with_its_place),
        cmocka_unit_test(the_written_file_has_the_ending_of_its_kind),
        cmocka_unit_test(a_file_is_written_to_a_stream),
        cmocka_unit_test(configurations_of_others_are_among_them),
    };
    return cmocka_run_group_tests_name("job write", tests, list_more, remove_top);
}
