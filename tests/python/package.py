"""Tests of the Python package: package.py FOLDER_OF_THE_MODULE COMMAND, as TAP.

Compares Python's results with the command's output, byte for byte or as JSON.
"""
import glob
import os
import pickle
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
from package_check import COMMAND, INIT, LAYERS, check, command, main, ran, refused, without_clock  # noqa: E402


def memory_of_examples(evenkeel):
    read = refused = 0
    for path in sorted(glob.glob("examples/*") + glob.glob("examples/gallery/*")):
        if not os.path.isfile(path):
            continue
        status, wanted, said = command("memory", path)
        try:
            got = evenkeel.memory(path).json()
        except evenkeel.Error as error:
            refused += 1
            check(f"memory: {path} is refused as by the command", status == 2 and error.message in said,
                  f"{error}\n{said}")
        else:
            read += 1
            check(f"memory: {path} as the command", got == wanted, said)
    for limit in (55000, 56000):  # close to the peak, where the verdict hangs on assumptions
        _, wanted, said = command("memory", "examples/llama175b_train.yaml", "--mem", str(limit))
        got = evenkeel.memory("examples/llama175b_train.yaml", limit_mb=limit).json()
        check(f"memory: of {limit} MB as the command", got == wanted and len(got["assumptions"]) > 0, said)
    with tempfile.TemporaryDirectory() as folder, open("examples/llama175b_train.yaml", encoding="utf-8") as source:
        path = os.path.join(folder, "train.yaml")
        with open(path, "w", encoding="utf-8") as out:  # that can be read in two ways
            out.write(source.read().replace("    compute_dtype", '    res_dtype: "float32"\n    compute_dtype', 1))
        _, wanted, said = command("memory", path)
        check("memory: of two readings as the command", evenkeel.memory(path).json() == wanted, said)
    check("memory: jobs were read and other files refused", read >= 20 and refused >= 5, f"{read} {refused}")


def estimate_of_examples(evenkeel):
    read = refused = 0
    for path in ("examples/llama175b_train.yaml", "examples/megatron_13b.sh", "examples/moe_16b_config.json",
                 *sorted(glob.glob("examples/gallery/*"))):
        for device in ("910B", "no such device"):
            status, wanted, said = command("estimate", path, "--device", device)
            try:
                got = evenkeel.estimate(path, device).json()
            except evenkeel.Error as error:
                refused += 1
                check(f"estimate: {path} on {device} is refused as by the command", status == 2 and error.message in said,
                      f"{error}\n{said}")
            else:
                read += 1
                check(f"estimate: {path} on {device} as the command", got == wanted, said)
    check("estimate: some were read and some refused", read >= 5 and refused >= 5, f"{read} {refused}")


