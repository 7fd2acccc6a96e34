"""Compares the tokens and calls that lint's reader finds in Python programs with Python's own tokenize and ast: all
tokens; of calls their places, arguments, functions and whether they are in a loop.

    compare.py DUMP_PYTHON [FILES]

Real programs are those of the standard library; random ones are put together from pieces that a tokenizer can get
wrong. Python before 3.12 gives an f-string as one string: then the reader's tokens inside count as one string too, and
random programs have no quotes of the same kind inside f-strings. Prints TAP.
"""
import ast
import glob
import io
import os
import random
import subprocess
import sys
import sysconfig
import tempfile
import tokenize
import warnings

warnings.simplefilter("ignore")
WHOLE_STRINGS = not hasattr(tokenize, "FSTRING_START")
SKIPPED = {tokenize.COMMENT, tokenize.NL, tokenize.ENCODING}


def reference(data):
    """[(kind, line, column in characters from 1, size in bytes)], or None where Python refuses the program."""
    try:
        compile(data, "x", "exec", dont_inherit=True)
        found = list(tokenize.tokenize(io.BytesIO(data).readline))
    except (SyntaxError, tokenize.TokenError, ValueError, RecursionError, MemoryError):
        return None
    if b"\r" in data.replace(b"\r\n", b""):
        return None  # tokenize knows lines by \n only
    out = []
    for t in found:
        if t.type in SKIPPED or (not WHOLE_STRINGS and t.type == tokenize.FSTRING_MIDDLE):
            continue
        kind = tokenize.tok_name[t.type]
        kind = {"FSTRING_START": "FSTART", "FSTRING_END": "FEND"}.get(kind, kind)
        if kind in ("INDENT", "DEDENT", "NEWLINE", "ENDMARKER"):
            out.append((kind, t.start[0]) if kind == "NEWLINE" else (kind,))
            continue
        column = t.start[1] + 1
        text = t.string.encode()
        size = len(text) if t.start[0] == t.end[0] else None
        out.append((kind, t.start[0], column, size))
    return out


class Calls(ast.NodeVisitor):
    """{(line, column after a call): (in a loop, positional arguments, function, keywords)}"""

    def __init__(self, data):
        self.lines = data.replace(b"\r\n", b"\n").split(b"\n")
        self.found, self.function, self.loop = {}, "-", False
        self.patterns = []  # case A(b): the reader takes them for calls, as documented in its header

    def within(self, nodes, function, loop):
        before = self.function, self.loop
        self.function, self.loop = function, loop
        for node in nodes:
            self.visit(node)
        self.function, self.loop = before

    def visit_FunctionDef(self, node):
        outer = [n for n in ast.iter_child_nodes(node) if n not in node.body]
        self.within(outer, self.function, self.loop)
        self.within(node.body, node.name, False)

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_ClassDef(self, node):
        outer = [n for n in ast.iter_child_nodes(node) if n not in node.body]
        self.within(outer, self.function, self.loop)
        self.within(node.body, self.function, False)

    def visit_For(self, node):
        self.within([node.target, node.iter] + node.orelse, self.function, self.loop)
        self.within(node.body, self.function, True)

    visit_AsyncFor = visit_For

    def visit_While(self, node):
        self.within(node.orelse, self.function, self.loop)
        self.within([node.test] + node.body, self.function, True)

    def visit_JoinedStr(self, node):
        if not WHOLE_STRINGS:  # before 3.12 places inside f-strings are not those of the file
            self.generic_visit(node)

    def place_behind(self, node):
        line = self.lines[node.end_lineno - 1]
        bom = line.startswith(b"\xef\xbb\xbf") and node.end_lineno == 1
        column = len((line[3:] if bom else line)[: node.end_col_offset].decode()) + 1
        return node.end_lineno, column

    def visit_MatchClass(self, node):
        self.patterns.append(self.place_behind(node))
        self.generic_visit(node)

    def visit_Call(self, node):
        keywords = tuple(k.arg for k in node.keywords if k.arg)
        self.found[self.place_behind(node)] = (self.loop, len(node.args), self.function, keywords)
        self.generic_visit(node)


def reference_calls(data):
    if b"\f" in data:
        return None  # ast restarts columns after a form feed
    visitor = Calls(data)
    visitor.visit(ast.parse(data))
    return visitor


