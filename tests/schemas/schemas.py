"""Checks documents that the command writes against their JSON Schemas, with an independent validator
(python3-jsonschema).

    schemas.py EVENKEEL ROOT

Prints TAP. Every schema is one of draft 2020-12 and has a command here with a document that it accepts; golden files
and outputs of command-line cases are accepted by the schema of their kind; and a missing key, an unknown key or a value
of another type is refused, wherever in the document it is.
"""
import copy
import glob
import json
import os
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from tap_report import end, report  # noqa: E402

try:
    from jsonschema import Draft202012Validator
except ImportError:
    print("1..0 # SKIP no Python module jsonschema here")
    sys.exit(0)

evenkeel, root = os.path.realpath(sys.argv[1]), os.path.realpath(sys.argv[2])
MUTATIONS = 80  # of a document, evenly over all that there are

small = "data/small_init.yaml -s 6 -mb 6 -mem 1000 -t 5"
job = "examples/llama2_13b_2_pp2.yaml"
plan = f"plan {job} --device 910B --devices 16 --range vpp=1:1 --top 2 -q"
# The command that writes a document of each schema. {FILE}: the document is in this file; PAGE: within a page.
COMMANDS = {
    "balance": [f"balance {small} --format json", "balance data/small_init.yaml -s 6 -mb 6 -mem 150 -t 5 --format json",
                f"balance {small} --schedule auto --format json", f"simulate data/small_manual.yaml --init data/small_init.yaml -mb 6 --format json",
                "balance data/small_layers.json -s 4 -mb 4 --stage-memory 500x3,400 --fix 0:2 --forbid select --format json"],
    "schedules": ["simulate --list-schedules --format json"],
    "sweep": ["balance data/small_init.yaml -s 6 -mb 6 --sweep mem=150,1000 -t 5 --format json"],
    "uniform": ["simulate --uniform forward=1,backward=2 -s 4 -mb 8 --format json"],
    "quick": ["balance data/small_layers.json -s 4 -mb 8 -mem 3000 --quick --format json",
              "balance data/small_layers.json -s 4 -mb 8 -mem 10 --quick --format json"],
    "guide": ["guide --stages 8 --layers 64 --full --select --both --comm --init-out init.yaml --format json"],
    "collected": ["collect dryrun --format json", "collect dryrun -s 4 --format json"],
    "memory": [f"memory {job} --measures --tensors --device 910B --format json",
               "memory examples/moe_16b_config.json --format json"],
    "rules": ["memory --rules --format json"],
    "estimate": ["estimate examples/llama175b_train.yaml --device A800 --format json -q"],
    "calibration": ["calibrate examples/calibrate/runs.csv -o cluster.yaml --format json"],
    "diagnosis": ["diagnose examples/run --format json"],
    "ir": ["ir examples/silu_mul.ir examples/silu_mul_fixed.ir --op . --format json"],
    "ir_difference": ["ir diff examples/silu_mul.ir examples/silu_mul_fixed.ir --format json"],
    "overview": ["data/job/llama.yaml --format json", "examples/llama175b_train.yaml --mem 50GB --device 910B --format json",
                 "data/job/qwen2.json --devices 8 --device H100 --global-batch 64 -t 2 --format json",
                 "data/job/qwen2.json --devices 1 --device A100-40 --format json", "examples/run --format json",
                 "data --format json", "data/job/qwen2.json --format json"],
    "doctor": ["doctor --format json"],
    "lint": ["lint examples/moe_16b_config.json examples/llama175b_train.yaml --format json", "lint loop.py --format json"],
    "layout": [f"{plan} --way --format json"],
    "layout_sweep": [f"{plan} --sweep devices=8,16 --format json"],
    "metrics": [f"metrics --model {job} --step-seconds 2 --device 910B --format json", "metrics --step-seconds 2 --format json"],
    "devices": ["metrics --devices-list --format json"],
    "trace": ["trace examples/trace --format json", "trace examples/run --format json"],
    "trace_lines": ["trace examples/trace --jsonl {lines.jsonl}"],
    "chrome_trace": [f"balance {small} --chrome-trace {{timeline.json}}"],
    "page": [f"view examples/run -q -o {{page.html}}", f"view {job} examples/silu_mul.ir -q -o {{page.html}}",
             f"balance {small} --html {{page.html}}", f"{plan} --html {{page.html}}"],
    "rehearsal": [],  # under a launcher of processes: invented here
}
REHEARSAL = {
    "schedule": "1f1b", "n_stages": 2, "n_chunks": 1, "n_micro_batches": 4, "n_processes": 2, "send": "nonblocking",
    "compute": "sleep", "unit_s": 0.001, "message_bytes": 16, "messages_checked": 8,
    "order": {"nonblocking": {"completes": True, "cycle": None}, "rendezvous": {"completes": False, "cycle": "stage 0"},
              "swapped": None},
    "step": {"measured_s": 0.0153, "predicted_s": 0.0151, "simulated_s": 0.015, "best_s": 0.0153, "bubble": 0.208,
             "predicted_bubble": 0.207, "steps_s": [0.0153], "late_s": 1.5e-05, "shortest_block_s": 0.001},
    "stages": [{"process": 0, "machine": "one", "busy_s": 0.012, "predicted_busy_s": 0.012, "waiting_s": 0.003,
                "predicted_waiting_s": 0.003}],
    "edges": [{"from": 0, "to": 1, "between_machines": False, "messages": 4, "bytes": 16, "timed": 0, "mean_s": None,
               "least_s": None, "bytes_per_s": None}],
    "most_processes_on_a_machine": 2, "cores": 1, "clock_error_s": 0, "gflops": None,
}
# Golden files by the begin of their names, and those that are no document of a command.
GOLDEN = {"calibration": "calibration", "diagnosis": "diagnosis", "estimate": "estimate", "ir_report": "ir", "layout": "layout",
          "layout_sweep": "layout_sweep", "memory": "memory", "report": "balance", "trace": "trace", "trace_small": "chrome_trace"}
