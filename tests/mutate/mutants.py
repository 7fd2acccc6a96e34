"""Lists the mutants of C files: the possible changes of one token, and the equivalent ones.

A file is cut into tokens; no parser is needed, because a change that does not compile is replaced by another. Not
changed are: comments, strings and preprocessor lines; assertions, which check contracts and have no effect of their
own; enumerations and the sizes of arrays, where one more is no fault; statements and functions that only release
something: a missing release is visible to a sanitizer, but not in a result.
"""
import bisect
import re
from collections import defaultdict, namedtuple

# file, line (from 1), old and new text of the changed lines, start and end of the change, its text, in_function
Mutant = namedtuple("Mutant", "file line old new start end text in_function")

TOKEN = re.compile(
    r"(?P<skip>\s+|/\*.*?\*/|//[^\n]*|^[ \t]*\#(?:\\\n|/\*.*?\*/|[^\n])*)"
    r"|(?P<text>\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])+')"
    r"|(?P<number>\.?[0-9](?:[eEpP][+-]|[\w.])*)"
    r"|(?P<name>[A-Za-z_]\w*)"
    r"|(?P<mark><<=|>>=|\.\.\.|->|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|.)",
    re.DOTALL | re.MULTILINE)
OPPOSITE = {"(": ")", "[": "]", "{": "}"}
COMPARISONS = {"<": ("<=", ">="), "<=": ("<", ">"), ">": (">=", "<="), ">=": (">", "<"), "==": ("!=",), "!=": ("==",)}
ARITHMETIC = {"+": "-", "-": "+", "*": "/", "/": "*", "%": "/"}
ASSIGNED = {"+=": "-=", "-=": "+=", "*=": "/=", "/=": "*=", "++": "--", "--": "++", "&&": "||", "||": "&&"}
NO_STATEMENT = frozenset(
    "return if for while do switch case default goto else typedef static const struct enum union extern".split())
RELEASES = re.compile(r"(^|_)(free|clear|close|fclose|gzclose|closedir|munmap|unlock|destroy|delete|remove|unlink)$")
CHECKS = frozenset(("assert", "static_assert", "_Static_assert"))
NO_VALUE_TO_DROP = frozenset(("0", "NULL", "true", "false"))


class Tokens:
    """The tokens of a file that mean something, with the bracket that each bracket belongs to."""

    def __init__(self, text):
        self.kind, self.text, self.start = [], [], []
        for match in TOKEN.finditer(text):
            if match.lastgroup != "skip":
                self.kind.append(match.lastgroup)
                self.text.append(match.group())
                self.start.append(match.start())
        self.match = [None] * len(self.text)
        self.in_function = [False] * len(self.text)
        self.depth = [0] * len(self.text)  # of ( and [ inside the innermost {
        self._match_brackets()

    def _match_brackets(self):
        stack, function, depth = [], False, 0
        for i, token in enumerate(self.text):
            if token in OPPOSITE:
                stack.append((i, function, depth))
                function = function or (token == "{" and i > 0 and self.text[i - 1] == ")")
                depth = 0 if token == "{" else depth + 1
            elif stack and token == OPPOSITE[self.text[stack[-1][0]]]:
                opened, function, depth = stack.pop()
                self.match[opened], self.match[i] = i, opened
            self.in_function[i], self.depth[i] = function, depth

    def at(self, i):
        return self.text[i] if 0 <= i < len(self.text) else ""

    def end(self, i):
        return self.start[i] + len(self.text[i])


def struct_siblings(texts):
    """Members that some struct declares together, such as forward and backward of 'double forward, backward;'."""
    siblings = defaultdict(set)
    declaration = re.compile(r"^\s*(?:const |unsigned |struct |enum )*\w+\s+(\w+(?:, \w+)+);", re.MULTILINE)
    for text in texts:
        for body in re.findall(r"\bstruct\b[^;{}()]*\{([^{}]*)\}", re.sub(r"/\*.*?\*/|//[^\n]*", "", text, flags=re.DOTALL)):
            for declared in declaration.findall(body):
                names = declared.split(", ")
                for left, right in zip(names, names[1:]):
                    siblings[left].add(right)
                    siblings[right].add(left)
    return siblings


def changed_number(text):
    """Other values of a constant: one off, or the double of a fraction."""
    match = re.fullmatch(r"(0[xX][0-9a-fA-F]+|[0-9]+)([uUlL]*)", text)
    if match:
        digits = match.group(1)
        base = 16 if digits[:2].lower() == "0x" else 8 if len(digits) > 1 and digits[0] == "0" else 10
        value = int(digits, base)
        return [str(other) + match.group(2) for other in ((1,) if value == 0 else (value - 1, value + 1))]
    try:
        value = float(text.rstrip("fF"))
    except ValueError:
        return []
    return ["1.0"] if value == 0 else ["0.0", "2.0"] if value == 1 else [f"(2 * {text})"]


