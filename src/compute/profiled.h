/* compute/profiled.h - turns operators of a profile into kernels: products, attention and memory-bound operators, from
 * names and shapes. */
#ifndef EK_COMPUTE_PROFILED_H
#define EK_COMPUTE_PROFILED_H

#include "evenkeel/compute.h"
#include "evenkeel/device.h"
#include "evenkeel/trace.h"

/* Values that could not be read and were assumed. */
typedef struct ek__profile_doubt {
    bool causal, layout;
} ek__profile_doubt;

/* The kernel that an operator is, of PyTorch on GPU and of Ascend. Attention's FLOPs are those under its mask.
 * @return EK_PROFILE_TAKEN, or the reason why there is none */
ek_profile_left ek__profile_torch(const ek_trace_shaped *op, ek_kernel *out, ek__profile_doubt *doubt);
ek_profile_left ek__profile_ascend(const ek_trace_shaped *op, ek_kernel *out, ek__profile_doubt *doubt);

/* FLOPs and bytes of a product with groups, m, n, k and type set. */
void ek__profile_product(ek_kernel *kernel, double out_bytes);
/* FLOPs and bytes of attention with shape and type set. */
void ek__profile_attention(ek_kernel *kernel, bool causal);

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
    char value[32];  /* of an argument that is not a tensor */
} ek__profile_tensor;

/* PyTorch's lists into tensors. @return how many; 0 when the text is none */
int ek__profile_arguments(const ek_trace_shaped *op, ek__profile_tensor out[EK__PROFILE_MAX_TENSORS]);
/* Ascend's "4096,1024;1024,512", types and formats likewise. */
int ek__profile_cells(const char *shapes, const char *types, ek__profile_tensor out[EK__PROFILE_MAX_TENSORS]);

#endif
