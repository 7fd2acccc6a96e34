"""Makes and reads plans of a pipeline, and writes them as settings of a framework."""
from __future__ import annotations

from typing import Any, Optional

from evenkeel._base import Array, Heard, InputError, Path, check, find_schedule, grid, new_error, owned, path_of
from evenkeel._base import taken_text, text_of, view, warn
from evenkeel._evenkeel import ffi as _ffi, lib as _lib


def frameworks() -> "list[str]":
    """Names of the frameworks that a plan's to() supports.

    >>> frameworks()
    ['mindformers', 'mindspeed', 'megatron', 'torchtitan']
    """
    names: "list[str]" = []
    while _lib.ek_emitters[len(names)] != _ffi.NULL:
        names.append(text_of(_lib.ek_emitters[len(names)].name))
    return names


def schedules() -> "list[str]":
    """Names of the schedules.

    >>> "1f1b" in schedules()
    True
    """
    names: "list[str]" = []
    while _lib.ek_schedules[len(names)] != _ffi.NULL:
        names.append(text_of(_lib.ek_schedules[len(names)].name))
    return names


def emitted(framework: str, emission: Any) -> str:
    """The settings of a framework, an ek_emission as a text."""
    emitter = _lib.ek_emitter_find(framework.encode())
    if emitter == _ffi.NULL:
        raise InputError(f"no framework is called '{framework}'; there are {', '.join(frameworks())}")
    told = _ffi.new("ek_telling *")
    text = taken_text(lambda text, size, err: _lib.ekpy_emit(emitter, emission, text, size, told, err))
    if told[0] != _lib.EK_TELLS_PLAN:
        what = ("the settings are the nearest, and say what it costs" if told[0] == _lib.EK_TELLS_NEAREST else
                "the settings place its layers, and say why they do no more")
        warn(f"{framework} cannot be told the recomputation of plan '{text_of(emission.name)}'; {what}")
    return text


def applied(path: Path, plan: Any, n_layers: int, n_micro_batches: int, n_pieces: int, schedule: Any) -> str:
    heard = Heard()
    change = _ffi.new("ek_train_change *", {
        "plan": plan, "n_layers": n_layers, "n_micro_batches": n_micro_batches, "n_pieces": n_pieces,
        "schedule": schedule})
    text = taken_text(lambda text, size, err: _lib.ek_train_apply(path_of(path), change, heard.listener, text, size,
                                                                  err))
    heard.say()
    return text


def read_plans(path: Path, n_layers: int = 0) -> "dict[str, Plan]":
    """The plans of a file by their names: a plan file, output of `balance`, or a training file.

    n_layers: of the model; 0: from the first list of layers in the file.

    >>> read_plans("examples/llama175b_manual.yaml", 96)
    {'sapp': <Plan: 96 layers on 16 stages of 3>}
    """
    c, err, heard = owned("ek_strategies *", _lib.ek_strategies_clear), new_error(), Heard()
    body = _ffi.new("ek_layer *")
    layers = _ffi.new("ek_layers *", _lib.ek_layers_bare(n_layers, body)) if n_layers else _ffi.NULL
    check(_lib.ek_strategies_read(path_of(path), layers, 0, heard.listener, c, err), err)
    heard.say()
    plans: "dict[str, Plan]" = {}
    for i in range(c.n):
        plan = Plan._of(_ffi.addressof(c.strategy[i], "plan"), c)
        plans[text_of(c.strategy[i].name)] = plan
    return plans


class Plan:
    """Layers of each chunk of each stage, and the number of the first ones with each kind of recomputation.

    layers, full, select, comm: whole numbers [chunk][stage], or [stage] with one chunk a stage; lists or NumPy arrays.
    The lists of recomputation are 0 where they are not given.

    >>> plan = Plan([6, 6, 6, 6], full=[3, 2, 1, 0])
    >>> plan.n_stages, plan.layers.tolist()
    (4, [[6, 6, 6, 6]])
    """

    def __init__(self, layers: Any, full: Any = None, select: Any = None, comm: Any = None) -> None:
        rows, err = grid(layers, "layers"), new_error()
        c = owned("ek_plan *", _lib.ek_plan_clear)
        check(_lib.ek_plan_init(c, len(rows[0]), len(rows), err), err)
        for name, values in (("layers", rows), ("full", full), ("select", select), ("comm", comm)):
            if values is None:
                continue
            lists = grid(values, name)
            if len(lists) != len(rows) or len(lists[0]) != len(rows[0]):
                raise InputError(f"{name} has {len(lists)} x {len(lists[0])} values, but layers has {len(rows)} x "
                                 f"{len(rows[0])}; give one for each chunk and stage")
            at = getattr(c, name)
            for i, value in enumerate(value for row in lists for value in row):
                at[i] = value
        self._c, self._owner = c, c
        check(_lib.ek_plan_check_layers(c, self.n_layers, err), err)

    @classmethod
    def _of(cls, c: Any, owner: object) -> "Plan":
        plan = cls.__new__(cls)
        plan._c, plan._owner = c, owner
        return plan

    @property
    def n_stages(self) -> int:
        """Stages."""
        return int(self._c.n_stages)

    @property
    def n_chunks(self) -> int:
        """Chunks of a stage."""
        return int(self._c.n_chunks)

    @property
    def n_layers(self) -> int:
        """Body layers of the model."""
        return sum(self._c.layers[i] for i in range(self.n_stages * self.n_chunks))

    def _grid(self, name: str) -> Array:
        return view(getattr(self._c, name), (self.n_chunks, self.n_stages), self._owner)

    @property
    def layers(self) -> Array:
        """[n_chunks, n_stages] body layers, int32, not copied."""
        return self._grid("layers")

    @property
    def full(self) -> Array:
        """[n_chunks, n_stages] layers that are recomputed whole, int32, not copied."""
        return self._grid("full")

    @property
    def select(self) -> Array:
        """[n_chunks, n_stages] layers with recomputation of selected operators, int32, not copied."""
        return self._grid("select")

    @property
    def comm(self) -> Array:
        """[n_chunks, n_stages] layers with recomputation of communication, int32, not copied."""
        return self._grid("comm")

    def to(self, framework: str, *, name: str = "plan", schedule: Optional[str] = None,
           n_micro_batches: int = 0) -> str:
        """The plan as settings of a framework, a str; as printed by `evenkeel convert` without a model.

        >>> print(Plan([6, 6, 6, 6]).to("megatron").splitlines()[0])
        # Plan 'plan' as settings of Megatron: 24 layers, 4 stages, schedule 1f1b.
        """
        kept = _ffi.new("char[]", name.encode())
        found = find_schedule(schedule)
        return emitted(framework, _ffi.new("ek_emission *", {
            "name": kept, "plan": self._c, "n_layers": self.n_layers, "n_micro_batches": n_micro_batches, "n_pieces": 1,
            "schedule": found if found != _ffi.NULL else _lib.ek_schedule_for(self.n_chunks, 1, False)}))

    def apply(self, path: Path, *, schedule: Optional[str] = None, n_micro_batches: int = 0) -> str:
        """The text of a training YAML of MindFormers with the plan in it; the file stays as it is.

        >>> text = Plan([6] * 16).apply("examples/llama175b_train.yaml")
        >>> "pipeline_stage: 16" in text
        True
        """
        return applied(path, self._c, self.n_layers, n_micro_batches, 1, find_schedule(schedule))

    def __repr__(self) -> str:
        return f"<Plan: {self.n_layers} layers on {self.n_stages} stages of {self.n_chunks}>"
