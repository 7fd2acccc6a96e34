"""Finds layouts: the distribution of a job over devices."""
from __future__ import annotations

from typing import Any, Iterator, Mapping, Optional, Sequence, Union

from evenkeel._base import Array, Heard, InputError, Path, ProgressFunction, Result, Watch, all_heard, check
from evenkeel._base import find_schedule, new_error, owned, taken_text, text_of, view
from evenkeel._evenkeel import ffi as _ffi, lib as _lib
from evenkeel._job import Device, Job, job_of
from evenkeel._layers import Layers
from evenkeel._plan import Plan, emitted
from evenkeel._simulate import Simulation, simulate as _simulate

_MOST_GROUPED = 64  # plans; each of them takes some hundred predictions of its step
_QUICK = 10.0  # seconds: users do not wait for rules of thumb after a longer search
_MOST = 1 << 30


def _axes() -> "tuple[list[str], list[str]]":
    n = _lib.EK_N_LAYOUT_AXES
    return ([text_of(_lib.ek_layout_axis_option[i]) for i in range(n)],
            [text_of(_lib.ek_layout_axis_name[i]) for i in range(n)])


def _axis(name: str) -> int:
    options, names = _axes()
    if name in options:
        return options.index(name)
    if name in names:
        return names.index(name)
    raise InputError(f"no axis is called '{name}'; there are {', '.join(options)}, sp")


def _take_axes(options: Any, fix: Mapping[str, int], ranges: Mapping[str, Any]) -> None:
    for name, value in fix.items():
        if name in ("sp", "sequence_parallel"):
            options.sequence_parallel = int(bool(value))
            continue
        axis = _axis(name)
        if not 1 <= value <= _MOST:
            raise InputError(f"fix: {name} must be a whole number from 1 on (got {value})")
        options.range[axis].least = options.range[axis].most = value
    for name, (least, most) in ranges.items():
        axis = _axis(name)
        low, high = 1 if least is None else least, 0 if most is None else most
        if low < 1 or high < 0 or (high and high < low):
            raise InputError(f"ranges: {name} must be (least, most) of whole numbers from 1 on, None for no end (got "
                             f"({least}, {most}))")
        options.range[axis].least, options.range[axis].most = low, high


