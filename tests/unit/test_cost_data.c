/* Data parallel work of a stage: buckets and layers against an event simulation of the whole step on two streams,
 * closed forms of equal layers, limits, the bytes of the optimizer, and groups and elements against memory's. */
#include "input.h"

#include <math.h>

#include "cost/cost_internal.h"
#include "cost/data_parallel.h"
#include "evenkeel/cost.h"
#include "memory/program.h"

/* ---- jobs and devices ---- */

static ek_device cluster(double intra_gbs, double inter_gbs, double latency_us)
{
    ek_device device = {.name = "cluster", .memory_gib = 80, .memory_gbs = 1000, .devices_per_node = 8};
    ek__device_default(&device);
    ek__device_links(&device, intra_gbs, inter_gbs);
    for (int i = 0; i < device.n_tiers; i++)
        device.tier[i].latency_us = latency_us;
    device.optimizer_share = 1;
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

static ek__data_times priced(const ek_job *job, const ek_device *device, const ek__data_layer *layer, int n, int m)
{
    const ek__data_stage stage = {.layer = layer, .n_layers = n, .n_micro_batches = m};
    ek__data_times times;
    ek_error err = {0};
    if (ek__data_parallel(job, device, &stage, &times, &err))
        fail_msg("%s", err.message);
    return times;
}

static double collective(const ek_job *job, const ek_device *device, ek_collective what, ek__dimension group,
                         double bytes)
{
    const ek__ranks ranks = ek__placement(job, device, group);
    return ranks.n > 1 && bytes > 0 ? ek__collective_seconds(device, what, &ranks, bytes).seconds : 0;
}

static void assert_near(const char *what, double found, double expected, double scale)
{
    if (!(fabs(found - expected) <= 1e-9 * fmax(fabs(scale), fabs(expected))))
        fail_msg("%s: %.15g, expected %.15g", what, found, expected);
}

/* ---- the oracle: events on two streams ----
 * A list of pieces of computing, one after the other, each behind the messages that block it; a list of messages, each
 * let go as a piece starts or ends, sent in the order in which they were let go. Time moves from event to event. */

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
    double end, both; /* and the time in which both streams were at work */
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
    return out;
}

/* ---- what a step is, for the oracle ---- */

typedef struct setting {
    const ek_job *job;
    const ek_device *device;
    const ek__data_layer *layer;
    int n, m;
    bool cut, layers, each;
} setting;

enum { DENSE, WHOLE, EXPERT, N_CLASSES };

static double elements(const setting *s, int i, int class)
{
    const ek__data_layer *l = &s->layer[i];
    if (class == EXPERT)
        return l->expert;
    if (!s->cut)
        return class == DENSE ? l->dense : 0;
    return class == WHOLE ? l->whole : l->dense - l->whole;
}

