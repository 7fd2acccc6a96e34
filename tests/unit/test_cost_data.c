/* Tests the data-parallel work of a stage: buckets and layers against an event simulation of the whole step on two
 * streams, closed forms of equal layers, limits, the bytes of the optimizer, and groups and elements against
 * memory's. */
#include "input.h"

#include <math.h>
#include <unistd.h>

#include "cost/cost_internal.h"
#include "cost/data_parallel.h"
#include "memory/program.h"

/* ---- jobs and devices ---- */

static ek_device cluster(double intra_gbs, double inter_gbs, double latency_us)
{
    ek_device device = {.name = "cluster", .memory_gib = 80, .memory_gbs = 1000, .devices_per_node = 8};
    ek__device_default(&device);
    ek__device_links(&device, intra_gbs, inter_gbs);
    for (int i = 0; i < device.n_tiers; i++)
        device.tier[i].latency_us = latency_us;
    device.optimizer_share = device.overlap_share = 1;
    return device;
}

/* Mixed precision as Megatron has it, all states whole. */
static ek_job plain(int data)
{
    ek_job job = {.framework = EK_MEGATRON, .family = EK_FAMILY_MEGATRON};
    job.types = (ek_job_types){.compute = EK_BF16, .param = EK_BF16, .embedding = EK_BF16, .norm = EK_BF16};
    job.parallel = (ek_job_parallel){
        .data = data, .tensor = 1, .pipeline = 1, .context = 1, .expert = 1, .expert_tensor = 1, .n_micro_batches = 1};
    job.states = (ek_job_states){.weight = 2, .gradient = 4, .optimizer = 12, .shard_size = -1, .shard_table = true};
    job.run = (ek_job_run){.overlap_gradients = true, .overlap_weights = true, .fused_optimizer = true};
    job.rules = ek_rules_default(EK_MEGATRON);
    return job;
}

static ek_job zero(int data, int level)
{
    ek_job job = plain(data);
    job.states.shard_optimizer = level >= 1;
    job.states.shard_gradient = level >= 2;
    job.states.shard_weight = level >= 3;
    if (level >= 3) {
        job.states.gathered = 2;
        job.rules.weight_gather = EK_GATHER_LAYER;
    }
    return job;
}

enum { MAX_LAYERS = 64 };

static ek__data_times priced_at(const ek_job *job, const ek_device *device, const ek__data_layer *layer, int n, int m,
                                bool first, int row)
{
    const ek__data_stage stage = {.layer = layer, .n_layers = n, .n_micro_batches = m, .first = first, .in_a_row = row};
    ek__data_times times;
    ek_error err = {0};
    if (ek__data_parallel(job, device, &stage, &times, &err))
        fail_msg("%s", err.message);
    return times;
}

static ek__data_times priced(const ek_job *job, const ek_device *device, const ek__data_layer *layer, int n, int m)
{
    return priced_at(job, device, layer, n, m, true, 0);
}

static double collective(const ek_job *job, const ek_device *device, ek_collective what, ek__dimension group,
                         double bytes)
{
    const ek__ranks ranks = ek__placement(job, device, group);
    return ranks.n > 1 && bytes > 0 ? ek__collective_seconds(device, what, &ranks, bytes).seconds : 0;
}

static void assert_close_to(const char *what, double found, double expected, double scale)
{
    if (!(fabs(found - expected) <= 1e-9 * fmax(fabs(scale), fabs(expected))))
        fail_msg("%s: %.15g, expected %.15g", what, found, expected);
}

/* ---- the oracle: events on two streams ---- A list of pieces of computing, one after the other, each after the
 * messages that block it; a list of messages, each released when a piece starts or ends, sent in the order of their
 * release. Time moves from event to event. */

typedef enum moment { AT_START, AT_END } moment;

typedef struct message {
    double seconds;
    moment moment;
    int piece;  /* that lets it go; -1: the beginning of the step */
    int blocks; /* piece that waits for it */
} message;

enum { MAX_PIECES = 4096, MAX_MESSAGES = 60000 };

typedef struct world {
    int n_pieces, n_messages;
    double piece[MAX_PIECES];
    int waits_for[MAX_PIECES]; /* messages not there yet */
    message message[MAX_MESSAGES];
    int queue[MAX_MESSAGES], head, tail;
    bool let_go[MAX_MESSAGES];
} world;

static world w;

static int add_piece(double seconds)
{
    assert_true(w.n_pieces < MAX_PIECES);
    w.piece[w.n_pieces] = seconds;
    w.waits_for[w.n_pieces] = 0;
    return w.n_pieces++;
}

static void add_message(double seconds, moment when, int piece, int blocks)
{
    assert_true(w.n_messages < MAX_MESSAGES);
    if (seconds > 0)
        w.message[w.n_messages++] = (message){seconds, when, piece, blocks};
}

static void let_go(moment when, int piece)
{
    for (int i = 0; i < w.n_messages; i++)
        if (w.message[i].moment == when && w.message[i].piece == piece && !w.let_go[i]) {
            w.let_go[i] = true;
            w.queue[w.tail++] = i;
        }
}

typedef struct lived {
    double end, computed, both; /* and the time in which both streams were at work */
} lived;

static lived live(void)
{
    memset(w.let_go, 0, sizeof w.let_go);
    w.head = w.tail = 0;
    for (int i = 0; i < w.n_messages; i++)
        if (w.message[i].blocks >= 0)
            w.waits_for[w.message[i].blocks]++;
    lived out = {0};
    double now = 0, computes_to = -1, sends_to = -1;
    int piece = 0, sending = -1;
    let_go(AT_END, -1);
    for (;;) {
        for (bool moved = true; moved;) {
            moved = false;
            if (computes_to >= 0 && computes_to <= now) {
                computes_to = -1;
                let_go(AT_END, piece++);
                moved = true;
            }
            if (sending >= 0 && sends_to <= now) {
                if (w.message[sending].blocks >= 0)
                    w.waits_for[w.message[sending].blocks]--;
                sending = -1;
                moved = true;
            }
            if (computes_to < 0 && piece < w.n_pieces && w.waits_for[piece] == 0) {
                computes_to = now + w.piece[piece];
                let_go(AT_START, piece);
                moved = true;
            }
            if (sending < 0 && w.head < w.tail) {
                sending = w.queue[w.head++];
                sends_to = now + w.message[sending].seconds;
                moved = true;
            }
        }
        if (computes_to < 0 && sending < 0)
            break;
        double next = computes_to < 0 ? sends_to : sending < 0 ? computes_to : fmin(computes_to, sends_to);
        if (computes_to >= 0 && sending >= 0)
            out.both += next - now;
        now = next;
    }
    assert_int_equal(piece, w.n_pieces);
    assert_int_equal(w.head, w.n_messages);
    out.end = now;
    for (int i = 0; i < w.n_pieces; i++)
        out.computed += w.piece[i];
    return out;
}

