"""The tests of a build, and which lines of the sources each of them reaches.

Lines come from a build of its own (see mutate.sh): statically linked, so that one file holds all code, and with a call at
the start of every basic block, whose return address reached.c records. The linker's map says which object an address
belongs to, the object's line table and the places of those calls say which lines the block holds.
"""
import bisect
import hashlib
import json
import math
import os
import re
import resource
import shutil
import signal
import subprocess
import threading
from collections import defaultdict

CALL = "__sanitizer_cov_trace_pc"
WHOLE = ("docs", "options", "outputs")  # scripts that run as one test; of the others, 'cli' is taken case by case
MEMORY, FILE = 6 << 30, 1 << 30  # a mutant may allocate or write without end


def limits(cpu_seconds):
    def set_limits():
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_FSIZE, (FILE, FILE))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_CPU, (cpu_seconds, cpu_seconds + 1))
    return set_limits


running = set()  # process groups


def end_all():
    """When this program is stopped, so is what it has started."""
    for group in list(running):
        try:
            os.killpg(group, signal.SIGKILL)
        except ProcessLookupError:
            pass


def run(command, folder, environment, seconds):
    """Exit status, None when it took longer, and the seconds it took. Seconds are the processor's, so that a busy machine
    ends nothing early; what hangs without computing ends after ten times as many. Whatever the command started ends with it."""
    process = subprocess.Popen(command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL, start_new_session=True, preexec_fn=limits(math.ceil(seconds) + 1))
    running.add(process.pid)
    late = threading.Timer(10 * seconds, os.killpg, (process.pid, signal.SIGKILL))
    late.start()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)  # for the destructor
    over = not late.is_alive()
    late.cancel()
    running.discard(process.pid)
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    used = usage.ru_utime + usage.ru_stime
    return None if over or used >= seconds else process.returncode, used


class Test:
    """A unit test, a command-line case, or a script of them; its command has {build} where a build's folder belongs."""

    def __init__(self, name, command, programs, data):
        self.name, self.command, self.programs, self.data = name, command, programs, data
        self.seconds = self.passes = None

    def run(self, build, environment, seconds):
        return run([part.replace("{build}", build) for part in self.command], build, environment, seconds)


def tests_of(build, tree, pattern):
    """The tests of a build that judge what the library or the program does, and whose name has the pattern."""
    described = json.loads(subprocess.run(["meson", "introspect", "--tests", build], check=True, capture_output=True).stdout)
    tests = []
    for test in described:
        name = test["name"]
        command = [part.replace(build, "{build}") for part in test["cmd"]]
        program = "".join(command[1:2])
        if os.path.exists(os.path.join(build, program)):
            program = os.path.join("{build}", program)
        if command[0].endswith("/tap.sh"):
            tests.append(Test(name, [program], [program], []))
        elif name == "cli":
            cases = os.path.join(tree, "tests", "cli", "cases")
            for case in sorted(os.listdir(cases)):
                tests.append(Test("cli:" + case, ["sh", command[0], program, case], [program], [os.path.join(cases, case)]))
        elif name in WHOLE:
            tests.append(Test("cli:" + name, ["sh", command[0], program] + command[2:], [program], command[:1] + command[2:]))
    return [test for test in tests if re.search(pattern, test.name)]


def fingerprint(test, builds):
    """Changes with the programs and the files of a test."""
    digest = hashlib.sha256()
    for build in builds:
        for program in test.programs:
            with open(program.replace("{build}", build), "rb") as file:
                digest.update(file.read())
    for data in test.data:
        for folder, _, names in sorted(os.walk(data)) or [(os.path.dirname(data), [], [os.path.basename(data)])]:
            for name in sorted(names):
                with open(os.path.join(folder, name), "rb") as file:
                    digest.update(name.encode() + b"\0" + file.read())
    return digest.hexdigest()


class Objects:
    """Lines of the basic blocks of all objects: block(object, offset) -> lines."""

    def __init__(self, build, tree):
        self.build, self.tree, self.known, self.code = build, tree, {}, defaultdict(set)
        with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as file:
            commands = json.load(file)
        self.source = {}
        for entry in commands:
            path = os.path.relpath(os.path.realpath(os.path.join(build, entry["file"])), os.path.realpath(tree))
            output = entry.get("output") or re.search(r" -o (\S+)", entry["command"]).group(1)
            if re.match(r"(src|cli)/.*\.c$", path) and re.match(r"(src/libevenkeel|cli/evenkeel)", output):
                self.source[output] = path

    def blocks(self, name):
        if name not in self.known:
            self.known[name] = self._read(name)
        return self.known[name]

    def _read(self, name):
        path, source = os.path.join(self.build, name), self.source[name]
        output = subprocess.run(["objdump", "-r", "-j", ".text", "--dwarf=decodedline", path], capture_output=True, text=True,
                                errors="replace", check=True).stdout
        calls = sorted(int(match, 16) + 4 for match in re.findall(r"^([0-9a-f]+) +R_\w+ +" + CALL, output, re.MULTILINE))
        rows = sorted((int(at, 16), int(line)) for file, line, at in
                      re.findall(r"^(\S+) +(\d+) +(0x[0-9a-f]+|0)\b", output, re.MULTILINE)
                      if file == os.path.basename(source))
        places = [at for at, _ in rows]
        blocks = {}
        for at, end in zip(calls, calls[1:] + [1 << 60]):
            first = max(bisect.bisect_left(places, at) - 1, 0)
            last = bisect.bisect_left(places, end - 5)  # before the next call, which is five bytes long
            blocks[at] = frozenset(line for _, line in rows[first:last])
        for lines in blocks.values():
            self.code[source] |= lines
        return blocks


