#!/bin/sh
# Tests traces read by several processes: the output is the same bytes as that of one, for shared files and for files on
# each process's own disk; permanently stopped processes are left out and named, when one is killed the launcher ends
# all; no output is partial; wrong use is reported in one sentence. Prints TAP.
#
#   tests/mpi/trace.sh PLAIN PLAIN_MPI SANITIZED_MPI
set -u
unset CDPATH
here=$(cd "$(dirname "$0")" && pwd)
. "$here/launch.sh"
plain=$(readlink -f "$1") mpi=$(readlink -f "$2") sanitized=$(readlink -f "$3")
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 2
says() { # FILE TEXT NAME
    grep -qF -- "$2" "$1"
    told=$?
    [ $told = 0 ] || sed 's/^/# /' "$1"
    ok $told "$3"
}

# A run of N ranks in one group, each with some kernels and collectives that it reaches at a time given by its number.
rank_file() { # RANK RANKS KERNELS
    awk -v rank="$1" -v world="$2" -v kernels="$3" 'BEGIN {
        printf "{\"schemaVersion\":1,\"distributedInfo\":{\"backend\":\"nccl\",\"rank\":%d,\"world_size\":%d},\"traceEvents\":[\n", rank, world
        t = 1000; for (i = 0; i < world; i++) members = members (i ? ", " : "") i
        for (step = 0; step < 3; step++) {
            begin = t
            for (k = 0; k < kernels; k++) {
                link++
                late = (k * 7 + step) % world == rank ? 0 : 3 + rank
                printf "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":9,\"tid\":9,\"ts\":%d,\"dur\":2,\"args\":{\"correlation\":%d}},\n", t - 4, link
                printf "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"gemm_%d\",\"pid\":0,\"tid\":7,\"ts\":%d,\"dur\":%d,\"args\":{\"stream\":7,\"correlation\":%d}},\n", k % 5, t, 20 + rank % 3, link
                if (k % 10 == 9)
                    printf "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"ncclDevKernel_AllReduce_Sum\",\"pid\":0,\"tid\":8,\"ts\":%d,\"dur\":%d,\"args\":{\"stream\":8,\"Collective name\":\"allreduce\",\"In msg nelems\":1024,\"Group size\":%d,\"dtype\":\"Float\",\"Process Group Name\":\"0\",\"Process Group Ranks\":\"[%s]\"}},\n", t + 22 + (20 - late), 20 + late, world, members
                t += 80
            }
            printf "{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"ProfilerStep#%d\",\"pid\":9,\"tid\":9,\"ts\":%d,\"dur\":%d}%s\n", step, begin - 8, t - begin, step < 2 ? "," : "]}"
        }
    }'
}
mkdir run
for r in 0 1 2 3 4 5 6 7 8; do rank_file $r 9 $((40 + 30 * (r % 4))) >run/rank$r.pt.trace.json; done

# ---- the same bytes ----
"$plain" trace run --format json >one 2>/dev/null
"$plain" trace run --csv one.csv >one.text 2>/dev/null
for k in 1 2 4 8 16; do
    launch $k "$mpi" trace run --format json --threads 1 >out 2>err
    same one out "$k processes say what one does"
done
launch 5 "$sanitized" trace run --csv five.csv --svg five.svg --jsonl five.jsonl >out 2>err
same one.text out "the text and"
diff -r one.csv five.csv >&2
ok $? "the tables, too, under sanitizers"
[ "$(wc -l <five.jsonl)" = 10 ]
ok $? "JSON by lines has one for the run and one for each rank"

# ---- files of each process's own ----
cat >own.sh <<END
#!/bin/sh
case \$1 in trace) shift; exec "$mpi" trace --local "$work/disk\${OMPI_COMM_WORLD_RANK:-0}/run" "\$@" ;; esac
END
chmod +x own.sh
for p in 0 1 2; do mkdir -p disk$p/run; done
for r in 0 1 2 3 4 5 6 7 8; do cp run/rank$r.pt.trace.json disk$((r % 3))/run/; done
without_paths() { sed -E 's#"path": "[^"]*/#"path": "#' "$1"; }
without_paths one >one.names
launch 3 ./own.sh trace --format json >out 2>err
without_paths out >out.names
same one.names out.names "each process reads its own disk with --local"
rm -r disk1
launch 3 ./own.sh trace --format json >out 2>err
says err "$work/disk1/run: warning: process 1: cannot be opened" "a process without its files is named"
[ "$(grep -c '"rank": [0-9],$' out)" -ge 1 ] && [ -s out ]
ok $? "and the other ranks are there"
launch 3 "$mpi" trace --local run --format json >out 2>err
says err 'was read from this file twice: give each part once, and --local only if' "shared files with --local are refused"

