"""Writes the declarations of the public headers for cffi, and the C source of the extension module.

    cdef.py COMPILER INCLUDE OUT.c OUT.d

The headers are preprocessed and parsed; functions lose their bodies and constant expressions become numbers. So a
change of a header reaches Python automatically, and no struct is written twice. The compiler checks every struct's
layout against the header when the module is built.
"""
import os
import subprocess
import sys
import tempfile

import cffi
from pycparser import c_ast, c_generator, c_parser

# Types that the headers use of libc; cffi knows them by name.
LIBC = {
    "stdbool.h": "#define bool _Bool\n#define true 1\n#define false 0\n",
    "stddef.h": "typedef unsigned long size_t;\ntypedef long ptrdiff_t;\n#define NULL ((void *)0)\n",
    "stdint.h": "".join(f"typedef {kind} {word}int{bits}_t;\n" for bits, kind_of in ((8, "char"), (16, "short"),
                        (32, "int"), (64, "long")) for word, kind in (("", "signed " + kind_of),
                        ("u", "unsigned " + kind_of))),
    "stdio.h": "typedef unsigned long size_t;\ntypedef struct FILE FILE;\n#define NULL ((void *)0)\n",
    "math.h": "",
}

# Additions of the module to the headers.
HERE = os.path.dirname(os.path.abspath(__file__))


def shim(name):
    with open(os.path.join(HERE, name), encoding="utf-8") as source:
        return source.read()


OPERATIONS = {"+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b, "/": lambda a, b: a // b,
              "<<": lambda a, b: a << b, "|": lambda a, b: a | b}


class Constants(c_ast.NodeVisitor):
    """Gives every enumerator and every length of an array its number, in the order of the source."""

    def __init__(self):
        self.value = {}

    def number(self, node):
        if isinstance(node, c_ast.Constant):
            return int(node.value.rstrip("uUlL"), 0) if node.type != "char" else ord(node.value[1])
        if isinstance(node, c_ast.ID):
            return self.value[node.name]
        if isinstance(node, c_ast.BinaryOp):
            return OPERATIONS[node.op](self.number(node.left), self.number(node.right))
        if isinstance(node, c_ast.UnaryOp) and node.op == "-":
            return -self.number(node.expr)
        raise ValueError(f"{node.coord}: a constant of a kind that is not known here: {type(node).__name__}")

    def visit_Enum(self, node):
        following = 0
        for entry in node.values.enumerators if node.values else ():
            if entry.value is not None:
                following = self.number(entry.value)
            self.value[entry.name] = following
            entry.value = c_ast.Constant("int", str(following))
            following += 1

    def visit_ArrayDecl(self, node):
        self.visit(node.type)
        if node.dim is not None:
            node.dim = c_ast.Constant("int", str(self.number(node.dim)))


def preprocessed(compiler, include, target, depfile):
    with tempfile.TemporaryDirectory() as folder:
        for name, text in LIBC.items():
            with open(os.path.join(folder, name), "w", encoding="utf-8") as out:
                out.write(f"#pragma once\n{text}")
        return subprocess.run([*compiler, "-E", "-nostdinc", "-std=c11", "-I", folder, "-I", include, "-MMD", "-MT",
                               target, "-MF", depfile, "-x", "c", "-"],
                              input="#include <evenkeel/evenkeel.h>\n", stdout=subprocess.PIPE, check=True,
                              text=True).stdout


def declarations(compiler, include, target, depfile):
    """The text for ffi.cdef()."""
    text = "".join(line if not line.startswith("#pragma") else "\n"
                   for line in preprocessed(compiler, include, target, depfile).splitlines(keepends=True))
    # size_t of both headers
    seen = "typedef unsigned long size_t;"
    first = text.find(seen) + len(seen)
    text = text[:first] + text[first:].replace(seen, "")
    tree = c_parser.CParser().parse(text, "evenkeel.h")
    constants, generator, out = Constants(), c_generator.CGenerator(), []
    for node in tree.ext:
        if "evenkeel/" not in (node.coord.file or ""):
            continue
        declaration = node.decl if isinstance(node, c_ast.FuncDef) else node
        if isinstance(node, c_ast.FuncDef) or isinstance(node, c_ast.Decl):
            declaration.storage = [word for word in declaration.storage if word == "extern"]
            declaration.funcspec = []
        constants.visit(declaration)
        out.append(generator.visit(declaration) + ";\n")
    return "".join(out)


def main():
    *compiler, include, target, depfile = sys.argv[1:]
    ffi = cffi.FFI()
    own = shim("shim.h")
    ffi.cdef(declarations(compiler, include, target, depfile) + "void free(void *);\n" + own)
    ffi.set_source("evenkeel._evenkeel", f"#include <evenkeel/evenkeel.h>\n{own}\n{shim('shim.c')}")
    ffi.emit_c_code(target)


if __name__ == "__main__":
    main()