class Program:
    """Where the objects of a linked program begin."""

    def __init__(self, map_path, objects):
        self.starts, self.names = [], []
        by_end = {}
        for name in objects.source:
            folder, file = os.path.split(name)
            by_end[name] = name
            by_end[f"{folder[:-2]}({file})"] = name  # a member of the archive
        with open(map_path, encoding="utf-8", errors="replace") as file:
            for at, size, name in re.findall(r"^ \.text\s+(0x[0-9a-f]+)\s+(0x[0-9a-f]+) (\S+)$", file.read(), re.MULTILINE):
                if int(size, 16) > 0:
                    self.starts.append(int(at, 16))
                    self.names.append(by_end.get(name))
        order = sorted(range(len(self.starts)), key=self.starts.__getitem__)
        self.starts = [self.starts[i] for i in order]
        self.names = [self.names[i] for i in order]
        self.objects = objects

    def lines(self, addresses):
        """What is reached when these calls return: file -> lines."""
        found = defaultdict(set)
        for address in addresses:
            i = bisect.bisect_right(self.starts, address) - 1
            name = self.names[i] if i >= 0 else None
            if name:
                found[self.objects.source[name]] |= self.objects.blocks(name).get(address - self.starts[i], frozenset())
        return found


class Reach:
    """Which tests reach a line, and how long they take."""

    def __init__(self, work, tree, environment, longest, tests, say):
        self.work, self.tree, self.longest, self.say = work, tree, longest, say
        self.plain, self.lines = os.path.join(work, "plain"), os.path.join(work, "lines")
        self.environment = environment
        self.tests = tests
        self.objects = Objects(self.lines, tree)
        for name in self.objects.source:
            self.objects.blocks(name)
        self.by_line = defaultdict(lambda: defaultdict(set))
        self.by_file = defaultdict(set)
        self.programs = {}

    def measure(self, jobs):
        """Runs every test once in each build; what is known of an unchanged test is taken from the folder.
        @return names of the tests that fail, and of those that take too long"""
        known_path = os.path.join(self.work, "reach.jsonl")
        known = {}
        if os.path.exists(known_path):
            with open(known_path, encoding="utf-8") as file:
                known = dict(json.loads(line) for line in file if line.endswith("\n"))
        keys = [test.name + " " + fingerprint(test, (self.plain, self.lines)) for test in self.tests]
        # What took too long may do now.
        missing = iter([i for i, key in enumerate(keys)
                        if key not in known or known[key][1] is None and known[key][0] < self.longest])
        lock = threading.Lock()

        def work_on(job):
            while True:
                with lock:
                    number = next(missing, None)
                if number is None:
                    return
                result = self._measure_one(self.tests[number], os.path.join(self.work, f"reached{job}"))
                with lock:
                    known[keys[number]] = result
                    with open(known_path, "a", encoding="utf-8") as file:  # a run that is stopped need not begin anew
                        file.write(json.dumps((keys[number], result)) + "\n")
                    self.say(f"test {number + 1} of {len(self.tests)}: {self.tests[number].name}, {result[0]:.2f} s", True)

        threads = [threading.Thread(target=work_on, args=(job,), daemon=True) for job in range(jobs)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        names = {test.name for test in self.tests}
        with open(known_path + ".new", "w", encoding="utf-8") as file:
            file.writelines(json.dumps((key, known[key])) + "\n" for key in known
                            if key in keys or key.split()[0] not in names)
        os.replace(known_path + ".new", known_path)
        failing, slow = [], []
        for number, test in enumerate(self.tests):
            test.seconds, passes, reached = known[keys[number]]
            test.passes = passes is True and test.seconds <= self.longest
            if test.passes:
                self._add(number, reached)
            else:
                (failing if passes is False else slow).append(test.name)
        return failing, slow

    def _add(self, number, reached):
        for file, lines in reached.items():
            self.by_file[file].add(number)
            for line in lines:
                self.by_line[file][line].add(number)

    def _measure_one(self, test, folder):
        status, seconds = test.run(self.plain, self.environment, self.longest)
        passes = None if status is None else status == 0
        shutil.rmtree(folder, ignore_errors=True)
        os.mkdir(folder)
        if passes:
            test.run(self.lines, dict(self.environment, EK_REACHED=folder), 10 * self.longest)
        found = defaultdict(set)
        for name in os.listdir(folder):
            if name not in self.programs:
                path = os.path.join(self.work, "maps", name + ".map")
                self.programs[name] = Program(path, self.objects) if os.path.exists(path) else None
            if self.programs[name]:
                with open(os.path.join(folder, name), "rb") as file:
                    hits = [match.start() for match in re.finditer(rb"\x01", file.read())]
                for source, lines in self.programs[name].lines(hits).items():
                    found[source] |= lines
        return seconds, passes, {file: sorted(lines) for file, lines in found.items()}

    def of(self, mutant):
        """The tests that reach a mutant, the fastest first. A line without code of its own belongs to the statement before
        it; data belongs to all tests that reach its file, and to all tests where the file has no code."""
        code, line = self.objects.code[mutant.file], mutant.line
        if not mutant.in_function:
            numbers = self.by_file[mutant.file] if code else {i for i, test in enumerate(self.tests) if test.passes}
        else:
            while line > 1 and line not in code:
                line -= 1
            numbers = self.by_line[mutant.file][line]
        return sorted((self.tests[i] for i in numbers), key=lambda test: test.seconds)
