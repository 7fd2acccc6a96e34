A='--num-layers 4 --hidden-size 64' B=$((A+(2*3)%4/0)) C=${D:-"$A"} E=`date` F="$F --bf16"
if [ "$1" == --help ]; then X=( ${A} "--x" # y )
); fi
run "$A" --pipeline-model-parallel-layout "E(t|)*3(tt|)*0mL" --moe-layer-freq ([0]*1+[1]*3) --seq-length=$((1<<4)) \
 --tensor-model-parallel-size ${TP%x} --recompute-modules $M core_attn
