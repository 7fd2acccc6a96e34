"""Evenkeel plans, predicts and diagnoses the training of large models.

Results are what the command `evenkeel` computes; `.json()` of a result is the command's JSON. Times are in the unit of
the layers' times (ms where a device models them), memory is in MB of 2^20 bytes unless a name says bytes.
"""
import json as _json
import math as _math
import os as _os
import warnings as _warnings

from evenkeel._evenkeel import ffi as _ffi, lib as _lib

__all__ = ["Balance", "Error", "Estimate", "EvenkeelWarning", "InputError", "Job", "Layers", "Memory", "Stopped",
           "SystemFailure", "Trace", "balance", "estimate", "memory", "read_job", "read_layers", "read_trace"]


class Error(Exception):
    """What went wrong, and what to do. `file` (or None), `line` and `column` (from 1; 0: unknown) are the place."""

    def __init__(self, message, file=None, line=0, column=0, rule=""):
        place = f"{file}:{line}:{column}: " if file and line else f"{file}: " if file else ""
        super().__init__(place + message)
        self.message, self.file, self.line, self.column, self.rule = message, file, line, column, rule


class InputError(Error, ValueError):
    """The input is wrong; the message names the remedy."""


class SystemFailure(Error, OSError):
    """A file could not be opened, read or written."""


class Stopped(Error):
    """An interrupt or a time limit came before there was an answer."""


class EvenkeelWarning(UserWarning):
    """A reader's warning; its text begins with the place."""


def _text(c):
    return _ffi.string(c).decode("utf-8", "replace")


__version__ = _text(_lib.ek_version())


def _path(path):
    return _os.fsencode(path)


def _place(err):
    return _text(err.message), _text(err.file) or None, err.line, err.column, _text(err.rule)


def _check(status, err):
    if status == _lib.EK_OK:
        return
    if status == _lib.EK_ERR_MEMORY:
        raise MemoryError(_text(err.message))
    kind = {_lib.EK_ERR_INPUT: InputError, _lib.EK_ERR_SYSTEM: SystemFailure, _lib.EK_ERR_STOPPED: Stopped}
    raise kind[status](*_place(err))


def _owned(kind, clear):
    """A zeroed struct that is cleared when nothing refers to it any more."""
    return _ffi.gc(_ffi.new(kind), clear)


class _Heard:
    """Warnings of readers: kept for reports, and said as Python's warnings."""

    def __init__(self):
        self.c = _owned("ekpy_warnings *", _lib.ekpy_warnings_clear)
        self.listener = _ffi.new("ek_listener *")
        _lib.ekpy_listen(self.listener, self.c)

    def say(self):
        if self.c.lost:
            raise MemoryError("out of memory")
        for i in range(self.c.n):
            _warnings.warn(str(Error(*_place(self.c.at[i]))), EvenkeelWarning, stacklevel=3)


class _Result:
    """A result that is written in the formats of evenkeel/write.h."""

    def _output(self):
        raise NotImplementedError

    def text(self, format="text"):
        """The result in a format of the command, a str.

        >>> memory("examples/llama175b_train.yaml").text("csv").splitlines()[0].split(",")[0]
        'stage'
        """
        text, size, err = _ffi.new("char **"), _ffi.new("size_t *"), _ffi.new("ek_error *")
        _check(_lib.ek_write_text(self._output(), format.encode(), text, size, err), err)
        try:
            return _ffi.buffer(text[0], size[0])[:].decode("utf-8")
        finally:
            _lib.free(text[0])

    def json(self):
        """The command's JSON, a dict.

        >>> len(memory("examples/llama175b_train.yaml").json()["stages"])
        16
        """
        return _json.loads(self.text("json"))

    def write(self, format, path):
        """Write the result to a file in a format of the command.

        >>> import os, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     memory("examples/llama175b_train.yaml").write("svg", os.path.join(folder, "m.svg"))
        ...     os.listdir(folder)
        ['m.svg']
        """
        text = self.text(format)
        with open(path, "w", encoding="utf-8") as out:
            out.write(text)

    def __str__(self):
        return self.text()

    def _repr_svg_(self):
        return self.text("svg")