def edits(tokens, siblings):
    """Every change of one token: (kind, first token, last token, new text)."""
    excluded = set()
    for i, token in enumerate(tokens.text):
        after = i + 1
        if token == "{" and tokens.at(i - 1) == ")" and tokens.match[i] and not tokens.in_function[i - 1]:
            name = tokens.match[i - 1] - 1  # of a function
            if RELEASES.search(tokens.at(name)):
                excluded.update(range(i, tokens.match[i] + 1))
        if token in CHECKS and tokens.at(after) == "(" and tokens.match[after]:
            excluded.update(range(i, tokens.match[after] + 1))
        if token == "enum":
            while tokens.at(after) not in ("{", ";", ")", ",", "*", "=", ""):
                after += 1
            if tokens.at(after) == "{" and tokens.match[after]:
                excluded.update(range(after, tokens.match[after] + 1))
    for i, token in enumerate(tokens.text):
        if i in excluded:
            continue
        kind, before, after = tokens.kind[i], i - 1, i + 1
        binary = i > 0 and (tokens.kind[before] in ("name", "number") and tokens.text[before] not in ("return", "case", "sizeof")
                            or tokens.text[before] in (")", "]"))
        if token in ARITHMETIC and binary:
            yield "arithmetic", i, i, ARITHMETIC[token]
        elif token in ASSIGNED:
            yield "logic" if token in ("&&", "||") else "arithmetic", i, i, ASSIGNED[token]
        elif token in COMPARISONS:
            for other in COMPARISONS[token]:
                yield "comparison", i, i, other
        elif token == "!":
            yield "negation", i, i, ""
        elif token in ("if", "while") and tokens.at(after) == "(" and tokens.match[after]:
            yield "negation", after, tokens.match[after], None
        elif kind == "number":
            array = tokens.at(before) == "[" and tokens.at(after) == "]" and \
                (tokens.kind[i - 3] == "name" and tokens.text[i - 3] not in NO_STATEMENT or tokens.text[i - 3] == "*")
            if not array:
                for other in changed_number(token):
                    yield "constant", i, i, other
        elif token in ("true", "false"):
            yield "constant", i, i, "false" if token == "true" else "true"
        elif kind == "name" and tokens.at(before) in (".", "->") and token in siblings:
            for other in sorted(siblings[token]):
                yield "member", i, i, other
        if token == "return" and tokens.at(after) not in (";", ""):
            last = after
            while tokens.at(last) not in (";", ""):
                last = (tokens.match[last] or last) + 1
            if last > after + 1 or tokens.text[after] not in NO_VALUE_TO_DROP:
                yield "return", after, last - 1, "0"
        yield from dropped_statement(tokens, i)


def dropped_statement(tokens, i):
    if not tokens.in_function[i] or tokens.depth[i] or tokens.kind[i] != "name" and tokens.text[i] not in ("*", "++", "--", "("):
        return
    before = tokens.at(i - 1)
    if before == ")":
        opened = tokens.match[i - 1]
        if opened is None or tokens.at(opened - 1) not in ("if", "for", "while", "switch"):
            return
    elif before not in (";", "{", "}", "else", ":"):
        return
    last = i
    while tokens.at(last) not in (";", ""):
        if tokens.text[last] == "}":
            return
        last = (tokens.match[last] or last) + 1
    if tokens.text[i] in NO_STATEMENT or tokens.at(last) != ";" or tokens.at(i + 1) == ":":
        return
    called = next((j for j in range(i, last) if tokens.text[j] == "("), None)
    if called is not None and (RELEASES.search(tokens.at(called - 1)) or tokens.at(called - 1) in CHECKS):
        return
    if tokens.text[i] == "(" and tokens.at(i + 1) == "void":
        return  # a value that is not used
    yield "statement", i, last - 1, ""


def one_line(text):
    return " ".join(text.split())


def of_file(path, text, siblings):
    """All mutants of a file: line -> kind -> list."""
    tokens = Tokens(text)
    line_starts = [0] + [match.end() for match in re.finditer("\n", text)]
    found = defaultdict(lambda: defaultdict(list))
    for kind, first, last, new in edits(tokens, siblings):
        start, end = tokens.start[first], tokens.end(last)
        old = text[start:end]
        if new is None:  # a condition with its brackets
            new = "(!" + old + ")"
        new += "\n" * old.count("\n")  # all other lines keep their number
        line = bisect.bisect_right(line_starts, start)
        left = line_starts[line - 1]
        right = text.find("\n", end)
        right = len(text) if right < 0 else right
        whole, changed = text[left:right], text[left:start] + new + text[end:right]
        if old != new:
            found[line][kind].append(
                Mutant(path, line, one_line(whole), one_line(changed), start, end, new, tokens.in_function[first]))
    return found


def read_list(path, places=None):
    """Mutants in a list: (file, old, new) -> reason or None. A mutant is a line 'FILE[:LINE]: OLD -> NEW', its reason the
    indented lines after it. `places`: a dictionary that takes the numbers of the lines, by the same."""
    known, last = {}, None
    with open(path, encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip() or line.startswith("#"):
                continue
            if line[0].isspace():
                if last is None:
                    raise SystemExit(f"mutate: {path}:{number}: a reason without a mutant before it")
                known[last] = one_line((known[last] or "") + " " + line)
                continue
            match = re.fullmatch(r"([^\s:]+)(?::(\d+))?: (.*?)(?:  \[.*\])?", line.rstrip())
            halves = match.group(3).split(" -> ") if match else []
            if len(halves) != 2:
                raise SystemExit(f"mutate: {path}:{number}: not 'FILE: OLD -> NEW'")
            last = (match.group(1), halves[0].strip(), halves[1].strip())
            known[last] = None
            if places is not None and match.group(2):
                places.setdefault(last, set()).add(int(match.group(2)))
    return known
