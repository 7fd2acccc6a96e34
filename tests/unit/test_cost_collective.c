/* Tests placement against an enumeration of all ranks, and collectives against a simulation of every message of a ring
 * and of an all-to-all over cards that send one after another; and closed forms, limits and measured links. */
#include "input.h"

#include <math.h>

#include "cost/collective.h"

/* ---- devices and jobs ---- */

static ek_tier tier_of(int size, double gbs, double latency_us)
{
    ek_tier tier = {
        .size = size, .gbs = gbs, .devices_per_card = 1, .latency_us = latency_us, .basis = EK_COST_ASSUMED};
    for (int c = 0; c < EK_N_COLLECTIVES; c++)
        tier.share[c] = 1;
    return tier;
}

static ek_device cluster(int n_tiers, const ek_tier *tiers)
{
    ek_device device = {.name = "cluster", .n_tiers = n_tiers};
    memcpy(device.tier, tiers, (size_t)n_tiers * sizeof *tiers);
    return device;
}

static ek_device nodes_of_8(double inside_gbs, double card_gbs)
{
    return cluster(2, (ek_tier[]){tier_of(8, inside_gbs, 0), tier_of(0, card_gbs, 0)});
}

static ek_job spread(int data, int context, int tensor, int pipeline)
{
    return (ek_job){
        .parallel = {.data = data,
                     .context = context,
                     .tensor = tensor,
                     .pipeline = pipeline,
                     .expert = 1,
                     .expert_tensor = tensor},
        .states = {.shard_size = -1},
    };
}

static double seconds_of(const ek_device *device, ek_collective what, const ek_job *job, ek__dimension dimension,
                         double bytes)
{
    const ek__ranks ranks = ek__placement(job, device, dimension);
    return ek__collective_seconds(device, what, &ranks, bytes).seconds;
}

static void assert_close(double found, double expected, double tolerance)
{
    if (!(fabs(found - expected) <= tolerance * fabs(expected)))
        fail_msg("%.12g, expected %.12g", found, expected);
}

/* A generator of the test's own, the same everywhere. */
static uint64_t seed = 1;
static int draw(int n)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (int)((seed >> 33) % (uint64_t)n);
}

/* ---- every rank laid out ---- */

enum { MAX_WORLD = 4096 };

static int group[MAX_WORLD]; /* of each rank */
static int group_size;

/* Numbers the groups of a kind by nested loops over the framework's dimensions, the innermost being the fastest. */
static void lay_out_dense(const ek_job *job, ek__dimension dimension)
{
    const ek_job_parallel *p = &job->parallel;
    int rank = 0, d = p->data, c = p->context, t = p->tensor;
    for (int stage = 0; stage < p->pipeline; stage++)
        for (int data = 0; data < d; data++)
            for (int context = 0; context < c; context++)
                for (int tensor = 0; tensor < t; tensor++, rank++)
                    group[rank] = dimension == EK__DIM_TENSOR    ? (stage * d + data) * c + context
                                  : dimension == EK__DIM_CONTEXT ? (stage * d + data) * t + tensor
                                  : dimension == EK__DIM_WORLD   ? 0
                                                                 : stage * t + tensor;
    group_size = dimension == EK__DIM_TENSOR    ? t
                 : dimension == EK__DIM_CONTEXT ? c
                 : dimension == EK__DIM_WORLD   ? rank
                                                : d * c;
}

static void lay_out_experts(const ek_job *job, ek__dimension dimension)
{
    const ek_job_parallel *p = &job->parallel;
    int rank = 0, ep = p->expert, etp = p->expert_tensor, copies = p->data * p->context * p->tensor / ep / etp;
    for (int stage = 0; stage < p->pipeline; stage++)
        for (int copy = 0; copy < copies; copy++)
            for (int expert = 0; expert < ep; expert++)
                for (int tensor = 0; tensor < etp; tensor++, rank++)
                    group[rank] = dimension == EK__DIM_EXPERT_TENSOR ? (stage * copies + copy) * ep + expert
                                  : dimension == EK__DIM_EXPERT      ? (stage * copies + copy) * etp + tensor
                                                                     : (stage * ep + expert) * etp + tensor;
    group_size = dimension == EK__DIM_EXPERT_TENSOR ? etp : dimension == EK__DIM_EXPERT ? ep : copies;
}

/* Cuts each group into neighbours that share states, or joins those with the same part of them. */
static void cut(const ek_job *job, int world, bool replicas)
{
    int size = group_size, parts = 1, met[MAX_WORLD] = {0};
    if (job->states.shard_size > 0 && size % job->states.shard_size == 0)
        parts = size / job->states.shard_size;
    if (job->states.instances > 1 && size / parts % job->states.instances == 0)
        parts *= job->states.instances;
    for (int r = 0; r < world; r++) {
        int whole = group[r], place = met[whole]++, in_part = size / parts;
        group[r] = replicas ? whole * in_part + place % in_part : whole * parts + place / in_part;
    }
    group_size = replicas ? parts : size / parts;
}

