"""Checks the SARIF 2.1.0 structure of the output of `lint`, `ir` and `diagnose` without an external schema: required
and permitted properties, levels, indices, regions; and that it has all findings of the JSON.

    structure.py EVENKEEL ROOT

Prints TAP. sarif.sh checks the same against the published schema from npm.
"""
import copy
import json
import os
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from tap_report import end, report  # noqa: E402

evenkeel, root = os.path.realpath(sys.argv[1]), os.path.realpath(sys.argv[2])

# For each object: the properties that the standard requires, and the others that are written here. (OASIS, sections
# 3.13 to 3.55.)
KNOWN = {
    "log": ({"version", "runs"}, {"$schema"}),
    "run": ({"tool", "results"}, {"columnKind"}),
    "tool": ({"driver"}, set()),
    "driver": ({"name"}, {"semanticVersion", "rules"}),
    "rule": ({"id"}, {"shortDescription", "fullDescription", "help", "defaultConfiguration", "properties"}),
    "message": ({"text"}, set()),
    "configuration": ({"level"}, set()),
    "result": ({"message", "ruleId", "ruleIndex", "level", "locations"}, {"fixes", "suppressions", "relatedLocations", "properties"}),
    "location": (set(), {"id", "physicalLocation", "logicalLocations", "message"}),
    "physicalLocation": ({"artifactLocation"}, {"region"}),
    "artifactLocation": ({"uri"}, set()),
    "region": ({"startLine"}, {"startColumn", "endColumn", "snippet"}),
    "logicalLocation": ({"name"}, {"fullyQualifiedName", "kind"}),
    "fix": ({"artifactChanges"}, {"description"}),
    "artifactChange": ({"artifactLocation", "replacements"}, set()),
    "replacement": ({"deletedRegion"}, {"insertedContent"}),
    "suppression": ({"kind"}, set()),
}
# Of each object: its members that are objects, with their kinds; a list of such in [].
INNER = {
    "log": {"runs": ["run"]}, "run": {"tool": "tool", "results": ["result"]}, "tool": {"driver": "driver"},
    "driver": {"rules": ["rule"]},
    "rule": {"shortDescription": "message", "fullDescription": "message", "help": "message", "defaultConfiguration": "configuration"},
    "result": {"message": "message", "locations": ["location"], "relatedLocations": ["location"], "fixes": ["fix"],
               "suppressions": ["suppression"]},
    "location": {"physicalLocation": "physicalLocation", "logicalLocations": ["logicalLocation"], "message": "message"},
    "physicalLocation": {"artifactLocation": "artifactLocation", "region": "region"},
    "region": {"snippet": "message"}, "fix": {"description": "message", "artifactChanges": ["artifactChange"]},
    "artifactChange": {"artifactLocation": "artifactLocation", "replacements": ["replacement"]},
    "replacement": {"deletedRegion": "region", "insertedContent": "message"},
}


def check(value, kind, path=""):
    if not isinstance(value, dict):
        yield f"{path} is no object"
        return
    required, more = KNOWN[kind]
    if not required <= set(value) or not set(value) <= required | more:
        yield f"{path} ({kind}) lacks {required - set(value)}, has {set(value) - required - more}"
    for key, one in value.items():
        inner = INNER.get(kind, {}).get(key)
        here = f"{path}/{key}"
        if isinstance(inner, list):
            if not isinstance(one, list):
                yield f"{here} is no list"
                continue
            for i, entry in enumerate(one):
                yield from check(entry, inner[0], f"{here}/{i}")
        elif inner:
            yield from check(one, inner, here)
        elif key in ("startLine", "startColumn", "endColumn") and (not isinstance(one, int) or one < 1):
            yield f"{here} is {one!r}"
        elif key in ("id", "ruleIndex") and kind in ("location", "result") and (not isinstance(one, int) or one < 0):
            yield f"{here} is {one!r}"
        elif key == "level" and one not in ("none", "note", "warning", "error"):
            yield f"{here} is {one!r}"
        elif key in ("text", "name", "uri", "ruleId", "fullyQualifiedName") and (not isinstance(one, str) or not one):
            yield f"{here} is {one!r}"
        elif key == "uri" and not re.fullmatch(r"(file:///|(?![a-z]+:))[A-Za-z0-9%._~/-]+", one):
            yield f"{here} is no URI: {one}"


def check_log(log):
    yield from check(log, "log")
    if log.get("version") != "2.1.0":
        yield f"the version is {log.get('version')}"
    for run in log.get("runs", []):
        rules = run["tool"]["driver"].get("rules", [])
        if len({rule["id"] for rule in rules}) != len(rules):
            yield "a rule is there twice"
        for result in run["results"]:
            at = result.get("ruleIndex", -1)
            if not 0 <= at < len(rules) or rules[at]["id"] != result["ruleId"]:
                yield f"{result['ruleId']} is not rule {at}"
            numbers = [place.get("id") for place in result.get("relatedLocations", [])]
            if len(set(numbers)) != len(numbers):
                yield f"related places of {result['ruleId']} have the same number"
            for place in result["locations"] + result.get("relatedLocations", []):
                if not {"physicalLocation", "logicalLocations"} & set(place):
                    yield f"a place of {result['ruleId']} is nowhere"


def outcome(log):
    try:
        return list(check_log(log))
    except (KeyError, TypeError, AttributeError) as error:
        return [repr(error)]


