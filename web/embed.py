"""Builds the viewer's page from web/: esbuild bundles the scripts and the style sheet, which are put into the one HTML
file with an empty place for the document, and that is written as a C file for the library. Meson provides the Python.
The page's own script is allowed by its hash, so that no other one runs, with any content of a document."""

import base64
import hashlib
import json
import pathlib
import subprocess
import sys
import tempfile
import zlib

MOST_BYTES = 1_500_000  # of the page without a document
DOCUMENT = '<script type="application/json" id="document">'


def bundle(esbuild, web, folder):
    """The script and the style sheet as texts, and the files that they are built from."""
    command = [esbuild, 'main.js', 'style.css', '--bundle', '--minify', '--format=iife', '--charset=utf8',
               '--target=es2020', '--log-level=warning', f'--outdir={folder}', f'--metafile={folder}/inputs.json']
    if subprocess.run(command, cwd=web, check=False).returncode != 0:
        sys.exit('esbuild could not bundle the page')
    inputs = json.loads(pathlib.Path(folder, 'inputs.json').read_text(encoding='utf-8'))['inputs']
    texts = [pathlib.Path(folder, name).read_text(encoding='utf-8').strip() for name in ('main.js', 'style.css')]
    return texts[0], texts[1], [web / name for name in inputs]


def packed(of_language):
    """The texts of a language in the packed form of the page: keys of the page's own texts and of documents' texts, then
    the texts, which is the smallest order; base 85 without its one letter that HTML interprets."""
    parts = [of_language['page'], of_language['document'] | of_language['composed']]
    columns = [list(part) for part in parts] + [list(part.values()) for part in parts]
    text = json.dumps(columns, ensure_ascii=False, separators=(',', ':'))
    return base64.b85encode(zlib.compress(text.encode(), 9)).decode().replace('<', ',')


def texts(web):
    """An element for each language except English, and their files."""
    files = sorted(web.glob('texts_*.json'))
    elements = [f'<script type="text/plain" id="texts-{path.stem.removeprefix("texts_")}">'
                f'{packed(json.loads(path.read_text(encoding="utf-8")))}</script>' for path in files]
    return '\n'.join(elements), files


def page(template, script, style, languages):
    """The parts of the page before and after the document."""
    if '</script' in script.lower() or '<!--' in script or '</style' in style.lower():
        sys.exit('the script or the style sheet would end its element')
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    parts = template.replace('@DIGEST@', digest).split('@DOCUMENT@')
    if len(parts) != 2:
        sys.exit('index.html has not exactly one @DOCUMENT@')
    fill = lambda text: text.replace('@STYLE@', style).replace('@TEXTS@', languages).replace('@SCRIPT@', script)
    return (fill(parts[0]) + DOCUMENT).encode(), ('</script>' + fill(parts[1])).encode()


def as_c(before, after):
    """Numbers rather than a literal, whose length C limits."""
    page_bytes = before + after
    lines = [','.join(map(str, page_bytes[i:i + 64])) for i in range(0, len(page_bytes), 64)]
    return ('#include "view/shell.h"\n\n'
            f'const size_t ek__view_page_document = {len(before)};\n'
            f'const size_t ek__view_page_size = {len(page_bytes)};\n'
            f'const unsigned char ek__view_page[] = {{\n' + ',\n'.join(lines) + '};\n')


def main(esbuild, web, output, depfile):
    web = pathlib.Path(web).resolve()
    with tempfile.TemporaryDirectory() as folder:
        script, style, inputs = bundle(esbuild, web, folder)
    template = (web / 'index.html').read_text(encoding='utf-8')
    languages, files = texts(web)
    before, after = page(template, script, style, languages)
    if len(before) + len(after) > MOST_BYTES:
        sys.exit(f'the page has {len(before) + len(after)} bytes, more than {MOST_BYTES}')
    pathlib.Path(output).write_text(as_c(before, after), encoding='ascii')
    escaped = lambda path: str(path).replace(' ', '\\ ')
    needs = [escaped(path) for path in inputs + files + [web / 'index.html']]
    pathlib.Path(depfile).write_text(f'{escaped(output)}: {" ".join(needs)}\n', encoding='utf-8')


main(*sys.argv[1:])