# ---- files that one process cannot reach, damaged ones ----
cat >blind.sh <<END
#!/bin/sh
# Process 1 does not see the files.
[ "\${OMPI_COMM_WORLD_RANK:-0}" != 1 ] || cd / || exit 9
exec "$mpi" "\$@"
END
chmod +x blind.sh
launch 4 ./blind.sh trace run --format json >out 2>err
same one out "what one process cannot open another reads"
cp -r run damaged
printf '{"traceEvents":[' >damaged/rank4.pt.trace.json
head -c 3000 run/rank5.pt.trace.json >damaged/rank5.pt.trace.json
"$plain" trace damaged --format json >out.one 2>err.one
launch 4 "$mpi" trace damaged --format json >out 2>err
same out.one out "damaged and cut ranks are as with one process"
grep 'rank[45]' err.one >err.one.told
grep 'rank[45]' err >err.told
same err.one.told err.told "and told of alike"

# ---- processes that stop or die ----
mkdir many
for r in $(seq 0 23); do rank_file "$r" 24 120 >many/rank$r.pt.trace.json; done
"$plain" trace many --format json >many.one 2>/dev/null
# A rank that comes through a pipe keeps the job waiting until the pipe is written to.
mkfifo pipe
cat run/rank1.pt.trace.json >pipe &
"$plain" trace many pipe --format json >many.pipe 2>/dev/null
for stops in 1 3; do
    begin=$(date +%s)
    launch 5 timeout 60 "$mpi" trace many pipe --format json --threads 1 --patience 2 >out 2>err &
    job=$!
    sleep 2
    signal_process STOP $stops "^$mpi trace many pipe"
    sleep 3.5
    timeout 20 sh -c 'cat run/rank1.pt.trace.json >pipe'
    wait $job
    took=$(($(date +%s) - begin))
    says err "process $stops on $(uname -n) has shown no sign of life for 2 s and is left out; others did its work" \
        "process $stops, which is stopped, is named"
    [ $took -lt 30 ]
    ok $? "within the time limit"
    same many.pipe out "and the answer is whole"
done
bad=0 whole=0
for i in $(seq "${EK_KILLS:-6}"); do
    rm -f killed.json
    # shellcheck disable=SC2030,SC2031
    (launch 4 "$mpi" trace many --jsonl killed.json --threads 1 --patience 2 >out 2>err; echo $? >code) &
    job=$!
    sleep "0.$(printf '%02d' $((i * 37 % 60)))"
    signal_process KILL $((i % 4)) "$mpi trace many --jsonl"
    wait $job
    if [ -e killed.json ]; then
        [ "$(wc -l <killed.json)" = 25 ] || bad=$((bad + 1))
        whole=$((whole + 1))
    elif [ "$(cat code)" = 0 ]; then
        bad=$((bad + 1))
    fi
    # Temporary files of a process that is killed stay; none has the name of the output.
done
[ $bad = 0 ]
ok $? "a process killed at any moment leaves a whole output ($whole of ${EK_KILLS:-6}) or none, and the launcher's error"

# ---- wrong use ----
"$mpi" trace run --local 2>err
says err '--local is for several processes: start evenkeel-mpi with mpirun or srun' "not under MPI"
"$plain" trace run --local 2>err
says err '--local is for several processes' "without MPI"
launch 2 "$mpi" trace merge run -o x 2>err
says err '`trace merge` runs as one process: leave out the launcher' "trace merge on several processes"
launch 2 "$mpi" lint run 2>err
says err '`lint` runs as one process, and 2 were started: leave out the launcher' "a command for one process"
[ "$(grep -c '^evenkeel: error' err)" = 1 ]
ok $? "once"
launch 3 "$mpi" trace /nowhere 2>err
says err '/nowhere: error: cannot be opened: No such file or directory' "nothing there"
# Another version on one node: the same program with another number in it.
sed 's/evenkeel %s, records/evenkeel !%s records/' "$mpi" >other && chmod +x other
cat >mixed.sh <<END
#!/bin/sh
if [ "\${OMPI_COMM_WORLD_RANK:-0}" = 2 ]; then exec "$work/other" "\$@"; else exec "$mpi" "\$@"; fi
END
chmod +x mixed.sh
launch 3 ./mixed.sh trace run 2>err
says err 'process 2 on ' "another program on one machine is named"
says err ': all machines need the same program' "with what to do"
# A process that cannot even begin, for an argument or a file that is wrong on its machine only.
cat >wrong.sh <<END
#!/bin/sh
if [ "\${OMPI_COMM_WORLD_RANK:-0}" = 1 ]; then exec "$mpi" "\$@" --top 0; else exec "$mpi" "\$@"; fi
END
chmod +x wrong.sh
launch 3 ./wrong.sh trace run >out 2>err
says err "process 1 on $(uname -n): --top must be" "a process that cannot take part is named at once"
launch 2 "$mpi" trace run --partial two.ekr 2>err
"$plain" trace --combine two.ekr --format json >out 2>err
same one out "processes write a partial result together"
echo "1..$n"
