"""Compares the recipes of packages with the project: versions, libraries, exported symbols, and that each installed
file is in one package. Prints TAP. Nothing is built; `./run packages` does that for Debian.

    tests/packages.py BUILD    a configured build directory

EK_UPDATE_GOLDEN=1 adds new symbols to debian/libevenkeel0.symbols, with the version that added them."""
import fnmatch
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = sys.argv[1]
n = 0


def ok(passed, name, *why):
    global n
    n += 1
    print(f"{'ok' if passed else 'not ok'} {n} - {name}")
    for line in why if not passed else ():
        print("#", line)


def skip(name, why):
    global n
    n += 1
    print(f"ok {n} - {name} # SKIP {why}")


def text(path):
    return (ROOT / path).read_text(encoding="utf-8")


def found(pattern, path):
    match = re.search(pattern, text(path), re.M)
    return match.group(1) if match else None


# ---- versions ----

version = found(r"^  version: '(.*)'", "meson.build")
said = subprocess.run(["sh", "tools/release.sh", "--versions"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
versions = [line.split(" ", 1) for line in said.splitlines()]
ok(len(versions) == 9 and all(has == version for _, has in versions), f"every file has version {version}",
   *[f"{path} has {has}" for path, has in versions if has != version])
ok(found(r"^\* .* - (.*)-1$", "packaging/evenkeel.spec") == version, "packaging/evenkeel.spec has a change for it")

# ---- dependencies: one table, and the recipes ----

lines = [line.split("\t") for line in text("packaging/packages.tsv").splitlines() if not line.startswith("#")]
heads, rows = lines[0], [dict(zip(lines[0], line)) for line in lines[1:]]
ok(heads == ["what", "apt", "dnf", "zypper", "pacman", "brew", "conda", "spack"] and all(len(line) == 8 for line in lines),
   "packages.tsv has eight columns", *[line for line in lines if len(line) != 8])
build_files = [ROOT / "meson.build", *(ROOT / folder / "meson.build" for folder in ("src", "cli", "python", "web"))]
libraries = {name for path in build_files for name in re.findall(r"\bdependency\('([^']*)'", path.read_text())}
libraries = libraries - {"threads", "mpi", "cmocka"}
named = {row["what"] for row in rows}
ok(len(libraries) > 10 and libraries <= named, "packages.tsv has every library of meson.build", *(libraries - named))


def column(head, *whats):
    """The packages of these rows, of all libraries first."""
    return {row[head] for row in rows if row["what"] in libraries | set(whats)} - {"-", "?"}


def same(path, has, wanted, besides=()):
    """`has` contains all of `wanted`, and otherwise only packages that the packager itself needs."""
    has = set(has)
    ok(wanted <= has <= wanted | set(besides), f"{path} builds with what packages.tsv has",
       *[f"it lacks {x}" for x in sorted(wanted - has)],
       *[f"{x} is not in packages.tsv" for x in sorted(has - wanted - set(besides))])


extras = ("MPI", "Python", "cffi")
control = text("debian/control")
same("debian/control", re.findall(r"^ ([a-z0-9.+-]+)", control[:control.index("Standards-Version")], re.M),
     column("apt", "Meson", "pkg-config", "esbuild", *extras), ["debhelper-compat", "dh-sequence-python3"])
same("packaging/evenkeel.spec", re.findall(r"^BuildRequires: +(\S+)", text("packaging/evenkeel.spec"), re.M),
     {f"pkgconfig({name})" for name in libraries} |
     {row["dnf"] for row in rows if row["what"] in ("C compiler", "C++ compiler", "Meson", "Ninja", "pkg-config", *extras)})
recipe = text("packaging/conda/meta.yaml")
same("packaging/conda/meta.yaml", re.findall(r"^    - ([a-z0-9-]+)$", recipe[recipe.index("\n  build:\n"):recipe.index("\n  run:")], re.M),
     column("conda", "Meson", "Ninja", "pkg-config", "esbuild", "Python", "cffi"))
same("packaging/spack/package.py", re.findall(r'depends_on\("([a-z0-9+-]+)', text("packaging/spack/package.py")),
     column("spack", "pkg-config", *extras), ["c", "cxx", "meson"])
of_run = found(r"^build_packages='(.*)'", "run").split()
unknown = [name for name in of_run if name not in {row["apt"] for row in rows}]
ok(of_run and not unknown, "packages.tsv has what ./run builds with", *unknown)

# ---- the recipes can be read ----

try:
    compile(text("packaging/spack/package.py"), "package.py", "exec")
    ok(True, "packaging/spack/package.py is Python")
except SyntaxError as error:
    ok(False, "packaging/spack/package.py is Python", error)
try:
    import yaml
    # Without its Jinja, which sets the version and names compilers.
    plain = re.sub(r"\{\{ (\w+).*?\}\}", r"\1", re.sub(r"^\{%.*\n", "", recipe, flags=re.M))
    loaded = yaml.safe_load(plain)
    ok(loaded["package"]["name"] == "evenkeel" and "cffi" in loaded["requirements"]["run"], "packaging/conda/meta.yaml is YAML")
except ImportError:
    skip("packaging/conda/meta.yaml is YAML", "no yaml of Python here")

# ---- each file that is installed is in one package ----

PLACES = {"{bindir}": "usr/bin", "{datadir}": "usr/share", "{mandir}": "usr/share/man", "{includedir}": "usr/include",
          "{libdir}": "usr/lib/x", "{libdir_shared}": "usr/lib/x", "{py_platlib}": "usr/lib/python3/dist-packages",
          "{py_purelib}": "usr/lib/python3/dist-packages"}
plan = json.loads((pathlib.Path(BUILD) / "meson-info" / "intro-install_plan.json").read_text(encoding="utf-8"))
installed = set()
for group in plan.values():
    for file in group.values():
        place, _, rest = file["destination"].partition("/")
        if place != "{libdir_static}": # Debian's build has only the shared library
            installed.add(f"{PLACES.get(place, place)}/{rest}")
installed |= {"usr/lib/x/libevenkeel.so", "usr/lib/x/libevenkeel.so.0", f"usr/lib/x/libevenkeel.so.{version}"}


def claims(pattern, path):
    return fnmatch.fnmatch(path, pattern.rstrip("/")) or fnmatch.fnmatch(path, pattern.rstrip("/") + "/*")


debian = [(path.stem, line.split()[0]) for path in sorted((ROOT / "debian").glob("*.install"))
          for line in path.read_text().splitlines() if line and not line.startswith("#")]
wrong = [f"{path}: {[package for package, pattern in debian if claims(pattern, path)]}" for path in sorted(installed)
         if sum(claims(pattern, path) for _, pattern in debian) != 1]
ok(len(installed) > 20 and not wrong, "each installed file is in one Debian package", *wrong)
have_mpi, have_python = "usr/bin/evenkeel-mpi" in installed, any("dist-packages" in path for path in installed)
idle = [f"{package}: {pattern}" for package, pattern in debian if not any(claims(pattern, path) for path in installed)
        and (have_mpi or "mpi" not in package) and (have_python or "python" not in package)]
ok(not idle, "each line of debian/*.install has a file", *idle)
pages = {path.name for path in (ROOT / "docs" / "man").glob("*.1")}
missing = [page for page in pages if f"usr/share/man/man1/{page}" not in installed]
ok(pages and not missing, "the page of each command is installed", *missing)

if shutil.which("rpmspec"):
    command = ["rpmspec", "-P", "--with", "mpi", "-D", "_bindir /usr/bin", "-D", "_libdir /usr/lib/x", "-D", "_includedir /usr/include",
               "-D", "_mandir /usr/share/man", "-D", "_datadir /usr/share",
               "-D", "python3_sitearch /usr/lib/python3/dist-packages", str(ROOT / "packaging/evenkeel.spec")]
    read = subprocess.run(command, capture_output=True, text=True, check=False)
    ok(read.returncode == 0 and not read.stderr, "rpmspec reads the spec", read.stderr)
    sections = re.split(r"^%(files|changelog)\b.*\n", read.stdout, flags=re.M)
    rpm = []  # a package's patterns, and its exclusions
    for head, body in zip(sections[1::2], sections[2::2]):
        if head == "files":
            rpm.append(([line.lstrip("/") for line in body.splitlines() if line.startswith("/")],
                        [line.split()[1].lstrip("/") for line in body.splitlines() if line.startswith("%exclude")]))
    wrong = [path for path in sorted(installed)
             if sum(any(claims(p, path) for p in has) and not any(claims(p, path) for p in lacks) for has, lacks in rpm) != 1]
    ok(not wrong, "each installed file is in one RPM package", *wrong)
else:
    skip("rpmspec reads the spec", "no rpmspec here")
    skip("each installed file is in one RPM package", "no rpmspec here")

# ---- symbols of the library ----

exported = set(re.findall(r"^(ek_\w+)(?:\(\))?: exported$", text("tests/abi/soname-0"), re.M))
listed = re.findall(r"^ (ek_\w+)@EVENKEEL_0 ", text("debian/libevenkeel0.symbols"), re.M)
if os.environ.get("EK_UPDATE_GOLDEN"):
    head, symbols = [], {}
    for line in text("debian/libevenkeel0.symbols").splitlines():
        name = re.match(r" (ek_\w+)@", line)
        if not name:
            head.append(line)
        elif name.group(1) in exported:
            symbols[name.group(1)] = line
    for name in exported - symbols.keys():
        symbols[name] = f" {name}@EVENKEEL_0 {version}"
    listed = sorted(symbols)
    (ROOT / "debian/libevenkeel0.symbols").write_text("\n".join(head + [symbols[name] for name in listed]) + "\n")
differ = exported ^ set(listed)
ok(exported and not differ and listed == sorted(set(listed)),
   "debian/libevenkeel0.symbols has the exported symbols (EK_UPDATE_GOLDEN=1 adds them)", *sorted(differ))
print(f"1..{n}")
