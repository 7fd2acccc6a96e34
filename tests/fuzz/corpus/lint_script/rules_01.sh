export NCCL_DEBUG=INFO
torchrun train.py

export NCCL_DEBUG=WARN
torchrun train.py

export MS_ALLOC_CONF="enable_vmm:True,memory_tracker:True"

export MS_ALLOC_CONF="enable_vmm:True"

export MS_SIMULATION_LEVEL=1
msrun --worker_num=8 run_mindformer.py

export MS_SIMULATION_LEVEL=1
python run_mindformer.py

MS_ALLOC_CONF="enable_vmm:True"
msrun train.py

export MS_ALLOC_CONF="enable_vmm:True"
msrun train.py
