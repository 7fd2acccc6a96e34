/* Lists the remedies of each fault: a sentence, and the setting of the trace's framework. */
#include "compute/compute_internal.h"

#define NONE_BY_NAME "none by name: see the operators of the evidence"

/* Settings: of MindSpore, of PyTorch on Ascend (Megatron with MindSpeed), of PyTorch on GPU (Megatron). */
typedef struct remedy {
    const char *instead, *mindspore, *npu, *gpu;
} remedy;

static const remedy remedies[EK_N_COMPUTE_FAULTS] = {
    [EK_FAULT_AI_CPU] = {"Use types that the vector units support (INT32 or FLOAT instead of INT64 or DOUBLE), replace "
                         "these operators, or remove them from the step.",
                         NONE_BY_NAME, NONE_BY_NAME, NONE_BY_NAME},
    [EK_FAULT_ATTENTION] = {"Use fused attention, which does not write the scores to memory.",
                            "model.model_config.use_flash_attention: True",
                            "--use-flash-attn  # without Megatron: torch_npu.npu_fusion_attention",
                            "--attention-backend flash  # without Megatron: scaled_dot_product_attention"},
    [EK_FAULT_NORM] = {"Use the fused norm, one pass over the data.", "mindspore.ops.rms_norm or ops.layer_norm",
                       "--use-fused-rmsnorm  # without Megatron: torch_npu.npu_rms_norm",
                       "--transformer-impl transformer_engine  # without Megatron: torch.compile, or torch.nn.RMSNorm"},
    [EK_FAULT_ROPE] = {"Use the fused rotary embedding, one pass over the data.",
                       "model.model_config.use_fused_rope: True  # where the model has it",
                       "--use-fused-rotary-pos-emb  # without Megatron: torch_npu.npu_rotary_mul",
                       "leave out --no-rope-fusion  # without Megatron: torch.compile"},
    [EK_FAULT_SWIGLU] =
        {"Use the fused SwiGLU, one pass over the data.",
         "model.model_config.use_fused_swiglu: True  # where the model has it; else mindspore.ops.swiglu",
         "--use-fused-swiglu  # without Megatron: torch_npu.npu_swiglu",
         "leave out --no-bias-swiglu-fusion  # without Megatron: torch.compile"},
    [EK_FAULT_CROSS_ENTROPY] = {"Use a fused cross entropy, which saves no logarithms.", "mindspore.ops.cross_entropy",
                                "--cross-entropy-loss-fusion",
                                "--cross-entropy-loss-fusion  # without Megatron: torch.compile"},
    [EK_FAULT_TRANSFORMS] =
        {"Use one layout and one type between these operators: transpose, make contiguous and cast only once.",
         NONE_BY_NAME, "torch_npu.npu.config.allow_internal_format = False", NONE_BY_NAME},
    [EK_FAULT_TYPE] = {"Compute these products in 16 bits; for products that need 32 bits enable the reduced-precision "
                       "mode of the matrix unit (HF32, TF32).",
                       "model.model_config.compute_dtype: \"bfloat16\"",
                       "--bf16  # in 32 bits: torch_npu.npu.matmul.allow_hf32 = True",
                       "--bf16  # in 32 bits: torch.backends.cuda.matmul.allow_tf32 = True"},
    [EK_FAULT_SHAPE] = {"Check their operands: a non-contiguous one, a format that needs a conversion, memory "
                        "bandwidth shared with a collective.",
                        "model.model_config.vocab_size  # or the reported side",
                        "--make-vocab-size-divisible-by 128  # or the reported side",
                        "--make-vocab-size-divisible-by 128  # or the reported side"},
};

const char *ek__compute_instead(ek_compute_fault fault)
{
    return remedies[fault].instead;
}

const char *ek__compute_setting(const ek__compute *c, ek_compute_fault fault)
{
    const remedy *r = &remedies[fault];
    ek_producer producer = c->run->n_ranks > 0 ? c->run->rank[0].producer : EK_PRODUCER_KINETO;
    return producer == EK_PRODUCER_MINDSPORE ? r->mindspore : producer == EK_PRODUCER_KINETO ? r->gpu : r->npu;
}
