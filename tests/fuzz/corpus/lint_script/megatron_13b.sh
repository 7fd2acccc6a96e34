#!/bin/bash
# A model of 13 billion parameters on 64 devices: 8 nodes, two tensor-parallel ranks, four stages of two chunks each.
#
#   evenkeel memory examples/megatron_13b.sh
set -eu
GPUS_PER_NODE=8
NNODES=8
NODE_RANK=${RANK:-0}
MASTER_ADDR=${MASTER_ADDR:-localhost}

TP=2
PP=4
SEQ_LENGTH=4096

DISTRIBUTED_ARGS=(
    --nproc_per_node "$GPUS_PER_NODE"
    --nnodes "$NNODES"
    --node_rank "$NODE_RANK"
    --master_addr "$MASTER_ADDR"
)

MODEL_ARGS=(
    --num-layers 40
    --hidden-size 5120
    --ffn-hidden-size 13824
    --num-attention-heads 40
    --seq-length "$SEQ_LENGTH"
    --max-position-embeddings "$SEQ_LENGTH"
    --vocab-size 32000
    --position-embedding-type rope
    --normalization RMSNorm
    --swiglu
    --disable-bias-linear
    --untie-embeddings-and-output-weights
    --attention-dropout 0.0
    --hidden-dropout 0.0
    --attention-backend flash
)

PARALLEL_ARGS=(
    --tensor-model-parallel-size "$TP"
    --pipeline-model-parallel-size "$PP"
    --num-layers-per-virtual-pipeline-stage 5
    --sequence-parallel
    --use-distributed-optimizer
    --overlap-grad-reduce
    --overlap-param-gather
)

TRAINING_ARGS=(
    --bf16
    --micro-batch-size 1
    --global-batch-size 256
    --lr 3.0e-4
    --train-iters 100000
    --recompute-granularity full
    --recompute-method block
    --recompute-num-layers 2
)

torchrun "${DISTRIBUTED_ARGS[@]}" pretrain_gpt.py \
    "${MODEL_ARGS[@]}" \
    "${PARALLEL_ARGS[@]}" \
    "${TRAINING_ARGS[@]}" \
    --data-path "$1"
