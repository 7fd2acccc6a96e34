#!/bin/sh
# Compares lint's reader of Python programs with Python's own tokenize and ast; skipped without python3.
#
#   tests/python/python_reader.sh DUMP_PYTHON
set -u
unset CDPATH
here=$(cd "$(dirname "$0")" && pwd)
[ $# = 1 ] || { sed -n '2,4s/^# \{0,1\}//p' "$0"; exit 2; }
if ! python3 -c 'import sys; sys.exit(sys.version_info < (3, 8))' 2>/dev/null; then
    echo '1..0 # SKIP python3 of 3.8 or later is not installed'
    exit 0
fi
exec python3 "$here/compare.py" "$1"