static void lay_out(const ek_job *job, int world, ek__dimension dimension)
{
    bool experts = dimension == EK__DIM_EXPERT || dimension == EK__DIM_EXPERT_TENSOR ||
                   (dimension >= EK__DIM_EXPERT_DATA && dimension <= EK__DIM_EXPERT_REPLICATE);
    (experts ? lay_out_experts : lay_out_dense)(job, dimension);
    if (dimension == EK__DIM_SHARD || dimension == EK__DIM_EXPERT_SHARD)
        cut(job, world, false);
    if (dimension == EK__DIM_REPLICATE || dimension == EK__DIM_EXPERT_REPLICATE)
        cut(job, world, true);
}

/* The fewest ranks that a group has in a unit where it has any. */
static int counted_together(int world, int size)
{
    int least = group_size;
    for (int first = 0; first < world; first += size) {
        int here[MAX_WORLD] = {0};
        for (int r = first; r < first + size && r < world; r++)
            here[group[r]]++;
        for (int r = first; r < first + size && r < world; r++)
            least = here[group[r]] < least ? here[group[r]] : least;
    }
    return least;
}

/* The most ranks of groups that leave their unit of `size` which share a card. */
static int counted_on_a_card(int world, int size, int on_a_card)
{
    int unit_of[MAX_WORLD], most = 1;
    bool leaves[MAX_WORLD] = {false};
    for (int r = 0; r < world; r++)
        unit_of[r] = -1;
    for (int r = 0; r < world; r++) {
        int unit = r / size, g = group[r];
        leaves[g] = leaves[g] || (unit_of[g] >= 0 && unit_of[g] != unit);
        unit_of[g] = unit;
    }
    for (int first = 0; first < world; first += on_a_card) {
        int here = 0;
        for (int r = first; r < first + on_a_card && r < world; r++)
            here += leaves[group[r]];
        most = here > most ? here : most;
    }
    return most;
}

/* Do two neighbouring ranks of some group share a unit? */
static bool counted_neighbours(int world, int size)
{
    for (int r = 1; r < world; r++)
        if (group[r] == group[r - 1] && r % size != 0)
            return true;
    return false;
}

static ek_job any_job(bool regular)
{
    static const int powers[] = {1, 1, 2, 4, 8, 16}, others[] = {1, 2, 3, 4, 5, 6, 8, 12};
    const int *from = regular ? powers : others;
    int n = regular ? 6 : 8;
    ek_job job;
    do {
        job = spread(from[draw(n)], from[draw(n)], from[draw(n)], from[draw(n)]);
    } while (job.parallel.data * job.parallel.context * job.parallel.tensor * job.parallel.pipeline > MAX_WORLD);
    int plane = job.parallel.data * job.parallel.context * job.parallel.tensor;
    job.parallel.expert_tensor = draw(2) ? job.parallel.tensor : 1;
    do {
        job.parallel.expert = 1 + draw(plane);
    } while (plane % (job.parallel.expert * job.parallel.expert_tensor) != 0);
    job.states.shard_size = draw(2) ? -1 : from[draw(n)];
    job.states.instances = draw(2) ? 0 : from[draw(n)];
    return job;
}

static ek_device any_cluster(bool regular)
{
    int node = regular ? 1 << draw(4) : 1 + draw(12), rack = node * (regular ? 1 << draw(3) : 1 + draw(4));
    return cluster(3, (ek_tier[]){tier_of(node, 100, 1), tier_of(rack, 10, 2), tier_of(0, 5, 3)});
}

static void compare_placement(const ek_job *job, const ek_device *device, bool regular)
{
    int world = job->parallel.data * job->parallel.context * job->parallel.tensor * job->parallel.pipeline;
    for (ek__dimension dimension = EK__DIM_TENSOR; dimension <= EK__DIM_WORLD; dimension++) {
        const ek__ranks ranks = ek__placement(job, device, dimension);
        lay_out(job, world, dimension);
        assert_int_equal(ranks.n, group_size);
        assert_int_equal(ranks.in[2], group_size);
        assert_int_equal(ranks.apart, ranks.in[0] > 1 && !counted_neighbours(world, device->tier[0].size));
        for (int i = 0; i < 2; i++) {
            int expected = counted_together(world, device->tier[i].size);
            if (ranks.in[i] != expected)
                fail_msg("d %d cp %d t %d p %d ep %d etp %d, kind %d, units of %d: %d, counted %d", job->parallel.data,
                         job->parallel.context, job->parallel.tensor, job->parallel.pipeline, job->parallel.expert,
                         job->parallel.expert_tensor, (int)dimension, device->tier[i].size, ranks.in[i], expected);
            int shared = counted_on_a_card(world, device->tier[i].size, (int)device->tier[i + 1].devices_per_card);
            bool leaves = ranks.in[i] < ranks.n;
            assert_true(!leaves || ranks.sharing[i + 1] >= shared);
            assert_true(!leaves || !regular || ranks.sharing[i + 1] == shared);
        }
    }
}

static void ranks_in_a_unit_are_as_many_as_are_counted(void **state)
{
    (void)state;
    for (int round = 0; round < 1500; round++) {
        bool regular = round % 3 == 0;
        const ek_job job = any_job(regular);
        ek_device device = any_cluster(regular);
        device.tier[1].devices_per_card = device.tier[2].devices_per_card = 1 << draw(3);
        compare_placement(&job, &device, regular);
    }
}

