import torch
torch.autograd.set_detect_anomaly(True)

import torch
torch.autograd.set_detect_anomaly(False)

class Scatter(nn.Cell):
    def __init__(self):
        super().__init__()
    def bprop(self, x, out, dout):
        return (gather(dout),)

class Scatter(nn.Cell):
    def __init__(self):
        super().__init__()
        self.used_bprop_inputs = [2]
    def bprop(self, x, out, dout):
        return (gather(dout),)

import mindspore as ms
class Net(ms.nn.Cell):
    def construct(self, x):
        return self.dense(x.swapaxes(0, 1).contiguous())

import mindspore as ms
class Net(ms.nn.Cell):
    def construct(self, x):
        if not x.is_contiguous():
            x = x.contiguous()
        return self.dense(x)

for data, label in dataset:
    loss = train_step(data, label)
    total += loss.asnumpy()

for step, (data, label) in enumerate(dataset):
    loss = train_step(data, label)
    if step % 100 == 0:
        log(loss.asnumpy())