def balance_of_examples(evenkeel):
    asked = [(path, 4, more, options) for path in (LAYERS, "examples/vision_language_layers.json") for more, options in (
        ((), {}), (("--schedule", "1f1b"), {"schedule": "1f1b"}), (("--schedule", "zb-h1"), {"schedule": "zb-h1"}),
        (("-mem", "20000"), {"memory_limit_mb": 20000}))]
    asked += [(LAYERS, 4, more, options) for more, options in (
        (("--fix", "0:5"), {"fixed_layers": {0: 5}}), (("--forbid", "full", "-mem", "80000"), {
            "forbidden": ["full"], "memory_limit_mb": 80000}),
        (("--stage-speed", "1x3,0.5", "--p2p-time", "0.5"), {"stage_speed": [1, 1, 1, 0.5], "p2p_time": 0.5}),
        (("--stage-memory", "60000x2,40000x2"), {"stage_memory_mb": [60000, 60000, 40000, 40000]}),
        (("--micro-batch-cost", "1x7,3", "--p2p-edges", "1x4"), {"micro_batch_cost": [1] * 7 + [3], "p2p_edges": [1] * 4}))]
    asked += [(INIT, 16, (), {}), (LAYERS, 4, ("-i", "2", "-lm", "1", "-mem", "90000"), {
        "n_chunks": 2, "less_memory": True, "memory_limit_mb": 90000})]
    for path, stages, more, options in asked:
        _, wanted, said = command("balance", path, "-s", str(stages), "-mb", "8", "-m", "model_name", *more)
        got = evenkeel.balance(path, stages, 8, **options).json()
        check(f"balance: {path} {' '.join(more)} as the command", wanted is not None and
              without_clock(got) == without_clock(wanted), said)
    with tempfile.TemporaryDirectory() as folder, open(INIT, encoding="utf-8") as source:
        path = os.path.join(folder, "init.yaml")
        with open(path, "w", encoding="utf-8") as out:  # that has the pipeline to balance for
            out.write(source.read().replace("  pipeline_num: 16\n", "  pipeline_num: 16\n  micro_batch_num: 6\n"
                                            "  memory_limit: 100000\n  sim_comm_time: 0.25\n  constant_memory: 100\n"))
        _, wanted, said = command("balance", path)
        got = evenkeel.balance(path)
        check("balance: of an init file with the pipeline as the command", wanted is not None and got.plan.n_stages == 16
              and without_clock(got.json()) == without_clock(wanted), said)
        plan = os.path.join(folder, "plan.json")
        got.write("json", plan)
        _, wanted, said = command("simulate", plan, "--init", path)
        check("simulate: of an init file with the pipeline as the command", evenkeel.simulate(plan, path).json() == wanted,
              said)
    train = "examples/llama175b_train.yaml"
    pieces = evenkeel.read_layers(INIT, n_pieces=2, train=train)
    for more, options in (((), {}), (("--micro-batch-cost", "1x3,2"), {"micro_batch_cost": [1] * 3 + [2]})):
        asked = (INIT, "-s", "16", "-mb", "4", "-seq", "2", "-train", train, *more)
        _, wanted, said = command("balance", *asked)
        got = evenkeel.balance(pieces, 16, 4, **options)
        check(f"balance: of sequence pieces {' '.join(more)} as the command", wanted is not None and wanted["seq"] == 2 and
              without_clock(got.json()) == without_clock(wanted), said)
        if not more:
            check("settings: of sequence pieces as the command",
                  got.to("mindformers") == ran("balance", *asked, "--emit", "mindformers")[0])
        check("balance: of sequence pieces names the training file", train in got.text())
        with tempfile.TemporaryDirectory() as folder:
            plan = os.path.join(folder, "plan.json")
            got.write("json", plan)
            _, wanted, said = command("simulate", plan, "--init", *asked[:1], *asked[5:])
            check(f"simulate: of sequence pieces {' '.join(more)} as the command",
                  evenkeel.simulate(plan, pieces, **options).json() == wanted, said)
    refused("balance: pieces need the shapes", evenkeel.InputError, lambda: evenkeel.read_layers(INIT, n_pieces=2), "train")
    refused("balance: a stage that is not there is refused", evenkeel.InputError,
            lambda: evenkeel.balance(LAYERS, 4, 8, fixed_layers={4: 1}), "stages 0 to 3")


