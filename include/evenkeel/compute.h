/* evenkeel/compute.h - analyses the operators of a profiled run by type and shape over all ranks: their share of the
 * device's rates, and those that could be faster.
 *
 * ek_compute_make() makes it of a run that was read with ek_trace_options.measure and keeps it in the run, so that
 * every writer of a trace shows it. A pattern of operators that a fused one replaces is one row in
 * src/compute/chains.c.
 *
 * Unless stated otherwise, functions take O(1), and may be called from several threads at once, on the same objects
 * where these are const. */
#ifndef EVENKEEL_COMPUTE_H
#define EVENKEEL_COMPUTE_H

#include "evenkeel/decls.h"
#include "evenkeel/device.h"
#include "evenkeel/error.h"
#include "evenkeel/trace.h"
#include "evenkeel/types.h"

EK_BEGIN_DECLS

/** Reasons for which operators of a profile do not measure a device's kernels. */
typedef enum ek_profile_left {
    EK_PROFILE_TAKEN,
    EK_PROFILE_NO_SHAPES, /**< shapes are unknown */
    EK_PROFILE_OTHER,     /**< operators with work that does not follow from their shapes */
    EK_PROFILE_UNCLEAR,   /**< shapes that do not fit the operator, or types that nothing is known of */
    EK_PROFILE_NO_PEAK,   /**< a type that the device has no peak for, or products of TF32 */
    EK_PROFILE_PACKED,    /**< attention of packed sequences, with lengths that a profile does not have */
    EK_PROFILE_TOO_FAST,  /**< beyond the device's peak or memory rate: served by a cache, or of another device */
} ek_profile_left;
enum { EK_N_PROFILE_LEFT = 7 };
extern const char *const *const ek_profile_left_name; /**< taken, no_shapes, ... */

/** Classes of operators. */
typedef enum ek_compute_class {
    EK_COMPUTE_MATRIX,    /**< products and convolutions */
    EK_COMPUTE_ATTENTION, /**< fused attention */
    EK_COMPUTE_VECTOR,    /**< norms, activations, sums, losses, optimizers */
    EK_COMPUTE_TRANSFORM, /**< layouts and types: TransData, Transpose, Cast, copies */
    EK_COMPUTE_AI_CPU,    /**< operators on Ascend's scalar processors */
    EK_COMPUTE_OTHER,
} ek_compute_class;
enum { EK_N_COMPUTE_CLASSES = 6 };
extern const char *const *const ek_compute_class_name; /**< matrix, attention, vector, transform,
                                                            ai_cpu, other */

/** Operators of one type, shape and kernel, over all ranks. */
typedef struct ek_compute_operator {
    const char *name;                    /**< "aten::mm"; Ascend: the type; without either the kernel */
    const char *kernel;                  /**< PyTorch: the kernel that took longest of an execution; "" */
    const char *shapes, *types, *layout; /**< of the inputs, as the profiler writes them; "" when not recorded */
    const char *core;                    /**< Ascend; NULL */
    ek_compute_class class_;
    int64_t count, total;          /**< over all ranks, nanoseconds */
    int n_ranks;                   /**< that have it */
    double least, median, most;    /**< over these ranks, of the median of an execution, nanoseconds */
    int least_at, most_at;         /**< indices in ek_trace_run.rank */
    ek_profile_left known;         /**< EK_PROFILE_TAKEN: `kernel_` has its work */
    ek_kernel work;                /**< FLOPs and bytes of one execution */
    double tflops, gbs;            /**< reached by the median execution: 10^12 FLOP/s, 10^9 B/s; NAN */
    double share_of_peak;          /**< of the device's for the type; NAN without a device */
    double share_of_memory;        /**< of the device's memory rate, 0..1 and above from a cache; NAN */
    double expected;               /**< by the device's measured shapes and curves, nanoseconds; NAN */
    ek_cost_basis basis;           /**< of `expected` */
    double unit[EK_N_TRACE_UNITS]; /**< as in ek_trace_shaped, over all ranks */
    int64_t blocks;
} ek_compute_operator;

/** Something that could be computed faster. */
typedef enum ek_compute_fault {
    EK_FAULT_AI_CPU,
    EK_FAULT_ATTENTION, /**< from here on: operators in a row for which there is a fused one */
    EK_FAULT_NORM,
    EK_FAULT_ROPE,
    EK_FAULT_SWIGLU,
    EK_FAULT_CROSS_ENTROPY,
    EK_FAULT_TRANSFORMS, /**< chains of layout transforms */
    EK_FAULT_TYPE,       /**< products in a type off the fast path */
    EK_FAULT_SHAPE,      /**< products far below the rate of their shape */
} ek_compute_fault;
enum { EK_N_COMPUTE_FAULTS = 9 };
extern const char *const *const ek_compute_fault_name;  /**< "ai-cpu", "unfused-attention", ... */
extern const char *const *const ek_compute_fault_title; /**< "Operators run on AI CPU", ... */

/** One place where it is. */
typedef struct ek_compute_loss {
    int rank;      /**< index in ek_trace_run.rank */
    int64_t start; /**< of its first operator */
    int64_t time;  /**< of its operators, nanoseconds */
    int64_t lost;  /**< the part of it that the better operator saves */
} ek_compute_loss;

/** All places of one fault. */
typedef struct ek_compute_finding {
    ek_compute_fault fault;
    const char *what;     /**< the operators in words: "BatchMatMul, SoftmaxV2, BatchMatMul" */
    const char *instead;  /**< the recommended change, a sentence */
    const char *setting;  /**< the same in the syntax of the run's files */
    const char *estimate; /**< how `lost` was worked out, a sentence */
    size_t n;
    ek_compute_loss *loss; /**< [n], by rank, then start */
    int worst;             /**< index in ek_trace_run.rank of the one that loses most of a step */
    double time, lost;     /**< of a mean step of that rank, nanoseconds */
} ek_compute_finding;

struct ek_compute {
    char device[EK_NAME_SIZE];         /**< device of the peaks and curves; "" without one */
    double time[EK_N_COMPUTE_CLASSES]; /**< of all ranks together, nanoseconds */
    double total;                      /**< their sum */
    double flops;                      /**< of all operators with known work */
    double known;                      /**< time of these, nanoseconds */
    int n;
    ek_compute_operator *op; /**< [n], longest total first, then by name, shapes, types, layout, kernel, core */
    int n_findings;
    ek_compute_finding *finding; /**< [n_findings], most lost first */
};

/**
 * Make run->compute, which belongs to the run. An existing one is replaced.
 *
 * @param device  with the peaks and curves for the comparison; NULL: none
 * @return EK_OK; EK_ERR_MEMORY, and run->compute is NULL. O(n log n) for n executions.
 */
ek_status ek_compute_make(ek_trace_run *run, const ek_device *device, ek_error *err);

EK_END_DECLS
#endif
