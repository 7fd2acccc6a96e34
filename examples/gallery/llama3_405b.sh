#!/bin/bash
# Llama 3.1 405B on 1024 H100: tensor 8, context 2, pipeline 8 with 8 chunks a stage, matrix products in 8 bits.
# Shapes: Llama 3 paper, arXiv 2407.21783, table 3.
# Layout: NVIDIA Megatron-Bridge, docs/performance-summary-archive.md, 26.02, DGX-H100, FP8: 311 tokens/s a device.
# Which communication runs behind computing is that of its recipes (from memory).
export CUDA_DEVICE_MAX_CONNECTIONS=1
GPUS_PER_NODE=8
NNODES=128

MODEL_ARGS=(
    --num-layers 126
    --hidden-size 16384
    --ffn-hidden-size 53248
    --num-attention-heads 128
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
    --tensor-model-parallel-size 8
    --sequence-parallel
    --context-parallel-size 2
    --pipeline-model-parallel-size 8
    --num-virtual-stages-per-pipeline-rank 8
    --account-for-embedding-in-pipeline-split
    --account-for-loss-in-pipeline-split
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
    --global-batch-size 1536
)

torchrun --nproc_per_node "$GPUS_PER_NODE" --nnodes "$NNODES" pretrain_gpt.py \
    "${MODEL_ARGS[@]}" "${PARALLEL_ARGS[@]}" "${TRAINING_ARGS[@]}"
