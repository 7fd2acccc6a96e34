#!/bin/sh
# Tests the parts of the viewer's page that need no browser: its modules in node, and its types with TypeScript's
# checker from npm. Prints TAP.
#
#   tests/web/web.sh FOLDER
#
# The checker is installed below FOLDER, with the version and checksum of package-lock.json. Without node all tests are
# skipped; without npm or the registry the types are.
set -u
unset CDPATH
here=$(cd "$(dirname "$0")" && pwd)
why=
# shellcheck disable=SC1091 # checked by itself
. "$here/../npm_packages.sh"
[ $# = 1 ] || { sed -n '2,8s/^# \{0,1\}//p' "$0"; exit 2; }
packages=$1

command -v node >/dev/null || { echo '1..0 # SKIP node is not installed'; exit 0; }
mkdir -p "$packages" || exit 2
packages=$(cd "$packages" && pwd)
log=$packages/node.tap
# A reporter by name is there from node 18.15 on, the page's test of streams too.
timeout 120 node --test --test-reporter=tap "$here" >"$log" 2>&1
bad=$?
if ! grep -q '^1\.\.' "$log"; then
    if node -e 'process.exit(Number(process.versions.node.split(".")[0]) < 20 ? 0 : 1)'; then
        echo "1..0 # SKIP node $(node --version) is too old"
        exit 0
    fi
    sed 's/^/# /' "$log"
    echo 'Bail out! node ran no test'
    exit 2
fi
# Only the cases, and the messages of those that failed.
n=$(grep -c -E '^(not )?ok ' "$log")
awk '/^(not )?ok / { print; failed = /^not /; next }
     failed && /^ / { print "#" $0 }' "$log"

n=$((n + 1))
if ! npm_packages "$here" "$packages" typescript; then
    echo "ok $n - the page's modules have the types of types.d.ts # SKIP $why"
elif "$packages/node_modules/.bin/tsc" -p "$here/tsconfig.json" >"$packages/types.log" 2>&1; then
    echo "ok $n - the page's modules have the types of types.d.ts"
else
    sed 's/^/# /' "$packages/types.log"
    echo "not ok $n - the page's modules have the types of types.d.ts"
    bad=1
fi
echo "1..$n"
exit $bad
