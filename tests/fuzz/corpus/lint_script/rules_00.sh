export MS_ALLOC_CONF=enable_vmm=True

export MS_ALLOC_CONF=enable_vmm:True

export MS_ALLOC_CONF="enable_vmm:True"
export MS_ALLOC_CONF="vmm_align_size:2MB"

export MS_ALLOC_CONF="enable_vmm:True,vmm_align_size:2MB"

--num-layers 32 --hidden-size 4096 --num-attention-heads 32 --seq-length 4096 --max-position-embeddings 4096
--micro-batch-size 1 --global-batch-size 64 --padded-vocab-size 32000 --use-flash-attn
--tensor-model-parallel-size 2 --sequence-parallel
--tensor-model-parallel-size 4

--num-layers 32 --hidden-size 4096 --num-attention-heads 32 --seq-length 4096 --max-position-embeddings 4096
--micro-batch-size 1 --global-batch-size 64 --padded-vocab-size 32000 --use-flash-attn
--tensor-model-parallel-size 2 --sequence-parallel
--tensor-model-parallel-size 2

torchrun pretrain_gpt.py --tensor-model-parallel-size 8 --sequence-parallel \
    --num-layers 32 --hidden-size 4096 --num-attention-heads 32 --seq-length 4096 \
    --max-position-embeddings 4096 --padded-vocab-size 32000 --micro-batch-size 1 \
    --global-batch-size 64 --use-flash-attn

export CUDA_DEVICE_MAX_CONNECTIONS=1
torchrun pretrain_gpt.py --tensor-model-parallel-size 8 --sequence-parallel \
    --num-layers 32 --hidden-size 4096 --num-attention-heads 32 --seq-length 4096 \
    --max-position-embeddings 4096 --padded-vocab-size 32000 --micro-batch-size 1 \
    --global-batch-size 64 --use-flash-attn
