"""Writes files of a folder as a C file for the library, in the order of their names. Meson brings the Python. The folder
itself is among what the output depends on, so that a new file needs no line anywhere.

    embed.py FOLDER HEADER WORD OUTPUT DEPFILE PATTERN...

HEADER declares `const ek__WORD ek__WORDs[]`, structs of the text and its size, and `ek__n_WORDs`.
"""

import pathlib
import sys


def as_c(texts, header, word):
    """Numbers rather than literals, whose length C limits."""
    lines = [f'#include "{header}"\n']
    for i, text in enumerate(texts):
        numbers = [','.join(map(str, text[at:at + 64])) for at in range(0, len(text), 64)]
        lines.append(f'static const unsigned char file_{i}[] = {{\n' + ',\n'.join(numbers) + '};')
    lines.append(f'const ek__{word} ek__{word}s[] = {{')
    lines += [f'    {{(const char *)file_{i}, sizeof file_{i}}},' for i in range(len(texts))]
    lines.append(f'}};\nconst int ek__n_{word}s = {len(texts)};\n')
    return '\n'.join(lines)


def main(folder, header, word, output, depfile, *patterns):
    folder = pathlib.Path(folder).resolve()
    paths = sorted(path for pattern in patterns for path in folder.glob(pattern))
    if len(paths) < len(patterns):
        sys.exit(f'no {" or ".join(patterns)} in {folder}')
    pathlib.Path(output).write_text(as_c([path.read_bytes() for path in paths], header, word), encoding='ascii')
    escaped = [str(path).replace(' ', '\\ ') for path in [folder] + paths]
    pathlib.Path(depfile).write_text(f'{output}: {" ".join(escaped)}\n', encoding='utf-8')


main(*sys.argv[1:])
