"""Reads training jobs and predicts their memory and their step."""
from __future__ import annotations

from typing import Any, Optional, Sequence, Union

from evenkeel._base import (_MB, Array, Heard, Path, Result, all_heard, check, new_error, owned, path_of, text_of,
                            view)
from evenkeel._evenkeel import ffi as _ffi, lib as _lib


class Job:
    """A training job, read by read_job()."""

    def __init__(self, c: Any, heard: Heard, literal: Any) -> None:
        self._c, self._heard, self._literal = c, heard, literal

    @property
    def name(self) -> str:
        """The model's name."""
        return text_of(self._c.name)

    @property
    def n_stages(self) -> int:
        """Stages of the pipeline."""
        return int(self._c.parallel.pipeline)

    @property
    def n_devices(self) -> int:
        """Devices that the degrees come to.

        >>> read_job("examples/llama175b_train.yaml").n_devices
        16384
        """
        return int(_lib.ek_job_devices(self._c))


_DEGREES = ("data", "tensor", "pipeline", "context", "expert", "n_chunks", "n_micro_batches", "batch", "seq_length",
            "n_layers", "limit_mb")


def read_job(path: Path, *, rules: Sequence[str] = (), literal: bool = False, **overrides: float) -> Job:
    """Read a job: a training YAML, a launch script, a TOML, a config.json.

    rules: "name=value" texts. literal: keys that the framework ignores are ignored. overrides: data, tensor, pipeline,
    context, expert, n_chunks, n_micro_batches, batch, seq_length, n_layers (counts), limit_mb (MB) instead of the
    file's.

    >>> read_job("examples/llama175b_train.yaml").n_stages
    16
    """
    wanted, err, heard = _ffi.new("ek_job_overrides *", _lib.ek_job_overrides_none()), new_error(), Heard()
    for name, value in overrides.items():
        if name not in _DEGREES:
            raise TypeError(f"read_job() has no override '{name}'; there are {', '.join(_DEGREES)}")
        setattr(wanted, name, value)
    texts = [_ffi.new("char[]", rule.encode()) for rule in rules]
    array = _ffi.new("char *[]", texts)
    wanted.rules, wanted.n_rules, wanted.literal = _ffi.cast("const char *const *", array), len(texts), literal
    c = owned("ek_job *", _lib.ek_job_clear)
    check(_lib.ek_job_read(path_of(path), wanted, heard.listener, c, err), err)
    check(_lib.ek_memory_lint(c, heard.listener, err), err)
    other = None
    if c.reading[0] != b"\0" and not c.literal:
        wanted.literal, other = True, owned("ek_job *", _lib.ek_job_clear)
        check(_lib.ek_job_read(path_of(path), wanted, _ffi.NULL, other, err), err)
    heard.say()
    return Job(c, heard, other)


def job_of(job: Union[Job, Path], overrides: "dict[str, Any]") -> Job:
    """The job that a caller gives, or the one in the file that it names."""
    if not isinstance(job, Job):
        return read_job(job, **overrides)
    if overrides:
        raise TypeError(f"a job that is read already takes no overrides (got {', '.join(sorted(overrides))}); "
                        "give them to read_job()")
    return job


class Device:
    """A device by name or file."""

    def __init__(self, device: Path) -> None:
        self.heard, err, owns = Heard(), new_error(), _ffi.new("bool *")
        self.c = _ffi.new("ek_device *")
        check(_lib.ek_device_open(path_of(device), self.heard.listener, self.c, owns, err), err)
        if owns[0]:
            self.c = _ffi.gc(self.c, _lib.ek_device_clear)
        self.heard.say()