/* ---- a step of the oracle ---- */

typedef struct setting {
    const ek_job *job;
    const ek_device *device;
    const ek__data_layer *layer;
    int n, m;
    bool cut, layers, each, first;
    int row;
} setting;

enum { DENSE, WHOLE, EXPERT, WHOLE_EXPERT, N_CLASSES };

static double elements(const setting *s, int i, int class)
{
    const ek__data_layer *l = &s->layer[i];
    switch (class) {
    case WHOLE:
        return s->cut ? l->whole : 0;
    case WHOLE_EXPERT:
        return s->cut ? l->whole_expert : 0;
    case EXPERT:
        return l->expert - (s->cut ? l->whole_expert : 0);
    default:
        return l->dense - (s->cut ? l->whole : 0);
    }
}

/* A gradient's message after each micro-batch (`first`) or only after the last one. */
static double gradient_seconds(const setting *s, int class, double n, bool first)
{
    const ek_job_states *states = &s->job->states;
    double bytes = n * (s->job->run.reduce_bytes ? s->job->run.reduce_bytes : states->gradient);
    ek__dimension all = class >= EXPERT ? EK__DIM_EXPERT_DATA : EK__DIM_DATA;
    ek__dimension shard = class == EXPERT ? EK__DIM_EXPERT_SHARD : EK__DIM_SHARD;
    ek__dimension copies = class == EXPERT ? EK__DIM_EXPERT_REPLICATE : EK__DIM_REPLICATE;
    bool whole = class == WHOLE || class == WHOLE_EXPERT;
    if (!s->cut || whole)
        return first == whole ? 0 : collective(s->job, s->device, EK_COLLECTIVE_ALL_REDUCE, all, bytes);
    if (first)
        return collective(s->job, s->device, EK_COLLECTIVE_REDUCE_SCATTER, shard, bytes);
    double ranks = ek__placement(s->job, s->device, shard).n;
    return collective(s->job, s->device, EK_COLLECTIVE_ALL_REDUCE, copies, bytes / fmax(1, ranks));
}

static double weight_seconds(const setting *s, int i)
{
    double sum = 0, size = s->job->run.fp8_gather ? 1 : 2;
    for (int class = 0; class < N_CLASSES; class += 2) {
        double wide = class == DENSE ? s->layer[i].wide : 0, bytes = (elements(s, i, class) - wide) * size + wide * 2;
        sum += collective(s->job, s->device, EK_COLLECTIVE_ALL_GATHER,
                          class == EXPERT ? EK__DIM_EXPERT_SHARD : EK__DIM_SHARD, bytes);
    }
    return sum;
}

/* The piece that is the k-th layer of a pass; its chunk waits for the one before it. */
static int piece_of(int first, int k)
{
    return first + 2 * k + 1;
}

/* Elements of a bucket of a chunk. */
static double bucket_elements(const setting *s, int chunk)
{
    double size = s->job->run.reduce_bytes ? s->job->run.reduce_bytes : s->job->states.gradient;
    bool none = s->job->run.first_stage_buckets && (chunk > 0 || !s->first);
    none = none || s->job->run.layer_buckets;
    return s->job->run.bucket_bytes > 0 && !none ? s->job->run.bucket_bytes / size : INFINITY;
}

static void gradient_messages(const setting *s, int class, double n, int piece, bool each, bool once)
{
    if (each)
        add_message(gradient_seconds(s, class, n, true), AT_END, piece, -1);
    if (once)
        add_message(gradient_seconds(s, class, n, false), AT_END, piece, -1);
}

/* Gradients of the layers from..to of a chunk in reverse order, from piece number `first` of the pass on: every bucket
 * is a span of all their elements in that order, and goes when the layer with its last element is done; a span that is
 * not full goes when all are. Without overlap all go at the end of the pass. */
static void chunk_messages(const setting *s, int from, int to, int first, bool each, bool once)
{
    double bucket = bucket_elements(s, s->layer[from].chunk);
    bool behind = s->job->run.overlap_gradients;
    for (int i = to - 1; i >= from && isfinite(bucket); i--)
        for (int class = 0; class < N_CLASSES; class ++) {
            double before = 0;
            for (int k = i + 1; k < to; k++)
                before += elements(s, k, class);
            double here = before + elements(s, i, class);
            for (double b = floor(before / bucket); (b + 1) * bucket <= here; b++)
                if ((b + 1) * bucket > before)
                    gradient_messages(s, class, bucket, piece_of(first, behind ? s->n - 1 - i : s->n - 1), each, once);
        }
    for (int class = 0; class < N_CLASSES; class ++) {
        double all = 0;
        for (int k = from; k < to; k++)
            all += elements(s, k, class);
        double rest = isfinite(bucket) ? all - floor(all / bucket) * bucket : all;
        gradient_messages(s, class, rest, piece_of(first, behind ? s->n - 1 - from : s->n - 1), each, once);
    }
}

static void bucket_messages(const setting *s, int first, bool each, bool once)
{
    for (int to = s->n, from; to > 0; to = from) {
        for (from = to - 1;
             from > 0 && !s->job->run.layer_buckets && s->layer[from - 1].chunk == s->layer[to - 1].chunk;)
            from--;
        chunk_messages(s, from, to, first, each, once);
    }
}