def run(folder, command, form, words):
    got = subprocess.run([evenkeel, command, *words, "--format", form], cwd=folder, text=True, stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, check=False)
    if got.returncode > 1:
        raise RuntimeError(got.stderr)
    return json.loads(got.stdout)


def texts(document, log, command):
    """The findings of the JSON, which the results must have in the same order: rule, level, the beginning of the
    message, line."""
    results = log["runs"][0]["results"]
    if command == "lint":
        wanted = [(f["rule"], f["level"], f["message"], f["line"]) for f in document["findings"] + document["suppressed"]]
    elif command == "ir":
        # The JSON sorts findings of several files by file, as results are.
        wanted = [(f["check"], f["severity"], f["text"], f["line"]) for f in document["findings"]]
    else:
        wanted = [(b["id"], "note" if b["gain_seconds"] is None and b["cost_seconds"] is not None else "warning", b["title"],
                   None) for b in document["bottlenecks"]]
    if len(wanted) != len(results) or not wanted:
        yield f"{len(results)} results of {len(wanted)} findings"
    for (rule, level, text, line), result in zip(wanted, results):
        region = result["locations"][0].get("physicalLocation", {}).get("region", {}) if result["locations"] else {}
        if (result["ruleId"], result["level"], region.get("startLine")) != (rule, level, line):
            yield f"{rule}, {level}, line {line}: is {result['ruleId']}, {result['level']}, {region.get('startLine')}"
        if not result["message"]["text"].startswith(text):
            yield f"{rule}: {result['message']['text']}"


def rules_of(log):
    return {rule["id"] for rule in log["runs"][0]["tool"]["driver"]["rules"]}


with tempfile.TemporaryDirectory() as folder:
    os.symlink(os.path.join(root, "tests/data"), os.path.join(folder, "data"))
    os.symlink(os.path.join(root, "examples"), os.path.join(folder, "examples"))
    with open(os.path.join(folder, "loop.py"), "w", encoding="utf-8") as program:
        program.write("import gc\nfor data in dataset:\n    gc.collect()\n    gc.collect()  # evenkeel: off gc-every-step\n")
    graphs = sorted(f"data/ir_check/{name}" for name in os.listdir(os.path.join(root, "tests/data/ir_check")) if name.endswith(".ir"))
    last = None
    for command, words in (("lint", ["loop.py", "examples/llama175b_train.yaml"]), ("ir", graphs), ("ir", ["examples/silu_mul.ir"]),
                           ("ir", ["examples/silu_mul.ir", "--least", "warning"]), ("diagnose", ["examples/run"])):
        try:
            log, document = run(folder, command, "sarif", words), run(folder, command, "json", words)
            problems = outcome(log) + list(texts(document, log, command))
            last = log if command == "ir" and len(words) == 1 else last
        except (RuntimeError, ValueError, KeyError) as error:
            problems = [repr(error)]
        report(f"{command} {words[0]}{' ...' if len(words) > 1 else ''}: the structure is right, and the findings are those of the JSON",
               problems)

    with open(os.path.join(root, "docs/ir-checks.md"), encoding="utf-8") as file:
        checks = set(re.findall(r"^### ([a-z-]+)$", file.read().split("## Checks")[1], re.M))
    report("every check of a graph has a rule", checks ^ rules_of(run(folder, "ir", "sarif", ["examples/silu_mul.ir"])))
    with open(os.path.join(root, "docs/diagnose.md"), encoding="utf-8") as file:
        table = file.read().split("## What is looked at")[1].split("## How a gain")[0]
    ids = set(re.findall(r"`([a-z-]+)`", "".join(re.findall(r"^\| (`.*?) \|", table, re.M)))) | set(re.findall(r"`(memory-[a-z-]+)`", table))
    report("every bottleneck has a rule", ids - rules_of(run(folder, "diagnose", "sarif", ["examples/run"])))

    computing = {"ai-cpu", "layout-transforms", "slow-type", "slow-shape"}  # and unfused-*: results have the advice
    thin = []
    for command, words in (("lint", ["loop.py"]), ("ir", ["examples/silu_mul.ir"]), ("diagnose", ["examples/run"])):
        for rule in run(folder, command, "sarif", words)["runs"][0]["tool"]["driver"]["rules"]:
            if rule["id"] not in computing and not rule["id"].startswith("unfused-") and (
                    rule["help"]["text"] == rule["shortDescription"]["text"] or len(rule["help"]["text"]) < 40):
                thin.append(f"{command}: {rule['id']}")
    report("the help of a rule says more than its title", thin)

    breaks = {
        "another version": lambda log: log.update(version="2.0.0"),
        "a result without a message": lambda log: log["runs"][0]["results"][0].pop("message"),
        "a rule of another number": lambda log: log["runs"][0]["results"][0].update(ruleIndex=5),
        "a line 0": lambda log: log["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["region"].update(startLine=0),
        "a level of its own": lambda log: log["runs"][0]["results"][0].update(level="fatal"),
        "a key that the standard has not": lambda log: log["runs"][0].update(findings=[]),
        "a place that is nowhere": lambda log: log["runs"][0]["results"][0].update(locations=[{}]),
        "two related places of one number": lambda log: [one.update(id=1) for one in log["runs"][0]["results"][0]["relatedLocations"]],
        "a blank in a URI": lambda log: log["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"].update(uri="a b"),
    }
    missed = []
    for what, change in breaks.items():
        broken = copy.deepcopy(last)
        change(broken)
        missed += [] if outcome(broken) else [f"{what} is accepted"]
    report("what is no SARIF is refused", missed)

end()