CASES = {"estimate-json": "estimate", "ir-diff-json": "ir_difference", "ir-json": "ir", "ir-nodes-json": "ir",
         "lint-json": "lint", "memory-json": "memory", "memory-worth-json": "memory", "metrics-json": "metrics",
         "quick-json": "quick", "uniform-json": "uniform", "strategies": "balance", "collect-json": "collected",
         "overview-json": "overview"}



def documents_in(text):
    """Consecutive JSON documents; text between them is skipped."""
    decoder, at = json.JSONDecoder(), 0
    while True:
        begin = re.compile(r"^[\[{]", re.M).search(text, at)
        if not begin:
            return
        try:
            document, at = decoder.raw_decode(text, begin.start())
            yield document
        except ValueError:
            at = begin.end()


def say(validator, document):
    for error in validator.iter_errors(document):
        yield f"/{'/'.join(map(str, error.absolute_path))}: {error.message[-200:]}"


# ---- places of a document with their schemas ----

def resolved(schema, whole, value):
    """The schema of such a value, after following references and choices."""
    while True:
        if "$ref" in schema:
            schema = whole["$defs"][schema["$ref"].rsplit("/", 1)[1]]
        elif "anyOf" in schema or "oneOf" in schema:
            options = [resolved(one, whole, value) for one in schema.get("anyOf", schema.get("oneOf"))]
            if isinstance(value, list):
                options = [one for one in options if one.get("type") == "array"]
            elif isinstance(value, dict):
                options = [one for one in options if set(one.get("properties", value)) >= set(value)]
            else:
                return {}
            return options[0] if options else {}
        else:
            return schema


def places(schema, whole, value, path=()):
    """Every value below with its path and schema; of lists the first two entries."""
    schema = resolved(schema, whole, value)
    yield path, schema, value
    if isinstance(value, dict):
        for key, one in value.items():
            inner = schema.get("properties", {}).get(key, schema.get("additionalProperties", {}))
            if isinstance(inner, dict):
                yield from places(inner, whole, one, path + (key,))
    elif isinstance(value, list):
        for i, one in enumerate(value[:2]):
            first = schema.get("prefixItems", [])
            inner = first[i] if i < len(first) else schema.get("items", {})
            if isinstance(inner, dict):
                yield from places(inner, whole, one, path + (i,))


