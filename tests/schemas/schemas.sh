#!/bin/sh
# Checks the command's output against its JSON Schemas with a validator of Debian's Python; skipped without it.
#
#   tests/schemas/schemas.sh EVENKEEL ROOT
set -u
unset CDPATH
here=$(cd "$(dirname "$0")" && pwd)
[ $# = 2 ] || { sed -n '2,4s/^# \{0,1\}//p' "$0"; exit 2; }
for python in /usr/bin/python3 python3; do
    "$python" -c 'import jsonschema' 2>/dev/null && exec "$python" -B "$here/schemas.py" "$1" "$2"
done
echo '1..0 # SKIP no python3 with the module jsonschema (Debian: python3-jsonschema)'
