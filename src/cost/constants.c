/* Lists the figures of a device that a fit may move. Bounds are physical: a share is above 0 and rarely beyond 1, no
 * time is below 0. Widths are assumed; they are the errors of data sheets with assumed shares on published runs: a
 * quarter for kernels, a third for links, a factor of e for the host, and for times without a data sheet about their
 * usual value. */
#include "cost/constants.h"
#include "evenkeel/device.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* X(field, unit, least, most, logarithm, width, typical) */
#define CURVE_CONSTANTS(X)                                                                                             \
    X(share, "", 0.02, 1.0, true, 0.25, 0)                                                                             \
    X(memory_share, "", 0.02, 1.0, true, 0.25, 0)                                                                      \
    X(hidden, "", 0, 1, false, 0.3, 0)                                                                                 \
    X(launch_us, "us", 0, 200, false, 5, 0)                                                                            \
    X(half_k, "", 0, 8192, false, 128, 0)

#define TIER_CONSTANTS(X)                                                                                              \
    X(latency_us, "us", 0, 500, false, 10, 0)                                                                          \
    X(half_bytes, "B", 1e3, 1e9, true, 2, 262144)                                                                      \
    X(contention, "", 0, 0.9, false, 0.1, 0)                                                                           \
    X(apart_gbs, "GB/s", 0.1, 1e3, true, 0.7, 100)

#define TIER_COLLECTIVE_CONSTANTS(X)                                                                                   \
    X(share, "", 0.01, 1.0, true, 0.35, 0)                                                                             \
    X(start_us, "us", 0, 2000, false, 20, 0)

#define HOST_CONSTANTS(X)                                                                                              \
    X(layer_us, "us", 1, 20000, true, 1, 200)                                                                          \
    X(kernel_us, "us", 0.1, 200, true, 0.7, 5)

#define DEVICE_CONSTANTS(X)                                                                                            \
    X(host.step_us, "us", 0, 2e6, false, 1e4, 0)                                                                       \
    X(fp8_share, "", 0.05, 1.2, true, 0.2, 0)                                                                          \
    X(fp8_fine_share, "", 0.1, 1, true, 0.25, 0)                                                                       \
    X(cast_share, "", 0.02, 1.0, true, 0.25, 0)                                                                        \
    X(overlap_slowdown, "", 1, 2, false, 0.1, 0)                                                                       \
    X(overlap_share, "", 0, 1, false, 0.3, 0)                                                                          \
    X(sustained_share, "", 0.1, 1, true, 0.25, 0)                                                                      \
    X(overlap_tensor, "", 0, 1, false, 0.3, 0)                                                                         \
    X(compiled_traffic, "", 0.1, 1, true, 0.25, 0)                                                                     \
    X(optimizer_share, "", 0.02, 1.0, true, 0.25, 0)                                                                   \
    X(optimizer_us, "us", 0, 2e6, false, 5e3, 0)                                                                       \
    X(jitter, "", 0, 0.2, false, 0.01, 0)

typedef struct list {
    ek__constant *out;
    int n;
} list;

/* The place of a section's standard error, and its kind. */
typedef struct error_place {
    ptrdiff_t at;
    bool of_logarithm;
} error_place;

/* `at` is the offset of the field in the struct at `base`. */
#define ADD(l, base, basis, error, at_, unit_, least_, most_, logarithm_, width_, typical_, ...)                       \
    do {                                                                                                               \
        ek__constant *c_ = &(l)->out[(l)->n++];                                                                        \
        *c_ = (ek__constant){.unit = (unit_),                                                                          \
                             .at = (base) + (at_),                                                                     \
                             .least = (least_),                                                                        \
                             .most = (most_),                                                                          \
                             .logarithm = (logarithm_),                                                                \
                             .width = (width_),                                                                        \
                             .typical = (typical_),                                                                    \
                             .error_at = (logarithm_) == (error).of_logarithm ? (error).at : -1,                       \
                             .basis_at = (basis)};                                                                     \
        snprintf(c_->name, sizeof c_->name, __VA_ARGS__);                                                              \
    } while (0)

