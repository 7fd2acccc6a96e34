/* Fits tiers to timed collectives: the same fit as for steps, over times of single collectives. A time belongs to the
 * outermost tier that its ranks reach. */
#include "calibrate/links_fit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/median.h"
#include "calibrate/fit.h"
#include "cost/collective.h"

typedef struct times {
    const ek_link_time *time;
    int n;
    const ek_device *device; /* the device of the tiers */
} times;

static int at_most(int a, int b)
{
    return a < b ? a : b;
}

/* Ranks of the test in a unit of tier i: they are on the first devices of each node. */
static int ranks_in(const ek_device *device, const ek_link_time *time, int i)
{
    int size = device->tier[i].size, node = device->devices_per_node > 0 ? device->devices_per_node : 1;
    if (i + 1 == device->n_tiers || size <= 0)
        return time->n_ranks;
    return at_most(time->n_ranks, size >= node ? size / node * time->per_node : at_most(size, time->per_node));
}

static ek__ranks ranks_of(const ek_device *device, const ek_link_time *time)
{
    ek__ranks ranks = {.n = time->n_ranks};
    for (int i = 0; i < device->n_tiers; i++) {
        int below = i > 0 ? ranks.in[i - 1] : 1, in = ranks_in(device, time, i);
        int cards = (int)lround(fmax(device->tier[i].devices_per_card, 1));
        ranks.in[i] = in > below ? in : below;
        ranks.sharing[i] = at_most(cards, below);
    }
    return ranks;
}

static int tier_of(const ek_device *device, const ek_link_time *time)
{
    ek__ranks ranks = ranks_of(device, time);
    for (int i = 0; i < device->n_tiers; i++)
        if (ranks.in[i] == ranks.n)
            return i;
    return device->n_tiers - 1;
}

static ek_status predict(void *user, const ek_device *device, const bool *wanted, double *out, ek_error *err)
{
    const times *t = user;
    (void)err;
    for (int i = 0; i < t->n; i++) {
        if (!wanted[i])
            continue;
        ek__ranks ranks = ranks_of(device, &t->time[i]);
        double seconds = ek__collective_seconds(device, t->time[i].what, &ranks, t->time[i].bytes).seconds;
        out[i] = seconds > 0 ? log(seconds) : NAN;
    }
    return EK_OK;
}

/* With groups of one size a tier's contention cannot be distinguished from its share. */
static bool leaves(void *user, const ek__constant *constant)
{
    const times *t = user;
    int tier, size = 0;
    if (sscanf(constant->name, "tier.%d.", &tier) != 1 || !strstr(constant->name, "contention"))
        return false;
    for (int i = 0; i < t->n; i++) {
        if (tier_of(t->device, &t->time[i]) != tier)
            continue;
        if (size > 0 && size != t->time[i].n_ranks)
            return false;
        size = t->time[i].n_ranks;
    }
    return true;
}

static ek_status summarise(const times *t, const ek__fit *fit, ek_calibrated_link *link, int *n_links, ek_error *err)
{
    double *error = ek__alloc((size_t)t->n, sizeof *error);
    if (!error)
        return ek__no_memory(err);
    *n_links = 0;
    for (int tier = 0; tier < fit->device.n_tiers; tier++)
        for (int c = 0; c < EK_N_COLLECTIVES; c++) {
            int n = 0;
            for (int i = 0; i < t->n; i++)
                if ((int)t->time[i].what == c && tier_of(&fit->device, &t->time[i]) == tier)
                    error[n++] = fabs(exp(fit->after[i] - fit->measured[i]) - 1);
            if (n > 0)
                link[(*n_links)++] = (ek_calibrated_link){tier,
                                                          (ek_collective)c,
                                                          n,
                                                          fit->device.tier[tier].share[c],
                                                          fit->device.tier[tier].start_us[c],
                                                          ek__median(error, (size_t)n)};
        }
    free(error);
    return EK_OK;
}

/* The remaining error of the times, for each tier with times. */
static void mark(const times *t, const ek__fit *fit, ek_device *device)
{
    for (int tier = 0; tier < device->n_tiers; tier++) {
        double sum = 0;
        int n = 0;
        for (int i = 0; i < t->n; i++)
            if (tier_of(device, &t->time[i]) == tier) {
                sum += pow(fit->after[i] - fit->measured[i], 2);
                n++;
            }
        if (n > 0) {
            device->tier[tier].basis = EK_COST_FITTED;
            device->tier[tier].error = sqrt(sum / n);
        }
    }
}

ek_status ek__links_fit(const ek_link_time *time, int n, ek_device *device, ek_calibrated_link *link, int *n_links,
                        ek_error *err)
{
    times t = {time, n, device};
    double *seconds = ek__alloc((size_t)n, sizeof *seconds);
    int *group = ek__alloc((size_t)n, sizeof *group);
    ek__fit fit;
    ek_status status = seconds && group ? EK_OK : ek__no_memory(err);
    for (int i = 0; i < n && status == EK_OK; i++) {
        seconds[i] = time[i].seconds;
        group[i] = i;
    }
    const ek__fit_problem problem = {
        .n = n, .seconds = seconds, .group = group, .predict = predict, .user = &t, .leaves = leaves};
    if (status == EK_OK)
        status = ek__fit_run(&problem, device, &fit, err);
    if (status == EK_OK) {
        status = summarise(&t, &fit, link, n_links, err);
        *device = fit.device;
        mark(&t, &fit, device);
        ek__fit_clear(&fit);
    }
    free(seconds);
    free(group);
    return status;
}
