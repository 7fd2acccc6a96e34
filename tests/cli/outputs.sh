#!/bin/sh
# Tests every option of every command that names an output: it goes through a link, keeps mode and owner, is whole or
# the old file when the disk is full, the folder cannot be written or a signal ends the command, overwrites no input,
# and is standard output for '-'. The options come from the commands' own tables (--complete=outputs): one that is not
# among the rows below fails. Prints TAP.
#
#   tests/cli/outputs.sh EVENKEEL
#
# EK_KILLS is the number of commands that a signal ends at a random moment (80), EK_SEED the seed of these moments (1).
set -u
unset CDPATH
# Below nohup signals are ignored, by programs that this starts as well, and a shell cannot undo that: env can.
if [ "${EK_SIGNALS:-}" != default ] && env --default-signal=HUP true 2>/dev/null; then
    EK_SIGNALS=default exec env --default-signal=HUP,INT,QUIT,PIPE,TERM sh "$0" "$@"
fi
unset EK_SIGNALS
root=$(cd "$(dirname "$0")/../.." && pwd)
evenkeel=$(readlink -f "$1")
kills=${EK_KILLS:-80}
number=0
failed=0
check() { # NAME WRONG
    number=$((number + 1))
    if [ -z "$2" ]; then
        echo "ok $number - $1"
    else
        failed=$((failed + 1))
        echo "not ok $number - $1"
        printf '%s\n' "$2" | head -n 40 | sed 's/^/# /'
    fi
}
skip() { # NAME WHY
    number=$((number + 1))
    echo "ok $number - $1 # SKIP $2"
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
mkdir "$work/bin" "$work/tmp" "$work/in" "$work/out" "$work/want"
ln -s "$evenkeel" "$work/bin/evenkeel"
PATH=$work/bin:$PATH
TMPDIR=$work/tmp
LC_ALL=C
TERM=dumb
export PATH TMPDIR LC_ALL TERM
cd "$work/in" || exit 2
data=$root/tests/data
cp -r "$root/examples/trace" trace
cp -r "$root/examples/run" run
cp -r "$root/examples/dryrun16" dryrun
cp "$root/examples/dryrun16_init.yaml" init16.yaml
cp "$root/examples/calibrate/all_reduce_perf.log" links.log
cp "$root/examples/silu_mul.ir" graph.ir
cp "$data/small_init.yaml" init.yaml
cp "$data/small_layers.json" layers.json
cp "$data/small_manual.yaml" manual.yaml
cp "$data/job/llama.yaml" job.yaml
cp "$data/train/crlf.yaml" train.yaml
printf 'mine:\n  offset: [[0, 0, 0], [0, 1, -1]]\n  recompute: [[1, 0, 0], [2, 1, 0]]\n  interleave_num: 2\n  micro_batch_num: 8\n' >plan.yaml
log=$(find dryrun -name '*.log' | sort | head -n 1)
events=$(find trace -name '*.json*' | sort | head -n 1)
chmod -R a+rX "$work"

# COMMAND|OPTION|an input|arguments
files="
balance|svg|init.yaml|init.yaml -s 4 -mb 6 -mem 1000 --quick --format json
balance|chrome-trace|init.yaml|init.yaml -s 4 -mb 6 -mem 1000 --quick --format json
balance|html|init.yaml|init.yaml -s 4 -mb 6 -mem 1000 --quick --format json
calibrate|o|links.log|links.log --start A100-80
calibrate|svg|links.log|links.log --start A100-80 -o /dev/null
calibrate|html|links.log|links.log --start A100-80 -o /dev/null
collect|o|$log|dryrun --init init16.yaml
convert|o|manual.yaml|manual.yaml --to megatron -s 6 --num-layers 12
diagnose|html|run/train.yaml|run
diagnose|o|run/train.yaml|run
dryrun-script|o|job.yaml|--train job.yaml 'python run.py --config {config}'
estimate|svg|job.yaml|job.yaml --device 910B
estimate|html|job.yaml|job.yaml --device 910B
guide|init-out|job.yaml|--apply job.yaml --stages 4 --full -o $work/out/rounds
ir|dot|graph.ir|graph.ir
memory|svg|job.yaml|job.yaml --device 910B
memory|html|job.yaml|job.yaml --device 910B
memory|layers-out|job.yaml|job.yaml --device 910B
plan|svg|job.yaml|job.yaml --device 910B --devices 4 --range vpp=1:1 --top 1 -q
plan|html|job.yaml|job.yaml --device 910B --devices 4 --range vpp=1:1 --top 1 -q
simulate|svg|manual.yaml|manual.yaml --layers layers.json -mb 12 --format json
simulate|chrome-trace|manual.yaml|manual.yaml --layers layers.json -mb 12 --format json
simulate|html|manual.yaml|manual.yaml --layers layers.json -mb 12 --format json
trace|layers-out|$events|trace
trace|jsonl|$events|trace
trace|partial|$events|trace
trace|svg|$events|trace
trace|database|$events|trace
trace|html|$events|trace
trace cut|o|$events|trace --rank 0
trace merge|o|$events|trace
view|o|manual.yaml|manual.yaml layers.json -mb 12
"
edits="
collect|init|init16.yaml|dryrun
convert|apply|train.yaml|plan.yaml
"
folders="
balance|lf|init.yaml -s 4 -mb 6 -mem 1000 --quick --format json -m kept
balance|o|init.yaml -s 4 -mb 6 -mem 1000 --quick
convert|lf|manual.yaml --to megatron -s 6 -mb 12 --init init.yaml -m kept
guide|o|--apply job.yaml --stages 4 --full
memory|log-dir|job.yaml
plan|write|job.yaml --device 910B --devices 4 --range vpp=1:1 --top 2 -q
simulate|lf|manual.yaml --init init.yaml -mb 12 --format json -m kept
simulate|o|manual.yaml --layers layers.json -mb 12
trace|csv|trace
"
# Written by a script that is not run here, by a server (cases view-serve-*), and by several processes (tests/mpi).
elsewhere='dryrun-script|logs
rehearse|lf
view|index'
files_elsewhere='rehearse|chrome-trace
rehearse|links-file'

# evenkeel COMMAND ARGUMENTS --OPTION VALUE, from a row and a value; rows have quoted words.
run() { # COMMAND OPTION ARGUMENTS VALUE
    dash=--
    [ ${#2} -gt 2 ] || dash=-
    eval "set -- evenkeel $1 $3 '$dash$2' '$4'"
    "$@"
}
each() { # ROWS FUNCTION: of the fields of every row
    # The rows are not standard input: a command may read that.
    while IFS='|' read -r one two three four <&9; do
        [ -z "$one" ] || $2 "$one" "$two" "$three" "$four"
    done 9<<END
$1
END
}
state() { stat -c '%a %u:%g' "$1"; }
left() { # other files that a command wrote
    find "$work/out" "$work/in" "$work/tmp" \( -name '.evenkeel*' -o -path "$work/tmp/*" -o -name '*.tmp' \) -print
}
clean() { rm -rf "$work/out" "$work/tmp" && mkdir "$work/out" "$work/tmp" && chmod 777 "$work/out" "$work/tmp"; }
as_nobody() { setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; }
own=$(id -u)
owner=$own:$(id -g)
[ "$own" != 0 ] || owner=12345:23456

# ---- the rows are all outputs ----

commands="$(evenkeel --help | sed -n 's/^ \{1,4\}\([a-z][a-z-]*\)  .*/\1/p')
trace cut
trace merge
ir diff"
outputs() { # KIND: "COMMAND|OPTION" of all options of that kind
    printf '%s\n' "$commands" | while IFS= read -r command; do
        # shellcheck disable=SC2086 # "trace cut" is two words
        evenkeel $command --complete=outputs | awk -F '\t' -v command="$command" -v kind="$1" \
            '$2 == kind { sub(/\|.*/, "", $1); print command "|" $1 }'
    done
}
names() { printf '%s\n' "$1" | sed -n 's/^\([^|]*|[^|]*\).*/\1/p' | sort; }
differ() { # WANTED GIVEN
    printf '%s\n' "$1" | sort >"$work/wanted"
    printf '%s\n' "$2" | sort | diff "$work/wanted" - | sed -n 's/^[<>]/&/p'
}
output_files=$(outputs file)
check 'every option that names an output file is tried' \
    "$(differ "$(names "$files"; echo "$files_elsewhere")" "$output_files")"
check 'every option that names a file to be changed is tried' "$(differ "$(names "$edits")" "$(outputs edited)")"
check 'every option that names an output folder is tried' \
    "$(differ "$(names "$folders"; echo "$elsewhere")" "$(outputs folder)")"

# ---- one file ----

# Before a name that could be guessed was taken, a link there led the output anywhere.
plant() { # FILE
    echo mine >"$work/victim"
    ln -s "$work/victim" "$1.tmp"
    shell=$(sh -c 'echo $$')
    for i in 1 2 3 4 5 6 7 8; do ln -s "$work/victim" "$1.$((shell + i)).tmp"; done
}
write_one() { # COMMAND OPTION INPUT ARGUMENTS
    clean
    target=$work/want/$(printf '%s' "$1.$2" | tr ' ' _)
    link=$work/out/link
    echo old >"$target"
    chmod 750 "$target" # the script of a dry run is made executable
    chown "$owner" "$target"
    before=$(state "$target")
    ln -s "$target" "$link"
    plant "$target"
    begin=$(date +%s%N)
    run "$1" "$2" "$4" "$link" >"$work/printed" 2>"$work/said"
    status=$?
    echo "$(($(date +%s%N) - begin)) $1|$2" >>"$work/times"
    rm -f "$target".*tmp
    [ $status -le 1 ] || { echo "$1 --$2: exit $status"; cat "$work/said"; }
    [ "$(cat "$target")" != old ] || echo "$1 --$2: nothing was written to the link's target"
    [ -L "$link" ] || echo "$1 --$2: the link is no link any more"
    [ "$(state "$target")" = "$before" ] || echo "$1 --$2: mode and owner $before became $(state "$target")"
    [ "$(cat "$work/victim")" = mine ] || echo "$1 --$2: a planted link was followed"
    left
    find "$work/want" -name '.evenkeel*' -print
}
: >"$work/times"
check 'outputs go through links, keep mode and owner, and follow no planted link' "$(each "$files" write_one)"

print_one() {
    clean
    run "$1" "$2" "$4" - >"$work/printed" 2>/dev/null
    status=$?
    [ $status -le 1 ] || echo "$1 --$2 -: exit $status"
    cmp -s "$work/printed" "$work/want/$(printf '%s' "$1.$2" | tr ' ' _)" || echo "$1 --$2 -: not what the file has, alone"
    [ ! -e ./- ] || { echo "$1 --$2 -: made a file of that name"; rm -rf ./-; }
}
check "for '-' an output is all that goes to standard output" "$(each "$files" print_one)"
what='a name of standard output is standard output'
stdout_name() { # not as root, which could replace it
    "$@" evenkeel ir graph.ir --dot /dev/stdout >"$work/dot" 2>&1
    cmp "$work/dot" "$work/want/ir.dot" 2>&1
}
if [ "$own" != 0 ]; then
    check "$what" "$(stdout_name env)"
elif as_nobody evenkeel --version >/dev/null 2>&1; then
    check "$what" "$(stdout_name as_nobody)"
else
    skip "$what" 'another user is needed'
fi

full_one() {
    clean
    run "$1" "$2" "$4" /dev/full >/dev/null 2>&1
    [ $? = 2 ] || echo "$1 --$2 /dev/full: no error"
    echo old >"$work/out/file"
    chmod 600 "$work/out/file"
    (ulimit -f 0 && run "$1" "$2" "$4" "$work/out/file" >/dev/null 2>&1)
    [ $? = 2 ] || echo "$1 --$2 on a full disk: no error"
    [ "$(cat "$work/out/file") $(stat -c %a "$work/out/file")" = 'old 600' ] || echo "$1 --$2 on a full disk: the old file is gone"
    left
}
check 'a full disk is an error, and the old file stays' "$(each "$files" full_one)"

# The tests of a row are the same code for all: the words are only for the command's page.
only_of() { # COMMAND, a row's COMMAND OPTION, WORD...
    [ "$1 html" = "$2 $3" ] || return 0
    shift 3
    echo "$@"
}
# A folder that cannot be written; a file that cannot, in one that can.
refused_one() {
    clean
    mkdir "$work/out/folder"
    echo old >"$work/out/folder/file"
    echo old >"$work/out/file"
    chmod 444 "$work/out/file"
    chmod 555 "$work/out/folder"
    for file in folder/file $(only_of simulate "$1" "$2" folder/new file); do
        run "$1" "$2" "$4" "$work/out/$file" >/dev/null 2>"$work/tmp/said"
        [ $? = 2 ] || echo "$1 --$2: no error for $file"
        grep -q "cannot write .*$file.*: Permission denied" "$work/tmp/said" || echo "$1 --$2 $file: $(cat "$work/tmp/said")"
    done
    rm -f "$work/tmp/said"
    [ "$(cat "$work/out/folder/file" "$work/out/file" | tr '\n' ' ')" = 'old old ' ] || echo "$1 --$2: an old file is gone"
    left
    chmod 755 "$work/out/folder"
}
what='what may not be written is refused, and stays'
if [ "$own" != 0 ]; then
    check "$what" "$(each "$files" refused_one)"
elif as_nobody evenkeel --version >/dev/null 2>&1; then
    check "$what" "$(
        # shellcheck disable=SC2317 # run() calls it
        evenkeel() { as_nobody "$work/bin/evenkeel" "$@"; }
        each "$files" refused_one)"
else
    skip "$what" 'root may write everything, and nobody may not run evenkeel'
fi

# ---- inputs and other outputs ----

cp -r "$work/in" "$work/kept"
input_one() {
    clean
    ln "$3" "$work/out/hard"
    ln -s "$work/in/$3" "$work/out/soft"
    for file in "$3" $(only_of simulate "$1" "$2" "$work/out/soft" "$work/out/hard"); do
        run "$1" "$2" "$4" "$file" >/dev/null 2>"$work/said"
        [ $? = 2 ] || echo "$1 --$2 $file: no error"
        grep -q "is an input.* and would be lost" "$work/said" || echo "$1 --$2 $file: $(cat "$work/said")"
    done
    diff -r "$work/kept" "$work/in"
}
check 'an output that is an input is refused, through links too' "$(each "$files" input_one)"

# Two outputs of a command: on standard output, on one name, through a link.
pair() { # COMMAND OPTION OTHER
    echo old >"$work/out/same"
    ln -sf same "$work/out/link"
    for names in '- -' "$work/out/new $work/out/../out/new" "$work/out/same $work/out/link"; do
        # shellcheck disable=SC2086 # two words
        set -- "$1" "$2" "$3" $names
        run "$1" "$3" "--$2='$4'" "$5" >/dev/null 2>"$work/said"
        [ $? = 2 ] || echo "$1 --$2 $4 --$3 $5: no error"
        grep -Eq 'standard output \(-\) takes one of|name the same file' "$work/said" || echo "$1 --$2 $4 --$3 $5: $(cat "$work/said")"
    done
    [ "$(cat "$work/out/same")" = old ] || echo "$1 --$2 --$3: the old file is gone"
}
pairs() { # COMMAND OPTION: with each later one of the command
    printf '%s\n' "$output_files" | sed "1,/^$1|$2\$/d" | while IFS='|' read -r command option; do
        [ "$command" = "$1" ] && pair "$1" "$2" "$option"
    done
}
clean
check 'two outputs of one command on one name are refused' "$(each "$output_files" pairs)"
check 'an output and what is printed do not go to one file' "$(
    # shellcheck disable=SC2094 # that is what is tried
    evenkeel ir graph.ir --dot "$work/out/dot" >"$work/out/dot" 2>"$work/said" && echo 'no error'
    grep -q 'names the file that standard output goes to' "$work/said" || cat "$work/said")"
on_stdout() { # COMMAND OPTION
    run "$1" "$2" '' - >/dev/null 2>"$work/said"
    [ $? = 2 ] || echo "$1 --$2 -: no error"
    grep -q 'names a folder, and several files cannot go to standard output' "$work/said" || echo "$1 --$2 -: $(cat "$work/said")"
    [ ! -e ./- ] || { echo "$1 --$2 -: made a folder of that name"; rm -rf ./-; }
}
check 'a folder cannot be standard output' "$(each "$(outputs folder)" on_stdout)"
check 'an output in a folder takes the place of no other one' "$(
    clean
    mkdir "$work/out/tables"
    evenkeel trace trace --csv "$work/out/tables" --svg "$work/out/tables/steps.csv" >/dev/null 2>"$work/said" && echo 'no error'
    grep -q 'already another output of this command' "$work/said" || cat "$work/said"
    evenkeel memory job.yaml --device 910B --log-dir "$work/out/new" --layers-out "$work/out/new/layers.json" >/dev/null 2>"$work/said" ||
        cat "$work/said")"
