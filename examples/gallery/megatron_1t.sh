#!/bin/bash
# A GPT of 1008 billion parameters on 3072 A100: tensor 8, pipeline 64, every layer recomputed.
# Shapes and layout: Narayanan et al., SC 2021, arXiv 2104.04473, table 1, last row (from memory): 3072 sequences,
# 163 TFLOP/s a device with what is recomputed, 52 % of the peak.
# Micro-batches of one sequence and one chunk a stage are assumed.
export CUDA_DEVICE_MAX_CONNECTIONS=1
GPUS_PER_NODE=8
NNODES=384

MODEL_ARGS=(
    --num-layers 128
    --hidden-size 25600
    --num-attention-heads 160
    --vocab-size 50257
    --attention-backend unfused
)

PARALLEL_ARGS=(
    --tensor-model-parallel-size 8
    --pipeline-model-parallel-size 64
)

TRAINING_ARGS=(
    --fp16
    --seq-length 2048
    --max-position-embeddings 2048
    --micro-batch-size 1
    --global-batch-size 3072
    --recompute-granularity full
    --recompute-method uniform
    --recompute-num-layers 1
)

torchrun --nproc_per_node "$GPUS_PER_NODE" --nnodes "$NNODES" pretrain_gpt.py \
    "${MODEL_ARGS[@]}" "${PARALLEL_ARGS[@]}" "${TRAINING_ARGS[@]}"
