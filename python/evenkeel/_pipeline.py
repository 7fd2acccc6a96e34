"""Plans of a pipeline: simulating them, finding the best, and writing them as settings of a framework."""
from __future__ import annotations

import math as _math
from typing import Any, Iterator, Optional, Sequence, Union

from evenkeel._base import Array, Heard, InputError, Numbers, Path, ProgressFunction, Result, Watch, check, doubles
from evenkeel._base import find_schedule, grid, new_error, owned, pandas, path_of, taken_text, text_of, view
from evenkeel._evenkeel import ffi as _ffi, lib as _lib
from evenkeel._layers import KINDS, Layers, layers_of

_DEFAULT_STAGES = _DEFAULT_MICRO_BATCHES = 4


def frameworks() -> "list[str]":
    """Names of the frameworks that a plan's to() knows.

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
    return taken_text(lambda text, size, err: _lib.ekpy_emit(emitter, emission, text, size, told, err))


def applied(path: Path, plan: Any, n_layers: int, n_micro_batches: int, n_pieces: int, schedule: Any) -> str:
    heard = Heard()
    change = _ffi.new("ek_train_change *", {
        "plan": plan, "n_layers": n_layers, "n_micro_batches": n_micro_batches, "n_pieces": n_pieces,
        "schedule": schedule})
    text = taken_text(lambda text, size, err: _lib.ek_train_apply(path_of(path), change, heard.listener, text, size,
                                                                  err))
    heard.say(4)
    return text


class Plan:
    """Layers of each chunk of each stage, and how many of the first ones recompute what.

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
        """[n_chunks, n_stages] layers whose selected operators are recomputed, int32, not copied."""
        return self._grid("select")

    @property
    def comm(self) -> Array:
        """[n_chunks, n_stages] layers whose communication is recomputed, int32, not copied."""
        return self._grid("comm")

    def to(self, framework: str, *, name: str = "plan", schedule: Optional[str] = None,
           n_micro_batches: int = 0) -> str:
        """Settings of a framework that say the plan, a str; what `evenkeel convert` prints without a model.

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


class _Lists:
    """What a caller says of each stage and micro-batch, kept for as long as what borrows it."""

    def __init__(self, p2p_time: float, p2p_blocking: bool, p2p_edges: Optional[Numbers],
                 stage_memory_mb: Optional[Numbers], stage_speed: Optional[Numbers],
                 micro_batch_cost: Optional[Numbers], activation_limit: float) -> None:
        self.values = _ffi.new("ekpy_lists *", {"activation_limit": activation_limit})
        self.memory, n = self._take(stage_memory_mb, "stage_memory_mb", 1, 1e9)
        self.values.stage_memory_mb, self.values.n_memory = self.memory, n
        self.speed, n = self._take(stage_speed, "stage_speed", 1e-3, 1e3)
        self.slowdown = _ffi.new("double[]", [1 / speed for speed in self.speed]) if n else _ffi.NULL
        self.values.slowdown, self.values.n_slowdown = self.slowdown, n
        self.edges, n = self._take(p2p_edges, "p2p_edges", 0, 1e12)
        self.values.edge_time, self.values.n_edges = self.edges, n
        self.costs, n = self._take(micro_batch_cost, "micro_batch_cost", 1e-3, 1e3)
        self.values.micro_batch_scale, self.values.n_scale = self.costs, n
        self.lists = _ffi.new("ek_balance_lists *")
        _lib.ekpy_lists_of(self.lists, self.values)
        self.comm = _ffi.new("ek_comm *", {"p2p_time": p2p_time, "blocking": p2p_blocking})

    @staticmethod
    def _take(values: Optional[Numbers], what: str, least: float, most: float) -> Any:
        if values is None:
            return _ffi.NULL, 0
        numbers = doubles(values, what)
        for number in numbers:
            if not least <= number <= most:
                raise InputError(f"{what} must be from {least:g} to {most:g} (got {number:g})")
        return _ffi.new("double[]", numbers), len(numbers)

    def limit(self, limit: float) -> float:
        """Of a report: the largest where each stage has its own."""
        return max(self.memory) if self.values.n_memory else limit

    def report(self) -> "dict[str, Any]":
        return {"stage_memory_mb": self.memory, "stage_speed": self.speed, "micro_batch_cost": self.costs}


class Case(Result):
    """A plan with its simulation. Times are in the unit of the layers' times, memory is in MB.

    >>> case = simulate("examples/llama175b_manual.yaml", "examples/llama175b_init.yaml").cases[0]
    >>> case.name, case.schedule, case.plan.n_stages, case.blocks["start"].shape
    ('sapp', 'interleaved-less-memory', 16, (1536,))
    """

    def __init__(self, owner: Any, layers: Layers, cases: Any, index: int, report: "dict[str, Any]", lists: _Lists,
                 limit: float) -> None:
        self._owner, self._layers, self._cases, self._index = owner, layers, cases, index
        self._timeline = _ffi.addressof(cases.timelines, index)
        self._lists, self._limit = lists, limit
        self._report = _ffi.new("ek_report *", {
            "layers": layers._c, "memory_limit_mb": lists.limit(limit), "n_cases": 1,
            "cases": _ffi.addressof(cases.cases, index), **report})

    def _output(self, format: str) -> Any:
        return _lib.ek_output_of_balance(self._report)

    def _title(self) -> str:
        return f"Plan '{self.name}' under {self.schedule}: step {self.step_time:.6g}"

    def _rows(self) -> "list[list[str]]":
        return _stage_rows(self.json())

    @property
    def name(self) -> str:
        """The plan's name."""
        return text_of(self._cases.cases[self._index].name)

    @property
    def plan(self) -> Plan:
        """The plan."""
        return Plan._of(_ffi.addressof(self._cases.plans, self._index), (self._cases, self._owner))

    @property
    def schedule(self) -> str:
        """Name of the schedule that it ran under."""
        return text_of(self._timeline.schedule.name)

    @property
    def n_micro_batches(self) -> int:
        """Micro-batches of the step."""
        return int(self._timeline.shape.n_micro_batches) // max(int(self._timeline.shape.n_pieces), 1)

    @property
    def step_time(self) -> float:
        """The step: end of the last block."""
        return float(self._timeline.step_time)

    @property
    def bubble(self) -> "dict[str, float]":
        """Idle share over useful work: real = ideal + imba + recompute."""
        bubble = self._timeline.bubble
        return {name: getattr(bubble, name) for name in ("real", "ideal", "imba", "recompute")}

    def _view(self, pointer: Any, *shape: int) -> Array:
        return view(pointer, shape, (self._cases, self._owner))

    @property
    def busy(self) -> Array:
        """[n_stages] share of the step in which the stage computes, not copied."""
        return self._view(self._timeline.busy, self._timeline.shape.n_stages)

    @property
    def peak_mb(self) -> Array:
        """[n_stages] peaks, MB, not copied."""
        return self._view(self._timeline.peak_mb, self._timeline.shape.n_stages)

    @property
    def static_mb(self) -> Array:
        """[n_stages] MB that are held throughout the step, not copied."""
        return self._view(self._timeline.static_mb, self._timeline.shape.n_stages)

    @property
    def first(self) -> Array:
        """[n_stages + 1] blocks of stage s are blocks[first[s]:first[s + 1]], not copied."""
        return self._view(self._timeline.first, self._timeline.shape.n_stages + 1)

    @property
    def blocks(self) -> Array:
        """[n_blocks] the timeline, stage by stage in running order: a NumPy array with the fields of ek_interval (start,
        end, memory_mb, during_mb, activation_mb, recompute_time, micro_batch, chunk, kind), not copied.

        kind is 0 for forward, 1 for backward, 2 for the gradient of the weights.
        """
        return self._view(self._timeline.block, self._timeline.n_blocks)

    @property
    def path(self) -> Array:
        """[n] indices into blocks of the critical path in order of time, not copied."""
        return self._view(self._timeline.path, self._timeline.n_path)

    def stage_times(self) -> Array:
        """[n_stages] how each stage spends the step: a NumPy array with the fields forward, backward, weight, recompute,
        transfer and idle, which add up to the step.

        >>> case = simulate("examples/llama175b_manual.yaml", "examples/llama175b_init.yaml").cases[0]
        >>> round(sum(case.stage_times()[0].tolist()) / case.step_time, 9)
        1.0
        """
        err, n = new_error(), self._timeline.n_blocks
        waits = _ffi.new("ek_wait[]", n)
        check(_lib.ek_timeline_waits(self._timeline, waits, err), err)
        times = _ffi.new("ek_stage_time[]", int(self._timeline.shape.n_stages))
        _lib.ek_timeline_stage_times(self._timeline, waits, times)
        return view(_ffi.cast("ek_stage_time *", times), (len(times),), times)

    def frame(self) -> Any:
        """A row for each stage, a pandas.DataFrame: layers, peak_memory_mb, headroom_mb, static_memory_mb, busy.

        >>> case = simulate("examples/llama175b_manual.yaml", "examples/llama175b_init.yaml").cases[0]
        >>> len(case.frame())
        16
        """
        return pandas().DataFrame(self.json()["stages"])

    def timeline(self) -> Any:
        """A row for each block, a pandas.DataFrame: stage and the fields of blocks.

        >>> case = simulate("examples/llama175b_manual.yaml", "examples/llama175b_init.yaml").cases[0]
        >>> case.timeline().groupby("stage")["end"].max().max() == case.step_time
        True
        """
        blocks, first = self.blocks, self.first
        frame = pandas().DataFrame({name: blocks[name] for name in blocks.dtype.names})
        frame.insert(0, "stage", [s for s in range(len(first) - 1) for _ in range(int(first[s]), int(first[s + 1]))])
        return frame

    def _order(self) -> Any:
        options, err = _ffi.new("ek_balance_options *"), new_error()
        values = self._lists.values
        options.comm, options.memory_limit_mb = self._timeline.comm, self._limit
        options.stage_memory_mb, options.slowdown = values.stage_memory_mb, values.slowdown
        options.micro_batch_scale, options.activation_limit = values.micro_batch_scale, values.activation_limit
        order = _ffi.new("ek_order **")
        shape = _ffi.addressof(self._timeline.shape)
        check(_lib.ek_order_for_plan(self._layers._c, _ffi.addressof(self._cases.plans, self._index),
                                     self._timeline.schedule, shape, options, order, err), err)
        return _ffi.gc(order[0], _lib.ek_order_free)

    def to(self, framework: str) -> str:
        """Settings of a framework that say the plan, a str; where they cannot, those of the nearest plan that can be
        told, with what that costs. What `evenkeel convert` prints with the model, and `evenkeel balance --emit`.

        >>> case = balance("examples/moe_mtp_layers.json", 4, 8).case
        >>> print(case.to("mindformers").splitlines()[0])
        # Plan 'result' as settings of MindFormers: 32 layers, 4 stages, 8 micro-batches, schedule 1f1b.
        """
        order = self._order()
        return emitted(framework, _ffi.new("ek_emission *", {
            "name": self._cases.cases[self._index].name, "plan": _ffi.addressof(self._cases.plans, self._index),
            "n_layers": self._layers._c.n_layers, "schedule": self._timeline.schedule,
            "n_micro_batches": self.n_micro_batches, "n_pieces": 1, "layers": self._layers._c, "order": order,
            "comm": _ffi.addressof(self._timeline.comm), "memory_limit_mb": self._lists.limit(self._limit),
            "stage_memory_mb": self._lists.memory}))

    def apply(self, path: Path) -> str:
        """The text of a training YAML of MindFormers with the plan in it; the file stays as it is.

        >>> case = simulate("examples/llama175b_manual.yaml", "examples/llama175b_init.yaml").cases[0]
        >>> "pp_interleave_num: 3" in case.apply("examples/llama175b_train.yaml")
        True
        """
        return applied(path, _ffi.addressof(self._cases.plans, self._index), self._layers._c.n_layers,
                       self.n_micro_batches, 1, self._timeline.schedule)