static void an_edge_is_that_of_the_slowest_pair(void **state)
{
    (void)state;
    for (int round = 0; round < 1500; round++) {
        const ek_job job = any_job(round % 3 == 0);
        const ek_device device = any_cluster(round % 3 == 0);
        const ek_job_parallel *p = &job.parallel;
        int of_stage = p->data * p->context * p->tensor;
        for (int s = 0; s < p->pipeline; s++) {
            const ek__ranks ranks = ek__placement_edge(&job, &device, s);
            assert_int_equal(ranks.n, p->pipeline > 1 ? 2 : 1);
            for (int i = 0; i < 3; i++) {
                int size = i < 2 ? device.tier[i].size : MAX_WORLD, apart = 0;
                for (int r = 0; r < of_stage; r++)
                    apart += (s * of_stage + r) / size != ((s + 1) % p->pipeline * of_stage + r) / size;
                assert_int_equal(ranks.in[i], p->pipeline > 1 && apart == 0 ? 2 : 1);
            }
        }
    }
}

/* The cases that spec and frameworks' documents name. */
static void known_layouts_come_out(void **state)
{
    (void)state;
    const ek_device device = nodes_of_8(100, 10);
    ek_job job = spread(64, 1, 8, 1);
    assert_int_equal(ek__placement(&job, &device, EK__DIM_DATA).in[0], 1); /* a rank in each node */
    assert_int_equal(ek__placement(&job, &device, EK__DIM_TENSOR).in[0], 8);
    job = spread(4, 1, 16, 1);
    assert_int_equal(ek__placement(&job, &device, EK__DIM_TENSOR).in[0], 8);
    job = spread(4, 1, 6, 1); /* the second group: 2 ranks in one node, 4 in the next */
    assert_int_equal(ek__placement(&job, &device, EK__DIM_TENSOR).in[0], 2);
    job = spread(512, 1, 1, 1); /* sharding in a node of 8: copies in different nodes */
    job.states.shard_size = 8;
    assert_int_equal(ek__placement(&job, &device, EK__DIM_SHARD).in[0], 8);
    assert_int_equal(ek__placement(&job, &device, EK__DIM_REPLICATE).n, 64);
    assert_int_equal(ek__placement(&job, &device, EK__DIM_REPLICATE).in[0], 1);
    job.states.shard_size = -1; /* 4 instances: 128 neighbours each */
    job.states.instances = 4;
    assert_int_equal(ek__placement(&job, &device, EK__DIM_SHARD).n, 128);
    assert_int_equal(ek__placement(&job, &device, EK__DIM_SHARD).in[0], 8);
}

/* ---- every message sent ---- */

typedef struct message {
    double ready;
    int order;    /* of equals, the first queued goes first */
    int ring, at; /* at: position in the ring that sends it next */
    int hops;     /* still to go */
} message;

enum { MAX_MESSAGES = 1 << 14, MAX_RINGS = 64, MAX_RING = 32 };

typedef struct simulation {
    const ek_device *device;
    int n_rings, n;
    int ring[MAX_RINGS][MAX_RING]; /* ranks in the order of the ring */
    double size;                   /* of a message */
    double card_free[EK_MAX_TIERS][MAX_WORLD], finished;
    message heap[MAX_MESSAGES];
    int n_messages, n_queued;
} simulation;

static bool sooner(const message *a, const message *b)
{
    return a->ready < b->ready || (a->ready == b->ready && a->order < b->order);
}

static void push(simulation *s, message m)
{
    int i = s->n_messages++;
    assert_true(i < MAX_MESSAGES);
    m.order = s->n_queued++;
    for (; i > 0 && sooner(&m, &s->heap[(i - 1) / 2]); i = (i - 1) / 2)
        s->heap[i] = s->heap[(i - 1) / 2];
    s->heap[i] = m;
}

static message pop(simulation *s)
{
    message first = s->heap[0], last = s->heap[--s->n_messages];
    int i = 0;
    for (int child = 1; child < s->n_messages; child = 2 * i + 1) {
        if (child + 1 < s->n_messages && sooner(&s->heap[child + 1], &s->heap[child]))
            child++;
        if (!sooner(&s->heap[child], &last))
            break;
        s->heap[i] = s->heap[child];
        i = child;
    }
    s->heap[i] = last;
    return first;
}

static int unit_size(const ek_device *device, int tier)
{
    return device->tier[tier].size > 0 ? device->tier[tier].size : MAX_WORLD;
}

/* A message from one rank to another: over the link inside the innermost unit, or over a card of every tier up to the
 * one that joins both. A card sends one message after another. @return when it has arrived */
static double send(simulation *s, int from, int to, double ready)
{
    int joins = 0;
    while (from / unit_size(s->device, joins) != to / unit_size(s->device, joins))
        joins++;
    double sent = ready;
    for (int i = joins > 0 ? 1 : 0; i <= joins; i++) {
        const ek_tier *tier = &s->device->tier[i];
        double *free_at = &s->card_free[i][from / (int)tier->devices_per_card];
        *free_at = fmax(*free_at, ready) + s->size / (tier->gbs * 1e9);
        sent = fmax(sent, *free_at);
    }
    return sent + s->device->tier[joins].latency_us * 1e-6;
}

