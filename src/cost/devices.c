/* The devices known by name: a table, since a new one is one line and needs no file at run time. Peaks are dense
 * ("sparse" figures of brochures are twice as much), links are per direction and device. What is not on a product sheet
 * makes a device uncertain, and its source says which figures those are. Shares of the peak that are reached are
 * assumed, the same for all: a measurement belongs into a device file of one's own (device_read.c). */
#include "evenkeel/cost.h"

#include <pthread.h>
#include <string.h>
#include <strings.h>

#include "cost/cost_internal.h"

/* Defaults of every device: ek__device_default(). */
#define EFFICIENCY .devices_per_node = 8
#define PEAK(fp32, bf16, fp16)                                                                                         \
    {                                                                                                                  \
        [EK_FP32] = (fp32), [EK_BF16] = (bf16), [EK_FP16] = (fp16)                                                     \
    }

/* A device and the rates of its links. */
typedef struct sheet {
    ek_device device;
    double intra_gbs, inter_gbs;
    int devices_per_node;
} sheet;

static const sheet sheets[] = {
    {.device.name = "V100",
     .device.source = "NVIDIA V100 SXM2 32 GB data sheet; no bfloat16; network of the DGX-1, 4 x 100 Gb/s for 8",
     .device.certain = true,
     .device.memory_gib = 32,
     .device.memory_gbs = 900,
     .device.peak_tflops = PEAK(15.7, 0, 125),
     .intra_gbs = 150,
     .inter_gbs = 6.25,
     EFFICIENCY},
    {.device.name = "A100-40",
     .device.source = "NVIDIA A100 SXM 40 GB data sheet; network of the DGX A100, 200 Gb/s a device",
     .device.certain = true,
     .device.memory_gib = 40,
     .device.memory_gbs = 1555,
     .device.peak_tflops = PEAK(19.5, 312, 312),
     .intra_gbs = 300,
     .inter_gbs = 25,
     EFFICIENCY},
    {.device.name = "A100-80",
     .device.source = "NVIDIA A100 SXM 80 GB data sheet; network of the DGX A100, 200 Gb/s a device",
     .device.certain = true,
     .device.memory_gib = 80,
     .device.memory_gbs = 2039,
     .device.peak_tflops = PEAK(19.5, 312, 312),
     .intra_gbs = 300,
     .inter_gbs = 25,
     EFFICIENCY},
    {.device.name = "A800",
     .device.source = "A100 SXM 80 GB with links of 200 GB/s per direction; network 200 Gb/s a device",
     .device.certain = true,
     .device.memory_gib = 80,
     .device.memory_gbs = 2039,
     .device.peak_tflops = PEAK(19.5, 312, 312),
     .intra_gbs = 200,
     .inter_gbs = 25,
     EFFICIENCY},
    {.device.name = "H100",
     .device.source = "NVIDIA H100 SXM data sheet; network of the DGX H100, 400 Gb/s a device",
     .device.certain = true,
     .device.memory_gib = 80,
     .device.memory_gbs = 3350,
     .device.peak_tflops = PEAK(67, 989, 989),
     .intra_gbs = 450,
     .inter_gbs = 50,
     EFFICIENCY},
    {.device.name = "H800",
     .device.source = "H100 SXM with links of 200 GB/s per direction; network 400 Gb/s a device",
     .device.certain = true,
     .device.memory_gib = 80,
     .device.memory_gbs = 3350,
     .device.peak_tflops = PEAK(67, 989, 989),
     .intra_gbs = 200,
     .inter_gbs = 50,
     EFFICIENCY},
    {.device.name = "H200",
     .device.source = "NVIDIA H200 SXM data sheet; network 400 Gb/s a device",
     .device.certain = true,
     .device.memory_gib = 141,
     .device.memory_gbs = 4800,
     .device.peak_tflops = PEAK(67, 989, 989),
     .intra_gbs = 450,
     .inter_gbs = 50,
     EFFICIENCY},
    {.device.name = "B200",
     .device.source = "NVIDIA HGX B200 data sheet; memory of 180 to 192 GB and its rate differ by product: uncertain",
     .device.certain = false,
     .device.memory_gib = 180,
     .device.memory_gbs = 8000,
     .device.peak_tflops = PEAK(75, 2250, 2250),
     .intra_gbs = 900,
     .inter_gbs = 50,
     EFFICIENCY},
    {.device.name = "Atlas 800T A2",
     .device.source =
         "Ascend 910B; 64 GiB from logs; peak implied by published tokens/s and MFU; memory rate, fp32 and links "
         "assumed",
     .device.certain = false,
     .device.memory_gib = 64,
     .device.memory_gbs = 1600,
     .device.peak_tflops = PEAK(90, 360, 360),
     .intra_gbs = 196,
     .inter_gbs = 25,
     EFFICIENCY},
};
enum { N_DEVICES = sizeof sheets / sizeof *sheets };

static ek_device devices[N_DEVICES];
static pthread_once_t made = PTHREAD_ONCE_INIT;

static void make(void)
{
    for (int i = 0; i < N_DEVICES; i++) {
        const sheet *from = &sheets[i];
        devices[i] = from->device;
        ek__device_default(&devices[i]);
        devices[i].devices_per_node = from->devices_per_node;
        ek__device_links(&devices[i], from->intra_gbs, from->inter_gbs);
    }
}

/* What people call them besides. */
static const char *const aliases[][2] = {
    {"A100", "A100-80"},
    {"910B", "Atlas 800T A2"},
    {"Ascend 910B", "Atlas 800T A2"},
    {"Ascend910B", "Atlas 800T A2"},
    {"A2", "Atlas 800T A2"},
    {"800T A2", "Atlas 800T A2"},
};

const ek_device *ek_devices(int *n)
{
    pthread_once(&made, make);
    *n = N_DEVICES;
    return devices;
}

const ek_device *ek_device_find(const char *name)
{
    pthread_once(&made, make);
    for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++)
        if (strcasecmp(name, aliases[i][0]) == 0)
            name = aliases[i][1];
    for (int i = 0; i < N_DEVICES; i++)
        if (strcasecmp(name, devices[i].name) == 0)
            return &devices[i];
    return NULL;
}
