#!/bin/bash
#SBATCH --nodes=2 --gpus-per-node=a100:8
TP=${TP:-2}
srun torchrun --nproc_per_node 8 --nnodes $SLURM_NNODES p.py --num-layers 8 --hidden-size 512 --num-attention-heads 8 \
    --seq-length 512 --vocab-size 1000 --bf16 --tensor-model-parallel-size "$TP" --micro-batch-size 1 \
    --global-batch-size=64
