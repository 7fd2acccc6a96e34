/* Lists the space of layouts by nested loops over divisors, with the dimensions that determine a layer's cost
 * outermost, so that neighbours share priced layers. The order is that of the loops and so the same for any number of
 * threads. */
#include "layout/space.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "evenkeel/layers.h"
#include "job/settings.h"
#include "layout/frameworks.h"

/* The defaults. */
enum { MOST_CHUNKS = 8, MOST_BATCH = 8, MOST_COPIES = 2, PARTS = 2 };

typedef struct lister {
    ek__space *space;
    int d[EK_N_LAYOUT_AXES];
    bool sequence_parallel;
    long n; /* combinations so far */
    bool no_memory;
} lister;

static ek_layout_range range_of(const ek__space *space, ek_layout_axis axis, int most)
{
    ek_layout_range range = space->options->range[axis];
    if (range.least <= 0)
        range.least = 1;
    if (range.most <= 0)
        range.most = most;
    return range;
}

static bool in_range(const lister *l, ek_layout_axis axis, int value)
{
    const ek_layout_range range = range_of(l->space, axis, INT32_MAX);
    bool cut = axis == EK_AXIS_TENSOR || axis == EK_AXIS_PIPELINE || axis == EK_AXIS_CONTEXT || axis == EK_AXIS_EXPERT;
    if (cut && value > 1 && ek__job_has(l->space->job, "transformers-trainer")) /* as in ek_job_check() */
        return false;
    return value >= range.least && value <= range.most;
}

static int most_of(const ek__space *space, ek_layout_axis axis, int usual)
{
    int most = space->options->range[axis].most;
    return most > 0 ? most : usual;
}

/* ---- innermost ---- */

static void add(lister *l)
{
    ek__space *space = l->space;
    ek__layout_group *grown = ek__with_room(space->group, &space->capacity, space->n_groups + 1, sizeof *grown);
    if (!grown) {
        l->no_memory = true;
        return;
    }
    space->group = grown;
    ek__layout_group *group = &grown[space->n_groups++];
    *group = (ek__layout_group){.first = l->n};
    memcpy(group->layout.value, l->d, sizeof l->d);
    group->layout.value[EK_AXIS_CHUNKS] = 1;
    int64_t sequences = (int64_t)l->d[EK_AXIS_DATA] * l->d[EK_AXIS_BATCH] * l->d[EK_AXIS_COPIES];
    group->layout.n_micro_batches = (int)(space->global_batch / sequences);
    group->layout.sequence_parallel = l->sequence_parallel;
    group->layout.schedule = ek_schedule_default(1, 0);
    l->n += ek__space_most_chunks(space, group);
}

static bool can_share(const ek_job *job)
{
    return job->framework != EK_MINDSPEED || job->states.shard_optimizer;
}

/* Whole, or shared like the states, if there is a choice. @param held unchanged, unless the axis is requested */
static bool takes(const lister *l, ek_layout_axis axis, bool choice, bool today, bool held, bool shared)
{
    bool asked = l->space->options->range[axis].most > 0;
    if (shared && (!choice || l->d[EK_AXIS_SHARD] == 1))
        return false;
    if (choice && l->d[EK_AXIS_SHARD] > 1 && held && !asked && shared != today)
        return false;
    return in_range(l, axis, shared ? l->d[EK_AXIS_SHARD] : 1);
}

static void each_sharing(lister *l)
{
    const ek_job *job = l->space->job;
    int64_t sequences = (int64_t)l->d[EK_AXIS_DATA] * l->d[EK_AXIS_BATCH] * l->d[EK_AXIS_COPIES];
    /* Gradients of one micro-batch are not summed. */
    bool sums = ek__layout_has_sums(job) && (l->d[EK_AXIS_PIPELINE] > 1 || l->space->global_batch > sequences);
    bool today = job->states.shard_gradient || ek__job_has(job, "shares-gradients"); /* with several ranks to share */
    bool shares = job->states.shard_table;
    for (int table = 0; table <= 1; table++)
        for (int gradients = 0; gradients <= 1; gradients++) {
            if (!takes(l, EK_AXIS_TABLE, ek__layout_has_table(job), shares, shares, table) ||
                !takes(l, EK_AXIS_SUMS, sums, today, true, gradients))
                continue;
            l->d[EK_AXIS_TABLE] = table ? l->d[EK_AXIS_SHARD] : 1;
            l->d[EK_AXIS_SUMS] = gradients ? l->d[EK_AXIS_SHARD] : 1;
            add(l);
        }
}

