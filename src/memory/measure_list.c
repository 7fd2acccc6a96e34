/* The measures: each function changes a job as one setting of its framework would, and says the setting in the
 * framework's words, or why there is nothing to change. Where a degree is doubled the data-parallel one is halved and
 * the micro-batches doubled, so that devices and tokens of a step stay what they are. */
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "job/job_internal.h"
#include "memory/graph.h"
#include "memory/measures.h"

/* ---- words ---- */

__attribute__((format(printf, 2, 3))) static ek_status refuse(ek__measure_try *t, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(t->out->why, sizeof t->out->why, format, arguments);
    va_end(arguments);
    t->out->possible = false;
    return EK_OK;
}

static bool is_mindformers(const ek_job *job)
{
    return job->framework == EK_MINDFORMERS || job->framework == EK_MINDFORMERS_MCORE;
}

/* MindSpeed-Core-MS writes Megatron's arguments as keys: "--a-b 2" is "a_b: 2", "--a" is "a: True". */
static void arguments_as_keys(char *text)
{
    char copy[sizeof((ek_measure *)0)->setting];
    size_t at = 0;
    snprintf(copy, sizeof copy, "%s", text);
    for (const char *c = copy; *c && at + 8 < sizeof copy;) {
        while (*c == ' ' || *c == '-')
            c++;
        for (; *c && *c != ' ' && at + 8 < sizeof copy; c++)
            text[at++] = (char)(*c == '-' ? '_' : *c);
        text[at++] = ':';
        text[at++] = ' ';
        bool value = *c == ' ' && c[1] != '-';
        if (!value) {
            memcpy(text + at, "True", 4);
            at += 4;
        }
        for (c += *c == ' '; value && *c && *c != ' ' && at + 8 < sizeof copy; c++)
            text[at++] = *c;
        c += value && *c == ' ';
        if (*c) {
            text[at++] = ',';
            text[at++] = ' ';
        }
    }
    text[at] = '\0';
}

/* The setting as MindFormers and as Megatron has it; the second takes the same values in the same order. */
__attribute__((format(printf, 2, 4))) static ek_status say(ek__measure_try *t, const char *mindformers,
                                                           const char *megatron, ...)
{
    const char *format = is_mindformers(t->job) ? mindformers : megatron;
    va_list arguments;
    va_start(arguments, megatron);
    vsnprintf(t->out->setting, sizeof t->out->setting, format, arguments);
    va_end(arguments);
    if (t->job->framework == EK_MINDSPEED)
        arguments_as_keys(t->out->setting);
    return EK_OK;
}

/* The same where only one of them has it, or which one it is was asked before. */
__attribute__((format(printf, 2, 3))) static ek_status say_one(ek__measure_try *t, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(t->out->setting, sizeof t->out->setting, format, arguments);
    va_end(arguments);
    if (t->job->framework == EK_MINDSPEED)
        arguments_as_keys(t->out->setting);
    return EK_OK;
}

static const char *const already = "it is in effect already";

static const char too_long[] = ", and lists that are too long to show";

/* Add to the setting. What has no room is left out whole and said in a few words, so that nothing that is half there is
 * pasted. */
__attribute__((format(printf, 2, 3))) static void say_more(ek__measure_try *t, const char *format, ...)
{
    const size_t size = sizeof t->out->setting - strlen(too_long), used = strlen(t->out->setting);
    va_list arguments;
    if (used >= size || strstr(t->out->setting, too_long))
        return;
    va_start(arguments, format);
    int n = vsnprintf(t->out->setting + used, size - used, format, arguments);
    va_end(arguments);
    if (n < 0 || (size_t)n >= size - used)
        memcpy(t->out->setting + used, too_long, strlen(too_long) + 1);
}

/* A count for every stage, or such a list for every chunk, as MindFormers has them: [1, 0] or [[1, 0], [0, 0]]. Less
 * than all of it where the text is too short. */
static const char *list_text(const ek_plan *plan, const int *list, int minus, char *text, size_t size)
{
    size_t used = 0;
    text[0] = '\0';
    for (int c = 0; c < plan->n_stages * plan->n_chunks && used < size; c++) {
        bool starts = c % plan->n_stages == 0, ends = (c + 1) % plan->n_stages == 0;
        const char *open = !starts ? ", " : plan->n_chunks == 1 ? "[" : c == 0 ? "[[" : ", [";
        const char *close = !ends ? "" : plan->n_chunks > 1 && c + 1 == plan->n_stages * plan->n_chunks ? "]]" : "]";
        used += (size_t)snprintf(text + used, size - used, "%s%d%s", open, list[c] - minus, close);
    }
    return text;
}

/* ---- recomputation ---- */

static int n_cells(const ek_job *job)
{
    return job->plan.n_stages * job->plan.n_chunks;
}

static bool is_full(const ek_job *job)
{
    for (int c = 0; c < n_cells(job); c++)
        if (job->plan.full[c] < job->plan.layers[c])
            return false;
    return true;
}

/* What is worth recomputing where the job has no pattern of a kind. */
static const char *const *worth_recomputing(const ek_job *job, ek_pattern_kind kind)
{
    static const char *const activation[] = {"mlp\\.activation_func", NULL};
    static const char *const reshapes[] = {"feed_forward\\.mul", "feed_forward\\.w1\\.activation\\.silu",
                                           "feed_forward\\.w1\\.reshape", "feed_forward\\.w2\\.reshape", NULL};
    /* The attention's core, Megatron's usual choice, keeps no scores where it is fused; MindSpeed-LLM has this one. */
    if (kind == EK_PATTERN_SELECT && job->family == EK_FAMILY_MEGATRON)
        return activation;
    /* Without fine-grained interleave a Reshape stands behind w1 and before w2, and keeps what is recomputed. */
    if (kind == EK_PATTERN_SELECT && job->family == EK_FAMILY_LLAMA && job->parallel.fine_grain <= 1)
        return reshapes;
    return ek__job_usual_patterns(job, kind);
}

