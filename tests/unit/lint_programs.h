/* Cases of the rules on scripts and programs, beside the examples that the rules bring themselves: texts that fire, and
 * near misses, which look like it and are not. tests/unit/test_lint.c wants a near miss for every rule. */
#ifndef LINT_PROGRAMS_H
#define LINT_PROGRAMS_H

#include <stdbool.h>

#include "evenkeel/lint.h"

typedef struct program_case {
    const char *id;
    ek_lint_kind kind;
    int n; /* findings of this rule; 0: a near miss */
    const char *what, *text;
} program_case;

#define MS   "import mindspore as ms\n"
#define LOOP "for step, data in enumerate(dataset):\n    loss = train_step(data)\n"
#define CELL "import mindspore as ms\nclass Net(ms.nn.Cell):\n    def construct(self, x):\n"

static const program_case program_cases[] = {
    /* variables */
    {"deterministic", EK_LINT_SHELL, 0, "false", "export HCCL_DETERMINISTIC=false\nmsrun x.py\n"},
    {"deterministic", EK_LINT_SHELL, 0, "taken away again",
     "export HCCL_DETERMINISTIC=true\nunset HCCL_DETERMINISTIC\nmsrun x.py\n"},
    {"deterministic", EK_LINT_SHELL, 0, "in a here-document", "cat <<EOF\nexport HCCL_DETERMINISTIC=true\nEOF\n"},
    {"deterministic", EK_LINT_SHELL, 0, "in a comment", "# export HCCL_DETERMINISTIC=true\nmsrun x.py\n"},
    {"deterministic", EK_LINT_SHELL, 3, "exported, for a command, for env",
     "export HCCL_DETERMINISTIC=TRUE\nLCCL_DETERMINISTIC=1 python x.py\nenv NVTE_ALLOW_NONDETERMINISTIC_ALGO=0 python "
     "x\n"},
    {"deterministic", EK_LINT_PYTHON, 2, "items of os.environ",
     "import os\nfrom os import environ as e\nos.environ['HCCL_DETERMINISTIC'] = 'true'\ne[\"LCCL_DETERMINISTIC\"] = "
     "'1'\n"},
    {"deterministic", EK_LINT_PYTHON, 0, "another dictionary", "env = {}\nenv['HCCL_DETERMINISTIC'] = 'true'\n"},
    {"deterministic", EK_LINT_PYTHON, 0, "only read", "import os\nx = os.environ['HCCL_DETERMINISTIC'] == 'true'\n"},
    {"synchronous-launch", EK_LINT_SHELL, 0, "another number", "export ASCEND_LAUNCH_BLOCKING=0\n"},
    {"synchronous-launch", EK_LINT_SHELL, 0, "a name that begins like it", "export ASCEND_LAUNCH_BLOCKING_X=1\n"},
    {"synchronous-launch", EK_LINT_SHELL, 1, "a plain file of variables", "CUDA_LAUNCH_BLOCKING=1\nOTHER=2\n"},
    {"save-graphs", EK_LINT_SHELL, 0, "the folder for them", "export MS_DEV_SAVE_GRAPHS_PATH=1\n"},
    {"save-graphs", EK_LINT_PYTHON, 1, "setdefault", "import os\nos.environ.setdefault('MS_DEV_SAVE_GRAPHS', '2')\n"},
    {"debug-log", EK_LINT_SHELL, 0, "warnings only", "export NCCL_DEBUG=WARN GLOG_v=3\n"},
    {"debug-log", EK_LINT_SHELL, 2, "through mpirun, and an argument of the script with this default",
     "export GLOG_v=${GLOG_v:-0}\nmpirun -x NCCL_DEBUG=INFO -np 8 python x.py\n"},
    {"allocator-settings-twice", EK_LINT_SHELL, 0, "the second has what the first has",
     "export MS_ALLOC_CONF=enable_vmm:True\nexport MS_ALLOC_CONF=$MS_ALLOC_CONF,vmm_align_size:2MB\n"},
    {"allocator-settings-twice", EK_LINT_SHELL, 0, "each for its own command",
     "MS_ALLOC_CONF=enable_vmm:True python a.py\nMS_ALLOC_CONF=memory_tracker:True python b.py\n"},
    {"allocator-settings-twice", EK_LINT_SHELL, 0, "one under a condition",
     "export MS_ALLOC_CONF=enable_vmm:True\nif [ $D ]; then export MS_ALLOC_CONF=memory_tracker:True; fi\n"},
    {"allocator-settings-twice", EK_LINT_SHELL, 0, "only where there is none",
     "export MS_ALLOC_CONF=enable_vmm:True\nexport MS_ALLOC_CONF=${MS_ALLOC_CONF:-memory_tracker:True}\n"},
    {"allocator-settings-twice", EK_LINT_SHELL, 1, "PyTorch's",
     "export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True\nexport PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:128\n"},
    {"allocator-settings-twice", EK_LINT_PYTHON, 1, "items and update",
     "import os\nos.environ['MS_ALLOC_CONF'] = 'enable_vmm:True'\nos.environ.update({'MS_ALLOC_CONF': "
     "'vmm_align_size:2'})\n"},
    {"allocator-settings-form", EK_LINT_SHELL, 0, "known keys, blanks, a comma too many",
     "export MS_ALLOC_CONF=\"enable_vmm:True, vmm_align_size:2MB,\"\n"},
    {"allocator-settings-form", EK_LINT_SHELL, 2, "a sign, an unknown key",
     "export MS_ALLOC_CONF=\"enable_vmm=True,memory_traker:True\"\n"},
    {"allocator-settings-form", EK_LINT_SHELL, 0, "not known without running", "export MS_ALLOC_CONF=$(cat conf)\n"},
    {"virtual-memory-off", EK_LINT_SHELL, 0, "lower case and on", "export MS_ALLOC_CONF=enable_vmm:true\n"},
    {"virtual-memory-off", EK_LINT_SHELL, 1, "lower case and off",
     "export MS_ALLOC_CONF=memory_tracker:False,enable_vmm:false\n"},
    {"virtual-memory-unset", EK_LINT_SHELL, 0, "no list at all", "export OTHER=1\n"},
    {"virtual-memory-unset", EK_LINT_SHELL, 0, "the last list has it",
     "export MS_ALLOC_CONF=vmm_align_size:2\nexport MS_ALLOC_CONF=vmm_align_size:2,enable_vmm:True\n"},
    {"memory-tracker-on", EK_LINT_SHELL, 0, "off", "export MS_ALLOC_CONF=memory_tracker:False\n"},
    {"memory-tracker-on", EK_LINT_PYTHON, 1, "putenv",
     "import os\nos.putenv('MS_ALLOC_CONF', 'memory_tracker:True')\n"},
    {"simulation-left-on", EK_LINT_SHELL, 0, "unset before the launcher",
     "export MS_SIMULATION_LEVEL=1\npython x.py\nunset MS_SIMULATION_LEVEL\nmsrun x.py\n"},
    {"simulation-left-on", EK_LINT_SHELL, 0, "the launcher comes first", "msrun x.py\nexport MS_SIMULATION_LEVEL=1\n"},
    {"simulation-left-on", EK_LINT_SHELL, 1, "kernels are skipped", "export MS_KERNEL_LAUNCH_SKIP=all\nmsrun x.py\n"},
    {"simulation-left-on", EK_LINT_SHELL, 1, "a launcher by its path",
     "export MS_SIMULATION_LEVEL=0\n/opt/bin/torchrun x\n"},
    {"variable-not-exported", EK_LINT_SHELL, 0, "exported further down",
     "NCCL_DEBUG=WARN\nexport NCCL_DEBUG\npython x.py\n"},
    {"variable-not-exported", EK_LINT_SHELL, 0, "set -a", "set -a\nNCCL_DEBUG=WARN\nset +a\npython x.py\n"},
    {"variable-not-exported", EK_LINT_SHELL, 0, "a file of variables", "NCCL_DEBUG=WARN\n"},
    {"variable-not-exported", EK_LINT_SHELL, 0, "a variable of the script", "WORLD_SIZE=8\npython x.py\n"},
    {"cuda-connections", EK_LINT_SHELL, 0, "tensor parallelism of one",
     "torchrun x.py --tensor-model-parallel-size 1\n"},
    {"cuda-connections", EK_LINT_SHELL, 1, "another number",
     "export CUDA_DEVICE_MAX_CONNECTIONS=32\ntorchrun x.py --tensor-model-parallel-size=2\n"},
    {"cuda-connections", EK_LINT_SHELL, 0, "a number of the script's own",
     "export CUDA_DEVICE_MAX_CONNECTIONS=$1\ntorchrun x.py --tensor-model-parallel-size 2\n"},
    /* what a program switches on */
    {"deterministic", EK_LINT_PYTHON, 0, "another module's function",
     "from mine import set_context\nset_context(deterministic='ON')\n"},
    {"deterministic", EK_LINT_PYTHON, 0, "a value that is not written out", MS "ms.set_context(deterministic=mode)\n"},
    {"deterministic", EK_LINT_PYTHON, 0, "in a string", MS "x = \"ms.set_context(deterministic='ON')\"\n"},
    {"deterministic", EK_LINT_PYTHON, 4, "under any name",
     "import mindspore as ms, torch\nfrom mindspore import context as c, set_context as s\nms.set_deterministic(True)\n"
     "c.set_context(mode=1,\n  deterministic=('ON'))\ns(deterministic=\"ON\")\ntorch.backends.cudnn.deterministic = "
     "True\n"},
    {"synchronous-launch", EK_LINT_PYTHON, 0, "off", MS "ms.set_context(pynative_synchronize=False)\n"},
    {"synchronous-launch", EK_LINT_PYTHON, 1, "by the function for it", MS "ms.runtime.launch_blocking()\n"},
    {"save-graphs", EK_LINT_PYTHON, 0, "level 0 and a folder",
     MS "ms.set_context(save_graphs=0, save_graphs_path='g')\n"},
    {"save-graphs", EK_LINT_PYTHON, 1, "True", MS "ms.set_context(save_graphs=True)\n"},
    {"anomaly-detection", EK_LINT_PYTHON, 0, "a function of the program's own",
     "def detect_anomaly():\n    pass\ndetect_anomaly()\n"},
    {"anomaly-detection", EK_LINT_PYTHON, 1, "as a context",
     "from torch import autograd\nwith autograd.detect_anomaly():\n    pass\n"},
    {"full-batch", EK_LINT_PYTHON, 0, "False", MS "ms.set_auto_parallel_context(full_batch=False)\n"},
    {"zero-shard-size", EK_LINT_PYTHON, 0, "a size that is worked out",
     "initialize_model_parallel(zero_shard_size=n // 2)\n"},
    {"zero-shard-size", EK_LINT_PYTHON, 0, "the default", "mpu.initialize_model_parallel(zero_shard_size=-1)\n"},
    {"zero-shard-size", EK_LINT_PYTHON, 1, "zero", "mpu.initialize_model_parallel(zero_shard_size=0)\n"},
    {"jit-level", EK_LINT_PYTHON, 1, "no fusion", MS "net.set_jit_config(ms.JitConfig('O0'))\n"},
    {"jit-level", EK_LINT_PYTHON, 0, "the level above", MS "net.set_jit_config(ms.JitConfig(jit_level='O1'))\n"},
    {"jit-level", EK_LINT_PYTHON, 0, "another module's", "from mine import JitConfig\nJitConfig('O0')\n"},
    {"max-device-memory", EK_LINT_PYTHON, 1, "a GB too much", MS "ms.set_context(max_device_memory='59GB')\n"},
    {"max-device-memory", EK_LINT_PYTHON, 0, "what is advised", MS "ms.set_context(max_device_memory='58GB')\n"},
    {"max-device-memory", EK_LINT_PYTHON, 0, "a larger device", MS "ms.set_context(max_device_memory='90GB')\n"},
    {"profile-steps", EK_LINT_PYTHON, 0, "steps 3 to 6",
     "import torch\ntorch.profiler.schedule(wait=1, warmup=1, active=4)\n"},
    {"profile-steps", EK_LINT_PYTHON, 0, "numbers that are not written out",
     "import torch\ntorch.profiler.schedule(wait=w, warmup=1, active=9)\n"},
    {"profile-steps", EK_LINT_PYTHON, 0, "another schedule", "import sched\nsched.schedule(wait=0, active=20)\n"},
    {"profile-steps", EK_LINT_PYTHON, 1, "five steps from the third on",
     "import torch\ntorch.profiler.schedule(wait=1, warmup=1, active=5)\n"},
    {"profile-steps", EK_LINT_PYTHON, 2, "the defaults of a monitor, 1 to 10", "cb = ProfileMonitor()\n"},
    {"profile-steps", EK_LINT_PYTHON, 0, "by places", "cb = ProfileMonitor(5, 6)\n"},
    {"profile-every-step", EK_LINT_PYTHON, 0, "under a condition", MS "if args.profile:\n    p = ms.Profiler()\n"},
    {"profile-every-step", EK_LINT_PYTHON, 0, "with a schedule",
     "import torch\np = torch.profiler.profile(schedule=s)\n"},
    {"profile-every-step", EK_LINT_PYTHON, 1, "PyTorch's",
     "from torch.profiler import profile\nwith profile(record_shapes=True) as p:\n    pass\n"},
    {"loader-without-workers", EK_LINT_PYTHON, 0, "arguments that are not written out",
     "from torch.utils.data import DataLoader\nDataLoader(d, **options)\n"},
    {"loader-without-workers", EK_LINT_PYTHON, 1, "0 workers",
     "import torch\ntorch.utils.data.DataLoader(d, num_workers=0)\n"},
    /* what runs in every step */
    {"contiguous-unasked", EK_LINT_PYTHON, 0, "asked in the same expression",
     CELL "        return x.contiguous() if not x.is_contiguous() else x\n"},
    {"contiguous-unasked", EK_LINT_PYTHON, 0, "asked, and done with",
     CELL "        if x.is_contiguous():\n            return x\n        return x.contiguous()\n"},
    {"contiguous-unasked", EK_LINT_PYTHON, 1, "something else was asked",
     CELL "        if not y.is_contiguous():\n            x = x.contiguous()\n"},
    {"contiguous-unasked", EK_LINT_PYTHON, 0, "once, at the start", MS "w = w.t().contiguous()\n"},
    {"contiguous-unasked", EK_LINT_PYTHON, 0, "a program for something else",
     "class N:\n    def forward(self, x):\n        return x.contiguous()\n"},
    {"contiguous-unasked", EK_LINT_PYTHON, 1, "of an expression",
     CELL "        return self.f(x[0].swapaxes(0, 1)\n                 .contiguous())\n"},
    {"python-sum", EK_LINT_PYTHON, 0, "sizes", CELL "        return sum(p.numel() for p in self.parameters())\n"},
    {"python-sum", EK_LINT_PYTHON, 0, "not in every step", MS "total = losses.sum()\n"},
    {"python-sum", EK_LINT_PYTHON, 0, "NumPy's", "import numpy as np\n" CELL "        return np.sum(self.sizes)\n"},
    {"python-sum", EK_LINT_PYTHON, 2, "both kinds in a loop that trains",
     MS LOOP "    a = sum(losses)\n    b = (loss * mask).sum(-1)\n"},
    {"numpy-copied", EK_LINT_PYTHON, 0, "once",
     "import numpy as np\nfrom mindspore import Tensor\nw = Tensor(np.ones(3))\n"},
    {"numpy-copied", EK_LINT_PYTHON, 0, "a list", "from mindspore import Tensor\n" LOOP "    x = Tensor([1, 2])\n"},
    {"numpy-copied", EK_LINT_PYTHON, 0, "another Tensor",
     "import numpy as np\nfrom mine import Tensor\n" LOOP "    x = Tensor(np.ones(3))\n"},
    {"numpy-copied", EK_LINT_PYTHON, 0, "a name that is a tensor by then",
     "import numpy as np\nimport torch\n" LOOP "    a = np.ones(3)\n    a = f(a)\n    x = torch.tensor(a)\n"},
    {"numpy-copied", EK_LINT_PYTHON, 2, "by a name, by a method",
     "import numpy as np\nimport torch\n" LOOP
     "    a = np.ones(3)\n    x = torch.tensor(a, dtype=t)\n    y = torch.tensor(z.numpy())\n"},
    {"device-waited-for", EK_LINT_PYTHON, 0, "every hundredth step",
     LOOP "    if step % 100 == 0:\n        f(loss.item())\n"},
    {"device-waited-for", EK_LINT_PYTHON, 0, "by a word for an interval",
     LOOP "    if step == next_log_interval: f(loss.item())\n"},
    {"device-waited-for", EK_LINT_PYTHON, 0, "after the loop", LOOP "f(loss.item())\n"},
    {"device-waited-for", EK_LINT_PYTHON, 0, "in the loop over epochs around it",
     "for e in range(9):\n    for data in dataset:\n        loss.backward()\n    f(loss.item())\n"},
    {"device-waited-for", EK_LINT_PYTHON, 0, "in a loop that does not train", "for x in xs:\n    f(x.item())\n"},
    {"device-waited-for", EK_LINT_PYTHON, 0, "a function that is only made there",
     LOOP "    def g():\n        return loss.item()\n"},
    {"device-waited-for", EK_LINT_PYTHON, 0, "with an argument, of a dictionary",
     LOOP "    f(table.item('a'), d.items())\n"},
    {"device-waited-for", EK_LINT_PYTHON, 4, "in an f-string, under another condition, in a while, by function",
     "import torch\nwhile loss.item() > 1:\n    optimizer.step()\n    print(f'{loss.item():.3f}')\n    if rank == 0: "
     "x.cpu()\n"
     "    torch.cuda.synchronize()\n"},
    {"tensor-printed", EK_LINT_PYTHON, 0, "every hundredth step", LOOP "    if not step % 100: print(loss)\n"},
    {"tensor-printed", EK_LINT_PYTHON, 0, "something else", LOOP "    print('loss', step, loss.shape)\n"},
    {"tensor-printed", EK_LINT_PYTHON, 1, "what backward() is called on",
     "for d in ds:\n    l = f(d)\n    l.backward()\n    print('l', l)\n"},
    {"tensor-printed", EK_LINT_PYTHON, 1, "one of several",
     "for d in ds:\n    (l, _), g = grad_fn(d)\n    print(step, l)\n"},
    {"gc-every-step", EK_LINT_PYTHON, 0, "every 500 steps",
     "import gc\n" LOOP "    if step % 500 == 0:\n        gc.collect()\n"},
    {"gc-every-step", EK_LINT_PYTHON, 0, "once", "import gc\ngc.collect()\n" LOOP},
    {"gc-every-step", EK_LINT_PYTHON, 1, "by its own name", "from gc import collect\n" LOOP "    collect()\n"},
    {"gc-never", EK_LINT_PYTHON, 0, "on again later", "import gc\ngc.disable()\n" LOOP "gc.enable()\n"},
    {"gc-never", EK_LINT_PYTHON, 0, "on again when a test ends",
     "import gc\nclass T(TestCase):\n    def test(self):\n        gc.disable()\n        self.addCleanup(gc.enable)\n"},
    {"gc-never", EK_LINT_PYTHON, 1, "of another object's collect",
     "import gc\ngc.disable()\n" LOOP "    x.collect()\n"},
    {"gc-never", EK_LINT_PYTHON, 0, "something else is disabled", "import gx as gc\ngc.disable()\n"},
    {"bprop-keeps-inputs", EK_LINT_PYTHON, 0, "a function, no method", "def bprop(x, out, dout):\n    return dout\n"},
    {"bprop-keeps-inputs", EK_LINT_PYTHON, 0, "told as an attribute of the class",
     "class A(Cell):\n    used_bprop_inputs = []\n    def bprop(self, x, out, dout):\n        return dout\n"},
    {"bprop-keeps-inputs", EK_LINT_PYTHON, 1, "another class tells",
     "class A(Cell):\n    def bprop(self, *a): return a[-1]\nclass B(Cell):\n    def __init__(self): "
     "self.used_bprop_inputs = [2]\n"},
};
enum { N_PROGRAM_CASES = sizeof program_cases / sizeof *program_cases };

#undef MS
#undef LOOP
#undef CELL

#endif