/* A gradient's message after each micro-batch (`first`) or only after the last one. */
static double gradient_seconds(const setting *s, int class, double n, bool first)
{
    const ek_job_states *states = &s->job->states;
    double bytes = n * (s->job->run.reduce_bytes ? s->job->run.reduce_bytes : states->gradient);
    ek__dimension all = class == EXPERT ? EK__DIM_EXPERT_DATA : EK__DIM_DATA;
    ek__dimension shard = class == EXPERT ? EK__DIM_EXPERT_SHARD : EK__DIM_SHARD;
    ek__dimension copies = class == EXPERT ? EK__DIM_EXPERT_REPLICATE : EK__DIM_REPLICATE;
    if (!s->cut || class == WHOLE)
        return first == (class == WHOLE) ? 0 : collective(s->job, s->device, EK_COLLECTIVE_ALL_REDUCE, all, bytes);
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

/* Gradients of one backward pass whose pieces are `first`.. in reverse order of the layers: every bucket is a span of
 * all elements in that order, and goes when the layer with its last element is done; a span that is not full goes when
 * all are. Without overlap all go at the end. */
static void bucket_messages(const setting *s, int first, bool each, bool once)
{
    double size = s->job->run.reduce_bytes ? s->job->run.reduce_bytes : s->job->states.gradient;
    double bucket = s->job->run.bucket_bytes > 0 ? s->job->run.bucket_bytes / size : INFINITY;
    int last = first + s->n - 1;
    for (int pass = 0; pass < 2; pass++)
        for (int i = s->n - 1; i >= 0; i--)
            for (int class = 0; class < N_CLASSES; class ++) {
                double before = 0, all = 0;
                for (int k = s->n - 1; k >= 0; k--) {
                    before += k > i ? elements(s, k, class) : 0;
                    all += elements(s, k, class);
                }
                double here = before + elements(s, i, class);
                for (double b = floor(before / bucket); isfinite(bucket) && pass == 0 && (b + 1) * bucket <= here;
                     b++) {
                    if ((b + 1) * bucket <= before)
                        continue;
                    int piece = s->job->run.overlap_gradients ? first + s->n - 1 - i : last;
                    if (each)
                        add_message(gradient_seconds(s, class, bucket, true), AT_END, piece, -1);
                    if (once)
                        add_message(gradient_seconds(s, class, bucket, false), AT_END, piece, -1);
                }
                double rest = isfinite(bucket) ? all - floor(all / bucket) * bucket : all;
                if (pass == 1 && i == 0 && each)
                    add_message(gradient_seconds(s, class, rest, true), AT_END, last, -1);
                if (pass == 1 && i == 0 && once)
                    add_message(gradient_seconds(s, class, rest, false), AT_END, last, -1);
            }
}

/* Weights once a step, all asked for at its beginning in the order of the layers that want their buckets first. */
static void bucket_weights(const setting *s)
{
    double size = s->job->run.reduce_bytes ? s->job->run.reduce_bytes : s->job->states.gradient;
    double wide = s->job->run.fp8_gather ? 1 : 2;
    double bucket = s->job->run.bucket_bytes > 0 ? s->job->run.bucket_bytes / size * wide : INFINITY;
    double asked[N_CLASSES] = {0}, wanted[N_CLASSES] = {0}, total[N_CLASSES] = {0};
    for (int i = 0; i < s->n; i++)
        for (int class = 0; class < N_CLASSES; class += 2)
            total[class] += (elements(s, i, class) - (class == DENSE ? s->layer[i].wide : 0)) * wide +
                            (class == DENSE ? s->layer[i].wide : 0) * 2;
    for (int i = 0; i < s->n; i++)
        for (int class = 0; class < N_CLASSES; class += 2) {
            double own = class == DENSE ? s->layer[i].wide : 0;
            wanted[class] += (elements(s, i, class) - own) * wide + own * 2;
            while (asked[class] < wanted[class] - 0.25) {
                double bytes = fmin(bucket, total[class] - asked[class]);
                double seconds = collective(s->job, s->device, EK_COLLECTIVE_ALL_GATHER,
                                            class == EXPERT ? EK__DIM_EXPERT_SHARD : EK__DIM_SHARD, bytes);
                add_message(seconds, AT_END, -1, s->job->run.overlap_weights ? i : 0);
                asked[class] += bytes;
            }
        }
}

static void layer_messages(const setting *s, int first, bool each, bool once)
{
    int last = s->n - 1;
    for (int k = 0; k < s->n; k++) {
        int piece = first + (s->job->run.overlap_gradients ? k : last);
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
        double seconds = weight_seconds(s, backward ? s->n - 1 - k : k);
        bool ahead = k > 0 && s->job->run.overlap_weights;
        add_message(seconds, ahead ? AT_START : AT_END, first + k - 1, first + k);
    }
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
            for (int k = 0; k < s->n; k++)
                add_piece(backward ? s->layer[s->n - 1 - k].backward : s->layer[k].forward);
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

static void random_layers(ek__data_layer *layer, int n, bool narrow)
{
    double scale = below(3) == 0 ? 0 : pow(10, -4 + 3 * uniform());
    for (int i = 0; i < n; i++) {
        layer[i] = (ek__data_layer){.dense = random_elements(),
                                    .expert = below(2) ? random_elements() : 0,
                                    .forward = below(5) ? scale * uniform() : 0,
                                    .backward = below(5) ? 2 * scale * uniform() : 0};
        layer[i].whole = below(3) ? 0 : floor(layer[i].dense * uniform());
        layer[i].wide = narrow ? floor((layer[i].dense - layer[i].whole) * uniform()) : 0;
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
    return job;
}

static setting setting_of(const ek_job *job, const ek_device *device, const ek__data_layer *layer, int n, int m)
{
    const ek_job_states *s = &job->states;
    bool cut = s->shard_optimizer || s->shard_weight;
    return (setting){.job = job,
                     .device = device,
                     .layer = layer,
                     .n = n,
                     .m = m,
                     .cut = cut,
                     .layers = s->shard_weight && job->rules.weight_gather == EK_GATHER_LAYER,
                     .each = job->run.sums_every_micro_batch || (cut && s->shard_gradient)};
}

static double computed(const ek__data_layer *layer, int n, int m)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += layer[i].forward + layer[i].backward;
    return m * sum;
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
        random_layers(layer, n, job.run.fp8_gather);
        const setting s = setting_of(&job, &device, layer, n, m);
        const lived truth = step_of(&s);
        const ek__data_times t = priced(&job, &device, layer, n, m);
        double expected = truth.end - computed(layer, n, m);
        char what[64];
        snprintf(what, sizeof what, "exposed, seed %d", i + 1);
        assert_near(what, extra(&t, m), expected, truth.end);
        snprintf(what, sizeof what, "hidden, seed %d", i + 1);
        assert_near(what, t.hidden, truth.both, truth.end);
        /* An imperfect overlap: a share hides, and computing beside it slows. */
        device.overlap_share = uniform();
        device.overlap_slowdown = 1 + uniform();
        const ek__data_times u = priced(&job, &device, layer, n, m);
        double hidden = truth.both * device.overlap_share;
        snprintf(what, sizeof what, "imperfect, seed %d", i + 1);
        assert_near(what, extra(&u, m), expected + truth.both - hidden + (device.overlap_slowdown - 1) * hidden,
                    truth.end);
        assert_near(what, u.hidden, hidden, truth.end);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_agree_with_a_simulation_of_every_message),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
