/* calibrate/profile.h - what a profile says of a device: kernels of shapes, times of collectives, launches. */
#ifndef EK_CALIBRATE_PROFILE_H
#define EK_CALIBRATE_PROFILE_H

#include "calibrate/collect.h"
#include "evenkeel/trace.h"

/*
 * Read the profiles among the sources, those of one folder as one run, and take from them
 *   kernels: into out->device's table (a shape that a source measured keeps that time), curves fitted to kinds with
 *            EK_PROFILE_LEAST_SHAPES shapes or more, as ek_device_fit_kernels() does;
 *   collectives: into c->link, for the fit of links;
 *   launches: host.kernel_us of how the run launches;
 *   the step: a run of the job that stands beside the profile.
 * out->profile says what came of each. @return EK_OK; EK_ERR_INPUT also where they say nothing of a device and are all
 * there is; EK_ERR_SYSTEM, EK_ERR_MEMORY as readers do
 */
ek_status ek__profiles_take(const ek_calibrate_input *input, ek__collected *c, ek_calibration *out, ek_error *err);

/* ---- operators ---- */

/* An operator of one shape. */
typedef struct ek__profile_row {
    ek_kernel kernel;
    double seconds;   /* median of its executions */
    long long weight; /* executions */
} ek__profile_row;

typedef struct ek__profile_rows {
    int n;
    size_t room;
    ek__profile_row *at; /* [n] */
} ek__profile_rows;

/* What could not be read off and was assumed. */
typedef struct ek__profile_doubt {
    bool causal, layout;
} ek__profile_doubt;

/* The kernel that an operator is, of PyTorch on GPU and of Ascend. Attention's FLOPs are those under its mask.
 * @return EK_PROFILE_TAKEN, or why there is none */
ek_profile_left ek__profile_torch(const ek_trace_shaped *op, ek_kernel *out, ek__profile_doubt *doubt);
ek_profile_left ek__profile_ascend(const ek_trace_shaped *op, ek_kernel *out, ek__profile_doubt *doubt);

/* FLOPs and bytes of a product whose groups, m, n, k and type are set. */
void ek__profile_product(ek_kernel *kernel, double out_bytes);
/* FLOPs and bytes of attention whose shape and type are set. */
void ek__profile_attention(ek_kernel *kernel, bool causal);

/* Add a run's operators to the rows, and count them in `out`. O(operators). */
ek_status ek__profile_operators(const ek_trace_run *run, const ek_device *device, ek__profile_rows *rows,
                                ek_calibrated_profile *out, ek_error *err);
enum { EK__PROFILE_MOST_SHAPES = 4096 };
/* Rows of equal shape become one with the median over all executions; in the order of shapes. Of more shapes than
 * EK__PROFILE_MOST_SHAPES those stay that took most time. O(n log n). */
void ek__profile_merge(ek__profile_rows *rows);
/* Put the rows into the device's table and its curves, as ek__profiles_take() says. `fitted` [EK_N_KERNEL_KINDS]. */
ek_status ek__profile_fit(const ek__profile_rows *rows, ek_calibration *out, bool *fitted, ek_error *err);

/* ---- texts ---- */

enum { EK__PROFILE_MAX_DIMS = 8, EK__PROFILE_MAX_TENSORS = 48 };

/* An argument of an operator. */
typedef struct ek__profile_tensor {
    int n; /* dimensions; -1: no tensor, or a list of them */
    double dim[EK__PROFILE_MAX_DIMS];
    double stride[EK__PROFILE_MAX_DIMS];
    bool has_strides;
    double elements; /* read of it: of a list all together */
    int type;        /* ek_dtype or EK_TYPE_FP8; -1: another */
    double size;     /* bytes of an element; 0: not known */
    char value[32];  /* of what is no tensor */
} ek__profile_tensor;

/* PyTorch's lists into tensors. @return how many; 0 when the text is none */
int ek__profile_arguments(const ek_trace_shaped *op, ek__profile_tensor out[EK__PROFILE_MAX_TENSORS]);
/* Ascend's "4096,1024;1024,512", types and formats likewise. */
int ek__profile_cells(const char *shapes, const char *types, ek__profile_tensor out[EK__PROFILE_MAX_TENSORS]);

/* ---- collectives ---- */

/* How long the transfer of each collective took, without waiting, where messages name all ranks of its group and all of
 * them are in the run: nanoseconds, 0 where that is not so. @param out  [collectives of all ranks, in their order];
 * free() it. O(n log n). */
ek_status ek__profile_arrivals(const ek_trace_run *run, int64_t **out, ek_error *err);

/* Times of a run's collectives, for the fit of links: of each operation, size and group one. Adds to *log. */
ek_status ek__profile_links(const ek_trace_run *run, int per_node, ek_link_log *log, ek_calibrated_profile *out,
                            ek_error *err);

#endif
