# bash completion for evenkeel

_evenkeel() {
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} options
    COMPREPLY=()
    if [ "$COMP_CWORD" = 1 ]; then
        mapfile -t COMPREPLY < <(compgen -W 'balance collect simulate --help --version' -- "$word")
        return
    fi
    options='--init --layers -lf --layer-folder --layer_folder -m --model-name --model_name --time -s --stages
        --stage -i --interleave --interleave_degree -mb --micro-batches --micro_batch -lm --less-memory
        --less_memory --schedule --list-schedules --activation-limit --p2p-time --p2p-blocking --stage-memory --stage-speed --p2p-edges
        --stages-per-node --p2p-inter --micro-batch-cost --recompute-transient --seq --seq_split_num --train --mem
        --max-memory --max_memory --format -o --output --output_folder --svg --chrome-trace -h --help'
    if [ "${COMP_WORDS[1]}" = balance ]; then
        options="$options --sweep --min-layers --fix --forbid -t --time-limit --time_limit --gap --solver --threads --seed --naive --simulate-naive
        --simulate_naive --manual --manual-config --manual_config"
    elif [ "${COMP_WORDS[1]}" = collect ]; then
        options='--which -s --stages --stage --allow-missing --init -o --output --format -h --help'
    else
        options="$options --uniform"
    fi
    if [ "${COMP_WORDS[1]}" = collect ] && { [ "$before" = -o ] || [ "$before" = --output ] || [ "$before" = -output ]; }; then
        mapfile -t COMPREPLY < <(compgen -f -- "$word") # a file here, a folder elsewhere
        return
    fi
    case $before in
    -which | --which)
        mapfile -t COMPREPLY < <(compgen -W 'actual used' -- "$word")
        return
        ;;
    -schedule | --schedule)
        mapfile -t COMPREPLY < <(compgen -W "auto
            $(evenkeel simulate --list-schedules 2>/dev/null | awk 'NR > 1 { print $1 }')" -- "$word")
        return
        ;;
    -solver | --solver)
        mapfile -t COMPREPLY < <(compgen -W 'staged anneal branch milp exhaustive' -- "$word")
        return
        ;;
    -forbid | --forbid)
        mapfile -t COMPREPLY < <(compgen -W 'none select comm both full' -- "$word")
        return
        ;;
    -sweep | --sweep)
        mapfile -t COMPREPLY < <(compgen -W 'mem= i= mb= s= seq=' -- "$word")
        return
        ;;
    -format | --format)
        mapfile -t COMPREPLY < <(compgen -W 'text yaml json' -- "$word")
        return
        ;;
    -lm | --lm | -less-memory | --less-memory | -less_memory | --less_memory | -naive | --naive | -simulate-naive | --simulate-naive | -simulate_naive | --simulate_naive)
        mapfile -t COMPREPLY < <(compgen -W '0 1' -- "$word")
        return
        ;;
    -lf | --lf | -layer-folder | --layer-folder | -layer_folder | --layer_folder | -o | --o | -output | --output | -output_folder | --output_folder)
        mapfile -t COMPREPLY < <(compgen -d -- "$word")
        return
        ;;
    -m | --m | -model-name | --model-name | -model_name | --model_name | -time | --time | -s | --s | -stages \
        | --stages | -stage | --stage | -i | --i | -interleave | --interleave | -interleave_degree | \
        --interleave_degree | -mb | --mb | -micro-batches | --micro-batches | -micro_batch | --micro_batch | \
        -p2p-time | --p2p-time | -activation-limit | --activation-limit | -uniform | --uniform | -stage-memory | --stage-memory | -stage-speed | --stage-speed | -p2p-edges | \
        --p2p-edges | -stages-per-node | --stages-per-node | -p2p-inter | --p2p-inter | -fix | --fix | -seq | --seq | -seq_split_num | --seq_split_num | -mem | --mem | -max-memory | \
        --max-memory | -max_memory | --max_memory | -min-layers | --min-layers | -t | --t | -time-limit | \
        --time-limit | -time_limit | --time_limit | -gap | --gap | -threads | --threads | -seed | --seed)
        return
        ;;
    esac
    case $word in
    -*) mapfile -t COMPREPLY < <(compgen -W "$options" -- "$word") ;;
    *) mapfile -t COMPREPLY < <(compgen -f -- "$word") ;;
    esac
}
complete -o filenames -F _evenkeel evenkeel
