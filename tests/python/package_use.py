"""Tests the use of the Python package: package_use.py FOLDER_OF_THE_MODULE COMMAND, as TAP.

Arrays that are not copied, models without files, calls that are interrupted, types, examples, the notebook, speed, leaks.
"""
import contextlib
import doctest
import gc
import importlib
import inspect
import io
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import typing
import weakref
import xml.dom.minidom

sys.dont_write_bytecode = True
from package_check import INIT, LAYERS, check, main, refused, skip  # noqa: E402


def has(name):
    try:
        importlib.import_module(name)
    except ImportError:
        return False
    return True


def has_frames():
    return has("numpy") and has("pandas")


# ---- arrays ----

def address(evenkeel, pointer):
    return int(evenkeel._base._ffi.cast("uintptr_t", pointer))


def arrays(evenkeel):
    if not has("numpy"):
        skip("arrays", "no NumPy here")
        return
    case = evenkeel.balance(LAYERS, 4, 8, schedule="1f1b").case
    timeline, plan = case._timeline, case.plan
    for name, array, pointer in (("busy", case.busy, timeline.busy), ("peak_mb", case.peak_mb, timeline.peak_mb),
                                 ("blocks", case.blocks, timeline.block), ("path", case.path, timeline.path),
                                 ("plan.layers", plan.layers, plan._c.layers)):
        check(f"arrays: {name} is the library's memory", array.__array_interface__["data"][0] == address(evenkeel, pointer))
        check(f"arrays: {name} cannot be written", not array.flags.writeable)
    try:
        case.busy.flags.writeable = True
    except ValueError:
        check("arrays: nor be made so that it can", True)
    else:
        check("arrays: nor be made so that it can", False)
    blocks = case.blocks
    fine = all(block[name] == getattr(timeline.block[i], name) for i, block in enumerate(blocks)
               for name in blocks.dtype.names)
    check("arrays: a block has the fields of C", fine and len(blocks) == timeline.n_blocks == 64)
    times = case.stage_times()
    check("arrays: times of a stage add up to the step", all(
        abs(sum(row.tolist()) - case.step_time) < 1e-9 * case.step_time for row in times))
    starts, first = blocks["start"].copy(), case.first
    check("arrays: blocks of a stage follow one another", all(
        (blocks["start"][first[s] + 1:first[s + 1]] >= blocks["end"][first[s]:first[s + 1] - 1]).all() for s in range(4)))
    kept, busy = weakref.ref(case._cases), case.busy
    del case, timeline, plan, array, pointer
    gc.collect()
    for _ in range(50):  # takes the memory, if it was released
        evenkeel.balance(LAYERS, 4, 8, schedule="1f1b", memory_limit_mb=90000)
    check("arrays: an array keeps what it shows", kept() is not None and (blocks["start"] == starts).all())
    del blocks, busy, first, times
    gc.collect()
    check("arrays: and nothing keeps it after that", kept() is None)


WITHOUT = """
import sys
sys.modules["numpy"] = sys.modules["pandas"] = None
import evenkeel
case = evenkeel.balance("examples/moe_mtp_layers.json", 4, 8, schedule="1f1b").case
assert isinstance(case.busy, memoryview) and case.busy.readonly and len(case.busy.tolist()) == 4, case.busy
assert case.plan.layers.shape == (1, 4) and sum(case.plan.layers.tolist()[0]) == 32
assert "<table>" in case._repr_html_() and case.json()["step_time"] > 0
layers = evenkeel.make_layers([3.0] * 8, activation_mb=10.0)
assert evenkeel.simulate(evenkeel.Plan([2, 2, 2, 2]), layers)[0].step_time > 0
for call in (lambda: case.blocks, case.frame, lambda: evenkeel.read_trace("examples/trace").steps):
    try:
        call()
    except ImportError as error:
        assert "install it" in str(error), error
    else:
        raise AssertionError("not refused")
print("fine")
"""


