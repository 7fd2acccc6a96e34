"""Simulates plans under a schedule."""
from __future__ import annotations

from typing import Any, Iterator, Optional, Union

from evenkeel._base import Array, Heard, InputError, Numbers, Path, ProgressFunction, Result, Watch, check, doubles
from evenkeel._base import find_schedule, new_error, owned, pandas, path_of, text_of, view
from evenkeel._evenkeel import ffi as _ffi, lib as _lib
from evenkeel._layers import Layers, layers_of
from evenkeel._plan import Plan, applied, emitted

DEFAULT_MICRO_BATCHES = 4


class Lists:
    """The caller's values for each stage and micro-batch, kept as long as the objects that borrow them."""

    def __init__(self, p2p_time: float, p2p_blocking: bool, p2p_edges: Optional[Numbers],
                 stage_memory_mb: Optional[Numbers], stage_speed: Optional[Numbers],
                 micro_batch_cost: Optional[Numbers], activation_limit: float, layers: Layers) -> None:
        self.values = _ffi.new("ekpy_lists *", {"activation_limit": activation_limit})
        self.memory, n = self._take(stage_memory_mb, "stage_memory_mb", 1, 1e9)
        self.values.stage_memory_mb, self.values.n_memory = self.memory, n
        self.speed, n = self._take(stage_speed, "stage_speed", 1e-3, 1e3)
        self.slowdown = _ffi.new("double[]", [1 / speed for speed in self.speed]) if n else _ffi.NULL
        self.values.slowdown, self.values.n_slowdown = self.slowdown, n
        self.edges, n = self._take(p2p_edges, "p2p_edges", 0, 1e12)
        self.values.edge_time, self.values.n_edges = self.edges, n
        self.costs, n = self._take(micro_batch_cost, "micro_batch_cost", 1e-3, 1e3)
        pieces = layers.n_pieces
        self.scale = _ffi.new("double[]", [cost for cost in self.costs for _ in range(pieces)]) if n else _ffi.NULL
        self.values.micro_batch_scale, self.values.n_scale = self.scale, n * pieces
        self.train = layers._train if pieces > 1 else _ffi.NULL
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
        return float(max(self.memory)) if self.values.n_memory else limit

    def report(self) -> "dict[str, Any]":
        return {"stage_memory_mb": self.memory, "stage_speed": self.speed, "micro_batch_cost": self.costs,
                "train_file": self.train}


