"""Finds the tests of a build, and the lines of the sources that each of them reaches.

Lines come from a separate build (see lines.py): statically linked, so that one file contains all code, and with a call
at the start of every basic block. reached.c records the return address of the call. The linker's map gives the object
of an address, and the object's line table and the places of those calls give the lines of the block. A test is one case
of a unit test (see cases.c), one of the command line's, or a script of them.
"""
import array
import base64
import bisect
import functools
import hashlib
import json
import operator
import os
import re
import resource
import shutil
import signal
import subprocess
import threading
import time
import zlib
from collections import defaultdict

CALL = "__sanitizer_cov_trace_pc"
MEMORY, FILE = 6 << 30, 1 << 30  # a mutant may allocate or write without end
LONG = 1  # seconds after which the lines reached by a case of a unit test are taken as complete
FASTER = 3  # so many times faster the build of the mutants is at least, as soon as it computes
STARTUP = 0.04  # seconds of the processor that a process takes which does nothing

running = set()  # process groups


def set_limits():
    """For this program and all that it starts."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_FSIZE, (FILE, FILE))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def end_all():
    """When this program is stopped, so are its child processes."""
    for group in list(running):
        end_group(group)


def end_group(group):
    try:
        os.killpg(group, signal.SIGKILL)
    except ProcessLookupError:
        pass


def seconds_of(group):
    """Seconds of the processor that a process group has taken, with the children that its processes have waited for."""
    ticks = 0
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
                fields = file.read().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(fields[2]) == group:
            ticks += sum(map(int, fields[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


def watch(group, seconds, over):
    """Ends a process group that takes too long."""
    began = time.monotonic()
    while not over.wait(max(seconds / 2, 0.3)):
        if time.monotonic() - began > 10 * seconds or seconds_of(group) >= seconds:
            end_group(group)


def run(command, folder, environment, seconds):
    """Exit status, None when it took longer, and the seconds it took. Seconds are the processor's, so that a busy
    machine ends no test early; a test that hangs without computing ends after ten times as many. All processes of the
    command end with it."""
    process = subprocess.Popen(command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL, start_new_session=True)
    running.add(process.pid)
    over = threading.Event()
    threading.Thread(target=watch, args=(process.pid, seconds, over), daemon=True).start()
    _, status, usage = os.wait4(process.pid, 0)
    over.set()
    process.returncode = os.waitstatus_to_exitcode(status)  # for the destructor
    running.discard(process.pid)
    end_group(process.pid)
    used = usage.ru_utime + usage.ru_stime
    return None if process.returncode == -signal.SIGKILL or used >= seconds else process.returncode, used


class Test:
    """A case of a unit test, of the command line, or a script; its command has {build} in place of a build's folder."""

    def __init__(self, group, name, command, program, data=(), case=None):
        self.group, self.name, self.command, self.program, self.data, self.case = group, name, command, program, data, case
        self.seconds = self.passes = None


class Batch:
    """Tests that run together: cases of one unit test, or a single test of another kind."""

    def __init__(self, tests):
        self.tests, self.group, self.command = tests, tests[0].group, tests[0].command
        self.cases = " ".join(str(test.case) for test in tests) if tests[0].case is not None else None
        self.seconds = sum(test.seconds or 0 for test in tests) - (len(tests) - 1) * STARTUP
        self.name = self.group + ":" + self.cases.replace(" ", ",") if self.cases else tests[0].name

    def run(self, work, build, environment, seconds):
        if self.cases is not None:
            environment = dict(environment, EK_CASES=self.cases, LD_PRELOAD=os.path.join(work, "cases.so"))
        return run([part.replace("{build}", build) for part in self.command], build, environment, seconds)


def batches(tests, quick):
    """Cases below this number of seconds run together, the others separately."""
    together = defaultdict(list)
    for test in tests:
        together[test.group if test.case is not None and test.seconds < quick else test.name].append(test)
    return [Batch(group) for group in together.values()]


def tests_of(work, build, tree, pattern, environment):
    """The tests of a build that test the library or the program and have the pattern in their group."""
    described = json.loads(subprocess.run(["meson", "introspect", "--tests", build], check=True, capture_output=True).stdout)
    tests = []
    commands = {test["name"]: [in_build(part, build) for part in test["cmd"]] for test in described}
    for name, command in commands.items():
        if command[0].endswith("/tap.sh"):
            if re.search(pattern, name):
                for number, case in enumerate(cases_of(work, build, command[1], environment)):
                    tests.append(Test(name, f"{name}:{number} {case}", command[1:2], command[1], case=number))
        elif re.fullmatch(r"cli(-1)?", name):  # the script runs parts of the cases; here each is a test
            cases = os.path.join(tree, "tests", "cli", "cases")
            for case in sorted(os.listdir(cases)):
                tests.append(Test("cli:" + case, "cli:" + case, ["sh", command[0], command[-1], case], command[-1],
                                  [os.path.join(cases, case)]))
        elif name in ("options", "outputs") or name.startswith("docs-"):
            tests.append(Test("cli:" + name, "cli:" + name, ["sh", *command], command[1],
                              command[:1] + [os.path.join(tree, part) for part in command[2:]]))
    return [test for test in tests if re.search(pattern, test.group)]