class Job:
    """A training job, read by read_job()."""

    def __init__(self, c, heard, literal):
        self._c, self._heard, self._literal = c, heard, literal

    @property
    def name(self):
        """The model's name."""
        return _text(self._c.name)

    @property
    def n_stages(self):
        """Stages of the pipeline."""
        return self._c.parallel.pipeline


_DEGREES = ("data", "tensor", "pipeline", "context", "expert", "n_chunks", "n_micro_batches", "batch", "seq_length",
            "n_layers", "limit_mb")


def read_job(path, *, rules=(), literal=False, **overrides):
    """Read a job: a training YAML, a launch script, a TOML, a config.json.

    rules: "name=value" texts. literal: keys that the framework ignores are ignored. overrides: data, tensor, pipeline,
    context, expert, n_chunks, n_micro_batches, batch, seq_length, n_layers (counts), limit_mb (MB) instead of the
    file's.

    >>> read_job("examples/llama175b_train.yaml").n_stages
    16
    """
    wanted, err, heard = _ffi.new("ek_job_overrides *", _lib.ek_job_overrides_none()), _ffi.new("ek_error *"), _Heard()
    for name, value in overrides.items():
        if name not in _DEGREES:
            raise TypeError(f"read_job() has no override '{name}'; there are {', '.join(_DEGREES)}")
        setattr(wanted, name, value)
    texts = [_ffi.new("char[]", rule.encode()) for rule in rules]
    array = _ffi.new("char *[]", texts)
    wanted.rules, wanted.n_rules, wanted.literal = _ffi.cast("const char *const *", array), len(texts), literal
    c = _owned("ek_job *", _lib.ek_job_clear)
    _check(_lib.ek_job_read(_path(path), wanted, heard.listener, c, err), err)
    _check(_lib.ek_memory_lint(c, heard.listener, err), err)
    other = None
    if c.reading[0] != b"\0" and not c.literal:
        wanted.literal, other = True, _owned("ek_job *", _lib.ek_job_clear)
        _check(_lib.ek_job_read(_path(path), wanted, _ffi.NULL, other, err), err)
    heard.say()
    return Job(c, heard, other)


class Memory(_Result):
    """A prediction of memory, made by memory()."""

    def __init__(self, job):
        err = _ffi.new("ek_error *")
        self._job = job
        self._c = self._predicted(job._c, err)
        self._literal = self._predicted(job._literal, err) if job._literal else None
        self._report = None

    @staticmethod
    def _predicted(job, err):
        c = _owned("ek_memory *", _lib.ek_memory_clear)
        _check(_lib.ek_memory_predict(job, _ffi.NULL, c, err), err)
        return c

    def _output(self):
        if self._report is None:  # what a verdict hangs on takes several predictions more, and is for reports alone
            job, n, err = self._job, _ffi.new("int *"), _ffi.new("ek_error *")
            self._assumptions = _ffi.new("ek_memory_assumption[]", _lib.EK_MAX_ASSUMPTIONS)
            _check(_lib.ek_memory_assumptions(job._c, self._c, self._assumptions, n, err), err)
            self._report = _ffi.new("ek_memory_report *", {
                "job": job._c, "memory": self._c, "n_warnings": job._heard.c.n, "warning": job._heard.c.at,
                "literal": self._literal or _ffi.NULL, "n_assumptions": n[0], "assumption": self._assumptions,
                "stage": -1})
        return _lib.ek_output_of_memory(self._report)

    @property
    def fits(self):
        """Is every stage's peak within the limit? True without a limit."""
        return self._c.fits

    @property
    def fullest(self):
        """The stage of the largest peak."""
        return self._c.fullest

    @property
    def peak_mb(self):
        """[n_stages] peaks with fragments, MB, a list."""
        return [self._c.stage[i].actual_peak / 2**20 for i in range(self._c.n_stages)]


def memory(job, **overrides):
    """Predict what every stage of a job holds at its peak. job: a Job or a file; overrides: as for read_job().

    >>> memory("examples/llama175b_train.yaml").fullest in range(16)
    True
    """
    if not isinstance(job, Job):
        job = read_job(job, **overrides)
    elif overrides:
        raise TypeError("overrides belong to read_job() where the job is read already")
    return Memory(job)