class Case(Result):
    """A plan with its simulation. Times are in the unit of the layers' times, memory is in MB.

    >>> case = simulate("examples/llama175b_manual.yaml", "examples/llama175b_init.yaml").cases[0]
    >>> case.name, case.schedule, case.plan.n_stages, case.blocks["start"].shape
    ('sapp', 'interleaved-less-memory', 16, (1536,))
    """

    def __init__(self, owner: Any, layers: Layers, cases: Any, index: int, report: "dict[str, Any]", lists: Lists,
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
        return stage_rows(self.json())

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
        """[n_stages] MB in use throughout the step, not copied."""
        return self._view(self._timeline.static_mb, self._timeline.shape.n_stages)

    @property
    def first(self) -> Array:
        """[n_stages + 1] blocks of stage s are blocks[first[s]:first[s + 1]], int64, not copied."""
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
        """The plan as settings of a framework, a str; where it has no equivalent, the nearest plan that has one, with
        the cost of the change. As printed by `evenkeel convert` with the model, and by `evenkeel balance --emit`.

        >>> case = balance("examples/moe_mtp_layers.json", 4, 8).case
        >>> print(case.to("mindformers").splitlines()[0])
        # Plan 'result' as settings of MindFormers: 32 layers, 4 stages, 8 micro-batches, schedule 1f1b.
        """
        return self._told(framework, self._order())

    def _told(self, framework: str, order: Any) -> str:
        return emitted(framework, _ffi.new("ek_emission *", {
            "name": self._cases.cases[self._index].name, "plan": _ffi.addressof(self._cases.plans, self._index),
            "n_layers": self._layers._c.n_layers, "schedule": self._timeline.schedule,
            "n_micro_batches": self.n_micro_batches, "n_pieces": self._layers.n_pieces, "layers": self._layers._c,
            "order": order, "comm": _ffi.addressof(self._timeline.comm), "memory_limit_mb": self._lists.limit(self._limit),
            "stage_memory_mb": self._lists.memory}))

    def apply(self, path: Path) -> str:
        """The text of a training YAML of MindFormers with the plan in it; the file stays as it is.

        >>> case = simulate("examples/llama175b_manual.yaml", "examples/llama175b_init.yaml").cases[0]
        >>> "pp_interleave_num: 3" in case.apply("examples/llama175b_train.yaml")
        True
        """
        return applied(path, _ffi.addressof(self._cases.plans, self._index), self._layers._c.n_layers,
                       self.n_micro_batches, self._layers.n_pieces, self._timeline.schedule)


def stage_rows(answer: Any) -> "list[list[str]]":
    """Stages of the JSON answer as a table."""
    stages = answer.get("stages", [])
    names = list(stages[0]) if stages else []
    rows = [["stage", *names]]
    for s, stage in enumerate(stages):
        rows.append([str(s), *("" if stage[name] is None else f"{stage[name]:.6g}" for name in names)])
    return rows if stages else []


class Simulation(Result):
    """Simulated plans, made by simulate(). `cases` has one for each; step_time and other values are those of the
    first."""

    def __init__(self, layers: Layers, asked: Any, lists: Lists, limit: float, path: Optional[Path],
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
        heard.say()
        notes.say()
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
        rows: "list[list[str]]" = []
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


def less(less_memory: Optional[bool]) -> int:
    return -1 if less_memory is None else int(less_memory)


def simulate(plan: Union[Plan, Path, "dict[str, Plan]"], layers: Union[Layers, Path], *,
             n_micro_batches: Optional[int] = None, n_stages: int = 0, n_chunks: int = 0,
             schedule: Optional[str] = None, less_memory: Optional[bool] = None,
             memory_limit_mb: Optional[float] = None, p2p_time: Optional[float] = None, p2p_blocking: bool = False,
             p2p_edges: Optional[Numbers] = None, stage_memory_mb: Optional[Numbers] = None,
             stage_speed: Optional[Numbers] = None, micro_batch_cost: Optional[Numbers] = None,
             activation_limit: float = 0.0, progress: ProgressFunction = None) -> Simulation:
    """Simulate given plans under a schedule, without a search.

    plan: a plan file (output of `balance --format yaml`, named strategies, a training file), a Plan, or Plans by name.
    layers: Layers, or a layer or init file. n_micro_batches: of a step; else the plan's, else 4. n_stages, n_chunks:
    that the plans must have; 0: any. schedule: a name; else the plan's own, else by chunks and less_memory (the shorter
    warm-up of interleaving). memory_limit_mb: MB to compare peaks with; None: none. p2p_time: of one send between
    stages, in the unit of the layers' times (0, or an init file's). p2p_blocking: a send occupies both stages.
    p2p_edges: [n_stages] time of a send from each stage to the next. stage_memory_mb: [n_stages] a limit for each.
    stage_speed: [n_stages], 1 for the speed of the layers' times. micro_batch_cost: [n_micro_batches] factors of times
    and activations. activation_limit: of schedules that make their order, in micro-batches of a stage; 0: their own.
    progress: called with a Progress a few times a second.

    >>> layers = make_layers(3.0, n_layers=24, activation_mb={"none": 900, "full": 60}, parameter_mb=1200)
    >>> simulate(Plan([6, 6, 6, 6], full=[3, 2, 1, 0]), layers, n_micro_batches=8).step_time
    657.0
    """
    model = layers_of(layers)
    if p2p_time is None:
        p2p_time = model._run.p2p_time if model._run is not None else 0.0
    lists = Lists(p2p_time, p2p_blocking, p2p_edges, stage_memory_mb, stage_speed, micro_batch_cost, activation_limit,
                  model)
    limit = 0.0 if memory_limit_mb is None else memory_limit_mb
    asked = _ffi.new("ek_case_options *", {
        "n_stages": n_stages, "n_chunks": n_chunks, "n_micro_batches": n_micro_batches or 0,
        "n_pieces": model.n_pieces,
        "less_memory": less(less_memory), "same_chunks": True, "schedule": find_schedule(schedule),
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
    return Simulation(model, asked, lists, limit, path, plans, n_micro_batches or DEFAULT_MICRO_BATCHES,
                      less(less_memory), progress)
