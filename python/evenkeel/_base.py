"""Base of every module of the package: errors, ownership, results, arrays, calls with progress."""
from __future__ import annotations

import base64 as _base64
import csv as _csv
import html as _html
import importlib as _importlib
import io as _io
import json as _json
import os as _os
import sys as _sys
import threading as _threading
import warnings as _warnings
from typing import Any, Callable, NamedTuple, Optional, Sequence, Union

from evenkeel._evenkeel import ffi as _ffi, lib as _lib

Path = Union[str, bytes, _os.PathLike[str], _os.PathLike[bytes]]
Array = Any  # numpy.ndarray; without NumPy a memoryview
Numbers = Any  # a sequence of numbers: a list, a NumPy array

_MB = 2**20
_POLL = 0.05  # seconds between two looks at a call
_PATIENCE = 0.8  # seconds to wait for a call that was stopped


class Error(Exception):
    """The error, and how to correct it. `file` (or None), `line` and `column` (from 1; 0: unknown) are the place."""

    def __init__(self, message: str, file: Optional[str] = None, line: int = 0, column: int = 0,
                 rule: str = "") -> None:
        place = f"{file}:{line}:{column}: " if file and line else f"{file}: " if file else ""
        super().__init__(place + message)
        self.message, self.file, self.line, self.column, self.rule = message, file, line, column, rule

    def __reduce__(self) -> Any:  # for other processes
        return type(self), (self.message, self.file, self.line, self.column, self.rule)


class InputError(Error, ValueError):
    """The input is wrong; the message names the remedy."""


class SystemFailure(Error, OSError):
    """A file could not be opened, read or written."""


class Stopped(Error):
    """An interrupt or a time limit came before there was an answer."""


class EvenkeelWarning(UserWarning):
    """A reader's warning; its text begins with the place."""


# ---- C ----

def text_of(c: Any) -> str:
    return str(_ffi.string(c).decode("utf-8", "replace"))


def path_of(path: Path) -> bytes:
    return _os.fsencode(path)


def paths_of(paths: Union[Path, Sequence[Path]]) -> "list[Path]":
    """One path, or several."""
    return [paths] if isinstance(paths, (str, bytes, _os.PathLike)) else list(paths)


def place_of(err: Any) -> Any:
    return text_of(err.message), text_of(err.file) or None, err.line, err.column, text_of(err.rule)


def check(status: int, err: Any) -> None:
    if status == _lib.EK_OK:
        return
    if status == _lib.EK_ERR_MEMORY:
        raise MemoryError(text_of(err.message))
    kind = {_lib.EK_ERR_INPUT: InputError, _lib.EK_ERR_SYSTEM: SystemFailure, _lib.EK_ERR_STOPPED: Stopped}
    raise kind[status](*place_of(err))


def new_error() -> Any:
    return _ffi.new("ek_error *")


def owned(kind: str, clear: Callable[[Any], None]) -> Any:
    """A zeroed struct that is cleared when nothing refers to it any more."""
    return _ffi.gc(_ffi.new(kind), clear)


def taken_text(call: Callable[[Any, Any, Any], Any]) -> str:
    """The text that call(text, size, err) allocates."""
    text, size, err = _ffi.new("char **"), _ffi.new("size_t *"), new_error()
    check(call(text, size, err), err)
    try:
        return str(_ffi.buffer(text[0], size[0])[:].decode("utf-8"))
    finally:
        _lib.free(text[0])


def find_schedule(name: Optional[str]) -> Any:
    """A schedule of the library; NULL for None."""
    if name is None:
        return _ffi.NULL
    found = _lib.ek_schedule_find(name.encode())
    if found == _ffi.NULL:
        names: "list[str]" = []
        while _lib.ek_schedules[len(names)] != _ffi.NULL:
            names.append(text_of(_lib.ek_schedules[len(names)].name))
        raise InputError(f"no schedule is called '{name}'; there are {', '.join(names)}")
    return found


def warn(text: str) -> None:
    """A warning at the line that called the package."""
    level, frame = 1, _sys._getframe()
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] == "evenkeel":
        level, frame = level + 1, frame.f_back
    _warnings.warn(text, EvenkeelWarning, stacklevel=level)


class Heard:
    """Warnings of readers: kept for reports, and issued as Python's warnings."""

    def __init__(self) -> None:
        self.c = owned("ekpy_warnings *", _lib.ekpy_warnings_clear)
        self.listener = _ffi.new("ek_listener *")
        _lib.ekpy_listen(self.listener, self.c)

    def say(self) -> None:
        if self.c.lost:
            raise MemoryError("out of memory")
        for i in range(self.c.n):
            warn(str(Error(*place_of(self.c.at[i]))))


def all_heard(*heard: Heard) -> Any:
    """The warnings of several readers, one after another."""
    every = [each.c.at[i] for each in heard for i in range(each.c.n)]
    return _ffi.new("ek_error[]", every)


# ---- arrays ----

def _numpy() -> Any:
    try:
        return _importlib.import_module("numpy")
    except ImportError:
        return None


