torchrun --nproc-per-node 4 pretrain_gpt.py --num-layers 8 --hidden-size 64 --num-attention-heads 4 --seq-length 8192 \
    --micro-batch-size 1 --global-batch-size 8 --vocab-size 100 --pipeline-model-parallel-size 2 --bf16 \
    --tensor-model-parallel-size 2 --recompute-granularity full --recompute-method uniform --recompute-num-layers 1
