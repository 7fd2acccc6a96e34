#!/bin/sh
# Checks every link of the documents: files exist, anchors are headings of their file, images exist. Also names of
# documents in sources, messages and recipes, and that documents with tested commands are tested. Prints TAP.
#
#   tests/doc_links.sh
set -u
unset CDPATH
cd "$(dirname "$0")/.." || exit 2
exec python3 - <<'PYTHON'
import os
import re
import subprocess
import urllib.parse

listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], capture_output=True, text=True, check=False).stdout.split("\n")
if len(listed) < 10:  # an archive has no git
    listed = [os.path.join(d, f)[2:] for d, _, fs in os.walk(".") for f in fs if not d.startswith(("./build", "./.git/"))]
listed = [f for f in listed if f and os.path.isfile(f) and not f.startswith("build")]
documents = sorted(f for f in listed if f.endswith(".md") and not f.startswith("tests/"))


def outside_code(text):
    """The text without fenced blocks and code spans, which have no links."""
    text = re.sub(r"^(```|~~~).*?^\1[ \t]*$", "", text, flags=re.S | re.M)
    text = re.sub(r"<!--.*?-->", "", text, flags=re.S)
    return re.sub(r"(`+)(?!`)(?:.|\n)*?(?<!`)\1(?!`)", lambda m: "x" if "\n\n" not in m.group(0) else m.group(0), text)


def anchors(path):
    """The anchors of a document's headings as code hosts make them: lower case, without punctuation, '-' for spaces."""
    text = re.sub(r"^(```|~~~).*?^\1[ \t]*$", "", open(path, encoding="utf-8").read(), flags=re.S | re.M)
    found, seen = set(), {}
    for heading in re.findall(r"^#{1,6} +(.*?)(?: +#+)?$", text, flags=re.M):
        heading = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading)
        name = re.sub(r"[^\w\- ]", "", heading.replace("`", "").lower()).replace(" ", "-")
        number = seen.get(name, 0)
        seen[name] = number + 1
        found.add(name if number == 0 else f"{name}-{number}")
    found.update(re.findall(r"<a (?:id|name)=\"([^\"]+)\"", text))
    return found


known = {}
wrong = []
count = 0
for document in documents:
    text = open(document, encoding="utf-8").read()
    plain = outside_code(text)
    targets = re.findall(r"\]\(([^()\s]*(?:\([^()]*\)[^()\s]*)*)(?: \"[^\"]*\")?\)", plain)
    targets += re.findall(r"^\[[^]]+\]: +(\S+)", plain, flags=re.M)
    targets += re.findall(r"(?:src|href)=\"([^\"]+)\"", plain)
    for target in targets:
        if re.match(r"[a-z]+:", target):
            continue
        count += 1
        path, _, anchor = target.partition("#")
        path = os.path.normpath(os.path.join(os.path.dirname(document), urllib.parse.unquote(path))) if path else document
        if not os.path.exists(path):
            wrong.append(f"{document}: no file {path}, of the link {target}")
        elif anchor and path.endswith(".md"):
            known.setdefault(path, anchors(path))
            if urllib.parse.unquote(anchor) not in known[path]:
                wrong.append(f"{document}: {path} has no heading of the link {target}")

names = []
sources = [f for f in listed if f.endswith((".c", ".h", ".py", ".sh", ".js", ".mjs", ".build", ".yaml", ".yml", ".1",
           ".toml", ".spec", ".json")) or f in ("run", "debian/rules")]
for source in sources:
    # Published runs name documents of their own sources.
    if source.startswith(("tests/data/", "tests/fuzz/corpus/", "tests/golden/", "examples/gallery/")):
        continue
    for name in re.findall(r"(?<![\w/.-])docs/[\w./-]*\.(?:md|ipynb|svg|png|1)\b", open(source, encoding="utf-8", errors="replace").read()):
        count += 1
        if not os.path.exists(name) and not name.endswith("COMMAND.1"):
            names.append(f"{source}: no file {name}")

reached, queue = set(), ["README.md"]
while queue:
    document = queue.pop()
    if document in reached:
        continue
    reached.add(document)
    for target in re.findall(r"\]\(([^()\s]+)\)", outside_code(open(document, encoding="utf-8").read())):
        path = target.partition("#")[0]
        if path and not re.match(r"[a-z]+:", path):
            path = os.path.normpath(os.path.join(os.path.dirname(document), urllib.parse.unquote(path)))
            if path.endswith(".md") and os.path.isfile(path):
                queue.append(path)
lost = [f"{d}: no chain of links from README.md ends here" for d in documents if d not in reached and (d.startswith("docs/") or "/" not in d)]

# A mark that nothing runs looks like a tested command. Chinese editions are compared with the English ones (editions.sh).
build = open("tests/meson.build", encoding="utf-8").read()
untested = [f"{d}: has commands marked as tested, and is not in the list of tests/meson.build" for d in documents
            if re.search(r"^<!-- test", open(d, encoding="utf-8").read(), flags=re.M) and f"'{d}'" not in build
            and d != "docs/tutorial.zh.md"]

failed = 0
checks = [(f"links: files and headings exist ({len(documents)} documents)", wrong if count > 100 else ["too few links were found"]),
          ("names of documents in sources and messages are files", names), ("every document is reached from README.md", lost),
          ("documents with tested commands are tested", untested)]
for number, (name, problems) in enumerate(checks, 1):
    print(("not ok" if problems else "ok"), number, "-", name)
    for problem in problems[:40]:
        print("#", problem)
    failed += bool(problems)
print(f"1..{len(checks)}")
raise SystemExit(1 if failed else 0)
PYTHON
