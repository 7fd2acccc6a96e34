#!/bin/bash
# Llama 3 70B on 64 H100: tensor 4, pipeline 8 with 5 chunks a stage, matrix products in 8 bits.
# Shapes: Llama 3 paper, arXiv 2407.21783, table 3.
# Layout: NVIDIA Megatron-Bridge, docs/performance-summary-archive.md, 26.02, DGX-H100, FP8: 1621 tokens/s a device.
# Which communication runs behind computing is that of its recipes (from memory).
export CUDA_DEVICE_MAX_CONNECTIONS=1
GPUS_PER_NODE=8
NNODES=8

MODEL_ARGS=(
    --num-layers 80
    --hidden-size 8192
    --ffn-hidden-size 28672
    --num-attention-heads 64
    --group-query-attention
    --num-query-groups 8
    --vocab-size 128256
    --position-embedding-type rope
    --normalization RMSNorm
    --swiglu
    --disable-bias-linear
    --untie-embeddings-and-output-weights
    --attention-dropout 0.0
    --hidden-dropout 0.0
    --attention-backend fused
)

PARALLEL_ARGS=(
    --tensor-model-parallel-size 4
    --sequence-parallel
    --pipeline-model-parallel-size 8
    --num-layers-per-virtual-pipeline-stage 2
    --use-distributed-optimizer
    --overlap-grad-reduce
    --overlap-param-gather
    --tp-comm-overlap
)

TRAINING_ARGS=(
    --bf16
    --grad-reduce-in-bf16
    --fp8-format hybrid
    --fp8-recipe tensorwise
    --cross-entropy-loss-fusion
    --cross-entropy-fusion-impl te
    --seq-length 8192
    --max-position-embeddings 8192
    --micro-batch-size 1
    --global-batch-size 256
)

torchrun --nproc_per_node "$GPUS_PER_NODE" --nnodes "$NNODES" pretrain_gpt.py \
    "${MODEL_ARGS[@]}" "${PARALLEL_ARGS[@]}" "${TRAINING_ARGS[@]}"