class Layout:
    """One layout of a job with its best plan: how the degrees, the layers and the recomputation are chosen."""

    def __init__(self, owner: "Layouts", c: Any, number: int) -> None:
        self._owner, self._c, self._number = owner, c, number

    @property
    def degrees(self) -> "dict[str, int]":
        """Values of the axes by their names: data, tensor, context, expert, pipeline, chunks, micro_batch, ...

        >>> found = plan("examples/llama2_13b_2_pp2.yaml", "910B", 16, fix={"vpp": 1}, top=1)
        >>> found[0].degrees["pipeline"]
        2
        """
        return {name: int(self._c.layout.value[i]) for i, name in enumerate(_axes()[1])}

    @property
    def words(self) -> str:
        """The layout in words, without degrees of 1."""
        text = _ffi.new("char[256]")
        return text_of(_lib.ek_layout_words(_ffi.addressof(self._c.layout), text, 256))

    @property
    def schedule(self) -> str:
        """Name of the schedule."""
        return text_of(self._c.layout.schedule.name)

    @property
    def n_micro_batches(self) -> int:
        """Micro-batches of a step, on one data-parallel rank."""
        return int(self._c.layout.n_micro_batches)

    @property
    def sequence_parallel(self) -> bool:
        """Are norms cut over the tensor-parallel ranks?"""
        return bool(self._c.layout.sequence_parallel)

    @property
    def step_seconds(self) -> float:
        """A step, seconds."""
        return float(self._c.estimate.step.seconds)

    @property
    def lower_bound_seconds(self) -> float:
        """No plan of this layout is shorter, seconds."""
        return float(self._c.lower_bound)

    @property
    def stages(self) -> Array:
        """[n_stages] peaks and their parts, bytes: a NumPy array with the fields of ek_memory_stage, not copied."""
        memory = self._c.estimate.memory
        return view(memory.stage, (memory.n_stages,), self._owner)

    @property
    def settings(self) -> str:
        """Settings to paste into the job's file, in its framework's syntax."""
        return text_of(self._c.settings)

    @property
    def plan(self) -> Plan:
        """Layers and recomputation of every stage."""
        return Plan._of(_ffi.addressof(self._c.job.plan), self._owner)

    @property
    def job(self) -> Job:
        """The job with this layout, for memory() and estimate()."""
        return Job(_ffi.gc(_ffi.addressof(self._c.job), lambda _, owner=self._owner: None), Heard(), None)

    def layers(self) -> Layers:
        """The layers of the job with this layout, times in ms on the device, for simulate() and balance().

        >>> best = plan("examples/llama2_13b_2_pp2.yaml", "910B", 16, fix={"vpp": 1}, top=1)[0]
        >>> simulate(best.plan, best.layers(), n_micro_batches=best.n_micro_batches)[0].plan.n_stages
        2
        """
        c, err = owned("ek_layers *", _lib.ek_layers_clear), new_error()
        times = _ffi.new("ek_job_layer_times *", {"device": self._owner._device.c,
                                                  "given": {"head": float("nan"), "body": float("nan"),
                                                            "tail": float("nan")}})
        check(_lib.ek_job_layers(_ffi.addressof(self._c.job), times, _ffi.NULL, _ffi.NULL, c, err), err)
        return Layers(c, c, None)

    def simulate(self) -> Simulation:
        """The pipeline of the plan with the layers of the job, times in ms; see simulate(). A step has data-parallel
        communication and an optimizer in addition, so it is longer.

        >>> best = plan("examples/llama2_13b_2_pp2.yaml", "910B", 16, fix={"vpp": 1}, top=1)[0]
        >>> 0.9 < best.simulate().step_time / (1e3 * best.step_seconds) < 1
        True
        """
        limit = float(self._c.job.limit_mb)
        return _simulate({f"plan_{self._number}": self.plan}, self.layers(), n_micro_batches=self.n_micro_batches,
                         schedule=self.schedule, memory_limit_mb=limit if limit > 0 else None)

    def file(self) -> str:
        """The job's file with this layout and everything else unchanged, a str; as written by `evenkeel plan --write`.
        For a config.json, a launch script of Megatron-LM. The job's file must still be as it was read.

        >>> best = plan("examples/llama2_13b_2_pp2.yaml", "910B", 16, fix={"vpp": 1}, top=1)[0]
        >>> "pipeline_stage: 2" in best.file()
        True
        """
        now, err = owned("ek_job *", _lib.ek_job_clear), new_error()
        check(_lib.ek_job_copy(_ffi.addressof(self._c.job), now, err), err)
        return taken_text(lambda text, size, err: _lib.ek_job_write_text(self._owner._file, now, text, size, err))

    def to(self, framework: str, *, name: Optional[str] = None) -> str:
        """Layers and recomputation as settings of any framework, a str; as printed by `evenkeel convert` for file().

        name: of the plan, in a comment. Where the framework has no equivalent of the recomputation, the settings only
        place the layers; simulate()[0].to() has the nearest plan that it can express.

        >>> best = plan("examples/llama2_13b_2_pp2.yaml", "910B", 16, fix={"vpp": 1}, top=1)[0]
        >>> print(best.to("megatron").splitlines()[0])
        # Plan 'plan_1' as settings of Megatron: 40 layers, 2 stages, 128 micro-batches, schedule 1f1b.
        """
        job = self._c.job
        kept = _ffi.new("char[]", (name or f"plan_{self._number}").encode())
        return emitted(framework, _ffi.new("ek_emission *", {
            "name": kept, "plan": _ffi.addressof(job.plan), "n_layers": self.plan.n_layers, "schedule": job.schedule,
            "n_micro_batches": job.parallel.n_micro_batches, "n_pieces": 1}))

    def __repr__(self) -> str:
        return f"<Layout: {self.words}: {self.step_seconds:.4g} s>"


