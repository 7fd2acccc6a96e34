/* Fits a device's tiers to times measured between processes. For each operation it fits a line of time over the bytes
 * that a rank sends, which minimises relative errors: its slope is the rate, its begin the time of an empty message.
 * The tier's rate is the best one, and each operation's share is its rate relative to that; the tier's latency is the
 * least time of a step of any operation, and the rest of an operation's begin is its start. */
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "evenkeel/rehearse.h"

/* A line: seconds = begin + bytes / rate. */
typedef struct line {
    int n;
    double begin, rate;
    double steps; /* of a ring or of successive messages, each with the latency */
} line;

static bool is_within(const ek_link_time *t)
{
    return t->n_ranks == t->per_node;
}

/* Bytes that a rank sends over the links, counted as in cost/collective.c: if a group has several ranks on a machine,
 * each of them sends its part of the machine's traffic. */
static double sent(const ek_link_time *t)
{
    double n = t->n_ranks, k = is_within(t) ? 1 : t->per_node;
    switch (t->what) {
    case EK_COLLECTIVE_P2P:
        return t->bytes;
    case EK_COLLECTIVE_ALL_TO_ALL:
        return (n - k) / n * t->bytes;
    case EK_COLLECTIVE_ALL_REDUCE:
        return 2 * (n - 1) / n * t->bytes / k;
    case EK_COLLECTIVE_ALL_GATHER:
    case EK_COLLECTIVE_REDUCE_SCATTER:
    default:
        return (n - 1) / n * t->bytes / k;
    }
}

static double steps_of(const ek_link_time *t)
{
    double around = is_within(t) ? t->n_ranks - 1 : fmax(1, (double)t->n_ranks / t->per_node - 1);
    return t->what == EK_COLLECTIVE_P2P || t->what == EK_COLLECTIVE_ALL_TO_ALL ? 1
           : t->what == EK_COLLECTIVE_ALL_REDUCE                               ? 2 * around
                                                                               : around;
}

/* The least sum of ((begin + bytes slope) / seconds - 1)^2, with begin at least 0. */
static line fit_line(const ek_link_time *time, int n, ek_collective what, bool within)
{
    double uu = 0, uv = 0, vv = 0, u = 0, v = 0;
    line l = {0};
    for (int i = 0; i < n; i++) {
        if (time[i].what != what || is_within(&time[i]) != within)
            continue;
        double a = 1 / time[i].seconds, b = sent(&time[i]) / time[i].seconds;
        uu += a * a, uv += a * b, vv += b * b, u += a, v += b;
        l.n++;
        l.steps = steps_of(&time[i]);
    }
    if (l.n == 0)
        return l;
    double determinant = uu * vv - uv * uv, slope = v / vv;
    if (l.n > 1 && determinant > 1e-12 * uu * vv) {
        l.begin = (u * vv - v * uv) / determinant;
        slope = (uu * v - uv * u) / determinant;
    }
    if (l.begin < 0 || slope <= 0) { /* one through the origin */
        l.begin = 0;
        slope = v / vv;
    }
    l.rate = 1 / slope;
    return l;
}

static double error_of(const ek_link_time *time, int n, const line *lines, bool within)
{
    double sum = 0;
    int count = 0;
    for (int i = 0; i < n; i++)
        if (is_within(&time[i]) == within) {
            const line *l = &lines[time[i].what];
            sum += pow(log((l->begin + sent(&time[i]) / l->rate) / time[i].seconds), 2);
            count++;
        }
    return count > 0 ? sqrt(sum / count) : 0;
}

static void fill_tier(ek_tier *tier, const char *name, int size, const ek_link_time *time, int n, bool within)
{
    line lines[EK_N_COLLECTIVES];
    double rate = 0, latency = INFINITY;
    *tier = (ek_tier){.size = size, .devices_per_card = 1, .basis = EK_COST_MEASURED};
    snprintf(tier->name, sizeof tier->name, "%s", name);
    for (int c = 0; c < EK_N_COLLECTIVES; c++) {
        lines[c] = fit_line(time, n, (ek_collective)c, within);
        if (lines[c].n > 0) {
            rate = fmax(rate, lines[c].rate);
            latency = fmin(latency, lines[c].begin / lines[c].steps);
        }
    }
    assert(rate > 0); /* the tier has times */
    tier->gbs = fmax(rate / 1e9, 1e-6);
    tier->latency_us = latency * 1e6;
    for (int c = 0; c < EK_N_COLLECTIVES; c++) {
        bool timed = lines[c].n > 0; /* one without times is assumed to reach the mean of the others */
        tier->share[c] = timed ? fmax(lines[c].rate / rate, 0.001) : 0.75;
        tier->start_us[c] = timed ? fmax(0, lines[c].begin - lines[c].steps * latency) * 1e6 : 0;
    }
    tier->error = error_of(time, n, lines, within);
}

ek_status ek_rehearse_links(const ek_link_time *time, int n, ek_device *device, ek_error *err)
{
    int within = 0, most = 0;
    for (int i = 0; i < n; i++) {
        if (!(time[i].seconds > 0) || !(time[i].bytes > 0))
            return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "a message of %g bytes was timed at %g s", time[i].bytes,
                            time[i].seconds);
        within += is_within(&time[i]);
        most = time[i].per_node > most ? time[i].per_node : most;
    }
    if (n == 0)
        return ek__fail(err, EK_ERR_INPUT, EK__NOWHERE, "no transfers were timed: start two processes or more");
    device->n_tiers = 0;
    device->devices_per_node = most;
    if (within > 0)
        fill_tier(&device->tier[device->n_tiers++], "node", within < n ? most : 0, time, n, true);
    if (within < n)
        fill_tier(&device->tier[device->n_tiers++], "cluster", 0, time, n, false);
    return EK_OK;
}