def simulate_of_examples(evenkeel):
    with tempfile.TemporaryDirectory() as folder:
        plan = os.path.join(folder, "plan.yaml")
        both = os.path.join(folder, "two.yaml")
        with open(plan, "w", encoding="utf-8") as out:
            subprocess.run([COMMAND, "balance", INIT, "-s", "8", "-mb", "16", "-t", "2", "--format", "yaml"], stdout=out,
                           stderr=subprocess.DEVNULL, check=False)
        with open(plan, encoding="utf-8") as one, open("examples/llama175b_manual.yaml", encoding="utf-8") as other, \
                open(both, "w", encoding="utf-8") as out:
            out.write(one.read() + other.read())
        cases = [("examples/llama175b_manual.yaml", (), {}),
                 ("examples/llama175b_train.yaml", ("-mb", "32"), {"n_micro_batches": 32}),
                 (both, ("-mem", "56000"), {"memory_limit_mb": 56000}),
                 (plan, ("--schedule", "zb-h1", "--p2p-time", "0.2"), {"schedule": "zb-h1", "p2p_time": 0.2}),
                 (plan, ("--p2p-time", "0.2", "--p2p-blocking"), {"p2p_time": 0.2, "p2p_blocking": True}),
                 (plan, ("--stage-speed", "1x7,0.5"), {"stage_speed": [1] * 7 + [0.5]}),
                 (plan, ("--stage-memory", "50000x4,60000x4"), {"stage_memory_mb": [50000] * 4 + [60000] * 4}),
                 (plan, ("--p2p-edges", "0.1x7,3"), {"p2p_edges": [0.1] * 7 + [3]}),
                 (plan, ("--micro-batch-cost", "1x15,2"), {"micro_batch_cost": [1] * 15 + [2]}),
                 (plan, ("--schedule", "zb-1p", "--activation-limit", "12"), {"schedule": "zb-1p",
                                                                              "activation_limit": 12})]
        for path, more, options in cases:
            _, wanted, said = command("simulate", path, "--init", INIT, *more)
            got = evenkeel.simulate(path, INIT, **options)
            check(f"simulate: {os.path.basename(path)} {' '.join(more)} as the command", wanted is not None and
                  got.json() == wanted, said)
        check("simulate: of two plans both", len(got := evenkeel.simulate(both, INIT)) == 2 and
              [case.name for case in got] == ["result", "sapp"] and len(got.json()) == 2)
        own = got.cases[1]
        wanted = got.json()[1]
        fine = (abs(own.step_time - wanted["step_time"]) < 1e-5 and own.plan.layers.tolist()[0][0] == wanted["plan"]["layers"][0][0] and
                all(abs(own.busy[s] - stage["busy"]) < 1e-12 and abs(own.peak_mb[s] - stage["peak_memory_mb"]) < 1e-5
                    for s, stage in enumerate(wanted["stages"])))
        check("simulate: arrays are the JSON's figures", fine)
        refused("simulate: a list of the wrong length is refused", evenkeel.InputError,
                lambda: evenkeel.simulate(plan, INIT, stage_speed=[1, 2]), "2 values", "8 stages")
        refused("simulate: a schedule that is not known is refused", evenkeel.InputError,
                lambda: evenkeel.simulate(plan, INIT, schedule="2f2b"), "2f2b", "1f1b")
        refused("simulate: a plan of other layers is refused", evenkeel.InputError,
                lambda: evenkeel.simulate(evenkeel.Plan([6] * 4), INIT), "96")


def schedules(evenkeel):
    """Every schedule by itself, and the best of several for a model."""
    for name in evenkeel.schedules():
        for more, options in (((), {"forward": 2, "backward": 4.5}),
                              (("--p2p-time", "0.3", "--p2p-blocking"), {
                                  "forward": 2, "backward_input": 2, "backward_weight": 2.5, "weight_activation": 0.4,
                                  "p2p_time": 0.3, "p2p_blocking": True})):
            times = ",".join(f"{key}={value}" for key, value in options.items() if not key.startswith("p2p"))
            _, wanted, said = command("simulate", "--schedule", name, "-s", "4", "-mb", "8", "--uniform", times, *more)
            check(f"uniform: {name} {times} as the command", wanted is not None and
                  evenkeel.simulate_uniform(name, 4, 8, **options).json() == wanted, said)
    refused("uniform: a backward pass in two ways is refused", evenkeel.InputError,
            lambda: evenkeel.simulate_uniform("1f1b", forward=1, backward=2, backward_input=1), "backward_weight")
    for more, options in ((("--schedule", "1f1b,zb-h1,gpipe"), {"schedule": ["1f1b", "zb-h1", "gpipe"]}),
                          (("--schedule", "1f1b,zb-h1", "--stage-speed", "1x3,0.9", "--fix", "0:5"), {
                              "schedule": ["1f1b", "zb-h1"], "stage_speed": [1, 1, 1, 0.9], "fixed_layers": {0: 5}}),
                          (("--schedule", "1f1b,zb-h1", "-mem", "20000"), {
                              "schedule": ["1f1b", "zb-h1"], "memory_limit_mb": 20000})):
        _, wanted, said = command("balance", LAYERS, "-s", "4", "-mb", "8", *more)
        got = evenkeel.balance(LAYERS, 4, 8, **options)
        check(f"balance: the best of {' '.join(more)} as the command", wanted is not None and
              without_clock(got.json()) == without_clock(wanted) and len(got.ranking) >= 2, said)
    refused("balance: where nothing can be tried it says why", evenkeel.InputError,
            lambda: evenkeel.balance(LAYERS, 4, 8, schedule=["dualpipe-v"], n_chunks=[1]), "dualpipe-v")