def _stage_rows(answer: Any) -> "list[list[str]]":
    """Stages of the JSON answer as a table."""
    stages = answer.get("stages", [])
    names = list(stages[0]) if stages else []
    rows = [["stage", *names]]
    for s, stage in enumerate(stages):
        rows.append([str(s), *("" if stage[name] is None else f"{stage[name]:.6g}" for name in names)])
    return rows if stages else []


class Simulation(Result):
    """Simulated plans, made by simulate(). `cases` has one for each; step_time and what else is asked of it is of the
    first."""

    def __init__(self, layers: Layers, asked: Any, lists: _Lists, limit: float, path: Optional[Path],
                 plans: "list[tuple[str, Plan]]", n_micro_batches: int, less_memory: int,
                 progress: ProgressFunction) -> None:
        err, heard, notes, watch = new_error(), Heard(), Heard(), Watch(progress)
        self._layers, self._lists = layers, lists
        self._c = owned("ek_cases *", _lib.ek_cases_clear)

        def run() -> None:
            if path is not None:
                check(_lib.ek_cases_add_file(self._c, asked, layers._c, path_of(path), heard.listener, notes.listener,
                                             err), err)
            for name, plan in plans:
                check(_lib.ek_plan_check(plan._c, layers._c, err), err)
                check(_lib.ek_cases_add(self._c, asked, layers._c, name.encode(), _ffi.NULL, plan._c, n_micro_batches,
                                        less_memory, err), err)

        watch.run(run)
        heard.say(4)
        self._report = _ffi.new("ek_report *", {
            "layers": layers._c, "memory_limit_mb": lists.limit(limit), "n_cases": self._c.n, "cases": self._c.cases,
            "list": self._c.n > 1, **lists.report()})
        self._limit = limit

    def _output(self, format: str) -> Any:
        output = _lib.ek_output_of_balance(self._report)
        if format == "svg" and self._c.n > 1:
            output.index = -1  # all side by side
        return output

    def _title(self) -> str:
        return "Simulated: " + ", ".join(f"{case.name} {case.step_time:.6g}" for case in self.cases)

    def _rows(self) -> "list[list[str]]":
        rows = []
        for case in self.cases:
            own = case._rows()
            rows += [["plan", *own[0]]] if not rows else []
            rows += [[case.name, *row] for row in own[1:]]
        return rows

    @property
    def cases(self) -> "list[Case]":
        """The plans with their simulations, in the order of the file."""
        return [Case(self, self._layers, self._c, i, self._lists.report(), self._lists, self._limit)
                for i in range(self._c.n)]

    @property
    def step_time(self) -> float:
        """Step of the first plan, in the unit of the layers' times."""
        return float(self._c.timelines[0].step_time)

    def frame(self) -> Any:
        """A row for each stage of each plan, a pandas.DataFrame.

        >>> len(simulate("examples/llama175b_manual.yaml", "examples/llama175b_init.yaml").frame())
        16
        """
        frames = [case.frame().assign(plan=case.name, stage=range(case.plan.n_stages)) for case in self.cases]
        frame = pandas().concat(frames, ignore_index=True)
        return frame[["plan", "stage", *(name for name in frame.columns if name not in ("plan", "stage"))]]

    def __iter__(self) -> Iterator[Case]:
        return iter(self.cases)

    def __len__(self) -> int:
        return int(self._c.n)

    def __getitem__(self, index: int) -> Case:
        return self.cases[index]