static double run(simulation *s)
{
    while (s->n_messages > 0) {
        message m = pop(s);
        int next = (m.at + 1) % s->n;
        double arrived = send(s, s->ring[m.ring][m.at], s->ring[m.ring][next], m.ready);
        s->finished = fmax(s->finished, arrived);
        if (--m.hops > 0)
            push(s, (message){.ready = arrived, .ring = m.ring, .at = next, .hops = m.hops});
    }
    return s->finished;
}

/* Rings of a group first, first + stride, ...: one for every rank that the group has in a unit of the tier below the
 * outermost it reaches, each leaving the units of every tier from another rank. */
static int add_rings(simulation *s, const ek__ranks *ranks, int first, int stride)
{
    int top = 0;
    while (ranks->in[top] < ranks->n)
        top++;
    int lanes = top > 0 ? ranks->in[top - 1] : 1;
    for (int lane = 0; lane < lanes; lane++, s->n_rings++)
        for (int q = 0; q < ranks->n; q++) {
            int index = 0, below = 1;
            for (int i = 0; i <= top; i++) {
                int units = ranks->in[i] / below, turn = i < top ? lane / below % units + 1 : 0;
                index += (q / below + turn) % units * below;
                below = ranks->in[i];
            }
            s->ring[s->n_rings][q] = first + index * stride;
        }
    return lanes;
}

/* All groups of a kind at once. */
static double simulated_ring(const ek_device *device, const ek__ranks *ranks, int stride, int passes, double bytes)
{
    static simulation s;
    memset(&s, 0, sizeof s);
    s.device = device;
    s.n = ranks->n;
    for (int first = 0; first < stride; first++)
        s.size = bytes / ranks->n / add_rings(&s, ranks, first, stride);
    for (int ring = 0; ring < s.n_rings; ring++)
        for (int at = 0; at < s.n; at++)
            push(&s, (message){.ring = ring, .at = at, .hops = passes * (s.n - 1)});
    return run(&s);
}

static double simulated_all_to_all(const ek_device *device, const ek__ranks *ranks, int stride, double bytes)
{
    static simulation s;
    memset(&s, 0, sizeof s);
    s.device = device;
    s.size = bytes / ranks->n;
    for (int apart = 1; apart < ranks->n; apart++)
        for (int first = 0; first < stride; first++)
            for (int i = 0; i < ranks->n; i++) {
                int from = first + i * stride, to = first + (i + apart) % ranks->n * stride;
                s.finished = fmax(s.finished, send(&s, from, to, 0));
            }
    return s.finished;
}

/* ---- clusters to simulate: groups of n ranks, stride apart ---- */

typedef struct layout {
    int n, stride, node, rack, on_a_card;
} layout;

static const layout layouts[] = {
    {2, 1, 8, 64, 1},  {8, 1, 8, 64, 1},  {3, 1, 8, 64, 1},  {16, 1, 8, 64, 1}, {16, 1, 4, 64, 1}, {16, 1, 2, 64, 1},
    {16, 1, 1, 64, 1}, {8, 2, 8, 64, 1},  {16, 4, 8, 64, 1}, {4, 8, 8, 64, 1},  {8, 8, 8, 64, 1},  {16, 1, 4, 8, 1},
    {16, 1, 2, 8, 1},  {16, 2, 4, 16, 1}, {8, 4, 4, 8, 1},   {12, 1, 2, 6, 1},  {16, 1, 8, 64, 2}, {16, 1, 8, 64, 4},
    {8, 8, 8, 64, 2},  {16, 2, 8, 64, 2}, {16, 1, 4, 8, 2},  {4, 4, 4, 8, 4},
};
enum { N_LAYOUTS = sizeof layouts / sizeof *layouts };

static ek_device cluster_of(const layout *x, const double gbs[3], const double latency_us[3])
{
    ek_device device =
        cluster(3, (ek_tier[]){tier_of(x->node, gbs[0], latency_us[0]), tier_of(x->rack, gbs[1], latency_us[1]),
                               tier_of(0, gbs[2], latency_us[2])});
    device.tier[1].devices_per_card = device.tier[2].devices_per_card = x->on_a_card;
    return device;
}

static ek__ranks ranks_of(const layout *x, const ek_device *device)
{
    const ek_job job = spread(x->n, 1, x->stride, 1);
    return ek__placement(&job, device, EK__DIM_DATA);
}

static const ek_collective ring_kinds[] = {EK_COLLECTIVE_ALL_REDUCE, EK_COLLECTIVE_ALL_GATHER,
                                           EK_COLLECTIVE_REDUCE_SCATTER};

static double simulated(const ek_device *device, ek_collective what, const layout *x, double bytes)
{
    const ek__ranks ranks = ranks_of(x, device);
    if (what == EK_COLLECTIVE_ALL_TO_ALL)
        return simulated_all_to_all(device, &ranks, x->stride, bytes);
    return simulated_ring(device, &ranks, x->stride, what == EK_COLLECTIVE_ALL_REDUCE ? 2 : 1, bytes);
}

