"""Fits devices to measurements on them."""
from __future__ import annotations

import os as _os
from typing import Any, Optional, Sequence, Union

from evenkeel._base import Array, Heard, InputError, Path, ProgressFunction, Result, Watch, check, new_error, owned
from evenkeel._base import path_of, paths_of, taken_text, text_of, view
from evenkeel._evenkeel import ffi as _ffi, lib as _lib
from evenkeel._job import Device


def _of_folder(folder: bytes, heard: Heard) -> "list[bytes]":
    """Settings, logs and profiles of a run's folder."""
    files, err = owned("ek_run_files *", _lib.ek_run_files_clear), new_error()
    check(_lib.ek_run_files_add(files, folder, _lib.EK_RUN_UNKNOWN, heard.listener, err), err)
    wanted = (_lib.EK_RUN_CONFIG, _lib.EK_RUN_LOG, _lib.EK_RUN_TRACE)
    paths = [bytes(_ffi.string(files.file[i].path)) for i in range(files.n) if files.file[i].kind in wanted]
    if not paths:
        raise InputError(f"the folder '{_os.fsdecode(folder)}' has neither a job file nor a training log nor a profile; "
                         "give tables and logs by name")
    return paths


class Calibration(Result):
    """A device fitted to measurements on it, made by calibrate()."""

    def __init__(self, sources: Sequence[Path], start: Optional[Path], holdout: float, name: Optional[str],
                 progress: ProgressFunction) -> None:
        err, heard, watch = new_error(), Heard(), Watch(progress)
        named, found = [], []  # folders come after the named files, as in the command
        for source in map(path_of, sources):
            if _os.path.isdir(source):
                found += _of_folder(source, heard)
            else:
                named.append(source)
        texts = [_ffi.new("char[]", path) for path in named + found]
        if not texts:
            raise InputError("no source: give what was measured")
        paths = _ffi.new("char *[]", texts)
        self._start = Device(start) if start is not None else None
        self._c = owned("ek_calibration *", _lib.ek_calibration_clear)
        asked = _ffi.new("ek_calibrate_input *", {
            "path": _ffi.cast("const char *const *", paths), "n_paths": len(texts), "holdout": holdout,
            "start": self._start.c if self._start else _ffi.NULL, "listener": heard.listener})
        _lib.ekpy_watch_calibrate(watch.c, asked)
        watch.run(lambda: check(_lib.ek_calibrate(asked, self._c, err), err))
        heard.say()
        if name is not None:
            encoded = name.encode()
            if not 0 < len(encoded) < len(self._c.device.name):
                raise InputError(f"name must have 1 to {len(self._c.device.name) - 1} bytes")
            self._c.device.name = encoded

    def _output(self, format: str) -> Any:
        return _lib.ek_output_of_calibration(self._c)

    def _title(self) -> str:
        error = self._c.leave_one_out
        said = f": runs that were left out are off by {100 * error.mean:.1f} % in the mean" if error.n else ""
        return f"Calibration of {self.name}{said}"

    @property
    def name(self) -> str:
        """The device's name."""
        return text_of(self._c.device.name)

    @property
    def runs(self) -> Array:
        """[n] measured runs: a NumPy array with the fields of ek_calibrated_run (measured, before, after, left_out,
        group_out: seconds of a step; used, held, weight, name, ...), not copied.

        """
        return view(self._c.run, (self._c.n_runs,), self._c)

    @property
    def constants(self) -> Array:
        """[n] constants: a NumPy array with the fields of ek_calibrated_constant (name, start, value, error, state), not
        copied."""
        return view(self._c.constant, (self._c.n_constants,), self._c)

    @property
    def error(self) -> "dict[str, float]":
        """Of |predicted / measured - 1| for runs that the fit has not seen: mean, median, worst; and bias, n."""
        error = self._c.leave_one_out
        return {name: getattr(error, name) for name in ("n", "mean", "median", "worst", "bias")}

    def device(self) -> str:
        """The device file, a str, for the `device` of estimate() and plan() once it is written.

        >>> calibrate("examples/calibrate/all_reduce_perf.log", start="A800").device().count("\\n") > 10
        True
        """
        return taken_text(lambda text, size, err: _lib.ekpy_device_text(self._c, text, size, err))

    def write_device(self, path: Path) -> None:
        """Write the device file.

        >>> import os, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = os.path.join(folder, "ours.yaml")
        ...     calibrate("examples/calibrate/all_reduce_perf.log", start="A800").write_device(path)
        ...     estimate("examples/llama175b_train.yaml", path).step_seconds > 0
        True
        """
        text = self.device()
        with open(path, "w", encoding="utf-8", newline="") as out:
            out.write(text)


def calibrate(sources: Union[Path, Sequence[Path]], *, start: Optional[Path] = None, holdout: float = 0.0,
              name: Optional[str] = None, progress: ProgressFunction = None) -> Calibration:
    """Fit a device to measurements on it.

    sources: a file or folder, or several of any kind: tables of runs, kernels and rates, logs of link tests, profiles,
    training logs with their job files. start: device to start from, a name or file; by default the shipped one that the
    runs name. holdout: share of the groups of runs, 0 to 0.9, that are held out of the fit and judge it. name: of the
    device. progress: called with a Progress a few times a second.

    >>> calibrate("examples/calibrate/runs.csv", holdout=0.25).json()["start"]
    'A100-80'
    """
    return Calibration(paths_of(sources), start, holdout, name, progress)