class Estimate(_Result):
    """A job's step on a device, made by estimate()."""

    def __init__(self, job, device, tokens):
        err, heard, owns = _ffi.new("ek_error *"), _Heard(), _ffi.new("bool *")
        self._job, self._device = job, _ffi.new("ek_device *")
        _check(_lib.ek_device_open(_path(device), heard.listener, self._device, owns, err), err)
        if owns[0]:
            self._device = _ffi.gc(self._device, _lib.ek_device_clear)
        self._c = _owned("ek_estimate *", _lib.ek_estimate_clear)
        _check(_lib.ek_estimate_of(job._c, self._device, tokens, self._c, err), err)
        heard.say()
        of_job, of_device = job._heard.c, heard.c
        self._warnings = _ffi.new("ek_error[]", of_job.n + of_device.n)
        for i in range(of_job.n):
            self._warnings[i] = of_job.at[i]
        for i in range(of_device.n):
            self._warnings[of_job.n + i] = of_device.at[i]
        self._report = _ffi.new("ek_estimate_report *", {"estimate": self._c, "warning": self._warnings,
                                                         "n_warnings": len(self._warnings)})

    def _output(self):
        return _lib.ek_output_of_estimate(self._report)

    @property
    def fits(self):
        """Is every stage's peak within the limit? True without a limit."""
        return self._c.memory.fits


def estimate(job, device, *, tokens=0.0, **overrides):
    """How long a step of a job takes on a device, and whether it fits.

    job: a Job or a file. device: a shipped device's name or a device file. tokens: of a whole training run, for its
    days; 0: none. overrides: as for read_job().

    >>> estimate("examples/llama175b_train.yaml", "910B").fits
    True
    """
    if not isinstance(job, Job):
        job = read_job(job, **overrides)
    elif overrides:
        raise TypeError("overrides belong to read_job() where the job is read already")
    return Estimate(job, device, tokens)


class Layers:
    """The layers of a model, read by read_layers()."""

    def __init__(self, c):
        self._c = c

    @property
    def n_layers(self):
        """Body layers."""
        return self._c.n_layers


def read_layers(path):
    """Read a layer file (JSON).

    >>> read_layers("examples/moe_mtp_layers.json").n_layers > 0
    True
    """
    c, err, heard = _owned("ek_layers *", _lib.ek_layers_clear), _ffi.new("ek_error *"), _Heard()
    _check(_lib.ek_layers_read(_path(path), _ffi.NULL, heard.listener, c, err), err)
    heard.say()
    return Layers(c)


class Balance(_Result):
    """A plan with its simulation, made by balance()."""

    def __init__(self, layers, n_stages, n_micro_batches, n_chunks, schedule, options):
        err = _ffi.new("ek_error *")
        self._layers = layers
        asked = _ffi.new("ek_case_options *", {
            "n_stages": n_stages, "n_chunks": n_chunks, "n_micro_batches": n_micro_batches, "n_pieces": 1,
            "less_memory": -1, "schedule": schedule, "memory_limit_mb": options.memory_limit_mb})
        chosen = _lib.ek_case_schedule(asked, n_chunks, -1)
        shape = _ffi.new("ek_shape *", (n_stages, n_chunks, n_micro_batches, 1))
        order, self._search = _ffi.new("ek_order **"), _owned("ek_balance_result *", _lib.ek_balance_result_clear)
        _check(_lib.ek_balance_arranged(layers._c, chosen, shape, options, order, self._search, err), err)
        self._order = _ffi.gc(order[0], _lib.ek_order_free)
        self._cases = _owned("ek_cases *", _lib.ek_cases_clear)
        if self.feasible:
            _check(_lib.ek_cases_add_run(self._cases, asked, layers._c, b"result", _ffi.NULL, _ffi.addressof(
                self._search.plan), self._order, err), err)
        self._report = _ffi.new("ek_report *", {
            "layers": layers._c, "memory_limit_mb": options.memory_limit_mb, "n_cases": self._cases.n,
            "cases": self._cases.cases, "search": self._search})

    def _output(self):
        return _lib.ek_output_of_balance(self._report)

    @property
    def feasible(self):
        """Does a plan fit?"""
        return self._search.status != _lib.EK_BALANCE_INFEASIBLE

    @property
    def step_time(self):
        """Simulated step, in the unit of the layers' times."""
        return self._search.step_time