static ek_status add_defaults(ek__measure_try *t, ek_pattern_kind kind)
{
    ek_status status = EK_OK;
    for (const char *const *text = worth_recomputing(t->job, kind); *text && !status; text++)
        if (t->job->n_patterns < EK_MAX_PATTERNS)
            status = ek__job_add_pattern(t->job, *text, kind, NULL, true, (ek_origin){.file = t->job->path}, t->err);
    return status;
}

/* Patterns of a kind in every layer. @return whether anything changed */
static ek_status widen(ek__measure_try *t, ek_pattern_kind kind, bool *changed)
{
    ek_job *job = t->job;
    bool has = false;
    for (int i = 0; i < job->n_patterns; i++) {
        ek_pattern *pattern = &job->pattern[i];
        if (pattern->kind != kind)
            continue;
        has = true;
        for (int c = 0; c < n_cells(job); c++) {
            *changed = *changed || pattern->layers[c] != job->plan.layers[c];
            pattern->layers[c] = job->plan.layers[c];
        }
    }
    ek__job_sum_patterns(job);
    if (has)
        return EK_OK;
    int before = job->n_patterns;
    ek_status status = add_defaults(t, kind);
    *changed = *changed || job->n_patterns > before;
    return status;
}

/* What a list has behind the layers that are recomputed whole. */
static const char *beyond_text(const ek_plan *plan, const int *list, char *text, size_t size)
{
    int *beyond = ek__alloc((size_t)plan->n_stages * (size_t)plan->n_chunks, sizeof *beyond);
    text[0] = '\0';
    for (int c = 0; beyond && c < plan->n_stages * plan->n_chunks; c++)
        beyond[c] = list[c] > plan->full[c] ? list[c] - plan->full[c] : 0;
    if (beyond)
        list_text(plan, beyond, 0, text, size);
    free(beyond);
    return text;
}

/* MindSpeed's other lists, where there are any, which may not count layers that are recomputed whole. */
static void say_beyond(ek__measure_try *t)
{
    char text[4096];
    const ek_plan *plan = &t->job->plan;
    if (t->job->n_patterns == 0)
        return;
    say_more(t, ", select_recompute: %s", beyond_text(plan, plan->select, text, sizeof text));
    say_more(t, ", select_comm_recompute: %s", beyond_text(plan, plan->comm, text, sizeof text));
}

/* The patterns of a kind, which hold for every layer: "select_recompute: ['a', 'b']". MindSpeed counts the layers
 * behind those that are recomputed whole. */
static void say_patterns(ek__measure_try *t, const char *key, ek_pattern_kind kind)
{
    int n = 0;
    if (t->job->framework == EK_MINDSPEED) {
        char text[4096];
        const ek_plan *plan = &t->job->plan;
        say_more(t, "recompute_config.%s: %s", key, beyond_text(plan, plan->layers, text, sizeof text));
        return;
    }
    say_more(t, "%s: [", key);
    for (int i = 0; i < t->job->n_patterns; i++)
        if (t->job->pattern[i].kind == kind)
            say_more(t, "%s'%s'", n++ > 0 ? ", " : "", t->job->pattern[i].text);
    say_more(t, "]");
}

static ek_status change_select(ek__measure_try *t)
{
    bool changed = false;
    if (is_full(t->job))
        return refuse(t, "every layer is recomputed whole");
    ek_status status = widen(t, EK_PATTERN_SELECT, &changed);
    if (status)
        return status;
    if (!changed)
        return refuse(t, "%s", already);
    if (t->job->framework == EK_MEGATRON)
        return say_one(t, "--recompute-activation-function (MindSpeed-LLM)");
    say_patterns(t, is_mindformers(t->job) ? "recompute_config.select_recompute" : "select_recompute",
                 EK_PATTERN_SELECT);
    return EK_OK;
}

static ek_status change_comm(ek__measure_try *t)
{
    bool changed = false;
    if (is_full(t->job))
        return refuse(t, "every layer is recomputed whole");
    if (t->job->framework == EK_MEGATRON)
        return refuse(t, "of gathered tensors only the rank's own part is kept anyway");
    if (!t->job->parallel.sequence_parallel)
        return refuse(t, "without sequence parallelism norms are not followed by communication");
    ek_status status = widen(t, EK_PATTERN_COMM, &changed);
    if (status)
        return status;
    if (!changed)
        return refuse(t, "%s", already);
    t->out->setting[0] = '\0';
    say_patterns(t, is_mindformers(t->job) ? "recompute_config.select_comm_recompute" : "select_comm_recompute",
                 EK_PATTERN_COMM);
    return EK_OK;
}

static ek_status change_both(ek__measure_try *t)
{
    ek_status status = change_select(t);
    if (status || !t->out->possible)
        return status;
    status = change_comm(t);
    if (status || !t->out->possible)
        return status;
    t->out->setting[0] = '\0';
    say_patterns(t, is_mindformers(t->job) ? "recompute_config.select_recompute" : "select_recompute",
                 EK_PATTERN_SELECT);
    say_more(t, ", ");
    say_patterns(t, is_mindformers(t->job) ? "recompute_config.select_comm_recompute" : "select_comm_recompute",
                 EK_PATTERN_COMM);
    return EK_OK;
}

static ek_status change_full(ek__measure_try *t)
{
    if (is_full(t->job))
        return refuse(t, "%s", already);
    memcpy(t->job->plan.full, t->job->plan.layers, (size_t)n_cells(t->job) * sizeof *t->job->plan.full);
    if (t->job->framework == EK_MINDSPEED) {
        char text[4096];
        say_more(t, "recompute_config.recompute: %s",
                 list_text(&t->job->plan, t->job->plan.layers, 0, text, sizeof text));
        say_beyond(t);
        return EK_OK;
    }
    return say(t, "recompute_config.recompute: True",
               "--recompute-granularity full --recompute-method uniform --recompute-num-layers 1");
}