static double gathered_bytes(const setting *s, int i, int class)
{
    double own = class == DENSE ? s->layer[i].wide : 0, size = s->job->run.fp8_gather ? 1 : 2;
    return (elements(s, i, class) - own) * size + own * 2;
}

/* Weights once a step, all requested at its beginning in the order of the layers that need their buckets first. */
static void bucket_weights(const setting *s)
{
    double asked[N_CLASSES] = {0}, wanted[N_CLASSES] = {0};
    for (int i = 0; i < s->n; i++)
        for (int class = 0; class < N_CLASSES; class += 2) {
            double bucket = bucket_elements(s, s->layer[i].chunk) * (s->job->run.fp8_gather ? 1 : 2), total = 0;
            for (int k = 0; k < s->n; k++)
                total += (s->job->run.layer_buckets ? k <= i : s->layer[k].chunk <= s->layer[i].chunk)
                             ? gathered_bytes(s, k, class)
                             : 0;
            wanted[class] += gathered_bytes(s, i, class);
            while (asked[class] < wanted[class] - 0.25) {
                double bytes = fmin(bucket, total - asked[class]);
                double seconds = collective(s->job, s->device, EK_COLLECTIVE_ALL_GATHER,
                                            class == EXPERT ? EK__DIM_EXPERT_SHARD : EK__DIM_SHARD, bytes);
                add_message(seconds, AT_END, -1, piece_of(0, s->job->run.overlap_weights ? i : 0));
                asked[class] += bytes;
            }
        }
}

static void layer_messages(const setting *s, int first, bool each, bool once)
{
    int last = s->n - 1;
    for (int k = 0; k < s->n; k++) {
        int piece = piece_of(first, s->job->run.overlap_gradients ? k : last);
        for (int class = 0; class < N_CLASSES; class ++) {
            double n = elements(s, last - k, class);
            if (each)
                add_message(gradient_seconds(s, class, n, true), AT_END, piece, -1);
            if (once)
                add_message(gradient_seconds(s, class, n, false), AT_END, piece, -1);
        }
    }
}

/* Weights of the pieces first.. of a pass: the first one's at its beginning, each other one's as the piece before
 * starts, or as it ends where nothing is fetched ahead. */
static void layer_weights(const setting *s, int first, bool backward)
{
    for (int k = 0; k < s->n; k++) {
        int layer = backward ? s->n - 1 - k : k;
        bool kept =
            s->job->rules.weight_gather == EK_GATHER_STEP || (s->job->states.gathered_ends && s->layer[layer].end);
        double seconds = backward && kept ? 0 : weight_seconds(s, layer);
        bool ahead = k > 0 && s->job->run.overlap_weights;
        add_message(seconds, ahead ? AT_START : AT_END, k > 0 ? piece_of(first, k - 1) : first - 1, piece_of(first, k));
    }
}

/* Work before the k-th layer of a pass where its chunk follows another one: that pass of the other micro-batches in a
 * row, of the chunk that ends (forward) or begins (backward). */
static double rest_of_row(const setting *s, int k, bool backward)
{
    int here = backward ? s->n - 1 - k : k, other = backward ? here + 1 : here - 1;
    if (k == 0 || s->layers || s->layer[here].chunk == s->layer[other].chunk)
        return 0;
    double sum = 0;
    for (int i = 0; i < s->n; i++) {
        if (backward && s->layer[i].chunk == s->layer[here].chunk)
            sum += s->layer[i].backward;
        if (!backward && s->layer[i].chunk == s->layer[other].chunk)
            sum += s->layer[i].forward;
    }
    return s->row > 1 ? (s->row - 1) * sum : 0;
}

/* A step of all micro-batches, each forward and backward. Between passes everything has arrived. */
static lived step_of(const setting *s)
{
    w.n_pieces = w.n_messages = 0;
    int start = -1;
    for (int b = 0; b < s->m; b++)
        for (int backward = 0; backward < 2; backward++) {
            bool last = b == s->m - 1, each = s->each || last;
            int messages = w.n_messages, first = w.n_pieces;
            for (int k = 0; k < s->n; k++) {
                add_piece(rest_of_row(s, k, backward));
                add_piece(backward ? s->layer[s->n - 1 - k].backward : s->layer[k].forward);
            }
            if (backward)
                s->layers ? layer_messages(s, first, each, last) : bucket_messages(s, first, each, last);
            if (s->layers)
                layer_weights(s, first, backward);
            else if (s->cut && !backward && b == 0)
                bucket_weights(s);
            start = add_piece(0);
            for (int i = messages; i < w.n_messages; i++)
                if (w.message[i].blocks < 0)
                    w.message[i].blocks = start;
        }
    return live();
}

/* ---- random steps ---- */

static unsigned long long seed;

static double uniform(void)
{
    seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
    return (double)(seed >> 11) / (double)(1ULL << 53);
}

static int below(int n)
{
    return (int)(uniform() * n);
}

static double random_elements(void)
{
    return below(4) == 0 ? 0 : floor(uniform() * 4e7);
}

static void make_alike(ek__data_layer *layer, const ek__data_layer *other)
{
    const ek__data_layer own = *layer;
    *layer = *other;
    layer->chunk = own.chunk;
    layer->end = own.end;
    switch (below(6)) {
    case 0:
        layer->whole = floor(layer->whole / 2);
        break;
    case 1:
        layer->wide = floor(layer->wide / 2);
        break;
    case 2:
        layer->whole_expert = floor(layer->whole_expert / 2);
        break;
    case 3:
        layer->forward = own.forward;
        break;
    default:
        break;
    }
}

static void random_layers(ek__data_layer *layer, int n, bool narrow)
{
    int chunk = 0;
    double scale = below(3) == 0 ? 0 : pow(10, -4 + 3 * uniform());
    for (int i = 0; i < n; i++) {
        layer[i] = (ek__data_layer){.dense = random_elements(),
                                    .expert = below(2) ? random_elements() : 0,
                                    .end = i == 0 || i == n - 1,
                                    .forward = below(5) ? scale * uniform() : 0,
                                    .backward = below(5) ? 2 * scale * uniform() : 0};
        layer[i].whole = below(3) ? 0 : floor(layer[i].dense * uniform());
        layer[i].chunk = i > 0 && below(4) == 0 ? ++chunk : chunk;
        layer[i].whole_expert = below(3) ? 0 : floor(layer[i].expert * uniform());
        layer[i].wide = narrow ? floor((layer[i].dense - layer[i].whole) * uniform()) : 0;
        if (i > 0 && below(2)) /* like the last one, or nearly */
            make_alike(&layer[i], &layer[i - 1]);
    }
}

