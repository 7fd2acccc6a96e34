"""Layers of models, from files and from numbers."""
from __future__ import annotations

from typing import Any, Mapping, Optional, Sequence, Union

from evenkeel._base import Array, Heard, InputError, Numbers, Path, check, doubles, new_error, owned, path_of
from evenkeel._base import taken_text, text_of, view
from evenkeel._evenkeel import ffi as _ffi, lib as _lib

KINDS = ("none", "select", "comm", "both", "full")  # of recomputation, as ek_recompute

_BACKWARD_RATIO, _WEIGHT_TIME_SHARE = 2.0, 0.5  # EK_BACKWARD_RATIO and EK_WEIGHT_TIME_SHARE: no numbers for cffi
_MOST_NAME = 63


class Layers:
    """Times and memory of the layers of a model, read by read_layers() or made by make_layers()."""

    def __init__(self, c: Any, owner: Any, run: Any, pieces: int = 1, train: Any = None) -> None:
        self._c, self._owner, self._run, self._pieces, self._train = c, owner, run, pieces, train

    @property
    def n_layers(self) -> int:
        """Body layers."""
        return int(self._c.n_layers)

    @property
    def name(self) -> str:
        """The model's name."""
        return text_of(self._c.name)

    @property
    def n_pieces(self) -> int:
        """Pieces of a micro-batch along the sequence that the figures are of; 1: whole ones."""
        return self._pieces

    @property
    def kinds(self) -> "list[str]":
        """Kinds of recomputation with known memory.

        >>> read_layers("examples/moe_mtp_layers.json").kinds
        ['none', 'full']
        """
        return [kind for k, kind in enumerate(KINDS) if self._c.modelled[k]]

    @property
    def body(self) -> Array:
        """[kinds of body layers] their figures: a NumPy array with the fields of ek_layer, not copied.

        forward_time, backward_time [5 kinds of recomputation] and weight_time of one layer and micro-batch, in the unit
        of the input; parameter_mb and activation_mb [5], MB; n_layers.

        >>> read_layers("examples/moe_mtp_layers.json").body["forward_time"].tolist()
        [9.0, 14.0]
        """
        return view(self._c.body, (self._c.n_body,), self._owner)

    def text(self) -> str:
        """A layer file (JSON) of the same figures, a str.

        >>> read_layers("examples/moe_mtp_layers.json").text().startswith("{")
        True
        """
        return taken_text(lambda text, size, err: _lib.ekpy_layers_text(self._c, text, size, err))

    def __repr__(self) -> str:
        return f"<Layers '{self.name}': {self.n_layers} body layers>"


def read_layers(path: Path, *, name: str = "model_name", head_time: Optional[float] = None,
                body_time: Optional[float] = None, tail_time: Optional[float] = None, constant_mb: float = 0.0,
                recompute_transient: bool = False, sapp_compatible: bool = False, n_pieces: int = 1,
                train: Optional[Path] = None) -> Layers:
    """Read a layer file (JSON; its name ends with .json) or an init file (YAML).

    name: of the model of an init file. head_time, body_time, tail_time: forward times of the embedding, one body layer,
    and head with loss, instead of the file's, in any unit. constant_mb: further MB on every stage. recompute_transient:
    peaks include the activations that recomputing a layer restores. sapp_compatible: an init file's memory and times as
    the original tool takes them. n_pieces: sequence pieces of a micro-batch, for the schedule "sequence"; train is then
    the training file with the model's shapes.

    >>> read_layers("examples/moe_mtp_layers.json").n_layers
    32
    >>> read_layers("examples/llama175b_init.yaml").n_layers
    96
    """
    encoded, heard, notes, err = path_of(path), Heard(), Heard(), new_error()
    kept = [_ffi.new("char[]", encoded), _ffi.new("char[]", name.encode())]
    times = _ffi.new("ek_times *", [float("nan") if time is None else time for time in
                                    (head_time, body_time, tail_time)])
    key = "layers" if encoded.endswith(b".json") else "init"
    files = _ffi.new("ek_model_files *", {key: kept[0], "name": kept[1], "sapp_compatible": sapp_compatible})
    if (head_time, body_time, tail_time) != (None, None, None):
        files.times = times
    read = _ffi.gc(_ffi.new("ek_file_model *"), lambda model: _lib.ek_layers_clear(_ffi.addressof(model.layers)))
    check(_lib.ek_model_files_read(files, heard.listener, notes.listener, read, err), err)
    heard.say()
    layers, owner = _ffi.addressof(read.layers), read
    _lib.ek_layers_add_constant(layers, constant_mb, read.run.constant_mb, notes.listener)
    kept_train = None
    if n_pieces > 1:
        if train is None:
            raise InputError(f"{n_pieces} pieces need the model's shapes; give its training file as train")
        kept_train = _ffi.new("char[]", path_of(train))
        layers, n_pieces = _cut(layers, kept_train, n_pieces)
        owner = layers
    layers.recompute_transient = recompute_transient
    check(_lib.ek_layers_check(layers, err), err)
    return Layers(layers, (read, owner), read.run, n_pieces, kept_train)