/* Recompute the first k[s] layers of each of the chunks of stage s, of which full[] are recomputed anyway. */
static void recompute_first(ek_job *job, const int *full, const int *k)
{
    for (int c = 0; c < n_cells(job); c++) {
        int layers = job->plan.layers[c], wanted = k[c % job->plan.n_stages], n = wanted < layers ? wanted : layers;
        job->plan.full[c] = n > full[c] ? n : full[c];
    }
}

/* Numbers for each stage between which the least that fits lies; high[s] is what is tried. */
typedef struct bounds {
    int *full;               /* [cells] what is recomputed today */
    int *low, *high, *tried; /* [stages] */
} bounds;

/* Predict with what is tried, and halve the bounds of every stage. @return the first stage that does not fit; -1: none
 */
static ek_status try_counts(ek__measure_try *t, bounds *b, int *over)
{
    ek_memory memory;
    bool fine;
    recompute_first(t->job, b->full, b->tried);
    ek_status status = ek__measure_predict(t, &memory, &fine);
    *over = -1;
    if (status || !fine)
        return status;
    for (int s = memory.n_stages - 1; s >= 0; s--) {
        bool fits = memory.stage[s].actual_peak <= memory.limit;
        *(fits ? &b->high[s] : &b->low[s]) = b->tried[s];
        *over = fits ? *over : s;
    }
    ek_memory_clear(&memory);
    return EK_OK;
}

/* Middles of the bounds. @return whether one of them still has one */
static bool middle(const ek_job *job, bounds *b)
{
    bool more = false;
    for (int s = 0; s < job->plan.n_stages; s++) {
        b->tried[s] = b->high[s] - b->low[s] > 1 ? b->low[s] + (b->high[s] - b->low[s]) / 2 : b->high[s];
        more = more || b->tried[s] < b->high[s];
    }
    return more;
}

/* The least counts that make every stage fit, all stages by bisection at once, since what one recomputes does not
 * change another: more recomputation never needs more. */
static ek_status search_counts(ek__measure_try *t, bounds *b)
{
    int over;
    ek_status status = try_counts(t, b, &over);
    if (!status && t->out->possible && over >= 0)
        return refuse(t, "stage %d does not fit even with all its layers recomputed", over);
    while (!status && t->out->possible && middle(t->job, b))
        status = try_counts(t, b, &over);
    return status;
}

/* Start with no layer where the stage fits as it is, and all of them elsewhere. */
static void start_bounds(const ek__measure_try *t, bounds *b)
{
    const ek_plan *plan = &t->job->plan;
    memcpy(b->full, plan->full, (size_t)n_cells(t->job) * sizeof *b->full);
    for (int c = 0; c < n_cells(t->job); c++) {
        int s = c % plan->n_stages;
        bool fits = t->today->stage[s].actual_peak <= t->today->limit;
        b->high[s] = !fits && plan->layers[c] > b->high[s] ? plan->layers[c] : b->high[s];
        b->tried[s] = b->high[s];
    }
}

static ek_status say_counts(ek__measure_try *t, bounds *b)
{
    ek_plan *plan = &t->job->plan;
    char text[4096];
    int most = 0;
    for (int s = 0; s < plan->n_stages; s++)
        most = b->high[s] > most ? b->high[s] : most;
    /* Megatron has one number for all stages. */
    for (int s = 0; s < plan->n_stages && t->job->framework == EK_MEGATRON; s++)
        b->high[s] = most;
    recompute_first(t->job, b->full, b->high);
    if (t->job->framework == EK_MEGATRON)
        return say_one(t, "--recompute-granularity full --recompute-method block --recompute-num-layers %d", most);
    say_more(t, "recompute_config.recompute: %s", list_text(plan, plan->full, 0, text, sizeof text));
    if (t->job->framework == EK_MINDSPEED)
        say_beyond(t);
    return EK_OK;
}

static ek_status change_full_just_enough(ek__measure_try *t)
{
    ek_job *job = t->job;
    if (t->today->limit <= 0)
        return refuse(t, "no limit of a device is known");
    if (t->today->fits)
        return refuse(t, "every stage fits as it is");
    if (job->schedule->placement == EK_PLACE_BOTH_WAYS)
        return refuse(t, "two stages share each chunk with schedule %s", job->schedule->name);
    int *room = ek__alloc((size_t)n_cells(job) + 3 * (size_t)job->plan.n_stages, sizeof *room);
    if (!room)
        return ek__no_memory(t->err);
    bounds b = {room, room + n_cells(job), room + n_cells(job) + job->plan.n_stages,
                room + n_cells(job) + 2 * job->plan.n_stages};
    start_bounds(t, &b);
    ek_status status = search_counts(t, &b);
    if (!status && t->out->possible)
        status = say_counts(t, &b);
    free(room);
    return status;
}

/* ---- sharding ---- */

static ek_status change_sequence_parallel(ek__measure_try *t)
{
    if (t->job->parallel.tensor == 1)
        return refuse(t, "there is no tensor parallelism");
    if (t->job->parallel.sequence_parallel)
        return refuse(t, "%s", already);
    t->job->parallel.sequence_parallel = true;
    return say(t, "parallel_config.use_seq_parallel: True", "--sequence-parallel");
}

static bool has_group(const ek_job *job)
{
    return job->parallel.data * job->parallel.context > 1;
}

static ek_status change_optimizer_parallel(ek__measure_try *t)
{
    ek_job_states *states = &t->job->states;
    if (states->shard_optimizer)
        return refuse(t, "%s", already);
    if (!has_group(t->job))
        return refuse(t, "there is one data-parallel rank, so nobody to share with");
    states->shard_optimizer = true;
    if (is_mindformers(t->job)) {
        states->shard_weight = true;
        states->gathered = states->weight;
    }
    return say(t, "parallel.enable_parallel_optimizer: True", "--use-distributed-optimizer");
}

