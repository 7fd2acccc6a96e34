"""Finds the best plan of a pipeline."""
from __future__ import annotations

import math as _math
from operator import index as _index
from typing import Any, Callable, Optional, Sequence, SupportsIndex, Union

from evenkeel._base import InputError, Numbers, Path, ProgressFunction, Result, Watch, check, find_schedule, new_error
from evenkeel._base import owned, text_of
from evenkeel._evenkeel import ffi as _ffi, lib as _lib
from evenkeel._layers import KINDS, Layers, layers_of
from evenkeel._plan import Plan
from evenkeel._simulate import DEFAULT_MICRO_BATCHES, Case, Lists, less, stage_rows

_DEFAULT_STAGES = 4


class _Search:
    """The search problem, and the answer."""

    def __init__(self, layers: Layers, n_stages: int, n_micro_batches: int, less_memory: Optional[bool], options: Any,
                 lists: Lists) -> None:
        self.layers, self.n_stages, self.n_micro_batches = layers, n_stages, n_micro_batches
        self.less_memory, self.options, self.lists = less_memory, options, lists
        self.answer: Any = None  # ek_balance_result
        self.order: Any = None
        self.ranking: Any = _ffi.NULL

    def under(self, schedule: Any, n_chunks: int) -> None:
        """Under one schedule. NULL: by the chunks."""
        err, pieces, order = new_error(), self.layers.n_pieces, _ffi.new("ek_order **")
        asked = _ffi.new("ek_case_options *", {"n_chunks": n_chunks, "n_pieces": pieces, "schedule": schedule})
        self.schedule, self.n_chunks = _lib.ek_case_schedule(asked, n_chunks, less(self.less_memory)), n_chunks
        shape = _ffi.new("ek_shape *", (self.n_stages, n_chunks, self.n_micro_batches * pieces, pieces))
        own, answer = _ffi.new("void **"), owned("ek_balance_result *", _lib.ek_balance_result_clear)
        lists = self.lists.lists
        check(lists.fill(lists.user, shape, self.options, own, err), err)
        check(_lib.ek_balance_arranged(self.layers._c, self.schedule, shape, self.options, order, answer, err), err)
        self.answer, self.order = answer, _ffi.gc(order[0], _lib.ek_order_free)

    def among(self, every: bool, schedules: "list[Any]", chunks: "list[int]") -> None:
        """Under the best of several schedules and numbers of chunks."""
        choice, err = owned("ek_choice *", _lib.ek_choice_clear), new_error()
        tried, counts = _ffi.new("ek_schedule *[]", schedules), _ffi.new("int[]", chunks)
        asked = _ffi.new("ek_ranking_input *", {
            "layers": self.layers._c, "n_stages": self.n_stages, "n_micro_batches": self.n_micro_batches,
            "n_pieces": self.layers.n_pieces, "every_schedule": every, "n_schedules": len(schedules),
            "schedule": _ffi.cast("const ek_schedule *const *", tried), "n_chunk_counts": len(chunks),
            "chunk_counts": counts, "less_memory": less(self.less_memory) == 1, "options": self.options[0],
            "lists": self.lists.lists})
        check(_lib.ek_rank_schedules(asked, choice, err), err)
        skipped = choice.ranking.skipped
        if choice.schedule == _ffi.NULL:
            raise InputError("no schedule and number of chunks can be tried: " + "; ".join(
                f"{text_of(skipped[i].name)}: {text_of(skipped[i].reason)}" for i in range(choice.ranking.n_skipped)))
        self._choice, self.schedule, self.n_chunks = choice, choice.schedule, int(choice.n_chunks)
        self.answer, self.order = _ffi.addressof(choice.result), choice.order
        self.ranking = _ffi.addressof(choice.ranking)