static double formula(const ek_device *device, ek_collective what, const layout *x, double bytes)
{
    const ek__ranks ranks = ranks_of(x, device);
    return ek__collective_seconds(device, what, &ranks, bytes).seconds;
}

static void compare(const layout *x, ek_collective what, const double gbs[3], const double latency_us[3], double bytes,
                    double tolerance)
{
    const ek_device device = cluster_of(x, gbs, latency_us);
    double sent = simulated(&device, what, x, bytes), found = formula(&device, what, x, bytes);
    if (!(fabs(found - sent) <= tolerance * sent))
        fail_msg("%s of %d ranks %d apart, nodes of %d, racks of %d, %d on a card: %.9g s, sent %.9g s (%+.2f %%)",
                 ek_collective_name[what], x->n, x->stride, x->node, x->rack, x->on_a_card, found, sent,
                 100 * (found / sent - 1));
}

static const double no_latency[3] = {0, 0, 0}, latencies[3] = {2, 11, 23};
static const double rates[][3] = {{300, 25, 25}, {300, 25, 10}, {100, 50, 12}, {50, 50, 50}, {20, 100, 90}};
enum { N_RATES = sizeof rates / sizeof *rates };

static void traffic_is_that_of_the_messages(void **state)
{
    (void)state;
    for (int l = 0; l < N_LAYOUTS; l++)
        for (int r = 0; r < N_RATES; r++) {
            for (int k = 0; k < 3; k++)
                compare(&layouts[l], ring_kinds[k], rates[r], no_latency, 1e9, 1e-9);
            compare(&layouts[l], EK_COLLECTIVE_ALL_TO_ALL, rates[r], no_latency, 1e9, 1e-9);
        }
}

/* An all-reduce counts as two rounds, each with its slowest way; the second goes on where the first ended and may have
 * one of the outermost links less. */
#define ONE_HOP 23e-6

static void latency_is_that_of_the_messages(void **state)
{
    (void)state;
    const double infinite[3] = {INFINITY, INFINITY, INFINITY};
    for (int l = 0; l < N_LAYOUTS; l++) {
        compare(&layouts[l], EK_COLLECTIVE_ALL_GATHER, infinite, latencies, 1e9, 1e-9);
        compare(&layouts[l], EK_COLLECTIVE_REDUCE_SCATTER, infinite, latencies, 1e9, 1e-9);
        compare(&layouts[l], EK_COLLECTIVE_ALL_TO_ALL, infinite, latencies, 1e9, 1e-9);
        const ek_device device = cluster_of(&layouts[l], infinite, latencies);
        double sent = simulated(&device, EK_COLLECTIVE_ALL_REDUCE, &layouts[l], 1e9);
        double found = formula(&device, EK_COLLECTIVE_ALL_REDUCE, &layouts[l], 1e9);
        assert_true(found >= sent * (1 - 1e-9) && found <= sent * (1 + 1e-9) + ONE_HOP);
    }
}

/* A card's last message of an all-to-all goes to the outermost tier or stays in an inner one, by the order. */
#define BETWEEN_TIERS 12e-6

/* Both at once. On one tier the sum is exact. Over several a pipelined ring hides part of the smaller. */
static void latency_and_traffic_bound_the_messages(void **state)
{
    (void)state;
    for (int l = 0; l < N_LAYOUTS; l++)
        for (int r = 0; r < N_RATES; r++)
            for (double bytes = 1e3; bytes < 1e10; bytes *= 100) {
                const layout *x = &layouts[l];
                const ek_device device = cluster_of(x, rates[r], latencies);
                double at_once = simulated(&device, EK_COLLECTIVE_ALL_TO_ALL, x, bytes);
                double found = formula(&device, EK_COLLECTIVE_ALL_TO_ALL, x, bytes);
                assert_true(found >= at_once * (1 - 1e-9) && found <= at_once * (1 + 1e-9) + BETWEEN_TIERS);
                for (int k = 0; k < 3; k++) {
                    const ek__ranks ranks = ranks_of(x, &device);
                    const ek__collective_time t = ek__collective_seconds(&device, ring_kinds[k], &ranks, bytes);
                    double sent = simulated(&device, ring_kinds[k], x, bytes), moving = t.seconds - t.latency;
                    assert_true(sent <= t.seconds * (1 + 1e-9));
                    assert_true(sent >= fmax(t.latency - ONE_HOP, moving) * (1 - 1e-9));
                    if (ranks.in[0] == ranks.n)
                        assert_close(t.seconds, sent, 1e-9);
                }
            }
}

/* ---- closed forms ---- */

