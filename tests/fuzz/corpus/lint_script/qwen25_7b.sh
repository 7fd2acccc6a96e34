#!/bin/bash
# Qwen2.5-7B on four devices: two tensor-parallel ranks, two stages.
export CUDA_DEVICE_MAX_CONNECTIONS=1
NPUS_PER_NODE=4
NNODES=1
WORLD_SIZE=$(($NPUS_PER_NODE*$NNODES))
DATA_PATH="/data/corpus"
TP=2
PP=${PP:-2}
SEQ_LEN=$((10 * 1024))
MBS=1

DISTRIBUTED_ARGS="
    --worker_num $WORLD_SIZE --local_worker_num $NPUS_PER_NODE
    --log_dir msrun_log
"

GPT_ARGS="
    --use-mcore-models \
    --tensor-model-parallel-size ${TP} \
    --pipeline-model-parallel-size $PP \
    --sequence-parallel \
    --num-layers 28 --hidden-size 3584 \
    --ffn-hidden-size 18944 \
    --num-attention-heads 28 \
    --group-query-attention --num-query-groups 4 \
    --seq-length ${SEQ_LEN} \
    --max-position-embeddings ${SEQ_LEN} \
    --micro-batch-size ${MBS} \
    --global-batch-size 2 \
    --padded-vocab-size 152064 \
    --make-vocab-size-divisible-by 1 \
    --untie-embeddings-and-output-weights \
    --normalization RMSNorm --use-fused-rmsnorm \
    --position-embedding-type rope \
    --swiglu --use-fused-swiglu \
    --disable-bias-linear --add-qkv-bias \
    --attention-dropout 0.0 --hidden-dropout 0.0 \
    --use-flash-attn \
    --bf16
"

# Kept for another day, nothing refers to it.
RECOMPUTE_ARGS=(
    --recompute-granularity full
    --recompute-method block   # the first ones
    --recompute-num-layers 4
)

msrun $DISTRIBUTED_ARGS pretrain_gpt.py $GPT_ARGS --data-path $DATA_PATH | tee logs/train.log
