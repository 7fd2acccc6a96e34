"""Makes the build that records the lines that a test reaches: further objects of the library and the program, with line
tables and a call at the start of every basic block (see reach.py), statically linked with the tests' objects of the
plain build. Only changed files are rebuilt."""
import os
import shlex
import subprocess

FLAGS = ["-O0", "-g1", "-fsanitize-coverage=trace-pc"]


def escaped(text):
    return text.replace("$", "$$").replace("\n", "$\n")


def place(text):
    return escaped(text).replace(" ", "$ ").replace(":", "$:")


def build(work, plain, commands, links, jobs):
    """Writes rules for ninja, which runs in the plain build since its commands are relative to it."""
    lines = os.path.join(work, "lines")
    os.makedirs(os.path.join(lines, "maps"), exist_ok=True)
    archive = os.path.join(lines, "libevenkeel.a")
    rules = [f"builddir = {lines}", "rule make", "  command = $run", "rule compile", "  command = $run", "  depfile = $out.d",
             "  deps = gcc"]
    members = []
    for command in commands.values():
        output = os.path.join(lines, command["output"])
        os.makedirs(os.path.dirname(output), exist_ok=True)
        run = ["ccache"] * command["cached"] + command["compiler"] + FLAGS + ["-w", "-MD", "-MF", output + ".d", "-o", output, command["source"]]
        rules += [f"build {place(output)}: compile {place(command['source'])}", "  run = " + escaped(shlex.join(run))]
        if command["library"]:
            members.append(output)
    # The names of so many members are too long for a command.
    with open(os.path.join(lines, "members"), "w", encoding="utf-8") as file:
        file.write("\n".join(members))
    rules += [f"build {place(archive)}: make " + " ".join(map(place, members)),
              f"  run = rm -f {archive} && ar crs {archive} @{lines}/members"]
    for output, command in links.items():
        target = os.path.join(lines, output)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        parts = [os.path.join(lines, part) if part.startswith("cli/evenkeel") and part.endswith(".o") else part for part in command]
        parts[parts.index("-o") + 1] = target
        parts += [os.path.join(work, "reached.o"), "-Wl,-Map=" + os.path.join(lines, "maps", os.path.basename(output) + ".map")]
        parts = [part.replace("libevenkeel-archive", archive) for part in parts]
        needed = [part for part in parts if part.endswith((".o", ".a"))]
        rules += [f"build {place(target)}: make " + " ".join(map(place, needed)), "  run = " + escaped(shlex.join(parts))]
    path = os.path.join(lines, "build.ninja")
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(rules) + "\n")
    done = subprocess.run(["ninja", "-C", plain, "-f", path, "-j", str(jobs)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, errors="replace")
    if done.returncode != 0:
        raise SystemExit("mutate: failed: " + done.stdout[-3000:])
