"""Simulates a schedule with equal stages."""
from __future__ import annotations

from typing import Any, Optional

from evenkeel._base import Array, InputError, ProgressFunction, Result, Watch, check, find_schedule, new_error, owned
from evenkeel._base import pandas, text_of, view
from evenkeel._evenkeel import ffi as _ffi, lib as _lib
from evenkeel._simulate import less


class Uniform(Result):
    """A schedule that ran with equal stages, made by simulate_uniform(). Memory is in micro-batches of a stage."""

    def __init__(self, schedule: Any, shape: Any, times: Any, comm: Any, limit: float,
                 progress: ProgressFunction) -> None:
        err = new_error()
        self._comm = comm
        self._c = owned("ek_uniform_run *", _lib.ek_uniform_run_clear)
        watch = Watch(progress)
        watch.run(lambda: check(_lib.ek_uniform_simulate(schedule, shape, times, comm, limit, self._c, err), err))
        self._unit = _ffi.new("char[]", b"micro-batches")
        self._case = _ffi.new("ek_case *", {
            "name": self._c.timeline.schedule.name, "plan": _ffi.addressof(self._c, "plan"),
            "timeline": _ffi.addressof(self._c, "timeline")})
        self._report = _ffi.new("ek_report *", {
            "layers": _ffi.addressof(self._c, "layers"), "memory_limit_mb": self._c.activation_limit,
            "memory_unit": self._unit, "n_cases": 1, "cases": self._case})

    def _output(self, format: str) -> Any:
        if format in ("text", "json"):
            return _lib.ek_output_of_uniform(self._c)
        return _lib.ek_output_of_balance(self._report)  # pictures

    def _title(self) -> str:
        return f"{self.schedule}: step {self.step_time:.6g}, idle {100 * self.bubble_share:.2f} %"

    def _rows(self) -> "list[list[str]]":
        rows = [["stage", "busy", "live"]]
        timeline = self._c.timeline
        return rows + [[str(s), f"{timeline.busy[s]:.6g}", f"{self._c.live[s]:.6g}"]
                       for s in range(timeline.shape.n_stages)]

    @property
    def schedule(self) -> str:
        """Name of the schedule."""
        return text_of(self._c.timeline.schedule.name)

    @property
    def step_time(self) -> float:
        """The step, in the unit of the times."""
        return float(self._c.timeline.step_time)

    @property
    def bubble_share(self) -> float:
        """Idle share of the step: 1 - work / (stages x step)."""
        return float(self._c.bubble_share)

    @property
    def span(self) -> float:
        """Widest time of any stage from its first to its last block, in the unit of the times."""
        return float(self._c.span)

    @property
    def live(self) -> Array:
        """[n_stages] most activations alive, in micro-batches of a whole stage, not copied."""
        return view(self._c.live, (self._c.timeline.shape.n_stages,), self._c)

    @property
    def busy(self) -> Array:
        """[n_stages] share of the step in which the stage computes, not copied."""
        return view(self._c.timeline.busy, (self._c.timeline.shape.n_stages,), self._c)

    @property
    def blocks(self) -> Array:
        """[n_blocks] the timeline, as Case.blocks, not copied."""
        return view(self._c.timeline.block, (self._c.timeline.n_blocks,), self._c)

    def frame(self) -> Any:
        """A row for each stage, a pandas.DataFrame: busy and live.

        >>> simulate_uniform("1f1b", 4, 8, forward=1, backward=2).frame()["live"].tolist()
        [4.0, 3.0, 2.0, 1.0]
        """
        n = self._c.timeline.shape.n_stages
        return pandas().DataFrame({"busy": [self._c.timeline.busy[s] for s in range(n)],
                                   "live": [self._c.live[s] for s in range(n)]})


def simulate_uniform(schedule: Optional[str] = None, n_stages: int = 4, n_micro_batches: int = 4, *, forward: float,
                     backward: Optional[float] = None, backward_input: Optional[float] = None,
                     backward_weight: Optional[float] = None, weight_activation: Optional[float] = None,
                     n_chunks: Optional[int] = None, less_memory: Optional[bool] = None, p2p_time: float = 0.0,
                     p2p_blocking: bool = False, activation_limit: float = 0.0,
                     progress: ProgressFunction = None) -> Uniform:
    """Simulate a schedule with equal stages.

    forward, backward: times of one stage and micro-batch, in any unit; each of n_chunks takes its share. backward_input
    and backward_weight instead of backward: gradient of the input, and of the weights. weight_activation: share of the
    activations that is held until the weight gradient. activation_limit: activations a stage may hold, in micro-batches
    of a stage; 0: the schedule's own. The rest as for simulate().

    >>> simulate_uniform("1f1b", 4, 8, forward=1, backward=2).step_time
    33.0
    """
    if (backward is None) == (backward_input is None) or (backward_input is None) != (backward_weight is None):
        raise InputError("give backward, or backward_input and backward_weight")
    words = {"forward": forward, "backward": backward, "backward_input": backward_input,
             "backward_weight": backward_weight, "weight_activation": weight_activation}
    text = ",".join(f"{name}={float(value)!r}" for name, value in words.items() if value is not None)
    times, err = _ffi.new("ek_uniform *"), new_error()
    check(_lib.ek_uniform_parse(text.encode(), times, err), err)
    found = find_schedule(schedule)
    asked = _ffi.new("ek_case_options *", {"n_chunks": n_chunks or 0, "n_pieces": 1, "schedule": found})
    chosen = _lib.ek_case_schedule(asked, n_chunks or 1, less(less_memory))
    shape = _ffi.new("ek_shape *", (n_stages, n_chunks or chosen.min_chunks, n_micro_batches, 1))
    comm = _ffi.new("ek_comm *", {"p2p_time": p2p_time, "blocking": p2p_blocking})
    return Uniform(chosen, shape, times, comm, activation_limit, progress)
