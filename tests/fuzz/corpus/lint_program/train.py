#!/usr/bin/env python3
"""A training loop with everything that rules look at."""
import gc
import os
import numpy as np
import mindspore as ms
from mindspore import Tensor, mint, nn as layers

os.environ["MS_ALLOC_CONF"] = "enable_vmm:True"
os.environ.setdefault('HCCL_DETERMINISTIC', r"true")
os.environ.update({"A": "B", "C": str(1)})
ms.set_context(deterministic='ON', pynative_synchronize=(True), device_id=-1)


class Net(layers.Cell):
    def __init__(self, size: int = 0x10):
        super().__init__()
        self.used_bprop_inputs = [2]

    @ms.jit
    def construct(self, x, *args, **kw):
        if not x.is_contiguous():
            x = x.contiguous()
        return x.swapaxes(0, 1).contiguous() if args else lambda y: y.sum()

    def bprop(self, *args):
        return (args[-1],)


def train(steps):
    for step, (data, label) in enumerate(dataset):
        loss = train_step(Tensor(np.array(data)), label)
        if step % 100 == 0: gc.collect(); print(f"{step:>{8}} {loss.asnumpy()!r}")
        while loss.item() > 1e-3: break
    else:
        pass
    match steps:
        case [1, 2]:
            a = b = c = 1_000
    x: int = 5; y += """three
lines""" 'joined' \
        b"bytes"