static ek_job random_job(void)
{
    static const int data[] = {1, 2, 4, 8, 16, 64};
    ek_job job = zero(data[below(6)], below(4));
    job.parallel.tensor = 1 << below(3);
    job.parallel.context = 1 << below(2);
    job.parallel.expert = 1 << below(2);
    job.parallel.expert_tensor = job.parallel.tensor;
    job.states.shard_size = below(2) ? 2 : -1;
    job.states.instances = below(3) ? 1 : 2;
    job.run.bucket_bytes = below(3) ? floor(1e6 + uniform() * 2e8) : 0;
    job.run.reduce_bytes = below(2) ? 2 : 0;
    job.run.overlap_gradients = below(4) > 0;
    job.run.overlap_weights = below(4) > 0;
    job.run.sums_every_micro_batch = below(3) == 0;
    job.run.fp8_gather = below(3) == 0;
    job.run.first_stage_buckets = below(2);
    job.run.layer_buckets = below(3) == 0;
    job.states.gathered_ends = below(2);
    if (job.states.shard_weight && below(3) == 0)
        job.rules.weight_gather = EK_GATHER_STEP;
    if (job.states.shard_weight && below(3) == 0)
        job.states.shard_gradient = false;
    return job;
}

static setting setting_of(const ek_job *job, const ek_device *device, const ek__data_layer *layer, int n, int m,
                          bool first, int row)
{
    const ek_job_states *s = &job->states;
    bool cut = s->shard_optimizer || s->shard_weight;
    bool each = job->run.sums_every_micro_batch || (cut && s->shard_gradient);
    return (setting){.job = job,
                     .device = device,
                     .layer = layer,
                     .n = n,
                     .m = m,
                     .first = first,
                     .row = row,
                     .cut = cut,
                     .layers = s->shard_weight &&
                               (job->rules.weight_gather == EK_GATHER_LAYER || (job->run.layer_buckets && each)),
                     .each = each};
}

static double extra(const ek__data_times *t, int m)
{
    return m * (t->forward + t->backward) + t->first_forward + t->reduction + t->slowdown;
}

static void steps_agree_with_a_simulation_of_every_message(void **state)
{
    (void)state;
    static ek__data_layer layer[MAX_LAYERS];
    for (int i = 0; i < 1500; i++) {
        seed = (unsigned long long)i + 1;
        ek_job job = random_job();
        ek_device device = cluster(below(2) ? 300 : 20, 10 + 40 * uniform(), 20 * uniform());
        int n = 1 + below(12), m = 1 + below(4);
        bool first = below(2);
        int row = below(4);
        random_layers(layer, n, job.run.fp8_gather);
        const setting s = setting_of(&job, &device, layer, n, m, first, row);
        const lived truth = step_of(&s);
        const ek__data_times t = priced_at(&job, &device, layer, n, m, first, row);
        double expected = truth.end - truth.computed;
        char what[64];
        snprintf(what, sizeof what, "exposed, seed %d", i + 1);
        assert_close_to(what, extra(&t, m), expected, truth.end);
        snprintf(what, sizeof what, "hidden, seed %d", i + 1);
        assert_close_to(what, t.hidden, truth.both, truth.end);
        /* An imperfect overlap: a share hides, and computing beside it slows. */
        device.overlap_share = uniform();
        device.overlap_slowdown = 1 + uniform();
        const ek__data_times u = priced_at(&job, &device, layer, n, m, first, row);
        double hidden = truth.both * device.overlap_share;
        snprintf(what, sizeof what, "imperfect, seed %d", i + 1);
        assert_close_to(what, extra(&u, m), expected + truth.both - hidden + (device.overlap_slowdown - 1) * hidden,
                        truth.end);
        assert_close_to(what, u.hidden, hidden, truth.end);
    }
}

/* ---- closed forms ---- */

enum { EQUAL = 10 };
static const double all_elements = 3e7;

static void equal_layers(ek__data_layer *layer, double forward, double backward)
{
    for (int i = 0; i < EQUAL; i++)
        layer[i] =
            (ek__data_layer){.dense = all_elements, .kept = all_elements, .forward = forward, .backward = backward};
}

/* n layers, a bucket each of g seconds: the last one is exposed after backward passes that are longer than g; after
 * shorter ones of b, g n - b (n - 1). Weights of g before forward passes of f likewise. */
static void equal_layers_have_closed_forms(void **state)
{
    (void)state;
    ek__data_layer layer[EQUAL];
    ek_device device = cluster(300, 25, 5);
    ek_job job = plain(16);
    job.run.bucket_bytes = 4 * all_elements;
    double g = collective(&job, &device, EK_COLLECTIVE_ALL_REDUCE, EK__DIM_DATA, 4 * all_elements), n = EQUAL;
    equal_layers(layer, 0.3, 1.5 * g);
    ek__data_times t = priced(&job, &device, layer, EQUAL, 4);
    assert_close_to("behind longer layers", t.reduction, g, g);
    assert_close_to("hidden", t.hidden, (n - 1) * g, g);
    assert_close_to("weights of a job without sharing", t.first_forward + t.forward + t.backward + t.slowdown, 0, 1);
    equal_layers(layer, 0.3, 0.25 * g);
    t = priced(&job, &device, layer, EQUAL, 4);
    assert_close_to("behind shorter layers", t.reduction, n * g - (n - 1) * 0.25 * g, g);
    job.run.overlap_gradients = false;
    assert_close_to("behind the pass", priced(&job, &device, layer, EQUAL, 4).reduction, n * g, g);
    /* One bucket of all waits for all. */
    job.run.overlap_gradients = true;
    job.run.bucket_bytes = 0;
    double all = collective(&job, &device, EK_COLLECTIVE_ALL_REDUCE, EK__DIM_DATA, 4 * n * all_elements);
    assert_close_to("one bucket", priced(&job, &device, layer, EQUAL, 4).reduction, all, all);
    /* A layer of 2.5 buckets: two go as it ends. */
    job.run.bucket_bytes = 4 * all_elements / 2.5;
    double b = collective(&job, &device, EK_COLLECTIVE_ALL_REDUCE, EK__DIM_DATA, 4 * all_elements / 2.5);
    equal_layers(layer, 0, 100 * g);
    assert_close_to("buckets of the last layer", priced(&job, &device, layer, EQUAL, 1).reduction, 3 * b, b);
}

