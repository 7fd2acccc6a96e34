#!/bin/sh
# Stands in for a simulated training run: ends its log as a dry run of MindSpore does, with the peak that the stage of
# RANK_ID would have.
#
#   RANK_SIZE=16384 RANK_ID=3072 sh stand_in_run.sh TRAIN.yaml
#
# The peak is n par + alive x (sum of layers x activations) + const, with the figures in MB that the dry run of the Llama
# of 175 billion parameters in the SAPP pipeline-balance documentation was fitted to. Reads offset and the recompute lists
# where they stand on one line, and each list once.
set -eu
awk -v rank="${RANK_ID:?}" -v ranks="${RANK_SIZE:?}" '
    function list(key, out,    i, n, text) {
        for (i = 0; i < lines && line[i] !~ key; i++);
        text = line[i]
        if (text !~ /\[.*\]/) { for (i = 0; i < stages; i++) out[i] = 0; return }
        sub(/^[^[]*\[/, "", text); sub(/\].*/, "", text)
        n = split(text, part, /, */)
        for (i = 0; i < n; i++) out[i] = part[i + 1] + 0
    }
    function least(a, b) { return a < b ? a : b }
    function over(a) { return a > 0 ? a : 0 }
    { sub(/#.*/, ""); line[lines++] = $0 }
    $1 == "pipeline_stage:" { stages = $2 }
    $1 == "num_layers:" && $NF > 0 { layers = $NF }
    END {
        list("^ *offset:", offset)
        list("^ *recompute:", full)
        list("feed_forward...?mul", select)
        list("select_comm_recompute:", comm)
        s = int(rank / (ranks / stages))
        n = int(layers / stages) + offset[s]
        both = over(least(select[s], comm[s]) - full[s])
        only_select = over(select[s] - full[s] - both)
        only_comm = over(comm[s] - full[s] - both)
        none = n - full[s] - both - only_select - only_comm
        peak = 1206 + 2217 * n + (stages - s) * (1002 * none + 783 * only_select + 695 * only_comm + 423 * both)
        peak += s == 0 ? 3408 : s == stages - 1 ? 4679 : 0
        print "simulated compilation of stage " s
        print "Device MOC memory size: 65536M"
        print "MindSpore Used memory size: 59392M"
        print "MindSpore memory base address: 0"
        printf "Used peak memory usage (without fragments): %dM\n", peak * 0.985
        printf "Actual peak memory usage (with fragments): %dM\n", peak
    }
' "${1:?give the training YAML}"