def found_by_reader(process, path):
    process.stdin.write(path + "\n")
    process.stdin.flush()
    out, error, depth, calls = [], None, 0, {}
    for line in process.stdout:
        words = line.split()
        if words == ["."]:
            break
        if words[0] == "ERROR":
            error = line.strip()
            continue
        if words[0] == "CALL":
            if not (WHOLE_STRINGS and words[3] == "1"):
                calls[(int(words[1]), int(words[2]))] = (words[4] == "1", int(words[5]), words[6], tuple(words[7:]))
            continue
        kind, at, column, size = words[0], int(words[1]), int(words[2]), int(words[3])
        if WHOLE_STRINGS:
            if kind == "FSTART":
                depth += 1
                if depth == 1:
                    out.append(("STRING", at, column, None))
                continue
            if kind == "FEND":
                depth -= 1
                continue
            if depth:
                continue
        if kind in ("INDENT", "DEDENT", "ENDMARKER"):
            out.append((kind,))
        elif kind == "NEWLINE":
            out.append((kind, at))
        else:
            out.append((kind, at, column, size))
    return out, error, calls


def differ(wanted, got):
    if len(wanted) != len(got):
        return True
    for w, g in zip(wanted, got):
        if w[:3] != g[:3]:
            return True
        if len(w) > 3 and w[3] is not None and g[3] is not None and w[3] != g[3]:
            return True
    return False


NAMES = ["x", "self", "f", "rb", "fr", "b", "u", "\u00e9t\u00e9", "_", "match", "print", "_0", "br", "ur", "R"]
NUMBERS = ["0", "00", "1", "10_000", "0x1F", "0b1_0", "0o17", "1.", ".5", "1.5e-3", "1e5", "1E+5j", "3j", "0xF_F", "1_0.0_1"]
STRINGS = ["''", '""', "'a'", '"b\\"c"', "r'\\d'", 'b"x"', "Rb'\\''", '"""a\n  b"""', "'''it's'''", "u'\u00e9'", "'\\\n'",
           '"""\\""" """', "bR'''\n'''", "'#'"]
FORMATTED = ["f''", "f'{x}'", 'f"{x!r:>{y}}"', "rf'\\d{x}'", "f'{{}}{x:{y}.{z}}'", 'f"""a{\nx\n}b"""', "f'{x[1:2]}'",
             "f'{x:%H:%M}'", "fR'{x}\\''", "f'\\N{BULLET}{x}'", "f'{x!s}'", "f'{x=}'", "f'{(lambda: 1)()}'"]
SAME_QUOTES = ["f'{x['a']}'", "f'{f'{f'{1}'}'}'", 'f"{"}"}"', "f'{\nx\n}'", "f'{x:{'>'}}'"]
BINARY = ["+", "-", "*", "**", "/", "//", "%", "@", "<<", ">>", "&", "|", "^", "<", ">", "<=", ">=", "==", "!=", " and ",
          " or ", " in ", " is not ", " if x else "]
# tokenize before 3.10 ends a line that has no end differently.
ENDS = ["", "\n", "\n\n  ", "\n# end"] if sys.version_info >= (3, 10) else ["\n"]
ASSIGN = ["=", "+=", "-=", "*=", "/=", "//=", "**=", "%=", "@=", "&=", "|=", "^=", ">>=", "<<=", ": int ="]


def expression(r, depth=0):
    pick = r.random()
    if depth > 3 or pick < 0.45:
        return r.choice(r.choice([NAMES[:1] + NAMES[-5:], NUMBERS, [s for s in STRINGS if s[0] not in "bB" and s[1:2] not in "bB"],
                                  FORMATTED + ([] if WHOLE_STRINGS else SAME_QUOTES)]))
    if pick < 0.65:
        space = r.choice(["", " ", " \\\n  "])
        return "(%s)%s%s%s(%s)" % (expression(r, depth + 1), space, r.choice(BINARY), space, expression(r, depth + 1))
    if pick < 0.8:
        return "x.y(%s,%s k=%s)" % (expression(r, depth + 1), r.choice(["", " ", "\n", " # c(\n"]), expression(r, depth + 1))
    if pick < 0.9:
        return "[%s, %s]" % (expression(r, depth + 1), expression(r, depth + 1))
    return r.choice(["{%s: %s}", "(lambda a, b=%s: %s)", "x[%s:%s]", "(a := %s, *%s)"]) % (
        expression(r, depth + 1), expression(r, depth + 1))