def _cut(layers: Any, train: Any, n_pieces: int) -> Any:
    """The layers as a sequence piece sees them, and how many pieces there are."""
    job, cut = owned("ek_job *", _lib.ek_job_clear), owned("ek_layers *", _lib.ek_layers_clear)
    err, heard = new_error(), Heard()
    check(_lib.ek_job_read_part(train, _lib.EK_JOB_SHAPES, heard.listener, job, err), err)
    if job.no_layout:
        raise InputError("a config.json does not say the sequences of a micro-batch and the tensor parallel ranks; give the "
                         "launch script or the training YAML of the run", text_of(job.path))
    n_pieces = _lib.ek_sequence_pieces(job, n_pieces, heard.listener)
    check(_lib.ek_layers_split_sequence(layers, job, n_pieces, heard.listener, cut, err), err)
    heard.say()
    return cut, n_pieces


def layers_of(layers: Union[Layers, Path]) -> Layers:
    """The layers that a caller gives, or those of the file that it names."""
    return layers if isinstance(layers, Layers) else read_layers(layers)


# ---- models without files ----

def _by_kind(values: Any, what: str) -> "dict[str, list[float]]":
    """Values by kind of recomputation; plain ones are those of "none"."""
    if not isinstance(values, Mapping):
        values = {"none": values}
    for kind in values:
        if kind not in KINDS:
            raise InputError(f"{what}: no recomputation is called '{kind}'; there are {', '.join(KINDS)}")
    return {kind: doubles(value, f"{what} of '{kind}'") for kind, value in values.items()}


def _spread(values: Sequence[Any], n: int, what: str) -> "list[Any]":
    if len(values) not in (1, n):
        raise InputError(f"{what} has {len(values)} values for {n} layers; give one for each, or one for all")
    return list(values) * (n if len(values) == 1 else 1)


def _write_layer(layer: Any, name: str, count: int, forward: float, backward: "dict[str, float]",
                 weight: Optional[float], parameter: float, activation: "dict[str, float]") -> None:
    encoded = name.encode()
    if not 0 < len(encoded) <= _MOST_NAME:
        raise InputError(f"the name of a layer must have 1 to {_MOST_NAME} bytes ('{name}')")
    layer.name, layer.n_layers, layer.forward_time, layer.parameter_mb = encoded, count, forward, parameter
    plain = backward.get("none", _BACKWARD_RATIO * forward)
    for k, kind in enumerate(KINDS):
        layer.backward_time[k] = backward.get(kind, plain * (1 + _lib.ek_recompute_coefficient[k]))
        layer.activation_mb[k] = activation.get(kind, 0.0)
        layer.modelled[k] = kind in activation
    layer.weight_time = _WEIGHT_TIME_SHARE * plain if weight is None else weight


_END_KEYS = ("forward_time", "backward_time", "weight_time", "parameter_mb", "activation_mb", "name")


def _write_end(layer: Any, end: Optional[Mapping[str, Any]], name: str) -> bool:
    end = dict(end or {})
    unknown = [key for key in end if key not in _END_KEYS]
    if unknown:
        raise InputError(f"{name} has no '{unknown[0]}'; there are {', '.join(_END_KEYS)}")
    backward = {} if end.get("backward_time") is None else {"none": float(end["backward_time"])}
    _write_layer(layer, end.get("name", name), 1, float(end.get("forward_time", 0)), backward, end.get("weight_time"),
                 float(end.get("parameter_mb", 0)), {"none": float(end.get("activation_mb", 0))})
    return end.get("weight_time") is not None or layer.backward_time[0] == 0