_SIZES = ("size_t", "unsigned long")  # of C; signed here, since NumPy makes a float of an unsigned one plus 1


def _dtype(numpy: Any, kind: Any) -> Any:
    """The NumPy type of a C type, with the offsets that C has."""
    if kind.kind == "primitive":
        codes = {"float": "f", "double": "f", "_Bool": "b", "char": "S"}
        size = _ffi.sizeof(kind)
        unsigned = kind.cname.startswith(("u", "unsigned")) and kind.cname not in _SIZES
        code = codes.get(kind.cname, "u" if unsigned else "i")
        return numpy.dtype("?" if code == "b" else f"{code}{size}")
    if kind.kind == "enum":
        return numpy.dtype(f"i{_ffi.sizeof(kind)}")
    if kind.kind == "pointer":
        return numpy.dtype(f"V{_ffi.sizeof(kind)}")
    if kind.kind == "array":
        if kind.item.kind == "primitive" and kind.item.cname == "char":
            return numpy.dtype(f"S{kind.length}")
        return numpy.dtype((_dtype(numpy, kind.item), kind.length))
    fields = [(name, field) for name, field in kind.fields if not field.type.kind == "pointer"]
    return numpy.dtype({"names": [name for name, _ in fields],
                        "formats": [_dtype(numpy, field.type) for _, field in fields],
                        "offsets": [field.offset for _, field in fields], "itemsize": _ffi.sizeof(kind)})


_dtypes: "dict[str, Any]" = {}


def view(pointer: Any, shape: Sequence[int], owner: object) -> Array:
    """The library's memory as an array [shape] that cannot be written and keeps its owner: nothing is copied.

    Without NumPy numbers are a memoryview; structs need NumPy.
    """
    kind = _ffi.typeof(pointer).item
    count = 1
    for length in shape:
        count *= length
    numpy = _numpy()
    # The buffer references the pointer, the pointer its destructor, and that the owner.
    kept = _ffi.gc(pointer, lambda _, owner=owner: None) if count else None
    memory = memoryview(_ffi.buffer(kept, count * _ffi.sizeof(kind)) if count else b"").toreadonly()
    if numpy is not None:
        dtype = _dtypes.get(kind.cname)
        if dtype is None:
            dtype = _dtypes[kind.cname] = _dtype(numpy, kind)
        return numpy.frombuffer(memory, dtype, count).reshape(shape) if count else numpy.empty(shape, dtype)
    if kind.kind != "primitive":
        raise ImportError("arrays of structs need NumPy; install it, or take json()")
    codes = {"double": "d", "int": "i", "size_t": "l", "unsigned long": "l"}
    return memory.cast(codes[kind.cname], list(shape)) if count else memory.cast(codes[kind.cname])


def doubles(values: Numbers, what: str) -> "list[float]":
    """A list of floats from a list, a NumPy array or one number."""
    if hasattr(values, "tolist"):
        values = values.tolist()
    if isinstance(values, (int, float)):
        values = [values]
    try:
        return [float(value) for value in values]
    except (TypeError, ValueError) as error:
        raise InputError(f"{what} must be numbers in one list or array ({error})") from error


def grid(values: Any, what: str) -> "list[list[int]]":
    """Whole numbers [chunk][stage] from such lists or arrays; of one chunk also [stage]."""
    if hasattr(values, "tolist"):
        values = values.tolist()
    rows = [row.tolist() if hasattr(row, "tolist") else row for row in values]
    if rows and not hasattr(rows[0], "__len__"):
        rows = [rows]
    try:
        whole = [[int(value) for value in row] for row in rows]
    except (TypeError, ValueError) as error:
        raise InputError(f"{what} must be whole numbers as [stage] or [chunk][stage] ({error})") from error
    if not whole or any(len(row) != len(whole[0]) for row in whole) or whole != [list(row) for row in rows]:
        raise InputError(f"{what} must be whole numbers as [stage] or [chunk][stage], as many for each chunk")
    return whole


def pandas() -> Any:
    try:
        return _importlib.import_module("pandas")
    except ImportError as error:
        raise ImportError("frames need pandas; install it, or take text('csv') or json()") from error


# ---- calls that take long ----

class Progress(NamedTuple):
    """Progress of a call, the argument of the caller's `progress` function.

    >>> told = []
    >>> plan = balance("examples/moe_mtp_layers.json", 4, 8, progress=told.append)
    >>> all(0 <= each.share <= 1 for each in told)
    True
    """

    what: str  # the current work, as "searching"
    share: float  # of the work, 0..1
    seconds: Optional[float] = None  # since the search began
    best: Optional[float] = None  # step of the best answer so far
    gap: Optional[float] = None  # how much shorter a step could still be, as a share of it
    balanced: Optional[int] = None  # of a search for layouts: those that were balanced
    left: Optional[int] = None  # likewise: those that may still be among the best


ProgressFunction = Optional[Callable[[Progress], object]]


