#!/bin/sh
# Runs a cmocka test and prints its TAP with skipped cases as TAP has them. cmocka 1.1 prints 'not ok N # SKIP name',
# which a reader of TAP counts as a failure, and no reason; skip_because of unit/skip.h prints the reason on the line
# before, '# skipped: reason'. Both become 'ok N - name # SKIP reason'. The exit status is the test's. A test built for
# another machine is started by Meson's wrapper (MESON_EXE_WRAPPER).
#
#   tests/tap.sh TEST [ARGUMENT...]
set -u
join='/^# skipped: /{h;d;}
/^not ok [0-9]* # SKIP /{
s/^not ok \([0-9]*\) # SKIP \(.*\)/ok \1 - \2 # SKIP/
G
s/\n\(# skipped:\)\{0,1\}//
x
s/.*//
x
}'
# shellcheck disable=SC2086 # a command and its arguments
status=$({ { ${MESON_EXE_WRAPPER:-} "$@"; echo $? >&3; } | sed "$join" >&4; } 3>&1) 4>&1
exit "$status"