check 'a link to nothing is refused' "$(
    clean
    ln -s nothing "$work/out/link"
    evenkeel ir graph.ir --dot "$work/out/link" >/dev/null 2>"$work/said" && echo 'no error'
    grep -q 'link to nothing' "$work/said" || cat "$work/said"
    [ ! -e "$work/out/nothing" ] || echo 'written')"
check 'a file that is there below an input folder is refused when it is read, and a page is not' "$(
    rm -rf "$work/copy" && cp -r trace "$work/copy"
    for i in 1 2; do evenkeel trace "$work/copy" --html "$work/copy/page.html" --csv "$work/copy/tables" >/dev/null 2>&1 || echo "page $i: exit $?"; done
    evenkeel trace cut "$work/copy" --rank 0 -o "$work/copy/cut.json" 2>/dev/null || echo "cut: exit $?"
    evenkeel trace cut "$work/copy" --rank 0 -o "$work/copy/cut.json" 2>/dev/null && echo 'a trace that is read was replaced')"

for option in --help --version --complete 'ir --help'; do
    # shellcheck disable=SC2086 # two words
    check "evenkeel $option on a full device is an error" "$(
        evenkeel $option >/dev/full 2>"$work/said"
        [ $? = 2 ] || echo 'exit status'
        grep -q 'cannot write to standard output' "$work/said" || cat "$work/said")"
