/* Tiers of a device from what was timed between processes: the rate of a tier is the most that any operation reached of
 * it, so that all shares are at most 1; then the fit that link tests get. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "calibrate/links_fit.h"
#include "evenkeel/rehearse.h"

static const double MARGIN = 1.05; /* a time at hand may be worse than what the line through all of them reaches */

/* Bytes that a rank sends, as cost/collective.c counts a ring's. */
static double traffic(const ek_link_time *t)
{
    double n = t->n_ranks;
    if (t->what == EK_COLLECTIVE_P2P)
        return t->bytes;
    return (t->what == EK_COLLECTIVE_ALL_REDUCE ? 2 : 1) * (n - 1) / n * t->bytes;
}

static bool is_within(const ek_link_time *t)
{
    return t->n_ranks == t->per_node;
}

static void set_tier(ek_tier *tier, const char *name, int size, const ek_link_time *time, int n, bool within)
{
    double most = 0, least = INFINITY;
    *tier = (ek_tier){.size = size, .devices_per_card = 1, .basis = EK_COST_MEASURED};
    snprintf(tier->name, sizeof tier->name, "%s", name);
    for (int i = 0; i < n; i++)
        if (is_within(&time[i]) == within) {
            most = fmax(most, traffic(&time[i]) / time[i].seconds);
            if (time[i].what == EK_COLLECTIVE_P2P)
                least = fmin(least, time[i].seconds);
        }
    tier->gbs = fmax(most * MARGIN / 1e9, 1e-6);
    tier->latency_us = isfinite(least) ? least * 1e6 : 5;
    for (int c = 0; c < EK_N_COLLECTIVES; c++)
        tier->share[c] = 0.9;
}

ek_status ek_rehearse_links(const ek_link_time *time, int n, ek_device *device, ek_error *err)
{
    int within = 0, most = 0, n_links;
    ek_calibrated_link link[EK_MAX_LINK_FITS];
    for (int i = 0; i < n; i++) {
        within += is_within(&time[i]);
        most = time[i].per_node > most ? time[i].per_node : most;
    }
    if (n == 0)
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "no transfers were timed: start two processes or more");
    device->n_tiers = 0;
    if (within > 0)
        set_tier(&device->tier[device->n_tiers++], "node", within < n ? most : 0, time, n, true);
    if (within < n)
        set_tier(&device->tier[device->n_tiers++], "cluster", 0, time, n, false);
    device->devices_per_node = most;
    return ek__links_fit(time, n, device, link, &n_links, err);
}
