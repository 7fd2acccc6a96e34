"""Draws mutants, runs the tests that reach each of them, and says which survive. mutate.sh makes the builds and starts this."""
import argparse
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

import mutants
import reach

COMPILE_SECONDS = 120


def say(text, progress=False):
    print(text, file=sys.stderr if progress else sys.stdout, flush=True)


def link(command, folder):
    if subprocess.run(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode != 0:
        raise SystemExit(f"mutate: does not link: {shlex.join(command)[:400]} ...")


def wrapped_links(folder, commands, links):
    """How to link the tests that put functions of their own before the library's, which only a static library lets them.
    The archive is thin: it has the names of the objects alone."""
    archive = os.path.join(folder, "wrapped.a")
    objects = [command["output"] for command in commands.values() if command["library"]]
    if os.path.exists(archive):
        os.remove(archive)
    link(["ar", "crsT", archive] + objects, folder)
    libraries = [part for part in links["library"] if re.match(r"-l|-pthread|.*\.so(\.|$)", part) and "libevenkeel" not in part]
    return {name: [part for part in command if "libevenkeel.so" not in part] +
            ["-Wl,--start-group", archive, "-Wl,--end-group", "-lstdc++"] + libraries
            for name, command in links["tests"].items() if any("--wrap=" in part for part in command)}


class Build:
    """A copy of the plain build in which one object at a time is a mutant's."""

    def __init__(self, folder, plain, commands, links):
        self.folder, self.commands, self.links = folder, commands, links
        if not os.path.isdir(folder):
            shutil.copytree(plain, folder, symlinks=True, ignore=shutil.ignore_patterns("*.d", ".ninja_*", "meson-logs", "meson-private", "meson-info"))
        self.originals = {}
        self.wrapped = wrapped_links(folder, commands, links)

    def compile(self, file, text, output):
        """The source comes from a pipe, so that no mutated file ever exists."""
        command = self.commands[file]
        source = os.path.join(self.folder, command["source"])
        full = command["compiler"] + ["-w", "-iquote", os.path.dirname(source), "-x", "c", "-", "-o", output]
        try:
            done = subprocess.run(full, cwd=self.folder, input=f'#line 1 "{command["source"]}"\n{text}'.encode(),
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=COMPILE_SECONDS)
        except subprocess.TimeoutExpired:
            return None
        if done.returncode != 0:
            return None
        with open(os.path.join(self.folder, output), "rb") as compiled:
            return compiled.read()

    def original(self, file, text):
        if file not in self.originals:
            self.originals[file] = self.compile(file, text, "original.o")
            if self.originals[file] is None:
                raise SystemExit(f"mutate: {file} does not compile")
        return self.originals[file]

    def judge(self, mutant, text, tests, environment):
        """'same' (no other program), the name of the test that kills, or None for a survivor."""
        changed = text[:mutant.start] + mutant.text + text[mutant.end:]
        code = self.compile(mutant.file, changed, "mutant.o")
        if code is None or code == self.original(mutant.file, text):
            return "same"
        output = os.path.join(self.folder, self.commands[mutant.file]["output"])
        shutil.copyfile(os.path.join(self.folder, "mutant.o"), output)
        try:
            link(self.links["library" if self.commands[mutant.file]["library"] else "program"], self.folder)
            for test in tests:
                if test.name in self.wrapped:
                    link(self.wrapped[test.name], self.folder)
                if test.run(self.folder, environment, 3 * test.seconds + 1)[0] != 0:
                    return test.name
            return None
        finally:
            with open(output, "wb") as file:
                file.write(self.original(mutant.file, text))


def compile_commands(plain, tree):
    """How each source is compiled: file -> compiler with options, source, output."""
    with open(os.path.join(plain, "compile_commands.json"), encoding="utf-8") as file:
        entries = json.load(file)
    commands = {}
    for entry in entries:
        path = os.path.relpath(os.path.realpath(os.path.join(plain, entry["file"])), os.path.realpath(tree))
        words = shlex.split(entry["command"])
        output = words[words.index("-o") + 1]
        if not re.match(r"(src/libevenkeel|cli/evenkeel)", output):
            continue
        while os.path.basename(words[0]) == "ccache":
            words = words[1:]
        compiler, skip = [], False
        for word in words:
            if skip or word in ("-o", "-MF", "-MQ", "-MD", entry["file"]):
                skip = not skip and word in ("-o", "-MF", "-MQ")
            else:
                compiler.append(word)
        commands[path] = {"compiler": compiler, "source": entry["file"], "output": output,
                          "library": output.startswith("src/libevenkeel")}
    return commands


def link_commands(plain, tests):
    def last(target):
        lines = subprocess.run(["ninja", "-C", plain, "-t", "commands", "-s", target], check=True, capture_output=True,
                               text=True).stdout.splitlines()
        return shlex.split(next(line for line in reversed(lines) if " -o " in line)) + fast
    fast = ["-fuse-ld=lld"] if shutil.which("ld.lld") else ["-fuse-ld=gold"] if shutil.which("ld.gold") else []
    library = next(name for name in os.listdir(os.path.join(plain, "src")) if re.match(r"libevenkeel\.so", name)
                   and not os.path.islink(os.path.join(plain, "src", name)) and not name.endswith((".p", ".symbols")))
    return {"library": last("src/" + library), "program": last("cli/evenkeel"),
            "tests": {test.name: last(test.programs[0].replace("{build}/", "")) for test in tests if ":" not in test.name}}


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
        """All mutants in random order: a line at a time, each with the same chance; of a line the kind, then the change."""
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
        wanted = mutants.read_list(path)
        for file in sorted({key[0] for key in wanted}):
            if file not in self.text:
                say(f"not there: {file}")
                continue
            for kinds in self.of_file(file).values():
                for mutant in itertools.chain.from_iterable(kinds.values()):
                    if (file, mutant.old, mutant.new) in wanted:
                        yield mutant


def stale(known, sources):
    """Entries of the list of equivalent mutants that no source has any more."""
    lines = {file: {mutants.one_line(line) for line in text.splitlines()} for file, text in sources.text.items()}
    whole = {file: mutants.one_line(text) for file, text in sources.text.items()}
    return [key for key in known if key[0] not in lines or key[1] not in lines[key[0]] and key[1] not in whole[key[0]]]


class Stopped(Exception):
    pass


def stop(number, frame):
    raise Stopped


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--work", required=True)
    parser.add_argument("-n", type=int, default=200)
    parser.add_argument("-s", type=int, default=1)
    parser.add_argument("-j", type=int, default=1)
    parser.add_argument("-t", type=int, default=60)
    parser.add_argument("--tests", default="")
    parser.add_argument("--list")
    parser.add_argument("places", nargs="*")
    arguments = parser.parse_args()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, stop)
    began = time.monotonic()
    work = os.path.realpath(arguments.work)
    tree, plain = os.path.join(work, "tree"), os.path.join(work, "plain")
    environment = dict(os.environ, EK_SOURCE_ROOT=tree, LC_ALL="C")
    for name in ("EK_UPDATE_GOLDEN", "EK_WRITE_DOCS", "MAKEFLAGS"):
        environment.pop(name, None)

    commands = compile_commands(plain, tree)
    tests = reach.tests_of(plain, tree, arguments.tests)
    links = link_commands(plain, tests)
    for name, command in wrapped_links(plain, commands, links).items():
        link(command, plain)
    reached = reach.Reach(work, tree, environment, arguments.t, tests, say)
    failing, slow = reached.measure(arguments.j)
    if failing:
        say("not used, they fail without a mutant: " + " ".join(failing))
    if slow:
        say(f"not used, they take more than {arguments.t} s: " + " ".join(slow))
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
    results, lock, next_index = {}, threading.Lock(), itertools.count()
    state = {"valid": 0, "error": None}

    def work_on(number):
        build = Build(os.path.join(work, f"job{number}"), plain, commands, links)
        while True:
            with lock:
                if state["valid"] >= most or state["error"]:
                    return
                mutant = next(source, None)
                if mutant is None:
                    return
                index = next(next_index)
            tests = reached.of(mutant)
            verdict = build.judge(mutant, sources.text[mutant.file], tests, environment)
            if verdict == "same":
                continue
            equivalent = verdict is None and (mutant.file, mutant.old, mutant.new) in known
            with lock:
                state["valid"] += 1
                results[index] = mutant, verdict, equivalent, bool(tests)
                if state["valid"] % 25 == 0:
                    say(f"{state['valid']} mutants, {sum(bool(result[1]) for result in results.values())} killed, "
                        f"{time.monotonic() - began:.0f} s", True)
                if verdict is None and not equivalent:
                    say(f"{mutant.file}:{mutant.line}: {mutant.old} -> {mutant.new}" + ("" if tests else "  [not reached]"))
                elif arguments.list:
                    say(f"killed by {verdict}: {mutant.file}:{mutant.line}: {mutant.old} -> {mutant.new}" if verdict else
                        f"equivalent: {mutant.file}:{mutant.line}: {mutant.old} -> {mutant.new}")

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
    except Stopped:  # what has been tried counts all the same
        state["error"] = "stopped"

    table = defaultdict(lambda: [0, 0, 0, 0])
    for index in sorted(dict(results))[:most]:
        mutant, verdict, equivalent, _ = results[index]
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
