#!/bin/sh
# Tests packaging: the version is the same everywhere, the action and the hook for the linter work as documented, and
# ./run names the required packages where it cannot install them. Prints TAP.
#
#   tests/packaging.sh EVENKEEL
set -u
unset CDPATH
root=$(cd "$(dirname "$0")/.." && pwd)
evenkeel=$(readlink -f "$1")
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 2
n=0
ok() { # CODE NAME
    n=$((n + 1))
    if [ "$1" -eq 0 ]; then echo "ok $n - $2"; else echo "not ok $n - $2"; fi
}
version=$(sed -n "s/^ *version: '\(.*\)',/\1/p" "$root/meson.build")
[ -n "$version" ] && [ "$("$evenkeel" --version | sed 1q)" = "evenkeel $version" ]
ok $? 'the command has the version of meson.build'
[ "$(sed -n 's/^version: //p' "$root/CITATION.cff")" = "$version" ]
ok $? 'CITATION.cff has it, too'
[ "$(sed -n 's/^## \([0-9.]*\).*/\1/p' "$root/CHANGELOG.md" | sed 1q)" = "$version" ]
ok $? 'it is the newest one of CHANGELOG.md'
for command in $("$evenkeel" --help | sed -n '/^commands:/,/^$/s/^  \([a-z-]*\) .*/\1/p'); do
    sed -n '/^- Commands/,/^- `evenkeel-mpi/p' "$root/CHANGELOG.md" | grep -q "\`$command\`" || echo "$command"
done >missing
[ ! -s missing ]
ok $? "CHANGELOG.md names every command$(tr '\n' ' ' <missing)"

# The action's last step, as the runner has it: the lines below `run: |`.
mkdir -p action/build
ln -s "$evenkeel" action/build/evenkeel
awk 'found { sub(/^        /, ""); print } /^      run: \|/ { found = 1 }' "$root/action.yml" >step.sh
[ -s step.sh ]
ok $? 'the action has a step of several lines'
step() { # PATHS LEVEL SARIF [CONDITIONS]
    GITHUB_ACTION_PATH=$work/action EK_PATHS=$1 EK_LEVEL=$2 EK_SARIF=$3 EK_FAIL_ON=${4:-} sh -e step.sh >said 2>&1
}
mkdir files
cp "$root/examples/llama175b_train.yaml" files/train.yaml
step files/train.yaml warning lint.sarif
[ $? = 1 ] && grep -q '"version": "2.1.0"' lint.sarif && grep -q 'pipeline-bubble' lint.sarif
ok $? 'it fails for a warning, and writes SARIF before'
step 'files/train.yaml files' error ''
ok $? 'it passes where errors alone count, for several paths'
step files/train.yaml warning '' error && step files/train.yaml error lint.sarif 'error,full-batch>9'
ok $? 'conditions decide in place of the level'
step files/train.yaml error lint.sarif pipeline-bubble
[ $? = 1 ] && grep -q 'gate failed: there is 1 finding of pipeline-bubble' said
ok $? 'a condition that holds fails it, and says which'
step files/no.yaml warning lint.sarif
[ $? = 2 ]
ok $? 'it fails with the exit status of wrong input for a file that is not there'

# The hook gets the names of changed files that its pattern has.
entry=$(sed -n 's/^ *entry: evenkeel //p' "$root/.pre-commit-hooks.yaml")
pattern=$(sed -n 's/^ *files: //p' "$root/.pre-commit-hooks.yaml")
printf '%s\n' train.yaml run.sh train.py config.toml run.env | grep -cE "$pattern" >count
printf '%s\n' train.md train.yaml.bak Makefile | grep -cE "$pattern" >>count
[ "$(tr '\n' ' ' <count)" = '5 0 ' ]
ok $? 'the hook takes the files that the linter reads'
# shellcheck disable=SC2086 # words
"$evenkeel" $entry files/train.yaml >said 2>&1
[ $? = 1 ] && grep -q 'files/train.yaml:21:20: warning' said
ok $? 'and fails for a warning, with its place'

# ./run where nothing is installed and there is no apt-get, but this packager.
bare() { # PACKAGER
    rm -rf bin
    mkdir bin
    for tool in awk cat cut dirname env grep head id mktemp printf readlink sed sh tail; do
        ln -s "$(command -v $tool)" "bin/$tool"
    done
    [ -z "$1" ] || printf '#!/bin/sh\nexit 1\n' >"bin/$1"
    [ -z "$1" ] || chmod +x "bin/$1"
    PATH=$work/bin "$root/run" build >said 2>&1
    [ $? = 2 ] && [ "$(wc -l <said)" = 1 ]
}
bare dnf && grep -q 'as root, run: dnf install gcc gcc-c++ .*coin-or-Cbc-devel' said && ! grep -q 'not known' said
ok $? 'without apt-get ./run names the packages of dnf'
bare zypper && grep -q "zypper install .*'pkgconfig(cbc)' .*; and what Debian has as esbuild, whose name here is not known" said
ok $? 'those of zypper, quoted for a shell, and what has no name there'
bare conda && grep -q ' run: conda install -c conda-forge c-compiler cxx-compiler meson ' said && ! grep -q 'root\|libc6' said
ok $? 'those of conda, without root, and nothing that comes with others'
bare '' && grep -q 'these Debian packages, or what they bring: gcc ' said
ok $? 'and those of Debian where it knows no packager'
# The reference of the library: nothing that Doxygen warns of, and a page with the words of the header.
if command -v doxygen >/dev/null; then
    (cd "$root" && { cat docs/Doxyfile && echo "OUTPUT_DIRECTORY = $work/reference"; } | doxygen -) >said 2>&1
    [ ! -s said ] && grep -q 'predicts the peak memory of every pipeline stage' reference/html/memory_8h.html &&
        grep -q 'ek_memory_predict' reference/html/memory_8h.html
    ok $? "Doxygen makes a reference without a warning$(head -n 1 said)"
else
    n=$((n + 1))
    echo "ok $n - Doxygen makes a reference without a warning # SKIP no doxygen here"
fi
echo "1..$n"