static void weights_of_zero_1_come_before_or_behind_the_first_forward(void **state)
{
    (void)state;
    ek__data_layer layer[EQUAL];
    ek_device device = cluster(300, 25, 5);
    ek_job job = zero(16, 1);
    job.run.bucket_bytes = 4 * all_elements;
    double n = EQUAL, g = collective(&job, &device, EK_COLLECTIVE_ALL_GATHER, EK__DIM_SHARD, 2 * all_elements);
    double r = collective(&job, &device, EK_COLLECTIVE_REDUCE_SCATTER, EK__DIM_SHARD, 4 * all_elements);
    equal_layers(layer, 1.5 * g, 1.5 * r);
    ek__data_times t = priced(&job, &device, layer, EQUAL, 4);
    assert_close_to("the first bucket", t.first_forward, g, g);
    assert_close_to("the last bucket", t.reduction, r, r);
    equal_layers(layer, 0.25 * g, 1.5 * r);
    assert_close_to("shorter layers", priced(&job, &device, layer, EQUAL, 4).first_forward, n * g - (n - 1) * 0.25 * g,
                    g);
    job.run.overlap_weights = false;
    assert_close_to("before", priced(&job, &device, layer, EQUAL, 4).first_forward, n * g, g);
    job.run.fp8_gather = true;
    g = collective(&job, &device, EK_COLLECTIVE_ALL_GATHER, EK__DIM_SHARD, all_elements);
    assert_close_to("in 8 bits", priced(&job, &device, layer, EQUAL, 4).first_forward, n * g, g);
    /* ZeRO-2 reduces after every micro-batch; all of them together take as long as with one. */
    job = zero(16, 2);
    job.run.overlap_gradients = false;
    t = priced(&job, &device, layer, EQUAL, 4);
    assert_true(t.backward > 0 && t.reduction < 1e-12);
    job.states.shard_gradient = false;
    assert_close_to("the last one", priced(&job, &device, layer, EQUAL, 4).reduction, t.backward, r);
}

/* Weights g, gradients r, passes f and b of n layers. Where g + r <= b and g <= f all but the first gather and the last
 * reduction hide; where computing is short the stream is never idle: n (g + r) less the computing time. */
static void layers_of_zero_3_have_closed_forms(void **state)
{
    (void)state;
    ek__data_layer layer[EQUAL];
    ek_device device = cluster(300, 25, 5);
    ek_job job = zero(16, 3);
    double n = EQUAL, g = collective(&job, &device, EK_COLLECTIVE_ALL_GATHER, EK__DIM_SHARD, 2 * all_elements);
    double r = collective(&job, &device, EK_COLLECTIVE_REDUCE_SCATTER, EK__DIM_SHARD, 4 * all_elements);
    equal_layers(layer, 1.1 * g, 1.1 * (g + r));
    ek__data_times t = priced(&job, &device, layer, EQUAL, 4);
    assert_close_to("forward", t.forward, g, g);
    assert_close_to("backward", t.backward, g + r, g);
    assert_close_to("nothing at the end", t.reduction + t.first_forward, 0, 1);
    assert_close_to("hidden", t.hidden, 4 * (n - 1) * (2 * g + r), g);
    equal_layers(layer, 0.5 * g, 0.5 * g);
    t = priced(&job, &device, layer, EQUAL, 4);
    assert_close_to("forward, short", t.forward, n * g - (n - 1) * 0.5 * g, g);
    assert_close_to("backward, short", t.backward, n * (g + r) - n * 0.5 * g, g);
    /* Gradients that are kept whole are reduced only with the last micro-batch. */
    job.states.shard_gradient = false;
    t = priced(&job, &device, layer, EQUAL, 4);
    assert_close_to("kept whole", t.backward + t.reduction, n * (g + r) - n * 0.5 * g, g);
    assert_close_to("kept whole, others", t.backward, n * g - (n - 1) * 0.5 * g, g);
    /* Nothing fetched ahead. */
    job.run.overlap_weights = job.run.overlap_gradients = false;
    t = priced(&job, &device, layer, EQUAL, 4);
    assert_close_to("in turn", t.forward, n * g, g);
    assert_close_to("in turn, backward", t.backward, n * g, g);
    assert_close_to("in turn, the end", t.reduction, n * r, r);
}

/* Groups of 8 inside 64: gathers and scatters stay in the node, the parts are summed over 8 copies once. */
static void hybrid_groups_gather_inside_and_sum_copies_once(void **state)
{
    (void)state;
    ek__data_layer layer[EQUAL];
    ek_device device = cluster(300, 25, 5);
    ek_job job = zero(64, 3);
    job.states.shard_size = 8;
    job.run.overlap_weights = job.run.overlap_gradients = false;
    equal_layers(layer, 0, 0);
    const ek__ranks node = {.n = 8, .in = {8, 8}, .sharing = {1, 1}};
    double n = EQUAL, g = ek__collective_seconds(&device, EK_COLLECTIVE_ALL_GATHER, &node, 2 * all_elements).seconds;
    double r = ek__collective_seconds(&device, EK_COLLECTIVE_REDUCE_SCATTER, &node, 4 * all_elements).seconds;
    double a = collective(&job, &device, EK_COLLECTIVE_ALL_REDUCE, EK__DIM_REPLICATE, 4 * all_elements / 8);
    const ek__data_times t = priced(&job, &device, layer, EQUAL, 3);
    assert_close_to("inside", t.forward, n * g, g);
    assert_close_to("inside, backward", t.backward, n * (g + r), g);
    assert_close_to("copies", t.reduction, n * a, a);
    assert_true(a > 0);
}