static ek_status change_gradient_shard(ek__measure_try *t)
{
    ek_job_states *states = &t->job->states;
    if (!is_mindformers(t->job))
        return refuse(t, "the framework keeps whole gradients");
    if (states->gradient == 0)
        return refuse(t, "there is no buffer of gradients with one stage and no accumulation");
    if (states->shard_gradient)
        return refuse(t, "%s", already);
    if (!states->shard_weight || !has_group(t->job))
        return refuse(t, "the optimizer's states are not shared");
    states->shard_gradient = true;
    return say_one(t, "parallel.parallel_optimizer_config.gradient_accumulation_shard: True");
}

static ek_status change_table_shard(ek__measure_try *t)
{
    if (t->job->states.shard_table)
        return refuse(t, "%s", already);
    if (!is_mindformers(t->job) || !t->job->states.shard_weight || !has_group(t->job))
        return refuse(t, "weights are not shared");
    t->job->states.shard_table = true;
    return say_one(t, "model.model_config.parallel_optimizer: True");
}

static ek_status change_whole_group(ek__measure_try *t)
{
    ek_job_states *states = &t->job->states;
    bool copies = states->instances > 1 && states->shard_optimizer;
    if (states->shard_size <= 0 && !copies)
        return refuse(t, "the whole group shares already");
    states->shard_size = -1;
    states->instances = 1;
    if (t->job->framework == EK_MINDSPEED) {
        snprintf(t->out->setting, sizeof t->out->setting, "zero_shard_size: -1");
        return EK_OK;
    }
    return say(t, "parallel.parallel_optimizer_config.optimizer_weight_shard_size: -1",
               "--num-distributed-optimizer-instances 1");
}

/* ---- layers, schedule ---- */

/* Layers of the model's chunks in order, as Megatron's layout: "Et*5|t*5L". */
static void say_layout(ek__measure_try *t)
{
    const ek_plan *plan = &t->job->plan;
    int n = n_cells(t->job);
    say_more(t, "--pipeline-model-parallel-layout \"E");
    for (int c = 0; c < n; c++) {
        int at = ek_cell_at(t->job->schedule->placement, plan->n_stages, c);
        int predictions = c == n - 1 ? t->job->model.n_prediction_layers : 0;
        say_more(t, "%st*%d", c > 0 ? "|" : "", plan->layers[at] - predictions);
        for (int i = 0; i < predictions; i++)
            say_more(t, "m");
    }
    say_more(t, "L\"");
}

/* MindSpeed's list has no layers of multi-token prediction. */
static void say_layer_list(ek__measure_try *t)
{
    char text[4096];
    ek_plan *plan = &t->job->plan;
    int last = ek_cell_at(t->job->schedule->placement, plan->n_stages, n_cells(t->job) - 1);
    plan->layers[last] -= t->job->model.n_prediction_layers;
    say_more(t, "num_layer_list: %s", list_text(plan, plan->layers, 0, text, sizeof text));
    plan->layers[last] += t->job->model.n_prediction_layers;
}

/* Where the layers are, in the framework's words. */
static void say_layers(ek__measure_try *t)
{
    char text[4096];
    const ek_plan *plan = &t->job->plan;
    int n = n_cells(t->job), average = (t->job->model.n_layers + t->job->model.n_prediction_layers) / n;
    bool even = true;
    for (int c = 0; c < n; c++)
        even = even && plan->layers[c] == average;
    if (t->job->framework == EK_MEGATRON)
        say_layout(t);
    else if (t->job->framework == EK_MINDSPEED)
        say_layer_list(t);
    else
        say_more(t, "model.model_config.offset: %s",
                 even ? "0" : list_text(plan, plan->layers, average, text, sizeof text));
}

static int total(const int *list, int n)
{
    int sum = 0;
    for (int c = 0; c < n; c++)
        sum += list[c];
    return sum;
}

/* Does a list hold for some layers only? */
static bool is_partial(const ek_plan *plan, const int *list)
{
    int n = plan->n_stages * plan->n_chunks, sum = total(list, n);
    return sum > 0 && memcmp(list, plan->layers, (size_t)n * sizeof *list) != 0;
}

static bool any_partial(const ek_job *job)
{
    bool any = is_partial(&job->plan, job->plan.full);
    for (int i = 0; i < job->n_patterns; i++)
        any = any || is_partial(&job->plan, job->pattern[i].layers);
    return any;
}

static bool is_usual(const ek_job *job, ek_pattern_kind kind)
{
    bool usual = false;
    for (int i = 0; i < job->n_patterns; i++)
        if (job->pattern[i].kind == kind && !job->pattern[i].by_default)
            return false;
        else
            usual = usual || job->pattern[i].kind == kind;
    return usual;
}

/* One word stands for every layer; none at all are a list of zeros. */
static bool is_whole(const ek_plan *plan, const int *list)
{
    return memcmp(list, plan->layers, (size_t)(plan->n_stages * plan->n_chunks) * sizeof *list) == 0;
}

/* "select_recompute: {'a': True, 'b': [1, 0]}"; a list of counts stands for the framework's own patterns. */
static void say_map(ek__measure_try *t, const char *key, ek_pattern_kind kind)
{
    char text[4096];
    const ek_plan *plan = &t->job->plan;
    int n = 0;
    if (is_usual(t->job, kind)) {
        const int *list = kind == EK_PATTERN_SELECT ? plan->select : plan->comm;
        say_more(t, ", recompute_config.%s: %s", key, list_text(plan, list, 0, text, sizeof text));
        return;
    }
    for (int i = 0; i < t->job->n_patterns; i++) {
        const ek_pattern *pattern = &t->job->pattern[i];
        if (pattern->kind != kind)
            continue;
        if (n++ == 0)
            say_more(t, ", recompute_config.%s: {", key);
        say_more(t, "%s'%s': %s", n > 1 ? ", " : "", pattern->text,
                 is_whole(plan, pattern->layers) ? "True" : list_text(plan, pattern->layers, 0, text, sizeof text));
    }
    if (n > 0)
        say_more(t, "}");
}

