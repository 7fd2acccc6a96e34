#!/bin/sh
# Every command and option that --help prints must be in the man page and in the completions, and the man page may not
# name one that --help does not know. Prints TAP.
#
#   tests/cli/options.sh EVENKEEL
set -u
unset CDPATH
root=$(cd "$(dirname "$0")/../.." && pwd)
man=$root/docs/evenkeel.1
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
    "$evenkeel" "$1" --help | sed -n 's/^  \(-[^ ,]*\(, -[^ ,]*\)*\).*/\1/p' | tr -s ', ' '\n' | sort -u
}

evenkeel=$(readlink -f "$1")
commands=$("$evenkeel" --help | sed -n 's/^ \{1,4\}\([a-z][a-z-]*\)  .*/\1/p')
check 'evenkeel --help lists commands' "$([ -n "$commands" ] || echo 'any command')"
known=
for command in $commands; do
    words=$(options "$command")
    check "$command --help lists options" "$([ -n "$words" ] || echo 'any option')"
    known="$known $words"
    missing=
    for word in $words; do grep -Eq "Fl ${word#-}( |\$)" "$man" || missing="$missing $word"; done
    check "man page: options of $command" "$missing"
    for file in evenkeel.bash _evenkeel evenkeel.fish; do
        missing=
        for word in $words; do
            case $file in
            *.fish)
                case $word in
                --*) pattern="-l ${word#--}( |\$)" ;;
                -?) pattern="-s ${word#-}( |\$)" ;;
                *) pattern="-o ${word#-}( |\$)" ;;
                esac
                ;;
            *) pattern="(^|[^-a-zA-Z0-9])$word([^-a-zA-Z0-9]|\$)" ;;
            esac
            grep -Eq -e "$pattern" "$completion/$file" || missing="$missing $word"
        done
        check "$file: options of $command" "$missing"
    done
done

extra=
# shellcheck disable=SC2013 # options have no spaces
for word in $(grep '^\.It Fl' "$man" | grep -o 'Fl [^ ]*' | sed 's/Fl /-/' | sort -u); do
    # shellcheck disable=SC2086,SC2116 # line ends become spaces
    case " $(echo $known) " in *" $word "*) ;; *) extra="$extra $word" ;; esac
done
check 'man page: no option that --help does not know' "$extra"
if command -v mandoc >/dev/null; then
    number=$((number + 1))
    if ! grep -q . "$man" || mandoc -T lint -W warning "$man" >/dev/null 2>&1; then
        echo "ok $number - man page: mandoc finds nothing"
    else
        failed=$((failed + 1))
        echo "not ok $number - man page: mandoc finds nothing"
        mandoc -T lint -W warning "$man" | sed 's/^/# /'
    fi
else
    number=$((number + 1))
    echo "ok $number # SKIP man page: no mandoc here"
fi
echo "1..$number"
[ $failed = 0 ]