/* 64 ranks, 20 tensors: gradients are summed whole, and 20 owners broadcast in turn, each after 63 steps of a ring that
 * carries everything. */
static void owners_of_tensors_broadcast_in_turn(void **state)
{
    (void)state;
    ek__data_layer layer[EQUAL];
    ek_device device = cluster(300, 25, 5);
    for (int i = 0; i < device.n_tiers; i++)
        device.tier[i].half_bytes = 0;
    ek_job job = zero(64, 1);
    job.run.owned_tensors = true;
    job.run.overlap_weights = job.run.overlap_gradients = false;
    equal_layers(layer, 0, 0);
    for (int i = 0; i < EQUAL; i++)
        layer[i].tensors = 2;
    double bytes = 2 * EQUAL * all_elements, sum = 2 * bytes;
    const ek__ranks ranks = ek__placement(&job, &device, EK__DIM_SHARD);
    ek__collective_time all = ek__collective_seconds(&device, EK_COLLECTIVE_ALL_GATHER, &ranks, bytes * 64 / 63);
    ek__data_times t = priced(&job, &device, layer, EQUAL, 1);
    assert_close_to("broadcasts", t.first_forward, all.seconds + 19 * all.latency, 1e-3);
    assert_close_to("sums", t.reduction, collective(&job, &device, EK_COLLECTIVE_ALL_REDUCE, EK__DIM_DATA, sum), sum);
    /* In a small group every rank owns something. */
    job.states.shard_size = 4;
    const ek__ranks few = ek__placement(&job, &device, EK__DIM_SHARD);
    all = ek__collective_seconds(&device, EK_COLLECTIVE_ALL_GATHER, &few, bytes * 4 / 3);
    t = priced(&job, &device, layer, EQUAL, 1);
    assert_close_to("few", t.first_forward, all.seconds + 3 * all.latency, 1e-3);
    /* After the first forward pass each layer waits for its own two. */
    job.run.overlap_weights = true;
    equal_layers(layer, 1, 0);
    t = priced(&job, &device, layer, EQUAL, 1);
    assert_true(t.first_forward > 0 && t.first_forward < (all.seconds + 3 * all.latency) / 3);
}

/* ---- limits ---- */

static void one_device_exchanges_nothing(void **state)
{
    (void)state;
    ek__data_layer layer[EQUAL];
    const ek_device device = cluster(300, 25, 5);
    equal_layers(layer, 1, 2);
    for (int level = 0; level <= 3; level++) {
        const ek_job job = zero(1, level);
        const ek__data_times t = priced(&job, &device, layer, EQUAL, 2);
        assert_true(extra(&t, 2) == 0 && t.hidden == 0);
        assert_close_to("the norm reads gradients", t.norm, EQUAL * all_elements * 4 / 1e12, 1e-3);
    }
}

static void links_without_limit_leave_latency(void **state)
{
    (void)state;
    ek__data_layer layer[EQUAL];
    ek_device device = cluster(1e15, 1e15, 0);
    equal_layers(layer, 0, 0);
    for (int level = 0; level <= 3; level++) {
        const ek_job job = zero(64, level);
        const ek__data_times t = priced(&job, &device, layer, EQUAL, 2);
        assert_true(extra(&t, 2) < 1e-9);
    }
    for (int i = 0; i < device.n_tiers; i++)
        device.tier[i].latency_us = 10;
    ek_job job = plain(64);
    const ek__data_times t = priced(&job, &device, layer, EQUAL, 1);
    const ek__ranks ranks = ek__placement(&job, &device, EK__DIM_DATA);
    double latency = ek__collective_seconds(&device, EK_COLLECTIVE_ALL_REDUCE, &ranks, 1).latency;
    assert_true(fabs(t.reduction - latency) < 1e-6 * latency && latency > 0);
}

static void without_computing_all_traffic_is_exposed(void **state)
{
    (void)state;
    ek__data_layer layer[EQUAL];
    const ek_device device = cluster(300, 25, 5);
    equal_layers(layer, 0, 0);
    for (int level = 0; level <= 3; level++) {
        ek_job job = zero(64, level);
        job.run.bucket_bytes = 5e7;
        const ek__data_times t = priced(&job, &device, layer, EQUAL, 3);
        job.run.overlap_gradients = job.run.overlap_weights = false;
        const ek__data_times all = priced(&job, &device, layer, EQUAL, 3);
        assert_close_to("traffic", extra(&t, 3), extra(&all, 3), 1);
        assert_true(t.hidden < 1e-12 && extra(&t, 3) > 0);
    }
}

/* ---- groups and elements as memory has them ---- */

static const char *const files[] = {
    "tests/data/job/moe.args",   "tests/data/job/qwen25_7b.sh",    "tests/data/job/experts.yaml",
    "tests/data/job/newer.yaml", "tests/data/job/mindspeed.yaml",  "examples/megatron_13b.sh",
    "tests/data/job/llama.yaml", "examples/llama2_13b_1_dp8.yaml", "examples/llama175b_train.yaml",
};

/* Elements with states on a rank, by the groups of the cost side. */
static double kept_by_groups(const ek_job *job, const ek_device *device, const ek__data_layer *layer)
{
    double dense = ek__placement(job, device, EK__DIM_SHARD).n,
           expert = ek__placement(job, device, EK__DIM_EXPERT_SHARD).n;
    return layer->whole + (layer->dense - layer->whole) / dense + layer->whole_expert +
           (layer->expert - layer->whole_expert) / expert;
}

/* A rank's part is rounded up to whole elements and blocks of memory. Groups: of jobs that cut flat buffers;
 * MindFormers also cuts tensors replicated on all tensor-parallel ranks over these, and a part by the divisor of its
 * first dimension.
 */
