"""Draws mutants, runs the tests that reach each of them, and reports the survivors. mutate.sh makes the builds and
starts this."""
import argparse
import contextlib
import hashlib
import itertools
import json
import os
import random
import re
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import defaultdict

import lines
import mutants
import reach

COMPILE_SECONDS = 120
QUICK = 0.3  # cases that take less run together
LINK_SECONDS = 0.5  # of a test that is linked again for each mutant


def say(text, progress=False):
    print(text, file=sys.stderr if progress else sys.stdout, flush=True)


def link(command, folder):
    if subprocess.run(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode != 0:
        raise SystemExit(f"mutate: does not link: {shlex.join(command)[:400]} ...")


def static_link(command, library, archive):
    """A program with the library's objects instead of the shared library."""
    libraries = [part for part in library if re.match(r"-l|-pthread|.*\.so(\.|$)", part) and "libevenkeel" not in part]
    return [part for part in command if "libevenkeel.so" not in part] + \
        ["-Wl,--start-group", archive, "-Wl,--end-group", "-lstdc++"] + libraries


def wrapped_links(folder, commands, links):
    """How to link the tests that replace functions of the library by their own, which only a static library permits.
    The archive is thin: it has only the names of the objects."""
    archive = os.path.join(folder, "wrapped.a")
    objects = [command["output"] for command in commands.values() if command["library"]]
    if os.path.exists(archive):
        os.remove(archive)
    link(["ar", "crsT", archive] + objects, folder)
    return {program: static_link(command, links["library"], archive) for program, command in links["programs"].items()
            if any("--wrap=" in part for part in command)}


class Build:
    """A copy of the plain build in which one object at a time is a mutant's."""

    def __init__(self, work, number, plain, commands, links):
        self.work, self.folder, self.plain = work, os.path.join(work, f"job{number}"), plain
        self.scratch = os.path.join(work, f"tmp{number}")
        self.commands, self.links = commands, links
        shutil.copytree(plain, self.folder, symlinks=True,
                        ignore=shutil.ignore_patterns("*.d", ".ninja_*", "meson-logs", "meson-private", "meson-info"))
        self.originals = {}  # code of the objects without a mutant
        self.wrapped = wrapped_links(self.folder, commands, links)
        self.spent = {"compiling": 0, "linking": 0, "testing": 0}

    @contextlib.contextmanager
    def timed(self, what):
        began = time.monotonic()
        yield
        self.spent[what] += time.monotonic() - began

    def compile(self, file, text):
        """The source comes from a pipe, so that no mutated file ever exists."""
        command = self.commands[file]
        source = os.path.join(self.folder, command["source"])
        full = command["compiler"] + ["-w", "-iquote", os.path.dirname(source), "-x", "c", "-", "-o", "mutant.o"]
        try:
            done = subprocess.run(full, cwd=self.folder, input=f'#line 1 "{command["source"]}"\n{text}'.encode(),
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=COMPILE_SECONDS)
        except subprocess.TimeoutExpired:
            return False
        return done.returncode == 0

    def code(self, path):
        """An object without the name of its source, which is another one where it comes from a pipe."""
        stripped = os.path.join(self.folder, "stripped.o")
        subprocess.run(["objcopy", "--strip-unneeded", path, stripped], check=True)
        with open(stripped, "rb") as file:
            return file.read()

    def judge(self, mutant, text, tests, environment, learned, most, verified):
        """'same' (no other program), the name of the tests that kill, or None for a survivor; and the groups that were run,
        and the seconds that were left out."""
        changed = text[:mutant.start] + mutant.text + text[mutant.end:]
        output = self.commands[mutant.file]["output"]
        original = os.path.join(self.plain, output)
        compiled = os.path.join(self.folder, "mutant.o")
        with self.timed("compiling"):
            if original not in self.originals:
                self.originals[original] = self.code(original)
            if not self.compile(mutant.file, changed) or self.code(compiled) == self.originals[original]:
                return "same", [], 0
        shutil.copyfile(compiled, os.path.join(self.folder, output))
        shutil.rmtree(self.scratch, ignore_errors=True)
        os.mkdir(self.scratch)
        environment = dict(environment, TMPDIR=self.scratch)
        try:
            with self.timed("linking"):
                link(self.links["library" if self.commands[mutant.file]["library"] else "program"], self.folder)
            ran, used = [], 0
            waiting = self.ordered(reach.batches(tests, QUICK), mutant, learned)
            while waiting:
                batch = waiting.pop(0)
                if used >= most:
                    return None, ran, sum(left.seconds for left in [batch] + waiting)
                if self.relinked(batch):
                    with self.timed("linking"):
                        link(self.wrapped[self.program(batch)], self.folder)
                with self.timed("testing"):
                    status, seconds = batch.run(self.work, self.folder, environment, batch.seconds + 1)
                used += seconds
                ran.append(batch.group)
                if status != 0 and self.passes(batch, environment, verified):
                    return batch.tests[0].name if len(batch.tests) == 1 else batch.name, ran, 0
                if status != 0 and len(batch.tests) > 1:  # the cases do not go together even without the mutant
                    waiting = [reach.Batch([test]) for test in batch.tests] + waiting
            return None, ran, 0
        finally:
            shutil.copyfile(original, os.path.join(self.folder, output))

    def passes(self, batch, environment, verified):
        """Whether tests that pass one by one in the build with lines do so here, together and without a mutant."""
        if batch.name not in verified:
            with self.timed("testing"):
                verified[batch.name] = batch.run(self.work, self.plain, environment, batch.seconds + 1)[0] == 0
        return verified[batch.name]

    def program(self, batch):
        return os.path.relpath(batch.tests[0].program, "{build}")

    def relinked(self, batch):
        return self.program(batch) in self.wrapped

    def ordered(self, batches, mutant, learned):
        """Tests with the most expected kills per second come first, by their kills of mutants of the same folder, and
        by the words that their name shares with the source's."""
        words = words_of(mutant.file)

        def promise(batch):
            kills, runs = learned[batch.group, folder_of(mutant.file)]
            shared = len(words & words_of(batch.group))
            seconds = batch.seconds + (LINK_SECONDS if self.relinked(batch) else 0) + reach.STARTUP
            return (kills + 0.2 + shared) / (runs + 2 + shared) / seconds
        return sorted(batches, key=promise, reverse=True)


def words_of(name):
    """Beginnings of words, so that analyse.c is like analyses."""
    return {word[:5] for word in re.split(r"\W|_", name)} - {"", "src", "c", "cli"}


def compile_commands(plain, tree):
    """How each source is compiled: file -> compiler with options, source, output."""
    with open(os.path.join(plain, "compile_commands.json"), encoding="utf-8") as file:
        entries = json.load(file)
    commands = {}
    for entry in entries:
        path = os.path.relpath(os.path.realpath(os.path.join(plain, entry["file"])), os.path.realpath(tree))
        words = shlex.split(entry["command"])
        output = words[words.index("-o") + 1]
        if not re.match(r"(src/libevenkeel|cli/evenkeel\.p/)", output):
            continue
        cached = os.path.basename(words[0]) == "ccache"
        while os.path.basename(words[0]) == "ccache":
            words = words[1:]
        compiler, skip = [], False
        for word in words:
            if skip or word in ("-o", "-MF", "-MQ", "-MD", entry["file"]):
                skip = not skip and word in ("-o", "-MF", "-MQ")
            else:
                compiler.append(word)
        commands[path] = {"compiler": compiler, "source": entry["file"], "output": output, "cached": cached,
                          "library": output.startswith("src/libevenkeel")}
    return commands


def link_commands(plain):
    """How the library, the program and every unit test are linked; the last two also by their output."""
    targets = subprocess.run(["ninja", "-C", plain, "-t", "targets", "all"], check=True, capture_output=True, text=True).stdout
    programs = re.findall(r"^(tests/test_\w+): ", targets, re.MULTILINE)
    library = next(name for name in os.listdir(os.path.join(plain, "src")) if re.match(r"libevenkeel\.so", name)
                   and not os.path.islink(os.path.join(plain, "src", name)) and not name.endswith((".p", ".symbols")))
    commands = {}
    for line in subprocess.run(["ninja", "-C", plain, "-t", "commands", "src/" + library, "cli/evenkeel", *programs], check=True,
                               capture_output=True, text=True).stdout.splitlines():
        if " -c " not in line and " -o " in line:
            words = shlex.split(line)
            commands[words[words.index("-o") + 1]] = words
    return {"library": commands["src/" + library], "program": commands["cli/evenkeel"],
            "programs": {name: commands[name] for name in programs}}


def folder_of(file):
    parts = file.split("/")
    return "/".join(parts[:2]) if parts[0] == "src" else parts[0]


class Sources:
    def __init__(self, tree, commands, places):
        headers, self.text = [], {}
        for top in ("include", "src", "cli"):
            for folder, _, names in sorted(os.walk(os.path.join(tree, top))):
                for name in sorted(names):
                    path = os.path.join(folder, name)
                    with open(path, encoding="utf-8") as file:
                        text = file.read()
                    headers.append(text)
                    relative = os.path.relpath(path, tree)
                    if name.endswith(".c") and relative in commands:
                        self.text[relative] = text
        self.siblings = mutants.struct_siblings(headers)
        self.chosen = [file for file in self.text
                       if not places or any(file == place or file.startswith(place.rstrip("/") + "/") for place in places)]
        if not self.chosen:
            raise SystemExit("mutate: no source of src or cli is in " + " ".join(places))

    def of_file(self, file):
        return mutants.of_file(file, self.text[file], self.siblings)

    def drawn(self, seed):
        """All mutants in random order: first a line, each with the same probability, then the kind, then the change."""
        generator = random.Random(seed)
        lines = [(file, line, kinds) for file in self.chosen for line, kinds in sorted(self.of_file(file).items())]
        while lines:
            generator.shuffle(lines)
            for _, _, kinds in lines:
                kind = generator.choice(sorted(kinds))
                yield kinds[kind].pop(generator.randrange(len(kinds[kind])))
                if not kinds[kind]:
                    del kinds[kind]
            lines = [entry for entry in lines if entry[2]]

    def listed(self, path):
        """Of a list with line numbers, the mutants on those lines; all with the same text where none is there, since
        the file has changed."""
        places = {}
        wanted = mutants.read_list(path, places)
        for file in sorted({key[0] for key in wanted}):
            if file not in self.text:
                say(f"not there: {file}")
                continue
            found = defaultdict(list)
            for kinds in self.of_file(file).values():
                for mutant in itertools.chain.from_iterable(kinds.values()):
                    if (file, mutant.old, mutant.new) in wanted:
                        found[file, mutant.old, mutant.new].append(mutant)
            for key, same in found.items():
                yield from [mutant for mutant in same if mutant.line in places.get(key, ())] or same


def stale(known, sources):
    """Entries of the list of equivalent mutants that no source has any more."""
    lines = {file: {mutants.one_line(line) for line in text.splitlines()} for file, text in sources.text.items()}
    whole = {file: mutants.one_line(text) for file, text in sources.text.items()}
    return [key for key in known if key[0] not in lines or key[1] not in lines[key[0]] and key[1] not in whole[key[0]]]


class Stopped(Exception):
    pass


def stop(number, frame):
    raise Stopped


class Results:
    """Results of mutants, in a file of the work folder: a later run continues from there. A result is valid until the
    source of its mutant changes. A run with only some of the tests adds their kills, and relies on no earlier
    result."""

    def __init__(self, path, texts, some_tests):
        self.digests = {file: hashlib.sha256(text.encode()).hexdigest()[:16] for file, text in texts.items()}
        self.known, self.path, self.some_tests = {}, path, some_tests
        self.learned = defaultdict(lambda: [0, 0])  # (group of tests, folder) -> kills, runs
        if os.path.exists(path) and not some_tests:
            with open(path, encoding="utf-8") as file:
                for line in file:
                    if line.endswith("\n"):  # else the run was ended while it wrote
                        key, result = json.loads(line)
                        self._take(tuple(key), result)

    def _take(self, key, result):
        self.known[key] = result
        verdict, ran, _ = result
        for group in ran:
            self.learned[group, folder_of(key[0])][1] += 1
        if verdict and ran:
            self.learned[ran[-1], folder_of(key[0])][0] += 1

    def key(self, mutant):
        return mutant.file, self.digests[mutant.file], mutant.start, mutant.end, mutant.text

    def of(self, mutant):
        return self.known.get(self.key(mutant))

    def add(self, mutant, result):
        self._take(self.key(mutant), result)
        if result[0] or not self.some_tests:
            with open(self.path, "a", encoding="utf-8") as file:
                file.write(json.dumps((self.key(mutant), result)) + "\n")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--work", required=True)
    parser.add_argument("-n", type=int, default=200)
    parser.add_argument("-s", type=int, default=1)
    parser.add_argument("-j", type=int, default=1)
    parser.add_argument("-t", type=int, default=20)
    parser.add_argument("-c", type=int, default=60)
    parser.add_argument("--tests", default="")
    parser.add_argument("--list")
    parser.add_argument("places", nargs="*")
    arguments = parser.parse_args()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, stop)
    reach.set_limits()
    began = time.monotonic()
    work = os.path.realpath(arguments.work)
    tree, plain = os.path.join(work, "tree"), os.path.join(work, "plain")
    environment = dict(os.environ, EK_SOURCE_ROOT=tree, LC_ALL="C")
    for name in ("EK_UPDATE_GOLDEN", "EK_WRITE_DOCS", "EK_CASES", "EK_REACHED", "MAKEFLAGS"):
        environment.pop(name, None)

    commands = compile_commands(plain, tree)
    links = link_commands(plain)
    archive = "libevenkeel-archive"
    lines.build(work, plain, commands, {name: static_link(command, links["library"], archive) for name, command in
                                        {**links["programs"], "cli/evenkeel": links["program"]}.items()}, arguments.j)
    # One thread a link, since there are as many jobs as processors.
    fast = ["-fuse-ld=lld", "-Wl,--threads=1"] if shutil.which("ld.lld") else ["-fuse-ld=gold"] if shutil.which("ld.gold") else []
    links = {"library": links["library"] + fast, "program": links["program"] + fast,
             "programs": {name: command + fast for name, command in links["programs"].items()}}
    for name, command in wrapped_links(plain, commands, links).items():
        link(command, plain)
    tests = reach.tests_of(work, plain, tree, arguments.tests, environment)
    objects = {command["output"]: file for file, command in commands.items() if re.match(r"(src|cli)/.*\.c$", file)}
    reached = reach.Reach(work, tree, environment, arguments.t, tests, objects, say)
    failing, slow = reached.measure(arguments.j)
    if failing:
        say("not used, they fail without a mutant: " + ", ".join(failing))
    if slow:
        say(f"not used, they take more than {arguments.t} s: " + ", ".join(slow))
    sources = Sources(tree, commands, arguments.places)
    known = mutants.read_list(os.path.join(tree, "tests", "mutants.txt"))
    for key, reason in known.items():
        if not reason:
            raise SystemExit(f"mutate: tests/mutants.txt gives no reason for {key[0]}: {key[1]} -> {key[2]}")
    for file, old, new in stale(known, sources):
        say(f"tests/mutants.txt: no longer there: {file}: {old} -> {new}")
    used = sum(test.passes for test in reached.tests)
    say(f"{used} tests, {sum(test.seconds for test in reached.tests if test.passes):.0f} s; "
        f"seed {arguments.s}; ready after {time.monotonic() - began:.0f} s")

    source = sources.listed(arguments.list) if arguments.list else sources.drawn(arguments.s)
    most = sys.maxsize if arguments.list else arguments.n
    kept = Results(os.path.join(work, "results.jsonl"), sources.text, bool(arguments.tests))
    results, lock, next_index = {}, threading.Lock(), itertools.count()
    state = {"valid": 0, "error": None}
    verified, builds = {}, []

    def show(mutant, result, equivalent):
        verdict, ran, left = result
        text = f"{mutant.file}:{mutant.line}: {mutant.old} -> {mutant.new}"
        if verdict is None and not equivalent:
            say(text + (f"  [{left:.0f} s of tests left out]" if left else "" if ran else "  [not reached]"))
        elif arguments.list:
            say(f"killed by {verdict}: {text}" if verdict else f"equivalent: {text}")

    def work_on(number):
        build = Build(work, number, plain, commands, links)
        builds.append(build)
        while True:
            with lock:
                if state["valid"] >= most or state["error"]:
                    return
                mutant = next(source, None)
                if mutant is None:
                    return
                index = next(next_index)
                result = None if arguments.list else kept.of(mutant)
            new = result is None
            if new:
                result = build.judge(mutant, sources.text[mutant.file], reached.of(mutant), environment, kept.learned,
                                     arguments.c, verified)
            equivalent = (mutant.file, mutant.old, mutant.new) in known
            with lock:
                if new:
                    kept.add(mutant, result)
                if result[0] == "same":
                    continue
                state["valid"] += 1
                results[index] = mutant, result[0], equivalent
                if new and state["valid"] % 25 == 0:
                    say(f"{state['valid']} mutants, {sum(bool(result[1]) for result in results.values())} killed, "
                        f"{time.monotonic() - began:.0f} s", True)
                show(mutant, result, equivalent)

    def guarded(number):
        try:
            work_on(number)
        except BaseException as error:  # a worker's end must not look like an end of the mutants
            state["error"] = error
            raise

    threads = [threading.Thread(target=guarded, args=(number,), daemon=True) for number in range(arguments.j)]
    for thread in threads:
        thread.start()
    try:
        for thread in threads:
            thread.join()
    except Stopped:  # the mutants tried so far count nevertheless
        state["error"] = "stopped"

    table = defaultdict(lambda: [0, 0, 0, 0])
    for index in sorted(dict(results))[:most]:
        mutant, verdict, equivalent = results[index]
        for row in (table[folder_of(mutant.file)], table["total"]):
            row[0] += 1
            row[1 if verdict else 3 if equivalent else 2] += 1
    say(f"{'folder':<16} {'mutants':>7} {'killed':>7} {'survived':>8} {'equivalent':>10} {'%':>6}")
    for name in sorted(table, key=lambda name: (name == "total", name)):
        count, killed, survived, equivalent = table[name]
        if name != "total":
            say(f"{name:<16} {count:>7} {killed:>7} {survived:>8} {equivalent:>10} {share(killed, survived):>6}")
    count, killed, survived, equivalent = table["total"]
    say(f"{count} mutants, {killed} killed, {survived} survived, {equivalent} equivalent: "
        f"{share(killed, survived)} % of {killed + survived} killed in {time.monotonic() - began:.0f} s")
    spent = {what: sum(build.spent[what] for build in builds) for what in ("compiling", "linking", "testing")}
    say("seconds of all jobs: " + ", ".join(f"{seconds:.0f} {what}" for what, seconds in spent.items()))
    reach.end_all()
    return 2 if state["error"] else 0


def share(killed, survived):
    return f"{100 * killed / (killed + survived):.1f}" if killed + survived else "-"


if __name__ == "__main__":
    try:
        status = main()
    except Stopped:
        reach.end_all()
        status = 2
    sys.stdout.flush()
    os._exit(status)  # without waiting for threads