def suite(r, indent, depth):
    lines = []
    for _ in range(r.randint(1, 4)):
        if r.random() < 0.2:
            lines.append(r.choice(["", "   ", "# note", "\t# note", indent + "# note '"]))
        pick = r.random()
        if depth < 4 and pick < 0.35:
            head = r.choice(["if %s:", "while %s:", "for x in %s:", "with %s as x:", "def f(a=%s):", "class C(%s):",
                             "async def g(a=%s, *b):", "try:\n%(i)s    pass\n%(i)sfinally: # %%s"])
            head = head.replace("%(i)s", indent).replace("%%s", "%s") if "finally" in head else head % expression(r)
            if "finally" in head:
                head = "try:\n%s    pass\n%sfinally:" % (indent, indent)
            deeper = indent + r.choice(["  ", "    ", "\t", " \t"]) if "\t" not in indent else indent + "\t"
            if r.random() < 0.2:
                lines.append(indent + head + " " + r.choice(["pass", "x = 1; y = 2;", "..."]))
            else:
                lines.append(indent + head)
                lines.extend(suite(r, deeper, depth + 1))
        elif pick < 0.7:
            lines.append(indent + r.choice(["x", "x.y", "x[0]"]) + r.choice(["", " "]) + r.choice(ASSIGN) + " " + expression(r))
        else:
            lines.append(indent + expression(r) + r.choice(["", "; x", " # c", ";"]))
    return lines


def random_program(r):
    text = r.choice(["", "\ufeff"]) * (r.random() < 0.2) + "\n".join(suite(r, "", 0)) + r.choice(ENDS)
    if r.random() < 0.1:
        text = text.replace("\n", "\r\n")
    return text.encode()


def compare(process, path, data, problems):
    """1 when Python takes the program."""
    wanted = reference(data)
    if wanted is None:
        return 0
    got, error, calls = found_by_reader(process, path)
    if error or differ(wanted, got):
        first = next((p for p in zip(wanted, got) if p[0][:3] != p[1][:3] or (len(p[0]) > 3 and None not in (p[0][3], p[1][3])
                                                                             and p[0] != p[1])), None)
        problems.append("%s: %s" % (path, error or "first difference: %s" % (first,)))
    visitor = None if error else reference_calls(data)
    if visitor:
        calls = {place: call for place, call in calls.items() if place not in visitor.patterns}
    if visitor and visitor.found != calls:
        wanted_calls = visitor.found
        other = sorted(set(wanted_calls.items()) ^ set(calls.items()))[:2]
        problems.append("%s: calls differ: %s" % (path, other))
    return 1


def main():
    process = subprocess.Popen([sys.argv[1]], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    library = sysconfig.get_paths()["stdlib"]
    real = sys.argv[2:] or sorted(glob.glob(library + "/*.py") + glob.glob(library + "/*/*.py")[::8])
    real = [p for p in real if "test_patma" not in p]  # match (x), y: looks like a call
    # The Python tokenize before 3.12 splits names with letters outside the basic plane, which Python takes.
    real = [p for p in real if "site-packages" not in p and not (WHOLE_STRINGS and "unicode_identifiers" in p)]
    print("1..2")
    status = 0
    problems, n = [], 0
    for path in real:
        with open(path, "rb") as f:
            data = f.read()
        try:
            data.decode("utf-8-sig")
        except UnicodeDecodeError:
            continue
        n += compare(process, path, data, problems)
    for p in problems[:5]:
        print("# " + p)
    good = n > 100 and not problems
    status |= not good
    print("%sok 1 - %d programs of the standard library have tokenize's tokens and ast's calls" % ("" if good else "not ", n))
    problems, n = [], 0
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(600):
            data = random_program(random.Random(seed))
            path = os.path.join(folder, "%d.py" % seed)
            with open(path, "wb") as f:
                f.write(data)
            n += compare(process, path, data, problems)
    for p in problems[:5]:
        print("# " + p)
    good = n > 400 and not problems
    status |= not good
    print("%sok 2 - %d random programs have tokenize's tokens and ast's calls" % ("" if good else "not ", n))
    process.stdin.close()
    process.wait()
    return status


if __name__ == "__main__":
    sys.exit(main())
