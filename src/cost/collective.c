/* Computes the time of a collective over tiers of links:
 *
 *     seconds = start + latency + max over tiers of traffic / rate
 *
 * Rings of n ranks pass chunks of b / n in n - 1 steps, an all-reduce twice. A group with k ranks in a node runs k
 * rings at once, each over another card, so that the traffic that leaves a node is spread over the cards of all the
 * group's ranks there:
 *
 *     inside the innermost unit   (n - 1) / n b (k - 1) / k   of each rank (all of it where nothing leaves)
 *     over a card of tier i       (n - 1) / n b / k           k ranks of the group in a unit of tier i - 1
 *
 * Devices that share a card share its rate; a ring with ranks in a node that are not neighbours is limited by the host,
 * which carries the traffic of ranks without their own card. A card carries all traffic that leaves its unit, also that
 * of outer tiers. All-to-all sends b / n to everyone at once: (k - 1) / n b stay inside, (n - k) / n b leave. Latencies
 * are those of the links that the last chunk passes; additive, as the communication libraries' own tuning has it. Start
 * and latency never overlap with traffic here: a pipelined ring hides some of it, at worst a factor of 2 where both are
 * equal, in groups whose tiers differ. Not handled: congestion among groups of different kinds, and slow links. */
#include "cost/collective.h"

#include <math.h>

/* A collective of one group. */
typedef struct task {
    const ek_device *device;
    const ek__ranks *ranks;
    ek_collective what;
    double bytes;
} task;

/* Ranks of the group in a unit of the tier below. */
static double below(const ek__ranks *ranks, int i)
{
    return i > 0 ? ranks->in[i - 1] : 1;
}

/* Units of the tier below that tier i joins. */
static double joined(const ek__ranks *ranks, int i)
{
    return ranks->in[i] / below(ranks, i);
}

static bool passes(const ek__ranks *ranks, int i)
{
    return i == 0 ? ranks->in[0] > 1 : ranks->in[i - 1] < ranks->n;
}

/* ---- traffic ---- */

static double ring_passes(const task *t, int i)
{
    bool twice = t->what == EK_COLLECTIVE_ALL_REDUCE && t->device->tier[i].algorithm != EK_ALGORITHM_IN_NETWORK;
    return twice ? 2 : 1;
}

/* Bytes that each rank sends over tier i, all its cards together carrying the group's. */
static double traffic(const task *t, int i)
{
    double n = t->ranks->n, here = t->ranks->in[i], k = below(t->ranks, i), b = t->bytes;
    bool inside = i == 0, leaves = here < n;
    switch (t->what) {
    case EK_COLLECTIVE_P2P:
        return inside && leaves ? 0 : b;
    case EK_COLLECTIVE_ALL_TO_ALL:
        if (t->ranks->leaving > 0)
            return inside ? t->ranks->inside * b : (n - k) / n * t->ranks->leaving * b;
        return inside ? (here - 1) / n * b : (n - k) / n * b;
    case EK_COLLECTIVE_ALL_REDUCE:
    case EK_COLLECTIVE_ALL_GATHER:
    case EK_COLLECTIVE_REDUCE_SCATTER:
    default:
        return ring_passes(t, i) * (n - 1) / n * b * (!inside ? 1 / k : leaves ? (here - 1) / here : 1);
    }
}

/* The whole message, as tests of communication libraries plot their rates over it; of an all-to-all the part from one
 * rank to another, since each of these is a separate message. */
static double message(const task *t)
{
    return t->what == EK_COLLECTIVE_ALL_TO_ALL ? t->bytes / t->ranks->n : t->bytes;
}

/* Of links for each pair of devices, those that a group has both ends of. */
static double of_mesh(const task *t, int i)
{
    const ek_tier *tier = &t->device->tier[i];
    double units = (double)tier->size / (i > 0 ? t->device->tier[i - 1].size : 1);
    if (tier->algorithm != EK_ALGORITHM_MESH || units <= 2)
        return 1;
    return (fmax(2, joined(t->ranks, i)) - 1) / (units - 1);
}

static bool goes_round(const task *t)
{
    return t->what != EK_COLLECTIVE_P2P && t->what != EK_COLLECTIVE_ALL_TO_ALL;
}

/* A ring enters a node and leaves it over one card. Where its first and its last rank there are not neighbours, the
 * card is next to one of them at most, and the other reaches it through the host. */