static void add_curves(list *l)
{
    for (int k = 0; k < EK_N_KERNEL_KINDS; k++) {
        size_t base = offsetof(ek_device, curve) + (size_t)k * sizeof(ek_curve);
        ptrdiff_t basis = (ptrdiff_t)(base + offsetof(ek_curve, basis));
        const error_place error = {(ptrdiff_t)(base + offsetof(ek_curve, error)), true};
#define X(field, ...)                                                                                                  \
    ADD(l, base, basis, error, offsetof(ek_curve, field), __VA_ARGS__, "curve.%s.%s", ek_kernel_name[k], #field);
        CURVE_CONSTANTS(X)
#undef X
    }
}

static void add_tier(list *l, int tier)
{
    size_t base = offsetof(ek_device, tier) + (size_t)tier * sizeof(ek_tier);
    ptrdiff_t basis = (ptrdiff_t)(base + offsetof(ek_tier, basis));
    const error_place error = {(ptrdiff_t)(base + offsetof(ek_tier, error)), true};
#define X(field, ...) ADD(l, base, basis, error, offsetof(ek_tier, field), __VA_ARGS__, "tier.%d.%s", tier, #field);
    TIER_CONSTANTS(X)
#undef X
    for (int c = 0; c < EK_N_COLLECTIVES; c++) {
#define X(field, ...)                                                                                                  \
    ADD(l, base, basis, error, offsetof(ek_tier, field) + (size_t)c * sizeof(double), __VA_ARGS__, "tier.%d.%s.%s",    \
        tier, #field, ek_collective_name[c]);
        TIER_COLLECTIVE_CONSTANTS(X)
#undef X
    }
}

static void add_host(list *l)
{
    size_t base = offsetof(ek_device, host);
    ptrdiff_t basis = (ptrdiff_t)(base + offsetof(ek_host, basis));
    const error_place error = {(ptrdiff_t)(base + offsetof(ek_host, error)), true};
    for (int m = 0; m < EK_N_LAUNCHES; m++) {
#define X(field, ...)                                                                                                  \
    ADD(l, base, basis, error, offsetof(ek_host, field) + (size_t)m * sizeof(double), __VA_ARGS__, "host.%s.%s",       \
        #field, ek_launch_name[m]);
        HOST_CONSTANTS(X)
#undef X
    }
}

/* The place of the basis of a device's own constant; -1: none. */
static ptrdiff_t device_basis(size_t at)
{
    bool optimizer = at == offsetof(ek_device, optimizer_share) || at == offsetof(ek_device, optimizer_us);
    return optimizer ? (ptrdiff_t)offsetof(ek_device, optimizer_basis) : -1;
}

static error_place device_error(size_t at)
{
    if (at == offsetof(ek_device, optimizer_share))
        return (error_place){(ptrdiff_t)offsetof(ek_device, optimizer_error), true};
    if (at == offsetof(ek_device, optimizer_us))
        return (error_place){(ptrdiff_t)offsetof(ek_device, optimizer_us_error), false};
    return (error_place){-1, true};
}

int ek__constants_of(const ek_device *device, ek__constant out[EK__MAX_CONSTANTS])
{
    list l = {out, 0};
    add_curves(&l);
    for (int t = 0; t < device->n_tiers; t++)
        add_tier(&l, t);
    add_host(&l);
#define X(field, ...)                                                                                                  \
    ADD(&l, (size_t)0, device_basis(offsetof(ek_device, field)), device_error(offsetof(ek_device, field)),             \
        offsetof(ek_device, field), __VA_ARGS__, "%s", #field);
    DEVICE_CONSTANTS(X)
#undef X
    return l.n;
}

double ek__constant_get(const ek__constant *constant, const ek_device *device)
{
    double value;
    memcpy(&value, (const char *)device + constant->at, sizeof value);
    return value;
}

void ek__constant_set(const ek__constant *constant, double value, ek_device *device)
{
    memcpy((char *)device + constant->at, &value, sizeof value);
}

double ek__constant_scaled(const ek__constant *constant, double value)
{
    double inside = fmin(fmax(value, constant->least), constant->most);
    return constant->logarithm ? log(inside) : inside;
}

double ek__constant_value(const ek__constant *constant, double scaled)
{
    double value = constant->logarithm ? exp(scaled) : scaled;
    return fmin(fmax(value, constant->least), constant->most);
}

double ek__constant_prior(const ek__constant *constant, double start)
{
    bool unknown = constant->logarithm && start <= 0 && constant->typical > 0;
    return ek__constant_scaled(constant, unknown ? constant->typical : start);
}
