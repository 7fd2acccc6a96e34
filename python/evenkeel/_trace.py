"""Reads profiles of runs."""
from __future__ import annotations

import io as _io
from typing import Any, Sequence, Union

from evenkeel._base import Heard, InputError, Path, ProgressFunction, Result, Watch, check, new_error, owned, pandas
from evenkeel._base import path_of, paths_of, text_of
from evenkeel._evenkeel import ffi as _ffi, lib as _lib


class Trace(Result):
    """A profiled run, read by read_trace()."""

    def __init__(self, paths: "list[Path]", progress: ProgressFunction) -> None:
        err, heard, watch = new_error(), Heard(), Watch(progress)
        self._c = owned("ek_trace_run *", _lib.ek_trace_run_clear)
        texts = [_ffi.new("char[]", path_of(path)) for path in paths]
        names = _ffi.new("char *[]", texts)
        options = _ffi.new("ek_trace_options *", {"measure": True})
        _lib.ekpy_watch_trace(watch.c, options)

        def read() -> None:
            check(_lib.ek_trace_run_read(names, len(texts), options, heard.listener, self._c, err), err)
            check(_lib.ek_compute_make(self._c, _ffi.NULL, err), err)

        watch.run(read)
        heard.say()
        self._view = _ffi.new("ek_trace_view *", {"rank": _lib.EK_TRACE_NO_RANK})
        self._report = _ffi.new("ek_trace_report *", {"run": self._c, "view": self._view})
        self._table = 0

    def _output(self, format: str) -> Any:
        output = _lib.ek_output_of_trace(self._report)
        output.index = self._table
        return output

    @staticmethod
    def table_names() -> "list[str]":
        """Names of the tables.

        >>> "steps" in Trace.table_names()
        True
        """
        return [text_of(_lib.ek_trace_tables[i].name) for i in range(_lib.EK_N_TRACE_TABLES)]

    def csv(self, name: str) -> str:
        """A table as comma-separated values with a header line, a str.

        >>> read_trace("examples/trace").csv("steps").count("\\n") > 1
        True
        """
        names = self.table_names()
        if name not in names:
            raise InputError(f"a trace has no table '{name}'; there are {', '.join(names)}")
        self._table = names.index(name)
        try:
            return self.text("csv")
        finally:
            self._table = 0

    def frame(self, name: str = "steps") -> Any:
        """A table as a pandas.DataFrame, columns as the command's; times in ms.

        >>> "rank" in read_trace("examples/trace").frame("steps").columns
        True
        """
        return pandas().read_csv(_io.StringIO(self.csv(name)))

    @property
    def steps(self) -> Any:
        """Steps of each rank, a pandas.DataFrame."""
        return self.frame("steps")

    @property
    def operators(self) -> Any:
        """Operators, a pandas.DataFrame."""
        return self.frame("operators")

    @property
    def collectives(self) -> Any:
        """Collectives, a pandas.DataFrame."""
        return self.frame("collectives")

    @property
    def layers(self) -> Any:
        """Layers, a pandas.DataFrame."""
        return self.frame("layers")


def read_trace(path: Union[Path, Sequence[Path]], *, progress: ProgressFunction = None) -> Trace:
    """Read a profile: a folder or a file, or several of one run. progress: called with a Progress a few times a second.

    >>> len(read_trace("examples/trace").json()["ranks"]) > 0
    True
    """
    paths = paths_of(path)
    if not paths:
        raise InputError("no profile: give a folder or a file")
    return Trace(paths, progress)
