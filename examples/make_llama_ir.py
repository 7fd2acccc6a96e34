#!/usr/bin/env python3
"""Writes the graph of a Llama's training step as MindSpore's compiler prints it after its last front-end pass.

    make_llama_ir.py [OPTIONS] >22_validate_0102.ir

The forward pass is built operator by operator, the backward pass from the gradient of each operator. Then the rules of
the compiler's recomputation pass are applied to the operators that --select-recompute names:

  * an operator is a candidate where it asks for recomputation and a backward operator takes its output directly;
  * candidates and the operators connected to them that ask as well are one subgraph;
  * of a subgraph, the candidates and those of their operands that belong to it are copied. The first operand of a copy
    that does not come from another copy goes through a Depend on the operands of the first backward operator that
    takes a copy.

So an operator whose output reaches the backward pass only through an operator that does not ask is not copied. Nothing
in this file knows which settings work. The forms of nodes, types, scopes and attributes follow published fragments of
graphs; AllGather and ReduceScatter, which no published fragment has, follow AllReduce.
"""
import argparse
import itertools
import re
import sys

SIZE = {"Float16": 2, "BFloat16": 2, "Float32": 4, "Int32": 4}


class Tensor:
    """The type of a value; reference is the name of a parameter."""

    def __init__(self, dtype, shape, reference=None):
        self.dtype, self.shape, self.reference = dtype, tuple(shape), reference

    def text(self):
        inner = f"Tensor[{self.dtype}]"
        if self.reference:
            return f"<Ref[{inner}], {dims(self.shape)}, ref_key={self.reference}>"
        return f"<{inner}, {dims(self.shape)}>"


class Tuple:
    """The type of several values."""

    def __init__(self, parts):
        self.parts = list(parts)

    def text(self):
        runs = [(kind, len(list(group))) for kind, group in itertools.groupby(p.dtype for p in self.parts)]
        name = ",".join(f"Tensor[{kind}]" + (f"*{n}" if n > 1 or len(runs) == 1 else "") for kind, n in runs)
        shapes = ", ".join(dims(p.shape) for p in self.parts)
        return f"<Tuple[{name}], TupleShape({shapes}), elements_use_flags={{[const vector]{{{ones(self.parts)}}}}}>"


class Plain:
    """The type of a literal."""

    def __init__(self, name):
        self.name = name

    def text(self):
        return self.name


def dims(shape):
    return "(" + ", ".join(str(n) for n in shape) + ")"


def ones(parts):
    return ", ".join("1" for _ in parts)


class Literal:
    """An operand that is written out, with its type."""

    def __init__(self, text, type_name):
        self.text, self.type = text, Plain(type_name)


def flag(value):
    return Literal(f"Bool({int(value)})", "<Bool, NoShape>")


def integer(value):
    return Literal(f"I64({value})", "<Int64, NoShape>")


def numbers(values):
    written = ", ".join(f"I64({v})" for v in values)
    shapes = ", ".join("NoShape" for _ in values)
    kind = f"<Tuple[Int64*{len(values)}], TupleShape({shapes}), elements_use_flags={{[const vector]{{{ones(values)}}}}}>"
    return Literal(f"({written})", kind)


class Parameter:
    """Of the whole graph, or a formal one of a subgraph."""

    def __init__(self, number, name, type_, default):
        self.name = f"%para{number}_{name}"
        self.type, self.default = type_, default


MONAD = Literal("UMonad[U]", "<UMonad, NoShape>")
FUNCTION = Plain("<Func, NoShape>")
# Operators that are printed without PrimFunc_.
PLAIN = {"Load", "MakeTuple", "TupleGetItem", "Depend", "AllGather", "ReduceScatter", "AllReduce", "Partial", "Switch"}


class Node:
    def __init__(self, primitive, operands, type_, cell, instance, path="", cut=None, source=None, attributes=""):
        self.primitive, self.operands, self.type = primitive, operands, type_
        self.cell, self.instance, self.path = cell, instance, path
        self.cut, self.source, self.attributes = cut, source, attributes
        self.backward_of = None  # of a backward node: the forward node it belongs to
        self.unique = 0
        self.asks = False
        self.copy_of = None
        self.subgraph = self.recompute_id = -1
        self.target = False
        self.is_backward = False