/* Ranks that share states: each divisor of the possible number. */
static void each_shard(lister *l)
{
    int ranks = l->d[EK_AXIS_DATA] * l->d[EK_AXIS_CONTEXT];
    for (int n = 1; n <= ranks; n++) {
        if (ranks % n != 0 || !in_range(l, EK_AXIS_SHARD, n) || (n > 1 && !can_share(l->space->job)))
            continue;
        l->d[EK_AXIS_SHARD] = n;
        each_sharing(l);
    }
}

static void each_pipeline(lister *l)
{
    const ek_layout_options *o = l->space->options;
    int layers = l->space->job->model.n_layers + l->space->job->model.n_prediction_layers;
    int left = o->n_devices / (l->d[EK_AXIS_TENSOR] * l->d[EK_AXIS_CONTEXT]);
    for (int p = 1; p <= left && p <= layers && p <= EK_MAX_STAGES; p++) {
        int64_t sequences = (int64_t)(left / p) * l->d[EK_AXIS_BATCH] * l->d[EK_AXIS_COPIES];
        if (left % p != 0 || !in_range(l, EK_AXIS_PIPELINE, p) || !in_range(l, EK_AXIS_DATA, left / p) ||
            l->space->global_batch % sequences != 0 || l->space->global_batch / sequences > EK_MAX_MICRO_BATCHES)
            continue;
        /* Experts reuse the ranks of a stage. */
        if (left / p * l->d[EK_AXIS_CONTEXT] * l->d[EK_AXIS_TENSOR] % l->d[EK_AXIS_EXPERT] != 0)
            continue;
        l->d[EK_AXIS_PIPELINE] = p;
        l->d[EK_AXIS_DATA] = left / p;
        each_shard(l);
    }
}

/* ---- dimensions of a layer's cost ---- */

/* Alternating parts hide the communication of tensor parallel groups, and are intended for sequence parallelism. The
 * file's setting is kept, unless the axis is requested. */
static void each_fine(lister *l)
{
    const ek_job *job = l->space->job;
    int today = job->parallel.fine_grain, parts = today > 1 ? today : PARTS;
    bool choice =
        ek__layout_has_fine(job) && l->d[EK_AXIS_TENSOR] > 1 && l->sequence_parallel && l->d[EK_AXIS_COPIES] == 1;
    bool stays = choice && today > 1 && l->space->options->range[EK_AXIS_FINE].most <= 0;
    for (int n = stays ? parts : 1; n <= (choice ? parts : 1); n++) {
        if ((n > 1 && n < parts) || !in_range(l, EK_AXIS_FINE, n))
            continue;
        l->d[EK_AXIS_FINE] = n;
        each_pipeline(l);
    }
}

static void each_sequence_parallel(lister *l)
{
    int wanted = l->space->options->sequence_parallel;
    for (int on = 0; on <= 1; on++) {
        if ((wanted >= 0 && on != wanted && l->d[EK_AXIS_TENSOR] > 1) || (on && l->d[EK_AXIS_TENSOR] == 1))
            continue;
        l->sequence_parallel = on;
        each_fine(l);
    }
}

static void each_batch(lister *l)
{
    int most = most_of(l->space, EK_AXIS_BATCH, MOST_BATCH);
    for (int b = 1; b <= most && b <= l->space->global_batch; b++) {
        if (l->space->global_batch % b != 0 || !in_range(l, EK_AXIS_BATCH, b))
            continue;
        l->d[EK_AXIS_BATCH] = b;
        each_sequence_parallel(l);
    }
}