done

# ---- files that are changed ----

edit_one() { # COMMAND OPTION FILE ARGUMENTS
    clean
    cp "$3" "$work/out/file"
    chmod 600 "$work/out/file"
    chown "$owner" "$work/out/file"
    before=$(state "$work/out/file")
    ln -s file "$work/out/link"
    (ulimit -f 0 && run "$1" "$2" "$4" "$work/out/file" >/dev/null 2>&1)
    [ $? = 2 ] || echo "$1 --$2 on a full disk: no error"
    cmp "$3" "$work/out/file" 2>&1
    [ ! -e "$work/out/file.bak" ] || echo "$1 --$2: a full disk leaves a copy"
    if command -v prlimit >/dev/null; then # room for the copy, but not for the new file, which is longer
        size=$(stat -c %s "$3")
        # shellcheck disable=SC2317 # run() calls it
        evenkeel() { prlimit --fsize="$size" "$work/bin/evenkeel" "$@"; }
        run "$1" "$2" "$4" "$work/out/file" >/dev/null 2>&1
        [ $? = 2 ] || echo "$1 --$2 on a disk that gets full: no error"
        unset -f evenkeel
        cmp "$3" "$work/out/file" 2>&1
        [ ! -e "$work/out/file.bak" ] || echo "$1 --$2: a disk that gets full leaves a copy"
    fi
    left
    run "$1" "$2" "$4" "$work/out/link" >/dev/null 2>"$work/said" || cat "$work/said"
    cmp -s "$3" "$work/out/file" && echo "$1 --$2: nothing changed"
    cmp "$3" "$work/out/file.bak" 2>&1
    [ -L "$work/out/link" ] || echo "$1 --$2: the link is no link any more"
    for file in file file.bak; do
        [ "$(state "$work/out/$file")" = "$before" ] || echo "$1 --$2: $file has $(state "$work/out/$file"), not $before"
    done
    cp "$work/out/file" "$work/want/$1.$2"
    # -o that is the file, by another path: in place as well.
    clean
    cp "$3" "$work/out/file"
    run "$1" "$2" "$4 -o $work/out/../out/file" "$work/out/file" >/dev/null 2>&1 || echo "$1 --$2 -o itself: exit $?"
    cmp "$3" "$work/out/file.bak" 2>&1
    cmp "$work/want/$1.$2" "$work/out/file" 2>&1
    left
}
check 'a file that is changed and its copy keep mode and owner; a full disk changes nothing' "$(each "$edits" edit_one)"
what='a file whose owner cannot be kept is not changed'
if [ "$own" = 0 ] && as_nobody evenkeel --version >/dev/null 2>&1; then
    check "$what" "$(
        clean
        cp train.yaml "$work/out/file"
        chmod 666 "$work/out/file"
        as_nobody evenkeel convert plan.yaml --apply "$work/out/file" >/dev/null 2>"$work/said" && echo 'no error'
        grep -q 'owner and group cannot be kept' "$work/said" || cat "$work/said"
        cmp train.yaml "$work/out/file" 2>&1
        [ ! -e "$work/out/file.bak" ] || echo 'a copy is left'
        left)"
