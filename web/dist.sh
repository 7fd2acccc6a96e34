#!/bin/sh
# Puts the page into the tarball of a release as a C file, so that builds from it need no esbuild. Called by
# `meson dist`: dist.sh PYTHON embed.py ESBUILD.
set -eu
exec "$1" "$2" "$3" "$MESON_DIST_ROOT/web" "$MESON_DIST_ROOT/web/view_page.c" /dev/null