/* Sums of t = 16 over two nodes: 8 cards of each node. One card would take 8 times as long. */
static void a_group_over_nodes_uses_all_its_cards(void **state)
{
    (void)state;
    const ek_device device = nodes_of_8(300, 25);
    const ek_job job = spread(1, 1, 16, 1);
    double b = 64e6;
    assert_close(seconds_of(&device, EK_COLLECTIVE_ALL_REDUCE, &job, EK__DIM_TENSOR, b),
                 2 * 15.0 / 16 * b / fmin(8 * 25e9, 300e9 * 8 / 7), 1e-12);
    /* Data parallel groups of t = 8 have a card each. */
    const ek_job beside = spread(16, 1, 8, 1);
    assert_close(seconds_of(&device, EK_COLLECTIVE_ALL_GATHER, &beside, EK__DIM_DATA, b), 15.0 / 16 * b / 25e9, 1e-12);
    /* A card of two devices gives each half of its rate, whether one group or two use it. */
    ek_device shared = device;
    shared.tier[1].devices_per_card = 2;
    assert_close(seconds_of(&shared, EK_COLLECTIVE_ALL_GATHER, &job, EK__DIM_TENSOR, b), 15.0 / 16 * b / 100e9, 1e-12);
    assert_close(seconds_of(&shared, EK_COLLECTIVE_ALL_GATHER, &beside, EK__DIM_DATA, b), 15.0 / 16 * b / 12.5e9,
                 1e-12);
    /* Two cards for every device. */
    shared.tier[1].devices_per_card = 0.5;
    assert_close(seconds_of(&shared, EK_COLLECTIVE_ALL_GATHER, &beside, EK__DIM_DATA, b), 15.0 / 16 * b / 50e9, 1e-12);
}

static void groups_of_one_take_no_time(void **state)
{
    (void)state;
    ek_device device = nodes_of_8(300, 25);
    device.tier[0].start_us[EK_COLLECTIVE_ALL_REDUCE] = device.tier[0].latency_us = 10;
    const ek_job job = spread(1, 1, 1, 1);
    for (ek__dimension dimension = EK__DIM_TENSOR; dimension <= EK__DIM_WORLD; dimension++)
        assert_true(seconds_of(&device, EK_COLLECTIVE_ALL_REDUCE, &job, dimension, 1e9) == 0);
    const ek__ranks edge = ek__placement_edge(&job, &device, 0);
    assert_true(ek__collective_seconds(&device, EK_COLLECTIVE_P2P, &edge, 1e9).seconds == 0);
}

static void a_message_goes_over_the_link_that_joins_its_stages(void **state)
{
    (void)state;
    ek_device device = nodes_of_8(300, 25);
    device.tier[0].latency_us = 2, device.tier[1].latency_us = 10;
    device.tier[0].start_us[EK_COLLECTIVE_P2P] = 1, device.tier[1].start_us[EK_COLLECTIVE_P2P] = 4;
    const ek_job job = spread(1, 1, 4, 4);
    for (int stage = 0; stage < 4; stage++) {
        const ek__ranks edge = ek__placement_edge(&job, &device, stage);
        const ek__collective_time t = ek__collective_seconds(&device, EK_COLLECTIVE_P2P, &edge, 30e6);
        bool inside = stage % 2 == 0;
        assert_close(t.seconds, inside ? 3e-6 + 1e-4 : 14e-6 + 30e6 / 25e9, 1e-12);
        assert_close(t.latency, inside ? 3e-6 : 14e-6, 1e-12);
    }
}

/* A message of half_bytes reaches half of the rate; of an all-to-all, a message is the part for one rank. */
static void small_messages_reach_less(void **state)
{
    (void)state;
    ek_device device = nodes_of_8(300, 25);
    device.tier[0].half_bytes = 8e6;
    const ek_job job = spread(1, 1, 8, 1);
    assert_close(seconds_of(&device, EK_COLLECTIVE_ALL_GATHER, &job, EK__DIM_TENSOR, 8e6), 7.0 / 8 * 8e6 / (300e9 / 2),
                 1e-12);
    assert_close(seconds_of(&device, EK_COLLECTIVE_ALL_TO_ALL, &job, EK__DIM_TENSOR, 64e6),
                 7.0 / 8 * 64e6 / (300e9 / 2), 1e-12);
    double before = 0;
    for (double bytes = 0; bytes < 1e9; bytes = 2 * bytes + 1) {
        double t = seconds_of(&device, EK_COLLECTIVE_ALL_GATHER, &job, EK__DIM_TENSOR, bytes);
        assert_true(t >= before);
        before = t;
    }
}

/* An all-gather on two devices over NVLink as nccl-tests printed it (NVIDIA/nccl-tests, issue 44): bytes and us. A rate
 * and the size that reaches half of it, which the table shows to lie at a megabyte, give all sizes. */
static void sizes_of_a_published_test_are_met(void **state)
{
    (void)state;
    static const double rows[][2] = {{262144, 31.38},    {524288, 36.00},    {1048576, 47.38},  {2097152, 70.44},
                                     {4194304, 120.1},   {8388608, 212.5},   {16777216, 418.5}, {33554432, 817.8},
                                     {67108864, 1568.3}, {134217728, 3298.6}};
    ek_device device = nodes_of_8(21.7, 1);
    device.tier[0].half_bytes = 1.02e6;
    const ek_job job = spread(1, 1, 2, 1);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_close(seconds_of(&device, EK_COLLECTIVE_ALL_GATHER, &job, EK__DIM_TENSOR, rows[i][0]), rows[i][1] * 1e-6,
                     0.06);
}

