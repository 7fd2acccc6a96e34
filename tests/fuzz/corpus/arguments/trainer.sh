ZERO=2
deepspeed --num_gpus 8 main.py --model_name_or_path tiny --per_device_train_batch_size 4 --max_seq_len=512 --zero_stage $ZERO --deepspeed