def make_layers(forward_time: Numbers, *, activation_mb: Any, backward_time: Any = None,
                weight_time: Optional[Numbers] = None, parameter_mb: Numbers = 0.0,
                n_layers: Optional[Numbers] = None, names: Optional[Sequence[str]] = None,
                head: Optional[Mapping[str, Any]] = None, tail: Optional[Mapping[str, Any]] = None,
                const_mb: float = 0.0, name: str = "model", recompute_transient: bool = False) -> Layers:
    """A model without a file, from numbers, lists or NumPy arrays.

    Each argument has one value for each body layer in model order, or one for all. n_layers: the number of such layers
    that each value describes (1). Equal neighbours become one kind; a model has at most 16 kinds.

    forward_time: of one layer and micro-batch, any unit. backward_time: likewise, including recomputation; by kind of
    recomputation ("none", "select", "comm", "both", "full") as a dict of such values; a missing value is 2 x forward
    and, for a kind, longer by 0.04, 0.125, 0.165 and 0.5 of that. weight_time: the part of it that is the gradient of
    the weights (half). activation_mb: MB of one micro-batch, by kind likewise; only kinds that are given are used.
    parameter_mb: MB. head, tail: dicts of forward_time, backward_time, weight_time, parameter_mb, activation_mb and
    name for the layers before and after the body. const_mb: MB on every stage. recompute_transient: as for
    read_layers().

    >>> layers = make_layers(3.0, n_layers=24, activation_mb={"none": 900, "full": 60}, parameter_mb=1200,
    ...                      tail={"forward_time": 1.5, "parameter_mb": 800, "activation_mb": 300})
    >>> balance(layers, 4, 8, memory_limit_mb=20000).plan.layers.shape
    (1, 4)
    """
    forward = doubles(forward_time, "forward_time")
    activation, backward = _by_kind(activation_mb, "activation_mb"), _by_kind(
        {} if backward_time is None else backward_time, "backward_time")
    weight = None if weight_time is None else doubles(weight_time, "weight_time")
    parameter, counts = doubles(parameter_mb, "parameter_mb"), doubles(1 if n_layers is None else n_layers, "n_layers")
    every = [forward, parameter, counts, *activation.values(), *backward.values(), *([weight] if weight else [])]
    n = max(len(values) for values in every)
    if n == 0 or not activation:
        raise InputError("a model needs a layer, and the activation_mb of one kind of recomputation at least")
    columns = {"forward_time": forward, "parameter_mb": parameter, "n_layers": counts}
    forward, parameter, counts = (_spread(values, n, what) for what, values in columns.items())
    activation = {kind: _spread(values, n, "activation_mb") for kind, values in activation.items()}
    backward = {kind: _spread(values, n, "backward_time") for kind, values in backward.items()}
    weight = None if weight is None else _spread(weight, n, "weight_time")
    titles = _spread(["body"] if names is None else [names] if isinstance(names, str) else list(names), n, "names")
    rows: "list[list[Any]]" = []
    for i in range(n):
        if not 1 <= counts[i] <= _lib.EK_MAX_LAYERS or counts[i] != int(counts[i]):
            raise InputError(f"n_layers must be whole numbers from 1 to {_lib.EK_MAX_LAYERS} (got {counts[i]:g})")
        row = [int(counts[i]), titles[i], forward[i], {kind: values[i] for kind, values in backward.items()},
               None if weight is None else weight[i], parameter[i],
               {kind: values[i] for kind, values in activation.items()}]
        if rows and rows[-1][1:] == row[1:]:
            rows[-1][0] += row[0]
        else:
            rows.append(row)
    body = _ffi.new("ek_layer[]", len(rows))
    for layer, (count, title, *figures) in zip(body, rows):
        _write_layer(layer, title, count, figures[0], figures[1], figures[2], figures[3], figures[4])
    encoded = name.encode()
    if len(encoded) > _MOST_NAME:
        raise InputError(f"the name of a model has at most {_MOST_NAME} bytes")
    c = _ffi.new("ek_layers *", {"name": encoded, "n_body": len(rows), "body": body, "const_mb": const_mb,
                                 "n_layers": sum(row[0] for row in rows), "recompute_transient": recompute_transient})
    known = [_write_end(c.head, head, "HEAD"), _write_end(c.tail, tail, "TAIL")]
    c.split_known = weight is not None and all(known)
    for k, kind in enumerate(KINDS):
        c.modelled[k] = kind in activation
    err = new_error()
    check(_lib.ek_layers_check(c, err), err)
    return Layers(c, (c, body), None)