def settings(evenkeel):
    """A balanced plan to every framework, as balance --emit and convert print it."""
    told = 0
    for path, stages, more, options in (
            (LAYERS, 4, (), {}), (INIT, 16, (), {}),
            (LAYERS, 4, ("-i", "2", "-mem", "90000"), {"n_chunks": 2, "memory_limit_mb": 90000}),
            (LAYERS, 4, ("--stage-speed", "1x3,0.7", "--stage-memory", "50000x4"),
             {"stage_speed": [1, 1, 1, 0.7], "stage_memory_mb": [50000] * 4}),
            (LAYERS, 4, ("--schedule", "zb-h1"), {"schedule": "zb-h1"})):
        found = evenkeel.balance(path, stages, 8, **options)
        model = "--layers" if path == LAYERS else "--init"
        with tempfile.TemporaryDirectory() as folder:
            plan = os.path.join(folder, "plan.json")
            found.write("json", plan)
            again = evenkeel.simulate(plan, path, **options)
            bare = evenkeel.Plan(found.plan.layers, found.plan.full, found.plan.select, found.plan.comm)
            for framework in evenkeel.frameworks():
                name = f"{framework}: {path} {' '.join(more)}"
                wanted, said = ran("balance", path, "-s", str(stages), "-mb", "8", *more, "--emit", framework)
                beside, _ = ran("convert", plan, "--to", framework, model, path, *more)
                alone, _ = ran("convert", plan, "--to", framework)
                if not wanted:
                    refused(f"settings: {name} is refused as by the command", evenkeel.InputError,
                            lambda: found.to(framework), "cannot be told")
                    continue
                told += 1
                check(f"settings: {name} as balance --emit", found.to(framework) == wanted, said)
                check(f"settings: {name} as convert", again[0].to(framework) == beside)
                check(f"settings: {name} as convert without a model", alone == bare.to(
                    framework, name="result", schedule=again[0].schedule, n_micro_batches=8))
    check("settings: most were told", told >= 12, told)
    with tempfile.TemporaryDirectory() as folder:
        changed = os.path.join(folder, "train.yaml")
        ran("convert", "examples/llama175b_manual.yaml", "--apply", "examples/llama175b_train.yaml", "--init", INIT, "-o",
            changed)
        case = evenkeel.simulate("examples/llama175b_manual.yaml", INIT)[0]
        with open(changed, encoding="utf-8") as written:
            check("settings: a training file with the plan as convert --apply", case.apply(
                "examples/llama175b_train.yaml") == written.read())
    refused("settings: a framework that is not known is refused", evenkeel.InputError,
            lambda: evenkeel.Plan([6] * 4).to("keras"), "keras", "megatron")