static double by_ends(const task *t, int i, double reached)
{
    const ek_tier *tier = &t->device->tier[i];
    double most = i > 0 && t->ranks->apart && goes_round(t) ? tier->apart_gbs * 1e9 : 0;
    return most > 0 ? fmin(most, reached) : reached;
}

/* Bytes per second of one rank over tier i. */
static double rate(const task *t, int i)
{
    const ek_tier *tier = &t->device->tier[i];
    double on_a_card = t->ranks->sharing[i] > 1                                   ? t->ranks->sharing[i]
                       : tier->devices_per_card > 0 && tier->devices_per_card < 1 ? tier->devices_per_card
                                                                                  : 1;
    double reached = of_mesh(t, i) * tier->gbs * 1e9 * tier->share[t->what] / on_a_card, units = joined(t->ranks, i);
    if (tier->half_bytes > 0)
        reached *= message(t) / (message(t) + tier->half_bytes);
    if (tier->contention > 0 && units > 1)
        reached *= pow(1 - tier->contention, log2(units));
    return by_ends(t, i, reached);
}

static double traffic_seconds(const task *t, int i)
{
    double bytes = passes(t->ranks, i) ? traffic(t, i) : 0;
    return bytes > 0 ? bytes / rate(t, i) : 0;
}

/* ---- latency ---- */

static double tier_latency(const task *t, int i)
{
    return joined(t->ranks, i) > 1 ? t->device->tier[i].latency_us * 1e-6 : 0;
}

/* The outermost tier with links that the group uses. */
static int outermost(const task *t)
{
    int i = 0;
    while (i + 1 < t->device->n_tiers && t->ranks->in[i] < t->ranks->n)
        i++;
    return i;
}

static bool is_ring(const ek_tier *tier)
{
    return tier->algorithm == EK_ALGORITHM_RING || tier->algorithm == EK_ALGORITHM_MESH;
}

/* Of the way of a chunk round the ring: n - 1 of its n links, in the worst case all but the fastest. From the outermost
 * tier: a ring goes through all units of the tier below one after another, a tree through log2 of them at once. */
static double ring_latency(const task *t, int top)
{
    double sum = 0, units = 1, least = INFINITY, outer = tier_latency(t, top);
    for (int i = top; i >= 0; i--) {
        double g = joined(t->ranks, i);
        bool ring = is_ring(&t->device->tier[i]);
        if (g <= 1)
            continue;
        sum += units * (ring ? g - 1 : ceil(log2(g))) * tier_latency(t, i);
        units *= ring ? g : 1;
        least = fmin(least, tier_latency(t, i));
    }
    bool closed = is_ring(&t->device->tier[top]) && isfinite(least);
    return sum + (closed ? fmax(0, outer - least) : 0);
}

/* ---- together ---- */

/* Of a message that all ranks send at once over tier i: traffic over a card may continue to the outermost tier. */
static double message_latency(const task *t, int i, int top)
{
    return tier_latency(t, i > 0 ? top : 0);
}

/* @return the tier that takes longest */
static int slowest(const task *t, int top, bool at_once, double *seconds)
{
    int which = top;
    *seconds = 0;
    for (int i = 0; i <= top; i++) {
        double of_tier = traffic_seconds(t, i) + (at_once ? message_latency(t, i, top) : 0);
        if (of_tier > *seconds)
            *seconds = of_tier, which = i;
    }
    return which;
}

ek__collective_time ek__collective_seconds(const ek_device *device, ek_collective what, const ek__ranks *ranks,
                                           double bytes)
{
    if (ranks->n <= 1)
        return (ek__collective_time){.basis = EK_COST_MEASURED};
    const task t = {device, ranks, what, bytes};
    int top = outermost(&t);
    bool at_once = what == EK_COLLECTIVE_ALL_TO_ALL;
    double moving, latency;
    int which = slowest(&t, top, at_once, &moving);
    if (at_once) {
        latency = message_latency(&t, which, top);
        moving -= latency;
    } else {
        latency = (what == EK_COLLECTIVE_ALL_REDUCE ? 2 : 1) * ring_latency(&t, top);
    }
    latency += device->tier[top].start_us[what] * 1e-6;
    return (ek__collective_time){.seconds = latency + moving,
                                 .latency = latency,
                                 .basis = device->tier[which].basis,
                                 .error = device->tier[which].error};
}
