#!/usr/bin/env python3
"""Writes what MindSpore's memory tracker would write of a small training: rank_0/memory_block.csv and rank_0/task.csv.

    make_tracker_dump.py [OPTIONS] FOLDER

A transformer in dynamic graph mode, tensor and sequence parallel, one micro-batch after the other. Operators run in
order; each output is a block that ends after the last operator that uses it. Two faults can be put in:

  --keep-inputs   the cell that scatters a sequence keeps its input and its output for its bprop, which reads neither
  --keep-losses   the training loop stores the loss tensors of all steps in a list

The columns and types are those of the framework's writer; sizes follow from the shapes given.
"""
import argparse
import os

NEVER = 2**63 - 1
HEADER = ("start_time_stamp,end_time_stamp,device_addr,stream_id,pool_type,size,actual_peak_memory,file_name,line_num,type,"
          "producer_task,task_name,node_name,graph_name,user_tasks,python_stack,")


class Block:
    def __init__(self, size, kind, producer, name, stack, start):
        self.size, self.kind, self.producer, self.name, self.stack = size, kind, producer, name, stack
        self.start, self.end, self.users, self.peak = start, NEVER, [], 0


class Dump:
    def __init__(self):
        self.tick, self.used, self.peak, self.blocks, self.tasks = 0, 0, 0, [], []

    def task(self, name, inputs=()):
        self.tick += 1
        self.tasks.append((self.tick, name))
        for block in inputs:
            block.users.append(self.tick)
        return self.tick

    def allocate(self, size, name, place, kind="PyNativeOutput"):
        self.tick += 1
        stack = "".join(f"File:train/{file};Line:{line};Function:{function}|" for file, line, function in place)
        block = Block(size, kind, self.tasks[-1][0], name, stack, self.tick)
        self.used += size
        self.peak = max(self.peak, self.used)
        block.peak = self.peak
        self.blocks.append(block)
        return block

    def release(self, block):
        if block.end == NEVER:
            self.tick += 1
            block.end = self.tick
            self.used -= block.size

    def run(self, name, place, inputs, *sizes):
        self.task(name, inputs)
        made = [self.allocate(size, name, place) for size in sizes]
        return made[0] if len(made) == 1 else made

    def write(self, folder):
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, "task.csv"), "w") as out:
            out.write("time_stamp,task_name,node_name,graph_name,file_name,line_num,python_stack,\n")
            for tick, name in self.tasks:
                out.write(f"{tick},PyNativeTask,{name},PyNativeGraph,pyboost_utils.cc,214,,\n")
        with open(os.path.join(folder, "memory_block.csv"), "w") as out:
            out.write(HEADER + "\n")
            for number, b in enumerate(self.blocks):
                users = "{" + "".join(f"{u}-" for u in b.users) + "}"
                out.write(f"{b.start},{b.end},{0x12c040000000 + number * 512:#x},0,DynamicMemPool,{b.size},{b.peak},"
                          f"pyboost_utils.cc,214,{b.kind},{b.producer},PyNativeTask,{b.name},PyNativeGraph,{users},{b.stack},\n")


