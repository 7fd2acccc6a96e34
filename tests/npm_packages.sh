# shellcheck shell=sh disable=SC2034 # `why` is read by who calls
# Installs npm packages of tests, for scripts that read this file with `.`.

# Install the packages of FROM's package.json and package-lock.json below FOLDER, with the versions and checksums of the
# latter, unless it is installed. On failure `why` names the missing part in a few words, the log goes to stdout as
# TAP's comments, and the status is 1.
#
#   npm_packages FROM FOLDER PACKAGE
#
# PACKAGE is one of them and identifies a finished installation.
npm_packages() {
    why=
    if cmp -s "$1/package-lock.json" "$2/package-lock.json" && [ -d "$2/node_modules/$3" ]; then
        return 0
    fi
    command -v npm >/dev/null || { why='npm is not installed'; return 1; }
    mkdir -p "$2" || exit 2
    cp "$1/package.json" "$2/"
    cp "$1/package-lock.json" "$2/package-lock.json"
    if ! (cd "$2" && timeout 120 npm ci --omit=dev --no-audit --no-fund --ignore-scripts) >"$2/npm.log" 2>&1 </dev/null; then
        rm -f "$2/package-lock.json"
        sed 's/^/# /' "$2/npm.log"
        why="npm cannot install $3"
        return 1
    fi
}