def in_build(part, build):
    """A word of a command with {build} for the folder, which meson leaves out now and then."""
    if not os.path.isabs(part) and os.path.exists(os.path.join(build, part)):
        part = os.path.join(build, part)
    return part.replace(build, "{build}")


def cases_of(work, build, program, environment):
    """The names of a unit test's cases."""
    environment = dict(environment, EK_CASES="names", LD_PRELOAD=os.path.join(work, "cases.so"))
    return subprocess.run([program.replace("{build}", build)], cwd=build, env=environment, check=True, capture_output=True,
                          text=True).stdout.splitlines()


def fingerprint(test, build):
    """Changes with the program and the files of a test."""
    digest = hashlib.sha256(of_program(test.program.replace("{build}", build)))
    for data in test.data:
        for folder, _, names in sorted(os.walk(data)) or [(os.path.dirname(data), [], [os.path.basename(data)])]:
            for name in sorted(names):
                with open(os.path.join(folder, name), "rb") as file:
                    digest.update(name.encode() + b"\0" + file.read())
    return digest.hexdigest()[:24]


@functools.lru_cache(maxsize=None)
def of_program(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).digest()


class Objects:
    """The basic blocks of all objects: of each source the lines of the block that a call at an offset begins."""

    def __init__(self, build, sources):
        self.build, self.source = build, sources
        self.by_file, self.code, self.by_line = {}, defaultdict(set), defaultdict(lambda: defaultdict(list))
        known_path = os.path.join(build, "blocks.json")
        known = {}
        if os.path.exists(known_path):
            with open(known_path, encoding="utf-8") as file:
                known = json.load(file)
        read = {}
        for name, source in sources.items():
            found = os.stat(os.path.join(build, name))
            key = f"{name} {found.st_mtime_ns} {found.st_size}"
            read[key] = known[key] if key in known else self._read(name, source)
            self.by_file[source] = name
            for at, lines in read[key]:
                self.code[source].update(lines)
                for line in lines:
                    self.by_line[source][line].append((name, at))
        self.offsets = {key.split()[0]: [at for at, _ in blocks] for key, blocks in read.items()}
        with open(known_path, "w", encoding="utf-8") as file:
            json.dump(read, file)

    def _read(self, name, source):
        path = os.path.join(self.build, name)
        output = subprocess.run(["objdump", "-r", "-j", ".text", "--dwarf=decodedline", path], capture_output=True, text=True,
                                errors="replace", check=True).stdout
        calls = sorted(int(match, 16) + 4 for match in re.findall(r"^([0-9a-f]+) +R_\w+ +" + CALL, output, re.MULTILINE))
        rows = sorted((int(at, 16), int(line)) for file, line, at in
                      re.findall(r"^(\S+) +(\d+) +(0x[0-9a-f]+|0)\b", output, re.MULTILINE)
                      if file == os.path.basename(source))
        places = [at for at, _ in rows]
        blocks = []
        for at, end in zip(calls, calls[1:] + [1 << 60]):
            first = max(bisect.bisect_left(places, at) - 1, 0)
            last = bisect.bisect_left(places, end - 5)  # before the next call, which is five bytes long
            blocks.append((at, sorted({line for _, line in rows[first:last]})))
        return blocks