class Layouts(Result):
    """The best layouts of a job, made by plan(): a sequence of Layout, the shortest step first."""

    def __init__(self, job: Job, device: Path, options: Any, advice: bool, progress: ProgressFunction) -> None:
        err = new_error()
        # The result borrows all of these, and also the watch, since its options point to the watch's flag.
        self._device, self._watch = Device(device), Watch(progress, options.time_limit)
        self._source = job
        self._file, self._searched = owned("ek_job *", _lib.ek_job_clear), owned("ek_job *", _lib.ek_job_clear)
        self._c = owned("ek_layout_result *", _lib.ek_layout_result_clear)
        self._fits = _ffi.new("ek_layout_fits *")
        thumbs = _ffi.new("ek_layout_thumb[]", _lib.EK_N_LAYOUT_THUMBS)
        self._thumbs = _ffi.gc(_ffi.addressof(thumbs, 0), lambda thumb, _=thumbs: _lib.ek_layout_thumbs_clear(thumb))
        check(_lib.ek_job_copy(job._c, self._file, err), err)
        _lib.ek_memory_limit_by_device(self._file, self._device.c)
        options.file = self._file
        _lib.ekpy_watch_layout(self._watch.c, options)
        self._watch.run(lambda: self._search(options, advice, err))
        self._warnings = all_heard(job._heard, self._device.heard)
        self._report = _ffi.new("ek_layout_report *", {
            "result": self._c, "n_warnings": len(self._warnings), "warning": self._warnings,
            "fits": self._fits if self._c.n_plans == 0 else _ffi.NULL,
            "thumb": self._thumbs if self._thumbs[0].name != _ffi.NULL else _ffi.NULL})

    def _search(self, options: Any, advice: bool, err: Any) -> None:
        """The steps of `evenkeel plan`, in its order."""
        found = self._c
        check(_lib.ek_layout_offer_sets(self._file, self._device.c, self._searched, err), err)
        check(_lib.ek_layout_search(self._searched, self._device.c, options, found, err), err)
        if not advice:
            return
        if found.n_plans == 0 and not found.ended_early:
            check(_lib.ek_layout_would_fit(found, self._fits, err), err)
        if 0 < found.n_plans <= _MOST_GROUPED:
            check(_lib.ek_layout_group_plans(found, err), err)
        if found.n_plans > 0 and not found.ended_early and found.seconds < _QUICK:
            check(_lib.ek_layout_thumbs(found, self._thumbs, err), err)

    def _output(self, format: str) -> Any:
        return _lib.ek_output_of_layout(self._report)

    def _rows(self) -> "list[list[str]]":
        """Without the columns of axes that no layout uses."""
        rows = super()._rows()
        kept = [i for i in range(len(rows[0])) if i == 0 or any(row[i] not in ("", "1") for row in rows[1:])]
        return [[row[i] for i in kept] for row in rows]

    def _title(self) -> str:
        if not len(self):
            return "No layout fits"
        return f"Best of {self._c.counts.legal} layouts: {self[0].words}, {self[0].step_seconds:.4g} s a step"

    @property
    def feasible(self) -> bool:
        """Does a layout fit?"""
        return len(self) > 0

    @property
    def proved(self) -> bool:
        """Has no other layout a plan that is shorter than these?"""
        return bool(self._c.proved)

    @property
    def gap(self) -> float:
        """(best step - lower bound) / best step; 0: the best is proved."""
        return float(self._c.gap)

    @property
    def seconds(self) -> float:
        """Duration of the search, seconds."""
        return float(self._c.seconds)

    @property
    def points(self) -> Array:
        """[n] layouts of the space for pictures: a NumPy array with the fields of ek_layout_point (seconds, peak_mb,
        least_seconds, least_mb, fate, found, layout), not copied."""
        return view(self._c.point, (self._c.n_points,), self)

    def __iter__(self) -> Iterator[Layout]:
        return (self[i] for i in range(len(self)))

    def __len__(self) -> int:
        return int(self._c.n_plans)

    def __getitem__(self, index: int) -> Layout:
        if not -len(self) <= index < len(self):
            raise IndexError(f"there are {len(self)} layouts")
        index %= len(self)
        return Layout(self, _ffi.addressof(self._c.plan, index), index + 1)


def plan(job: Union[Job, Path], device: Path, n_devices: Optional[int] = None, *, global_batch: Optional[int] = None,
         fix: Optional[Mapping[str, int]] = None, ranges: Optional[Mapping[str, Any]] = None,
         schedules: Sequence[str] = (), top: int = 10, time_limit: float = 120.0, n_threads: int = 0,
         advice: bool = True, progress: ProgressFunction = None, **overrides: float) -> Layouts:
    """The layouts of a job with the shortest step: degrees, chunks, micro-batch, sharding, schedule, and with them the
    layers and the recomputation of every stage.

    job: a Job or a file. device: a shipped device's name or a device file. n_devices: by default those of the job,
    where its file has them. global_batch: sequences of a step; by default those of the job,
    or about 4 million tokens. fix: {"tp": 8, "sp": True}:
    only layouts with these values (dp, tp, cp, ep, pp, vpp, batch, shard, copies, fine, table, grads, sp). ranges:
    {"pp": (1, 16)}, both included, None for no end. schedules: names; by default those that the framework runs. top:
    plans to find and prove. time_limit: seconds. n_threads: 0, all cores; the answer does not depend on it. advice:
    groups, rules of thumb, and changes that would make a job fit, which take some seconds. progress: called with a
    Progress a few times a second. overrides: as for read_job().

    >>> found = plan("examples/llama2_13b_2_pp2.yaml", "910B", 16, fix={"vpp": 1}, top=3)
    >>> found.proved, len(found), found[0].words
    (True, 3, 'dp 8, pp 2, batch 1, shard 8, table 8, 1f1b')
    """
    read = job_of(job, overrides)
    options = _ffi.new("ek_layout_options *")
    _lib.ek_layout_options_init(options)
    devices, batch = int(_lib.ek_job_devices(read._c)), int(_lib.ek_job_sequences(read._c))
    if n_devices is None and devices == 1:
        raise InputError("no number of devices: the job is for one; give n_devices")
    if n_devices is not None and not hasattr(n_devices, "__index__"):
        raise TypeError(f"n_devices must be a whole number (got {n_devices!r}); plan() takes the device before it")
    options.n_devices = n_devices or devices
    if global_batch is None and batch == 1 and options.n_devices > 1:
        global_batch = int(_lib.ek_layout_default_batch(read._c.parallel.seq_length, options.n_devices))
    options.global_batch, options.n_best, options.time_limit = global_batch or 0, top, time_limit
    options.n_threads, options.n_schedules = n_threads, len(schedules)
    if len(schedules) > _lib.EK_MAX_LAYOUT_SCHEDULES:
        raise InputError(f"schedules: at most {_lib.EK_MAX_LAYOUT_SCHEDULES}")
    for i, name in enumerate(schedules):
        options.schedule[i] = find_schedule(name)
    _take_axes(options, fix or {}, ranges or {})
    return Layouts(read, device, options, advice, progress)
