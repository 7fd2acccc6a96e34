#!/bin/sh
# Tests the viewer in a real browser: Debian's Chromium without a window (its headless shell, where installed), driven
# by playwright-core, which is installed from npm.
#
#   tests/browser/browser.sh EVENKEEL FOLDER [NAME...]
#   tests/browser/browser.sh --frames SECONDS EVENKEEL FOLDER
#   tests/browser/browser.sh --zooms TRACE EVENKEEL FOLDER
#
# The packages are installed below FOLDER, with the versions and checksums of package-lock.json; pages and the pictures
# of failed comparisons are written there. NAMEs run only the tests with one of them in their name. EK_UPDATE_GOLDEN=1
# writes the pictures in golden/ anew. Prints TAP; without node, npm, the registry or Chromium all tests are skipped.
# With --frames it measures panning for SECONDS per page instead, and prints one line per page; with --zooms it measures
# how fast an indexed trace is served.
set -u
unset CDPATH
here=$(cd "$(dirname "$0")" && pwd)
why=
# shellcheck disable=SC1091 # checked by itself
. "$here/../npm_packages.sh"
frames=
zooms=
if [ "${1:-}" = --zooms ] && [ $# -ge 2 ]; then
    zooms=$2
    shift 2
fi
if [ "${1:-}" = --frames ] && [ $# -ge 2 ]; then
    frames=$2
    shift 2
fi
[ $# -ge 2 ] || { sed -n '2,15s/^# \{0,1\}//p' "$0"; exit 2; }
evenkeel=$(readlink -f "$1")
[ -x "$evenkeel" ] || { echo "Bail out! $evenkeel is not there"; exit 2; }
folder=$2
shift 2

skip() {
    [ -n "$frames$zooms" ] && echo "Not measured: $*." || echo "1..0 # SKIP $*"
    exit 0
}

command -v node >/dev/null || skip 'node is not installed'
chromium=$(command -v chromium-headless-shell || command -v chromium || command -v chromium-browser) ||
    skip 'Chromium is not installed'
mkdir -p "$folder" || exit 2
folder=$(cd "$folder" && pwd)
npm_packages "$here" "$folder" playwright-core || skip "$why"

# Node searches modules beside the file that imports them, so the tests run from a copy beside the packages.
rm -rf "$folder/tests"
mkdir -p "$folder/tests"
cp "$here"/*.mjs "$folder/tests/"
export EK_EVENKEEL="$evenkeel" EK_CHROMIUM="$chromium" EK_FOLDER="$folder" EK_GOLDEN="$here/golden"
if [ -n "$frames" ]; then
    exec node "$folder/tests/frames.mjs" "$frames"
fi
if [ -n "$zooms" ]; then
    exec node "$folder/tests/zooms.mjs" "$zooms"
fi
exec node "$folder/tests/main.mjs" "$@"
