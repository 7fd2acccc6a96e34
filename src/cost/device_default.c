/* Sets the assumed shares of a device without measurements. Large matrix products of training reach 70 to 80 % of the
 * dense peak, fused attention half of it; streams reach most of the memory's rate; a ring over a link about three
 * quarters. */
#include <stdio.h>

#include "cost/cost_internal.h"

const char *const ek__cost_basis_name[EK_N_COST_BASES] = {"measured", "fitted", "derived", "assumed"};
const char *const *const ek_cost_basis_name = ek__cost_basis_name;
static const char *const ek__error_basis_name[EK_N_ERROR_BASES] = {"assumed", "fit", "leave_one_out",
                                                                   "leave_group_out"};
const char *const *const ek_error_basis_name = ek__error_basis_name;
static const char *const ek__kernel_name[EK_N_KERNEL_KINDS] = {
    "matmul", "grouped", "attention_forward", "attention_backward", "memory", "loss"};
const char *const *const ek_kernel_name = ek__kernel_name;
const char *const ek__collective_name[EK_N_COLLECTIVES] = {"all_reduce", "all_gather", "reduce_scatter", "all_to_all",
                                                           "p2p"};
const char *const *const ek_collective_name = ek__collective_name;
static const char *const ek__algorithm_name[EK_N_ALGORITHMS] = {"ring", "tree", "in_network", "mesh"};
const char *const *const ek_algorithm_name = ek__algorithm_name;

#define SHARE_MATMUL     0.75
#define SHARE_ATTENTION  0.5
#define SHARE_MEMORY     0.8
#define LAUNCH_US        5.0
#define SHARE_LINK       0.75
#define INTRA_LATENCY_US 5.0
#define INTER_LATENCY_US 10.0

void ek__device_default(ek_device *device)
{
    for (int k = 0; k < EK_N_KERNEL_KINDS; k++) {
        bool attention = k == EK_KERNEL_ATTENTION_FORWARD || k == EK_KERNEL_ATTENTION_BACKWARD;
        device->curve[k] = (ek_curve){.share = attention ? SHARE_ATTENTION : SHARE_MATMUL,
                                      .memory_share = SHARE_MEMORY,
                                      .hidden = 1,
                                      .launch_us = LAUNCH_US,
                                      .basis = EK_COST_ASSUMED};
    }
    device->fp8_share = 0.8;
    device->fp8_fine_share = 0.7;
    device->cast_share = SHARE_MEMORY;
    /* A launch from Python takes 5 to 10 us, a layer's modules as much again; compilers halve both, graphs remove
     * almost all of it. */
    device->host = (ek_host){.layer_us = {[EK_LAUNCH_EAGER] = 200, [EK_LAUNCH_COMPILED] = 100, [EK_LAUNCH_GRAPH] = 10},
                             .kernel_us = {[EK_LAUNCH_EAGER] = 8, [EK_LAUNCH_COMPILED] = 4, [EK_LAUNCH_GRAPH] = 0.5},
                             .step_us = 3000,
                             .basis = EK_COST_ASSUMED};
    device->overlap_slowdown = 1;
    device->overlap_share = 0.8;
    device->sustained_share = 1;
    device->overlap_tensor = 0.5;
    device->compiled_traffic = 0.6;
    device->optimizer_share = SHARE_MEMORY;
    device->host_gbs = 20;
    device->optimizer_basis = EK_COST_ASSUMED;
}

void ek__tier_default(ek_tier *tier)
{
    *tier = (ek_tier){.devices_per_card = 1, .latency_us = INTRA_LATENCY_US, .basis = EK_COST_ASSUMED};
    for (int c = 0; c < EK_N_COLLECTIVES; c++)
        tier->share[c] = SHARE_LINK;
}

static void set_tier(ek_tier *tier, const char *name, int size, double gbs, double latency_us)
{
    ek__tier_default(tier);
    tier->size = size;
    tier->gbs = gbs;
    tier->latency_us = latency_us;
    snprintf(tier->name, sizeof tier->name, "%s", name);
}

void ek__device_links(ek_device *device, double intra_gbs, double inter_gbs)
{
    device->n_tiers = 2;
    set_tier(&device->tier[0], "node", device->devices_per_node, intra_gbs, INTRA_LATENCY_US);
    set_tier(&device->tier[1], "cluster", 0, inter_gbs, INTER_LATENCY_US);
}