static void compare_kind(const char *name, const ek_job *job, int kind)
{
    static ek__graph graph;
    const ek_device device = cluster(300, 25, 5);
    ek__graph_build(job, (ek__graph_kind)kind, &graph);
    const ek__data_layer layer = ek__data_layer_of(job, &graph, job->parallel.pipeline == 1);
    const ek__persistent_bytes bytes = ek__graph_persistent(job, &graph);
    double kept = job->states.shard_optimizer ? layer.kept : layer.dense + layer.expert;
    double slack = 2048.0 * graph.n_parameters;
    if (fabs(kept * job->states.optimizer - (double)bytes.optimizer) > slack)
        fail_msg("%s, kind %d: states of %.0f elements, memory says %lld bytes", name, kind, kept,
                 (long long)bytes.optimizer);
    double groups = kept_by_groups(job, &device, &layer);
    bool flat = job->framework == EK_MEGATRON || job->framework == EK_MINDSPEED;
    if (flat && fabs(groups - layer.kept) > 0.5 * graph.n_parameters)
        fail_msg("%s, kind %d: groups leave %.0f elements, memory %.0f", name, kind, groups, layer.kept);
}

static void states_take_the_bytes_that_memory_says(void **state)
{
    (void)state;
    for (size_t f = 0; f < sizeof files / sizeof *files; f++)
        for (int variant = 0; variant < 3; variant++) {
            ek_job job;
            ek_error err = {0};
            if (ek_job_read(source_path(files[f]), NULL, NULL, &job, &err))
                fail_msg("%s: %s", files[f], err.message);
            if (variant > 0) {
                job.parallel.data = 16;
                job.states.shard_optimizer = true;
                job.states.shard_size = variant == 1 ? 4 : -1;
                job.states.instances = variant == 2 ? 2 : 1;
            }
            for (int k = 0; k < EK__N_GRAPH_KINDS; k++)
                if (k != EK__GRAPH_EXPERTS || job.model.n_experts > 1)
                    compare_kind(files[f], &job, k);
            ek_job_clear(&job);
        }
}

/* MindFormers leaves norms and the table whole; the head is cut. Qwen2.5-7B has three biases of queries, keys and
 * values in each layer in addition to the norms: only matrices are gathered in 8 bits. */
static void norms_and_tables_stay_whole_or_wide(void **state)
{
    (void)state;
    static ek__graph graph;
    ek_job job;
    ek_error err = {0};
    assert_int_equal(ek_job_read(source_path("examples/llama2_13b_1_dp8.yaml"), NULL, NULL, &job, &err), EK_OK);
    const double hidden = job.model.hidden, vocab = job.model.vocab, tables = hidden * vocab;
    ek__graph_build(&job, EK__GRAPH_DENSE, &graph);
    assert_true(ek__data_layer_of(&job, &graph, true).whole == 2 * hidden);
    ek__graph_build(&job, EK__GRAPH_EMBEDDING, &graph);
    assert_true(ek__data_layer_of(&job, &graph, true).whole == tables);
    ek__graph_build(&job, EK__GRAPH_HEAD, &graph);
    const ek__data_layer head = ek__data_layer_of(&job, &graph, true);
    assert_true(head.whole == hidden && head.wide == tables && head.dense == tables + hidden);
    ek_job_clear(&job);
    assert_int_equal(ek_job_read(source_path("tests/data/job/qwen25_7b.sh"), NULL, NULL, &job, &err), EK_OK);
    job.parallel.data = 4;
    ek__graph_build(&job, EK__GRAPH_DENSE, &graph);
    const ek__data_layer layer = ek__data_layer_of(&job, &graph, true);
    double qkv = job.model.head_dim * (job.model.n_heads + 2.0 * job.model.n_kv_heads) / job.parallel.tensor;
    assert_true(layer.whole == 0);
    if (layer.wide != 2.0 * job.model.hidden + qkv)
        fail_msg("%.0f wide, expected %.0f", layer.wide, 2.0 * job.model.hidden + qkv);
    ek_job_clear(&job);
}

/* ---- optimizer ---- */

typedef struct optimizer_case {
    const char *name;
    int weight, gradient, optimizer;
    ek_dtype param;
    int level;
    bool unfused, offloaded;
    double bytes; /* for each element of the rank, over 10^12 B/s */
} optimizer_case;

/* Scaling and zeroing the buffer takes 3 times its bytes; 16 ranks share. */
static const optimizer_case optimizer_cases[] = {
    {"32 bits: gradient 4, moments 2 x 8, weight 2 x 4", 4, 4, 8, EK_FP32, 0, false, false, 28 + 12},
    {"mixed: gradient 4, states 2 x 12, weight written", 2, 4, 12, EK_BF16, 0, false, false, 30 + 12},
    {"no copy in 32 bits: the weight is read, too", 2, 2, 8, EK_BF16, 0, false, false, 2 + 16 + 4 + 6},
    {"no buffer of gradients", 4, 0, 8, EK_FP32, 0, false, false, 28},
    {"states shared, the buffer whole", 2, 4, 12, EK_BF16, 1, false, false, 30.0 / 16 + 12},
    {"gradients shared, too", 2, 4, 12, EK_BF16, 2, false, false, 42.0 / 16},
    {"operator by operator: 20 tensors for 7", 4, 0, 8, EK_FP32, 0, true, false, 80},
    {"on the host, 20 GB/s", 4, 0, 8, EK_FP32, 0, false, true, 28.0 * 1000 / 20},
};

static void optimizers_move_the_bytes_of_their_states(void **state)
{
    (void)state;
    const ek_device device = cluster(300, 25, 5);
    const ek__data_layer layer = {.dense = 1e9, .kept = 1e9 / 16};
    for (size_t i = 0; i < sizeof optimizer_cases / sizeof *optimizer_cases; i++) {
        const optimizer_case *c = &optimizer_cases[i];
        ek_job job = zero(16, c->level);
        job.states.weight = c->weight;
        job.states.gradient = c->gradient;
        job.states.optimizer = c->optimizer;
        job.types.param = c->param;
        job.run.fused_optimizer = !c->unfused;
        job.run.offload_optimizer = c->offloaded;
        ek_device other = device;
        other.optimizer_us = 500;
        double found = priced(&job, &device, &layer, 1, 1).optimizer;
        assert_close_to(c->name, found, c->bytes * 1e9 / 1e12, 1e-3);
        assert_close_to(c->name, priced(&job, &other, &layer, 1, 1).optimizer, found + 500e-6, 1e-3);
    }
}