class Watch:
    """Runs a call so that its progress can be reported and it can be ended."""

    def __init__(self, progress: ProgressFunction, limit: Optional[float] = None) -> None:
        self._progress, self._limit, self._told = progress, limit, 0
        self.c = _ffi.gc(_lib.ekpy_watch_new(), _lib.ekpy_watch_free)
        if self.c == _ffi.NULL:
            raise MemoryError("out of memory")

    def _tell(self) -> None:
        now = _ffi.new("ekpy_progress *")
        _lib.ekpy_watch_read(self.c, now)
        if self._progress is None or now.told == self._told:
            return
        self._told = now.told
        seconds = now.seconds if now.seconds == now.seconds else None
        share = now.share
        if now.left >= 0 and seconds is not None and self._limit:  # the share of the work is unknown; the time is known
            share = seconds / self._limit
        self._progress(Progress(text_of(now.what), min(max(share, 0.0), 1.0), seconds,
                                now.best if now.best < float("inf") else None, now.gap if now.gap < 1 else None,
                                now.balanced if now.balanced >= 0 else None, now.left if now.left >= 0 else None))

    def run(self, call: Callable[[], Any]) -> Any:
        """call(), on a separate thread, while this one can be interrupted and reports progress.

        The calls of the library return to Python only at their end, and Python raises KeyboardInterrupt only on its
        main thread.
        """
        if self._progress is None and _threading.current_thread() is not _threading.main_thread():
            return call()
        answer: "list[Any]" = []
        failure: "list[BaseException]" = []
        running = _threading.Lock()  # Thread.join() treats a thread as ended when an exception interrupts it

        def work() -> None:
            _lib.ekpy_watch_begin(self.c)
            try:
                answer.append(call())
            except BaseException as error:  # raised where the caller is
                failure.append(error)
            finally:
                _lib.ekpy_watch_end()
                running.release()

        running.acquire()
        try:
            _threading.Thread(target=work, name="evenkeel", daemon=True).start()
            while not running.acquire(timeout=_POLL):
                self._tell()
        except BaseException:
            _lib.ekpy_watch_stop(self.c)
            running.acquire(timeout=_PATIENCE)  # a call that cannot be stopped ends by itself and its result is dropped
            raise
        self._tell()
        if failure:
            raise failure[0]
        return answer[0]


# ---- results ----

_MOST_ROWS = 60


class Result:
    """A result that is written in the formats of evenkeel/write.h."""

    def _output(self, format: str) -> Any:
        raise NotImplementedError

    def text(self, format: str = "text") -> str:
        """The result in a format of the command, a str.

        >>> memory("examples/llama175b_train.yaml").text("csv").splitlines()[0].split(",")[0]
        'stage'
        """
        output = self._output(format)
        return taken_text(lambda text, size, err: _lib.ek_write_text(output, format.encode(), text, size, err))

    def json(self) -> Any:
        """The command's JSON, a dict; a list of them where several plans are simulated.

        >>> len(memory("examples/llama175b_train.yaml").json()["stages"])
        16
        """
        return _json.loads(self.text("json"))

    def write(self, format: str, path: Path) -> None:
        """Write the result to a file in a format of the command.

        >>> import os, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     memory("examples/llama175b_train.yaml").write("svg", os.path.join(folder, "m.svg"))
        ...     os.listdir(folder)
        ['m.svg']
        """
        text = self.text(format)
        with open(path, "w", encoding="utf-8", newline="") as out:
            out.write(text)

    def frame(self) -> Any:
        """The result's table, a pandas.DataFrame with the columns of the command's CSV.

        >>> len(memory("examples/llama175b_train.yaml").frame())
        16
        """
        return pandas().read_csv(_io.StringIO(self.text("csv")))

    def _rows(self) -> "list[list[str]]":
        """The table that a notebook shows, its header first."""
        return list(_csv.reader(_io.StringIO(self.text("csv"))))

    def _title(self) -> str:
        return type(self).__name__

    def __str__(self) -> str:
        return self.text()

    def _repr_svg_(self) -> Optional[str]:
        try:
            return self.text("svg")
        except InputError:  # nothing to draw
            return None

    def _repr_html_(self) -> str:
        rows = self._rows()

        def line(cells: "list[str]", tag: str) -> str:
            return "<tr>" + "".join(f"<{tag}>{_html.escape(str(cell))}</{tag}>" for cell in cells) + "</tr>"

        parts = [f"<p><b>{_html.escape(self._title())}</b></p>"]
        picture = self._repr_svg_()
        if picture:  # a separate image, so that its names are not those of another one
            data = _base64.b64encode(picture.encode()).decode()
            parts.append(f'<p><img alt="picture" style="max-width:100%" src="data:image/svg+xml;base64,{data}"/></p>')
        if rows:
            body = "".join(line(row, "td") for row in rows[1:_MOST_ROWS + 1])
            parts.append(f"<table><thead>{line(rows[0], 'th')}</thead><tbody>{body}</tbody></table>")
        if len(rows) > _MOST_ROWS + 1:
            parts.append(f"<p>{len(rows) - 1 - _MOST_ROWS} more rows in text('csv')</p>")
        return "".join(parts)
