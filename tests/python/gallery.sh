#!/bin/sh
# Checks the page that bench/gallery.py writes; skipped without python3.
#
#   tests/python/gallery.sh EVENKEEL
set -u
unset CDPATH
here=$(cd "$(dirname "$0")" && pwd)
[ $# = 1 ] || { sed -n '2,4s/^# \{0,1\}//p' "$0"; exit 2; }
if ! python3 -c 'import sys; sys.exit(sys.version_info < (3, 9))' 2>/dev/null; then
    echo '1..0 # SKIP python3 of 3.9 or later is not installed'
    exit 0
fi
exec python3 "$here/gallery.py" "$1"
