#!/bin/sh
# Checks the structure of the output of --format sarif with a program in Python; skipped without python3.
#
#   tests/sarif/structure.sh EVENKEEL ROOT
set -u
unset CDPATH
here=$(cd "$(dirname "$0")" && pwd)
[ $# = 2 ] || { sed -n '2,4s/^# \{0,1\}//p' "$0"; exit 2; }
for python in /usr/bin/python3 python3; do
    "$python" -c 'import sys; sys.exit(sys.version_info < (3, 8))' 2>/dev/null &&
        exec "$python" -B "$here/structure.py" "$1" "$2"
done
echo '1..0 # SKIP python3 of 3.8 or later is not installed'