else
    skip "$what" 'another user is needed'
fi

# ---- signals ----

folder_one() { # COMMAND OPTION ARGUMENTS
    clean
    run "$1" "$2" "$3" "$work/out/made" >/dev/null 2>"$work/said" || cat "$work/said"
    rm -rf "$work/want/folder.$1.$2"
    mv "$work/out/made" "$work/want/folder.$1.$2" || echo "$1 --$2: no folder"
    left
}
check 'folders get their files' "$(each "$folders" folder_one)"

# At a random moment of the command: old or new, whole, with its mode; no other files left except after SIGKILL.
killed() { # SIGNAL SECONDS COMMAND OPTION ARGUMENTS VALUE
    signal=$1 seconds=$2
    shift 2
    # shellcheck disable=SC2317 # run() calls it
    evenkeel() { timeout -s "$signal" "$seconds" "$work/bin/evenkeel" "$@"; }
    run "$@" >/dev/null 2>&1
    unset -f evenkeel
    [ "$signal" = KILL ] || left
}
# Ctrl-C ends a search with the best so far: such a file is not the wanted one, but has its end.
whole() { # SIGNAL FILE WANTED
    if [ "$1" != INT ] || [ "$(tail -c 8 "$2")" != "$(tail -c 8 "$3")" ]; then
        cmp "$2" "$3" 2>&1
    fi
}
kill_file() { # SIGNAL SECONDS COMMAND OPTION INPUT ARGUMENTS
    clean
    echo old >"$work/out/file"
    chmod 750 "$work/out/file"
    chown "$owner" "$work/out/file"
    before=$(state "$work/out/file")
    killed "$1" "$2" "$3" "$4" "$6" "$work/out/file"
    [ "$(state "$work/out/file")" = "$before" ] || echo "mode and owner $before became $(state "$work/out/file")"
    want=$work/want/$(printf '%s' "$3.$4" | tr ' ' _)
    [ "$(head -c 4 "$work/out/file")" != old ] || return
    whole "$1" "$work/out/file" "$want"
}
kill_edit() { # SIGNAL SECONDS COMMAND OPTION FILE ARGUMENTS
    clean
    cp "$5" "$work/out/file"
    chmod 600 "$work/out/file"
    killed "$1" "$2" "$3" "$4" "$6" "$work/out/file"
    [ "$(stat -c %a "$work/out/file")" = 600 ] || echo 'the mode changed'
    cmp -s "$work/out/file" "$5" || { cmp "$work/out/file" "$work/want/$3.$4" && cmp "$work/out/file.bak" "$5"; } 2>&1
}
kill_folder() { # SIGNAL SECONDS COMMAND OPTION ARGUMENTS
    clean
    killed "$1" "$2" "$3" "$4" "$5" "$work/out/made"
    find "$work/out/made" -type f ! -name '.evenkeel*' 2>/dev/null | while IFS= read -r file; do
        whole "$1" "$file" "$work/want/folder.$3.$4/${file#"$work/out/made/"}"
    done
}
# "KIND|SIGNAL|SECONDS|row", at the seed's moments: up to a little more than such a command took above.
plan_kills() {
    {
        printf '%s\n' "$files" | sed -n 's/^./file|&/p'
        printf '%s\n' "$edits" | sed -n 's/^./edit|&/p'
        printf '%s\n' "$folders" | sed -n 's/^./folder|&/p'
    } | awk -F '|' -v n="$kills" -v seed="${EK_SEED:-1}" -v times="$work/times" '
        BEGIN { while ((getline line < times) > 0) { ns = line; sub(/ .*/, "", ns); sub(/^[^ ]* /, "", line); took[line] = ns / 1e9 } }
        { row[NR] = $0; time[NR] = ($2 "|" $3) in took ? took[$2 "|" $3] : 0.1 }
        END {
            srand(seed)
            split("TERM INT HUP KILL", signal, " ")
            for (i = 0; i < n; i++) {
                k = i % NR + 1
                kind = row[k]
                sub(/\|.*/, "", kind)
                rest = row[k]
                sub(/^[^|]*\|/, "", rest)
                printf "%s|%s|%.4f|%s\n", kind, signal[int(rand() * 4) + 1], 0.001 + 1.1 * rand() * time[k], rest
            }
        }'
}
check "$kills commands that a signal ended left the old files or the new ones" "$(
    plan_kills >"$work/kills"
    while IFS='|' read -r kind signal seconds one two three four <&9; do
        wrong=$(kill_"$kind" "$signal" "$seconds" "$one" "$two" "$three" "$four" 2>&1)
        [ -z "$wrong" ] || printf '%s --%s, %s after %s s: %s\n' "$one" "$two" "$signal" "$seconds" "$wrong"
    done 9<"$work/kills")"

