/* evenkeel/device.h - describes a device and its cluster: rates that kernels reach, the tiers of links between devices,
 * the host. Shipped devices are files under data/, part of the library; ek_device_read() reads the user's.
 * ek_cost_step() turns it and a job into a step (docs/models.md).
 *
 * Unless stated otherwise, functions take O(1), those that clear or free O(size of the object), and may be called from
 * several threads at once, on the same objects where these are const. */
#ifndef EVENKEEL_DEVICE_H
#define EVENKEEL_DEVICE_H

#include <stddef.h>
#include <stdio.h>

#include "evenkeel/decls.h"
#include "evenkeel/job.h"

EK_BEGIN_DECLS

/** The basis of a figure, the best first. */
typedef enum ek_cost_basis {
    EK_COST_MEASURED, /**< of this shape on this device */
    EK_COST_FITTED,   /**< to measurements of other shapes or runs */
    EK_COST_DERIVED,  /**< from a product sheet */
    EK_COST_ASSUMED,
} ek_cost_basis;
enum { EK_N_COST_BASES = 4 };
extern const char *const *const ek_cost_basis_name; /**< measured, fitted, derived, assumed */

/** Kind of error that a device states for a step. */
typedef enum ek_error_basis {
    EK_ERROR_ASSUMED,         /**< of no runs */
    EK_ERROR_FIT,             /**< the runs that the constants are fitted to: of others it may be larger */
    EK_ERROR_LEAVE_ONE_OUT,   /**< runs left out of the fit one by one */
    EK_ERROR_LEAVE_GROUP_OUT, /**< groups of runs left out of the fit, each a model and a layout */
} ek_error_basis;
enum { EK_N_ERROR_BASES = 4 };
extern const char *const *const ek_error_basis_name; /**< assumed, fit, leave_one_out, leave_group_out */

/** Number formats that arithmetic runs in: those of tensors, and 8 bits. */
enum { EK_TYPE_FP8 = EK_N_DTYPES, EK_N_TYPES };

/** Kinds of kernels, each with its own curve. */
typedef enum ek_kernel_kind {
    EK_KERNEL_MATMUL,
    EK_KERNEL_GROUPED, /**< one product for each expert, in one launch */
    EK_KERNEL_ATTENTION_FORWARD,
    EK_KERNEL_ATTENTION_BACKWARD,
    EK_KERNEL_MEMORY, /**< norms, sums, activations, casts, copies */
    EK_KERNEL_LOSS,   /**< softmax and cross entropy over the vocabulary */
} ek_kernel_kind;
enum { EK_N_KERNEL_KINDS = 6 };
extern const char *const *const ek_kernel_name; /**< as in device files */

/** Which product of a linear layer: forward, the gradient of its input, the gradient of its weight. */
typedef enum ek_pass { EK_PASS_FORWARD, EK_PASS_INPUT, EK_PASS_WEIGHT } ek_pass;

/** One kernel. */
typedef struct ek_kernel {
    ek_kernel_kind kind;
    ek_pass pass;
    int type;          /**< ek_dtype, or EK_TYPE_FP8 */
    bool fine_scales;  /**< of EK_TYPE_FP8: a scale for each row or block */
    bool accumulates;  /**< adds its result to one in 32 bits */
    double flops;      /**< of the whole kernel; 0 for a kernel that only moves bytes */
    double bytes;      /**< read and written */
    double groups;     /**< products in one launch, 1 */
    double m, n, k;    /**< matrix products: m x k by k x n, m of one group */
    double batch, seq; /**< attention: sequences, queries of each */
    double key_seq;    /**< keys of each sequence */
    double heads, kv_heads, qk_dim, v_dim;
} ek_kernel;

/**
 * Time of a kind of kernel:
 *     arithmetic = FLOPs / (share peak) waste (1 + half_k / k)
 *     traffic    = bytes / (memory_share rate)
 *     t          = max(arithmetic, traffic) + (1 - hidden) min(arithmetic, traffic) + launch
 * waste: the area of the tiles that whole waves over ek_device.units would compute, divided by the result's. Tiles of a
 * product are tile_m x tile_n of each group's m x n, those of attention tile_m queries of a head. k of attention: keys.
 * For products in 8 bits share is ek_device.fp8_share of itself. docs/models.md has the fit's reasons.
 */