/* The lists of recomputation where they are not what the file says any more. */
static void say_lists(ek__measure_try *t)
{
    char text[4096];
    const ek_plan *plan = &t->job->plan;
    if (t->job->framework == EK_MEGATRON) {
        int most = 0;
        for (int c = 0; c < n_cells(t->job); c++)
            most = plan->full[c] > most ? plan->full[c] : most;
        say_more(t, " --recompute-num-layers %d", most);
        return;
    }
    say_more(t, ", recompute_config.recompute: %s", list_text(plan, plan->full, 0, text, sizeof text));
    if (t->job->framework == EK_MINDSPEED) {
        say_beyond(t);
        return;
    }
    say_map(t, "select_recompute", EK_PATTERN_SELECT);
    say_map(t, "select_comm_recompute", EK_PATTERN_COMM);
    say_map(t, "select_recompute_exclude", EK_PATTERN_SELECT_EXCLUDE);
    say_map(t, "select_comm_recompute_exclude", EK_PATTERN_COMM_EXCLUDE);
}

bool ek__measure_say_recompute(ek__measure_try *t)
{
    const ek_plan *plan = &t->job->plan;
    bool megatron = t->job->framework == EK_MEGATRON;
    if (t->job->framework == EK_TORCHTITAN)
        return false; /* it has one word for the whole model */
    int most = 0, select = 0;
    char *lists = strstr(t->out->setting, megatron ? "--recompute-" : "recompute_config."); /* they stand last */
    if (lists)
        *lists = '\0';
    for (size_t n = strlen(t->out->setting); n > 0 && strchr(", ", t->out->setting[n - 1]); n--)
        t->out->setting[n - 1] = '\0';
    if (!megatron) {
        say_lists(t);
        if (t->out->setting[0] == ',')
            memmove(t->out->setting, t->out->setting + 2, strlen(t->out->setting) - 1);
        return !strstr(t->out->setting, too_long);
    }
    say_more(t, "%s", t->out->setting[0] ? " " : "");
    for (int c = 0; c < n_cells(t->job); c++) {
        most = plan->full[c] > most ? plan->full[c] : most;
        select += plan->select[c];
    }
    if (is_full(t->job))
        say_more(t, "--recompute-granularity full --recompute-method uniform --recompute-num-layers 1");
    else if (most > 0)
        say_more(t, "--recompute-granularity full --recompute-method block --recompute-num-layers %d", most);
    else
        say_more(t, select > 0 ? "--recompute-granularity selective" : "(without --recompute-granularity)");
    return !strstr(t->out->setting, too_long);
}

static ek_status change_less_recompute(ek__measure_try *t)
{
    const ek_plan *plan = &t->job->plan;
    ek_layers layers;
    double peak_mb;
    bool less;
    int n = n_cells(t->job);
    if (t->today->limit <= 0)
        return refuse(t, "no limit of a device is known");
    if (total(plan->full, n) + total(plan->select, n) + total(plan->comm, n) == 0)
        return refuse(t, "nothing is recomputed");
    ek_status status = ek_memory_to_layers(t->job, t->device, &layers, t->err);
    if (status)
        return status == EK_ERR_INPUT ? refuse(t, "the layers cannot be modelled") : status;
    status = ek__measure_recompute_less(t->job, &layers, (double)t->today->limit * 0x1p-20, &less, &peak_mb, t->err);
    ek_layers_clear(&layers);
    if (status)
        return status;
    if (!less)
        return refuse(t, "memory has no room for less");
    (void)ek__measure_say_recompute(t);
    return EK_OK;
}

/* A layer less, or one more, in a cell; lists that held for all its layers still do. */
static void change_layers(ek_job *job, int cell, int by)
{
    int was = job->plan.layers[cell], now = was + by;
    job->plan.layers[cell] = now;
    if (job->plan.full[cell] > now || (job->plan.full[cell] == was && was > 0))
        job->plan.full[cell] = now;
    for (int i = 0; i < job->n_patterns; i++) {
        int *layers = &job->pattern[i].layers[cell];
        if (*layers > now || (*layers == was && was > 0))
            *layers = now;
    }
    ek__job_sum_patterns(job);
}

static int cell_of(const ek_plan *plan, int stage, bool most)
{
    int best = stage;
    for (int i = 1; i < plan->n_chunks; i++) {
        int cell = i * plan->n_stages + stage;
        if (most ? plan->layers[cell] > plan->layers[best] : plan->layers[cell] < plan->layers[best])
            best = cell;
    }
    return best;
}

static ek_status change_offset(ek__measure_try *t)
{
    ek_job *job = t->job;
    const ek_memory *today = t->today;
    int full = today->fullest, empty = 0;
    if (job->plan.n_stages == 1)
        return refuse(t, "there is one stage");
    if (job->schedule->placement == EK_PLACE_BOTH_WAYS)
        return refuse(t, "two stages share each chunk with schedule %s", job->schedule->name);
    for (int s = 1; s < today->n_stages; s++)
        if (today->stage[s].actual_peak < today->stage[empty].actual_peak)
            empty = s;
    int from = cell_of(&job->plan, full, true), to = cell_of(&job->plan, empty, false);
    int last = ek_cell_at(job->schedule->placement, job->plan.n_stages, n_cells(job) - 1);
    int movable = job->plan.layers[from] - (from == last ? job->model.n_prediction_layers : 0);
    if (movable < 1 || full == empty)
        return refuse(t, "the fullest stage has no layer to give");
    bool partial = any_partial(job);
    change_layers(job, from, -1);
    change_layers(job, to, 1);
    say_layers(t);
    if (partial || any_partial(job))
        say_lists(t);
    return EK_OK;
}

/* A list of the old plan in the new one: each stage recomputes the share that the stage in its place did, rounded up.
 */
static void carry(const ek_plan *was, const int *list, const ek_plan *now, int *out)
{
    for (int c = 0; c < now->n_stages * now->n_chunks; c++) {
        int stage = c % now->n_stages * was->n_stages / now->n_stages, part = 0, whole = 0;
        for (int i = stage; i < was->n_stages * was->n_chunks; i += was->n_stages) {
            part += list[i];
            whole += was->layers[i];
        }
        out[c] = whole > 0 ? (part * now->layers[c] + whole - 1) / whole : 0;
    }
}

