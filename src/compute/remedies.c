/* What to change about each fault, in the settings of who wrote the trace. */
#include "compute/compute_internal.h"

/* For MindSpore, for PyTorch on Ascend (Megatron with MindSpeed), for PyTorch on GPU (Megatron); NULL: as before. */
typedef struct remedy {
    const char *mindspore, *npu, *gpu;
} remedy;

static const remedy remedies[EK_N_COMPUTE_FAULTS] = {
    [EK_FAULT_AI_CPU] = {"Give these operators types that the vector units have (INT32 or FLOAT in place of INT64 or "
                         "DOUBLE), replace them, or take them out of the step.",
                         NULL, NULL},
    [EK_FAULT_ATTENTION] = {"Use fused attention: `use_flash_attention: True`.",
                            "Use fused attention: `--use-flash-attn`, or torch_npu.npu_fusion_attention.",
                            "Use fused attention: `--attention-backend flash`, or scaled_dot_product_attention."},
    [EK_FAULT_NORM] = {"Use the fused norm: `normalization: \"FusedRMSNorm\"`, or ops.rms_norm.",
                       "Use the fused norm: `--use-fused-rmsnorm`, or torch_npu.npu_rms_norm.",
                       "Use the fused norm: `--transformer-impl transformer_engine`, or torch.nn.RMSNorm in what is "
                       "compiled."},
    [EK_FAULT_ROPE] =
        {"Use the fused rotary embedding: `use_fused_rope: True`, of newer models `apply_rope_fusion: True`.",
         "Use the fused rotary embedding: `--use-fused-rotary-pos-emb`, or torch_npu.npu_rotary_mul.",
         "Use the fused rotary embedding: no `--no-rope-fusion`; without Megatron compile it."},
    [EK_FAULT_SWIGLU] = {"Use the fused SwiGLU: `use_fused_swiglu: True`.",
                         "Use the fused SwiGLU: `--use-fused-swiglu`, or torch_npu.npu_swiglu.",
                         "Use the fused SwiGLU: no `--no-bias-swiglu-fusion`; without Megatron compile it."},
    [EK_FAULT_CROSS_ENTROPY] = {"Use the fused cross entropy: ops.cross_entropy in graph mode.",
                                "Use the fused cross entropy: `--cross-entropy-loss-fusion`.", NULL},
    [EK_FAULT_TRANSFORMS] = {"Keep one layout and one type between these operators; transpose and cast once.",
                             "Keep one layout and one type between these operators: "
                             "`torch_npu.npu.config.allow_internal_format = False`; make tensors contiguous and cast "
                             "once.",
                             "Keep one layout and one type between these operators: make tensors contiguous and cast "
                             "once."},
    [EK_FAULT_TYPE] = {"Compute these products in 16 bits: `compute_dtype: \"bfloat16\"`.",
                       "Compute these products in 16 bits: `--bf16`, torch.autocast; where they must stay in 32 bits: "
                       "`torch_npu.npu.matmul.allow_hf32 = True`.",
                       "Compute these products in 16 bits: `--bf16`, torch.autocast; where they must stay in 32 bits: "
                       "`torch.backends.cuda.matmul.allow_tf32 = True`."},
    [EK_FAULT_SHAPE] = {"Look at their operands: one that is not contiguous, a format that needs a conversion, memory "
                        "shared with a collective.",
                        NULL, NULL},
};

const char *ek__compute_remedy(const ek__compute *c, ek_compute_fault fault)
{
    const remedy *r = &remedies[fault];
    ek_producer producer = c->run->n_ranks > 0 ? c->run->rank[0].producer : EK_PRODUCER_KINETO;
    const char *npu = r->npu ? r->npu : r->mindspore;
    if (producer == EK_PRODUCER_MINDSPORE)
        return r->mindspore;
    return producer == EK_PRODUCER_KINETO && r->gpu ? r->gpu : npu;
}
