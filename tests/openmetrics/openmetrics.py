"""Checks the output of `evenkeel metrics --format openmetrics`: reads it with its own parser after the text of
OpenMetrics 1.0, and with that of prometheus_client where installed, and compares it with the JSON of the same run.

    openmetrics.py EVENKEEL ROOT

Prints TAP.
"""
import json
import os
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from tap_report import end, report, skip  # noqa: E402

evenkeel, root = os.path.realpath(sys.argv[1]), os.path.realpath(sys.argv[2])


# ---- the parser ----

NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
LABEL = r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\[\\n"])*)"'
SAMPLE = re.compile(rf"({NAME})(?:{{((?:{LABEL},?)*)}})? (\S+)")
# Types that the older text format of Prometheus has too.
SUFFIX = {"gauge": [""], "counter": ["_total", "_created"]}
BASE_UNITS = ("seconds", "bytes", "ratio")


class Wrong(Exception):
    pass


def unescaped(text):
    return re.sub(r"\\(.)", lambda m: "\n" if m[1] == "n" else m[1], text)


def parse(data):
    """Families by name: {type, unit, help, samples: {(name, labels): value}}."""
    text = data.decode("utf-8")
    if not text.endswith("# EOF\n"):
        raise Wrong("does not end with # EOF")
    families, open_family = {}, None
    for line in text[:-len("# EOF\n")].splitlines():
        head = re.fullmatch(rf"# (HELP|TYPE|UNIT) ({NAME}) (.+)", line)
        if head:
            what, name, rest = head.groups()
            if open_family is None or name != open_family["name"]:
                if name in families:
                    raise Wrong(f"{name} is there twice, or its lines are apart")
                open_family = families[name] = {"name": name, "samples": {}}
            if what in open_family or open_family["samples"]:
                raise Wrong(f"{what} of {name} comes twice, or behind samples")
            open_family[what] = rest
            continue
        sample = SAMPLE.fullmatch(line)
        if not sample or open_family is None:
            raise Wrong(f"no line of the format, or a sample without a family: {line}")
        name, labels = sample[1], re.findall(LABEL, sample[2] or "")
        if name not in [open_family["name"] + suffix for suffix in SUFFIX.get(open_family.get("TYPE"), [])]:
            raise Wrong(f"{name} is no sample of {open_family['name']}, a {open_family.get('TYPE')}")
        if len({key for key, _ in labels}) != len(labels):
            raise Wrong(f"a label is there twice: {line}")
        key = (name, tuple(sorted((k, unescaped(v)) for k, v in labels)))
        if key in open_family["samples"]:
            raise Wrong(f"a sample is there twice: {line}")
        open_family["samples"][key] = float(sample[5])
    for name, family in families.items():
        check_family(name, family)
    return families


def check_family(name, family):
    if not {"HELP", "TYPE"} <= set(family) or not family["samples"]:
        raise Wrong(f"{name} has no HELP, no TYPE or no sample")
    unit = family.get("UNIT")
    if unit and not name.endswith("_" + unit):
        raise Wrong(f"{name} does not end in its unit {unit}")
    if not unit and any(name.endswith("_" + base) for base in BASE_UNITS):
        raise Wrong(f"{name} ends in a unit that it does not say")
    if family["TYPE"] == "counter" and (name.endswith("_total") or min(family["samples"].values()) < 0):
        raise Wrong(f"{name}: a counter's family ends in _total, or counts down")
    if name.endswith("_info") and (unit or set(family["samples"].values()) != {1.0}):
        raise Wrong(f"{name}: what says something in its labels has a unit, or is not 1")


def outcome(data):
    try:
        parse(data)
    except (Wrong, UnicodeDecodeError, ValueError) as wrong:
        return str(wrong)
    return None


# ---- beside the JSON ----

# Key of the JSON, family, factor; of "predicted" too where it has the key.
FIGURES = [
    ("step_seconds", "step_time_seconds", 1), ("global_batch", "global_batch_sequences", 1), ("n_devices", "run_devices", 1),
    ("seq_length", "sequence_length_tokens", 1), ("samples_per_second", "run_throughput_samples_per_second", 1),
    ("samples_per_second_per_device", "device_throughput_samples_per_second", 1),
    ("tokens_per_second", "run_throughput_tokens_per_second", 1),
    ("tokens_per_second_per_device", "device_throughput_tokens_per_second", 1),
    ("model_flops_per_token", "model_flops_per_token", 1), ("hardware_flops_per_token", "hardware_flops_per_token", 1),
    ("achieved_tflops", "device_model_flops_per_second", 1e12), ("hardware_tflops", "device_hardware_flops_per_second", 1e12),
    ("peak_tflops", "device_peak_flops_per_second", 1e12), ("mfu", "model_flops_utilization_ratio", 1),
    ("hfu", "hardware_flops_utilization_ratio", 1), ("linearity", "linearity_ratio", 1),
]
# Path of the JSON, sample, its labels, factor.
OTHERS = [
    ("bubble.share", "bubble_of_step_ratio", {"of": "run"}, 1), ("bubble.ratio", "bubble_of_work_ratio", {"of": "run"}, 1),
    ("predicted.standard_error_seconds", "prediction_standard_error_seconds", {}, 1),
    ("predicted.error", "prediction_error_ratio", {}, 1),
    ("predicted.basis.assumed", "prediction_basis_ratio", {"basis": "assumed"}, 1),
    ("predicted.basis.fitted", "prediction_basis_ratio", {"basis": "fitted"}, 1),
    ("device.memory_gib", "device_memory_bytes", {}, 2 ** 30),
    ("device.memory_gbs", "device_memory_bytes_per_second", {}, 1e9),
    ("device.intra_gbs", "device_link_bytes_per_second", {"to": "node"}, 1e9),
    ("device.inter_gbs", "device_link_bytes_per_second", {"to": "cluster"}, 1e9),
    ("log.n_steps", "log_steps_total", {}, 1), ("log.n_counted", "log_counted_steps", {}, 1),
    ("log.median_seconds", "log_step_time_seconds", {"statistic": "median"}, 1),
    ("log.mean_seconds", "log_step_time_seconds", {"statistic": "mean"}, 1),
    ("log.deviation_seconds", "log_step_time_seconds", {"statistic": "standard deviation"}, 1),
    ("log.worst_seconds", "log_step_time_seconds", {"statistic": "longest"}, 1),
    ("log.first_loss", "log_loss", {"step": "first"}, 1), ("log.last_loss", "log_loss", {"step": "last"}, 1),
    ("log.peak_mb", "log_peak_memory_bytes", {}, 2 ** 20),
]


def at(document, path):
    for key in path.split("."):
        document = document.get(key) if isinstance(document, dict) else None
    return document


def differences(document, families):
    """Figures of the JSON that are not these samples, and samples that no figure is."""
    got = {(name[len("evenkeel_"):], labels): value for family in families.values()
           for (name, labels), value in family["samples"].items()}
    wanted = {}
    for key, name, factor in FIGURES:
        for of, path in (("run", key), ("prediction", f"predicted.{key}")):
            wanted[(name, (("of", of),))] = (at(document, path), factor)
    for path, name, labels, factor in OTHERS:
        wanted[(name, tuple(sorted(labels.items())))] = (at(document, path), factor)
    for term in document["terms"]:
        for way in ("forward", "recomputed"):
            wanted[("term_flops_per_token", (("pass", way), ("term", term["name"])))] = (term[way], 1)
    for name, key in (("model_parameters", "parameters"), ("model_active_parameters", "active_parameters")):
        wanted[(name, ())] = (document[key] if document["terms"] else None, 1)
    for basis in ("measured", "derived"):
        wanted[("prediction_basis_ratio", (("basis", basis),))] = (at(document, f"predicted.basis.{basis}"), 1)
    for key, basis in document["basis"].items():
        if basis:
            wanted[("figure_info", (("basis", basis), ("figure", key)))] = (1, 1)
    for key, (value, factor) in wanted.items():
        if value is None and key in got:
            yield f"{key} is {got[key]}, but the JSON has null"
        elif value is not None and abs(got.get(key, float("nan")) - value * factor) > 1e-9 * abs(value * factor):
            yield f"{key} is {got.get(key)}, but the JSON has {value} times {factor:g}"
        elif value is not None and key not in got:
            yield f"{key} is not there"
    for key in set(got) - set(wanted):
        if key[0] not in ("run_info", "trace_steps"):
            yield f"{key} is in no JSON"


def run(words, folder, form):
    got = subprocess.run([evenkeel, "metrics", *words, "--format", form], cwd=folder, stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, check=False)
    if got.returncode:
        raise RuntimeError(got.stderr.decode("utf-8", "replace"))
    return got.stdout


def their_parsers(data):
    """Samples by prometheus_client: of OpenMetrics, and of the older text format. None: it is not installed."""
    try:
        from prometheus_client.openmetrics import parser as new
        from prometheus_client import parser as old
    except ImportError:
        return None
    try:
        return [sum(len(family.samples) for family in one.text_string_to_metric_families(data.decode("utf-8")))
                for one in (new, old)]
    except Exception as error:  # whichever it raises
        return error


LOG = "".join(
    f"2026-01-10 10:00:{i:02d},000 - mindformers - INFO - {{ Epoch:[  1/  1], step:[ {i + 1:4d}/  100], loss: {9 - i / 10:.3f}, "
    f"per_step_time: {4000 + 10 * i}ms, lr: 1e-05, overflow cond: False, loss_scale: 1.0, global_norm: [1.0], "
    f"train_throughput_per_npu: 12.3\n" for i in range(8))
MEGATRON = """  global_batch_size ............................... 256
  seq_length ...................................... 4096
  world_size ...................................... 64
 iteration       10/  500000 | consumed samples:         2560 | elapsed time per iteration (ms): 9000.0 | global batch size:   256 | lm loss: 1.1E+01 |
 iteration       20/  500000 | consumed samples:         5120 | elapsed time per iteration (ms): 8000.0 | global batch size:   256 | lm loss: 6.1E+00 |
[Rank 0] (after 20 iterations) memory (MB) | allocated: 7253.6 | max allocated: 45959.9 | reserved: 8266.0 | max reserved: 50266.0
"""
odd = 'a "log"\\\nof \xe9.log'
model = ["--model", "examples/llama2_13b_2_pp2.yaml"]
RUNS = {
    "a prediction beside a given step": [*model, "--step-seconds", "200", "--device", "910B", "--baseline", "3.5/8"],
    "a log whose name needs escapes": [*model, "--log", odd, "--device", "910B"],
    "a log with memory": ["--log", "megatron.log", "--flops-per-token", "82.1e9", "--device", "A800"],
    "a trace": ["--trace", "examples/trace"],
    "numbers alone": ["--step-seconds", "2"],
    "a bubble alone": ["-pp", "4", "-mb", "8"],
}

with tempfile.TemporaryDirectory() as folder:
    os.symlink(os.path.join(root, "examples"), os.path.join(folder, "examples"))
    with open(os.path.join(folder, odd), "w", encoding="utf-8") as log:
        log.write(LOG)
    with open(os.path.join(folder, "megatron.log"), "w", encoding="utf-8") as log:
        log.write(MEGATRON)
    answers = {}
    for claim, words in RUNS.items():
        try:
            data, document = run(words, folder, "openmetrics"), json.loads(run(words, folder, "json"))
            answers[claim] = data
            families = parse(data)
            problems = list(differences(document, families))
            theirs, n = their_parsers(data), sum(len(family["samples"]) for family in families.values())
            if theirs is not None and theirs != [n, n]:
                problems.append(f"prometheus_client: {theirs}, not {n} samples by either of its parsers")
            source = [dict(labels)["source"] for family in families.values() for name, labels in family["samples"]
                      if name == "evenkeel_run_info"]
            if len(source) != 1 or source[0] != document["source"]:
                problems.append(f"the source is {source}, not {document['source']!r}")
        except (RuntimeError, Wrong, ValueError) as error:
            problems = [str(error)]
        report(f"{claim}: the format is right, and the figures are those of the JSON", problems)
    data = answers.get("a prediction beside a given step", b"")

    # A parser that takes anything would show nothing.
    breaks = {
        "no end": data.replace(b"# EOF\n", b""),
        "a unit that the name does not end in": data.replace(b"# UNIT evenkeel_step_time_seconds seconds",
                                                             b"# UNIT evenkeel_step_time_seconds ms"),
        "a sample twice": re.sub(rb"(evenkeel_run_devices\{.*\n)", rb"\1\1", data),
        "a sample of another family": data.replace(b"evenkeel_run_devices{", b"evenkeel_devices{"),
        "a family in two places": data.replace(b"# EOF", b"# TYPE evenkeel_run_devices gauge\n# EOF"),
        "a quote in a label": data.replace(b'source="given"', b'source="gi"ven"'),
        "a type behind samples": data.replace(b"# HELP evenkeel_global_batch_sequences",
                                              b"# UNIT evenkeel_step_time_seconds seconds\n# HELP evenkeel_global_batch_sequences"),
        "no type": data.replace(b"# TYPE evenkeel_linearity_ratio gauge\n", b""),
    }
    report("documents that are not of the format are refused",
           [f"{what} is accepted" for what, text in breaks.items() if text == data or outcome(text) is None])
    without = subprocess.run([evenkeel, "metrics", "--devices-list", "--format", "openmetrics"], cwd=folder, text=True,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    report("the list of devices has no such format, and says so", [] if without.returncode == 2 and without.stderr ==
           "evenkeel: error: --devices-list has no format 'openmetrics'; take text or json\n" else [without.stderr])

if their_parsers(b"# EOF\n") is None:
    skip("the parser of Prometheus reads it too", "no Python module prometheus_client (Debian: python3-prometheus-client)")
end()