# Where the lines of the model's source that are printed come from.
SOURCES = {
    "reshape": ("layers.py", 530, 12, "x = self.reshape(x, (-1, self.in_channels))"),
    "matmul": ("layers.py", 548, 12, "x = self.matmul(x, weight)"),
    "silu": ("activation.py", 88, 15, "return self.silu(x)"),
    "cast": ("llama_layer.py", 301, 29, "output = self.norm(self.cast(x, self.compute_type), self.weight)[0]"),
    "norm": ("llama_layer.py", 301, 17, "output = self.norm(self.cast(x, self.compute_type), self.weight)[0]"),
    "rcast": ("llama_layer.py", 303, 15, "return self.rcast(output, original_type)"),
    "mul": ("llama_layer.py", 402, 17, "hidden = self.mul(hidden, gate)"),
    "add": ("llama_transformer.py", 611, 16, "out = self.add(h, ffn_out)"),
    "transpose": ("llama_transformer.py", 244, 20, "query = self.transpose(self.reshape(query, shape), (0, 2, 1, 3))"),
    "flash_attention": ("flash_attention.py", 310, 20, "output = self.flash_attention(query, key, value)"),
    "gather": ("llama_layer.py", 176, 17, "output = self.gather(self.embedding_weight, input_ids, 0)"),
    "rope": ("llama_layer.py", 228, 20, "xq_out = self.add(self.mul(xq, cos), self.mul(self.rotate_half(xq), sin))"),
}

TRAIN = "network-MFTrainOneStepCell/network-LlamaForCausalLM"