def layouts(evenkeel):
    """Layouts and their files as `evenkeel plan` writes them."""
    for path, device, devices, options, more in (
            ("examples/llama2_13b_2_pp2.yaml", "910B", 16, {"fix": {"vpp": 1}, "top": 3}, ("--fix", "vpp=1", "--top", "3")),
            ("examples/llama2_13b_2_pp2.yaml", "910B", 16,
             {"fix": {"vpp": 1, "sp": True, "tp": 4}, "ranges": {"pp": (2, 4), "dp": (None, 2)}, "top": 2,
              "schedules": ["1f1b"]},
             ("--fix", "vpp=1,sp=on,tp=4", "--range", "pp=2:4,dp=:2", "--top", "2", "--schedules", "1f1b")),
            ("examples/llama2_13b_2_pp2.yaml", "910B", 16, {"fix": {"vpp": 1}, "limit_mb": 4000},
             ("--fix", "vpp=1", "--mem", "4000")),
            ("examples/moe_16b_config.json", "H100", 16,
             {"fix": {"vpp": 1, "pp": 1}, "global_batch": 64, "seq_length": 4096, "top": 1},
             ("--fix", "vpp=1,pp=1", "--global-batch", "64", "--seq-length", "4096", "--top", "1"))):
        asked = (path, "--device", device, "--devices", str(devices), *more)
        status, wanted, said = command("plan", *asked)
        found = evenkeel.plan(path, device, devices, **options)
        name = f"{path} {' '.join(more)}"
        check(f"plan: {name} as the command", wanted is not None and without_clock(found.json()) == without_clock(wanted),
              said)
        check(f"plan: {name} has plans where the command has", found.feasible == (status == 0))
        if not found.feasible:
            continue
        check(f"plan: {name} is proved", found.proved and found.gap == 0)
        with tempfile.TemporaryDirectory() as folder:
            ran("plan", *asked, "--write", folder, "-q")
            for i, layout in enumerate(found):
                file = glob.glob(os.path.join(folder, f"plan_{i + 1}.*"))[0]
                with open(file, encoding="utf-8") as written:
                    check(f"plan: file {i + 1} of {name} as the command writes it", layout.file() == written.read())
                for framework in evenkeel.frameworks() if path.endswith(".yaml") else ():
                    check(f"plan: plan {i + 1} of {name} to {framework} as convert",
                          layout.to(framework, name="today") == ran("convert", file, "--to", framework)[0])
        best = found[0]
        check(f"plan: memory and step of the best of {name} come again",
              evenkeel.estimate(best.job, device).step_seconds == best.step_seconds and
              max(evenkeel.memory(best.job).peak_mb) == max(wanted["plans"][0]["stage_peak_mb"]))
    small = {"vpp": 1, "fine": 1, "copies": 1, "batch": 1}  # spaces that are searched to the end within a second
    for path in ("examples/megatron_13b.sh", "examples/gallery/llama3_8b.toml", "examples/gallery/mixtral_8x7b.sh",
                 "examples/gallery/pangu_38b.yaml"):
        asked = (path, "--device", "H100", "--fix", ",".join(f"{key}={value}" for key, value in small.items()), "--range",
                 "pp=1:2", "--top", "1")
        found = evenkeel.plan(path, "H100", fix=small, ranges={"pp": (1, 2)}, top=1)
        with tempfile.TemporaryDirectory() as folder:
            _, wanted, said = command("plan", *asked, "--write", folder)
            wanted["plans"][0]["file"] = None
            check(f"plan: {path} as the command", wanted["proved"] and
                  without_clock(found.json()) == without_clock(wanted), said)
            with open(glob.glob(os.path.join(folder, "plan_1.*"))[0], encoding="utf-8") as written:
                check(f"plan: the file of {path} as the command writes it", found[0].file() == written.read())
    refused("plan: an axis that is not known is refused", evenkeel.InputError,
            lambda: evenkeel.plan("examples/llama2_13b_2_pp2.yaml", "910B", 16, fix={"xp": 1}), "xp", "vpp")
    refused("plan: a job that is read takes no overrides", TypeError,
            lambda: evenkeel.plan(evenkeel.read_job("examples/llama_1024.yaml"), "910B", tensor=2), "got tensor", "read_job()")
    refused("plan: a device in the place of the number of devices is refused", TypeError,
            lambda: evenkeel.plan("examples/llama_1024.yaml", 16, "910B"), "n_devices must be a whole number", "'910B'")
    refused("plan: a job of one device needs a number", evenkeel.InputError,
            lambda: evenkeel.plan("examples/moe_16b_config.json", "H100"), "n_devices")


