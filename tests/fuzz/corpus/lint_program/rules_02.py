import mindspore as ms
profiler = ms.Profiler(output_path='./profile')

import mindspore as ms
profiler = ms.Profiler(start_profile=False, output_path='./profile')

import mindspore as ms
class Net(ms.nn.Cell):
    def construct(self, x):
        return x.sum()

from mindspore import mint, nn
class Net(nn.Cell):
    def construct(self, x):
        return mint.sum(x)

for data, label in dataset:
    loss = train_step(data, label)
    print(f"loss {loss}")

for step, (data, label) in enumerate(dataset):
    loss = train_step(data, label)
    if step % 100 == 0:
        print(f"loss {loss}")