def balance(layers, n_stages=4, n_micro_batches=4, *, n_chunks=None, schedule=None, memory_limit_mb=56000.0,
            time_limit=None, n_threads=0, seed=1):
    """The plan with the shortest simulated step whose peaks keep the limit (MB). layers: Layers or a layer file.

    schedule: a name. time_limit: seconds. n_threads: 0, all cores; the answer does not depend on it.

    >>> balance("examples/moe_mtp_layers.json", 4, 8, schedule="1f1b").feasible
    True
    """
    if not isinstance(layers, Layers):
        layers = read_layers(layers)
    found = _ffi.NULL
    if schedule is not None:
        found = _lib.ek_schedule_find(schedule.encode())
        if found == _ffi.NULL:
            raise InputError(f"no schedule is called '{schedule}'; `evenkeel balance --schedule list` lists them")
    options = _ffi.new("ek_balance_options *")
    _lib.ek_balance_options_init(options)
    options.memory_limit_mb, options.n_threads, options.seed = memory_limit_mb, n_threads, seed
    if time_limit is not None:
        options.time_limit, options.proof_limit = time_limit, _math.inf
    if n_chunks is None:
        n_chunks = found.min_chunks if found != _ffi.NULL else 1
    return Balance(layers, n_stages, n_micro_batches, n_chunks, found, options)


class Trace(_Result):
    """A profiled run, read by read_trace()."""

    def __init__(self, path):
        err, heard = _ffi.new("ek_error *"), _Heard()
        self._c = _owned("ek_trace_run *", _lib.ek_trace_run_clear)
        name = _ffi.new("char[]", _path(path))
        _check(_lib.ek_trace_run_read(_ffi.new("char *[]", [name]), 1, _ffi.new("ek_trace_options *", {"measure": True}),
                                      heard.listener, self._c, err), err)
        _check(_lib.ek_compute_make(self._c, _ffi.NULL, err), err)
        heard.say()
        view = _ffi.new("ek_trace_view *", {"rank": _lib.EK_TRACE_NO_RANK})
        self._view = view
        self._report = _ffi.new("ek_trace_report *", {"run": self._c, "view": view})
        self._table = 0

    def _output(self):
        output = _lib.ek_output_of_trace(self._report)
        output.index = self._table
        return output

    @staticmethod
    def table_names():
        """Names of the tables.

        >>> "steps" in Trace.table_names()
        True
        """
        return [_text(_lib.ek_trace_tables[i].name) for i in range(_lib.EK_N_TRACE_TABLES)]

    def csv(self, name):
        """A table as comma-separated values with a header line, a str.

        >>> read_trace("examples/trace").csv("steps").count("\\n") > 1
        True
        """
        names = self.table_names()
        if name not in names:
            raise InputError(f"a trace has no table '{name}'; there are {', '.join(names)}")
        self._table = names.index(name)
        return self.text("csv")

    def frame(self, name):
        """A table as a pandas.DataFrame, columns as the command's."""
        import io
        try:
            import pandas
        except ImportError as error:
            raise ImportError("frames need pandas; install it, or take csv()") from error
        return pandas.read_csv(io.StringIO(self.csv(name)))

    steps = property(lambda self: self.frame("steps"), doc="Steps of each rank, a pandas.DataFrame.")
    operators = property(lambda self: self.frame("operators"), doc="Operators, a pandas.DataFrame.")
    collectives = property(lambda self: self.frame("collectives"), doc="Collectives, a pandas.DataFrame.")
    layers = property(lambda self: self.frame("layers"), doc="Layers, a pandas.DataFrame.")


def read_trace(path):
    """Read a profile: a folder or a file.

    >>> len(read_trace("examples/trace").json()["ranks"]) > 0
    True
    """
    return Trace(path)