class Memory(Result):
    """A prediction of memory, made by memory()."""

    def __init__(self, job: Job) -> None:
        err = new_error()
        self._job = job
        self._c = self._predicted(job._c, err)
        self._literal = self._predicted(job._literal, err) if job._literal else None
        self._report: Any = None

    @staticmethod
    def _predicted(job: Any, err: Any) -> Any:
        c = owned("ek_memory *", _lib.ek_memory_clear)
        check(_lib.ek_memory_predict(job, _ffi.NULL, c, err), err)
        return c

    def _output(self, format: str) -> Any:
        if self._report is None:  # the reasons of a verdict need several further predictions, and only reports use them
            job, n, err = self._job, _ffi.new("int *"), new_error()
            self._assumptions = _ffi.new("ek_memory_assumption[]", _lib.EK_MAX_ASSUMPTIONS)
            check(_lib.ek_memory_assumptions(job._c, self._c, self._assumptions, n, err), err)
            self._report = _ffi.new("ek_memory_report *", {
                "job": job._c, "memory": self._c, "n_warnings": job._heard.c.n, "warning": job._heard.c.at,
                "literal": self._literal or _ffi.NULL, "n_assumptions": n[0], "assumption": self._assumptions,
                "stage": -1})
        return _lib.ek_output_of_memory(self._report)

    def _title(self) -> str:
        return (f"Memory of {self._job.name or 'the job'}: largest peak {max(self.peak_mb):.0f} MB, stage "
                f"{self.fullest}{'' if self.fits else ', over the limit'}")

    @property
    def fits(self) -> bool:
        """Is every stage's peak within the limit? True without a limit."""
        return bool(self._c.fits)

    @property
    def fullest(self) -> int:
        """The stage of the largest peak."""
        return int(self._c.fullest)

    @property
    def peak_mb(self) -> "list[float]":
        """[n_stages] peaks with fragments, MB, a list."""
        return [self._c.stage[i].actual_peak / _MB for i in range(self._c.n_stages)]

    @property
    def stages(self) -> Array:
        """[n_stages] peaks and their parts, bytes: a NumPy array with the fields of ek_memory_stage, not copied.

        >>> memory("examples/llama175b_train.yaml").stages["actual_peak"].shape
        (16,)
        """
        return view(self._c.stage, (self._c.n_stages,), self._c)


def memory(job: Union[Job, Path], **overrides: float) -> Memory:
    """Predict the peak memory of every stage of a job. job: a Job or a file; overrides: as for read_job().

    >>> memory("examples/llama175b_train.yaml").fullest in range(16)
    True
    """
    return Memory(job_of(job, overrides))


class Estimate(Result):
    """A job's step on a device, made by estimate()."""

    def __init__(self, job: Job, device: Path, tokens: float) -> None:
        err = new_error()
        self._job, self._device = job, Device(device)
        self._c = owned("ek_estimate *", _lib.ek_estimate_clear)
        check(_lib.ek_estimate_of(job._c, self._device.c, tokens, self._c, err), err)
        self._warnings = all_heard(job._heard, self._device.heard)
        self._report = _ffi.new("ek_estimate_report *", {"estimate": self._c, "warning": self._warnings,
                                                         "n_warnings": len(self._warnings)})

    def _output(self, format: str) -> Any:
        return _lib.ek_output_of_estimate(self._report)

    def _title(self) -> str:
        return f"Step of {self._job.name or 'the job'}: {self.step_seconds:.4g} s"

    @property
    def fits(self) -> bool:
        """Is every stage's peak within the limit? True without a limit."""
        return bool(self._c.memory.fits)

    @property
    def step_seconds(self) -> float:
        """A step, seconds.

        >>> round(estimate("examples/llama175b_train.yaml", "910B").step_seconds) > 0
        True
        """
        return float(self._c.step.seconds)

    @property
    def parts(self) -> "dict[str, float]":
        """Seconds of the step by kind of work, of the slowest stage; they add up to the step.

        >>> found = estimate("examples/llama175b_train.yaml", "910B")
        >>> abs(sum(found.parts.values()) / found.step_seconds - 1) < 1e-9
        True
        """
        step = self._c.step
        seconds = step.stage[step.slowest].seconds
        return {text_of(_lib.ek_step_part_name[i]): seconds[i] for i in range(_lib.EK_N_STEP_PARTS)}

    @property
    def stages(self) -> Array:
        """[n_stages] how each stage spends the step: a NumPy array with the fields of ek_step_stage (seconds [parts], in
        the order of `parts`; hidden_data, hidden_tensor), not copied."""
        return view(self._c.step.stage, (self._c.step.n_stages,), self)

    @property
    def memory_stages(self) -> Array:
        """[n_stages] peaks and their parts, bytes: a NumPy array with the fields of ek_memory_stage, not copied."""
        return view(self._c.memory.stage, (self._c.memory.n_stages,), self)


def estimate(job: Union[Job, Path], device: Path, *, tokens: float = 0.0, **overrides: float) -> Estimate:
    """Predict the time of a job's step on a device, and whether it fits.

    job: a Job or a file. device: a shipped device's name or a device file. tokens: of a whole training run, for its
    days; 0: none. overrides: as for read_job().

    >>> estimate("examples/llama175b_train.yaml", "910B").fits
    True
    """
    return Estimate(job_of(job, overrides), device, tokens)