/* Concurrent copies of a batch's halves exist only in MindFormers. */
static void each_copies(lister *l)
{
    ek_framework framework = l->space->job->framework;
    bool has = framework == EK_MINDFORMERS || framework == EK_MINDFORMERS_MCORE;
    for (int n = 1; n <= (has ? most_of(l->space, EK_AXIS_COPIES, MOST_COPIES) : 1); n++) {
        /* Alternating hides communication of tensor parallel groups, so there must be such communication. */
        if (!in_range(l, EK_AXIS_COPIES, n) || (n > 1 && l->d[EK_AXIS_TENSOR] == 1))
            continue;
        l->d[EK_AXIS_COPIES] = n;
        each_batch(l);
    }
}

static void each_expert(lister *l)
{
    int experts = l->space->job->model.n_experts, most = experts > 0 ? experts : 1;
    for (int e = 1; e <= most; e++) {
        if (most % e != 0 || !in_range(l, EK_AXIS_EXPERT, e))
            continue;
        l->d[EK_AXIS_EXPERT] = e;
        each_copies(l);
    }
}

static void each_context(lister *l)
{
    const ek__space *space = l->space;
    int left = space->options->n_devices / l->d[EK_AXIS_TENSOR], length = space->job->parallel.seq_length;
    for (int c = 1; c <= left; c++) {
        if (left % c != 0 || length % c != 0 || !in_range(l, EK_AXIS_CONTEXT, c))
            continue;
        l->d[EK_AXIS_CONTEXT] = c;
        each_expert(l);
    }
}

static void each_tensor(lister *l)
{
    const ek__space *space = l->space;
    for (int t = 1; t <= space->options->n_devices && t <= space->job->model.n_heads; t++) {
        if (space->options->n_devices % t != 0 || space->job->model.n_heads % t != 0 || !in_range(l, EK_AXIS_TENSOR, t))
            continue;
        l->d[EK_AXIS_TENSOR] = t;
        each_context(l);
    }
}

ek_status ek__space_new(const ek_job *job, const ek_layout_options *options, ek__space *out, ek_error *err)
{
    ek__space space = {.job = job,
                       .options = options,
                       .global_batch = options->global_batch > 0 ? options->global_batch : ek_job_sequences(job)};
    lister l = {.space = &space};
    each_tensor(&l);
    if (l.no_memory) {
        ek__space_clear(&space);
        return ek__no_memory(err);
    }
    *out = space;
    return EK_OK;
}

void ek__space_clear(ek__space *space)
{
    free(space->group);
    *space = (ek__space){0};
}

/* ---- chunks and schedules ---- */

int ek__space_most_chunks(const ek__space *space, const ek__layout_group *group)
{
    int layers = space->job->model.n_layers + space->job->model.n_prediction_layers;
    int p = group->layout.value[EK_AXIS_PIPELINE], most = most_of(space, EK_AXIS_CHUNKS, MOST_CHUNKS);
    if (p == 1)
        return 1;
    most = most < layers / p ? most : layers / p;
    return most < EK_MAX_CHUNKS ? most : EK_MAX_CHUNKS;
}

bool ek__space_allows(const ek__space *space, const ek__layout_group *group, int n_chunks, const ek_schedule *schedule)
{
    int p = group->layout.value[EK_AXIS_PIPELINE], m = group->layout.n_micro_batches;
    const ek_layout_range chunks = range_of(space, EK_AXIS_CHUNKS, EK_MAX_CHUNKS);
    /* Some frameworks count the embedding and the head as layers, so that the current job may have a chunk without
     * layers: a plan gives each chunk a layer. */
    if (p * n_chunks > space->job->model.n_layers + space->job->model.n_prediction_layers)
        return false;
    if (n_chunks < chunks.least || n_chunks > chunks.most || n_chunks < schedule->min_chunks ||
        n_chunks > schedule->max_chunks || m < schedule->min_micro_batches * p)
        return false;
    if (p == 1)
        return n_chunks == 1 && schedule->family == EK_SCHEDULE_1F1B;
    return ek__framework_takes(space->job->framework, schedule, p, m);
}
