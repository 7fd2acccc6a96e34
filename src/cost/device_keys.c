/* The keys of device files with their ranges, and the remedies of values out of range. */
#include "cost/device_keys.h"

#define RATE     1e9 /* of any rate or size: far beyond any device, far below overflow */
#define LEAST    1e-6
#define MOST_US  1e9
#define NO_SHARE 1e-3 /* a share of nothing would make every time endless */

const char *const ek__type_name[EK_N_TYPES] = {"float32", "bfloat16", "float16", "fp8"};
const char *const ek__product_name[3] = {"forward", "input", "weight"};

#define CURVE(field) #field, offsetof(ek_curve, field)
const ek__device_entry ek__curve_figure[EK__N_CURVE_FIGURES] = {
    {CURVE(share), NO_SHARE, 1, "it is the share of the peak that is reached, 0 to 1"},
    {CURVE(memory_share), NO_SHARE, 1, "it is the share of the memory's rate that is reached, 0 to 1"},
    {CURVE(hidden), 0, 1, "it is the overlapped share of the shorter of arithmetic and traffic, 0 to 1"},
    {CURVE(launch_us), 0, MOST_US, "it is the time around a kernel in microseconds"},
    {CURVE(tile_m), 0, RATE, "it is a number of rows, 0 for none"},
    {CURVE(tile_n), 0, RATE, "it is a number of columns, 0 for none"},
    {CURVE(half_k), 0, RATE, "it is the length of sums that reaches half the share"},
    {CURVE(alone_share), 0, 1, "it is the share of the peak that kernels timed by themselves reach, 0 for the share"},
    {CURVE(error), 0, 10, "it is the standard error of the logarithm of a time, 0.1 for 10 %"},
};

#define DEVICE(field) #field, offsetof(ek_device, field)
const ek__device_entry ek__device_figure[EK__N_DEVICE_FIGURES] = {
    {DEVICE(memory_gib), NO_SHARE, RATE, "give the device's memory in units of 2^30 bytes"},
    {DEVICE(memory_gbs), NO_SHARE, RATE, "give the memory's rate in 10^9 bytes a second"},
    {DEVICE(units), 0, RATE, "it is how many multiprocessors or cores tiles are spread over, 0 for not known"},
    {DEVICE(jitter), 0, 1, "it is the share of a step that is lost with every doubling of the devices"},
    {DEVICE(sustained_share), NO_SHARE, 1, "it is the share of the peak that products reach under load, 0 to 1"},
    {DEVICE(compiled_traffic), NO_SHARE, 1,
     "it is the share of memory-bound operators' bytes that is left where a compiler fuses them, 0 to 1"},
    {DEVICE(permute_share), 0, 1,
     "it is the share of the memory's rate that permuting tokens reaches, 0 for that of other operators"},
    {DEVICE(input_gbs), 0, RATE, "it is the rate of a device's input in 10^9 bytes a second, 0 for never waited for"},
    {DEVICE(host_gbs), 0, RATE,
     "it is the rate of a device's link to its host in 10^9 bytes a second, 0 for not known"},
    {DEVICE(error), 0, 10, "it is the standard error of the logarithm of a step, 0.1 for 10 %"},
};
const ek__device_entry ek__fp8_figure[3] = {
    {"share", offsetof(ek_device, fp8_share), NO_SHARE, 1.5,
     "it is the share of the peak of products in 8 bits, in units of the curve's share, 0 to 1.5"},
    {"fine_share", offsetof(ek_device, fp8_fine_share), NO_SHARE, 1,
     "it is the rate of products with a scale for each row or block relative to one scale a tensor, 0 to 1"},
    {DEVICE(cast_share), NO_SHARE, 1, "it is the share of the memory's rate that casts to 8 bits reach, 0 to 1"},
};
const ek__device_entry ek__overlap_figure[3] = {
    {"slowdown", offsetof(ek_device, overlap_slowdown), 1, 100,
     "it is the slowdown of work during communication, 1 for none"},
    {"share", offsetof(ek_device, overlap_share), 0, 1,
     "it is the overlapped share of communication that could overlap with computing, 0 to 1"},
    {"tensor", offsetof(ek_device, overlap_tensor), 0, 1,
     "it is the overlapped share of tensor parallel communication next to products, 0 to 1"},
};
const ek__device_entry ek__optimizer_figure[EK__N_OPTIMIZER_FIGURES] = {
    {"share", offsetof(ek_device, optimizer_share), NO_SHARE, 1,
     "it is the share of the memory's rate that the optimizer reaches, 0 to 1"},
    {"us", offsetof(ek_device, optimizer_us), 0, MOST_US, "it is the optimizer's constant part in microseconds"},
    {"error", offsetof(ek_device, optimizer_error), 0, 10,
     "it is the standard error of the share's logarithm, 0.1 for 10 %"},
    {"us_error", offsetof(ek_device, optimizer_us_error), 0, MOST_US,
     "it is the standard error of the constant part in microseconds"},
};

#define HOST(field) #field, offsetof(ek_host, field)
const ek__device_entry ek__host_figure[2] = {
    {HOST(step_us), 0, MOST_US, "it is the host time of each step, in microseconds"},
    {HOST(error), 0, 10, "it is the standard error of the logarithm, 0.1 for 10 %"},
};

#define TIER(field) #field, offsetof(ek_tier, field)
const ek__device_entry ek__tier_figure[EK__N_TIER_FIGURES] = {
    {TIER(gbs), LEAST, RATE, "give the rate per direction and card in 10^9 bytes a second"},
    {TIER(devices_per_card), LEAST, RATE, "it is how many devices share a card, 1"},
    {TIER(latency_us), 0, MOST_US, "it is the latency of a message in microseconds"},
    {TIER(half_bytes), 0, 1e18, "it is the message in bytes with which half the rate is reached, 0 for every"},
    {TIER(contention), 0, 1,
     "it is the share of the rate that is lost with every doubling of the joined units, 0 to 1"},
    {TIER(apart_gbs), 0, RATE,
     "it is the rate in 10^9 bytes a second of rings with ranks in a node that are not neighbours, 0: as other rings"},
    {TIER(error), 0, 10, "it is the standard error of the logarithm of a time, 0.1 for 10 %"},
};