typedef struct ek_curve {
    double share;        /**< of the peak, 0..1 */
    double memory_share; /**< of the memory's rate, 0..1 */
    double hidden;       /**< share of the shorter of arithmetic and traffic that the longer one hides, 0..1 */
    double launch_us;
    double tile_m, tile_n; /**< 0: no waste */
    double half_k;
    double alone_share; /**< `share` for comparison with measured kernels that were timed in isolation; 0: `share`, they
                             were timed in steps */
    ek_cost_basis basis;
    double error; /**< standard error of the logarithm of a time; 0.1: 10 % */
} ek_curve;

/** Measured kernels of a device (src/cost/kernel_table.c). */
typedef struct ek_kernel_table ek_kernel_table;
/** One of them. */
typedef struct ek_kernel_row {
    ek_kernel kernel;
    double seconds;
    int line, column; /**< of the file it is from */
} ek_kernel_row;
/** Measured times of whole layers against the sums of their kernels (src/cost/layer_table.c). */
typedef struct ek_layer_table ek_layer_table;

/** Operations of collectives. */
typedef enum ek_collective {
    EK_COLLECTIVE_ALL_REDUCE,
    EK_COLLECTIVE_ALL_GATHER,
    EK_COLLECTIVE_REDUCE_SCATTER,
    EK_COLLECTIVE_ALL_TO_ALL,
    EK_COLLECTIVE_P2P,
} ek_collective;
enum { EK_N_COLLECTIVES = 5 };
extern const char *const *const ek_collective_name; /**< all_reduce, all_gather, ... */

typedef enum ek_algorithm {
    EK_ALGORITHM_RING,
    EK_ALGORITHM_TREE,       /**< latency grows with log2 n */
    EK_ALGORITHM_IN_NETWORK, /**< switches add up: half the traffic of an all-reduce */
    EK_ALGORITHM_MESH,       /**< a link for each pair of devices: k of the tier's n reach (k-1)/(n-1) of its rate */
} ek_algorithm;
enum { EK_N_ALGORITHMS = 4 };
extern const char *const *const ek_algorithm_name;

/** Links that join `size` neighbouring devices: a node, a rack, a supernode, the cluster. */
typedef struct ek_tier {
    char name[32];
    int size;                          /**< devices; 0: all there are. Each a multiple of the one before */
    double gbs;                        /**< per direction and card, 10^9 B/s */
    double devices_per_card;           /**< that share a card, 1 */
    double latency_us;                 /**< of a step of a ring, of a message */
    double share[EK_N_COLLECTIVES];    /**< of the rate that large messages reach */
    double start_us[EK_N_COLLECTIVES]; /**< of a collective, added to its steps */
    double half_bytes;                 /**< message size at which half of it is reached; 0: every size */
    double contention;                 /**< share of the rate that is lost with every doubling of the units of the
                                            tier below that are joined, 0..1 */
    double apart_gbs; /**< highest rate of a rank's ring with several ranks in a unit of the first tier that are not
                           neighbours, 10^9 B/s; 0: as other rings */
    ek_algorithm algorithm;
    ek_cost_basis basis;
    double error; /**< standard error of the logarithm of a time */
} ek_tier;
enum { EK_MAX_TIERS = 6 };

/** The host's part: a layer and the head take at least layer_us + kernel_us kernels, forward and backward each; an
 *  embedding its kernels'. */
typedef struct ek_host {
    double layer_us[EK_N_LAUNCHES], kernel_us[EK_N_LAUNCHES];
    double step_us; /**< of each step */
    ek_cost_basis basis;
    double error;
} ek_host;