/* What ek__job_override() drops, since it held for some layers only. */
static ek_status carry_lists(const ek_job *was, ek_job *job, ek_error *err)
{
    ek_status status = EK_OK;
    if (is_partial(&was->plan, was->plan.full))
        carry(&was->plan, was->plan.full, &job->plan, job->plan.full);
    int *list = ek__alloc((size_t)n_cells(job), sizeof *list);
    if (!list)
        return ek__no_memory(err);
    for (int i = 0; i < was->n_patterns && !status; i++) {
        const ek_pattern *pattern = &was->pattern[i];
        if (!is_partial(&was->plan, pattern->layers))
            continue;
        carry(&was->plan, pattern->layers, &job->plan, list);
        status =
            ek__job_add_pattern(job, pattern->text, pattern->kind, list, pattern->by_default, pattern->origin, err);
    }
    free(list);
    return status;
}

/* Put degrees, chunks and schedule of the copy into force: layers are spread evenly where they no longer fit, and of
 * each stage as many recompute as did. */
static ek_status spread(ek__measure_try *t, int n_chunks, const ek_schedule *schedule)
{
    const ek__job_source source = {.path = t->job->path, .text = "", .err = t->err};
    ek_job_overrides overrides = ek_job_overrides_none();
    ek_job was;
    overrides.n_chunks = n_chunks;
    overrides.schedule = schedule;
    if (t->job->framework == EK_MEGATRON && t->job->model.n_layers % (t->job->parallel.pipeline * n_chunks) != 0)
        return refuse(t, "%d layers do not divide by %d stages x %d chunks", t->job->model.n_layers,
                      t->job->parallel.pipeline, n_chunks);
    ek_status status = ek_job_copy(t->job, &was, t->err);
    if (status)
        return status;
    status = ek__job_override(&source, &overrides, t->job);
    bool same = was.plan.n_stages == t->job->plan.n_stages && was.plan.n_chunks == t->job->plan.n_chunks;
    if (!status && !same)
        status = carry_lists(&was, t->job, t->err);
    ek_job_clear(&was);
    return status;
}

/* What a plan was before it was spread anew. */
typedef struct outlines {
    int n_cells;
    bool partial; /* lists that hold for some layers only: the file's do not fit any more */
} outlines;

static outlines outlines_of(const ek_job *job)
{
    return (outlines){n_cells(job), any_partial(job)};
}

/* The setting of a measure that spreads the layers anew, and what goes with it. */
static ek_status say_spread(ek__measure_try *t, const char *setting, outlines was)
{
    t->out->setting[0] = '\0';
    say_more(t, "%s", setting);
    if (t->job->framework == EK_MINDSPEED)
        arguments_as_keys(t->out->setting);
    if (n_cells(t->job) == was.n_cells)
        return EK_OK; /* the file's lists stay */
    if (t->job->framework != EK_MEGATRON) {
        say_more(t, ", ");
        say_layers(t);
    }
    if (was.partial)
        say_lists(t);
    return EK_OK;
}

static bool is_named(const ek_schedule *schedule, const char *name)
{
    return schedule == ek_schedule_find(name);
}

/* @return what stands against another number of chunks; NULL: nothing */
static const char *no_chunks(const ek_job *job, int n_chunks)
{
    if (job->plan.n_stages == 1)
        return "there is one stage";
    if (n_chunks > EK_MAX_CHUNKS || job->model.n_layers < job->plan.n_stages * n_chunks)
        return "there are too few layers for so many chunks";
    return job->parallel.n_pieces > 1 ? "the batch is cut into pieces of sequences" : NULL;
}

static ek_status change_interleave(ek__measure_try *t)
{
    const outlines was = outlines_of(t->job);
    int v = 2 * t->job->plan.n_chunks;
    const char *why = no_chunks(t->job, v);
    bool usual = is_named(t->job->schedule, "1f1b") || is_named(t->job->schedule, "interleaved") ||
                 is_named(t->job->schedule, "interleaved-less-memory");
    if (why || !usual)
        return refuse(t, "%s", why ? why : "the schedule has a fixed number of chunks");
    const ek_schedule *schedule = v == 2 ? ek_schedule_default(2, false) : t->job->schedule;
    ek_status status = spread(t, v, schedule);
    if (status || !t->out->possible)
        return status;
    char text[160];
    snprintf(text, sizeof text,
             is_mindformers(t->job)
                 ? "model.model_config.pp_interleave_num: %d, parallel.pipeline_config.pipeline_interleave: True"
             : t->job->framework == EK_MINDSPEED ? "--virtual-pipeline-model-parallel-size %d"
                                                 : "--num-virtual-stages-per-pipeline-rank %d",
             v);
    return say_spread(t, text, was);
}

static ek_status change_less_memory(ek__measure_try *t)
{
    const ek_schedule *less = ek_schedule_find("interleaved-less-memory");
    if (t->job->schedule == less)
        return refuse(t, "%s", already);
    if (!is_named(t->job->schedule, "interleaved"))
        return refuse(t, "the schedule is not interleaved 1F1B");
    if (!is_mindformers(t->job))
        return refuse(t, "the framework has no such schedule");
    return refuse(t, "no key of the training file picks the shorter warm-up");
}

/* A schedule of two chunks a stage in a V. */
static ek_status change_to_v(ek__measure_try *t, const char *name, const char *mindformers, const char *megatron)
{
    const char *why = no_chunks(t->job, 2);
    if (is_named(t->job->schedule, name))
        why = already;
    if (!why && !*(is_mindformers(t->job) ? mindformers : megatron))
        why = "the framework has no such schedule";
    if (!why && t->job->framework == EK_MINDSPEED)
        why = "the framework has no such schedule";
    if (why)
        return refuse(t, "%s", why);
    const outlines was = outlines_of(t->job);
    ek_status status = spread(t, 2, ek_schedule_find(name));
    return status || !t->out->possible ? status : say_spread(t, is_mindformers(t->job) ? mindformers : megatron, was);
}

