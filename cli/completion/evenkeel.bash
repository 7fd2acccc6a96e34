# bash completion for evenkeel. Commands, options and the words of a value come from `evenkeel --complete`, so nothing here
# needs to change with them.

_evenkeel() {
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS[1]} argument='' name value
    local -a asked=("$command")
    COMPREPLY=()
    # What is behind `trace merge`, `trace cut` and `ir diff` are their options.
    [[ $COMP_CWORD -gt 2 && "$command ${COMP_WORDS[2]}" == @('trace merge'|'trace cut'|'ir diff') ]] && asked+=("${COMP_WORDS[2]}")
    local commands
    commands=$(evenkeel --complete 2>/dev/null | cut -f 1)
    if [ "$COMP_CWORD" = 1 ]; then
        case $word in
        -*) mapfile -t COMPREPLY < <(compgen -W "--help --version $(evenkeel overview --complete 2>/dev/null | cut -f 1)" -- "$word") ;;
        *) mapfile -t COMPREPLY < <(compgen -f -W "$commands" -- "$word") ;; # a file needs no command
        esac
        return
    fi
    # Without a command the options are those of files.
    [[ $'\n'$commands$'\n' == *$'\n'"$command"$'\n'* ]] || asked=(overview)
    if [[ $before == -* ]]; then
        while IFS=$'\t' read -r name value _; do
            # One dash and two are the same. An empty value is a flag: what follows it is no value.
            [ "${name##*(-)}" = "${before##*(-)}" ] && argument=$value
        done < <(evenkeel "${asked[@]}" --complete 2>/dev/null | sed 's/\t\t/\t-\t/')
    fi
    case $argument in
    '' | -) ;;
    FILE) mapfile -t COMPREPLY < <(compgen -f -- "$word") ;;
    DIR) mapfile -t COMPREPLY < <(compgen -d -- "$word") ;;
    SCHEDULE) mapfile -t COMPREPLY < <(compgen -W "auto
        $(evenkeel simulate --list-schedules 2>/dev/null | awk 'NR > 1 { print $1 }')" -- "$word") ;;
    *'|FILE') mapfile -t COMPREPLY < <(IFS='|'; compgen -f -W "${argument%|FILE}" -- "$word") ;; # names may hold blanks
    *'|'*) mapfile -t COMPREPLY < <(compgen -W "${argument//|/ }" -- "$word") ;;
    esac
    [ -z "${argument#-}" ] || return
    case $word in
    -*) mapfile -t COMPREPLY < <(compgen -W "$(evenkeel "${asked[@]}" --complete 2>/dev/null | cut -f 1)" -- "$word") ;;
    *) mapfile -t COMPREPLY < <(compgen -f -- "$word") ;;
    esac
}
shopt -s extglob
complete -o filenames -F _evenkeel evenkeel
