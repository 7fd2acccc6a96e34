N=${NNODES:-"2"}; B="${B:-"${A:-$((N * 2))}"}"
A="--num-layers 8 --hidden-size 64 --num-attention-heads 4 --seq-length 64 --micro-batch-size 1 --vocab-size 512"
if [ "$N" -eq 2 ] && ! [[ -z $B ]]; then
    A="$A --bf16"
elif test $N != 3; then
    A="$A --fp16"
else
    if [ -d x ]; then A="$A --swiglu"; fi
fi
run $A --data-parallel-size ${1:-1}