static ek_status change_zb_v(ek__measure_try *t)
{
    return change_to_v(t, "zb-v",
                       "parallel.pipeline_config.pipeline_interleave: True, pipeline_scheduler: 'zero_bubble_v', "
                       "model.model_config.pp_interleave_num: 2",
                       "--zero-bubble-v-schedule --zero-bubble-v-schedule-mem-setup zb");
}

static ek_status change_v_half(ek__measure_try *t)
{
    return change_to_v(t, "v-half", "", "--zero-bubble-v-schedule --zero-bubble-v-schedule-mem-setup half");
}

static ek_status change_v_min(ek__measure_try *t)
{
    return change_to_v(t, "v-min", "", "--zero-bubble-v-schedule --zero-bubble-v-schedule-mem-setup min");
}

/* ---- batch and degrees ---- */

/* Twice the micro-batches, or steps of accumulation where there is one stage. @return false where that is too many */
static bool double_micro_batches(ek_job *job)
{
    bool accumulates = job->parallel.pipeline == 1 && is_mindformers(job);
    int *n = accumulates ? &job->parallel.n_accumulation : &job->parallel.n_micro_batches;
    if (*n > EK_MAX_MICRO_BATCHES / 2)
        return false;
    *n *= 2;
    if (accumulates && job->states.gradient == 0)
        job->states.gradient = job->states.weight;
    return true;
}

static ek_status change_batch(ek__measure_try *t)
{
    ek_job_parallel *p = &t->job->parallel;
    if (p->batch % 2)
        return refuse(t, "a micro-batch has %d sequence%s, which cannot be halved", p->batch, p->batch > 1 ? "s" : "");
    p->batch /= 2;
    if (!double_micro_batches(t->job))
        return refuse(t, "there would be too many micro-batches");
    if (p->pipeline == 1 && is_mindformers(t->job))
        return say_one(t, "runner_config.batch_size: %d, runner_config.gradient_accumulation_steps: %d", p->batch,
                       p->n_accumulation);
    return say(t, "runner_config.batch_size: %d, parallel_config.micro_batch_num: %d", "--micro-batch-size %d",
               p->batch, p->n_micro_batches);
}

/* Table and head are cut over new degrees as they were over the old ones, or whole where the vocabulary does not
 * divide. With one rank the job does not say whether they would be; then they are, and the setting says so
 * (say_degree()). */
static void split_vocabulary(ek_job *job, int old_tensor, int old_context)
{
    ek_job_parallel *p = &job->parallel;
    bool table = p->table_split > 1 || old_tensor * old_context == 1, head = p->head_split > 1 || old_tensor == 1;
    int over = p->table_split == old_tensor && old_context > 1 ? p->tensor : p->tensor * p->context;
    if (!is_mindformers(job))
        over = p->tensor;
    p->table_split = table && job->model.vocab % over == 0 ? over : 1;
    p->head_split = head && job->model.vocab % p->tensor == 0 ? p->tensor : 1;
}

/* Half as many data-parallel ranks, each with twice the micro-batches. */
static ek_status halve_data(ek__measure_try *t)
{
    if (t->job->parallel.data % 2)
        return refuse(t, "%d data-parallel rank%s cannot be halved, so it needs more devices", t->job->parallel.data,
                      t->job->parallel.data > 1 ? "s" : "");
    t->job->parallel.data /= 2;
    return double_micro_batches(t->job) ? EK_OK : refuse(t, "there would be too many micro-batches");
}

static ek_status say_degree(ek__measure_try *t, const char *mindformers, const char *megatron, int degree)
{
    const ek_job_parallel *p = &t->job->parallel;
    if (t->job->framework == EK_MINDSPEED)
        return say_one(t, "--%s %d --data-parallel-size %d", megatron, degree, p->data);
    if (!is_mindformers(t->job))
        return say_one(t, "--%s %d", megatron, degree);
    bool accumulates = p->pipeline == 1;
    return say_one(t, "%s: %d, data_parallel: %d, %s%s: %d", mindformers, degree, p->data,
                   p->tensor * p->context == degree && degree == 2 ? "vocab_emb_dp: False, " : "",
                   accumulates ? "runner_config.gradient_accumulation_steps" : "micro_batch_num",
                   accumulates ? p->n_accumulation : p->n_micro_batches);
}

static ek_status change_tensor(ek__measure_try *t)
{
    ek_job_parallel *p = &t->job->parallel;
    ek_status status = halve_data(t);
    if (status || !t->out->possible)
        return status;
    if (p->expert_tensor == p->tensor)
        p->expert_tensor *= 2;
    p->tensor *= 2;
    split_vocabulary(t->job, p->tensor / 2, p->context);
    return say_degree(t, "parallel_config.model_parallel", "tensor-model-parallel-size", p->tensor);
}

/* Tokens of a rank's part of a sequence under which cutting it further is no usual choice: kernels and messages get
 * short while other measures are left. Guides cut sequences of 32 K and more. */
enum { LONG_SEQUENCE = 16 * 1024 };

static ek_status change_context(ek__measure_try *t)
{
    ek_job_parallel *p = &t->job->parallel;
    if (!t->job->model.flash_attention)
        return refuse(t, "context parallelism needs flash attention");
    ek_status status = halve_data(t);
    if (status || !t->out->possible)
        return status;
    p->context *= 2;
    if (p->seq_length / p->context < LONG_SEQUENCE)
        t->out->effort = 4;
    if (p->context_algorithm == EK_CONTEXT_ULYSSES)
        p->ulysses *= 2;
    split_vocabulary(t->job, p->tensor, p->context / 2);
    return say_degree(t, "parallel_config.context_parallel", "context-parallel-size", p->context);
}

/* A pipeline needs micro-batches to fill it: without one each sequence that is accumulated becomes one of them. Their
 * gradients are summed in a buffer from then on. @return false where there are too many */