class Graph:
    """Builds the step. Cells are paths of scopes, without Default."""

    def __init__(self, o):
        self.o = o
        self.parameters, self.nodes = [], []
        self.gradients = {}  # node -> list of values to add up
        self.weight_gradients = []
        self.batch = o.batch
        self.n_unique = 1000

    # ---- what everything is made of ----

    def parameter(self, name, dtype, shape, weight=True):
        tensor = Tensor(dtype, shape, name if weight else None)
        self.parameters.append(Parameter(len(self.parameters) + 1, name, tensor, weight))
        return self.parameters[-1]

    def add(self, primitive, operands, type_, cell, instance, **more):
        node = Node(primitive, operands, type_, cell, instance, **more)
        self.n_unique += 1
        node.unique = self.n_unique
        self.nodes.append(node)
        return node

    def grad(self, primitive, operands, type_, of, instance=None):
        node = self.add(primitive, operands, type_, f"{of.cell}/Grad_{of.primitive}", instance or of.instance)
        node.is_backward, node.backward_of = True, of
        return node

    def forward(self, primitive, operands, type_, module, instance, path, cut=None, source=None, **more):
        """An operator of a layer: path is its name for select_recompute. cut has the number of dimensions of each operand
        in a strategy, negative where the operand has no dimension of data."""
        return self.add(primitive, operands, type_, module, instance, path=path, cut=cut,
                        source=SOURCES.get(source or instance), **more)

    def load(self, weight, cell):
        return self.add("Load", [weight, MONAD], Tensor(weight.type.dtype, weight.type.shape), cell, "")

    def take(self, name, shape, cell):
        """A weight: its Load, and where the optimizer's ranks share it the AllGather that makes it whole."""
        n = self.o.data
        shared = self.o.parallel_optimizer and n > 1 and shape[0] % n == 0
        weight = self.parameter(name, self.o.dtype, (shape[0] // n,) + tuple(shape[1:]) if shared else shape)
        whole = self.load(weight, cell)
        if shared:
            whole = self.add("AllGather", [whole], Tensor(self.o.dtype, shape), cell,
                             f"parallel_optimizer_allgather_{name}", attributes=self.group("fusion: I64(0)"))
        self.weight_gradients.append((weight, whole, shared))
        return whole

    def group(self, more):
        """Attributes of a communication among the data parallel ranks."""
        n = self.o.data
        ranks, joined = ", ".join(str(r) for r in range(n)), "-".join(str(r) for r in range(n))
        return (f'comm_reuse: Bool(1), group: "{n}-5004544844489628105", {more}, rank_size: I64({n}), '
                f'rank_list: ({ranks}), group_ranks: "{joined}", index: I64(0), no_eliminate: Bool(1)')

    # ---- cells ----

    def norm(self, x, module, path):
        """RmsNorm in float32, and back."""
        shape = x.type.shape
        up = self.forward("Cast", [x, integer(43)], Tensor("Float32", shape), module, "cast", path + ".cast", [len(shape)])
        parameter = self.parameter(self.weight_name(path, "weight"), "Float32", shape[-1:])
        weight = self.load(parameter, module)
        self.weight_gradients.append((parameter, weight, False))
        both = Tuple([Tensor("Float32", shape), Tensor("Float32", shape[:-1] + (1,))])
        norm = self.forward("RmsNorm", [up, weight, Literal("F32(1e-05)", "<Float32, NoShape>")], both, module, "norm",
                            path + ".norm", [len(shape), -1])
        first = self.forward("TupleGetItem", [norm, integer(0)], both.parts[0], module, "", path)
        norm.parts = {0: first}
        return self.forward("Cast", [first, integer(42)], Tensor(self.o.dtype, shape), module, "rcast", path + ".rcast",
                            [len(shape)])

    def weight_name(self, path, name):
        return f"{self.prefix}.{path}.{name}" if path else f"{self.prefix}.{name}"

    def linear(self, x, n_out, module, path, activation=False):
        """A Linear cell; its operand has three dimensions unless --fine-grain-interleave made it two."""
        shape, rows = x.type.shape, x.type.shape[0] if len(x.type.shape) == 2 else x.type.shape[0] * x.type.shape[1]
        n_in = shape[-1]
        weight = self.take(self.weight_name(path, "weight"), (n_out, n_in), module)
        if len(shape) > 2:
            x = self.reshape(x, (rows, n_in), module, path)
        y = self.forward("MatMul", [x, weight, flag(0), flag(1)], Tensor(self.o.dtype, (rows, n_out)), module, "matmul",
                         path + ".matmul", [2, -2])
        if activation:
            y = self.forward("SiLU", [y], y.type, module + "/activation-SiLU", "silu", path + ".activation.silu", [2])
        if len(shape) > 2:
            y = self.reshape(y, shape[:-1] + (n_out,), module, path)
        return y

    def reshape(self, x, shape, module, path, instance="reshape"):
        return self.forward("Reshape", [x, numbers(shape)], Tensor(x.type.dtype, shape), module, instance,
                            f"{path}.{instance}", source="reshape")

    def transpose(self, x, order, module, path, instance="transpose"):
        shape = tuple(x.type.shape[i] for i in order)
        return self.forward("Transpose", [x, numbers(order)], Tensor(x.type.dtype, shape), module, instance,
                            f"{path}.{instance}", [len(shape)], "transpose")

    def rotate(self, x, module, path):
        """Rotary position embedding, in operators."""
        b, n, s, d = x.type.shape
        def op(primitive, operands, shape, instance, cut=None):
            return self.forward(primitive, operands, Tensor(self.o.dtype, shape), module, instance,
                                f"{path}.{instance}", cut, "rope")
        half = (b, n, s, d // 2)
        left = op("Mul", [x, self.cos], x.type.shape, "mul", [4, -2])
        first = op("StridedSlice", [x, numbers((0, 0, 0, 0)), numbers(half), numbers((1, 1, 1, 1))], half, "slice", [4])
        second = op("StridedSlice", [x, numbers((0, 0, 0, d // 2)), numbers((b, n, s, d)), numbers((1, 1, 1, 1))], half,
                    "slice", [4])
        minus = op("Neg", [second], half, "neg", [4])
        both = self.forward("MakeTuple", [minus, first], Tuple([minus.type, first.type]), module, "", path)
        whole = op("Concat", [both, integer(-1)], x.type.shape, "concat", [4])
        right = op("Mul", [whole, self.sin], x.type.shape, "mul", [4, -2])
        return op("Add", [left, right], x.type.shape, "add", [4, 4])

    def attention(self, x, module, path):
        o = self.o
        shape, head = x.type.shape, o.hidden // o.heads
        qkv = []
        for name, n in (("wq", o.heads), ("wk", o.kv_heads), ("wv", o.kv_heads)):
            y = self.linear(x, n * head, f"{module}/{name}-Linear", f"{path}.{name}")
            y = self.reshape(y, (self.batch, o.seq, n, head), module, path)
            qkv.append(self.transpose(y, (0, 2, 1, 3), module, path))
        rope = module + "/apply_rotary_emb-LlamaRotaryEmbedding"
        q, k = (self.rotate(y, rope, path + ".apply_rotary_emb") for y in qkv[:2])
        v, cell = qkv[2], module + "/flash_attention-FlashAttention"
        row = Tensor("Float32", (self.batch, o.heads, o.seq, 8))
        out = Tensor(o.dtype, q.type.shape)
        four = Tuple([row, row, Tensor(o.dtype, (1,)), out])
        score = self.forward("FlashAttentionScore", [q, k, v, integer(o.heads)], four, cell, "flash_attention",
                             path + ".flash_attention", [4, 4, 4])
        score.parts = {}
        y = self.forward("TupleGetItem", [score, integer(3)], out, cell, "", path + ".flash_attention")
        score.parts[3] = y
        y = self.transpose(y, (0, 2, 1, 3), module, path, "merger_head_transpose")
        y = self.reshape(y, shape[:-1] + (o.hidden,), module, path)
        return self.linear(y, o.hidden, module + "/wo-Linear", path + ".wo")

    def feed_forward(self, x, module, path):
        gate = self.linear(x, self.o.ffn, module + "/w1-Linear", path + ".w1", activation=True)
        hidden = self.linear(x, self.o.ffn, module + "/w3-Linear", path + ".w3")
        y = self.forward("Mul", [gate, hidden], gate.type, module, "mul", path + ".mul", [len(gate.type.shape)] * 2)
        return self.linear(y, self.o.hidden, module + "/w2-Linear", path + ".w2")

    def layer(self, x, number):
        module = f"{TRAIN}/model-LlamaModel/layers-CellList/{number}-LLamaDecodeLayer"
        self.prefix = f"model.layers.{number}"
        def plus(a, b):
            return self.forward("Add", [a, b], a.type, module, "add", "add", [len(a.type.shape)] * 2)
        y = self.norm(x, module + "/attention_norm-LlamaRMSNorm", "attention_norm")
        x = plus(x, self.attention(y, module + "/attention-LLamaAttention", "attention"))
        y = self.norm(x, module + "/ffn_norm-LlamaRMSNorm", "ffn_norm")
        return plus(x, self.feed_forward(y, module + "/feed_forward-LlamaFeedForward", "feed_forward"))

    def build(self):
        o = self.o
        ids = self.parameter("input_ids", "Int32", (self.batch, o.seq), weight=False)
        labels = self.parameter("labels", "Int32", (self.batch * o.seq,), weight=False)
        self.cos = self.parameter("freqs_cos", o.dtype, (o.seq, o.hidden // o.heads), weight=False)
        self.sin = self.parameter("freqs_sin", o.dtype, (o.seq, o.hidden // o.heads), weight=False)
        cell = f"{TRAIN}/model-LlamaModel/tok_embeddings-LlamaEmbedding"
        self.prefix = "model.tok_embeddings"
        table = self.take("model.tok_embeddings.embedding_weight", (o.vocab, o.hidden), cell)
        x = self.forward("Gather", [table, ids, integer(0)], Tensor(o.dtype, (self.batch, o.seq, o.hidden)), cell,
                         "gather", "", None)
        if o.fine_grain_interleave:
            x = self.reshape(x, (self.batch * o.seq, o.hidden), f"{TRAIN}/model-LlamaModel", "")
        for number in range(o.layers):
            x = self.layer(x, number)
        self.prefix = "model"
        x = self.norm(x, f"{TRAIN}/model-LlamaModel/norm_out-LlamaRMSNorm", "norm_out")
        self.prefix = "lm_head"
        logits = self.linear(x, o.vocab, f"{TRAIN}/lm_head-Linear", "")
        if len(logits.type.shape) > 2:
            logits = self.reshape(logits, (self.batch * o.seq, o.vocab), TRAIN, "")
        cell = f"{TRAIN}/loss-CrossEntropyLoss"
        wide = self.forward("Cast", [logits, integer(43)], Tensor("Float32", logits.type.shape), cell, "cast", "", None)
        loss = self.forward("SparseSoftmaxCrossEntropyWithLogits", [wide, labels], Tensor("Float32", ()), cell,
                            "sparse_softmax", "", [2, 1])
        self.n_forward = len(self.nodes)
        self.backward(loss, wide, labels)
        self.recompute()
        self.finish(loss)

    # ---- backward ----

    def send(self, operand, value):
        if isinstance(operand, Node):
            self.gradients.setdefault(operand, []).append(value)

    def total(self, node):
        values = self.gradients.get(node, [])
        if not values:
            return None
        result = values[0]
        for other in values[1:]:
            result = self.grad("Add", [result, other], result.type, node, "gradient_add")
        return result

    def backward(self, loss, wide, labels):
        first = self.grad("SparseSoftmaxCrossEntropyWithLogits", [wide, labels], wide.type, loss)
        self.send(wide, first)
        for node in reversed(self.nodes[:self.n_forward - 1]):
            rule = getattr(self, "d_" + node.primitive, None)
            if not rule:
                continue
            if node.primitive in ("RmsNorm", "FlashAttentionScore"):
                part = list(node.parts.values())[0]
                dout = self.total(part)
            elif node.primitive in ("MakeTuple", "TupleGetItem"):
                continue
            else:
                dout = self.total(node)
            if dout is not None:
                rule(node, dout)

    def d_Reshape(self, node, dout):
        x = node.operands[0]
        self.send(x, self.grad("Reshape", [dout, numbers(x.type.shape)], Tensor(dout.type.dtype, x.type.shape), node))

    def d_MatMul(self, node, dout):
        x, weight = node.operands[:2]
        self.send(x, self.grad("MatMul", [dout, weight, flag(0), flag(0)], x.type, node))
        shape = weight.type.shape
        self.send(weight, self.grad("MatMul", [dout, x, flag(1), flag(0)], Tensor(dout.type.dtype, shape), node))

    def d_SiLU(self, node, dout):
        self.send(node.operands[0], self.grad("SiLUGrad", [dout, node.operands[0]], node.type, node, "silu_grad"))

    def d_Mul(self, node, dout):
        a, b = node.operands
        if isinstance(b, Node):
            self.send(b, self.grad("Mul", [dout, a], b.type, node))
        self.send(a, self.grad("Mul", [dout, b], a.type, node))

    def d_Add(self, node, dout):
        for operand in node.operands:
            self.send(operand, dout)

    def d_Cast(self, node, dout):
        x = node.operands[0]
        code = 43 if x.type.dtype == "Float32" else 42
        self.send(x, self.grad("Cast", [dout, integer(code)], Tensor(x.type.dtype, dout.type.shape), node))

    def d_Transpose(self, node, dout):
        order = (0, 2, 1, 3)
        self.send(node.operands[0], self.grad("Transpose", [dout, numbers(order)], node.operands[0].type, node))

    def d_Neg(self, node, dout):
        self.send(node.operands[0], self.grad("Neg", [dout], node.type, node))

    def d_Concat(self, node, dout):
        parts = node.operands[0].operands
        n = parts[0].type.shape
        for k, part in enumerate(parts):
            begin = (0, 0, 0, k * n[3])
            end = (n[0], n[1], n[2], (k + 1) * n[3])
            self.send(part, self.grad("StridedSlice", [dout, numbers(begin), numbers(end), numbers((1, 1, 1, 1))],
                                      part.type, node, "slice"))

    def d_StridedSlice(self, node, dout):
        x = node.operands[0]
        self.send(x, self.grad("StridedSliceGrad", [dout, numbers(x.type.shape)] + node.operands[1:], x.type, node,
                               "slice_grad"))

    def d_RmsNorm(self, node, dout):
        x, weight = node.operands[:2]
        rstd = self.add("TupleGetItem", [node, integer(1)], node.type.parts[1], node.cell, "")
        rstd.path = node.path
        node.parts[1] = rstd
        # It is of the forward pass, where it is printed.
        self.nodes.remove(rstd)
        self.nodes.insert(self.nodes.index(node.parts[0]) + 1, rstd)
        wide = Tensor("Float32", weight.type.shape)
        both = self.grad("RmsNormGrad", [dout, x, rstd, weight], Tuple([x.type, wide]), node, "norm_grad")
        self.send(x, self.grad("TupleGetItem", [both, integer(0)], x.type, node, ""))
        self.send(weight, self.grad("TupleGetItem", [both, integer(1)], wide, node, ""))

    def d_FlashAttentionScore(self, node, dout):
        q, k, v = node.operands[:3]
        kept, at = [], self.nodes.index(node.parts[3])
        for part in (0, 1):
            item = self.add("TupleGetItem", [node, integer(part)], node.type.parts[part], node.cell, "")
            item.path = node.path
            self.nodes.remove(item)
            self.nodes.insert(at, item)
            kept.append(item)
        three = self.grad("FlashAttentionScoreGrad", [q, k, v, dout, kept[0], kept[1], node.parts[3]],
                          Tuple([q.type, k.type, v.type]), node, "flash_attention_grad")
        for i, operand in enumerate((q, k, v)):
            self.send(operand, self.grad("TupleGetItem", [three, integer(i)], operand.type, node, ""))

    def d_Gather(self, node, dout):
        table = node.operands[0]
        self.send(table, self.grad("UnsortedSegmentSum", [dout, node.operands[1], integer(table.type.shape[0])],
                                   table.type, node, "gather_grad"))

    # ---- recomputation ----

    def recompute(self):
        """Copy what asks for it by the compiler's rules."""
        patterns = [re.compile(p) for p in self.o.select_recompute]
        def asks(path):
            parts = path.split(".")
            names = [".".join(parts[:n]) for n in range(1, len(parts) + 1)]
            return any(p.fullmatch(name) for p in patterns for name in names)
        users, n_ids = {}, 0
        for node in self.nodes:
            for operand in node.operands:
                users.setdefault(operand, []).append(node)
            in_layer = "layers-CellList" in node.cell and not node.is_backward
            if in_layer and node.path and node.primitive not in ("MakeTuple", "TupleGetItem"):
                node.asks = asks(node.path)
        for node in self.nodes:
            if node.primitive == "TupleGetItem" and not node.is_backward and node.operands[0].asks:
                node.asks = True
            if node.asks:
                n_ids += 1
                node.recompute_id = n_ids
        n_subgraphs, seen, position = 0, set(), {n: i for i, n in enumerate(self.nodes)}
        before = {}  # node -> nodes to print before it
        for node in self.nodes:
            if node in seen or not node.asks or not any(u.is_backward for u in users.get(node, ())):
                continue
            members, todo = set(), [node]
            while todo:
                member = todo.pop()
                if member in members:
                    continue
                members.add(member)
                todo += [x for x in member.operands + users.get(member, []) if isinstance(x, Node) and x.asks]
            seen |= members
            targets = sorted({u for m in members for u in users.get(m, ()) if u.is_backward}, key=position.get)
            copied, todo = set(), [m for m in members if any(u.is_backward for u in users[m])]
            while todo:
                member = todo.pop()
                if member not in copied:
                    copied.add(member)
                    todo += [x for x in member.operands if x in members]
            for member in members:
                member.subgraph = n_subgraphs
            wait = [x for x in targets[0].operands if isinstance(x, Node) and x not in copied and x.is_backward]
            before.setdefault(targets[0], []).extend(self.copies(sorted(copied, key=position.get), targets, wait))
            n_subgraphs += 1
        order = []
        for node in self.nodes:
            order += before.get(node, []) + [node]
        self.nodes = order

    def copies(self, originals, targets, wait):
        made, out = {}, []
        for original in originals:
            operands = [made.get(x, x) for x in original.operands]
            if wait and not any(x in made for x in original.operands):
                ready = Node("MakeTuple", wait, Tuple([w.type for w in wait]), "", "")
                operands[0] = Node("Depend", [operands[0], ready], operands[0].type, "", "")
                out += [ready, operands[0]]
            copy = Node(original.primitive, operands, original.type, original.cell, original.instance,
                        cut=original.cut, source=original.source)
            copy.copy_of, copy.subgraph, copy.recompute_id = original, original.subgraph, original.recompute_id
            made[original] = copy
            out.append(copy)
        for target in targets:
            target.operands = [made.get(x, x) for x in target.operands]
            target.target, target.subgraph = True, originals[0].subgraph
        return out

    # ---- the update ----

    def finish(self, loss):
        """Gradients summed over the data parallel ranks; the update of each weight, in a graph that is called where no
        value has overflowed."""
        sums = []
        for weight, whole, shared in self.weight_gradients:
            gradient = self.total(whole)
            if self.o.data > 1:
                kind = "ReduceScatter" if shared else "AllReduce"
                name = f"grad_parallel_optimizer_{weight.type.reference}" if shared else f"grad_mirror_{weight.type.reference}"
                of = gradient.backward_of
                gradient = self.grad(kind, [gradient], Tensor(gradient.type.dtype, weight.type.shape), of, name)
                gradient.attributes = self.group('fusion: I64(1), op: "sum"')
            sums.append(gradient)
        self.n_outer = len(self.parameters)
        fine, overflow = "2_✓_LlamaForCausalLM_construct_902", "3_✗_LlamaForCausalLM_construct_905"
        states = [[self.parameter(f"{kind}.{w.type.reference}", "Float32", w.type.shape) for kind in ("adam_m", "adam_v")]
                  for w, _, _ in self.weight_gradients]
        status = self.parameter("overflow", "Float32", (), weight=False)
        cond = self.add("Cast", [status, integer(30)], Tensor("Bool", ()), "", "cast")
        cond.is_backward = True
        self.subgraphs = [self.update_graph(fine, loss, sums, states), self.skip_graph(overflow, loss)]
        chosen = [self.partial(fine, [loss] + sums), self.partial(overflow, [loss])]
        switch = self.add("Switch", [cond] + chosen, FUNCTION, "", "")
        switch.is_backward = True
        self.result = self.add(("call", switch, f"[@FuncUnion(@{fine}, @{overflow})]"), [], loss.type, "", "")
        self.result.is_backward = True

    def partial(self, graph, operands):
        node = self.add("Partial", [Literal(f"@{graph}", "<Func, NoShape>")] + operands, FUNCTION, "", "",
                        attributes="side_effect_propagate: I64(1)")
        node.is_backward = True
        return node

    def formals(self, types):
        first = self.n_formals = getattr(self, "n_formals", 0)
        self.n_formals += len(types)
        return [Parameter(f"_formal{first + i}", f"Parameter_{900 + first + i}", t, False) for i, t in enumerate(types)]

    def update_graph(self, name, loss, sums, states):
        formal = self.formals([loss.type] + [g.type for g in sums])
        main, self.nodes = self.nodes, []
        cell, done = "optimizer-FP32StateAdamWeightDecay", []
        for (weight, _, _), gradient, state in zip(self.weight_gradients, formal[1:], states):
            if gradient.type.dtype != "Float32":
                gradient = self.add("Cast", [gradient, integer(43)], Tensor("Float32", gradient.type.shape), cell, "cast")
            done.append(self.add("AdamWeightDecay", [weight] + state + [gradient],
                                 Tensor(weight.type.dtype, weight.type.shape), cell, "adam"))
        ready = self.add("MakeTuple", done, Tuple([d.type for d in done]), cell, "")
        result = self.add("Depend", [formal[0], ready], loss.type, cell, "")
        for node in self.nodes:
            node.is_backward = True
        nodes, self.nodes = self.nodes, main
        return name, formal, nodes, result

    def skip_graph(self, name, loss):
        formal = self.formals([loss.type])
        return name, formal, [], formal[0]

    # ---- text ----

    def write(self, out):
        self.counts = {}
        entry, total = "1_train_one_step_LlamaForCausalLM_construct_1", len(self.parameters)
        number = total
        for _, formal, _, _ in self.subgraphs:
            for p in formal:
                number += 1
                p.name = f"%para{number}_" + p.name.split("_", 2)[2]
        attributes = ("has_shard: 0\nhas_attached: 1\njit_level:\ncheck_set_strategy_valid_once_only: 1\n"
                      "FLASH_SP_RUN_ONCE_ONLY: 1\npynative_run_in_graph: 0\nless_bn: 0\nauto_parallel_finish_pre_action: 1\n")
        graphs = [(entry, [], self.nodes, self.result)] + self.subgraphs
        n = sum(len(nodes) + 1 for _, _, nodes, _ in graphs)
        out.write(f"# IR entry: @{entry}\n# Total subgraphs: {len(graphs)}\n\n# Attrs:\n{attributes}\n"
                  f"# Total params: {total}\n# Params:\n")
        for p in self.parameters:
            out.write(f"{p.name}: {p.type.text()} : {'has_default' if p.default else '[]'}\n")
        out.write(f"\nNode counting information:\nTotal number of nodes: {n + total}\nTotal number of cnodes: {n}\n\n")
        for i, (name, formal, nodes, result) in enumerate(graphs):
            if i > 0:
                out.write("\n\nindirect: 1\n")
            out.write("subgraph attr:\n" + (attributes if i == 0 else "defer_inline: 0\nundeterminate: 0\n"))
            out.write(f"subgraph instance: {name} : {0x55da18f612a0 + 0x600 * i:#x}\n")
            if formal:
                out.write(f"# Parameters: {len(formal)}, ({', '.join(p.type.text() for p in formal)})\n")
            out.write("# In file wrapper.py:173~219, 4~20/    def construct(self, *inputs):/\n")
            out.write(f"subgraph @{name}(" + ", ".join(p.name for p in formal) + ") {\n")
            names = {node: f"%{k}" for k, node in enumerate(nodes)}
            for k, node in enumerate(nodes):
                self.write_node(out, k, node, names)
            checkpoint = " cnode_attrs: {checkpoint: Bool(1)}" if i == 0 else ""
            out.write(f"  Return({names.get(result) or result.name}){checkpoint}\n      : ({result.type.text()})\n"
                      f"      # Fullname with scope: (Default/Return-op{i})\n"
                      "      # In file wrapper.py:173~219, 4~20/    def construct(self, *inputs):/\n}\n")

    def write_node(self, out, number, node, names):
        operands = [names.get(x) or (x.name if isinstance(x, Parameter) else x.text) for x in node.operands]
        name, strategy = node.primitive, self.strategy(node)
        if isinstance(name, tuple):
            name = names[name[1]] + name[2]
        elif name not in PLAIN:
            name = "PrimFunc_" + name
        words = [node.attributes, f"in_strategy: {strategy}" if strategy else "",
                 "recompute: Bool(1)" if node.asks and node.primitive != "TupleGetItem" else ""]
        attributes = ", ".join(w for w in words if w)
        groups = f" {{instance name: {node.instance}}}" if node.instance else ""
        groups += f" primitive_attrs: {{{attributes}}}" if attributes else ""
        groups += self.cnode_attributes(node)
        groups += self.primal_attributes(node, self.origins(node) if strategy and not node.copy_of else [])
        groups += f" {{in_strategy: {strategy}}}" if strategy else ""
        types = ", ".join(x.type.text() for x in node.operands)
        label = "call" if isinstance(node.primitive, tuple) else node.primitive
        k = self.counts[label] = self.counts.get(label, -1) + 1
        scope = "Default" + (f"/{node.cell}" if node.cell else "")
        scope = "Gradients/" + scope if node.is_backward and node.backward_of else scope
        out.write(f"  %{number}(CNode_{20000 + number}) = {name}({', '.join(operands)}){groups}\n"
                  f"      : ({types}) -> ({node.type.text()})\n"
                  f"      # Fullname with scope: ({scope}/{label}-op{k})\n")
        if node.source and not node.is_backward:
            file, line, column, text = node.source
            out.write(f"      # In file {file}:{line - 12}~{line + 4}, 4~12/    def construct(self, x):/\n"
                      f"      # In file {file}:{line}, {column}~{column + len(text)}/{' ' * 8}{text}/\n")

    def strategy(self, node):
        if not node.cut:
            return ""
        return dims(dims(([self.o.data] if n > 0 else [1]) + [1] * (abs(n) - 1)) for n in node.cut)

    def origins(self, node):
        """Shapes before slicing."""
        def origin(shape, n):
            return dims((shape[0] * (self.o.data if n > 0 else 1),) + tuple(shape[1:])) if shape else "()"
        tensors = [x for x in node.operands if isinstance(x.type, Tensor)]
        words = []
        if isinstance(node.type, Tensor) and node.type.shape:
            words.append(f"origin_output_shape: {origin(node.type.shape, node.cut[0])}")
        words.append("origin_input_shapes: " + dims(origin(x.type.shape, n) for x, n in zip(tensors, node.cut)))
        return words

    @staticmethod
    def cnode_attributes(node):
        words = []
        if node.subgraph >= 0:
            words.append(f"recompute_sub_graph: U64({node.subgraph})")
        if node.asks or node.copy_of:
            words.append(f"recompute_id: I64({node.recompute_id})")
        if node.asks:
            words.append("recompute: Bool(1)")
        if node.copy_of:
            words.append("duplicated: Bool(1)")
        if node.asks or node.copy_of:
            words.append("need_cse_after_recompute: Bool(1)")
        if node.target:
            words.append("target_grad: Bool(1)")
        if not node.copy_of and not node.is_backward and node.unique:
            words.append("checkpoint: Bool(1)")
        return f" cnode_attrs: {{{', '.join(words)}}}" if words else ""

    @staticmethod
    def primal_attributes(node, words):
        if node.backward_of:
            words = [f'forward_unique_id: "{node.backward_of.unique}"'] + words
        elif node.unique and not node.copy_of:
            words = [f'unique_id: "{node.unique}"'] + words
        return f" cnode_primal_attrs: {{{', '.join(words + ['micro: I64(0)'])}}}"


def main():
    p = argparse.ArgumentParser(description="Write a Llama's training graph as MindSpore prints it. The sizes are Llama2-13B's.")
    p.add_argument("--layers", type=int, default=40)
    p.add_argument("--hidden", type=int, default=5120)
    p.add_argument("--ffn", type=int, default=13824, help="intermediate size")
    p.add_argument("--heads", type=int, default=40)
    p.add_argument("--kv-heads", type=int, help="heads of keys and values, as many as --heads without it")
    p.add_argument("--vocab", type=int, default=32000)
    p.add_argument("--seq", type=int, default=4096)
    p.add_argument("--batch", type=int, default=1, help="sequences of a micro-batch")
    p.add_argument("--data", type=int, default=8, help="data parallel ranks")
    p.add_argument("--dtype", choices=("Float16", "BFloat16"), default="Float16")
    p.add_argument("--no-parallel-optimizer", dest="parallel_optimizer", action="store_false",
                   help="every rank has whole weights")
    p.add_argument("--fine-grain-interleave", action="store_true", help="Linear cells take two dimensions")
    p.add_argument("--select-recompute", nargs="*", default=[], metavar="PATTERN",
                   help=r"as in recompute_config: 'feed_forward\.mul' 'feed_forward\.w1\.activation'")
    o = p.parse_args()
    o.kv_heads = o.kv_heads or o.heads
    graph = Graph(o)
    graph.build()
    graph.write(sys.stdout)


if __name__ == "__main__":
    main()