def calibrations(evenkeel):
    tests = "examples/calibrate/all_reduce_perf.log", "examples/calibrate/all_gather_perf.log"
    for sources, options, more in ((("examples/calibrate/runs.csv",), {"holdout": 0.25, "name": "ours"},
                                    ("--holdout", "0.25", "--name", "ours")),
                                   (tests, {"start": "A800"}, ("--start", "A800")),
                                   (("examples/run",), {"start": "910B"}, ("--start", "910B"))):
        with tempfile.TemporaryDirectory() as folder:
            device = os.path.join(folder, "device.yaml")
            _, wanted, said = command("calibrate", *sources, *more, "-o", device)
            found = evenkeel.calibrate(sources, **options)
            check(f"calibrate: {' '.join(sources)} as the command", wanted is not None and found.json() == wanted, said)
            with open(device, encoding="utf-8") as written:
                check(f"calibrate: the device file of {' '.join(sources)} as the command's", found.device() ==
                      written.read())
    refused("calibrate: a folder without a run is refused", evenkeel.InputError,
            lambda: evenkeel.calibrate("python"), "python")


def traces(evenkeel):
    for path in ("examples/trace", "examples/run"):
        status, wanted, said = command("trace", path)
        trace = evenkeel.read_trace(path)
        check(f"trace: {path} as the command", status == 0 and trace.json() == wanted, said)
        printed = subprocess.run([COMMAND, "trace", path, "--format", "csv"], capture_output=True, text=True, check=False)
        check(f"trace: steps of {path} as the command's table", trace.csv("steps") == printed.stdout)
        try:
            rows = len(trace.steps)
        except ImportError:
            check("trace: frames # SKIP no pandas here", True)
        else:
            check(f"trace: a row for each step of {path}", rows == printed.stdout.count("\n") - 1, rows)
            for name in ("operators", "collectives", "layers"):
                check(f"trace: {path} has the table {name}", list(getattr(trace, name).columns) ==
                      trace.csv(name).splitlines()[0].split(","))


def of_several_files(evenkeel):
    ranks = "examples/trace/rank_0", "examples/trace/rank_1"
    status, wanted, said = command("trace", *ranks)
    check("trace: of two files as the command", status == 0 and evenkeel.read_trace(ranks).json() == wanted, said)
    check("trace: of one of them another one", evenkeel.read_trace(ranks[0]).json() != wanted)
    found = evenkeel.balance(LAYERS, 4, 8)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "plan.yaml")
        found.write("yaml", path)
        plans = evenkeel.read_plans(path, 32)
        own = found.plan
        check("plans: of a file are those that were written", list(plans) == ["result"] and all(
            getattr(plans["result"], name).tolist() == getattr(own, name).tolist()
            for name in ("layers", "full", "select", "comm")))
        both = evenkeel.simulate({"a": plans["result"], "b": evenkeel.Plan([8] * 4, full=[8] * 4)}, LAYERS, n_micro_batches=8)
        check("plans: by name are simulated together", [case.name for case in both] == ["a", "b"] and
              abs(both[0].step_time - found.step_time) < 1e-9 * found.step_time)


def errors(evenkeel):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "layers.json")
        with open(path, "w", encoding="utf-8") as out:
            out.write('{\n  "layers": [,]\n}\n')
        try:
            evenkeel.read_layers(path)
        except evenkeel.InputError as error:
            check("an error has file, line and column", error.file == path and error.line == 2 and error.column > 0,
                  (error.file, error.line, error.column))
            again = pickle.loads(pickle.dumps(error))
            check("an error comes whole from another process", type(again) is evenkeel.InputError and
                  vars(again) == vars(error) and str(again) == str(error))
        else:
            check("a broken file is refused", False)
    try:
        evenkeel.memory("no such file.yaml")
    except evenkeel.SystemFailure as error:
        check("a file that is not there is a SystemFailure", error.file is not None or "no such" in error.message)
    except evenkeel.Error as error:
        check("a file that is not there is a SystemFailure", False, repr(error))


if __name__ == "__main__":
    sys.exit(main(memory_of_examples, estimate_of_examples, balance_of_examples, simulate_of_examples, schedules, settings, layouts,
                  calibrations, traces, of_several_files,
                  errors))