static bool sequences_as_micro_batches(ek_job *job)
{
    ek_job_parallel *p = &job->parallel;
    if (!is_mindformers(job))
        return true; /* they are micro-batches with one stage already */
    if (p->batch > EK_MAX_MICRO_BATCHES / p->n_accumulation)
        return false;
    p->n_micro_batches = p->n_accumulation * p->batch;
    p->n_accumulation = p->batch = 1;
    if (job->states.gradient == 0)
        job->states.gradient = job->states.weight;
    return true;
}

static ek_status change_pipeline(ek__measure_try *t)
{
    ek_job_parallel *p = &t->job->parallel;
    const outlines was = outlines_of(t->job);
    if (p->pipeline > EK_MAX_STAGES / 2 || t->job->model.n_layers < 2 * n_cells(t->job))
        return refuse(t, "there are too few layers for so many stages");
    bool first = p->pipeline == 1, accumulated = p->n_accumulation > 1;
    ek_status status = halve_data(t);
    if (status || !t->out->possible)
        return status;
    if (first && !sequences_as_micro_batches(t->job))
        return refuse(t, "there would be too many micro-batches");
    p->pipeline *= 2;
    status = spread(t, t->job->plan.n_chunks, t->job->schedule);
    if (status || !t->out->possible)
        return status;
    char text[240];
    if (is_mindformers(t->job))
        snprintf(text, sizeof text, "parallel_config.pipeline_stage: %d, data_parallel: %d, micro_batch_num: %d",
                 p->pipeline, p->data, p->n_micro_batches);
    else
        snprintf(text, sizeof text,
                 t->job->framework == EK_MINDSPEED ? "--pipeline-model-parallel-size %d --data-parallel-size %d"
                                                   : "--pipeline-model-parallel-size %d",
                 p->pipeline, p->data);
    if (first && is_mindformers(t->job)) {
        size_t used = strlen(text);
        snprintf(text + used, sizeof text - used, ", runner_config.batch_size: %d%s", p->batch,
                 accumulated ? ", runner_config.gradient_accumulation_steps: 1" : "");
    }
    return say_spread(t, text, was);
}

static ek_status change_expert(ek__measure_try *t)
{
    ek_job_parallel *p = &t->job->parallel;
    if (t->job->model.n_experts == 0)
        return refuse(t, "there are no experts");
    if (p->data * p->context % (2 * p->expert))
        return refuse(t, "%d data-parallel ranks cannot hold %d expert-parallel ones", p->data * p->context,
                      2 * p->expert);
    p->expert *= 2;
    return say(t, "parallel_config.expert_parallel: %d", "--expert-model-parallel-size %d", p->expert);
}

/* ---- the rest ---- */

static ek_status change_flash(ek__measure_try *t)
{
    if (t->job->model.flash_attention)
        return refuse(t, "%s", already);
    t->job->model.flash_attention = true;
    return say(t, "model.model_config.use_flash_attention: True", "--use-flash-attn");
}

static ek_status change_mask(ek__measure_try *t)
{
    if (t->job->model.mask_compressed)
        return refuse(t, "%s", already);
    if (t->job->model.no_mask)
        return refuse(t, "ring attention takes no mask");
    if (!is_mindformers(t->job) || !t->job->model.flash_attention)
        return refuse(t, "it goes with flash attention of MindFormers");
    if (t->job->family == EK_FAMILY_GLM)
        return refuse(t, "ChatGLM's models build the whole mask");
    t->job->model.mask_given = false;
    t->job->model.mask_compressed = true;
    return say_one(t, "model.model_config.use_attn_mask_compression: True");
}

static ek_status change_pages(ek__measure_try *t)
{
    ek_rules *rules = &t->job->rules;
    if (rules->allocation == EK_ALLOCATION_PAGES)
        return refuse(t, "%s", already);
    bool pytorch = rules->allocation == EK_ALLOCATION_CACHING;
    rules->allocation = EK_ALLOCATION_PAGES;
    snprintf(t->out->setting, sizeof t->out->setting, "%s",
             pytorch ? "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True (environment)"
                     : "MS_ALLOC_CONF=enable_vmm:True (environment)");
    return EK_OK;
}

const ek__measure_kind ek__measure_kinds[] = {
    {"recompute the activation functions in every layer", change_select, 1, false},
    {"repeat the communication behind norms in every layer", change_comm, 1, false},
    {"activation functions and that communication in every layer", change_both, 1, false},
    {"recompute every layer whole", change_full, 1, false},
    {"recompute just enough layers of the stages over the limit", change_full_just_enough, 1, false},
    {"recompute no more than memory needs", change_less_recompute, 1, false},
    {"sequence parallelism", change_sequence_parallel, 0, true},
    {"share weights and optimizer states among data-parallel ranks", change_optimizer_parallel, 0, true},
    {"share the gradients' buffers too", change_gradient_shard, 0, true},
    {"share the embedding table too", change_table_shard, 0, true},
    {"share among all ranks of the group", change_whole_group, 0, true},
    {"move a layer from the fullest to the emptiest stage", change_offset, 1, true},
    {"twice the chunks per stage", change_interleave, 2, false},
    {"interleave with less memory", change_less_memory, 2, false},
    {"schedule ZB-V", change_zb_v, 2, false},
    {"schedule V-Half", change_v_half, 2, false},
    {"schedule V-Min", change_v_min, 2, false},
    {"half the micro-batch, twice as many", change_batch, 2, true},
    {"twice the tensor parallelism, half the data parallelism", change_tensor, 3, true},
    {"twice the context parallelism, half the data parallelism", change_context, 3, true},
    {"twice the stages, half the data parallelism", change_pipeline, 3, true},
    {"twice the expert parallelism", change_expert, 3, false},
    {"flash attention", change_flash, 0, false},
    {"compress the attention mask", change_mask, 0, false},
    {"map memory in pages", change_pages, 0, false},
    {NULL, NULL, 0, false},
};
