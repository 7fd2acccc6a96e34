#!/bin/bash
# GPT-3 175B on 1024 A100: tensor 8, pipeline 16, every layer recomputed.
# Shapes: GPT-3 paper, arXiv 2005.14165, table 2.1; vocabulary padded as Megatron does.
# Layout: README of Megatron-LM, tag v3.0: 1536 sequences in 32 s, 138 TFLOP/s a device with what is recomputed.
# Older than fused attention and sequence parallelism. One chunk a stage is that of its script (from memory).
export CUDA_DEVICE_MAX_CONNECTIONS=1
GPUS_PER_NODE=8
NNODES=128

MODEL_ARGS=(
    --num-layers 96
    --hidden-size 12288
    --num-attention-heads 96
    --vocab-size 50257
    --attention-backend unfused
)

PARALLEL_ARGS=(
    --tensor-model-parallel-size 8
    --pipeline-model-parallel-size 16
)

TRAINING_ARGS=(
    --fp16
    --seq-length 2048
    --max-position-embeddings 2048
    --micro-batch-size 1
    --global-batch-size 1536
    --recompute-granularity full
    --recompute-method uniform
    --recompute-num-layers 1
)

torchrun --nproc_per_node "$GPUS_PER_NODE" --nnodes "$NNODES" pretrain_gpt.py \
    "${MODEL_ARGS[@]}" "${PARALLEL_ARGS[@]}" "${TRAINING_ARGS[@]}"