def changed(document, path, change):
    """The document with another value at the path; only its parents are copied."""
    if not path:
        return change(document)
    inner = copy.copy(document)
    inner[path[0]] = changed(inner[path[0]], path[1:], change)
    return inner


def without(key):
    def change(value):
        return {k: v for k, v in value.items() if k != key}
    return change


def mutations(schema, document):
    """Changes that the schema must refuse: (what, path, change)."""
    for path, here, value in places(schema, schema, document):
        if isinstance(value, dict) and "properties" in here:
            for key in here.get("required", []):
                yield f"without {key}", path, without(key)
            yield "with a key that nobody knows", path, lambda v: {**v, "unheard_of": 1}
        if "type" in here or "const" in here or "enum" in here:
            yield "of another type", path, lambda v: [[["odd"]]] if not isinstance(v, list) else {"odd": 1}


def shortened(value):
    """The document with the first entries of its long lists: a changed one is validated as a whole each time."""
    if isinstance(value, dict):
        return {key: shortened(one) for key, one in value.items()}
    return [shortened(one) for one in (value[:2] if len(value) > 8 else value)] if isinstance(value, list) else value


def mutate(validator, document):
    document = shortened(document)
    if not validator.is_valid(document):
        return 0, ["the shortened document is refused"]
    every = list(mutations(validator.schema, document))
    step = max(1, len(every) // MUTATIONS)
    missed = [f"/{'/'.join(map(str, path))} {what} is accepted" for what, path, change in every[::step]
              if validator.is_valid(changed(document, path, change))]
    return len(every[::step]), missed


# ---- the tests ----

schemas = {os.path.basename(path)[:-5]: json.load(open(path, encoding="utf-8"))
           for path in sorted(glob.glob(os.path.join(root, "data/schemas/*.json")))}
validators = {name: Draft202012Validator(schema) for name, schema in schemas.items()}


def check_schema(name, schema):
    try:
        Draft202012Validator.check_schema(schema)
    except Exception as error:  # whichever the validator raises
        yield f"{name}: {error}"
    if schema.get("$id") != f"urn:evenkeel:schema:1:{name}" or not schema.get("title") or not schema.get("description"):
        yield f"{name} has another $id, no title or no description"
    text = json.dumps(schema)
    for used in set(re.findall(r'"#/\$defs/([^"]*)"', text)) ^ set(schema.get("$defs", {})):
        yield f"{name}: the definition {used} is not there, or not used"


def may_be_null(schema):
    """Of objects by words each value may be."""
    return "null" in schema.get("type", []) or any(map(may_be_null, schema.get("anyOf", []))) or (
        "properties" in schema and all(map(may_be_null, schema["properties"].values())))


def check_closed(name, schema, path=""):
    """Every value has a type, every object lists its permitted and required keys."""
    if isinstance(schema.get("properties"), dict):
        if schema.get("additionalProperties") is not False or not isinstance(schema.get("required"), list):
            yield f"{name}{path} is open, or does not say which keys are always there"
        if "version" in schema["properties"] and "version" not in schema["required"]:
            yield f"{name}{path} may be without its version"
    inner = dict(schema.get("properties", {}))
    inner.update({f"$defs/{key}": one for key, one in schema.get("$defs", {}).items()})
    inner.update({key: schema[key] for key in ("items", "additionalProperties") if isinstance(schema.get(key), dict)})
    inner.update({f"{i}": one for i, one in enumerate(schema.get("prefixItems", []))})
    for key, one in inner.items():
        if not {"type", "const", "enum", "$ref", "anyOf", "oneOf"} & set(one):
            yield f"{name}{path}/{key} has no type"
        if not key.startswith("$defs/") and re.search(r"\bnull\b", one.get("description", "").lower()) and not may_be_null(one):
            yield f"{name}{path}/{key} is never null, but its description says when it is"
        yield from check_closed(name, one, f"{path}/{key}")


def run(command, folder):
    named = re.search(r"{(.*?)}", command)
    got = subprocess.run([evenkeel, *command.replace("{", "").replace("}", "").split()], cwd=folder, text=True,
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    if got.returncode > 1:
        raise RuntimeError(got.stderr)
    if not named:
        return [json.loads(got.stdout)]
    with open(os.path.join(folder, named[1]), encoding="utf-8") as file:
        text = file.read()
    if named[1].endswith("jsonl"):
        return [json.loads(line) for line in text.splitlines()]
    found = re.search(r'id="document">(.*?)</script>', text, re.S)
    return [json.loads(found[1] if found else text)]


report("every schema is one of draft 2020-12, with a name, and definitions that are used",
       [problem for name, schema in schemas.items() for problem in check_schema(name, schema)])
report("every value of a schema has a type, and no object is open",
       [problem for name, schema in schemas.items() for problem in check_closed(name, schema)])
report("every schema has a command here", set(schemas) ^ set(COMMANDS))

with tempfile.TemporaryDirectory() as folder:
    os.symlink(os.path.join(root, "tests/data"), os.path.join(folder, "data"))
    os.symlink(os.path.join(root, "examples"), os.path.join(folder, "examples"))
    for stage, peak in enumerate((1000, 1600)):
        os.makedirs(os.path.join(folder, f"dryrun/stage_{stage}_rank_{8 * stage}"))
        with open(os.path.join(folder, f"dryrun/stage_{stage}_rank_{8 * stage}/mindformer.log"), "w", encoding="utf-8") as log:
            log.write(f"Device MOC memory size: 65536M\nActual peak memory usage: {peak}M\n")
    with open(os.path.join(folder, "loop.py"), "w", encoding="utf-8") as program:
        program.write("import gc\nfor data in dataset:\n    gc.collect()\n    gc.collect()  # evenkeel: off gc-every-step\n")
    for name, commands in COMMANDS.items():
        problems, missed, n = [], [], 0
        made = [("made up", [REHEARSAL])] if name == "rehearsal" else []
        for command in commands:
            try:
                made.append((command, run(command, folder)))
            except (RuntimeError, ValueError, OSError) as error:
                problems.append(f"{command}: {error}")
        for command, documents in made:
            for document in documents:
                problems += [f"{command}: {line}" for line in say(validators[name], document)]
        for command, documents in made if not problems else []:
            for document in documents[:2]:
                tried, more = mutate(validators[name], document)
                n += tried
                missed += [f"{command}: {line}" for line in more]
        report(f"{name} accepts what the command writes", problems)
        report(f"{name} refuses changed documents", missed if n >= 20 or problems else [f"only {n} changes were tried"])

problems, n = [], 0
for path in sorted(glob.glob(os.path.join(root, "tests/golden/*.json"))):
    name = os.path.basename(path)[:-5]
    if name.startswith("view") or name.endswith("page"):
        continue  # pages of one run, without their common parts
    kind = max((begin for begin in GOLDEN if name.startswith(begin)), key=len, default=None)
    if not kind:
        problems.append(f"{name}: of which kind is it?")
        continue
    n += 1
    problems += [f"{name}: {line}" for line in say(validators[GOLDEN[kind]], json.load(open(path, encoding="utf-8")))]
report("golden files are accepted", problems if n >= 12 else [f"only {n} files"])

problems, n = [], 0
for case, kind in CASES.items():
    with open(os.path.join(root, "tests/cli/cases", case, "stdout"), encoding="utf-8") as file:
        for document in documents_in(file.read()):
            n += 1
            problems += [f"{case}: {line}" for line in say(validators[kind], document)]
report("what command-line cases print is accepted", problems if n >= len(CASES) else [f"only {n} documents"])

# Every output of a case that is only JSON is of a kind with a schema, whether the kind is listed by name or not.
problems, n = [], 0
for path in sorted(glob.glob(os.path.join(root, "tests/cli/cases/*/stdout"))):
    with open(path, "rb") as file:
        text = file.read()
    try:
        document = json.loads(text) if text.lstrip()[:1] in (b"{", b"[") else None
    except ValueError:
        continue
    if document is not None:
        n += 1
        problems += [] if any(v.is_valid(document) for v in validators.values()) else [f"{path}: no schema takes it"]
report("whatever a case prints as JSON is of a kind that has a schema", problems if n >= 8 else [f"only {n} documents"])

end()
