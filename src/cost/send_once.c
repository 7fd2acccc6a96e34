/* Counts the traffic of tokens that are sent once to each node, for any number of its ranks, and distributed there over
 * its links (DeepEP, DeepSeek-V3 report, arXiv 2412.19437, section 3.2.2; Megatron's flex dispatcher). Of k experts
 * that are drawn without replacement from E, n / U ranks in each of U units, a token reaches
 *
 *     D(U) = U (1 - C(E - E / U, k) / C(E, k))
 *
 * units in the mean. Where the router takes the best t of G groups of experts first, the k are of t E / G experts, and
 * a unit has some of those. Each token leaves its unit D(units) (U - 1) / U times; in the node it is passed on to each
 * of its target ranks except the one that received it: D(ranks) (k_0 - 1) / k_0 times. Experts are drawn evenly; the
 * excess of the fullest rank is in the bytes. */
#include "cost/collective.h"

/* The chance that k experts drawn from `all` are all among `others`. */
static double chance_of_none(double others, double all, int k)
{
    double chance = 1;
    for (int i = 0; i < k; i++)
        chance *= others > i ? (others - i) / (all - i) : 0;
    return chance;
}

/* The chance that j of the g groups in a unit are among the t taken of G. */
static double chance_of_groups(int j, int g, int t, int G)
{
    double chance = 1; /* C(g, j) C(G - g, t - j) / C(G, t) */
    for (int i = 0; i < j; i++)
        chance *= (double)(g - i) * (t - i) / ((double)(i + 1) * (G - i));
    for (int i = 0; i < t - j; i++)
        chance *= (double)(G - g - i) / (G - j - i);
    return chance;
}

double ek__units_reached(const ek_job_model *m, int units)
{
    const int E = m->n_experts, k = m->top_k, G = m->router_groups, t = m->router_top_groups;
    double none = 0;
    if (units <= 1 || k < 1)
        return 1;
    if (G <= 1 || t < 1 || t >= G || t * (E / G) < k || (G % units != 0 && units % G != 0))
        return units * (1 - chance_of_none(E - (double)E / units, E, k));
    const double of_group = (double)E / G, taken = t * of_group;
    if (units >= G) /* a group is on several */
        none = 1 - (double)t / G * (1 - chance_of_none(taken - (double)E / units, taken, k));
    else
        for (int g = G / units, j = 0; j <= g && j <= t; j++)
            none += chance_of_groups(j, g, t, G) * chance_of_none(taken - j * of_group, taken, k);
    return units * (1 - none);
}

void ek__send_once(const ek_job_model *m, ek__ranks *ranks)
{
    int here = ranks->in[0], units = (ranks->n + here - 1) / here;
    double k = m->top_k;
    if (ranks->n <= 1 || k < 1)
        return;
    ranks->inside = ek__units_reached(m, ranks->n) / k * (here - 1) / here;
    ranks->leaving = ek__units_reached(m, units) / k;
}
