#!/bin/bash
# Llama 3 405B on 8192 H100: tensor 8, pipeline 16, without recomputation.
# Shapes and layout: Llama 3 paper, arXiv 2407.21783, tables 3 and 4 (from memory): 430 TFLOP/s a device, MFU 43 %.
# The paper interleaves stages and does not tell the chunks: 8, one layer each, is assumed. So is what overlaps.
export CUDA_DEVICE_MAX_CONNECTIONS=1
GPUS_PER_NODE=8
NNODES=1024

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
    --pipeline-model-parallel-size 16
    --num-virtual-stages-per-pipeline-rank 8
    --account-for-embedding-in-pipeline-split
    --account-for-loss-in-pipeline-split
    --use-distributed-optimizer
    --overlap-grad-reduce
    --overlap-param-gather
)

TRAINING_ARGS=(
    --bf16
    --cross-entropy-loss-fusion
    --cross-entropy-fusion-impl te
    --seq-length 8192
    --max-position-embeddings 8192
    --micro-batch-size 1
    --global-batch-size 2048
)

torchrun --nproc_per_node "$GPUS_PER_NODE" --nnodes "$NNODES" pretrain_gpt.py \
    "${MODEL_ARGS[@]}" "${PARALLEL_ARGS[@]}" "${TRAINING_ARGS[@]}"
