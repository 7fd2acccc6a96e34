# A run of InternEvo: assignments, one a setting
import os

JOB_NAME = "small"
model_type = "INTERNLM2_PUBLIC"

SEQ_LEN = 2048
HIDDEN_SIZE = 1024
NUM_LAYER = 4 * 4
MLP_RATIO = 8 / 3
FOLDER = os.environ["FOLDER"]

ckpt = dict(
    enable_save_ckpt=False,
    save_ckpt_folder=f"local:{JOB_NAME}/{FOLDER}",
    oss_snapshot_freq=int(50 / 2),
)

data = dict(
    seq_len=SEQ_LEN,
    micro_num=8,  # micro-batches of a step
    micro_bsz=2,
    total_steps=20000,
    rampup_batch_size="",
    train_folder=None,
)

hybrid_zero_optimizer = dict(
    overlap_sync_grad=True,
    overlap_sync_param=False,
    reduce_bucket_size=512 * 1024 * 1024,
    clip_grad_norm=1.0,
)

grad_scaler = dict(fp16=dict(initial_scale=2**16, growth_interval=1000), max_scale=2**24)
lr_scheduler = dict(total_steps=data["total_steps"], warmup_ratio=0.01)

use_fp32_norm = False
model = dict(
    checkpoint=0.5,
    num_chunks=1,
    num_attention_heads=16,
    num_kv_attention_heads=4,
    vocab_size=92544,
    hidden_size=HIDDEN_SIZE,
    num_layers=NUM_LAYER,
    no_bias=True,
    mlp_ratio=MLP_RATIO,
    dtype="torch.bfloat16",
    norm_type="rmsnorm",
    layer_norm_epsilon=1e-5,
    use_flash_attn=True,
)

parallel = dict(
    zero1=dict(size=4, fsdp=False),
    tensor=dict(size=2, mode="msp"),
    pipeline=dict(size=2, interleaved_overlap=True, mode="1f1b"),
    weight=dict(size=1, overlap=True),
)