static void the_update_rests_on_what_the_device_says(void **state)
{
    (void)state;
    ek_device device = cluster(300, 25, 5);
    const ek__data_layer layer = {.dense = 1e9, .kept = 1e9};
    ek_job job = plain(16);
    assert_int_equal(priced(&job, &device, &layer, 1, 1).optimizer_basis, EK_COST_ASSUMED);
    device.optimizer_basis = EK_COST_FITTED;
    assert_int_equal(priced(&job, &device, &layer, 1, 1).optimizer_basis, EK_COST_FITTED);
    job.run.offload_optimizer = true; /* at a rate that is not fitted */
    assert_int_equal(priced(&job, &device, &layer, 1, 1).optimizer_basis, EK_COST_ASSUMED);
    /* Gradients: the weakest of the links they go over. */
    job = zero(64, 1);
    job.states.shard_size = 8;
    device.tier[0].basis = EK_COST_MEASURED;
    device.tier[1].basis = EK_COST_DERIVED;
    assert_int_equal(priced(&job, &device, &layer, 1, 1).basis, EK_COST_DERIVED);
    job.parallel.data = 8;
    assert_int_equal(priced(&job, &device, &layer, 1, 1).basis, EK_COST_MEASURED);
}

static void device_files_say_what_the_optimizer_reaches(void **state)
{
    (void)state;
    char path[] = "/tmp/optimizerXXXXXX";
    ek_device device = cluster(300, 25, 5), read;
    device.peak_tflops[EK_FP32] = 10;
    snprintf(device.source, sizeof device.source, "a test");
    device.host_gbs = 12.5;
    device.optimizer_share = 0.625;
    device.optimizer_us = 300;
    device.optimizer_basis = EK_COST_FITTED;
    int fd = mkstemp(path);
    FILE *file = fdopen(fd, "w");
    ek_error err = {0};
    assert_int_equal(ek_device_write(&device, NULL, file, &err), EK_OK);
    fclose(file);
    if (ek_device_read(path, NULL, &read, &err))
        fail_msg("%s", err.message);
    assert_true(read.host_gbs == 12.5 && read.optimizer_share == 0.625 && read.optimizer_us == 300);
    assert_int_equal(read.optimizer_basis, EK_COST_FITTED);
    ek_device_clear(&read);
    unlink(path);
}

static void the_norm_is_a_sum_over_all_ranks_and_a_pass_over_gradients(void **state)
{
    (void)state;
    const ek_device device = cluster(300, 25, 5);
    const ek__data_layer layer = {.dense = 1e9, .expert = 1e8, .kept = 1e9 / 16 + 1e8 / 4};
    ek_job job = zero(16, 1);
    job.parallel.expert = 4;
    job.parallel.expert_tensor = 1;
    double sum = collective(&job, &device, EK_COLLECTIVE_ALL_REDUCE, EK__DIM_WORLD, 4);
    assert_close_to("norm", priced(&job, &device, &layer, 1, 1).norm, sum + (1e9 / 16 + 1e8 / 4) * 4 / 1e12, 1e-4);
    assert_true(sum > 0);
}

static void a_tied_table_is_summed_with_its_copy(void **state)
{
    (void)state;
    const ek_device device = cluster(300, 25, 5);
    ek__data_layer layer = {.dense = 1e8};
    ek_job job = plain(1);
    job.parallel.pipeline = 2;
    assert_true(priced(&job, &device, &layer, 1, 1).reduction == 0);
    layer.tied = 1e8;
    const ek__ranks ends = ek__placement_edge(&job, &device, 1);
    double sum = ek__collective_seconds(&device, EK_COLLECTIVE_ALL_REDUCE, &ends, 4e8).seconds;
    assert_close_to("tied", priced(&job, &device, &layer, 1, 1).reduction, sum, sum);
    assert_true(sum > 0);
}

static void a_device_without_a_memory_rate_is_refused(void **state)
{
    (void)state;
    ek_device device = cluster(300, 25, 5);
    device.optimizer_share = 0;
    const ek__data_layer layer = {.dense = 1};
    const ek__data_stage stage = {.layer = &layer, .n_layers = 1, .n_micro_batches = 1};
    const ek_job job = plain(2);
    ek__data_times times = {.norm = 7};
    ek_error err = {0};
    assert_int_equal(ek__data_parallel(&job, &device, &stage, &times, &err), EK_ERR_INPUT);
    assert_non_null(strstr(err.message, "no rate of its memory"));
    assert_true(times.norm == 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_agree_with_a_simulation_of_every_message),
        cmocka_unit_test(equal_layers_have_closed_forms),
        cmocka_unit_test(weights_of_zero_1_come_before_or_behind_the_first_forward),
        cmocka_unit_test(layers_of_zero_3_have_closed_forms),
        cmocka_unit_test(hybrid_groups_gather_inside_and_sum_copies_once),
        cmocka_unit_test(owners_of_tensors_broadcast_in_turn),
        cmocka_unit_test(one_device_exchanges_nothing),
        cmocka_unit_test(links_without_limit_leave_latency),
        cmocka_unit_test(without_computing_all_traffic_is_exposed),
        cmocka_unit_test(states_take_the_bytes_that_memory_says),
        cmocka_unit_test(norms_and_tables_stay_whole_or_wide),
        cmocka_unit_test(optimizers_move_the_bytes_of_their_states),
        cmocka_unit_test(the_update_rests_on_what_the_device_says),
        cmocka_unit_test(device_files_say_what_the_optimizer_reaches),
        cmocka_unit_test(the_norm_is_a_sum_over_all_ranks_and_a_pass_over_gradients),
        cmocka_unit_test(a_tied_table_is_summed_with_its_copy),
        cmocka_unit_test(a_device_without_a_memory_rate_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