class Balance(Result):
    """A plan with its simulation, made by balance()."""

    def __init__(self, search: _Search, find: Callable[[], None], report: "dict[str, Any]", watch: Watch) -> None:
        self._found, self._layers, self._lists = search, search.layers, search.lists
        self._limit = float(search.options.memory_limit_mb)
        self._cases = owned("ek_cases *", _lib.ek_cases_clear)

        def run() -> None:
            err = new_error()
            find()
            asked = _ffi.new("ek_case_options *", {
                "n_stages": search.n_stages, "n_chunks": search.n_chunks, "n_pieces": self._layers.n_pieces,
                "n_micro_batches": search.n_micro_batches, "less_memory": -1, "schedule": search.schedule,
                "comm": self._lists.comm[0], "lists": self._lists.lists, "memory_limit_mb": self._limit})
            if search.answer.status != _lib.EK_BALANCE_INFEASIBLE:
                check(_lib.ek_cases_add_run(self._cases, asked, self._layers._c, b"result", _ffi.NULL, _ffi.addressof(
                    search.answer, "plan"), search.order, err), err)

        watch.run(run)
        self._search = search.answer
        self._extra = {**self._lists.report(), **report}
        self._report = _ffi.new("ek_report *", {
            "layers": self._layers._c, "memory_limit_mb": self._lists.limit(self._limit), "n_cases": self._cases.n,
            "cases": self._cases.cases, "search": self._search, "ranking": search.ranking, **self._extra})

    def _output(self, format: str) -> Any:
        return _lib.ek_output_of_balance(self._report)

    def _title(self) -> str:
        if not self.feasible:
            return f"No plan fits; the smallest limit is {_math.ceil(self._search.smallest_limit_mb)} MB"
        return f"Balanced ({self.status}): step {self.step_time:.6g}"

    def _rows(self) -> "list[list[str]]":
        return stage_rows(self.json())

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

    @property
    def ranking(self) -> "list[dict[str, Any]]":
        """Where several schedules or numbers of chunks were tried: each of them (schedule, interleave, step_time,
        peak_memory_mb, status, lower_bound and so on), shortest step first; else empty."""
        return list(self.json().get("ranking", []))

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
        return self._case()._told(framework, self._found.order)

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
            n_chunks: Union[int, str, Sequence[int], None] = None, schedule: Union[str, Sequence[str], None] = None,
            less_memory: Optional[bool] = None,
            memory_limit_mb: Optional[float] = None, stage_memory_mb: Optional[Numbers] = None,
            stage_speed: Optional[Numbers] = None, p2p_time: Optional[float] = None, p2p_blocking: bool = False,
            p2p_edges: Optional[Numbers] = None, micro_batch_cost: Optional[Numbers] = None,
            activation_limit: float = 0.0, fixed_layers: Optional["dict[int, int]"] = None,
            forbidden: Sequence[str] = (), min_layers: int = 1, time_limit: Optional[float] = None,
            gap: Optional[float] = None, n_threads: int = 0, seed: int = 1,
            progress: ProgressFunction = None) -> Balance:
    """The plan with the shortest simulated step among those with peaks within the limit (MB). layers: Layers, or a
    layer or init file.

    n_stages, n_micro_batches, n_chunks (of a stage), less_memory, memory_limit_mb: values that are not given come from
    an init file, else they are 4, 4, the least of the schedule, false and 56000. schedule: a name. schedule and
    n_chunks may also be lists, or "auto": each is tried and the best is taken; Balance.ranking has the others. p2p_*,
    stage_*, micro_batch_cost, activation_limit, progress: as for simulate(). fixed_layers: {stage: layers}. forbidden:
    kinds of recomputation that a plan may not use. min_layers: of a chunk. time_limit: seconds. gap: the share of the
    step that the proof may leave. n_threads: 0, all cores; the answer does not depend on it.

    >>> balance("examples/moe_mtp_layers.json", 4, 8, schedule="1f1b").feasible
    True
    >>> best = balance("examples/moe_mtp_layers.json", 4, 8, schedule=["1f1b", "zb-h1"])
    >>> [each["schedule"] for each in best.ranking]
    ['zb-h1', '1f1b']
    """
    model = layers_of(layers)
    run = model._run if model._run is not None and model._run.given else None
    if isinstance(n_chunks, SupportsIndex):  # of NumPy
        n_chunks = _index(n_chunks)
    open_schedule = schedule == "auto" or not isinstance(schedule, (str, type(None)))
    open_chunks = n_chunks == "auto" or not isinstance(n_chunks, (int, type(None)))
    is_open = open_schedule or open_chunks
    if n_stages is None:
        n_stages = (run.n_stages if run else 0) or _DEFAULT_STAGES
    if n_micro_batches is None:
        n_micro_batches = (run.n_micro_batches if run else 0) or DEFAULT_MICRO_BATCHES
    if n_chunks is None and schedule is None and run and run.n_chunks > 0:
        n_chunks = int(run.n_chunks)
    if less_memory is None and run and run.less_memory > 0:
        less_memory = True
    options = _ffi.new("ek_balance_options *")
    _lib.ek_balance_options_init(options)
    if memory_limit_mb is not None:
        options.memory_limit_mb = memory_limit_mb
    elif run and run.memory_mb > 0:
        options.memory_limit_mb = run.memory_mb
    if p2p_time is None:
        p2p_time = model._run.p2p_time if model._run is not None else 0.0
    lists = Lists(p2p_time, p2p_blocking, p2p_edges, stage_memory_mb, stage_speed, micro_batch_cost, activation_limit,
                   model)
    options.n_threads, options.seed, options.min_layers, options.comm = n_threads, seed, min_layers, lists.comm[0]
    if time_limit is not None:
        options.time_limit = time_limit
    if gap is not None:
        options.gap = gap
    if time_limit is not None or gap is not None:
        options.proof_limit = _math.inf
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
    watch = Watch(progress)
    _lib.ekpy_watch_balance(watch.c, options)
    search = _Search(model, n_stages, n_micro_batches, less_memory, options, lists)
    if not is_open:
        found = find_schedule(schedule if isinstance(schedule, str) else None)
        least = found.min_chunks if found != _ffi.NULL else 1
        chunks = n_chunks if isinstance(n_chunks, int) else least
        return Balance(search, lambda: search.under(found, chunks), report, watch)
    named = [] if schedule is None or schedule == "auto" else [schedule] if isinstance(schedule, str) else list(schedule)
    every, schedules = schedule == "auto", [find_schedule(name) for name in dict.fromkeys(named)]
    if n_chunks == "auto":
        counts = [_lib.ek_usual_chunks[i] for i in range(_lib.EK_N_USUAL_CHUNKS)]
    elif isinstance(n_chunks, str):
        raise InputError(f'n_chunks must be a number, a list of them or "auto" (got "{n_chunks}")')
    else:
        counts = [] if n_chunks is None else [n_chunks] if isinstance(n_chunks, int) else sorted(set(n_chunks))
    return Balance(search, lambda: search.among(every, schedules, counts), report, watch)
