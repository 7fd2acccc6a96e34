export MS_ALLOC_CONF="enable_vmm:False"

export MS_ALLOC_CONF="enable_vmm:True"

export MS_ALLOC_CONF="vmm_align_size:2MB"

export MS_ALLOC_CONF="enable_vmm:True,vmm_align_size:2MB"
