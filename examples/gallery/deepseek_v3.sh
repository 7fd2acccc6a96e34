#!/bin/bash
# DeepSeek-V3 671B on 2048 H800: expert 64, pipeline 16 in the order DualPipe, matrix products in 8 bits.
# Shapes and layout: DeepSeek-V3 report, arXiv 2412.19437, sections 3 and 4.2 (from memory): 180 000 device hours for
# 10^12 tokens, which are 1543 tokens/s a device; batches of 15360 sequences. No argument of Megatron means DualPipe:
# give --schedule dualpipe. Layers on the stages are assumed.
export CUDA_DEVICE_MAX_CONNECTIONS=1
GPUS_PER_NODE=8
NNODES=256

MODEL_ARGS=(
    --num-layers 61
    --hidden-size 7168
    --ffn-hidden-size 18432
    --num-attention-heads 128
    --multi-latent-attention
    --q-lora-rank 1536
    --kv-lora-rank 512
    --qk-head-dim 128
    --qk-pos-emb-head-dim 64
    --v-head-dim 128
    --qk-layernorm
    --vocab-size 129280
    --position-embedding-type rope
    --normalization RMSNorm
    --swiglu
    --disable-bias-linear
    --untie-embeddings-and-output-weights
    --attention-dropout 0.0
    --hidden-dropout 0.0
    --attention-backend fused
    --num-experts 256
    --moe-router-topk 8
    --moe-router-enable-expert-bias
    --moe-router-dtype fp32
    --moe-ffn-hidden-size 2048
    --moe-shared-expert-intermediate-size 2048
    --moe-layer-freq "([0]*3+[1]*58)"
    --moe-grouped-gemm
    --moe-router-num-groups 8
    --moe-router-group-topk 4
    --moe-token-dispatcher-type flex
    --moe-enable-deepep
    --mtp-num-layers 1
)

PARALLEL_ARGS=(
    --tensor-model-parallel-size 1
    --pipeline-model-parallel-size 16
    --decoder-first-pipeline-num-layers 4
    --decoder-last-pipeline-num-layers 1
    --expert-model-parallel-size 64
    --use-distributed-optimizer
    --overlap-grad-reduce
    --overlap-param-gather
    --overlap-moe-expert-parallel-comm
)

TRAINING_ARGS=(
    --bf16
    --fp8-format e4m3
    --fp8-recipe blockwise
    --use-precision-aware-optimizer
    --exp-avg-dtype bf16
    --exp-avg-sq-dtype bf16
    --cross-entropy-loss-fusion
    --seq-length 4096
    --max-position-embeddings 4096
    --micro-batch-size 1
    --global-batch-size 15360
    --recompute-granularity selective
    --recompute-modules layernorm mla_up_proj moe_act
)

torchrun --nproc_per_node "$GPUS_PER_NODE" --nnodes "$NNODES" pretrain_gpt.py \
    "${MODEL_ARGS[@]}" "${PARALLEL_ARGS[@]}" "${TRAINING_ARGS[@]}"