class Training:
    def __init__(self, o):
        self.o, self.d = o, Dump()
        self.tokens = o.batch * o.seq
        self.part = self.tokens // o.tensor * o.hidden * 2  # of a sequence, split over the tensor parallel ranks
        self.whole = self.tokens * o.hidden * 2
        self.losses = []

    def weights(self):
        """bfloat16 weights, float32 gradients, float32 master weights and two states, of one rank."""
        o, head = self.o, self.o.hidden // self.o.heads
        layer = (o.hidden * (2 * o.hidden + 2 * o.groups * head) + 3 * o.hidden * o.ffn) // o.tensor + 2 * o.hidden
        table = o.vocab * o.hidden // o.tensor
        self.d.task("LoadWeights")
        place = [("model.py", 31, "__init__")]
        self.weight = []
        for count in [table] + [layer] * o.layers + [table + o.hidden]:
            self.weight.append([self.d.allocate(count * bytes_, "Parameter", place, "Weight") for bytes_ in (2, 4, 12)])

    def scatter(self, x, line):
        """A cell with a bprop of its own: backward needs the incoming gradient only."""
        place = [("mappings.py", 214, "construct"), ("transformer.py", line, "construct")]
        y = self.d.run("ReduceScatter", place, [x], self.part)
        if self.o.keep_inputs:
            return y, [x, y]
        self.d.release(x)
        return y, []

    def forward_layer(self, x, weights):
        o, d, t = self.o, self.d, self.tokens
        head, width = o.hidden // o.heads, o.hidden // o.tensor
        groups = max(o.groups // o.tensor, 1) * head
        at = lambda line: [("transformer.py", line, "construct")]
        kept = [x]
        norm, statistics = d.run("RmsNorm", at(88), [x, weights[0]], self.part, t // o.tensor * 4)
        gathered = d.run("AllGather", [("mappings.py", 151, "construct")] + at(90), [norm], self.whole)
        d.release(norm)
        qkv = d.run("MatMul", at(91), [gathered, weights[0]], t * (width + 2 * groups) * 2)
        v = d.run("Split", at(95), [qkv], t * groups * 2)
        q, k = d.run("RotaryPositionEmbedding", at(97), [qkv], t * width * 2, t * groups * 2)
        d.release(qkv)
        rows = o.batch * o.heads // o.tensor * o.seq * 8 * 4
        score, largest, total = d.run("FlashAttentionScore", at(103), [q, k, v], t * width * 2, rows, rows)
        out = d.run("MatMul", at(107), [score, weights[0]], self.whole)
        scattered, held = self.scatter(out, 108)
        y = d.run("Add", at(110), [x, scattered], self.part)
        kept += [statistics, gathered, q, k, v, score, largest, total, y]
        if not o.keep_inputs:
            d.release(scattered)
        norm, more = d.run("RmsNorm", at(113), [y, weights[0]], self.part, t // o.tensor * 4)
        wide = d.run("AllGather", [("mappings.py", 151, "construct")] + at(115), [norm], self.whole)
        d.release(norm)
        ffn = o.ffn // o.tensor * t * 2
        both = d.run("MatMul", at(116), [wide, weights[0]], 2 * ffn)
        silu = d.run("SiLU", at(118), [both], ffn)
        product = d.run("Mul", at(119), [silu, both], ffn)
        out = d.run("MatMul", at(121), [product, weights[0]], self.whole)
        scattered, second = self.scatter(out, 122)
        z = d.run("Add", at(124), [y, scattered], self.part)
        if not o.keep_inputs:
            d.release(scattered)
        return z, kept + [more, wide, both, silu, product], held + second

    def backward_layer(self, gradient, kept, held, weights):
        d, grad = self.d, [("train.py", 57, "grad_fn")]
        x, statistics, gathered, q, k, v, score, largest, total, y, more, wide, both, silu, product = kept
        def step(name, inputs, size, *gone):
            out = d.run(name, grad, inputs, size)
            for block in gone:
                d.release(block)
            return out
        g = step("AllGather", [gradient], self.whole)
        g2 = step("MatMulGrad", [g, product, weights[1]], product.size, g)
        g3 = step("SwigluGrad", [g2, both, silu], both.size, g2, product, silu, both)
        g4 = step("MatMulGrad", [g3, wide, weights[1]], self.whole, g3, wide)
        g5 = step("ReduceScatter", [g4], self.part, g4)
        g6 = step("RmsNormGrad", [g5, y, more], self.part, g5, more)
        sums = step("Add", [g6, gradient], self.part, g6, gradient)
        g = step("AllGather", [sums], self.whole)
        g2 = step("MatMulGrad", [g, score, weights[1]], score.size, g)
        g3 = step("FlashAttentionScoreGrad", [g2, q, k, v, score, largest, total], q.size + k.size + v.size,
                  g2, q, k, v, score, largest, total)
        g4 = step("MatMulGrad", [g3, gathered, weights[1]], self.whole, g3, gathered)
        g5 = step("ReduceScatter", [g4], self.part, g4)
        g6 = step("RmsNormGrad", [g5, x, statistics], self.part, g5, statistics)
        out = step("Add", [g6, sums], self.part, g6, sums, y)
        for block in held + [x]:
            d.release(block)
        return out

    def micro_batch(self):
        o, d, t = self.o, self.d, self.tokens
        x = d.run("Gather", [("embedding.py", 40, "construct")], [self.weight[0][0]], self.part)
        layers = []
        for weights in self.weight[1:-1]:
            x, kept, held = self.forward_layer(x, weights)
            layers.append((kept, held, weights))
        at = [("loss.py", 22, "construct")]
        norm = d.run("RmsNorm", at, [x], self.part)
        wide = d.run("AllGather", [("mappings.py", 151, "construct")] + at, [norm], self.whole)
        d.release(norm)
        vocab = t * (o.vocab // o.tensor)
        logits = d.run("MatMul", at, [wide, self.weight[-1][0]], vocab * 2)
        cast = d.run("Cast", at, [logits], vocab * 4)
        d.release(logits)
        soft = d.run("LogSoftmax", at, [cast], vocab * 4)
        d.release(cast)
        loss = d.run("NLLLoss", [("train.py", 71, "train")], [soft], o.loss_bytes)
        g = d.run("NLLLossGrad", at, [soft, loss], vocab * 4)
        (self.losses.append if o.keep_losses else d.release)(loss)
        g2 = d.run("LogSoftmaxGrad", at, [g, soft], vocab * 4)
        d.release(g)
        d.release(soft)
        g3 = d.run("Cast", at, [g2], vocab * 2)
        d.release(g2)
        g4 = d.run("MatMulGrad", at, [g3, wide, self.weight[-1][1]], self.whole)
        d.release(g3)
        d.release(wide)
        g5 = d.run("ReduceScatter", at, [g4], self.part)
        d.release(g4)
        gradient = d.run("RmsNormGrad", at, [g5, x], self.part)
        d.release(g5)
        d.release(x)
        for kept, held, weights in reversed(layers):
            gradient = self.backward_layer(gradient, kept, held, weights)
        d.task("EmbeddingGrad", [gradient, self.weight[0][1]])
        d.release(gradient)

    def write(self):
        self.weights()
        for _ in range(self.o.steps):
            for _ in range(self.o.micro_batches):
                self.micro_batch()
            for blocks in self.weight:
                self.d.task("AdamW", blocks)
        self.d.write(os.path.join(self.o.folder, "rank_0"))


def main():
    p = argparse.ArgumentParser(description="Write a memory tracker's dump of a small training, for tests and documents.")
    p.add_argument("folder")
    p.add_argument("--layers", type=int, default=4)
    p.add_argument("--hidden", type=int, default=8192)
    p.add_argument("--ffn", type=int, default=24064)
    p.add_argument("--heads", type=int, default=64)
    p.add_argument("--groups", type=int, default=8, help="groups of keys and values")
    p.add_argument("--vocab", type=int, default=153376)
    p.add_argument("--seq", type=int, default=4096)
    p.add_argument("--batch", type=int, default=2, help="sequences of a micro-batch")
    p.add_argument("--tensor", type=int, default=8, help="tensor parallel ranks, with sequence parallelism")
    p.add_argument("--micro-batches", type=int, default=4)
    p.add_argument("--steps", type=int, default=3)
    p.add_argument("--loss-bytes", type=int, default=8 << 20, help="of what one micro-batch's loss keeps alive")
    p.add_argument("--keep-inputs", action="store_true")
    p.add_argument("--keep-losses", action="store_true")
    Training(p.parse_args()).write()


if __name__ == "__main__":
    main()
