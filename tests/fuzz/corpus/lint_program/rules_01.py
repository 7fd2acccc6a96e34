import gc
for data in dataset:
    train_step(data)
    gc.collect()

import gc
for step, data in enumerate(dataset):
    train_step(data)
    if step % 500 == 0:
        gc.collect()

import gc
gc.disable()
for data in dataset:
    train_step(data)

import gc
gc.disable()
for step, data in enumerate(dataset):
    train_step(data)
    if step % 500 == 0:
        gc.collect()

from torch.utils.data import DataLoader
loader = DataLoader(data, batch_size=8)

from torch.utils.data import DataLoader
loader = DataLoader(data, batch_size=8, num_workers=4)

import numpy as np
from mindspore import Tensor
for batch in batches:
    train_step(Tensor(np.stack(batch)))

import numpy as np
from mindspore import Tensor
for batch in batches:
    train_step(Tensor.from_numpy(np.stack(batch)))
