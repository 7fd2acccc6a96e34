#!/bin/sh
# Checks that every command and option of --help is in the command's man page and is completed by the installed shells,
# and that the page names no other. The output of write_option_docs.sh from the commands' tables must be in docs/man/
# and in docs/. Prints TAP.
#
#   tests/cli/options.sh EVENKEEL
set -u
unset CDPATH
# In Turkish an I is no i, and lists are sorted by the locale.
LC_ALL=C
export LC_ALL
root=$(cd "$(dirname "$0")/../.." && pwd)
completion=$root/cli/completion
number=0
failed=0
check() { # NAME MISSING
    number=$((number + 1))
    if [ -z "$2" ]; then
        echo "ok $number - $1"
    else
        failed=$((failed + 1))
        echo "not ok $number - $1"
        printf '# not there: %s\n' "$2"
    fi
}

options() { # COMMAND: its options as --help prints them at the start of a line, one a line
    # shellcheck disable=SC2086 # "trace merge" is two words
    "$evenkeel" $1 --help | sed -n 's/^  \(-[^ ,]*\(, -[^ ,]*\)*\).*/\1/p' | tr -s ', ' '\n' | sort -u
}

# The completions of a shell after `evenkeel WORD...`, one a line; the last word is the one being completed.
bash_completes() {
    bash -c '. "$0"; COMP_WORDS=(evenkeel "$@"); COMP_CWORD=$#; _evenkeel; printf "%s\n" "${COMPREPLY[@]}"' \
        "$completion/evenkeel.bash" "$@"
}
fish_completes() {
    # shellcheck disable=SC2016 # fish's own words
    fish --no-config -c 'source $argv[1]; complete -C "evenkeel $argv[2..]" | string replace -r "\t.*" ""' \
        "$completion/evenkeel.fish" "$@"
}
zsh_completes() {
    zsh -fc 'setopt extended_glob; compadd() { [[ $1 == -d ]] && shift 2; shift; print -l -- "$@" }
        _files() { print -l -- *(N) }
        words=(evenkeel "${@[2,-1]}"); CURRENT=$#words; file=$1; shift $#; . "$file"' zsh "$completion/_evenkeel" "$@"
}
missing_of() { # WORDS OFFERED
    for word in $1; do printf '%s\n' "$2" | grep -qxe "$word" || printf ' %s' "$word"; done
}

evenkeel=$(readlink -f "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
ln -s "$evenkeel" "$work/evenkeel"
PATH=$work:$PATH
export PATH
commands=$("$evenkeel" --help | sed -n 's/^ \{1,4\}\([a-z][a-z-]*\)  .*/\1/p')
check 'evenkeel --help lists commands' "$([ -n "$commands" ] || echo 'any command')"
for shell in bash fish zsh; do
    if ! command -v $shell >/dev/null; then
        number=$((number + 1))
        echo "ok $number - $shell completes # SKIP no $shell here"
        continue
    fi
    check "$shell completes commands" "$(missing_of "$commands" "$("${shell}_completes" '')")"
    check "$shell completes the words of a value" \
        "$(missing_of "text yaml json" "$("${shell}_completes" balance --format '')")"
    check "$shell completes a file in place of a command, and the options of files after it" \
        "$(cd "$root" && missing_of README.md "$("${shell}_completes" README)" && missing_of "--devices --global-batch" "$("${shell}_completes" README.md -)" && missing_of "text json" "$("${shell}_completes" README.md --format '')")"
    check "$shell completes schedules" "$(missing_of "auto 1f1b zb-v" "$("${shell}_completes" balance -schedule '')")"
    check "$shell completes rules of lint" \
        "$(missing_of "flash-attention full-batch" "$("${shell}_completes" lint --off '')")"
    offered=$(cd "$root" && "${shell}_completes" metrics --device '')
    check "$shell completes devices, and files of devices" "$(missing_of "H100 README.md" "$offered"; printf '%s\n' "$offered" | grep -qx "Atlas 800T A2" || echo Atlas 800T A2)"
    check "$shell offers no placeholder" "$(printf '%s\n' "$offered" | grep -xE 'NAME|FILE|DIR')"
    check "$shell completes folders and files of traces" \
        "$(cd "$root" && missing_of README.md "$("${shell}_completes" diagnose --trace README)")"
    check "$shell completes files after a flag" \
        "$(cd "$root" && missing_of README.md "$("${shell}_completes" balance --p2p-blocking README)")"
done
# Commands of commands have their options apart.
for command in $commands 'trace merge' 'trace cut' 'ir diff'; do
    words=$(options "$command")
    check "$command --help lists options" "$([ -n "$words" ] || echo 'any option')"
    # shellcheck disable=SC2086 # as above
    check "$command --help is no wider than 100 columns" \
        "$("$evenkeel" $command --help | sed '1,/^$/d; /^examples:/,$d' | grep '.\{101\}')"
    man=$root/docs/man/evenkeel-$(echo "$command" | tr ' ' -).1
    sed -n 's/^\.It Fl/Fl/p' "$man" 2>/dev/null | grep -o 'Fl [^ ]*' | sed 's/Fl /-/' | sort -u >"$work/page"
    # The page does not describe --help.
    check "man page of $command: the options of --help, no others" \
        "$(printf '%s\n' "$words" | grep -vxe -h -e --help | diff - "$work/page" | sed -n 's/^[<>] //p')"
    # shellcheck disable=SC2086 # as above
    check "bash completes options of $command" "$(missing_of "$words" "$(bash_completes $command -)")"
    if command -v fish >/dev/null; then
        # shellcheck disable=SC2086
        check "fish completes options of $command" "$(missing_of "$words" "$(fish_completes $command -)")"
    fi
    if command -v zsh >/dev/null; then
        # shellcheck disable=SC2086
        check "zsh completes options of $command" "$(missing_of "$words" "$(zsh_completes $command -)")"
    fi
done

check 'man pages and docs/: as tests/cli/write_option_docs.sh writes them' \
    "$("$root/tests/cli/write_option_docs.sh" "$evenkeel" --check 2>&1 | head -n 10)"
# The overview has a section for each command, and refers to the page of each.
missing=
for command in $commands; do
    grep -Eq "^\.Ss evenkeel(-mpi)? $command\$" "$root/docs/evenkeel.1" || missing="$missing $command"
done
for page in "$root"/docs/man/*.1; do
    page=$(basename "$page" .1)
    grep -Eq "^\.Xr $page 1( ,)?\$" "$root/docs/evenkeel.1" || missing="$missing $page(1)"
done
check 'evenkeel(1) has every command and refers to its page' "$missing"
if command -v mandoc >/dev/null; then
    check 'man pages: mandoc finds nothing' "$(mandoc -T lint -W style "$root"/docs/*.1 "$root"/docs/man/*.1 2>&1 |
        grep -v 'referenced manual not found' | head -n 10)"
else
    number=$((number + 1))
    echo "ok $number - man pages: mandoc finds nothing # SKIP no mandoc here"
fi
echo "1..$number"
[ $failed = 0 ]