static void contention_takes_its_share_with_every_doubling(void **state)
{
    (void)state;
    ek_device device = nodes_of_8(1e9, 25);
    device.tier[1].contention = 0.1;
    for (int nodes = 2, lost = 1; nodes <= 64; nodes *= 2, lost++) {
        const ek_job job = spread(nodes, 1, 8, 1);
        assert_close(seconds_of(&device, EK_COLLECTIVE_ALL_GATHER, &job, EK__DIM_DATA, 1e9),
                     (nodes - 1.0) / nodes * 1e9 / (25e9 * pow(0.9, lost)), 1e-12);
    }
}

/* 8 nodes of 8: a ring passes 56 links inside and 8 between, all but one inside; a tree between nodes 3 of those and a
 * node's 7; switches add up in one pass. */
/* Data parallel groups on nodes of 8: with t = 2 and 4 the ranks of a node are separate, with t = 1 neighbours, with t
 * = 8 single. Only rings that leave a node and would be faster are slowed down. */
static void rings_of_ranks_apart_reach_what_the_host_carries(void **state)
{
    (void)state;
    ek_device device = nodes_of_8(1e9, 25);
    const double b = 1e9, most = 5e9;
    device.tier[1].apart_gbs = 5;
    for (int t = 1; t <= 8; t *= 2) {
        const ek_job job = spread(64 / t, 1, t, 1);
        double n = 64.0 / t, k = 8.0 / t, card = k > 1 && t > 1 ? most : 25e9;
        assert_close(seconds_of(&device, EK_COLLECTIVE_ALL_REDUCE, &job, EK__DIM_DATA, b),
                     2 * (n - 1) / n * b / k / card, 1e-12);
        assert_close(seconds_of(&device, EK_COLLECTIVE_REDUCE_SCATTER, &job, EK__DIM_DATA, b),
                     (n - 1) / n * b / k / card, 1e-12);
        assert_close(seconds_of(&device, EK_COLLECTIVE_ALL_TO_ALL, &job, EK__DIM_DATA, b), (n - k) / n * b / 25e9,
                     1e-12);
    }
    const ek_job within = spread(4, 1, 2, 8), over = spread(32, 1, 2, 1);
    device.tier[0].apart_gbs = 1;
    assert_close(seconds_of(&device, EK_COLLECTIVE_ALL_GATHER, &within, EK__DIM_DATA, b), 0.75 * b / 1e18, 1e-12);
    device.tier[1].devices_per_card = 8; /* 3.1 GB/s, which the host carries */
    assert_close(seconds_of(&device, EK_COLLECTIVE_ALL_GATHER, &over, EK__DIM_DATA, b), 31.0 / 32 * b / 4 / (25e9 / 8),
                 1e-12);
}

static void algorithms_differ_in_latency_and_passes(void **state)
{
    (void)state;
    ek_device device =
        cluster(2, (ek_tier[]){tier_of(8, 1e6, 1), tier_of(0, 1, 100)}); /* the outer tier decides the traffic */
    const ek_job job = spread(1, 1, 64, 1);
    const ek__ranks ranks = ek__placement(&job, &device, EK__DIM_TENSOR);
    const double lat[] = {800 + 55, 300 + 7, 300 + 7, 800 + 55}, passes[] = {2, 2, 1, 2};
    for (int a = 0; a < EK_N_ALGORITHMS; a++) {
        device.tier[1].algorithm = (ek_algorithm)a;
        const ek__collective_time sum = ek__collective_seconds(&device, EK_COLLECTIVE_ALL_REDUCE, &ranks, 8e9);
        const ek__collective_time gather = ek__collective_seconds(&device, EK_COLLECTIVE_ALL_GATHER, &ranks, 8e9);
        assert_close(sum.latency, 2 * lat[a] * 1e-6, 1e-12);
        assert_close(gather.latency, lat[a] * 1e-6, 1e-12);
        assert_close(sum.seconds - sum.latency, passes[a] * 63.0 / 64, 1e-9);
        assert_close(gather.seconds - gather.latency, 63.0 / 64, 1e-9);
    }
}

/* Seven links of 10 GB/s a device, one to each of the others: a group of k has both ends of k - 1 of them. */
static void a_mesh_gives_a_group_its_own_links(void **state)
{
    (void)state;
    ek_device device = nodes_of_8(70, 25);
    device.tier[0].algorithm = EK_ALGORITHM_MESH;
    for (int k = 2; k <= 8; k *= 2) {
        const ek_job job = spread(8 / k, 1, k, 1);
        assert_close(seconds_of(&device, EK_COLLECTIVE_ALL_GATHER, &job, EK__DIM_TENSOR, 8e9),
                     (k - 1.0) / k * 8e9 / ((k - 1) * 10e9), 1e-12);
        assert_close(seconds_of(&device, EK_COLLECTIVE_ALL_TO_ALL, &job, EK__DIM_TENSOR, 8e9),
                     (k - 1.0) / k * 8e9 / ((k - 1) * 10e9), 1e-12);
    }
    const ek_job stages = spread(1, 1, 1, 2);
    const ek__ranks edge = ek__placement_edge(&stages, &device, 0);
    assert_close(ek__collective_seconds(&device, EK_COLLECTIVE_P2P, &edge, 1e9).seconds, 0.1, 1e-12);
}

