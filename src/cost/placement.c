/* Finds the ranks of a group that share a node, a rack, the cluster.
 *
 * Ranks are numbered with the tensor dimension fastest, then context, data, and the pipeline slowest; an expert layer
 * cuts the same d cp t ranks of a stage into tensor slices of an expert, expert parallel ranks and copies. Megatron
 * (tp-cp-ep-dp-pp), DeepSpeed (axes pipe, data, model), MindSpore (layouts dp, cp, tp; outer_dp, ep; whole stages one
 * after another) and torchtitan (pp, dp_replicate, dp_shard, cp, tp) agree in that. Sharding groups are neighbours
 * inside a data parallel group: MindSpore's optimizer_weight_shard_size cuts [0, 8, 16, 24] into [0, 8], [16, 24],
 * Megatron's optimizer instances are slices of the group in the same way.
 *
 * So every group is a progression r, r + s, ..., r + (n - 1) s, and the groups of a kind fill blocks of n s ranks.
 * Units of a tier are cut from the same numbers: a unit's boundary falls somewhere in a block, and its place gives the
 * ranks of a group before and after it. No loop over ranks is needed. Not handled: ranks that a scheduler places in
 * another order than their numbers. */
#include "cost/collective.h"

#include <limits.h>
#include <math.h>
#include <stdint.h>

/* Groups of one kind: n ranks with a stride, in a world of this many. */
typedef struct groups {
    int64_t n, stride, world;
} groups;

/* Degrees are small; products of absurd ones are limited to the range of an int. */
static int64_t times(int64_t a, int64_t b)
{
    a = a > 1 ? a : 1;
    b = b > 1 ? b : 1;
    return a > INT_MAX / b ? INT_MAX : a * b;
}

static int64_t common_divisor(int64_t a, int64_t b)
{
    while (b != 0) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* ---- which ranks ---- */

/* A stage's ranks. */
static int64_t plane(const ek_job_parallel *p)
{
    return times(times(p->tensor, p->context), p->data);
}

/* Ranks of a group of n that share its states. */
static int64_t shard(const ek_job_states *states, int64_t n)
{
    if (states->shard_size > 0 && n % states->shard_size == 0)
        n = states->shard_size;
    if (states->instances > 1 && n % states->instances == 0)
        n /= states->instances;
    return n;
}

static groups groups_of(const ek_job *job, ek__dimension dimension)
{
    const ek_job_parallel *p = &job->parallel;
    int64_t stage = plane(p), world = times(stage, p->pipeline), t = times(p->tensor, 1);
    int64_t slices = times(p->expert_tensor, p->expert), copies = times(stage / slices, 1);
    int64_t data = stage / t, cut = shard(&job->states, data), expert_cut = shard(&job->states, copies);
    switch (dimension) {
    case EK__DIM_CONTEXT:
        return (groups){times(p->context, 1), t, world};
    case EK__DIM_EXPERT:
        return (groups){times(p->expert, 1), times(p->expert_tensor, 1), world};
    case EK__DIM_EXPERT_TENSOR:
        return (groups){times(p->expert_tensor, 1), 1, world};
    case EK__DIM_DATA:
        return (groups){data, t, world};
    case EK__DIM_SHARD:
        return (groups){cut, t, world};
    case EK__DIM_REPLICATE:
        return (groups){data / cut, t * cut, world};
    case EK__DIM_EXPERT_DATA:
        return (groups){copies, slices, world};
    case EK__DIM_EXPERT_SHARD:
        return (groups){expert_cut, slices, world};
    case EK__DIM_EXPERT_REPLICATE:
        return (groups){copies / expert_cut, slices * expert_cut, world};
    case EK__DIM_WORLD:
        return (groups){world, 1, world};
    case EK__DIM_TENSOR:
    default:
        return (groups){t, 1, world};
    }
}

/* ---- which units ---- */

/* The fewest ranks that a group has on the side of a unit's boundary where x ranks of its block are: its last column
 * has x / s of them, or one. A unit inside the block never has fewer than at the boundary next to it. */
static int64_t part(const groups *g, int64_t x)
{
    return x / g->stride > 1 ? x / g->stride : 1;
}

/* The least distance of a unit's boundary from the nearest end of its block. Boundary u is at u size modulo n s in a
 * block: over a whole period all multiples of the common divisor. A world that ends before is walked, until no group
 * can have fewer than a lone rank on a side. */
static int64_t nearest_boundary(const groups *g, int64_t block, int64_t step, int64_t size)
{
    int64_t boundaries = (g->world - 1) / size, nearest = block, x = 0, on = size % block;
    if (boundaries >= block / step - 1)
        return step;
    for (int64_t u = 1; u <= boundaries && nearest >= 2 * g->stride; u++) {
        x += x + on < block ? on : on - block;
        int64_t side = x < block - x ? x : block - x;
        nearest = side > 0 && side < nearest ? side : nearest;
    }
    return nearest;
}

/* The fewest ranks that any group has in any unit it reaches into: those send the group's traffic. */
static int64_t fewest_together(const groups *g, int64_t size)
{
    int64_t block = g->n * g->stride, step = common_divisor(block, size);
    return step == block ? g->n : part(g, nearest_boundary(g, block, step, size));
}

static int devices_on_a_card(const ek_tier *tier, int64_t world)
{
    return tier->devices_per_card > 1 ? (int)fmin(ceil(tier->devices_per_card), (double)world) : 1;
}

/* The last tier joins all; one without a size does, too. */
static bool joins_all(const ek_device *device, int tier, int64_t world)
{
    int size = device->tier[tier].size;
    return tier == device->n_tiers - 1 || size <= 0 || size >= world;
}

ek__ranks ek__placement(const ek_job *job, const ek_device *device, ek__dimension dimension)
{
    const groups g = groups_of(job, dimension);
    ek__ranks ranks = {.n = (int)g.n};
    for (int i = 0; i < device->n_tiers; i++) {
        const ek_tier *tier = &device->tier[i];
        ranks.in[i] = (int)(joins_all(device, i, g.world) ? g.n : fewest_together(&g, tier->size));
        ranks.sharing[i] = devices_on_a_card(tier, g.world);
    }
    ranks.apart = g.stride > 1 && ranks.in[0] > 1;
    return ranks;
}

/* Are all ranks of two stages, the first of them `first`, in the same unit as their partners? A boundary anywhere
 * between the first rank of one and the last of the other separates a pair. */
static bool together(int64_t first, int64_t ranks, int64_t size)
{
    return first / size == (first + ranks - 1) / size;
}

ek__ranks ek__placement_edge(const ek_job *job, const ek_device *device, int stage)
{
    const ek_job_parallel *p = &job->parallel;
    int64_t of_stage = plane(p), n_stages = times(p->pipeline, 1), world = times(of_stage, n_stages);
    bool back = stage + 1 >= n_stages;
    int64_t first = back ? 0 : stage * of_stage, span = back ? world : 2 * of_stage;
    ek__ranks ranks = {.n = n_stages > 1 ? 2 : 1};
    for (int i = 0; i < device->n_tiers; i++) {
        bool joined = joins_all(device, i, world) || together(first, span, device->tier[i].size);
        ranks.in[i] = joined ? ranks.n : 1;
        ranks.sharing[i] = devices_on_a_card(&device->tier[i], of_stage);
    }
    return ranks;
}
