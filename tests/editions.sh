#!/bin/sh
# Compares the Chinese editions of documents with the English ones: the same commands, marks, tables, links, headings and
# figures. Compares the figures of the README with docs/benchmarks.md, and the sizes of two documents with their limits.
# Prints TAP.
#
#   tests/editions.sh
set -u
unset CDPATH
cd "$(dirname "$0")/.." || exit 2
exec python3 - <<'PYTHON'
import os
import re

EDITIONS = [("README.md", "README.zh.md"), ("docs/tutorial.md", "docs/tutorial.zh.md")]
LIMITS = {"README.md": 6000, "README.zh.md": 6000, "docs/architecture.md": 13000}


def read(path):
    return open(path, encoding="utf-8").read()


def code(text):
    """Blocks with the mark before them; comments after commands are translated, so they are left out."""
    blocks = re.findall(r"(?:^(<!--[^\n]*-->)\n)?^```(.*?)^```$", text, flags=re.S | re.M)
    return [(mark, re.sub(r"[ \t]+# .*$", "", body, flags=re.M)) for mark, body in blocks]


def prose(text):
    text = re.sub(r"^```.*?^```$", "", text, flags=re.S | re.M)
    return re.sub(r"<!--.*?-->", "", text, flags=re.S)


def links(text):
    found = re.findall(r"\]\(([^()\s]+)\)", prose(text))
    return sorted(re.sub(r"\.zh\.md", ".md", l) for l in found)


def figures(text):
    text = re.sub(r"\]\([^()\s]+\)", "]", prose(text))
    return sorted(re.findall(r"(?<![\w.])\d+(?:\.\d+)?(?:[xX]\d+)?", text.replace("‑", "-")))


def spans(text):
    return sorted(re.findall(r"`([^`\n]+)`", prose(text)))


def shape(text):
    lines = prose(text).split("\n")
    return [("table", l.count("|")) if l.startswith("|") else ("heading", len(l) - len(l.lstrip("#")))
            for l in lines if l.startswith(("|", "#"))]


def difference(a, b):
    """What only one of two lists has."""
    a, b = list(a), list(b)
    for x in list(a):
        if x in b:
            a.remove(x)
            b.remove(x)
    return [f"only English: {x!r}" for x in a[:5]] + [f"only Chinese: {x!r}" for x in b[:5]]


results = []
for english, chinese in EDITIONS:
    e, c = read(english), read(chinese)
    # Each edition links to the other one at different places.
    own = {os.path.basename(english), "README.zh.md"}
    for name, of in [("commands", code), ("code spans", spans), ("figures", figures), ("tables and headings", shape)]:
        wrong = difference(of(e), of(c))
        if not wrong and of(e) != of(c):
            wrong = ["the order differs"]
        results.append((f"{chinese}: {name} of {english} ({len(of(e))})", wrong if len(of(e)) > 1 else ["hardly any"]))
    wrong = difference([l for l in links(e) if os.path.basename(l) not in own and l != "README.md"],
                       [l for l in links(c) if os.path.basename(l) not in own and l != "README.md"])
    results.append((f"{chinese}: links of {english}", wrong))
    untranslated = [l for l in prose(c).split("\n") if re.fullmatch(r"[A-Z][a-z]+(?: [a-z]+){4,}.*", l)]
    results.append((f"{chinese}: no line is English", untranslated))

# Rows of the README's table of errors: runs, mean error and worst error stand together in docs/benchmarks.md.
measured = []
for line in read("docs/benchmarks.md").split("\n"):
    line = line.replace(" %", "%")
    match = re.match(r"(\d+) rows: mean absolute error ([\d.]+)%, worst ([\d.]+)%", line)
    cells = [x.strip() for x in line.split("|")]
    if match:
        measured.append((match[1], float(match[2]), float(match[3])))
    elif len(cells) > 9 and cells[3].isdigit() and cells[5].endswith("%") and cells[8].endswith("%"):
        measured.append((cells[3], float(cells[5][:-1]), float(cells[8][:-1])))
rows = re.findall(r"^\| (.+) \| (\d+) \| \**([\d.]+) %\** \| \**([\d.]+) %\** \|$", read("README.md"), flags=re.M)
wrong = [f"{name}: {n} runs, {mean} %, {worst} % is no row of docs/benchmarks.md" for name, n, mean, worst in rows
         if not any(n == m[0] and abs(float(mean) - m[1]) <= 0.051 and abs(float(worst) - m[2]) <= 0.051 for m in measured)]
results.append((f"README.md: errors of predictions as in docs/benchmarks.md ({len(rows)})", wrong if len(rows) > 5 else ["no rows"]))
chosen = re.search(r"Of (\d+) measured choices of a layout it ranks the best first in (\d+)", read("README.md"))
best = re.search(r"^\| all \|[^|]*\| (\d+) \|.*\| (\d+) of (\d+) \|[^|]*\|$", read("docs/benchmarks.md"), flags=re.M)
results.append(("README.md: ranked choices as in docs/benchmarks.md",
                [] if chosen and best and (chosen[1], chosen[2]) == (best[1], best[2]) else [f"{chosen and chosen[0]}, {best and best[0]}"]))
for path, most in LIMITS.items():
    size = os.path.getsize(path)
    results.append((f"{path}: {size} of at most {most} bytes", [] if size <= most else ["too long"]))

failed = 0
for number, (name, problems) in enumerate(results, 1):
    print("not ok" if problems else "ok", number, "-", name)
    for problem in problems:
        print("#", problem)
    failed += bool(problems)
print(f"1..{len(results)}")
raise SystemExit(1 if failed else 0)
PYTHON
