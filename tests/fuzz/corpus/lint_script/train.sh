#!/bin/bash
set -e
export MS_ALLOC_CONF="enable_vmm:True,memory_tracker:True"
export MS_ALLOC_CONF=${MS_ALLOC_CONF:-"enable_vmm:True"} HCCL_DETERMINISTIC=true
ASCEND_LAUNCH_BLOCKING=1 python train.py
GBS=$((8 << 2))
if [ -n "$DEBUG" ]; then
    export MS_DEV_SAVE_GRAPHS=1
fi
[ -z "$X" ] && export X=1
cat > env.sh <<-'EOT'
	export CUDA_LAUNCH_BLOCKING=1
	EOT
ARGS="
    --tensor-model-parallel-size 8
    --sequence-parallel
"
env A=B torchrun --nproc_per_node=8 $ARGS \
    pretrain_gpt.py
mpirun -x NCCL_DEBUG=INFO -np 8 python x.py
unset MS_DEV_SAVE_GRAPHS