def _less(less_memory: Optional[bool]) -> int:
    return -1 if less_memory is None else int(less_memory)


def simulate(plan: Union[Plan, Path, "dict[str, Plan]"], layers: Union[Layers, Path], *,
             n_micro_batches: Optional[int] = None, n_stages: int = 0, n_chunks: int = 0,
             schedule: Optional[str] = None, less_memory: Optional[bool] = None,
             memory_limit_mb: Optional[float] = None, p2p_time: Optional[float] = None, p2p_blocking: bool = False,
             p2p_edges: Optional[Numbers] = None, stage_memory_mb: Optional[Numbers] = None,
             stage_speed: Optional[Numbers] = None, micro_batch_cost: Optional[Numbers] = None,
             activation_limit: float = 0.0, progress: ProgressFunction = None) -> Simulation:
    """Run given plans through a schedule; nothing is searched.

    plan: a plan file (what `balance --format yaml` writes, named strategies, a training file), a Plan, or Plans by
    name. layers: Layers, or a layer or init file. n_micro_batches: of a step; else the plan's, else 4. n_stages, n_chunks:
    that the plans must have; 0: any. schedule: a name; else the plan's own, else by chunks and less_memory (the shorter
    warm-up of interleaving). memory_limit_mb: MB to compare peaks with; None: none. p2p_time: of one send between
    stages, in the unit of the layers' times (0, or an init file's). p2p_blocking: a send occupies both stages.
    p2p_edges: [n_stages] time of a send from each stage to the next. stage_memory_mb: [n_stages] a limit for each.
    stage_speed: [n_stages], 1 as the layers' times say. micro_batch_cost: [n_micro_batches] factors of times and
    activations. activation_limit: of schedules that make their order, in micro-batches of a stage; 0: their own.
    progress: is told a Progress a few times a second.

    >>> layers = make_layers(3.0, n_layers=24, activation_mb={"none": 900, "full": 60}, parameter_mb=1200)
    >>> simulate(Plan([6, 6, 6, 6], full=[3, 2, 1, 0]), layers, n_micro_batches=8).step_time
    657.0
    """
    model = layers_of(layers)
    if p2p_time is None:
        p2p_time = model._run.p2p_time if model._run is not None else 0.0
    lists = _Lists(p2p_time, p2p_blocking, p2p_edges, stage_memory_mb, stage_speed, micro_batch_cost, activation_limit)
    limit = 0.0 if memory_limit_mb is None else memory_limit_mb
    asked = _ffi.new("ek_case_options *", {
        "n_stages": n_stages, "n_chunks": n_chunks, "n_micro_batches": n_micro_batches or 0, "n_pieces": 1,
        "less_memory": _less(less_memory), "same_chunks": True, "schedule": find_schedule(schedule),
        "comm": lists.comm[0], "memory_limit_mb": limit, "lists": lists.lists})
    plans: "list[tuple[str, Plan]]" = []
    path: Optional[Path] = None
    if isinstance(plan, Plan):
        plans = [("plan", plan)]
    elif isinstance(plan, dict):
        plans = list(plan.items())
        if not plans:
            raise InputError("there is no plan to simulate; give one")
    else:
        path = plan
    return Simulation(model, asked, lists, limit, path, plans, n_micro_batches or _DEFAULT_MICRO_BATCHES,
                      _less(less_memory), progress)


