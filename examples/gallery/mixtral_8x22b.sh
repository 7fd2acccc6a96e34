#!/bin/bash
# Mixtral 8x22B on 128 H100: tensor 2, expert 8, pipeline 8.
# Shapes: config.json of mistralai/Mixtral-8x22B-v0.1 (from memory).
# Layout: Megatron-MoE-ModelZoo (yanring), runtime_configs/benchmarking/runtime.conf; best_practice/Mixtral has about
# 455 TFLOP/s a device without dropped tokens.
export CUDA_DEVICE_MAX_CONNECTIONS=1
GPUS_PER_NODE=8
NNODES=16

MODEL_ARGS=(
    --num-layers 56
    --hidden-size 6144
    --ffn-hidden-size 16384
    --num-attention-heads 48
    --group-query-attention
    --num-query-groups 8
    --vocab-size 32768
    --position-embedding-type rope
    --normalization RMSNorm
    --swiglu
    --disable-bias-linear
    --untie-embeddings-and-output-weights
    --attention-dropout 0.0
    --hidden-dropout 0.0
    --attention-backend fused
    --num-experts 8
    --moe-router-topk 2
    --moe-aux-loss-coeff 1e-2
    --moe-grouped-gemm
    --moe-token-dispatcher-type alltoall
)

PARALLEL_ARGS=(
    --tensor-model-parallel-size 2
    --sequence-parallel
    --pipeline-model-parallel-size 8
    --expert-model-parallel-size 8
    --expert-tensor-parallel-size 1
    --tp-comm-overlap
    --use-distributed-optimizer
    --overlap-grad-reduce
    --overlap-param-gather
)

TRAINING_ARGS=(
    --bf16
    --cross-entropy-loss-fusion
    --seq-length 4096
    --max-position-embeddings 4096
    --micro-batch-size 1
    --global-batch-size 256
)

torchrun --nproc_per_node "$GPUS_PER_NODE" --nnodes "$NNODES" pretrain_gpt.py \
    "${MODEL_ARGS[@]}" "${PARALLEL_ARGS[@]}" "${TRAINING_ARGS[@]}"