/** A device and its cluster. */
typedef struct ek_device {
    char name[EK_NAME_SIZE];
    char source[320];
    bool certain;                  /**< false: a figure that is not from a product sheet */
    ek_cost_basis optimizer_basis; /**< of optimizer_share and optimizer_us */
    ek_error_basis error_basis;    /**< of error */
    int devices_per_node;
    double memory_gib, memory_gbs;  /**< 2^30 bytes; 10^9 B/s */
    double peak_tflops[EK_N_TYPES]; /**< dense, 10^12 FLOP/s; 0: not there */
    double units;                   /**< that tiles are spread over: multiprocessors, cores; 0: not known */
    ek_curve curve[EK_N_KERNEL_KINDS];
    double fp8_share;  /**< of curve's share that products in 8 bits reach of their peak */
    double cast_share; /**< of the memory's rate that casts to 8 bits reach */
    int n_tiers;
    ek_tier tier[EK_MAX_TIERS]; /**< from the innermost; the last one joins all */
    ek_host host;
    double overlap_slowdown; /**< slowdown factor of kernels that run during communication, 1: none */
    double overlap_share;    /**< share of the hideable communication that computing hides, 0..1 */
    double optimizer_share;  /**< of the memory's rate */
    double optimizer_us;     /**< of a step */
    double permute_share;    /**< share of the memory's rate when tokens are put into the experts' order and back; 0: as
                                  other operators */
    double jitter;           /**< share of a step that is lost with every doubling of the devices */
    double input_gbs;        /**< of each device's input pipeline; 0: never waited for */
    ek_kernel_table *kernels; /**< NULL: none. Shared by copies; ek_device_clear() frees it */
    ek_layer_table *layers;   /**< likewise */
    double error;             /**< standard error of the logarithm of a step; 0: not known. error_basis has its kind */
    double fp8_fine_share;    /**< rate of 8-bit products with a scale for each row or block, relative to those with one
                                   scale a tensor */
    double sustained_share;   /**< highest share of the peak that products reach during a step, where clocks fall under
                                 load and a kernel timed in isolation is faster; 1: no such limit.   Of products of a
                                 class   that `kernels` has; a curve fitted to steps has it inside */
    double overlap_tensor;    /**< share of the hideable tensor parallel communication that products hide, 0..1 */
    double compiled_traffic;  /**< share of the bytes of memory-bound operators that remains after fusion by a compiler,
                                   0..1 */
    double host_gbs; /**< 10^9 B/s of a device's link to its host and of its part of the host's memory, the rate of
                          updating states there; 0: not known, 20 is used */
    double optimizer_error;    /**< standard error of the logarithm of optimizer_share; 0: not known */
    double optimizer_us_error; /**< of optimizer_us, microseconds; 0: not known */
} ek_device;

/**
 * The devices known by name, shipped with the tool: a static array. The first call reads them.
 *
 * @param n  out: how many
 */
const ek_device *ek_devices(int *n);
/** By name (case does not matter), or NULL. The first call of it or of ek_devices() reads all shipped devices;
 *  afterwards O(devices). */
const ek_device *ek_device_find(const char *name);
/**
 * Read a device from a JSON or YAML file (docs/device-files.md).
 *
 * @param listener  warned about unknown keys; may be NULL
 * @param out       ek_device_clear() frees it; untouched on failure
 * @return EK_OK; EK_ERR_INPUT with the place: a figure that is missing or out of range, a table that cannot be read;
 *         EK_ERR_SYSTEM, EK_ERR_MEMORY. O(file size).
 */
ek_status ek_device_read(const char *path, const ek_listener *listener, ek_device *out, ek_error *err);
/** The same from memory. @param name file name used in messages; a table that the device names is looked up in its
 *  folder.
 * @return as ek_device_read(), without EK_ERR_SYSTEM. O(size). */
ek_status ek_device_parse(const char *name, const char *text, size_t size, const ek_listener *listener, ek_device *out,
                          ek_error *err);
/**
 * A shipped device by name, or one of a file where no device has that name.
 *
 * @param owns  out: it is of a file, and ek_device_clear() frees its tables
 * @return EK_OK; EK_ERR_INPUT with all names where there is no such file either; as ek_device_read(). O(file size).
 */
ek_status ek_device_open(const char *name, const ek_listener *listener, ek_device *out, bool *owns, ek_error *err);
/** Free the tables of a device that ek_device_read() made. */
void ek_device_clear(ek_device *device);
/**
 * Write a device as YAML that ek_device_read() reads back to the same, bit for bit (every number with enough digits for
 * that). Machine and date are not written.
 *
 * @param comments  lines written first, each with "# " in front; NULL at the end, or NULL: none
 * @return EK_OK, or EK_ERR_SYSTEM when `out` cannot be written. O(output).
 */