# While a file is on its way, by every signal that ends a process and that a shell can name.
awk 'BEGIN {
    print "{\"traceEvents\": [{\"name\": \"process_name\", \"ph\": \"M\", \"pid\": 1, \"args\": {\"name\": \"Ascend Hardware\"}}"
    for (i = 0; i < 200000; i++) printf ", {\"name\": \"op%d\", \"ph\": \"X\", \"pid\": 1, \"tid\": 1, \"ts\": %d, \"dur\": 5}\n", i % 97, 10 * i
    print "]}" }' >"$work/large.json"
wait_for_left() {
    i=0
    until [ -n "$(left)" ] || [ $((i += 1)) -gt 2000 ]; do sleep 0.002; done
    [ -n "$(left)" ] || echo 'no temporary file was seen'
}
# A shell starts background commands with SIGINT and SIGQUIT ignored.
defaults='' ignored=''
if env --default-signal=QUIT true 2>/dev/null; then
    defaults='env --default-signal=INT,QUIT' ignored='INT QUIT'
fi
for signal in HUP $ignored PIPE ALRM TERM USR1 USR2 XCPU ABRT; do
    check "SIG$signal while a trace is cut leaves nothing" "$(
        clean
        # shellcheck disable=SC3045 # shells that have no such limit say so and go on
        ulimit -c 0
        $defaults evenkeel trace cut "$work/large.json" --from 0 -o "$work/out/cut.json" 2>"$work/said" &
        command=$!
        wait_for_left
        kill -s "$signal" $command
        wait $command
        status=$?
        [ $status != 0 ] || echo 'it went on to its end'
        [ "$(ls -A "$work/out")" = '' ] || ls -A "$work/out")"
done

# Other temporary files: standard input that is read twice, the index of a page's traces.
what='a signal leaves neither standard input in a file nor an index'
check "$what" "$(
    # shellcheck disable=SC3045 # as above
    ulimit -c 0
    for signal in TERM $ignored USR1; do
        clean
        mkfifo "$work/out/never"
        $defaults evenkeel memory - <"$work/out/never" 2>/dev/null &
        command=$!
        exec 8>"$work/out/never"
        wait_for_left
        kill -s "$signal" $command
        exec 8>&- # the end of its input: it waits no longer
        wait $command
        [ $? -gt 128 ] || echo "memory -, SIG$signal: it went on to its end"
        left | sed "s/^/memory -, SIG$signal: /"
        clean
        $defaults evenkeel trace "$work/large.json" --html "$work/out/page" >/dev/null 2>&1 &
        command=$!
        wait_for_left
        kill -s "$signal" $command
        wait $command && echo "trace --html, SIG$signal: it went on to its end"
        left | sed "s/^/trace --html, SIG$signal: /"
    done)"

echo "1..$number"
[ $failed = 0 ]
