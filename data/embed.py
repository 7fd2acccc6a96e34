"""Writes the device files as a C file for the library, in the order of their names. Meson brings the Python. The folder
itself is among what the output depends on, so that a new file needs no line anywhere."""

import pathlib
import sys


def as_c(texts):
    """Numbers rather than literals, whose length C limits."""
    lines = ['#include "cost/device_files.h"\n']
    for i, text in enumerate(texts):
        numbers = [','.join(map(str, text[at:at + 64])) for at in range(0, len(text), 64)]
        lines.append(f'static const unsigned char file_{i}[] = {{\n' + ',\n'.join(numbers) + '};')
    lines.append('const ek__device_file ek__device_files[] = {')
    lines += [f'    {{(const char *)file_{i}, sizeof file_{i}}},' for i in range(len(texts))]
    lines.append(f'}};\nconst int ek__n_device_files = {len(texts)};\n')
    return '\n'.join(lines)


def main(folder, output, depfile):
    folder = pathlib.Path(folder).resolve()
    paths = sorted(folder.glob('*.yaml'))
    if not paths:
        sys.exit(f'no device files in {folder}')
    pathlib.Path(output).write_text(as_c([path.read_bytes() for path in paths]), encoding='ascii')
    escaped = [str(path).replace(' ', '\\ ') for path in [folder] + paths]
    pathlib.Path(depfile).write_text(f'{output}: {" ".join(escaped)}\n', encoding='utf-8')


main(*sys.argv[1:])
