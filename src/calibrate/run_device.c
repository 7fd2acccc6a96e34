/* Finds the device and the network that a table's words for hardware mean. */
#include <stdio.h>
#include <string.h>

#include "base/c_locale.h"
#include "calibrate/run_table.h"
#include "cost/cost_internal.h"

/* Words of hardware, both of which must be there, and the device that they mean, the more special first. */
static const struct {
    const char *word[2], *device;
} known[] = {{{"a100", "40gb"}, "A100-40"},
             {{"a100", "pcie"}, "A100-PCIe"},
             {{"a100", ""}, "A100-80"},
             {{"a800", ""}, "A800"},
             {{"h100", "hbm2e"}, "H100-HBM2e"},
             {{"h100", ""}, "H100"},
             {{"h200", ""}, "H200"},
             {{"h800", ""}, "H800"},
             {{"b200", ""}, "B200"},
             {{"v100", ""}, "V100"},
             {{"atlas 900 a3", ""}, "Atlas 900 A3"},
             {{"atlas 800t a2", ""}, "Atlas 800T A2"},
             {{"atlas 900 a2", ""}, "Atlas 800T A2"}, /* the same devices, in a rack */
             {{"atlas 800", ""}, "Atlas 800T A2"}};

const ek_device *ek_device_of_hardware(const char *hardware)
{
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (ek__run_has(hardware, known[i].word[0]) && ek__run_has(hardware, known[i].word[1]))
            return ek_device_find(known[i].device);
    return ek_device_find(hardware);
}

/* A network of this rate in bytes per second and card. Figures fitted to the device's usual network are not valid for
 * another one: its shares are those assumed without a fit. */
static void add_network(double gbs, double devices_per_card, ek_tier *tier)
{
    ek_tier other;
    ek__tier_default(&other);
    memcpy(other.name, tier->name, sizeof other.name);
    other.size = tier->size;
    other.latency_us = tier->latency_us;
    other.algorithm = tier->algorithm;
    other.gbs = gbs;
    other.devices_per_card = devices_per_card;
    other.basis = EK_COST_DERIVED;
    *tier = other;
}

/* "4x100Gb": four cards of 100 Gb/s in a node. */
static void read_network(const char *hardware, ek_device *device)
{
    ek_tier *outer = &device->tier[device->n_tiers - 1];
    for (const char *at = hardware; *at && device->n_tiers > 1; at++) {
        int cards, length = 0;
        double gbits;
        locale_t before = ek__c_locale_enter();
        int read = sscanf(at, "%2dx%4lfGb%n", &cards, &gbits, &length);
        ek__c_locale_leave(before);
        if (read != 2 || length == 0 || cards < 1 || gbits <= 0)
            continue;
        add_network(gbits / 8, (double)device->devices_per_node / cards, outer);
        return;
    }
}

bool ek_device_of_run(const ek_measured_run *run, ek_device *out)
{
    const ek_device *device = ek_device_of_hardware(run->device);
    if (!device)
        return false;
    *out = *device;
    read_network(run->device, out);
    return true;
}