static void the_tier_that_decides_says_what_it_rests_on(void **state)
{
    (void)state;
    ek_device device = nodes_of_8(300, 25);
    device.tier[0].basis = EK_COST_MEASURED, device.tier[0].error = 0.02;
    device.tier[1].basis = EK_COST_FITTED, device.tier[1].error = 0.2;
    const ek_job job = spread(1, 1, 16, 1);
    const ek__ranks ranks = ek__placement(&job, &device, EK__DIM_TENSOR);
    ek__collective_time t = ek__collective_seconds(&device, EK_COLLECTIVE_ALL_GATHER, &ranks, 1e9);
    assert_int_equal(t.basis, EK_COST_FITTED);
    assert_true(t.error == 0.2);
    device.tier[1].gbs = 1000;
    t = ek__collective_seconds(&device, EK_COLLECTIVE_ALL_GATHER, &ranks, 1e9);
    assert_int_equal(t.basis, EK_COST_MEASURED);
    assert_true(t.error == 0.02);
}

/* ---- measured links ---- */

static int named(const char *name)
{
    static const char *const names[] = {"all_reduce", "all_gather", "reduce_scatter", "all2all", "p2p"};
    for (int c = 0; c < EK_N_COLLECTIVES; c++)
        if (strcmp(names[c], name) == 0)
            return c;
    return -1;
}

/* SimuMax's formula, latency + scale (n + offset) / n bytes / (gbs share), is this one with a start and no steps. */
static bool compare_link(char *row)
{
    char tier_name[64], name[32];
    double gbs, share, latency_us, scale, offset;
    if (sscanf(row, "%*[^,],collective,%63[^,],%31[^,],%lf,%lf,%lf", tier_name, name, &gbs, &share, &latency_us) != 5)
        return false;
    const char *last = strrchr(row, ',');
    while (last[-1] != ',')
        last--;
    assert_int_equal(sscanf(last, "%lf,%lf", &scale, &offset), 2);
    ek_collective what = (ek_collective)named(name);
    bool between = strcmp(tier_name, "inter_node") == 0;
    ek_device device = cluster(2, (ek_tier[]){tier_of(between ? 1 : 8, gbs, 0), tier_of(0, gbs, 0)});
    for (int i = 0; i < 2; i++) {
        device.tier[i].share[what] = share;
        device.tier[i].start_us[what] = latency_us;
    }
    for (int n = 2; n <= 8; n++)
        for (double bytes = 1e3; bytes < 1e10; bytes *= 10) {
            const ek_job job = spread(1, 1, n, 1);
            ek__ranks ranks = ek__placement(&job, &device, EK__DIM_TENSOR);
            if (what == EK_COLLECTIVE_P2P)
                ranks = (ek__ranks){.n = 2, .in = {between ? 1 : 2, 2}};
            const ek__collective_time t = ek__collective_seconds(&device, what, &ranks, bytes);
            assert_close(t.seconds, latency_us * 1e-6 + scale * (n + offset) / n * bytes / (gbs * 1e9 * share), 1e-12);
        }
    return true;
}

static void links_of_measured_devices_are_a_case_of_it(void **state)
{
    (void)state;
    static const char *const files[] = {"a100_pcie_rates.csv", "b200_rates.csv"};
    int n_rows = 0;
    for (int f = 0; f < 2; f++) {
        char name[128], row[512];
        snprintf(name, sizeof name, "tests/data/published/reference/kernels/%s", files[f]);
        FILE *file = fopen(source_path(name), "r");
        assert_non_null(file);
        while (fgets(row, sizeof row, file))
            n_rows += compare_link(row);
        fclose(file);
    }
    assert_int_equal(n_rows, 35);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_in_a_unit_are_as_many_as_are_counted),
        cmocka_unit_test(an_edge_is_that_of_the_slowest_pair),
        cmocka_unit_test(known_layouts_come_out),
        cmocka_unit_test(traffic_is_that_of_the_messages),
        cmocka_unit_test(latency_is_that_of_the_messages),
        cmocka_unit_test(latency_and_traffic_bound_the_messages),
        cmocka_unit_test(a_group_over_nodes_uses_all_its_cards),
        cmocka_unit_test(groups_of_one_take_no_time),
        cmocka_unit_test(a_message_goes_over_the_link_that_joins_its_stages),
        cmocka_unit_test(small_messages_reach_less),
        cmocka_unit_test(sizes_of_a_published_test_are_met),
        cmocka_unit_test(contention_takes_its_share_with_every_doubling),
        cmocka_unit_test(rings_of_ranks_apart_reach_what_the_host_carries),
        cmocka_unit_test(algorithms_differ_in_latency_and_passes),
        cmocka_unit_test(a_mesh_gives_a_group_its_own_links),
        cmocka_unit_test(the_tier_that_decides_says_what_it_rests_on),
        cmocka_unit_test(links_of_measured_devices_are_a_case_of_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