ek_status ek_device_write(const ek_device *device, const char *const *comments, FILE *out, ek_error *err);

/* ---- measured kernels ---- */

/**
 * A table of rows, in the order of lookups. Rows of one shape become one, their geometric mean.
 * @param row  [n], each with seconds > 0
 * @param out  ek_kernel_table_free() frees it
 * @return EK_OK, EK_ERR_MEMORY. O(n log n).
 */
ek_status ek_kernel_table_new(const ek_kernel_row *row, int n, ek_kernel_table **out, ek_error *err);
/** Free a table. NULL is fine. */
void ek_kernel_table_free(ek_kernel_table *table);
/**
 * Its rows, in the order of lookups; owned by the table. NULL for no table.
 *
 * @param n  out: how many
 */
const ek_kernel_row *ek_kernel_table_rows(const ek_kernel_table *table, int *n);

/**
 * Read measured kernels from CSV with the columns
 *     device,operator,batch,m,k,n,layout,accumulate,out_dtype,groups,stage,seq,heads,kv_heads,qk_dim,v_dim,
 *     qkv_contiguous,peak_tflops,share_of_peak
 * in any order, one row a shape (docs/device-files.md): operator matmul, group_matmul, sdp_fwd or sdp_bwd; layout TN
 * (forward), NN (gradient of the input), NT (of the weight). Seconds are FLOPs / (share_of_peak peak_tflops 10^12),
 * FLOPs of the whole score matrix for attention. Two rows of one shape with shares that differ more than twofold, an
 * unknown column, a value out of range are errors with file, line and column.
 *
 * @param listener  unused, since no part of such a table is skipped; may be NULL
 * @param out       ek_kernel_table_free() frees it; untouched on failure
 * @return EK_OK; EK_ERR_INPUT, EK_ERR_SYSTEM, EK_ERR_MEMORY. O(rows log rows).
 */
ek_status ek_kernel_table_read(const char *path, const ek_listener *listener, ek_kernel_table **out, ek_error *err);

/** Remaining error of the fit of one kind's curve. */
typedef struct ek_kernel_fit {
    int n;                /**< shapes, 0: the kind has none, and its curve stays */
    double median, worst; /**< of |predicted / measured - 1| */
    bool determined;      /**< no constant ended at its bound */
} ek_kernel_fit;

/**
 * Fit the curves of a device to measured kernels: least squares on logarithms of times by Levenberg-Marquardt, with a
 * ridge towards the previous curve and physical bounds. Sets curve[kind] for every kind with rows: share, memory_share,
 * launch_us, half_k, basis (fitted) and error (the standard error left). Given tiles are kept. The table is not added
 * to the device.
 *
 * @param fit  [EK_N_KERNEL_KINDS], may be NULL
 * @return EK_OK, EK_ERR_INPUT where the device has no peak for a row's type, EK_ERR_MEMORY. O(iterations x rows).
 */
ek_status ek_device_fit_kernels(ek_device *device, const ek_kernel_table *table, ek_kernel_fit *fit, ek_error *err);

/**
 * Read rates of memory-bound operators and of collectives from CSV with the columns
 *     device,what,tier,operator,gbs,share,latency_us,fixed_latency_us,scale,offset
 * and set them in a device: what = memory: operator default sets curve[EK_KERNEL_MEMORY], ce_fusion, else ce,
 * curve[EK_KERNEL_LOSS]; what = collective: operator all_reduce, ..., tier the name, of which those with a number
 * (..._8x) are tiers of that many devices, inter_node joins all, another one is the node. The device's tiers become
 * those of the file where it has any. A collective's latency is its start; with a fixed latency, that one is its start,
 * and the other belongs to a step of the ring, the mean of the tier's rows (assumed). Shares above 1 are cut with a
 * warning.
 * @return EK_OK; EK_ERR_INPUT, EK_ERR_SYSTEM, EK_ERR_MEMORY; the device untouched on failure. O(rows).
 */
ek_status ek_device_read_rates(const char *path, const ek_listener *listener, ek_device *device, ek_error *err);

EK_END_DECLS
#endif