class Program:
    """Where the calls of a linked program return to, numbered."""

    def __init__(self, map_path, objects):
        addresses, self.first, begins = array.array("Q"), {}, {}
        members = {os.path.basename(name): name for name in objects.source if name.startswith("src/")}
        with open(map_path, encoding="utf-8", errors="replace") as file:
            for at, size, name in re.findall(r"^ \.text\s+(0x[0-9a-f]+)\s+(0x[0-9a-f]+) (\S+)$", file.read(), re.MULTILINE):
                member = re.search(r"libevenkeel\.a\((.*)\)$", name)
                name = members.get(member.group(1)) if member else os.path.relpath(name, objects.build)
                if int(size, 16) > 0 and name in objects.source:
                    begins[name] = int(at, 16)
        for name in sorted(begins, key=lambda name: not name.startswith("src/")):
            self.first[name] = len(addresses)
            addresses.extend(begins[name] + offset for offset in objects.offsets[name])
        self.offsets, self.count, self.last = objects.offsets, len(addresses), max(addresses, default=0)
        self.addresses = addresses

    @functools.cached_property
    def pick(self):
        return operator.itemgetter(*self.addresses, 0, 0)  # two more, for it to give a tuple in any case

    def number(self, name, offset):
        """Of the call at an offset of an object; None where the program has not got the object."""
        return self.first[name] + bisect.bisect_left(self.offsets[name], offset) if name in self.first else None

    def packed(self, reached):
        """A bit for each call, from a byte for each address."""
        reached += bytes(max(self.last + 1 - len(reached), 0))
        bits = bytes(self.pick(reached))[:self.count]
        if not any(bits):
            return b""
        return int(bits[::-1].translate(bytes.maketrans(b"\0\1", b"01")), 2).to_bytes(self.count // 8 + 1, "little")


class Reach:
    """The tests that reach a line, and their maximum time: the build that records lines is slower."""

    def __init__(self, work, tree, environment, longest, tests, sources, say):
        self.work, self.tree, self.longest, self.say = work, tree, longest, say
        self.plain, self.lines = os.path.join(work, "plain"), os.path.join(work, "lines")
        self.environment = environment
        self.tests = tests
        self.objects = Objects(self.lines, sources)
        self.programs = {}
        self.hits = []  # of a test: program -> a bit for each of its calls

    def measure(self, jobs):
        """Runs every test once; results of unchanged tests are taken from the folder. @return names of the tests that
        fail, and of those that take too long"""
        known_path = os.path.join(self.work, "reach.jsonl")
        known = {}
        if os.path.exists(known_path):
            with open(known_path, encoding="utf-8") as file:
                known = dict(json.loads(line) for line in file if line.endswith("\n"))
        keys = [test.name + " " + fingerprint(test, self.lines) for test in self.tests]
        # Tests that took too long may be fast enough now.
        missing = iter([i for i, key in enumerate(keys)
                        if key not in known or known[key][1] is None and known[key][0] < FASTER * self.longest])
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
                    with open(known_path, "a", encoding="utf-8") as file:  # a stopped run need not start again
                        file.write(json.dumps((keys[number], result)) + "\n")
                    self.say(f"test {number + 1} of {len(self.tests)}: {self.tests[number].name}, {result[0]:.2f} s", True)

        threads = [threading.Thread(target=work_on, args=(job,), daemon=True) for job in range(jobs)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        names = {test.name for test in self.tests}
        with open(known_path + ".new", "w", encoding="utf-8") as file:
            wanted = set(keys)
            file.writelines(json.dumps((key, known[key])) + "\n" for key in known
                            if key in wanted or key.rpartition(" ")[0] not in names)
        os.replace(known_path + ".new", known_path)
        failing, slow = [], []
        for number, test in enumerate(self.tests):
            test.seconds, passes, reached = known[keys[number]]
            test.passes = passes is True and test.seconds <= FASTER * self.longest
            self.hits.append({name: zlib.decompress(base64.b64decode(bits)) for name, bits in reached.items()} if test.passes else {})
            if not test.passes:
                (failing if passes is False else slow).append(test.name)
        return failing, slow

    def _program(self, name):
        if name not in self.programs:
            path = os.path.join(self.lines, "maps", name + ".map")
            self.programs[name] = Program(path, self.objects) if os.path.exists(path) else None
        return self.programs[name]

    def _measure_one(self, test, folder):
        """Seconds, whether it passes (None: it takes too long), and the lines that it reaches. A long case reaches
        nearly all its lines at its beginning, so it is ended, and timed in the faster build; a script must run to its
        end."""
        shutil.rmtree(folder, ignore_errors=True)
        os.mkdir(folder)
        batch = Batch([test])
        lines = dict(self.environment, EK_REACHED=folder)
        status, seconds = batch.run(self.work, self.lines, lines, FASTER * self.longest if test.case is None else LONG)
        if status is None and test.case is not None:
            status, seconds = batch.run(self.work, self.plain, self.environment, self.longest)
            seconds *= FASTER
        passes = None if status is None else status == 0
        found = {}
        for name in os.listdir(folder) if passes else []:
            if self._program(name):
                with open(os.path.join(folder, name), "rb") as file:
                    bits = self.programs[name].packed(file.read())
                found[name] = base64.b64encode(zlib.compress(bits, 1)).decode()
        return seconds, passes, found

    def of(self, mutant):
        """The tests that reach a mutant. A line without its own code belongs to the statement before it; data belongs
        to all tests that reach its file, and to all tests where the file has no code."""
        code, line = self.objects.code[mutant.file], mutant.line
        if not mutant.in_function:
            if not code:
                return [test for test in self.tests if test.passes]
            name = self.objects.by_file[mutant.file]
            blocks = [(name, at) for at in self.objects.offsets[name]]
        else:
            while line > 1 and line not in code:
                line -= 1
            blocks = self.objects.by_line[mutant.file][line]
        wanted = {}  # program -> numbers of its calls
        reaching = []
        for test, hits in zip(self.tests, self.hits):
            for name, bits in hits.items():
                if name not in wanted:
                    numbers = (self._program(name).number(*block) for block in blocks)
                    wanted[name] = [number for number in numbers if number is not None]
                if bits and any(bits[number >> 3] >> (number & 7) & 1 for number in wanted[name]):
                    reaching.append(test)
                    break
        return reaching