class Balance(Result):
    """A plan with its simulation, made by balance()."""

    def __init__(self, layers: Layers, shape: Any, schedule: Any, options: Any, lists: _Lists,
                 report: "dict[str, Any]", watch: Watch) -> None:
        err = new_error()
        self._layers, self._lists, self._limit = layers, lists, float(options.memory_limit_mb)
        order, self._search = _ffi.new("ek_order **"), owned("ek_balance_result *", _lib.ek_balance_result_clear)
        self._cases = owned("ek_cases *", _lib.ek_cases_clear)
        self._order: Any = None
        asked = _ffi.new("ek_case_options *", {
            "n_stages": shape.n_stages, "n_chunks": shape.n_chunks, "n_micro_batches": shape.n_micro_batches,
            "n_pieces": 1, "less_memory": -1, "schedule": schedule, "comm": lists.comm[0], "lists": lists.lists,
            "memory_limit_mb": self._limit})

        def run() -> None:
            check(_lib.ek_balance_arranged(layers._c, schedule, shape, options, order, self._search, err), err)
            self._order = _ffi.gc(order[0], _lib.ek_order_free)
            if self.feasible:
                check(_lib.ek_cases_add_run(self._cases, asked, layers._c, b"result", _ffi.NULL, _ffi.addressof(
                    self._search.plan), self._order, err), err)

        watch.run(run)
        self._extra = {**lists.report(), **report}
        self._report = _ffi.new("ek_report *", {
            "layers": layers._c, "memory_limit_mb": lists.limit(self._limit), "n_cases": self._cases.n,
            "cases": self._cases.cases, "search": self._search, **self._extra})

    def _output(self, format: str) -> Any:
        return _lib.ek_output_of_balance(self._report)

    def _title(self) -> str:
        if not self.feasible:
            return f"No plan fits; the smallest limit is {_math.ceil(self._search.smallest_limit_mb)} MB"
        return f"Balanced ({self.status}): step {self.step_time:.6g}"

    def _rows(self) -> "list[list[str]]":
        return _stage_rows(self.json())

    @property
    def feasible(self) -> bool:
        """Does a plan fit?"""
        return bool(self._search.status != _lib.EK_BALANCE_INFEASIBLE)

    @property
    def status(self) -> str:
        """"optimal" (proved), "feasible", "time_limit" or "infeasible"."""
        return text_of(_lib.ek_balance_status_name[self._search.status])

    @property
    def step_time(self) -> float:
        """Simulated step, in the unit of the layers' times."""
        return float(self._search.step_time)

    @property
    def lower_bound(self) -> float:
        """No plan within the limits has a shorter step, in the same unit; 0: nothing is known."""
        return float(self._search.lower_bound)

    @property
    def gap(self) -> float:
        """(step_time - lower_bound) / step_time."""
        return float(self._search.gap)

    def _case(self) -> Case:
        if not self.feasible:
            raise InputError(f"no plan fits; the smallest limit is {_math.ceil(self._search.smallest_limit_mb)} MB")
        return Case(self, self._layers, self._cases, 0, self._extra, self._lists, self._limit)

    @property
    def case(self) -> Case:
        """The plan with its simulation: timeline, peaks, busy shares. InputError where nothing fits."""
        return self._case()

    @property
    def plan(self) -> Plan:
        """The plan. InputError where nothing fits."""
        return self._case().plan

    def to(self, framework: str) -> str:
        """Settings of a framework, as `evenkeel balance --emit`; see Case.to().

        >>> "pipeline" in balance("examples/moe_mtp_layers.json", 4, 8).to("megatron")
        True
        """
        case = self._case()
        case._order = lambda: self._order  # type: ignore[method-assign]
        return case.to(framework)

    def apply(self, path: Path) -> str:
        """The text of a training YAML of MindFormers with the plan in it; the file stays as it is.

        >>> plan = balance("examples/llama175b_init.yaml", 16, 16)
        >>> "pipeline_stage: 16" in plan.apply("examples/llama175b_train.yaml")
        True
        """
        return self._case().apply(path)

    def frame(self) -> Any:
        """A row for each stage, a pandas.DataFrame.

        >>> len(balance("examples/moe_mtp_layers.json", 4, 8).frame())
        4
        """
        return self._case().frame()


