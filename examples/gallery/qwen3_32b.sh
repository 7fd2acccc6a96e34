#!/bin/bash
# Qwen3 32B on 64 Ascend 910B: tensor 8, pipeline 2 with 8 chunks a stage.
# Shapes: config.json of Qwen/Qwen3-32B.
# Layout: MindSpeed-LLM, examples/mcore/qwen3/pretrain_qwen3_32b_ptd.sh, for 16 devices; its variable GBS is 128
# sequences. Here 4 times as many of both by data parallelism. No speed is published with it.
export CUDA_DEVICE_MAX_CONNECTIONS=1
NPUS_PER_NODE=8
NNODES=8

MODEL_ARGS=(
    --num-layers 64
    --hidden-size 5120
    --ffn-hidden-size 25600
    --num-attention-heads 64
    --group-query-attention
    --num-query-groups 8
    --kv-channels 128
    --qk-layernorm
    --padded-vocab-size 151936
    --position-embedding-type rope
    --normalization RMSNorm
    --swiglu
    --use-fused-swiglu
    --use-fused-rmsnorm
    --use-flash-attn
    --disable-bias-linear
    --untie-embeddings-and-output-weights
    --attention-dropout 0.0
    --hidden-dropout 0.0
)

PARALLEL_ARGS=(
    --tensor-model-parallel-size 8
    --sequence-parallel
    --pipeline-model-parallel-size 2
    --num-layers-per-virtual-pipeline-stage 4
    --use-distributed-optimizer
    --overlap-grad-reduce
    --overlap-param-gather
)

TRAINING_ARGS=(
    --bf16
    --no-gradient-accumulation-fusion
    --seq-length 4096
    --max-position-embeddings 4096
    --micro-batch-size 1
    --global-batch-size 512
)

torchrun --nproc_per_node "$NPUS_PER_NODE" --nnodes "$NNODES" pretrain_gpt.py \
    "${MODEL_ARGS[@]}" "${PARALLEL_ARGS[@]}" "${TRAINING_ARGS[@]}"