def without_numpy(evenkeel, folder):
    environment = {**os.environ, "PYTHONPATH": folder, "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run([sys.executable, "-c", WITHOUT], capture_output=True, text=True, env=environment, check=False)
    check("without NumPy and pandas all works but frames and arrays of structs", done.stdout == "fine\n", done.stderr)


# ---- models without files ----

def models(evenkeel):
    with open(LAYERS, encoding="utf-8") as file:
        described = json.load(file)["layers_description"]
    head, dense, moe, tail, prediction = described
    wanted = evenkeel.read_layers(LAYERS, constant_mb=0)
    ends = {"head": {"name": head["name"], "forward_time": head["time"], "parameter_mb": head["memory_parameter"],
                     "activation_mb": head["memory_activation"]},
            "tail": {"name": tail["name"], "forward_time": tail["time"] + prediction["time"],
                     "backward_time": 2 * tail["time"] + prediction["backward_time"],
                     "parameter_mb": tail["memory_parameter"] + prediction["memory_parameter"],
                     "activation_mb": tail["memory_activation"] + prediction["memory_activation"]},
            "name": wanted.name, "const_mb": 1500}

    def column(key):
        return [dense[key], moe[key]]

    def figures(names, per_layer):
        return {"n_layers": per_layer or column("nb_layer"), "names": names, "parameter_mb": column("memory_parameter"),
                "backward_time": {"none": column("backward_time"), "full": column("recompute_time")},
                "activation_mb": {"none": column("memory_activation"), "full": column("memory_recompute")}}

    made = evenkeel.make_layers(column("forward_time"), **figures(["dense", "MoE"], None), **ends)
    check("models: of numbers the layer file of the same figures", made.text() == wanted.text(),
          f"{made.text()}\n{wanted.text()}")
    got, told = (evenkeel.balance(layers, 4, 8, memory_limit_mb=50000).json() for layers in (made, wanted))
    got["solve_seconds"] = told["solve_seconds"] = 0
    check("models: of numbers the balance of the file's", got == told)
    if has("numpy"):
        numpy = importlib.import_module("numpy")
        kind = numpy.repeat([0, 1], column("nb_layer"))
        spread = {key: {name: numpy.array(values)[kind] for name, values in value.items()} if isinstance(value, dict) else
                  numpy.array(value)[kind] for key, value in figures(["dense", "MoE"], None).items() if key != "n_layers"}
        spread["names"] = spread["names"].tolist()
        each = evenkeel.make_layers(numpy.array(column("forward_time"))[kind], **spread, **ends)
        check("models: of arrays with a value for each layer the same", each.text() == wanted.text(), each.text())
    simple = evenkeel.make_layers(3.0, n_layers=8, activation_mb={"none": 9.0, "full": 1.0})
    layer = simple._c.body[0]
    check("models: times that are not given follow from the forward time", layer.backward_time[0] == 6 and
          layer.backward_time[4] == 9 and layer.weight_time == 3 and list(layer.modelled) == [True, 0, 0, 0, True])
    for what, word, call in (
            ("lists of unequal length", "2 values", lambda: evenkeel.make_layers([1, 2, 3], activation_mb=[1, 2])),
            ("a kind that is not known", "'half'", lambda: evenkeel.make_layers(1, activation_mb={"half": 1})),
            ("a time that is no number", "forward_time", lambda: evenkeel.make_layers(["x"], activation_mb=1)),
            ("a negative time", "-1", lambda: evenkeel.make_layers(-1, activation_mb=1)),
            ("more than 16 kinds", "16", lambda: evenkeel.make_layers(list(range(1, 18)), activation_mb=1)),
            ("a part of the head that is not known", "'time'", lambda: evenkeel.make_layers(1, activation_mb=1,
                                                                                      head={"time": 3})),
            ("half a layer", "2.5", lambda: evenkeel.make_layers(1, activation_mb=1, n_layers=2.5)),
            ("a plan of unequal chunks", "chunk", lambda: evenkeel.Plan([[1, 2], [3]])),
            ("a plan that recomputes more than it has", "stage", lambda: evenkeel.Plan([1, 2], full=[2, 0]))):
        refused(f"models: {what} is refused", evenkeel.InputError, call, word)


# ---- long calls ----

def interrupts(evenkeel):
    """Ctrl-C ends a search within a second, and nothing of it goes on."""
    def interrupted(call):
        came = []

        def press():
            time.sleep(0.4)
            came.append(time.perf_counter())
            os.kill(os.getpid(), signal.SIGINT)

        threading.Thread(target=press).start()
        try:
            call()
        except KeyboardInterrupt:
            return time.perf_counter() - came[0]
        except BaseException as error:
            print(f"# {error!r}")
        return None

    told = []
    layers = evenkeel.read_layers(INIT)
    for name, call in (
            ("balance", lambda: evenkeel.balance(layers, 16, 64, n_chunks=3, gap=0, time_limit=30, progress=told.append)),
            ("plan", lambda: evenkeel.plan("examples/llama_1024.yaml", "910B", time_limit=30, progress=told.append))):
        took = min((interrupted(call) or 99 for _ in range(2)), default=99)
        print(f"# {name}: back {took:.3f} s after the signal")
        check(f"interrupts: {name} gives control back within a second", took < 1, took)
    deadline = time.perf_counter() + 5
    while time.perf_counter() < deadline and any(thread.name == "evenkeel" for thread in threading.enumerate()):
        time.sleep(0.02)
    check("interrupts: the searches have ended", all(thread.name != "evenkeel" for thread in threading.enumerate()))
    shares = [each for each in told if isinstance(each, evenkeel.Progress)]
    check("progress: is told while a search runs", len(shares) == len(told) >= 4 and
          all(0 <= each.share <= 1 and each.what for each in told) and any(each.best for each in told), told[:5])

    class Enough(Exception):
        pass

    def enough(progress):
        raise Enough

    begun = time.perf_counter()
    try:
        evenkeel.balance(layers, 16, 64, n_chunks=3, gap=0, time_limit=30, progress=enough)
    except Enough:
        check("progress: an exception of the function ends the search", time.perf_counter() - begun < 10)
    else:
        check("progress: an exception of the function ends the search", False)
    answers, main_thread = [], threading.get_ident()
    thread = threading.Thread(target=lambda: answers.append(evenkeel.balance(LAYERS, 4, 8).step_time))
    thread.start()
    thread.join()
    check("calls from other threads answer the same", answers == [evenkeel.balance(LAYERS, 4, 8).step_time])
    callers = []
    evenkeel.balance(layers, 16, 32, n_chunks=3, gap=0, time_limit=0.5, progress=lambda _: callers.append(
        threading.get_ident()))
    check("progress: is told in the thread of the caller", callers and set(callers) == {main_thread}, callers)


# ---- notebooks ----

def pictures(evenkeel):
    found = evenkeel.plan("examples/llama2_13b_2_pp2.yaml", "910B", 16, fix={"vpp": 1}, top=2)
    simulated = evenkeel.simulate("examples/llama175b_manual.yaml", INIT)
    for name, result in (("memory", evenkeel.memory("examples/llama175b_train.yaml")),
                         ("estimate", evenkeel.estimate("examples/llama175b_train.yaml", "910B")),
                         ("balance", evenkeel.balance(LAYERS, 4, 8)), ("simulation", simulated), ("case", simulated[0]),
                         ("layouts", found), ("trace", evenkeel.read_trace("examples/trace")),
                         ("calibration", evenkeel.calibrate("examples/calibrate/runs.csv"))):
        svg, page = result._repr_svg_(), result._repr_html_()
        try:
            drawn = xml.dom.minidom.parseString(svg).documentElement.tagName == "svg"
            shown = xml.dom.minidom.parseString(f"<div>{page}</div>")
        except Exception as error:
            check(f"pictures: {name} is drawn and shown as well-formed markup", False, error)
            continue
        rows = shown.getElementsByTagName("tr")
        check(f"pictures: {name} is drawn and shown as well-formed markup", drawn and len(rows) > 1 and
              len(shown.getElementsByTagName("img")) == 1)
        if name != "trace" and has("pandas"):
            check(f"frames: {name} has a row for each of the table", len(result.frame()) == len(result._rows()) - 1)
    nothing = evenkeel.balance(LAYERS, 4, 8, memory_limit_mb=20000)
    check("pictures: of nothing there is none", nothing._repr_svg_() is None and "smallest limit" in
          nothing._repr_html_())
    refused("pictures: nor a plan", evenkeel.InputError, lambda: nothing.plan, "smallest limit")


NOTEBOOK = "docs/python.ipynb"


def notebook(evenkeel, folder):
    with open(NOTEBOOK, encoding="utf-8") as file:
        cells = json.load(file)["cells"]
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    if not has_frames():
        skip("notebook: its cells run", "no NumPy and pandas here")
        return
    check("notebook: is stored without outputs", all(cell.get("outputs", []) == [] for cell in cells) and len(code) >= 8)
    if not (has("nbclient") and has("ipykernel") and has("nbformat")):
        names = {"__name__": "__main__"}
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                for source in code:
                    exec(compile(source, NOTEBOOK, "exec"), names)
        except Exception as error:
            check("notebook: its cells run", False, f"{error!r} in\n{source}")
        else:
            check("notebook: its cells run", True)
        skip("notebook: Jupyter runs it", "no nbclient and ipykernel here")
        return
    nbformat, nbclient = importlib.import_module("nbformat"), importlib.import_module("nbclient")
    document = nbformat.read(NOTEBOOK, as_version=4)
    nbformat.validate(document)
    path = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"], os.environ["PYTHONDONTWRITEBYTECODE"] = folder, "1"
    os.environ["PYDEVD_DISABLE_FILE_VALIDATION"] = "1"  # of the kernel's debugger, which warns else
    try:
        nbclient.NotebookClient(document, timeout=200, kernel_name="python3", resources={
            "metadata": {"path": os.getcwd()}}).execute()
    except Exception as error:
        check("notebook: Jupyter runs it", False, error)
    else:
        shown = [key for cell in document.cells for output in cell.get("outputs", []) for key in output.get("data", {})]
        check("notebook: Jupyter runs it, and shows pictures and tables", "image/svg+xml" in shown and "text/html" in shown,
              shown)
    finally:
        if path is None:
            del os.environ["PYTHONPATH"]
        else:
            os.environ["PYTHONPATH"] = path


# ---- types ----

WRONG = """
import evenkeel
found = evenkeel.balance("layers.json", n_stages="four")
evenkeel.simulate(evenkeel.Plan([1]))
evenkeel.memory("job.yaml").peek_mb
text: int = found.to("megatron")
"""


def types(evenkeel, folder):
    lacking = []
    for name, value in public(evenkeel):
        if isinstance(value, property):
            value = value.fget
        elif isinstance(value, (classmethod, staticmethod)):
            value = value.__func__
        if not inspect.isfunction(value):
            continue
        told = typing.get_type_hints(value)
        unsaid = [each for each in inspect.signature(value).parameters if each not in told and each != "self"]
        if unsaid or "return" not in told:
            lacking.append(f"{name}: {unsaid}")
    check("types: every parameter and result has one", not lacking, lacking)
    if not shutil.which("mypy"):
        skip("types: mypy", "no mypy here (35 MB)")
        return
    with tempfile.TemporaryDirectory() as own:
        program = os.path.join(own, "wrong.py")
        with open(program, "w", encoding="utf-8") as out:
            out.write(WRONG)
        environment = {**os.environ, "MYPYPATH": folder}
        done = subprocess.run(["mypy", "--strict", "--cache-dir", os.path.join(own, "cache"), "-p", "evenkeel"],
                              capture_output=True, text=True, env=environment, cwd=own, check=False)
        check("types: mypy finds no fault in the package", done.returncode == 0, done.stdout + done.stderr)
        done = subprocess.run(["mypy", "--cache-dir", os.path.join(own, "cache"), program], capture_output=True, text=True,
                              env=environment, cwd=own, check=False)
        lines = sorted({int(line) for line in re.findall(r"^[^:]*wrong\.py:(\d+): error", done.stdout, re.M)})
        check("types: mypy finds the faults of a program that uses it", lines == [3, 4, 5, 6], done.stdout)


# ---- examples ----

def public(evenkeel):
    """The public names: functions, and the methods and properties of classes."""
    for name in evenkeel.__all__:
        value = getattr(evenkeel, name)
        yield name, value
        if isinstance(value, type) and not issubclass(value, (BaseException, tuple)):
            for member, own in vars(value).items():
                if not member.startswith("_"):
                    yield f"{name}.{member}", own


class Runner(doctest.DocTestRunner):
    """Of examples; those that report NumPy or pandas as missing count as well, where it is."""

    without = 0

    def report_unexpected_exception(self, out, test, example, exc_info):
        if issubclass(exc_info[0], ImportError) and "install it" in str(exc_info[1]) and not has_frames():
            self.without += 1
        else:
            super().report_unexpected_exception(out, test, example, exc_info)


def examples(evenkeel):
    finder, runner, said, tested = doctest.DocTestFinder(exclude_empty=True), Runner(), [], set()
    for name in evenkeel.__all__:
        for test in finder.find(getattr(evenkeel, name), name, module=False, globs=vars(evenkeel).copy()):
            if test.examples:
                tested.add(test.name)
                runner.run(test, out=said.append)
    print(f"# {runner.tries} examples, {runner.without} without what they need")
    check("examples give what they say", runner.tries >= 60 and
          runner.failures == runner.without, "".join(said))
    names = dict(public(evenkeel))
    lacking = [name for name, value in names.items() if callable(value) and not isinstance(value, type) and
               name not in tested]
    check("every public function and method has an example", len(names) > 50 and not lacking, lacking)
    silent = [name for name, value in names.items() if not (getattr(value, "__doc__", "") or "").strip()]
    check("everything public says what it is", not silent, silent)


def documented(evenkeel):
    with open("docs/python.md", encoding="utf-8") as file:
        text = file.read()
    missing = [name for name in evenkeel.__all__ if not re.search(rf"`{name}\b", text)]
    check("docs/python.md names everything public", not missing, missing)
    names, blocks = {}, re.findall(r"```python\n(.*?)```", text, re.S)
    try:
        for block in blocks:
            if not has_frames():
                block = re.sub(r"^.*read_trace.*$", "", block, flags=re.M)
            exec(compile(block, "docs/python.md", "exec"), names)
    except Exception as error:
        check("docs/python.md: its programs run", False, f"{error!r} in\n{block}")
    else:
        check("docs/python.md: its programs run", len(blocks) >= 2)


def speed(evenkeel):
    job = evenkeel.read_job("examples/llama175b_train.yaml")

    def took(work):
        start = time.perf_counter()
        work()
        return time.perf_counter() - start

    best = min(took(lambda: evenkeel.memory(job)) for _ in range(50))
    print(f"# a job's memory: {1e3 * best:.3f} ms")
    check("a job's memory within 1.5 ms", best <= 1.5e-3, best)

    def many():
        for _ in range(150):
            evenkeel.memory(job)

    def both():
        threads = [threading.Thread(target=many) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    # While the lock is held, a core idles. Where other work uses the cores, none idles, and the test shows nothing.
    def idle():
        with open("/proc/stat", encoding="ascii") as stat:
            return int(stat.readline().split()[4]) / os.sysconf("SC_CLK_TCK")

    ratio, rest = 0.0, 0.0
    for _ in range(5):
        one, before = took(many), idle()
        two = took(both)
        rest = max(rest, (idle() - before) / two)
        ratio = max(ratio, 2 * one / two)
    print(f"# two threads: {ratio:.2f} times one")
    if os.cpu_count() < 2 or (ratio < 1.6 and rest < 0.5):
        skip("two threads", "no two idle cores here")
    else:
        check("two threads do near twice the work of one", ratio >= 1.6, f"{ratio} idle {rest}")


def leaks(evenkeel):
    def resident():
        with open("/proc/self/statm", encoding="ascii") as statm:
            return int(statm.read().split()[1]) * resource.getpagesize()

    layers, job = evenkeel.read_layers(LAYERS), evenkeel.read_job("examples/llama175b_train.yaml")
    plan = evenkeel.Plan([8] * 4)

    structs = has("numpy")

    def numbers():
        made = evenkeel.make_layers([1.0, 2.0], activation_mb={"none": 9, "full": 1})
        return made.body if structs else made

    def simulated():
        found = evenkeel.simulate(plan, layers, n_micro_batches=4)[0]
        return found.peak_mb, found.stage_times() if structs else None, found.plan.layers, found.to("mindformers")

    def refused_input():
        try:
            evenkeel.Plan([8] * 4).to("keras")
        except evenkeel.InputError as error:
            return error

    for name, call, warm, n, most in (
            ("a plan", lambda: evenkeel.Plan([8] * 4).layers, 2000, 50000, 2 << 20),
            ("numbers as layers", numbers, 2000, 30000, 2 << 20),
            ("an error", refused_input, 1000, 10000, 1 << 20),
            ("a layer file", lambda: evenkeel.read_layers(LAYERS), 500, 6500, 1 << 20),
            ("a simulation", simulated, 500, 3000, 1 << 20),
            ("a job's memory", lambda: evenkeel.memory(job).fullest, 100, 500, 1 << 20)):
        for _ in range(warm):
            call()
        gc.collect()
        before = resident()
        for _ in range(n):
            call()
        gc.collect()
        grown = resident() - before
        print(f"# {name}: {n} calls: {grown} bytes more")
        check(f"{n} calls leak nothing: {name}", grown < most, grown)


if __name__ == "__main__":
    sys.exit(main(arrays, without_numpy, models, interrupts, pictures, notebook, types, examples, documented, speed, leaks))