def balance(layers: Union[Layers, Path], n_stages: Optional[int] = None, n_micro_batches: Optional[int] = None, *,
            n_chunks: Optional[int] = None, schedule: Optional[str] = None, less_memory: Optional[bool] = None,
            memory_limit_mb: Optional[float] = None, stage_memory_mb: Optional[Numbers] = None,
            stage_speed: Optional[Numbers] = None, p2p_time: Optional[float] = None, p2p_blocking: bool = False,
            p2p_edges: Optional[Numbers] = None, micro_batch_cost: Optional[Numbers] = None,
            activation_limit: float = 0.0, fixed_layers: Optional["dict[int, int]"] = None,
            forbidden: Sequence[str] = (), min_layers: int = 1, time_limit: Optional[float] = None,
            gap: Optional[float] = None, n_threads: int = 0, seed: int = 1,
            progress: ProgressFunction = None) -> Balance:
    """The plan with the shortest simulated step whose peaks keep the limit (MB). layers: Layers, or a layer or init file.

    n_stages, n_micro_batches, n_chunks (of a stage), less_memory, memory_limit_mb: what is not given is an init file's,
    else 4, 4, the least of the schedule, false and 56000. schedule, p2p_*, stage_*, micro_batch_cost,
    activation_limit, progress: as for simulate(). fixed_layers: {stage: layers}. forbidden: kinds of recomputation that
    a plan may not use. min_layers: of a chunk. time_limit: seconds. gap: the share of the step that the proof may
    leave. n_threads: 0, all cores; the answer does not depend on it.

    >>> balance("examples/moe_mtp_layers.json", 4, 8, schedule="1f1b").feasible
    True
    """
    model = layers_of(layers)
    run = model._run if model._run is not None and model._run.given else None
    found = find_schedule(schedule)
    if n_stages is None:
        n_stages = (run.n_stages if run else 0) or _DEFAULT_STAGES
    if n_micro_batches is None:
        n_micro_batches = (run.n_micro_batches if run else 0) or _DEFAULT_MICRO_BATCHES
    if n_chunks is None and schedule is None and run and run.n_chunks > 0:
        n_chunks = run.n_chunks
    if less_memory is None and run and run.less_memory > 0:
        less_memory = True
    if n_chunks is None:
        n_chunks = found.min_chunks if found != _ffi.NULL else 1
    options = _ffi.new("ek_balance_options *")
    _lib.ek_balance_options_init(options)
    if memory_limit_mb is not None:
        options.memory_limit_mb = memory_limit_mb
    elif run and run.memory_mb > 0:
        options.memory_limit_mb = run.memory_mb
    if p2p_time is None:
        p2p_time = model._run.p2p_time if model._run is not None else 0.0
    lists = _Lists(p2p_time, p2p_blocking, p2p_edges, stage_memory_mb, stage_speed, micro_batch_cost, activation_limit)
    shape = _ffi.new("ek_shape *", (n_stages, n_chunks, n_micro_batches, 1))
    options.n_threads, options.seed, options.min_layers, options.comm = n_threads, seed, min_layers, lists.comm[0]
    if time_limit is not None:
        options.time_limit = time_limit
    if gap is not None:
        options.gap = gap
    if time_limit is not None or gap is not None:
        options.proof_limit = _math.inf
    own, err = _ffi.new("void **"), new_error()
    check(lists.lists.fill(lists.lists.user, shape, options, own, err), err)
    report: "dict[str, Any]" = {}
    if fixed_layers:
        for stage in fixed_layers:
            if not 0 <= stage < n_stages:
                raise InputError(f"fixed_layers: the pipeline has stages 0 to {n_stages - 1} (got {stage})")
        report["fixed_layers"] = _ffi.new("int[]", [fixed_layers.get(s, -1) for s in range(n_stages)])
        options.fixed_layers = report["fixed_layers"]
    for kind in forbidden:
        if kind not in KINDS:
            raise InputError(f"forbidden: no recomputation is called '{kind}'; there are {', '.join(KINDS)}")
        options.forbidden[KINDS.index(kind)] = True
    if forbidden:
        report["forbidden"] = _ffi.new("bool[]", [kind in forbidden for kind in KINDS])
    asked = _ffi.new("ek_case_options *", {"n_chunks": n_chunks, "n_pieces": 1, "schedule": found})
    watch = Watch(progress)
    _lib.ekpy_watch_balance(watch.c, options)
    return Balance(model, shape, _lib.ek_case_schedule(asked, n_chunks, _less(less_memory)), options, lists, report,
                   watch)
