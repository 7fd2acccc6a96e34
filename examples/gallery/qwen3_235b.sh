#!/bin/bash
# Qwen3 235B-A22B on 256 H100: tensor 2, expert 32, pipeline 8 with 4 chunks a stage.
# Shapes: config.json of Qwen/Qwen3-235B-A22B.
# Layout: Megatron-MoE-ModelZoo (yanring), best_practice/Qwen3/readme.md: 2048 sequences in 17.6 s, bfloat16, norms and
# experts' activations recomputed, all-to-all behind computing.
export CUDA_DEVICE_MAX_CONNECTIONS=1
GPUS_PER_NODE=8
NNODES=32

MODEL_ARGS=(
    --num-layers 94
    --hidden-size 4096
    --ffn-hidden-size 12288
    --num-attention-heads 64
    --group-query-attention
    --num-query-groups 4
    --kv-channels 128
    --qk-layernorm
    --vocab-size 151936
    --position-embedding-type rope
    --normalization RMSNorm
    --swiglu
    --disable-bias-linear
    --untie-embeddings-and-output-weights
    --attention-dropout 0.0
    --hidden-dropout 0.0
    --attention-backend fused
    --num-experts 128
    --moe-router-topk 8
    --moe-aux-loss-coeff 1e-3
    --moe-ffn-hidden-size 1536
    --moe-grouped-gemm
    --moe-token-dispatcher-type flex
    --moe-enable-deepep
)

PARALLEL_ARGS=(
    --tensor-model-parallel-size 2
    --sequence-parallel
    --pipeline-model-parallel-size 8
    --num-virtual-stages-per-pipeline-rank 4
    --account-for-embedding-in-pipeline-split
    --account-for-loss-in-pipeline-split
    --expert-model-parallel-size 32
    --expert-tensor-parallel-size 1
    --use-distributed-optimizer
    --overlap-grad-reduce
    --overlap-param-gather
    --tp-comm-overlap
    --overlap-moe-expert-parallel-comm
)

TRAINING_ARGS=(
    --bf16
    --cross-entropy-loss-fusion
    --cross-entropy-fusion-impl te
    --seq-length 4096
    --max-position-embeddings 4096
    --micro-batch-size 1
    --global-batch-size 2048
    --recompute-granularity selective
    --recompute-modules layernorm moe_act
)

torchrun --nproc_per_node "$GPUS_PER_NODE" --nnodes "$NNODES" pretrain_gpt.py \
    "${MODEL_ARGS[@]}" "${PARALLEL_ARGS[@]}" "${TRAINING_ARGS[@]}"
